/*
 * kmeans_cpu - points go to their nearest centroids: sums and counts, or labels.
 *
 * A task adds up in integers of its own, and adds these to the model's in the end, under a lock;
 * the order does not matter. With many clusters and columns its points are added to the model's
 * directly, by atomic additions. Where `memory` is given, points that stay with their cluster
 * (kmeans_rule.h) are passed over, 12 bytes of memory read, and only what moves is added and taken
 * away; tiles are made of the other points.
 */
#include "kernels/kmeans/kmeans_pass_cpu.h"

/* Sums of a task: some second-level caches. */
static const size_t most_own_bytes = (size_t)4 << 20;

struct assign {
    struct kmeans_bounds *bounds; /* what points remember, or NULL */
    int32_t *label;               /* of a point; beside bounds + 1, and 0: none yet */
    size_t n_sums;                /* that a task has of its own */
};

/* What a task adds up on its own. */
struct totals {
    struct kmeans_sums sums; /* [n_sums] */
    int64_t *count;          /* [k] */
};

static size_t totals_bytes(size_t n_sums, size_t k)
{
    return (2 * n_sums + k) * sizeof(int64_t);
}

static struct totals totals_begin(const struct kmeans_task *t)
{
    const size_t n = ((const struct assign *)t->pass->arg)->n_sums;
    int64_t *high = memset(t->own, 0, totals_bytes(n, t->pass->centroids.k));
    return (struct totals){{high, high + n, NULL}, high + 2 * n};
}

static void totals_merge(const struct kmeans_task *t, const struct totals *own,
                         struct kmeans_sum *sums)
{
    const struct assign *a = t->pass->arg;
    uint64_t *count = kmeans_array(t->pass->m, KMEANS_COUNT);
    pthread_mutex_lock(&t->pass->merging);
    for (size_t c = 0; c < t->pass->centroids.k; ++c) {
        count[c] += (uint64_t)own->count[c];
    }
    for (size_t i = 0; i < a->n_sums; ++i) {
        const struct kmeans_number v = {own->sums.high[i], own->sums.low[i]};
        if ((v.high | v.low) != 0) {
            kmeans_sum_add(&sums[i], v);
        }
    }
    pthread_mutex_unlock(&t->pass->merging);
}

/* --- assign ---------------------------------------------------------------------------------- */

static void add_point(const struct kmeans_pass *pass, const struct totals *own, const void *row,
                      size_t to, const size_t *from)
{
    const struct assign *a = pass->arg;
    const enum dtype type = pass->x->type;
    const size_t d = pass->centroids.d;
    if (a->n_sums > 0) {
        const size_t from_at = from == NULL ? 0 : *from * d;
        pass->set->add(&own->sums, row, type, d, to * d, from == NULL ? NULL : &from_at);
        return;
    }
    struct kmeans_sum *sum = kmeans_array(pass->m, KMEANS_SUM);
    for (size_t j = 0; j < d; ++j) {
        const struct kmeans_number v =
            kmeans_split(kmeans_cell(row, type, j), own->sums.per_unit[j]);
        kmeans_add_shared(&sum[to * d + j], v);
        if (from != NULL) {
            kmeans_add_shared(&sum[*from * d + j], (struct kmeans_number){-v.high, -v.low});
        }
    }
}

static void assign_tile(struct kmeans_task *t, const struct kmeans_rows *rows, void *arg)
{
    const struct kmeans_pass *pass = t->pass;
    const struct totals *own = arg;
    struct kmeans_bounds *bounds = ((const struct assign *)pass->arg)->bounds, tile[KMEANS_TILE];
    int32_t *label = ((const struct assign *)pass->arg)->label;
    if (bounds != NULL) {
        const double *drift = kmeans_array(pass->m, KMEANS_DRIFT);
        const struct kmeans_drifts by = {drift, drift + KMEANS_DRIFT_MOVED * pass->m->k, rows->d};
        pass->set->remember(&t->found, rows->n, &by, tile);
    }
    for (size_t i = 0; i < rows->n; ++i) {
        const size_t p = t->begin + rows->index[i], to = (size_t)t->found.label[i];
        size_t from = SIZE_MAX;
        if (bounds != NULL) {
            bounds[p] = tile[i];
            from = (size_t)label[p] - 1; /* none: SIZE_MAX */
            label[p] = (int32_t)to + 1;
        }
        if (from != to) {
            add_point(pass, own, kmeans_row(rows, i), to, from == SIZE_MAX ? NULL : &from);
            ++own->count[to];
            if (from != SIZE_MAX) {
                --own->count[from];
            }
        }
    }
}

