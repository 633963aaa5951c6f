/*
 * kmeans_update_cpu - the next centroids, how far they have moved, and the state of an iteration.
 */
#include "kernels/kmeans/kmeans_pass_cpu.h"

#include <stdlib.h>

struct update {
    const struct kmeans_model *m;
    const double *weight; /* or NULL: all are 1 */
    const double *taken;  /* cells of the point that goes from a cluster to another one, or NULL */
    size_t taken_from, taken_to;
    double *moved, *between; /* [k]: d2 of new and old, and of new and the nearest other new one */
};

/* What column j of a point that goes to another cluster adds to a sum. */
static struct kmeans_number number_of_taken(const struct update *u, size_t j)
{
    const struct kmeans_model *m = u->m;
    const double *unit = kmeans_array(m, KMEANS_UNIT);
    const double mass = m->has_mass ? u->taken[m->mass_column] * m->mass_factor : 1;
    const bool is_mass = m->has_mass && j == m->mass_column;
    return kmeans_split(is_mass ? mass : rounded_multiply(u->taken[j], mass), 1 / unit[j]);
}

/* A sum of cluster c, without the point if it `leaves`. */
static struct kmeans_sum sum_of(const struct update *u, size_t c, size_t j, bool leaves)
{
    const size_t d = u->m->n_columns;
    struct kmeans_sum of = ((struct kmeans_sum *)kmeans_array(u->m, KMEANS_SUM))[c * d + j];
    if (leaves) {
        const struct kmeans_number v = number_of_taken(u, j);
        kmeans_sum_add(&of, (struct kmeans_number){-v.high, -v.low});
    }
    return of;
}

/* The new centroid of cluster c, in place of the old one. */
static void update_cluster(const struct update *u, size_t c)
{
    const struct kmeans_model *m = u->m;
    const size_t d = m->n_columns;
    const bool leaves = u->taken != NULL && c == u->taken_from;
    const bool comes = u->taken != NULL && c == u->taken_to;
    const double *unit = kmeans_array(m, KMEANS_UNIT);
    const uint64_t n = ((const uint64_t *)kmeans_array(m, KMEANS_COUNT))[c] - leaves;
    double *centroid = (double *)kmeans_array(m, KMEANS_CENTROID) + c * d;
    struct kmeans_sum *sum = (struct kmeans_sum *)kmeans_array(m, KMEANS_SUM) + c * d;
    const size_t by = m->mass_column;
    const double mass = m->has_mass ? kmeans_mean(sum_of(u, c, by, leaves), 1, unit[by]) : 1;
    u->moved[c] = 0;
    for (size_t j = 0; j < d; ++j) {
        const struct kmeans_sum of = sum_of(u, c, j, leaves);
        const double now = comes                 ? u->taken[j]
                           : n == 0 || mass == 0 ? centroid[j]
                           : m->has_mass         ? kmeans_mass_mean(of, unit[j], mass)
                                                 : kmeans_mean(of, n, unit[j]);
        u->moved[c] =
            kmeans_add_column(u->moved[c], now, centroid[j], u->weight == NULL ? 1 : u->weight[j]);
        centroid[j] = now;
        sum[j] = m->incremental ? kmeans_normal(sum[j]) : (struct kmeans_sum){0};
    }
}

enum { UPDATE_CELLS = 256 };

static size_t clusters_per_task(const struct kmeans_model *m)
{
    return cpu_max(1, UPDATE_CELLS / cpu_max(1, m->n_columns));
}

static void update_body(void *arg, size_t index)
{
    const struct update *u = arg;
    const size_t step = clusters_per_task(u->m);
    for (size_t c = index * step; c < cpu_min((index + 1) * step, u->m->k); ++c) {
        update_cluster(u, c);
    }
}

/* --- bounds ---------------------------------------------------------------------------------- */

/* The second least d2 of a centroid, for it is there itself. */
static void between_tile(struct kmeans_task *t, const struct kmeans_rows *rows, void *between)
{
    memcpy((double *)between + t->begin + rows->index[0], t->found.second,
           rows->n * sizeof(double));
}

