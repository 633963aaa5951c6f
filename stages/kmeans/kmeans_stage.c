/*
 * kmeans_stage - the pipeline `kmeans`: points in rows to clusters, by Lloyd's algorithm.
 *
 * The kernels' results do not depend on how points are cut: so points that stay in memory and those
 * that are read again for every pass give the same bits.
 */
#include "stages/kmeans/kmeans_job.h"

#include <math.h>
#include <stdlib.h>

static void free_job(void *context)
{
    struct kmeans_job *const job = context;
    kmeans_names_free(&job->names);
    free(job->labels);
    free(job->kept);
}

static void take_factors(struct kmeans_job *job)
{
    const size_t n = (size_t)job->choice.factors.n;
    job->solve.factors = job->factors;
    if (n > 0) {
        numbers_fill(&job->choice.factors, 0, n, job->factors);
    }
    for (size_t i = n; i-- > 0;) { /* from the end, to make room for a weight */
        job->factors[kmeans_measured(&job->layout, i)] = job->factors[i];
    }
}

static enum status new_job(struct job_io *io, struct kmeans_job **out)
{
    STATUS_TRY(room_host(&io->room, 1, sizeof **out, out));
    struct kmeans_job *const job = *out;
    *job = (struct kmeans_job){.io = io, .ops = io->ops, .queue = io->queue};
    STATUS_TRY(room_keep(&io->room, free_job, job));
    STATUS_TRY(kmeans_begin(&io->args, job));
    STATUS_TRY(kmeans_room(job, &io->room));
    take_factors(job);
    job->is_not_index = job->layout.has_weight && job->layout.weight == 0;
    job->solve.source = (struct kmeans_source){kmeans_points_visit, kmeans_labels_take, job};
    return STATUS_OK;
}

static enum status refuse_number(const struct kmeans_job *job, const struct kmeans_fault *f)
{
    const bool is_missing = isnan(f->low);
    return status_fail(STATUS_BAD_INPUT,
                       "%s: row %llu (the first is 1) holds %s in %s: k-means needs finite "
                       "numbers; replace it, leave out the column, or leave out such rows (%s)",
                       job->name, (unsigned long long)kmeans_kept_row(job, f->point) + 1,
                       !is_missing                                    ? "an infinity"
                       : job->args.inputs[0].table->has_missing_value ? "no value"
                                                                      : "a NaN",
                       kmeans_call_column(job, f->column).text,
                       is_missing ? "missing=drop" : "missing_value=inf and missing=drop");
}

static enum status refuse_range(const struct kmeans_job *job, const struct kmeans_fault *f)
{
    const bool is_far = f->what == KMEANS_TOO_FAR;
    return status_fail(STATUS_BAD_INPUT,
                       "%s: %s has values from %g to %g, too %s to be squared; scale it %s, or "
                       "leave it out (of a CSV: columns)",
                       job->name, kmeans_call_column(job, f->column).text, f->low, f->high,
                       is_far ? "far apart" : "close together", is_far ? "down" : "up");
}

static enum status refuse_weight(const struct kmeans_job *job, const struct kmeans_fault *f)
{
    return f->low < 0
               ? status_fail(
                     STATUS_BAD_INPUT,
                     "%s: row %llu (the first is 1) has a weight below 0 in %s; a weight is "
                     "0 or more: correct it, or leave out the row",
                     job->name, (unsigned long long)job->below,
                     kmeans_call_column(job, f->column).text)
               : status_fail(STATUS_BAD_INPUT,
                             "%s: all weights in %s are 0, so that no point counts; choose another "
                             "column, or leave out weight",
                             job->name, kmeans_call_column(job, f->column).text);
}

/* Says it in the file's terms. */
static enum status explain(const struct kmeans_job *job, enum status st)
{
    const struct kmeans_fault *const f = &job->solve.fault;
    switch (st == STATUS_OK ? KMEANS_SOUND : (int)f->what) {
    case KMEANS_NOT_FINITE:
        return refuse_number(job, f);
    case KMEANS_TOO_FAR:
    case KMEANS_TOO_CLOSE:
        return refuse_range(job, f);
    case KMEANS_BAD_MASS:
        return refuse_weight(job, f);
    case KMEANS_LOST:
        return st == STATUS_CHANGED
                   ? status_fail(st, "%s: a row is missing in a later pass", job->name)
                   : st;
    default:
        return st;
    }
}

static enum status kmeans_run(struct job_io *io)
{
    struct kmeans_job *job;
    STATUS_TRY(new_job(io, &job));
    STATUS_TRY(explain(job, kmeans_solve_all(&job->solve, &io->room)));
    STATUS_TRY(kmeans_labels_end(job));
    kmeans_view_find(job);
    return kmeans_report(job, io->out);
}

static const struct stage_part kmeans_parts[KMEANS_N_PARTS] = {
    [KMEANS_POINTS] = {.suffix = "points", .kind = STAGE_TABLE},
    [KMEANS_CENTROIDS] = {.suffix = "centroids",
                          .kind = STAGE_TABLE,
                          .columns = "centroids_columns",
                          .unless = "centroids"},
};

const struct stage_ops stage_kmeans = {
    .name = "kmeans",
    .about = "Divides the rows of a table into k clusters.",
    .examples = "leat run -s k=4 beans.points.csv\n"
                "leat run -s k=2-8 -s scale=unit beans.points.csv\n",
    .parts = kmeans_parts,
    .n_parts = KMEANS_N_PARTS,
    .specs = kmeans_specs,
    .n_specs = KMEANS_N_SPECS,
    .work = kmeans_work,
    .plan = kmeans_plan,
    .run = kmeans_run,
    .told = &kmeans_told,
};
