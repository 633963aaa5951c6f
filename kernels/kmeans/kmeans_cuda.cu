/*
 * kmeans_cuda - passes over the points: assign, label, farthest, draw.
 *
 * Mapping: a warp takes 32 points at a time, a lane a point: its distances to all centroids, eight
 * of them at a time in registers; or 64, a lane two, where four such blocks fit a multiprocessor
 * (short rows): a centroid that is read serves both. Then the lanes turn to columns: `group` lanes
 * (the columns rounded up to a power of two, at most a warp) take a point's cells, and add each to
 * sums of their own in shared memory, entry [cluster][columns / group][thread]: no two threads
 * share one, no bank serves two lanes, whatever the labels are. At the end a block adds its sums up
 * and to the model's, by atomic additions of words, whose order does not matter. Where those sums
 * do not fit (clusters times columns / group above some 50), cells are added to the model's
 * directly. Where rows and centroids fit into shared memory (pass_whole) the next 32 rows are
 * copied there, asynchronously, while these are computed on; rows begin at odd multiples of a cell,
 * so that lanes that read theirs side by side meet no bank twice. Otherwise (pass_tiled) tiles of
 * 128 points x 32 columns meet tiles of 16 centroids. With `memory`, only points that may move are
 * passed over, and only what moves is added and taken away: a warp reads what is remembered of
 * SCANNED points a lane, 12 bytes each, keeps the numbers of those that may move in shared memory,
 * and passes over 32 of them as soon as there are as many; what it will look at next is read
 * meanwhile. (pass_tiled: a kernel before lists them.) Bytes: the points once, pass_tiled k / 16
 * times; with `memory` 12 a point and what moves. Flops: a difference and an fma a point, cluster
 * and column, and as many comparisons; 16M x 2 or 2M x 16, k = 16: 1.6e9 or 1.1e9 operations, 0.1
 * ms of an H200's double units, twice what the read of 256 MB takes. Bits: those of the CPU; the
 * rules are kmeans_rule.h's.
 */
#include "kernels/kmeans/kmeans_cuda.h"

#include <stdlib.h>

namespace
{

const int THREADS = KMEANS_THREADS, WARPS = KMEANS_WARPS;
const unsigned ALL = 0xffffffffu;
/* Centroids at a time; columns and centroids of a tile, and its row, which keeps 16 bytes aligned.
 */
const int EIGHT = 8, TILE_COLUMNS = 32, TILE_CENTROIDS = 16, TILE_ROW = TILE_CENTROIDS + 2;
/* Clusters counted in shared memory. */
const size_t MOST_COUNTED = 2048;
/* Numbers of 2^50 units that fit an integer. */
const size_t NUMBERS = 4096;
/* Points of a lane whose memory is read at a time; numbers of points that a warp keeps at most. */
const int SCANNED = 4, WAITING = 32 * SCANNED + 32;

/* ASSIGN: all points; MOVE: with `memory`. */
enum mode { ASSIGN, MOVE, LABEL, FARTHEST, DRAW };

/* What a kernel has of shared memory beside the dynamic one: the picks of its threads, if any. */
template <int MODE> constexpr int N_PICKS = MODE == FARTHEST || MODE == DRAW ? THREADS : 1;
template <int MODE> constexpr size_t STATIC_SHARED = N_PICKS<MODE> * sizeof(struct kmeans_pick);

struct pass_args {
    struct kmeans_device m;
    const void *x;
    size_t n;
    uint64_t first;
    const double *centroid; /* [k][d] to compare with: all, or those of a draw */
    int k, d;
    int group, chunks; /* lanes of a point's cells; columns / group */
    bool own;          /* sums of its own for each thread */
    struct kmeans_bounds *bounds;
    int32_t *label; /* what is remembered, or what is asked for */
    const uint32_t *list;
    const unsigned *n_list; /* MOVE, pass_tiled: the points that may move */
    uint64_t seed, stream;
    double *nearest;
    bool nearest_is_new;
    struct kmeans_pick *picks; /* a block */
};

/* Where things lie in the dynamic shared memory, in bytes; each begins at a multiple of 16. */
struct layout {
    size_t sums, centroids, weights, per_unit, counts, waiting, tile, bytes;
    int row; /* of the tile, in cells; pass_whole */
    int padded_k;
};

__host__ __device__ __forceinline__ size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

__host__ __device__ __forceinline__ layout layout_of(int mode, const pass_args &a, int points,
                                                     size_t cell)
{
    const bool whole = points > 0;
    layout l;
    const size_t entries = mode == ASSIGN || mode == MOVE ? (size_t)a.m.k * a.chunks
                           : mode == LABEL                ? (size_t)a.m.k
                                                          : 0;
    size_t at = 0;
    l.row = a.d | 1;
    l.padded_k = (int)round_up(a.k, EIGHT);
    l.sums = at;
    at += a.own ? entries * THREADS * 2 * sizeof(int64_t) : 0;
    l.centroids = at;
    at += (whole ? (size_t)a.d * l.padded_k : (size_t)TILE_COLUMNS * TILE_ROW) * sizeof(double);
    l.weights = at;
    at += round_up((whole ? a.d : TILE_COLUMNS) * sizeof(double), 16);
    l.per_unit = at;
    at += round_up((whole ? a.d : 0) * sizeof(double), 16);
    l.counts = at;
    at += a.m.k <= MOST_COUNTED ? round_up(a.m.k * sizeof(int), 16) : 0;
    l.waiting = at;
    at += whole && mode == MOVE ? WARPS * WAITING * sizeof(uint32_t) : 0;
    l.tile = at;
    at += whole ? round_up(WARPS * 2 * 32 * (size_t)(points * l.row) * cell, 16)
                : round_up(THREADS * (TILE_COLUMNS + 1) * cell, 16);
    l.bytes = at;
    return l;
}

extern __shared__ double2 shared_bytes[];

template <typename T> __device__ __forceinline__ T *shared_at(size_t offset)
{
    return (T *)((char *)shared_bytes + offset);
}

/* 1 / a power of two. */
__device__ __forceinline__ double reciprocal(double power)
{
    return rounded_of_bits(((int64_t)2046 << 52) - rounded_bits(power));
}

/* A point's two least d2. */
struct found {
    double d2, second;
    int label;
};

__device__ __forceinline__ void nothing_found(found *f)
{
    f->d2 = f->second = INFINITY;
    f->label = 0;
}

/* The d2 of N more centroids, from number `first` on. Where there are fewer, the others lie at
 * infinity: their d2 is infinite or NaN, and comes before nothing. */
template <int N, bool SECOND>
__device__ __forceinline__ void find(found *f, const double (&d2)[N], int first)
{
    int nearest = -1;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const bool nearer = d2[i] < f->d2;
        if (SECOND) {
            const double other = nearer ? f->d2 : d2[i];
            f->second = other < f->second ? other : f->second;
        }
        f->d2 = nearer ? d2[i] : f->d2;
        nearest = nearer ? i : nearest;
    }
    f->label = nearest >= 0 ? first + nearest : f->label;
}

