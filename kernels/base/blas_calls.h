/*
 * blas_calls - OpenBLAS, which is loaded when products are first needed: it takes longer than all
 * else of the program.
 */
#ifndef LEAT_KERNELS_BASE_BLAS_CALLS_H
#define LEAT_KERNELS_BASE_BLAS_CALLS_H

#include "formats/base/module.h"

#include <cblas.h>
#include <stdbool.h>
#include <stddef.h>

/* Of OpenBLAS, in no header of its own: one of the buffers that a thread has while it multiplies.
 * It is kept for the next one that asks. */
void *blas_memory_alloc(int where);
void blas_memory_free(void *buffer);

#define BLAS_CALLS(CALL)                                                                           \
    CALL(cblas_, dgemm)                                                                            \
    CALL(cblas_, dsyrk)                                                                            \
    CALL(cblas_, sgemm) /* for the bench */                                                        \
    CALL(openblas_, get_config)                                                                    \
    CALL(openblas_, get_corename)                                                                  \
    CALL(openblas_, set_num_threads)                                                               \
    CALL(blas_, memory_alloc)                                                                      \
    CALL(blas_, memory_free)

struct blas_calls {
    BLAS_CALLS(MODULE_MEMBER)
};

/* After blas_need. */
extern struct blas_calls blas;

/* What OpenBLAS reads when it is loaded. */
#define BLAS_CORE_VARIABLE    "OPENBLAS_CORETYPE"
#define BLAS_THREADS_VARIABLE "OPENBLAS_NUM_THREADS"

/* Says in the environment how OpenBLAS is to multiply: without threads of its own, and, unless the
 * user has chosen, as this processor can. It would take a processor that is newer than itself for
 * one of its oldest, and be several times slower (Debian 12's 0.3.21 on an Emerald Rapids Xeon).
 * Before there is a second thread: getenv is not safe beside it. */
void blas_choose(void);

/* Loads it, and has it ready for products on so many threads. STATUS_NO_BACKEND: it cannot be
 * loaded; STATUS_NO_MEMORY: a limit on addresses or data is too low for so many. Any thread. */
enum status blas_need(size_t n_threads) STATUS_MUST_CHECK;

/* Whether this process's addresses or memory are limited. */
bool blas_is_limited(void);

/* Whether it is loaded, by any thread. */
bool blas_is_loaded(void);

/* Value of BLAS_CORE_VARIABLE that makes it faster on this processor than what it took; NULL: none.
 * After blas_need. */
const char *blas_better_core(void);

#endif
