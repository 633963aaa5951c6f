/*
 * case_sciddicat - a debris flow on a slope: little of the map moves.
 *
 * landslide: 610 x 496 cells, one heap, 4000 steps, as large as the Tessina landslide that the
 * model's literature runs. many: 4096 x 4096 cells (CPU: 1024 x 1024), heaps on 0.5 % of them, 200
 * steps.
 * The peer is the published serial program's way, written anew: every step visits the whole grid
 * three times, with the flows in memory. Its time is taken over a few steps half way and scaled.
 * Before that, both are compared bit for bit.
 */
#include "tests/bench/bench.h"

#include "kernels/sciddicat.h"

#include <stdlib.h>
#include <string.h>

enum { PEER_STEPS = 50, VALLEY = 124 /* cells from one to the next */ };

struct sciddicat_variant {
    size_t rows, columns, n_heaps, heap;
    uint64_t n_steps;
    double mark_s, mark_ratio;
};

struct sciddicat_state {
    struct sciddicat_params p;
    uint64_t n_steps;
    double *z, *h, *flow[4], *other, *half_way;
    struct span at_z, at_h;
    void *run;
};

static size_t cells(const struct sciddicat_state *s)
{
    return s->p.rows * s->p.columns;
}

/* --- the whole grid, three times a step ----------------------------------------------------------
 */

static void reset_flows(const struct sciddicat_state *s)
{
    for (size_t k = 0; k < cells(s); k++) {
        for (size_t n = 0; n < 4; n++) {
            s->flow[n][k] = 0;
        }
    }
}

static void compute_flows(const struct sciddicat_state *s, const double *h, size_t k)
{
    const size_t c = s->p.columns, to[5] = {k, k - c, k - 1, k + 1, k + c};
    double u[5] = {s->z[k] + s->p.epsilon}, average;
    bool out[5] = {false}, again;
    for (size_t n = 1; n < 5; n++) {
        u[n] = s->z[to[n]] + h[to[n]];
    }
    do {
        size_t count = 0;
        average = h[k] - s->p.epsilon;
        for (size_t n = 0; n < 5; n++) {
            if (!out[n]) {
                average += u[n];
                count++;
            }
        }
        if (count != 0) {
            average /= (double)count;
        }
        again = false;
        for (size_t n = 0; n < 5; n++) {
            if (!out[n] && average <= u[n]) {
                out[n] = true;
                again = true;
            }
        }
    } while (again);
    for (size_t n = 1; n < 5; n++) {
        if (!out[n]) {
            s->flow[n - 1][k] = (average - u[n]) * s->p.r;
        }
    }
}

static void peer_steps(const struct sciddicat_state *s, double *h, uint64_t n_steps)
{
    const size_t c = s->p.columns;
    for (uint64_t t = 0; t < n_steps; t++) {
        reset_flows(s);
        for (size_t i = 1; i + 1 < s->p.rows; i++) {
            for (size_t k = i * c + 1; k < i * c + c - 1; k++) {
                if (h[k] > s->p.epsilon) {
                    compute_flows(s, h, k);
                }
            }
        }
        for (size_t i = 1; i + 1 < s->p.rows; i++) {
            for (size_t k = i * c + 1; k < i * c + c - 1; k++) {
                h[k] += s->flow[3][k - c] - s->flow[0][k];
                h[k] += s->flow[2][k - 1] - s->flow[1][k];
                h[k] += s->flow[1][k + 1] - s->flow[2][k];
                h[k] += s->flow[0][k + c] - s->flow[3][k];
            }
        }
    }
}

static enum status sciddicat_peer(struct bench *b, void *state, double *seconds)
{
    struct sciddicat_state *s = state;
    const uint64_t n_steps = b->smoke ? s->n_steps : PEER_STEPS;
    memcpy(s->other, s->half_way, cells(s) * sizeof *s->h);
    const double start = bench_now_s();
    peer_steps(s, s->other, n_steps);
    *seconds = (bench_now_s() - start) * (double)s->n_steps / (double)n_steps;
    return STATUS_OK;
}

/* --- ours ----------------------------------------------------------------------------------------
 */

static void sciddicat_close(struct bench *b, void *state)
{
    struct sciddicat_state *s = state;
    const struct backend_ops *ops = b->backend->ops;
    if (s->run != NULL) {
        ops->sciddicat->close(b->queue, s->run);
    }
    ops->release(b->queue, s->at_z);
    ops->release(b->queue, s->at_h);
    for (size_t n = 0; n < 4; n++) {
        free(s->flow[n]);
    }
    free(s->z);
    free(s->h);
    free(s->other);
    free(s->half_way);
    free(s);
}

/* A run at its start. */
static enum status sciddicat_prepare(struct bench *b, void *state)
{
    struct sciddicat_state *s = state;
    const struct sciddicat_kernels *k = b->backend->ops->sciddicat;
    if (s->run != NULL) {
        k->close(b->queue, s->run);
        s->run = NULL;
    }
    const enum status code = k->open(b->queue, &s->p, s->at_z, s->at_h, (struct span){0}, &s->run);
    return code == STATUS_OK ? b->backend->ops->finish(b->queue) : code;
}

static enum status sciddicat_run(struct bench *b, void *state)
{
    struct sciddicat_state *s = state;
    struct sciddicat_report report;
    return b->backend->ops->sciddicat->advance(b->queue, s->run, s->n_steps, &report);
}

