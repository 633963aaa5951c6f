/*
 * interpolate_setup - order, terms, Lebesgue constant, cells.
 *
 * A cell's q is the polynomial through (p(x_k) - f_j) / (x_k - x_j) at the cell's own Chebyshev
 * points x_k, which are double doubles: their places are exact however narrow the cell. From there
 * to powers by a fixed matrix, all in double double, rounded at the end. How long cells may be: in
 * theta (x = cos theta) p has frequencies up to n, and the Chebyshev coefficients of cos(n theta)
 * on a cell of half-width w fall like 2 (n w / 2)^m / m!; they are to be below 4 u at
 * m = degree + 2.
 *
 * What is checked of every cell, a little beyond both ends and within: its value is off by at most
 * 25 u of the condition, and so is the sum of what its rounding can amount to,
 *   u (|p| + |x - x_j| (|q| + sum_k (2 k + 2) |q_k| |y|^k)),
 * y being q's argument. A cell that fails is marked, and one in which several nodes lie; where too
 * many are, all are halved.
 */
#include "kernels/interpolate/interpolate_setup.h"

#include "formats/base/checked.h"
#include "kernels/interpolate/interpolate_pair.h"
#include "kernels/interpolate/interpolate_pieces.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static const double u = 0x1p-53;
enum { CHECKS = 4, HALVINGS = 2, PROBES = 256 };
/* The share of marked cells that costs no more than shorter cells do. */
static const double FEW_MARKED = 1.0 / 64;
static const double check_at[CHECKS] = {-1.02, -0.4, 0.3, 1.02};
/* Points of one survey; half the points of a gap of the nodes; all points for the constant. */
enum { SURVEY_POINTS = 1 << 16, GAP_POINTS = 8, LEBESGUE_POINTS = 1 << 14 };
/* Nodes that are weighed in a task: of 300 nodes in some 0.1 ms, of the most in 30. */
enum { TASK_NODES = 16 };

/* --- what is chosen -------------------------------------------------------------------------- */

static bool has_pieces(enum interpolate_method method)
{
    return method == INTERPOLATE_PCHIP || method == INTERPOLATE_SPLINE;
}

size_t interpolate_most_nodes(enum interpolate_method method)
{
    return has_pieces(method) ? INTERPOLATE_MOST_PIECES : INTERPOLATE_MOST_NODES;
}

/* The most nodes that have cells of degree 7, and of degree 11. */
enum { NODES_OF_7 = 96, NODES_OF_11 = 320 };

size_t interpolate_degree(size_t n)
{
    return n <= NODES_OF_7 ? 7 : n <= NODES_OF_11 ? 11 : 13;
}

/* Cells a node in half the interval: 1 / (n w) in its middle. */
static double cells_a_node(size_t degree)
{
    static const double of_degree[] = {25.5, 6.6, 2.7, 1.41, 0.86};
    return of_degree[(degree - INTERPOLATE_LEAST_DEGREE) / 2];
}

static size_t half_of(size_t n, size_t degree)
{
    return 1 + (size_t)(cells_a_node(degree) * (double)n);
}

static size_t points_of(size_t degree)
{
    return degree + 1 + CHECKS;
}

bool interpolate_worth_cells(size_t n, size_t degree, uint64_t n_queries)
{
    return n_queries / 2 > 2 * half_of(n, degree) * points_of(degree);
}

/* --- nodes ----------------------------------------------------------------------------------- */

struct place {
    double x;
    size_t row;
};

static int by_x(const void *a, const void *b)
{
    const struct place *p = a, *q = b;
    if (p->x != q->x) {
        return p->x < q->x ? -1 : 1;
    }
    return p->row < q->row ? -1 : p->row > q->row;
}

/* Everything on the host while the set-up runs. */
struct work {
    struct queue *q;
    const struct backend_ops *ops;
    const struct interpolate_request *request;
    struct interpolate_setup *out;
    struct room room; /* of all that is not kept */
    struct place *place;
    double *x, *value, *term_hi, *term_lo;
    int32_t *exponent;

