/*
 * The stage `kmeans`: its results against Lloyd's algorithm in extended precision, however the
 * points come in. Runs on the backend that $LEAT_TEST_BACKEND names. What it refuses and warns of:
 * test_stage_kmeans_messages; what it plans, and does where memory is less:
 * test_stage_kmeans_memory; rows that are left out: test_stage_kmeans_drop.
 *
 * Centroids: a mean of numbers below 2^5 in size, rounded once, is within 2^-49 of the exact one.
 * ctest: long wrap=figure_text,figure_text_up,figure_text_turned
 */
#include "kernels/kmeans/kmeans.h"
#include "tests/support/drawn_texts.h"
#include "tests/support/kmeans_job_runner.h"
#include "tests/support/patience.h"

static const double centroid_bound = 0x1p-48;

/* --- the reference ---------------------------------------------------------------------------- */

struct reference {
    int32_t *labels;
    double *centroids;
    size_t n_iterations;
};

static void reference_free(struct reference *r)
{
    free(r->labels);
    free(r->centroids);
}

static double square(double x)
{
    return x * x;
}

static void reference_assign(const struct points *p, size_t k, struct reference *r)
{
    const size_t d = p->info.cells_per_line;
    for (size_t i = 0; i < p->n_lines; i++) {
        double least = INFINITY;
        for (size_t c = 0; c < k; c++) {
            double d2 = 0;
            for (size_t j = 0; j < d; j++) {
                const double t = p->cells[i * d + j] - r->centroids[c * d + j];
                d2 = fma(t, t, d2);
            }
            if (d2 < least) {
                least = d2;
                r->labels[i] = (int32_t)c;
            }
        }
    }
}

/* The sum of squares that centroids have moved. Every cluster has a point. */
static double reference_update(const struct points *p, size_t k, struct reference *r)
{
    const size_t d = p->info.cells_per_line;
    double shift2 = 0;
    for (size_t c = 0; c < k; c++) {
        for (size_t j = 0; j < d; j++) {
            long double sum = 0, n = 0;
            for (size_t i = 0; i < p->n_lines; i++) {
                if (r->labels[i] == (int32_t)c) {
                    sum += (long double)p->cells[i * d + j];
                    n++;
                }
            }
            assert_true(n > 0);
            const double mean = (double)(sum / n);
            shift2 += square(mean - r->centroids[c * d + j]);
            r->centroids[c * d + j] = mean;
        }
    }
    return shift2;
}

static double reference_variance(const struct points *p)
{
    const size_t d = p->info.cells_per_line, n = p->n_lines;
    double all = 0;
    for (size_t j = 0; j < d; j++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < n; i++) {
            sum += p->cells[i * d + j];
        }
        for (size_t i = 0; i < n; i++) {
            squares += square(p->cells[i * d + j] - sum / (double)n);
        }
        all += squares / (double)n;
    }
    return all / (double)d;
}

/* From the first k points. */
static struct reference reference_of(const struct points *p, size_t k, double tol)
{
    const size_t d = p->info.cells_per_line;
    struct reference r = {.labels = malloc(p->n_lines * sizeof *r.labels),
                          .centroids = malloc(k * d * sizeof *r.centroids)};
    assert_true(r.labels != NULL && r.centroids != NULL);
    memcpy(r.centroids, p->cells, k * d * sizeof *r.centroids);
    const double tolerance = tol * reference_variance(p);
    double shift2 = INFINITY;
    while (shift2 > tolerance) {
        reference_assign(p, k, &r);
        shift2 = reference_update(p, k, &r);
        r.n_iterations++;
    }
    reference_assign(p, k, &r);
    return r;
}

