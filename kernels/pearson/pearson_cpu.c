/*
 * pearson_cpu - increments and standardized rows, and the table of the CPU's Pearson kernels.
 *
 * standardize() reads a row twice (sums about the mean, then scaling), a row of 8192 doubles the
 * second time from cache, and writes it once. The mean of the moments is only a first guess: with
 * d = x - mean,   mean' = mean + sum d / n,   M2 = sum d^2 - (sum d)^2 / n   in block sums of
 * VECTOR_BLOCK, so that the norm is right even where the moments lost digits to an outlier. What
 * the rounding of mean' leaves is subtracted by itself: it would add its square to every r.
 */
#include "kernels/pearson/pearson_cpu.h"

#include "kernels/base/vector_cpu.h"
#include "kernels/pearson/pearson_rule.h"

#include <math.h>
#include <string.h>

/* Samples in a task, about: rows are grouped while they are short. */
enum { TASK_SAMPLES = 1 << 16, LINE = 64 / sizeof(double) };

static size_t rows_per_task(size_t n_samples)
{
    return cpu_max(1, TASK_SAMPLES / cpu_max(1, n_samples));
}

/* --- increments ------------------------------------------------------------------------------ */

void cpu_increments(const double *x, size_t n, enum pearson_diff diff, double *out)
{
    if (diff == PEARSON_DIFF_STEP) {
        for (size_t t = 0; t < n; ++t) {
            out[t] = x[t + 1] - x[t];
        }
        return;
    }
    for (size_t t = 0; t < n; ++t) {
        out[t] = pearson_increment(x[t], x[t + 1], diff);
    }
}

struct diff_job {
    const struct series_rows *x;
    size_t per_task;
    enum pearson_diff diff;
    double *out;
};

static void diff_body(void *arg, size_t index)
{
    const struct diff_job *job = arg;
    const struct series_rows *x = job->x;
    double buffer[VECTOR_BLOCK];
    size_t end = cpu_min((index + 1) * job->per_task, x->n_series), n_out = x->n_samples - 1;
    for (size_t s = index * job->per_task; s < end; ++s) {
        /* blocks overlap by one sample */
        for (size_t t = 0; t < n_out; t += VECTOR_BLOCK - 1) {
            size_t n = cpu_min(VECTOR_BLOCK - 1, n_out - t);
            const double *block = vector_widen(cpu_row(x, s), x->type, t, n + 1, buffer);
            cpu_increments(block, n, job->diff, job->out + s * n_out + t);
        }
    }
}

static enum status diff_rows(struct queue *q, const struct series_rows *x, enum pearson_diff diff,
                             struct span out)
{
    if (x->n_samples < 2 || x->n_series == 0) {
        return STATUS_OK;
    }
    if (diff == PEARSON_DIFF_NONE) {
        return status_fail(STATUS_INTERNAL, "diff: no increment was asked for");
    }
    STATUS_TRY(cpu_expect_rows(x, "diff"));
    STATUS_TRY(cpu_expect(out, x->n_series, (x->n_samples - 1) * sizeof(double), "diff"));
    struct diff_job job = {x, rows_per_task(x->n_samples), diff, out.at};
    return cpu_run_long(q, cpu_pieces(x->n_series, job.per_task), diff_body, &job);
}

/* --- standardize ----------------------------------------------------------------------------- */

size_t cpu_z_stride(size_t n_samples)
{
    return cpu_pieces(n_samples, LINE) * LINE;
}

/* Every precision takes its products in double. */
static size_t z_bytes(const struct queue *q, enum pearson_precision precision, size_t n_samples)
{
    (void)q;
    (void)precision;
    return cpu_z_stride(n_samples) * sizeof(double);
}

struct z_job {
    const struct series_rows *x;
    size_t per_task;
    struct moments moments;
    double *z;
    size_t stride;
};

/* Computes MEAN and M2 again, from values about the first mean. Returns what rounding takes from
 * the mean: the mean of what is left after it is subtracted. */
