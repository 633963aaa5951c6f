/*
 * test_sevenz_header - the header of a 7z is judged before libarchive reads it; a 7z is left alone
 * where it is to be.
 */
#include "formats/source/archive_input.h"
#include "tests/support/archive_support.h"

/* Its numbers must fit into what follows: 4096 bytes at most, packed and unpacked. */
TEST(the_header_of_a_7z_is_judged_before_libarchive_reads_it)
{
#define STREAM   "\x17\x06\x00\x01\x09\x05\x00\x07\x0b\x01\x00"
#define LZMA     "\x23\x03\x01\x01\x05\x5d\x00\x00\x01\x00"
#define SMALL    "\x90\x00" /* 4096 */
#define LARGE    "\x90\x01"
#define CRC      "\xc0\xc1\xc2\xc3"
#define PACKED   "\x01\x04\x06\x00\x01\x09\x05\x00\x07\x0b"
#define COPIED   PACKED "\x01\x00\x01\x01\x00\x0c\x05\x00"
#define FILES    "\x00\x05\x01xxxx"
#define ROW(...) __VA_ARGS__, sizeof __VA_ARGS__ - 1
    enum { PASSES, IS_UNUSUAL, IS_LARGE, IS_ENCRYPTED };
    static const enum status codes[] = {STATUS_BAD_INPUT, STATUS_BAD_INPUT, STATUS_TOO_LARGE,
                                        STATUS_UNSUPPORTED};
    static const struct {
        int what;
        const char *header;
        size_t n;
    } rows[] = {
        {PASSES, ROW("\x01\x00")},
        {PASSES, ROW("\x01\x05\x02\0\0\0\0\0\0\0\0")},
        {IS_UNUSUAL, ROW("\x01\x05\x02\0\0\0\0\0\0\0")},
        {IS_UNUSUAL, ROW("\x01\x05\xff\0\0\0\0\0\0\0\x80\0\0\0\0")},
        {IS_UNUSUAL, ROW("\x02\x00")},
        {IS_UNUSUAL, ROW("\x01\x02\x00\x05")},
        {PASSES, ROW(COPIED "\x08\x0d\x02\x00" FILES)}, /* files in a folder */
        {IS_UNUSUAL, ROW(COPIED "\x08\x0d\x03\x00" FILES)},
        {PASSES, ROW(COPIED "\x08\x0d\x02\x09\x04\x0a\x01" CRC CRC "\x00" FILES)},
        {IS_UNUSUAL, ROW(COPIED "\x08\x0d\x02\x09\x04\x0a\x01" CRC "\x00" FILES)},
        {PASSES, ROW(PACKED "\x02\x00\x01\x01\x00\x01\x01\x00\x0c\x05\x05\x0a\x00\x40" CRC
                            "\x00\x08\x0a\x01" CRC "\x00" FILES)}, /* one has its own checksum */
        {IS_UNUSUAL, ROW(PACKED "\x02\x00\x01\x01\x00\x01\x01\x00\x0c\x05\x05\x0a\x00\x40" CRC
                                "\x00\x08\x0a\x01" CRC CRC "\x00" FILES)},
        {IS_UNUSUAL, ROW(PACKED "\x02\x00\x01\x01\x00\x0c\x05\x00" FILES)},
        {IS_UNUSUAL, ROW(PACKED "\x40\x00\x01\x01\x00\x0c\x05\x00" FILES)},
        {IS_UNUSUAL, ROW("\x01\x04\x06\x00\x40\x09\x05\x00" FILES)},
        {PASSES,
         ROW("\x01\x04\x06\x00\x04\x09\1\1\1\1\x00\x07\x0b\x01\x00\x04\x01\x00\x01\x00\x01"
             "\x00\x14\x03\x03\x01\x1b\x04\x01\0\0\1\1\2\2\0\1\2\3\x0c\5\5\5\5\x00" FILES)}, /* BCJ2
                                                                                              */
        {IS_UNUSUAL, ROW(PACKED "\x01\x00\x01\x11\x00\x05\x01\0\0\0\0\0\x0c\x05\x00" FILES)},
        {IS_LARGE, ROW(STREAM "\x01" LZMA "\x0c" LARGE "\x00\x00")},
        {IS_LARGE, ROW(STREAM "\x01" LZMA "\x0c\xff\x00\x00\x00\x00\x00\x00\x00\x80\x00\x00")},
        {IS_LARGE, ROW(STREAM "\x01" LZMA "\x0c\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00")},
        {IS_LARGE, ROW(STREAM "\x01" LZMA "\x0c\xfe\x01\x10\x00\x00\x00\x00\x00\x00\x00")},
        {IS_LARGE, ROW("\x17\x06\x00\x01\x09\x05\x0a\x01" CRC "\x00\x07\x0b\x01\x00\x01" LZMA
                       "\x0c" LARGE "\x00\x00")},
        {IS_ENCRYPTED,
         ROW(STREAM "\x02" LZMA "\x24\x06\xf1\x07\x01\x01\x00\x00\x01\x0c" SMALL SMALL "\x00\x00")},
        {IS_UNUSUAL, ROW(STREAM "\x01" LZMA "\x0c" SMALL "\x00\x00")}, /* it does not unpack */
        {IS_UNUSUAL, ROW(STREAM "\x02" LZMA LZMA "\x00\x01\x0c" SMALL SMALL "\x00\x00")},
        {IS_UNUSUAL, ROW(STREAM "\x01" LZMA "\x0c")},
        {IS_UNUSUAL, ROW(STREAM "\x01\xa3\x03\x01\x01\x0c" SMALL "\x00\x00")},
        {IS_UNUSUAL, ROW(STREAM "\x05" LZMA LZMA LZMA LZMA LZMA)},
        {IS_UNUSUAL, ROW(STREAM "\x00\x0c\x00\x00")},
        {IS_UNUSUAL,
         ROW(STREAM "\x01\x23\x03\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x0c" SMALL)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned char data[256] = "7z\xbc\xaf\x27\x1c";
        data[12] = 5; /* the place of the header, behind 32 bytes */
        data[20] = (unsigned char)rows[i].n;
        memcpy(data + 37, rows[i].header, rows[i].n);
        struct bytes b = {.data = data, .len = 37 + rows[i].n};
        bool refused;
        const enum status code = open_and_go(
            &b, &(struct archive_input_options){.max_header_bytes = 16 * 4096}, &refused);
        if (code != codes[rows[i].what] || (strstr(status_message(), "in an unusual way") !=
                                            NULL) != (rows[i].what == IS_UNUSUAL)) {
            fail_msg("header %zu: %s", i, status_message());
        }
    }
}

TEST(a_header_of_a_7z_beyond_its_end_is_damaged_and_not_large)
{
    unsigned char data[33 + 4096] = "7z\xbc\xaf\x27\x1c";
    const struct archive_input_options options = {.max_header_bytes = 16 * 4096};
    struct bytes b = {.data = data, .len = sizeof data};
    bool refused;
    data[20] = 1;
    data[21] = 4096 >> 8;
    assert_int_equal(open_and_go(&b, &options, &refused), STATUS_TOO_LARGE);
    b.len--;
    assert_int_equal(open_and_go(&b, &options, &refused), STATUS_BAD_INPUT);
    assert_non_null(strstr(status_message(), "is damaged or incomplete"));
    data[19] = 0xFF; /* of the offset */
    assert_int_equal(open_and_go(&b, &options, &refused), STATUS_BAD_INPUT);
    assert_non_null(strstr(status_message(), "is damaged or incomplete"));
}

TEST(a_7z_archive_is_left_alone_where_it_is_to_be)
{
    const struct put one = {.name = "x.clusters.csv", .content = "1,2\n3,5\n"};
    struct bytes b = make_archive(SEVEN_ZIP, NULL, &one, 1);
    bool refused;
    assert_int_equal(open_and_go(&b, NULL, &refused), STATUS_OK);
    assert_int_equal(open_and_go(&b, &(struct archive_input_options){.without_7z = true}, &refused),
                     STATUS_UNSUPPORTED);
    bytes_free(&b);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
