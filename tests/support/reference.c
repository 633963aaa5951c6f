/*
 * reference - see the header.
 */
#include "tests/support/reference.h"

#include "kernels/means/means.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Sums of blocks are added up: 2^20 terms are off by 2^-53 of the sum of their sizes at most. */
enum { BLOCK = 1024 };

struct nested {
    long double block, sum;
    size_t n;
};

static void add(struct nested *s, long double term)
{
    s->block += term;
    if (++s->n % BLOCK == 0) {
        s->sum += s->block;
        s->block = 0;
    }
}

static long double total(const struct nested *s)
{
    return s->sum + s->block;
}

/* Of x where y is present too: the mean is first + rest. */
struct centre {
    long double count, first, rest, min, max;
};

static struct centre centre_of(const double *x, const double *y, size_t n)
{
    struct centre c = {0, 0, 0, (long double)INFINITY, -(long double)INFINITY};
    struct nested sum = {0, 0, 0};
    for (size_t t = 0; t < n; ++t) {
        if (!isnan(x[t]) && !isnan(y[t])) {
            long double v = (long double)x[t];
            c.first = c.count > 0 ? c.first : v;
            add(&sum, v - c.first);
            c.count += 1;
            c.min = v < c.min ? v : c.min;
            c.max = v > c.max ? v : c.max;
        }
    }
    c.rest = c.count > 0 ? total(&sum) / c.count : 0;
    return c;
}

static long double centred(const struct centre *c, double x)
{
    return (long double)x - c->first - c->rest;
}

struct reference_moments reference_moments(const double *x, size_t n)
{
    struct reference_moments m = {0, (double)NAN, 0, (double)NAN, (double)NAN, (double)NAN};
    struct nested m2 = {0, 0, 0}, lag = {0, 0, 0};
    const struct centre c = centre_of(x, x, n);
    if (!(c.count > 0)) {
        return m;
    }
    for (size_t t = 0; t < n; ++t) {
        long double d = centred(&c, x[t]);
        if (isnan(x[t])) {
            continue;
        }
        add(&m2, d * d);
        if (t + 1 < n && !isnan(x[t + 1])) {
            add(&lag, d * centred(&c, x[t + 1]));
        }
    }
    m.count = (double)c.count;
    m.min = (double)c.min;
    m.max = (double)c.max;
    m.mean = (double)(c.first + c.rest);
    m.m2 = m.count < 2 ? 0 : (double)total(&m2);
    if (!moments_degenerate(2, m.count, m.m2, m.min, m.max)) {
        m.lag1 = (double)(total(&lag) / total(&m2));
    }
    return m;
}

static bool is_degenerate(const double *x, size_t n)
{
    const struct reference_moments m = reference_moments(x, n);
    return moments_degenerate(2, m.count, m.m2, m.min, m.max);
}

/* Of two series that are not degenerate. */
static double pearson(const double *x, const double *y, size_t n)
{
    const struct centre cx = centre_of(x, y, n), cy = centre_of(y, x, n);
    struct nested xx = {0, 0, 0}, yy = {0, 0, 0}, xy = {0, 0, 0};
    if (cx.count < 2 || !(cx.min < cx.max) || !(cy.min < cy.max)) {
        return (double)NAN;
    }
    for (size_t t = 0; t < n; ++t) {
        if (!isnan(x[t]) && !isnan(y[t])) {
            long double dx = centred(&cx, x[t]), dy = centred(&cy, y[t]);
            add(&xx, dx * dx);
            add(&yy, dy * dy);
            add(&xy, dx * dy);
        }
    }
    return (double)fminl(1, fmaxl(-1, total(&xy) / (sqrtl(total(&xx)) * sqrtl(total(&yy)))));
}

double reference_pearson(const double *x, const double *y, size_t n)
{
    return is_degenerate(x, n) || is_degenerate(y, n) ? (double)NAN : pearson(x, y, n);
}

void reference_unit(const double *x, size_t n, long double *z)
{
    const struct centre c = centre_of(x, x, n);
    struct nested squares = {0, 0, 0};
    for (size_t t = 0; t < n; ++t) {
        z[t] = centred(&c, x[t]);
        add(&squares, z[t] * z[t]);
    }
    const long double norm = sqrtl(total(&squares));
    for (size_t t = 0; t < n; ++t) {
        z[t] /= norm;
    }
}

double reference_dot(const long double *a, const long double *b, size_t n)
{
    struct nested sum = {0, 0, 0};
    for (size_t t = 0; t < n; ++t) {
        add(&sum, a[t] * b[t]);
    }
    const long double r = total(&sum);
    return isnan(r) ? (double)NAN : (double)fminl(1, fmaxl(-1, r));
}

static bool is_whole(const double *x, size_t n)
{
    size_t n_missing = 0;
    for (size_t t = 0; t < n; ++t) {
        n_missing += isnan(x[t]) != 0;
    }
    return n_missing == 0;
}

