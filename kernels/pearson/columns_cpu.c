/*
 * columns_cpu - co-moments of series in columns, a slab of samples at a time.
 *
 * A slab is transposed to rows, centred by its own means (two passes over the cache) and its
 * products are added to the running triangle. Chan's merge of two sets,
 *   C = C_a + C_b + d d' n_a n_b / (n_a + n_b),   d the difference of the means,
 * has the form of one more sample of value d sqrt(n_a n_b / (n_a + n_b)): it is appended to the
 * row, so that the merge costs one more column of the product and no sweep over the triangle.
 *
 * Error of r for N samples in slabs of S, u = 2^-53: of the products (product_cpu.h), with
 * P = min(S, 2048), (P + N / P) u at most; of the norms twice half of (64 + S / 1024 + N / S) u.
 * For N = 2^20 that is 9.5e-13 in slabs of 256, 3.5e-13 of 2^19.
 *
 * Series with gaps take part in the triangle with zeros, which nobody reads (column_gaps.h).
 */
#include "kernels/base/product_cpu.h"
#include "kernels/base/vector_cpu.h"
#include "kernels/matrix/matrix_cpu.h"
#include "kernels/means/means_rule.h"
#include "kernels/pearson/columns_rule.h"
#include "kernels/pearson/pearson_cpu.h"

#include <math.h>
#include <stdlib.h>

/* Series of a task, and samples that are transposed at once: as many lines as the first-level cache
 * has ways, when the table's rows lie a power of two apart. */
enum { GROUP = 32, TRANSPOSED = 8 };

/* A slab as it came: n_raw samples, n after diff. */
struct columns_slab {
    const void *x;
    enum dtype type;
    size_t n_raw, n;
};

struct columns {
    size_t n_series, slab_samples;
    enum pearson_diff diff;
    size_t n_total;      /* samples (or increments) so far */
    bool started;        /* last_raw is filled */
    size_t tile, stride; /* side of a tile; doubles from one row of w to the next */

    struct span w_span, triangle_span;
    double *w;        /* the slab, series by series: centred, 0 where missing; one more entry */
    double *triangle; /* co-moments: lower triangle in panels of `tile` rows */

    struct part_moments *all, *slab; /* of every series: so far, and of the slab in hand */
    struct columns_lag *lag, *slab_lag;
    double *last_raw;                      /* the last sample before diff */
    double *last, *first_slab, *last_slab; /* first and last sample after diff; NaN: missing */
};

/* Row j of the triangle. */
static double *triangle_row(const struct columns *c, size_t j)
{
    size_t p = j / c->tile;
    return c->triangle + c->tile * c->tile * (p * (p + 1) / 2) +
           (j - p * c->tile) * matrix_panel_width(p, c->tile, c->n_series);
}

static size_t tile_side(size_t n_series)
{
    return n_series > 1024 ? 256 : (n_series > 256 ? 128 : 64);
}

static size_t row_stride(size_t slab_samples)
{
    return cpu_pieces(slab_samples + 1, 8) * 8;
}

static size_t triangle_elements(size_t n_series)
{
    size_t tile = tile_side(n_series), p = (n_series - 1) / tile;
    return tile * tile * (p * (p + 1) / 2) + (n_series - p * tile) * n_series;
}

size_t cpu_columns_bytes(size_t n_series, size_t slab_samples)
{
    size_t small =
        2 * sizeof(struct part_moments) + 2 * sizeof(struct columns_lag) + 4 * sizeof(double);
    return sizeof(struct columns) + n_series * small +
           (triangle_elements(n_series) + n_series * row_stride(slab_samples)) * sizeof(double);
}

void cpu_columns_free(struct queue *q, void *state)
{
    struct columns *c = state;
    if (c == NULL) {
        return;
    }
    q->backend->ops->release(q, c->w_span);
    q->backend->ops->release(q, c->triangle_span);
    free(c->all);
    free(c->lag);
    free(c->last_raw);
    free(c);
}

static enum status make(struct queue *q, struct columns *c)
{
    const struct backend_ops *ops = q->backend->ops;
    const size_t n = c->n_series;
    c->all = calloc(2 * n, sizeof *c->all);
    c->lag = calloc(2 * n, sizeof *c->lag);
    c->last_raw = calloc(4 * n, sizeof *c->last_raw);
    if (!c->all || !c->lag || !c->last_raw) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the state of %zu columns", n);
    }
    STATUS_TRY(ops->alloc(q, n * c->stride * sizeof(double), &c->w_span));
    STATUS_TRY(ops->alloc(q, triangle_elements(n) * sizeof(double), &c->triangle_span));
    c->w = c->w_span.at;
    c->triangle = c->triangle_span.at;
    c->slab = c->all + n;
    c->slab_lag = c->lag + n;
    c->last = c->last_raw + n;
    c->first_slab = c->last + n;
    c->last_slab = c->first_slab + n;
    for (size_t s = 0; s < n; ++s) {
        c->all[s] = vector_no_moments;
        c->last[s] = (double)NAN;
    }
    return STATUS_OK;
}

