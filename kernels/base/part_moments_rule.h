/*
 * part_moments_rule - moments of a part of the samples, and Chan's merge of two parts (T. F. Chan,
 * G. H. Golub, R. J. LeVeque, 1979): one text for C and for CUDA.
 *
 * The mean is base + mean + low: as its distance from a value near the samples, and what rounding
 * takes from that when parts are merged. Two means close together and far from 0 keep the digits of
 * their difference, and many merges lose none.
 */
#ifndef LEAT_KERNELS_BASE_PART_MOMENTS_RULE_H
#define LEAT_KERNELS_BASE_PART_MOMENTS_RULE_H

#include "kernels/base/rounded_rule.h"

#include <math.h>

#ifdef __CUDACC__
#define PART_MOMENTS_RULE __host__ __device__ static inline
#else
#define PART_MOMENTS_RULE static inline
#endif

/* n 0: min and max are NaN, or infinities that any sample replaces. */
struct part_moments {
    double n, base, mean, m2, min, max, low;
};

/* x + y - sum, sum being x + y rounded (D. E. Knuth). */
PART_MOMENTS_RULE double part_moments_rounded_off(double x, double y, double sum)
{
    const double of_y = rounded_add(sum, -x);
    return rounded_add(rounded_add(x, -rounded_add(sum, -of_y)), rounded_add(y, -of_y));
}

/* The mean itself; NaN of nothing. */
PART_MOMENTS_RULE double part_moments_mean(const struct part_moments *m)
{
    return m->n > 0 ? m->base + (m->mean + m->low) : (double)NAN;
}

/* A sample less the mean, which itself may be no double. */
PART_MOMENTS_RULE double part_moments_centred(const struct part_moments *m, double x)
{
    return (x - m->base) - m->mean;
}

/* The mean of b less that of a. */
PART_MOMENTS_RULE double part_moments_delta(const struct part_moments *a,
                                            const struct part_moments *b)
{
    return (b->base - a->base) + ((b->mean - a->mean) + (b->low - a->low));
}

/* Moves the base to the mean, rounded. */
PART_MOMENTS_RULE void part_moments_recentre(struct part_moments *m)
{
    const double mean = rounded_add(m->base, m->mean);
    m->mean = part_moments_rounded_off(m->base, m->mean, mean) + m->low;
    m->base = mean;
    m->low = 0;
}

/* The moments of both parts, into a; its base stays, unless it was of nothing. */
PART_MOMENTS_RULE void part_moments_merge(struct part_moments *a, const struct part_moments *b)
{
    if (!(b->n > 0)) {
        return;
    }
    if (!(a->n > 0)) {
        *a = *b;
        return;
    }
    const double n = a->n + b->n, share = b->n / n, delta = part_moments_delta(a, b);
#ifdef __CUDA_ARCH__
    const double weight = a->n * share;
    a->min = fmin(a->min, b->min);
    a->max = fmax(a->max, b->max);
#else
    const double weight = a->n * b->n / n;
    a->min = b->min < a->min ? b->min : a->min;
    a->max = b->max > a->max ? b->max : a->max;
#endif
    a->m2 += b->m2 + delta * delta * weight;
    const double step = rounded_multiply(delta, share), mean = rounded_add(a->mean, step);
    a->low += part_moments_rounded_off(a->mean, step, mean);
    a->mean = mean;
    a->n = n;
}

#endif
