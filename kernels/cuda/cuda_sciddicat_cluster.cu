/*
 * cuda_sciddicat_cluster - small maps, and little debris on larger ones: thousands of steps in one
 * kernel by one cluster of blocks, whose shared memory holds all that moves.
 *
 * A step of a few thousand cells takes less than a launch or a barrier of the whole device; between
 * the blocks of a cluster word goes round in a quarter of a microsecond, and each can write into
 * the shared memory of the others.
 *
 * Residents: the hot tiles and those beside them, dealt out to the blocks so that each gets about
 * as many active cells; a block keeps up to SLOTS of them. When a cell at the edge of a tile
 * becomes active and the tile beside it is not resident, all write their tiles back and deal anew:
 * a handful of times in a thousand steps.
 *
 * A thread keeps one cell, its state in registers, from when the cell can first change: when it or
 * one beside it is active. A step, with an exchange after each half:
 *   A. The flows of the cell go into its tile, and where they cross the tile's edge into a border
 * of the tile beside it, in whichever block. B. The new h from the flows around; at an edge it goes
 * into the border of the tile beside, too. A cell that becomes active calls the four beside it. A
 * cell that has been active clears its flows in the step after.
 *
 * Exchange: data for other blocks are sent by asynchronous stores that count their bytes at a
 * barrier in the receiver's shared memory; when a block is done it tells every other how many bytes
 * to wait for. No fence, no acknowledgement is waited for.
 *
 * Needs compute capability 9.0. Latency sets the time: the rounds of the average, and two
 * exchanges.
 */
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/cuda_sciddicat.h"

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
    double peak[CELLS];
    int arrival[CELLS];
    unsigned listed[CELLS / 32]; /* a bit a cell */
    unsigned called[EDGES]; /* by side: the step in which the tile beside last called the cell */
    unsigned beside[SIDES]; /* where the slots beside lie in the cluster's memory */
    int owner[SIDES];       /* the block that has them; -1: not resident */
    unsigned char kind[SPAN * SPAN];
};

enum exchange { AFTER_FLOWS, AFTER_THICKNESS, EXCHANGES };

struct memory {
    slot slots[SLOTS];
    unsigned long long arrived[EXCHANGES];
    unsigned steady[MOST_BLOCKS];          /* bytes that go to each block in every exchange */
    unsigned sent[EXCHANGES][MOST_BLOCKS]; /* and besides, since the last exchange of the kind */
    unsigned short list[SLOTS * CELLS];    /* slot, row, column; thread x has the x-th */
    unsigned n_listed;
    unsigned last_call;    /* the step in which another block last called a cell */
    unsigned deal_anew[2]; /* for even and odd steps */
    unsigned too_many;
    unsigned long long scan[WARPS];
    int tile[SLOTS];
    unsigned active[SLOTS];
    int resident[MOST_BLOCKS * SLOTS]; /* tiles, and how many cells are active there */
    unsigned weight[MOST_BLOCKS * SLOTS];
};

struct job {
    sciddicat_map m;
    double *h;
    unsigned long long base;
    unsigned n_steps;
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/* Cells of a block when tiles are dealt: leaves threads for those that are called. */
const unsigned MOST_CELLS = THREADS * 7 / 8;
constexpr int NO_CELL = 0xffff;

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

/* Sends word to block `rank`, beside what goes there in every exchange. */
__device__ __forceinline__ void send_word(memory &s, int rank, unsigned at, unsigned v)
{
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(at),
        "r"(v), "r"(cluster_address(&s.arrived[AFTER_THICKNESS], (unsigned)rank))
        : "memory");
    atomicAdd(&s.sent[AFTER_THICKNESS][rank], (unsigned)sizeof v);
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
    if (threadIdx.x < EXCHANGES * MOST_BLOCKS) {
        s.sent[threadIdx.x / MOST_BLOCKS][threadIdx.x % MOST_BLOCKS] = 0;
    }
}

/* All blocks come here, for the n-th time (from 0) for this kind of exchange; what they sent before
 * is there afterwards. */
