/*
 * sciddicat_guess_rule - the end of the rounds (sciddicat_rule.h) from a guess at it: the same
 * bits, in one evaluation where the rounds take three on average and five at worst. For one cell; C
 * and CUDA.
 *
 * m fills the five up to one level L: sum max(0, L - u_n) = m, and those with u_n < L are left. For
 * levels >= 0 a rounded average is within 6.1 u of the true one (u = 2^-53, six operations without
 * cancellation). While a set T is alive that holds all of those left, its average is at least
 * L + (sum of their excess u_n - L over the others) / 5, and at most w - (w - L) / 5, w being the
 * highest. Let a be the rounded average of the guess.
 *
 * Sure: members lie below a, others above, by more than 2^-45 a = 256 u a. So they do of the true
 * average, which is L. In the rounds no member dies, since averages are at least L; of the others
 * the highest does, since (w - L) / 5 > 6.1 u w. They end with the guess and with a. One member
 * alone may lie at a, its m being less than its last digit: it outlives the others as before, and
 * a is what the rounds judge it by.
 *
 * Near: with E = 2^-40 a, then 2^-30 a, members lie below a + E, others above a - E, and none
 * between a + E and a + 128 E. So |a - L| <= 6 E. In the rounds, while one from above 128 E lives,
 * averages are at least L + 23 E, and none from below a + E <= L + 7 E dies, but the highest does.
 * So they come to the set of those below a + E and can be begun with it; where it is the guess, a
 * is the first average. Debris that has levelled out is near in every step: that set is the next
 * step's guess.
 *
 * Else those below a are the next guess; after three, the rounds begin with all. Without a guess
 * the lowest is one.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_SCIDDICAT_GUESS_RULE_H
#define LEAT_KERNELS_SCIDDICAT_SCIDDICAT_GUESS_RULE_H

#include "kernels/sciddicat/sciddicat_rule.h"

#include <stdint.h>
#include <string.h>

enum { SCIDDICAT_ALL = (1 << SCIDDICAT_SEEN) - 1, SCIDDICAT_BINADE = 1 << 20 };

/* The high word: sign, exponent, 20 bits. As an integer it grows with the number, if that is >= 0.
 */
SCIDDICAT_RULE int32_t sciddicat_high(double x)
{
#ifdef __CUDA_ARCH__
    return __double2hiint(x);
#else
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (int32_t)(bits >> 32);
#endif
}

/* The average a of m over the set; above[n] gets a - u_n. */
SCIDDICAT_RULE double sciddicat_average_of(double m, const double *u, unsigned set, double *above)
{
    bool tiny = false;
    int n_set = 0;
    double sum = m;
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        const bool member = (set >> n & 1) != 0;
        sum = sciddicat_add_alive(sum, member, u[n]);
        n_set += member ? 1 : 0;
    }
    const double a = sciddicat_mean(sum, n_set, false, &tiny);
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        above[n] = sciddicat_subtract(a, u[n]);
    }
    return a;
}

/* Sure, for the high word of a. Words decide alone: they never say more than the numbers. */
SCIDDICAT_RULE bool sciddicat_sure(const double *above, unsigned set, int32_t a)
{
    const unsigned alone = (set & (set - 1)) == 0 ? set : 0;
    bool sure = true;
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        const int32_t other_sign = (int32_t)(~(set << (31 - n)) & 0x80000000u);
        const bool clear = (sciddicat_high(above[n]) ^ other_sign) > a - 45 * SCIDDICAT_BINADE;
        sure = sure && (clear || (alone >> n & 1) != 0);
    }
    return sure;
}

/* Near, with E = 2^-bits a: the set to begin with; 0: no. */
SCIDDICAT_RULE unsigned sciddicat_near(const double *above, unsigned set, int32_t a, int bits)
{
    const int32_t e = a - bits * SCIDDICAT_BINADE;
    unsigned start = set;
    bool near = true;
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        const int32_t high = sciddicat_high(above[n]), size = high & 0x7fffffff;
        const bool close = size < e, member = (set >> n & 1) != 0;
        const bool far = size > e + 7 * SCIDDICAT_BINADE;
        start |= close ? 1u << n : 0u;
        /* Without branches, which cost lanes that decide together more than the words. */
        near &= close | (((high < 0) ^ member) & (far | member));
    }
    return near ? start : 0;
}

