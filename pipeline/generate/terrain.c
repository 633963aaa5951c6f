/*
 * terrain - see terrain.h. Along a slope t goes from 0 at the ridge to 1, across it s from -1 to 1:
 *
 *   ground = BASE + fall (1 - t / FOOT)^2        steep at the ridge, flat in the hollow at t = FOOT
 *          + rise (sqrt(u^2 + WIDTH^2) - WIDTH)  sides,  u = s - w (1 - s^2)
 *          - cut / (1 + (u / WIDTH)^2)           channel
 *          + (0.2 + 0.8 u^2) sum over octaves k: ROUGH 2^k cell noise_k
 *
 * w, |w| < 0.3, depends on the row: it winds the channel while u stays monotone in s and is -1 and
 * 1 at the sides, where slopes meet. noise_k is value noise: uniform numbers in [-1, 1] on a
 * lattice of 2^k cells, between them 3 f^2 - 2 f^3 (K. Perlin, "An image synthesizer", 1985, has
 * that curve).
 *
 * Debris beside a channel comes back to it: where the channel falls by G a cell and leads m columns
 * aside a row, and its sides fall by S, debris on a side goes S columns for every G - S m rows,
 * which catches up with the channel if S >= G m / (1 + m^2). That is at most G / 2, hence the
 * heights: G = 2 * 0.2 / FOOT = 0.5 at the ridge and less below it, S = 0.125 / 0.5.
 *
 * A mound is a paraboloid over an ellipse twice as long as wide, unless the slope is too short.
 */
#include "pipeline/generate/terrain.h"

#include "kernels/philox/philox_rule.h"

#include <math.h>
#include <stdbool.h>

enum {
    SLOPE_CELLS = 1 << 19, /* at most, roughly */
    SLIDE_CELLS = 1 << 10, /* at least, for each slide asked for */
    LOWEST_OCTAVE = 2,
    HIGHEST_OCTAVE = 8,
    EDGE_OCTAVE = 3 /* of what frays the edge without altitudes */
};

/* What a random number is for: part of its counter. */
enum purpose { FOR_GROUND, FOR_WIND, FOR_EDGE, FOR_MOUND };

static const double BASE = 400, FOOT = 0.8, WIDTH = 0.04, ROUGH = 0.05;

/* --- noise ----------------------------------------------------------------------------------- */

static struct philox_words words_of(const struct terrain *t, enum purpose purpose, unsigned octave,
                                    uint64_t row, uint64_t column)
{
    const struct philox_words counter = {
        {(uint32_t)column, (uint32_t)row, octave, (uint32_t)purpose}};
    return philox_4x32_10(counter, (uint32_t)t->order.seed, (uint32_t)(t->order.seed >> 32));
}

/* A number in (-1, 1) at a point of an octave's lattice. */
static double lattice(const struct terrain *t, enum purpose purpose, unsigned octave, uint64_t row,
                      uint64_t column)
{
    return philox_uniform(words_of(t, purpose, octave, row, column).w[0]);
}

/* How far on the way from one lattice point to the next the influence of the next one is; `width`
 * is 2^-octave. */
static double ease(uint64_t at, unsigned octave, double width)
{
    const double f = (double)(at & ((UINT64_C(1) << octave) - 1)) * width;
    return f * f * (3 - 2 * f);
}

static double width_of(unsigned octave)
{
    return 1 / (double)(UINT64_C(1) << octave);
}

/* Adds `factor` times one octave's noise to n cells of a row. */
static void add_noise(const struct terrain *t, enum purpose purpose, unsigned octave, double factor,
                      size_t row, size_t column, size_t n, double *out)
{
    const uint64_t above = row >> octave;
    const double width = width_of(octave), down = ease(row, octave, width);
    for (size_t i = 0; i < n;) {
        const uint64_t before = (column + i) >> octave;
        const uint64_t next = ((before + 1) << octave) - column;
        const size_t end = next < n ? (size_t)next : n;
        double side[2];
        for (uint64_t k = 0; k < 2; k++) {
            const double upper = lattice(t, purpose, octave, above, before + k);
            const double lower = lattice(t, purpose, octave, above + 1, before + k);
            side[k] = upper + (lower - upper) * down;
        }
        for (; i < end; i++) {
            out[i] += factor * (side[0] + (side[1] - side[0]) * ease(column + i, octave, width));
        }
    }
}

