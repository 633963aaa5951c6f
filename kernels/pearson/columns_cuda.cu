/*
 * columns_cuda - co-moments of series in columns, a slab of samples at a time.
 *
 * A slab is read twice: for the moments of each of its columns, and to write it centred by its own
 * means. Its products are added to the triangle of co-moments. Chan's merge of two sets,
 *
 *   C = C_a + C_b + d d' n_a n_b / (n_a + n_b),   d the difference of the means,
 *
 * has the form of one more sample of value d sqrt(n_a n_b / (n_a + n_b)): it is appended to the
 * centred slab, so that the merge costs one more term of the product.
 *
 * Series with gaps take part in the triangle with zeros, which nobody reads (column_gaps.h).
 *
 * Products by cuBLAS in panels of COLUMNS_PANEL rows on the product streams, while the next slab is
 * being centred (column_slab_cuda.cu); in the end, a thread a pair.
 * Flops: 2 a sample and pair. Bytes: 16 a pair and slab.
 * Error of r for N samples in slabs of S, u = 2^-53: of the products (products_cuda.cu), with
 * P = min(S, 4096), (P + N / P + 64) u at most; of the norms (column_slab_cuda.cu) twice half of
 * (S / 2048 + N / S + 60) u. For N = 2^20 that is 9.5e-13 in slabs of 256, 5.6e-13 of 2^19.
 */
#include "kernels/pearson/columns_cuda.h"
#include "kernels/pearson/pearson_rule.h"

#include <math.h>
#include <new>

