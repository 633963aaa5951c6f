/*
 * test_interpolate - values of polynomials through nodes against quadruple precision, on the
 * backend LEAT_TEST_BACKEND.
 *
 * The reference takes the same sum_j w_j f_j prod_(i /= j) (x - x_i) in 113 bits, distances scaled
 * by the interval: off by some 10 n 2^-113 of the condition, 10^-9 u for n = 5000. The bound is the
 * contract's, 50 u of the condition; a value below the normal numbers is off by half the least one
 * besides. Rational functions are held against their definition, polynomials blended. Where
 * LEAT_TEST_LARGE is set there are many more queries.
 * ctest: small=watched optimize
 */
#include "kernels/interpolate/interpolate_cpu.h"
#include "kernels/interpolate/interpolate_setup.h"
#include "tests/support/backend_under_test.h"
#include "tests/support/reference.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef __float128 quad;

enum { CHEBYSHEV, EQUISPACED, RANDOM, KINDS };
enum { RUNGE, EXP, ABS, SIGN, COS, EDGE, FUNCTIONS };

/* Nodes in [-1, 1] mapped to centre + t * half, all functions of t as curves. */
struct polynomial {
    size_t n;
    double *x, *y;        /* in an order that is not ascending */
    double *node, *value; /* ascending */
    quad *weight, per_half;
    size_t first; /* of the functions that are judged */
    bool blends;  /* it is the rational function of Floater and Hormann, of this degree */
    size_t degree;
    quad *basis; /* of the query that is judged */
};

static const char *const kind_names[] = {"Chebyshev", "equispaced", "random"};
static const char *const function_names[] = {"Runge", "exp", "abs", "sign", "cos 20 x", "edge"};

static void *room(size_t bytes)
{
    void *p = malloc(bytes + 1);
    assert_non_null(p);
    return p;
}

static double function_of(size_t function, double t, bool edge)
{
    switch (function) {
    case RUNGE:
        return 1 / (1 + 25 * t * t);
    case EXP:
        return exp(t);
    case ABS:
        return fabs(t);
    case SIGN:
        return t > 0 ? 1 : t < 0 ? -1 : 0;
    case COS:
        return cos(20 * t);
    default:
        return edge ? 1 : 0;
    }
}

