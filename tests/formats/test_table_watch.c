/*
 * What a watch says of series: codes for missing numbers and counts, and nothing of what is
 * harmless. Each series is looked at across lines and along one, whole and cut into chunks, in
 * doubles and floats; most chunks from the last to the first, as threads might, before they are
 * taken in order.
 */
#include "formats/table/table_watch.h"

#include "formats/table/csv.h"
#include "tests/support/table_support.h"

enum { N = 200 };

/* What was said of a table. */
struct said {
    char text[2048]; /* sentences, a line each */
    size_t n_codes, n_counts;
    struct table_count count;
    bool rises;
    struct table_count rising;
};

/* Has the watch take chunks, of which two in three have been looked at before, the last first. */
static void take_chunks(struct table_watch *w, const struct table_chunk *chunks, size_t n)
{
    struct table_look **const looks = calloc(n + 1, sizeof *looks);
    for (size_t i = n; i-- > 0;) {
        looks[i] = i % 3 == 1 ? NULL : table_watch_look(w, &chunks[i]);
    }
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(table_watch_take(w, &chunks[i], looks[i]), STATUS_OK);
        table_look_free(looks[i]);
    }
    free(looks);
}

/* Numbers in chunks of `cut`. */
static void take_numbers(struct table_watch *w, const struct table_info *info, const void *values,
                         size_t n, size_t cut)
{
    const size_t n_chunks = (n + cut - 1) / cut, size = dtype_bytes(info->dtype);
    struct table_chunk *const chunks = calloc(n_chunks + 1, sizeof *chunks);
    for (size_t i = 0; i < n_chunks; i++) {
        const size_t first = i * cut;
        chunks[i] =
            (struct table_chunk){.values = (char *)(uintptr_t)values + first * size,
                                 .n_cells = n - first < cut ? n - first : cut,
                                 .first_column = table_column(info, first % info->cells_per_line)};
    }
    take_chunks(w, chunks, n_chunks);
    free(chunks);
}

/* A table of `width` numbers a line, in chunks of `cut` numbers. */
static struct said watch(const struct table_info *plain, bool by_lines, const void *values,
                         size_t n, size_t cut)
{
    struct said said = {0};
    struct table_watch *w;
    struct bytes text = {0};
    const struct csv_run all = {0, (uint32_t)plain->cells_per_line, CSV_KEEP};
    struct table_info info = *plain;
    info.runs = plain->runs != NULL ? plain->runs : &all;
    assert_int_equal(table_watch_new(&info, by_lines ? TABLE_WATCH_LINES : TABLE_WATCH_ACROSS, &w),
                     STATUS_OK);
    take_numbers(w, &info, values, n, cut);
    assert_int_equal(table_watch_codes(w, &text), STATUS_OK);
    said.n_counts = table_watch_n_counts(w);
    assert_int_equal(table_watch_count(w, 0, &said.count), said.n_counts > 0);
    said.rises = table_watch_rises(w, &said.rising);
    for (size_t i = 0; i < text.len; i += strlen((char *)text.data + i) + 1) {
        strncat(said.text, (char *)text.data + i, sizeof said.text - strlen(said.text) - 2);
        strcat(said.text, "\n");
        said.n_codes++;
    }
    bytes_free(&text);
    table_watch_free(w);
    return said;
}

static struct said along(const double *v, size_t n)
{
    const struct table_info info = {.format = "csv", .dtype = DTYPE_F64, .cells_per_line = n};
    return watch(&info, true, v, n, n);
}

/* A series gives the same whichever way it lies and is cut: as the middle one of three columns, of
 * which the others are harmless. */
static struct said look(const double *v, size_t n)
{
    const struct said said = along(v, n);
    static double table[3 * 5000];
    static const char *const names[] = {"a", "b", "c"};
    const struct table_info info = {
        .format = "csv", .dtype = DTYPE_F64, .cells_per_line = 3, .names = names};
    const size_t cuts[] = {3 * n, 1, 7, 64, 200};
    assert_true(n <= 5000);
    for (size_t i = 0; i < n; i++) {
        table[3 * i] = sin((double)i);
        table[3 * i + 1] = v[i];
        table[3 * i + 2] = cos((double)i);
    }
    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
        const struct said across = watch(&info, false, table, 3 * n, cuts[k]);
        assert_int_equal(across.n_codes, said.n_codes);
        assert_int_equal(across.n_counts, said.n_counts);
        if (said.n_codes > 0) {
            assert_non_null(strstr(across.text, "'b'"));
        }
        if (said.n_counts > 0) {
            assert_int_equal(across.count.series, 1);
            assert_string_equal(across.count.name.text, "column 'b'");
        }
    }
    return said;
}

static double noise(size_t i) /* in 0 to 1, the same every time */
{
    return (double)(i * 2654435761u % 1000003u) / 1000003;
}

/* --- harmless ------------------------------------------------------------------------------- */

