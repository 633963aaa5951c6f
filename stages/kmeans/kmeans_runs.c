/*
 * kmeans_runs - Lloyd's iterations, run by run: of every k that was asked for, n_init runs from
 * different first centroids.
 *
 * Where the points stay in memory runs follow one another, and several iterations are queued before
 * the host looks whether they are done. Else the runs of a window share every pass, each with what
 * it needs of it. Runs are compared by inertia, and clusters' numbers by silhouette, in the order
 * of runs; equal ones do not replace earlier ones.
 */
#include "stages/kmeans/kmeans_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_EVERY = 8 /* iterations that are queued at a time */ };

/* A point that a run begins from becomes its centroid `to`. */
struct kmeans_start {
    uint64_t point;
    size_t to;
};

static bool one_run(const struct kmeans_job *job)
{
    return kmeans_n_runs(&job->choice) == 1;
}

/* --- fits ------------------------------------------------------------------------------------- */

static void free_fit(struct kmeans_fit *fit)
{
    free(fit->centroids);
    free(fit->sample);
    free(fit->count);
    free(fit->within);
    *fit = (struct kmeans_fit){0};
}

static size_t sample_n(const struct kmeans_job *job)
{
    return job->samples[KMEANS_OF_SILHOUETTE].n;
}

/* Labels of the silhouette's sample by the model; its counts are of no use then. */
static enum status label_sample(struct kmeans_job *job, const struct kmeans_model *m, int32_t *out)
{
    const struct kmeans_sample *const s = &job->samples[KMEANS_OF_SILHOUETTE];
    const struct kmeans_points x = {
        .at = job->sample_at, .type = DTYPE_F64, .n = s->n, .n_columns = s->n_columns};
    STATUS_TRY(job->kernels->label(job->queue, &x, m, job->sample_labels));
    return job->ops->download(job->queue, out, job->sample_labels, s->n * sizeof *out);
}

static enum status find_inertia(struct kmeans_job *job, const struct kmeans_run *run, double *out)
{
    struct kmeans_sum sum = {0};
    struct kmeans_sum *const within = malloc(run->k * sizeof *within);
    if (within == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu clusters", run->k);
    }
    const enum status st =
        kmeans_model_get(job, &run->model, KMEANS_WITHIN, within, run->k * sizeof *within);
    for (size_t k = 0; k < run->k && st == STATUS_OK; k++) {
        for (size_t w = 0; w < 2; w++) {
            sum.high[w] += within[k].high[w];
            sum.low[w] += within[k].low[w];
        }
    }
    free(within);
    *out = kmeans_sum_value(&sum) * job->inertia_unit;
    return st;
}

static enum status fetch_fit(struct kmeans_job *job, const struct kmeans_run *run, double inertia,
                             struct kmeans_fit *fit)
{
    const size_t bytes = run->k * job->layout.n_columns * sizeof(double);
    *fit = (struct kmeans_fit){.k = run->k,
                               .state = run->state,
                               .inertia = inertia,
                               .silhouette = NAN,
                               .centroids = malloc(bytes),
                               .sample = malloc((sample_n(job) + 1) * sizeof *fit->sample)};
    if (fit->centroids == NULL || fit->sample == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu clusters", run->k);
    }
    STATUS_TRY(kmeans_model_get(job, &run->model, KMEANS_CENTROID, fit->centroids, bytes));
    return label_sample(job, &run->model, fit->sample);
}

/* All runs of a k are there: its line, and whether it is the best one so far. */
static enum status end_k(struct kmeans_job *job)
{
    struct kmeans_fit *const fit = &job->candidate;
    STATUS_TRY(kmeans_sample_silhouette(job->distances, fit->sample, sample_n(job), fit->k,
                                        &fit->silhouette));
    job->ks[job->n_ks++] = (struct kmeans_k){.k = fit->k,
                                             .inertia = fit->inertia,
                                             .silhouette = fit->silhouette,
                                             .n_iterations = fit->state.n_iterations,
                                             .converged = fit->state.done != 0};
    const double than = job->best.silhouette;
    if (job->best.centroids == NULL || fit->silhouette > than ||
        (isnan(than) && !isnan(fit->silhouette))) {
        free_fit(&job->best);
        job->best = *fit;
        *fit = (struct kmeans_fit){0};
    }
    free_fit(fit);
    return STATUS_OK;
}

