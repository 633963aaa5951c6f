/*
 * pearson_pairs - the pairs that are reported: the strongest, and those at or above a threshold.
 */
#ifndef LEAT_KERNELS_PEARSON_PEARSON_PAIRS_H
#define LEAT_KERNELS_PEARSON_PEARSON_PAIRS_H

#include "kernels/pearson/pearson.h"

struct pearson_wanted {
    size_t top;       /* the strongest so many */
    double threshold; /* and all with |r| at or above it; 0: none */
    size_t most;      /* more than so many are refused, ... */
    const char *cure; /* ... with what to do then */
    double bound;     /* the matrix's coefficients are within it of the exact ones; 0: exact */
    /* bound > 0: the series, from which candidates are computed again */
    struct series_rows x;
    struct moments moments;
};

/* The most pairs that are held at a time while `wanted` are sought among n_pairs; as many again
 * while they are sorted. */
size_t pearson_pairs_held(size_t wanted, uint64_t n_pairs);

/* Finds the pairs, ordered by |r| from the largest, then by i, then by j; ties at the end of the
 * top are cut in that order. With a bound the pairs are those that the exact coefficients would
 * give, and have them. *out is the caller's to free. STATUS_TOO_LARGE, STATUS_NO_MEMORY. */
enum status pearson_pairs_find(struct queue *q, const struct matrix *matrix,
                               const struct pearson_wanted *wanted, struct matrix_pair **out,
                               size_t *n) STATUS_MUST_CHECK;

/* Orders pairs by falling |r|, those of equal |r| as they came. STATUS_NO_MEMORY. */
enum status pearson_pairs_sort(struct matrix_pair *pairs, size_t n) STATUS_MUST_CHECK;

#endif
