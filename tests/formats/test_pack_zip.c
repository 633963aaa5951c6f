/*
 * test_pack_zip - at the borders of what 16 and 32 bits count, a zip is read back by our reader and
 * by those of others.
 * ctest: wrap=copy_file_range
 */
#include "tests/support/patience.h"
#include "tests/support/zip_file.h"

#include <errno.h>
#include <inttypes.h>

/* The system's copy, which stops in the middle with this error; 0: it does not. */
enum { COPIES_NOTHING = -1, FILE_IS_CUT = -2 };

static struct {
    int error;
    size_t n_calls;
} copying;

ssize_t __real_copy_file_range(int from, off_t *at, int to, off_t *to_at, size_t n, unsigned flags);
ssize_t __wrap_copy_file_range(int from, off_t *at, int to, off_t *to_at, size_t n, unsigned flags);
ssize_t __wrap_copy_file_range(int from, off_t *at, int to, off_t *to_at, size_t n, unsigned flags)
{
    if (copying.n_calls++ % 2 == 1 && copying.error != 0) {
        errno = copying.error;
        assert_true(copying.error != FILE_IS_CUT || ftruncate(from, *at) == 0);
        return copying.error < 0 ? 0 : -1;
    }
    return __real_copy_file_range(from, at, to, to_at, copying.error != 0 ? (n + 1) / 2 : n, flags);
}

static void append(struct zip_file *m, const void *data, size_t n, bool last)
{
    struct pack_piece piece = {.crc = 0};
    assert_int_equal(pack_deflate(m->deflater, PACK_ZIP, data, n, last, &piece), STATUS_OK);
    assert_int_equal(pack_append(m->pack, &piece), STATUS_OK);
    bytes_free(&piece.packed);
}

/* Ends the file; its length. */
static uint64_t end(struct zip_file *m)
{
    uint64_t bytes;
    uint32_t crc;
    assert_int_equal(pack_close(m->pack, &bytes, &crc), STATUS_OK);
    return bytes;
}

TEST(a_wide_end_is_written_from_65535_members_on)
{
    for (size_t n = 65534; n <= 65536; n++) {
        struct zip_file m = zip_begin();
        struct pack_piece piece = {.crc = 0};
        assert_int_equal(pack_deflate(m.deflater, PACK_ZIP, "abc", 3, true, &piece), STATUS_OK);
        for (size_t i = 0; i < n; i++) {
            char name[32];
            snprintf(name, sizeof name, "m%zu", i);
            assert_int_equal(pack_member(m.pack, name), STATUS_OK);
            assert_int_equal(pack_append(m.pack, &piece), STATUS_OK);
        }
        bytes_free(&piece.packed);
        (void)end(&m);

        unsigned char tail[22 + 20];
        struct source *s;
        struct zip_input *z = zip_read_back(&m, &s);
        size_t found = 0, got;
        assert_int_equal(
            source_read_at(s, source_file_bytes(s) - sizeof tail, tail, sizeof tail, &got),
            STATUS_OK);
        assert_memory_equal(tail + 20, "PK\5\6", 4);
        assert_int_equal(memcmp(tail, "PK\6\7", 4) == 0, n >= 65535);
        const unsigned counted = n < 65535 ? (unsigned)n : 65535; /* here, and in all parts */
        assert_int_equal(tail[28] | tail[29] << 8, counted);
        assert_int_equal(tail[30] | tail[31] << 8, counted);
        for (bool over = false; !over; found += !over) {
            struct zip_input_member member;
            assert_int_equal(zip_input_next(z, &member, &over), STATUS_OK);
        }
        assert_int_equal(found, n);
        zip_input_free(z);
        source_free(s);

        if (patience() > 1) { /* others read the same bytes in the other builds */
            zip_remove(&m);
            continue;
        }
        char command[256];
        snprintf(command, sizeof command,
                 "python3 -c 'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); "
                 "sys.exit(len(z.namelist()) != %zu or z.read(\"m%zu\") != b\"abc\")' %%s",
                 n, n - 1);
        zip_ask("python3 --version", command, &m);
        snprintf(command, sizeof command, "test \"$(unzip -Z -1 %%s | wc -l)\" -eq %zu", n);
        zip_ask("unzip -v", command, &m);
        zip_remove(&m);
    }
}

