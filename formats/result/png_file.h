/*
 * png_file - the bytes of a PNG file. Deterministic: no time stamp.
 */
#ifndef LEAT_FORMATS_RESULT_PNG_FILE_H
#define LEAT_FORMATS_RESULT_PNG_FILE_H

#include "formats/base/bytes.h"
#include "formats/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Both say how many pixels an inch has (dpi).
 *
 * Appends a picture of palette indices. A row is a byte 0 (PNG's filter "none") and `width`
 * indices: height * (width + 1) bytes. `palette` has 1 to 256 colours, 0xRRGGBB. STATUS_NO_MEMORY.
 */
enum status png_file_indices(const uint8_t *rows, size_t width, size_t height,
                             const uint32_t *palette, size_t n_colours, double dpi,
                             struct bytes *out) STATUS_MUST_CHECK;
/* Appends a picture of colours 0x..RRGGBB, rows `stride` bytes apart, which is used up; with a
 * palette where 256 colours do. STATUS_NO_MEMORY. */
enum status png_file_colours(unsigned char *pixels, size_t stride, size_t width, size_t height,
                             double dpi, struct bytes *out) STATUS_MUST_CHECK;

#endif
