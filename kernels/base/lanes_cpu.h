/*
 * lanes_cpu - the inner loops over one block of one series, in a lane structure that is fixed.
 *
 * Every sum runs over LANES_WIDTH lanes (sample t goes to lane t % LANES_WIDTH) that are added up
 * in one order at the end, so that the bits do not depend on the processor's vector width; the
 * functions are compiled for several instruction sets and the best is chosen at load time.
 * A missing sample is NaN unless a function says otherwise. Blocks need no alignment.
 */
#ifndef LEAT_KERNELS_BASE_LANES_CPU_H
#define LEAT_KERNELS_BASE_LANES_CPU_H

#include "formats/base/dtype.h"
#include "kernels/base/part_moments_rule.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* Samples in a block: 8 KiB of doubles stay in the first-level cache between two passes. */
enum { LANES_WIDTH = 32, LANES_BLOCK = 1024 };

static const struct part_moments lanes_none = {.min = (double)NAN, .max = (double)NAN};

/* Samples first .. first + n - 1 of a series in x as doubles: x itself, or `buffer` filled
 * (LANES_BLOCK doubles; n <= LANES_BLOCK). */
const double *lanes_widen(const void *x, enum dtype type, size_t first, size_t n, double *buffer);

/* Moments of a block, two passes over the cache. */
void lanes_moments(const double *x, size_t n, struct part_moments *out);

/* sum (x - mean) and sum (x - mean)^2 over present samples. */
void lanes_centred_sums(const double *x, size_t n, double mean, double *sum, double *squares);
/* z = ((x - shift) - mean) * scale, never -0.0; a missing sample gives -0.0. z may be x. Far from 0
 * the mean of the samples is no double: a shift near them leaves the rest of it to `mean`. */
void lanes_scale(const double *x, size_t n, double shift, double mean, double scale, double *z);
/* sum a[t] b[t]; NaN counts. */
double lanes_dot(const double *a, const double *b, size_t n);
/* What lanes_scale writes for a missing sample. */
static inline bool lanes_is_missing(double z)
{
    return z == 0 && signbit(z);
}
/* x = z, with -0.0 turned to NaN: what lanes_scale marked as missing is missing again. */
void lanes_unmark(const double *z, size_t n, double *x);

/* Sums of x - shift_x, y - shift_y, their squares and product, over the samples that both have. */
struct lanes_pair {
    double n, x, y, xx, yy, xy;
};
/* Adds a block's to *sum. */
void lanes_pair(const double *x, const double *y, size_t n, double shift_x, double shift_y,
                struct lanes_pair *sum);

#endif
