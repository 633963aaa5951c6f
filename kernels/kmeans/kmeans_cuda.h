/*
 * kmeans_cuda - what the kernels of k-means share: the model's arrays, a thread's pick, and sums in
 * global memory.
 */
#ifndef LEAT_KERNELS_KMEANS_KMEANS_CUDA_H
#define LEAT_KERNELS_KMEANS_KMEANS_CUDA_H

#include "kernels/base/queue_cuda.h"
#include "kernels/kmeans/kmeans.h"
#include "kernels/kmeans/kmeans_rule.h"

#include <stdlib.h>

/* Threads of a block that passes over points: a thread a point of a tile. */
enum { KMEANS_THREADS = 128, KMEANS_WARPS = KMEANS_THREADS / 32 };

/* The model's arrays, on the device. */
struct kmeans_device {
    struct kmeans_state *state;
    double *min, *max, *unit, *weight, *centre, *square_unit, *pick_cells, *centroid, *drift;
    uint64_t *bad, *count;
    struct kmeans_sum *squares, *sum, *within;
    int64_t *potential;
    struct kmeans_pick *drawn;
    size_t k, d, mass_column;
    double mass_factor;
    bool has_mass, incremental;
};

static inline struct kmeans_device kmeans_on_device(const struct kmeans_model *m)
{
    struct kmeans_device v = {};
    v.state = (struct kmeans_state *)kmeans_array(m, KMEANS_STATE);
    v.min = (double *)kmeans_array(m, KMEANS_MIN);
    v.max = (double *)kmeans_array(m, KMEANS_MAX);
    v.unit = (double *)kmeans_array(m, KMEANS_UNIT);
    v.weight = (double *)kmeans_array(m, KMEANS_WEIGHT);
    v.centre = (double *)kmeans_array(m, KMEANS_CENTRE);
    v.square_unit = (double *)kmeans_array(m, KMEANS_SQUARE_UNIT);
    v.pick_cells = (double *)kmeans_array(m, KMEANS_PICK_CELLS);
    v.centroid = (double *)kmeans_array(m, KMEANS_CENTROID);
    v.drift = (double *)kmeans_array(m, KMEANS_DRIFT);
    v.bad = (uint64_t *)kmeans_array(m, KMEANS_BAD);
    v.count = (uint64_t *)kmeans_array(m, KMEANS_COUNT);
    v.drawn = (struct kmeans_pick *)kmeans_array(m, KMEANS_DRAWN);
    v.potential = (int64_t *)kmeans_array(m, KMEANS_POTENTIAL);
    v.squares = (struct kmeans_sum *)kmeans_array(m, KMEANS_SQUARES);
    v.sum = (struct kmeans_sum *)kmeans_array(m, KMEANS_SUM);
    v.within = (struct kmeans_sum *)kmeans_array(m, KMEANS_WITHIN);
    v.k = m->k;
    v.d = m->n_columns;
    v.has_mass = m->has_mass;
    v.mass_column = m->mass_column;
    v.mass_factor = m->mass_factor;
    v.incremental = m->incremental;
    return v;
}

/* The whole model, as an operation reads or writes it. */
static inline struct queue_access kmeans_access(const struct kmeans_model *m)
{
    return queue_writes(m->at.at, kmeans_model_bytes(m->k, m->n_columns));
}

static inline size_t kmeans_points_bytes(const struct kmeans_points *x)
{
    return x->n * x->n_columns * dtype_bytes(x->type);
}

/* Fails unless the spans hold the model and the points, and the counts fit. */
static inline enum status kmeans_expect(const struct kmeans_points *x, const struct kmeans_model *m)
{
    const size_t d = m->n_columns;
    STATUS_TRY(cuda_expect(m->at, 1, kmeans_model_bytes(m->k, d), "a model of k-means"));
    STATUS_TRY(cuda_expect(x->at, x->n, d * dtype_bytes(x->type), "points"));
    if (x->n_columns != d || d == 0 || d > INT32_MAX || m->k == 0 || m->k > INT32_MAX ||
        x->n > (size_t)1 << 31) {
        return status_fail(STATUS_INTERNAL, "%zu points of %zu columns for %zu clusters of %zu",
                           x->n, x->n_columns, m->k, d);
    }
    if (d == 2 && (uintptr_t)x->at.at % (2 * dtype_bytes(x->type)) != 0) {
        return status_fail(STATUS_INTERNAL, "points of two columns begin between two rows");
    }
    return STATUS_OK;
}

