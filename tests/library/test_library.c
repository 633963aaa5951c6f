/*
 * library - libleat as a program meets it, through leat.h alone, on the backend of
 * LEAT_TEST_BACKEND: clusters, curves, progress, contexts.
 * ctest: tsan=yes
 */
#include "tests/support/library_support.h"

/* --- clusters --------------------------------------------------------------------------------- */

TEST(heaps_are_found_and_all_of_the_result_fits_together)
{
    struct leat_context *const c = context();
    const struct leat_array x = array();
    const struct leat_kmeans_options o = options(HEAPS);
    struct leat_kmeans_result *r = cluster(c, &x, &o);
    double inertia = 0;
    assert_int_equal(r->k, HEAPS);
    assert_int_equal(r->n, N);
    assert_int_equal(r->columns, D);
    assert_true(r->converged && r->n_iterations >= 1 && r->silhouette > 0.8 && r->silhouette <= 1);
    for (size_t i = 0; i < N; i++) {
        assert_in_range(r->labels[i], 0, HEAPS - 1);
        assert_int_equal(r->labels[i], r->labels[i % HEAPS]);
        for (size_t k = 0; k < HEAPS; k++) {
            assert_true(distance2(wide[i], r->centroids + (size_t)r->labels[i] * D) <=
                        distance2(wide[i], r->centroids + k * D));
        }
    }
    for (size_t k = 0; k < HEAPS; k++) {
        double mean[D] = {0}, within = 0;
        assert_int_equal(r->counts[k], N / HEAPS);
        for (size_t i = 0; i < N; i++) {
            const bool is_in = r->labels[i] == (int32_t)k;
            within += is_in ? distance2(wide[i], r->centroids + k * D) : 0;
            for (size_t j = 0; j < D; j++) {
                mean[j] += is_in ? wide[i][j] / (N / HEAPS) : 0;
            }
        }
        for (size_t j = 0; j < D; j++) { /* N roundings of numbers below 81 */
            assert_near(r->centroids[k * D + j], mean[j], N * 81 * 0x1p-52);
        }
        assert_near(r->within[k], within, N * 81 * 81 * 0x1p-50);
        inertia += r->within[k];
    }
    assert_near(r->inertia, inertia, inertia * 1e-14);
    leat_kmeans_free(r);
    leat_close(c);
}

/* Rows that lie apart, and floats, are the same points. */
TEST(strides_and_floats_change_no_bit)
{
    struct leat_context *const c = context();
    const struct leat_array dense = array(), apart = {.data = points,
                                                      .type = LEAT_F4,
                                                      .rows = N,
                                                      .columns = D,
                                                      .row_bytes = sizeof points[0]};
    const struct leat_kmeans_options o = options(7);
    struct leat_kmeans_result *a = cluster(c, &dense, &o), *b = cluster(c, &apart, &o);
    assert_memory_equal(a->centroids, b->centroids, a->k * D * sizeof(double));
    assert_memory_equal(a->labels, b->labels, N * sizeof(int32_t));
    leat_kmeans_free(a);
    leat_kmeans_free(b);
    leat_close(c);
}

TEST(of_a_range_the_number_of_heaps_is_taken)
{
    struct leat_context *const c = context();
    const struct leat_array x = array();
    struct leat_kmeans_options o = options(2);
    o.k_last = 8;
    o.scale = LEAT_SCALE_UNIT;
    struct leat_kmeans_result *r = cluster(c, &x, &o);
    assert_int_equal(r->k, HEAPS);
    leat_kmeans_free(r);
    o = options(HEAPS); /* one run from the first five points, which lie in five heaps */
    o.init = LEAT_KMEANS_FIRST;
    r = cluster(c, &x, &o);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(r->labels[i], i % HEAPS);
    }
    leat_kmeans_free(r);
    leat_close(c);
}

