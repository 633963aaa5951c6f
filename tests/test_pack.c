/*
 * Packs: whatever the bytes, the order of work and the level, what is written opens with readers
 * that are not ours (zlib, libarchive), and is the same to the byte every time.
 */
#include "formats/pack.h"
#include "formats/pack_container.h"
#include "formats/pack_file.h"
#include "formats/pack_huffman.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

enum { PIECE = PACK_PIECE_BYTES };

static const size_t sizes[] = {0,         1,     2,         31,        47,           48,
                               49,        257,   65535,     65536,     65537,        3 * 49152,
                               PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 3 * PIECE + 7};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

enum content { NOISE, NUMBERS, DIGITS, PROSE, ZEROS, PERIODIC, SKEWED, N_CONTENTS };

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

/* n bytes of a kind; malloc'd, never NULL. */
static unsigned char *make_content(enum content kind, size_t n)
{
    static const char prose[] = "sensor,station,humidity;";
    unsigned char *data = calloc(n + 8, 1);
    uint64_t x = 88172645463325252u + kind;
    assert_non_null(data);
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = next_random(&x);
        switch (kind) {
        case NUMBERS:
            if (i % 8 == 0) {
                const double value = sin((double)(r >> 11)) * 0.3;
                memcpy(data + i, &value, sizeof value); /* 8 bytes of room at the end */
                i += 7;
            }
            break;
        case DIGITS:
            data[i] = (unsigned char)(r % 12 == 0 ? ',' : '0' + r % 10);
            break;
        case PROSE:
            data[i] = (unsigned char)prose[(i + i / 97 * 5) % (sizeof prose - 1)];
            break;
        case PERIODIC:
            data[i] = (unsigned char)((i % 20011) * 2654435761u >> 13);
            break;
        case SKEWED:
            data[i] = (unsigned char)__builtin_ctzll(r | 1ull << 40);
            break;
        case NOISE:
            data[i] = (unsigned char)r;
            break;
        default:
            break;
        }
    }
    return data;
}

/* Fails unless the raw deflate stream is whole, ends with its last byte, and gives `raw`. */
static void assert_inflates_to(const struct bytes *packed, const unsigned char *raw, size_t n)
{
    unsigned char *got = malloc(n + 1);
    z_stream z = {.next_in = packed->data, .avail_in = (uInt)packed->len};
    assert_non_null(got);
    assert_int_equal(inflateInit2(&z, -15), Z_OK);
    z.next_out = got;
    z.avail_out = (uInt)n + 1;
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.avail_in, 0);
    assert_int_equal(z.total_out, n);
    assert_memory_equal(got, raw, n);
    inflateEnd(&z);
    free(got);
}

static struct squeezer *new_squeezer(int level)
{
    struct squeezer *s = NULL;
    assert_int_equal(squeezer_new(level, &s), STATUS_OK);
    return s;
}

static void one_piece_inflates_to_its_bytes_at_every_level(void **state)
{
    static const int levels[] = {0, 1, 6, 9};
    (void)state;
    struct pack_piece piece = {.crc = 0};
    for (size_t l = 0; l < sizeof levels / sizeof levels[0]; l++) {
        struct squeezer *s = new_squeezer(levels[l]);
        for (int kind = 0; kind < N_CONTENTS; kind++) {
            for (size_t k = 0; k < N_SIZES && sizes[k] <= PIECE; k++) {
                unsigned char *raw = make_content((enum content)kind, sizes[k]);
                assert_int_equal(pack_squeeze(s, PACK_ZIP, raw, sizes[k], true, &piece), STATUS_OK);
                assert_inflates_to(&piece.packed, raw, sizes[k]);
                assert_int_equal(piece.raw_bytes, sizes[k]);
                assert_int_equal(piece.crc, crc32_z(0, raw, sizes[k]));
                assert_int_equal(piece.packed_crc, crc32_z(0, piece.packed.data, piece.packed.len));
                assert_true(piece.last);
                free(raw);
            }
        }
        squeezer_free(s);
    }
    bytes_free(&piece.packed);
}

