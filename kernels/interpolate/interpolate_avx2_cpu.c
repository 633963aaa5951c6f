/*
 * interpolate_avx2_cpu - queries with AVX2.
 */
#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif

#include "kernels/interpolate/interpolate_lanes_cpu.h"

const struct interpolate_lanes cpu_interpolate_avx2 = INTERPOLATE_LANES_OF("avx2");

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
