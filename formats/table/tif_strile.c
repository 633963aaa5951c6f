/*
 * tif_strile - strips and tiles (libtiff: striles) to bands.
 *
 * libtiff unpacks deflate streams through libdeflate, takes its "there is more than fits" for a
 * success, and then leaves up to 257 bytes at the end as they were, without a look at the checksum
 * (4.5.0, ZIPDecode). Damage that makes a stream longer would pass as data. So zlib reads the
 * stream first, to its checksum, and counts. Some programs write the last strip in full, beyond the
 * image's last row: of such a one, zlib unpacks the beginning.
 */
#include "formats/base/io_watch.h"
#include "formats/table/tif.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { PIECE_BYTES = 1 << 14 };

struct stream {
    z_stream z;
    struct tif_handle *h;
    uint64_t at, left; /* of the file, not yet read */
    bool reversed;     /* the bits of each byte */
    unsigned char in[PIECE_BYTES], out[2 * PIECE_BYTES];
};

static bool refill(struct stream *s)
{
    const size_t n = s->left < PIECE_BYTES ? (size_t)s->left : PIECE_BYTES;
    int error;
    const size_t got = io_watch_pread_all(s->h->fd, s->in, n, s->at, &error);
    if (error != 0) {
        s->h->error = error;
    }
    if (error != 0 || got == 0) {
        return false;
    }
    if (s->reversed) {
        TIFFReverseBits(s->in, (tmsize_t)got);
    }
    s->at += got;
    s->left -= got;
    s->z.next_in = s->in;
    s->z.avail_in = (uInt)got;
    return true;
}

/* Unpacks until the end, or beyond `most` bytes; true: to the end, with the right checksum. */
static bool unpack(struct stream *s, uint64_t most)
{
    int state = Z_OK;
    while (state == Z_OK && s->z.total_out <= most) {
        if (s->z.avail_in == 0 && (s->left == 0 || !refill(s))) {
            return false;
        }
        s->z.next_out = s->out;
        s->z.avail_out = sizeof s->out;
        state = inflate(&s->z, Z_NO_FLUSH);
    }
    return state == Z_STREAM_END;
}

/* Before a deflated strile is decoded: it must be whole and unpack to `least` to `most` bytes. What
 * is wrong with it (h->error: with its reading); NULL: nothing. */
static const char *prepare_deflate(struct tif_handle *h, uint32_t strile, uint64_t least,
                                   uint64_t most)
{
    struct stream s = {.h = h,
                       .at = TIFFGetStrileOffset(h->tif, strile),
                       .left = TIFFGetStrileByteCount(h->tif, strile)};
    uint16_t order = FILLORDER_MSB2LSB;
    TIFFGetFieldDefaulted(h->tif, TIFFTAG_FILLORDER, &order);
    s.reversed = order == FILLORDER_LSB2MSB;
    if (inflateInit(&s.z) != Z_OK) {
        h->error = ENOMEM;
        return "no memory to unpack it";
    }
    const bool whole = unpack(&s, most);
    const char *const complaint = s.z.msg != NULL ? s.z.msg : "it ends too early";
    const uint64_t n = s.z.total_out;
    (void)inflateEnd(&s.z);
    TIFFSetField(h->tif, TIFFTAG_DEFLATE_SUBCODEC,
                 n > least ? DEFLATE_SUBCODEC_ZLIB : DEFLATE_SUBCODEC_LIBDEFLATE);
    return n > most    ? "it unpacks to more than its size"
           : !whole    ? complaint
           : n < least ? "it unpacks to less than its size"
                       : NULL;
}

static void narrow_integer(const struct tif_shape *shape, double value, unsigned char *sample)
{
    const int bits = (int)(8 * shape->sample_bytes);
    const bool is_signed = shape->kind == TABLE_INT;
    const double end = ldexp(1, is_signed ? bits - 1 : bits);
    if (value != floor(value) || value >= end || value < (is_signed ? -end : 0)) {
        return;
    }
    const uint64_t v = value < 0 ? -(uint64_t)-value : (uint64_t)value;
    for (size_t i = 0; i < shape->sample_bytes; i++) {
        const size_t place =
            __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? i : shape->sample_bytes - 1 - i;
        sample[place] = (unsigned char)(v >> (8 * i));
    }
}

