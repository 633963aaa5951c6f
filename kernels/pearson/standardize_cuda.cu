/*
 * standardize_cuda - rows centred and scaled to unit norm, in the forms that gram() takes;
 * increments along rows.
 *
 *   d = x - mean;   shift = sum d / n;   M2 = sum d^2 - shift sum d;   z = (d - shift) / sqrt(M2)
 *
 * A row of z: in the exact form, and where the device takes no products of digits, doubles, a
 * missing sample -0.0 and no present one; where it takes them, then the digits of digits_cuda.h.
 *
 * Mapping: a block a row. The row is kept in shared memory between the sums and the scaling where
 * it fits, else it is read a second time.
 * Bytes: the row once (or twice) in, 4 or 14 bytes a sample out. Flops: about 10 a sample, double.
 * Error, with u = 2^-53: each z is off by 5 u of itself, and by the error of the norm. M2 is a sum
 * of non-negative terms, taken in threads of runs of RUN samples, then of runs, then of threads:
 * off by (RUN + n / (LONG_THREADS RUN) + 16) u, 96 u for 2^20 samples. The sums are taken about the
 * mean of the moments; where that lies within half a standard deviation of the right one,
 * correcting M2 by it makes 250 u of the 96 u at most. It lies further off, by one at most, only
 * where the deviation is less than the distance of neighbouring doubles (moments_degenerate); there
 * samples lie within 2^11 of these distances, are off by whole multiples, and the sums are exact.
 * Two norms move r by as much as one M2. What is left of the mean moves r by N e e' / (d d'), the
 * square of such roundings.
 */
#include "kernels/base/reduce_cuda.h"
#include "kernels/pearson/digits_cuda.h"
#include "kernels/pearson/pearson_cuda.h"
#include "kernels/pearson/pearson_rule.h"