/* The file has a hole where most of the member would be: only what is said of it is looked at. */
TEST(both_sizes_of_a_member_may_be_beyond_4_gib)
{
    const uint64_t hole = 5ull << 30;
    unsigned char *noise = make_content(NOISE, PIECE);
    struct zip_file m = zip_begin();
    assert_int_equal(pack_member(m.pack, "big"), STATUS_OK);
    append(&m, noise, PIECE, false);
    assert_int_equal(m.pack->buffer.len, 0); /* so that the hole comes after it */
    assert_true(lseek(m.pack->fd, (off_t)hole, SEEK_CUR) > 0);
    m.pack->size += hole;
    m.pack->member.packed_bytes += hole;
    m.pack->member.raw_bytes += 2 * hole;
    append(&m, "xyz", 3, true);
    const uint64_t packed = m.pack->member.packed_bytes, raw = 2 * hole + PIECE + 3;
    assert_int_equal(pack_member(m.pack, "after"), STATUS_OK);
    append(&m, "abc", 3, true);
    assert_true(end(&m) > hole);

    struct source *s;
    struct zip_input *z = zip_read_back(&m, &s);
    struct zip_input_member member;
    bool over;
    char text[8];
    size_t n;
    assert_int_equal(zip_input_next(z, &member, &over), STATUS_OK);
    assert_string_equal(member.name, "big");
    assert_true(member.bytes == raw && member.packed_bytes == packed && member.offset == 0);
    assert_int_equal(zip_input_begin(z, &member, "big"), STATUS_OK);
    assert_int_equal(zip_input_read(z, text, sizeof text, &n), STATUS_OK);
    assert_memory_equal(text, noise, sizeof text);
    assert_int_equal(zip_input_next(z, &member, &over), STATUS_OK);
    assert_string_equal(member.name, "after");
    assert_true(member.bytes == 3 && member.offset > hole);
    assert_int_equal(zip_input_begin(z, &member, "after"), STATUS_OK);
    assert_int_equal(zip_input_read(z, text, sizeof text, &n), STATUS_OK);
    assert_int_equal(n, 3);
    assert_memory_equal(text, "abc", 3);
    assert_int_equal(zip_input_end(z), STATUS_OK);
    zip_input_free(z);
    source_free(s);

    char command[512];
    snprintf(command, sizeof command,
             "python3 -c 'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); "
             "i = z.getinfo(\"big\"); sys.exit((i.file_size, i.compress_size) != (%" PRIu64
             ", %" PRIu64 ") or z.read(\"after\") != b\"abc\")' %%s",
             raw, packed);
    zip_ask("python3 --version", command, &m);
    zip_remove(&m);
    free(noise);
}

/* All ones in 32 bits say that a size stands elsewhere. */
TEST(a_size_is_wide_from_32_bits_of_ones_on)
{
    for (unsigned k = 0; k < 4; k++) {
        const uint64_t raw = UINT32_MAX - 1 + (k & 1), packed = UINT32_MAX - 1 + (k >> 1);
        struct zip_file m = zip_begin();
        assert_int_equal(pack_member(m.pack, "m"), STATUS_OK);
        append(&m, "abc", 3, false);
        struct pack_piece piece = {.crc = 0};
        assert_int_equal(pack_deflate(m.deflater, PACK_ZIP, "x", 1, true, &piece), STATUS_OK);
        m.pack->member.raw_bytes = raw - 1;
        m.pack->member.packed_bytes = packed - piece.packed.len;
        assert_int_equal(pack_append(m.pack, &piece), STATUS_OK);
        bytes_free(&piece.packed);
        const struct bytes *const dir = &m.pack->directory;
        const unsigned wide = 8 * ((k & 1) + (k >> 1));
        assert_int_equal((unsigned)(dir->data[30] | dir->data[31] << 8), wide ? 4 + wide : 0);
        assert_int_equal(dir->len, 46 + 1 + (wide ? 4 + wide : 0));
        (void)end(&m);
        zip_remove(&m);
    }
}

static struct pack_piece piece_of(const struct zip_file *m, const void *data, size_t n)
{
    struct pack_piece piece = {.crc = 0};
    assert_int_equal(pack_deflate(m->deflater, PACK_ZIP, data, n, false, &piece), STATUS_OK);
    return piece;
}

