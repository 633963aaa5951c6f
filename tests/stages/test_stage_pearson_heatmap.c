/*
 * The picture of the stage `pearson`: its size, texts, scale, the order of its series and their
 * tree. Runs on the backend that $LEAT_TEST_BACKEND names.
 * ctest: small=asan optimize wrap=figure_text,figure_text_up,figure_text_turned link=PNG::PNG
 */
#include "tests/support/alike.h"
#include "tests/support/drawn_texts.h"
#include "tests/support/png_support.h"

TEST(the_picture_is_a_png_that_is_large_enough_to_see)
{
    static const size_t counts[] = {1, 2, 33, 64, 257, 800};
    for (size_t k = 0; k < under_test_size(6, 4); k++) {
        struct sheet sheet = sheet_new(counts[k], 3, true, DTYPE_F32);
        struct outcome o = run_well(&sheet);
        struct bytes png = read_text(&o, "heatmap.png");
        assert_true(png.len > 33 && memcmp(png.data, "\x89PNG\r\n\x1A\n", 8) == 0);
        const size_t width = ((size_t)png.data[18] << 8) + png.data[19],
                     height = ((size_t)png.data[22] << 8) + png.data[23];
        assert_in_range(width, 1200, 2400);
        assert_in_range(height, 1000, 2400);
        bytes_free(&png);
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

#define MINUS  "\xe2\x88\x92"
#define LEGEND "r|1|0.5|0|" MINUS "0.5|" MINUS "1|pairs:|"
#define R_OF   "sheet|: Pearson\xe2\x80\x99s r of "
#define NAMES  "row 1|row 1|row 2|row 2|row 3|row 3|"
#define TICKS  "0|0|100|100|200|200|300|300|400|400|500|500|600|600|"
#define LINKED "ordered by average linkage on 1 " MINUS " |r|"

/* The texts of a sheet's picture, in drawn_all and drawn_texts. */
static struct outcome run_drawn(const struct sheet *sheet)
{
    drawn_begin();
    struct outcome o = run_well(sheet);
    free(read_text(&o, "heatmap.png").data);
    drawn_end();
    return o;
}

static void number_text(double r, char out[16])
{
    snprintf(out, 16, "%s%.2f", r < 0 ? MINUS : "", fabs(r));
}

/* The texts of the cells of three series: of pairs 0, 1; 0, 2; 1, 2. */
static void put_values(const struct outcome *o, char out[128])
{
    double *const r = read_f64(o, "r", 3);
    out[0] = '\0';
    for (size_t k = 0; k < 3; k++) {
        char text[16];
        number_text(r[k], text);
        strcat(strcat(out, text), "|");
    }
    free(r);
}

TEST(the_texts_of_the_picture_are_these)
{
    enum { MANY = 700, SIDE = MANY * 2, LEFT = 90 };
    static const struct {
        size_t series;
        const char *params[3], *texts;
    } cases[] = {
        {3, {NULL}, R_OF "3 series, 8 samples||" NAMES},
        {3, {"diff=step"}, R_OF "3 series, 7 increments||" NAMES},
        {3, {"diff=log"}, R_OF "3 series, 7 log increments||" NAMES},
        {3, {"method=spearman"}, "sheet|: Spearman\xe2\x80\x99s r of 3 series, 8 samples||" NAMES},
        {MANY,
         {NULL},
         R_OF "700 series, 8 samples|series by their number in series.csv.gz|" TICKS
              "series|series|"},
        {MANY,
         {"order=cluster"},
         R_OF "700 series, 8 samples|" LINKED "; series by their place in series.csv.gz|" TICKS
              "place|place|"},
        {MANY,
         {"order=groups", "groups=0.25"},
         R_OF "700 series, 8 samples|ordered by groups in which r is 0.25 or more; series by their "
              "place in series.csv.gz|" TICKS "place|place|"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sheet sheet = sheet_new(cases[i].series, 8, true, DTYPE_F64);
        char values[128] = "", want[1024];
        sheet.params[1] = cases[i].params[0];
        sheet.params[2] = cases[i].params[1];
        struct outcome o = run_drawn(&sheet);
        if (cases[i].series == 3) {
            put_values(&o, values);
        }
        snprintf(want, sizeof want, "%s%s" LEGEND, cases[i].texts, values);
        drawn_all[strlen(want)] = '\0'; /* without the range */
        assert_string_equal(drawn_all, want);
        for (size_t k = 3; k < 3 + 14 && cases[i].series == MANY; k++) {
            const double middle = (strtod(drawn_texts[k].text, NULL) + 0.5) / MANY * SIDE;
            assert_true(k % 2 == 1 || fabs(drawn_texts[k].x - LEFT - middle) <= 1);
            assert_true(k % 2 == 0 || fabs(drawn_texts[k].y - drawn_texts[3].y -
                                           (middle - 0.5 / MANY * SIDE)) <= 1);
        }
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

/* Beyond what has room, names by steps of 1, 2, 5, 10 .. */
TEST(as_many_series_are_named_as_there_is_room)
{
    static const struct {
        size_t n, every;
        const char *note;
    } cases[] = {{63, 1, ""},
                 {100, 2, "every 2nd series is named"},
                 {200, 5, "every 5th series is named"},
                 {600, 10, "every 10th series is named"}};
    for (size_t i = 0; i < 4; i++) {
        struct sheet sheet = sheet_new(cases[i].n, 8, true, DTYPE_F64);
        struct outcome o = run_drawn(&sheet);
        size_t named = 0;
        assert_string_equal(drawn_texts[2].text, cases[i].note);
        for (size_t k = 3; strncmp(drawn_texts[k].text, "row ", 4) == 0; k++) {
            const double row = strtod(drawn_texts[k].text + 4, NULL) - 1;
            assert_true(row == (double)(named / 2 * cases[i].every));
            named++;
            assert_true(named < 4 || k % 2 == 0 || drawn_texts[k].y >= drawn_texts[k - 2].y + 17);
        }
        assert_int_equal(named, 2 * ((cases[i].n + cases[i].every - 1) / cases[i].every));
        outcome_free(&o);
        sheet_free(&sheet);
    }
}

static const char *order_of(const struct outcome *o)
{
    return json_string_value(json_object_get(o->result.parameters, "order"));
}

/* How many tables of a kind are ordered otherwise than the file. `in_file`: as groups stand in it.
 */
static size_t ordered(const struct alike *a, const char *param, bool in_file)
{
    struct sheet sheet = sheet_new(a->n_series, a->n_samples, true, DTYPE_F64);
    const size_t bytes = a->n_samples * sizeof *sheet.cells;
    uint64_t seed = 23;
    size_t n = 0;
    sheet.params[1] = param;
    for (size_t i = 0; i < ALIKE_TABLES; i++) {
        fill_alike(&sheet, a, &seed);
        if (in_file) {
            double *const mixed = malloc(a->n_series * bytes);
            memcpy(mixed, sheet.cells, a->n_series * bytes);
            const size_t size = a->n_series / a->n_groups;
            for (size_t s = 0; s < a->n_series; s++) {
                memcpy(sheet.cells + s * a->n_samples,
                       mixed + (s % size * a->n_groups + s / size) * a->n_samples, bytes);
            }
            free(mixed);
        }
        struct outcome o = run_drawn(&sheet);
        const bool is_ordered = strcmp(order_of(&o), "cluster") == 0;
        const char *const told = json_string_value(json_object_get(o.result.summary, "order"));
        assert_true(is_ordered ? strcmp(told, "cluster") == 0 : told == NULL);
        assert_true((strstr(drawn_all, "|" LINKED "; order=file keeps") != NULL) == is_ordered);
        n += is_ordered;
        outcome_free(&o);
    }
    sheet_free(&sheet);
    return n;
}

/* By itself the picture's order is another one where the file's hides groups, and nowhere else. */
TEST(series_are_ordered_where_the_file_hides_groups)
{
    static const struct alike groups = {"in groups", 15, 100, 3, 0.8, 0, 0, 0, 0, 0},
                              high = {"all positive", 20, 200, 2, 0.9, 0, 0, 0, 0, 0},
                              noise = {"independent", 12, 60, 1, 0, 0, 0, 0, 0, 0},
                              few = {"few samples", 30, 6, 1, 0, 0, 0, 0, 0, 0},
                              alike = {"all go together", 20, 100, 1, 0.8, 0, 0, 0, 0, 0};
    assert_int_equal(ordered(&groups, NULL, false), ALIKE_TABLES);
    assert_int_equal(ordered(&high, NULL, false), ALIKE_TABLES);
    assert_int_equal(ordered(&groups, NULL, true), 0);
    assert_int_equal(ordered(&groups, "order=file", false), 0);
    assert_in_range(ordered(&noise, NULL, false), 0, 1);
    assert_in_range(ordered(&few, NULL, false), 0, 1);
    assert_int_equal(ordered(&alike, NULL, false), 0);
}

TEST(without_a_picture_and_with_many_series_the_order_is_the_files)
{
    static const struct alike groups = {"in groups", 15, 100, 3, 0.8, 0, 0, 0, 0, 0};
    uint64_t seed = 23;
    struct sheet sheet = sheet_new(15, 100, true, DTYPE_F64);
    fill_alike(&sheet, &groups, &seed);
    sheet.params[1] = "figure=none";
    struct outcome o = run_well(&sheet);
    assert_string_equal(order_of(&o), "file");
    outcome_free(&o);
    sheet_free(&sheet);
    sheet = sheet_new(1001, 4, true, DTYPE_F64);
    o = run_drawn(&sheet);
    assert_string_equal(order_of(&o), "file");
    assert_non_null(strstr(drawn_all, "order=cluster may show blocks"));
    outcome_free(&o);
    sheet_free(&sheet);
}

/* Two pairs of series that go together, or two alone; all r positive, or not. */
static struct outcome draw_pairs(size_t n, double sign, const char *param, struct dots *d)
{
    static const double of[4][8] = {{1, 2, 3, 4, 5, 6, 7, 8},
                                    {1, 3, 2, 5, 4, 7, 6, 8},
                                    {4, 1, 3, 5, 4, 6, 5, 8},
                                    {4, 1, 3, 6, 4, 7, 5, 9}};
    struct sheet sheet = sheet_new(n, 8, true, DTYPE_F64);
    for (size_t k = 0; k < n * 8; k++) {
        sheet.cells[k] = of[k / 8][k % 8] * (k < 8 ? sign : 1);
    }
    sheet.params[1] = param;
    drawn_begin();
    struct outcome o = run_well(&sheet);
    struct bytes png = read_text(&o, "heatmap.png");
    drawn_end();
    *d = dots_read(png.data, png.len);
    bytes_free(&png);
    sheet_free(&sheet);
    return o;
}

TEST(the_scale_ends_at_0_where_no_r_is_negative)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        struct dots d;
        char low[16], high[16], want[128];
        struct outcome o = draw_pairs(2, sign, NULL, &d);
        double *const r = read_f64(&o, "r", 1);
        number_text(r[0], low);
        number_text(r[0], high);
        assert_true(r[0] * sign > 0.9);
        snprintf(want, sizeof want, "|r|1|0.5|0|%spairs:|%s to %s",
                 sign < 0 ? MINUS "0.5|" MINUS "1|" : "", low, high);
        assert_string_equal(drawn_all + strlen(drawn_all) - strlen(want), want);
        free(r);
        free(d.rgb);
        outcome_free(&o);
    }
}

/* The tree stands beside the map: its root's line at the right, halfway between the pairs. */
TEST(the_tree_stands_beside_a_map_that_is_ordered_by_it)
{
    enum { LEFT = 90, SIDE = 1080, TREE = 90, AT = LEFT + SIDE + 2 + TREE };
    static const char *const params[] = {"order=file", "order=cluster"};
    for (size_t k = 0; k < 2; k++) {
        struct dots d;
        struct outcome o = draw_pairs(4, 1, params[k], &d);
        size_t ink = 0, top = d.height, bottom = 0;
        for (size_t y = 60; y < 60 + SIDE; y++) {
            if (dots_at(&d, AT, y) == COLOURS_INK) {
                ink++;
                top = y < top ? y : top;
                bottom = y;
            }
        }
        if (k == 1) {
            assert_int_equal(ink, bottom - top + 1); /* one line, from pair to pair */
            assert_in_range(ink, SIDE / 2 - 2, SIDE / 2 + 2);
            assert_non_null(strstr(drawn_all, "|1 " MINUS " |r||"));
        } else {
            assert_true(ink < SIDE / 4); /* the legend, or nothing */
        }
        free(d.rgb);
        outcome_free(&o);
    }
}

TEST(a_single_series_has_no_tree)
{
    struct sheet sheet = sheet_new(1, 9, true, DTYPE_F64);
    sheet.params[1] = "order=cluster";
    struct outcome o = run_drawn(&sheet);
    assert_non_null(strstr(drawn_all, "of 1 series, 9 samples"));
    assert_null(strstr(drawn_all, "|1 " MINUS " |r||"));
    outcome_free(&o);
    sheet_free(&sheet);
}

/* A picture of cells holds 256 colours: values in the cells of twelve series leave the bar its own.
 */
TEST(values_in_cells_leave_the_colours_of_the_bar)
{
    struct sheet sheet = sheet_new(12, 9, true, DTYPE_F64);
    struct outcome o = run_drawn(&sheet);
    struct bytes png = read_text(&o, "heatmap.png");
    struct dots d = dots_read(png.data, png.len);
    size_t n_values = 0;
    for (size_t k = 0; k < drawn_n; k++) {
        n_values += strlen(drawn_texts[k].text) >= 4 && strchr(drawn_texts[k].text, '.') != NULL;
    }
    assert_in_range(n_values, 66, 72); /* and the ends of legend and tree */
    const struct drawn_text *const r = &drawn_texts[drawn_n - 8]; /* r, 1 .. -1, pairs, range */
    assert_string_equal(r->text, "r");
    for (size_t k = 0; k < 448; k++) {
        const double step = (double)(k / 16 * 16) + 7.5;
        const size_t y = (size_t)(r->y + 5.5) + 14 + k, x = (size_t)r->x + 8;
        assert_int_equal(dots_at(&d, x, y), colours_diverging(0, 1 - 2 * step / 447));
    }
    free(d.rgb);
    bytes_free(&png);
    outcome_free(&o);
    sheet_free(&sheet);
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