/* The blocks of a pass over points that could have `wanted`. LEAT_CUDA_BLOCKS=N lets it have N at
 * most, but as many as its integers need: for tests of threads that take many points.
 * STATUS_BAD_ARGUMENT where N is not a number above 0. */
static inline enum status kmeans_most_blocks(size_t wanted, size_t *out)
{
    const char *set = getenv("LEAT_CUDA_BLOCKS");
    char *end = nullptr;
    const size_t most = set == nullptr ? wanted : strtoul(set, &end, 10);
    if (set != nullptr && (*set < '1' || *set > '9' || *end != '\0')) {
        return status_fail(STATUS_BAD_ARGUMENT, "LEAT_CUDA_BLOCKS: '%s' is not a number of blocks",
                           set);
    }
    *out = cuda_min(wanted, most);
    return STATUS_OK;
}

#ifdef __CUDACC__

__device__ __forceinline__ void kmeans_add_word(int64_t *to, int64_t v)
{
    if (v != 0) {
        atomicAdd((unsigned long long *)to, (unsigned long long)v);
    }
}

/* Adds to a sum in global memory. */
__device__ __forceinline__ void kmeans_add_words(struct kmeans_sum *sum, struct kmeans_sum v)
{
    kmeans_add_word(&sum->high[0], v.high[0]);
    kmeans_add_word(&sum->high[1], v.high[1]);
    kmeans_add_word(&sum->low[0], v.low[0]);
    kmeans_add_word(&sum->low[1], v.low[1]);
}

__device__ __forceinline__ struct kmeans_pick kmeans_no_pick()
{
    const struct kmeans_pick none = {0, UINT64_MAX, 0};
    return none;
}

/* The farther point. */
__device__ __forceinline__ void kmeans_consider(struct kmeans_pick *pick, struct kmeans_pick other)
{
    if (other.point != UINT64_MAX &&
        kmeans_before(other.value, other.point, pick->value, pick->point, true)) {
        *pick = other;
    }
}

/* The farthest of the picks of a block of THREADS; thread 0 gets it. `shared` has room for as many,
 * and may be used again after the next barrier. */
template <int THREADS>
__device__ __forceinline__ void kmeans_block_pick(struct kmeans_pick *own,
                                                  struct kmeans_pick *shared)
{
    shared[threadIdx.x] = *own;
    __syncthreads();
    for (int step = THREADS / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            kmeans_consider(&shared[threadIdx.x], shared[threadIdx.x + step]);
        }
        __syncthreads();
    }
    *own = shared[0];
}

/* A point that is drawn, with its key; none: as in kmeans_no_key(). */
struct alignas(16) kmeans_key {
    double key;
    uint64_t point;
};

__device__ __forceinline__ struct kmeans_key kmeans_no_key()
{
    const struct kmeans_key none = {INFINITY, UINT64_MAX};
    return none;
}

/* The one that comes first. */
__device__ __forceinline__ void kmeans_earlier(struct kmeans_key *v, struct kmeans_key other)
{
    const bool comes = other.key < v->key || (other.key == v->key && other.point < v->point);
    v->key = comes ? other.key : v->key;
    v->point = comes ? other.point : v->point;
}

__device__ __forceinline__ uint64_t kmeans_warp_least(uint64_t v)
{
    const unsigned own = (unsigned)(v >> 32), high = __reduce_min_sync(0xffffffffu, own);
    const unsigned low = __reduce_min_sync(0xffffffffu, own == high ? (unsigned)v : UINT_MAX);
    return (uint64_t)high << 32 | low;
}

/* The first of the warp's, which is taken out of its lane's; every lane gets it. Keys are ordered
 * as their bits are: none is negative. */
__device__ __forceinline__ struct kmeans_key kmeans_warp_first(struct kmeans_key *own)
{
    const uint64_t bits = (uint64_t)rounded_bits(own->key), key = kmeans_warp_least(bits);
    const uint64_t point = kmeans_warp_least(bits == key ? own->point : UINT64_MAX);
    if (own->point == point) {
        *own = kmeans_no_key();
    }
    const struct kmeans_key first = {rounded_of_bits((int64_t)key), point};
    return first;
}

#endif

/* kmeans_columns_cuda.cu, kmeans_pick_cuda.cu, kmeans_update_cuda.cu */
KERNEL(kmeans, range) kmeans_cuda_range;
KERNEL(kmeans, squares) kmeans_cuda_squares;
KERNEL(kmeans, draw) kmeans_cuda_draw;
KERNEL(kmeans, farthest) kmeans_cuda_farthest;
KERNEL(kmeans, take) kmeans_cuda_take;
KERNEL(kmeans, update) kmeans_cuda_update;

#endif
