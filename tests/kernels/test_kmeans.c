/*
 * test_kmeans - Lloyd's iterations against plain loops, bit for bit, on the backend
 * LEAT_TEST_BACKEND.
 * ctest: long small=watched tsan=yes
 */
#include "kernels/kmeans/kmeans_resident.h"
#include "tests/support/kmeans_runner.h"
#include "tests/support/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Points about k centres of their own, with some of them twice; the first k distinct ones begin. */
static struct kmeans_case blobs(size_t n, size_t d, size_t k, enum dtype type)
{
    struct kmeans_case c = {.n = n, .d = d, .k = k, .type = type, .n_iterations = 6};
    struct reference_random g = {n * 31 + d * 7 + k};
    c.x = calloc(n * d + 1, sizeof *c.x);
    c.start = calloc(k * d + 1, sizeof *c.start);
    assert_non_null(c.x);
    assert_non_null(c.start);
    double *centre = calloc(k * d + 1, sizeof *centre);
    assert_non_null(centre);
    for (size_t i = 0; i < k * d; ++i) {
        centre[i] = 6 * reference_normal(&g);
    }
    for (size_t i = 0; i < n; ++i) {
        const size_t of = i % k;
        for (size_t j = 0; j < d; ++j) {
            c.x[i * d + j] = i > 0 && i % 9 == 0 ? c.x[(i - 1) * d + j]
                                                 : centre[of * d + j] + reference_normal(&g);
        }
    }
    if (type == DTYPE_F32) {
        reference_round(n * d, c.x);
    }
    for (size_t i = 0; i < k * d; ++i) {
        c.start[i] = centre[i] + reference_normal(&g);
    }
    free(centre);
    return c;
}

static void done(struct kmeans_case *c)
{
    free(c->x);
    free(c->start);
    free(c->weight);
}

/* Every way of calling the kernels gives what the loops give; of few cases, each second way by
 * turns. */
static void check(const struct kmeans_case *c)
{
    static size_t n_checked;
    const size_t turn = n_checked++;
    struct kmeans_answer want = kmeans_by_loops(c);
    static const size_t pieces[] = {0, 17};
    for (int incremental = 0; incremental < 2; ++incremental) {
        for (size_t i = 0; i < 2; ++i) {
            if (under_test_size(0, (turn + (size_t)incremental + i) % 2) == 1) {
                continue;
            }
            struct kmeans_way way = {incremental != 0, pieces[i] == 0 ? 0 : c->n / pieces[i] + 1};
            struct kmeans_answer got = kmeans_by_kernels(c, way);
            kmeans_same(c, &got, &want);
            kmeans_answer_done(&got);
        }
    }
    kmeans_answer_done(&want);
}

TEST(kmeans_of_every_shape_is_that_of_the_loops)
{
    static const size_t sizes[] = {1, 2, 3, 16, 17, 33};
    static const size_t points[] = {0, 1, 31, 257};
    const size_t n_sizes = sizeof sizes / sizeof *sizes;
    for (size_t a = 0; a < n_sizes; ++a) {
        for (size_t b = 0; b < n_sizes; ++b) {
            for (size_t i = 0; i < 4; ++i) {
                const enum dtype type = (a + b + i) % 2 == 0 ? DTYPE_F32 : DTYPE_F64;
                struct kmeans_case c = blobs(points[i], sizes[a], sizes[b], type);
                check(&c);
                done(&c);
            }
        }
    }
}

/* The last four: just without a list of points that may move, and just with one. */
TEST(kmeans_of_many_columns_or_clusters_is_that_of_the_loops)
{
    static const size_t shapes[][3] = {
        {50, 1000, 3},   {1500, 2, 1000}, {40, 1000, 33}, {300, 70, 17},  {200, 130, 16},
        {257, 33, 1000}, {1200, 1, 1000}, {90, 64, 16},   {70, 600, 500}, {400, 43, 2},
        {400, 44, 2},    {200, 15, 471},  {200, 15, 472}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        /* comparisons of all centroids are most of the work */
        const bool is_long = shapes[i][1] * shapes[i][2] * shapes[i][2] > 10 << 20;
        const size_t k = shapes[i][2] / under_test_size(1, is_long ? 10 : 1);
        struct kmeans_case c =
            blobs(shapes[i][0], shapes[i][1], k, i % 2 == 0 ? DTYPE_F64 : DTYPE_F32);
        c.n_iterations = 3;
        check(&c);
        done(&c);
    }
}

/* Just as many means, and comparisons of centroids, as the CUDA update makes in one launch, and
 * just more: k d <= 1024 and k^2 d <= 16384. */
TEST(centroids_are_updated_alike_in_one_launch_and_in_several)
{
    static const size_t shapes[][2] = {{1024, 1}, {1025, 1}, {256, 4}, {257, 4}, {64, 16},
                                       {65, 16},  {56, 17},  {57, 17}, {1, 128}, {1, 129}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        struct kmeans_case c = blobs(under_test_size(300, 100), shapes[i][0], shapes[i][1],
                                     i % 4 < 2 ? DTYPE_F64 : DTYPE_F32);
        c.start[0] = 1e5; /* an empty cluster takes a point, which leaves another one */
        c.n_iterations = 4;
        check(&c);
        done(&c);
    }
}

TEST(kmeans_of_several_tasks_is_that_of_the_loops)
{
    struct kmeans_case c = blobs(under_test_size(4 * 4096 + 5, 4096 + 5), 2, 5, DTYPE_F64);
    check(&c);
    done(&c);
    c = blobs(under_test_size(2 * 4096 + 1, 4096 + 1), 16, 16, DTYPE_F32);
    check(&c);
    done(&c);
}