/* How far the channel of a column of slopes lies beside the middle in a row: w, |w| < 0.3. */
static double wind(const struct terrain *t, size_t row, size_t across)
{
    static const double swing[] = {0.22, 0.08};
    double w = 0;
    for (unsigned k = 0; k < 2; k++) {
        const unsigned octave = t->wind_octave - k;
        const double upper = lattice(t, FOR_WIND, octave, row >> octave, across);
        const double lower = lattice(t, FOR_WIND, octave, (row >> octave) + 1, across);
        w += swing[k] * (upper + (lower - upper) * ease(row, octave, width_of(octave)));
    }
    return w;
}

/* --- the plan -------------------------------------------------------------------------------- */

static size_t clamp(double value, size_t least, size_t most)
{
    if (!(value > (double)least)) {
        return least;
    }
    return value < (double)most ? (size_t)value : most;
}

/* The largest octave, within bounds, whose lattice is at most `cells` wide. */
static unsigned octave_within(double cells, unsigned least, unsigned most)
{
    unsigned octave = least;
    while (octave < most && (double)(UINT64_C(2) << octave) <= cells) {
        octave++;
    }
    return octave;
}

/* Cuts the map, less its edge, into at least n slopes of about 6 rows for 5 columns. */
static void lay_out(struct terrain *t, size_t n)
{
    const double rows = (double)t->order.rows, columns = (double)t->order.columns;
    const double half = rows + columns;
    t->frame = (half - sqrt(half * half - 4 * t->order.nodata * rows * columns)) / 4;
    t->first = floor(t->frame);
    t->n_down = clamp(sqrt((double)n * rows / (1.2 * columns)) + 0.5, 1,
                      n < t->order.rows ? n : (size_t)t->order.rows);
    t->n_across = (n - 1) / t->n_down + 1;
    t->slope_rows = fmax(1, rows - 2 * t->first) / (double)t->n_down;
    t->slope_columns = fmax(1, columns - 2 * t->first) / (double)t->n_across;
}

static void set_heights(struct terrain *t)
{
    const double cell_m = t->order.cell_m;
    const double narrow = fmin(t->slope_rows, t->slope_columns);
    t->fall_m = 0.2 * t->slope_rows * cell_m;
    t->rise_m = 0.125 * t->slope_columns * cell_m;
    t->cut_m = 0.006 * narrow * cell_m;
    t->top_octave = octave_within(narrow / 2, LOWEST_OCTAVE - 1, HIGHEST_OCTAVE);
    t->wind_octave = octave_within(t->slope_rows / 3, 1, 30);
}

/* The ellipse of each mound. False: it is more than a quarter of a slope. */
static bool set_mounds(struct terrain *t)
{
    if (t->n_slides == 0) {
        return true;
    }
    const double pi = 3.14159265358979323846;
    const double area =
        t->order.active * (double)t->order.rows * (double)t->order.columns / (double)t->n_slides;
    t->mound_rows = fmax(0.6, fmin(sqrt(2 * area / pi), 0.35 * t->slope_rows));
    t->mound_columns = fmax(0.6, area / (pi * t->mound_rows));
    t->mound_m = fmin(fmax(0.08 * t->mound_columns * t->order.cell_m, 1), 8);
    return area <= 0.25 * t->slope_rows * t->slope_columns;
}

