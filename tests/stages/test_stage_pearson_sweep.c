/*
 * Without the matrix among its results a job of many series never holds it: its memory grows with
 * their number, and its pairs are those of the matrix; on the backend LEAT_TEST_BACKEND.
 */
#include "stages/pearson/pearson_job.h"
#include "tests/support/pearson_runner.h"

enum { SERIES = PEARSON_HELD_MOST + 152, SAMPLES = 12 };

/* Series along lines, or across them. */
static struct sheet many(bool by_lines, const char *precision)
{
    struct sheet sheet = shape_of(SERIES, SAMPLES, by_lines, DTYPE_F64);
    sheet_set(&sheet, precision);
    sheet_set(&sheet, "top_each=2");
    sheet_set(&sheet, "threshold=0.93");
    sheet_set(&sheet, "groups=0.95");
    return sheet;
}

/* Missing values, and a series that is constant. */
static void punch(struct sheet *sheet)
{
    const bool by_lines = strcmp(sheet->params[0], "series=rows") == 0;
    for (size_t s = 0; s < SERIES; s += 3) {
        const size_t t = s % SAMPLES;
        sheet->cells[by_lines ? s * SAMPLES + t : t * SERIES + s] = (double)NAN;
    }
    for (size_t t = 0; t < SAMPLES; t++) {
        sheet->cells[by_lines ? SAMPLES + t : t * SERIES + 1] = 2.5;
    }
}

/* What does not depend on the matrix being there. */
struct told {
    struct bytes pairs, partners, groups;
    double n_pairs, n_undefined, n_listed, homogeneity;
    char *histogram;
};

static struct told run_and_read(const struct sheet *sheet, bool is_swept)
{
    struct outcome o = run_well(sheet);
    assert_true(sheet->info.n_lines == 0 ||
                counted.peak_bytes <= o.need.memory_bytes + o.need.host_bytes);
    const json_t *const summary = o.result.summary;
    const struct told told = {.pairs = read_text(&o, "pairs.csv.gz"),
                              .partners = read_text(&o, "partners.csv.gz"),
                              .groups = read_text(&o, "groups.csv.gz"),
                              .n_pairs = summary_number(&o, "n_pairs"),
                              .n_undefined = summary_number(&o, "n_undefined"),
                              .n_listed = summary_number(&o, "n_listed"),
                              .homogeneity = summary_number(&o, "homogeneity"),
                              .histogram = json_dumps(json_object_get(summary, "histogram"), 0)};
    assert_true(json_is_null(json_object_get(summary, "median_abs_r")) == is_swept);
    assert_true(json_is_null(json_object_get(summary, "anomalous")) == is_swept);
    assert_true((find_array(&o, "r") == NULL) == is_swept);
    assert_true((find_file(&o, "heatmap.png") == NULL) == is_swept);
    outcome_free(&o);
    return told;
}

static void told_free(struct told *t)
{
    bytes_free(&t->pairs);
    bytes_free(&t->partners);
    bytes_free(&t->groups);
    free(t->histogram);
}

/* Frees the sheet. */
static void expect_as_held(struct sheet *sheet)
{
    struct told held = run_and_read(sheet, false);
    sheet_set(sheet, "r=none");
    struct told swept = run_and_read(sheet, true);
    assert_string_equal((char *)swept.pairs.data, (char *)held.pairs.data);
    assert_string_equal((char *)swept.partners.data, (char *)held.partners.data);
    assert_string_equal((char *)swept.groups.data, (char *)held.groups.data);
    assert_string_equal(swept.histogram, held.histogram);
    assert_true(swept.n_pairs == held.n_pairs && swept.n_undefined == held.n_undefined);
    assert_true(swept.n_listed == held.n_listed && held.n_listed > 100);
    /* The mean of some panels' means. */
    assert_true(fabs(swept.homogeneity - held.homogeneity) <= 0x1p-48);
    told_free(&held);
    told_free(&swept);
    sheet_free(sheet);
}

TEST(pairs_and_partners_are_those_of_the_matrix)
{
    for (size_t k = 0; k < 8; k++) {
        struct sheet sheet = many(k % 2 == 0, k / 2 % 2 == 0 ? "precision=exact" : "precision=f32");
        if (k >= 4) {
            punch(&sheet);
        }
        expect_as_held(&sheet);
    }
}

TEST(so_are_those_of_ranks_and_of_increments)
{
    static const char *const ways[] = {"method=spearman", "diff=step"};
    for (size_t k = 0; k < 2; k++) {
        struct sheet sheet = many(k == 0, "precision=exact");
        sheet_set(&sheet, ways[k]);
        expect_as_held(&sheet);
    }
}

