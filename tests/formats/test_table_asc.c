/*
 * ESRI ASCII grids: every layout of header and values that is allowed gives the same numbers, and
 * what is not allowed is refused with its place.
 */
#include "tests/support/no_module.h"
#include "tests/support/table_support.h"

#include <fcntl.h>

#define HEAD "ncols 3\nnrows 2\nxllcorner 10\nyllcorner -20\ncellsize 5\n"

TEST(keys_in_any_case_and_order_give_the_grid)
{
    struct reading r = read_text("NODATA_value -9999\r\n  CellSize\t2.5 \r\nyllCORNER 4e2\n\n"
                                 "NROWS 2\nXLLcorner -1,5\nnCols 3\r\n1 2 3\r\n4 5 -9999\r\n",
                                 NULL);
    ASSERT_NUMBERS(&r, 1, 2, 3, 4, 5, -9999);
    assert_string_equal(r.info->format, "asc");
    assert_int_equal(r.info->n_lines, 2);
    assert_int_equal(r.info->cells_per_line, 3);
    const struct grid *const g = r.info->grid;
    assert_non_null(g);
    assert_int_equal(g->rows, 2);
    assert_int_equal(g->columns, 3);
    assert_true(g->has_origin && !g->is_centred && !g->is_rotated);
    assert_true(g->x == -1.5 && g->y == 400 && g->cell_x == 2.5 && g->cell_y == 2.5);
    assert_true(g->has_nodata && g->nodata == -9999);
    assert_true(grid_extent_of(g).north == 405 && grid_extent_of(g).east == 6);
    reading_free(&r);
}

TEST(a_grid_without_nodata_says_so)
{
    struct reading r = read_text(HEAD "1 2 3 4 5 6", NULL);
    ASSERT_NUMBERS(&r, 1, 2, 3, 4, 5, 6);
    assert_false(r.info->grid->has_nodata);
    assert_null(r.info->grid->prj);
    reading_free(&r);
}

TEST(a_centred_origin_lies_half_a_cell_further_in)
{
    struct reading r =
        read_text("ncols 2\nnrows 1\nxllcenter 10\nyllcenter 20\ncellsize 4\n7 8", NULL);
    ASSERT_NUMBERS(&r, 7, 8);
    const struct grid *const g = r.info->grid;
    assert_true(g->is_centred && g->x == 10 && g->y == 20);
    assert_true(grid_extent_of(g).west == 8 && grid_extent_of(g).south == 18);
    assert_true(grid_extent_of(g).east == 16 && grid_extent_of(g).north == 22);
    reading_free(&r);
}

TEST(cells_may_differ_in_width_and_height)
{
    struct reading r = read_text(
        "ncols 1\nnrows 1\nxllcorner 0\nyllcorner 0\ndx 2\ndy 3\nnodata_value nan\n5\n", NULL);
    ASSERT_NUMBERS(&r, 5);
    assert_true(r.info->grid->cell_x == 2 && r.info->grid->cell_y == 3);
    assert_true(r.info->grid->has_nodata && isnan(r.info->grid->nodata));
    reading_free(&r);
}

TEST(values_may_be_split_over_lines_in_any_way)
{
    static const char *const layouts[] = {
        HEAD "1 2 3\n4 5 6\n",      HEAD "1\n2\n3\n4\n5\n6",      HEAD "1 2 3 4 5 6\n\n\n",
        HEAD "  1 2\n3 4\n5 6  ",   HEAD "\n\n1 2 3 4\n5\t6\r\n", HEAD "1 2 3 \n 4 5 6 \n ",
        HEAD "1 2\r\n3\r\n4 5 6\v", HEAD "1 2 3 4\n5 6\n",        HEAD "1 2\n3 4 5\n6\n",
        HEAD "+1 2.0 3.\n4 5e0 6\n"};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        for (size_t cap = 8; cap < 20; cap++) {
            struct reading r = read_bytes(layouts[i], strlen(layouts[i]), NULL, cap);
            ASSERT_NUMBERS(&r, 1, 2, 3, 4, 5, 6);
            reading_free(&r);
        }
    }
}