static void close_run(struct kmeans_job *job, struct kmeans_run *run)
{
    kmeans_model_free(job, &run->model);
    free(run->start);
    free(run->centroids);
    *run = (struct kmeans_run){0};
}

/* A run is done: it is compared with the others of its k. */
static enum status end_run(struct kmeans_job *job, struct kmeans_run *run)
{
    double inertia = NAN;
    if (!one_run(job)) {
        STATUS_TRY(find_inertia(job, run, &inertia));
    }
    if (job->candidate.centroids == NULL || inertia < job->candidate.inertia) {
        free_fit(&job->candidate);
        STATUS_TRY(fetch_fit(job, run, inertia, &job->candidate));
    }
    const bool last = run->restart + 1 == job->choice.n_init;
    close_run(job, run);
    return last ? end_k(job) : STATUS_OK;
}

/* --- the begin of a run ----------------------------------------------------------------------- */

static int by_point(const void *a, const void *b)
{
    const struct kmeans_start *const x = a, *const y = b;
    return x->point < y->point ? -1 : x->point > y->point;
}

/* Chooses the points to begin from: the first, or random ones. */
static enum status choose_start(struct kmeans_job *job, struct kmeans_run *run)
{
    const size_t k = run->k;
    uint64_t *const numbers = malloc(k * sizeof *numbers);
    run->start = malloc(k * sizeof *run->start);
    run->centroids = malloc(k * job->layout.n_columns * sizeof *run->centroids);
    if (numbers == NULL || run->start == NULL || run->centroids == NULL) {
        free(numbers);
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu first centroids", k);
    }
    enum status st = STATUS_OK;
    if (job->choice.init == KMEANS_INIT_RANDOM) {
        st = kmeans_sample_distinct(job->choice.seed, (uint64_t)run->restart << 32, job->n, k,
                                    numbers);
    }
    for (size_t i = 0; i < k; i++) {
        const bool is_first = job->choice.init == KMEANS_INIT_FIRST || st != STATUS_OK;
        run->start[i] = (struct kmeans_start){is_first ? i : numbers[i], i};
    }
    free(numbers);
    qsort(run->start, k, sizeof *run->start, by_point);
    return st;
}

static enum status open_run(struct kmeans_job *job, size_t number, struct kmeans_run *run)
{
    const size_t k = job->choice.k_first + number / job->choice.n_init;
    *run =
        (struct kmeans_run){.k = k, .restart = number % job->choice.n_init, .phase = KMEANS_DRAW};
    STATUS_TRY(kmeans_model_new(job, k, &run->model));
    run->model.incremental = job->layout.resident;
    if (job->choice.init == KMEANS_INIT_PLUS) {
        return STATUS_OK;
    }
    run->phase = KMEANS_GATHER;
    return choose_start(job, run);
}

enum status kmeans_runs_rows(struct kmeans_job *job, const struct kmeans_rows *rows)
{
    const size_t d = rows->n_columns;
    for (size_t r = 0; r < job->n_runs; r++) {
        struct kmeans_run *const run = &job->runs[r];
        while (run->phase == KMEANS_GATHER && run->n_gathered < run->k &&
               run->start[run->n_gathered].point < rows->first + rows->n) {
            const struct kmeans_start *const s = &run->start[run->n_gathered++];
            const size_t row = (size_t)(s->point - rows->first);
            for (size_t c = 0; c < d; c++) {
                run->centroids[s->to * d + c] = kmeans_rows_cell(rows, row * d + c);
            }
        }
    }
    return STATUS_OK;
}

/* All first centroids have been gathered. */
static enum status end_gather(struct kmeans_job *job, struct kmeans_run *run)
{
    if (run->n_gathered != run->k) {
        return status_fail(STATUS_CHANGED, "%s: a point is missing in a later pass", job->name);
    }
    run->phase = KMEANS_ASSIGN;
    return kmeans_model_put(job, &run->model, KMEANS_CENTROID, run->centroids,
                            run->k * job->layout.n_columns * sizeof(double));
}

