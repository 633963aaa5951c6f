/*
 * kmeans_runs - Lloyd's iterations, run by run: of every k that was asked for, n_init runs from
 * different first centroids.
 *
 * A run goes from phase to phase; in each it sees all points once. Where the points stay in memory
 * runs follow one another, and the host looks only now and then whether iterations have come to an
 * end, since that waits for the device. Else the runs of a window share every pass, each with what
 * it needs of it, and the host looks after every one, since a pass is costly.
 */
#include "stages/kmeans/kmeans_job.h"

#include <stdlib.h>

enum { LOOK_EVERY = 8 /* iterations */ };

/* Chooses the points to begin from: the first, or random ones. */
static enum status choose_start(struct kmeans_job *job, struct kmeans_run *run)
{
    const size_t k = run->k;
    if (job->choice.init == KMEANS_INIT_RANDOM) {
        return kmeans_sample_distinct(job->choice.seed, (uint64_t)run->restart << 32, job->n, k,
                                      run->start);
    }
    for (size_t i = 0; i < k; i++) {
        run->start[i] = i;
    }
    return STATUS_OK;
}

static enum status open_run(struct kmeans_job *job, size_t number, struct kmeans_run *run)
{
    const size_t k = job->choice.k_first + number / job->choice.n_init;
    *run = (struct kmeans_run){.at = run->at,
                               .k = k,
                               .restart = number % job->choice.n_init,
                               .start = run->start,
                               .centroids = run->centroids};
    STATUS_TRY(kmeans_model_begin(job, k, run->at, &run->model));
    run->model.incremental = job->layout.resident;
    if (job->choice.init == KMEANS_INIT_PLUS) {
        run->phase = KMEANS_DRAW;
        return STATUS_OK;
    }
    run->phase = KMEANS_GATHER;
    return choose_start(job, run);
}

/* The next runs, as many as share a pass; none: all are done. */
static enum status open_window(struct kmeans_job *job)
{
    const size_t left = kmeans_n_runs(&job->choice) - job->first_run;
    const size_t n = left < job->layout.width ? left : job->layout.width;
    while (job->n_runs < n) {
        struct kmeans_run *const run = &job->runs[job->n_runs++];
        STATUS_TRY(open_run(job, job->first_run + job->n_runs - 1, run));
    }
    return STATUS_OK;
}

/* --- during a pass ---------------------------------------------------------------------------- */

/* The cells of those of the points that the run begins from. */
static enum status gather(struct kmeans_job *job, struct kmeans_run *run,
                          const struct kmeans_points *x)
{
    const size_t d = job->layout.n_columns;
    for (size_t i = 0; i < run->k; i++) {
        if (run->start[i] < x->first || run->start[i] - x->first >= x->n) {
            continue;
        }
        struct kmeans_rows row;
        STATUS_TRY(kmeans_fetch_row(job, x, run->start[i], &row));
        for (size_t c = 0; c < d; c++) {
            run->centroids[i * d + c] = kmeans_rows_cell(&row, c);
        }
        run->n_gathered++;
    }
    return STATUS_OK;
}

static uint64_t stream_of(const struct kmeans_run *run)
{
    return (uint64_t)run->restart << 32 | kmeans_seed_drawn(&run->model);
}

static enum status run_points(struct kmeans_job *job, struct kmeans_run *run,
                              const struct kmeans_points *x, struct span memory)
{
    const struct kmeans_kernels *const kernels = job->kernels;
    const struct span kept = job->layout.resident ? memory : (struct span){0};
    switch (run->phase) {
    case KMEANS_DRAW:
        return kernels->draw(job->queue, x, &run->model, job->choice.seed, stream_of(run), kept);
    case KMEANS_GATHER:
        return gather(job, run, x);
    case KMEANS_ASSIGN:
        return kernels->assign(job->queue, x, &run->model, kept);
    case KMEANS_FARTHEST:
        return kernels->farthest(job->queue, x, &run->model);
    case KMEANS_INERTIA:
        return kernels->label(job->queue, x, &run->model, memory);
    case KMEANS_DONE:
        break;
    }
    return STATUS_OK;
}

static enum status visit(struct kmeans_job *job, const struct kmeans_points *x, struct span memory)
{
    for (size_t r = 0; r < job->n_runs; r++) {
        STATUS_TRY(run_points(job, &job->runs[r], x, memory));
    }
    return STATUS_OK;
}

/* --- after it --------------------------------------------------------------------------------- */

