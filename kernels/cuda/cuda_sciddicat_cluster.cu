/*
 * cuda_sciddicat_cluster - small maps, and little debris on larger ones: thousands of steps in one
 * kernel by one cluster of blocks, whose shared memory holds all that moves.
 *
 * A step of a few thousand cells takes less than a launch or a barrier of the whole device; between
 * the blocks of a cluster a barrier takes a fraction of a microsecond, and their shared memory can
 * be written from each of them.
 *
 * Residents: the hot tiles and those beside them, dealt out to the blocks in turn, hot ones first;
 * a block keeps up to SLOTS of them. When a cell at the edge of a tile becomes active and the tile
 * beside it is not resident, all write their tiles back and deal anew: a handful of times in a
 * thousand steps.
 *
 * A step, between two barriers each:
 *   A. A thread a cell of the block's list of active cells: its flows go into the tile, and where
 *      they cross the tile's edge also into a border of the tile beside it, in whichever block.
 *   B. A warp two rows of a tile, where some flow was made in or beside them: the new h. Cells at
 *      edges copy theirs into the border of the tile beside. The list of the next step is made.
 * A cell stays on the list for one step after it has been active, and then clears its flows.
 *
 * Needs compute capability 9.0. Compute: some 60 double operations an active cell and round of the
 * average on 64 units a multiprocessor; latency sets the time.
 */
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/cuda_sciddicat.h"

