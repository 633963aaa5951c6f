/*
 * pack_huffman - a deflate encoder for bytes that do not repeat.
 *
 * Each block of BLOCK_BYTES is counted, gets its own prefix code, and is written four symbols at a
 * time through a 64-bit accumulator: 4 * MAX_CODE_BITS and the 7 bits left from before fit it. It
 * is what zlib does for Z_HUFFMAN_ONLY, without the window, the symbol buffer and the byte-wise
 * output that limit zlib to about 130 MB/s.
 *
 * Lengths come from Huffman's algorithm over sorted counts with two queues; those beyond the limit
 * are shortened and the Kraft sum is made whole again by moving leaves down, the rarest first.
 *
 * No matches, no choice of block boundaries, no fixed codes (but for an empty stream).
 *
 * Sources: RFC 1951; van Leeuwen, On the construction of Huffman trees, 1976 (two queues).
 */
#include "formats/pack/pack_huffman.h"

#include <assert.h>
#include <endian.h>
#include <stdint.h>
#include <string.h>

enum {
    BLOCK_BYTES = 48 * 1024, /* < 65536, the most that a stored block can hold */
    N_LITERALS = 257,        /* bytes and the end of the block */
    END_OF_BLOCK = 256,
    N_DISTANCES = 2, /* unused, but decoders of old want two */
    N_LENGTHS = 19,  /* the alphabet that code lengths are sent in */
    MAX_CODE_BITS = 14,
    MAX_LENGTH_BITS = 7,
    BLOCK_OVERHEAD = 16, /* stored: 5 bytes; the rest is room for whole 8-byte stores */
};

/* A prefix code: bits in the order they are sent (reversed), and their number. */
struct code {
    uint16_t bits[N_LITERALS];
    uint8_t lengths[N_LITERALS];
};

/* Bits not yet written are the low n of acc; n < 8 between calls. */
struct bit_writer {
    unsigned char *at;
    uint64_t acc;
    unsigned n;
};

static inline void bits_add(struct bit_writer *w, uint64_t bits, unsigned n)
{
    w->acc |= bits << w->n;
    w->n += n;
}

static inline void bits_flush(struct bit_writer *w)
{
    const uint64_t le = htole64(w->acc);
    memcpy(w->at, &le, sizeof le);
    w->at += w->n >> 3;
    w->acc >>= w->n & 56;
    w->n &= 7;
}

static void bits_put(struct bit_writer *w, unsigned bits, unsigned n)
{
    bits_add(w, bits, n);
    bits_flush(w);
}

/* Sorts keys by their high bits, counts below 2^18 at bit 9, keeping the order of equal ones. */
static void sort_keys(uint32_t *keys, size_t n)
{
    uint32_t other[N_LITERALS], *from = keys, *to = other;
    for (unsigned shift = 9; shift < 27; shift += 6) {
        size_t starts[65] = {0};
        for (size_t i = 0; i < n; i++) {
            starts[((from[i] >> shift) & 63) + 1]++;
        }
        for (size_t d = 0; d < 64; d++) {
            starts[d + 1] += starts[d];
        }
        for (size_t i = 0; i < n; i++) {
            to[starts[(from[i] >> shift) & 63]++] = from[i];
        }
        uint32_t *const swapped = from;
        from = to;
        to = swapped;
    }
    memcpy(keys, other, n * sizeof keys[0]); /* three passes end in `other` */
}

/* How many of n >= 2 symbols, sorted by rising count, get a code of each length. */
static void count_lengths(const uint32_t *keys, size_t n, unsigned max_bits, unsigned *per_length)
{
    uint32_t weights[2 * N_LITERALS];
    uint16_t parents[2 * N_LITERALS];
    uint8_t depths[2 * N_LITERALS];
    size_t leaf = 0, inner = n;
    for (size_t i = 0; i < n; i++) {
        weights[i] = keys[i] >> 9;
    }
    for (size_t made = n; made < 2 * n - 1; made++) {
        weights[made] = 0;
        for (int child = 0; child < 2; child++) {
            const bool take_leaf = leaf < n && (inner == made || weights[leaf] <= weights[inner]);
            const size_t taken = take_leaf ? leaf++ : inner++;
            weights[made] += weights[taken];
            parents[taken] = (uint16_t)made;
        }
    }
    memset(per_length, 0, (max_bits + 1) * sizeof per_length[0]);
    uint32_t kraft = 0; /* in units of 2^-max_bits */
    depths[2 * n - 2] = 0;
    for (size_t i = 2 * n - 2; i-- > 0;) {
        depths[i] = (uint8_t)(depths[parents[i]] + 1);
        if (i < n) {
            const unsigned bits = depths[i] < max_bits ? depths[i] : max_bits;
            per_length[bits]++;
            kraft += 1U << (max_bits - bits);
        }
    }
    for (; kraft > 1U << max_bits; kraft--) {
        unsigned bits = max_bits - 1;
        while (per_length[bits] == 0) {
            bits--;
        }
        per_length[bits]--;
        per_length[bits + 1] += 2;
        per_length[max_bits]--;
    }
}

