/*
 * sciddicat_cluster_cuda - small maps, and little debris on larger ones: thousands of steps in one
 * kernel by one cluster of blocks, whose shared memory holds all that moves.
 *
 * A step of a few thousand cells takes less than a launch or a barrier of the whole device; between
 * the blocks of a cluster a message takes some 200 cycles (sciddicat_exchange_cuda.h). Tiles are
 * partitioned among the blocks (sciddicat_partition_cuda.h). When a cell at the edge of one becomes
 * active and the tile beside it is not resident, all write their tiles back and partition again:
 * some 30 times in the 4000 steps of the Tessina landslide. Several maps, each with a cluster of
 * its own, keep the whole device busy.
 *
 * A thread keeps one cell, its state in registers, from when the cell can first change: when it or
 * one beside it is active. A step has two halves, with an exchange after each.
 *
 * A: the flows of the cell go into its tile, and where they cross the tile's edge into a border of
 * the tile beside it, in whichever block. A cell that has been active clears its flows in the step
 * after; one around which nothing has changed leaves them as they are.
 *
 * B: the new h from the flows around; at an edge it goes into the border of the tile beside, too. A
 * cell that becomes active calls the four beside it.
 *
 * Needs compute capability 9.0. Latency sets the time: some 3800 cycles a step on an H200, of which
 * the slowest warp's flows take 1200 to 2000 and the new h some 800; every instruction in the path
 * of most warps shows. Of the flows 99.5 % end at the first try, but in nearly all steps some warp
 * has a cell that needs two or three.
 */
#include "kernels/sciddicat/sciddicat_partition_cuda.h"

#include <stdlib.h>
#include <string.h>

