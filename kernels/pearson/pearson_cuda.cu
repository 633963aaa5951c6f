/*
 * pearson_cuda - coefficients of panels of rows, and the table of the device's Pearson kernels.
 *
 * Where the device has warpgroup instructions all precisions take products of digits
 * (digits_cuda.h). Elsewhere the exact form is multiplied here: a panel is cut into bands of
 * EXACT_ROWS rows, each a product by cuBLAS (double-precision tensor cores) with the series up to
 * its own last row, on one of the queue's product lanes. Bands on different lanes run side by side,
 * within a call and across calls, so that no multiprocessor waits for the last wave of a band; of
 * the diagonal, half a band is wasted. Then one pass clamps, and marks the pairs of series without
 * variance.
 *
 * Mapping of the pass: a thread a column, a block CLAMP_ROWS rows.
 * Flops: 2 N for each pair, and EXACT_ROWS / n_series more. Bytes of the pass: 16 a pair.
 * Error: of the products (products_cuda.cu) 4.9e-13 for 2^20 samples at most, of the norms and of z
 * 3e-14 (standardize_cuda.cu).
 */
#include "kernels/pearson/digits_cuda.h"
#include "kernels/pearson/pearson_cuda.h"

namespace
{

/* cuBLAS 13.1 on an H200, 8192 x 8192: 11.4 ms on 4 lanes; 128 rows 12.1, 512 rows 11.2, 1024
 * rows 12.6; a full product 19.3. */
const size_t EXACT_ROWS = 256;
const int THREADS = 256;

struct clamp_args {
    double *r;
    size_t width, first_a, n_a, first_b, n_b;
    const double *moments;
    size_t capacity;
};

__device__ __forceinline__ bool lost(const double *moments, size_t capacity, size_t entry)
{
    return moments_degenerate(moments[MOMENTS_COUNT * capacity + entry],
                              moments[MOMENTS_M2 * capacity + entry],
                              moments[MOMENTS_MIN * capacity + entry],
                              moments[MOMENTS_MAX * capacity + entry]) != 0;
}

/* A thread a column, a block sixteen rows. */
enum { CLAMP_ROWS = 16 };

__global__ void __launch_bounds__(THREADS) clamp_rows(clamp_args args)
{
    __shared__ bool row_lost[CLAMP_ROWS];
    const size_t b = blockIdx.x * (size_t)THREADS + threadIdx.x;
    const size_t a0 = blockIdx.y * (size_t)CLAMP_ROWS;
    if (threadIdx.x < CLAMP_ROWS && a0 + threadIdx.x < args.n_a) {
        row_lost[threadIdx.x] = lost(args.moments, args.capacity, args.first_a + a0 + threadIdx.x);
    }
    __syncthreads();
    if (b >= args.n_b) {
        return;
    }
    const bool column_lost = lost(args.moments, args.capacity, args.first_b + b);
    double *r = args.r + a0 * args.width + args.first_b + b;
#pragma unroll
    for (int k = 0; k < CLAMP_ROWS; k++) {
        const size_t a = a0 + k;
        if (a < args.n_a && args.first_b + b < args.first_a + a) {
            const double v = r[k * args.width];
            r[k * args.width] = column_lost || row_lost[k] ? (double)NAN : fmin(fmax(v, -1.0), 1.0);
        }
    }
}

/* Rows [first, first + n) of the panel. */
enum status exact_band(struct cuda_queue *q, const struct cuda_panel *p, size_t first, size_t n)
{
    const struct cuda_z_form form = cuda_form_of_z(PEARSON_EXACT, p->n_samples);
    const size_t stride = form.bytes / sizeof(double);
    const double *a = (const double *)p->za.at + first * stride;
    double *r = (double *)p->r.at + first * p->width;
    /* columns below the band's last row */
    const size_t last = p->first_a + first + n - 1;
    const size_t n_b = last > p->first_b ? cuda_min(p->n_b, last - p->first_b) : 0;
    if (n_b == 0) {
        return STATUS_OK;
    }
    cuda_work work(q, cuda_queue_fan(q),
                   {queue_reads(a, n * stride * sizeof(double)),
                    queue_reads(p->zb.at, n_b * stride * sizeof(double)),
                    queue_writes(r, n * p->width * sizeof(double)),
                    queue_moments(p->moments, p->first_a + first, n, false),
                    queue_moments(p->moments, p->first_b, n_b, false)});
    STATUS_TRY(work.status);
    const struct cuda_product product = {
        false,        false,  a,      (const double *)p->zb.at, n,       n_b,
        form.doubles, stride, stride, r + p->first_b,           p->width};
    STATUS_TRY(cuda_multiply(q, work.lane, &product));
    const clamp_args args = {r,
                             p->width,
                             p->first_a + first,
                             n,
                             p->first_b,
                             n_b,
                             (const double *)p->moments.at.at,
                             p->moments.capacity};
    const dim3 grid((unsigned)cuda_pieces(n_b, THREADS), (unsigned)cuda_pieces(n, CLAMP_ROWS));
    clamp_rows<<<grid, THREADS, 0, work.stream>>>(args);
    STATUS_TRY(cuda_launched("clamp"));
    return work.done();
}

enum status exact_gram(struct cuda_queue *q, const struct cuda_panel *p)
{
    for (size_t first = 0; first < p->n_a; first += EXACT_ROWS) {
        STATUS_TRY(exact_band(q, p, first, cuda_min(EXACT_ROWS, p->n_a - first)));
    }
    return STATUS_OK;
}

enum status gram(struct queue *queue, enum pearson_precision precision, size_t n_samples,
                 struct span za, size_t first_a, size_t n_a, struct span zb, size_t first_b,
                 size_t n_b, struct moments moments, struct span r, size_t width)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    const struct cuda_panel panel = {n_samples, za,      zb,  r,       first_a,
                                     n_a,       first_b, n_b, moments, width};
    const size_t z_bytes = cuda_z_bytes(precision, n_samples);
    if (n_a == 0 || n_b == 0) {
        return STATUS_OK;
    }
    if (n_samples > PEARSON_SAMPLES_MAX) {
        return status_fail(STATUS_TOO_LARGE, "gram: %zu samples of a series are too many",
                           n_samples);
    }
    STATUS_TRY(cuda_expect(za, n_a, z_bytes, "gram"));
    STATUS_TRY(cuda_expect(zb, n_b, z_bytes, "gram"));
    STATUS_TRY(cuda_expect(r, n_a, width * (precision == PEARSON_EXACT ? 8 : 4), "gram"));
    if (first_b + n_b > width || first_a + n_a > moments.capacity) {
        return status_fail(STATUS_INTERNAL, "gram: series %zu to %zu in a panel of width %zu",
                           first_b, first_b + n_b, width);
    }
    if (cuda_digits_wgmma_usable(q->backend)) {
        return cuda_digits_wgmma(q, precision, &panel);
    }
    return precision == PEARSON_EXACT ? exact_gram(q, &panel) : cuda_digits_blas(q, &panel);
}

} // namespace

const struct pearson_kernels cuda_pearson = {
    .diff_rows = cuda_diff_rows,
    .z_bytes = cuda_z_bytes,
    .standardize = cuda_standardize,
    .gram = gram,
    .gram_gaps = cuda_gram_gaps,
    .exact_pairs = cuda_exact_pairs,
    .columns_bytes = cuda_columns_bytes,
    .columns_new = cuda_columns_new,
    .columns_free = cuda_columns_free,
    .columns_add = cuda_columns_add,
    .columns_finish = cuda_columns_finish,
};