static void check_reference(const struct points *p, size_t k)
{
    const size_t d = p->info.cells_per_line, n = p->n_lines;
    struct reference want = reference_of(p, k, 1e-4);
    struct clustering got = cluster_well(p);
    const double *const centroids = centroids_of(&got, k * d);
    for (size_t i = 0; i < k * d; i++) {
        assert_true(fabs(centroids[i] - want.centroids[i]) <= centroid_bound);
    }
    assert_memory_equal(labels_of(&got, n), want.labels, n * sizeof *want.labels);
    assert_int_equal((size_t)number_of(&got, "n_iterations"), want.n_iterations);
    clustering_free(&got);
    reference_free(&want);
}

TEST(clusters_are_those_of_the_definition_for_any_shape)
{
    static const size_t ns[] = {1, 2, 31, 32, 33, 257, 2000}, ds[] = {1, 2, 3, 33},
                        ks[] = {1, 2, 7};
    for (size_t a = 0; a < 7; a++) {
        for (size_t b = 0; b < 4; b++) {
            for (size_t c = 0; c < 3; c++) {
                char k[16];
                struct points p = points_new(ns[a], ds[b], (a + b) % 2 ? DTYPE_F32 : DTYPE_F64);
                snprintf(k, sizeof k, "k=%zu", ks[c]);
                points_set(&p, k);
                points_set(&p, "init=first");
                points_set(&p, "figure=none");
                if (ks[c] <= ns[a]) {
                    check_reference(&p, ks[c]);
                }
                free(p.cells);
            }
        }
    }
}

/* --- how points come -------------------------------------------------------------------------- */

TEST(points_that_are_read_again_give_the_same_bits_as_points_in_memory)
{
    for (size_t s = 0; s < N_SETTINGS; s++) {
        struct points p = set_points(3000 + s, s % 3 + 1, s % 2 ? DTYPE_F32 : DTYPE_F64, s);
        struct clustering in_memory = cluster_well(&p);
        assert_int_equal(in_memory.n_passes, 1);
        assert_false(in_memory.need.rereads);
        p.memory_limit = 1;
        struct clustering streamed = cluster_well(&p);
        assert_true(streamed.n_passes > 3 && streamed.need.rereads);
        assert_true(counted.peak_bytes <= streamed.need.memory_bytes);
        assert_same(&in_memory, &streamed);
        clustering_free(&streamed);
        p.cut = 61;
        struct clustering cut = cluster_well(&p);
        assert_same(&in_memory, &cut);
        clustering_free(&cut);
        clustering_free(&in_memory);
        free(p.cells);
    }
}

static struct {
    const struct kmeans_kernels *real;
    struct kmeans_kernels kernels;
    size_t most;
} assigning;

static enum status noting_assign(struct queue *q, const struct kmeans_points *x,
                                 const struct kmeans_model *m, struct span memory)
{
    assigning.most = x->n > assigning.most ? x->n : assigning.most;
    return assigning.real->assign(q, x, m, memory);
}

/* However small the blocks, and as far as there is memory. */
TEST(kernels_take_points_for_all_threads_at_once_where_they_do_not_stay)
{
    struct points p = set_points(400000, 3, DTYPE_F64, 0);
    points_set(&p, "k=2"); /* each more is a pass */
    points_set(&p, "max_iter=2");
    points_set(&p, "figure=none");
    p.memory_limit = 1;
    struct clustering want = cluster_well(&p);
    assigning.real = counted.ops.kmeans;
    assigning.kernels = *assigning.real;
    assigning.kernels.assign = noting_assign;
    counted.ops.kmeans = &assigning.kernels;
    p.n_threads = 8;
    for (uint64_t mib = 12; mib <= 20; mib += patience() > 1 ? 8 : 4) {
        assigning.most = 0;
        p.memory_limit = mib << 20;
        struct clustering c = cluster_well(&p);
        /* 4096 points a thread are half of what is gathered */
        assert_in_range(assigning.most, mib < 16 ? 8192 : 8 * 4096, 8 * 8192);
        assert_true(c.need.rereads);
        assert_true(c.need.memory_bytes + c.need.host_bytes <= p.memory_limit);
        assert_true(counted.peak_bytes <= c.need.memory_bytes);
        assert_same(&want, &c);
        clustering_free(&c);
    }
    counted.ops.kmeans = assigning.real;
    clustering_free(&want);
    free(p.cells);
}

