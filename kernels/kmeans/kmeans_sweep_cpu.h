/*
 * kmeans_sweep_cpu - the functions of kmeans_cpu.h by vectors of SWEEP_BYTES (32 or 64), for a
 * source that has chosen its instruction set.
 *
 * Distances: POINTS vectors of points against CLUSTERS centroids at a time, so that as many chains
 * of fma are under way; a column costs a load a vector, a broadcast a centroid, and a difference
 * and an fma a pair. (x - c) and (c - x) have the same square. The floor: d fma and 5 operations
 * for the two least of a vector and centroid; with two such units, and d = 16, 10.5 cycles. It
 * takes 12.2 with AVX2; 6 centroids at a time, or tiles of half the size, gain 0 to 5 %.
 * Transposing, adding up and bounds take vectors of four in either set.
 */
#ifndef LEAT_KERNELS_KMEANS_KMEANS_SWEEP_CPU_H
#define LEAT_KERNELS_KMEANS_KMEANS_SWEEP_CPU_H

#include "kernels/kmeans/kmeans_cpu.h"

#include <immintrin.h>

#define SWEEP_INLINE static inline __attribute__((always_inline))

#if SWEEP_BYTES == 64
typedef __m512d sweep_real;
enum { LANES = 8, CLUSTERS = 8 };
#define sweep_all(x)       _mm512_set1_pd(x)
#define sweep_load(p)      _mm512_loadu_pd(p)
#define sweep_store(p, v)  _mm512_storeu_pd(p, v)
#define sweep_minus(a, b)  _mm512_sub_pd(a, b)
#define sweep_times(a, b)  _mm512_mul_pd(a, b)
#define sweep_fma(a, b, c) _mm512_fmadd_pd(a, b, c)
#define sweep_min(a, b)    _mm512_min_pd(a, b)
#define sweep_max(a, b)    _mm512_max_pd(a, b)
/* `label` where d2 < best */
SWEEP_INLINE sweep_real sweep_choose(sweep_real d2, sweep_real best, sweep_real label,
                                     sweep_real before)
{
    return _mm512_mask_blend_pd(_mm512_cmp_pd_mask(d2, best, _CMP_LT_OQ), before, label);
}
#define sweep_number(i) _mm512_castsi512_pd(_mm512_set1_epi64((long long)(i)))
#else
typedef __m256d sweep_real;
enum { LANES = 4, CLUSTERS = 4 };
#define sweep_all(x)       _mm256_set1_pd(x)
#define sweep_load(p)      _mm256_loadu_pd(p)
#define sweep_store(p, v)  _mm256_storeu_pd(p, v)
#define sweep_minus(a, b)  _mm256_sub_pd(a, b)
#define sweep_times(a, b)  _mm256_mul_pd(a, b)
#define sweep_fma(a, b, c) _mm256_fmadd_pd(a, b, c)
#define sweep_min(a, b)    _mm256_min_pd(a, b)
#define sweep_max(a, b)    _mm256_max_pd(a, b)
SWEEP_INLINE sweep_real sweep_choose(sweep_real d2, sweep_real best, sweep_real label,
                                     sweep_real before)
{
    return _mm256_blendv_pd(before, label, _mm256_cmp_pd(d2, best, _CMP_LT_OQ));
}
#define sweep_number(i)    _mm256_castsi256_pd(_mm256_set1_epi64x((long long)(i)))
#endif

enum { POINTS = 2, SWEEP_STEP = POINTS * LANES };

/* --- distances ------------------------------------------------------------------------------- */

/* What becomes of distances: the nearest, or all of them (kmeans_cpu.h). */
struct sweep_out {
    struct kmeans_nearest *nearest; /* or NULL */
    double *all;
};

