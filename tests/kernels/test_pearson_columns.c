/*
 * test_pearson_columns - series in columns, slab by slab, on the backend LEAT_TEST_BACKEND.
 *
 * The bounds are those of kernels/pearson/pearson.h: 1e-12, and 1e-10 for pairs with missing
 * values.
 * ctest: tsan=yes optimize
 */
#include "kernels/pearson/pearson.h"
#include "kernels/pearson/pearson_rule.h"
#include "tests/support/columns_runner.h"
#include "tests/support/patience.h"
#include "tests/support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* x is by series, as the reference wants it; what the kernel gets is turned here. */
enum { SMALL_CELLS = 3000 }; /* see under_test_size() */

struct columns_case {
    size_t n_series, n_samples, slab, panel;
    enum dtype type;
    enum pearson_diff diff;
    const double *x;
    double bound;
    size_t most; /* pairs that are taken by themselves at a time; 0: all */
    bool once;   /* gaps are taken with the rest, if the backend has that for so few series */
};

struct columns_answer {
    double *r, *moments;
    size_t n_passes;
};

/* n; but `few` where it is small, and where the thread sanitizer watches: for who touches what it
 * matters into how many tiles the series are cut, and not how many samples or slabs there are. */
static size_t depth(size_t n, size_t few)
{
    return under_test_size(patience() < 10 ? n : few, few);
}

