/*
 * cpu_sciddicat_avx2 - rows with AVX2.
 */
#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif

#define LANES_BYTES 32
#include "kernels/cpu/cpu_sciddicat_lanes.h"
#include "kernels/cpu/cpu_sciddicat_row.h"

const struct sciddicat_row_kernels cpu_sciddicat_avx2 = SCIDDICAT_ROW_KERNELS("avx2");

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
