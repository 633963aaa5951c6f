/*
 * png_support - a PNG's pixels, as libpng reads them.
 */
#ifndef LEAT_TESTS_SUPPORT_PNG_SUPPORT_H
#define LEAT_TESTS_SUPPORT_PNG_SUPPORT_H

#include "formats/base/bytes.h"
#include "tests/support/unit.h"

#include <png.h>
#include <stdint.h>
#include <stdlib.h>

struct dots {
    size_t width, height;
    uint8_t *rgb;
};

/* Fails unless the bytes are a whole PNG; free `rgb`. */
static inline struct dots dots_read(const void *png, size_t n)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_memory(&image, png, n));
    image.format = PNG_FORMAT_RGB;
    struct dots d = {.width = image.width, .height = image.height};
    d.rgb = malloc(PNG_IMAGE_SIZE(image));
    assert_non_null(d.rgb);
    assert_true(png_image_finish_read(&image, NULL, d.rgb, 0, NULL));
    return d;
}

static inline unsigned dots_at(const struct dots *d, size_t x, size_t y)
{
    const uint8_t *const c = d->rgb + 3 * (y * d->width + x);
    return (unsigned)c[0] << 16 | (unsigned)c[1] << 8 | c[2];
}

static inline size_t dots_count(const struct dots *d, unsigned rgb)
{
    size_t n = 0;
    for (size_t y = 0; y < d->height; y++) {
        for (size_t x = 0; x < d->width; x++) {
            n += dots_at(d, x, y) == rgb;
        }
    }
    return n;
}

#endif
