/*
 * test_source - files, pipes and what is compressed in them give the same bytes however they are
 * read, and say where they are damaged.
 * ctest: wrap=pread64 link=PkgConfig::MINIZIP
 */
#include "formats/source/source.h"
#include "tests/support/archive_support.h"
#include "tests/support/read_fault.h"

#include <bzlib.h>
#include <fcntl.h>
#include <lzma.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct kind {
    const char *name;
    struct bytes (*pack)(const void *data, size_t n);
    bool has_checksum; /* as libarchive writes it */
} kinds[] = {{"gzip", gzipped, true},
             {"xz", xzipped, true},
             {"zstd", zstded, false},
             {"bzip2", bzipped, true}};
enum {
    N_PACKINGS = sizeof kinds / sizeof kinds[0],
    UNPACK_HEAD = 10 /* bytes that show what it is */
};

/* Bytes that do not repeat soon. */
static struct bytes some_bytes(size_t n)
{
    struct bytes b = {0};
    assert_int_equal(bytes_reserve(&b, n + 1), STATUS_OK);
    uint32_t x = 1;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        b.data[i] = (unsigned char)(x >> 24 & 0x3f);
    }
    b.len = n;
    return b;
}

static void assert_counts(const struct source_counts *counts, const unsigned char *p, size_t n)
{
    size_t newlines = 0, delimiters = 0, quotes = 0;
    for (size_t i = 0; i < n; i++) {
        newlines += p[i] == '\n';
        delimiters += p[i] == counts->delimiter;
        quotes += p[i] == '"';
    }
    assert_int_equal(counts->newlines, newlines);
    assert_int_equal(counts->delimiters, delimiters);
    assert_int_equal(counts->quotes, quotes);
}

/* Reads s to its end, `step` bytes a call, after a look at `peek` bytes. */
static enum status read_all(struct source *s, size_t peek, size_t step, struct bytes *out)
{
    const unsigned char *seen;
    size_t n_seen, n;
    struct source_counts counts = {.delimiter = ','};
    enum status status = source_peek(s, peek, &seen, &n_seen);
    const size_t before = out->len;
    if (!status) {
        assert_int_equal(bytes_append(out, seen, n_seen), STATUS_OK);
        out->len = before; /* what was seen stays behind the end, to be compared */
    }
    while (!status) {
        unsigned char piece[8192];
        assert_true(step <= sizeof piece);
        status = source_read_text(s, piece, step, &n, &counts);
        if (!status && out->len - before < n_seen) {
            const size_t left = n_seen - (out->len - before);
            assert_memory_equal(out->data + out->len, piece, left < n ? left : n);
        }
        assert_int_equal(bytes_append(out, piece, n), STATUS_OK);
        if (n < step) {
            break;
        }
    }
    if (!status) {
        assert_counts(&counts, out->data + before, out->len - before);
    }
    return status;
}

static void assert_reads_as(const struct bytes *file, const struct bytes *content)
{
    static const size_t steps[] = {1, 7, 4096, 8192};
    static const size_t peeks[] = {0, 1, 33, 70000};
    for (size_t i = 0; i < 4; i++) {
        struct source *s = memory_source(file->data, file->len);
        struct bytes out = {0};
        assert_int_equal(source_file_bytes(s), file->len);
        if (read_all(s, peeks[i], steps[i], &out)) {
            fail_msg("%s", status_message());
        }
        assert_int_equal(out.len, content->len);
        assert_true(out.len == 0 || memcmp(out.data, content->data, out.len) == 0);
        assert_int_equal(source_file_offset(s), file->len);
        uint32_t crc;
        assert_int_equal(source_crc(s, &crc), STATUS_OK);
        assert_int_equal(crc, crc32_z(0, file->data, file->len));
        bytes_free(&out);
        source_free(s);
    }
}

TEST(plain_files_of_all_sizes_are_read_whole)
{
    static const size_t sizes[] = {0, 1, 2, 3, 31, 32, 33, 257, 16383, 16384, 16385, 300001};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct bytes b = some_bytes(sizes[i]);
        assert_reads_as(&b, &b);
        bytes_free(&b);
    }
}

TEST(what_is_packed_of_all_sizes_is_unpacked)
{
    static const size_t sizes[] = {0, 1, 33, 257, 16385, 400000};
    for (size_t k = 0; k < N_PACKINGS; k++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            struct bytes b = some_bytes(sizes[i]);
            struct bytes packed = kinds[k].pack(b.data, b.len);
            assert_reads_as(&packed, &b);
            bytes_free(&packed);
            bytes_free(&b);
        }
    }
}