TEST(decimal_commas_are_understood)
{
    struct reading r = read_text("ncols 3\nnrows 2\nxllcorner 0,5\nyllcorner 0\ncellsize 1,25\n"
                                 "1,5 2 -3,25e1\n4 5,5 6\n",
                                 NULL);
    ASSERT_NUMBERS(&r, 1.5, 2, -32.5, 4, 5.5, 6);
    assert_true(r.info->grid->x == 0.5 && r.info->grid->cell_x == 1.25);
    reading_free(&r);
    r = read_text(HEAD "1.5 2,5 3\n4 5 6\n", NULL); /* both in one file */
    ASSERT_NUMBERS(&r, 1.5, 2.5, 3, 4, 5, 6);
    reading_free(&r);
}

TEST(a_sign_that_may_part_thousands_is_told)
{
    static const char *const quiet[] = {HEAD "1.5 2,5 3\n4 5,25 6\n", HEAD "1,024 2 3\n4 5 6\n",
                                        HEAD "1.5 0,024 3\n4 5,0001 6\n"};
    for (size_t cap = 12; cap < 100; cap += 29) {
        struct reading r = {0};
        static const char text[] = HEAD "1.5 2,5 3\n4 -5,024 6,000\n";
        r = read_bytes(text, sizeof text - 1, NULL, cap);
        ASSERT_NUMBERS(&r, 1.5, 2.5, 3, 4, -5.024, 6);
        assert_int_equal(r.info->n_warnings, 1);
        assert_non_null(strstr(r.info->warnings[0], "line 7, column 2: a comma or point"));
        reading_free(&r);
    }
    for (size_t i = 0; i < sizeof quiet / sizeof quiet[0]; i++) {
        struct reading r = read_text(quiet[i], NULL);
        assert_int_equal(r.status, STATUS_OK);
        assert_int_equal(r.info->n_warnings, 0);
        reading_free(&r);
    }
}

TEST(nan_is_a_cell_without_a_number)
{
    struct reading r = read_text(HEAD "nan 2 NaN\n-nan 5 6\n", NULL);
    ASSERT_NUMBERS(&r, NAN, 2, NAN, NAN, 5, 6);
    assert_int_equal(r.n_missing, 3);
    reading_free(&r);
    const struct table_options options = {.missing_value = "5"};
    r = read_text(HEAD "nan 2 3\n4 5 6\n", &options);
    ASSERT_NUMBERS(&r, NAN, 2, 3, 4, NAN, 6);
    assert_int_equal(r.n_missing, 2);
    reading_free(&r);
}

/* As C libraries of several makers write it, and as people do. */
TEST(words_for_no_number_are_nodata_in_cells_and_header)
{
    static const char *const words[] = {"null",      "NULL",     "NA",       "n/a",     "none",
                                        "1.#QNAN",   "-1.#QNAN", "1.#SNAN",  "-1.#IND", "1.#QNAN0",
                                        "-1.#IND00", "nan(ind)", "-NaN(IND)"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, HEAD "nodata_value -9999\n%s 2 3\n4 %s 6\n", words[i],
                 words[i]);
        struct reading r = read_text(text, NULL);
        ASSERT_NUMBERS(&r, NAN, 2, 3, 4, NAN, 6);
        assert_int_equal(r.n_missing, 2);
        reading_free(&r);
        snprintf(text, sizeof text, HEAD "nodata_value %s\n%s 2 3\n4 5 6\n", words[i], words[i]);
        r = read_text(text, NULL);
        ASSERT_NUMBERS(&r, NAN, 2, 3, 4, 5, 6);
        assert_true(r.info->grid->has_nodata && isnan(r.info->grid->nodata));
        assert_int_equal(r.info->n_warnings, 0);
        reading_free(&r);
    }
    static const char *const others[] = {"1.#QNA", "1.#INF", "1.#", "nan(", "1.#IND7", "nul"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, HEAD "1 2 3\n4 %s 6\n", others[i]);
        struct reading r = read_text(text, NULL);
        assert_failed(&r, STATUS_BAD_INPUT, "line 7, column 2", "is not a number");
        reading_free(&r);
    }
}

