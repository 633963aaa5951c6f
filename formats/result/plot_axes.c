/*
 * plot_axes - a plot in a picture: axes with ticks, lines, markers.
 */
#include "formats/result/plot_axes.h"

#include "formats/base/utf8.h"
#include "formats/result/letters.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TICK = 6,   /* length of a tick's mark, in pixels */
    BESIDE = 5, /* from a tick to its label */
    GRID = 0xe4e6e9,
    FRAME = 0x70757a
};

static const double greatest = 1e300;      /* of what an axis shows */
static const double least_share = 1e-12;   /* of the larger end: length of a range at least */
static const double least_length = 1e-290; /* and in all */

/* --- ranges and ticks ------------------------------------------------------------------------- */

static double within_greatest(double x)
{
    return fmax(fmin(x, greatest), -greatest);
}

struct plot_range plot_range_of(double low, double high, double margin)
{
    if (!isfinite(low) || !isfinite(high)) {
        return (struct plot_range){0, 1};
    }
    const double a = within_greatest(fmin(low, high)), b = within_greatest(fmax(low, high));
    const double size = fmax(fabs(a), fabs(b));
    if (!(b - a >= fmax(size * least_share, least_length))) { /* as good as one number */
        const double half = size > least_length ? size / 16 : 1;
        return (struct plot_range){a - half, b + half};
    }
    const double wider = (b - a) * margin;
    return (struct plot_range){a - wider, b + wider};
}

/* The smallest of 1, 2, 5 times a power of ten that is not below x > 0. */
static double round_step(double x)
{
    static const double digits[] = {1, 2, 5};
    const double power = pow(10, floor(log10(x)));
    for (size_t k = 0; k < sizeof digits / sizeof *digits; k++) {
        if (digits[k] * power >= x * (1 - 1e-9)) {
            return digits[k] * power;
        }
    }
    return 10 * power;
}

void plot_number(char out[PLOT_LABEL], const char *format, ...)
{
    char text[PLOT_LABEL];
    va_list list;
    size_t n = 0;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    for (const char *at = text; *at != '\0' && n + 4 < PLOT_LABEL; at++) {
        if (*at == '-') {
            memcpy(out + n, "\xe2\x88\x92", 3);
            n += 3;
        } else {
            out[n++] = *at;
        }
    }
    out[n] = '\0';
}

/* A number to the digits that tell it from the next one `step` away. */
static void set_label(char label[PLOT_LABEL], double value, double step, double size)
{
    const int step_power = (int)floor(log10(step) + 1e-9);
    const int size_power = size > 0 ? (int)floor(log10(size) + 1e-9) : 0;
    if (value == 0 || (size_power < 6 && step_power >= -5)) {
        const bool is_far = size_power >= 6 || step_power < -5; /* 0 among powers */
        plot_number(label, "%.*f", step_power < 0 && !is_far ? -step_power : 0, value);
    } else {
        const int own_power = (int)floor(log10(fabs(value)) + 1e-9);
        const int digits = own_power > step_power ? own_power - step_power : 0;
        char text[64];
        snprintf(text, sizeof text, "%.*e", digits, value);
        const char *const e = strchr(text, 'e');
        plot_number(label, "%.*se%d", (int)(e - text), text, atoi(e + 1));
    }
}

void plot_ticks_of(struct plot_range range, size_t most, struct plot_ticks *out)
{
    assert(range.low < range.high && most >= 2 && most <= PLOT_TICKS);
    *out = (struct plot_ticks){.n = 0};
    const double length = range.high - range.low;
    double step = round_step(length / (double)most);
    while (floor(range.high / step) - ceil(range.low / step) + 1 > (double)most) {
        step = round_step(1.5 * step);
    }
    const double first = ceil(range.low / step), last = floor(range.high / step);
    const double size = fmax(fabs(first * step), fabs(last * step));
    for (double k = first; k <= last && out->n < PLOT_TICKS; k++, out->n++) {
        out->at[out->n] = k == 0 ? 0 : k * step;
        set_label(out->label[out->n], out->at[out->n], step, size);
    }
}

long plot_ticks_width(const struct plot_ticks *ticks, double capital)
{
    double widest = 0;
    for (size_t i = 0; i < ticks->n; i++) {
        widest = fmax(widest, figure_text_width(capital, ticks->label[i]));
    }
    return lround(ceil(widest)) + TICK + BESIDE;
}