static double whole_numbers(size_t i)
{
    return floor(50 * noise(i));
}
static double negative_whole_numbers(size_t i)
{
    return floor(50 * noise(i)) - 25;
}
static double few_counts(size_t i)
{
    return floor(4 * noise(i) * noise(i + 9));
}
static double clipped_at_0(size_t i)
{
    return fmax(0, 40 * noise(i) - 20);
}
static double clipped_at_100(size_t i)
{
    return fmin(100, 60 + 80 * noise(i));
}
static double hardly_clipped_at_100(size_t i)
{
    return i % 20 == 3 ? 100 : 30 + 2 * noise(i);
}
static double often_0(size_t i)
{
    return i % 3 == 0 ? 0 : 20000 + 5000 * noise(i);
}
static double percent(size_t i)
{
    return floor(101 * noise(i));
}
static double binary(size_t i)
{
    return noise(i) > 0.5;
}
static double signs(size_t i)
{
    return noise(i) > 0.5 ? 1 : -1;
}
static double trinary(size_t i)
{
    return floor(3 * noise(i)) - 1;
}
static double two_values(size_t i)
{
    return noise(i) > 0.9 ? 999 : 1;
}
static double constant(size_t i)
{
    return 3 + 0 * (double)i;
}
static double constant_nines(size_t i)
{
    return 999 + 0 * (double)i;
}
static double ages(size_t i)
{
    return floor(18 + 82 * noise(i));
}
static double prices(size_t i)
{
    static const double at[] = {99, 199, 299, 499, 999};
    return at[(size_t)(5 * noise(i))];
}
static double years(size_t i)
{
    return 1999 + floor(25 * noise(i));
}
static double temperature(size_t i)
{
    return round(10 * (40 * noise(i) - 10)) / 10;
}
static double rain(size_t i)
{
    return noise(i) < 0.8 ? 0 : round(10 * 40 * noise(i + 3)) / 10;
}
static double one_outlier(size_t i)
{
    return i == 7 ? -5000 : 10 * noise(i);
}
static double heavy_tail(size_t i)
{
    return floor(pow(noise(i) + 0.01, -2));
}
static double directions(size_t i)
{
    return 15 * floor(24 * noise(i));
}
static double adc(size_t i)
{
    return fmin(4095, floor(3000 + 2000 * noise(i)));
}
static double walk(size_t i)
{
    return 100 * sin((double)i / 20) + noise(i);
}
static double hours(size_t i)
{
    return (double)(i % 24);
}
static double scores(size_t i)
{
    return 1 + floor(5 * noise(i));
}
static double likert(size_t i)
{
    return floor(7 * noise(i)) - 3;
}
static double missing(size_t i)
{
    return (double)NAN * (double)i;
}
static double some_missing(size_t i)
{
    return i % 4 == 0 ? (double)NAN : noise(i);
}
static double small(size_t i)
{
    return 1e-9 * noise(i);
}
static double flags_and_levels(size_t i)
{
    return i % 2 == 0 ? -1 : floor(6 * noise(i));
}
static double money(size_t i)
{
    return i % 30 == 4 ? -5 : round(100 * 400 * noise(i)) / 100;
}

/* Whole and low, and not ten times as far below the rest as that is wide. */
static double a_low_level(size_t i)
{
    return i % 20 == 3 ? 955 : 1000 + 10 * noise(i);
}

static double clumps(size_t i)
{
    return i % 8 == 0 ? 8.604330541401334 : 0.1 + 0.05 * floor(3 * noise(i));
}

static const struct harmless {
    const char *name;
    double (*at)(size_t i);
} harmless[] = {
    {"whole numbers", whole_numbers},
    {"negative whole numbers", negative_whole_numbers},
    {"few counts", few_counts},
    {"clipped at 0", clipped_at_0},
    {"clipped at 100", clipped_at_100},
    {"far from 100, at times there", hardly_clipped_at_100},
    {"often 0", often_0},
    {"percent", percent},
    {"binary", binary},
    {"signs", signs},
    {"trinary", trinary},
    {"two values", two_values},
    {"constant", constant},
    {"constant nines", constant_nines},
    {"ages", ages},
    {"prices", prices},
    {"years", years},
    {"temperature", temperature},
    {"rain", rain},
    {"one outlier", one_outlier},
    {"heavy tail", heavy_tail},
    {"directions", directions},
    {"clipped at the end of a type", adc},
    {"walk", walk},
    {"hours", hours},
    {"scores", scores},
    {"likert", likert},
    {"missing", missing},
    {"some missing", some_missing},
    {"small", small},
    {"-1 beside levels", flags_and_levels},
    {"money", money},
    {"a low level", a_low_level},
    {"clumps", clumps},
};

TEST(harmless_series_stay_silent)
{
    static const size_t lengths[] = {N, 12, 5000};
    double v[5000];
    for (size_t k = 0; k < sizeof harmless / sizeof *harmless; k++) {
        for (size_t l = 0; l < 3; l++) {
            for (size_t i = 0; i < lengths[l]; i++) {
                v[i] = harmless[k].at(i);
            }
            const struct said said = look(v, lengths[l]);
            if (said.n_codes > 0 || (said.n_counts > 0 && lengths[l] > 12)) {
                fail_msg("%s (%zu): %zu counts, %s", harmless[k].name, lengths[l], said.n_counts,
                         said.text);
            }
        }
    }
}

