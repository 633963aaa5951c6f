/*
 * kmeans_cpu - points go to their nearest centroids: sums and counts, or labels.
 *
 * A task adds up in integers of its own, and adds these to the model's in the end, under a lock;
 * the order does not matter. With many clusters and columns its points are added to the model's
 * directly, by atomic additions. Where `memory` is given, points that stay with their cluster
 * (kmeans_rule.h) are passed over, 12 bytes of memory read, and only what moves is added and taken
 * away; tiles are made of the other points.
 */
#include "kernels/base/clones_cpu.h"
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
    int64_t *high, *low;    /* [n_sums]: of cluster c and column j, number c * d + j */
    int64_t *count;         /* [k] */
    const double *per_unit; /* [d]: 1 / unit */
    double *row;            /* [d]: of a point, times its mass; NULL: they have none */
};

static size_t totals_bytes(size_t n_sums, size_t k)
{
    return (2 * n_sums + k) * sizeof(int64_t);
}

static struct totals totals_begin(const struct kmeans_task *t)
{
    const size_t n = ((const struct assign *)t->pass->arg)->n_sums;
    int64_t *high = memset(t->own, 0, totals_bytes(n, t->pass->centroids.k));
    return (struct totals){high, high + n, high + 2 * n, NULL, NULL};
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
        const struct kmeans_number v = {own->high[i], own->low[i]};
        if ((v.high | v.low) != 0) {
            kmeans_sum_add(&sums[i], v);
        }
    }
    pthread_mutex_unlock(&t->pass->merging);
}

/* --- bounds ---------------------------------------------------------------------------------- */

/* What the n first points of a tile remember. */
CPU_CLONES static void remember(const struct kmeans_nearest *found, size_t n, const double *gap,
                                const double *moved, size_t d, struct kmeans_bounds *out)
{
    for (size_t i = 0; i < n; ++i) {
        const int64_t c = found->label[i];
        out[i] = kmeans_remember(found->d2[i], found->second[i], gap[c], moved[c], d);
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

/* Which of n points may move to another cluster: their numbers, in order; how many. Without a
 * branch, as kmeans_stays(). */
CPU_CLONES static size_t find_moves(const int32_t *label, const struct kmeans_bounds *bounds,
                                    size_t n, const struct kmeans_bounds *limit, uint16_t *index)
{
    size_t n_moves = 0;
    for (size_t i = 0; i < n; ++i) {
        const struct kmeans_bounds b = bounds[i], most = limit[label[i]];
        index[n_moves] = (uint16_t)i;
        n_moves += 1 ^ ((size_t)(b.gap > most.gap) | (size_t)(b.upper < most.upper));
    }
    return n_moves;
}

/* --- assign ---------------------------------------------------------------------------------- */

/* Adds a row to the entries from `to` on, and takes it from those from `*from` on, if not NULL. */
CPU_INLINE void add_row_of(const struct totals *own, const void *row, const enum dtype type,
                           size_t d, size_t to, const size_t *from)
{
    int64_t *restrict high = own->high + to, *restrict low = own->low + to;
    const double *restrict per_unit = own->per_unit;
    if (from == NULL) {
        for (size_t j = 0; j < d; ++j) {
            const struct kmeans_number v = kmeans_split(dtype_real(type, row, j), per_unit[j]);
            high[j] += v.high;
            low[j] += v.low;
        }
        return;
    }
    int64_t *restrict from_high = own->high + *from, *restrict from_low = own->low + *from;
    for (size_t j = 0; j < d; ++j) {
        const struct kmeans_number v = kmeans_split(dtype_real(type, row, j), per_unit[j]);
        high[j] += v.high;
        low[j] += v.low;
        from_high[j] -= v.high;
        from_low[j] -= v.low;
    }
}

CPU_CLONES static void add_row(const struct totals *own, const void *row, enum dtype type, size_t d,
                               size_t to, const size_t *from)
{
    if (type == DTYPE_F32) {
        add_row_of(own, row, DTYPE_F32, d, to, from);
    } else {
        add_row_of(own, row, DTYPE_F64, d, to, from);
    }
}

static void add_point(const struct kmeans_pass *pass, const struct totals *own, const void *row,
                      size_t to, const size_t *from)
{
    const struct assign *a = pass->arg;
    const size_t d = pass->centroids.d;
    enum dtype type = pass->x->type;
    if (own->row != NULL) {
        const double mass = kmeans_mass(pass, row);
        for (size_t j = 0; j < d; ++j) {
            own->row[j] =
                j == pass->m->mass_column ? mass : rounded_multiply(dtype_real(type, row, j), mass);
        }
        row = own->row;
        type = DTYPE_F64;
    }
    if (a->n_sums > 0) {
        const size_t from_at = from == NULL ? 0 : *from * d;
        add_row(own, row, type, d, to * d, from == NULL ? NULL : &from_at);
        return;
    }
    struct kmeans_sum *sum = kmeans_array(pass->m, KMEANS_SUM);
    for (size_t j = 0; j < d; ++j) {
        const struct kmeans_number v = kmeans_split(dtype_real(type, row, j), own->per_unit[j]);
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
        remember(&t->found, rows->n, drift, drift + KMEANS_DRIFT_MOVED * pass->m->k, rows->d, tile);
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
            const void *row = kmeans_row(rows, i);
            const int64_t counts = kmeans_mass(pass, row) > 0;
            add_point(pass, own, row, to, from == SIZE_MAX ? NULL : &from);
            own->count[to] += counts;
            if (from != SIZE_MAX) {
                own->count[from] -= counts;
            }
        }
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
    own.per_unit = per_unit;
    own.row = m->has_mass ? per_unit + m->n_columns : NULL;
    if (a->bounds != NULL) {
        struct kmeans_bounds *limit = (struct kmeans_bounds *)(per_unit + 2 * m->n_columns);
        find_limits(m, limit);
        n = find_moves(a->label + t->begin, a->bounds + t->begin, n, limit, t->index);
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
    pass.own_bytes = totals_bytes(assign.n_sums, m->k) + 2 * m->n_columns * sizeof(double) +
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
    const struct kmeans_model *m = t->pass->m;
    const struct kmeans_state *state = kmeans_array(m, KMEANS_STATE);
    const double per_unit = 1 / state->inertia_unit, *unit = kmeans_array(m, KMEANS_UNIT);
    struct kmeans_sum *sum = kmeans_array(m, KMEANS_SUM);
    for (size_t i = 0; i < rows->n; ++i) {
        const size_t c = (size_t)t->found.label[i];
        const double mass = kmeans_mass(t->pass, kmeans_row(rows, i));
        const struct kmeans_number d2 =
            kmeans_split(rounded_multiply(t->found.d2[i], mass), per_unit);
        if (m->has_mass) {
            kmeans_add_shared(&sum[c * m->n_columns + m->mass_column],
                              kmeans_split(mass, 1 / unit[m->mass_column]));
        }
        own->high[c] += d2.high;
        own->low[c] += d2.low;
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
