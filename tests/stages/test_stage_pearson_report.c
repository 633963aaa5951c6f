/*
 * What the stage `pearson` reports beside the matrix: figures of the series, pairs, summary,
 * warnings. Runs on the backend that $LEAT_TEST_BACKEND names.
 * ctest: small=asan optimize
 */
#include "kernels/pearson/pearson.h"
#include "tests/support/alike.h"

/* --- figures ------------------------------------------------------------------------------------
 */

TEST(figures_of_the_series_are_those_of_their_definition)
{
    enum { M = 33, N = 300 };
    for (size_t k = 0; k < 2; k++) {
        struct sheet sheet =
            k == 0 ? sheet_new(M, N, true, DTYPE_F64) : sheet_new(N, M, false, DTYPE_F64);
        sheet.cells[0] = NAN; /* series 0, sample 0 either way */
        struct outcome o = run_well(&sheet);
        double *mean = read_f64(&o, "mean", M), *std = read_f64(&o, "std", M),
               *min = read_f64(&o, "min", M), *max = read_f64(&o, "max", M);
        int64_t *count = read_array(&o, "count", "<i8", M, sizeof(int64_t));
        for (size_t s = 0; s < M; s++) {
            long double sum = 0, squares = 0;
            double low = INFINITY, high = -INFINITY;
            const size_t first = s == 0 ? 1 : 0, n = N - first;
            for (size_t t = first; t < N; t++) {
                const double x = sample(&sheet, s, t);
                sum += (long double)x;
                low = fmin(low, x);
                high = fmax(high, x);
            }
            for (size_t t = first; t < N; t++) {
                const long double d = (long double)sample(&sheet, s, t) - sum / (long double)n;
                squares += d * d;
            }
            /* Sums of N numbers in double: at most N roundings of 2^-53 each, of values shifted to
             * the order of the deviations (below 2). */
            const double rounding = N * 0x1p-53 * 2;
            assert_int_equal(count[s], n);
            assert_true(fabs(mean[s] - (double)(sum / (long double)n)) <=
                        rounding + 0x1p-52 * fabs(mean[s]));
            assert_true(fabs(std[s] - (double)sqrtl(squares / (long double)(n - 1))) <=
                        4 * rounding);
            assert_true(min[s] == low && max[s] == high);
        }
        free(mean);
        free(std);
        free(min);
        free(max);
        free(count);
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

TEST(deviations_of_fewer_than_two_values_are_nan)
{
    struct sheet sheet = sheet_new(3, 4, true, DTYPE_F64);
    for (size_t t = 0; t < 4; t++) {
        sheet.cells[t] = t == 2 ? 5 : NAN;
        sheet.cells[4 + t] = NAN;
    }
    struct outcome o = run_well(&sheet);
    double *std = read_f64(&o, "std", 3), *mean = read_f64(&o, "mean", 3);
    assert_true(isnan(std[0]) && isnan(std[1]) && std[2] > 0);
    assert_true(mean[0] == 5 && isnan(mean[1]));
    free(std);
    free(mean);
    outcome_free(&o);
    sheet_free(&sheet);
}

/* --- pairs --------------------------------------------------------------------------------------
 */

static int by_strength(const void *a, const void *b)
{
    const struct listed *p = a, *q = b;
    if (fabs(p->r) != fabs(q->r)) {
        return fabs(p->r) > fabs(q->r) ? -1 : 1;
    }
    if (p->i != q->i) {
        return p->i < q->i ? -1 : 1;
    }
    return p->j < q->j ? -1 : p->j > q->j;
}

/* All pairs of a condensed triangle, the strongest first; free. */
static struct listed *all_pairs(const double *r, size_t n_series, size_t *n)
{
    struct listed *pairs = malloc(n_series * n_series * sizeof *pairs);
    assert_non_null(pairs);
    *n = 0;
    size_t k = 0;
    for (size_t i = 0; i < n_series; i++) {
        for (size_t j = i + 1; j < n_series; j++, k++) {
            if (!isnan(r[k])) {
                pairs[(*n)++] = (struct listed){.i = i, .j = j, .r = r[k]};
            }
        }
    }
    qsort(pairs, *n, sizeof *pairs, by_strength);
    return pairs;
}

/* The pairs of a job whose matrix is exact, against its matrix: the top, and those that reach. */
static void check_pairs(const struct sheet *sheet, size_t n_series, size_t top, double threshold)
{
    struct outcome o = run_well(sheet);
    double *r = read_r(&o, n_series, false);
    size_t n_all, n_got, n_want = 0;
    struct listed *all = all_pairs(r, n_series, &n_all), *got = read_pairs(&o, &n_got);
    while (n_want < n_all &&
           (n_want < top || (threshold > 0 && fabs(all[n_want].r) >= threshold))) {
        n_want++;
    }
    assert_int_equal(n_got, n_want);
    for (size_t k = 0; k < n_got; k++) {
        assert_int_equal(got[k].i, all[k].i);
        assert_int_equal(got[k].j, all[k].j);
        assert_true(got[k].r == all[k].r);
    }
    assert_true(summary_number(&o, "n_listed") == (double)n_want);
    if (n_all > 0) {
        const json_t *strongest = json_object_get(o.result.summary, "strongest");
        assert_int_equal(json_integer_value(json_object_get(strongest, "i")), all[0].i);
        assert_int_equal(json_integer_value(json_object_get(strongest, "j")), all[0].j);
    }
    free(all);
    free(got);
    free(r);
    outcome_free(&o);
}

TEST(pairs_are_the_top_and_those_that_reach_the_threshold)
{
    static const struct {
        const char *top, *threshold;
        size_t n;
        double reach;
    } sets[] = {{"top=1000", "threshold=0", 1000, 0},
                {"top=1", "threshold=0", 1, 0},
                {"top=0", "threshold=0", 0, 0},
                {"top=0", "threshold=0.25", 0, 0.25},
                {"top=10", "threshold=0.25", 10, 0.25},
                {"top=10", "threshold=1", 10, 1},
                {"top=0", "threshold=1e-9", 0, 1e-9},
                {"top=100000", "threshold=0", 100000, 0},
                {"top=5000", "threshold=0.25", 5000, 0.25}};
    struct sheet sheet = sheet_new(130, 40, true, DTYPE_F64);
    sheet.cells[77] = NAN;
    for (size_t t = 0; t < 40; t++) {
        sheet.cells[5 * 40 + t] = sheet.cells[9 * 40 + t]; /* ties */
        sheet.cells[6 * 40 + t] = -sheet.cells[9 * 40 + t];
        sheet.cells[11 * 40 + t] = 2;
    }
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        sheet.params[1] = sets[k].top;
        sheet.params[2] = sets[k].threshold;
        check_pairs(&sheet, 130, sets[k].n, sets[k].reach);
    }
    sheet_free(&sheet);
}

TEST(ties_are_cut_by_place_however_many_they_are)
{
    /* Two samples: every r is -1 or 1, or a rounding below. 3000 series have 4.5 million pairs. */
    static const size_t counts[] = {3, 100, 3000};
    for (size_t k = 0; k < under_test_size(3, 2); k++) {
        struct sheet sheet = sheet_new(counts[k], 2, true, DTYPE_F64);
        sheet_set(&sheet, "min_samples=2");
        for (size_t s = 0; s < counts[k]; s++) {
            sheet.cells[2 * s] = 0;
            sheet.cells[2 * s + 1] = s % 2 ? 1 : -1;
        }
        check_pairs(&sheet, counts[k], 1000, 0);
        sheet_free(&sheet);
    }
}

TEST(pairs_of_f32_are_those_of_the_exact_matrix)
{
    static const char *const sets[][2] = {{"top=1000", "threshold=0"},
                                          {"top=7", "threshold=0.2"},
                                          {"top=0", "threshold=0.3"},
                                          {"top=100000000", "threshold=0"}};
    for (size_t k = 0; k < 8; k += under_test_size(1, 3)) {
        struct sheet sheet = sheet_new(150, 200, true, DTYPE_F32);
        sheet.info.n_lines = k < 4 ? 150 : 0; /* slabs */
        sheet.info.n_lines_estimate = k < 4 ? 150 : 64;
        sheet.cells[777] = NAN;
        sheet.params[1] =
            strcmp(sets[k % 4][0], "top=100000000") == 0 ? "top=16000000" : sets[k % 4][0];
        sheet.params[2] = sets[k % 4][1];
        size_t n_exact, n_f32;
        struct outcome o = run_well(&sheet);
        struct listed *want = read_pairs(&o, &n_exact);
        outcome_free(&o);
        sheet.params[3] = "precision=f32";
        o = run_well(&sheet);
        struct listed *got = read_pairs(&o, &n_f32);
        outcome_free(&o);
        assert_int_equal(n_exact, n_f32);
        assert_true(n_exact > 0);
        for (size_t p = 0; p < n_exact; p++) {
            assert_int_equal(got[p].i, want[p].i);
            assert_int_equal(got[p].j, want[p].j);
            assert_true(fabs(got[p].r - want[p].r) <= 2e-12); /* both are within 1e-12 */
        }
        free(want);
        free(got);
        sheet_free(&sheet);
    }
}

TEST(ties_of_f32_beyond_what_is_held_are_sifted)
{
    struct sheet sheet = sheet_new(under_test_size(3000, 100), 2, true, DTYPE_F64);
    sheet_set(&sheet, "min_samples=2");
    sheet_set(&sheet, "precision=f32");
    sheet_set(&sheet, "r=none");
    struct outcome o = run_well(&sheet);
    size_t n;
    struct listed *pairs = read_pairs(&o, &n);
    assert_int_equal(n, 1000);
    for (size_t k = 1; k < n; k++) {
        assert_true(by_strength(&pairs[k - 1], &pairs[k]) < 0);
    }
    assert_null(find_array(&o, "r"));
    free(pairs);
    outcome_free(&o);
    sheet_free(&sheet);
}

/* --- summary and warnings -----------------------------------------------------------------------
 */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

TEST(the_summary_is_that_of_the_matrix)
{
    enum { M = 40, N = 50, PAIRS = M * (M - 1) / 2 };
    struct sheet sheet = sheet_new(M, N, true, DTYPE_F64);
    struct outcome o = run_well(&sheet);
    double *r = read_r(&o, M, false), sum = 0;
    uint64_t bins[MATRIX_BINS] = {0};
    for (size_t k = 0; k < PAIRS; k++) {
        const size_t bin = (size_t)floor((r[k] + 1) * (MATRIX_BINS / 2));
        bins[bin < MATRIX_BINS ? bin : MATRIX_BINS - 1]++;
        r[k] = fabs(r[k]);
        sum += r[k];
    }
    const json_t *histogram = json_object_get(o.result.summary, "histogram");
    assert_int_equal(json_array_size(histogram), MATRIX_BINS);
    for (size_t b = 0; b < MATRIX_BINS; b++) {
        assert_int_equal(json_integer_value(json_array_get(histogram, b)), bins[b]);
    }
    assert_true(summary_number(&o, "n_pairs") == PAIRS);
    assert_true(summary_number(&o, "n_undefined") == 0);
    assert_true(fabs(summary_number(&o, "homogeneity") - sum / PAIRS) <= PAIRS * 0x1p-53);
    assert_true(summary_number(&o, "median_abs_r") == median(r, PAIRS));
    free(r);
    outcome_free(&o);
    sheet_free(&sheet);
}

TEST(a_series_unlike_the_others_is_an_anomaly)
{
    enum { M = 40, N = 200 };
    struct sheet sheet = sheet_new(M, N, true, DTYPE_F64);
    uint64_t seed = 99;
    for (size_t t = 0; t < N; t++) {
        const double signal = next_uniform(&seed);
        for (size_t s = 0; s < M; s++) {
            sheet.cells[s * N + t] =
                s == 23 ? next_uniform(&seed) : signal + 0.1 * next_uniform(&seed);
        }
    }
    struct outcome o = run_well(&sheet);
    const json_t *anomalous = json_object_get(o.result.summary, "anomalous");
    assert_int_equal(summary_count(&o, "anomalous"), 1);
    assert_string_equal(json_string_value(json_array_get(json_object_get(anomalous, "names"), 0)),
                        "row 24");
    struct bytes text = read_text(&o, "series.csv.gz");
    char *rest = NULL, *line = strtok_r((char *)text.data, "\n", &rest);
    assert_string_equal(line, "series,name,count,mean,std,min,max,median_abs_r,lag1,anomaly");
    for (size_t s = 0; s < M; s++) {
        line = strtok_r(NULL, "\n", &rest);
        assert_non_null(line);
        assert_int_equal(strtoul(line, NULL, 10), s);
        assert_string_equal(strrchr(line, ','), s == 23 ? ",1" : ",0");
    }
    assert_null(strtok_r(NULL, "\n", &rest));
    bytes_free(&text);
    outcome_free(&o);
    sheet_free(&sheet);
}

/* Of tables of series that are alike hardly one has a series that stands out, and one that is noise
 * is found; the figures are those of the manual. */
TEST(series_alike_do_not_stand_out_and_noise_does)
{
    static const struct alike tables[] = {
        {"independent", 12, 60, 1, 0, 0, 0, 0, 0, 0},
        {"independent, few", 6, 30, 1, 0, 0, 0, 0, 0, 0},
        {"all go together", 20, 100, 1, 0.8, 0, 0, 0, 0, 0},
        {"loosely", 12, 40, 1, 0.3, 0, 0, 0, 0, 0},
        {"closely", 8, 30, 1, 0.95, 0, 0, 0, 0, 0},
        {"in groups", 15, 60, 3, 0.8, 0, 0, 0, 0, 0},
        {"and remember", 12, 80, 1, 0.6, 0.9, 0, 0, 1, 0},
        {"in groups, and remember", 12, 80, 2, 0.8, 0.9, 0, 0, 1, 0},
        {"noise among 20", 21, 100, 1, 0.8, 0, 1, ALIKE_TABLES, ALIKE_TABLES, 0},
        {"noise among 8", 9, 100, 1, 0.8, 0, 1, ALIKE_TABLES * 3 / 4, ALIKE_TABLES, 0},
        {"a little weaker", 41, 100, 1, 0.9, 0, 0.1, 0, 2, 0},
        {"more or less", 41, 400, 1, 0.99, 0, 0, 0, 2, 0.2},
        {"more or less, widely", 41, 400, 1, 0.99, 0, 0, 0, 6, 0.4},
    };
    uint64_t seed = 17;
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
        const struct alike *const a = &tables[k];
        struct sheet sheet = sheet_new(a->n_series, a->n_samples, true, DTYPE_F64);
        size_t n = 0;
        for (size_t i = 0; i < ALIKE_TABLES; i++) {
            fill_alike(&sheet, a, &seed);
            struct outcome o = run_well(&sheet);
            n += summary_count(&o, "anomalous") > 0;
            outcome_free(&o);
        }
        if (n < a->few || n > a->many) {
            fail_msg("%s: %zu tables of %d", a->name, n, ALIKE_TABLES);
        }
        sheet_free(&sheet);
    }
}

