/*
 * sciddicat_sweep_cuda - maps of any size: every step is one kernel over a list of tiles.
 *
 * Mapping: a block takes tiles of the list in turn, a thread a cell. It reads the tile with the two
 * cells around it, makes the flows of the tile's cells and of those that border on it (which the
 * neighbours make too: 64 beside 256, instead of a second kernel), and writes the tile's new h into
 * the other copy of the map.
 * Lists: a tile that holds a cell that can emit, or whose h changed, visits itself again; one with
 * such a cell at an edge also its neighbour there. So a tile that is left out has the same h in
 * both copies, and no flow enters it. Bytes: some 25 a cell of the tiles listed. A step costs a
 * launch, some 3 us, until the list fills the device (about 500 tiles).
 */
#include "kernels/sciddicat/sciddicat_cuda.h"

namespace
{

const int TILE = SCIDDICAT_TILE, AROUND = 2, SPAN = TILE + 2 * AROUND;
const int THREADS = SCIDDICAT_TILE_CELLS, RING = 4 * TILE;

struct tile_memory {
    double h[SPAN * SPAN], z[SPAN * SPAN];
    double flow[SIDES][SPAN * SPAN];
    unsigned char kind[SPAN * SPAN];
};

__device__ __forceinline__ void enlist(const sciddicat_lists &lists, int tile, unsigned step,
                                       int *list, unsigned *n)
{
    if (lists.listed_for[tile] != step && atomicExch(&lists.listed_for[tile], step) != step) {
        list[atomicAdd(n, 1u)] = tile;
    }
}

/* The flows of the cell at k, 0 where it emits none. Gives the guess for the next step. */
__device__ __forceinline__ unsigned make_flows(const sciddicat_map &m, tile_memory &t, int k)
{
    double flow[SIDES] = {0, 0, 0, 0};
    unsigned guess = t.kind[k] / SCIDDICAT_GUESS;
    if ((t.kind[k] & SCIDDICAT_LIVE) != 0 && t.h[k] > m.epsilon) {
        const int at[SIDES] = {k - SPAN, k - 1, k + 1, k + SPAN};
        double level[SIDES];
        unsigned accepts = 0xf;
#pragma unroll
        for (int n = 0; n < SIDES; n++) {
            level[n] = __dadd_rn(t.z[at[n]], t.h[at[n]]);
        }
        if (m.walls) {
#pragma unroll
            for (int n = 0; n < SIDES; n++) {
                accepts &= ~((unsigned)((t.kind[at[n]] & SCIDDICAT_ACCEPTS) == 0) << n);
            }
        }
        sciddicat_outflow(m, t.z[k], t.h[k], level, accepts, &guess, flow);
    }
#pragma unroll
    for (int n = 0; n < SIDES; n++) {
        t.flow[n][k] = flow[n];
    }
    return guess;
}

/* The k-th cell that borders on the tile. */
__device__ __forceinline__ int ring_cell(int k)
{
    const int along = k % TILE + AROUND, last = AROUND + TILE;
    switch (k / TILE) {
    case 0:
        return (AROUND - 1) * SPAN + along;
    case 1:
        return last * SPAN + along;
    case 2:
        return along * SPAN + AROUND - 1;
    default:
        return along * SPAN + last;
    }
}

__device__ __forceinline__ void load_tile(const sciddicat_map &m, tile_memory &t, const double *h,
                                          long long row, long long column)
{
    for (int k = threadIdx.x; k < SPAN * SPAN; k += THREADS) {
        const long long i = row + k / SPAN - AROUND, j = column + k % SPAN - AROUND;
        const bool inside = sciddicat_inside(m, i, j);
        const long long at = i * m.columns + j;
        t.h[k] = inside ? h[at] : 0;
        t.z[k] = inside ? m.z[at] : 0;
        t.kind[k] = inside ? m.kind[at] : 0;
    }
}

struct cell_result {
    bool changed, active;
};

/* The new h of the cell at k of the tile and `at` of the map. */
__device__ __forceinline__ cell_result update(const sciddicat_map &m, const tile_memory &t, int k,
                                              long long at, double *h, unsigned long long step)
{
    const double in[SIDES] = {t.flow[SIDE_SOUTH][k - SPAN], t.flow[SIDE_EAST][k - 1],
                              t.flow[SIDE_WEST][k + 1], t.flow[SIDE_NORTH][k + SPAN]};
    const double out[SIDES] = {t.flow[SIDE_NORTH][k], t.flow[SIDE_WEST][k], t.flow[SIDE_EAST][k],
                               t.flow[SIDE_SOUTH][k]};
    const double before = t.h[k];
    if ((t.kind[k] & SCIDDICAT_LIVE) == 0) {
        if (in[0] > 0 || in[1] > 0 || in[2] > 0 || in[3] > 0) {
            m.max_h[at] = sciddicat_received(m.max_h[at], in);
        }
        return {false, false};
    }
    const double now = sciddicat_thickness(before, in, out);
    h[at] = now;
    if (now > before && now > m.max_h[at]) {
        m.max_h[at] = now;
    }
    if (now > m.epsilon && !(before > m.epsilon) && m.arrival[at] < 0) {
        m.arrival[at] = (int)step;
    }
    return {now != before, now > m.epsilon};
}

/* Lists the tile and those that its cells at the edges reach. By whole warps, of two rows each. */
__device__ __forceinline__ void list_next(const sciddicat_map &m, const sciddicat_lists &lists,
                                          int tile, cell_result r, unsigned step, int *list,
                                          unsigned *n)
{
    const unsigned active = __ballot_sync(0xffffffffu, r.active);
    const unsigned changed = __ballot_sync(0xffffffffu, r.changed);
    const int warp = threadIdx.x / 32, warps = THREADS / 32;
    if (threadIdx.x % 32 != 0 || (active | changed) == 0) {
        return;
    }
    enlist(lists, tile, step, list, n);
    /* The outermost ghost rows, other than a map's ring, may have active cells. */
    if (warp == 0 && (active & 0xffff) != 0 && tile - m.tile_columns >= m.first_tile) {
        enlist(lists, tile - m.tile_columns, step, list, n);
    }
    if (warp == warps - 1 && active >> TILE != 0 && tile + m.tile_columns < m.last_tile) {
        enlist(lists, tile + m.tile_columns, step, list, n);
    }
    if ((active & 0x00010001u) != 0) {
        enlist(lists, tile - 1, step, list, n);
    }
    if ((active & 0x80008000u) != 0) {
        enlist(lists, tile + 1, step, list, n);
    }
}

__global__ void __launch_bounds__(THREADS, SCIDDICAT_BLOCKS_A_MULTIPROCESSOR)
    sweep(sciddicat_map m, sciddicat_lists lists, const double *h_from, double *h_to,
          unsigned long long step)
{
    __shared__ tile_memory t;
    const unsigned next = (unsigned)step + 1;
    const unsigned n = lists.n[step % 3];
    const int *list = lists.tile[step % 2];
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        lists.n[(step + 2) % 3] = 0;
    }
    for (unsigned l = blockIdx.x; l < n; l += gridDim.x) {
        const int tile = list[l];
        const long long row = sciddicat_tile_row(m, tile), column = sciddicat_tile_column(m, tile);
        load_tile(m, t, h_from, row, column);
        __syncthreads();
        const int r = threadIdx.x / TILE, c = threadIdx.x % TILE;
        const int k = (r + AROUND) * SPAN + c + AROUND;
        const long long at = (row + r) * m.columns + column + c;
        const unsigned kind = t.kind[k], guess = make_flows(m, t, k);
        if (guess != kind / SCIDDICAT_GUESS) {
            /* A block beside may read either guess: both are good. */
            m.kind[at] = (unsigned char)(kind % SCIDDICAT_GUESS + guess * SCIDDICAT_GUESS);
        }
        if (threadIdx.x < RING) {
            (void)make_flows(m, t, ring_cell(threadIdx.x));
        }
        __syncthreads();
        cell_result result = {false, false};
        if (sciddicat_inside(m, row + r, column + c)) {
            result = update(m, t, k, at, h_to, step + 1);
        }
        list_next(m, lists, tile, result, next, lists.tile[next % 2], &lists.n[next % 3]);
        if (__syncthreads_or(result.changed) != 0 && threadIdx.x == 0 && tile >= m.first_owned &&
            tile < m.last_owned) {
            m.progress->moved_at = step + 1;
        }
    }
}

