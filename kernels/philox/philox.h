/*
 * philox - measurement series that look like measurements, from a counter-based generator.
 *
 * Every series starts at `start`; each sample varies the one before it by a uniform fraction in
 * [-epsilon, +epsilon]:   v[0] = start,   v[t] = v[t-1] * (1 + epsilon * u[t]),   t >= 1
 *   u[t] = 2 * (w + 0.5) / 2^32 - 1
 * where w is the t-th 32-bit word of Philox4x32-10 (J. K. Salmon and others, "Parallel random
 * numbers: as easy as 1, 2, 3", 2011) as cuRAND gives it after curand_init(seed, series, 0): key =
 * seed (low, high word), counter = (t / 4 as 64 bits, series as 64 bits), word t % 4.
 * Computed in double without fused multiply-add; an f32 sample is the double rounded once, and the
 * walk goes on from the double. Both backends give the same bits.
 */
#ifndef LEAT_KERNELS_PHILOX_PHILOX_H
#define LEAT_KERNELS_PHILOX_PHILOX_H

#include "kernels/backend.h"

struct philox_walk {
    uint64_t seed;
    double start, epsilon; /* epsilon in [0, 1) */
};

struct philox_kernels {
    /* Fills the rows of `out`; series `first` of them is the walk's series of that number. */
    enum status (*walk_rows)(struct queue *q, const struct philox_walk *walk,
                             const struct series_rows *out) STATUS_MUST_CHECK;
};

#endif