enum status cpu_columns_new(struct queue *q, size_t n_series, size_t slab_samples,
                            enum pearson_diff diff, void **state)
{
    *state = NULL;
    if (n_series == 0 || slab_samples == 0) {
        return status_fail(STATUS_INTERNAL, "columns: no series or no samples");
    }
    STATUS_TRY(product_need(q));
    size_t stride = row_stride(slab_samples);
    if (n_series > product_limit || stride > product_limit) {
        return status_fail(STATUS_TOO_LARGE, "columns: more series or samples than BLAS can index");
    }
    struct columns *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the state of %zu columns", n_series);
    }
    *c = (struct columns){.n_series = n_series,
                          .slab_samples = slab_samples,
                          .diff = diff,
                          .tile = tile_side(n_series),
                          .stride = stride};
    enum status st = make(q, c);
    if (st != STATUS_OK) {
        cpu_columns_free(q, c);
        return st;
    }
    *state = c;
    return STATUS_OK;
}

/* --- a slab, series by series ---------------------------------------------------------------- */

struct slab_job {
    struct columns *c;
    struct columns_slab slab;
};

/* Columns s0 .. s1 - 1 of samples t0 .. t1 - 1, to rows of w that begin `shift` entries in. */
static void transpose(const struct slab_job *job, size_t s0, size_t s1, size_t t0, size_t t1,
                      size_t shift)
{
    const struct columns *c = job->c;
    for (size_t s = s0; s < s1; ++s) {
        double *to = c->w + s * c->stride + shift;
        if (job->slab.type == DTYPE_F32) {
            for (size_t t = t0; t < t1; ++t) {
                to[t] = (double)((const float *)job->slab.x)[t * c->n_series + s];
            }
        } else {
            for (size_t t = t0; t < t1; ++t) {
                to[t] = ((const double *)job->slab.x)[t * c->n_series + s];
            }
        }
    }
}

/* What follows from a row of increments or samples in w: its moments; the row centred; its lag. */
static void accumulate_row(const struct slab_job *job, size_t s)
{
    struct columns *c = job->c;
    double *w = c->w + s * c->stride, n_pairs = 0, sum = 0;
    struct part_moments m = vector_no_moments, block;
    for (size_t t = 0; t < job->slab.n; t += VECTOR_BLOCK) {
        vector_moments(w + t, cpu_min(VECTOR_BLOCK, job->slab.n - t), &block);
        part_moments_merge(&m, &block);
    }
    part_moments_recentre(&m);
    c->slab[s] = m;
    c->first_slab[s] = w[0];
    c->last_slab[s] = w[job->slab.n - 1];
    for (size_t t = 0; m.n < (double)job->slab.n && t + 1 < job->slab.n; ++t) {
        bool both = w[t] == w[t] && w[t + 1] == w[t + 1];
        n_pairs += both;
        sum += both ? part_moments_centred(&m, w[t]) + part_moments_centred(&m, w[t + 1]) : 0;
    }
    const struct pearson_mean mean = columns_mean(&c->slab[s]);
    vector_scale(w, job->slab.n, mean.at, mean.low, 1.0, w);
    if (m.n == (double)job->slab.n) {
        /* all d add up to nothing but rounding */
        n_pairs = m.n - 1;
        sum = -w[0] - w[job->slab.n - 1];
    }
    c->slab_lag[s] = (struct columns_lag){vector_dot(w, w + 1, job->slab.n - 1), sum, n_pairs};
}

static void slab_body(void *arg, size_t index)
{
    const struct slab_job *job = arg;
    struct columns *c = job->c;
    size_t s0 = index * GROUP, s1 = cpu_min(s0 + GROUP, c->n_series);
    size_t before = c->diff != PEARSON_DIFF_NONE && c->started; /* the sample before the slab */
    for (size_t t = 0; t < job->slab.n_raw; t += TRANSPOSED) {
        transpose(job, s0, s1, t, cpu_min(t + TRANSPOSED, job->slab.n_raw), before);
    }
    for (size_t s = s0; s < s1; ++s) {
        double *w = c->w + s * c->stride, last = w[before + job->slab.n_raw - 1];
        if (before) {
            w[0] = c->last_raw[s];
        }
        c->last_raw[s] = last;
        if (c->diff != PEARSON_DIFF_NONE) {
            cpu_increments(w, job->slab.n, c->diff, w);
        }
        if (job->slab.n > 0) {
            accumulate_row(job, s);
        }
    }
}

/* --- merging --------------------------------------------------------------------------------- */

/* Merges a series' slab into its totals and appends the merge's own sample to its row of w. */
static void merge_series(struct columns *c, size_t s, size_t n)
{
    struct columns_lag_parts parts = {.all = c->all[s],
                                      .before = c->all[s],
                                      .slab = c->slab[s],
                                      .lag = c->lag[s],
                                      .of_slab = c->slab_lag[s],
                                      .left = c->last[s],
                                      .right = c->first_slab[s]};
    c->w[s * c->stride + n] = columns_merge_sample(&parts.before, &parts.slab);
    part_moments_merge(&parts.all, &parts.slab);
    c->all[s] = parts.all;
    c->lag[s] = columns_lag_join(&parts);
    c->last[s] = c->last_slab[s];
}

