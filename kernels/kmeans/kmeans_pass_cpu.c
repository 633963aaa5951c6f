/*
 * kmeans_pass_cpu - tasks of points, and tiles of KMEANS_TILE of their points.
 */
#include "kernels/kmeans/kmeans_pass_cpu.h"

#include "kernels/base/clones_cpu.h"

enum { TASKS_A_THREAD = 4 }; /* at least, where there are points for so many */

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
    t->own = (char *)t + padded(sizeof *t);
    t->tile = (double *)((char *)t->own + padded(p->own_bytes));
    t->rows = (struct kmeans_rows){
        (char *)p->x->at.at + t->begin * p->x->n_columns * dtype_bytes(p->x->type), p->x->type,
        p->x->n_columns, cpu_min(p->task_points, p->x->n - t->begin), t->index};
    for (size_t i = 0; i < t->rows.n; ++i) {
        t->index[i] = (uint16_t)i;
    }
    p->body(t);
}

enum status kmeans_pass_run(struct queue *q, struct kmeans_pass *p)
{
    const size_t tile = p->centroids.k > 0 ? p->centroids.d * KMEANS_STRIDE * sizeof(double) : 0;
    const size_t bytes = 64 + padded(sizeof(struct kmeans_task)) + padded(p->own_bytes) + tile;
    const size_t n_threads = ((const struct cpu_backend *)q->backend)->executor.n_threads,
                 share = (p->x->n / (n_threads * TASKS_A_THREAD) / KMEANS_TILE + 1) * KMEANS_TILE;
    p->task_points = cpu_min(p->task_points, share);
    (void)pthread_mutex_init(&p->merging, NULL);
    const enum status st =
        cpu_run_scratch(q, cpu_pieces(p->x->n, p->task_points), bytes, run_task, p);
    (void)pthread_mutex_destroy(&p->merging);
    return st;
}

/* --- tiles ----------------------------------------------------------------------------------- */

typedef double four __attribute__((vector_size(32), aligned(8), may_alias));

CPU_INLINE void load_four(const void *row, const enum dtype type, size_t j, four *to)
{
    const float *narrow = (const float *)row + j;
    *to = type == DTYPE_F64
              ? *(const four *)((const double *)row + j)
              : (four){(double)narrow[0], (double)narrow[1], (double)narrow[2], (double)narrow[3]};
}

/* Four columns of four points. */
CPU_INLINE void transpose_four(const void *const *row, const enum dtype type, size_t j, double *to)
{
    four x[4];
    for (size_t q = 0; q < 4; ++q) {
        load_four(row[q], type, j, &x[q]);
    }
    const four a = __builtin_shufflevector(x[0], x[1], 0, 4, 2, 6);
    const four b = __builtin_shufflevector(x[0], x[1], 1, 5, 3, 7);
    const four c = __builtin_shufflevector(x[2], x[3], 0, 4, 2, 6);
    const four d = __builtin_shufflevector(x[2], x[3], 1, 5, 3, 7);
    *(four *)(to + (size_t)0 * KMEANS_STRIDE) = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    *(four *)(to + (size_t)1 * KMEANS_STRIDE) = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    *(four *)(to + (size_t)2 * KMEANS_STRIDE) = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    *(four *)(to + (size_t)3 * KMEANS_STRIDE) = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

CPU_INLINE void transpose_of(const struct kmeans_rows *rows, const enum dtype type, double *tile)
{
    const size_t n = rows->n, d = rows->d;
    for (size_t p = 0; p < n || p % KMEANS_STEP != 0; p += 4) {
        const void *row[4];
        for (size_t q = 0; q < 4; ++q) {
            row[q] = kmeans_row(rows, cpu_min(p + q, n - 1));
        }
        size_t j = 0;
        for (; j + 4 <= d; j += 4) {
            transpose_four(row, type, j, tile + j * KMEANS_STRIDE + p);
        }
        for (; j < d; ++j) {
            for (size_t q = 0; q < 4; ++q) {
                tile[j * KMEANS_STRIDE + p + q] = dtype_real(type, row[q], j);
            }
        }
    }
}

CPU_CLONES void kmeans_transpose(const struct kmeans_rows *rows, double *tile)
{
    if (rows->type == DTYPE_F32) {
        transpose_of(rows, DTYPE_F32, tile);
    } else {
        transpose_of(rows, DTYPE_F64, tile);
    }
}

void kmeans_pass_tiles(struct kmeans_task *t, size_t n,
                       void (*each)(struct kmeans_task *t, const struct kmeans_rows *rows,
                                    void *arg),
                       void *arg)
{
    const struct kmeans_pass *p = t->pass;
    for (size_t at = 0; at < n; at += KMEANS_TILE) {
        struct kmeans_rows rows = t->rows, ahead = t->rows;
        rows.index = t->index + at;
        rows.n = cpu_min(n - at, KMEANS_TILE);
        ahead.index = rows.index + rows.n;
        ahead.n = cpu_min(n - at - rows.n, KMEANS_TILE);
        kmeans_transpose(&rows, t->tile);
        p->set->nearest(&p->centroids, t->tile, rows.n, &ahead, &t->found);
        each(t, &rows, arg);
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