/* --- where things are ------------------------------------------------------------------------- */

double plot_x(const struct plot_axes *axes, double x)
{
    return (double)axes->left +
           (x - axes->x.low) / (axes->x.high - axes->x.low) * (double)(axes->width - 1);
}

double plot_y(const struct plot_axes *axes, double y)
{
    return (double)axes->top +
           (axes->y.high - y) / (axes->y.high - axes->y.low) * (double)(axes->height - 1);
}

/* A place as a pixel within `n` of them from `first` on. */
static double pixel_within(double at, long first, long n)
{
    const double last = (double)(first + n - 1);
    return round(at < (double)first ? (double)first : at > last ? last : at);
}

/* --- the frame -------------------------------------------------------------------------------- */

static void draw_x_ticks(const struct plot_axes *axes, const struct plot_ticks *ticks)
{
    const double top = (double)axes->top, height = (double)axes->height, below = top + height;
    for (size_t i = 0; i < ticks->n; i++) {
        const double x = pixel_within(plot_x(axes, ticks->at[i]), axes->left, axes->width);
        const double width = figure_text_width(axes->capital, ticks->label[i]);
        figure_fill(axes->figure, x, top, 1, height, GRID);
        figure_fill(axes->figure, x, below, 1, TICK, FRAME);
        figure_text(axes->figure, round(x - width / 2), below + TICK + BESIDE, axes->capital,
                    COLOURS_INK, ticks->label[i]);
    }
}

static void draw_y_ticks(const struct plot_axes *axes, const struct plot_ticks *ticks)
{
    const double left = (double)axes->left;
    for (size_t i = 0; i < ticks->n; i++) {
        const double y = pixel_within(plot_y(axes, ticks->at[i]), axes->top, axes->height);
        const double width = figure_text_width(axes->capital, ticks->label[i]);
        figure_fill(axes->figure, left, y, (double)axes->width, 1, GRID);
        figure_fill(axes->figure, left - TICK, y, TICK, 1, FRAME);
        figure_text(axes->figure, round(left - TICK - BESIDE - width), round(y - axes->capital / 2),
                    axes->capital, COLOURS_INK, ticks->label[i]);
    }
}

void plot_axes_draw(const struct plot_axes *axes, const struct plot_ticks *x,
                    const struct plot_ticks *y, const char *x_name, const char *y_name)
{
    const double left = (double)axes->left, top = (double)axes->top, capital = axes->capital;
    const double width = (double)axes->width, height = (double)axes->height;
    struct figure *const f = axes->figure;
    draw_x_ticks(axes, x);
    draw_y_ticks(axes, y);
    figure_fill(f, left - 1, top - 1, width + 2, 1, FRAME);
    figure_fill(f, left - 1, top + height, width + 2, 1, FRAME);
    figure_fill(f, left - 1, top - 1, 1, height + 2, FRAME);
    figure_fill(f, left + width, top - 1, 1, height + 2, FRAME);
    figure_text(f, round(left + width / 2 - figure_text_width(capital, x_name) / 2),
                top + height + TICK + 3 * BESIDE + capital, capital, COLOURS_INK, x_name);
    figure_text(f, left, top - 2 * BESIDE - capital, capital, COLOURS_INK, y_name);
}

void plot_band(const struct plot_axes *axes, double from, double to, uint32_t rgb)
{
    if (!(from < to) || to <= axes->x.low || from >= axes->x.high) {
        return;
    }
    const double left = pixel_within(plot_x(axes, from), axes->left, axes->width);
    const double right = pixel_within(plot_x(axes, to), axes->left, axes->width);
    figure_fill(axes->figure, left, (double)axes->top, right - left + 1, (double)axes->height, rgb);
}

/* --- lines ------------------------------------------------------------------------------------ */

struct segment {
    double x0, y0, x1, y1; /* pixels, from the area's left and top */
};

/* Cuts what of a segment lies within [low, high] of one coordinate: *from and *to are shares of its
 * length. */
static bool cut(double begin, double end, double low, double high, double *from, double *to)
{
    const double d = end - begin;
    if (d == 0) {
        return begin >= low && begin <= high;
    }
    const double a = (low - begin) / d, b = (high - begin) / d;
    *from = fmax(*from, fmin(a, b));
    *to = fmin(*to, fmax(a, b));
    return *from <= *to;
}

