/*
 * Files of packs: gzip and zip of members of any size and number open with readers that are not
 * ours (zlib, libarchive); a name that is there and a disk that is full are told.
 * ctest: tsan=yes
 */
#include "formats/pack/pack_state.h"
#include "tests/support/pack_support.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

/* A directory of this test's own, as descriptor; its files are removed by name. */
static int open_dir(void)
{
    char name[] = "/tmp/leat-pack-XXXXXX";
    assert_non_null(mkdtemp(name));
    const int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void close_dir(int dir)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    assert_true(n > 0);
    path[n] = '\0';
    close(dir);
    assert_int_equal(rmdir(path), 0);
}

static struct bytes read_file(int dir, const char *name)
{
    struct bytes b = {.len = 0};
    const int fd = openat(dir, name, O_RDONLY);
    assert_true(fd >= 0);
    for (ssize_t k = 1; k > 0;) {
        assert_int_equal(bytes_reserve(&b, 1 << 16), STATUS_OK);
        k = read(fd, b.data + b.len, 1 << 16);
        assert_true(k >= 0);
        b.len += (size_t)k;
    }
    close(fd);
    return b;
}

/* Closes the pack of the file "out", and checks that pack_close tells the truth; the file's bytes.
 * The file and its directory are gone. */
static struct bytes close_and_read(struct pack *p, int dir)
{
    uint64_t size;
    uint32_t crc;
    assert_int_equal(pack_close(p, &size, &crc), STATUS_OK);
    struct bytes file = read_file(dir, "out");
    assert_int_equal(unlinkat(dir, "out", 0), 0);
    close_dir(dir);
    assert_int_equal(size, file.len);
    assert_int_equal(crc, crc32_z(0, file.data, file.len));
    return file;
}

/* Deflates the member's last piece and appends it. */
static void append_last(struct pack *p, struct deflater *s, const void *data, size_t len)
{
    struct pack_piece piece = {.crc = 0};
    assert_int_equal(pack_deflate(s, PACK_ZIP, data, len, true, &piece), STATUS_OK);
    assert_int_equal(pack_append(p, &piece), STATUS_OK);
    bytes_free(&piece.packed);
}

/* Deflates member after member of a file from its last piece to its first, or in order, and packs
 * them. */
static struct bytes pack_all(enum pack_kind kind, int level, bool backwards, size_t n_members,
                             const struct bytes *members)
{
    struct pack *p;
    const int dir = open_dir();
    struct deflater *s = new_deflater(level);
    assert_int_equal(pack_open(dir, "out", kind, &p), STATUS_OK);
    for (size_t m = 0; m < n_members; m++) {
        const size_t n = members[m].len > 0 ? (members[m].len - 1) / PIECE + 1 : 1;
        struct pack_piece *pieces = calloc(n, sizeof *pieces);
        assert_non_null(pieces);
        for (size_t i = 0; i < n; i++) {
            const size_t k = backwards ? n - 1 - i : i, at = k * PIECE;
            const size_t len = members[m].len - at < PIECE ? members[m].len - at : PIECE;
            assert_int_equal(
                pack_deflate(s, kind, members[m].data + at, len, k + 1 == n, &pieces[k]),
                STATUS_OK);
        }
        if (kind == PACK_ZIP) {
            char name[32];
            snprintf(name, sizeof name, "m%zu.npy", m);
            assert_int_equal(pack_member(p, name), STATUS_OK);
        }
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(pack_append(p, &pieces[k]), STATUS_OK);
            bytes_free(&pieces[k].packed);
        }
        free(pieces);
    }
    deflater_free(s);
    return close_and_read(p, dir);
}

TEST(a_gzip_file_of_any_size_unpacks)
{
    for (size_t k = 0; k < N_SIZES; k++) {
        const struct bytes raw = {.data = make_content(NUMBERS, sizes[k]), .len = sizes[k]};
        struct bytes file = pack_all(PACK_GZIP, 6, false, 1, &raw);
        unsigned char *got = malloc(raw.len + 1);
        z_stream z = {.next_in = file.data, .avail_in = (uInt)file.len};
        assert_int_equal(inflateInit2(&z, 16 + 15), Z_OK); /* checks CRC and length */
        z.next_out = got;
        z.avail_out = (uInt)raw.len + 1;
        assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
        assert_int_equal(z.avail_in, 0);
        assert_int_equal(z.total_out, raw.len);
        assert_memory_equal(got, raw.data, raw.len);
        assert_memory_equal(file.data + 4, "\0\0\0\0", 4); /* no time */
        inflateEnd(&z);
        free(got);
        bytes_free(&file);
        free(raw.data);
    }
}