static double large_amounts(size_t i)
{
    return floor(1e5 * pow(noise(i), 6));
}

/* --- codes ------------------------------------------------------------------------------------ */

static const struct coded {
    const char *name;
    double (*rest)(size_t i);
    double code;
} coded[] = {
    {"-9999 in a temperature", temperature, -9999},
    {"-999 in a temperature", temperature, -999},
    {"-99 in a temperature", temperature, -99},
    {"999.9 in a temperature", temperature, 999.9},
    {"9999 in a temperature", temperature, 9999},
    {"99999 in a temperature", temperature, 99999},
    {"-200 in a temperature", temperature, -200},
    {"7999 in a small amount", clipped_at_0, 7999},
    {"-200 in a clipped amount", clipped_at_0, -200},
    {"999 in directions", directions, 999},
    {"-99 in large amounts", large_amounts, -99},
    {"-32768 in whole numbers", negative_whole_numbers, -32768},
    {"1e20", walk, 1e20},
    {"-3.4e38", walk, -3.4028234663852886e38},
    {"5555 among scores", scores, 5555},
    {"-99 in a binary one", binary, -99},
    {"999 in hours", hours, 999},
    {"-90 in a binary one", binary, -90},
};

TEST(codes_are_named_with_how_often_they_came)
{
    double v[N];
    for (size_t k = 0; k < sizeof coded / sizeof *coded; k++) {
        char often[32], set[64];
        size_t n = 0;
        for (size_t i = 0; i < N; i++) {
            const bool is_code = i % 11 == 5;
            v[i] = is_code ? coded[k].code : coded[k].rest(i);
            n += is_code ? 1 : 0;
        }
        const struct said said = look(v, N);
        snprintf(often, sizeof often, " %zu times", n);
        snprintf(set, sizeof set, "missing_value=");
        if (said.n_codes != 1 || strstr(said.text, often) == NULL) {
            fail_msg("%s: %zu codes: %s", coded[k].name, said.n_codes, said.text);
        }
        assert_true(strtod(strstr(said.text, set) + strlen(set), NULL) == coded[k].code);
        assert_true(strtod(said.text, NULL) == coded[k].code);
    }
}

/* What stands alone, and is no code because of what it is or how often it came. */
TEST(figures_that_stand_alone_are_codes_by_their_digits_and_number)
{
    static const struct {
        double value;
        size_t n_times, n_codes;
    } cases[] = {{799, 2, 0},  {7999, 2, 1}, {999, 2, 1},   {-99, 2, 1},   {99.9, 2, 0},
                 {5000, 2, 0}, {5000, 3, 1}, {5000, 30, 1}, {5000, 31, 0}, {1e5, 30, 0}};
    double v[60];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        for (size_t i = 0; i < 60; i++) {
            const bool is_it = i * 7 % 60 < cases[k].n_times;
            v[i] = is_it ? cases[k].value : 600 - 0.5 * (double)i;
        }
        const struct said said = look(v, 60);
        if (said.n_codes != cases[k].n_codes) {
            fail_msg("%g %zu times: %s", cases[k].value, cases[k].n_times, said.text);
        }
    }
}

/* One number may be the lowest of a series and the highest of another. */
TEST(a_code_on_either_side_is_told_of_each)
{
    const struct table_info info = {.format = "csv", .dtype = DTYPE_F64, .cells_per_line = 2};
    double v[2 * N];
    for (size_t i = 0; i < N; i++) {
        v[2 * i] = i % 9 == 0 ? 999 : 20000 + 5000 * noise(i);
        v[2 * i + 1] = i % 9 == 0 ? 999 : temperature(i);
    }
    const struct said said = watch(&info, false, v, 2 * N, 100);
    assert_int_equal(said.n_codes, 2);
    assert_non_null(strstr(said.text, "the lowest value of column 1 23 times"));
    assert_non_null(strstr(said.text, "the highest value of column 2 23 times"));
}

/* Skewed, as amounts of a gas are: the code is nearer to the rest than the rest is wide. */
TEST(a_code_below_a_skewed_series_is_found)
{
    double v[N];
    for (size_t i = 0; i < N; i++) {
        v[i] = i % 7 == 0 ? -200 : floor(2 + 1477 * pow(noise(i), 3));
    }
    assert_int_equal(look(v, N).n_codes, 1);
}

TEST(a_code_that_comes_late_or_twice_is_found)
{
    static double v[5000];
    for (size_t i = 0; i < 5000; i++) {
        v[i] = i >= 4998 ? -999 : temperature(i);
    }
    const struct said said = look(v, 5000);
    assert_int_equal(said.n_codes, 1);
    assert_non_null(strstr(said.text, " 2 times"));
}

