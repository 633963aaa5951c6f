/*
 * kmeans_plot - scatter.png and ks.png.
 *
 * A cluster has a colour and a marker, which together repeat after 32; its number stands in the
 * disc of its centroid. Points of one column lie along x, each cluster in a band of its own, spread
 * across it at random so that they do not hide one another.
 */
#include "stages/kmeans/kmeans_plot.h"

#include "formats/result/plot_axes.h"
#include "stages/kmeans/kmeans_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DOT = 2, /* pixels a dot of text */
    GLYPH = 7 * DOT,
    EDGE = 14, /* around everything */
    TITLE = GLYPH + EDGE,
    LEGEND_WIDTH = 216,
    LEGEND_ROW = GLYPH + 8,
    BELOW = 4 * GLYPH + EDGE, /* ticks, their labels, the name */
    NUMBERED = 40,            /* clusters, at most, of which centroids have their number */
    NAME_MOST = 40,           /* characters of a column's name */
    WHITE = 0xffffff
};

static const enum plot_marker markers[] = {PLOT_DISC, PLOT_SQUARE, PLOT_RING, PLOT_CROSS};
enum { MARKERS = sizeof markers / sizeof *markers };

static enum plot_marker marker_of(size_t cluster)
{
    return markers[cluster / PLOT_COLOURS % MARKERS];
}

static void name_of(const struct kmeans_job *job, size_t column, char out[NAME_MOST + 1])
{
    char room[KMEANS_COLUMN_BYTES];
    plot_name(kmeans_column(job, column, room), NAME_MOST, out);
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
    const struct kmeans_sample *const s = &job->samples[KMEANS_OF_SCATTER];
    const double *const cells = s->cells + i * s->n_columns;
    if (s->n_columns > 1) {
        return (struct place){cells[0], cells[1]};
    }
    const double spread = (double)(s->word[i] & 0xffff) / 0x10000 - 0.5;
    return (struct place){cells[0], job->scatter[i] + 0.7 * spread};
}

static struct place centroid_of(const struct kmeans_job *job, size_t cluster)
{
    const size_t d = job->layout.n_columns;
    const double *const cells = job->best.centroids + cluster * d;
    return (struct place){cells[0], d > 1 ? cells[1] : (double)cluster};
}

static void set_ranges(const struct kmeans_job *job, struct plot_axes *axes)
{
    axes->x = plot_range_of(job->min[0], job->max[0], 0.04);
    axes->y = job->layout.n_columns > 1 ? plot_range_of(job->min[1], job->max[1], 0.04)
                                        : (struct plot_range){-0.6, (double)job->best.k - 0.4};
}

static void draw_points(const struct kmeans_job *job, const struct plot_axes *axes)
{
    const struct kmeans_sample *const s = &job->samples[KMEANS_OF_SCATTER];
    const double size = s->n > 5000 ? 4 : s->n > 500 ? 6 : 8, opacity = s->n > 500 ? 0.6 : 0.8;
    for (size_t i = 0; i < s->n; i++) {
        const size_t cluster = (size_t)job->scatter[i];
        const struct place at = place_of(job, i);
        plot_mark(axes, at.x, at.y, marker_of(cluster), size, opacity, plot_colour(cluster));
    }
}

/* A white disc in a ring of the cluster's colour, with its number. */
static void draw_centroid(const struct plot_axes *axes, size_t cluster, bool numbered, double x,
                          double y)
{
    char number[24];
    const double size = numbered ? 20 : 9;
    plot_mark(axes, x, y, PLOT_DISC, size + 3, 1, WHITE);
    plot_mark(axes, x, y, PLOT_DISC, size, 1, plot_colour(cluster));
    plot_mark(axes, x, y, PLOT_DISC, size - 5, 1, WHITE);
    if (numbered) {
        snprintf(number, sizeof number, "%zu", cluster);
        png_image_text(axes->image, lround(plot_x(axes, x)) - png_image_text_width(1, number) / 2,
                       lround(plot_y(axes, y)) - 3, 1, PLOT_INK, number);
    }
}

