/*
 * matrix_rule - what becomes of one coefficient, and where it lies in the condensed triangle, in
 * one text for C and for CUDA; and which of many is the k-th or the median.
 */
#ifndef LEAT_KERNELS_MATRIX_MATRIX_RULE_H
#define LEAT_KERNELS_MATRIX_MATRIX_RULE_H

#include "kernels/matrix/matrix.h"

#include <math.h>
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

/* --- one of many numbers ---------------------------------------------------------------------- */

/* v[k] becomes the k-th smallest, nothing before it is larger, nothing after it smaller. No NaN.
 * (C. A. R. Hoare, "Algorithm 65: FIND", 1961.) */
static inline void matrix_quickselect(double *v, size_t n, size_t k)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        const double a = v[low], b = v[low + (high - low) / 2], c = v[high];
        const double less = a < b ? a : b, more = a < b ? b : a;
        const double pivot = c < less ? less : c > more ? more : c;
        size_t i = low, j = high;
        while (i <= j) {
            while (v[i] < pivot) {
                ++i;
            }
            while (v[j] > pivot) {
                --j;
            }
            if (i <= j) {
                const double t = v[i];
                v[i++] = v[j];
                v[j] = t;
                if (j == 0) {
                    break;
                }
                --j;
            }
        }
        if (k <= j) {
            high = j;
        } else if (k >= i) {
            low = i;
        } else {
            return;
        }
    }
}

/* The value of ascending rank k of v[n], and the next; NaN after the last. */
static inline double matrix_pick(double *v, size_t n, size_t k, double *next)
{
    matrix_quickselect(v, n, k);
    *next = k + 1 < n ? v[k + 1] : (double)NAN;
    for (size_t i = k + 1; i < n; ++i) {
        *next = v[i] < *next ? v[i] : *next;
    }
    return v[k];
}

static inline double matrix_middle(double a, double b)
{
    return a == b ? a : (a + b) / 2;
}

/* The median of v[n], whose numbers change places; NaN of none. */
static inline double matrix_median(double *v, size_t n)
{
    double next = (double)NAN;
    if (n == 0) {
        return next;
    }
    const double low = matrix_pick(v, n, (n - 1) / 2, &next);
    return n % 2 == 1 ? low : matrix_middle(low, next);
}

#endif