    /* a survey's points and what it found */
    struct interpolate_survey survey;
    double *point_hi, *point_lo, *hi, *lo, *condition;

    /* the cells */
    size_t degree, half;
    double tau[INTERPOLATE_MOST_DEGREE + 1];
    pair to_powers[INTERPOLATE_MOST_DEGREE + 1][INTERPOLATE_MOST_DEGREE + 1];
    int32_t *cell_of; /* [n]: of each node */
    double *cell;
    double *slope; /* of pieces: scratch memory */
};

static enum status sort(struct work *w)
{
    const struct interpolate_request *r = w->request;
    for (size_t i = 0; i < r->n; ++i) {
        if (!isfinite(r->x[i])) {
            return status_fail(STATUS_BAD_INPUT, "x of node %zu (the first is 0) is not finite", i);
        }
        w->place[i] = (struct place){r->x[i], i};
    }
    for (size_t i = 0; i < r->n_curves * r->n; ++i) {
        if (!isfinite(r->y[i])) {
            return status_fail(STATUS_BAD_INPUT, "y of node %zu (the first is 0) is not finite",
                               i % r->n);
        }
    }
    qsort(w->place, r->n, sizeof *w->place, by_x);
    for (size_t i = 0; i < r->n; ++i) {
        w->x[i] = w->place[i].x;
        for (size_t c = 0; c < r->n_curves; ++c) {
            w->value[c * r->n + i] = r->y[c * r->n + w->place[i].row];
        }
        if (i > 0 && w->x[i] == w->x[i - 1]) {
            w->out->same[0] = w->place[i - 1].row;
            w->out->same[1] = w->place[i].row;
            return status_fail(STATUS_BAD_INPUT,
                               "nodes %zu and %zu (the first is 0) have the same x, %.17g",
                               w->place[i - 1].row, w->place[i].row, w->x[i]);
        }
    }
    if (!isfinite(w->x[r->n - 1] - w->x[0])) {
        return status_fail(STATUS_BAD_INPUT,
                           "x spans more than a double holds (%.17g to %.17g); scale it", w->x[0],
                           w->x[r->n - 1]);
    }
    return STATUS_OK;
}

/* a 2^e as a term. */
static void store_term(struct work *w, size_t at, pair a, int64_t e)
{
    int own = 0;
    w->term_hi[at] = frexp(a.hi, &own);
    w->term_lo[at] = ldexp(a.lo, -own);
    w->exponent[at] = a.hi == 0 ? INTERPOLATE_NOTHING : (int32_t)(e + own);
}

/* 1 / prod (x_j - x_i) over the nodes i from `first` on, before `end`, but j. */
static pair weight_within(const struct work *w, size_t j, size_t first, size_t end,
                          int64_t *exponent)
{
    pair product = pair_of(1);
    int64_t all = 0, e;
    for (size_t i = first; i < end; ++i) {
        if (i != j) {
            product =
                interpolate_pair_mul(product, interpolate_distance(pair_of(w->x[j]), w->x[i], &e));
            all += e;
        }
        if (i % INTERPOLATE_RENORMALISE == 0) {
            e = interpolate_exponent(product.hi);
            product = interpolate_pair_scale(product, rounded_power(-e));
            all += e;
        }
    }
    e = interpolate_exponent(product.hi);
    product = interpolate_pair_scale(product, rounded_power(-e));
    *exponent = -all - e;
    return pair_inverse(product);
}

/* Floater and Hormann's: the sum of (-1)^i times the weight of j among the nodes i to i + d, over
 * all of these that j is one of. Its terms have one sign. */
static pair weight_blended(const struct work *w, size_t j, int64_t *exponent)
{
    const size_t n = w->request->n, d = w->out->degree;
    const size_t first = j > d ? j - d : 0, last = j < n - 1 - d ? j : n - 1 - d;
    pair sum = pair_of(0);
    *exponent = INTERPOLATE_NOTHING;
    for (size_t i = first; i <= last; ++i) {
        int64_t e;
        pair one = weight_within(w, j, i, i + d + 1, &e);
        const int64_t above = *exponent > e ? *exponent : e;
        one = interpolate_pair_scale(one, i % 2 == 0 ? 1 : -1);
        sum =
            interpolate_pair_add(interpolate_pair_scale(sum, interpolate_shift(*exponent - above)),
                                 interpolate_pair_scale(one, interpolate_shift(e - above)));
        *exponent = above;
    }
    return sum;
}

