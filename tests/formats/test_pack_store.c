/*
 * test_pack_store - whole files as members of a zip: read back by our reader and by those of
 * others, whether the system copies them or not.
 * ctest: wrap=copy_file_range
 */
#include "tests/support/zip_file.h"

#include <errno.h>
#include <inttypes.h>

/* What becomes of the system's copies. */
enum { COPIES = 0, COPIES_HOLES = -1 }; /* else an errno: copies nothing, and says so */

static struct {
    int way;
    size_t n_calls;
    int *stop; /* set by the first; NULL: not */
} copying;

ssize_t __real_copy_file_range(int from, off_t *at, int to, off_t *to_at, size_t n, unsigned flags);
ssize_t __wrap_copy_file_range(int from, off_t *at, int to, off_t *to_at, size_t n, unsigned flags);
ssize_t __wrap_copy_file_range(int from, off_t *at, int to, off_t *to_at, size_t n, unsigned flags)
{
    copying.n_calls++;
    if (copying.stop != NULL) {
        *copying.stop = 1;
    }
    if (copying.way == COPIES_HOLES) {
        assert_true(lseek(to, (off_t)n, SEEK_CUR) > 0);
        return (ssize_t)n;
    }
    if (copying.way != COPIES) {
        errno = copying.way;
        return -1;
    }
    return __real_copy_file_range(from, at, to, to_at, n, flags);
}

/* A zip, and a file that has no name. */
static struct zip_file begin(const void *content, size_t n)
{
    struct zip_file m = zip_begin();
    m.fd = openat(m.dir, "file", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(m.fd >= 0 && unlinkat(m.dir, "file", 0) == 0);
    assert_true(write(m.fd, content, n) == (ssize_t)n);
    copying.n_calls = 0;
    return m;
}

static void end(struct zip_file *m)
{
    zip_remove(m);
    close(m->fd);
}

static uint32_t crc_of(const void *data, size_t n)
{
    return (uint32_t)crc32_z(0, data, n);
}

/* The zip as bytes, for free(); its CRC-32 is what the pack says. */
static unsigned char *close_and_read(struct zip_file *m, uint64_t *bytes)
{
    uint32_t crc;
    assert_int_equal(pack_close(m->pack, bytes, &crc), STATUS_OK);
    FILE *f = fopen(m->path, "r");
    unsigned char *whole = malloc(*bytes + 1);
    assert_true(f != NULL && whole != NULL && fread(whole, 1, *bytes + 1, f) == *bytes);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(crc_of(whole, *bytes), crc);
    return whole;
}

static uint64_t number_at(const unsigned char *at, size_t n)
{
    uint64_t value = 0;
    while (n-- > 0) {
        value = value << 8 | at[n];
    }
    return value;
}

static void expect_member(struct zip_input *z, const char *name, unsigned method,
                          const void *content, size_t n)
{
    struct zip_input_member member;
    bool over;
    assert_int_equal(zip_input_next(z, &member, &over), STATUS_OK);
    assert_false(over);
    assert_string_equal(member.name, name);
    assert_int_equal(member.method, method);
    assert_int_equal(member.bytes, n);
    unsigned char *text = malloc(n + 1);
    size_t got = 0, k = 0;
    assert_int_equal(zip_input_begin(z, &member, name), STATUS_OK);
    do {
        assert_int_equal(zip_input_read(z, text + got, n + 1 - got, &k), STATUS_OK);
        got += k;
    } while (k > 0);
    assert_int_equal(got, n);
    assert_memory_equal(text, content, n);
    assert_int_equal(zip_input_end(z), STATUS_OK);
    free(text);
}

TEST(a_stored_file_stands_between_deflated_members_however_it_is_copied)
{
    static const int ways[] = {COPIES, EXDEV, ENOSYS};
    const size_t n = 2 * PIECE + 5;
    unsigned char *noise = make_content(NOISE, n), *first = NULL;
    uint64_t first_bytes = 0;
    struct deflater *d = new_deflater(1);
    struct pack_piece piece = {.crc = 0};
    assert_int_equal(pack_deflate(d, PACK_ZIP, "abc", 3, true, &piece), STATUS_OK);
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        struct zip_file m = begin(noise, n);
        copying.way = ways[k];
        assert_int_equal(pack_member(m.pack, "before"), STATUS_OK);
        assert_int_equal(pack_append(m.pack, &piece), STATUS_OK);
        assert_int_equal(pack_store(m.pack, "noise", m.fd, n, crc_of(noise, n), NULL), STATUS_OK);
        assert_int_equal(pack_store(m.pack, "empty", m.fd, 0, 0, NULL), STATUS_OK);
        assert_int_equal(pack_member(m.pack, "after"), STATUS_OK);
        assert_int_equal(pack_append(m.pack, &piece), STATUS_OK);
        assert_true(copying.n_calls > 0);
        copying.way = COPIES;
        uint64_t bytes;
        unsigned char *const whole = close_and_read(&m, &bytes);
        zip_ask("unzip -v", "unzip -tq %s >/dev/null", &m);
        zip_ask("python3 --version",
                "python3 -c 'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); "
                "sys.exit(z.testzip() is not None or z.namelist() != "
                "[\"before\", \"noise\", \"empty\", \"after\"])' %s",
                &m);
        struct source *s;
        struct zip_input *const z = zip_read_back(&m, &s);
        expect_member(z, "before", ZIP_INPUT_DEFLATED, "abc", 3);
        expect_member(z, "noise", ZIP_INPUT_STORED, noise, n);
        expect_member(z, "empty", ZIP_INPUT_STORED, "", 0);
        expect_member(z, "after", ZIP_INPUT_DEFLATED, "abc", 3);
        zip_input_free(z);
        source_free(s);
        end(&m);
        if (first == NULL) {
            first = whole;
            first_bytes = bytes;
        } else {
            assert_int_equal(bytes, first_bytes);
            assert_memory_equal(whole, first, bytes);
            free(whole);
        }
    }
    free(first);
    free(noise);
    bytes_free(&piece.packed);
    deflater_free(d);
}