/* More columns of N centroids and P points: d2[q][c] of x[q * stride + j] against
 * centroids[j * row + c]. */
template <typename T, int P, int N, bool WEIGHTED>
__device__ __forceinline__ void add_columns(double (&d2)[P][N], const T *x, int stride, int columns,
                                            const double *centroids, int row, const double *weight)
{
#pragma unroll 2
    for (int j = 0; j < columns; j++) {
        const double w = WEIGHTED ? weight[j] : 1;
        const double2 *c = (const double2 *)(centroids + (size_t)j * row);
        double v[P];
#pragma unroll
        for (int q = 0; q < P; q++) {
            v[q] = (double)x[q * stride + j];
        }
#pragma unroll
        for (int i = 0; i < N / 2; i++) {
            const double2 two = c[i];
#pragma unroll
            for (int q = 0; q < P; q++) {
                double s = rounded_subtract(v[q], two.x), t = rounded_subtract(v[q], two.y);
                if (WEIGHTED) {
                    s = rounded_multiply(s, w);
                    t = rounded_multiply(t, w);
                }
                d2[q][2 * i] = rounded_fma(s, s, d2[q][2 * i]);
                d2[q][2 * i + 1] = rounded_fma(t, t, d2[q][2 * i + 1]);
            }
        }
    }
}

/* P points of a lane, 32 rows apart. */
template <typename T, int P, bool WEIGHTED, bool SECOND>
__device__ __forceinline__ void nearest_whole(found (&f)[P], const pass_args &a, const layout &l,
                                              const T *x)
{
    for (int c = 0; c < a.k; c += EIGHT) {
        double d2[P][EIGHT] = {};
        add_columns<T, P, EIGHT, WEIGHTED>(d2, x, 32 * l.row, a.d,
                                           shared_at<double>(l.centroids) + c, l.padded_k,
                                           shared_at<double>(l.weights));
#pragma unroll
        for (int q = 0; q < P; q++) {
            find<EIGHT, SECOND>(&f[q], d2[q], c);
        }
    }
}

/* --- what becomes of a point ------------------------------------------------------------------ */

/* Where a lane's point comes from and goes to; -1: from nowhere, or nothing to add. */
struct move {
    int from, to;
};

__device__ __forceinline__ void count_point(const pass_args &a, const layout &l, int cluster,
                                            int by)
{
    if (a.m.k <= MOST_COUNTED) {
        atomicAdd(shared_at<int>(l.counts) + cluster, by);
    } else {
        atomicAdd((unsigned long long *)a.m.count + cluster, (unsigned long long)(long long)by);
    }
}

