/*
 * Pieces of packs: whatever the bytes, who deflates them and the level, what they join to is opened
 * by zlib, and is the same to the byte every time. The files they make: test_pack_file.c.
 * ctest: tsan=yes
 */
#include "tests/support/pack_support.h"

#include <math.h>
#include <pthread.h>

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

TEST(one_piece_inflates_to_its_bytes_at_every_level)
{
    static const int levels[] = {0, 1, 2, 3, 4, 9};
#ifdef __SANITIZE_THREAD__
    skip(); /* it has no threads */
#endif
    enum { N_LEVELS = sizeof levels / sizeof levels[0] };
    struct pack_piece piece = {.crc = 0};
    struct deflater *deflaters[N_LEVELS];
    for (size_t l = 0; l < N_LEVELS; l++) {
        deflaters[l] = new_deflater(levels[l]);
    }
    for (int kind = 0; kind < N_CONTENTS; kind++) {
        for (size_t k = 0; k < N_SIZES && sizes[k] <= PIECE; k++) {
            unsigned char *raw = make_content((enum content)kind, sizes[k]);
            for (size_t l = 0; l < N_LEVELS; l++) {
                struct deflater *s = deflaters[l];
                if (levels[l] > 3 && (k + l) % 2 == 0) { /* both are zlib's: by turns */
                    continue;
                }
                assert_int_equal(pack_deflate(s, PACK_ZIP, raw, sizes[k], true, &piece), STATUS_OK);
                assert_inflates_to(&piece.packed, raw, sizes[k]);
                assert_int_equal(piece.raw_bytes, sizes[k]);
                assert_int_equal(piece.crc, crc32_z(0, raw, sizes[k]));
                assert_int_equal(piece.packed_crc, crc32_z(0, piece.packed.data, piece.packed.len));
                assert_true(piece.last);
            }
            free(raw);
        }
    }
    for (size_t l = 0; l < N_LEVELS; l++) {
        deflater_free(deflaters[l]);
    }
    bytes_free(&piece.packed);
}

