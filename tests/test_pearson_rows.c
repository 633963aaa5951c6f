/*
 * test_pearson_rows - series in rows, from numbers to coefficients, on the backend
 * LEAT_TEST_BACKEND.
 *
 * The bounds are those that kernels/pearson.h promises: 1e-12 for the exact form, 1e-6 for f32, the
 * backend's own statement for screen, 1e-10 with missing values.
 */
#include "kernels/pearson.h"
#include "kernels/pearson_rule.h"
#include "tests/backend_under_test.h"
#include "tests/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rows {
    size_t n_series, n_samples, panel;
    enum dtype type;
    enum pearson_precision precision;
    bool gaps; /* call gram_gaps as well */
    const double *x;
};

static double *room(size_t n)
{
    double *x = calloc(n + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

static size_t n_pairs(size_t n_series)
{
    return n_series * (n_series - 1) / 2;
}

/* Spans of a run, in the order of its making. */
struct run {
    struct span x, z, z_exact;
    struct moments moments;
    struct under_test_matrix matrix;
};

static void run_rows(const struct rows *c, struct run *r)
{
    const struct pearson_kernels *k = under_test_ops()->pearson;
    size_t z_row = k->z_bytes(c->precision, c->n_samples);
    size_t exact_row = k->z_bytes(PEARSON_EXACT, c->n_samples);
    assert_int_equal(z_row % 16, 0);
    r->x = under_test_put_numbers(c->x, c->n_series * c->n_samples, c->type);
    r->z = under_test_room(c->n_series * z_row + 64);
    r->z_exact = under_test_room(c->n_series * exact_row + 64);
    r->moments = (struct moments){under_test_room(moments_bytes(c->n_series)), c->n_series};
    r->matrix = under_test_matrix(c->n_series, c->panel,
                                  c->precision == PEARSON_EXACT ? DTYPE_F64 : DTYPE_F32);
    ASSERT_OK(under_test_ops()->means->rows(under_test_queue, r->x, c->type, c->n_series,
                                            c->n_samples, r->moments, 0));
    ASSERT_OK(k->standardize(under_test_queue, PEARSON_EXACT, r->x, c->type, c->n_series,
                             c->n_samples, r->moments, 0, r->z_exact));
    ASSERT_OK(k->standardize(under_test_queue, c->precision, r->x, c->type, c->n_series,
                             c->n_samples, r->moments, 0, r->z));
    under_test_untouched(r->z, c->n_series * z_row);
    for (size_t p = 0; p < r->matrix.n_panels; ++p) {
        size_t first = p * c->panel, width = pearson_panel_width(p, c->panel, c->n_series);
        struct span panel = r->matrix.panels[p];
        /* in two pieces, as panels arrive: what came before, then the diagonal */
        if (first > 0) {
            ASSERT_OK(k->gram(under_test_queue, c->precision, c->n_samples,
                              span_from(r->z, first * z_row), first, width - first, r->z, 0, first,
                              r->moments, panel, width));
        }
        ASSERT_OK(k->gram(under_test_queue, c->precision, c->n_samples,
                          span_from(r->z, first * z_row), first, width - first,
                          span_from(r->z, first * z_row), first, width - first, r->moments, panel,
                          width));
        if (c->gaps) {
            ASSERT_OK(k->gram_gaps(
                under_test_queue, c->n_samples, span_from(r->z_exact, first * exact_row), first,
                width - first, r->z_exact, 0, width, r->moments, panel, width, r->matrix.m.type));
        }
    }
}

static void run_done(struct run *r)
{
    under_test_matrix_done(&r->matrix);
    under_test_release(r->x);
    under_test_release(r->z);
    under_test_release(r->z_exact);
    under_test_release(r->moments.at);
}

/* The condensed coefficients of one run. */
static double *coefficients(const struct rows *c)
{
    struct run r;
    double *got = room(n_pairs(c->n_series));
    run_rows(c, &r);
    under_test_condensed(&r.matrix, got);
    run_done(&r);
    return got;
}

static void check(const struct rows *c, double bound)
{
    double *got = coefficients(c), *want = room(n_pairs(c->n_series));
    reference_condensed(c->x, c->n_series, c->n_samples, want);
    for (size_t k = 0; k < n_pairs(c->n_series); ++k) {
        if (!reference_near(got[k], want[k], bound)) {
            print_error("pair %zu of %zu series x %zu: %.17g, not %.17g\n", k, c->n_series,
                        c->n_samples, got[k], want[k]);
            fail();
        }
        assert_false(fabs(got[k]) > 1);
    }
    free(got);
    free(want);
}

/* All precisions of one data set. */
static void check_all(struct rows c)
{
    c.precision = PEARSON_EXACT;
    check(&c, 1e-12);
    c.precision = PEARSON_F32;
    check(&c, 1e-6);
    c.precision = PEARSON_SCREEN;
    check(&c, under_test_ops()->pearson->screen_bound(c.n_samples));
}

/* --- shapes and data ------------------------------------------------------------------------- */

static void pearson_of_every_shape_matches_the_reference(void **state)
{
    (void)state;
    static const struct {
        size_t n_series, n_samples, panel;
    } shapes[] = {{1, 2, 1},    {1, 17, 4},    {2, 2, 2},        {2, 3, 1},      {3, 2, 2},
                  {3, 17, 8},   {31, 33, 10},  {32, 32, 32},     {33, 257, 16},  {33, 8192, 33},
                  {257, 17, 1}, {257, 33, 64}, {130, 1025, 128}, {600, 40, 600}, {1000, 17, 300}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; ++k) {
        struct rows c = {.n_series = shapes[k].n_series,
                         .n_samples = shapes[k].n_samples,
                         .panel = shapes[k].panel,
                         .type = k % 2 ? DTYPE_F32 : DTYPE_F64};
        double *x = room(c.n_series * c.n_samples);
        reference_noise(k, c.n_series, c.n_samples, x);
        if (c.type == DTYPE_F32) {
            reference_round(c.n_series * c.n_samples, x);
        }
        c.x = x;
        check_all(c);
        free(x);
    }
}

static void pearson_of_walks_matches_the_reference(void **state)
{
    (void)state;
    struct rows c = {.n_series = 40, .n_samples = 5000, .panel = 16, .type = DTYPE_F64};
    double *x = room(c.n_series * c.n_samples);
    reference_walks(1, c.n_series, c.n_samples, x);
    c.x = x;
    check_all(c);
    free(x);
}

static void pearson_of_a_first_sample_far_away_is_right(void **state)
{
    (void)state;
    struct rows c = {.n_series = 12, .n_samples = 3000, .panel = 5, .type = DTYPE_F64};
    double *x = room(c.n_series * c.n_samples);
    reference_noise(2, c.n_series, c.n_samples, x);
    for (size_t s = 0; s < c.n_series; s += 2) {
        x[s * c.n_samples] = s % 4 ? 1e8 : -1e8;
    }
    c.x = x;
    check_all(c);
    free(x);
}

/* The mean is no double there: what rounding takes from it, up to 2^-13 of a deviation of 1, would
 * add 4e-9 to r. */
static void pearson_of_noise_far_from_zero_is_right(void **state)
{
    (void)state;
    double x[9 * 2000];
    reference_noise(4, 9, 2000, x);
    for (size_t k = 0; k < 9 * 2000; ++k) {
        x[k] += k / 2000 % 2 == 0 ? 1e12 : -3e11;
    }
    struct rows c = {.n_series = 9, .n_samples = 2000, .panel = 4, .type = DTYPE_F64, .x = x};
    check_all(c);
}

static void pearson_of_equal_and_opposite_series_is_one(void **state)
{
    (void)state;
    /* of two values, so that the roundings of all products have one sign */
    static const size_t samples[] = {26, 28, 512, 1000, 4096, 8191};
    for (size_t k = 0; k < sizeof samples / sizeof *samples; ++k) {
        struct rows c = {.n_series = 5, .n_samples = samples[k], .panel = 5, .type = DTYPE_F64};
        double *x = room(c.n_series * c.n_samples);
        for (size_t t = 0; t < c.n_samples; ++t) {
            double v = (t * 7 + t / 3) % 2 ? 1 : -1;
            x[t] = v;
            x[c.n_samples + t] = 3 * v + 10;
            x[2 * c.n_samples + t] = -v;
            x[3 * c.n_samples + t] = (double)t;
            x[4 * c.n_samples + t] = -1e-9 * (double)t;
        }
        c.x = x;
        check_all(c);
        free(x);
    }
}

static void pearson_does_not_depend_on_the_panels_beyond_rounding(void **state)
{
    (void)state;
    struct rows c = {.n_series = 70, .n_samples = 100, .type = DTYPE_F64};
    double *x = room(c.n_series * c.n_samples);
    reference_noise(3, c.n_series, c.n_samples, x);
    c.x = x;
    for (c.panel = 1; c.panel < 150; c.panel = c.panel * 3 + 1) {
        check(&c, 1e-12);
    }
    free(x);
}

static void pearson_is_the_same_bits_on_every_run(void **state)
{
    (void)state;
    for (int precision = PEARSON_EXACT; precision <= PEARSON_SCREEN; ++precision) {
        struct rows c = {.n_series = 300,
                         .n_samples = 3000,
                         .panel = 100,
                         .type = DTYPE_F64,
                         .precision = (enum pearson_precision)precision,
                         .gaps = true};
        double *x = room(c.n_series * c.n_samples);
        reference_noise(4, c.n_series, c.n_samples, x);
        reference_punch(5, 0.1, c.n_series / 2 * c.n_samples, x);
        c.x = x;
        under_test_threads(1);
        double *one = coefficients(&c);
        under_test_threads(4);
        double *four = coefficients(&c);
        under_test_threads(3);
        assert_memory_equal(one, four, n_pairs(c.n_series) * sizeof *one);
        free(one);
        free(four);
        free(x);
    }
}

/* --- degenerate series ----------------------------------------------------------------------- */

static void pearson_series_without_variance_yield_nan(void **state)
{
    (void)state;
    struct rows c = {.n_series = 7, .n_samples = 50, .panel = 3, .type = DTYPE_F64};
    double *x = room(c.n_series * c.n_samples);
    reference_noise(6, c.n_series, c.n_samples, x);
    for (size_t t = 0; t < c.n_samples; ++t) {
        x[1 * c.n_samples + t] = 0.1;
        x[3 * c.n_samples + t] = (double)NAN;
        x[5 * c.n_samples + t] = t == 9 ? 2 : (double)NAN;
        x[6 * c.n_samples + t] = t == 9 ? 1e10 : (t % 2 ? 1e10 : nextafter(1e10, 0));
    }
    c.x = x;
    c.gaps = true;
    check(&c, 1e-10);
    double *got = coefficients(&c);
    size_t undefined = 0;
    for (size_t k = 0; k < n_pairs(c.n_series); ++k) {
        undefined += isnan(got[k]) ? 1 : 0;
    }
    assert_int_equal(undefined, n_pairs(7) - n_pairs(3));
    free(got);
    free(x);
}

static void pearson_of_one_sample_is_nan(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3};
    struct rows c = {.n_series = 3, .n_samples = 1, .panel = 2, .type = DTYPE_F64, .x = x};
    check_all(c);
}

static void pearson_of_infinite_samples_is_nan(void **state)
{
    (void)state;
    struct rows c = {.n_series = 4, .n_samples = 40, .panel = 4, .type = DTYPE_F64};
    double *x = room(c.n_series * c.n_samples);
    reference_noise(7, c.n_series, c.n_samples, x);
    x[c.n_samples + 3] = (double)INFINITY;
    c.x = x;
    double *got = coefficients(&c);
    assert_true(isnan(got[0]) && isnan(got[3]) && isnan(got[4]));
    assert_true(fabs(got[1]) <= 1 && fabs(got[2]) <= 1 && fabs(got[5]) <= 1);
    free(got);
    free(x);
}

/* --- what standardize leaves ----------------------------------------------------------------- */

static void standardize_marks_missing_samples_and_corrects_the_moments(void **state)
{
    (void)state;
    struct rows c = {.n_series = 9, .n_samples = 1300, .panel = 9, .type = DTYPE_F64};
    size_t n = c.n_samples, cells = c.n_series * n;
    double *x = room(cells);
    reference_noise(8, c.n_series, n, x);
    reference_punch(9, 0.2, cells / 2, x);
    for (size_t t = 0; t < n; ++t) {
        x[6 * n + t] = 1e6;                       /* constant */
        x[7 * n + t] = (double)(t % 2);           /* has values equal to nothing but the ends */
        x[8 * n + t] = (double)((t + 1) % 3) - 1; /* -1, 0, 1: 0 lies at the mean or near it */
    }
    c.x = x;
    struct run r;
    run_rows(&c, &r);
    size_t row = under_test_ops()->pearson->z_bytes(PEARSON_EXACT, n);
    char *z = malloc(c.n_series * row);
    double *m = room(MOMENTS_FIELDS * c.n_series);
    assert_non_null(z);
    under_test_get(z, r.z_exact, c.n_series * row);
    under_test_get(m, r.moments.at, moments_bytes(c.n_series));
    for (size_t s = 0; s < c.n_series; ++s) {
        struct reference_moments want = reference_moments(x + s * n, n);
        const double *zs = (const double *)(const void *)(z + s * row);
        double square = 0;
        for (size_t t = 0; t < n; ++t) {
            bool marked = zs[t] == 0 && signbit(zs[t]);
            assert_int_equal(marked, isnan(x[s * n + t]) != 0);
            square += zs[t] * zs[t];
        }
        /* n roundings of the sum and of each factor */
        assert_true(fabs(square - (s == 6 ? 0 : 1)) <= (double)n * 0x1p-52);
        assert_true(reference_near(m[MOMENTS_MEAN * c.n_series + s], want.mean, 8 * 0x1p-53 * 1e6));
        assert_true(reference_near(m[MOMENTS_M2 * c.n_series + s], want.m2, want.m2 * 1e-13));
        assert_true(reference_near(m[MOMENTS_LAG1 * c.n_series + s], want.lag1, 1e-11));
    }
    free(z);
    free(m);
    run_done(&r);
    free(x);
}

static void standardize_does_not_trust_the_moments_to_the_last_digit(void **state)
{
    (void)state;
    size_t n_series = 6, n = 900, row = under_test_ops()->pearson->z_bytes(PEARSON_EXACT, n);
    double *x = room(n_series * n), *m = room(MOMENTS_FIELDS * n_series), *z = room(row / 8);
    reference_noise(17, n_series, n, x);
    struct span xs = under_test_put(x, n_series * n * sizeof *x),
                zs = under_test_room(n_series * row);
    struct moments moments = {under_test_room(moments_bytes(n_series)), n_series};
    ASSERT_OK(
        under_test_ops()->means->rows(under_test_queue, xs, DTYPE_F64, n_series, n, moments, 0));
    under_test_get(m, moments.at, moments_bytes(n_series));
    for (size_t s = 0; s < n_series; ++s) {
        m[MOMENTS_MEAN * n_series + s] += 1e-4;
        m[MOMENTS_M2 * n_series + s] *= 1 + 1e-6;
    }
    uint64_t ticket;
    ASSERT_OK(under_test_ops()->upload(under_test_queue, moments.at, m, moments_bytes(n_series),
                                       &ticket));
    ASSERT_OK(under_test_ops()->upload_wait(under_test_queue, ticket));
    ASSERT_OK(under_test_ops()->pearson->standardize(under_test_queue, PEARSON_EXACT, xs, DTYPE_F64,
                                                     n_series, n, moments, 0, zs));
    under_test_get(m, moments.at, moments_bytes(n_series));
    for (size_t s = 0; s < n_series; ++s) {
        struct reference_moments want = reference_moments(x + s * n, n);
        double sum = 0, square = 0;
        under_test_get(z, span_from(zs, s * row), n * sizeof *z);
        for (size_t t = 0; t < n; ++t) {
            sum += z[t];
            square += z[t] * z[t];
        }
        assert_true(fabs(square - 1) <= (double)n * 0x1p-52);
        /* the mean's own rounding, 1e4 u, n times, over the norm sqrt(n) */
        assert_true(fabs(sum) <= 1e4 * 0x1p-52 * sqrt((double)n));
        assert_true(reference_near(m[MOMENTS_MEAN * n_series + s], want.mean, 1e4 * 0x1p-50));
        assert_true(reference_near(m[MOMENTS_M2 * n_series + s], want.m2, want.m2 * 1e-13));
    }
    under_test_release(xs);
    under_test_release(zs);
    under_test_release(moments.at);
    free(x);
    free(m);
    free(z);
}

/* --- missing values -------------------------------------------------------------------------- */

static void check_gaps(struct rows c)
{
    c.gaps = true;
    c.precision = PEARSON_EXACT;
    check(&c, 1e-10);
    c.precision = PEARSON_F32;
    check(&c, 1e-6);
}

static void pearson_with_gaps_matches_the_reference(void **state)
{
    (void)state;
    static const double shares[] = {0.001, 0.1, 0.5, 0.9};
    for (size_t k = 0; k < sizeof shares / sizeof *shares; ++k) {
        struct rows c = {.n_series = 45, .n_samples = 700, .panel = 20, .type = DTYPE_F64};
        double *x = room(c.n_series * c.n_samples);
        reference_noise(k, c.n_series, c.n_samples, x);
        reference_punch(k + 9, shares[k], c.n_series * c.n_samples * 2 / 3, x);
        c.x = x;
        check_gaps(c);
        free(x);
    }
}

static void pearson_with_gaps_in_many_series_spans_tiles(void **state)
{
    (void)state;
    struct rows c = {.n_series = 290, .n_samples = 33, .panel = 140, .type = DTYPE_F32};
    double *x = room(c.n_series * c.n_samples);
    reference_walks(11, c.n_series, c.n_samples, x);
    for (size_t s = 0; s < c.n_series; s += 1 + s / 140) {
        reference_punch(s, 0.3, c.n_samples, x + s * c.n_samples);
    }
    reference_round(c.n_series * c.n_samples, x);
    c.x = x;
    check_gaps(c);
    free(x);
}

static void pearson_of_few_common_samples_is_right(void **state)
{
    (void)state;
    /* series s is present in a stretch of its own that overlaps the next by a few samples; levels
     * far apart, so that sums about the series' means cancel */
    struct rows c = {.n_series = 12, .n_samples = 600, .panel = 7, .type = DTYPE_F64};
    double *x = room(c.n_series * c.n_samples);
    for (size_t s = 0; s < c.n_series; ++s) {
        size_t begin = s * 40, end = begin + 40 + s / 2 % 5;
        for (size_t t = 0; t < c.n_samples; ++t) {
            double v = 1e3 * (double)(t / 20) + sin((double)(t * (s + 3)));
            x[s * c.n_samples + t] = t >= begin && t < end ? v : (double)NAN;
        }
    }
    c.x = x;
    check_gaps(c);
    free(x);
}

static void pearson_of_walks_with_gaps_is_right(void **state)
{
    (void)state;
    struct rows c = {.n_series = 20, .n_samples = 4000, .panel = 20, .type = DTYPE_F64};
    double *x = room(c.n_series * c.n_samples);
    reference_walks(12, c.n_series, c.n_samples, x);
    for (size_t s = 0; s < c.n_series; ++s) {
        for (size_t t = 0; t < c.n_samples; ++t) {
            if (s % 3 != 0 && (t < s * 150 || t > s * 150 + 900)) {
                x[s * c.n_samples + t] = (double)NAN;
            }
        }
    }
    c.x = x;
    check_gaps(c);
    free(x);
}

static void pearson_of_a_series_constant_on_common_samples_is_nan(void **state)
{
    (void)state;
    size_t n = 190, n_series = 40;
    struct rows c = {.n_series = n_series, .n_samples = n, .panel = 40, .type = DTYPE_F64};
    double *x = room(n_series * n);
    reference_noise(13, n_series, n, x);
    for (size_t t = 0; t < n; ++t) {
        if (t % 2) {
            x[t] = (double)NAN;
            continue;
        }
        for (size_t s = 1; s < n_series / 2; ++s) {
            /* varies where series 0 is missing only */
            x[s * n + t] = 1e4 + 0.1 * (double)s;
        }
    }
    c.x = x;
    c.gaps = true;
    check(&c, 1e-10);
    double *got = coefficients(&c);
    for (size_t s = 1; s < n_series; ++s) {
        assert_int_equal(isnan(got[s - 1]) != 0, s < n_series / 2);
    }
    free(got);
    free(x);
}

static void gram_gaps_leaves_complete_pairs_alone(void **state)
{
    (void)state;
    struct rows c = {.n_series = 20, .n_samples = 64, .panel = 20, .type = DTYPE_F64};
    double *x = room(c.n_series * c.n_samples);
    reference_noise(14, c.n_series, c.n_samples, x);
    x[4 * c.n_samples] = (double)NAN;
    c.x = x;
    double *without = coefficients(&c);
    c.gaps = true;
    double *with = coefficients(&c);
    size_t k = 0;
    for (size_t i = 0; i < c.n_series; ++i) {
        for (size_t j = i + 1; j < c.n_series; ++j, ++k) {
            assert_true(i == 4 || j == 4 || memcmp(with + k, without + k, sizeof *with) == 0);
        }
    }
    free(without);
    free(with);
    free(x);
}

/* --- pairs taken again, increments ----------------------------------------------------------- */

static void exact_pairs_match_the_reference(void **state)
{
    (void)state;
    struct rows c = {.n_series = 24, .n_samples = 2100, .panel = 24, .type = DTYPE_F32};
    size_t n = c.n_samples, pairs = n_pairs(c.n_series), k = 0;
    double *x = room(c.n_series * n), *want = room(pairs);
    reference_noise(15, c.n_series, n, x);
    reference_punch(16, 0.2, 6 * n, x);
    for (size_t t = 0; t < n; ++t) {
        x[7 * n + t] = 4;
    }
    reference_round(c.n_series * n, x);
    c.x = x;
    c.precision = PEARSON_SCREEN;
    reference_condensed(x, c.n_series, n, want);
    struct run r;
    run_rows(&c, &r);
    struct pearson_pair *p = calloc(pairs, sizeof *p);
    assert_non_null(p);
    for (uint32_t i = 0; i < c.n_series; ++i) {
        for (uint32_t j = i + 1; j < c.n_series; ++j) {
            p[k++] = (struct pearson_pair){i, j, 5};
        }
    }
    ASSERT_OK(under_test_ops()->pearson->exact_pairs(under_test_queue, r.x, c.type, n, r.moments, p,
                                                     pairs));
    for (k = 0; k < pairs; ++k) {
        assert_true(reference_near(p[k].r, want[k], 1e-12));
    }
    ASSERT_OK(
        under_test_ops()->pearson->exact_pairs(under_test_queue, r.x, c.type, n, r.moments, p, 0));
    run_done(&r);
    free(p);
    free(want);
    free(x);
}

static void diff_rows_are_the_increments(void **state)
{
    (void)state;
    static const size_t samples[] = {2, 3, 33, 1023, 1024, 1025, 3000};
    for (size_t k = 0; k < sizeof samples / sizeof *samples; ++k) {
        for (int type = DTYPE_F32; type <= DTYPE_F64; ++type) {
            for (int diff = PEARSON_DIFF_STEP; diff <= PEARSON_DIFF_LOG; ++diff) {
                size_t n = samples[k], n_series = 3;
                double *x = room(n_series * n), *got = room(n_series * (n - 1));
                reference_walks(k, n_series, n, x);
                x[1] = 0; /* ratios 0, then infinite */
                x[n] = -5;
                x[2 * n + n / 2] = (double)NAN;
                if (type == DTYPE_F32) {
                    reference_round(n_series * n, x);
                }
                struct span in = under_test_put_numbers(x, n_series * n, (enum dtype)type);
                struct span out = under_test_room(n_series * (n - 1) * 8 + 64);
                ASSERT_OK(under_test_ops()->pearson->diff_rows(under_test_queue, in,
                                                               (enum dtype)type, n_series, n,
                                                               (enum pearson_diff)diff, out));
                under_test_get(got, out, n_series * (n - 1) * 8);
                under_test_untouched(out, n_series * (n - 1) * 8);
                for (size_t i = 0; i < n_series * (n - 1); ++i) {
                    size_t at = i / (n - 1) * n + i % (n - 1);
                    double want = pearson_increment(x[at], x[at + 1], (enum pearson_diff)diff);
                    /* a logarithm near 1 is good to a rounding or two of its argument */
                    assert_true(
                        reference_near(got[i], want, diff == PEARSON_DIFF_STEP ? 0 : 4 * 0x1p-52));
                }
                under_test_release(in);
                under_test_release(out);
                free(x);
                free(got);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pearson_of_every_shape_matches_the_reference),
        cmocka_unit_test(pearson_of_walks_matches_the_reference),
        cmocka_unit_test(pearson_of_a_first_sample_far_away_is_right),
        cmocka_unit_test(pearson_of_noise_far_from_zero_is_right),
        cmocka_unit_test(pearson_of_equal_and_opposite_series_is_one),
        cmocka_unit_test(pearson_does_not_depend_on_the_panels_beyond_rounding),
        cmocka_unit_test(pearson_is_the_same_bits_on_every_run),
        cmocka_unit_test(pearson_series_without_variance_yield_nan),
        cmocka_unit_test(pearson_of_one_sample_is_nan),
        cmocka_unit_test(pearson_of_infinite_samples_is_nan),
        cmocka_unit_test(standardize_marks_missing_samples_and_corrects_the_moments),
        cmocka_unit_test(standardize_does_not_trust_the_moments_to_the_last_digit),
        cmocka_unit_test(pearson_with_gaps_matches_the_reference),
        cmocka_unit_test(pearson_with_gaps_in_many_series_spans_tiles),
        cmocka_unit_test(pearson_of_few_common_samples_is_right),
        cmocka_unit_test(pearson_of_walks_with_gaps_is_right),
        cmocka_unit_test(pearson_of_a_series_constant_on_common_samples_is_nan),
        cmocka_unit_test(gram_gaps_leaves_complete_pairs_alone),
        cmocka_unit_test(exact_pairs_match_the_reference),
        cmocka_unit_test(diff_rows_are_the_increments),
    };
    int opened = under_test_open();
    if (opened != 0) {
        return opened;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    under_test_close();
    return failed;
}