static double *room(size_t n)
{
    double *x = calloc(n + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

static double *increments(const struct columns_case *c, size_t *n);

/* All pairs, and how many samples they have in common. */
static struct matrix_pair *all_pairs(const struct columns_case *c, size_t *n_pairs)
{
    size_t n;
    double *x = increments(c, &n);
    struct matrix_pair *pairs = calloc(c->n_series * c->n_series + 1, sizeof *pairs);
    assert_non_null(pairs);
    *n_pairs = 0;
    for (size_t j = 0; j < c->n_series; ++j) {
        for (size_t i = 0; i < j; ++i) {
            double common = 0;
            for (size_t t = 0; t < n; ++t) {
                common += isnan(x[i * n + t]) || isnan(x[j * n + t]) ? 0 : 1;
            }
            pairs[(*n_pairs)++] = (struct matrix_pair){(uint32_t)i, (uint32_t)j, common};
        }
    }
    free(x);
    return pairs;
}

static struct columns_answer run(const struct columns_case *c)
{
    struct columns_answer a = {room(c->n_series * c->n_series / 2 + 1),
                               room(MOMENTS_FIELDS * c->n_series), 0};
    const struct columns_table table = {c->n_series, c->n_samples, c->slab, c->type,
                                        c->diff,     c->x,         c->most, c->once};
    struct under_test_matrix m = under_test_matrix(c->n_series, c->panel, DTYPE_F64);
    struct moments moments = {.at = under_test_room(moments_bytes(c->n_series)),
                              .capacity = c->n_series};
    size_t n;
    struct matrix_pair *want = all_pairs(c, &n), *got = all_pairs(c, &n);
    for (size_t k = 0; k < n; ++k) {
        got[k].r = -1;
    }
    a.n_passes = columns_run(&table, moments, &m.m, got, n);
    assert_memory_equal(got, want, n * sizeof *got);
    free(got);
    free(want);
    under_test_condensed(&m, a.r);
    under_test_get(a.moments, moments.at, moments_bytes(c->n_series));
    under_test_matrix_done(&m);
    under_test_release(moments.at);
    return a;
}

static void answer_free(struct columns_answer a)
{
    free(a.r);
    free(a.moments);
}

/* What the series are after diff: *n samples each. */
static double *increments(const struct columns_case *c, size_t *n)
{
    *n = c->n_samples - (c->diff != PEARSON_DIFF_NONE);
    double *d = room(c->n_series * *n);
    for (size_t s = 0; s < c->n_series; ++s) {
        for (size_t t = 0; t < *n; ++t) {
            const double *x = c->x + s * c->n_samples + t;
            d[s * *n + t] =
                c->diff == PEARSON_DIFF_NONE ? *x : pearson_increment(x[0], x[1], c->diff);
        }
    }
    return d;
}

static void check_once(const struct columns_case *c)
{
    size_t n, pairs = c->n_series * (c->n_series - 1) / 2;
    double *x = increments(c, &n), *want = room(pairs);
    struct columns_answer a = run(c);
    reference_condensed(x, c->n_series, n, want);
    for (size_t k = 0; k < pairs; ++k) {
        if (!reference_near(a.r[k], want[k], c->bound)) {
            print_error("pair %zu of %zu x %zu by %zu: %.17g, not %.17g\n", k, c->n_series,
                        c->n_samples, c->slab, a.r[k], want[k]);
            fail();
        }
        assert_false(fabs(a.r[k]) > 1);
    }
    for (size_t s = 0; s < c->n_series; ++s) {
        struct reference_moments m = reference_moments(x + s * n, n);
        const double *got = a.moments + s;
        double largest = m.count > 0 ? fmax(fabs(m.min), fabs(m.max)) : 0;
        assert_true(got[MOMENTS_COUNT * c->n_series] == m.count);
        assert_true(reference_near(got[MOMENTS_MIN * c->n_series], m.min, 0));
        assert_true(reference_near(got[MOMENTS_MAX * c->n_series], m.max, 0));
        /* a few roundings of the largest magnitude */
        assert_true(reference_near(got[MOMENTS_MEAN * c->n_series], m.mean, 8 * 0x1p-53 * largest));
        assert_true(reference_near(got[MOMENTS_M2 * c->n_series], m.m2, 1e-12 * m.m2));
        assert_true(reference_near(got[MOMENTS_LAG1 * c->n_series], m.lag1, 1e-10));
    }
    answer_free(a);
    free(x);
    free(want);
}

/* Both ways that there are for gaps. */
static void check(const struct columns_case *c)
{
    struct columns_case once = *c;
    once.once = true;
    check_once(c);
    if (c->n_series <= under_test_ops()->pearson->columns_few) {
        check_once(&once);
    }
}

/* --- complete series ------------------------------------------------------------------------- */

TEST(columns_of_every_shape_match_the_reference)
{
    static const struct {
        size_t n_series, n_samples, slab, panel;
    } shapes[] = {{1, 1, 1, 1},      {1, 17, 4, 1},        {2, 1, 4, 2},     {2, 2, 1, 1},
                  {2, 3, 2, 2},      {3, 17, 17, 2},       {31, 33, 32, 10}, {33, 257, 1, 33},
                  {33, 257, 100, 8}, {32, 2500, 2048, 32}, {65, 32, 7, 64},  {257, 33, 31, 64},
                  {600, 19, 8, 600}, {1100, 12, 5, 500}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; ++k) {
        if (shapes[k].n_series * shapes[k].n_samples > under_test_size(SIZE_MAX, SMALL_CELLS)) {
            continue;
        }
        struct columns_case c = {.n_series = shapes[k].n_series,
                                 .n_samples = shapes[k].n_samples,
                                 .slab = shapes[k].slab,
                                 .panel = shapes[k].panel,
                                 .type = k % 2 ? DTYPE_F32 : DTYPE_F64,
                                 .bound = 1e-12};
        double *x = room(c.n_series * c.n_samples);
        reference_noise(k, c.n_series, c.n_samples, x);
        if (c.type == DTYPE_F32) {
            reference_round(c.n_series * c.n_samples, x);
        }
        c.x = x;
        check(&c);
        free(x);
    }
}

TEST(columns_of_walks_match_however_they_are_cut)
{
    struct columns_case c = {
        .n_series = 20, .n_samples = depth(3000, 300), .panel = 20, .bound = 1e-12};
    double *x = room(c.n_series * c.n_samples);
    reference_walks(1, c.n_series, c.n_samples, x);
    c.type = DTYPE_F64;
    c.x = x;
    static const size_t slabs[] = {7, 64, 1000, 1025, 3000, 5000};
    for (size_t k = 0; k < sizeof slabs / sizeof *slabs; ++k) {
        c.slab = slabs[k];
        check(&c);
    }
    free(x);
}

TEST(columns_survive_a_first_sample_far_away)
{
    struct columns_case c = {.n_series = 9, .n_samples = depth(2000, 300), .slab = 128, .panel = 4};
    double *x = room(c.n_series * c.n_samples);
    reference_noise(2, c.n_series, c.n_samples, x);
    for (size_t s = 0; s < c.n_series; s += 2) {
        x[s * c.n_samples] = 1e8;
    }
    c.type = DTYPE_F64;
    c.bound = 1e-12;
    c.x = x;
    check(&c);
    free(x);
}

/* As for rows: the mean is no double there. */
TEST(columns_of_noise_far_from_zero_match)
{
    struct columns_case c = {
        .n_series = 9, .n_samples = depth(2000, 300), .slab = 128, .panel = 4, .type = DTYPE_F64};
    double *x = room(c.n_series * c.n_samples);
    reference_noise(3, c.n_series, c.n_samples, x);
    for (size_t k = 0; k < c.n_series * c.n_samples; ++k) {
        x[k] += k / c.n_samples % 2 == 0 ? 1e12 : -3e11;
    }
    c.bound = 1e-12;
    c.x = x;
    check(&c);
    reference_punch(3, 0.1, c.n_series * c.n_samples, x);
    c.bound = 1e-10;
    check(&c);
    free(x);
}

TEST(columns_take_increments_across_the_edges_of_slabs)
{
    static const size_t slabs[] = {1, 2, 33, 100, 400};
    for (int diff = PEARSON_DIFF_STEP; diff <= PEARSON_DIFF_LOG; ++diff) {
        for (size_t k = depth(0, 2); k < sizeof slabs / sizeof *slabs; ++k) {
            struct columns_case c = {.n_series = 12,
                                     .n_samples = 300,
                                     .slab = slabs[k],
                                     .panel = 5,
                                     .type = DTYPE_F64,
                                     .diff = (enum pearson_diff)diff,
                                     .bound = 1e-12};
            double *x = room(c.n_series * c.n_samples);
            reference_walks(3, c.n_series, c.n_samples, x);
            c.x = x;
            check(&c);
            free(x);
        }
    }
}

TEST(columns_without_variance_or_samples_yield_nan)
{
    struct columns_case c = {.n_series = 6, .n_samples = 50, .slab = 8, .panel = 6, .bound = 1e-10};
    double *x = room(c.n_series * c.n_samples);
    reference_noise(4, c.n_series, c.n_samples, x);
    for (size_t t = 0; t < c.n_samples; ++t) {
        x[c.n_samples + t] = 0.1;
        x[3 * c.n_samples + t] = (double)NAN;
        x[4 * c.n_samples + t] = t == 30 ? 1 : (double)NAN;
    }
    c.type = DTYPE_F64;
    c.x = x;
    check(&c);
    c.n_samples = 0;
    struct columns_answer a = run(&c);
    for (size_t k = 0; k < 15; ++k) {
        assert_true(isnan(a.r[k]));
    }
    assert_true(a.moments[MOMENTS_COUNT * 6] == 0 && isnan(a.moments[MOMENTS_MEAN * 6]));
    answer_free(a);
    free(x);
}

static void check_bits(const struct columns_case *c)
{
    under_test_threads(1);
    struct columns_answer one = run(c);
    under_test_threads(4);
    struct columns_answer four = run(c);
    under_test_threads(3);
    assert_memory_equal(one.r, four.r, c->n_series * (c->n_series - 1) / 2 * sizeof(double));
    assert_memory_equal(one.moments, four.moments, moments_bytes(c->n_series));
    answer_free(one);
    answer_free(four);
}

TEST(columns_are_the_same_bits_on_every_run)
{
    const size_t most = under_test_size(300, 70), samples = depth(3000, 1200);
    double *x = room(most * samples);
    for (size_t k = 0; k < 2; ++k) {
        const struct columns_case c = {.n_series = k == 0 ? most : 64,
                                       .n_samples = k == 0 ? samples / 6 : samples,
                                       .slab = k == 0 ? samples / 15 : samples / 2 + 100,
                                       .panel = 300,
                                       .type = DTYPE_F64,
                                       .x = x,
                                       .once = true};
        reference_noise(5, c.n_series, c.n_samples, x);
        reference_punch(6, 0.05, c.n_series * c.n_samples / 2, x);
        check_bits(&c);
    }
    free(x);
}

/* Slabs of few series in several parts: complete, with gaps in some of them, and in all. */
TEST(columns_of_few_series_match_in_parts)
{
    enum { SERIES = 64, SAMPLES = 3333, SLAB = 1400, PART = 512 };
    double *x = room(SERIES * SAMPLES);
    for (size_t k = 0; k < 9; ++k) {
        const size_t gaps = k / 3;
        const struct columns_case c = {.n_series = SERIES,
                                       .n_samples = SAMPLES,
                                       .slab = SLAB,
                                       .panel = SERIES,
                                       .type = DTYPE_F64,
                                       .diff = (enum pearson_diff)(k % 3),
                                       .x = x,
                                       .bound = gaps > 0 ? 1e-10 : 1e-12,
                                       .once = true};
        reference_walks(11, SERIES, SAMPLES, x);
        for (size_t s = 0; s < SERIES && gaps > 0; s += 3) {
            /* the second part of the second slab, but for its ends; every part */
            const size_t first = gaps == 1 ? SLAB + PART + 7 : 5,
                         end = gaps == 1 ? SLAB + 2 * PART - 9 : SAMPLES;
            for (size_t t = first + s; t < end; t += 11 + s) {
                x[s * SAMPLES + t] = (double)NAN;
            }
        }
        check_once(&c);
    }
    free(x);
}

/* --- missing values -------------------------------------------------------------------------- */

TEST(columns_with_gaps_match_the_reference)
{
    static const double shares[] = {0.002, 0.1, 0.6, 0.97};
    for (size_t k = 0; k < sizeof shares / sizeof *shares; ++k) {
        struct columns_case c = {.n_series = 40,
                                 .n_samples = depth(700, 200),
                                 .slab = 150,
                                 .panel = 16,
                                 .type = DTYPE_F64,
                                 .bound = 1e-10};
        double *x = room(c.n_series * c.n_samples);
        reference_noise(k, c.n_series, c.n_samples, x);
        reference_punch(k + 7, shares[k], c.n_series * c.n_samples * 2 / 3, x);
        c.x = x;
        check(&c);
        free(x);
    }
}

TEST(columns_that_first_show_a_gap_late_keep_what_came_before)
{
    struct columns_case c = {.n_series = 10,
                             .n_samples = 1000,
                             .slab = 90,
                             .panel = 10,
                             .type = DTYPE_F64,
                             .bound = 1e-10};
    double *x = room(c.n_series * c.n_samples);
    reference_walks(8, c.n_series, c.n_samples, x);
    /* in an order that is not that of the columns, two in one slab, one in the first slab */
    static const size_t when[10] = {800, 5000, 350, 355, 10, 5000, 999, 90, 89, 500};
    for (size_t s = 0; s < c.n_series; ++s) {
        for (size_t t = when[s]; t < c.n_samples; t += 3) {
            x[s * c.n_samples + t] = (double)NAN;
        }
    }
    c.x = x;
    check(&c);
    c.diff = PEARSON_DIFF_STEP;
    check(&c);
    free(x);
}

/* The first gap of series s lies in slab n_series - 1 - s: each new one moves those before it. */
TEST(columns_that_show_gaps_from_the_last_series_to_the_first_keep_their_pairs)
{
    const size_t n_series = depth(70, 12), slab = 8, n_samples = n_series * slab;
    double *x = room(n_series * n_samples);
    reference_walks(9, n_series, n_samples, x);
    for (size_t s = 0; s < n_series; ++s) {
        x[s * n_samples + (n_series - 1 - s) * slab + s % slab] = (double)NAN;
    }
    struct columns_case c = {.n_series = n_series,
                             .n_samples = n_samples,
                             .slab = slab,
                             .panel = 32,
                             .type = DTYPE_F64,
                             .x = x,
                             .bound = 1e-10};
    check(&c);
    free(x);
}

TEST(columns_with_gaps_in_many_series_span_tiles)
{
    struct columns_case c = {.n_series = under_test_size(300, 140),
                             .n_samples = 40,
                             .slab = 16,
                             .panel = 128,
                             .type = DTYPE_F32,
                             .bound = 1e-10};
    double *x = room(c.n_series * c.n_samples);
    reference_walks(9, c.n_series, c.n_samples, x);
    for (size_t s = 0; s < c.n_series; ++s) {
        if (s % 7 != 3) {
            reference_punch(s, 0.2, c.n_samples, x + s * c.n_samples);
        }
    }
    reference_round(c.n_series * c.n_samples, x);
    c.x = x;
    check(&c);
    free(x);
}

TEST(columns_with_few_common_samples_are_right)
{
    struct columns_case c = {
        .n_series = 12, .n_samples = 600, .panel = 12, .type = DTYPE_F64, .bound = 1e-10};
    double *x = room(c.n_series * c.n_samples);
    reference_stretches(c.n_series, c.n_samples, x);
    c.x = x;
    static const size_t slabs[] = {1, 3, 41, 80, 600};
    for (size_t k = depth(0, 2); k < sizeof slabs / sizeof *slabs; ++k) {
        c.slab = slabs[k];
        check(&c);
    }
    free(x);
}

TEST(columns_with_outliers_outside_the_common_samples_are_right)
{
    struct columns_case c = {.n_series = 9, .n_samples = 700, .panel = 9, .bound = 1e-10};
    double *x = room(c.n_series * c.n_samples);
    static const size_t slabs[] = {5, 64, 300, 700};
    c.x = x;
    for (size_t kind = 0; kind < REFERENCE_FAR_KINDS; ++kind) {
        reference_far(kind, c.n_series, c.n_samples, x);
        for (size_t k = depth(0, 2); k < sizeof slabs / sizeof *slabs; ++k) {
            c.slab = slabs[k];
            c.type = DTYPE_F64;
            check(&c);
        }
        reference_round(c.n_series * c.n_samples, x);
        c.type = DTYPE_F32;
        check(&c);
    }
    free(x);
}

/* The samples of increments, too, are there as they came, across the edges of slabs. */
TEST(columns_of_increments_with_outliers_outside_the_common_ones_are_right)
{
    struct columns_case c = {.n_series = 9,
                             .n_samples = 300,
                             .panel = 9,
                             .type = DTYPE_F64,
                             .diff = PEARSON_DIFF_STEP,
                             .bound = 1e-10};
    double *x = room(c.n_series * c.n_samples);
    static const size_t slabs[] = {1, 7, 64, 300};
    reference_far(0, c.n_series, c.n_samples, x);
    c.x = x;
    for (size_t k = depth(0, 1); k < sizeof slabs / sizeof *slabs; ++k) {
        c.slab = slabs[k];
        check(&c);
    }
    free(x);
}

/* Once for the sums about the means; twice more for pairs whose sums cancel, which come in rounds
 * where there are many. */
TEST(columns_with_gaps_come_as_often_as_their_pairs_want)
{
    struct columns_case c = {
        .n_series = 9, .n_samples = 300, .slab = 64, .panel = 4, .type = DTYPE_F64, .bound = 1e-10};
    double *x = room(c.n_series * c.n_samples);
    c.x = x;
    reference_noise(21, c.n_series, c.n_samples, x);
    reference_punch(22, 0.2, c.n_series * c.n_samples, x);
    struct columns_answer near = run(&c);
    assert_int_equal(near.n_passes, 2);
    reference_noise(21, c.n_series, c.n_samples, x);
    for (size_t s = 0; s < c.n_series; ++s) {
        for (size_t t = 0; t < 100; ++t) {
            x[s * c.n_samples + t] = s % 2 == 0 ? 1e9 * x[s * c.n_samples + t] : (double)NAN;
        }
    }
    struct columns_answer alike = run(&c);
    assert_int_equal(alike.n_passes, 3);
    x[100] += 1e4; /* the first of what is common is an outlier */
    check(&c);
    struct columns_answer far = run(&c);
    assert_int_equal(far.n_passes, 4);
    c.most = 2;
    struct columns_answer rounds = run(&c);
    assert_true(rounds.n_passes > 10);
    assert_memory_equal(rounds.r, far.r, c.n_series * (c.n_series - 1) / 2 * sizeof *far.r);
    answer_free(near);
    answer_free(alike);
    answer_free(far);
    answer_free(rounds);
    free(x);
}

TEST(columns_constant_on_common_samples_yield_nan)
{
    struct columns_case c = {
        .n_series = 40, .n_samples = 400, .panel = 40, .type = DTYPE_F64, .bound = 1e-10};
    size_t n = c.n_samples;
    double *x = room(c.n_series * n);
    reference_noise(10, c.n_series, n, x);
    for (size_t t = 0; t < n; ++t) {
        if (t % 2) {
            x[t] = (double)NAN;
        }
        for (size_t s = 1; s < c.n_series / 2; ++s) {
            /* varies, and lies far away, where series 0 is missing only */
            x[s * n + t] = t % 2 ? 1e4 - x[s * n + t] * 1.1 : 1e4 + 0.1 * (double)s;
        }
    }
    c.x = x;
    static const size_t slabs[] = {1, 7, 64, 400};
    for (size_t k = depth(0, 2); k < sizeof slabs / sizeof *slabs; ++k) {
        c.slab = slabs[k];
        check(&c);
    }
    free(x);
}

TEST(columns_bytes_grow_with_every_argument)
{
    const struct pearson_kernels *k = under_test_ops()->pearson;
    size_t least = k->columns_bytes(100, 64);
    assert_true(least >= 100 * 99 / 2 * sizeof(double));
    assert_true(k->columns_bytes(200, 64) > least);
    assert_true(k->columns_bytes(100, 640) > least);
    assert_true(k->columns_bytes(64, 1 << 20) > k->columns_bytes(64, 1 << 10));
    if (under_test_is_cpu()) { /* of 2^61 numbers and more, which are 2^64 bytes */
        assert_int_equal(k->columns_bytes((size_t)1 << 31, 64), SIZE_MAX);
    }
}

/* Lines of a table, of any shape, into rows that lie further apart, beside what is there. */
TEST(columns_are_turned_into_rows_at_any_distance)
{
    static const size_t sizes[] = {1, 7, 8, 31, 32, 33, 257};
    enum { SIZES = sizeof sizes / sizeof *sizes, LARGE = 1 << 19 };
    for (size_t k = 0; k < 2 * SIZES * SIZES + 2; ++k) {
        const bool is_large = k >= 2 * SIZES * SIZES;
        const enum dtype type = k % 2 == 0 ? DTYPE_F64 : DTYPE_F32;
        const size_t n = is_large ? 3 : sizes[k / 2 % SIZES], size = dtype_bytes(type),
                     samples = is_large ? under_test_size(LARGE, 3000) : sizes[k / 2 / SIZES],
                     first = 5, stride = samples + 11, all = (n - 1) * stride + first + samples;
        double *x = room(n * samples);
        for (size_t c = 0; c < n * samples; ++c) {
            x[c] = (double)(c % 100003) + 1;
        }
        struct span from = under_test_put_numbers(x, n * samples, type),
                    to = under_test_room(all * size + 64);
        const struct pearson_slab slab = {from, type, n, samples};
        ASSERT_OK(under_test_ops()->pearson->turn(under_test_queue, &slab,
                                                  span_from(to, first * size), stride));
        char *const got = malloc(all * size), sentinel[8];
        assert_non_null(got);
        memset(sentinel, 0xA5, sizeof sentinel);
        under_test_get(got, to, all * size);
        for (size_t c = 0; c < all; ++c) {
            const size_t s = c / stride, t = c % stride - first;
            const double want = c % stride < first || t >= samples ? 0 : x[t * n + s];
            const float narrow = (float)want;
            const void *bytes = want == 0           ? (void *)sentinel
                                : type == DTYPE_F64 ? (void *)&want
                                                    : (void *)&narrow;
            assert_memory_equal(got + c * size, bytes, size);
        }
        under_test_untouched(to, all * size);
        free(got);
        free(x);
        under_test_release(from);
        under_test_release(to);
    }
}

int main(void)
{
    return UNDER_TEST_RUN(NULL, NULL);
}
