/*
 * kmeans_plot - the points in their clusters, and how good each number of clusters is.
 *
 * A cluster has a colour and a marker of its own, as far as these go; of more clusters all have the
 * same marker, and colours repeat, which the legend says. Their numbers stand at the centroids,
 * unless there are too many to be read. Points of one column lie along x, each cluster in a band of
 * its own, spread across it at random so that they do not hide one another.
 */
#include "formats/result/plot_axes.h"
#include "stages/kmeans/kmeans_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    CAPITAL = 12, /* height of capital letters, of text ... */
    TITLE = 15,   /* ... and of the title */
    EDGE = 18,    /* around everything */
    LEGEND_WIDTH = 230,
    LEGEND_ROW = CAPITAL + 14,
    BELOW = 4 * CAPITAL + EDGE,            /* ticks, their labels, the name */
    LEGEND_MARK = 22,                      /* from a marker's left to its text */
    DISTINCT = COLOURS_SET * PLOT_MARKERS, /* clusters with a colour and a marker of their own */
    NUMBERED = 400 /* clusters, at most, of which centroids have their number */
};

static uint32_t colour_of(const struct kmeans_job *job, size_t cluster)
{
    return colours_of(job->choice.figure.colours, cluster);
}

static enum plot_marker marker_of(const struct kmeans_job *job, size_t cluster)
{
    return job->solve.best.k <= DISTINCT ? (enum plot_marker)(cluster / COLOURS_SET) : PLOT_DISC;
}

/* Which columns make most of a component. */
static void component_text(const struct kmeans_job *job, size_t axis, char out[PLOT_NAME])
{
    const size_t d = job->layout.n_columns;
    const double *const of = job->view.component + axis * d;
    char rooms[2][KMEANS_COLUMN_BYTES];
    size_t first = 0, second = 1;
    for (size_t c = 1; c < d; c++) {
        if (fabs(of[c]) > fabs(of[first])) {
            second = first;
            first = c;
        } else if (c > 1 && fabs(of[c]) > fabs(of[second])) {
            second = c;
        }
    }
    snprintf(out, PLOT_NAME, "component %zu: %.1f %% of the variance, most by %.180s and %.180s",
             axis + 1, 100 * job->view.share[axis], kmeans_column(job, first, rooms[0]),
             kmeans_column(job, second, rooms[1]));
}

/* As wide as the area at most. */
static void name_of(const struct kmeans_job *job, size_t axis, const struct plot_axes *axes,
                    char out[PLOT_NAME])
{
    const size_t column = job->layout.axes[axis];
    char room[KMEANS_COLUMN_BYTES];
    if (job->layout.has_components) {
        char text[PLOT_NAME];
        component_text(job, axis, text);
        (void)plot_name(text, CAPITAL, (double)axes->width, out);
        return;
    }
    const struct plot_named named = {kmeans_column(job, column, room), "column",
                                     table_column(job->args.inputs[0].table, column) + 1};
    plot_named(&named, CAPITAL, (double)axes->width, out);
}

/* Ticks at whole numbers of which few enough lie within the range. */
static void whole_ticks(struct plot_range range, size_t most, struct plot_ticks *out)
{
    long step = 1, power = 1;
    while ((range.high - range.low) / (double)step > (double)most) {
        power = step == 5 * power ? 10 * power : power;
        step = step == power ? 2 * power : step == 2 * power ? 5 * power : power;
    }
    *out = (struct plot_ticks){.n = 0};
    for (long at = (long)ceil(range.low / (double)step) * step;
         (double)at <= range.high && out->n < PLOT_TICKS; at += step) {
        out->at[out->n] = (double)at;
        snprintf(out->label[out->n++], PLOT_LABEL, "%ld", at);
    }
}

/* --- the scatter plot ------------------------------------------------------------------------- */

struct place {
    double x, y;
};

/* Where point i of the sample lies. */
static struct place place_of(const struct kmeans_job *job, size_t i)
{
    const struct kmeans_sample *const s = &job->shown;
    const double *const cells = s->cells + i * s->n_columns;
    if (job->layout.n_measured > 1) {
        return (struct place){kmeans_view_place(job, cells, 0), kmeans_view_place(job, cells, 1)};
    }
    const double spread = (double)(s->word[i] & 0xffff) / 0x10000 - 0.5;
    return (struct place){cells[job->layout.axes[0]], job->scatter[i] + 0.7 * spread};
}

