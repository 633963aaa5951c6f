/*
 * sciddicat_map - the picture of a landslide: a title, the map with contour lines in a frame of
 * coordinates, a scale of lengths with the direction of north, and a legend.
 *
 * Small grids are enlarged by a whole factor, to be large enough to look at; cells are drawn
 * square, but for those of a narrow strip, which are enlarged across until it can be seen. Terrain
 * is grey, with a cool tint where debris was. The colours of debris go with the square root of the
 * thickness, since most debris is thin. Where debris was, or is,
 * thinner than about a hundredth of the thickest, a film is shown. So is what adheres: emptied
 * cells come down to p_epsilon from above, and are a little thicker in the end.
 */
#include "stages/sciddicat/sciddicat_map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CAPITAL = 12, /* height of capital letters, of text ... */
    TITLE = 15,   /* ... of the title ... */
    SMALL = 9,    /* ... and of contour lines */
    GAP = 16,
    BAR = 26,              /* width of the legend's bar */
    BAR_HEIGHT = 260,      /* its height at most */
    MARK = 8,              /* from the bar to the text beside it */
    PICTURE_BYTES = 8,     /* a pixel: colours of cells, pixels, what is written */
    LEVELS = 64,           /* altitudes on contour lines, at most */
    PATH_PIECES = 1 << 14, /* of a path that is drawn at once: cairo takes 2 KiB for each */
};

enum { COLOUR_NODATA = 0xe9ebee, COLOUR_OBSERVED = 0x0a6fd6 };

/* Steps of light and of thickness. */
enum { SHADES = 44, DEPTHS = 24, DEBRIS_SHADES = 6 };

static const double least_m = 1e-6; /* the shortest scale of thicknesses */
static const double outline = 1.6;  /* its thickness */

struct map {
    const struct sciddicat_job *job;
    struct sciddicat_relief relief;
    struct sciddicat_frame frame;
    struct figure *figure;
    size_t n_pieces; /* of the present path */
    bool is_share;   /* it shows which share of several runs affected a cell, in place of debris */
    double top_m;    /* > 0: the thickness, or share, at the end of the scale */
    double film_m;   /* what is not thicker is film */
    bool is_square;
    double every_m;             /* from contour line to contour line; 0: none */
    double level_at[LEVELS][2]; /* the altitudes that stand on lines */
    size_t n_levels;
    char film[40], cells[64], contours[64], stretched[64]; /* what the legend says of them */
};

size_t sciddicat_map_bytes(const struct sciddicat_job *job)
{
    const size_t side = RELIEF_SIDE + 400;
    return sciddicat_relief_bytes(job->dem->rows, job->dem->columns) + side * side * PICTURE_BYTES +
           figure_bytes(&job->choice.figure);
}

/* Of 1, 2, 5 times a power of ten the next one. */
static double round_up(double x)
{
    return x * (sciddicat_frame_round(2 * x) > 1.9 * x ? 2 : 2.5);
}

/* --- colours, 0xRRGGBB ------------------------------------------------------------------------ */

/* Which of n steps a value from 0 to 1 falls in, as that step's middle. */
static double in_steps(double value, int n)
{
    const int step = value > 0 ? (int)(value * n) : 0;
    return ((step < n ? step : n - 1) + 0.5) / n;
}

/* Of terrain in a light from 0 to 1 (level ground: sqrt(1/2)). */
static uint32_t terrain_colour(double shade)
{
    return colours_mix(0x83878d, 0xffffff, in_steps(shade, SHADES)); /* ink is legible on all */
}

/* Of terrain that debris has passed over, and left no more than a film on. */
static uint32_t film_colour(double shade)
{
    return colours_mix(terrain_colour(shade), 0x7a3fbf, 0.3);
}

