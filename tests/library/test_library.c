/*
 * library - libleat as a program meets it: through leat.h alone. The backend under test is that of
 * LEAT_TEST_BACKEND.
 */
#include "pipeline/library/leat.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 900, D = 3, HEAPS = 5, NODES = 21, QUERIES = 600000 }; /* queries: two strips */

static struct leat_context *context(void)
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
static double uniform(uint64_t i)
{
    i = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    i ^= i >> 29;
    i *= UINT64_C(0xBF58476D1CE4E5B9);
    return (double)(i >> 11) * 0x1p-53;
}

/* Point i belongs to heap i % HEAPS. */
static float points[N][D + 1]; /* the last column is none of theirs */
static double wide[N][D];

static void fill_points(void)
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

static struct leat_array array(void)
{
    return (struct leat_array)LEAT_ARRAY(wide, LEAT_F8, N, D);
}

static struct leat_kmeans_options options(size_t k)
{
    struct leat_kmeans_options o = LEAT_KMEANS_DEFAULTS;
    o.k = k;
    return o;
}

static struct leat_kmeans_result *cluster(struct leat_context *c, const struct leat_array *x,
                                          const struct leat_kmeans_options *o)
{
    struct leat_kmeans_result *r;
    if (leat_kmeans(c, x, o, &r) != LEAT_OK) {
        fail_msg("%s", leat_error(c));
    }
    return r;
}

static double distance2(const double *a, const double *b)
{
    double sum = 0;
    for (size_t j = 0; j < D; j++) {
        sum += (a[j] - b[j]) * (a[j] - b[j]);
    }
    return sum;
}

static void assert_near(double a, double b, double bound)
{
    if (!(fabs(a - b) <= bound)) {
        fail_msg("%.17g, not %.17g", a, b);
    }
}

/* --- correlations ----------------------------------------------------------------------------- */

enum { SERIES = 70, SAMPLES = 250, PAIRS = SERIES * (SERIES - 1) / 2 };

/* Series with something in common; one is constant, one has gaps. */
struct series {
    double x[SERIES][SAMPLES];
    double apart[SERIES][SAMPLES + 3];
    float narrow[SERIES][SAMPLES];
};

static struct series *series_new(void)
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

static struct leat_array rows_of(const struct series *s)
{
    return (struct leat_array)LEAT_ARRAY(s->x, LEAT_F8, SERIES, SAMPLES);
}

static struct leat_correlate_result *correlate(struct leat_context *c, const struct leat_array *x,
                                               const struct leat_correlate_options *o)
{
    struct leat_correlate_result *r;
    if (leat_correlate(c, x, o, &r) != LEAT_OK) {
        fail_msg("%s", leat_error(c));
    }
    return r;
}

/* By the formula, on the samples that both have; NaN where there is none. */
static double r_of(const double *x, const double *y)
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

static void check_r(const struct series *s, const struct leat_correlate_result *r, double bound)
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

static void coefficients_are_those_of_the_formula(void **state)
{
    struct leat_context *const c = context();
    struct series *const s = series_new();
    const struct leat_array x = rows_of(s);
    struct leat_correlate_options o = LEAT_CORRELATE_DEFAULTS;
    (void)state;
    o.top = 10;
    for (int precision = LEAT_EXACT; precision <= LEAT_F32; precision++) {
        o.precision = (enum leat_precision)precision;
        struct leat_correlate_result *r = correlate(c, &x, &o);
        assert_int_equal(r->n_series, SERIES);
        assert_int_equal(r->n_samples, SAMPLES);
        assert_int_equal(r->n_undefined, SERIES - 1);
        check_r(s, r, precision == LEAT_EXACT ? 1e-10 : 1e-6);
        assert_true(r->count[9] == SAMPLES - 36 && r->count[8] == SAMPLES);
        assert_true(r->min[3] == 5 && r->max[3] == 5 && r->mean[3] == 5 && r->m2[3] == 0);
        assert_true(isnan(r->median_abs[3]) && r->median_abs[2] > 0 && fabs(r->lag1[2]) < 0.3);
        assert_int_equal(r->n_pairs, 10);
        for (size_t k = 0; k < r->n_pairs; k++) {
            const struct leat_pair p = r->pairs[k];
            assert_true(p.i < p.j && fabs(p.r - r_of(s->x[p.i], s->x[p.j])) <= 1e-10);
            assert_true(k == 0 || fabs(p.r) <= fabs(r->pairs[k - 1].r));
        }
        assert_true(r->pairs[0].i % 4 == 3 && r->pairs[0].j % 4 == 3);
        leat_correlate_free(r);
    }
    leat_correlate_free(NULL);
    free(s);
    leat_close(c);
}

static void rows_that_lie_apart_and_what_is_not_wanted_change_no_coefficient(void **state)
{
    struct leat_context *const c = context();
    struct series *const s = series_new();
    const struct leat_array x = rows_of(s);
    const struct leat_array narrow = LEAT_ARRAY(s->narrow, LEAT_F4, SERIES, SAMPLES);
    struct leat_array apart = LEAT_ARRAY(s->apart, LEAT_F8, SERIES, SAMPLES);
    struct leat_correlate_options o = LEAT_CORRELATE_DEFAULTS;
    (void)state;
    apart.row_bytes = sizeof s->apart[0];
    struct leat_correlate_result *a = correlate(c, &x, NULL), *b = correlate(c, &apart, NULL);
    assert_memory_equal(a->r, b->r, PAIRS * sizeof(double));
    assert_memory_equal(a->mean, b->mean, SERIES * sizeof(double));
    assert_true(a->n_pairs == 0 && a->pairs == NULL);
    leat_correlate_free(b);
    b = correlate(c, &narrow, NULL); /* in another order of additions, maybe */
    check_r(s, b, 1e-10);
    leat_correlate_free(b);
    o.without_r = 1;
    o.top = PAIRS + 5;
    b = correlate(c, &x, &o);
    assert_null(b->r);
    assert_int_equal(b->n_pairs, PAIRS - (SERIES - 1));
    leat_correlate_free(b);
    o.min_samples = SAMPLES; /* the series with gaps has none then */
    b = correlate(c, &x, &o);
    assert_int_equal(b->n_undefined, SERIES - 1 + SERIES - 2);
    leat_correlate_free(b);
    leat_correlate_free(a);
    free(s);
    leat_close(c);
}

