/*
 * test_interpolate - polynomials through nodes: their values against quadruple precision, what a
 * setup chooses, refuses and takes in memory, on the backend LEAT_TEST_BACKEND.
 * ctest: small=watched optimize
 */
#include "kernels/interpolate/interpolate_cpu.h"
#include "tests/support/interpolate_runner.h"

static void check_all_kinds(size_t n, double centre, double half, size_t degree)
{
    for (int kind = 0; kind < KINDS; ++kind) {
        struct polynomial p = make(kind, n, centre, half);
        weigh(&p);
        /* a setup takes a multiple of the square of nodes for each curve */
        p.first = n >= under_test_size(200, 100) && under_test_is_quick() ? COS : 0;
        check_bound(&p, kind_names[kind], INTERPOLATE_BY_CELLS, degree);
        if (degree <= INTERPOLATE_LEAST_DEGREE) { /* it has none */
            check_bound(&p, kind_names[kind], INTERPOLATE_BARYCENTRIC, 0);
        }
        drop(&p);
    }
}

TEST(values_hold_the_bound)
{
    const size_t nodes[] = {1, 2, 3, 9, under_test_size(52, 17), under_test_size(320, 33)};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; ++i) {
        check_all_kinds(nodes[i], 0, 1, 0);
    }
}

TEST(a_thousand_nodes_hold_the_bound)
{
    check_all_kinds(under_test_size(1000, 100), 0, 1, 0);
}

TEST(cells_of_every_degree_hold_the_bound)
{
    for (size_t d = INTERPOLATE_LEAST_DEGREE; d <= INTERPOLATE_MOST_DEGREE; d += 2) {
        check_all_kinds(21, 0, 1, d);
    }
}

TEST(intervals_far_away_and_of_any_size_hold_the_bound)
{
    const size_t n = under_test_size(52, 25);
    check_all_kinds(n, 1e6 + 0.5, 0.5, 0);
    check_all_kinds(n, 1.5e-300, 0.5e-300, 0);
    check_all_kinds(n, 0, 4e307, 0);
    check_all_kinds(9, 0, 0x1p-1060, 0);
    check_all_kinds(40, -1e12, 100, 0);
}

TEST(cells_serve_wherever_the_condition_is_small)
{
    for (size_t n = 2; n <= under_test_size(320, 100); n = 2 * n + 1) {
        struct polynomial p = make(CHEBYSHEV, n, 3, 2);
        /* the last's condition is 0 at all nodes but one: there is too little of it between two */
        struct interpolate_setup s = set_up(&p, EDGE, INTERPOLATE_BY_CELLS, 0);
        assert_int_equal(s.why, INTERPOLATE_AS_ASKED);
        assert_true(s.cells.n_cells > 0);
        assert_int_equal(s.n_marked, 0);
        interpolate_setup_release(&s);
        drop(&p);
    }
}

TEST(marked_cells_take_the_barycentric_form)
{
    struct polynomial p = make(EQUISPACED, 9, 0, 1);
    p.x[0] = nextafter(p.x[1], INFINITY); /* several nodes in a cell */
    memcpy(p.node, p.x, 9 * sizeof *p.x);
    qsort(p.node, 9, sizeof *p.node, ascending);
    for (size_t j = 0; j < 9; ++j) {
        for (size_t i = 0; i < 9; ++i) {
            for (size_t f = 0; f < FUNCTIONS && p.x[i] == p.node[j]; ++f) {
                p.value[f * 9 + j] = p.y[f * 9 + i];
            }
        }
    }
    weigh(&p);
    struct interpolate_setup s = set_up(&p, FUNCTIONS, INTERPOLATE_BY_CELLS, 0);
    assert_true(s.n_marked > 0 && s.n_marked < s.cells.n_cells * FUNCTIONS / 4);
    interpolate_setup_release(&s);
    check_bound(&p, "two nodes side by side", INTERPOLATE_BY_CELLS, 0);
    drop(&p);
}

