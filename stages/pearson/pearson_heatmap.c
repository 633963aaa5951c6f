/*
 * pearson_heatmap - the picture of the matrix: what it is of, cells, names or numbers of series on
 * both axes, the tree by which they are ordered, and a legend of the colours that are there.
 *
 * It is large enough to be printed whatever the number of series: cells are enlarged, or one stands
 * for the mean r of the pairs of several series.
 */

#include "formats/result/plot_axes.h"
#include "stages/pearson/pearson_job.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SIDE_MOST = 1200,   /* cells along a side */
    SIDE_PIXELS = 1080, /* pixels along a side, or somewhat more ... */
    SINGLE = 1000,      /* ... unless there are so many cells */
    CAPITAL = 11,       /* height of capital letters, of text ... */
    TITLE = 15,         /* ... and of the title */
    GAP = 14,
    TICK = 6,
    LEAST_LEFT = 90,
    SPACING = 17,                  /* from name to name, at least ... */
    NAMED_MOST = 600,              /* ... of so many series; of more their numbers are shown */
    VALUED_MOST = 12,              /* series at most of which a cell has its value */
    TREE_MOST = 200,               /* series at most beside which their tree stands */
    TREE = 90,                     /* its width */
    NAME = 500,                    /* width of a series' name, at most ... */
    NAMES = NAME + TICK + 2 * GAP, /* ... and of the axis that has them */
    BAR = 26,                      /* width of the legend's bar */
    LEGEND = 140,                  /* of the legend */
    NOTE = 320,                    /* bytes of the note below the title */
    CELL_BYTES = 8,                /* of a cell: mean and colour ... */
    VECTOR_BYTES = 16,             /* ... and where cairo draws what it makes of it */
    PIXEL_BYTES = 2                /* of a pixel: rows and file of a PNG */
};

struct heatmap {
    const struct pearson_job *job;
    struct heatmap_grid grid;
    bool has_none;      /* cells without a coefficient */
    double least, most; /* of the cells beside the diagonal; least > most: there is none */
    uint32_t *colours;  /* [side * side] */
    float *cells;       /* likewise */
};

struct heatmap_grid heatmap_grid_of(size_t n)
{
    const size_t series = (n + SIDE_MOST - 1) / SIDE_MOST, side = (n + series - 1) / series;
    const size_t cell = side >= SINGLE ? 1 : (SIDE_PIXELS + side - 1) / side;
    return (struct heatmap_grid){side, cell, series};
}

/* Every so many series has its name at the axes; 0: none has. */
static size_t named_every(size_t n)
{
    const size_t cell = heatmap_grid_of(n).cell;
    size_t every = 1;
    while (every * cell < SPACING) { /* 1, 2, 5, 10 .. */
        every = every * 2 % 10 == 4 ? every / 2 * 5 : every * 2;
    }
    return n <= NAMED_MOST ? every : 0;
}