namespace
{

/* leat-bench pearson: 256 and 1024 threads are slower. */
const int THREADS = 512, SHORT_THREADS = 128, LONG_THREADS = 1024;
const int RUN = 64; /* samples that a thread adds up before it adds the sum to the others */
const size_t SHORT_ROW = 1024; /* samples */
/* Three blocks of THREADS fit a multiprocessor of compute capability 9.0 at MOST_BYTES, one of
 * LONG_THREADS at LONG_BYTES; other devices have at least 99 KiB and read longer rows twice. */
const size_t MOST_BYTES = 72 << 10, LONG_BYTES = 200 << 10;

struct row_args {
    struct series_rows x;
    size_t stride;
    struct moments moments;
    char *z;
    struct cuda_z_form form;
};

/* The samples of the block's row, wherever they lie. */
template <typename T, int N_THREADS>
__device__ __forceinline__ const T *fetch_row(const T *x, size_t n, T *cache)
{
    const int width = vector_of<T>::width;
    if (cache == nullptr) {
        return x;
    }
    if (((uintptr_t)x & 15) == 0) {
        const size_t vectors = n / width;
        for (size_t v = threadIdx.x; v < vectors; v += N_THREADS) {
            ((int4 *)cache)[v] = __ldg((const int4 *)x + v);
        }
        for (size_t t = vectors * width + threadIdx.x; t < n; t += N_THREADS) {
            cache[t] = x[t];
        }
    } else {
        for (size_t t = threadIdx.x; t < n; t += N_THREADS) {
            cache[t] = x[t];
        }
    }
    __syncthreads();
    return cache;
}

/* Samples t .. t + 3; NaN beyond the end. Rows in shared memory lie at multiples of 16 bytes. */
template <bool CACHED>
__device__ __forceinline__ void four_samples(const float *x, size_t n, size_t t, double (&y)[4])
{
    if (CACHED && t + 4 <= n) {
        const float4 v = *(const float4 *)(x + t);
        y[0] = v.x, y[1] = v.y, y[2] = v.z, y[3] = v.w;
        return;
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        y[k] = t + k < n ? (double)x[t + k] : (double)NAN;
    }
}
template <bool CACHED>
__device__ __forceinline__ void four_samples(const double *x, size_t n, size_t t, double (&y)[4])
{
    if (CACHED && t + 4 <= n) {
        const double2 a = *(const double2 *)(x + t), b = *(const double2 *)(x + t + 2);
        y[0] = a.x, y[1] = a.y, y[2] = b.x, y[3] = b.y;
        return;
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        y[k] = t + k < n ? x[t + k] : (double)NAN;
    }
}

/* What the sums of a row give: its mean and norm, and LAG1. */
struct row_scale {
    double mean, low; /* low: what rounding takes from the mean, subtracted after it */
    double norm;      /* sqrt(M2) */
    double crest;     /* largest |x - mean| / norm */
    bool degenerate;
};

enum { SUM_D, SUM_DD, SUM_LAG, SUM_LAG_D, SUM_LAG_N, N_SUMS };

/* Sums about the mean of the moments: of d, d^2, and, over pairs of neighbours, of d e, d + e,
 * and 1. */
template <typename T, int N_THREADS, bool CACHED>
__device__ __forceinline__ void row_sums(const T *x, size_t n, double mean, bool complete,
                                         double *shared, double (&v)[N_SUMS])
{
    double sum = 0, squares = 0, lag = 0, lag_d = 0, lag_n = 0;
    for (size_t run = 4 * threadIdx.x; run < n; run += (size_t)RUN * N_THREADS) {
        const size_t end = n - run < (size_t)RUN * N_THREADS ? n : run + (size_t)RUN * N_THREADS;
        double run_sum = 0, run_squares = 0, run_lag = 0;
#pragma unroll 2
        for (size_t t = run; t < end; t += 4 * N_THREADS) {
            double d[4];
            four_samples<CACHED>(x, n, t, d);
            double next = (t + 4 < n ? (double)x[t + 4] : (double)NAN) - mean;
#pragma unroll
            for (int k = 3; k >= 0; k--) {
                d[k] -= mean;
                const bool here = d[k] == d[k], both = here && next == next;
                run_sum += here ? d[k] : 0;
                run_squares = here ? fma(d[k], d[k], run_squares) : run_squares;
                run_lag = both ? fma(d[k], next, run_lag) : run_lag;
                if (!complete && both) {
                    lag_d += d[k] + next;
                    lag_n += 1;
                }
                next = d[k];
            }
        }
        sum += run_sum;
        squares += run_squares;
        lag += run_lag;
    }
    v[SUM_D] = sum;
    v[SUM_DD] = squares;
    v[SUM_LAG] = lag;
    v[SUM_LAG_D] = lag_d;
    v[SUM_LAG_N] = lag_n;
    block_sums<N_THREADS, N_SUMS>(v, shared);
    if (complete) {
        v[SUM_LAG_D] = 2 * v[SUM_D] - ((double)x[0] - mean) - ((double)x[n - 1] - mean);
        v[SUM_LAG_N] = (double)(n - 1);
    }
}

/* Moments corrected and read, by every thread alike; thread 0 writes them back. */
__device__ __forceinline__ row_scale scale_of(const row_args &args, size_t entry,
                                              const double (&v)[N_SUMS])
{
    double *m = moments_array(args.moments, (enum moments_field)0) + entry;
    const size_t capacity = args.moments.capacity;
    const double n = m[MOMENTS_COUNT * capacity], guess = m[MOMENTS_MEAN * capacity];
    const double min = m[MOMENTS_MIN * capacity], max = m[MOMENTS_MAX * capacity];
    const double shift = n > 0 ? v[SUM_D] / n : 0;
    const double square = v[SUM_DD] - shift * v[SUM_D];
    const double m2 = square > 0 || square != square ? square : 0;
    row_scale s;
    s.mean = guess + shift;
    s.low = (guess - s.mean) + shift;
    s.norm = sqrt(m2);
    s.crest = fmax((max - s.mean) - s.low, (s.mean - min) + s.low) / s.norm;
    s.degenerate = moments_degenerate(moments_least_count(args.moments), n, m2, min, max) != 0;
    __syncthreads(); /* every thread has read what thread 0 overwrites */
    if (threadIdx.x == 0) {
        if (n > 0) {
            m[MOMENTS_MEAN * capacity] = s.mean;
            m[MOMENTS_M2 * capacity] = m2;
        }
        const double lag = v[SUM_LAG] - shift * v[SUM_LAG_D] + shift * shift * v[SUM_LAG_N];
        m[MOMENTS_LAG1 * capacity] = s.degenerate ? (double)NAN : lag / m2;
    }
    return s;
}

/* The nearest integer of d * by, |d * by| < 2^51, in the low bits of the sum with 1.5 * 2^52; 0 of
 * NaN. */
__device__ __forceinline__ long long rounded(double d, double by)
{
    const long long bits = __double_as_longlong(fma(d, by, 0x1.8p52));
    return d == d ? bits - __double_as_longlong(0x1.8p52) : 0;
}

/* Four digits of each of four samples, to one word a digit. */
__device__ __forceinline__ void store_planes(const unsigned (&w)[4], char *planes, size_t plane)
{
    const unsigned low01 = __byte_perm(w[0], w[1], 0x5140), low23 = __byte_perm(w[2], w[3], 0x5140);
    const unsigned high01 = __byte_perm(w[0], w[1], 0x7362),
                   high23 = __byte_perm(w[2], w[3], 0x7362);
    *(unsigned *)(planes + 3 * plane) = __byte_perm(low01, low23, 0x5410);
    *(unsigned *)(planes + 2 * plane) = __byte_perm(low01, low23, 0x7632);
    *(unsigned *)(planes + plane) = __byte_perm(high01, high23, 0x5410);
    *(unsigned *)planes = __byte_perm(high01, high23, 0x7632);
}

/* The digits of samples t .. t + 3, into their planes. */
template <int P, bool CACHED, typename T>
__device__ __forceinline__ void digits_of_four(const T *x, size_t n, size_t t, double mean,
                                               double low, double by, char *planes, size_t plane,
                                               float (&squares)[3])
{
    double d[4];
    unsigned w[4];
    four_samples<CACHED>(x, n, t, d);
    if (P == DIGITS_SHORT) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int q = (int)rounded((d[k] - mean) - low, by * 0x1p24);
            w[k] = digits_pack(q);
            digits_add_squares(q, squares);
        }
    } else {
        unsigned last = 0, before = 0;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const long long wide = rounded((d[k] - mean) - low, by * 0x1p40) + 0x8080;
            const int q = (int)(wide >> 16);
            w[k] = digits_pack(q);
            digits_add_squares(q, squares);
            last |= ((unsigned)wide & 0xffu) << 8 * k;
            before |= ((unsigned)wide >> 8 & 0xffu) << 8 * k;
        }
        *(unsigned *)(planes + 4 * plane + t) = before ^ 0x80808080u;
        *(unsigned *)(planes + 5 * plane + t) = last ^ 0x80808080u;
    }
    store_planes(w, planes + t, plane);
}

