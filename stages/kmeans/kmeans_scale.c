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
#include "stages/kmeans/kmeans_job.h"

#include "kernels/kmeans/kmeans_rule.h"

#include <math.h>
#include <stdlib.h>

static const double least_range = 0x1p-400, most_range = 0x1p400;

enum status kmeans_scale_begin(struct kmeans_job *job)
{
    for (size_t c = 0; c < job->layout.n_columns; c++) {
        job->min[c] = INFINITY;
        job->max[c] = -INFINITY;
        job->weight[c] = job->unit[c] = 1;
    }
    job->inertia_unit = 1;
    return kmeans_model_begin(job, 1, job->all.at, &job->all);
}

/* What d2 cannot exceed, however it is rounded. */
static enum status find_inertia_unit(struct kmeans_job *job)
{
    double most = 0;
    for (size_t c = 0; c < job->layout.n_columns; c++) {
        const double t = (job->max[c] - job->min[c]) * job->weight[c];
        most += t * t;
    }
    most *= 1.001;
    if (!(most < 0x1p1000) || !isfinite(job->tolerance)) {
        return status_fail(STATUS_INTERNAL, "%s: squares of up to %g, and a tolerance of %g",
                           job->name, most, job->tolerance);
    }
    job->inertia_unit = kmeans_unit(most);
    return STATUS_OK;
}

/* Names the bad point, if it is one of these. */
static enum status refuse(struct kmeans_job *job, const struct kmeans_points *x, struct span memory)
{
    (void)memory;
    struct kmeans_rows row;
    size_t c = 0;
    if (job->bad < x->first || job->bad - x->first >= x->n) {
        return STATUS_OK;
    }
    STATUS_TRY(kmeans_fetch_row(job, x, job->bad, &row));
    while (c + 1 < x->n_columns && isfinite(kmeans_rows_cell(&row, c))) {
        c++;
    }
    const bool infinite = !isnan(kmeans_rows_cell(&row, c));
    return status_fail(STATUS_BAD_INPUT,
                       "%s: row %llu (the first is 1) holds %s in %s: k-means needs finite "
                       "numbers; replace it, leave out the column, or leave out such rows (%s)",
                       job->name, (unsigned long long)kmeans_kept_row(job, job->bad) + 1,
                       infinite                                       ? "an infinity"
                       : job->args.inputs[0].table->has_missing_value ? "no value"
                                                                      : "a NaN",
                       kmeans_call_column(job, c).text,
                       infinite ? "missing_value=inf and missing=drop" : "missing=drop");
}

/* A column whose range is not that of the arithmetic. */
static enum status refuse_range(const struct kmeans_job *job, size_t c)
{
    const bool wide = job->max[c] - job->min[c] > most_range;
    return status_fail(STATUS_BAD_INPUT,
                       "%s: %s has values from %g to %g, too %s to be squared; scale it %s, or "
                       "leave it out (of a CSV: columns)",
                       job->name, kmeans_call_column(job, c).text, job->min[c], job->max[c],
                       wide ? "far apart" : "close together", wide ? "down" : "up");
}

/* Once the ranges are known. */
static enum status take_ranges(struct kmeans_job *job)
{
    const size_t d = job->layout.n_columns, bytes = d * sizeof(double);
    STATUS_TRY(kmeans_model_get(job, &job->all, KMEANS_MIN, job->min, bytes));
    STATUS_TRY(kmeans_model_get(job, &job->all, KMEANS_MAX, job->max, bytes));
    for (size_t c = 0; c < d; c++) {
        const double range = job->max[c] - job->min[c];
        job->unit[c] = kmeans_unit(fmax(fabs(job->min[c]), fabs(job->max[c])));
        if (range != 0 && !(range >= least_range && range <= most_range)) {
            return refuse_range(job, c);
        }
        if (job->choice.scale == KMEANS_SCALE_RANGE) {
            job->weight[c] = range > 0 ? 1 / range : 0;
        }
    }
    STATUS_TRY(kmeans_model_put(job, &job->all, KMEANS_UNIT, job->unit, bytes));
    return STATUS_OK;
}

/* Once the means are: squares are added up about them. */
static enum status take_means(struct kmeans_job *job)
{
    const size_t d = job->layout.n_columns, bytes = d * sizeof(double);
    STATUS_TRY(job->kernels->update(job->queue, &job->all));
    STATUS_TRY(kmeans_model_get(job, &job->all, KMEANS_CENTROID, job->mean, bytes));
    for (size_t c = 0; c < d; c++) {
        const double range = job->max[c] - job->min[c];
        job->square_unit[c] = kmeans_unit(range * range * 1.001);
    }
    STATUS_TRY(kmeans_model_put(job, &job->all, KMEANS_CENTRE, job->mean, bytes));
    return kmeans_model_put(job, &job->all, KMEANS_SQUARE_UNIT, job->square_unit, bytes);
}

/* Weights and tolerance, once the squares are. */
static enum status take_squares(struct kmeans_job *job)
{
    const size_t d = job->layout.n_columns;
    double sum = 0;
    STATUS_TRY(
        kmeans_model_get(job, &job->all, KMEANS_SQUARES, job->squares, d * sizeof *job->squares));
    for (size_t c = 0; c < d; c++) {
        const double variance = kmeans_mean(job->squares[c], job->n, job->square_unit[c]);
        if (job->choice.scale == KMEANS_SCALE_UNIT) {
            job->weight[c] = job->max[c] > job->min[c] ? 1 / sqrt(variance) : 0;
        }
        sum += job->weight[c] * job->weight[c] * variance;
    }
    job->tolerance = job->choice.tol * (sum / (double)d);
    return STATUS_OK;
}

static enum status add_means(struct kmeans_job *job, const struct kmeans_points *x,
                             struct span memory)
{
    (void)memory;
    return job->kernels->assign(job->queue, x, &job->all, (struct span){0});
}

static enum status add_squares(struct kmeans_job *job, const struct kmeans_points *x,
                               struct span memory)
{
    (void)memory;
    return job->kernels->squares(job->queue, x, &job->all);
}

/* A point that is not finite, found by its number, is looked for to be named. */
static enum status refuse_bad(struct kmeans_job *job)
{
    STATUS_TRY(kmeans_model_get(job, &job->all, KMEANS_BAD, &job->bad, sizeof job->bad));
    if (job->bad == UINT64_MAX) {
        return STATUS_OK;
    }
    STATUS_TRY(kmeans_points_visit(job, refuse));
    return status_fail(STATUS_CHANGED, "%s: row %llu is missing in a later pass", job->name,
                       (unsigned long long)kmeans_kept_row(job, job->bad) + 1);
}

enum status kmeans_scale(struct kmeans_job *job)
{
    STATUS_TRY(refuse_bad(job));
    STATUS_TRY(take_ranges(job));
    if (job->choice.tol > 0 || job->choice.scale == KMEANS_SCALE_UNIT) {
        STATUS_TRY(kmeans_points_visit(job, add_means));
        STATUS_TRY(take_means(job));
        STATUS_TRY(kmeans_points_visit(job, add_squares));
        STATUS_TRY(take_squares(job));
    }
    return find_inertia_unit(job);
}
