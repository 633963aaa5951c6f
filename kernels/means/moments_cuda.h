/*
 * moments_cuda - moments of a set of samples, and Chan's merge of two sets.
 *
 * The mean is base + mean + low: as its distance from a value near the samples, which keeps digits
 * that the mean itself would lose to an offset, and what rounding takes from that in merges.
 */
#ifndef LEAT_KERNELS_MEANS_MOMENTS_CUDA_H
#define LEAT_KERNELS_MEANS_MOMENTS_CUDA_H

#include "kernels/base/queue_cuda.h"
#include "kernels/means/means.h"

struct part_moments {
    double n, base, mean, m2, min, max, low;
};

/* x + y - sum, sum being x + y rounded (D. E. Knuth). */
__device__ __forceinline__ double rounded_off(double x, double y, double sum)
{
    const double of_y = __dadd_rn(sum, -x);
    return __dadd_rn(__dadd_rn(x, -__dadd_rn(sum, -of_y)), __dadd_rn(y, -of_y));
}

/* Moves the base to the mean, rounded. */
__device__ __forceinline__ void recentre_moments(part_moments *m)
{
    const double mean = __dadd_rn(m->base, m->mean);
    m->mean = rounded_off(m->base, m->mean, mean) + m->low;
    m->base = mean;
    m->low = 0;
}

/* The mean of b less that of a. */
__device__ __forceinline__ double moments_delta(const part_moments &a, const part_moments &b)
{
    return (b.base - a.base) + ((b.mean - a.mean) + (b.low - a.low));
}

/* The base of a stays, unless it was of nothing. */
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
    const double step = __dmul_rn(delta, share), mean = __dadd_rn(a->mean, step);
    a->low += rounded_off(a->mean, step, mean);
    a->mean = mean;
    a->n = n;
    a->min = fmin(a->min, b.min);
    a->max = fmax(a->max, b.max);
}

__device__ __forceinline__ void store_moments(const part_moments &m, double *moments,
                                              size_t capacity, size_t entry)
{
    moments[MOMENTS_COUNT * capacity + entry] = m.n;
    moments[MOMENTS_MEAN * capacity + entry] = m.n > 0 ? m.base + (m.mean + m.low) : (double)NAN;
    moments[MOMENTS_M2 * capacity + entry] = m.n < 2 ? 0 : m.m2;
    moments[MOMENTS_MIN * capacity + entry] = m.n > 0 ? m.min : (double)NAN;
    moments[MOMENTS_MAX * capacity + entry] = m.n > 0 ? m.max : (double)NAN;
}

/* Entries [first, first + n) of every field. */
static inline struct queue_access queue_moments(struct moments m, size_t first, size_t n,
                                                bool write)
{
    const char *at = (const char *)m.at.at;
    const struct queue_access a = {at,
                                   at + moments_bytes(m.capacity),
                                   m.capacity * sizeof(double),
                                   first * sizeof(double),
                                   (first + n) * sizeof(double),
                                   write};
    return a;
}

#endif