TEST(labels_leave_before_the_end_where_points_do_not_stay)
{
    struct points p = points_new(600000, 1, DTYPE_F32); /* more than two pieces of labels */
    points_set(&p, "k=2");
    points_set(&p, "max_iter=2");
    points_set(&p, "figure=none");
    p.cut = 100000;
    struct clustering in_memory = cluster_well(&p);
    p.memory_limit = 1;
    struct clustering streamed = cluster_well(&p);
    assert_same(&in_memory, &streamed);
    clustering_free(&streamed);
    clustering_free(&in_memory);
    free(p.cells);
}

TEST(the_columns_of_a_fortran_array_become_rows)
{
    const size_t n = 500, d = 3;
    struct points p = points_new(n, d, DTYPE_F64), f = points_new(n, d, DTYPE_F64);
    for (size_t i = 0; i < n * d; i++) {
        f.cells[i % d * n + i / d] = p.cells[i];
    }
    f.info.lines_are_columns = true;
    f.info.cells_per_line = n;
    f.n_lines = f.info.n_lines = f.info.n_lines_estimate = d;
    struct clustering a = cluster_well(&p), b = cluster_well(&f);
    assert_same(&a, &b);
    clustering_free(&b);
    f.memory_limit = 10000;
    b = cluster(&f);
    assert_int_equal(b.status, STATUS_TOO_LARGE);
    assert_non_null(strstr(b.message, "ascontiguousarray"));
    clustering_free(&b);
    clustering_free(&a);
    free(p.cells);
    free(f.cells);
}

TEST(tables_of_unknown_length_give_the_same)
{
    struct points p = set_points(4000, 2, DTYPE_F64, 0);
    points_set(&p, "figure=none");
    struct clustering known = cluster_well(&p);
    p.info.n_lines = 0;
    static const size_t guesses[] = {1, 100, 3999, 4000, 9000};
    for (size_t g = 0; g < 5; g++) {
        p.info.n_lines_estimate = guesses[g];
        struct clustering guessed = cluster_well(&p);
        assert_true(guessed.need.estimated);
        assert_same(&known, &guessed);
        clustering_free(&guessed);
    }
    clustering_free(&known);
    free(p.cells);
}

/* --- runs and numbers of clusters ------------------------------------------------------------- */

TEST(as_many_clusters_as_points_take_one_each)
{
    static const char *const inits[] = {"init=k-means++", "init=random", "init=first"};
    for (size_t i = 0; i < 3; i++) {
        struct points p = points_new(40, 2, DTYPE_F64);
        points_set(&p, "k=40");
        points_set(&p, inits[i]);
        struct clustering c = cluster_well(&p);
        const int64_t *const counts = data_of(&c, "counts.npy", 40, sizeof *counts);
        for (size_t k = 0; k < 40; k++) {
            assert_int_equal(counts[k], 1);
        }
        assert_true(number_of(&c, "inertia") == 0);
        assert_int_equal(json_array_size(c.warnings), 0);
        clustering_free(&c);
        free(p.cells);
    }
}

TEST(restarts_keep_the_least_inertia)
{
    struct points one = points_new(500, 2, DTYPE_F64), many = points_new(500, 2, DTYPE_F64);
    points_set(&one, "init=random");
    points_set(&many, "init=random");
    points_set(&many, "n_init=8");
    struct clustering a = cluster_well(&one), b = cluster_well(&many);
    assert_true(number_of(&b, "inertia") <= number_of(&a, "inertia"));
    const double *const within = data_of(&b, "within.npy", 8, sizeof *within);
    double sum = 0;
    for (size_t k = 0; k < 8; k++) {
        sum += within[k];
    }
    assert_true(fabs(sum - number_of(&b, "inertia")) <= 1e-12 * sum);
    clustering_free(&a);
    clustering_free(&b);
    free(one.cells);
    free(many.cells);
}