namespace
{

const int THREADS = 128;

/* Element (j, i) of the triangle. */
__device__ __forceinline__ size_t columns_element(size_t n_series, size_t j, size_t i)
{
    const size_t p = j / COLUMNS_PANEL, end = (p + 1) * COLUMNS_PANEL;
    const size_t width = end < n_series ? end : n_series;
    return (size_t)COLUMNS_PANEL * COLUMNS_PANEL * (p * (p + 1) / 2) +
           (j - p * COLUMNS_PANEL) * width + i;
}

/* --- the end --------------------------------------------------------------------------------- */

__global__ void finish_moments(columns_series at, size_t n_series, struct moments moments,
                               double *scale)
{
    const size_t s = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (s >= n_series) {
        return;
    }
    const part_moments m = at.all[s];
    const bool degenerate =
        moments_degenerate(moments_least_count(moments), m.n, m.m2, m.min, m.max) != 0;
    moments_store(moments, s, &m);
    moments_array(moments, MOMENTS_LAG1)[s] = degenerate ? (double)NAN : at.lag[s].product / m.m2;
    scale[s] = degenerate ? (double)NAN : 1 / sqrt(m.m2);
}

struct finish_args {
    columns_series at;
    size_t n_series, n_total, first, rows, width; /* a panel of the result */
    const double *triangle, *scale;
    double *r;
};

/* Grid: (columns, rows of the panel). */
__global__ void finish_panel(finish_args args)
{
    const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x, j = args.first + blockIdx.y;
    if (i >= j) {
        return;
    }
    const double c = args.n_total > 0 ? args.triangle[columns_element(args.n_series, j, i)] : 0;
    args.r[blockIdx.y * args.width + i] = pearson_clamp(c * args.scale[i] * args.scale[j]);
}

/* --- the state ------------------------------------------------------------------------------- */

size_t series_bytes(size_t n_series, size_t n_chunks)
{
    return n_series * (2 * sizeof(part_moments) + sizeof(columns_lag) + 4 * sizeof(double) +
                       n_chunks * (sizeof(part_moments) + sizeof(columns_lag)));
}

struct columns_series lay_out(void *at, size_t n_series, size_t n_chunks)
{
    struct columns_series s;
    s.all = (part_moments *)at;
    s.slab = s.all + n_series;
    s.chunk_moments = s.slab + n_series;
    s.lag = (columns_lag *)(s.chunk_moments + n_chunks * n_series);
    s.chunk_lag = s.lag + n_series;
    s.last_raw = (double *)(s.chunk_lag + n_chunks * n_series);
    s.last = s.last_raw + n_series;
    s.slab_first = s.last + n_series;
    s.slab_last = s.slab_first + n_series;
    return s;
}

unsigned blocks_of(const struct columns *c)
{
    return (unsigned)cuda_pieces(c->n_series, THREADS);
}

/* Adds the products of y, n + 1 rows, to the triangle. */
enum status add_products(struct cuda_queue *q, struct columns *c, const double *y, size_t n)
{
    for (size_t p = 0; p * COLUMNS_PANEL < c->n_series; p++) {
        const size_t width = matrix_panel_width(p, COLUMNS_PANEL, c->n_series);
        const size_t rows = width - p * COLUMNS_PANEL;
        double *to = (double *)c->triangle.at + columns_panel_at(c->n_series, p);
        cuda_work work(q, cuda_gemm_stream(q),
                       {queue_reads(y, (n + 1) * c->n_series * sizeof(double)),
                        queue_writes(to, rows * width * sizeof(double))});
        STATUS_TRY(work.status);
        const struct cuda_product product = {
            true,  c->n_total > 0, y + p * COLUMNS_PANEL, y,  rows, width,
            n + 1, c->n_series,    c->n_series,           to, width};
        STATUS_TRY(cuda_multiply(q, work.id, &product));
        STATUS_TRY(work.done());
    }
    return STATUS_OK;
}

enum status make(struct cuda_queue *q, struct columns *c)
{
    const size_t panels = cuda_pieces(c->n_series, COLUMNS_PANEL), y_samples = c->slab_samples + 1;
    STATUS_TRY(cuda_alloc(&q->base, series_bytes(c->n_series, c->n_chunks), &c->small));
    STATUS_TRY(
        cuda_alloc(&q->base, columns_panel_at(c->n_series, panels) * sizeof(double), &c->triangle));
    for (struct span &y : c->y) {
        STATUS_TRY(cuda_alloc(&q->base, y_samples * c->n_series * sizeof(double), &y));
    }
    c->at = lay_out(c->small.at, c->n_series, c->n_chunks);
    return cuda_column_slab_start(q, c);
}

enum status finish_panels(struct cuda_queue *q, struct columns *c, const double *scale,
                          const struct matrix *m)
{
    for (size_t p = 0; p * m->panel < c->n_series; p++) {
        const size_t width = matrix_panel_width(p, m->panel, c->n_series);
        const size_t first = p * m->panel, rows = width - first;
        STATUS_TRY(cuda_expect(m->panels[p], rows, width * sizeof(double), "columns"));
        const finish_args args = {c->at,
                                  c->n_series,
                                  c->n_total,
                                  first,
                                  rows,
                                  width,
                                  (const double *)c->triangle.at,
                                  scale,
                                  (double *)m->panels[p].at};
        cuda_work work(q, STREAM_COMPUTE,
                       {columns_access(c), queue_reads(c->triangle.at, c->triangle.bytes),
                        queue_reads(scale, c->n_series * sizeof *scale),
                        queue_writes(args.r, rows * width * sizeof(double))});
        STATUS_TRY(work.status);
        for (size_t row = 0; row < rows; row += 32768) {
            finish_args part = args;
            part.first += row;
            part.r += row * width;
            finish_panel<<<dim3((unsigned)cuda_pieces(width, THREADS),
                                (unsigned)cuda_min(rows - row, 32768)),
                           THREADS, 0, work.stream>>>(part);
            STATUS_TRY(cuda_launched("coefficients of columns"));
        }
        STATUS_TRY(work.done());
    }
    return STATUS_OK;
}

} // namespace

size_t columns_panel_at(size_t n_series, size_t p)
{
    const size_t full = cuda_min(p, n_series / COLUMNS_PANEL);
    const size_t before = (size_t)COLUMNS_PANEL * COLUMNS_PANEL * (full * (full + 1) / 2);
    return before + (p > full ? n_series % COLUMNS_PANEL * n_series : 0);
}