/* Of ranks any rising function of a series has the same coefficients. */
static void ranks_are_of_the_order_alone(void **state)
{
    struct leat_context *const c = context();
    struct series *const s = series_new();
    const struct leat_array x = rows_of(s);
    struct leat_correlate_options o = LEAT_CORRELATE_DEFAULTS;
    (void)state;
    o.method = LEAT_SPEARMAN;
    struct leat_correlate_result *a = correlate(c, &x, &o), *plain = correlate(c, &x, NULL);
    for (size_t k = 0; k < (size_t)SERIES * SAMPLES; k++) {
        s->x[0][k] = exp(3 * s->x[0][k]);
    }
    struct leat_correlate_result *b = correlate(c, &x, &o);
    assert_memory_equal(a->r, b->r, PAIRS * sizeof(double));
    assert_true(memcmp(a->r, plain->r, PAIRS * sizeof(double)) != 0);
    assert_true(a->mean[8] == (SAMPLES + 1) / 2.0 && a->max[8] == SAMPLES); /* all differ */
    leat_correlate_free(a);
    leat_correlate_free(b);
    leat_correlate_free(plain);
    free(s);
    leat_close(c);
}

/* So many that they are taken in two parts. */
static void of_many_series_each_is_taken_once(void **state)
{
    enum { MANY = 600, FEW = 16 };
    static double x[MANY][FEW], apart[MANY][FEW + 1];
    struct leat_context *const c = context();
    const struct leat_array dense = LEAT_ARRAY(x, LEAT_F8, MANY, FEW);
    struct leat_array other = LEAT_ARRAY(apart, LEAT_F8, MANY, FEW);
    (void)state;
    other.row_bytes = sizeof apart[0];
    for (size_t i = 0; i < MANY; i++) {
        for (size_t t = 0; t < FEW; t++) {
            x[i][t] = apart[i][t] = uniform(i * FEW + t);
        }
    }
    for (int method = LEAT_PEARSON; method <= LEAT_SPEARMAN; method++) {
        struct leat_correlate_options o = LEAT_CORRELATE_DEFAULTS;
        o.method = (enum leat_method)method;
        struct leat_correlate_result *a = correlate(c, &dense, &o), *b = correlate(c, &other, &o);
        assert_memory_equal(a->r, b->r, MANY * (MANY - 1) / 2 * sizeof(double));
        for (size_t i = 0; i < MANY && method == LEAT_PEARSON; i++) {
            double sum = 0;
            for (size_t t = 0; t < FEW; t++) {
                sum += x[i][t];
            }
            assert_near(a->mean[i], sum / FEW, FEW * 0x1p-52);
        }
        leat_correlate_free(a);
        leat_correlate_free(b);
    }
    leat_close(c);
}

static void what_is_wrong_with_series_is_said(void **state)
{
    struct leat_context *const c = context();
    struct series *const s = series_new();
    struct leat_array x = rows_of(s);
    struct leat_correlate_options o = LEAT_CORRELATE_DEFAULTS;
    struct leat_correlate_result *r;
    (void)state;
    s->x[12][4] = -INFINITY;
    assert_int_equal(leat_correlate(c, &x, NULL, &r), LEAT_BAD_INPUT);
    assert_non_null(strstr(leat_error(c), "row 12 (the first is 0) has infinite samples"));
    assert_null(r);
    s->x[12][4] = 1e300;
    assert_int_equal(leat_correlate(c, &x, NULL, &r), LEAT_BAD_INPUT);
    assert_non_null(strstr(leat_error(c), "row 12 (the first is 0) has samples too large"));
    s->x[12][4] = 0;
    o.min_samples = 1;
    assert_int_equal(leat_correlate(c, &x, &o, &r), LEAT_BAD_ARGUMENT);
    o.min_samples = 0;
    o.top = SIZE_MAX;
    assert_int_equal(leat_correlate(c, &x, &o, &r), LEAT_BAD_ARGUMENT);
    o.top = 0;
    o.precision = (enum leat_precision)2;
    assert_int_equal(leat_correlate(c, &x, &o, &r), LEAT_BAD_ARGUMENT);
    o.precision = LEAT_EXACT;
    o.method = (enum leat_method)2;
    assert_int_equal(leat_correlate(c, &x, &o, &r), LEAT_BAD_ARGUMENT);
    x.rows = 1;
    assert_int_equal(leat_correlate(c, &x, NULL, &r), LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(c), "rows"));
    x = rows_of(s);
    x.columns = 1;
    assert_int_equal(leat_correlate(c, &x, NULL, &r), LEAT_BAD_ARGUMENT);
    x = rows_of(s);
    x.row_bytes = (size_t)0 - sizeof s->x[0]; /* from the last to the first, as NumPy's x[::-1] */
    assert_int_equal(leat_correlate(c, &x, NULL, &r), LEAT_BAD_ARGUMENT);
    x = rows_of(s);
    x.memory = (enum leat_memory)2;
    assert_int_equal(leat_correlate(c, &x, NULL, &r), LEAT_BAD_ARGUMENT);
    assert_int_equal(leat_correlate(c, NULL, NULL, &r), LEAT_BAD_ARGUMENT);
    assert_int_equal(leat_correlate(c, &x, NULL, NULL), LEAT_BAD_ARGUMENT);
    free(s);
    leat_close(c);
}

/* --- clusters --------------------------------------------------------------------------------- */

static void heaps_are_found_and_all_of_the_result_fits_together(void **state)
{
    struct leat_context *const c = context();
    const struct leat_array x = array();
    const struct leat_kmeans_options o = options(HEAPS);
    struct leat_kmeans_result *r = cluster(c, &x, &o);
    double inertia = 0;
    (void)state;
    assert_int_equal(r->k, HEAPS);
    assert_int_equal(r->n, N);
    assert_int_equal(r->columns, D);
    assert_true(r->converged && r->n_iterations >= 1 && r->silhouette > 0.8 && r->silhouette <= 1);
    for (size_t i = 0; i < N; i++) {
        assert_in_range(r->labels[i], 0, HEAPS - 1);
        assert_int_equal(r->labels[i], r->labels[i % HEAPS]);
        for (size_t k = 0; k < HEAPS; k++) {
            assert_true(distance2(wide[i], r->centroids + (size_t)r->labels[i] * D) <=
                        distance2(wide[i], r->centroids + k * D));
        }
    }
    for (size_t k = 0; k < HEAPS; k++) {
        double mean[D] = {0}, within = 0;
        assert_int_equal(r->counts[k], N / HEAPS);
        for (size_t i = 0; i < N; i++) {
            const bool is_in = r->labels[i] == (int32_t)k;
            within += is_in ? distance2(wide[i], r->centroids + k * D) : 0;
            for (size_t j = 0; j < D; j++) {
                mean[j] += is_in ? wide[i][j] / (N / HEAPS) : 0;
            }
        }
        for (size_t j = 0; j < D; j++) { /* N roundings of numbers below 81 */
            assert_near(r->centroids[k * D + j], mean[j], N * 81 * 0x1p-52);
        }
        assert_near(r->within[k], within, N * 81 * 81 * 0x1p-50);
        inertia += r->within[k];
    }
    assert_near(r->inertia, inertia, inertia * 1e-14);
    leat_kmeans_free(r);
    leat_close(c);
}