/* Clusters that overlap, so that points keep moving for long. */
TEST(bounds_change_no_bit_of_many_iterations)
{
    for (size_t d = 1; d <= 5; ++d) {
        struct kmeans_case c = blobs(1500, d, 9, d % 2 == 0 ? DTYPE_F32 : DTYPE_F64);
        for (size_t i = 0; i < c.n * d; ++i) {
            c.x[i] = fmod(c.x[i], 3);
        }
        if (c.type == DTYPE_F32) {
            reference_round(c.n * d, c.x);
        }
        c.n_iterations = 40;
        check(&c);
        done(&c);
    }
}

/* Whole numbers: distances tie all the time, and go to the lowest cluster. */
TEST(ties_go_to_the_lowest_cluster)
{
    struct kmeans_case c = blobs(900, 2, 8, DTYPE_F64);
    for (size_t i = 0; i < c.n; ++i) {
        const size_t row = i / 30;
        c.x[2 * i] = (double)(i % 30);
        c.x[2 * i + 1] = (double)row;
    }
    for (size_t i = 0; i < c.k; ++i) {
        const size_t row = i / 4;
        c.start[2 * i] = 3 + 8 * (double)(i % 4);
        c.start[2 * i + 1] = 7 + 14 * (double)row;
    }
    memcpy(c.start + 2, c.start, 2 * sizeof *c.start); /* cluster 1 begins where 0 does */
    c.n_iterations = 12;
    check(&c);
    done(&c);
}

TEST(every_point_may_be_a_cluster)
{
    for (size_t n = 1; n <= 33; n += 8) {
        struct kmeans_case c = blobs(n, 3, n, DTYPE_F64);
        memcpy(c.start, c.x, n * 3 * sizeof *c.start);
        c.tolerance = 0;
        struct kmeans_answer got = kmeans_by_kernels(&c, (struct kmeans_way){true, 0});
        assert_memory_equal(got.centroid, c.x, n * 3 * sizeof *c.x);
        kmeans_answer_done(&got);
        check(&c);
        done(&c);
    }
}

TEST(an_offset_costs_no_digits)
{
    for (int type = DTYPE_F32; type <= DTYPE_F64; ++type) {
        struct kmeans_case c = blobs(700, 4, 5, (enum dtype)type);
        for (size_t i = 0; i < c.n * c.d; ++i) {
            c.x[i] += 1e6;
        }
        for (size_t i = 0; i < c.k * c.d; ++i) {
            c.start[i] += 1e6;
        }
        if (type == DTYPE_F32) {
            reference_round(c.n * c.d, c.x);
        }
        check(&c);
        done(&c);
    }
}

/* The outlier makes its column's unit large: the others are still cut off at 2^-100 of it. */
TEST(an_outlier_costs_the_others_no_digits)
{
    struct kmeans_case c = blobs(500, 3, 4, DTYPE_F64);
    c.x[(size_t)3 * 77 + 1] = 1e12;
    check(&c);
    done(&c);
}

TEST(weights_scale_differences)
{
    static const double weight[] = {0.25, 3, 0, 1e-3, 0.7};
    struct kmeans_case c = blobs(600, 5, 6, DTYPE_F64);
    c.weight = malloc(sizeof weight);
    assert_non_null(c.weight);
    memcpy(c.weight, weight, sizeof weight);
    check(&c);
    done(&c);
    c = blobs(300, 100, 6, DTYPE_F32);
    c.weight = calloc(c.d, sizeof *c.weight);
    assert_non_null(c.weight);
    for (size_t j = 0; j < c.d; ++j) {
        c.weight[j] = 1.0 / (double)(j + 3);
    }
    check(&c);
    done(&c);
}

/* Gives points masses in place of a column: 0, 1/16, ... 15/16, of two in three points. */
static void add_mass(struct kmeans_case *c, size_t column)
{
    c->weight = calloc(c->d, sizeof *c->weight);
    assert_non_null(c->weight);
    for (size_t j = 0; j < c->d; ++j) {
        c->weight[j] = j == column ? 0 : 1;
    }
    for (size_t i = 0; i < c->n; ++i) {
        c->x[i * c->d + column] = i % 3 == 1 ? 0 : (double)(i * 7 % 16) / 4;
    }
    c->has_mass = true;
    c->mass_column = column;
    c->mass_factor = 0.25;
}

/* Rows in registers, in shared memory, and in tiles; sums of a thread's own, and not; the column of
 * masses first, last, and between. */
TEST(points_with_masses_are_clustered_as_by_the_loops)
{
    static const size_t shapes[][3] = {{700, 2, 5},    {700, 3, 7},    {257, 4, 3},  {900, 17, 6},
                                       {300, 70, 17},  {50, 1000, 3},  {400, 44, 2}, {200, 15, 472},
                                       {40, 1000, 33}, {1500, 2, 300}, {9000, 3, 4}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        const size_t d = shapes[i][1];
        struct kmeans_case c =
            blobs(shapes[i][0], d, shapes[i][2], i % 2 == 0 ? DTYPE_F32 : DTYPE_F64);
        add_mass(&c, i % 3 == 0 ? 0 : i % 3 == 1 ? d - 1 : d / 2);
        check(&c);
        done(&c);
    }
}

/* Those without a mass do not come. */
TEST(empty_clusters_take_the_farthest_points_with_a_mass)
{
    for (size_t d = 2; d < 50; d += 45) {
        struct kmeans_case c = blobs(400, d, 7, DTYPE_F64);
        add_mass(&c, 1);
        for (size_t i = 2; i < c.k; ++i) {
            c.start[d * i] = 1e5 + (double)i;
        }
        c.x[d * 31] = 1e4; /* farthest, with a mass of 0 */
        c.n_iterations = 9;
        struct kmeans_answer got = kmeans_by_kernels(&c, (struct kmeans_way){true, 100});
        assert_int_equal(got.state.n_relocated, 5);
        kmeans_answer_done(&got);
        check(&c);
        done(&c);
    }
}