static void draw_centroids(const struct kmeans_job *job, const struct plot_axes *axes)
{
    const size_t k = job->best.k;
    const bool numbered = k <= NUMBERED && job->layout.n_columns > 1; /* else the axis has them */
    for (size_t c = 0; c < k; c++) {
        if (job->count[c] > 0) {
            const struct place at = centroid_of(job, c);
            draw_centroid(axes, c, numbered, at.x, at.y);
        }
    }
}

/* A marker, the cluster's number and size for each that there is room for. */
static void draw_legend(const struct kmeans_job *job, const struct plot_axes *axes)
{
    const long left = axes->left + axes->width + EDGE;
    const size_t k = job->best.k, fit = (size_t)(axes->height / LEGEND_ROW) - 1;
    const size_t shown = k <= fit ? k : fit - 1;
    char text[64];
    png_image_text(axes->image, left, axes->top, DOT, PLOT_INK, "cluster: size");
    /* markers are drawn where the axes say: in those of the legend's own pixels */
    struct plot_axes legend = {.image = axes->image,
                               .left = left,
                               .top = axes->top,
                               .width = LEGEND_WIDTH,
                               .height = axes->height,
                               .dot = DOT,
                               .x = {0, LEGEND_WIDTH - 1},
                               .y = {0, (double)axes->height - 1}};
    for (size_t c = 0; c < shown; c++) {
        const long top = LEGEND_ROW * (long)(c + 1);
        const long middle = top + GLYPH / 2;
        plot_mark(&legend, 7, (double)(axes->height - 1 - middle), marker_of(c), 10, 1,
                  plot_colour(c));
        snprintf(text, sizeof text, "%zu: %llu", c, (unsigned long long)job->count[c]);
        png_image_text(axes->image, left + 22, axes->top + top, DOT, PLOT_INK, text);
    }
    if (shown < k) {
        snprintf(text, sizeof text, "and %zu more", k - shown);
        png_image_text(axes->image, left + 22, axes->top + LEGEND_ROW * (long)(shown + 1), DOT,
                       PLOT_INK, text);
    }
}

/* "150 points in 3 clusters", and how many of them are drawn. */
static void draw_title(const struct kmeans_job *job, const struct plot_axes *axes)
{
    const size_t shown = job->samples[KMEANS_OF_SCATTER].n, k = job->best.k;
    char title[128], some[48] = "";
    if (shown < job->n) {
        snprintf(some, sizeof some, "; %zu of them drawn", shown);
    }
    snprintf(title, sizeof title, "%zu point%s in %zu cluster%s%s", job->n, job->n == 1 ? "" : "s",
             k, k == 1 ? "" : "s", some);
    png_image_text(axes->image, axes->left, EDGE, DOT, PLOT_INK, title);
}

static void draw_scatter(const struct kmeans_job *job, struct plot_axes *axes)
{
    char x_name[NAME_MOST + 1], y_name[NAME_MOST + 1] = "cluster";
    struct plot_ticks x, y;
    plot_ticks_of(axes->x, 7, &x);
    name_of(job, 0, x_name);
    if (job->layout.n_columns > 1) {
        plot_ticks_of(axes->y, 8, &y);
        name_of(job, 1, y_name);
    } else {
        whole_ticks(axes->y, PLOT_TICKS, &y);
    }
    const long margin = plot_ticks_width(&y, DOT);
    axes->left = EDGE + margin;
    axes->width = KMEANS_PLOT_WIDTH - axes->left - EDGE - LEGEND_WIDTH;
    axes->top = TITLE + GLYPH + 2 * EDGE;
    axes->height = KMEANS_PLOT_HEIGHT - axes->top - BELOW;
    plot_axes_draw(axes, &x, &y, x_name, y_name);
    draw_points(job, axes);
    draw_centroids(job, axes);
    draw_legend(job, axes);
    draw_title(job, axes);
}

