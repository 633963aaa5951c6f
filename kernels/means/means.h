/*
 * means - count, mean, variance, extremes of every series in one pass over the data.
 *
 * Accumulated in double on values shifted by the series' first present value; partial results are
 * merged by Chan's formula (T. F. Chan, G. H. Golub, R. J. LeVeque, 1979), in an order that depends
 * on the shape alone. NaN is a missing value: it is not counted and enters nothing.
 *
 * Errors for up to 2^20 samples, with u = 2^-53: the mean is off by u |mean| + 256 u (max - min) at
 * most, M2 by 1e-12 of itself. A sample less its base is off by u of itself; T of them are added up
 * about one base. Where the base is an outlier at a distance A, M2 is at least A^2; the T squares
 * near A^2 are off by T^2 u / 2 of that in all, and the square of their sum over T by T^2 u: CPU,
 * whose blocks of 32 lanes of 32 are taken twice, the second time about their means, 64 u; CUDA,
 * T <= 66, 6600 u = 7.3e-13. Merges of K parts add 2 K u, K <= 130.
 */
#ifndef LEAT_KERNELS_MEANS_MEANS_H
#define LEAT_KERNELS_MEANS_MEANS_H

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

/* One field of every series; for whoever may read the span. */
MEANS_RULE double *moments_array(struct moments m, enum moments_field field)
{
    return (double *)m.at.at + (size_t)field * m.capacity;
}

/* The least variance whose square root, and whose squares and products of samples, keep all their
 * digits: what underflows of a square is 2^-115 of it. */
#define MOMENTS_LEAST_VARIANCE 0x1p-960

/* A series without variance, for which no correlation exists: fewer than two samples, all equal, or
 * a standard deviation within rounding (2^-52 of the largest magnitude). Likewise one whose squares
 * leave the doubles: of a variance below MOMENTS_LEAST_VARIANCE, or without a finite M2. */
MEANS_RULE int moments_degenerate(double count, double m2, double min, double max)
{
    double a = min < 0 ? -min : min, b = max < 0 ? -max : max;
    double largest = a > b ? a : b;
    double floor = 0x1p-52 * largest;
    return !(count >= 2) || !(min < max) || !(m2 > count * floor * floor) ||
           !(m2 >= count * MOMENTS_LEAST_VARIANCE) || !(m2 <= 0x1.fffffffffffffp1023);
}

/* The same of series s. */
MEANS_RULE int moments_degenerate_at(struct moments m, size_t s)
{
    return moments_degenerate(moments_array(m, MOMENTS_COUNT)[s], moments_array(m, MOMENTS_M2)[s],
                              moments_array(m, MOMENTS_MIN)[s], moments_array(m, MOMENTS_MAX)[s]);
}

struct means_kernels {
    /* Writes the fields COUNT..MAX of the series in x. */
    enum status (*rows)(struct queue *q, const struct series_rows *x,
                        struct moments moments) STATUS_MUST_CHECK;
};

#endif
