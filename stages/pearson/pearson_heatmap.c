/*
 * pearson_heatmap - the picture of the matrix: what it is of, cells, names or numbers of series on
 * both axes, and a legend of the colours that are there.
 *
 * It is large enough to be printed whatever the number of series: cells are enlarged, or one stands
 * for the mean r of the pairs of several series.
 */

#include "formats/result/plot_axes.h"
#include "stages/pearson/pearson_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SIDE_MOST = 1200,   /* cells along a side */
    SIDE_PIXELS = 1080, /* pixels along a side, or somewhat more ... */
    SINGLE = 1000,      /* ... unless there are so many cells */
    CAPITAL = 11,       /* height of capital letters, of text ... */
    TITLE = 15,         /* ... and of the title */
    GAP = 14,
    TICK = 6,
    LEAST_LEFT = 90,
    NAME = 500,                    /* width of a series' name, at most ... */
    NAMES = NAME + TICK + 2 * GAP, /* ... and of the axis that has them */
    BAR = 26,                      /* width of the legend's bar */
    LEGEND = 130,                  /* of the legend */
    CELL_BYTES = 8,                /* of a cell: mean and colour ... */
    VECTOR_BYTES = 16,             /* ... and where cairo draws what it makes of it */
    PIXEL_BYTES = 2                /* of a pixel: rows and file of a PNG */
};

struct heatmap {
    const struct pearson_job *job;
    struct heatmap_grid grid;
    bool has_r, has_none; /* cells with a coefficient, without */
    uint32_t *colours;
    float cells[]; /* side * side */
};

struct heatmap_grid heatmap_grid_of(size_t n)
{
    const size_t series = (n + SIDE_MOST - 1) / SIDE_MOST, side = (n + series - 1) / series;
    const size_t cell = side >= SINGLE ? 1 : (SIDE_PIXELS + side - 1) / side;
    return (struct heatmap_grid){side, cell, series};
}

size_t heatmap_bytes(size_t n, enum figure_format format)
{
    const struct heatmap_grid g = heatmap_grid_of(n);
    const size_t around = n <= HEATMAP_NAMED ? NAMES : LEAST_LEFT;
    const size_t width = g.side * g.cell + around + LEGEND, height = width;
    const size_t each = format == FIGURE_PNG ? CELL_BYTES : CELL_BYTES + VECTOR_BYTES;
    return format == FIGURE_NONE ? 0 : g.side * g.side * each + width * height * PIXEL_BYTES;
}

/* The series at a place of the axes. */
static size_t series_at(const struct pearson_job *job, size_t place)
{
    return job->order != NULL ? job->order[place] : place;
}

/* --- the axes --------------------------------------------------------------------------------- */

static void name_at(const struct pearson_job *job, size_t place, char out[PLOT_NAME])
{
    const size_t s = series_at(job, place);
    const struct plot_named named = {job->names.at[s], "series", s};
    plot_named(&named, CAPITAL, NAME, out);
}

static bool is_named(const struct heatmap *map)
{
    return map->job->n_series <= HEATMAP_NAMED;
}

/* Room for names, or for numbers with the name of the axis. */
static long axis_room(const struct heatmap *map)
{
    double widest = LEAST_LEFT;
    char name[PLOT_NAME];
    for (size_t k = 0; is_named(map) && k < map->job->n_series; k++) {
        name_at(map->job, k, name);
        widest = fmax(widest, ceil(figure_text_width(CAPITAL, name)) + TICK + 2 * GAP);
    }
    return lround(widest);
}

static void draw_names(struct figure *f, const struct heatmap *map, double left, double top)
{
    const double cell = (double)map->grid.cell, side = (double)(map->grid.side * map->grid.cell);
    char name[PLOT_NAME];
    for (size_t k = 0; k < map->job->n_series; k++) {
        const double at = ((double)k + 0.5) * cell;
        name_at(map->job, k, name);
        const double width = figure_text_width(CAPITAL, name);
        figure_text(f, left - TICK - width, round(top + at - CAPITAL / 2.0), CAPITAL, COLOURS_INK,
                    name);
        figure_text_up(f, round(left + at - CAPITAL / 2.0), top + side + TICK + width, CAPITAL,
                       COLOURS_INK, name);
    }
}