/* Of debris, `depth` from 0 to 1 of the scale. */
static uint32_t debris_colour(const struct map *m, double depth, double shade)
{
    const uint32_t colour =
        colours_sequential(m->job->choice.figure.colours, in_steps(depth, DEPTHS));
    const double light = in_steps(shade, DEBRIS_SHADES) - 0.7; /* level ground: as it is */
    return light < 0 ? colours_mix(colour, 0x000000, -0.6 * light)
                     : colours_mix(colour, 0xffffff, 0.6 * light);
}

/* --- the map ---------------------------------------------------------------------------------- */

/* Where a thickness, or a share, is on the scale of colours. */
static double depth_of(const struct map *m, double thickness)
{
    return m->is_share ? thickness / m->top_m : sqrt(thickness / m->top_m);
}

enum surface { TERRAIN, FILM, DEBRIS, NO_DATA, N_SURFACES };

static enum surface surface_of(const struct map *m, size_t k)
{
    if ((double)m->relief.debris[k] > m->film_m) {
        return DEBRIS;
    }
    if (!m->is_share && m->relief.covered[k] != RELIEF_NEVER) {
        return FILM;
    }
    return isnan(m->relief.altitude[k]) ? NO_DATA : TERRAIN;
}

static uint32_t colour_of(const struct map *m, size_t k)
{
    const double shade = (double)m->relief.shade[k];
    switch (surface_of(m, k)) {
    case DEBRIS:
        return debris_colour(m, depth_of(m, (double)m->relief.debris[k]), shade);
    case FILM:
        return film_colour(shade);
    case NO_DATA:
        return COLOUR_NODATA;
    default:
        return terrain_colour(shade);
    }
}

static enum status draw_cells(struct map *m)
{
    const struct sciddicat_frame *const l = &m->frame;
    const size_t n = m->relief.width * m->relief.height;
    uint32_t *const colours = malloc(n * sizeof *colours);
    if (colours == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a picture of %zu cells", n);
    }
    for (size_t k = 0; k < n; k++) {
        colours[k] = colour_of(m, k);
    }
    figure_cells(m->figure, l->left, l->top, l->cell_x, l->cell_y, m->relief.width,
                 m->relief.height, colours);
    free(colours);
    return STATUS_OK;
}

/* Cells that have a value. */
struct area {
    const uint8_t *cells;
    uint8_t value;
};

static bool is_in(const struct sciddicat_relief *r, struct area area, long y, long x)
{
    return y >= 0 && x >= 0 && y < (long)r->height && x < (long)r->width &&
           area.cells[(size_t)y * r->width + (size_t)x] == area.value;
}

/* --- lines of many pieces --------------------------------------------------------------------- */

static void put_piece(struct map *m, double from_x, double from_y, double to_x, double to_y)
{
    figure_from(m->figure, from_x, from_y);
    figure_to(m->figure, to_x, to_y);
    m->n_pieces++;
}

/* Draws the pieces if there are so many. */
static void draw_pieces(struct map *m, size_t least, double thick, uint32_t rgb, double opacity)
{
    if (m->n_pieces >= least) {
        figure_line(m->figure, thick, rgb, opacity);
        m->n_pieces = 0;
    }
}

/* A line around the cells of an area. */
static void draw_outline(struct map *m, struct area area, double thick, uint32_t rgb)
{
    const struct sciddicat_relief *const r = &m->relief;
    const double w = (double)m->frame.cell_x, h = (double)m->frame.cell_y;
    for (long y = 0; y < (long)r->height; y++) {
        for (long x = 0; x < (long)r->width; x++) {
            if (!is_in(r, area, y, x)) {
                continue;
            }
            const double left = (double)m->frame.left + (double)x * w,
                         top = (double)m->frame.top + (double)y * h;
            for (long by = 0; by <= 1; by++) {
                if (!is_in(r, area, y + 2 * by - 1, x)) {
                    put_piece(m, left, top + (double)by * h, left + w, top + (double)by * h);
                }
                if (!is_in(r, area, y, x + 2 * by - 1)) {
                    put_piece(m, left + (double)by * w, top, left + (double)by * w, top + h);
                }
            }
        }
        draw_pieces(m, PATH_PIECES, thick, rgb, 1);
    }
    draw_pieces(m, 1, thick, rgb, 1);
}