/* What lies in the area and `around` it; false: nothing. */
static bool cut_to_area(const struct plot_axes *axes, double around, struct segment *s)
{
    double from = 0, to = 1;
    if (!cut(s->x0, s->x1, -around, (double)axes->width + around, &from, &to) ||
        !cut(s->y0, s->y1, -around, (double)axes->height + around, &from, &to)) {
        return false;
    }
    const double dx = s->x1 - s->x0, dy = s->y1 - s->y0;
    *s = (struct segment){s->x0 + from * dx, s->y0 + from * dy, s->x0 + to * dx, s->y0 + to * dy};
    return true;
}

/* From `first` on; what is far away, or infinite, is as far as the arithmetic of pixels goes. NaN
 * stays. */
static double pixels_from(double at, long first)
{
    const double far = 1e7, from = at - (double)first;
    return from > far ? far : from < -far ? -far : from;
}

void plot_line(const struct plot_axes *axes, const double *x, const double *y, size_t n,
               double thick, uint32_t rgb)
{
    const double left = (double)axes->left, top = (double)axes->top;
    struct figure *const f = axes->figure;
    double at_x = NAN, at_y = NAN; /* where the path is */
    figure_clip(f, left, top, (double)axes->width, (double)axes->height);
    for (size_t i = 0; i + 1 < n; i++) {
        struct segment s = {pixels_from(plot_x(axes, x[i]), axes->left),
                            pixels_from(plot_y(axes, y[i]), axes->top),
                            pixels_from(plot_x(axes, x[i + 1]), axes->left),
                            pixels_from(plot_y(axes, y[i + 1]), axes->top)};
        if (isnan(s.x0 + s.y0 + s.x1 + s.y1) || !cut_to_area(axes, thick, &s)) {
            continue;
        }
        if (s.x0 != at_x || s.y0 != at_y) {
            figure_from(f, left + s.x0, top + s.y0);
        }
        figure_to(f, left + s.x1, top + s.y1);
        at_x = s.x1;
        at_y = s.y1;
    }
    figure_line(f, thick, rgb, 1);
    figure_unclip(f);
}

/* --- markers ---------------------------------------------------------------------------------- */

/* A polygon about x, y: n corners, each to the right and downwards in units of r. */
static void draw_polygon(struct figure *f, double x, double y, double r, size_t n,
                         const double (*corners)[2], double opacity, uint32_t rgb)
{
    figure_from(f, x + r * corners[n - 1][0], y + r * corners[n - 1][1]);
    for (size_t k = 0; k < n; k++) {
        figure_to(f, x + r * corners[k][0], y + r * corners[k][1]);
    }
    figure_shape(f, rgb, opacity);
}

void plot_mark_at(struct figure *f, double x, double y, enum plot_marker marker, double size,
                  double opacity, uint32_t rgb)
{
    static const double up[][2] = {{0, -1.1}, {1.05, 0.75}, {-1.05, 0.75}};
    static const double down[][2] = {{0, 1.1}, {1.05, -0.75}, {-1.05, -0.75}};
    static const double diamond[][2] = {{0, -1.2}, {0.9, 0}, {0, 1.2}, {-0.9, 0}};
    const double r = size / 2, arm = r * 0.8;
    switch (marker) {
    case PLOT_DISC:
        figure_disc(f, x, y, r, rgb, opacity);
        break;
    case PLOT_RING:
        figure_ring(f, x, y, r, r * 0.4, rgb, opacity);
        break;
    case PLOT_CROSS: /* two strokes from corner to corner */
        figure_from(f, x - arm, y - arm);
        figure_to(f, x + arm, y + arm);
        figure_from(f, x - arm, y + arm);
        figure_to(f, x + arm, y - arm);
        figure_line(f, r * 0.4, rgb, opacity);
        break;
    case PLOT_SQUARE:
        figure_from(f, x - r * 0.9, y);
        figure_to(f, x + r * 0.9, y);
        figure_bar(f, r * 1.8, rgb, opacity);
        break;
    case PLOT_TRIANGLE:
        draw_polygon(f, x, y, r, 3, up, opacity, rgb);
        break;
    case PLOT_WEDGE:
        draw_polygon(f, x, y, r, 3, down, opacity, rgb);
        break;
    case PLOT_DIAMOND:
        draw_polygon(f, x, y, r, 4, diamond, opacity, rgb);
        break;
    case PLOT_PLUS:
        figure_from(f, x - r, y);
        figure_to(f, x + r, y);
        figure_from(f, x, y - r);
        figure_to(f, x, y + r);
        figure_line(f, r * 0.4, rgb, opacity);
        break;
    case PLOT_MARKERS:
        break;
    }
}