static struct place centroid_of(const struct kmeans_job *job, size_t cluster)
{
    const size_t d = job->layout.n_columns;
    const double *const cells = job->solve.best.centroids + cluster * d;
    return (struct place){kmeans_view_place(job, cells, 0), job->layout.n_measured > 1
                                                                ? kmeans_view_place(job, cells, 1)
                                                                : (double)cluster};
}

/* Of columns all points, of components those that are drawn, and the centroids. */
static void set_ranges(const struct kmeans_job *job, struct plot_axes *axes)
{
    const size_t *const column = job->layout.axes;
    const double *const min = job->solve.min, *const max = job->solve.max;
    struct place low = {min[column[0]], min[column[1]]}, high = {max[column[0]], max[column[1]]};
    const size_t n = job->layout.has_components ? job->shown.n + job->solve.best.k : 0;
    for (size_t i = 0; i < n; i++) {
        const struct place at =
            i < job->shown.n ? place_of(job, i) : centroid_of(job, i - job->shown.n);
        low = (struct place){fmin(i > 0 ? low.x : at.x, at.x), fmin(i > 0 ? low.y : at.y, at.y)};
        high = (struct place){fmax(i > 0 ? high.x : at.x, at.x), fmax(i > 0 ? high.y : at.y, at.y)};
    }
    axes->x = plot_range_of(low.x, high.x, 0.04);
    axes->y = job->layout.n_measured > 1
                  ? plot_range_of(low.y, high.y, 0.04)
                  : (struct plot_range){-0.6, (double)job->solve.best.k - 0.4};
}

/* By which its weight makes a point's marker wider: by its root from half to three times. */
static double growth_of(const struct kmeans_job *job, size_t i)
{
    const struct kmeans_sample *const s = &job->shown;
    const size_t column = job->layout.weight;
    return job->layout.has_weight
               ? fmax(0.5, 3 * sqrt(s->cells[i * s->n_columns + column] / job->solve.max[column]))
               : 1;
}

static void draw_points(const struct kmeans_job *job, const struct plot_axes *axes)
{
    const struct kmeans_sample *const s = &job->shown;
    const double size = s->n > 5000 ? 5 : s->n > 500 ? 7 : 10, opacity = s->n > 500 ? 0.6 : 0.8;
    for (size_t i = 0; i < s->n; i++) {
        const size_t cluster = (size_t)job->scatter[i];
        const struct place at = place_of(job, i);
        plot_mark(axes, at.x, at.y, marker_of(job, cluster), size * growth_of(job, i), opacity,
                  colour_of(job, cluster));
    }
}

/* --- centroids -------------------------------------------------------------------------------- */

/* With one column the axis has the numbers. */
static bool is_numbered(const struct kmeans_job *job)
{
    return job->solve.best.k <= NUMBERED && job->layout.n_measured > 1;
}

/* A white disc in a ring of the cluster's colour, with its number, at a pixel. */
static void draw_centroid(const struct kmeans_job *job, struct figure *f, size_t cluster, double x,
                          double y)
{
    const bool numbered = is_numbered(job), few = job->solve.best.k <= DISTINCT;
    const double number_size = few ? 9 : 7, ring = few ? 2.5 : 1.5;
    const double size = !numbered ? 11 : few ? 26 : 21;
    char number[24];
    plot_mark_at(f, x, y, PLOT_DISC, size + 3, 1, COLOURS_PAPER);
    plot_mark_at(f, x, y, PLOT_DISC, size, 1, colour_of(job, cluster));
    plot_mark_at(f, x, y, PLOT_DISC, size - 2 * ring, 1, COLOURS_PAPER);
    if (numbered) {
        snprintf(number, sizeof number, "%zu", cluster);
        figure_text(f, x - figure_text_width(number_size, number) / 2, y - number_size / 2,
                    number_size, COLOURS_INK, number);
    }
}

static void draw_centroids(const struct kmeans_job *job, const struct plot_axes *axes)
{
    for (size_t c = 0; c < job->solve.best.k; c++) {
        if (job->solve.count[c] > 0) {
            const struct place at = centroid_of(job, c);
            draw_centroid(job, axes->figure, c, plot_x(axes, at.x), plot_y(axes, at.y));
        }
    }
}

/* --- legend and title ------------------------------------------------------------------------- */

/* Entries, column by column, below a heading: clusters with their sizes, or, where colours repeat,
 * colours. The centroid's comes below them. */
struct legend {
    size_t n, rows, columns; /* of entries */
    long row, column;        /* pixels */
};