/* MOVE: what a point remembers, and whether it moves. */
template <bool REMEMBERED>
__device__ __forceinline__ move assign_point(const pass_args &a, const layout &l, const found &f,
                                             size_t p)
{
    move v = {-1, f.label};
    if (REMEMBERED) {
        const double *drift = a.m.drift + f.label;
        v.from = a.label[p] - 1;
        const struct kmeans_bounds b =
            kmeans_remember(f.d2, f.second, drift[KMEANS_DRIFT_GAP * a.m.k],
                            drift[KMEANS_DRIFT_MOVED * a.m.k], a.m.d);
        const float2 both = {b.gap, b.upper};
        ((float2 *)a.bounds)[p] = both;
        if (v.from == v.to) {
            v.from = v.to = -1;
            return v;
        }
        a.label[p] = f.label + 1;
    }
    count_point(a, l, v.to, 1);
    if (v.from >= 0) {
        count_point(a, l, v.from, -1);
    }
    return v;
}

__device__ __forceinline__ void label_point(const pass_args &a, const layout &l, const found &f,
                                            size_t p)
{
    const struct kmeans_number v = kmeans_split(f.d2, reciprocal(a.m.state->inertia_unit));
    a.label[p] = f.label;
    count_point(a, l, f.label, 1);
    if (a.own) {
        int64_t *sums = shared_at<int64_t>(l.sums);
        const size_t at = (size_t)f.label * THREADS + threadIdx.x;
        sums[at] += v.high;
        sums[a.m.k * THREADS + at] += v.low;
    } else {
        kmeans_add_words(a.m.within + f.label, kmeans_words(v));
    }
}

__device__ __forceinline__ void draw_point(const pass_args &a, double weight, size_t p,
                                           struct kmeans_pick *pick)
{
    if (!(weight > 0)) {
        return;
    }
    const double u = kmeans_uniform(philox_block(a.seed, a.stream, a.first + p));
    if (pick->point == UINT64_MAX || !kmeans_key_is_above(u, weight, pick->value)) {
        kmeans_consider(pick, rounded_divide(kmeans_exponential(u), weight), a.first + p, 0, false);
    }
}

template <int MODE>
__device__ __forceinline__ move treat_point(const pass_args &a, const layout &l, const found &f,
                                            size_t p, struct kmeans_pick *pick)
{
    move v = {-1, -1};
    if (MODE == ASSIGN || MODE == MOVE) {
        v = assign_point<MODE == MOVE>(a, l, f, p);
    } else if (MODE == LABEL) {
        label_point(a, l, f, p);
    } else if (MODE == FARTHEST) {
        kmeans_consider(pick, f.d2, a.first + p, (uint64_t)f.label, true);
    } else {
        double weight = f.d2;
        if (a.nearest != nullptr) {
            if (!a.nearest_is_new) {
                const double before = a.nearest[p];
                weight = before < weight ? before : weight;
            }
            a.nearest[p] = weight;
        }
        draw_point(a, weight, p, pick);
    }
    return v;
}

/* A cell of a point that moves. */
__device__ __forceinline__ void move_cell(const pass_args &a, const layout &l, int from, int to,
                                          int chunk, int column, double cell, double per_unit)
{
    const struct kmeans_number v = kmeans_split(cell, per_unit);
    if (a.own) {
        int64_t *high = shared_at<int64_t>(l.sums);
        int64_t *low = high + a.m.k * a.chunks * THREADS;
        const size_t at = ((size_t)to * a.chunks + chunk) * THREADS + threadIdx.x;
        high[at] += v.high;
        low[at] += v.low;
        if (from >= 0) {
            const size_t old = ((size_t)from * a.chunks + chunk) * THREADS + threadIdx.x;
            high[old] -= v.high;
            low[old] -= v.low;
        }
        return;
    }
    kmeans_add_words(a.m.sum + (size_t)to * a.m.d + column, kmeans_words(v));
    if (from >= 0) {
        const struct kmeans_number less = {-v.high, -v.low};
        kmeans_add_words(a.m.sum + (size_t)from * a.m.d + column, kmeans_words(less));
    }
}

/* The cells of the warp's 32 points that move, a group of lanes a point: rows in shared memory
 * (WHOLE: `tile`), or in the points themselves by their numbers. All lanes of the warp take part.
 */
template <typename T, int MODE, bool WHOLE>
__device__ __forceinline__ void move_cells(const pass_args &a, const layout &l, move v,
                                           const T *tile, size_t point)
{
    const int lane = threadIdx.x % 32, in_group = lane % a.group, base = lane - in_group;
    for (int s = 0; s < a.group; s++) {
        const int to = __shfl_sync(ALL, v.to, base + s);
        const int from = MODE == MOVE ? __shfl_sync(ALL, v.from, base + s) : -1;
        const unsigned long long p =
            WHOLE ? 0 : __shfl_sync(ALL, (unsigned long long)point, base + s);
        if (!__any_sync(ALL, to >= 0)) {
            continue;
        }
        for (int c = 0; to >= 0 && c < a.chunks; c++) {
            const int j = c * a.group + in_group;
            if (j < a.d) {
                const double cell = WHOLE ? (double)tile[(base + s) * l.row + j]
                                          : (double)((const T *)a.x)[p * a.d + j];
                const double per_unit =
                    WHOLE ? shared_at<double>(l.per_unit)[j] : reciprocal(a.m.unit[j]);
                move_cell(a, l, from, to, c, j, cell, per_unit);
            }
        }
    }
}