/* z / scale lies in [-127, 127]. */
template <int P, bool CACHED, typename T, int N_THREADS>
__device__ __forceinline__ void write_digits(const T *x, size_t n, const row_scale &s, char *digits,
                                             double *shared)
{
    const double scale = s.crest / 127, by = s.degenerate ? 0 : 1 / (s.norm * scale);
    const size_t plane = digits_plane_bytes(n);
    float squares[3] = {0, 0, 0};
    double sums[3];
#pragma unroll 2
    for (size_t t = 4 * threadIdx.x; t < plane; t += 4 * N_THREADS) {
        digits_of_four<P, CACHED>(x, n, t, s.mean, s.low, by, digits, plane, squares);
    }
#pragma unroll
    for (int k = 0; k < 3; k++) {
        sums[k] = squares[k];
    }
    __syncthreads();
    block_sums<N_THREADS, 3>(sums, shared);
    if (threadIdx.x == 0) {
        *(struct digits_tail *)(digits + P * plane) =
            digits_tail_of<P>(s.degenerate, scale, sums, n);
    }
}

template <typename T, int N_THREADS>
__device__ __forceinline__ void write_doubles(const T *x, size_t n, const row_scale &s, double *z,
                                              size_t padded)
{
    const double by = s.degenerate ? 0 : 1 / s.norm;
#pragma unroll 4
    for (size_t t = threadIdx.x; t < n; t += N_THREADS) {
        const double y = (double)x[t];
        /* + 0.0: a present sample is never -0.0 */
        z[t] = y != y ? -0.0 : (s.degenerate ? 0.0 : ((y - s.mean) - s.low) * by + 0.0);
    }
    for (size_t t = n + threadIdx.x; t < padded; t += N_THREADS) {
        z[t] = 0;
    }
}

