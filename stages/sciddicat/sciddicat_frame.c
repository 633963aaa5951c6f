/*
 * sciddicat_frame - a degree of longitude is taken as 111.32 km times the cosine of the latitude.
 */
#include "stages/sciddicat/sciddicat_map.h"

#include <math.h>
#include <stdio.h>

enum {
    GAP = 16,
    TITLE = 15,
    TICK = 6,
    BESIDE = 5,
    CROSS = 5,          /* half the size of a cross on the map */
    LEAST_WIDTH = 400,  /* room for title and scale */
    LEAST_HEIGHT = 460, /* room for the legend */
    NARROW = 8,         /* a strip is longer than so many times its width */
    TICK_ROOM = 110     /* from tick to tick, at least */
};

static const double degree_m = 111320;

static long greater_of(long a, long b)
{
    return a > b ? a : b;
}

static bool is_placed(const struct sciddicat_job *job)
{
    return job->dem->has_origin;
}

static bool is_in_degrees(const struct sciddicat_job *job)
{
    return is_placed(job) && job->scale.unit == GRID_DEGREES;
}

/* How large a cell is drawn: whole pixels; of a strip, more across. */
static void set_cells(const struct sciddicat_relief *r, struct sciddicat_frame *l)
{
    const long width = (long)r->width, height = (long)r->height;
    const long side = greater_of(width, height), across = width < height ? width : height;
    long cell = FRAME_SIDE / side;
    cell = cell < 1 ? 1 : cell > FRAME_ENLARGED ? FRAME_ENLARGED : cell;
    l->stretched = side > NARROW * across ? (side / across + NARROW - 1) / NARROW : 1;
    l->stretched =
        l->stretched * cell > FRAME_ENLARGED ? greater_of(FRAME_ENLARGED / cell, 1) : l->stretched;
    l->cell_x = cell * (width < height ? l->stretched : 1);
    l->cell_y = cell * (width < height ? 1 : l->stretched);
    l->width = width * l->cell_x;
    l->height = height * l->cell_y;
}

/* What the pixels of the map mean on both axes. */
static void set_coordinates(const struct sciddicat_job *job, const struct sciddicat_relief *r,
                            struct sciddicat_frame *l)
{
    const double n = (double)r->factor;
    const double per_x = n / (double)l->cell_x, per_y = n / (double)l->cell_y;
    if (!is_placed(job)) {
        l->x_low = (double)r->column + 0.5; /* the middle of the first column is 1 */
        l->x_per_pixel = per_x;
        l->y_per_pixel = -per_y; /* rows are counted downwards */
        l->y_low = (double)r->row + 0.5 + per_y * (double)l->height;
        return;
    }
    const struct grid *const g = job->dem;
    const struct grid_extent e = grid_extent_of(g);
    const double first = e.north - g->cell_y * (double)r->row; /* edge of the first row shown */
    l->x_low = e.west + g->cell_x * (double)r->column;
    l->x_per_pixel = g->cell_x * per_x;
    l->y_per_pixel = fabs(g->cell_y) * per_y;
    l->y_low = g->cell_y > 0 ? first - l->y_per_pixel * (double)l->height : first;
}

/* Ticks within the map, with labels as maps have them. */
static void set_ticks(const struct sciddicat_job *job, double low, double per_pixel, long pixels,
                      long room, bool is_x, struct plot_ticks *out)
{
    const double end = low + per_pixel * (double)pixels;
    const long most = pixels / room;
    const struct plot_range range = {fmin(low, end), fmax(low, end)};
    *out = (struct plot_ticks){.n = 0};
    if (!(range.low < range.high)) {
        return;
    }
    plot_ticks_of(range, most < 2 ? 2 : most > 12 ? 12 : (size_t)most, out);
    const double step = out->n > 1 ? out->at[1] - out->at[0] : 1;
    const int digits = step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0;
    size_t kept = 0;
    for (size_t k = 0; k < out->n; k++) {
        const double at = out->at[k];
        if (!is_placed(job) && at != floor(at)) {
            continue; /* half a column */
        }
        const char *const side = !is_in_degrees(job) ? ""
                                 : is_x              ? (at < 0 ? "\xc2\xb0 W" : "\xc2\xb0 E")
                                                     : (at < 0 ? "\xc2\xb0 S" : "\xc2\xb0 N");
        out->at[kept] = at;
        plot_number(out->label[kept++], "%.*f%s", digits, is_in_degrees(job) ? fabs(at) : at, side);
    }
    out->n = kept;
}