/* Of two series without gaps it is the product of both scaled, which are made once. */
void reference_condensed(const double *x, size_t n_series, size_t n_samples, double *r)
{
    bool *degenerate = calloc(n_series + 1, sizeof *degenerate);
    bool *whole = calloc(n_series + 1, sizeof *whole);
    long double *z = malloc((n_series * n_samples + 1) * sizeof *z);
    if (degenerate == NULL || whole == NULL || z == NULL) {
        abort();
    }
    for (size_t s = 0; s < n_series; ++s) {
        degenerate[s] = is_degenerate(x + s * n_samples, n_samples);
        whole[s] = is_whole(x + s * n_samples, n_samples);
        if (whole[s] && !degenerate[s]) {
            reference_unit(x + s * n_samples, n_samples, z + s * n_samples);
        }
    }
    for (size_t i = 0; i < n_series; ++i) {
        for (size_t j = i + 1; j < n_series; ++j) {
            const size_t a = i * n_samples, b = j * n_samples;
            *r++ = degenerate[i] || degenerate[j] ? (double)NAN
                   : whole[i] && whole[j]         ? reference_dot(z + a, z + b, n_samples)
                                                  : pearson(x + a, x + b, n_samples);
        }
    }
    free(degenerate);
    free(whole);
    free(z);
}

void reference_least(const double *x, size_t n_series, size_t n_samples, size_t least, double *r)
{
    for (size_t i = 0; i < n_series; ++i) {
        for (size_t j = i + 1; j < n_series; ++j, ++r) {
            size_t n = 0;
            for (size_t t = 0; t < n_samples && n < least; ++t) {
                n += !isnan(x[i * n_samples + t]) && !isnan(x[j * n_samples + t]);
            }
            *r = n < least ? (double)NAN : *r;
        }
    }
}

static uint64_t next(struct reference_random *g)
{
    uint64_t z = g->state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

double reference_uniform(struct reference_random *g)
{
    return (double)(next(g) >> 11) * 0x1p-53;
}

double reference_normal(struct reference_random *g)
{
    double u = 1 - reference_uniform(g), v = reference_uniform(g);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

void reference_noise(uint64_t seed, size_t n_series, size_t n_samples, double *x)
{
    struct reference_random g = {seed};
    for (size_t s = 0; s < n_series; ++s) {
        /* shares of the first series from -1 to 1 */
        double share = s == 0 ? 0 : sin((double)s), rest = sqrt(1 - share * share);
        for (size_t t = 0; t < n_samples; ++t) {
            double common = s == 0 ? 0 : x[t] - 1e4;
            double own = reference_normal(&g);
            x[s * n_samples + t] = 1e4 + (s == 0 ? own : share * common + rest * own);
        }
    }
}

void reference_walks(uint64_t seed, size_t n_series, size_t n_samples, double *x)
{
    struct reference_random g = {seed};
    for (size_t s = 0; s < n_series; ++s) {
        double v = 100;
        for (size_t t = 0; t < n_samples; ++t) {
            x[s * n_samples + t] = v;
            v *= 1 + 1e-3 * (2 * reference_uniform(&g) - 1);
        }
    }
}

void reference_punch(uint64_t seed, double share, size_t n, double *x)
{
    struct reference_random g = {seed};
    for (size_t t = 0; t < n; ++t) {
        if (reference_uniform(&g) < share) {
            x[t] = (double)NAN;
        }
    }
}

void reference_round(size_t n, double *x)
{
    for (size_t t = 0; t < n; ++t) {
        x[t] = (double)(float)x[t];
    }
}

int reference_near(double a, double b, double bound)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) <= bound;
}

void reference_stretches(size_t n_series, size_t n_samples, double *x)
{
    for (size_t s = 0; s < n_series; ++s) {
        size_t begin = s * 40, end = begin + 40 + s / 2 % 5;
        for (size_t t = 0; t < n_samples; ++t) {
            double v = 1e3 * (double)(t / 20) + sin((double)(t * (s + 3)));
            x[s * n_samples + t] = t >= begin && t < end ? v : (double)NAN;
        }
    }
}

const char *const reference_far_kinds[REFERENCE_FAR_KINDS] = {"1e14", "fill value 9.96921e36",
                                                              "-2147483648", "levels 1e9 apart"};

void reference_far(size_t kind, size_t n_series, size_t n_samples, double *x)
{
    static const double outliers[] = {1e14, 9.96921e36, -2147483648.0};
    struct reference_random g = {kind + 40};
    for (size_t s = 0; s < n_series; ++s) {
        for (size_t t = 0; t < n_samples; ++t) {
            double *v = x + s * n_samples + t;
            bool away = kind < 3 ? t % 7 == 3 || t / 64 % 5 == 4 : t < n_samples / 2;
            struct reference_random common = {kind * 7919 + t};
            double noise = reference_normal(&g) + reference_normal(&common);
            *v = kind == 3 ? (away ? 0 : 1e9) + 1e-3 * noise : noise;
            if (s % 4 == 2) {
                *v = away ? noise : 0.1; /* does not vary on the common samples */
            }
            if (away && s % 2 == 1) {
                *v = (double)NAN;
            } else if (away && kind < 3) {
                *v = outliers[kind];
            }
        }
    }
}
