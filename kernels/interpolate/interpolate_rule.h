/*
 * interpolate_rule - one step of the barycentric form in double double, and a query's cell: one
 * text for C and for CUDA. Every operation is rounded on its own.
 *
 * The barycentric form, node after node, d_j = x - x_j, c_j the term of node j:
 *   sum <- sum d_j + product c_j,   product <- product d_j
 * ends with p(x) = sum_j c_j prod_(i /= j) d_i: no division, and nothing special near a node.
 * Factors are taken as m 2^e, 2 <= |m| < 4, so the product stays within 2^1 to 2^34 between
 * renormalisations, which come every INTERPOLATE_RENORMALISE nodes. The sum has an exponent of its
 * own, that of its largest term so far; what lies 2^-200 below is dropped.
 *
 * Error: x - x_j is exact, or off by 2^-105 of itself where x has a low part; a product of two
 * double doubles is off by 7 2^-106 of itself, a sum by 3 2^-106 of the sum of magnitudes
 * (M. Joldes, J.-M. Muller, V. Popescu, "Tight and rigorous error bounds for basic building blocks
 * of double-word arithmetic", 2017). A term meets n differences, products and sums, its weight
 * as many: 24 n 2^-106 < n 2^-101 of the condition in all; stated as n 2^-99.
 *
 * Without fused multiply-add a product's error comes from T. J. Dekker's splitting (1971): exact
 * likewise for these magnitudes, so the bits are the same.
 */
#ifndef LEAT_KERNELS_INTERPOLATE_INTERPOLATE_RULE_H
#define LEAT_KERNELS_INTERPOLATE_INTERPOLATE_RULE_H

#include "kernels/base/rounded_rule.h"

#ifdef __CUDACC__
#define INTERPOLATE_RULE __host__ __device__ static __inline__
#else
#define INTERPOLATE_RULE static inline __attribute__((always_inline))
#endif

/* The exponent of a term that is 0. */
#define INTERPOLATE_NOTHING (-(1 << 30))

enum { INTERPOLATE_RENORMALISE = 16 };

/* hi + lo, |lo| at most half a unit in the last place of hi. */
struct interpolate_pair {
    double hi, lo;
};

/* e with 2^e <= |x| < 2^(e + 1), of a normal number. */
INTERPOLATE_RULE int64_t interpolate_exponent(double x)
{
    return (int64_t)((uint64_t)rounded_bits(x) << 1 >> 53) - 1023;
}

/* --- double double --------------------------------------------------------------------------- */

/* a + b exactly (D. E. Knuth). */
INTERPOLATE_RULE struct interpolate_pair interpolate_two_sum(double a, double b)
{
    const double hi = rounded_add(a, b), of_b = rounded_add(hi, -a);
    const double lo = rounded_add(rounded_add(a, -rounded_add(hi, -of_b)), rounded_add(b, -of_b));
    const struct interpolate_pair r = {hi, lo};
    return r;
}

/* The same where |a| >= |b|, or a is 0. */
INTERPOLATE_RULE struct interpolate_pair interpolate_quick_sum(double a, double b)
{
    const double hi = rounded_add(a, b);
    const struct interpolate_pair r = {hi, rounded_add(b, -rounded_add(hi, -a))};
    return r;
}

/* a b exactly, where nothing under- or overflows. */
INTERPOLATE_RULE struct interpolate_pair interpolate_two_product(double a, double b)
{
    const double hi = rounded_multiply(a, b);
#if defined(__CUDA_ARCH__) || defined(__FMA__) || defined(__AVX512F__)
    const struct interpolate_pair r = {hi, rounded_fma(a, b, -hi)};
#else
    const double wide_a = a * 0x1.0000002p27, wide_b = b * 0x1.0000002p27;
    const double a_hi = wide_a - (wide_a - a), b_hi = wide_b - (wide_b - b);
    const double a_lo = a - a_hi, b_lo = b - b_hi;
    const struct interpolate_pair r = {hi, ((a_hi * b_hi - hi) + a_hi * b_lo + a_lo * b_hi) +
                                               a_lo * b_lo};
#endif
    return r;
}

INTERPOLATE_RULE struct interpolate_pair interpolate_pair_mul(struct interpolate_pair a,
                                                              struct interpolate_pair b)
{
    const struct interpolate_pair p = interpolate_two_product(a.hi, b.hi);
    const double cross = rounded_add(rounded_multiply(a.hi, b.lo), rounded_multiply(a.lo, b.hi));
    return interpolate_quick_sum(p.hi, rounded_add(p.lo, cross));
}