static void entry_of(const struct kmeans_job *job, size_t k, char out[64])
{
    if (job->solve.best.k <= DISTINCT) {
        snprintf(out, 64, "%zu: %llu", k, (unsigned long long)job->solve.count[k]);
    } else {
        snprintf(out, 64, "%zu, %zu, %zu, \xe2\x80\xa6", k, k + COLOURS_SET,
                 k + (size_t)2 * COLOURS_SET);
    }
}

static struct legend legend_of(const struct kmeans_job *job, const struct plot_axes *axes)
{
    enum { AROUND = 3 }; /* rows: the heading, a gap, the centroid */
    const size_t fit = (size_t)(axes->height / LEGEND_ROW) - AROUND;
    struct legend l = {.n = job->solve.best.k <= DISTINCT ? job->solve.best.k : COLOURS_SET};
    double widest = 0;
    l.columns = l.n <= fit ? 1 : 2;
    l.rows = (l.n + l.columns - 1) / l.columns;
    l.row = l.rows <= fit ? LEGEND_ROW : axes->height / (long)(l.rows + AROUND);
    for (size_t k = 0; k < l.n; k++) {
        char text[64];
        entry_of(job, k, text);
        widest = fmax(widest, figure_text_width(CAPITAL, text));
    }
    l.column = LEGEND_MARK + lround(ceil(widest)) + EDGE;
    return l;
}

static void draw_legend(const struct kmeans_job *job, const struct plot_axes *axes,
                        const struct legend *l)
{
    const double left = (double)(axes->left + axes->width + EDGE), top = (double)axes->top;
    struct figure *const f = axes->figure;
    figure_text(f, left, top, CAPITAL, COLOURS_INK,
                job->solve.best.k <= DISTINCT ? "cluster: size" : "colour: clusters");
    for (size_t k = 0; k < l->n; k++) {
        const double x = left + (double)(l->column * (long)(k / l->rows));
        const double y = top + (double)(l->row * (long)(k % l->rows + 1));
        char text[64];
        entry_of(job, k, text);
        plot_mark_at(f, x + 7, y + CAPITAL / 2.0, marker_of(job, k), 12, 1, colour_of(job, k));
        figure_text(f, x + LEGEND_MARK, y, CAPITAL, COLOURS_INK, text);
    }
    const double y = top + (double)(l->row * (long)(l->rows + 1)) + LEGEND_ROW;
    draw_centroid(job, f, 0, left + 13, y + CAPITAL / 2.0);
    figure_text(f, left + LEGEND_MARK + 10, y, CAPITAL, COLOURS_INK,
                is_numbered(job) ? "centroid of cluster 0" : "centroid");
}

/* "iris.points.csv: 150 points in 3 clusters", how many of them are drawn, and what their areas
 * are. */
static void draw_title(const struct kmeans_job *job, const struct plot_axes *axes)
{
    const size_t shown = job->shown.n, k = job->solve.best.k;
    char title[160], some[48] = "";
    if (shown < job->n) {
        snprintf(some, sizeof some, "; %zu of them drawn", shown);
    }
    snprintf(title, sizeof title, ": %zu point%s in %zu cluster%s%s%s", job->n,
             job->n == 1 ? "" : "s", k, k == 1 ? "" : "s", some,
             job->layout.has_weight ? "; areas: weights" : "");
    plot_title(axes->figure, EDGE, TITLE, job->args.inputs[0].name, title);
}

static void draw_scatter(const struct kmeans_job *job, struct plot_axes *axes)
{
    char x_name[PLOT_NAME], y_name[PLOT_NAME] = "cluster";
    struct plot_ticks x, y;
    plot_ticks_of(axes->x, 7, &x);
    if (job->layout.n_measured > 1) {
        plot_ticks_of(axes->y, 8, &y);
    } else {
        whole_ticks(axes->y, PLOT_TICKS, &y);
    }
    axes->left = EDGE + plot_ticks_width(&y, CAPITAL);
    axes->top = TITLE + CAPITAL + 3 * EDGE;
    axes->height = KMEANS_PLOT_HEIGHT - axes->top - BELOW;
    const struct legend legend = legend_of(job, axes);
    const long wide = legend.column * (long)legend.columns;
    axes->width =
        KMEANS_PLOT_WIDTH - axes->left - EDGE - (wide > LEGEND_WIDTH ? wide : LEGEND_WIDTH);
    name_of(job, 0, axes, x_name);
    if (job->layout.n_measured > 1) {
        name_of(job, 1, axes, y_name);
    }
    plot_axes_draw(axes, &x, &y, x_name, y_name);
    draw_points(job, axes);
    draw_centroids(job, axes);
    draw_legend(job, axes, &legend);
    draw_title(job, axes);
}