/* A program that was made for an earlier version has fewer options. */
TEST(options_that_are_not_given_are_the_defaults)
{
    struct leat_context *const c = context();
    const struct leat_array x = array();
    struct leat_kmeans_options o = options(0);
    struct leat_kmeans_result *by_none = cluster(c, &x, NULL), *by_all = cluster(c, &x, &o);
    o.size = offsetof(struct leat_kmeans_options, k_last);
    o.k_last = 1; /* which is not looked at */
    o.init = (enum leat_kmeans_init)99;
    struct leat_kmeans_result *by_few = cluster(c, &x, &o), *by_no_size;
    assert_int_equal(by_none->k, 8);
    assert_memory_equal(by_none->labels, by_all->labels, N * sizeof(int32_t));
    assert_memory_equal(by_none->labels, by_few->labels, N * sizeof(int32_t));
    leat_kmeans_free(by_none);
    leat_kmeans_free(by_all);
    leat_kmeans_free(by_few);
    o = (struct leat_kmeans_options){.k = 3}; /* nobody would look at k */
    assert_int_equal(leat_kmeans(c, &x, &o, &by_no_size), LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(c), "size is not set"));
    leat_close(c);
}

TEST(what_is_wrong_with_points_is_said)
{
    struct leat_context *const c = context();
    struct leat_kmeans_result *r;
    const struct {
        double value;
        const char *says;
    } numbers[] = {{NAN, "row 17, column 1 (the first are 0) is NaN"},
                   {-INFINITY, "row 17, column 1 (the first are 0) is infinite"},
                   {1e200, "column 1 (the first is 0) has values from"}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const struct leat_array x = array();
        const double kept = wide[17][1];
        wide[17][1] = numbers[i].value;
        assert_int_equal(leat_kmeans(c, &x, NULL, &r), LEAT_BAD_INPUT);
        assert_non_null(strstr(leat_error(c), numbers[i].says));
        assert_null(r);
        wide[17][1] = kept;
    }
    struct leat_array x = array();
    struct leat_kmeans_options o = options(N + 1);
    assert_int_equal(leat_kmeans(c, &x, &o, &r), LEAT_BAD_ARGUMENT);
    o = options(3);
    o.k_last = 2;
    assert_int_equal(leat_kmeans(c, &x, &o, &r), LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(c), "k_last"));
    assert_null(strstr(leat_error(c), "points"));
    o = options(3);
    o.n_init = SIZE_MAX / 2 + 1; /* runs that wrap */
    o.k_last = 4;
    assert_int_equal(leat_kmeans(c, &x, &o, &r), LEAT_BAD_ARGUMENT);
    for (size_t i = 0; i < 2; i++) {
        o = options(3);
        o.tol = i == 0 ? NAN : 1e308;
        assert_int_equal(leat_kmeans(c, &x, &o, &r), LEAT_BAD_ARGUMENT);
    }
    assert_int_equal(leat_kmeans(c, NULL, NULL, &r), LEAT_BAD_ARGUMENT);
    assert_int_equal(leat_kmeans(c, &x, NULL, NULL), LEAT_BAD_ARGUMENT);
    o = options(3);
    o.scale = (enum leat_kmeans_scale)7;
    assert_int_equal(leat_kmeans(c, &x, &o, &r), LEAT_BAD_ARGUMENT);
    x.row_bytes = sizeof(double);
    assert_int_equal(leat_kmeans(c, &x, NULL, &r), LEAT_BAD_ARGUMENT);
    x = array();
    x.rows = 0;
    assert_int_equal(leat_kmeans(c, &x, NULL, &r), LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(c), "points"));
    leat_close(c);
}

