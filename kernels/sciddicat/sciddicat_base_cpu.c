/*
 * sciddicat_base_cpu - rows with the instruction set that every processor of the kind has, and the
 * choice between the sets.
 */
#define VECTOR_BYTES 16
#include "kernels/sciddicat/sciddicat_vector_cpu.h"

#include "kernels/sciddicat/sciddicat_row_cpu.h" /* of the vectors above */

const struct sciddicat_row_kernels cpu_sciddicat_base = SCIDDICAT_ROW_KERNELS("base");

const struct sciddicat_row_kernels *cpu_sciddicat_set(size_t i)
{
    const struct sciddicat_row_kernels *sets[4] = {0};
    size_t n = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) {
        sets[n++] = &cpu_sciddicat_avx512;
    }
    if (__builtin_cpu_supports("avx2")) {
        sets[n++] = &cpu_sciddicat_avx2;
    }
#endif
    sets[n++] = &cpu_sciddicat_base;
    return i < n ? sets[i] : NULL;
}
