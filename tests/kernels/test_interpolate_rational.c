/*
 * test_interpolate_rational - rational functions of Floater and Hormann, on the backend
 * LEAT_TEST_BACKEND.
 * ctest: small=watched optimize
 */
#include "tests/support/interpolate_runner.h"

static void check_rational(size_t n, double centre, double half, size_t degree)
{
    for (int kind = 0; kind < KINDS; ++kind) {
        struct polynomial p = make(kind, n, centre, half);
        weigh(&p);
        p.blends = true;
        p.degree = degree;
        p.basis = room(n * sizeof *p.basis);
        check_bound(&p, kind_names[kind], INTERPOLATE_FLOATER_HORMANN, degree);
        free(p.basis);
        drop(&p);
    }
}

TEST(rational_functions_hold_the_bound)
{
    const size_t nodes[] = {1, 2, 3, 4, 9, 52, under_test_size(320, 40)};
    const size_t degrees[] = {0, 1, 3, 8, INTERPOLATE_MOST_BLENDED};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; ++i) {
        for (size_t d = 0; d < sizeof degrees / sizeof *degrees; ++d) {
            check_rational(nodes[i], 0, 1, degrees[d]);
        }
    }
    check_rational(30, 1e6 + 0.5, 0.5, 3);
    check_rational(30, 1.5e-300, 0.5e-300, 3);
    check_rational(30, 0, 4e307, 3);
    check_rational(9, 0, 0x1p-1060, 3);
}

/* 8 points a gap, as the set-up takes them. */
static double rational_lebesgue(const struct polynomial *p)
{
    quad *basis = room(p->n * sizeof *basis), most = 1;
    for (size_t k = 0; k < 8 * (p->n - 1); ++k) {
        const double *at = p->node + k / 8;
        quad sum = 0;
        blend(p, at[0] + ((double)(k % 8) + 0.5) / 8 * (at[1] - at[0]), basis);
        for (size_t j = 0; j < p->n; ++j) {
            sum += size_of(basis[j]);
        }
        most = sum > most ? sum : most;
    }
    free(basis);
    return (double)most;
}

TEST(a_rational_function_has_its_own_lebesgue_constant)
{
    for (int kind = 0; kind < KINDS; ++kind) {
        struct polynomial p = make(kind, 60, -4, 3);
        weigh(&p);
        p.blends = true;
        p.degree = 3;
        struct interpolate_setup s = set_up(&p, 1, INTERPOLATE_FLOATER_HORMANN, 3);
        const double want = rational_lebesgue(&p);
        assert_int_equal(s.degree, 3);
        assert_int_equal(s.cells.n_cells, 0);
        assert_true(fabs(s.lebesgue - want) <= 1e-12 * want);
        /* at equal distances at most 2^(d - 1) (2 + log n): L. Bos, S. De Marchi, K. Hormann, G.
         * Klein, "On the Lebesgue constant of barycentric rational interpolation at equidistant
         * nodes", 2012; the polynomial's is above 10^14 */
        assert_true(kind != EQUISPACED || s.lebesgue <= 4 * (2 + log(60)));
        interpolate_setup_release(&s);
        drop(&p);
    }
}

TEST(many_nodes_make_a_rational_function_of_finite_sums)
{
    /* products of all distances are far beyond the doubles, to either side */
    for (double half = 0x1p-1; half < 0x1p9; half *= 0x1p8) {
        const size_t n = under_test_size(5000, 1500);
        struct polynomial p = make(EQUISPACED, n, 0, half);
        struct interpolate_setup s = set_up(&p, FUNCTIONS, INTERPOLATE_FLOATER_HORMANN, 3);
        assert_true(s.lebesgue <= 4 * (2 + log((double)n)));
        enum { N = 64 };
        double x[N];
        struct interpolate_counts counts;
        make_queries(&p, &s.cells, N, x);
        double *got = evaluate(&s, x, N, DTYPE_F64, &counts);
        for (size_t i = 0; i < N; ++i) {
            if (fabs(x[i]) <= half) { /* h^4 of the fourth derivative, 20^4 */
                const double want = cos(20 * (x[i] / half));
                assert_true(fabs(got[i * FUNCTIONS + COS] - want) <= 1e-7);
            }
        }
        free(got);
        interpolate_setup_release(&s);
        drop(&p);
    }
}

int main(void)
{
    return UNDER_TEST_RUN(NULL, NULL);
}
