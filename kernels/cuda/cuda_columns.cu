/*
 * cuda_columns - co-moments of series in columns, a slab of samples at a time.
 *
 * A slab is read twice: for the moments of each of its columns, and to write it centred by its own
 * means. Its products are added to the triangle of co-moments. Chan's merge of two sets, C = C_a +
 * C_b + d d' n_a n_b / (n_a + n_b),   d the difference of the means, has the form of one more
 * sample of value d sqrt(n_a n_b / (n_a + n_b)): it is appended to the centred slab, so that the
 * merge costs one more term of the product.
 *
 * Mapping: a thread takes COLUMNS_CHUNK samples of a column, neighbours in a warp neighbouring
 * columns; the chunks of a column are merged in their order by a thread. Products by cuBLAS in
 * panels of COLUMNS_PANEL rows on the product lanes, while the next slab is being centred. Bytes:
 * the slab twice, 8 a sample out. Flops: 2 a sample and pair. Error: (S + N / S) 2^-53 of sqrt(M2
 * M2') at the most for N samples in slabs of S.
 */
#include "kernels/cuda/cuda_columns.h"
#include "kernels/cuda/cuda_reduce.h"
#include "kernels/pearson_rule.h"

#include <math.h>
#include <new>
#include <stdlib.h>

namespace
{

const int THREADS = 128;
const size_t RUN = 8; /* samples whose moments are merged at a time */

/* A slab as the kernels see it: sample t after diff of series s. */
struct slab_view {
    const void *x;
    size_t n_series, n; /* n: samples after diff */
    size_t skip;        /* samples before the first one that diff needs none of */
    enum pearson_diff diff;
    const double *last_raw;
};

template <typename T>
__device__ __forceinline__ double sample_of(const slab_view &v, size_t t, size_t s)
{
    const T *x = (const T *)v.x;
    const size_t raw = t + v.skip;
    const double here = (double)x[raw * v.n_series + s];
    if (v.diff == PEARSON_DIFF_NONE) {
        return here;
    }
    const double before = raw > 0 ? (double)x[(raw - 1) * v.n_series + s] : v.last_raw[s];
    return pearson_increment(before, here, v.diff);
}

/* A thread takes a chunk of a column; threads are counted along the columns, then the chunks. */
template <typename T> __global__ void scan_chunks(slab_view v, columns_series at)
{
    const size_t index = blockIdx.x * (size_t)THREADS + threadIdx.x;
    const size_t chunk = index / v.n_series, s = index % v.n_series, from = chunk * COLUMNS_CHUNK;
    if (from >= v.n) {
        return;
    }
    const size_t to = from + COLUMNS_CHUNK < v.n ? from + COLUMNS_CHUNK : v.n;
    part_moments m = {0, 0, 0, 0, INFINITY, -INFINITY};
    /* few samples about each base: M2 is right to so many roundings where the base is an outlier */
    for (size_t t0 = from; t0 < to; t0 += RUN) {
        double base = NAN, n = 0, d = 0, dd = 0, min = INFINITY, max = -INFINITY;
#pragma unroll
        for (size_t k = 0; k < RUN; k++) {
            const double x = t0 + k < to ? sample_of<T>(v, t0 + k, s) : (double)NAN;
            if (x == x) {
                base = base == base ? base : x;
                const double y = x - base;
                d += y;
                dd = fma(y, y, dd);
                n += 1;
                min = lesser(x, min);
                max = greater(x, max);
            }
        }
        const double mean = n > 0 ? d / n : 0;
        const part_moments run = {n, base, mean, n > 0 ? fmax(dd - d * mean, 0.0) : 0, min, max};
        merge_moments(&m, run);
    }
    at.chunk_moments[chunk * v.n_series + s] = m;
}

__device__ __forceinline__ part_moments from_lane_below(const part_moments &m, int step)
{
    part_moments other;
    other.n = __shfl_down_sync(0xffffffffu, m.n, step);
    other.base = __shfl_down_sync(0xffffffffu, m.base, step);
    other.mean = __shfl_down_sync(0xffffffffu, m.mean, step);
    other.m2 = __shfl_down_sync(0xffffffffu, m.m2, step);
    other.min = __shfl_down_sync(0xffffffffu, m.min, step);
    other.max = __shfl_down_sync(0xffffffffu, m.max, step);
    return other;
}

/* A warp a series: the slab's moments, and the merge's own sample into row n of y. */
__global__ void merge_chunks(columns_series at, size_t n_series, size_t n_chunks, size_t n,
                             double *y, double *host_count)
{
    const size_t s = blockIdx.x * (size_t)(THREADS / 32) + threadIdx.x / 32,
                 lane = threadIdx.x % 32;
    if (s >= n_series) {
        return;
    }
    part_moments m = {0, 0, 0, 0, INFINITY, -INFINITY};
    for (size_t c = lane; c < n_chunks; c += 32) {
        merge_moments(&m, at.chunk_moments[c * n_series + s]);
    }
    for (int step = 16; step > 0; step >>= 1) {
        merge_moments(&m, from_lane_below(m, step));
    }
    if (lane != 0) {
        return;
    }
    const part_moments all = at.all[s];
    double extra = 0;
    if (all.n > 0 && m.n > 0) {
        extra = moments_delta(all, m) * sqrt(all.n * m.n / (all.n + m.n));
    }
    at.slab[s] = m;
    y[n * n_series + s] = extra;
    host_count[s] = m.n;
}

/* Writes the slab centred, -0.0 where missing, and the products of neighbours within a chunk and
 * with the first sample of the next. */
template <typename T> __global__ void centre_chunks(slab_view v, columns_series at, double *y)
{
    const size_t index = blockIdx.x * (size_t)THREADS + threadIdx.x;
    const size_t chunk = index / v.n_series, s = index % v.n_series, from = chunk * COLUMNS_CHUNK;
    if (from >= v.n) {
        return;
    }
    const size_t to = from + COLUMNS_CHUNK < v.n ? from + COLUMNS_CHUNK : v.n;
    const part_moments m = at.slab[s];
    columns_lag lag = {0, 0, 0};
    double before = NAN;
#pragma unroll 4
    for (size_t t = from; t < to + 1 && t < v.n; t++) {
        const double x = sample_of<T>(v, t, s);
        const double d = (x - m.base) - m.mean;
        if (t < to) {
            y[t * v.n_series + s] = x == x ? d + 0.0 : -0.0;
        }
        if (d == d && before == before) {
            lag.product = fma(before, d, lag.product);
            lag.sum += before + d;
            lag.n += 1;
        }
        before = d;
    }
    at.chunk_lag[chunk * v.n_series + s] = lag;
}

/* The products about a mean that is `delta` lower. */
__device__ __forceinline__ columns_lag shifted(columns_lag g, double delta)
{
    g.product += delta * g.sum + g.n * delta * delta;
    g.sum += 2 * g.n * delta;
    return g;
}

/* Of the slab's chunks, by the warp. */
__device__ __forceinline__ columns_lag sum_lags(const columns_series &at, size_t n_series,
                                                size_t n_chunks, size_t s)
{
    columns_lag sum = {0, 0, 0};
    for (size_t c = threadIdx.x % 32; c < n_chunks; c += 32) {
        const columns_lag part = at.chunk_lag[c * n_series + s];
        sum.product += part.product;
        sum.sum += part.sum;
        sum.n += part.n;
    }
    sum.product = warp_sum(sum.product);
    sum.sum = warp_sum(sum.sum);
    sum.n = warp_sum(sum.n);
    return sum;
}

/* A warp a series: the slab joins the totals. */
template <typename T>
__global__ void merge_slab(slab_view v, columns_series at, size_t n_chunks, size_t n_raw)
{
    const size_t s = blockIdx.x * (size_t)(THREADS / 32) + threadIdx.x / 32;
    if (s >= v.n_series) {
        return;
    }
    columns_lag of_slab = sum_lags(at, v.n_series, n_chunks, s);
    if (threadIdx.x % 32 != 0) {
        return;
    }
    if (v.n > 0) {
        const part_moments before = at.all[s], slab = at.slab[s];
        part_moments all = before;
        merge_moments(&all, slab);
        columns_lag lag = {0, 0, 0};
        if (before.n > 0) {
            lag = shifted(at.lag[s], moments_delta(all, before));
        }
        if (slab.n > 0) {
            of_slab = shifted(of_slab, moments_delta(all, slab));
            lag.product += of_slab.product;
            lag.sum += of_slab.sum;
            lag.n += of_slab.n;
        }
        const double left = (at.last[s] - all.base) - all.mean;
        const double right = (sample_of<T>(v, 0, s) - all.base) - all.mean;
        if (left == left && right == right) {
            lag.product += left * right;
            lag.sum += left + right;
            lag.n += 1;
        }
        at.last[s] = sample_of<T>(v, v.n - 1, s);
        at.all[s] = all;
        at.lag[s] = lag;
    }
    at.last_raw[s] = (double)((const T *)v.x)[(n_raw - 1) * v.n_series + s];
}

__global__ void start_series(columns_series at, size_t n_series)
{
    const size_t s = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (s < n_series) {
        const part_moments none = {0, 0, 0, 0, INFINITY, -INFINITY};
        const columns_lag no_lag = {0, 0, 0};
        at.all[s] = at.slab[s] = none;
        at.lag[s] = no_lag;
        at.last_raw[s] = at.last[s] = NAN;
        at.slot[s] = COLUMNS_COMPLETE;
    }
}

/* --- the end --------------------------------------------------------------------------------- */

__global__ void finish_moments(columns_series at, size_t n_series, double *moments, size_t capacity,
                               double *scale)
{
    const size_t s = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (s >= n_series) {
        return;
    }
    const part_moments m = at.all[s];
    const bool lost = moments_degenerate(m.n, m.m2, m.min, m.max) != 0;
    store_moments(m, moments, capacity, s);
    moments[MOMENTS_LAG1 * capacity + s] = lost ? (double)NAN : at.lag[s].product / m.m2;
    scale[s] = lost ? (double)NAN : 1 / sqrt(m.m2);
}

struct finish_args {
    columns_series at;
    size_t n_series, n_total, first, rows, width; /* a panel of the result */
    const double *triangle, *scale, *pairs;
    double *r;
};

__device__ double gap_coefficient(const finish_args &args, size_t j, size_t i)
{
    const int slot_j = args.at.slot[j], slot_i = args.at.slot[i];
    const bool i_keeps =
        slot_j == COLUMNS_COMPLETE || (slot_i != COLUMNS_COMPLETE && slot_i < slot_j);
    const size_t g = i_keeps ? i : j, other = i_keeps ? j : i;
    const double *field =
        args.pairs + (size_t)(i_keeps ? slot_i : slot_j) * PAIR_FIELDS * args.n_series + other;
    const struct pearson_sums s = {field[PAIR_N * args.n_series],
                                   0,
                                   0,
                                   field[PAIR_XX * args.n_series],
                                   field[PAIR_YY * args.n_series],
                                   field[PAIR_XY * args.n_series]};
    if (!(s.xx > columns_rounding(args.at.all[g], s.n)) ||
        !(s.yy > columns_rounding(args.at.all[other], s.n))) {
        return NAN;
    }
    return pearson_of_centred(s);
}

/* Grid: (columns, rows of the panel). */
__global__ void finish_panel(finish_args args)
{
    const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x, j = args.first + blockIdx.y;
    if (i >= j) {
        return;
    }
    double r = args.scale[i] * args.scale[j];
    if (args.at.slot[i] != COLUMNS_COMPLETE || args.at.slot[j] != COLUMNS_COMPLETE) {
        r = r == r ? gap_coefficient(args, j, i) : r;
    } else {
        const double c = args.n_total > 0 ? args.triangle[columns_element(args.n_series, j, i)] : 0;
        r = pearson_clamp(c * args.scale[i] * args.scale[j]);
    }
    args.r[blockIdx.y * args.width + i] = r;
}

/* --- the state ------------------------------------------------------------------------------- */

size_t series_bytes(size_t n_series, size_t n_chunks)
{
    return n_series * (2 * sizeof(part_moments) + sizeof(columns_lag) + 3 * sizeof(double) +
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
    s.slot = (int *)(s.last + n_series);
    return s;
}

struct queue_access state_access(const struct columns *c)
{
    return queue_writes(c->small.at, c->small.bytes);
}

unsigned blocks_of(const struct columns *c)
{
    return (unsigned)cuda_pieces(c->n_series, THREADS);
}

/* A thread a chunk and series. */
unsigned chunks_of(const struct columns *c, size_t n)
{
    return (unsigned)cuda_pieces(cuda_pieces(n, COLUMNS_CHUNK) * c->n_series, THREADS);
}

/* A warp a series. */
unsigned warps_of(const struct columns *c)
{
    return (unsigned)cuda_pieces(c->n_series, THREADS / 32);
}

/* Scans the slab; waits for the counts of its columns. */
template <typename T>
enum status scan(struct cuda_queue *q, struct columns *c, const slab_view &v, struct span slab,
                 double *y)
{
    const size_t n_chunks = cuda_pieces(v.n, COLUMNS_CHUNK);
    cuda_work work(q, LANE_COMPUTE,
                   {queue_reads(slab.at, slab.bytes), state_access(c),
                    queue_writes(y, (v.n + 1) * c->n_series * sizeof(double))});
    STATUS_TRY(work.status);
    scan_chunks<T><<<chunks_of(c, v.n), THREADS, 0, work.stream>>>(v, c->at);
    STATUS_TRY(cuda_launched("moments of columns"));
    merge_chunks<<<warps_of(c), THREADS, 0, work.stream>>>(c->at, c->n_series, n_chunks, v.n, y,
                                                           c->host_count);
    STATUS_TRY(cuda_launched("moments of a slab"));
    STATUS_TRY(work.done());
    return cuda_upload_wait(&q->base, work.sequence);
}

template <typename T>
enum status centre(struct cuda_queue *q, struct columns *c, const slab_view &v, struct span slab,
                   double *y)
{
    cuda_work work(q, LANE_COMPUTE,
                   {queue_reads(slab.at, slab.bytes), state_access(c),
                    queue_writes(y, v.n * c->n_series * sizeof(double))});
    STATUS_TRY(work.status);
    centre_chunks<T><<<chunks_of(c, v.n), THREADS, 0, work.stream>>>(v, c->at, y);
    STATUS_TRY(cuda_launched("centring of a slab"));
    return work.done();
}

template <typename T>
enum status merge(struct cuda_queue *q, struct columns *c, const slab_view &v, struct span slab,
                  size_t n_raw)
{
    cuda_work work(q, LANE_COMPUTE, {queue_reads(slab.at, slab.bytes), state_access(c)});
    STATUS_TRY(work.status);
    merge_slab<T><<<warps_of(c), THREADS, 0, work.stream>>>(v, c->at,
                                                            cuda_pieces(v.n, COLUMNS_CHUNK), n_raw);
    STATUS_TRY(cuda_launched("merge of a slab"));
    return work.done();
}

/* Adds the products of y, n + 1 rows, to the triangle. */
enum status add_products(struct cuda_queue *q, struct columns *c, const double *y, size_t n)
{
    for (size_t p = 0; p * COLUMNS_PANEL < c->n_series; p++) {
        const size_t width = pearson_panel_width(p, COLUMNS_PANEL, c->n_series);
        const size_t rows = width - p * COLUMNS_PANEL;
        double *to = (double *)c->triangle.at + columns_panel_at(c->n_series, p);
        cuda_work work(q, cuda_queue_fan(q),
                       {queue_reads(y, (n + 1) * c->n_series * sizeof(double)),
                        queue_writes(to, rows * width * sizeof(double))});
        STATUS_TRY(work.status);
        const struct cuda_product product = {
            true,  c->n_total > 0, y + p * COLUMNS_PANEL, y,  rows, width,
            n + 1, c->n_series,    c->n_series,           to, width};
        STATUS_TRY(cuda_multiply(q, work.lane, &product));
        STATUS_TRY(work.done());
    }
    return STATUS_OK;
}

template <typename T>
enum status add_slab(struct cuda_queue *q, struct columns *c, struct span slab, size_t n_raw)
{
    const size_t skip = c->diff != PEARSON_DIFF_NONE && !c->started;
    const slab_view v = {slab.at, c->n_series, n_raw - skip, skip, c->diff, c->at.last_raw};
    c->started = true;
    if (v.n > 0) {
        double *y = (double *)c->y[c->turn++ % 2].at;
        STATUS_TRY(scan<T>(q, c, v, slab, y));
        STATUS_TRY(cuda_column_gaps_admit(q, c, v.n));
        STATUS_TRY(centre<T>(q, c, v, slab, y));
        STATUS_TRY(cuda_column_gaps_add(q, c, y, v.n));
        STATUS_TRY(add_products(q, c, y, v.n));
        c->n_total += v.n;
    }
    return merge<T>(q, c, v, slab, n_raw);
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
    CUDA_TRY(cudaHostAlloc((void **)&c->host_count, c->n_series * sizeof *c->host_count,
                           cudaHostAllocPortable),
             "page-locked memory");
    c->slot = (int *)malloc(c->n_series * sizeof *c->slot);
    c->gapped = (int *)malloc(c->n_series * sizeof *c->gapped);
    if (c->slot == nullptr || c->gapped == nullptr) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the state of %zu columns", c->n_series);
    }
    for (size_t s = 0; s < c->n_series; s++) {
        c->slot[s] = COLUMNS_COMPLETE;
    }
    c->at = lay_out(c->small.at, c->n_series, c->n_chunks);
    cuda_work work(q, LANE_COMPUTE, {state_access(c)});
    STATUS_TRY(work.status);
    start_series<<<blocks_of(c), THREADS, 0, work.stream>>>(c->at, c->n_series);
    STATUS_TRY(cuda_launched("start of columns"));
    return work.done();
}

enum status finish_panels(struct cuda_queue *q, struct columns *c, const double *scale,
                          const struct pearson_matrix *m)
{
    for (size_t p = 0; p * m->panel < c->n_series; p++) {
        const size_t width = pearson_panel_width(p, m->panel, c->n_series);
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
                                  (const double *)c->pairs.at,
                                  (double *)m->panels[p].at};
        cuda_work work(q, LANE_COMPUTE,
                       {state_access(c), queue_reads(c->triangle.at, c->triangle.bytes),
                        queue_reads(c->pairs.at, c->pairs.bytes),
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

size_t cuda_columns_bytes(size_t n_series, size_t slab_samples, bool gaps)
{
    const size_t n_chunks = cuda_pieces(slab_samples, COLUMNS_CHUNK);
    const size_t panels = cuda_pieces(n_series, COLUMNS_PANEL);
    const size_t plain =
        series_bytes(n_series, n_chunks) +
        (columns_panel_at(n_series, panels) + 2 * (slab_samples + 1) * n_series) * sizeof(double);
    return plain + (gaps ? cuda_column_gaps_bytes(n_series, slab_samples) : 0);
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
    /* the device may still be writing the counts */
    (void)!cuda_finish(queue);
    (void)cudaFreeHost(c->host_count);
    for (const struct span &s :
         {c->small, c->y[0], c->y[1], c->triangle, c->gapped_there, c->pairs}) {
        cuda_release(queue, s);
    }
    free(c->slot);
    free(c->gapped);
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
    const struct span used = {slab.at, n_samples * c->n_series * dtype_bytes(type)};
    return type == DTYPE_F32 ? add_slab<float>(q, c, used, n_samples)
                             : add_slab<double>(q, c, used, n_samples);
}

enum status cuda_columns_finish(struct queue *queue, void *state, struct moments moments,
                                const struct pearson_matrix *matrix)
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
        cuda_work work(q, LANE_COMPUTE,
                       {state_access(c), queue_moments(moments, 0, c->n_series, true),
                        queue_writes(scale.span.at, scale.span.bytes)});
        STATUS_TRY(work.status);
        finish_moments<<<blocks_of(c), THREADS, 0, work.stream>>>(
            c->at, c->n_series, (double *)moments.at.at, moments.capacity, scale.as<double>());
        STATUS_TRY(cuda_launched("moments of columns"));
        STATUS_TRY(work.done());
    }
    return finish_panels(q, c, scale.as<double>(), matrix);
}
