/*
 * test_table_csv - delimited text in all its shapes gives the right numbers, and what is wrong in
 * it is named with line, column and text. How it is cut: test_table_csv_chunks.c.
 */
#include "formats/base/decimal.h"
#include "tests/support/csv_support.h"
#include "tests/support/patience.h"

#include <fcntl.h>

TEST(every_delimiter_is_found)
{
    CHECK_TEXT("1,2,3\n4,5,6\n", 1, 2, 3, 4, 5, 6);
    CHECK_TEXT("1;2;3\n4;5;6\n", 1, 2, 3, 4, 5, 6);
    CHECK_TEXT("1\t2\t3\n4\t5\t6\n", 1, 2, 3, 4, 5, 6);
    CHECK_TEXT("1|2|3\n4|5|6\n", 1, 2, 3, 4, 5, 6);
    CHECK_TEXT("1 2 3\n4 5 6\n", 1, 2, 3, 4, 5, 6);
    CHECK_TEXT("  1   2 \t3  \n\t4 5  6\t\r\n", 1, 2, 3, 4, 5, 6);
    CHECK_TEXT("1, 2, 3\n4 , 5 ,6\n", 1, 2, 3, 4, 5, 6);
    CHECK_TEXT("7\n8\n9\n", 7, 8, 9);
    CHECK_TEXT("7", 7);
}

TEST(decimal_commas_and_points_may_meet_in_one_file)
{
    CHECK_TEXT("2,6;1360;0,7578\n2;1.5;-1,5e3\n", 2.6, 1360, 0.7578, 2, 1.5, -1500);
    CHECK_TEXT("1,5 2,5\n3,5 4\n", 1.5, 2.5, 3.5, 4);
    CHECK_TEXT("1;2\n3;4\n5,5;6.25\n", 1, 2, 3, 4, 5.5, 6.25);
    CHECK_TEXT("1;2\n3;1.234,5\n", 1, 2, 3, 1234.5);
    CHECK_TEXT("1,2\n3,\"4,5\"\n", 1, 2, 3, 4.5);
    CHECK_TEXT("a,b\n\"1,5\",2.5\n\"2,25\",3\n\"3,5\",4\n", 1.5, 2.5, 2.25, 3, 3.5, 4);
    check_failure("1,2\n3,\"4,500\"\n", STATUS_BAD_INPUT, "line 2, column 2: \"4,500\" may be",
                  NULL);
}

TEST(a_sign_that_may_part_thousands_is_told)
{
    static const char text[] = "1.5;2.5\n3.5;1,5\n\n5;\"-1,024\"\n7;2,048\n";
    static const char *const quiet[] = {
        "1,024;2\n3;2,048\n",                  /* all are commas */
        "1.5;2,5\n3;0,024\n4;1,0245\n",        /* no thousands */
        "a,b\n1.5,\"x 1,024\"\n2,\"3,024\"\n", /* a column of words */
    };
    for (size_t cap = 12; cap < 100; cap += 29) {
        struct reading r = read_bytes(text, sizeof text - 1, NULL, cap);
        ASSERT_NUMBERS(&r, 1.5, 2.5, 3.5, 1.5, 5, -1.024, 7, 2.048);
        assert_int_equal(r.info->n_warnings, 1);
        assert_string_equal(r.info->warnings[0],
                            "line 4, column 2: a comma or point before three digits was taken "
                            "for a decimal sign; leave it out if it parts thousands");
        reading_free(&r);
    }
    for (size_t i = 0; i < sizeof quiet / sizeof quiet[0]; i++) {
        struct reading r = read_text(quiet[i], NULL);
        assert_int_equal(r.status, STATUS_OK);
        for (size_t k = 0; k < r.info->n_warnings; k++) {
            assert_null(strstr(r.info->warnings[k], "thousands"));
        }
        reading_free(&r);
    }
}

/* Of a column of numbers one that is written in groups, S standing for the sign between them: with
 * a warning of what parts thousands, or NAN: refused. `said`: thousands. */
static void check_grouped(const char *written, const char *sign, const char *said, double expected,
                          const char *by)
{
    char text[128] = "a;b\n1;678\n2;", told[160];
    for (const char *c = written; *c; c++) {
        strncat(text, *c == 'S' ? sign : c, *c == 'S' ? strlen(sign) : 1);
    }
    strcat(text, "\n3;9\n");
    const struct table_options options = {.thousands = said};
    struct reading r = read_text(text, &options);
    if (r.status ? !isnan(expected) : isnan(expected)) {
        fail_msg("%s: %s", text, r.status ? status_message() : "it was read");
    }
    if (!r.status) {
        const double all[] = {1, 678, 2, expected, 3, 9};
        assert_numbers(&r, all, 6);
        snprintf(told, sizeof told,
                 "%ss are read as thousands separators, and a %s as the decimal sign; "
                 "thousands=%s says that this is right",
                 by ? by : "", by && strcmp(by, "point") == 0 ? "comma" : "point", by ? by : "");
        if (r.info->n_warnings != (by && !said) ||
            (r.info->n_warnings > 0 && strcmp(r.info->warnings[0], told) != 0)) {
            fail_msg("%s: %s", text, r.info->n_warnings > 0 ? r.info->warnings[0] : "no warning");
        }
    }
    reading_free(&r);
}

