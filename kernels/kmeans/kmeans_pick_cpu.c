/*
 * kmeans_pick_cpu - passes that pick points: draws for the next centroid, the farthest point.
 *
 * Of the points of a task the task itself picks some, and in the end the model's and these meet
 * under a lock; which come first does not depend on the order (kmeans_before).
 */
#include "kernels/base/clones_cpu.h"
#include "kernels/kmeans/kmeans_pass_cpu.h"

/* --- draw ------------------------------------------------------------------------------------ */

struct draw {
    uint64_t seed, stream;
    double *nearest;
    struct kmeans_centroids trials;
    size_t n_lists, most; /* lists, and points of one */
    double per_unit;      /* of potentials */
};

/* What a task has of its own. */
struct own_draw {
    struct kmeans_pick *list; /* [n_lists][most] */
    double *limit;            /* [n_lists]: points with a key above it are not kept */
    int64_t *potential;       /* [trials.k] */
    double *d2;               /* [trials.k][KMEANS_TILE] */
};

static size_t own_bytes(const struct draw *draw)
{
    return draw->n_lists * (draw->most * sizeof(struct kmeans_pick) + sizeof(double)) +
           draw->trials.k * (sizeof(int64_t) + KMEANS_TILE * sizeof(double));
}

/* The key that a point may have at most to come into a list. */
static double limit_of(const struct kmeans_pick *list, size_t most)
{
    return list[most - 1].point == UINT64_MAX ? (double)INFINITY : list[most - 1].value;
}

/* Takes a point into a list, where it takes the row of cells that is returned; SIZE_MAX: it does
 * not come among the least. One of its class gives way to it, or else the last. */
static size_t insert(struct kmeans_pick *list, size_t most, struct kmeans_pick point)
{
    size_t n = 0, at = 0;
    while (n < most && list[n].point != UINT64_MAX) {
        ++n;
    }
    while (at < n && list[at].point % KMEANS_CLASSES != point.point % KMEANS_CLASSES) {
        ++at;
    }
    at = at == most ? most - 1 : at;
    if (at < n && !kmeans_before(point.value, point.point, list[at].value, list[at].point, false)) {
        return SIZE_MAX;
    }
    const size_t row = at < n ? (size_t)list[at].cluster : n;
    while (at > 0 &&
           kmeans_before(point.value, point.point, list[at - 1].value, list[at - 1].point, false)) {
        list[at] = list[at - 1];
        --at;
    }
    list[at] = (struct kmeans_pick){point.value, point.point, row};
    return row;
}

static struct own_draw begin_draw(struct kmeans_task *t)
{
    const struct draw *draw = t->pass->arg;
    const size_t n = draw->n_lists * draw->most;
    struct own_draw own = {.list = t->own};
    const struct kmeans_pick *list = kmeans_array(t->pass->m, KMEANS_DRAWN);
    own.limit = (double *)(own.list + n);
    own.potential = (int64_t *)(own.limit + draw->n_lists);
    own.d2 = (double *)(own.potential + draw->trials.k);
    memset(own.potential, 0, draw->trials.k * sizeof *own.potential);
    memset(own.list, KMEANS_NONE_DRAWN, n * sizeof *own.list);
    pthread_mutex_lock(&t->pass->merging);
    for (size_t i = 0; i < draw->n_lists; ++i) {
        own.limit[i] = limit_of(list + i * draw->most, draw->most);
    }
    pthread_mutex_unlock(&t->pass->merging);
    return own;
}

static void end_draw(struct kmeans_task *t, const struct own_draw *own)
{
    const struct draw *draw = t->pass->arg;
    const struct kmeans_points *x = t->pass->x;
    const size_t d = x->n_columns, most = draw->most;
    int64_t *potential = kmeans_array(t->pass->m, KMEANS_POTENTIAL);
    struct kmeans_pick *list = kmeans_array(t->pass->m, KMEANS_DRAWN);
    double *cells = kmeans_array(t->pass->m, KMEANS_PICK_CELLS);
    pthread_mutex_lock(&t->pass->merging);
    for (size_t i = 0; i < draw->trials.k; ++i) {
        potential[i] += own->potential[i];
    }
    for (size_t i = 0; i < draw->n_lists * most; ++i) {
        const struct kmeans_pick point = own->list[i];
        const size_t of = i / most * most; /* where its list begins */
        const size_t row = point.point == UINT64_MAX ? SIZE_MAX : insert(list + of, most, point);
        for (size_t j = 0; row != SIZE_MAX && j < d; ++j) {
            cells[(of + row) * d + j] =
                dtype_real(x->type, x->at.at, (size_t)(point.point - x->first) * d + j);
        }
    }
    pthread_mutex_unlock(&t->pass->merging);
}

/* What the points of a tile draw with, whatever they weigh. */
struct uniforms {
    double u[KMEANS_TILE], least[KMEANS_TILE]; /* kmeans_uniform(), kmeans_least_exponential() */
};

