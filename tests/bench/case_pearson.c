/*
 * case_pearson - every coefficient of series in rows that are already on the backend: means,
 * standardize, and gram() of each panel with all series before it. What numpy.corrcoef does, and
 * half of its work.
 *
 * pearson_exact_hostile: a sample of every series outweighs all others, so that on CUDA no product
 * of digits is enough and every tile is taken in double (digits_double_cuda.cu). What that kernel
 * costs where digits are enough is in pearson_exact_16k: 84 MB of tails read.
 *
 * pearson_ranks: the same of their ranks, which is Spearman's coefficient; pearson_ranks_gaps: of
 * series that lack samples, ranked again for each pair. pearson_survey: what is asked of a matrix.
 * pearson_blocks: the products inside many small groups alone, of series in standard form.
 *
 * The floor is the product's n (n - 1) / 2 pairs of N multiplications and additions at the rate of
 * the machine's own matrix product of that precision.
 */
#include "tests/bench/bench.h"

#include "kernels/pearson/pearson.h"
#include "kernels/philox/philox.h"

#include <math.h>
#include <stdlib.h>

enum { PANEL = 1024, CHECKED = 24 };

struct pearson_variant {
    enum pearson_precision precision;
    enum dtype type;
    size_t n, n_samples; /* CUDA */
    double mark_s;       /* on one H200 */
    double spike;        /* 0: none; else so many times the first sample, in its place */
    bool ranks;
    double missing; /* share of the samples */
    bool survey;    /* of the matrix that open leaves */
};

struct pearson_state {
    const struct pearson_variant *v;
    size_t n_series, n_samples, n_panels, z_bytes;
    struct span x, ranks, z, *panels;
    double *median_abs;
    struct moments moments;
};

static size_t panel_rows(const struct pearson_state *s, size_t p)
{
    return matrix_panel_width(p, PANEL, s->n_series) - p * PANEL;
}

static enum dtype matrix_type(const struct pearson_state *s)
{
    return s->v->precision == PEARSON_EXACT ? DTYPE_F64 : DTYPE_F32;
}

static void pearson_close(struct bench *b, void *state)
{
    struct pearson_state *s = state;
    const struct backend_ops *ops = b->backend->ops;
    for (size_t p = 0; s->panels != NULL && p < s->n_panels; p++) {
        ops->release(b->queue, s->panels[p]);
    }
    ops->release(b->queue, s->z);
    ops->release(b->queue, s->moments.at);
    ops->release(b->queue, s->x);
    ops->release(b->queue, s->ranks);
    free(s->panels);
    free(s->median_abs);
    free(s);
}

static enum status pearson_run(struct bench *b, void *state)
{
    struct pearson_state *s = state;
    const struct backend_ops *ops = b->backend->ops;
    struct series_rows x = {s->x, s->v->type, s->n_series, s->n_samples, 0, 0};
    enum status code = STATUS_OK;
    uint64_t n_unsure = 0;
    if (s->v->ranks) {
        code = ops->pearson->rank_rows(b->queue, &x, s->ranks);
        x.at = s->ranks;
    }
    if (code == STATUS_OK) {
        code = ops->means->rows(b->queue, &x, s->moments);
    }
    if (code == STATUS_OK) {
        code = ops->pearson->standardize(b->queue, s->v->precision, &x, s->moments, s->z);
    }
    for (size_t p = 0; code == STATUS_OK && p < s->n_panels; p++) {
        const size_t first = p * PANEL, width = matrix_panel_width(p, PANEL, s->n_series);
        const struct pearson_panel panel = {
            .precision = s->v->precision,
            .n_samples = s->n_samples,
            .a = {.z = span_from(s->z, first * s->z_bytes), .first = first, .n = width - first},
            .b = {.z = s->z, .n = width},
            .moments = s->moments,
            .r = s->panels[p],
            .width = width,
            .ranks = s->v->ranks};
        code = ops->pearson->gram(b->queue, &panel);
        if (code == STATUS_OK && s->v->missing > 0) {
            code = ops->pearson->gram_gaps(b->queue, &panel, &n_unsure);
        }
    }
    return code;
}

