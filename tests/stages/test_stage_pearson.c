/*
 * The coefficients of the stage `pearson`: shapes, strategies, precisions, gaps, increments,
 * however the table comes in. Runs on the backend that $LEAT_TEST_BACKEND names.
 *
 * Tolerances on r are the contract's (kernels/pearson/pearson.h): 1e-12 exact, 1e-6 f32, to which
 * the rounding of a matrix in f32 (2^-24 of a number up to 1) is added.
 * ctest: long small=asan optimize again=slabs:LEAT_TEST_SLABS=1
 */
#include "tests/support/pearson_runner.h"

static const double exact_bound = 1e-12, f32_bound = 1e-6 + 0x1p-24;

static const size_t series_counts[] = {1, 2, 3, 33, 1000};
static const size_t sample_counts[] = {2, 3, 17, 300};
enum { N_COUNTS = 5, M_COUNTS = 4 };

/* Of the series: $LEAT_TEST_SMALL leaves only doubles, as rows and as columns, the longest count.
 */
static size_t n_counts(enum dtype type)
{
    return under_test_size(N_COUNTS, type == DTYPE_F64 ? N_COUNTS : N_COUNTS - 1);
}

/* The matrix of a job against the reference's. */
static void check_matrix(const struct sheet *sheet, size_t n_series, size_t n_samples, bool single,
                         double tolerance)
{
    struct outcome o = run_well(sheet);
    double *want = reference_matrix(sheet, n_series, n_samples);
    double *got = read_r(&o, n_series, single);
    assert_close(got, want, n_series * (n_series - 1) / 2, tolerance);
    free(got);
    free(want);
    outcome_free(&o);
}

static void check_shapes(bool by_lines, enum dtype type)
{
    for (size_t m = 0; m < n_counts(type); m++) {
        for (size_t n = 0; n < M_COUNTS; n++) {
            struct sheet sheet = shape_of(series_counts[m], sample_counts[n], by_lines, type);
            sheet.cut = 1;
            check_matrix(&sheet, series_counts[m], sample_counts[n], false, exact_bound);
            sheet_free(&sheet);
        }
    }
}

TEST(rows_of_doubles_give_the_exact_coefficients)
{
    check_shapes(true, DTYPE_F64);
}

TEST(rows_of_floats_give_the_exact_coefficients)
{
    check_shapes(true, DTYPE_F32);
}

TEST(columns_of_doubles_give_the_exact_coefficients)
{
    check_shapes(false, DTYPE_F64);
}

TEST(columns_of_floats_give_the_exact_coefficients)
{
    check_shapes(false, DTYPE_F32);
}

TEST(f32_stays_within_its_bound_for_any_shape)
{
    for (size_t m = 0; m < n_counts(DTYPE_F32); m++) {
        for (size_t n = 0; n < M_COUNTS; n++) {
            const size_t series = series_counts[m], samples = sample_counts[n];
            struct sheet sheet = sheet_new(series, samples, true, n % 2 ? DTYPE_F32 : DTYPE_F64);
            sheet.cut = 1;
            sheet.params[1] = "precision=f32";
            check_matrix(&sheet, series, samples, true, f32_bound);
            sheet_free(&sheet);
        }
    }
}