/* The low n <= 16 bits in the opposite order. */
static unsigned reverse_bits(unsigned value, unsigned n)
{
    value = (value & 0x5555) << 1 | (value >> 1 & 0x5555);
    value = (value & 0x3333) << 2 | (value >> 2 & 0x3333);
    value = (value & 0x0f0f) << 4 | (value >> 4 & 0x0f0f);
    value = (value & 0x00ff) << 8 | (value >> 8 & 0x00ff);
    return value >> (16 - n);
}

/* The canonical code for n symbols, two or more of which occur; counts below 2^18. */
static void make_code(const uint32_t *counts, size_t n, unsigned max_bits, struct code *code)
{
    uint32_t keys[N_LITERALS];
    unsigned per_length[MAX_CODE_BITS + 1], next[MAX_CODE_BITS + 1];
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (counts[i] > 0) {
            keys[used++] = counts[i] << 9 | (uint32_t)i;
        }
    }
    assert(used >= 2);
    sort_keys(keys, used);
    count_lengths(keys, used, max_bits, per_length);

    memset(code->lengths, 0, n);
    size_t at = 0;
    for (unsigned bits = max_bits; bits > 0; bits--) {
        for (unsigned k = 0; k < per_length[bits]; k++) {
            code->lengths[keys[at++] & 511] = (uint8_t)bits;
        }
    }
    unsigned first = 0;
    for (unsigned bits = 1; bits <= max_bits; bits++) {
        next[bits] = first;
        first = (first + per_length[bits]) << 1;
    }
    for (size_t i = 0; i < n; i++) {
        const unsigned bits = code->lengths[i];
        code->bits[i] = (uint16_t)(bits > 0 ? reverse_bits(next[bits]++, bits) : 0);
    }
}

/* Code lengths as they are sent: symbols of the length alphabet, each with its repeat count's bits.
 */
struct header {
    uint8_t symbols[N_LITERALS + N_DISTANCES], extra[N_LITERALS + N_DISTANCES];
    size_t n_symbols, n_orders;
    struct code code;
    size_t bits; /* of the whole header, block type included */
};

static const uint8_t extra_bits[N_LENGTHS] = {[16] = 2, [17] = 3, [18] = 7};
static const uint8_t order[N_LENGTHS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                         11, 4,  12, 3, 13, 2, 14, 1, 15};

static void add_symbol(struct header *h, unsigned symbol, size_t extra)
{
    h->symbols[h->n_symbols] = (uint8_t)symbol;
    h->extra[h->n_symbols++] = (uint8_t)extra;
}

static void add_run(struct header *h, unsigned length, size_t n)
{
    if (length > 0) {
        add_symbol(h, length, 0);
        n--;
    }
    while (n >= 3) {
        const size_t most = length > 0 ? 6 : 138, k = n < most ? n : most;
        if (length > 0) {
            add_symbol(h, 16, k - 3);
        } else {
            add_symbol(h, k < 11 ? 17 : 18, k < 11 ? k - 3 : k - 11);
        }
        n -= k;
    }
    for (; n > 0; n--) {
        add_symbol(h, length, 0);
    }
}

static void make_header(const struct code *literals, struct header *h)
{
    uint8_t lengths[N_LITERALS + N_DISTANCES];
    uint32_t counts[N_LENGTHS] = {0};
    memcpy(lengths, literals->lengths, N_LITERALS);
    memset(lengths + N_LITERALS, 1, N_DISTANCES);
    h->n_symbols = 0;
    for (size_t i = 0, run; i < sizeof lengths; i += run) {
        for (run = 1; i + run < sizeof lengths && lengths[i + run] == lengths[i]; run++) {
        }
        add_run(h, lengths[i], run);
    }
    for (size_t i = 0; i < h->n_symbols; i++) {
        counts[h->symbols[i]]++;
    }
    make_code(counts, N_LENGTHS, MAX_LENGTH_BITS, &h->code);
    h->n_orders = N_LENGTHS;
    while (h->n_orders > 4 && h->code.lengths[order[h->n_orders - 1]] == 0) {
        h->n_orders--;
    }
    h->bits = 3 + 14 + 3 * h->n_orders;
    for (size_t i = 0; i < N_LENGTHS; i++) {
        h->bits += (size_t)counts[i] * (h->code.lengths[i] + (size_t)extra_bits[i]);
    }
}