/* Hot tiles and those beside them, for `step`. */
__global__ void list_hot(sciddicat_map m, sciddicat_lists lists, unsigned step)
{
    const long long tile = m.first_tile + blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (tile >= m.last_tile || m.hot[tile] == 0) {
        return;
    }
    int *list = lists.tile[step % 2];
    unsigned *n = &lists.n[step % 3];
    enlist(lists, (int)tile, step, list, n);
    for (int side = 0; side < SIDES; side++) {
        const int beside = sciddicat_tile_beside(m, (int)tile, side);
        if (beside >= 0) {
            enlist(lists, beside, step, list, n);
        }
    }
}

/* A block a tile of the ghost rows that begin with row `first`, a thread a cell. */
__global__ void __launch_bounds__(THREADS)
    set_ghost(sciddicat_map m, sciddicat_lists lists, double *h0, double *h1, long long first,
              const double *from, unsigned step)
{
    const int tile = (int)(first / TILE) * m.tile_columns + (int)blockIdx.x;
    const long long i = threadIdx.x / TILE, j = blockIdx.x * (long long)TILE + threadIdx.x % TILE;
    cell_result result = {false, false};
    if (j < m.columns) {
        const long long at = (first + i) * m.columns + j;
        const double h = from[i * m.columns + j];
        h0[at] = h1[at] = h;
        result.active = (m.kind[at] & SCIDDICAT_LIVE) != 0 && h > m.epsilon;
    }
    list_next(m, lists, tile, result, step, lists.tile[step % 2], &lists.n[step % 3]);
}