/* Five heaps of 30 points each, 5 wide and as far apart: one run from random points, with the
 * default seed, ends with two of them as one and another cut in two. */
TEST(by_default_the_best_of_ten_runs_finds_what_one_does_not)
{
    static const double corners[][2] = {{40, 40}, {0, 0}, {50, 40}, {40, 0}, {0, 40}};
    enum { HEAPS = 5, EACH = 30, N = HEAPS * EACH };
    struct points one = points_new(N, 2, DTYPE_F64);
    uint64_t seed = 3;
    for (size_t i = 0; i < (size_t)2 * N; i++) {
        one.cells[i] = corners[i / 2 / EACH][i % 2] + 5 * next_uniform(&seed);
    }
    struct points by_default = one;
    by_default.params[0] = NULL; /* n_init */
    points_set(&one, "k=5");
    points_set(&one, "init=random");
    points_set(&by_default, "k=5");
    points_set(&by_default, "init=random");
    struct clustering a = cluster_well(&one), b = cluster_well(&by_default);
    const int64_t *const counts = data_of(&b, "counts.npy", HEAPS, sizeof *counts);
    const int32_t *const labels = labels_of(&b, N);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(labels[i], labels[i / EACH * EACH]);
        assert_int_equal(counts[labels[i]], EACH);
    }
    assert_true(number_of(&a, "inertia") > 2 * number_of(&b, "inertia"));
    assert_int_equal(json_integer_value(json_object_get(b.parameters, "n_init")), 10);
    clustering_free(&a);
    clustering_free(&b);
    free(one.cells);
}

/* The sum of squared distances of heaps of points to their own means: point i is in heap i % k. */
static double inertia_of_heaps(const double *x, size_t n, size_t k)
{
    double sum = 0;
    for (size_t of = 0; of < k; of++) {
        double mean[2] = {0, 0};
        const double count = (double)((n - of - 1) / k + 1);
        for (size_t i = of; i < n; i += k) {
            mean[0] += x[2 * i] / count;
            mean[1] += x[2 * i + 1] / count;
        }
        for (size_t i = of; i < n; i += k) {
            sum += square(x[2 * i] - mean[0]) + square(x[2 * i + 1] - mean[1]);
        }
    }
    return sum;
}

/* Thirty heaps in rows of six, ten deviations apart, and 1,500 points, with all defaults: runs
 * whose seeds are drawn without trials end with heaps that are one, ten of them as one does. */
TEST(thirty_heaps_ten_deviations_apart_are_found)
{
    enum { HEAPS = 30, N = 1500 };
    struct points p = points_new(N, 2, DTYPE_F64);
    uint64_t seed = 8;
    for (size_t i = 0; i < N; i++) {
        const double r = sqrt(-2 * log(1 - next_uniform(&seed)));
        const double angle = 2 * 3.141592653589793 * next_uniform(&seed);
        const size_t row = i % HEAPS / 6;
        p.cells[2 * i] = 10 * (double)(i % 6) + r * cos(angle);
        p.cells[2 * i + 1] = 10 * (double)row + r * sin(angle);
    }
    const double want = inertia_of_heaps(p.cells, N, HEAPS);
    p.params[0] = NULL; /* n_init */
    points_set(&p, "k=30");
    struct clustering c = cluster_well(&p);
    assert_true(fabs(number_of(&c, "inertia") - want) <= 1e-9 * want);
    clustering_free(&c);
    points_set(&p, "k=2-40");
    c = cluster_well(&p);
    assert_int_equal((size_t)number_of(&c, "k"), HEAPS);
    assert_true(fabs(number_of(&c, "inertia") - want) <= 1e-9 * want);
    clustering_free(&c);
    free(p.cells);
}

