/*
 * kmeans_nearest_cuda - distances of points, in registers or shared memory, to centroids in shared
 * memory.
 *
 * A lane has P points of its own and, in registers, their d2 to N centroids; all lanes read the
 * same cell of a centroid, and each centroid that is read serves P points. Flops: a difference and
 * an fma a point, cluster and column, a product more where columns have weights, and a comparison a
 * point and cluster, two where the second nearest is asked for.
 */
#ifndef LEAT_KERNELS_KMEANS_KMEANS_NEAREST_CUDA_H
#define LEAT_KERNELS_KMEANS_KMEANS_NEAREST_CUDA_H

#include "kernels/kmeans/kmeans_cuda.h"

namespace kmeans_pass
{

/* A point's least d2, and the high word of the least of the others, which is ordered as they are:
 * none is negative. */
struct found {
    double d2;
    unsigned second;
    int label;
};

__device__ __forceinline__ void nothing_found(found *f)
{
    f->d2 = INFINITY;
    f->second = 0x7ff00000; /* of infinity */
    f->label = 0;
}

/* The d2 of N more centroids, from number `first` on. Where there are fewer, the others lie at
 * infinity: their d2 is infinite or NaN, and comes before nothing. */
template <int N, bool SECOND>
__device__ __forceinline__ void find(found *f, const double (&d2)[N], int first)
{
    int nearest = -1;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const bool nearer = d2[i] < f->d2;
        if (SECOND) {
            const unsigned here = (unsigned)__double2hiint(d2[i]);
            f->second = min(f->second, max(here, (unsigned)__double2hiint(f->d2)));
        }
        f->d2 = nearer ? d2[i] : f->d2;
        nearest = nearer ? i : nearest;
    }
    f->label = nearest >= 0 ? first + nearest : f->label;
}

/* More columns of N centroids and P points: d2[q][c] of x[q * stride + j] against
 * centroids[j * row + c]; UNROLL of them at a time. */
template <typename T, int P, int N, bool WEIGHTED, int UNROLL = 2>
__device__ __forceinline__ void add_columns(double (&d2)[P][N], const T *x, int stride, int columns,
                                            const double *centroids, int row, const double *weight)
{
#pragma unroll UNROLL
    for (int j = 0; j < columns; j++) {
        const double w = WEIGHTED ? weight[j] : 1;
        const double2 *c = (const double2 *)(centroids + (size_t)j * row);
        double v[P];
#pragma unroll
        for (int q = 0; q < P; q++) {
            v[q] = (double)x[q * stride + j];
        }
#pragma unroll
        for (int i = 0; i < N / 2; i++) {
            const double2 two = c[i];
#pragma unroll
            for (int q = 0; q < P; q++) {
                double s = rounded_subtract(v[q], two.x), t = rounded_subtract(v[q], two.y);
                if (WEIGHTED) {
                    s = rounded_multiply(s, w);
                    t = rounded_multiply(t, w);
                }
                d2[q][2 * i] = rounded_fma(s, s, d2[q][2 * i]);
                d2[q][2 * i + 1] = rounded_fma(t, t, d2[q][2 * i + 1]);
            }
        }
    }
}

/* Of all k centroids, N at a time, which lie as in add_columns(). */
template <typename T, int P, int N, bool WEIGHTED, bool SECOND, int UNROLL>
__device__ __forceinline__ void nearest(found (&f)[P], const T *x, int stride, int columns,
                                        const double *centroids, int k, int row,
                                        const double *weight)
{
    for (int c = 0; c < k; c += N) {
        double d2[P][N] = {};
        add_columns<T, P, N, WEIGHTED, UNROLL>(d2, x, stride, columns, centroids + c, row, weight);
#pragma unroll
        for (int q = 0; q < P; q++) {
            find<N, SECOND>(&f[q], d2[q], c);
        }
    }
}

} // namespace kmeans_pass

#endif