/* The zip by its directory or as a stream; for archive_read_free(). */
static struct archive *open_zip(const struct bytes *file, bool as_stream)
{
    struct archive *a = archive_read_new();
    if (as_stream) {
        assert_int_equal(archive_read_support_format_zip_streamable(a), ARCHIVE_OK);
    } else {
        assert_int_equal(archive_read_support_format_zip_seekable(a), ARCHIVE_OK);
    }
    assert_int_equal(archive_read_open_memory(a, file->data, file->len), ARCHIVE_OK);
    return a;
}

/* The next member is this short text. */
static void assert_next_is(struct archive *a, const char *name, const char *text)
{
    struct archive_entry *entry;
    char got[16] = "";
    assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_OK);
    assert_string_equal(archive_entry_pathname(entry), name);
    assert_int_equal(archive_read_data(a, got, sizeof got), strlen(text));
    assert_string_equal(got, text);
}

/* Reads a zip that must hold exactly these members, by its directory or as a stream. */
static void assert_zip_holds(const struct bytes *file, bool as_stream, size_t n_members,
                             const struct bytes *members)
{
    struct archive *a = open_zip(file, as_stream);
    struct archive_entry *entry;
    for (size_t m = 0; m < n_members; m++) {
        char name[32];
        snprintf(name, sizeof name, "m%zu.npy", m);
        assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_OK);
        assert_string_equal(archive_entry_pathname(entry), name);
        if (!as_stream || members[m].len <= PIECE) {
            assert_int_equal(archive_entry_size(entry), members[m].len);
        }
        unsigned char *got = malloc(members[m].len + 1);
        assert_int_equal(archive_read_data(a, got, members[m].len + 1), members[m].len);
        assert_memory_equal(got, members[m].data, members[m].len);
        free(got);
    }
    assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_EOF);
    archive_read_free(a);
}

TEST(a_zip_of_members_of_every_size_unpacks)
{
    struct bytes members[N_SIZES];
    for (size_t k = 0; k < N_SIZES; k++) {
        members[k] = (struct bytes){.data = make_content((enum content)(k % N_CONTENTS), sizes[k]),
                                    .len = sizes[k]};
    }
    struct bytes file = pack_all(PACK_ZIP, 6, false, N_SIZES, members);
    assert_zip_holds(&file, false, N_SIZES, members);
    assert_zip_holds(&file, true, N_SIZES, members);
    struct bytes again = pack_all(PACK_ZIP, 6, true, N_SIZES, members);
    assert_int_equal(again.len, file.len);
    assert_memory_equal(again.data, file.data, file.len);
    bytes_free(&file);
    bytes_free(&again);
    for (size_t k = 0; k < N_SIZES; k++) {
        free(members[k].data);
    }
}

TEST(a_zip_of_no_members_is_an_empty_archive)
{
    struct bytes file = pack_all(PACK_ZIP, 6, false, 0, NULL);
    assert_int_equal(file.len, 22);
    assert_memory_equal(file.data, "PK\5\6", 4);
    bytes_free(&file);
}

TEST(a_member_of_one_piece_needs_no_descriptor)
{
    const struct bytes raw = {.data = make_content(NUMBERS, 1000), .len = 1000};
    struct bytes file = pack_all(PACK_ZIP, 6, false, 1, &raw);
    const unsigned char *const h = file.data;
    assert_int_equal(h[6] | h[7] << 8, 0);              /* flags */
    assert_int_equal(h[22] | h[23] << 8, 1000);         /* size */
    assert_int_equal(h[28] | h[29] << 8, 0);            /* no extra field */
    assert_int_equal(h[10] | h[11] << 8, 0);            /* 00:00 */
    assert_int_equal(h[12] | h[13] << 8, (1 << 5) | 1); /* 1980-01-01 */
    assert_zip_holds(&file, true, 1, &raw);
    bytes_free(&file);
    free(raw.data);
}

