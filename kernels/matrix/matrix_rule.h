/*
 * matrix_rule - what becomes of one coefficient: one text for C and for CUDA.
 */
#ifndef LEAT_KERNELS_MATRIX_MATRIX_RULE_H
#define LEAT_KERNELS_MATRIX_MATRIX_RULE_H

#include "kernels/matrix/matrix.h"

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

#endif
