/*
 * png_file - chunks around a zlib stream (PNG specification, 2nd edition; RFC 1950).
 *
 * Pictures of coloured cells have few colours: a palette is a third of the bytes to compress. Rows
 * of indices are stored as they are, since equal rows are found as matches; of colours each is the
 * difference to the one left of it.
 */
#include "formats/result/png_file.h"

#include "formats/pack/pack.h"
#include "formats/result/palette.h"

#include <isa-l.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FILTER_LEFT = 1, TYPE_RGB = 2, TYPE_PALETTE = 3 };

static void put_be32(unsigned char *to, uint32_t value)
{
    for (int k = 0; k < 4; k++) {
        to[k] = (unsigned char)(value >> (24 - 8 * k));
    }
}

/* Ends a chunk whose length (any), type and data begin at `at` of the file. */
static enum status end_chunk(struct bytes *out, size_t at)
{
    unsigned char *const chunk = out->data + at;
    const size_t n = out->len - at - 8;
    unsigned char crc[4];
    put_be32(chunk, (uint32_t)n);
    put_be32(crc, crc32_gzip_refl(0, chunk + 4, 4 + n));
    return bytes_append(out, crc, sizeof crc);
}

static enum status put_chunk(struct bytes *out, const char type[5], const void *data, size_t n)
{
    const size_t at = out->len;
    STATUS_TRY(bytes_append(out, "\0\0\0\0", 4));
    STATUS_TRY(bytes_append(out, type, 4));
    STATUS_TRY(bytes_append(out, data, n));
    return end_chunk(out, at);
}

static enum status put_head(struct bytes *out, size_t width, size_t height, double dpi,
                            unsigned char type)
{
    const uint32_t a_metre = (uint32_t)lround(dpi / 0.0254);
    unsigned char head[13] = {0}, dots[9] = {[8] = 1}; /* 1: a metre */
    put_be32(head, (uint32_t)width);
    put_be32(head + 4, (uint32_t)height);
    head[8] = 8; /* bits a channel */
    head[9] = type;
    put_be32(dots, a_metre);
    put_be32(dots + 4, a_metre);
    STATUS_TRY(bytes_append(out, "\x89PNG\r\n\x1A\n", 8));
    STATUS_TRY(put_chunk(out, "IHDR", head, sizeof head));
    return put_chunk(out, "pHYs", dots, sizeof dots);
}

static enum status put_rows(struct bytes *out, const unsigned char *rows, size_t n)
{
    const size_t at = out->len;
    STATUS_TRY(bytes_append(out, "\0\0\0\0IDAT", 8));
    STATUS_TRY(pack_zlib(rows, n, out));
    STATUS_TRY(end_chunk(out, at));
    return put_chunk(out, "IEND", "", 0);
}

enum status png_file_indices(const uint8_t *rows, size_t width, size_t height,
                             const uint32_t *palette, size_t n_colours, double dpi,
                             struct bytes *out)
{
    unsigned char colours[PALETTE_COLOURS * 3];
    for (size_t k = 0; k < n_colours; k++) {
        for (size_t c = 0; c < 3; c++) {
            colours[3 * k + c] = (unsigned char)(palette[k] >> (16 - 8 * c));
        }
    }
    STATUS_TRY(put_head(out, width, height, dpi, TYPE_PALETTE));
    STATUS_TRY(put_chunk(out, "PLTE", colours, 3 * n_colours));
    return put_rows(out, rows, height * (width + 1));
}

struct colours {
    unsigned char *pixels;
    size_t stride, width, height;
};

static uint32_t colour_at(const struct colours *c, size_t y, size_t x)
{
    uint32_t colour;
    memcpy(&colour, c->pixels + y * c->stride + x * sizeof colour, sizeof colour);
    return colour & 0xffffff;
}

/* Collects the colours; false: there are too many. */
static bool find_palette(const struct colours *c, struct palette *palette)
{
    uint32_t before = UINT32_MAX; /* no colour */
    for (size_t y = 0; y < c->height; y++) {
        for (size_t x = 0; x < c->width; x++) {
            const uint32_t colour = colour_at(c, y, x);
            if (colour != before && palette_index(palette, colour) == PALETTE_COLOURS) {
                return false;
            }
            before = colour;
        }
    }
    return true;
}

/* Both write rows in the place of the pixels, before which they never come. */
static void index_rows(const struct colours *c, struct palette *palette)
{
    unsigned char *row = c->pixels;
    for (size_t y = 0; y < c->height; y++) {
        uint32_t colour = colour_at(c, y, 0);
        size_t index = palette_index(palette, colour);
        *row++ = 0;
        *row++ = (unsigned char)index;
        for (size_t x = 1; x < c->width; x++) {
            const uint32_t before = colour;
            colour = colour_at(c, y, x);
            index = colour != before ? palette_index(palette, colour) : index;
            *row++ = (unsigned char)index;
        }
    }
}

static void filter_rows(const struct colours *c)
{
    unsigned char *row = c->pixels;
    for (size_t y = 0; y < c->height; y++) {
        uint32_t left = 0, here = colour_at(c, y, 0);
        *row++ = FILTER_LEFT;
        for (size_t x = 0; x < c->width; x++) {
            const uint32_t next = x + 1 < c->width ? colour_at(c, y, x + 1) : 0;
            for (int shift = 16; shift >= 0; shift -= 8) {
                *row++ = (unsigned char)((here >> shift) - (left >> shift));
            }
            left = here;
            here = next;
        }
    }
}

enum status png_file_colours(unsigned char *pixels, size_t stride, size_t width, size_t height,
                             double dpi, struct bytes *out)
{
    const struct colours c = {pixels, stride, width, height};
    struct palette *const palette = calloc(1, sizeof *palette);
    enum status st;
    if (palette == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory to encode a picture of %zu x %zu", width,
                           height);
    }
    if (find_palette(&c, palette)) {
        index_rows(&c, palette);
        st = png_file_indices(pixels, width, height, palette->colours, palette->n, dpi, out);
    } else {
        filter_rows(&c);
        st = put_head(out, width, height, dpi, TYPE_RGB);
        st = st == STATUS_OK ? put_rows(out, pixels, height * (3 * width + 1)) : st;
    }
    free(palette);
    return st;
}
