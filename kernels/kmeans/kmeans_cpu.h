/*
 * kmeans_cpu - what is computed of a tile of points, and of their bounds, by each instruction set.
 *
 * A tile holds up to KMEANS_TILE points, transposed: column j of point p is
 * x[j * KMEANS_STRIDE + p]. All sets give the same bits.
 */
#ifndef LEAT_KERNELS_KMEANS_KMEANS_CPU_H
#define LEAT_KERNELS_KMEANS_KMEANS_CPU_H

#include "kernels/kmeans/kmeans.h"
#include "kernels/kmeans/kmeans_rule.h"

/* The stride is no power of two, so that a point's columns do not share a set of the cache. */
enum { KMEANS_TILE = 64, KMEANS_STRIDE = KMEANS_TILE + 8 };

/* Centroids to compare with; weight NULL: all are 1. */
struct kmeans_centroids {
    const double *at, *weight;
    size_t k, d;
};

/* n rows of d numbers: row i is number index[i] of those at `at`. */
struct kmeans_rows {
    const void *at;
    enum dtype type;
    size_t d, n;
    const uint16_t *index;
};

/* For each point of a tile. */
struct kmeans_nearest {
    double d2[KMEANS_TILE] __attribute__((aligned(64)));
    double second[KMEANS_TILE] __attribute__((aligned(64))); /* the least d2 of another centroid */
    int64_t label[KMEANS_TILE] __attribute__((aligned(64)));
};

/* What centroids have moved: KMEANS_DRIFT_GAP, KMEANS_DRIFT_MOVED; of d columns. */
struct kmeans_drifts {
    const double *gap, *moved;
    size_t d;
};

/* What cells are added to: of cluster c and column j, entry c * d + j. */
struct kmeans_sums {
    int64_t *high, *low;
    const double *per_unit; /* [d] */
};

static inline const void *kmeans_row(const struct kmeans_rows *rows, size_t i)
{
    return (const char *)rows->at + rows->index[i] * rows->d * dtype_bytes(rows->type);
}

static inline double kmeans_cell(const void *row, enum dtype type, size_t j)
{
    return type == DTYPE_F32 ? (double)((const float *)row)[j] : ((const double *)row)[j];
}

/* 1: by these bounds a point may move to another cluster; 0: it stays. */
static inline size_t kmeans_may_move(struct kmeans_bounds b, struct kmeans_bounds limit)
{
    return kmeans_stays(b.gap, b.upper, (double)limit.gap, (double)limit.upper) ? 0 : 1;
}

struct kmeans_vectors {
    const char *name;
    /* Rows, 1 to KMEANS_TILE, into a tile aligned to 64 bytes. */
    void (*transpose)(const struct kmeans_rows *rows, double *tile);
    /* Of the n first points, n as it was transposed. Meanwhile the rows `ahead` come to the cache.
     */
    void (*nearest)(const struct kmeans_centroids *c, const double *tile, size_t n,
                    const struct kmeans_rows *ahead, struct kmeans_nearest *out);
    /* Of the n first points to each of the centroids: those to number i are out[i * KMEANS_TILE]
     * and so on, with room for KMEANS_TILE. */
    void (*distances)(const struct kmeans_centroids *c, const double *tile, size_t n, double *out);
    /* What the n first points remember; `out` has room for KMEANS_TILE. */
    void (*remember)(const struct kmeans_nearest *found, size_t n, const struct kmeans_drifts *by,
                     struct kmeans_bounds *out);
    /* Which of n points may move to another cluster: their numbers, in order; returns how many.
     * limit[l] is for those whose label is l. `index` has room for n. */
    size_t (*moves)(const int32_t *label, const struct kmeans_bounds *bounds, size_t n,
                    const struct kmeans_bounds *limit, uint16_t *index);
    /* Adds a row of d numbers to the entries from `to` on, and takes it from those from `*from` on,
     * if not NULL. */
    void (*add)(const struct kmeans_sums *sums, const void *row, enum dtype type, size_t d,
                size_t to, const size_t *from);
};

#if defined(__x86_64__)
extern const struct kmeans_vectors cpu_kmeans_avx2, cpu_kmeans_avx512;
#endif

/* Set i of those that this processor has, the best first; NULL: no more. */
const struct kmeans_vectors *cpu_kmeans_set(size_t i);

#endif