TEST(memory_is_bounded)
{
    struct leat_options o = LEAT_OPTIONS_DEFAULTS;
    struct leat_context *c;
    struct leat_kmeans_result *r;
    struct leat_landslide_result *slide;
    struct leat_correlate_result *r_of_all;
    const struct leat_array x = array();
    o.memory = 10000;
    o.backend = getenv("LEAT_TEST_BACKEND");
    assert_int_equal(leat_open(&o, &c), LEAT_OK);
    assert_int_equal(leat_kmeans(c, &x, NULL, &r), LEAT_TOO_LARGE);
    assert_non_null(strstr(leat_error(c), "10000"));
    assert_int_equal(leat_correlate(c, &x, NULL, &r_of_all), LEAT_TOO_LARGE);
    assert_int_equal(leat_landslide(c, &x, &x, NULL, &slide), LEAT_TOO_LARGE);
    assert_non_null(strstr(leat_error(c), "10000"));
    leat_close(c);
}

/* --- curves ----------------------------------------------------------------------------------- */

/* Of polynomials of degree 3 and 1 every interpolant but PCHIP's is the polynomial: |error| <= 50
 * u 2.9 max |y|, 2.9 above the Lebesgue constant of 21 Chebyshev nodes, and what rounds y as much
 * again. */
TEST(polynomials_are_themselves)
{
    struct leat_context *const c = context();
    const struct nodes n = nodes_of_chebyshev();
    static double q[QUERIES], v[QUERIES][2];
    for (int method = LEAT_BY_ITSELF; method <= LEAT_SPLINE; method++) {
        const bool is_spline = method == LEAT_SPLINE;
        struct leat_interpolant *p;
        if (method == LEAT_PCHIP) {
            continue;
        }
        assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], NODES, 2,
                                              (enum leat_interpolant_method)method, 0, &p),
                         LEAT_OK);
        for (size_t i = 0; i < QUERIES; i++) {
            q[i] = (2 * uniform(i) - 1) * n.x[0];
        }
        q[7] = NAN;
        q[8] = n.x[3];
        q[9] = INFINITY;
        assert_int_equal(leat_interpolant_evaluate(p, q, QUERIES, v[0]), LEAT_OK);
        assert_int_equal(leat_interpolant_evaluate(p, NULL, 0, NULL), LEAT_OK);
        for (size_t i = 0; i < QUERIES; i++) {
            if (i == 9 && is_spline) {
                continue; /* what the last cubic is there */
            }
            if (i == 7 || i == 9) {
                assert_true(isnan(v[i][0]) && isnan(v[i][1]));
                continue;
            }
            assert_near(v[i][0], q[i] * q[i] * q[i], 100 * 0x1p-53 * 2.9);
            assert_near(v[i][1], 4 - q[i], 100 * 0x1p-53 * 2.9 * 5);
        }
        assert_memory_equal(&v[8][0], &n.y[0][3], sizeof(double)); /* a node's own value */
        if (method <= LEAT_BARYCENTRIC) {
            assert_in_range((size_t)(100 * leat_interpolant_lebesgue(p)), 200, 290);
        }
        assert_int_equal(is_spline, isnan(leat_interpolant_lebesgue(p)) != 0);
        leat_interpolant_free(p);
    }
    leat_interpolant_free(NULL);
    leat_close(c);
}

/* Of 40000 nodes, more than a polynomial takes. */
TEST(pchip_stays_within_its_nodes)
{
    enum { MANY = 40000 };
    struct leat_context *const c = context();
    static double x[MANY], y[MANY], q[QUERIES], v[QUERIES];
    struct leat_interpolant *p;
    for (size_t i = 0; i < MANY; i++) {
        x[i] = (double)i;
        y[i] = i % 7 < 3 ? 1 : 0;
    }
    for (size_t i = 0; i < QUERIES; i++) {
        q[i] = uniform(i) * (MANY - 1);
    }
    assert_int_equal(leat_interpolant_new(c, x, y, MANY, 1, LEAT_PCHIP, 0, &p), LEAT_OK);
    assert_int_equal(leat_interpolant_evaluate(p, q, QUERIES, v), LEAT_OK);
    for (size_t i = 0; i < QUERIES; i++) {
        const size_t j = (size_t)q[i];
        assert_true(v[i] >= fmin(y[j], y[j + 1]) - 0x1p-50);
        assert_true(v[i] <= fmax(y[j], y[j + 1]) + 0x1p-50);
    }
    leat_interpolant_free(p);
    leat_close(c);
}

