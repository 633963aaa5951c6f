/*
 * sciddicat_map - the picture of a landslide, map.png: a title, the map, a scale of lengths with
 * the direction of north, and a legend.
 *
 * Small grids are enlarged by a whole factor, to be large enough to look at; cells are drawn
 * square. Terrain is grey, with a cool tint where debris was. The colours of debris go with the
 * square root of the thickness, since most debris is thin; their lightness falls evenly (CIE L* 90,
 * 75, 58, 40, 22) from yellow to a dark red, so that thickness can be read without hue. Where
 * debris was, or is, thinner than about a hundredth of the thickest, a film is shown. So is what
 * adheres: emptied cells come down to p_epsilon from above, and are a little thicker in the end.
 */
#include "formats/result/png_image.h"
#include "stages/sciddicat/sciddicat_relief.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SIDE_PIXELS = 1250, /* grids are enlarged up to this ... */
    MOST_ENLARGED = 48, /* ... or so many times */
    LARGE_PIXELS = 640, /* from here on, text is drawn twice as large */
    LEAST_WIDTH = 200,  /* room for title and scale, in dots of the text */
    LEAST_HEIGHT = 150, /* room for the legend */
    GLYPH = 7,
    GAP = 8,
    BAR = 14,         /* width of the legend's bar */
    BAR_HEIGHT = 160, /* its height at most */
    MARK = 5,         /* from the bar to the text beside it */
    PICTURE_BYTES = 8 /* a pixel: colours, palette, what is written */
};

enum { COLOUR_NODATA = 0xe9ebee, COLOUR_INK = 0x202020, COLOUR_PAPER = 0xffffff };

/* Steps of light and of thickness: the picture has a palette. */
enum { SHADES = 44, DEPTHS = 24, DEBRIS_SHADES = 6 };
_Static_assert(2 * SHADES + DEPTHS * DEBRIS_SHADES + 3 <= 256, "a palette");

static const double least_m = 1e-6; /* the shortest scale of thicknesses */

/* Where things are, in pixels; `dot` is a dot of the text. */
struct layout {
    long dot, cell;
    long left, top, width, height; /* of the map */
    long legend, below;            /* left of the legend, top of the line of scales */
    long all_width, all_height;
};

struct map {
    const struct sciddicat_job *job;
    struct sciddicat_relief relief;
    struct layout at;
    struct png_image image;
    double top_m;  /* > 0: the thickness at the end of the scale */
    double film_m; /* what is not thicker is film */
    bool is_square;
    char film[32], cells[48]; /* what the legend says of them */
};

static long greater_of(long a, long b)
{
    return a > b ? a : b;
}

/* `legend`: width of the legend in dots of the text. */
static struct layout lay_out(size_t width, size_t height, long legend)
{
    const long side = (long)(width > height ? width : height);
    struct layout l = {.cell = SIDE_PIXELS / side};
    l.cell = l.cell < 1 ? 1 : l.cell > MOST_ENLARGED ? MOST_ENLARGED : l.cell;
    l.width = (long)width * l.cell;
    l.height = (long)height * l.cell;
    l.dot = side * l.cell >= LARGE_PIXELS ? 2 : 1;
    const long gap = GAP * l.dot, line = GLYPH * l.dot;
    l.left = gap;
    l.top = 2 * gap + line;
    l.legend = l.left + greater_of(l.width, LEAST_WIDTH * l.dot) + 2 * gap;
    l.below = l.top + greater_of(l.height, LEAST_HEIGHT * l.dot) + gap;
    l.all_width = l.legend + legend * l.dot + gap;
    l.all_height = l.below + line + gap;
    return l;
}

size_t sciddicat_map_bytes(size_t rows, size_t columns)
{
    /* The part that is shown may be smaller than the grid, and is then enlarged. */
    const size_t side = RELIEF_SIDE + 400;
    return sciddicat_relief_bytes(rows, columns) + side * side * PICTURE_BYTES;
}

/* The largest of 1, 2, 5 times a power of ten that is not above x > 0. */
static double round_down(double x)
{
    const double power = pow(10, floor(log10(x)));
    const double digits = x / power * (1 + 1e-12);
    return (digits >= 5 ? 5 : digits >= 2 ? 2 : 1) * power;
}

/* The next of them. */
static double round_up(double x)
{
    return x * (round_down(2 * x) > 1.9 * x ? 2 : 2.5);
}

