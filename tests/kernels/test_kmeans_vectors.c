/*
 * test_kmeans_vectors - a tile of k-means holds its rows, and every instruction set that this
 * processor has computes it as the plain one does, bit for bit. (Sets that it lacks are not seen
 * here.)
 */
#include "kernels/kmeans/kmeans_pass_cpu.h"
#include "tests/support/reference.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>

struct tile_case {
    size_t n, d, k;
    enum dtype type;
    double *x, *centroid, *weight;
    float *narrow;
    uint16_t index[KMEANS_TILE];
};

static void *room(size_t n, size_t size)
{
    void *p = aligned_alloc(64, (n * size + 127) / 64 * 64);
    assert_non_null(p);
    memset(p, 0x5a, (n * size + 127) / 64 * 64);
    return p;
}

static struct tile_case make(size_t n, size_t d, size_t k, enum dtype type)
{
    struct tile_case c = {.n = n, .d = d, .k = k, .type = type};
    struct reference_random g = {n + 100 * d + 10000 * k};
    c.x = room(n * d, sizeof *c.x);
    c.narrow = room(n * d, sizeof *c.narrow);
    c.centroid = room(k * d, sizeof *c.centroid);
    c.weight = room(d, sizeof *c.weight);
    for (size_t i = 0; i < n * d; ++i) {
        c.x[i] = i % 11 == 3 ? floor(reference_normal(&g)) : reference_normal(&g);
        c.narrow[i] = (float)c.x[i];
    }
    for (size_t i = 0; i < k * d; ++i) {
        c.centroid[i] = i % 5 == 0 ? floor(reference_normal(&g)) : reference_normal(&g);
        c.centroid[i] = i >= d && i / d % 4 == 2 ? c.centroid[i - d] : c.centroid[i]; /* ties */
    }
    for (size_t j = 0; j < d; ++j) {
        c.weight[j] = 0.3 + reference_uniform(&g);
    }
    for (size_t i = 0; i < n; ++i) { /* not in order */
        c.index[i] = (uint16_t)((i * 7 + 3) % n);
    }
    return c;
}

static struct kmeans_rows rows_of(const struct tile_case *c)
{
    const void *at = c->type == DTYPE_F32 ? (const void *)c->narrow : (const void *)c->x;
    return (struct kmeans_rows){at, c->type, c->d, c->n, c->index};
}

static void done(struct tile_case *c)
{
    free(c->x);
    free(c->narrow);
    free(c->centroid);
    free(c->weight);
}

static const struct kmeans_vectors *base_set(void)
{
    const struct kmeans_vectors *set = NULL;
    for (size_t i = 0; cpu_kmeans_set(i) != NULL; ++i) {
        set = cpu_kmeans_set(i);
    }
    assert_non_null(set);
    assert_string_equal(set->name, "base");
    return set;
}

/* Up to a whole step a tile holds copies of its last row. */
static void check_tile(const struct tile_case *c, const double *tile)
{
    const struct kmeans_rows rows = rows_of(c);
    for (size_t p = 0; p < c->n || p % KMEANS_STEP != 0; ++p) {
        const void *row = kmeans_row(&rows, p < c->n ? p : c->n - 1);
        for (size_t j = 0; j < c->d; ++j) {
            const double want = dtype_real(c->type, row, j);
            assert_memory_equal(tile + j * KMEANS_STRIDE + p, &want, sizeof want);
        }
    }
}

static void check_nearest(const struct kmeans_vectors *set, const struct tile_case *c)
{
    const struct kmeans_rows rows = rows_of(c);
    struct kmeans_nearest *want = room(1, sizeof *want), *got = room(1, sizeof *got);
    double *want_all = room(c->k * KMEANS_TILE, sizeof *want_all);
    double *got_all = room(c->k * KMEANS_TILE, sizeof *got_all);
    double *tile = room(c->d * KMEANS_STRIDE, sizeof *tile);
    kmeans_transpose(&rows, tile);
    check_tile(c, tile);
    for (int weighted = 0; weighted < 2; ++weighted) {
        const struct kmeans_centroids of = {c->centroid, weighted ? c->weight : NULL, c->k, c->d};
        base_set()->nearest(&of, tile, c->n, &rows, want);
        set->nearest(&of, tile, c->n, &rows, got);
        assert_memory_equal(got->d2, want->d2, 8 * c->n);
        assert_memory_equal(got->second, want->second, 8 * c->n);
        assert_memory_equal(got->label, want->label, 8 * c->n);
        base_set()->distances(&of, tile, c->n, want_all);
        set->distances(&of, tile, c->n, got_all);
        for (size_t i = 0; i < c->k; ++i) {
            assert_memory_equal(got_all + i * KMEANS_TILE, want_all + i * KMEANS_TILE, 8 * c->n);
        }
    }
    free(got_all);
    free(want_all);
    free(tile);
    free(got);
    free(want);
}

TEST(every_set_computes_what_the_plain_one_does)
{
    static const size_t points[] = {1, 3, 4, 5, 8, 13, 16, 31, 63, 64};
    static const size_t columns[] = {1, 2, 3, 4, 5, 8, 17, 70};
    static const size_t clusters[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 33};
    for (size_t s = 0; cpu_kmeans_set(s) != NULL; ++s) {
        print_message("%s\n", cpu_kmeans_set(s)->name);
        for (size_t a = 0; a < sizeof points / sizeof *points; ++a) {
            for (size_t b = 0; b < sizeof columns / sizeof *columns; ++b) {
                for (size_t i = 0; i < sizeof clusters / sizeof *clusters; ++i) {
                    struct tile_case c = make(points[a], columns[b], clusters[i],
                                              (a + b) % 2 ? DTYPE_F32 : DTYPE_F64);
                    check_nearest(cpu_kmeans_set(s), &c);
                    done(&c);
                }
            }
        }
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