TEST(one_node_is_a_constant)
{
    struct polynomial p = make(EQUISPACED, 1, 2, 1);
    p.y[0] = 7;
    struct interpolate_setup s = set_up(&p, 1, INTERPOLATE_AUTO, 0);
    assert_int_equal(s.why, INTERPOLATE_NO_INTERVAL);
    assert_true(s.lebesgue == 1);
    const double x[] = {p.node[0], 0, -1e300, 5, (double)NAN};
    struct interpolate_counts counts;
    double *got = evaluate(&s, x, 5, DTYPE_F64, &counts);
    for (size_t i = 0; i < 4; ++i) {
        assert_true(got[i] == 7);
    }
    assert_true(isnan(got[4]));
    assert_int_equal(counts.n_hits, 1);
    assert_int_equal(counts.n_outside, 3);
    assert_int_equal(counts.n_missing, 1);
    free(got);
    interpolate_setup_release(&s);
    drop(&p);
}

TEST(missing_queries_stay_missing)
{
    struct polynomial p = make(CHEBYSHEV, 20, 0, 1);
    const enum interpolate_method methods[] = {INTERPOLATE_BY_CELLS, INTERPOLATE_BARYCENTRIC,
                                               INTERPOLATE_FLOATER_HORMANN, INTERPOLATE_SPLINE};
    for (size_t m = 0; m < 4; ++m) {
        struct interpolate_setup s = set_up(&p, 2, methods[m], 0);
        const double x[] = {0.5, (double)NAN, -0.5, (double)NAN, -(double)NAN};
        struct interpolate_counts counts;
        double *got = evaluate(&s, x, 5, DTYPE_F64, &counts);
        for (size_t i = 0; i < 10; ++i) {
            assert_int_equal(isnan(got[i]) != 0, isnan(x[i / 2]) != 0);
        }
        assert_int_equal(counts.n_missing, 3);
        assert_int_equal(counts.n_outside + counts.n_hits, 0);
        free(got);
        interpolate_setup_release(&s);
    }
    drop(&p);
}

TEST(single_precision_queries_are_widened)
{
    struct polynomial p = make(CHEBYSHEV, 33, 0, 1);
    struct interpolate_setup s = set_up(&p, FUNCTIONS, INTERPOLATE_BY_CELLS, 0);
    enum { N = 1237 };
    double x[N];
    struct interpolate_counts counts, narrow_counts;
    make_queries(&p, &s.cells, N, x);
    for (size_t i = 0; i < N; ++i) {
        x[i] = (double)(float)x[i];
    }
    double *want = evaluate(&s, x, N, DTYPE_F64, &counts);
    double *got = evaluate(&s, x, N, DTYPE_F32, &narrow_counts);
    assert_memory_equal(got, want, (size_t)N * FUNCTIONS * sizeof *got);
    assert_memory_equal(&counts, &narrow_counts, sizeof counts);
    assert_true(counts.n_hits > 0 && counts.n_outside > 0);
    free(want);
    free(got);
    interpolate_setup_release(&s);
    drop(&p);
}

TEST(bits_do_not_depend_on_threads_or_cuts)
{
    enum { N = 9001 };
    struct polynomial p = make(EQUISPACED, 24, 0, 1);
    double *x = room(N * sizeof *x), *first = NULL;
    const size_t row = FUNCTIONS * sizeof *first;
    for (size_t threads = 1; threads <= 8; threads += under_test_size(1, 3)) {
        under_test_threads(threads);
        struct interpolate_setup s = set_up(&p, FUNCTIONS, INTERPOLATE_BY_CELLS, 0);
        struct interpolate_counts counts;
        make_queries(&p, &s.cells, N, x);
        double *got = evaluate(&s, x, N, DTYPE_F64, &counts);
        first = first == NULL ? got : first;
        assert_memory_equal(got, first, N * row);
        for (size_t at = 0, m; at < N; at += m) {
            m = threads * 571 < N - at ? threads * 571 : N - at;
            double *part = evaluate(&s, x + at, m, DTYPE_F64, &counts);
            assert_memory_equal(part, first + at * FUNCTIONS, m * row);
            free(part);
        }
        if (got != first) {
            free(got);
        }
        interpolate_setup_release(&s);
    }
    under_test_threads(3);
    free(first);
    free(x);
    drop(&p);
}

