/*
 * column_gaps_cuda - pairs of columns of which one or both have missing samples.
 *
 * A series gets a slot at its first gap. A pair is kept, with its own count, means and co-moments
 * of the common samples, by the slot that came first; it starts from the totals that were common to
 * both until then. A slab's contribution comes from products of its values Y, masks W and squares Q
 * (gaps_cuda.cu), from its samples where the sums cancel, from the samples as they came where the
 * centred ones have lost it (pearson_rule.h), and is merged by Chan's formula.
 *
 * Mapping: masks and squares, a thread an element; merges and counts, a thread a pair; repetitions,
 * a block a pair.
 * Flops: 6 products of 2 a sample and pair with a slot. Bytes: 16 a sample, 100 a pair and slab.
 */
#include "kernels/pearson/columns_cuda.h"
#include "kernels/pearson/pairs_cuda.h"
#include "kernels/pearson/pearson_cuda.h"

#include <math.h>

namespace
{

const int THREADS = 256, RECOMPUTE_BLOCKS = 1024;
const size_t BATCH = 128; /* slots whose products are taken at a time */
const size_t LEAST_CAPACITY = 64;

struct gap_args {
    columns_series at;
    size_t n_series, n, n_total;
    const double *triangle, *y;
    double *pairs;
    const int *gapped;
    size_t first, n_slots;                          /* of this batch, or newly admitted */
    const double *x, *count, *xx, *xy, *sum_y, *yy; /* n_slots x n_series each */
    uint2 *recompute;
    unsigned *n_recompute;
    slab_view slab; /* as it came */
};

/* The pair of a slot with series j; its fields lie n_series apart. */
__device__ __forceinline__ double *entry(const gap_args &args, size_t slot, size_t j)
{
    return args.pairs + slot * PAIR_FIELDS * args.n_series + j;
}

/* Grid: (series, new slots). Another slot keeps the pair where the other series has one already. */
__global__ void start_pairs(gap_args args)
{
    const size_t j = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (j >= args.n_series) {
        return;
    }
    const size_t slot = args.first + blockIdx.y, g = (size_t)args.gapped[slot];
    const bool held = j != g && args.n_total > 0 &&
                      (args.at.slot[j] == COLUMNS_COMPLETE || args.at.slot[j] > (int)slot);
    struct columns_pair p = {};
    if (held) {
        const size_t high = g > j ? g : j, low = g > j ? j : g;
        p = columns_pair_of(args.at.all + g, args.at.all + j, args.n_total,
                            args.triangle[columns_element(args.n_series, high, low)]);
    }
    columns_pair_store(&p, entry(args, slot, j), args.n_series);
}

__global__ void masks_and_squares(const double *y, size_t elements, double *w, double *squares)
{
    const size_t e = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (e < elements) {
        const double v = y[e];
        w[e] = pair_present<true>(v) ? 1 : 0;
        squares[e] = v * v;
    }
}

/* Rows of [Y W Q] of the batch's columns. */
__global__ void gather_columns(gap_args args, double *out)
{
    const size_t k = blockIdx.y * (size_t)THREADS + threadIdx.x, t = blockIdx.x;
    if (k < args.n_slots) {
        const double v = args.y[t * args.n_series + (size_t)args.gapped[args.first + k]];
        double *row = out + t * 3 * args.n_slots + k;
        row[0] = v;
        row[args.n_slots] = pair_present<true>(v) ? 1 : 0;
        row[2 * args.n_slots] = v * v;
    }
}

/* Adds the slab's sums of series g (in `slot`) and j to their pair. */
__device__ void merge_pair(const gap_args &args, size_t slot, size_t j, const pearson_common &sums)
{
    double *at = entry(args, slot, j);
    struct columns_pair p = columns_pair_load(at, args.n_series);
    columns_pair_merge(&p, &sums);
    columns_pair_store(&p, at, args.n_series);
}

/* Grid: (series, slots of the batch). */
__global__ void merge_pairs(gap_args args)
{
    const size_t j = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (j >= args.n_series) {
        return;
    }
    const size_t slot = args.first + blockIdx.y, g = (size_t)args.gapped[slot];
    const int other = args.at.slot[j];
    if (j == g || (other != COLUMNS_COMPLETE && other < (int)slot)) {
        return;
    }
    const size_t at = blockIdx.y * args.n_series + j;
    const struct pearson_sums raw = {args.count[at], args.x[at],  args.sum_y[at],
                                     args.xx[at],    args.yy[at], args.xy[at]};
    struct pearson_common c = {raw, columns_mean(args.at.slab + g), columns_mean(args.at.slab + j),
                               true};
    if (!(raw.n > 0)) {
        return;
    }
    if (!pearson_centre_sums(&c.sums)) { /* a single sample never passes */
        args.recompute[atomicAdd(args.n_recompute, 1u)] = make_uint2((unsigned)slot, (unsigned)j);
        return;
    }
    c.mean_x = pearson_mean_of(c.mean_x.at, raw.x / raw.n, c.mean_x.low);
    c.mean_y = pearson_mean_of(c.mean_y.at, raw.y / raw.n, c.mean_y.low);
    merge_pair(args, slot, j, c);
}

/* Series g and j as they came. */
template <typename T> struct pair_slab {
    const slab_view &slab;
    size_t g, j;
    __device__ __forceinline__ bool get(size_t t, double *a, double *b) const
    {
        *a = slab_sample<T>(slab, t, g);
        *b = slab_sample<T>(slab, t, j);
        return *a == *a && *b == *b;
    }
};

template <typename T> __global__ void __launch_bounds__(PAIR_THREADS) recompute_pairs(gap_args args)
{
    const unsigned n = *args.n_recompute;
    for (unsigned k = blockIdx.x; k < n; k += gridDim.x) {
        const size_t slot = args.recompute[k].x, j = args.recompute[k].y,
                     g = (size_t)args.gapped[slot];
        const pair_series<true, double> y = {args.y + g, args.y + j, args.n_series};
        struct pearson_common c = pair_common_of(y, args.n, 0, 0);
        const struct pearson_mean mean_g = columns_mean(args.at.slab + g),
                                  mean_j = columns_mean(args.at.slab + j);
        c.mean_x = pearson_mean_of(mean_g.at, c.mean_x.at, mean_g.low + c.mean_x.low);
        c.mean_y = pearson_mean_of(mean_j.at, c.mean_y.at, mean_j.low + c.mean_y.low);
        if (!c.sure) {
            const pair_slab<T> slab = {args.slab, g, j};
            c = pair_common_of(slab, args.n, c.mean_x.at, c.mean_y.at);
        }
        if (threadIdx.x == 0) {
            merge_pair(args, slot, j, c);
        }
        __syncthreads();
    }
}

/* Room for `n` slots: pairs keep their places. From half of the series on there is room for all, so
 * that what is copied is less than half of it. */
enum status grow(struct cuda_queue *q, struct columns *c, size_t n)
{
    const size_t row = PAIR_FIELDS * c->n_series * sizeof(double);
    size_t capacity = cuda_max(LEAST_CAPACITY, 2 * c->capacity);
    capacity = cuda_max(capacity, n);
    capacity = capacity < c->n_series / 2 ? capacity : c->n_series;
    if (n <= c->capacity) {
        return STATUS_OK;
    }
    struct span pairs, gapped;
    STATUS_TRY(cuda_alloc(&q->base, capacity * row, &pairs));
    enum status status = cuda_alloc(&q->base, capacity * sizeof(int), &gapped);
    if (status == STATUS_OK && c->n_gapped > 0) {
        status = cuda_copy(&q->base, pairs, c->pairs, c->n_gapped * row);
    }
    if (status != STATUS_OK) {
        cuda_release(&q->base, pairs);
        cuda_release(&q->base, gapped);
        return status;
    }
    cuda_release(&q->base, c->pairs);
    cuda_release(&q->base, c->gapped_there);
    c->pairs = pairs;
    c->gapped_there = gapped;
    c->capacity = capacity;
    return STATUS_OK;
}

gap_args args_of(const struct columns *c, const double *y, size_t n)
{
    gap_args args = {};
    args.at = c->at;
    args.n_series = c->n_series;
    args.n = n;
    args.n_total = c->n_total;
    args.triangle = (const double *)c->triangle.at;
    args.y = y;
    args.pairs = (double *)c->pairs.at;
    args.gapped = (const int *)c->gapped_there.at;
    args.slab = c->slab;
    return args;
}

/* The lists on the device as on the host. */
enum status send_lists(struct cuda_queue *q, const struct columns *c)
{
    const struct span slot = {c->at.slot, c->n_series * sizeof *c->slot};
    uint64_t ticket;
    STATUS_TRY(cuda_upload(&q->base, slot, c->slot, slot.bytes, &ticket));
    STATUS_TRY(cuda_upload(&q->base, c->gapped_there, c->gapped, c->n_gapped * sizeof *c->gapped,
                           &ticket));
    return cuda_upload_wait(&q->base, ticket);
}

/* Products of the batch, in three calls: [Y W Q] W', [Y W] Y', W Q'. */
enum status multiply(struct cuda_queue *q, const gap_args *args, const double *gathered,
                     const double *w, const double *squares)
{
    const size_t slots = args->n_slots, m = args->n_series;
    const struct cuda_product of_masks = {
        true, false, gathered, w, 3 * slots, m, args->n, 3 * slots, m, (double *)args->x, m};
    const struct cuda_product of_values = {
        true, false, gathered, args->y, 2 * slots, m, args->n, 3 * slots, m, (double *)args->xy, m};
    const struct cuda_product of_squares = {
        true,      false, gathered + slots,   squares, slots, m, args->n,
        3 * slots, m,     (double *)args->yy, m};
    STATUS_TRY(cuda_multiply(q, STREAM_COMPUTE, &of_masks));
    STATUS_TRY(cuda_multiply(q, STREAM_COMPUTE, &of_values));
    return cuda_multiply(q, STREAM_COMPUTE, &of_squares);
}

/* Working memory: masks and squares of the slab, a batch's columns, products and list. */
struct workspace {
    double *w, *squares, *gathered, *products;
    uint2 *recompute;
    unsigned *n_recompute;
    size_t bytes;
};

struct workspace lay_out(char *at, size_t n_series, size_t n)
{
    const size_t elements = n_series * n, slots = cuda_min(BATCH, n_series);
    struct workspace s;
    s.w = (double *)at;
    s.squares = s.w + elements;
    s.gathered = s.squares + elements;
    s.products = s.gathered + 3 * slots * n;
    s.recompute = (uint2 *)(s.products + 6 * slots * n_series);
    s.n_recompute = (unsigned *)(s.recompute + slots * n_series);
    s.bytes = (size_t)((char *)(s.n_recompute + 1) - at);
    return s;
}

/* Pairs that are sent to the device at a time. */
const size_t PAIRS_AT_A_TIME = (size_t)1 << 20;

/* A thread a pair: the lower slot has it. */
__global__ void count_common(gap_args args, struct matrix_pair *pairs, size_t n)
{
    const size_t k = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (k < n) {
        const size_t i = pairs[k].i, j = pairs[k].j;
        const int of_i = args.at.slot[i], of_j = args.at.slot[j];
        pairs[k].r = of_i < of_j ? *entry(args, (size_t)of_i, j) : *entry(args, (size_t)of_j, i);
    }
}

enum status count_some(struct cuda_queue *q, const struct columns *c, struct matrix_pair *pairs,
                       size_t n)
{
    const size_t bytes = n * sizeof *pairs;
    uint64_t ticket;
    cuda_span there(&q->base);
    STATUS_TRY(there.alloc(bytes));
    STATUS_TRY(cuda_upload(&q->base, there.span, pairs, bytes, &ticket));
    cuda_work work(q, STREAM_COMPUTE,
                   {queue_reads(c->small.at, c->small.bytes),
                    queue_reads(c->pairs.at, c->pairs.bytes), queue_writes(there.span.at, bytes)});
    STATUS_TRY(work.status);
    count_common<<<(unsigned)cuda_pieces(n, THREADS), THREADS, 0, work.stream>>>(
        args_of(c, nullptr, 0), there.as<struct matrix_pair>(), n);
    STATUS_TRY(cuda_launched("samples in common"));
    STATUS_TRY(work.done());
    return cuda_download(&q->base, pairs, there.span, bytes);
}

enum status add_batch(struct cuda_queue *q, gap_args *args, const struct workspace *s,
                      cudaStream_t stream)
{
    const size_t product = args->n_slots * args->n_series;
    args->x = s->products, args->count = args->x + product, args->xx = args->count + product;
    args->xy = args->xx + product, args->sum_y = args->xy + product,
    args->yy = args->sum_y + product;
    args->recompute = s->recompute;
    args->n_recompute = s->n_recompute;
    gather_columns<<<dim3((unsigned)args->n, (unsigned)cuda_pieces(args->n_slots, THREADS)),
                     THREADS, 0, stream>>>(*args, s->gathered);
    STATUS_TRY(cuda_launched("gathering of columns"));
    STATUS_TRY(multiply(q, args, s->gathered, s->w, s->squares));
    CUDA_TRY(cudaMemsetAsync(args->n_recompute, 0, sizeof *args->n_recompute, stream), "zero");
    merge_pairs<<<dim3((unsigned)cuda_pieces(args->n_series, THREADS), (unsigned)args->n_slots),
                  THREADS, 0, stream>>>(*args);
    STATUS_TRY(cuda_launched("merge of pairs of columns"));
    auto kernel = args->slab.type == DTYPE_F32 ? recompute_pairs<float> : recompute_pairs<double>;
    kernel<<<RECOMPUTE_BLOCKS, PAIR_THREADS, 0, stream>>>(*args);
    return cuda_launched("repeated pairs of columns");
}

} // namespace

