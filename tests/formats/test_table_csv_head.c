/*
 * test_table_csv_head - which delimiter a text has, and whether its first line holds names, where
 * more than one answer seems to fit.
 */
#include "tests/support/csv_support.h"

/* A comma that cuts every line as it cuts the header delimits, however many blanks there are. */
TEST(a_comma_that_cuts_all_lines_as_the_header_delimits)
{
    CHECK_TEXT("bin width,count\n0 5,788\n5 10,654\n", 788, 654);
    CHECK_TEXT("id,Year Month,sales\n1,2005 1,9241\n2,2005 2,8123\n", 1, 9241, 2, 8123);
    CHECK_TEXT("id,date,n\n1,2005 1,9241\n2,2005 2,8123\n3,2005 3,8\n", 1, 9241, 2, 8123, 3, 8);
    check_failure("a b,c d\n1 2,3 4\n5 6,7 8\n", STATUS_BAD_INPUT, "no column holds a number",
                  NULL);
}

/* Numbers at the ends of names do not make a first line of data of them. */
TEST(names_that_end_in_numbers_are_a_header_all_the_same)
{
    static const char *const refused[] = {
        "Sensor 1,Sensor 2,Sensor 3\n4 2005,5 9241,1 1234\n6 2005,7 8123,2 1235\n",
        "Sensor 1,Sensor 2,Sensor 3\n4 2005,5 9241,1 1234\n",
        "PM 2.5,PM 10\n1 2,3 4\n5 6,7 8\n",
        "site x,PM 2.5,PM 10\nAbc 1,1 2,3 4\nDef 2,5 6,7 8\n",
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        check_failure(refused[i], STATUS_BAD_INPUT, "no column holds a number", NULL);
    }
    CHECK_TEXT("PM 2.5,PM 10\n1 2,3\n5 6,7\n", 3, 7);
    CHECK_TEXT("Smith,J NA 2\nDoe,A 3 4\nRoe,B 5 6\n", NAN, 2, 3, 4, 5, 6);
    CHECK_TEXT("Smith,J 1 x\nDoe,A 3 NA\nRoe,B 5 NA\n", 1, 3, 5);
}

static void check_told_of_blanks(const char *text, const char *told)
{
    struct reading r = read_text(text, NULL);
    size_t n_told = 0;
    if (r.status) {
        fail_msg("%s", status_message());
    }
    for (size_t i = 0; i < r.info->n_warnings; i++) {
        const bool tells = strstr(r.info->warnings[i], "read as comma-delimited") != NULL;
        n_told += tells;
        if (tells && (!told || !strstr(r.info->warnings[i], told))) {
            fail_msg("%s: %s", text, r.info->warnings[i]);
        }
    }
    assert_int_equal(n_told, told != NULL);
    reading_free(&r);
}

/* Where decimal commas between blanks would make numbers of all cells, that is told. */
TEST(a_comma_is_told_where_blanks_would_do)
{
    static const char three[] =
        "line 1: read as comma-delimited (each line has 3 fields); if blanks delimit and commas "
        "are decimal, write semicolons for the blanks";
    check_told_of_blanks("Temp,C Druck,hPa\n1,5 1013,2\n2,5 1014,1\n", three);
    check_told_of_blanks("# from\n\nTemp,C Druck,hPa\n1,5 1013,2\n",
                         "line 3: read as comma-delimited (each line has 3 fields)");
    check_told_of_blanks("bin width,count\n0 5,788\n5 10,654\n", "2 fields");
    check_told_of_blanks("Temp,C Druck,hPa\n1,5 1013,2\n2,5 x1,1\n", NULL);
    check_told_of_blanks("Temp,C Druck,hPa\n1,5 1013,2\n2,5 1 0,1\n", NULL);
    check_told_of_blanks("x,y\n1,5\n2,5\n", NULL);
    check_told_of_blanks("x, y\n1, 5\n2, 5\n", NULL);
    check_told_of_blanks("Temp,C;Druck,hPa\n1,5;1013,2\n2,5;1014,1\n", NULL);
    check_told_of_blanks("x y\n1,5 2,5\n3,5 4,5\n", NULL);
    check_told_of_blanks("Temp,C\tDruck,hPa\n1,5\t1013,2\n2,5\t1014,1\n", NULL);
    check_told_of_blanks("Smith,J 1 2\nDoe,A 3 4\n", NULL);
}

