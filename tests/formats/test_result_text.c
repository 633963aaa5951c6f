/*
 * Text in results: strings become padded code points, the text of numbers reads back as the same
 * bits and is as short as can be, fields are quoted only where they must be.
 */
#include "formats/base/utf8.h"
#include "tests/support/result_support.h"

#include <float.h>
#include <math.h>

static void assert_text(const struct bytes *b, const char *expected)
{
    assert_int_equal(b->len, strlen(expected));
    assert_memory_equal(b->data, expected, b->len);
}

static uint32_t point_at(const struct bytes *stream, size_t at, size_t index)
{
    uint32_t point;
    memcpy(&point, stream->data + at + 4 * index, sizeof point);
    return point;
}

TEST(strings_are_padded_code_points)
{
    static const char *const strings[] = {"a", "", "h\xc3\xb6he", "\xf0\x9f\x8c\x8a", "x\xffy\xc3"};
    static const uint32_t expected[5][4] = {
        {'a'}, {0}, {'h', 0xf6, 'h', 'e'}, {0x1f30a}, {'x', 0xfffd, 'y', 0xfffd}};
    struct result r = new_result();
    struct result_file *f = add_file(&r, "a.npz", PACK_ZIP);
    assert_int_equal(result_add_strings(f, "names", 5, strings), STATUS_OK);
    struct bytes stream = join(&f->members[0]);
    const size_t at =
        assert_header(&stream, "{'descr': '<U4', 'fortran_order': False, 'shape': (5,), }");
    assert_int_equal(stream.len, at + sizeof expected);
    assert_memory_equal(stream.data + at, expected, sizeof expected);
    bytes_free(&stream);
    result_free(&r);
}

TEST(no_strings_and_empty_strings_have_width_one)
{
    static const char *const empty[] = {"", ""};
    struct result r = new_result();
    struct result_file *f = add_file(&r, "a.npz", PACK_ZIP);
    assert_int_equal(result_add_strings(f, "none", 0, NULL), STATUS_OK);
    assert_int_equal(result_add_strings(f, "empty", 2, empty), STATUS_OK);
    struct bytes none = join(&f->members[0]), two = join(&f->members[1]);
    assert_int_equal(
        assert_header(&none, "{'descr': '<U1', 'fortran_order': False, 'shape': (0,), }"),
        none.len);
    assert_int_equal(
        assert_header(&two, "{'descr': '<U1', 'fortran_order': False, 'shape': (2,), }") + 8,
        two.len);
    bytes_free(&none);
    bytes_free(&two);
    result_free(&r);
}

TEST(strings_go_on_across_pieces)
{
    enum { N = 40000, WIDTH = 13 }; /* 2 MB: a row is cut by each piece's end */
    char(*names)[WIDTH + 2] = calloc(N, sizeof *names);
    const char **strings = calloc(N, sizeof *strings);
    assert_non_null(names);
    assert_non_null(strings);
    for (size_t i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "s\xc3\xa9ries %05zu", i % 100000);
        strings[i] = names[i];
    }
    struct result r = new_result();
    struct result_file *f = add_file(&r, "a.npz", PACK_ZIP);
    assert_int_equal(result_add_strings(f, "names", N, strings), STATUS_OK);
    free(names);
    free(strings);
    struct bytes stream = join(&f->members[0]);
    const size_t at =
        assert_header(&stream, "{'descr': '<U12', 'fortran_order': False, 'shape': (40000,), }");
    assert_int_equal(stream.len, at + 4 * 12 * (size_t)N);
    assert_true(f->members[0].n_pieces == 2);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(point_at(&stream, at, 12 * i), 's');
        assert_int_equal(point_at(&stream, at, 12 * i + 1), 0xe9);
        size_t number = 0;
        for (size_t k = 7; k < 12; k++) {
            number = 10 * number + point_at(&stream, at, 12 * i + k) - '0';
        }
        assert_int_equal(number, i);
    }
    bytes_free(&stream);
    result_free(&r);
}

