/*
 * test_table_csv_ends - delimited text whose lines or quotes do not end as they should is refused
 * with the place where that shows.
 */
#include "tests/support/csv_support.h"

TEST(line_ends_of_cr_alone_are_refused_with_their_place)
{
    static const struct {
        const char *text, *place;
    } alone[] = {
        {"a,b,c\r1,2,3\r2,5,1\r4,1,7\r", "line 1, column 3: \"c\\x0d1\""},
        {"1,2\r3,4", "line 1, column 2: "},
        {"1\r2\r3\r", "line 1, column 1: "},
        {"1 2\r3 4\r", "line 1, column 2: "},
        {"1 2 \r 3 4\n5 6\n", "line 1, column 3: "},
        {"\"a\",\"b\"\r1,2\r", "line 1, column 2: "},
        {"# made by x\r1,2\r3,4\r", "line 1, column 1: "},
        {"\r \r1,2\n3,4\n", "line 1, column 1: "},
        {"a,b\n# x\r1,2\n3,4\n5,6\n", "line 2, column 1: "},
        {"1,2\n3,4\n5,6\r7,8\n", "line 3, column 2: "},
        {"1,2\n3,4\n5,\r6\n", "line 3, column 2: "},
        {"1,2\n3,4\n5\r,6\n", "line 3, column 1: "},
        {"1,2\n3,4\n5, \r\n\n# x\r7,8\n", "line 5, column 1: "},
        {"1;2\n3;4\n5;6\r \n", "line 3, column 2: "},
        {"n,a\nx,1\ny,2\nz\rw,3\n", "line 4, column 1: "},
        {"a,w\n1,x\n2,y\n3,z\r4\n", "line 4, column 2: "},
        {"a,w\n1,x\n2,y\n3,\"z\"\r\"4\"\n", "line 4, column 2: "},
        {"a,w,b\n1,,2\n3,,4\n5,\r,6\n", "line 4, column 2: "},
        {"# \"made\rby\" x\na\n1\n", "line 1, column 1: "},
        {"1,2\n# x,\"y\rz\",\n3,4\n", "line 2, column 1: "},
    };
    for (size_t i = 0; i < sizeof alone / sizeof alone[0]; i++) {
        check_failure(alone[i].text, STATUS_BAD_INPUT, alone[i].place,
                      "lines end with CR alone: convert them to LF");
    }
}

TEST(a_long_text_of_cr_alone_is_refused_at_its_first_line)
{
    static const char *const begins[] = {"", "a,b\n", "# x\n", "\"a \r b\",b\r"};
    static const char *const places[] = {
        "line 1, column 2: ", "line 2, column 2: ", "line 2, column 2: ", "line 1, column 2: "};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        struct bytes text = {0};
        assert_int_equal(bytes_printf(&text, "%s", begins[i]), STATUS_OK);
        for (int line = 0; line < 30000; line++) {
            assert_int_equal(bytes_printf(&text, "%d,2.5\r", line), STATUS_OK);
        }
        struct reading r = read_bytes(text.data, text.len, NULL, 1 << 16);
        assert_failed(&r, STATUS_BAD_INPUT, places[i], "lines end with CR alone");
        reading_free(&r);
        bytes_free(&text);
    }
}

/* Wherever the chunks' ends fall. */
TEST(a_cr_in_a_long_comment_ends_its_line_or_is_refused)
{
    static const struct {
        const char *after;
        bool refused;
    } cases[] = {{"\n3\n", false},     {"\r\n3\n", false}, {"\r\r\n3\n", false}, {"\rx\n3\n", true},
                 {"\r\rx\n3\n", true}, {"\r", false},      {"\rx", true}};
    for (int n = 0; n < 200; n++) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct bytes text = {0};
            assert_int_equal(bytes_printf(&text, "1\n2\n#%0*d%s", n, 0, cases[i].after), STATUS_OK);
            struct reading r = read_bytes(text.data, text.len, NULL, 64);
            if (cases[i].refused) {
                assert_failed(&r, STATUS_BAD_INPUT, "line 3", "lines end with CR alone");
            } else {
                assert_int_equal(r.status, STATUS_OK);
            }
            reading_free(&r);
            bytes_free(&text);
        }
    }
}

TEST(cr_is_passed_before_a_line_end_and_within_quotes)
{
    CHECK_TEXT("1,2\r\n3,4\r\n5,6\r", 1, 2, 3, 4, 5, 6);
    CHECK_TEXT("1,2\r\r\n3,\"4\"\r\r\n\r\r\n5,6\r\r", 1, 2, 3, 4, 5, 6);
    CHECK_TEXT("1 2 \r\n3 4\r\r\n \r\n5 6\r", 1, 2, 3, 4, 5, 6);
    CHECK_TEXT("# x\r\n1,2\r\n# y\r\r\n3,\r\n", 1, 2, 3, NAN);
    CHECK_TEXT("\"x\ry\",1,2\n\"z\r\",3,4\r\n\"\r\n\",,\r\n", 1, 2, 3, 4, NAN, NAN);
}

TEST(a_quote_that_is_never_closed_is_named)
{
    static const struct {
        const char *text, *place;
    } open[] = {
        {"a,b\n1,\"2\n3,4\n", "line 2, column 2: "},
        {"\"a,b\n1,2\n3,4\n", "line 1, column 1: "},
        {"a,b\n\"1,2\n3,4\n", "line 2, column 1: "},
        {"a,\"b\n1,2\n3,4\n", "line 1, column 2: "},
        {"# x\n\na,b,c\n1,\"2\n\",\"3\n4,5,6\n", "line 5, column 3: "},
        {"a,b\n1,2\n3,\"4\n5,6\n", "line 3, "},
        {"x,\"", "line 1, column 2: "},
    };
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        check_failure(open[i].text, STATUS_BAD_INPUT, open[i].place, "a quote is never closed");
    }
}

TEST(lines_are_not_counted_where_a_quote_swallows_them)
{
    enum { BEFORE = 100 }; /* beyond what is looked at in any case */
    struct bytes text = {0};
    for (int i = 0; i < BEFORE; i++) {
        assert_int_equal(bytes_append(&text, "1,2\n", 4), STATUS_OK);
    }
    assert_int_equal(bytes_append(&text, "3,\"4\n5,6\n", 9), STATUS_OK);
    struct reading r = read_bytes(text.data, text.len, NULL, 4096);
    assert_failed(&r, STATUS_BAD_INPUT, "never closed", NULL);
    assert_int_equal(r.info->n_lines, 0);
    reading_free(&r);
    bytes_free(&text);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
