/*
 * significance_rule - how likely independent series have a coefficient as large: one text for C and
 * for CUDA.
 *
 * Of n samples that are normal and independent t = r sqrt((n - 2) / (1 - r^2)) has Student's
 * distribution with n - 2 degrees of freedom, so that |r| is reached with the probability
 *     p = I_x(a, 1/2),  x = 1 - r^2,  a = (n - 2) / 2
 * (regularized incomplete beta function), by its continued fraction (NIST DLMF 8.17.22), which
 * converges fast for x < (a + 1) / (a + 5/2); above, where p is no smaller than 0.08, by that of
 * 1 - I_(1 - x)(1/2, a). Its logarithm, since p itself leaves the doubles. n need not be whole.
 *
 * Error: that of a ln x, which is some u of itself, and of a fraction of which 1 - x is a
 * difference: p is off by 2^-50 |ln p| + 2^-53 n of itself.
 */
#ifndef LEAT_KERNELS_PEARSON_SIGNIFICANCE_RULE_H
#define LEAT_KERNELS_PEARSON_SIGNIFICANCE_RULE_H

#include "kernels/pearson/pearson.h"

#include <math.h>

#ifdef __CUDACC__
#define SIGNIFICANCE_RULE __host__ __device__ static inline
#else
#define SIGNIFICANCE_RULE static inline
#endif

/* gamma(a + 1/2) / gamma(a), a > 0: its series in 1 / a, of an argument of 24 or more. */
SIGNIFICANCE_RULE double significance_gamma_ratio(double a)
{
    double less = 1;
    while (a < 24) {
        less *= a / (a + 0.5);
        a += 1;
    }
    const double v = 1 / a;
    const double series =
        1 +
        v * (-1.0 / 8 +
             v * (1.0 / 128 +
                  v * (5.0 / 1024 + v * (-21.0 / 32768 +
                                         v * (-399.0 / 262144 +
                                              v * (869.0 / 4194304 + v * (39325.0 / 33554432)))))));
    return less * sqrt(a) * series;
}

/* The continued fraction of I_x(a, b), which is x^a (1 - x)^b / (a B(a, b)) times this: numerators
 * and denominators of its convergents, times a power of 2 that keeps them among the doubles. Two of
 * them differ by `apart` over the product of their denominators. */
SIGNIFICANCE_RULE double significance_fraction(double a, double b, double x)
{
    double p = 2, q = 2, p_before = 0, q_before = 1, apart = 2;
    for (int k = 0; k < 1000000; k++) {
        const double m = k, at = a + 2 * m;
        const double odd = -4 * (a + m) * (a + b + m) * x / (at * (at + 1));
        const double even = 4 * (m + 1) * (b - m - 1) * x / ((at + 1) * (at + 2));
        p_before = 2 * p + odd * p_before;
        q_before = 2 * q + odd * q_before;
        p = 2 * p_before + even * p;
        q = 2 * q_before + even * q;
        apart *= odd * even;
        if (fabs(apart) <= 0x1p-54 * fabs(p * q_before)) {
            break;
        }
        if (q < 0x1p-200) {
            p *= 0x1p200;
            q *= 0x1p200;
            p_before *= 0x1p200;
            q_before *= 0x1p200;
            apart *= 0x1p400;
        }
    }
    return p / q;
}

/* ln p of a coefficient of n samples; 0 (p = 1) for two or fewer, which tell nothing. */
SIGNIFICANCE_RULE double significance_log_p(double r, double n)
{
    const double a = (n - 2) / 2, strength = fabs(r), square = r * r;
    if (!(a > 0) || !(strength > 0)) {
        return r == r && n == n ? 0 : (double)NAN;
    }
    if (strength >= 1) {
        return -(double)INFINITY;
    }
    const double x = (1 - strength) * (1 + strength);
    const double log_x = square < 0.5 ? log1p(-square) : log(x);
    /* x^a (1 - x)^(1/2) / B(a, 1/2) */
    const double root_pi = 1.7724538509055160273;
    const double scale = strength * significance_gamma_ratio(a) / root_pi;
    if (x < (a + 1) / (a + 2.5)) {
        return a * log_x + log(scale / a * significance_fraction(a, 0.5, x));
    }
    return log1p(-2 * exp(a * log_x) * scale * significance_fraction(0.5, a, square));
}

/* The last of n ascending levels that v reaches; it reaches the first. */
SIGNIFICANCE_RULE size_t significance_level(const double *levels, size_t n, double v)
{
    size_t at = 0;
    for (size_t left = n, part; left > 1; left -= part) {
        part = left / 2;
        at += levels[at + part] <= v ? part : 0;
    }
    return at;
}

/* Words that hold a bit a sample. */
SIGNIFICANCE_RULE size_t significance_words(size_t n_samples)
{
    return n_samples / 64 + 1;
}

/* Samples that two series have in common, by such bits. */
SIGNIFICANCE_RULE double significance_common(const uint64_t *a, const uint64_t *b, size_t n_samples)
{
    uint64_t n = 0;
    for (size_t k = 0; k < significance_words(n_samples); k++) {
#ifdef __CUDA_ARCH__
        n += (uint64_t)__popcll(a[k] & b[k]);
#else
        n += (uint64_t)__builtin_popcountll(a[k] & b[k]);
#endif
    }
    return (double)n;
}

SIGNIFICANCE_RULE int significance_has_gaps(const struct pearson_levels *l, size_t s)
{
    return l->count != NULL && l->count[s] < (double)l->n_samples;
}

/* The level that a pair of which some series has gaps reaches with this |r|; l->n: none. */
SIGNIFICANCE_RULE size_t significance_level_of_gaps(const struct pearson_levels *l, size_t j,
                                                    size_t i, double r)
{
    const size_t words = significance_words(l->n_samples);
    double n = fmin(l->count[j], l->count[i]);
    if (significance_has_gaps(l, j) && significance_has_gaps(l, i)) {
        n = l->present != NULL
                ? significance_common(l->present + j * words, l->present + i * words, l->n_samples)
                : fmax(l->count[j] + l->count[i] - (double)l->n_samples, (double)l->min_samples);
    }
    const double strength = -significance_log_p(fmax(r - l->bound, 0.0), n);
    return strength >= l->strength[0] ? significance_level(l->strength, l->n, strength) : l->n;
}

#endif