static double node_of(int kind, size_t n, size_t j, struct reference_random *g)
{
    if (kind == RANDOM) {
        return 2 * reference_uniform(g) - 1;
    }
    if (2 * j + 1 == n) {
        return 0;
    }
    const double share = n > 1 ? (double)j / (double)(n - 1) : 0;
    return kind == CHEBYSHEV ? -cos(3.14159265358979323846 * share) : 2 * share - 1;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static struct polynomial make(int kind, size_t n, double centre, double half)
{
    struct polynomial p = {.n = n};
    struct reference_random g = {n + (size_t)kind};
    double *t = room(n * sizeof *t);
    p.x = room(n * sizeof *p.x);
    p.y = room(n * FUNCTIONS * sizeof *p.y);
    p.node = room(n * sizeof *p.node);
    p.value = room(n * FUNCTIONS * sizeof *p.value);
    for (size_t j = 0; j < n; ++j) {
        t[j] = node_of(kind, n, j, &g);
    }
    qsort(t, n, sizeof *t, ascending);
    for (size_t j = 0; j < n; ++j) {
        const size_t row = (j * 7 + 3) % n, to = n % 7 == 0 ? n - 1 - j : row;
        p.node[j] = centre + t[j] * half;
        p.x[to] = p.node[j];
        for (size_t f = 0; f < FUNCTIONS; ++f) {
            p.value[f * n + j] = function_of(f, t[j], j == 0);
            p.y[f * n + to] = p.value[f * n + j];
        }
    }
    free(t);
    return p;
}

static void weigh(struct polynomial *p)
{
    const size_t n = p->n;
    p->weight = room(n * sizeof *p->weight);
    p->per_half = n > 1 ? 3.5Q / ((quad)p->node[n - 1] - p->node[0]) : 1;
    for (size_t j = 0; j < n; ++j) {
        quad product = 1;
        for (size_t i = 0; i < n; ++i) {
            product *= i == j ? 1 : ((quad)p->node[j] - p->node[i]) * p->per_half;
        }
        p->weight[j] = 1 / product;
    }
}

static void drop(struct polynomial *p)
{
    free(p->x);
    free(p->y);
    free(p->node);
    free(p->value);
    free(p->weight);
}

/* The bases there by the definition: polynomials through d + 1 neighbours, blended. */
static void blend(const struct polynomial *p, double x, quad *basis)
{
    const size_t d = p->degree < p->n ? p->degree : p->n - 1;
    quad below = 0;
    memset(basis, 0, p->n * sizeof *basis);
    for (size_t i = 0; i + d < p->n; ++i) {
        quad share = i % 2 == 0 ? 1 : -1;
        for (size_t k = i; k <= i + d; ++k) {
            share /= ((quad)x - p->node[k]) * p->per_half;
        }
        below += share;
        for (size_t j = i; j <= i + d; ++j) {
            quad l = share;
            for (size_t k = i; k <= i + d; ++k) {
                l *= k == j ? 1 : ((quad)x - p->node[k]) / ((quad)p->node[j] - p->node[k]);
            }
            basis[j] += l;
        }
    }
    for (size_t j = 0; j < p->n; ++j) {
        basis[j] /= below;
    }
}

static quad size_of(quad x)
{
    return x < 0 ? -x : x;
}

/* How many u of the condition a value is off, less what its own last bit is where it is tiny; 0
 * where the condition leaves the doubles, or the contract's limits. */
static double error_of(const struct polynomial *p, size_t curve, double x, double got)
{
    quad sum = 0, condition = 0, product = 1, lebesgue = 0;
    if (p->blends) {
        if (curve == p->first) {
            blend(p, x, p->basis);
        }
        for (size_t j = 0; j < p->n; ++j) {
            sum += p->basis[j] * p->value[curve * p->n + j];
            condition += size_of(p->basis[j] * p->value[curve * p->n + j]);
            lebesgue += size_of(p->basis[j]);
        }
    }
    for (size_t j = 0; j < p->n && !p->blends; ++j) {
        const quad d = ((quad)x - p->node[j]) * p->per_half;
        const quad term = product * p->weight[j] * p->value[curve * p->n + j];
        sum = sum * d + term;
        condition = condition * size_of(d) + size_of(term);
        product *= d;
    }
    if (condition > DBL_MAX || lebesgue * p->n > 0x1p50Q) {
        return 0;
    }
    const quad off = size_of(sum - got) - 0x1p-1074Q;
    return off <= 0 ? 0 : condition == 0 ? INFINITY : (double)(off / condition * 0x1p53Q);
}

static struct interpolate_setup set_up(const struct polynomial *p, size_t n_curves,
                                       enum interpolate_method method, size_t degree)
{
    struct interpolate_setup s;
    const struct interpolate_request r = {
        p->x, p->y + p->first * p->n, p->n, n_curves, method, UINT64_MAX, degree, {0}};
    ASSERT_OK(interpolate_setup_new(under_test_queue, &r, &s));
    return s;
}

/* Values at queries [n][n_curves]. */
static double *evaluate(const struct interpolate_setup *s, const double *x, size_t n,
                        enum dtype type, struct interpolate_counts *counts)
{
    const size_t bytes = n * s->nodes.n_curves * sizeof(double);
    struct span queries = under_test_put_numbers(x, n, type);
    struct span values = under_test_room(bytes + 64);
    struct interpolate_counts from = {100, 1000, 10000};
    struct span counted = under_test_put(&from, sizeof from);
    ASSERT_OK(under_test_ops()->interpolate->evaluate(under_test_queue, &s->nodes, &s->cells,
                                                      queries, type, n, values, counted));
    double *got = room(bytes);
    under_test_get(got, values, bytes);
    under_test_get(counts, counted, sizeof *counts);
    counts->n_outside -= from.n_outside;
    counts->n_hits -= from.n_hits;
    counts->n_missing -= from.n_missing;
    under_test_untouched(values, bytes);
    under_test_release(queries);
    under_test_release(values);
    under_test_release(counted);
    return got;
}

/* Nodes, one unit in the last place beside them, borders of cells, anywhere, a little outside. */
static size_t make_queries(const struct polynomial *p, const struct interpolate_cells *c, size_t n,
                           double *x)
{
    struct reference_random g = {n};
    const double begin = p->node[0], end = p->node[p->n - 1], length = end - begin;
    for (size_t i = 0; i < n; ++i) {
        const double node = p->node[(size_t)(reference_uniform(&g) * (double)p->n)];
        const double share = reference_uniform(&g);
        const size_t half = c->n_cells > 1 ? c->n_cells / 2 : 10;
        const double at = floor(share * (double)half) / (double)half;
        switch (i % 8) {
        case 0:
            x[i] = node;
            break;
        case 1:
            x[i] = nextafter(node, INFINITY);
            break;
        case 2:
            x[i] = nextafter(node, -INFINITY);
            break;
        case 3:
            x[i] = begin + at * at * length / 2;
            break;
        case 4:
            x[i] = end - at * at * length / 2;
            break;
        case 5:
            x[i] = i % 16 < 8 ? begin - share * length * 0.01 : end + share * length;
            break;
        default:
            x[i] = begin + share * length;
        }
    }
    return n;
}

static double worst_error(const struct polynomial *p, const char *what, size_t n, const double *x,
                          const double *got)
{
    double worst = 0;
    for (size_t i = 0; i < n; ++i) {
        const double *node = bsearch(&x[i], p->node, p->n, sizeof *node, ascending);
        for (size_t f = p->first; f < FUNCTIONS; ++f) {
            const double value = got[i * (FUNCTIONS - p->first) + f - p->first];
            if (node != NULL) {
                assert_true(value == p->value[f * p->n + (size_t)(node - p->node)]);
                continue;
            }
            const double off = error_of(p, f, x[i], value);
            if (!(off <= 50) && worst <= 50) {
                print_error("%zu nodes, %s, %s: %.17g at %.17g is off by %.3g u\n", p->n, what,
                            function_names[f], value, x[i], off);
            }
            worst = off <= worst || !(worst <= 50) ? worst : off;
        }
    }
    return worst;
}

static size_t queries_of(size_t n)
{
    const size_t most = under_test_is_quick() ? 8000 : 200000, some = most / (n + 1) / 8 * 8;
    return under_test_size(some < 48 ? 48 : some > 1600 ? 1600 : some, 16);
}

static void check_bound(struct polynomial *p, const char *what, enum interpolate_method method,
                        size_t degree)
{
    struct interpolate_setup s = set_up(p, FUNCTIONS - p->first, method, degree);
    const size_t n = queries_of(p->n);
    double *x = room(n * sizeof *x);
    struct interpolate_counts counts;
    make_queries(p, &s.cells, n, x);
    double *got = evaluate(&s, x, n, DTYPE_F64, &counts);
    assert_true(worst_error(p, what, n, x, got) <= 50);
    size_t outside = 0, hits = 0;
    for (size_t i = 0; i < n; ++i) {
        outside += x[i] < p->node[0] || x[i] > p->node[p->n - 1];
        hits += bsearch(&x[i], p->node, p->n, sizeof *x, ascending) != NULL;
    }
    assert_int_equal(counts.n_outside, outside);
    assert_int_equal(counts.n_hits, hits);
    assert_int_equal(counts.n_missing, 0);
    interpolate_setup_release(under_test_queue, &s);
    free(x);
    free(got);
}

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

static void values_hold_the_bound(void **state)
{
    (void)state;
    const size_t nodes[] = {1, 2, 3, 9, under_test_size(52, 17), under_test_size(320, 33)};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; ++i) {
        check_all_kinds(nodes[i], 0, 1, 0);
    }
}

