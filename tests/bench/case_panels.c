/*
 * case_panels - the correlation of series in rows by all devices of the host, beside the same on
 * one; where there is one device, or none, by two members on it, which shows what sharing costs.
 *
 * The series are on the first device. Both runs are compared bit for bit. Marks: two and four H200,
 * nine tenths of what all of them can do.
 */
#include "kernels/pearson/panels.h"
#include "kernels/philox/philox.h"
#include "tests/bench/members.h"

#include <stdlib.h>
#include <string.h>

enum { PANEL = 1024, SMOKE_PANEL = 16 };

struct panels_variant {
    enum pearson_precision precision;
    enum dtype type;
    size_t n_series, n_samples;
    double mark_s[2], mark_ratio[2]; /* of two devices, of four */
};

struct panels_state {
    const struct panels_variant *v;
    struct panels_config c;
    struct members members;
    struct panels *panels; /* NULL: the first member's alone */
    size_t n_panels;
    struct span x, z, *r;
    struct moments moments;
};

static size_t x_row(const struct panels_state *s)
{
    return s->c.n_samples * dtype_bytes(s->v->type);
}

static size_t z_row(const struct panels_state *s)
{
    return s->c.home->backend->ops->pearson->z_bytes(s->c.home, s->c.precision, s->c.n_samples);
}

static size_t width_of(const struct panels_state *s, size_t p)
{
    return matrix_panel_width(p, s->c.panel, s->c.n_series);
}

static size_t bytes_of(const struct panels_state *s, size_t p)
{
    return (width_of(s, p) - p * s->c.panel) * width_of(s, p) *
           dtype_bytes(pearson_dtype(s->c.precision));
}

static void forget(struct panels_state *s)
{
    panels_close(s->panels);
    s->panels = NULL;
}

static enum status panels_prepare(struct bench *b, void *state)
{
    struct panels_state *s = state;
    size_t n = s->members.n - 1;
    forget(s);
    STATUS_TRY(panels_open(&s->c, s->members.queues + 1, &n, &s->panels));
    return n + 1 == s->members.n
               ? b->backend->ops->finish(b->queue)
               : status_fail(STATUS_INTERNAL, "%zu of %zu members", n + 1, s->members.n);
}

static enum status take_panel(const struct panels_state *s, size_t p)
{
    const struct backend_ops *ops = s->c.home->backend->ops;
    const size_t first = p * s->c.panel, width = width_of(s, p), n = width - first;
    const struct series_rows x = {
        span_from(s->x, first * x_row(s)), s->v->type, n, s->c.n_samples, first, 0};
    const struct span z = span_from(s->z, first * z_row(s));
    const struct pearson_panel panel = {.precision = s->c.precision,
                                        .n_samples = s->c.n_samples,
                                        .a = {.z = z, .first = first, .n = n},
                                        .b = {.z = s->z, .n = width},
                                        .moments = s->moments,
                                        .r = s->r[p],
                                        .width = width};
    STATUS_TRY(ops->means->rows(s->c.home, &x, s->moments));
    STATUS_TRY(ops->pearson->standardize(s->c.home, s->c.precision, &x, s->moments, z));
    if (s->panels == NULL) {
        return ops->pearson->gram(s->c.home, &panel);
    }
    STATUS_TRY(panels_give(s->panels, z, first, n));
    return panels_gram(s->panels, &panel);
}

static enum status panels_run(struct bench *b, void *state)
{
    const struct panels_state *s = state;
    for (size_t p = 0; p < s->n_panels; p++) {
        STATUS_TRY(take_panel(s, p));
    }
    if (s->panels != NULL) {
        STATUS_TRY(panels_collect(s->panels));
    }
    return b->backend->ops->finish(b->queue);
}

static enum status panels_peer(struct bench *b, void *state, double *seconds)
{
    forget(state);
    const double start = bench_now_s();
    const enum status code = panels_run(b, state);
    *seconds = bench_now_s() - start;
    return code;
}

static void panels_case_close(struct bench *b, void *state)
{
    struct panels_state *s = state;
    const struct backend_ops *ops = b->backend->ops;
    forget(s);
    for (size_t p = 0; s->r != NULL && p < s->n_panels; p++) {
        ops->release(b->queue, s->r[p]);
    }
    ops->release(b->queue, s->x);
    ops->release(b->queue, s->z);
    ops->release(b->queue, s->moments.at);
    members_close(b, &s->members);
    free(s->r);
    free(s);
}

static enum status alloc_all(struct bench *b, struct panels_state *s)
{
    const struct backend_ops *ops = b->backend->ops;
    const struct philox_walk walk = {.seed = 11, .start = 100, .epsilon = 0.01};
    s->r = calloc(s->n_panels, sizeof *s->r);
    if (s->r == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu panels", s->n_panels);
    }
    STATUS_TRY(ops->alloc(b->queue, s->c.n_series * x_row(s), &s->x));
    STATUS_TRY(ops->alloc(b->queue, s->c.n_series * z_row(s), &s->z));
    STATUS_TRY(ops->alloc(b->queue, moments_bytes(s->c.n_series), &s->moments.at));
    for (size_t p = 0; p < s->n_panels; p++) {
        STATUS_TRY(ops->alloc(b->queue, bytes_of(s, p), &s->r[p]));
    }
    const struct series_rows x = {s->x, s->v->type, s->c.n_series, s->c.n_samples, 0, 0};
    return ops->philox->walk_rows(b->queue, &walk, &x);
}

