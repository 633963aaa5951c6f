/*
 * test_table_npy - NumPy arrays give their numbers; headers that lie are refused before anything is
 * believed. In zip archives: test_table_npz.c.
 */
#include "tests/support/npy_support.h"

static struct reading read_array(int version, const char *literal, const void *data, size_t n)
{
    struct bytes file = array_file(version, literal, data, n);
    struct reading r = read_bytes(file.data, file.len, NULL, 64);
    bytes_free(&file);
    return r;
}

TEST(f8_is_read_in_chunks_as_it_is)
{
    double x[257 * 3];
    for (size_t i = 0; i < 257 * 3; i++) {
        x[i] = (double)i / 3 - 100;
    }
    x[5] = NAN;
    x[6] = INFINITY;
    for (int version = 1; version <= 3; version++) {
        struct reading r = read_array(
            version, "{'descr': '<f8', 'fortran_order': False, 'shape': (257, 3), }", x, sizeof x);
        assert_numbers(&r, x, 257 * 3);
        assert_int_equal(r.info->n_lines, 257);
        assert_int_equal(r.info->cells_per_line, 3);
        assert_false(r.info->lines_are_columns);
        assert_string_equal(r.info->format, "npy");
        reading_free(&r);
    }
}

TEST(fortran_order_makes_lines_of_columns)
{
    static const double x[] = {1, 2, 3, 4, 5, 6};
    struct reading r =
        read_array(1, "{'shape': (3, 2), 'fortran_order': True, 'descr': '<f8'}", x, sizeof x);
    assert_numbers(&r, x, 6);
    assert_int_equal(r.info->n_lines, 2);
    assert_int_equal(r.info->cells_per_line, 3);
    assert_true(r.info->lines_are_columns);
    reading_free(&r);
}

TEST(one_dimension_is_one_line)
{
    static const double x[33] = {1, 2};
    struct reading r =
        read_array(1, "{\"descr\":\"<f8\",\"fortran_order\":True,\"shape\":(33L,)}", x, sizeof x);
    assert_numbers(&r, x, 33);
    assert_int_equal(r.info->n_lines, 1);
    assert_int_equal(r.info->cells_per_line, 33);
    assert_false(r.info->lines_are_columns);
    reading_free(&r);
}

static void check_type(const char *descr, const unsigned char *data, size_t n,
                       const double expected[2])
{
    char literal[128];
    snprintf(literal, sizeof literal, "{'descr': '%s', 'fortran_order': False, 'shape': (1, 2), }",
             descr);
    struct reading r = read_array(1, literal, data, n);
    if (r.status) {
        fail_msg("%s: %s", descr, status_message());
    }
    if (strcmp(descr + 1, "f4") == 0) {
        float x[2];
        assert_int_equal(r.info->dtype, DTYPE_F32);
        assert_int_equal(r.numbers.len, sizeof x);
        memcpy(x, r.numbers.data, sizeof x);
        assert_true((double)x[0] == expected[0] && (double)x[1] == expected[1]);
    } else {
        assert_numbers(&r, expected, 2);
    }
    reading_free(&r);
}

/* The numbers' bytes in little-endian order, and reversed for big. */
static void check_both_orders(const char *type, const unsigned char *data, size_t width, double a,
                              double b)
{
    unsigned char swapped[16];
    char descr[8];
    const double expected[] = {a, b};
    for (size_t i = 0; i < 2 * width; i++) {
        swapped[i] = data[i - i % width + width - 1 - i % width];
    }
    snprintf(descr, sizeof descr, "<%s", type);
    check_type(descr, data, 2 * width, expected);
    snprintf(descr, sizeof descr, ">%s", type);
    check_type(descr, swapped, 2 * width, expected);
}

