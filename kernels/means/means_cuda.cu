/*
 * means_cuda - count, mean, M2, minimum and maximum of rows in one read of the data.
 *
 * A thread adds up d and d^2 of its samples, d = x - the first present one of them, and then
 *   mean = first + sum d / n,   M2 = sum d^2 - (sum d)^2 / n
 * are merged, over the threads of a block by the mean of all and every thread's M2 about it, over
 * the parts of a row by Chan's formula, in a fixed order. Means are kept as distances from the
 * value of one thread, so that an offset costs no digits.
 *
 * Mapping: short rows take a warp each, longer ones a block, and when there are few rows each is
 * cut into parts, a block a part.
 * Memory: each sample once, in loads of 16 bytes, UNROLL of them in flight a thread; a row's head
 * and tail that do not lie at multiples of 16 bytes are read one by one.
 * Bytes: the data. Flops: 4 a sample in double (change of type, difference, two sums), a third of
 * the time of the read on an H200.
 * Error: see kernels/means/means.h; T, the samples of a thread, are 64 of a row of 8192, and never
 * more than MOST_SAMPLES / THREADS and the row's head and tail.
 */
#include "kernels/base/reduce_cuda.h"
#include "kernels/means/moments_cuda.h"

namespace
{

/* leat-bench means, 8192 x 8192: f32 0.068 ms, f64 0.126; with 8 loads 0.070 and 0.127, with 8 and
 * 64 threads 0.070 and 0.128; with 512 threads twice that. */
const int THREADS = 128, WARPS = THREADS / 32, UNROLL = 16, UNROLL_REST = 8;
const size_t WARP_ROW = 1024; /* rows up to here take a warp */
/* Parts: as many as give about 8 blocks a multiprocessor, none shorter than 32 samples a thread.
 * The count is fixed so that the merges, and the bits, are the same on every device. */
const size_t WANTED_BLOCKS = 1056, PART_SAMPLES = 32 * THREADS, MOST_SAMPLES = 64 * THREADS;

/* What a thread adds up; shift is NaN until a sample is there. */
template <typename T> struct accumulator {
    double shift, d, dd;
    T min, max;
    unsigned n;

    __device__ __forceinline__ void start()
    {
        shift = NAN;
        d = dd = 0;
        min = (T)INFINITY;
        max = -(T)INFINITY;
        n = 0;
    }
    __device__ __forceinline__ void present(T x)
    {
        const double y = (double)x - shift;
        d += y;
        dd = fma(y, y, dd);
        min = lesser(x, min);
        max = greater(x, max);
    }
    __device__ __forceinline__ void add(T x)
    {
        if (x == x) {
            shift = shift == shift ? shift : (double)x;
            present(x);
            n++;
        }
    }
    /* The common case, no sample missing, has no branch inside. */
    template <int N> __device__ __forceinline__ void add_vectors(const vector_of<T> (&x)[N])
    {
        const int width = vector_of<T>::width;
        bool gap = false;
#pragma unroll
        for (int k = 0; k < N * width; k++) {
            gap |= x[k / width].v[k % width] != x[k / width].v[k % width];
        }
        if (gap) {
#pragma unroll
            for (int k = 0; k < N * width; k++) {
                add(x[k / width].v[k % width]);
            }
            return;
        }
        shift = shift == shift ? shift : (double)x[0].v[0];
#pragma unroll
        for (int k = 0; k < N * width; k++) {
            present(x[k / width].v[k % width]);
        }
        n += N * width;
    }
};

/* Vectors v, v + GROUP, ... of `vectors`, N at a time as long as there are N; where it ended. */
template <typename T, int GROUP, int N>
__device__ __forceinline__ size_t add_rounds(accumulator<T> *a, const T *body, size_t vectors,
                                             size_t v)
{
    for (; v + (N - 1) * GROUP < vectors; v += N * GROUP) {
        vector_of<T> loaded[N];
#pragma unroll
        for (int u = 0; u < N; u++) {
            loaded[u].load(body + (v + u * GROUP) * vector_of<T>::width);
        }
        a->add_vectors(loaded);
    }
    return v;
}

/* Samples [0, n) at x by GROUP threads, of which this is number `me`. */
template <typename T, int GROUP>
__device__ __forceinline__ void accumulate(accumulator<T> *a, const T *x, size_t n, size_t me)
{
    const int width = vector_of<T>::width;
    const size_t head = unaligned_head(x, n);
    const size_t vectors = (n - head) / width, tail = head + vectors * width;
    const T *body = x + head;
    size_t v = add_rounds<T, GROUP, UNROLL>(a, body, vectors, me);
    v = add_rounds<T, GROUP, UNROLL_REST>(a, body, vectors, v);
    (void)add_rounds<T, GROUP, 1>(a, body, vectors, v);
    for (size_t t = me; t < head; t += GROUP) {
        a->add(x[t]);
    }
    for (size_t t = tail + me; t < n; t += GROUP) {
        a->add(x[t]);
    }
}

/* What the warps of a block tell each other. */
struct warp_share {
    double n, base, sum, m2, min, max;
};

/* Merges the sums of WARPS warps; thread 0 gets the result. The mean first, then every thread's M2
 * about it: one division a thread, where merging in pairs takes one a pair. */
template <typename T, int WARPS_OF_ROW>
__device__ __forceinline__ part_moments merge_threads(const accumulator<T> &a, warp_share *shared)
{
    const unsigned some = __ballot_sync(0xffffffffu, a.n > 0);
    double base = __shfl_sync(0xffffffffu, a.shift, some != 0 ? __ffs((int)some) - 1 : 0);
    double n = (double)__reduce_add_sync(0xffffffffu, a.n);
    const double own = a.n > 0 ? a.n : 1, offset = a.n > 0 ? a.shift - base : 0;
    double sum = warp_sum(fma(own, offset, a.d));
    double min = warp_min((double)a.min), max = warp_max((double)a.max);
    double to_base = 0; /* of the warp's base from the row's */
    const int warp = threadIdx.x / 32;
    if (WARPS_OF_ROW > 1) {
        if (threadIdx.x % 32 == 0) {
            shared[warp] = {n, base, sum, 0, min, max};
        }
        __syncthreads();
        const double warp_base = base;
        n = sum = 0;
        base = NAN;
        for (int w = 0; w < WARPS_OF_ROW; w++) {
            if (shared[w].n > 0) {
                base = base == base ? base : shared[w].base;
                sum += fma(shared[w].n, shared[w].base - base, shared[w].sum);
                n += shared[w].n;
                min = fmin(min, shared[w].min);
                max = fmax(max, shared[w].max);
            }
        }
        to_base = a.n > 0 ? warp_base - base : 0;
    }
    const double mean = n > 0 ? sum / n : 0, own_mean = a.d / own;
    const double off = (to_base + offset) + own_mean - mean;
    const double about_own = fma(-a.d, own_mean, a.dd);
    double m2 = a.n > 0 ? (about_own < 0 ? 0 : about_own) + own * off * off : 0; /* NaN stays */
    m2 = warp_sum(m2);
    if (WARPS_OF_ROW > 1) {
        if (threadIdx.x % 32 == 0) {
            shared[warp].m2 = m2;
        }
        __syncthreads();
        m2 = 0;
        for (int w = 0; threadIdx.x == 0 && w < WARPS_OF_ROW; w++) {
            m2 += shared[w].m2;
        }
    }
    const part_moments m = {n, base, mean, m2, min, max};
    return m;
}

struct means_args {
    struct series_rows x;
    size_t stride;
    struct moments moments;
    size_t n_parts, part;
    part_moments *parts; /* [n_series][n_parts] */
};

template <typename T> __global__ void __launch_bounds__(THREADS) means_by_warp(means_args args)
{
    const size_t row = blockIdx.x * (size_t)WARPS + threadIdx.x / 32;
    if (row >= args.x.n_series) {
        return;
    }
    accumulator<T> a;
    a.start();
    accumulate<T, 32>(&a, (const T *)args.x.at.at + row * args.stride, args.x.n_samples,
                      threadIdx.x % 32);
    const part_moments m = merge_threads<T, 1>(a, nullptr);
    if (threadIdx.x % 32 == 0) {
        moments_store(args.moments, args.x.first + row, &m);
    }
}

template <typename T> __global__ void __launch_bounds__(THREADS) means_by_block(means_args args)
{
    __shared__ warp_share shared[WARPS];
    const size_t row = blockIdx.x / args.n_parts, part = blockIdx.x % args.n_parts;
    const size_t from = part * args.part;
    const size_t left = from < args.x.n_samples ? args.x.n_samples - from : 0;
    accumulator<T> a;
    a.start();
    accumulate<T, THREADS>(&a, (const T *)args.x.at.at + row * args.stride + from,
                           left < args.part ? left : args.part, threadIdx.x);
    const part_moments m = merge_threads<T, WARPS>(a, shared);
    if (threadIdx.x != 0) {
        return;
    }
    if (args.n_parts == 1) {
        moments_store(args.moments, args.x.first + row, &m);
    } else {
        args.parts[blockIdx.x] = m;
    }
}

/* A thread a row. */
__global__ void merge_parts(means_args args)
{
    const size_t row = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (row >= args.x.n_series) {
        return;
    }
    part_moments m = args.parts[row * args.n_parts];
    for (size_t p = 1; p < args.n_parts; p++) {
        part_moments_merge(&m, args.parts + row * args.n_parts + p);
    }
    moments_store(args.moments, args.x.first + row, &m);
}

template <typename T> enum status launch(const means_args &args, cudaStream_t stream)
{
    const size_t n_series = args.x.n_series;
    if (args.x.n_samples <= WARP_ROW) {
        means_by_warp<T><<<(unsigned)cuda_pieces(n_series, WARPS), THREADS, 0, stream>>>(args);
        return cuda_launched("means of short rows");
    }
    means_by_block<T><<<(unsigned)(n_series * args.n_parts), THREADS, 0, stream>>>(args);
    STATUS_TRY(cuda_launched("means of rows"));
    if (args.n_parts > 1) {
        merge_parts<<<(unsigned)cuda_pieces(n_series, THREADS), THREADS, 0, stream>>>(args);
        return cuda_launched("means of parts");
    }
    return STATUS_OK;
}

size_t parts_of(size_t n_series, size_t n_samples)
{
    const size_t wanted = WANTED_BLOCKS / cuda_max(1, n_series);
    const size_t least = cuda_max(1, cuda_pieces(n_samples, MOST_SAMPLES));
    return cuda_max(least, cuda_min(wanted, n_samples / PART_SAMPLES));
}

enum status means_rows(struct queue *queue, const struct series_rows *x, struct moments moments)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    if (x->n_series == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(cuda_expect_series(x, moments, "means"));
    means_args args = {
        *x, series_rows_stride(x), moments, parts_of(x->n_series, x->n_samples), 0, nullptr};
    /* whole vectors in every part but the last */
    args.part = cuda_pieces(cuda_pieces(x->n_samples, args.n_parts), 4) * 4;
    cuda_work work(q, STREAM_COMPUTE,
                   {queue_reads(x->at.at, series_rows_bytes(x)),
                    queue_moments(moments, x->first, x->n_series, true)});
    STATUS_TRY(work.status);
    if (args.n_parts > 1) {
        STATUS_TRY(cuda_queue_scratch(q, STREAM_COMPUTE,
                                      x->n_series * args.n_parts * sizeof *args.parts,
                                      (void **)&args.parts));
    }
    STATUS_TRY(x->type == DTYPE_F32 ? launch<float>(args, work.stream)
                                    : launch<double>(args, work.stream));
    return work.done();
}

} // namespace

const struct means_kernels cuda_means = {.rows = means_rows};