TEST(the_missing_value_is_nodata)
{
    const struct table_options options = {.missing_value = "-1"};
    struct reading r = read_text(HEAD "nodata_value -9999\n-9999 -1 3\n-1.0 5 -1.5\n", &options);
    ASSERT_NUMBERS(&r, -9999, -9999, 3, -9999, 5, -1.5);
    assert_true(r.info->grid->has_nodata && r.info->grid->nodata == -9999);
    reading_free(&r);
    r = read_text(HEAD "-9999 -1 3\n-1 5 6\n", &options); /* the file has no number for it */
    ASSERT_NUMBERS(&r, -9999, NAN, 3, NAN, 5, 6);
    assert_true(r.info->grid->has_nodata && isnan(r.info->grid->nodata));
    reading_free(&r);
    const struct table_options nan = {.missing_value = "nan"};
    r = read_text(HEAD "nodata_value -9999\nnan 2 3\n4 5 6\n", &nan);
    ASSERT_NUMBERS(&r, -9999, 2, 3, 4, 5, 6);
    reading_free(&r);
    const struct table_options lowest = {.missing_value = "-3.4e38"};
    r = read_text(HEAD "nodata_value -9999\n-3.402823e38 2 3\n4 5 3.402823e38\n", &lowest);
    ASSERT_NUMBERS(&r, -9999, 2, 3, 4, 5, 3.402823e38);
    reading_free(&r);
}

TEST(a_byte_order_mark_and_a_prj_are_taken)
{
    const struct table_options options = {.prj = " \nPROJCS[\"x\"]\r\n"};
    struct reading r = read_text("\xef\xbb\xbf" HEAD "1 2 3 4 5 6\n", &options);
    ASSERT_NUMBERS(&r, 1, 2, 3, 4, 5, 6);
    assert_string_equal(r.info->grid->prj, "PROJCS[\"x\"]");
    reading_free(&r);
}

TEST(gzip_is_unpacked_on_the_way)
{
    static const char text[] = HEAD "1 2 3\n4 5 6\n";
    struct bytes packed = gzipped(text, sizeof text - 1);
    struct reading r = read_bytes(packed.data, packed.len, NULL, 64);
    ASSERT_NUMBERS(&r, 1, 2, 3, 4, 5, 6);
    reading_free(&r);
    r = read_bytes(packed.data, packed.len - 9, NULL, 64);
    assert_failed(&r, STATUS_BAD_INPUT, "byte", NULL);
    reading_free(&r);
    bytes_free(&packed);
}

/* A grid whose cell k is k / 8, `per_line` values a line. */
static struct bytes make_text(size_t rows, size_t columns, size_t per_line)
{
    struct bytes b = {0};
    assert_int_equal(bytes_printf(&b,
                                  "nrows %zu\nncols %zu\nxllcorner 0\nyllcorner 0\ncellsize 1\n",
                                  rows, columns),
                     STATUS_OK);
    for (size_t k = 0; k < rows * columns; k++) {
        const char *const after = (k + 1) % per_line == 0 ? "\n" : " ";
        assert_int_equal(bytes_printf(&b, "%.3f%s", (double)k / 8, after), STATUS_OK);
    }
    return b;
}