/* Magnitudes at which bounds leave the floats, and squares their digits. */
TEST(tiny_and_huge_points_are_assigned_like_any)
{
    static const double scale[] = {1e-150, 1e-60, 1e-27, 1e-22, 1e-19, 1e18, 1e20, 1e45, 1e140};
    for (size_t i = 0; i < sizeof scale / sizeof *scale; ++i) {
        struct kmeans_case c = blobs(400, 2, 5, DTYPE_F64);
        for (size_t p = 0; p < c.n * c.d; ++p) {
            c.x[p] *= scale[i];
        }
        for (size_t p = 0; p < c.k * c.d; ++p) {
            c.start[p] *= scale[i];
        }
        c.tolerance = -1;
        check(&c);
        done(&c);
    }
}

TEST(empty_clusters_take_the_farthest_points)
{
    struct kmeans_case c = blobs(400, 2, 7, DTYPE_F64);
    for (size_t i = 2; i < c.k; ++i) { /* five that get nothing */
        c.start[2 * i] = 1e5 + (double)i;
    }
    c.n_iterations = 9;
    c.tolerance = 1e9; /* not before all have points */
    struct kmeans_answer got = kmeans_by_kernels(&c, (struct kmeans_way){false, 100});
    assert_int_equal(got.state.n_relocated, 5);
    assert_int_equal(got.state.n_iterations, 6);
    assert_true(got.state.done != 0);
    kmeans_answer_done(&got);
    check(&c);
    done(&c);
}

TEST(of_points_as_far_the_first_is_taken)
{
    struct kmeans_case c = blobs(64, 1, 2, DTYPE_F64);
    for (size_t i = 0; i < c.n; ++i) {
        c.x[i] = i % 5 == 3 ? (i % 2 == 0 ? 4 : -4) : 0; /* 3, 8, 13, ... are as far from 0 */
    }
    c.start[0] = 0;
    c.start[1] = 100;
    c.n_iterations = 1;
    struct kmeans_answer got = kmeans_by_kernels(&c, (struct kmeans_way){true, 20});
    assert_int_equal(got.state.n_relocated, 1);
    assert_true(got.centroid[1] == c.x[3]);
    kmeans_answer_done(&got);
    check(&c);
    done(&c);
}

TEST(points_that_are_all_equal_leave_clusters_empty)
{
    struct kmeans_case c = blobs(100, 3, 4, DTYPE_F64);
    for (size_t i = 0; i < c.n * c.d; ++i) {
        c.x[i] = 0.1;
    }
    for (size_t i = 0; i < c.k * c.d; ++i) {
        c.start[i] = 0.1;
    }
    c.n_iterations = 3;
    struct kmeans_answer got = kmeans_by_kernels(&c, (struct kmeans_way){true, 0});
    assert_int_equal(got.state.n_empty, 3);
    assert_int_equal(got.state.n_relocated, 0);
    assert_int_equal(got.state.n_iterations, 1);
    assert_true(got.centroid[0] == 0.1 && got.within[0] == 0);
    kmeans_answer_done(&got);
    check(&c);
    done(&c);
}

TEST(the_same_bits_for_any_number_of_threads)
{
    struct kmeans_case c = blobs(under_test_size(30000, 9000), 5, 11, DTYPE_F64);
    under_test_threads(1);
    struct kmeans_answer one = kmeans_by_kernels(&c, (struct kmeans_way){false, 0});
    for (size_t n = 2; n <= 8; ++n) {
        under_test_threads(n);
        struct kmeans_answer got =
            kmeans_by_kernels(&c, (struct kmeans_way){n % 2 == 0, n == 5 ? 1234 : 0});
        kmeans_same(&c, &got, &one);
        kmeans_answer_done(&got);
    }
    under_test_threads(3);
    kmeans_answer_done(&one);
    done(&c);
}

/* What stands in memory beyond 2^24 is where sums in floats, and counts in them, end. */
TEST(a_cluster_may_have_more_than_2_to_the_24_points)
{
    const size_t rounds = under_test_size(300, 3);
    struct kmeans_case c = blobs(65536, 1, 1, DTYPE_F64);
    struct span points = under_test_put_numbers(c.x, c.n, c.type);
    struct kmeans_pair pair = kmeans_pair(&c, points, false);
    const struct kmeans_points x = {points, c.type, c.n, 1, 0};
    for (size_t i = 0; i < rounds; ++i) {
        ASSERT_OK(
            under_test_ops()->kmeans->assign(under_test_queue, &x, &pair.device, (struct span){0}));
    }
    kmeans_pair_get(&pair);
    const uint64_t count = *(uint64_t *)kmeans_array(&pair.host, KMEANS_COUNT);
    assert_int_equal(count, rounds * c.n);
    ASSERT_OK(under_test_ops()->kmeans->update(under_test_queue, &pair.device));
    kmeans_pair_get(&pair);
    __float128 sum = 0;
    for (size_t i = 0; i < c.n; ++i) {
        sum += c.x[i];
    }
    const double want = (double)(sum / (__float128)c.n);
    assert_true(*(double *)kmeans_array(&pair.host, KMEANS_CENTROID) == want);
    kmeans_pair_done(&pair);
    under_test_release(points);
    done(&c);
}

/* --- columns ---------------------------------------------------------------------------------- */

