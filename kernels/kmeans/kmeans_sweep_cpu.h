/*
 * kmeans_sweep_cpu - the functions of kmeans_cpu.h by vectors of SWEEP_BYTES (32 or 64), for a
 * source that has chosen its instruction set.
 *
 * Distances: POINTS vectors of points against CLUSTERS centroids at a time, so that as many chains
 * of fma are under way; a column costs a load a vector, a broadcast a centroid, and a difference
 * and an fma a pair. (x - c) and (c - x) have the same square. Transposing and adding up take
 * vectors of four cells in either set.
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

/* Points p .. p + SWEEP_STEP - 1 of the tile against centroids i .. i + n - 1. */
SWEEP_INLINE void sweep_block(const struct kmeans_centroids *c, const double *tile, size_t p,
                              size_t i, const size_t n, const bool weighted,
                              struct kmeans_nearest *out)
{
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
    for (size_t v = 0; v < POINTS; ++v) {
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

/* The counts of centroids are constants, so that the accumulators are registers. */
SWEEP_INLINE void sweep_points(const struct kmeans_centroids *c, const double *tile, size_t n,
                               size_t i, const size_t n_centroids, const bool weighted,
                               struct kmeans_nearest *out)
{
    for (size_t p = 0; p < n; p += SWEEP_STEP) {
        sweep_block(c, tile, p, i, n_centroids, weighted, out);
    }
}

SWEEP_INLINE void sweep_nearest(const struct kmeans_centroids *c, const double *tile, size_t n,
                                const bool weighted, struct kmeans_nearest *out)
{
    size_t i = 0;
    for (; i + CLUSTERS <= c->k; i += CLUSTERS) {
        sweep_points(c, tile, n, i, CLUSTERS, weighted, out);
    }
    if (CLUSTERS > 4 && i + 4 <= c->k) {
        sweep_points(c, tile, n, i, 4, weighted, out);
        i += 4;
    }
    if (i + 2 <= c->k) {
        sweep_points(c, tile, n, i, 2, weighted, out);
        i += 2;
    }
    if (i < c->k) {
        sweep_points(c, tile, n, i, 1, weighted, out);
    }
}

static void nearest(const struct kmeans_centroids *c, const double *tile, size_t n,
                    struct kmeans_nearest *out)
{
    for (size_t p = 0; p < KMEANS_TILE; ++p) {
        out->d2[p] = out->second[p] = (double)INFINITY;
        out->label[p] = 0;
    }
    if (c->weight == NULL) {
        sweep_nearest(c, tile, n, false, out);
    } else {
        sweep_nearest(c, tile, n, true, out);
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

SWEEP_INLINE void transpose_of(const void *const *rows, const enum dtype type, size_t n, size_t d,
                               double *tile)
{
    for (size_t p = 0; p < n; p += 4) {
        const void *four[4];
        for (size_t q = 0; q < 4; ++q) {
            four[q] = rows[p + q < n ? p + q : n - 1];
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

static void transpose(const void *const *rows, enum dtype type, size_t n, size_t d, double *tile)
{
    if (type == DTYPE_F32) {
        transpose_of(rows, DTYPE_F32, n, d, tile);
    } else {
        transpose_of(rows, DTYPE_F64, n, d, tile);
    }
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
        .name = (called), .transpose = transpose, .nearest = nearest, .add = add                   \
    }

#endif