static void draw_probe(struct figure *f, double x, double y)
{
    plot_mark_at(f, x, y, PLOT_DIAMOND, 13, 1, COLOURS_PAPER);
    plot_mark_at(f, x, y, PLOT_DIAMOND, 9, 1, COLOUR_OBSERVED);
}

/* A diamond on the cell of each probe that is shown. */
static void draw_probes(const struct map *m)
{
    const struct sciddicat_relief *const r = &m->relief;
    for (size_t k = 0; k < m->job->slide.n_probes; k++) {
        const size_t cell = m->job->slide.probes[k], columns = m->job->dem->columns;
        const size_t y = (cell / columns - r->row) / r->factor; /* beyond, where not shown */
        const size_t x = (cell % columns - r->column) / r->factor;
        if (y < r->height && x < r->width) {
            const size_t down = m->job->dem->cell_y < 0 ? r->height - 1 - y : y;
            draw_probe(m->figure,
                       (double)m->frame.left + ((double)x + 0.5) * (double)m->frame.cell_x,
                       (double)m->frame.top + ((double)down + 0.5) * (double)m->frame.cell_y);
        }
    }
}

/* --- contour lines ---------------------------------------------------------------------------- */

/* Round altitudes, about ten of them, where the terrain is not level. */
static void choose_contours(struct map *m)
{
    enum { ABOUT = 12 };
    double low = INFINITY, high = -INFINITY;
    for (size_t k = 0; k < m->relief.width * m->relief.height; k++) {
        if (!isnan(m->relief.altitude[k])) {
            low = fmin(low, (double)m->relief.altitude[k]);
            high = fmax(high, (double)m->relief.altitude[k]);
        }
    }
    const double most = fmax(fabs(low), fabs(high));
    if (high - low > 1e-5 * most && m->relief.width > 2 && m->relief.height > 2) {
        m->every_m = round_up(sciddicat_frame_round((high - low) / ABOUT));
        snprintf(m->contours, sizeof m->contours, "every %.6g m of altitude", m->every_m);
    }
}

/* Where between the centres of two cells, at altitudes a and b, the level lies. */
static double share(double a, double b, double level)
{
    return (level - a) / (b - a);
}

/* The pieces of a level's line between the centres of four cells; the lower left has 1, and so on
 * around: where two opposite corners are above, the line runs around each of them. */
static void draw_square(struct map *m, size_t y, size_t x, double level)
{
    const struct sciddicat_relief *const r = &m->relief;
    const float *const upper = r->altitude + y * r->width + x, *const lower = upper + r->width;
    const double corner[4] = {(double)lower[0], (double)lower[1], (double)upper[1],
                              (double)upper[0]};
    const double left = (double)m->frame.left, top = (double)m->frame.top;
    double at[4][2];
    size_t n = 0;
    for (size_t k = 0; k < 4; k++) { /* the four sides: below, right, above, left */
        const double a = corner[k], b = corner[(k + 1) % 4];
        if ((a >= level) != (b >= level)) {
            const double t = share(a, b, level);
            const double along_x[] = {t, 1, 1 - t, 0}, along_y[] = {1, 1 - t, 0, t};
            at[n][0] = left + ((double)x + 0.5 + along_x[k]) * (double)m->frame.cell_x;
            at[n++][1] = top + ((double)y + 0.5 + along_y[k]) * (double)m->frame.cell_y;
        }
    }
    for (size_t k = 0; k + 1 < n; k += 2) {
        put_piece(m, at[k][0], at[k][1], at[k + 1][0], at[k + 1][1]);
    }
}