/* Bit n: a is above u_n. a >= 2^-800, so that of the differences only 0 has no high word. */
SCIDDICAT_RULE unsigned sciddicat_lower(const double *above)
{
    unsigned lower = 0;
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        lower |= sciddicat_high(above[n]) > 0 ? 1u << n : 0u;
    }
    return lower;
}

/* The flows of a cell, which sees levels >= 0, or HUGE_VAL of cells that do not accept, where the
 * guess `set` of others is sure; false elsewhere. by: 1 / n and n, of as many as the set has.
 * *lower: those below the average, a better guess. No branches, so that cells can be taken side by
 * side. */
SCIDDICAT_RULE bool sciddicat_flows_if_sure(double m, const double *u, double r, unsigned set,
                                            const double *by, double *flow, unsigned *lower)
{
    double above[SCIDDICAT_SEEN], sum = m;
    int32_t least = INT32_MAX, signs = 0;
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        sum = sciddicat_add_alive(sum, (set >> n & 1) != 0, u[n]);
        signs |= sciddicat_high(u[n]);
    }
    const double a = sciddicat_mean_by(sum, by);
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        const bool member = (set >> n & 1) != 0;
        above[n] = sciddicat_subtract(a, u[n]);
        const int32_t high = sciddicat_high(above[n]), clear = member ? high : high ^ INT32_MIN;
        least = clear < least ? clear : least;
        if (n > 0) {
            flow[n - 1] = sciddicat_keep(member, sciddicat_multiply(above[n], r));
        }
    }
    const int32_t high = sciddicat_high(a);
    *lower = sciddicat_lower(above);
    return signs >= 0 && high >= 223 * SCIDDICAT_BINADE && least > high - 45 * SCIDDICAT_BINADE;
}

SCIDDICAT_RULE unsigned sciddicat_lowest(const double *u)
{
    unsigned lowest = 1;
    double level = u[0];
    for (int n = 1; n < SCIDDICAT_SEEN; ++n) {
        lowest = u[n] < level ? 1u << n : lowest;
        level = u[n] < level ? u[n] : level;
    }
    return lowest;
}

/* The flows to N, W, E, S of a cell that emits m = h - eps and sees u. A bit n stands for u_n.
 * accepts: which are alive at the start, the cell itself among them. *guess: which will be left, or
 * 0; then a guess for the next step. */
SCIDDICAT_RULE void sciddicat_flows_from(double m, const double *u, double r, unsigned accepts,
                                         unsigned *guess, double *flow)
{
    int32_t signs = accepts == SCIDDICAT_ALL ? 0 : -1;
    unsigned set = *guess != 0 ? *guess : sciddicat_lowest(u), start = 0, begin = accepts;
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        signs |= sciddicat_high(u[n]);
    }
    for (int tries = signs >= 0 ? 3 : 0; tries > 0 && set != 0 && start == 0; --tries) {
        double above[SCIDDICAT_SEEN];
        const double a = sciddicat_average_of(m, u, set, above);
        const int32_t high = sciddicat_high(a);
        if (high < 223 * SCIDDICAT_BINADE) {
            break; /* below 2^-800: remainders might underflow */
        }
        bool ended = sciddicat_sure(above, set, high);
        const unsigned lower = sciddicat_lower(above);
        if (!ended) {
            start = sciddicat_near(above, set, high, tries == 3 ? 40 : 30);
            ended = start == set && (set & ~lower) == 0;
        }
        if (ended) {
            *guess = set;
            for (int n = 0; n < SCIDDICAT_SEEN - 1; ++n) {
                flow[n] = sciddicat_keep((lower >> (n + 1) & 1) != 0,
                                         sciddicat_multiply(above[n + 1], r));
            }
            return;
        }
        begin = start == 0 ? accepts : start == set ? set & lower : start;
        set = lower;
    }
    sciddicat_mask alive[SCIDDICAT_SEEN];
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        alive[n] = (begin >> n & 1) != 0;
    }
    const double average = sciddicat_average(m, u, alive);
    for (int n = 0; n < SCIDDICAT_SEEN - 1; ++n) {
        flow[n] = sciddicat_flow(alive[n + 1], average, u[n + 1], r);
    }
    *guess = start;
    for (int n = 0; n < SCIDDICAT_SEEN && start == 0; ++n) {
        *guess |= alive[n] ? 1u << n : 0u;
    }
}

#endif
