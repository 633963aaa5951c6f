#include "kernels/kmeans/kmeans_solve_state.h"

#include "kernels/backend.h"

#include <math.h>

enum { SAMPLE_MOST = 1000, SAMPLE_WORK = 1 << 28 /* squares of differences */ };

size_t kmeans_sample_of(size_t n_columns)
{
    const size_t side = (size_t)sqrt((double)SAMPLE_WORK / (double)n_columns);
    return side < 2 ? 2 : side < SAMPLE_MOST ? side : SAMPLE_MOST;
}

/* --- memory ---------------------------------------------------------------------------------- */

/* kmeans_model_bytes(k, d): so much, as much again for each cluster, and for the trials of seeds.
 */
static enum status model_room(struct room *room, size_t k, size_t d, struct span *out)
{
    const size_t each = kmeans_model_bytes(1, d) - kmeans_model_bytes(0, d);
    size_t bytes;
    if (__builtin_mul_overflow(k, each, &bytes) || bytes > SIZE_MAX / 2) {
        room_count(room, 0, UINT64_MAX);
        return STATUS_OK;
    }
    return room_span(room, 1, kmeans_model_bytes(k, d), out);
}

static enum status runs_room(struct kmeans_solve *s, struct room *room)
{
    const size_t k = s->request.k_last, d = s->request.n_columns;
    STATUS_TRY(room_host(room, s->request.width, sizeof *s->runs, &s->runs));
    for (size_t r = 0; r < s->request.width; r++) {
        struct kmeans_run run = {.k = 0};
        STATUS_TRY(model_room(room, k, d, &run.at));
        if (s->request.init == KMEANS_INIT_RANDOM || s->request.init == KMEANS_INIT_FIRST) {
            STATUS_TRY(room_host(room, k, sizeof *run.start, &run.start));
            STATUS_TRY(room_host(room, k, d * sizeof *run.centroids, &run.centroids));
        }
        if (s->runs != NULL) {
            s->runs[r] = run;
        }
    }
    /* a buffer of the queue */
    room_count(room, 0, (uint64_t)k * (d + 2) * KMEANS_SCRATCH_NUMBER + KMEANS_SCRATCH_BESIDE);
    return STATUS_OK;
}

static enum status fits_room(struct kmeans_solve *s, struct room *room)
{
    const size_t k = s->request.k_last, d = s->request.n_columns, n = s->request.n_sample;
    struct kmeans_fit *const fits[] = {&s->best, &s->candidate};
    for (size_t i = 0; i < 2; i++) {
        STATUS_TRY(room_host(room, k, d * sizeof(double), &fits[i]->centroids));
        STATUS_TRY(room_host(room, n, sizeof(int32_t), &fits[i]->sample));
    }
    STATUS_TRY(kmeans_sample_room(&s->sample, room, n, d));
    STATUS_TRY(room_span(room, n, d * sizeof(double), &s->sample_at));
    STATUS_TRY(room_span(room, n, sizeof(int32_t), &s->sample_labels));
    STATUS_TRY(room_host(room, n * (n + 1) / 2 + 1, sizeof(double), &s->distances));
    STATUS_TRY(room_host(room, k - s->request.k_first + 1, sizeof *s->ks, &s->ks));
    STATUS_TRY(room_host(room, k, sizeof *s->count, &s->count));
    STATUS_TRY(s->request.has_mass ? room_host(room, k, sizeof *s->mass, &s->mass) : STATUS_OK);
    return room_host(room, k, sizeof *s->within, &s->within);
}

enum status kmeans_solve_room(struct kmeans_solve *s, struct room *room)
{
    const size_t d = s->request.n_columns;
    double **const arrays[] = {&s->min, &s->max, &s->weight, &s->unit, &s->mean, &s->square_unit};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        STATUS_TRY(room_host(room, d, sizeof(double), arrays[i]));
    }
    STATUS_TRY(room_host(room, d, sizeof *s->squares, &s->squares));
    STATUS_TRY(room_host(room, d, dtype_bytes(s->request.type), &s->row));
    STATUS_TRY(model_room(room, 1, d, &s->all.at));
    STATUS_TRY(runs_room(s, room));
    return fits_room(s, room);
}

/* --- passes ---------------------------------------------------------------------------------- */

static enum status begin(struct kmeans_solve *s, struct queue *queue)
{
    s->queue = queue;
    s->ops = queue->backend->ops;
    s->kernels = s->ops->kmeans;
    for (size_t c = 0; c < s->request.n_columns; c++) {
        s->min[c] = INFINITY;
        s->max[c] = -INFINITY;
        s->weight[c] = s->unit[c] = 1;
    }
    s->inertia_unit = 1;
    return kmeans_model_begin(s, 1, s->all.at, &s->all);
}

static enum status survey(void *arg, const struct kmeans_points *x, struct span memory)
{
    struct kmeans_solve *const s = arg;
    (void)memory;
    s->n += x->n;
    return s->kernels->range(s->queue, x, &s->all);
}

static enum status label(void *arg, const struct kmeans_points *x, struct span memory)
{
    struct kmeans_solve *const s = arg;
    STATUS_TRY(s->kernels->label(s->queue, x, &s->model, memory));
    return s->source.take_labels(s->source.context, x, memory);
}

/* The labels of all points by the best run, and what its clusters hold. */
static enum status label_all(struct kmeans_solve *s)
{
    struct kmeans_fit *const fit = &s->best;
    STATUS_TRY(kmeans_model_begin(s, fit->k, s->runs[0].at, &s->model));
    STATUS_TRY(kmeans_model_put(s, &s->model, KMEANS_CENTROID, fit->centroids,
                                fit->k * s->request.n_columns * sizeof(double)));
    STATUS_TRY(kmeans_visit_all(s, label));
    STATUS_TRY(kmeans_model_get(s, &s->model, KMEANS_COUNT, s->count, fit->k * sizeof *s->count));
    STATUS_TRY(kmeans_model_inertia(s, &s->model, s->within, &fit->inertia));
    for (size_t c = 0; c < fit->k; c++) {
        s->n_nonzero += s->count[c] > 0;
        if (s->request.has_mass) {
            STATUS_TRY(kmeans_model_mass(s, &s->model, c, &s->mass[c]));
        }
    }
    s->ks[fit->k - s->request.k_first].inertia = fit->inertia;
    return STATUS_OK;
}

enum status kmeans_solve_all(struct kmeans_solve *s, struct room *room)
{
    STATUS_TRY(begin(s, room->queue));
    STATUS_TRY(kmeans_visit_all(s, survey));
    STATUS_TRY(kmeans_scale(s));
    STATUS_TRY(kmeans_fits_begin(s));
    STATUS_TRY(kmeans_runs(s));
    room_give_back(room, s->distances);
    s->distances = NULL;
    return label_all(s);
}
