/*
 * test_stage_pearson_share - a correlation that several devices compute gives the bytes of one, in
 * every file; when devices are wanted, and what memory they are said to need.
 */
#include "tests/support/pearson_runner.h"

enum { CONSTANT = 1 /* a series that is */ };

/* `gaps`: missing values, and a constant series. */
static struct sheet table_of(size_t series, size_t samples, bool by_lines, enum dtype type,
                             const char *precision, bool gaps)
{
    struct sheet sheet = shape_of(series, samples, by_lines, type);
    sheet_set(&sheet, precision);
    for (size_t s = 0; gaps && s < series; s++) {
        for (size_t t = 0; t < samples; t++) {
            double *cell = &sheet.cells[by_lines ? s * samples + t : t * series + s];
            *cell = s == CONSTANT ? 2.5 : (s * samples + 7 * t) % 97 == 0 ? (double)NAN : *cell;
        }
    }
    return sheet;
}

static struct sheet lines_of(size_t series, size_t samples, enum dtype type, const char *precision,
                             bool gaps)
{
    return table_of(series, samples, true, type, precision, gaps);
}

/* Frees the sheet. */
static void expect_same_bytes(struct sheet *sheet)
{
    static const size_t helpers[] = {1, 2, 3, 6};
    struct outcome alone = run_well(sheet);
    struct bytes want = read_everything(&alone);
    outcome_free(&alone);
    for (size_t k = 0; k < sizeof helpers / sizeof *helpers; k++) {
        sheet->most_helpers = sheet->n_helpers = helpers[k];
        sheet->help_at = strcmp(sheet->params[0], "series=rows") == 0 ? 2 * k : SIZE_MAX;
        struct outcome o = run_well(sheet);
        struct bytes got = read_everything(&o);
        assert_int_equal(o.n_helpers, helpers[k]);
        assert_int_equal(got.len, want.len);
        assert_memory_equal(got.data, want.data, got.len);
        assert_true(counted.peak_bytes <=
                    o.need.memory_bytes + helpers[k] * o.need.helper_bytes + o.need.host_bytes);
        bytes_free(&got);
        outcome_free(&o);
    }
    bytes_free(&want);
    sheet_free(sheet);
}

TEST(helpers_change_no_byte_of_any_size)
{
    static const struct {
        size_t series, samples;
    } sizes[] = {{1, 40}, {2, 40}, {31, 40}, {32, 40}, {33, 40}, {257, 40}, {1100, 20}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const size_t n = sizes[k].series, cells = n * sizes[k].samples;
        struct sheet sheet =
            lines_of(n, sizes[k].samples, k % 2 == 0 ? DTYPE_F64 : DTYPE_F32,
                     k % 3 == 0 ? "precision=f32" : "precision=exact", n > 2 && k % 2 == 0);
        sheet.cut = cells / 20 + 1; /* they come between two lines, and within one */
        expect_same_bytes(&sheet);
    }
}

/* Panels of 64 series. */
TEST(helpers_change_no_byte_of_several_panels)
{
    const size_t series = 257, samples = under_test_size(4100, 40);
    for (size_t k = 0; k < 4; k++) {
        struct sheet sheet = lines_of(series, samples, DTYPE_F64,
                                      k % 2 == 0 ? "precision=exact" : "precision=f32", k / 2 == 0);
        sheet.cut = 30 * samples + 11;
        expect_same_bytes(&sheet);
    }
}

TEST(helpers_change_no_byte_of_increments)
{
    struct sheet sheet = lines_of(1100, 21, DTYPE_F64, "precision=exact", true);
    sheet_set(&sheet, "diff=step");
    sheet.cut = 3000;
    expect_same_bytes(&sheet);
}

/* They come once all lines have been turned, when one panel is done. */
TEST(helpers_change_no_byte_of_turned_columns)
{
    for (size_t k = 0; k < 4; k++) {
        struct sheet sheet = table_of(1100, 60, false, DTYPE_F64,
                                      k % 2 == 0 ? "precision=exact" : "precision=f32", k / 2 == 0);
        sheet_set(&sheet, k == 3 ? "diff=step" : "diff=none");
        sheet.cut = 10007;
        expect_same_bytes(&sheet);
    }
}

/* What is planned for a shape of f64, and how many helpers are wanted before the first number. */
static size_t wanted(size_t lines, bool known, size_t cells, const char *series, size_t most,
                     struct stage_need *need)
{
    const struct table_info info = {.format = "npy",
                                    .dtype = DTYPE_F64,
                                    .n_lines = known ? lines : 0,
                                    .n_lines_estimate = lines,
                                    .cells_per_line = cells};
    const char *texts[] = {series, NULL};
    struct param_value params[MOST_SPECS];
    parse_params(&stage_pearson, texts, params);
    const struct stage_args args = {.queue = counted.queue,
                                    .params = params,
                                    .inputs = {{&info, "sheet"}},
                                    .block_bytes = 1 << 20,
                                    .most_helpers = most};
    struct pull *stage;
    assert_int_equal(stage_pearson.plan(&args, need), STATUS_OK);
    assert_int_equal(pull_open(&stage_pearson, &args, &stage), STATUS_OK);
    const size_t n = pull_helpers(stage);
    pull_free(stage);
    return n;
}

/* The CPU's rate is 1e10 a second: a quarter of a second of it for each is 2.5e9. */
TEST(helpers_are_wanted_where_all_have_enough_to_do)
{
    static const struct {
        size_t lines, cells, most, wanted;
    } cases[] = {
        {4096, 590, 7, 0},  /* 4.95e9 */
        {4096, 600, 7, 1},  /* 5.03e9 */
        {4096, 1800, 7, 5}, /* 1.51e10, for six */
        {4096, 1800, 3, 3},  {4096, 1800, 0, 0},
        {4096, 6000, 63, 8}, /* as many as there are panels */
        {300, 40, 7, 0},
    };
    if (!under_test_is_cpu()) {
        skip();
    }
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct stage_need need;
        assert_int_equal(
            wanted(cases[k].lines, true, cases[k].cells, "series=rows", cases[k].most, &need),
            cases[k].wanted);
        assert_int_equal(need.helper_bytes > 0, cases[k].most > 0);
    }
}

TEST(no_helpers_are_wanted_for_other_tables)
{
    struct stage_need need;
    assert_int_equal(wanted(100000, false, 100000, "series=rows", 7, &need), 0);
    assert_int_equal(need.helper_bytes, 0);
    assert_int_equal(wanted(100000, false, 10000, "series=columns", 7, &need), 0);
    assert_int_equal(need.helper_bytes, 0);
    assert_int_equal(wanted(10000, true, 100000, "series=columns", 7, &need), 0); /* not yet */
    assert_true(need.helper_bytes > 0);
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
