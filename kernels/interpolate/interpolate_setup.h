/*
 * interpolate_setup - what is done once for a set of nodes: order, terms, Lebesgue constant, cells.
 *
 * Host code over the backend's survey(); plain C, the same results on either backend.
 */
#ifndef LEAT_KERNELS_INTERPOLATE_INTERPOLATE_SETUP_H
#define LEAT_KERNELS_INTERPOLATE_INTERPOLATE_SETUP_H

#include "kernels/base/room.h"
#include "kernels/interpolate/interpolate.h"

#include <stdint.h>

enum interpolate_method {
    INTERPOLATE_AUTO,
    INTERPOLATE_BY_CELLS,
    INTERPOLATE_BARYCENTRIC,
    INTERPOLATE_FLOATER_HORMANN,
    INTERPOLATE_PCHIP,
    INTERPOLATE_SPLINE
};
enum { INTERPOLATE_MOST_BLENDED = 20 }; /* its greatest degree */

struct interpolate_request {
    const double *x; /* [n], finite, in any order; 1 <= n <= interpolate_most_nodes() */
    const double *y; /* [n_curves][n], finite, in the order of x */
    size_t n, n_curves;
    enum interpolate_method method;
    uint64_t n_queries;       /* that are expected, about; UINT64_MAX: not known */
    size_t degree;            /* of the cells, 0: interpolate_degree(n); of the polynomials that
                                 Floater and Hormann's function blends, n - 1 of fewer nodes */
    struct executor executor; /* on which the nodes are weighed; run NULL: by the calling thread */
};

/* Why queries take the way that they take. */
enum interpolate_why {
    INTERPOLATE_AS_ASKED,
    INTERPOLATE_MANY_QUERIES, /* auto: cells */
    INTERPOLATE_FEW_QUERIES,  /* auto: barycentric, sooner done than cells are made */
    INTERPOLATE_ROUGH,        /* barycentric: too many cells do not hold the bound */
    INTERPOLATE_NO_INTERVAL   /* barycentric: one node, or an interval below 2^-960 */
};

struct interpolate_setup {
    double *x, *y; /* the nodes in ascending order: [n], [n_curves][n]; on the host */
    struct interpolate_nodes nodes; /* in backend memory, like the cells; on q */
    struct interpolate_cells cells; /* n_cells 0: barycentric */
    size_t n_marked; /* cells whose queries take the barycentric form, of any curve */
    enum interpolate_method method; /* that is taken: not AUTO */
    enum interpolate_why why;
    size_t degree;    /* of the polynomial, or of those that are blended, or of pieces */
    double lebesgue;  /* the Lebesgue constant, found at 8 points a gap: some percent too small; of
                         more than 2048 nodes at fewer, of more than 8192 at the gap's middle;
                         infinite beyond the doubles; NaN of pieces */
    struct room kept; /* of all this */
    size_t same[2];   /* STATUS_BAD_INPUT because of two equal x: their places in request.x, lower
                         first; else both 0 */
};

/* Sorts, weighs, surveys and makes cells; computes on q and waits for it. STATUS_BAD_INPUT: two
 * equal x (`same` has them), numbers that are not finite, an interval longer than the doubles,
 * pieces steeper than that. All of *out is set in any case. */
enum status interpolate_setup_new(struct queue *q, const struct interpolate_request *request,
                                  struct interpolate_setup *out) STATUS_MUST_CHECK;
/* Gives all memory back; once, also after a failure. */
void interpolate_setup_release(struct interpolate_setup *s);

/* At most so much memory is taken for n nodes or fewer: by interpolate_setup_new() on the host
 * while it runs; of the backend while it runs; of the backend until the release. For cells of
 * interpolate_degree(). */
struct interpolate_setup_bytes {
    size_t host, backend, backend_kept;
};
struct interpolate_setup_bytes interpolate_setup_bytes(enum interpolate_method method, size_t n,
                                                       size_t n_curves);
size_t interpolate_most_nodes(enum interpolate_method method);

/* The degree of cells that suits n nodes: cells of all the interval in about 100 KiB, which a
 * multiprocessor's shared memory holds twice. */
size_t interpolate_degree(size_t n);

/* Whether so many queries (UINT64_MAX: not known) are worth the making of cells: one of the cells'
 * values costs what a barycentric query costs, and a query by cells next to nothing. */
bool interpolate_worth_cells(size_t n, size_t degree, uint64_t n_queries);

#endif
