/*
 * significance_cuda - how many pairs reach each level of significance; as significance_cpu.
 *
 * Mapping: a block a row at a time; a thread counts into the block's histogram in shared memory,
 * or, where there are too many levels for that, at once into that of all. Bytes: the matrix once;
 * of series with gaps their bits for every pair of them, from the caches.
 */
#include "kernels/matrix/matrix_cuda.h"
#include "kernels/pearson/pearson_cuda.h"
#include "kernels/pearson/significance_rule.h"

namespace
{

const int THREADS = 256, BLOCKS = 1056;
const size_t SHARED_LEVELS = 8192; /* 32 KiB of counts */

/* Levels in device memory. */
struct levels_view {
    const double *r, *strength, *count; /* count == nullptr: no pair has gaps */
    const unsigned long long *present;  /* may be nullptr */
    size_t n, words;
    double bound, n_samples, min_samples;
    unsigned long long *counts;
};

__device__ double common(const levels_view &l, size_t j, size_t i)
{
    const double a = l.count[j], b = l.count[i];
    if (!(a < l.n_samples) || !(b < l.n_samples)) {
        return fmin(a, b);
    }
    if (l.present == nullptr) {
        return significance_least_common(a, b, l.n_samples, l.min_samples);
    }
    const unsigned long long *x = l.present + j * l.words, *y = l.present + i * l.words;
    unsigned long long n = 0;
    for (size_t k = 0; k < l.words; k++) {
        n += __popcll(x[k] & y[k]);
    }
    return (double)n;
}

/* The level that a pair reaches; l.n: none. */
__device__ __forceinline__ size_t level_of(const levels_view &l, size_t j, size_t i, double r)
{
    if (!(r >= l.r[0])) {
        return l.n;
    }
    if (l.count == nullptr || (!(l.count[j] < l.n_samples) && !(l.count[i] < l.n_samples))) {
        return significance_level(l.r, l.n, r);
    }
    const double strength = -significance_log_p(fmax(r - l.bound, 0.0), common(l, j, i));
    return strength >= l.strength[0] ? significance_level(l.strength, l.n, strength) : l.n;
}

template <typename T, bool SHARED>
__global__ void __launch_bounds__(THREADS)
    count_levels(const __grid_constant__ matrix_view m, const levels_view l)
{
    extern __shared__ unsigned bins[];
    for (size_t k = threadIdx.x; SHARED && k < l.n; k += THREADS) {
        bins[k] = 0;
    }
    __syncthreads();
    for (size_t k = blockIdx.x; k < m.n - m.first; k += gridDim.x) {
        const size_t j = m.n - 1 - k;
        const T *row = matrix_row<T>(m, j);
        for (size_t i = threadIdx.x; i < j; i += THREADS) {
            const size_t level = level_of(l, j, i, fabs((double)row[i]));
            if (level < l.n && SHARED) {
                atomicAdd(&bins[level], 1u);
            } else if (level < l.n) {
                atomicAdd(&l.counts[level], 1ull);
            }
        }
    }
    __syncthreads();
    for (size_t k = threadIdx.x; SHARED && k < l.n; k += THREADS) {
        if (bins[k] != 0) {
            atomicAdd(&l.counts[k], (unsigned long long)bins[k]);
        }
    }
}

template <typename T> void launch(const matrix_view &m, const levels_view &l, cudaStream_t stream)
{
    const unsigned blocks = (unsigned)cuda_min(BLOCKS, m.n - m.first);
    if (l.n <= SHARED_LEVELS) {
        count_levels<T, true><<<blocks, THREADS, l.n * sizeof(unsigned), stream>>>(m, l);
    } else {
        count_levels<T, false><<<blocks, THREADS, 0, stream>>>(m, l);
    }
}

} // namespace

enum status cuda_count_levels(struct queue *queue, const struct matrix *m,
                              const struct pearson_levels *levels, uint64_t *counts)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    const size_t n = levels->n, n_counts = levels->count != nullptr ? m->n_series : 0;
    const size_t words = significance_words(levels->n_samples),
                 n_words = levels->present != nullptr ? m->n_series * words : 0;
    cuda_matrix_view matrix(queue);
    cuda_span space(queue);
    STATUS_TRY(matrix.look(m));
    STATUS_TRY(space.alloc((3 * n + n_counts + n_words) * sizeof(double)));
    double *at = space.as<double>();
    {
        cuda_work work(q, STREAM_QUERY, {matrix.reads});
        STATUS_TRY(work.status);
        CUDA_TRY(cudaMemsetAsync(at, 0, n * sizeof *at, work.stream), "zero");
        CUDA_TRY(
            cudaMemcpyAsync(at + n, levels->r, n * sizeof *at, cudaMemcpyHostToDevice, work.stream),
            "levels");
        CUDA_TRY(cudaMemcpyAsync(at + 2 * n, levels->strength, n * sizeof *at,
                                 cudaMemcpyHostToDevice, work.stream),
                 "levels");
        if (n_counts > 0) {
            CUDA_TRY(cudaMemcpyAsync(at + 3 * n, levels->count, n_counts * sizeof *at,
                                     cudaMemcpyHostToDevice, work.stream),
                     "samples of series");
        }
        if (n_words > 0) {
            CUDA_TRY(cudaMemcpyAsync(at + 3 * n + n_counts, levels->present,
                                     n_words * sizeof(uint64_t), cudaMemcpyHostToDevice,
                                     work.stream),
                     "samples that are present");
        }
        const levels_view view = {at + n,
                                  at + 2 * n,
                                  n_counts > 0 ? at + 3 * n : nullptr,
                                  n_words > 0 ? (const unsigned long long *)at + 3 * n + n_counts
                                              : nullptr,
                                  n,
                                  words,
                                  levels->bound,
                                  (double)levels->n_samples,
                                  (double)levels->min_samples,
                                  (unsigned long long *)at};
        if (m->type == DTYPE_F32) {
            launch<float>(matrix.view, view, work.stream);
        } else {
            launch<double>(matrix.view, view, work.stream);
        }
        STATUS_TRY(cuda_launched("levels of significance"));
        STATUS_TRY(work.done());
    }
    return cuda_query_read(q, counts, at, n * sizeof *counts);
}
