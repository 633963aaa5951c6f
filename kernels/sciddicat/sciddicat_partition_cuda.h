/*
 * sciddicat_partition_cuda - which tiles a cluster holds, which block has which, and their way from
 * and to the map. A part of cuda_sciddicat_cluster.
 *
 * Residents are the hot tiles and those beside them. They are given, in the order of their active
 * cells, to the blocks there and back again, so that each gets about as many.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_SCIDDICAT_PARTITION_CUDA_H
#define LEAT_KERNELS_SCIDDICAT_SCIDDICAT_PARTITION_CUDA_H

#include "kernels/sciddicat/sciddicat_exchange_cuda.h"

namespace
{

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

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
__device__ int partition(const sciddicat_map &m, memory &s)
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

/* --- to and from the map ---------------------------------------------------------------------- */

__device__ void load_cells(const sciddicat_cluster_job &a, memory &s, int n_slots)
{
    const int cells = SPAN * SPAN;
    for (int x = threadIdx.x; x < n_slots * cells; x += THREADS) {
        slot &t = s.slots[x / cells];
        const int k = x % cells, tile = s.tile[x / cells];
        const long long i = sciddicat_tile_row(a.m, tile) + k / SPAN - 1;
        const long long j = sciddicat_tile_column(a.m, tile) + k % SPAN - 1;
        const bool inside = sciddicat_inside(a.m, i, j);
        const long long at = i * a.m.columns + j;
        t.h[k] = inside ? __ldcg(a.h + at) : 0;
        t.z[k] = inside ? a.m.z[at] : 0;
        t.kind[k] = inside ? a.m.kind[at] : 0;
    }
}

__device__ void load_rest(const sciddicat_cluster_job &a, memory &s, int n_slots)
{
    const int flows = (TILE + 1) * TILE, size = (int)cluster_size();
    for (int x = threadIdx.x; x < n_slots * CELLS; x += THREADS) {
        slot &t = s.slots[x / CELLS];
        const int k = x % CELLS, tile = s.tile[x / CELLS];
        const long long i = sciddicat_tile_row(a.m, tile) + k / TILE,
                        j = sciddicat_tile_column(a.m, tile) + k % TILE;
        const bool inside = sciddicat_inside(a.m, i, j);
        const long long at = i * a.m.columns + j;
        t.max_h[k] = inside ? __ldcg(a.m.max_h + at) : 0;
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
        const int tile = s.tile[x / SIDES];
        const int beside = sciddicat_tile_beside(a.m, tile, tile % a.m.tile_columns, x % SIDES);
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
        s.last_call[threadIdx.x] = ~0u;
        s.repartition[threadIdx.x] = ~0u;
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

__device__ void write_back(const sciddicat_cluster_job &a, memory &s, int n_slots)
{
    for (int x = threadIdx.x; x < n_slots * CELLS; x += THREADS) {
        const slot &t = s.slots[x / CELLS];
        const int r = x % CELLS / TILE, c = x % TILE, k = (r + 1) * SPAN + c + 1;
        const int tile = s.tile[x / CELLS];
        const long long i = sciddicat_tile_row(a.m, tile) + r,
                        j = sciddicat_tile_column(a.m, tile) + c;
        if (sciddicat_inside(a.m, i, j)) {
            const long long at = i * a.m.columns + j;
            __stcg(a.h + at, t.h[k]);
            __stcg(a.m.max_h + at, t.max_h[x % CELLS]);
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

#endif

} // namespace

#endif