static void put_header(struct bit_writer *w, const struct header *h, bool final)
{
    bits_put(w, final | 2 << 1, 3);
    bits_put(w, N_LITERALS - 257, 5);
    bits_put(w, N_DISTANCES - 1, 5);
    bits_put(w, (unsigned)h->n_orders - 4, 4);
    for (size_t i = 0; i < h->n_orders; i++) {
        bits_put(w, h->code.lengths[order[i]], 3);
    }
    for (size_t i = 0; i < h->n_symbols; i++) {
        const unsigned symbol = h->symbols[i];
        bits_put(w, h->code.bits[symbol], h->code.lengths[symbol]);
        bits_put(w, h->extra[i], extra_bits[symbol]);
    }
}

static void put_coded(struct bit_writer *w, const struct code *code, const unsigned char *data,
                      size_t n)
{
    struct bit_writer fast = *w; /* in registers */
    uint32_t both[N_LITERALS];
    for (size_t i = 0; i < N_LITERALS; i++) {
        both[i] = (uint32_t)code->bits[i] << 8 | code->lengths[i];
    }
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (size_t k = 0; k < 4; k++) {
            bits_add(&fast, both[data[i + k]] >> 8, both[data[i + k]] & 255);
        }
        bits_flush(&fast);
    }
    for (; i < n; i++) {
        bits_put(&fast, both[data[i]] >> 8, both[data[i]] & 255);
    }
    bits_put(&fast, code->bits[END_OF_BLOCK], code->lengths[END_OF_BLOCK]);
    *w = fast;
}

static void put_stored(struct bit_writer *w, const unsigned char *data, size_t n, bool final)
{
    bits_put(w, final, 3);
    bits_put(w, 0, (8 - w->n) & 7);
    bits_put(w, (unsigned)n, 16);
    bits_put(w, ~(unsigned)n & 0xffff, 16);
    if (n > 0) {
        memcpy(w->at, data, n);
        w->at += n;
    }
}

static void count_bytes(const unsigned char *data, size_t n, uint32_t *counts)
{
    uint32_t lanes[4][256] = {{0}}; /* apart, so that equal neighbours do not wait on each other */
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (size_t k = 0; k < 4; k++) {
            lanes[k][data[i + k]]++;
        }
    }
    for (; i < n; i++) {
        lanes[0][data[i]]++;
    }
    for (size_t k = 0; k < 256; k++) {
        counts[k] = lanes[0][k] + lanes[1][k] + lanes[2][k] + lanes[3][k];
    }
    counts[END_OF_BLOCK] = 1;
}

static void put_block(struct bit_writer *w, const unsigned char *data, size_t n, bool final)
{
    uint32_t counts[N_LITERALS];
    struct code code;
    struct header header;
    count_bytes(data, n, counts);
    make_code(counts, N_LITERALS, MAX_CODE_BITS, &code);
    make_header(&code, &header);
    size_t bits = header.bits;
    for (size_t i = 0; i < N_LITERALS; i++) {
        bits += (size_t)counts[i] * code.lengths[i];
    }
    if (bits < 8 * n + 32) {
        put_header(w, &header, final);
        put_coded(w, &code, data, n);
    } else {
        put_stored(w, data, n, final);
    }
}

enum status pack_huffman(const unsigned char *data, size_t n, bool last, bool store,
                         struct bytes *out)
{
    const enum status st = bytes_reserve(out, n + (n / BLOCK_BYTES + 2) * BLOCK_OVERHEAD);
    if (st != STATUS_OK) {
        return st;
    }
    struct bit_writer w = {.at = out->data + out->len};
    for (size_t at = 0; at < n;) {
        const size_t k = n - at < BLOCK_BYTES ? n - at : BLOCK_BYTES;
        const bool final = last && at + k == n;
        if (store) {
            put_stored(&w, data + at, k, final);
        } else {
            put_block(&w, data + at, k, final);
        }
        at += k;
    }
    if (n == 0 && last) {
        bits_put(&w, 1 | 1 << 1, 10); /* fixed codes, end of block */
    } else if (!last && w.n > 0) {
        put_stored(&w, NULL, 0, false);
    }
    bits_put(&w, 0, (8 - w.n) & 7);
    out->len = (size_t)(w.at - out->data);
    return STATUS_OK;
}
