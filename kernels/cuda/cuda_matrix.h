/*
 * cuda_matrix - a matrix of coefficients as the kernels see it.
 */
#ifndef LEAT_KERNELS_CUDA_MATRIX_H
#define LEAT_KERNELS_CUDA_MATRIX_H

#include "kernels/cuda/cuda_kernels.h"

/* Panels whose addresses travel with the launch; those of more lie in device memory. */
enum { MATRIX_PANELS = 256 };

struct matrix_view {
    size_t n, panel; /* series; rows of a panel */
    enum dtype type;
    const void *const *many;
    const void *few[MATRIX_PANELS];
};

/* A view of a matrix, for as long as the object lives. */
class cuda_matrix
{
  public:
    explicit cuda_matrix(struct queue *queue) : q(queue), list(queue)
    {
    }
    /* Fails with STATUS_INTERNAL when a panel is too small. */
    enum status look(const struct pearson_matrix *m);
    struct matrix_view view = {};

  private:
    struct queue *q;
    cuda_span list;
};

/* Elements of the condensed triangle before row i. */
__host__ __device__ __forceinline__ uint64_t condensed_row(uint64_t i, uint64_t n)
{
    return i * n - i * (i + 1) / 2;
}

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

#endif