TEST(a_range_of_k_takes_the_best_silhouette_and_lists_all)
{
    struct points p = points_new(300, 2, DTYPE_F64);
    uint64_t seed = 5;
    for (size_t i = 0; i < 300; i++) { /* four tight heaps */
        p.cells[2 * i] = 10 * (double)(i % 2) + next_uniform(&seed);
        p.cells[2 * i + 1] = 10 * (double)(i / 2 % 2) + next_uniform(&seed);
    }
    points_set(&p, "k=1-7");
    drawn_begin();
    struct clustering c = cluster_well(&p);
    drawn_end();
    assert_string_equal(
        drawn_all,
        "0|2|4|6|8|10|0|2|4|6|8|10|column 1|column 2|0|1|2|3|cluster: size|0: 75|1: 75|"
        "2: 75|3: 75|0|centroid of cluster 0|points|: 300 points in 4 clusters|points|"
        ": 7 numbers of clusters; 4 taken|1|2|3|4|5|6|7|0|5000|10000|15000||inertia|1|2|3|4|5|6|7|"
        "0.5|0.6|0.7|0.8|0.9|k|silhouette");
    assert_int_equal((size_t)number_of(&c, "k"), 4);
    assert_int_equal(json_array_size(json_object_get(c.summary, "ks")), 7);
    const json_t *const first = json_array_get(json_object_get(c.summary, "ks"), 0);
    assert_true(json_is_null(json_object_get(first, "silhouette")));
    const char *const text = text_of(&c, "ks.csv.gz");
    assert_true(strncmp(text, "k,inertia,silhouette,n_iterations,converged\n1,", 46) == 0);
    member_of(&c, "ks.png");
    clustering_free(&c);
    free(p.cells);
}

/* Of points on a line through three columns, along (1, 2, 2.25): all variance lies there. */
TEST(of_more_than_two_columns_the_picture_shows_components_or_the_columns_that_are_named)
{
    static const char *const shown[][3] = {
        {"axes=", "component 1: 100.0 % of the variance, most by column 3 and column 2|",
         "component 2: 0.0 % of the variance"},
        {"axes=3,1", "|column 3|", "|column 1|"}};
    struct points p = points_new(100, 3, DTYPE_F64);
    for (size_t i = 0; i < 300; i++) {
        p.cells[i] = (double)(i / 3) * (i % 3 == 0 ? 1 : i % 3 == 1 ? 2 : 2.25);
    }
    points_set(&p, "k=2");
    for (size_t k = 0; k < 2; k++) {
        points_set(&p, shown[k][0]);
        drawn_begin();
        struct clustering c = cluster_well(&p);
        drawn_end();
        const char *const x_name = strstr(drawn_all, shown[k][1]);
        assert_non_null(x_name);
        assert_non_null(strstr(x_name, shown[k][2]));
        clustering_free(&c);
    }
    free(p.cells);
}

TEST(the_title_says_that_areas_of_markers_are_weights)
{
    struct points p = points_new(100, 3, DTYPE_F64);
    for (size_t i = 0; i < 300; i++) {
        p.cells[i] = (double)i;
    }
    points_set(&p, "k=2");
    points_set(&p, "weight=3");
    drawn_begin();
    struct clustering c = cluster_well(&p);
    drawn_end();
    assert_non_null(strstr(drawn_all, "|points|: 100 points in 2 clusters; areas: weights"));
    clustering_free(&c);
    free(p.cells);
}

/* A second cluster takes little of the inertia of noise: its axis begins at 0 all the same, that of
 * silhouettes does not. */