TEST(range_finds_extremes_and_the_first_bad_point)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t b = 0; b < 3; ++b) {
        for (int type = DTYPE_F32; type <= DTYPE_F64; ++type) {
            struct kmeans_case c = blobs(9000, 3, 2, (enum dtype)type);
            c.x[(size_t)3 * 5001 + 1] = bad[b];
            c.x[(size_t)3 * 8000] = bad[b];
            struct span points = under_test_put_numbers(c.x, c.n * c.d, c.type);
            struct kmeans_pair pair = kmeans_pair(&c, points, false);
            assert_int_equal(*(uint64_t *)kmeans_array(&pair.host, KMEANS_BAD), 5001);
            kmeans_pair_done(&pair);
            under_test_release(points);
            done(&c);
        }
    }
    struct kmeans_case c = blobs(9000, 3, 2, DTYPE_F64);
    for (size_t i = 0; i < c.n; ++i) {
        c.x[3 * i + 2] = i % 2 == 0 ? 0.0 : -0.0;
        c.x[3 * i] = -fabs(c.x[3 * i]) - 1;
    }
    struct span points = under_test_put_numbers(c.x, c.n * c.d, c.type);
    struct kmeans_pair pair = kmeans_pair(&c, points, false);
    for (size_t j = 0; j < 3; ++j) {
        double min = INFINITY, max = -INFINITY;
        for (size_t i = 0; i < c.n; ++i) {
            min = fmin(min, c.x[3 * i + j] + 0.0);
            max = fmax(max, c.x[3 * i + j] + 0.0);
        }
        assert_memory_equal((double *)kmeans_array(&pair.host, KMEANS_MIN) + j, &min, 8);
        assert_memory_equal((double *)kmeans_array(&pair.host, KMEANS_MAX) + j, &max, 8);
    }
    assert_true(*(uint64_t *)kmeans_array(&pair.host, KMEANS_BAD) == UINT64_MAX);
    kmeans_pair_done(&pair);
    under_test_release(points);
    done(&c);
}

/* Of an odd number of points: in three calls. */
static void squares(enum dtype type, size_t n, size_t d)
{
    struct kmeans_case c = blobs(n, d, 2, type);
    struct span points = under_test_put_numbers(c.x, n * d, type);
    struct kmeans_pair pair = kmeans_pair(&c, points, false);
    for (size_t j = 0; j < d; ++j) {
        ((double *)kmeans_array(&pair.host, KMEANS_CENTRE))[j] = 0.3 * (double)j;
        ((double *)kmeans_array(&pair.host, KMEANS_SQUARE_UNIT))[j] = kmeans_unit(4000);
    }
    kmeans_pair_put(&pair);
    const size_t piece = n / 2;
    for (size_t first = 0; first < n; first += piece) {
        const struct kmeans_points x = {span_from(points, first * d * dtype_bytes(type)), type,
                                        n - first < piece ? n - first : piece, d, first};
        ASSERT_OK(under_test_ops()->kmeans->squares(under_test_queue, &x, &pair.device));
    }
    kmeans_pair_get(&pair);
    const struct kmeans_sum *sums = kmeans_array(&pair.host, KMEANS_SQUARES);
    for (size_t j = 0; j < d; ++j) {
        __float128 sum = 0;
        for (size_t i = 0; i < n; ++i) {
            const double t = c.x[d * i + j] - 0.3 * (double)j;
            sum += t * t;
        }
        assert_true(kmeans_mean(sums[j], 1, kmeans_unit(4000)) == (double)sum);
    }
    kmeans_pair_done(&pair);
    under_test_release(points);
    done(&c);
}

TEST(squares_are_exact_sums)
{
    squares(DTYPE_F32, 9001, 3);
    squares(DTYPE_F64, 9001, 3);
}

/* --- draws ------------------------------------------------------------------------------------ */

/* k centroids drawn one after the other, in pieces, with distances kept or not. */
static double *drawn(const struct kmeans_case *c, size_t piece, bool keep)
{
    const struct kmeans_kernels *k = under_test_ops()->kmeans;
    struct span points = under_test_put_numbers(c->x, c->n * c->d, c->type);
    struct span nearest = under_test_room(c->n * sizeof(double));
    struct kmeans_pair pair = kmeans_pair(c, points, false);
    for (struct kmeans_model m = pair.device; m.n_drawn < c->k; kmeans_taken(&m)) {
        for (size_t first = 0; first < c->n; first += piece) {
            const struct kmeans_points x = {span_from(points, first * c->d * dtype_bytes(c->type)),
                                            c->type, c->n - first < piece ? c->n - first : piece,
                                            c->d, first};
            ASSERT_OK(
                k->draw(under_test_queue, &x, &m, 12345, 100 + kmeans_seed_drawn(&m),
                        keep ? span_from(nearest, first * sizeof(double)) : (struct span){0}));
        }
        ASSERT_OK(k->take(under_test_queue, &m));
    }
    kmeans_pair_get(&pair);
    double *out = calloc(c->k * c->d + 1, sizeof *out);
    assert_non_null(out);
    memcpy(out, kmeans_array(&pair.host, KMEANS_CENTROID), c->k * c->d * sizeof *out);
    const struct kmeans_pick *list = kmeans_array(&pair.host, KMEANS_DRAWN);
    assert_true(list->point == UINT64_MAX);
    under_test_untouched(nearest, c->n * sizeof(double));
    kmeans_pair_done(&pair);
    under_test_release(nearest);
    under_test_release(points);
    return out;
}

/* The same by the rule, plainly: all keys, sorted; potentials in extended precision. */
struct key {
    double key;
    size_t point;
};

static int key_order(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key ? -1 : 1) : (x->point < y->point ? -1 : 1);
}

