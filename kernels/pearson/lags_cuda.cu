/*
 * lags_cuda - what further lags leave of series; of each pair the lag of the larger |r|.
 *
 * Mapping: of the first, a thread a series; of the second, a thread a pair, in blocks of SIDE x
 * SIDE pairs, so that products which are read down their columns come from cache. Bytes: 8 or 16 a
 * pair in, and 12 in, and out where they change.
 */
#include "kernels/pearson/digits_cuda.h"
#include "kernels/pearson/pearson_cuda.h"
#include "kernels/pearson/pearson_rule.h"

namespace
{

const int SIDE = 16, THREADS = 128;

/* tail_at: bytes from z to what follows its digits; 0: it has none. A series whose digits are not
 * enough at a further lag, whatever the other one, is not served. */
__global__ void __launch_bounds__(THREADS)
    take_ends(const struct pearson_overlaps o, size_t z_bytes, size_t tail_at)
{
    const size_t s = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (s >= o.n_heads + o.n_tails) {
        return;
    }
    const char *z = s < o.n_heads ? (const char *)o.heads.at + s * z_bytes
                                  : (const char *)o.tails.at + (s - o.n_heads) * z_bytes;
    const bool few =
        tail_at > 0 && ((const struct digits_tail *)(z + tail_at))->residual[DIGITS_LONG - 1] >
                           0.49 * DIGITS_LAG_BOUND;
    const unsigned unserved = pearson_ends_of(&o, s, (const double *)z);
    atomicMax((unsigned *)o.unserved.at, few ? PEARSON_LAGS_AT_ONCE - 1 : unserved);
}

__global__ void __launch_bounds__(SIDE *SIDE) keep_pairs(const struct pearson_lagged l)
{
    const size_t i = l.i0 + blockIdx.x * (size_t)SIDE + threadIdx.x,
                 j = l.j0 + blockIdx.y * (size_t)SIDE + threadIdx.y;
    if (j < l.j0 + l.n_j && i < l.i0 + l.n_i && i < j) {
        pearson_keep_pair(&l, j, i);
    }
}

} // namespace

enum status cuda_overlaps(struct queue *queue, const struct pearson_overlaps *o)
{
    const size_t n = o->n_heads + o->n_tails,
                 ends = PEARSON_LAGS_AT_ONCE * n * sizeof(struct pearson_end);
    const struct cuda_z_form form = cuda_form_of_z(queue, PEARSON_EXACT, o->n_samples);
    const size_t planes = (size_t)form.planes * digits_plane_bytes(o->n_samples);
    STATUS_TRY(cuda_expect(o->heads, o->n_heads, form.bytes, "overlaps"));
    STATUS_TRY(cuda_expect(o->tails, o->n_tails, form.bytes, "overlaps"));
    STATUS_TRY(cuda_expect(o->ends, 1, ends, "overlaps"));
    cuda_work work(cuda_queue_of(queue), STREAM_COMPUTE,
                   {queue_reads(o->heads.at, o->n_heads * form.bytes),
                    queue_reads(o->tails.at, o->n_tails * form.bytes),
                    queue_moments(o->moments, 0, n, false), queue_writes(o->ends.at, ends),
                    queue_writes(o->unserved.at, sizeof(uint32_t))});
    STATUS_TRY(work.status);
    take_ends<<<(unsigned)cuda_pieces(n, THREADS), THREADS, 0, work.stream>>>(
        *o, form.bytes, planes > 0 ? form.digits_at + planes : 0);
    STATUS_TRY(cuda_launched("overlaps"));
    return work.done();
}

enum status cuda_keep_lag(struct queue *queue, const struct pearson_lagged *l)
{
    const size_t row = l->of.n_heads * sizeof(double);
    STATUS_TRY(cuda_expect(l->products, l->of.n_tails, row, "lags"));
    STATUS_TRY(cuda_expect(l->r, l->n_j, l->pitch * sizeof(double), "lags"));
    STATUS_TRY(cuda_expect(l->lags, l->n_j, l->pitch * sizeof(float), "lags"));
    cuda_work work(cuda_queue_of(queue), STREAM_COMPUTE,
                   {queue_reads(l->products.at, l->of.n_tails * row),
                    queue_reads(l->of.ends.at, l->of.ends.bytes),
                    queue_writes(l->r.at, l->n_j * l->pitch * sizeof(double)),
                    queue_writes(l->lags.at, l->n_j * l->pitch * sizeof(float))});
    STATUS_TRY(work.status);
    const dim3 grid((unsigned)cuda_pieces(l->n_i, SIDE), (unsigned)cuda_pieces(l->n_j, SIDE));
    keep_pairs<<<grid, dim3(SIDE, SIDE), 0, work.stream>>>(*l);
    STATUS_TRY(cuda_launched("lags"));
    return work.done();
}