static void a_thousand_nodes_hold_the_bound(void **state)
{
    (void)state;
    check_all_kinds(under_test_size(1000, 100), 0, 1, 0);
}

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

static void rational_functions_hold_the_bound(void **state)
{
    (void)state;
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

static void a_rational_function_has_its_own_lebesgue_constant(void **state)
{
    (void)state;
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
        interpolate_setup_release(under_test_queue, &s);
        drop(&p);
    }
}

static void many_nodes_make_a_rational_function_of_finite_sums(void **state)
{
    (void)state;
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
        interpolate_setup_release(under_test_queue, &s);
        drop(&p);
    }
}

/* Slopes by the definition of the spline: second derivatives meet at the nodes, third ones at the
 * second node and the last but one. By elimination with pivots; n > 3. */
static void spline_slopes(const struct polynomial *p, const double *f, quad *d)
{
    const size_t n = p->n;
    quad *row = room(n * (n + 1) * sizeof *row);
    memset(row, 0, n * (n + 1) * sizeof *row);
    for (size_t j = 0; j < n; ++j) {
        const bool first = j == 0, last = j == n - 1;
        const size_t k = first ? 1 : last ? n - 2 : j;
        const quad h = (quad)p->node[k] - p->node[k - 1], g = (quad)p->node[k + 1] - p->node[k];
        const quad s = ((quad)f[k] - f[k - 1]) / h, t = ((quad)f[k + 1] - f[k]) / g;
        quad *const at = row + j * (n + 1);
        if (first || last) {
            at[k - 1] = 1;
            at[k] = 1 - h * h / g / g;
            at[k + 1] = -h * h / g / g;
            at[n] = 2 * s - 2 * t * h * h / g / g;
        } else {
            at[k - 1] = 1;
            at[k] = 2 + 2 * h / g;
            at[k + 1] = h / g;
            at[n] = 3 * s + 3 * t * h / g;
        }
    }
    for (size_t c = 0; c < n; ++c) {
        size_t best = c;
        for (size_t j = c + 1; j < n; ++j) {
            best = size_of(row[j * (n + 1) + c]) > size_of(row[best * (n + 1) + c]) ? j : best;
        }
        for (size_t k = 0; k <= n && best != c; ++k) {
            const quad other = row[best * (n + 1) + k];
            row[best * (n + 1) + k] = row[c * (n + 1) + k];
            row[c * (n + 1) + k] = other;
        }
        for (size_t j = c + 1; j < n; ++j) {
            const quad by = row[j * (n + 1) + c] / row[c * (n + 1) + c];
            for (size_t k = c; k <= n && by != 0; ++k) {
                row[j * (n + 1) + k] -= by * row[c * (n + 1) + k];
            }
        }
    }
    for (size_t c = n; c-- > 0;) {
        d[c] = row[c * (n + 1) + n];
        for (size_t k = c + 1; k < n; ++k) {
            d[c] -= row[c * (n + 1) + k] * d[k];
        }
        d[c] /= row[c * (n + 1) + c];
    }
    free(row);
}

