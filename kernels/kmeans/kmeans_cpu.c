/*
 * kmeans_cpu - passes over the points, in tasks of TASK points and tiles of KMEANS_TILE.
 *
 * A task adds up in integers of its own, and adds these to the model's in the end, under a lock;
 * the order does not matter. With many clusters and columns its points are added to the model's
 * directly, by atomic additions. Where `memory` is given, points that stay with their cluster
 * (kmeans_rule.h) are passed over, 12 bytes of memory read, and only what moves is added and taken
 * away; tiles are made of the other points.
 */
#include "kernels/kmeans/kmeans_cpu.h"

#include "kernels/base/clones_cpu.h"
#include "kernels/base/queue_cpu.h"

#include <pthread.h>
#include <stdlib.h>

/* 2^12 numbers of 2^50 units fit an integer. */
enum { TASK = 4096 };
/* Sums of a task: some second-level caches. */
static const size_t most_own_bytes = (size_t)4 << 20;

/* Up to where points keep their label (kmeans_rule.h). */
struct stay {
    double drift, limit;
};

struct sweep {
    const struct kmeans_points *x;
    const struct kmeans_model *m;
    const struct kmeans_vectors *set;
    struct kmeans_centroids centroids;
    double *per_unit; /* [d] */
    pthread_mutex_t *merging;
    bool own_sums;
    size_t scratch_bytes;
    /* assign: what points remember, or NULL, and the clusters' drifts; label: the labels */
    struct kmeans_bounds *bounds;
    int32_t *label;
    const double *drift;
    struct stay *stay; /* [k + 1]: for what points remember as label, the cluster's number + 1 */
    /* draw */
    uint64_t seed, stream;
    double *nearest;
    /* draw, farthest: of each task */
    struct kmeans_pick *picks;
};

/* A task's part of the scratch. */
struct task {
    const struct sweep *s;
    double *tile;
    struct kmeans_sums sums; /* of cells, if they are own; of d2 */
    int64_t *count;          /* [k] */
    struct kmeans_nearest found;
    /* the rows of the tile, and those of the next one, which are on their way to the cache */
    const void *rows[2 * KMEANS_TILE];
    size_t point[2 * KMEANS_TILE];
    size_t n;
    uint8_t moves[TASK]; /* of each point: 1: it may move to another cluster */
};

static size_t row_bytes(const struct kmeans_points *x)
{
    return x->n_columns * dtype_bytes(x->type);
}

static const void *row_at(const struct kmeans_points *x, size_t p)
{
    return (const char *)x->at.at + p * row_bytes(x);
}

static double cell(const void *row, enum dtype type, size_t j)
{
    return type == DTYPE_F32 ? (double)((const float *)row)[j] : ((const double *)row)[j];
}

static const double *weights(const struct kmeans_model *m)
{
    const double *weight = kmeans_array(m, KMEANS_WEIGHT);
    for (size_t j = 0; j < m->n_columns; ++j) {
        if (weight[j] != 1) {
            return weight;
        }
    }
    return NULL;
}

static void add_words(struct kmeans_sum *sum, struct kmeans_number v)
{
    const struct kmeans_sum w = kmeans_words(v);
    for (size_t i = 0; i < 2; ++i) {
        if (w.high[i] != 0) {
            __atomic_fetch_add(&sum->high[i], w.high[i], __ATOMIC_RELAXED);
        }
        if (w.low[i] != 0) {
            __atomic_fetch_add(&sum->low[i], w.low[i], __ATOMIC_RELAXED);
        }
    }
}

/* --- a pass ---------------------------------------------------------------------------------- */

static size_t padded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* Everything that a pass over x needs; `k` centroids from number `first` on, whose points are added
 * up, or not. Freed by sweep_end, also after a failure. */