static uint64_t stream_of(const struct kmeans_run *run)
{
    return (uint64_t)run->restart << 32 | run->model.n_drawn;
}

/* What was drawn becomes a centroid. */
static enum status end_draw(struct kmeans_job *job, struct kmeans_run *run)
{
    STATUS_TRY(job->kernels->take(job->queue, &run->model));
    if (++run->model.n_drawn == run->k) {
        run->phase = KMEANS_ASSIGN;
    }
    return STATUS_OK;
}

/* --- passes over a part that is read again ---------------------------------------------------- */

enum status kmeans_runs_points(struct kmeans_job *job, const struct kmeans_points *x)
{
    const struct span none = {0};
    for (size_t r = 0; r < job->n_runs; r++) {
        struct kmeans_run *const run = &job->runs[r];
        switch (run->phase) {
        case KMEANS_DRAW:
            STATUS_TRY(job->kernels->draw(job->queue, x, &run->model, job->choice.seed,
                                          stream_of(run), none));
            break;
        case KMEANS_ASSIGN:
            STATUS_TRY(job->kernels->assign(job->queue, x, &run->model, none));
            break;
        case KMEANS_FARTHEST:
            STATUS_TRY(job->kernels->farthest(job->queue, x, &run->model));
            break;
        case KMEANS_INERTIA:
            STATUS_TRY(job->kernels->label(job->queue, x, &run->model, job->scratch));
            break;
        case KMEANS_GATHER:
        case KMEANS_DONE:
            break;
        }
    }
    return STATUS_OK;
}

/* Looks how far a run has come. */
static enum status look(struct kmeans_job *job, struct kmeans_run *run)
{
    STATUS_TRY(kmeans_model_get(job, &run->model, KMEANS_STATE, &run->state, sizeof run->state));
    if (run->state.done != 0 || run->state.n_iterations >= job->choice.max_iter) {
        run->phase = one_run(job) ? KMEANS_DONE : KMEANS_INERTIA;
    }
    return STATUS_OK;
}

/* All points are assigned: goes on to the next centroids, or looks for the farthest point. */
static enum status end_assign(struct kmeans_job *job, struct kmeans_run *run)
{
    bool is_empty = false;
    uint64_t *const count = malloc(run->k * sizeof *count);
    if (count == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu clusters", run->k);
    }
    const enum status st =
        kmeans_model_get(job, &run->model, KMEANS_COUNT, count, run->k * sizeof *count);
    for (size_t k = 0; k < run->k && st == STATUS_OK; k++) {
        is_empty = is_empty || count[k] == 0;
    }
    free(count);
    STATUS_TRY(st);
    if (is_empty && run->phase == KMEANS_ASSIGN) {
        run->phase = KMEANS_FARTHEST;
        return STATUS_OK;
    }
    run->phase = KMEANS_ASSIGN;
    STATUS_TRY(job->kernels->update(job->queue, &run->model));
    return look(job, run);
}

static enum status step_run(struct kmeans_job *job, struct kmeans_run *run)
{
    switch (run->phase) {
    case KMEANS_DRAW:
        return end_draw(job, run);
    case KMEANS_GATHER:
        return end_gather(job, run);
    case KMEANS_ASSIGN:
    case KMEANS_FARTHEST:
        return end_assign(job, run);
    case KMEANS_INERTIA:
        run->phase = KMEANS_DONE;
        break;
    case KMEANS_DONE:
        break;
    }
    return STATUS_OK;
}

/* The next runs, as many as share a pass; false: there are none. */
static enum status open_window(struct kmeans_job *job, bool *any)
{
    const size_t left = kmeans_n_runs(&job->choice) - job->first_run;
    const size_t n = left < job->layout.width ? left : job->layout.width;
    *any = n > 0;
    while (job->n_runs < n) {
        struct kmeans_run *const run = &job->runs[job->n_runs++];
        STATUS_TRY(open_run(job, job->first_run + job->n_runs - 1, run));
    }
    return STATUS_OK;
}