TEST(the_axis_of_inertia_begins_at_0)
{
    struct points p = points_new(200, 12, DTYPE_F64);
    uint64_t seed = 9;
    for (size_t i = 0; i < 200 * 12; i++) {
        p.cells[i] = next_uniform(&seed);
    }
    points_set(&p, "k=2-3");
    drawn_begin();
    struct clustering c = cluster_well(&p);
    drawn_end();
    const char *const panel = strstr(drawn_all, " taken|2|3|0|");
    assert_non_null(panel);
    assert_non_null(strstr(panel, "inertia|2|3|"));
    assert_null(strstr(panel, "inertia|2|3|0|"));
    clustering_free(&c);
    free(p.cells);
}

/* Two places: a third cluster stays empty, and changes nothing. */
TEST(of_numbers_of_clusters_with_one_silhouette_the_smallest_is_taken)
{
    struct points p = points_new(40, 1, DTYPE_F64);
    for (size_t k = 0; k < 40; k++) {
        p.cells[k] = k % 3 == 0 ? 10 : 0;
    }
    points_set(&p, "k=2-4");
    struct clustering c = cluster_well(&p);
    assert_true(number_of(&c, "silhouette") == 1);
    assert_int_equal((size_t)number_of(&c, "k"), 2);
    clustering_free(&c);
    free(p.cells);
}

/* The mean silhouette by its definition; points alone in their cluster count 0. */
static double silhouette_of(const struct points *p, const int32_t *labels, int32_t k)
{
    const size_t n = p->n_lines, d = p->info.cells_per_line;
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        double sum[8] = {0}, count[8] = {0};
        for (size_t j = 0; j < n; j++) {
            double d2 = 0;
            for (size_t c = 0; c < d; c++) {
                d2 += square(p->cells[d * i + c] - p->cells[d * j + c]);
            }
            sum[labels[j]] += sqrt(d2);
            count[labels[j]]++;
        }
        const int32_t own = labels[i];
        double nearest = INFINITY;
        for (int32_t c = 0; c < k; c++) {
            nearest = c != own ? fmin(nearest, sum[c] / count[c]) : nearest;
        }
        const double within = sum[own] / (count[own] - 1);
        total += count[own] > 1 ? (nearest - within) / fmax(nearest, within) : 0;
    }
    return total / (double)n;
}

TEST(a_silhouette_is_that_of_its_definition)
{
    const size_t n = 200;
    struct points p = points_new(n, 3, DTYPE_F64);
    points_set(&p, "k=4");
    struct clustering c = cluster_well(&p);
    const double want = silhouette_of(&p, labels_of(&c, n), 4);
    assert_int_equal((size_t)number_of(&c, "silhouette_points"), n);
    assert_true(fabs(number_of(&c, "silhouette") - want) < 1e-12);
    clustering_free(&c);
    free(p.cells);
}

/* With k = 3 the lone point has a cluster of its own, and counts 0: 100 points of which 99 have a
 * silhouette of 0.98 on average. Were it left out, or counted 1, the mean would be 0.98 or more. */
TEST(a_point_alone_in_its_cluster_counts_nothing_in_the_silhouette)
{
    enum { N = 100 };
    struct points p = points_new(N, 2, DTYPE_F64);
    uint64_t seed = 12;
    for (size_t i = 0; i < N; i++) {
        const double at = i + 1 == N ? 50 : 100 * (double)(i % 2);
        p.cells[2 * i] = at + 3.8 * next_uniform(&seed);
        p.cells[2 * i + 1] = i + 1 == N ? 300 : 3.8 * next_uniform(&seed);
    }
    points_set(&p, "k=2-5");
    struct clustering c = cluster_well(&p);
    assert_int_equal((size_t)number_of(&c, "k"), 3);
    const double got = number_of(&c, "silhouette");
    assert_true(fabs(got - silhouette_of(&p, labels_of(&c, N), 3)) < 1e-12);
    assert_true(fabs(got - 0.970) < 0.003);
    clustering_free(&c);
    free(p.cells);
}

/* --- scaling ---------------------------------------------------------------------------------- */