static enum status survey_run(struct bench *b, void *state)
{
    struct pearson_state *s = state;
    const struct matrix_kernels *k = b->backend->ops->matrix;
    const struct matrix m = {s->n_series, PANEL, matrix_type(s), s->panels, 0, NULL};
    struct matrix_survey survey;
    double median, kth;
    enum status code = k->survey(b->queue, &m, &survey, s->median_abs, &median);
    return code == STATUS_OK ? k->kth_abs(b->queue, &m, 1000, &kth) : code;
}

struct ranked {
    double x;
    size_t t;
};

static int by_value(const void *a, const void *b)
{
    const double x = ((const struct ranked *)a)->x, y = ((const struct ranked *)b)->x;
    return x < y ? -1 : x > y;
}

/* x to ranks; equal samples are as good as none here. */
static void rank(double *x, size_t n, struct ranked *work)
{
    for (size_t t = 0; t < n; t++) {
        work[t] = (struct ranked){x[t], t};
    }
    qsort(work, n, sizeof *work, by_value);
    for (size_t k = 0; k < n; k++) {
        x[work[k].t] = (double)k;
    }
}

static enum status fetch_series(struct bench *b, const struct pearson_state *s, size_t series,
                                double *out)
{
    size_t bytes = s->n_samples * dtype_bytes(s->v->type);
    enum status code =
        b->backend->ops->download(b->queue, out, span_from(s->x, series * bytes), bytes);
    for (size_t t = s->n_samples; code == STATUS_OK && s->v->type == DTYPE_F32 && t-- > 0;) {
        out[t] = (double)((const float *)(const void *)out)[t]; /* from the end: widened in place */
    }
    return code;
}

/* The same of the samples that both have, or of their ranks; `work` has room for 4 n numbers. */
static double reference_of(const struct pearson_state *s, const double *x, const double *y,
                           double *work)
{
    double *a = work, *c = a + s->n_samples;
    size_t n = 0;
    for (size_t t = 0; t < s->n_samples; t++) {
        a[n] = x[t];
        c[n] = y[t];
        n += !isnan(x[t]) && !isnan(y[t]) ? 1 : 0;
    }
    if (s->v->ranks) {
        rank(a, n, (struct ranked *)(void *)(c + s->n_samples));
        rank(c, n, (struct ranked *)(void *)(c + s->n_samples));
    }
    return bench_r(a, c, n);
}

/* Every pair of CHECKED series spread over the panels. */
static enum status pearson_check(struct bench *b, struct pearson_state *s)
{
    const struct backend_ops *ops = b->backend->ops;
    const struct matrix matrix = {s->n_series, PANEL, matrix_type(s), s->panels, 0, NULL};
    double *series = malloc((CHECKED + 4) * s->n_samples * sizeof *series);
    enum status code =
        series == NULL ? status_fail(STATUS_NO_MEMORY, "no memory") : pearson_run(b, s);
    size_t index[CHECKED];
    for (size_t k = 0; code == STATUS_OK && k < CHECKED; k++) {
        index[k] = k * (s->n_series - 1) / (CHECKED - 1);
        code = fetch_series(b, s, index[k], series + k * s->n_samples);
    }
    for (size_t j = 1; code == STATUS_OK && j < CHECKED; j++) {
        for (size_t i = 0; code == STATUS_OK && i < j; i++) {
            uint64_t row = index[i], column = index[j];
            uint64_t at = row * (2 * s->n_series - row - 1) / 2 + column - row - 1;
            union {
                double f64;
                float f32;
            } element;
            code = ops->matrix->condensed(b->queue, &matrix, at, 1, &element);
            double got = matrix.type == DTYPE_F64 ? element.f64 : (double)element.f32;
            double want = reference_of(s, series + i * s->n_samples, series + j * s->n_samples,
                                       series + CHECKED * s->n_samples);
            if (code == STATUS_OK &&
                !(fabs(got - want) <= pearson_bound(s->v->precision, s->v->missing > 0))) {
                code = status_fail(STATUS_INTERNAL, "r(%zu, %zu) is %.17g, not %.17g", index[i],
                                   index[j], got, want);
            }
        }
    }
    free(series);
    return code;
}