TEST(every_sign_between_groups_of_digits_is_known)
{
    static const struct {
        const char *bytes, *name;
        double alone; /* what 12S345 is: in doubt a fraction, or no number */
    } signs[] = {
        {",", "comma", 12.345},     {".", "point", 12.345},          {" ", "blank", NAN},
        {"'", "apostrophe", 12345}, {"\u2019", "apostrophe", 12345}, {"\u00a0", "blank", 12345},
        {"\xa0", "blank", 12345}, /* in Latin-1 */
        {"\u202f", "blank", 12345}, {"\u2009", "blank", 12345}};
    static const char *const wrong[] = {"0S123S456", "1234S567S890", "1S234S56",  "1S2345S678",
                                        "S123S456",  "1S234S",       "1SS234S567"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        const char *const bytes = signs[i].bytes, *const name = signs[i].name;
        const bool is_point = *bytes == '.', is_sure = signs[i].alone == 12345;
        check_grouped("12S345", bytes, NULL, signs[i].alone, is_sure ? name : NULL);
        check_grouped("1S234S567", bytes, NULL, *bytes == ' ' ? NAN : 1234567,
                      *bytes == ' ' ? NULL : name);
        check_grouped(is_point ? "-1S234,5" : "-1S234.5", bytes, NULL, -1234.5, name);
        check_grouped("12S345", bytes, name, 12345, name);
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
            const bool is_trimmed =
                *bytes == ' ' && (k == 4 || k == 5); /* a blank at an end is none of it */
            check_grouped(wrong[k], bytes, NULL, NAN, NULL);
            if (!is_trimmed) {
                check_grouped(wrong[k], bytes, name, NAN, NULL);
            }
        }
        check_grouped("0S123", bytes, name, NAN, NULL);
    }
}

