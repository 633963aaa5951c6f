/*
 * kmeans_tiled_cuda - a pass where rows or centroids do not fit into shared memory: tiles of 128
 * points x 32 columns meet tiles of 16 centroids, and the points are read k / 16 times; the
 * farthest point, which is rarely asked for, is always looked for so. With `memory`, it passes over
 * a list of points.
 */
#ifndef LEAT_KERNELS_KMEANS_KMEANS_TILED_CUDA_H
#define LEAT_KERNELS_KMEANS_KMEANS_TILED_CUDA_H

#include "kernels/kmeans/kmeans_pass_cuda.h"

namespace kmeans_pass
{

/* Columns j .. j + 31 of the block's points and of centroids c .. c + 15. */
template <typename T>
__device__ __forceinline__ void copy_tile(const pass_args &a, const layout &l, size_t point, int c,
                                          int j)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, column = j + lane;
    T *tile = shared_at<T>(l.tile) + warp * 32 * (TILE_COLUMNS + 1);
    double *centroids = shared_at<double>(l.centroids);
    for (int row = 0; row < 32; row++) {
        const unsigned long long p = __shfl_sync(ALL, (unsigned long long)point, row);
        tile[row * (TILE_COLUMNS + 1) + lane] =
            p != SIZE_MAX && column < a.d ? ((const T *)a.x)[p * a.d + column] : (T)0;
    }
    for (int i = warp; i < TILE_CENTROIDS; i += WARPS) {
        centroids[lane * TILE_ROW + i] =
            c + i < a.k && column < a.d ? a.centroid[(size_t)(c + i) * a.d + column] : INFINITY;
    }
    if (warp == 0) {
        shared_at<double>(l.weights)[lane] = column < a.d ? a.m.weight[column] : 1;
    }
}

/* each(d2, c): of the centroids from number c on. */
template <typename T, typename EACH>
__device__ __forceinline__ void pass_centroids(const pass_args &a, const layout &l, size_t point,
                                               EACH each)
{
    const T *x = shared_at<T>(l.tile) + threadIdx.x * (TILE_COLUMNS + 1);
    for (int c = 0; c < a.k; c += TILE_CENTROIDS) {
        double d2[1][TILE_CENTROIDS] = {};
        for (int j = 0; j < a.d; j += TILE_COLUMNS) {
            __syncthreads();
            copy_tile<T>(a, l, point, c, j);
            __syncthreads();
            add_columns<T, 1, TILE_CENTROIDS, true>(
                d2, x, 0, a.d - j < TILE_COLUMNS ? a.d - j : TILE_COLUMNS,
                shared_at<double>(l.centroids), TILE_ROW, shared_at<double>(l.weights));
        }
        each(d2, c);
    }
}

template <typename T, int MODE> __global__ void __launch_bounds__(THREADS) pass_tiled(pass_args a)
{
    const layout l = layout_of(MODE, a, TILED, sizeof(T));
    const size_t n = MODE == MOVE ? *a.n_list : a.n;
    struct kmeans_pick pick = kmeans_no_pick();
    if (is_idle<MODE>(a)) { /* choose_pick() asks, too */
        return;
    }
    if (MODE == MOVE && blockIdx.x * (size_t)THREADS >= n) {
        return;
    }
    clear<MODE>(a, l);
    __syncthreads();
    for (size_t base = blockIdx.x * (size_t)THREADS; base < n;
         base += gridDim.x * (size_t)THREADS) {
        const size_t i = base + threadIdx.x;
        const size_t point = i >= n ? SIZE_MAX : MODE == MOVE ? a.list[i] : i;
        if constexpr (MODE == DRAW) {
            drawing<1> g;
            g.point[0] = point == SIZE_MAX ? NO_POINT : (uint32_t)point;
            begin_drawing(a, &g);
            pass_centroids<T>(a, l, point, [&](const auto &d2, int c) {
                meet_base(a, &g, d2, c);
                if (c < a.n_base && c + TILE_CENTROIDS >= a.n_base) {
                    end_base(a, l, g);
                }
#pragma unroll
                for (int i = 0; i < TILE_CENTROIDS; i++) {
                    const int trial = c + i - a.n_base;
                    const double one[1][1] = {{d2[0][i]}};
                    if (trial >= 0 && trial < a.n_trials) {
                        meet_trials(a, l, g, one, trial);
                    }
                }
            });
            continue;
        }
        found f;
        nothing_found(&f);
        pass_centroids<T>(a, l, point, [&](const auto &d2, int c) {
            find<TILE_CENTROIDS, MODE == MOVE>(&f, d2[0], c);
        });
        move v = {-1, -1};
        if (point != SIZE_MAX) {
            v = treat_point<MODE>(a, l, f, point, MODE == MOVE ? a.label[point] : 0, &pick);
        }
        __syncwarp();
        if (MODE == ASSIGN || MODE == MOVE) {
            move_cells<T, MODE, false>(a, l, v, nullptr, point);
        }
    }
    flush<MODE>(a, l);
    if constexpr (MODE == FARTHEST) {
        leave_farthest(a, pick);
    } else {
        leave<MODE>(a, l);
    }
}

} // namespace kmeans_pass

#endif