/* --- a block's beginning and end ---------------------------------------------------------------
 */

/* Whether there is nothing to do, for all blocks alike. */
template <int MODE> __device__ __forceinline__ bool is_idle(const pass_args &a)
{
    if (MODE == ASSIGN || MODE == MOVE) {
        return a.m.state->done != 0;
    }
    if (MODE == FARTHEST) {
        if (a.m.state->done != 0) {
            return true;
        }
        bool empty = false;
        for (size_t c = threadIdx.x; c < a.m.k; c += THREADS) {
            empty = empty || a.m.count[c] == 0;
        }
        return !__syncthreads_or(empty);
    }
    return false;
}

/* Sums and counts at 0; barriers follow. */
template <int MODE> __device__ __forceinline__ void clear(const pass_args &a, const layout &l)
{
    int64_t *sums = shared_at<int64_t>(l.sums);
    int *counts = shared_at<int>(l.counts);
    for (size_t i = threadIdx.x; i < (l.centroids - l.sums) / sizeof *sums; i += THREADS) {
        sums[i] = 0;
    }
    for (size_t i = threadIdx.x; i < (l.waiting - l.counts) / sizeof *counts; i += THREADS) {
        counts[i] = 0;
    }
}

/* The sum of entries first, first + step, ... of n in shared memory. */
__device__ __forceinline__ struct kmeans_sum add_up(const int64_t *high, const int64_t *low,
                                                    int step, int n)
{
    struct kmeans_sum sum = {};
    for (int i = 0; i < n; i++) {
        const int64_t h = high[(size_t)i * step], v = low[(size_t)i * step];
        sum.high[0] += h & 0xffffffff;
        sum.high[1] += h >> 32;
        sum.low[0] += v & 0xffffffff;
        sum.low[1] += v >> 32;
    }
    return sum;
}

/* The block's sums and counts go to the model's. */
template <int MODE> __device__ __forceinline__ void flush(const pass_args &a, const layout &l)
{
    const int64_t *high = shared_at<int64_t>(l.sums);
    __syncthreads();
    if ((MODE == ASSIGN || MODE == MOVE) && a.own) {
        const int64_t *low = high + a.m.k * a.chunks * THREADS;
        for (size_t i = threadIdx.x; i < a.m.k * a.m.d; i += THREADS) {
            const size_t cluster = i / a.m.d, j = i % a.m.d;
            const size_t at = (cluster * a.chunks + j / a.group) * THREADS + j % a.group;
            kmeans_add_words(a.m.sum + i, add_up(high + at, low + at, a.group, THREADS / a.group));
        }
    }
    if (MODE == LABEL && a.own) {
        const int64_t *low = high + a.m.k * THREADS;
        for (size_t c = threadIdx.x; c < a.m.k; c += THREADS) {
            kmeans_add_words(a.m.within + c,
                             add_up(high + c * THREADS, low + c * THREADS, 1, THREADS));
        }
    }
    for (size_t c = threadIdx.x; MODE <= LABEL && c < a.m.k; c += THREADS) {
        const int n = a.m.k <= MOST_COUNTED ? shared_at<int>(l.counts)[c] : 0;
        if (n != 0) {
            atomicAdd((unsigned long long *)a.m.count + c, (unsigned long long)(long long)n);
        }
    }
}

template <int MODE>
__device__ __forceinline__ void leave(const pass_args &a, struct kmeans_pick pick,
                                      struct kmeans_pick *shared)
{
    if (MODE == FARTHEST || MODE == DRAW) {
        kmeans_block_pick<THREADS>(&pick, shared, MODE == FARTHEST);
        if (threadIdx.x == 0) {
            a.picks[blockIdx.x] = pick;
        }
    }
}

__device__ __forceinline__ struct kmeans_pick no_pick()
{
    const struct kmeans_pick none = {0, UINT64_MAX, 0};
    return none;
}

/* Copies a cell to shared memory asynchronously; the copies since the last commit are a group. */
template <typename T> __device__ __forceinline__ void copy_cell(T *to, const T *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                 :
                 : "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "n"(sizeof(T))
                 : "memory");
}

__device__ __forceinline__ void commit_copies()
{
    asm volatile("cp.async.commit_group;" : : : "memory");
}

/* Until at most N groups of this thread's are under way. */
template <int N> __device__ __forceinline__ void wait_copies()
{
    asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
}