namespace
{

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/* Where things lie in another block: the cell's h, its flow, and the barriers that count them. */
struct route {
    unsigned h, flow, barriers; /* h: 0 when there is none */
};

/* What a thread has of its cell. */
struct cell {
    int code;                /* NO_CELL: none */
    int r, c, k;             /* k: of the tile with its border */
    bool live, emitted;      /* emitted: its flows are not all 0 */
    bool changed, activated; /* in the last step: h; it became active */
    unsigned accepts;        /* bit n: neighbour n does */
    unsigned guess;          /* at those that are left; see sciddicat_outflow() */
    double h, z, beside_z[SIDES], level[SIDES], flow[SIDES], max_h;
    route vertical, horizontal; /* to the tile north or south, west or east, when at an edge */
};

__device__ __forceinline__ cell load_cell(const sciddicat_map &m, memory &s, int code)
{
    const slot &t = s.slots[code / CELLS];
    cell x;
    x.code = code;
    x.r = code % CELLS / TILE;
    x.c = code % TILE;
    x.k = (x.r + 1) * SPAN + x.c + 1;
    x.live = (t.kind[x.k] & SCIDDICAT_LIVE) != 0;
    x.emitted = x.changed = x.activated = false;
    x.guess = 0;
    x.accepts = 0xf;
    x.h = t.h[x.k];
    x.z = t.z[x.k];
    x.max_h = t.max_h[code % CELLS];
    x.vertical = x.horizontal = {0, 0, 0};
    const int at[SIDES] = {x.k - SPAN, x.k - 1, x.k + 1, x.k + SPAN};
#pragma unroll
    for (int n = 0; n < SIDES; n++) {
        x.beside_z[n] = t.z[at[n]];
        x.flow[n] = x.level[n] = 0;
        if (m.walls && (t.kind[at[n]] & SCIDDICAT_ACCEPTS) == 0) {
            x.accepts &= ~(1u << n);
        }
    }
    return x;
}

/* The route to the slot on side n, where the cell's h and flow have these offsets. */
__device__ __forceinline__ route route_to(memory &s, const slot &t, int n, unsigned h,
                                          unsigned flow)
{
    const int rank = t.owner[n];
    if (rank < 0) {
        return {0, 0, 0};
    }
    atomicAdd(&s.steady[rank], (unsigned)sizeof(double));
    return {t.beside[n] + h, t.beside[n] + flow, cluster_address(s.arrived, (unsigned)rank)};
}

/* From now on the cell sends its flow and its h over the edge in every exchange. */
__device__ __forceinline__ void find_routes(memory &s, cell &x)
{
    const slot &t = s.slots[x.code / CELLS];
    if (x.r == 0) {
        x.vertical = route_to(s, t, SIDE_NORTH, SLOT_AT(h, (SPAN - 1) * SPAN + x.c + 1),
                              SLOT_AT(to_north, TILE * TILE + x.c));
    } else if (x.r == TILE - 1) {
        x.vertical = route_to(s, t, SIDE_SOUTH, SLOT_AT(h, x.c + 1), SLOT_AT(to_south, x.c));
    }
    if (x.c == 0) {
        x.horizontal = route_to(s, t, SIDE_WEST, SLOT_AT(h, (x.r + 1) * SPAN + SPAN - 1),
                                SLOT_AT(to_west, x.r * (TILE + 1) + TILE));
    } else if (x.c == TILE - 1) {
        x.horizontal = route_to(s, t, SIDE_EAST, SLOT_AT(h, (x.r + 1) * SPAN),
                                SLOT_AT(to_east, x.r * (TILE + 1)));
    }
}

/* Takes over the cell that the list has for this thread, if there is one by now. */
__device__ __forceinline__ void pick_up(const sciddicat_map &m, memory &s, cell &x)
{
    const int code = x.code != NO_CELL ? NO_CELL : *(volatile unsigned short *)&s.list[threadIdx.x];
    if (code != NO_CELL) {
        x = load_cell(m, s, code);
        find_routes(s, x);
    }
}

/* The levels beside; whether they or h have changed since the cell last emitted. */
__device__ __forceinline__ bool look_around(const slot &t, cell &x)
{
    const int at[SIDES] = {x.k - SPAN, x.k - 1, x.k + 1, x.k + SPAN};
    int differ = 0;
#pragma unroll
    for (int n = 0; n < SIDES; n++) {
        const double level = __dadd_rn(x.beside_z[n], t.h[at[n]]);
        differ |= (__double2hiint(level) ^ __double2hiint(x.level[n])) |
                  (__double2loint(level) ^ __double2loint(x.level[n]));
        x.level[n] = level;
    }
    return differ != 0 || x.changed || !x.emitted;
}

/* A. Flows stay as they are where nothing has changed around. */
__device__ __forceinline__ void emit(const sciddicat_map &m, memory &s, cell &x, unsigned flows)
{
    slot &t = s.slots[x.code / CELLS];
    const bool emits = x.live && x.h > m.epsilon;
    if (emits ? look_around(t, x) : x.emitted) {
        if (emits) {
            sciddicat_outflow(m, x.z, x.h, x.level, x.accepts, &x.guess, x.flow);
        } else {
            x.flow[0] = x.flow[1] = x.flow[2] = x.flow[3] = 0;
        }
        x.emitted = emits;
        t.to_north[x.r * TILE + x.c] = x.flow[SIDE_NORTH];
        t.to_south[(x.r + 1) * TILE + x.c] = x.flow[SIDE_SOUTH];
        t.to_west[x.r * (TILE + 1) + x.c] = x.flow[SIDE_WEST];
        t.to_east[x.r * (TILE + 1) + x.c + 1] = x.flow[SIDE_EAST];
    }
    if (x.vertical.h != 0) {
        send(x.vertical.flow, x.r == 0 ? x.flow[SIDE_NORTH] : x.flow[SIDE_SOUTH],
             x.vertical.barriers + flows * (unsigned)sizeof(unsigned long long));
    }
    if (x.horizontal.h != 0) {
        send(x.horizontal.flow, x.c == 0 ? x.flow[SIDE_WEST] : x.flow[SIDE_EAST],
             x.horizontal.barriers + flows * (unsigned)sizeof(unsigned long long));
    }
}

__device__ void request_partition(memory &s, unsigned step, unsigned flows)
{
    for (unsigned rank = 0; rank < cluster_size(); rank++) {
        send_message(s, (int)rank, cluster_address(&s.repartition[step % 2], rank), step, flows);
    }
}

/* The edge cell of the tile on side n gets a thread there: the `along`-th of its opposite side.
 * False: that tile is not resident. */
__device__ bool call_over_edge(memory &s, const slot &t, int n, int along, unsigned step,
                               unsigned flows)
{
    const int rank = t.owner[n];
    if (rank < 0) {
        return false;
    }
    send_message(s, rank, t.beside[n] + SLOT_AT(called, (SIDES - 1 - n) * TILE + along), step,
                 flows);
    send_message(s, rank, cluster_address(&s.last_call[step % 2], (unsigned)rank), step, flows);
    return true;
}

/* A cell has become active, emits from the next step on: those beside it need threads. Here those
 * in other tiles. */
__device__ void call_outside(memory &s, const cell &x, unsigned step, unsigned flows)
{
    const slot &t = s.slots[x.code / CELLS];
    const bool over[SIDES] = {x.r == 0, x.c == 0, x.c == TILE - 1, x.r == TILE - 1};
    bool all = true;
#pragma unroll
    for (int n = 0; n < SIDES; n++) {
        if (over[n]) {
            const int along = n == SIDE_NORTH || n == SIDE_SOUTH ? x.c : x.r;
            all = call_over_edge(s, t, n, along, step, flows) && all;
        }
    }
    if (!all) {
        request_partition(s, step, flows);
    }
}

/* And those in its own tile, which can wait until it emits. */
__device__ void call_inside(memory &s, const cell &x)
{
    slot &t = s.slots[x.code / CELLS];
    const bool over[SIDES] = {x.r == 0, x.c == 0, x.c == TILE - 1, x.r == TILE - 1};
    const int code[SIDES] = {x.code - TILE, x.code - 1, x.code + 1, x.code + TILE};
    unsigned fresh[SIDES];
#pragma unroll
    for (int n = 0; n < SIDES; n++) {
        const unsigned bit = over[n] ? 0 : 1u << code[n] % 32;
        fresh[n] = bit & ~atomicOr(&t.listed[over[n] ? 0 : code[n] % CELLS / 32], bit);
    }
    unsigned at = atomicAdd(&s.n_listed, (unsigned)((fresh[0] != 0) + (fresh[1] != 0) +
                                                    (fresh[2] != 0) + (fresh[3] != 0)));
#pragma unroll
    for (int n = 0; n < SIDES; n++) {
        if (fresh[n] != 0) {
            *(volatile unsigned short *)&s.list[at++] = (unsigned short)code[n];
        }
    }
}

/* Gives threads to edge cells that were called from other tiles in `step`. */
__device__ void answer_calls(memory &s, int n_slots, unsigned step)
{
    for (int x = threadIdx.x; x < n_slots * EDGES; x += THREADS) {
        if (s.slots[x / EDGES].called[x % EDGES] == step) {
            const int n = x % EDGES / TILE, along = x % TILE;
            const int r = n == SIDE_NORTH ? 0 : n == SIDE_SOUTH ? TILE - 1 : along;
            const int c = n == SIDE_WEST ? 0 : n == SIDE_EAST ? TILE - 1 : along;
            list_cell(s, x / EDGES * CELLS + r * TILE + c);
        }
    }
}

struct change {
    bool changed, activated;
};

/* B. */
__device__ __forceinline__ change update(const sciddicat_map &m, memory &s, cell &x,
                                         unsigned long long number)
{
    slot &t = s.slots[x.code / CELLS];
    const double before = x.h;
    const double in[SIDES] = {t.to_south[x.r * TILE + x.c], t.to_east[x.r * (TILE + 1) + x.c],
                              t.to_west[x.r * (TILE + 1) + x.c + 1],
                              t.to_north[(x.r + 1) * TILE + x.c]};
    if (!x.live) {
        x.max_h = sciddicat_received(x.max_h, in);
        return {false, false};
    }
    x.h = sciddicat_thickness(before, in, x.flow);
    t.h[x.k] = x.h;
    x.max_h = x.h > x.max_h ? x.h : x.max_h;
    const change result = {x.h != before, x.h > m.epsilon && !(before > m.epsilon)};
    if (result.activated && t.arrival[x.r * TILE + x.c] < 0) {
        t.arrival[x.r * TILE + x.c] = (int)number;
    }
    return result;
}

__device__ __forceinline__ void send_h(const cell &x)
{
    const unsigned barrier = AFTER_THICKNESS * sizeof(unsigned long long);
    if (x.vertical.h != 0) {
        send(x.vertical.h, x.h, x.vertical.barriers + barrier);
    }
    if (x.horizontal.h != 0) {
        send(x.horizontal.h, x.h, x.horizontal.barriers + barrier);
    }
}

/* Cells that were called when all threads had one: all that can befall them in this step is that
 * something flows in. Then follows a new partition. True when some h changed. */
__device__ bool update_rest(const sciddicat_map &m, memory &s, unsigned long long number)
{
    bool changed = false;
    for (unsigned y = threadIdx.x + THREADS; y < *(volatile unsigned *)&s.n_listed; y += THREADS) {
        const int code = *(volatile unsigned short *)&s.list[y];
        if (code != NO_CELL) {
            cell x = load_cell(m, s, code);
            changed |= update(m, s, x, number).changed;
            s.slots[code / CELLS].max_h[code % CELLS] = x.max_h;
        }
    }
    return changed;
}

/* Takes over the cells listed since there were `known`. Returns how many are listed now. */
__device__ __forceinline__ unsigned pick_up_new(const sciddicat_map &m, memory &s, cell &x,
                                                unsigned known)
{
    const unsigned n = *(volatile unsigned *)&s.n_listed;
    if (n != known) {
        pick_up(m, s, x);
        __syncthreads();
    }
    return n;
}

/* Steps until all are done or a new partition is needed; how many are done then. *n_flows: how many
 * exchanges of flows there have been; the last one before a partition has no effect. */
__device__ unsigned advance(const sciddicat_cluster_job &a, memory &s, int n_slots, unsigned done,
                            unsigned *n_flows)
{
    const sciddicat_map &m = a.m;
    unsigned n_listed = 0;
    cell x;
    x.code = NO_CELL;
    n_listed = pick_up_new(m, s, x, n_listed);
    while (done != a.n_steps) {
        unsigned flows = AFTER_FLOWS + *n_flows % 2;
        announce(s, flows);
        if (x.code != NO_CELL) {
            emit(m, s, x, flows);
            if (x.activated) {
                call_inside(s, x);
            }
        }
        await(s, flows, (*n_flows)++ / 2);
        flows ^= 1;
        if (*(volatile unsigned *)&s.repartition[done % 2] == done) {
            break;
        }
        if (*(volatile unsigned *)&s.last_call[done % 2] == done) {
            answer_calls(s, n_slots, done);
            __syncthreads();
        }
        n_listed = pick_up_new(m, s, x, n_listed);
        done++;
        change result = {false, false};
        if (n_listed > THREADS) {
            result.changed = update_rest(m, s, a.base + done);
            if (threadIdx.x == 0 && done != a.n_steps) {
                request_partition(s, done, flows);
            }
            __syncthreads();
        }
        announce(s, AFTER_THICKNESS);
        if (x.code != NO_CELL) {
            const change own = update(m, s, x, a.base + done);
            x.changed = own.changed;
            x.activated = own.activated;
            result.changed |= own.changed;
            send_h(x);
            if (own.activated && done != a.n_steps) {
                call_outside(s, x, done, flows);
            }
        }
        if (result.changed && done == a.n_steps) {
            m.progress->moved_at = a.base + done;
        }
        await(s, AFTER_THICKNESS, done - 1);
    }
    if (x.code != NO_CELL) {
        s.slots[x.code / CELLS].max_h[x.code % CELLS] = x.max_h;
    }
    __syncthreads();
    return done;
}

#endif

/* The jobs of a launch, by value. */
template <unsigned MOST> struct jobs {
    sciddicat_cluster_job of[MOST];
};
typedef jobs<SCIDDICAT_MOST_CLUSTERS> several;
static_assert(sizeof(several) <= 4096, "what a kernel can be passed");

/* A cluster a job. Where there is one only, its members are constants to the compiler: 3 % faster.
 */
template <unsigned MOST>
__global__ void __launch_bounds__(THREADS, 1) cluster_steps(const __grid_constant__ jobs<MOST> all)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    extern __shared__ __align__(16) unsigned char room[];
    memory &s = *(memory *)(void *)room;
    const sciddicat_cluster_job &a = all.of[MOST == 1 ? 0 : cluster_id()];
    unsigned done = 0, n_flows = 0;
    begin_exchanges(s);
    if (threadIdx.x == 0) {
        s.too_many = 0;
    }
    __syncthreads();
    cluster_barrier();
    while (done < a.n_steps) {
        const int n_slots = partition(a.m, s);
        if (n_slots < 0) {
            break;
        }
        load_cells(a, s, n_slots);
        load_rest(a, s, n_slots);
        __syncthreads();
        list_all(a.m, s, n_slots);
        cluster_barrier();
        if (s.too_many != 0) {
            break;
        }
        done = advance(a, s, n_slots, done, &n_flows);
        write_back(a, s, n_slots);
        cluster_barrier();
    }
    if (cluster_rank() == 0 && threadIdx.x == 0) {
        a.m.progress->done += done;
    }
#endif
}