/* y_begins: with its head, before anything grows. */
static void gather_behind_heads(bool y_begins)
{
    static const char *const names[] = {"x", "y", "none"};
    struct zip_file m = zip_begin();
    unsigned char *content = make_content(NUMBERS, PIECE);
    struct pack_piece piece = piece_of(&m, content, PIECE), head = piece_of(&m, "head", 4);
    assert_int_equal(pack_member(m.pack, "first"), STATUS_OK);
    append(&m, "abc", 3, true);
    if (y_begins) {
        assert_int_equal(pack_member(m.pack, "y"), STATUS_OK);
        assert_int_equal(pack_append(m.pack, &head), STATUS_OK);
    }
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(pack_grow(m.pack, names[i % 2], &piece), STATUS_OK);
    }
    assert_int_equal(pack_gather(m.pack, "y", &head, 2 * PIECE), STATUS_OK);
    assert_int_equal(pack_member(m.pack, "between"), STATUS_OK);
    append(&m, "abc", 3, true);
    assert_int_equal(pack_gather(m.pack, "x", &head, 3 * PIECE), STATUS_OK);
    uint64_t bytes;
    uint32_t crc;
    assert_int_equal(pack_close(m.pack, &bytes, &crc), STATUS_OK);

    FILE *f = fopen(m.path, "r");
    unsigned char *whole = malloc(bytes + 1);
    assert_true(f != NULL && fread(whole, 1, bytes + 1, f) == bytes);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(crc32(0, whole, (uInt)bytes), crc);
    free(whole);

    struct source *s;
    struct zip_input *z = zip_read_back(&m, &s);
    static const struct {
        const char *name;
        size_t n_pieces;
    } expected[] = {{"first", 0}, {"y", 2}, {"between", 0}, {"x", 3}};
    for (size_t i = 0; i < 4; i++) {
        struct zip_input_member member;
        bool over;
        assert_int_equal(zip_input_next(z, &member, &over), STATUS_OK);
        assert_string_equal(member.name, expected[i].name);
        const size_t n = expected[i].n_pieces;
        assert_int_equal(member.bytes, n > 0 ? 4 + n * PIECE : 3);
        unsigned char *text = malloc(4 + 3 * PIECE);
        size_t got = 0, k;
        assert_int_equal(zip_input_begin(z, &member, member.name), STATUS_OK);
        do {
            assert_int_equal(zip_input_read(z, text + got, 4 + 3 * PIECE - got, &k), STATUS_OK);
            got += k;
        } while (k > 0 && got < member.bytes);
        assert_memory_equal(text, n > 0 ? "head" : "abc", n > 0 ? 4 : 3);
        for (size_t j = 0; j < n; j++) {
            assert_memory_equal(text + 4 + j * PIECE, content, PIECE);
        }
        assert_int_equal(zip_input_end(z), STATUS_OK);
        free(text);
    }
    zip_input_free(z);
    source_free(s);
    zip_ask("unzip -v", "unzip -tq %s", &m);
    zip_remove(&m);
    bytes_free(&piece.packed);
    bytes_free(&head.packed);
    free(content);
}

TEST(members_that_grow_together_are_gathered_behind_their_heads)
{
    /* but for the first two: of file systems that cannot copy */
    static const int errors[] = {0,          EINTR, EXDEV, EINVAL,        ENOSYS,
                                 EOPNOTSUPP, EPERM, EBADF, COPIES_NOTHING};
    for (size_t k = 0; k < sizeof errors / sizeof *errors; k++) {
        copying.error = errors[k];
        copying.n_calls = 0;
        gather_behind_heads(false);
        assert_true(copying.n_calls >= (k == 0 ? 2 : 4)); /* two members have grown */
    }
    copying.error = 0;
}

TEST(a_member_that_has_begun_grows_where_it_is)
{
    copying.n_calls = 0;
    gather_behind_heads(true);
    assert_int_equal(copying.n_calls, 1); /* the other has been copied */
}

TEST(a_copy_that_fails_or_finds_too_little_is_an_error)
{
    static const struct {
        int error;
        enum status status;
        const char *message;
    } cases[] = {{ENOSPC, STATUS_NO_SPACE, "cannot copy a temporary file into"},
                 {EIO, STATUS_IO, "cannot copy a temporary file into"},
                 {FILE_IS_CUT, STATUS_IO, "cannot read a temporary file for"}};
    for (size_t k = 0; k < 3; k++) {
        struct zip_file m = zip_begin();
        struct pack_piece piece = piece_of(&m, "numbers", 7);
        copying.error = cases[k].error;
        copying.n_calls = 0;
        assert_int_equal(pack_grow(m.pack, "x", &piece), STATUS_OK);
        assert_int_equal(pack_gather(m.pack, "x", &piece, 7), cases[k].status);
        assert_non_null(strstr(status_message(), cases[k].message));
        copying.error = 0;
        pack_abandon(m.pack);
        zip_remove(&m);
        bytes_free(&piece.packed);
    }
}

TEST(a_member_that_grew_otherwise_than_its_head_says_is_a_fault)
{
    for (int k = 0; k < 5; k++) {
        struct zip_file m = zip_begin();
        struct pack_piece head = piece_of(&m, "head", 4), other = piece_of(&m, "heaD", 4);
        const bool ended = k % 2 == 1 || k == 4, begun = k >= 2;
        uint64_t bytes;
        uint32_t crc;
        assert_int_equal(pack_gather(m.pack, "empty", &head, 0), STATUS_OK);
        assert_int_equal(begun ? pack_member(m.pack, "x") : STATUS_OK, STATUS_OK);
        assert_int_equal(begun ? pack_append(m.pack, &head) : STATUS_OK, STATUS_OK);
        assert_int_equal(pack_grow(m.pack, "x", &head), STATUS_OK);
        assert_int_equal(ended ? pack_gather(m.pack, "x", k == 4 ? &other : &head, k == 4 ? 4 : 8)
                               : pack_close(m.pack, &bytes, &crc),
                         STATUS_INTERNAL);
        if (ended) {
            pack_abandon(m.pack);
        }
        zip_remove(&m);
        bytes_free(&head.packed);
        bytes_free(&other.packed);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