TEST(bzip2_of_every_level_is_unpacked)
{
    for (int level = 1; level <= 9; level++) {
        struct bytes content = some_bytes(20000);
        struct bytes packed = {0};
        unsigned len = 30000;
        assert_int_equal(bytes_reserve(&packed, len), STATUS_OK);
        assert_int_equal(BZ2_bzBuffToBuffCompress((char *)packed.data, &len, (char *)content.data,
                                                  (unsigned)content.len, level, 0, 0),
                         BZ_OK);
        packed.len = len;
        assert_reads_as(&packed, &content);
        bytes_free(&packed);
        bytes_free(&content);
    }
}

TEST(packed_streams_in_a_row_are_one_and_zero_padding_is_passed)
{
    static const unsigned char zeros[512];
    for (size_t k = 0; k < N_PACKINGS; k++) {
        struct bytes content = some_bytes(1000);
        struct bytes packed = kinds[k].pack(content.data, 600);
        struct bytes second = kinds[k].pack(content.data + 600, 400);
        assert_int_equal(bytes_append(&packed, second.data, second.len), STATUS_OK);
        assert_reads_as(&packed, &content);
        assert_int_equal(bytes_append(&packed, zeros, sizeof zeros), STATUS_OK);
        assert_reads_as(&packed, &content);
        bytes_free(&second);
        bytes_free(&packed);
        bytes_free(&content);
    }
}

/* n times '1', as xz -LEVEL makes it. */
static struct bytes xz_at(uint32_t level, size_t n)
{
    static uint8_t ones[40000];
    struct bytes b = {0};
    memset(ones, '1', sizeof ones);
    assert_true(n <= sizeof ones);
    assert_int_equal(bytes_reserve(&b, 4096), STATUS_OK);
    assert_int_equal(
        lzma_easy_buffer_encode(level, LZMA_CHECK_CRC32, NULL, ones, n, b.data, &b.len, 4096),
        LZMA_OK);
    return b;
}

/* The same in a frame of zstd with a window of 2^log bytes: one block that repeats a byte. */
static struct bytes zstd_at(uint32_t log, size_t n)
{
    const size_t block = n << 3 | 3; /* repeats, and is the last one */
    const unsigned char frame[] = {0x28,
                                   0xb5,
                                   0x2f,
                                   0xfd,
                                   0,
                                   (unsigned char)((log - 10) << 3),
                                   (unsigned char)block,
                                   (unsigned char)(block >> 8),
                                   (unsigned char)(block >> 16),
                                   '1'};
    struct bytes b = {0};
    assert_int_equal(bytes_append(&b, frame, sizeof frame), STATUS_OK);
    return b;
}

/* The status of reading all of it, with windows of so many bytes; *held: what it holds after the
 * first look. */
static enum status read_in_windows(struct bytes packed, uint64_t most, uint64_t *held)
{
    const struct source_limits limits = {.max_window = most};
    static unsigned char all[100000];
    const unsigned char *seen;
    size_t n;
    struct source *s;
    assert_int_equal(source_open(memory_file(packed.data, packed.len), "x", &s), STATUS_OK);
    source_set_limits(s, &limits);
    enum status status = source_peek(s, 1, &seen, &n);
    if (!status) {
        *held = source_hold_window(s);
        status = source_read(s, all, sizeof all, &n);
    }
    source_free(s);
    bytes_free(&packed);
    return status;
}

TEST(windows_are_counted_and_bounded)
{
    enum { MIB = 1 << 20 };
    uint64_t held;
    assert_int_equal(read_in_windows(gzipped("1,2", 3), 1, &held), STATUS_OK);
    assert_in_range(held, 1, MIB);
    assert_int_equal(read_in_windows(xz_at(6, 40000), 0, &held), STATUS_OK);
    assert_int_equal(held, 10 * MIB); /* what most ask for */
    assert_int_equal(read_in_windows(xz_at(9, 40000), 0, &held), STATUS_OK);
    assert_in_range(held, 64 * MIB, 70 * MIB);
    assert_int_equal(read_in_windows(xz_at(9, 40000), 16 * MIB, &held), STATUS_TOO_LARGE);
    assert_non_null(strstr(status_message(), "more than 16 MiB of memory"));
    assert_int_equal(read_in_windows(zstd_at(27, 40000), 0, &held), STATUS_OK);
    assert_in_range(held, 128 * MIB, 130 * MIB);
    assert_int_equal(read_in_windows(zstd_at(27, 40000), 16 * MIB, &held), STATUS_TOO_LARGE);
    assert_int_equal(read_in_windows(zstd_at(31, 40000), 0, &held), STATUS_TOO_LARGE);
}

