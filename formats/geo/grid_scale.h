/*
 * grid_scale - how large the cells of a grid are, as far as its file says it for certain.
 */
#ifndef LEAT_FORMATS_GEO_GRID_SCALE_H
#define LEAT_FORMATS_GEO_GRID_SCALE_H

#include "formats/geo/grid.h"

enum grid_unit {
    GRID_LENGTH,  /* how many metres it is is known; the metre where a file names no unit */
    GRID_DEGREES, /* by its coordinate system */
    GRID_OTHER,   /* a length that is not known here, by its coordinate system */
    GRID_UNCLEAR, /* by a coordinate system that is not understood */
    GRID_UNKNOWN  /* the file says nothing of cells */
};

struct grid_scale {
    enum grid_unit unit;
    double unit_m;                /* of the map, and so of the grid's coordinates, in metres */
    double cell_x_m, cell_y_m;    /* > 0; 1 unless GRID_LENGTH, like the others */
    double area_m2;               /* less than the product of the sides where the grid is sheared */
    double column_m[2], row_m[2]; /* from a cell to that in the next column, row: east, north */
};

struct grid_scale grid_scale_of(const struct grid *g);

/* True when rows and columns do not meet at right angles on the map. */
bool grid_scale_is_sheared(const struct grid_scale *s);

/* The EPSG code of its coordinate system, without heights, by its keys; 0: none, or one with a unit
 * of its own: EPSG's is in metres. */
unsigned grid_epsg(const struct grid *g);
/* Whether the grid says its coordinate system, in whatever way. */
bool grid_scale_names_system(const struct grid *g);
/* What its coordinate system is called: "EPSG:32632", or the name in its .prj or GeoTIFF, or "". */
enum { GRID_SYSTEM_BYTES = 96 };
void grid_system_name(const struct grid *g, char out[GRID_SYSTEM_BYTES]);
/* True when a grid of altitudes from low to high looks like one in degrees although it names no
 * coordinate system: its cells are narrower than 0.01, it lies within longitudes and latitudes, and
 * the altitudes differ by ten times its longer side, which no ground in metres does. */
bool grid_scale_looks_like_degrees(const struct grid *g, double low, double high);

/* How many metres a unit of the grid's numbers is, where these are heights: as the band itself
 * names its unit, and as the vertical part of its coordinate system does. 0: it names none; below
 * 0: one that is not known here. */
double grid_scale_band_unit(const struct grid *g);
double grid_scale_system_unit(const struct grid *g);
/* The US survey foot, exactly. */
#define GRID_SURVEY_FOOT_M (1200.0 / 3937)

/* The centre of a cell in the grid's coordinates; the grid is georeferenced. */
void grid_scale_centre(const struct grid *g, size_t row, size_t column, double *x, double *y);
/* How many columns and rows a place is from the outer corner of the first cell; as below. */
void grid_scale_distances(const struct grid *g, double x, double y, double *right, double *down);
/* The cell at a place in the grid's coordinates; without a georeference they are the numbers of a
 * column and a row, from 1. False: it lies outside. */
bool grid_scale_cell(const struct grid *g, double x, double y, size_t *row, size_t *column);

#endif
