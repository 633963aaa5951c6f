/*
 * sciddicat_sweep_cuda - maps of any size: every step is one kernel over a list of tiles.
 *
 * Mapping: a block of two warps takes tiles of the list in turn, four rows at a time, a thread a
 * cell. It reads the tile with the two cells around it, makes the flows of the tile's cells and of
 * those that border on it (which the neighbours make too: 64 beside 256, instead of a second
 * kernel), and writes the tile's new h into the other copy of the map. Flows whose guess is sure,
 * all but one in some hundred, are made without branches, two cells side by side; the others
 * follow. Two barriers a tile: what a thread still reads after the second one, nobody else writes
 * before the next first one.
 *
 * Lists: a tile that holds a cell that can emit, or whose h changed, visits itself again; one with
 * such a cell at an edge also its neighbour there. So a tile that is left out has the same h in
 * both copies, and no flow enters it: to visit it would change nothing.
 *
 * Bytes: some 33 a cell of the tiles listed. A step costs a launch, some 3 us, until the list fills
 * the device (about 500 tiles).
 */
#include "kernels/sciddicat/sciddicat_cuda.h"
#include "kernels/sciddicat/sciddicat_list_rule.h"

namespace
{

const int TILE = SCIDDICAT_TILE, AROUND = 2, SPAN = TILE + 2 * AROUND;
const int CELLS = SCIDDICAT_TILE_CELLS, BORDER = 4 * TILE, SEEN = CELLS + BORDER;
/* A round takes so many rows. One round takes the border. */
const int THREADS = BORDER, ROWS = THREADS / TILE, ROUNDS = CELLS / THREADS;
const int STEP = ROWS * SPAN; /* from round to round in the span */
/* What a tile makes the next step visit: those beside it, by side, and itself. CHANGED: some h. */
enum { VISIT_SELF = 1 << SIDES, VISITS = SIDES + 1, CHANGED = 1 << VISITS };

/* h and z: a thread has those of its cells of the tile, then of that of the border. */
struct tile_memory {
    double level[SPAN * SPAN]; /* z + h */
    double h[SEEN], z[SEEN];
    /* row r: at r; at r + 1; column c: at c; at c + 1 */
    double to_north[(TILE + 1) * TILE], to_south[(TILE + 1) * TILE];
    double to_west[TILE * (TILE + 1)], to_east[TILE * (TILE + 1)];
    double share[SCIDDICAT_SEEN + 1][2]; /* 1 / n and n */
    unsigned visits;                     /* of the last tile */
};

static_assert(sizeof(tile_memory) == SCIDDICAT_LIST_BYTES, "what a block takes");

/* The lists as a step sees them: its own, that of the next one, and the number of the one after
 * that, which is to be 0. */
struct step_lists {
    const int *list;
    const unsigned *n;
    int *next_list;
    unsigned *next_n, *n_after, *listed_for;
    unsigned next;             /* the next step */
    unsigned inverse;          /* 2^32 / tile_columns, rounded down */
    unsigned long long number; /* of the next step, however many there have been */
};

step_lists lists_before(const sciddicat_lists &l, uint64_t next, int tile_columns)
{
    return {l.tile[(next + 1) % 2],
            &l.n[(next + 2) % 3],
            l.tile[next % 2],
            &l.n[next % 3],
            &l.n[(next + 1) % 3],
            l.listed_for,
            (unsigned)next,
            0xffffffffu / (unsigned)tile_columns,
            next};
}

/* Where a cell lies, from the first of the tile. */
struct place {
    int row, column;
    __device__ __forceinline__ int in_span() const
    {
        return (row + AROUND) * SPAN + column + AROUND;
    }
};

/* The k-th of the cells that are `by` from the tile: north, south, west, east. */
__device__ __forceinline__ place around(unsigned k, int by)
{
    const int along = (int)(k % TILE), edge = (k & TILE) == 0 ? -by : TILE - 1 + by;
    return (k & 2 * TILE) == 0 ? place{edge, along} : place{along, edge};
}

/* The k-th at its corners. */
__device__ __forceinline__ place corner(unsigned k)
{
    return {(k & 2) == 0 ? -1 : TILE, (k & 1) == 0 ? -1 : TILE};
}

/* What follows from v is made again in every tile: there are too few registers to keep it. */
__device__ __forceinline__ unsigned fresh(unsigned v)
{
    asm volatile("" : "+r"(v));
    return v;
}

/* The thread's cell of the n-th round. */
__device__ __forceinline__ place own_place(unsigned x, int n)
{
    return {(int)(x / TILE) + n * ROWS, (int)(x % TILE)};
}

/* The first cell of a tile. */
__device__ __forceinline__ place corner_of(const sciddicat_map &m, int tile, unsigned inverse)
{
    int row = (int)__umulhi((unsigned)tile, inverse), column = tile - row * m.tile_columns;
    if (column >= m.tile_columns) {
        row++;
        column -= m.tile_columns;
    }
    return {row * TILE, column * TILE};
}

/* Where a cell is in the map, if it is there. */
struct spot {
    unsigned at;
    bool inside;
};

__device__ __forceinline__ spot find(const sciddicat_map &m, place first, place p)
{
    const int i = first.row + p.row, j = first.column + p.column, top = (int)m.top;
    return {(unsigned)i * (unsigned)m.columns + (unsigned)j,
            (unsigned)(i - top) < (unsigned)((int)m.bottom - top) &&
                (unsigned)j < (unsigned)m.columns};
}

/* What is read of a cell; outside: one that never emits. */
struct reading {
    double h, z;
    unsigned kind;
    __device__ __forceinline__ reading(const sciddicat_map &m, const double *h_from, spot s)
        : h(0), z(0), kind(SCIDDICAT_RING)
    {
        if (s.inside) {
            h = h_from[s.at];
            z = m.z[s.at];
            kind = m.kind[s.at];
        }
    }
    __device__ __forceinline__ double level() const
    {
        return __dadd_rn(z, h);
    }
};

/* Of the thread's cells of the tile, a byte a round, and of that of the border. */
struct kinds {
    unsigned own, border;
};

__device__ __forceinline__ kinds read_tile(const sciddicat_map &m, tile_memory &t, const double *h,
                                           place first)
{
    const unsigned x = fresh(threadIdx.x);
    const int k = own_place(x, 0).in_span();
    const reading of[ROUNDS] = {{m, h, find(m, first, own_place(x, 0))},
                                {m, h, find(m, first, own_place(x, 1))},
                                {m, h, find(m, first, own_place(x, 2))},
                                {m, h, find(m, first, own_place(x, 3))}};
    const reading near = {m, h, find(m, first, around(x, 1))};
    const reading far = {m, h, find(m, first, around(x, 2))};
    const spot at = find(m, first, corner(x));
    const reading last = {m, h, {at.at, at.inside && x < 4}};
    kinds result = {0, near.kind};
#pragma unroll
    for (int n = 0; n < ROUNDS; n++) {
        t.level[k + n * STEP] = of[n].level();
        t.h[x + n * THREADS] = of[n].h;
        t.z[x + n * THREADS] = of[n].z;
        result.own |= of[n].kind << 8 * n;
    }
    t.level[around(x, 1).in_span()] = near.level();
    t.level[around(x, 2).in_span()] = far.level();
    t.h[CELLS + x] = near.h;
    t.z[CELLS + x] = near.z;
    if (x < 4) {
        t.level[corner(x).in_span()] = last.level();
    }
    return result;
}

/* Brings a tile to the L2 cache: a thread a quarter of a row. */
__device__ __forceinline__ void prefetch_tile(const sciddicat_map &m, const double *h, place first)
{
    const unsigned x = fresh(threadIdx.x);
    const spot s = find(m, first, {(int)(x / 4), (int)(x % 4 * 4)});
    const void *const from[] = {h + s.at, m.z + s.at, m.max_h + s.at, m.kind + s.at};
#pragma unroll
    for (int n = 0; n < 4 && s.inside; n++) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(from[n]));
    }
}

