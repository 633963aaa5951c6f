/*
 * pack_squeeze - one piece of a member: raw bytes -> a run of deflate blocks that ends on a byte.
 *
 * Three ways, chosen from a sample of the bytes: matching (zlib at the asked level), Huffman coding
 * alone, and storing. Mantissas of measured numbers do not repeat: searching them for matches takes
 * ten times the time of coding them, and gains nothing. What each way would need is estimated from
 * the entropy of what it would send: single bytes when coding; when matching, the literals, lengths
 * and distances of a greedy parse with matches of four bytes or more, and their extra bits.
 *
 * Source: RFC 1951.
 */
#include "formats/pack/pack.h"

#include "formats/base/crc.h"
#include "formats/pack/pack_huffman.h"

#include <assert.h>
#include <endian.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    MIN_SAMPLED = 48,         /* shorter pieces go to zlib unseen */
    SMALL_BYTES = 128 * 1024, /* up to here a better level saves a few KB at seven times the cost */
    WINDOW_BYTES = 32 * 1024, /* the farthest match of deflate */
    GLANCE_BYTES = 4096,
    SMALL_WINDOW_BYTES = 2048,
    SAMPLE_BYTES = 3 * WINDOW_BYTES / 2,
    N_SLOTS = 4096,
    MIN_MATCH = 4,
    MAX_MATCH = 258,
    PATIENCE = 32,    /* places without a match after which the sample's steps grow by a byte */
    N_LENGTHS = 10,   /* octaves of lengths, and MAX_MATCH apart: it needs no extra bits */
    N_DISTANCES = 32, /* half octaves, which are deflate's own distance codes */
};

/* Matching must save this share of the coded size to be worth its time, and coding of the raw. In a
 * small piece a share is some KB at most: text of numbers, of which matching saves a sixth at five
 * times the time, is coded. */
static const double matching_gain = 1.0 / 20, small_gain = 1.0 / 4, coding_gain = 1.0 / 100;

struct squeezer {
    int level;
    z_stream stream;
    uint16_t short_slots[N_SLOTS], long_slots[N_SLOTS]; /* of look_at: position + 1; 0: none */
};

enum way { WAY_STORE, WAY_CODE, WAY_MATCH };

/* How often each symbol would be sent for a sample of the piece. */
struct sample {
    uint32_t bytes[256];              /* coding alone */
    uint32_t parsed[256 + N_LENGTHS]; /* matching: literals and lengths */
    uint32_t distances[N_DISTANCES];
    uint64_t extra_bits;
};

enum status squeezer_new(int level, struct squeezer **out)
{
    *out = NULL;
    if (level < 0 || level > 9) {
        return status_fail(STATUS_BAD_ARGUMENT, "compression level %d is not one of 0 to 9", level);
    }
    struct squeezer *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory to compress");
    }
    s->level = level;
    if (deflateInit2(&s->stream, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(s);
        return status_fail(STATUS_NO_MEMORY, "no memory to compress");
    }
    *out = s;
    return STATUS_OK;
}

void squeezer_free(struct squeezer *s)
{
    if (s != NULL) {
        deflateEnd(&s->stream);
        free(s);
    }
}

static uint64_t load_64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return le64toh(v);
}

static unsigned log2_floor(size_t value)
{
    return 63 - (unsigned)__builtin_clzll(value);
}

static void count_match(struct sample *sample, size_t length, size_t distance)
{
    const unsigned octave = log2_floor(length), d = log2_floor(distance);
    const unsigned half = d > 0 ? (unsigned)(distance >> (d - 1)) & 1 : 0;
    sample->parsed[256 + (length < MAX_MATCH ? octave : N_LENGTHS - 1)]++;
    sample->distances[2 * d + half]++;
    sample->extra_bits += (length < MAX_MATCH ? octave : 0) + (d > 0 ? d - 1 : 0);
}

/* How many bytes from `at` on repeat those from `from` on; both have eight bytes to look at. */
static size_t match_length(const unsigned char *data, size_t n, size_t from, size_t at)
{
    const size_t most = n - at < MAX_MATCH ? n - at : MAX_MATCH;
    if (at - from > WINDOW_BYTES) {
        return 0;
    }
    for (size_t length = 0; length + sizeof(uint64_t) <= most; length += sizeof(uint64_t)) {
        const uint64_t differ = load_64(data + at + length) ^ load_64(data + from + length);
        if (differ != 0) {
            return length + (size_t)__builtin_ctzll(differ) / 8;
        }
    }
    size_t length = most / sizeof(uint64_t) * sizeof(uint64_t);
    while (length < most && data[at + length] == data[from + length]) {
        length++;
    }
    return length;
}

/* Adds the symbols of one window. The last place with the same eight bytes is tried before that
 * with the same four: what repeats in a long period is else hidden by what repeats all the time.
 * The longer nothing has matched, the larger the steps. */