/* Rows that lie apart, and floats, are the same points. */
static void strides_and_floats_change_no_bit(void **state)
{
    struct leat_context *const c = context();
    const struct leat_array dense = array(), apart = {.data = points,
                                                      .type = LEAT_F4,
                                                      .rows = N,
                                                      .columns = D,
                                                      .row_bytes = sizeof points[0]};
    const struct leat_kmeans_options o = options(7);
    struct leat_kmeans_result *a = cluster(c, &dense, &o), *b = cluster(c, &apart, &o);
    (void)state;
    assert_memory_equal(a->centroids, b->centroids, a->k * D * sizeof(double));
    assert_memory_equal(a->labels, b->labels, N * sizeof(int32_t));
    leat_kmeans_free(a);
    leat_kmeans_free(b);
    leat_close(c);
}

static void of_a_range_the_number_of_heaps_is_taken(void **state)
{
    struct leat_context *const c = context();
    const struct leat_array x = array();
    struct leat_kmeans_options o = options(2);
    (void)state;
    o.k_last = 8;
    o.scale = LEAT_SCALE_UNIT;
    struct leat_kmeans_result *r = cluster(c, &x, &o);
    assert_int_equal(r->k, HEAPS);
    leat_kmeans_free(r);
    o = options(HEAPS); /* one run from the first five points, which lie in five heaps */
    o.init = LEAT_KMEANS_FIRST;
    r = cluster(c, &x, &o);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(r->labels[i], i % HEAPS);
    }
    leat_kmeans_free(r);
    leat_close(c);
}

/* A program that was made for an earlier version has fewer options. */
static void options_that_are_not_given_are_the_defaults(void **state)
{
    struct leat_context *const c = context();
    const struct leat_array x = array();
    struct leat_kmeans_options o = options(0);
    (void)state;
    struct leat_kmeans_result *by_none = cluster(c, &x, NULL), *by_all = cluster(c, &x, &o);
    o.size = offsetof(struct leat_kmeans_options, k_last);
    o.k_last = 1; /* which is not looked at */
    o.init = (enum leat_kmeans_init)99;
    struct leat_kmeans_result *by_few = cluster(c, &x, &o), *by_no_size;
    assert_int_equal(by_none->k, 8);
    assert_memory_equal(by_none->labels, by_all->labels, N * sizeof(int32_t));
    assert_memory_equal(by_none->labels, by_few->labels, N * sizeof(int32_t));
    leat_kmeans_free(by_none);
    leat_kmeans_free(by_all);
    leat_kmeans_free(by_few);
    o = (struct leat_kmeans_options){.k = 3}; /* nobody would look at k */
    assert_int_equal(leat_kmeans(c, &x, &o, &by_no_size), LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(c), "size is not set"));
    leat_close(c);
}

static void what_is_wrong_with_points_is_said(void **state)
{
    struct leat_context *const c = context();
    struct leat_kmeans_result *r;
    const struct {
        double value;
        const char *says;
    } numbers[] = {{NAN, "row 17, column 1 (the first are 0) is NaN"},
                   {-INFINITY, "row 17, column 1 (the first are 0) is infinite"},
                   {1e200, "column 1 (the first is 0) has values from"}};
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const struct leat_array x = array();
        const double kept = wide[17][1];
        wide[17][1] = numbers[i].value;
        assert_int_equal(leat_kmeans(c, &x, NULL, &r), LEAT_BAD_INPUT);
        assert_non_null(strstr(leat_error(c), numbers[i].says));
        assert_null(r);
        wide[17][1] = kept;
    }
    struct leat_array x = array();
    struct leat_kmeans_options o = options(N + 1);
    assert_int_equal(leat_kmeans(c, &x, &o, &r), LEAT_BAD_ARGUMENT);
    o = options(3);
    o.k_last = 2;
    assert_int_equal(leat_kmeans(c, &x, &o, &r), LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(c), "k_last"));
    assert_null(strstr(leat_error(c), "points"));
    o = options(3);
    o.n_init = SIZE_MAX / 2 + 1; /* runs that wrap */
    o.k_last = 4;
    assert_int_equal(leat_kmeans(c, &x, &o, &r), LEAT_BAD_ARGUMENT);
    for (size_t i = 0; i < 2; i++) {
        o = options(3);
        o.tol = i == 0 ? NAN : 1e308;
        assert_int_equal(leat_kmeans(c, &x, &o, &r), LEAT_BAD_ARGUMENT);
    }
    assert_int_equal(leat_kmeans(c, NULL, NULL, &r), LEAT_BAD_ARGUMENT);
    assert_int_equal(leat_kmeans(c, &x, NULL, NULL), LEAT_BAD_ARGUMENT);
    o = options(3);
    o.scale = (enum leat_kmeans_scale)7;
    assert_int_equal(leat_kmeans(c, &x, &o, &r), LEAT_BAD_ARGUMENT);
    x.row_bytes = sizeof(double);
    assert_int_equal(leat_kmeans(c, &x, NULL, &r), LEAT_BAD_ARGUMENT);
    x = array();
    x.rows = 0;
    assert_int_equal(leat_kmeans(c, &x, NULL, &r), LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(c), "points"));
    leat_close(c);
}

static void memory_is_bounded(void **state)
{
    struct leat_options o = LEAT_OPTIONS_DEFAULTS;
    struct leat_context *c;
    struct leat_kmeans_result *r;
    struct leat_landslide_result *slide;
    struct leat_correlate_result *r_of_all;
    const struct leat_array x = array();
    (void)state;
    o.memory = 10000;
    o.backend = getenv("LEAT_TEST_BACKEND");
    assert_int_equal(leat_open(&o, &c), LEAT_OK);
    assert_int_equal(leat_kmeans(c, &x, NULL, &r), LEAT_TOO_LARGE);
    assert_non_null(strstr(leat_error(c), "10000"));
    assert_int_equal(leat_correlate(c, &x, NULL, &r_of_all), LEAT_TOO_LARGE);
    assert_int_equal(leat_landslide(c, &x, &x, NULL, &slide), LEAT_TOO_LARGE);
    assert_non_null(strstr(leat_error(c), "10000"));
    leat_close(c);
}

/* --- curves ----------------------------------------------------------------------------------- */

struct nodes {
    double x[NODES], y[2][NODES];
};

static struct nodes nodes_of_chebyshev(void)
{
    struct nodes n;
    for (size_t i = 0; i < NODES; i++) {
        n.x[i] = cos((2 * (double)i + 1) * acos(-1.0) / (2 * NODES));
        n.y[0][i] = n.x[i] * n.x[i] * n.x[i];
        n.y[1][i] = 4 - n.x[i];
    }
    return n;
}

/* Of polynomials of degree 3 and 1 the interpolant is the polynomial: |error| <= 50 u 2.9 max |y|,
 * 2.9 above the Lebesgue constant of 21 Chebyshev nodes, and what rounds y as much again. */
