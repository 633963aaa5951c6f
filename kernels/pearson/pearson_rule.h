/*
 * pearson_rule - what becomes of one element or one pair: one text for C and for CUDA.
 *
 * Holds the increment of `diff`, the form of a present sample, the clamp, and the
 * pairwise-complete formula with its guards against cancellation.
 */
#ifndef LEAT_KERNELS_PEARSON_PEARSON_RULE_H
#define LEAT_KERNELS_PEARSON_PEARSON_RULE_H

#include "kernels/pearson/pearson.h"

#include <float.h>
#include <math.h>
#include <string.h>

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

/* The best lag of a pair so far, and r at another one: the larger |r| is kept. Those within the
 * bound of r are a tie (series with a period have many), of which the smaller lag is kept, of two
 * as small the positive one; lags of one sign come by their size, negative ones first. `without_0`:
 * lag 0 says that there is none so far. Without r the lag is 0. */
PEARSON_RULE void pearson_keep_lag(double r, int lag, int without_0, double *best, float *best_lag)
{
    const double more = fabs(r) - fabs(*best);
    const int ties = lag > 0 && *best_lag <= (float)-lag && more >= -PEARSON_LAG_TIE;
    if ((without_0 && *best_lag == 0) ||
        (r == r && (*best != *best || more > PEARSON_LAG_TIE || ties))) {
        *best = r;
        *best_lag = r == r ? (float)lag : 0;
    }
}