TEST(every_type_is_read_in_either_byte_order)
{
    check_type("|i1", (const unsigned char *)"\x80\x7f", 2, (const double[]){-128, 127});
    check_type("|u1", (const unsigned char *)"\xff\x01", 2, (const double[]){255, 1});
    check_type("<u1", (const unsigned char *)"\xff\x01", 2, (const double[]){255, 1});
    check_both_orders("i2", (const unsigned char *)"\x00\x80\x34\x12", 2, -32768, 0x1234);
    check_both_orders("u2", (const unsigned char *)"\x00\x80\x34\x12", 2, 32768, 0x1234);
    check_both_orders("i4", (const unsigned char *)"\xff\xff\xff\xff\x78\x56\x34\x12", 4, -1,
                      0x12345678);
    check_both_orders("u4", (const unsigned char *)"\xff\xff\xff\xff\x78\x56\x34\x12", 4,
                      4294967295.0, 0x12345678);
    /* 2^53 + 1 lies between two doubles and goes to the even one; 2^64 - 1 to 2^64. */
    static const unsigned char wide[] = {1,    0,    0,    0,    0,    0,    0x20, 0,
                                         0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    check_both_orders("i8", wide, 8, 9007199254740992.0, -1);
    check_both_orders("u8", wide, 8, 9007199254740992.0, 18446744073709551616.0);
    static const unsigned char single[] = {0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0};
    check_both_orders("f4", single, 4, 1.5, -2);
    static const unsigned char wide_float[] = {0, 0, 0, 0, 0, 0, 0xf8, 0x3f,
                                               0, 0, 0, 0, 0, 0, 0,    0xc0};
    check_both_orders("f8", wide_float, 8, 1.5, -2);
    /* 1.5, and the smallest number of all, 2^-24; the largest, and minus infinity */
    check_both_orders("f2", (const unsigned char *)"\x00\x3e\x01\x00", 2, 1.5, ldexp(1, -24));
    check_both_orders("f2", (const unsigned char *)"\xff\x7b\x00\xfc", 2, 65504, -INFINITY);
    check_type("|b1", (const unsigned char *)"\x01\x00", 2, (const double[]){1, 0});
}

TEST(the_missing_value_becomes_nan)
{
    const struct table_options options = {.missing_value = "-999.9"};
    static const double x[] = {1, -999.9, 3, NAN};
    static const float y[] = {1, -999.9f, 3, NAN};
    struct bytes file =
        array_file(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2)}", x, sizeof x);
    struct reading r = read_bytes(file.data, file.len, &options, 64);
    ASSERT_NUMBERS(&r, 1, NAN, 3, NAN);
    reading_free(&r);
    bytes_free(&file);
    file = array_file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}", y, sizeof y);
    r = read_bytes(file.data, file.len, &options, 64);
    assert_int_equal(r.status, STATUS_OK);
    float z[4];
    memcpy(z, r.numbers.data, sizeof z);
    assert_true(z[0] == 1 && isnan(z[1]) && z[2] == 3 && isnan(z[3]));
    reading_free(&r);
    bytes_free(&file);
}

/* Of either sign, in numbers of any width. */
TEST(an_infinity_that_is_listed_is_missing)
{
    static const char *const lists[] = {"inf", "-9,-Infinity"};
    static const double x[] = {1, INFINITY, -INFINITY, 2};
    static const float y[] = {1, INFINITY, -INFINITY, 2};
    for (size_t k = 0; k < 4; k++) {
        const struct table_options options = {.missing_value = lists[k / 2]};
        struct bytes file =
            k % 2 == 0 ? array_file(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2)}",
                                    x, sizeof x)
                       : array_file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}",
                                    y, sizeof y);
        struct reading r = read_bytes(file.data, file.len, &options, 64);
        assert_int_equal(r.status, STATUS_OK);
        for (size_t i = 0; i < 4; i++) {
            double wide;
            float narrow;
            memcpy(&wide, r.numbers.data + 8 * (k % 2 == 0 ? i : 0), sizeof wide);
            memcpy(&narrow, r.numbers.data + 4 * i, sizeof narrow);
            const double v = k % 2 == 0 ? wide : (double)narrow;
            assert_true(i == 0 || i == 3 ? v == x[i] : isnan(v));
        }
        reading_free(&r);
        bytes_free(&file);
    }
}

TEST(headers_that_are_no_literal_are_refused)
{
    static const char *const wrong[] = {
        "",
        "{",
        "{}",
        "[]",
        "{'descr': '<f8', 'fortran_order': False}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2)} x",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), 'more': 1}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), 'descr': '<f8'}",
        "{'descr': '<f8' 'fortran_order': False, 'shape': (2, 2)}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (2, 2)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 4}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2 2)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,, 2)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-2, -2)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999, 1)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2",
        "{'descr': __import__('os').system('x'), 'fortran_order': False, 'shape': (2, 2)}",
        "{'de\\'scr': '<f8'}",
        "{'descr': '<f8",
        "{'descr': '\"<f8\"', 'fortran_order': False, 'shape': (2, 2)}",
        "{'descr': 8, 'fortran_order': False, 'shape': (2, 2)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2.0, 2)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': ((2, 2),)}",
    };
    static const double x[4] = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct reading r = read_array(1, wrong[i], x, sizeof x);
        if (r.status != STATUS_BAD_INPUT) {
            fail_msg("taken: %s", wrong[i]);
        }
        assert_failed(&r, STATUS_BAD_INPUT, "byte ", "npy header");
        reading_free(&r);
    }
}

