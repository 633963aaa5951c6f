/*
 * interpolate_avx512_cpu - queries with AVX-512.
 */
#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma"))),        \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx2,fma")
#endif

#include "kernels/interpolate/interpolate_lanes_cpu.h"

const struct interpolate_lanes cpu_interpolate_avx512 = INTERPOLATE_LANES_OF("avx512");

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
