/*
 * kmeans_rule - the arithmetic of kmeans.h, number by number: one text for C and for CUDA, and the
 * same bits. Every operation rounds on its own, to nearest even.
 *
 * Sums. A number is cut into two integers, high and low (kmeans.h), and these are added up. The
 * mean of n numbers is their sum, an integer of up to 132 bits, divided by n in integers, with 96
 * bits behind the point and whether anything remains, which is rounded once.
 *
 * Draws. The key of a point is e / w, e = -log(u) and u an odd multiple of 2^-53 below 1, made of
 * the 52 highest bits of the generator's first two words. With u = m 2^j, m within a factor of
 * sqrt(2) of 1, and s = (m - 1) / (m + 1), log(m) = 2 (s + s^3 / 3 + s^5 / 5 + ...); |s| < 0.172,
 * so what is left out after s^23 is below 2^-63 of it.
 */
#ifndef LEAT_KERNELS_KMEANS_KMEANS_RULE_H
#define LEAT_KERNELS_KMEANS_KMEANS_RULE_H

#include "kernels/base/rounded_rule.h"
#include "kernels/kmeans/kmeans.h"
#include "kernels/philox/philox_rule.h"

/* d2 and the square of one more column. */
KMEANS_RULE double kmeans_add_column(double d2, double x, double centroid, double weight)
{
    const double t = rounded_multiply(rounded_subtract(x, centroid), weight);
    return rounded_fma(t, t, d2);
}

/* --- sums ------------------------------------------------------------------------------------ */

/* The unit of numbers of which none is larger: a power of two, `largest` <= 2^50 of them, and its
 * reciprocal is one, too. */
KMEANS_RULE double kmeans_unit(double largest)
{
    int exponent = 50;
    if (largest > 0 && largest < (double)INFINITY) {
        (void)frexp(largest, &exponent);
    }
    exponent -= 50;
    return rounded_power(exponent < -1022 ? -1022 : exponent);
}

struct kmeans_number {
    int64_t high, low;
};

/* Adding 1.5 * 2^52 rounds to an integer, which then is what the last bits are. */
#define KMEANS_TO_INTEGER 0x1.8p52

/* x in units, by the reciprocal of the unit; |x| <= 2^50 units. */
KMEANS_RULE struct kmeans_number kmeans_split(double x, double per_unit)
{
    const double units = rounded_multiply(x, per_unit),
                 high = rounded_add(units, KMEANS_TO_INTEGER);
    const double rest = rounded_subtract(units, rounded_subtract(high, KMEANS_TO_INTEGER));
    const double low = rounded_add(rounded_multiply(rest, 0x1p50), KMEANS_TO_INTEGER);
    const int64_t zero = rounded_bits(KMEANS_TO_INTEGER);
    const struct kmeans_number out = {rounded_bits(high) - zero, rounded_bits(low) - zero};
    return out;
}

/* A weight in units of a potential, by the reciprocal of the unit; at most 2^50 units. */
KMEANS_RULE int64_t kmeans_in_units(double weight, double per_unit)
{
    const double units = rounded_multiply(weight, per_unit);
    return rounded_bits(rounded_add(units, KMEANS_TO_INTEGER)) - rounded_bits(KMEANS_TO_INTEGER);
}

/* The unit of the next trials' potentials (kmeans.h): before the first ones; after others, of which
 * the best has this potential, off by half a unit for each of 2^31 points at most. */
KMEANS_RULE double kmeans_potential_unit(const struct kmeans_state *state, int64_t potential,
                                         bool tried)
{
    const double sum = (double)(potential + ((int64_t)1 << 30)), least = 0x1p-1022;
    const double unit = tried ? rounded_multiply(state->potential_unit, kmeans_unit(sum))
                              : rounded_multiply(state->inertia_unit, 0x1p19);
    return unit > least ? unit : least;
}

/* The words of a number, or of a sum of some thousand, as they are added to a sum's. The number
 * with the other sign has words that cancel these. */
KMEANS_RULE struct kmeans_sum kmeans_words(struct kmeans_number v)
{
    const int64_t high =
        (v.high + ((v.high < 0 ? -1 : 1) * ((int64_t)1 << 31))) / ((int64_t)1 << 32);
    const int64_t low = (v.low + ((v.low < 0 ? -1 : 1) * ((int64_t)1 << 31))) / ((int64_t)1 << 32);
    const struct kmeans_sum out = {{v.high - high * ((int64_t)1 << 32), high},
                                   {v.low - low * ((int64_t)1 << 32), low}};
    return out;
}

KMEANS_RULE void kmeans_sum_add(struct kmeans_sum *sum, struct kmeans_number v)
{
    const struct kmeans_sum w = kmeans_words(v);
    for (int i = 0; i < 2; i++) {
        sum->high[i] += w.high[i];
        sum->low[i] += w.low[i];
    }
}