enum status kmeans_runs_step(struct kmeans_job *job, bool *done)
{
    bool all = true, any = true;
    for (size_t r = 0; r < job->n_runs; r++) {
        STATUS_TRY(step_run(job, &job->runs[r]));
        all = all && job->runs[r].phase == KMEANS_DONE;
    }
    *done = false;
    if (!all) {
        return STATUS_OK;
    }
    for (size_t r = 0; r < job->n_runs; r++) {
        STATUS_TRY(end_run(job, &job->runs[r]));
    }
    job->first_run += job->n_runs;
    job->n_runs = 0;
    STATUS_TRY(open_window(job, &any));
    *done = !any;
    return STATUS_OK;
}

static enum status put_sample(struct kmeans_job *job)
{
    const struct kmeans_sample *const s = &job->samples[KMEANS_OF_SILHOUETTE];
    const size_t bytes = s->n * s->n_columns * sizeof(double);
    uint64_t ticket;
    job->distances = kmeans_sample_distances(s, job->weight);
    if (job->distances == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the distances of %zu points", s->n);
    }
    STATUS_TRY(kmeans_alloc(job, bytes, &job->sample_at));
    STATUS_TRY(kmeans_alloc(job, s->n * sizeof(int32_t), &job->sample_labels));
    STATUS_TRY(job->ops->upload(job->queue, job->sample_at, s->cells, bytes, &ticket));
    return job->ops->upload_wait(job->queue, ticket);
}

enum status kmeans_runs_begin(struct kmeans_job *job)
{
    const struct kmeans_choice *const c = &job->choice;
    bool any = false;
    job->runs = calloc(job->layout.width, sizeof *job->runs);
    job->ks = calloc(c->k_last - c->k_first + 1, sizeof *job->ks);
    if (job->runs == NULL || job->ks == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu runs", job->layout.width);
    }
    STATUS_TRY(put_sample(job));
    if (!job->layout.resident) {
        STATUS_TRY(kmeans_alloc(job, job->layout.unit * sizeof(int32_t), &job->scratch));
        return open_window(job, &any);
    }
    for (size_t b = 0; b < job->n_blocks; b++) {
        struct kmeans_block *const block = &job->blocks[b];
        STATUS_TRY(kmeans_alloc(job, kmeans_memory_bytes(block->n), &block->memory));
    }
    return STATUS_OK;
}

/* --- over the points in memory ---------------------------------------------------------------- */

static struct kmeans_points points_of(const struct kmeans_job *job, const struct kmeans_block *b)
{
    return (struct kmeans_points){.at = b->at,
                                  .type = job->layout.type,
                                  .n = b->n,
                                  .n_columns = job->layout.n_columns,
                                  .first = b->first};
}

static enum status draw_all(struct kmeans_job *job, struct kmeans_run *run)
{
    while (run->phase == KMEANS_DRAW) {
        STATUS_TRY(queue_check(job->queue));
        for (size_t b = 0; b < job->n_blocks; b++) {
            const struct kmeans_points x = points_of(job, &job->blocks[b]);
            STATUS_TRY(job->kernels->draw(job->queue, &x, &run->model, job->choice.seed,
                                          stream_of(run), job->blocks[b].memory));
        }
        STATUS_TRY(end_draw(job, run));
    }
    return STATUS_OK;
}

/* The row of a point in memory, through a buffer of one. */
static enum status fetch_row(struct kmeans_job *job, uint64_t point)
{
    const size_t row_bytes = job->layout.n_columns * dtype_bytes(job->layout.type);
    size_t b = 0;
    while (point >= job->blocks[b].first + job->blocks[b].n) {
        b++;
    }
    const size_t at = (size_t)(point - job->blocks[b].first);
    STATUS_TRY(job->ops->download(job->queue, job->line,
                                  span_from(job->blocks[b].at, at * row_bytes), row_bytes));
    const struct kmeans_rows row = {.cells = job->line,
                                    .type = job->layout.type,
                                    .n = 1,
                                    .n_columns = job->layout.n_columns,
                                    .first = point};
    return kmeans_runs_rows(job, &row);
}

