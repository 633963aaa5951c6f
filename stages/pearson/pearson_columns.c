/*
 * pearson_columns - blocks of samples of every series, into the accumulators of the kernels, which
 * take missing values, too.
 */
#include "stages/pearson/pearson_job.h"

static enum status columns_open(struct pearson_job *job)
{
    job->n_series = job->layout.cells;
    return job->ops->pearson->columns_new(job->queue, job->layout.cells, job->layout.unit_lines,
                                          job->choice.diff, &job->columns);
}

static enum status columns_take(struct pearson_job *job, size_t n_lines)
{
    return job->ops->pearson->columns_add(job->queue, job->columns, job->unit, job->layout.type,
                                          n_lines);
}

static void columns_release(struct pearson_job *job)
{
    if (job->columns != NULL) {
        job->ops->pearson->columns_free(job->queue, job->columns);
        job->columns = NULL;
    }
    pearson_job_unstage(job);
}

static enum status columns_finish(struct pearson_job *job)
{
    const size_t n = job->n_series, panel = job->layout.panel;
    job->n_samples = pearson_layout_samples(&job->layout, job->lines);
    job->moments.capacity = n;
    STATUS_TRY(pearson_job_alloc(job, n, moments_bytes(1), &job->moments.at));
    for (size_t p = 0; p * panel < n; p++) {
        const size_t width = matrix_panel_width(p, panel, n);
        struct span unused;
        STATUS_TRY(pearson_job_panel(job, width - p * panel, width, &unused));
    }
    const struct matrix matrix = {
        .n_series = n, .panel = panel, .type = job->layout.r_type, .panels = job->panels};
    return job->ops->pearson->columns_finish(job->queue, job->columns, job->moments, &matrix);
}

static enum status columns_common(struct pearson_job *job, struct matrix_pair *pairs, size_t n)
{
    return job->ops->pearson->columns_common(job->queue, job->columns, pairs, n);
}

const struct pearson_strategy pearson_columns = {
    .open = columns_open,
    .begin = pearson_job_stage,
    .take = columns_take,
    .finish = columns_finish,
    .common = columns_common,
    .release = columns_release,
};