static void weigh_some(void *arg, size_t task)
{
    struct work *const w = arg;
    const size_t n = w->request->n, n_curves = w->request->n_curves, first = task * TASK_NODES;
    const size_t end = n - first < TASK_NODES ? n : first + TASK_NODES;
    for (size_t j = first; j < end && !queue_is_stopped(w->q); ++j) {
        int64_t exponent;
        const pair weight = w->out->nodes.is_rational ? weight_blended(w, j, &exponent)
                                                      : weight_within(w, j, 0, n, &exponent);
        store_term(w, j, weight, exponent);
        for (size_t c = 0; c < n_curves; ++c) {
            int of_value = 0;
            const double f = frexp(w->value[c * n + j], &of_value);
            store_term(w, (1 + c) * n + j, interpolate_pair_mul(weight, pair_of(f)),
                       exponent + of_value);
        }
    }
}

static enum status weigh(struct work *w)
{
    const size_t n_tasks = (w->request->n + TASK_NODES - 1) / TASK_NODES;
    executor_run(&w->request->executor, n_tasks, weigh_some, w);
    return queue_check(w->q);
}

static enum status put(struct work *w, const void *from, size_t bytes, struct span *to)
{
    uint64_t ticket = 0;
    STATUS_TRY(room_span(&w->out->kept, bytes, 1, to));
    STATUS_TRY(w->ops->upload(w->q, *to, from, bytes, &ticket));
    return w->ops->upload_wait(w->q, ticket);
}

static enum status put_nodes(struct work *w)
{
    struct interpolate_nodes *nodes = &w->out->nodes;
    const size_t n = w->request->n, n_curves = w->request->n_curves, all = n * (n_curves + 1);
    nodes->n = n;
    nodes->n_curves = n_curves;
    STATUS_TRY(put(w, w->x, n * sizeof(double), &nodes->x));
    STATUS_TRY(put(w, w->value, n * n_curves * sizeof(double), &nodes->value));
    STATUS_TRY(put(w, w->term_hi, all * sizeof(double), &nodes->term_hi));
    STATUS_TRY(put(w, w->term_lo, all * sizeof(double), &nodes->term_lo));
    return put(w, w->exponent, all * sizeof(int32_t), &nodes->exponent);
}

/* --- surveys --------------------------------------------------------------------------------- */

/* Points at a time: fewer where there are many curves. */
static size_t survey_points(size_t n_curves)
{
    const size_t points = SURVEY_POINTS / (n_curves + 1);
    return points > 256 ? points : 256;
}

/* p at the first n points of the work, into hi, lo and condition [..][n]. */
static enum status survey(struct work *w, const struct interpolate_nodes *nodes, bool lebesgue,
                          size_t n)
{
    struct interpolate_survey s = w->survey;
    const size_t bytes = n * sizeof(double), of_curves = nodes->n_curves * bytes;
    uint64_t ticket[2];
    s.n = n;
    s.lebesgue = lebesgue;
    STATUS_TRY(w->ops->upload(w->q, s.point_hi, w->point_hi, bytes, &ticket[0]));
    STATUS_TRY(w->ops->upload(w->q, s.point_lo, w->point_lo, bytes, &ticket[1]));
    STATUS_TRY(w->ops->interpolate->survey(w->q, nodes, &s));
    STATUS_TRY(w->ops->download(w->q, w->hi, s.hi, of_curves));
    STATUS_TRY(w->ops->download(w->q, w->lo, s.lo, of_curves));
    STATUS_TRY(
        w->ops->download(w->q, w->condition, s.condition, of_curves + (lebesgue ? bytes : 0)));
    STATUS_TRY(w->ops->upload_wait(w->q, ticket[0]));
    STATUS_TRY(w->ops->upload_wait(w->q, ticket[1]));
    return queue_check(w->q);
}

