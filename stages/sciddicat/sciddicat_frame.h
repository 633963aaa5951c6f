/*
 * sciddicat_frame - where the map of a landslide lies in its picture, and its frame: coordinates
 * around it, crosses where they meet on it, a scale of lengths and the direction of north below.
 *
 * A grid whose place is not known, or which is turned against the map, has the numbers of columns
 * and rows around it, from 1.
 */
#ifndef LEAT_STAGES_SCIDDICAT_SCIDDICAT_FRAME_H
#define LEAT_STAGES_SCIDDICAT_SCIDDICAT_FRAME_H

#include "formats/result/plot_axes.h"
#include "stages/sciddicat/sciddicat_relief.h"

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
/* How many metres a pixel is, from west to east: 0 where that is not known. In degrees it is that
 * in the middle of the map. */
double sciddicat_frame_metres(const struct sciddicat_job *job, const struct sciddicat_frame *l);

#endif
