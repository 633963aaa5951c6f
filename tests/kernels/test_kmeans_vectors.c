/*
 * test_kmeans_vectors - every instruction set that this processor has computes a tile of k-means as
 * the plain one does, bit for bit. (Sets that it lacks are not seen here.)
 */
#include "kernels/kmeans/kmeans_cpu.h"
#include "tests/support/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

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

static void check_nearest(const struct kmeans_vectors *set, const struct tile_case *c)
{
    const struct kmeans_rows rows = rows_of(c);
    struct kmeans_nearest *want = room(1, sizeof *want), *got = room(1, sizeof *got);
    double *plain = room(c->d * KMEANS_STRIDE, sizeof *plain);
    double *want_all = room(c->k * KMEANS_TILE, sizeof *want_all);
    double *got_all = room(c->k * KMEANS_TILE, sizeof *got_all);
    double *tile = room(c->d * KMEANS_STRIDE, sizeof *tile);
    for (int weighted = 0; weighted < 2; ++weighted) {
        const struct kmeans_centroids of = {c->centroid, weighted ? c->weight : NULL, c->k, c->d};
        base_set()->transpose(&rows, plain);
        base_set()->nearest(&of, plain, c->n, &rows, want);
        set->transpose(&rows, tile);
        set->nearest(&of, tile, c->n, &rows, got);
        for (size_t j = 0; j < c->d; ++j) {
            assert_memory_equal(tile + j * KMEANS_STRIDE, plain + j * KMEANS_STRIDE, 8 * c->n);
        }
        assert_memory_equal(got->d2, want->d2, 8 * c->n);
        assert_memory_equal(got->second, want->second, 8 * c->n);
        assert_memory_equal(got->label, want->label, 8 * c->n);
        base_set()->distances(&of, plain, c->n, want_all);
        set->distances(&of, tile, c->n, got_all);
        for (size_t i = 0; i < c->k; ++i) {
            assert_memory_equal(got_all + i * KMEANS_TILE, want_all + i * KMEANS_TILE, 8 * c->n);
        }
    }
    free(got_all);
    free(want_all);
    free(tile);
    free(plain);
    free(got);
    free(want);
}

static void check_add(const struct kmeans_vectors *set, const struct tile_case *c)
{
    const struct kmeans_rows rows = rows_of(c);
    const size_t n = 3 * c->d;
    int64_t *want = room(2 * n, sizeof *want), *got = room(2 * n, sizeof *got);
    double *per_unit = room(c->d, sizeof *per_unit);
    for (size_t j = 0; j < c->d; ++j) {
        per_unit[j] = 1 / kmeans_unit(16 + (double)(j * j));
    }
    const struct kmeans_sums plain = {want, want + n, per_unit}, sums = {got, got + n, per_unit};
    const size_t to = c->d, from = 2 * c->d;
    for (size_t i = 0; i < c->n; ++i) {
        base_set()->add(&plain, kmeans_row(&rows, i), c->type, c->d, to, i % 2 == 0 ? &from : NULL);
        set->add(&sums, kmeans_row(&rows, i), c->type, c->d, to, i % 2 == 0 ? &from : NULL);
    }
    assert_memory_equal(got, want, 2 * n * sizeof *got);
    free(per_unit);
    free(got);
    free(want);
}

/* Bounds from distances of all sizes, with points that stay at every place of a four. */
static void check_bounds(const struct kmeans_vectors *set, const struct tile_case *c)
{
    struct kmeans_nearest *found = room(1, sizeof *found);
    double *drift = room(2 * c->k, sizeof *drift);
    struct kmeans_bounds want[KMEANS_TILE], got[KMEANS_TILE],
        *limit = room(c->k + 1, sizeof *limit);
    uint16_t want_index[KMEANS_TILE], got_index[KMEANS_TILE];
    int32_t label[KMEANS_TILE];
    struct reference_random g = {c->n + 10 * c->d + c->k};
    static const double scale[] = {1, 1e-320, 1e-60, 1e60, 1e300, INFINITY};
    for (size_t i = 0; i < KMEANS_TILE; ++i) {
        const double by = scale[i % 7 < 6 ? i % 7 : 0];
        found->d2[i] = by * reference_uniform(&g);
        found->second[i] = found->d2[i] + (i % 5 == 0 ? 0 : by * reference_uniform(&g));
        found->label[i] = (int64_t)(i * 5 % c->k);
        label[i] = i % 11 == 10 ? 0 : (int32_t)(i * 5 % c->k) + 1;
    }
    limit[0] = (struct kmeans_bounds){INFINITY, -INFINITY};
    for (size_t i = 0; i < c->k; ++i) {
        drift[i] = reference_uniform(&g);
        drift[c->k + i] = reference_uniform(&g) * drift[i];
        limit[i + 1] = (struct kmeans_bounds){(float)drift[i] * 1.3F, 0.3F - (float)drift[i]};
    }
    const struct kmeans_drifts by = {drift, drift + c->k, c->d};
    base_set()->remember(found, c->n, &by, want);
    set->remember(found, c->n, &by, got);
    assert_memory_equal(got, want, c->n * sizeof *got);
    const size_t n = base_set()->moves(label, want, c->n, limit, want_index);
    assert_int_equal(set->moves(label, want, c->n, limit, got_index), n);
    assert_memory_equal(got_index, want_index, n * sizeof *got_index);
    free(limit);
    free(drift);
    free(found);
}

static void every_set_computes_what_the_plain_one_does(void **state)
{
    (void)state;
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
                    check_bounds(cpu_kmeans_set(s), &c);
                    check_add(cpu_kmeans_set(s), &c);
                    done(&c);
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_computes_what_the_plain_one_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
