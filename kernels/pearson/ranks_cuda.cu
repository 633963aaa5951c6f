/*
 * ranks_cuda - average ranks of rows, and of the samples that two rows of ranks have in common.
 *
 * Samples are sorted by a pattern that rises with the value; the rank of a sample follows from
 * where its equals begin and end in its sorted row. A row that fits in shared memory is sorted
 * there, by a block; CUB sorts longer ones all at once, by their row and then by the pattern. A
 * pair is not sorted: the whole part of its rank in its row numbers what a sample is equal to; the
 * common samples of each number are counted, and their ranks follow.
 *
 * Mapping: short rows, a block; longer ones, a thread a sample; a pair, a block. Bytes: of a short
 * row, 24 a sample; of a longer one, about 600, by the sort; of a pair, 16 a sample twice, and its
 * counts, 8 a sample five times.
 * Error of r for N <= 2^20: the sums are of integers, twice the ranks less their mean; those of a
 * thread (N / PAIR_THREADS + 16) u, of r twice that: 1.8e-12, and 0 up to 2^17 common samples.
 */
#include "kernels/pearson/pairs_cuda.h"
#include "kernels/pearson/pearson_cuda.h"

#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_radix_sort.cuh>

namespace
{

const int THREADS = 256;
const size_t PAIR_BLOCKS = 2112;

__device__ uint64_t pattern_of(const struct series_rows &x, size_t k)
{
    return pearson_key(x.type == DTYPE_F32 ? (double)((const float *)x.at.at)[k]
                                           : ((const double *)x.at.at)[k]);
}

/* The first of sorted keys [from, end) that is not below `key`. */
template <class Sorted, class Key, class Index>
__device__ Index first_of(const Sorted &sorted, Index from, Index end, Key key)
{
    while (from < end) {
        const Index middle = from + (end - from) / 2;
        if (sorted[middle] < key) {
            from = middle + 1;
        } else {
            end = middle;
        }
    }
    return from;
}

/* The rank of `key`, which is among the sorted keys [row, end) of its row. */
template <class Sorted, class Key, class Index>
__device__ double rank_of(const Sorted &sorted, Index row, Index end, Key key)
{
    if ((uint64_t)key == UINT64_MAX) {
        return NAN;
    }
    const Index first = first_of(sorted, row, end, key);
    Index next = first + 1;
    if (next < end && sorted[next] == key) {
        next = first_of(sorted, next, end, (Key)(key + 1));
    }
    return (double)(first - row + next - row + 1) / 2;
}

/* --- short rows ------------------------------------------------------------------------------ */

/* Sorted keys in shared memory, of which those at a search's middles lie in unlike banks. */
struct spread_keys {
    uint64_t *at;
    __device__ uint64_t &operator[](unsigned k) const
    {
        return at[k + k / 16];
    }
};

/* A block's way of rows of up to MOST samples. Keys of f32 differ from bit 29 on. */
template <int N_THREADS, int ITEMS> struct row_sort {
    typedef cub::BlockRadixSort<uint64_t, N_THREADS, ITEMS, cub::NullType, 5> block;
    enum { MOST = N_THREADS * ITEMS };
    union memory {
        typename block::TempStorage sorting;
        uint64_t sorted[MOST + MOST / 16];
    };
};

template <int N_THREADS, int ITEMS>
__global__ void __launch_bounds__(N_THREADS) rank_row(struct series_rows x, double *rank)
{
    typedef row_sort<N_THREADS, ITEMS> way;
    extern __shared__ __align__(16) unsigned char shared[];
    typename way::memory &memory = *(typename way::memory *)shared;
    const spread_keys sorted = {memory.sorted};
    const size_t row = blockIdx.x * x.n_samples;
    const unsigned n = (unsigned)x.n_samples;
    uint64_t keys[ITEMS];
#pragma unroll
    for (unsigned i = 0, k = threadIdx.x; i < ITEMS; i++, k += N_THREADS) {
        keys[i] = k < n ? pattern_of(x, row + k) : UINT64_MAX;
    }
    typename way::block(memory.sorting)
        .SortBlockedToStriped(keys, x.type == DTYPE_F32 ? 29 : 0, 64);
    __syncthreads();
#pragma unroll
    for (unsigned i = 0, k = threadIdx.x; i < ITEMS; i++, k += N_THREADS) {
        sorted[k] = keys[i];
    }
    __syncthreads();
    for (unsigned k = threadIdx.x; k < n; k += N_THREADS) {
        rank[row + k] = rank_of(sorted, 0U, n, pattern_of(x, row + k));
    }
}

template <int N_THREADS, int ITEMS>
enum status launch_rank_row(const struct series_rows &x, double *rank, cudaStream_t stream)
{
    const int bytes = (int)sizeof(typename row_sort<N_THREADS, ITEMS>::memory);
    auto kernel = rank_row<N_THREADS, ITEMS>;
    CUDA_TRY(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
             "shared memory of ranks");
    kernel<<<(unsigned)x.n_series, N_THREADS, bytes, stream>>>(x, rank);
    return cuda_launched("ranks of short rows");
}

struct short_rows {
    size_t most, shared_bytes;
    enum status (*launch)(const struct series_rows &x, double *rank, cudaStream_t stream);
};

template <int N_THREADS, int ITEMS> constexpr short_rows short_rows_of()
{
    typedef row_sort<N_THREADS, ITEMS> way;
    return {way::MOST, sizeof(typename way::memory), launch_rank_row<N_THREADS, ITEMS>};
}

/* The way of rows of so many samples; NULL: none that fits in the device's shared memory. */
const short_rows *short_rows_for(const struct cuda_queue *q, size_t n_samples)
{
    static const short_rows ways[] = {short_rows_of<128, 16>(), short_rows_of<256, 32>(),
                                      short_rows_of<512, 32>()};
    for (const short_rows &way : ways) {
        if (n_samples <= way.most) {
            return way.shared_bytes <= q->backend->properties.sharedMemPerBlockOptin ? &way : NULL;
        }
    }
    return NULL;
}

/* --- longer rows ----------------------------------------------------------------------------- */

/* The number of the row, then the value's pattern. */
typedef unsigned __int128 row_key;

__device__ row_key key_of(const struct series_rows &x, size_t k)
{
    return (row_key)(k / x.n_samples) << 64 | pattern_of(x, k);
}

__global__ void make_keys(struct series_rows x, row_key *key)
{
    const size_t k = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (k < x.n_series * x.n_samples) {
        key[k] = key_of(x, k);
    }
}

__global__ void rank_samples(struct series_rows x, const row_key *sorted, double *rank)
{
    const size_t k = blockIdx.x * (size_t)THREADS + threadIdx.x,
                 row = k / x.n_samples * x.n_samples;
    if (k < x.n_series * x.n_samples) {
        rank[k] = rank_of(sorted, row, row + x.n_samples, key_of(x, k));
    }
}

/* --- pairs ----------------------------------------------------------------------------------- */

/* at[n_samples + 1]: how many common samples have each number, then their rank: doubled, less the
 * mean. */
struct rank_series {
    const double *z;
    double mean, norm;
    int *at;
    __device__ rank_series(const struct cuda_rank_pairs &l, const struct pearson_side &side,
                           size_t k, int *counts)
        : z((const double *)side.z.at + k * l.z_stride),
          mean(moments_array(l.p.moments, MOMENTS_MEAN)[side.first + k]),
          norm(sqrt(moments_array(l.p.moments, MOMENTS_M2)[side.first + k])), at(counts)
    {
    }
    __device__ int *of(size_t t) const
    {
        return at + pearson_whole_rank(z[t], mean, norm);
    }
};

__device__ bool are_there(const rank_series &x, const rank_series &y, size_t t)
{
    return pair_present<true>(x.z[t]) && pair_present<true>(y.z[t]);
}

/* Of n common samples. */
__device__ void rank_numbers(int *at, size_t n_samples, long long n)
{
    typedef cub::BlockScan<int, PAIR_THREADS> scan;
    __shared__ typename scan::TempStorage storage;
    long long before = 0;
    for (size_t from = 1; from <= n_samples; from += PAIR_THREADS) {
        const size_t k = from + threadIdx.x;
        const int equal = k <= n_samples ? at[k] : 0;
        int below, all;
        scan(storage).ExclusiveSum(equal, below, all);
        if (k <= n_samples) {
            at[k] = (int)(2 * (before + below) + equal - n);
        }
        before += all;
        __syncthreads();
    }
}

__device__ double rank_pair(const rank_series &x, const rank_series &y, size_t n_samples,
                            double least)
{
    enum { SUMS = 3 };
    __shared__ double shared[SUMS * (PAIR_THREADS / 32 + 1)];
    double n = 0, v[SUMS] = {0, 0, 0};
    for (size_t k = threadIdx.x; k <= n_samples; k += PAIR_THREADS) {
        x.at[k] = y.at[k] = 0;
    }
    __syncthreads();
    for (size_t t = threadIdx.x; t < n_samples; t += PAIR_THREADS) {
        if (are_there(x, y, t)) {
            atomicAdd(x.of(t), 1);
            atomicAdd(y.of(t), 1);
            n++;
        }
    }
    block_sums<PAIR_THREADS, 1>(&n, shared);
    __syncthreads();
    rank_numbers(x.at, n_samples, (long long)n);
    rank_numbers(y.at, n_samples, (long long)n);
    for (size_t t = threadIdx.x; t < n_samples; t += PAIR_THREADS) {
        if (are_there(x, y, t)) {
            const double a = *x.of(t), b = *y.of(t);
            v[0] += a * a;
            v[1] += b * b;
            v[2] += a * b;
        }
    }
    block_sums<PAIR_THREADS, SUMS>(v, shared);
    __syncthreads();
    return pearson_of_centred({n, 0, 0, v[0], v[1], v[2]}, least);
}

__global__ void __launch_bounds__(PAIR_THREADS) rank_pairs(cuda_rank_pairs l)
{
    const struct pearson_panel &p = l.p;
    int *const x = l.counts + blockIdx.x * 2 * (p.n_samples + 1), *const y = x + p.n_samples + 1;
    for (size_t k = blockIdx.x; k < l.n_a * l.n_b; k += gridDim.x) {
        const size_t a = l.rows_a[k / l.n_b], b = l.rows_b[k % l.n_b];
        const size_t j = p.a.first + a, i = p.b.first + b, at = a * p.width + i;
        double r = NAN;
        if (i >= j) {
            continue;
        }
        if (!moments_degenerate_at(p.moments, i) && !moments_degenerate_at(p.moments, j)) {
            r = rank_pair(rank_series(l, p.a, a, x), rank_series(l, p.b, b, y), p.n_samples,
                          moments_least_count(p.moments));
        }
        if (threadIdx.x == 0 && p.precision == PEARSON_F32) {
            ((float *)p.r.at)[at] = (float)r;
        } else if (threadIdx.x == 0) {
            ((double *)p.r.at)[at] = r;
        }
    }
}

} // namespace