size_t heatmap_bytes(size_t n, const struct figure_choice *figure)
{
    const struct heatmap_grid g = heatmap_grid_of(n);
    const size_t around = named_every(n) > 0 ? NAMES : LEAST_LEFT;
    const size_t width = g.side * g.cell + around + TREE + LEGEND, height = width;
    const size_t more = figure_bytes(figure);
    const bool by_cairo = figure->format != FIGURE_PNG || more > 0;
    const size_t each = CELL_BYTES + (by_cairo ? VECTOR_BYTES : 0);
    return figure->format == FIGURE_NONE
               ? 0
               : g.side * g.side * each + width * height * PIXEL_BYTES + more;
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

/* Room for names, or for numbers with the name of the axis. */
static long axis_room(const struct heatmap *map)
{
    const size_t n = map->job->n_series, every = named_every(n);
    double widest = LEAST_LEFT;
    char name[PLOT_NAME];
    for (size_t k = 0; every > 0 && k < n; k += every) {
        name_at(map->job, k, name);
        widest = fmax(widest, ceil(figure_text_width(CAPITAL, name)) + TICK + 2 * GAP);
    }
    return lround(widest);
}

static void draw_names(struct figure *f, const struct heatmap *map, double left, double top)
{
    const double cell = (double)map->grid.cell, side = (double)(map->grid.side * map->grid.cell);
    const size_t n = map->job->n_series, every = named_every(n);
    char name[PLOT_NAME];
    for (size_t k = 0; k < n; k += every) {
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

/* --- values and the tree ---------------------------------------------------------------------- */

static uint32_t colour_of(const struct heatmap *map, double r)
{
    return colours_diverging(map->job->choice.figure.colours, r);
}

static void number_text(double r, char out[PLOT_LABEL])
{
    plot_number(out, "%.2f", fabs(r) < 0.005 ? 0 : r);
}

/* Of few series the coefficients, in the cells below the diagonal. */
static void draw_values(struct figure *f, const struct heatmap *map, double left, double top)
{
    const size_t n = map->grid.side;
    const double cell = (double)map->grid.cell;
    for (size_t k = 0; n <= VALUED_MOST && k < n * n; k++) {
        const size_t row = k / n, column = k % n;
        const double r = (double)map->cells[k], x = ((double)column + 0.5) * cell,
                     y = ((double)row + 0.5) * cell;
        char text[PLOT_LABEL];
        if (!isnan(r) && column < row) {
            number_text(r, text);
            figure_text(f, round(left + x - figure_text_width(CAPITAL, text) / 2),
                        round(top + y - CAPITAL / 2.0), CAPITAL, colours_ink_on(colour_of(map, r)),
                        text);
        }
    }
}

static bool has_tree(const struct heatmap *map)
{
    const struct pearson_job *const job = map->job;
    return job->order != NULL && job->merges != NULL && job->n_series > 1 &&
           job->n_series <= TREE_MOST;
}

/* The tree of linkage to the right of the map: a cluster's upright line lies at the distance of its
 * two halves, by the scale below. */
static void draw_tree(struct figure *f, const struct heatmap *map, double left, double top)
{
    const struct pearson_job *const job = map->job;
    const size_t n = job->n_series;
    const double cell = (double)map->grid.cell, root = job->merges[n - 2].distance;
    const double scale = root > 0 ? TREE / root : 0;
    const double below = top + (double)n * cell + TICK;
    const char *const axis = "1 \xe2\x88\x92 |r|";
    double x[2 * TREE_MOST], y[2 * TREE_MOST]; /* of series and clusters */
    char end[PLOT_LABEL];
    number_text(root, end);
    figure_text(f, left, below, CAPITAL, COLOURS_INK, "0");
    figure_text(f, round(left + TREE - figure_text_width(CAPITAL, end)), below, CAPITAL,
                COLOURS_INK, end);
    figure_text(f, round(left + (TREE - figure_text_width(CAPITAL, axis)) / 2),
                below + CAPITAL + TICK, CAPITAL, COLOURS_INK, axis);
    for (size_t s = 0; s < n; s++) {
        x[s] = left;
        y[s] = round(top + ((double)job->place[s] + 0.5) * cell);
    }
    for (size_t k = 0; k + 1 < n; k++) {
        const struct linkage_merge *const m = &job->merges[k];
        const double at = round(left + m->distance * scale);
        x[n + k] = at;
        y[n + k] = round((y[m->a] + y[m->b]) / 2);
        figure_fill(f, at, y[m->a], 1, y[m->b] - y[m->a] + 1, COLOURS_INK);
        figure_fill(f, x[m->a], y[m->a], at - x[m->a], 1, COLOURS_INK);
        figure_fill(f, x[m->b], y[m->b], at - x[m->b], 1, COLOURS_INK);
    }
}

/* --- legend and title ------------------------------------------------------------------------- */

/* The cells' range below the bar. */
static void draw_range(struct figure *f, const struct heatmap *map, double left, double top)
{
    char least[PLOT_LABEL], most[PLOT_LABEL], text[2 * PLOT_LABEL + 8];
    if (map->least <= map->most) {
        number_text(map->least, least);
        number_text(map->most, most);
        snprintf(text, sizeof text, "%s to %s", least, most);
        figure_text(f, left, top, CAPITAL, COLOURS_INK, map->grid.series > 1 ? "cells:" : "pairs:");
        figure_text(f, left, top + CAPITAL + GAP / 2.0, CAPITAL, COLOURS_INK, text);
    }
}

/* A bar of all colours, from 1 at the top to -1, or to 0 where no cell is negative; what there is
 * of it; and the colour of no coefficient. */
static void draw_legend(struct figure *f, const struct heatmap *map, double left, double top)
{
    enum { HEIGHT = 448, MARKS = 5 };
    const int n_marks = map->least < 0 ? MARKS : MARKS / 2 + 1;
    const int step = map->grid.side <= VALUED_MOST ? 16 : 1; /* values in cells need colours, too */
    figure_text(f, left, top, CAPITAL, COLOURS_INK, "r");
    top += CAPITAL + GAP;
    for (int y = 0; y < HEIGHT; y += step) {
        const double r = 1 - (n_marks - 1) / 2.0 * (y + (step - 1) / 2.0) / (HEIGHT - 1);
        figure_fill(f, left, top + y, BAR, step, colour_of(map, r));
    }
    for (int k = 0; k < n_marks; k++) {
        const double at = round(top + k * (HEIGHT - 1.0) / (n_marks - 1));
        char mark[PLOT_LABEL];
        plot_number(mark, "%g", 1 - k / 2.0);
        figure_fill(f, left + BAR, at, TICK, 1, COLOURS_INK);
        figure_text(f, left + BAR + TICK + 4, round(at - CAPITAL / 2.0), CAPITAL, COLOURS_INK,
                    mark);
    }
    top += HEIGHT + GAP;
    draw_range(f, map, left, top);
    if (map->has_none) {
        top += 2 * CAPITAL + 2 * GAP;
        figure_fill(f, left, top, BAR, BAR, colour_of(map, (double)NAN));
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
    char title[128];
    const size_t n = job->n_samples - job->n_incomplete;
    snprintf(title, sizeof title, ": %s\xe2\x80\x99s r of %zu series, %zu %s%s%s",
             job->choice.ranks ? "Spearman" : "Pearson", job->n_series, n, what, plural(n),
             job->choice.lagged ? ", each pair at its best lag" : "");
    plot_title(f, GAP, TITLE, job->name, title);
}

static void add_note(char note[NOTE], const char *text)
{
    const size_t n = strlen(note);
    snprintf(note + n, NOTE - n, "%s%s", n > 0 ? "; " : "", text);
}

/* What else one should know, or "". */
static void note_of(const struct heatmap *map, char note[NOTE])
{
    const struct pearson_job *const job = map->job;
    const size_t every = named_every(job->n_series);
    char text[NOTE / 2];
    note[0] = '\0';
    if (map->grid.series > 1) {
        snprintf(text, sizeof text, "a cell is the mean r of up to %zu \xc3\x97 %zu pairs",
                 map->grid.series, map->grid.series);
        add_note(note, text);
    }
    if (job->order != NULL && job->choice.by_groups) {
        snprintf(text, sizeof text, "ordered by groups in which %s is %g or more",
                 job->choice.groups_abs ? "|r|" : "r", job->choice.groups);
        add_note(note, text);
    } else if (job->order != NULL) {
        snprintf(text, sizeof text, "ordered by average linkage on 1 \xe2\x88\x92 |r|%s",
                 job->choice.auto_order ? "; order=file keeps the file\xe2\x80\x99s order" : "");
        add_note(note, text);
    }
    if (job->choice.auto_order && job->n_series > PEARSON_ORDER_AUTO) {
        add_note(note, "order=cluster may show blocks");
    }
    if (every > 1) {
        snprintf(text, sizeof text, "every %zu%s series is named", every, every == 2 ? "nd" : "th");
        add_note(note, text);
    } else if (every == 0) {
        add_note(note, job->order != NULL ? "series by their place in series.csv.gz"
                                          : "series by their number in series.csv.gz");
    }
}

/* --- the picture ------------------------------------------------------------------------------ */

static void choose_colours(struct heatmap *map)
{
    const size_t side = map->grid.side;
    map->least = 2;
    map->most = -2;
    for (size_t k = 0; k < side * side; k++) {
        const double r = (double)map->cells[k];
        map->has_none |= isnan(r);
        map->colours[k] = colour_of(map, r);
        if (k % side != k / side) { /* fmin and fmax pass over NaN */
            map->least = fmin(map->least, r);
            map->most = fmax(map->most, r);
        }
    }
}

static enum status draw(struct heatmap *map, struct bytes *out)
{
    const long side = (long)(map->grid.side * map->grid.cell), left = axis_room(map);
    const bool are_named = named_every(map->job->n_series) > 0;
    const long right = left + side + (has_tree(map) ? TREE + GAP : 0);
    const long below = are_named ? left : TICK + 2 * CAPITAL + 2 * GAP;
    char note[NOTE];
    note_of(map, note);
    const long top = GAP + TITLE + GAP + (note[0] != '\0' ? CAPITAL + GAP : 0);
    struct figure *f;
    STATUS_TRY(figure_new(&map->job->choice.figure, FIGURE_CELLS, (size_t)(right + LEGEND),
                          (size_t)(top + side + below), &f));
    choose_colours(map);
    draw_title(f, map);
    figure_text(f, GAP, GAP + TITLE + GAP, CAPITAL, COLOURS_INK, note);
    figure_cells(f, left, top, (long)map->grid.cell, (long)map->grid.cell, map->grid.side,
                 map->grid.side, map->colours);
    (are_named ? draw_names : draw_numbers)(f, map, (double)left, (double)top);
    draw_values(f, map, (double)left, (double)top);
    if (has_tree(map)) {
        draw_tree(f, map, (double)(left + side) + 2, (double)top);
    }
    draw_legend(f, map, (double)right + 2 * GAP, (double)top);
    const enum status st = figure_write(f, out);
    figure_free(f);
    return st;
}

static enum status heatmap_piece(void *context, uint64_t index, struct bytes *out)
{
    (void)index; /* there is one */
    return draw(context, out);
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

enum status pearson_heatmap(struct pearson_job *job)
{
    const struct heatmap_grid grid = heatmap_grid_of(job->n_series);
    const size_t n = grid.side * grid.side;
    struct heatmap *map;
    if (job->choice.figure.format == FIGURE_NONE || pearson_is_swept(job)) {
        return STATUS_OK;
    }
    STATUS_TRY(room_host(job->kept, 1, sizeof *map, &map));
    *map = (struct heatmap){.job = job, .grid = grid};
    STATUS_TRY(room_host(job->kept, n, sizeof *map->cells, &map->cells));
    STATUS_TRY(room_host(job->kept, n, sizeof *map->colours, &map->colours));
    STATUS_TRY(find_cells(map));
    return io_picture(job->io, &job->choice.figure, "heatmap", heatmap_piece, map);
}
