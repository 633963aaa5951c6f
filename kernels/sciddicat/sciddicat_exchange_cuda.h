/*
 * sciddicat_exchange_cuda - what the blocks of a cluster keep in shared memory, and how messages go
 * between them. A part of cuda_sciddicat_cluster.
 *
 * Data for other blocks are sent by asynchronous stores that count their bytes at a barrier in the
 * receiver's shared memory. A block announces before its half step how many bytes will come, so
 * that nobody waits for more than the data themselves: no fence, no acknowledgement.
 *
 * So blocks may be half a step apart. Nothing is overwritten that is still to be read: what goes
 * into a border over an edge is sent after the cell beyond has sent in the half step before, and
 * that cell, live or not, reads its border before it sends. Messages carry the step by which they
 * are judged, in places for even and odd steps. Exchanges of flows take two barriers in turn, since
 * messages for the next one can come to a block that still waits for the last.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_SCIDDICAT_EXCHANGE_CUDA_H
#define LEAT_KERNELS_SCIDDICAT_SCIDDICAT_EXCHANGE_CUDA_H

#include "kernels/sciddicat/sciddicat_cuda.h"

namespace
{

const int TILE = SCIDDICAT_TILE, CELLS = SCIDDICAT_TILE_CELLS;
const int SPAN = TILE + 2; /* with the border */
const int EDGES = SIDES * TILE;
const int SLOTS = 12, MOST_BLOCKS = 16;
const int THREADS = 640, WARPS = THREADS / 32;

/* A tile. Flows have room for what comes over one edge: to the south from row -1, and so on. */
struct slot {
    double h[SPAN * SPAN], z[SPAN * SPAN];
    double to_north[(TILE + 1) * TILE], to_south[(TILE + 1) * TILE]; /* row r: at r; at r + 1 */
    double to_west[TILE * (TILE + 1)], to_east[TILE * (TILE + 1)];   /* column c: at c; at c + 1 */
    double max_h[CELLS];
    int arrival[CELLS];
    unsigned listed[CELLS / 32]; /* a bit a cell */
    unsigned called[EDGES]; /* by side: the step in which the tile beside last called the cell */
    unsigned beside[SIDES]; /* where the slots beside lie in the cluster's memory */
    int owner[SIDES];       /* the block that has them; -1: not resident */
    unsigned char kind[SPAN * SPAN];
};

/* The n-th exchange of flows is AFTER_FLOWS + n % 2: messages for the next one may come early. */
enum exchange { AFTER_FLOWS, AFTER_FLOWS_ODD, AFTER_THICKNESS, EXCHANGES };

struct memory {
    slot slots[SLOTS];
    unsigned long long arrived[EXCHANGES];
    unsigned steady[MOST_BLOCKS];       /* bytes that go to each block in every exchange */
    unsigned sent[MOST_BLOCKS];         /* and besides, with the next flows: messages */
    unsigned short list[SLOTS * CELLS]; /* slot, row, column; thread x has the x-th */
    unsigned n_listed;
    unsigned last_call[2];   /* the step in which another block last called a cell; even, odd */
    unsigned repartition[2]; /* the step after which some block wants a new partition; even, odd */
    unsigned too_many;
    unsigned long long scan[WARPS];
    int tile[SLOTS];
    unsigned active[SLOTS];
    int resident[MOST_BLOCKS * SLOTS]; /* tiles, and how many cells are active there */
    unsigned weight[MOST_BLOCKS * SLOTS];
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/* Cells of a block after a partition: leaves threads for those that are called. */
const unsigned MOST_CELLS = THREADS * 7 / 8;
constexpr int NO_CELL = 0xffff;

__device__ __forceinline__ unsigned cluster_rank()
{
    unsigned r;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}

__device__ __forceinline__ unsigned cluster_id()
{
    unsigned n;
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(n));
    return n;
}

__device__ __forceinline__ unsigned cluster_size()
{
    unsigned n;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
    return n;
}

/* Orders all memory; dear. */
__device__ __forceinline__ void cluster_barrier()
{
    __syncwarp();
    asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

__device__ __forceinline__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

/* Where block `rank` has what lies at p here. */
__device__ __forceinline__ unsigned cluster_address(const void *p, unsigned rank)
{
    unsigned at;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(shared_address(p)), "r"(rank));
    return at;
}

/* Sends a value; it is counted at a barrier of the block that gets it. */
__device__ __forceinline__ void send(unsigned at, double v, unsigned barrier)
{
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f64 [%0], %1, [%2];" ::"r"(at),
        "d"(v), "r"(barrier)
        : "memory");
}

/* Sends a message to block `rank`; it is there after exchange `flows`, the next one of flows. */
__device__ __forceinline__ void send_message(memory &s, int rank, unsigned at, unsigned v,
                                             unsigned flows)
{
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(at),
        "r"(v), "r"(cluster_address(&s.arrived[flows], (unsigned)rank))
        : "memory");
    atomicAdd(&s.sent[rank], (unsigned)sizeof v);
}

__device__ __forceinline__ void begin_exchanges(memory &s)
{
    if (threadIdx.x < EXCHANGES) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(
                         shared_address(&s.arrived[threadIdx.x])),
                     "r"(cluster_size())
                     : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    if (threadIdx.x < MOST_BLOCKS) {
        s.sent[threadIdx.x] = 0;
    }
}

/* Tells all blocks how many bytes will come from here in this exchange. */
__device__ __forceinline__ void announce(memory &s, unsigned e)
{
    const unsigned to = threadIdx.x / 32; /* a warp each: one for all takes longer */
    if (threadIdx.x % 32 == 0 && to < cluster_size()) {
        unsigned bytes = s.steady[to];
        if (e != AFTER_THICKNESS) {
            bytes += s.sent[to];
            s.sent[to] = 0;
        }
        asm volatile(
            "mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(
                cluster_address(&s.arrived[e], to)),
            "r"(bytes)
            : "memory");
    }
}

/* What this block has done and what others have sent in the n-th exchange e (from 0) is there
 * afterwards. */
__device__ __forceinline__ void await(memory &s, unsigned e, unsigned n)
{
    unsigned there;
    __syncthreads();
    do {
        asm volatile("{\n\t"
                     ".reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t"
                     "}"
                     : "=r"(there)
                     : "r"(shared_address(&s.arrived[e])), "r"(n % 2)
                     : "memory");
    } while (there == 0);
}

/* The offset of an element of a field in a slot. */
#define SLOT_AT(field, index)                                                                      \
    ((unsigned)(offsetof(slot, field) + (index) * sizeof(((slot *)nullptr)->field[0])))

#endif

} // namespace

#endif
