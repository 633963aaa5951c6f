/*
 * kmeans_runs - Lloyd's iterations, run by run: of every k that was asked for, n_init runs from
 * different first centroids.
 *
 * A run goes from phase to phase; in each it sees all points once. Where the points stay in memory
 * runs follow one another, and the host looks only now and then whether iterations have come to an
 * end, since that waits for the device. Else the runs of a window share every pass, each with what
 * it needs of it, and the host looks after every one, since a pass is costly.
 */
#include "kernels/backend.h"
#include "kernels/kmeans/kmeans_solve_state.h"

#include <stdlib.h>

enum { LOOK_EVERY = 8 /* iterations */ };

/* Chooses the points to begin from: the first, or random ones. */
static enum status choose_start(struct kmeans_solve *s, struct kmeans_run *run)
{
    const size_t k = run->k;
    if (s->request.init == KMEANS_INIT_RANDOM) {
        return kmeans_sample_distinct(s->request.seed, (uint64_t)run->restart << 32, s->n, k,
                                      run->start);
    }
    for (size_t i = 0; i < k; i++) {
        run->start[i] = i;
    }
    return STATUS_OK;
}

static enum status open_run(struct kmeans_solve *s, size_t number, struct kmeans_run *run)
{
    const size_t k = s->request.k_first + number / s->request.n_init;
    *run = (struct kmeans_run){.at = run->at,
                               .k = k,
                               .restart = number % s->request.n_init,
                               .start = run->start,
                               .centroids = run->centroids};
    STATUS_TRY(kmeans_model_begin(s, k, run->at, &run->model));
    run->model.incremental = s->request.resident;
    if (s->request.init == KMEANS_INIT_PLUS) {
        run->phase = KMEANS_DRAW;
        return STATUS_OK;
    }
    if (s->request.init == KMEANS_INIT_GIVEN) {
        run->phase = KMEANS_DONE;
        run->state.done = 1;
        return kmeans_model_put(s, &run->model, KMEANS_CENTROID, s->given,
                                k * s->request.n_columns * sizeof(double));
    }
    run->phase = KMEANS_GATHER;
    return choose_start(s, run);
}

/* The next runs, as many as share a pass; none: all are done. */
static enum status open_window(struct kmeans_solve *s)
{
    const size_t left = kmeans_n_runs(&s->request) - s->first_run;
    const size_t n = left < s->request.width ? left : s->request.width;
    while (s->n_runs < n) {
        struct kmeans_run *const run = &s->runs[s->n_runs++];
        STATUS_TRY(open_run(s, s->first_run + s->n_runs - 1, run));
    }
    return STATUS_OK;
}

/* --- during a pass ---------------------------------------------------------------------------- */