static void polynomials_are_themselves(void **state)
{
    struct leat_context *const c = context();
    const struct nodes n = nodes_of_chebyshev();
    static double q[QUERIES], v[QUERIES][2];
    (void)state;
    for (int method = LEAT_BY_ITSELF; method <= LEAT_BARYCENTRIC; method++) {
        struct leat_interpolant *p;
        assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], NODES, 2,
                                              (enum leat_interpolant_method)method, 0, &p),
                         LEAT_OK);
        for (size_t i = 0; i < QUERIES; i++) {
            q[i] = (2 * uniform(i) - 1) * n.x[0];
        }
        q[7] = NAN;
        q[8] = n.x[3];
        q[9] = INFINITY;
        assert_int_equal(leat_interpolant_evaluate(p, q, QUERIES, v[0]), LEAT_OK);
        assert_int_equal(leat_interpolant_evaluate(p, NULL, 0, NULL), LEAT_OK);
        for (size_t i = 0; i < QUERIES; i++) {
            if (i == 7 || i == 9) {
                assert_true(isnan(v[i][0]) && isnan(v[i][1]));
                continue;
            }
            assert_near(v[i][0], q[i] * q[i] * q[i], 100 * 0x1p-53 * 2.9);
            assert_near(v[i][1], 4 - q[i], 100 * 0x1p-53 * 2.9 * 5);
        }
        assert_memory_equal(&v[8][0], &n.y[0][3], sizeof(double)); /* a node's own value */
        assert_in_range((size_t)(100 * leat_interpolant_lebesgue(p)), 200, 290);
        leat_interpolant_free(p);
    }
    leat_interpolant_free(NULL);
    leat_close(c);
}

static void what_is_wrong_with_nodes_is_said(void **state)
{
    struct leat_context *const c = context();
    struct nodes n = nodes_of_chebyshev();
    struct leat_interpolant *p;
    (void)state;
    n.x[9] = n.x[4];
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], NODES, 2, LEAT_BY_ITSELF, 0, &p),
                     LEAT_BAD_INPUT);
    assert_non_null(strstr(leat_error(c), "nodes 4 and 9"));
    assert_null(p);
    n.x[9] = INFINITY;
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], NODES, 2, LEAT_BY_ITSELF, 0, &p),
                     LEAT_BAD_INPUT);
    assert_non_null(strstr(leat_error(c), "x of node 9 (the first is 0)"));
    n = nodes_of_chebyshev();
    n.y[1][0] = NAN;
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], NODES, 2, LEAT_BY_ITSELF, 0, &p),
                     LEAT_BAD_INPUT);
    assert_non_null(strstr(leat_error(c), "y of node 0 (the first is 0)"));
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], 0, 2, LEAT_BY_ITSELF, 0, &p),
                     LEAT_BAD_ARGUMENT);
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], 40000, 1, LEAT_BY_ITSELF, 0, &p),
                     LEAT_BAD_ARGUMENT);
    n = nodes_of_chebyshev();
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], NODES, 1, LEAT_BY_ITSELF, 0, &p),
                     LEAT_OK);
    assert_int_equal(leat_interpolant_evaluate(p, NULL, 3, NULL), LEAT_BAD_ARGUMENT);
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], NODES, 1, LEAT_BY_ITSELF, 0, NULL),
                     LEAT_BAD_ARGUMENT);
    leat_interpolant_free(p);
    leat_close(c);
}

/* --- landslides ------------------------------------------------------------------------------- */

enum { ROWS = 41, COLUMNS = 33, CELLS = ROWS * COLUMNS };

/* A valley that falls to the south, 3 m of debris at its head, and below it three cells without an
 * altitude. */
struct maps {
    double dem[ROWS][COLUMNS], source[ROWS][COLUMNS];
    float narrow[2][ROWS][COLUMNS + 2]; /* the same, but for the last columns */
};

static struct maps *maps_new(void)
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

static struct leat_array map_of(const double (*cells)[COLUMNS])
{
    return (struct leat_array)LEAT_ARRAY(cells, LEAT_F8, ROWS, COLUMNS);
}

static struct leat_landslide_result *slide(struct leat_context *c, const struct maps *m,
                                           const struct leat_landslide_options *o)
{
    const struct leat_array dem = map_of(m->dem), source = map_of(m->source);
    struct leat_landslide_result *r;
    if (leat_landslide(c, &dem, &source, o, &r) != LEAT_OK) {
        fail_msg("%s", leat_error(c));
    }
    return r;
}

static void assert_same(const struct leat_landslide_result *a,
                        const struct leat_landslide_result *b)
{
    assert_memory_equal(a->thickness, b->thickness, CELLS * sizeof(double));
    assert_memory_equal(a->max_thickness, b->max_thickness, CELLS * sizeof(double));
    assert_memory_equal(a->arrival, b->arrival, CELLS * sizeof(int32_t));
    assert_int_equal(a->n_reports, b->n_reports);
    assert_memory_equal(a->reports, b->reports, a->n_reports * sizeof *a->reports);
}

/* Of 1353 cells and 200 steps: every sum of 76 m of debris is off by less than 1e-10 of itself. */
static void assert_balanced(const struct leat_landslide_report *r)
{
    assert_near(r->on_map + r->lost_edge + r->lost_nodata, 76, 76e-10);
}

static void debris_flows_and_all_of_the_result_fits_together(void **state)
{
    struct leat_context *const c = context();
    struct maps *const m = maps_new();
    struct leat_landslide_options o = LEAT_LANDSLIDE_DEFAULTS;
    (void)state;
    o.steps = 200;
    o.report_every = 60;
    struct leat_landslide_result *r = slide(c, m, &o);
    double sum = 0;
    assert_int_equal(r->rows, ROWS);
    assert_int_equal(r->columns, COLUMNS);
    assert_int_equal(r->n_reports, 5);
    for (size_t k = 0; k < r->n_reports; k++) {
        assert_int_equal(r->reports[k].step, k < 4 ? 60 * k : 200);
        assert_balanced(&r->reports[k]);
        assert_true(r->reports[k].lost_nodata == 0);
    }
    assert_false(r->settled);
    assert_true(r->reports[0].on_map == 76 && r->reports[0].n_active == 26);
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < COLUMNS; j++) {
            const size_t k = i * COLUMNS + j;
            const bool ring = i == 0 || j == 0 || i == ROWS - 1 || j == COLUMNS - 1;
            if (isnan(m->dem[i][j])) {
                assert_true(isnan(r->thickness[k]) && isnan(r->max_thickness[k]));
                assert_int_equal(r->arrival[k], -1);
                continue;
            }
            sum += r->thickness[k];
            assert_true(r->max_thickness[k] >= r->thickness[k]);
            assert_true(r->max_thickness[k] >= m->source[i][j] || isnan(m->source[i][j]));
            assert_true(ring || (r->arrival[k] >= 0) == (r->max_thickness[k] > 0.001));
            assert_int_equal(r->arrival[k] == 0, m->source[i][j] > 0);
        }
    }
    assert_near(sum, r->reports[4].on_map - 1, 76e-10);
    /* it went round the hole, and came together again */
    assert_true(r->arrival[14 * COLUMNS + 14] > 0 &&
                r->arrival[20 * COLUMNS + 15] > r->arrival[20 * COLUMNS + 14]);
    leat_landslide_free(r);
    leat_landslide_free(NULL);
    free(m);
    leat_close(c);
}