TEST(what_is_wrong_with_nodes_is_said)
{
    struct leat_context *const c = context();
    struct nodes n = nodes_of_chebyshev();
    struct leat_interpolant *p;
    n.x[9] = n.x[4];
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], NODES, 2, LEAT_BY_ITSELF, 0, &p),
                     LEAT_BAD_INPUT);
    assert_non_null(strstr(leat_error(c), "nodes 4 and 9"));
    assert_null(p);
    n.x[9] = INFINITY;
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], NODES, 2, LEAT_BY_ITSELF, 0, &p),
                     LEAT_BAD_INPUT);
    assert_non_null(strstr(leat_error(c), "x of node 9 (the first is 0)"));
    n = nodes_of_chebyshev();
    n.y[1][0] = NAN;
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], NODES, 2, LEAT_BY_ITSELF, 0, &p),
                     LEAT_BAD_INPUT);
    assert_non_null(strstr(leat_error(c), "y of node 0 (the first is 0)"));
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], 0, 2, LEAT_BY_ITSELF, 0, &p),
                     LEAT_BAD_ARGUMENT);
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], 40000, 1, LEAT_BY_ITSELF, 0, &p),
                     LEAT_BAD_ARGUMENT);
    n = nodes_of_chebyshev();
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], NODES, 1, LEAT_BY_ITSELF, 0, &p),
                     LEAT_OK);
    assert_int_equal(leat_interpolant_evaluate(p, NULL, 3, NULL), LEAT_BAD_ARGUMENT);
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], NODES, 1, LEAT_BY_ITSELF, 0, NULL),
                     LEAT_BAD_ARGUMENT);
    leat_interpolant_free(p);
    leat_close(c);
}

/* --- progress --------------------------------------------------------------------------------- */

struct told {
    pthread_t thread;
    size_t n, n_until_no; /* calls; the last one says no */
    double last;
};

static int tell(void *user, double share)
{
    struct told *const t = user;
    assert_true(pthread_equal(pthread_self(), t->thread));
    assert_true(share >= (t->n == 0 ? 0 : t->last) && share <= 1);
    t->last = share;
    return ++t->n == t->n_until_no;
}

static enum leat_status call(struct leat_context *c, struct leat_interpolant *p, size_t which)
{
    static double q[2 << 20], v[2 << 20];
    struct maps *const m = maps_new();
    const struct leat_array x = array(), dem = map_of(m->dem), source = map_of(m->source);
    struct leat_kmeans_result *clusters = NULL;
    struct leat_landslide_result *r = NULL;
    struct leat_correlate_result *all = NULL;
    const enum leat_status st = which == 0   ? leat_kmeans(c, &x, NULL, &clusters)
                                : which == 1 ? leat_landslide(c, &dem, &source, NULL, &r)
                                : which == 2 ? leat_correlate(c, &x, NULL, &all)
                                             : leat_interpolant_evaluate(p, q, 2 << 20, v);
    assert_true(which == 3 || (clusters == NULL && r == NULL && all == NULL) == (st != LEAT_OK));
    leat_correlate_free(all);
    leat_kmeans_free(clusters);
    leat_landslide_free(r);
    free(m);
    return st;
}

