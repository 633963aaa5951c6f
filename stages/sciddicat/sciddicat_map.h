/*
 * sciddicat_map - the picture of a landslide: what it shows, cell by cell, and where it lies.
 */
#ifndef LEAT_STAGES_SCIDDICAT_SCIDDICAT_MAP_H
#define LEAT_STAGES_SCIDDICAT_SCIDDICAT_MAP_H

#include "formats/result/plot_axes.h"
#include "stages/sciddicat/sciddicat_job.h"

/* --- sciddicat_relief: terrain as shaded relief, debris, and where it was ----------------------
 *
 * Only the rectangle that holds cells with numbers is shown, and of one that is too large for the
 * picture the part around the debris: by half of its length, on each side. What is still too
 * large is reduced by a whole factor: altitudes are averaged, the thickest debris counts. The first
 * row is the northernmost, also if that is the grid's last one.
 */
enum { RELIEF_SIDE = 1600 }; /* cells along a side at most */

/* Whether a cell was ever covered, or from the start. */
enum relief_covered { RELIEF_NEVER, RELIEF_LATER, RELIEF_START };

struct sciddicat_relief {
    size_t width, height; /* 1 to RELIEF_SIDE */
    size_t factor;        /* the grid's cells along a side of one */
    size_t row, column;   /* of the grid: the first of those shown */
    bool is_part;         /* the grid has numbers outside of what is shown */
    float *altitude;      /* NaN: NODATA; free() this, and all are gone */
    float *debris;        /* thickness at the end (m) */
    float *shade;         /* light from the north-west, 45 degrees high: 0 dark, 1 full */
    uint8_t *covered;     /* enum relief_covered */
    uint8_t *observed;    /* 1: a cell that was hit */
};

/* Bytes at most for a grid of that shape. */
size_t sciddicat_relief_bytes(size_t rows, size_t columns);
/* `debris`: [n_cells] what is shown as such. STATUS_NO_MEMORY. */
enum status sciddicat_relief_new(const struct sciddicat_job *job, const double *debris,
                                 struct sciddicat_relief *out) STATUS_MUST_CHECK;

/* --- sciddicat_frame: coordinates around the map, crosses where they meet on it, a scale of
 * lengths and the direction of north below
 * ---------------------------------------------------------------
 *
 * A grid whose place is not known, or which is turned against the map, has the numbers of columns
 * and rows around it, from 1.
 */
enum {
    FRAME_SIDE = 1250,  /* pixels: grids are enlarged up to this ... */
    FRAME_ENLARGED = 48 /* ... or so many times */
};

struct sciddicat_frame {
    long left, top, width, height; /* of the map, pixels */
    long cell_x, cell_y;           /* pixels of a cell of the relief */
    long stretched;                /* times that a strip is enlarged across; 1: not at all */
    long legend, below;            /* left of the legend, top of the line of scales */
    long all_width, all_height;
    struct plot_ticks x, y;
    double x_low, x_per_pixel, y_low,
        y_per_pixel; /* coordinate at left or bottom, and from there */
};

/* Lays the map out; `legend`: width of the legend. `capital`: height of capital letters. */
void sciddicat_frame_set(const struct sciddicat_job *job, const struct sciddicat_relief *relief,
                         double capital, double legend, struct sciddicat_frame *out);
/* Draws the frame over the map. */
void sciddicat_frame_draw(const struct sciddicat_job *job, const struct sciddicat_frame *l,
                          double capital, struct figure *f);
/* The largest of 1, 2, 5 times a power of ten that is not above x > 0. */
double sciddicat_frame_round(double x);

#endif