/* --- colours, 0xRRGGBB ------------------------------------------------------------------------ */

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

/* Of terrain in a light from 0 to 1 (level ground: sqrt(1/2)). */
static uint32_t terrain_colour(double shade)
{
    return mix(0x34373b, 0xffffff, in_steps(shade, SHADES));
}

/* Of terrain that debris has passed over, and left no more than a film on. */
static uint32_t film_colour(double shade)
{
    return mix(terrain_colour(shade), 0x7a3fbf, 0.3);
}

/* Of debris, `depth` from 0 to 1 of the scale. */
static uint32_t debris_colour(double depth, double shade)
{
    static const uint32_t scale[] = {0xffe27a, 0xf7ab3c, 0xdd6b2b, 0xa62c2b, 0x5a1029};
    enum { PIECES = sizeof scale / sizeof *scale - 1 };
    const double at = in_steps(depth, DEPTHS) * PIECES;
    const size_t piece = (size_t)at;
    const uint32_t colour = mix(scale[piece], scale[piece + 1], at - (double)piece);
    const double light = in_steps(shade, DEBRIS_SHADES) - 0.7; /* level ground: as it is */
    return light < 0 ? mix(colour, 0x000000, -0.6 * light) : mix(colour, 0xffffff, 0.6 * light);
}

/* --- the map ---------------------------------------------------------------------------------- */

/* Where a thickness is on the scale of colours. */
static double depth_of(const struct map *m, double thickness)
{
    return sqrt(thickness / m->top_m);
}

enum surface { TERRAIN, FILM, DEBRIS, NO_DATA, N_SURFACES };

static enum surface surface_of(const struct map *m, size_t k)
{
    if ((double)m->relief.debris[k] > m->film_m) {
        return DEBRIS;
    }
    if (m->relief.covered[k] != RELIEF_NEVER) {
        return FILM;
    }
    return isnan(m->relief.altitude[k]) ? NO_DATA : TERRAIN;
}

static uint32_t colour_of(const struct map *m, size_t k)
{
    const double shade = (double)m->relief.shade[k];
    switch (surface_of(m, k)) {
    case DEBRIS:
        return debris_colour(depth_of(m, (double)m->relief.debris[k]), shade);
    case FILM:
        return film_colour(shade);
    case NO_DATA:
        return COLOUR_NODATA;
    default:
        return terrain_colour(shade);
    }
}

static void draw_cells(struct map *m)
{
    const struct layout *const l = &m->at;
    const struct sciddicat_relief *const r = &m->relief;
    for (size_t y = 0; y < r->height; y++) {
        for (size_t x = 0; x < r->width; x++) {
            png_image_fill(&m->image, l->left + (long)x * l->cell, l->top + (long)y * l->cell,
                           l->cell, l->cell, colour_of(m, y * r->width + x));
        }
    }
}

static bool is_start(const struct sciddicat_relief *r, long y, long x)
{
    return y >= 0 && x >= 0 && y < (long)r->height && x < (long)r->width &&
           r->covered[(size_t)y * r->width + (size_t)x] == RELIEF_START;
}

static void put_ink(struct map *m, long x, long y, long width, long height)
{
    png_image_fill(&m->image, x, y, width, height, COLOUR_INK);
}

/* A line around the cells that were covered at the start, within them. */
static void draw_start(struct map *m)
{
    const struct sciddicat_relief *const r = &m->relief;
    const long n = m->at.cell, thick = m->at.dot < n ? m->at.dot : n;
    for (long y = 0; y < (long)r->height; y++) {
        for (long x = 0; x < (long)r->width; x++) {
            const long left = m->at.left + x * n, top = m->at.top + y * n;
            if (!is_start(r, y, x)) {
                continue;
            }
            const long end = n - thick;
            for (long by = -1; by <= 1; by += 2) {
                if (!is_start(r, y + by, x)) {
                    put_ink(m, left, top + (by > 0 ? end : 0), n, thick);
                }
                if (!is_start(r, y, x + by)) {
                    put_ink(m, left + (by > 0 ? end : 0), top, thick, n);
                }
            }
        }
    }
}

/* --- scales ----------------------------------------------------------------------------------- */

static void put_text(struct map *m, long x, long y, const char *text)
{
    png_image_text(&m->image, x, y, (int)m->at.dot, COLOUR_INK, text);
}

