/*
 * pearson_rule - what becomes of one element or one pair: one text for C and for CUDA.
 *
 * Holds the increment of `diff`, the form of a present sample, the clamp, the histogram's bin, and
 * the pairwise-complete formula with its guard against cancellation.
 */
#ifndef LEAT_KERNELS_PEARSON_RULE_H
#define LEAT_KERNELS_PEARSON_RULE_H

#include "kernels/pearson.h"

#include <float.h>
#include <math.h>

#ifdef __CUDACC__
#define PEARSON_RULE __host__ __device__ static inline
#else
#define PEARSON_RULE static inline
#endif

/* The increment from a to b, its successor. A logarithm exists for finite positive ratios only. */
PEARSON_RULE double pearson_increment(double a, double b, enum pearson_diff diff)
{
    if (diff == PEARSON_DIFF_STEP) {
        return b - a;
    }
    double ratio = b / a;
    return ratio > 0 && ratio <= DBL_MAX ? log(ratio) : (double)NAN;
}

/* [-1, 1]; NaN stays NaN. */
PEARSON_RULE double pearson_clamp(double r)
{
    return r > 1.0 ? 1.0 : (r < -1.0 ? -1.0 : r);
}

/* The histogram's bin of a defined coefficient. */
PEARSON_RULE int pearson_bin(double r)
{
    int bin = (int)((r + 1.0) * (0.5 * (int)PEARSON_BINS));
    return bin < 0 ? 0 : (bin > PEARSON_BINS - 1 ? PEARSON_BINS - 1 : bin);
}

/* Sums over the samples that two series have in common: count, x, y, x^2, y^2, x y. */
struct pearson_sums {
    double n, x, y, xx, yy, xy;
};

/*
 * Moves the sums to the means of the common samples: xx, yy, xy become xx - x^2 / n and so on; n, x
 * and y stay. n >= 1.
 *
 * Returns 0 when the sums are too cancelled for that and the pair must be taken again with the
 * means of the common samples subtracted first. The sums carry a relative error e (about
 * sqrt(N) 2^-53); a centred square that keeps at least 1/64 of the raw one has a relative error of
 * at most 128 e, which is within 1e-10 up to e = 7e-13. A series that is constant on the common
 * samples never passes.
 */
PEARSON_RULE int pearson_centre_sums(struct pearson_sums *s)
{
    double raw_xx = s->xx, raw_yy = s->yy;
    s->xx -= s->x * s->x / s->n;
    s->yy -= s->y * s->y / s->n;
    s->xy -= s->x * s->y / s->n;
    return s->xx > raw_xx * 0x1p-6 && s->yy > raw_yy * 0x1p-6;
}

/* r = xy / sqrt(xx yy) of centred sums; NaN with fewer than two samples or where a square is 0. */
PEARSON_RULE double pearson_of_centred(struct pearson_sums s)
{
    return s.n >= 2 && s.xx > 0 && s.yy > 0 ? pearson_clamp(s.xy / (sqrt(s.xx) * sqrt(s.yy)))
                                            : (double)NAN;
}

/* Both at once: 0 when the pair must be taken again. */
PEARSON_RULE int pearson_from_sums(struct pearson_sums s, double *r)
{
    *r = (double)NAN;
    if (!(s.n >= 2)) {
        return 1;
    }
    if (!pearson_centre_sums(&s)) {
        return 0;
    }
    *r = pearson_of_centred(s);
    return 1;
}

#endif
