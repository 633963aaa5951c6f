/*
 * cuda_moments - moments of a set of samples, and Chan's merge of two sets.
 *
 * The mean is base + mean, base being one of the samples: distances from it keep their digits where
 * the mean itself would lose them to an offset.
 */
#ifndef LEAT_KERNELS_CUDA_MOMENTS_H
#define LEAT_KERNELS_CUDA_MOMENTS_H

#include "kernels/means.h"

#include <cuda_runtime.h>

struct part_moments {
    double n, base, mean, m2, min, max;
};

/* The mean of b less that of a. */
__device__ __forceinline__ double moments_delta(const part_moments &a, const part_moments &b)
{
    return (b.base - a.base) + (b.mean - a.mean);
}

__device__ __forceinline__ void merge_moments(part_moments *a, const part_moments &b)
{
    if (!(b.n > 0)) {
        return;
    }
    if (!(a->n > 0)) {
        *a = b;
        return;
    }
    const double n = a->n + b.n, share = b.n / n, delta = moments_delta(*a, b);
    a->m2 += b.m2 + delta * delta * (a->n * share);
    a->mean += delta * share;
    a->n = n;
    a->min = fmin(a->min, b.min);
    a->max = fmax(a->max, b.max);
}

__device__ __forceinline__ void store_moments(const part_moments &m, double *moments,
                                              size_t capacity, size_t entry)
{
    moments[MOMENTS_COUNT * capacity + entry] = m.n;
    moments[MOMENTS_MEAN * capacity + entry] = m.n > 0 ? m.base + m.mean : (double)NAN;
    moments[MOMENTS_M2 * capacity + entry] = m.n < 2 ? 0 : m.m2;
    moments[MOMENTS_MIN * capacity + entry] = m.n > 0 ? m.min : (double)NAN;
    moments[MOMENTS_MAX * capacity + entry] = m.n > 0 ? m.max : (double)NAN;
}

#endif