__device__ __forceinline__ void exchange_all(memory &s, exchange e, unsigned n)
{
    __syncthreads();
    if (threadIdx.x < cluster_size()) {
        const unsigned bytes = s.steady[threadIdx.x] + s.sent[e][threadIdx.x];
        s.sent[e][threadIdx.x] = 0;
        asm volatile(
            "mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(
                cluster_address(&s.arrived[e], threadIdx.x)),
            "r"(bytes)
            : "memory");
    }
    unsigned there;
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

/* --- dealing -----------------------------------------------------------------------------------
 */

/* Hot, or beside a hot one. */
__device__ __forceinline__ bool is_resident(const sciddicat_map &m, int tile)
{
    const int i = tile / m.tile_columns, j = tile % m.tile_columns;
    return __ldcg(m.hot + tile) != 0 || (i > 0 && __ldcg(m.hot + tile - m.tile_columns) != 0) ||
           (i + 1 < m.tile_rows && __ldcg(m.hot + tile + m.tile_columns) != 0) ||
           (j > 0 && __ldcg(m.hot + tile - 1) != 0) ||
           (j + 1 < m.tile_columns && __ldcg(m.hot + tile + 1) != 0);
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

/* Lists the residents in the order of the map, with their weights. All blocks find the same. How
 * many; -1: more than the cluster holds. */
__device__ int find_residents(const sciddicat_map &m, memory &s)
{
    const int tiles = m.tile_rows * m.tile_columns, each = (tiles + THREADS - 1) / THREADS;
    const int first = min((int)threadIdx.x * each, tiles), last = min(first + each, tiles);
    unsigned long long mine = 0, all;
    for (int t = first; t < last; t++) {
        mine += is_resident(m, t);
    }
    unsigned long long at = scan(s, mine, &all);
    if (all > (unsigned long long)cluster_size() * SLOTS) {
        return -1;
    }
    for (int t = first; t < last; t++) {
        if (is_resident(m, t)) {
            s.resident[at] = t;
            s.weight[at] = __ldcg(m.hot + t);
            at++;
        } else {
            __stcg(m.place + t, -1);
        }
    }
    __syncthreads();
    return (int)all;
}

/* The block that gets the k-th heaviest tile, in slot k / size: there and back again. */
__device__ __forceinline__ int block_of(int k, int size)
{
    return k / size % 2 == 0 ? k % size : size - 1 - k % size;
}

/* How many tiles this block has now; -1: too many for all. A place is slot * size + block. */
__device__ int deal(const sciddicat_map &m, memory &s)
{
    const int n = find_residents(m, s), size = (int)cluster_size(), rank = (int)cluster_rank();
    for (int x = threadIdx.x; x < n; x += THREADS) {
        int k = 0;
        for (int y = 0; y < n; y++) {
            k += s.weight[y] > s.weight[x] || (s.weight[y] == s.weight[x] && y < x);
        }
        const int block = block_of(k, size);
        __stcg(m.place + s.resident[x], k / size * size + block);
        if (block == rank) {
            s.tile[k / size] = s.resident[x];
        }
    }
    __threadfence();
    __syncthreads();
    /* In the last round, which may be short, it is this block's turn after `turn` others. */
    const int rounds = n / size, turn = rounds % 2 == 0 ? rank : size - 1 - rank;
    return n < 0 ? -1 : rounds + (turn < n % size);
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
    const int flows = (TILE + 1) * TILE, size = (int)cluster_size();
    for (int x = threadIdx.x; x < n_slots * CELLS; x += THREADS) {
        slot &t = s.slots[x / CELLS];
        const int k = x % CELLS, tile = s.tile[x / CELLS];
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
    for (int x = threadIdx.x; x < n_slots * EDGES; x += THREADS) {
        s.slots[x / EDGES].called[x % EDGES] = ~0u;
    }
    for (int x = threadIdx.x; x < n_slots * CELLS / 32; x += THREADS) {
        s.slots[x / (CELLS / 32)].listed[x % (CELLS / 32)] = 0;
    }
    for (int x = threadIdx.x; x < n_slots * SIDES; x += THREADS) {
        slot &t = s.slots[x / SIDES];
        const int beside = tile_beside(a.m, s.tile[x / SIDES], x % SIDES);
        const int place = beside < 0 ? -1 : __ldcg(a.m.place + beside);
        t.owner[x % SIDES] = place < 0 ? -1 : place % size;
        t.beside[x % SIDES] =
            place < 0 ? 0 : cluster_address(&s.slots[place / size], (unsigned)(place % size));
    }
    for (int x = threadIdx.x; x < SLOTS * CELLS; x += THREADS) {
        s.list[x] = NO_CELL;
    }
    if (threadIdx.x < MOST_BLOCKS) {
        s.steady[threadIdx.x] = 0;
    }
    if (threadIdx.x < 2) {
        s.n_listed = 0;
        s.last_call = ~0u;
        s.deal_anew[threadIdx.x] = 0;
    }
    if (threadIdx.x < SLOTS) {
        s.active[threadIdx.x] = 0;
    }
}

/* Gives the cell a thread, unless it has one. */
__device__ __forceinline__ void list_cell(memory &s, int code)
{
    const unsigned bit = 1u << code % 32;
    if ((atomicOr(&s.slots[code / CELLS].listed[code % CELLS / 32], bit) & bit) == 0) {
        *(volatile unsigned short *)&s.list[atomicAdd(&s.n_listed, 1u)] = (unsigned short)code;
    }
}

__device__ __forceinline__ bool is_active(const sciddicat_map &m, const slot &t, int k)
{
    return (t.kind[k] & SCIDDICAT_LIVE) != 0 && t.h[k] > m.epsilon;
}

/* Active cells first, so that they share warps; then those beside them. */
__device__ void list_all(const sciddicat_map &m, memory &s, int n_slots)
{
    for (int pass = 0; pass < 2; pass++) {
        for (int x = threadIdx.x; x < n_slots * CELLS; x += THREADS) {
            const slot &t = s.slots[x / CELLS];
            const int k = (x % CELLS / TILE + 1) * SPAN + x % TILE + 1;
            if (pass == 0 ? is_active(m, t, k)
                          : is_active(m, t, k - SPAN) || is_active(m, t, k - 1) ||
                                is_active(m, t, k + 1) || is_active(m, t, k + SPAN)) {
                list_cell(s, x);
            }
        }
        __syncthreads();
    }
    if (s.n_listed > MOST_CELLS && threadIdx.x < cluster_size()) {
        const unsigned at = cluster_address(&s.too_many, threadIdx.x);
        asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(at), "r"(1u) : "memory");
    }
}

__device__ void write_back(const job &a, memory &s, int n_slots)
{
    for (int x = threadIdx.x; x < n_slots * CELLS; x += THREADS) {
        const slot &t = s.slots[x / CELLS];
        const int r = x % CELLS / TILE, c = x % TILE, k = (r + 1) * SPAN + c + 1;
        const int tile = s.tile[x / CELLS];
        const long long i = tile_row(a.m, tile) + r, j = tile_column(a.m, tile) + c;
        if (sciddicat_inside(a.m, i, j)) {
            const long long at = i * a.m.columns + j;
            __stcg(a.h + at, t.h[k]);
            __stcg(a.m.peak + at, t.peak[x % CELLS]);
            __stcg(a.m.arrival + at, t.arrival[x % CELLS]);
            if (is_active(a.m, t, k)) {
                atomicAdd(&s.active[x / CELLS], 1u);
            }
        }
    }
    __syncthreads();
    if (threadIdx.x < n_slots) {
        __stcg(a.m.hot + s.tile[threadIdx.x], sciddicat_heat(s.active[threadIdx.x]));
    }
    __threadfence();
}

/* --- steps -------------------------------------------------------------------------------------
 */

/* Where things lie in another block: the cell's h, its flow, and the barriers that count them. */
struct route {
    unsigned h, flow, barriers; /* h: 0 when there is none */
};

/* What a thread has of its cell. */
struct cell {
    int code;    /* NO_CELL: none */
    int r, c, k; /* k: of the tile with its border */
    bool live, emitted,
        changed;    /* emitted: its flows are not all 0; changed: h, in the last step */
    unsigned takes; /* bit n: neighbour n does */
    unsigned left;  /* of those it last emitted to; see sciddicat_outflow */
    double h, z, beside_z[SIDES], level[SIDES], flow[SIDES], peak;
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
    x.emitted = x.changed = false;
    x.left = 0;
    x.takes = 0xf;
    x.h = t.h[x.k];
    x.z = t.z[x.k];
    x.peak = t.peak[code % CELLS];
    x.vertical = x.horizontal = {0, 0, 0};
    const int at[SIDES] = {x.k - SPAN, x.k - 1, x.k + 1, x.k + SPAN};
#pragma unroll
    for (int n = 0; n < SIDES; n++) {
        x.beside_z[n] = t.z[at[n]];
        x.flow[n] = x.level[n] = 0;
        if (m.walls && (t.kind[at[n]] & SCIDDICAT_TAKES) == 0) {
            x.takes &= ~(1u << n);
        }
    }
    return x;
}

/* The way to the slot on side n, where the cell's h and flow have these offsets. */
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
        if (x.live) {
            find_routes(s, x);
        }
    }
}

