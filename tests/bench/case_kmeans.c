/*
 * case_kmeans - ten iterations of Lloyd's algorithm on points that are in the backend's memory.
 *
 * Points lie about k centres, as a user's do, or are uniform, where bounds help least. The answer
 * is checked by one more iteration in plain loops. What an iteration has to move is one read of the
 * points, or of what is remembered of them (12 bytes a point) where bounds spare it; to compute, a
 * difference and an fma a point, cluster and column, of which the fma is counted as the product's
 * 2 flops: the floor is that of the first iteration and 9 reads of the memory.
 *
 * Seeding alone: what is kept of each point, its least d2, is checked by plain loops. A pass reads
 * the points and writes what is kept, which all but the first read.
 */
#include "tests/bench/bench.h"

#include "kernels/kmeans/kmeans.h"
#include "kernels/kmeans/kmeans_rule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLUSTERS = 16, ITERATIONS = 10 };

struct kmeans_variant {
    size_t n, d;
    bool uniform, labels, forget; /* labels: after the iterations; forget: no bounds */
    bool seeds;                   /* k-means++ alone */
    double mark_s, mark_ratio;
};

struct kmeans_state_of {
    const struct kmeans_variant *v;
    size_t n, d;
    struct span points, memory, labels;
    double *host, *start;
    struct kmeans_model model, copy; /* copy: of the host, as it begins */
    bool has_files;
    char points_path[80], start_path[80], ours_path[80];
};

static double normal(uint64_t i)
{
    const double r = sqrt(-2 * log(1 - bench_uniform(11, 2 * i)));
    return r * cos(6.283185307179586 * bench_uniform(11, 2 * i + 1));
}

struct filling {
    double *x;
    size_t n, d;
    bool uniform;
};

enum { FILL_POINTS = 4096 };

static void fill(void *arg, size_t index)
{
    const struct filling *f = arg;
    for (size_t i = index * FILL_POINTS; i < (index + 1) * FILL_POINTS && i < f->n; i++) {
        const size_t of = (size_t)(bench_uniform(5, i) * CLUSTERS);
        for (size_t j = 0; j < f->d; j++) {
            f->x[i * f->d + j] = f->uniform
                                     ? bench_uniform(7, i * f->d + j)
                                     : 20 * bench_uniform(3, of * f->d + j) + normal(i * f->d + j);
        }
    }
}

static void kmeans_close(struct bench *b, void *state)
{
    struct kmeans_state_of *s = state;
    const struct backend_ops *ops = b->backend->ops;
    ops->release(b->queue, s->points);
    ops->release(b->queue, s->memory);
    ops->release(b->queue, s->labels);
    ops->release(b->queue, s->model.at);
    free(s->copy.at.at);
    free(s->host);
    free(s->start);
    free(s);
}

static enum status put(struct bench *b, struct span to, const void *from, size_t bytes)
{
    uint64_t ticket;
    STATUS_TRY(b->backend->ops->upload(b->queue, to, from, bytes, &ticket));
    return b->backend->ops->upload_wait(b->queue, ticket);
}

static enum status kmeans_prepare(struct bench *b, void *state)
{
    struct kmeans_state_of *s = state;
    STATUS_TRY(b->backend->ops->zero(b->queue, s->memory));
    STATUS_TRY(put(b, s->model.at, s->copy.at.at, s->copy.at.bytes));
    return b->backend->ops->finish(b->queue);
}

static enum status iterate(struct bench *b, const struct kmeans_state_of *s, size_t n)
{
    const struct kmeans_kernels *k = b->backend->ops->kmeans;
    const struct kmeans_points x = {s->points, DTYPE_F64, s->n, s->d, 0};
    for (size_t i = 0; i < n; i++) {
        STATUS_TRY(k->assign(b->queue, &x, &s->model, s->memory));
        STATUS_TRY(k->farthest(b->queue, &x, &s->model));
        STATUS_TRY(k->update(b->queue, &s->model));
    }
    return STATUS_OK;
}

