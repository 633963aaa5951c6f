/*
 * letters - the font of pictures, DejaVu Sans, which the program holds: text looks the same
 * whatever fonts a machine has.
 *
 * Any thread. Text is UTF-8; what is not is shown as U+FFFD, control characters as blanks. Letters
 * stand side by side from left to right; nothing is shaped.
 */
#ifndef LEAT_FORMATS_RESULT_LETTERS_H
#define LEAT_FORMATS_RESULT_LETTERS_H

#include "formats/base/status.h"
#include "formats/result/cairo_calls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Width of a text whose capital letters are `capital` pixels high; 0 when there is no font. */
double letters_width(double capital, const char *text);
/* The size of the font for that height of capitals. */
double letters_size(double capital);
/* The font for cairo, which is loaded with it; borrowed. STATUS_NO_MEMORY: it cannot be had; as
 * cairo_need. */
enum status letters_face(cairo_font_face_t **out) STATUS_MUST_CHECK;
/* Whether the font has a shape for the character. */
bool letters_has(uint32_t point);
/* The next character as it is shown; 0 at the end. */
uint32_t letters_next(const char **text);

/* How much a letter covers of pixels around the point where it stands on the line. */
struct letter {
    const uint8_t *covered; /* [height][width], 0 to 15 */
    int left, top;          /* of the first pixel: right of the point, above it */
    int width, height;
    double advance; /* to the next letter */
};

/* Calls `put` for each letter of a text at whole pixels, `x` from the first point on; at most 64
 * pixels high. STATUS_NO_MEMORY: no font, or no memory for a letter. */
enum status letters_each(int capital, const char *text,
                         void (*put)(void *context, const struct letter *letter, long x),
                         void *context) STATUS_MUST_CHECK;

#endif