static void look_at(struct squeezer *s, const unsigned char *data, size_t n, struct sample *sample)
{
    assert(n < UINT16_MAX);
    memset(s->short_slots, 0, sizeof s->short_slots);
    memset(s->long_slots, 0, sizeof s->long_slots);
    for (size_t i = 0; i < n; i++) {
        sample->bytes[data[i]]++;
    }
    size_t i = 0, misses = 0;
    while (i + sizeof(uint64_t) <= n) {
        const uint64_t word = load_64(data + i);
        uint16_t *slot = &s->long_slots[(word * 0x9e3779b97f4a7c15U) >> 52]; /* 2^64 / phi */
        size_t from = *slot, length = from > 0 ? match_length(data, n, from - 1, i) : 0;
        *slot = (uint16_t)(i + 1);
        slot = &s->short_slots[((word << 32) * 0x9e3779b97f4a7c15U) >> 52];
        if (length < sizeof word) {
            from = *slot;
            length = from > 0 ? match_length(data, n, from - 1, i) : 0;
        }
        *slot = (uint16_t)(i + 1);
        if (length >= MIN_MATCH) {
            count_match(sample, length, i + 1 - from);
            i += length;
            misses = 0;
        } else {
            size_t literals = 1 + misses++ / PATIENCE;
            literals = literals < n - i ? literals : n - i;
            for (; literals > 0; literals--) {
                sample->parsed[data[i++]]++;
            }
        }
    }
    for (; i < n; i++) {
        sample->parsed[data[i]]++;
    }
}

/* Bits that a prefix code for these symbols needs: their entropy, and at least one bit each. */
static double code_bits(const uint32_t *counts, size_t n)
{
    double total = 0, bits = 0;
    for (size_t i = 0; i < n; i++) {
        total += counts[i];
    }
    for (size_t i = 0; i < n; i++) {
        if (counts[i] > 0) {
            bits += counts[i] * log2(total / counts[i]);
        }
    }
    return fmax(bits, total);
}

static double coded_bits(const struct sample *sample)
{
    return code_bits(sample->bytes, 256);
}

static double matched_bits(const struct sample *sample)
{
    return code_bits(sample->parsed, 256 + N_LENGTHS) + code_bits(sample->distances, N_DISTANCES) +
           (double)sample->extra_bits;
}

static enum way choose_way(struct squeezer *s, const unsigned char *data, size_t n)
{
    struct sample sample = {.extra_bits = 0};
    if (s->level == 0) {
        return WAY_STORE;
    }
    if (n < MIN_SAMPLED) {
        return WAY_MATCH;
    }
    if (n > SMALL_BYTES) { /* a glance is enough to know text by */
        look_at(s, data + n / 2, GLANCE_BYTES, &sample);
        if (matched_bits(&sample) < (1 - 2 * matching_gain) * coded_bits(&sample)) {
            return WAY_MATCH;
        }
        sample = (struct sample){.extra_bits = 0};
    }
    /* two windows that hold a tenth of the piece, and something at least */
    const size_t least = n > SMALL_BYTES ? GLANCE_BYTES : SMALL_WINDOW_BYTES;
    size_t window = n / 20 < least ? least : n / 20;
    window = window < SAMPLE_BYTES ? window : SAMPLE_BYTES;
    window = n <= window ? n : n < 2 * window ? n / 2 : window;
    look_at(s, data, window, &sample);
    if (window < n) {
        look_at(s, data + n / 2, window, &sample);
    }
    const double coded = coded_bits(&sample);
    const double gain = n > SMALL_BYTES ? matching_gain : small_gain;
    if (matched_bits(&sample) < (1 - gain) * coded) {
        return WAY_MATCH;
    }
    const double raw = 8 * (double)window * (window < n ? 2 : 1);
    return coded < (1 - coding_gain) * raw ? WAY_CODE : WAY_STORE;
}

static enum status match(struct squeezer *s, const unsigned char *data, size_t n, bool last,
                         struct bytes *out)
{
    z_stream *z = &s->stream;
    if (n > UINT_MAX / 2) {
        return status_fail(STATUS_INTERNAL, "a piece of %zu bytes to compress", n);
    }
    /* the bound does not count the empty block of a flush */
    const enum status st = bytes_reserve(out, deflateBound(z, n) + 16);
    if (st != STATUS_OK) {
        return st;
    }
    const int level = n > SMALL_BYTES ? s->level : 1;
    if (deflateReset(z) != Z_OK || deflateParams(z, level, Z_DEFAULT_STRATEGY) != Z_OK) {
        return status_fail(STATUS_INTERNAL, "the deflate state cannot be reset");
    }
    z->next_in = (z_const Bytef *)data;
    z->avail_in = (uInt)n;
    z->next_out = out->data + out->len;
    z->avail_out = (uInt)(out->cap - out->len < UINT_MAX ? out->cap - out->len : UINT_MAX);
    const int rc = deflate(z, last ? Z_FINISH : Z_SYNC_FLUSH);
    if (rc != (last ? Z_STREAM_END : Z_OK) || z->avail_in != 0 || z->avail_out == 0) {
        return status_fail(STATUS_INTERNAL, "deflate of %zu bytes ended with %d", n, rc);
    }
    out->len += z->total_out;
    return STATUS_OK;
}

enum status pack_squeeze(struct squeezer *s, enum pack_kind kind, const void *raw, size_t n,
                         bool last, struct pack_piece *out)
{
    enum status st;
    bytes_clear(&out->packed);
    out->raw_bytes = n;
    out->last = last;
    out->crc = crc_extend(0, raw, n);
    if (kind == PACK_RAW) {
        out->packed_crc = out->crc;
        return bytes_append(&out->packed, raw, n);
    }
    const enum way way = choose_way(s, raw, n);
    if (way == WAY_MATCH) {
        st = match(s, raw, n, last, &out->packed);
    } else {
        st = pack_huffman(raw, n, last, way == WAY_STORE, &out->packed);
    }
    if (st == STATUS_OK) {
        out->packed_crc = crc_extend(0, out->packed.data, out->packed.len);
    }
    return st;
}
