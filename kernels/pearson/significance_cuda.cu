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

/* The level that a pair reaches; l.n: none. */
__device__ __forceinline__ size_t level_of(const struct pearson_levels &l, size_t j, size_t i,
                                           double r)
{
    return !(r >= l.r[0]) ? l.n
           : significance_has_gaps(&l, j) || significance_has_gaps(&l, i)
               ? significance_level_of_gaps(&l, j, i, r)
               : significance_level(l.r, l.n, r);
}

/* l: in device memory. */
template <typename T, bool SHARED>
__global__ void __launch_bounds__(THREADS)
    count_levels(const __grid_constant__ matrix_view m,
                 const __grid_constant__ struct pearson_levels l, unsigned long long *counts)
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
                atomicAdd(&counts[level], 1ull);
            }
        }
    }
    __syncthreads();
    for (size_t k = threadIdx.x; SHARED && k < l.n; k += THREADS) {
        if (bins[k] != 0) {
            atomicAdd(&counts[k], (unsigned long long)bins[k]);
        }
    }
}

template <typename T>
void launch(const matrix_view &m, const struct pearson_levels &l, unsigned long long *counts,
            cudaStream_t stream)
{
    const unsigned blocks = (unsigned)cuda_min(BLOCKS, m.n - m.first);
    if (l.n <= SHARED_LEVELS) {
        count_levels<T, true><<<blocks, THREADS, l.n * sizeof(unsigned), stream>>>(m, l, counts);
    } else {
        count_levels<T, false><<<blocks, THREADS, 0, stream>>>(m, l, counts);
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
        struct pearson_levels view = *levels;
        view.r = at + n;
        view.strength = at + 2 * n;
        view.count = n_counts > 0 ? at + 3 * n : nullptr;
        view.present = n_words > 0 ? (const uint64_t *)(at + 3 * n + n_counts) : nullptr;
        if (m->type == DTYPE_F32) {
            launch<float>(matrix.view, view, (unsigned long long *)at, work.stream);
        } else {
            launch<double>(matrix.view, view, (unsigned long long *)at, work.stream);
        }
        STATUS_TRY(cuda_launched("levels of significance"));
        STATUS_TRY(work.done());
    }
    return cuda_query_read(q, counts, at, n * sizeof *counts);
}
