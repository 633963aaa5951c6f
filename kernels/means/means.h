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
    size_t min_samples; /* a coefficient is of no fewer; below 2 as 2 */
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
/* The largest M2: sums of squares about another sample, of the 66 at most that a thread takes, are
 * up to 134 times as large. */
#define MOMENTS_MOST_M2 0x1p1016

/* The least number of samples that a coefficient is of. */
MEANS_RULE double moments_least_count(struct moments m)
{
    return m.min_samples > 2 ? (double)m.min_samples : 2;
}

/* A series for which no correlation exists: fewer samples than least_count, all equal, or such that
 * its squares leave the doubles. Samples one unit in the last place apart vary, and M2 knows how
 * much: no sample lies between the two doubles on either side of a mean, so that the mean, rounded,
 * is never further off than one standard deviation. */
MEANS_RULE int moments_degenerate(double least_count, double count, double m2, double min,
                                  double max)
{
    return !(count >= least_count) || !(min < max) || !(m2 >= count * MOMENTS_LEAST_VARIANCE) ||
           !(m2 <= MOMENTS_MOST_M2);
}

/* The same of series s. */
MEANS_RULE int moments_degenerate_at(struct moments m, size_t s)
{
    return moments_degenerate(moments_least_count(m), moments_array(m, MOMENTS_COUNT)[s],
                              moments_array(m, MOMENTS_M2)[s], moments_array(m, MOMENTS_MIN)[s],
                              moments_array(m, MOMENTS_MAX)[s]);
}

struct means_kernels {
    /* Writes the fields COUNT..MAX of the series in x. */
    enum status (*rows)(struct queue *q, const struct series_rows *x,
                        struct moments moments) STATUS_MUST_CHECK;
};

#endif
