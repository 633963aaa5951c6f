/*
 * interpolate_pair - double double on the host, beside what interpolate_rule.h has for both.
 */
#ifndef LEAT_KERNELS_INTERPOLATE_INTERPOLATE_PAIR_H
#define LEAT_KERNELS_INTERPOLATE_INTERPOLATE_PAIR_H

#include "kernels/interpolate/interpolate_rule.h"

typedef struct interpolate_pair pair;

static inline pair pair_of(double x)
{
    return (pair){x, 0};
}

static inline pair pair_less(pair a, pair b)
{
    return interpolate_pair_add(a, (pair){-b.hi, -b.lo});
}

/* 1 / a, off by 2^-103 of itself. */
static inline pair pair_inverse(pair a)
{
    const double first = 1 / a.hi;
    const pair p = interpolate_two_product(a.hi, first);
    const double rest = ((1 - p.hi) - p.lo) - a.lo * first;
    return interpolate_quick_sum(first, rest * first);
}

/* a 2^e */
static inline pair pair_scaled(pair a, int64_t e)
{
    return (pair){interpolate_scaled(a.hi, e), interpolate_scaled(a.lo, e)};
}

#endif
