/*
 * Average linkage against its definition, and the layout of the heat map.
 */
#include "stages/pearson/linkage.h"
#include "stages/pearson/pearson_job.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static enum status going(void *context)
{
    size_t *const left = context;
    if (left == NULL) {
        return STATUS_OK;
    }
    return (*left)-- > 0 ? STATUS_OK : status_fail(STATUS_CANCELLED, "that is enough");
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

/* Condensed distances, all different. */
static double *random_distances(size_t n, uint32_t seed)
{
    double *const d = malloc((n * (n - 1) / 2 + 1) * sizeof *d);
    assert_non_null(d);
    for (size_t k = 0; k < n * (n - 1) / 2; k++) {
        d[k] = (double)next_random(&seed) / 0x1p24 + 1e-9 * (double)k;
    }
    return d;
}

/* The mean of the distances of all pairs, one of each cluster, by member[thing][cluster]. */
static double mean_distance(const double *d, size_t n, const uint32_t *cluster_of, uint32_t a,
                            uint32_t b)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0, k = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++, k++) {
            if ((cluster_of[i] == a && cluster_of[j] == b) ||
                (cluster_of[i] == b && cluster_of[j] == a)) {
                sum += d[k];
                count++;
            }
        }
    }
    return sum / (double)count;
}

TEST(merges_are_those_of_the_nearest_clusters)
{
    static const size_t sizes[] = {1, 2, 3, 4, 7, 25};
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++) {
        const size_t n = sizes[c];
        double *const d = random_distances(n, (uint32_t)n);
        double *const used = random_distances(n, (uint32_t)n);
        struct linkage_merge *const merges = malloc(n * sizeof *merges);
        uint32_t *const cluster_of = malloc(n * sizeof *cluster_of);
        assert_int_equal(linkage_average(used, n, merges, going, NULL), STATUS_OK);
        for (uint32_t i = 0; i < n; i++) {
            cluster_of[i] = i;
        }
        for (size_t k = 0; k + 1 < n; k++) { /* no two clusters are nearer than those merged */
            const struct linkage_merge m = merges[k];
            assert_true(m.a < m.b && m.b < n + k);
            assert_true(fabs(mean_distance(d, n, cluster_of, m.a, m.b) - m.distance) < 1e-12);
            for (size_t i = 0; i < n; i++) {
                for (size_t j = i + 1; j < n; j++) {
                    if (cluster_of[i] != cluster_of[j]) {
                        assert_true(mean_distance(d, n, cluster_of, cluster_of[i], cluster_of[j]) >=
                                    m.distance - 1e-12);
                    }
                }
            }
            for (size_t i = 0; i < n; i++) {
                if (cluster_of[i] == m.a || cluster_of[i] == m.b) {
                    cluster_of[i] = (uint32_t)(n + k);
                }
            }
        }
        free(d);
        free(used);
        free(merges);
        free(cluster_of);
    }
}

TEST(the_order_has_every_thing_once_and_blocks_together)
{
    enum { N = 300, BLOCKS = 6 };
    double *const d = random_distances(N, 1);
    struct linkage_merge merges[N];
    uint32_t order[N];
    for (size_t i = 0, k = 0; i < N; i++) {
        for (size_t j = i + 1; j < N; j++, k++) {
            d[k] += i % BLOCKS == j % BLOCKS ? 0 : 2;
        }
    }
    assert_int_equal(linkage_average(d, N, merges, going, NULL), STATUS_OK);
    assert_int_equal(linkage_order(merges, N, order), STATUS_OK);
    bool seen[N] = {false};
    size_t changes = 0;
    for (size_t k = 0; k < N; k++) {
        assert_false(seen[order[k]]);
        seen[order[k]] = true;
        changes += k > 0 && order[k] % BLOCKS != order[k - 1] % BLOCKS;
    }
    assert_int_equal(changes, BLOCKS - 1);
    free(d);
}

TEST(equal_distances_are_no_trouble)
{
    enum { N = 40 };
    double d[N * (N - 1) / 2];
    struct linkage_merge merges[N];
    uint32_t order[N];
    for (size_t k = 0; k < sizeof d / sizeof *d; k++) {
        d[k] = 2;
    }
    assert_int_equal(linkage_average(d, N, merges, going, NULL), STATUS_OK);
    assert_int_equal(linkage_order(merges, N, order), STATUS_OK);
    for (size_t k = 0; k + 1 < N; k++) {
        assert_true(merges[k].distance == 2);
    }
}

TEST(pairs_at_one_distance_come_in_the_order_of_the_file)
{
    enum { N = 16 };
    double d[N * (N - 1) / 2];
    struct linkage_merge merges[N];
    uint32_t order[N];
    for (size_t i = 0, k = 0; i < N; i++) {
        for (size_t j = i + 1; j < N; j++, k++) {
            d[k] = i / 2 == j / 2 ? 1 : 5;
        }
    }
    assert_int_equal(linkage_average(d, N, merges, going, NULL), STATUS_OK);
    assert_int_equal(linkage_order(merges, N, order), STATUS_OK);
    for (size_t k = 0; k < N / 2; k++) {
        assert_int_equal(merges[k].a, 2 * k);
        assert_int_equal(merges[k].b, 2 * k + 1);
    }
    for (size_t k = 0; k < N; k++) {
        assert_int_equal(order[k] / 2, order[k ^ 1] / 2);
    }
}

TEST(it_ends_when_it_is_told_to)
{
    double *const d = random_distances(50, 3);
    struct linkage_merge merges[50];
    size_t left = 20;
    assert_int_equal(linkage_average(d, 50, merges, going, &left), STATUS_CANCELLED);
    free(d);
}

TEST(heat_maps_of_any_size_can_be_printed_and_are_bounded)
{
    for (size_t n = 1; n < 20000; n += n < 3000 ? 1 : 977) {
        const struct heatmap_grid g = heatmap_grid_of(n);
        assert_in_range(g.side * g.cell, 1000, 2000);
        assert_true(g.side <= n && g.side * g.series >= n && (g.side - 1) * g.series < n);
        assert_true(g.series == 1 || g.side >= 600);
        assert_true(heatmap_bytes(n, &(struct figure_choice){.format = FIGURE_PDF}) < 64 << 20);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