void sciddicat_frame_set(const struct sciddicat_job *job, const struct sciddicat_relief *relief,
                         double capital, double legend, struct sciddicat_frame *out)
{
    struct sciddicat_frame l = {.cell_x = 0};
    const long line = lround(capital);
    set_cells(relief, &l);
    set_coordinates(job, relief, &l);
    set_ticks(job, l.x_low, l.x_per_pixel, l.width, TICK_ROOM, true, &l.x);
    set_ticks(job, l.y_low, l.y_per_pixel, l.height, TICK_ROOM, false, &l.y);
    l.left = GAP + TICK + BESIDE + lround(ceil(capital)) + BESIDE; /* y labels stand upright */
    l.top = 2 * GAP + TITLE;
    l.legend = l.left + greater_of(l.width, LEAST_WIDTH) + 2L * GAP;
    l.below = l.top + l.height + TICK + BESIDE + line + 2L * GAP;
    l.all_width = l.legend + lround(ceil(legend)) + GAP;
    l.all_height = greater_of(l.below + 2 * line + 2L * GAP, l.top + LEAST_HEIGHT);
    *out = l;
}

static double pixel_x(const struct sciddicat_frame *l, double x)
{
    return round((double)l->left + (x - l->x_low) / l->x_per_pixel);
}

static double pixel_y(const struct sciddicat_frame *l, double y)
{
    return round((double)(l->top + l->height) - (y - l->y_low) / l->y_per_pixel);
}

static void draw_ticks(const struct sciddicat_frame *l, double capital, struct figure *f)
{
    const double left = (double)l->left, bottom = (double)(l->top + l->height);
    double free_from = INFINITY; /* above the label before */
    for (size_t k = 0; k < l->x.n; k++) {
        const double x = pixel_x(l, l->x.at[k]);
        figure_fill(f, x, bottom, 1, TICK, COLOURS_INK);
        figure_text(f, round(x - figure_text_width(capital, l->x.label[k]) / 2),
                    bottom + TICK + BESIDE, capital, COLOURS_INK, l->x.label[k]);
    }
    for (size_t k = 0; k < l->y.n; k++) {
        const double y = pixel_y(l, l->y.at[k]);
        figure_fill(f, left - TICK, y, TICK, 1, COLOURS_INK);
        const double width = ceil(figure_text_width(capital, l->y.label[k]));
        const double from = fmax(fmin(round(y + width / 2), bottom), (double)l->top + width);
        if (from <= free_from) {
            figure_text_up(f, left - TICK - BESIDE - capital, from, capital, COLOURS_INK,
                           l->y.label[k]);
            free_from = from - width - GAP;
        }
    }
    for (size_t k = 0; k < l->x.n * l->y.n; k++) {
        const double x = pixel_x(l, l->x.at[k % l->x.n]), y = pixel_y(l, l->y.at[k / l->x.n]);
        figure_fill(f, x - CROSS, y, 2 * CROSS + 1, 1, COLOURS_INK);
        figure_fill(f, x, y - CROSS, 1, 2 * CROSS + 1, COLOURS_INK);
    }
}

/* How many metres a pixel is, from west to east: 0 where that is not known. In degrees it is that
 * in the middle of the map. */
static double metres_of(const struct sciddicat_job *job, const struct sciddicat_frame *l)
{
    if (job->scale.unit == GRID_LENGTH) {
        return job->scale.cell_x_m * l->x_per_pixel / (is_placed(job) ? job->dem->cell_x : 1);
    }
    if (is_in_degrees(job)) {
        const double middle = l->y_low + l->y_per_pixel * (double)l->height / 2;
        return fabs(middle) < 90 ? degree_m * cos(middle * M_PI / 180) * l->x_per_pixel : 0;
    }
    return 0;
}

double sciddicat_frame_round(double x)
{
    const double power = pow(10, floor(log10(x)));
    const double digits = x / power * (1 + 1e-12);
    return (digits >= 5 ? 5 : digits >= 2 ? 2 : 1) * power;
}