/* Points p .. p + SWEEP_STEP - 1 of the tile against centroids i .. i + n - 1. */
SWEEP_INLINE void sweep_block(const struct kmeans_centroids *c, const double *tile, size_t p,
                              size_t i, const size_t n, const bool weighted,
                              const struct sweep_out to)
{
    struct kmeans_nearest *out = to.nearest;
    const double *centroid = c->at + i * c->d;
    sweep_real d2[CLUSTERS][POINTS];
    for (size_t a = 0; a < n; ++a) {
        for (size_t v = 0; v < POINTS; ++v) {
            d2[a][v] = sweep_all(0.0);
        }
    }
    for (size_t j = 0; j < c->d; ++j) {
        sweep_real x[POINTS];
        for (size_t v = 0; v < POINTS; ++v) {
            x[v] = sweep_load(tile + j * KMEANS_STRIDE + p + v * LANES);
        }
        for (size_t a = 0; a < n; ++a) {
            const sweep_real at = sweep_all(centroid[a * c->d + j]);
            for (size_t v = 0; v < POINTS; ++v) {
                sweep_real t = sweep_minus(x[v], at);
                if (weighted) {
                    t = sweep_times(t, sweep_all(c->weight[j]));
                }
                d2[a][v] = sweep_fma(t, t, d2[a][v]);
            }
        }
    }
    for (size_t a = 0; out == NULL && a < n; ++a) {
        for (size_t v = 0; v < POINTS; ++v) {
            sweep_store(to.all + (i + a) * KMEANS_TILE + p + v * LANES, d2[a][v]);
        }
    }
    for (size_t v = 0; out != NULL && v < POINTS; ++v) {
        const size_t at = p + v * LANES;
        sweep_real best = sweep_load(out->d2 + at), second = sweep_load(out->second + at);
        sweep_real label = sweep_load((const double *)(const void *)(out->label + at));
        for (size_t a = 0; a < n; ++a) {
            label = sweep_choose(d2[a][v], best, sweep_number(i + a), label);
            second = sweep_min(sweep_max(best, d2[a][v]), second);
            best = sweep_min(d2[a][v], best);
        }
        sweep_store(out->d2 + at, best);
        sweep_store(out->second + at, second);
        sweep_store((double *)(void *)(out->label + at), label);
    }
}

/* Rows that come to the cache: some with each block, as more would wait for each other. */
struct sweep_ahead {
    const struct kmeans_rows *rows;
    size_t fetched, step; /* rows, and rows with a block */
};

/* Of a long row the processor fetches the rest by itself. */
SWEEP_INLINE void sweep_fetch(struct sweep_ahead *ahead)
{
    const size_t bytes = ahead->rows->d * dtype_bytes(ahead->rows->type);
    for (size_t i = 0; i < ahead->step && ahead->fetched < ahead->rows->n; ++i) {
        const char *row = kmeans_row(ahead->rows, ahead->fetched++);
        for (size_t at = 0; at < bytes && at < 512; at += 64) {
            _mm_prefetch(row + at, _MM_HINT_T0);
        }
    }
}

/* The counts of centroids are constants, so that the accumulators are registers. */
SWEEP_INLINE void sweep_points(const struct kmeans_centroids *c, const double *tile, size_t n,
                               size_t i, const size_t n_centroids, const bool weighted,
                               struct sweep_ahead *ahead, const struct sweep_out out)
{
    for (size_t p = 0; p < n; p += SWEEP_STEP) {
        if (ahead != NULL) {
            sweep_fetch(ahead);
        }
        sweep_block(c, tile, p, i, n_centroids, weighted, out);
    }
}

SWEEP_INLINE void sweep_all_of(const struct kmeans_centroids *c, const double *tile, size_t n,
                               const bool weighted, struct sweep_ahead *ahead,
                               const struct sweep_out out)
{
    size_t i = 0;
    for (; i + CLUSTERS <= c->k; i += CLUSTERS) {
        sweep_points(c, tile, n, i, CLUSTERS, weighted, ahead, out);
    }
    if (CLUSTERS > 4 && i + 4 <= c->k) {
        sweep_points(c, tile, n, i, 4, weighted, ahead, out);
        i += 4;
    }
    if (i + 2 <= c->k) {
        sweep_points(c, tile, n, i, 2, weighted, ahead, out);
        i += 2;
    }
    if (i < c->k) {
        sweep_points(c, tile, n, i, 1, weighted, ahead, out);
    }
}

static void nearest(const struct kmeans_centroids *c, const double *tile, size_t n,
                    const struct kmeans_rows *rows_ahead, struct kmeans_nearest *out)
{
    const size_t n_blocks = (n + SWEEP_STEP - 1) / SWEEP_STEP * ((c->k + CLUSTERS - 1) / CLUSTERS);
    struct sweep_ahead ahead = {rows_ahead, 0, (rows_ahead->n + n_blocks - 1) / n_blocks};
    for (size_t p = 0; p < KMEANS_TILE; ++p) {
        out->d2[p] = out->second[p] = (double)INFINITY;
        out->label[p] = 0;
    }
    const struct sweep_out to = {out, NULL};
    if (c->weight == NULL) {
        sweep_all_of(c, tile, n, false, &ahead, to);
    } else {
        sweep_all_of(c, tile, n, true, &ahead, to);
    }
}

static void distances(const struct kmeans_centroids *c, const double *tile, size_t n, double *out)
{
    const struct sweep_out to = {NULL, out};
    if (c->weight == NULL) {
        sweep_all_of(c, tile, n, false, NULL, to);
    } else {
        sweep_all_of(c, tile, n, true, NULL, to);
    }
}

/* --- cells ----------------------------------------------------------------------------------- */