/* Backwards, and counts. */
static void run_backwards(void *context, size_t n, void (*body)(void *arg, size_t index), void *arg)
{
    *(size_t *)context = n;
    while (n > 0) {
        body(arg, --n);
    }
}

TEST(nodes_are_weighed_on_the_executor_to_the_same_bits)
{
    static const size_t counts[] = {1, 15, 16, 17, 300};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; ++k) {
        size_t n_tasks = 0;
        const size_t n = counts[k], all = n * 3;
        struct polynomial p = make(EQUISPACED, n, 0, 1);
        const struct interpolate_request r = {
            .x = p.x,
            .y = p.y,
            .n = n,
            .n_curves = 2,
            .method = INTERPOLATE_BARYCENTRIC,
            .executor = {.n_threads = 2, .run = run_backwards, .context = &n_tasks}};
        struct interpolate_setup spread, alone = set_up(&p, 2, INTERPOLATE_BARYCENTRIC, 0);
        ASSERT_OK(interpolate_setup_new(under_test_queue, &r, &spread));
        assert_int_equal(n_tasks, (n + 15) / 16);
        const struct span of_spread[] = {spread.nodes.term_hi, spread.nodes.term_lo},
                          of_alone[] = {alone.nodes.term_hi, alone.nodes.term_lo};
        double *got = room(all * sizeof *got), *want = room(all * sizeof *want);
        for (size_t part = 0; part < 2; ++part) {
            under_test_get(got, of_spread[part], all * sizeof *got);
            under_test_get(want, of_alone[part], all * sizeof *want);
            assert_memory_equal(got, want, all * sizeof *got);
        }
        under_test_get(got, spread.nodes.exponent, all * sizeof(int32_t));
        under_test_get(want, alone.nodes.exponent, all * sizeof(int32_t));
        assert_memory_equal(got, want, all * sizeof(int32_t));
        free(got);
        free(want);
        interpolate_setup_release(&spread);
        interpolate_setup_release(&alone);
        drop(&p);
    }
}

TEST(curves_do_not_touch_each_other)
{
    struct polynomial p = make(CHEBYSHEV, 30, 0, 1);
    struct interpolate_setup all = set_up(&p, 2, INTERPOLATE_BY_CELLS, 0);
    struct interpolate_setup one = set_up(&p, 1, INTERPOLATE_BY_CELLS, 0);
    enum { N = 700 };
    double x[N];
    assert_int_equal(all.cells.n_cells, one.cells.n_cells);
    struct interpolate_counts counts;
    make_queries(&p, &all.cells, N, x);
    double *got = evaluate(&all, x, N, DTYPE_F64, &counts);
    double *alone = evaluate(&one, x, N, DTYPE_F64, &counts);
    for (size_t i = 0; i < N; ++i) {
        assert_true(got[i * 2] == alone[i]);
    }
    free(got);
    free(alone);
    interpolate_setup_release(&all);
    interpolate_setup_release(&one);
    drop(&p);
}

static struct interpolate_terms terms_of(const struct interpolate_setup *s, size_t k,
                                         bool is_rational)
{
    const size_t n = s->nodes.n;
    return (struct interpolate_terms){n,
                                      is_rational,
                                      s->nodes.x.at,
                                      (double *)s->nodes.term_hi.at + k * n,
                                      (double *)s->nodes.term_lo.at + k * n,
                                      (int32_t *)s->nodes.exponent.at + k * n};
}