static enum status sweep_begin(struct sweep *s, const struct kmeans_points *x,
                               const struct kmeans_model *m, size_t first, size_t k)
{
    const size_t d = m->n_columns;
    *s = (struct sweep){.x = x, .m = m, .set = cpu_kmeans_set(0)};
    STATUS_TRY(cpu_expect(m->at, 1, kmeans_model_bytes(m->k, d), "a model of k-means"));
    STATUS_TRY(cpu_expect(x->at, x->n, row_bytes(x), "points"));
    if (x->n_columns != d || m->k == 0 || m->k > INT32_MAX) {
        return status_fail(STATUS_INTERNAL, "points of %zu columns for %zu clusters of %zu",
                           x->n_columns, m->k, d);
    }
    s->centroids = (struct kmeans_centroids){
        (const double *)kmeans_array(m, KMEANS_CENTROID) + first * d, weights(m), k, d};
    s->own_sums = 2 * k * d * sizeof(int64_t) <= most_own_bytes;
    const size_t sums = s->own_sums ? k * d : k;
    s->scratch_bytes = padded(sizeof(struct task)) + padded(d * KMEANS_STRIDE * sizeof(double)) +
                       2 * padded(sums * sizeof(int64_t)) + padded(k * sizeof(int64_t)) + 64;
    STATUS_TRY(cpu_scratch(d + 1, sizeof(double), (void **)&s->per_unit));
    const double *unit = kmeans_array(m, KMEANS_UNIT);
    for (size_t j = 0; j < d; ++j) {
        s->per_unit[j] = 1 / unit[j];
    }
    return STATUS_OK;
}

static void sweep_end(struct sweep *s)
{
    free(s->stay);
    free(s->picks);
    free(s->per_unit);
}

static size_t task_count(const struct kmeans_points *x)
{
    return cpu_pieces(x->n, TASK);
}

static enum status sweep_run(struct queue *q, struct sweep *s,
                             void (*body)(void *arg, size_t index, void *scratch))
{
    pthread_mutex_t merging = PTHREAD_MUTEX_INITIALIZER;
    s->merging = &merging;
    const enum status st = cpu_run_scratch(q, task_count(s->x), s->scratch_bytes, body, s);
    (void)pthread_mutex_destroy(&merging);
    return st;
}

static void *part(char **at, size_t bytes)
{
    void *out = *at;
    *at += padded(bytes);
    return out;
}

static struct task *task_begin(const struct sweep *s, void *scratch)
{
    const size_t k = s->centroids.k, d = s->centroids.d, sums = s->own_sums ? k * d : k;
    char *at = (char *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63);
    struct task *t = part(&at, sizeof *t);
    t->s = s;
    t->n = 0;
    t->tile = part(&at, d * KMEANS_STRIDE * sizeof(double));
    t->sums.high = part(&at, sums * sizeof(int64_t));
    t->sums.low = part(&at, sums * sizeof(int64_t));
    t->count = part(&at, k * sizeof(int64_t));
    t->sums.per_unit = s->per_unit;
    memset(t->sums.high, 0, sums * sizeof(int64_t));
    memset(t->sums.low, 0, sums * sizeof(int64_t));
    memset(t->count, 0, k * sizeof(int64_t));
    return t;
}

/* The first n of the points gathered, against all centroids. */
static void task_tile(struct task *t, size_t n, void (*each)(struct task *, size_t n))
{
    t->s->set->transpose(t->rows, t->s->x->type, n, t->s->centroids.d, t->tile);
    t->s->set->nearest(&t->s->centroids, t->tile, n, &t->found);
    each(t, n);
    t->n -= n;
    memcpy(t->rows, t->rows + n, t->n * sizeof *t->rows);
    memcpy(t->point, t->point + n, t->n * sizeof *t->point);
}

/* Of a long row the processor fetches the rest by itself. */
static void fetch(const void *row, size_t bytes)
{
    for (size_t at = 0; at < bytes && at < 512; at += 64) {
        __builtin_prefetch((const char *)row + at);
    }
}

/* Calls `each` for tiles of the points of a task whose `moves` are set (NULL: of all), one after
 * the other. */
static void task_tiles(struct task *t, size_t index, const uint8_t *moves,
                       void (*each)(struct task *, size_t n))
{
    const struct kmeans_points *x = t->s->x;
    const size_t begin = index * TASK, n = cpu_min(TASK, x->n - begin), bytes = row_bytes(x);
    for (size_t i = 0; i < n; ++i) {
        if (moves == NULL || moves[i]) {
            t->rows[t->n] = row_at(x, begin + i);
            fetch(t->rows[t->n], bytes);
            t->point[t->n++] = begin + i;
        }
        if (t->n == (size_t)2 * KMEANS_TILE) {
            task_tile(t, KMEANS_TILE, each);
        }
    }
    while (t->n > 0) {
        task_tile(t, cpu_min(t->n, KMEANS_TILE), each);
    }
}