TEST(decimal_commas_keep_the_delimiters_that_they_have)
{
    CHECK_TEXT("x y\n1 2\n3 4\n", 1, 2, 3, 4);
    CHECK_TEXT("\"a,b\" c\n1 2\n3 4\n", 1, 2, 3, 4);
    CHECK_TEXT("x y\n1,5 2,5\n3,5 4,5\n", 1.5, 2.5, 3.5, 4.5);
    CHECK_TEXT("1,5 2,5\n3,5 4,5\n", 1.5, 2.5, 3.5, 4.5);
    CHECK_TEXT("north 1,5 2,5\nsouth 3,5 4,5\n", 1.5, 2.5, 3.5, 4.5);
    CHECK_TEXT("north 1,5 x\nsouth 3,5 y\n", 1.5, 3.5);
    CHECK_TEXT("Smith,J 1 2\nDoe,A 3 4\n", 1, 2, 3, 4);
    CHECK_TEXT("2005,12:00 1.5 2.5\n2005,12:10 3.5 4.5\n", 1.5, 2.5, 3.5, 4.5);
    CHECK_TEXT("T, RH\n1,5 2,5\n3,5 4,5\n", 1.5, 2.5, 3.5, 4.5);
    CHECK_TEXT("T, RH p\n1,5 2 3\n3,5 4 5\n3,5 4 5,5\n", 1.5, 2, 3, 3.5, 4, 5, 3.5, 4, 5.5);
    CHECK_TEXT("T, degC;RH, pct\n1,5;2,5\n3,5;4,5\n", 1.5, 2.5, 3.5, 4.5);
    CHECK_TEXT("T, degC\tRH, pct\n1,5\t2,5\n3,5\t4,5\n", 1.5, 2.5, 3.5, 4.5);
}

/* The first line holds names, which `names` joins with blanks, and that is told once with `why`. */
static void check_header(const char *text, const char *names, const char *why)
{
    struct reading r = read_text(text, NULL);
    char got[256] = "";
    size_t n_told = 0;
    if (r.status) {
        fail_msg("%s", status_message());
    }
    assert_true(r.info->has_header);
    for (size_t i = 0; i < r.info->cells_per_line; i++) {
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i ? " " : "",
                 r.info->names[i]);
    }
    assert_string_equal(got, names);
    for (size_t i = 0; i < r.info->n_warnings; i++) {
        const bool tells = strstr(r.info->warnings[i], "line 1 is taken as a header of numbers");
        n_told += tells;
        if (tells && !strstr(r.info->warnings[i], why)) {
            fail_msg("no \"%s\" in: %s", why, r.info->warnings[i]);
        }
    }
    assert_int_equal(n_told, 1);
    reading_free(&r);
}

/* The first line is data; `told`: with a note that it may be a header. */
static void check_data(const char *text, bool told)
{
    struct reading r = read_text(text, NULL);
    size_t n_told = 0;
    if (r.status) {
        fail_msg("%s", status_message());
    }
    if (r.info->has_header) {
        fail_msg("a header: %s", text);
    }
    for (size_t i = 0; i < r.info->n_warnings; i++) {
        n_told += strstr(r.info->warnings[i], "may be a header of numbers") != NULL;
    }
    assert_int_equal(n_told, told);
    reading_free(&r);
}

TEST(numbers_that_count_from_0_are_a_header)
{
    check_header("0,1,2,3\n5,6,7,8\n6,8,7,9\n", "0 1 2 3", "(0 to 3: they count from 0)");
    check_header("0;1;2\n,5;6;7\n1,5;2;3\n", "0 1 2", "(0 to 2: they count from 0)");
    check_header("0 1 2\n.5 .6 .7\n", "0 1 2", "if it is data, write 0.0");
    check_header(",0,1,2\nx,5,6,7\ny,6,8,7\n", "0 1 2", "(0 to 2: they count from 0)");
    check_header(",0,1,2\n2001,5,6,7\n2004,6,8,7\n", " 0 1 2", "(0 to 2: they count from 0)");
}

