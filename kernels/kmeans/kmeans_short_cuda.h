/*
 * kmeans_short_cuda - a pass over rows of at most MOST_SHORT columns, which lie in registers.
 *
 * A lane takes TWO points at a time, a row of two columns in one load, and the next rows are on
 * their way meanwhile; centroids are in shared memory, and each that is read serves both points.
 * With `memory`, which is copied to shared memory asynchronously, each thread what it reads itself,
 * a block looks at LOOKED_AT points a lane, queues those that may move, and passes over TWO a lane
 * as soon as there are as many. Then lanes of a group hand their cells round: each gets those of
 * its column.
 */
#ifndef LEAT_KERNELS_KMEANS_KMEANS_SHORT_CUDA_H
#define LEAT_KERNELS_KMEANS_KMEANS_SHORT_CUDA_H

#include "kernels/kmeans/kmeans_pass_cuda.h"

namespace kmeans_pass
{

const int MOST_SHORT = 3;

/* A row, aligned so that as few loads as can be bring it. */
template <typename T, int D> struct alignas(D == 2 ? 2 * sizeof(T) : sizeof(T)) short_row {
    T cell[D];
};

/* Where a block's points come from: all, or MOVE: those that may move. */
struct short_source {
    size_t at; /* the lane's next point, or MOVE: the block's next points to look at */
    struct short_memory *shared;
    unsigned n; /* queued; the same in all threads */
};

/* The first of the thread's points that a block looks at, which are 32 apart. */
__device__ __forceinline__ unsigned looked_at()
{
    return threadIdx.x / 32 * (32 * LOOKED_AT) + threadIdx.x % 32;
}

/* Begins to copy what the thread's next points remember. */
__device__ __forceinline__ void copy_memory(const pass_args &a, const short_source *s)
{
#pragma unroll
    for (int i = 0; i < LOOKED_AT; i++) {
        const unsigned to = looked_at() + i * 32;
        if (s->at + to < a.n) {
            copy_cell(&s->shared->bounds[to], (const float2 *)a.bounds + s->at + to);
            copy_cell(&s->shared->label[to], a.label + s->at + to);
        }
    }
    commit_copies();
}

/* Queues those of the block's next points that may move. All threads take part. */
__device__ __forceinline__ void look_at(const pass_args &a, short_source *s)
{
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const size_t first = s->at + looked_at();
    int32_t label[LOOKED_AT];
    unsigned who[LOOKED_AT], n = 0;
    wait_copies<0>();
#pragma unroll
    for (int i = 0; i < LOOKED_AT; i++) {
        const float2 both = s->shared->bounds[looked_at() + i * 32];
        const struct kmeans_bounds b = {both.x, both.y};
        label[i] = s->shared->label[looked_at() + i * 32];
        who[i] = __ballot_sync(ALL, first + i * 32 < a.n && may_move(a, label[i], b));
        n += __popc(who[i]);
    }
    s->at += gridDim.x * (size_t)(THREADS * LOOKED_AT);
    copy_memory(a, s);
    if (lane == 0) {
        s->shared->counts[warp] = n;
    }
    __syncthreads(); /* nobody reads the queue any more */
    unsigned at = s->n;
    for (unsigned i = 0; i < WARPS; i++) {
        at += i < warp ? s->shared->counts[i] : 0;
        s->n += s->shared->counts[i];
    }
#pragma unroll
    for (int i = 0; i < LOOKED_AT; i++) {
        if ((who[i] >> lane & 1) != 0) {
            struct moving *to = &s->shared->queue[at + __popc(who[i] & ((1u << lane) - 1))];
            to->point = (uint32_t)(first + i * 32);
            to->label = label[i];
        }
        at += __popc(who[i]);
    }
    __syncthreads();
}

/* The lane's next points, NO_POINT where there is none; whether the warp has any, or MOVE: the
 * block, of which all threads take part. */
template <int MODE>
__device__ __forceinline__ bool next_short(const pass_args &a, short_source *s,
                                           struct moving (&next)[TWO])
{
    if constexpr (MODE == MOVE) {
        while (s->n < TWO * THREADS && s->at < a.n) {
            look_at(a, s);
        }
        const unsigned n = s->n < TWO * THREADS ? s->n : TWO * THREADS;
        s->n -= n;
#pragma unroll
        for (int q = 0; q < TWO; q++) {
            const unsigned i = q * THREADS + threadIdx.x;
            const struct moving none = {NO_POINT, 0};
            next[q] = i < n ? s->shared->queue[s->n + i] : none;
        }
        return n > 0;
    } else {
#pragma unroll
        for (int q = 0; q < TWO; q++) {
            next[q].point = s->at < a.n ? (uint32_t)s->at : NO_POINT;
            next[q].label = 0;
            s->at += gridDim.x * (size_t)THREADS;
        }
        return __any_sync(ALL, next[0].point != NO_POINT);
    }
}

template <typename T, int D>
__device__ __forceinline__ void read_short(const pass_args &a, const struct moving (&point)[TWO],
                                           T (&x)[TWO][D])
{
#pragma unroll
    for (int q = 0; q < TWO; q++) {
        const size_t p = point[q].point == NO_POINT ? 0 : point[q].point;
        const short_row<T, D> row = ((const short_row<T, D> *)a.x)[p];
#pragma unroll
        for (int j = 0; j < D; j++) {
            x[q][j] = row.cell[j];
        }
    }
}

/* The cells of the warp's points that move. All lanes take part. */
template <typename T, int MODE, int D>
__device__ __forceinline__ void move_short(const pass_args &a, const layout &l, move v,
                                           const T (&x)[D], double per_unit)
{
    const int group = D == 3 ? 4 : D, column = threadIdx.x % group;
    if (!__any_sync(ALL, v.to >= 0)) {
        return;
    }
#pragma unroll
    for (int s = 0; s < group; s++) {
        const int to = __shfl_xor_sync(ALL, v.to, s);
        const int from = MODE == MOVE ? __shfl_xor_sync(ALL, v.from, s) : -1;
        T cell = x[0];
#pragma unroll
        for (int j = 1; j < D; j++) {
            const T other = x[j];
            cell = (column ^ s) == j ? other : cell;
        }
        cell = __shfl_xor_sync(ALL, cell, s);
        T by = cell;
        if (a.m.has_mass) {
            by = x[0];
#pragma unroll
            for (int j = 1; j < D; j++) {
                by = a.m.mass_column == j ? x[j] : by;
            }
            by = __shfl_xor_sync(ALL, by, s);
        }
        if (to >= 0 && column < D) {
            move_cell(a, l, from, to, 0, column, (double)cell, (double)by, per_unit);
        }
    }
}

template <typename T, int MODE, int D, bool WEIGHTED>
__device__ __forceinline__ void short_loop(const pass_args &a, const layout &l)
{
    const int group = D == 3 ? 4 : D, column = threadIdx.x % group;
    const double per_unit = shared_at<double>(l.per_unit)[column < D ? column : 0];
    short_source s = {blockIdx.x * (size_t)THREADS, shared_at<struct short_memory>(l.waiting), 0};
    if (MODE == MOVE) {
        s.at *= LOOKED_AT;
        copy_memory(a, &s);
    } else {
        s.at += threadIdx.x;
    }
    struct moving point[TWO], next[TWO];
    T x[TWO][D], ahead[TWO][D];
    bool more = next_short<MODE>(a, &s, point);
    read_short<T, D>(a, point, x);
    while (more) {
        more = next_short<MODE>(a, &s, next);
        read_short<T, D>(a, next, ahead);
        found f[TWO];
        if constexpr (MODE == DRAW) {
            const uint32_t both[TWO] = {point[0].point, point[1].point};
            draw_points<T, TWO, WEIGHTED, D>(a, l, both, x[0], D, D);
        } else {
            nothing_found(&f[0]);
            nothing_found(&f[1]);
            nearest<T, TWO, EIGHT, WEIGHTED, MODE == MOVE, D>(
                f, x[0], D, D, shared_at<double>(l.centroids), a.k, l.padded_k,
                shared_at<double>(l.weights));
        }
#pragma unroll
        for (int q = 0; q < TWO; q++) {
            move v = {-1, -1};
            if (MODE != DRAW && point[q].point != NO_POINT) {
                v = treat_point<MODE>(a, l, f[q], point[q].point, point[q].label, nullptr);
            }
            __syncwarp();
            if (MODE == ASSIGN || MODE == MOVE) {
                move_short<T, MODE, D>(a, l, v, x[q], per_unit);
            }
            point[q] = next[q];
#pragma unroll
            for (int j = 0; j < D; j++) {
                x[q][j] = ahead[q][j];
            }
        }
    }
}

template <typename T, int MODE, int D>
__global__ void __launch_bounds__(THREADS, D == 3           ? 3
                                           : MODE == ASSIGN ? 6
                                                            : 4) pass_short(pass_args a)
{
    const layout l = layout_of(MODE, a, SHORT, sizeof(T));
    if (is_idle<MODE>(a)) {
        return;
    }
    if (begin_whole<MODE>(a, l)) {
        short_loop<T, MODE, D, true>(a, l);
    } else {
        short_loop<T, MODE, D, false>(a, l);
    }
    flush<MODE>(a, l);
    leave<MODE>(a, l);
}

} // namespace kmeans_pass

#endif