TEST(columns_have_the_precision_that_is_asked_unless_they_are_slabs)
{
    static const char *const used[] = {"f32", "exact"};
    for (size_t k = 0; k < 2; k++) {
        struct sheet sheet = sheet_new(70, 33, false, DTYPE_F32);
        sheet.memory_limit = k == 0 ? UINT64_MAX : 1;
        sheet_set(&sheet, "precision=f32");
        check_matrix(&sheet, 33, 70, k == 0, k == 0 ? f32_bound : exact_bound);
        struct outcome o = run_well(&sheet);
        assert_string_equal(
            json_string_value(json_object_get(o.result.parameters, "precision_used")), used[k]);
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

/* The same numbers as rows and as columns, whose number of lines is known, guessed well, or too
 * low. */
TEST(turned_columns_have_the_bits_of_rows)
{
    enum { SERIES = 130, SAMPLES = 700, PAIRS = SERIES * (SERIES - 1) / 2 };
    for (size_t k = 0; k < 24; k++) {
        const bool single = k % 2 == 1, gaps = k / 2 % 2 == 1, diff = k / 4 % 2 == 1;
        struct sheet rows = shape_of(SERIES, SAMPLES, true, DTYPE_F64),
                     columns = shape_of(SERIES, SAMPLES, false, DTYPE_F64);
        rows.params[1] = columns.params[1] = single ? "precision=f32" : "precision=exact";
        rows.params[2] = columns.params[2] = diff ? "diff=step" : "diff=none";
        columns.memory_limit = UINT64_MAX;
        columns.cut = 1;
        columns.info.n_lines = k / 8 == 0 ? SAMPLES : 0;
        columns.info.n_lines_estimate = (const size_t[]){SAMPLES, SAMPLES + 50, 5}[k / 8];
        for (size_t c = 0; gaps && c < SERIES * SAMPLES; c += 17) {
            rows.cells[c] = NAN;
        }
        for (size_t c = 0; c < SERIES * SAMPLES; c++) {
            columns.cells[c % SAMPLES * SERIES + c / SAMPLES] = rows.cells[c];
        }
        struct outcome of_rows = run_well(&rows);
        double *want = read_r(&of_rows, SERIES, single);
        outcome_free(&of_rows);
        struct outcome of_columns = run_well(&columns);
        double *got = read_r(&of_columns, SERIES, single);
        outcome_free(&of_columns);
        assert_memory_equal(got, want, PAIRS * sizeof *got);
        free(got);
        free(want);
        sheet_free(&rows);
        sheet_free(&columns);
    }
}

TEST(columns_of_several_slabs_give_the_exact_coefficients)
{
    /* 16 MiB of 2 columns of doubles are 1048576 lines */
    struct sheet sheet = sheet_new((1 << 20) + 1000, 2, false, DTYPE_F64);
    sheet.cut = 1 << 18 | 1;
    check_matrix(&sheet, 2, (1 << 20) + 1000, false, exact_bound);
    sheet_free(&sheet);
}

TEST(long_rows_beyond_one_panel_are_multiplied_with_those_before)
{
    /* beyond 2^20 numbers, 512 series and fewer come in panels of 64 */
    struct sheet sheet = sheet_new(129, 9000, true, DTYPE_F64);
    sheet.cut = 7777;
    check_matrix(&sheet, 129, 9000, false, exact_bound);
    sheet.params[1] = "precision=f32";
    check_matrix(&sheet, 129, 9000, true, f32_bound);
    sheet_free(&sheet);
}

TEST(series_in_the_columns_of_a_fortran_array_are_lines)
{
    struct sheet sheet = sheet_new(33, 17, true, DTYPE_F64);
    sheet.info.lines_are_columns = true;
    struct sheet plain = sheet;
    sheet.params[0] = "series=columns";
    struct outcome o = run_well(&sheet);
    double *want = reference_matrix(&plain, 33, 17), *got = read_r(&o, 33, false);
    assert_close(got, want, 33 * 32 / 2, exact_bound);
    assert_string_equal(json_string_value(json_object_get(o.result.parameters, "series")),
                        "columns");
    free(want);
    free(got);
    outcome_free(&o);
    sheet_free(&sheet);
}

/* --- the same bytes however it comes ------------------------------------------------------------
 */

static void check_cuts(struct sheet *sheet)
{
    static const size_t cuts[] = {1, 3, 64, 301, 4096};
    sheet->cut = 0;
    struct outcome whole = run_well(sheet);
    struct bytes want = read_everything(&whole);
    outcome_free(&whole);
    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
        sheet->cut = cuts[k];
        struct outcome o = run_well(sheet);
        struct bytes got = read_everything(&o);
        assert_int_equal(got.len, want.len);
        assert_memory_equal(got.data, want.data, want.len);
        bytes_free(&got);
        outcome_free(&o);
    }
    bytes_free(&want);
}

TEST(results_do_not_depend_on_how_chunks_are_cut)
{
    static const char *const precisions[] = {"precision=exact", "precision=f32"};
    for (size_t k = 0; k < 4; k++) {
        const bool by_lines = k < 2;
        struct sheet sheet = shape_of(67, 300, by_lines, k == 1 || k == 2 ? DTYPE_F32 : DTYPE_F64);
        sheet.cells[1000] = NAN;
        sheet.info.n_lines = by_lines ? 67 : 0; /* not known: as a CSV */
        sheet.params[1] = precisions[k % 2];
        check_cuts(&sheet);
        sheet_free(&sheet);
    }
}

TEST(wrong_guesses_of_the_number_of_lines_do_no_harm)
{
    static const char *const precisions[] = {"precision=exact", "precision=f32"};
    static const size_t guesses[] = {1, 64, 600, 3000};
    for (size_t k = 0; k < 2; k++) {
        for (size_t g = 0; g < 4; g++) {
            struct sheet sheet = sheet_new(700, 40, true, DTYPE_F64);
            sheet.cut = 1;
            sheet.cells[650 * 40 + 7] = NAN;
            sheet.cells[3 * 40 + 39] = NAN;
            sheet.info.n_lines = 0;
            sheet.info.n_lines_estimate = guesses[g];
            sheet.params[1] = precisions[k];
            check_matrix(&sheet, 700, 40, k > 0, k == 0 ? exact_bound : f32_bound);
            sheet_free(&sheet);
        }
    }
    struct sheet columns = sheet_new(700, 12, false, DTYPE_F64);
    columns.info.n_lines = 0;
    columns.info.n_lines_estimate = 3;
    columns.cut = 50;
    check_matrix(&columns, 12, 700, false, exact_bound);
    sheet_free(&columns);
}

/* A guess that fits into memory, as what comes does not: lines that came first become slabs. */
TEST(columns_that_outgrow_the_memory_become_slabs)
{
    enum { SERIES = 6, SAMPLES = 300000, LIMIT = 20000000 };
    static const size_t guesses[] = {3, 150000};
    for (size_t k = 0; k < 2; k++) {
        struct sheet sheet = shape_of(SERIES, SAMPLES, false, DTYPE_F64);
        sheet.params[1] = "precision=f32";
        sheet.params[2] = "figure=none";
        for (size_t c = 0; c < SERIES * SAMPLES; c += 31) {
            sheet.cells[c] = NAN;
        }
        sheet.cut = 50000;
        sheet.info.n_lines = 0;
        sheet.info.n_lines_estimate = guesses[k];
        sheet.memory_limit = UINT64_MAX;
        struct outcome all = run_well(&sheet);
        assert_true(counted.peak_bytes > (size_t)3 * SERIES * SAMPLES * sizeof(double) / 2);
        sheet.memory_limit = LIMIT + all.need.host_bytes;
        outcome_free(&all);
        check_matrix(&sheet, SERIES, SAMPLES, false, 1e-10); /* slabs are exact */
        assert_true(counted.peak_bytes <= LIMIT);
        sheet_free(&sheet);
    }
}

/* Slabs come once more for pairs with gaps, and once for how many samples those listed have. */
TEST(slabs_come_again_where_samples_are_missing)
{
    enum { SERIES = 70, SAMPLES = 500 };
    for (size_t k = 0; k < 2; k++) {
        struct sheet sheet = shape_of(SERIES, SAMPLES, false, DTYPE_F64);
        sheet.memory_limit = 1;
        sheet.cut = 777;
        struct outcome whole = run_well(&sheet);
        assert_int_equal(whole.n_passes, 1);
        outcome_free(&whole);
        for (size_t c = 0; c < SERIES * SAMPLES; c += 31) {
            sheet.cells[c] = NAN;
        }
        struct outcome gaps = run_well(&sheet);
        assert_true(gaps.need.may_reread);
        assert_int_equal(gaps.n_passes, 3);
        outcome_free(&gaps);
        sheet.info.n_lines = 0;
        sheet.n_lines_again = k == 0 ? SAMPLES - 1 : SAMPLES / 2;
        struct outcome changed = run_sheet(&sheet);
        assert_int_equal(changed.status, STATUS_CHANGED);
        outcome_free(&changed);
        sheet_free(&sheet);
    }
}

/* Few series are slabs from 65,536 samples on, where the backend has it: in memory for them alone,
 * and once, with gaps, too. Fewer samples, and what slabs do not do, are turned as ever. */
TEST(few_long_columns_are_slabs_that_come_once)
{
    enum { SERIES = 5, SAMPLES = 1 << 16, BYTES = SERIES * SAMPLES * sizeof(double) };
    static const struct {
        size_t samples;
        const char *param;
        bool slabs;
    } cases[] = {{SAMPLES, "diff=none", true},        {SAMPLES, "diff=step", true},
                 {SAMPLES - 1, "diff=none", false},   {SAMPLES, "precision=f32", false},
                 {SAMPLES, "method=spearman", false}, {SAMPLES, "missing=drop", false}};
    const bool has_few = under_test_ops()->pearson->columns_few >= SERIES;
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; k++) {
        const size_t samples = cases[k / 2].samples;
        struct sheet sheet = shape_of(SERIES, samples, false, DTYPE_F64);
        sheet.memory_limit = UINT64_MAX;
        sheet_set(&sheet, cases[k / 2].param);
        for (size_t c = 3; k % 2 == 1 && c < SERIES * samples; c += 101) {
            sheet.cells[c] = NAN;
        }
        struct outcome o = run_well(&sheet);
        const bool slabs = cases[k / 2].slabs && has_few;
        assert_true((counted.peak_bytes < 3 * (size_t)BYTES / 2) == slabs);
        assert_false(slabs && (o.n_passes > 1 || o.need.may_reread));
        outcome_free(&o);
        if (k < 2) {
            check_matrix(&sheet, SERIES, samples, false, k == 1 ? 1e-10 : exact_bound);
        }
        sheet_free(&sheet);
    }
}

