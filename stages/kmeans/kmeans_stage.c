/*
 * kmeans_stage - the pipeline `kmeans`: points in rows to clusters, by Lloyd's algorithm.
 *
 * The kernels' results do not depend on how points are cut: so points that stay in memory and those
 * that are read again for every pass give the same bits.
 */
#include "stages/kmeans/kmeans_job.h"

#include <math.h>
#include <stdlib.h>

static enum status kmeans_plan(const struct stage_args *args, struct stage_need *out)
{
    struct kmeans_choice choice;
    struct kmeans_layout layout;
    STATUS_TRY(kmeans_lay_out(args, &choice, &layout));
    return kmeans_layout_need(args, &choice, &layout, out);
}

static void free_job(void *context)
{
    struct kmeans_job *const job = context;
    kmeans_names_free(&job->names);
    free(job->labels);
    free(job->kept);
    free(job);
}

static enum status new_job(struct job_io *io, struct kmeans_job **out)
{
    struct kmeans_job *const job = *out = calloc(1, sizeof *job);
    if (job == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a job");
    }
    *job = (struct kmeans_job){.io = io,
                               .args = io->args,
                               .name = io->args.inputs[0].name,
                               .ops = io->ops,
                               .queue = io->queue};
    STATUS_TRY(room_keep(&io->room, free_job, job));
    STATUS_TRY(kmeans_lay_out(&io->args, &job->choice, &job->layout));
    STATUS_TRY(kmeans_room(job, &io->room));
    job->solve.source = (struct kmeans_source){kmeans_points_visit, job};
    return kmeans_solve_begin(&job->solve, io->queue);
}

/* The first pass has ended: whether what came can be clustered. */
static enum status check_points(const struct kmeans_job *job)
{
    const struct kmeans_layout *const l = &job->layout;
    if (job->n == 0 && job->n_rows > 0) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: each of its %zu rows has a missing value; leave out the columns "
                           "that have them (of a CSV: columns)",
                           job->name, job->n_rows);
    }
    if (job->n == 0) {
        return status_fail(STATUS_BAD_INPUT, "%s: no row holds numbers", job->name);
    }
    if (l->n_known && job->n_rows != l->n) {
        return status_fail(STATUS_INTERNAL, "%s: %zu rows came, %zu were announced", job->name,
                           job->n_rows, l->n);
    }
    return kmeans_check_points(&job->args, &job->choice, job->n);
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
    STATUS_TRY(kmeans_points_read(job));
    STATUS_TRY(check_points(job));
    STATUS_TRY(explain(job, kmeans_solve_fit(&job->solve, job->n)));
    STATUS_TRY(kmeans_labels(job));
    return kmeans_report(job, io->out);
}

static const struct stage_part kmeans_parts[] = {{.suffix = "points", .kind = STAGE_TABLE}};

const struct stage_ops stage_kmeans = {
    .name = "kmeans",
    .parts = kmeans_parts,
    .n_parts = 1,
    .specs = kmeans_specs,
    .n_specs = KMEANS_N_SPECS,
    .work = kmeans_work,
    .plan = kmeans_plan,
    .run = kmeans_run,
    .told = &kmeans_told,
};