/* The first is more than the first look sees. */
TEST(later_streams_get_no_more_than_the_first_or_than_most_ask_for)
{
    static const struct {
        struct bytes (*make)(uint32_t level, size_t n);
        uint32_t first, then;
        enum status status;
    } cases[] = {
        {xz_at, 0, 6, STATUS_OK},        {xz_at, 9, 9, STATUS_OK},
        {xz_at, 0, 9, STATUS_TOO_LARGE}, {zstd_at, 17, 23, STATUS_OK},
        {zstd_at, 27, 27, STATUS_OK},    {zstd_at, 17, 27, STATUS_TOO_LARGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes all = cases[i].make(cases[i].first, 40000);
        struct bytes then = cases[i].make(cases[i].then, 40000);
        uint64_t held;
        assert_int_equal(bytes_append(&all, then.data, then.len), STATUS_OK);
        bytes_free(&then);
        assert_int_equal(read_in_windows(all, 0, &held), cases[i].status);
    }
}

/* A frame that decoders pass over, as the parallel and the seekable writers of zstd put it. */
TEST(zstd_frames_without_content_are_passed)
{
    struct bytes content = some_bytes(1000), packed = {0};
    struct bytes frame = zstded(content.data, content.len);
    assert_int_equal(bytes_append(&packed, "\x50\x2a\x4d\x18\x04\0\0\0abcd", 12), STATUS_OK);
    assert_int_equal(bytes_append(&packed, frame.data, frame.len), STATUS_OK);
    assert_int_equal(bytes_append(&packed, "\x5e\x2a\x4d\x18\x01\0\0\0a", 9), STATUS_OK);
    assert_reads_as(&packed, &content);
    bytes_free(&frame);
    bytes_free(&packed);
    bytes_free(&content);
}

static void assert_damaged(const struct bytes *file, const char *text)
{
    struct source *s = memory_source(file->data, file->len);
    struct bytes out = {0};
    assert_int_equal(read_all(s, 1, 4096, &out), STATUS_BAD_INPUT);
    assert_non_null(strstr(status_message(), "in.x: compressed byte "));
    if (!strstr(status_message(), text)) {
        fail_msg("no \"%s\" in: %s", text, status_message());
    }
    bytes_free(&out);
    source_free(s);
}

TEST(what_was_cut_short_names_the_compressed_offset)
{
    for (size_t k = 0; k < N_PACKINGS; k++) {
        struct bytes content = some_bytes(5000);
        struct bytes packed = kinds[k].pack(content.data, content.len);
        const size_t whole = packed.len;
        for (size_t cut = 1; cut < whole - UNPACK_HEAD; cut += 97) {
            char offset[96];
            packed.len = whole - cut;
            snprintf(offset, sizeof offset, "compressed byte %zu: the file ends within the %s",
                     packed.len, kinds[k].name);
            assert_damaged(&packed, offset);
        }
        bytes_free(&packed);
        bytes_free(&content);
    }
}

/* Every byte in turn: damage is told, or changes nothing. */
TEST(no_flipped_byte_of_what_is_packed_changes_what_comes_out)
{
    struct bytes content = some_bytes(300);
    for (size_t k = 0; k < N_PACKINGS; k++) {
        struct bytes packed = kinds[k].pack(content.data, content.len), out = {0};
        size_t n_told = 0;
        for (size_t i = UNPACK_HEAD; i < packed.len; i++) {
            packed.data[i] ^= 4;
            struct source *s = memory_source(packed.data, packed.len);
            out.len = 0;
            const enum status status = read_all(s, 1, 4096, &out);
            n_told += status != STATUS_OK;
            if (!status && kinds[k].has_checksum) {
                assert_int_equal(out.len, content.len);
                assert_memory_equal(out.data, content.data, out.len);
            }
            source_free(s);
            packed.data[i] ^= 4;
        }
        assert_true(n_told > 4);
        bytes_free(&out);
        bytes_free(&packed);
    }
    bytes_free(&content);
}

TEST(what_follows_a_packed_stream_is_refused)
{
    for (size_t k = 0; k < N_PACKINGS; k++) {
        struct bytes content = some_bytes(50);
        struct bytes packed = kinds[k].pack(content.data, content.len);
        assert_int_equal(bytes_append(&packed, "1,2\n", 4), STATUS_OK);
        assert_damaged(&packed, "something else follows");
        bytes_free(&packed);
        bytes_free(&content);
    }
}

TEST(limits_end_unpacking)
{
    static char zeros[1 << 20], piece[1 << 20];
    struct bytes packed = {0}, one = gzipped(zeros, sizeof zeros); /* 1 MiB of 1 KiB */
    enum { ALL = SOURCE_FREE_BYTES + (4 << 20) };
    for (size_t n = 0; n < ALL; n += sizeof zeros) {
        assert_int_equal(bytes_append(&packed, one.data, one.len), STATUS_OK);
    }
    bytes_free(&one);
    static const struct limit {
        struct source_limits limits;
        uint64_t gives;
        const char *says;
    } limits[] = {
        {{0, 0, 0}, ALL, NULL},
        {{ALL, 1100, 0}, ALL, NULL},
        {{5 << 20, 1100, 0}, 5 << 20, "in.x: unpacks to more than 5242880 bytes; raise"},
        {{0, 900, 0}, SOURCE_FREE_BYTES, "in.x: unpacks to more than 900 times its size ("}};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        const struct limit *l = &limits[i];
        struct source *s = memory_source(packed.data, packed.len);
        uint64_t all = 0;
        enum status status = STATUS_OK;
        size_t n = 1;
        source_set_limits(s, &l->limits);
        while (!status && n > 0) {
            status = source_read(s, piece, sizeof piece, &n);
            all += status ? 0 : n;
        }
        assert_int_equal(status, l->says ? STATUS_TOO_LARGE : STATUS_OK);
        assert_true(!l->says || strstr(status_message(), l->says));
        assert_int_equal(all, l->gives);
        source_free(s);
    }
    bytes_free(&packed);
}