TEST(a_known_code_is_found_though_it_came_once)
{
    static const struct {
        double (*rest)(size_t i);
        double code;
        bool is_code;
    } lone[] = {
        {temperature, -9999, true},   {temperature, -999, true}, {temperature, 999.9, true},
        {percent, 65535, true},       {walk, 1e20, true},        {temperature, -99, false},
        {large_amounts, -999, false}, {prices, 9999, false},     {temperature, -500, false},
        {percent, 999, false},        {small, -99, false},       {percent, 32767, true},
        {percent, 2147483647, true},  {percent, -32768, true},   {percent, -2147483648.0, true},
        {percent, 4294967295, true},
    };
    double v[N];
    for (size_t k = 0; k < sizeof lone / sizeof *lone; k++) {
        for (size_t i = 0; i < N; i++) {
            v[i] = i == 77 ? lone[k].code : lone[k].rest(i);
        }
        const struct said said = look(v, N);
        if ((said.n_codes == 1 && strstr(said.text, " once")) != lone[k].is_code) {
            fail_msg("%g: %s", lone[k].code, said.text);
        }
    }
}

TEST(one_sentence_speaks_of_all_series_of_a_code)
{
    enum { WIDTH = 9 };
    const struct table_info info = {.format = "csv", .dtype = DTYPE_F64, .cells_per_line = WIDTH};
    double v[N * WIDTH];
    for (size_t i = 0; i < N * WIDTH; i++) {
        v[i] = i / WIDTH % 10 == 1 ? -999 : noise(i);
    }
    const struct said said = watch(&info, false, v, N * WIDTH, 100);
    assert_int_equal(said.n_codes, 1);
    assert_non_null(strstr(said.text, "9 columns"));
    assert_non_null(strstr(said.text, "column 1 20 times"));
    assert_non_null(strstr(said.text, " and 4 more"));
}

TEST(floats_are_looked_at_as_they_are)
{
    const struct table_info info = {.format = "csv", .dtype = DTYPE_F32, .cells_per_line = 1};
    float v[N];
    for (size_t i = 0; i < N; i++) {
        v[i] = i % 9 == 0 ? -9999 : (float)noise(i);
    }
    const struct said said = watch(&info, false, v, N, 50);
    assert_int_equal(said.n_codes, 1);
    assert_int_equal(strncmp(said.text, "-9999 looks", 11), 0);
}

TEST(lines_are_named_by_their_labels_across_chunks)
{
    const struct table_info info = {.format = "csv", .dtype = DTYPE_F64, .cells_per_line = 100};
    char labels[] = "one\0two";
    double v[200];
    struct table_watch *w;
    struct bytes text = {0};
    for (size_t i = 0; i < 200; i++) {
        v[i] = i >= 100 && i % 9 == 0 ? -999 : noise(i);
    }
    struct table_chunk first = {
        .values = v, .n_cells = 150, .labels = labels, .labels_len = sizeof labels, .n_labels = 2};
    struct table_chunk second = {.values = v + 150, .n_cells = 50};
    assert_int_equal(table_watch_new(&info, TABLE_WATCH_LINES, &w), STATUS_OK);
    assert_int_equal(table_watch_take(w, &first, NULL), STATUS_OK);
    assert_int_equal(table_watch_take(w, &second, NULL), STATUS_OK);
    assert_int_equal(table_watch_codes(w, &text), STATUS_OK);
    assert_non_null(strstr((char *)text.data, "row 'two'"));
    bytes_free(&text);
    table_watch_free(w);
}

/* By its number in the file, whatever stands before it and is no series. */
TEST(columns_without_names_have_their_numbers_in_the_file)
{
    struct bytes text = {0};
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(bytes_printf(&text, "r%zu,%.3f,w,%.3f\n", i, noise(i),
                                      i % 50 == 3 ? -9999 : noise(i + 7)),
                         STATUS_OK);
    }
    struct reading r = read_bytes(text.data, text.len, NULL, 1 << 16);
    assert_int_equal(r.n_numbers, 2 * N);
    const struct said said = watch(r.info, false, r.numbers.data, r.n_numbers, 100);
    assert_int_equal(said.n_codes, 1);
    assert_non_null(strstr(said.text, "column 4 4 times"));
    reading_free(&r);
    bytes_free(&text);
}

/* --- counts ----------------------------------------------------------------------------------- */

TEST(what_counts_is_found_whatever_its_step)
{
    static const struct {
        double first, step;
    } counts[] = {{1, 1}, {0, 1}, {1700000000, 3600}, {45231, 1.0 / 24}, {10, -0.1}, {-1e9, 1e-3}};
    double v[N];
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        for (size_t i = 0; i < N; i++) {
            v[i] = counts[k].first + (double)i * counts[k].step;
        }
        const struct said said = look(v, N);
        assert_int_equal(said.n_codes, 0);
        assert_int_equal(said.n_counts, 1);
        assert_true(said.count.first == v[0] && said.count.step == v[1] - v[0]);
    }
}