TEST(ordinary_numbers_in_the_first_line_are_data)
{
    static const char *const quiet[] = {
        "1,2,3\n4,5,6\n",
        "0,1,3\n4,5,6\n",
        "0.0,1.0,2.0\n4,5,6\n",
        "0,1,2.0\n4,5,6\n",
        "00,1,2\n4,5,6\n",
        "0,-1,-2\n4,5,6\n",
        "0,1,2,3,4,5,6,7,8,9,1\n2,1,3,4,5,6,7,8,9,0,1\n",
        "0,1,2,3\n",
        "0\n5\n7\n",
        "2,1,0\n4,5,6\n",
        "0,1,,3\n4,5,6,7\n",
        "0,1,NA\n4,5,6\n",
        ",2,3\n,5,6\n",
        "0,1,2,a\n4,5,6,b\n",
        "x,2,3\ny,5,6\n",
        "x,0,1,3\ny,5,6,7\n",
        "x,2,3,5\ny,5,6,7\n",
        "NA,2,3\n0,5,6\n1,8,9\n",
    };
    for (size_t i = 0; i < sizeof quiet / sizeof quiet[0]; i++) {
        check_data(quiet[i], false);
    }
    check_data("1990,1991,1992\n4.5,5,6\n3.5,2,1\n", true); /* years over other numbers */
    check_data("1990,1991,1992\n1993,1994,1995\n2,1991,3\n", false);
    check_data("2001,2002,2003\n1,2001,3\n4,5,6\n", false); /* the ends are within them */
    check_data("2001,2002,2003\n1,2,2003\n4,5,6\n", false);
    check_data("2001,2002,2003\n2001,2,3\n2003,5,6\n", true); /* an index may hold them */
    check_data("10,20,30,40\n0.5,1,2,3\n", true);
    check_data("10,20,30,40\n11,1,2,3\n2,1,25,3\n", false);
    check_data("10,20,50,80\n0.5,1,2,3\n", false); /* not even */
    check_data("1990,1991\n4.5,5\n3.5,2\n", false);
    check_data("0,1\n1,0.5\n2,0.3\n", true); /* names, or a first point of a curve */
}

/* Columns of words before the numbers do not hide what the numbers show. */
TEST(numbers_beside_words_over_words_are_a_header_as_well)
{
    check_header("station,0,1,2\nS0,1.5,2,3\nS1,4,5,7\n", "0 1 2", "(0 to 2: they count from 0)");
    check_header("date,0,1,2\n2020-01-01,5,6,7\n2020-01-02,6,8,7\n", "0 1 2", "count from 0");
    check_header("site,of,0,1,2\nS0,a,5,6,7\nS1,b,6,8,7\n", "0 1 2", "count from 0");
    check_header("\"station\",\"2001\",\"2002\",\"2003\"\n\"S0\",1.2,3,4\n\"S1\",1.4,3,5\n",
                 "2001 2002 2003", "(2001 to 2003: quoted, over numbers that are not)");
    check_header(",station,2001,2003\n0,S0,5,6\n1,S1,6,8\n", " 2001 2003", "is empty");
    check_data("name,2001,2002,2003\nx,1,2,3\ny,4,5,7\n", true);
    check_data("site,of,2001,2002,2003\nx,a,1,2,3\ny,b,4,5,7\n", true);
    check_data("station,0,1\nS0,5,6\nS1,6,8\n", true);
    check_data("S0,\"1\",\"2\"\nS1,\"5\",\"6\"\n", false);
    struct reading r = read_text("a,1,2\n3,4,5\n", NULL);
    assert_true(r.info->has_header && r.info->n_warnings == 0);
    reading_free(&r);
}

