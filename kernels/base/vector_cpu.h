/*
 * vector_cpu - the inner loops over one block of one series, in a lane structure that is fixed.
 *
 * Every sum runs over VECTOR_LANES lanes (sample t goes to lane t % VECTOR_LANES) that are added up
 * in one order at the end, so that the bits do not depend on the processor's vector width; the
 * functions are compiled for several instruction sets and the best is chosen at load time.
 * A missing sample is NaN unless a function says otherwise. Blocks need no alignment.
 */
#ifndef LEAT_KERNELS_BASE_VECTOR_CPU_H
#define LEAT_KERNELS_BASE_VECTOR_CPU_H

#include "formats/base/dtype.h"
#include "kernels/base/part_moments_rule.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* Samples in a block: 8 KiB of doubles stay in the first-level cache between two passes. */
enum { VECTOR_LANES = 32, VECTOR_BLOCK = 1024 };

static const struct part_moments vector_no_moments = {.min = (double)NAN, .max = (double)NAN};

/* Samples first .. first + n - 1 of a series in x as doubles: x itself, or `buffer` filled
 * (VECTOR_BLOCK doubles; n <= VECTOR_BLOCK). */
const double *vector_widen(const void *x, enum dtype type, size_t first, size_t n, double *buffer);

/* Moments of a block, two passes over the cache. */
void vector_moments(const double *x, size_t n, struct part_moments *out);

/* sum (x - mean) and sum (x - mean)^2 over present samples. */
void vector_centred_sums(const double *x, size_t n, double mean, double *sum, double *squares);
/* z = ((x - shift) - mean) * scale, never -0.0; a missing sample gives -0.0. z may be x. Far from 0
 * the mean of the samples is no double: a shift near them leaves the rest of it to `mean`. */
void vector_scale(const double *x, size_t n, double shift, double mean, double scale, double *z);
/* sum a[t] b[t]; NaN counts. */
double vector_dot(const double *a, const double *b, size_t n);
/* What vector_scale writes for a missing sample. */
static inline bool vector_is_missing(double z)
{
    return z == 0 && signbit(z);
}
/* x = z, with -0.0 turned to NaN: what vector_scale marked as missing is missing again. */
void vector_unmark(const double *z, size_t n, double *x);

/* Sums of x - shift_x, y - shift_y, their squares and product, over the samples that both have. */
struct vector_pair {
    double n, x, y, xx, yy, xy;
};
/* Adds a block's to *sum. */
void vector_pair(const double *x, const double *y, size_t n, double shift_x, double shift_y,
                 struct vector_pair *sum);

#endif