static enum status gather_all(struct kmeans_job *job, struct kmeans_run *run)
{
    if (run->phase != KMEANS_GATHER) {
        return STATUS_OK;
    }
    for (size_t i = 0; i < run->k; i++) {
        STATUS_TRY(fetch_row(job, run->start[i].point));
    }
    return end_gather(job, run);
}

/* Queues an iteration. */
static enum status iterate(struct kmeans_job *job, const struct kmeans_model *m)
{
    STATUS_TRY(queue_check(job->queue));
    for (size_t b = 0; b < job->n_blocks; b++) {
        const struct kmeans_points x = points_of(job, &job->blocks[b]);
        STATUS_TRY(job->kernels->assign(job->queue, &x, m, job->blocks[b].memory));
    }
    for (size_t b = 0; b < job->n_blocks; b++) {
        const struct kmeans_points x = points_of(job, &job->blocks[b]);
        STATUS_TRY(job->kernels->farthest(job->queue, &x, m));
    }
    return job->kernels->update(job->queue, m);
}

static enum status iterate_all(struct kmeans_job *job, struct kmeans_run *run)
{
    for (size_t b = 0; b < job->n_blocks; b++) {
        STATUS_TRY(job->ops->zero(job->queue, job->blocks[b].memory));
    }
    while (run->phase == KMEANS_ASSIGN) {
        const uint64_t left = job->choice.max_iter - run->state.n_iterations;
        for (uint64_t i = 0; i < left && i < LOOK_EVERY; i++) {
            STATUS_TRY(iterate(job, &run->model));
        }
        STATUS_TRY(look(job, run));
    }
    return STATUS_OK;
}

static enum status measure_all(struct kmeans_job *job, struct kmeans_run *run)
{
    for (size_t b = 0; b < job->n_blocks && run->phase == KMEANS_INERTIA; b++) {
        const struct kmeans_points x = points_of(job, &job->blocks[b]);
        STATUS_TRY(job->kernels->label(job->queue, &x, &run->model, job->blocks[b].memory));
    }
    run->phase = KMEANS_DONE;
    return STATUS_OK;
}

enum status kmeans_runs_resident(struct kmeans_job *job)
{
    for (bool any = true; any; job->first_run++, job->n_runs = 0) {
        STATUS_TRY(open_window(job, &any));
        if (!any) {
            break;
        }
        struct kmeans_run *const run = &job->runs[0];
        STATUS_TRY(draw_all(job, run));
        STATUS_TRY(gather_all(job, run));
        STATUS_TRY(iterate_all(job, run));
        STATUS_TRY(measure_all(job, run));
        STATUS_TRY(end_run(job, run));
    }
    return STATUS_OK;
}

/* --- labels ----------------------------------------------------------------------------------- */

enum status kmeans_runs_final(struct kmeans_job *job)
{
    const struct kmeans_fit *const fit = &job->best;
    free(job->distances);
    job->distances = NULL;
    job->scatter = malloc((job->samples[KMEANS_OF_SCATTER].n + 1) * sizeof *job->scatter);
    if (job->scatter == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the picture's points");
    }
    STATUS_TRY(kmeans_model_new(job, fit->k, &job->model));
    STATUS_TRY(kmeans_model_put(job, &job->model, KMEANS_CENTROID, fit->centroids,
                                fit->k * job->layout.n_columns * sizeof(double)));
    for (size_t b = 0; b < job->n_blocks; b++) {
        const struct kmeans_points x = points_of(job, &job->blocks[b]);
        STATUS_TRY(queue_check(job->queue));
        STATUS_TRY(job->kernels->label(job->queue, &x, &job->model, job->blocks[b].memory));
    }
    return STATUS_OK;
}

/* Keeps the labels of the picture's points among n labels, from point `first` on. */
static void keep_scatter(struct kmeans_job *job, const int32_t *labels, size_t n, uint64_t first)
{
    const struct kmeans_sample *const s = &job->samples[KMEANS_OF_SCATTER];
    while (job->n_scatter < s->n && s->number[job->n_scatter] < first + n) {
        job->scatter[job->n_scatter] = labels[s->number[job->n_scatter] - first];
        job->n_scatter++;
    }
}

