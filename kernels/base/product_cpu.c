/*
 * product_cpu - see the header. The triangle of a diagonal tile is a symmetric rank-k update, which
 * is half the work of the product.
 */
#include "kernels/base/product_cpu.h"

#include "formats/base/moves.h"
#include "kernels/base/blas_calls.h"
#include "kernels/base/queue_cpu.h"

enum status product_need(const struct queue *q)
{
    return blas_need(((const struct cpu_backend *)q->backend)->executor.n_threads);
}

void product_f64(const struct product_f64 *p)
{
    for (size_t k = 0; k < p->n_k; k += PRODUCT_SLICE) {
        size_t n = p->n_k - k < PRODUCT_SLICE ? p->n_k - k : PRODUCT_SLICE;
        double beta = p->add || k != 0 ? 1.0 : 0.0;
        if (p->lower) {
            blas.dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (blasint)p->n_a, (blasint)n, 1.0,
                       p->a + k, (blasint)p->lda, beta, p->c, (blasint)p->ldc);
        } else {
            blas.dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)p->n_a, (blasint)p->n_b,
                       (blasint)n, 1.0, p->a + k, (blasint)p->lda, p->b + k, (blasint)p->ldb, beta,
                       p->c, (blasint)p->ldc);
        }
        moves_add();
    }
}