TEST(types_and_shapes_that_are_not_taken_are_named)
{
    static const struct {
        const char *descr, *shape, *text;
    } cases[] = {
        {"'|O'", "(2, 2)", "Python objects"},   {"'<c16'", "(2, 2)", "\"<c16\""},
        {"'<f1'", "(2, 2)", "\"<f1\""},         {"'|S8'", "(2, 2)", "\"|S8\""},
        {"'<b2'", "(2, 2)", "\"<b2\""},         {"'|f8'", "(2, 2)", "\"|f8\""},
        {"'<M8[ns]'", "(2, 2)", "\"<M8[ns]\""}, {"[('a', '<f8')]", "(4,)", "structured"},
        {"'<f8'", "()", "0 dimensions"},        {"'<f8'", "(1, 2, 2)", "3 dimensions"},
    };
    static const double x[4] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char literal[128];
        snprintf(literal, sizeof literal, "{'descr': %s, 'fortran_order': False, 'shape': %s, }",
                 cases[i].descr, cases[i].shape);
        struct reading r = read_array(1, literal, x, sizeof x);
        assert_failed(&r, STATUS_UNSUPPORTED, cases[i].text, NULL);
        reading_free(&r);
    }
}

TEST(claims_beyond_the_file_are_refused_at_once)
{
    static const char *const shapes[] = {"(1000000000000, 8)", "(4611686018427387904, 4)",
                                         "(9223372036854775807, 9223372036854775807)", "(3, 2)"};
    static const double x[4] = {0};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        char literal[160];
        snprintf(literal, sizeof literal, "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }",
                 shapes[i]);
        struct bytes file = array_file(1, literal, x, sizeof x);
        struct table *t;
        assert_int_equal(table_open(memory_source(file.data, file.len), NULL, &t),
                         STATUS_BAD_INPUT);
        assert_null(t);
        assert_non_null(strstr(status_message(), "claims"));
        struct bytes packed = gzipped(file.data, file.len);
        struct reading r = read_bytes(packed.data, packed.len, NULL, 64);
        assert_failed(&r, STATUS_BAD_INPUT, "claims", NULL);
        reading_free(&r);
        bytes_free(&packed);
        bytes_free(&file);
    }
}

TEST(arrays_without_numbers_truncated_ones_and_trailing_bytes_are_refused)
{
    static const char literal[] = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }";
    static const double x[5] = {0};
    struct reading r = read_array(1, literal, x, 31);
    assert_failed(&r, STATUS_BAD_INPUT, "only 31 bytes follow", NULL);
    reading_free(&r);
    r = read_array(1, literal, x, 33);
    assert_failed(&r, STATUS_BAD_INPUT, "1 bytes more than its header claims", NULL);
    reading_free(&r);
    r = read_array(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 2), }", x, 0);
    assert_failed(&r, STATUS_BAD_INPUT, "holds no numbers", NULL);
    reading_free(&r);
    r = read_array(4, literal, x, 32);
    assert_failed(&r, STATUS_UNSUPPORTED, "version 4.0", NULL);
    reading_free(&r);
    struct bytes file = array_file(1, literal, x, 32);
    for (size_t n = 6; n < file.len - 32; n++) {
        r = read_bytes(file.data, n, NULL, 64);
        assert_failed(&r, STATUS_BAD_INPUT, "ends within its npy header", NULL);
        reading_free(&r);
    }
    bytes_free(&file);
}

TEST(gzipped_arrays_are_read_and_their_ends_checked)
{
    static const char literal[] = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }";
    static const double x[5] = {1, 2, 3, 4};
    struct bytes file = array_file(1, literal, x, 32);
    struct bytes packed = gzipped(file.data, file.len);
    struct reading r = read_bytes(packed.data, packed.len, NULL, 64);
    ASSERT_NUMBERS(&r, 1, 2, 3, 4);
    reading_free(&r);
    packed.data[packed.len - 5] ^= 1;
    r = read_bytes(packed.data, packed.len, NULL, 64);
    assert_failed(&r, STATUS_BAD_INPUT, "damaged gzip data", NULL);
    reading_free(&r);
    bytes_free(&packed);
    packed = gzipped(file.data, file.len - 1);
    r = read_bytes(packed.data, packed.len, NULL, 64);
    assert_failed(&r, STATUS_BAD_INPUT, "ends here", NULL);
    reading_free(&r);
    bytes_free(&packed);
    assert_int_equal(bytes_append(&file, "x", 1), STATUS_OK);
    packed = gzipped(file.data, file.len);
    r = read_bytes(packed.data, packed.len, NULL, 64);
    assert_failed(&r, STATUS_BAD_INPUT, "more follows", NULL);
    reading_free(&r);
    bytes_free(&packed);
    bytes_free(&file);
}

TEST(a_type_that_is_a_zero_byte_is_no_order)
{
    static const double x[4] = {0};
    struct bytes file =
        array_file(1, "{'descr': '@f8', 'fortran_order': False, 'shape': (2, 2), }", x, sizeof x);
    *(char *)memchr(file.data, '@', file.len) = '\0';
    struct reading r = read_bytes(file.data, file.len, NULL, 64);
    assert_failed(&r, STATUS_BAD_INPUT, "byte ", "npy header");
    reading_free(&r);
    bytes_free(&file);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