/* max_h of the thread's cells; outside: never exceeded. */
__device__ __forceinline__ void read_largest(const sciddicat_map &m, place first, double *most)
{
    const unsigned x = fresh(threadIdx.x);
#pragma unroll
    for (int n = 0; n < ROUNDS; n++) {
        const spot s = find(m, first, own_place(x, n));
        most[n] = s.inside ? m.max_h[s.at] : HUGE_VAL;
    }
}

/* What is known of the x-th cell, at k of the span. */
struct cell {
    double h, u[SCIDDICAT_SEEN];
    unsigned guess; /* 0 where it does not emit */
    bool emits;
};

__device__ __forceinline__ cell look_at(const sciddicat_map &m, const tile_memory &t, int x, int k,
                                        unsigned kind)
{
    cell c;
    c.h = t.h[x];
    c.emits = (kind & SCIDDICAT_LIVE) != 0 && c.h > m.epsilon;
    c.guess = c.emits ? (kind & 0xff) / SCIDDICAT_GUESS : 0;
    c.u[0] = __dadd_rn(t.z[x], m.epsilon);
    c.u[1] = t.level[k - SPAN];
    c.u[2] = t.level[k - 1];
    c.u[3] = t.level[k + 1];
    c.u[4] = t.level[k + SPAN];
    return c;
}