TEST(raw_files_are_their_bytes)
{
    const struct bytes raw = {.data = make_content(NOISE, 2 * PIECE + 5), .len = 2 * PIECE + 5};
    struct bytes file = pack_all(PACK_RAW, 6, false, 1, &raw);
    assert_int_equal(file.len, raw.len);
    assert_memory_equal(file.data, raw.data, raw.len);
    bytes_free(&file);
    free(raw.data);
}

TEST(members_beyond_4_gib_get_wide_sizes)
{
    enum { N_PIECES = 4097 };
    struct pack *p;
    const int dir = open_dir();
    struct deflater *s = new_deflater(1);
    struct pack_piece piece = {.crc = 0};
    unsigned char *zeros = make_content(ZEROS, PIECE);
    assert_int_equal(pack_open(dir, "out", PACK_ZIP, &p), STATUS_OK);
    assert_int_equal(pack_member(p, "big.npy"), STATUS_OK);
    assert_int_equal(pack_deflate(s, PACK_ZIP, zeros, PIECE, false, &piece), STATUS_OK);
    for (size_t k = 0; k + 1 < N_PIECES; k++) {
        assert_int_equal(pack_append(p, &piece), STATUS_OK);
    }
    append_last(p, s, zeros, PIECE);
    assert_int_equal(pack_member(p, "after.npy"), STATUS_OK);
    append_last(p, s, "abc", 3);

    struct bytes file = close_and_read(p, dir);
    struct archive *a = open_zip(&file, false);
    struct archive_entry *entry;
    assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_OK);
    assert_true(archive_entry_size(entry) == (int64_t)N_PIECES * PIECE);
    assert_next_is(a, "after.npy", "abc");
    archive_read_free(a);

    bytes_free(&file);
    bytes_free(&piece.packed);
    deflater_free(s);
    free(zeros);
}

TEST(members_that_begin_beyond_4_gib_get_wide_offsets)
{
    const uint64_t hole =
        5ull << 30; /* a sparse file; what precedes the first member is no matter */
    struct pack *p;
    uint64_t size;
    uint32_t crc;
    const int dir = open_dir();
    assert_int_equal(pack_open(dir, "out", PACK_ZIP, &p), STATUS_OK);
    assert_true(lseek(p->fd, (off_t)hole, SEEK_SET) == (off_t)hole);
    p->size = hole;
    struct deflater *s = new_deflater(1);
    assert_int_equal(pack_member(p, "m0.npy"), STATUS_OK);
    append_last(p, s, "abc", 3);
    assert_int_equal(pack_close(p, &size, &crc), STATUS_OK);
    assert_true(size > hole);

    const int again = openat(dir, "out", O_RDONLY);
    struct archive *a = archive_read_new();
    assert_int_equal(archive_read_support_format_zip_seekable(a), ARCHIVE_OK);
    assert_int_equal(archive_read_open_fd(a, again, 1 << 16), ARCHIVE_OK);
    assert_next_is(a, "m0.npy", "abc");
    archive_read_free(a);
    close(again);
    deflater_free(s);
    assert_int_equal(unlinkat(dir, "out", 0), 0);
    close_dir(dir);
}

TEST(more_members_than_16_bits_count_are_all_found)
{
    enum { N = 65537 };
    struct pack *p;
    size_t found = 0;
    const int dir = open_dir();
    struct deflater *s = new_deflater(1);
    struct pack_piece piece = {.crc = 0};
    assert_int_equal(pack_deflate(s, PACK_ZIP, "abc", 3, true, &piece), STATUS_OK);
    assert_int_equal(pack_open(dir, "out", PACK_ZIP, &p), STATUS_OK);
    for (size_t m = 0; m < N; m++) {
        char name[32];
        snprintf(name, sizeof name, "m%zu.npy", m);
        assert_int_equal(pack_member(p, name), STATUS_OK);
        assert_int_equal(pack_append(p, &piece), STATUS_OK);
    }
    struct bytes file = close_and_read(p, dir);
    struct archive *a = open_zip(&file, false);
    struct archive_entry *entry;
    while (archive_read_next_header(a, &entry) == ARCHIVE_OK) {
        found++;
    }
    assert_int_equal(found, N);
    archive_read_free(a);
    bytes_free(&file);
    bytes_free(&piece.packed);
    deflater_free(s);
}

