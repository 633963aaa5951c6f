/*
 * kmeans_cpu - distances of a tile of points, by each instruction set.
 *
 * A tile holds up to KMEANS_TILE points, transposed: column j of point p is
 * x[j * KMEANS_STRIDE + p]; copies of its last point fill it up to whole steps of KMEANS_STEP. All
 * sets give the same bits. What plain loops do as fast is in CPU_CLONES beside its caller.
 */
#ifndef LEAT_KERNELS_KMEANS_KMEANS_CPU_H
#define LEAT_KERNELS_KMEANS_KMEANS_CPU_H

#include "kernels/kmeans/kmeans.h"
#include "kernels/kmeans/kmeans_rule.h"

/* The stride is no power of two, so that a point's columns do not share a set of the cache. */
enum { KMEANS_TILE = 64, KMEANS_STRIDE = KMEANS_TILE + 8, KMEANS_STEP = 16 };

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

static inline const void *kmeans_row(const struct kmeans_rows *rows, size_t i)
{
    return (const char *)rows->at + rows->index[i] * rows->d * dtype_bytes(rows->type);
}

struct kmeans_vectors {
    const char *name;
    /* Of the n first points. Meanwhile the rows `ahead` come to the cache.
     */
    void (*nearest)(const struct kmeans_centroids *c, const double *tile, size_t n,
                    const struct kmeans_rows *ahead, struct kmeans_nearest *out);
    /* Of the n first points to each of the centroids: those to number i are out[i * KMEANS_TILE]
     * and so on, with room for KMEANS_TILE. */
    void (*distances)(const struct kmeans_centroids *c, const double *tile, size_t n, double *out);
};

extern const struct kmeans_vectors cpu_kmeans_base, cpu_kmeans_avx2, cpu_kmeans_avx512;
/* Set i of those that this processor has, the best first; NULL: no more. */
const struct kmeans_vectors *cpu_kmeans_set(size_t i);

#endif
