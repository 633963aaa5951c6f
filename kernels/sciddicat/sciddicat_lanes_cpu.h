/*
 * sciddicat_lanes_cpu - the operations of sciddicat_rule.h for the eight cells of a segment, as
 * vectors of LANES_BYTES (16 or 32) in which a mask has all bits of a lane set or none.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_SCIDDICAT_LANES_CPU_H
#define LEAT_KERNELS_SCIDDICAT_SCIDDICAT_LANES_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LANES_INLINE static inline __attribute__((always_inline))
enum { PARTS = 64 / LANES_BYTES, WIDTH = LANES_BYTES / 8 };

typedef double lanes_f64 __attribute__((vector_size(LANES_BYTES)));
typedef double lanes_f64_anywhere __attribute__((vector_size(LANES_BYTES), aligned(8), may_alias));
typedef int64_t lanes_i64 __attribute__((vector_size(LANES_BYTES)));
typedef uint64_t lanes_u64 __attribute__((vector_size(LANES_BYTES)));
typedef uint8_t lanes_u8 __attribute__((vector_size(WIDTH)));

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
    for (size_t p = 0; p < PARTS; ++p) {                                                           \
        r.part[p] = (expression);                                                                  \
    }                                                                                              \
    return r

/* Eight numbers from `from` on. Part by part: a copy of the whole goes through memory. */
LANES_INLINE sciddicat_real lanes_load(const double *from)
{
    LANES_EACH(sciddicat_real, *(const lanes_f64_anywhere *)(from + p * WIDTH));
}

LANES_INLINE void lanes_store(double *to, sciddicat_real x)
{
    for (size_t p = 0; p < PARTS; ++p) {
        *(lanes_f64_anywhere *)(to + p * WIDTH) = x.part[p];
    }
}

LANES_INLINE sciddicat_real lanes_all(double x)
{
    LANES_EACH(sciddicat_real, x + (lanes_f64){0});
}

LANES_INLINE lanes_i64 lanes_bit(size_t p)
{
    lanes_i64 bit = {0};
    for (size_t l = 0; l < WIDTH; ++l) {
        bit[l] = (int64_t)1 << (p * WIDTH + l);
    }
    return bit;
}

/* A byte of bits a segment. */
LANES_INLINE sciddicat_mask lanes_of_bits(unsigned bits)
{
    LANES_EACH(sciddicat_mask, ((int64_t)bits & lanes_bit(p)) == lanes_bit(p));
}

LANES_INLINE int64_t lanes_any_of(lanes_i64 m)
{
    int64_t all = 0;
    for (int l = 0; l < WIDTH; ++l) {
        all |= m[l];
    }
    return all;
}

LANES_INLINE unsigned lanes_bits(sciddicat_mask m)
{
    lanes_i64 all = {0};
    for (size_t p = 0; p < PARTS; ++p) {
        all |= m.part[p] & lanes_bit(p);
    }
    return (unsigned)lanes_any_of(all);
}

LANES_INLINE sciddicat_mask lanes_and(sciddicat_mask a, sciddicat_mask b)
{
    LANES_EACH(sciddicat_mask, a.part[p] & b.part[p]);
}

LANES_INLINE sciddicat_mask lanes_or(sciddicat_mask a, sciddicat_mask b)
{
    LANES_EACH(sciddicat_mask, a.part[p] | b.part[p]);
}

/* a without b. */
LANES_INLINE sciddicat_mask lanes_but(sciddicat_mask a, sciddicat_mask b)
{
    LANES_EACH(sciddicat_mask, a.part[p] & ~b.part[p]);
}

LANES_INLINE bool lanes_any(sciddicat_mask m)
{
    lanes_i64 all = {0};
    for (size_t p = 0; p < PARTS; ++p) {
        all |= m.part[p];
    }
    return lanes_any_of(all) != 0;
}

LANES_INLINE sciddicat_mask lanes_up_to(sciddicat_real a, sciddicat_real b)
{
    LANES_EACH(sciddicat_mask, (lanes_i64)(a.part[p] <= b.part[p]));
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

LANES_INLINE sciddicat_real lanes_least(sciddicat_real least, sciddicat_mask m, sciddicat_real x)
{
    const sciddicat_mask less = lanes_and(m, lanes_greater(least, x));
    return lanes_choose(less, x, least);
}

LANES_INLINE sciddicat_real lanes_most(sciddicat_real most, sciddicat_mask m, sciddicat_real x)
{
    const sciddicat_mask more = lanes_and(m, lanes_greater(x, most));
    return lanes_choose(more, x, most);
}

/* Whether some bit of some lane differs. */
LANES_INLINE bool lanes_differ(sciddicat_real a, sciddicat_real b)
{
    lanes_i64 all = {0};
    for (int p = 0; p < PARTS; ++p) {
        all |= (lanes_i64)a.part[p] ^ (lanes_i64)b.part[p];
    }
    return lanes_any_of(all) != 0;
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

/* The sets that guess_keep wrote; their numbers. */
LANES_INLINE sciddicat_number lanes_of_guess(const uint8_t *guess, sciddicat_mask *set)
{
    for (int p = 0; p < PARTS; ++p) {
        lanes_u8 cells;
        memcpy(&cells, guess + (size_t)p * WIDTH, sizeof cells);
        const lanes_u64 bits = __builtin_convertvector(cells, lanes_u64);
        for (int n = 0; n < 5; ++n) {
            set[n].part[p] = (lanes_i64)(bits << (60 - n)) >> 63;
        }
    }
    return sciddicat_count(set);
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