static void maps_of_floats_and_any_backend_give_the_same_bits(void **state)
{
    struct leat_context *const c = context();
    struct leat_context *cpu;
    struct maps *const m = maps_new();
    struct leat_landslide_options o = LEAT_LANDSLIDE_DEFAULTS;
    struct leat_array dem = LEAT_ARRAY(m->narrow[0], LEAT_F4, ROWS, COLUMNS), source = dem;
    dem.row_bytes = source.row_bytes = sizeof m->narrow[0][0];
    source.data = m->narrow[1];
    struct leat_landslide_result *narrow;
    (void)state;
    assert_int_equal(leat_open(NULL, &cpu), LEAT_OK);
    o.steps = 300;
    struct leat_landslide_result *r = slide(c, m, &o), *by_cpu = slide(cpu, m, &o);
    assert_int_equal(leat_landslide(c, &dem, &source, &o, &narrow), LEAT_OK);
    assert_same(r, by_cpu);
    assert_same(r, narrow);
    leat_landslide_free(r);
    leat_landslide_free(by_cpu);
    leat_landslide_free(narrow);
    leat_close(cpu);
    free(m);
    leat_close(c);
}

static void nodata_swallows_debris_where_that_is_asked_for(void **state)
{
    struct leat_context *const c = context();
    struct maps *const m = maps_new();
    struct leat_landslide_options o = LEAT_LANDSLIDE_DEFAULTS;
    (void)state;
    o.steps = 200;
    o.nodata = LEAT_NODATA_SINK;
    struct leat_landslide_result *r = slide(c, m, &o);
    const struct leat_landslide_report *const last = &r->reports[r->n_reports - 1];
    assert_true(last->lost_nodata > 1);
    assert_balanced(last);
    assert_true(isnan(r->thickness[14 * COLUMNS + 16]));
    leat_landslide_free(r);
    o.settle = 1; /* all of the debris adheres */
    o.epsilon = 5;
    r = slide(c, m, &o);
    assert_true(r->settled);
    assert_int_equal(r->n_reports, 2);
    assert_int_equal(r->reports[1].step, 1);
    leat_landslide_free(r);
    free(m);
    leat_close(c);
}

static void what_is_wrong_with_maps_is_said(void **state)
{
    struct leat_context *const c = context();
    struct leat_landslide_result *r;
    const struct {
        size_t map;
        double value;
        const char *says;
    } numbers[] = {
        {0, INFINITY, "dem: row 3, column 7 (the first are 0) is inf, no altitude"},
        {0, 2e9, "dem: row 3, column 7 (the first are 0) is 2e+09, no altitude"},
        {1, -0.5, "source: row 3, column 7 (the first are 0) is -0.5, no thickness"},
        {1, INFINITY, "source: row 3, column 7 (the first are 0) is inf, no thickness"},
    };
    struct maps *const m = maps_new();
    const struct leat_array dem = map_of(m->dem), source = map_of(m->source);
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double *const at = numbers[i].map == 0 ? &m->dem[3][7] : &m->source[3][7];
        const double kept = *at;
        *at = numbers[i].value;
        assert_int_equal(leat_landslide(c, &dem, &source, NULL, &r), LEAT_BAD_INPUT);
        if (strstr(leat_error(c), numbers[i].says) == NULL) {
            fail_msg("%s", leat_error(c));
        }
        assert_null(r);
        *at = kept;
    }
    struct leat_landslide_options wrong[5];
    for (size_t i = 0; i < 5; i++) {
        wrong[i] = (struct leat_landslide_options)LEAT_LANDSLIDE_DEFAULTS;
    }
    wrong[0].steps = UINT64_C(1) << 31;
    wrong[1].epsilon = NAN;
    wrong[2].r = 1.5;
    wrong[3].nodata = (enum leat_nodata)2;
    wrong[4].size = 2 * sizeof wrong[0];
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(leat_landslide(c, &dem, &source, &wrong[i], &r), LEAT_BAD_ARGUMENT);
    }
    struct leat_array small = source;
    small.rows--;
    assert_int_equal(leat_landslide(c, &dem, &small, NULL, &r), LEAT_BAD_ARGUMENT);
    small = source;
    small.row_bytes = sizeof m->source[0] + 1;
    assert_int_equal(leat_landslide(c, &dem, &small, NULL, &r), LEAT_BAD_ARGUMENT);
    assert_int_equal(leat_landslide(c, NULL, &source, NULL, &r), LEAT_BAD_ARGUMENT);
    assert_int_equal(leat_landslide(c, &dem, &source, NULL, NULL), LEAT_BAD_ARGUMENT);
    for (size_t k = 0; k < CELLS; k++) {
        m->dem[0][k] = NAN;
    }
    assert_int_equal(leat_landslide(c, &dem, &source, NULL, &r), LEAT_BAD_INPUT);
    assert_non_null(strstr(leat_error(c), "dem: no cell"));
    free(m);
    leat_close(c);
}

/* --- the device's memory -----------------------------------------------------------------------
 */

/* What the driver has for a program that works on the device itself; the names are its own. */
static struct {
    int (*cuInit)(unsigned flags);
    int (*cuDevicePrimaryCtxRetain)(void **context, int device);
    int (*cuCtxSetCurrent)(void *context);
    int (*cuMemAlloc_v2)(void **at, size_t bytes);
    int (*cuMemFree_v2)(void *at);
    int (*cuMemcpyHtoD_v2)(void *to, const void *from, size_t bytes);
    int (*cuMemcpyDtoH_v2)(void *to, const void *from, size_t bytes);
    int (*cuMemsetD8_v2)(void *at, unsigned char value, size_t n);
    int (*cuStreamCreate)(void **stream, unsigned flags);
    int (*cuStreamDestroy_v2)(void *stream);
    int (*cuLaunchHostFunc)(void *stream, void (*call)(void *), void *arg);
    int (*cuMemcpyDtoDAsync_v2)(void *to, const void *from, size_t bytes, void *stream);
} driver;