static void pieces_of_any_lengths_join_to_one_stream(void **state)
{
    (void)state;
    struct squeezer *s = new_squeezer(6);
    struct pack_piece piece = {.crc = 0};
    uint64_t x = 12345;
    for (int round = 0; round < 60; round++) {
        struct bytes raw = {.len = 0}, packed = {.len = 0};
        const int n_pieces = 1 + (int)(next_random(&x) % 9);
        for (int k = 0; k < n_pieces; k++) {
            const size_t n = (size_t)(next_random(&x) % (round < 50 ? 300 : 100000));
            unsigned char *data = make_content((enum content)(next_random(&x) % N_CONTENTS), n);
            assert_int_equal(pack_squeeze(s, PACK_GZIP, data, n, k + 1 == n_pieces, &piece),
                             STATUS_OK);
            assert_int_equal(bytes_append(&raw, data, n), STATUS_OK);
            assert_int_equal(bytes_append(&packed, piece.packed.data, piece.packed.len), STATUS_OK);
            free(data);
        }
        assert_inflates_to(&packed, raw.data, raw.len);
        bytes_free(&raw);
        bytes_free(&packed);
    }
    bytes_free(&piece.packed);
    squeezer_free(s);
}

static void raw_pieces_are_copied(void **state)
{
    (void)state;
    struct squeezer *s = new_squeezer(6);
    struct pack_piece piece = {.crc = 0};
    assert_int_equal(pack_squeeze(s, PACK_RAW, "abc", 3, true, &piece), STATUS_OK);
    assert_int_equal(piece.packed.len, 3);
    assert_memory_equal(piece.packed.data, "abc", 3);
    assert_int_equal(piece.packed_crc, crc32_z(0, (const unsigned char *)"abc", 3));
    bytes_free(&piece.packed);
    squeezer_free(s);
}

static void levels_outside_0_to_9_are_refused(void **state)
{
    (void)state;
    struct squeezer *s = NULL;
    assert_int_equal(squeezer_new(-1, &s), STATUS_BAD_ARGUMENT);
    assert_null(s);
    assert_int_equal(squeezer_new(10, &s), STATUS_BAD_ARGUMENT);
    assert_null(s);
    squeezer_free(NULL);
}

static double packed_share(enum content kind, size_t n)
{
    struct squeezer *s = new_squeezer(6);
    struct pack_piece piece = {.crc = 0};
    unsigned char *raw = make_content(kind, n);
    assert_int_equal(pack_squeeze(s, PACK_ZIP, raw, n, true, &piece), STATUS_OK);
    const double share = (double)piece.packed.len / (double)n;
    bytes_free(&piece.packed);
    free(raw);
    squeezer_free(s);
    return share;
}

static void each_kind_of_bytes_takes_little_more_than_the_best_way_would(void **state)
{
    (void)state;
    /* noise: 5 bytes for each stored block of 48 KiB, so 1/9830 more */
    assert_true(packed_share(NOISE, PIECE) <= 1.0 + 1.0 / 9000);
    /* digits: 10 of probability 11/120 and one of 1/12 are 3.459 bits of entropy; Huffman's code
     * for them has 3.58: 5 symbols of 3 bits, 6 of 4 (Kraft: 5/8 + 6/16) */
    assert_in_range((int)(packed_share(DIGITS, PIECE) * 8000), 3459, 3620);
    /* numbers: the mantissas' 52 bits are noise, sign and exponent nearly free */
    assert_in_range((int)(packed_share(NUMBERS, PIECE) * 1000), 813, 965);
    /* what repeats, near or far, is matched: 258 bytes in two symbols of a few bits and extra ones
     */
    assert_true(packed_share(ZEROS, PIECE) < 0.003);
    assert_true(packed_share(PERIODIC, PIECE) < 0.04);
    assert_true(packed_share(PROSE, PIECE) < 0.04);
}