/* Lanes beside each other get points that differ in every way: near a node, far away, outside. */
TEST(instruction_sets_give_the_same_bits)
{
    enum { N = 8 * INTERPOLATE_LANES };
    if (!under_test_is_cpu()) {
        return;
    }
    struct polynomial p = make(RANDOM, under_test_size(70, 30), 0, 1);
    struct interpolate_setup s = set_up(&p, FUNCTIONS, INTERPOLATE_BY_CELLS, 0);
    double x[N], low[N], want[6][N], got[6][N];
    make_queries(&p, &s.cells, N, x);
    for (size_t i = 0; i < N; ++i) {
        low[i] = ldexp(x[i], -54 - (int)(i % 60));
        x[i] = i % 16 == 0 ? nextafter(x[i], 9) : x[i];
    }
    for (size_t set = 0; cpu_interpolate_set(set) != NULL; ++set) {
        const struct interpolate_lanes *lanes = cpu_interpolate_set(set);
        for (size_t curve = 0; curve < FUNCTIONS; ++curve) {
            const struct interpolate_terms one = terms_of(&s, 0, true),
                                           t = terms_of(&s, 1 + curve, false),
                                           rational = terms_of(&s, 1 + curve, true);
            const double *cell =
                (double *)s.cells.cell.at + curve * s.cells.n_cells * (s.cells.degree + 3);
            const struct interpolate_lanes *base = &cpu_interpolate_base;
            for (size_t i = 0; i < N; i += INTERPOLATE_LANES) {
                base->survey(&t, x + i, low + i, want[0] + i, want[1] + i, want[2] + i);
                lanes->survey(&t, x + i, low + i, got[0] + i, got[1] + i, got[2] + i);
                base->barycentric(&t, NULL, x + i, want[3] + i);
                lanes->barycentric(&t, NULL, x + i, got[3] + i);
                /* the polynomial over f = 1's, which is 1 */
                base->barycentric(&rational, &one, x + i, want[5] + i);
                lanes->barycentric(&rational, &one, x + i, got[5] + i);
            }
            assert_int_equal(base->cells(&s.cells, cell, x, N - 3, want[4]),
                             lanes->cells(&s.cells, cell, x, N - 3, got[4]));
            for (size_t k = 0; k < 6; ++k) {
                for (size_t i = 0; i < (k != 4 ? N : N - 3); ++i) {
                    assert_true(got[k][i] == want[k][i] || (isnan(got[k][i]) && isnan(want[k][i])));
                }
            }
        }
    }
    struct interpolate_setup pieces = set_up(&p, 1, INTERPOLATE_SPLINE, 0);
    for (size_t set = 0; cpu_interpolate_set(set) != NULL; ++set) {
        const double *piece = pieces.cells.cell.at;
        assert_int_equal(cpu_interpolate_base.cells(&pieces.cells, piece, x, N - 3, want[0]),
                         cpu_interpolate_set(set)->cells(&pieces.cells, piece, x, N - 3, got[0]));
        assert_memory_equal(got[0], want[0], (N - 3) * sizeof(double));
    }
    interpolate_setup_release(&pieces);
    interpolate_setup_release(&s);
    drop(&p);
}

TEST(five_thousand_nodes_have_finite_weights)
{
    const size_t n = under_test_size(5000, 500);
    struct polynomial p = make(CHEBYSHEV, n, 0, 1);
    struct interpolate_setup s = set_up(&p, FUNCTIONS, INTERPOLATE_BARYCENTRIC, 0);
    double *term = room((FUNCTIONS + 1) * n * sizeof *term);
    under_test_get(term, s.nodes.term_hi, (FUNCTIONS + 1) * n * sizeof *term);
    for (size_t i = 0; i < (FUNCTIONS + 1) * n; ++i) {
        assert_true(term[i] == 0 || (fabs(term[i]) >= 0.5 && fabs(term[i]) < 1));
    }
    /* Lambda of Chebyshev points of the second kind: at most 2 / pi log(n) + 1 */
    assert_true(s.lebesgue > 4 && s.lebesgue < 1 + 2 / 3.14159 * log((double)n));
    enum { N = 96 };
    double x[N];
    struct interpolate_counts counts;
    make_queries(&p, &s.cells, N, x);
    double *got = evaluate(&s, x, N, DTYPE_F64, &counts);
    for (size_t i = 0; i < N; ++i) {
        if (fabs(x[i]) <= 1) {
            /* the function's values at the nodes are off by u each, and as far apart */
            const double off = 4 * s.lebesgue * 0x1p-52;
            assert_true(fabs(got[i * FUNCTIONS + COS] - cos(20 * x[i])) <= 20 * off);
            assert_true(fabs(got[i * FUNCTIONS + EXP] - exp(x[i])) <= 3 * off);
        }
    }
    free(got);
    free(term);
    interpolate_setup_release(&s);
    drop(&p);
}

