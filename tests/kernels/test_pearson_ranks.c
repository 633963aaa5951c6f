/*
 * Average ranks along rows, and coefficients of ranks on the samples that pairs have in common.
 * Runs on the backend that $LEAT_TEST_BACKEND names; the reference counts what is below and what is
 * equal.
 * ctest: tsan=yes optimize
 */
#include "tests/support/rows_runner.h"

/* Twice the average rank of x[t] among the samples that `with` has, too. */
static double doubled_rank(const double *x, const double *with, size_t n, size_t t)
{
    size_t below = 0, equal = 0;
    for (size_t k = 0; k < n; ++k) {
        below += !isnan(with[k]) && x[k] < x[t];
        equal += !isnan(with[k]) && x[k] == x[t];
    }
    return 2.0 * (double)below + (double)equal + 1;
}

/* Doubles in their own place. */
static struct span rank(const double *x, size_t n_series, size_t n_samples, enum dtype type)
{
    const size_t bytes = n_series * n_samples * sizeof(double);
    struct series_rows rows = {
        under_test_put_numbers(x, n_series * n_samples, type), type, n_series, n_samples, 0, 0};
    const struct span out = under_test_room(bytes + 64);
    if (type == DTYPE_F64) {
        ASSERT_OK(under_test_ops()->copy(under_test_queue, out, rows.at, bytes));
        under_test_release(rows.at);
        rows.at = out;
    }
    ASSERT_OK(under_test_ops()->pearson->rank_rows(under_test_queue, &rows, out));
    under_test_untouched(out, bytes);
    if (type != DTYPE_F64) {
        under_test_release(rows.at);
    }
    return out;
}

static void check_ranks(const double *x, size_t n_series, size_t n_samples, enum dtype type)
{
    const size_t bytes = n_series * n_samples * sizeof(double);
    double *got = room(n_series * n_samples);
    const struct span out = rank(x, n_series, n_samples, type);
    under_test_get(got, out, bytes);
    const size_t step = n_samples > 2000 ? 13 : 1; /* of long rows some, since each takes a row */
    for (size_t k = 0; k < n_series * n_samples; k += step) {
        const double *const row = x + k / n_samples * n_samples;
        if (isnan(x[k])) {
            assert_true(isnan(got[k]));
        } else {
            assert_true(got[k] == doubled_rank(row, row, n_samples, k % n_samples) / 2);
        }
    }
    under_test_release(out);
    free(got);
}

/* `levels`: so many different values, 0: all differ. */
static double *series(uint64_t seed, size_t n_series, size_t n_samples, double levels)
{
    double *x = room(n_series * n_samples);
    reference_noise(seed, n_series, n_samples, x);
    for (size_t k = 0; levels > 0 && k < n_series * n_samples; ++k) {
        x[k] = floor(fmod(fabs(x[k]) * 1e3, levels)) - levels / 2;
    }
    return x;
}

TEST(ranks_of_rows_of_all_lengths)
{
    static const size_t lengths[] = {1, 2, 3, 31, 32, 33, 257, 1024, 1025};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; ++k) {
        for (size_t levels = 0; levels < 6; levels += 5) {
            double *x = series(k, 7, lengths[k], (double)levels);
            check_ranks(x, 7, lengths[k], DTYPE_F64);
            reference_punch(k, 0.3, 7 * lengths[k], x);
            reference_round(7 * lengths[k], x);
            check_ranks(x, 7, lengths[k], DTYPE_F32);
            check_ranks(x, 7, lengths[k], DTYPE_F64);
            free(x);
        }
    }
}

/* On a device rows of up to 2,048, 8,192 and 16,384 samples are sorted in unlike ways. */
TEST(ranks_of_long_rows)
{
    static const size_t lengths[] = {2048, 2049, 8191, 8192, 8193, 16384, 16385};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; ++k) {
        double *x = series(k, 3, lengths[k], k % 2 == 0 ? 0 : 1000);
        check_ranks(x, 3, lengths[k], DTYPE_F64);
        reference_punch(k, 0.1, 2 * lengths[k], x);
        reference_round(3 * lengths[k], x);
        check_ranks(x, 3, lengths[k], DTYPE_F32);
        free(x);
    }
}

