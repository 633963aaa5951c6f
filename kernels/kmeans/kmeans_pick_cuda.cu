/*
 * kmeans_pick_cuda - the point that is farthest from its centroid, and those that are drawn.
 *
 * Mapping: passes over the points (kmeans_short_cuda.h, kmeans_whole_cuda.h, kmeans_tiled_cuda.h).
 * Of the farthest each thread keeps the first of its points, and each block the first of its
 * threads'; then one block takes the first of the blocks', and copies its cells. Of a draw each
 * thread keeps the first of its points by key for each trial, in shared memory; its points are of
 * one class, since warps take 32 at a time. A block keeps the first of its classes', and then a
 * block a list merges those of all blocks, and copies the cells of what is new. Bytes: the points
 * once, and 16 a point where distances to the nearest centroid are kept from one draw to the next;
 * 16 a block, trial and point of a list. Flops of a draw: a difference and an fma a point, column,
 * and trial or newest centroid; some 20 operations a point and trial, and the generator's 100.
 */
#include "kernels/kmeans/kmeans_launch_cuda.h"

using namespace kmeans_pass;

namespace
{

/* Draws where all points weigh the same. */
__global__ void __launch_bounds__(THREADS) draw_alike(pass_args a)
{
    const layout l = layout_of(DRAW, a, WHOLE, 1, 0);
    clear_draws(a, l);
    for (size_t p = blockIdx.x * (size_t)THREADS + threadIdx.x; p < a.n;
         p += gridDim.x * (size_t)THREADS) {
        draw_point(l, 0, kmeans_uniform(philox_block(a.seed, a.stream, a.first + p)), 1,
                   (uint32_t)p);
    }
    leave_draws(a, l);
}

/* The first of the blocks' picks and the model's own becomes the model's, with its cells. */
template <typename T>
__global__ void __launch_bounds__(THREADS) choose_farthest(pass_args a, unsigned n_picks)
{
    __shared__ struct kmeans_pick shared[THREADS];
    if (is_idle<FARTHEST>(a)) {
        return;
    }
    struct kmeans_pick pick = threadIdx.x == 0 ? a.m.state->pick : kmeans_no_pick();
    for (unsigned i = threadIdx.x; i < n_picks; i += THREADS) {
        kmeans_consider(&pick, a.picks[i]);
    }
    kmeans_block_pick<THREADS>(&pick, shared);
    const bool changed = pick.point != a.m.state->pick.point;
    __syncthreads();
    if (!changed) {
        return;
    }
    for (int j = threadIdx.x; j < a.d; j += THREADS) {
        a.m.pick_cells[j] = (double)((const T *)a.x)[(pick.point - a.first) * a.d + j];
    }
    if (threadIdx.x == 0) {
        a.m.state->pick = pick;
    }
}

/* The first point of each class, by its key's bits, which are ordered as keys are: none is
 * negative. */
struct classes {
    unsigned long long key[KMEANS_CLASSES], point[KMEANS_CLASSES];
};

__device__ __forceinline__ void lower_key(classes *c, double key, uint64_t point)
{
    if (point != UINT64_MAX) {
        atomicMin(&c->key[point % KMEANS_CLASSES], (unsigned long long)rounded_bits(key));
    }
}

__device__ __forceinline__ void lower_point(classes *c, double key, uint64_t point)
{
    if (point != UINT64_MAX &&
        c->key[point % KMEANS_CLASSES] == (unsigned long long)rounded_bits(key)) {
        atomicMin(&c->point[point % KMEANS_CLASSES], (unsigned long long)point);
    }
}

/* The model's list of this block and those of the blocks before become the model's, with the cells
 * of what is new in the rows that nothing else has. */
template <typename T>
__global__ void __launch_bounds__(THREADS) merge_list(pass_args a, unsigned n_blocks)
{
    __shared__ classes of;
    __shared__ struct kmeans_pick before[KMEANS_MOST_TRIALS], after[KMEANS_MOST_TRIALS];
    __shared__ bool fresh[KMEANS_MOST_TRIALS];
    const int list = blockIdx.x, most = a.most, lane = threadIdx.x % 32;
    struct kmeans_pick *drawn = a.m.drawn + list * most;
    double *cells = a.m.pick_cells + (size_t)list * most * a.d;
    const unsigned n = n_blocks * most;
    if (threadIdx.x < KMEANS_CLASSES) {
        of.key[threadIdx.x] = of.point[threadIdx.x] = UINT64_MAX;
    }
    if (threadIdx.x < most) {
        before[threadIdx.x] = drawn[threadIdx.x];
    }
    __syncthreads();
    for (int round = 0; round < 2; round++) {
        for (unsigned i = threadIdx.x; i < n + most; i += THREADS) {
            struct kmeans_key v;
            if (i < n) {
                v = a.keys[((size_t)(i / most) * a.n_lists + list) * most + i % most];
            } else {
                v.key = before[i - n].value;
                v.point = before[i - n].point;
            }
            if (round == 0) {
                lower_key(&of, v.key, v.point);
            } else {
                lower_point(&of, v.key, v.point);
            }
        }
        __syncthreads();
    }
    if (threadIdx.x < 32) {
        struct kmeans_key own = {rounded_of_bits((int64_t)of.key[lane]), of.point[lane]};
        for (int j = 0; j < most; j++) {
            const struct kmeans_key first = kmeans_warp_first(&own);
            if (lane == 0) {
                after[j].value = first.key;
                after[j].point = first.point;
            }
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned used = 0;
        for (int j = 0; j < most; j++) {
            fresh[j] = after[j].point != UINT64_MAX;
            after[j].cluster = 0;
            for (int i = 0; i < most && fresh[j]; i++) {
                if (before[i].point == after[j].point) {
                    after[j].cluster = before[i].cluster;
                    used |= 1u << before[i].cluster;
                    fresh[j] = false;
                }
            }
        }
        for (int j = 0; j < most; j++) {
            if (fresh[j]) {
                after[j].cluster = (uint64_t)(__ffs((int)~used) - 1);
                used |= 1u << after[j].cluster;
            }
            drawn[j] = after[j];
        }
    }
    __syncthreads();
    for (int j = 0; j < most; j++) {
        for (int c = threadIdx.x; fresh[j] && c < a.d; c += THREADS) {
            cells[after[j].cluster * a.d + c] =
                (double)((const T *)a.x)[(after[j].point - a.first) * a.d + c];
        }
    }
}

} // namespace

enum status kmeans_cuda_farthest(struct queue *queue, const struct kmeans_points *x,
                                 const struct kmeans_model *m)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    STATUS_TRY(kmeans_expect(x, m));
    if (x->n == 0) {
        return STATUS_OK;
    }
    pass_args a = args_of(x, m);
    pass p = {};
    cuda_work work(q, STREAM_COMPUTE,
                   {queue_reads(x->at.at, kmeans_points_bytes(x)), kmeans_access(m)});
    STATUS_TRY(work.status);
    STATUS_TRY(plan_any<FARTHEST>(q, x->type, &a, &p));
    STATUS_TRY(
        cuda_queue_scratch(q, STREAM_COMPUTE, p.blocks * sizeof *a.picks, (void **)&a.picks));
    STATUS_TRY(launch(p, a, work.stream, "the farthest point"));
    auto kernel = x->type == DTYPE_F32 ? choose_farthest<float> : choose_farthest<double>;
    kernel<<<1, THREADS, 0, work.stream>>>(a, (unsigned)p.blocks);
    STATUS_TRY(cuda_launched("choosing a point"));
    return work.done();
}

