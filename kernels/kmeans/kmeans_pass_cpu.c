/*
 * kmeans_pass_cpu - tasks of points, and tiles of KMEANS_TILE of their points.
 */
#include "kernels/kmeans/kmeans_pass_cpu.h"

const double *kmeans_weights(const struct kmeans_model *m)
{
    const double *weight = kmeans_array(m, KMEANS_WEIGHT);
    for (size_t j = 0; j < m->n_columns; ++j) {
        if (weight[j] != 1) {
            return weight;
        }
    }
    return NULL;
}

enum status kmeans_pass_begin(struct kmeans_pass *p, const struct kmeans_points *x,
                              const struct kmeans_model *m, size_t first, size_t k)
{
    const size_t d = m->n_columns;
    STATUS_TRY(cpu_expect(m->at, 1, kmeans_model_bytes(m->k, d), "a model of k-means"));
    STATUS_TRY(cpu_expect(x->at, x->n, x->n_columns * dtype_bytes(x->type), "points"));
    if (x->n_columns != d || m->k == 0 || m->k > INT32_MAX) {
        return status_fail(STATUS_INTERNAL, "points of %zu columns for %zu clusters of %zu",
                           x->n_columns, m->k, d);
    }
    *p = (struct kmeans_pass){.x = x,
                              .m = m,
                              .centroids = {(double *)kmeans_array(m, KMEANS_CENTROID) + first * d,
                                            kmeans_weights(m), k, d},
                              .set = cpu_kmeans_set(0),
                              .task_points = KMEANS_TASK};
    return STATUS_OK;
}

static size_t padded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

static void run_task(void *arg, size_t index, void *scratch)
{
    struct kmeans_pass *p = arg;
    struct kmeans_task *t = (void *)padded((uintptr_t)scratch);
    t->pass = p;
    t->begin = index * p->task_points;
    t->end = cpu_min(t->begin + p->task_points, p->x->n);
    t->own = (char *)t + padded(sizeof *t);
    t->tile = (double *)((char *)t->own + padded(p->own_bytes));
    t->n = 0;
    p->body(t);
}

enum status kmeans_pass_run(struct queue *q, struct kmeans_pass *p)
{
    const size_t bytes = 64 + padded(sizeof(struct kmeans_task)) + padded(p->own_bytes) +
                         p->centroids.d * KMEANS_STRIDE * sizeof(double);
    (void)pthread_mutex_init(&p->merging, NULL);
    const enum status st =
        cpu_run_scratch(q, cpu_pieces(p->x->n, p->task_points), bytes, run_task, p);
    (void)pthread_mutex_destroy(&p->merging);
    return st;
}

/* Of a long row the processor fetches the rest by itself. */
static void fetch(const void *row, size_t bytes)
{
    for (size_t at = 0; at < bytes && at < 512; at += 64) {
        __builtin_prefetch((const char *)row + at);
    }
}

void kmeans_pass_tiles(struct kmeans_task *t, const uint8_t *moves,
                       void (*each)(struct kmeans_task *t, size_t n, void *arg), void *arg)
{
    const struct kmeans_pass *p = t->pass;
    const size_t d = p->centroids.d, bytes = d * dtype_bytes(p->x->type);
    size_t at = t->begin;
    for (;;) {
        for (; at < t->end && t->n < (size_t)2 * KMEANS_TILE; ++at) {
            if (moves == NULL || moves[at - t->begin]) {
                t->rows[t->n] = kmeans_row(p->x, at);
                fetch(t->rows[t->n], bytes);
                t->point[t->n++] = at;
            }
        }
        const size_t n = cpu_min(t->n, KMEANS_TILE);
        if (n == 0) {
            return;
        }
        p->set->transpose(t->rows, p->x->type, n, d, t->tile);
        p->set->nearest(&p->centroids, t->tile, n, &t->found);
        each(t, n, arg);
        t->n -= n;
        memcpy(t->rows, t->rows + n, t->n * sizeof *t->rows);
        memcpy(t->point, t->point + n, t->n * sizeof *t->point);
    }
}

static void add_shared(int64_t *to, int64_t v)
{
    if (v != 0) {
        __atomic_fetch_add(to, v, __ATOMIC_RELAXED);
    }
}

void kmeans_add_shared(struct kmeans_sum *sum, struct kmeans_number v)
{
    const struct kmeans_sum w = kmeans_words(v);
    for (size_t i = 0; i < 2; ++i) {
        add_shared(&sum->high[i], w.high[i]);
        add_shared(&sum->low[i], w.low[i]);
    }
}

size_t kmeans_count_empty(const struct kmeans_model *m, size_t *first)
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