TEST(what_ceases_to_count_does_not)
{
    double v[N];
    for (size_t i = 0; i < N; i++) {
        v[i] = (double)i;
    }
    v[N - 1] += 0.5;
    assert_int_equal(look(v, N).n_counts, 0);
    v[N - 1] = v[N - 2];
    assert_int_equal(look(v, N).n_counts, 0);
    v[N - 1] = NAN;
    assert_int_equal(look(v, N).n_counts, 0);
    assert_int_equal(look(v, N - 1).n_counts, 1);
    assert_int_equal(look(v, 10).n_counts, 1);
    assert_int_equal(look(v, 9).n_counts, 0);
}

/* Days, months and years as whole numbers, times with some missing; not meters. */
TEST(what_counts_with_gaps_counts_and_what_only_rises_is_told_of_the_first)
{
    double v[N], day[N], meter[N], jitter[N], month[36];
    for (size_t i = 0; i < N; i++) {
        v[i] = 1700000000 + 600 * (double)(i + (i > 50 ? 1u : 0u) + (i > 120 ? 7u : 0u));
        day[i] = 20240101 + (double)(i / 28 * 100 + i % 28);
        meter[i] = i > 0 ? meter[i - 1] + 1 + floor(5 * noise(i)) : 4711;
        jitter[i] = 1700000000 + 600 * (double)i + floor(9 * noise(i));
    }
    for (size_t i = 0; i < 36; i++) {
        month[i] = 202401 + (double)(i / 12 * 100 + i % 12);
    }
    struct said said = look(v, N);
    assert_true(said.n_counts == 1 && said.count.has_gaps && said.count.step == 600);
    assert_int_equal(look(day, N).n_counts, 1);
    assert_int_equal(look(month, 36).n_counts, 1);
    double *const rising[] = {meter, jitter};
    for (size_t k = 0; k < 2; k++) {
        said = look(rising[k], N);
        assert_true(said.n_counts == 0 && said.rises);
        assert_true(said.rising.first == rising[k][0] && said.rising.last == rising[k][N - 1]);
        rising[k][N - 1] = rising[k][N - 2] - 1;
        assert_false(look(rising[k], N).rises);
    }
    for (size_t i = 1; i < N; i++) { /* of N - 1 = 199 steps 49 are gaps, or one more */
        v[i] = v[i - 1] + (i % 4 == 0 ? 2 : 1);
    }
    assert_int_equal(look(v, N).n_counts, 1);
    for (size_t i = N - 4; i < N; i++) {
        v[i] = v[i - 1] + 2;
    }
    said = look(v, N);
    assert_true(said.n_counts == 0 && said.rises);
    v[1] = v[0] + 1200; /* the first step is a gap */
    v[2] = v[1] + 600;
    for (size_t i = 3; i < N; i++) {
        v[i] = v[i - 1] + 600;
    }
    said = look(v, N);
    assert_true(said.n_counts == 1 && said.count.has_gaps && said.count.step == 600);
}

TEST(of_several_series_that_rise_the_first_is_named)
{
    static const char *const names[] = {"t", "x", "u"};
    static const char *const others[] = {"x", "t", "u"};
    struct table_info info = {
        .format = "csv", .dtype = DTYPE_F64, .cells_per_line = 3, .names = names};
    double v[3 * N], w[3 * N];
    for (size_t i = 0; i < N; i++) {
        v[3 * i] = w[3 * i + 1] = 100 * (double)i + floor(9 * noise(i));
        v[3 * i + 1] = w[3 * i] = noise(i);
        v[3 * i + 2] = w[3 * i + 2] = 70 * (double)i + floor(9 * noise(i + 5));
    }
    struct said said = watch(&info, false, v, 3 * N, 100);
    assert_int_equal(said.n_counts, 0);
    assert_true(said.rises);
    assert_string_equal(said.rising.name.text, "column 't'");
    assert_true(said.rising.series == 0 && said.rising.last == v[3 * N - 3]);
    info.names = others;
    assert_false(watch(&info, false, w, 3 * N, 100).rises);
}

TEST(of_an_array_the_first_numbers_are_looked_at)
{
    enum { ROWS = TABLE_WATCH_OF_ARRAYS / 2 + 10 };
    double *const v = malloc(2 * ROWS * sizeof *v);
    assert_non_null(v);
    for (size_t i = 0; i < ROWS; i++) {
        v[2 * i] = (double)i;
        v[2 * i + 1] = i == 20 || i == 30 ? -9999 : sin((double)i);
    }
    struct table_info info = {.format = "csv", .dtype = DTYPE_F64, .cells_per_line = 2};
    struct said said = watch(&info, false, v, 2 * ROWS, 1000);
    assert_int_equal(said.n_counts, 1);
    assert_non_null(strstr(said.text, "-9999"));
    info.format =
        "npy"; /* -9999 is among the first; whether a column counts to its end is not seen */
    static const size_t cuts[] = {1000, TABLE_WATCH_OF_ARRAYS, 2 * ROWS};
    for (size_t k = 0; k < 3; k++) {
        said = watch(&info, false, v, 2 * ROWS, cuts[k]);
        assert_int_equal(said.n_counts, 0);
        assert_non_null(strstr(said.text, "-9999"));
    }
    said = watch(&info, false, v, TABLE_WATCH_OF_ARRAYS, 1000); /* all of it */
    assert_int_equal(said.n_counts, 1);
    v[41] = v[61] = 0.5; /* instead of the first ones */
    v[2 * ROWS - 1] = v[2 * ROWS - 3] = -9999;
    said = watch(&info, false, v, 2 * ROWS, 1000);
    assert_null(strstr(said.text, "-9999"));
    free(v);
}