template <typename T, int N_THREADS, int P, bool CACHED>
__global__ void __launch_bounds__(N_THREADS, 1024 / N_THREADS) standardize_rows(const row_args args)
{
    extern __shared__ int4 row_cache[];
    __shared__ double shared[N_SUMS * (N_THREADS / 32 + 1)];
    const size_t row = blockIdx.x, n = args.x.n_samples, entry = args.x.first + row;
    const T *x = fetch_row<T, N_THREADS>((const T *)args.x.at.at + row * args.stride, n,
                                         CACHED ? (T *)row_cache : nullptr);
    const double guess = moments_array(args.moments, MOMENTS_MEAN)[entry];
    const bool complete = n > 0 && moments_array(args.moments, MOMENTS_COUNT)[entry] == (double)n;
    double v[N_SUMS];
    row_sums<T, N_THREADS, CACHED>(x, n, guess, complete, shared, v);
    const row_scale s = scale_of(args, entry, v);
    char *z = args.z + row * args.form.bytes;
    if (P == DIGITS_LONG) {
        write_doubles<T, N_THREADS>(x, n, s, (double *)z, args.form.doubles);
    }
    if (P == DIGITS_SHORT || args.form.planes != 0) {
        write_digits<P, CACHED, T, N_THREADS>(x, n, s, z + args.form.digits_at, shared);
    }
}

/* most: the longest row that this kernel keeps. The attribute is the kernel's, not the launch's,
 * and other jobs launch it at the same time, so that all of them must ask for the same. */
template <typename T, int N_THREADS, int P, bool CACHED>
enum status launch(const row_args &args, size_t cache_bytes, size_t most, cudaStream_t stream)
{
    auto kernel = standardize_rows<T, N_THREADS, P, CACHED>;
    if (CACHED) {
        CUDA_TRY(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)most),
            "shared memory of standardize");
    }
    kernel<<<(unsigned)args.x.n_series, N_THREADS, cache_bytes, stream>>>(args);
    return cuda_launched("standardize");
}

template <typename T, int P>
enum status choose(const row_args &args, size_t shared_bytes, cudaStream_t stream)
{
    const size_t bytes = args.x.n_samples * sizeof(T);
    const size_t most = min((size_t)LONG_BYTES, shared_bytes - 4096);
    if (args.x.n_samples <= SHORT_ROW) {
        return launch<T, SHORT_THREADS, P, true>(args, bytes, SHORT_ROW * sizeof(T), stream);
    }
    if (bytes <= MOST_BYTES) {
        return launch<T, THREADS, P, true>(args, bytes, MOST_BYTES, stream);
    }
    if (bytes <= most) {
        return launch<T, LONG_THREADS, P, true>(args, bytes, most, stream);
    }
    return launch<T, LONG_THREADS, P, false>(args, 0, 0, stream);
}

