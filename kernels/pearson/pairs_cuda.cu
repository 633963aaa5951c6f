/*
 * pairs_cuda - single pairs taken again in double, from the series themselves.
 *
 * Mapping: a block a pair. Bytes: both rows, once or twice. Flops: about 12 a sample in double.
 * Error of r: twice that of the sums (pairs_cuda.h), 4.6e-14 for complete series of 2^20 samples.
 */
#include "kernels/pearson/pairs_cuda.h"
#include "kernels/pearson/pearson_cuda.h"

namespace
{

/* Pairs that are sent to the device at a time. */
const size_t AT_A_TIME = (size_t)1 << 20;

struct pairs_args {
    const void *x;
    size_t n_samples;
    const double *moments;
    size_t capacity;
    struct matrix_pair *pairs;
};

__device__ bool lost(const pairs_args &args, size_t entry)
{
    const double *m = args.moments + entry;
    return moments_degenerate(m[MOMENTS_COUNT * args.capacity], m[MOMENTS_M2 * args.capacity],
                              m[MOMENTS_MIN * args.capacity], m[MOMENTS_MAX * args.capacity]) != 0;
}

template <typename T> __global__ void __launch_bounds__(PAIR_THREADS) take_pairs(pairs_args args)
{
    struct matrix_pair *pair = args.pairs + blockIdx.x;
    const size_t i = pair->i, j = pair->j;
    const double *mean = args.moments + MOMENTS_MEAN * args.capacity;
    double r = NAN;
    if (!lost(args, i) && !lost(args, j)) {
        const T *x = (const T *)args.x;
        const pair_series<false, T> series = {x + i * args.n_samples, x + j * args.n_samples, 1};
        r = pearson_of_centred(pair_common_of(series, args.n_samples, mean[i], mean[j]).sums);
    }
    if (threadIdx.x == 0) {
        pair->r = r;
    }
}

/* At most AT_A_TIME pairs. */
enum status take_some(struct cuda_queue *q, const pairs_args *args, enum dtype type, size_t x_bytes,
                      struct moments moments, struct matrix_pair *pairs, size_t n)
{
    const size_t bytes = n * sizeof *pairs;
    uint64_t ticket;
    cuda_span there(&q->base);
    STATUS_TRY(there.alloc(bytes));
    STATUS_TRY(cuda_upload(&q->base, there.span, pairs, bytes, &ticket));
    cuda_work work(q, LANE_COMPUTE,
                   {queue_reads(args->x, x_bytes), queue_writes(there.span.at, bytes),
                    queue_moments(moments, 0, moments.capacity, false)});
    STATUS_TRY(work.status);
    pairs_args now = *args;
    now.pairs = there.as<struct matrix_pair>();
    if (type == DTYPE_F32) {
        take_pairs<float><<<(unsigned)n, PAIR_THREADS, 0, work.stream>>>(now);
    } else {
        take_pairs<double><<<(unsigned)n, PAIR_THREADS, 0, work.stream>>>(now);
    }
    STATUS_TRY(cuda_launched("pairs"));
    STATUS_TRY(work.done());
    return cuda_download(&q->base, pairs, there.span, bytes);
}

} // namespace

enum status cuda_exact_pairs(struct queue *queue, struct span x, enum dtype type, size_t n_samples,
                             struct moments moments, struct matrix_pair *pairs, size_t n)
{
    const pairs_args args = {x.at, n_samples, (const double *)moments.at.at, moments.capacity,
                             nullptr};
    size_t most = 0;
    for (size_t k = 0; k < n; k++) {
        most = cuda_max(most, (size_t)cuda_max(pairs[k].i, pairs[k].j) + 1);
    }
    STATUS_TRY(cuda_expect(x, most, n_samples * dtype_bytes(type), "pairs"));
    if (most > moments.capacity) {
        return status_fail(STATUS_INTERNAL, "pairs: series %zu of %zu", most - 1, moments.capacity);
    }
    for (size_t k = 0; k < n; k += AT_A_TIME) {
        STATUS_TRY(take_some(cuda_queue_of(queue), &args, type,
                             most * n_samples * dtype_bytes(type), moments, pairs + k,
                             cuda_min(AT_A_TIME, n - k)));
    }
    return STATUS_OK;
}