/* --- rows that fit ---------------------------------------------------------------------------- */

/* Begins to copy the warp's rows, of its lanes' points, into `tile`; SIZE_MAX: no point. */
template <typename T>
__device__ __forceinline__ void copy_rows(const pass_args &a, const layout &l, T *tile,
                                          size_t point)
{
    const int rows = 32 / a.d, columns = 32 % a.d;
    int row = (int)(threadIdx.x % 32) / a.d, column = (int)(threadIdx.x % 32) % a.d;
    for (int i = 0; i < a.d; i++) { /* 32 d cells, 32 a round */
        const unsigned long long p = __shfl_sync(ALL, (unsigned long long)point, row);
        if (p != SIZE_MAX) {
            copy_cell(tile + row * l.row + column, (const T *)a.x + p * a.d + column);
        }
        row += rows;
        column += columns;
        if (column >= a.d) {
            column -= a.d;
            row++;
        }
    }
}

/* Where a warp's tiles of 32 points come from. */
struct source {
    size_t n, at, step; /* of points: how many, those looked at next, how far to the next after */
    /* MOVE: the numbers of points that may move, and what is remembered of those looked at next */
    uint32_t *waiting;
    int n_waiting;
    int32_t label[SCANNED];
    struct kmeans_bounds bounds[SCANNED];
};

__device__ __forceinline__ void read_memory(const pass_args &a, source *s)
{
#pragma unroll
    for (int i = 0; i < SCANNED; i++) {
        const size_t p = s->at + i * 32 + threadIdx.x % 32;
        if (p < s->n) {
            const float2 both = ((const float2 *)a.bounds)[p]; /* in one load */
            s->label[i] = a.label[p];
            s->bounds[i].gap = both.x;
            s->bounds[i].upper = both.y;
        }
    }
}

/* Whether a point that remembers this may move. */
__device__ __forceinline__ bool may_move(const pass_args &a, int32_t label, struct kmeans_bounds b)
{
    const double *drift = a.m.drift + (label - 1);
    return label == 0 || !kmeans_stays(b.gap, b.upper, drift[KMEANS_DRIFT_GAP * a.m.k],
                                       drift[KMEANS_DRIFT_LIMIT * a.m.k]);
}

template <int MODE>
__device__ __forceinline__ source begin_source(const pass_args &a, const layout &l)
{
    const size_t warp = threadIdx.x / 32, each = MODE == MOVE ? 32 * SCANNED : 32;
    source s;
    s.n = a.n;
    s.at = (blockIdx.x * (size_t)WARPS + warp) * each;
    s.step = gridDim.x * (size_t)WARPS * each;
    if (MODE == MOVE) {
        s.waiting = shared_at<uint32_t>(l.waiting) + warp * WAITING;
        s.n_waiting = 0;
        read_memory(a, &s);
    }
    return s;
}

/* Of those that may move, 32; fewer when no more are left. */
__device__ __forceinline__ size_t next_moving(const pass_args &a, source *s)
{
    const unsigned lane = threadIdx.x % 32;
    while (s->n_waiting < 32 && s->at < s->n) {
#pragma unroll
        for (int i = 0; i < SCANNED; i++) {
            const size_t p = s->at + i * 32 + lane;
            const bool moves = p < s->n && may_move(a, s->label[i], s->bounds[i]);
            const unsigned who = __ballot_sync(ALL, moves);
            if (moves) {
                s->waiting[s->n_waiting + __popc(who & ((1u << lane) - 1))] = (uint32_t)p;
            }
            s->n_waiting += __popc(who);
        }
        s->at += s->step;
        read_memory(a, s);
    }
    __syncwarp();
    const int n = s->n_waiting < 32 ? s->n_waiting : 32;
    s->n_waiting -= n;
    const size_t p = (int)lane < n ? s->waiting[s->n_waiting + lane] : SIZE_MAX;
    __syncwarp(); /* before it is written over */
    return p;
}

/* The number of the lane's point of the next tile; SIZE_MAX: none, and if in all lanes, no tile is
 * left. */
template <int MODE> __device__ __forceinline__ size_t next_point(const pass_args &a, source *s)
{
    if (MODE == MOVE) {
        return next_moving(a, s);
    }
    const size_t p = s->at + threadIdx.x % 32;
    s->at += s->step;
    return p < s->n ? p : SIZE_MAX;
}

/* Begins to copy the rows of P tiles; their points. */
template <typename T, int MODE, int P>
__device__ __forceinline__ void begin_tiles(const pass_args &a, const layout &l, source *s,
                                            T *tiles, size_t (&point)[P])
{
#pragma unroll
    for (int q = 0; q < P; q++) {
        point[q] = next_point<MODE>(a, s);
        copy_rows(a, l, tiles + q * 32 * l.row, point[q]);
    }
    commit_copies();
}

