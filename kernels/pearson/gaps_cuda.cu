/*
 * gaps_cuda - pairwise-complete coefficients of a panel whose series have missing samples.
 *
 * With Z the standardized series (0 where missing), W their masks and Q = Z^2, the sums over the
 * samples that two series have in common are products of matrices:
 *
 *   n = W W'   x = Z W'   y = W Z'   xx = Q W'   yy = W Q'   xy = Z Z'
 *
 * The series of either side are sorted into those with gaps and those without, and gathered in
 * batches; pairs without a gap on either side are not touched. A pair whose sums cancel is noted,
 * and computed again by itself (pairs_cuda.h), from the series as they came where z has lost it.
 * Series that come in parts leave the products of their batches in the panel's sums, batch by
 * batch; of them, pairs whose sums cancel are left to who has the parts.
 *
 * Mapping: gathering, a block a row; coefficients, a thread a pair; a repetition, a block a pair.
 * Flops: 6 products of 2 N a pair in double, by cuBLAS. Bytes: 24 a sample and gathered series.
 * Error of r for N <= 2^20: 9.3e-11 from sums about the means of the series, whose own is
 * (4096 + N / 4096) u at most; of a pair by itself 5.8e-11 from z and 192 times the error of its
 * sums (pairs_cuda.h), 4.4e-12 (pearson_rule.h).
 */
#include "kernels/pearson/pairs_cuda.h"
#include "kernels/pearson/pearson_cuda.h"

#include <new>
#include <stdlib.h>