TEST(a_wrong_checksum_or_length_is_damage)
{
    struct bytes content = some_bytes(5000);
    struct bytes packed = gzipped(content.data, content.len);
    for (size_t i = 1; i <= 8; i++) { /* the trailer: CRC, then length */
        packed.data[packed.len - i] ^= 1;
        assert_damaged(&packed, "damaged gzip data (incorrect checksum)");
        packed.data[packed.len - i] ^= 1;
    }
    bytes_free(&packed);
    bytes_free(&content);
}

TEST(a_stop_ends_unpacking_at_the_next_look_at_the_file)
{
    struct bytes content = some_bytes(2 << 20), packed = gzipped(content.data, content.len);
    atomic_bool stop = false;
    struct source *s = memory_source(packed.data, packed.len);
    size_t n;
    assert_true(packed.len > 2 * (256 << 10));
    source_stop_at(s, &stop);
    assert_int_equal(source_read(s, content.data, 1000, &n), STATUS_OK);
    stop = true;
    assert_int_equal(source_read(s, content.data, content.len, &n), STATUS_CANCELLED);
    assert_non_null(strstr(status_message(), "in.x: stopped"));
    source_stop_at(s, NULL);
    assert_int_equal(source_read(s, content.data, 1000, &n), STATUS_OK);
    source_free(s);
    bytes_free(&packed);
    bytes_free(&content);
}

TEST(crc_is_that_of_the_file_when_only_its_start_was_read)
{
    struct bytes b = some_bytes(1000000);
    struct source *s = memory_source(b.data, b.len);
    unsigned char start[100];
    size_t n;
    uint32_t crc;
    assert_int_equal(source_read(s, start, sizeof start, &n), STATUS_OK);
    assert_int_equal(n, sizeof start);
    assert_int_equal(source_file_offset(s), n);
    assert_int_equal(source_crc(s, &crc), STATUS_OK);
    assert_int_equal(crc, crc32_z(0, b.data, b.len));
    source_free(s);
    bytes_free(&b);
}

TEST(reading_at_a_place_does_not_move_what_is_read_in_order)
{
    struct bytes b = some_bytes(1000);
    struct source *s = memory_source(b.data, b.len);
    unsigned char piece[64];
    size_t n;
    assert_int_equal(source_read_at(s, 990, piece, sizeof piece, &n), STATUS_OK);
    assert_int_equal(n, 10);
    assert_memory_equal(piece, b.data + 990, 10);
    assert_int_equal(source_read_at(s, 1001, piece, sizeof piece, &n), STATUS_OK);
    assert_int_equal(n, 0);
    assert_int_equal(source_read(s, piece, sizeof piece, &n), STATUS_OK);
    assert_memory_equal(piece, b.data, sizeof piece);
    source_free(s);
    bytes_free(&b);
}

