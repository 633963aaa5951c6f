/*
 * kmeans_stage - the pipeline `kmeans`: points in rows to clusters, by Lloyd's algorithm.
 *
 * The first pass finds ranges and samples. Where the points stay in memory all else happens in the
 * first finish(); else a pass follows the other until the labels have left, portion by portion. The
 * kernels' results do not depend on how points are cut, so both give the same bits.
 */
#include "stages/kmeans/kmeans_job.h"

#include <stdlib.h>

struct stage {
    struct kmeans_job job;
};

static enum status kmeans_plan(const struct stage_args *args, struct stage_need *out)
{
    struct kmeans_choice choice;
    struct kmeans_layout layout;
    STATUS_TRY(kmeans_lay_out(args, &choice, &layout));
    return kmeans_layout_need(args, &choice, &layout, out);
}

static void kmeans_free(struct stage *s)
{
    if (s == NULL) {
        return;
    }
    struct kmeans_job *job = &s->job;
    kmeans_runs_free(job);
    kmeans_fits_free(job);
    kmeans_labels_free(job);
    kmeans_points_free(job);
    kmeans_model_free(job, &job->all);
    for (size_t i = 0; i < 2; i++) {
        kmeans_sample_free(&job->samples[i]);
    }
    free(job->squares);
    free(job->line);
    free(job->partial);
    free(job->kept);
    free(s);
}

static enum status prepare(struct kmeans_job *job)
{
    const struct kmeans_layout *const l = &job->layout;
    const size_t n = l->n_known ? l->n : 0, shown = l->n_columns < 2 ? l->n_columns : 2;
    job->reserved = l->n;
    job->line = malloc(l->n_columns * dtype_bytes(l->type));
    job->partial = malloc(l->n_columns * dtype_bytes(l->type));
    if (job->line == NULL || job->partial == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu columns", l->n_columns);
    }
    STATUS_TRY(kmeans_sample_new(l->sample, l->n_columns, n, &job->samples[KMEANS_OF_SILHOUETTE]));
    STATUS_TRY(kmeans_sample_new(KMEANS_SCATTER_MOST, shown, n, &job->samples[KMEANS_OF_SCATTER]));
    return kmeans_scale_open(job);
}

static enum status kmeans_open(const struct stage_args *args, struct stage **out)
{
    struct kmeans_choice choice;
    struct kmeans_layout layout;
    *out = NULL;
    STATUS_TRY(kmeans_lay_out(args, &choice, &layout));
    struct stage *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a job");
    }
    s->job = (struct kmeans_job){.args = *args,
                                 .name = args->inputs[0].name,
                                 .choice = choice,
                                 .layout = layout,
                                 .ops = args->queue->backend->ops,
                                 .kernels = args->queue->backend->ops->kmeans,
                                 .queue = args->queue};
    const enum status st = prepare(&s->job);
    if (st != STATUS_OK) {
        kmeans_free(s);
        return st;
    }
    *out = s;
    return STATUS_OK;
}

static enum status kmeans_push(struct stage *s, size_t part, const struct table_chunk *chunk,
                               uint64_t *ticket)
{
    (void)part; /* there is but one */
    const enum status st = kmeans_points_take(&s->job, chunk);
    *ticket = s->job.ticket;
    return st;
}

static enum status kmeans_portion(struct stage *s, struct result *out, bool *more)
{
    (void)more;
    return kmeans_files_labels(&s->job, false, out);
}

/* The first pass has ended: whether what came can be clustered. */
static enum status count_points(struct kmeans_job *job)
{
    const struct kmeans_layout *const l = &job->layout;
    if (job->too_many) {
        return status_fail(STATUS_START_OVER, "%s: more points than fit memory", job->name);
    }
    job->n = (size_t)(job->n_cells / l->n_columns);
    job->n_rows = job->choice.drop ? job->n_rows : job->n;
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

/* A pass has ended; which comes next. */
static enum status step(struct kmeans_job *job, enum kmeans_pass *next)
{
    bool done = false;
    STATUS_TRY(kmeans_points_end(job));
    switch (job->pass) {
    case KMEANS_PASS_LABELS:
    case KMEANS_PASS_NONE:
        *next = KMEANS_PASS_NONE;
        return kmeans_labels_end(job);
    case KMEANS_PASS_RUNS:
        STATUS_TRY(kmeans_runs_step(job, &done));
        *next = done ? KMEANS_PASS_LABELS : KMEANS_PASS_RUNS;
        return done ? kmeans_labels_begin(job) : STATUS_OK;
    case KMEANS_PASS_RANGE:
        STATUS_TRY(count_points(job));
        break;
    default:
        break;
    }
    STATUS_TRY(kmeans_scale_step(job, next));
    if (*next != KMEANS_PASS_RUNS) {
        return STATUS_OK;
    }
    STATUS_TRY(kmeans_points_memory(job));
    return kmeans_runs_begin(job);
}

/* Ends a pass and begins the next. */
static enum status go_on(struct kmeans_job *job)
{
    enum kmeans_pass next;
    STATUS_TRY(step(job, &next));
    return kmeans_points_again(job, next);
}

static enum status kmeans_end_pass(struct stage *s, size_t *part)
{
    struct kmeans_job *const job = &s->job;
    if (job->layout.resident) {
        return STATUS_OK;
    }
    STATUS_TRY(go_on(job));
    if (job->pass != KMEANS_PASS_NONE) {
        *part = 0;
    }
    return STATUS_OK;
}

static enum status kmeans_finish(struct stage *s, struct result *out, bool *more)
{
    struct kmeans_job *const job = &s->job;
    while (job->pass != KMEANS_PASS_NONE) { /* of points that stay in memory */
        STATUS_TRY(go_on(job));
    }
    if (!job->ended) {
        *more = true;
        return kmeans_files_labels(job, true, out);
    }
    return kmeans_report(job, out);
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
    .open = kmeans_open,
    .push = kmeans_push,
    .portion = kmeans_portion,
    .end_pass = kmeans_end_pass,
    .finish = kmeans_finish,
    .free = kmeans_free,
};