namespace
{

const int TILE = SCIDDICAT_TILE, SPAN = TILE + 2; /* with the border */
const int SLOTS = 12;
const int THREADS = 512, WARPS = THREADS / 32;
const int UNITS = TILE / 2; /* of two rows, in a tile */

/* A tile. Flows have room for what comes over one edge: to the south from row -1, and so on. */
struct slot {
    double h[SPAN * SPAN], z[SPAN * SPAN];
    double to_north[(TILE + 1) * TILE], to_south[(TILE + 1) * TILE]; /* row r: at r; at r + 1 */
    double to_west[TILE * (TILE + 1)], to_east[TILE * (TILE + 1)];   /* column c: at c; at c + 1 */
    double peak[TILE * TILE];
    int arrival[TILE * TILE];
    unsigned knocked[UNITS];   /* the last step in which flows touched the unit */
    unsigned neighbour[SIDES]; /* where the slots beside lie in the cluster's memory, or NO_ONE */
    unsigned char kind[SPAN * SPAN];
};

struct memory {
    slot slots[SLOTS];
    unsigned short list[SLOTS * TILE * TILE]; /* slot, row, column */
    unsigned n_listed[2];                     /* for even and odd steps */
    unsigned deal_anew[2];
    int tile[SLOTS];
    unsigned char hot[SLOTS];
    unsigned long long scan[WARPS];
};

struct job {
    sciddicat_map m;
    double *h;
    unsigned long long base;
    unsigned n_steps;
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

const unsigned NO_ONE = ~0u;

/* --- the cluster -------------------------------------------------------------------------------
 */

__device__ __forceinline__ unsigned cluster_rank()
{
    unsigned r;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}

__device__ __forceinline__ unsigned cluster_size()
{
    unsigned n;
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
    return n;
}

__device__ __forceinline__ void cluster_barrier()
{
    __syncwarp();
    asm volatile("barrier.cluster.arrive.release.aligned;\n\t"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

/* Where block `rank` has what lies at p here. */
__device__ __forceinline__ unsigned cluster_address(const void *p, unsigned rank)
{
    unsigned at;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(at)
        : "r"((unsigned)__cvta_generic_to_shared(p)), "r"(rank));
    return at;
}

__device__ __forceinline__ void cluster_store(unsigned at, double v)
{
    asm volatile("st.shared::cluster.f64 [%0], %1;" ::"r"(at), "d"(v) : "memory");
}

__device__ __forceinline__ void cluster_store(unsigned at, unsigned v)
{
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(at), "r"(v) : "memory");
}

/* The offset of an element of a field in a slot. */
#define SLOT_AT(field, index)                                                                      \
    ((unsigned)(offsetof(slot, field) + (index) * sizeof(((slot *)nullptr)->field[0])))

/* --- dealing -----------------------------------------------------------------------------------
 */

/* 1: hot; 2: beside a hot one; else 0. */
__device__ __forceinline__ int tile_class(const sciddicat_map &m, int tile)
{
    const int i = tile / m.tile_columns, j = tile % m.tile_columns;
    if (__ldcg(m.hot + tile) != 0) {
        return 1;
    }
    const bool beside = (i > 0 && __ldcg(m.hot + tile - m.tile_columns) != 0) ||
                        (i + 1 < m.tile_rows && __ldcg(m.hot + tile + m.tile_columns) != 0) ||
                        (j > 0 && __ldcg(m.hot + tile - 1) != 0) ||
                        (j + 1 < m.tile_columns && __ldcg(m.hot + tile + 1) != 0);
    return beside ? 2 : 0;
}

/* The sum of v over the threads before this one; *all: over all. */
__device__ unsigned long long scan(memory &s, unsigned long long v, unsigned long long *all)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned long long sum = v;
    for (int by = 1; by < 32; by *= 2) {
        const unsigned long long other = __shfl_up_sync(0xffffffffu, sum, by);
        sum += lane >= by ? other : 0;
    }
    if (lane == 31) {
        s.scan[warp] = sum;
    }
    __syncthreads();
    unsigned long long before = 0;
    *all = 0;
    for (int w = 0; w < WARPS; w++) {
        before += w < warp ? s.scan[w] : 0;
        *all += s.scan[w];
    }
    __syncthreads();
    return before + sum - v;
}

/* Every block finds the same places for all tiles. The number of its own; -1: too many for all. */
__device__ int deal(const job &a, memory &s)
{
    const sciddicat_map &m = a.m;
    const int tiles = m.tile_rows * m.tile_columns, each = (tiles + THREADS - 1) / THREADS;
    const int first = min((int)threadIdx.x * each, tiles), last = min(first + each, tiles);
    const int size = (int)cluster_size(), rank = (int)cluster_rank();
    unsigned long long mine = 0, all;
    for (int t = first; t < last; t++) {
        const int c = tile_class(m, t);
        mine += c == 1 ? 1ull << 32 : c == 2 ? 1 : 0;
    }
    const unsigned long long before = scan(s, mine, &all);
    const int n_hot = (int)(all >> 32), n = n_hot + (int)(all & 0xffffffffu);
    if (n > size * SLOTS) {
        return -1;
    }
    int hot = (int)(before >> 32), beside = n_hot + (int)(before & 0xffffffffu);
    for (int t = first; t < last; t++) {
        const int c = tile_class(m, t);
        const int place = c == 1 ? hot++ : c == 2 ? beside++ : -1;
        __stcg(m.place + t, place);
        if (place >= 0 && place % size == rank) {
            s.tile[place / size] = t;
        }
    }
    __threadfence();
    __syncthreads();
    return n / size + (n % size > rank);
}

/* The tile beside on side n, or -1. */
__device__ __forceinline__ int tile_beside(const sciddicat_map &m, int tile, int n)
{
    const int i = tile / m.tile_columns, j = tile % m.tile_columns;
    switch (n) {
    case SIDE_NORTH:
        return i > 0 ? tile - m.tile_columns : -1;
    case SIDE_WEST:
        return j > 0 ? tile - 1 : -1;
    case SIDE_EAST:
        return j + 1 < m.tile_columns ? tile + 1 : -1;
    default:
        return i + 1 < m.tile_rows ? tile + m.tile_columns : -1;
    }
}

/* --- to and from the map -----------------------------------------------------------------------
 */

__device__ __forceinline__ long long tile_row(const sciddicat_map &m, int tile)
{
    return (long long)(tile / m.tile_columns) * TILE;
}

__device__ __forceinline__ long long tile_column(const sciddicat_map &m, int tile)
{
    return (long long)(tile % m.tile_columns) * TILE;
}

__device__ void load_cells(const job &a, memory &s, int n_slots)
{
    const int cells = SPAN * SPAN;
    for (int x = threadIdx.x; x < n_slots * cells; x += THREADS) {
        slot &t = s.slots[x / cells];
        const int k = x % cells, tile = s.tile[x / cells];
        const long long i = tile_row(a.m, tile) + k / SPAN - 1;
        const long long j = tile_column(a.m, tile) + k % SPAN - 1;
        const bool inside = sciddicat_inside(a.m, i, j);
        const long long at = i * a.m.columns + j;
        t.h[k] = inside ? __ldcg(a.h + at) : 0;
        t.z[k] = inside ? a.m.z[at] : 0;
        t.kind[k] = inside ? a.m.kind[at] : 0;
    }
}

__device__ void load_rest(const job &a, memory &s, int n_slots)
{
    const int cells = TILE * TILE, flows = (TILE + 1) * TILE, size = (int)cluster_size();
    for (int x = threadIdx.x; x < n_slots * cells; x += THREADS) {
        slot &t = s.slots[x / cells];
        const int k = x % cells, tile = s.tile[x / cells];
        const long long i = tile_row(a.m, tile) + k / TILE, j = tile_column(a.m, tile) + k % TILE;
        const bool inside = sciddicat_inside(a.m, i, j);
        const long long at = i * a.m.columns + j;
        t.peak[k] = inside ? __ldcg(a.m.peak + at) : 0;
        t.arrival[k] = inside ? __ldcg(a.m.arrival + at) : 0;
    }
    for (int x = threadIdx.x; x < n_slots * flows; x += THREADS) {
        slot &t = s.slots[x / flows];
        const int k = x % flows;
        t.to_north[k] = t.to_south[k] = t.to_west[k] = t.to_east[k] = 0;
    }
    for (int x = threadIdx.x; x < n_slots * UNITS; x += THREADS) {
        s.slots[x / UNITS].knocked[x % UNITS] = 0;
    }
    for (int x = threadIdx.x; x < n_slots * SIDES; x += THREADS) {
        const int beside = tile_beside(a.m, s.tile[x / SIDES], x % SIDES);
        const int place = beside < 0 ? -1 : __ldcg(a.m.place + beside);
        s.slots[x / SIDES].neighbour[x % SIDES] =
            place < 0 ? NO_ONE : cluster_address(&s.slots[place / size], (unsigned)(place % size));
    }
    if (threadIdx.x < 2) {
        s.n_listed[threadIdx.x] = 0;
        s.deal_anew[threadIdx.x] = 0;
    }
    if (threadIdx.x < SLOTS) {
        s.hot[threadIdx.x] = 0;
    }
}

/* Adds the cells of a warp's lanes that are wanted to the list of steps of that parity. */
__device__ __forceinline__ void list_cell(memory &s, bool wanted, int code, unsigned parity)
{
    const unsigned who = __ballot_sync(0xffffffffu, wanted), lane = threadIdx.x % 32;
    unsigned at = 0;
    if (who == 0) {
        return;
    }
    if (lane == 0) {
        at = atomicAdd(&s.n_listed[parity], (unsigned)__popc(who));
    }
    at = __shfl_sync(0xffffffffu, at, 0) + (unsigned)__popc(who & ((1u << lane) - 1));
    if (wanted) {
        s.list[at] = (unsigned short)code;
    }
}

__device__ void list_active(const job &a, memory &s, int n_slots, unsigned parity)
{
    const int cells = TILE * TILE;
    for (int x = threadIdx.x; x < n_slots * cells; x += THREADS) {
        const slot &t = s.slots[x / cells];
        const int k = (x % cells / TILE + 1) * SPAN + x % TILE + 1;
        list_cell(s, (t.kind[k] & SCIDDICAT_LIVE) != 0 && t.h[k] > a.m.epsilon, x, parity);
    }
}

__device__ void write_back(const job &a, memory &s, int n_slots)
{
    const int cells = TILE * TILE;
    for (int x = threadIdx.x; x < n_slots * cells; x += THREADS) {
        const slot &t = s.slots[x / cells];
        const int r = x % cells / TILE, c = x % TILE, k = (r + 1) * SPAN + c + 1;
        const int tile = s.tile[x / cells];
        const long long i = tile_row(a.m, tile) + r, j = tile_column(a.m, tile) + c;
        if (sciddicat_inside(a.m, i, j)) {
            const long long at = i * a.m.columns + j;
            __stcg(a.h + at, t.h[k]);
            __stcg(a.m.peak + at, t.peak[x % cells]);
            __stcg(a.m.arrival + at, t.arrival[x % cells]);
            if ((t.kind[k] & SCIDDICAT_LIVE) != 0 && t.h[k] > a.m.epsilon) {
                s.hot[x / cells] = 1;
            }
        }
    }
    __syncthreads();
    if (threadIdx.x < n_slots) {
        __stcg(a.m.hot + s.tile[threadIdx.x], s.hot[threadIdx.x]);
    }
    __threadfence();
}

/* --- steps -------------------------------------------------------------------------------------
 */

/* The flows of the cell in row r, column c over the tile's edges, into the tiles beside. */
__device__ __forceinline__ void send_flows(const slot &t, int r, int c, const double *flow,
                                           unsigned step)
{
    if (r == 0 && t.neighbour[SIDE_NORTH] != NO_ONE) {
        cluster_store(t.neighbour[SIDE_NORTH] + SLOT_AT(to_north, TILE * TILE + c),
                      flow[SIDE_NORTH]);
        cluster_store(t.neighbour[SIDE_NORTH] + SLOT_AT(knocked, UNITS - 1), step);
    }
    if (r == TILE - 1 && t.neighbour[SIDE_SOUTH] != NO_ONE) {
        cluster_store(t.neighbour[SIDE_SOUTH] + SLOT_AT(to_south, c), flow[SIDE_SOUTH]);
        cluster_store(t.neighbour[SIDE_SOUTH] + SLOT_AT(knocked, 0), step);
    }
    if (c == 0 && t.neighbour[SIDE_WEST] != NO_ONE) {
        cluster_store(t.neighbour[SIDE_WEST] + SLOT_AT(to_west, r * (TILE + 1) + TILE),
                      flow[SIDE_WEST]);
        cluster_store(t.neighbour[SIDE_WEST] + SLOT_AT(knocked, r / 2), step);
    }
    if (c == TILE - 1 && t.neighbour[SIDE_EAST] != NO_ONE) {
        cluster_store(t.neighbour[SIDE_EAST] + SLOT_AT(to_east, r * (TILE + 1)), flow[SIDE_EAST]);
        cluster_store(t.neighbour[SIDE_EAST] + SLOT_AT(knocked, r / 2), step);
    }
}

/* A, for one cell of the list. */
__device__ __forceinline__ void emit(const sciddicat_map &m, slot &t, int r, int c, unsigned step)
{
    const int k = (r + 1) * SPAN + c + 1, at[SIDES] = {k - SPAN, k - 1, k + 1, k + SPAN};
    double flow[SIDES] = {0, 0, 0, 0};
    if (t.h[k] > m.epsilon) {
        double level[SIDES];
        unsigned takes = 0xf;
#pragma unroll
        for (int n = 0; n < SIDES; n++) {
            level[n] = __dadd_rn(t.z[at[n]], t.h[at[n]]);
        }
        if (m.walls) {
#pragma unroll
            for (int n = 0; n < SIDES; n++) {
                takes &= ~((unsigned)((t.kind[at[n]] & SCIDDICAT_TAKES) == 0) << n);
            }
        }
        sciddicat_outflow(m, t.z[k], t.h[k], level, takes, flow);
    }
    t.to_north[r * TILE + c] = flow[SIDE_NORTH];
    t.to_south[(r + 1) * TILE + c] = flow[SIDE_SOUTH];
    t.to_west[r * (TILE + 1) + c] = flow[SIDE_WEST];
    t.to_east[r * (TILE + 1) + c + 1] = flow[SIDE_EAST];
    t.knocked[r / 2] = step;
    if (r % 2 == 0 && r > 0) {
        t.knocked[r / 2 - 1] = step;
    }
    if (r % 2 == 1 && r < TILE - 1) {
        t.knocked[r / 2 + 1] = step;
    }
    if (r == 0 || c == 0 || r == TILE - 1 || c == TILE - 1) {
        send_flows(t, r, c, flow, step);
    }
}

/* A new h, into the borders of the tiles beside. */
__device__ __forceinline__ void send_h(const slot &t, int r, int c, double h)
{
    if (r == 0 && t.neighbour[SIDE_NORTH] != NO_ONE) {
        cluster_store(t.neighbour[SIDE_NORTH] + SLOT_AT(h, (SPAN - 1) * SPAN + c + 1), h);
    }
    if (r == TILE - 1 && t.neighbour[SIDE_SOUTH] != NO_ONE) {
        cluster_store(t.neighbour[SIDE_SOUTH] + SLOT_AT(h, c + 1), h);
    }
    if (c == 0 && t.neighbour[SIDE_WEST] != NO_ONE) {
        cluster_store(t.neighbour[SIDE_WEST] + SLOT_AT(h, (r + 1) * SPAN + SPAN - 1), h);
    }
    if (c == TILE - 1 && t.neighbour[SIDE_EAST] != NO_ONE) {
        cluster_store(t.neighbour[SIDE_EAST] + SLOT_AT(h, (r + 1) * SPAN), h);
    }
}

__device__ __forceinline__ bool nobody_beside(const slot &t, int r, int c)
{
    return (r == 0 && t.neighbour[SIDE_NORTH] == NO_ONE) ||
           (r == TILE - 1 && t.neighbour[SIDE_SOUTH] == NO_ONE) ||
           (c == 0 && t.neighbour[SIDE_WEST] == NO_ONE) ||
           (c == TILE - 1 && t.neighbour[SIDE_EAST] == NO_ONE);
}

struct cell_result {
    bool listed, changed, lost; /* lost: its neighbour is not resident, and it will emit */
};

/* B, for the cell in row r, column c. */
__device__ __forceinline__ cell_result take(const sciddicat_map &m, slot &t, int r, int c,
                                            unsigned long long step)
{
    const int k = (r + 1) * SPAN + c + 1;
    const double in[SIDES] = {t.to_south[r * TILE + c], t.to_east[r * (TILE + 1) + c],
                              t.to_west[r * (TILE + 1) + c + 1], t.to_north[(r + 1) * TILE + c]};
    const double out[SIDES] = {t.to_north[r * TILE + c], t.to_west[r * (TILE + 1) + c],
                               t.to_east[r * (TILE + 1) + c + 1], t.to_south[(r + 1) * TILE + c]};
    const double before = t.h[k];
    double *peak = &t.peak[r * TILE + c];
    if ((t.kind[k] & SCIDDICAT_LIVE) == 0) {
        *peak = sciddicat_taken(*peak, in);
        return {false, false, false};
    }
    const double now = sciddicat_thickness(before, in, out);
    const bool was = before > m.epsilon, is = now > m.epsilon;
    cell_result result = {was || is, now != before, false};
    if (result.changed) {
        t.h[k] = now;
        if (r == 0 || c == 0 || r == TILE - 1 || c == TILE - 1) {
            send_h(t, r, c, now);
            result.lost = is && nobody_beside(t, r, c);
        }
        if (now > *peak) {
            *peak = now;
        }
        if (is && !was && t.arrival[r * TILE + c] < 0) {
            t.arrival[r * TILE + c] = (int)step;
        }
    }
    return result;
}

__device__ __forceinline__ void ask_to_deal(memory &s, unsigned parity)
{
    for (unsigned rank = 0; rank < cluster_size(); rank++) {
        cluster_store(cluster_address(&s.deal_anew[parity], rank), 1u);
    }
}

/* Steps until all are done or tiles have to be dealt anew; how many are done then. */
__device__ unsigned advance(const job &a, memory &s, int n_slots, unsigned done)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (;;) {
        const unsigned parity = done % 2, next = parity ^ 1, tag = done + 1;
        const unsigned n = s.n_listed[parity];
        for (unsigned x = threadIdx.x; x < n; x += THREADS) {
            const int code = s.list[x];
            emit(a.m, s.slots[code >> 8], code >> 4 & 15, code & 15, tag);
        }
        cluster_barrier();
        if (threadIdx.x == 0) {
            s.n_listed[parity] = 0;
            s.deal_anew[next] = 0;
        }
        done++;
        for (int x = warp; x < n_slots * UNITS; x += WARPS) {
            slot &t = s.slots[x / UNITS];
            if (t.knocked[x % UNITS] != tag) {
                continue;
            }
            const int r = x % UNITS * 2 + lane / TILE, c = lane % TILE;
            const cell_result result = take(a.m, t, r, c, a.base + done);
            list_cell(s, result.listed, x / UNITS << 8 | r << 4 | c, next);
            if (result.lost) {
                ask_to_deal(s, parity);
            }
            if (done == a.n_steps && __any_sync(0xffffffffu, result.changed) && lane == 0) {
                a.m.progress->moved_at = a.base + done;
            }
        }
        cluster_barrier();
        if (done == a.n_steps || s.deal_anew[parity] != 0) {
            return done;
        }
    }
}