INTERPOLATE_RULE struct interpolate_pair interpolate_pair_add(struct interpolate_pair a,
                                                              struct interpolate_pair b)
{
    const struct interpolate_pair s = interpolate_two_sum(a.hi, b.hi);
    return interpolate_quick_sum(s.hi, rounded_add(s.lo, rounded_add(a.lo, b.lo)));
}

/* Both parts by a power of 2. */
INTERPOLATE_RULE struct interpolate_pair interpolate_pair_scale(struct interpolate_pair a,
                                                                double power)
{
    const struct interpolate_pair r = {rounded_multiply(a.hi, power),
                                       rounded_multiply(a.lo, power)};
    return r;
}

/* --- the barycentric form -------------------------------------------------------------------- */

/* product 2^exponent, sum 2^(exponent + above), magnitude likewise: of the sum's terms. */
struct interpolate_state {
    struct interpolate_pair product, sum;
    double magnitude;
    int64_t exponent, above;
};

INTERPOLATE_RULE struct interpolate_state interpolate_begin(void)
{
    const struct interpolate_state s = {{1, 0}, {0, 0}, 0, 0, INTERPOLATE_NOTHING};
    return s;
}

/* x - x_j as m 2^(*exponent), 2 <= |m| < 4; 0 gives what is not used. */
INTERPOLATE_RULE struct interpolate_pair interpolate_distance(struct interpolate_pair x,
                                                              double node, int64_t *exponent)
{
    struct interpolate_pair d = interpolate_two_sum(x.hi, -node);
    d = interpolate_quick_sum(d.hi, rounded_add(d.lo, x.lo));
    const int64_t more =
        -(int64_t)((rounded_bits(d.hi) & INT64_MAX) < ((int64_t)(1023 - 960) << 52)) & 128;
    d = interpolate_pair_scale(d, rounded_power(more));
    const int64_t e = interpolate_exponent(d.hi) - 1;
    *exponent = e - more;
    return interpolate_pair_scale(d, rounded_power(-e));
}

/* 2^e for e <= 0, or 0 where that is below 2^-200. */
INTERPOLATE_RULE double interpolate_shift(int64_t e)
{
    const int64_t kept = -(int64_t)(e >= -200);
    return rounded_of_bits((int64_t)((uint64_t)(e + 1023) << 52) & kept);
}

/* One node more. The magnitude is kept where it is asked for. */
INTERPOLATE_RULE void interpolate_step(struct interpolate_state *s, struct interpolate_pair x,
                                       double node, struct interpolate_pair term,
                                       int64_t term_exponent, int with_magnitude)
{
    int64_t e;
    const struct interpolate_pair m = interpolate_distance(x, node, &e);
    const int64_t of_term = term_exponent - e;
    const int64_t above = s->above > of_term ? s->above : of_term;
    const double keep = interpolate_shift(s->above - above);
    const double take = interpolate_shift(of_term - above);
    const struct interpolate_pair old =
        interpolate_pair_scale(interpolate_pair_mul(s->sum, m), keep);
    const struct interpolate_pair more =
        interpolate_pair_scale(interpolate_pair_mul(s->product, term), take);
    s->sum = interpolate_pair_add(old, more);
    if (with_magnitude) {
        s->magnitude = rounded_add(
            rounded_multiply(rounded_multiply(s->magnitude, fabs(m.hi)), keep), fabs(more.hi));
    }
    s->product = interpolate_pair_mul(s->product, m);
    s->exponent += e;
    s->above = above;
}

/* After every INTERPOLATE_RENORMALISE nodes. */
INTERPOLATE_RULE void interpolate_renormalise(struct interpolate_state *s)
{
    const int64_t e = interpolate_exponent(s->product.hi);
    const double power = rounded_power(-e);
    s->product = interpolate_pair_scale(s->product, power);
    s->sum = interpolate_pair_scale(s->sum, power);
    s->magnitude = rounded_multiply(s->magnitude, power);
    s->exponent += e;
}

/* x 2^e of any e. */
INTERPOLATE_RULE double interpolate_scaled(double x, int64_t e)
{
    e = e < -2400 ? -2400 : e > 2400 ? 2400 : e;
    const int64_t third = e / 3;
    return rounded_multiply(
        rounded_multiply(rounded_multiply(x, rounded_power(third)), rounded_power(third)),
        rounded_power(e - 2 * third));
}

