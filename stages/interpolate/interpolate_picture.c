/*
 * interpolate_picture - the curves over the range of the queries, with the nodes marked,
 * and what is extrapolated on grey ground.
 *
 * The curves are evaluated once more for it, at some places in each column of pixels, so the
 * picture is the same for ten queries and for a billion, in any order. A polynomial that swings far
 * beyond its nodes would make a flat line of all the rest: then y is cut, and the picture says so.
 */
#include "formats/result/plot_axes.h"
#include "stages/interpolate/interpolate_job.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum {
    AREA_WIDTH = 1060,
    AREA_HEIGHT = 640,
    PLACES = 8 * AREA_WIDTH + 1, /* at which the curves are evaluated */
    CAPITAL = 12,                /* height of capital letters, of text ... */
    TITLE = 15,                  /* ... and of the title */
    GAP = 18,
    TOP = 2 * GAP + TITLE,
    ABOVE = CAPITAL + 12,    /* of the area: the note */
    BELOW = 3 * CAPITAL + 8, /* labels of ticks, name of the axis */
    SHOWN = COLOURS_SET,     /* curves at most */
    NAME = 420,              /* width of the name of one, at most */
    SAMPLE = 40,             /* length of a line in the legend */
    ENTRY = CAPITAL + 16,    /* its height */
    BEYOND = 0xeff0f2,       /* colour of the ground where the curve is extrapolated */
    PIXEL_BYTES = 5,         /* pixels, what is written */
    MARKED = 4000,           /* nodes at most, of a curve */
    HOUR = 3600
};

/* Beyond the nodes' values by so many times their range, a curve is cut to once that. */
static const double swing = 3;

struct picture {
    const struct interpolate_job *job;
    size_t n_shown;
    struct plot_axes axes;
    struct plot_ticks ticks_x, ticks_y;
    char axis[128];      /* its name */
    double *x, *y;       /* [PLACES], [PLACES][n_shown]; x as on the axis */
    double *line;        /* [PLACES]: y of one curve */
    double low, high;    /* what of x the curves are drawn over ... */
    double origin, unit; /* ... less this, in units of that, so that dates have plain ticks */
    bool is_cut, is_extrapolated;
    double lowest, highest; /* of the curves */
};

static size_t shown_of(size_t n_curves)
{
    return n_curves < SHOWN ? n_curves : SHOWN;
}

struct interpolate_picture_bytes interpolate_picture_bytes(const struct interpolate_choice *choice)
{
    const size_t picture = (size_t)(AREA_WIDTH + 640) * (AREA_HEIGHT + 180) * PIXEL_BYTES;
    const size_t x = PLACES * sizeof(double), y = x * shown_of(choice->n_curves), slack = 768;
    return (struct interpolate_picture_bytes){
        .host = picture + figure_bytes(&choice->figure) + 3 * x + y,
        .backend = x + y + sizeof(struct interpolate_counts) + slack};
}

/* --- what is shown ---------------------------------------------------------------------------- */

/* x on the axis. */
static double shown(const struct picture *p, double x)
{
    return (x - p->origin) / p->unit;
}

/* The axis of dates is in days, hours, minutes or seconds from the first of them on. */
static const char *choose_unit(struct picture *p)
{
    const double length = p->high - p->low;
    static const struct {
        double seconds;
        const char *name;
    } units[] = {{86400, "days"}, {HOUR, "hours"}, {60, "minutes"}, {1, "seconds"}};
    size_t k = 0;
    while (k < 3 && length <= 3 * units[k].seconds) {
        k++;
    }
    p->unit = p->job->choice.are_dates ? units[k].seconds : 1;
    p->origin = p->job->choice.are_dates ? p->low : 0;
    return units[k].name;
}