#endif

__global__ void __launch_bounds__(THREADS, 1) cluster_steps(const __grid_constant__ job a)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    extern __shared__ __align__(16) unsigned char room[];
    memory &s = *(memory *)(void *)room;
    unsigned done = 0;
    while (done < a.n_steps) {
        const int n_slots = deal(a, s);
        if (n_slots < 0) {
            break;
        }
        load_cells(a, s, n_slots);
        load_rest(a, s, n_slots);
        __syncthreads();
        list_active(a, s, n_slots, done % 2);
        cluster_barrier();
        done = advance(a, s, n_slots, done);
        write_back(a, s, n_slots);
        cluster_barrier();
    }
    if (cluster_rank() == 0 && threadIdx.x == 0) {
        a.m.progress->done += done;
    }
#endif
}

} // namespace

int cuda_sciddicat_cluster_size(const struct cuda_backend *b)
{
    if (b->properties.major < 9 || b->properties.sharedMemPerBlockOptin < sizeof(memory)) {
        return 0;
    }
    bool fine = cudaFuncSetAttribute(cluster_steps, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)sizeof(memory)) == cudaSuccess &&
                cudaFuncSetAttribute(cluster_steps, cudaFuncAttributeNonPortableClusterSizeAllowed,
                                     1) == cudaSuccess;
    for (int size = 16; fine && size >= 4; size /= 2) {
        struct cudaLaunchConfig_st config = {};
        struct cudaLaunchAttribute_st attribute = {};
        int most = 0;
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim = {(unsigned)size, 1, 1};
        config.gridDim = dim3((unsigned)size);
        config.blockDim = dim3(THREADS);
        config.dynamicSmemBytes = sizeof(memory);
        config.attrs = &attribute;
        config.numAttrs = 1;
        if (cudaOccupancyMaxActiveClusters(&most, cluster_steps, &config) == cudaSuccess &&
            most > 0) {
            return size;
        }
    }
    (void)cudaGetLastError();
    return 0;
}

enum status cuda_sciddicat_cluster(const struct sciddicat_map *m, double *h, uint64_t base,
                                   unsigned n_steps, int size, cudaStream_t stream)
{
    const job a = {*m, h, base, n_steps};
    struct cudaLaunchConfig_st config = {};
    struct cudaLaunchAttribute_st attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {(unsigned)size, 1, 1};
    config.gridDim = dim3((unsigned)size);
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = sizeof(memory);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CUDA_TRY(cudaLaunchKernelEx(&config, cluster_steps, a), "steps of the automaton");
    return cuda_launched("steps of the automaton");
}