static enum status pearson_memory(struct bench *b, struct pearson_state *s)
{
    const struct backend_ops *ops = b->backend->ops;
    s->panels = calloc(s->n_panels, sizeof *s->panels);
    s->median_abs = calloc(s->n_series, sizeof *s->median_abs);
    if (s->panels == NULL || s->median_abs == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    enum status code =
        ops->alloc(b->queue, s->n_series * s->n_samples * dtype_bytes(s->v->type), &s->x);
    if (code == STATUS_OK && s->v->ranks) {
        code = ops->alloc(b->queue, s->n_series * s->n_samples * sizeof(double), &s->ranks);
    }
    if (code == STATUS_OK) {
        code = ops->alloc(b->queue, s->n_series * s->z_bytes, &s->z);
    }
    if (code == STATUS_OK) {
        code = ops->alloc(b->queue, moments_bytes(s->n_series), &s->moments.at);
    }
    for (size_t p = 0; code == STATUS_OK && p < s->n_panels; p++) {
        size_t elements = panel_rows(s, p) * matrix_panel_width(p, PANEL, s->n_series);
        code = ops->alloc(b->queue, elements * dtype_bytes(matrix_type(s)), &s->panels[p]);
    }
    return code;
}

static enum status add_spikes(struct bench *b, const struct pearson_state *s)
{
    const size_t row = s->n_samples * sizeof(double);
    enum status code = STATUS_OK;
    for (size_t k = 0; s->v->spike != 0 && code == STATUS_OK && k < s->n_series; k++) {
        double first;
        uint64_t ticket;
        struct span at = span_from(s->x, k * row);
        code = b->backend->ops->download(b->queue, &first, at, sizeof first);
        first *= s->v->spike;
        if (code == STATUS_OK) {
            code = b->backend->ops->upload(b->queue, at, &first, sizeof first, &ticket);
        }
        if (code == STATUS_OK) {
            code = b->backend->ops->upload_wait(b->queue, ticket);
        }
    }
    return code;
}

static enum status punch(struct bench *b, const struct pearson_state *s)
{
    const size_t row = s->n_samples * sizeof(double);
    double *x = malloc(row);
    enum status code = x == NULL ? status_fail(STATUS_NO_MEMORY, "no memory") : STATUS_OK;
    for (size_t k = 0; s->v->missing > 0 && code == STATUS_OK && k < s->n_series; k++) {
        uint64_t ticket;
        const struct span at = span_from(s->x, k * row);
        code = b->backend->ops->download(b->queue, x, at, row);
        for (size_t t = 0; t < s->n_samples; t++) {
            x[t] = bench_uniform(k, t) < s->v->missing ? (double)NAN : x[t];
        }
        if (code == STATUS_OK) {
            code = b->backend->ops->upload(b->queue, at, x, row, &ticket);
        }
        if (code == STATUS_OK) {
            code = b->backend->ops->upload_wait(b->queue, ticket);
        }
    }
    free(x);
    return code;
}

static enum status pearson_open(struct bench *b, const struct bench_case *c,
                                struct bench_work *work, void **state)
{
    struct pearson_state *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    s->v = c->variant;
    s->n_series = b->smoke ? 65 : b->cuda ? s->v->n : s->v->n < 8192 ? s->v->n / 4 : 2048;
    s->n_samples = b->smoke ? 257 : b->cuda ? s->v->n_samples : 8192;
    s->n_panels = (s->n_series + PANEL - 1) / PANEL;
    s->z_bytes = b->backend->ops->pearson->z_bytes(b->queue, s->v->precision, s->n_samples);
    s->moments.capacity = s->n_series;
    const struct philox_walk walk = {.seed = 11, .start = 100, .epsilon = 0.01};
    enum status code = pearson_memory(b, s);
    if (code == STATUS_OK) {
        const struct series_rows x = {s->x, s->v->type, s->n_series, s->n_samples, 0, 0};
        code = b->backend->ops->philox->walk_rows(b->queue, &walk, &x);
    }
    if (code == STATUS_OK) {
        code = add_spikes(b, s);
    }
    if (code == STATUS_OK) {
        code = punch(b, s);
    }
    if (code == STATUS_OK) {
        code = pearson_check(b, s);
    }
    if (code != STATUS_OK) {
        pearson_close(b, s);
        return code;
    }
    *state = s;
    if (s->v->survey || s->v->missing > 0) {
        work->items = (double)matrix_n_pairs(s->n_series) * 1e-6;
        work->item_name = "million pairs";
        return STATUS_OK;
    }
    const struct bench_ceilings *k = &b->ceilings;
    work->flops = (double)s->n_series * (double)(s->n_series - 1) * (double)s->n_samples;
    work->floor_of = s->v->precision == PEARSON_EXACT ? "FP64 product"
                     : b->cuda                        ? "TF32 product"
                                                      : "FP32 product";
    double rate = s->v->precision == PEARSON_EXACT ? k->f64_flop_s
                  : b->cuda                        ? k->tf32_flop_s
                                                   : k->f32_flop_s;
    double products = b->cuda && s->v->precision == PEARSON_F32 ? 3 : 1; /* the split takes three */
    work->floor_s = rate > 0 ? products * work->flops / rate : 0;
    work->mark_s = b->cuda && !b->smoke ? s->v->mark_s : 0;
    return STATUS_OK;
}

/* --- groups ----------------------------------------------------------------------------------- */

enum { BLOCK = 64, BLOCK_SAMPLES = 1024 };

struct blocks_state {
    struct pearson_blocks b;
    struct span x, moments;
};

static void blocks_close(struct bench *b, void *state)
{
    struct blocks_state *s = state;
    const struct backend_ops *ops = b->backend->ops;
    ops->release(b->queue, s->x);
    ops->release(b->queue, s->b.z);
    ops->release(b->queue, s->moments);
    ops->release(b->queue, s->b.r);
    free(s);
}

static enum status blocks_run(struct bench *b, void *state)
{
    const struct blocks_state *s = state;
    return b->backend->ops->pearson->gram_blocks(b->queue, &s->b);
}

/* Series in standard form, block by block. */
static enum status blocks_fill(struct bench *b, struct blocks_state *s)
{
    const struct backend_ops *ops = b->backend->ops;
    const size_t z_bytes = ops->pearson->z_bytes(b->queue, PEARSON_EXACT, s->b.n_samples),
                 n = s->b.n * s->b.size, row = s->b.n_samples * sizeof(double);
    const struct philox_walk walk = {.seed = 11, .start = 100, .epsilon = 0.01};
    STATUS_TRY(ops->alloc(b->queue, n * row, &s->x));
    STATUS_TRY(ops->alloc(b->queue, n * z_bytes, &s->b.z));
    STATUS_TRY(ops->alloc(b->queue, moments_bytes(n), &s->moments));
    STATUS_TRY(ops->alloc(b->queue, n * s->b.size * sizeof(double), &s->b.r));
    const struct series_rows all = {s->x, DTYPE_F64, n, s->b.n_samples, 0, 0};
    STATUS_TRY(ops->philox->walk_rows(b->queue, &walk, &all));
    const struct moments moments = {s->moments, n, 0};
    STATUS_TRY(ops->means->rows(b->queue, &all, moments));
    STATUS_TRY(ops->pearson->standardize(b->queue, PEARSON_EXACT, &all, moments, s->b.z));
    return blocks_run(b, s);
}

/* The first series of CHECKED blocks with their last. */
static enum status blocks_check(struct bench *b, const struct blocks_state *s)
{
    enum { LAST = BLOCK - 1 };
    const struct backend_ops *ops = b->backend->ops;
    const size_t row = s->b.n_samples * sizeof(double);
    for (size_t c = 0; c < CHECKED; c++) {
        const size_t k = c * (s->b.n - 1) / (CHECKED - 1);
        double x[BLOCK_SAMPLES], y[BLOCK_SAMPLES], r;
        STATUS_TRY(ops->download(b->queue, x, span_from(s->x, k * BLOCK * row), row));
        STATUS_TRY(ops->download(b->queue, y, span_from(s->x, (k * BLOCK + LAST) * row), row));
        STATUS_TRY(ops->download(
            b->queue, &r, span_from(s->b.r, (k * BLOCK + LAST) * BLOCK * sizeof r), sizeof r));
        const double want = bench_r(x, y, s->b.n_samples);
        if (!(fabs(r - want) <= pearson_bound(PEARSON_EXACT, false))) {
            return status_fail(STATUS_INTERNAL, "r of block %zu is %.17g, not %.17g", k, r, want);
        }
    }
    return STATUS_OK;
}

static enum status blocks_open(struct bench *b, const struct bench_case *c, struct bench_work *work,
                               void **state)
{
    struct blocks_state *s = calloc(1, sizeof *s);
    (void)c;
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory");
    }
    s->b = (struct pearson_blocks){.n = b->smoke  ? CHECKED
                                        : b->cuda ? 4096
                                                  : 512,
                                   .size = BLOCK,
                                   .n_samples = BLOCK_SAMPLES};
    enum status code = blocks_fill(b, s);
    code = code == STATUS_OK ? blocks_check(b, s) : code;
    if (code != STATUS_OK) {
        blocks_close(b, s);
        return code;
    }
    const double rate = b->ceilings.copy_bytes_s, flop_rate = b->ceilings.f64_flop_s;
    work->flops = (double)s->b.n * BLOCK * (BLOCK - 1) * BLOCK_SAMPLES;
    work->floor_of =
        "standard form once"; /* the products of half of each block take half of that */
    work->floor_s = rate > 0 ? (double)s->b.n * BLOCK * BLOCK_SAMPLES * sizeof(double) / rate : 0;
    work->mark_s = b->cuda && !b->smoke ? 2 * work->flops / flop_rate : 0;
    *state = s;
    return STATUS_OK;
}