/* What is said of a CSV that is read in chunks of so many bytes. */
static void watch_csv(const char *text, size_t raw_cap, enum table_watch_series series,
                      bool look_before, char said[2048])
{
    enum { CHUNKS = 400 };
    struct table_chunk *const chunks = calloc(CHUNKS, sizeof *chunks);
    struct table *t;
    struct table_watch *w;
    struct bytes codes = {0};
    struct table_count c;
    size_t n = 0;
    bool end = false;
    assert_int_equal(table_open(memory_source(text, strlen(text)), NULL, &t), STATUS_OK);
    while (!end) {
        assert_true(n < CHUNKS);
        struct table_chunk *const k = &chunks[n++];
        *k = (struct table_chunk){.raw_cap = raw_cap, .values_cap = 4 * raw_cap};
        k->raw = malloc(raw_cap);
        k->values = malloc(k->values_cap);
        assert_int_equal(table_next(t, k, &end), STATUS_OK);
        assert_int_equal(end ? STATUS_OK : table_decode(t, k), STATUS_OK);
    }
    assert_int_equal(table_watch_new(table_info(t), series, &w), STATUS_OK);
    if (look_before) {
        take_chunks(w, chunks, n - 1);
    }
    for (size_t i = 0; i + 1 < n && !look_before; i++) {
        assert_int_equal(table_watch_take(w, &chunks[i], NULL), STATUS_OK);
    }
    assert_int_equal(table_watch_codes(w, &codes), STATUS_OK);
    said[0] = '\0';
    for (size_t i = 0; i < codes.len; i += strlen((char *)codes.data + i) + 1) {
        strncat(said, (char *)codes.data + i, 2000 - strlen(said));
    }
    for (size_t k = 0; table_watch_count(w, k, &c) && strlen(said) < 1800; k++) {
        snprintf(said + strlen(said), 200, "; %s, %zu: %g to %g", c.name.text, c.series, c.first,
                 c.last);
    }
    if (table_watch_rises(w, &c)) {
        strcat(said, "; rises");
    }
    bytes_free(&codes);
    table_watch_free(w);
    for (size_t i = 0; i < n; i++) {
        free(chunks[i].raw);
        free(chunks[i].values);
        table_chunk_clear(&chunks[i]);
    }
    free(chunks);
    table_free(t);
}

/* Lines with names, some longer than a chunk; columns that are no series before and among those
 * that are; codes, and lines and columns that count. */
TEST(looks_before_the_turn_say_the_same_of_any_cut)
{
    enum { LINES = 40, COLUMNS = 24 };
    static const enum table_watch_series kinds[] = {TABLE_WATCH_ACROSS, TABLE_WATCH_LINES};
    static const size_t cuts[] = {1 << 16, 2000, 900, 300, 130};
    struct bytes text = {0};
    for (size_t i = 0; i < LINES; i++) {
        assert_int_equal(bytes_printf(&text, "line%zu", i), STATUS_OK);
        for (size_t c = 0; c < COLUMNS; c++) {
            const bool is_code = (i % 13 == 4 && c % 9 == 3) || (c == 11 && i % 7 == 2);
            const double v = c == 2 || i % 11 == 6 ? (double)(10 + i) + 5 * ((double)c - 2)
                             : is_code             ? -9999
                                                   : noise(i * 31 + c * 7);
            assert_int_equal(bytes_printf(&text, ",%.4f%s", v, c == 8 ? ",a word" : ""), STATUS_OK);
        }
        assert_int_equal(bytes_printf(&text, "\n"), STATUS_OK);
    }
    assert_int_equal(bytes_append(&text, "", 1), STATUS_OK);
    for (size_t k = 0; k < 2; k++) {
        char whole[2048], said[2048];
        watch_csv((char *)text.data, cuts[0], kinds[k], false, whole);
        assert_non_null(strstr(whole, k == 0 ? "column 14 6 times" : "row 'line4' 3 times"));
        assert_non_null(strstr(whole, k == 0 ? "; column 4, 2: 10 to 49" : "; row 'line6', 6: "));
        for (size_t c = 0; c < 2 * sizeof cuts / sizeof *cuts; c++) {
            watch_csv((char *)text.data, cuts[c / 2], kinds[k], c % 2 == 0, said);
            assert_string_equal(said, whole);
        }
    }
    bytes_free(&text);
}