struct launch {
    struct cudaLaunchConfig_st config;
    struct cudaLaunchAttribute_st attribute;

    launch(unsigned n, unsigned size, cudaStream_t stream) : config(), attribute()
    {
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim = {size, 1, 1};
        config.gridDim = dim3(n * size);
        config.blockDim = dim3(THREADS);
        config.dynamicSmemBytes = sizeof(memory);
        config.stream = stream;
        config.attrs = &attribute;
        config.numAttrs = 1;
    }
};

/* All shared memory, and clusters of 16. */
template <typename Kernel> bool allow(Kernel *kernel)
{
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                (int)sizeof(memory)) == cudaSuccess &&
           cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) ==
               cudaSuccess;
}

} // namespace

/* LEAT_CUDA_CLUSTER=0 does without: for racecheck, and for tests of what other devices do. */
int cuda_sciddicat_cluster_size(const struct cuda_backend *b, int *n_clusters)
{
    const char *const wanted = getenv("LEAT_CUDA_CLUSTER");
    *n_clusters = 0;
    if (b->properties.major < 9 || b->properties.sharedMemPerBlockOptin < sizeof(memory) ||
        (wanted != nullptr && strcmp(wanted, "0") == 0)) {
        return 0;
    }
    const bool fine = allow(cluster_steps<1>) && allow(cluster_steps<SCIDDICAT_MOST_CLUSTERS>);
    for (int size = 16; fine && size >= 4; size /= 2) {
        const launch l(1, (unsigned)size, nullptr);
        if (cudaOccupancyMaxActiveClusters(n_clusters, cluster_steps<1>, &l.config) ==
                cudaSuccess &&
            *n_clusters > 0) {
            return size;
        }
    }
    (void)cudaGetLastError();
    *n_clusters = 0;
    return 0;
}

enum status cuda_sciddicat_cluster(const struct sciddicat_cluster_job *job, unsigned n, int size,
                                   cudaStream_t stream)
{
    const launch l(n, (unsigned)size, stream);
    if (n == 1) {
        const jobs<1> one = {{*job}};
        CUDA_TRY(cudaLaunchKernelEx(&l.config, cluster_steps<1>, one), "steps of the automaton");
    } else {
        several all = {};
        memcpy(all.of, job, n * sizeof *job);
        CUDA_TRY(cudaLaunchKernelEx(&l.config, cluster_steps<SCIDDICAT_MOST_CLUSTERS>, all),
                 "steps of the automaton");
    }
    return cuda_launched("steps of the automaton");
}