/* All first centroids are there. */
static enum status begin_iterations(struct kmeans_job *job, struct kmeans_run *run)
{
    run->phase = KMEANS_ASSIGN;
    for (size_t b = 0; b < job->n_blocks; b++) {
        STATUS_TRY(job->ops->zero(job->queue, job->blocks[b].memory));
    }
    return STATUS_OK;
}

/* What was drawn becomes a centroid, or is tried first. */
static enum status end_draw(struct kmeans_job *job, struct kmeans_run *run)
{
    STATUS_TRY(job->kernels->take(job->queue, &run->model));
    kmeans_taken(&run->model);
    return run->model.n_drawn == run->k ? begin_iterations(job, run) : STATUS_OK;
}

static enum status end_gather(struct kmeans_job *job, struct kmeans_run *run)
{
    if (run->n_gathered != run->k) {
        return status_fail(STATUS_CHANGED, "%s: a point is missing in a later pass", job->name);
    }
    STATUS_TRY(kmeans_model_put(job, &run->model, KMEANS_CENTROID, run->centroids,
                                run->k * job->layout.n_columns * sizeof(double)));
    return begin_iterations(job, run);
}

static enum status has_empty(struct kmeans_job *job, const struct kmeans_run *run, bool *out)
{
    uint64_t *const count = malloc(run->k * sizeof *count);
    *out = false;
    if (count == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu clusters", run->k);
    }
    const enum status st =
        kmeans_model_get(job, &run->model, KMEANS_COUNT, count, run->k * sizeof *count);
    for (size_t k = 0; k < run->k && st == STATUS_OK; k++) {
        *out = *out || count[k] == 0;
    }
    free(count);
    return st;
}

/* Goes on to the next centroids. */
static enum status end_iteration(struct kmeans_job *job, struct kmeans_run *run)
{
    const uint64_t most = job->choice.max_iter, left = most - run->state.n_iterations;
    run->phase = KMEANS_ASSIGN;
    STATUS_TRY(job->kernels->update(job->queue, &run->model));
    run->n_unseen++;
    if (job->layout.resident && run->n_unseen < LOOK_EVERY && run->n_unseen < left) {
        return STATUS_OK;
    }
    run->n_unseen = 0;
    STATUS_TRY(kmeans_model_get(job, &run->model, KMEANS_STATE, &run->state, sizeof run->state));
    if (run->state.done != 0 || run->state.n_iterations >= most) {
        run->phase = kmeans_n_runs(&job->choice) == 1 ? KMEANS_DONE : KMEANS_INERTIA;
    }
    return STATUS_OK;
}

/* All points are assigned. Where they stay, farthest() itself looks for empty clusters. */
static enum status end_assign(struct kmeans_job *job, struct kmeans_run *run)
{
    bool is_empty = true;
    STATUS_TRY(job->layout.resident ? STATUS_OK : has_empty(job, run, &is_empty));
    if (!is_empty) {
        return end_iteration(job, run);
    }
    run->phase = KMEANS_FARTHEST;
    return STATUS_OK;
}

static enum status step_run(struct kmeans_job *job, struct kmeans_run *run)
{
    switch (run->phase) {
    case KMEANS_DRAW:
        return end_draw(job, run);
    case KMEANS_GATHER:
        return end_gather(job, run);
    case KMEANS_ASSIGN:
        return end_assign(job, run);
    case KMEANS_FARTHEST:
        return end_iteration(job, run);
    case KMEANS_INERTIA:
    case KMEANS_DONE:
        run->phase = KMEANS_DONE;
        break;
    }
    return STATUS_OK;
}

/* All runs of the window, by as many passes as the longest takes. */
static enum status iterate(struct kmeans_job *job)
{
    for (bool done = false; !done;) {
        STATUS_TRY(kmeans_points_visit(job, visit));
        done = true;
        for (size_t r = 0; r < job->n_runs; r++) {
            STATUS_TRY(step_run(job, &job->runs[r]));
            done = done && job->runs[r].phase == KMEANS_DONE;
        }
    }
    return STATUS_OK;
}

enum status kmeans_runs(struct kmeans_job *job)
{
    STATUS_TRY(kmeans_fits_begin(job));
    STATUS_TRY(open_window(job));
    while (job->n_runs > 0) {
        STATUS_TRY(iterate(job));
        for (size_t r = 0; r < job->n_runs; r++) {
            STATUS_TRY(kmeans_fits_take(job, &job->runs[r]));
        }
        job->first_run += job->n_runs;
        job->n_runs = 0;
        STATUS_TRY(open_window(job));
    }
    return STATUS_OK;
}