/* The angle of the line through a cell: across the slope, so that text on it stands upright. */
static double line_angle(const struct map *m, size_t column, size_t row)
{
    const struct sciddicat_relief *const r = &m->relief;
    const float *const at = r->altitude + row * r->width + column;
    const double right = column + 1 < r->width ? (double)(at[1] - at[0]) : 0;
    const double down = row + 1 < r->height ? (double)(at[r->width] - at[0]) : 0;
    const double angle = atan2(right / (double)m->frame.cell_x, -down / (double)m->frame.cell_y);
    return !isfinite(angle)   ? 0
           : angle > M_PI_2   ? angle - M_PI
           : angle <= -M_PI_2 ? angle + M_PI
                              : angle;
}

/* An altitude along its line, its middle at a place of the map; false: it would not lie within, or
 * on another one. */
static bool put_level(struct map *m, double level, double x, double y, double angle)
{
    const struct sciddicat_frame *const l = &m->frame;
    char text[PLOT_LABEL];
    plot_number(text, "%.6g", level);
    const double along = ceil(figure_text_width(SMALL, text)) / 2 + 2, across = SMALL / 2.0 + 2;
    const double cosine = cos(angle), sine = sin(angle);
    if (x - along < (double)l->left || x + along > (double)(l->left + l->width) ||
        y - along < (double)l->top || y + along > (double)(l->top + l->height) ||
        m->n_levels == LEVELS) {
        return false;
    }
    for (size_t k = 0; k < m->n_levels; k++) {
        if (hypot(x - m->level_at[k][0], y - m->level_at[k][1]) < 2 * along + SMALL) {
            return false;
        }
    }
    m->level_at[m->n_levels][0] = x;
    m->level_at[m->n_levels++][1] = y;
    for (int k = 0; k < 4; k++) { /* the corners of what lies below it */
        const double a = k == 0 || k == 3 ? -along : along, b = k < 2 ? -across : across;
        (k == 0 ? figure_from : figure_to)(m->figure, x + a * cosine - b * sine,
                                           y + a * sine + b * cosine);
    }
    figure_shape(m->figure, 0xf4f4f4, 0.85);
    figure_text_turned(m->figure, x, y, SMALL, angle, COLOURS_INK, text);
    return true;
}

/* Altitudes along a row or a column of cells, where lines cross it and there is room. */
static void put_levels(struct map *m, size_t first, size_t step, size_t n)
{
    enum { APART = 70 };
    const struct sciddicat_frame *const l = &m->frame;
    const struct sciddicat_relief *const r = &m->relief;
    const double per_cell = (double)(step == 1 ? l->cell_x : l->cell_y);
    double free_from = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        const size_t k = first + i * step;
        const double a = (double)r->altitude[k], b = (double)r->altitude[k + step];
        const double level = floor(fmax(a, b) / m->every_m) * m->every_m;
        if (isnan(a + b) || level <= fmin(a, b) || (double)i * per_cell < free_from) {
            continue;
        }
        const double t = (level - a) / (b - a) + 0.5;
        const size_t column = k % r->width, row = k / r->width;
        const double x = (double)column + (step == 1 ? t : 0.5);
        const double y = (double)row + (step == 1 ? 0.5 : t);
        if (put_level(m, level, (double)l->left + x * (double)l->cell_x,
                      (double)l->top + y * (double)l->cell_y, line_angle(m, column, row))) {
            free_from = (double)i * per_cell + APART;
        }
    }
}

/* The levels between the centres of four cells: the first is that many contours above 0; how many.
 */
static size_t levels_of(const struct map *m, size_t y, size_t x, double *first)
{
    const float *const upper = m->relief.altitude + y * m->relief.width + x;
    const float *const lower = upper + m->relief.width;
    const double low =
        fmin(fmin((double)upper[0], (double)upper[1]), fmin((double)lower[0], (double)lower[1]));
    const double high =
        fmax(fmax((double)upper[0], (double)upper[1]), fmax((double)lower[0], (double)lower[1]));
    if (isnan(upper[0] + upper[1] + lower[0] + lower[1])) {
        return 0;
    }
    *first = floor(low / m->every_m) + 1;
    return (size_t)(floor(high / m->every_m) - *first + 1);
}