/* As SciPy's PchipInterpolator takes them; n > 2. */
static quad pchip_end(quad h, quad g, quad s, quad t)
{
    const quad d = ((2 * h + g) * s - h * t) / (h + g);
    const bool turns = (s > 0) != (t > 0) || (s < 0) != (t < 0);
    return s == 0 || (d > 0) != (s > 0) || d == 0 ? 0
           : turns && size_of(d) > 3 * size_of(s) ? 3 * s
                                                  : d;
}

static void pchip_slopes(const struct polynomial *p, const double *f, quad *d)
{
    const size_t n = p->n;
    quad *h = room(n * sizeof *h), *s = room(n * sizeof *s);
    for (size_t j = 0; j + 1 < n; ++j) {
        h[j] = (quad)p->node[j + 1] - p->node[j];
        s[j] = ((quad)f[j + 1] - f[j]) / h[j];
    }
    for (size_t j = 1; j + 1 < n; ++j) {
        const quad w = 2 * h[j] + h[j - 1], v = h[j] + 2 * h[j - 1];
        const bool rises = s[j - 1] > 0 && s[j] > 0, falls = s[j - 1] < 0 && s[j] < 0;
        d[j] = rises || falls ? (w + v) / (w / s[j - 1] + v / s[j]) : 0;
    }
    d[0] = pchip_end(h[0], h[1], s[0], s[1]);
    d[n - 1] = pchip_end(h[n - 2], h[n - 3], s[n - 2], s[n - 3]);
    free(h);
    free(s);
}

static void slopes_of(const struct polynomial *p, const double *f, bool is_spline, quad *d)
{
    const double *const x = p->node;
    if (p->n == 1) {
        d[0] = 0;
    } else if (p->n == 2) {
        d[0] = d[1] = ((quad)f[1] - f[0]) / ((quad)x[1] - x[0]);
    } else if (p->n == 3 && is_spline) { /* a parabola */
        const quad s = ((quad)f[1] - f[0]) / ((quad)x[1] - x[0]),
                   t = ((quad)f[2] - f[1]) / ((quad)x[2] - x[1]);
        const quad bend = (t - s) / ((quad)x[2] - x[0]);
        d[0] = s - bend * ((quad)x[1] - x[0]);
        d[1] = s + bend * ((quad)x[1] - x[0]);
        d[2] = t + bend * ((quad)x[2] - x[1]);
    } else if (is_spline) {
        spline_slopes(p, f, d);
    } else {
        pchip_slopes(p, f, d);
    }
}

/* How many u of the contract's measure a value is off; outside, where the contract has none, of
 * that with the powers of the distance. */