static double distance(const struct kmeans_case *c, size_t p, size_t from)
{
    double d2 = 0;
    for (size_t j = 0; j < c->d; ++j) {
        const double t =
            (c->x[p * c->d + j] - c->x[from * c->d + j]) * (c->weight == NULL ? 1 : c->weight[j]);
        d2 = fma(t, t, d2);
    }
    return d2;
}

/* The first `most` points by key, of each class one; how many there are. */
static size_t first_points(const struct kmeans_case *c, size_t seed, const double *weight,
                           size_t most, size_t *out)
{
    struct key *keys = calloc(c->n + 1, sizeof *keys);
    size_t n = 0, n_out = 0;
    bool seen[KMEANS_CLASSES] = {false};
    assert_non_null(keys);
    for (size_t p = 0; p < c->n; ++p) {
        const double u = kmeans_uniform(philox_block(12345, 100 + seed, p));
        keys[n] = (struct key){kmeans_exponential(u) / (weight[p] * kmeans_mass_of(c, p)), p};
        n += weight[p] * kmeans_mass_of(c, p) > 0;
    }
    qsort(keys, n, sizeof *keys, key_order);
    for (size_t i = 0; i < n && n_out < most; ++i) {
        if (!seen[keys[i].point % KMEANS_CLASSES]) {
            seen[keys[i].point % KMEANS_CLASSES] = true;
            out[n_out++] = keys[i].point;
        }
    }
    free(keys);
    return n_out;
}

/* Of the trials that with the least sum of weights, of several the first. */
static size_t best_of(const struct kmeans_case *c, const double *weight, const size_t *trials,
                      size_t n)
{
    long double least = INFINITY;
    size_t best = 0;
    for (size_t i = 0; i < n; ++i) {
        long double sum = 0;
        for (size_t p = 0; p < c->n; ++p) {
            sum += fmin(weight[p], distance(c, p, trials[i])) * kmeans_mass_of(c, p);
        }
        best = sum < least ? i : best;
        least = sum < least ? sum : least;
    }
    return best;
}

static double *drawn_by_loops(const struct kmeans_case *c)
{
    const size_t most = 2 + (size_t)floor(log((double)c->k));
    double *out = calloc(c->k * c->d, sizeof *out), *weight = calloc(c->n + 1, sizeof *weight);
    size_t trials[KMEANS_MOST_TRIALS] = {0}, chosen = 0;
    assert_non_null(out);
    assert_non_null(weight);
    assert_true(most <= KMEANS_MOST_TRIALS);
    for (size_t p = 0; p < c->n; ++p) {
        weight[p] = 1;
    }
    for (size_t i = 0; i < c->k; ++i) {
        const size_t n = first_points(c, i, weight, i == 0 ? 1 : most, trials);
        chosen = n > 0 ? trials[best_of(c, weight, trials, n)] : SIZE_MAX;
        for (size_t j = 0; j < c->d; ++j) {
            out[i * c->d + j] = chosen == SIZE_MAX ? out[j] : c->x[chosen * c->d + j];
        }
        for (size_t p = 0; chosen != SIZE_MAX && p < c->n; ++p) {
            const double d2 = distance(c, p, chosen);
            weight[p] = i == 0 || d2 < weight[p] ? d2 : weight[p];
        }
    }
    free(weight);
    return out;
}

TEST(draws_do_not_depend_on_how_they_are_cut)
{
    static const size_t pieces[] = {100000, 1, 31, 1000};
    struct kmeans_case c = blobs(1500, 3, 9, DTYPE_F64);
    double *want = drawn_by_loops(&c);
    for (size_t i = 0; i < 4; ++i) {
        for (int keep = 0; keep < 2; ++keep) {
            if (pieces[i] == 1) {
                continue;
            }
            double *got = drawn(&c, pieces[i], keep != 0);
            assert_memory_equal(got, want, c.k * c.d * sizeof *got);
            free(got);
        }
    }
    free(want);
    done(&c);
    c = blobs(40, 70, 5, DTYPE_F32); /* points of many columns, one a call */
    want = drawn_by_loops(&c);
    double *got = drawn(&c, 1, true);
    assert_memory_equal(got, want, c.k * c.d * sizeof *got);
    free(got);
    free(want);
    done(&c);
}

static void check_draws(const struct kmeans_case *c)
{
    double *want = drawn_by_loops(c);
    for (int keep = 0; keep < 2; ++keep) {
        double *got = drawn(c, keep != 0 ? c->n : c->n / 2 + 1, keep != 0);
        assert_memory_equal(got, want, c->k * c->d * sizeof *got);
        free(got);
    }
    free(want);
}

/* Just with so many trials, and one more; rows in registers, in shared memory, in tiles; with
 * weights of columns, and masses of points. */
TEST(every_shape_draws_what_the_loops_draw)
{
    static const size_t shapes[][3] = {{1, 1, 1},    {40, 1, 2},   {500, 2, 7},   {500, 2, 8},
                                       {700, 3, 20}, {700, 5, 21}, {300, 17, 54}, {300, 4, 55},
                                       {31, 2, 31},  {90, 600, 9}, {4500, 2, 3}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        struct kmeans_case c =
            blobs(shapes[i][0], shapes[i][1], shapes[i][2], i % 2 == 0 ? DTYPE_F64 : DTYPE_F32);
        c.weight = i % 3 == 2 ? calloc(c.d, sizeof *c.weight) : NULL;
        for (size_t j = 0; c.weight != NULL && j < c.d; ++j) {
            c.weight[j] = 1.0 / (double)(j + 2);
        }
        check_draws(&c);
        free(c.weight);
        c.weight = NULL;
        if (c.d > 1) {
            add_mass(&c, i % c.d);
            check_draws(&c);
        }
        done(&c);
    }
}