/* Calls in the order that waits longest for the first. */
static void run_backwards(void *context, size_t n, void (*body)(void *arg, size_t index), void *arg)
{
    *(size_t *)context += n;
    while (n > 0) {
        body(arg, --n);
    }
}

TEST(helpers_change_neither_bytes_nor_checksum_nor_counts)
{
    enum { PIECE = 128 << 10 };
    static const size_t sizes[] = {PIECE, 2 * PIECE, 2 * PIECE + 1, 5 * PIECE - 1, 33 * PIECE + 7};
    static const size_t caps[] = {3 * PIECE / 2 - 1, 2 * PIECE - 1,  3 * PIECE - 5000,
                                  3 * PIECE,         4 * PIECE + 13, 40 * PIECE};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct bytes b = some_bytes(sizes[i]), out = {0};
        assert_int_equal(bytes_reserve(&out, sizes[i] + 40 * PIECE), STATUS_OK);
        for (size_t k = 0; k < sizeof caps / sizeof caps[0]; k++) {
            struct source *s = memory_source(b.data, b.len);
            struct source_counts counts = {.delimiter = ';'};
            size_t helped = 0, n = 1;
            uint32_t crc;
            source_set_helpers(s, &(struct source_helpers){run_backwards, &helped});
            for (out.len = 0; n > 0; out.len += n) {
                assert_int_equal(source_read_text(s, out.data + out.len, caps[k], &n, &counts),
                                 STATUS_OK);
                assert_true(n == caps[k] || out.len + n == b.len);
            }
            assert_int_equal(out.len, b.len);
            assert_memory_equal(out.data, b.data, b.len);
            assert_counts(&counts, b.data, b.len);
            assert_int_equal(helped > 0, caps[k] >= 3 * PIECE / 2);
            assert_int_equal(source_crc(s, &crc), STATUS_OK);
            assert_int_equal(crc, crc32_z(0, b.data, b.len));
            source_free(s);
        }
        bytes_free(&b);
        bytes_free(&out);
    }
}

/* It is told, or made good by reading once more. The helpers have two pieces each. */
TEST(a_read_that_fails_once_leaves_bytes_checksum_and_counts_right)
{
    enum { PIECE = 128 << 10, PIECES = 40 };
    struct bytes b = some_bytes((size_t)PIECES * PIECE), out = {0};
    assert_int_equal(bytes_reserve(&out, b.len), STATUS_OK);
    size_t n_good = 0;
    for (size_t k = 1; k <= PIECES; k++) {
        struct source *s = memory_source(b.data, b.len);
        struct source_counts counts = {.delimiter = ';'};
        size_t helped = 0, n;
        uint32_t crc;
        source_set_helpers(s, &(struct source_helpers){run_backwards, &helped});
        reads_until_fault = k;
        const enum status status = source_read_text(s, out.data, b.len, &n, &counts);
        reads_until_fault = 0;
        assert_true(status == STATUS_OK || status == STATUS_IO);
        if (status == STATUS_OK) {
            assert_int_equal(n, b.len);
            assert_memory_equal(out.data, b.data, b.len);
            assert_counts(&counts, b.data, b.len);
            assert_int_equal(source_crc(s, &crc), STATUS_OK);
            assert_int_equal(crc, crc32_z(0, b.data, b.len));
            n_good++;
        }
        source_free(s);
    }
    assert_true(n_good > PIECES / 2);
    bytes_free(&b);
    bytes_free(&out);
}

TEST(file_that_changes_while_it_is_read_is_told)
{
    for (int what = 0; what < 3; what++) {
        char path[] = "/tmp/leat-source-XXXXXX", piece[64];
        size_t n;
        struct source *s;
        const int fd = mkstemp(path);
        assert_int_equal(write(fd, "1,2\n3,4\n", 8), 8);
        assert_int_equal(source_open(dup(fd), path, &s), STATUS_OK);
        assert_int_equal(source_check_unchanged(s), STATUS_OK);
        if (what == 0) { /* more comes */
            assert_int_equal(write(fd, "5,6\n", 4), 4);
        } else if (what == 1) { /* some goes */
            assert_int_equal(ftruncate(fd, 4), 0);
        } else { /* other bytes of the same number */
            const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};
            assert_int_equal(futimens(fd, times), 0);
        }
        assert_int_equal(source_read(s, piece, sizeof piece, &n), STATUS_OK);
        assert_int_equal(source_check_unchanged(s), STATUS_CHANGED);
        assert_non_null(strstr(status_message(), path));
        source_free(s);
        close(fd);
        unlink(path);
    }
}