static void codes_deeper_than_the_limit_are_made_whole(void **state)
{
    (void)state;
    /* Fibonacci counts make the deepest code there is: 22 symbols, 21 bits */
    struct bytes raw = {.len = 0}, packed = {.len = 0};
    size_t a = 1, b = 1;
    for (int symbol = 0; symbol < 22; symbol++) {
        for (size_t i = 0; i < a; i++) {
            const unsigned char c = (unsigned char)symbol;
            assert_int_equal(bytes_append(&raw, &c, 1), STATUS_OK);
        }
        const size_t sum = a + b;
        a = b;
        b = sum;
    }
    assert_int_equal(pack_huffman(raw.data, raw.len, true, false, &packed), STATUS_OK);
    assert_inflates_to(&packed, raw.data, raw.len);
    assert_true(packed.len < raw.len * 3 / 8); /* entropy: 2.6 bits of 8 */
    bytes_free(&raw);
    bytes_free(&packed);
}

static void blocks_of_few_symbols_are_coded(void **state)
{
    (void)state;
    for (unsigned n_symbols = 1; n_symbols <= 256; n_symbols++) {
        struct bytes packed = {.len = 0};
        unsigned char raw[4096];
        for (size_t i = 0; i < sizeof raw; i++) {
            raw[i] = (unsigned char)((i % n_symbols) * 167);
        }
        assert_int_equal(pack_huffman(raw, sizeof raw, true, false, &packed), STATUS_OK);
        assert_inflates_to(&packed, raw, sizeof raw);
        bytes_free(&packed);
    }
}

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

/* Squeezes member after member of a file from its last piece to its first, or in order, and packs
 * them; checks that pack_close tells the truth. */