TEST(wrong_utf8_becomes_one_mark_for_each_maximal_part)
{
    static const struct {
        const char *bytes, *valid;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"\xc3\xbc\xe2\x82\xac\xf0\x9f\x8c\x8a\xf4\x8f\xbf\xbf",
         "\xc3\xbc\xe2\x82\xac\xf0\x9f\x8c\x8a\xf4\x8f\xbf\xbf"},
        {"\x80", "\xef\xbf\xbd"},
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                                 /* overlong */
        {"\xe0\x80\xaf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                 /* overlong */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                 /* surrogate */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* too large */
        {"\xe2\x82", "\xef\xbf\xbd"},                                             /* cut */
        {"\xf0\x9f\x8cx", "\xef\xbf\xbdx"},
        {"\xef\xbf\xbd", "\xef\xbf\xbd"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct bytes out = {.len = 0};
        assert_int_equal(utf8_append_valid(&out, cases[k].bytes), STATUS_OK);
        assert_text(&out, cases[k].valid);
        bytes_free(&out);
    }
}

static void assert_f64_text(double value, const char *expected)
{
    struct bytes out = {.len = 0};
    assert_int_equal(result_put_f64(&out, value), STATUS_OK);
    assert_text(&out, expected);
    bytes_free(&out);
}

TEST(numbers_that_matter_have_their_usual_text)
{
    assert_f64_text(0, "0");
    assert_f64_text(-0.0, "-0");
    assert_f64_text(0.1, "0.1");
    assert_f64_text(-1, "-1");
    assert_f64_text(1.0 / 3, "0.3333333333333333");
    assert_f64_text(DBL_MAX, "1.7976931348623157e+308");
    assert_f64_text(4.9406564584124654e-324, "5e-324");
    assert_f64_text((double)NAN, "nan");
    assert_f64_text(-(double)NAN, "nan");
    assert_f64_text((double)INFINITY, "inf");
    assert_f64_text(-(double)INFINITY, "-inf");
}

/* The length of the shortest of printf's texts that reads back as the value. */
static size_t shortest_of_printf(double value)
{
    size_t best = SIZE_MAX;
    for (int digits = 0; digits < 18; digits++) {
        char text[400];
        for (int style = 0; style < 2; style++) {
            snprintf(text, sizeof text, style == 0 ? "%.*e" : "%.*f", digits, value);
            if (strtod(text, NULL) == value && strlen(text) < best) {
                best = strlen(text);
            }
        }
    }
    return best;
}

TEST(any_double_reads_back_from_the_shortest_text)
{
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        double value;
        struct bytes out = {.len = 0};
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        if (i % 2 == 0) {
            memcpy(&value, &x, sizeof value);
        } else {
            value = (double)(int64_t)(x >> 40) / 1000;
        }
        if (!isfinite(value)) {
            continue;
        }
        assert_int_equal(result_put_f64(&out, value), STATUS_OK);
        assert_true(i > 2000 || out.len <= shortest_of_printf(value));
        assert_int_equal(bytes_append(&out, "", 1), STATUS_OK);
        const double again = strtod((const char *)out.data, NULL);
        assert_memory_equal(&again, &value, sizeof value);
        bytes_free(&out);
    }
}

TEST(any_float_reads_back_from_its_text)
{
    uint32_t x = 1;
    for (int i = 0; i < 20000; i++) {
        float value;
        struct bytes out = {.len = 0};
        x = x * 1664525 + 1013904223;
        memcpy(&value, &x, sizeof value);
        if (!isfinite(value)) {
            continue;
        }
        assert_int_equal(result_put_f32(&out, value), STATUS_OK);
        assert_true(out.len <= 15); /* -1.23456789e-38 */
        assert_int_equal(bytes_append(&out, "", 1), STATUS_OK);
        const float again = strtof((const char *)out.data, NULL);
        assert_memory_equal(&again, &value, sizeof value);
        bytes_free(&out);
    }
    struct bytes out = {.len = 0};
    assert_int_equal(result_put_f32(&out, 0.1f), STATUS_OK);
    assert_text(&out, "0.1");
    bytes_free(&out);
}

TEST(counts_are_decimal)
{
    static const uint64_t values[] = {0, 1, 9, 10, 99, 100, 1234567890123456789u, UINT64_MAX};
    for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
        char expected[24];
        struct bytes out = {.len = 0};
        snprintf(expected, sizeof expected, "%ju", (uintmax_t)values[k]);
        assert_int_equal(result_put_u64(&out, values[k]), STATUS_OK);
        assert_text(&out, expected);
        bytes_free(&out);
    }
}

TEST(fields_are_quoted_only_where_they_must_be)
{
    static const struct {
        const char *text, *field;
    } cases[] = {{"", ""},
                 {"plain text", "plain text"},
                 {"a,b", "\"a,b\""},
                 {"\"", "\"\"\"\""},
                 {"say \"so\"", "\"say \"\"so\"\"\""},
                 {"two\nlines", "\"two\nlines\""},
                 {"a\rb", "\"a\rb\""}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct bytes out = {.len = 0};
        assert_int_equal(result_put_field(&out, cases[k].text), STATUS_OK);
        assert_text(&out, cases[k].field);
        bytes_free(&out);
    }
}

TEST(a_name_that_a_spreadsheet_would_run_is_text)
{
    static const struct {
        const char *text, *field;
    } cases[] = {
        {"=1+1", "'=1+1"},
        {"@SUM(A1)", "'@SUM(A1)"},
        {"+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"},
        {"-2+3", "'-2+3"},
        {"\t=1", "'\t=1"},
        {"\r=1", "\"'\r=1\""},
        {"=HYPERLINK(\"http://x\",1)", "\"'=HYPERLINK(\"\"http://x\"\",1)\""},
        {"-", "'-"},
        {"-inf", "'-inf"},
        {"-5", "-5"},
        {"+1.5e-3", "+1.5e-3"},
        {"-0,25", "\"-0,25\""},
        {"a=b", "a=b"},
        {"'=1", "'=1"},
        {" =1", " =1"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct bytes out = {.len = 0};
        assert_int_equal(result_put_field(&out, cases[k].text), STATUS_OK);
        assert_text(&out, cases[k].field);
        bytes_free(&out);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
