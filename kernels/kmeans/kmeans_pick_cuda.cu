/*
 * kmeans_pick_cuda - the point that is farthest from its centroid, and those that are drawn.
 *
 * Mapping: passes over the points (kmeans_short_cuda.h, kmeans_whole_cuda.h, kmeans_tiled_cuda.h).
 * Of the farthest each thread keeps the first of its points, and each block the first of its
 * threads'; then one block takes the first of the blocks', and copies its cells.
 *
 * Of a draw each thread keeps for each trial, in shared memory, the first of its points by key, and
 * adds up what its points weigh; its points are of one class, since warps take 32 at a time. A
 * point is looked at closely, with its logarithm, only where its key may be below a limit that the
 * block's warps share, which soon is close. A block leaves the first point of each class, and then
 * a block a list merges those of all blocks, and copies the cells of what is new. Bytes: the points
 * once, and 16 a point where distances to the nearest centroid are kept from one draw to the next;
 * 512 a block and list. Flops of a draw: a difference and an fma a point, column, and trial or
 * newest centroid; 5 more a point and trial, and the generator's 50 instructions a point.
 */
#include "kernels/kmeans/kmeans_launch_cuda.h"

using namespace kmeans_pass;

namespace
{

/* Threads that merge a list, and what each reads before it looks at the first. */
const unsigned MERGERS = 1024, AHEAD = 8;

/* Draws where all points weigh the same. */
__global__ void __launch_bounds__(THREADS) draw_alike(pass_args a)
{
    const layout l = layout_of(DRAW, a, WHOLE, 0);
    clear_draws(a, l);
    __syncthreads();
    for (size_t at = blockIdx.x * (size_t)THREADS; at < a.n; at += gridDim.x * (size_t)THREADS) {
        const size_t p = at + threadIdx.x;
        drawing<1> g;
        g.point[0] = (uint32_t)p;
        begin_drawing(a, &g);
        g.weight[0] = p < a.n ? weigh(a, (uint32_t)p, 1) : 0;
        offer_points(shared_at<struct trial>(l.trials), a.most, g, g.weight);
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

/* The rows of cells that a warp's points have, of the `n` before; others get rows that are free.
 * Bits of the lanes with others. */
__device__ __forceinline__ unsigned give_rows(struct kmeans_pick *own,
                                              const struct kmeans_pick *before, int n)
{
    bool fresh = own->point != UINT64_MAX;
    unsigned used = 0;
    for (int i = 0; i < n; i++) {
        if (fresh && before[i].point == own->point) {
            own->cluster = before[i].cluster;
            used = 1u << own->cluster;
            fresh = false;
        }
    }
    used = __reduce_or_sync(ALL, used);
    const unsigned all_fresh = __ballot_sync(ALL, fresh), earlier = (1u << threadIdx.x % 32) - 1;
    if (fresh) {
        own->cluster = __fns(~used, 0, __popc(all_fresh & earlier) + 1);
    }
    return all_fresh;
}

/* The model's list of this block and those of the blocks before become the model's, with the cells
 * of what is new in the rows that nothing else has. */
template <typename T>
__global__ void __launch_bounds__(MERGERS) merge_list(pass_args a, unsigned n_blocks)
{
    __shared__ struct kmeans_key firsts[MERGERS];
    __shared__ struct kmeans_pick before[KMEANS_MOST_TRIALS], after[KMEANS_MOST_TRIALS];
    __shared__ unsigned fresh;
    const int list = blockIdx.x, most = a.most, me = threadIdx.x;
    struct kmeans_pick *drawn = a.m.drawn + list * most;
    double *cells = a.m.pick_cells + (size_t)list * most * a.d;
    const unsigned n = n_blocks * 32;
    const struct kmeans_key *keys = a.keys + list * (size_t)n;
    struct kmeans_key own = kmeans_no_key();
    for (unsigned at = me; at < n; at += AHEAD * MERGERS) {
        struct kmeans_key v[AHEAD];
#pragma unroll
        for (unsigned i = 0; i < AHEAD; i++) {
            v[i] = at + i * MERGERS < n ? keys[at + i * MERGERS] : kmeans_no_key();
        }
#pragma unroll
        for (unsigned i = 0; i < AHEAD; i++) {
            kmeans_earlier(&own, v[i]);
        }
    }
    firsts[me] = own;
    if (me < most) {
        before[me] = drawn[me];
    }
    __syncthreads();
    if (me < 32) {
        for (int i = me; i < MERGERS; i += 32) {
            kmeans_earlier(&own, firsts[i]);
        }
        for (int i = 0; i < most; i++) {
            const struct kmeans_key v = {before[i].value, before[i].point};
            if (v.point != UINT64_MAX && (v.point - a.first) % 32 == me) {
                kmeans_earlier(&own, v);
            }
        }
        struct kmeans_pick mine = kmeans_no_pick();
        for (int j = 0; j < most; j++) {
            const struct kmeans_key first = kmeans_warp_first(&own);
            if (me == j) {
                mine.value = first.key;
                mine.point = first.point;
            }
        }
        fresh = give_rows(&mine, before, most);
        if (me < most) {
            drawn[me] = after[me] = mine;
        }
    }
    __syncthreads();
    for (int j = 0; j < most; j++) {
        for (int c = threadIdx.x; (fresh >> j & 1) != 0 && c < a.d; c += MERGERS) {
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
    pass p = {draw_alike, sizeof(struct trial), 1, WHOLE};
    cuda_work work(q, STREAM_COMPUTE,
                   {queue_reads(x->at.at, kmeans_points_bytes(x)), kmeans_access(m),
                    queue_writes(nearest.at, kept)});
    STATUS_TRY(work.status);
    STATUS_TRY(m->n_drawn > 0
                   ? plan_any<DRAW>(q, x->type, &a, &p)
                   : kmeans_most_blocks(cuda_min(cuda_pieces(x->n, THREADS), KMEANS_DRAW_BLOCKS),
                                        &p.blocks));
    const size_t n_keys = p.blocks * (size_t)a.n_lists * KMEANS_CLASSES;
    STATUS_TRY(cuda_queue_scratch(q, STREAM_COMPUTE, n_keys * sizeof *a.keys, (void **)&a.keys));
    STATUS_TRY(launch(p, a, work.stream, "drawing points"));
    if (a.n_lists > 0) {
        auto kernel = x->type == DTYPE_F32 ? merge_list<float> : merge_list<double>;
        kernel<<<(unsigned)a.n_lists, MERGERS, 0, work.stream>>>(a, (unsigned)p.blocks);
        STATUS_TRY(cuda_launched("merging points that are drawn"));
    }
    return work.done();
}
