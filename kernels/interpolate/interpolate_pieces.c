/*
 * interpolate_pieces - slopes at the nodes, and from them the cubics between two.
 *
 * h_j is a gap, s_j the slope of its chord, l_j = h_j / (h_(j-1) + h_j), m_j = 1 - l_j.
 *
 * Spline (not-a-knot: the first two pieces are one cubic, and the last two): its slopes d have
 *   l_j d_(j-1) + 2 d_j + m_j d_(j+1) = 3 (l_j s_(j-1) + m_j s_j),
 *   l_1 d_0 + d_1 = (m_1 + 2) l_1 s_0 + m_1^2 s_1, and the same from the other end.
 * The equations of the ends are taken from those beside them, which leaves d_1 to d_(n-2) with a
 * matrix whose diagonal dominates, for elimination without pivots. Three nodes have a parabola.
 *
 * PCHIP: 0 where the chords' slopes differ in sign, else their harmonic mean, weighted with
 * (1 + l_j) / 3 and (1 + m_j) / 3 (F. N. Fritsch, J. Butland, "A method for constructing local
 * monotone piecewise cubic interpolants", 1984); at the ends (1 + m) s_0 - m s_1, but 0 where that
 * has another sign than s_0, and at most 3 s_0 where the two chords' signs differ (C. Moler,
 * "Numerical computing with MATLAB", 2004). So no piece leaves the range of its nodes.
 *
 * All in double double, of x and y brought near 1 where they are very large or small, and rounded
 * at the end: a piece's numbers are off by a unit in the last place.
 */
#include "kernels/interpolate/interpolate_pieces.h"

#include "kernels/interpolate/interpolate_pair.h"

/* Exponents beyond which x and y are scaled. */
enum { FAR = 500 };

struct work {
    size_t n;
    const double *x, *y;
    int64_t of_x, of_y; /* exponents by which they are scaled */
    pair *slope;        /* [n] */
    pair *above;        /* [n]: the matrix above the diagonal, once eliminated */
};

static int64_t exponent_for(double most)
{
    const int64_t e = most > 0 ? ilogb(most) : 0;
    return e > FAR || e < -FAR ? -e : 0;
}

static pair mul(pair a, pair b)
{
    return interpolate_pair_mul(a, b);
}

static pair add(pair a, pair b)
{
    return interpolate_pair_add(a, b);
}

static pair times(pair a, double b)
{
    return mul(a, pair_of(b));
}

static pair gap(const struct work *w, size_t j)
{
    return pair_scaled(interpolate_two_sum(w->x[j + 1], -w->x[j]), w->of_x);
}

static pair chord(const struct work *w, size_t j)
{
    const pair rise = interpolate_two_sum(interpolate_scaled(w->y[j + 1], w->of_y),
                                          -interpolate_scaled(w->y[j], w->of_y));
    return mul(rise, pair_inverse(gap(w, j)));
}

/* What one of two gaps is of both. */
static pair share(pair of, pair other)
{
    return mul(of, pair_inverse(add(of, other)));
}

/* --- the spline ------------------------------------------------------------------------------ */

/* The equation of slope j, 0 < j < n - 1: left d_(j-1) + diagonal d_j + right d_(j+1) = value. */
struct equation {
    pair left, right, value;
    double diagonal;
};

static struct equation equation_of(const struct work *w, size_t j)
{
    const pair before = chord(w, j - 1), after = chord(w, j);
    const pair l = share(gap(w, j), gap(w, j - 1)), m = share(gap(w, j - 1), gap(w, j));
    struct equation e = {l, m, times(add(mul(l, before), mul(m, after)), 3), 2};
    if (j == 1) { /* less the first one */
        e.left = pair_of(0);
        e.diagonal -= 1;
        e.value = add(mul(mul(l, l), before), mul(mul(m, add(pair_of(2), l)), after));
    }
    if (j == w->n - 2) { /* less the last one */
        e.right = pair_of(0);
        e.diagonal -= 1;
        e.value = add(mul(mul(l, add(pair_of(2), m)), before), mul(mul(m, m), after));
    }
    return e;
}

/* From the end's own equation: `mine` and `next` are the gaps and chords from it on, `second` the
 * slope after it. */
static pair end_of_spline(pair mine, pair next, pair chord_mine, pair chord_next, pair second)
{
    const pair l = share(next, mine), m = share(mine, next);
    const pair value = add(mul(mul(add(m, pair_of(2)), l), chord_mine), mul(mul(m, m), chord_next));
    return mul(pair_less(value, second), pair_inverse(l));
}

static void slopes_of_spline(struct work *w)
{
    const size_t n = w->n;
    pair *const d = w->slope;
    if (n == 3) {
        const pair l = share(gap(w, 1), gap(w, 0)), m = share(gap(w, 0), gap(w, 1));
        d[1] = add(mul(l, chord(w, 0)), mul(m, chord(w, 1)));
        d[0] = pair_less(times(chord(w, 0), 2), d[1]);
        d[2] = pair_less(times(chord(w, 1), 2), d[1]);
        return;
    }
    for (size_t j = 1; j + 1 < n; ++j) {
        const struct equation e = equation_of(w, j);
        pair diagonal = pair_of(e.diagonal), value = e.value;
        if (j > 1) {
            diagonal = pair_less(diagonal, mul(e.left, w->above[j - 1]));
            value = pair_less(value, mul(e.left, d[j - 1]));
        }
        const pair inverse = pair_inverse(diagonal);
        w->above[j] = mul(e.right, inverse);
        d[j] = mul(value, inverse);
    }
    for (size_t j = n - 2; j-- > 1;) {
        d[j] = pair_less(d[j], mul(w->above[j], d[j + 1]));
    }
    d[0] = end_of_spline(gap(w, 0), gap(w, 1), chord(w, 0), chord(w, 1), d[1]);
    d[n - 1] =
        end_of_spline(gap(w, n - 2), gap(w, n - 3), chord(w, n - 2), chord(w, n - 3), d[n - 2]);
}

