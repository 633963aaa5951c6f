/*
 * interpolate_cpu - queries in vectors, for each instruction set.
 */
#ifndef LEAT_KERNELS_INTERPOLATE_INTERPOLATE_CPU_H
#define LEAT_KERNELS_INTERPOLATE_INTERPOLATE_CPU_H

#include "kernels/interpolate/interpolate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Points that are worked on together. */
enum { INTERPOLATE_LANES = 16 };

/* The nodes and one curve's terms. */
struct interpolate_terms {
    size_t n;
    bool is_rational;
    const double *x, *hi, *lo;
    const int32_t *exponent;
};

struct interpolate_lanes {
    const char *name;
    /* p = hi + lo and its condition at INTERPOLATE_LANES points. */
    void (*survey)(const struct interpolate_terms *terms, const double *point_hi,
                   const double *point_lo, double *hi, double *lo, double *condition);
    /* p at INTERPOLATE_LANES queries that are no nodes, of a polynomial with the bits of survey's
     * hi; `below`: the denominator's terms, of a rational function. */
    void (*barycentric)(const struct interpolate_terms *terms,
                        const struct interpolate_terms *below, const double *x, double *value);
    /* p at n queries by one curve's cells; NaN of NaN, and but for pieces of a query outside, of a
     * marked cell. How many are nodes of their cells. */
    size_t (*cells)(const struct interpolate_cells *cells, const double *cell, const double *x,
                    size_t n, double *value);
};

extern const struct interpolate_lanes cpu_interpolate_base, cpu_interpolate_avx2,
    cpu_interpolate_avx512;
/* Those that this processor has, the fastest first; NULL when there is no i-th. */
const struct interpolate_lanes *cpu_interpolate_set(size_t i);

#endif