/* Up to three days have ticks at parts of a day. */
static void choose_ticks(struct picture *p)
{
    const double length = p->axes.x.high - p->axes.x.low;
    const int step = length > 36 ? 12 : length > 12 ? 3 : 1;
    struct plot_ticks *const t = &p->ticks_x;
    plot_ticks_of(p->axes.x, 10, t);
    if (p->unit != HOUR) {
        return;
    }
    t->n = 0;
    for (int at = 0; at <= p->axes.x.high && t->n < PLOT_TICKS; at += step) {
        t->at[t->n] = at;
        snprintf(t->label[t->n++], PLOT_LABEL, "%d", at);
    }
}

/* The queries; the nodes where there are not two. */
static void choose_x(struct picture *p)
{
    const struct interpolate_job *const job = p->job;
    const bool are_queries = job->low < job->high;
    const double first = job->x[0], last = job->x[job->n - 1];
    p->low = are_queries ? job->low : first;
    p->high = are_queries ? job->high : last;
    const char *const unit = choose_unit(p);
    char from[INTERPOLATE_X_BYTES];
    snprintf(p->axis, sizeof p->axis, job->choice.are_dates ? "%s from %s on" : "x", unit,
             interpolate_x(job, p->low, from));
    p->axes.x = plot_range_of(shown(p, p->low), shown(p, p->high), 0.02);
    p->is_extrapolated = p->low < first || p->high > last;
}

/* The curves at PLACES numbers over the range. */
static enum status evaluate(struct interpolate_job *job, struct picture *p)
{
    const struct numbers line = {.first = p->low, .last = p->high, .n = PLACES};
    numbers_fill(&line, 0, PLACES, p->x);
    STATUS_TRY(interpolate_values_at(job, p->n_shown, p->x, PLACES, p->y));
    for (size_t i = 0; i < PLACES; i++) {
        p->x[i] = shown(p, p->x[i]);
    }
    return STATUS_OK;
}

/* The least and greatest of the nodes that are shown, and how many those are. */
static size_t range_of_nodes(const struct picture *p, double *low, double *high)
{
    const struct interpolate_job *const job = p->job;
    size_t n = 0;
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < job->n; i++) {
        const double x = shown(p, job->x[i]);
        if (x < p->axes.x.low || x > p->axes.x.high) {
            continue;
        }
        n++;
        for (size_t c = 0; c < p->n_shown; c++) {
            const double y = job->y[c * job->n + i];
            *low = fmin(*low, y);
            *high = fmax(*high, y);
        }
    }
    return n;
}

static void choose_y(struct picture *p)
{
    double low, high;
    p->lowest = INFINITY;
    p->highest = -INFINITY;
    for (size_t i = 0; i < PLACES; i++) {
        for (size_t c = 0; c < p->n_shown; c++) {
            p->lowest = fmin(p->lowest, p->y[i * p->n_shown + c]); /* passes over NaN */
            p->highest = fmax(p->highest, p->y[i * p->n_shown + c]);
        }
    }
    const size_t n = range_of_nodes(p, &low, &high);
    const double length = high > low ? high - low : fmax(fabs(high) / 4, DBL_MIN);
    p->is_cut = n > 1 && (p->highest > high + swing * length || p->lowest < low - swing * length);
    if (p->is_cut) {
        p->axes.y =
            plot_range_of(fmax(p->lowest, low - length), fmin(p->highest, high + length), 0.05);
    } else {
        p->axes.y = plot_range_of(fmin(p->lowest, low), fmax(p->highest, high), 0.05);
    }
}

/* --- drawing ---------------------------------------------------------------------------------- */

static void name_of(const struct picture *p, size_t curve, char out[PLOT_NAME])
{
    char room[INTERPOLATE_NAME_BYTES];
    const struct plot_named named = {interpolate_name(p->job, curve, room), "curve", curve + 1};
    plot_named(&named, CAPITAL, NAME, out);
}

static uint32_t colour_of(const struct picture *p, size_t curve)
{
    return colours_of(p->job->choice.figure.colours, curve);
}