static void load_driver(void)
{
    const char *const names[] = {
        "cuInit",         "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent",  "cuMemAlloc_v2",
        "cuMemFree_v2",   "cuMemcpyHtoD_v2",          "cuMemcpyDtoH_v2",  "cuMemsetD8_v2",
        "cuStreamCreate", "cuStreamDestroy_v2",       "cuLaunchHostFunc", "cuMemcpyDtoDAsync_v2",
    };
    void *context, *const library = dlopen("libcuda.so.1", RTLD_NOW);
    assert_non_null(library);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ((void **)&driver)[i] = dlsym(library, names[i]);
        assert_non_null(((void **)&driver)[i]);
    }
    assert_int_equal(driver.cuInit(0), 0);
    assert_int_equal(driver.cuDevicePrimaryCtxRetain(&context, 0), 0);
    assert_int_equal(driver.cuCtxSetCurrent(context), 0);
}

/* A copy on the device; of nothing: zeros. */
static void *on_device(const void *from, size_t bytes)
{
    void *at;
    assert_int_equal(driver.cuMemAlloc_v2(&at, bytes), 0);
    assert_int_equal(driver.cuMemsetD8_v2(at, 0, bytes), 0);
    assert_int_equal(from == NULL ? 0 : driver.cuMemcpyHtoD_v2(at, from, bytes), 0);
    return at;
}

static bool is_cpu(void)
{
    const char *const backend = getenv("LEAT_TEST_BACKEND");
    return backend == NULL || strcmp(backend, "cpu") == 0;
}

/* A stream of the program in which numbers come late: what is computed comes after them. */
struct late {
    void *stream, *copy; /* the numbers, once they have come; before, zeros */
    void *from;
};

static void wait_a_little(void *unused)
{
    (void)unused;
    usleep(200000);
}

static struct late late_new(const void *numbers, size_t bytes)
{
    struct late l = {.from = on_device(numbers, bytes), .copy = on_device(NULL, bytes)};
    assert_int_equal(driver.cuStreamCreate(&l.stream, 1), 0); /* that waits for no other */
    assert_int_equal(driver.cuLaunchHostFunc(l.stream, wait_a_little, NULL), 0);
    assert_int_equal(driver.cuMemcpyDtoDAsync_v2(l.copy, l.from, bytes, l.stream), 0);
    return l;
}

static void late_free(struct late *l)
{
    assert_int_equal(driver.cuStreamDestroy_v2(l->stream), 0);
    assert_int_equal(driver.cuMemFree_v2(l->copy), 0);
    assert_int_equal(driver.cuMemFree_v2(l->from), 0);
}

static struct leat_array there(struct leat_array x, const struct late *l)
{
    x.data = l->copy;
    x.memory = LEAT_DEVICE_MEMORY;
    x.stream = l->stream;
    return x;
}

static void curves_are_evaluated_in_the_devices_memory(void **state)
{
    if (is_cpu()) {
        skip();
    }
    struct leat_context *const c = context();
    const struct nodes n = nodes_of_chebyshev();
    static double q[QUERIES], here[QUERIES][2], back[QUERIES][2];
    struct leat_interpolant *p;
    (void)state;
    load_driver();
    for (size_t i = 0; i < QUERIES; i++) {
        q[i] = (2 * uniform(i) - 1) * n.x[0];
    }
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], NODES, 2, LEAT_BY_ITSELF, 0, &p),
                     LEAT_OK);
    assert_int_equal(leat_interpolant_evaluate(p, q, QUERIES, here[0]), LEAT_OK);
    struct late queries = late_new(q, sizeof q);
    double *const values = on_device(NULL, sizeof here);
    assert_int_equal(
        leat_interpolant_evaluate_device(p, queries.copy, QUERIES, values, queries.stream),
        LEAT_OK);
    assert_int_equal(driver.cuMemcpyDtoH_v2(back, values, sizeof back), 0);
    assert_memory_equal(here, back, sizeof here);
    assert_int_equal(leat_interpolant_evaluate_device(p, q, 5, values, NULL), LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(c), "no memory of device 0"));
    assert_int_equal(leat_interpolant_evaluate_device(p, (double *)queries.copy + 1, QUERIES - 1,
                                                      values + 1, NULL),
                     LEAT_OK); /* aligned to numbers alone */
    assert_int_equal(
        leat_interpolant_evaluate_device(p, (double *)((char *)queries.copy + 4), 1, values, NULL),
        LEAT_BAD_ARGUMENT);
    assert_int_equal(driver.cuMemcpyDtoH_v2(back, values, sizeof back), 0);
    for (size_t i = 1; i < QUERIES; i++) {
        assert_memory_equal(&((double *)back)[1 + 2 * (i - 1)], here[i], sizeof here[i]);
    }
    assert_int_equal(driver.cuMemFree_v2(values), 0);
    late_free(&queries);
    leat_interpolant_free(p);
    leat_close(c);
}

/* As they lie, and from the second row on, which is aligned to numbers alone. */
static void points_are_clustered_in_the_devices_memory(void **state)
{
    if (is_cpu()) {
        skip();
    }
    struct leat_context *const c = context();
    (void)state;
    load_driver();
    for (size_t first = 0; first < 2; first++) {
        struct leat_array x = array();
        struct late late = late_new(wide, sizeof wide);
        x.rows -= first;
        x.data = wide[first];
        struct leat_array on_it = there(x, &late);
        on_it.data = (const double *)late.copy + first * D;
        const struct leat_kmeans_options o = options(7);
        struct leat_kmeans_result *a = cluster(c, &x, &o), *b = cluster(c, &on_it, &o);
        assert_memory_equal(a->centroids, b->centroids, 7 * D * sizeof(double));
        assert_memory_equal(a->labels, b->labels, x.rows * sizeof(int32_t));
        assert_true(a->silhouette == b->silhouette && a->inertia == b->inertia);
        leat_kmeans_free(a);
        leat_kmeans_free(b);
        late_free(&late);
    }
    leat_close(c);
}

static void series_are_correlated_in_the_devices_memory(void **state)
{
    if (is_cpu()) {
        skip();
    }
    struct leat_context *const c = context();
    struct series *const s = series_new();
    (void)state;
    load_driver();
    for (size_t first = 0; first < 2; first++) {
        struct leat_array x = rows_of(s);
        struct late late = late_new(s->x, sizeof s->x);
        x.rows -= first;
        x.data = s->x[first];
        struct leat_array on_it = there(x, &late);
        on_it.data = (const double *)late.copy + first * SAMPLES;
        struct leat_correlate_result *a = correlate(c, &x, NULL), *b = correlate(c, &on_it, NULL);
        assert_memory_equal(a->r, b->r, x.rows * (x.rows - 1) / 2 * sizeof(double));
        assert_memory_equal(a->mean, b->mean, x.rows * sizeof(double));
        leat_correlate_free(a);
        leat_correlate_free(b);
        late_free(&late);
    }
    free(s);
    leat_close(c);
}

