/*
 * blas_core - see blas_core.h.
 */
#include "kernels/blas_core.h"

#include <cblas.h>
#include <stddef.h>
#include <string.h>

const char *blas_core_better(void)
{
#if defined(__x86_64__)
    static const char *const old[] = {"Prescott", "Core2", "Penryn", "Dunnington", "Nehalem"};
    const char *core = openblas_get_corename();
    __builtin_cpu_init();
    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
        if (strcmp(core, old[i]) == 0 && __builtin_cpu_supports("avx2")) {
            return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
                       ? "SkylakeX"
                       : "Haswell";
        }
    }
#endif
    return NULL;
}
