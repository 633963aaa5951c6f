/*
 * plot_axes - a plot in a picture: axes with ticks, lines, markers.
 *
 * A line is first drawn into a mask of how much of each pixel it covers: the greatest over its
 * segments, so that joints are not darker than the rest. Then the mask is mixed into the picture in
 * a few steps, which leaves few colours, for a palette.
 */
#include "formats/result/plot_axes.h"

#include "formats/base/checked.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GLYPH = 7,    /* height of text, in its dots */
    TICK = 3,     /* length of a tick's mark, in dots */
    BESIDE = 3,   /* from a tick to its label, in dots */
    COVERAGE = 8, /* steps of how much of a pixel is covered */
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

/* A number to the digits that tell it from the next one `step` away. */
static void set_label(char label[PLOT_LABEL], double value, double step, double size)
{
    const int step_power = (int)floor(log10(step) + 1e-9);
    const int size_power = size > 0 ? (int)floor(log10(size) + 1e-9) : 0;
    if (size_power < 6 && step_power >= -5) {
        snprintf(label, PLOT_LABEL, "%.*f", step_power < 0 ? -step_power : 0, value);
    } else if (value == 0) {
        snprintf(label, PLOT_LABEL, "0");
    } else {
        const int own_power = (int)floor(log10(fabs(value)) + 1e-9);
        const int digits = own_power > step_power ? own_power - step_power : 0;
        char text[64];
        snprintf(text, sizeof text, "%.*e", digits, value);
        const char *const e = strchr(text, 'e');
        snprintf(label, PLOT_LABEL, "%.*se%d", (int)(e - text), text, atoi(e + 1));
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

long plot_ticks_width(const struct plot_ticks *ticks, int dot)
{
    long widest = 0;
    for (size_t i = 0; i < ticks->n; i++) {
        const long width = png_image_text_width(dot, ticks->label[i]);
        widest = width > widest ? width : widest;
    }
    return widest + (long)(TICK + BESIDE) * dot;
}

/* --- where things are ------------------------------------------------------------------------- */

enum status plot_axes_open(struct plot_axes *axes)
{
    size_t bytes;
    assert(axes->width > 1 && axes->height > 1);
    axes->ink =
        checked_mul((size_t)axes->width, (size_t)axes->height, &bytes) ? calloc(bytes, 1) : NULL;
    return axes->ink != NULL ? STATUS_OK : status_fail(STATUS_NO_MEMORY, "no memory for a plot");
}

void plot_axes_close(struct plot_axes *axes)
{
    free(axes->ink);
    axes->ink = NULL;
}

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
static long pixel_within(double at, long first, long n)
{
    const double last = (double)(first + n - 1);
    return lround(at < (double)first ? (double)first : at > last ? last : at);
}

/* --- the frame -------------------------------------------------------------------------------- */

static void draw_x_ticks(const struct plot_axes *axes, const struct plot_ticks *ticks)
{
    const long below = axes->top + axes->height, dot = axes->dot;
    for (size_t i = 0; i < ticks->n; i++) {
        const long x = pixel_within(plot_x(axes, ticks->at[i]), axes->left, axes->width);
        const long width = png_image_text_width(axes->dot, ticks->label[i]);
        png_image_fill(axes->image, x, axes->top, 1, axes->height, GRID);
        png_image_fill(axes->image, x, below, 1, TICK * dot, FRAME);
        png_image_text(axes->image, x - width / 2, below + (TICK + BESIDE) * dot, axes->dot,
                       PLOT_INK, ticks->label[i]);
    }
}

static void draw_y_ticks(const struct plot_axes *axes, const struct plot_ticks *ticks)
{
    const long dot = axes->dot;
    for (size_t i = 0; i < ticks->n; i++) {
        const long y = pixel_within(plot_y(axes, ticks->at[i]), axes->top, axes->height);
        const long width = png_image_text_width(axes->dot, ticks->label[i]);
        png_image_fill(axes->image, axes->left, y, axes->width, 1, GRID);
        png_image_fill(axes->image, axes->left - TICK * dot, y, TICK * dot, 1, FRAME);
        png_image_text(axes->image, axes->left - (TICK + BESIDE) * dot - width, y - GLYPH * dot / 2,
                       axes->dot, PLOT_INK, ticks->label[i]);
    }
}

void plot_axes_draw(const struct plot_axes *axes, const struct plot_ticks *x,
                    const struct plot_ticks *y, const char *x_name, const char *y_name)
{
    const long dot = axes->dot, right = axes->left + axes->width, below = axes->top + axes->height;
    draw_x_ticks(axes, x);
    draw_y_ticks(axes, y);
    png_image_fill(axes->image, axes->left - 1, axes->top - 1, axes->width + 2, 1, FRAME);
    png_image_fill(axes->image, axes->left - 1, below, axes->width + 2, 1, FRAME);
    png_image_fill(axes->image, axes->left - 1, axes->top - 1, 1, axes->height + 2, FRAME);
    png_image_fill(axes->image, right, axes->top - 1, 1, axes->height + 2, FRAME);
    png_image_text(axes->image,
                   axes->left + axes->width / 2 - png_image_text_width(axes->dot, x_name) / 2,
                   below + (TICK + 2 * BESIDE + GLYPH + 2) * dot, axes->dot, PLOT_INK, x_name);
    png_image_text(axes->image, axes->left, axes->top - (GLYPH + 4) * dot, axes->dot, PLOT_INK,
                   y_name);
}

void plot_band(const struct plot_axes *axes, double from, double to, uint32_t rgb)
{
    if (!(from < to) || to <= axes->x.low || from >= axes->x.high) {
        return;
    }
    const long left = pixel_within(plot_x(axes, from), axes->left, axes->width);
    const long right = pixel_within(plot_x(axes, to), axes->left, axes->width);
    png_image_fill(axes->image, left, axes->top, right - left + 1, axes->height, rgb);
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

/* The square of how far a place is from a segment, `per_square` being 1 / (dx^2 + dy^2), or 0. */
static double distance2(const struct segment *s, double dx, double dy, double per_square, double x,
                        double y)
{
    const double from_x = x - s->x0, from_y = y - s->y0;
    const double t = (from_x * dx + from_y * dy) * per_square, along = t > 0 ? t < 1 ? t : 1 : 0;
    const double beside_x = from_x - along * dx, beside_y = from_y - along * dy;
    return beside_x * beside_x + beside_y * beside_y;
}

static unsigned char coverage(double radius, double from_middle)
{
    const double covered = radius + 0.5 - from_middle;
    return (unsigned char)(covered <= 0 ? 0 : covered >= 1 ? COVERAGE : covered * COVERAGE + 0.5);
}

/* The pixels of [0, n) that lie within low to high. */
static void pixels_between(double low, double high, long n, long *first, long *end)
{
    *first = low < 0 ? 0 : low >= (double)n ? n : (long)low;
    *end = high < 0 ? 0 : high >= (double)(n - 1) ? n : (long)high + 1;
}

/* Marks the pixels that the segment covers. It is followed along its longer side, so that few
 * pixels are looked at that it does not touch. */
static void cover(struct plot_axes *axes, const struct segment *s, double radius)
{
    const double dx = s->x1 - s->x0, dy = s->y1 - s->y0, square = dx * dx + dy * dy;
    const double per_square = square > 0 ? 1 / square : 0;
    const double reach = radius + 1, outer2 = (radius + 0.5) * (radius + 0.5);
    const bool steep = fabs(dy) > fabs(dx);
    const double begin = steep ? s->y0 : s->x0, end = steep ? s->y1 : s->x1;
    const double low = fmin(begin, end), high = fmax(begin, end);
    const double slope = steep ? dx / dy : dx != 0 ? dy / dx : 0;
    long first, last;
    pixels_between(low - reach, high + reach, steep ? axes->height : axes->width, &first, &last);
    for (long k = first; k < last; k++) {
        const double at = (double)k < low ? low : (double)k > high ? high : (double)k;
        const double middle = (steep ? s->x0 : s->y0) + (at - begin) * slope;
        long a, b;
        pixels_between(middle - 1.5 * reach, middle + 1.5 * reach,
                       steep ? axes->width : axes->height, &a, &b);
        for (; a < b; a++) {
            const long x = steep ? a : k, y = steep ? k : a;
            unsigned char *const ink = &axes->ink[y * axes->width + x];
            if (*ink == COVERAGE) {
                continue;
            }
            const double from2 = distance2(s, dx, dy, per_square, (double)x, (double)y);
            if (from2 < outer2) {
                const unsigned char covered = coverage(radius, sqrt(from2));
                *ink = covered > *ink ? covered : *ink;
            }
        }
    }
}

static void mix_pixel(struct png_image *image, long x, long y, uint32_t rgb, double t)
{
    uint8_t *const p = image->rgb + ((size_t)y * image->width + (size_t)x) * 3;
    const uint32_t mixed =
        plot_mix((uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | (uint32_t)p[2], rgb, t);
    png_image_fill(image, x, y, 1, 1, mixed);
}

/* From `first` on; what is far away, or infinite, is as far as the arithmetic of pixels goes. NaN
 * stays. */
static double pixels_from(double at, long first)
{
    const double far = 1e7, from = at - (double)first;
    return from > far ? far : from < -far ? -far : from;
}

void plot_line(struct plot_axes *axes, const double *x, const double *y, size_t n, double thick,
               uint32_t rgb)
{
    const double radius = thick / 2;
    memset(axes->ink, 0, (size_t)axes->width * (size_t)axes->height);
    for (size_t i = 0; i + 1 < n; i++) {
        struct segment s = {pixels_from(plot_x(axes, x[i]), axes->left),
                            pixels_from(plot_y(axes, y[i]), axes->top),
                            pixels_from(plot_x(axes, x[i + 1]), axes->left),
                            pixels_from(plot_y(axes, y[i + 1]), axes->top)};
        if (!isnan(s.x0 + s.y0 + s.x1 + s.y1) && cut_to_area(axes, radius + 1, &s)) {
            cover(axes, &s, radius);
        }
    }
    for (long row = 0; row < axes->height; row++) {
        for (long column = 0; column < axes->width; column++) {
            const unsigned char covered = axes->ink[row * axes->width + column];
            if (covered > 0) {
                mix_pixel(axes->image, axes->left + column, axes->top + row, rgb,
                          (double)covered / COVERAGE);
            }
        }
    }
}

/* --- markers ---------------------------------------------------------------------------------- */

/* How far a place is from a marker of radius r around 0, 0: 0 and less within it. */
static double outside(enum plot_marker marker, double r, double x, double y)
{
    switch (marker) {
    case PLOT_DISC:
        return hypot(x, y) - r;
    case PLOT_RING:
        return fabs(hypot(x, y) - r * 0.8) - r * 0.2;
    case PLOT_CROSS: /* two strokes from corner to corner */
        return fmax(fmin(fabs(x - y), fabs(x + y)) / sqrt(2) - r * 0.2, hypot(x, y) - r * 1.2);
    case PLOT_SQUARE:
        return fmax(fabs(x), fabs(y)) - r * 0.9;
    }
    return 1;
}

void plot_mark_at(struct png_image *image, double x, double y, enum plot_marker marker, double size,
                  double opacity, uint32_t rgb)
{
    const double reach = size / 2 * 1.2 + 1;
    for (long row = lround(y - reach); row <= lround(y + reach); row++) {
        for (long column = lround(x - reach); column <= lround(x + reach); column++) {
            const double from = outside(marker, size / 2, (double)column - x, (double)row - y);
            const unsigned char covered = coverage(0, from);
            if (covered > 0 && row >= 0 && column >= 0 && row < (long)image->height &&
                column < (long)image->width) {
                mix_pixel(image, column, row, rgb, opacity * (double)covered / COVERAGE);
            }
        }
    }
}

void plot_mark(const struct plot_axes *axes, double x, double y, enum plot_marker marker,
               double size, double opacity, uint32_t rgb)
{
    if (x >= axes->x.low && x <= axes->x.high && y >= axes->y.low && y <= axes->y.high) {
        plot_mark_at(axes->image, plot_x(axes, x), plot_y(axes, y), marker, size, opacity, rgb);
    }
}

/* --- colours and names ------------------------------------------------------------------------ */

uint32_t plot_colour(size_t index)
{
    static const uint32_t colours[PLOT_COLOURS] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7,
                                                   0xe69f00, 0x56b4e9, 0x7a4b9a, 0x50565c};
    return colours[index % PLOT_COLOURS];
}

uint32_t plot_mix(uint32_t a, uint32_t b, double t)
{
    uint32_t mixed = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        const double from = (double)(a >> shift & 255), to = (double)(b >> shift & 255);
        mixed = mixed << 8 | (uint32_t)(from + (to - from) * t + 0.5);
    }
    return mixed;
}

void plot_name(const char *name, size_t most, char *out)
{
    size_t n = 0;
    for (const char *at = name; *at != '\0' && n <= most; at++) {
        if (((unsigned char)*at & 0xc0) != 0x80) { /* one '?' a character of several bytes */
            if (n < most) {
                out[n] = *at >= ' ' && *at <= '~' ? *at : '?';
            }
            n++;
        }
    }
    if (n > most) {
        memcpy(out + most - 2, "..", 2);
        n = most;
    }
    out[n] = '\0';
}
