/*
 * sciddicat_colours - grey relief, a cool tint for where debris was, a warm scale for where it is.
 *
 * The scale's lightness falls evenly (CIE L* 90, 75, 58, 40, 22) from yellow to a dark red, so that
 * thickness can be read without hue.
 */
#include "stages/sciddicat/sciddicat_colours.h"

#include <stddef.h>

_Static_assert(2 * COLOUR_SHADES + COLOUR_DEPTHS * COLOUR_DEBRIS_SHADES + 3 <= 256, "a palette");

/* Which of n steps a value from 0 to 1 falls in, as that step's middle. */
static double in_steps(double value, int n)
{
    const int step = value > 0 ? (int)(value * n) : 0;
    return ((step < n ? step : n - 1) + 0.5) / n;
}

static uint32_t channel(uint32_t rgb, int shift)
{
    return rgb >> shift & 0xff;
}

/* From a to b by t from 0 to 1. */
static uint32_t mix(uint32_t a, uint32_t b, double t)
{
    uint32_t mixed = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        const double v = (1 - t) * channel(a, shift) + t * channel(b, shift);
        mixed = mixed << 8 | (uint32_t)(v + 0.5);
    }
    return mixed;
}

uint32_t sciddicat_terrain_colour(double shade)
{
    return mix(0x34373b, 0xffffff, in_steps(shade, COLOUR_SHADES));
}

uint32_t sciddicat_film_colour(double shade)
{
    return mix(sciddicat_terrain_colour(shade), 0x7a3fbf, 0.3);
}

uint32_t sciddicat_debris_colour(double depth, double shade)
{
    static const uint32_t scale[] = {0xffe27a, 0xf7ab3c, 0xdd6b2b, 0xa62c2b, 0x5a1029};
    enum { PIECES = sizeof scale / sizeof *scale - 1 };
    const double at = in_steps(depth, COLOUR_DEPTHS) * PIECES;
    const size_t piece = (size_t)at;
    const uint32_t colour = mix(scale[piece], scale[piece + 1], at - (double)piece);
    const double light = in_steps(shade, COLOUR_DEBRIS_SHADES) - 0.7; /* level ground: as it is */
    return light < 0 ? mix(colour, 0x000000, -0.6 * light) : mix(colour, 0xffffff, 0.6 * light);
}