TEST(ranks_of_zeros_infinities_and_the_smallest_numbers)
{
    const double x[] = {0.0,         -0.0,    5e-324,   -5e-324, INFINITY, -INFINITY, -NAN,
                        (double)NAN, 1.7e308, -1.7e308, 0.0,     INFINITY, 2.5e-310,  -1};
    check_ranks(x, 1, sizeof x / sizeof *x, DTYPE_F64);
    check_ranks(x, 2, sizeof x / sizeof *x / 2, DTYPE_F64);
    const double of_f32[] = {0.0,      -0.0,         0x1p-149,       -0x1p-149,
                             0x3p-149, -0x3p-149,    -NAN,           (double)NAN,
                             INFINITY, -INFINITY,    0x1.fffffep127, -0x1.fffffep127,
                             1.0,      0x1.000002p0, -1.0,           -0x1.000002p0};
    check_ranks(of_f32, 1, sizeof of_f32 / sizeof *of_f32, DTYPE_F32);
}

TEST(ranks_of_many_rows_and_of_equal_samples)
{
    const size_t n_series = under_test_size(9000, 700), n_equal = under_test_size(5000, 2000);
    double *x = series(3, n_series, 65, 0);
    check_ranks(x, n_series, 65, DTYPE_F64);
    free(x);
    x = room(n_equal);
    check_ranks(x, 1, n_equal, DTYPE_F32);
    free(x);
}

/* The coefficients of ranks, with gaps; a whole run as the stage makes it. */
static void spearman(const double *x, size_t n_series, size_t n_samples, size_t panel,
                     enum pearson_precision precision, double *got)
{
    const struct pearson_kernels *const k = under_test_ops()->pearson;
    const size_t z_bytes = k->z_bytes(under_test_queue, PEARSON_EXACT, n_samples);
    const struct series_rows ranks = {
        rank(x, n_series, n_samples, DTYPE_F64), DTYPE_F64, n_series, n_samples, 0, 0};
    const struct moments moments = {.at = under_test_room(moments_bytes(n_series)),
                                    .capacity = n_series};
    const struct span z = under_test_room(n_series * z_bytes);
    struct under_test_matrix m = under_test_matrix(n_series, panel, pearson_dtype(precision));
    uint64_t n_unsure = 0;
    ASSERT_OK(under_test_ops()->means->rows(under_test_queue, &ranks, moments));
    ASSERT_OK(k->standardize(under_test_queue, PEARSON_EXACT, &ranks, moments, z));
    for (size_t p = 0; p < m.n_panels; ++p) {
        const size_t first = p * panel, width = matrix_panel_width(p, panel, n_series);
        struct pearson_panel of = {
            .precision = precision,
            .n_samples = n_samples,
            .a = {.z = span_from(z, first * z_bytes), .first = first, .n = width - first},
            .b = {.z = z, .n = width},
            .moments = moments,
            .r = m.panels[p],
            .width = width,
            .ranks = true};
        if (precision == PEARSON_EXACT) { /* z is of that form; gaps fill f32 alone here */
            ASSERT_OK(k->gram(under_test_queue, &of));
        }
        ASSERT_OK(k->gram_gaps(under_test_queue, &of, &n_unsure));
    }
    assert_int_equal(n_unsure, 0);
    under_test_condensed(&m, got);
    under_test_matrix_done(&m);
    under_test_release(z);
    under_test_release(moments.at);
    under_test_release(ranks.at);
}

static bool is_whole(const double *x, size_t n)
{
    size_t n_missing = 0;
    for (size_t t = 0; t < n; ++t) {
        n_missing += isnan(x[t]) ? 1 : 0;
    }
    return n_missing == 0;
}