TEST(a_lebesgue_constant_beyond_the_doubles_is_infinite)
{
    struct polynomial p = make(EQUISPACED, 1200, 0, 1);
    struct interpolate_setup s = set_up(&p, 1, INTERPOLATE_BARYCENTRIC, 0);
    assert_true(isinf(s.lebesgue));
    const double x[] = {0, 0.01, p.node[7], 0.0001};
    struct interpolate_counts counts;
    double *got = evaluate(&s, x, 4, DTYPE_F64, &counts);
    assert_true(fabs(got[1] - 1 / (1 + 25 * 0.0001)) < 1e-12);
    assert_true(got[2] == p.value[7]);
    free(got);
    interpolate_setup_release(&s);
    drop(&p);
}

TEST(lebesgue_constants_are_the_known_ones)
{
    /* equispaced, of degree 4, 8, 10: L. Brutman, "Lebesgue functions for polynomial interpolation
     * - a survey", 1997; 8 points a gap find all but some percent of it */
    static const struct {
        size_t n;
        double constant;
    } known[] = {{5, 2.208}, {9, 10.946}, {11, 29.900}};
    for (size_t i = 0; i < 3; ++i) {
        struct polynomial p = make(EQUISPACED, known[i].n, -4, 3);
        struct interpolate_setup s = set_up(&p, 1, INTERPOLATE_BARYCENTRIC, 0);
        assert_true(s.lebesgue <= known[i].constant * 1.001);
        assert_true(s.lebesgue >= known[i].constant * 0.95);
        interpolate_setup_release(&s);
        drop(&p);
    }
}

static void check_refused(const double *x, const double *y, size_t n, const char *said)
{
    struct interpolate_setup s;
    const struct interpolate_request r = {x, y, n, 1, INTERPOLATE_AUTO, UINT64_MAX, 0, {0}};
    assert_int_equal(interpolate_setup_new(under_test_queue, &r, &s), STATUS_BAD_INPUT);
    assert_non_null(strstr(status_message(), said));
    interpolate_setup_release(&s);
}

TEST(what_is_no_polynomial_is_refused)
{
    const double y[] = {1, 2, 3, 4, 5}, bad_y[] = {1, (double)INFINITY, 3, 4, 5};
    const double twice[] = {3, -0.0, 2, 0, 7}, missing[] = {1, 2, (double)NAN, 4, 5};
    const double wide[] = {-1.5e308, 0, 1.5e308, 1, 2}, good[] = {5, 4, 3, 2, 1};
    struct interpolate_setup s;
    const struct interpolate_request r = {twice, y, 5, 1, INTERPOLATE_AUTO, UINT64_MAX, 0, {0}};
    assert_int_equal(interpolate_setup_new(under_test_queue, &r, &s), STATUS_BAD_INPUT);
    assert_int_equal(s.same[0], 1);
    assert_int_equal(s.same[1], 3);
    interpolate_setup_release(&s);
    check_refused(twice, y, 5, "nodes 1 and 3 (the first is 0)");
    check_refused(missing, y, 5, "x of node 2");
    check_refused(good, bad_y, 5, "y of node 1");
    check_refused(wide, y, 5, "spans");
    const double close[] = {0, 0x1p-1074, 1}, steep[] = {0, 1, 1};
    const struct interpolate_request pchip = {close, steep, 3, 1, INTERPOLATE_PCHIP, 1, 0, {0}};
    assert_int_equal(interpolate_setup_new(under_test_queue, &pchip, &s), STATUS_BAD_INPUT);
    assert_non_null(strstr(status_message(), "steeper than a double"));
    interpolate_setup_release(&s);
    check_refused(good, y, 0, "nodes");
}

