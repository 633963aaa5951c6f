/*
 * sciddicat_avx512_cpu - rows with AVX-512.
 */
#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC target("avx512f")
#endif

#include "kernels/sciddicat/sciddicat_vector512_cpu.h"

#include "kernels/sciddicat/sciddicat_row_cpu.h" /* of the vectors above */

const struct sciddicat_row_kernels cpu_sciddicat_avx512 = SCIDDICAT_ROW_KERNELS("avx512");

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
