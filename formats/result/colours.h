/*
 * colours - 0xRRGGBB: scales and sets of colours for pictures.
 */
#ifndef LEAT_FORMATS_RESULT_COLOURS_H
#define LEAT_FORMATS_RESULT_COLOURS_H

#include <stddef.h>
#include <stdint.h>

enum {
    COLOURS_INK = 0x202020, /* text and frames */
    COLOURS_PAPER = 0xffffff,
    COLOURS_SET = 8 /* that colours_of() tells apart */
};

/* Of a value in [-1, 1] on a diverging blue-white-red scale that stays distinguishable for
 * colour-blind readers, in 225 steps so that a picture of it fits a palette; NaN is grey, values
 * beyond are clipped. */
uint32_t colours_diverging(double value);
/* Colours that stay apart for colour-blind readers (M. Okabe and K. Ito), index modulo
 * COLOURS_SET. */
uint32_t colours_of(size_t index);
/* Of two colours: a for t = 0, b for t = 1. */
uint32_t colours_mix(uint32_t a, uint32_t b, double t);

#endif
