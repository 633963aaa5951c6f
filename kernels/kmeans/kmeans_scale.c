/*
 * kmeans_scale - what the runs need to know of all points before they begin: units of sums from the
 * ranges of columns, weights from `scale`, and the tolerance, which is tol times the mean of the
 * (scaled) columns' variances, as in scikit-learn.
 *
 * Variances take two more passes: means are the centroid of one cluster, then squares are added up
 * about them.
 *
 * Ranges of columns are 0 or between 2^-400 and 2^400. So squares of differences that count,
 * weights (a variance is no less than 2^-34 of a range's square) and their squares are normal
 * numbers, with room for the sum over any number of columns and for `tol`.
 */
#include "kernels/backend.h"
#include "kernels/kmeans/kmeans_rule.h"
#include "kernels/kmeans/kmeans_solve_state.h"

#include <inttypes.h>
#include <math.h>

static const double least_range = 0x1p-400, most_range = 0x1p400;

/* What d2 cannot exceed, however it is rounded. */
static enum status find_inertia_unit(struct kmeans_solve *s)
{
    double most = 0;
    for (size_t c = 0; c < s->request.n_columns; c++) {
        const double t = (s->max[c] - s->min[c]) * s->weight[c];
        most += t * t;
    }
    most *= 1.001;
    if (!(most < 0x1p1000) || !isfinite(s->tolerance)) {
        return status_fail(STATUS_INTERNAL, "squares of up to %g, and a tolerance of %g", most,
                           s->tolerance);
    }
    s->inertia_unit = kmeans_unit(most);
    return STATUS_OK;
}

/* Says what is wrong with the bad point, if it is one of these. */
static enum status refuse(void *arg, const struct kmeans_points *x, struct span memory)
{
    struct kmeans_solve *const s = arg;
    struct kmeans_fault *const f = &s->fault;
    struct kmeans_rows row;
    (void)memory;
    if (f->point < x->first || f->point - x->first >= x->n) {
        return STATUS_OK;
    }
    STATUS_TRY(kmeans_fetch_row(s, x, f->point, &row));
    while (f->column + 1 < x->n_columns && isfinite(kmeans_rows_cell(&row, f->column))) {
        f->column++;
    }
    f->what = KMEANS_NOT_FINITE;
    f->low = kmeans_rows_cell(&row, f->column);
    return status_fail(STATUS_BAD_INPUT, "point %" PRIu64 " is %g in column %zu (the first is 0)",
                       f->point, f->low, f->column);
}

/* A column whose range is not that of the arithmetic. */
static enum status refuse_range(struct kmeans_solve *s, size_t c)
{
    const bool is_far = (s->max[c] - s->min[c]) * fmax(s->weight[c], 1) > most_range;
    s->fault = (struct kmeans_fault){.what = is_far ? KMEANS_TOO_FAR : KMEANS_TOO_CLOSE,
                                     .column = c,
                                     .low = s->min[c],
                                     .high = s->max[c]};
    return status_fail(STATUS_BAD_INPUT, "column %zu (the first is 0) has values from %g to %g", c,
                       s->min[c], s->max[c]);
}

static bool is_mass(const struct kmeans_solve *s, size_t c)
{
    return s->request.has_mass && c == s->request.mass_column;
}

/* From now on points have masses, of which the largest is from 1/2 to 1. */
static enum status begin_mass(struct kmeans_solve *s)
{
    const size_t c = s->request.mass_column;
    int exponent;
    if (!(s->min[c] >= 0 && s->max[c] > 0)) {
        s->fault = (struct kmeans_fault){.what = KMEANS_BAD_MASS, .column = c, .low = s->min[c]};
        return status_fail(STATUS_BAD_INPUT, "column %zu (the first is 0) has masses from %g to %g",
                           c, s->min[c], s->max[c]);
    }
    (void)frexp(s->max[c], &exponent);
    s->mass_factor = ldexp(1, exponent > -1000 ? -exponent : 1000);
    s->unit[c] = kmeans_unit(1);
    return STATUS_OK;
}

/* Whether differences of so much can be squared. */
static bool is_fit(double range)
{
    return range == 0 || (range >= least_range && range <= most_range);
}

