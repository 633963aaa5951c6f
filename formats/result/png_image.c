/*
 * png_image - drawing on a picture in memory. Encoding is in png_encode.c.
 *
 * The scale: both sides darken alike (CIE L* 97 in the middle, 65 half way, 32 at the ends), so
 * strength can be read without hue; blue against red-orange is kept apart by all common kinds of
 * colour blindness.
 */
#include "formats/result/png_image.h"

#include "formats/result/png_encode.h"
#include "formats/result/png_font.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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

enum status png_image_encode(const struct png_image *image, struct bytes *out)
{
    return png_encode(image->width, image->height, image->rgb, out);
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