static void maps_on_the_device_are_as_good(void **state)
{
    if (is_cpu()) {
        skip();
    }
    struct leat_context *const c = context();
    struct maps *const m = maps_new();
    struct leat_landslide_result *r = slide(c, m, NULL), *other;
    (void)state;
    load_driver();
    struct late z = late_new(m->dem, sizeof m->dem), h = late_new(m->source, sizeof m->source);
    const struct leat_array dem = there(map_of(m->dem), &z), source = there(map_of(m->source), &h);
    assert_int_equal(leat_landslide(c, &dem, &source, NULL, &other), LEAT_OK);
    assert_same(r, other);
    leat_landslide_free(r);
    leat_landslide_free(other);
    late_free(&z);
    late_free(&h);
    free(m);
    leat_close(c);
}

static void a_cpu_has_no_device_memory(void **state)
{
    struct leat_context *c;
    struct leat_landslide_result *r;
    struct leat_interpolant *p;
    struct maps *const m = maps_new();
    struct nodes n = nodes_of_chebyshev();
    const struct leat_array source = map_of(m->source);
    struct leat_array dem = map_of(m->dem);
    (void)state;
    assert_int_equal(leat_open(NULL, &c), LEAT_OK);
    struct leat_array x = array();
    struct leat_kmeans_result *clusters;
    x.memory = LEAT_DEVICE_MEMORY;
    assert_int_equal(leat_kmeans(c, &x, NULL, &clusters), LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(c), "cuda"));
    dem.memory = LEAT_DEVICE_MEMORY;
    assert_int_equal(leat_landslide(c, &dem, &source, NULL, &r), LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(c), "cuda"));
    dem.row_bytes = 2 * sizeof m->dem[0]; /* neither there */
    assert_int_equal(leat_landslide(c, &dem, &source, NULL, &r), LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(c), "rows"));
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], NODES, 1, LEAT_BY_ITSELF, 0, &p),
                     LEAT_OK);
    assert_int_equal(leat_interpolant_evaluate_device(p, n.x, NODES, n.y[1], NULL),
                     LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(c), "cuda"));
    leat_interpolant_free(p);
    free(m);
    leat_close(c);
}

/* --- progress --------------------------------------------------------------------------------- */

struct told {
    pthread_t thread;
    size_t n, n_until_no; /* calls; the last one says no */
    double last;
};

static int tell(void *user, double share)
{
    struct told *const t = user;
    assert_true(pthread_equal(pthread_self(), t->thread));
    assert_true(share >= (t->n == 0 ? 0 : t->last) && share <= 1);
    t->last = share;
    return ++t->n == t->n_until_no;
}

static enum leat_status call(struct leat_context *c, struct leat_interpolant *p, size_t which)
{
    static double q[2 << 20], v[2 << 20];
    struct maps *const m = maps_new();
    const struct leat_array x = array(), dem = map_of(m->dem), source = map_of(m->source);
    struct leat_kmeans_result *clusters = NULL;
    struct leat_landslide_result *r = NULL;
    struct leat_correlate_result *all = NULL;
    const enum leat_status st = which == 0   ? leat_kmeans(c, &x, NULL, &clusters)
                                : which == 1 ? leat_landslide(c, &dem, &source, NULL, &r)
                                : which == 2 ? leat_correlate(c, &x, NULL, &all)
                                             : leat_interpolant_evaluate(p, q, 2 << 20, v);
    assert_true(which == 3 || (clusters == NULL && r == NULL && all == NULL) == (st != LEAT_OK));
    leat_correlate_free(all);
    leat_kmeans_free(clusters);
    leat_landslide_free(r);
    free(m);
    return st;
}

static void programs_are_told_the_progress_and_may_say_no(void **state)
{
    struct told told = {.thread = pthread_self()};
    struct leat_options o = LEAT_OPTIONS_DEFAULTS;
    const struct nodes n = nodes_of_chebyshev();
    struct leat_context *c;
    struct leat_interpolant *p;
    (void)state;
    o.backend = getenv("LEAT_TEST_BACKEND");
    o.progress = tell;
    o.user = &told;
    assert_int_equal(leat_open(&o, &c), LEAT_OK);
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], NODES, 1, LEAT_BY_ITSELF, 0, &p),
                     LEAT_OK);
    for (size_t which = 0; which < 4; which++) {
        told.n_until_no = 1;
        told.n = 0;
        assert_int_equal(call(c, p, which), LEAT_CANCELLED);
        assert_int_equal(told.n, 1);
        told.n_until_no = told.n = 0;
        assert_int_equal(call(c, p, which), LEAT_OK);
        assert_true(told.n >= 1);
    }
    assert_true(told.n == 2 && told.last > 0.5); /* strips */
    leat_interpolant_free(p);
    leat_close(c);
}

/* Of series that take two panels, with gaps, three products of panels. */
static void programs_are_told_while_pairs_with_gaps_are_computed(void **state)
{
    enum { MANY = 1100, FEW = 12 };
    static double x[MANY][FEW];
    const struct leat_array all = LEAT_ARRAY(x, LEAT_F8, MANY, FEW);
    struct told told = {.thread = pthread_self()};
    struct leat_options o = LEAT_OPTIONS_DEFAULTS;
    struct leat_context *c;
    struct leat_correlate_result *r;
    (void)state;
    o.backend = getenv("LEAT_TEST_BACKEND");
    o.progress = tell;
    o.user = &told;
    assert_int_equal(leat_open(&o, &c), LEAT_OK);
    for (size_t k = 0; k < (size_t)MANY * FEW; k++) {
        x[0][k] = k % 31 == 0 ? (double)NAN : uniform(k);
    }
    for (int method = LEAT_PEARSON; method <= LEAT_SPEARMAN; method++) {
        struct leat_correlate_options of = LEAT_CORRELATE_DEFAULTS;
        of.method = (enum leat_method)method;
        told.n = told.n_until_no = 0;
        leat_correlate_free(correlate(c, &all, &of));
        const size_t n = told.n;
        /* two panels, three products of them, those of ranks in strips, and the results */
        assert_true(method == LEAT_PEARSON ? n == 2 + 3 + 1 : n > 20);
        assert_true(told.last == 1);
        told.n = 0;
        told.n_until_no = n / 2 + 1;
        assert_int_equal(leat_correlate(c, &all, &of, &r), LEAT_CANCELLED);
        assert_true(told.n == n / 2 + 1 && told.last > 0.5 && told.last < 1);
    }
    leat_close(c);
}

/* --- contexts --------------------------------------------------------------------------------- */