TEST(chunks_of_any_size_give_the_same_numbers)
{
    static const size_t sides[][3] = {{1, 1, 1},     {31, 33, 33},    {33, 31, 7},   {257, 3, 3},
                                      {3, 257, 100}, {100, 257, 257}, {257, 100, 1}, {50, 40, 41}};
    static const size_t caps[] = {24, 61, 257, 4096, 1 << 20};
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        struct bytes text = make_text(sides[i][0], sides[i][1], sides[i][2]);
        for (size_t c = 0; c < sizeof caps / sizeof caps[0]; c++) {
            struct reading r = read_bytes(text.data, text.len, NULL, caps[c]);
            assert_int_equal(r.status, STATUS_OK);
            assert_int_equal(r.n_numbers, sides[i][0] * sides[i][1]);
            for (size_t k = 0; k < r.n_numbers; k++) {
                double x;
                memcpy(&x, r.numbers.data + 8 * k, sizeof x);
                assert_true(x == (double)k / 8);
            }
            reading_free(&r);
        }
        bytes_free(&text);
    }
}

TEST(the_numbers_room_bounds_a_chunk)
{
    struct bytes text = {0};
    assert_int_equal(
        bytes_printf(&text, "ncols 500\nnrows 1\nxllcorner 0\nyllcorner 0\ncellsize 1\n"),
        STATUS_OK);
    for (int i = 0; i < 500; i++) {
        assert_int_equal(bytes_append(&text, "7 ", 2), STATUS_OK);
    }
    struct reading r = {0};
    r.status = table_open(memory_source(text.data, text.len), NULL, &r.table);
    assert_int_equal(r.status, STATUS_OK);
    r.info = table_info(r.table);
    read_chunks(&r, 4096, 80); /* ten numbers */
    assert_int_equal(r.status, STATUS_OK);
    assert_int_equal(r.n_numbers, 500);
    assert_true(r.n_chunks >= 50);
    reading_free(&r);
    bytes_free(&text);
}

/* What other programs write, and hands. */
TEST(headers_of_other_hands_give_the_same_grid)
{
    static const char *const heads[] = {
        "ncols: 3\nnrows: 2\nxllcorner: 10\nyllcorner: -20\ncellsize: 5\nnodata_value: 4\n",
        "ncols = 3\nnrows=2\nxllcorner =10\nyllcorner= -20\ncellsize : 5\nNODATA:4\n",
        "# made by hand\n\n#ncols 7\nncols 3\nnrows 2\nxllcorner 10\n! corner\nyllcorner "
        "-20\ncellsize 5\n// end\nnodata_value 4\n% of it\n",
        "; one\nnodata_value 4\nnrows 2\nncols 3\nxllcorner 10\nyllcorner -20\ncellsize 5\n"};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        struct bytes text = {0};
        assert_int_equal(bytes_printf(&text, "%s1 2 3\n4 5 6\n", heads[i]), STATUS_OK);
        struct reading r = read_bytes(text.data, text.len, NULL, 64);
        ASSERT_NUMBERS(&r, 1, 2, 3, 4, 5, 6);
        const struct grid *const g = r.info->grid;
        assert_true(g->rows == 2 && g->columns == 3 && g->x == 10 && g->y == -20);
        assert_true(g->cell_x == 5 && g->has_nodata && g->nodata == 4);
        reading_free(&r);
        bytes_free(&text);
    }
}