enum status terrain_plan(const struct terrain_order *order, struct terrain *out)
{
    struct terrain *const t = out;
    *t = (struct terrain){.order = *order};
    if (order->rows > TERRAIN_MAX_CELLS / order->columns) {
        return status_fail(STATUS_TOO_LARGE, "%llu x %llu cells: more than %llu",
                           (unsigned long long)order->rows, (unsigned long long)order->columns,
                           (unsigned long long)TERRAIN_MAX_CELLS);
    }
    const size_t n_cells = (size_t)(order->rows * order->columns);
    const size_t room = n_cells < 2 * (size_t)SLIDE_CELLS ? 1 : n_cells / SLIDE_CELLS;
    const size_t n_slopes = (n_cells - 1) / SLOPE_CELLS + 1;
    if (order->slides > room) {
        return status_fail(
            STATUS_BAD_ARGUMENT, "--slides: %llu x %llu cells have room for no more than %zu",
            (unsigned long long)order->rows, (unsigned long long)order->columns, room);
    }
    lay_out(t, order->slides > n_slopes ? (size_t)order->slides : n_slopes);
    t->n_slides = order->slides > 0 ? (size_t)order->slides : t->n_down * t->n_across;
    t->n_slides = order->active > 0 ? t->n_slides : 0;
    set_heights(t);
    if (!set_mounds(t)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "--active: %g of the map in %zu %s: debris would cover more than a "
                           "quarter of its slope; "
                           "ask for less of it, or for more --slides",
                           order->active, t->n_slides, t->n_slides == 1 ? "slide" : "slides");
    }
    return STATUS_OK;
}

/* --- where a cell lies ----------------------------------------------------------------------- */

/* Which slope, counted down or across, has the middle of this row or column; *part is how much of
 * the slope lies before it. */
static size_t slope_of(const struct terrain *t, size_t at, double slope_cells, size_t n_slopes,
                       double *part)
{
    const double slopes = ((double)at + 0.5 - t->first) / slope_cells;
    const size_t slope = clamp(slopes, 0, n_slopes - 1);
    *part = slopes - (double)slope;
    return slope;
}

static bool has_altitude(const struct terrain *t, size_t row, size_t column)
{
    if (!(t->frame > 0)) {
        return true;
    }
    const size_t rows = (size_t)t->order.rows, columns = (size_t)t->order.columns;
    const size_t from_top = row < rows - 1 - row ? row : rows - 1 - row;
    const size_t from_side = column < columns - 1 - column ? column : columns - 1 - column;
    const double inside = (double)(from_top < from_side ? from_top : from_side) + 0.5 - t->frame;
    const double frayed = fmin(t->frame / 2, 3);
    double fray = 0;
    if (inside > -frayed && inside < frayed) {
        add_noise(t, FOR_EDGE, EDGE_OCTAVE, frayed, row, column, 1, &fray);
    }
    return inside >= fray;
}

/* --- debris ---------------------------------------------------------------------------------- */

struct mound {
    double row, column; /* of its middle, a cell's */
    double height_m;
};

/* Slides on the slopes before this one: they are spread evenly. All products are below 2^53. */
static double slides_before(const struct terrain *t, size_t slope)
{
    return floor((double)slope * (double)t->n_slides / ((double)t->n_down * (double)t->n_across));
}

/* The mound of a slope; false when it has none. */
static bool find_mound(const struct terrain *t, size_t down, size_t across, struct mound *m)
{
    const size_t slope = down * t->n_across + across;
    if (!(slides_before(t, slope + 1) > slides_before(t, slope))) {
        return false;
    }
    const struct philox_words words = words_of(t, FOR_MOUND, 0, down, across);
    const double below_ridge = fmax(0.12 * t->slope_rows, t->mound_rows + 1.5) +
                               0.03 * t->slope_rows * (1 + philox_uniform(words.w[0]));
    const double top = t->first + (double)down * t->slope_rows;
    const double middle = down % 2 == 0 ? top + below_ridge : top + t->slope_rows - below_ridge;
    const size_t row = clamp(middle, 0, (size_t)t->order.rows - 1);
    const double w = wind(t, row, across);
    const double s = 2 * w / (1 + sqrt(1 + 4 * w * w)); /* where u = 0 */
    const double column = t->first + ((double)across + (s + 1) / 2) * t->slope_columns;
    m->row = (double)row;
    m->column = (double)clamp(column, 0, (size_t)t->order.columns - 1);
    m->height_m = t->mound_m * (1 + 0.25 * philox_uniform(words.w[1]));
    return true;
}