/* Flows of the x-th cell, of the tile, to where its neighbours look for them. */
__device__ __forceinline__ void put_own(tile_memory &t, int x, int row, const double *flow)
{
    t.to_north[x] = flow[SIDE_NORTH];
    t.to_south[x + TILE] = flow[SIDE_SOUTH];
    t.to_west[x + row] = flow[SIDE_WEST];
    t.to_east[x + row + 1] = flow[SIDE_EAST];
}

/* Of the x-th cell of the border what flows into the tile. */
__device__ __forceinline__ void put_border(tile_memory &t, int x, const double *flow)
{
    const int along = x % TILE;
    switch (x / TILE) {
    case 0:
        t.to_south[along] = flow[SIDE_SOUTH];
        break;
    case 1:
        t.to_north[CELLS + along] = flow[SIDE_NORTH];
        break;
    case 2:
        t.to_east[along * (TILE + 1)] = flow[SIDE_EAST];
        break;
    default:
        t.to_west[along * (TILE + 1) + TILE] = flow[SIDE_WEST];
    }
}

/* A cell's flows from a guess. Are they sure? */
__device__ __forceinline__ bool make_if_sure(const sciddicat_map &m, const tile_memory &t,
                                             const cell &c, unsigned guess, double *flow,
                                             unsigned *lower)
{
    return sciddicat_flows_if_sure(__dsub_rn(c.h, m.epsilon), c.u, m.r, guess,
                                   t.share[__popc(guess)], flow, lower);
}

/* Those of any cell. Where its guess is not sure, that which follows from it mostly is. */
__device__ __forceinline__ void make_others(const sciddicat_map &m, tile_memory &t, int x, int k,
                                            unsigned kind, spot s)
{
    const cell c = look_at(m, t, x, k, kind);
    unsigned guess = 0, next = c.guess != 0 ? c.guess : sciddicat_lowest(c.u), accepts = 0;
    double flow[SIDES];
    bool sure = false;
#pragma unroll 1
    for (int tries = 2; tries > 0 && !sure && next != 0; tries--) {
        guess = next;
        sure = make_if_sure(m, t, c, guess, flow, &next);
    }
    if (!sure) {
#pragma unroll
        for (int n = 0; n < SCIDDICAT_SEEN; n++) {
            accepts |= (unsigned)(c.u[n] < HUGE_VAL) << n;
        }
        guess = c.guess;
        sciddicat_flows_from(__dsub_rn(c.h, m.epsilon), c.u, m.r, accepts, &guess, flow);
    }
    if (x >= CELLS) {
        put_border(t, x - CELLS, flow);
        return;
    }
    put_own(t, x, x / TILE, flow);
    if (guess != c.guess) {
        /* A warp beside may read either guess: both are good. */
        m.kind[s.at] = (unsigned char)(kind % SCIDDICAT_GUESS + guess * SCIDDICAT_GUESS);
    }
}