/* p there: of a rational function over its denominator, a sum with the same product; NULL: of a
 * polynomial. */
INTERPOLATE_RULE double interpolate_value(const struct interpolate_state *s,
                                          const struct interpolate_state *below)
{
    return below == NULL ? interpolate_scaled(s->sum.hi, s->exponent + s->above)
                         : interpolate_scaled(rounded_divide(s->sum.hi, below->sum.hi),
                                              s->above - below->above);
}

/* The condition there; of a rational function's denominator relative to itself. */
INTERPOLATE_RULE double interpolate_condition(const struct interpolate_state *s, int is_rational)
{
    return is_rational ? rounded_divide(s->magnitude, fabs(s->sum.hi))
                       : interpolate_scaled(s->magnitude, s->exponent + s->above);
}

/* --- cells ----------------------------------------------------------------------------------- */

/*
 * A half of the interval has n_cells / 2 cells, bounded at (i / (n_cells / 2))^2 of the half's
 * length from its end: about as long as each other in the angle theta, x = cos theta, and so dense
 * near the ends as the polynomial may vary there. A cell's number comes from a float square root:
 * near a border a query may get the neighbour's, whose polynomial holds there too.
 */
struct interpolate_cell {
    int32_t number; /* from the left */
    double centre;
};

/* Of cell i from the begin, or from the end (right). */
INTERPOLATE_RULE double interpolate_centre(double begin, double end, double step, int right,
                                           int32_t i)
{
    const double at = rounded_add(rounded_multiply((double)i, rounded_add((double)i, 1.0)), 0.5);
    /* selected after both are there: no branch */
    const double from_begin = rounded_fma(at, step, begin);
    const double to_end = rounded_fma(-at, step, end);
    return right ? to_end : from_begin;
}

/* The cell of x, begin <= x <= end. */
INTERPOLATE_RULE struct interpolate_cell interpolate_place(double begin, double end, double inverse,
                                                           double step, int32_t n_cells, double x)
{
    const double from_begin = rounded_add(x, -begin), to_end = rounded_add(end, -x);
    const int right = to_end < from_begin;
    const float share = (float)rounded_multiply(right ? to_end : from_begin, inverse);
    const int32_t of_half = n_cells / 2;
#ifdef __CUDA_ARCH__
    int32_t i = (int32_t)__fmul_rn(__fsqrt_rn(share), (float)of_half);
#else
    int32_t i = (int32_t)(sqrtf(share) * (float)of_half);
#endif
    i = i < of_half - 1 ? i : of_half - 1;
    const struct interpolate_cell c = {right ? n_cells - 1 - i : i,
                                       interpolate_centre(begin, end, step, right, i)};
    return c;
}

/* Where in the cell x is: q's argument. */
INTERPOLATE_RULE double interpolate_argument(double centre, double scale, double x)
{
    return rounded_multiply(rounded_add(x, -centre), scale);
}

/* p by the cell's numbers: f_j, x_j, q; NaN of a marked one. */
INTERPOLATE_RULE double interpolate_in_cell(const double *cell, int degree, double argument,
                                            double x)
{
    double q = cell[2 + degree];
    for (int k = degree - 1; k >= 0; --k) {
        q = rounded_fma(q, argument, cell[2 + k]);
    }
    return rounded_fma(rounded_add(x, -cell[1]), q, cell[0]);
}

/* --- pieces ---------------------------------------------------------------------------------- */

enum { INTERPOLATE_PIECE = 6 }; /* doubles */

/* The last of n pieces that begins at x or before it; the first where none does. */
INTERPOLATE_RULE const double *interpolate_piece_of(const double *piece, size_t n, double x)
{
    while (n > 1) {
        const size_t before = n / 2;
        const double *const middle = piece + before * INTERPOLATE_PIECE;
        piece = middle[1] <= x ? middle : piece;
        n -= before;
    }
    return piece;
}

INTERPOLATE_RULE double interpolate_in_piece(const double *piece, double x)
{
    const double t = rounded_multiply(rounded_add(x, -piece[1]), piece[2]);
    const double q = rounded_fma(rounded_fma(piece[5], t, piece[4]), t, piece[3]);
    return rounded_fma(t, q, piece[0]);
}

#endif