/* Lines of noise would cover a quarter of the map or more, and tell nothing: it has none. */
static void drop_dense_contours(struct map *m)
{
    const struct sciddicat_relief *const r = &m->relief;
    const double cells = (double)r->width * (double)r->height;
    double first;
    size_t pieces = 0;
    for (size_t y = 0; y + 1 < r->height && m->every_m > 0; y++) {
        for (size_t x = 0; x + 1 < r->width; x++) {
            pieces += levels_of(m, y, x, &first);
        }
    }
    if (4 * (double)pieces > cells * (double)(m->frame.cell_x + m->frame.cell_y) / 2) {
        m->every_m = 0;
    }
}

static void draw_contours(struct map *m)
{
    const struct sciddicat_relief *const r = &m->relief;
    for (size_t y = 0; y + 1 < r->height; y++) {
        for (size_t x = 0; x + 1 < r->width; x++) {
            double first = 0;
            const size_t n = levels_of(m, y, x, &first);
            for (size_t k = 0; k < n; k++) {
                draw_square(m, y, x, (first + (double)k) * m->every_m);
            }
        }
        draw_pieces(m, PATH_PIECES, 1, COLOURS_INK, 0.55);
    }
    draw_pieces(m, 1, 1, COLOURS_INK, 0.55);
}

/* --- legend ----------------------------------------------------------------------------------- */

static const char at_start[] = "at the start", observed[] = "observed", probes[] = "probes",
                  drawn_square[] = "drawn square", a_part[] = "a part of the DEM";

static void put_text(struct map *m, double x, double y, const char *text)
{
    figure_text(m->figure, x, y, CAPITAL, COLOURS_INK, text);
}

/* With room for every text that it may hold. */
static double legend_width(const struct map *m)
{
    const double beside = BAR + MARK;
    const char *const keys[] = {at_start, m->film, m->contours, "no data"};
    const char *const notes[] = {m->cells, drawn_square, m->stretched, "debris, m"};
    double width = beside + figure_text_width(CAPITAL, "0.00001234");
    if (m->relief.is_part) {
        width = fmax(width, figure_text_width(CAPITAL, a_part));
    }
    for (size_t k = 0; k < 4; k++) {
        width = fmax(width, beside + figure_text_width(CAPITAL, keys[k]));
        if (k > 1 || !m->is_square) {
            width = fmax(width, figure_text_width(CAPITAL, notes[k]));
        }
    }
    return width;
}

/* A number beside the bar. */
static void put_mark(struct map *m, double y, double value)
{
    const double x = (double)m->frame.legend + BAR;
    char text[PLOT_LABEL];
    plot_number(text, "%.3g", value);
    figure_fill(m->figure, x, y, MARK - 3, 1, COLOURS_INK);
    put_text(m, x + MARK, y - CAPITAL / 2.0, text);
}

/* The bar of thicknesses with round numbers beside it; returns the line below it. */
static double draw_bar(struct map *m, double y)
{
    const double left = (double)m->frame.legend;
    for (int k = 0; k < BAR_HEIGHT; k++) {
        const double depth = 1 - (k + 0.5) / BAR_HEIGHT;
        figure_fill(m->figure, left, y + k, BAR, 1, debris_colour(m, depth, M_SQRT1_2));
    }
    double free_from = y + BAR_HEIGHT; /* above the mark before; the end of the scale has one */
    put_mark(m, y, m->top_m);
    double mark = sciddicat_frame_round(m->top_m / 50);
    while (mark <= m->top_m) {
        const double at = y + round((BAR_HEIGHT - 1) * (1 - depth_of(m, mark)));
        if (at + CAPITAL / 2.0 <= free_from && at - CAPITAL * 1.5 > y) {
            free_from = at - CAPITAL;
            put_mark(m, at, mark);
        }
        mark = round_up(mark);
    }
    return y + BAR_HEIGHT + GAP;
}