TEST(scaled_columns_give_the_labels_of_columns_scaled_by_hand)
{
    const size_t n = 1000;
    struct points p = points_new(n, 2, DTYPE_F64), by_hand = points_new(n, 2, DTYPE_F64);
    for (size_t i = 0; i < n; i++) { /* by powers of two: the same distances */
        by_hand.cells[2 * i] = p.cells[2 * i] * 4;
        p.cells[2 * i + 1] = by_hand.cells[2 * i + 1] *= 0.125;
    }
    points_set(&p, "scale=range");
    points_set(&by_hand, "scale=range");
    struct clustering a = cluster_well(&p), b = cluster_well(&by_hand);
    assert_memory_equal(labels_of(&a, n), labels_of(&b, n), n * sizeof(int32_t));
    const double *const x = centroids_of(&a, 16), *const y = centroids_of(&b, 16);
    for (size_t k = 0; k < 8; k++) {
        assert_true(y[2 * k] == 4 * x[2 * k] && y[2 * k + 1] == x[2 * k + 1]);
    }
    const double *const scale = data_of(&a, "scale.npy", 2, sizeof *scale);
    double min = INFINITY, max = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        min = fmin(min, p.cells[2 * i]);
        max = fmax(max, p.cells[2 * i]);
    }
    assert_true(scale[0] == 1 / (max - min));
    clustering_free(&a);
    clustering_free(&b);
    free(p.cells);
    free(by_hand.cells);
}

/* Differences are the same but for a power of two, so everything is. */
TEST(columns_as_narrow_or_as_wide_as_may_be_make_the_same_clusters)
{
    static const char *const scales[] = {"scale=none", "scale=unit", "scale=range"};
    for (size_t s = 0; s < 3; s++) {
        struct points p = points_new(500, 2, DTYPE_F64), q = points_new(500, 2, DTYPE_F64);
        points_set(&p, scales[s]);
        points_set(&q, scales[s]);
        points_set(&p, "figure=none");
        points_set(&q, "figure=none");
        struct clustering want = cluster_well(&p);
        for (int power = -402; power <= 396; power += 2 * 399) {
            for (size_t i = 0; i < 1000; i++) {
                q.cells[i] = ldexp(p.cells[i], power);
            }
            struct clustering c = cluster_well(&q);
            const double *const x = centroids_of(&want, 16), *const y = centroids_of(&c, 16);
            assert_memory_equal(labels_of(&c, 500), labels_of(&want, 500), 500 * sizeof(int32_t));
            for (size_t i = 0; i < 16; i++) {
                assert_true(y[i] == ldexp(x[i], power));
            }
            assert_true(number_of(&c, "n_iterations") == number_of(&want, "n_iterations"));
            clustering_free(&c);
        }
        clustering_free(&want);
        free(p.cells);
        free(q.cells);
    }
}

/* --- failures --------------------------------------------------------------------------------- */

TEST(a_failing_allocation_leaves_nothing)
{
    for (uint64_t limit = 0; limit < 2; limit++) {
        struct points p = set_points(300, 2, DTYPE_F64, 1);
        p.memory_limit = limit;
        size_t n_failed = 0;
        for (bool done = false; !done; n_failed += done ? 0 : 1) {
            counted.fail_at = n_failed + 1;
            struct clustering c = cluster(&p);
            counted.fail_at = 0;
            done = c.status == STATUS_OK;
            assert_true(done || c.status == STATUS_NO_MEMORY);
            clustering_free(&c);
        }
        assert_true(n_failed > 5); /* rows, models, points, samples */
        free(p.cells);
    }
}

TEST(a_stopped_job_ends_early)
{
    int stop = 1;
    struct points p = set_points(3000, 2, DTYPE_F64, 0);
    counted.queue->stop = &stop;
    struct clustering c = cluster(&p);
    counted.queue->stop = NULL;
    assert_int_equal(c.status, STATUS_CANCELLED);
    clustering_free(&c);
    free(p.cells);
}

int main(void)
{
    return UNDER_TEST_RUN(counted_open, counted_close);
}