TEST(an_existing_name_is_never_written_to)
{
    struct pack *p;
    uint64_t size;
    uint32_t crc;
    const int dir = open_dir();
    assert_int_equal(pack_open(dir, "out", PACK_ZIP, &p), STATUS_OK);
    assert_int_equal(pack_close(p, &size, &crc), STATUS_OK);
    assert_int_equal(pack_open(dir, "out", PACK_RAW, &p), STATUS_EXISTS);
    assert_null(p);
    assert_non_null(strstr(status_message(), "out"));
    assert_int_equal(symlinkat("elsewhere", dir, "link"), 0);
    assert_int_equal(pack_open(dir, "link", PACK_RAW, &p), STATUS_EXISTS);
    assert_int_equal(faccessat(dir, "elsewhere", F_OK, 0), -1);
    assert_int_equal(unlinkat(dir, "link", 0), 0);
    assert_int_equal(unlinkat(dir, "out", 0), 0);
    assert_int_equal(pack_open(dir, "none/of/out", PACK_RAW, &p), STATUS_NOT_FOUND);
    assert_int_equal(pack_open(dir, "none/out", PACK_RAW, &p), STATUS_OK); /* its folder is made */
    assert_int_equal(pack_close(p, &size, &crc), STATUS_OK);
    assert_int_equal(pack_open(dir, "none/out", PACK_RAW, &p), STATUS_EXISTS);
    assert_int_equal(unlinkat(dir, "none/out", 0), 0);
    assert_int_equal(unlinkat(dir, "none", AT_REMOVEDIR), 0);
    close_dir(dir);
    pack_abandon(NULL);
}

TEST(a_full_disk_is_reported_by_name_at_the_latest_when_closing)
{
    static const size_t lengths[] = {10, 3 * PIECE};
    for (size_t k = 0; k < 2; k++) {
        struct pack *p;
        uint64_t size;
        uint32_t crc;
        const int dir = open_dir(), full = open("/dev/full", O_WRONLY | O_CLOEXEC);
        struct deflater *s = new_deflater(6);
        struct pack_piece piece = {.crc = 0};
        unsigned char *raw = make_content(NOISE, lengths[k]);
        assert_int_equal(pack_open(dir, "full.csv.gz", PACK_GZIP, &p), STATUS_OK);
        assert_int_equal(dup2(full, p->fd), p->fd);
        close(full);
        assert_int_equal(pack_deflate(s, PACK_GZIP, raw, lengths[k], true, &piece), STATUS_OK);
        enum status st = pack_append(p, &piece);
        if (st == STATUS_OK) {
            assert_int_equal(k, 0); /* the large one was not gathered */
            st = pack_close(p, &size, &crc);
        } else {
            pack_abandon(p);
        }
        assert_int_equal(st, STATUS_NO_SPACE);
        assert_non_null(strstr(status_message(), "full.csv.gz"));
        bytes_free(&piece.packed);
        free(raw);
        deflater_free(s);
        assert_int_equal(unlinkat(dir, "full.csv.gz", 0), 0);
        close_dir(dir);
    }
}

TEST(a_member_without_its_last_piece_is_a_fault)
{
    struct pack *p;
    uint64_t size;
    uint32_t crc;
    const int dir = open_dir();
    struct deflater *s = new_deflater(6);
    struct pack_piece piece = {.crc = 0};
    assert_int_equal(pack_open(dir, "out", PACK_ZIP, &p), STATUS_OK);
    assert_int_equal(pack_deflate(s, PACK_ZIP, "abc", 3, false, &piece), STATUS_OK);
    assert_int_equal(pack_append(p, &piece), STATUS_INTERNAL); /* no member yet */
    assert_int_equal(pack_member(p, "a.npy"), STATUS_OK);
    assert_int_equal(pack_append(p, &piece), STATUS_OK);
    assert_int_equal(pack_member(p, "b.npy"), STATUS_INTERNAL);
    assert_int_equal(pack_close(p, &size, &crc), STATUS_INTERNAL);
    assert_int_equal(unlinkat(dir, "out", 0), 0);
    assert_int_equal(pack_open(dir, "out", PACK_GZIP, &p), STATUS_OK);
    assert_int_equal(pack_close(p, &size, &crc), STATUS_INTERNAL);
    assert_int_equal(unlinkat(dir, "out", 0), 0);
    bytes_free(&piece.packed);
    deflater_free(s);
    close_dir(dir);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