/* Years, depths or wavelengths, however they are spaced, beside a word that is no name of a row. */
TEST(numbers_beside_a_cell_unlike_those_below_it_are_a_header)
{
    static const char unlike[] =
        "they stand out, and the cell before them is unlike those below it); if "
        "it is data, set -s header=none";
    check_header("station,1950,1960,1965\nS0,1,2,3\nS1,4,5,7\n", "1950 1960 1965", unlike);
    check_header("station,2001,2002,2003\nS0,1,2,3\nS1,4,5,7\n", "2001 2002 2003", unlike);
    check_header("site,of,2001,2002,2003\nS0,a,1,2,3\nS1,b,4,5,7\n", "2001 2002 2003", unlike);
    check_header("date,0.5,1,2.5\n2020-01-01,5.1,4.9,4.5\n2020-01-02,5.2,4.8,4.7\n", "0.5 1 2.5",
                 unlike);
    check_header("sample,700.2,690,410.5\na1,.1,.2,.3\na2,.2,.3,.5\n", "700.2 690 410.5", unlike);
    /* within the numbers below, but alone to rise, or to fall */
    check_header("date,1,5,20,50\n1/2/20,18,12,9,4\n1/3/20,19,12,8,4\n", "1 5 20 50", unlike);
    check_header("date,50,20,5,1\n1/2/20,4,9,12,18\n1/3/20,4,8,12,19\n", "50 20 5 1", unlike);
    /* a row beside rows */
    check_data("date,1,5,20\n1/2/20,18,12,9\n1/3/20,19,12,8\n", false);
    check_data("S5,1950,1960,1965\nS0,1,2,3\nS1,4,5,7\n", false);
    check_data("station,1950,1960,1965\nS0,1,2,3\nall,4,5,7\n", true);
    check_data("country,1950,1960,1965\nFR,4,5,6\nDE,5,7,8\n", true);
    check_data("country,code,1960,1965,1971\nFrance,FRA,4,6,5\nItaly,ITA,3,1,9\n", true);
    check_data("d,2004,2003,2002,2001\na,1,2,4,3\nb,4,1,0,2\n", true);
    check_data("country,1950,1960,1965\nFR,4,1955,6\nDE,5,7,8\n", false);
    check_data("station,1950,1965,1960\nS0,1,2,3\nS1,4,5,7\n", false);
    check_data("station,1950,1960,1960\nS0,1,2,3\nS1,4,5,7\n", false);
    check_data("station,1960,1960,1950\nS0,1,2,3\nS1,4,5,7\n", false);
    check_data("station,1950,1965\nS0,1,2\nS1,4,5\n", true); /* two always rise or fall */
    check_data("station,8,9\nS0,1,2\nS1,4,5\n", false);
    check_data("New York,8,9,11\nRome,1,2,3\nAix-en-Provence,4,5,6\n", true);
    check_data("New York,8,11,9\nRome,1,2,3\nAix-en-Provence,4,5,6\n", false);
    check_data("station,1950,1960,1965\nS0,1,2,3\n", false);
    check_data("sum,1,5,20,50\n1/2/20,18,12,9,14\n1/3/20,1,12,18,40\n", true); /* others rise */
    const struct table_options none = {.header = "none"};
    struct reading r = read_text("station,1950,1960,1965\nS0,1,2,3\nS1,4,5,7\n", &none);
    ASSERT_NUMBERS(&r, 1950, 1960, 1965, 1, 2, 3, 4, 5, 7);
    reading_free(&r);
}

