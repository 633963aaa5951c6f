/*
 * cpu_sciddicat_lanes512 - the operations of sciddicat_rule.h for the eight cells of a segment in a
 * register of AVX-512; a mask is a mask register.
 *
 * A mean is a product with the rounded reciprocal and two fused operations that give the rounded
 * quotient (sciddicat_rule.h, sciddicat_quotient), a third of the time of a division.
 */
#ifndef LEAT_KERNELS_CPU_SCIDDICAT_LANES512_H
#define LEAT_KERNELS_CPU_SCIDDICAT_LANES512_H

#include <immintrin.h>

#define LANES_INLINE static inline __attribute__((always_inline))

#define SCIDDICAT_LANES 8
typedef __m512d sciddicat_real;
typedef __mmask8 sciddicat_mask;

LANES_INLINE sciddicat_real lanes_load(const double *from)
{
    return _mm512_loadu_pd(from);
}

LANES_INLINE void lanes_store(double *to, sciddicat_real x)
{
    _mm512_storeu_pd(to, x);
}

LANES_INLINE sciddicat_real lanes_all(double x)
{
    return _mm512_set1_pd(x);
}

LANES_INLINE sciddicat_mask lanes_of_bits(unsigned bits)
{
    return (sciddicat_mask)bits;
}

LANES_INLINE unsigned lanes_bits(sciddicat_mask m)
{
    return m;
}

LANES_INLINE sciddicat_mask lanes_and(sciddicat_mask a, sciddicat_mask b)
{
    return (sciddicat_mask)(a & b);
}

LANES_INLINE sciddicat_mask lanes_greater(sciddicat_real a, sciddicat_real b)
{
    return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ);
}

LANES_INLINE sciddicat_real lanes_choose(sciddicat_mask m, sciddicat_real a, sciddicat_real b)
{
    return _mm512_mask_blend_pd(m, b, a);
}

LANES_INLINE int lanes_differ(sciddicat_real a, sciddicat_real b)
{
    return _mm512_cmpneq_epi64_mask(_mm512_castpd_si512(a), _mm512_castpd_si512(b)) != 0;
}

LANES_INLINE sciddicat_real sciddicat_add(sciddicat_real a, sciddicat_real b)
{
    return _mm512_add_pd(a, b);
}

LANES_INLINE sciddicat_real sciddicat_subtract(sciddicat_real a, sciddicat_real b)
{
    return _mm512_sub_pd(a, b);
}

LANES_INLINE sciddicat_real sciddicat_multiply(sciddicat_real a, sciddicat_real b)
{
    return _mm512_mul_pd(a, b);
}

LANES_INLINE sciddicat_real sciddicat_keep(sciddicat_mask m, sciddicat_real x)
{
    return _mm512_maskz_mov_pd(m, x);
}

LANES_INLINE sciddicat_real sciddicat_add_alive(sciddicat_real sum, sciddicat_mask m,
                                                sciddicat_real x)
{
    return _mm512_mask_add_pd(sum, m, sum, x);
}

/* NaN counts as above. */
LANES_INLINE sciddicat_mask sciddicat_above(sciddicat_mask m, sciddicat_real a, sciddicat_real b)
{
    return _mm512_mask_cmp_pd_mask(m, a, b, _CMP_NLE_UQ);
}

LANES_INLINE int sciddicat_same(const sciddicat_mask *a, const sciddicat_mask *b)
{
    return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) | (a[4] ^ b[4])) == 0;
}

LANES_INLINE sciddicat_real sciddicat_mean(sciddicat_real sum, const sciddicat_mask *alive)
{
    const __m512d one = _mm512_set1_pd(1), least = _mm512_set1_pd(0x1p-900);
    const __m512d reciprocals = _mm512_setr_pd(0, 1, 0.5, 1.0 / 3.0, 0.25, 0.2, 0, 0);
    const __m512i unit = _mm512_set1_epi64(1);
    __m512d n = _mm512_maskz_mov_pd(alive[0], one);
    __m512i which = _mm512_maskz_mov_epi64(alive[0], unit);
    for (int k = 1; k < 5; ++k) {
        n = _mm512_mask_add_pd(n, alive[k], n, one);
        which = _mm512_mask_add_epi64(which, alive[k], which, unit);
    }
    if (_mm512_cmp_pd_mask(_mm512_abs_pd(sum), least, _CMP_LT_OQ) != 0) {
        return _mm512_div_pd(sum, n);
    }
    const __m512d r = _mm512_permutexvar_pd(which, reciprocals);
    const __m512d q = _mm512_mul_pd(sum, r);
    return _mm512_fmadd_pd(_mm512_fnmadd_pd(q, n, sum), r, q);
}

#endif
