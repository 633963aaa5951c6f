/*
 * partners - of each series those that it goes with most closely.
 */
#ifndef LEAT_KERNELS_PEARSON_PARTNERS_H
#define LEAT_KERNELS_PEARSON_PARTNERS_H

#include "kernels/pearson/pearson_pairs.h"

/* Finds of each series the `wanted->top` partners of the largest |r|, at least 1, fewer where so
 * many have no coefficient; series after series, the strongest first, of equal |r| the first of
 * them. out[k]: i the series, j the partner; has room for top of each series; *n of them. With a
 * bound (pearson_pairs.h) they are those that the exact coefficients give, and have them. Reads the
 * matrix once, with a bound twice, on one thread. `scratch`: partners_bytes(). */
enum status partners_find(struct queue *q, const struct matrix *matrix,
                          const struct pearson_wanted *wanted, void *scratch,
                          struct matrix_pair *out, size_t *n) STATUS_MUST_CHECK;
size_t partners_bytes(size_t n_series);

#endif
