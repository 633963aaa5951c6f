/*
 * png_image - drawing on a picture in memory, and its file through libpng.
 *
 * The scale: both sides darken alike (CIE L* 97 in the middle, 65 half way, 32 at the ends), so
 * strength can be read without hue; blue against red-orange is kept apart by all common kinds of
 * colour blindness.
 *
 * Files are made for maps of coloured cells: up to 256 colours become a palette, which is a third
 * of the bytes to compress. Cells are runs of equal dots, and rows of cells repeat: with a palette
 * a row that mostly repeats the one above is sent as the difference to it, all zeros but for a few
 * dots, and deflate looks for runs alone, which takes less time than any search for matches.
 */
#include "formats/result/png_image.h"

#include "formats/result/png_font.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <png.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { MAX_SIDE = 16384 };

enum status png_image_new(size_t width, size_t height, struct png_image *out)
{
    *out = (struct png_image){.width = 0};
    if (width < 1 || width > MAX_SIDE || height < 1 || height > MAX_SIDE) {
        return status_fail(STATUS_BAD_ARGUMENT, "a picture of %zu x %zu dots; sides are 1 to %d",
                           width, height, MAX_SIDE);
    }
    const size_t bytes = width * height * 3;
    uint8_t *rgb = malloc(bytes);
    if (rgb == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a picture of %zu x %zu", width, height);
    }
    memset(rgb, 0xff, bytes);
    *out = (struct png_image){.width = width, .height = height, .rgb = rgb};
    return STATUS_OK;
}

void png_image_release(struct png_image *image)
{
    free(image->rgb);
    *image = (struct png_image){.width = 0};
}

/* The part of [at, at + n) that lies in [0, limit), as first and end. */
static void clip(long at, long n, size_t limit, size_t *first, size_t *end)
{
    long last;
    if (n <= 0 || __builtin_add_overflow(at, n, &last)) {
        last = n <= 0 ? at : LONG_MAX;
    }
    *first = at < 0 ? 0 : (size_t)at < limit ? (size_t)at : limit;
    *end = last < 0 ? 0 : (size_t)last < limit ? (size_t)last : limit;
}

void png_image_fill(struct png_image *image, long x, long y, long width, long height, uint32_t rgb)
{
    size_t left, right, top, bottom;
    clip(x, width, image->width, &left, &right);
    clip(y, height, image->height, &top, &bottom);
    if (left >= right || top >= bottom) {
        return;
    }
    const size_t stride = image->width * 3;
    uint8_t *const first = image->rgb + top * stride + left * 3;
    for (uint8_t *dot = first; dot < first + (right - left) * 3; dot += 3) {
        dot[0] = (uint8_t)(rgb >> 16);
        dot[1] = (uint8_t)(rgb >> 8);
        dot[2] = (uint8_t)rgb;
    }
    for (size_t row = top + 1; row < bottom; row++) {
        memcpy(image->rgb + row * stride + left * 3, first, (right - left) * 3);
    }
}

void png_image_text(struct png_image *image, long x, long y, int scale, uint32_t rgb,
                    const char *text)
{
    assert(scale > 0 && scale <= MAX_SIDE);
    const long step = scale;
    for (; *text != '\0' && x < (long)image->width; text++, x += PNG_FONT_ADVANCE * step) {
        const int c = *text >= PNG_FONT_FIRST && *text <= PNG_FONT_LAST ? *text : '?';
        const uint8_t *const rows = png_font[c - PNG_FONT_FIRST];
        for (long row = 0; row < PNG_FONT_HEIGHT; row++) {
            for (long column = 0; column < PNG_FONT_WIDTH; column++) {
                if (rows[row] >> (PNG_FONT_WIDTH - 1 - column) & 1) {
                    png_image_fill(image, x + column * step, y + row * step, step, step, rgb);
                }
            }
        }
    }
}

long png_image_text_width(int scale, const char *text)
{
    const long n = (long)strlen(text);
    return n > 0 ? (n * PNG_FONT_ADVANCE - (PNG_FONT_ADVANCE - PNG_FONT_WIDTH)) * scale : 0;
}

/* A colour `step` of `n_steps` from one to another. */
static uint32_t mix(uint32_t from, uint32_t to, int step, int n_steps)
{
    uint32_t mixed = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        const int a = (int)(from >> shift & 255), b = (int)(to >> shift & 255);
        mixed = mixed << 8 | (uint32_t)((a * (n_steps - step) + b * step + n_steps / 2) / n_steps);
    }
    return mixed;
}

/* Colours of a scale's two sides, from the middle on: made once. */
enum { HALF_STEPS = 60, STEPS = 2 * HALF_STEPS, GREY = 0xa0a0a0, WHITE = 0xf7f7f7 };
static uint32_t diverging[2][STEPS + 1];
static pthread_once_t diverging_once = PTHREAD_ONCE_INIT;

static void make_diverging(void)
{
    static const uint32_t ends[2][2] = {{0x6ba3d6, 0x12468f},
                                        {0xef8a62, 0x9c1b1e}}; /* half, full */
    for (size_t side = 0; side < 2; side++) {
        const uint32_t *const end = ends[side];
        for (int step = 0; step <= STEPS; step++) {
            diverging[side][step] = step <= HALF_STEPS
                                        ? mix(WHITE, end[0], step, HALF_STEPS)
                                        : mix(end[0], end[1], step - HALF_STEPS, HALF_STEPS);
        }
    }
}

uint32_t png_image_diverging(double value)
{
    if (isnan(value)) {
        return GREY;
    }
    pthread_once(&diverging_once, make_diverging);
    const double strength = fabs(value) < 1 ? fabs(value) : 1;
    return diverging[value > 0][(int)(strength * STEPS + 0.5)];
}

/* --- the file --------------------------------------------------------------------------------- */

enum {
    N_COLOURS = 256,
    N_BUCKETS = 1024,
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
    uint32_t buckets[N_BUCKETS]; /* index << 24 | colour, of used ones; open addressing */
    bool used[N_BUCKETS];
};

/* The palette's index of a colour, which is added when new; N_COLOURS when the palette is full. */
static size_t colour_index(struct encoder *e, uint32_t colour)
{
    size_t bucket = (colour * 2654435761U) >> 22; /* Knuth's multiplier */
    while (e->used[bucket]) {
        if ((e->buckets[bucket] & 0xffffff) == colour) {
            return e->buckets[bucket] >> 24;
        }
        bucket = (bucket + 1) % N_BUCKETS;
    }
    if (e->n_colours == N_COLOURS) {
        return N_COLOURS;
    }
    e->used[bucket] = true;
    e->buckets[bucket] = (uint32_t)e->n_colours << 24 | colour;
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

enum status png_image_encode(const struct png_image *image, struct bytes *out)
{
    struct encoder e = {
        .out = out, .width = image->width, .height = image->height, .rgb = image->rgb};
    STATUS_TRY(make_indices(&e));
    e.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &e, on_error, on_warning);
    e.info = e.png != NULL ? png_create_info_struct(e.png) : NULL;
    const enum status st = e.info != NULL
                               ? write_file(&e)
                               : status_fail(STATUS_NO_MEMORY, "no memory to encode a picture");
    png_destroy_write_struct(&e.png, &e.info);
    free(e.indices);
    return st;
}
