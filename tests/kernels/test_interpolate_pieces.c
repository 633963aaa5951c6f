/*
 * test_interpolate_pieces - splines and PCHIP curves against slopes by their definitions in
 * quadruple precision, on the backend LEAT_TEST_BACKEND.
 * ctest: small=watched optimize
 */
#include "tests/support/interpolate_runner.h"

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
    interpolate_setup_release(&s);
    free(d);
    free(got);
    drop(&p);
}

TEST(pieces_hold_the_bound)
{
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
    interpolate_setup_release(&s);
    free(at);
    return got;
}

TEST(pchip_stays_within_its_neighbours)
{
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

TEST(pieces_serve_values_near_the_ends_of_the_doubles)
{
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

TEST(a_hundred_thousand_nodes_make_a_spline)
{
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

int main(void)
{
    return UNDER_TEST_RUN(NULL, NULL);
}