/* Who reads from a pipe finds sizes and sum before the bytes. */
TEST(the_header_before_a_stored_file_says_how_long_it_is)
{
    struct zip_file m = begin("hello", 5);
    const uint32_t crc = crc_of("hello", 5);
    uint64_t bytes;
    assert_int_equal(pack_store(m.pack, "x", m.fd, 5, crc, NULL), STATUS_OK);
    unsigned char *const whole = close_and_read(&m, &bytes);
    assert_memory_equal(whole, "PK\3\4", 4);
    assert_int_equal(number_at(whole + 6, 2), 0); /* no flags: nothing stands behind the data */
    assert_int_equal(number_at(whole + 8, 2), 0); /* stored */
    assert_int_equal(number_at(whole + 10, 4), 33u << 16); /* 1980-01-01, 00:00 */
    assert_int_equal(number_at(whole + 14, 4), crc);
    assert_int_equal(number_at(whole + 18, 4), 5);
    assert_int_equal(number_at(whole + 22, 4), 5);
    assert_int_equal(number_at(whole + 28, 2), 0); /* no extra field */
    assert_memory_equal(whole + 30, "xhello", 6);
    free(whole);
    end(&m);
}

/* The file is a hole, as is its copy: only what is said of it is looked at. */
TEST(a_stored_file_may_be_beyond_4_gib)
{
    static const uint64_t lengths[] = {UINT32_MAX - 1u, UINT32_MAX, (5ull << 30) + 3};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        struct zip_file m = begin("", 0);
        const bool is_wide = lengths[k] >= UINT32_MAX;
        unsigned char head[30 + 1 + 20];
        uint64_t bytes;
        uint32_t crc;
        char command[512];
        assert_int_equal(ftruncate(m.fd, (off_t)lengths[k]), 0);
        copying.way = COPIES_HOLES;
        assert_int_equal(pack_store(m.pack, "x", m.fd, lengths[k], 7, NULL), STATUS_OK);
        copying.way = COPIES;
        assert_int_equal(pack_store(m.pack, "after", m.fd, 3, crc_of("\0\0\0", 3), NULL),
                         STATUS_OK);
        assert_int_equal(pack_close(m.pack, &bytes, &crc), STATUS_OK);
        const int fd = open(m.path, O_RDONLY | O_CLOEXEC);
        assert_int_equal(pread(fd, head, sizeof head, 0), sizeof head);
        close(fd);
        assert_int_equal(number_at(head + 6, 2), 0);
        assert_int_equal(number_at(head + 14, 4), 7);
        assert_int_equal(number_at(head + 28, 2), is_wide ? 20 : 0);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(number_at(head + 18 + 4 * i, 4), is_wide ? UINT32_MAX : lengths[k]);
            assert_true(!is_wide || number_at(head + 30 + 1 + 4 + 8 * i, 8) == lengths[k]);
        }
        snprintf(command, sizeof command,
                 "python3 -c 'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); "
                 "i = z.getinfo(\"x\"); sys.exit((i.file_size, i.compress_size) != (%" PRIu64
                 ", %" PRIu64 ") or z.read(\"after\") != bytes(3))' %%s",
                 lengths[k], lengths[k]);
        zip_ask("python3 --version", command, &m);
        end(&m);
    }
}

TEST(a_file_that_is_shorter_than_was_said_and_a_full_disk_are_errors)
{
    static const struct {
        int way;
        enum status code;
        const char *message;
    } cases[] = {{COPIES, STATUS_IO, "cannot read x"},
                 {ENOSPC, STATUS_NO_SPACE, "cannot copy x into m.zip"},
                 {EIO, STATUS_IO, "cannot copy x into m.zip"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct zip_file m = begin("hello", 5);
        copying.way = cases[k].way;
        assert_int_equal(pack_store(m.pack, "x", m.fd, 6, 0, NULL), cases[k].code);
        copying.way = COPIES;
        assert_non_null(strstr(status_message(), cases[k].message));
        pack_abandon(m.pack);
        end(&m);
    }
}

TEST(copying_ends_when_it_is_told_to_stop)
{
    const uint64_t n = 1ull << 30;
    static const int ways[] = {COPIES_HOLES, ENOSYS};
    for (size_t k = 0; k < 2; k++) {
        struct zip_file m = begin("", 0);
        int stop = 0;
        assert_int_equal(ftruncate(m.fd, (off_t)n), 0);
        copying.way = ways[k];
        copying.stop = &stop;
        assert_int_equal(pack_store(m.pack, "x", m.fd, n, 0, &stop), STATUS_CANCELLED);
        assert_int_equal(copying.n_calls, 1);
        copying.stop = NULL;
        copying.way = COPIES;
        pack_abandon(m.pack);
        end(&m);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