/* Names of all columns but the first, or a title, or a line that lacks a name. */
TEST(a_header_one_name_short_is_read_over_an_index)
{
    static const struct table_options listed = {.missing_value = "temp,rh"};
    static const struct {
        const char *text;
        size_t n_names; /* 0: there is no header */
    } cases[] = {{"x\n0 5\n1 6\n", 1},
                 {"x\n1 5\n2 6\n", 1},
                 {"x\n7 5\n8 6\n", 0},
                 {"x;y\n7;5;6\n8;6;4\n", 2},
                 {"temp,rh\n1,1.5,2\n2,2.5,3\n", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reading r = read_text(cases[i].text, &listed);
        if (r.status || r.info->has_header != (cases[i].n_names > 0)) {
            fail_msg("%s: %s", cases[i].text, r.status ? status_message() : "the other way");
        }
        assert_true(cases[i].n_names == 0 || r.info->cells_per_line == cases[i].n_names);
        reading_free(&r);
    }
    check_failure("id age\n1 7 No\n2 8 No\n5 x y 8\n3 9 No\n", STATUS_BAD_INPUT,
                  "give line 1 a name for each column", NULL);
    check_failure("a,b,c\n3,1,2,4\n7,2,3,1\n12,3,5,9\n", STATUS_BAD_INPUT,
                  "give line 1 a name for each column", NULL);
}

/* What stands for missing numbers names a column where names are sought. */
TEST(marks_for_missing_numbers_are_names_in_a_line_without_numbers)
{
    static const struct table_options listed = {.missing_value = "temp,rh"},
                                      code = {.missing_value = "-9"};
    static const struct {
        const char *text;
        const struct table_options *options;
        bool has_header;
    } cases[] = {{"temp,rh\n1,2\n3,4\n", &listed, true},
                 {"x;temp\n1;2\n3;4\n", &listed, true},
                 {"temp,5\n1,2\n3,4\n", &listed, false}, /* a row of those that it is listed for */
                 {"a,b\ntemp,rh\n3,4\n", &listed, true},
                 {"Na\n1\n2\n", NULL, true},
                 {"date,Na\n2020-01-01,1\n2020-01-02,2\n", NULL, true},
                 {"date,NA\n2020-01-01,1\n2020-01-02,2\n", NULL, true},
                 {"Na,1\n1,2\n2,4\n", NULL, false},
                 {"NA,NA\n1,2\n2,4\n", NULL, false},
                 {"A,NA\nB,1\nC,2\n", NULL, false},
                 {"-9,-9\n1,2\n2,4\n", &code, false},
                 {",class,sex\n1,x,m\n2,y,w\n", NULL, true},
                 {",class,NA\n1,x,5\n2,y,6\n", NULL, false},
                 {",class,sex\n1,x,m\n,y,w\n", NULL, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reading r = read_text(cases[i].text, cases[i].options);
        if (r.status || r.info->has_header != cases[i].has_header || r.n_numbers == 0) {
            fail_msg("%s: %s", cases[i].text, r.status ? status_message() : "the other way");
        }
        reading_free(&r);
    }
}

TEST(quoted_numbers_over_unquoted_ones_are_a_header)
{
    check_header("\"2001\",\"2003\",\"2004\"\n1,2,3\n4,5,7\n", "2001 2003 2004",
                 "(2001 to 2004: quoted, over numbers that are not)");
    check_header("\"\",\"2001\",\"2003\"\n\"a\",1,2\n\"b\",4,5\n", "2001 2003", "quoted");
    check_header("\"7\"\n1\n4\n", "7", "if it is data, leave the quotes out");
    check_data("\"1\",\"2\"\n\"3\",\"4\"\n", false);
    check_data("\"1\",2\n3,4\n", false);
    check_data("\"1\",\"2\"\n3,\"4\"\n5,6\n", false);
    check_data("\"1\",\"2\"\n3,4\n5,\"6\"\n", false);
    check_data("\"1\",\"2\"\n", false);
}

TEST(an_empty_corner_over_labels_or_an_index_is_that_of_a_header)
{
    check_header(
        ",2001,2003\na,1,2\nb,4,5\n", "2001 2003",
        "(2001 to 2003: the cell before them is empty, over a column of names or an index)");
    check_header(",2001,2003\n0,1,2\n1,4,5\n", " 2001 2003", "if it is data, write NA");
    check_header(",2001,2003\n1990,1,2\n1991,4,5\n1992,4,6\n", " 2001 2003", "empty");
    check_header(",7\n0,5\n1,6\n", " 7", "empty");
    check_header(",2001,2002,2003\n3,1,2,3\n7,4,5,6\n12,4,5,7\n", " 2001 2002 2003", "empty");
    check_header(",2001,2003\n1.5,1,2\n2.5,4,5\n", " 2001 2003", "empty");
    check_header(",2,3\n4,5,6\n", " 2 3", "if it is data, write NA");
    check_header(",0.2,5.1\n0,5,7\n1,6,8\n", " 0.2 5.1", "(0.2 to 5.1: ");
    check_data(",2001,2003\n1,1,2\n2,4,5\n,4,5\n", true);
    check_data(",2001,2003\n1,1,2\nNA,4,5\n2,4,5\n", true);
    check_data(",2001,\na,1,2\nb,4,5\n", false);
    check_data(",2001,2003\na,NA,NA\nb,,\n", false);
}

/* Excel's line says what delimits where the user does not. */
TEST(the_option_sep_is_stronger_than_the_line_of_the_file)
{
    static const char text[] = "sep=;\na,b\n1,2\n3,4\n";
    const struct table_options comma = {.sep = ","};
    struct reading r = read_text(text, &comma);
    ASSERT_NUMBERS(&r, 1, 2, 3, 4);
    reading_free(&r);
    r = read_text(text, NULL);
    ASSERT_NUMBERS(&r, 1.2, 3.4);
    reading_free(&r);
    CHECK_TEXT("sep=\na,b\n1,2\n3,4\n", 1, 2, 3, 4);
}

/* --- one table in all dialects ---------------------------------------------------------------- */

struct dialect {
    char delimiter, point;
    bool is_quoted, has_header, has_comment, has_blank_line, has_crlf, has_mark;
    int utf16; /* 1: the low byte first, 2: the high one */
};

static void put_line(struct bytes *text, const struct dialect *d, const char *const cells[3])
{
    const char *const quote = d->is_quoted ? "\"" : "";
    for (size_t c = 0; c < 3; c++) {
        char cell[32];
        snprintf(cell, sizeof cell, "%s", cells[c]);
        char *const point = strchr(cell, '.');
        if (point) {
            *point = d->point;
        }
        assert_int_equal(bytes_printf(text, "%s%s%s", quote, cell, quote), STATUS_OK);
        assert_int_equal(bytes_append(text,
                                      c < 2         ? &d->delimiter
                                      : d->has_crlf ? "\r\n"
                                                    : "\n",
                                      c < 2 || !d->has_crlf ? 1 : 2),
                         STATUS_OK);
    }
}

static void widen_text(struct bytes *text, int utf16)
{
    struct bytes wide = {0};
    assert_int_equal(bytes_append(&wide, utf16 == 1 ? "\xff\xfe" : "\xfe\xff", 2), STATUS_OK);
    for (size_t i = 0; i < text->len; i++) {
        const unsigned char unit[] = {0, text->data[i], 0};
        assert_int_equal(bytes_append(&wide, unit + (utf16 == 1), 2), STATUS_OK);
    }
    bytes_free(text);
    *text = wide;
}

static void check_dialect(const struct dialect *d)
{
    static const char *const names[3] = {"x", "T_in", "RH"};
    static const char *const rows[4][3] = {{"-1.5", "20", "1234.25"},
                                           {"0.5", "NA", "7"},
                                           {"2.5", "-3e-5", "8.75"},
                                           {"4", "5.5", "0.25"}};
    static const double numbers[] = {-1.5, 20,    1234.25, 0.5, NAN, 7,
                                     2.5,  -3e-5, 8.75,    4,   5.5, 0.25};
    const char *const end = d->has_crlf ? "\r\n" : "\n";
    struct bytes text = {0};
    assert_int_equal(bytes_printf(&text, "%s%s%s", d->has_mark ? "\xef\xbb\xbf" : "",
                                  d->has_comment ? "# made today" : "", d->has_comment ? end : ""),
                     STATUS_OK);
    if (d->has_header) {
        put_line(&text, d, names);
    }
    for (size_t r = 0; r < 4; r++) {
        assert_int_equal(bytes_printf(&text, "%s", d->has_blank_line ? end : ""), STATUS_OK);
        put_line(&text, d, rows[r]);
    }
    if (d->utf16) {
        widen_text(&text, d->utf16);
    }
    struct reading r = read_bytes(text.data, text.len, NULL, 4096);
    assert_numbers(&r, numbers, 12);
    if (r.info->cells_per_line != 3 || r.info->has_header != d->has_header ||
        r.info->n_warnings > 0) {
        fail_msg("%.*s: %s", (int)text.len, text.data,
                 r.info->n_warnings > 0 ? r.info->warnings[0] : "columns or names");
    }
    for (size_t c = 0; c < 3; c++) {
        assert_true(!r.info->names || strcmp(r.info->names[c], names[c]) == 0);
    }
    reading_free(&r);
    bytes_free(&text);
}

TEST(a_table_is_the_same_in_all_dialects_and_nothing_is_said)
{
    for (unsigned k = 0; k < 5 * 2 * 64 * 3; k++) {
        const unsigned bits = k / 10 % 64;
        const struct dialect d = {.delimiter = ",;\t| "[k % 5],
                                  .point = ".,"[k / 5 % 2],
                                  .is_quoted = bits & 1,
                                  .has_header = bits & 2,
                                  .has_comment = bits & 4,
                                  .has_blank_line = bits & 8,
                                  .has_crlf = bits & 16,
                                  .has_mark = bits & 32,
                                  .utf16 = (int)(k / 640)};
        const bool is_cut_by_commas = d.delimiter == ',' && d.point == ',' && !d.is_quoted;
        if (!is_cut_by_commas && !(d.has_mark && d.utf16)) {
            check_dialect(&d);
        }
    }
}

/* Wherever the first look ends, here at one of five places in a line: "7" of "7x" is no number. */
TEST(a_cell_that_is_cut_by_the_look_is_not_judged)
{
    enum { ROWS = 200000, ROW = 5 };
    char *const text = malloc(16 + ROWS * ROW);
    for (int pad = 0; pad < ROW; pad++) {
        char *to = text + sprintf(text, "a%.*s,b\n", pad, "aaaa");
        for (int i = 0; i < ROWS; i++) {
            to = stpcpy(to, "1,7x\n");
        }
        struct reading r = read_text(text, NULL);
        if (r.status) {
            fail_msg("%s", status_message());
        }
        assert_int_equal(r.info->n_warnings, 1);
        assert_non_null(strstr(r.info->warnings[0], "holds no number"));
        reading_free(&r);
    }
    free(text);
}

/* `doubt`: the cell because of which a warning doubts that the first line holds names. */
static void check_doubt(const char *text, const char *doubt)
{
    struct reading r = read_text(text, NULL);
    char want[128] = "";
    if (r.status) {
        fail_msg("%s", status_message());
    }
    assert_true(r.info->has_header);
    assert_int_equal(r.info->n_warnings > 0, doubt != NULL);
    if (doubt) {
        snprintf(want, sizeof want,
                 "line 1 is taken as names, as \"%s\" is no number; if it is data, correct "
                 "that cell",
                 doubt);
        assert_string_equal(r.info->warnings[0], want);
    }
    reading_free(&r);
}

/* Digits and signs over numbers, beside a number over numbers. */
TEST(a_number_that_is_written_wrong_makes_no_names_of_its_line_without_a_word)
{
    check_doubt("1.2.3,1.5\n2,3\n4,5\n", "1.2.3");
    check_doubt("7,2024-02-30,1.5\n8,3,2\n9,4,3\n", "2024-02-30");
    check_doubt("1.2.3,1.5,x\n2,3,a\n4,5,b\n", "1.2.3");
    check_doubt("2m,1.5\n2,3\n4,5\n", NULL);
    /* One cell beside several numbers may be a number with a slip of the pen. */
    check_doubt("12,13,1O\n1,2,3\n2,1,4\n", "1O");
    check_doubt("l2,13,14\n1,2,3\n2,1,4\n", "l2");
    check_doubt("12;-1,S5;1,5\n1;2,5;3\n2;1;4\n", "-1,S5");
    check_doubt("a,12,13,1O\nx,1,2,3\ny,2,1,4\n", "1O");
    check_doubt("1990,1991,total\n1,2,3\n2,1,4\n", NULL);
    check_doubt("t0,1990,1991\n1,2,3\n2,1,4\n", NULL);
    check_doubt("5m,10,20m\n1,2,3\n2,1,4\n", NULL);
    check_doubt("2024-01-01,2024-01-02\n2,3\n4,5\n", NULL);
    check_doubt("x,12:30,13\n2,3,4\n4,5,6\n", NULL);
    check_doubt("5-10,depth,20\n2,3,4\n4,5,6\n", NULL);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