namespace
{

const int THREADS = 256, RECOMPUTE_BLOCKS = 1024, SUMS = 6;
/* Rows that are gathered of each side, and the memory that may take. */
const size_t BATCH_A = 256, BATCH_B = 1024, BATCH_BYTES = (size_t)256 << 20;

/* One side: local indices, those with gaps first. */
struct side {
    const struct pearson_side *of;
    size_t n_gapped;
    uint32_t *order;   /* on the host */
    struct span there; /* the same on the device */
};

/* Samples of all parts. */
size_t all_samples(const struct pearson_panel *p)
{
    return p->part.sums.at != nullptr ? p->part.n_samples : p->n_samples;
}

struct gaps_args {
    struct pearson_panel p;
    bool in_parts;
    double *sums;                    /* of the next batch, where the series come in parts */
    size_t stride;                   /* doubles from row to row as gathered */
    size_t z_stride;                 /* and of z */
    const uint32_t *rows_a, *rows_b; /* of this batch */
    size_t n_a, n_b;
    const double *x, *n, *xx, *xy, *y, *yy; /* n_a x n_b each */
    uint2 *recompute;
    unsigned *n_recompute;
    unsigned long long *n_unsure;
};

/* Z, W and Q of listed rows, `pitch` doubles between the three. T: the type of x, of series that
 * come in parts; else of z. */
template <bool IN_PARTS, typename T>
__global__ void gather(gaps_args args, struct pearson_side side, const uint32_t *rows, double *out,
                       size_t pitch)
{
    const size_t row = rows[blockIdx.x];
    const T *from = IN_PARTS ? (const T *)side.x.at + row * args.p.n_samples
                             : (const T *)side.z.at + row * args.z_stride;
    const double mean =
        IN_PARTS ? moments_array(args.p.moments, MOMENTS_MEAN)[side.first + row] : 0;
    double *to = out + blockIdx.x * args.stride;
    for (size_t t = threadIdx.x; t < args.stride; t += THREADS) {
        const bool present = t < args.p.n_samples && pair_present<!IN_PARTS>(from[t]);
        const double v = present ? (double)from[t] - mean : 0;
        to[t] = v;
        to[pitch + t] = present ? 1 : 0;
        to[2 * pitch + t] = v * v;
    }
}

__device__ __forceinline__ void write(const struct pearson_panel &p, size_t a, size_t i, double r)
{
    if (p.precision == PEARSON_F32) {
        ((float *)p.r.at)[a * p.width + i] = (float)r;
    } else {
        ((double *)p.r.at)[a * p.width + i] = r;
    }
}

__global__ void coefficients(gaps_args args)
{
    const size_t in_b = blockIdx.x * (size_t)THREADS + threadIdx.x, in_a = blockIdx.y;
    if (in_b >= args.n_b) {
        return;
    }
    const struct pearson_panel &p = args.p;
    const size_t a = args.rows_a[in_a], j = p.a.first + a;
    const size_t i = p.b.first + args.rows_b[in_b], at = in_a * args.n_b + in_b;
    if (i >= j) {
        return;
    }
    const struct pearson_sums s = {args.n[at],  args.x[at],  args.y[at],
                                   args.xx[at], args.yy[at], args.xy[at]};
    double r = NAN;
    const bool unsure = !moments_degenerate_at(p.moments, i) &&
                        !moments_degenerate_at(p.moments, j) &&
                        !pearson_from_sums(s, moments_least_count(p.moments), &r);
    if (unsure && args.in_parts) {
        atomicAdd(args.n_unsure, 1ull);
        r = PEARSON_UNSURE;
    } else if (unsure) {
        args.recompute[atomicAdd(args.n_recompute, 1u)] =
            make_uint2((unsigned)in_a, (unsigned)in_b);
    }
    write(p, a, i, r);
}

/* Of rows a and b of the sides, as they came. */
template <typename T>
__device__ struct pearson_common raw_common(const struct pearson_panel &p, size_t a, size_t b)
{
    const double *mean = moments_array(p.moments, MOMENTS_MEAN);
    const pair_series<false, T> series = {(const T *)p.a.x.at + a * p.n_samples,
                                          (const T *)p.b.x.at + b * p.n_samples};
    return pair_common_of(series, p.n_samples, mean[p.a.first + a], mean[p.b.first + b]);
}

__global__ void __launch_bounds__(PAIR_THREADS) recompute(gaps_args args)
{
    const struct pearson_panel &p = args.p;
    const unsigned n = *args.n_recompute;
    for (unsigned k = blockIdx.x; k < n; k += gridDim.x) {
        const uint2 pair = args.recompute[k];
        const size_t a = args.rows_a[pair.x], b = args.rows_b[pair.y];
        const pair_series<true, double> z = {(const double *)p.a.z.at + a * args.z_stride,
                                             (const double *)p.b.z.at + b * args.z_stride};
        struct pearson_common c = pair_common_of(z, p.n_samples, 0, 0);
        if (!c.sure && p.a.x.at != nullptr && p.b.x.at != nullptr) {
            c = p.x_type == DTYPE_F32 ? raw_common<float>(p, a, b) : raw_common<double>(p, a, b);
        } else if (!c.sure && threadIdx.x == 0) {
            atomicAdd(args.n_unsure, 1ull);
        }
        if (threadIdx.x == 0) {
            write(p, a, p.b.first + b, pearson_of_centred(c.sums, moments_least_count(p.moments)));
        }
        __syncthreads();
    }
}

enum status sort_side(struct queue *q, const struct pearson_panel *p, struct side *s)
{
    const size_t n = s->of->n;
    const struct span counts = span_from(p->moments.at, s->of->first * sizeof(double));
    double *count = (double *)malloc(n * sizeof *count);
    s->order = (uint32_t *)malloc(n * sizeof *s->order);
    const enum status status =
        count == nullptr || s->order == nullptr
            ? status_fail(STATUS_NO_MEMORY, "no memory for a list of %zu series", n)
            : cuda_download(q, count, counts, n * sizeof *count);
    for (size_t k = 0; k < n && status == STATUS_OK; k++) {
        s->n_gapped += count[k] < (double)all_samples(p);
    }
    size_t gapped = 0, whole = s->n_gapped;
    for (size_t k = 0; k < n && status == STATUS_OK; k++) {
        s->order[count[k] < (double)all_samples(p) ? gapped++ : whole++] = (uint32_t)k;
    }
    free(count);
    return status;
}

/* The lists live for one call. */
class lists
{
  public:
    lists(struct queue *q, const struct pearson_panel *p)
        : a{&p->a, 0, nullptr, {}}, b{&p->b, 0, nullptr, {}}, there_a(q), there_b(q)
    {
    }
    ~lists()
    {
        free(a.order);
        free(b.order);
    }
    enum status send(struct queue *q, struct side *s, cuda_span *there)
    {
        uint64_t ticket;
        STATUS_TRY(there->alloc(s->of->n * sizeof *s->order));
        s->there = there->span;
        STATUS_TRY(cuda_upload(q, s->there, s->order, s->of->n * sizeof *s->order, &ticket));
        return cuda_upload_wait(q, ticket);
    }
    struct side a, b;
    cuda_span there_a, there_b;
};

/* Working memory of a batch: the gathered rows, the six products, the pairs to recompute. */
struct batch {
    size_t rows_a, rows_b;
    size_t rows_bytes_a, rows_bytes_b, product, bytes;
};

/* Every part of the same series has the same batches. */
struct batch size_batch(const gaps_args *args)
{
    const size_t row = 3 * args->stride * sizeof(double);
    const size_t most = args->in_parts ? BATCH_B : cuda_max(1, BATCH_BYTES / row);
    struct batch b;
    b.rows_a = cuda_min(cuda_min(BATCH_A, most), args->p.a.n);
    b.rows_b = cuda_min(cuda_min(BATCH_B, most), args->p.b.n);
    b.rows_bytes_a = b.rows_a * row;
    b.rows_bytes_b = b.rows_b * row;
    b.product = b.rows_a * b.rows_b;
    b.bytes =
        b.rows_bytes_a + b.rows_bytes_b + b.product * (SUMS * sizeof(double) + sizeof(uint2)) + 256;
    return b;
}

/* The six products, in three calls: [Z W Q] W', [Z W] Z', W Q'. */
enum status multiply(struct cuda_queue *q, const gaps_args *args, const double *a, const double *b)
{
    const size_t k = args->stride, n_a = args->n_a, n_b = args->n_b;
    const bool add = args->in_parts;
    const struct cuda_product of_masks = {false, add, a, b + n_b * k,       3 * n_a, n_b,
                                          k,     k,   k, (double *)args->x, n_b};
    const struct cuda_product of_values = {
        false, add, a, b, 2 * n_a, n_b, k, k, k, (double *)args->xy, n_b};
    const struct cuda_product of_squares = {false, add, a + n_a * k, b + 2 * n_b * k,    n_a, n_b,
                                            k,     k,   k,           (double *)args->yy, n_b};
    STATUS_TRY(cuda_multiply(q, STREAM_COMPUTE, &of_masks));
    STATUS_TRY(cuda_multiply(q, STREAM_COMPUTE, &of_values));
    return cuda_multiply(q, STREAM_COMPUTE, &of_squares);
}

/* The gathered rows, and their products. */
enum status add_up(struct cuda_queue *q, const gaps_args &args, double *a, double *b,
                   cudaStream_t stream)
{
    const bool narrow = args.p.x_type == DTYPE_F32;
    auto kernel = !args.in_parts ? gather<false, double>
                  : narrow       ? gather<true, float>
                                 : gather<true, double>;
    kernel<<<(unsigned)args.n_a, THREADS, 0, stream>>>(args, args.p.a, args.rows_a, a,
                                                       args.n_a * args.stride);
    kernel<<<(unsigned)args.n_b, THREADS, 0, stream>>>(args, args.p.b, args.rows_b, b,
                                                       args.n_b * args.stride);
    STATUS_TRY(cuda_launched("gathering of series with gaps"));
    return multiply(q, &args, a, b);
}

/* Rows [a0, a0 + n_a) of a's order with [b0, b0 + n_b) of b's. */
enum status take_batch(struct cuda_queue *q, const gaps_args *common, const lists *l,
                       const struct batch *size, char *space, size_t a0, size_t b0)
{
    gaps_args args = *common;
    const struct pearson_panel &p = args.p;
    args.rows_a = (const uint32_t *)l->a.there.at + a0;
    args.rows_b = (const uint32_t *)l->b.there.at + b0;
    double *a = (double *)space, *b = (double *)(space + size->rows_bytes_a);
    double *products = (double *)(space + size->rows_bytes_a + size->rows_bytes_b);
    const size_t n = args.n_a * args.n_b;
    args.x = args.in_parts ? args.sums : products, args.n = args.x + n, args.xx = args.n + n;
    args.xy = args.xx + n, args.y = args.xy + n, args.yy = args.y + n;
    args.recompute = (uint2 *)(products + SUMS * size->product);
    args.n_recompute = (unsigned *)(args.recompute + size->product);
    const size_t z_bytes = args.in_parts ? 0 : args.z_stride * sizeof(double);
    const size_t x_bytes = p.n_samples * dtype_bytes(p.x_type);
    cuda_work work(q, STREAM_COMPUTE,
                   {queue_writes(space, size->bytes),
                    args.in_parts ? queue_writes(args.sums, SUMS * n * sizeof(double))
                                  : queue_reads(p.a.z.at, p.a.n * z_bytes),
                    queue_reads(p.b.z.at, p.b.n * z_bytes),
                    queue_reads(l->a.there.at, l->a.there.bytes),
                    queue_reads(l->b.there.at, l->b.there.bytes), queue_writes(p.r.at, p.r.bytes),
                    queue_reads(p.a.x.at, p.a.x.at != nullptr ? p.a.n * x_bytes : 0),
                    queue_reads(p.b.x.at, p.b.x.at != nullptr ? p.b.n * x_bytes : 0),
                    queue_writes(args.n_unsure, sizeof *args.n_unsure)});
    STATUS_TRY(work.status);
    if (p.ranks) {
        STATUS_TRY(cuda_gram_ranks(
            {p, args.z_stride, args.rows_a, args.rows_b, args.n_a, args.n_b, (int *)space},
            size->bytes, work.stream));
        return work.done();
    }
    if (p.n_samples > 0) {
        STATUS_TRY(add_up(q, args, a, b, work.stream));
    }
    if (p.n_samples > 0 && args.in_parts) {
        return work.done();
    }
    CUDA_TRY(cudaMemsetAsync(args.n_recompute, 0, sizeof *args.n_recompute, work.stream), "zero");
    coefficients<<<dim3((unsigned)cuda_pieces(args.n_b, THREADS), (unsigned)args.n_a), THREADS, 0,
                   work.stream>>>(args);
    STATUS_TRY(cuda_launched("coefficients of series with gaps"));
    recompute<<<RECOMPUTE_BLOCKS, PAIR_THREADS, 0, work.stream>>>(args);
    STATUS_TRY(cuda_launched("repeated coefficients of series with gaps"));
    return work.done();
}

/* A part of a list. */
struct range {
    size_t from, end;
};

/* Parts of a's list with parts of b's, in batches. Both ascend: a batch whose last row is not
 * beyond its first column has nothing below the diagonal. */
enum status take_lists(struct cuda_queue *q, gaps_args *args, const lists *l, char *space,
                       struct range of_a, struct range of_b)
{
    const struct batch size = size_batch(args);
    for (size_t a = of_a.from; a < of_a.end; a += size.rows_a) {
        args->n_a = cuda_min(size.rows_a, of_a.end - a);
        const size_t last = args->p.a.first + l->a.order[a + args->n_a - 1];
        for (size_t b = of_b.from; b < of_b.end && args->p.b.first + l->b.order[b] < last;
             b += size.rows_b) {
            args->n_b = cuda_min(size.rows_b, of_b.end - b);
            STATUS_TRY(take_batch(q, args, l, &size, space, a, b));
            args->sums += args->in_parts ? SUMS * args->n_a * args->n_b : 0;
        }
    }
    return STATUS_OK;
}

enum status take_panel(struct cuda_queue *q, const struct pearson_panel *p,
                       const struct cuda_z_form &form, uint64_t *n_unsure)
{
    lists l(&q->base, p);
    STATUS_TRY(sort_side(&q->base, p, &l.a));
    STATUS_TRY(sort_side(&q->base, p, &l.b));
    if (l.a.n_gapped == 0 && l.b.n_gapped == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(l.send(&q->base, &l.a, &l.there_a));
    STATUS_TRY(l.send(&q->base, &l.b, &l.there_b));
    cuda_span unsure(&q->base), space(&q->base);
    STATUS_TRY(unsure.alloc(sizeof(unsigned long long)));
    STATUS_TRY(cuda_zero(&q->base, unsure.span));
    gaps_args args = {};
    args.p = *p;
    args.in_parts = p->part.sums.at != nullptr;
    args.sums = (double *)p->part.sums.at;
    args.stride = form.doubles;
    args.z_stride = form.bytes / sizeof(double);
    args.n_unsure = unsure.as<unsigned long long>();
    STATUS_TRY(space.alloc(size_batch(&args).bytes));
    const struct range gapped_a = {0, l.a.n_gapped}, whole_a = {l.a.n_gapped, p->a.n};
    const struct range gapped_b = {0, l.b.n_gapped}, whole_b = {l.b.n_gapped, p->b.n};
    char *at = space.as<char>();
    STATUS_TRY(take_lists(q, &args, &l, at, gapped_a, gapped_b));
    STATUS_TRY(take_lists(q, &args, &l, at, gapped_a, whole_b));
    STATUS_TRY(take_lists(q, &args, &l, at, whole_a, gapped_b));
    unsigned long long more = 0;
    if (args.in_parts && p->n_samples > 0) {
        return STATUS_OK; /* nobody has to wait for sums */
    }
    STATUS_TRY(cuda_read_back(q, &more, args.n_unsure, sizeof more));
    *n_unsure += more;
    return STATUS_OK;
}

} // namespace

size_t cuda_gaps_bytes(size_t n_a, size_t n_b)
{
    return SUMS * n_a * n_b * sizeof(double);
}

enum status cuda_gram_gaps(struct queue *queue, const struct pearson_panel *p, uint64_t *n_unsure)
{
    const struct cuda_z_form form = cuda_form_of_z(queue, PEARSON_EXACT, p->n_samples);
    if (p->a.n == 0 || p->b.n == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(cuda_check_panel(p, form.bytes, "gram_gaps"));
    for (const struct pearson_side *side : {&p->a, &p->b}) {
        if (side->x.at != nullptr) {
            STATUS_TRY(
                cuda_expect(side->x, side->n, p->n_samples * dtype_bytes(p->x_type), "gram_gaps"));
        }
    }
    if (p->part.sums.at != nullptr) {
        STATUS_TRY(cuda_expect(p->part.sums, cuda_gaps_bytes(p->a.n, p->b.n), 1, "gram_gaps"));
    }
    return take_panel(cuda_queue_of(queue), p, form, n_unsure);
}