static enum status lebesgue(struct work *w)
{
    const size_t n = w->request->n, n_curves = w->request->n_curves;
    const size_t most = LEBESGUE_POINTS / n, of_gap = most < 1            ? 1
                                                      : most < GAP_POINTS ? most
                                                                          : GAP_POINTS;
    const size_t n_points = (n - 1) * of_gap, at_once = survey_points(n_curves);
    struct interpolate_nodes alone = w->out->nodes;
    alone.n_curves = 0;
    w->out->lebesgue = 1;
    for (size_t first = 0; first < n_points; first += at_once) {
        const size_t m = n_points - first < at_once ? n_points - first : at_once;
        for (size_t k = 0; k < m; ++k) {
            const size_t gap = (first + k) / of_gap;
            const double share = ((double)((first + k) % of_gap) + 0.5) / (double)of_gap;
            w->point_hi[k] = w->x[gap] + share * (w->x[gap + 1] - w->x[gap]);
            w->point_lo[k] = 0;
        }
        STATUS_TRY(survey(w, &alone, true, m));
        for (size_t k = 0; k < m; ++k) {
            /* NaN: its sums left the doubles, or the point has been rounded to a node */
            if (w->condition[k] > w->out->lebesgue) {
                w->out->lebesgue = w->condition[k];
            }
        }
    }
    return STATUS_OK;
}

/* --- cells ----------------------------------------------------------------------------------- */

/* The Chebyshev points of [-1, 1], and what makes of values there the coefficients of powers:
 * Lagrange's bases multiplied out. */
static void make_to_powers(struct work *w)
{
    const size_t m = w->degree + 1;
    for (size_t k = 0; k < m; ++k) {
        w->tau[k] = cos(3.14159265358979323846 * ((double)k + 0.5) / (double)m);
    }
    for (size_t k = 0; k < m; ++k) {
        pair base[INTERPOLATE_MOST_DEGREE + 2] = {{1, 0}}, scale = pair_of(1);
        size_t n = 1;
        for (size_t i = 0; i < m; ++i) {
            if (i != k) { /* times (tau - tau_i) */
                for (size_t p = n++; p > 0; --p) {
                    base[p] = interpolate_pair_add(
                        base[p - 1], interpolate_pair_mul(base[p], pair_of(-w->tau[i])));
                }
                base[0] = interpolate_pair_mul(base[0], pair_of(-w->tau[i]));
                scale = interpolate_pair_mul(scale, interpolate_two_sum(w->tau[k], -w->tau[i]));
            }
        }
        scale = pair_inverse(scale);
        for (size_t p = 0; p < m; ++p) {
            w->to_powers[p][k] = interpolate_pair_mul(base[p], scale);
        }
    }
}

static void lay_out(struct work *w, size_t half)
{
    struct interpolate_cells *c = &w->out->cells;
    const size_t n = w->request->n;
    const double length = w->x[n - 1] - w->x[0], h = (double)half;
    w->half = half;
    *c = (struct interpolate_cells){.n_cells = 2 * half,
                                    .degree = w->degree,
                                    .begin = w->x[0],
                                    .end = w->x[n - 1],
                                    .inverse = 2 / length,
                                    .step = length / 2 / h / h,
                                    .scale = ldexp(1, -ilogb(length / 2 / h))};
    for (size_t j = 0; j < n; ++j) {
        w->cell_of[j] =
            interpolate_place(c->begin, c->end, c->inverse, c->step, (int32_t)c->n_cells, w->x[j])
                .number;
    }
}

struct cell_shape {
    double centre, half; /* of its width */
    size_t node;         /* to which it is attached; n: several lie in it */
};