__device__ __forceinline__ void count_tile(const sciddicat_map &m, int tile, int last_group,
                                           unsigned *busy)
{
    if (tile >= m.first_owned && tile < m.last_owned) {
        const int group = min(tile / m.tile_columns, last_group);
        atomicAdd(&busy[1 + group - m.first_owned / m.tile_columns], 1u);
    }
}

/* A thread a tile, of those listed for `step`, or of those that are hot; n: of the former, NULL:
 * the latter. */
__global__ void count_busy(sciddicat_map m, const int *list, const unsigned *n,
                           unsigned long long step, int last_group, unsigned *busy)
{
    const unsigned threads = gridDim.x * blockDim.x;
    const unsigned first = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned l = first; n != nullptr && l < *n; l += threads) {
        count_tile(m, list[l], last_group, busy);
    }
    for (unsigned t = first; n == nullptr && t < (unsigned)m.last_owned; t += threads) {
        if (m.hot[t] != 0) {
            count_tile(m, (int)t, last_group, busy);
        }
    }
    if (first == 0) {
        busy[0] = step > 0 && m.progress->moved_at == step;
    }
}

} // namespace

enum status cuda_sciddicat_enlist(const struct sciddicat_map *m,
                                  const struct sciddicat_lists *lists, uint64_t step,
                                  cudaStream_t stream)
{
    const size_t tiles = (size_t)m->tile_rows * (size_t)m->tile_columns;
    CUDA_TRY(cudaMemsetAsync(lists->n, 0, 3 * sizeof *lists->n, stream), "lists of tiles");
    /* No step has this number: the lists begin at step 0 at the earliest. */
    CUDA_TRY(cudaMemsetAsync(lists->listed_for, 0xff, tiles * sizeof *lists->listed_for, stream),
             "lists of tiles");
    const size_t n = (size_t)(m->last_tile - m->first_tile);
    list_hot<<<(unsigned)cuda_pieces(n, 256), 256, 0, stream>>>(*m, *lists, (unsigned)step);
    return cuda_launched("lists of tiles");
}

enum status cuda_sciddicat_sweep(const struct sciddicat_map *m, const struct sciddicat_lists *lists,
                                 double *const h[2], uint64_t step, unsigned n_blocks,
                                 cudaStream_t stream)
{
    sweep<<<n_blocks, THREADS, 0, stream>>>(*m, *lists, h[step % 2], h[(step + 1) % 2], step);
    return cuda_launched("a step of the automaton");
}

enum status cuda_sciddicat_ghost(const struct sciddicat_map *m, const struct sciddicat_lists *lists,
                                 double *const h[2], size_t first, const double *from,
                                 uint64_t step, cudaStream_t stream)
{
    set_ghost<<<(unsigned)m->tile_columns, THREADS, 0, stream>>>(
        *m, *lists, h[0], h[1], (long long)first, from, (unsigned)step);
    return cuda_launched("ghost rows of the automaton");
}

enum status cuda_sciddicat_busy(const struct sciddicat_map *m, const struct sciddicat_lists *lists,
                                uint64_t step, unsigned *busy, cudaStream_t stream)
{
    const size_t groups = sciddicat_n_groups((size_t)m->rows);
    const size_t n = (size_t)(m->last_owned - m->first_owned);
    CUDA_TRY(cudaMemsetAsync(busy, 0, (1 + groups) * sizeof *busy, stream), "busy tiles");
    count_busy<<<(unsigned)cuda_min(cuda_pieces(n, 256), 1024), 256, 0, stream>>>(
        *m, lists != nullptr ? lists->tile[step % 2] : nullptr,
        lists != nullptr ? &lists->n[step % 3] : nullptr, step, (int)groups - 1, busy);
    return cuda_launched("busy tiles");
}