static void draw_numbers(struct figure *f, const struct heatmap *map, double left, double top)
{
    const double n = (double)map->job->n_series;
    const double side = (double)(map->grid.side * map->grid.cell);
    const char *const axis = map->job->order != NULL ? "place" : "series";
    struct plot_ticks ticks;
    plot_ticks_of((struct plot_range){0, n - 1}, 12, &ticks);
    for (size_t k = 0; k < ticks.n; k++) {
        const double at = round((ticks.at[k] + 0.5) / n * side);
        const double width = figure_text_width(CAPITAL, ticks.label[k]);
        figure_fill(f, left - TICK, top + at, TICK, 1, COLOURS_INK);
        figure_fill(f, left + at, top + side, 1, TICK, COLOURS_INK);
        figure_text(f, round(left - TICK - 4 - width), round(top + at - CAPITAL / 2.0), CAPITAL,
                    COLOURS_INK, ticks.label[k]);
        figure_text(f, round(left + at - width / 2), top + side + TICK + 5, CAPITAL, COLOURS_INK,
                    ticks.label[k]);
    }
    const double width = figure_text_width(CAPITAL, axis);
    figure_text(f, round(left + side / 2 - width / 2), top + side + TICK + CAPITAL + GAP, CAPITAL,
                COLOURS_INK, axis);
    figure_text_up(f, GAP, round(top + side / 2 + width / 2), CAPITAL, COLOURS_INK, axis);
}

/* --- legend and title ------------------------------------------------------------------------- */

