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
 * Series with gaps take part in the triangle with zeros, which nobody reads: cpu_column_gaps.
 */
#include "kernels/pearson/columns_cpu.h"

#include "kernels/base/product_cpu.h"
#include "kernels/matrix/matrix_cpu.h"
#include "kernels/pearson/pearson_rule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Series of a task, and samples that are transposed at once: as many lines as the first-level cache
 * has ways, when the table's rows lie a power of two apart. */
enum { GROUP = 32, TRANSPOSED = 8 };

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

size_t cpu_columns_bytes(size_t n_series, size_t slab_samples, bool gaps)
{
    size_t small = 2 * sizeof(struct lanes_moments) + 2 * sizeof(struct columns_lag) +
                   5 * sizeof(double) + 2 * sizeof(size_t);
    return sizeof(struct columns) + n_series * small +
           cpu_pieces(n_series, COLUMNS_SLOTS) * sizeof(struct span) +
           (triangle_elements(n_series) + n_series * row_stride(slab_samples)) * sizeof(double) +
           (gaps ? column_gaps_bytes(n_series) : 0);
}

static void release(struct queue *q, struct span s)
{
    if (s.at != NULL) {
        q->backend->ops->release(q, s);
    }
}

void cpu_columns_free(struct queue *q, void *state)
{
    struct columns *c = state;
    if (c == NULL) {
        return;
    }
    column_gaps_free(q, c);
    release(q, c->w_span);
    release(q, c->triangle_span);
    free(c->all);
    free(c->lag);
    free(c->last_raw);
    free(c->order);
    free(c->rows);
    free(c);
}

enum status cpu_columns_new(struct queue *q, size_t n_series, size_t slab_samples,
                            enum pearson_diff diff, void **state)
{
    *state = NULL;
    if (n_series == 0 || slab_samples == 0) {
        return status_fail(STATUS_INTERNAL, "columns: no series or no samples");
    }
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
    c->all = calloc(2 * n_series, sizeof *c->all);
    c->lag = calloc(2 * n_series, sizeof *c->lag);
    c->last_raw = calloc(5 * n_series, sizeof *c->last_raw);
    c->order = calloc(2 * n_series, sizeof *c->order);
    c->rows = calloc(cpu_pieces(n_series, COLUMNS_SLOTS), sizeof *c->rows);
    const struct backend_ops *ops = q->backend->ops;
    enum status st = ops->alloc(q, n_series * stride * sizeof(double), &c->w_span);
    if (st == STATUS_OK) {
        st = ops->alloc(q, triangle_elements(n_series) * sizeof(double), &c->triangle_span);
    }
    if (st == STATUS_OK && (!c->all || !c->lag || !c->last_raw || !c->order || !c->rows)) {
        st = status_fail(STATUS_NO_MEMORY, "no memory for the state of %zu columns", n_series);
    }
    if (st != STATUS_OK) {
        cpu_columns_free(q, c);
        return st;
    }
    c->w = c->w_span.at;
    c->triangle = c->triangle_span.at;
    c->slab = c->all + n_series;
    c->slab_lag = c->lag + n_series;
    c->before_raw = c->last_raw + n_series;
    c->last = c->before_raw + n_series;
    c->first_slab = c->last + n_series;
    c->last_slab = c->first_slab + n_series;
    c->place = c->order + n_series;
    for (size_t s = 0; s < n_series; ++s) {
        c->order[s] = c->place[s] = s;
        c->all[s] = lanes_none;
        c->last[s] = (double)NAN;
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
static void take_row(const struct slab_job *job, size_t s)
{
    struct columns *c = job->c;
    double *w = c->w + s * c->stride, n_pairs = 0, sum = 0;
    struct lanes_moments m = lanes_none, block;
    for (size_t t = 0; t < job->slab.n; t += LANES_BLOCK) {
        lanes_moments(w + t, cpu_min(LANES_BLOCK, job->slab.n - t), &block);
        lanes_merge(&m, &block);
    }
    lanes_recentre(&m);
    c->slab[s] = m;
    c->first_slab[s] = w[0];
    c->last_slab[s] = w[job->slab.n - 1];
    for (size_t t = 0; m.count < (double)job->slab.n && t + 1 < job->slab.n; ++t) {
        bool both = w[t] == w[t] && w[t + 1] == w[t + 1];
        n_pairs += both;
        sum += both ? lanes_centred(&m, w[t]) + lanes_centred(&m, w[t + 1]) : 0;
    }
    const struct pearson_mean mean = columns_slab_mean(c, s);
    lanes_scale(w, job->slab.n, mean.at, mean.rest, 1.0, w);
    if (m.count == (double)job->slab.n) {
        /* all d add up to nothing but rounding */
        n_pairs = m.count - 1;
        sum = -w[0] - w[job->slab.n - 1];
    }
    c->slab_lag[s] = (struct columns_lag){lanes_dot(w, w + 1, job->slab.n - 1), sum, n_pairs};
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
        c->before_raw[s] = c->last_raw[s];
        c->last_raw[s] = last;
        if (c->diff != PEARSON_DIFF_NONE) {
            cpu_increments(w, job->slab.n, c->diff, w);
        }
        if (job->slab.n > 0) {
            take_row(job, s);
        }
    }
}

/* --- merging --------------------------------------------------------------------------------- */

/* The products about a mean that is `delta` lower. */
static struct columns_lag shifted(struct columns_lag g, double delta)
{
    g.product += delta * g.sum + g.n * delta * delta;
    g.sum += 2 * g.n * delta;
    return g;
}

/* Merges a series' slab into its totals and appends the merge's own sample to its row of w. */
static void merge_series(struct columns *c, size_t s, size_t n)
{
    struct lanes_moments before = c->all[s], *all = &c->all[s], *slab = &c->slab[s];
    double extra = 0;
    lanes_merge(all, slab);
    if (before.count > 0 && slab->count > 0) {
        extra = lanes_delta(&before, slab) * sqrt(before.count * slab->count / all->count);
    }
    c->w[s * c->stride + n] = extra;
    struct columns_lag a = {0}, b = {0};
    if (before.count > 0) {
        a = shifted(c->lag[s], lanes_delta(all, &before));
    }
    if (slab->count > 0) {
        b = shifted(c->slab_lag[s], lanes_delta(all, slab));
    }
    c->lag[s] = (struct columns_lag){a.product + b.product, a.sum + b.sum, a.n + b.n};
    double left = c->last[s], right = c->first_slab[s];
    if (left == left && right == right) {
        left = lanes_centred(all, left);
        right = lanes_centred(all, right);
        c->lag[s].product += left * right;
        c->lag[s].sum += left + right;
        c->lag[s].n += 1;
    }
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
                                  .c = columns_row(c, j) + i,
                                  .ldc = matrix_panel_width(p, c->tile, c->n_series),
                                  .add = job->add,
                                  .lower = i == j};
    product_f64(&product);
}

