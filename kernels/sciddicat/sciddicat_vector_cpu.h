/*
 * sciddicat_vector_cpu - the operations of sciddicat_rule.h for the eight cells of a segment, as
 * vectors of VECTOR_BYTES (16 or 32) in which a mask has all bits of a lane set or none.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_SCIDDICAT_VECTOR_CPU_H
#define LEAT_KERNELS_SCIDDICAT_SCIDDICAT_VECTOR_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VECTOR_INLINE static inline __attribute__((always_inline))
enum { PARTS = 64 / VECTOR_BYTES, WIDTH = VECTOR_BYTES / 8 };

typedef double vector_f64 __attribute__((vector_size(VECTOR_BYTES)));
typedef double vector_f64_anywhere
    __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
typedef int64_t vector_i64 __attribute__((vector_size(VECTOR_BYTES)));
typedef uint64_t vector_u64 __attribute__((vector_size(VECTOR_BYTES)));
typedef uint8_t vector_u8 __attribute__((vector_size(WIDTH)));

#define SCIDDICAT_VECTOR 8
typedef struct {
    vector_f64 part[PARTS];
} sciddicat_real;
typedef struct {
    vector_i64 part[PARTS];
} sciddicat_mask;
typedef sciddicat_real sciddicat_number; /* of neighbours alive */

/* `r` gets, part by part, what the expression is; a part's number is p. */
#define VECTOR_EACH(type, expression)                                                              \
    type r;                                                                                        \
    for (size_t p = 0; p < PARTS; ++p) {                                                           \
        r.part[p] = (expression);                                                                  \
    }                                                                                              \
    return r

/* Eight numbers from `from` on. Part by part: a copy of the whole goes through memory. */
VECTOR_INLINE sciddicat_real vector_load(const double *from)
{
    VECTOR_EACH(sciddicat_real, *(const vector_f64_anywhere *)(from + p * WIDTH));
}

VECTOR_INLINE void vector_store(double *to, sciddicat_real x)
{
    for (size_t p = 0; p < PARTS; ++p) {
        *(vector_f64_anywhere *)(to + p * WIDTH) = x.part[p];
    }
}

VECTOR_INLINE sciddicat_real vector_all(double x)
{
    VECTOR_EACH(sciddicat_real, x + (vector_f64){0});
}

VECTOR_INLINE vector_i64 vector_bit(size_t p)
{
    vector_i64 bit = {0};
    for (size_t l = 0; l < WIDTH; ++l) {
        bit[l] = (int64_t)1 << (p * WIDTH + l);
    }
    return bit;
}

/* A byte of bits a segment. */
VECTOR_INLINE sciddicat_mask vector_of_bits(unsigned bits)
{
    VECTOR_EACH(sciddicat_mask, ((int64_t)bits & vector_bit(p)) == vector_bit(p));
}

VECTOR_INLINE int64_t vector_any_of(vector_i64 m)
{
    int64_t all = 0;
    for (int l = 0; l < WIDTH; ++l) {
        all |= m[l];
    }
    return all;
}

VECTOR_INLINE unsigned vector_bits(sciddicat_mask m)
{
    vector_i64 all = {0};
    for (size_t p = 0; p < PARTS; ++p) {
        all |= m.part[p] & vector_bit(p);
    }
    return (unsigned)vector_any_of(all);
}

VECTOR_INLINE sciddicat_mask vector_and(sciddicat_mask a, sciddicat_mask b)
{
    VECTOR_EACH(sciddicat_mask, a.part[p] & b.part[p]);
}

VECTOR_INLINE sciddicat_mask vector_or(sciddicat_mask a, sciddicat_mask b)
{
    VECTOR_EACH(sciddicat_mask, a.part[p] | b.part[p]);
}

/* a without b. */
VECTOR_INLINE sciddicat_mask vector_but(sciddicat_mask a, sciddicat_mask b)
{
    VECTOR_EACH(sciddicat_mask, a.part[p] & ~b.part[p]);
}

VECTOR_INLINE bool vector_any(sciddicat_mask m)
{
    vector_i64 all = {0};
    for (size_t p = 0; p < PARTS; ++p) {
        all |= m.part[p];
    }
    return vector_any_of(all) != 0;
}

VECTOR_INLINE sciddicat_mask vector_up_to(sciddicat_real a, sciddicat_real b)
{
    VECTOR_EACH(sciddicat_mask, (vector_i64)(a.part[p] <= b.part[p]));
}

