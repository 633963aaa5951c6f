/*
 * matrix_cuda - a matrix of coefficients as the kernels see it.
 */
#ifndef LEAT_KERNELS_MATRIX_MATRIX_CUDA_H
#define LEAT_KERNELS_MATRIX_MATRIX_CUDA_H

#include "kernels/base/queue_cuda.h"
#include "kernels/matrix/matrix_rule.h"

/* Panels whose addresses travel with the launch; those of more lie in device memory. */
enum { MATRIX_PANELS = 256 };

struct matrix_view {
    size_t n, panel; /* series; rows of a panel */
    enum dtype type;
    const void *const *many;
    const void *few[MATRIX_PANELS];
};

/* A view of a matrix, for as long as the object lives. */
class cuda_matrix_view
{
  public:
    explicit cuda_matrix_view(struct queue *queue) : q(queue), list(queue)
    {
    }
    /* Fails with STATUS_INTERNAL when a panel is too small. */
    enum status look(const struct matrix *m);
    struct matrix_view view = {};

  private:
    struct queue *q;
    cuda_span list;
};

#ifdef __CUDACC__

/* Row j: its elements i < j. */
template <typename T> __device__ __forceinline__ const T *matrix_row(const matrix_view &m, size_t j)
{
    const size_t p = (uint32_t)j / (uint32_t)m.panel;
    const size_t end = (p + 1) * m.panel, width = end < m.n ? end : m.n;
    const T *panel = (const T *)(m.many != nullptr ? m.many[p] : m.few[p]);
    return panel + (j - p * m.panel) * width;
}

#endif

/* cuda_survey, cuda_rank, cuda_select, cuda_matrix */
enum status cuda_survey(struct queue *q, const struct matrix *m, struct matrix_survey *out,
                        double *median_abs, double *median_abs_all) STATUS_MUST_CHECK;
enum status cuda_kth_abs(struct queue *q, const struct matrix *m, uint64_t k,
                         double *out) STATUS_MUST_CHECK;
/* The median of |r| over all defined pairs. */
enum status cuda_median_abs(struct queue *q, const struct matrix *m, double *out) STATUS_MUST_CHECK;
enum status cuda_select(struct queue *q, const struct matrix *m, double cut,
                        struct matrix_pairs *out) STATUS_MUST_CHECK;
enum status cuda_condensed(struct queue *q, const struct matrix *m, uint64_t first, size_t n,
                           void *dst) STATUS_MUST_CHECK;
enum status cuda_heatmap(struct queue *q, const struct matrix *m,
                         const struct matrix_picture *picture) STATUS_MUST_CHECK;

#endif