size_t cuda_column_gaps_bytes(size_t n_series, size_t slab_samples)
{
    const size_t slot = PAIR_FIELDS * n_series * sizeof(double) + sizeof(int);
    return (n_series + n_series / 2) * slot + lay_out(nullptr, n_series, slab_samples).bytes;
}

enum status cuda_column_gaps_admit(struct cuda_queue *q, struct columns *c, size_t n)
{
    const size_t first = c->n_gapped;
    size_t admitted = first;
    for (size_t s = 0; s < c->n_series; s++) {
        admitted += c->host_count[s] < (double)n && c->slot[s] == COLUMNS_COMPLETE;
    }
    if (admitted == first) {
        return STATUS_OK;
    }
    STATUS_TRY(grow(q, c, admitted));
    for (size_t s = 0; s < c->n_series; s++) {
        if (c->host_count[s] < (double)n && c->slot[s] == COLUMNS_COMPLETE) {
            c->gapped[c->n_gapped] = (int)s;
            c->slot[s] = (int)c->n_gapped++;
        }
    }
    STATUS_TRY(send_lists(q, c));
    gap_args args = args_of(c, nullptr, n);
    args.first = first;
    args.n_slots = admitted - first;
    cuda_work work(q, STREAM_COMPUTE,
                   {queue_reads(c->small.at, c->small.bytes),
                    queue_writes(c->pairs.at, c->pairs.bytes),
                    queue_reads(c->triangle.at, c->triangle.bytes),
                    queue_reads(c->gapped_there.at, c->gapped_there.bytes)});
    STATUS_TRY(work.status);
    for (size_t done = 0; done < args.n_slots; done += 32768) {
        gap_args part = args;
        part.first += done;
        start_pairs<<<dim3((unsigned)cuda_pieces(c->n_series, THREADS),
                           (unsigned)cuda_min(args.n_slots - done, 32768)),
                      THREADS, 0, work.stream>>>(part);
        STATUS_TRY(cuda_launched("start of pairs of columns"));
    }
    return work.done();
}

