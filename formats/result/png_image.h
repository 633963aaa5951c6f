/*
 * png_image - an 8-bit RGB picture in memory, and its PNG bytes (libpng). Holds a small bitmap font
 * of its own for titles and legends; knows nothing of what it draws.
 */
#ifndef LEAT_FORMATS_RESULT_PNG_IMAGE_H
#define LEAT_FORMATS_RESULT_PNG_IMAGE_H

#include "formats/base/bytes.h"
#include "formats/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct png_image {
    size_t width, height;
    uint8_t *rgb; /* width * height * 3, row by row; owned */
};

/* White picture; each side 1..16384. STATUS_BAD_ARGUMENT, STATUS_NO_MEMORY. */
enum status png_image_new(size_t width, size_t height, struct png_image *out) STATUS_MUST_CHECK;
/* Frees the dots; *image is zeroed. (png_image_free is a function of libpng.) */
void png_image_release(struct png_image *image);
/* Fills a rectangle, clipped to the picture; rgb is 0xRRGGBB. */
void png_image_fill(struct png_image *image, long x, long y, long width, long height, uint32_t rgb);
/* Draws text (ASCII; others as '?') with its top left at x, y, `scale` pixels a dot; clipped. */
void png_image_text(struct png_image *image, long x, long y, int scale, uint32_t rgb,
                    const char *text);
/* Width in pixels of that text; its height is 7 * scale. */
long png_image_text_width(int scale, const char *text);
/* Appends the picture as a PNG file, with a palette where 256 colours do. Deterministic: no time
 * stamp. STATUS_NO_MEMORY. */
enum status png_image_encode(const struct png_image *image, struct bytes *out) STATUS_MUST_CHECK;

/* Colour of a value in [-1, 1] on a diverging blue-white-red scale that stays distinguishable for
 * colour-blind readers, in 241 steps so that a picture of it fits a palette; NaN is grey, values
 * beyond are clipped. Returns 0xRRGGBB. */
uint32_t png_image_diverging(double value);

#endif
