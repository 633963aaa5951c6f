/*
 * matrix_rank - the value of a rank among all pairs of a matrix, exactly, without sorting, on
 * either backend: radix selection on the bits of |r|, whose order is that of the numbers.
 *
 * A sweep over the matrix counts a digit of the keys that share what is known of the one sought;
 * the digit that holds the rank becomes known. Once few keys are left another sweep collects them,
 * and quickselect finds the one (matrix_rule.h).
 */
#ifndef LEAT_KERNELS_MATRIX_MATRIX_RANK_H
#define LEAT_KERNELS_MATRIX_MATRIX_RANK_H

#include "kernels/matrix/matrix_rule.h"

#include <math.h>

/* |r| <= 1 has its bits below 2^62; NaN has bits above. */
enum { MATRIX_KEY_BITS = 62 };

MATRIX_RULE uint64_t matrix_key(double r)
{
    uint64_t bits;
    memcpy(&bits, &r, sizeof bits);
    return bits & (UINT64_MAX >> 1);
}

/* What is known of the key sought, its bits from `above` on; the digit in hand begins at `shift`.
 */
struct matrix_digit {
    uint64_t prefix;
    int above, shift;
};

MATRIX_RULE bool matrix_digit_counts(struct matrix_digit d, uint64_t key)
{
    return key >> d.above == d.prefix;
}

MATRIX_RULE size_t matrix_digit_bin(struct matrix_digit d, uint64_t key)
{
    return (size_t)(key >> d.shift) & (((size_t)1 << (d.above - d.shift)) - 1);
}

/* A backend's sweeps over its matrix; `arg` is theirs. */
struct matrix_sweeps {
    void *arg;
    int digit;        /* bits of a digit */
    size_t few;       /* so many are collected */
    uint64_t *counts; /* [1 << digit] */
    double *values;   /* [few] */
    /* Counts, by their bins, the keys that share what is known. */
    enum status (*count)(void *arg, struct matrix_digit d, uint64_t *counts);
    /* The |r| of all that share it, in any order, and their number, `few` at most. */
    enum status (*collect)(void *arg, struct matrix_digit d, double *values, size_t *n);
};

/* The ascending rank among n defined pairs, n >= 1: of the median where from_top is 0 (of two
 * middle ones the upper where `upper`), else of the from_top-th largest. */
static inline uint64_t matrix_rank_of(uint64_t n, uint64_t from_top, bool upper)
{
    return from_top == 0 ? (upper ? n : n - 1) / 2 : from_top < n ? n - from_top : 0;
}

/* The value of that rank, and the next where it comes with it, else NaN; both NaN when no pair is
 * defined. *n: how many are. */
static inline enum status matrix_rank_find(const struct matrix_sweeps *s, uint64_t n_pairs,
                                           uint64_t from_top, bool upper, uint64_t *n,
                                           double *value, double *next)
{
    struct matrix_digit d = {0, MATRIX_KEY_BITS, 0};
    uint64_t left = n_pairs, below = 0, rank = 0;
    *value = *next = (double)NAN;
    *n = 0;
    while (left > s->few && d.above > 0) {
        size_t bin = 0;
        d.shift = d.above > s->digit ? d.above - s->digit : 0;
        STATUS_TRY(s->count(s->arg, d, s->counts));
        for (size_t b = 0; d.above == MATRIX_KEY_BITS && b < (size_t)1 << s->digit; ++b) {
            *n += s->counts[b];
        }
        if (*n == 0) {
            return STATUS_OK;
        }
        rank = matrix_rank_of(*n, from_top, upper);
        while (below + s->counts[bin] <= rank) {
            below += s->counts[bin++];
        }
        left = s->counts[bin];
        d.prefix = d.prefix << (d.above - d.shift) | bin;
        d.above = d.shift;
    }
    if (left > s->few) { /* every bit is known, and shared by all that are left */
        memcpy(value, &d.prefix, sizeof *value);
        *next = rank + 1 < below + left ? *value : (double)NAN;
        return STATUS_OK;
    }
    size_t n_few = 0;
    STATUS_TRY(s->collect(s->arg, d, s->values, &n_few));
    if (*n == 0 && n_few > 0) {
        *n = n_few;
        rank = matrix_rank_of(n_few, from_top, upper);
    }
    if (n_few > 0) {
        *value = matrix_pick(s->values, n_few, (size_t)(rank - below), next);
    }
    return STATUS_OK;
}

/* The median of |r| where from_top is 0, else the from_top-th largest; NaN when there is none. */
static inline enum status matrix_rank_abs(const struct matrix_sweeps *s, uint64_t n_pairs,
                                          uint64_t from_top, double *out)
{
    uint64_t n;
    double next, unused;
    STATUS_TRY(matrix_rank_find(s, n_pairs, from_top, false, &n, out, &next));
    if (from_top != 0 || n % 2 != 0 || n == 0) {
        return STATUS_OK;
    }
    if (isnan(next)) {
        STATUS_TRY(matrix_rank_find(s, n_pairs, from_top, true, &n, &next, &unused));
    }
    *out = matrix_middle(*out, next);
    return STATUS_OK;
}

#endif
