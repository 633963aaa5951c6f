/*
 * rank_cuda - the k-th |r| and the median of |r| among all pairs, exactly, without sorting.
 *
 * Sweeps over the matrix (matrix_rank.h). For doubles spread over [0, 1] that takes two counts and
 * a collection; a matrix of few pairs is collected at once.
 *
 * Mapping: a block a row at a time, counts in shared memory. Bytes: the matrix once a sweep.
 */
#include "kernels/matrix/matrix_cuda.h"
#include "kernels/matrix/matrix_rank.h"

#include <memory>
#include <new>

namespace
{

const int THREADS = 512, BLOCKS = 396;
const int DIGIT = 14, BINS = 1 << DIGIT;
const size_t FEW = 16384;

struct sweep_args {
    struct matrix_digit digit;
    unsigned long long *counts, *n_kept;
    uint64_t *kept;
};

template <typename T>
__global__ void __launch_bounds__(THREADS)
    count_digit(const __grid_constant__ matrix_view m, sweep_args args)
{
    extern __shared__ unsigned bins[];
    for (int b = threadIdx.x; b < BINS; b += THREADS) {
        bins[b] = 0;
    }
    __syncthreads();
    for (size_t k = blockIdx.x; k < m.n - m.first; k += gridDim.x) {
        const size_t j = m.n - 1 - k;
        const T *row = matrix_row<T>(m, j);
        for (size_t i = threadIdx.x; i < j; i += THREADS) {
            const uint64_t key = matrix_key((double)row[i]);
            if (matrix_digit_counts(args.digit, key)) {
                atomicAdd(&bins[matrix_digit_bin(args.digit, key)], 1u);
            }
        }
    }
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += THREADS) {
        if (bins[b] != 0) {
            atomicAdd(&args.counts[b], (unsigned long long)bins[b]);
        }
    }
}

/* At most FEW keys are kept; all are counted. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    collect(const __grid_constant__ matrix_view m, sweep_args args)
{
    for (size_t k = blockIdx.x; k < m.n - m.first; k += gridDim.x) {
        const size_t j = m.n - 1 - k;
        const T *row = matrix_row<T>(m, j);
        for (size_t i = threadIdx.x; i < j; i += THREADS) {
            const uint64_t key = matrix_key((double)row[i]);
            if (matrix_digit_counts(args.digit, key)) {
                const unsigned long long at = atomicAdd(args.n_kept, 1ull);
                if (at < FEW) {
                    args.kept[at] = key;
                }
            }
        }
    }
}

/* Sweeps of one selection; `arg` of the two that follow. */
struct sweeps {
    struct queue *q;
    const struct matrix *m;
    const matrix_view *view;
    uint64_t *host; /* what a sweep has left: a number, and then counts[BINS] or kept[FEW] */
};

/* Reads back n_read numbers. */
enum status sweep(const sweeps *s, struct matrix_digit digit, bool counting, size_t n_read)
{
    const size_t bytes = (FEW + 1) * sizeof(uint64_t), shared = BINS * sizeof(unsigned);
    void *space;
    sweep_args args = {digit, nullptr, nullptr, nullptr};
    cuda_work work(cuda_queue_of(s->q), STREAM_QUERY);
    STATUS_TRY(work.status);
    STATUS_TRY(cuda_queue_scratch(work.q, STREAM_QUERY, bytes, &space));
    args.n_kept = (unsigned long long *)space;
    args.counts = args.n_kept + 1;
    args.kept = (uint64_t *)space + 1;
    CUDA_TRY(cudaMemsetAsync(space, 0, bytes, work.stream), "zero");
    const unsigned blocks = (unsigned)cuda_min(BLOCKS, s->m->n_series - s->m->first);
    if (counting) {
        auto kernel = s->m->type == DTYPE_F32 ? count_digit<float> : count_digit<double>;
        CUDA_TRY(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared),
            "shared memory of a selection");
        kernel<<<blocks, THREADS, shared, work.stream>>>(*s->view, args);
    } else {
        auto kernel = s->m->type == DTYPE_F32 ? collect<float> : collect<double>;
        kernel<<<blocks, THREADS, 0, work.stream>>>(*s->view, args);
    }
    STATUS_TRY(cuda_launched("selection by rank"));
    STATUS_TRY(work.done());
    return cuda_query_read(work.q, s->host, space, (1 + n_read) * sizeof(uint64_t));
}

enum status count_all(void *arg, struct matrix_digit digit, uint64_t *counts)
{
    const sweeps *s = (const sweeps *)arg;
    STATUS_TRY(sweep(s, digit, true, BINS));
    memcpy(counts, s->host + 1, BINS * sizeof *counts);
    return STATUS_OK;
}

enum status collect_all(void *arg, struct matrix_digit digit, double *values, size_t *n)
{
    const sweeps *s = (const sweeps *)arg;
    STATUS_TRY(sweep(s, digit, false, FEW));
    *n = (size_t)s->host[0];
    memcpy(values, s->host + 1, *n * sizeof *values);
    return STATUS_OK;
}

/* The median of |r| where from_top is 0, else the from_top-th largest; NaN when there is none. */
enum status rank_abs(struct queue *q, const struct matrix *m, uint64_t from_top, double *out)
{
    cuda_matrix_view view(q);
    *out = (double)NAN;
    if (m->n_series < 2) {
        return STATUS_OK;
    }
    STATUS_TRY(view.look(m));
    std::unique_ptr<uint64_t[]> space(new (std::nothrow) uint64_t[1 + 2 * FEW + BINS]);
    if (space == nullptr) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a selection");
    }
    uint64_t *const host = space.get();
    sweeps on_device = {q, m, &view.view, host};
    const struct matrix_sweeps s = {
        &on_device, DIGIT,      FEW, host + 1 + FEW, (double *)(host + 1 + FEW + BINS),
        count_all,  collect_all};
    return matrix_rank_abs(&s, matrix_band_pairs(m), from_top, out);
}

} // namespace

enum status cuda_kth_abs(struct queue *q, const struct matrix *m, uint64_t k, double *out)
{
    return rank_abs(q, m, k == 0 ? 1 : k, out);
}

enum status cuda_median_abs(struct queue *q, const struct matrix *m, double *out)
{
    return rank_abs(q, m, 0, out);
}