/* The next rows are copied while these are computed on. */
template <typename T, int MODE, int P, bool WEIGHTED>
__device__ __forceinline__ void warp_loop(const pass_args &a, const layout &l,
                                          struct kmeans_pick *pick)
{
    const size_t cells = P * 32 * (size_t)l.row;
    T *tiles = shared_at<T>(l.tile) + threadIdx.x / 32 * 2 * cells;
    source s = begin_source<MODE>(a, l);
    size_t point[P], next[P];
    begin_tiles<T, MODE>(a, l, &s, tiles, point);
    for (int now = 0; __any_sync(ALL, point[0] != SIZE_MAX); now ^= 1) {
        begin_tiles<T, MODE>(a, l, &s, tiles + (now ^ 1) * cells, next);
        wait_copies<1>();
        __syncwarp();
        const T *tile = tiles + now * cells;
        found f[P];
        move v[P];
#pragma unroll
        for (int q = 0; q < P; q++) {
            nothing_found(&f[q]);
            v[q].from = v[q].to = -1;
        }
        nearest_whole<T, P, WEIGHTED, MODE == MOVE>(f, a, l, tile + threadIdx.x % 32 * l.row);
#pragma unroll
        for (int q = 0; q < P; q++) {
            if (point[q] != SIZE_MAX) {
                v[q] = treat_point<MODE>(a, l, f[q], point[q], pick);
            }
            __syncwarp();
            if (MODE == ASSIGN || MODE == MOVE) {
                move_cells<T, MODE, true>(a, l, v[q], tile + q * 32 * l.row, point[q]);
            }
            point[q] = next[q];
        }
        __syncwarp(); /* before the tiles are written again */
    }
    wait_copies<0>();
}

template <typename T, int MODE, int P>
__global__ void __launch_bounds__(THREADS, 2 * P) pass_whole(pass_args a)
{
    __shared__ struct kmeans_pick picks[N_PICKS<MODE>];
    const layout l = layout_of(MODE, a, P, sizeof(T));
    struct kmeans_pick pick = no_pick();
    if (is_idle<MODE>(a)) { /* choose_pick() asks, too */
        return;
    }
    clear<MODE>(a, l);
    double *centroids = shared_at<double>(l.centroids);
    for (int i = threadIdx.x; i < a.d * l.padded_k; i += THREADS) {
        const int c = i % l.padded_k, j = i / l.padded_k;
        centroids[i] = c < a.k ? a.centroid[(size_t)c * a.d + j] : INFINITY;
    }
    bool weighted = false;
    for (int j = threadIdx.x; j < a.d; j += THREADS) {
        shared_at<double>(l.weights)[j] = a.m.weight[j];
        shared_at<double>(l.per_unit)[j] = reciprocal(a.m.unit[j]);
        weighted = weighted || a.m.weight[j] != 1;
    }
    if (__syncthreads_or(weighted)) {
        warp_loop<T, MODE, P, true>(a, l, &pick);
    } else {
        warp_loop<T, MODE, P, false>(a, l, &pick);
    }
    flush<MODE>(a, l);
    leave<MODE>(a, pick, picks);
}

/* --- rows in tiles ---------------------------------------------------------------------------- */

/* Columns j .. j + 31 of the block's points and of centroids c .. c + 15. */
template <typename T>
__device__ __forceinline__ void copy_tile(const pass_args &a, const layout &l, size_t point, int c,
                                          int j)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, column = j + lane;
    T *tile = shared_at<T>(l.tile) + warp * 32 * (TILE_COLUMNS + 1);
    double *centroids = shared_at<double>(l.centroids);
    for (int row = 0; row < 32; row++) {
        const unsigned long long p = __shfl_sync(ALL, (unsigned long long)point, row);
        tile[row * (TILE_COLUMNS + 1) + lane] =
            p != SIZE_MAX && column < a.d ? ((const T *)a.x)[p * a.d + column] : (T)0;
    }
    for (int i = warp; i < TILE_CENTROIDS; i += WARPS) {
        centroids[lane * TILE_ROW + i] =
            c + i < a.k && column < a.d ? a.centroid[(size_t)(c + i) * a.d + column] : INFINITY;
    }
    if (warp == 0) {
        shared_at<double>(l.weights)[lane] = column < a.d ? a.m.weight[column] : 1;
    }
}

template <typename T, bool SECOND>
__device__ __forceinline__ void nearest_tiled(found *f, const pass_args &a, const layout &l,
                                              size_t point)
{
    const T *x = shared_at<T>(l.tile) + threadIdx.x * (TILE_COLUMNS + 1);
    for (int c = 0; c < a.k; c += TILE_CENTROIDS) {
        double d2[1][TILE_CENTROIDS] = {};
        for (int j = 0; j < a.d; j += TILE_COLUMNS) {
            __syncthreads();
            copy_tile<T>(a, l, point, c, j);
            __syncthreads();
            add_columns<T, 1, TILE_CENTROIDS, true>(
                d2, x, 0, a.d - j < TILE_COLUMNS ? a.d - j : TILE_COLUMNS,
                shared_at<double>(l.centroids), TILE_ROW, shared_at<double>(l.weights));
        }
        find<TILE_CENTROIDS, SECOND>(f, d2[0], c);
    }
}

