/*
 * sciddicat_relief - reduction, and shading by Horn's gradient.
 *
 * With a, b, c / d, e, f / g, h, i around a cell, a in the north-west:
 *   dz/dx = ((c + 2 f + i) - (a + 2 d + g)) / (8 width), dz/dy likewise from south to north;
 *   shade = n . l with n = (-dz/dx, -dz/dy, 1) of length 1 and l = (-1/2, 1/2, sqrt(1/2)).
 * Altitudes are exaggerated so that a mean slope of the terrain is one that shows.
 *
 * Source: B. K. P. Horn, "Hill shading and the reflectance map", Proc. IEEE 69, 1981.
 */
#include "stages/sciddicat/sciddicat_map.h"

#include <math.h>
#include <stdlib.h>

static const double shown_slope = 0.5;    /* the mean slope that is aimed at ... */
static const double most_exaggerated = 8; /* ... where cells have a size, by this at most */

enum {
    LEAST_AROUND = 300,                     /* cells around the debris that are shown */
    CELL_BYTES = 3 * (int)sizeof(float) + 2 /* of a relief */
};

/* The part of the grid that is shown. */
struct frame {
    size_t row, column, rows, columns;
    bool is_part; /* there are numbers outside of it */
};

static size_t reduced(size_t n, size_t factor)
{
    return (n - 1) / factor + 1;
}

static size_t factor_for(size_t rows, size_t columns)
{
    return reduced(rows > columns ? rows : columns, RELIEF_SIDE);
}

size_t sciddicat_relief_bytes(size_t rows, size_t columns)
{
    /* whatever the factor, which is that of the part shown */
    const size_t height = rows < RELIEF_SIDE ? rows : RELIEF_SIDE;
    const size_t width = columns < RELIEF_SIDE ? columns : RELIEF_SIDE;
    return height * width * CELL_BYTES;
}

static bool is_covered(const struct sciddicat_job *job, size_t k)
{
    return job->slide.arrival[k] >= 0 || (job->hit != NULL && job->hit[k] != 0) ||
           (job->runs.n > 1 && job->runs.share[k] > 0);
}

static bool is_known(const struct sciddicat_job *job, size_t k)
{
    return !job->slide.nodata[k] || job->slide.arrival[k] >= 0;
}

/* The rectangle around the cells of a kind; without rows when there are none. */
static struct frame frame_of(const struct sciddicat_job *job,
                             bool (*is_kind)(const struct sciddicat_job *, size_t))
{
    const size_t rows = job->dem->rows, columns = job->dem->columns;
    size_t top = rows, bottom = 0, left = columns, right = 0;
    for (size_t i = 0; i < rows && !queue_is_stopped(job->slide.home); i++) {
        for (size_t j = 0; j < columns; j++) {
            if (is_kind(job, i * columns + j)) {
                top = i < top ? i : top;
                bottom = i + 1;
                left = j < left ? j : left;
                right = j + 1 > right ? j + 1 : right;
            }
        }
    }
    if (bottom == 0) {
        return (struct frame){.rows = 0};
    }
    return (struct frame){
        .row = top, .column = left, .rows = bottom - top, .columns = right - left};
}

/* [*first, *first + *n) cut to within `by` of [first_in, first_in + n_in). */
static void narrow(size_t *first, size_t *n, size_t first_in, size_t n_in, size_t by)
{
    const size_t end = *first + *n, end_in = first_in + n_in + by;
    const size_t begin_in = first_in > by ? first_in - by : 0;
    *first = *first > begin_in ? *first : begin_in;
    *n = (end < end_in ? end : end_in) - *first;
}

/* What is shown: cells with numbers; of many, those around the debris. */
static struct frame find_frame(const struct sciddicat_job *job)
{
    struct frame f = frame_of(job, is_known);
    if (f.rows == 0) {
        return (struct frame){.rows = job->dem->rows, .columns = job->dem->columns};
    }
    if (factor_for(f.rows, f.columns) == 1) {
        return f;
    }
    const struct frame debris = frame_of(job, is_covered);
    const size_t longer = debris.rows > debris.columns ? debris.rows : debris.columns;
    const size_t by = longer / 2 > LEAST_AROUND ? longer / 2 : LEAST_AROUND;
    if (debris.rows > 0) {
        const size_t rows = f.rows, columns = f.columns;
        narrow(&f.row, &f.rows, debris.row, debris.rows, by);
        narrow(&f.column, &f.columns, debris.column, debris.columns, by);
        f.is_part = f.rows < rows || f.columns < columns;
    }
    return f;
}

/* Cell `at` of the relief from the grid's cells that it stands for. */
static void reduce_cell(const struct sciddicat_job *job, const double *debris,
                        const struct frame *frame, size_t at, struct sciddicat_relief *r)
{
    const size_t n = r->factor, y = at / r->width, x = at % r->width;
    const size_t row = job->dem->cell_y < 0 ? r->height - 1 - y : y;
    const size_t end_i = (row + 1) * n < frame->rows ? (row + 1) * n : frame->rows;
    const size_t end_j = (x + 1) * n < frame->columns ? (x + 1) * n : frame->columns;
    double sum = 0, thickest = 0;
    size_t count = 0;
    enum relief_covered covered = RELIEF_NEVER;
    uint8_t observed = 0;
    for (size_t i = row * n; i < end_i; i++) {
        for (size_t j = x * n; j < end_j; j++) {
            const size_t k = (frame->row + i) * job->dem->columns + frame->column + j;
            observed |= job->hit != NULL ? job->hit[k] : 0;
            if (landslide_masks(&job->slide, k)) {
                continue;
            }
            sum += job->slide.nodata[k] ? 0 : job->slide.z[k];
            count += !job->slide.nodata[k];
            thickest = fmax(thickest, debris[k]);
            if (job->slide.arrival[k] >= 0 && covered != RELIEF_START) {
                covered = job->slide.arrival[k] == 0 ? RELIEF_START : RELIEF_LATER;
            }
        }
    }
    r->altitude[at] = count > 0 ? (float)(sum / (double)count) : NAN;
    r->debris[at] = (float)thickest;
    r->covered[at] = (uint8_t)covered;
    r->observed[at] = observed;
}