/* A pipe of few columns does not say that it is long: it becomes slabs on the way, in memory for
 * these and the lines until then. */
TEST(few_columns_of_a_pipe_become_slabs_when_they_are_many)
{
    enum { SERIES = 5, SAMPLES = 600000, BYTES = SERIES * SAMPLES * sizeof(double) };
    for (size_t k = 0; k < 2; k++) {
        struct sheet sheet = shape_of(SERIES, SAMPLES, false, DTYPE_F64);
        sheet.comes_once = true;
        sheet.cut = 77777;
        sheet.info.n_lines = 0;
        sheet.info.n_lines_estimate = 700;
        sheet.memory_limit = UINT64_MAX;
        for (size_t c = 3; k == 1 && c < SERIES * SAMPLES; c += 101) {
            sheet.cells[c] = NAN;
        }
        struct outcome o = run_well(&sheet);
        if (under_test_ops()->pearson->columns_few >= SERIES) {
            assert_true(counted.peak_bytes < BYTES);
            assert_false(o.n_passes > 1 || o.need.may_reread);
        }
        outcome_free(&o);
        check_matrix(&sheet, SERIES, SAMPLES, false, k == 1 ? 1e-10 : exact_bound);
        sheet_free(&sheet);
    }
}

/* --- missing values and series without variance
 * --------------------------------------------------- */