static double piece_error(const struct polynomial *p, const double *f, const quad *d, double x,
                          double got)
{
    size_t j = 0;
    while (j + 2 < p->n && p->node[j + 1] <= x) {
        ++j;
    }
    const size_t k = p->n > 1 ? j + 1 : j;
    const quad h = p->n > 1 ? (quad)p->node[k] - p->node[j] : 1, t = ((quad)x - p->node[j]) / h;
    const quad value = (1 + 2 * t) * (1 - t) * (1 - t) * f[j] + t * (1 - t) * (1 - t) * h * d[j] +
                       t * t * (3 - 2 * t) * f[k] - t * t * (1 - t) * h * d[k];
    const quad beyond = 1 + (t < 0 ? -t : t > 1 ? t - 1 : 0);
    const quad measure = beyond * beyond * beyond *
                         (size_of(f[j]) + size_of(f[k]) + h * (size_of(d[j]) + size_of(d[k])));
    const quad off = size_of(value - got) - 0x1p-1072Q;
    return off <= 0 ? 0 : (double)(off / measure * 0x1p53Q);
}

static void check_pieces(int kind, size_t n, double centre, double half, bool is_spline)
{
    struct polynomial p = make(kind, n, centre, half);
    struct interpolate_setup s =
        set_up(&p, FUNCTIONS, is_spline ? INTERPOLATE_SPLINE : INTERPOLATE_PCHIP, 0);
    enum { N = 400 };
    double x[N];
    size_t outside = 0, hits = 0;
    struct interpolate_counts counts;
    quad *d = room(n * sizeof *d);
    make_queries(&p, &s.cells, N, x);
    double *got = evaluate(&s, x, N, DTYPE_F64, &counts);
    for (size_t f = 0; f < FUNCTIONS; ++f) {
        const double *value = p.value + f * n;
        slopes_of(&p, value, is_spline, d);
        for (size_t i = 0; i < N; ++i) {
            const double *node = bsearch(&x[i], p.node, n, sizeof *node, ascending);
            const double off = piece_error(&p, value, d, x[i], got[i * FUNCTIONS + f]);
            if (!(off <= 50)) {
                fail_msg("%zu nodes, %s, %s: %.17g at %.17g is off by %.3g u", n, kind_names[kind],
                         function_names[f], got[i * FUNCTIONS + f], x[i], off);
            }
            assert_true(node == NULL || got[i * FUNCTIONS + f] == value[node - p.node]);
            outside += f == 0 && (x[i] < p.node[0] || x[i] > p.node[n - 1]);
            hits += f == 0 && node != NULL;
        }
    }
    assert_int_equal(counts.n_outside, outside);
    assert_int_equal(counts.n_hits, hits);
    assert_int_equal(counts.n_missing, 0);
    assert_true(isnan(s.lebesgue));
    interpolate_setup_release(under_test_queue, &s);
    free(d);
    free(got);
    drop(&p);
}

static void pieces_hold_the_bound(void **state)
{
    (void)state;
    const size_t nodes[] = {1, 2, 3, 4, 5, 9, under_test_size(52, 17)};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; ++i) {
        for (int kind = 0; kind < 2 * KINDS; ++kind) {
            check_pieces(kind / 2, nodes[i], 0, 1, kind % 2 == 0);
        }
    }
    for (int spline = 0; spline < 2; ++spline) {
        check_pieces(RANDOM, 25, 1e6 + 0.5, 0.5, spline);
        check_pieces(RANDOM, 25, 1.5e-300, 0.5e-300, spline);
        check_pieces(RANDOM, 25, 0, 4e307, spline);
        check_pieces(EQUISPACED, 9, 0, 0x1p-1060, spline);
        check_pieces(CHEBYSHEV, 40, -1e12, 100, spline);
    }
}

/* y of one curve at ascending x, by a method, at N queries from the first node to the last. */
enum { PIECE_QUERIES = 4001 };

static double *pieces_at(enum interpolate_method method, const double *x, const double *y, size_t n)
{
    struct interpolate_setup s;
    struct interpolate_counts counts;
    const struct interpolate_request r = {x, y, n, 1, method, UINT64_MAX, 0, {0}};
    ASSERT_OK(interpolate_setup_new(under_test_queue, &r, &s));
    double *at = room(PIECE_QUERIES * sizeof *at);
    for (size_t i = 0; i < PIECE_QUERIES; ++i) {
        at[i] = x[0] + (double)i / (PIECE_QUERIES - 1) * (x[n - 1] - x[0]);
    }
    double *got = evaluate(&s, at, PIECE_QUERIES, DTYPE_F64, &counts);
    interpolate_setup_release(under_test_queue, &s);
    free(at);
    return got;
}