enum status kmeans_cuda_draw(struct queue *queue, const struct kmeans_points *x,
                             const struct kmeans_model *m, uint64_t seed, uint64_t stream,
                             struct span nearest)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    STATUS_TRY(kmeans_expect(x, m));
    const size_t kept = nearest.at == nullptr ? 0 : x->n * sizeof(double);
    STATUS_TRY(cuda_expect(nearest, 1, kept, "distances of points"));
    if (x->n == 0) {
        return STATUS_OK;
    }
    pass_args a = args_of(x, m);
    const size_t newest = kept > 0 && m->n_drawn > 0 ? m->n_drawn - 1 : 0;
    a.seed = seed;
    a.stream = stream;
    a.nearest = (double *)nearest.at;
    a.nearest_is_new = m->n_drawn <= 1;
    a.centroid += newest * m->n_columns;
    a.n_base = (int)(m->n_drawn - newest);
    a.n_trials = (int)m->n_trials;
    a.n_lists = (int)kmeans_n_lists(m);
    a.most = (int)kmeans_trials(m->k);
    a.k = a.n_base + a.n_trials;
    pass p = {draw_alike, THREADS * (sizeof(double) + sizeof(uint32_t)), 1, WHOLE};
    cuda_work work(q, STREAM_COMPUTE,
                   {queue_reads(x->at.at, kmeans_points_bytes(x)), kmeans_access(m),
                    queue_writes(nearest.at, kept)});
    STATUS_TRY(work.status);
    STATUS_TRY(m->n_drawn > 0
                   ? plan_any<DRAW>(q, x->type, &a, &p)
                   : kmeans_most_blocks(cuda_min(cuda_pieces(x->n, THREADS), KMEANS_DRAW_BLOCKS),
                                        &p.blocks));
    const size_t lists = p.blocks * (size_t)a.n_lists;
    STATUS_TRY(
        cuda_queue_scratch(q, STREAM_COMPUTE, lists * a.most * sizeof *a.keys, (void **)&a.keys));
    STATUS_TRY(launch(p, a, work.stream, "drawing points"));
    if (a.n_lists > 0) {
        auto kernel = x->type == DTYPE_F32 ? merge_list<float> : merge_list<double>;
        kernel<<<(unsigned)a.n_lists, THREADS, 0, work.stream>>>(a, (unsigned)p.blocks);
        STATUS_TRY(cuda_launched("merging points that are drawn"));
    }
    return work.done();
}