static struct cell_shape shape_of(const struct work *w, size_t cell)
{
    const struct interpolate_cells *c = &w->out->cells;
    const bool right = cell >= w->half;
    const int32_t i = (int32_t)(right ? 2 * w->half - 1 - cell : cell);
    const size_t n = w->request->n;
    struct cell_shape s = {interpolate_centre(c->begin, c->end, c->step, right, i),
                           ((double)i + 0.5) * c->step, 0};
    size_t low = 0, high = n; /* the first node that lies in this cell or further right */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (w->cell_of[middle] < (int32_t)cell) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const bool here = low < n && w->cell_of[low] == (int32_t)cell;
    const bool several = here && low + 1 < n && w->cell_of[low + 1] == (int32_t)cell;
    const bool left = low > 0 && (low == n || s.centre - w->x[low - 1] < w->x[low] - s.centre);
    s.node = several ? n : !here && left ? low - 1 : low;
    return s;
}

/* The points of a cell: those of its polynomial, then the checks, which are doubles. */
static void cell_points(const struct work *w, const struct cell_shape *s, double *hi, double *lo)
{
    const struct interpolate_cells *c = &w->out->cells;
    const size_t m = w->degree + 1;
    for (size_t k = 0; k < m; ++k) {
        const pair x =
            interpolate_pair_add(pair_of(s->centre), interpolate_two_product(s->half, w->tau[k]));
        hi[k] = x.hi;
        lo[k] = x.lo;
    }
    for (size_t k = 0; k < CHECKS; ++k) {
        const double x = s->centre + s->half * check_at[k];
        hi[m + k] = x < c->begin ? c->begin : x > c->end ? c->end : x;
        lo[m + k] = 0;
    }
}

static bool check(const struct work *w, const struct cell_shape *s, const double *cell, double x,
                  pair p, double condition)
{
    const struct interpolate_cells *c = &w->out->cells;
    const double y = interpolate_argument(s->centre, c->scale, x);
    const double v = interpolate_in_cell(cell, (int)w->degree, y, x);
    double rounding = 0, power = 1;
    for (size_t k = 0; k <= w->degree; ++k) {
        rounding += (double)(2 * k + 2) * fabs(cell[2 + k]) * power;
        power *= fabs(y);
    }
    rounding = fabs(v) + fabs(v - cell[0]) + fabs(x - cell[1]) * rounding;
    /* written so that a NaN fails */
    return x == cell[1] || (fabs((v - p.hi) - p.lo) <= 25 * u * condition &&
                            rounding <= 25 * condition && condition <= DBL_MAX);
}

/* One curve's cell from what was found at its points (of all, n_points); false: marked. */
static bool fit(const struct work *w, const struct cell_shape *s, size_t curve, size_t first,
                size_t n_points, double *cell)
{
    const size_t n = w->request->n, m = w->degree + 1;
    const size_t at = curve * n_points + first;
    pair q[INTERPOLATE_MOST_DEGREE + 1];
    bool good = s->node < n;
    if (good) {
        const double node = w->x[s->node], f = w->value[curve * n + s->node];
        /* of the cell's half width in the argument */
        const pair width = pair_inverse(pair_of(rounded_multiply(s->half, w->out->cells.scale)));
        pair power = pair_of(1);
        cell[0] = f;
        cell[1] = node;
        for (size_t k = 0; k < m; ++k) {
            const pair x = {w->point_hi[first + k], w->point_lo[first + k]};
            const pair p = {w->hi[at + k], w->lo[at + k]};
            int64_t e;
            const pair d = pair_inverse(interpolate_distance(x, node, &e));
            q[k] = interpolate_pair_mul(pair_less(p, pair_of(f)), d);
            q[k].hi = interpolate_scaled(q[k].hi, -e);
            q[k].lo = interpolate_scaled(q[k].lo, -e);
        }
        for (size_t p = 0; p < m; ++p) {
            pair sum = {0, 0};
            for (size_t k = 0; k < m; ++k) {
                sum = interpolate_pair_add(sum, interpolate_pair_mul(w->to_powers[p][k], q[k]));
            }
            cell[2 + p] = interpolate_pair_mul(sum, power).hi;
            power = interpolate_pair_mul(power, width);
        }
    }
    for (size_t k = m; good && k < m + CHECKS; ++k) {
        const pair p = {w->hi[at + k], w->lo[at + k]};
        good = check(w, s, cell, w->point_hi[first + k], p, w->condition[at + k]);
    }
    for (size_t k = 0; !good && k < m + 2; ++k) {
        cell[k] = (double)NAN;
    }
    return good;
}

