/*
 * tif_strile - strips and tiles (libtiff: striles) to bands.
 *
 * libtiff unpacks deflate streams through libdeflate, takes its "there is more than fits" for a
 * success, and then leaves up to 257 bytes at the end as they were, without a look at the checksum
 * (4.5.0, ZIPDecode). Damage that makes a stream longer would pass as data. So ISA-L unpacks the
 * stream, to its checksum, and counts. Some programs write the last strip in full, beyond the
 * image's last row: of such a one the beginning is taken.
 *
 * What predictors have left is put together here, as TIFF 6.0 and Adobe Photoshop TIFF Technical
 * Note 3 say: 2, each number as the difference to the one before in its row, modulo two to its
 * bits; 3, of floats, the rows' first bytes, then their second ones and so on, the most significant
 * first in files of either byte order, each as the difference to the byte before.
 */
#include "formats/base/io_watch.h"
#include "formats/table/tif.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reads n bytes of a stored strile, into memory of `room` bytes at least; NULL: h->error. */
static unsigned char *load(struct tif_handle *h, uint32_t strile, size_t n, size_t room)
{
    unsigned char *const packed = malloc(n > room ? n : room);
    if (packed == NULL) {
        h->error = ENOMEM;
        return NULL;
    }
    const uint64_t at = TIFFGetStrileOffset(h->tif, strile);
    const size_t got = io_watch_pread_all(h->fd, packed, n, at, &h->error);
    memset(packed + got, 0, n - got);
    return packed;
}

static inline void add_up_items(unsigned char *p, size_t n, size_t bytes)
{
    const size_t low = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : sizeof(uint64_t) - bytes;
    uint64_t sum = 0, next = 0;
    for (const unsigned char *const end = p + n * bytes; p < end; p += bytes) {
        memcpy((unsigned char *)&next + low, p, bytes);
        sum += next;
        memcpy(p, (unsigned char *)&sum + low, bytes);
    }
}

/* Makes each of n numbers the sum of those up to it. */
static void add_up(unsigned char *row, size_t n, size_t item_bytes)
{
    switch (item_bytes) { /* loops of one size are fast */
    case 1:
        add_up_items(row, n, 1);
        break;
    case 2:
        add_up_items(row, n, 2);
        break;
    case 4:
        add_up_items(row, n, 4);
        break;
    default:
        add_up_items(row, n, 8);
        break;
    }
}

/* Floats from their bytes apart, which are copied to `apart`. */
static void gather(unsigned char *row, size_t n, size_t sample_bytes, unsigned char *apart)
{
    memcpy(apart, row, n * sample_bytes);
    for (size_t b = 0; b < sample_bytes; b++) {
        const size_t at = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? sample_bytes - 1 - b : b;
        for (size_t i = 0; i < n; i++) {
            row[i * sample_bytes + at] = apart[b * n + i];
        }
    }
}

/* Makes samples in this machine's byte order of an unpacked strile; `room` for a row. */
static void undo_predictor(const struct tif_shape *shape, unsigned char *samples, size_t bytes,
                           unsigned char *room)
{
    const size_t n = shape->strile_columns, width = shape->sample_bytes;
    const bool apart = shape->predictor == PREDICTOR_FLOATINGPOINT;
    if (shape->swapped && !apart) {
        table_swap(samples, bytes / width, width);
    }
    for (size_t at = 0; shape->predictor != PREDICTOR_NONE && at < bytes; at += n * width) {
        add_up(samples + at, apart ? n * width : n, apart ? 1 : width);
        if (apart) {
            gather(samples + at, n, width, room);
        }
    }
}

/* Decodes a deflated strile; *complaint: what is wrong with it. */
static bool decode_deflate(const struct tif_shape *shape, struct tif_handle *h, uint32_t strile,
                           unsigned char *dst, size_t bytes, const char **complaint)
{
    const uint64_t stored = TIFFGetStrileByteCount(h->tif, strile);
    const size_t n = stored < shape->packed_bytes ? (size_t)stored : shape->packed_bytes;
    unsigned char *const packed = load(h, strile, n, shape->strile_columns * shape->sample_bytes);
    bool ok = packed != NULL && h->error == 0;
    if (ok && shape->reversed) {
        TIFFReverseBits(packed, (tmsize_t)n);
    }
    *complaint =
        ok ? table_bands_inflate(&h->inflate, packed, n, dst, bytes, shape->strile_bytes) : NULL;
    ok = ok && *complaint == NULL;
    if (ok) {
        undo_predictor(shape, dst, bytes, packed);
    }
    free(packed);
    return ok;
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
    const size_t at =
        __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : sizeof v - shape->sample_bytes;
    memcpy(sample, (const unsigned char *)&v + at, shape->sample_bytes);
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
    bool ok;
    tif_handle_forget(h);
    if (shape->deflated) {
        ok = decode_deflate(shape, h, strile, dst, bytes, &complaint);
    } else {
        const tmsize_t n = (tmsize_t)bytes;
        ok = n == (shape->tiled ? TIFFReadEncodedTile(h->tif, strile, dst, n)
                                : TIFFReadEncodedStrip(h->tif, strile, dst, n));
    }
    if (ok && h->first[0] == '\0') { /* libtiff may call damage a success */
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