template <typename T, int MODE> __global__ void __launch_bounds__(THREADS) pass_tiled(pass_args a)
{
    __shared__ struct kmeans_pick picks[N_PICKS<MODE>];
    const layout l = layout_of(MODE, a, 0, sizeof(T));
    const size_t n = MODE == MOVE ? *a.n_list : a.n;
    struct kmeans_pick pick = no_pick();
    if (is_idle<MODE>(a)) { /* choose_pick() asks, too */
        return;
    }
    if (blockIdx.x * (size_t)THREADS >= n) {
        leave<MODE>(a, pick, picks);
        return;
    }
    clear<MODE>(a, l);
    __syncthreads();
    for (size_t base = blockIdx.x * (size_t)THREADS; base < n;
         base += gridDim.x * (size_t)THREADS) {
        const size_t i = base + threadIdx.x;
        const size_t point = i >= n ? SIZE_MAX : MODE == MOVE ? a.list[i] : i;
        found f;
        nothing_found(&f);
        nearest_tiled<T, MODE == MOVE>(&f, a, l, point);
        move v = {-1, -1};
        if (point != SIZE_MAX) {
            v = treat_point<MODE>(a, l, f, point, &pick);
        }
        __syncwarp();
        if (MODE == ASSIGN || MODE == MOVE) {
            move_cells<T, MODE, false>(a, l, v, nullptr, point);
        }
    }
    flush<MODE>(a, l);
    leave<MODE>(a, pick, picks);
}

/* --- points that may move, and picks -----------------------------------------------------------
 */

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

/* --- launches --------------------------------------------------------------------------------- */

/* A pass: its kernel, what it needs of shared memory, and its blocks. */
struct pass {
    void (*kernel)(pass_args);
    size_t shared;
    size_t blocks;
    bool whole;
};

/* Dynamic shared memory of a block where a multiprocessor has so many of them. */
template <int MODE> size_t most_shared(const struct cudaDeviceProp &device, size_t blocks)
{
    const size_t of_block =
        device.sharedMemPerMultiprocessor / blocks - device.reservedSharedMemPerBlock;
    return cuda_min(of_block, device.sharedMemPerBlockOptin) - STATIC_SHARED<MODE>;
}

/* On the device that the operation under way has chosen. */
template <typename T, int MODE> enum status plan_pass(struct cuda_queue *q, pass_args *a, pass *p)
{
    /* Four blocks a multiprocessor, two, or one; without sums of their own if need be; tiles only
     * where there is memory for a list of points. */
    const struct cudaDeviceProp &device = q->backend->properties;
    const size_t of_one = most_shared<MODE>(device, 1), of_two = most_shared<MODE>(device, 2);
    const bool sums = MODE <= LABEL;
    const bool may_tile = MODE != MOVE || kmeans_list_bytes(a->n, a->m.k, a->m.d) > 0;
    const struct {
        bool own;
        int points; /* of a lane at a time, rows that fit; 0: tiles */
        size_t most;
    } choices[] = {{sums, 2, sums ? most_shared<MODE>(device, 4) : 0},
                   {sums, 1, of_two},
                   {sums, 1, of_one},
                   {sums, 0, may_tile ? of_one : 0},
                   {false, 1, may_tile ? of_two : of_one},
                   {false, 0, may_tile ? SIZE_MAX : 0}};
    const size_t n_choices = sizeof choices / sizeof *choices;
    size_t i = 0;
    a->own = choices[0].own;
    while (layout_of(MODE, *a, choices[i].points, sizeof(T)).bytes > choices[i].most) {
        if (++i == n_choices) {
            return status_fail(STATUS_INTERNAL, "%d centroids of %d columns, and no list", a->k,
                               a->d);
        }
        a->own = choices[i].own;
    }
    p->whole = choices[i].points > 0;
    p->kernel = choices[i].points == 2 ? pass_whole < T, MODE,
    MODE <= LABEL ? 2 : 1 >
        : choices[i].points == 1 ? pass_whole<T, MODE, 1>
                                 : pass_tiled<T, MODE>;
    p->shared = layout_of(MODE, *a, choices[i].points, sizeof(T)).bytes;
    int resident = 0;
    /* The attribute is the kernel's, not the launch's, and other jobs launch it at the same time:
     * all of them ask for the same. */
    CUDA_TRY(cudaFuncSetAttribute((const void *)p->kernel,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, (int)of_one),
             "shared memory of k-means");
    CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, (const void *)p->kernel,
                                                           THREADS, p->shared),
             "blocks of k-means");
    /* No sum of a thread gets more than NUMBERS numbers: of a tile of 32 points as many as its
     * group has lanes. (Looked at SCANNED a lane, a warp gets no more tiles than that.) Picks have
     * no sums. */
    const size_t per_tile = MODE == LABEL ? 1 : (size_t)a->group;
    const size_t tiles = cuda_pieces(a->n, 32);
    const size_t least = sums ? cuda_pieces(tiles, WARPS * (NUMBERS / per_tile)) : 1;
    const size_t fit = cuda_max(1, (size_t)resident) * (size_t)device.multiProcessorCount;
    size_t wanted = 0;
    STATUS_TRY(kmeans_cuda_blocks(fit, &wanted));
    /* What a lane takes, or looks at, before any other lane takes more: every block has points. */
    const size_t of_lane = !p->whole ? 1 : MODE == MOVE ? SCANNED : (size_t)choices[i].points;
    p->blocks = cuda_max(least, cuda_min(wanted, cuda_pieces(a->n, of_lane * THREADS)));
    return STATUS_OK;
}

