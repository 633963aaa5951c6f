/*
 * kmeans_pick_cuda - the point that is farthest from its centroid, and the one that is drawn.
 *
 * Mapping: passes over the points (kmeans_short_cuda.h, kmeans_whole_cuda.h, kmeans_tiled_cuda.h),
 * in which each thread keeps the first of its points by d2, or by key, and each block the first of
 * its threads'; then one block takes the first of the blocks', and copies its cells. Bytes: the
 * points once, and 16 a point where distances to the nearest centroid are kept from one draw to the
 * next.
 */
#include "kernels/kmeans/kmeans_launch_cuda.h"

using namespace kmeans_pass;

namespace
{

/* Draws where all points weigh the same. */
__global__ void __launch_bounds__(THREADS) draw_alike(pass_args a)
{
    __shared__ struct kmeans_pick picks[THREADS];
    struct kmeans_pick pick = no_pick();
    for (size_t p = blockIdx.x * (size_t)THREADS + threadIdx.x; p < a.n;
         p += gridDim.x * (size_t)THREADS) {
        draw_point(a, 1, p, &pick);
    }
    leave<DRAW>(a, pick, picks);
}

/* The first of the blocks' picks and the model's own becomes the model's, with its cells. */
template <typename T, int MODE>
__global__ void __launch_bounds__(THREADS) choose_pick(pass_args a, unsigned n_picks)
{
    __shared__ struct kmeans_pick shared[THREADS];
    const bool farthest = MODE == FARTHEST;
    if (is_idle<MODE>(a)) {
        return;
    }
    struct kmeans_pick pick = threadIdx.x == 0 ? a.m.state->pick : no_pick();
    for (unsigned i = threadIdx.x; i < n_picks; i += THREADS) {
        const struct kmeans_pick other = a.picks[i];
        if (other.point != UINT64_MAX) {
            kmeans_consider(&pick, other.value, other.point, other.cluster, farthest);
        }
    }
    kmeans_block_pick<THREADS>(&pick, shared, farthest);
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

template <int MODE>
enum status choose(const struct kmeans_points *x, const pass_args &a, size_t n_picks,
                   cudaStream_t stream)
{
    auto kernel = x->type == DTYPE_F32 ? choose_pick<float, MODE> : choose_pick<double, MODE>;
    kernel<<<1, THREADS, 0, stream>>>(a, (unsigned)n_picks);
    return cuda_launched("choosing a point");
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
    STATUS_TRY(choose<FARTHEST>(x, a, p.blocks, work.stream));
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
    pass p = {draw_alike, 0, 1, WHOLE};
    const size_t newest = kept > 0 && m->n_drawn > 0 ? m->n_drawn - 1 : 0;
    a.seed = seed;
    a.stream = stream;
    a.nearest = (double *)nearest.at;
    a.nearest_is_new = m->n_drawn <= 1;
    a.centroid += newest * m->n_columns;
    a.k = (int)(m->n_drawn - newest);
    cuda_work work(q, STREAM_COMPUTE,
                   {queue_reads(x->at.at, kmeans_points_bytes(x)), kmeans_access(m),
                    queue_writes(nearest.at, kept)});
    STATUS_TRY(work.status);
    STATUS_TRY(m->n_drawn > 0
                   ? plan_any<DRAW>(q, x->type, &a, &p)
                   : kmeans_most_blocks(cuda_min(cuda_pieces(x->n, THREADS), 2048), &p.blocks));
    STATUS_TRY(
        cuda_queue_scratch(q, STREAM_COMPUTE, p.blocks * sizeof *a.picks, (void **)&a.picks));
    STATUS_TRY(launch(p, a, work.stream, "drawing a point"));
    STATUS_TRY(choose<DRAW>(x, a, p.blocks, work.stream));
    return work.done();
}