/* Every stride-th cell; the number of marked ones. */
static enum status make_cells(struct work *w, size_t stride, size_t *n_marked)
{
    const size_t n_cells = w->out->cells.n_cells, width = w->degree + 3;
    const size_t n_curves = w->request->n_curves, points = points_of(w->degree);
    const size_t at_once = survey_points(n_curves) / points;
    *n_marked = 0;
    for (size_t first = 0; first < n_cells; first += at_once * stride) {
        size_t m = 0;
        for (size_t c = first; c < n_cells && m < at_once; c += stride, ++m) {
            const struct cell_shape s = shape_of(w, c);
            cell_points(w, &s, w->point_hi + m * points, w->point_lo + m * points);
        }
        STATUS_TRY(survey(w, &w->out->nodes, false, m * points));
        for (size_t k = 0; k < m; ++k) {
            const size_t c = first + k * stride;
            const struct cell_shape s = shape_of(w, c);
            for (size_t curve = 0; curve < n_curves; ++curve) {
                *n_marked += !fit(w, &s, curve, k * points, m * points,
                                  w->cell + (curve * n_cells + c) * width);
            }
        }
    }
    return STATUS_OK;
}

/* How often the cells are halved: as often as it takes until few of those that are looked at are
 * marked, or to where fewest are. More than HALVINGS: not even there do three of four hold. */
static enum status choose_halving(struct work *w, size_t *halvings)
{
    const size_t n = w->request->n;
    double fewest = 0.25;
    *halvings = HALVINGS + 1;
    for (size_t h = 0; h <= HALVINGS; ++h) {
        size_t n_marked;
        lay_out(w, half_of(n, w->degree) << h);
        const size_t n_cells = w->out->cells.n_cells;
        const size_t stride = n_cells / PROBES + 1 + n_cells / PROBES % 2; /* odd */
        STATUS_TRY(make_cells(w, stride, &n_marked));
        const size_t probes = (n_cells + stride - 1) / stride * w->request->n_curves;
        const double share = (double)n_marked / (double)probes;
        if (share <= fewest) {
            *halvings = h;
            fewest = share;
        }
        if (share <= FEW_MARKED) {
            break;
        }
    }
    return STATUS_OK;
}

static enum status cells(struct work *w)
{
    struct interpolate_setup *out = w->out;
    const size_t n = w->request->n, n_curves = w->request->n_curves;
    size_t halvings;
    make_to_powers(w);
    STATUS_TRY(choose_halving(w, &halvings));
    if (halvings > HALVINGS) {
        out->cells = (struct interpolate_cells){0};
        out->why = INTERPOLATE_ROUGH;
        return STATUS_OK;
    }
    lay_out(w, half_of(n, w->degree) << halvings);
    STATUS_TRY(make_cells(w, 1, &out->n_marked));
    return put(w, w->cell, n_curves * out->cells.n_cells * (w->degree + 3) * sizeof(double),
               &out->cells.cell);
}

/* --- all of it ------------------------------------------------------------------------------- */

/* Whether there are to be cells, and why. */
static bool wants_cells(const struct work *w, enum interpolate_why *why)
{
    const struct interpolate_request *r = w->request;
    if (r->n < 2 || !(w->x[r->n - 1] - w->x[0] >= 0x1p-960)) {
        *why = INTERPOLATE_NO_INTERVAL;
        return false;
    }
    if (r->method != INTERPOLATE_AUTO) {
        *why = INTERPOLATE_AS_ASKED;
        return r->method == INTERPOLATE_BY_CELLS;
    }
    const bool worth = interpolate_worth_cells(r->n, w->degree, r->n_queries);
    *why = worth ? INTERPOLATE_MANY_QUERIES : INTERPOLATE_FEW_QUERIES;
    return worth;
}

/* What is taken, in doubles: points that are surveyed at once, cells at most, terms, slopes. */
struct sizes {
    size_t points, cells, terms, slopes;
};

