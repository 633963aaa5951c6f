/*
 * cpu_product - see the header. The triangle of a diagonal tile is a symmetric rank-k update, which
 * is half the work of the product.
 */
#include "kernels/cpu/cpu_product.h"

#include "kernels/cpu/cpu_clones.h"

#include <cblas.h>
#include <string.h>

void product_f64(const struct product_f64 *p)
{
    for (size_t k = 0; k < p->n_k; k += PRODUCT_SLICE) {
        size_t n = p->n_k - k < PRODUCT_SLICE ? p->n_k - k : PRODUCT_SLICE;
        double beta = p->add || k != 0 ? 1.0 : 0.0;
        if (p->lower) {
            cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (blasint)p->n_a, (blasint)n, 1.0,
                        p->a + k, (blasint)p->lda, beta, p->c, (blasint)p->ldc);
        } else {
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)p->n_a, (blasint)p->n_b,
                        (blasint)n, 1.0, p->a + k, (blasint)p->lda, p->b + k, (blasint)p->ldb, beta,
                        p->c, (blasint)p->ldc);
        }
    }
}

CPU_CLONES static void add_piece(const float *piece, size_t n, double *c)
{
    for (size_t i = 0; i < n; ++i) {
        c[i] += (double)piece[i];
    }
}

void product_f32(const struct product_f32 *p)
{
    size_t area = p->n_a * p->n_b;
    memset(p->c, 0, area * sizeof *p->c);
    memset(p->piece, 0, area * sizeof *p->piece);
    for (size_t k = 0; k < p->n_k; k += p->slice) {
        size_t n = p->n_k - k < p->slice ? p->n_k - k : p->slice;
        if (p->lower) {
            cblas_ssyrk(CblasRowMajor, CblasLower, CblasNoTrans, (blasint)p->n_a, (blasint)n, 1.0F,
                        p->a + k, (blasint)p->lda, 0.0F, p->piece, (blasint)p->n_b);
        } else {
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)p->n_a, (blasint)p->n_b,
                        (blasint)n, 1.0F, p->a + k, (blasint)p->lda, p->b + k, (blasint)p->ldb,
                        0.0F, p->piece, (blasint)p->n_b);
        }
        add_piece(p->piece, area, p->c);
    }
}
