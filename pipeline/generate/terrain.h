/*
 * terrain - made-up ground for debris to run down, of any size: each cell is a formula of the order
 * and of where the cell lies, so cells may be asked for in any order and by any thread.
 *
 * The map is laid out in slopes, next to and below each other. A slope falls from a ridge to a
 * hollow before the next one (slopes below each other are mirrored, so a hollow meets a hollow and
 * a ridge a ridge); a winding channel is cut into its middle; ridges stand on both sides; noise of
 * several octaves makes the ground rough, more so towards the ridges. In the upper part of the
 * channel lies the debris, a smooth mound of a few metres.
 *
 * All numbers are millimetres exactly, and the same on every machine: only + - * / and sqrt, each
 * rounded on its own, and words of Philox (kernels/philox/philox_rule.h).
 */
#ifndef LEAT_PIPELINE_GENERATE_TERRAIN_H
#define LEAT_PIPELINE_GENERATE_TERRAIN_H

#include "formats/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* What a cell without an altitude has. */
#define TERRAIN_NODATA    (-9999.0)
#define TERRAIN_MAX_CELLS (UINT64_C(1) << 31)

struct terrain_order {
    uint64_t seed;
    uint64_t rows, columns; /* >= 1, at most TERRAIN_MAX_CELLS together */
    double cell_m;          /* a cell's side, > 0 */
    double active;          /* share of the map that debris covers, >= 0 */
    uint64_t slides;        /* mounds of debris; 0: one on every slope */
    double nodata;          /* share of the map that has no altitude, around it; 0 <= nodata < 1 */
};

/* What the order comes to; for terrain.c alone, but for the order and n_slides. */
struct terrain {
    struct terrain_order order;
    size_t n_slides;
    size_t n_down, n_across;          /* slopes below and beside each other */
    double frame;                     /* mean width of the edge without altitudes, in cells */
    double first;                     /* row and column where the first slope begins */
    double slope_rows, slope_columns; /* of one slope, in cells */
    double fall_m, rise_m, cut_m;     /* ridge above hollow, side above channel, depth of it */
    unsigned wind_octave, top_octave; /* noise: the side of its largest lattice is 2^octave cells */
    double mound_rows, mound_columns; /* half axes */
    double mound_m;                   /* mean height */
};

/* STATUS_TOO_LARGE: more cells than TERRAIN_MAX_CELLS. STATUS_BAD_ARGUMENT: more slides than the
 * map has room for, or more debris. */
enum status terrain_plan(const struct terrain_order *order, struct terrain *out) STATUS_MUST_CHECK;

/* n cells of one row, from `column` on; n <= columns - column. */
/* The ground with the debris on it, in metres, or TERRAIN_NODATA. */
void terrain_surface(const struct terrain *t, size_t row, size_t column, size_t n, double *out);
/* The debris' thickness in metres: 0 outside of the mounds, at least 0.001 inside. */
void terrain_debris(const struct terrain *t, size_t row, size_t column, size_t n, double *out);

#endif