static struct sizes sizes_of(enum interpolate_method method, size_t n, size_t n_curves,
                             size_t degree)
{
    if (has_pieces(method)) {
        return (struct sizes){.cells = n_curves * n * (INTERPOLATE_CUBIC + 3),
                              .slopes = INTERPOLATE_PIECES_ROOM * n};
    }
    const bool may_have_cells = method == INTERPOLATE_AUTO || method == INTERPOLATE_BY_CELLS;
    const size_t cells = n_curves * (half_of(n, degree) << (HALVINGS + 1)) * (degree + 3);
    return (struct sizes){.points = survey_points(n_curves),
                          .cells = may_have_cells ? cells : 0,
                          .terms = n * (n_curves + 1)};
}

/* Doubles of the cells of n nodes or fewer: a little fewer nodes can have more. */
static size_t most_cells(enum interpolate_method method, size_t n, size_t n_curves)
{
    const size_t from[] = {n, NODES_OF_11, NODES_OF_7};
    size_t most = 0;
    for (size_t i = 0; i < sizeof from / sizeof *from; ++i) {
        const size_t m = from[i] < n ? from[i] : n;
        const size_t cells = sizes_of(method, m, n_curves, interpolate_degree(m)).cells;
        most = cells > most ? cells : most;
    }
    return most;
}

struct interpolate_setup_bytes interpolate_setup_bytes(enum interpolate_method method, size_t n,
                                                       size_t n_curves)
{
    const struct sizes s = sizes_of(method, n, n_curves, interpolate_degree(n));
    const size_t cell_doubles = most_cells(method, n, n_curves);
    const size_t points = s.points * (3 + 3 * n_curves) * sizeof(double) + s.slopes * 8;
    const size_t nodes = n * (1 + n_curves) * sizeof(double) + s.terms * (2 * sizeof(double) + 4);
    const size_t alignment = (size_t)16 * 4096;
    return (struct interpolate_setup_bytes){nodes + n * sizeof(struct place) + n * 4 + points +
                                                cell_doubles * 8 + sizeof(struct work) + alignment,
                                            nodes + points + cell_doubles * 8 + alignment,
                                            nodes + cell_doubles * 8 + alignment};
}

static enum status take_room(struct work *w)
{
    const size_t n = w->request->n, n_curves = w->request->n_curves;
    const struct sizes s = sizes_of(w->request->method, n, n_curves, w->degree);
    struct room *const room = &w->room;
    STATUS_TRY(room_host(&w->out->kept, n, sizeof *w->x, &w->x));
    STATUS_TRY(room_host(&w->out->kept, n_curves * n, sizeof *w->value, &w->value));
    STATUS_TRY(room_host(room, n, sizeof *w->place, &w->place));
    STATUS_TRY(room_host(room, s.terms, sizeof *w->term_hi, &w->term_hi));
    STATUS_TRY(room_host(room, s.terms, sizeof *w->term_lo, &w->term_lo));
    STATUS_TRY(room_host(room, s.terms, sizeof *w->exponent, &w->exponent));
    STATUS_TRY(room_host(room, s.slopes, sizeof *w->slope, &w->slope));
    STATUS_TRY(room_host(room, s.points, sizeof *w->point_hi, &w->point_hi));
    STATUS_TRY(room_host(room, s.points, sizeof *w->point_lo, &w->point_lo));
    STATUS_TRY(room_host(room, n_curves * s.points, sizeof *w->hi, &w->hi));
    STATUS_TRY(room_host(room, n_curves * s.points, sizeof *w->lo, &w->lo));
    STATUS_TRY(room_host(room, (n_curves + 1) * s.points, sizeof *w->condition, &w->condition));
    STATUS_TRY(room_host(room, n, sizeof *w->cell_of, &w->cell_of));
    STATUS_TRY(room_host(room, s.cells, sizeof *w->cell, &w->cell));
    w->out->x = w->x;
    w->out->y = w->value;
    return STATUS_OK;
}

/* --- pieces ---------------------------------------------------------------------------------- */

