/*
 * kmeans_sweep_cpu - the functions of kmeans_cpu.h by vectors of SWEEP_BYTES (32 or 64), for a
 * source that has chosen its instruction set. Plain loops in CPU_CLONES take 1.3 to 1.5 times as
 * long, those of 32 bytes 1.2 to 1.3 times as those of 64 (Xeon).
 *
 * POINTS vectors of points against CLUSTERS centroids at a time, so that as many chains of fma are
 * under way; a column costs a load a vector, a broadcast a centroid, and a difference and an fma a
 * pair. (x - c) and (c - x) have the same square. The floor: d fma and 5 operations
 * for the two least of a vector and centroid; with two such units, and d = 16, 10.5 cycles. It
 * takes 12.2 with AVX2; 6 centroids at a time, or tiles of half the size, gain 0 to 5 %.
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
_Static_assert(KMEANS_STEP % SWEEP_STEP == 0, "a tile is filled up to whole steps");

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

#endif
