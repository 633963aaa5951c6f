/*
 * pearson_columns - series across lines that do not fit into memory, and few very long ones: slabs
 * of samples of every series, into the accumulators of the kernels. Co-moments are accumulated in
 * double whatever precision was asked, and the samples are forgotten: where some are missing, all
 * come again (kernels/pearson/column_gaps.h), unless the series are few.
 */
#include "stages/pearson/pearson_job.h"

static void free_columns(void *context)
{
    struct pearson_job *const job = context;
    job->ops->pearson->columns_free(job->queue, job->columns);
    job->columns = NULL;
}

/* The memory of pairs with gaps. */
static enum status gaps_room(struct pearson_job *job, struct room *room)
{
    const struct pearson_layout *const l = &job->layout;
    job->gaps = (struct column_gaps){
        .queue = job->queue,
        .n_samples = job->n_samples,
        .slab_samples = l->unit_lines,
        .type = l->type,
        .diff = job->choice.diff,
        .moments = job->c.moments,
        .matrix = {
            .n_series = l->cells, .panel = l->panel, .type = DTYPE_F64, .panels = job->c.panels}};
    return column_gaps_room(&job->gaps, room);
}

enum status pearson_columns_count(struct pearson_job *job)
{
    const struct pearson_layout *const l = &job->layout;
    const uint64_t whole = job->ops->pearson->columns_bytes(l->cells, l->unit_lines);
    struct room gaps = {0};
    struct span slab;
    STATUS_TRY(job->choice.reject || pearson_has_few(job) ? STATUS_OK : gaps_room(job, &gaps));
    room_count(&job->work, gaps.host, whole > gaps.backend ? whole : gaps.backend);
    STATUS_TRY(pearson_stage(job, &job->units, &slab));
    STATUS_TRY(l->lines > l->unit_lines ? pearson_stage(job, &job->units, &slab) : STATUS_OK);
    return correlate_grow(&job->c, l->cells);
}

/* To the accumulators, or to those of pairs with gaps. */
static enum status add(struct pearson_job *job, struct span slab, size_t n)
{
    return job->columns == NULL ? column_gaps_add(&job->gaps, slab, n)
                                : job->ops->pearson->columns_add(job->queue, job->columns, slab,
                                                                 job->layout.type, n);
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
    STATUS_TRY(room_keep(&job->slabs, free_columns, job));
    STATUS_TRY(add_kept(job));
    STATUS_TRY(add_up(job));
    job->n_samples = pearson_samples(l, job->lines);
    STATUS_TRY(correlate_grow(&job->c, l->cells));
    STATUS_TRY(correlate_panels(&job->c, l->cells));
    const struct matrix matrix = correlate_matrix(&job->c);
    return k->columns_finish(job->queue, job->columns, job->c.moments, &matrix);
}

/* All slabs once more. */
static enum status add_again(struct pearson_job *job)
{
    const size_t lines = job->lines;
    job->rows.chunk = NULL; /* has looked at all of them */
    job->lines = 0;
    job->turn = 0;
    STATUS_TRY(rows_again(&job->rows, job->io));
    STATUS_TRY(add_up(job));
    return job->lines == lines
               ? STATUS_OK
               : status_fail(STATUS_CHANGED, "'%s' changed while it was read", job->name);
}

enum status pearson_columns_gaps(struct pearson_job *job)
{
    bool again = !pearson_has_few(job);
    if (!again) {
        return STATUS_OK;
    }
    room_free(&job->slabs);
    STATUS_TRY(gaps_room(job, &job->work));
    while (again) {
        STATUS_TRY(add_again(job));
        STATUS_TRY(column_gaps_end(&job->gaps, &again));
    }
    return STATUS_OK;
}

enum status pearson_columns_common(struct pearson_job *job, struct matrix_pair *pairs, size_t n)
{
    if (pearson_has_few(job)) {
        job->ops->pearson->columns_common(job->columns, pairs, n);
        return STATUS_OK;
    }
    for (size_t done = 0, part; done < n; done += part) {
        part = n - done < job->gaps.most ? n - done : job->gaps.most;
        STATUS_TRY(column_gaps_count(&job->gaps, pairs + done, part));
        STATUS_TRY(add_again(job));
        STATUS_TRY(column_gaps_counted(&job->gaps, pairs + done));
    }
    return STATUS_OK;
}