/* The same value, the lower words in [0, 2^32). */
KMEANS_RULE struct kmeans_sum kmeans_normal(struct kmeans_sum s)
{
    const int64_t low = (int64_t)0xffffffff;
    const struct kmeans_sum out = {{s.high[0] & low, s.high[1] + (s.high[0] >> 32)},
                                   {s.low[0] & low, s.low[1] + (s.low[0] >> 32)}};
    return out;
}

enum { KMEANS_LIMBS = 8, KMEANS_FRACTION_LIMBS = 3 };

/* The sum's size, in 2^-50 units, the highest of five limbs of 32 bits first; true: it is negative.
 */
KMEANS_RULE bool kmeans_limbs(struct kmeans_sum s, uint32_t *limb)
{
    const struct kmeans_sum n = kmeans_normal(s);
    /* by 2^50: 18 bits above the next limb */
    const int64_t up = (int64_t)1 << 18, at2 = n.high[1] & (int64_t)0xffffffff;
    int64_t v = n.low[0];
    limb[4] = (uint32_t)v;
    v = n.low[1] + n.high[0] * up;
    limb[3] = (uint32_t)v;
    v = at2 * up + (v >> 32);
    limb[2] = (uint32_t)v;
    v = (n.high[1] >> 32) * up + (v >> 32);
    limb[1] = (uint32_t)v;
    v >>= 32;
    limb[0] = (uint32_t)v;
    if (v >= 0) {
        return false;
    }
    uint64_t carry = 1;
    for (int i = 4; i >= 0; i--) {
        carry += (uint32_t)~limb[i];
        limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return true;
}

/* A sum / n, rounded once (a second time where the result is subnormal); 0 < n <= 2^31. With n = 1:
 * the sum. */
KMEANS_RULE double kmeans_mean(struct kmeans_sum s, uint64_t n, double unit)
{
    uint32_t limb[KMEANS_LIMBS] = {0};
    const bool negative = kmeans_limbs(s, limb);
    uint64_t rest = 0;
    for (int i = 0; i < KMEANS_LIMBS; i++) {
        const uint64_t part = rest << 32 | limb[i];
        limb[i] = (uint32_t)(part / n);
        rest = part % n;
    }
    int first = 0;
    while (first < KMEANS_LIMBS && limb[first] == 0) {
        first++;
    }
    if (first > KMEANS_LIMBS - KMEANS_FRACTION_LIMBS) {
        return 0; /* the least that is not 0 is 2^96 / 2^31 */
    }
    int shift = 0;
    while ((limb[first] << shift >> 31) == 0) {
        shift++;
    }
    uint64_t top = ((uint64_t)limb[first] << 32 | limb[first + 1]) << shift;
    top |= (uint64_t)limb[first + 2] << shift >> 32;
    bool more = rest != 0 || (uint32_t)(limb[first + 2] << shift) != 0;
    for (int i = first + 3; i < KMEANS_LIMBS; i++) {
        more = more || limb[i] != 0;
    }
    top |= more ? 1 : 0; /* below the bit that decides */
    const int exponent = 32 * (KMEANS_LIMBS - 2 - first - KMEANS_FRACTION_LIMBS) - 50 - shift;
    const double v = rounded_multiply((double)top, rounded_power(exponent));
    return rounded_multiply(negative ? -v : v, unit);
}

/* The mean of points with masses, from their sum and that of the masses; 0 without any. */
KMEANS_RULE double kmeans_mass_mean(struct kmeans_sum s, double unit, double mass)
{
    return mass > 0 ? rounded_divide(kmeans_mean(s, 1, unit), mass) : 0;
}

/* --- draws ----------------------------------------------------------------------------------- */

/* u of the generator's words, exactly. */
KMEANS_RULE double kmeans_uniform(struct philox_words w)
{
    const uint64_t bits = (uint64_t)w.w[0] << 20 | w.w[1] >> 12;
    const double from_1 = rounded_of_bits((int64_t)((uint64_t)1023 << 52 | bits));
    return rounded_add(rounded_subtract(from_1, 1), 0x1p-53);
}

/* -log(u). */
KMEANS_RULE double kmeans_exponential(double u)
{
    const int64_t bits = rounded_bits(u), mantissa = bits & (((int64_t)1 << 52) - 1);
    int exponent = (int)(bits >> 52) - 1023;
    double m = rounded_of_bits((int64_t)1023 << 52 | mantissa);
    if (m > 0x1.6a09e667f3bcdp0) {
        m = rounded_multiply(m, 0.5);
        exponent++;
    }
    const double s = rounded_divide(rounded_subtract(m, 1), rounded_add(m, 1));
    const double z = rounded_multiply(s, s), twice = rounded_add(s, s);
    double series = 1.0 / 23;
    for (int i = 21; i >= 3; i -= 2) {
        series = rounded_fma(series, z, rounded_divide(1, i));
    }
    const double log_m = rounded_fma(rounded_multiply(twice, z), series, twice);
    return rounded_fma(-(double)exponent, 0x1.62e42fefa39efp-1, -log_m);
}

/* What kmeans_exponential(u) is above for certain: -log(u) >= 1 - u. */
KMEANS_RULE double kmeans_least_exponential(double u)
{
    return rounded_multiply(rounded_subtract(1, u), 1 - 0x1p-40);
}

/* True where the key of an exponential of at least so much is above `most` for certain. */
KMEANS_RULE bool kmeans_key_is_above(double least_exponential, double weight, double most)
{
    return least_exponential > rounded_multiply(most, weight);
}

/* --- picks ----------------------------------------------------------------------------------- */

/* Whether a point comes before what is picked: by less (draws) or more (farthest), then by number.
 */
KMEANS_RULE bool kmeans_before(double value, uint64_t point, double than, uint64_t than_point,
                               bool farthest)
{
    return than_point == UINT64_MAX || (farthest ? value > than : value < than) ||
           (value == than && point < than_point);
}

/* --- bounds ---------------------------------------------------------------------------------- */

/*
 * A point remembers its label, an upper bound of the distance to its own centroid, and its gap, by
 * how much every other centroid is farther at least. It keeps its label while
 *   gap > what its own centroid has moved since then and the most that any other one has, or
 *   upper + what its own centroid has moved < half the way from there to the nearest other one
 * (G. Hamerly, "Making k-means even faster", 2010). What has moved is added up from the beginning,
 * per cluster; a point keeps its bounds counted from there, so that nothing is written where it
 * stays. They are floats: out of their range, bounds spare nothing.
 *
 * All of it is rounded to the safe side. A computed d2 is off by (d + 4) 2^-53 of itself (two
 * roundings a difference, one a sum, no term is negative), and by less than 2^-1000 where squares
 * underflow; a distance by half as much and 2^-53. The computed comparison gives what the exact one
 * does if distances differ by four times that of the larger one, and 2^-498. The allowances below
 * are several times as large, and hold the roundings of the bounds themselves. A d2 that overflows
 * counts as 2^1022, so that one that has not overflowed is less if the bounds say so.
 */
enum kmeans_drift {
    KMEANS_DRIFT_GAP,   /* a gap above this has not been used up */
    KMEANS_DRIFT_LIMIT, /* an upper bound below this is within half the way */
    KMEANS_DRIFT_MOVED, /* what the centroid has moved */
    KMEANS_DRIFTS
};

struct kmeans_bounds {
    float gap, upper;
};

/* a + b, both >= 0, not rounded down. */
KMEANS_RULE double kmeans_drift_add(double a, double b)
{
    const double sum = rounded_add(a, b);
    return rounded_add(sum, rounded_multiply(sum, 0x1p-51));
}

/* The distance of a d2, not rounded down. */
KMEANS_RULE double kmeans_drift_of(double d2, size_t d)
{
    const double root = rounded_sqrt(d2);
    return rounded_add(rounded_add(root, rounded_multiply(root, ((double)d + 8) * 0x1p-52)),
                       0x1p-499);
}

/* From the d2 between a centroid and the nearest other one, and what it has moved. */
KMEANS_RULE double kmeans_drift_limit(double d2, double moved, size_t d)
{
    const double root = rounded_sqrt(d2),
                 half_way = root < 0x1p511 ? rounded_multiply(root, 0.5) : 0x1p510;
    const double slack = rounded_multiply(rounded_add(half_way, moved), ((double)d + 16) * 0x1p-50);
    return rounded_subtract(rounded_subtract(rounded_subtract(half_way, slack), 0x1p-497), moved);
}

/* A float at most x, or NaN. */
KMEANS_RULE float kmeans_float_below(double x)
{
    const double most = 0x1p127, in = x > most ? most : x;
    return (float)rounded_subtract(in, rounded_add(rounded_multiply(fabs(in), 0x1p-23), 0x1p-149));
}

/* What is remembered of a point with these two least d2, from its label's drifts. On CUDA
 * remember() of kmeans_pass_cuda.h takes its place, in floats. */
KMEANS_RULE struct kmeans_bounds kmeans_remember(double d2, double second_d2, double drift,
                                                 double moved, size_t d)
{
    const double most = 0x1p511, own = rounded_sqrt(d2), other = rounded_sqrt(second_d2);
    const double second = other < most ? other : most, each = ((double)d + 16) * 0x1p-50;
    const double slack = rounded_multiply(rounded_add(second, drift), each);
    const double gap =
        rounded_subtract(rounded_subtract(rounded_subtract(second, own), slack), 0x1p-497);
    const double upper = rounded_add(own, rounded_multiply(rounded_add(own, moved), each));
    const struct kmeans_bounds out = {kmeans_float_below(rounded_add(gap, drift)),
                                      -kmeans_float_below(rounded_subtract(moved, upper))};
    return out;
}

/* Without a branch: which of its bounds keeps a point is anybody's guess. */
KMEANS_RULE int kmeans_stays(float gap, float upper, double drift, double limit)
{
    return ((double)gap > drift) | ((double)upper < limit);
}

#endif