SWEEP_INLINE __m256d four_cells(const void *row, const enum dtype type, size_t j)
{
    return type == DTYPE_F32 ? _mm256_cvtps_pd(_mm_loadu_ps((const float *)row + j))
                             : _mm256_loadu_pd((const double *)row + j);
}

/* Four columns of four points. */
SWEEP_INLINE void transpose_four(const void *const *row, const enum dtype type, size_t j,
                                 double *to)
{
    const __m256d a = four_cells(row[0], type, j), b = four_cells(row[1], type, j);
    const __m256d c = four_cells(row[2], type, j), d = four_cells(row[3], type, j);
    const __m256d ab0 = _mm256_unpacklo_pd(a, b), ab1 = _mm256_unpackhi_pd(a, b);
    const __m256d cd0 = _mm256_unpacklo_pd(c, d), cd1 = _mm256_unpackhi_pd(c, d);
    _mm256_storeu_pd(to + (size_t)0 * KMEANS_STRIDE, _mm256_permute2f128_pd(ab0, cd0, 0x20));
    _mm256_storeu_pd(to + (size_t)1 * KMEANS_STRIDE, _mm256_permute2f128_pd(ab1, cd1, 0x20));
    _mm256_storeu_pd(to + (size_t)2 * KMEANS_STRIDE, _mm256_permute2f128_pd(ab0, cd0, 0x31));
    _mm256_storeu_pd(to + (size_t)3 * KMEANS_STRIDE, _mm256_permute2f128_pd(ab1, cd1, 0x31));
}

SWEEP_INLINE void transpose_of(const struct kmeans_rows *rows, const enum dtype type, double *tile)
{
    const size_t n = rows->n, d = rows->d;
    for (size_t p = 0; p < n; p += 4) {
        const void *four[4];
        for (size_t q = 0; q < 4; ++q) {
            four[q] = kmeans_row(rows, p + q < n ? p + q : n - 1);
        }
        size_t j = 0;
        for (; j + 4 <= d; j += 4) {
            transpose_four(four, type, j, tile + j * KMEANS_STRIDE + p);
        }
        for (; j < d; ++j) {
            for (size_t q = 0; q < 4; ++q) {
                tile[j * KMEANS_STRIDE + p + q] = kmeans_cell(four[q], type, j);
            }
        }
    }
    /* whole steps of points, of which those behind the last four are copies of the first four */
    for (size_t p = (n + 3) / 4 * 4; p % SWEEP_STEP != 0; p += 4) {
        for (size_t j = 0; j < d; ++j) {
            _mm256_storeu_pd(tile + j * KMEANS_STRIDE + p,
                             _mm256_loadu_pd(tile + j * KMEANS_STRIDE));
        }
    }
}

static void transpose(const struct kmeans_rows *rows, double *tile)
{
    if (rows->type == DTYPE_F32) {
        transpose_of(rows, DTYPE_F32, tile);
    } else {
        transpose_of(rows, DTYPE_F64, tile);
    }
}

/* --- bounds ---------------------------------------------------------------------------------- */

/* kmeans_float_below() */
SWEEP_INLINE __m128 four_below(__m256d x)
{
    const __m256d most = _mm256_set1_pd(0x1p127), in = _mm256_min_pd(most, x);
    const __m256d size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), in);
    const __m256d slack =
        _mm256_add_pd(_mm256_mul_pd(size, _mm256_set1_pd(0x1p-23)), _mm256_set1_pd(0x1p-149));
    return _mm256_cvtpd_ps(_mm256_sub_pd(in, slack));
}

/* kmeans_remember() of four points at a time: a tile has whole fours. */
static void remember(const struct kmeans_nearest *found, size_t n, const struct kmeans_drifts *by,
                     struct kmeans_bounds *out)
{
    const __m256d each = _mm256_set1_pd(((double)by->d + 16) * 0x1p-50);
    for (size_t i = 0; i < n; i += 4) {
        const __m256i c = _mm256_load_si256((const void *)(found->label + i));
        const __m256d drift = _mm256_i64gather_pd(by->gap, c, 8);
        const __m256d moved = _mm256_i64gather_pd(by->moved, c, 8);
        const __m256d own = _mm256_sqrt_pd(_mm256_load_pd(found->d2 + i));
        const __m256d second = _mm256_min_pd(_mm256_sqrt_pd(_mm256_load_pd(found->second + i)),
                                             _mm256_set1_pd(0x1p511));
        const __m256d slack = _mm256_mul_pd(_mm256_add_pd(second, drift), each);
        const __m256d gap = _mm256_sub_pd(_mm256_sub_pd(_mm256_sub_pd(second, own), slack),
                                          _mm256_set1_pd(0x1p-497));
        const __m256d upper = _mm256_add_pd(own, _mm256_mul_pd(_mm256_add_pd(own, moved), each));
        const __m128 g = four_below(_mm256_add_pd(gap, drift));
        const __m128 u = _mm_xor_ps(_mm_set1_ps(-0.0F), four_below(_mm256_sub_pd(moved, upper)));
        _mm_storeu_ps((float *)(out + i), _mm_unpacklo_ps(g, u));
        _mm_storeu_ps((float *)(out + i + 2), _mm_unpackhi_ps(g, u));
    }
}