/* Two of a kind among many of another go with each other; of five series one is found, of four none
 * is sought. */
TEST(small_groups_and_few_series_do_not_stand_out)
{
    enum { N = 300 };
    static const struct {
        size_t n_series, n_other, found;
    } tables[] = {{20, 2, 0}, {20, 1, 1}, {5, 1, 1}, {4, 1, 0}};
    uint64_t seed = 3;
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
        struct sheet sheet = sheet_new(tables[k].n_series, N, true, DTYPE_F64);
        for (size_t t = 0; t < N; t++) {
            const double common = next_normal(&seed), other = next_normal(&seed);
            for (size_t s = 0; s < tables[k].n_series; s++) {
                sheet.cells[s * N + t] =
                    (s < tables[k].n_other ? other : common) + 0.2 * next_normal(&seed);
            }
        }
        struct outcome o = run_well(&sheet);
        assert_int_equal(summary_count(&o, "anomalous"), tables[k].found);
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

TEST(series_that_differ_by_rounding_alone_are_no_anomaly)
{
    struct sheet sheet = sheet_new(60, 2, true, DTYPE_F64); /* every |r| is 1 but for rounding */
    sheet_set(&sheet, "min_samples=2");
    struct outcome o = run_well(&sheet);
    assert_int_equal(summary_count(&o, "anomalous"), 0);
    assert_true(is_warned(&o, "2 samples"));
    outcome_free(&o);
    sheet_free(&sheet);
}

TEST(levels_of_random_walks_are_warned_of)
{
    for (size_t k = 0; k < 2; k++) {
        struct sheet sheet =
            k == 0 ? sheet_new(20, 500, true, DTYPE_F64) : sheet_new(500, 20, false, DTYPE_F64);
        struct outcome o = run_well(&sheet);
        assert_false(is_warned(&o, "walks"));
        outcome_free(&o);
        for (size_t s = 0; s < 20; s++) {
            double level = 100;
            for (size_t t = 0; t < 500; t++) {
                double *x = &sheet.cells[k == 0 ? s * 500 + t : t * 20 + s];
                level += *x - (double)(s % 5) * 100 - 0.5;
                *x = level;
            }
        }
        o = run_well(&sheet);
        assert_true(is_warned(&o, "20 of 20 series are smooth or trend, as random walks do"));
        outcome_free(&o);
        sheet_set(&sheet, "diff=step");
        o = run_well(&sheet);
        assert_false(is_warned(&o, "walks"));
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

TEST(two_samples_are_told_where_they_make_coefficients)
{
    static const struct {
        size_t samples;
        const char *param;
        bool told, few;
    } cases[] = {{2, "min_samples=2", true, false},
                 {2, "min_samples=3", false, true},
                 {3, "min_samples=2", false, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct sheet sheet = sheet_new(4, cases[k].samples, true, DTYPE_F64);
        sheet_set(&sheet, cases[k].param);
        struct outcome o = run_well(&sheet);
        assert_int_equal(is_warned(&o, "2 samples: every coefficient is -1 or 1"), cases[k].told);
        assert_int_equal(is_warned(&o, "fewer than 3 values (min_samples), so no coefficients"),
                         cases[k].few);
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

/* Two of four are half of them. */
TEST(levels_are_warned_of_where_more_than_half_are_walks)
{
    enum { SERIES = 4, SAMPLES = 200 };
    for (size_t walks = 2; walks <= 3; walks++) {
        struct sheet sheet = sheet_new(SERIES, SAMPLES, true, DTYPE_F64);
        for (size_t s = 0; s < walks; s++) {
            for (size_t t = 0; t < SAMPLES; t++) { /* a wave has a lag-1 autocorrelation near 1 */
                sheet.cells[s * SAMPLES + t] = sin((double)t / (10 + (double)s));
            }
        }
        struct outcome o = run_well(&sheet);
        assert_int_equal(is_warned(&o, "walks"), walks == 3);
        assert_int_equal(is_warned(&o, "3 of 4 series are smooth or trend"), walks == 3);
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

TEST(series_that_are_one_are_told)
{
    for (size_t k = 0; k < 4; k++) { /* one pair; of two samples; all three; alike but for noise */
        struct sheet sheet = sheet_new(5, k == 1 ? 2 : 30, true, DTYPE_F64);
        const size_t n = sheet.info.cells_per_line;
        for (size_t t = 0; t < n; t++) {
            sheet.cells[3 * n + t] =
                32 - 1.8 * sheet.cells[n + t] + (k == 3 ? 1e-4 * sheet.cells[t] : 0);
            sheet.cells[4 * n + t] = k == 2 ? sheet.cells[n + t] : sheet.cells[4 * n + t];
        }
        struct outcome o = run_well(&sheet);
        assert_int_equal(is_warned(&o, "'row 2' and 'row 4' are the same but for scale and offset "
                                       "(|r| = 1): one of them says all"),
                         k == 0);
        size_t n_pairs;
        char first[128]; /* of several the first that is listed */
        struct listed *const pairs = read_pairs(&o, &n_pairs);
        snprintf(first, sizeof first,
                 "'row %zu' and 'row %zu' are the same but for scale and offset (|r| = 1); and 2 "
                 "more pairs: one of them says all",
                 pairs[0].i + 1, pairs[0].j + 1);
        assert_int_equal(is_warned(&o, first), k == 2);
        free(pairs);
        assert_int_equal(is_warned(&o, "are the same"), k % 2 == 0);
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

TEST(a_single_series_has_empty_results)
{
    for (size_t k = 0; k < 2; k++) {
        struct sheet sheet =
            k == 0 ? sheet_new(1, 30, true, DTYPE_F64) : sheet_new(30, 1, false, DTYPE_F64);
        struct outcome o = run_well(&sheet);
        size_t n = 1;
        free(read_f64(&o, "r", 0));
        free(read_pairs(&o, &n));
        assert_int_equal(n, 0);
        assert_true(summary_number(&o, "n_pairs") == 0);
        assert_true(is_warned(&o, "one series"));
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

TEST(pairs_without_common_samples_are_counted)
{
    struct sheet sheet = sheet_new(3, 8, true, DTYPE_F64);
    for (size_t t = 0; t < 8; t++) {
        sheet.cells[(t < 4 ? 0 : 8) + t] = NAN; /* series 0 has the second half, 1 the first */
    }
    struct outcome o = run_well(&sheet);
    assert_true(is_warned(&o, "no coefficient for 1 of 3 pairs: fewer than 3 samples in common"));
    assert_true(summary_number(&o, "n_undefined") == 1);
    outcome_free(&o);
    sheet_free(&sheet);
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
