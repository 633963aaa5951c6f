/*
 * library_support - a context, and the points, series, nodes and maps that tests of libleat give
 * it. The backend under test is that of LEAT_TEST_BACKEND.
 */
#ifndef LEAT_TESTS_LIBRARY_SUPPORT_H
#define LEAT_TESTS_LIBRARY_SUPPORT_H

#include "pipeline/library/leat.h"
#include "tests/support/unit.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 900, D = 3, HEAPS = 5, NODES = 21, QUERIES = 600000 }; /* queries: two strips */

static inline struct leat_context *context(void)
{
    struct leat_options o = LEAT_OPTIONS_DEFAULTS;
    struct leat_context *c;
    o.backend = getenv("LEAT_TEST_BACKEND");
    o.threads = 2;
    if (leat_open(&o, &c) != LEAT_OK) {
        fail_msg("%s", leat_error(NULL));
    }
    return c;
}

/* From 0 to 1, of the number alone. */
static inline double uniform(uint64_t i)
{
    i = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    i ^= i >> 29;
    i *= UINT64_C(0xBF58476D1CE4E5B9);
    return (double)(i >> 11) * 0x1p-53;
}

/* Point i belongs to heap i % HEAPS. */
static float points[N][D + 1]; /* the last column is none of theirs */
static double wide[N][D];

static inline void fill_points(void)
{
    for (size_t i = 0; i < N; i++) {
        for (size_t j = 0; j < D; j++) {
            const size_t centre = j == 0 ? i % HEAPS % 3 : j == 1 ? i % HEAPS / 3 : i % HEAPS;
            points[i][j] = (float)(20 * (double)centre + uniform(7777 + i * D + j));
            wide[i][j] = (double)points[i][j];
        }
        points[i][D] = NAN;
    }
}

static inline struct leat_array array(void)
{
    return (struct leat_array)LEAT_ARRAY(wide, LEAT_F8, N, D);
}

static inline struct leat_kmeans_options options(size_t k)
{
    struct leat_kmeans_options o = LEAT_KMEANS_DEFAULTS;
    o.k = k;
    return o;
}

static inline struct leat_kmeans_result *cluster(struct leat_context *c, const struct leat_array *x,
                                                 const struct leat_kmeans_options *o)
{
    struct leat_kmeans_result *r;
    if (leat_kmeans(c, x, o, &r) != LEAT_OK) {
        fail_msg("%s", leat_error(c));
    }
    return r;
}

static inline double distance2(const double *a, const double *b)
{
    double sum = 0;
    for (size_t j = 0; j < D; j++) {
        sum += (a[j] - b[j]) * (a[j] - b[j]);
    }
    return sum;
}

static inline void assert_near(double a, double b, double bound)
{
    if (!(fabs(a - b) <= bound)) {
        fail_msg("%.17g, not %.17g", a, b);
    }
}

/* Before all tests: whether the backend is there; says why it is not. */
static inline bool has_backend(void)
{
    struct leat_options o = LEAT_OPTIONS_DEFAULTS;
    struct leat_context *c;
    o.backend = getenv("LEAT_TEST_BACKEND");
    if (leat_open(&o, &c) == LEAT_NO_BACKEND) {
        print_message("SKIPPED: %s\n", leat_error(NULL));
        return false;
    }
    leat_close(c);
    fill_points();
    return true;
}

/* --- correlations ----------------------------------------------------------------------------- */

enum { SERIES = 70, SAMPLES = 250, PAIRS = SERIES * (SERIES - 1) / 2 };

/* Series with something in common; one is constant, one has gaps. */
struct series {
    double x[SERIES][SAMPLES];
    double apart[SERIES][SAMPLES + 3];
    float narrow[SERIES][SAMPLES];
};

static inline struct series *series_new(void)
{
    struct series *const s = calloc(1, sizeof *s);
    assert_non_null(s);
    for (size_t i = 0; i < SERIES; i++) {
        for (size_t t = 0; t < SAMPLES; t++) {
            const double own = uniform(1000 + i * SAMPLES + t), common = uniform(t);
            s->x[i][t] = (double)(float)(i == 3 ? 5 : own + (double)(i % 4) * common);
            s->x[i][t] = i == 9 && t % 7 == 0 ? (double)NAN : s->x[i][t];
            s->apart[i][t] = s->x[i][t];
            s->narrow[i][t] = (float)s->x[i][t];
        }
    }
    return s;
}

static inline struct leat_array rows_of(const struct series *s)
{
    return (struct leat_array)LEAT_ARRAY(s->x, LEAT_F8, SERIES, SAMPLES);
}

static inline struct leat_correlate_result *correlate(struct leat_context *c,
                                                      const struct leat_array *x,
                                                      const struct leat_correlate_options *o)
{
    struct leat_correlate_result *r;
    if (leat_correlate(c, x, o, &r) != LEAT_OK) {
        fail_msg("%s", leat_error(c));
    }
    return r;
}