TEST(programs_are_told_the_progress_and_may_say_no)
{
    struct told told = {.thread = pthread_self()};
    struct leat_options o = LEAT_OPTIONS_DEFAULTS;
    const struct nodes n = nodes_of_chebyshev();
    struct leat_context *c;
    struct leat_interpolant *p;
    o.backend = getenv("LEAT_TEST_BACKEND");
    o.progress = tell;
    o.user = &told;
    assert_int_equal(leat_open(&o, &c), LEAT_OK);
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], NODES, 1, LEAT_BY_ITSELF, 0, &p),
                     LEAT_OK);
    for (size_t which = 0; which < 4; which++) {
        told.n_until_no = 1;
        told.n = 0;
        assert_int_equal(call(c, p, which), LEAT_CANCELLED);
        assert_int_equal(told.n, 1);
        told.n_until_no = told.n = 0;
        assert_int_equal(call(c, p, which), LEAT_OK);
        assert_true(told.n >= 1);
    }
    assert_true(told.n == 2 && told.last > 0.5); /* strips */
    leat_interpolant_free(p);
    leat_close(c);
}

/* Of series that take two panels, with gaps, three products of panels. */
TEST(programs_are_told_while_pairs_with_gaps_are_computed)
{
    enum { MANY = 1100, FEW = 12 };
    static double x[MANY][FEW];
    const struct leat_array all = LEAT_ARRAY(x, LEAT_F8, MANY, FEW);
    struct told told = {.thread = pthread_self()};
    struct leat_options o = LEAT_OPTIONS_DEFAULTS;
    struct leat_context *c;
    struct leat_correlate_result *r;
    o.backend = getenv("LEAT_TEST_BACKEND");
    o.progress = tell;
    o.user = &told;
    assert_int_equal(leat_open(&o, &c), LEAT_OK);
    for (size_t k = 0; k < (size_t)MANY * FEW; k++) {
        x[0][k] = k % 31 == 0 ? (double)NAN : uniform(k);
    }
    for (int method = LEAT_PEARSON; method <= LEAT_SPEARMAN; method++) {
        struct leat_correlate_options of = LEAT_CORRELATE_DEFAULTS;
        of.method = (enum leat_method)method;
        told.n = told.n_until_no = 0;
        leat_correlate_free(correlate(c, &all, &of));
        const size_t n = told.n;
        /* two panels, three products of them, those of ranks in strips, and the results */
        assert_true(method == LEAT_PEARSON ? n == 2 + 3 + 1 : n > 20);
        assert_true(told.last == 1);
        told.n = 0;
        told.n_until_no = n / 2 + 1;
        assert_int_equal(leat_correlate(c, &all, &of, &r), LEAT_CANCELLED);
        assert_true(told.n == n / 2 + 1 && told.last > 0.5 && told.last < 1);
    }
    leat_close(c);
}

/* --- contexts --------------------------------------------------------------------------------- */

TEST(contexts_that_cannot_be_say_why)
{
    struct leat_options o = LEAT_OPTIONS_DEFAULTS;
    struct leat_context *c;
    o.backend = "abacus";
    assert_int_equal(leat_open(&o, &c), LEAT_BAD_ARGUMENT);
    assert_null(c);
    assert_non_null(strstr(leat_error(NULL), "abacus"));
    o = (struct leat_options)LEAT_OPTIONS_DEFAULTS;
    o.threads = SIZE_MAX;
    assert_int_equal(leat_open(&o, &c), LEAT_BAD_ARGUMENT);
    assert_non_null(strstr(leat_error(NULL), "threads"));
    struct {
        struct leat_options known;
        int later;
    } newer;
    memset(&newer, 0, sizeof newer); /* with what lies between */
    newer.known.size = sizeof newer;
    newer.known.threads = 1;
    assert_int_equal(leat_open(&newer.known, &c), LEAT_OK); /* what is not known is not set */
    leat_close(c);
    newer.later = 1;
    assert_int_equal(leat_open(&newer.known, &c), LEAT_BAD_ARGUMENT);
    leat_close(NULL);
    leat_cancel(NULL);
    leat_kmeans_free(NULL);
    c = context();
    assert_true(strlen(leat_backend(c)) > 5);
    assert_string_equal(leat_version(), LEAT_VERSION);
    leat_close(c);
}

