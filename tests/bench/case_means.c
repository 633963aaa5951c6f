/*
 * case_means - all moments of every series in one pass; the floor is one read of the data.
 *
 * Several copies of the input take turns, so that no cache is what is measured.
 */
#include "tests/bench/bench.h"

#include "kernels/means/means.h"
#include "kernels/philox/philox.h"

#include <math.h>
#include <stdlib.h>

enum { COPIES = 4 };

struct means_variant {
    enum dtype type;
    double mark_s; /* on one H200, 8192 x 8192 */
};

struct means_state {
    enum dtype type;
    size_t n_series, n_samples, turn;
    struct span input[COPIES];
    struct moments moments;
};

static void means_close(struct bench *b, void *state)
{
    struct means_state *s = state;
    const struct backend_ops *ops = b->backend->ops;
    for (size_t i = 0; i < COPIES; i++) {
        ops->release(b->queue, s->input[i]);
    }
    ops->release(b->queue, s->moments.at);
    free(s);
}

static enum status means_run(struct bench *b, void *state)
{
    struct means_state *s = state;
    const struct series_rows x = {
        s->input[s->turn++ % COPIES], s->type, s->n_series, s->n_samples, 0, 0};
    return b->backend->ops->means->rows(b->queue, &x, s->moments);
}

static double sample_of(const void *row, enum dtype type, size_t t)
{
    return type == DTYPE_F32 ? (double)((const float *)row)[t] : ((const double *)row)[t];
}

/* One series in extended precision, two passes. The sums are of N deviations of at most `widest`,
 * each addition off by a relative 2^-53: mean within N u widest, M2 within 2 N u M2 (taken twice as
 * wide for what the merges add). */
static enum status check_series(const struct means_state *s, size_t series, const void *row,
                                const double *moments)
{
    long double sum = 0, m2 = 0;
    double low = INFINITY, high = -INFINITY;
    for (size_t t = 0; t < s->n_samples; t++) {
        double v = sample_of(row, s->type, t);
        sum += v;
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    long double mean = sum / (long double)s->n_samples;
    for (size_t t = 0; t < s->n_samples; t++) {
        long double d = sample_of(row, s->type, t) - mean;
        m2 += d * d;
    }
    const double n_u = (double)s->n_samples * 0x1p-53;
    double got[MOMENTS_LAG1];
    for (size_t f = 0; f < MOMENTS_LAG1; f++) {
        got[f] = moments[f * s->n_series + series];
    }
    /* Written so that a NaN fails. */
    if (got[MOMENTS_COUNT] == (double)s->n_samples && got[MOMENTS_MIN] == low &&
        got[MOMENTS_MAX] == high &&
        fabs(got[MOMENTS_MEAN] - (double)mean) <= 2 * n_u * (high - low) + 0x1p-52 * fabs(high) &&
        fabs(got[MOMENTS_M2] - (double)m2) <= 4 * n_u * (double)m2) {
        return STATUS_OK;
    }
    return status_fail(STATUS_INTERNAL,
                       "series %zu: mean %.17g for %.17Lg, M2 %.17g for %.17Lg, count %g, %g to %g",
                       series, got[MOMENTS_MEAN], mean, got[MOMENTS_M2], m2, got[MOMENTS_COUNT],
                       got[MOMENTS_MIN], got[MOMENTS_MAX]);
}

static enum status means_check(struct bench *b, struct means_state *s)
{
    const struct backend_ops *ops = b->backend->ops;
    const size_t row_bytes = s->n_samples * dtype_bytes(s->type);
    const size_t chosen[] = {0, 1, s->n_series / 2, s->n_series - 1};
    void *row = malloc(row_bytes);
    double *moments = malloc(moments_bytes(s->n_series));
    enum status code =
        row == NULL || moments == NULL ? status_fail(STATUS_NO_MEMORY, "no memory") : STATUS_OK;
    if (code == STATUS_OK) {
        code = means_run(b, s);
    }
    if (code == STATUS_OK) {
        code = ops->download(b->queue, moments, s->moments.at, moments_bytes(s->n_series));
    }
    for (size_t i = 0; code == STATUS_OK && i < sizeof chosen / sizeof chosen[0]; i++) {
        code =
            ops->download(b->queue, row, span_from(s->input[0], chosen[i] * row_bytes), row_bytes);
        if (code == STATUS_OK) {
            code = check_series(s, chosen[i], row, moments);
        }
    }
    free(moments);
    free(row);
    return code;
}

static enum status means_open(struct bench *b, const struct bench_case *c, struct bench_work *work,
                              void **state)
{
    const struct backend_ops *ops = b->backend->ops;
    const struct means_variant *v = c->variant;
    struct means_state *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    s->type = v->type;
    s->n_series = b->smoke ? 65 : b->cuda ? 8192 : 2048;
    s->n_samples = b->smoke ? 257 : 8192;
    const size_t bytes = s->n_series * s->n_samples * dtype_bytes(s->type);
    const struct philox_walk walk = {.seed = 7, .start = 100, .epsilon = 0.01};
    enum status code = ops->alloc(b->queue, moments_bytes(s->n_series), &s->moments.at);
    s->moments.capacity = s->n_series;
    for (size_t i = 0; code == STATUS_OK && i < COPIES; i++) {
        code = ops->alloc(b->queue, bytes, &s->input[i]);
        if (code == STATUS_OK) {
            const struct series_rows rows = {s->input[i],  s->type,         s->n_series,
                                             s->n_samples, i * s->n_series, 0};
            code = ops->philox->walk_rows(b->queue, &walk, &rows);
        }
    }
    if (code == STATUS_OK) {
        code = means_check(b, s);
    }
    if (code != STATUS_OK) {
        means_close(b, s);
        return code;
    }
    work->bytes = (double)bytes;
    work->floor_of = "one read";
    work->floor_s = (double)bytes / b->ceilings.copy_bytes_s;
    work->mark_s = b->cuda && !b->smoke ? v->mark_s : 0;
    s->turn = 0;
    *state = s;
    return STATUS_OK;
}

static const struct means_variant f32 = {DTYPE_F32, 0.070e-3}, f64 = {DTYPE_F64, 0.132e-3};

const struct bench_case bench_means_cases[] = {
    {.name = "means_f32",
     .what = "all moments of 8192 (CPU: 2048) series of 8192 f32",
     .backends = BENCH_CPU | BENCH_CUDA,
     .by_device = true,
     .variant = &f32,
     .open = means_open,
     .run = means_run,
     .close = means_close},
    {.name = "means_f64",
     .what = "the same of f64",
     .backends = BENCH_CPU | BENCH_CUDA,
     .by_device = true,
     .variant = &f64,
     .open = means_open,
     .run = means_run,
     .close = means_close},
    {0},
};
