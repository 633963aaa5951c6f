/*
 * case_interpolate - a polynomial by its cells, set up before; the floor is one read of the queries
 * and one write of the values.
 *
 * Nodes are Chebyshev points, values those of Runge's function; queries lie at random, or ascend in
 * equal steps. The answer is checked at some queries against the barycentric form in extended
 * precision, the peer checks all of them against its own.
 */
#include "tests/bench/bench.h"

#include "kernels/interpolate/interpolate_setup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHECKED = 997 };

struct interpolate_variant {
    size_t n_nodes, n_queries;
    bool ascending;
    double mark_s, mark_ratio; /* on one H200; on the CPU, of the peer */
};

struct interpolate_state {
    const struct interpolate_variant *variant;
    size_t n;
    double *x, *y, *query, *value;
    struct interpolate_setup setup;
    struct span queries, values, counts;
    char path[128];
};

static void interpolate_close(struct bench *b, void *state)
{
    struct interpolate_state *s = state;
    const struct backend_ops *ops = b->backend->ops;
    interpolate_setup_release(&s->setup);
    ops->release(b->queue, s->queries);
    ops->release(b->queue, s->values);
    ops->release(b->queue, s->counts);
    free(s->x);
    free(s->y);
    free(s->query);
    free(s->value);
    free(s);
}

static enum status interpolate_run(struct bench *b, void *state)
{
    struct interpolate_state *s = state;
    return b->backend->ops->interpolate->evaluate(b->queue, &s->setup.nodes, &s->setup.cells,
                                                  s->queries, DTYPE_F64, s->n, s->values,
                                                  s->counts);
}

/* 64 bits: off by some n 2^-63 of the condition, a few tenths of u. */
static enum status check_query(const struct interpolate_state *s, const long double *weight,
                               size_t i)
{
    const size_t n = s->variant->n_nodes;
    const double x = s->query[i], got = s->value[i];
    long double sum = 0, condition = 0, product = 1;
    for (size_t j = 0; j < n; j++) {
        const long double d = 2 * ((long double)x - s->x[j]), term = product * weight[j] * s->y[j];
        sum = sum * d + term;
        condition = condition * fabsl(d) + fabsl(term);
        product *= d;
    }
    if (fabsl(sum - got) <= 51 * 0x1p-53L * condition) { /* written so that a NaN fails */
        return STATUS_OK;
    }
    return status_fail(STATUS_INTERNAL, "query %zu, %.17g: %.17g for %.17Lg", i, x, got, sum);
}