/* The task's counts, and n of its sums, go to the model's. */
static void task_merge(const struct task *t, struct kmeans_sum *sums, size_t n)
{
    uint64_t *count = kmeans_array(t->s->m, KMEANS_COUNT);
    pthread_mutex_lock(t->s->merging);
    for (size_t c = 0; c < t->s->centroids.k; ++c) {
        count[c] += (uint64_t)t->count[c];
    }
    for (size_t i = 0; i < n; ++i) {
        if ((t->sums.high[i] | t->sums.low[i]) != 0) {
            kmeans_sum_add(&sums[i], (struct kmeans_number){t->sums.high[i], t->sums.low[i]});
        }
    }
    pthread_mutex_unlock(t->s->merging);
}

/* --- assign ---------------------------------------------------------------------------------- */

static void add_point(struct task *t, const void *row, size_t to, const size_t *from)
{
    const struct sweep *s = t->s;
    const size_t d = s->centroids.d;
    if (s->own_sums) {
        const size_t to_at = to * d, from_at = from == NULL ? 0 : *from * d;
        s->set->add(&t->sums, row, s->x->type, d, &to_at, from == NULL ? NULL : &from_at);
        return;
    }
    struct kmeans_sum *sum = kmeans_array(s->m, KMEANS_SUM);
    for (size_t j = 0; j < d; ++j) {
        struct kmeans_number v = kmeans_split(cell(row, s->x->type, j), s->per_unit[j]);
        add_words(&sum[to * d + j], v);
        if (from != NULL) {
            v = (struct kmeans_number){-v.high, -v.low};
            add_words(&sum[*from * d + j], v);
        }
    }
}

CPU_CLONES static void find_moves(const int32_t *label, const struct kmeans_bounds *bounds,
                                  const struct stay *stay, size_t n, uint8_t *moves)
{
    for (size_t i = 0; i < n; ++i) {
        const struct stay s = stay[label[i]];
        moves[i] = (uint8_t)(1 ^ kmeans_stays(bounds[i].gap, bounds[i].upper, s.drift, s.limit));
    }
}

static void assign_tile(struct task *t, size_t n)
{
    const struct sweep *s = t->s;
    for (size_t i = 0; i < n; ++i) {
        const size_t p = t->point[i], to = (size_t)t->found.label[i];
        if (s->bounds != NULL) {
            const int32_t before = s->label[p];
            s->bounds[p] =
                kmeans_remember(t->found.d2[i], t->found.second[i], s->drift[to],
                                s->drift[KMEANS_DRIFT_MOVED * s->centroids.k + to], s->centroids.d);
            s->label[p] = (int32_t)to + 1;
            if (before > 0) {
                const size_t from = (size_t)before - 1;
                if (from != to) {
                    add_point(t, t->rows[i], to, &from);
                    --t->count[from];
                    ++t->count[to];
                }
                continue;
            }
        }
        add_point(t, t->rows[i], to, NULL);
        ++t->count[to];
    }
}

static void assign_body(void *arg, size_t index, void *scratch)
{
    const struct sweep *s = arg;
    struct task *t = task_begin(s, scratch);
    if (s->bounds != NULL) {
        const size_t begin = index * TASK;
        find_moves(s->label + begin, s->bounds + begin, s->stay, cpu_min(TASK, s->x->n - begin),
                   t->moves);
    }
    task_tiles(t, index, s->bounds == NULL ? NULL : t->moves, assign_tile);
    task_merge(t, kmeans_array(s->m, KMEANS_SUM),
               s->own_sums ? s->centroids.k * s->centroids.d : 0);
}

static bool is_done(const struct kmeans_model *m)
{
    return ((const struct kmeans_state *)kmeans_array(m, KMEANS_STATE))->done != 0;
}