void tif_narrow(const struct tif_shape *shape, double value, unsigned char *sample)
{
    memset(sample, 0, shape->sample_bytes);
    if (shape->kind != TABLE_FLOAT) {
        narrow_integer(shape, value, sample);
    } else if (shape->sample_bytes == sizeof(double)) {
        memcpy(sample, &value, sizeof value);
    } else if (shape->sample_bytes == sizeof(float)) {
        const float f = (float)value;
        memcpy(sample, &f, sizeof f);
    }
}

size_t tif_band_rows(const struct tif_shape *shape, size_t index)
{
    const size_t left = shape->rows - index * shape->band_rows;
    return left < shape->band_rows ? left : shape->band_rows;
}

static void fill_samples(const struct tif_shape *shape, unsigned char *dst, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(dst + i * shape->sample_bytes, shape->fill, shape->sample_bytes);
    }
}

/* Rows of the strile row `down`, of the image. */
static size_t strile_rows(const struct tif_shape *shape, size_t down)
{
    const size_t left = shape->rows - down * shape->strile_rows;
    return left < shape->strile_rows ? left : shape->strile_rows;
}

/* Reads a strile that the file stores. */
static enum status read_strile(const struct tif_shape *shape, struct tif_handle *h,
                               const char *name, uint32_t strile, unsigned char *dst, size_t bytes)
{
    const char *complaint = NULL;
    tmsize_t got = -1;
    tif_handle_forget(h);
    if (shape->deflated) {
        complaint = prepare_deflate(h, strile, bytes, shape->strile_bytes);
    }
    if (complaint == NULL) {
        got = shape->tiled ? TIFFReadEncodedTile(h->tif, strile, dst, (tmsize_t)bytes)
                           : TIFFReadEncodedStrip(h->tif, strile, dst, (tmsize_t)bytes);
    }
    if (got == (tmsize_t)bytes && h->first[0] == '\0') { /* libtiff may call damage a success */
        return STATUS_OK;
    }
    const size_t down = strile / shape->striles_across, across = strile % shape->striles_across;
    return tif_handle_fail(h, "%s: %s %u (from row %zu, column %zu on) is damaged%s%s", name,
                           shape->tiled ? "tile" : "strip", strile, down * shape->strile_rows + 1,
                           across * shape->strile_columns + 1, complaint != NULL ? ": " : "",
                           complaint != NULL ? complaint : "");
}

/* Puts what the image has of strile `across` of a row of them in its place: a strip directly, a
 * tile through h->tile. */
static enum status decode_strile(const struct tif_shape *shape, struct tif_handle *h,
                                 const char *name, size_t down, size_t across, unsigned char *dst)
{
    const uint32_t strile = (uint32_t)(down * shape->striles_across + across);
    const size_t first = across * shape->strile_columns, left = shape->columns - first;
    const size_t n = left < shape->strile_columns ? left : shape->strile_columns;
    const size_t rows = strile_rows(shape, down), width = shape->sample_bytes;
    const bool stored = TIFFGetStrileByteCount(h->tif, strile) > 0;
    if (stored && !shape->tiled) {
        return read_strile(shape, h, name, strile, dst, rows * n * width);
    }
    if (stored) {
        STATUS_TRY(read_strile(shape, h, name, strile, h->tile, shape->tile_bytes));
    }
    for (size_t row = 0; row < rows; row++) {
        unsigned char *const to = dst + (row * shape->columns + first) * width;
        if (stored) {
            memcpy(to, h->tile + row * shape->strile_columns * width, n * width);
        } else {
            fill_samples(shape, to, n);
        }
    }
    return STATUS_OK;
}

enum status tif_band_decode(const struct tif_shape *shape, struct tif_handle *h, const char *name,
                            size_t index, unsigned char *samples)
{
    const size_t first = index * shape->band_striles;
    const size_t left = shape->striles_down - first;
    const size_t n = left < shape->band_striles ? left : shape->band_striles;
    const size_t strile_row_bytes = shape->strile_rows * shape->columns * shape->sample_bytes;
    if (shape->tiled && h->tile == NULL) {
        h->tile = malloc(shape->tile_bytes);
        if (h->tile == NULL) {
            return status_fail(STATUS_NO_MEMORY, "%s: no memory for a tile of %zu bytes", name,
                               shape->tile_bytes);
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t across = 0; across < shape->striles_across; across++) {
            STATUS_TRY(
                decode_strile(shape, h, name, first + i, across, samples + i * strile_row_bytes));
        }
    }
    return STATUS_OK;
}