/* Of n points from number `first` on. */
CPU_CLONES static void draw_uniforms(uint64_t seed, uint64_t stream, uint64_t first, size_t n,
                                     struct uniforms *out)
{
    for (size_t i = 0; i < n; ++i) {
        out->u[i] = kmeans_uniform(philox_block(seed, stream, first + i));
        out->least[i] = kmeans_least_exponential(out->u[i]);
    }
}

/* Whether a key of n points may be at most `limit`. */
CPU_CLONES static bool any_below(const double *least, const double *weight, size_t n, double limit)
{
    int64_t n_above = 0;
    for (size_t i = 0; i < n; ++i) {
        n_above += kmeans_key_is_above(least[i], weight[i], limit) ? 1 : 0;
    }
    return n_above < (int64_t)n;
}

/* d2 of n points becomes the weight with a trial, where `base` is that without; their sum. */
CPU_CLONES static int64_t add_weights(const double *base, double *d2, size_t n, double per_unit)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; ++i) {
        d2[i] = d2[i] < base[i] ? d2[i] : base[i];
        sum += kmeans_in_units(d2[i], per_unit);
    }
    return sum;
}

/* Offers a list n points from number `first` on, with these weights. */
static void draw_points(const struct draw *draw, const struct own_draw *own, size_t of,
                        uint64_t first, size_t n, const struct uniforms *with, const double *weight)
{
    struct kmeans_pick *list = own->list + of * draw->most;
    double limit = own->limit[of];
    if (!any_below(with->least, weight, n, limit)) {
        return;
    }
    for (size_t i = 0; i < n; ++i) {
        if (weight[i] > 0 && !kmeans_key_is_above(with->least[i], weight[i], limit)) {
            const double key = rounded_divide(kmeans_exponential(with->u[i]), weight[i]);
            (void)insert(list, draw->most, (struct kmeans_pick){key, first + i, 0});
            const double least = limit_of(list, draw->most);
            limit = least < limit ? least : limit;
        }
    }
    own->limit[of] = limit;
}

/* Weights of n points from number p of the pass on, times their masses. */
static void weigh(const struct kmeans_pass *pass, size_t p, size_t n, double *weight)
{
    const size_t bytes = pass->x->n_columns * dtype_bytes(pass->x->type);
    for (size_t i = 0; pass->m->has_mass && i < n; ++i) {
        const double mass = kmeans_mass(pass, (const char *)pass->x->at.at + (p + i) * bytes);
        weight[i] = rounded_multiply(weight[i], mass);
    }
}

/* n points from number p of the pass on; base: their weights without a trial, and a mass. */
static void draw_from(struct kmeans_task *t, const struct own_draw *own, size_t p, size_t n,
                      double *base)
{
    const struct draw *draw = t->pass->arg;
    const uint64_t first = t->pass->x->first + p;
    struct uniforms with;
    weigh(t->pass, p, n, base);
    if (draw->n_lists > 0) {
        draw_uniforms(draw->seed, draw->stream, first, n, &with);
    }
    if (draw->trials.k == 0) {
        draw_points(draw, own, 0, first, n, &with, base);
        return;
    }
    t->pass->set->distances(&draw->trials, t->tile, n, own->d2);
    for (size_t i = 0; i < draw->trials.k; ++i) {
        double *d2 = own->d2 + i * KMEANS_TILE;
        weigh(t->pass, p, n, d2);
        own->potential[i] += add_weights(base, d2, n, draw->per_unit);
        if (draw->n_lists > 0) {
            draw_points(draw, own, i, first, n, &with, d2);
        }
    }
}

static void draw_tile(struct kmeans_task *t, const struct kmeans_rows *rows, void *own)
{
    double *weight = t->found.d2, *nearest = ((const struct draw *)t->pass->arg)->nearest;
    const size_t p = t->begin + rows->index[0];
    for (size_t i = 0; nearest != NULL && i < rows->n; ++i) {
        const double before = nearest[p + i];
        weight[i] = t->pass->m->n_drawn > 1 && before < weight[i] ? before : weight[i];
        nearest[p + i] = weight[i];
    }
    draw_from(t, own, p, rows->n, weight);
}

static void draw_body(struct kmeans_task *t)
{
    struct own_draw own = begin_draw(t);
    if (t->pass->m->n_drawn > 0) {
        kmeans_pass_tiles(t, t->rows.n, draw_tile, &own);
    } else {
        for (size_t p = 0; p < t->rows.n; p += KMEANS_TILE) {
            for (size_t i = 0; i < KMEANS_TILE; ++i) {
                t->found.d2[i] = 1;
            }
            draw_from(t, &own, t->begin + p, cpu_min(KMEANS_TILE, t->rows.n - p), t->found.d2);
        }
    }
    end_draw(t, &own);
}

