/*
 * sciddicat_avx2_cpu - rows with AVX2.
 */
#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif

#define VECTOR_BYTES 32
#include "kernels/sciddicat/sciddicat_vector_cpu.h"

#include "kernels/sciddicat/sciddicat_row_cpu.h" /* of the vectors above */

const struct sciddicat_row_kernels cpu_sciddicat_avx2 = SCIDDICAT_ROW_KERNELS("avx2");

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
