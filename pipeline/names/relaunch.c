/*
 * relaunch - see relaunch.h.
 */
#include "pipeline/names/relaunch.h"

#include "kernels/blas_core.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>

/* Its own threads, which leat gives nothing to do, hang for a buffer where addresses are few. */
static bool needs_one_thread(void)
{
    const char *threads = getenv(BLAS_THREADS_VARIABLE);
    struct rlimit limit;
    return (threads == NULL || strcmp(threads, "1") != 0) && getrlimit(RLIMIT_AS, &limit) == 0 &&
           limit.rlim_cur != RLIM_INFINITY;
}

void relaunch_for_blas(char **argv)
{
    char program[PATH_MAX];
    size_t size = sizeof(program);
    const char *core = getenv(BLAS_CORE_VARIABLE) == NULL ? blas_core_better() : NULL;
    const bool one = needs_one_thread();
    if ((core != NULL || one) && uv_exepath(program, &size) == 0 &&
        (core == NULL || setenv(BLAS_CORE_VARIABLE, core, 0) == 0) &&
        (!one || setenv(BLAS_THREADS_VARIABLE, "1", 1) == 0)) {
        execv(program, argv);
    }
    if (core != NULL) {
        unsetenv(BLAS_CORE_VARIABLE);
    }
}
