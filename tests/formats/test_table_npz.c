/*
 * test_table_npz - NumPy arrays in zip archives give their numbers; archives that are damaged or
 * leave open what is meant say so.
 * ctest: wrap=pread64 link=PkgConfig::MINIZIP
 */
#include "tests/support/npy_support.h"
#include "tests/support/read_fault.h"
#include "tests/support/zip_made.h"

#include <inttypes.h>

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

TEST(the_only_table_of_an_archive_is_read)
{
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

TEST(a_member_is_chosen_by_name)
{
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

static void check_choice(struct bytes *zip, const char *first, const char *second)
{
    struct reading r = read_bytes(zip->data, zip->len, NULL, 64);
    assert_failed(&r, STATUS_BAD_INPUT, first, second);
    reading_free(&r);
    bytes_free(zip);
}

TEST(members_that_could_be_meant_are_counted_and_some_are_listed)
{
    struct zip_member lines[] = {{"a.npy", line_array(), false, false},
                                 {"b.npy", line_array(), false, false}};
    struct bytes zip = zip_file(lines, 2);
    check_choice(&zip, "2 members could be meant (\"a.npy\", \"b.npy\")", NULL);
    static const char *const names[] = {"a.npy", "b.npy", "c.npy", "d.npy", "e.npy",
                                        "f.npy", "g.npy", "h.npy", "i.npy", "j.npy",
                                        "k.npy", "l.npy", "m.npy", "n.npy"};
    for (size_t n = 11; n <= 14; n++) { /* twelve are listed */
        struct zip_member many[14];
        struct bytes told = {0};
        for (size_t i = 0; i < n; i++) {
            many[i] = (struct zip_member){names[i], small_array(1), false, false};
            assert_int_equal(i < 12 ? bytes_printf(&told, "%s\"%s\"", i ? ", " : "", names[i])
                                    : STATUS_OK,
                             STATUS_OK);
        }
        char counted[32];
        snprintf(counted, sizeof counted, "%zu members could be meant", n);
        assert_int_equal(bytes_printf(&told, "%s); say which one", n > 12 ? ", ..." : ""),
                         STATUS_OK);
        zip = zip_file(many, n);
        check_choice(&zip, counted, (const char *)told.data);
        bytes_free(&told);
    }
}

TEST(a_member_that_is_encrypted_is_refused_as_that)
{
    struct zip_member member = {"a.npy", small_array(1), false, false};
    struct bytes zip = zip_file(&member, 1);
    unsigned char *const entry = memmem(zip.data, zip.len, "PK\1\2", 4);
    assert_non_null(entry);
    entry[8] |= 1;
    check_choice(&zip, "no member is a readable array", "is encrypted");
}

/* As copies by blocks, and archives padded to them, leave behind. */
TEST(what_stands_behind_an_archive_does_not_hide_it)
{
    static const size_t behind[] = {1, 512, 0xffff};
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        const size_t n = behind[i];
        struct zip_member member = {"data.npy", small_array(1), false, false};
        struct bytes zip = zip_file(&member, 1);
        assert_int_equal(bytes_reserve(&zip, n), STATUS_OK);
        memset(zip.data + zip.len, 0, n);
        zip.len += n;
        struct reading r = read_bytes(zip.data, zip.len, NULL, 64);
        ASSERT_NUMBERS(&r, 1, 2, 3, 4, 5, 6);
        reading_free(&r);
        bytes_free(&zip);
    }
}

TEST(archives_without_a_readable_array_say_why)
{
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
    assert_failed(&r, STATUS_UNSUPPORTED, "is a zip archive from gzip", NULL);
    reading_free(&r);
    bytes_free(&packed);
    bytes_free(&zip);

    struct zip_member texts[] = {{"yl/\x1b[31m.xml", text_member("x"), false, false}};
    zip = zip_file(texts, 1);
    r = read_bytes(zip.data, zip.len, NULL, 64);
    assert_failed(&r, STATUS_BAD_INPUT, "no member is a readable array", "yl/\\x1b[31m.xml");
    reading_free(&r);
    bytes_free(&zip);
}

/* A zip archive of arrays that has a hole for the numbers of the big one, as numpy.savez writes it:
 * wide sizes in both headers, or, when it is streamed, behind the content. */
struct wide {
    int fd;
    uint64_t at, n_entries;
    struct bytes directory;
};

static void put_number(struct bytes *b, uint64_t value, size_t n)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(value >> (8 * i));
    }
    assert_int_equal(bytes_append(b, bytes, n), STATUS_OK);
}

