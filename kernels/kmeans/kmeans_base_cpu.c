/*
 * kmeans_base_cpu - distances number by number, for processors without fused multiply-add, and the
 * choice between the sets.
 */
#include "kernels/kmeans/kmeans_cpu.h"

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

static const struct kmeans_vectors cpu_kmeans_base = {"base", nearest, distances};

const struct kmeans_vectors *cpu_kmeans_set(size_t i)
{
    const struct kmeans_vectors *sets[4] = {0};
    size_t n = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("fma")) {
        if (__builtin_cpu_supports("avx512f")) {
            sets[n++] = &cpu_kmeans_avx512;
        }
        if (__builtin_cpu_supports("avx2")) {
            sets[n++] = &cpu_kmeans_avx2;
        }
    }
#endif
    sets[n++] = &cpu_kmeans_base;
    return i < n ? sets[i] : NULL;
}