VECTOR_INLINE sciddicat_mask vector_greater(sciddicat_real a, sciddicat_real b)
{
    VECTOR_EACH(sciddicat_mask, (vector_i64)(a.part[p] > b.part[p]));
}

/* a where the mask is set, else b. */
VECTOR_INLINE sciddicat_real vector_choose(sciddicat_mask m, sciddicat_real a, sciddicat_real b)
{
    VECTOR_EACH(sciddicat_real, (vector_f64)(((vector_i64)a.part[p] & m.part[p]) |
                                             ((vector_i64)b.part[p] & ~m.part[p])));
}

VECTOR_INLINE sciddicat_real vector_least(sciddicat_real least, sciddicat_mask m, sciddicat_real x)
{
    const sciddicat_mask less = vector_and(m, vector_greater(least, x));
    return vector_choose(less, x, least);
}

VECTOR_INLINE sciddicat_real vector_most(sciddicat_real most, sciddicat_mask m, sciddicat_real x)
{
    const sciddicat_mask more = vector_and(m, vector_greater(x, most));
    return vector_choose(more, x, most);
}

/* Whether some bit of some lane differs. */
VECTOR_INLINE bool vector_differ(sciddicat_real a, sciddicat_real b)
{
    vector_i64 all = {0};
    for (int p = 0; p < PARTS; ++p) {
        all |= (vector_i64)a.part[p] ^ (vector_i64)b.part[p];
    }
    return vector_any_of(all) != 0;
}

VECTOR_INLINE sciddicat_real sciddicat_add(sciddicat_real a, sciddicat_real b)
{
    VECTOR_EACH(sciddicat_real, a.part[p] + b.part[p]);
}

VECTOR_INLINE sciddicat_real sciddicat_subtract(sciddicat_real a, sciddicat_real b)
{
    VECTOR_EACH(sciddicat_real, a.part[p] - b.part[p]);
}

VECTOR_INLINE sciddicat_real sciddicat_multiply(sciddicat_real a, sciddicat_real b)
{
    VECTOR_EACH(sciddicat_real, a.part[p] * b.part[p]);
}

VECTOR_INLINE sciddicat_real sciddicat_keep(sciddicat_mask m, sciddicat_real x)
{
    VECTOR_EACH(sciddicat_real, (vector_f64)((vector_i64)x.part[p] & m.part[p]));
}

VECTOR_INLINE sciddicat_real sciddicat_add_alive(sciddicat_real sum, sciddicat_mask m,
                                                 sciddicat_real x)
{
    return sciddicat_add(sum, sciddicat_keep(m, x));
}

VECTOR_INLINE sciddicat_mask sciddicat_above(sciddicat_mask m, sciddicat_real a, sciddicat_real b)
{
    VECTOR_EACH(sciddicat_mask, m.part[p] & ~(vector_i64)(a.part[p] <= b.part[p]));
}

VECTOR_INLINE sciddicat_number sciddicat_count(const sciddicat_mask *m)
{
    const sciddicat_real one = vector_all(1);
    sciddicat_number n = {0};
    for (int k = 0; k < 5; ++k) {
        n = sciddicat_add_alive(n, m[k], one);
    }
    return n;
}

/* The sets that guess_keep wrote; their numbers. */
VECTOR_INLINE sciddicat_number vector_of_guess(const uint8_t *guess, sciddicat_mask *set)
{
    for (int p = 0; p < PARTS; ++p) {
        vector_u8 cells;
        memcpy(&cells, guess + (size_t)p * WIDTH, sizeof cells);
        const vector_u64 bits = __builtin_convertvector(cells, vector_u64);
        for (int n = 0; n < 5; ++n) {
            set[n].part[p] = (vector_i64)(bits << (60 - n)) >> 63;
        }
    }
    return sciddicat_count(set);
}

VECTOR_INLINE bool sciddicat_differ(sciddicat_number a, sciddicat_number b)
{
    return vector_differ(a, b);
}

VECTOR_INLINE sciddicat_real sciddicat_mean(sciddicat_real sum, sciddicat_number n, bool divide,
                                            bool *tiny)
{
    (void)divide;
    (void)tiny;
    VECTOR_EACH(sciddicat_real, sum.part[p] / n.part[p]);
}

#endif
