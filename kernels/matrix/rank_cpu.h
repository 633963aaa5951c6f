/*
 * rank_cpu - values of given ranks in an array, exactly, without sorting it.
 */
#ifndef LEAT_KERNELS_MATRIX_RANK_CPU_H
#define LEAT_KERNELS_MATRIX_RANK_CPU_H

#include <stddef.h>

/* The mean of the values of ascending ranks k1 and k2 of v[n], from 0; k2 is k1 or k1 + 1, below n.
 * The order of v is lost. No NaN. */
double rank_mean(double *v, size_t n, size_t k1, size_t k2);

/* The median of v[n], n >= 1: of an even number the mean of the two middle ones. v is lost, `spare`
 * has room for n. No NaN. */
double rank_median(double *v, size_t n, double *spare);

#endif
