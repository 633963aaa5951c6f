/*
 * pairs_cuda - single pairs in double, from the series themselves, or parts of them.
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

template <typename T>
__global__ void __launch_bounds__(PAIR_THREADS)
    take_pairs(struct series_rows x, struct moments moments, struct matrix_pair *pairs)
{
    struct matrix_pair *pair = pairs + blockIdx.x;
    const size_t i = pair->i, j = pair->j;
    const double *mean = moments_array(moments, MOMENTS_MEAN);
    double r = NAN;
    if (!moments_degenerate_at(moments, i) && !moments_degenerate_at(moments, j)) {
        const T *at = (const T *)x.at.at;
        const pair_series<false, T> series = {at + i * x.n_samples, at + j * x.n_samples};
        r = pearson_of_centred(pair_common_of(series, x.n_samples, mean[i], mean[j]).sums,
                               moments_least_count(moments));
    }
    if (threadIdx.x == 0) {
        pair->r = r;
    }
}

template <typename T>
__global__ void __launch_bounds__(PAIR_THREADS)
    add_parts(struct series_rows x, struct pearson_pair *pairs)
{
    struct pearson_pair *pair = pairs + blockIdx.x;
    const T *at = (const T *)x.at.at;
    const pair_series<false, T> series = {at + pair->i * x.n_samples, at + pair->j * x.n_samples};
    double about_i = pair->about_i, about_j = pair->about_j;
    if (about_i != about_i && !pair_first(series, x.n_samples, &about_i, &about_j)) {
        return;
    }
    const struct pearson_sums more = pair_pass(series, x.n_samples, about_i, about_j);
    if (threadIdx.x == 0) {
        const struct pearson_sums s = pair->sums;
        pair->sums = {s.n + more.n,   s.x + more.x,   s.y + more.y,
                      s.xx + more.xx, s.yy + more.yy, s.xy + more.xy};
        pair->about_i = about_i;
        pair->about_j = about_j;
    }
}

/* At most AT_A_TIME pairs. */
enum status take_some(struct cuda_queue *q, const struct series_rows *x, struct moments moments,
                      struct matrix_pair *pairs, size_t n)
{
    const size_t bytes = n * sizeof *pairs;
    uint64_t ticket;
    cuda_span there(&q->base);
    STATUS_TRY(there.alloc(bytes));
    STATUS_TRY(cuda_upload(&q->base, there.span, pairs, bytes, &ticket));
    cuda_work work(q, STREAM_COMPUTE,
                   {queue_reads(x->at.at, series_rows_bytes(x)), queue_writes(there.span.at, bytes),
                    queue_moments(moments, 0, moments.capacity, false)});
    STATUS_TRY(work.status);
    auto kernel = x->type == DTYPE_F32 ? take_pairs<float> : take_pairs<double>;
    kernel<<<(unsigned)n, PAIR_THREADS, 0, work.stream>>>(*x, moments,
                                                          there.as<struct matrix_pair>());
    STATUS_TRY(cuda_launched("pairs"));
    STATUS_TRY(work.done());
    return cuda_download(&q->base, pairs, there.span, bytes);
}

} // namespace

enum status cuda_exact_pairs(struct queue *queue, const struct series_rows *x,
                             struct moments moments, struct matrix_pair *pairs, size_t n)
{
    STATUS_TRY(cuda_expect_series(x, moments, "pairs"));
    for (size_t k = 0; k < n; k++) {
        if (cuda_max(pairs[k].i, pairs[k].j) >= x->n_series) {
            return status_fail(STATUS_INTERNAL, "pairs: series beyond %zu", x->n_series);
        }
    }
    for (size_t k = 0; k < n; k += AT_A_TIME) {
        STATUS_TRY(
            take_some(cuda_queue_of(queue), x, moments, pairs + k, cuda_min(AT_A_TIME, n - k)));
    }
    return STATUS_OK;
}

enum status cuda_pairs_add(struct queue *queue, const struct series_rows *x, struct span pairs,
                           size_t n)
{
    const size_t each = sizeof(struct pearson_pair), bytes = series_rows_bytes(x);
    STATUS_TRY(cuda_expect(x->at, bytes, 1, "pairs"));
    STATUS_TRY(cuda_expect(pairs, n, each, "pairs"));
    if (n == 0 || x->n_samples == 0) {
        return STATUS_OK;
    }
    cuda_work work(cuda_queue_of(queue), STREAM_COMPUTE,
                   {queue_reads(x->at.at, bytes), queue_writes(pairs.at, n * each)});
    STATUS_TRY(work.status);
    auto kernel = x->type == DTYPE_F32 ? add_parts<float> : add_parts<double>;
    kernel<<<(unsigned)n, PAIR_THREADS, 0, work.stream>>>(*x, (struct pearson_pair *)pairs.at);
    STATUS_TRY(cuda_launched("parts of pairs"));
    return work.done();
}
