/*
 * pearson_columns - series across lines that do not fit into memory: slabs of samples of every
 * series, into the accumulators of the kernels, which take missing values, too. Co-moments are
 * accumulated in double whatever precision was asked, and the samples are forgotten.
 */
#include "stages/pearson/pearson_job.h"

static void free_columns(void *context)
{
    struct pearson_job *const job = context;
    job->ops->pearson->columns_free(job->queue, job->columns);
}

enum status pearson_columns_count(struct pearson_job *job)
{
    const struct pearson_layout *const l = &job->layout;
    struct span slab;
    room_count(&job->work, 0,
               job->ops->pearson->columns_bytes(l->cells, l->unit_lines, !job->choice.reject));
    STATUS_TRY(pearson_stage(job, &job->units, &slab));
    STATUS_TRY(l->lines > l->unit_lines ? pearson_stage(job, &job->units, &slab) : STATUS_OK);
    return correlate_grow(&job->c, l->cells);
}

static enum status add(struct pearson_job *job, struct span slab, size_t n)
{
    return job->ops->pearson->columns_add(job->queue, job->columns, slab, job->layout.type, n);
}

/* Lines that have come while all of them seemed to fit, cut as if they came now. */
static enum status add_kept(struct pearson_job *job)
{
    const struct pearson_layout *const l = &job->layout;
    const size_t line = l->cells * dtype_bytes(l->type);
    for (size_t k = 0; k < job->n_came; k++) {
        const struct lines_block *const b = &job->came[k];
        for (size_t at = 0, n; at < b->n; at += n) {
            n = b->n - at < l->unit_lines ? b->n - at : l->unit_lines;
            STATUS_TRY(queue_check(job->queue));
            STATUS_TRY(add(job, span_from(b->at, at * line), n));
        }
    }
    return STATUS_OK;
}

/* All slabs. */
static enum status add_up(struct pearson_job *job)
{
    struct span slab;
    size_t n;
    bool are;
    STATUS_TRY(pearson_more(job, &are));
    while (are) {
        STATUS_TRY(pearson_stage(job, &job->units, &slab));
        STATUS_TRY(pearson_read(job, slab, &n));
        STATUS_TRY(add(job, slab, n));
        room_free(&job->arriving); /* those that came first have been added, too */
        job->lines += n;
        STATUS_TRY(pearson_more(job, &are));
    }
    return STATUS_OK;
}

enum status pearson_columns(struct pearson_job *job)
{
    const struct pearson_kernels *const k = job->ops->pearson;
    const struct pearson_layout *const l = &job->layout;
    STATUS_TRY(
        k->columns_new(job->queue, l->cells, l->unit_lines, job->choice.diff, &job->columns));
    STATUS_TRY(room_keep(&job->work, free_columns, job));
    STATUS_TRY(add_kept(job));
    STATUS_TRY(add_up(job));
    job->n_samples = pearson_samples(l, job->lines);
    STATUS_TRY(correlate_grow(&job->c, l->cells));
    STATUS_TRY(correlate_panels(&job->c, l->cells));
    const struct matrix matrix = correlate_matrix(&job->c);
    return k->columns_finish(job->queue, job->columns, job->c.moments, &matrix);
}
