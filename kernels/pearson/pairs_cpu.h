/*
 * pairs_cpu - one pair of series on the samples that both have, without cancellation.
 */
#ifndef LEAT_KERNELS_PEARSON_PAIRS_CPU_H
#define LEAT_KERNELS_PEARSON_PAIRS_CPU_H

#include "kernels/pearson/pearson_cpu.h"
#include "kernels/pearson/pearson_rule.h"

#include <stdbool.h>

/* A series of a pair. Missing samples are NaN or, where `marked`, -0.0 (f64 then). `shift` is a
 * guess of the mean. */
struct pair_series {
    const void *x;
    enum dtype type;
    bool marked;
    double shift;
};

/* Sums about the means of the common samples, and these means. A series that is constant there has
 * a square of exactly 0, and its value for a mean. `sure`: they are right also where the samples
 * were rounded at their distance from 0 (pearson_is_sure). */
struct pair_common {
    struct pearson_sums sums;
    struct pearson_mean mean_a, mean_b;
    bool sure;
};
struct pair_common cpu_pair_common(struct pair_series a, struct pair_series b, size_t n_samples);

#endif
