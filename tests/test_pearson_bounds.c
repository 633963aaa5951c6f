/*
 * test_pearson_bounds - the promised bounds hold for series of every shape, on the backend
 * LEAT_TEST_BACKEND: smooth ones, noise, heavy tails, single spikes, offsets; short and very long.
 *
 * Products that are taken in pieces (digits, chunks of samples, tiles) choose their way by the data
 * and by the sizes; the cases here are meant to reach every one of them.
 */
#include "kernels/pearson.h"
#include "kernels/philox.h"
#include "tests/backend_under_test.h"
#include "tests/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 9 };

struct rows {
    size_t n_series, n_samples, panel;
    enum dtype type;
    const double *x; /* NULL: random walks made on the backend */
};

/* What a run leaves on the backend. */
struct run {
    struct span x, z;
    struct moments moments;
    struct under_test_matrix matrix;
};

/* Sample t of a series of the kind; `noise` is normal, sd 1. */
static double sample(int kind, size_t t, size_t n, double noise)
{
    switch (kind) {
    case 0:
        return noise;
    case 1:
        return noise * noise * noise;
    case 2:
        return t == n / 3 ? 1e6 : noise;
    case 3:
        return t == n / 2 ? 1 : 0;
    case 4:
        return t / 7 % 2 == 0 ? 1 : -1;
    case 5:
        return (double)t + noise;
    case 6:
        return t % (n / 4 + 1) == 1 ? 100 : noise;
    case 7:
        return 1e5 + noise;
    default:
        return exp(3 * noise);
    }
}

/* Series of all kinds in turn; half of the noise is common, so that pairs are related. */
static double *mixed_series(uint64_t seed, size_t n_series, size_t n_samples)
{
    struct reference_random g = {seed};
    double *x = calloc(n_series * n_samples + 1, sizeof *x);
    double *common = calloc(n_samples + 1, sizeof *common);
    assert_true(x != NULL && common != NULL);
    for (size_t t = 0; t < n_samples; ++t) {
        common[t] = reference_normal(&g);
    }
    for (size_t s = 0; s < n_series; ++s) {
        for (size_t t = 0; t < n_samples; ++t) {
            double noise = 0.7 * common[t] + 0.7 * reference_normal(&g);
            x[s * n_samples + t] = sample((int)(s % KINDS), t, n_samples, noise);
        }
    }
    free(common);
    return x;
}

static void run_rows(const struct rows *c, enum pearson_precision precision, struct run *r)
{
    const struct backend_ops *ops = under_test_ops();
    size_t row = ops->pearson->z_bytes(precision, c->n_samples), cells = c->n_series * c->n_samples;
    if (c->x != NULL) {
        r->x = under_test_put_numbers(c->x, cells, c->type);
    } else {
        struct philox_walk walk = {.seed = 5, .start = 100, .epsilon = 0.001};
        ASSERT_OK(ops->alloc(under_test_queue, cells * dtype_bytes(c->type), &r->x));
        ASSERT_OK(ops->philox->walk_rows(under_test_queue, &walk, 0, c->n_series, c->n_samples,
                                         c->type, r->x));
    }
    ASSERT_OK(ops->alloc(under_test_queue, c->n_series * row, &r->z));
    r->moments = (struct moments){under_test_room(moments_bytes(c->n_series)), c->n_series};
    r->matrix = under_test_matrix(c->n_series, c->panel,
                                  precision == PEARSON_EXACT ? DTYPE_F64 : DTYPE_F32);
    ASSERT_OK(ops->means->rows(under_test_queue, r->x, c->type, c->n_series, c->n_samples,
                               r->moments, 0));
    ASSERT_OK(ops->pearson->standardize(under_test_queue, precision, r->x, c->type, c->n_series,
                                        c->n_samples, r->moments, 0, r->z));
    for (size_t p = 0; p < r->matrix.n_panels; ++p) {
        size_t first = p * c->panel, width = pearson_panel_width(p, c->panel, c->n_series);
        ASSERT_OK(ops->pearson->gram(under_test_queue, precision, c->n_samples,
                                     span_from(r->z, first * row), first, width - first, r->z, 0,
                                     width, r->moments, r->matrix.panels[p], width));
    }
}

static void run_done(struct run *r)
{
    under_test_matrix_done(&r->matrix);
    under_test_release(r->x);
    under_test_release(r->z);
    under_test_release(r->moments.at);
}

static double bound_of(enum pearson_precision precision, size_t n_samples)
{
    switch (precision) {
    case PEARSON_EXACT:
        return 1e-12;
    case PEARSON_F32:
        return 1e-6;
    default:
        return under_test_ops()->pearson->screen_bound(n_samples);
    }
}

static size_t n_pairs(size_t n_series)
{
    return n_series * (n_series - 1) / 2;
}

static double *coefficients(const struct rows *c, enum pearson_precision precision)
{
    struct run r;
    double *got = calloc(n_pairs(c->n_series) + 1, sizeof *got);
    assert_non_null(got);
    run_rows(c, precision, &r);
    under_test_condensed(&r.matrix, got);
    run_done(&r);
    return got;
}