/* The levels beside; whether they or h have changed since the cell last emitted. */
__device__ __forceinline__ bool look_around(const slot &t, cell &x)
{
    const int at[SIDES] = {x.k - SPAN, x.k - 1, x.k + 1, x.k + SPAN};
    bool changed = x.changed || !x.emitted;
#pragma unroll
    for (int n = 0; n < SIDES; n++) {
        const double level = __dadd_rn(x.beside_z[n], t.h[at[n]]);
        changed |= __double_as_longlong(level) != __double_as_longlong(x.level[n]);
        x.level[n] = level;
    }
    return changed;
}

/* A. Flows stay as they are where nothing has changed around. */
__device__ __forceinline__ void emit(const sciddicat_map &m, memory &s, cell &x)
{
    slot &t = s.slots[x.code / CELLS];
    const bool emits = x.live && x.h > m.epsilon;
    if (emits ? look_around(t, x) : x.emitted) {
        if (emits) {
            sciddicat_outflow(m, x.z, x.h, x.level, x.takes, &x.left, x.flow);
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
             x.vertical.barriers + AFTER_FLOWS * sizeof(unsigned long long));
    }
    if (x.horizontal.h != 0) {
        send(x.horizontal.flow, x.c == 0 ? x.flow[SIDE_WEST] : x.flow[SIDE_EAST],
             x.horizontal.barriers + AFTER_FLOWS * sizeof(unsigned long long));
    }
}