TEST(trials_are_two_and_the_logarithm)
{
    for (size_t k = 1; k < 100000; k += k < 3000 ? 1 : 97) {
        assert_int_equal(kmeans_trials(k), 2 + (size_t)floor(log((double)k)));
    }
    assert_int_equal(kmeans_trials((size_t)1 << 31), KMEANS_MOST_TRIALS);
}

/* Thirty blobs ten deviations apart, 50 points each: without trials every third run misses one, and
 * has an inertia of more than 4,500. */
TEST(trials_find_blobs_that_lie_apart)
{
    enum { BLOBS = 30, EACH = 50, ACROSS = 6 };
    const size_t n_runs = under_test_size(20, 4);
    struct kmeans_case c = blobs((size_t)BLOBS * EACH, 2, BLOBS, DTYPE_F64);
    struct reference_random g = {2886};
    for (size_t i = 0; i < c.n; ++i) {
        const size_t of = i % BLOBS, row = of / ACROSS;
        c.x[2 * i] = 10 * (double)(of % ACROSS) + reference_normal(&g);
        c.x[2 * i + 1] = 10 * (double)row + reference_normal(&g);
    }
    size_t n_found = 0;
    for (size_t run = 0; run < n_runs; ++run) {
        for (size_t i = 0; i < c.n; ++i) { /* other points with the same numbers */
            const size_t with = (i + (run + 1) * 577) % c.n;
            double was[2] = {c.x[2 * i], c.x[2 * i + 1]};
            memcpy(c.x + 2 * i, c.x + 2 * with, sizeof was);
            memcpy(c.x + 2 * with, was, sizeof was);
        }
        double *seeds = drawn(&c, c.n, true), sum = 0;
        for (size_t i = 0; i < c.n; ++i) {
            double least = INFINITY;
            for (size_t a = 0; a < BLOBS; ++a) {
                least = fmin(least,
                             hypot(c.x[2 * i] - seeds[2 * a], c.x[2 * i + 1] - seeds[2 * a + 1]));
            }
            sum += least * least;
        }
        n_found += sum < 2 * 4500;
        free(seeds);
    }
    assert_true(10 * n_found >= 7 * n_runs);
    done(&c);
}

/* Once it is a centroid, 2^-40 of the potential remains. */
TEST(trials_are_told_apart_beside_an_outlier)
{
    struct kmeans_case c = blobs(1500, 2, 20, DTYPE_F64);
    c.x[2 * 777] = 2e7;
    double *want = drawn_by_loops(&c), *got = drawn(&c, 400, true);
    assert_memory_equal(got, want, c.k * c.d * sizeof *got);
    free(got);
    free(want);
    done(&c);
}

TEST(fewer_distinct_points_than_clusters_draw_the_first_again)
{
    struct kmeans_case c = blobs(30, 2, 5, DTYPE_F64);
    for (size_t i = 0; i < c.n; ++i) {
        c.x[2 * i] = i % 3 == 0 ? 1 : 2;
        c.x[2 * i + 1] = 5;
    }
    double *want = drawn_by_loops(&c), *got = drawn(&c, 7, true);
    assert_memory_equal(got, want, c.k * c.d * sizeof *got);
    assert_true(got[0] != got[2]);
    for (size_t i = 2; i < c.k; ++i) {
        assert_memory_equal(got + 2 * i, got, 2 * sizeof *got);
    }
    free(got);
    free(want);
    done(&c);
}

/* Of N draws, those of a point with share p are N p off by less than 6 standard deviations,
 * sqrt(N p (1 - p)): chance exceeds that once in 5e8. */
TEST(points_are_drawn_by_their_weight)
{
    enum { POINTS = 7 };
    const size_t n_draws = under_test_size(4000, 300);
    const struct kmeans_kernels *k = under_test_ops()->kmeans;
    struct kmeans_case c = blobs(POINTS, 1, 2, DTYPE_F64);
    size_t hits[POINTS] = {0};
    double total = 0;
    for (size_t i = 0; i < POINTS; ++i) {
        c.x[i] = (double)i; /* weights 0, 1, 4, 9, ... */
        total += (double)(i * i);
    }
    c.start[0] = 0;
    struct span points = under_test_put_numbers(c.x, c.n, c.type);
    struct kmeans_pair pair = kmeans_pair(&c, points, false);
    struct kmeans_model m = pair.device;
    m.n_drawn = 1;
    const struct kmeans_points x = {points, c.type, c.n, 1, 0};
    for (size_t i = 0; i < n_draws; ++i) {
        struct kmeans_pick now;
        ASSERT_OK(k->draw(under_test_queue, &x, &m, 9, i, (struct span){0}));
        under_test_get(&now, span_from(m.at, kmeans_offset(2, 1, KMEANS_DRAWN)), sizeof now);
        assert_true(now.point < POINTS);
        ++hits[now.point];
        ASSERT_OK(k->take(under_test_queue, &m));
    }
    assert_int_equal(hits[0], 0);
    for (size_t i = 1; i < POINTS; ++i) {
        const double p = (double)(i * i) / total, n = (double)n_draws;
        assert_true(fabs((double)hits[i] - n * p) < 6 * sqrt(n * p * (1 - p)));
    }
    kmeans_pair_done(&pair);
    under_test_release(points);
    done(&c);
}

/* --- few threads ------------------------------------------------------------------------------ */

/* A device has so many threads that small cases leave each of them but one point. */
static int let_one_block_run(void **state)
{
    (void)state;
    return setenv("LEAT_CUDA_BLOCKS", "1", 1);
}

