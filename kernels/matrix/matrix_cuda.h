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
    size_t n, first, panel; /* series; the first row; rows of a panel */
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
    struct queue_access reads =
        {}; /* a band's own panel, so that later ones may be computed; all */

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

/* survey_cuda, rank_cuda, select_cuda */
KERNEL(matrix, survey) cuda_survey;
KERNEL(matrix, kth_abs) cuda_kth_abs;
/* The median of |r| over all defined pairs. */
enum status cuda_median_abs(struct queue *q, const struct matrix *m, double *out) STATUS_MUST_CHECK;
KERNEL(matrix, select) cuda_select;

#endif
