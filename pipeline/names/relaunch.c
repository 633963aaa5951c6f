/*
 * relaunch - see relaunch.h.
 */
#include "pipeline/names/relaunch.h"

#include "kernels/blas_core.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

void relaunch_for_blas(char **argv)
{
    char program[PATH_MAX];
    size_t size = sizeof(program);
    const char *core = blas_core_better();
    if (core != NULL && getenv(BLAS_CORE_VARIABLE) == NULL && uv_exepath(program, &size) == 0 &&
        setenv(BLAS_CORE_VARIABLE, core, 0) == 0) {
        execv(program, argv);
        unsetenv(BLAS_CORE_VARIABLE);
    }
}