static int let_three_blocks_run(void **state)
{
    (void)state;
    return setenv("LEAT_CUDA_BLOCKS", "3", 1);
}

static int let_all_blocks_run(void **state)
{
    (void)state;
    return unsetenv("LEAT_CUDA_BLOCKS");
}

/* Rows in registers; rows and sums that fit shared memory, two points a lane and one; sums that do
 * not fit; rows that do not; neither. */
TEST_BETWEEN(few_blocks_take_many_rounds, let_three_blocks_run, let_all_blocks_run)
{
    if (under_test_is_cpu()) {
        skip();
    }
    static const size_t shapes[][3] = {{20000, 2, 5},  {20000, 3, 5},  {20000, 2, 6},
                                       {20000, 1, 7},  {20000, 5, 7},  {6000, 16, 30},
                                       {6000, 3, 300}, {2000, 250, 4}, {3000, 130, 40}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        struct kmeans_case c = blobs(under_test_size(shapes[i][0], shapes[i][0] / 2), shapes[i][1],
                                     shapes[i][2], i % 2 == 0 ? DTYPE_F64 : DTYPE_F32);
        c.n_iterations = 4;
        c.start[0] = 1e5; /* an empty cluster: for farthest */
        check(&c);
        c.k = 4;
        double *want = drawn_by_loops(&c);
        for (int keep = 0; keep < 2; ++keep) {
            double *got = drawn(&c, c.n, keep != 0);
            assert_memory_equal(got, want, c.k * c.d * sizeof *got);
            free(got);
        }
        free(want);
        done(&c);
    }
}

/* Of numbers that round to 2^50 units 8192 are too many for an integer, and one block would give
 * each thread 32768: cells, and then d2, which are half as large. */
TEST_BETWEEN(no_block_takes_more_points_than_its_sums_hold, let_one_block_run, let_all_blocks_run)
{
    if (under_test_is_cpu()) {
        skip();
    }
    struct kmeans_case c = blobs(under_test_size((size_t)1 << 22, 1 << 16), 1, 1, DTYPE_F64);
    for (size_t i = 0; i < c.n; ++i) {
        c.x[i] = i == 0 ? -nextafter(1, 0) : nextafter(1, 0);
    }
    c.start[0] = c.x[0];
    for (c.n_iterations = 0; c.n_iterations < 2; ++c.n_iterations) {
        check(&c);
    }
    done(&c);
}

/* More of them than an integer holds, 4096, by 256 threads. */
TEST_BETWEEN(a_thread_may_add_up_any_number_of_squares, let_one_block_run, let_all_blocks_run)
{
    if (under_test_is_cpu()) {
        skip();
    }
    squares(DTYPE_F64, under_test_size((size_t)2 * 256 * 4096 + 5, 9000), 1);
    squares(DTYPE_F32, under_test_size((size_t)2 * 85 * 4096 + 5, 9000), 3);
}

/* --- the rule --------------------------------------------------------------------------------- */

TEST(means_are_rounded_once)
{
    struct reference_random g = {77};
    for (int i = 0; i < 20000; ++i) {
        const size_t n = 1 + (size_t)(reference_uniform(&g) * (i % 2 == 0 ? 5 : 2000));
        const double unit = kmeans_unit(1024);
        struct kmeans_sum sum = {{0}, {0}};
        __float128 exact = 0;
        for (size_t a = 0; a < n && a < 40; ++a) {
            const double x = ldexp(reference_uniform(&g) - 0.5, 11 - i % 40);
            kmeans_sum_add(&sum, kmeans_split(x, 1 / unit));
            exact += x;
        }
        const double want = (double)(exact / (__float128)n), got = kmeans_mean(sum, n, unit);
        assert_memory_equal(&got, &want, sizeof got);
        const struct kmeans_sum normal = kmeans_normal(sum);
        const double again = kmeans_mean(normal, n, unit);
        assert_memory_equal(&again, &want, sizeof got);
    }
    const struct kmeans_sum none = {{0}, {0}}, least = {{0}, {-1, 0}},
                            largest = {{0, 1 << 18}, {0}};
    assert_true(kmeans_mean(none, 3, 1) == 0);
    assert_true(kmeans_mean(least, (uint64_t)1 << 31, 1) == -0x1p-81);
    assert_true(kmeans_mean(largest, 1, 4) == 0x1p52);
    assert_true(kmeans_mean(largest, 3, 1) == 0x1p50 / 3);
}

/* Halfway between two doubles, and just beside: to even, up, down. */
TEST(means_are_rounded_to_even)
{
    const double unit = 0x1p-49; /* of numbers up to 2 */
    struct kmeans_sum sum = {{0}, {0}};
    kmeans_sum_add(&sum, kmeans_split(1, 1 / unit));
    kmeans_sum_add(&sum, kmeans_split(0x1p-53, 1 / unit));
    assert_true(kmeans_mean(sum, 1, unit) == 1);
    kmeans_sum_add(&sum, kmeans_split(0x1p-99, 1 / unit));
    assert_true(kmeans_mean(sum, 1, unit) == 1 + 0x1p-52);
    kmeans_sum_add(&sum, kmeans_split(-0x1p-98, 1 / unit));
    assert_true(kmeans_mean(sum, 1, unit) == 1);
    kmeans_sum_add(&sum, kmeans_split(0x1p-99, 1 / unit));
    kmeans_sum_add(&sum, kmeans_split(0x1p-52, 1 / unit));
    assert_true(kmeans_mean(sum, 1, unit) == 1 + 0x1p-51);
}

