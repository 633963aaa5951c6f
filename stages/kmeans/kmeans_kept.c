/*
 * kmeans_kept - which rows of a table are points, where those with missing values are left out: of
 * every 64 rows a bit each, and the number of points before them, so that a row finds its point and
 * a point its row.
 */
#include "stages/kmeans/kmeans_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool has_missing(const struct kmeans_job *job, const char *row)
{
    const struct kmeans_rows cells = {.cells = row, .type = job->layout.type};
    for (size_t c = 0; c < job->layout.n_columns; c++) {
        if (isnan(kmeans_rows_cell(&cells, c))) {
            return true;
        }
    }
    return false;
}

/* One more row; n_kept: points before it. */
static enum status note(struct kmeans_job *job, bool dropped, uint64_t n_kept)
{
    const size_t word = job->n_rows / KMEANS_KEPT_ROWS, bit = job->n_rows % KMEANS_KEPT_ROWS;
    if (word == job->kept_capacity) {
        const size_t capacity = word + word / 2 + 64;
        struct kmeans_kept *kept = realloc(job->kept, capacity * sizeof *kept);
        if (kept == NULL) {
            return status_fail(STATUS_NO_MEMORY, "no memory for which of %zu rows are left out",
                               capacity * KMEANS_KEPT_ROWS);
        }
        job->kept = kept;
        job->kept_capacity = capacity;
    }
    if (bit == 0) {
        job->kept[word] = (struct kmeans_kept){0, n_kept};
    }
    job->kept[word].dropped |= (uint64_t)dropped << bit;
    job->n_rows++;
    return STATUS_OK;
}

enum status kmeans_kept_drop(struct kmeans_job *job, char *cells, size_t n_rows, size_t *n_kept)
{
    const size_t bytes = job->layout.n_columns * dtype_bytes(job->layout.type);
    size_t n = 0;
    for (size_t i = 0; i < n_rows; i++) {
        const bool dropped = has_missing(job, cells + i * bytes);
        if (!job->has_seen) {
            STATUS_TRY(note(job, dropped, job->n + n));
        }
        if (!dropped) {
            memmove(cells + n * bytes, cells + i * bytes, bytes);
            n++;
        }
    }
    *n_kept = n;
    return STATUS_OK;
}

uint64_t kmeans_kept_before(const struct kmeans_job *job, uint64_t row)
{
    if (job->kept == NULL) {
        return row;
    }
    if (row >= job->n_rows) {
        return job->n;
    }
    const struct kmeans_kept *const of = &job->kept[row / KMEANS_KEPT_ROWS];
    const uint64_t earlier = ((uint64_t)1 << row % KMEANS_KEPT_ROWS) - 1;
    return of->before + (uint64_t)__builtin_popcountll(~of->dropped & earlier);
}

uint64_t kmeans_kept_row(const struct kmeans_job *job, uint64_t point)
{
    uint64_t row = 0, end = job->n_rows;
    if (job->kept == NULL) {
        return point;
    }
    while (end - row > 1) { /* the last one with at most `point` points before it */
        const uint64_t middle = row + (end - row) / 2;
        if (kmeans_kept_before(job, middle) <= point) {
            row = middle;
        } else {
            end = middle;
        }
    }
    return row;
}

void kmeans_kept_spread(const struct kmeans_job *job, uint64_t first, size_t n, int32_t *labels)
{
    size_t from = n - (size_t)(kmeans_kept_before(job, first + n) - kmeans_kept_before(job, first));
    for (size_t i = 0; job->kept != NULL && i < n; i++) {
        const uint64_t row = first + i;
        const uint64_t bits = job->kept[row / KMEANS_KEPT_ROWS].dropped;
        labels[i] = (bits >> row % KMEANS_KEPT_ROWS & 1) != 0 ? -1 : labels[from++];
    }
}
