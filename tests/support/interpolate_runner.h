/*
 * interpolate_runner - curves through nodes on the backend under test, and polynomials and rational
 * functions in quadruple precision beside them.
 *
 * The reference takes the same sum_j w_j f_j prod_(i /= j) (x - x_i) in 113 bits, distances scaled
 * by the interval: off by some 10 n 2^-113 of the condition, 10^-9 u for n = 5000. The bound is the
 * contract's, 50 u of the condition; a value below the normal numbers is off by half the least one
 * besides. Rational functions are held against their definition, polynomials blended. Where
 * LEAT_TEST_LARGE is set there are many more queries.
 */
#ifndef TESTS_SUPPORT_INTERPOLATE_RUNNER_H
#define TESTS_SUPPORT_INTERPOLATE_RUNNER_H

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

static inline void *room(size_t bytes)
{
    void *p = malloc(bytes + 1);
    assert_non_null(p);
    return p;
}

static inline double function_of(size_t function, double t, bool edge)
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

static inline double node_of(int kind, size_t n, size_t j, struct reference_random *g)
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

static inline int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static inline struct polynomial make(int kind, size_t n, double centre, double half)
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

static inline void weigh(struct polynomial *p)
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

static inline void drop(struct polynomial *p)
{
    free(p->x);
    free(p->y);
    free(p->node);
    free(p->value);
    free(p->weight);
}

/* The bases there by the definition: polynomials through d + 1 neighbours, blended. */
static inline void blend(const struct polynomial *p, double x, quad *basis)
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

static inline quad size_of(quad x)
{
    return x < 0 ? -x : x;
}

/* How many u of the condition a value is off, less what its own last bit is where it is tiny; 0
 * where the condition leaves the doubles, or the contract's limits. */
static inline double error_of(const struct polynomial *p, size_t curve, double x, double got)
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

static inline struct interpolate_setup set_up(const struct polynomial *p, size_t n_curves,
                                              enum interpolate_method method, size_t degree)
{
    struct interpolate_setup s;
    const struct interpolate_request r = {
        p->x, p->y + p->first * p->n, p->n, n_curves, method, UINT64_MAX, degree, {0}};
    ASSERT_OK(interpolate_setup_new(under_test_queue, &r, &s));
    return s;
}

/* Values at queries [n][n_curves]. */
static inline double *evaluate(const struct interpolate_setup *s, const double *x, size_t n,
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
static inline size_t make_queries(const struct polynomial *p, const struct interpolate_cells *c,
                                  size_t n, double *x)
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

static inline double worst_error(const struct polynomial *p, const char *what, size_t n,
                                 const double *x, const double *got)
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

static inline size_t queries_of(size_t n)
{
    const size_t most = under_test_is_quick() ? 8000 : 200000, some = most / (n + 1) / 8 * 8;
    return under_test_size(some < 48 ? 48 : some > 1600 ? 1600 : some, 16);
}

static inline void check_bound(struct polynomial *p, const char *what,
                               enum interpolate_method method, size_t degree)
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
    interpolate_setup_release(&s);
    free(x);
    free(got);
}

#endif