TEST(pieces_of_any_lengths_join_to_one_stream)
{
    struct deflater *s = new_deflater(PACK_LEVEL);
    struct pack_piece piece = {.crc = 0};
    uint64_t x = 12345;
    for (int round = 0; round < 60; round++) {
        struct bytes raw = {.len = 0}, packed = {.len = 0};
        const int n_pieces = 1 + (int)(next_random(&x) % 9);
        for (int k = 0; k < n_pieces; k++) {
            const size_t n = (size_t)(next_random(&x) % (round < 50 ? 300 : 100000));
            unsigned char *data = make_content((enum content)(next_random(&x) % N_CONTENTS), n);
            assert_int_equal(pack_deflate(s, PACK_GZIP, data, n, k + 1 == n_pieces, &piece),
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
    deflater_free(s);
}

TEST(raw_pieces_are_copied)
{
    struct deflater *s = new_deflater(PACK_LEVEL);
    struct pack_piece piece = {.crc = 0};
    assert_int_equal(pack_deflate(s, PACK_RAW, "abc", 3, true, &piece), STATUS_OK);
    assert_int_equal(piece.packed.len, 3);
    assert_memory_equal(piece.packed.data, "abc", 3);
    assert_int_equal(piece.packed_crc, crc32_z(0, (const unsigned char *)"abc", 3));
    bytes_free(&piece.packed);
    deflater_free(s);
}

TEST(levels_outside_0_to_9_are_refused)
{
    struct deflater *s = NULL;
    assert_int_equal(deflater_new(-1, &s), STATUS_BAD_ARGUMENT);
    assert_null(s);
    assert_int_equal(deflater_new(10, &s), STATUS_BAD_ARGUMENT);
    assert_null(s);
    deflater_free(NULL);
}

static double packed_share(enum content kind, size_t n)
{
    struct deflater *s = new_deflater(PACK_LEVEL);
    struct pack_piece piece = {.crc = 0};
    unsigned char *raw = make_content(kind, n);
    assert_int_equal(pack_deflate(s, PACK_ZIP, raw, n, true, &piece), STATUS_OK);
    const double share = (double)piece.packed.len / (double)n;
    bytes_free(&piece.packed);
    free(raw);
    deflater_free(s);
    return share;
}

TEST(each_kind_of_bytes_takes_little_more_than_the_best_way_would)
{
    /* noise: 5 bytes for each stored block */
    assert_true(packed_share(NOISE, PIECE) <= 1.0 + 1.0 / 5000);
    /* digits: 10 of probability 11/120 and one of 1/12 are 3.459 bits of entropy; matches of three
     * or four of them, which a greedy search takes, cost up to a sixth more */
    assert_in_range((int)(packed_share(DIGITS, PIECE) * 8000), 3459, 3459 * 7 / 6);
    /* numbers: the mantissas' 52 bits are noise, sign and exponent nearly free */
    assert_in_range((int)(packed_share(NUMBERS, PIECE) * 1000), 813, 965);
    /* what repeats, near or far, is matched: 258 bytes in two symbols of a few bits and extra ones
     */
    assert_true(packed_share(ZEROS, PIECE) < 0.003);
    assert_true(packed_share(PERIODIC, PIECE) < 0.04);
    assert_true(packed_share(PROSE, PIECE) < 0.04);
}

/* One of two threads that deflate alternate pieces. */
struct half {
    const unsigned char *raw;
    struct pack_piece *pieces;
    size_t first, n_pieces;
    enum status st;
};

static void *deflate_half(void *arg)
{
    struct half *h = arg;
    struct deflater *s;
    h->st = deflater_new(PACK_LEVEL, &s);
    for (size_t k = h->first; h->st == STATUS_OK && k < h->n_pieces; k += 2) {
        h->st = pack_deflate(s, PACK_GZIP, h->raw + k * PIECE, PIECE, k + 1 == h->n_pieces,
                             &h->pieces[k]);
    }
    deflater_free(s);
    return NULL;
}

TEST(pieces_do_not_depend_on_who_deflated_them)
{
    enum { N = 6 };
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
        assert_int_equal(pthread_create(&threads[t], NULL, deflate_half, &halves[t]), 0);
    }
    for (size_t t = 0; t < 2; t++) {
        pthread_join(threads[t], NULL);
        assert_int_equal(halves[t].st, STATUS_OK);
    }
    struct deflater *s = new_deflater(PACK_LEVEL);
    for (size_t k = N; k-- > 0;) {
        assert_int_equal(pack_deflate(s, PACK_GZIP, raw + k * PIECE, PIECE, k + 1 == N, &alone),
                         STATUS_OK);
        assert_int_equal(alone.packed.len, pieces[k].packed.len);
        assert_memory_equal(alone.packed.data, pieces[k].packed.data, alone.packed.len);
        assert_int_equal(alone.packed_crc, pieces[k].packed_crc);
        bytes_free(&pieces[k].packed);
    }
    deflater_free(s);
    bytes_free(&alone.packed);
    free(raw);
}

/* Whether the byte at `at`, in a stream of n bytes that repeats there what stands at 2, is copied
 * from there: another byte stands there by the time it is read. */
static bool is_copied_from_2(const struct bytes *packed, size_t n, size_t at)
{
    unsigned char *got = calloc(1, n);
    z_stream z = {.next_in = packed->data, .avail_in = (uInt)packed->len};
    assert_non_null(got);
    assert_int_equal(inflateInit2(&z, -15), Z_OK);
    z.next_out = got;
    z.avail_out = (uInt)at;
    assert_int_equal(inflate(&z, Z_NO_FLUSH), Z_OK);
    assert_int_equal(z.total_out, at);
    got[2] = 'x';
    assert_int_equal(inflateSetDictionary(&z, got, (uInt)at), Z_OK);
    z.avail_out = (uInt)(n - at);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    const bool is_copied = got[at] == 'x';
    inflateEnd(&z);
    free(got);
    return is_copied;
}

/* What begins with the third byte is found again: the stream's address, which differs from process
 * to process, does not stand in its place. (Level 3 does not look at every place.) */
TEST(a_piece_is_matched_from_its_third_byte_on)
{
    enum { N = 4096, AT = 3000, WORD = 8 };
    struct pack_piece piece = {.crc = 0};
    for (int level = 1; level <= 2; level++) {
        struct deflater *s = new_deflater(level);
        for (unsigned seed = 0; seed < 4; seed++) {
            unsigned char *raw = make_content(NOISE, N);
            for (size_t i = 0; i < N; i++) { /* 6 bits a byte: it is deflated */
                raw[i] = (unsigned char)('0' + ((raw[i] + seed * (i % 7)) & 63));
            }
            memcpy(raw + AT, raw + 2, WORD);
            raw[AT - 1] = raw[1] ^ 1; /* so that it does not begin earlier */
            assert_int_equal(pack_deflate(s, PACK_GZIP, raw, N, true, &piece), STATUS_OK);
            assert_inflates_to(&piece.packed, raw, N);
            assert_true(is_copied_from_2(&piece.packed, N, AT));
            free(raw);
        }
        deflater_free(s);
    }
    bytes_free(&piece.packed);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
