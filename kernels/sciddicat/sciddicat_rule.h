/*
 * sciddicat_rule - the transition of the automaton (sciddicat.h), once, for both backends.
 *
 * The types are those of one cell, in C and in CUDA; for a vector of cells, define SCIDDICAT_VECTOR
 * and the types and operations below before this header. Every operation rounds on its own.
 *
 * Adding 0 for a dead neighbour changes no bit: m > 0, so the sum is never -0. A round after the
 * last one that matters gives the same average again, so cells that are done wait for the others.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_SCIDDICAT_RULE_H
#define LEAT_KERNELS_SCIDDICAT_SCIDDICAT_RULE_H

#include "kernels/base/rounded_rule.h"

#include <stdbool.h>

#ifdef __CUDACC__
#define SCIDDICAT_RULE __host__ __device__ static __forceinline__
#else
#define SCIDDICAT_RULE static inline __attribute__((always_inline))
#endif

/* What a cell sees: itself, then N, W, E, S. */
enum { SCIDDICAT_SEEN = 5 };
enum sciddicat_side { SIDE_NORTH, SIDE_WEST, SIDE_EAST, SIDE_SOUTH, SIDES };

/* What a cell does: bits. */
enum sciddicat_kind {
    SCIDDICAT_LIVE = 1,    /* may emit and is updated */
    SCIDDICAT_ACCEPTS = 2, /* can be among the alive */
    SCIDDICAT_RING = 4
};

SCIDDICAT_RULE int sciddicat_kind_of(bool ring, bool nodata, bool wall)
{
    return ring ? SCIDDICAT_ACCEPTS | SCIDDICAT_RING
                : (nodata ? 0 : SCIDDICAT_LIVE) | (nodata && wall ? 0 : SCIDDICAT_ACCEPTS);
}

#ifndef SCIDDICAT_VECTOR

typedef double sciddicat_real;
typedef bool sciddicat_mask;
typedef int sciddicat_number; /* of neighbours alive */

SCIDDICAT_RULE sciddicat_real sciddicat_add(sciddicat_real a, sciddicat_real b)
{
    return rounded_add(a, b);
}

SCIDDICAT_RULE sciddicat_real sciddicat_subtract(sciddicat_real a, sciddicat_real b)
{
    return rounded_subtract(a, b);
}

SCIDDICAT_RULE sciddicat_real sciddicat_multiply(sciddicat_real a, sciddicat_real b)
{
    return rounded_multiply(a, b);
}

/* x where the mask is set, else 0. */
SCIDDICAT_RULE sciddicat_real sciddicat_keep(sciddicat_mask m, sciddicat_real x)
{
    return m ? x : 0.0;
}

/* sum + x where the mask is set. */
SCIDDICAT_RULE sciddicat_real sciddicat_add_alive(sciddicat_real sum, sciddicat_mask m,
                                                  sciddicat_real x)
{
    return m ? sciddicat_add(sum, x) : sum;
}

/* Those of m in which a is not at or below b. */
SCIDDICAT_RULE sciddicat_mask sciddicat_above(sciddicat_mask m, sciddicat_real a, sciddicat_real b)
{
    return m && !(a <= b);
}

SCIDDICAT_RULE sciddicat_number sciddicat_count(const sciddicat_mask *m)
{
    return ((m[0] ? 1 : 0) + (m[1] ? 1 : 0) + (m[2] ? 1 : 0)) + ((m[3] ? 1 : 0) + (m[4] ? 1 : 0));
}

SCIDDICAT_RULE bool sciddicat_differ(sciddicat_number a, sciddicat_number b)
{
    return a != b;
}

#ifdef __CUDACC__
/* 1 / n and n as doubles, n from 1 to 5, put together from bytes: a table is slow to read where
 * every lane wants another entry. The numbers: 3ff0.., 3fe0.., 3fd55555 55555555, 3fd0.., 3fc99999
 * 9999999a; 3ff0.., 4000.., 4008.., 4010.., 4014... */
__device__ static __forceinline__ double2 sciddicat_share(int n)
{
    const unsigned i = (unsigned)n - 1;
    const unsigned second = __byte_perm(0xd0d5e0f0u, 0xc9u, i) << 16;
    const unsigned rest = __byte_perm(0x00550000u, 0x99u, i * 0x1111u);
    const unsigned high = __byte_perm(rest, 0x3f000000u | (second & 0xff0000u), 0x7610);
    const unsigned whole = __byte_perm(0x100800f0u, 0x14u, i) & 0xffu;
    return make_double2(
        __hiloint2double((int)high, (int)(rest + (n == 5 ? 1u : 0u))),
        __hiloint2double((int)((n == 1 ? 0x3f000000u : 0x40000000u) | whole << 16), 0));
}
#endif

