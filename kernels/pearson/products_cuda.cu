/*
 * products_cuda - matrix products in double by cuBLAS, also of few long series.
 *
 * A call of cuBLAS takes SLICE terms at most, and calls add up: in whatever order cuBLAS adds, a
 * sum of K terms of two unit vectors is off by (SLICE + K / SLICE) 2^-53 at most, 4.8e-13 for 2^20
 * terms, and the same bits come on every run.
 *
 * A product with few elements leaves most multiprocessors idle however many terms each element has.
 * It is cut along the terms into splits, a batch of products into working matrices, which are then
 * added in their order: at most MOST_SPLITS 2^-53 more, 7e-15. cuBLAS's own ways of splitting
 * promise the same bits as well, but only for each of its versions.
 */
#include "kernels/pearson/pearson_cuda.h"

namespace
{

const int THREADS = 256;
/* A block of cuBLAS's double-precision kernels takes about so many rows and columns. */
const size_t TILE = 64;
const size_t WANTED_TILES = 264, LEAST_TERMS = 1024, MOST_SPLITS = 64, SPLIT_ALIGNMENT = 16;
/* The most terms of a sum that cuBLAS is left to order. */
const size_t SLICE = 4096;

__global__ void add_splits(const double *parts, size_t n_splits, size_t n_a, size_t n_b, double *c,
                           size_t width, bool add)
{
    const size_t b = blockIdx.x * (size_t)THREADS + threadIdx.x, a = blockIdx.y;
    if (b >= n_b) {
        return;
    }
    double v = 0;
    for (size_t s = 0; s < n_splits; s++) {
        v += parts[(s * n_a + a) * n_b + b];
    }
    c[a * width + b] = add ? c[a * width + b] + v : v;
}

size_t splits_of(const struct cuda_product *p)
{
    const size_t tiles = cuda_pieces(p->n_a, TILE) * cuda_pieces(p->n_b, TILE);
    const size_t wanted = cuda_min(MOST_SPLITS, WANTED_TILES / tiles);
    return cuda_max(1, cuda_min(wanted, p->n_k / LEAST_TERMS));
}

/* Terms [from, end) into c; row-major c is cuBLAS's column-major n_b x n_a. */
enum status product_of(cublasHandle_t blas, const struct cuda_product *p, size_t from, size_t end,
                       double *c, size_t width, bool add)
{
    const double one = 1, none = 0;
    for (size_t k = from; k < end; k += SLICE) {
        const double *a = p->a + (p->columns ? k * p->pitch_a : k);
        const double *b = p->b + (p->columns ? k * p->pitch_b : k);
        CUBLAS_TRY(cublasDgemm_64(blas, p->columns ? CUBLAS_OP_N : CUBLAS_OP_T,
                                  p->columns ? CUBLAS_OP_T : CUBLAS_OP_N, (int64_t)p->n_b,
                                  (int64_t)p->n_a, (int64_t)cuda_min(SLICE, end - k), &one, b,
                                  (int64_t)p->pitch_b, a, (int64_t)p->pitch_a,
                                  add || k > from ? &one : &none, c, (int64_t)width),
                   "product of series");
    }
    return STATUS_OK;
}

/* `terms` terms of n products, one behind the other; the next one's factors are so far on. */
enum status products_of(cublasHandle_t blas, const struct cuda_product *p, size_t terms,
                        size_t step_a, size_t step_b, size_t n)
{
    const double one = 1, none = 0;
    const size_t pitch_a = p->columns ? p->pitch_a : 1, pitch_b = p->columns ? p->pitch_b : 1;
    for (size_t k = 0; k < terms; k += SLICE) {
        CUBLAS_TRY(cublasDgemmStridedBatched_64(
                       blas, p->columns ? CUBLAS_OP_N : CUBLAS_OP_T,
                       p->columns ? CUBLAS_OP_T : CUBLAS_OP_N, (int64_t)p->n_b, (int64_t)p->n_a,
                       (int64_t)cuda_min(SLICE, terms - k), &one, p->b + k * pitch_b,
                       (int64_t)p->pitch_b, (int64_t)step_b, p->a + k * pitch_a,
                       (int64_t)p->pitch_a, (int64_t)step_a, k > 0 ? &one : &none, p->c,
                       (int64_t)p->width, (int64_t)(p->n_a * p->width), (int64_t)n),
                   "product of series");
    }
    return STATUS_OK;
}

enum status split_product(struct cuda_queue *q, enum stream_id id, cublasHandle_t blas,
                          const struct cuda_product *p, size_t n_splits)
{
    const size_t terms = p->n_k / n_splits / SPLIT_ALIGNMENT * SPLIT_ALIGNMENT;
    struct cuda_product part = *p;
    STATUS_TRY(cuda_queue_scratch(q, id, cuda_multiply_scratch(p), (void **)&part.c));
    part.width = p->n_b;
    STATUS_TRY(products_of(blas, &part, terms, terms * (p->columns ? p->pitch_a : 1),
                           terms * (p->columns ? p->pitch_b : 1), n_splits));
    if (terms * n_splits < p->n_k) {
        STATUS_TRY(product_of(blas, p, terms * n_splits, p->n_k, part.c, part.width, true));
    }
    add_splits<<<dim3((unsigned)cuda_pieces(p->n_b, THREADS), (unsigned)p->n_a), THREADS, 0,
                 q->stream[id]>>>(part.c, n_splits, p->n_a, p->n_b, p->c, p->width, p->add);
    return cuda_launched("sum of products");
}

} // namespace

size_t cuda_multiply_scratch(const struct cuda_product *p)
{
    const size_t n_splits = splits_of(p);
    return n_splits > 1 ? n_splits * p->n_a * p->n_b * sizeof(double) : 0;
}

enum status cuda_multiply(struct cuda_queue *q, enum stream_id id, const struct cuda_product *p)
{
    const size_t n_splits = splits_of(p);
    cublasHandle_t blas;
    STATUS_TRY(cuda_queue_blas(q, id, &blas));
    return n_splits > 1 ? split_product(q, id, blas, p, n_splits)
                        : product_of(blas, p, 0, p->n_k, p->c, p->width, p->add);
}

enum status cuda_multiply_blocks(struct cuda_queue *q, enum stream_id id,
                                 const struct cuda_product *first, size_t n)
{
    cublasHandle_t blas;
    STATUS_TRY(cuda_queue_blas(q, id, &blas));
    return products_of(blas, first, first->n_k, first->n_a * first->pitch_a,
                       first->n_b * first->pitch_b, n);
}