/* What points remember, and how long each cluster's points stay; those without a label move. */
static enum status recall(struct sweep *s, struct span memory)
{
    const size_t k = s->centroids.k;
    STATUS_TRY(cpu_expect(memory, 1, kmeans_memory_bytes(s->x->n), "memory of points"));
    STATUS_TRY(cpu_scratch(k + 1, sizeof *s->stay, (void **)&s->stay));
    s->bounds = memory.at;
    s->label = (int32_t *)(s->bounds + s->x->n);
    s->drift = kmeans_array(s->m, KMEANS_DRIFT);
    s->stay[0] = (struct stay){(double)INFINITY, -(double)INFINITY};
    for (size_t c = 0; c < k; ++c) {
        s->stay[c + 1] =
            (struct stay){s->drift[KMEANS_DRIFT_GAP * k + c], s->drift[KMEANS_DRIFT_LIMIT * k + c]};
    }
    return STATUS_OK;
}

static enum status kmeans_assign(struct queue *q, const struct kmeans_points *x,
                                 const struct kmeans_model *m, struct span memory)
{
    struct sweep s;
    enum status st = sweep_begin(&s, x, m, 0, m->k);
    if (st == STATUS_OK && memory.at != NULL) {
        st = recall(&s, memory);
    }
    if (st == STATUS_OK && !is_done(m)) {
        st = sweep_run(q, &s, assign_body);
    }
    sweep_end(&s);
    return st;
}

/* --- label ----------------------------------------------------------------------------------- */

static void label_tile(struct task *t, size_t n)
{
    const struct sweep *s = t->s;
    const struct kmeans_state *state = kmeans_array(s->m, KMEANS_STATE);
    const double per_unit = 1 / state->inertia_unit;
    for (size_t i = 0; i < n; ++i) {
        const size_t c = (size_t)t->found.label[i];
        const struct kmeans_number d2 = kmeans_split(t->found.d2[i], per_unit);
        t->sums.high[c] += d2.high;
        t->sums.low[c] += d2.low;
        s->label[t->point[i]] = (int32_t)c;
        ++t->count[c];
    }
}

static void label_body(void *arg, size_t index, void *scratch)
{
    struct task *t = task_begin(arg, scratch);
    task_tiles(t, index, NULL, label_tile);
    task_merge(t, kmeans_array(t->s->m, KMEANS_WITHIN), t->s->centroids.k);
}

static enum status kmeans_label(struct queue *q, const struct kmeans_points *x,
                                const struct kmeans_model *m, struct span labels)
{
    struct sweep s;
    enum status st = sweep_begin(&s, x, m, 0, m->k);
    if (st == STATUS_OK) {
        s.label = labels.at;
        st = cpu_expect(labels, x->n, sizeof *s.label, "labels");
    }
    if (st == STATUS_OK) {
        st = sweep_run(q, &s, label_body);
    }
    sweep_end(&s);
    return st;
}

/* --- picks ----------------------------------------------------------------------------------- */

static void consider(struct kmeans_pick *pick, double value, uint64_t point, uint64_t cluster,
                     bool farthest)
{
    if (kmeans_before(value, point, pick->value, pick->point, farthest)) {
        *pick = (struct kmeans_pick){value, point, cluster};
    }
}

/* The picks of all tasks, made ready and brought together. */
static enum status picks_begin(struct sweep *s)
{
    const size_t n = task_count(s->x);
    STATUS_TRY(cpu_scratch(n + 1, sizeof *s->picks, (void **)&s->picks));
    for (size_t i = 0; i < n; ++i) {
        s->picks[i] = (struct kmeans_pick){0, UINT64_MAX, 0};
    }
    return STATUS_OK;
}

static void picks_end(const struct sweep *s, bool farthest)
{
    struct kmeans_state *state = kmeans_array(s->m, KMEANS_STATE);
    double *cells = kmeans_array(s->m, KMEANS_PICK_CELLS);
    const uint64_t before = state->pick.point;
    for (size_t i = 0; i < task_count(s->x); ++i) {
        if (s->picks[i].point != UINT64_MAX) {
            consider(&state->pick, s->picks[i].value, s->picks[i].point, s->picks[i].cluster,
                     farthest);
        }
    }
    if (state->pick.point != before) {
        const void *row = row_at(s->x, state->pick.point - s->x->first);
        for (size_t j = 0; j < s->m->n_columns; ++j) {
            cells[j] = cell(row, s->x->type, j);
        }
    }
}

