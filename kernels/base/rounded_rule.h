/*
 * rounded_rule - operations on doubles, each rounded once and on its own, and their bits: one text
 * for C and for CUDA, where nvcc would contract a product and a sum.
 */
#ifndef LEAT_KERNELS_BASE_ROUNDED_RULE_H
#define LEAT_KERNELS_BASE_ROUNDED_RULE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define ROUNDED_RULE __host__ __device__ static __inline__
#else
#define ROUNDED_RULE static inline __attribute__((always_inline))
#endif

ROUNDED_RULE double rounded_add(double a, double b)
{
#ifdef __CUDA_ARCH__
    return __dadd_rn(a, b);
#else
    return a + b;
#endif
}

ROUNDED_RULE double rounded_subtract(double a, double b)
{
#ifdef __CUDA_ARCH__
    return __dsub_rn(a, b);
#else
    return a - b;
#endif
}

ROUNDED_RULE double rounded_multiply(double a, double b)
{
#ifdef __CUDA_ARCH__
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
}

ROUNDED_RULE double rounded_divide(double a, double b)
{
#ifdef __CUDA_ARCH__
    return __ddiv_rn(a, b);
#else
    return a / b;
#endif
}

/* a * b + c */
ROUNDED_RULE double rounded_fma(double a, double b, double c)
{
#ifdef __CUDA_ARCH__
    return __fma_rn(a, b, c);
#else
    return fma(a, b, c);
#endif
}

ROUNDED_RULE double rounded_sqrt(double a)
{
#ifdef __CUDA_ARCH__
    return __dsqrt_rn(a);
#else
    return sqrt(a);
#endif
}

ROUNDED_RULE int64_t rounded_bits(double x)
{
#ifdef __CUDA_ARCH__
    return __double_as_longlong(x);
#else
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
#endif
}

ROUNDED_RULE double rounded_of_bits(int64_t bits)
{
#ifdef __CUDA_ARCH__
    return __longlong_as_double(bits);
#else
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
#endif
}

/* 2^e for -1022 <= e <= 1023. */
ROUNDED_RULE double rounded_power(int64_t e)
{
    return rounded_of_bits((int64_t)((uint64_t)(e + 1023) << 52));
}

#endif