TEST(tables_that_are_too_wide_are_left_alone)
{
    const struct table_info info = {
        .format = "csv", .dtype = DTYPE_F64, .cells_per_line = TABLE_WATCH_SERIES + 1};
    double *const v = calloc(TABLE_WATCH_SERIES + 1, sizeof *v);
    const struct said said = watch(&info, false, v, TABLE_WATCH_SERIES + 1, 1000);
    assert_int_equal(said.n_codes + said.n_counts, 0);
    free(v);
}

/* --- heights ---------------------------------------------------------------------------------- */

/* What is said of heights, in any cut; "": nothing. */
static const char *look_at_heights(const double *z, size_t n, const struct grid *grid,
                                   bool has_missing)
{
    static char said[1024];
    static const size_t cuts[] = {1, 7, 5000};
    static float narrow[5000];
    for (size_t i = 0; i < n; i++) {
        narrow[i] = (float)z[i];
    }
    for (size_t c = 0; c < 6; c++) {
        const bool is_narrow = c % 2;
        const struct table_info info = {.format = grid != NULL ? "tif" : "npy",
                                        .dtype = is_narrow ? DTYPE_F32 : DTYPE_F64,
                                        .grid = grid,
                                        .cells_per_line = n,
                                        .used = {[TABLE_MISSING_VALUE] = has_missing}};
        struct table_watch *w;
        struct bytes text = {0}, codes = {0};
        const size_t cut = cuts[c / 2];
        assert_int_equal(table_watch_new(&info, TABLE_WATCH_HEIGHTS, &w), STATUS_OK);
        take_numbers(w, &info, is_narrow ? (const void *)narrow : z, n, cut);
        assert_int_equal(table_watch_heights(w, &text), STATUS_OK);
        assert_int_equal(table_watch_codes(w, &codes), STATUS_OK);
        assert_int_equal(codes.len, 0); /* it is one who tells of them */
        assert_int_equal(table_watch_n_counts(w), 0);
        const char *const now = text.len > 0 ? (const char *)text.data : "";
        if (c > 0 && strcmp(now, said) != 0) {
            fail_msg("cut %zu: '%s', not '%s'", cut, now, said);
        }
        snprintf(said, sizeof said, "%s", now);
        bytes_free(&text);
        table_watch_free(w);
    }
    return said;
}

enum { HEIGHTS = 2000 };

/* A hill in floats, or in whole metres. */
static void make_heights(double *z, double low, double high, bool whole)
{
    for (size_t i = 0; i < HEIGHTS; i++) {
        const double t = (1 - cos((double)i / 50)) / 2, v = low + (high - low) * t * t;
        z[i] = whole ? round(v) : (double)(float)v;
    }
}

TEST(codes_in_heights_are_told_with_their_cells)
{
    static const double codes[] = {-32768, -32767, -99999, -999,     -9999,        32767,
                                   65535,  99999,  9999,   -99999.9, -2147483648.0};
    static const struct {
        double low, high;
    } terrains[] = {{0, 1200}, {300, 2900}, {-3, 40}, {1000, 4800}};
    double z[HEIGHTS];
    const struct grid named = {.has_nodata = true, .nodata = -77777}, unnamed = {.nodata = 0};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        for (size_t k = 0; k < 4 * 2 * 3; k++) {
            const size_t n_cells = 1 + 6 * (k % 3), terrain = k / 6;
            make_heights(z, terrains[terrain].low, terrains[terrain].high, k / 3 % 2);
            for (size_t c = 0; c < n_cells; c++) {
                z[17 + 29 * c] = (double)(float)codes[i];
            }
            z[5] = named.nodata;
            const char *const said = look_at_heights(z, HEIGHTS, &named, false);
            char cells[40], cure[64];
            snprintf(cells, sizeof cells, "(%zu cell%s) looks like a code", n_cells,
                     n_cells == 1 ? "" : "s");
            snprintf(cure, sizeof cure, "if so, set missing_value=%.17g", (double)(float)codes[i]);
            if (strstr(said, cells) == NULL || strstr(said, cure) == NULL) {
                fail_msg("%g, terrain %zu, %zu cells: '%s'", codes[i], terrain, n_cells, said);
            }
        }
    }
    make_heights(z, 300, 2900, false);
    z[3] = z[9] = -32768;
    z[4] = -32767;
    z[1999] = -9999;
    z[1500] = -77777;
    assert_string_equal(look_at_heights(z, HEIGHTS, &named, false),
                        "-9999 (1 cell), -32767 (1 cell) and -32768 (2 cells) look like codes for "
                        "missing altitudes, far from all others, and taken as altitudes; if so, "
                        "set missing_value=-9999,-32767,-32768");
    assert_non_null(strstr(look_at_heights(z, HEIGHTS, &named, true),
                           "if so, append \", -9999, -32767, -32768\" to missing_value"));
    z[1501] = -77777; /* no number that reads like a code, but there twice */
    assert_non_null(strstr(look_at_heights(z, HEIGHTS, &unnamed, false), "-77777 (2 cells)"));
    assert_non_null(strstr(look_at_heights(z, HEIGHTS, NULL, false), "-32768 (2 cells)"));
    for (size_t i = 0; i < HEIGHTS; i++) {
        z[i] = i == 7 ? -9999 : 9;
    }
    assert_non_null(strstr(look_at_heights(z, HEIGHTS, &unnamed, false), "-9999 (1 cell)"));
}