/* By definition: ranks of the common samples; NaN elsewhere, so that both have the same gaps. */
static double reference(const double *x, const double *y, size_t n)
{
    double *a = room(n), *b = room(n), *in_x = room(n), *in_y = room(n);
    for (size_t t = 0; t < n; ++t) {
        const double both = x[t] + y[t];
        in_x[t] = isnan(both) ? (double)NAN : x[t];
        in_y[t] = isnan(both) ? (double)NAN : y[t];
    }
    for (size_t t = 0; t < n; ++t) {
        a[t] = isnan(in_x[t]) ? (double)NAN : doubled_rank(in_x, in_x, n, t);
        b[t] = isnan(in_y[t]) ? (double)NAN : doubled_rank(in_y, in_y, n, t);
    }
    const double r = reference_pearson(a, b, n);
    free(a);
    free(b);
    free(in_x);
    free(in_y);
    return r;
}

static void check_spearman(const double *x, size_t n_series, size_t n_samples, bool all_gaps)
{
    double *exact = room(n_pairs(n_series)), *rounded = room(n_pairs(n_series));
    spearman(x, n_series, n_samples, 20, PEARSON_EXACT, exact);
    spearman(x, n_series, n_samples, 20, PEARSON_F32, rounded);
    size_t k = 0;
    for (size_t i = 0; i < n_series; ++i) {
        for (size_t j = i + 1; j < n_series; ++j, ++k) {
            const double *const a = x + i * n_samples, *const b = x + j * n_samples;
            const double want = reference(a, b, n_samples);
            const bool whole = is_whole(a, n_samples) && is_whole(b, n_samples);
            const double bound = whole ? pearson_bound(PEARSON_EXACT, false) : 4e-15;
            if (!reference_near(exact[k], want, bound) ||
                (all_gaps && !reference_near(rounded[k], want, 6e-8))) {
                print_error("pair %zu %zu of %zu: %.17g or %.9g, not %.17g\n", i, j, n_samples,
                            exact[k], rounded[k], want);
                fail();
            }
        }
    }
    free(exact);
    free(rounded);
}

TEST(spearman_of_common_samples_matches_the_definition)
{
    static const double shares[] = {0.01, 0.3, 0.8};
    for (size_t k = 0; k < sizeof shares / sizeof *shares; ++k) {
        for (size_t levels = 0; levels < 8; levels += 7) {
            const size_t n = under_test_size(300, 130);
            double *x = series(k, 30, n, (double)levels);
            reference_punch(k, shares[k], 30 * n * 2 / 3, x); /* the last ten are whole */
            check_spearman(x, 30, n, false);
            free(x);
        }
    }
}

TEST(spearman_of_few_common_samples_and_of_equal_ones)
{
    double *x = series(4, 12, 9, 3);
    reference_punch(5, 0.5, 12 * 9, x);
    for (size_t s = 0; s < 12; ++s) {
        x[s * 9 + s % 9] = (double)NAN; /* none is whole */
    }
    check_spearman(x, 12, 9, true);
    free(x);
}

/* The samples that both have, ranked by themselves. */
static double of_common(const double *x, const double *y, size_t n)
{
    double *both = room(2 * n);
    size_t m = 0;
    for (size_t t = 0; t < n; ++t) {
        m += !isnan(x[t]) && !isnan(y[t]);
    }
    for (size_t t = 0, k = 0; t < n; ++t) {
        if (!isnan(x[t]) && !isnan(y[t])) {
            both[k] = x[t];
            both[m + k++] = y[t];
        }
    }
    const struct span ranks = rank(both, 2, m, DTYPE_F64);
    under_test_get(both, ranks, 2 * m * sizeof *both);
    const double r = reference_pearson(both, both + m, m);
    under_test_release(ranks);
    free(both);
    return r;
}

TEST(spearman_of_long_series)
{
    const size_t n = under_test_size(70001, 3001);
    double *x = series(6, 3, n, 0), got[3];
    for (size_t t = 0; t < n; ++t) {
        x[t] = floor((double)t / 3);
        x[n + t] = t % 5 == 0 ? -(double)t : (double)t;
    }
    reference_punch(7, 0.1, 3 * n, x);
    spearman(x, 3, n, 3, PEARSON_EXACT, got);
    for (size_t k = 0, i = 0; i < 3; ++i) {
        for (size_t j = i + 1; j < 3; ++j, ++k) {
            assert_true(reference_near(got[k], of_common(x + i * n, x + j * n, n), 4e-15));
        }
    }
    free(x);
}

int main(void)
{
    return UNDER_TEST_RUN(NULL, NULL);
}
