/*
 * sciddicat_scale - how large the cells of a grid are, as far as its file tells it for certain.
 */
#ifndef LEAT_STAGES_SCIDDICAT_SCALE_H
#define LEAT_STAGES_SCIDDICAT_SCALE_H

#include "formats/grid.h"

enum sciddicat_unit {
    SCALE_METRES,  /* or a file that names no unit */
    SCALE_DEGREES, /* by its coordinate system */
    SCALE_OTHER,   /* a length other than the metre, by its coordinate system */
    SCALE_UNCLEAR, /* by a coordinate system that is not understood */
    SCALE_UNKNOWN  /* the file says nothing of cells */
};

struct sciddicat_scale {
    enum sciddicat_unit unit;
    double cell_x_m, cell_y_m;    /* > 0; 1 unless SCALE_METRES, like the others */
    double area_m2;               /* less than the product of the sides where the grid is sheared */
    double column_m[2], row_m[2]; /* from a cell to that in the next column, row: east, north */
};

struct sciddicat_scale sciddicat_scale_of(const struct grid *g);

/* True when rows and columns do not meet at right angles on the map. */
bool sciddicat_scale_is_sheared(const struct sciddicat_scale *s);

/* True when the coordinate system measures altitudes in another unit than the metre. */
bool sciddicat_scale_high_is_other(const struct grid *g);

/* The centre of a cell in the grid's coordinates; the grid has a place. */
void sciddicat_centre(const struct grid *g, size_t row, size_t column, double *x, double *y);

#endif