static enum status scatter_piece(void *context, uint64_t index, struct bytes *out)
{
    const struct kmeans_job *const job = context;
    struct plot_axes axes = {.capital = CAPITAL};
    (void)index; /* there is one */
    STATUS_TRY(figure_new(&job->choice.figure, FIGURE_LINES, KMEANS_PLOT_WIDTH, KMEANS_PLOT_HEIGHT,
                          &axes.figure));
    set_ranges(job, &axes);
    draw_scatter(job, &axes);
    const enum status st = figure_write(axes.figure, out);
    figure_free(axes.figure);
    return st;
}

enum status kmeans_plot_scatter(struct kmeans_job *job)
{
    return io_picture(job->io, &job->choice.figure, "scatter", scatter_piece, job);
}

/* --- inertia and silhouette by k -------------------------------------------------------------- */

enum {
    PANEL_HEIGHT = 320,
    PANEL_LEFT = 120,
    PANEL_TOP = TITLE + CAPITAL + 3 * EDGE,
    PANEL_EVERY = PANEL_HEIGHT + 3 * CAPITAL + 3 * EDGE,
    KS_WIDTH = 1200,
    KS_HEIGHT = PANEL_TOP + 2 * PANEL_EVERY
};

/* One curve over k, the k that was taken marked on it. */
static enum status draw_curve(const struct kmeans_job *job, struct figure *figure, long top,
                              const char *name, bool is_silhouette)
{
    struct plot_ticks x_ticks, y_ticks;
    const size_t n = job->solve.n_ks;
    double low = INFINITY, high = -INFINITY, *const x = malloc(2 * n * sizeof *x), *const y = x + n;
    if (x == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a plot");
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)job->solve.ks[i].k;
        y[i] = is_silhouette ? job->solve.ks[i].silhouette : job->solve.ks[i].inertia;
        low = fmin(low, y[i]);
        high = fmax(high, y[i]);
    }
    struct plot_axes axes = {.figure = figure,
                             .left = PANEL_LEFT,
                             .top = top,
                             .width = KS_WIDTH - PANEL_LEFT - 2 * EDGE,
                             .height = PANEL_HEIGHT,
                             .capital = CAPITAL,
                             .x = {x[0] - 0.5, x[n - 1] + 0.5},
                             .y = plot_range_of(is_silhouette ? low : 0, high, 0.08)};
    axes.y.low = is_silhouette || high <= 0 ? axes.y.low : 0;
    whole_ticks(axes.x, PLOT_TICKS, &x_ticks);
    plot_ticks_of(axes.y, 6, &y_ticks);
    plot_axes_draw(&axes, &x_ticks, &y_ticks, is_silhouette ? "k" : "", name);
    plot_line(&axes, x, y, n, 2.5, colour_of(job, 0));
    for (size_t i = 0; i < n; i++) {
        const bool is_best = job->solve.ks[i].k == job->solve.best.k;
        plot_mark(&axes, x[i], y[i], PLOT_DISC, is_best ? 16 : 9, 1,
                  colour_of(job, is_best ? 1 : 0));
    }
    free(x);
    return STATUS_OK;
}

static enum status ks_piece(void *context, uint64_t index, struct bytes *out)
{
    const struct kmeans_job *const job = context;
    struct figure *figure;
    char title[96];
    (void)index; /* there is one */
    STATUS_TRY(figure_new(&job->choice.figure, FIGURE_LINES, KS_WIDTH, KS_HEIGHT, &figure));
    snprintf(title, sizeof title, ": %zu number%s of clusters; %zu taken", job->solve.n_ks,
             job->solve.n_ks == 1 ? "" : "s", job->solve.best.k);
    plot_title(figure, EDGE, TITLE, job->args.inputs[0].name, title);
    enum status st = draw_curve(job, figure, PANEL_TOP, "inertia", false);
    if (st == STATUS_OK) {
        st = draw_curve(job, figure, PANEL_TOP + PANEL_EVERY, "silhouette", true);
    }
    if (st == STATUS_OK) {
        st = figure_write(figure, out);
    }
    figure_free(figure);
    return st;
}

enum status kmeans_plot_ks(struct kmeans_job *job)
{
    return io_picture(job->io, &job->choice.figure, "ks", ks_piece, job);
}