static void put_here(struct wide *w, const struct bytes *b)
{
    assert_int_equal(pwrite(w->fd, b->data, b->len, (off_t)w->at), b->len);
    w->at += b->len;
}

/* Method and what follows it, but for the sizes: they are all ones. */
static void put_common(struct bytes *b, uint32_t crc, const char *name, size_t extra)
{
    put_number(b, 0, 2); /* stored */
    put_number(b, 0x210000, 4);
    put_number(b, crc, 4);
    put_number(b, UINT64_MAX, 8);
    put_number(b, strlen(name), 2);
    put_number(b, extra, 2);
}

/* A member that begins with these bytes and has `bytes` in all. */
static void put_member(struct wide *w, const char *name, const struct bytes *content,
                       uint64_t bytes, bool streamed)
{
    struct bytes local = {0}, *const dir = &w->directory;
    const uint32_t crc = (uint32_t)crc32_z(0, content->data, content->len);
    const uint64_t offset = w->at, packed = bytes;
    put_number(&local, 0x04034b50, 4);
    put_number(&local, 45, 2);
    put_number(&local, streamed ? 8 : 0, 2);
    put_common(&local, streamed ? 0 : crc, name, 20);
    assert_int_equal(bytes_append(&local, name, strlen(name)), STATUS_OK);
    put_number(&local, 1 | 16 << 16, 4);
    put_number(&local, streamed ? 0 : bytes, 8);
    put_number(&local, streamed ? 0 : packed, 8);
    put_here(w, &local);
    put_here(w, content);
    w->at += bytes - content->len;
    if (streamed) {
        bytes_clear(&local);
        put_number(&local, 0x08074b50, 4);
        put_number(&local, crc, 4);
        put_number(&local, packed, 8);
        put_number(&local, bytes, 8);
        put_here(w, &local);
    }
    bytes_free(&local);

    const bool is_far = offset >= UINT32_MAX;
    put_number(dir, 0x02014b50, 4);
    put_number(dir, 45 | 45 << 16, 4);
    put_number(dir, streamed ? 8 : 0, 2);
    put_common(dir, crc, name, is_far ? 28 + 5 : 20 + 5);
    put_number(dir, 0, 8); /* comment, disk, attributes: 2, 2, 2 and 4 bytes */
    put_number(dir, 0, 2);
    put_number(dir, is_far ? UINT32_MAX : offset, 4);
    assert_int_equal(bytes_append(dir, name, strlen(name)), STATUS_OK);
    put_number(dir, 0x7875 | 1 << 16, 5); /* a field that is somebody else's */
    put_number(dir, 1 | (is_far ? 24 : 16) << 16, 4);
    put_number(dir, bytes, 8);
    put_number(dir, packed, 8);
    if (is_far) {
        put_number(dir, offset, 8);
    }
    w->n_entries++;
}