static enum status need_labels(struct kmeans_job *job, size_t more)
{
    const size_t n = job->labels != NULL ? job->labels->n : 0;
    if (job->labels != NULL && n + more <= job->labels->capacity) {
        return STATUS_OK;
    }
    struct kmeans_labels *labels =
        realloc(job->labels, sizeof *labels + (n + more) * sizeof *labels->at);
    if (labels == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu labels", n + more);
    }
    labels->n = n;
    labels->capacity = n + more;
    job->labels = labels;
    return STATUS_OK;
}

enum status kmeans_runs_label(struct kmeans_job *job, const struct kmeans_points *x)
{
    STATUS_TRY(need_labels(job, x->n));
    STATUS_TRY(job->kernels->label(job->queue, x, &job->model, job->scratch));
    int32_t *const to = job->labels->at + job->labels->n;
    STATUS_TRY(job->ops->download(job->queue, to, job->scratch, x->n * sizeof *to));
    keep_scatter(job, to, x->n, x->first);
    job->labels->n += x->n;
    return STATUS_OK;
}

/* Labels of the picture's points, from memory, as many at a time as leave as a piece. */
static enum status fetch_scatter(struct kmeans_job *job)
{
    int32_t *const labels = malloc(KMEANS_LABEL_PIECE * sizeof *labels);
    enum status st =
        labels != NULL ? STATUS_OK : status_fail(STATUS_NO_MEMORY, "no memory for labels");
    for (size_t b = 0; b < job->n_blocks; b++) {
        const struct kmeans_block *const block = &job->blocks[b];
        for (size_t i = 0; i < block->n && st == STATUS_OK; i += KMEANS_LABEL_PIECE) {
            const size_t left = block->n - i;
            const size_t n = left < KMEANS_LABEL_PIECE ? left : KMEANS_LABEL_PIECE;
            st =
                job->ops->download(job->queue, labels, span_from(block->memory, i * sizeof *labels),
                                   n * sizeof *labels);
            if (st == STATUS_OK) {
                keep_scatter(job, labels, n, block->first + i);
            }
        }
    }
    free(labels);
    return st;
}

enum status kmeans_runs_end(struct kmeans_job *job)
{
    struct kmeans_fit *const fit = &job->best;
    const size_t k = fit->k;
    struct kmeans_sum sum = {0}, *const within = malloc(k * sizeof *within);
    fit->count = malloc(k * sizeof *fit->count);
    fit->within = malloc(k * sizeof *fit->within);
    if (within == NULL || fit->count == NULL || fit->within == NULL) {
        free(within);
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu clusters", k);
    }
    enum status st = kmeans_model_get(job, &job->model, KMEANS_WITHIN, within, k * sizeof *within);
    if (st == STATUS_OK) {
        st = kmeans_model_get(job, &job->model, KMEANS_COUNT, fit->count, k * sizeof *fit->count);
    }
    for (size_t c = 0; c < k && st == STATUS_OK; c++) {
        fit->within[c] = kmeans_sum_value(&within[c]) * job->inertia_unit;
        fit->n_nonzero += fit->count[c] > 0;
        for (size_t w = 0; w < 2; w++) {
            sum.high[w] += within[c].high[w];
            sum.low[w] += within[c].low[w];
        }
    }
    free(within);
    fit->inertia = kmeans_sum_value(&sum) * job->inertia_unit;
    STATUS_TRY(st);
    for (size_t i = 0; i < job->n_ks; i++) {
        if (job->ks[i].k == k) {
            job->ks[i].inertia = fit->inertia;
        }
    }
    return fetch_scatter(job);
}

void kmeans_runs_free(struct kmeans_job *job)
{
    for (size_t r = 0; r < job->n_runs; r++) {
        close_run(job, &job->runs[r]);
    }
    free(job->runs);
    free(job->ks);
    free_fit(&job->best);
    free_fit(&job->candidate);
    kmeans_model_free(job, &job->model);
    kmeans_release(job, &job->scratch);
    kmeans_release(job, &job->sample_at);
    kmeans_release(job, &job->sample_labels);
    free(job->distances);
    free(job->scatter);
    free(job->labels);
}
