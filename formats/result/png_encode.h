/*
 * png_encode - dots to a PNG file in memory. Private to png_image; apart from it because libpng has
 * names that begin with png_image too.
 */
#ifndef LEAT_FORMATS_RESULT_PNG_ENCODE_H
#define LEAT_FORMATS_RESULT_PNG_ENCODE_H

#include "formats/base/bytes.h"
#include "formats/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Appends width * height dots of 3 bytes, row by row, as a PNG file. STATUS_NO_MEMORY. */
enum status png_encode(size_t width, size_t height, const uint8_t *rgb,
                       struct bytes *out) STATUS_MUST_CHECK;

#endif