static enum status pieces(struct work *w)
{
    const struct interpolate_request *const r = w->request;
    const size_t n = r->n, width = INTERPOLATE_CUBIC + 3;
    struct interpolate_setup *const out = w->out;
    out->nodes.n = n;
    out->nodes.n_curves = r->n_curves;
    out->lebesgue = (double)NAN;
    out->cells = (struct interpolate_cells){
        .n_cells = n, .degree = INTERPOLATE_CUBIC, .begin = w->x[0], .end = w->x[n - 1]};
    for (size_t c = 0; c < r->n_curves; ++c) {
        STATUS_TRY(interpolate_pieces(r->method == INTERPOLATE_SPLINE, n, w->x, w->value + c * n,
                                      w->slope, w->cell + c * n * width));
        STATUS_TRY(queue_check(w->q));
    }
    return put(w, w->cell, r->n_curves * n * width * sizeof(double), &out->cells.cell);
}

/* --- memory ---------------------------------------------------------------------------------- */

static enum status take_survey(struct work *w)
{
    const size_t n = survey_points(w->request->n_curves), n_curves = w->request->n_curves;
    struct interpolate_survey *const s = &w->survey;
    STATUS_TRY(room_span(&w->room, n, sizeof(double), &s->point_hi));
    STATUS_TRY(room_span(&w->room, n, sizeof(double), &s->point_lo));
    STATUS_TRY(room_span(&w->room, n, n_curves * sizeof(double), &s->hi));
    STATUS_TRY(room_span(&w->room, n, n_curves * sizeof(double), &s->lo));
    return room_span(&w->room, n, (n_curves + 1) * sizeof(double), &s->condition);
}

static enum status set_up(struct work *w)
{
    STATUS_TRY(take_room(w));
    STATUS_TRY(sort(w));
    if (has_pieces(w->request->method)) {
        return pieces(w);
    }
    STATUS_TRY(weigh(w));
    STATUS_TRY(put_nodes(w));
    STATUS_TRY(take_survey(w));
    STATUS_TRY(lebesgue(w));
    STATUS_TRY(wants_cells(w, &w->out->why) ? cells(w) : STATUS_OK);
    if (w->out->method != INTERPOLATE_FLOATER_HORMANN) {
        w->out->method = w->out->cells.n_cells > 0 ? INTERPOLATE_BY_CELLS : INTERPOLATE_BARYCENTRIC;
    }
    return STATUS_OK;
}

enum status interpolate_setup_new(struct queue *q, const struct interpolate_request *request,
                                  struct interpolate_setup *out)
{
    const size_t n = request->n;
    const bool blends = request->method == INTERPOLATE_FLOATER_HORMANN;
    const size_t degree = blends ? 0 : request->degree;
    *out = (struct interpolate_setup){.kept = {.queue = q}};
    const size_t most = interpolate_most_nodes(request->method);
    if (n < 1 || n > most || request->n_curves < 1) {
        return status_fail(STATUS_BAD_INPUT,
                           "%zu nodes of %zu curves; between 1 and %zu nodes are needed", n,
                           request->n_curves, most);
    }
    if (degree != 0 && (degree < INTERPOLATE_LEAST_DEGREE || degree > INTERPOLATE_MOST_DEGREE ||
                        degree % 2 == 0)) {
        return status_fail(STATUS_BAD_ARGUMENT, "cells of degree %zu; odd, %d to %d", degree,
                           INTERPOLATE_LEAST_DEGREE, INTERPOLATE_MOST_DEGREE);
    }
    const size_t own = blends                        ? request->degree
                       : has_pieces(request->method) ? INTERPOLATE_CUBIC
                                                     : n;
    const bool are_two = request->method == INTERPOLATE_PCHIP && n == 3; /* cubics, no parabola */
    out->method = request->method;
    out->degree = own < n || are_two ? own : n - 1;
    out->nodes.is_rational = blends;
    struct work w = {.q = q,
                     .room = {.queue = q},
                     .ops = q->backend->ops,
                     .request = request,
                     .out = out,
                     .degree = degree != 0 ? degree : interpolate_degree(n)};
    const enum status st = set_up(&w);
    room_free(&w.room);
    return st;
}

void interpolate_setup_release(struct interpolate_setup *s)
{
    room_free(&s->kept);
}
