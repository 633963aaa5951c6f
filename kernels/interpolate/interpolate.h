/*
 * interpolate - curves through given nodes, at any number of queries: polynomials, rational
 * functions, and cubics from node to node.
 *
 * The unique polynomial p of degree n - 1 through n nodes x_j, for several curves f on the same
 * nodes. Two ways to evaluate it:
 *
 * - barycentric, the first form without its divisions: with w_j = prod_(i /= j) 1 / (x_j - x_i),
 *   p(x) = sum_j w_j f_j prod_(i /= j) (x - x_i), in double double with exponents of their own.
 *   Backward stable (N. J. Higham, "The numerical stability of barycentric Lagrange
 *   interpolation", 2004). Every query costs some 70 operations a node.
 * - cells: the interval of the nodes is cut into cells so narrow that p is, in each, a polynomial
 *   of low degree but for a few roundings: f_j + (x - x_j) q(x), j a node in the cell or near it,
 *   so that what is left near a node is relative to what the condition is there. Its values come
 *   from survey(). A query costs the finding of its cell and Horner's scheme for q in the distance
 *   from the cell's centre. Cells in which that does not hold the bound are marked: queries there
 *   take the barycentric form.
 *
 * With the weights w_j of M. S. Floater and K. Hormann ("Barycentric rational interpolation with no
 * poles and high rates of approximation", 2007) the same sum over that of f = 1 is a rational
 * function without poles, which blends the polynomials through each d + 1 neighbouring nodes; of
 * d = n - 1 the polynomial again. There are no cells for it.
 *
 * Pieces are cubics between two nodes, by values and slopes at both, which interpolate_pieces.h
 * chooses. Their numbers are rounded once, so that between nodes j and j + 1, h apart, the error is
 * at most 50 u (|f_j| + |f_(j+1)| + h (|f'_j| + |f'_(j+1)|)).
 *
 * Error of the others: at most 50 u sum_j |l_j(x) f_j|, u = 2^-53, l_j the Lagrange bases, or
 * those of the rational function, for n of up to INTERPOLATE_MOST_NODES. Of the barycentric form
 * that is a theorem: its sums are off by n 2^-99 of the condition, and are rounded once; of
 * rational functions two are rounded and divided, where n sum_j |l_j(x)| is below 2^50: not where
 * nodes are very uneven, nor far outside of them. Of cells it is no theorem: each is checked at
 * four points, where its value, and the sum of its roundings, have to keep half of the bound.
 * Between these points cells are so narrow that what they cut off of frequencies up to n (x = cos
 * theta) is below 4 u. Tests hold both forms against quadruple precision. A query that equals a
 * node gives that node's value exactly. NaN gives NaN; so does a query whose distance from a node
 * leaves the doubles. Both backends give the same bits.
 */
#ifndef LEAT_KERNELS_INTERPOLATE_INTERPOLATE_H
#define LEAT_KERNELS_INTERPOLATE_INTERPOLATE_H

#include "kernels/backend.h"

#include <stdbool.h>
#include <stdint.h>

enum { INTERPOLATE_MOST_NODES = 1 << 15, INTERPOLATE_MOST_PIECES = 1 << 24 };

/* Nodes in ascending order, without duplicates, finite, x_(n-1) - x_0 finite. A term is w_j f_j as
 * (hi + lo) 2^exponent, 1/2 <= |hi| < 1, or 0 with the exponent INTERPOLATE_NOTHING. Made by
 * interpolate_setup.h. Backend memory. */
struct interpolate_nodes {
    size_t n, n_curves;
    struct span x;                /* double [n] */
    struct span value;            /* double [n_curves][n] */
    struct span term_hi, term_lo; /* double [1 + n_curves][n]: those of f = 1, then of the curves */
    struct span exponent;         /* int32 [1 + n_curves][n] */
    bool is_rational;             /* the curves' sums are divided by that of f = 1 */
};
/* In place of a curve's number: f = 1. */
#define INTERPOLATE_ONE SIZE_MAX

/* How p is evaluated in [x_0, x_(n-1)]; interpolate_place() finds a query's cell. Queries outside
 * take the barycentric form.
 * Pieces, of degree INTERPOLATE_CUBIC, are another kind: one from each of the n nodes on, the first
 * and the last of them without end; interpolate_piece_of() finds a query's. Besides begin and end
 * no others of these numbers are used, nor the nodes' arrays. */
struct interpolate_cells {
    size_t n_cells;     /* 0: none, all queries take the barycentric form; else even */
    size_t degree;      /* of every cell's q: odd, INTERPOLATE_LEAST_DEGREE to _MOST_DEGREE */
    double begin, end;  /* x_0, x_(n-1) */
    double inverse;     /* 2 / (end - begin) */
    double step, scale; /* of the cells' centres; of q's argument, a power of 2 */
    struct span cell;   /* double [n_curves][n_cells][degree + 3]: f_j, x_j, then q from the lowest
                           power up, of a marked cell NaN; of a piece f_j, x_j, s, a power of 2, and
                           q of degree 2 in t = (x - x_j) s: f_j + t q */
};
enum { INTERPOLATE_CUBIC = 3, INTERPOLATE_LEAST_DEGREE = 5, INTERPOLATE_MOST_DEGREE = 13 };

struct interpolate_counts {
    uint64_t n_outside; /* queries outside the nodes' interval */
    uint64_t n_hits;    /* that equal a node */
    uint64_t n_missing; /* NaN */
};

/* Points and what survey() finds there: points and values are hi + lo. Backend memory. */
struct interpolate_survey {
    size_t n;
    bool lebesgue; /* whether the conditions include that of f = 1, the Lebesgue function */
    struct span point_hi, point_lo; /* double [n] */
    struct span hi, lo;             /* double [n_curves][n] */
    struct span condition;          /* double [n_curves + lebesgue][n]: sum_j |l_j(x) f_j| */
};

struct interpolate_kernels {
    /* p at points, of rational functions that of f = 1 alone; off by at most n 2^-99 of its
     * condition, which itself is off by 2 n u of itself. Where a sum leaves the doubles it is
     * infinite or NaN. */
    enum status (*survey)(struct queue *q, const struct interpolate_nodes *nodes,
                          const struct interpolate_survey *survey) STATUS_MUST_CHECK;
    /* Values of all curves at n queries (f32 or f64 [n]) into values (double [n][n_curves]); adds
     * to `counts` (struct interpolate_counts). */
    enum status (*evaluate)(struct queue *q, const struct interpolate_nodes *nodes,
                            const struct interpolate_cells *cells, struct span queries,
                            enum dtype type, size_t n, struct span values,
                            struct span counts) STATUS_MUST_CHECK;
};

#endif