/* A square of a colour and what it means; returns the line below it. */
static double draw_key(struct map *m, double y, uint32_t rgb, const char *text)
{
    const double left = (double)m->frame.legend;
    figure_fill(m->figure, left, y, BAR, CAPITAL, rgb);
    put_text(m, left + BAR + MARK, y, text);
    return y + CAPITAL + GAP / 2.0;
}

/* The same of a line. */
static double draw_line_key(struct map *m, double y, double thick, uint32_t rgb, double opacity,
                            const char *text)
{
    const double left = (double)m->frame.legend, middle = y + CAPITAL / 2.0;
    figure_from(m->figure, left, middle);
    figure_to(m->figure, left + BAR, middle);
    figure_line(m->figure, thick, rgb, opacity);
    put_text(m, left + BAR + MARK, y, text);
    return y + CAPITAL + GAP / 2.0;
}

static void draw_legend(struct map *m)
{
    const double left = (double)m->frame.legend, line = CAPITAL + GAP / 2.0;
    bool shown[N_SURFACES] = {false};
    for (size_t k = 0; k < m->relief.width * m->relief.height; k++) {
        shown[surface_of(m, k)] = true;
    }
    double y = (double)m->frame.top;
    if (shown[DEBRIS]) {
        put_text(m, left, y, m->is_share ? "share of runs" : "debris, m");
        y = draw_bar(m, y + line + CAPITAL / 2.0);
    } else if (!shown[FILM]) {
        put_text(m, left, y, "no debris");
        y += line;
    }
    if (shown[FILM]) {
        y = draw_key(m, y, film_colour(M_SQRT1_2), m->film);
    }
    if (m->job->slide.start.n_debris > 0) {
        y = draw_line_key(m, y, outline, COLOURS_INK, 1, at_start);
    }
    if (m->job->hit != NULL) {
        y = draw_line_key(m, y, outline, COLOUR_OBSERVED, 1, observed);
    }
    if (m->job->slide.n_probes > 0) {
        draw_probe(m->figure, left + BAR / 2.0, y + CAPITAL / 2.0);
        put_text(m, left + BAR + MARK, y, probes);
        y += line;
    }
    if (m->every_m > 0) {
        y = draw_line_key(m, y, 1, COLOURS_INK, 0.7, m->contours);
    }
    if (shown[NO_DATA]) {
        y = draw_key(m, y, COLOUR_NODATA, "no data");
    }
    if (!m->is_square) {
        put_text(m, left, y, m->cells);
        put_text(m, left, y + line, drawn_square);
        y += 2 * line;
    }
    if (m->frame.stretched > 1) {
        put_text(m, left, y, m->stretched);
        y += line;
    }
    if (m->relief.is_part) {
        put_text(m, left, y, a_part);
    }
}

/* The DEM's name, and the steps. */
static void draw_title(struct map *m)
{
    const struct sciddicat_runs *const runs = &m->job->runs;
    char steps[96];
    if (m->is_share) {
        snprintf(steps, sizeof steps, ": more than %.3g m of debris in %zu runs",
                 m->job->choice.affected_m, runs->n);
        plot_title(m->figure, GAP, TITLE, sciddicat_name(m->job, SCIDDICAT_DEM), steps);
        return;
    }
    snprintf(steps, sizeof steps, ": debris after %llu step%s%s",
             (unsigned long long)m->job->slide.now.step, m->job->slide.now.step == 1 ? "" : "s",
             m->job->slide.settled ? ", at rest" : "");
    if (runs->n > 1) {
        const size_t n = strlen(steps);
        snprintf(steps + n, sizeof steps - n, ", run %zu of %zu", runs->full + 1, runs->n);
    }
    plot_title(m->figure, GAP, TITLE, sciddicat_name(m->job, SCIDDICAT_DEM), steps);
}