/* The sure ones of all cells; bit n: those of the n-th round are left, the last of the border. */
__device__ __forceinline__ unsigned make_all_sure(const sciddicat_map &m, tile_memory &t,
                                                  kinds kind)
{
    const unsigned x = fresh(threadIdx.x);
    double flow[2][SIDES];
    unsigned left = 0, lower;
#pragma unroll 1
    for (int n = 0; n < ROUNDS; n += 2) {
        const int at = x + n * THREADS, k = own_place(x, n).in_span();
        const cell c[2] = {look_at(m, t, at, k, kind.own >> 8 * n),
                           look_at(m, t, at + THREADS, k + STEP, kind.own >> (8 * n + 8))};
        const bool sure[2] = {make_if_sure(m, t, c[0], c[0].guess, flow[0], &lower),
                              make_if_sure(m, t, c[1], c[1].guess, flow[1], &lower)};
#pragma unroll
        for (int i = 0; i < 2; i++) {
            put_own(t, at + i * THREADS, own_place(x, n + i).row, flow[i]);
            left |= (unsigned)(c[i].emits && !sure[i]) << (n + i);
        }
    }
    const cell c = look_at(m, t, CELLS + x, around(x, 1).in_span(), kind.border);
    const bool sure = make_if_sure(m, t, c, c.guess, flow[0], &lower);
    left |= (unsigned)(c.emits && !sure) << ROUNDS;
    put_border(t, x, flow[0]);
    return left;
}

/* The rest of the flows that the tile's cells give or get. */
__device__ __forceinline__ void make_all_others(const sciddicat_map &m, tile_memory &t, kinds kind,
                                                place first, unsigned left)
{
    const unsigned x = fresh(threadIdx.x);
    for (; left != 0; left &= left - 1) {
        const int n = __ffs((int)left) - 1;
        const place p = n < ROUNDS ? own_place(x, n) : around(x, 1);
        make_others(m, t, x + n * THREADS, p.in_span(),
                    n < ROUNDS ? kind.own >> 8 * n & 0xff : kind.border, find(m, first, p));
    }
}

/* Of a lane's cells some h has changed, one is active, one of the first or of the last row is. */
enum { MOVES = 1, ACTIVE = 2, TOP = 4, BOTTOM = 8 };

/* The new h of the n-th of the thread's cells; base: its h, or what has flowed into it. */
__device__ __forceinline__ double new_h(const tile_memory &t, unsigned first_x, int n, double base)
{
    const unsigned x = first_x + n * THREADS, y = x + first_x / TILE + n * ROWS;
    const double in[SIDES] = {t.to_south[x], t.to_east[y], t.to_west[y + 1], t.to_north[x + TILE]};
    const double out[SIDES] = {t.to_north[x], t.to_west[y], t.to_east[y + 1], t.to_south[x + TILE]};
    return sciddicat_thickness(base, in, out);
}

/* What the cells of a warp, of two rows or more, make the next step visit. */
__device__ __forceinline__ unsigned visits_of(unsigned any)
{
    const unsigned active = __ballot_sync(0xffffffffu, (any & ACTIVE) != 0);
    const unsigned of_all = __reduce_or_sync(0xffffffffu, any);
    return (of_all != 0 ? VISIT_SELF : 0) | ((of_all & MOVES) != 0 ? CHANGED : 0) |
           ((of_all & TOP) != 0 ? 1u << SIDE_NORTH : 0) |
           ((of_all & BOTTOM) != 0 ? 1u << SIDE_SOUTH : 0) |
           ((active & 0x00010001u) != 0 ? 1u << SIDE_WEST : 0) |
           ((active & 0x80008000u) != 0 ? 1u << SIDE_EAST : 0);
}

/* The n-th tile to visit for those reasons, or -1. The outermost ghost rows, other than a map's
 * ring, may have active cells. */
__device__ __forceinline__ int visit_of(const sciddicat_map &m, int tile, int column,
                                        unsigned visits, int n)
{
    return n < VISITS && (visits >> n & 1) != 0 ? sciddicat_tile_beside(m, tile, column, n) : -1;
}