/* Thickness in millimetres, a whole number. */
static double thickness_mm(const struct terrain *t, const struct mound *m, size_t row,
                           size_t column)
{
    const double y = ((double)row - m->row) / t->mound_rows;
    const double x = ((double)column - m->column) / t->mound_columns;
    const double q = y * y + x * x;
    return q < 1 && has_altitude(t, row, column) ? 1 + floor(1000 * m->height_m * (1 - q)) : 0;
}

static void debris_mm(const struct terrain *t, size_t row, size_t column, size_t n, double *out)
{
    double part;
    const size_t down = slope_of(t, row, t->slope_rows, t->n_down, &part);
    for (size_t i = 0; i < n;) {
        const size_t across = slope_of(t, column + i, t->slope_columns, t->n_across, &part);
        struct mound m = {0};
        const bool is_near =
            find_mound(t, down, across, &m) && fabs((double)row - m.row) < t->mound_rows;
        for (; i < n && slope_of(t, column + i, t->slope_columns, t->n_across, &part) == across;
             i++) {
            out[i] = is_near ? thickness_mm(t, &m, row, column + i) : 0;
        }
    }
}

void terrain_debris(const struct terrain *t, size_t row, size_t column, size_t n, double *out)
{
    debris_mm(t, row, column, n, out);
    for (size_t i = 0; i < n; i++) {
        out[i] /= 1000;
    }
}

/* --- the surface ----------------------------------------------------------------------------- */

/* The ground in whole millimetres, from its noise. */
static void ground_mm(const struct terrain *t, size_t row, size_t column, size_t n, double *noise)
{
    double part;
    const size_t down = slope_of(t, row, t->slope_rows, t->n_down, &part);
    const double along = 1 - (down % 2 == 0 ? part : 1 - part) / FOOT;
    const double level = BASE + t->fall_m * along * along;
    size_t wound = t->n_across; /* the slope that w is of */
    double w = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t across = slope_of(t, column + i, t->slope_columns, t->n_across, &part);
        if (across != wound) {
            w = wind(t, row, across);
            wound = across;
        }
        const double s = 2 * part - 1, u = s - w * (1 - s * s), v = u / WIDTH;
        const double z = level + t->rise_m * (sqrt(u * u + WIDTH * WIDTH) - WIDTH) -
                         t->cut_m / (1 + v * v) + (0.2 + 0.8 * u * u) * noise[i];
        noise[i] = floor(1000 * z + 0.5);
    }
}

void terrain_surface(const struct terrain *t, size_t row, size_t column, size_t n, double *out)
{
    enum { RUN = 256 };
    double mm[RUN];
    for (size_t i = 0; i < n; i++) {
        out[i] = 0;
    }
    for (unsigned k = LOWEST_OCTAVE; k <= t->top_octave; k++) {
        const double factor = ROUGH * t->order.cell_m * (double)(UINT64_C(1) << k);
        add_noise(t, FOR_GROUND, k, factor, row, column, n, out);
    }
    ground_mm(t, row, column, n, out);
    for (size_t from = 0; from < n; from += RUN) {
        const size_t run = n - from < RUN ? n - from : RUN;
        debris_mm(t, row, column + from, run, mm);
        for (size_t i = from; i < from + run; i++) {
            out[i] =
                has_altitude(t, row, column + i) ? (out[i] + mm[i - from]) / 1000 : TERRAIN_NODATA;
        }
    }
}