static void terrain(struct sciddicat_state *s, const struct sciddicat_variant *v)
{
    const size_t columns = s->p.columns;
    for (size_t k = 0; k < cells(s); k++) {
        const double across = (double)(k % columns % VALLEY) - VALLEY / 2;
        s->z[k] = 3000 - 0.15 * (double)(k / columns) + 0.1 * across * across + bench_uniform(1, k);
    }
    for (size_t n = 0; n < v->n_heaps; n++) {
        const size_t top = (size_t)(bench_uniform(2, n) * (double)(s->p.rows / 2 - v->heap));
        const size_t left =
            columns / 4 + (size_t)(bench_uniform(3, n) * (double)(columns / 2 - v->heap));
        for (size_t k = 0; k < v->heap * v->heap; k++) {
            s->h[(top + k / v->heap) * columns + left + k % v->heap] = 8;
        }
    }
}

/* The first steps give the bits of the whole grid's. */
static enum status sciddicat_check(struct bench *b, struct sciddicat_state *s)
{
    const struct sciddicat_kernels *k = b->backend->ops->sciddicat;
    struct sciddicat_report report;
    double *got = malloc(cells(s) * sizeof *got);
    if (got == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    memcpy(s->other, s->h, cells(s) * sizeof *s->h);
    peer_steps(s, s->other, PEER_STEPS);
    enum status code = sciddicat_prepare(b, s);
    if (code == STATUS_OK) {
        code = k->advance(b->queue, s->run, PEER_STEPS, &report);
    }
    if (code == STATUS_OK) {
        code = k->state(b->queue, s->run, got, NULL, NULL);
    }
    if (code == STATUS_OK && memcmp(got, s->other, cells(s) * sizeof *got) != 0) {
        code = status_fail(STATUS_INTERNAL, "the thickness after %d steps differs", PEER_STEPS);
    }
    if (code == STATUS_OK) {
        code = k->advance(b->queue, s->run, s->n_steps / 2, &report);
    }
    if (code == STATUS_OK) {
        code = k->state(b->queue, s->run, s->half_way, NULL, NULL);
    }
    free(got);
    return code;
}

static enum status sciddicat_open(struct bench *b, const struct bench_case *c,
                                  struct bench_work *work, void **state)
{
    const struct backend_ops *ops = b->backend->ops;
    const struct sciddicat_variant *v = c->variant;
    struct sciddicat_state *s = calloc(1, sizeof *s);
    uint64_t ticket;
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    const size_t shrink = b->smoke ? 4 : 1;
    s->p = (struct sciddicat_params){v->rows / shrink, v->columns / shrink, 0.001, 0.5,
                                     SCIDDICAT_COMPAT};
    s->n_steps = b->smoke ? 60 : v->n_steps;
    const size_t bytes = cells(s) * sizeof(double);
    s->z = calloc(1, bytes);
    s->h = calloc(1, bytes);
    s->other = malloc(bytes);
    s->half_way = malloc(bytes);
    bool all = s->z != NULL && s->h != NULL && s->other != NULL && s->half_way != NULL;
    for (size_t n = 0; n < 4; n++) {
        s->flow[n] = malloc(bytes);
        all = all && s->flow[n] != NULL;
    }
    enum status code = all ? STATUS_OK : status_fail(STATUS_NO_MEMORY, "no memory");
    if (code == STATUS_OK) {
        terrain(s, v);
        code = ops->alloc(b->queue, bytes, &s->at_z);
    }
    if (code == STATUS_OK) {
        code = ops->alloc(b->queue, bytes, &s->at_h);
    }
    if (code == STATUS_OK) {
        code = ops->upload(b->queue, s->at_z, s->z, bytes, &ticket);
    }
    if (code == STATUS_OK) {
        code = ops->upload(b->queue, s->at_h, s->h, bytes, &ticket);
    }
    if (code == STATUS_OK) {
        code = sciddicat_check(b, s);
    }
    if (code != STATUS_OK) {
        sciddicat_close(b, s);
        return code;
    }
    work->items = (double)s->n_steps;
    work->item_name = "steps";
    work->mark_s = b->cuda && !b->smoke ? v->mark_s : 0;
    work->mark_ratio = b->cuda || b->smoke ? 0 : v->mark_ratio;
    *state = s;
    return STATUS_OK;
}

/* Marks: an H200; the serial program's time over ours, on one thread. */
static const struct sciddicat_variant landslide = {610, 496, 1, 26, 4000, 8e-3, 40},
                                      many = {4096, 4096, 40, 46, 200, 8e-3, 0},
                                      fewer = {1024, 1024, 10, 23, 200, 0, 40};

#define SCIDDICAT_CASE                                                                             \
    .open = sciddicat_open, .prepare = sciddicat_prepare, .run = sciddicat_run,                    \
    .close = sciddicat_close, .peer_name = "serial", .peer = sciddicat_peer

const struct bench_case bench_sciddicat_cases[] = {
    {.name = "sciddicat_landslide",
     .what = "4000 steps of one landslide on 610 x 496 cells",
     .backends = BENCH_CPU | BENCH_CUDA,
     .by_device = true,
     .variant = &landslide,
     SCIDDICAT_CASE},
    {.name = "sciddicat_many",
     .what = "200 steps of 40 landslides on 4096 x 4096 cells",
     .backends = BENCH_CUDA,
     .by_device = true,
     .variant = &many,
     SCIDDICAT_CASE},
    {.name = "sciddicat_many",
     .what = "200 steps of 10 landslides on 1024 x 1024 cells",
     .backends = BENCH_CPU,
     .variant = &fewer,
     SCIDDICAT_CASE},
    {0},
};
