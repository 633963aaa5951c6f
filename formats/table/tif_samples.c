/*
 * tif_samples - samples of every kind to doubles, and strips and tiles to bands.
 */
#include "formats/table/tif.h"

#include "formats/base/checked.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* complaint: what is wrong, or NULL: libtiff has said it (and may have called it a success). */
static enum status fail_strile(const struct tif_handle *h, const struct tif_shape *shape,
                               const char *name, uint32_t strile, const char *complaint)
{
    const size_t down = strile / shape->striles_across, across = strile % shape->striles_across;
    return tif_handle_fail(h, "%s: %s %u (from row %zu, column %zu on) is damaged%s%s", name,
                           shape->tiled ? "tile" : "strip", strile, down * shape->strile_rows + 1,
                           across * shape->strile_columns + 1, complaint != NULL ? ": " : "",
                           complaint != NULL ? complaint : "");
}

static enum status decode_strip(const struct tif_shape *shape, struct tif_handle *h,
                                const char *name, uint32_t strip, unsigned char *dst)
{
    const size_t n = strile_rows(shape, strip) * shape->columns, bytes = n * shape->sample_bytes;
    const char *complaint = NULL;
    if (TIFFGetStrileByteCount(h->tif, strip) == 0) {
        fill_samples(shape, dst, n);
        return STATUS_OK;
    }
    tif_handle_forget(h);
    if (shape->deflated) {
        complaint = tif_prepare_deflate(h, strip, bytes, shape->strile_bytes);
    }
    if (complaint != NULL ||
        TIFFReadEncodedStrip(h->tif, strip, dst, (tmsize_t)bytes) != (tmsize_t)bytes ||
        h->first[0] != '\0') {
        return fail_strile(h, shape, name, strip, complaint);
    }
    return STATUS_OK;
}

/* Decodes a tile into h->tile. */
static enum status read_tile(const struct tif_shape *shape, struct tif_handle *h, const char *name,
                             uint32_t tile)
{
    const size_t bytes = shape->tile_bytes;
    const char *complaint = NULL;
    tif_handle_forget(h);
    if (shape->deflated) {
        complaint = tif_prepare_deflate(h, tile, bytes, shape->strile_bytes);
    }
    if (complaint != NULL ||
        TIFFReadEncodedTile(h->tif, tile, h->tile, (tmsize_t)bytes) != (tmsize_t)bytes ||
        h->first[0] != '\0') {
        return fail_strile(h, shape, name, tile, complaint);
    }
    return STATUS_OK;
}

/* Puts what the image has of tile `across` of a row of tiles in its place. */
static enum status decode_tile(const struct tif_shape *shape, struct tif_handle *h,
                               const char *name, size_t down, size_t across, unsigned char *dst)
{
    const uint32_t tile = (uint32_t)(down * shape->striles_across + across);
    const size_t first = across * shape->strile_columns, left = shape->columns - first;
    const size_t n = left < shape->strile_columns ? left : shape->strile_columns;
    const bool stored = TIFFGetStrileByteCount(h->tif, tile) > 0;
    const enum status st = stored ? read_tile(shape, h, name, tile) : STATUS_OK;
    if (st != STATUS_OK) {
        return st;
    }
    const size_t width = shape->sample_bytes;
    for (size_t row = 0; row < strile_rows(shape, down); row++) {
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
    if (shape->tiled && h->tile == NULL) {
        h->tile = malloc(shape->tile_bytes);
        if (h->tile == NULL) {
            return status_fail(STATUS_NO_MEMORY, "%s: no memory for a tile of %zu bytes", name,
                               shape->tile_bytes);
        }
    }
    enum status st = STATUS_OK;
    for (size_t i = 0; i < n && st == STATUS_OK; i++) {
        unsigned char *const dst =
            samples + i * shape->strile_rows * shape->columns * shape->sample_bytes;
        if (!shape->tiled) {
            st = decode_strip(shape, h, name, (uint32_t)(first + i), dst);
            continue;
        }
        for (size_t across = 0; across < shape->striles_across && st == STATUS_OK; across++) {
            st = decode_tile(shape, h, name, first + i, across, dst);
        }
    }
    return st;
}