/* A table in a grid's place is numbers alone: what else there is would be lost, or be a height. */
TEST(what_is_no_grid_in_its_place_is_refused_by_its_name)
{
    static const struct {
        const char *text, *what, *more;
    } cases[] = {
        {"ncols,3\nnrows,2\nxllcorner,0\nyllcorner,0\ncellsize,1\n1,2,3\n4,5,6\n",
         "an ASCII grid with commas between its words", "tr , ' ' <in.x >in.txt"},
        {"north: 20\nsouth: 0\neast: 30\nwest: 0\nrows: 2\ncols: 3\n1 2 3\n4 * 6\n",
         "a GRASS ASCII grid", "gdal_translate in.x in.tif"},
        {"DSAA\n3 2\n0 20\n0 10\n1 6\n1 2 3\n4 5 6\n", "a Surfer grid",
         "gdal_translate in.x in.tif"},
        {"version 3\nncols 3\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2 3\n4 5 6\n",
         "line 1: unknown key 'version'", "delete the line"},
        {"ncols 3\nnrows 2\nzunits m\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2 3\n4 5 6\n",
         "line 3: unknown key 'zunits'", "delete the line"},
        {"ncols 3 nrows 2\nxllcorner 0 yllcorner 0\ncellsize 1\n1 2 3\n4 5 6\n",
         "is no grid: a grid begins with lines of ncols, nrows", NULL},
        {"Heights of 2020\n1 2 3\n4 5 6\n7 8 9\n",
         "is no grid: ", "if the lines above line 2 say nothing of it, delete them; if the last"},
        {"Heights\n\n1 2 3\n4 5 6\n7 8 9\n",
         "is no grid: ", "if the lines above line 3 say nothing of it, delete them"},
        {"a,b,c\n1,2,3\n4,5,6\n", "is no grid: ", NULL},
        {",1,2\nr1,2,3\nr2,5,6\n", "is no grid: ", NULL},
        {"1,x,3\n4,y,6\n4,y,6\n", "is no grid: ", NULL},
        {"0 0 5\n10 0 6\n20 0 7\n0 10 8\n10 10 9\n20 10 9\n", "an XYZ grid",
         "gdal_translate in.x in.tif"},
        {"7.1,50.3,5\n7.1,50.2,6\n7.1,50.1,7\n7.2,50.3,8\n7.2,50.2,9\n7.2,50.1,9\n", "an XYZ grid",
         "gdal_translate in.x in.tif"},
        {"{\"ncols\": 3, \"values\": [1, 2, 3]}\n", "is JSON", NULL},
    };
    const struct table_options options = {.for_grid = true};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reading r = read_text(cases[i].text, &options);
        if (r.status == STATUS_OK) {
            fail_msg("read: %s", cases[i].text);
        }
        assert_failed(&r, r.status, cases[i].what, cases[i].more);
        reading_free(&r);
    }
    static const char head[] = HEAD "1 2 3 4 5 6\n";
    char wide[2 * sizeof head] = "\xff\xfe";
    for (size_t i = 0; head[i] != '\0'; i++) {
        wide[2 + 2 * i] = head[i];
    }
    struct reading r = read_bytes(wide, sizeof wide, &options, 64);
    assert_failed(&r, STATUS_UNSUPPORTED, "is UTF-16 text",
                  "iconv -f UTF-16 -t UTF-8 <in.x >in.txt");
    reading_free(&r);
    r = read_text("1 2 3\n4 5 6\n", &options);
    ASSERT_NUMBERS(&r, 1, 2, 3, 4, 5, 6);
    reading_free(&r);
    r = read_text("9 9 9\n8 9 9\n8 9 7\n", &options);
    ASSERT_NUMBERS(&r, 9, 9, 9, 8, 9, 9, 8, 9, 7);
    reading_free(&r);
}