#define VARIANT(of, of_type, series, samples, ...)                                                 \
    {                                                                                              \
        .precision = (of), .type = (of_type), .n = (series), .n_samples = (samples), __VA_ARGS__   \
    }
static const struct pearson_variant
    exact = VARIANT(PEARSON_EXACT, DTYPE_F64, 8192, 8192, .mark_s = 11.5e-3),
    exact_16k = VARIANT(PEARSON_EXACT, DTYPE_F64, 16384, 16384, .mark_s = 88e-3),
    exact_hostile = VARIANT(PEARSON_EXACT, DTYPE_F64, 8192, 16384, .spike = 1e6),
    f32 = VARIANT(PEARSON_F32, DTYPE_F32, 8192, 8192, .mark_s = 6.0e-3),
    ranks = VARIANT(PEARSON_EXACT, DTYPE_F64, 8192, 8192, .ranks = true, .mark_s = 15.3e-3),
    gaps = VARIANT(PEARSON_EXACT, DTYPE_F64, 1024, 8192, .missing = 0.1),
    ranks_gaps = VARIANT(PEARSON_EXACT, DTYPE_F64, 1024, 8192, .ranks = true, .missing = 0.1),
    survey = VARIANT(PEARSON_EXACT, DTYPE_F64, 8192, 257, .survey = true);

