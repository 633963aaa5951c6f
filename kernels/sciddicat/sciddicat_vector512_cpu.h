/*
 * sciddicat_vector512_cpu - the operations of sciddicat_rule.h for the cells of a segment in a
 * register of AVX-512; a mask is a mask register.
 *
 * A mean is a product with the rounded reciprocal and two fused operations that give the rounded
 * quotient (sciddicat_rule.h, sciddicat_mean), a third of the time of a division.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_SCIDDICAT_VECTOR512_CPU_H
#define LEAT_KERNELS_SCIDDICAT_SCIDDICAT_VECTOR512_CPU_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VECTOR_INLINE static inline __attribute__((always_inline))

#define SCIDDICAT_VECTOR 8
typedef __m512d sciddicat_real;
typedef __mmask8 sciddicat_mask;
typedef __m512i sciddicat_number; /* of neighbours alive */

VECTOR_INLINE sciddicat_real vector_load(const double *from)
{
    return _mm512_loadu_pd(from);
}

VECTOR_INLINE void vector_store(double *to, sciddicat_real x)
{
    _mm512_storeu_pd(to, x);
}

VECTOR_INLINE sciddicat_real vector_all(double x)
{
    return _mm512_set1_pd(x);
}

/* A byte of bits a segment. */
VECTOR_INLINE sciddicat_mask vector_of_bits(unsigned bits)
{
    return (__mmask8)bits;
}

VECTOR_INLINE unsigned vector_bits(sciddicat_mask m)
{
    return m;
}

VECTOR_INLINE bool vector_any(sciddicat_mask m)
{
    return m != 0;
}

VECTOR_INLINE sciddicat_mask vector_and(sciddicat_mask a, sciddicat_mask b)
{
    return (__mmask8)(a & b);
}

VECTOR_INLINE sciddicat_mask vector_or(sciddicat_mask a, sciddicat_mask b)
{
    return (__mmask8)(a | b);
}

/* a without b. */
VECTOR_INLINE sciddicat_mask vector_but(sciddicat_mask a, sciddicat_mask b)
{
    return (__mmask8)(a & ~b);
}

VECTOR_INLINE sciddicat_mask vector_greater(sciddicat_real a, sciddicat_real b)
{
    return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ);
}

VECTOR_INLINE sciddicat_mask vector_up_to(sciddicat_real a, sciddicat_real b)
{
    return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ);
}

VECTOR_INLINE sciddicat_real vector_least(sciddicat_real least, sciddicat_mask m, sciddicat_real x)
{
    return _mm512_mask_min_pd(least, m, least, x);
}

VECTOR_INLINE sciddicat_real vector_most(sciddicat_real most, sciddicat_mask m, sciddicat_real x)
{
    return _mm512_mask_max_pd(most, m, most, x);
}

/* The sets that guess_keep wrote; their numbers, of which sciddicat_mean looks at three bits. */
VECTOR_INLINE sciddicat_number vector_of_guess(const uint8_t *guess, sciddicat_mask *set)
{
    const __m512i cells = _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)guess));
    for (int n = 0; n < 5; ++n) {
        set[n] = _mm512_test_epi64_mask(cells, _mm512_set1_epi64(8 << n));
    }
    return cells;
}

/* a where the mask is set, else b. */
VECTOR_INLINE sciddicat_real vector_choose(sciddicat_mask m, sciddicat_real a, sciddicat_real b)
{
    return _mm512_mask_blend_pd(m, b, a);
}

/* Whether some bit of some lane differs. */
VECTOR_INLINE bool vector_differ(sciddicat_real a, sciddicat_real b)
{
    return _mm512_cmpneq_epi64_mask(_mm512_castpd_si512(a), _mm512_castpd_si512(b)) != 0;
}

VECTOR_INLINE sciddicat_real sciddicat_add(sciddicat_real a, sciddicat_real b)
{
    return _mm512_add_pd(a, b);
}

VECTOR_INLINE sciddicat_real sciddicat_subtract(sciddicat_real a, sciddicat_real b)
{
    return _mm512_sub_pd(a, b);
}

VECTOR_INLINE sciddicat_real sciddicat_multiply(sciddicat_real a, sciddicat_real b)
{
    return _mm512_mul_pd(a, b);
}

VECTOR_INLINE sciddicat_real sciddicat_keep(sciddicat_mask m, sciddicat_real x)
{
    return _mm512_maskz_mov_pd(m, x);
}

VECTOR_INLINE sciddicat_real sciddicat_add_alive(sciddicat_real sum, sciddicat_mask m,
                                                 sciddicat_real x)
{
    return _mm512_mask_add_pd(sum, m, sum, x);
}

/* NaN counts as above. */
VECTOR_INLINE sciddicat_mask sciddicat_above(sciddicat_mask m, sciddicat_real a, sciddicat_real b)
{
    return _mm512_mask_cmp_pd_mask(m, a, b, _CMP_NLE_UQ);
}

VECTOR_INLINE sciddicat_number sciddicat_count(const sciddicat_mask *m)
{
    const __m512i one = _mm512_set1_epi64(1);
    __m512i n = _mm512_maskz_mov_epi64(m[0], one);
    for (int k = 1; k < 5; ++k) {
        n = _mm512_mask_add_epi64(n, m[k], n, one);
    }
    return n;
}

VECTOR_INLINE bool sciddicat_differ(sciddicat_number a, sciddicat_number b)
{
    return _mm512_cmpneq_epi64_mask(a, b) != 0;
}

VECTOR_INLINE sciddicat_real sciddicat_mean(sciddicat_real sum, sciddicat_number n, bool divide,
                                            bool *tiny)
{
    const __m512d shares = _mm512_setr_pd(0, 1, 0.5, 1.0 / 3.0, 0.25, 0.2, 0, 0);
    const __m512d numbers = _mm512_setr_pd(0, 1, 2, 3, 4, 5, 6, 7);
    const __m512d by = _mm512_permutexvar_pd(n, numbers), r = _mm512_permutexvar_pd(n, shares);
    const __m512d q = _mm512_mul_pd(sum, r);
    if (divide) {
        return _mm512_div_pd(sum, by);
    }
    /* Not of cells that do not emit, where m may well be 0. */
    const __mmask8 any = _mm512_test_epi64_mask(n, n);
    *tiny |=
        _mm512_mask_cmp_pd_mask(any, _mm512_abs_pd(sum), _mm512_set1_pd(0x1p-900), _CMP_LT_OQ) != 0;
    return _mm512_fmadd_pd(_mm512_fnmadd_pd(q, by, sum), r, q);
}

#endif