static void complain(size_t pair, const struct rows *c, int precision, double got, double want)
{
    print_error("precision %d, pair %zu of %zu x %zu: %.17g, not %.17g\n", precision, pair,
                c->n_series, c->n_samples, got, want);
    fail();
}

/* Every pair against the reference, at every precision; the same bits the second time. */
static void check_all(uint64_t seed, size_t n_series, size_t n_samples, size_t panel,
                      enum dtype type)
{
    double *x = mixed_series(seed, n_series, n_samples);
    double *want = calloc(n_pairs(n_series) + 1, sizeof *want);
    struct rows c = {n_series, n_samples, panel, type, x};
    assert_non_null(want);
    if (type == DTYPE_F32) {
        reference_round(n_series * n_samples, x);
    }
    reference_condensed(x, n_series, n_samples, want);
    for (int precision = PEARSON_EXACT; precision <= PEARSON_SCREEN; ++precision) {
        double bound = bound_of((enum pearson_precision)precision, n_samples);
        double *got = coefficients(&c, (enum pearson_precision)precision);
        double *again = coefficients(&c, (enum pearson_precision)precision);
        for (size_t k = 0; k < n_pairs(n_series); ++k) {
            if (!reference_near(got[k], want[k], bound)) {
                complain(k, &c, precision, got[k], want[k]);
            }
        }
        assert_memory_equal(got, again, n_pairs(n_series) * sizeof *got);
        free(got);
        free(again);
    }
    free(want);
    free(x);
}

/* Some pairs against those taken by themselves (within 1e-12 of what is right). */
static void check_some(const struct rows *c)
{
    enum { SOME = 4000 };
    struct pearson_pair *pairs = calloc(SOME, sizeof *pairs);
    struct reference_random g = {77};
    assert_non_null(pairs);
    for (size_t k = 0; k < SOME; ++k) {
        uint32_t j = 1 + (uint32_t)(reference_uniform(&g) * (double)(c->n_series - 1));
        pairs[k].i = (uint32_t)(reference_uniform(&g) * j);
        pairs[k].j = j;
    }
    for (int precision = PEARSON_EXACT; precision <= PEARSON_SCREEN; ++precision) {
        struct run r;
        double bound = 1e-12 + bound_of((enum pearson_precision)precision, c->n_samples);
        double *got = calloc(n_pairs(c->n_series), sizeof *got);
        assert_non_null(got);
        run_rows(c, (enum pearson_precision)precision, &r);
        under_test_condensed(&r.matrix, got);
        ASSERT_OK(under_test_ops()->pearson->exact_pairs(under_test_queue, r.x, c->type,
                                                         c->n_samples, r.moments, pairs, SOME));
        for (size_t k = 0; k < SOME; ++k) {
            size_t i = pairs[k].i, j = pairs[k].j;
            size_t at = i * c->n_series - i * (i + 1) / 2 + (j - i - 1);
            if (!reference_near(got[at], pairs[k].r, bound)) {
                complain(at, c, precision, got[at], pairs[k].r);
            }
        }
        run_done(&r);
        free(got);
    }
    free(pairs);
}

static void bounds_hold_for_series_of_every_shape(void **state)
{
    (void)state;
    static const size_t samples[] = {3, 17, 64, 65, 300, 1100, 5003};
    for (size_t k = 0; k < sizeof samples / sizeof *samples; ++k) {
        check_all(k, 2 * KINDS + 1, samples[k], 7, DTYPE_F64);
        check_all(k + 50, 2 * KINDS + 1, samples[k], 19, DTYPE_F32);
    }
}

static void bounds_hold_across_tiles(void **state)
{
    (void)state;
    check_all(100, 131, 700, 131, DTYPE_F64);
    check_all(101, 260, 140, 130, DTYPE_F32);
}

static void bounds_hold_for_very_long_series(void **state)
{
    (void)state;
    check_all(200, KINDS, 33001, KINDS, DTYPE_F64);
    check_all(201, KINDS, 70007, 4, DTYPE_F32);
}

/* Where there are tiles enough, a block takes all samples of one, in chunks or at once. */
static void bounds_hold_for_many_long_series(void **state)
{
    (void)state;
    if (under_test_is_cpu()) {
        skip(); /* minutes of work, for a way that only the device has */
    }
    double *x = mixed_series(300, 1400, 11000);
    struct rows spiky = {1400, 11000, 1400, DTYPE_F64, x};
    check_some(&spiky);
    free(x);
    struct rows walks = {1400, 34000, 1400, DTYPE_F32, NULL};
    check_some(&walks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_hold_for_series_of_every_shape),
        cmocka_unit_test(bounds_hold_across_tiles),
        cmocka_unit_test(bounds_hold_for_very_long_series),
        cmocka_unit_test(bounds_hold_for_many_long_series),
    };
    return UNDER_TEST_RUN(tests, NULL, NULL);
}
