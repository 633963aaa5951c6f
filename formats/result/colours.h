/*
 * colours - 0xRRGGBB: scales and sets of colours for pictures, which stay apart for colour-blind
 * readers. Of each kind there are some, by the index of their name; 0 is leat's own.
 */
#ifndef LEAT_FORMATS_RESULT_COLOURS_H
#define LEAT_FORMATS_RESULT_COLOURS_H

#include <stddef.h>
#include <stdint.h>

enum {
    COLOURS_INK = 0x202020, /* text and frames */
    COLOURS_PAPER = 0xffffff,
    COLOURS_SET = 8, /* that colours_of() tells apart */
    COLOURS_CHOICES = 3
};

#define COLOURS_SETS        "auto|petroff8|viridis"
#define COLOURS_SEQUENTIALS "auto|viridis_r|plasma_r"
#define COLOURS_DIVERGINGS  "auto|RdBu_r|PuOr_r"

/* Of a value in [-1, 1] from cold to warm colours, white in the middle, in 225 steps so that a
 * picture of it fits a palette; NaN is grey, values beyond are clipped. */
uint32_t colours_diverging(size_t choice, double value);
/* Of a value in [0, 1] from light to dark. */
uint32_t colours_sequential(size_t choice, double value);
/* Colours of things without an order, index modulo COLOURS_SET. */
uint32_t colours_of(size_t choice, size_t index);
/* Of two colours: a for t = 0, b for t = 1. */
uint32_t colours_mix(uint32_t a, uint32_t b, double t);
/* Ink or paper, which has more contrast with a ground. */
uint32_t colours_ink_on(uint32_t rgb);

#endif
