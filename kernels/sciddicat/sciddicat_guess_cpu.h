/*
 * sciddicat_guess_cpu - the end of the rounds (sciddicat_rule.h) from those that were left in the
 * cell's last rounds, its guess G: one evaluation, the same bits. For the vectors that are defined
 * before this header.
 *
 * Let a be the rounded average over G, A the true one. As no level is below 0, a rounded average is
 * right to 6.1 u of itself (u = 2^-53; six operations without cancellation). The guess holds where
 *   - the others, if there are any, lie above a by more than 2^-45 a = 256 u a;
 *   - all members lie below a, or none does.
 * Then no member lies above A + 25 u A: all are below a, or all are at least a >= A - 6.1 u A,
 * while their distances to A add up to -m. Let the rounds come to G and others, up to w, the
 * highest. The true average of them is at least A + (w' - A) / 5 > A + 49 u A, w' being the lowest
 * of the others, so no member dies; and it is at most w - (w - A) / 5, so w dies. In the end G is
 * left, and its average, added up in the same order, is a. If all members lie below a, the rounds
 * end with it. If none does, all die, and nothing flows: debris so thin that it does not raise a
 * level by its last digit, on a landslide that comes to rest a third of what emits.
 *
 * sciddicat_guess_rule.h is the form for one cell that CUDA uses.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_SCIDDICAT_GUESS_CPU_H
#define LEAT_KERNELS_SCIDDICAT_SCIDDICAT_GUESS_CPU_H

#include "kernels/sciddicat/sciddicat_rule.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* True when the guess of all lanes that emit holds; then `alive`, which comes in as for the rounds,
 * goes out as they would leave it. */
VECTOR_INLINE bool guess_holds(sciddicat_real m, const sciddicat_real *u, const uint8_t *guess,
                               sciddicat_mask *alive, sciddicat_real *average)
{
    sciddicat_mask set[SCIDDICAT_SEEN];
    sciddicat_real sum = m, most = vector_all(0), least = vector_all(INFINITY), others = least;
    bool tiny = false;
    const sciddicat_number number = vector_of_guess(guess, set);
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        sum = sciddicat_add_alive(sum, set[n], u[n]);
        most = vector_most(most, set[n], u[n]);
        least = vector_least(least, set[n], u[n]);
        others = vector_least(others, vector_but(alive[n], set[n]), u[n]);
    }
    const sciddicat_real a = sciddicat_mean(sum, number, false, &tiny);
    const sciddicat_mask flows = vector_greater(a, most);
    const sciddicat_mask one = vector_or(flows, vector_up_to(a, least));
    const sciddicat_mask apart =
        vector_greater(sciddicat_subtract(others, a), sciddicat_multiply(a, vector_all(0x1p-45)));
    /* No guess, levels below 0, or such that remainders underflow. */
    const sciddicat_mask sound =
        vector_and(vector_greater(a, vector_all(0x1p-800)), vector_up_to(vector_all(0), least));
    if (vector_any(vector_but(alive[0], vector_and(vector_and(one, apart), sound)))) {
        return false;
    }
    const sciddicat_mask moves = vector_and(alive[0], flows);
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        alive[n] = vector_and(set[n], moves);
    }
    *average = a;
    return true;
}

/* A byte of 0 or 1 for each of eight bits. */
VECTOR_INLINE uint64_t guess_spread(unsigned bits)
{
    const uint64_t one_each = bits * 0x0101010101010101u & 0x8040201008040201u;
    return (one_each + 0x7f7f7f7f7f7f7f7fu) >> 7 & 0x0101010101010101u;
}

/* The next guess: those left; where nobody is, those at the lowest level, to 2^-44 of it. A byte a
 * cell: how many they are, and bit 3 + n for u_n. */
VECTOR_INLINE void guess_keep(const sciddicat_mask *start, const sciddicat_mask *left,
                              const sciddicat_real *u, uint8_t *guess)
{
    sciddicat_real lowest = u[0];
    sciddicat_mask some = left[0];
    for (int n = 1; n < SCIDDICAT_SEEN; ++n) {
        lowest = vector_least(lowest, start[n], u[n]);
        some = vector_or(some, left[n]);
    }
    lowest = sciddicat_add(lowest, sciddicat_multiply(lowest, vector_all(0x1p-44)));
    uint64_t cells = 0;
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        const sciddicat_mask low = vector_and(start[n], vector_up_to(u[n], lowest));
        const sciddicat_mask kept = vector_or(left[n], vector_but(low, some));
        cells += guess_spread(vector_bits(kept)) * ((8u << n) + 1);
    }
    memcpy(guess, &cells, sizeof cells);
}

#endif