/*
 * sum / n, rounded once, without a division (P. Markstein, "IA-64 and elementary functions", 2000):
 * with r = 1 / n rounded and q = sum r, q + r (sum - q n) by fused operations is the rounded
 * quotient, as long as the remainder does not underflow; where it might, *tiny is set, and `divide`
 * has to be. None alive: anything, as nothing flows.
 */
SCIDDICAT_RULE double sciddicat_mean_by(double sum, const double *by)
{
#ifdef __CUDA_ARCH__
    const double q = __dmul_rn(sum, by[0]);
    return __fma_rn(__fma_rn(-q, by[1], sum), by[0], q);
#else
    return sum / by[1];
#endif
}

SCIDDICAT_RULE sciddicat_real sciddicat_mean(sciddicat_real sum, sciddicat_number n, bool divide,
                                             bool *tiny)
{
#ifdef __CUDA_ARCH__
    const double2 share = sciddicat_share(n);
    const double by[2] = {share.x, share.y};
    *tiny |= ((unsigned)__double2hiint(sum) << 1) < 0x0f600000u; /* below 2^-900 */
    return divide ? __ddiv_rn(sum, by[1]) : sciddicat_mean_by(sum, by);
#else
    (void)divide;
    (void)tiny;
    return n == 0 ? 0.0 : sum / n;
#endif
}

#endif

/* A. The average at which no more neighbours die; `alive` goes in as those that take part and comes
 * out as those that are left. m = h - eps of cells that emit; u as seen. */
SCIDDICAT_RULE sciddicat_real sciddicat_rounds(sciddicat_real m, const sciddicat_real *u,
                                               sciddicat_mask *alive, bool divide, bool *tiny)
{
    sciddicat_number n_alive, n_left = sciddicat_count(alive);
    sciddicat_real average;
    do {
        sciddicat_real sum = m;
        n_alive = n_left;
        for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
            sum = sciddicat_add_alive(sum, alive[n], u[n]);
        }
        average = sciddicat_mean(sum, n_alive, divide, tiny);
        for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
            alive[n] = sciddicat_above(alive[n], average, u[n]);
        }
        n_left = sciddicat_count(alive);
    } while (sciddicat_differ(n_left, n_alive));
    return average;
}

SCIDDICAT_RULE sciddicat_real sciddicat_average(sciddicat_real m, const sciddicat_real *u,
                                                sciddicat_mask *alive)
{
    const sciddicat_mask start[SCIDDICAT_SEEN] = {alive[0], alive[1], alive[2], alive[3], alive[4]};
    bool tiny = false;
    const sciddicat_real average = sciddicat_rounds(m, u, alive, false, &tiny);
    if (!__builtin_expect(tiny, 0)) {
        return average;
    }
    for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
        alive[n] = start[n];
    }
    return sciddicat_rounds(m, u, alive, true, &tiny);
}

/* The flow to a neighbour that is alive at the end, at level u. */
SCIDDICAT_RULE sciddicat_real sciddicat_flow(sciddicat_mask alive, sciddicat_real average,
                                             sciddicat_real u, sciddicat_real pr)
{
    return sciddicat_keep(alive, sciddicat_multiply(sciddicat_subtract(average, u), pr));
}

/* B. The new thickness; flows to and from N, W, E, S. */
SCIDDICAT_RULE sciddicat_real sciddicat_thickness(sciddicat_real h, const sciddicat_real *in,
                                                  const sciddicat_real *out)
{
    for (int n = 0; n < SCIDDICAT_SEEN - 1; ++n) {
        h = sciddicat_add(h, sciddicat_subtract(in[n], out[n]));
    }
    return h;
}

/* What a cell through which debris leaves the map has received so far. */
SCIDDICAT_RULE sciddicat_real sciddicat_received(sciddicat_real sum, const sciddicat_real *in)
{
    return sciddicat_add(sciddicat_add(sciddicat_add(sciddicat_add(sum, in[0]), in[1]), in[2]),
                         in[3]);
}

#endif
