/*
 * pearson_cuda - coefficients of panels of rows, and the table of the device's Pearson kernels.
 *
 * Where the device has warpgroup instructions all precisions take products of digits
 * (digits_cuda.h). Elsewhere the doubles of z are multiplied here: a panel is cut into bands of
 * BAND_ROWS rows, each a product by cuBLAS (double-precision tensor cores) with the series up to
 * its own last row, on one of the queue's product streams. Bands on different streams run side by
 * side, within a call and across calls, so that no multiprocessor waits for the last wave of a
 * band; of the diagonal, half a band is wasted. Then one pass clamps, and marks the pairs of series
 * without variance; for f32 it rounds from working memory to the matrix.
 *
 * Small blocks on a diagonal are one batch of products of their doubles, whatever the device.
 *
 * Mapping of the pass: a thread a column, a block CLAMP_ROWS rows.
 * Flops: 2 N for each pair, and BAND_ROWS / n_series more. Bytes of the pass: 16 a pair.
 * Error: of the products (products_cuda.cu) 4.9e-13 for 2^20 samples at most, of the norms and of z
 * 3e-14 (standardize_cuda.cu); f32 adds 2^-25.
 */
#include "kernels/pearson/pearson_cuda.h"
#include "kernels/pearson/pearson_rule.h"

namespace
{

/* cuBLAS 13.1 on an H200, 8192 x 8192: 11.4 ms on 4 streams; 128 rows 12.1, 512 rows 11.2, 1024
 * rows 12.6; a full product 19.3. */
const size_t BAND_ROWS = 256;
const int THREADS = 256;
enum { CLAMP_ROWS = 16 };

/* Rows first .. first + n - 1 of the panel, with series 0 .. n_b - 1 of side b. */
struct band {
    struct pearson_panel p;
    size_t first, n, n_b;
    double *products; /* of element (first, 0) of the band, `pitch` from row to row */
    size_t pitch;
};

template <typename R> __global__ void __launch_bounds__(THREADS) clamp_rows(band band)
{
    __shared__ bool degenerate[CLAMP_ROWS];
    const struct pearson_panel &p = band.p;
    const size_t b = blockIdx.x * (size_t)THREADS + threadIdx.x;
    const size_t a0 = blockIdx.y * (size_t)CLAMP_ROWS, j0 = p.a.first + band.first + a0;
    if (threadIdx.x < CLAMP_ROWS && a0 + threadIdx.x < band.n) {
        degenerate[threadIdx.x] = moments_degenerate_at(p.moments, j0 + threadIdx.x) != 0;
    }
    __syncthreads();
    if (b >= band.n_b) {
        return;
    }
    const size_t i = p.b.first + b;
    const bool column_degenerate = moments_degenerate_at(p.moments, i) != 0;
    const double *from = band.products + a0 * band.pitch + b;
    R *to = (R *)p.r.at + (band.first + a0) * p.width + i;
#pragma unroll
    for (int k = 0; k < CLAMP_ROWS; k++) {
        if (a0 + k < band.n && i < j0 + k) {
            const double r = pearson_clamp(from[k * band.pitch]);
            to[k * p.width] = (R)(column_degenerate || degenerate[k] ? (double)NAN : r);
        }
    }
}

enum status take_band(struct cuda_queue *q, const struct pearson_panel *p,
                      const struct cuda_z_form &form, size_t first, size_t n)
{
    const bool exact = p->precision == PEARSON_EXACT;
    const size_t stride = form.bytes / sizeof(double);
    const double *a = (const double *)p->a.z.at + first * stride;
    const size_t n_k = p->lag > 0 ? p->n_samples - p->lag : form.doubles;
    char *r = (char *)p->r.at + first * p->width * dtype_bytes(pearson_dtype(p->precision));
    /* columns below the band's last row */
    const size_t last = p->a.first + first + n - 1;
    const size_t n_b = last > p->b.first ? cuda_min(p->b.n, last - p->b.first) : 0;
    if (n_b == 0) {
        return STATUS_OK;
    }
    struct band band = {*p, first, n, n_b, (double *)r + p->b.first, p->width};
    struct cuda_product product = {false,  false,         a + p->lag, (const double *)p->b.z.at,
                                   n,      n_b,           n_k,        stride,
                                   stride, band.products, band.pitch};
    cuda_work work(q, cuda_gemm_stream(q),
                   {queue_reads(a, n * stride * sizeof(double)),
                    queue_reads(p->b.z.at, n_b * stride * sizeof(double)),
                    queue_writes(r, n * p->width * dtype_bytes(pearson_dtype(p->precision))),
                    queue_moments(p->moments, p->a.first + first, n, false),
                    queue_moments(p->moments, p->b.first, n_b, false)});
    STATUS_TRY(work.status);
    if (!exact) {
        /* in the stream's scratch, behind what the product itself takes of it: a span a band would
         * take memory for as many bands as the queue holds */
        const size_t before = cuda_pieces(cuda_multiply_scratch(&product), 256) * 256;
        char *scratch;
        STATUS_TRY(
            cuda_queue_scratch(q, work.id, before + n * n_b * sizeof(double), (void **)&scratch));
        product.c = band.products = (double *)(scratch + before);
        product.width = band.pitch = n_b;
    }
    STATUS_TRY(cuda_multiply(q, work.id, &product));
    const dim3 grid((unsigned)cuda_pieces(n_b, THREADS), (unsigned)cuda_pieces(n, CLAMP_ROWS));
    auto kernel = exact ? clamp_rows<double> : clamp_rows<float>;
    kernel<<<grid, THREADS, 0, work.stream>>>(band);
    STATUS_TRY(cuda_launched("clamp"));
    return work.done();
}

enum status gram(struct queue *queue, const struct pearson_panel *p)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    const struct cuda_z_form form = cuda_form_of_z(queue, p->precision, p->n_samples);
    if (p->a.n == 0 || p->b.n == 0) {
        return STATUS_OK;
    }
    if (p->n_samples > PEARSON_SAMPLES_MAX) {
        return status_fail(STATUS_TOO_LARGE, "gram: %zu samples of a series are too many",
                           p->n_samples);
    }
    STATUS_TRY(cuda_check_panel(p, form.bytes, "gram"));
    if (form.planes != 0) {
        return cuda_digits_wgmma(q, p, form);
    }
    for (size_t first = 0; first < p->a.n; first += BAND_ROWS) {
        STATUS_TRY(take_band(q, p, form, first, cuda_min(BAND_ROWS, p->a.n - first)));
    }
    return STATUS_OK;
}