/* kmeans_uniform() of n points from number `first` on. */
CPU_CLONES static void uniforms(uint64_t seed, uint64_t stream, uint64_t first, size_t n, double *u)
{
    for (size_t i = 0; i < n; ++i) {
        u[i] = kmeans_uniform(philox_block(seed, stream, first + i));
    }
}

/* Points p .. p + n - 1 of a task, with these weights. */
static void draw_points(const struct sweep *s, size_t p, size_t n, const double *weight)
{
    double u[KMEANS_TILE];
    struct kmeans_pick *pick = &s->picks[p / TASK];
    uniforms(s->seed, s->stream, s->x->first + p, n, u);
    for (size_t i = 0; i < n; ++i) {
        if (weight[i] > 0 &&
            (pick->point == UINT64_MAX || !kmeans_key_is_above(u[i], weight[i], pick->value))) {
            const double key = rounded_divide(kmeans_exponential(u[i]), weight[i]);
            consider(pick, key, s->x->first + p + i, 0, false);
        }
    }
}

static void draw_tile(struct task *t, size_t n)
{
    const struct sweep *s = t->s;
    double *weight = t->found.d2;
    const size_t p = t->point[0];
    if (s->nearest != NULL) {
        for (size_t i = 0; i < n; ++i) {
            const double before = s->nearest[p + i];
            weight[i] = s->m->n_drawn > 1 && before < weight[i] ? before : weight[i];
            s->nearest[p + i] = weight[i];
        }
    }
    draw_points(s, p, n, weight);
}

static void draw_body(void *arg, size_t index, void *scratch)
{
    const struct sweep *s = arg;
    struct task *t = task_begin(s, scratch);
    const size_t end = cpu_min((index + 1) * TASK, s->x->n);
    if (s->m->n_drawn > 0) {
        task_tiles(t, index, NULL, draw_tile);
        return;
    }
    for (size_t i = 0; i < KMEANS_TILE; ++i) {
        t->found.d2[i] = 1;
    }
    for (size_t p = index * TASK; p < end; p += KMEANS_TILE) {
        draw_points(s, p, cpu_min(KMEANS_TILE, end - p), t->found.d2);
    }
}

static enum status kmeans_draw(struct queue *q, const struct kmeans_points *x,
                               const struct kmeans_model *m, uint64_t seed, uint64_t stream,
                               struct span nearest)
{
    /* the distances to the newest alone, where those to the other ones are there */
    const bool newest = nearest.at != NULL && m->n_drawn > 0;
    struct sweep s;
    enum status st =
        sweep_begin(&s, x, m, newest ? m->n_drawn - 1 : 0, newest ? 1 : cpu_max(1, m->n_drawn));
    if (st == STATUS_OK && nearest.at != NULL) {
        st = cpu_expect(nearest, x->n, sizeof(double), "distances of points");
    }
    if (st == STATUS_OK) {
        s.seed = seed;
        s.stream = stream;
        s.nearest = nearest.at;
        st = picks_begin(&s);
    }
    if (st == STATUS_OK) {
        st = sweep_run(q, &s, draw_body);
    }
    if (st == STATUS_OK) {
        picks_end(&s, false);
    }
    sweep_end(&s);
    return st;
}

static enum status kmeans_take(struct queue *q, const struct kmeans_model *m)
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
    state->pick = (struct kmeans_pick){0, UINT64_MAX, 0};
    return STATUS_OK;
}

static void farthest_tile(struct task *t, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        consider(&t->s->picks[t->point[i] / TASK], t->found.d2[i], t->s->x->first + t->point[i],
                 (uint64_t)t->found.label[i], true);
    }
}

static void farthest_body(void *arg, size_t index, void *scratch)
{
    task_tiles(task_begin(arg, scratch), index, NULL, farthest_tile);
}

static size_t count_empty(const struct kmeans_model *m, size_t *first)
{
    const uint64_t *count = kmeans_array(m, KMEANS_COUNT);
    size_t n = 0;
    for (size_t c = m->k; c-- > 0;) {
        if (count[c] == 0) {
            *first = c;
            ++n;
        }
    }
    return n;
}