/* --- PCHIP ----------------------------------------------------------------------------------- */

static int sign_of(pair a)
{
    return (a.hi > 0) - (a.hi < 0);
}

static pair mean_slope(const struct work *w, size_t j)
{
    const pair before = chord(w, j - 1), after = chord(w, j), one = pair_of(1);
    const pair of_before = add(one, share(gap(w, j), gap(w, j - 1))),
               of_after = add(one, share(gap(w, j - 1), gap(w, j)));
    if (sign_of(before) * sign_of(after) <= 0) {
        return pair_of(0);
    }
    const bool flat_first = fabs(before.hi) <= fabs(after.hi); /* so that no ratio is large */
    const pair least = flat_first ? before : after, most = flat_first ? after : before;
    const pair ratio = mul(least, pair_inverse(most));
    const pair sum =
        flat_first ? add(of_before, mul(of_after, ratio)) : add(of_after, mul(of_before, ratio));
    return mul(times(least, 3), pair_inverse(sum));
}

static pair end_of_pchip(pair mine, pair next, pair chord_mine, pair chord_next)
{
    const pair m = share(mine, next);
    const pair d = pair_less(mul(add(pair_of(1), m), chord_mine), mul(m, chord_next));
    const pair most = times(chord_mine, 3);
    if (sign_of(d) != sign_of(chord_mine)) {
        return pair_of(0);
    }
    return sign_of(chord_mine) != sign_of(chord_next) && fabs(d.hi) > fabs(most.hi) ? most : d;
}

static void slopes_of_pchip(struct work *w)
{
    const size_t n = w->n;
    for (size_t j = 1; j + 1 < n; ++j) {
        w->slope[j] = mean_slope(w, j);
    }
    w->slope[0] = end_of_pchip(gap(w, 0), gap(w, 1), chord(w, 0), chord(w, 1));
    w->slope[n - 1] = end_of_pchip(gap(w, n - 2), gap(w, n - 3), chord(w, n - 2), chord(w, n - 3));
}

/* --- pieces ---------------------------------------------------------------------------------- */

static void put_piece(const struct work *w, size_t j, double scale, const pair q[3], double *piece)
{
    piece[0] = w->y[j];
    piece[1] = w->x[j];
    piece[2] = scale;
    for (size_t k = 0; k < 3; ++k) {
        piece[3 + k] = interpolate_scaled(q[k].hi, -w->of_y);
    }
}

/* The cubic from node j to the next, in t = (x - x_j) scale, t of about 1 to 2 at the next; and the
 * same from the last node on. */
static void make_piece(const struct work *w, size_t j, double *piece)
{
    const pair h = gap(w, j);
    int64_t of_scale = w->of_x - (h.hi > 0 ? ilogb(h.hi) : 0);
    of_scale = of_scale > 1000 ? 1000 : of_scale < -1000 ? -1000 : of_scale;
    const int64_t e = w->of_x - of_scale; /* of a slope by t */
    const pair width = pair_scaled(h, -e), inverse = pair_inverse(width);
    const pair first = pair_scaled(w->slope[j], e), last = pair_scaled(w->slope[j + 1], e),
               mean = pair_scaled(chord(w, j), e);
    const pair bend = pair_less(pair_less(times(mean, 3), times(first, 2)), last);
    const pair turn = pair_less(add(first, last), times(mean, 2));
    const pair q[3] = {first, mul(bend, inverse), mul(mul(turn, inverse), inverse)};
    const double scale = interpolate_scaled(1, of_scale);
    put_piece(w, j, scale, q, piece);
    if (j + 2 == w->n) {
        const pair end[3] = {last, add(q[1], times(mul(q[2], width), 3)), q[2]};
        put_piece(w, j + 1, scale, end, piece + 6);
    }
}

static bool is_finite(const double piece[6])
{
    return isfinite(piece[3]) && isfinite(piece[4]) && isfinite(piece[5]);
}

enum status interpolate_pieces(bool is_spline, size_t n, const double *x, const double *y,
                               double *room, double *piece)
{
    double most = 0;
    for (size_t j = 0; j < n; ++j) {
        most = fmax(most, fabs(y[j]));
    }
    struct work w = {.n = n,
                     .x = x,
                     .y = y,
                     .of_x = exponent_for(x[n - 1] - x[0]),
                     .of_y = exponent_for(most),
                     .slope = (pair *)room,
                     .above = (pair *)room + n};
    if (n == 1) {
        const pair flat[3] = {{0, 0}};
        put_piece(&w, 0, 1, flat, piece);
    } else if (n == 2) {
        w.slope[0] = w.slope[1] = chord(&w, 0);
    } else if (is_spline) {
        slopes_of_spline(&w);
    } else {
        slopes_of_pchip(&w);
    }
    for (size_t j = 0; j + 1 < n; ++j) {
        make_piece(&w, j, piece + 6 * j);
        if (!is_finite(piece + 6 * j)) {
            return status_fail(STATUS_BAD_INPUT,
                               "between x = %.17g and %.17g the curve is steeper than a double "
                               "holds; scale x or y",
                               x[j], x[j + 1]);
        }
    }
    return STATUS_OK;
}
