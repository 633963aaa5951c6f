/*
 * matrix_rule - what becomes of one coefficient, and where it lies in the condensed triangle: one
 * text for C and for CUDA.
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

#endif