/* By the formula, on the samples that both have; NaN where there is none. */
static inline double r_of(const double *x, const double *y)
{
    long double n = 0, mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
    for (size_t t = 0; t < SAMPLES; t++) {
        const bool both = !isnan(x[t]) && !isnan(y[t]);
        n += both;
        mx += both ? (long double)x[t] : 0;
        my += both ? (long double)y[t] : 0;
    }
    for (size_t t = 0; t < SAMPLES; t++) {
        if (!isnan(x[t]) && !isnan(y[t])) {
            const long double dx = (long double)x[t] - mx / n, dy = (long double)y[t] - my / n;
            xx += dx * dx;
            yy += dy * dy;
            xy += dx * dy;
        }
    }
    return xx > 0 && yy > 0 ? (double)(xy / sqrtl(xx * yy)) : (double)NAN;
}

static inline void check_r(const struct series *s, const struct leat_correlate_result *r,
                           double bound)
{
    size_t k = 0;
    for (size_t i = 0; i < SERIES; i++) {
        for (size_t j = i + 1; j < SERIES; j++, k++) {
            const double want = r_of(s->x[i], s->x[j]);
            if (isnan(want) != (isnan(r->r[k]) != 0) || fabs(want - r->r[k]) > bound) {
                fail_msg("r of %zu and %zu: %.17g, not %.17g", i, j, r->r[k], want);
            }
        }
    }
    assert_int_equal(k, PAIRS);
}

/* --- curves ----------------------------------------------------------------------------------- */

struct nodes {
    double x[NODES], y[2][NODES];
};

static inline struct nodes nodes_of_chebyshev(void)
{
    struct nodes n;
    for (size_t i = 0; i < NODES; i++) {
        n.x[i] = cos((2 * (double)i + 1) * acos(-1.0) / (2 * NODES));
        n.y[0][i] = n.x[i] * n.x[i] * n.x[i];
        n.y[1][i] = 4 - n.x[i];
    }
    return n;
}

/* --- landslides ------------------------------------------------------------------------------- */

enum { ROWS = 41, COLUMNS = 33, CELLS = ROWS * COLUMNS };

/* A valley that falls to the south, 3 m of debris at its head, and below it three cells without an
 * altitude. */
struct maps {
    double dem[ROWS][COLUMNS], source[ROWS][COLUMNS];
    float narrow[2][ROWS][COLUMNS + 2]; /* the same, but for the last columns */
};

static inline struct maps *maps_new(void)
{
    struct maps *const m = calloc(1, sizeof *m);
    assert_non_null(m);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < COLUMNS; j++) {
            const double across = (double)j - COLUMNS / 2;
            m->dem[i][j] = (double)(float)(500 - 4.0 * (double)i + 0.25 * across * across +
                                           uniform(i * COLUMNS + j));
            m->source[i][j] = i >= 4 && i < 9 && j >= 14 && j < 19 ? 3 : 0;
        }
    }
    m->dem[14][15] = m->dem[14][16] = m->dem[14][17] = NAN;
    m->source[2][2] = NAN;
    m->source[14][16] = 1; /* does not move, and is not in the result */
    for (size_t k = 0; k < CELLS; k++) {
        m->narrow[0][k / COLUMNS][k % COLUMNS] = (float)m->dem[0][k];
        m->narrow[1][k / COLUMNS][k % COLUMNS] = (float)m->source[0][k];
    }
    return m;
}

static inline struct leat_array map_of(const double (*cells)[COLUMNS])
{
    return (struct leat_array)LEAT_ARRAY(cells, LEAT_F8, ROWS, COLUMNS);
}

static inline struct leat_landslide_result *slide(struct leat_context *c, const struct maps *m,
                                                  const struct leat_landslide_options *o)
{
    const struct leat_array dem = map_of(m->dem), source = map_of(m->source);
    struct leat_landslide_result *r;
    if (leat_landslide(c, &dem, &source, o, &r) != LEAT_OK) {
        fail_msg("%s", leat_error(c));
    }
    return r;
}

static inline void assert_same(const struct leat_landslide_result *a,
                               const struct leat_landslide_result *b)
{
    assert_memory_equal(a->thickness, b->thickness, CELLS * sizeof(double));
    assert_memory_equal(a->max_thickness, b->max_thickness, CELLS * sizeof(double));
    assert_memory_equal(a->arrival, b->arrival, CELLS * sizeof(int32_t));
    assert_int_equal(a->n_reports, b->n_reports);
    assert_memory_equal(a->reports, b->reports, a->n_reports * sizeof *a->reports);
}

/* Of 1353 cells and 200 steps: every sum of 76 m of debris is off by less than 1e-10 of itself. */
static inline void assert_balanced(const struct leat_landslide_report *r)
{
    assert_near(r->on_map + r->lost_edge + r->lost_nodata, 76, 76e-10);
}

#endif
