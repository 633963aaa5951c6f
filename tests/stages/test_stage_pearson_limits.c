/*
 * What the stage `pearson` refuses, and the memory that it asks for. Runs on the backend that
 * $LEAT_TEST_BACKEND names.
 * ctest: again=slabs:LEAT_TEST_SLABS=1
 */
#include "tests/support/pearson_runner.h"

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

TEST(too_few_samples_are_refused_with_what_was_found)
{
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

/* Its NODATA would be correlated as if it were a measurement. */
TEST(grids_are_refused)
{
    struct sheet sheet = sheet_new(3, 5, true, DTYPE_F64);
    struct grid *g;
    assert_int_equal(grid_new(3, 5, &g), STATUS_OK);
    sheet.info.grid = g;
    check_refusal(&sheet, STATUS_BAD_INPUT,
                  "is a grid, and pearson takes tables: CSV, TSV, .npy or .npz");
    grid_free(g);
    sheet_free(&sheet);
}

/* Nobody says which side the series lie on, and no name does: rows, unless they have fewer than ten
 * samples and columns ten or more. */
TEST(a_side_that_nothing_names_is_chosen_by_its_samples_and_told)
{
    static const char in_rows[] = "the rows are taken as the series",
                      in_columns[] = "so the columns are taken as the series";
    static const struct {
        size_t rows, columns;
        const char *format, *series;
        bool has_header, has_labels, is_fortran;
        bool takes_columns;
        const char *said; /* NULL: nothing */
    } cases[] = {
        {300, 4, "csv", "series=auto", false, false, false, true, in_columns},
        {300, 4, "npy", "series=auto", false, false, false, true, in_columns},
        {300, 4, "npy", "series=auto", false, false, true, true, in_columns},
        {300, 4, "csv", "series=auto", false, true, false, true, in_columns},
        {300, 4, "csv", "series=rows", false, false, false, false, "high by chance"},
        {300, 4, "csv", "series=columns", false, false, false, true, NULL},
        {300, 4, "csv", "series=auto", true, false, false, true, NULL},
        {10, 9, "csv", "series=auto", false, false, false, true, in_columns},
        {9, 9, "csv", "series=auto", false, false, false, false, in_rows},
        {10, 10, "csv", "series=auto", false, false, false, false, in_rows},
        {999, 2, "csv", "series=auto", false, false, false, true, in_columns},
        {4999, 10, "csv", "series=auto", false, false, false, false, in_rows},
        {4999, 10, "csv", "series=auto", false, true, false, false, NULL},
        {40, 300, "npy", "series=auto", false, false, false, false, NULL},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const bool is_fortran = cases[k].is_fortran;
        struct sheet sheet =
            sheet_new(is_fortran ? cases[k].columns : cases[k].rows,
                      is_fortran ? cases[k].rows : cases[k].columns, true, DTYPE_F64);
        sheet.info.format = cases[k].format;
        sheet.info.has_header = cases[k].has_header;
        sheet.info.has_labels = cases[k].has_labels;
        sheet.info.lines_are_columns = is_fortran;
        sheet.params[0] = cases[k].series;
        struct param_value params[MOST_SPECS];
        parse_params(&stage_pearson, sheet.params, params);
        const struct stage_args args = {
            .queue = counted.queue, .params = params, .inputs = {{&sheet.info, "sheet"}}};
        struct stage_need need;
        assert_int_equal(stage_pearson.plan(&args, &need), STATUS_OK);
        assert_int_equal(stage_pearson.by_lines(&args) == is_fortran, cases[k].takes_columns);
        struct result noticed = {0};
        assert_int_equal(result_init(&noticed), STATUS_OK);
        assert_int_equal(stage_pearson.notice(&args, &noticed), STATUS_OK);
        const char *const said = json_string_value(json_array_get(noticed.warnings, 0));
        if (cases[k].said == NULL ? said != NULL : !said || !strstr(said, cases[k].said)) {
            fail_msg("case %zu: %s", k, said ? said : "nothing is said");
        }
        assert_int_equal(json_array_size(noticed.warnings), cases[k].said != NULL);
        result_free(&noticed);
        sheet_free(&sheet);
    }
}

TEST(very_many_rows_that_nothing_names_are_asked_about)
{
    struct sheet sheet = sheet_new(5000, 10, true, DTYPE_F64);
    sheet.params[0] = "series=auto";
    check_refusal(&sheet, STATUS_BAD_ARGUMENT, "5000 rows of 10 numbers");
    sheet_free(&sheet);
}

TEST(missing_values_are_refused_by_name_when_asked)
{
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

TEST(infinities_are_refused_by_name)
{
    for (size_t k = 0; k < 4; k++) {
        struct sheet sheet = sheet_new(9, 9, k % 2 == 0, k < 2 ? DTYPE_F64 : DTYPE_F32);
        sheet.cells[2 * 9 + 3] = k < 2 ? (double)INFINITY : -(double)INFINITY;
        check_refusal(&sheet, STATUS_BAD_INPUT, k % 2 == 0 ? "'row 3'" : "'column 4'");
        sheet_free(&sheet);
    }
}

/* Squares of 1e200 are infinite, and what is centred by sums of them is NaN. */
TEST(values_too_large_to_be_squared_are_refused_wherever_series_lie)
{
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
TEST(values_too_small_to_be_squared_are_not_called_constant)
{
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

/* Wherever series lie: two samples of six are whole, of which three are asked for. */
TEST(dropped_samples_that_leave_too_few_are_refused)
{
    for (size_t k = 0; k < 2; k++) {
        struct sheet sheet = sheet_new(k == 0 ? 4 : 6, k == 0 ? 6 : 4, k == 0, DTYPE_F64);
        sheet.memory_limit = UINT64_MAX;
        sheet_set(&sheet, "missing=drop");
        for (size_t s = 0; s < 4; s++) {
            sheet.cells[k == 0 ? s * 6 + s : s * 4 + s] = NAN;
        }
        check_refusal(&sheet, STATUS_BAD_INPUT, "2 of 6 samples are complete in all 4 series");
        sheet.cells[0] = 1;
        struct outcome o = run_well(&sheet);
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

TEST(what_takes_whole_columns_that_do_not_fit_is_refused_with_what_to_do)
{
    struct sheet sheet = sheet_new(9, 30, false, DTYPE_F64);
    sheet_set(&sheet, "method=spearman");
    sheet.memory_limit = 1;
    check_refusal(&sheet, STATUS_TOO_LARGE, "set method=pearson");
    sheet.params[1] = "missing=drop";
    check_refusal(&sheet, STATUS_TOO_LARGE, "set missing=pairwise");
    sheet.memory_limit = UINT64_MAX;
    struct outcome o = run_well(&sheet);
    outcome_free(&o);
    sheet_free(&sheet);
}

TEST(infinities_are_refused_by_name_before_increments_hide_them)
{
    for (size_t k = 0; k < 8; k++) {
        struct sheet sheet = sheet_new(9, 9, k % 2 == 0, k < 4 ? DTYPE_F64 : DTYPE_F32);
        for (size_t c = 0; c < 81; c++) {
            sheet.cells[c] = fabs(sheet.cells[c]) + 1;
        }
        sheet.cells[2 * 9 + 3] = (double)INFINITY;
        sheet.cut = 4;
        sheet_set(&sheet, k % 4 < 2 ? "diff=log" : "diff=step");
        check_refusal(&sheet, STATUS_BAD_INPUT,
                      k % 2 == 0
                          ? "'row 3' has infinite values (value 4); if they stand for missing "
                            "numbers, list inf in missing_value"
                          : "'column 4' has infinite values (value 3)");
        sheet_free(&sheet);
    }
}

/* Of the increments of 1 2 -3 4 0 5 .. the second to the fifth have no logarithm; a gap is none. */
TEST(increments_without_a_logarithm_are_told_apart_from_missing_values)
{
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

TEST(a_table_that_is_not_the_announced_one_is_a_fault)
{
    for (size_t k = 0; k < 2; k++) {
        struct sheet sheet = sheet_new(9, 9, k == 0, DTYPE_F64);
        sheet.info.n_lines = sheet.info.n_lines_estimate = 8;
        check_refusal(&sheet, STATUS_INTERNAL, "8");
        sheet.info.n_lines = sheet.info.n_lines_estimate = 10;
        check_refusal(&sheet, STATUS_INTERNAL, "10");
        sheet_free(&sheet);
    }
}

/* --- memory -------------------------------------------------------------------------------------
 */

TEST(plans_are_what_is_taken)
{
    static const char *const sets[][2] = {
        {"precision=exact", "diff=none"}, {"precision=exact", "diff=step"},
        {"precision=f32", "diff=none"},   {"precision=f32", "diff=log"},
        {"method=spearman", "diff=none"}, {"method=spearman", "diff=step"},
    };
    enum { N_SETS = 4 * sizeof sets / sizeof *sets };
    for (size_t at = 0; at < 2 * N_SETS; at++) {
        const size_t k = at % N_SETS;
        const bool by_lines = k % 2 == 0;
        struct sheet sheet = shape_of(700, 100, by_lines, at < N_SETS ? DTYPE_F32 : DTYPE_F64);
        sheet.started_over = k % 4 > 1;
        sheet.params[1] = sets[k / 4][0];
        sheet.params[2] = sets[k / 4][1];
        sheet.memory_limit = k / 4 > 3 ? UINT64_MAX : 0; /* of ranks there are no slabs */
        for (size_t s = 0; s < 700; s++) { /* a gap in every series, somewhere in the middle */
            sheet.cells[by_lines ? s * 100 + 50 : (20 + s % 60) * 700 + s] = NAN;
        }
        struct outcome o = run_well(&sheet);
        if (counted.peak_bytes > o.need.memory_bytes) {
            print_error("set %zu: %zu bytes taken, %zu planned\n", at, counted.peak_bytes,
                        (size_t)o.need.memory_bytes);
        }
        assert_true(counted.peak_bytes <= o.need.memory_bytes);
        if (strcmp(under_test_ops()->name, "cpu") ==
            0) { /* a device's products have room besides */
            assert_true((double)counted.peak_bytes >= 0.95 * (double)o.need.memory_bytes);
        }
        assert_true(o.need.host_bytes > 0);
        assert_false(o.need.estimated);
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

/* Six doubles a pair take the place of one where slabs have gaps: a plan without is smaller. */
TEST(plans_count_gaps_in_slabs_unless_they_are_refused)
{
    struct sheet sheet = shape_of(100, 50, false, DTYPE_F64);
    sheet.memory_limit = 1;
    struct outcome pairwise = run_well(&sheet);
    outcome_free(&pairwise);
    sheet_set(&sheet, "missing=reject");
    struct outcome reject = run_well(&sheet);
    outcome_free(&reject);
    const size_t pairs_bytes = (size_t)100 * 99 / 2 * 5 * sizeof(double);
    assert_true(pairwise.need.memory_bytes >= reject.need.memory_bytes + pairs_bytes);
    sheet_free(&sheet);
}

TEST(plans_of_rows_need_no_more_for_gaps)
{
    struct sheet sheet = shape_of(200, 1000, true, DTYPE_F64);
    struct outcome pairwise = run_well(&sheet);
    outcome_free(&pairwise);
    sheet_set(&sheet, "missing=reject");
    struct outcome reject = run_well(&sheet);
    outcome_free(&reject);
    assert_int_equal(pairwise.need.memory_bytes, reject.need.memory_bytes);
    sheet_free(&sheet);
}

/* The matrix, the series, and, on a device, their standard form: 14 bytes a sample. */
TEST(plans_of_columns_that_are_turned_count_no_gaps)
{
    static const size_t n = 20000, samples = 1000;
    const bool in_place = under_test_ops()->pearson->z_in_place;
    for (size_t k = 0; k < 2; k++) {
        const struct table_info info = {.format = "npy",
                                        .dtype = DTYPE_F64,
                                        .n_lines = k == 0 ? samples : 0,
                                        .n_lines_estimate = samples,
                                        .cells_per_line = n};
        const char *texts[] = {"series=columns", "figure=none", NULL};
        struct param_value params[MOST_SPECS];
        struct stage_need need;
        parse_params(&stage_pearson, texts, params);
        const struct stage_args args = {.queue = counted.queue,
                                        .params = params,
                                        .inputs = {{&info, "sheet"}},
                                        .block_bytes = 1 << 20};
        assert_int_equal(stage_pearson.plan(&args, &need), STATUS_OK);
        const size_t cell = !in_place ? 8 + 14 : k == 0 ? 8 : 8 + 8; /* a text's lines are kept */
        assert_true(need.memory_bytes < (n * n / 2 * 8 + n * samples * cell) / 100 * 107);
        assert_true(need.host_bytes < 100 << 20);
    }
}

/* A threshold may let every pair through: each is held twice while they are sorted. */
TEST(plans_count_the_pairs_that_a_threshold_may_let_through)
{
    struct sheet sheet = shape_of(300, 20, true, DTYPE_F64);
    struct param_value params[MOST_SPECS];
    struct stage_need top, all;
    struct stage_args args = {.queue = counted.queue,
                              .params = params,
                              .inputs = {{&sheet.info, "sheet"}},
                              .block_bytes = 1 << 20};
    sheet.info.n_lines = sheet.info.n_lines_estimate = 5500;
    parse_params(&stage_pearson, (const char *const[]){"series=rows", NULL}, params);
    assert_int_equal(stage_pearson.plan(&args, &top), STATUS_OK);
    parse_params(&stage_pearson, (const char *const[]){"series=rows", "threshold=0.0001", NULL},
                 params);
    assert_int_equal(stage_pearson.plan(&args, &all), STATUS_OK);
    assert_true(all.host_bytes >= (uint64_t)5500 * 5499 / 2 * 2 * sizeof(struct matrix_pair));
    assert_true(top.host_bytes < (uint64_t)64 << 20);
    assert_int_equal(all.memory_bytes, top.memory_bytes);
    sheet_free(&sheet);
}

/* Four series of 2^16 doubles: 2 MiB each for the series as they come and in standard form. */
TEST(plans_for_few_long_series_are_not_those_for_a_tile_of_them)
{
    struct sheet sheet = {.info = {.format = "csv", .dtype = DTYPE_F64, .cells_per_line = 1 << 16}};
    struct param_value params[MOST_SPECS];
    struct stage_need need;
    parse_params(&stage_pearson, (const char *const[]){"series=rows", NULL}, params);
    const struct stage_args args = {.queue = counted.queue,
                                    .params = params,
                                    .inputs = {{&sheet.info, "sheet"}},
                                    .block_bytes = 1 << 20};
    sheet.info.n_lines = sheet.info.n_lines_estimate = 4;
    assert_int_equal(stage_pearson.plan(&args, &need), STATUS_OK);
    assert_true(need.memory_bytes < (uint64_t)12 << 20);
    sheet.info.n_lines = 0;
    assert_int_equal(stage_pearson.plan(&args, &need), STATUS_OK);
    assert_true(need.memory_bytes < (uint64_t)12 << 20);
}

TEST(plans_of_impossible_sizes_are_refused_or_huge)
{
    struct sheet sheet = {.info = {.format = "npy", .dtype = DTYPE_F64}};
    struct param_value params[MOST_SPECS];
    struct stage_need need = {0};
    parse_params(&stage_pearson, (const char *const[]){"series=rows", NULL}, params);
    const struct stage_args args = {.queue = counted.queue,
                                    .params = params,
                                    .inputs = {{&sheet.info, "sheet"}},
                                    .block_bytes = 1 << 20};
    sheet.info.n_lines = sheet.info.n_lines_estimate = ((size_t)1 << 31) + 1;
    sheet.info.cells_per_line = 2;
    assert_int_equal(stage_pearson.plan(&args, &need), STATUS_TOO_LARGE);
    sheet.info.n_lines = sheet.info.n_lines_estimate = 2;
    sheet.info.cells_per_line = SIZE_MAX / 16 - 1;
    assert_int_equal(stage_pearson.plan(&args, &need), STATUS_TOO_LARGE);
    sheet.info.cells_per_line = PEARSON_SAMPLES_MAX + 1;
    assert_int_equal(stage_pearson.plan(&args, &need), STATUS_TOO_LARGE);
    assert_non_null(strstr(status_message(), "store them the other way round"));
    sheet.info.cells_per_line = PEARSON_SAMPLES_MAX;
    assert_int_equal(stage_pearson.plan(&args, &need), STATUS_OK);
    assert_true(need.memory_bytes > (uint64_t)32 << 30);
    sheet.info.n_lines = sheet.info.n_lines_estimate = (size_t)1 << 20;
    sheet.info.cells_per_line = 10;
    assert_int_equal(stage_pearson.plan(&args, &need), STATUS_OK);
    assert_true(need.memory_bytes > (uint64_t)4 << 40); /* 8 bytes for each of 2^39 pairs */
}

TEST(memory_comes_back_wherever_it_runs_out)
{
    static const char *const sets[] = {"precision=exact", "precision=f32", "method=spearman"};
    for (size_t k = 0; k < 6; k++) {
        struct sheet sheet = shape_of(300, 20, k < 3, DTYPE_F64);
        sheet.info.n_lines = 0;
        sheet.info.n_lines_estimate = 64;
        sheet.cells[45] = NAN;
        sheet.cut = 1;
        sheet.params[1] = sets[k % 3];
        sheet.params[2] = k % 3 == 1 ? "diff=step" : NULL;
        sheet.memory_limit = k % 3 == 2 ? UINT64_MAX : 0; /* of ranks there are no slabs */
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
    return UNDER_TEST_RUN(counted_open, counted_close);
}