TEST(numbers_alone_are_a_grid_with_all_their_columns)
{
    static const struct {
        const char *text, *missing_value;
    } cases[] = {
        {"-9999 2 3\n-9999 5 6\n-9999 8 9\n", "-9999"},
        {"-9999,2,3\n-9999,5,6\n-9999,8,9\n", "-9999"},
        {"-9999 -9999 -9999\n-9999 5 6\n-9999 8 9\n", "-9999"},
        {"nan nan nan\nnan 5 6\nnan 8 9\n", NULL},
        {"nan 2 3\nnan 5 6\nnan 8 9\n", NULL},
        {"# dem of the site\nnan 2 3\nnan 5 6\nnan 8 9\n", NULL},
        {"\nnan 2 3\nnan 5 6\nnan 8 9\n", NULL},
        {"\n# a\n\n# b\nnan 2 3\nnan 5 6\nnan 8 9\n", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct table_options options = {.for_grid = true,
                                              .missing_value = cases[i].missing_value};
        struct reading r = read_text(cases[i].text, &options);
        const double *const v = (const double *)(const void *)r.numbers.data;
        if (r.status != STATUS_OK || r.n_numbers != 9 || !isnan(v[0]) || !isnan(v[6]) ||
            v[8] != 9) {
            fail_msg("case %zu: %s", i, r.status != STATUS_OK ? status_message() : "misread");
        }
        reading_free(&r);
    }
}

TEST(a_table_whose_columns_are_called_as_keys_is_a_table)
{
    static const char *const texts[] = {
        "dx,dy\n1,2\n3,4\n",        "ncols,nrows\n1,2\n3,4\n", "ncols nrows dx\n1 2 3\n3 4 5\n",
        "dx=5\na,b\n1,2\n3,4\n",    "PAR1,b\n1,2\n3,4\n",      "CDF,b\n1,2\n3,4\n",
        "<DATE>,<OPEN>\n1,2\n3,4\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct reading r = read_text(texts[i], NULL);
        assert_int_equal(r.status, STATUS_OK);
        assert_string_equal(r.info->format, "csv");
        reading_free(&r);
    }
}

TEST(a_wrong_number_of_values_is_refused_with_its_place)
{
    struct reading r = read_text(HEAD "10 20 30\n40 50\n", NULL);
    assert_failed(&r, STATUS_BAD_INPUT, "line 7: ends after 5 values", "2 rows x 3 columns");
    reading_free(&r);
    r = read_text(HEAD "1 2 3\n4 5 6\n\n8 9\n", NULL);
    assert_failed(&r, STATUS_BAD_INPUT, "line 9, column 1: '8' is one value more", NULL);
    reading_free(&r);
    r = read_text(HEAD "1 2 3\n4 5 6 7\n", NULL);
    assert_failed(&r, STATUS_BAD_INPUT, "line 7, column 4: '7' is one value more", NULL);
    reading_free(&r);
    for (size_t cap = 8; cap < 40; cap++) {
        static const char text[] = HEAD "1 2 3\n4 5 6 7\n";
        r = read_bytes(text, sizeof text - 1, NULL, cap);
        assert_failed(&r, STATUS_BAD_INPUT, "line 7, column 4: '7' is one value more", NULL);
        reading_free(&r);
    }
    r = read_text(HEAD, NULL);
    assert_failed(&r, STATUS_BAD_INPUT, "no values", NULL);
    reading_free(&r);
}

TEST(text_among_numbers_is_refused_with_its_place)
{
    static const struct {
        const char *text, *where, *what;
    } cases[] = {
        {HEAD "1 2 x3\n4 5 6\n", "line 6, column 3", "'x3' is not a number"},
        {HEAD "1 2 3\n\n4 5 --\n", "line 8, column 3", "'--' is not a number"},
        {HEAD "1 2 3 4 1,2.5 6\n", "line 6, column 5", "'1,2.5' is not a number"},
        {HEAD "1 2 3 4\n5 inf\n", "line 7, column 2", "'inf' is not a number: it is infinite"},
        {HEAD "inf 2 3\n4 5 6\n", "line 6, column 1", "'inf' is not a number: it is infinite"},
        {HEAD "-Infinity 2\n3 4 5 6\n", "line 6, column 1", "number: it is infinite"},
        {HEAD "1 2 3\n4 1e999 6\n", "line 7, column 2", "beyond the largest double"},
        {HEAD "1 2 3\n4 5 \x1a\n", "line 7, column 3", "'\\x1a' is not a number"},
        {HEAD "1;2;3\n4;5;6 1 2 3 4\n", "line 6, column 1", "'1;2;3' is not a number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t cap = 12; cap < 100; cap += 29) {
            struct reading r = read_bytes(cases[i].text, strlen(cases[i].text), NULL, cap);
            assert_failed(&r, STATUS_BAD_INPUT, cases[i].where, cases[i].what);
            reading_free(&r);
        }
    }
}

TEST(headers_that_make_no_sense_are_refused)
{
    static const struct {
        const char *text, *what, *more;
    } cases[] = {
        {"ncols 3\nnrows 2\nxllcorner 0\nyllcorner 0\n1 2 3 4 5 6", "no cellsize", NULL},
        {"ncols 3\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2 3 4 5 6", "no nrows", NULL},
        {"nrows 3\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2 3 4 5 6", "no ncols", NULL},
        {"ncols 3\nnrows 2\nyllcorner 0\ncellsize 1\n1 2 3 4 5 6", "no xllcorner", NULL},
        {"ncols 3\nnrows 2\nxllcenter 0\ncellsize 1\n1 2 3 4 5 6", "no yllcenter", NULL},
        {"ncols 3\nnrows 2\nxllcorner 0\nyllcorner 0\ndx 1\n1 2 3 4 5 6", "no dy", NULL},
        {HEAD "NROWS 2\n1 2 3 4 5 6", "line 6: nrows", "in line 2"},
        {HEAD "xllcenter 2\n1 2 3 4 5 6", "xllcenter stands beside xllcorner", "line 6"},
        {"ncols 3\nnrows 2\nxllcorner 10\nyllcenter 20\ncellsize 5\n1 2 3 4 5 6",
         "line 4: yllcenter stands beside xllcorner of line 3", "write yllcorner 17.5 there"},
        {"ncols 3\nnrows 2\nyllcorner 20\nxllcenter 10\ncellsize 5\n1 2 3 4 5 6",
         "line 3: yllcorner stands beside xllcenter of line 4", "write yllcenter 22.5 there"},
        {HEAD "dx 5\n1 2 3 4 5 6", "line 6: dx stands beside cellsize of line 5", NULL},
        {HEAD "dy 5\n1 2 3 4 5 6", "line 6: dy stands beside cellsize of line 5", NULL},
        {HEAD "dx 5\ndy 5\n1 2 3 4 5 6", "line 6: dx stands beside cellsize of line 5", NULL},
        {HEAD "colour 5\n1 2 3 4 5 6", "line 6: unknown key 'colour'", NULL},
        {HEAD "nodata_value little\n1 2 3 4 5 6", "line 6, column 2: nodata_value is 'little'",
         NULL},
        {HEAD "nodata_value\n1 2 3 4 5 6", "line 6: nodata_value has no value", NULL},
        {HEAD "nodata_value 1 2\n1 2 3 4 5 6", "line 6, column 3: more", NULL},
        {"ncols -3\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n1", "line 1: ncols is -3", NULL},
        {"ncols 0\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n1", "line 1: ncols is 0", NULL},
        {"ncols 2.5\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n1", "ncols is 2.5", NULL},
        {"ncols 1\nnrows 1e300\nxllcorner 0\nyllcorner 0\ncellsize 1\n1", "nrows is 1", NULL},
        {"ncols 1\nnrows 1e999\nxllcorner 0\nyllcorner 0\ncellsize 1\n1", "not a finite number",
         NULL},
        {"ncols 1\nnrows 1\nxllcorner nan\nyllcorner 0\ncellsize 1\n1", "not a finite number",
         NULL},
        {"ncols 1\nnrows 1\nxllcorner 0\nyllcorner 0\ncellsize 0\n1", "line 5: cellsize is 0",
         NULL},
        {"ncols 1\nnrows 1\nxllcorner 0\nyllcorner 0\ncellsize -1\n1", "cellsize is -1", NULL},
        {"ncols 1\nnrows 1\nxllcorner 0\nyllcorner 0\ncellsize 1e155\n1", "line 5: cellsize is",
         "not above 0 and up to 1e+09"},
        {"ncols 1\nnrows 1\nxllcorner 0\nyllcorner 0\ndx 1\ndy 1000000001\n1",
         "line 6: dy is 1000000001", "up to 1e+09"},
        {"ncols 2147483647\nnrows 2147483647\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2 3",
         "claims 2147483647 rows", "only 5 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reading r = read_text(cases[i].text, NULL);
        assert_failed(&r, STATUS_BAD_INPUT, cases[i].what, cases[i].more);
        assert_null(r.table);
        reading_free(&r);
    }
}

TEST(a_packed_header_cannot_claim_more_than_deflate_can_hold)
{
    static const char text[] = "ncols 2147483647\nnrows 2147483647\nxllcorner 0\nyllcorner 0\n"
                               "cellsize 1\n1 2 3";
    struct bytes packed = gzipped(text, sizeof text - 1);
    struct reading r = read_bytes(packed.data, packed.len, NULL, 64);
    assert_failed(&r, STATUS_BAD_INPUT, "claims 2147483647 rows", "at most");
    reading_free(&r);
    bytes_free(&packed);
}

TEST(a_value_longer_than_a_chunk_is_refused)
{
    static const char text[] = HEAD "1 2 3000000000000000000000000000000000000000\n4 5 6\n";
    struct reading r = read_bytes(text, sizeof text - 1, NULL, 16);
    assert_failed(&r, STATUS_BAD_INPUT, "line 6, column 3: a value, '300", "is longer than");
    reading_free(&r);
}

TEST(a_table_with_such_a_name_as_header_stays_a_csv)
{
    static const char *const texts[] = {"dx dy\n1 2\n3 4\n", "ncols,nrows\n1,2\n3,4\n",
                                        "cellsize\n1\n2\n", "dx\n1 2\n3 4\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct table *t;
        struct source *const s = memory_source(texts[i], strlen(texts[i]));
        const enum status st = table_open(s, NULL, &t);
        if (st == STATUS_OK) {
            assert_string_equal(table_info(t)->format, "csv");
            assert_null(table_info(t)->grid);
        } else {
            assert_null(strstr(status_message(), "ncols"));
        }
        table_free(t);
    }
}

TEST(a_key_with_several_numbers_names_a_line_of_a_csv)
{
    struct reading r = read_text("dx\t0.10\t0.20\ndy\t0.30\t0.40\n", NULL);
    ASSERT_NUMBERS(&r, 0.1, 0.2, 0.3, 0.4);
    assert_string_equal(r.info->format, "csv");
    assert_int_equal(r.n_labels, 2);
    reading_free(&r);
}

/* A grid that lost its header is told so, not taken for a table of another kind. */
TEST(what_is_called_asc_is_no_csv)
{
    static const char text[] = "1 2\n3 4\n";
    static const struct {
        const char *name;
        bool is_csv;
    } cases[] = {{"in/g.dem.asc", false}, {"G.ASC", false}, {"g.asc.gz", false}, {"./.asc", false},
                 {"g.csv", true},         {"asc", true},    {"g.asc.txt", true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct source *s;
        struct table *t;
        assert_int_equal(source_open(memory_file(text, sizeof text - 1), cases[i].name, &s),
                         STATUS_OK);
        const enum status st = table_open(s, NULL, &t);
        if (cases[i].is_csv) {
            assert_int_equal(st, STATUS_OK);
        } else {
            assert_int_equal(st, STATUS_BAD_INPUT);
            assert_non_null(strstr(status_message(), cases[i].name));
            assert_non_null(
                strstr(status_message(), "header of an ASCII grid: write lines of ncols, nrows"));
        }
        table_free(t);
    }
}

/* Published data of this project, where it lies beside the tree. */
TEST(the_tessina_landslide_reads_whole)
{
    static const char here[] = __FILE__;
    char path[1024];
    snprintf(path, sizeof path, "%.*s../../../shared/data/tessina/tessina.dem.asc",
             (int)(strrchr(here, '/') - here + 1), here);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        print_message("SKIPPED: there is no %s\n", path);
        skip();
    }
    struct source *s;
    assert_int_equal(source_open(fd, path, &s), STATUS_OK);
    struct reading r = read_source(s, NULL, 100000);
    if (r.status) {
        fail_msg("%s", status_message());
    }
    assert_int_equal(r.info->grid->rows, 610);
    assert_int_equal(r.info->grid->columns, 496);
    assert_int_equal(r.n_numbers, 610 * 496);
    assert_true(r.info->grid->cell_x == 10 && r.info->grid->has_nodata);
    reading_free(&r);
}

int main(void)
{
    return unit_run(hide_gdal, show_gdal);
}