/* Where a sign parts thousands for sure, or is decimal, the option is no cure. */
TEST(thousands_is_named_where_it_takes_nothing_from_other_numbers)
{
    static const struct {
        const char *text, *hint;
    } cases[] = {
        {"a;b\n1.5;2\n2.5;1.234.567\n", NULL},
        {"a;b\n1;2\n3;1'234\n4;1.234.567\n", "or set -s thousands=apostrophe"},
        {"a,b\n1,\"1,234\"\n", "set -s decimal=comma or -s thousands=comma, and -s sep=comma"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_failure(cases[i].text, STATUS_BAD_INPUT, "with its thousands parted", cases[i].hint);
        assert_true(cases[i].hint || !strstr(status_message(), "-s thousands"));
    }
    struct bytes late = {0};
    for (size_t i = 0; i < 200; i++) {
        assert_int_equal(bytes_printf(&late, "%s", "1,234.5;2\n"), STATUS_OK);
    }
    assert_int_equal(bytes_append(&late, "3;1'234\n", 9), STATUS_OK);
    check_failure((const char *)late.data, STATUS_BAD_INPUT, "line 201, column 2: \"1'234\"", NULL);
    assert_null(strstr(status_message(), "-s thousands"));
    bytes_free(&late);
    for (size_t i = 0; i < 4000; i++) {
        assert_int_equal(bytes_printf(&late, "%s", "1,2\n"), STATUS_OK);
    }
    assert_int_equal(bytes_append(&late, "3,\"1,234,567\"\n", 15), STATUS_OK);
    check_failure((const char *)late.data, STATUS_BAD_INPUT, "line 4001, column 2",
                  ", or set -s thousands=comma, and -s sep=comma");
    assert_null(strstr(status_message(), "decimal=")); /* it is no number then, either */
    bytes_free(&late);
}

TEST(a_comma_that_delimits_is_no_decimal_sign_beside_parted_thousands)
{
    CHECK_TEXT("a,b,c\n11,126,93.120.140\n12,5,93.120.141\n13,7,93.120.142\n", 11, 126, 93120140,
               12, 5, 93120141, 13, 7, 93120142);
}

/* Chunks are decoded in any order. */
TEST(the_first_sign_that_may_part_thousands_is_told)
{
    enum { CHUNKS = 3, CAP = 10 };
    struct table *t;
    struct table_chunk chunks[CHUNKS];
    unsigned char raw[CHUNKS][CAP];
    double values[CHUNKS][CAP];
    bool end;
    assert_int_equal(table_open(memory_source("1;2.5\n3;4,025\n5;6,025\n", 22), NULL, &t),
                     STATUS_OK);
    for (size_t i = 0; i < CHUNKS; i++) {
        chunks[i] = (struct table_chunk){
            .raw = raw[i], .raw_cap = CAP, .values = values[i], .values_cap = sizeof values[i]};
        assert_int_equal(table_next(t, &chunks[i], &end), STATUS_OK);
        assert_false(end);
    }
    for (size_t i = CHUNKS; i-- > 0;) {
        assert_int_equal(table_decode(t, &chunks[i]), STATUS_OK);
    }
    assert_int_equal(table_end(t), STATUS_OK);
    assert_int_equal(table_info(t)->n_warnings, 1);
    assert_non_null(strstr(table_info(t)->warnings[0], "line 2, column 2: "));
    table_free(t);
}

TEST(more_columns_than_can_be_are_refused)
{
    struct bytes text = {0};
    /* Where a sanitizer watches only the refusal: what is read of so many is read of a few. */
    for (int more = 1; more >= (patience() > 1); more--) {
        const size_t n = (1u << 24) - 1 + (size_t)more; /* delimiters */
        bytes_clear(&text);
        assert_int_equal(bytes_reserve(&text, n + 2), STATUS_OK);
        memset(text.data, ',', n);
        memcpy(text.data + n, "1\n", 2);
        text.len = n + 2;
        struct table *t;
        const enum status status = table_open(memory_source(text.data, text.len), NULL, &t);
        assert_int_equal(status, more ? STATUS_UNSUPPORTED : STATUS_OK);
        assert_true(!more || strstr(status_message(), "line 1: has more than 16777216 columns"));
        table_free(t);
    }
    bytes_free(&text);
}

TEST(names_count_as_memory_that_the_table_holds)
{
    const struct table_load load = {1, 1, 4096};
    struct reading r = read_text("a,b,\n1,2,3\n", NULL);
    assert_in_range(table_decode_bytes(r.info, &load), 3 * sizeof(char *) + 5, 200);
    reading_free(&r);
    r = read_text("1,2,3\n", NULL);
    assert_int_equal(table_decode_bytes(r.info, &load), 0);
    reading_free(&r);
}

TEST(line_ends_byte_order_mark_comments_and_blank_lines_are_passed)
{
    CHECK_TEXT("\xef\xbb\xbf"
               "1,2\r\n3,4\r\n",
               1, 2, 3, 4);
    CHECK_TEXT("# made by x, y\n1,2\n  # \"open quote\n3,4\n#", 1, 2, 3, 4);
    CHECK_TEXT("\n\n1,2\n\n,\n , \r\n3,4\n\n", 1, 2, 3, 4);
    CHECK_TEXT("1,2\n3,4", 1, 2, 3, 4);
    CHECK_TEXT("1,2\n3,", 1, 2, 3, NAN);
    CHECK_TEXT("\n1 2\n   \n3 4 ", 1, 2, 3, 4);
}

TEST(missing_cells_become_nan_and_are_counted)
{
    const struct table_options options = {.missing_value = "-200"};
    struct reading r =
        read_text("1,2,3\n,NA,n/a\nNaN,null,-nan\n\"\",-200,-200.0\n4,5,-2e2\n", &options);
    ASSERT_NUMBERS(&r, 1, 2, 3, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 4, 5, NAN);
    assert_int_equal(r.n_missing, 10);
    reading_free(&r);
    r = read_text("1,2,3\n1.#QNAN,-1.#IND00,nan(ind)\n4,5,6\n", NULL); /* Microsoft's C library */
    ASSERT_NUMBERS(&r, 1, 2, 3, NAN, NAN, NAN, 4, 5, 6);
    assert_int_equal(r.n_missing, 3);
    reading_free(&r);
    r = read_text("1,2\n,-200\n", NULL);
    ASSERT_NUMBERS(&r, 1, 2, NAN, -200);
    assert_int_equal(r.n_missing, 1);
    reading_free(&r);
}

TEST(a_header_is_a_word_over_numbers)
{
    struct reading r = read_text("a,\"b, \"\"c\"\"\",,2001\n1,2,3,4\n5,6,7,8\n", NULL);
    ASSERT_NUMBERS(&r, 1, 2, 3, 4, 5, 6, 7, 8);
    assert_true(r.info->has_header);
    assert_string_equal(r.info->names[0], "a");
    assert_string_equal(r.info->names[1], "b, \"c\"");
    assert_string_equal(r.info->names[2], "");
    assert_string_equal(r.info->names[3], "2001");
    assert_int_equal(r.info->n_warnings, 0);
    reading_free(&r);
    r = read_text("2001,2002\n1,2\n", NULL);
    ASSERT_NUMBERS(&r, 2001, 2002, 1, 2);
    assert_false(r.info->has_header);
    assert_null(r.info->names);
    reading_free(&r);
    r = read_text("# c\na,b\n\n# d\n1,\n,2\n", NULL);
    ASSERT_NUMBERS(&r, 1, NAN, NAN, 2);
    reading_free(&r);
}

TEST(names_hold_no_controls_and_no_broken_characters)
{
    struct reading r = read_text("a\xff\x01,\"b\nc\",\xc3\xa9\n1,2,3\n", NULL);
    ASSERT_NUMBERS(&r, 1, 2, 3);
    assert_string_equal(r.info->names[0], "a\xc3\xbf?");
    assert_string_equal(r.info->names[1], "b?c");
    assert_string_equal(r.info->names[2], "\xc3\xa9");
    reading_free(&r);
}

TEST(a_first_column_of_words_names_the_lines)
{
    static const char labels[] = "north\0\"south\", far\0west";
    struct reading r = read_text("north,1,2\n\"\"\"south\"\", far\",3,4\nwest,5,6\n", NULL);
    ASSERT_NUMBERS(&r, 1, 2, 3, 4, 5, 6);
    assert_true(r.info->has_labels);
    assert_false(r.info->has_header);
    assert_int_equal(r.info->cells_per_line, 2);
    assert_int_equal(r.n_labels, 3);
    assert_int_equal(r.labels.len, sizeof labels);
    assert_memory_equal(r.labels.data, labels, sizeof labels);
    assert_int_equal(r.info->n_warnings, 0);
    reading_free(&r);
}

/* Also where its repeated cells stand apart. */
TEST(a_first_column_of_words_names_the_lines_unless_it_repeats_itself)
{
    static const struct {
        const char *text;
        bool names;
    } cases[] = {{"site,T\nn,1\ns,2\ne,3\n", true},
                 {"site,T\nn,1\nnn,2\nN,3\n", true},
                 {"site,T\nn,1\ns,2\nn,3\n", false},
                 {"site,T\nnorth,1\nn,2\nn,3\n", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reading r = read_text(cases[i].text, NULL);
        ASSERT_NUMBERS(&r, 1, 2, 3);
        assert_int_equal(r.info->n_warnings, 1);
        assert_string_equal(r.info->warnings[0],
                            cases[i].names ? "column 1 \"site\" holds no number: left out (its "
                                             "text names the lines)"
                                           : "column 1 \"site\" holds no number: left out");
        reading_free(&r);
    }
}

TEST(columns_without_numbers_are_left_out_by_name)
{
    struct reading r =
        read_text("Date;Time;T;unit;;\n10/03;18.00.00;2,6;C;;\n11/03;19.00.00;3;C;;\n", NULL);
    ASSERT_NUMBERS(&r, 2.6, 3);
    assert_int_equal(r.info->cells_per_line, 1);
    assert_string_equal(r.info->names[0], "T");
    assert_int_equal(r.info->n_warnings, 5);
    static const char *const expected[] = {"column 1 \"Date\"", "column 2 \"Time\"",
                                           "column 4 \"unit\"", "column 5 holds", "column 6 holds"};
    for (size_t i = 0; i < 5; i++) {
        assert_non_null(strstr(r.info->warnings[i], expected[i]));
        assert_non_null(strstr(r.info->warnings[i], "left out"));
    }
    reading_free(&r);
    check_failure("a,b\nc,d\n", STATUS_BAD_INPUT, "no column holds a number", NULL);
    const struct table_options options = {.missing_value = "-1"};
    r = read_text("a,b\n-1,2\nNA,3\n", &options);
    ASSERT_NUMBERS(&r, 2, 3);
    assert_int_equal(r.info->n_warnings, 1);
    reading_free(&r);
}

TEST(columns_are_chosen_by_number_range_and_name)
{
    static const char text[] = "id,a,b,c,d\nx,1,2,3,4\ny,5,6,7,8\n";
    struct table_options options = {.columns = "3-4, a"};
    struct reading r = read_text(text, &options);
    ASSERT_NUMBERS(&r, 1, 2, 3, 5, 6, 7);
    assert_string_equal(r.info->names[2], "c");
    assert_true(r.info->has_labels);
    reading_free(&r);
    static const char *const wrong[] = {"0",  "6",  "4-3", "e", "a,,b", "",
                                        "2-", "-6", "5:4", ":", "!x",   "-x"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        options.columns = wrong[i];
        r = read_text(text, &options);
        assert_failed(&r, STATUS_BAD_ARGUMENT, "columns: no column", "columns 1 to 5");
        reading_free(&r);
    }
    options.columns = "!1:";
    r = read_text(text, &options);
    assert_failed(&r, STATUS_BAD_ARGUMENT, "columns=!1: leaves no column", NULL);
    reading_free(&r);
    options.columns = "1";
    r = read_text(text, &options);
    assert_failed(&r, STATUS_BAD_INPUT, "line 2, column 1 (id): \"x\" is not a number", NULL);
    reading_free(&r);
}

TEST(a_word_among_numbers_is_told_with_how_to_take_it_as_missing)
{
    static const struct {
        const char *listed, *word, *hint; /* hint: NULL for none */
    } cases[] = {{NULL, "oops", "; if it stands for a missing number: -s missing_value=oops"},
                 {"-9,ERR", "oops", "missing_value=-9,ERR,oops"},
                 {NULL, "not measured", "missing_value='not measured'"},
                 {NULL, "a#", "missing_value='a#'"},
                 {NULL, "\"20,3*\"", "-s missing_value='\"20,3*\"'"},
                 {NULL, "3+", "missing_value=3+"},
                 {NULL, "it's", NULL},
                 {NULL, "a word that is far too long to stand for a missing number", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct table_options options = {.missing_value = cases[i].listed};
        char text[128];
        snprintf(text, sizeof text, "a,b\n1,2\n%s,4\n5,6\n7,8\n", cases[i].word);
        struct reading r = read_text(text, &options);
        assert_failed(&r, STATUS_BAD_INPUT, "line 3, column 1 (a): \"", cases[i].hint);
        assert_true(cases[i].hint || !strstr(status_message(), "missing_value"));
        reading_free(&r);
    }
}

TEST(lists_of_missing_values_are_read_as_they_are_written)
{
    static const struct {
        const char *list;
        size_t n_numbers, n_words;
        const char *refused; /* NULL: it is not */
    } cases[] = {{"-999,-9", 2, 0, NULL},
                 {"8,9", 2, 0, NULL},
                 {"99,999", 2, 0, NULL},
                 {"-999, 9", 2, 0, NULL},
                 {"-999.9,9", 2, 0, NULL},
                 {"ERR,9", 1, 1, NULL},
                 {"\"20,3*\",3+, \"-9\" ", 0, 3, NULL},
                 {"-999,9", 0, 0, "write '-999.9' for one, or '-999, 9'"},
                 {"ERR,999,9,x", 0, 0, "write '999.9' for one, or '999, 9'"},
                 {"+20,3", 0, 0, "'+20.3'"},
                 {"\"a\"b", 0, 0, "not 'b'"},
                 {"\"\"", 0, 0, "is empty"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct table_options options = {.missing_value = cases[i].list};
        struct table_choice choice;
        const enum status status = table_options_parse(&options, &choice);
        if (cases[i].refused) {
            assert_int_equal(status, STATUS_BAD_ARGUMENT);
            assert_non_null(strstr(status_message(), cases[i].refused));
        } else {
            assert_int_equal(status, STATUS_OK);
            assert_int_equal(choice.missing.n_numbers, cases[i].n_numbers);
            assert_int_equal(choice.missing.n_words, cases[i].n_words);
        }
    }
}

static void check_choice(const char *columns, const char *names)
{
    static const char text[] = "id,temp,rh,-x,9,wind\nx,1,2,3,4,5\ny,6,7,8,9,1\n";
    const struct table_options options = {.columns = columns};
    char got[64] = "";
    struct reading r = read_text(text, &options);
    if (r.status) {
        fail_msg("%s: %s", columns, status_message());
    }
    for (size_t c = 0; c < r.info->cells_per_line; c++) {
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", c ? " " : "",
                 r.info->names[c]);
    }
    assert_string_equal(got, names);
    reading_free(&r);
}

TEST(columns_are_chosen_from_the_end_and_left_out)
{
    static const char text[] = "temperature,humidity\n1,2\n";
    check_choice("-1", "wind");
    check_choice("-2:", "9 wind");
    check_choice("2:3,wind", "temp rh wind");
    check_choice(":3,!1", "temp rh");
    check_choice("-4:-2", "rh -x 9");
    check_choice("-rh", "temp -x 9 wind");
    check_choice("!2-3, !-1", "-x 9");
    check_choice("-x", "-x"); /* is a name */
    check_choice("!-x", "temp rh 9 wind");
    check_choice("9", "9"); /* beyond the table's width: a name */
    check_choice("2:,-wind,!3", "temp -x 9");
    const struct table_options options = {.columns = "2,temperatrue"};
    struct reading r = read_text(text, &options);
    assert_failed(&r, STATUS_BAD_ARGUMENT,
                  "no column \"temperatrue\"; did you mean \"temperature\"?", NULL);
    reading_free(&r);
}

/* Columns of words stay out where numbers alone would be read. */
TEST(what_is_left_out_is_so_from_the_columns_of_numbers)
{
    static const char text[] = "time,site,a,b\n0,x,1,2\n1,y,3,4\n";
    const struct table_options options = {.columns = "-time"}, both = {.columns = "-time,!3"};
    struct reading r = read_text(text, &options);
    ASSERT_NUMBERS(&r, 1, 2, 3, 4);
    assert_int_equal(r.info->n_warnings, 0);
    reading_free(&r);
    r = read_text(text, &both);
    ASSERT_NUMBERS(&r, 2, 4);
    reading_free(&r);
}

TEST(kept_columns_have_their_numbers_in_the_file)
{
    static const size_t found[] = {1, 3, 4, 6}, chosen[] = {3, 6};
    static const char text[] = "x,1,C,2,3,,4\ny,5,C,6,7,,8\n";
    const struct table_options options = {.columns = "4,7"};
    struct reading r = read_text(text, NULL);
    for (size_t c = 0; c < 4; c++) {
        assert_int_equal(table_column(r.info, c), found[c]);
    }
    reading_free(&r);
    r = read_text(text, &options);
    for (size_t c = 0; c < 2; c++) {
        assert_int_equal(table_column(r.info, c), chosen[c]);
    }
    reading_free(&r);
}

TEST(ragged_lines_are_refused_with_line_and_column)
{
    check_failure("1,2,3\n4,5,6\n7,8\n", STATUS_BAD_INPUT, "line 3, column 3: the line has 2 cells",
                  "line 1 has 3");
    check_failure("\n# c\n1,2\n3,4,5\n6,7\n", STATUS_BAD_INPUT,
                  "line 4, column 3: the line has more cells", "line 3 has 2");
    check_failure("1,2\n3,4,\n", STATUS_BAD_INPUT, "line 2, column 3: the line has more cells",
                  NULL);
    check_failure("1 2\n3 4\n5\n", STATUS_BAD_INPUT, "line 3, column 2: the line has 1 cell,",
                  NULL);
    check_failure("1 2 3\n4 5 \n6 7 8\n", STATUS_BAD_INPUT,
                  "line 2, column 3: the line has 2 cells,", NULL);
    check_failure("n,a,b\n\"x\ny\",1,2\nz,3\n", STATUS_BAD_INPUT, "line 4, column 3", NULL);
}

/* What to do about the first row, and about the line above it, is no advice on others. */
TEST(advice_on_the_first_rows_is_not_given_on_later_ones)
{
    check_failure("1,2\n3,4,5\n", STATUS_BAD_INPUT, "if line 1 is not the table's", NULL);
    check_failure("1,2\n3,4\n5,6,7\n", STATUS_BAD_INPUT, "line 3, column 3", NULL);
    assert_null(strstr(status_message(), "pass it over"));
    check_failure("a,b\nfoo,bar\n1,2\n3,4\n", STATUS_BAD_INPUT, "if this line holds the names",
                  NULL);
    check_failure("a,b\n1,2\nfoo,bar\n3,4\n", STATUS_BAD_INPUT, "line 3, column 1", NULL);
    assert_null(strstr(status_message(), "holds the names"));
}

TEST(columns_that_are_left_out_are_named_as_far_as_can_be_read)
{
    for (size_t n = 19; n < 24; n++) {
        struct bytes text = {0};
        char more[64];
        for (size_t line = 0; line < 3; line++) {
            assert_int_equal(bytes_printf(&text, line == 0 ? "x" : "%zu", line), STATUS_OK);
            for (size_t c = 0; c < n; c++) {
                assert_int_equal(bytes_printf(&text, ",w%zu", c), STATUS_OK);
            }
            assert_int_equal(bytes_printf(&text, "\n"), STATUS_OK);
        }
        struct reading r = read_bytes(text.data, text.len, NULL, 4096);
        ASSERT_NUMBERS(&r, 1, 2);
        assert_int_equal(r.info->n_warnings, n < 20 ? n : n == 20 ? 20 : 21);
        snprintf(more, sizeof more, "%zu more columns hold no number: left out", n - 20);
        assert_int_equal(strcmp(r.info->warnings[r.info->n_warnings - 1], more) == 0, n > 20);
        reading_free(&r);
        bytes_free(&text);
    }
}

TEST(bad_cells_are_refused_with_line_column_and_text)
{
    check_failure("a,b\n1,2\n3,abc\n", STATUS_BAD_INPUT,
                  "line 3, column 2 (b): \"abc\" is not a number", NULL);
    static const char *const bad[] = {"1e",  "1 2", "0x10", "--1",    "+-1", "1.2.3", "..",
                                      "1e+", "1_0", "e5",   "1.5e2x", "+",   "--",    "\"1\"2"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "1,2\n3,4\n%s,5\n", bad[i]);
        check_failure(text, STATUS_BAD_INPUT, "line 3, column 1: ", NULL);
    }
    check_failure("1,2\n3,ab\x01\xff"
                  "c\n",
                  STATUS_BAD_INPUT, "\"ab\\x01\\xffc\"", NULL);
    check_failure(
        "1,2\n3,aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
        STATUS_BAD_INPUT, "aaaa...\"", NULL);
    check_failure("1,2\n\"3,4\n", STATUS_BAD_INPUT, "never closed", NULL);
}

TEST(infinities_are_refused)
{
    static const char *const infinite[] = {"inf", "-Inf", "+infinity", "1e400", "-1e999999999"};
    for (size_t i = 0; i < sizeof infinite / sizeof infinite[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "1,2\n3,%s\n", infinite[i]);
        check_failure(text, STATUS_BAD_INPUT, "line 2, column 2",
                      "infinite or too large for a double; if it stands for a missing number: -s "
                      "missing_value=inf");
        const struct table_options listed = {.missing_value = "inf"};
        struct reading r = read_text(text, &listed);
        ASSERT_NUMBERS(&r, 1, 2, 3, NAN);
        assert_int_equal(r.n_missing, 1);
        reading_free(&r);
    }
}

/* The list has room for as many as it says, however an infinity counts. */
TEST(missing_values_beyond_the_list_are_refused)
{
    char list[8 * TABLE_MISSING_MAX + 16] = "";
    for (size_t i = 0; i < TABLE_MISSING_MAX + 2; i++) {
        struct table_options options = {0};
        snprintf(list + strlen(list), 8, "%s%zu", i > 0 ? "," : "", i);
        char with[sizeof list + 8];
        snprintf(with, sizeof with, "%s,inf", list);
        const enum status status = table_option_set(&options, TABLE_MISSING_VALUE, with);
        assert_int_equal(status, i + 1 < TABLE_MISSING_MAX ? STATUS_OK : STATUS_BAD_ARGUMENT);
    }
}

TEST(files_that_hold_no_table_are_refused)
{
    check_failure("", STATUS_BAD_INPUT, "is empty", NULL);
    check_failure("\n\n# nothing\n", STATUS_BAD_INPUT, "holds no cell", NULL);
    check_failure("\xef\xbb\xbf", STATUS_BAD_INPUT, "holds no cell", NULL);
    check_failure("\xff\xfe"
                  "1",
                  STATUS_BAD_INPUT, "UTF-16", "odd number of bytes");
    /* the first half of a character at the end is one character */
    static const char half[] = "\xff\xfe"
                               "1\0\n\0"
                               "2\0\0\xd8";
    struct reading r = read_bytes(half, sizeof half - 1, NULL, 4096);
    assert_failed(&r, STATUS_BAD_INPUT, "\"2\xef\xbf\xbd\"", NULL);
    reading_free(&r);
    r = read_bytes("\x89HDF\0\0\1,2\n", 11, NULL, 4096);
    assert_failed(&r, STATUS_BAD_INPUT, "byte 4 is 0", NULL);
    reading_free(&r);
}

TEST(truncated_gzip_of_a_table_is_refused)
{
    struct bytes text = {0};
    for (int i = 0; i < 20000; i++) {
        assert_int_equal(bytes_printf(&text, "%d,%d.5\n", i * 7919, i), STATUS_OK);
    }
    struct bytes packed = gzipped(text.data, text.len);
    struct reading r = read_bytes(packed.data, packed.len, NULL, 4096);
    assert_int_equal(r.status, STATUS_OK);
    assert_int_equal(r.n_numbers, 40000);
    assert_true(r.info->n_lines_estimate >= 20000);
    reading_free(&r);
    r = read_bytes(packed.data, packed.len - 1000, NULL, 4096);
    assert_failed(&r, STATUS_BAD_INPUT, "compressed byte", "cut short");
    reading_free(&r);
    bytes_free(&packed);
    bytes_free(&text);
}

/* A value that needs all its digits, in one of the forms that files have. */
static double awkward(uint64_t *x, char *text, size_t n)
{
    static const char *const forms[] = {"%.17g", "%.18e", "%.9g", "%.3f", "%+.17g", "%.25g", "%g"};
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    const uint64_t mantissa = *x >> 11;
    const int exponent = (int)(*x >> 3 & 63) - 60;
    const double value = ldexp((double)mantissa, exponent) * (*x & 4 ? -1 : 1);
    snprintf(text, n, forms[(*x >> 20) % 7], value);
    return strtod(text, NULL);
}

TEST(numbers_are_rounded_as_strtod_rounds_them)
{
    enum { N = 60000 };
    double *const expected = malloc(N * sizeof *expected);
    struct bytes text = {0};
    uint64_t x = 1;
    for (size_t i = 0; i < N; i++) {
        char number[400];
        expected[i] = awkward(&x, number, sizeof number);
        assert_int_equal(bytes_printf(&text, "%s%c", number, i % 5 == 4 ? '\n' : ','), STATUS_OK);
    }
    struct reading r = read_bytes(text.data, text.len, NULL, 1 << 16);
    assert_numbers(&r, expected, N);
    reading_free(&r);
    bytes_free(&text);
    free(expected);
}

TEST(the_hardest_decimals_are_rounded_right)
{
    static const char *const hard[] = {
        "0",
        "-0",
        "0.0",
        "-0.0e5",
        "00012",
        "5.",
        ".5",
        "-.5",
        "1e0",
        "1E5",
        "1e-5",
        "1e+5",
        "9007199254740993",
        "9007199254740992.5",
        "9007199254740993.0000000000000000000000001",
        "4.9e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "1e-400",
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "0.1",
        "0.3",
        "123456789012345678901234567890",
        "0.000000000000000000000000000000123456789012345678901234567890",
        "1090544144181609348671888949248",
        "7.2057594037927933e16",
        "1e22",
        "1e23",
        "18446744073709551615",
        "18446744073709551616",
        "9999999999999999999",
        "0.9999999999999999999",
        "1.00000000000000011102230246251565404236316680908203125",
        "1.00000000000000011102230246251565404236316680908203124",
        "1.00000000000000033306690738754696212708950042724609375",
        "6.631236846766476e-316"};
    for (size_t i = 0; i < sizeof hard / sizeof hard[0]; i++) {
        /* At the end of a text, and far from it: two ways through the parser. */
        char text[400];
        snprintf(text, sizeof text, "%s,1\n%s,2\n%s,3\n%s,%064d\n", hard[i], hard[i], hard[i],
                 hard[i], 4);
        const double value = strtod(hard[i], NULL);
        const double expected[] = {value, 1, value, 2, value, 3, value, 4};
        check_text(text, expected, 8);
        double parsed;
        assert_true(decimal_parse(hard[i], strlen(hard[i]), '.', &parsed));
        assert_memory_equal(&parsed, &value, sizeof value);
    }
}

TEST(the_air_quality_file_gives_thirteen_series)
{
    /* Beside the project's tree, where there is one; __FILE__ is in a folder of tests. */
    char full[4096];
    const char *const slash = strrchr(__FILE__, '/');
    snprintf(full, sizeof full, "%.*s../../../shared/data/airquality/airquality.clusters.csv",
             slash ? (int)(slash + 1 - __FILE__) : 0, __FILE__);
    const int fd = open(full, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        print_message("%s is not there\n", full);
        skip();
    }
    struct source *s;
    assert_int_equal(source_open(fd, "in.x", &s), STATUS_OK);
    const struct table_options options = {.missing_value = "-200"};
    struct reading r = read_source(s, &options, 1 << 16);
    assert_int_equal(r.status, STATUS_OK);
    assert_int_equal(r.info->cells_per_line, 13);
    assert_int_equal(r.n_numbers, 13 * 9357);
    assert_int_equal(r.n_missing, 16701); /* grep -o -- '-200' | wc -l */
    assert_int_equal(r.info->n_warnings, 4);
    assert_string_equal(r.info->names[0], "CO(GT)");
    assert_string_equal(r.info->names[12], "AH");
    reading_free(&r);
}

TEST(options_of_other_formats_are_told)
{
    const struct table_options options = {.columns = "1-2", .member = "a"};
    struct reading r = read_text(
        "ncols 3\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 5\n1 2 3\n4 5 6\n", &options);
    ASSERT_NUMBERS(&r, 1, 2, 3, 4, 5, 6);
    assert_false(r.info->used[TABLE_COLUMNS] || r.info->used[TABLE_MEMBER]);
    assert_int_equal(r.info->n_warnings, 2);
    assert_string_equal(r.info->warnings[0], "columns=1-2 is ignored: it applies to CSV and TSV");
    assert_string_equal(r.info->warnings[1], "member=a is ignored: it applies to .npz");
    reading_free(&r);
    r = read_text("1,2,3\n4,5,6\n", &options);
    ASSERT_NUMBERS(&r, 1, 2, 4, 5);
    assert_true(r.info->used[TABLE_COLUMNS] && !r.info->used[TABLE_MEMBER]);
    assert_int_equal(r.info->n_warnings, 1);
    assert_non_null(strstr(r.info->warnings[0], "member=a"));
    reading_free(&r);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