/* Every |r| is 1: the first thousand are listed, from whichever panel. */
TEST(ties_are_listed_in_their_order)
{
    for (size_t k = 0; k < 2; k++) {
        struct sheet sheet = sheet_new(SERIES, 2, true, DTYPE_F64);
        for (size_t s = 0; s < SERIES; s++) {
            sheet.cells[2 * s + s % 2] = 0;
            sheet.cells[2 * s + 1 - s % 2] = 1;
        }
        sheet_set(&sheet, "min_samples=2");
        sheet_set(&sheet, k == 0 ? "precision=exact" : "precision=f32");
        sheet_set(&sheet, "r=none");
        struct outcome o = run_well(&sheet);
        size_t n;
        struct listed *const pairs = read_pairs(&o, &n);
        assert_int_equal(n, 1000);
        for (size_t p = 0; p < n; p++) {
            assert_true(pairs[p].i == 0 && pairs[p].j == p + 1);
        }
        free(pairs);
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

/* Of a text nobody knows how many series there will be; whether they are few enough to be held is
 * decided when all are there. */
TEST(a_guess_decides_nothing)
{
    static const size_t guesses[] = {10, SERIES / 2, 3 * SERIES};
    for (size_t k = 0; k < 3; k++) {
        struct sheet sheet = many(true, k == 1 ? "precision=f32" : "precision=exact");
        sheet.info.n_lines = 0;
        sheet.info.n_lines_estimate = guesses[k];
        expect_as_held(&sheet);
    }
    struct sheet few = shape_of(40, SAMPLES, true, DTYPE_F64);
    sheet_set(&few, "r=none");
    few.info.n_lines = 0;
    few.info.n_lines_estimate = 3 * SERIES;
    struct outcome o = run_well(&few);
    assert_true(summary_number(&o, "median_abs_r") > 0);
    outcome_free(&o);
    sheet_free(&few);
}

/* They come while series do, or between panels. */
TEST(several_devices_give_the_bytes_of_one)
{
    static const size_t helpers[] = {1, 2, 3, 6};
    for (size_t gaps = 0; gaps < 2; gaps++) {
        struct sheet sheet = many(true, gaps == 0 ? "precision=exact" : "precision=f32");
        sheet_set(&sheet, "r=none");
        sheet.cut = SERIES * SAMPLES / 20 + 1;
        if (gaps != 0) {
            punch(&sheet);
        }
        struct outcome alone = run_well(&sheet);
        struct bytes want = read_everything(&alone);
        outcome_free(&alone);
        for (size_t k = 0; k < 4; k++) {
            sheet.most_helpers = sheet.n_helpers = helpers[k];
            sheet.help_at = k % 2 == 0 ? 2 * k : SIZE_MAX;
            struct outcome o = run_well(&sheet);
            struct bytes got = read_everything(&o);
            assert_int_equal(o.n_helpers, helpers[k]);
            assert_int_equal(got.len, want.len);
            assert_memory_equal(got.data, want.data, got.len);
            bytes_free(&got);
            outcome_free(&o);
        }
        bytes_free(&want);
        sheet_free(&sheet);
    }
}

/* Memory that is planned for lines of 64 doubles on the CPU. */
static double planned(size_t lines, const char *precision)
{
    const struct table_info info = {.format = "npy",
                                    .dtype = DTYPE_F64,
                                    .n_lines = lines,
                                    .n_lines_estimate = lines,
                                    .cells_per_line = 64};
    const char *texts[] = {"series=rows", "r=none", "threshold=0.9", precision, NULL};
    struct param_value params[MOST_SPECS];
    struct stage_need need;
    parse_params(&stage_pearson, texts, params);
    const struct stage_args args = {.queue = counted.queue,
                                    .params = params,
                                    .inputs = {{&info, "sheet"}},
                                    .block_bytes = 1 << 20};
    assert_int_equal(stage_pearson.plan(&args, &need), STATUS_OK);
    return (double)need.memory_bytes + (double)need.host_bytes;
}

TEST(memory_grows_with_the_number_of_series)
{
    for (size_t k = 0; k < 2; k++) {
        const char *const precision = k == 0 ? "precision=exact" : "precision=f32";
        const double some = planned(100000, precision), more = planned(200000, precision);
        assert_true(!under_test_is_cpu() || some < (1 << 30));
        assert_true(more < 2.1 * some);
    }
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