template <typename T>
__global__ void increments(struct series_rows x, enum pearson_diff diff, double *out)
{
    const size_t n_out = x.n_samples - 1;
    const size_t t = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    for (size_t s = blockIdx.y; s < x.n_series && t < n_out; s += gridDim.y) {
        const T *from = (const T *)x.at.at + s * x.n_samples + t;
        out[s * n_out + t] = pearson_increment((double)from[0], (double)from[1], diff);
    }
}

} // namespace

struct cuda_z_form cuda_form_of_z(const struct queue *q, enum pearson_precision precision,
                                  size_t n_samples)
{
    const bool exact = precision == PEARSON_EXACT, digits = cuda_digits_usable(q);
    struct cuda_z_form f = {};
    f.planes = !digits ? 0 : exact ? DIGITS_LONG : DIGITS_SHORT;
    f.doubles = exact || !digits ? cuda_pieces(n_samples, 16) * 16 : 0;
    f.digits_at = f.doubles * sizeof(double);
    f.bytes = f.digits_at + (digits ? digits_row_bytes(f.planes, n_samples) : 0);
    return f;
}

size_t cuda_z_bytes(const struct queue *q, enum pearson_precision precision, size_t n_samples)
{
    return cuda_form_of_z(q, precision, n_samples).bytes;
}

enum status cuda_standardize(struct queue *queue, enum pearson_precision precision,
                             const struct series_rows *x, struct moments moments, struct span z)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    if (x->n_series == 0) {
        return STATUS_OK;
    }
    const row_args args = {*x, series_rows_stride(x), moments, (char *)z.at,
                           cuda_form_of_z(queue, precision, x->n_samples)};
    STATUS_TRY(cuda_expect_series(x, moments, "standardize"));
    STATUS_TRY(cuda_expect(z, x->n_series, args.form.bytes, "standardize"));
    cuda_work work(q, STREAM_COMPUTE,
                   {queue_reads(x->at.at, series_rows_bytes(x)),
                    queue_writes(z.at, x->n_series * args.form.bytes),
                    queue_moments(moments, x->first, x->n_series, true)});
    STATUS_TRY(work.status);
    const size_t shared = q->backend->properties.sharedMemPerBlockOptin;
    if (args.form.doubles != 0) {
        STATUS_TRY(x->type == DTYPE_F32 ? choose<float, DIGITS_LONG>(args, shared, work.stream)
                                        : choose<double, DIGITS_LONG>(args, shared, work.stream));
    } else {
        STATUS_TRY(x->type == DTYPE_F32 ? choose<float, DIGITS_SHORT>(args, shared, work.stream)
                                        : choose<double, DIGITS_SHORT>(args, shared, work.stream));
    }
    return work.done();
}

enum status cuda_diff_rows(struct queue *queue, const struct series_rows *x, enum pearson_diff diff,
                           struct span out)
{
    if (x->n_series == 0 || x->n_samples < 2) {
        return STATUS_OK;
    }
    if (diff == PEARSON_DIFF_NONE) {
        return status_fail(STATUS_INTERNAL, "diff: no increment was asked for");
    }
    const size_t n_out = x->n_samples - 1;
    STATUS_TRY(cuda_expect(x->at, x->n_series, x->n_samples * dtype_bytes(x->type), "diff"));
    STATUS_TRY(cuda_expect(out, x->n_series, n_out * sizeof(double), "diff"));
    cuda_work work(cuda_queue_of(queue), STREAM_COMPUTE,
                   {queue_reads(x->at.at, series_rows_bytes(x)),
                    queue_writes(out.at, x->n_series * n_out * sizeof(double))});
    STATUS_TRY(work.status);
    const dim3 grid((unsigned)cuda_pieces(n_out, 256), (unsigned)cuda_min(x->n_series, 32768));
    auto kernel = x->type == DTYPE_F32 ? increments<float> : increments<double>;
    kernel<<<grid, 256, 0, work.stream>>>(*x, diff, (double *)out.at);
    STATUS_TRY(cuda_launched("increments"));
    return work.done();
}
