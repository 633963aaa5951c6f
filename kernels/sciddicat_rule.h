/*
 * sciddicat_rule - the transition of the automaton (sciddicat.h), once, for both backends.
 *
 * It is written for lanes that decide together. Here a lane is one cell, in C and in CUDA; who
 * wants several at a time defines SCIDDICAT_LANES and gives the types and operations below for
 * them, before this header. Every operation rounds on its own.
 *
 * Adding 0 for a dead neighbour changes no bit: m > 0, so the sum is never -0. A round after the
 * last one that matters gives the same average again, so lanes that are done wait for the others.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_RULE_H
#define LEAT_KERNELS_SCIDDICAT_RULE_H

#ifdef __CUDACC__
#define SCIDDICAT_RULE __host__ __device__ static __forceinline__
#else
#define SCIDDICAT_RULE static inline __attribute__((always_inline))
#endif

/* What a cell sees: itself, then N, W, E, S. */
enum { SCIDDICAT_SEEN = 5 };

#ifndef SCIDDICAT_LANES

typedef double sciddicat_real;
typedef int sciddicat_mask; /* 0 or 1 */

SCIDDICAT_RULE sciddicat_real sciddicat_add(sciddicat_real a, sciddicat_real b)
{
#ifdef __CUDA_ARCH__
    return __dadd_rn(a, b);
#else
    return a + b;
#endif
}

SCIDDICAT_RULE sciddicat_real sciddicat_subtract(sciddicat_real a, sciddicat_real b)
{
#ifdef __CUDA_ARCH__
    return __dsub_rn(a, b);
#else
    return a - b;
#endif
}

SCIDDICAT_RULE sciddicat_real sciddicat_multiply(sciddicat_real a, sciddicat_real b)
{
#ifdef __CUDA_ARCH__
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
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
    return m & !(a <= b);
}

SCIDDICAT_RULE int sciddicat_count(const sciddicat_mask *m)
{
    return m[0] + m[1] + m[2] + m[3] + m[4];
}

/* Of masks of which b is part of a. */
SCIDDICAT_RULE int sciddicat_same(const sciddicat_mask *a, const sciddicat_mask *b)
{
    return sciddicat_count(a) == sciddicat_count(b);
}

/*
 * sum / n, rounded once, without a division (P. Markstein, "IA-64 and elementary functions", 2000):
 * with r = 1 / n rounded and q = sum r, q + r (sum - q n) by fused operations is the rounded
 * quotient, as long as the remainder does not underflow. None alive: anything, as no flow comes of
 * it.
 */
SCIDDICAT_RULE double sciddicat_quotient(double sum, int n)
{
#ifdef __CUDA_ARCH__
    /* n as a double: the low bits of 2^52 + n */
    const double by = __hiloint2double(0x43300000, n) - 0x1p52;
    const double r = n == 5 ? 0.2 : n == 4 ? 0.25 : n == 3 ? 1.0 / 3.0 : n == 2 ? 0.5 : 1.0;
    const double q = __dmul_rn(sum, r);
    if ((__double2hiint(sum) & 0x7fffffff) < 0x07b00000) { /* below 2^-900 */
        return n == 0 ? 0.0 : __ddiv_rn(sum, by);
    }
    return __fma_rn(__fma_rn(-q, by, sum), r, q);
#else
    return n == 0 ? 0.0 : sum / n;
#endif
}

SCIDDICAT_RULE sciddicat_real sciddicat_mean(sciddicat_real sum, const sciddicat_mask *alive)
{
    return sciddicat_quotient(sum, sciddicat_count(alive));
}

#endif

/* A. The average at which no more neighbours die; `alive` goes in as those that take part and comes
 * out as those that are left. m = h - eps of cells that emit; u as seen. */
SCIDDICAT_RULE sciddicat_real sciddicat_average(sciddicat_real m, const sciddicat_real *u,
                                                sciddicat_mask *alive)
{
    for (;;) {
        sciddicat_real sum = m;
        sciddicat_mask left[SCIDDICAT_SEEN];
        for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
            sum = sciddicat_add_alive(sum, alive[n], u[n]);
        }
        const sciddicat_real average = sciddicat_mean(sum, alive);
        for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
            left[n] = sciddicat_above(alive[n], average, u[n]);
        }
        if (sciddicat_same(alive, left)) {
            return average;
        }
        for (int n = 0; n < SCIDDICAT_SEEN; ++n) {
            alive[n] = left[n];
        }
    }
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

/* What a cell that lets debris off the map has taken so far. */
SCIDDICAT_RULE sciddicat_real sciddicat_taken(sciddicat_real taken, const sciddicat_real *in)
{
    for (int n = 0; n < SCIDDICAT_SEEN - 1; ++n) {
        taken = sciddicat_add(taken, in[n]);
    }
    return taken;
}

#endif