/* A bar of a round length, at most a third of the map; the first half light. */
static void draw_lengths(const struct sciddicat_job *job, const struct sciddicat_frame *l,
                         double capital, struct figure *f)
{
    enum { THICK = 7 };
    const double metres = metres_of(job, l);
    const double per_pixel = metres > 0 ? metres : fabs(l->x_per_pixel);
    const double most = per_pixel * fmax((double)l->width / 3, 1),
                 length = sciddicat_frame_round(most);
    const double pixels = round(length / per_pixel), x = (double)l->left;
    const double y = (double)l->below + round((capital - THICK) / 2);
    const bool in_km = metres > 0 && length >= 1000;
    char text[64];
    if (!isfinite(pixels)) {
        return; /* cells without measure */
    }
    figure_fill(f, x, y, pixels, THICK, COLOURS_INK);
    figure_fill(f, x + 1, y + 1, round(pixels / 2) - 1, THICK - 2, COLOURS_PAPER);
    snprintf(text, sizeof text, "%s%g %s", metres > 0 && is_in_degrees(job) ? "about " : "",
             in_km ? length / 1000 : length,
             in_km                           ? "km"
             : metres > 0                    ? "m"
             : is_in_degrees(job)            ? "\xc2\xb0"
             : job->scale.unit == GRID_OTHER ? "units of the map"
                                             : "cells");
    figure_text(f, x + pixels + GAP, (double)l->below, capital, COLOURS_INK, text);
}

/* What the numbers around the map are, below the scale of lengths. */
static void draw_system(const struct sciddicat_job *job, const struct sciddicat_frame *l,
                        double capital, struct figure *f)
{
    char system[GRID_SYSTEM_BYTES], text[GRID_SYSTEM_BYTES + 64], shown[PLOT_NAME];
    const enum grid_unit unit = job->scale.unit;
    grid_system_name(job->dem, system);
    const double unit_m = job->scale.unit_m;
    const bool is_foot = unit_m == 0.3048,
               is_survey_foot = fabs(unit_m - GRID_SURVEY_FOOT_M) < 1e-9;
    if (!is_placed(job)) {
        snprintf(text, sizeof text, "columns and rows, from 1");
    } else if (unit == GRID_LENGTH && (is_foot || is_survey_foot)) {
        snprintf(text, sizeof text, "coordinates in %sfeet, %s", is_foot ? "" : "US survey ",
                 system);
    } else if (unit == GRID_LENGTH && unit_m != 1) {
        snprintf(text, sizeof text, "coordinates in %.7g m, %s", unit_m, system);
    } else {
        snprintf(text, sizeof text, "coordinates in %s%s%s",
                 unit == GRID_LENGTH    ? "metres"
                 : unit == GRID_DEGREES ? "degrees"
                                        : "units of the map",
                 system[0] != '\0' ? ", " : "; the file names no system", system);
    }
    (void)plot_name(text, capital, (double)(l->all_width - l->left - GAP), shown);
    figure_text(f, (double)l->left, (double)l->below + capital + GAP, capital, COLOURS_INK, shown);
}

/* An arrow upwards beside an "N", at the right end of the line of scales, if it is known. */
static void draw_north(const struct sciddicat_job *job, const struct sciddicat_frame *l,
                       double capital, struct figure *f)
{
    if (!is_placed(job)) {
        return;
    }
    const double right = (double)(l->left + greater_of(l->width, LEAST_WIDTH));
    const double x = right - 2 * capital, top = (double)l->below - 4, end = top + capital + 8;
    figure_from(f, x, top);
    figure_to(f, x + 6, end);
    figure_to(f, x, end - 5);
    figure_to(f, x - 6, end);
    figure_shape(f, COLOURS_INK, 1);
    figure_text(f, x + 12, (double)l->below, capital, COLOURS_INK, "N");
}

void sciddicat_frame_draw(const struct sciddicat_job *job, const struct sciddicat_frame *l,
                          double capital, struct figure *f)
{
    const double left = (double)l->left, top = (double)l->top;
    const double width = (double)l->width, height = (double)l->height;
    draw_ticks(l, capital, f);
    figure_fill(f, left - 1, top - 1, width + 2, 1, COLOURS_INK);
    figure_fill(f, left - 1, top + height, width + 2, 1, COLOURS_INK);
    figure_fill(f, left - 1, top - 1, 1, height + 2, COLOURS_INK);
    figure_fill(f, left + width, top - 1, 1, height + 2, COLOURS_INK);
    draw_lengths(job, l, capital, f);
    draw_north(job, l, capital, f);
    draw_system(job, l, capital, f);
}
