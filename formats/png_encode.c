/*
 * png_encode - libpng behind a status.
 *
 * Made for maps of coloured cells: up to 256 colours become a palette, which is a third of the
 * bytes to compress; rows that repeat the one above are recognised before their dots are looked at;
 * and deflate runs at its fastest level with a small state, since setting up a large one would take
 * longer than a small picture.
 */
#include "formats/png_encode.h"

#include <assert.h>
#include <png.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { N_COLOURS = 256, N_SLOTS = 1024, DEFLATE_LEVEL = 2, DEFLATE_MEMORY = 6 };

struct encoder {
    png_structp png;
    png_infop info;
    struct bytes *out;
    enum status failed;
    size_t width, height;
    const uint8_t *rgb;
    uint8_t *indices; /* width * height; NULL: too many colours for a palette */
    png_color palette[N_COLOURS];
    size_t n_colours;
    uint32_t slots[N_SLOTS]; /* index << 24 | colour, of used ones; open addressing */
    bool used[N_SLOTS];
};

/* The palette's index of a colour, which is added when new; N_COLOURS when the palette is full. */
static size_t colour_index(struct encoder *e, uint32_t colour)
{
    size_t slot = (colour * 2654435761U) >> 22; /* Knuth's multiplier */
    while (e->used[slot]) {
        if ((e->slots[slot] & 0xffffff) == colour) {
            return e->slots[slot] >> 24;
        }
        slot = (slot + 1) % N_SLOTS;
    }
    if (e->n_colours == N_COLOURS) {
        return N_COLOURS;
    }
    e->used[slot] = true;
    e->slots[slot] = (uint32_t)e->n_colours << 24 | colour;
    e->palette[e->n_colours] = (png_color){.red = (png_byte)(colour >> 16),
                                           .green = (png_byte)(colour >> 8),
                                           .blue = (png_byte)colour};
    return e->n_colours++;
}

/* Turns one row into indices; false when the palette does not hold its colours. */
static bool index_row(struct encoder *e, const uint8_t *rgb, uint8_t *indices)
{
    uint32_t before = UINT32_MAX; /* no colour */
    size_t index = 0;
    for (size_t i = 0; i < e->width; i++, rgb += 3) {
        const uint32_t colour = (uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2];
        if (colour != before) {
            index = colour_index(e, colour);
            if (index == N_COLOURS) {
                return false;
            }
            before = colour;
        }
        indices[i] = (uint8_t)index;
    }
    return true;
}

static enum status make_indices(struct encoder *e)
{
    const size_t stride = 3 * e->width;
    e->indices = malloc(e->width * e->height);
    if (e->indices == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory to encode a picture of %zu x %zu", e->width,
                           e->height);
    }
    for (size_t y = 0; y < e->height; y++) {
        const uint8_t *const rgb = e->rgb + y * stride;
        uint8_t *const indices = e->indices + y * e->width;
        if (y > 0 && memcmp(rgb, rgb - stride, stride) == 0) {
            memcpy(indices, indices - e->width, e->width);
        } else if (!index_row(e, rgb, indices)) {
            free(e->indices);
            e->indices = NULL;
            break;
        }
    }
    return STATUS_OK;
}

static void on_write(png_structp png, png_bytep data, size_t n)
{
    struct encoder *e = png_get_io_ptr(png);
    e->failed = bytes_append(e->out, data, n);
    if (e->failed != STATUS_OK) {
        png_longjmp(png, 1);
    }
}

static void on_flush(png_structp png)
{
    (void)png;
}

static void on_error(png_structp png, png_const_charp text)
{
    struct encoder *e = png_get_error_ptr(png);
    e->failed = status_fail(STATUS_NO_MEMORY, "cannot encode a picture of %zu x %zu: %s", e->width,
                            e->height, text);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

/* All that libpng may jump out of. */
static enum status write_file(struct encoder *e)
{
    if (setjmp(png_jmpbuf(e->png)) != 0) {
        return e->failed;
    }
    const uint8_t *const rows = e->indices != NULL ? e->indices : e->rgb;
    const size_t stride = e->indices != NULL ? e->width : 3 * e->width;
    png_set_write_fn(e->png, e, on_write, on_flush);
    png_set_compression_level(e->png, DEFLATE_LEVEL);
    png_set_compression_mem_level(e->png, DEFLATE_MEMORY);
    png_set_compression_buffer_size(e->png, 1 << 16);
    png_set_filter(e->png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
    png_set_IHDR(e->png, e->info, (png_uint_32)e->width, (png_uint_32)e->height, 8,
                 e->indices != NULL ? PNG_COLOR_TYPE_PALETTE : PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (e->indices != NULL) {
        png_set_PLTE(e->png, e->info, e->palette, (int)e->n_colours);
        png_set_check_for_invalid_index(e->png, 0); /* there are none, and looking takes time */
    }
    png_write_info(e->png, e->info);
    for (size_t y = 0; y < e->height; y++) {
        png_write_row(e->png, rows + y * stride);
    }
    png_write_end(e->png, NULL);
    return STATUS_OK;
}

enum status png_encode(size_t width, size_t height, const uint8_t *rgb, struct bytes *out)
{
    struct encoder e = {.out = out, .width = width, .height = height, .rgb = rgb};
    enum status st = make_indices(&e);
    if (st != STATUS_OK) {
        return st;
    }
    e.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &e, on_error, on_warning);
    e.info = e.png != NULL ? png_create_info_struct(e.png) : NULL;
    st = e.info != NULL ? write_file(&e)
                        : status_fail(STATUS_NO_MEMORY, "no memory to encode a picture");
    png_destroy_write_struct(&e.png, &e.info);
    free(e.indices);
    return st;
}