enum status kmeans_cpu_draw(struct queue *q, const struct kmeans_points *x,
                            const struct kmeans_model *m, uint64_t seed, uint64_t stream,
                            struct span nearest)
{
    /* the distances to the newest alone, where those to the other ones are there */
    const bool newest = nearest.at != NULL && m->n_drawn > 0;
    const double *centroid = kmeans_array(m, KMEANS_CENTROID);
    const struct kmeans_state *state = kmeans_array(m, KMEANS_STATE);
    struct draw draw = {.seed = seed, .stream = stream, .nearest = nearest.at};
    struct kmeans_pass pass;
    STATUS_TRY(
        kmeans_pass_begin(&pass, x, m, newest ? m->n_drawn - 1 : 0, newest ? 1 : m->n_drawn));
    if (nearest.at != NULL) {
        STATUS_TRY(cpu_expect(nearest, x->n, sizeof(double), "distances of points"));
    }
    draw.trials = pass.centroids;
    draw.trials.at = centroid + m->n_drawn * m->n_columns;
    draw.trials.k = m->n_trials;
    draw.n_lists = kmeans_n_lists(m);
    draw.most = kmeans_trials(m->k);
    draw.per_unit = 1 / state->potential_unit;
    pass.own_bytes = own_bytes(&draw);
    pass.body = draw_body;
    pass.arg = &draw;
    return kmeans_pass_run(q, &pass);
}

/* --- take ------------------------------------------------------------------------------------ */

/* The trial with the least potential. */
static size_t best_trial(const struct kmeans_model *m)
{
    const int64_t *potential = kmeans_array(m, KMEANS_POTENTIAL);
    size_t best = 0;
    for (size_t i = 1; i < m->n_trials; ++i) {
        best = potential[i] < potential[best] ? i : best;
    }
    return best;
}

enum status kmeans_cpu_take(struct queue *q, const struct kmeans_model *m)
{
    (void)q;
    const size_t d = m->n_columns, t = kmeans_trials(m->k), bytes = d * sizeof(double);
    struct kmeans_pick *drawn = kmeans_array(m, KMEANS_DRAWN);
    double *centroid = kmeans_array(m, KMEANS_CENTROID), *next = centroid + m->n_drawn * d;
    STATUS_TRY(cpu_expect(m->at, 1, kmeans_model_bytes(m->k, d), "a model of k-means"));
    if (m->n_drawn >= m->k) {
        return status_fail(STATUS_INTERNAL, "centroid %zu of %zu", m->n_drawn, m->k);
    }
    const size_t best = best_trial(m);
    int64_t *potential = kmeans_array(m, KMEANS_POTENTIAL);
    struct kmeans_state *state = kmeans_array(m, KMEANS_STATE);
    const struct kmeans_pick *list = drawn + best * t;
    const double *cells = (const double *)kmeans_array(m, KMEANS_PICK_CELLS) + best * t * d;
    if (m->n_trials > 0) {
        memmove(next, next + best * d, bytes);
        next += d;
    }
    for (size_t i = 0; i < t; ++i) {
        const size_t of = list[i].point != UINT64_MAX ? i : 0;
        memmove(next + i * d,
                list[of].point != UINT64_MAX ? cells + list[of].cluster * d : centroid, bytes);
    }
    memset(drawn, KMEANS_NONE_DRAWN, t * t * sizeof *drawn);
    state->potential_unit = kmeans_potential_unit(state, potential[best], m->n_trials > 0);
    memset(potential, 0, t * sizeof *potential);
    return STATUS_OK;
}

/* --- farthest -------------------------------------------------------------------------------- */

static void consider(struct kmeans_pick *pick, struct kmeans_pick other)
{
    const bool comes = other.point != UINT64_MAX &&
                       kmeans_before(other.value, other.point, pick->value, pick->point, true);
    *pick = comes ? other : *pick;
}

static void farthest_tile(struct kmeans_task *t, const struct kmeans_rows *rows, void *pick)
{
    for (size_t i = 0; i < rows->n; ++i) {
        const struct kmeans_pick point = {t->found.d2[i],
                                          t->pass->x->first + t->begin + rows->index[i],
                                          (uint64_t)t->found.label[i]};
        if (kmeans_mass(t->pass, kmeans_row(rows, i)) > 0) {
            consider(pick, point);
        }
    }
}

static void farthest_body(struct kmeans_task *t)
{
    const struct kmeans_points *x = t->pass->x;
    struct kmeans_state *state = kmeans_array(t->pass->m, KMEANS_STATE);
    double *cells = kmeans_array(t->pass->m, KMEANS_PICK_CELLS);
    struct kmeans_pick pick = {0, UINT64_MAX, 0};
    kmeans_pass_tiles(t, t->rows.n, farthest_tile, &pick);
    pthread_mutex_lock(&t->pass->merging);
    consider(&state->pick, pick);
    const bool is_taken = pick.point != UINT64_MAX && state->pick.point == pick.point;
    for (size_t j = 0; is_taken && j < x->n_columns; ++j) {
        cells[j] =
            dtype_real(x->type, x->at.at, (size_t)(pick.point - x->first) * x->n_columns + j);
    }
    pthread_mutex_unlock(&t->pass->merging);
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
