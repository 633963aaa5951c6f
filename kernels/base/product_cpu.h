/*
 * product_cpu - tiles of A B^T for rows A and B, through BLAS, in an order that the shape decides.
 *
 * The inner dimension is cut into slices, one BLAS call each, summed up in slice order. A sum of K
 * terms of two unit vectors, taken in slices of S, is off by at most (S + K / S) u in whatever
 * order BLAS adds within a slice (u: the unit roundoff).
 */
#ifndef LEAT_KERNELS_BASE_PRODUCT_CPU_H
#define LEAT_KERNELS_BASE_PRODUCT_CPU_H

#include "kernels/backend.h"

#include <stdbool.h>
#include <stddef.h>

/* Doubles: (2048 + 2^20 / 2048) 2^-53 = 2.9e-13 for the longest series with a stated bound. */
enum { PRODUCT_SLICE = 2048 };

/* The largest leading dimension or side that BLAS takes. */
static const size_t product_limit = 0x7fffffff;

/* To be called before any product of a queue: loads BLAS, as blas_need. */
enum status product_need(const struct queue *q) STATUS_MUST_CHECK;

/* n_a rows of A (leading dimension lda) with n_b rows of B, n_k long, into or onto C (ldc).
 * `lower`: A is B, and only the elements of C on and below the diagonal are computed. */
struct product_f64 {
    const double *a, *b;
    size_t lda, ldb, n_a, n_b, n_k;
    double *c;
    size_t ldc;
    bool add, lower;
};
void product_f64(const struct product_f64 *p);

#endif