static void pchip_stays_within_its_neighbours(void **state)
{
    (void)state;
    const double x[] = {0, 1, 2, 2.5, 2.5001, 7, 8, 9, 50, 51},
                 y[] = {0, 0, 0, 1e9, 1e9, 1e9, -3, -3.5, 4, 4};
    double *got = pieces_at(INTERPOLATE_PCHIP, x, y, 10);
    for (size_t i = 0, j = 0; i < PIECE_QUERIES; ++i) {
        const double at = (double)i / (PIECE_QUERIES - 1) * 51;
        while (j + 2 < 10 && x[j + 1] <= at) {
            ++j;
        }
        const double slack = (fabs(y[j]) + fabs(y[j + 1])) * 0x1p-50;
        assert_true(got[i] >= fmin(y[j], y[j + 1]) - slack);
        assert_true(got[i] <= fmax(y[j], y[j + 1]) + slack);
        assert_true(y[j] != y[j + 1] || got[i] == y[j]); /* flat runs are flat */
    }
    free(got);
}

static void pieces_serve_values_near_the_ends_of_the_doubles(void **state)
{
    (void)state;
    const double x[] = {0, 1, 2, 4, 5, 6};
    const double size[] = {1.5e308, 0x1p-1000, 0x1p-1060};
    for (size_t k = 0; k < 6; ++k) {
        const enum interpolate_method method = k % 2 == 0 ? INTERPOLATE_PCHIP : INTERPOLATE_SPLINE;
        const double scale = size[k / 2];
        const double y[] = {0, 0.125 * scale, 0.5 * scale, 0.25 * scale, 0, 0.5 * scale},
                     one[] = {0, 0.125, 0.5, 0.25, 0, 0.5};
        double *got = pieces_at(method, x, y, 6), *want = pieces_at(method, x, one, 6);
        for (size_t i = 0; i < PIECE_QUERIES; ++i) {
            assert_true(fabs(got[i] - want[i] * scale) <= scale * 0x1p-50 + 0x1p-1070);
        }
        free(got);
        free(want);
    }
}

static void a_hundred_thousand_nodes_make_a_spline(void **state)
{
    (void)state;
    const size_t n = under_test_size(100000, 2000);
    double *x = room(n * sizeof *x), *y = room(n * sizeof *y);
    for (size_t j = 0; j < n; ++j) { /* gaps of 1 and 1/2 in turn */
        x[j] = (double)(j / 2) * 1.5 + (double)(j % 2);
        y[j] = sin(x[j]);
    }
    double *got = pieces_at(INTERPOLATE_SPLINE, x, y, n);
    for (size_t i = 0; i < PIECE_QUERIES; ++i) {
        const double at = x[0] + (double)i / (PIECE_QUERIES - 1) * (x[n - 1] - x[0]);
        /* 5 / 384 of the fourth power of the gap, some times that at the ends */
        assert_true(fabs(got[i] - sin(at)) <= (i > 0 && i < PIECE_QUERIES - 1 ? 0.014 : 0.2));
    }
    free(got);
    free(x);
    free(y);
}

static void cells_of_every_degree_hold_the_bound(void **state)
{
    (void)state;
    for (size_t d = INTERPOLATE_LEAST_DEGREE; d <= INTERPOLATE_MOST_DEGREE; d += 2) {
        check_all_kinds(21, 0, 1, d);
    }
}

static void intervals_far_away_and_of_any_size_hold_the_bound(void **state)
{
    (void)state;
    const size_t n = under_test_size(52, 25);
    check_all_kinds(n, 1e6 + 0.5, 0.5, 0);
    check_all_kinds(n, 1.5e-300, 0.5e-300, 0);
    check_all_kinds(n, 0, 4e307, 0);
    check_all_kinds(9, 0, 0x1p-1060, 0);
    check_all_kinds(40, -1e12, 100, 0);
}

static void cells_serve_wherever_the_condition_is_small(void **state)
{
    (void)state;
    for (size_t n = 2; n <= under_test_size(320, 100); n = 2 * n + 1) {
        struct polynomial p = make(CHEBYSHEV, n, 3, 2);
        /* the last's condition is 0 at all nodes but one: there is too little of it between two */
        struct interpolate_setup s = set_up(&p, EDGE, INTERPOLATE_BY_CELLS, 0);
        assert_int_equal(s.why, INTERPOLATE_AS_ASKED);
        assert_true(s.cells.n_cells > 0);
        assert_int_equal(s.n_marked, 0);
        interpolate_setup_release(under_test_queue, &s);
        drop(&p);
    }
}

