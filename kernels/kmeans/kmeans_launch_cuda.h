/*
 * kmeans_launch_cuda - which kernel passes over the points, with how much shared memory and how
 * many blocks. Whoever includes it compiles the kernels of the modes that it plans.
 */
#ifndef LEAT_KERNELS_KMEANS_KMEANS_LAUNCH_CUDA_H
#define LEAT_KERNELS_KMEANS_KMEANS_LAUNCH_CUDA_H

#include "kernels/kmeans/kmeans_short_cuda.h"
#include "kernels/kmeans/kmeans_tiled_cuda.h"
#include "kernels/kmeans/kmeans_whole_cuda.h"

namespace kmeans_pass
{

/* Numbers of 2^50 units that fit an integer. */
const size_t NUMBERS = 4096;

/* A pass: its kernel, what it needs of shared memory, and its blocks. */
struct pass {
    void (*kernel)(pass_args);
    size_t shared;
    size_t blocks;
    enum rows rows;
};

/* Dynamic shared memory of a block where a multiprocessor has so many of them. */
template <int MODE> size_t most_shared(const struct cudaDeviceProp &device, size_t blocks)
{
    const size_t of_block =
        device.sharedMemPerMultiprocessor / blocks - device.reservedSharedMemPerBlock;
    return cuda_min(of_block, device.sharedMemPerBlockOptin) - STATIC_SHARED<MODE>;
}

template <typename T, int MODE> void (*kernel_of(enum rows rows, int d))(pass_args)
{
    if constexpr (MODE != FARTHEST) { /* which is rare */
        if (rows == SHORT) {
            return d == 1   ? pass_short<T, MODE, 1>
                   : d == 2 ? pass_short<T, MODE, 2>
                            : pass_short<T, MODE, 3>;
        }
        if (rows == WHOLE) {
            return pass_whole<T, MODE>;
        }
    }
    return pass_tiled<T, MODE>;
}

/* On the device that the operation under way has chosen. */
template <typename T, int MODE> enum status plan_pass(struct cuda_queue *q, pass_args *a, pass *p)
{
    /* Short rows; else two blocks a multiprocessor, or one; without sums of their own if need be;
     * tiles only where there is memory for a list of points. (Where rows are short the next form
     * takes 1.3 to 1.8 times as long, and where they are whole 1.4 to 2 times.) */
    const struct cudaDeviceProp &device = q->backend->properties;
    const size_t of_one = most_shared<MODE>(device, 1), of_two = most_shared<MODE>(device, 2);
    constexpr bool sums = MODE <= LABEL, in_lanes = MODE != FARTHEST;
    const bool may_tile = MODE != MOVE || kmeans_list_bytes(a->n, a->m.k, a->m.d) > 0;
    const struct {
        bool own;
        enum rows rows;
        size_t most;
    } choices[] = {{sums, SHORT, in_lanes && a->d <= MOST_SHORT ? of_one : 0},
                   {sums, WHOLE, in_lanes ? of_two : 0},
                   {sums, WHOLE, in_lanes ? of_one : 0},
                   {sums, TILED, may_tile ? of_one : 0},
                   {false, WHOLE,
                    !in_lanes  ? 0
                    : may_tile ? of_two
                               : of_one},
                   {false, TILED, may_tile ? SIZE_MAX : 0}};
    const size_t n_choices = sizeof choices / sizeof *choices;
    size_t i = 0;
    a->own = choices[0].own;
    while (layout_of(MODE, *a, choices[i].rows, sizeof(T)).bytes > choices[i].most) {
        if (++i == n_choices) {
            return status_fail(STATUS_INTERNAL, "%d centroids of %d columns, and no list", a->k,
                               a->d);
        }
        a->own = choices[i].own;
    }
    p->rows = choices[i].rows;
    p->kernel = kernel_of<T, MODE>(p->rows, a->d);
    p->shared = layout_of(MODE, *a, p->rows, sizeof(T)).bytes;
    int resident = 0;
    /* The attribute is the kernel's, not the launch's, and other jobs launch it at the same time:
     * all of them ask for the same. */
    CUDA_TRY(cudaFuncSetAttribute((const void *)p->kernel,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, (int)of_one),
             "shared memory of k-means");
    CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, (const void *)p->kernel,
                                                           THREADS, p->shared),
             "blocks of k-means");
    /* No sum of a thread gets more than NUMBERS numbers: of a tile of 32 points as many as its
     * group has lanes. (Looked at LOOKED_AT a lane, a warp gets no more tiles than that, since
     * those of a thread divide by LOOKED_AT.) Picks have no sums. */
    static_assert(NUMBERS / 32 % LOOKED_AT == 0);
    const size_t per_tile = MODE == LABEL ? 1 : (size_t)a->group;
    const size_t tiles = cuda_pieces(a->n, 32);
    const size_t least = sums ? cuda_pieces(tiles, WARPS * (NUMBERS / per_tile)) : 1;
    const size_t fit = cuda_max(1, (size_t)resident) * (size_t)device.multiProcessorCount;
    size_t wanted = 0;
    STATUS_TRY(kmeans_most_blocks(MODE == DRAW ? cuda_min(fit, KMEANS_DRAW_BLOCKS) : fit, &wanted));
    /* What a lane takes, or looks at, before any other lane takes more: every block has points. */
    const size_t of_lane = p->rows == TILED   ? 1
                           : MODE == MOVE     ? LOOKED_AT
                           : p->rows == SHORT ? TWO
                                              : 1;
    p->blocks = cuda_max(least, cuda_min(wanted, cuda_pieces(a->n, of_lane * THREADS)));
    return STATUS_OK;
}

template <int MODE>
enum status plan_any(struct cuda_queue *q, enum dtype type, pass_args *a, pass *p)
{
    return type == DTYPE_F32 ? plan_pass<float, MODE>(q, a, p) : plan_pass<double, MODE>(q, a, p);
}

inline pass_args args_of(const struct kmeans_points *x, const struct kmeans_model *m)
{
    pass_args a = {};
    a.m = kmeans_on_device(m);
    a.x = x->at.at;
    a.is_narrow = x->type == DTYPE_F32;
    a.n = x->n;
    a.first = x->first;
    a.centroid = a.m.centroid;
    a.k = (int)m->k;
    a.d = (int)m->n_columns;
    a.group = 1;
    while (a.group < a.d && a.group < 32) {
        a.group *= 2;
    }
    a.chunks = (a.d + a.group - 1) / a.group;
    return a;
}

inline enum status launch(const pass &p, const pass_args &a, cudaStream_t stream, const char *what)
{
    p.kernel<<<(unsigned)p.blocks, THREADS, p.shared, stream>>>(a);
    return cuda_launched(what);
}

} // namespace kmeans_pass

#endif
