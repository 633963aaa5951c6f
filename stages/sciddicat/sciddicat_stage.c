/*
 * sciddicat_stage - the pipeline `sciddicat`: a debris flow over a terrain, from the altitude
 * (X.dem.*) and the debris that starts to move (X.source.*).
 *
 * The cells are gathered on the host, since the start needs both grids and the picture the
 * altitude; the automaton then runs on the backend, some steps a call, with snapshots on the way.
 */
#include "stages/sciddicat/sciddicat_job.h"

#include <stdlib.h>

struct stage {
    struct sciddicat_job job;
};

static enum status sciddicat_plan(const struct stage_args *args, struct stage_need *out)
{
    struct sciddicat_job job = {.n_cells = 0};
    const enum status st = sciddicat_shape(args, &job, out);
    grid_free(job.dem);
    grid_free(job.source);
    return st;
}

static void sciddicat_free(struct stage *s)
{
    if (s == NULL) {
        return;
    }
    struct sciddicat_job *const job = &s->job;
    bands_close(job->bands);
    free(job->z);
    free(job->nodata);
    free(job->h);
    free(job->max_h);
    free(job->arrival);
    free(job->reports);
    grid_free(job->dem);
    grid_free(job->source);
    free(s);
}

static enum status alloc_grids(struct sciddicat_job *job)
{
    const size_t n = job->n_cells;
    job->z = malloc(n * sizeof *job->z);
    job->nodata = malloc(n);
    job->h = malloc(n * sizeof *job->h);
    job->max_h = malloc(n * sizeof *job->max_h);
    job->arrival = malloc(n * sizeof *job->arrival);
    job->reports = malloc(sciddicat_n_reports(job) * sizeof *job->reports);
    if (job->z == NULL || job->nodata == NULL || job->h == NULL || job->max_h == NULL ||
        job->arrival == NULL || job->reports == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a landslide on %zu cells", n);
    }
    return STATUS_OK;
}

static enum status sciddicat_open(const struct stage_args *args, struct stage **out)
{
    struct stage_need need;
    *out = NULL;
    struct stage *const s = calloc(1, sizeof *s);
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a job");
    }
    enum status st = sciddicat_shape(args, &s->job, &need);
    if (st == STATUS_OK) {
        st = alloc_grids(&s->job);
    }
    if (st != STATUS_OK) {
        sciddicat_free(s);
        return st;
    }
    *out = s;
    return STATUS_OK;
}

static enum status sciddicat_push(struct stage *s, size_t part, const struct table_chunk *chunk,
                                  uint64_t *ticket)
{
    *ticket = 0; /* the numbers are copied */
    return sciddicat_cells_add(&s->job, (enum sciddicat_part)part, chunk);
}

static enum status sciddicat_finish(struct stage *s, struct result *out, bool *more)
{
    STATUS_TRY(sciddicat_simulate(&s->job, out, more));
    if (*more) {
        return STATUS_OK;
    }
    STATUS_TRY(sciddicat_summarise(&s->job, out));
    STATUS_TRY(sciddicat_files(&s->job, out));
    return sciddicat_map(&s->job, out);
}

static void sciddicat_progress(const struct stage *s, uint64_t *n_done, uint64_t *n_steps)
{
    *n_done = s->job.now.step;
    *n_steps = s->job.choice.steps;
}

static size_t sciddicat_helpers(const struct stage *s)
{
    return s->job.n_helpers;
}

static enum status sciddicat_bring_help(struct stage *s, struct queue **queues, size_t *n)
{
    return sciddicat_help(&s->job, queues, n);
}

static const struct stage_part parts[] = {
    [SCIDDICAT_DEM] = {.suffix = "dem", .kind = STAGE_GRID},
    [SCIDDICAT_SOURCE] = {.suffix = "source", .kind = STAGE_GRID}};

const struct stage_ops stage_sciddicat = {
    .name = "sciddicat",
    .parts = parts,
    .n_parts = SCIDDICAT_N_PARTS,
    .specs = sciddicat_specs,
    .n_specs = SCIDDICAT_N_SPECS,
    .notice = sciddicat_notice,
    .work = sciddicat_work,
    .plan = sciddicat_plan,
    .open = sciddicat_open,
    .push = sciddicat_push,
    .finish = sciddicat_finish,
    .progress = sciddicat_progress,
    .helpers = sciddicat_helpers,
    .help = sciddicat_bring_help,
    .takes_ranks = true,
    .free = sciddicat_free,
};