enum status cpu_columns_add(struct queue *q, void *state, struct span slab, enum dtype type,
                            size_t n_samples)
{
    struct columns *c = state;
    enum status st = cpu_expect(slab, n_samples, c->n_series * dtype_bytes(type), "columns");
    if (st == STATUS_OK && n_samples > c->slab_samples) {
        st = status_fail(STATUS_INTERNAL, "columns: a slab of %zu samples, made for %zu", n_samples,
                         c->slab_samples);
    }
    if (st != STATUS_OK || n_samples == 0) {
        return st;
    }
    bool lose_one = c->diff != PEARSON_DIFF_NONE && !c->started;
    struct slab_job job = {c, {slab.at, type, n_samples, n_samples - lose_one}};
    st = cpu_run_long(q, cpu_pieces(c->n_series, GROUP), slab_body, &job);
    c->started = true;
    if (st != STATUS_OK || job.slab.n == 0) {
        return st;
    }
    st = column_gaps_admit(q, c, job.slab.n);
    if (st != STATUS_OK) {
        return st;
    }
    for (size_t s = 0; s < c->n_series; ++s) {
        merge_series(c, s, job.slab.n);
    }
    struct tile_job tiles = {c, job.slab.n + 1, c->n_total > 0};
    size_t n_tiles = cpu_pieces(c->n_series, c->tile);
    st = cpu_run_long(q, n_tiles * (n_tiles + 1) / 2, tile_body, &tiles);
    st = st == STATUS_OK ? column_gaps_add(q, c, &job.slab) : st;
    c->n_total += job.slab.n;
    return st;
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
        const double *from = c->n_total > 0 ? columns_row(c, j) : job->scale;
        size_t p = j / job->m->panel;
        double *to =
            (double *)job->m->panels[p].at + (j - p * job->m->panel) * cpu_matrix_width(job->m, j);
        for (size_t i = 0; i < j; ++i) {
            to[i] = pearson_clamp(from[i] * job->scale[i] * job->scale[j]);
        }
        bool all = columns_gapped(c, j);
        for (size_t i = 0; c->n_gapped > 0 && i < j; ++i) {
            if (all || columns_gapped(c, i)) {
                to[i] = column_gaps_r(c, i, j) + 0 * job->scale[i] + 0 * job->scale[j];
            }
        }
    }
}

static void store_moments(const struct columns *c, struct moments moments, double *scale)
{
    for (size_t s = 0; s < c->n_series; ++s) {
        const struct lanes_moments *m = &c->all[s];
        bool lost = moments_degenerate(m->count, m->m2, m->min, m->max);
        cpu_field(moments, MOMENTS_COUNT)[s] = m->count;
        cpu_field(moments, MOMENTS_MEAN)[s] = lanes_mean(m);
        cpu_field(moments, MOMENTS_M2)[s] = m->m2;
        cpu_field(moments, MOMENTS_MIN)[s] = m->min;
        cpu_field(moments, MOMENTS_MAX)[s] = m->max;
        cpu_field(moments, MOMENTS_LAG1)[s] = lost ? (double)NAN : c->lag[s].product / m->m2;
        scale[s] = lost ? (double)NAN : 1 / sqrt(m->m2);
    }
}

enum status cpu_columns_finish(struct queue *q, void *state, struct moments moments,
                               const struct matrix *matrix)
{
    struct columns *c = state;
    enum status st = cpu_matrix_check(matrix);
    if (st == STATUS_OK && (matrix->type != DTYPE_F64 || matrix->n_series != c->n_series)) {
        st = status_fail(STATUS_INTERNAL, "columns: the matrix has another type or size");
    }
    struct finish_job job = {.c = c, .m = matrix};
    if (st == STATUS_OK) {
        st = cpu_scratch(c->n_series, sizeof *job.scale, (void **)&job.scale);
    }
    if (st != STATUS_OK) {
        return st;
    }
    store_moments(c, moments, (double *)job.scale);
    st = cpu_run_long(q, cpu_pieces(c->n_series, GROUP), finish_body, &job);
    free((double *)job.scale);
    return st;
}