/* The cells of those of the points that the run begins from. */
static enum status gather(struct kmeans_solve *s, struct kmeans_run *run,
                          const struct kmeans_points *x)
{
    const size_t d = s->request.n_columns;
    for (size_t i = 0; i < run->k; i++) {
        if (run->start[i] < x->first || run->start[i] - x->first >= x->n) {
            continue;
        }
        struct kmeans_rows row;
        STATUS_TRY(kmeans_fetch_row(s, x, run->start[i], &row));
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

static enum status run_points(struct kmeans_solve *s, struct kmeans_run *run,
                              const struct kmeans_points *x, struct span memory)
{
    const struct kmeans_kernels *const kernels = s->kernels;
    const struct span kept = s->request.resident ? memory : (struct span){0};
    switch (run->phase) {
    case KMEANS_DRAW:
        return kernels->draw(s->queue, x, &run->model, s->request.seed, stream_of(run), kept);
    case KMEANS_GATHER:
        return gather(s, run, x);
    case KMEANS_ASSIGN:
        return kernels->assign(s->queue, x, &run->model, kept);
    case KMEANS_FARTHEST:
        return kernels->farthest(s->queue, x, &run->model);
    case KMEANS_INERTIA:
        return kernels->label(s->queue, x, &run->model, memory);
    case KMEANS_DONE:
        break;
    }
    return STATUS_OK;
}

static enum status visit(void *arg, const struct kmeans_points *x, struct span memory)
{
    struct kmeans_solve *const s = arg;
    for (size_t r = 0; r < s->n_runs; r++) {
        STATUS_TRY(run_points(s, &s->runs[r], x, memory));
    }
    return STATUS_OK;
}

/* --- after it --------------------------------------------------------------------------------- */

/* What points remember of the run before. */
static enum status forget(void *arg, const struct kmeans_points *x, struct span memory)
{
    const struct kmeans_solve *const s = arg;
    (void)x;
    return s->ops->zero(s->queue, memory);
}

/* All first centroids are there. */
static enum status begin_iterations(struct kmeans_solve *s, struct kmeans_run *run)
{
    run->phase = KMEANS_ASSIGN;
    return s->request.resident ? kmeans_visit_all(s, forget) : STATUS_OK;
}

/* What was drawn becomes a centroid, or is tried first. */
static enum status end_draw(struct kmeans_solve *s, struct kmeans_run *run)
{
    STATUS_TRY(s->kernels->take(s->queue, &run->model));
    kmeans_taken(&run->model);
    return run->model.n_drawn == run->k ? begin_iterations(s, run) : STATUS_OK;
}

static enum status end_gather(struct kmeans_solve *s, struct kmeans_run *run)
{
    if (run->n_gathered != run->k) {
        s->fault.what = KMEANS_LOST;
        return status_fail(STATUS_CHANGED, "a point is missing in a later pass");
    }
    STATUS_TRY(kmeans_model_put(s, &run->model, KMEANS_CENTROID, run->centroids,
                                run->k * s->request.n_columns * sizeof(double)));
    return begin_iterations(s, run);
}

static enum status has_empty(struct kmeans_solve *s, const struct kmeans_run *run, bool *out)
{
    uint64_t *const count = malloc(run->k * sizeof *count);
    *out = false;
    if (count == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu clusters", run->k);
    }
    const enum status st =
        kmeans_model_get(s, &run->model, KMEANS_COUNT, count, run->k * sizeof *count);
    for (size_t k = 0; k < run->k && st == STATUS_OK; k++) {
        *out = *out || count[k] == 0;
    }
    free(count);
    return st;
}

/* Goes on to the next centroids. */
static enum status end_iteration(struct kmeans_solve *s, struct kmeans_run *run)
{
    const uint64_t most = s->request.max_iter, left = most - run->state.n_iterations;
    run->phase = KMEANS_ASSIGN;
    STATUS_TRY(s->kernels->update(s->queue, &run->model));
    run->n_unseen++;
    if (s->request.resident && run->n_unseen < LOOK_EVERY && run->n_unseen < left) {
        return STATUS_OK;
    }
    run->n_unseen = 0;
    STATUS_TRY(kmeans_model_get(s, &run->model, KMEANS_STATE, &run->state, sizeof run->state));
    if (run->state.done != 0 || run->state.n_iterations >= most) {
        run->phase = kmeans_n_runs(&s->request) == 1 ? KMEANS_DONE : KMEANS_INERTIA;
    }
    return STATUS_OK;
}

/* All points are assigned. Where they stay, farthest() itself looks for empty clusters. */
static enum status end_assign(struct kmeans_solve *s, struct kmeans_run *run)
{
    bool is_empty = true;
    STATUS_TRY(s->request.resident ? STATUS_OK : has_empty(s, run, &is_empty));
    if (!is_empty) {
        return end_iteration(s, run);
    }
    run->phase = KMEANS_FARTHEST;
    return STATUS_OK;
}

static enum status step_run(struct kmeans_solve *s, struct kmeans_run *run)
{
    switch (run->phase) {
    case KMEANS_DRAW:
        return end_draw(s, run);
    case KMEANS_GATHER:
        return end_gather(s, run);
    case KMEANS_ASSIGN:
        return end_assign(s, run);
    case KMEANS_FARTHEST:
        return end_iteration(s, run);
    case KMEANS_INERTIA:
    case KMEANS_DONE:
        run->phase = KMEANS_DONE;
        break;
    }
    return STATUS_OK;
}

static bool are_done(const struct kmeans_solve *s)
{
    size_t r = 0;
    while (r < s->n_runs && s->runs[r].phase == KMEANS_DONE) {
        r++;
    }
    return r == s->n_runs;
}

/* All runs of the window, by as many passes as the longest takes. */
static enum status iterate(struct kmeans_solve *s)
{
    while (!are_done(s)) {
        STATUS_TRY(kmeans_visit_all(s, visit));
        for (size_t r = 0; r < s->n_runs; r++) {
            STATUS_TRY(step_run(s, &s->runs[r]));
        }
    }
    return STATUS_OK;
}

enum status kmeans_runs(struct kmeans_solve *s)
{
    STATUS_TRY(open_window(s));
    while (s->n_runs > 0) {
        STATUS_TRY(iterate(s));
        for (size_t r = 0; r < s->n_runs; r++) {
            STATUS_TRY(kmeans_fits_take(s, &s->runs[r]));
        }
        s->first_run += s->n_runs;
        s->n_runs = 0;
        STATUS_TRY(open_window(s));
    }
    return STATUS_OK;
}