static struct bytes pack_all(enum pack_kind kind, int level, bool backwards, size_t n_members,
                             const struct bytes *members)
{
    struct pack *p;
    uint64_t size;
    uint32_t crc;
    const int dir = open_dir();
    struct squeezer *s = new_squeezer(level);
    assert_int_equal(pack_open(dir, "out", kind, &p), STATUS_OK);
    for (size_t m = 0; m < n_members; m++) {
        const size_t n = members[m].len > 0 ? (members[m].len - 1) / PIECE + 1 : 1;
        struct pack_piece *pieces = calloc(n, sizeof *pieces);
        assert_non_null(pieces);
        for (size_t i = 0; i < n; i++) {
            const size_t k = backwards ? n - 1 - i : i, at = k * PIECE;
            const size_t len = members[m].len - at < PIECE ? members[m].len - at : PIECE;
            assert_int_equal(
                pack_squeeze(s, kind, members[m].data + at, len, k + 1 == n, &pieces[k]),
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
    assert_int_equal(pack_close(p, &size, &crc), STATUS_OK);
    squeezer_free(s);
    struct bytes file = read_file(dir, "out");
    assert_int_equal(unlinkat(dir, "out", 0), 0);
    close_dir(dir);
    assert_int_equal(size, file.len);
    assert_int_equal(crc, crc32_z(0, file.data, file.len));
    return file;
}

static void a_gzip_file_of_any_size_unpacks(void **state)
{
    (void)state;
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

/* Reads a zip that must hold exactly these members, by its directory or as a stream. */
static void assert_zip_holds(const struct bytes *file, bool as_stream, size_t n_members,
                             const struct bytes *members)
{
    struct archive *a = archive_read_new();
    struct archive_entry *entry;
    if (as_stream) {
        assert_int_equal(archive_read_support_format_zip_streamable(a), ARCHIVE_OK);
    } else {
        assert_int_equal(archive_read_support_format_zip_seekable(a), ARCHIVE_OK);
    }
    assert_int_equal(archive_read_open_memory(a, file->data, file->len), ARCHIVE_OK);
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

static void a_zip_of_members_of_every_size_unpacks(void **state)
{
    (void)state;
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

static void a_zip_of_no_members_is_an_empty_archive(void **state)
{
    (void)state;
    struct bytes file = pack_all(PACK_ZIP, 6, false, 0, NULL);
    assert_int_equal(file.len, 22);
    assert_memory_equal(file.data, "PK\5\6", 4);
    bytes_free(&file);
}

static void a_member_of_one_piece_needs_no_descriptor(void **state)
{
    (void)state;
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

static void raw_files_are_their_bytes(void **state)
{
    (void)state;
    const struct bytes raw = {.data = make_content(NOISE, 2 * PIECE + 5), .len = 2 * PIECE + 5};
    struct bytes file = pack_all(PACK_RAW, 6, false, 1, &raw);
    assert_int_equal(file.len, raw.len);
    assert_memory_equal(file.data, raw.data, raw.len);
    bytes_free(&file);
    free(raw.data);
}

/* One of two threads that squeeze alternate pieces. */
struct half {
    const unsigned char *raw;
    struct pack_piece *pieces;
    size_t first, n_pieces;
    enum status st;
};

static void *squeeze_half(void *arg)
{
    struct half *h = arg;
    struct squeezer *s;
    h->st = squeezer_new(6, &s);
    for (size_t k = h->first; h->st == STATUS_OK && k < h->n_pieces; k += 2) {
        h->st = pack_squeeze(s, PACK_GZIP, h->raw + k * PIECE, PIECE, k + 1 == h->n_pieces,
                             &h->pieces[k]);
    }
    squeezer_free(s);
    return NULL;
}

static void pieces_do_not_depend_on_who_squeezed_them(void **state)
{
    enum { N = 6 };
    (void)state;
    struct pack_piece pieces[N] = {{.crc = 0}}, alone = {.crc = 0};
    unsigned char *raw = malloc((size_t)N * PIECE);
    for (int k = 0; k < N; k++) {
        unsigned char *part = make_content((enum content)k, PIECE);
        memcpy(raw + (size_t)k * PIECE, part, PIECE);
        free(part);
    }
    struct half halves[2];
    pthread_t threads[2];
    for (size_t t = 0; t < 2; t++) {
        halves[t] = (struct half){.raw = raw, .pieces = pieces, .first = t, .n_pieces = N};
        assert_int_equal(pthread_create(&threads[t], NULL, squeeze_half, &halves[t]), 0);
    }
    for (size_t t = 0; t < 2; t++) {
        pthread_join(threads[t], NULL);
        assert_int_equal(halves[t].st, STATUS_OK);
    }
    struct squeezer *s = new_squeezer(6);
    for (size_t k = N; k-- > 0;) {
        assert_int_equal(pack_squeeze(s, PACK_GZIP, raw + k * PIECE, PIECE, k + 1 == N, &alone),
                         STATUS_OK);
        assert_int_equal(alone.packed.len, pieces[k].packed.len);
        assert_memory_equal(alone.packed.data, pieces[k].packed.data, alone.packed.len);
        assert_int_equal(alone.packed_crc, pieces[k].packed_crc);
        bytes_free(&pieces[k].packed);
    }
    squeezer_free(s);
    bytes_free(&alone.packed);
    free(raw);
}

static void members_beyond_4_gib_get_wide_sizes(void **state)
{
    enum { N_PIECES = 4097 };
    (void)state;
    struct pack *p;
    uint64_t size;
    uint32_t crc;
    const int dir = open_dir();
    struct squeezer *s = new_squeezer(1);
    struct pack_piece piece = {.crc = 0};
    unsigned char *zeros = make_content(ZEROS, PIECE);
    assert_int_equal(pack_open(dir, "out", PACK_ZIP, &p), STATUS_OK);
    assert_int_equal(pack_member(p, "big.npy"), STATUS_OK);
    assert_int_equal(pack_squeeze(s, PACK_ZIP, zeros, PIECE, false, &piece), STATUS_OK);
    for (size_t k = 0; k + 1 < N_PIECES; k++) {
        assert_int_equal(pack_append(p, &piece), STATUS_OK);
    }
    assert_int_equal(pack_squeeze(s, PACK_ZIP, zeros, PIECE, true, &piece), STATUS_OK);
    assert_int_equal(pack_append(p, &piece), STATUS_OK);
    assert_int_equal(pack_member(p, "after.npy"), STATUS_OK);
    assert_int_equal(pack_squeeze(s, PACK_ZIP, "abc", 3, true, &piece), STATUS_OK);
    assert_int_equal(pack_append(p, &piece), STATUS_OK);
    assert_int_equal(pack_close(p, &size, &crc), STATUS_OK);

    struct bytes file = read_file(dir, "out");
    assert_int_equal(crc, crc32_z(0, file.data, file.len));
    struct archive *a = archive_read_new();
    struct archive_entry *entry;
    assert_int_equal(archive_read_support_format_zip_seekable(a), ARCHIVE_OK);
    assert_int_equal(archive_read_open_memory(a, file.data, file.len), ARCHIVE_OK);
    assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_OK);
    assert_true(archive_entry_size(entry) == (int64_t)N_PIECES * PIECE);
    assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_OK);
    assert_string_equal(archive_entry_pathname(entry), "after.npy");
    char text[4] = "";
    assert_int_equal(archive_read_data(a, text, sizeof text), 3);
    assert_string_equal(text, "abc");
    archive_read_free(a);

    bytes_free(&file);
    bytes_free(&piece.packed);
    squeezer_free(s);
    free(zeros);
    assert_int_equal(unlinkat(dir, "out", 0), 0);
    close_dir(dir);
}

static void members_that_begin_beyond_4_gib_get_wide_offsets(void **state)
{
    (void)state;
    const uint64_t hole =
        5ull << 30; /* a sparse file; what precedes the first member is no matter */
    struct pack *p;
    struct pack_file f;
    uint64_t size;
    uint32_t crc;
    const int dir = open_dir();
    const int fd = openat(dir, "out", O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0 && lseek(fd, (off_t)hole, SEEK_SET) == (off_t)hole);
    assert_int_equal(pack_file_adopt(&f, fd, "out"), STATUS_OK);
    f.size = hole;
    assert_int_equal(pack_new(&f, PACK_ZIP, &p), STATUS_OK);
    struct squeezer *s = new_squeezer(1);
    struct pack_piece piece = {.crc = 0};
    assert_int_equal(pack_member(p, "m0.npy"), STATUS_OK);
    assert_int_equal(pack_squeeze(s, PACK_ZIP, "abc", 3, true, &piece), STATUS_OK);
    assert_int_equal(pack_append(p, &piece), STATUS_OK);
    assert_int_equal(pack_close(p, &size, &crc), STATUS_OK);
    assert_true(size > hole);

    const int again = openat(dir, "out", O_RDONLY);
    struct archive *a = archive_read_new();
    struct archive_entry *entry;
    char text[4] = "";
    assert_int_equal(archive_read_support_format_zip_seekable(a), ARCHIVE_OK);
    assert_int_equal(archive_read_open_fd(a, again, 1 << 16), ARCHIVE_OK);
    assert_int_equal(archive_read_next_header(a, &entry), ARCHIVE_OK);
    assert_string_equal(archive_entry_pathname(entry), "m0.npy");
    assert_int_equal(archive_read_data(a, text, sizeof text), 3);
    assert_string_equal(text, "abc");
    archive_read_free(a);
    close(again);
    bytes_free(&piece.packed);
    squeezer_free(s);
    assert_int_equal(unlinkat(dir, "out", 0), 0);
    close_dir(dir);
}

static void more_members_than_16_bits_count_are_all_found(void **state)
{
    enum { N = 65537 };
    (void)state;
    struct pack *p;
    uint64_t size;
    uint32_t crc;
    size_t found = 0;
    const int dir = open_dir();
    struct squeezer *s = new_squeezer(1);
    struct pack_piece piece = {.crc = 0};
    assert_int_equal(pack_squeeze(s, PACK_ZIP, "abc", 3, true, &piece), STATUS_OK);
    assert_int_equal(pack_open(dir, "out", PACK_ZIP, &p), STATUS_OK);
    for (size_t m = 0; m < N; m++) {
        char name[32];
        snprintf(name, sizeof name, "m%zu.npy", m);
        assert_int_equal(pack_member(p, name), STATUS_OK);
        assert_int_equal(pack_append(p, &piece), STATUS_OK);
    }
    assert_int_equal(pack_close(p, &size, &crc), STATUS_OK);
    struct bytes file = read_file(dir, "out");
    assert_int_equal(crc, crc32_z(0, file.data, file.len));
    struct archive *a = archive_read_new();
    struct archive_entry *entry;
    assert_int_equal(archive_read_support_format_zip_seekable(a), ARCHIVE_OK);
    assert_int_equal(archive_read_open_memory(a, file.data, file.len), ARCHIVE_OK);
    while (archive_read_next_header(a, &entry) == ARCHIVE_OK) {
        found++;
    }
    assert_int_equal(found, N);
    archive_read_free(a);
    bytes_free(&file);
    bytes_free(&piece.packed);
    squeezer_free(s);
    assert_int_equal(unlinkat(dir, "out", 0), 0);
    close_dir(dir);
}

static void an_existing_name_is_never_written_to(void **state)
{
    (void)state;
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
    assert_int_equal(pack_open(dir, "none/out", PACK_RAW, &p), STATUS_NOT_FOUND);
    close_dir(dir);
    pack_abandon(NULL);
}

static void a_full_disk_is_reported_by_name_at_the_latest_when_closing(void **state)
{
    (void)state;
    static const size_t lengths[] = {10, 3 * PIECE};
    for (size_t k = 0; k < 2; k++) {
        struct pack *p;
        struct pack_file f;
        uint64_t size;
        uint32_t crc;
        struct squeezer *s = new_squeezer(6);
        struct pack_piece piece = {.crc = 0};
        unsigned char *raw = make_content(NOISE, lengths[k]);
        assert_int_equal(pack_file_adopt(&f, open("/dev/full", O_WRONLY), "full.csv.gz"),
                         STATUS_OK);
        assert_int_equal(pack_new(&f, PACK_GZIP, &p), STATUS_OK);
        assert_int_equal(pack_squeeze(s, PACK_GZIP, raw, lengths[k], true, &piece), STATUS_OK);
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
        squeezer_free(s);
    }
}

static void a_member_without_its_last_piece_is_a_fault(void **state)
{
    (void)state;
    struct pack *p;
    uint64_t size;
    uint32_t crc;
    const int dir = open_dir();
    struct squeezer *s = new_squeezer(6);
    struct pack_piece piece = {.crc = 0};
    assert_int_equal(pack_open(dir, "out", PACK_ZIP, &p), STATUS_OK);
    assert_int_equal(pack_squeeze(s, PACK_ZIP, "abc", 3, false, &piece), STATUS_OK);
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
    squeezer_free(s);
    close_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_piece_inflates_to_its_bytes_at_every_level),
        cmocka_unit_test(pieces_of_any_lengths_join_to_one_stream),
        cmocka_unit_test(raw_pieces_are_copied),
        cmocka_unit_test(levels_outside_0_to_9_are_refused),
        cmocka_unit_test(each_kind_of_bytes_takes_little_more_than_the_best_way_would),
        cmocka_unit_test(codes_deeper_than_the_limit_are_made_whole),
        cmocka_unit_test(blocks_of_few_symbols_are_coded),
        cmocka_unit_test(a_gzip_file_of_any_size_unpacks),
        cmocka_unit_test(a_zip_of_members_of_every_size_unpacks),
        cmocka_unit_test(a_zip_of_no_members_is_an_empty_archive),
        cmocka_unit_test(a_member_of_one_piece_needs_no_descriptor),
        cmocka_unit_test(raw_files_are_their_bytes),
        cmocka_unit_test(pieces_do_not_depend_on_who_squeezed_them),
        cmocka_unit_test(members_beyond_4_gib_get_wide_sizes),
        cmocka_unit_test(members_that_begin_beyond_4_gib_get_wide_offsets),
        cmocka_unit_test(more_members_than_16_bits_count_are_all_found),
        cmocka_unit_test(an_existing_name_is_never_written_to),
        cmocka_unit_test(a_full_disk_is_reported_by_name_at_the_latest_when_closing),
        cmocka_unit_test(a_member_without_its_last_piece_is_a_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