static enum status kmeans_farthest(struct queue *q, const struct kmeans_points *x,
                                   const struct kmeans_model *m)
{
    struct sweep s;
    size_t first;
    enum status st = sweep_begin(&s, x, m, 0, m->k);
    if (st == STATUS_OK && !is_done(m) && count_empty(m, &first) > 0) {
        st = picks_begin(&s);
        if (st == STATUS_OK) {
            st = sweep_run(q, &s, farthest_body);
        }
        if (st == STATUS_OK) {
            picks_end(&s, true);
        }
    }
    sweep_end(&s);
    return st;
}

/* --- update ---------------------------------------------------------------------------------- */

struct update {
    const struct kmeans_model *m;
    const double *weight;
    const double *taken; /* cells of the point that goes from a cluster to another one, or NULL */
    size_t taken_from, taken_to;
    double *moved; /* [k]: d2(new, old) */
};

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
    u->moved[c] = 0;
    for (size_t j = 0; j < d; ++j) {
        struct kmeans_sum of = sum[j];
        if (leaves) {
            const struct kmeans_number v = kmeans_split(u->taken[j], 1 / unit[j]);
            kmeans_sum_add(&of, (struct kmeans_number){-v.high, -v.low});
        }
        const double now = comes ? u->taken[j] : n > 0 ? kmeans_mean(of, n, unit[j]) : centroid[j];
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

/* The d2 from every centroid to the nearest other one: the second least, for it is there itself. */
static void between_body(void *arg, size_t index, void *scratch)
{
    const struct sweep *s = arg;
    const struct kmeans_model *m = s->m;
    struct task *t = task_begin(s, scratch);
    for (size_t c = index * KMEANS_TILE; c < cpu_min((index + 1) * KMEANS_TILE, m->k); ++c) {
        t->rows[t->n++] = s->centroids.at + c * m->n_columns;
    }
    s->set->transpose(t->rows, DTYPE_F64, t->n, m->n_columns, t->tile);
    s->set->nearest(&s->centroids, t->tile, t->n, &t->found);
    memcpy(s->nearest + index * KMEANS_TILE, t->found.second, t->n * sizeof(double));
}

/* What every centroid has moved goes into the drifts: of cluster c its own way and the longest of
 * the other ones. */
static void update_drift(const struct update *u, const double *between)
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
        limit[c] = kmeans_drift_limit(between[c], moved[c], d);
    }
}

static enum status update_bounds(struct queue *q, const struct update *u)
{
    const struct kmeans_model *m = u->m;
    const struct kmeans_points none = {.type = DTYPE_F64, .n_columns = m->n_columns};
    struct sweep s;
    enum status st = sweep_begin(&s, &none, m, 0, m->k);
    if (st == STATUS_OK) {
        st = cpu_scratch(m->k, sizeof *s.nearest, (void **)&s.nearest);
    }
    if (st == STATUS_OK) {
        st = cpu_run_scratch(q, cpu_pieces(m->k, KMEANS_TILE), s.scratch_bytes, between_body, &s);
        if (st == STATUS_OK) {
            update_drift(u, s.nearest);
        }
        free(s.nearest);
    }
    sweep_end(&s);
    return st;
}

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

