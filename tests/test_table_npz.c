/*
 * test_table_npz - NumPy arrays in zip archives give their numbers; archives that are damaged or
 * leave open what is meant say so.
 */
#include "tests/npy_support.h"
#include "tests/read_fault.h"

#include <minizip/zip.h>

struct zip_member {
    const char *name;
    struct bytes content;
    bool stored, zip64;
};

/* A zip archive of these members, which are freed. */
static struct bytes zip_file(struct zip_member *members, size_t n)
{
    char path[] = "/tmp/leat_test_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    zipFile zip = zipOpen64(path, APPEND_STATUS_CREATE);
    assert_non_null(zip);
    for (size_t i = 0; i < n; i++) {
        struct zip_member *const m = &members[i];
        assert_int_equal(zipOpenNewFileInZip64(zip, m->name, NULL, NULL, 0, NULL, 0, NULL,
                                               m->stored ? 0 : Z_DEFLATED, 6, m->zip64),
                         ZIP_OK);
        assert_int_equal(zipWriteInFileInZip(zip, m->content.data, (unsigned)m->content.len),
                         ZIP_OK);
        assert_int_equal(zipCloseFileInZip(zip), ZIP_OK);
        bytes_free(&m->content);
    }
    assert_int_equal(zipClose(zip, NULL), ZIP_OK);
    struct bytes out = {0};
    unsigned char piece[4096];
    for (ssize_t got; (got = read(fd, piece, sizeof piece)) > 0;) {
        assert_int_equal(bytes_append(&out, piece, (size_t)got), STATUS_OK);
    }
    close(fd);
    unlink(path);
    return out;
}

static struct bytes small_array(double first)
{
    const double x[] = {first, 2, 3, 4, 5, 6};
    return array_file(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", x,
                      sizeof x);
}

static struct bytes line_array(void)
{
    static const double x[] = {7, 8};
    return array_file(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", x, sizeof x);
}

static struct bytes text_member(const char *text)
{
    struct bytes b = {0};
    assert_int_equal(bytes_append(&b, text, strlen(text)), STATUS_OK);
    return b;
}

static void the_only_table_of_an_archive_is_read(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        struct zip_member members[] = {
            {"readme.txt", text_member("x"), false, false},
            {"line.npy", line_array(), false, false},
            {"data.npy", small_array(1), (way & 1) != 0, (way & 2) != 0},
        };
        struct bytes zip = zip_file(members, 3);
        struct reading r = read_bytes(zip.data, zip.len, NULL, 64);
        ASSERT_NUMBERS(&r, 1, 2, 3, 4, 5, 6);
        assert_string_equal(r.info->format, "npz");
        assert_int_equal(r.info->n_lines, 2);
        uint32_t crc;
        assert_int_equal(source_crc(table_source(r.table), &crc), STATUS_OK);
        assert_int_equal(crc, crc32_z(0, zip.data, zip.len));
        reading_free(&r);
        bytes_free(&zip);
    }
}

static void a_member_is_chosen_by_name(void **state)
{
    (void)state;
    struct zip_member members[] = {
        {"a.npy", small_array(1), false, false},
        {"b.npy", small_array(9), true, false},
        {"../../c.npy", line_array(), false, false},
    };
    struct bytes zip = zip_file(members, 3);
    struct reading r = read_bytes(zip.data, zip.len, NULL, 64);
    assert_failed(&r, STATUS_BAD_INPUT, "2 members could be meant",
                  "\"a.npy\", \"b.npy\", \"../../c.npy\"");
    reading_free(&r);
    static const char *const names[] = {"b", "b.npy"};
    for (size_t i = 0; i < 2; i++) {
        const struct table_options options = {.member = names[i]};
        r = read_bytes(zip.data, zip.len, &options, 64);
        ASSERT_NUMBERS(&r, 9, 2, 3, 4, 5, 6);
        reading_free(&r);
    }
    const struct table_options one = {.member = "../../c"};
    r = read_bytes(zip.data, zip.len, &one, 64);
    ASSERT_NUMBERS(&r, 7, 8);
    reading_free(&r);
    const struct table_options none = {.member = "d"};
    r = read_bytes(zip.data, zip.len, &none, 64);
    assert_failed(&r, STATUS_BAD_ARGUMENT, "has no member \"d\"", "\"a.npy\"");
    reading_free(&r);
    bytes_free(&zip);
}

