/*
 * pearson_order - average linkage on 1 - |r|, leaves from left to right.
 *
 * A pair without a coefficient is at distance 2, beyond all others, so that constant series stand
 * apart, at an end. The condensed matrix is fetched row by row, once for the distances and once for
 * the cells, since the clustering uses the distances up.
 */

#include "stages/pearson/linkage.h"
#include "stages/pearson/pearson_job.h"

#include <math.h>
#include <stdlib.h>

static const double undefined = 2; /* distance of a pair without a coefficient */

size_t pearson_order_bytes(size_t n)
{
    return n > PEARSON_ORDER_MOST
               ? 0
               : (size_t)matrix_n_pairs(n) * sizeof(double) +
                     n * (sizeof(double) + 2 * sizeof(struct linkage_merge) + 6 * sizeof(uint32_t));
}

/* The coefficients of a series with those after it, as doubles. */
static enum status fetch_row(struct pearson_job *job, size_t i, double *row)
{
    const size_t n = job->n_series, length = n - 1 - i;
    const uint64_t first = (uint64_t)i * (2 * (uint64_t)n - i - 1) / 2;
    STATUS_TRY(job->ops->matrix->condensed(job->queue, &job->matrix, first, length, row));
    if (job->matrix.type == DTYPE_F32) { /* in place, the last one first */
        const float *const narrow = (const float *)row;
        for (size_t k = length; k-- > 0;) {
            row[k] = (double)narrow[k];
        }
    }
    return STATUS_OK;
}

static enum status going(void *context)
{
    const struct pearson_job *const job = context;
    return queue_check(job->queue);
}

static enum status cluster(struct pearson_job *job, double *distances, struct linkage_merge *merges)
{
    const size_t n = job->n_series;
    double *row = distances;
    for (size_t i = 0; i + 1 < n; row += n - 1 - i, i++) {
        STATUS_TRY(fetch_row(job, i, row));
    }
    for (double *d = distances; d < row; d++) {
        *d = isnan(*d) ? undefined : fmax(1 - fabs(*d), 0);
    }
    STATUS_TRY(linkage_average(distances, n, merges, going, job));
    STATUS_TRY(linkage_order(merges, n, job->order));
    for (size_t place = 0; place < n; place++) {
        job->place[job->order[place]] = (uint32_t)place;
    }
    return STATUS_OK;
}

enum status pearson_order_find(struct pearson_job *job)
{
    const size_t n = job->n_series;
    if (!job->choice.cluster || n > PEARSON_ORDER_MOST) {
        return STATUS_OK;
    }
    STATUS_TRY(room_host(job->kept, n, sizeof *job->order, &job->order));
    STATUS_TRY(room_host(job->kept, n, sizeof *job->place, &job->place));
    double *const distances = malloc(((size_t)matrix_n_pairs(n) + 1) * sizeof *distances);
    struct linkage_merge *const merges = malloc(n * sizeof *merges);
    const enum status st =
        distances != NULL && merges != NULL
            ? cluster(job, distances, merges)
            : status_fail(STATUS_NO_MEMORY, "no memory to cluster %zu series", n);
    free(distances);
    free(merges);
    return st;
}

/* Adds a coefficient to two cells. */
static void add(float *cells, uint32_t *counts, size_t side, size_t a, size_t b, double r)
{
    cells[a * side + b] += (float)r;
    counts[a * side + b]++;
    cells[b * side + a] += (float)r;
    counts[b * side + a]++;
}

static enum status sum_cells(struct pearson_job *job, size_t side, double *row, uint32_t *cell_of,
                             uint32_t *counts, float *cells)
{
    const size_t n = job->n_series;
    for (size_t i = 0; i < n; i++) {
        cell_of[i] = (uint32_t)((((size_t)job->place[i] + 1) * side - 1) / n);
    }
    for (size_t i = 0; i < n; i++) {
        STATUS_TRY(i + 1 < n ? fetch_row(job, i, row) : STATUS_OK);
        if (!isnan(job->median_abs[i])) { /* the diagonal, which is no pair */
            cells[cell_of[i] * side + cell_of[i]] += 1;
            counts[cell_of[i] * side + cell_of[i]]++;
        }
        for (size_t k = 0; k + 1 + i < n; k++) {
            if (!isnan(row[k])) {
                add(cells, counts, side, cell_of[i], cell_of[i + 1 + k], row[k]);
            }
        }
    }
    for (size_t k = 0; k < side * side; k++) {
        cells[k] = counts[k] > 0 ? cells[k] / (float)counts[k] : NAN;
    }
    return STATUS_OK;
}

enum status pearson_order_cells(struct pearson_job *job, size_t side, float *cells)
{
    const size_t n = job->n_series;
    double *const row = malloc(n * sizeof *row);
    uint32_t *const cell_of = malloc(n * sizeof *cell_of);
    uint32_t *const counts = calloc(side * side, sizeof *counts);
    for (size_t k = 0; k < side * side; k++) {
        cells[k] = 0;
    }
    const enum status st =
        row != NULL && cell_of != NULL && counts != NULL
            ? sum_cells(job, side, row, cell_of, counts, cells)
            : status_fail(STATUS_NO_MEMORY, "no memory for a picture of %zu cells", side * side);
    free(row);
    free(cell_of);
    free(counts);
    return st;
}