TEST(units_hold_the_largest_number)
{
    static const double largest[] = {0,     0x1p-1074, 1e-310, 0x1p-1022, 1e-300,
                                     0.999, 1,         1.001,  1e300,     0x1.fffffffffffffp1023};
    for (size_t i = 0; i < sizeof largest / sizeof *largest; ++i) {
        const double unit = kmeans_unit(largest[i]);
        int exponent;
        assert_true(frexp(unit, &exponent) == 0.5 && unit >= 0x1p-1022);
        assert_true(largest[i] / unit <= 0x1p50);
        const struct kmeans_number v = kmeans_split(-largest[i], 1 / unit);
        assert_true(v.high >= -((int64_t)1 << 50) && v.low <= (int64_t)1 << 49);
    }
}

/* s^2 / 3 + ... and its parts are off by a few units in the last place of the logarithm. */
TEST(the_own_logarithm_is_that_of_the_library)
{
    struct reference_random g = {5};
    for (int i = 0; i < 100000; ++i) {
        struct philox_words w = {{0}};
        w.w[0] = (uint32_t)(reference_uniform(&g) * 0x1p32) >> (i % 3 * 12);
        w.w[1] = (uint32_t)(reference_uniform(&g) * 0x1p32);
        w.w[0] = i % 5 == 0 ? ~w.w[0] : w.w[0];
        const double u = kmeans_uniform(w), got = kmeans_exponential(u);
        const long double want = -logl((long double)u);
        assert_true(u > 0 && u < 1);
        assert_true(fabsl(got - want) <= 4 * 0x1p-53L * want);
        assert_false(kmeans_key_is_above(kmeans_least_exponential(u), 2, got / 2));
    }
}

/* --- stopping --------------------------------------------------------------------------------- */

TEST(long_passes_end_once_the_queue_is_stopped)
{
    if (!under_test_is_cpu()) { /* kernels on a device end by themselves */
        skip();
    }
    static const int stop = 1;
    const struct kmeans_kernels *k = under_test_ops()->kmeans;
    struct kmeans_case c = blobs(9000, 3, 4, DTYPE_F64);
    struct span points = under_test_put_numbers(c.x, c.n * c.d, c.type);
    struct span labels = under_test_room(c.n * sizeof(int32_t));
    struct kmeans_pair pair = kmeans_pair(&c, points, false);
    const struct kmeans_points x = {points, c.type, c.n, c.d, 0};
    const struct span none = {0};
    under_test_queue->stop = &stop;
    assert_int_equal(k->assign(under_test_queue, &x, &pair.device, none), STATUS_CANCELLED);
    assert_int_equal(k->label(under_test_queue, &x, &pair.device, labels), STATUS_CANCELLED);
    assert_int_equal(k->farthest(under_test_queue, &x, &pair.device), STATUS_CANCELLED);
    assert_int_equal(k->draw(under_test_queue, &x, &pair.device, 1, 1, none), STATUS_CANCELLED);
    assert_int_equal(k->range(under_test_queue, &x, &pair.device), STATUS_CANCELLED);
    assert_int_equal(k->squares(under_test_queue, &x, &pair.device), STATUS_CANCELLED);
    under_test_queue->stop = NULL;
    kmeans_pair_done(&pair);
    under_test_release(labels);
    under_test_release(points);
    done(&c);
}

/* --- points of arrays ------------------------------------------------------------------------- */

struct solved {
    double centroids[5][3], silhouette;
    int32_t labels[2000];
};

/* As rows of the host; or on the backend, so many bytes behind an address that is aligned. */
static struct solved solve_array(const struct kmeans_case *c, bool there, size_t behind)
{
    struct solved out;
    double *const moved = calloc(behind / sizeof *moved + c->n * c->d, sizeof *moved);
    struct room room = {.queue = under_test_queue};
    struct kmeans_solve s = {.request = {.n_columns = c->d,
                                         .type = DTYPE_F64,
                                         .k_first = c->k,
                                         .k_last = c->k,
                                         .n_init = 3,
                                         .max_iter = 50,
                                         .resident = true,
                                         .width = 1,
                                         .n_sample = 100}};
    assert_non_null(moved);
    memcpy(moved + behind / sizeof *moved, c->x, c->n * c->d * sizeof *moved);
    const struct span at = under_test_put(moved, behind + c->n * c->d * sizeof *moved);
    struct kmeans_array_source a = {.solve = &s,
                                    .rows = there ? NULL : c->x,
                                    .there = span_from(at, behind),
                                    .n = c->n,
                                    .row_bytes = c->d * sizeof *c->x,
                                    .labels = out.labels};
    s.source = (struct kmeans_source){kmeans_array_visit, kmeans_array_labels, &a};
    ASSERT_OK(kmeans_solve_room(&s, &room));
    ASSERT_OK(kmeans_array_room(&a, &room));
    ASSERT_OK(kmeans_solve_all(&s, &room));
    memcpy(out.centroids, s.best.centroids, sizeof out.centroids);
    out.silhouette = s.best.silhouette;
    room_free(&room);
    under_test_release(at);
    free(moved);
    return out;
}

TEST(points_that_are_on_the_backend_give_what_rows_give)
{
    struct kmeans_case c = blobs(2000, 3, 5, DTYPE_F64);
    const struct solved rows = solve_array(&c, false, 0);
    assert_true(rows.silhouette > 0.3);
    for (size_t behind = 0; behind < 40; behind += 24) {
        const struct solved there = solve_array(&c, true, behind);
        assert_memory_equal(there.centroids, rows.centroids, sizeof rows.centroids);
        assert_memory_equal(there.labels, rows.labels, sizeof rows.labels);
        assert_memory_equal(&there.silhouette, &rows.silhouette, sizeof rows.silhouette);
    }
    free(c.x);
    free(c.start);
}

int main(void)
{
    return UNDER_TEST_RUN(NULL, NULL);
}