static enum status kmeans_update(struct queue *q, const struct kmeans_model *m)
{
    struct kmeans_state *state = kmeans_array(m, KMEANS_STATE);
    struct update u = {.m = m, .weight = weights(m)};
    enum status st = STATUS_OK;
    STATUS_TRY(cpu_expect(m->at, 1, kmeans_model_bytes(m->k, m->n_columns), "a model of k-means"));
    if (state->done != 0 || m->k == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(cpu_scratch(m->k, sizeof *u.moved, (void **)&u.moved));
    const size_t n_empty = count_empty(m, &u.taken_to);
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

/* --- columns --------------------------------------------------------------------------------- */

struct columns {
    const struct kmeans_points *x;
    const struct kmeans_model *m;
    double *range; /* [tasks][2][d]: least, most */
    uint64_t *bad; /* [tasks] */
};

static enum status columns_expect(const struct kmeans_points *x, const struct kmeans_model *m)
{
    STATUS_TRY(cpu_expect(m->at, 1, kmeans_model_bytes(m->k, m->n_columns), "a model of k-means"));
    if (x->n_columns != m->n_columns) {
        return status_fail(STATUS_INTERNAL, "points of %zu columns for a model of %zu",
                           x->n_columns, m->n_columns);
    }
    return cpu_expect(x->at, x->n, row_bytes(x), "points");
}

static void range_body(void *arg, size_t index)
{
    const struct columns *c = arg;
    const size_t d = c->x->n_columns;
    double *least = c->range + 2 * d * index, *most = least + d;
    for (size_t j = 0; j < d; ++j) {
        least[j] = (double)INFINITY;
        most[j] = -(double)INFINITY;
    }
    c->bad[index] = UINT64_MAX;
    for (size_t p = index * TASK; p < cpu_min((index + 1) * TASK, c->x->n); ++p) {
        const void *row = row_at(c->x, p);
        bool bad = false;
        for (size_t j = 0; j < d; ++j) {
            const double v = cell(row, c->x->type, j) + 0.0; /* never -0 */
            bad |= !(v - v == 0);
            least[j] = v < least[j] ? v : least[j];
            most[j] = v > most[j] ? v : most[j];
        }
        if (bad && c->bad[index] == UINT64_MAX) {
            c->bad[index] = c->x->first + p;
        }
    }
}

static enum status kmeans_range(struct queue *q, const struct kmeans_points *x,
                                const struct kmeans_model *m)
{
    struct columns c = {.x = x, .m = m};
    const size_t d = m->n_columns, n_tasks = task_count(x);
    double *min = kmeans_array(m, KMEANS_MIN), *max = kmeans_array(m, KMEANS_MAX);
    uint64_t *bad = kmeans_array(m, KMEANS_BAD);
    STATUS_TRY(columns_expect(x, m));
    STATUS_TRY(cpu_scratch(n_tasks + 1, (2 * d + 1) * sizeof(double), (void **)&c.range));
    c.bad = (uint64_t *)(c.range + 2 * d * n_tasks);
    const enum status st = cpu_run_long(q, n_tasks, range_body, &c);
    for (size_t i = 0; st == STATUS_OK && i < n_tasks; ++i) {
        const double *least = c.range + 2 * d * i, *most = least + d;
        for (size_t j = 0; j < d; ++j) {
            min[j] = least[j] < min[j] ? least[j] : min[j];
            max[j] = most[j] > max[j] ? most[j] : max[j];
        }
        *bad = c.bad[i] < *bad ? c.bad[i] : *bad;
    }
    free(c.range);
    return st;
}

static void squares_body(void *arg, size_t index, void *scratch)
{
    const struct columns *c = arg;
    const size_t d = c->x->n_columns;
    const double *centre = kmeans_array(c->m, KMEANS_CENTRE);
    const double *unit = kmeans_array(c->m, KMEANS_SQUARE_UNIT);
    struct kmeans_sum *squares = kmeans_array(c->m, KMEANS_SQUARES);
    struct kmeans_number *sum = scratch;
    double *per_unit = (double *)(sum + d);
    memset(sum, 0, d * sizeof *sum);
    for (size_t j = 0; j < d; ++j) {
        per_unit[j] = 1 / unit[j];
    }
    for (size_t p = index * TASK; p < cpu_min((index + 1) * TASK, c->x->n); ++p) {
        const void *row = row_at(c->x, p);
        for (size_t j = 0; j < d; ++j) {
            const double t = rounded_subtract(cell(row, c->x->type, j), centre[j]);
            const struct kmeans_number v = kmeans_split(rounded_multiply(t, t), per_unit[j]);
            sum[j].high += v.high;
            sum[j].low += v.low;
        }
    }
    for (size_t j = 0; j < d; ++j) {
        add_words(&squares[j], sum[j]);
    }
}

static enum status kmeans_squares(struct queue *q, const struct kmeans_points *x,
                                  const struct kmeans_model *m)
{
    struct columns c = {.x = x, .m = m};
    STATUS_TRY(columns_expect(x, m));
    return cpu_run_scratch(q, task_count(x),
                           m->n_columns * (sizeof(struct kmeans_number) + sizeof(double)),
                           squares_body, &c);
}

const struct kmeans_kernels cpu_kmeans = {.range = kmeans_range,
                                          .squares = kmeans_squares,
                                          .draw = kmeans_draw,
                                          .take = kmeans_take,
                                          .assign = kmeans_assign,
                                          .farthest = kmeans_farthest,
                                          .update = kmeans_update,
                                          .label = kmeans_label};