/* A bar of a round length, at most a third of the map; one colour twice, the first half light. */
static void draw_lengths(struct map *m)
{
    const struct layout *const l = &m->at;
    const double cell_m = m->job->scale.cell_x_m * (double)m->relief.factor;
    const double third = cell_m * (double)m->relief.width / 3;
    const double length = m->relief.width < 3 ? cell_m : round_down(third);
    const long pixels = lround(length / cell_m * (double)l->cell), thick = 4 * l->dot;
    const long x = l->left, y = l->below + (GLYPH * l->dot - thick) / 2;
    const bool known = m->job->scale.unit == GRID_METRES;
    char text[48];
    put_ink(m, x, y, pixels, thick);
    png_image_fill(&m->image, x + l->dot, y + l->dot, pixels / 2 - l->dot, thick - 2 * l->dot,
                   COLOUR_PAPER);
    const bool in_km = known && length >= 1000;
    snprintf(text, sizeof text, "%g %s", in_km ? length / 1000 : length,
             in_km   ? "km"
             : known ? "m"
                     : "cells");
    put_text(m, x + pixels + GAP * l->dot, l->below, text);
}

/* "N" under an arrow, at the right end of the line of scales, if the direction is known. */
static void draw_north(struct map *m)
{
    const struct layout *const l = &m->at;
    if (!m->job->dem->has_origin) {
        return;
    }
    const long right = l->left + greater_of(l->width, LEAST_WIDTH * l->dot);
    const long x = right - 5 * l->dot, d = l->dot;
    put_text(m, x, l->below, "N");
    for (long k = 0; k < 4; k++) { /* a head of 7 dots across and a shaft beside the letter */
        put_ink(m, x - (6 + k) * d, l->below + k * d, (2 * k + 1) * d, d);
    }
    put_ink(m, x - 6 * d, l->below + 4 * d, d, 3 * d);
}

/* --- legend ----------------------------------------------------------------------------------- */

static const char at_start[] = "at the start", drawn_square[] = "drawn square";

/* In dots, with room for every text that it may hold; a number beside the bar has at most eight
 * characters. */
static long legend_width(const struct map *m)
{
    const long beside = BAR + MARK;
    long width = greater_of(beside + png_image_text_width(1, "1.23e-05"),
                            beside + png_image_text_width(1, at_start));
    width = greater_of(width, beside + png_image_text_width(1, m->film));
    if (!m->is_square) {
        width = greater_of(width, png_image_text_width(1, m->cells));
        width = greater_of(width, png_image_text_width(1, drawn_square));
    }
    return width;
}

/* A number beside the bar. */
static void put_mark(struct map *m, long y, double value)
{
    const long d = m->at.dot, x = m->at.legend + BAR * d;
    char text[32];
    snprintf(text, sizeof text, "%.3g", value);
    put_ink(m, x, y, 3 * d, d);
    put_text(m, x + MARK * d, y - GLYPH * d / 2, text);
}

/* The bar of thicknesses with round numbers beside it; returns the line below it. */
static long draw_bar(struct map *m, long y)
{
    const struct layout *const l = &m->at;
    const long d = l->dot, room = l->below - l->top - (m->is_square ? 64 : 86) * d;
    const long height = room < BAR_HEIGHT * d ? room : BAR_HEIGHT * d, width = BAR * d;
    for (long k = 0; k < height; k++) {
        const double depth = 1 - ((double)k + 0.5) / (double)height;
        png_image_fill(&m->image, l->legend, y + k, width, 1, debris_colour(depth, M_SQRT1_2));
    }
    long free_from = y + height; /* above the mark before; the end of the scale has one */
    put_mark(m, y, m->top_m);
    double mark = round_down(m->top_m / 50);
    while (mark <= m->top_m) {
        const long at = y + lround((double)(height - 1) * (1 - depth_of(m, mark)));
        if (at + GLYPH * d / 2 <= free_from && at - GLYPH * d > y) {
            free_from = at - GLYPH * d;
            put_mark(m, at, mark);
        }
        mark = round_up(mark);
    }
    return y + height + GAP * d;
}

/* A square of a colour and what it means; returns the line below it. */
static long draw_key(struct map *m, long y, uint32_t rgb, const char *text)
{
    const struct layout *const l = &m->at;
    const long d = l->dot, side = GLYPH * d;
    png_image_fill(&m->image, l->legend, y, BAR * d, side, rgb);
    put_text(m, l->legend + (BAR + MARK) * d, y, text);
    return y + side + GAP * d / 2;
}