static long legend_width(const struct picture *p)
{
    double widest = figure_text_width(CAPITAL, p->is_extrapolated ? "extrapolated" : "nodes");
    for (size_t c = 0; c < p->n_shown; c++) {
        char name[PLOT_NAME];
        name_of(p, c, name);
        widest = fmax(widest, figure_text_width(CAPITAL, name));
    }
    return SAMPLE + GAP / 2 + lround(ceil(widest));
}

static double mark_size(const struct picture *p)
{
    return p->job->n <= 40 ? 10 : p->job->n <= 80 ? 8 : p->job->n <= 300 ? 6 : 4;
}

static void put_text(struct figure *f, long x, long y, const char *text)
{
    figure_text(f, (double)x, (double)y, CAPITAL, COLOURS_INK, text);
}

static void draw_legend(struct picture *p, struct figure *f)
{
    const long left = p->axes.left + p->axes.width + GAP;
    long y = p->axes.top;
    for (size_t c = 0; c < p->n_shown; c++, y += ENTRY) {
        char name[PLOT_NAME];
        name_of(p, c, name);
        figure_fill(f, (double)left, (double)y + CAPITAL / 2.0 - 1, SAMPLE, 3, colour_of(p, c));
        put_text(f, left + SAMPLE + GAP / 2, y, name);
    }
    const long middle = left + SAMPLE / 2, height = y + CAPITAL / 2;
    plot_mark_at(f, (double)middle, (double)height, PLOT_DISC, mark_size(p), 1,
                 p->n_shown == 1 ? colour_of(p, 0) : COLOURS_INK);
    put_text(f, left + SAMPLE + GAP / 2, y, "nodes");
    y += ENTRY;
    if (p->is_extrapolated) {
        figure_fill(f, (double)left, (double)y, SAMPLE, CAPITAL, BEYOND);
        figure_fill(f, (double)left, (double)y + CAPITAL / 2.0 - 1, SAMPLE, 3,
                    colours_mix(BEYOND, colour_of(p, 0), 0.5));
        put_text(f, left + SAMPLE + GAP / 2, y, "extrapolated");
    }
}

/* The places of a curve from `from` on that lie where `inside` says; *end is the next one. */
static size_t stretch(const struct picture *p, size_t from, bool *inside)
{
    const double first = shown(p, p->job->x[0]), last = shown(p, p->job->x[p->job->n - 1]);
    *inside = p->x[from] >= first && p->x[from] <= last;
    size_t end = from;
    while (end < PLACES && (p->x[end] >= first && p->x[end] <= last) == *inside) {
        end++;
    }
    return end;
}

static void draw_curve(struct picture *p, size_t c)
{
    const uint32_t colour = colour_of(p, c), beyond = colours_mix(BEYOND, colour, 0.5);
    for (size_t i = 0; i < PLACES; i++) {
        p->line[i] = p->y[i * p->n_shown + c];
    }
    bool inside;
    for (size_t from = 0, end; from < PLACES; from = end) {
        end = stretch(p, from, &inside);
        const size_t joint = from > 0 ? from - 1 : from; /* no gap before it */
        plot_line(&p->axes, p->x + joint, p->line + joint, end - joint, inside ? 2.5 : 2,
                  inside ? colour : beyond);
    }
}

static void draw_nodes(const struct picture *p, size_t c)
{
    const struct interpolate_job *const job = p->job;
    const size_t every = (job->n + MARKED - 1) / MARKED;
    for (size_t i = 0; i < job->n; i += every) {
        const double x = shown(p, job->x[i]), y = job->y[c * job->n + i];
        plot_mark(&p->axes, x, y, PLOT_DISC, mark_size(p) * 1.3, 1, 0xffffff);
        plot_mark(&p->axes, x, y, PLOT_DISC, mark_size(p), 1, colour_of(p, c));
    }
}

