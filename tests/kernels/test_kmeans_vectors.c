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
    const void *rows[KMEANS_TILE];
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
        const size_t p = (i * 7 + 3) % n;
        c.rows[i] =
            type == DTYPE_F32 ? (const void *)(c.narrow + p * d) : (const void *)(c.x + p * d);
    }
    return c;
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
    struct kmeans_nearest *want = room(1, sizeof *want), *got = room(1, sizeof *got);
    double *plain = room(c->d * KMEANS_STRIDE, sizeof *plain);
    double *tile = room(c->d * KMEANS_STRIDE, sizeof *tile);
    for (int weighted = 0; weighted < 2; ++weighted) {
        const struct kmeans_centroids of = {c->centroid, weighted ? c->weight : NULL, c->k, c->d};
        base_set()->transpose(c->rows, c->type, c->n, c->d, plain);
        base_set()->nearest(&of, plain, c->n, want);
        set->transpose(c->rows, c->type, c->n, c->d, tile);
        set->nearest(&of, tile, c->n, got);
        for (size_t j = 0; j < c->d; ++j) {
            assert_memory_equal(tile + j * KMEANS_STRIDE, plain + j * KMEANS_STRIDE, 8 * c->n);
        }
        assert_memory_equal(got->d2, want->d2, 8 * c->n);
        assert_memory_equal(got->second, want->second, 8 * c->n);
        assert_memory_equal(got->label, want->label, 8 * c->n);
    }
    free(tile);
    free(plain);
    free(got);
    free(want);
}

static void check_add(const struct kmeans_vectors *set, const struct tile_case *c)
{
    const size_t n = 3 * c->d;
    int64_t *want = room(2 * n, sizeof *want), *got = room(2 * n, sizeof *got);
    double *per_unit = room(c->d, sizeof *per_unit);
    for (size_t j = 0; j < c->d; ++j) {
        per_unit[j] = 1 / kmeans_unit(16 + (double)(j * j));
    }
    const struct kmeans_sums plain = {want, want + n, per_unit}, sums = {got, got + n, per_unit};
    const size_t to = c->d, from = 2 * c->d;
    for (size_t i = 0; i < c->n; ++i) {
        base_set()->add(&plain, c->rows[i], c->type, c->d, to, i % 2 == 0 ? &from : NULL);
        set->add(&sums, c->rows[i], c->type, c->d, to, i % 2 == 0 ? &from : NULL);
    }
    assert_memory_equal(got, want, 2 * n * sizeof *got);
    free(per_unit);
    free(got);
    free(want);
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