/* Leaves out a sample here and there of every third series, all but one of series 4 and all of
 * series 7; series 5 does not vary. */
static void break_series(struct sheet *sheet, size_t n_series, size_t n_samples, bool by_lines)
{
    const size_t width = sheet->info.cells_per_line;
    uint64_t seed = 5;
    for (size_t s = 0; s < n_series; s++) {
        for (size_t t = 0; t < n_samples; t++) {
            double *x = &sheet->cells[by_lines ? s * width + t : t * width + s];
            const bool gap =
                s == 7 || (s == 4 && t != 3) || (s % 3 == 0 && next_uniform(&seed) < 0.3);
            *x = gap ? NAN : s == 5 ? 1234.5 : *x;
        }
    }
}

TEST(missing_values_leave_the_samples_in_common)
{
    /* With gaps r must agree with the pairwise definition within 1e-10 (numerics: equal to
     * pandas'). */
    const size_t counts[] = {2, 3, 33, under_test_size(600, 130)};
    for (size_t m = 0; m < 4; m++) {
        for (size_t n = 0; n < M_COUNTS; n++) {
            const size_t series = counts[m], samples = sample_counts[n];
            for (size_t k = 0; k < 3; k++) {
                struct sheet sheet = shape_of(series, samples, k < 2, DTYPE_F64);
                break_series(&sheet, series, samples, k < 2);
                sheet.cut = 1;
                sheet.params[1] = k == 1 ? "precision=f32" : NULL;
                check_matrix(&sheet, series, samples, k == 1, k == 1 ? f32_bound : 1e-10);
                sheet_free(&sheet);
            }
        }
    }
}