struct writer {
    int fd;
    const struct bytes *bytes;
};

static void *write_slowly(void *arg)
{
    const struct writer *w = arg;
    for (size_t at = 0; at < w->bytes->len;) {
        const size_t left = w->bytes->len - at, n = left < 10007 ? left : 10007;
        assert_int_equal(write(w->fd, w->bytes->data + at, n), n);
        at += n;
    }
    close(w->fd);
    return NULL;
}

/* A terminal, whose user has ended the input and types on. */
static enum status type_on(void *user, const atomic_bool *stop, void *dst, size_t cap, size_t *n)
{
    static const char *const typed[] = {"1,2\n", "", "more", ""};
    size_t *const n_reads = user;
    (void)stop, (void)cap;
    const char *const text = typed[*n_reads < 3 ? *n_reads : 3];
    ++*n_reads;
    *n = strlen(text);
    memcpy(dst, text, *n);
    return STATUS_OK;
}

static void forget_stream(void *user)
{
    (void)user;
}

TEST(crc_of_a_pipe_at_its_end_reads_nothing_more)
{
    size_t n_reads = 0, n;
    uint32_t crc;
    char piece[64];
    struct source *s;
    const struct source_stream stream = {.read = type_on, .close = forget_stream, .user = &n_reads};
    assert_int_equal(source_open_stream(&stream, "tty", NULL, &s), STATUS_OK);
    do {
        assert_int_equal(source_read(s, piece, sizeof piece, &n), STATUS_OK);
    } while (n == sizeof piece);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(source_crc(s, &crc), STATUS_OK);
        assert_int_equal(crc, crc32_z(0, (const unsigned char *)"1,2\n", 4));
        assert_int_equal(n_reads, 2);
    }
    source_free(s);
}

TEST(pipes_are_read_like_files)
{
    for (size_t k = 0; k <= N_PACKINGS; k++) {
        struct bytes content = some_bytes(300000), out = {0};
        struct bytes file =
            k < N_PACKINGS ? kinds[k].pack(content.data, content.len) : some_bytes(300000);
        struct source_stream stream;
        struct source *s;
        pthread_t thread;
        uint32_t crc;
        int ends[2];
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        struct writer w = {ends[1], &file};
        assert_int_equal(pthread_create(&thread, NULL, write_slowly, &w), 0);
        assert_int_equal(source_stream_of(ends[0], "in.x", &stream), STATUS_OK);
        assert_int_equal(source_open_stream(&stream, "in.x", NULL, &s), STATUS_OK);
        assert_int_equal(read_all(s, 70000, 4096, &out), STATUS_OK);
        pthread_join(thread, NULL);
        assert_int_equal(out.len, content.len);
        assert_memory_equal(out.data, content.data, out.len);
        assert_int_equal(source_file_bytes(s), file.len);
        assert_int_equal(source_crc(s, &crc), STATUS_OK);
        assert_int_equal(crc, crc32_z(0, file.data, file.len));
        assert_int_equal(source_check_unchanged(s), STATUS_OK);
        assert_string_equal(source_hindrance(s), k < N_PACKINGS ? kinds[k].name : "a pipe");
        source_free(s);
        bytes_free(&file);
        bytes_free(&out);
        bytes_free(&content);
    }
}

TEST(a_stop_ends_reading_a_pipe_that_nobody_writes_to)
{
    struct source_stream stream;
    struct source *s;
    int ends[2];
    atomic_bool stop = true;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(source_stream_of(ends[0], "in.x", &stream), STATUS_OK);
    assert_int_equal(source_open_stream(&stream, "in.x", &stop, &s), STATUS_CANCELLED);
    assert_null(s);
    assert_int_equal(write(ends[1], "", 0), 0);
    close(ends[1]);
}

TEST(folders_and_pipes_are_refused)
{
    struct source *s;
    int ends[2];
    assert_int_equal(source_open(open("/", O_RDONLY | O_CLOEXEC), "root", &s), STATUS_BAD_INPUT);
    assert_null(s);
    assert_non_null(strstr(status_message(), "root: is not a regular file"));
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(source_open(ends[0], "pipe", &s), STATUS_BAD_INPUT);
    close(ends[1]);
    source_free(NULL);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