/* Threads of the library take no signal that the program has blocked. The first of all tests: where
 * others call the driver themselves, it begins threads in their name. */
TEST(signals_stay_the_programs)
{
    sigset_t term, before;
    struct leat_context *const c = context();
    const struct leat_array x = array();
    leat_correlate_free(correlate(c, &x, NULL));
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &term, &before), 0);
    assert_int_equal(kill(getpid(), SIGTERM), 0);
    int got = 0;
    assert_int_equal(sigwait(&term, &got), 0); /* else it has ended the test */
    assert_int_equal(got, SIGTERM);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    leat_close(c);
}

static void *work(void *unused)
{
    (void)unused;
    struct leat_kmeans_result *r = NULL;
    struct leat_context *const c = context();
    const struct leat_array x = array();
    for (int i = 0; i < 5; i++) {
        const struct leat_kmeans_options o = options(6);
        r = cluster(c, &x, &o);
        if (i < 4) {
            leat_kmeans_free(r);
        }
    }
    leat_close(c);
    return r;
}

TEST(two_contexts_work_at_the_same_time)
{
    pthread_t threads[2];
    struct leat_kmeans_result *r[2];
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work, NULL), 0);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], (void **)&r[i]), 0);
    }
    assert_memory_equal(r[0]->labels, r[1]->labels, N * sizeof(int32_t));
    assert_memory_equal(r[0]->centroids, r[1]->centroids, 6 * D * sizeof(double));
    for (size_t i = 0; i < 2; i++) {
        leat_kmeans_free(r[i]);
    }
}

static void *cancel(void *c)
{
    usleep(50000); /* it would go on for days */
    leat_cancel(c);
    return NULL;
}

TEST(a_call_is_cancelled_and_the_next_one_works)
{
    struct leat_context *const c = context();
    const struct leat_array x = array();
    struct leat_kmeans_options o = options(300);
    struct leat_kmeans_result *r;
    pthread_t thread;
    o.k_last = 800;
    o.n_init = SIZE_MAX / 1000;
    o.tol = -1;
    assert_int_equal(pthread_create(&thread, NULL, cancel, c), 0);
    assert_int_equal(leat_kmeans(c, &x, &o, &r), LEAT_CANCELLED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_null(r);
    r = cluster(c, &x, NULL);
    leat_kmeans_free(r);
    struct maps *const m = maps_new();
    const struct leat_array dem = map_of(m->dem), source = map_of(m->source);
    struct leat_landslide_result *slide;
    m->dem[ROWS - 1][0] = INFINITY; /* nobody comes so far */
    leat_cancel(c);
    assert_int_equal(leat_landslide(c, &dem, &source, NULL, &slide), LEAT_CANCELLED);
    assert_int_equal(leat_landslide(c, &dem, &source, NULL, &slide), LEAT_BAD_INPUT);
    free(m);
    const struct nodes n = nodes_of_chebyshev();
    struct leat_interpolant *p;
    double value;
    leat_cancel(c); /* does not outlive the call that is refused */
    assert_int_equal(leat_kmeans(c, NULL, NULL, &r), LEAT_BAD_ARGUMENT);
    r = cluster(c, &x, NULL);
    leat_kmeans_free(r);
    leat_cancel(c); /* nor the one that is about to succeed */
    const enum leat_status st = leat_interpolant_new(c, n.x, n.y[0], 2, 1, LEAT_BY_ITSELF, 1, &p);
    assert_true(st == LEAT_OK || st == LEAT_CANCELLED);
    leat_interpolant_free(p);
    assert_int_equal(leat_interpolant_new(c, n.x, n.y[0], 2, 1, LEAT_BY_ITSELF, 1, &p), LEAT_OK);
    assert_int_equal(leat_interpolant_evaluate(p, n.x, 1, &value), LEAT_OK);
    leat_interpolant_free(p);
    leat_close(c);
}

int main(void)
{
    return has_backend() ? unit_run(NULL, NULL) : 77;
}