static void draw_title(const struct picture *p, struct figure *f)
{
    const struct interpolate_job *const job = p->job;
    char title[192], some[64] = "", kind[INTERPOLATE_KIND_BYTES];
    if (p->n_shown < job->choice.n_curves) {
        snprintf(some, sizeof some, "; the first %zu of %zu curves", p->n_shown,
                 job->choice.n_curves);
    }
    snprintf(title, sizeof title, ": %zu node%s, %s%s", job->n, job->n > 1 ? "s" : "",
             interpolate_kind(job, kind), some);
    plot_title(f, GAP, TITLE, job->args.inputs[INTERPOLATE_NODES].name, title);
    if (p->is_cut) {
        char note[128], lowest[PLOT_LABEL], highest[PLOT_LABEL];
        plot_number(lowest, "%.2g", p->lowest);
        plot_number(highest, "%.2g", p->highest);
        snprintf(note, sizeof note, "y is cut: the curve%s go%s from %s to %s",
                 p->n_shown > 1 ? "s" : "", p->n_shown > 1 ? "" : "es", lowest, highest);
        figure_text(f, (double)p->axes.left, TOP, CAPITAL, 0xb03a00, note);
    }
}

static void draw(struct picture *p, struct figure *f)
{
    const double first = p->job->x[0], last = p->job->x[p->job->n - 1];
    draw_title(p, f);
    if (p->low < first) {
        plot_band(&p->axes, p->axes.x.low, shown(p, first), BEYOND);
    }
    if (p->high > last) {
        plot_band(&p->axes, shown(p, last), p->axes.x.high, BEYOND);
    }
    plot_axes_draw(&p->axes, &p->ticks_x, &p->ticks_y, p->axis, "");
    for (size_t c = p->n_shown; c-- > 0;) {
        draw_curve(p, c);
    }
    for (size_t c = p->n_shown; c-- > 0;) {
        draw_nodes(p, c);
    }
    draw_legend(p, f);
}

static enum status picture_piece(void *context, uint64_t index, struct bytes *out)
{
    struct picture *const p = context;
    struct figure *f;
    (void)index; /* there is one */
    choose_ticks(p);
    plot_ticks_of(p->axes.y, 8, &p->ticks_y);
    p->axes.left = GAP + plot_ticks_width(&p->ticks_y, CAPITAL);
    p->axes.top = TOP + (p->is_cut ? ABOVE : 0);
    const long width = p->axes.left + p->axes.width + 2L * GAP + legend_width(p);
    const long height = p->axes.top + p->axes.height + BELOW + GAP;
    STATUS_TRY(figure_new(&p->job->choice.figure, FIGURE_LINES, (size_t)width, (size_t)height, &f));
    p->axes.figure = f;
    draw(p, f);
    const enum status st = figure_write(f, out);
    figure_free(f);
    return st;
}

/* --- the file --------------------------------------------------------------------------------- */

enum status interpolate_picture(struct interpolate_job *job)
{
    struct room *const room = &job->io->room;
    struct picture *p;
    if (job->choice.figure.format == FIGURE_NONE) {
        return STATUS_OK;
    }
    STATUS_TRY(room_host(room, 1, sizeof *p, &p));
    *p = (struct picture){.job = job,
                          .n_shown = shown_of(job->choice.n_curves),
                          .axes = {.width = AREA_WIDTH, .height = AREA_HEIGHT, .capital = CAPITAL}};
    STATUS_TRY(room_host(room, PLACES, sizeof *p->x, &p->x));
    STATUS_TRY(room_host(room, PLACES, sizeof *p->line, &p->line));
    STATUS_TRY(room_host(room, PLACES, p->n_shown * sizeof *p->y, &p->y));
    choose_x(p);
    STATUS_TRY(evaluate(job, p));
    choose_y(p);
    return io_picture(job->io, &job->choice.figure, "curve", picture_piece, p);
}