static double recentre(const struct z_job *job, const void *row, size_t entry)
{
    double buffer[VECTOR_BLOCK], sum = 0, squares = 0;
    double n = moments_array(job->moments, MOMENTS_COUNT)[entry];
    double *mean = moments_array(job->moments, MOMENTS_MEAN) + entry;
    for (size_t t = 0; t < job->x->n_samples; t += VECTOR_BLOCK) {
        size_t in_block = cpu_min(VECTOR_BLOCK, job->x->n_samples - t);
        double s, s2;
        vector_centred_sums(vector_widen(row, job->x->type, t, in_block, buffer), in_block, *mean,
                            &s, &s2);
        sum += s;
        squares += s2;
    }
    if (n > 0) {
        double m2 = squares - sum * (sum / n);
        double first = *mean;
        *mean += sum / n;
        moments_array(job->moments, MOMENTS_M2)[entry] = m2 > 0 || m2 != m2 ? m2 : 0;
        return (first - *mean) + sum / n;
    }
    return 0;
}

/* Writes a row of z, about mean + low and scaled, and returns the sum of z[t] z[t + 1]. */
static double scale_row(const struct z_job *job, const void *row, struct pearson_mean mean,
                        double scale, double *z_row)
{
    double widened[VECTOR_BLOCK], lag = 0;
    for (size_t t = 0; t < job->x->n_samples; t += VECTOR_BLOCK) {
        size_t n = cpu_min(VECTOR_BLOCK, job->x->n_samples - t);
        double *z = z_row + t;
        vector_scale(vector_widen(row, job->x->type, t, n, widened), n, mean.at, mean.low, scale,
                     z);
        /* the pair across the block's edge first */
        lag += t == 0 ? 0 : z[-1] * z[0];
        lag += vector_dot(z, z + 1, n - 1);
    }
    return lag;
}

static void z_body(void *arg, size_t index)
{
    const struct z_job *job = arg;
    size_t end = cpu_min((index + 1) * job->per_task, job->x->n_series);
    size_t n_samples = job->x->n_samples;
    for (size_t s = index * job->per_task; s < end; ++s) {
        const void *row = cpu_row(job->x, s);
        double *z_row = job->z + s * job->stride, lag = (double)NAN;
        size_t entry = job->x->first + s;
        double low = recentre(job, row, entry);
        double m2 = moments_array(job->moments, MOMENTS_M2)[entry];
        struct pearson_mean mean = {moments_array(job->moments, MOMENTS_MEAN)[entry], low};
        if (moments_degenerate_at(job->moments, entry)) {
            memset(z_row, 0, n_samples * sizeof *z_row);
        } else {
            lag = scale_row(job, row, mean, 1.0 / sqrt(m2), z_row);
        }
        memset(z_row + n_samples, 0, (job->stride - n_samples) * sizeof *z_row);
        moments_array(job->moments, MOMENTS_LAG1)[entry] = lag;
    }
}

static enum status standardize(struct queue *q, enum pearson_precision precision,
                               const struct series_rows *x, struct moments moments, struct span z)
{
    STATUS_TRY(cpu_expect_rows(x, "standardize"));
    STATUS_TRY(cpu_expect(z, x->n_series, z_bytes(q, precision, x->n_samples), "standardize"));
    struct z_job job = {.x = x,
                        .per_task = rows_per_task(x->n_samples),
                        .moments = moments,
                        .z = z.at,
                        .stride = cpu_z_stride(x->n_samples)};
    return cpu_run_long(q, cpu_pieces(x->n_series, job.per_task), z_body, &job);
}

/* A core's. */
static double rate(const struct queue *q, enum pearson_precision precision)
{
    (void)q;
    (void)precision;
    return 1e10;
}

const struct pearson_kernels cpu_pearson = {
    .turn = cpu_turn,
    .diff_rows = diff_rows,
    .rank_rows = cpu_rank_rows,
    .rank_bytes = cpu_rank_bytes,
    .rank_rate = 7e7,
    .z_bytes = z_bytes,
    .z_in_place = true,
    .sweep_cells = (size_t)1 << 22,
    .standardize = standardize,
    .gram = cpu_gram,
    .gram_blocks = cpu_gram_blocks,
    .rate = rate,
    .gram_gaps = cpu_gram_gaps,
    .gaps_bytes = cpu_gaps_bytes,
    .pairs_add = cpu_pairs_add,
    .exact_pairs = cpu_exact_pairs,
    .overlaps = cpu_overlaps,
    .keep_lag = cpu_keep_lag,
    .count_levels = cpu_count_levels,
    .columns_bytes = cpu_columns_bytes,
    .columns_new = cpu_columns_new,
    .columns_free = cpu_columns_free,
    .columns_add = cpu_columns_add,
    .columns_finish = cpu_columns_finish,
    .columns_few = CPU_COLUMNS_FEW,
    .columns_common = cpu_columns_common,
};
