/*
 * raster_tile - one tile of a GeoTIFF: gather, predict, deflate.
 *
 * Floats: predictor 3 (Adobe Photoshop TIFF Technical Note 3): each row's bytes are sorted by
 * significance, all highest bytes first, and replaced by their differences to the byte before.
 * Integers: predictor 2, differences of the numbers. Beyond the grid's edges a tile repeats the
 * last column and row, which costs nothing after a predictor.
 *
 * The deflate stream comes from pack_squeeze, which knows when searching for matches is in vain; a
 * zlib header (RFC 1950) goes before it, an Adler-32 behind.
 */
#include "formats/raster_file.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* out[0 .. width * bytes): the bytes of the row's values, highest first, as differences. */
static void predict_floats(const unsigned char *row, size_t width, size_t bytes,
                           unsigned char *planes, unsigned char *out)
{
    for (size_t i = 0; i < width; i++) {
        uint64_t v = 0;
        if (bytes == 8) {
            memcpy(&v, row + 8 * i, 8);
        } else {
            uint32_t v32;
            memcpy(&v32, row + 4 * i, 4);
            v = v32;
        }
        for (size_t b = 0; b < bytes; b++) {
            planes[b * width + i] = (unsigned char)(v >> (8 * (bytes - 1 - b)));
        }
    }
    out[0] = planes[0];
    for (size_t i = 1; i < width * bytes; i++) {
        out[i] = (unsigned char)(planes[i] - planes[i - 1]);
    }
}

static void predict_integers(const unsigned char *row, size_t width, unsigned char *out)
{
    uint32_t before = 0;
    for (size_t i = 0; i < width; i++) {
        uint32_t v;
        memcpy(&v, row + 4 * i, 4);
        const uint32_t step = v - before;
        before = v;
        for (size_t b = 0; b < 4; b++) {
            out[4 * i + b] = (unsigned char)(step >> (8 * b));
        }
    }
}

/* Fetches the tile's part of grid row `row` and repeats its last cell up to the tile's width. */
static enum status fetch_row(const struct raster_source *s, size_t row, size_t left,
                             unsigned char *cells)
{
    const size_t width = raster_type_bytes(s->raster.type), columns = s->grid->columns;
    const size_t n = columns - left < RASTER_TILE ? columns - left : (size_t)RASTER_TILE;
    const enum status st = s->fetch(s->context, (uint64_t)row * columns + left, n, cells);
    for (size_t i = n; i < RASTER_TILE && st == STATUS_OK; i++) {
        memcpy(cells + i * width, cells + (n - 1) * width, width);
    }
    return st;
}

/* The tile after its predictor. */
static enum status make_tile(const struct raster_tif *tif, size_t index, unsigned char *out)
{
    const struct raster_source *const s = &tif->source;
    const size_t top = index / tif->tiles_across * RASTER_TILE;
    const size_t left = index % tif->tiles_across * RASTER_TILE;
    const size_t row_bytes = RASTER_TILE * raster_type_bytes(s->raster.type);
    unsigned char cells[RASTER_TILE * 8], planes[RASTER_TILE * 8];
    for (size_t y = 0; y < RASTER_TILE; y++) {
        unsigned char *const to = out + y * row_bytes;
        if (top + y >= s->grid->rows) {
            memcpy(to, to - row_bytes, row_bytes);
            continue;
        }
        const enum status st = fetch_row(s, top + y, left, cells);
        if (st != STATUS_OK) {
            return st;
        }
        if (s->raster.type == RASTER_I32) {
            predict_integers(cells, RASTER_TILE, to);
        } else {
            predict_floats(cells, RASTER_TILE, raster_type_bytes(s->raster.type), planes, to);
        }
    }
    return STATUS_OK;
}

static enum status deflate_tile(struct squeezer *squeezer, const unsigned char *raw, size_t n,
                                struct bytes *out)
{
    static const unsigned char head[2] = {0x78, 0x9c}; /* deflate, window 32 KiB, usual level */
    const uLong sum = adler32_z(adler32_z(0, NULL, 0), raw, n);
    const unsigned char tail[4] = {(unsigned char)(sum >> 24), (unsigned char)(sum >> 16),
                                   (unsigned char)(sum >> 8), (unsigned char)sum};
    struct pack_piece piece = {.crc = 0};
    enum status st = pack_squeeze(squeezer, PACK_ZIP, raw, n, true, &piece);
    if (st == STATUS_OK) {
        st = bytes_append(out, head, sizeof head);
    }
    if (st == STATUS_OK) {
        st = bytes_append(out, piece.packed.data, piece.packed.len);
    }
    if (st == STATUS_OK) {
        st = bytes_append(out, tail, sizeof tail);
    }
    bytes_free(&piece.packed);
    return st;
}

enum status raster_tile(const struct raster_tif *tif, struct squeezer *squeezer, size_t index,
                        struct bytes *out)
{
    const size_t n = (size_t)RASTER_TILE * RASTER_TILE * raster_type_bytes(tif->source.raster.type);
    unsigned char *const raw = malloc(n);
    if (raw == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a tile of %zu bytes", n);
    }
    enum status st = make_tile(tif, index, raw);
    if (st == STATUS_OK) {
        st = deflate_tile(squeezer, raw, n, out);
    }
    free(raw);
    return st;
}
