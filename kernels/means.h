/*
 * means - count, mean, variance, extremes of every series in one pass over the data.
 *
 * Accumulated in double on values shifted by the series' first present value; partial results are
 * merged by Chan's formula (T. F. Chan, G. H. Golub, R. J. LeVeque, 1979), in an order that depends
 * on the shape alone. NaN is a missing value: it is not counted and enters nothing.
 */
#ifndef LEAT_KERNELS_MEANS_H
#define LEAT_KERNELS_MEANS_H

#include "formats/dtype.h"
#include "kernels/backend.h"

/* The moments of `capacity` series: MOMENTS_FIELDS arrays of `capacity` doubles, one after the
 * other. Entry s of field f is ((double *)at)[f * capacity + s]. */
enum moments_field {
    MOMENTS_COUNT, /* present samples */
    MOMENTS_MEAN,  /* NaN when the count is 0 */
    MOMENTS_M2,    /* sum of squared deviations from the mean; 0 when the count is < 2 */
    MOMENTS_MIN,   /* NaN when the count is 0 */
    MOMENTS_MAX,
    MOMENTS_LAG1, /* lag-1 autocorrelation, sum z[t] z[t+1] / M2 over pairs both present; filled by
                     pearson's standardize (rows) or columns_finish; NaN where undefined */
    MOMENTS_FIELDS
};

struct moments {
    struct span at; /* at least MOMENTS_FIELDS * capacity * 8 bytes */
    size_t capacity;
};

static inline size_t moments_bytes(size_t capacity)
{
    return (size_t)MOMENTS_FIELDS * capacity * sizeof(double);
}

#ifdef __CUDACC__
#define MEANS_RULE __host__ __device__ static inline
#else
#define MEANS_RULE static inline
#endif

/* A series without variance, for which no correlation exists: fewer than two samples, all equal, or
 * a standard deviation within rounding (2^-52 of the largest magnitude). */
MEANS_RULE int moments_degenerate(double count, double m2, double min, double max)
{
    double a = min < 0 ? -min : min, b = max < 0 ? -max : max;
    double largest = a > b ? a : b;
    double floor = 0x1p-52 * largest;
    return !(count >= 2) || !(min < max) || !(m2 > count * floor * floor);
}

struct means_kernels {
    /* Series lie in rows: sample t of series s is x[s * n_samples + t], s < n_series. Writes fields
     * COUNT..MAX of entries first .. first + n_series - 1. */
    enum status (*rows)(struct queue *q, struct span x, enum dtype type, size_t n_series,
                        size_t n_samples, struct moments moments, size_t first) STATUS_MUST_CHECK;
};

#endif