size_t cuda_columns_bytes(size_t n_series, size_t slab_samples)
{
    const size_t n_chunks = cuda_pieces(slab_samples, COLUMNS_CHUNK);
    const size_t panels = cuda_pieces(n_series, COLUMNS_PANEL);
    return series_bytes(n_series, n_chunks) +
           (columns_panel_at(n_series, panels) + 2 * (slab_samples + 1) * n_series) *
               sizeof(double);
}

enum status cuda_columns_new(struct queue *queue, size_t n_series, size_t slab_samples,
                             enum pearson_diff diff, void **state)
{
    *state = nullptr;
    if (n_series == 0 || slab_samples == 0) {
        return status_fail(STATUS_INTERNAL, "columns: no series or no samples");
    }
    if (n_series > INT32_MAX || cuda_pieces(slab_samples, COLUMNS_CHUNK) > 65535) {
        return status_fail(STATUS_TOO_LARGE, "columns: %zu series in slabs of %zu samples",
                           n_series, slab_samples);
    }
    struct columns *c = new (std::nothrow) columns();
    if (c == nullptr) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the state of columns");
    }
    c->n_series = n_series;
    c->slab_samples = slab_samples;
    c->n_chunks = cuda_pieces(slab_samples, COLUMNS_CHUNK);
    c->diff = diff;
    const enum status status = make(cuda_queue_of(queue), c);
    if (status != STATUS_OK) {
        cuda_columns_free(queue, c);
        return status;
    }
    *state = c;
    return STATUS_OK;
}

void cuda_columns_free(struct queue *queue, void *state)
{
    struct columns *c = (struct columns *)state;
    if (c == nullptr) {
        return;
    }
    for (const struct span &s : {c->small, c->y[0], c->y[1], c->triangle}) {
        cuda_release(queue, s);
    }
    delete c;
}

enum status cuda_columns_add(struct queue *queue, void *state, struct span slab, enum dtype type,
                             size_t n_samples)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    struct columns *c = (struct columns *)state;
    STATUS_TRY(cuda_expect(slab, n_samples, c->n_series * dtype_bytes(type), "columns"));
    if (n_samples > c->slab_samples) {
        return status_fail(STATUS_INTERNAL, "columns: a slab of %zu samples, made for %zu",
                           n_samples, c->slab_samples);
    }
    if (n_samples == 0) {
        return STATUS_OK;
    }
    slab.bytes = n_samples * c->n_series * dtype_bytes(type);
    size_t n;
    STATUS_TRY(cuda_column_slab_take(q, c, slab, type, n_samples, &n));
    if (n == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(add_products(q, c, (const double *)c->y[c->turn % 2].at, n));
    c->n_total += n;
    c->turn++;
    return STATUS_OK;
}

enum status cuda_columns_finish(struct queue *queue, void *state, struct moments moments,
                                const struct matrix *matrix)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    struct columns *c = (struct columns *)state;
    if (matrix->type != DTYPE_F64 || matrix->n_series != c->n_series || matrix->panel == 0 ||
        moments.capacity < c->n_series) {
        return status_fail(STATUS_INTERNAL, "columns: the matrix has another type or size");
    }
    cuda_span scale(queue);
    STATUS_TRY(scale.alloc(c->n_series * sizeof(double)));
    {
        cuda_work work(q, STREAM_COMPUTE,
                       {columns_access(c), queue_moments(moments, 0, c->n_series, true),
                        queue_writes(scale.span.at, scale.span.bytes)});
        STATUS_TRY(work.status);
        finish_moments<<<blocks_of(c), THREADS, 0, work.stream>>>(c->at, c->n_series, moments,
                                                                  scale.as<double>());
        STATUS_TRY(cuda_launched("moments of columns"));
        STATUS_TRY(work.done());
    }
    return finish_panels(q, c, scale.as<double>(), matrix);
}