/* All cells of the tile, and what the next step is to visit for them. */
__device__ __forceinline__ void update_tile(const sciddicat_map &m, tile_memory &t, kinds kind,
                                            const double *most, place first, double *h_to, int step)
{
    const unsigned x = fresh(threadIdx.x);
    double before[ROUNDS], now[ROUNDS];
    unsigned any = 0;
#pragma unroll
    for (int n = 0; n < ROUNDS; n++) {
        const bool live = (kind.own >> 8 * n & SCIDDICAT_LIVE) != 0;
        before[n] = t.h[x + n * THREADS];
        now[n] = new_h(t, x, n, live ? before[n] : most[n]);
    }
#pragma unroll
    for (int n = 0; n < ROUNDS; n++) {
        const unsigned at = find(m, first, own_place(x, n)).at;
        const bool live = (kind.own >> 8 * n & SCIDDICAT_LIVE) != 0;
        const bool active = live && now[n] > m.epsilon;
        if (live) {
            h_to[at] = now[n];
        }
        if (now[n] > most[n]) {
            m.max_h[at] = now[n];
        }
        if (active && !(before[n] > m.epsilon) && m.arrival[at] < 0) {
            m.arrival[at] = step;
        }
        any |= live && now[n] != before[n] ? MOVES : 0;
        any |= active ? ACTIVE : 0;
        any |= n == 0 && active && x < TILE ? TOP : 0;
        any |= n == ROUNDS - 1 && active && x >= THREADS - TILE ? BOTTOM : 0;
    }
    const unsigned visits = visits_of(any);
    if (x % 32 == 0 && visits != 0) {
        atomicOr(&t.visits, visits);
    }
}

/* A lane's tile on its way into the next list, in parts, since each waits for memory: begin() asks
 * whether it is there, go_on() for a place, end() puts it there. */
struct listing {
    int tile;
    unsigned state;
    __device__ __forceinline__ void begin(const step_lists &lists, int visit)
    {
        tile = visit;
        state = tile >= 0 ? atomicExch(&lists.listed_for[tile], lists.next) : lists.next;
    }
    __device__ __forceinline__ void go_on(const step_lists &lists)
    {
        tile = state != lists.next ? tile : -1;
        if (tile >= 0) {
            state = atomicAdd(lists.next_n, 1u);
        }
    }
    __device__ __forceinline__ void end(const step_lists &lists) const
    {
        if (tile >= 0) {
            lists.next_list[state] = tile;
        }
    }
};

/* Of the first warp: begins to list what the last tile (-1: none) makes the next step visit. Has
 * some h of it changed that the run owns? */
__device__ __forceinline__ bool begin_visits(const sciddicat_map &m, tile_memory &t,
                                             const step_lists &lists, int tile, listing *l)
{
    const unsigned visits = t.visits;
    __syncwarp();
    if (threadIdx.x == 0) {
        t.visits = 0;
    }
    const int column = corner_of(m, tile, lists.inverse).column / TILE;
    l->begin(lists, tile >= 0 ? visit_of(m, tile, column, visits, (int)threadIdx.x) : -1);
    return (visits & CHANGED) != 0 && tile >= m.first_owned && tile < m.last_owned;
}

__device__ __forceinline__ void enlist(const step_lists &lists, int visit)
{
    listing l;
    l.begin(lists, visit);
    l.go_on(lists);
    l.end(lists);
}

/* A list is in no order. Where it has nearly all tiles, all are visited, in the map's, so that what
 * a tile reads of those beside it is in the cache: one that is not listed comes out as it is. */
__device__ __forceinline__ int tile_at(const sciddicat_map &m, const step_lists &lists, unsigned at,
                                       bool all)
{
    return all ? m.first_tile + (int)at : lists.list[at];
}

__global__ void __launch_bounds__(THREADS, SCIDDICAT_LIST_BLOCKS)
    sweep(const __grid_constant__ sciddicat_map m, const __grid_constant__ step_lists lists,
          const double *h_from, double *h_to)
{
    __shared__ tile_memory t;
    const unsigned n = *lists.n, tiles = (unsigned)(m.last_tile - m.first_tile), x = threadIdx.x;
    const bool all = n > tiles - tiles / 8;
    const unsigned end = all ? tiles : n;
    if (blockIdx.x == 0 && x == 0) {
        *lists.n_after = 0;
    }
    if (x <= SCIDDICAT_SEEN) {
        t.share[x][0] = x > 0 ? 1.0 / x : 0;
        t.share[x][1] = x;
    }
    if (x == 0) {
        t.visits = 0;
    }
    bool moved = false;
    listing l = {-1, lists.next};
    int tile = blockIdx.x < end ? tile_at(m, lists, blockIdx.x, all) : -1, before = -1;
    for (unsigned at = blockIdx.x + gridDim.x; tile >= 0; at += gridDim.x) {
        const place first = corner_of(m, tile, lists.inverse);
        const int after = at < end ? tile_at(m, lists, at, all) : -1;
        const kinds kind = read_tile(m, t, h_from, first);
        __syncthreads();
        if (x < 32) {
            moved |= begin_visits(m, t, lists, before, &l);
        }
        if (after >= 0) {
            prefetch_tile(m, h_from, corner_of(m, after, lists.inverse));
        }
        const unsigned left = make_all_sure(m, t, kind);
        l.go_on(lists);
        double most[ROUNDS];
        read_largest(m, first, most);
        make_all_others(m, t, kind, first, left);
        l.end(lists);
        __syncthreads();
        update_tile(m, t, kind, most, first, h_to, (int)lists.next);
        before = tile;
        tile = after;
    }
    __syncthreads();
    if (x < 32) {
        moved |= begin_visits(m, t, lists, before, &l);
        l.go_on(lists);
        l.end(lists);
        if (moved) {
            m.progress->moved_at = lists.number;
        }
    }
}

