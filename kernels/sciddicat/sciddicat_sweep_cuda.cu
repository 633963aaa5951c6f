/*
 * sciddicat_sweep_cuda - maps of any size: every step is one kernel over a list of tiles.
 *
 * Mapping: a block of two warps takes tiles of the list in turn, four rows at a time, a thread a
 * cell. It reads the tile with the two cells around it, makes the flows of the tile's cells and of
 * those that border on it (which the neighbours make too: 64 beside 256, instead of a second
 * kernel), and writes the tile's new h into the other copy of the map. Flows whose guess is sure,
 * all but one in some hundred, are made without branches, two cells side by side; the others
 * follow.
 *
 * Lists: a tile that holds a cell that can emit, or whose h changed, visits itself again; one with
 * such a cell at an edge also its neighbour there. So a tile that is left out has the same h in
 * both copies, and no flow enters it.
 *
 * Bytes: some 33 a cell of the tiles listed. A step costs a launch, some 3 us, until the list fills
 * the device (about 500 tiles).
 */
#include "kernels/sciddicat/sciddicat_cuda.h"

namespace
{

const int TILE = SCIDDICAT_TILE, AROUND = 2, SPAN = TILE + 2 * AROUND;
const int CELLS = SCIDDICAT_TILE_CELLS, BORDER = 4 * TILE, SEEN = CELLS + BORDER;
/* A round takes so many rows. One round takes the border. */
const int THREADS = BORDER, ROWS = THREADS / TILE, ROUNDS = CELLS / THREADS;
const unsigned BLOCKS = 12;   /* of a multiprocessor, where its shared memory holds them */
const int STEP = ROWS * SPAN; /* from round to round in the span */
/* Of what lies outside, which no cell of the map has. */
const unsigned OUTSIDE = SCIDDICAT_RING;
/* What a tile makes the next step visit: those beside it, by side, and itself. */
enum { VISIT_SELF = 1 << SIDES, VISITS = SIDES + 1 };

/* Cells of the tile, then those of the border: north, south, west, east. */
struct tile_memory {
    double level[SPAN * SPAN]; /* z + h */
    double h[SEEN], z[SEEN];
    /* row r: at r; at r + 1; column c: at c; at c + 1 */
    double to_north[(TILE + 1) * TILE], to_south[(TILE + 1) * TILE];
    double to_west[TILE * (TILE + 1)], to_east[TILE * (TILE + 1)];
    double share[SCIDDICAT_SEEN + 1][2]; /* 1 / n and n */
    unsigned char kind[SPAN * SPAN];
    unsigned visits; /* what the tile makes the next step visit */
};

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

/* The k-th of the cells around the tile that are `by` from it; then the corners. */
__device__ __forceinline__ place around(int k, int by)
{
    const int along = k % TILE, last = TILE - 1 + by, side = k / TILE;
    if (side == SIDES) {
        return {along / 2 * (TILE + 1) - 1, along % 2 * (TILE + 1) - 1};
    }
    return side < 2 ? place{side == 0 ? -by : last, along} : place{along, side == 2 ? -by : last};
}

/* The thread's cell of the first round. */
__device__ __forceinline__ place own_place()
{
    return {(int)threadIdx.x / TILE, (int)threadIdx.x % TILE};
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

/* Where the cell is in the map; -1: nowhere. */
__device__ __forceinline__ long long find(const sciddicat_map &m, place first, place p)
{
    const int i = first.row + p.row, j = first.column + p.column, top = (int)m.top;
    const bool inside = (unsigned)(i - top) < (unsigned)((int)m.bottom - top) &&
                        (unsigned)j < (unsigned)(int)m.columns;
    return inside ? (long long)i * (int)m.columns + j : -1;
}

/* What is read of a cell; of nowhere: OUTSIDE. */
struct reading {
    double h, z;
    unsigned kind;
    __device__ __forceinline__ reading(const sciddicat_map &m, const double *h_from, long long at,
                                       bool inside)
        : h(0), z(0), kind(OUTSIDE)
    {
        if (inside) {
            h = h_from[at];
            z = m.z[at];
            kind = m.kind[at];
        }
    }
    __device__ __forceinline__ void keep(tile_memory &t, int k) const
    {
        t.level[k] = __dadd_rn(z, h);
        t.kind[k] = (unsigned char)kind;
    }
};

/* The k-th of the cells around the tile, `by` from it. */
__device__ __forceinline__ reading read_around(const sciddicat_map &m, const double *h, place first,
                                               int k, int by)
{
    const long long at = find(m, first, around(k, by));
    return {m, h, at, at >= 0};
}

/* The thread's cells of the tile: one a round. */
struct column {
    int row, rows;      /* the first, of so many that a step looks at */
    long long at, step; /* in the map */
    bool inside;
    __device__ __forceinline__ column(const sciddicat_map &m, place first)
        : row(first.row + (int)threadIdx.x / TILE - (int)m.top), rows((int)m.bottom - (int)m.top),
          step(ROWS * m.columns)
    {
        const int j = first.column + (int)threadIdx.x % TILE;
        at = (long long)(row + (int)m.top) * (int)m.columns + j;
        inside = j < (int)m.columns;
    }
    __device__ __forceinline__ bool has(int n) const
    {
        return inside && (unsigned)(row + ROWS * n) < (unsigned)rows;
    }
};

__device__ __forceinline__ void read_tile(const sciddicat_map &m, tile_memory &t, const double *h,
                                          place first)
{
    const int x = (int)threadIdx.x, k = own_place().in_span();
    const column own(m, first);
    const reading of[ROUNDS] = {{m, h, own.at, own.has(0)},
                                {m, h, own.at + own.step, own.has(1)},
                                {m, h, own.at + 2 * own.step, own.has(2)},
                                {m, h, own.at + 3 * own.step, own.has(3)}};
    const reading near = read_around(m, h, first, x, 1), far = read_around(m, h, first, x, 2);
#pragma unroll
    for (int n = 0; n < ROUNDS; n++) {
        of[n].keep(t, k + n * STEP);
        t.h[x + n * THREADS] = of[n].h;
        t.z[x + n * THREADS] = of[n].z;
    }
    near.keep(t, around(x, 1).in_span());
    far.keep(t, around(x, 2).in_span());
    t.h[CELLS + x] = near.h;
    t.z[CELLS + x] = near.z;
    if (x < 4) {
        read_around(m, h, first, BORDER + x, 1).keep(t, around(BORDER + x, 1).in_span());
    }
}

/* What is known of the x-th cell, at k of the span. */
struct cell {
    double h, u[SCIDDICAT_SEEN];
    unsigned kind;
    bool emits;
};

__device__ __forceinline__ cell look_at(const sciddicat_map &m, const tile_memory &t, int x, int k)
{
    cell c;
    c.h = t.h[x];
    c.kind = t.kind[k];
    c.emits = (c.kind & SCIDDICAT_LIVE) != 0 && c.h > m.epsilon;
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

/* A cell's flows if they are sure, and if it has any. True when they are left to be made. */
__device__ __forceinline__ bool make_sure(const sciddicat_map &m, const tile_memory &t,
                                          const cell &c, double *flow)
{
    const unsigned guess = c.kind / SCIDDICAT_GUESS;
    const bool sure = sciddicat_flows_if_sure(__dsub_rn(c.h, m.epsilon), c.u, m.r, guess,
                                              t.share[__popc(guess)], flow) &&
                      !m.walls;
#pragma unroll
    for (int n = 0; n < SIDES; n++) {
        flow[n] = c.emits ? flow[n] : 0;
    }
    return c.emits && !sure;
}

/* Those of any cell. */
__device__ __forceinline__ void make_others(const sciddicat_map &m, tile_memory &t, int x, int k,
                                            long long at)
{
    const int beside[SIDES] = {k - SPAN, k - 1, k + 1, k + SPAN};
    const cell c = look_at(m, t, x, k);
    unsigned guess = c.kind / SCIDDICAT_GUESS, accepts = SCIDDICAT_ALL;
    double flow[SIDES];
    if (m.walls) {
#pragma unroll
        for (int n = 0; n < SIDES; n++) {
            accepts &= ~((unsigned)((t.kind[beside[n]] & SCIDDICAT_ACCEPTS) == 0) << (n + 1));
        }
    }
    sciddicat_flows_from(__dsub_rn(c.h, m.epsilon), c.u, m.r, accepts, &guess, flow);
    if (x >= CELLS) {
        put_border(t, x - CELLS, flow);
        return;
    }
    put_own(t, x, x / TILE, flow);
    if (guess != c.kind / SCIDDICAT_GUESS) {
        /* A warp beside may read either guess: both are good. */
        m.kind[at] = (unsigned char)(c.kind % SCIDDICAT_GUESS + guess * SCIDDICAT_GUESS);
    }
}

/* The sure ones of all cells; bit n: those of the n-th round are left, the last of the border. */
__device__ __forceinline__ unsigned make_all_sure(const sciddicat_map &m, tile_memory &t)
{
    const int x = (int)threadIdx.x;
    double flow[2][SIDES];
    unsigned left = 0;
#pragma unroll 1
    for (int n = 0; n < ROUNDS; n += 2) {
        const int at = x + n * THREADS, k = own_place().in_span() + n * STEP;
        const cell c[2] = {look_at(m, t, at, k), look_at(m, t, at + THREADS, k + STEP)};
        const bool l0 = make_sure(m, t, c[0], flow[0]), l1 = make_sure(m, t, c[1], flow[1]);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            put_own(t, at + i * THREADS, own_place().row + (n + i) * ROWS, flow[i]);
        }
        left |= ((unsigned)l0 | (unsigned)l1 << 1) << n;
    }
    const cell c = look_at(m, t, CELLS + x, around(x, 1).in_span());
    left |= (unsigned)make_sure(m, t, c, flow[0]) << ROUNDS;
    put_border(t, x, flow[0]);
    return left;
}

/* All flows that the tile's cells give or get. */
__device__ __forceinline__ void make_flows(const sciddicat_map &m, tile_memory &t, place first)
{
    const int x = (int)threadIdx.x;
    for (unsigned left = make_all_sure(m, t); left != 0; left &= left - 1) {
        const int n = __ffs((int)left) - 1;
        const place p =
            n < ROUNDS ? place{own_place().row + n * ROWS, own_place().column} : around(x, 1);
        make_others(m, t, x + n * THREADS, p.in_span(), find(m, first, p));
    }
}

struct cell_result {
    bool changed, active;
};

/* The new h of the n-th of the thread's cells; most: its max_h. */
__device__ __forceinline__ cell_result update(const sciddicat_map &m, const tile_memory &t, int n,
                                              long long at, bool inside, double most, double *h,
                                              int step)
{
    const int x = (int)threadIdx.x + n * THREADS, y = x + own_place().row + n * ROWS;
    const unsigned kind = t.kind[own_place().in_span() + n * STEP];
    const double in[SIDES] = {t.to_south[x], t.to_east[y], t.to_west[y + 1], t.to_north[x + TILE]};
    if ((kind & SCIDDICAT_LIVE) == 0) {
        if (inside && (in[0] > 0 || in[1] > 0 || in[2] > 0 || in[3] > 0)) {
            m.max_h[at] = sciddicat_received(most, in);
        }
        return {false, false};
    }
    const double out[SIDES] = {t.to_north[x], t.to_west[y], t.to_east[y + 1], t.to_south[x + TILE]};
    const double before = t.h[x], now = sciddicat_thickness(before, in, out);
    h[at] = now;
    if (now > before && now > most) {
        m.max_h[at] = now;
    }
    if (now > m.epsilon && !(before > m.epsilon) && m.arrival[at] < 0) {
        m.arrival[at] = step;
    }
    return {now != before, now > m.epsilon};
}

/* What the cells of a warp, of two rows or more, make the next step visit; top, bottom: active ones
 * of the tile's first and last rows. */
__device__ __forceinline__ unsigned visits_of(cell_result any, bool top, bool bottom)
{
    const unsigned active = __ballot_sync(0xffffffffu, any.active);
    unsigned visits = __any_sync(0xffffffffu, any.active || any.changed) ? VISIT_SELF : 0;
    visits |= __any_sync(0xffffffffu, top) ? 1u << SIDE_NORTH : 0;
    visits |= __any_sync(0xffffffffu, bottom) ? 1u << SIDE_SOUTH : 0;
    visits |= (active & 0x00010001u) != 0 ? 1u << SIDE_WEST : 0;
    visits |= (active & 0x80008000u) != 0 ? 1u << SIDE_EAST : 0;
    return visits;
}

/* The n-th tile to visit for those reasons, or -1. The outermost ghost rows, other than a map's
 * ring, may have active cells. */
__device__ __forceinline__ int visit_of(const sciddicat_map &m, int tile, unsigned visits, int n)
{
    const int to = n < SIDES ? sciddicat_tile_beside(m, tile, n) : tile;
    return n < VISITS && (visits >> n & 1) != 0 ? to : -1;
}

/* All cells of the tile, and what the next step is to visit for them. Whether one's h changed. */
__device__ __forceinline__ bool update_tile(const sciddicat_map &m, tile_memory &t, place first,
                                            double *h, int step)
{
    const column own(m, first);
    double most[ROUNDS];
    cell_result any = {false, false};
    bool top = false, bottom = false;
#pragma unroll
    for (int n = 0; n < ROUNDS; n++) {
        most[n] = own.has(n) ? m.max_h[own.at + n * own.step] : 0;
    }
#pragma unroll
    for (int n = 0; n < ROUNDS; n++) {
        const cell_result one =
            update(m, t, n, own.at + n * own.step, own.has(n), most[n], h, step);
        any.changed |= one.changed;
        any.active |= one.active;
        top |= n == 0 && threadIdx.x < TILE && one.active;
        bottom |= n == ROUNDS - 1 && threadIdx.x >= THREADS - TILE && one.active;
    }
    const unsigned visits = visits_of(any, top, bottom);
    if (threadIdx.x % 32 == 0 && visits != 0) {
        atomicOr(&t.visits, visits);
    }
    return any.changed;
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

__device__ __forceinline__ void enlist(const step_lists &lists, int visit)
{
    listing l;
    l.begin(lists, visit);
    l.go_on(lists);
    l.end(lists);
}

__global__ void __launch_bounds__(THREADS, BLOCKS)
    sweep(const __grid_constant__ sciddicat_map m, const __grid_constant__ step_lists lists,
          const double *h_from, double *h_to)
{
    __shared__ tile_memory t;
    const unsigned n = *lists.n, x = threadIdx.x;
    if (blockIdx.x == 0 && x == 0) {
        *lists.n_after = 0;
    }
    if (x <= SCIDDICAT_SEEN) {
        t.share[x][0] = x > 0 ? 1.0 / x : 0;
        t.share[x][1] = x;
    }
    bool moved = false;
    listing l = {-1, lists.next};
    int tile = blockIdx.x < n ? lists.list[blockIdx.x] : -1, after;
    for (unsigned at = blockIdx.x; tile >= 0; tile = after) {
        const place first = corner_of(m, tile, lists.inverse);
        at += gridDim.x;
        after = at < n ? lists.list[at] : -1;
        if (x == 0) {
            t.visits = 0;
        }
        read_tile(m, t, h_from, first);
        l.go_on(lists);
        __syncthreads();
        make_flows(m, t, first);
        l.end(lists);
        __syncthreads();
        moved |= update_tile(m, t, first, h_to, (int)lists.next) && tile >= m.first_owned &&
                 tile < m.last_owned;
        __syncthreads();
        l.begin(lists, x < VISITS ? visit_of(m, tile, t.visits, (int)x) : -1);
        __syncwarp();
    }
    l.go_on(lists);
    l.end(lists);
    if (moved) {
        m.progress->moved_at = lists.number;
    }
}

/* Hot tiles and those beside them. */
__global__ void list_hot(sciddicat_map m, step_lists lists)
{
    const long long tile = m.first_tile + blockIdx.x * (long long)blockDim.x + threadIdx.x;
    for (int n = 0; tile < m.last_tile && m.hot[tile] != 0 && n < VISITS; n++) {
        enlist(lists, visit_of(m, (int)tile, ~0u, n));
    }
}

/* A block a tile of the ghost rows that begin with row `first`, a thread a cell. */
__global__ void __launch_bounds__(CELLS) set_ghost(sciddicat_map m, step_lists lists, double *h0,
                                                   double *h1, long long first, const double *from)
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
    const bool top = i == 0 && result.active, bottom = i == TILE - 1 && result.active;
    enlist(lists, visit_of(m, tile, visits_of(result, top, bottom), (int)threadIdx.x % 32));
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

unsigned cuda_sciddicat_sweep_blocks(const struct cuda_backend *b)
{
    const size_t each = sizeof(tile_memory) + b->properties.reservedSharedMemPerBlock;
    return (unsigned)b->properties.multiProcessorCount *
           (unsigned)cuda_min(b->properties.sharedMemPerMultiprocessor / each, BLOCKS);
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