enum status gram_blocks(struct queue *queue, const struct pearson_blocks *b)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    const struct cuda_z_form form = cuda_form_of_z(queue, PEARSON_EXACT, b->n_samples);
    const size_t rows = b->n * b->size, stride = form.bytes / sizeof(double);
    const double *z = (const double *)b->z.at;
    const struct cuda_product product = {false,   false,        z,      z,      b->size,
                                         b->size, form.doubles, stride, stride, (double *)b->r.at,
                                         b->size};
    STATUS_TRY(cuda_expect(b->z, rows, form.bytes, "gram of blocks"));
    STATUS_TRY(cuda_expect(b->r, rows, b->size * sizeof(double), "gram of blocks"));
    cuda_work work(q, cuda_gemm_stream(q),
                   {queue_reads(z, rows * form.bytes),
                    queue_writes(b->r.at, rows * b->size * sizeof(double))});
    STATUS_TRY(work.status);
    STATUS_TRY(cuda_multiply_blocks(q, work.id, &product, b->n));
    return work.done();
}

/* Of digits: an H200. Of doubles: devices that have tensor cores for them, or where they are so
 * many times slower than floats. */
double rate(const struct queue *queue, enum pearson_precision precision)
{
    const struct cuda_backend *b = (const struct cuda_backend *)queue->backend;
    int ratio = 0;
    if (cuda_digits_usable(queue)) {
        return precision == PEARSON_EXACT ? 3e13 : 8e13;
    }
    (void)cudaDeviceGetAttribute(&ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, b->device);
    return 2e13 / (ratio > 2 ? ratio : 2);
}

} // namespace

enum status cuda_check_panel(const struct pearson_panel *p, size_t z_bytes, const char *what)
{
    if (p->part.sums.at == nullptr) {
        STATUS_TRY(cuda_expect(p->a.z, p->a.n, z_bytes, what));
        STATUS_TRY(cuda_expect(p->b.z, p->b.n, z_bytes, what));
    }
    STATUS_TRY(
        cuda_expect(p->r, p->a.n, p->width * dtype_bytes(pearson_dtype(p->precision)), what));
    if (p->b.first + p->b.n > p->width || p->a.first + p->a.n > p->moments.capacity) {
        return status_fail(STATUS_INTERNAL, "%s: series %zu to %zu in a panel of width %zu", what,
                           p->b.first, p->b.first + p->b.n, p->width);
    }
    return STATUS_OK;
}

const struct pearson_kernels cuda_pearson = {
    .turn = cuda_turn,
    .diff_rows = cuda_diff_rows,
    .rank_rows = cuda_rank_rows,
    .rank_bytes = cuda_rank_bytes,
    .rank_rate = 3e10,
    .z_bytes = cuda_z_bytes,
    .standardize = cuda_standardize,
    .gram = gram,
    .gram_blocks = gram_blocks,
    .sweep_cells = (size_t)1 << 28,
    .rate = rate,
    .gram_gaps = cuda_gram_gaps,
    .gaps_bytes = cuda_gaps_bytes,
    .pairs_add = cuda_pairs_add,
    .exact_pairs = cuda_exact_pairs,
    .overlaps = cuda_overlaps,
    .keep_lag = cuda_keep_lag,
    .count_levels = cuda_count_levels,
    .columns_bytes = cuda_columns_bytes,
    .columns_new = cuda_columns_new,
    .columns_free = cuda_columns_free,
    .columns_add = cuda_columns_add,
    .columns_finish = cuda_columns_finish,
};
