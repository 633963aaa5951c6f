/*
 * cpu_sciddicat_lanes - the operations of sciddicat_rule.h for the eight cells of a segment, as
 * vectors of LANES_BYTES (16 or 32) in which a mask has all bits of a lane set or none.
 */
#ifndef LEAT_KERNELS_CPU_SCIDDICAT_LANES_H
#define LEAT_KERNELS_CPU_SCIDDICAT_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LANES_INLINE static inline __attribute__((always_inline))
enum { AT_ONCE = 1 }; /* segments */
enum { PARTS = 64 / LANES_BYTES, WIDTH = LANES_BYTES / 8 };

typedef double lanes_f64 __attribute__((vector_size(LANES_BYTES)));
typedef int64_t lanes_i64 __attribute__((vector_size(LANES_BYTES)));

#define SCIDDICAT_LANES 8
typedef struct {
    lanes_f64 part[PARTS];
} sciddicat_real;
typedef struct {
    lanes_i64 part[PARTS];
} sciddicat_mask;
typedef sciddicat_real sciddicat_number; /* of neighbours alive */

/* `r` gets, part by part, what the expression is; a part's number is p. */
#define LANES_EACH(type, expression)                                                               \
    type r;                                                                                        \
    for (int p = 0; p < PARTS; ++p) {                                                              \
        r.part[p] = (expression);                                                                  \
    }                                                                                              \
    return r

/* Eight numbers from at[0] on. */
LANES_INLINE sciddicat_real lanes_load(const double *from, const ptrdiff_t *at)
{
    sciddicat_real r;
    memcpy(&r, from + at[0], sizeof r);
    return r;
}

LANES_INLINE void lanes_store(double *to, const ptrdiff_t *at, sciddicat_real x)
{
    memcpy(to + at[0], &x, sizeof x);
}

LANES_INLINE sciddicat_real lanes_all(double x)
{
    LANES_EACH(sciddicat_real, x + (lanes_f64){0});
}

LANES_INLINE lanes_i64 lanes_bit(int p)
{
    lanes_i64 bit = {0};
    for (int l = 0; l < WIDTH; ++l) {
        bit[l] = (int64_t)1 << (p * WIDTH + l);
    }
    return bit;
}

/* A byte of bits a segment. */
LANES_INLINE sciddicat_mask lanes_of_bits(const unsigned *bits)
{
    LANES_EACH(sciddicat_mask, ((int64_t)bits[0] & lanes_bit(p)) == lanes_bit(p));
}

LANES_INLINE int64_t lanes_or(lanes_i64 m)
{
    int64_t all = 0;
    for (int l = 0; l < WIDTH; ++l) {
        all |= m[l];
    }
    return all;
}

LANES_INLINE void lanes_bits(sciddicat_mask m, unsigned *bits)
{
    lanes_i64 all = {0};
    for (int p = 0; p < PARTS; ++p) {
        all |= m.part[p] & lanes_bit(p);
    }
    bits[0] = (unsigned)lanes_or(all);
}

LANES_INLINE sciddicat_mask lanes_and(sciddicat_mask a, sciddicat_mask b)
{
    LANES_EACH(sciddicat_mask, a.part[p] & b.part[p]);
}

LANES_INLINE sciddicat_mask lanes_greater(sciddicat_real a, sciddicat_real b)
{
    LANES_EACH(sciddicat_mask, (lanes_i64)(a.part[p] > b.part[p]));
}

/* a where the mask is set, else b. */
LANES_INLINE sciddicat_real lanes_choose(sciddicat_mask m, sciddicat_real a, sciddicat_real b)
{
    LANES_EACH(sciddicat_real, (lanes_f64)(((lanes_i64)a.part[p] & m.part[p]) |
                                           ((lanes_i64)b.part[p] & ~m.part[p])));
}

/* Whether some bit of some lane differs. */
LANES_INLINE bool lanes_differ(sciddicat_real a, sciddicat_real b)
{
    lanes_i64 all = {0};
    for (int p = 0; p < PARTS; ++p) {
        all |= (lanes_i64)a.part[p] ^ (lanes_i64)b.part[p];
    }
    return lanes_or(all) != 0;
}

LANES_INLINE sciddicat_real sciddicat_add(sciddicat_real a, sciddicat_real b)
{
    LANES_EACH(sciddicat_real, a.part[p] + b.part[p]);
}

LANES_INLINE sciddicat_real sciddicat_subtract(sciddicat_real a, sciddicat_real b)
{
    LANES_EACH(sciddicat_real, a.part[p] - b.part[p]);
}

LANES_INLINE sciddicat_real sciddicat_multiply(sciddicat_real a, sciddicat_real b)
{
    LANES_EACH(sciddicat_real, a.part[p] * b.part[p]);
}

LANES_INLINE sciddicat_real sciddicat_keep(sciddicat_mask m, sciddicat_real x)
{
    LANES_EACH(sciddicat_real, (lanes_f64)((lanes_i64)x.part[p] & m.part[p]));
}

LANES_INLINE sciddicat_real sciddicat_add_alive(sciddicat_real sum, sciddicat_mask m,
                                                sciddicat_real x)
{
    return sciddicat_add(sum, sciddicat_keep(m, x));
}

LANES_INLINE sciddicat_mask sciddicat_above(sciddicat_mask m, sciddicat_real a, sciddicat_real b)
{
    LANES_EACH(sciddicat_mask, m.part[p] & ~(lanes_i64)(a.part[p] <= b.part[p]));
}

LANES_INLINE sciddicat_number sciddicat_count(const sciddicat_mask *m)
{
    const sciddicat_real one = lanes_all(1);
    sciddicat_number n = {0};
    for (int k = 0; k < 5; ++k) {
        n = sciddicat_add_alive(n, m[k], one);
    }
    return n;
}

LANES_INLINE bool sciddicat_differ(sciddicat_number a, sciddicat_number b)
{
    return lanes_differ(a, b);
}

LANES_INLINE sciddicat_real sciddicat_mean(sciddicat_real sum, sciddicat_number n, bool divide,
                                           bool *tiny)
{
    (void)divide;
    (void)tiny;
    LANES_EACH(sciddicat_real, sum.part[p] / n.part[p]);
}

#endif