/* A double's bits in the order of the numbers; 0 and -0 are one, NaN comes last. */
PEARSON_RULE uint64_t pearson_key(double x)
{
    uint64_t bits;
    x += 0.0;
    memcpy(&bits, &x, sizeof bits);
    return x != x ? UINT64_MAX : bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

/* The whole part of an average rank, from its standard form, which is off by 2^-19 at most: ranks
 * of unequal samples are at least 1 apart, so that it numbers them. */
PEARSON_RULE int32_t pearson_whole_rank(double z, double mean, double norm)
{
    return (int32_t)(z * norm + (mean + 0.25));
}

/* Whether a sum of n centred squares, and its products, keep all their digits. */
PEARSON_RULE int pearson_keeps_digits(double squares, double n)
{
    return squares >= n * MOMENTS_LEAST_VARIANCE;
}

/*
 * The ends of a head or a tail (entry s), whose standard form is at z; returns how many lags need
 * another one. A further lag leaves all but k of the n samples: with S and Q, the sum and the
 * squares of those, a sum of -S and squares of 1 - Q.
 *
 * With e the error of r from the standard form itself, r at a further lag is within 8/7 e, e /
 * PEARSON_LEAST_LEFT, and what S and Q add, with u = 2^-53: S is off by k u sum |z| of k samples,
 * 177 u, and by n times the mean, which is 0 within (72 + n / 900) u / sqrt(n); the other S / (n -
 * k) is at most 1 / sqrt(8 (n - k)); Q is off by k u / 8. Together 50 u of 1000 samples and more,
 * 900 u of few. Of doubles 7.1e-13 (gram_cpu.c), of digits 9.4e-13 (digits_cuda.h).
 */
PEARSON_RULE unsigned pearson_ends_of(const struct pearson_overlaps *o, size_t s, const double *z)
{
    const size_t n_all = o->n_heads + o->n_tails, n = o->n_samples;
    const int degenerate = moments_degenerate_at(o->moments, s),
              varies = moments_array(o->moments, MOMENTS_MIN)[s] <
                       moments_array(o->moments, MOMENTS_MAX)[s];
    struct pearson_end *end = (struct pearson_end *)o->ends.at + s;
    double sum = 0, squares = 0;
    for (unsigned k = 0; k < PEARSON_LAGS_AT_ONCE; k++, end += n_all) {
        const double count = (double)(n - k), left = 1 - squares - sum * sum / count;
        if (k > 0 && (count < moments_least_count(o->moments) ||
                      (varies && (degenerate || !(left >= PEARSON_LEAST_LEFT))))) {
            return PEARSON_LAGS_AT_ONCE - k;
        }
        const double gone = z[s < o->n_heads ? n - 1 - k : k];
        end->sum = -sum;
        end->by = 1 / sqrt(left);
        sum += gone;
        squares += gone * gone;
    }
    return 0;
}

/* r of tail a and head b, from the sum of their products. */
PEARSON_RULE double pearson_of_overlap(const struct pearson_lagged *l, size_t a, size_t b)
{
    const size_t n = l->of.n_heads;
    const struct pearson_end *const ends =
        (const struct pearson_end *)l->of.ends.at + l->further * (n + l->of.n_tails);
    const struct pearson_end tail = ends[n + a], head = ends[b];
    const double count = (double)(l->of.n_samples - l->further),
                 xy = ((const double *)l->products.at)[a * n + b] - tail.sum * head.sum / count;
    return pearson_clamp(xy * (tail.by * head.by));
}

/* What a pair keeps of both lags that the products know. */
PEARSON_RULE void pearson_keep_pair(const struct pearson_lagged *l, size_t j, size_t i)
{
    const size_t at = (j - l->j0) * l->pitch + i, end = l->first + l->of.n_tails;
    double *const r = (double *)l->r.at + at;
    float *const lag = (float *)l->lags.at + at;
    if (l->minus && i >= l->first && i < end) {
        pearson_keep_lag(pearson_of_overlap(l, i - l->first, j), -l->lag, l->without_0, r, lag);
    }
    if (l->plus && j >= l->first && j < end) {
        pearson_keep_lag(pearson_of_overlap(l, j - l->first, i), l->lag, l->without_0, r, lag);
    }
}

/*
 * Moves the sums to the means of the common samples: xx, yy, xy become xx - x^2 / n and so on; n, x
 * and y stay. n >= 1.
 *
 * Returns 0 when the sums are too cancelled for that and the pair must be computed again about a
 * point near the common samples. With e the relative error of the sums, (256 + N / 256) u at most
 * (u = 2^-53), xx - x^2 / n is off by 3 e xx and xy - x y / n by 3 e sqrt(xx yy) at most. Where the
 * centred squares keep at least 1/32 of the raw ones that is 96 e of each, and 192 e of r: 9.3e-11
 * for N = 2^20. A series that is constant on the common samples never passes, nor one whose
 * squares have left the doubles.
 */
PEARSON_RULE int pearson_centre_sums(struct pearson_sums *s)
{
    double raw_xx = s->xx, raw_yy = s->yy;
    s->xx -= s->x * (s->x / s->n);
    s->yy -= s->y * (s->y / s->n);
    s->xy -= s->x * (s->y / s->n);
    return s->xx > raw_xx * 0x1p-5 && s->yy > raw_yy * 0x1p-5 &&
           pearson_keeps_digits(s->xx, s->n) && pearson_keeps_digits(s->yy, s->n);
}

/*
 * Whether samples that were centred on the mean of their whole series, and rounded there, still
 * tell the r of a pair whose common samples lie far from that mean. raw: squares about the means of
 * the series; centred: about those of the common samples.
 *
 * A sample x is rounded by 4 u |x - mean| at most, a vector of them by 4 u sqrt(raw). r moves by at
 * most twice that over sqrt(centred), for x and for y: 16 u 2^15 = 5.8e-11 where this holds. Where
 * it does not, the samples are needed as they came.
 */
PEARSON_RULE int pearson_is_sure(const struct pearson_sums *raw, const struct pearson_sums *centred)
{
    int digits_x = raw->xx == 0 || pearson_keeps_digits(centred->xx, centred->n);
    int digits_y = raw->yy == 0 || pearson_keeps_digits(centred->yy, centred->n);
    return centred->xx >= raw->xx * 0x1p-30 && centred->yy >= raw->yy * 0x1p-30 && digits_x &&
           digits_y;
}

/* r = xy / sqrt(xx yy) of centred sums; NaN with fewer samples than `least` (2 or more), or where a
 * square is 0 or too small for its digits. */
PEARSON_RULE double pearson_of_centred(struct pearson_sums s, double least)
{
    return s.n >= least && pearson_keeps_digits(s.xx, s.n) && pearson_keeps_digits(s.yy, s.n)
               ? pearson_clamp(s.xy / (sqrt(s.xx) * sqrt(s.yy)))
               : (double)NAN;
}

/* A mean in two parts, of which `low` is rounding of the first: means far from 0 and close
 * together keep the digits of their difference. */
struct pearson_mean {
    double at, low;
};

/* a + b + low; a + b without error (D. E. Knuth's sum of two). */
PEARSON_RULE struct pearson_mean pearson_mean_of(double a, double b, double low)
{
    struct pearson_mean m;
    double from_b;
    m.at = a + b;
    from_b = m.at - a;
    m.low = ((a - (m.at - from_b)) + (b - from_b)) + low;
    return m;
}

/* Sums about the means of the common samples of two series: a series that is constant there has a
 * square of exactly 0. `sure`: they are right also where the samples were rounded at their distance
 * from 0 (pearson_is_sure). */
struct pearson_common {
    struct pearson_sums sums;
    int sure;
};

/* Both at once: 0 when the pair must be computed again. */
PEARSON_RULE int pearson_from_sums(struct pearson_sums s, double least, double *r)
{
    *r = (double)NAN;
    if (!(s.n >= least)) {
        return 1;
    }
    if (!pearson_centre_sums(&s)) {
        return 0;
    }
    *r = pearson_of_centred(s, least);
    return 1;
}

#endif