template <int MODE>
enum status plan_any(struct cuda_queue *q, enum dtype type, pass_args *a, pass *p)
{
    return type == DTYPE_F32 ? plan_pass<float, MODE>(q, a, p) : plan_pass<double, MODE>(q, a, p);
}

pass_args args_of(const struct kmeans_points *x, const struct kmeans_model *m)
{
    pass_args a = {};
    a.m = kmeans_on_device(m);
    a.x = x->at.at;
    a.n = x->n;
    a.first = x->first;
    a.centroid = a.m.centroid;
    a.k = (int)m->k;
    a.d = (int)m->n_columns;
    a.group = 1;
    while (a.group < a.d && a.group < 32) {
        a.group *= 2;
    }
    a.chunks = (a.d + a.group - 1) / a.group;
    return a;
}

enum status launch(const pass &p, const pass_args &a, cudaStream_t stream, const char *what)
{
    p.kernel<<<(unsigned)p.blocks, THREADS, p.shared, stream>>>(a);
    return cuda_launched(what);
}

template <int MODE>
enum status choose(const struct kmeans_points *x, const pass_args &a, size_t n_picks,
                   cudaStream_t stream)
{
    auto kernel = x->type == DTYPE_F32 ? choose_pick<float, MODE> : choose_pick<double, MODE>;
    kernel<<<1, THREADS, 0, stream>>>(a, (unsigned)n_picks);
    return cuda_launched("choosing a point");
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
    if (remembered > 0 && !p.whole) {
        char *scratch = nullptr;
        const size_t list_bytes = kmeans_list_bytes(x->n, m->k, m->n_columns);
        STATUS_TRY(cuda_queue_scratch(q, STREAM_COMPUTE, 16 + list_bytes, (void **)&scratch));
        uint32_t *list = (uint32_t *)(scratch + 16);
        CUDA_TRY(cudaMemsetAsync(scratch, 0, 16, work.stream), "listing points");
        const size_t fit = (size_t)q->backend->properties.multiProcessorCount * 16;
        size_t blocks = 0;
        STATUS_TRY(kmeans_cuda_blocks(cuda_min(cuda_pieces(x->n, THREADS), fit), &blocks));
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

enum status kmeans_farthest(struct queue *queue, const struct kmeans_points *x,
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

enum status kmeans_draw(struct queue *queue, const struct kmeans_points *x,
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
    pass p = {draw_alike, 0, 1, false};
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
                   : kmeans_cuda_blocks(cuda_min(cuda_pieces(x->n, THREADS), 2048), &p.blocks));
    STATUS_TRY(
        cuda_queue_scratch(q, STREAM_COMPUTE, p.blocks * sizeof *a.picks, (void **)&a.picks));
    STATUS_TRY(launch(p, a, work.stream, "drawing a point"));
    STATUS_TRY(choose<DRAW>(x, a, p.blocks, work.stream));
    return work.done();
}

} // namespace

enum status kmeans_cuda_blocks(size_t wanted, size_t *out)
{
    const char *set = getenv("LEAT_CUDA_BLOCKS");
    char *end = nullptr;
    const size_t most = set == nullptr ? wanted : strtoul(set, &end, 10);
    if (set != nullptr && (most == 0 || *end != '\0')) {
        return status_fail(STATUS_BAD_ARGUMENT, "LEAT_CUDA_BLOCKS: '%s' is not a number of blocks",
                           set);
    }
    *out = cuda_min(wanted, most);
    return STATUS_OK;
}

const struct kmeans_kernels cuda_kmeans = {.range = kmeans_cuda_range,
                                           .squares = kmeans_cuda_squares,
                                           .draw = kmeans_draw,
                                           .take = kmeans_cuda_take,
                                           .assign = kmeans_assign,
                                           .farthest = kmeans_farthest,
                                           .update = kmeans_cuda_update,
                                           .label = kmeans_label};