size_t cuda_rank_bytes(const struct queue *queue, size_t n_series, size_t n_samples)
{
    const struct cuda_queue *q = (const struct cuda_queue *)queue;
    return short_rows_for(q, n_samples) != NULL ? 0 : n_series * n_samples * 2 * sizeof(row_key);
}

namespace
{

enum status rank_long_rows(struct queue *queue, const struct series_rows *x, struct span out)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    const size_t n = x->n_series * x->n_samples;
    const unsigned blocks = (unsigned)cuda_pieces(n, THREADS);
    int bits = 64;
    while (x->n_series > (size_t)1 << (bits - 64)) {
        bits++;
    }
    cuda_span space(queue);
    STATUS_TRY(space.alloc(cuda_rank_bytes(queue, x->n_series, x->n_samples)));
    cub::DoubleBuffer<row_key> keys(space.as<row_key>(), space.as<row_key>() + n);
    size_t bytes = 0;
    void *of_sort;
    CUDA_TRY(cub::DeviceRadixSort::SortKeys(nullptr, bytes, keys, n, 0, bits), "size of a sort");
    cuda_work work(q, STREAM_COMPUTE,
                   {queue_reads(x->at.at, series_rows_bytes(x)),
                    queue_writes(out.at, n * sizeof(double)),
                    queue_writes(space.span.at, space.span.bytes)});
    STATUS_TRY(work.status);
    STATUS_TRY(cuda_queue_scratch(q, STREAM_COMPUTE, bytes, &of_sort));
    make_keys<<<blocks, THREADS, 0, work.stream>>>(*x, keys.Current());
    STATUS_TRY(cuda_launched("keys of samples"));
    CUDA_TRY(cub::DeviceRadixSort::SortKeys(of_sort, bytes, keys, n, 0, bits, work.stream),
             "sort of samples");
    rank_samples<<<blocks, THREADS, 0, work.stream>>>(*x, keys.Current(), (double *)out.at);
    STATUS_TRY(cuda_launched("ranks"));
    return work.done();
}

} // namespace

