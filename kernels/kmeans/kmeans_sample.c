/*
 * kmeans_sample - words of points, the points that they choose, and silhouettes.
 */
#include "kernels/kmeans/kmeans_sample.h"

#include "kernels/philox/philox_rule.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_STREAM UINT64_MAX /* of Philox: no run has it */

enum status kmeans_sample_room(struct kmeans_sample *s, struct room *room, size_t most,
                               size_t n_columns)
{
    const size_t rows = most + 1; /* one too many makes the threshold fall */
    *s = (struct kmeans_sample){
        .most = most, .n_columns = n_columns, .threshold = UINT64_C(1) << 32};
    STATUS_TRY(room_host(room, rows, n_columns * sizeof *s->cells, &s->cells));
    STATUS_TRY(room_host(room, rows, sizeof *s->number, &s->number));
    return room_host(room, rows, sizeof *s->word, &s->word);
}

/* Halves the threshold until there are no more points than may be. */
static void thin(struct kmeans_sample *s)
{
    while (s->n > s->most) {
        size_t kept = 0;
        s->threshold /= 2;
        for (size_t i = 0; i < s->n; i++) {
            if (s->word[i] >= s->threshold) {
                continue;
            }
            s->number[kept] = s->number[i];
            s->word[kept] = s->word[i];
            memmove(s->cells + kept * s->n_columns, s->cells + i * s->n_columns,
                    s->n_columns * sizeof(double));
            kept++;
        }
        s->n = kept;
    }
}

static void add(struct kmeans_sample *s, const struct kmeans_rows *rows, size_t row, uint32_t word)
{
    double *const cells = s->cells + s->n * s->n_columns;
    for (size_t c = 0; c < s->n_columns && rows->cells != NULL; c++) {
        cells[c] = kmeans_rows_cell(rows, row * rows->n_columns + c);
    }
    s->number[s->n] = rows->first + row;
    s->word[s->n] = word;
    s->n++;
    thin(s);
}

void kmeans_sample_take(struct kmeans_sample *const samples[], size_t n_samples, uint64_t seed,
                        const struct kmeans_rows *rows)
{
    struct philox_words words = {{0}};
    for (size_t i = 0; i < rows->n; i++) {
        const uint64_t number = rows->first + i;
        if (i == 0 || number % 4 == 0) {
            words = philox_block(seed, SAMPLE_STREAM, number / 4);
        }
        const uint32_t word = words.w[number % 4];
        for (size_t s = 0; s < n_samples; s++) {
            if (word < samples[s]->threshold) {
                add(samples[s], rows, i, word);
            }
        }
    }
}

/* --- distinct numbers ------------------------------------------------------------------------- */

/* Adds a number to a table of 2^bits places, of which each holds a number + 1, or 0; false: it is
 * there. */
static bool insert(uint64_t *table, unsigned bits, uint64_t number)
{
    const size_t mask = ((size_t)1 << bits) - 1;
    size_t at = (size_t)(number * UINT64_C(0x9E3779B97F4A7C15) >> (64 - bits));
    while (table[at] != 0) {
        if (table[at] == number + 1) {
            return false;
        }
        at = (at + 1) & mask;
    }
    table[at] = number + 1;
    return true;
}

enum status kmeans_sample_distinct(uint64_t seed, uint64_t stream, uint64_t n, size_t k,
                                   uint64_t *out)
{
    unsigned bits = 4;
    while (((size_t)1 << bits) / 2 < k) {
        bits++;
    }
    uint64_t *table = calloc((size_t)1 << bits, sizeof *table);
    if (table == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory to draw %zu points", k);
    }
    for (size_t i = 0; i < k; i++) {
        const uint64_t last = n - k + i; /* the i-th is one of the numbers up to it */
        const struct philox_words words = philox_block(seed, stream, i);
        const uint64_t word = (uint64_t)words.w[1] << 32 | words.w[0];
        const uint64_t drawn = (uint64_t)((unsigned __int128)word * (last + 1) >> 64);
        out[i] = insert(table, bits, drawn) ? drawn : last;
        if (out[i] == last && drawn != last) {
            insert(table, bits, last);
        }
    }
    free(table);
    return STATUS_OK;
}

/* --- silhouettes ------------------------------------------------------------------------------ */

void kmeans_sample_distances(const struct kmeans_sample *s, const double *weight, double *out)
{
    for (size_t i = 0; i < s->n; i++) {
        const double *const a = s->cells + i * s->n_columns;
        for (size_t j = 0; j < i; j++) {
            const double *const b = s->cells + j * s->n_columns;
            double sum = 0;
            for (size_t c = 0; c < s->n_columns; c++) {
                const double t = (a[c] - b[c]) * weight[c];
                sum += t * t;
            }
            *out++ = sqrt(sum);
        }
    }
}

static double between(const double *distances, size_t i, size_t j)
{
    return i == j ? 0 : i > j ? distances[i * (i - 1) / 2 + j] : distances[j * (j - 1) / 2 + i];
}

/* The silhouette of point i, of which `sum` takes the distances to each cluster. */
static double silhouette_of(const double *distances, const int32_t *labels, size_t n,
                            const size_t *count, size_t k, double *sum, size_t i)
{
    const size_t own = (size_t)labels[i];
    double nearest = INFINITY;
    if (count[own] < 2) {
        return 0;
    }
    memset(sum, 0, k * sizeof *sum);
    for (size_t j = 0; j < n; j++) {
        sum[labels[j]] += between(distances, i, j);
    }
    for (size_t c = 0; c < k; c++) {
        if (c != own && count[c] > 0) {
            nearest = fmin(nearest, sum[c] / (double)count[c]);
        }
    }
    const double within = sum[own] / (double)(count[own] - 1), larger = fmax(within, nearest);
    return larger > 0 ? (nearest - within) / larger : 0;
}

enum status kmeans_sample_silhouette(const double *distances, const int32_t *labels, size_t n,
                                     size_t k, double *out)
{
    size_t *count = calloc(k, sizeof *count), n_clusters = 0;
    double *sum = malloc(k * sizeof *sum), total = 0;
    *out = NAN;
    if (count == NULL || sum == NULL) {
        free(count);
        free(sum);
        return status_fail(STATUS_NO_MEMORY, "no memory for silhouettes");
    }
    for (size_t i = 0; i < n; i++) {
        n_clusters += count[labels[i]]++ == 0;
    }
    if (n_clusters >= 2) {
        for (size_t i = 0; i < n; i++) {
            total += silhouette_of(distances, labels, n, count, k, sum, i);
        }
        *out = total / (double)n;
    }
    free(count);
    free(sum);
    return STATUS_OK;
}