static void marked_cells_take_the_barycentric_form(void **state)
{
    (void)state;
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
    interpolate_setup_release(under_test_queue, &s);
    check_bound(&p, "two nodes side by side", INTERPOLATE_BY_CELLS, 0);
    drop(&p);
}

static void one_node_is_a_constant(void **state)
{
    (void)state;
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
    interpolate_setup_release(under_test_queue, &s);
    drop(&p);
}

static void missing_queries_stay_missing(void **state)
{
    (void)state;
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
        interpolate_setup_release(under_test_queue, &s);
    }
    drop(&p);
}

static void single_precision_queries_are_widened(void **state)
{
    (void)state;
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
    interpolate_setup_release(under_test_queue, &s);
    drop(&p);
}

static void bits_do_not_depend_on_threads_or_cuts(void **state)
{
    (void)state;
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
        interpolate_setup_release(under_test_queue, &s);
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

static void nodes_are_weighed_on_the_executor_to_the_same_bits(void **state)
{
    (void)state;
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
        interpolate_setup_release(under_test_queue, &spread);
        interpolate_setup_release(under_test_queue, &alone);
        drop(&p);
    }
}

static void curves_do_not_touch_each_other(void **state)
{
    (void)state;
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
    interpolate_setup_release(under_test_queue, &all);
    interpolate_setup_release(under_test_queue, &one);
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
static void instruction_sets_give_the_same_bits(void **state)
{
    (void)state;
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
    interpolate_setup_release(under_test_queue, &pieces);
    interpolate_setup_release(under_test_queue, &s);
    drop(&p);
}

static void five_thousand_nodes_have_finite_weights(void **state)
{
    (void)state;
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
    interpolate_setup_release(under_test_queue, &s);
    drop(&p);
}

static void a_lebesgue_constant_beyond_the_doubles_is_infinite(void **state)
{
    (void)state;
    struct polynomial p = make(EQUISPACED, 1200, 0, 1);
    struct interpolate_setup s = set_up(&p, 1, INTERPOLATE_BARYCENTRIC, 0);
    assert_true(isinf(s.lebesgue));
    const double x[] = {0, 0.01, p.node[7], 0.0001};
    struct interpolate_counts counts;
    double *got = evaluate(&s, x, 4, DTYPE_F64, &counts);
    assert_true(fabs(got[1] - 1 / (1 + 25 * 0.0001)) < 1e-12);
    assert_true(got[2] == p.value[7]);
    free(got);
    interpolate_setup_release(under_test_queue, &s);
    drop(&p);
}

static void lebesgue_constants_are_the_known_ones(void **state)
{
    (void)state;
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
        interpolate_setup_release(under_test_queue, &s);
        drop(&p);
    }
}

static void check_refused(const double *x, const double *y, size_t n, const char *said)
{
    struct interpolate_setup s;
    const struct interpolate_request r = {x, y, n, 1, INTERPOLATE_AUTO, UINT64_MAX, 0, {0}};
    assert_int_equal(interpolate_setup_new(under_test_queue, &r, &s), STATUS_BAD_INPUT);
    assert_non_null(strstr(status_message(), said));
    interpolate_setup_release(under_test_queue, &s);
}

static void what_is_no_polynomial_is_refused(void **state)
{
    (void)state;
    const double y[] = {1, 2, 3, 4, 5}, bad_y[] = {1, (double)INFINITY, 3, 4, 5};
    const double twice[] = {3, -0.0, 2, 0, 7}, missing[] = {1, 2, (double)NAN, 4, 5};
    const double wide[] = {-1.5e308, 0, 1.5e308, 1, 2}, good[] = {5, 4, 3, 2, 1};
    struct interpolate_setup s;
    const struct interpolate_request r = {twice, y, 5, 1, INTERPOLATE_AUTO, UINT64_MAX, 0, {0}};
    assert_int_equal(interpolate_setup_new(under_test_queue, &r, &s), STATUS_BAD_INPUT);
    assert_int_equal(s.same[0], 1);
    assert_int_equal(s.same[1], 3);
    interpolate_setup_release(under_test_queue, &s);
    check_refused(twice, y, 5, "nodes 1 and 3 (the first is 0)");
    check_refused(missing, y, 5, "x of node 2");
    check_refused(good, bad_y, 5, "y of node 1");
    check_refused(wide, y, 5, "spans");
    const double close[] = {0, 0x1p-1074, 1}, steep[] = {0, 1, 1};
    const struct interpolate_request pchip = {close, steep, 3, 1, INTERPOLATE_PCHIP, 1, 0, {0}};
    assert_int_equal(interpolate_setup_new(under_test_queue, &pchip, &s), STATUS_BAD_INPUT);
    assert_non_null(strstr(status_message(), "steeper than a double"));
    interpolate_setup_release(under_test_queue, &s);
    check_refused(good, y, 0, "nodes");
}

