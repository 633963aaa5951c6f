/*
 * Coefficients of rows with missing values: the samples that two series have in common count. Runs
 * on the backend that $LEAT_TEST_BACKEND names; bounds are those of kernels/pearson/pearson.h.
 * ctest: tsan=yes
 */
#include "tests/support/rows_runner.h"

static void check_gaps(struct rows c)
{
    c.gaps = true;
    c.precision = PEARSON_EXACT;
    check(&c, pearson_bound(PEARSON_EXACT, true));
    c.precision = PEARSON_F32;
    check(&c, pearson_bound(PEARSON_F32, true));
}

TEST(pearson_with_gaps_matches_the_reference)
{
    static const double shares[] = {0.001, 0.1, 0.5, 0.9};
    for (size_t k = 0; k < sizeof shares / sizeof *shares; ++k) {
        struct rows c = {
            .n_series = 45, .n_samples = under_test_size(700, 200), .panel = 20, .type = DTYPE_F64};
        double *x = room(c.n_series * c.n_samples);
        reference_noise(k, c.n_series, c.n_samples, x);
        reference_punch(k + 9, shares[k], c.n_series * c.n_samples * 2 / 3, x);
        c.x = x;
        check_gaps(c);
        free(x);
    }
}

TEST(pearson_with_gaps_in_many_series_spans_tiles)
{
    struct rows c = {
        .n_series = under_test_size(290, 150), .n_samples = 33, .panel = 140, .type = DTYPE_F32};
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

TEST(pearson_of_few_common_samples_is_right)
{
    struct rows c = {.n_series = 12, .n_samples = 600, .panel = 7, .type = DTYPE_F64};
    double *x = room(c.n_series * c.n_samples);
    reference_stretches(c.n_series, c.n_samples, x);
    c.x = x;
    check_gaps(c);
    free(x);
}

TEST(pearson_of_walks_with_gaps_is_right)
{
    struct rows c = {
        .n_series = 20, .n_samples = under_test_size(4000, 700), .panel = 20, .type = DTYPE_F64};
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

TEST(pearson_of_a_series_constant_on_common_samples_is_nan)
{
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
    check(&c, pearson_bound(PEARSON_EXACT, true));
    double *got = coefficients(&c);
    for (size_t s = 1; s < n_series; ++s) {
        assert_int_equal(isnan(got[s - 1]) != 0, s < n_series / 2);
    }
    free(got);
    free(x);
}

/* is_told: without the series, the pairs that take them are counted. */
static void check_far(const struct rows *c, bool is_told)
{
    struct run r;
    check(c, pearson_bound(c->precision, true));
    run_rows(c, &r);
    assert_int_equal(r.n_unsure, 0);
    run_done(&r);
    struct rows without = *c;
    without.without_x = true;
    run_rows(&without, &r);
    assert_int_equal(r.n_unsure > 0, is_told);
    run_done(&r);
}

TEST(pearson_with_outliers_outside_the_common_samples_takes_the_series)
{
    struct rows c = {.n_series = 9, .n_samples = 700, .panel = 4, .gaps = true};
    double *x = room(c.n_series * c.n_samples);
    c.x = x;
    for (size_t kind = 0; kind < REFERENCE_FAR_KINDS; ++kind) {
        reference_far(kind, c.n_series, c.n_samples, x);
        c.type = DTYPE_F64;
        c.precision = PEARSON_EXACT;
        check_far(&c, true);
        c.precision = PEARSON_F32;
        check_far(&c, true);
        reference_round(c.n_series * c.n_samples, x);
        c.type = DTYPE_F32;
        check_far(&c, kind < 3); /* as floats the upper level does not vary */
    }
    free(x);
}

/* Sums about the means of the series cancel, and z still tells r. */
TEST(pearson_of_cancelling_pairs_has_the_same_bits_without_the_series)
{
    struct rows c = {.n_series = 12, .n_samples = 600, .panel = 7, .type = DTYPE_F64};
    double *x = room(c.n_series * c.n_samples);
    for (size_t s = 0; s < c.n_series; ++s) { /* their means are far from what they share */
        for (size_t t = 0; t < c.n_samples; ++t) {
            double *v = x + s * c.n_samples + t;
            *v = t < 300 ? sin((double)(t * (s + 3))) : t % 50 == s ? 1e4 : (double)NAN;
        }
    }
    c.x = x;
    c.gaps = true;
    double *with = coefficients(&c);
    check_far(&c, false);
    c.without_x = true;
    double *without = coefficients(&c);
    for (size_t k = 0; k < n_pairs(c.n_series); ++k) {
        assert_true(with[k] == without[k]);
    }
    free(with);
    free(without);
    free(x);
}

TEST(sums_of_series_that_come_in_parts_are_those_of_pairs)
{
    static const size_t n[] = {8, 130, 500, 4000};
    for (size_t k = 0; k < sizeof n / sizeof *n; ++k) {
        const size_t pairs = n[k] * n[k];
        assert_in_range(under_test_ops()->pearson->gaps_bytes(n[k], n[k]),
                        pairs * sizeof(struct pearson_sums),
                        pairs * sizeof(struct pearson_sums) + n[k] * (n[k] / 64 + 4) * 48);
    }
}

TEST(pearson_of_common_samples_whose_squares_underflow_is_nan)
{
    double x[] = {1e-160, 2e-160, 3.5e-160, 1, 2, 4, 5, (double)NAN};
    struct rows c = {.n_series = 2,
                     .n_samples = 4,
                     .panel = 2,
                     .type = DTYPE_F64,
                     .precision = PEARSON_EXACT,
                     .gaps = true,
                     .x = x};
    double *got = coefficients(&c);
    assert_true(isnan(got[0]));
    free(got);
}

/* z, of which the outliers are the unit, loses the squares of the others long before x does. */
TEST(pearson_beside_the_largest_outliers_takes_the_series)
{
    enum { SAMPLES = 20 };
    double x[2 * SAMPLES];
    struct rows c = {
        .n_series = 2, .n_samples = SAMPLES, .panel = 2, .type = DTYPE_F64, .gaps = true, .x = x};
    reference_noise(15, 2, SAMPLES, x);
    x[0] = 0x1p500;
    x[8] = -0x1p500;
    x[SAMPLES] = x[SAMPLES + 8] = (double)NAN;
    check_far(&c, true);
}

TEST(gram_gaps_leaves_complete_pairs_alone)
{
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

int main(void)
{
    return UNDER_TEST_RUN(NULL, NULL);
}