static enum status interpolate_check(struct bench *b, struct interpolate_state *s)
{
    const size_t n = s->variant->n_nodes;
    long double *weight = malloc(n * sizeof *weight);
    if (weight == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    for (size_t j = 0; j < n; j++) {
        long double product = 1;
        for (size_t i = 0; i < n; i++) {
            product *= i == j ? 1 : 2 * ((long double)s->x[j] - s->x[i]);
        }
        weight[j] = 1 / product;
    }
    enum status code = interpolate_run(b, s);
    if (code == STATUS_OK) {
        code = b->backend->ops->download(b->queue, s->value, s->values, s->n * sizeof *s->value);
    }
    for (size_t k = 0; k < CHECKED && code == STATUS_OK; k++) {
        code = check_query(s, weight, k * (s->n - 1) / (CHECKED - 1));
    }
    free(weight);
    return code;
}

static enum status make_input(struct bench *b, struct interpolate_state *s)
{
    const struct backend_ops *ops = b->backend->ops;
    const size_t n = s->variant->n_nodes, bytes = s->n * sizeof(double);
    uint64_t ticket = 0;
    for (size_t j = 0; j < n; j++) {
        s->x[j] = -cos(3.14159265358979323846 * ((double)j + 0.5) / (double)n);
        s->y[j] = 1 / (1 + 25 * s->x[j] * s->x[j]);
    }
    /* no query outside the outermost nodes */
    for (size_t i = 0; i < s->n; i++) {
        const double at =
            s->variant->ascending ? (double)i / (double)(s->n - 1) : bench_uniform(3, i);
        s->query[i] = (2 * at - 1) * s->x[n - 1];
    }
    STATUS_TRY(ops->alloc(b->queue, bytes, &s->queries));
    STATUS_TRY(ops->alloc(b->queue, bytes, &s->values));
    STATUS_TRY(ops->alloc(b->queue, sizeof(struct interpolate_counts), &s->counts));
    STATUS_TRY(ops->zero(b->queue, s->counts));
    STATUS_TRY(ops->upload(b->queue, s->queries, s->query, bytes, &ticket));
    STATUS_TRY(ops->upload_wait(b->queue, ticket));
    const struct interpolate_request request = {s->x,           s->y, n,  1, INTERPOLATE_BY_CELLS,
                                                (uint64_t)s->n, 0,    {0}};
    return interpolate_setup_new(b->queue, &request, &s->setup);
}

static enum status interpolate_open(struct bench *b, const struct bench_case *c,
                                    struct bench_work *work, void **state)
{
    const struct interpolate_variant *v = c->variant;
    struct interpolate_state *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    s->variant = v;
    s->n = b->smoke ? 5000 : v->n_queries;
    s->x = malloc(v->n_nodes * sizeof *s->x);
    s->y = malloc(v->n_nodes * sizeof *s->y);
    s->query = malloc(s->n * sizeof *s->query);
    s->value = malloc(s->n * sizeof *s->value);
    enum status code = s->x == NULL || s->y == NULL || s->query == NULL || s->value == NULL
                           ? status_fail(STATUS_NO_MEMORY, "no memory")
                           : STATUS_OK;
    const double start = bench_now_s();
    if (code == STATUS_OK) {
        code = make_input(b, s);
    }
    const double made = bench_now_s();
    if (code == STATUS_OK) {
        code = interpolate_check(b, s);
    }
    if (code != STATUS_OK) {
        interpolate_close(b, s);
        return code;
    }
    snprintf(s->path, sizeof s->path, "%s/interpolate", b->scratch);
    snprintf(work->note, sizeof work->note, "%zu cells of degree %zu, input and set-up %.1f ms",
             s->setup.cells.n_cells, s->setup.cells.degree, (made - start) * 1e3);
    work->items = (double)s->n;
    work->item_name = "queries";
    work->bytes = 16 * (double)s->n;
    work->flops = 2 * ((double)s->setup.cells.degree + 13) * (double)s->n;
    const double by_bytes = work->bytes / b->ceilings.copy_bytes_s;
    const double by_flops = b->ceilings.f64_flop_s > 0 ? work->flops / b->ceilings.f64_flop_s : 0;
    work->floor_s = by_bytes > by_flops ? by_bytes : by_flops;
    work->floor_of = by_bytes > by_flops ? "read and write" : "flops";
    work->mark_s = b->cuda && !b->smoke ? v->mark_s : 0;
    work->mark_ratio = !b->cuda && !b->smoke ? v->mark_ratio : 0;
    *state = s;
    return STATUS_OK;
}

static enum status write_doubles(FILE *f, const double *x, size_t n)
{
    return fwrite(x, sizeof *x, n, f) == n ? STATUS_OK
                                           : status_fail(STATUS_IO, "cannot write for the peer");
}

/* Nodes, their values, queries, and leat's answer, one after the other. */
static enum status interpolate_peer(struct bench *b, void *state, double *seconds)
{
    struct interpolate_state *s = state;
    const size_t n = s->variant->n_nodes;
    char count[32];
    FILE *f = fopen(s->path, "wb");
    if (f == NULL) {
        return status_fail(STATUS_IO, "cannot open %s", s->path);
    }
    enum status code = write_doubles(f, s->x, n);
    code = code == STATUS_OK ? write_doubles(f, s->y, n) : code;
    code = code == STATUS_OK ? write_doubles(f, s->query, s->n) : code;
    code = code == STATUS_OK ? write_doubles(f, s->value, s->n) : code;
    if (fclose(f) != 0 && code == STATUS_OK) {
        code = status_fail(STATUS_IO, "cannot write %s", s->path);
    }
    STATUS_TRY(code);
    snprintf(count, sizeof count, "%zu", n);
    return bench_python(b, seconds, "peer_interpolate.py", b->cuda ? "cupy" : "scipy", s->path,
                        count, NULL);
}

#define INTERPOLATE_CASE(case_name, text, ...)                                                     \
    {                                                                                              \
        .name = "interpolate_" case_name, .what = text, .backends = BENCH_CPU | BENCH_CUDA,        \
        .by_device = true, .variant = &(const struct interpolate_variant){__VA_ARGS__},            \
        .open = interpolate_open, .run = interpolate_run, .close = interpolate_close,              \
        .peer_name = "SciPy/CuPy", .peer = interpolate_peer                                        \
    }

const struct bench_case bench_interpolate_cases[] = {
    INTERPOLATE_CASE("32", "10^6 random queries through 32 nodes (peer: SciPy; CuPy on CUDA)", 32,
                     1000000, false, 0.03e-3, 20),
    INTERPOLATE_CASE("51", "10^7 random queries through 51 nodes", 51, 10000000, false, 0.15e-3,
                     20),
    INTERPOLATE_CASE("51_ascending", "10^7 queries in ascending order through 51 nodes", 51,
                     10000000, true, 0.15e-3, 20),
    INTERPOLATE_CASE("320", "10^6 random queries through 320 nodes", 320, 1000000, false, 0.08e-3,
                     20),
    INTERPOLATE_CASE("50", "10^6 random queries through 50 nodes", 50, 1000000, false, 0, 20),
    INTERPOLATE_CASE("50_ascending", "10^6 queries in ascending order through 50 nodes", 50,
                     1000000, true, 0, 20),
    {0},
};