static void put_end(struct wide *w)
{
    const uint64_t at = w->at, n = w->directory.len;
    put_here(w, &w->directory);
    struct bytes end = {0};
    put_number(&end, 0x06064b50, 4);
    put_number(&end, 44, 8);
    put_number(&end, 45 | 45 << 16, 4);
    put_number(&end, 0, 8);
    put_number(&end, w->n_entries, 8);
    put_number(&end, w->n_entries, 8);
    put_number(&end, n, 8);
    put_number(&end, at, 8);
    put_number(&end, 0x07064b50, 8);
    put_number(&end, w->at, 8);
    put_number(&end, 1, 4);
    put_number(&end, 0x06054b50, 8);
    put_number(&end, w->n_entries | w->n_entries << 16, 4);
    put_number(&end, n, 4);
    put_number(&end, at < UINT32_MAX ? at : UINT32_MAX, 4);
    put_number(&end, 0, 2);
    put_here(w, &end);
    bytes_free(&end);
    bytes_free(&w->directory);
}

TEST(members_of_any_size_are_read_wherever_they_lie)
{
    static const uint64_t lines[] = {1u << 17, (1u << 18) - 1, 1u << 18, (1u << 18) + 1, 3u << 18};
    for (size_t i = 0; i < 2 * sizeof lines / sizeof lines[0]; i++) {
        const uint64_t n_lines = lines[i / 2], bytes = n_lines * 2048 * 8;
        const struct table_options options[] = {{.member = "big"}, {.member = "small"}};
        struct wide w = {.fd = memfd_create("wide", MFD_CLOEXEC)};
        char literal[128];
        snprintf(literal, sizeof literal,
                 "{'descr': '<f8', 'fortran_order': False, 'shape': (%" PRIu64 ", 2048), }",
                 n_lines);
        struct bytes big = array_file(1, literal, NULL, 0), small = small_array(1);
        put_member(&w, "big.npy", &big, big.len + bytes, i % 2 != 0);
        put_member(&w, "small.npy", &small, small.len, i % 2 != 0);
        put_end(&w);
        bytes_free(&big);
        bytes_free(&small);
        for (size_t k = 0; k < 2; k++) {
            struct source *s;
            struct table *t;
            assert_int_equal(source_open(dup(w.fd), "in.x", &s), STATUS_OK);
            if (k == 1) {
                struct reading r = read_source(s, &options[k], 64);
                ASSERT_NUMBERS(&r, 1, 2, 3, 4, 5, 6);
                reading_free(&r);
                continue;
            }
            if (table_open(s, &options[k], &t)) {
                fail_msg("%" PRIu64 " bytes: %s", bytes, status_message());
            }
            assert_int_equal(table_info(t)->n_lines, n_lines);
            assert_int_equal(table_info(t)->cells_per_line, 2048);
            table_free(t);
        }
        close(w.fd);
    }
}

/* The archive without any of its last bytes, and with each of its bytes changed. */
TEST(no_flipped_byte_changes_the_numbers)
{
    static const double expected[] = {1, 2, 3, 4, 5, 6};
    for (int way = 0; way < 4; way++) {
        struct zip_member members[] = {{"a.npy", small_array(1), (way & 1) != 0, (way & 2) != 0}};
        struct bytes zip = zip_file(members, 1);
        const size_t whole = zip.len;
        for (size_t i = 0; i < 2 * whole; i++) {
            zip.len = i < whole ? whole : i - whole;
            zip.data[i % whole] ^= i < whole ? 0x10 : 0;
            struct reading r = read_bytes(zip.data, zip.len, NULL, 64);
            zip.data[i % whole] ^= i < whole ? 0x10 : 0;
            if (r.status) {
                assert_true(r.status == STATUS_BAD_INPUT || r.status == STATUS_UNSUPPORTED);
            } else if (zip.len < whole) {
                fail_msg("%zu bytes of %zu are enough", zip.len, whole);
            } else {
                assert_numbers(&r, expected, 6);
            }
            reading_free(&r);
        }
        bytes_free(&zip);
    }
}

TEST(damaged_archives_are_refused)
{
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
TEST(a_read_that_fails_is_no_damage)
{
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
                assert_true(k > 6);
                ASSERT_NUMBERS(&r, 1, 2, 3, 4, 5, 6);
            }
            reading_free(&r);
        }
        bytes_free(&zip);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