static void between_body(struct kmeans_task *t)
{
    const struct update *u = t->pass->arg;
    kmeans_pass_tiles(t, t->rows.n, between_tile, u->between);
}

/* What every centroid has moved goes into the drifts: of cluster c its own way and the longest of
 * the other ones. */
static void update_drift(const struct update *u)
{
    const size_t k = u->m->k, d = u->m->n_columns;
    double *drift = kmeans_array(u->m, KMEANS_DRIFT);
    double *limit = drift + KMEANS_DRIFT_LIMIT * k, *moved = drift + KMEANS_DRIFT_MOVED * k;
    size_t most = 0;
    for (size_t c = 1; c < k; ++c) {
        most = u->moved[c] > u->moved[most] ? c : most;
    }
    double next = 0;
    for (size_t c = 0; c < k; ++c) {
        next = c != most && u->moved[c] > next ? u->moved[c] : next;
    }
    for (size_t c = 0; c < k; ++c) {
        const double own = kmeans_drift_of(u->moved[c], d);
        const double other = kmeans_drift_of(c == most ? next : u->moved[most], d);
        drift[c] = kmeans_drift_add(drift[c], kmeans_drift_add(own, other));
        moved[c] = kmeans_drift_add(moved[c], own);
        limit[c] = kmeans_drift_limit(u->between[c], moved[c], d);
    }
}

static enum status update_bounds(struct queue *q, const struct update *u)
{
    const struct kmeans_model *m = u->m;
    const struct kmeans_points centroids = {
        span_from(m->at, kmeans_offset(m->k, m->n_columns, KMEANS_CENTROID)), DTYPE_F64, m->k,
        m->n_columns, 0};
    struct kmeans_pass pass;
    STATUS_TRY(kmeans_pass_begin(&pass, &centroids, m, 0, m->k));
    pass.task_points = KMEANS_TILE;
    pass.body = between_body;
    pass.arg = u;
    STATUS_TRY(kmeans_pass_run(q, &pass));
    update_drift(u);
    return STATUS_OK;
}

/* --- update ---------------------------------------------------------------------------------- */

static void update_state(const struct update *u, struct kmeans_state *state, size_t n_empty)
{
    state->shift2 = 0;
    for (size_t c = 0; c < u->m->k; ++c) {
        state->shift2 = rounded_add(state->shift2, u->moved[c]);
    }
    ++state->n_iterations;
    state->n_empty = n_empty;
    state->n_relocated += u->taken != NULL;
    state->done = u->taken == NULL && state->shift2 <= state->tolerance;
    state->pick = (struct kmeans_pick){0, UINT64_MAX, 0};
}

enum status kmeans_cpu_update(struct queue *q, const struct kmeans_model *m)
{
    struct kmeans_state *state = kmeans_array(m, KMEANS_STATE);
    struct update u = {.m = m, .weight = kmeans_weights(m)};
    enum status st = STATUS_OK;
    STATUS_TRY(cpu_expect(m->at, 1, kmeans_model_bytes(m->k, m->n_columns), "a model of k-means"));
    if (kmeans_is_done(m) || m->k == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(cpu_scratch(m->k, 2 * sizeof *u.moved, (void **)&u.moved));
    u.between = u.moved + m->k;
    const size_t n_empty = kmeans_count_empty(m, &u.taken_to);
    if (n_empty > 0 && state->pick.point != UINT64_MAX && state->pick.value > 0) {
        u.taken = kmeans_array(m, KMEANS_PICK_CELLS);
        u.taken_from = (size_t)state->pick.cluster;
    }
    cpu_run(q, cpu_pieces(m->k, clusters_per_task(m)), update_body, &u);
    if (m->incremental) {
        st = update_bounds(q, &u);
    } else {
        memset(kmeans_array(m, KMEANS_COUNT), 0, m->k * sizeof(uint64_t));
    }
    update_state(&u, state, n_empty);
    free(u.moved);
    return st;
}
