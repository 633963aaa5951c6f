/*
 * kmeans_sample - a random choice of points of a table whose length is not known: those whose word
 * of Philox4x32-10, of the point's number, lies below a threshold, which halves whenever there are
 * too many. So the choice depends on the points' numbers alone.
 */
#ifndef LEAT_KERNELS_KMEANS_KMEANS_SAMPLE_H
#define LEAT_KERNELS_KMEANS_KMEANS_SAMPLE_H

#include "formats/base/dtype.h"
#include "formats/base/status.h"
#include "kernels/base/room.h"

#include <stddef.h>
#include <stdint.h>

struct kmeans_sample {
    size_t most, n_columns; /* points at most; of each so many columns are kept */
    uint64_t threshold;     /* words below it stay */
    size_t n;
    double *cells;    /* [n][n_columns] */
    uint64_t *number; /* [n], rising */
    uint32_t *word;   /* [n] */
};

/* An empty choice of at most `most` points, and its memory. */
enum status kmeans_sample_room(struct kmeans_sample *s, struct room *room, size_t most,
                               size_t n_columns) STATUS_MUST_CHECK;

/* Points that follow one another: cells of n_columns columns each. */
struct kmeans_rows {
    const void *cells; /* NULL: those of the sample are to be set by their numbers */
    enum dtype type;
    size_t n, n_columns;
    uint64_t first;
};

/* Cell number k of them. */
static inline double kmeans_rows_cell(const struct kmeans_rows *rows, size_t k)
{
    return dtype_real(rows->type, rows->cells, k);
}

/* Offers points to n_samples choices, which all use the same words. */
void kmeans_sample_take(struct kmeans_sample *const samples[], size_t n_samples, uint64_t seed,
                        const struct kmeans_rows *rows);

/* k distinct numbers below n (R. W. Floyd, 1987), from the words of (seed, stream); k <= n.
 * STATUS_NO_MEMORY. */
enum status kmeans_sample_distinct(uint64_t seed, uint64_t stream, uint64_t n, size_t k,
                                   uint64_t *out) STATUS_MUST_CHECK;

/* Distances between the points of a sample, each difference multiplied with its column's weight:
 * the lower triangle, row by row: n (n + 1) / 2 + 1 numbers at most. */
void kmeans_sample_distances(const struct kmeans_sample *s, const double *weight, double *out);
/* The mean silhouette of a sample (P. J. Rousseeuw, 1987), by its distances and labels below k;
 * points alone in their cluster count 0. NaN with fewer than two clusters in the sample.
 * STATUS_NO_MEMORY. */
enum status kmeans_sample_silhouette(const double *distances, const int32_t *labels, size_t n,
                                     size_t k, double *out) STATUS_MUST_CHECK;

#endif