/* Once the ranges are known: with the centroids, where they are given. */
static enum status take_ranges(struct kmeans_solve *s)
{
    const size_t d = s->request.n_columns, bytes = d * sizeof(double);
    const size_t n_given = s->given != NULL ? s->request.k_last : 0;
    STATUS_TRY(kmeans_model_get(s, &s->all, KMEANS_MIN, s->min, bytes));
    STATUS_TRY(kmeans_model_get(s, &s->all, KMEANS_MAX, s->max, bytes));
    for (size_t i = 0; i < n_given * d; i++) {
        if (is_mass(s, i % d)) {
            continue;
        }
        s->min[i % d] = fmin(s->min[i % d], s->given[i]);
        s->max[i % d] = fmax(s->max[i % d], s->given[i]);
    }
    for (size_t c = 0; c < d; c++) {
        const double range = s->max[c] - s->min[c];
        s->unit[c] = kmeans_unit(fmax(fabs(s->min[c]), fabs(s->max[c])));
        s->weight[c] = is_mass(s, c) ? 0 : s->factors != NULL ? s->factors[c] : 1;
        if (!is_mass(s, c) && (!is_fit(range) || !is_fit(range * s->weight[c]))) {
            return refuse_range(s, c);
        }
        if (s->request.scale == KMEANS_SCALE_RANGE && !is_mass(s, c)) {
            s->weight[c] = range > 0 ? 1 / range : 0;
        }
    }
    STATUS_TRY(kmeans_model_put(s, &s->all, KMEANS_UNIT, s->unit, bytes));
    return STATUS_OK;
}

/* Once the means are: squares are added up about them. */
static enum status take_means(struct kmeans_solve *s)
{
    const size_t d = s->request.n_columns, bytes = d * sizeof(double);
    STATUS_TRY(s->kernels->update(s->queue, &s->all));
    STATUS_TRY(kmeans_model_get(s, &s->all, KMEANS_CENTROID, s->mean, bytes));
    for (size_t c = 0; c < d; c++) {
        const double range = s->max[c] - s->min[c];
        s->square_unit[c] = kmeans_unit(range * range * 1.001);
    }
    STATUS_TRY(kmeans_model_put(s, &s->all, KMEANS_CENTRE, s->mean, bytes));
    return kmeans_model_put(s, &s->all, KMEANS_SQUARE_UNIT, s->square_unit, bytes);
}

/* Weights and tolerance, once the squares are. */
static enum status take_squares(struct kmeans_solve *s)
{
    const size_t d = s->request.n_columns;
    double sum = 0;
    STATUS_TRY(kmeans_model_get(s, &s->all, KMEANS_SQUARES, s->squares, d * sizeof *s->squares));
    for (size_t c = 0; c < d; c++) {
        const double variance = kmeans_mean(s->squares[c], s->n, s->square_unit[c]);
        if (s->request.scale == KMEANS_SCALE_UNIT && !is_mass(s, c)) {
            s->weight[c] = s->max[c] > s->min[c] ? 1 / sqrt(variance) : 0;
        }
        sum += s->weight[c] * s->weight[c] * variance;
    }
    s->tolerance = s->request.tol * (sum / (double)(d - s->request.has_mass));
    return STATUS_OK;
}

static enum status add_means(void *arg, const struct kmeans_points *x, struct span memory)
{
    const struct kmeans_solve *const s = arg;
    (void)memory;
    return s->kernels->assign(s->queue, x, &s->all, (struct span){0});
}

static enum status add_squares(void *arg, const struct kmeans_points *x, struct span memory)
{
    const struct kmeans_solve *const s = arg;
    (void)memory;
    return s->kernels->squares(s->queue, x, &s->all);
}

/* A point that is not finite, found by its number, is looked for to be named. */
static enum status refuse_bad(struct kmeans_solve *s)
{
    uint64_t bad;
    STATUS_TRY(kmeans_model_get(s, &s->all, KMEANS_BAD, &bad, sizeof bad));
    if (bad == UINT64_MAX) {
        return STATUS_OK;
    }
    s->fault = (struct kmeans_fault){.what = KMEANS_LOST, .point = bad};
    STATUS_TRY(kmeans_visit_all(s, refuse));
    return status_fail(STATUS_CHANGED, "point %" PRIu64 " is missing in a later pass", bad);
}

enum status kmeans_scale(struct kmeans_solve *s)
{
    STATUS_TRY(refuse_bad(s));
    STATUS_TRY(take_ranges(s));
    if ((s->request.tol > 0 && s->request.init != KMEANS_INIT_GIVEN) ||
        s->request.scale == KMEANS_SCALE_UNIT) {
        STATUS_TRY(kmeans_visit_all(s, add_means));
        STATUS_TRY(take_means(s));
        STATUS_TRY(kmeans_visit_all(s, add_squares));
        STATUS_TRY(take_squares(s));
    }
    STATUS_TRY(s->request.has_mass ? begin_mass(s) : STATUS_OK);
    return find_inertia_unit(s);
}