enum status cuda_rank_rows(struct queue *queue, const struct series_rows *x, struct span out)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    const size_t n = x->n_series * x->n_samples;
    const short_rows *const way = short_rows_for(q, x->n_samples);
    STATUS_TRY(cuda_expect(x->at, 1, series_rows_bytes(x), "ranks"));
    STATUS_TRY(cuda_expect(out, n, sizeof(double), "ranks"));
    if (n == 0) {
        return STATUS_OK;
    }
    if (way == NULL) {
        return rank_long_rows(queue, x, out);
    }
    cuda_work work(
        q, STREAM_COMPUTE,
        {queue_reads(x->at.at, series_rows_bytes(x)), queue_writes(out.at, n * sizeof(double))});
    STATUS_TRY(work.status);
    STATUS_TRY(way->launch(*x, (double *)out.at, work.stream));
    return work.done();
}

enum status cuda_gram_ranks(const struct cuda_rank_pairs &l, size_t bytes, cudaStream_t stream)
{
    const size_t fit = bytes / (2 * (l.p.n_samples + 1) * sizeof *l.counts);
    const size_t blocks = cuda_min(l.n_a * l.n_b, cuda_min(fit, PAIR_BLOCKS));
    rank_pairs<<<(unsigned)blocks, PAIR_THREADS, 0, stream>>>(l);
    return cuda_launched("coefficients of ranks");
}
