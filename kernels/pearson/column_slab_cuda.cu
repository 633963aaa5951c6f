/*
 * column_slab_cuda - what is taken from a slab of columns: the moments of each, a copy centred by
 * the slab's means, and the totals that they join.
 *
 * Mapping: a thread takes COLUMNS_CHUNK samples of a column, neighbours in a warp neighbouring
 * columns; the chunks of a column are merged in a fixed order by a warp.
 * Bytes: the slab twice, 8 a sample out. Flops: some 10 a sample in double.
 * Error, u = 2^-53: M2 of a run of RUN samples is off by 40 u of itself, whatever its base; the
 * merges of K parts, one after the other, add K u: 8 of a chunk, S / 2048 and 5 of a slab of S
 * samples, and N / S of all N. Means are kept to twice the digits, so that a base far from most
 * samples (an outlier) costs none of the difference of two means.
 */
#include "kernels/base/reduce_cuda.h"
#include "kernels/pearson/columns_cuda.h"
#include "kernels/pearson/pearson_rule.h"

#include <math.h>

namespace
{

const int THREADS = 128;
const size_t RUN = 8; /* samples whose moments are merged at a time */

/* A slab as it came: sample t after diff of series s. */
struct slab_view {
    const void *x;
    enum dtype type;
    size_t n_series, n; /* n: samples after diff */
    size_t skip;        /* samples before the first one that diff needs none of */
    enum pearson_diff diff;
    const double *last_raw; /* the samples before the slab */
};

template <typename T>
__device__ __forceinline__ double slab_sample(const slab_view &v, size_t t, size_t s)
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
    /* few samples about each base, which may be an outlier */
    for (size_t t0 = from; t0 < to; t0 += RUN) {
        double base = NAN, n = 0, d = 0, dd = 0, min = INFINITY, max = -INFINITY;
#pragma unroll
        for (size_t k = 0; k < RUN; k++) {
            const double x = t0 + k < to ? slab_sample<T>(v, t0 + k, s) : (double)NAN;
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
        const double mean = n > 0 ? d / n : 0, m2 = dd - d * mean;
        part_moments run = {n, base, mean, m2 < 0 ? 0 : m2, min, max}; /* NaN stays */
        part_moments_recentre(&run);
        part_moments_merge(&m, &run);
    }
    part_moments_recentre(&m);
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
    other.low = __shfl_down_sync(0xffffffffu, m.low, step);
    return other;
}

/* A warp a series: the slab's moments, and the merge's own sample into row n of y. */
__global__ void merge_chunks(columns_series at, size_t n_series, size_t n_chunks, size_t n,
                             double *y)
{
    const size_t s = blockIdx.x * (size_t)(THREADS / 32) + threadIdx.x / 32,
                 lane = threadIdx.x % 32;
    if (s >= n_series) {
        return;
    }
    part_moments m = {0, 0, 0, 0, INFINITY, -INFINITY};
    for (size_t c = lane; c < n_chunks; c += 32) {
        part_moments_merge(&m, at.chunk_moments + c * n_series + s);
    }
    for (int step = 16; step > 0; step >>= 1) {
        const part_moments other = from_lane_below(m, step);
        part_moments_merge(&m, &other);
    }
    if (lane != 0) {
        return;
    }
    part_moments_recentre(&m);
    at.slab[s] = m;
    y[n * n_series + s] = columns_merge_sample(at.all + s, &m);
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
    const struct pearson_mean mean = columns_mean(at.slab + s);
    columns_lag lag = {0, 0, 0};
    double before = NAN;
#pragma unroll 4
    for (size_t t = from; t < to + 1 && t < v.n; t++) {
        const double x = slab_sample<T>(v, t, s);
        const double d = (x - mean.at) - mean.low;
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

/* What is needed of the samples once the slab itself is gone. A thread a series. */
template <typename T> __global__ void keep_edges(slab_view v, columns_series at, size_t n_raw)
{
    const size_t s = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (s >= v.n_series) {
        return;
    }
    if (v.n > 0) {
        at.slab_first[s] = slab_sample<T>(v, 0, s);
        at.slab_last[s] = slab_sample<T>(v, v.n - 1, s);
    }
    at.last_raw[s] = (double)((const T *)v.x)[(n_raw - 1) * v.n_series + s];
}

/* A warp a series: the slab joins the totals. */
__global__ void merge_slab(columns_series at, size_t n_series, size_t n_chunks)
{
    const size_t s = blockIdx.x * (size_t)(THREADS / 32) + threadIdx.x / 32;
    if (s >= n_series) {
        return;
    }
    const columns_lag of_slab = sum_lags(at, n_series, n_chunks, s);
    if (threadIdx.x % 32 != 0) {
        return;
    }
    struct columns_lag_parts parts = {at.all[s], at.all[s],  at.slab[s],      at.lag[s],
                                      of_slab,   at.last[s], at.slab_first[s]};
    part_moments_merge(&parts.all, &parts.slab);
    at.lag[s] = columns_lag_join(&parts);
    at.all[s] = parts.all;
    at.last[s] = at.slab_last[s];
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
    }
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

template <typename T>
enum status scan(struct cuda_queue *q, struct columns *c, struct span slab, enum dtype type,
                 size_t n_raw, size_t *n)
{
    const size_t skip = c->diff != PEARSON_DIFF_NONE && !c->started;
    const slab_view v = {slab.at, type, c->n_series, n_raw - skip, skip, c->diff, c->at.last_raw};
    double *y = (double *)c->y[c->turn % 2].at;
    cuda_work work(q, STREAM_COMPUTE,
                   {queue_reads(slab.at, slab.bytes), columns_access(c),
                    queue_writes(y, (v.n + 1) * c->n_series * sizeof(double))});
    STATUS_TRY(work.status);
    if (v.n > 0) {
        const size_t n_chunks = cuda_pieces(v.n, COLUMNS_CHUNK);
        scan_chunks<T><<<chunks_of(c, v.n), THREADS, 0, work.stream>>>(v, c->at);
        STATUS_TRY(cuda_launched("moments of columns"));
        merge_chunks<<<warps_of(c), THREADS, 0, work.stream>>>(c->at, c->n_series, n_chunks, v.n,
                                                               y);
        STATUS_TRY(cuda_launched("moments of a slab"));
        centre_chunks<T><<<chunks_of(c, v.n), THREADS, 0, work.stream>>>(v, c->at, y);
        STATUS_TRY(cuda_launched("centring of a slab"));
    }
    keep_edges<T><<<blocks_of(c), THREADS, 0, work.stream>>>(v, c->at, n_raw);
    STATUS_TRY(cuda_launched("edges of a slab"));
    if (v.n > 0) {
        merge_slab<<<warps_of(c), THREADS, 0, work.stream>>>(c->at, c->n_series,
                                                             cuda_pieces(v.n, COLUMNS_CHUNK));
        STATUS_TRY(cuda_launched("merge of a slab"));
    }
    c->started = true;
    *n = v.n;
    return work.done();
}

} // namespace

enum status cuda_column_slab_take(struct cuda_queue *q, struct columns *c, struct span slab,
                                  enum dtype type, size_t n_raw, size_t *n)
{
    return type == DTYPE_F32 ? scan<float>(q, c, slab, type, n_raw, n)
                             : scan<double>(q, c, slab, type, n_raw, n);
}

enum status cuda_column_slab_start(struct cuda_queue *q, struct columns *c)
{
    cuda_work work(q, STREAM_COMPUTE, {columns_access(c)});
    STATUS_TRY(work.status);
    start_series<<<blocks_of(c), THREADS, 0, work.stream>>>(c->at, c->n_series);
    STATUS_TRY(cuda_launched("start of columns"));
    return work.done();
}
