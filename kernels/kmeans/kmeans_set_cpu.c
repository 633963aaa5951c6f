/*
 * kmeans_set_cpu - distances in each instruction set; number by number for processors without fused
 * multiply-add.
 */
#include "kernels/base/sets_cpu.h"
#include "kernels/kmeans/kmeans_cpu.h"

#if CPU_SET_BYTES > 16

#define SWEEP_BYTES CPU_SET_BYTES
#include "kernels/kmeans/kmeans_sweep_cpu.h"

#else

static double distance(const struct kmeans_centroids *c, const double *tile, size_t p, size_t i)
{
    double d2 = 0;
    for (size_t j = 0; j < c->d; ++j) {
        d2 = kmeans_add_column(d2, tile[j * KMEANS_STRIDE + p], c->at[i * c->d + j],
                               c->weight == NULL ? 1 : c->weight[j]);
    }
    return d2;
}

static void distances(const struct kmeans_centroids *c, const double *tile, size_t n, double *out)
{
    for (size_t i = 0; i < c->k; ++i) {
        for (size_t p = 0; p < n; ++p) {
            out[i * KMEANS_TILE + p] = distance(c, tile, p, i);
        }
    }
}

static void nearest(const struct kmeans_centroids *c, const double *tile, size_t n,
                    const struct kmeans_rows *ahead, struct kmeans_nearest *out)
{
    (void)ahead;
    for (size_t p = 0; p < n; ++p) {
        out->d2[p] = out->second[p] = (double)INFINITY;
        out->label[p] = 0;
        for (size_t i = 0; i < c->k; ++i) {
            const double d2 = distance(c, tile, p, i);
            if (d2 < out->d2[p]) {
                out->second[p] = out->d2[p];
                out->d2[p] = d2;
                out->label[p] = (int64_t)i;
            } else if (d2 < out->second[p]) {
                out->second[p] = d2;
            }
        }
    }
}

#endif

const struct kmeans_vectors CPU_SET_OF(cpu_kmeans) = {CPU_SET_NAME, nearest, distances};

CPU_SET_CHOICE(struct kmeans_vectors, kmeans)
