/*
 * partners - of each series those that it goes with most closely.
 */
#ifndef LEAT_KERNELS_PEARSON_PARTNERS_H
#define LEAT_KERNELS_PEARSON_PARTNERS_H

#include "kernels/pearson/pearson_pairs.h"

/* Finds of each series the `wanted->top` partners of the largest |r|, at least 1, fewer where so
 * many have no coefficient. With a bound (pearson_pairs.h) they are those that the exact
 * coefficients give, and have them. Reads the matrix once, on one thread. */
struct partners {
    const struct pearson_wanted *wanted;
    size_t n_series;
    enum dtype type;
    struct matrix_pair *heaps; /* [n_series][top] */
    double *floor;             /* [n_series]: no weaker pair is looked at */
    size_t *n;                 /* [n_series]: in its heap */
    struct matrix_pair *batch;
    size_t n_batch;
    void *cells;
};

/* `out` has room for top of each series; `scratch`: partners_bytes(). `wanted` stays. */
void partners_begin(struct partners *s, const struct pearson_wanted *wanted, size_t n_series,
                    void *scratch, struct matrix_pair *out);
size_t partners_bytes(size_t n_series);
/* Adds a matrix, or its bands in their order, whose queue it is. */
enum status partners_add(struct partners *s, struct queue *q,
                         const struct matrix *m) STATUS_MUST_CHECK;
/* out[k]: i the series, j the partner; series after series, the strongest first, of equal |r| the
 * first of them; *n of them. */
void partners_end(struct partners *s, size_t *n);

#endif