static enum status scatter_piece(void *context, uint64_t index, struct bytes *out)
{
    const struct kmeans_job *const job = context;
    struct png_image image;
    struct plot_axes axes = {.image = &image, .dot = DOT};
    (void)index; /* there is one */
    STATUS_TRY(png_image_new(KMEANS_PLOT_WIDTH, KMEANS_PLOT_HEIGHT, &image));
    set_ranges(job, &axes);
    draw_scatter(job, &axes);
    const enum status st = png_image_encode(&image, out);
    png_image_release(&image);
    return st;
}

static enum status add_picture(struct kmeans_job *job, const char *name, result_piece_fn *piece,
                               struct result *out)
{
    struct result_file *f;
    STATUS_TRY(result_add_file(out, name, PACK_RAW, &f));
    return result_add_member(f, NULL, 1, piece, job, NULL);
}

enum status kmeans_plot_scatter(struct kmeans_job *job, struct result *out)
{
    return add_picture(job, "scatter.png", scatter_piece, out);
}

/* --- inertia and silhouette by k -------------------------------------------------------------- */

enum { PANEL_HEIGHT = 170, KS_WIDTH = 640, KS_HEIGHT = 2 * (PANEL_HEIGHT + 3 * GLYPH + EDGE) + 96 };

/* One curve over k, the k that was taken marked on it. */
static enum status draw_curve(const struct kmeans_job *job, struct png_image *image, long top,
                              const char *name, bool is_silhouette)
{
    struct plot_ticks x_ticks, y_ticks;
    const size_t n = job->n_ks;
    double low = INFINITY, high = -INFINITY, *const x = malloc(2 * n * sizeof *x), *const y = x + n;
    if (x == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a plot");
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)job->ks[i].k;
        y[i] = is_silhouette ? job->ks[i].silhouette : job->ks[i].inertia;
        low = fmin(low, y[i]);
        high = fmax(high, y[i]);
    }
    struct plot_axes axes = {.image = image,
                             .left = 110,
                             .top = top,
                             .width = KS_WIDTH - 110 - 2 * EDGE,
                             .height = PANEL_HEIGHT,
                             .dot = DOT,
                             .x = {x[0] - 0.5, x[n - 1] + 0.5},
                             .y = plot_range_of(is_silhouette ? low : 0, high, 0.08)};
    const enum status st = plot_axes_open(&axes);
    if (st == STATUS_OK) {
        whole_ticks(axes.x, 12, &x_ticks);
        plot_ticks_of(axes.y, 5, &y_ticks);
        plot_axes_draw(&axes, &x_ticks, &y_ticks, is_silhouette ? "k" : "", name);
        plot_line(&axes, x, y, n, 2, plot_colour(0));
        for (size_t i = 0; i < n; i++) {
            if (job->ks[i].k == job->best.k) {
                plot_mark(&axes, x[i], y[i], PLOT_DISC, 12, 1, plot_colour(1));
            } else {
                plot_mark(&axes, x[i], y[i], PLOT_DISC, 6, 1, plot_colour(0));
            }
        }
    }
    plot_axes_close(&axes);
    free(x);
    return st;
}

static enum status ks_piece(void *context, uint64_t index, struct bytes *out)
{
    const struct kmeans_job *const job = context;
    struct png_image image;
    char title[64];
    (void)index; /* there is one */
    STATUS_TRY(png_image_new(KS_WIDTH, KS_HEIGHT, &image));
    snprintf(title, sizeof title, "numbers of clusters; %zu taken", job->best.k);
    png_image_text(&image, 110, EDGE, DOT, PLOT_INK, title);
    const int top = TITLE + GLYPH + 2 * EDGE, below = top + PANEL_HEIGHT + 3 * GLYPH + 2 * EDGE;
    enum status st = draw_curve(job, &image, top, "inertia", false);
    if (st == STATUS_OK) {
        st = draw_curve(job, &image, below, "silhouette", true);
    }
    if (st == STATUS_OK) {
        st = png_image_encode(&image, out);
    }
    png_image_release(&image);
    return st;
}

enum status kmeans_plot_ks(struct kmeans_job *job, struct result *out)
{
    return add_picture(job, "ks.png", ks_piece, out);
}
