/*
 * rank_cuda - the k-th |r| and the median of |r| among all pairs, exactly, without sorting.
 *
 * Radix selection on the bits of |r|, whose order is that of the numbers: a sweep counts the
 * leading DIGIT bits of those that share what is known so far; the digit that holds the rank
 * becomes known. Once few enough are left they are collected, and the host picks. For doubles
 * spread over [0, 1] that takes two counts and a collection; a matrix of few pairs is collected at
 * once.
 *
 * Mapping: a block a row at a time, counts in shared memory. Bytes: the matrix once a sweep.
 */
#include "kernels/matrix/matrix_cuda.h"

#include <algorithm>
#include <math.h>
#include <stdlib.h>

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
    for (size_t k = blockIdx.x; k < m.n; k += gridDim.x) {
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
    for (size_t k = blockIdx.x; k < m.n; k += gridDim.x) {
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

/* One selection. */
class ranks
{
  public:
    ranks(struct queue *queue, const struct matrix *matrix) : q(queue), m(matrix), on_device(queue)
    {
    }
    ~ranks()
    {
        free(host);
    }
    enum status prepare();
    /* The key of ascending rank `rank` (from 0) and, where it was found with it, that of the next.
     */
    enum status find(uint64_t rank, uint64_t *key, uint64_t *next);

    uint64_t n_defined = 0; /* after prepare */

  private:
    enum status sweep(bool counting, size_t n_read);
    enum status count();
    enum status gather(size_t most);

    struct queue *q;
    const struct matrix *m;
    cuda_matrix_view on_device;
    uint64_t *host = nullptr;
    uint64_t first_counts[BINS]; /* of the leading digit */
    size_t n_few = 0;            /* all of them were collected */
    sweep_args args = {};
};

/* Reads back n_read numbers. */
enum status ranks::sweep(bool counting, size_t n_read)
{
    const size_t bytes = (FEW + 1) * sizeof(uint64_t), shared = BINS * sizeof(unsigned);
    void *space; /* a number, and then counts[BINS] or kept[FEW] */
    cuda_work work(cuda_queue_of(q), STREAM_QUERY);
    STATUS_TRY(work.status);
    STATUS_TRY(cuda_queue_scratch(work.q, STREAM_QUERY, bytes, &space));
    args.n_kept = (unsigned long long *)space;
    args.counts = args.n_kept + 1;
    args.kept = (uint64_t *)space + 1;
    CUDA_TRY(cudaMemsetAsync(space, 0, bytes, work.stream), "zero");
    const unsigned blocks = (unsigned)cuda_min(BLOCKS, m->n_series);
    if (counting) {
        auto kernel = m->type == DTYPE_F32 ? count_digit<float> : count_digit<double>;
        CUDA_TRY(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared),
            "shared memory of a selection");
        kernel<<<blocks, THREADS, shared, work.stream>>>(on_device.view, args);
    } else {
        auto kernel = m->type == DTYPE_F32 ? collect<float> : collect<double>;
        kernel<<<blocks, THREADS, 0, work.stream>>>(on_device.view, args);
    }
    STATUS_TRY(cuda_launched("selection by rank"));
    STATUS_TRY(work.done());
    return cuda_query_read(work.q, host, space, (1 + n_read) * sizeof(uint64_t));
}

/* The next digit. */
enum status ranks::count()
{
    args.digit.shift = args.digit.above > DIGIT ? args.digit.above - DIGIT : 0;
    return sweep(true, BINS);
}

/* At most `most` are expected. */
enum status ranks::gather(size_t most)
{
    STATUS_TRY(sweep(false, most));
    n_few = (size_t)host[0];
    return STATUS_OK;
}

enum status ranks::prepare()
{
    const size_t bytes = (FEW + 1) * sizeof(uint64_t);
    const uint64_t pairs = matrix_n_pairs(m->n_series);
    STATUS_TRY(on_device.look(m));
    host = (uint64_t *)malloc(bytes);
    if (host == nullptr) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a selection (%zu bytes)", bytes);
    }
    args.digit.above = MATRIX_KEY_BITS;
    if (pairs <= FEW) {
        STATUS_TRY(gather((size_t)pairs));
        n_defined = n_few;
        return STATUS_OK;
    }
    STATUS_TRY(count());
    for (int b = 0; b < BINS; b++) {
        first_counts[b] = host[1 + b];
        n_defined += first_counts[b];
    }
    return STATUS_OK;
}

enum status ranks::find(uint64_t rank, uint64_t *key, uint64_t *next)
{
    const bool all = matrix_n_pairs(m->n_series) <= FEW;
    uint64_t left = 0, below = 0;
    args.digit = {0, MATRIX_KEY_BITS, MATRIX_KEY_BITS - DIGIT};
    for (bool first = true; !all && args.digit.above > 0; first = false) {
        if (!first) {
            STATUS_TRY(count());
        }
        const uint64_t *counts = first ? first_counts : host + 1;
        left = counts[matrix_digit_learn(&args.digit, counts, rank, &below)];
        if (left <= FEW) {
            STATUS_TRY(gather((size_t)left));
            break;
        }
    }
    if (!all && left > FEW) {
        /* every bit is known, and shared by all that are left */
        *key = args.digit.prefix;
        *next = rank + 1 < below + left ? *key : UINT64_MAX;
        return STATUS_OK;
    }
    uint64_t *few = host + 1, *wanted = few + (rank - below), *end = few + n_few;
    std::nth_element(few, wanted, end);
    *key = *wanted;
    *next = wanted + 1 < end ? *std::min_element(wanted + 1, end) : UINT64_MAX;
    return STATUS_OK;
}

/* The median of |r| where from_top is 0, else the from_top-th largest; NaN when there is none. */
enum status rank_abs(struct queue *q, const struct matrix *m, uint64_t from_top, double *out)
{
    uint64_t low, high, key, next, unused;
    *out = (double)NAN;
    if (m->n_series < 2) {
        return STATUS_OK;
    }
    ranks r(q, m);
    STATUS_TRY(r.prepare());
    if (r.n_defined == 0) {
        return STATUS_OK;
    }
    matrix_ranks(r.n_defined, from_top, &low, &high);
    STATUS_TRY(r.find(low, &key, &next));
    if (high == low) {
        next = key;
    } else if (next == UINT64_MAX) {
        STATUS_TRY(r.find(high, &next, &unused));
    }
    *out =
        key == next ? matrix_key_value(key) : (matrix_key_value(key) + matrix_key_value(next)) / 2;
    return STATUS_OK;
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