__device__ void ask_to_deal(memory &s, unsigned parity)
{
    for (unsigned rank = 0; rank < cluster_size(); rank++) {
        send_word(s, (int)rank, cluster_address(&s.deal_anew[parity], rank), 1);
    }
}

/* The edge cell of the tile on side n gets a thread there: the `along`-th of its opposite side.
 * False: that tile is not resident. */
__device__ bool call_over_edge(memory &s, const slot &t, int n, int along, unsigned step)
{
    const int rank = t.owner[n];
    if (rank < 0) {
        return false;
    }
    send_word(s, rank, t.beside[n] + SLOT_AT(called, (SIDES - 1 - n) * TILE + along), step);
    send_word(s, rank, cluster_address(&s.last_call, (unsigned)rank), step);
    return true;
}

/* The cell emits from the next step on: those beside it need threads. */
__device__ void call_all(memory &s, const cell &x, unsigned step, unsigned parity)
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
    bool all = true;
#pragma unroll
    for (int n = 0; n < SIDES; n++) {
        if (fresh[n] != 0) {
            *(volatile unsigned short *)&s.list[at++] = (unsigned short)code[n];
        }
        if (over[n]) {
            const int along = n == SIDE_NORTH || n == SIDE_SOUTH ? x.c : x.r;
            all = call_over_edge(s, t, n, along, step) && all;
        }
    }
    if (!all) {
        ask_to_deal(s, parity);
    }
}