static void auto_weighs_queries_against_cells(void **state)
{
    (void)state;
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
        interpolate_setup_release(under_test_queue, &s);
    }
    drop(&p);
}

static void a_cell_too_rough_for_all_gives_way_to_the_barycentric_form(void **state)
{
    (void)state;
    /* nodes in pairs, so close that cells hold several everywhere */
    struct polynomial p = make(EQUISPACED, 200, 0, 1);
    for (size_t j = 0; j < 200; j += 2) {
        p.x[j] = -1 + (double)j / 100;
        p.x[j + 1] = nextafter(p.x[j], 2);
    }
    struct interpolate_setup s = set_up(&p, 1, INTERPOLATE_BY_CELLS, 13);
    assert_int_equal(s.why, INTERPOLATE_ROUGH);
    assert_int_equal(s.cells.n_cells, 0);
    interpolate_setup_release(under_test_queue, &s);
    drop(&p);
}

/* A plan by an estimate holds where there turn out to be fewer. */
static void fewer_nodes_never_need_more_memory(void **state)
{
    (void)state;
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
static void what_makes_no_cells_claims_no_memory_for_them(void **state)
{
    (void)state;
    const enum interpolate_method methods[] = {INTERPOLATE_BARYCENTRIC,
                                               INTERPOLATE_FLOATER_HORMANN};
    const size_t n = 10000, n_curves = 50;
    const size_t kept = n * (n_curves + 1) * (3 * sizeof(double) + sizeof(int32_t));
    for (size_t i = 0; i < 2; ++i) {
        const size_t claimed = interpolate_setup_bytes(methods[i], n, n_curves).backend_kept;
        assert_in_range(claimed, kept, kept + (1 << 20));
    }
}

static void a_stopped_queue_ends_soon(void **state)
{
    (void)state;
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
    interpolate_setup_release(under_test_queue, &stopped);
    interpolate_setup_release(under_test_queue, &s);
    under_test_release(x);
    under_test_release(values);
    under_test_release(counts);
    drop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_hold_the_bound),
        cmocka_unit_test(a_thousand_nodes_hold_the_bound),
        cmocka_unit_test(rational_functions_hold_the_bound),
        cmocka_unit_test(a_rational_function_has_its_own_lebesgue_constant),
        cmocka_unit_test(many_nodes_make_a_rational_function_of_finite_sums),
        cmocka_unit_test(pieces_hold_the_bound),
        cmocka_unit_test(pchip_stays_within_its_neighbours),
        cmocka_unit_test(pieces_serve_values_near_the_ends_of_the_doubles),
        cmocka_unit_test(a_hundred_thousand_nodes_make_a_spline),
        cmocka_unit_test(cells_of_every_degree_hold_the_bound),
        cmocka_unit_test(intervals_far_away_and_of_any_size_hold_the_bound),
        cmocka_unit_test(cells_serve_wherever_the_condition_is_small),
        cmocka_unit_test(marked_cells_take_the_barycentric_form),
        cmocka_unit_test(one_node_is_a_constant),
        cmocka_unit_test(missing_queries_stay_missing),
        cmocka_unit_test(single_precision_queries_are_widened),
        cmocka_unit_test(bits_do_not_depend_on_threads_or_cuts),
        cmocka_unit_test(nodes_are_weighed_on_the_executor_to_the_same_bits),
        cmocka_unit_test(curves_do_not_touch_each_other),
        cmocka_unit_test(instruction_sets_give_the_same_bits),
        cmocka_unit_test(five_thousand_nodes_have_finite_weights),
        cmocka_unit_test(a_lebesgue_constant_beyond_the_doubles_is_infinite),
        cmocka_unit_test(lebesgue_constants_are_the_known_ones),
        cmocka_unit_test(what_is_no_polynomial_is_refused),
        cmocka_unit_test(auto_weighs_queries_against_cells),
        cmocka_unit_test(a_cell_too_rough_for_all_gives_way_to_the_barycentric_form),
        cmocka_unit_test(fewer_nodes_never_need_more_memory),
        cmocka_unit_test(what_makes_no_cells_claims_no_memory_for_them),
        cmocka_unit_test(a_stopped_queue_ends_soon),
    };
    return UNDER_TEST_RUN(tests, NULL, NULL);
}