static enum status kmeans_run(struct bench *b, void *state)
{
    struct kmeans_state_of *s = state;
    const struct kmeans_points x = {s->points, DTYPE_F64, s->n, s->d, 0};
    STATUS_TRY(iterate(b, s, ITERATIONS));
    return s->v->labels ? b->backend->ops->kmeans->label(b->queue, &x, &s->model, s->labels)
                        : STATUS_OK;
}

/* CLUSTERS centroids by k-means++, as a stage makes them; `nearest`: double [n]. */
static enum status seed(struct bench *b, const struct kmeans_state_of *s, struct span nearest)
{
    const struct kmeans_kernels *k = b->backend->ops->kmeans;
    const struct kmeans_points x = {s->points, DTYPE_F64, s->n, s->d, 0};
    for (struct kmeans_model m = s->model; m.n_drawn < CLUSTERS; kmeans_taken(&m)) {
        STATUS_TRY(k->draw(b->queue, &x, &m, 42, kmeans_seed_drawn(&m), nearest));
        STATUS_TRY(k->take(b->queue, &m));
    }
    return STATUS_OK;
}

static enum status seeds_run(struct bench *b, void *state)
{
    const struct kmeans_state_of *s = state;
    return seed(b, s, s->memory);
}

/* Range and units, as a stage makes them. */
static enum status begin(struct bench *b, struct kmeans_state_of *s)
{
    const struct kmeans_kernels *k = b->backend->ops->kmeans;
    const struct kmeans_points x = {s->points, DTYPE_F64, s->n, s->d, 0};
    kmeans_clear(&s->copy);
    STATUS_TRY(put(b, s->model.at, s->copy.at.at, s->copy.at.bytes));
    STATUS_TRY(k->range(b->queue, &x, &s->model));
    STATUS_TRY(b->backend->ops->download(b->queue, s->copy.at.at, s->model.at, s->copy.at.bytes));
    double *unit = kmeans_array(&s->copy, KMEANS_UNIT), most = 0;
    for (size_t j = 0; j < s->d; j++) {
        const double min = ((double *)kmeans_array(&s->copy, KMEANS_MIN))[j];
        const double max = ((double *)kmeans_array(&s->copy, KMEANS_MAX))[j];
        unit[j] = kmeans_unit(fmax(fabs(min), fabs(max)));
        most += 2 * (max - min) * (max - min);
    }
    ((struct kmeans_state *)kmeans_array(&s->copy, KMEANS_STATE))->inertia_unit = kmeans_unit(most);
    ((struct kmeans_state *)kmeans_array(&s->copy, KMEANS_STATE))->tolerance = -1;
    return put(b, s->model.at, s->copy.at.at, s->copy.at.bytes);
}

/* The first centroids, of which the iterations begin. */
static enum status start(struct bench *b, struct kmeans_state_of *s)
{
    struct span nearest;
    STATUS_TRY(b->backend->ops->alloc(b->queue, s->n * sizeof(double), &nearest));
    const enum status code = seed(b, s, nearest);
    b->backend->ops->release(b->queue, nearest);
    STATUS_TRY(code);
    STATUS_TRY(b->backend->ops->download(b->queue, s->copy.at.at, s->model.at, s->copy.at.bytes));
    memcpy(s->start, kmeans_array(&s->copy, KMEANS_CENTROID), CLUSTERS * s->d * sizeof(double));
    return STATUS_OK;
}

