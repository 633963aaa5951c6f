/*
 * png_font - the dots of characters. Private to png_image.
 */
#ifndef LEAT_FORMATS_RESULT_PNG_FONT_H
#define LEAT_FORMATS_RESULT_PNG_FONT_H

#include <stdint.h>

enum {
    PNG_FONT_WIDTH = 5,
    PNG_FONT_HEIGHT = 7,
    PNG_FONT_ADVANCE = 6, /* from one character to the next */
    PNG_FONT_FIRST = ' ',
    PNG_FONT_LAST = '~'
};

/* Rows from the top; bit 4 is the leftmost dot. */
extern const uint8_t png_font[PNG_FONT_LAST - PNG_FONT_FIRST + 1][PNG_FONT_HEIGHT];

#endif