SWEEP_INLINE __m128 two_limits(const struct kmeans_bounds *a, const struct kmeans_bounds *b)
{
    return _mm_loadh_pi(_mm_loadl_pi(_mm_setzero_ps(), (const __m64 *)(const void *)a),
                        (const __m64 *)(const void *)b);
}

/* kmeans_may_move() of four points at a time. */
static size_t moves(const int32_t *label, const struct kmeans_bounds *bounds, size_t n,
                    const struct kmeans_bounds *limit, uint16_t *index)
{
    size_t n_moves = 0, i = 0;
    for (; i + 4 <= n; i += 4) {
        const int32_t *c = label + i;
        const __m256 at = _mm256_set_m128(two_limits(limit + c[2], limit + c[3]),
                                          two_limits(limit + c[0], limit + c[1]));
        const __m256 own = _mm256_loadu_ps((const float *)(bounds + i));
        const __m256 keeps = _mm256_blend_ps(_mm256_cmp_ps(own, at, _CMP_GT_OQ),
                                             _mm256_cmp_ps(own, at, _CMP_LT_OQ), 0xaa);
        const unsigned bits = (unsigned)_mm256_movemask_ps(keeps);
        const unsigned stays = (bits | bits >> 1) & 0x55;
        for (unsigned p = 0; stays != 0x55 && p < 4; ++p) {
            index[n_moves] = (uint16_t)(i + p);
            n_moves += 1 ^ (stays >> 2 * p & 1);
        }
    }
    for (; i < n; ++i) {
        index[n_moves] = (uint16_t)i;
        n_moves += kmeans_may_move(bounds[i], limit[label[i]]);
    }
    return n_moves;
}

/* --- sums ------------------------------------------------------------------------------------ */

SWEEP_INLINE void add_integers(int64_t *to, __m256i v)
{
    __m256i *at = (__m256i *)(void *)to;
    _mm256_storeu_si256(at, _mm256_add_epi64(_mm256_loadu_si256(at), v));
}

SWEEP_INLINE void take_integers(int64_t *from, __m256i v)
{
    __m256i *at = (__m256i *)(void *)from;
    _mm256_storeu_si256(at, _mm256_sub_epi64(_mm256_loadu_si256(at), v));
}

/* kmeans_split() of four cells, and of one. */
SWEEP_INLINE void add_of(const struct kmeans_sums *sums, const void *row, const enum dtype type,
                         size_t d, size_t to, const size_t *from)
{
    const __m256d shift = _mm256_set1_pd(KMEANS_TO_INTEGER);
    const __m256i zero = _mm256_castpd_si256(shift);
    size_t j = 0;
    for (; j + 4 <= d; j += 4) {
        const __m256d units =
            _mm256_mul_pd(four_cells(row, type, j), _mm256_loadu_pd(sums->per_unit + j));
        const __m256d high = _mm256_add_pd(units, shift);
        const __m256d rest = _mm256_sub_pd(units, _mm256_sub_pd(high, shift));
        const __m256d low = _mm256_fmadd_pd(rest, _mm256_set1_pd(0x1p50), shift);
        const __m256i h = _mm256_sub_epi64(_mm256_castpd_si256(high), zero);
        const __m256i l = _mm256_sub_epi64(_mm256_castpd_si256(low), zero);
        add_integers(sums->high + to + j, h);
        add_integers(sums->low + to + j, l);
        if (from != NULL) {
            take_integers(sums->high + *from + j, h);
            take_integers(sums->low + *from + j, l);
        }
    }
    for (; j < d; ++j) {
        const struct kmeans_number v = kmeans_split(kmeans_cell(row, type, j), sums->per_unit[j]);
        sums->high[to + j] += v.high;
        sums->low[to + j] += v.low;
        if (from != NULL) {
            sums->high[*from + j] -= v.high;
            sums->low[*from + j] -= v.low;
        }
    }
}

static void add(const struct kmeans_sums *sums, const void *row, enum dtype type, size_t d,
                size_t to, const size_t *from)
{
    if (type == DTYPE_F32) {
        add_of(sums, row, DTYPE_F32, d, to, from);
    } else {
        add_of(sums, row, DTYPE_F64, d, to, from);
    }
}

#define KMEANS_VECTORS(called)                                                                     \
    {                                                                                              \
        (called), transpose, nearest, distances, remember, moves, add                              \
    }

#endif