/* Half of the samples of three series in four are missing. */
static struct sheet sparse_sheet(size_t n_series, size_t n_samples, bool by_lines)
{
    struct sheet sheet = shape_of(n_series, n_samples, by_lines, DTYPE_F64);
    const size_t width = sheet.info.cells_per_line;
    uint64_t seed = 6;
    for (size_t s = 0; s < n_series; s++) {
        for (size_t t = 0; s % 4 != 0 && t < n_samples; t++) {
            double *x = &sheet.cells[by_lines ? s * width + t : t * width + s];
            *x = next_uniform(&seed) < 0.5 ? NAN : *x;
        }
    }
    return sheet;
}

TEST(pairs_of_fewer_than_min_samples_have_no_coefficient)
{
    enum { SERIES = 40, SAMPLES = 12 };
    static const char *const least[] = {NULL, "min_samples=2", "min_samples=3", "min_samples=5",
                                        "min_samples=13"};
    static const char *const roads[] = {"precision=exact", "precision=f32", "series=columns"};
    for (size_t k = 0; k < 15; k++) {
        struct sheet sheet = sparse_sheet(SERIES, SAMPLES, k % 3 < 2);
        sheet.params[1] = roads[k % 3];
        sheet.params[2] = least[k / 3];
        check_matrix(&sheet, SERIES, SAMPLES, k % 3 == 1, k % 3 == 1 ? f32_bound : 1e-10);
        struct outcome o = run_well(&sheet);
        const char *few = "fewer than 13 values (min_samples), so no coefficients, in 40 series";
        assert_int_equal(is_warned(&o, few), k / 3 == 4);
        size_t n;
        struct listed *pairs = read_pairs(&o, &n);
        assert_int_equal(n, SERIES * (SERIES - 1) / 2 - (size_t)summary_number(&o, "n_undefined"));
        for (size_t p = 0; p < n; p++) {
            assert_true(pairs[p].n >= sheet_min_samples(&sheet) && !isnan(pairs[p].r));
        }
        const json_t *strongest = json_object_get(o.result.summary, "strongest_pairs"), *pair;
        size_t p;
        json_array_foreach(strongest, p, pair)
        {
            assert_int_equal(json_integer_value(json_object_get(pair, "n")), pairs[p].n);
        }
        free(pairs);
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

TEST(series_without_variance_are_counted_and_named)
{
    for (size_t k = 0; k < 2; k++) {
        struct sheet sheet = shape_of(33, 17, k == 0, DTYPE_F64);
        break_series(&sheet, 33, 17, k == 0);
        struct outcome o = run_well(&sheet);
        assert_int_equal(summary_count(&o, "degenerate"), 3);
        assert_int_equal(summary_count(&o, "with_gaps"), 13); /* 0, 3 .. 30; 4; 7 */
        assert_true(is_warned(&o, k == 0 ? "no variance, so no coefficients, in 1 series: 'row 6'"
                                         : "'column 6'"));
        assert_true(is_warned(&o, k == 0 ? "fewer than 3 values (min_samples), so no coefficients, "
                                           "in 2 series: 'row 5', 'row 8'"
                                         : "'column 5', 'column 8'"));
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

TEST(a_table_without_any_variance_has_no_coefficient)
{
    for (size_t k = 0; k < 4; k++) {
        struct sheet sheet = shape_of(12, 9, k > 0, DTYPE_F64);
        for (size_t c = 0; c < 12 * 9; c++) {
            sheet.cells[c] = k == 1 ? NAN : 3;
        }
        sheet.params[1] = k == 3 ? "precision=f32" : NULL;
        struct outcome o = run_well(&sheet);
        double *r = read_r(&o, 12, k == 3);
        for (size_t p = 0; p < 66; p++) {
            assert_true(isnan(r[p]));
        }
        assert_true(json_is_null(json_object_get(o.result.summary, "strongest")));
        assert_true(json_is_null(json_object_get(o.result.summary, "median_abs_r")));
        assert_true(json_is_null(json_object_get(o.result.summary, "homogeneity")));
        assert_true(summary_number(&o, "n_undefined") == 66);
        assert_true(is_warned(&o, "'row 1'") || k == 0);
        assert_true(is_warned(&o, "and 2 more"));
        free(r);
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

/* --- increments ---------------------------------------------------------------------------------
 */

/* What is published of the series is of the increments, not of the levels (10 and more). */
static void check_figures(const struct outcome *o, const struct sheet *steps, size_t n_series,
                          size_t n_samples, bool by_lines)
{
    /* An increment is within a rounding of its levels, which are below 512; so is their sum's. */
    const double rounding = (double)n_samples * 0x1p-53 * 512;
    double *mean = read_f64(o, "mean", n_series), *std = read_f64(o, "std", n_series),
           *min = read_f64(o, "min", n_series), *max = read_f64(o, "max", n_series);
    int64_t *count = read_array(o, "count", "<i8", n_series, sizeof(int64_t));
    for (size_t s = 0; s < n_series; s++) {
        double sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
        for (size_t t = 0; t < n_samples; t++) {
            const double x = steps->cells[by_lines ? s * n_samples + t : t * n_series + s];
            sum += x;
            squares += x * x;
            low = fmin(low, x);
            high = fmax(high, x);
        }
        const double n = (double)n_samples, variance = (squares - sum * sum / n) / (n - 1);
        assert_true(fabs(mean[s] - sum / n) <= rounding);
        assert_true(fabs(std[s] * std[s] - variance) <= 8 * rounding);
        assert_true(fabs(min[s] - low) <= rounding && fabs(max[s] - high) <= rounding);
        assert_int_equal(count[s], n_samples);
    }
    free(mean);
    free(std);
    free(min);
    free(max);
    free(count);
}

static void check_increments(bool by_lines, const char *precision, const char *diff, bool logs)
{
    enum { SERIES = 33, SAMPLES = 60 };
    struct sheet sheet = shape_of(SERIES, SAMPLES, by_lines, DTYPE_F64);
    struct sheet steps = shape_of(SERIES, SAMPLES - 1, by_lines, DTYPE_F64);
    for (size_t s = 0; s < SERIES; s++) {
        for (size_t t = 0; t + 1 < SAMPLES; t++) {
            double *a = &sheet.cells[by_lines ? s * SAMPLES + t : t * SERIES + s];
            double *b = &sheet.cells[by_lines ? s * SAMPLES + t + 1 : (t + 1) * SERIES + s];
            if (t == 0) {
                *a += 10; /* so that all are positive */
            }
            *b += 10;
            steps.cells[by_lines ? s * (SAMPLES - 1) + t : t * SERIES + s] =
                logs ? log(*b / *a) : *b - *a;
        }
    }
    sheet.cut = 1;
    sheet.params[1] = diff;
    sheet.params[2] = precision;
    struct outcome o = run_well(&sheet);
    const bool single =
        (by_lines || !takes_slabs(&sheet)) && strcmp(precision, "precision=exact") != 0;
    double *want = reference_matrix(&steps, SERIES, SAMPLES - 1), *got = read_r(&o, SERIES, single);
    assert_close(got, want, SERIES * (SERIES - 1) / 2, single ? f32_bound : exact_bound);
    assert_int_equal(json_integer_value(json_object_get(o.result.shape, "n_samples")), SAMPLES);
    check_figures(&o, &steps, SERIES, SAMPLES - 1, by_lines);
    free(want);
    free(got);
    outcome_free(&o);
    sheet_free(&sheet);
    sheet_free(&steps);
}

TEST(increments_are_correlated_when_asked)
{
    for (size_t k = 0; k < 4; k++) {
        const char *precision = k % 2 ? "precision=f32" : "precision=exact";
        check_increments(k < 2, precision, "diff=step", false);
        check_increments(k < 2, precision, "diff=log", true);
    }
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
