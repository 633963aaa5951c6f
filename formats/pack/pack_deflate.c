/*
 * pack_deflate - one piece of a member: raw bytes -> a run of deflate blocks that ends on a byte.
 *
 * Levels 1 to 3 are Intel ISA-L's, which takes the widest instructions that the processor has;
 * mantissas of measured numbers, which do not repeat, cost no more there than text. Level 0 and
 * levels from 4 on are zlib's.
 *
 * Source: RFC 1951.
 */
#include "formats/pack/pack.h"

#include <isa-l.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

enum { ISAL_LEVELS = 4 };
static const uint32_t level_bytes[ISAL_LEVELS] = {0, ISAL_DEF_LVL1_DEFAULT, ISAL_DEF_LVL2_DEFAULT,
                                                  ISAL_DEF_LVL3_DEFAULT};

struct deflater {
    int level;
    z_stream zlib; /* that of them which the level takes is set up */
    struct isal_zstream isal;
    uint8_t *level_buffer;
};

static bool is_isal(const struct deflater *d)
{
    return d->level > 0 && d->level < ISAL_LEVELS;
}

enum status deflater_new(int level, struct deflater **out)
{
    *out = NULL;
    if (level < 0 || level > 9) {
        return status_fail(STATUS_BAD_ARGUMENT, "compression level %d is not one of 0 to 9", level);
    }
    struct deflater *d = calloc(1, sizeof *d);
    if (d == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory to compress");
    }
    d->level = level;
    bool whole;
    if (is_isal(d)) {
        d->level_buffer = malloc(level_bytes[level]);
        isal_deflate_init(&d->isal);
        d->isal.level = (uint32_t)level;
        d->isal.level_buf = d->level_buffer;
        d->isal.level_buf_size = level_bytes[level];
        whole = d->level_buffer != NULL;
    } else {
        whole = deflateInit2(&d->zlib, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    }
    if (!whole) {
        free(d);
        return status_fail(STATUS_NO_MEMORY, "no memory to compress");
    }
    *out = d;
    return STATUS_OK;
}

void deflater_free(struct deflater *d)
{
    if (d != NULL) {
        if (!is_isal(d)) {
            deflateEnd(&d->zlib);
        }
        free(d->level_buffer);
        free(d);
    }
}

/* ISA-L 2.30 hashes the address of its stream in place of the third byte of a new stream, unless
 * what it is given ends within its look-ahead of 16 bytes; so a piece in this many bytes first, and
 * then the rest, gives the same bytes in every process. It costs some 12 bytes a piece. */
enum { ISAL_FIRST_BYTES = 16 };

static enum status deflate_run(struct isal_zstream *z, size_t n, bool last, struct bytes *out)
{
    z->flush = last ? NO_FLUSH : SYNC_FLUSH;
    z->end_of_stream = last;
    z->avail_in = (uint32_t)n;
    do {
        const size_t room = (size_t)z->avail_in + z->avail_in / 64 + 1024;
        STATUS_TRY(bytes_reserve(out, room));
        z->next_out = out->data + out->len;
        z->avail_out = (uint32_t)room;
        const int rc = isal_deflate(z);
        if (rc != COMP_OK) {
            return status_fail(STATUS_INTERNAL, "deflate of %zu bytes ended with %d", n, rc);
        }
        out->len += room - z->avail_out;
    } while (z->avail_out == 0);
    return STATUS_OK;
}

static enum status deflate_isal(struct isal_zstream *z, const void *raw, size_t n, bool last,
                                struct bytes *out)
{
    const size_t first = n > ISAL_FIRST_BYTES ? ISAL_FIRST_BYTES : 0;
    isal_deflate_reset(z);
    z->next_in = (uint8_t *)raw; /* it only reads */
    if (first > 0) {
        STATUS_TRY(deflate_run(z, first, false, out));
    }
    return deflate_run(z, n - first, last, out);
}

static enum status deflate_zlib(z_stream *z, const void *raw, size_t n, bool last,
                                struct bytes *out)
{
    /* the bound does not count the empty block of a flush */
    const size_t room = deflateBound(z, n) + 16;
    STATUS_TRY(bytes_reserve(out, room));
    if (deflateReset(z) != Z_OK) {
        return status_fail(STATUS_INTERNAL, "the deflate state cannot be reset");
    }
    z->next_in = (z_const Bytef *)raw;
    z->avail_in = (uInt)n;
    z->next_out = out->data + out->len;
    z->avail_out = (uInt)room;
    const int rc = deflate(z, last ? Z_FINISH : Z_SYNC_FLUSH);
    if (rc != (last ? Z_STREAM_END : Z_OK) || z->avail_in != 0 || z->avail_out == 0) {
        return status_fail(STATUS_INTERNAL, "deflate of %zu bytes ended with %d", n, rc);
    }
    out->len += z->total_out;
    return STATUS_OK;
}

enum status pack_deflate(struct deflater *d, enum pack_kind kind, const void *raw, size_t n,
                         bool last, struct pack_piece *out)
{
    bytes_clear(&out->packed);
    out->raw_bytes = n;
    out->last = last;
    out->crc = crc32_gzip_refl(0, raw, n);
    if (kind == PACK_RAW) {
        out->packed_crc = out->crc;
        return bytes_append(&out->packed, raw, n);
    }
    if (n > UINT_MAX / 2) {
        return status_fail(STATUS_INTERNAL, "a piece of %zu bytes to compress", n);
    }
    STATUS_TRY(is_isal(d) ? deflate_isal(&d->isal, raw, n, last, &out->packed)
                          : deflate_zlib(&d->zlib, raw, n, last, &out->packed));
    out->packed_crc = crc32_gzip_refl(0, out->packed.data, out->packed.len);
    return STATUS_OK;
}

enum status pack_zlib(const void *raw, size_t n, struct bytes *out)
{
    const uint32_t sum = isal_adler32(1, raw, n);
    const unsigned char head[] = {0x78, 0x01}; /* a window of 32 KiB; fastest */
    const unsigned char end[] = {(unsigned char)(sum >> 24), (unsigned char)(sum >> 16),
                                 (unsigned char)(sum >> 8), (unsigned char)sum};
    struct deflater *d;
    STATUS_TRY(n <= UINT_MAX / 2
                   ? STATUS_OK
                   : status_fail(STATUS_INTERNAL, "a stream of %zu bytes to compress", n));
    STATUS_TRY(deflater_new(1, &d));
    enum status st = bytes_append(out, head, sizeof head);
    st = st == STATUS_OK ? deflate_isal(&d->isal, raw, n, true, out) : st;
    deflater_free(d);
    return st == STATUS_OK ? bytes_append(out, end, sizeof end) : st;
}
