/*
 * The coefficients of the stage `pearson`: shapes, regimes, precisions, gaps, increments, however
 * the table comes in. Runs on the backend that $LEAT_TEST_BACKEND names.
 *
 * Tolerances on r are the contract's (kernels/pearson.h): 1e-12 exact, 1e-6 f32, screen_bound for
 * screen, to which the rounding of a matrix in f32 (2^-24 of a number up to 1) is added.
 */
#include "kernels/pearson.h"
#include "tests/pearson_runner.h"

static const double exact_bound = 1e-12, f32_bound = 1e-6 + 0x1p-24;

static const size_t series_counts[] = {1, 2, 3, 33, 1000};
static const size_t sample_counts[] = {2, 3, 17, 300};
enum { N_COUNTS = 5, M_COUNTS = 4 };

static double screen_tolerance(size_t n_samples)
{
    return counted.ops.pearson->screen_bound(n_samples) + 0x1p-24;
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

static struct sheet shape_of(size_t series, size_t samples, bool by_lines, enum dtype type)
{
    return by_lines ? sheet_new(series, samples, true, type)
                    : sheet_new(samples, series, false, type);
}

static void check_shapes(bool by_lines, enum dtype type)
{
    for (size_t m = 0; m < N_COUNTS; m++) {
        for (size_t n = 0; n < M_COUNTS; n++) {
            struct sheet sheet = shape_of(series_counts[m], sample_counts[n], by_lines, type);
            sheet.cut = 1;
            check_matrix(&sheet, series_counts[m], sample_counts[n], false, exact_bound);
            sheet_free(&sheet);
        }
    }
}

static void rows_of_doubles_give_the_exact_coefficients(void **state)
{
    (void)state;
    check_shapes(true, DTYPE_F64);
}

static void rows_of_floats_give_the_exact_coefficients(void **state)
{
    (void)state;
    check_shapes(true, DTYPE_F32);
}

static void columns_of_doubles_give_the_exact_coefficients(void **state)
{
    (void)state;
    check_shapes(false, DTYPE_F64);
}

static void columns_of_floats_give_the_exact_coefficients(void **state)
{
    (void)state;
    check_shapes(false, DTYPE_F32);
}

static void f32_and_screen_stay_within_their_bounds_for_any_shape(void **state)
{
    (void)state;
    for (size_t m = 0; m < N_COUNTS; m++) {
        for (size_t n = 0; n < M_COUNTS; n++) {
            const size_t series = series_counts[m], samples = sample_counts[n];
            struct sheet sheet = sheet_new(series, samples, true, n % 2 ? DTYPE_F32 : DTYPE_F64);
            sheet.cut = 1;
            sheet.params[1] = "precision=f32";
            check_matrix(&sheet, series, samples, true, f32_bound);
            sheet.params[1] = "precision=screen";
            check_matrix(&sheet, series, samples, true, screen_tolerance(samples));
            sheet_free(&sheet);
        }
    }
}

static void columns_are_exact_whatever_precision_is_asked(void **state)
{
    (void)state;
    struct sheet sheet = sheet_new(70, 33, false, DTYPE_F32);
    sheet_set(&sheet, "precision=screen");
    struct outcome o = run_well(&sheet);
    double *want = reference_matrix(&sheet, 33, 70), *got = read_r(&o, 33, false);
    assert_close(got, want, 33 * 32 / 2, exact_bound);
    assert_string_equal(json_string_value(json_object_get(o.result.parameters, "precision")),
                        "screen");
    assert_string_equal(json_string_value(json_object_get(o.result.parameters, "precision_used")),
                        "exact");
    free(want);
    free(got);
    outcome_free(&o);
    sheet_free(&sheet);
}

static void columns_beyond_one_slab_are_accumulated(void **state)
{
    (void)state;
    /* 16 MiB of 2 columns of doubles are 1048576 lines */
    struct sheet sheet = sheet_new((1 << 20) + 1000, 2, false, DTYPE_F64);
    sheet.cut = 1 << 18 | 1;
    check_matrix(&sheet, 2, (1 << 20) + 1000, false, exact_bound);
    sheet_free(&sheet);
}

static void long_rows_beyond_one_panel_are_multiplied_with_those_before(void **state)
{
    (void)state;
    /* beyond 2^20 numbers, 512 series and fewer come in panels of 64 */
    struct sheet sheet = sheet_new(129, 9000, true, DTYPE_F64);
    sheet.cut = 7777;
    check_matrix(&sheet, 129, 9000, false, exact_bound);
    sheet.params[1] = "precision=f32";
    check_matrix(&sheet, 129, 9000, true, f32_bound);
    sheet_free(&sheet);
}

static void series_in_the_columns_of_a_fortran_array_are_lines(void **state)
{
    (void)state;
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

static void results_do_not_depend_on_how_chunks_are_cut(void **state)
{
    (void)state;
    static const char *const precisions[] = {"precision=exact", "precision=f32",
                                             "precision=screen"};
    for (size_t k = 0; k < 6; k++) {
        const bool by_lines = k < 3;
        struct sheet sheet = shape_of(67, 300, by_lines, k % 2 ? DTYPE_F32 : DTYPE_F64);
        sheet.cells[1000] = NAN;
        sheet.info.n_lines = by_lines ? 67 : 0; /* not known: as a CSV */
        sheet.params[1] = precisions[k % 3];
        check_cuts(&sheet);
        sheet_free(&sheet);
    }
}

static void wrong_guesses_of_the_number_of_lines_do_no_harm(void **state)
{
    (void)state;
    static const char *const precisions[] = {"precision=exact", "precision=f32",
                                             "precision=screen"};
    static const size_t guesses[] = {1, 64, 600, 3000};
    for (size_t k = 0; k < 3; k++) {
        for (size_t g = 0; g < 4; g++) {
            struct sheet sheet = sheet_new(700, 40, true, DTYPE_F64);
            sheet.cut = 1;
            sheet.cells[650 * 40 + 7] = NAN;
            sheet.cells[3 * 40 + 39] = NAN;
            sheet.info.n_lines = 0;
            sheet.info.n_lines_estimate = guesses[g];
            sheet.params[1] = precisions[k];
            check_matrix(&sheet, 700, 40, k > 0,
                         k == 0   ? exact_bound
                         : k == 1 ? f32_bound
                                  : screen_tolerance(40));
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

static void missing_values_leave_the_samples_in_common(void **state)
{
    (void)state;
    /* With gaps r must agree with the pairwise definition within 1e-10 (numerics: equal to
     * pandas'). */
    static const size_t counts[] = {2, 3, 33, 600};
    for (size_t m = 0; m < 4; m++) {
        for (size_t n = 0; n < M_COUNTS; n++) {
            const size_t series = counts[m], samples = sample_counts[n];
            for (size_t k = 0; k < 4; k++) {
                struct sheet sheet = shape_of(series, samples, k < 3, DTYPE_F64);
                break_series(&sheet, series, samples, k < 3);
                sheet.cut = 1;
                sheet.params[1] = k == 1 ? "precision=f32" : k == 2 ? "precision=screen" : NULL;
                check_matrix(&sheet, series, samples, k == 1 || k == 2,
                             k == 1   ? f32_bound
                             : k == 2 ? screen_tolerance(samples)
                                      : 1e-10);
                sheet_free(&sheet);
            }
        }
    }
}

static void series_without_variance_are_counted_and_named(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct sheet sheet = shape_of(33, 17, k == 0, DTYPE_F64);
        break_series(&sheet, 33, 17, k == 0);
        struct outcome o = run_well(&sheet);
        assert_int_equal(summary_count(&o, "degenerate"), 3);
        assert_int_equal(summary_count(&o, "with_gaps"), 13); /* 0, 3 .. 30; 4; 7 */
        assert_true(is_warned(&o, k == 0 ? "no variance, so no coefficients, in 1 series: 'row 6'"
                                         : "'column 6'"));
        assert_true(is_warned(
            &o, k == 0 ? "fewer than 2 values, so no coefficients, in 2 series: 'row 5', 'row 8'"
                       : "'column 5', 'column 8'"));
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

static void a_table_without_any_variance_has_no_coefficient(void **state)
{
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        struct sheet sheet = shape_of(12, 9, k > 0, DTYPE_F64);
        for (size_t c = 0; c < 12 * 9; c++) {
            sheet.cells[c] = k == 1 ? NAN : 3;
        }
        sheet.params[1] = k == 3 ? "precision=screen" : NULL;
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
    const bool single = by_lines && strcmp(precision, "precision=exact") != 0;
    double *want = reference_matrix(&steps, SERIES, SAMPLES - 1), *got = read_r(&o, SERIES, single);
    assert_close(got, want, SERIES * (SERIES - 1) / 2,
                 single ? screen_tolerance(SAMPLES) : exact_bound);
    assert_int_equal(json_integer_value(json_object_get(o.result.shape, "n_samples")), SAMPLES);
    free(want);
    free(got);
    outcome_free(&o);
    sheet_free(&sheet);
    sheet_free(&steps);
}

static void increments_are_correlated_when_asked(void **state)
{
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        const char *precision = k % 2 ? "precision=screen" : "precision=exact";
        check_increments(k < 2, precision, "diff=step", false);
        check_increments(k < 2, precision, "diff=log", true);
    }
}

/* --- what is refused ----------------------------------------------------------------------------
 */

static void check_refusal(const struct sheet *sheet, enum status status, const char *text)
{
    struct outcome o = run_sheet(sheet);
    assert_int_equal(o.status, status);
    if (strstr(o.message, text) == NULL) {
        print_error("\"%s\" lacks \"%s\"\n", o.message, text);
    }
    assert_non_null(strstr(o.message, text));
    assert_non_null(strstr(o.message, "sheet"));
    outcome_free(&o);
}

static void too_few_samples_are_refused_with_what_was_found(void **state)
{
    (void)state;
    struct sheet one = sheet_new(1, 1, true, DTYPE_F64);
    check_refusal(&one, STATUS_BAD_INPUT, "1 row(s) and 1 column(s)");
    sheet_free(&one);
    struct sheet column = sheet_new(5, 1, true, DTYPE_F64);
    check_refusal(&column, STATUS_BAD_INPUT, "set series=columns");
    column.params[0] = "series=columns";
    sheet_set(&column, "diff=none");
    struct outcome o = run_well(&column);
    outcome_free(&o);
    sheet_free(&column);
    struct sheet two = sheet_new(4, 2, true, DTYPE_F64);
    sheet_set(&two, "diff=step");
    check_refusal(&two, STATUS_BAD_INPUT, "1 increment");
    sheet_free(&two);
    struct sheet late = sheet_new(1, 3, false, DTYPE_F64);
    late.info.n_lines = 0;
    late.info.n_lines_estimate = 9;
    check_refusal(&late, STATUS_BAD_INPUT, "set series=rows");
    late.n_lines = 0;
    check_refusal(&late, STATUS_BAD_INPUT, "no row");
    sheet_free(&late);
}

static void missing_values_are_refused_by_name_when_asked(void **state)
{
    (void)state;
    static const char *const labels[] = {"north", "south", "east"};
    struct sheet sheet = sheet_new(3, 5, true, DTYPE_F64);
    sheet.labels = labels;
    sheet.cells[5 + 2] = NAN;
    sheet.cut = 4;
    sheet_set(&sheet, "missing=reject");
    check_refusal(&sheet, STATUS_BAD_INPUT, "series 'south' lacks 1 of 5 values");
    sheet.counts_missing = true;
    check_refusal(&sheet, STATUS_BAD_INPUT, "series 'south': value 3 is missing");
    sheet.params[0] = "series=columns";
    check_refusal(&sheet, STATUS_BAD_INPUT, "series 'column 3': value 2 is missing");
    sheet_free(&sheet);
}

static void infinities_are_refused_by_name(void **state)
{
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        struct sheet sheet = sheet_new(9, 9, k % 2 == 0, k < 2 ? DTYPE_F64 : DTYPE_F32);
        sheet.cells[2 * 9 + 3] = k < 2 ? (double)INFINITY : -(double)INFINITY;
        check_refusal(&sheet, STATUS_BAD_INPUT, k % 2 == 0 ? "'row 3'" : "'column 4'");
        sheet_free(&sheet);
    }
}

/* Squares of 1e200 are infinite, and what is centred by sums of them is NaN. */
static void values_too_large_to_be_squared_are_refused_wherever_series_lie(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct sheet sheet = sheet_new(40, 40, k == 0, DTYPE_F64);
        for (size_t c = 0; c < 40 * 40; c++) {
            sheet.cells[c] *= 1e200;
        }
        check_refusal(&sheet, STATUS_BAD_INPUT, "too large to be squared");
        sheet_free(&sheet);
    }
}

/* Squares of 1e-170 are 0, those of 1e-160 have lost their digits. */
static void values_too_small_to_be_squared_are_not_called_constant(void **state)
{
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        struct sheet sheet = sheet_new(4, 4, k < 2, DTYPE_F64);
        for (size_t c = 0; c < 16; c++) {
            sheet.cells[c] *= k % 2 == 0 ? 1e-170 : 1e-160;
        }
        struct outcome o = run_well(&sheet);
        assert_true(is_warned(&o, "deviations too small to be squared"));
        assert_false(is_warned(&o, "no variance"));
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

static void infinities_are_refused_by_name_before_increments_hide_them(void **state)
{
    (void)state;
    for (size_t k = 0; k < 8; k++) {
        struct sheet sheet = sheet_new(9, 9, k % 2 == 0, k < 4 ? DTYPE_F64 : DTYPE_F32);
        for (size_t c = 0; c < 81; c++) {
            sheet.cells[c] = fabs(sheet.cells[c]) + 1;
        }
        sheet.cells[2 * 9 + 3] = (double)INFINITY;
        sheet.cut = 4;
        sheet_set(&sheet, k % 4 < 2 ? "diff=log" : "diff=step");
        check_refusal(&sheet, STATUS_BAD_INPUT,
                      k % 2 == 0 ? "'row 3' has infinite values (value 4)"
                                 : "'column 4' has infinite values (value 3)");
        sheet_free(&sheet);
    }
}

/* Of the increments of 1 2 -3 4 0 5 .. the second to the fifth have no logarithm; a gap is none. */
static void increments_without_a_logarithm_are_told_apart_from_missing_values(void **state)
{
    (void)state;
    static const double series[9] = {1, 2, -3, 4, 0, 5, 6, 7, 9};
    for (size_t k = 0; k < 4; k++) {
        struct sheet sheet = sheet_new(9, 9, k % 2 == 0, k < 2 ? DTYPE_F64 : DTYPE_F32);
        for (size_t c = 0; c < 81; c++) {
            sheet.cells[c] = series[k % 2 == 0 ? c % 9 : c / 9];
        }
        sheet.cells[k % 2 == 0 ? 7 : 7 * 9] = NAN;
        sheet.cut = 4;
        sheet_set(&sheet, "diff=log");
        struct outcome o = run_well(&sheet);
        assert_true(is_warned(&o, "36 increments have no logarithm"));
        assert_true(is_warned(&o, "missing increments"));
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

static void a_table_that_is_not_the_announced_one_is_a_fault(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct sheet sheet = sheet_new(9, 9, k == 0, DTYPE_F64);
        sheet.info.n_lines = 8;
        check_refusal(&sheet, STATUS_INTERNAL, "8");
        sheet.info.n_lines = 10;
        check_refusal(&sheet, STATUS_INTERNAL, "10");
        sheet_free(&sheet);
    }
}

/* --- memory -------------------------------------------------------------------------------------
 */

static void plans_cover_what_is_taken(void **state)
{
    (void)state;
    static const char *const sets[][2] = {
        {"precision=exact", "diff=none"},  {"precision=exact", "diff=step"},
        {"precision=screen", "diff=none"}, {"precision=screen", "diff=log"},
        {"precision=f32", "diff=step"},
    };
    for (size_t k = 0; k < 2 * sizeof sets / sizeof *sets; k++) {
        const bool by_lines = k % 2 == 0;
        struct sheet sheet = shape_of(700, 100, by_lines, DTYPE_F32);
        sheet.params[1] = sets[k / 2][0];
        sheet.params[2] = sets[k / 2][1];
        for (size_t s = 0; s < 700; s++) { /* a gap in every series, somewhere in the middle */
            sheet.cells[by_lines ? s * 100 + 50 : (20 + s % 60) * 700 + s] = NAN;
        }
        struct outcome o = run_well(&sheet);
        if (counted.peak_bytes > o.need.memory_bytes) {
            print_error("set %zu: %zu bytes taken, %zu planned\n", k, counted.peak_bytes,
                        (size_t)o.need.memory_bytes);
        }
        assert_true(counted.peak_bytes <= o.need.memory_bytes);
        assert_true(o.need.host_bytes > 0);
        assert_false(o.need.estimated);
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

/* Six doubles a pair are kept where columns have gaps: a plan without them is smaller by that. */
static void plans_count_gaps_in_columns_unless_they_are_refused(void **state)
{
    (void)state;
    struct sheet sheet = shape_of(100, 50, false, DTYPE_F64);
    struct outcome pairwise = run_well(&sheet);
    outcome_free(&pairwise);
    sheet_set(&sheet, "missing=reject");
    struct outcome reject = run_well(&sheet);
    outcome_free(&reject);
    const size_t pairs_bytes = (size_t)100 * 99 / 2 * 6 * sizeof(double);
    assert_true(pairwise.need.memory_bytes >= reject.need.memory_bytes + pairs_bytes);
    sheet_free(&sheet);
}

/* A threshold may let every pair through: each is held twice while they are sorted. */
static void plans_count_the_pairs_that_a_threshold_may_let_through(void **state)
{
    (void)state;
    struct sheet sheet = shape_of(300, 20, true, DTYPE_F64);
    struct param_value params[16];
    struct stage_need top, all;
    struct stage_args args = {.queue = counted.queue,
                              .table = &sheet.info,
                              .params = params,
                              .input_name = "sheet",
                              .block_bytes = 1 << 20};
    sheet.info.n_lines = 5500;
    parse_params((const char *const[]){"series=rows", NULL}, params);
    assert_int_equal(stage_pearson.plan(&args, &top), STATUS_OK);
    parse_params((const char *const[]){"series=rows", "threshold=0.0001", NULL}, params);
    assert_int_equal(stage_pearson.plan(&args, &all), STATUS_OK);
    assert_true(all.host_bytes >= (uint64_t)5500 * 5499 / 2 * 2 * sizeof(struct pearson_pair));
    assert_true(top.host_bytes < (uint64_t)64 << 20);
    assert_int_equal(all.memory_bytes, top.memory_bytes);
    sheet_free(&sheet);
}

/* Four series of 2^16 doubles: 2 MiB each for the series as they come and in standard form. */
static void plans_for_few_long_series_are_not_those_for_a_tile_of_them(void **state)
{
    (void)state;
    struct sheet sheet = {.info = {.format = "csv", .dtype = DTYPE_F64, .cells_per_line = 1 << 16}};
    struct param_value params[16];
    struct stage_need need;
    parse_params((const char *const[]){"series=rows", NULL}, params);
    const struct stage_args args = {.queue = counted.queue,
                                    .table = &sheet.info,
                                    .params = params,
                                    .input_name = "sheet",
                                    .block_bytes = 1 << 20};
    sheet.info.n_lines = sheet.info.n_lines_estimate = 4;
    assert_int_equal(stage_pearson.plan(&args, &need), STATUS_OK);
    assert_true(need.memory_bytes < (uint64_t)12 << 20);
    sheet.info.n_lines = 0;
    assert_int_equal(stage_pearson.plan(&args, &need), STATUS_OK);
    assert_true(need.memory_bytes < (uint64_t)10 << 20);
}

static void plans_of_impossible_sizes_are_refused_or_huge(void **state)
{
    (void)state;
    struct sheet sheet = {.info = {.format = "npy", .dtype = DTYPE_F64}};
    struct param_value params[16];
    struct stage_need need = {0};
    parse_params((const char *const[]){"series=rows", NULL}, params);
    const struct stage_args args = {.queue = counted.queue,
                                    .table = &sheet.info,
                                    .params = params,
                                    .input_name = "sheet",
                                    .block_bytes = 1 << 20};
    sheet.info.n_lines = ((size_t)1 << 31) + 1;
    sheet.info.cells_per_line = 2;
    assert_int_equal(stage_pearson.plan(&args, &need), STATUS_TOO_LARGE);
    sheet.info.n_lines = 2;
    sheet.info.cells_per_line = SIZE_MAX / 16 - 1;
    assert_int_equal(stage_pearson.plan(&args, &need), STATUS_TOO_LARGE);
    sheet.info.n_lines = (size_t)1 << 20;
    sheet.info.cells_per_line = 10;
    assert_int_equal(stage_pearson.plan(&args, &need), STATUS_OK);
    assert_true(need.memory_bytes > (uint64_t)4 << 40); /* 8 bytes for each of 2^39 pairs */
}

static void memory_comes_back_wherever_it_runs_out(void **state)
{
    (void)state;
    static const char *const precisions[] = {"precision=exact", "precision=screen"};
    for (size_t k = 0; k < 4; k++) {
        struct sheet sheet = shape_of(300, 20, k < 2, DTYPE_F64);
        sheet.info.n_lines = 0;
        sheet.info.n_lines_estimate = 64;
        sheet.cells[45] = NAN;
        sheet.cut = 1;
        sheet.params[1] = precisions[k % 2];
        sheet.params[2] = k % 2 ? "diff=step" : NULL;
        struct outcome o = run_well(&sheet);
        const size_t allocs = counted.allocs;
        outcome_free(&o);
        assert_true(allocs >= 3);
        for (size_t at = 1; at <= allocs; at++) {
            counted.fail_at = at;
            o = run_sheet(&sheet);
            counted.fail_at = 0;
            assert_int_equal(o.status, STATUS_NO_MEMORY);
            outcome_free(&o);
        }
        sheet_free(&sheet);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_doubles_give_the_exact_coefficients),
        cmocka_unit_test(rows_of_floats_give_the_exact_coefficients),
        cmocka_unit_test(columns_of_doubles_give_the_exact_coefficients),
        cmocka_unit_test(columns_of_floats_give_the_exact_coefficients),
        cmocka_unit_test(f32_and_screen_stay_within_their_bounds_for_any_shape),
        cmocka_unit_test(columns_are_exact_whatever_precision_is_asked),
        cmocka_unit_test(columns_beyond_one_slab_are_accumulated),
        cmocka_unit_test(long_rows_beyond_one_panel_are_multiplied_with_those_before),
        cmocka_unit_test(series_in_the_columns_of_a_fortran_array_are_lines),
        cmocka_unit_test(results_do_not_depend_on_how_chunks_are_cut),
        cmocka_unit_test(wrong_guesses_of_the_number_of_lines_do_no_harm),
        cmocka_unit_test(missing_values_leave_the_samples_in_common),
        cmocka_unit_test(series_without_variance_are_counted_and_named),
        cmocka_unit_test(a_table_without_any_variance_has_no_coefficient),
        cmocka_unit_test(increments_are_correlated_when_asked),
        cmocka_unit_test(too_few_samples_are_refused_with_what_was_found),
        cmocka_unit_test(missing_values_are_refused_by_name_when_asked),
        cmocka_unit_test(infinities_are_refused_by_name),
        cmocka_unit_test(values_too_large_to_be_squared_are_refused_wherever_series_lie),
        cmocka_unit_test(values_too_small_to_be_squared_are_not_called_constant),
        cmocka_unit_test(infinities_are_refused_by_name_before_increments_hide_them),
        cmocka_unit_test(increments_without_a_logarithm_are_told_apart_from_missing_values),
        cmocka_unit_test(a_table_that_is_not_the_announced_one_is_a_fault),
        cmocka_unit_test(plans_cover_what_is_taken),
        cmocka_unit_test(plans_count_gaps_in_columns_unless_they_are_refused),
        cmocka_unit_test(plans_count_the_pairs_that_a_threshold_may_let_through),
        cmocka_unit_test(plans_for_few_long_series_are_not_those_for_a_tile_of_them),
        cmocka_unit_test(plans_of_impossible_sizes_are_refused_or_huge),
        cmocka_unit_test(memory_comes_back_wherever_it_runs_out),
    };
    const int cannot = under_test_open();
    if (cannot != 0) {
        return cannot;
    }
    const int failed = cmocka_run_group_tests(tests, counted_open, counted_close);
    under_test_close();
    return failed;
}