#define CASE_RUN(stem, text, where, how)                                                           \
    {                                                                                              \
        .name = "pearson_" #stem, .what = (text), .backends = (where), .by_device = true,          \
        .variant = &(stem), .open = pearson_open, .run = (how), .close = pearson_close             \
    }
#define PEARSON_CASE(stem, text, where) CASE_RUN(stem, text, where, pearson_run)

const struct bench_case bench_pearson_cases[] = {
    PEARSON_CASE(exact, "every r of 8192 (CPU: 2048) series of 8192 f64, exact",
                 BENCH_CPU | BENCH_CUDA),
    PEARSON_CASE(f32, "the same of f32, precision f32", BENCH_CPU | BENCH_CUDA),
    PEARSON_CASE(exact_16k, "every r of 16384 series of 16384 f64, exact", BENCH_CUDA),
    PEARSON_CASE(exact_hostile, "every r of 8192 series of 16384 f64 with a spike each, exact",
                 BENCH_CPU | BENCH_CUDA),
    PEARSON_CASE(ranks, "Spearman's coefficient of the same as pearson_exact",
                 BENCH_CPU | BENCH_CUDA),
    PEARSON_CASE(gaps, "every r of 1024 (CPU: 256) series of 8192 f64 that lack a tenth",
                 BENCH_CPU | BENCH_CUDA),
    PEARSON_CASE(ranks_gaps, "Spearman's coefficient of the same as pearson_gaps",
                 BENCH_CPU | BENCH_CUDA),
    CASE_RUN(survey, "survey and a rank of the r of 8192 (CPU: 2048) series",
             BENCH_CPU | BENCH_CUDA, survey_run),
    {.name = "pearson_blocks",
     .what = "every r inside 4096 (CPU: 512) groups of 64 series of 1024 f64, from standard form",
     .backends = BENCH_CPU | BENCH_CUDA,
     .by_device = true,
     .open = blocks_open,
     .run = blocks_run,
     .close = blocks_close},
    {0},
};
