/*
 * interpolate_base_cpu - queries with the instruction set that every processor of the kind has, and
 * the choice between the sets. Without fused multiply-add cells call the C library's.
 */
#include "kernels/interpolate/interpolate_lanes_cpu.h"

const struct interpolate_lanes cpu_interpolate_base = INTERPOLATE_LANES_OF("base");

const struct interpolate_lanes *cpu_interpolate_set(size_t i)
{
    const struct interpolate_lanes *sets[4] = {0};
    size_t n = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
        sets[n++] = &cpu_interpolate_avx512;
    }
    if (avx2) {
        sets[n++] = &cpu_interpolate_avx2;
    }
#endif
    sets[n++] = &cpu_interpolate_base;
    return i < n ? sets[i] : NULL;
}