/* A bar of all colours, 1 at the top, and the colour of no coefficient below it. */
static void draw_legend(struct figure *f, const struct heatmap *map, double left, double top)
{
    static const char *const marks[] = {"1", "0.5", "0",
                                        "\xe2\x88\x92"
                                        "0.5",
                                        "\xe2\x88\x92"
                                        "1"};
    enum { HEIGHT = 448, MARKS = sizeof marks / sizeof *marks };
    if (map->has_r) {
        figure_text(f, left, top, CAPITAL, COLOURS_INK, "r");
        top += CAPITAL + GAP;
        for (int y = 0; y < HEIGHT; y++) {
            const double r = 1 - 2 * (double)y / (HEIGHT - 1);
            figure_fill(f, left, top + y, BAR, 1, colours_diverging(r));
        }
        for (int k = 0; k < MARKS; k++) {
            const double at = round(top + k * (HEIGHT - 1.0) / (MARKS - 1));
            figure_fill(f, left + BAR, at, TICK, 1, COLOURS_INK);
            figure_text(f, left + BAR + TICK + 4, round(at - CAPITAL / 2.0), CAPITAL, COLOURS_INK,
                        marks[k]);
        }
        top += HEIGHT + 2 * GAP;
    }
    if (map->has_none) {
        figure_fill(f, left, top, BAR, BAR, colours_diverging((double)NAN));
        figure_text(f, left + BAR + TICK + 4, top + (BAR - CAPITAL) / 2.0, CAPITAL, COLOURS_INK,
                    "no r");
    }
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* "greenhouse.clusters.csv: Pearson's r of 24 series, 240 samples each", and what else one should
 * know. */
static void draw_title(struct figure *f, const struct heatmap *map)
{
    static const char *const whats[] = {"sample", "increment", "log increment"};
    const struct pearson_job *const job = map->job;
    const enum pearson_diff diff = job->choice.diff;
    const char *const what = whats[diff == PEARSON_DIFF_NONE   ? 0
                                   : diff == PEARSON_DIFF_STEP ? 1
                                                               : 2];
    char title[128], note[192], cell[96] = "",
                                order[64] = "ordered by average linkage on 1 \xe2\x88\x92 |r|";
    const size_t n = job->n_samples - job->n_incomplete;
    snprintf(title, sizeof title, ": %s\xe2\x80\x99s r of %zu series, %zu %s%s",
             job->choice.ranks ? "Spearman" : "Pearson", job->n_series, n, what, plural(n));
    plot_title(f, GAP, TITLE, job->name, title);
    if (map->grid.series > 1) {
        snprintf(cell, sizeof cell, "a cell is the mean r of up to %zu \xc3\x97 %zu pairs",
                 map->grid.series, map->grid.series);
    }
    if (job->choice.by_groups) {
        snprintf(order, sizeof order, "ordered by groups in which %s is %g or more",
                 job->choice.groups_abs ? "|r|" : "r", job->choice.groups);
    }
    snprintf(note, sizeof note, "%s%s%s", cell, cell[0] != '\0' && job->order != NULL ? "; " : "",
             job->order != NULL ? order : "");
    figure_text(f, GAP, GAP + TITLE + GAP, CAPITAL, COLOURS_INK, note);
}

/* --- the picture ------------------------------------------------------------------------------ */

static void choose_colours(struct heatmap *map)
{
    for (size_t k = 0; k < map->grid.side * map->grid.side; k++) {
        const double r = (double)map->cells[k];
        map->has_none |= isnan(r);
        map->has_r |= !isnan(r);
        map->colours[k] = colours_diverging(r);
    }
}

static enum status draw(struct heatmap *map, struct bytes *out)
{
    const long side = (long)(map->grid.side * map->grid.cell), left = axis_room(map);
    const bool has_note = map->grid.series > 1 || map->job->order != NULL;
    const long top = GAP + TITLE + GAP + (has_note ? CAPITAL + GAP : 0);
    const long below = is_named(map) ? left : TICK + 2 * CAPITAL + 2 * GAP;
    struct figure *f;
    STATUS_TRY(figure_new(map->job->choice.figure, FIGURE_CELLS, (size_t)(left + side + LEGEND),
                          (size_t)(top + side + below), &f));
    choose_colours(map);
    draw_title(f, map);
    figure_cells(f, left, top, (long)map->grid.cell, (long)map->grid.cell, map->grid.side,
                 map->grid.side, map->colours);
    (is_named(map) ? draw_names : draw_numbers)(f, map, (double)left, (double)top);
    draw_legend(f, map, (double)(left + side) + 2 * GAP, (double)top);
    const enum status st = figure_write(f, out);
    figure_free(f);
    return st;
}

static enum status heatmap_piece(void *context, uint64_t index, struct bytes *out)
{
    struct heatmap *const map = context;
    const size_t n = map->grid.side * map->grid.side;
    (void)index; /* there is one */
    map->colours = malloc(n * sizeof *map->colours);
    const enum status st =
        map->colours != NULL
            ? draw(map, out)
            : status_fail(STATUS_NO_MEMORY, "no memory for a picture of %zu cells", n);
    free(map->colours);
    map->colours = NULL;
    return st;
}

/* A series without a single coefficient has none with itself. */
static enum status find_cells(struct heatmap *map)
{
    const struct pearson_job *const job = map->job;
    const size_t n = job->n_series, side = map->grid.side;
    uint32_t ones[SIDE_MOST] = {0};
    for (size_t place = 0; place < n; place++) {
        const size_t cell = ((place + 1) * side - 1) / n;
        ones[cell] += isnan(job->median_abs[series_at(job, place)]) ? 0 : 1;
    }
    const struct matrix_picture picture = {side, job->order, ones, map->cells};
    return job->ops->matrix->heatmap(job->queue, &job->matrix, &picture);
}

enum status pearson_heatmap(struct pearson_job *job, struct result *out)
{
    const struct heatmap_grid grid = heatmap_grid_of(job->n_series);
    struct result_file *file = NULL;
    char name[RESULT_NAME_BYTES];
    if (job->choice.figure == FIGURE_NONE || pearson_is_swept(job)) {
        return STATUS_OK;
    }
    figure_name(name, sizeof name, "heatmap", job->choice.figure);
    STATUS_TRY(result_add_file(out, name, PACK_RAW, &file));
    struct heatmap *map = malloc(sizeof *map + grid.side * grid.side * sizeof *map->cells);
    if (map == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a picture of %zu cells",
                           grid.side * grid.side);
    }
    *map = (struct heatmap){.job = job, .grid = grid};
    const enum status st = find_cells(map);
    if (st != STATUS_OK) {
        free(map);
        return st;
    }
    return result_add_member(file, NULL, 1, heatmap_piece, map, free);
}