void plot_mark(const struct plot_axes *axes, double x, double y, enum plot_marker marker,
               double size, double opacity, uint32_t rgb)
{
    if (x >= axes->x.low && x <= axes->x.high && y >= axes->y.low && y <= axes->y.high) {
        plot_mark_at(axes->figure, plot_x(axes, x), plot_y(axes, y), marker, size, opacity, rgb);
    }
}

/* --- names ------------------------------------------------------------------------------------ */

/* A character of a name as it is shown. */
struct shown {
    char text[UTF8_MOST + 1];
    size_t n; /* bytes; 0: the name has ended */
    double width;
};

static bool can_show(uint32_t point)
{
    const bool is_control = point < ' ' || (point >= 0x7f && point < 0xa0);
    return !is_control && point != 0xfffd && letters_has(point);
}

static struct shown next_shown(const char **name, double capital, bool *is_whole)
{
    struct shown s = {.text = "?", .n = 1};
    const uint32_t point = utf8_next(name);
    if (point == 0) {
        s.n = 0;
    } else if (can_show(point)) {
        s.n = utf8_encode(point, (unsigned char *)s.text);
    } else {
        *is_whole = false;
    }
    s.text[s.n] = '\0';
    s.width = figure_text_width(capital, s.text);
    return s;
}

bool plot_name(const char *name, double capital, double width, char out[PLOT_NAME])
{
    static const char dots[] = "\xe2\x80\xa6"; /* U+2026 */
    enum { HALF = (PLOT_NAME - PLOT_NUMBER - (int)sizeof dots) / 2 };
    const double room = width - figure_text_width(capital, dots);
    double all = 0, begun = 0; /* what is left of the name; what has been copied */
    size_t bytes = 0, n = 0;
    bool is_whole = true;
    struct shown s;
    for (const char *at = name; (s = next_shown(&at, capital, &is_whole)).n > 0;) {
        all += s.width;
        bytes += s.n;
    }
    const bool fits = all <= width && bytes <= (size_t)2 * HALF;
    while ((s = next_shown(&name, capital, &is_whole)).n > 0) {
        all -= s.width;
        bytes -= s.n;
        if (!fits && (n + s.n > HALF || begun + s.width > room / 2)) {
            break;
        }
        memcpy(out + n, s.text, s.n);
        n += s.n;
        begun += s.width;
    }
    if (!fits) {
        memcpy(out + n, dots, sizeof dots - 1);
        n += sizeof dots - 1;
        while ((bytes > HALF || all > room - begun) &&
               (s = next_shown(&name, capital, &is_whole)).n > 0) {
            all -= s.width;
            bytes -= s.n;
        }
        for (; (s = next_shown(&name, capital, &is_whole)).n > 0; n += s.n) {
            memcpy(out + n, s.text, s.n);
        }
    }
    out[n] = '\0';
    return is_whole && fits;
}

void plot_named(const struct plot_named *named, double capital, double width, char out[PLOT_NAME])
{
    char number[PLOT_NUMBER], name[PLOT_NAME];
    if (!plot_name(named->name, capital, width, out)) {
        snprintf(number, sizeof number, "%s %zu: ", named->kind, named->number);
        (void)plot_name(named->name, capital, width - figure_text_width(capital, number), name);
        snprintf(out, PLOT_NAME, "%s%.*s", number, PLOT_NAME - PLOT_NUMBER - 1, name);
    }
}

void plot_title(struct figure *f, double edge, double capital, const char *path, const char *rest)
{
    const char *const slash = strrchr(path, '/'), *const chosen = figure_title(f);
    if (chosen[0] != '\0') {
        path = chosen;
        rest = "";
    }
    const double width = (double)figure_width(f) - 2 * edge - figure_text_width(capital, rest);
    char name[PLOT_NAME];
    (void)plot_name(path != chosen && slash != NULL ? slash + 1 : path, capital, width, name);
    figure_text(f, edge, edge, capital, COLOURS_INK, name);
    figure_text(f, edge + figure_text_width(capital, name), edge, capital, COLOURS_INK, rest);
}