/* How long points keep their label: those of cluster c by entry c + 1, those without one by 0. */
static void find_limits(const struct kmeans_model *m, struct kmeans_bounds *limit)
{
    const double *drift = kmeans_array(m, KMEANS_DRIFT);
    limit[0] = (struct kmeans_bounds){INFINITY, -INFINITY};
    for (size_t c = 0; c < m->k; ++c) {
        limit[c + 1].gap = -kmeans_float_below(-drift[c]);
        limit[c + 1].upper = kmeans_float_below(drift[KMEANS_DRIFT_LIMIT * m->k + c]);
    }
}

static void assign_body(struct kmeans_task *t)
{
    const struct kmeans_model *m = t->pass->m;
    const struct assign *a = t->pass->arg;
    const double *unit = kmeans_array(m, KMEANS_UNIT);
    struct totals own = totals_begin(t);
    double *per_unit = (double *)(own.count + m->k);
    size_t n = t->rows.n;
    for (size_t j = 0; j < m->n_columns; ++j) {
        per_unit[j] = 1 / unit[j];
    }
    own.sums.per_unit = per_unit;
    if (a->bounds != NULL) {
        struct kmeans_bounds *limit = (struct kmeans_bounds *)(per_unit + m->n_columns);
        find_limits(m, limit);
        n = t->pass->set->moves(a->label + t->begin, a->bounds + t->begin, n, limit, t->index);
    }
    kmeans_pass_tiles(t, n, assign_tile, &own);
    totals_merge(t, &own, kmeans_array(m, KMEANS_SUM));
}

static enum status kmeans_assign(struct queue *q, const struct kmeans_points *x,
                                 const struct kmeans_model *m, struct span memory)
{
    const size_t n_sums = m->k * m->n_columns;
    struct assign assign = {.n_sums = 2 * n_sums * sizeof(int64_t) <= most_own_bytes ? n_sums : 0};
    struct kmeans_pass pass;
    STATUS_TRY(kmeans_pass_begin(&pass, x, m, 0, m->k));
    if (memory.at != NULL) {
        STATUS_TRY(cpu_expect(memory, 1, kmeans_memory_bytes(x->n), "memory of points"));
        assign.bounds = memory.at;
        assign.label = (int32_t *)(assign.bounds + x->n);
    }
    pass.own_bytes = totals_bytes(assign.n_sums, m->k) + m->n_columns * sizeof(double) +
                     (m->k + 1) * sizeof(struct kmeans_bounds);
    pass.body = assign_body;
    pass.arg = &assign;
    return kmeans_is_done(m) ? STATUS_OK : kmeans_pass_run(q, &pass);
}

/* --- label ----------------------------------------------------------------------------------- */

static void label_tile(struct kmeans_task *t, const struct kmeans_rows *rows, void *arg)
{
    const struct totals *own = arg;
    const struct assign *a = t->pass->arg;
    const struct kmeans_state *state = kmeans_array(t->pass->m, KMEANS_STATE);
    const double per_unit = 1 / state->inertia_unit;
    for (size_t i = 0; i < rows->n; ++i) {
        const size_t c = (size_t)t->found.label[i];
        const struct kmeans_number d2 = kmeans_split(t->found.d2[i], per_unit);
        own->sums.high[c] += d2.high;
        own->sums.low[c] += d2.low;
        a->label[t->begin + rows->index[i]] = (int32_t)c;
        ++own->count[c];
    }
}

static void label_body(struct kmeans_task *t)
{
    struct totals own = totals_begin(t);
    kmeans_pass_tiles(t, t->rows.n, label_tile, &own);
    totals_merge(t, &own, kmeans_array(t->pass->m, KMEANS_WITHIN));
}

static enum status kmeans_label(struct queue *q, const struct kmeans_points *x,
                                const struct kmeans_model *m, struct span labels)
{
    const struct assign to = {.label = labels.at, .n_sums = m->k};
    struct kmeans_pass pass;
    STATUS_TRY(kmeans_pass_begin(&pass, x, m, 0, m->k));
    STATUS_TRY(cpu_expect(labels, x->n, sizeof *to.label, "labels"));
    pass.own_bytes = totals_bytes(m->k, m->k);
    pass.body = label_body;
    pass.arg = &to;
    return kmeans_pass_run(q, &pass);
}

const struct kmeans_kernels cpu_kmeans = {.range = kmeans_cpu_range,
                                          .squares = kmeans_cpu_squares,
                                          .draw = kmeans_cpu_draw,
                                          .take = kmeans_cpu_take,
                                          .assign = kmeans_assign,
                                          .farthest = kmeans_cpu_farthest,
                                          .update = kmeans_cpu_update,
                                          .label = kmeans_label};