static void choose_texts(struct map *m)
{
    const struct grid_scale *const s = &m->job->scale;
    snprintf(m->film, sizeof m->film, "passed, <%.3g m", m->film_m);
    m->is_square =
        !grid_scale_is_sheared(s) && fabs(s->cell_x_m - s->cell_y_m) <= 1e-6 * s->cell_x_m;
    snprintf(m->cells, sizeof m->cells, "cells %.4g m \xc3\x97 %.4g m", s->cell_x_m, s->cell_y_m);
}

static enum status draw_picture(struct map *m, struct bytes *out)
{
    STATUS_TRY(draw_cells(m));
    draw_title(m);
    figure_clip(m->figure, (double)m->frame.left, (double)m->frame.top, (double)m->frame.width,
                (double)m->frame.height);
    if (m->every_m > 0) {
        draw_contours(m);
        put_levels(m, m->relief.height / 2 * m->relief.width, 1, m->relief.width);
        put_levels(m, m->relief.width * 3 / 4, m->relief.width, m->relief.height);
    }
    const struct area start = {m->relief.covered, RELIEF_START};
    if (m->is_share) { /* it lies where all runs are, which is dark */
        draw_outline(m, start, 2.5 * outline, COLOURS_PAPER);
    }
    draw_outline(m, start, outline, COLOURS_INK);
    if (m->job->hit != NULL) {
        draw_outline(m, (struct area){m->relief.observed, 1}, outline, COLOUR_OBSERVED);
    }
    draw_probes(m);
    figure_unclip(m->figure);
    sciddicat_frame_draw(m->job, &m->frame, CAPITAL, m->figure);
    draw_legend(m);
    return figure_write(m->figure, out);
}

static enum status draw(struct map *m, struct bytes *out)
{
    double thickest = 0;
    for (size_t k = 0; k < m->relief.width * m->relief.height; k++) {
        thickest = fmax(thickest, (double)m->relief.debris[k]);
    }
    m->top_m = m->is_share ? 1 : fmax(thickest, least_m);
    m->film_m = m->is_share
                    ? 0
                    : fmax(sciddicat_frame_round(m->top_m / 100), 2 * m->job->slide.params.epsilon);
    choose_texts(m);
    choose_contours(m);
    sciddicat_frame_set(m->job, &m->relief, CAPITAL, legend_width(m), &m->frame);
    if (m->frame.stretched > 1) {
        snprintf(m->stretched, sizeof m->stretched, "drawn %ld times as %s", m->frame.stretched,
                 m->frame.cell_x > m->frame.cell_y ? "wide" : "high");
        sciddicat_frame_set(m->job, &m->relief, CAPITAL, legend_width(m), &m->frame);
    }
    drop_dense_contours(m);
    STATUS_TRY(figure_new(&m->job->choice.figure, FIGURE_LINES, (size_t)m->frame.all_width,
                          (size_t)m->frame.all_height, &m->figure));
    const enum status st = draw_picture(m, out);
    figure_free(m->figure);
    return st;
}

static enum status draw_map(struct map *m, const double *debris, struct bytes *out)
{
    STATUS_TRY(sciddicat_relief_new(m->job, debris, &m->relief));
    const enum status st = draw(m, out);
    free(m->relief.altitude);
    return st;
}

static enum status map_piece(void *context, uint64_t index, struct bytes *out)
{
    struct map m = {.job = context};
    (void)index; /* there is one */
    return draw_map(&m, m.job->slide.h, out);
}

static enum status share_piece(void *context, uint64_t index, struct bytes *out)
{
    struct map m = {.job = context, .is_share = true};
    (void)index; /* there is one */
    return draw_map(&m, m.job->runs.share, out);
}

enum status sciddicat_map(struct sciddicat_job *job)
{
    return io_picture(job->io, &job->choice.figure, "map", map_piece, job);
}

enum status sciddicat_map_runs(struct sciddicat_job *job)
{
    return io_picture(job->io, &job->choice.figure, "probability", share_piece, job);
}
