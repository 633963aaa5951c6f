/*
 * sciddicat_guess - the end of the rounds (sciddicat_rule.h) from a guess at it: the same bits, in
 * one evaluation where the rounds take three on average and five at worst. For one cell whose four
 * neighbours all take part; C and CUDA.
 *
 * m fills the five up to one level L: sum max(0, L - u_n) = m, and those with u_n < L are left. For
 * levels >= 0 a rounded average is within 6.1 u of the true one (u = 2^-53, six operations without
 * cancellation). While a set T is alive that holds all of those left, its average is at least
 * L + (sum of their excess u_n - L over the others) / 5, and at most w - (w - L) / 5, w being the
 * highest. Let a be the rounded average of the guess.
 *
 * Sure: members lie below a, others above, by more than 2^-45 a = 256 u a. So they do of the true
 * average, which is L. In the rounds no member dies, since averages are at least L; of the others
 * the highest does, since (w - L) / 5 > 6.1 u w. They end with the guess and with a.
 *
 * Near: with E = 2^-40 a or 2^-30 a, members lie below a + E, others above a - E, and none between
 * a + E and a + 128 E. So |a - L| <= 6 E. In the rounds, while one from above 128 E lives, averages
 * are at least L + 23 E, and none from below a + E <= L + 7 E dies, but the highest does. So they
 * come to the set of those below a + E and can be begun with it.
 *
 * Else those below a are the next guess; after three, the rounds begin with all.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_GUESS_H
#define LEAT_KERNELS_SCIDDICAT_GUESS_H

#include "kernels/sciddicat_rule.h"

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

/* The average of m over the set; *below gets a - u_n's high words. */
SCIDDICAT_RULE double sciddicat_average_of(double m, const double *u, unsigned set, int32_t *below)
{
    sciddicat_mask alive[SCIDDICAT_SEEN];
    bool tiny = false;
    double sum = m;
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        alive[n] = (set >> n & 1) != 0;
        sum = sciddicat_add_alive(sum, alive[n], u[n]);
    }
    const double a = sciddicat_mean(sum, sciddicat_count(alive), false, &tiny);
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        below[n] = sciddicat_high(sciddicat_subtract(a, u[n]));
    }
    return a;
}

/* Sure, for the high word of a. Words decide alone: they never say more than the numbers. */
SCIDDICAT_RULE bool sciddicat_sure(const int32_t *below, unsigned set, int32_t a)
{
    bool sure = true;
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        const int32_t other_sign = (int32_t)(~(set << (31 - n)) & 0x80000000u);
        sure = sure && (below[n] ^ other_sign) > a - 45 * SCIDDICAT_BINADE;
    }
    return sure;
}

/* Near, with E = 2^-bits a: the set to begin with; 0: no. */
SCIDDICAT_RULE unsigned sciddicat_near(const int32_t *below, unsigned set, int32_t a, int bits)
{
    const int32_t e = a - bits * SCIDDICAT_BINADE;
    unsigned start = set;
    bool near = true;
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        const int32_t size = below[n] & 0x7fffffff;
        const bool close = size < e, member = (set >> n & 1) != 0;
        const bool far = size > e + 7 * SCIDDICAT_BINADE;
        start |= close ? 1u << n : 0u;
        near = near && (close || (member ? below[n] >= 0 : below[n] < 0 && far));
    }
    return near ? start : 0;
}

/* sciddicat_average, all alive; *left: which will be left (bit 0: the cell, then N, W, E, S), or 0;
 * then those that are. */
SCIDDICAT_RULE double sciddicat_average_from(double m, const double *u, unsigned *left)
{
    int32_t signs = 0, below[SCIDDICAT_SEEN];
    unsigned set = *left, start = 0;
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        signs |= sciddicat_high(u[n]);
    }
    for (int tries = signs >= 0 ? 3 : 0; tries > 0 && set != 0 && start == 0; --tries) {
        const double a = sciddicat_average_of(m, u, set, below);
        const int32_t high = sciddicat_high(a);
        if (high < 223 * SCIDDICAT_BINADE) {
            break; /* below 2^-800: remainders might underflow */
        }
        if (sciddicat_sure(below, set, high)) {
            *left = set;
            return a;
        }
        start = sciddicat_near(below, set, high, 40);
        start = start != 0 ? start : sciddicat_near(below, set, high, 30);
        set = 0;
        for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
            set |= below[n] >= 0 ? 1u << n : 0u;
        }
    }
    start = start != 0 ? start : (unsigned)SCIDDICAT_ALL;
    sciddicat_mask alive[SCIDDICAT_SEEN];
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        alive[n] = (start >> n & 1) != 0;
    }
    const double average = sciddicat_average(m, u, alive);
    *left = 0;
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        *left |= alive[n] ? 1u << n : 0u;
    }
    return average;
}

#endif