/* Gives threads to edge cells that were called from other tiles in `step`. */
__device__ __forceinline__ void answer_calls(memory &s, int n_slots, unsigned step)
{
    if (*(volatile unsigned *)&s.last_call != step) {
        return;
    }
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
__device__ __forceinline__ change take(const sciddicat_map &m, memory &s, cell &x,
                                       unsigned long long number)
{
    slot &t = s.slots[x.code / CELLS];
    const double before = x.h;
    const double in[SIDES] = {t.to_south[x.r * TILE + x.c], t.to_east[x.r * (TILE + 1) + x.c],
                              t.to_west[x.r * (TILE + 1) + x.c + 1],
                              t.to_north[(x.r + 1) * TILE + x.c]};
    if (!x.live) {
        x.peak = sciddicat_taken(x.peak, in);
        return {false, false};
    }
    x.h = sciddicat_thickness(before, in, x.flow);
    t.h[x.k] = x.h;
    x.peak = x.h > x.peak ? x.h : x.peak;
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
 * something flows in. Then tiles are dealt anew. True when some h changed. */
__device__ bool take_rest(const sciddicat_map &m, memory &s, unsigned long long number,
                          unsigned parity)
{
    bool changed = false;
    for (unsigned y = threadIdx.x + THREADS; y < *(volatile unsigned *)&s.n_listed; y += THREADS) {
        const int code = *(volatile unsigned short *)&s.list[y];
        if (code != NO_CELL) {
            cell x = load_cell(m, s, code);
            changed |= take(m, s, x, number).changed;
            s.slots[code / CELLS].peak[code % CELLS] = x.peak;
        }
    }
    if (threadIdx.x == 0) {
        ask_to_deal(s, parity);
    }
    return changed;
}

/* Steps until all are done or tiles have to be dealt anew; how many are done then. */
__device__ unsigned advance(const job &a, memory &s, int n_slots, unsigned done)
{
    const sciddicat_map &m = a.m;
    cell x;
    x.code = NO_CELL;
    pick_up(m, s, x);
    for (;;) {
        const unsigned parity = done % 2;
        if (x.code != NO_CELL) {
            emit(m, s, x);
        }
        answer_calls(s, n_slots, done);
        exchange_all(s, AFTER_FLOWS, done);
        if (threadIdx.x == 0) {
            s.deal_anew[parity ^ 1] = 0;
        }
        pick_up(m, s, x);
        done++;
        change result = {false, false};
        if (x.code != NO_CELL) {
            result = take(m, s, x, a.base + done);
            x.changed = result.changed;
            send_h(x);
            if (result.activated) {
                call_all(s, x, done, parity);
            }
        }
        if (*(volatile unsigned *)&s.n_listed > THREADS) {
            result.changed |= take_rest(m, s, a.base + done, parity);
        }
        if (result.changed && done == a.n_steps) {
            m.progress->moved_at = a.base + done;
        }
        exchange_all(s, AFTER_THICKNESS, done - 1);
        if (done == a.n_steps || s.deal_anew[parity] != 0) {
            break;
        }
    }
    if (x.code != NO_CELL) {
        s.slots[x.code / CELLS].peak[x.code % CELLS] = x.peak;
    }
    __syncthreads();
    return done;
}

#endif

__global__ void __launch_bounds__(THREADS, 1) cluster_steps(const __grid_constant__ job a)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    extern __shared__ __align__(16) unsigned char room[];
    memory &s = *(memory *)(void *)room;
    unsigned done = 0;
    begin_exchanges(s);
    if (threadIdx.x == 0) {
        s.too_many = 0;
    }
    __syncthreads();
    cluster_barrier();
    while (done < a.n_steps) {
        const int n_slots = deal(a.m, s);
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