static void draw_legend(struct map *m)
{
    const long line = (GLYPH + GAP / 2) * m->at.dot;
    bool shown[N_SURFACES] = {false};
    for (size_t k = 0; k < m->relief.width * m->relief.height; k++) {
        shown[surface_of(m, k)] = true;
    }
    long y = m->at.top;
    if (shown[DEBRIS]) {
        put_text(m, m->at.legend, y, "debris, m");
        y = draw_bar(m, y + line + GLYPH * m->at.dot / 2);
    } else if (!shown[FILM]) {
        put_text(m, m->at.legend, y, "no debris");
        y += line;
    }
    if (shown[FILM]) {
        y = draw_key(m, y, film_colour(M_SQRT1_2), m->film);
    }
    if (m->job->start.n_debris > 0) {
        const long d = m->at.dot;
        const long top = y;
        y = draw_key(m, y, COLOUR_INK, at_start);
        png_image_fill(&m->image, m->at.legend + d, top + d, (BAR - 2) * d, (GLYPH - 2) * d,
                       COLOUR_PAPER);
    }
    if (shown[NO_DATA]) {
        y = draw_key(m, y, COLOUR_NODATA, "no data");
    }
    if (!m->is_square) {
        put_text(m, m->at.legend, y, m->cells);
        put_text(m, m->at.legend, y + line, drawn_square);
    }
}

/* The DEM's name without folders, cut where it would not fit, and the steps. */
static void draw_title(struct map *m)
{
    const struct layout *const l = &m->at;
    const char *const path = sciddicat_name(m->job, SCIDDICAT_DEM);
    const char *const slash = strrchr(path, '/');
    char steps[64], title[512];
    snprintf(steps, sizeof steps, ": debris after %llu step%s%s",
             (unsigned long long)m->job->now.step, m->job->now.step == 1 ? "" : "s",
             m->job->settled ? ", at rest" : "");
    const long all = (l->all_width - 2L * GAP * l->dot) / (6 * l->dot); /* characters */
    const long room = all - (long)strlen(steps);
    snprintf(title, sizeof title, "%.*s%s", (int)greater_of(room, 1),
             slash != NULL ? slash + 1 : path, steps);
    put_text(m, l->left, GAP * l->dot, title);
}

static enum status draw(struct map *m, struct bytes *out)
{
    double thickest = 0;
    for (size_t k = 0; k < m->relief.width * m->relief.height; k++) {
        thickest = fmax(thickest, (double)m->relief.debris[k]);
    }
    m->top_m = fmax(thickest, least_m);
    m->film_m = fmax(round_down(m->top_m / 100), 2 * m->job->params.epsilon);
    snprintf(m->film, sizeof m->film, "passed, <%.3g m", m->film_m);
    const struct grid_scale *const s = &m->job->scale;
    m->is_square =
        !grid_scale_is_sheared(s) && fabs(s->cell_x_m - s->cell_y_m) <= 1e-6 * s->cell_x_m;
    snprintf(m->cells, sizeof m->cells, "cells %.4g m x %.4g m", s->cell_x_m, s->cell_y_m);
    m->at = lay_out(m->relief.width, m->relief.height, legend_width(m));
    STATUS_TRY(png_image_new((size_t)m->at.all_width, (size_t)m->at.all_height, &m->image));
    draw_title(m);
    draw_cells(m);
    draw_start(m);
    draw_lengths(m);
    draw_north(m);
    draw_legend(m);
    const enum status st = png_image_encode(&m->image, out);
    png_image_release(&m->image);
    return st;
}

static enum status map_piece(void *context, uint64_t index, struct bytes *out)
{
    struct map m = {.job = context};
    (void)index; /* there is one */
    STATUS_TRY(sciddicat_relief_new(m.job, &m.relief));
    const enum status st = draw(&m, out);
    sciddicat_relief_free(&m.relief);
    return st;
}

enum status sciddicat_map(struct sciddicat_job *job, struct result *out)
{
    struct result_file *f;
    STATUS_TRY(result_add_file(out, "map.png", PACK_RAW, &f));
    return result_add_member(f, NULL, 1, map_piece, job, NULL);
}