static void archives_without_a_readable_array_say_why(void **state)
{
    (void)state;
    struct bytes zip = zip_file(NULL, 0);
    struct reading r = read_bytes(zip.data, zip.len, NULL, 64);
    assert_failed(&r, STATUS_BAD_INPUT, "zip archive without members", NULL);
    reading_free(&r);
    bytes_free(&zip);

    static const double x[4] = {0};
    struct zip_member objects[] = {
        {"o.npy",
         array_file(1, "{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }", x, sizeof x),
         false, false}};
    zip = zip_file(objects, 1);
    r = read_bytes(zip.data, zip.len, NULL, 64);
    assert_failed(&r, STATUS_BAD_INPUT, "no member is a readable array", "Python objects");
    reading_free(&r);
    struct bytes packed = gzipped(zip.data, zip.len);
    r = read_bytes(packed.data, packed.len, NULL, 64);
    assert_failed(&r, STATUS_UNSUPPORTED, "gzipped zip archive", NULL);
    reading_free(&r);
    bytes_free(&packed);
    bytes_free(&zip);

    struct zip_member texts[] = {{"xl/\x1b[31m.xml", text_member("x"), false, false}};
    zip = zip_file(texts, 1);
    r = read_bytes(zip.data, zip.len, NULL, 64);
    assert_failed(&r, STATUS_BAD_INPUT, "no member is a readable array", "xl/\\x1b[31m.xml");
    reading_free(&r);
    bytes_free(&zip);
}

static void damaged_archives_are_refused(void **state)
{
    (void)state;
    struct zip_member members[] = {{"a.npy", small_array(1), true, false}};
    struct bytes zip = zip_file(members, 1);
    const size_t whole = zip.len;
    zip.len = whole - 30;
    struct reading r = read_bytes(zip.data, zip.len, NULL, 64);
    assert_failed(&r, STATUS_BAD_INPUT, "without a readable directory", NULL);
    reading_free(&r);
    zip.len = whole;
    const double three = 3;
    unsigned char *number = NULL;
    for (size_t i = 0; i + 8 <= whole && !number; i++) {
        number = memcmp(zip.data + i, &three, 8) == 0 ? zip.data + i : NULL;
    }
    assert_non_null(number);
    number[0] ^= 1;
    r = read_bytes(zip.data, zip.len, NULL, 64);
    assert_failed(&r, STATUS_BAD_INPUT, "member \"a.npy\"", "CRC-32");
    reading_free(&r);
    bytes_free(&zip);
}

/* Whichever read it is, the archive is not called damaged: the job is to be tried again. */
static void a_read_that_fails_is_no_damage(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        struct zip_member members[] = {
            {"line.npy", line_array(), false, false},
            {"data.npy", small_array(1), (way & 1) != 0, false},
        };
        const struct table_options options = {.member = (way & 2) != 0 ? "data" : NULL};
        struct bytes zip = zip_file(members, 2);
        bool failed = true;
        for (size_t k = 1; failed; k++) {
            struct source *const s = memory_source(zip.data, zip.len);
            reads_until_fault = k;
            struct reading r = read_source(s, &options, 64);
            failed = reads_until_fault == 0;
            reads_until_fault = 0;
            if (failed) {
                assert_failed(&r, STATUS_IO, "cannot read at byte ", "Input/output error");
            } else {
                assert_true(k > 10);
                ASSERT_NUMBERS(&r, 1, 2, 3, 4, 5, 6);
            }
            reading_free(&r);
        }
        bytes_free(&zip);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_only_table_of_an_archive_is_read),
        cmocka_unit_test(a_member_is_chosen_by_name),
        cmocka_unit_test(archives_without_a_readable_array_say_why),
        cmocka_unit_test(damaged_archives_are_refused),
        cmocka_unit_test(a_read_that_fails_is_no_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