/* Mixes the coefficients into *mix, word by word. */
static enum status mix_coefficients(struct bench *b, const struct panels_state *s, uint64_t *mix)
{
    const size_t each = dtype_bytes(pearson_dtype(s->c.precision));
    char *host = malloc(s->c.panel * s->c.n_series * each);
    enum status code = host != NULL ? STATUS_OK : status_fail(STATUS_NO_MEMORY, "no memory");
    for (size_t p = 0; p < s->n_panels && code == STATUS_OK; p++) {
        const size_t width = width_of(s, p), first = p * s->c.panel;
        code = b->backend->ops->download(b->queue, host, s->r[p], bytes_of(s, p));
        for (size_t j = first; j < width && code == STATUS_OK; j++) {
            const char *row = host + (j - first) * width * each;
            for (size_t at = 0; at < j * each; at += each) {
                uint64_t word = 0;
                memcpy(&word, row + at, each);
                *mix = (*mix ^ word) * UINT64_C(0x9E3779B97F4A7C15);
            }
        }
    }
    free(host);
    return code;
}

static enum status panels_check(struct bench *b, struct panels_state *s)
{
    uint64_t mix[2] = {1, 1};
    for (size_t i = 0; i < 2; i++) {
        if (i > 0) {
            STATUS_TRY(panels_prepare(b, s));
        }
        STATUS_TRY(panels_run(b, s));
        STATUS_TRY(mix_coefficients(b, s, &mix[i]));
    }
    return mix[0] == mix[1] ? STATUS_OK
                            : status_fail(STATUS_INTERNAL, "the coefficients by %zu members differ",
                                          s->members.n);
}

static enum status panels_case_open(struct bench *b, const struct bench_case *c,
                                    struct bench_work *work, void **state)
{
    const struct panels_variant *v = c->variant;
    struct panels_state *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    s->v = v;
    s->c = (struct panels_config){.home = b->queue,
                                  .precision = v->precision,
                                  .n_series = b->smoke ? 130 : v->n_series,
                                  .n_samples = b->smoke ? 257 : v->n_samples,
                                  .panel = b->smoke ? SMOKE_PANEL : PANEL};
    s->n_panels = (s->c.n_series + s->c.panel - 1) / s->c.panel;
    s->moments.capacity = s->c.n_series;
    enum status code = members_open(b, &s->members);
    if (code == STATUS_OK) {
        code = alloc_all(b, s);
    }
    if (code == STATUS_OK) {
        code = panels_check(b, s);
    }
    if (code != STATUS_OK) {
        panels_case_close(b, s);
        return code;
    }
    const size_t n_devices = s->members.n_devices;
    work->flops = (double)s->c.n_series * (double)(s->c.n_series - 1) * (double)s->c.n_samples;
    if (!b->smoke && (n_devices == 2 || n_devices == 4)) {
        work->mark_s = v->mark_s[n_devices / 4];
        work->mark_ratio = v->mark_ratio[n_devices / 4];
    }
    members_note(&s->members, work);
    *state = s;
    return STATUS_OK;
}

static const struct panels_variant exact = {PEARSON_EXACT, DTYPE_F64, 16384,
                                            16384,         {0},       {1.8, 3.4}},
                                   large = {PEARSON_EXACT, DTYPE_F64,     65536,
                                            16384,         {0.66, 0.333}, {1.8, 3.6}},
                                   f32 = {PEARSON_F32, DTYPE_F32, 65536, 16384, {0}, {1.7, 3.2}},
                                   small = {PEARSON_EXACT, DTYPE_F64, 4096, 2048, {0}, {0}};

#define PANELS_CASE                                                                                \
    .open = panels_case_open, .prepare = panels_prepare, .run = panels_run,                        \
    .close = panels_case_close, .peer_name = "one member", .peer = panels_peer

const struct bench_case bench_panels_cases[] = {
    {.name = "panels_exact_16k",
     .what = "every r of 16384 series of 16384 f64, exact, by all devices",
     .backends = BENCH_CUDA,
     .variant = &exact,
     PANELS_CASE},
    {.name = "panels_exact_64k",
     .what = "the same of 65536 series",
     .backends = BENCH_CUDA,
     .variant = &large,
     PANELS_CASE},
    {.name = "panels_f32_64k",
     .what = "the same of f32, precision f32",
     .backends = BENCH_CUDA,
     .variant = &f32,
     PANELS_CASE},
    {.name = "panels_4096",
     .what = "every r of 4096 series of 2048 f64, exact, by two members",
     .backends = BENCH_CPU,
     .variant = &small,
     PANELS_CASE},
    {0},
};
