/*
 * blas_core - which of its kernels OpenBLAS has chosen.
 *
 * It takes a processor that is newer than itself for one of its oldest, and then multiplies several
 * times slower than it could: Debian 12's 0.3.21 does so on an Emerald Rapids Xeon.
 */
#ifndef LEAT_KERNELS_BLAS_CORE_H
#define LEAT_KERNELS_BLAS_CORE_H

/* What OpenBLAS reads when a program begins. */
#define BLAS_CORE_VARIABLE    "OPENBLAS_CORETYPE"
#define BLAS_THREADS_VARIABLE "OPENBLAS_NUM_THREADS"

/* The value of BLAS_CORE_VARIABLE that would make products faster on this processor; NULL: none,
 * what OpenBLAS chose is good. */
const char *blas_core_better(void);

#endif
