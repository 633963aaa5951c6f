/*
 * kmeans_pass_cuda - what every pass over the points does, however their rows come to a lane: what
 * lies where in shared memory, what becomes of a point once its nearest centroid is found, and
 * what a block adds to the model in the end.
 *
 * A block sees all points of its warps, one a lane at a time, or two (SHORT). Then the lanes turn
 * to columns: `group` lanes (the columns rounded up to a power of two, at most a warp) take a
 * point's cells, and add each to sums of their own in shared memory, 16 bytes, entry
 * [cluster][columns / group][thread]: no two threads share one, no bank serves two lanes, whatever
 * the labels are. At the end a block adds its sums up and to the model's, by atomic additions of
 * words, whose order does not matter. Where those sums do not fit (clusters times columns / group
 * above some 100 on an H200), cells are added to the model's directly.
 */
#ifndef LEAT_KERNELS_KMEANS_KMEANS_PASS_CUDA_H
#define LEAT_KERNELS_KMEANS_KMEANS_PASS_CUDA_H

#include "kernels/kmeans/kmeans_nearest_cuda.h"

namespace kmeans_pass
{

const int THREADS = KMEANS_THREADS, WARPS = KMEANS_WARPS;
const unsigned ALL = 0xffffffffu;
/* Centroids at a time, trials at a time; columns and centroids of a tile, and its row, which keeps
 * 16 bytes aligned.
 */
const int EIGHT = 8, FOUR = 4, TILE_COLUMNS = 32, TILE_CENTROIDS = 16,
          TILE_ROW = TILE_CENTROIDS + 2;
/* Clusters counted in shared memory. */
const size_t MOST_COUNTED = 2048;
/* Points of a lane whose memory is read at a time; numbers of points that a warp keeps at most. */
const int LOOKED_AT = 4, WAITING = 32 * LOOKED_AT + 32;
/* Points of a lane at a time, of SHORT rows. */
const int TWO = 2;

/* ASSIGN: all points; MOVE: with `memory`. */
enum mode { ASSIGN, MOVE, LABEL, DRAW, FARTHEST };

/* What a kernel has of shared memory beside the dynamic one: the picks of its threads, if any. */
template <int MODE>
constexpr size_t STATIC_SHARED = MODE == FARTHEST ? THREADS * sizeof(struct kmeans_pick) : 0;

/* A point that may move, and the label that it remembers. */
struct moving {
    uint32_t point;
    int32_t label;
};

/* MOVE, SHORT: what a block keeps in shared memory. */
struct short_memory {
    struct moving queue[THREADS * (LOOKED_AT + TWO)];
    float2 bounds[THREADS * LOOKED_AT]; /* of the points that it looks at next, and their labels */
    int32_t label[THREADS * LOOKED_AT];
    unsigned counts[WARPS]; /* of those that may move */
};

struct pass_args {
    struct kmeans_device m;
    const void *x;
    bool is_narrow; /* x is of floats */
    size_t n;
    uint64_t first;
    const double *centroid; /* [k][d] to compare with: all, or those of a draw and its trials */
    int k, d;
    int group, chunks; /* lanes of a point's cells; columns / group */
    bool own;          /* sums of its own for each thread */
    struct kmeans_bounds *bounds;
    int32_t *label; /* what is remembered, or what is asked for */
    const uint32_t *list;
    const unsigned *n_list;    /* MOVE, TILED: the points that may move */
    struct kmeans_pick *picks; /* FARTHEST: a block */
    /* DRAW: centroids before the trials; lists, and points of one */
    int n_base, n_trials, n_lists, most;
    uint64_t seed, stream;
    double *nearest;
    bool nearest_is_new;
    struct kmeans_key *keys; /* [n_lists][block][32] */
};

/* DRAW: what a block keeps of a trial and its list. */
struct trial {
    long long potential[THREADS];
    double key[THREADS];     /* of each thread the least in the list, ... */
    uint32_t point[THREADS]; /* ... and its point */
    unsigned limit;          /* the high word of the largest key that the list may take */
    unsigned unused[3];
};

/* How rows come to a lane: in registers, in shared memory, or in tiles of it. */
enum rows { SHORT, WHOLE, TILED };

/* Where things lie in the dynamic shared memory, in bytes; each begins at a multiple of 16. */
struct layout {
    size_t trials, sums, centroids, weights, per_unit, counts, waiting, tile, bytes;
    int row;                   /* of the tile, in cells; WHOLE */
    int first_trial, n_trials; /* DRAW: the first one's place among the centroids; with void ones */
    int padded_k;
};

__host__ __device__ __forceinline__ size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

__host__ __device__ __forceinline__ layout layout_of(int mode, const pass_args &a, enum rows rows,
                                                     size_t cell)
{
    const bool whole = rows != TILED;
    layout l;
    const size_t entries = mode == ASSIGN || mode == MOVE ? (size_t)a.m.k * a.chunks
                           : mode == LABEL                ? (size_t)a.m.k
                                                          : 0;
    size_t at = 0;
    l.first_trial = (int)round_up(a.n_base, whole ? 2 : 1);
    l.n_trials = (int)round_up(a.n_trials, FOUR);
    l.trials = at;
    at += mode != DRAW ? 0 : (l.n_trials > 0 ? l.n_trials : 1) * sizeof(struct trial);
    l.row = a.d | 1;
    l.padded_k = mode == DRAW ? l.first_trial + l.n_trials : (int)round_up(a.k, EIGHT);
    l.sums = at;
    at += a.own ? entries * THREADS * sizeof(longlong2) : 0;
    l.centroids = at;
    at += (whole ? (size_t)a.d * l.padded_k : (size_t)TILE_COLUMNS * TILE_ROW) * sizeof(double);
    l.weights = at;
    at += round_up((whole ? a.d : TILE_COLUMNS) * sizeof(double), 16);
    l.per_unit = at;
    at += round_up((whole ? a.d : 0) * sizeof(double), 16);
    l.counts = at;
    at += a.m.k <= MOST_COUNTED ? round_up(a.m.k * sizeof(int), 16) : 0;
    l.waiting = at;
    at += mode != MOVE || rows == TILED ? 0
          : rows == WHOLE               ? WARPS * WAITING * sizeof(uint32_t)
                                        : sizeof(struct short_memory);
    l.tile = at;
    at += rows == WHOLE   ? round_up(WARPS * 2 * 32 * (size_t)l.row * cell, 16)
          : rows == TILED ? round_up(THREADS * (TILE_COLUMNS + 1) * cell, 16)
                          : 0;
    l.bytes = at;
    return l;
}

extern __shared__ double2 shared_bytes[];

template <typename T> __device__ __forceinline__ T *shared_at(size_t offset)
{
    return (T *)((char *)shared_bytes + offset);
}

/* Copies 4 or 8 bytes to shared memory asynchronously; the copies since the last commit are a
 * group. */
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

/* 1 / a power of two. */
__device__ __forceinline__ double reciprocal(double power)
{
    return rounded_of_bits(((int64_t)2046 << 52) - rounded_bits(power));
}

/* The mass of a point; 1 where they have none. Its row has been read before. */
__device__ __forceinline__ double mass_of(const pass_args &a, size_t p)
{
    if (!a.m.has_mass) {
        return 1;
    }
    const size_t i = p * a.d + a.m.mass_column;
    return rounded_multiply(
        a.is_narrow ? (double)((const float *)a.x)[i] : ((const double *)a.x)[i], a.m.mass_factor);
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

/* Whether a point that remembers this may move. */
__device__ __forceinline__ bool may_move(const pass_args &a, int32_t label, struct kmeans_bounds b)
{
    const double *drift = a.m.drift + (label - 1);
    return label == 0 || !kmeans_stays(b.gap, b.upper, drift[KMEANS_DRIFT_GAP * a.m.k],
                                       drift[KMEANS_DRIFT_LIMIT * a.m.k]);
}

/* kmeans_remember() in floats, which are rounded to the safe side at each step; `second` has lost
 * its low word, and is too small rather than too large. It spares something where distances are
 * between 2^-74, for what underflows counts as `least`, and 2^63. */
__device__ __forceinline__ float2 remember(double d2, unsigned second_high, double drift,
                                           double moved, int d)
{
    const float most = 0x1p63f, least = 0x1p-120f, each = __fmul_ru((float)d + 16, 0x1p-50f);
    const float own = __fadd_ru(__fsqrt_ru(__double2float_ru(d2)), least);
    const float second =
        fminf(__fsqrt_rd(__double2float_rd(__hiloint2double((int)second_high, 0))), most);
    const float slack = __fmul_ru(__fadd_ru(second, __double2float_ru(drift)), each);
    const float gap = __fsub_rd(__fsub_rd(second, own), slack);
    const float upper = __fmaf_ru(__fadd_ru(own, __double2float_ru(moved)), each, own);
    return make_float2(__fadd_rd(gap, __double2float_rd(drift)),
                       __fsub_ru(upper, __double2float_rd(moved)));
}

/* MOVE: what a point remembers, and whether it moves; `before`: the label that it remembers. */
template <bool REMEMBERED>
__device__ __forceinline__ move assign_point(const pass_args &a, const layout &l, const found &f,
                                             size_t p, int before)
{
    move v = {-1, f.label};
    if (REMEMBERED) {
        const double *drift = a.m.drift + f.label;
        v.from = before - 1;
        const float2 both = remember(f.d2, f.second, drift[KMEANS_DRIFT_GAP * a.m.k],
                                     drift[KMEANS_DRIFT_MOVED * a.m.k], a.d);
        ((float2 *)a.bounds)[p] = both;
        if (v.from == v.to) {
            v.from = v.to = -1;
            return v;
        }
        a.label[p] = f.label + 1;
    }
    if (a.m.has_mass && !(mass_of(a, p) > 0)) {
        return v;
    }
    count_point(a, l, v.to, 1);
    if (v.from >= 0) {
        count_point(a, l, v.from, -1);
    }
    return v;
}

/* Adds to a sum of the thread's own. */
__device__ __forceinline__ void add_own(const layout &l, size_t entry, struct kmeans_number v)
{
    longlong2 *sum = shared_at<longlong2>(l.sums) + entry * THREADS + threadIdx.x;
    longlong2 now = *sum;
    now.x += v.high;
    now.y += v.low;
    *sum = now;
}

__device__ __forceinline__ void label_point(const pass_args &a, const layout &l, const found &f,
                                            size_t p)
{
    double d2 = f.d2;
    if (a.m.has_mass) {
        const double mass = mass_of(a, p);
        const size_t j = a.m.mass_column;
        d2 = rounded_multiply(d2, mass);
        kmeans_add_words(a.m.sum + (size_t)f.label * a.m.d + j,
                         kmeans_words(kmeans_split(mass, reciprocal(a.m.unit[j]))));
    }
    const struct kmeans_number v = kmeans_split(d2, reciprocal(a.m.state->inertia_unit));
    a.label[p] = f.label;
    count_point(a, l, f.label, 1);
    if (a.own) {
        add_own(l, (size_t)f.label, v);
    } else {
        kmeans_add_words(a.m.within + f.label, kmeans_words(v));
    }
}

template <int MODE>
__device__ __forceinline__ move treat_point(const pass_args &a, const layout &l, const found &f,
                                            size_t p, int before, struct kmeans_pick *pick)
{
    move v = {-1, -1};
    if (MODE == ASSIGN || MODE == MOVE) {
        v = assign_point<MODE == MOVE>(a, l, f, p, before);
    } else if (MODE == LABEL) {
        label_point(a, l, f, p);
    } else {
        const struct kmeans_pick point = {f.d2, a.first + p, (uint64_t)f.label};
        if (mass_of(a, p) > 0) {
            kmeans_consider(pick, point);
        }
    }
    return v;
}

/* --- draws -------------------------------------------------------------------------------------
 */

const uint32_t NO_POINT = UINT32_MAX;

/* No point is drawn yet; barriers follow. */
__device__ __forceinline__ void clear_draws(const pass_args &a, const layout &l)
{
    struct trial *trials = shared_at<struct trial>(l.trials);
    for (int i = 0; i < l.n_trials || i == 0; i++) {
        trials[i].potential[threadIdx.x] = 0;
        trials[i].key[threadIdx.x] = INFINITY;
        trials[i].point[threadIdx.x] = NO_POINT;
        if (threadIdx.x == 0) {
            trials[i].limit = i < a.n_lists ? UINT_MAX : 0;
        }
    }
}

/* A lane's points while they meet the centroids of a draw: first those that are there, then the
 * trials. */
template <int P> struct drawing {
    uint32_t point[P]; /* or NO_POINT, of weight 0 */
    double weight[P], u[P], least[P];
    double per_unit; /* of potentials */
};

/* A weight, times the point's mass. */
__device__ __forceinline__ double weigh(const pass_args &a, uint32_t p, double weight)
{
    return a.m.has_mass && p != NO_POINT ? rounded_multiply(weight, mass_of(a, p)) : weight;
}

template <int P> __device__ __forceinline__ void begin_drawing(const pass_args &a, drawing<P> *g)
{
    g->per_unit = reciprocal(a.m.state->potential_unit);
#pragma unroll
    for (int q = 0; q < P; q++) {
        const uint32_t p = g->point[q];
        g->weight[q] = p == NO_POINT                               ? 0
                       : a.nearest != nullptr && !a.nearest_is_new ? a.nearest[p]
                                                                   : INFINITY;
        g->u[q] = g->least[q] = 0.5;
    }
#pragma unroll
    for (int q = 0; a.n_lists > 0 && q < P; q++) {
        g->u[q] = kmeans_uniform(philox_block(a.seed, a.stream, a.first + g->point[q]));
        g->least[q] = kmeans_least_exponential(g->u[q]);
    }
}

/* A point of each lane, of which some may come first: rarely, hence once in the kernel. A list
 * takes `most` points of as many classes, and so none with a key above the last of the first `most`
 * lanes'. */
static __device__ __noinline__ void keep_first(struct trial *of, int most, double u, double weight,
                                               uint32_t p)
{
    double *key = of->key + threadIdx.x;
    uint32_t *point = of->point + threadIdx.x;
    if (weight > 0) {
        struct kmeans_key first = {*key, *point == NO_POINT ? UINT64_MAX : *point};
        const struct kmeans_key now = {rounded_divide(kmeans_exponential(u), weight), p};
        kmeans_earlier(&first, now);
        *key = first.key;
        *point = (uint32_t)first.point;
    }
    unsigned own = (unsigned)__double2hiint(*key), last = 0;
    for (int j = 0; j < most; j++) {
        last = __reduce_min_sync(ALL, own);
        own = own == last ? UINT_MAX : own;
    }
    if (threadIdx.x % 32 == 0) {
        atomicMin(&of->limit, last);
    }
}

/* UINT_MAX: NaN, above which nothing is. */
__device__ __forceinline__ double limit_of(const struct trial *of)
{
    return __hiloint2double((int)*(const volatile unsigned *)&of->limit, -1);
}

/* Offers a list the points, with these weights. All lanes take part. */
template <int P>
__device__ __forceinline__ void offer_points(struct trial *of, int most, const drawing<P> &g,
                                             const double (&weight)[P])
{
    const double limit = limit_of(of);
#pragma unroll
    for (int q = 0; q < P; q++) {
        if (__any_sync(ALL, !kmeans_key_is_above(g.least[q], weight[q], limit))) {
            keep_first(of, most, g.u[q], weight[q], g.point[q]);
        }
    }
}

/* The d2 to N centroids that are there, from number `first` on. */
template <int P, int N>
__device__ __forceinline__ void meet_base(const pass_args &a, drawing<P> *g,
                                          const double (&d2)[P][N], int first)
{
#pragma unroll
    for (int i = 0; i < N; i++) {
#pragma unroll
        for (int q = 0; q < P; q++) {
            const bool nearer = first + i < a.n_base && d2[q][i] < g->weight[q];
            g->weight[q] = nearer ? d2[q][i] : g->weight[q];
        }
    }
}

/* All of them have been met. */
template <int P>
__device__ __forceinline__ void end_base(const pass_args &a, const layout &l, const drawing<P> &g)
{
#pragma unroll
    for (int q = 0; q < P; q++) {
        if (g.point[q] != NO_POINT && a.nearest != nullptr) {
            a.nearest[g.point[q]] = g.weight[q];
        }
    }
    if (a.n_trials == 0) {
        double weight[P];
#pragma unroll
        for (int q = 0; q < P; q++) {
            weight[q] = weigh(a, g.point[q], g.weight[q]);
        }
        offer_points(shared_at<struct trial>(l.trials), a.most, g, weight);
    }
}

/* The d2 to N trials, from number `first` on. */
template <int P, int N>
__device__ __forceinline__ void meet_trials(const pass_args &a, const layout &l,
                                            const drawing<P> &g, const double (&d2)[P][N],
                                            int first)
{
    struct trial *of = shared_at<struct trial>(l.trials) + first;
    double weight[N][P];
    bool some = false;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const double limit = limit_of(of + i);
        long long sum = 0;
#pragma unroll
        for (int q = 0; q < P; q++) {
            weight[i][q] = d2[q][i] < g.weight[q] ? d2[q][i] : g.weight[q];
            weight[i][q] = weigh(a, g.point[q], weight[i][q]);
            sum += kmeans_in_units(weight[i][q], g.per_unit);
            some |= !kmeans_key_is_above(g.least[q], weight[i][q], limit);
        }
        of[i].potential[threadIdx.x] += sum;
    }
    if (__any_sync(ALL, some)) {
#pragma unroll
        for (int i = 0; i < N; i++) {
            offer_points(of + i, a.most, g, weight[i]);
        }
    }
}

/* A lane's points, which lie as in add_columns(). */
template <typename T, int P, bool WEIGHTED, int UNROLL>
__device__ __forceinline__ void draw_points(const pass_args &a, const layout &l,
                                            const uint32_t (&point)[P], const T *x, int stride,
                                            int columns)
{
    const double *centroids = shared_at<double>(l.centroids);
    const double *weights = shared_at<double>(l.weights);
    drawing<P> g;
#pragma unroll
    for (int q = 0; q < P; q++) {
        g.point[q] = point[q];
    }
    begin_drawing(a, &g);
    for (int c = 0; c < a.n_base; c += 2) {
        double d2[P][2] = {};
        add_columns<T, P, 2, WEIGHTED, UNROLL>(d2, x, stride, columns, centroids + c, l.padded_k,
                                               weights);
        meet_base(a, &g, d2, c);
    }
    end_base(a, l, g);
    for (int c = 0; c < a.n_trials; c += FOUR) {
        double d2[P][FOUR] = {};
        add_columns<T, P, FOUR, WEIGHTED, UNROLL>(
            d2, x, stride, columns, centroids + l.first_trial + c, l.padded_k, weights);
        meet_trials(a, l, g, d2, c);
    }
}

/* Of the block's points those that come first in each list, of each lane's class one; what it adds
 * to the potentials. */
__device__ __forceinline__ void leave_draws(const pass_args &a, const layout &l)
{
    const int lane = threadIdx.x % 32;
    __syncthreads();
    for (int i = threadIdx.x / 32; i < a.n_trials || i < a.n_lists; i += WARPS) {
        const struct trial *of = shared_at<struct trial>(l.trials) + i;
        struct kmeans_key own = kmeans_no_key();
        long long sum = 0;
        for (int at = lane; at < THREADS; at += 32) {
            const uint32_t p = of->point[at];
            const struct kmeans_key v = {of->key[at], p == NO_POINT ? UINT64_MAX : a.first + p};
            kmeans_earlier(&own, v);
            sum += of->potential[at];
        }
        if (i < a.n_lists) {
            a.keys[(i * (size_t)gridDim.x + blockIdx.x) * 32 + lane] = own;
        }
        for (int lanes = 16; lanes > 0; lanes /= 2) {
            sum += __shfl_xor_sync(ALL, sum, lanes);
        }
        if (lane == 0 && i < a.n_trials) {
            kmeans_add_word(a.m.potential + i, sum);
        }
    }
}

/* A cell of a point that moves; `by`: the cell of the point's mass. */
__device__ __forceinline__ void move_cell(const pass_args &a, const layout &l, int from, int to,
                                          int chunk, int column, double cell, double by,
                                          double per_unit)
{
    if (a.m.has_mass) {
        const double mass = rounded_multiply(by, a.m.mass_factor);
        cell = column == (int)a.m.mass_column ? mass : rounded_multiply(cell, mass);
    }
    const struct kmeans_number v = kmeans_split(cell, per_unit), less = {-v.high, -v.low};
    if (a.own) {
        add_own(l, (size_t)to * a.chunks + chunk, v);
        if (from >= 0) {
            add_own(l, (size_t)from * a.chunks + chunk, less);
        }
        return;
    }
    kmeans_add_words(a.m.sum + (size_t)to * a.m.d + column, kmeans_words(v));
    if (from >= 0) {
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
                const size_t at = a.m.has_mass ? a.m.mass_column : j;
                const double by = WHOLE ? (double)tile[(base + s) * l.row + at]
                                        : (double)((const T *)a.x)[p * a.d + at];
                const double per_unit =
                    WHOLE ? shared_at<double>(l.per_unit)[j] : reciprocal(a.m.unit[j]);
                move_cell(a, l, from, to, c, j, cell, by, per_unit);
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
    if (MODE == DRAW) {
        clear_draws(a, l);
    }
    longlong2 *sums = shared_at<longlong2>(l.sums);
    int *counts = shared_at<int>(l.counts);
    for (size_t i = threadIdx.x; i < (l.centroids - l.sums) / sizeof *sums; i += THREADS) {
        sums[i] = make_longlong2(0, 0);
    }
    for (size_t i = threadIdx.x; i < (l.waiting - l.counts) / sizeof *counts; i += THREADS) {
        counts[i] = 0;
    }
}

/* Clears, and brings all centroids to shared memory, weights and units; whether any column has a
 * weight. */
template <int MODE> __device__ __forceinline__ bool begin_whole(const pass_args &a, const layout &l)
{
    clear<MODE>(a, l);
    double *centroids = shared_at<double>(l.centroids);
    for (int i = threadIdx.x; i < a.d * l.padded_k; i += THREADS) {
        const int j = i / l.padded_k;
        int c = i % l.padded_k;
        if (MODE == DRAW && c >= a.n_base) {
            c = c < l.first_trial ? a.k : c - l.first_trial + a.n_base;
        }
        centroids[i] = c < a.k ? a.centroid[(size_t)c * a.d + j] : INFINITY;
    }
    bool weighted = false;
    for (int j = threadIdx.x; j < a.d; j += THREADS) {
        shared_at<double>(l.weights)[j] = a.m.weight[j];
        shared_at<double>(l.per_unit)[j] = reciprocal(a.m.unit[j]);
        weighted = weighted || a.m.weight[j] != 1;
    }
    return __syncthreads_or(weighted);
}

/* Adds a column's sums of a group's lanes to the model's: of four threads each a quarter of them.
 * All lanes of a warp take part; n is 0 where there is none to add. */
__device__ __forceinline__ void flush_sum(const longlong2 *own, int step, int n,
                                          struct kmeans_sum *to)
{
    struct kmeans_sum sum = {};
    for (int i = threadIdx.x % 4; i < n; i += 4) {
        const longlong2 v = own[(size_t)i * step];
        sum.high[0] += v.x & 0xffffffff;
        sum.high[1] += v.x >> 32;
        sum.low[0] += v.y & 0xffffffff;
        sum.low[1] += v.y >> 32;
    }
    for (int lanes = 1; lanes < 4; lanes *= 2) {
        for (int i = 0; i < 2; i++) {
            sum.high[i] += __shfl_xor_sync(ALL, sum.high[i], lanes);
            sum.low[i] += __shfl_xor_sync(ALL, sum.low[i], lanes);
        }
    }
    if (threadIdx.x % 4 == 0 && n > 0) {
        kmeans_add_words(to, sum);
    }
}

/* The block's sums and counts go to the model's. */
template <int MODE> __device__ __forceinline__ void flush(const pass_args &a, const layout &l)
{
    const longlong2 *own = shared_at<longlong2>(l.sums);
    const size_t n = MODE == LABEL ? a.m.k : a.m.k * a.m.d;
    __syncthreads();
    for (size_t at = 0; MODE <= LABEL && a.own && at < n; at += THREADS / 4) {
        const size_t i = at + threadIdx.x / 4;
        const int some = i < n ? THREADS : 0;
        if (MODE == LABEL) {
            flush_sum(own + i * THREADS, 1, some, a.m.within + i);
        } else {
            const size_t cluster = i / a.m.d, j = i % a.m.d;
            flush_sum(own + (cluster * a.chunks + j / a.group) * THREADS + j % a.group, a.group,
                      some / a.group, a.m.sum + i);
        }
    }
    for (size_t c = threadIdx.x; MODE <= LABEL && c < a.m.k; c += THREADS) {
        const int n = a.m.k <= MOST_COUNTED ? shared_at<int>(l.counts)[c] : 0;
        if (n != 0) {
            atomicAdd((unsigned long long *)a.m.count + c, (unsigned long long)(long long)n);
        }
    }
}

template <int MODE> __device__ __forceinline__ void leave(const pass_args &a, const layout &l)
{
    if (MODE == DRAW) {
        leave_draws(a, l);
    }
}

__device__ __forceinline__ void leave_farthest(const pass_args &a, struct kmeans_pick pick)
{
    __shared__ struct kmeans_pick picks[THREADS];
    kmeans_block_pick<THREADS>(&pick, picks);
    if (threadIdx.x == 0) {
        a.picks[blockIdx.x] = pick;
    }
}

} // namespace kmeans_pass

#endif