/* After seeding: the least d2 of every point to all seeds but the last. */
static enum status check_seeds(struct bench *b, struct kmeans_state_of *s)
{
    const size_t d = s->d, bytes = CLUSTERS * d * sizeof(double);
    double *kept = malloc(s->n * sizeof *kept);
    if (kept == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    enum status code = seed(b, s, s->memory);
    code = code == STATUS_OK
               ? b->backend->ops->download(b->queue, kept, s->memory, s->n * sizeof *kept)
               : code;
    code = code == STATUS_OK
               ? b->backend->ops->download(
                     b->queue, s->start,
                     span_from(s->model.at, kmeans_offset(CLUSTERS, d, KMEANS_CENTROID)), bytes)
               : code;
    for (size_t i = 0; i < s->n && code == STATUS_OK; i++) {
        double least = INFINITY;
        for (size_t c = 0; c + 1 < CLUSTERS; c++) {
            double d2 = 0;
            for (size_t j = 0; j < d; j++) {
                d2 = kmeans_add_column(d2, s->host[i * d + j], s->start[c * d + j], 1);
            }
            least = d2 < least ? d2 : least;
        }
        if (!(kept[i] == least)) {
            code = status_fail(STATUS_INTERNAL, "point %zu: %.17g, not %.17g", i, kept[i], least);
        }
    }
    free(kept);
    return code;
}

/* One iteration from `before`, in plain loops, against `after`: n additions in extended precision
 * of numbers of at most 32, each off by 2^-64. */
static enum status check_iteration(const struct kmeans_state_of *s, const double *before,
                                   const double *after)
{
    const size_t d = s->d;
    long double *sum = calloc(CLUSTERS * (d + 1), sizeof *sum);
    if (sum == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    for (size_t i = 0; i < s->n; i++) {
        const double *x = s->host + i * d;
        double best = INFINITY;
        size_t label = 0;
        for (size_t c = 0; c < CLUSTERS; c++) {
            double d2 = 0;
            for (size_t j = 0; j < d; j++) {
                d2 = kmeans_add_column(d2, x[j], before[c * d + j], 1);
            }
            label = d2 < best ? c : label;
            best = d2 < best ? d2 : best;
        }
        for (size_t j = 0; j < d; j++) {
            sum[label * (d + 1) + j] += x[j];
        }
        sum[label * (d + 1) + d] += 1;
    }
    enum status code = STATUS_OK;
    const double bound = 32 * (double)s->n * 0x1p-64 + 0x1p-48;
    for (size_t c = 0; c < CLUSTERS; c++) {
        for (size_t j = 0; j < d; j++) {
            const double want = (double)(sum[c * (d + 1) + j] / sum[c * (d + 1) + d]);
            if (!(fabs(after[c * d + j] - want) <= bound)) {
                code = status_fail(STATUS_INTERNAL, "centroid %zu, column %zu: %.17g, not %.17g", c,
                                   j, after[c * d + j], want);
            }
        }
    }
    free(sum);
    return code;
}

static enum status kmeans_check(struct bench *b, struct kmeans_state_of *s)
{
    const size_t bytes = CLUSTERS * s->d * sizeof(double);
    const struct span centroid =
        span_from(s->model.at, kmeans_offset(CLUSTERS, s->d, KMEANS_CENTROID));
    double *two = malloc(2 * bytes);
    if (two == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    enum status code = kmeans_prepare(b, s);
    code = code == STATUS_OK ? iterate(b, s, ITERATIONS - 1) : code;
    code = code == STATUS_OK ? b->backend->ops->download(b->queue, two, centroid, bytes) : code;
    code = code == STATUS_OK ? iterate(b, s, 1) : code;
    code = code == STATUS_OK
               ? b->backend->ops->download(b->queue, two + CLUSTERS * s->d, centroid, bytes)
               : code;
    code = code == STATUS_OK ? check_iteration(s, two, two + CLUSTERS * s->d) : code;
    free(two);
    return code;
}

/* A .npy file (version 1.0) of rows x columns doubles. */
static enum status write_npy(const char *path, const double *x, size_t rows, size_t columns)
{
    char head[128];
    memset(head, ' ', sizeof head);
    memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10);
    const int n =
        snprintf(head + 10, sizeof head - 10,
                 "{'descr': '<f8', 'fortran_order': False, 'shape': (%zu, %zu), }", rows, columns);
    head[10 + n] = ' ';
    head[sizeof head - 1] = '\n';
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(head, 1, sizeof head, f) != sizeof head ||
        fwrite(x, columns * sizeof *x, rows, f) != rows) {
        if (f != NULL) {
            (void)fclose(f);
        }
        return status_fail(STATUS_IO, "cannot write %s", path);
    }
    return fclose(f) == 0 ? STATUS_OK : status_fail(STATUS_IO, "cannot write %s", path);
}

/* For the peer, once: points, where they begin, and where ours are after ITERATIONS. */
static enum status write_files(struct bench *b, struct kmeans_state_of *s)
{
    if (s->has_files) {
        return STATUS_OK;
    }
    snprintf(s->points_path, sizeof s->points_path, "%s/points.npy", b->scratch);
    snprintf(s->start_path, sizeof s->start_path, "%s/start.npy", b->scratch);
    snprintf(s->ours_path, sizeof s->ours_path, "%s/ours.npy", b->scratch);
    double *ours = malloc(CLUSTERS * s->d * sizeof *ours);
    if (ours == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    enum status code = b->backend->ops->download(
        b->queue, ours, span_from(s->model.at, kmeans_offset(CLUSTERS, s->d, KMEANS_CENTROID)),
        CLUSTERS * s->d * sizeof *ours);
    code = code == STATUS_OK ? write_npy(s->ours_path, ours, CLUSTERS, s->d) : code;
    code = code == STATUS_OK ? write_npy(s->start_path, s->start, CLUSTERS, s->d) : code;
    code = code == STATUS_OK ? write_npy(s->points_path, s->host, s->n, s->d) : code;
    free(ours);
    s->has_files = code == STATUS_OK;
    return code;
}

static enum status kmeans_peer(struct bench *b, void *state, double *seconds)
{
    struct kmeans_state_of *s = state;
    STATUS_TRY(write_files(b, s));
    return bench_python(b, seconds, "peer_kmeans.py", s->points_path, s->start_path, s->ours_path,
                        NULL);
}

/* On the device, where the points are ours and theirs. */
static enum status kmeans_device_peer(struct bench *b, void *state, double *seconds)
{
    struct kmeans_state_of *s = state;
    if (!b->cuda) {
        return status_fail(STATUS_NOT_FOUND, "it is compared on a device");
    }
    STATUS_TRY(write_files(b, s));
    return bench_python(b, seconds, "peer_kmeans.py", s->points_path, s->start_path, s->ours_path,
                        "torch", NULL);
}

static enum status make(struct bench *b, struct kmeans_state_of *s)
{
    const struct backend_ops *ops = b->backend->ops;
    const size_t bytes = s->n * s->d * sizeof(double);
    s->host = malloc(bytes);
    s->start = malloc(CLUSTERS * s->d * sizeof(double));
    s->copy.at.at = malloc(s->copy.at.bytes);
    if (s->host == NULL || s->start == NULL || s->copy.at.at == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    struct filling f = {s->host, s->n, s->d, s->v->uniform};
    b->executor.run(b->executor.context, s->n / FILL_POINTS + 1, fill, &f);
    STATUS_TRY(ops->alloc(b->queue, bytes, &s->points));
    STATUS_TRY(ops->alloc(b->queue, s->n * sizeof(int32_t), &s->labels));
    STATUS_TRY(ops->alloc(b->queue, s->copy.at.bytes, &s->model.at));
    if (s->model.incremental) {
        STATUS_TRY(ops->alloc(b->queue, kmeans_memory_bytes(s->n), &s->memory));
    }
    STATUS_TRY(put(b, s->points, s->host, bytes));
    STATUS_TRY(begin(b, s));
    if (s->v->seeds) {
        return check_seeds(b, s);
    }
    STATUS_TRY(start(b, s));
    return kmeans_check(b, s);
}

/* What it moves and computes. */
static void tell_work(const struct kmeans_state_of *s, struct bench_work *work)
{
    const struct kmeans_variant *v = s->v;
    const double n = (double)s->n, d = (double)s->d;
    if (v->seeds) {
        work->flops = (CLUSTERS - 1) * 2 * n * d;
        work->bytes = (CLUSTERS - 1) * (8 * d + 16) * n - 8 * n;
        return;
    }
    const double full = v->forget ? ITERATIONS : 1;
    work->flops = (full + v->labels) * 2 * n * CLUSTERS * d;
    work->bytes = (full + v->labels) * 8 * n * d + (ITERATIONS - full) * 12 * n;
}

static enum status kmeans_open(struct bench *b, const struct bench_case *c, struct bench_work *work,
                               void **state)
{
    const struct kmeans_variant *v = c->variant;
    struct kmeans_state_of *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    s->v = v;
    s->n = b->smoke ? 5000 : v->n;
    s->d = v->d;
    s->model = (struct kmeans_model){.k = CLUSTERS, .n_columns = v->d, .incremental = !v->forget};
    s->copy = s->model;
    s->copy.at.bytes = kmeans_model_bytes(CLUSTERS, v->d);
    enum status code = make(b, s);
    if (code != STATUS_OK) {
        kmeans_close(b, s);
        return code;
    }
    tell_work(s, work);
    const double compute_s = work->flops / b->ceilings.f64_flop_s;
    const double move_s = work->bytes / b->ceilings.copy_bytes_s;
    work->floor_s = compute_s > move_s ? compute_s : move_s;
    work->floor_of = compute_s > move_s ? "arithmetic" : "reads";
    work->mark_s = b->cuda && !b->smoke ? v->mark_s : 0;
    work->mark_ratio = v->mark_ratio;
    *state = s;
    return STATUS_OK;
}

static const struct kmeans_variant plane = {.n = (size_t)16 << 20, .d = 2, .mark_s = 3e-3},
                                   plane_full = {.n = (size_t)16 << 20, .d = 2, .forget = true},
                                   wide = {.n = (size_t)2 << 20, .d = 16, .mark_s = 3e-3},
                                   wide_full = {.n = (size_t)2 << 20, .d = 16, .forget = true},
                                   fit = {.n = 1000000, .d = 16, .labels = true, .mark_ratio = 5},
                                   fit_uniform = {.n = 1000000,
                                                  .d = 16,
                                                  .uniform = true,
                                                  .labels = true},
                                   seeds_plane = {.n = (size_t)16 << 20, .d = 2, .seeds = true},
                                   seeds_wide = {.n = (size_t)2 << 20, .d = 16, .seeds = true};

#define KMEANS_RUNS(called, told, of, by)                                                          \
    .name = (called), .what = (told), .backends = BENCH_CPU | BENCH_CUDA, .by_device = true,       \
    .variant = &(of), .open = kmeans_open, .prepare = kmeans_prepare, .run = (by),                 \
    .close = kmeans_close
#define KMEANS_CASE(called, told, of) KMEANS_RUNS(called, told, of, kmeans_run)

const struct bench_case bench_kmeans_cases[] = {
    {KMEANS_CASE("kmeans_2", "k-means of 16M x 2 f64 about 16 centres, 10 iterations", plane),
     .peer_name = "PyTorch", .peer = kmeans_device_peer},
    {KMEANS_CASE("kmeans_2_full", "the same without bounds", plane_full)},
    {KMEANS_CASE("kmeans_16", "k-means of 2M x 16 f64 about 16 centres, 10 iterations", wide),
     .peer_name = "PyTorch", .peer = kmeans_device_peer},
    {KMEANS_CASE("kmeans_16_full", "the same without bounds", wide_full)},
    {KMEANS_CASE("kmeans_fit", "1M x 16 about 16 centres, 10 iterations and labels", fit),
     .peer_name = "scikit-learn", .peer = kmeans_peer},
    {KMEANS_CASE("kmeans_fit_uniform", "the same of uniform points", fit_uniform),
     .peer_name = "scikit-learn", .peer = kmeans_peer},
    {KMEANS_RUNS("kmeans_seeds_2", "k-means++ of 16M x 2 f64, 16 seeds", seeds_plane, seeds_run)},
    {KMEANS_RUNS("kmeans_seeds_16", "k-means++ of 2M x 16 f64, 16 seeds", seeds_wide, seeds_run)},
    {0},
};