enum status cuda_column_gaps_add(struct cuda_queue *q, struct columns *c, const double *y, size_t n)
{
    if (c->n_gapped == 0) {
        return STATUS_OK;
    }
    const size_t elements = c->n_series * n, bytes = lay_out(nullptr, c->n_series, n).bytes;
    cuda_span space(&q->base);
    STATUS_TRY(space.alloc(bytes));
    const struct workspace s = lay_out(space.as<char>(), c->n_series, n);
    gap_args args = args_of(c, y, n);
    cuda_work work(q, STREAM_COMPUTE,
                   {queue_reads(c->small.at, c->small.bytes),
                    queue_writes(c->pairs.at, c->pairs.bytes), queue_reads(y, elements * sizeof *y),
                    queue_writes(s.w, bytes),
                    queue_reads(c->gapped_there.at, c->gapped_there.bytes),
                    queue_reads(args.slab.x,
                                (n + args.slab.skip) * c->n_series * dtype_bytes(args.slab.type))});
    STATUS_TRY(work.status);
    masks_and_squares<<<(unsigned)cuda_pieces(elements, THREADS), THREADS, 0, work.stream>>>(
        y, elements, s.w, s.squares);
    STATUS_TRY(cuda_launched("masks of a slab"));
    for (args.first = 0; args.first < c->n_gapped; args.first += BATCH) {
        args.n_slots = cuda_min(BATCH, c->n_gapped - args.first);
        STATUS_TRY(add_batch(q, &args, &s, work.stream));
    }
    return work.done();
}

enum status cuda_columns_common(struct queue *queue, void *state, struct matrix_pair *pairs,
                                size_t n)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    const struct columns *c = (const struct columns *)state;
    for (size_t k = 0; k < n; k++) {
        const size_t i = pairs[k].i, j = pairs[k].j;
        if (cuda_max(i, j) >= c->n_series || c->slot[i] == COLUMNS_COMPLETE ||
            c->slot[j] == COLUMNS_COMPLETE) {
            return status_fail(STATUS_INTERNAL, "columns: a pair without gaps in both series");
        }
    }
    for (size_t k = 0; k < n; k += PAIRS_AT_A_TIME) {
        STATUS_TRY(count_some(q, c, pairs + k, cuda_min(PAIRS_AT_A_TIME, n - k)));
    }
    return STATUS_OK;
}
