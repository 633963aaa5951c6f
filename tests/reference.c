/*
 * reference - see the header.
 */
#include "tests/reference.h"

#include "kernels/means.h"

#include <math.h>
#include <stdbool.h>

struct reference_moments reference_moments(const double *x, size_t n)
{
    struct reference_moments m = {0, (double)NAN, 0, (double)NAN, (double)NAN, (double)NAN};
    long double base = 0, sum = 0, mean = 0, m2 = 0, lag = 0; /* sum and mean: less the base */
    for (size_t t = 0; t < n; ++t) {
        if (!isnan(x[t])) {
            base = m.count > 0 ? base : (long double)x[t];
            sum += (long double)x[t] - base;
            m.count += 1;
            m.min = isnan(m.min) || x[t] < m.min ? x[t] : m.min;
            m.max = isnan(m.max) || x[t] > m.max ? x[t] : m.max;
        }
    }
    if (m.count == 0) {
        return m;
    }
    mean = sum / (long double)m.count;
    for (size_t t = 0; t < n; ++t) {
        long double d = (long double)x[t] - base - mean;
        if (isnan(x[t])) {
            continue;
        }
        m2 += d * d;
        if (t + 1 < n && !isnan(x[t + 1])) {
            lag += d * ((long double)x[t + 1] - base - mean);
        }
    }
    m.mean = (double)(base + mean);
    m.m2 = m.count < 2 ? 0 : (double)m2;
    if (!moments_degenerate(m.count, m.m2, m.min, m.max)) {
        m.lag1 = (double)(lag / m2);
    }
    return m;
}

double reference_pearson(const double *x, const double *y, size_t n)
{
    struct reference_moments mx = reference_moments(x, n), my = reference_moments(y, n);
    long double count = 0, sx = 0, sy = 0, xx = 0, yy = 0, xy = 0;
    double min_x = (double)INFINITY, max_x = -min_x, min_y = min_x, max_y = -min_x;
    if (moments_degenerate(mx.count, mx.m2, mx.min, mx.max) ||
        moments_degenerate(my.count, my.m2, my.min, my.max)) {
        return (double)NAN;
    }
    for (size_t t = 0; t < n; ++t) {
        if (!isnan(x[t]) && !isnan(y[t])) {
            count += 1;
            sx += (long double)x[t];
            sy += (long double)y[t];
            min_x = fmin(min_x, x[t]);
            max_x = fmax(max_x, x[t]);
            min_y = fmin(min_y, y[t]);
            max_y = fmax(max_y, y[t]);
        }
    }
    if (count < 2 || !(min_x < max_x) || !(min_y < max_y)) {
        return (double)NAN;
    }
    for (size_t t = 0; t < n; ++t) {
        if (!isnan(x[t]) && !isnan(y[t])) {
            long double dx = (long double)x[t] - sx / count, dy = (long double)y[t] - sy / count;
            xx += dx * dx;
            yy += dy * dy;
            xy += dx * dy;
        }
    }
    return (double)fminl(1, fmaxl(-1, xy / (sqrtl(xx) * sqrtl(yy))));
}

void reference_condensed(const double *x, size_t n_series, size_t n_samples, double *r)
{
    for (size_t i = 0; i < n_series; ++i) {
        for (size_t j = i + 1; j < n_series; ++j) {
            *r++ = reference_pearson(x + i * n_samples, x + j * n_samples, n_samples);
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