static void contexts_that_cannot_be_say_why(void **state)
{
    struct leat_options o = LEAT_OPTIONS_DEFAULTS;
    struct leat_context *c;
    (void)state;
    o.backend = "abacus";
    assert_int_equal(leat_open(&o, &c), LEAT_BAD_ARGUMENT);
    assert_null(c);
    assert_non_null(strstr(leat_error(NULL), "abacus"));
    o = (struct leat_options)LEAT_OPTIONS_DEFAULTS;
    o.threads = SIZE_MAX;
    assert_int_equal(leat_open(&o, &c), LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(NULL), "threads"));
    struct {
        struct leat_options known;
        int later;
    } newer;
    memset(&newer, 0, sizeof newer); /* with what lies between */
    newer.known.size = sizeof newer;
    newer.known.threads = 1;
    assert_int_equal(leat_open(&newer.known, &c), LEAT_OK); /* what is not known is not set */
    leat_close(c);
    newer.later = 1;
    assert_int_equal(leat_open(&newer.known, &c), LEAT_BAD_ARGUMENT);
    leat_close(NULL);
    leat_cancel(NULL);
    leat_kmeans_free(NULL);
    c = context();
    assert_true(strlen(leat_backend(c)) > 5);
    assert_string_equal(leat_version(), LEAT_VERSION);
    leat_close(c);
}

/* Threads of the library take no signal that the program has blocked. The first of all tests: where
 * others call the driver themselves, it begins threads in their name. */
static void signals_stay_the_programs(void **state)
{
    sigset_t term, before;
    struct leat_context *const c = context();
    const struct leat_array x = array();
    (void)state;
    leat_correlate_free(correlate(c, &x, NULL));
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &term, &before), 0);
    assert_int_equal(kill(getpid(), SIGTERM), 0);
    int got = 0;
    assert_int_equal(sigwait(&term, &got), 0); /* else it has ended the test */
    assert_int_equal(got, SIGTERM);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    leat_close(c);
}

static void *work(void *unused)
{
    (void)unused;
    struct leat_kmeans_result *r = NULL;
    struct leat_context *const c = context();
    const struct leat_array x = array();
    for (int i = 0; i < 5; i++) {
        const struct leat_kmeans_options o = options(6);
        r = cluster(c, &x, &o);
        if (i < 4) {
            leat_kmeans_free(r);
        }
    }
    leat_close(c);
    return r;
}

static void two_contexts_work_at_the_same_time(void **state)
{
    pthread_t threads[2];
    struct leat_kmeans_result *r[2];
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work, NULL), 0);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], (void **)&r[i]), 0);
    }
    assert_memory_equal(r[0]->labels, r[1]->labels, N * sizeof(int32_t));
    assert_memory_equal(r[0]->centroids, r[1]->centroids, 6 * D * sizeof(double));
    for (size_t i = 0; i < 2; i++) {
        leat_kmeans_free(r[i]);
    }
}

static void *cancel(void *c)
{
    usleep(50000); /* it would go on for days */
    leat_cancel(c);
    return NULL;
}

static void a_call_is_cancelled_and_the_next_one_works(void **state)
{
    struct leat_context *const c = context();
    const struct leat_array x = array();
    struct leat_kmeans_options o = options(300);
    struct leat_kmeans_result *r;
    pthread_t thread;
    (void)state;
    o.k_last = 800;
    o.n_init = SIZE_MAX / 1000;
    o.tol = -1;
    assert_int_equal(pthread_create(&thread, NULL, cancel, c), 0);
    assert_int_equal(leat_kmeans(c, &x, &o, &r), LEAT_CANCELLED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_null(r);
    r = cluster(c, &x, NULL);
    leat_kmeans_free(r);
    struct maps *const m = maps_new();
    const struct leat_array dem = map_of(m->dem), source = map_of(m->source);
    struct leat_landslide_result *slide;
    m->dem[ROWS - 1][0] = INFINITY; /* nobody comes so far */
    leat_cancel(c);
    assert_int_equal(leat_landslide(c, &dem, &source, NULL, &slide), LEAT_CANCELLED);
    assert_int_equal(leat_landslide(c, &dem, &source, NULL, &slide), LEAT_BAD_INPUT);
    free(m);
    const struct nodes n = nodes_of_chebyshev();
    struct leat_interpolant *p;
    double value;
    leat_cancel(c); /* does not outlive the call that is refused */
    assert_int_equal(leat_kmeans(c, NULL, NULL, &r), LEAT_BAD_ARGUMENT);
    r = cluster(c, &x, NULL);
    leat_kmeans_free(r);
    leat_cancel(c); /* nor the one that is about to succeed */
    const enum leat_status st = leat_interpolant_new(c, n.x, n.y[0], 2, 1, LEAT_BY_ITSELF, 1, &p);
    assert_true(st == LEAT_OK || st == LEAT_CANCELLED);
    leat_interpolant_free(p);
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], 2, 1, LEAT_BY_ITSELF, 1, &p), LEAT_OK);
    assert_int_equal(leat_interpolant_evaluate(p, n.x, 1, &value), LEAT_OK);
    leat_interpolant_free(p);
    leat_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_stay_the_programs),
        cmocka_unit_test(coefficients_are_those_of_the_formula),
        cmocka_unit_test(rows_that_lie_apart_and_what_is_not_wanted_change_no_coefficient),
        cmocka_unit_test(ranks_are_of_the_order_alone),
        cmocka_unit_test(of_many_series_each_is_taken_once),
        cmocka_unit_test(what_is_wrong_with_series_is_said),
        cmocka_unit_test(heaps_are_found_and_all_of_the_result_fits_together),
        cmocka_unit_test(strides_and_floats_change_no_bit),
        cmocka_unit_test(of_a_range_the_number_of_heaps_is_taken),
        cmocka_unit_test(options_that_are_not_given_are_the_defaults),
        cmocka_unit_test(what_is_wrong_with_points_is_said),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(polynomials_are_themselves),
        cmocka_unit_test(what_is_wrong_with_nodes_is_said),
        cmocka_unit_test(debris_flows_and_all_of_the_result_fits_together),
        cmocka_unit_test(maps_of_floats_and_any_backend_give_the_same_bits),
        cmocka_unit_test(nodata_swallows_debris_where_that_is_asked_for),
        cmocka_unit_test(what_is_wrong_with_maps_is_said),
        cmocka_unit_test(curves_are_evaluated_in_the_devices_memory),
        cmocka_unit_test(points_are_clustered_in_the_devices_memory),
        cmocka_unit_test(series_are_correlated_in_the_devices_memory),
        cmocka_unit_test(maps_on_the_device_are_as_good),
        cmocka_unit_test(a_cpu_has_no_device_memory),
        cmocka_unit_test(programs_are_told_the_progress_and_may_say_no),
        cmocka_unit_test(programs_are_told_while_pairs_with_gaps_are_computed),
        cmocka_unit_test(contexts_that_cannot_be_say_why),
        cmocka_unit_test(two_contexts_work_at_the_same_time),
        cmocka_unit_test(a_call_is_cancelled_and_the_next_one_works),
    };
    struct leat_options o = LEAT_OPTIONS_DEFAULTS;
    struct leat_context *c;
    o.backend = getenv("LEAT_TEST_BACKEND");
    if (leat_open(&o, &c) == LEAT_NO_BACKEND) {
        print_message("SKIPPED: %s\n", leat_error(NULL));
        return 77;
    }
    leat_close(c);
    fill_points();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
