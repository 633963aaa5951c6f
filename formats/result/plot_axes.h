/*
 * plot_axes - a plot in a picture: axes with ticks, lines, markers, legend. Numbers to pixels.
 *
 * The caller makes the picture and says where the plot's area lies in it; ticks and labels are
 * drawn to the left of the area and below it.
 */
#ifndef LEAT_FORMATS_RESULT_PLOT_AXES_H
#define LEAT_FORMATS_RESULT_PLOT_AXES_H

#include "formats/result/figure.h"

#include <stdbool.h>

enum {
    PLOT_TICKS = 16, /* at most, on an axis */
    PLOT_LABEL = 32, /* bytes of a tick's label */
    PLOT_NAME = 512, /* of a name as it is shown, with its NUL ... */
    PLOT_NUMBER = 48 /* ... and of the number before it */
};

/* What an axis shows: finite, low < high. */
struct plot_range {
    double low, high;
};

/* Ticks at round numbers (1, 2 or 5 times a power of ten apart) within a range. */
struct plot_ticks {
    size_t n;
    double at[PLOT_TICKS];
    char label[PLOT_TICKS][PLOT_LABEL];
};

struct plot_axes {
    struct figure *figure;         /* borrowed; of FIGURE_LINES */
    long left, top, width, height; /* of the area, pixels */
    double capital;                /* height of capital letters */
    struct plot_range x, y;
};

enum plot_marker {
    PLOT_DISC,
    PLOT_SQUARE,
    PLOT_TRIANGLE, /* upwards */
    PLOT_CROSS,
    PLOT_RING,
    PLOT_DIAMOND,
    PLOT_WEDGE, /* a triangle downwards */
    PLOT_PLUS,
    PLOT_MARKERS
};

/* The range of what lies from low to high, which may be equal, in either order or not finite (then
 * 0 to 1), widened by `margin` of its length on either side. Where the ends are (almost) one
 * number, around it. */
struct plot_range plot_range_of(double low, double high, double margin);
/* At most `most` (2 to PLOT_TICKS) ticks. */
void plot_ticks_of(struct plot_range range, size_t most, struct plot_ticks *out);
/* Writes a number with the sign U+2212 in place of '-', as all pictures do. */
void plot_number(char out[PLOT_LABEL], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* From the left of the widest label to the axis, in pixels. */
long plot_ticks_width(const struct plot_ticks *ticks, double capital);

/* The frame, lines of the ticks across the area, their labels, and names beneath the x axis and
 * above the y axis (may be ""). To be drawn first. */
void plot_axes_draw(const struct plot_axes *axes, const struct plot_ticks *x,
                    const struct plot_ticks *y, const char *x_name, const char *y_name);
/* Fills what lies between two numbers of x, from top to bottom; clipped. */
void plot_band(const struct plot_axes *axes, double from, double to, uint32_t rgb);

/* Where a number lies, in pixels from the picture's left and top; may be far outside. */
double plot_x(const struct plot_axes *axes, double x);
double plot_y(const struct plot_axes *axes, double y);

/* A line through n points, `thick` pixels wide, smooth, clipped to the area. It has gaps where a
 * number is NaN. */
void plot_line(const struct plot_axes *axes, const double *x, const double *y, size_t n,
               double thick, uint32_t rgb);
/* A marker of `size` pixels, if its middle lies in the area. Smooth; drawn over what is there with
 * `opacity` from 0 to 1. */
void plot_mark(const struct plot_axes *axes, double x, double y, enum plot_marker marker,
               double size, double opacity, uint32_t rgb);

/* The same with its middle at a pixel of the picture: in a legend. Clipped to the picture. */
void plot_mark_at(struct figure *f, double x, double y, enum plot_marker marker, double size,
                  double opacity, uint32_t rgb);

/* Copies a name as pictures show it: control characters, what is not UTF-8 and what the font lacks
 * as '?'; one wider than `width` pixels without its middle, in place of which stands U+2026
 * ("..."). Whether it is all there. */
bool plot_name(const char *name, double capital, double width, char out[PLOT_NAME]);
/* One of many names: "KIND NUMBER: NAME" where it is not all there, so that none looks like
 * another.
 */
struct plot_named {
    const char *name, *kind;
    size_t number;
};
void plot_named(const struct plot_named *named, double capital, double width, char out[PLOT_NAME]);
/* The title at the top left of a picture, `edge` pixels from there: the chosen one, or the name of
 * the file at `path` and what else there is to say; the name is cut where the whole would not fit.
 */
void plot_title(struct figure *f, double edge, double capital, const char *path, const char *rest);

#endif
