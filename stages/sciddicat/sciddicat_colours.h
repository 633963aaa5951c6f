/*
 * sciddicat_colours - the colours of a landslide's picture, few enough for a palette.
 */
#ifndef LEAT_STAGES_SCIDDICAT_SCIDDICAT_COLOURS_H
#define LEAT_STAGES_SCIDDICAT_SCIDDICAT_COLOURS_H

#include <stdint.h>

enum { COLOUR_NODATA = 0xe9ebee, COLOUR_INK = 0x202020, COLOUR_PAPER = 0xffffff };

/* Steps of light and of thickness that are told apart. */
enum { COLOUR_SHADES = 44, COLOUR_DEPTHS = 24, COLOUR_DEBRIS_SHADES = 6 };

/* 0xRRGGBB of terrain in a light from 0 to 1 (level ground: sqrt(1/2)). */
uint32_t sciddicat_terrain_colour(double shade);
/* Terrain that debris has passed over, and left no more than a film on. */
uint32_t sciddicat_film_colour(double shade);
/* Debris, `depth` from 0 to 1 of the scale. */
uint32_t sciddicat_debris_colour(double depth, double shade);

#endif