/* Hot tiles and those beside them. */
__global__ void list_hot(sciddicat_map m, step_lists lists)
{
    const long long tile = m.first_tile + blockIdx.x * (long long)blockDim.x + threadIdx.x;
    for (int n = 0; tile < m.last_tile && m.hot[tile] != 0 && n < VISITS; n++) {
        enlist(lists, visit_of(m, (int)tile, (int)(tile % m.tile_columns), ~0u, n));
    }
}

/* A block a tile of the ghost rows that begin with row `first`, a thread a cell. */
__global__ void __launch_bounds__(CELLS) set_ghost(sciddicat_map m, step_lists lists, double *h0,
                                                   double *h1, long long first, const double *from)
{
    const int tile = (int)(first / TILE) * m.tile_columns + (int)blockIdx.x;
    const long long i = threadIdx.x / TILE, j = blockIdx.x * (long long)TILE + threadIdx.x % TILE;
    unsigned any = 0;
    if (j < m.columns) {
        const long long at = (first + i) * m.columns + j;
        const double h = from[i * m.columns + j];
        h0[at] = h1[at] = h;
        any = (m.kind[at] & SCIDDICAT_LIVE) == 0 || !(h > m.epsilon)
                  ? 0
                  : ACTIVE | (i == 0 ? TOP : 0) | (i == TILE - 1 ? BOTTOM : 0);
    }
    enlist(lists, visit_of(m, tile, (int)blockIdx.x, visits_of(any), (int)threadIdx.x % 32));
}

/* A thread a tile, of those listed for `step`, or of those that are hot; n: of the former, NULL:
 * the latter. */
__global__ void count_busy(sciddicat_map m, const int *list, const unsigned *n,
                           unsigned long long step, int last_group, unsigned *busy)
{
    const unsigned threads = gridDim.x * blockDim.x;
    const unsigned first = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned end = n != nullptr ? *n : (unsigned)m.last_owned;
    for (unsigned k = first; k < end; k += threads) {
        const int tile = n != nullptr ? list[k] : (int)k;
        if (tile >= m.first_owned && tile < m.last_owned && (n != nullptr || m.hot[tile] != 0)) {
            const int group = min(tile / m.tile_columns, last_group);
            atomicAdd(&busy[1 + group - m.first_owned / m.tile_columns], 1u);
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
    list_hot<<<(unsigned)cuda_pieces(n, 256), 256, 0, stream>>>(
        *m, lists_before(*lists, step, m->tile_columns));
    return cuda_launched("lists of tiles");
}

enum status cuda_sciddicat_sweep(const struct sciddicat_map *m, const struct sciddicat_lists *lists,
                                 double *const h[2], uint64_t step, unsigned n_blocks,
                                 cudaStream_t stream)
{
    const step_lists l = lists_before(*lists, step + 1, m->tile_columns);
    sweep<<<n_blocks, THREADS, 0, stream>>>(*m, l, h[step % 2], h[(step + 1) % 2]);
    return cuda_launched("a step of the automaton");
}

enum status cuda_sciddicat_ghost(const struct sciddicat_map *m, const struct sciddicat_lists *lists,
                                 double *const h[2], size_t first, const double *from,
                                 uint64_t step, cudaStream_t stream)
{
    set_ghost<<<(unsigned)m->tile_columns, CELLS, 0, stream>>>(
        *m, lists_before(*lists, step, m->tile_columns), h[0], h[1], (long long)first, from);
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
