/*
 * digits_blas_cuda - products of digits through cuBLAS, for devices without warpgroup instructions.
 *
 * For each order k + l, from the highest, the products d_k d'_l are added up in 32-bit integers by
 * cuBLAS and folded into a matrix of doubles:  v = v / 256 + S.  All 16 products are taken whatever
 * the precision, and they leave out 4.85e-7 at most for 2^20 samples of any kind (digits_cuda.h);
 * the result's rounding to float adds 2^-25, those of v, of z and of the norms less than 1e-12:
 * 5.2e-7 in all. 2^22 - 2^18 samples keep 1e-6.
 *
 * Mapping of fold and finish: a thread an element. Bytes: 20 an element and order besides the
 * products.
 */
#include "kernels/pearson/digits_cuda.h"
#include "kernels/pearson/pearson_cuda.h"

namespace
{

const int THREADS = 256;
/* Elements of the two working matrices; a panel is taken in bands of columns of this many. */
const size_t BAND_ELEMENTS = (size_t)1 << 24;

__global__ void fold(const int *s, double *v, size_t n, double keep)
{
    const size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (i < n) {
        const double old = keep == 0 ? 0 : v[i] * keep;
        v[i] = old + (double)s[i];
    }
}

struct finish_args {
    const double *v;
    const char *za, *zb; /* the tails of the first rows */
    size_t row_bytes, n_b;
    float *r;
    size_t width;
};

__global__ void finish(finish_args args)
{
    const size_t b = blockIdx.x * (size_t)THREADS + threadIdx.x, a = blockIdx.y;
    if (b >= args.n_b) {
        return;
    }
    const double scale_a = ((const struct digits_tail *)(args.za + a * args.row_bytes))->scale;
    const double scale_b = ((const struct digits_tail *)(args.zb + b * args.row_bytes))->scale;
    const double r = args.v[a * args.n_b + b] * (scale_a * scale_b);
    args.r[a * args.width + b] = (float)(r > 1 ? 1 : (r < -1 ? -1 : r));
}

/* A band: rows of za with rows [0, n_b) of zb, into r. */
struct band {
    const struct cuda_panel *p;
    const char *zb;
    size_t n_b;
    float *r;
    int *s;
    double *v;
};

/* S of order k + l over samples [from, from + n_k). */
enum status order_product(cublasHandle_t blas, const struct band *b, int order, size_t from,
                          size_t n_k)
{
    const size_t plane = digits_plane_bytes(b->p->n_samples),
                 row = digits_row_bytes(DIGITS_SHORT, b->p->n_samples);
    const int one = 1, none = 0;
    bool first = true;
    for (int k = 0; k < DIGITS_SHORT; k++) {
        const int l = order - k;
        if (l < 0 || l >= DIGITS_SHORT) {
            continue;
        }
        CUBLAS_TRY(cublasGemmEx_64(blas, CUBLAS_OP_T, CUBLAS_OP_N, (int64_t)b->n_b,
                                   (int64_t)b->p->n_a, (int64_t)n_k, &one, b->zb + l * plane + from,
                                   CUDA_R_8I, (int64_t)row,
                                   (const char *)b->p->za.at + k * plane + from, CUDA_R_8I,
                                   (int64_t)row, first ? &none : &one, b->s, CUDA_R_32I,
                                   (int64_t)b->n_b, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT),
                   "product of digits");
        first = false;
    }
    return STATUS_OK;
}

enum status take_band(cublasHandle_t blas, const struct band *b, cudaStream_t stream)
{
    const size_t plane = digits_plane_bytes(b->p->n_samples),
                 row = digits_row_bytes(DIGITS_SHORT, b->p->n_samples);
    const size_t n = b->p->n_a * b->n_b;
    const unsigned blocks = (unsigned)cuda_pieces(n, THREADS);
    bool first = true;
    for (int order = 2 * DIGITS_SHORT - 2; order >= 0; order--) {
        for (size_t from = 0; from < plane; from += digits_most_samples(DIGITS_SHORT)) {
            STATUS_TRY(order_product(blas, b, order, from,
                                     cuda_min(plane - from, digits_most_samples(DIGITS_SHORT))));
            const double keep = first ? 0 : (from == 0 ? 0x1p-8 : 1);
            fold<<<blocks, THREADS, 0, stream>>>(b->s, b->v, n, keep);
            STATUS_TRY(cuda_launched("fold of digit products"));
            first = false;
        }
    }
    const finish_args args = {b->v,
                              (const char *)b->p->za.at + DIGITS_SHORT * plane,
                              b->zb + DIGITS_SHORT * plane,
                              row,
                              b->n_b,
                              b->r,
                              b->p->width};
    finish<<<dim3((unsigned)cuda_pieces(b->n_b, THREADS), (unsigned)b->p->n_a), THREADS, 0,
             stream>>>(args);
    return cuda_launched("end of digit products");
}

} // namespace

enum status cuda_digits_blas(struct cuda_queue *q, const struct cuda_panel *p)
{
    const size_t row = digits_row_bytes(DIGITS_SHORT, p->n_samples);
    const enum queue_lane lane = cuda_queue_fan(q);
    const size_t columns = cuda_min(p->n_b, cuda_max(1, BAND_ELEMENTS / p->n_a));
    cublasHandle_t blas;
    char *scratch;
    cuda_work work(q, lane,
                   {queue_reads(p->za.at, p->n_a * row), queue_reads(p->zb.at, p->n_b * row),
                    queue_writes(p->r.at, p->n_a * p->width * sizeof(float))});
    STATUS_TRY(work.status);
    STATUS_TRY(cuda_queue_blas(q, lane, &blas));
    STATUS_TRY(cuda_queue_scratch(q, lane, p->n_a * columns * (sizeof(double) + sizeof(int)),
                                  (void **)&scratch));
    for (size_t b0 = 0; b0 < p->n_b; b0 += columns) {
        struct band b = {p,
                         (const char *)p->zb.at + b0 * row,
                         cuda_min(columns, p->n_b - b0),
                         (float *)p->r.at + p->first_b + b0,
                         nullptr,
                         (double *)scratch};
        b.s = (int *)(b.v + p->n_a * columns);
        STATUS_TRY(take_band(blas, &b, work.stream));
    }
    return work.done();
}
