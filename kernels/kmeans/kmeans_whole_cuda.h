/*
 * kmeans_whole_cuda - a pass where the rows of a block's points and all centroids fit into shared
 * memory.
 *
 * A warp takes 32 points at a time, a lane a point: its distances to all centroids, eight of them
 * at a time in registers. The rows of the next points are copied to shared memory, asynchronously,
 * while these are computed on; rows begin at odd multiples of a cell, so that lanes that read
 * theirs side by side meet no bank twice. With `memory`, a warp reads what is remembered of
 * LOOKED_AT points a lane, 12 bytes each, keeps the numbers of those that may move in shared
 * memory, and passes over 32 of them as soon as there are as many; what it will look at next is
 * read meanwhile.
 */
#ifndef LEAT_KERNELS_KMEANS_KMEANS_WHOLE_CUDA_H
#define LEAT_KERNELS_KMEANS_KMEANS_WHOLE_CUDA_H

#include "kernels/kmeans/kmeans_pass_cuda.h"

namespace kmeans_pass
{

/* Begins to copy the warp's rows, of its lanes' points, into `tile`; SIZE_MAX: no point. Unless
 * MOVE, these are one after the other. */
template <typename T, int MODE>
__device__ __forceinline__ void copy_rows(const pass_args &a, const layout &l, T *tile,
                                          size_t point)
{
    const int lane = threadIdx.x % 32, rows = 32 / a.d, columns = 32 % a.d;
    const int n = __popc(__ballot_sync(ALL, point != SIZE_MAX));
    const size_t first = __shfl_sync(ALL, (unsigned long long)point, 0);
    const T *from = (const T *)a.x + first * a.d + lane;
    int row = lane / a.d, column = lane % a.d;
    T *to = tile + row * l.row + column;
    for (int i = 0; i < a.d; i++) { /* 32 d cells, 32 a round */
        if (MODE == MOVE) {
            const unsigned long long p = __shfl_sync(ALL, (unsigned long long)point, row);
            from = (const T *)a.x + p * a.d + column;
        }
        if (row < n) {
            copy_cell(to, from);
        }
        from += 32;
        to += rows * l.row + columns;
        row += rows;
        column += columns;
        if (column >= a.d) {
            to += l.row - a.d;
            column -= a.d;
            row++;
        }
    }
}

/* Where a warp's tiles of 32 points come from. */
struct source {
    size_t n, at, step; /* of points: how many, those looked at next, how far to the next after */
    /* MOVE: the numbers of points that may move, and what is remembered of those looked at next */
    uint32_t *waiting;
    int n_waiting;
    int32_t label[LOOKED_AT];
    struct kmeans_bounds bounds[LOOKED_AT];
};

__device__ __forceinline__ void read_memory(const pass_args &a, source *s)
{
#pragma unroll
    for (int i = 0; i < LOOKED_AT; i++) {
        const size_t p = s->at + i * 32 + threadIdx.x % 32;
        if (p < s->n) {
            const float2 both = ((const float2 *)a.bounds)[p]; /* in one load */
            s->label[i] = a.label[p];
            s->bounds[i].gap = both.x;
            s->bounds[i].upper = both.y;
        }
    }
}

template <int MODE>
__device__ __forceinline__ source begin_source(const pass_args &a, const layout &l)
{
    const size_t warp = threadIdx.x / 32, each = MODE == MOVE ? 32 * LOOKED_AT : 32;
    source s;
    s.n = a.n;
    s.at = (blockIdx.x * (size_t)WARPS + warp) * each;
    s.step = gridDim.x * (size_t)WARPS * each;
    if (MODE == MOVE) {
        s.waiting = shared_at<uint32_t>(l.waiting) + warp * WAITING;
        s.n_waiting = 0;
        read_memory(a, &s);
    }
    return s;
}

/* Of those that may move, 32; fewer when no more are left. */
__device__ __forceinline__ size_t next_moving(const pass_args &a, source *s)
{
    const unsigned lane = threadIdx.x % 32;
    while (s->n_waiting < 32 && s->at < s->n) {
#pragma unroll
        for (int i = 0; i < LOOKED_AT; i++) {
            const size_t p = s->at + i * 32 + lane;
            const bool moves = p < s->n && may_move(a, s->label[i], s->bounds[i]);
            const unsigned who = __ballot_sync(ALL, moves);
            if (moves) {
                s->waiting[s->n_waiting + __popc(who & ((1u << lane) - 1))] = (uint32_t)p;
            }
            s->n_waiting += __popc(who);
        }
        s->at += s->step;
        read_memory(a, s);
    }
    __syncwarp();
    const int n = s->n_waiting < 32 ? s->n_waiting : 32;
    s->n_waiting -= n;
    const size_t p = (int)lane < n ? s->waiting[s->n_waiting + lane] : SIZE_MAX;
    __syncwarp(); /* before it is written over */
    return p;
}

/* The number of the lane's point of the next tile; SIZE_MAX: none, and if in all lanes, no tile is
 * left. */
template <int MODE> __device__ __forceinline__ size_t next_point(const pass_args &a, source *s)
{
    if (MODE == MOVE) {
        return next_moving(a, s);
    }
    const size_t p = s->at + threadIdx.x % 32;
    s->at += s->step;
    return p < s->n ? p : SIZE_MAX;
}

/* Begins to copy the rows of the next tile; the lane's point. */
template <typename T, int MODE>
__device__ __forceinline__ size_t begin_tile(const pass_args &a, const layout &l, source *s,
                                             T *tile)
{
    const size_t point = next_point<MODE>(a, s);
    copy_rows<T, MODE>(a, l, tile, point);
    commit_copies();
    return point;
}

/* The next rows are copied while these are computed on. */
template <typename T, int MODE, bool WEIGHTED>
__device__ __forceinline__ void warp_loop(const pass_args &a, const layout &l)
{
    const size_t cells = 32 * (size_t)l.row;
    T *tiles = shared_at<T>(l.tile) + threadIdx.x / 32 * 2 * cells;
    source s = begin_source<MODE>(a, l);
    size_t point = begin_tile<T, MODE>(a, l, &s, tiles);
    for (int now = 0; __any_sync(ALL, point != SIZE_MAX); now ^= 1) {
        const size_t next = begin_tile<T, MODE>(a, l, &s, tiles + (now ^ 1) * cells);
        wait_copies<1>();
        __syncwarp();
        const T *tile = tiles + now * cells, *mine = tile + threadIdx.x % 32 * l.row;
        if constexpr (MODE == DRAW) {
            const uint32_t number[1] = {point == SIZE_MAX ? NO_POINT : (uint32_t)point};
            draw_points<T, 1, WEIGHTED, 2>(a, l, number, mine, 0, a.d);
        } else {
            found f[1];
            move v = {-1, -1};
            nothing_found(&f[0]);
            nearest<T, 1, EIGHT, WEIGHTED, MODE == MOVE, 2>(
                f, mine, 0, a.d, shared_at<double>(l.centroids), a.k, l.padded_k,
                shared_at<double>(l.weights));
            if (point != SIZE_MAX) {
                v = treat_point<MODE>(a, l, f[0], point, MODE == MOVE ? a.label[point] : 0,
                                      nullptr);
            }
            __syncwarp();
            if (MODE == ASSIGN || MODE == MOVE) {
                move_cells<T, MODE, true>(a, l, v, tile, point);
            }
        }
        point = next;
        __syncwarp(); /* before the tiles are written again */
    }
    wait_copies<0>();
}

template <typename T, int MODE>
__global__ void __launch_bounds__(THREADS, 2) pass_whole(pass_args a)
{
    const layout l = layout_of(MODE, a, WHOLE, sizeof(T));
    if (is_idle<MODE>(a)) {
        return;
    }
    if (begin_whole<MODE>(a, l)) {
        warp_loop<T, MODE, true>(a, l);
    } else {
        warp_loop<T, MODE, false>(a, l);
    }
    flush<MODE>(a, l);
    leave<MODE>(a, l);
}

} // namespace kmeans_pass

#endif
