/*
 * matrix_rule - what becomes of one coefficient, where it lies in the condensed triangle, and how a
 * value of a given rank is found by radix selection: one text for C and for CUDA.
 *
 * Keys are the bits of |r|, whose order is that of the numbers. A digit of the keys that share what
 * is known of the one sought is counted; the digit that holds the rank becomes known.
 */
#ifndef LEAT_KERNELS_MATRIX_MATRIX_RULE_H
#define LEAT_KERNELS_MATRIX_MATRIX_RULE_H

#include "kernels/matrix/matrix.h"

#include <string.h>

#ifdef __CUDACC__
#define MATRIX_RULE __host__ __device__ static inline
#else
#define MATRIX_RULE static inline
#endif

/* The histogram's bin of a defined coefficient. */
MATRIX_RULE int matrix_bin(double r)
{
    int bin = (int)((r + 1.0) * (0.5 * (int)MATRIX_BINS));
    return bin < 0 ? 0 : (bin > MATRIX_BINS - 1 ? MATRIX_BINS - 1 : bin);
}

/* Elements of the condensed triangle before row i. */
MATRIX_RULE uint64_t matrix_condensed_row(uint64_t i, uint64_t n_series)
{
    return i * n_series - i * (i + 1) / 2;
}

/* The row that holds element k; n_series >= 2. */
static inline size_t matrix_condensed_row_of(uint64_t k, size_t n_series)
{
    size_t low = 0, high = n_series - 1;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (matrix_condensed_row(middle, n_series) <= k) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* |r| <= 1 has its bits below 2^62; NaN has bits above. */
enum { MATRIX_KEY_BITS = 62 };

MATRIX_RULE uint64_t matrix_key(double r)
{
    uint64_t bits;
    memcpy(&bits, &r, sizeof bits);
    return bits & (UINT64_MAX >> 1);
}

MATRIX_RULE double matrix_key_value(uint64_t key)
{
    double r;
    memcpy(&r, &key, sizeof r);
    return r;
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

/* The bin of ascending rank `rank` joins what is known; returns it, and adds the keys in lower bins
 * to *below. */
static inline size_t matrix_digit_learn(struct matrix_digit *d, const uint64_t *counts,
                                        uint64_t rank, uint64_t *below)
{
    size_t bin = 0;
    while (*below + counts[bin] <= rank) {
        *below += counts[bin++];
    }
    d->prefix = d->prefix << (d->above - d->shift) | bin;
    d->above = d->shift;
    return bin;
}

/* The ascending ranks whose values make up the answer among n defined ones, n >= 1: the median
 * where from_top is 0, else the from_top-th largest. */
static inline void matrix_ranks(uint64_t n, uint64_t from_top, uint64_t *low, uint64_t *high)
{
    *low = from_top == 0 ? (n - 1) / 2 : (from_top < n ? n - from_top : 0);
    *high = from_top == 0 ? n / 2 : *low;
}

#endif