/* What a warning says of missing_value is done until none says anything: it is accepted each time,
 * and ends. */
static void obey(const char *text, bool for_grid, const char *end)
{
    char missing[128] = "";
    for (size_t k = 0; k < 4; k++) {
        const struct table_options options = {.for_grid = for_grid,
                                              .missing_value = k > 0 ? missing : NULL};
        struct bytes said = {0};
        struct table_watch *w;
        struct reading r = read_text(text, &options);
        if (r.status != STATUS_OK) {
            fail_msg("missing_value=%s: %s", missing, status_message());
        }
        assert_int_equal(
            table_watch_new(r.info, for_grid ? TABLE_WATCH_HEIGHTS : TABLE_WATCH_ACROSS, &w),
            STATUS_OK);
        struct table_chunk chunk = {.values = r.numbers.data, .n_cells = r.n_numbers};
        assert_int_equal(table_watch_take(w, &chunk, NULL), STATUS_OK);
        assert_int_equal(for_grid ? table_watch_heights(w, &said) : table_watch_codes(w, &said),
                         STATUS_OK);
        const char *const set =
            said.len > 0 ? strstr((char *)said.data, "set missing_value=") : NULL;
        const char *const add = said.len > 0 ? strstr((char *)said.data, "append \"") : NULL;
        if (set != NULL) {
            snprintf(missing, sizeof missing, "%s", strchr(set, '=') + 1);
        } else if (add != NULL) {
            sscanf(add + 8, "%60[^\"]", missing + strlen(missing));
        }
        const bool is_done = said.len == 0;
        bytes_free(&said);
        table_watch_free(w);
        reading_free(&r);
        if (is_done) {
            assert_string_equal(missing, end);
            return;
        }
    }
    fail_msg("no end: missing_value=%s", missing);
}

TEST(what_is_said_of_codes_can_be_obeyed_to_its_end)
{
    struct bytes table = {0}, heights = {0};
    assert_int_equal(bytes_printf(&table, "t,h\n"), STATUS_OK);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(bytes_printf(&table, "%.3f,%.3f\n", i % 9 == 0 ? -32768 : noise(i),
                                      i % 9 == 1 ? 9999 : noise(i + 7)),
                         STATUS_OK);
        assert_int_equal(bytes_printf(&heights, "%.3f %.3f\n", i < 2 ? -32768 : 100 + noise(i),
                                      i < 2   ? 99999
                                      : i < 4 ? 9999
                                              : 100 + noise(i + 7)),
                         STATUS_OK);
    }
    assert_int_equal(bytes_append(&table, "", 1), STATUS_OK);
    assert_int_equal(bytes_append(&heights, "", 1), STATUS_OK);
    obey((const char *)table.data, false, "-32768, 9999");
    obey((const char *)heights.data, true, "9999,-32768,99999");
    bytes_free(&table);
    bytes_free(&heights);
}

TEST(heights_are_no_codes)
{
    double z[HEIGHTS];
    const struct grid named = {.has_nodata = true, .nodata = -9999},
                      nan = {.has_nodata = true, .nodata = NAN};
    static const struct {
        double low, high;
    } terrains[] = {{0, 1200},      {300, 2999}, {999, 1999}, {-430, -90},
                    {-10935, 8849}, {-3, 2},     {-999, 20}};
    for (size_t k = 0; k < sizeof terrains / sizeof *terrains; k++) {
        for (int whole = 0; whole < 2; whole++) {
            make_heights(z, terrains[k].low, terrains[k].high, whole);
            assert_string_equal(look_at_heights(z, HEIGHTS, &named, false), "");
            for (size_t i = 0; i < HEIGHTS; i += 3) {
                z[i] = NAN;
                z[i + 1] = i % 2 ? z[i + 1] : -9999;
            }
            assert_string_equal(look_at_heights(z, HEIGHTS, &named, false), "");
        }
    }
    for (size_t i = 0; i < HEIGHTS; i++) {
        z[i] = NAN;
    }
    assert_string_equal(look_at_heights(z, HEIGHTS, &nan, false), "");
    z[0] = -9999; /* the only height there is */
    assert_string_equal(look_at_heights(z, HEIGHTS, &nan, false), "");
    for (size_t i = 0; i < HEIGHTS; i++) { /* a plain of nines, and the sea */
        z[i] = i % 2 ? 999 : 0;
    }
    assert_string_equal(look_at_heights(z, HEIGHTS, &named, false), "");
}

int main(void)
{
    return unit_run(NULL, NULL);
}