/* --- the triangle ---------------------------------------------------------------------------- */

struct tile_job {
    struct columns *c;
    size_t n_k;
    bool add;
};

static void tile_body(void *arg, size_t index)
{
    const struct tile_job *job = arg;
    struct columns *c = job->c;
    size_t p = 0; /* tile (p, k) of the triangle's tiles, counted row by row */
    while ((p + 1) * (p + 2) / 2 <= index) {
        ++p;
    }
    size_t j = p * c->tile, i = (index - p * (p + 1) / 2) * c->tile;
    struct product_f64 product = {.a = c->w + j * c->stride,
                                  .b = c->w + i * c->stride,
                                  .lda = c->stride,
                                  .ldb = c->stride,
                                  .n_a = cpu_min(c->tile, c->n_series - j),
                                  .n_b = cpu_min(c->tile, c->n_series - i),
                                  .n_k = job->n_k,
                                  .c = triangle_row(c, j) + i,
                                  .ldc = matrix_panel_width(p, c->tile, c->n_series),
                                  .add = job->add,
                                  .lower = i == j};
    product_f64(&product);
}

enum status cpu_columns_add(struct queue *q, void *state, struct span slab, enum dtype type,
                            size_t n_samples)
{
    struct columns *c = state;
    STATUS_TRY(cpu_expect(slab, n_samples, c->n_series * dtype_bytes(type), "columns"));
    if (n_samples > c->slab_samples) {
        return status_fail(STATUS_INTERNAL, "columns: a slab of %zu samples, made for %zu",
                           n_samples, c->slab_samples);
    }
    if (n_samples == 0) {
        return STATUS_OK;
    }
    bool lose_one = c->diff != PEARSON_DIFF_NONE && !c->started;
    struct slab_job job = {c, {slab.at, type, n_samples, n_samples - lose_one}};
    const size_t n = job.slab.n;
    STATUS_TRY(cpu_run_long(q, cpu_pieces(c->n_series, GROUP), slab_body, &job));
    c->started = true;
    if (n == 0) {
        return STATUS_OK;
    }
    for (size_t s = 0; s < c->n_series; ++s) {
        merge_series(c, s, n);
    }
    struct tile_job tiles = {c, n + 1, c->n_total > 0};
    size_t n_tiles = cpu_pieces(c->n_series, c->tile);
    STATUS_TRY(cpu_run_long(q, n_tiles * (n_tiles + 1) / 2, tile_body, &tiles));
    c->n_total += n;
    return STATUS_OK;
}

/* --- the end --------------------------------------------------------------------------------- */

struct finish_job {
    const struct columns *c;
    const struct matrix *m;
    const double *scale; /* 1 / sqrt(M2); NaN for a degenerate series */
};

static void finish_body(void *arg, size_t index)
{
    const struct finish_job *job = arg;
    const struct columns *c = job->c;
    size_t end = cpu_min((index + 1) * GROUP, c->n_series);
    for (size_t j = index * GROUP; j < end; ++j) {
        const double *from = c->n_total > 0 ? triangle_row(c, j) : job->scale;
        size_t p = j / job->m->panel;
        double *to =
            (double *)job->m->panels[p].at + (j - p * job->m->panel) * cpu_matrix_width(job->m, j);
        for (size_t i = 0; i < j; ++i) {
            to[i] = pearson_clamp(from[i] * job->scale[i] * job->scale[j]);
        }
    }
}

static void store_moments(const struct columns *c, struct moments moments, double *scale)
{
    for (size_t s = 0; s < c->n_series; ++s) {
        const struct part_moments *m = &c->all[s];
        bool degenerate =
            moments_degenerate(moments_least_count(moments), m->n, m->m2, m->min, m->max);
        moments_store(moments, s, m);
        moments_array(moments, MOMENTS_LAG1)[s] =
            degenerate ? (double)NAN : c->lag[s].product / m->m2;
        scale[s] = degenerate ? (double)NAN : 1 / sqrt(m->m2);
    }
}

enum status cpu_columns_finish(struct queue *q, void *state, struct moments moments,
                               const struct matrix *matrix)
{
    struct columns *c = state;
    double *scale;
    STATUS_TRY(cpu_matrix_check(matrix));
    if (matrix->type != DTYPE_F64 || matrix->n_series != c->n_series) {
        return status_fail(STATUS_INTERNAL, "columns: the matrix has another type or size");
    }
    STATUS_TRY(cpu_scratch(c->n_series, sizeof *scale, (void **)&scale));
    store_moments(c, moments, scale);
    struct finish_job job = {.c = c, .m = matrix, .scale = scale};
    enum status st = cpu_run_long(q, cpu_pieces(c->n_series, GROUP), finish_body, &job);
    free(scale);
    return st;
}