/* --- shading ---------------------------------------------------------------------------------- */

struct slope {
    double x, y; /* to the east, to the north */
};

/* NaN outside, and where there is none. */
static double known_at(const struct sciddicat_relief *r, long i, long j)
{
    const bool inside = i >= 0 && j >= 0 && i < (long)r->height && j < (long)r->width;
    return inside ? (double)r->altitude[(size_t)i * r->width + (size_t)j] : NAN;
}

/* Of a neighbour; at edges the terrain goes on as it came from the opposite side, and at corners as
 * it does along both edges. */
static double altitude_at(const struct sciddicat_relief *r, size_t y, size_t x, long down,
                          long right)
{
    const long i = (long)y, j = (long)x;
    const double there = known_at(r, i + down, j + right), here = known_at(r, i, j);
    const double opposite = known_at(r, i - down, j - right);
    if (!isnan(there)) {
        return there;
    }
    if (!isnan(opposite)) {
        return 2 * here - opposite;
    }
    return down == 0 || right == 0
               ? here
               : altitude_at(r, y, x, down, 0) + altitude_at(r, y, x, 0, right) - here;
}

static struct slope slope_at(const struct sciddicat_relief *r, const struct grid_scale *scale,
                             size_t k)
{
    const size_t y = k / r->width, x = k % r->width;
    const double a = altitude_at(r, y, x, -1, -1), b = altitude_at(r, y, x, -1, 0),
                 c = altitude_at(r, y, x, -1, 1), d = altitude_at(r, y, x, 0, -1),
                 f = altitude_at(r, y, x, 0, 1), g = altitude_at(r, y, x, 1, -1),
                 h = altitude_at(r, y, x, 1, 0), i = altitude_at(r, y, x, 1, 1);
    const double n = 8 * (double)r->factor;
    return (struct slope){.x = (c + 2 * f + i - a - 2 * d - g) / (n * scale->cell_x_m),
                          .y = (a + 2 * b + c - g - 2 * h - i) / (n * scale->cell_y_m)};
}

static double exaggeration(const struct sciddicat_relief *r, const struct grid_scale *scale)
{
    double sum = 0;
    size_t count = 0;
    for (size_t k = 0; k < r->width * r->height; k++) {
        if (!isnan(r->altitude[k])) {
            const struct slope s = slope_at(r, scale, k);
            sum += hypot(s.x, s.y);
            count++;
        }
    }
    if (!(sum > 0)) {
        return 1;
    }
    const double wanted = shown_slope * (double)count / sum;
    return scale->unit == GRID_LENGTH ? fmin(fmax(wanted, 1), most_exaggerated) : wanted;
}

static void shade(struct sciddicat_relief *r, const struct grid_scale *scale)
{
    const double by = exaggeration(r, scale);
    for (size_t k = 0; k < r->width * r->height; k++) {
        double light = M_SQRT1_2; /* without an altitude: as if it were level */
        if (!isnan(r->altitude[k])) {
            const struct slope s = slope_at(r, scale, k);
            const double p = by * s.x, q = by * s.y;
            light = (0.5 * p - 0.5 * q + M_SQRT1_2) / sqrt(1 + p * p + q * q);
        }
        r->shade[k] = light > 0 ? (float)light : 0;
    }
}

enum status sciddicat_relief_new(const struct sciddicat_job *job, const double *debris,
                                 struct sciddicat_relief *out)
{
    const struct frame frame = find_frame(job);
    enum status st = queue_check(job->slide.home);
    STATUS_TRY(st);
    struct sciddicat_relief r = {.factor = factor_for(frame.rows, frame.columns),
                                 .row = frame.row,
                                 .column = frame.column,
                                 .is_part = frame.is_part};
    r.width = reduced(frame.columns, r.factor);
    r.height = reduced(frame.rows, r.factor);
    const size_t n = r.width * r.height;
    r.altitude = malloc(n * CELL_BYTES);
    if (r.altitude == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a picture of %zu x %zu cells", r.width,
                           r.height);
    }
    r.debris = r.altitude + n;
    r.shade = r.debris + n;
    r.covered = (uint8_t *)(r.shade + n);
    r.observed = r.covered + n;
    for (size_t k = 0; k < n && st == STATUS_OK; k++) {
        st = k % r.width == 0 ? queue_check(job->slide.home) : STATUS_OK;
        reduce_cell(job, debris, &frame, k, &r);
    }
    if (st != STATUS_OK) {
        free(r.altitude);
        return st;
    }
    shade(&r, &job->scale);
    *out = r;
    return STATUS_OK;
}
