/*
 * png_encode - libpng behind a status.
 *
 * Made for maps of coloured cells: up to 256 colours become a palette, which is a third of the
 * bytes to compress. Cells are runs of equal dots, and rows of cells repeat: with a palette a row
 * that mostly repeats the one above is sent as the difference to it, all zeros but for a few dots,
 * and deflate looks for runs alone, which takes less time than any search for matches.
 */
#include "formats/result/png_encode.h"

#include <assert.h>
#include <png.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    N_COLOURS = 256,
    N_SLOTS = 1024,
    SEGMENT = 16, /* dots that are compared with those above at once */
    DEFLATE_LEVEL = 2,
    DEFLATE_MEMORY = 8 /* symbols of a picture of a few hundred dots fit one block */
};

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

/* Turns n dots into indices; false when the palette does not hold their colours. */
static bool index_dots(struct encoder *e, const uint8_t *rgb, size_t n, uint8_t *indices)
{
    uint32_t before = UINT32_MAX; /* no colour */
    size_t index = 0;
    for (size_t i = 0; i < n; i++, rgb += 3) {
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

/* Turns row y into indices, segment by segment, those above copied where the dots repeat. */
static bool index_row(struct encoder *e, size_t y)
{
    const uint8_t *rgb = e->rgb + 3 * y * e->width;
    uint8_t *indices = e->indices + y * e->width;
    for (size_t x = 0; x < e->width; x += SEGMENT, rgb += (size_t)3 * SEGMENT, indices += SEGMENT) {
        const size_t n = e->width - x < SEGMENT ? e->width - x : SEGMENT;
        if (y > 0 && memcmp(rgb, rgb - 3 * e->width, 3 * n) == 0) {
            memcpy(indices, indices - e->width, n);
        } else if (!index_dots(e, rgb, n, indices)) {
            return false;
        }
    }
    return true;
}

static enum status make_indices(struct encoder *e)
{
    e->indices = malloc(e->width * e->height);
    if (e->indices == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory to encode a picture of %zu x %zu", e->width,
                           e->height);
    }
    for (size_t y = 0; y < e->height; y++) {
        if (!index_row(e, y)) {
            free(e->indices);
            e->indices = NULL;
            break;
        }
    }
    return STATUS_OK;
}

/* Do at least half of the indices of row y > 0 repeat those above? */
static bool repeats(const struct encoder *e, size_t y)
{
    const uint8_t *const row = e->indices + y * e->width;
    size_t n = 0;
    for (size_t x = 0; x < e->width; x++) {
        n += row[x] == row[x - e->width];
    }
    return 2 * n >= e->width;
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

static void write_indices(struct encoder *e)
{
    png_set_PLTE(e->png, e->info, e->palette, (int)e->n_colours);
    png_set_check_for_invalid_index(e->png, 0); /* there are none, and looking takes time */
    png_set_compression_strategy(e->png, Z_RLE);
    png_set_filter(e->png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE | PNG_FILTER_UP);
    png_write_info(e->png, e->info);
    for (size_t y = 0; y < e->height; y++) {
        if (y > 0) { /* before the first row libpng must know all filters that will be used */
            png_set_filter(e->png, PNG_FILTER_TYPE_BASE,
                           repeats(e, y) ? PNG_FILTER_UP : PNG_FILTER_NONE);
        }
        png_write_row(e->png, e->indices + y * e->width);
    }
}

static void write_rgb(struct encoder *e)
{
    png_set_filter(e->png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
    png_write_info(e->png, e->info);
    for (size_t y = 0; y < e->height; y++) {
        png_write_row(e->png, e->rgb + 3 * y * e->width);
    }
}

/* All that libpng may jump out of. */
static enum status write_file(struct encoder *e)
{
    if (setjmp(png_jmpbuf(e->png)) != 0) {
        return e->failed;
    }
    png_set_write_fn(e->png, e, on_write, on_flush);
    png_set_compression_level(e->png, DEFLATE_LEVEL);
    png_set_compression_mem_level(e->png, DEFLATE_MEMORY);
    png_set_compression_buffer_size(e->png, 1 << 16);
    png_set_IHDR(e->png, e->info, (png_uint_32)e->width, (png_uint_32)e->height, 8,
                 e->indices != NULL ? PNG_COLOR_TYPE_PALETTE : PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (e->indices != NULL) {
        write_indices(e);
    } else {
        write_rgb(e);
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