TEST(auto_weighs_queries_against_cells)
{
    struct polynomial p = make(CHEBYSHEV, 50, 0, 1);
    const struct {
        uint64_t n_queries;
        enum interpolate_why why;
    } cases[] = {{10, INTERPOLATE_FEW_QUERIES},
                 {1000000, INTERPOLATE_MANY_QUERIES},
                 {UINT64_MAX, INTERPOLATE_MANY_QUERIES}};
    for (size_t i = 0; i < 3; ++i) {
        struct interpolate_setup s;
        const struct interpolate_request r = {p.x, p.y, 50, 1, INTERPOLATE_AUTO, cases[i].n_queries,
                                              0,   {0}};
        ASSERT_OK(interpolate_setup_new(under_test_queue, &r, &s));
        assert_int_equal(s.why, cases[i].why);
        assert_int_equal(s.cells.n_cells > 0, s.why == INTERPOLATE_MANY_QUERIES);
        interpolate_setup_release(&s);
    }
    drop(&p);
}

TEST(a_cell_too_rough_for_all_gives_way_to_the_barycentric_form)
{
    /* nodes in pairs, so close that cells hold several everywhere */
    struct polynomial p = make(EQUISPACED, 200, 0, 1);
    for (size_t j = 0; j < 200; j += 2) {
        p.x[j] = -1 + (double)j / 100;
        p.x[j + 1] = nextafter(p.x[j], 2);
    }
    struct interpolate_setup s = set_up(&p, 1, INTERPOLATE_BY_CELLS, 13);
    assert_int_equal(s.why, INTERPOLATE_ROUGH);
    assert_int_equal(s.cells.n_cells, 0);
    interpolate_setup_release(&s);
    drop(&p);
}

/* A plan by an estimate holds where there turn out to be fewer. */
TEST(fewer_nodes_never_need_more_memory)
{
    for (size_t n_curves = 1; n_curves <= 100; n_curves += 33) {
        struct interpolate_setup_bytes fewer =
            interpolate_setup_bytes(INTERPOLATE_AUTO, 1, n_curves);
        for (size_t n = 2; n <= 1000; ++n) {
            const struct interpolate_setup_bytes b =
                interpolate_setup_bytes(INTERPOLATE_AUTO, n, n_curves);
            assert_true(b.host >= fewer.host && b.backend >= fewer.backend);
            assert_true(b.backend_kept >= fewer.backend_kept);
            fewer = b;
        }
    }
}

/* Nodes, values and terms are kept, and nothing else. */
TEST(what_makes_no_cells_claims_no_memory_for_them)
{
    const enum interpolate_method methods[] = {INTERPOLATE_BARYCENTRIC,
                                               INTERPOLATE_FLOATER_HORMANN};
    const size_t n = 10000, n_curves = 50;
    const size_t kept = n * (n_curves + 1) * (3 * sizeof(double) + sizeof(int32_t));
    for (size_t i = 0; i < 2; ++i) {
        const size_t claimed = interpolate_setup_bytes(methods[i], n, n_curves).backend_kept;
        assert_in_range(claimed, kept, kept + (1 << 20));
    }
}

TEST(a_stopped_queue_ends_soon)
{
    if (!under_test_is_cpu()) {
        return;
    }
    const size_t n = 100000;
    const int stop = 1;
    struct polynomial p = make(CHEBYSHEV, 300, 0, 1);
    struct interpolate_setup s = set_up(&p, 1, INTERPOLATE_BARYCENTRIC, 0), stopped;
    const struct interpolate_request r = {p.x, p.y, 300, 1, INTERPOLATE_BY_CELLS, 1, 0, {0}};
    struct span x = under_test_room(n * sizeof(double)),
                values = under_test_room(n * sizeof(double));
    struct span counts = under_test_room(sizeof(struct interpolate_counts));
    under_test_queue->stop = &stop;
    const enum status made = interpolate_setup_new(under_test_queue, &r, &stopped);
    const enum status evaluated = under_test_ops()->interpolate->evaluate(
        under_test_queue, &s.nodes, &s.cells, x, DTYPE_F64, n, values, counts);
    under_test_queue->stop = NULL;
    assert_int_equal(made, STATUS_CANCELLED);
    assert_int_equal(evaluated, STATUS_CANCELLED);
    under_test_untouched(values, 0);
    under_test_untouched(counts, 0);
    interpolate_setup_release(&stopped);
    interpolate_setup_release(&s);
    under_test_release(x);
    under_test_release(values);
    under_test_release(counts);
    drop(&p);
}

int main(void)
{
    return UNDER_TEST_RUN(NULL, NULL);
}
