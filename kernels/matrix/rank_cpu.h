/*
 * rank_cpu - the median of an array, exactly, without sorting it.
 */
#ifndef LEAT_KERNELS_MATRIX_RANK_CPU_H
#define LEAT_KERNELS_MATRIX_RANK_CPU_H

#include <stddef.h>

/* The median of v[n], n >= 1: of an even number the mean of the two middle ones. v is lost, `spare`
 * has room for n. No NaN. */
double rank_median(double *v, size_t n, double *spare);

#endif
