/*
 * kmeans_base_cpu - tiles number by number, for processors without fused multiply-add, and the
 * choice between the sets.
 */
#include "kernels/kmeans/kmeans_cpu.h"

static void transpose(const struct kmeans_rows *rows, double *tile)
{
    for (size_t p = 0; p < rows->n; ++p) {
        for (size_t j = 0; j < rows->d; ++j) {
            tile[j * KMEANS_STRIDE + p] = kmeans_cell(kmeans_row(rows, p), rows->type, j);
        }
    }
}

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

static void remember(const struct kmeans_nearest *found, size_t n, const struct kmeans_drifts *by,
                     struct kmeans_bounds *out)
{
    for (size_t i = 0; i < n; ++i) {
        const int64_t c = found->label[i];
        out[i] = kmeans_remember(found->d2[i], found->second[i], by->gap[c], by->moved[c], by->d);
    }
}

static size_t moves(const int32_t *label, const struct kmeans_bounds *bounds, size_t n,
                    const struct kmeans_bounds *limit, uint16_t *index)
{
    size_t n_moves = 0;
    for (size_t i = 0; i < n; ++i) {
        index[n_moves] = (uint16_t)i;
        n_moves += kmeans_may_move(bounds[i], limit[label[i]]);
    }
    return n_moves;
}

static void add(const struct kmeans_sums *sums, const void *row, enum dtype type, size_t d,
                size_t to, const size_t *from)
{
    for (size_t j = 0; j < d; ++j) {
        const struct kmeans_number v = kmeans_split(kmeans_cell(row, type, j), sums->per_unit[j]);
        sums->high[to + j] += v.high;
        sums->low[to + j] += v.low;
        if (from != NULL) {
            sums->high[*from + j] -= v.high;
            sums->low[*from + j] -= v.low;
        }
    }
}

static const struct kmeans_vectors cpu_kmeans_base = {"base",   transpose, nearest, distances,
                                                      remember, moves,     add};

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
