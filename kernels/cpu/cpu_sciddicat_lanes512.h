/*
 * cpu_sciddicat_lanes512 - the operations of sciddicat_rule.h for the cells of two segments, each
 * in a register of AVX-512; a mask is a mask register.
 *
 * Two at once, because the rounds of an average wait for each other: what waits in one segment
 * leaves room for the other. A mean is a product with the rounded reciprocal and two fused
 * operations that give the rounded quotient (sciddicat_rule.h, sciddicat_mean), a third of the
 * time of a division.
 */
#ifndef LEAT_KERNELS_CPU_SCIDDICAT_LANES512_H
#define LEAT_KERNELS_CPU_SCIDDICAT_LANES512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>

#define LANES_INLINE static inline __attribute__((always_inline))
enum { AT_ONCE = 2 };

#define SCIDDICAT_LANES 16
typedef struct {
    __m512d part[AT_ONCE];
} sciddicat_real;
typedef struct {
    __mmask8 part[AT_ONCE];
} sciddicat_mask;
typedef struct {
    __m512i part[AT_ONCE];
} sciddicat_number; /* of neighbours alive */

/* `r` gets, part by part, what the expression is; a part's number is p. */
#define LANES_EACH(type, expression)                                                               \
    type r;                                                                                        \
    for (int p = 0; p < AT_ONCE; ++p) {                                                            \
        r.part[p] = (expression);                                                                  \
    }                                                                                              \
    return r

/* Eight numbers each from at[0] and at[1] on. */
LANES_INLINE sciddicat_real lanes_load(const double *from, const ptrdiff_t *at)
{
    LANES_EACH(sciddicat_real, _mm512_loadu_pd(from + at[p]));
}

LANES_INLINE void lanes_store(double *to, const ptrdiff_t *at, sciddicat_real x)
{
    for (int p = 0; p < AT_ONCE; ++p) {
        _mm512_storeu_pd(to + at[p], x.part[p]);
    }
}

LANES_INLINE sciddicat_real lanes_all(double x)
{
    LANES_EACH(sciddicat_real, _mm512_set1_pd(x));
}

/* A byte of bits a segment. */
LANES_INLINE sciddicat_mask lanes_of_bits(const unsigned *bits)
{
    LANES_EACH(sciddicat_mask, (__mmask8)bits[p]);
}

LANES_INLINE void lanes_bits(sciddicat_mask m, unsigned *bits)
{
    for (int p = 0; p < AT_ONCE; ++p) {
        bits[p] = m.part[p];
    }
}

LANES_INLINE sciddicat_mask lanes_and(sciddicat_mask a, sciddicat_mask b)
{
    LANES_EACH(sciddicat_mask, (__mmask8)(a.part[p] & b.part[p]));
}

LANES_INLINE sciddicat_mask lanes_greater(sciddicat_real a, sciddicat_real b)
{
    LANES_EACH(sciddicat_mask, _mm512_cmp_pd_mask(a.part[p], b.part[p], _CMP_GT_OQ));
}

/* a where the mask is set, else b. */
LANES_INLINE sciddicat_real lanes_choose(sciddicat_mask m, sciddicat_real a, sciddicat_real b)
{
    LANES_EACH(sciddicat_real, _mm512_mask_blend_pd(m.part[p], b.part[p], a.part[p]));
}

/* Whether some bit of some lane differs. */
LANES_INLINE bool lanes_differ(sciddicat_real a, sciddicat_real b)
{
    unsigned all = 0;
    for (int p = 0; p < AT_ONCE; ++p) {
        all |= _mm512_cmpneq_epi64_mask(_mm512_castpd_si512(a.part[p]),
                                        _mm512_castpd_si512(b.part[p]));
    }
    return all != 0;
}

LANES_INLINE sciddicat_real sciddicat_add(sciddicat_real a, sciddicat_real b)
{
    LANES_EACH(sciddicat_real, _mm512_add_pd(a.part[p], b.part[p]));
}

LANES_INLINE sciddicat_real sciddicat_subtract(sciddicat_real a, sciddicat_real b)
{
    LANES_EACH(sciddicat_real, _mm512_sub_pd(a.part[p], b.part[p]));
}

LANES_INLINE sciddicat_real sciddicat_multiply(sciddicat_real a, sciddicat_real b)
{
    LANES_EACH(sciddicat_real, _mm512_mul_pd(a.part[p], b.part[p]));
}

LANES_INLINE sciddicat_real sciddicat_keep(sciddicat_mask m, sciddicat_real x)
{
    LANES_EACH(sciddicat_real, _mm512_maskz_mov_pd(m.part[p], x.part[p]));
}

LANES_INLINE sciddicat_real sciddicat_add_alive(sciddicat_real sum, sciddicat_mask m,
                                                sciddicat_real x)
{
    LANES_EACH(sciddicat_real, _mm512_mask_add_pd(sum.part[p], m.part[p], sum.part[p], x.part[p]));
}

/* NaN counts as above. */
LANES_INLINE sciddicat_mask sciddicat_above(sciddicat_mask m, sciddicat_real a, sciddicat_real b)
{
    LANES_EACH(sciddicat_mask,
               _mm512_mask_cmp_pd_mask(m.part[p], a.part[p], b.part[p], _CMP_NLE_UQ));
}

LANES_INLINE sciddicat_number sciddicat_count(const sciddicat_mask *m)
{
    const __m512i one = _mm512_set1_epi64(1);
    sciddicat_number n;
    for (int p = 0; p < AT_ONCE; ++p) {
        n.part[p] = _mm512_maskz_mov_epi64(m[0].part[p], one);
        for (int k = 1; k < 5; ++k) {
            n.part[p] = _mm512_mask_add_epi64(n.part[p], m[k].part[p], n.part[p], one);
        }
    }
    return n;
}

LANES_INLINE bool sciddicat_differ(sciddicat_number a, sciddicat_number b)
{
    unsigned all = 0;
    for (int p = 0; p < AT_ONCE; ++p) {
        all |= _mm512_cmpneq_epi64_mask(a.part[p], b.part[p]);
    }
    return all != 0;
}

LANES_INLINE __m512d lanes_mean(__m512d sum, __m512i n, bool divide, bool *tiny)
{
    const __m512d shares = _mm512_setr_pd(0, 1, 0.5, 1.0 / 3.0, 0.25, 0.2, 0, 0);
    const __m512d numbers = _mm512_setr_pd(0, 1, 2, 3, 4, 5, 6, 7);
    const __m512d by = _mm512_permutexvar_pd(n, numbers), r = _mm512_permutexvar_pd(n, shares);
    const __m512d q = _mm512_mul_pd(sum, r);
    if (divide) {
        return _mm512_div_pd(sum, by);
    }
    *tiny |= _mm512_cmp_pd_mask(_mm512_abs_pd(sum), _mm512_set1_pd(0x1p-900), _CMP_LT_OQ) != 0;
    return _mm512_fmadd_pd(_mm512_fnmadd_pd(q, by, sum), r, q);
}

LANES_INLINE sciddicat_real sciddicat_mean(sciddicat_real sum, sciddicat_number n, bool divide,
                                           bool *tiny)
{
    LANES_EACH(sciddicat_real, lanes_mean(sum.part[p], n.part[p], divide, tiny));
}

#endif
