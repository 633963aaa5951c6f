/*
 * kmeans_cuda - assignment and labels: passes over the points that add up.
 *
 * Mapping: kmeans_pass_cuda.h (sums), kmeans_short_cuda.h, kmeans_whole_cuda.h and
 * kmeans_tiled_cuda.h (rows), kmeans_nearest_cuda.h (distances). With `memory`, only points that
 * may move are passed over, and only what moves is added and taken away; where rows do not fit into
 * shared memory a kernel before lists them. Bytes: the points once, in tiles k / 16 times; with
 * `memory` 12 a point and what moves. Flops: a difference and an fma a point, cluster and column,
 * and as many comparisons; 16M x 2 or 2M x 16, k = 16: 1.6e9 or 1.1e9 operations, 0.1 ms of an
 * H200's double units, twice what the read of 256 MB takes. Bits: those of the CPU; the rules are
 * kmeans_rule.h's.
 */
#include "kernels/kmeans/kmeans_launch_cuda.h"

using namespace kmeans_pass;

namespace
{

/* Lists the points that may move, for pass_tiled; their order is open. */
__global__ void __launch_bounds__(THREADS) list_moves(pass_args a, uint32_t *list, unsigned *n_list)
{
    if (a.m.state->done != 0) {
        return;
    }
    const size_t step = gridDim.x * (size_t)THREADS;
    const int lane = threadIdx.x % 32;
    for (size_t base = blockIdx.x * (size_t)THREADS; base < a.n; base += step) {
        const size_t p = base + threadIdx.x;
        const bool moves = p < a.n && may_move(a, a.label[p], a.bounds[p]);
        const unsigned who = __ballot_sync(ALL, moves);
        unsigned at = 0;
        if (lane == 0 && who != 0) {
            at = atomicAdd(n_list, (unsigned)__popc(who));
        }
        at = __shfl_sync(ALL, at, 0) + (unsigned)__popc(who & ((1u << lane) - 1));
        if (moves) {
            list[at] = (uint32_t)p;
        }
    }
}

enum status kmeans_assign(struct queue *queue, const struct kmeans_points *x,
                          const struct kmeans_model *m, struct span memory)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    STATUS_TRY(kmeans_expect(x, m));
    if (x->n == 0) {
        return STATUS_OK;
    }
    const size_t remembered = memory.at == nullptr ? 0 : kmeans_memory_bytes(x->n);
    STATUS_TRY(cuda_expect(memory, 1, remembered, "memory of points"));
    if ((uintptr_t)memory.at % sizeof(float2) != 0) {
        return status_fail(STATUS_INTERNAL, "memory of points is not aligned to 8 bytes");
    }
    pass_args a = args_of(x, m);
    pass p = {};
    cuda_work work(q, STREAM_COMPUTE,
                   {queue_reads(x->at.at, kmeans_points_bytes(x)), kmeans_access(m),
                    queue_writes(memory.at, remembered)});
    STATUS_TRY(work.status);
    STATUS_TRY(remembered > 0 ? plan_any<MOVE>(q, x->type, &a, &p)
                              : plan_any<ASSIGN>(q, x->type, &a, &p));
    if (remembered > 0) {
        a.bounds = (struct kmeans_bounds *)memory.at;
        a.label = (int32_t *)(a.bounds + x->n);
    }
    if (remembered > 0 && p.rows == TILED) {
        char *scratch = nullptr;
        const size_t list_bytes = kmeans_list_bytes(x->n, m->k, m->n_columns);
        STATUS_TRY(cuda_queue_scratch(q, STREAM_COMPUTE, 16 + list_bytes, (void **)&scratch));
        uint32_t *list = (uint32_t *)(scratch + 16);
        CUDA_TRY(cudaMemsetAsync(scratch, 0, 16, work.stream), "listing points");
        const size_t fit = (size_t)q->backend->properties.multiProcessorCount * 16;
        size_t blocks = 0;
        STATUS_TRY(kmeans_most_blocks(cuda_min(cuda_pieces(x->n, THREADS), fit), &blocks));
        list_moves<<<(unsigned)blocks, THREADS, 0, work.stream>>>(a, list, (unsigned *)scratch);
        STATUS_TRY(cuda_launched("listing points"));
        a.list = list;
        a.n_list = (unsigned *)scratch;
    }
    STATUS_TRY(launch(p, a, work.stream, "assigning points"));
    return work.done();
}

enum status kmeans_label(struct queue *queue, const struct kmeans_points *x,
                         const struct kmeans_model *m, struct span labels)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    STATUS_TRY(kmeans_expect(x, m));
    STATUS_TRY(cuda_expect(labels, x->n, sizeof(int32_t), "labels"));
    if (x->n == 0) {
        return STATUS_OK;
    }
    pass_args a = args_of(x, m);
    pass p = {};
    a.label = (int32_t *)labels.at;
    cuda_work work(q, STREAM_COMPUTE,
                   {queue_reads(x->at.at, kmeans_points_bytes(x)), kmeans_access(m),
                    queue_writes(labels.at, x->n * sizeof(int32_t))});
    STATUS_TRY(work.status);
    STATUS_TRY(plan_any<LABEL>(q, x->type, &a, &p));
    STATUS_TRY(launch(p, a, work.stream, "labelling points"));
    return work.done();
}

} // namespace

const struct kmeans_kernels cuda_kmeans = {.range = kmeans_cuda_range,
                                           .squares = kmeans_cuda_squares,
                                           .draw = kmeans_cuda_draw,
                                           .take = kmeans_cuda_take,
                                           .assign = kmeans_assign,
                                           .farthest = kmeans_cuda_farthest,
                                           .update = kmeans_cuda_update,
                                           .label = kmeans_label};
