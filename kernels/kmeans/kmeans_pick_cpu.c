/*
 * kmeans_pick_cpu - passes that pick a point: draws of the next centroid, the farthest point.
 *
 * Of the points of a task the task itself picks one, and in the end the model's pick and this one
 * meet under a lock; which comes first does not depend on the order (kmeans_before).
 */
#include "kernels/base/clones_cpu.h"
#include "kernels/kmeans/kmeans_pass_cpu.h"

static const struct kmeans_pick no_pick = {0, UINT64_MAX, 0};

static bool consider(struct kmeans_pick *pick, struct kmeans_pick other, bool farthest)
{
    const bool comes = other.point != UINT64_MAX &&
                       kmeans_before(other.value, other.point, pick->value, pick->point, farthest);
    *pick = comes ? other : *pick;
    return comes;
}

static void merge(const struct kmeans_task *t, struct kmeans_pick own, bool farthest)
{
    const struct kmeans_points *x = t->pass->x;
    struct kmeans_state *state = kmeans_array(t->pass->m, KMEANS_STATE);
    double *cells = kmeans_array(t->pass->m, KMEANS_PICK_CELLS);
    pthread_mutex_lock(&t->pass->merging);
    if (consider(&state->pick, own, farthest)) {
        const size_t at = (size_t)(own.point - x->first) * x->n_columns;
        for (size_t j = 0; j < x->n_columns; ++j) {
            cells[j] = kmeans_cell(x->at.at, x->type, at + j);
        }
    }
    pthread_mutex_unlock(&t->pass->merging);
}

/* --- draw ------------------------------------------------------------------------------------ */

struct draw {
    uint64_t seed, stream;
    double *nearest;
};

/* kmeans_uniform() of n points from number `first` on. */
CPU_CLONES static void uniforms(uint64_t seed, uint64_t stream, uint64_t first, size_t n, double *u)
{
    for (size_t i = 0; i < n; ++i) {
        u[i] = kmeans_uniform(philox_block(seed, stream, first + i));
    }
}

/* n points from p on, with these weights. */
static void draw_points(const struct kmeans_pass *pass, size_t p, size_t n, const double *weight,
                        struct kmeans_pick *pick)
{
    const struct draw *draw = pass->arg;
    const uint64_t first = pass->x->first + p;
    double u[KMEANS_TILE];
    uniforms(draw->seed, draw->stream, first, n, u);
    for (size_t i = 0; i < n; ++i) {
        if (weight[i] > 0 &&
            (pick->point == UINT64_MAX || !kmeans_key_is_above(u[i], weight[i], pick->value))) {
            const double key = rounded_divide(kmeans_exponential(u[i]), weight[i]);
            consider(pick, (struct kmeans_pick){key, first + i, 0}, false);
        }
    }
}

static void draw_tile(struct kmeans_task *t, const struct kmeans_rows *rows, void *pick)
{
    double *weight = t->found.d2, *nearest = ((const struct draw *)t->pass->arg)->nearest;
    const size_t p = t->begin + rows->index[0];
    for (size_t i = 0; nearest != NULL && i < rows->n; ++i) {
        const double before = nearest[p + i];
        weight[i] = t->pass->m->n_drawn > 1 && before < weight[i] ? before : weight[i];
        nearest[p + i] = weight[i];
    }
    draw_points(t->pass, p, rows->n, weight, pick);
}

static void draw_body(struct kmeans_task *t)
{
    struct kmeans_pick pick = no_pick;
    if (t->pass->m->n_drawn > 0) {
        kmeans_pass_tiles(t, t->rows.n, draw_tile, &pick);
    } else {
        for (size_t i = 0; i < KMEANS_TILE; ++i) {
            t->found.d2[i] = 1;
        }
        for (size_t p = 0; p < t->rows.n; p += KMEANS_TILE) {
            draw_points(t->pass, t->begin + p, cpu_min(KMEANS_TILE, t->rows.n - p), t->found.d2,
                        &pick);
        }
    }
    merge(t, pick, false);
}

enum status kmeans_cpu_draw(struct queue *q, const struct kmeans_points *x,
                            const struct kmeans_model *m, uint64_t seed, uint64_t stream,
                            struct span nearest)
{
    /* the distances to the newest alone, where those to the other ones are there */
    const bool newest = nearest.at != NULL && m->n_drawn > 0;
    const struct draw draw = {seed, stream, nearest.at};
    struct kmeans_pass pass;
    STATUS_TRY(
        kmeans_pass_begin(&pass, x, m, newest ? m->n_drawn - 1 : 0, newest ? 1 : m->n_drawn));
    if (nearest.at != NULL) {
        STATUS_TRY(cpu_expect(nearest, x->n, sizeof(double), "distances of points"));
    }
    pass.body = draw_body;
    pass.arg = &draw;
    return kmeans_pass_run(q, &pass);
}

enum status kmeans_cpu_take(struct queue *q, const struct kmeans_model *m)
{
    (void)q;
    const size_t d = m->n_columns;
    struct kmeans_state *state = kmeans_array(m, KMEANS_STATE);
    double *centroid = kmeans_array(m, KMEANS_CENTROID);
    STATUS_TRY(cpu_expect(m->at, 1, kmeans_model_bytes(m->k, d), "a model of k-means"));
    if (m->n_drawn >= m->k) {
        return status_fail(STATUS_INTERNAL, "centroid %zu of %zu", m->n_drawn, m->k);
    }
    memmove(centroid + m->n_drawn * d,
            state->pick.point == UINT64_MAX ? centroid : kmeans_array(m, KMEANS_PICK_CELLS),
            d * sizeof *centroid);
    state->pick = no_pick;
    return STATUS_OK;
}

/* --- farthest -------------------------------------------------------------------------------- */

static void farthest_tile(struct kmeans_task *t, const struct kmeans_rows *rows, void *pick)
{
    for (size_t i = 0; i < rows->n; ++i) {
        const struct kmeans_pick point = {t->found.d2[i],
                                          t->pass->x->first + t->begin + rows->index[i],
                                          (uint64_t)t->found.label[i]};
        consider(pick, point, true);
    }
}

static void farthest_body(struct kmeans_task *t)
{
    struct kmeans_pick pick = no_pick;
    kmeans_pass_tiles(t, t->rows.n, farthest_tile, &pick);
    merge(t, pick, true);
}

enum status kmeans_cpu_farthest(struct queue *q, const struct kmeans_points *x,
                                const struct kmeans_model *m)
{
    size_t first;
    struct kmeans_pass pass;
    STATUS_TRY(kmeans_pass_begin(&pass, x, m, 0, m->k));
    pass.body = farthest_body;
    return kmeans_is_done(m) || kmeans_count_empty(m, &first) == 0 ? STATUS_OK
                                                                   : kmeans_pass_run(q, &pass);
}
