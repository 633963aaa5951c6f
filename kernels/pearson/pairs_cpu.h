/*
 * pairs_cpu - one pair of series on the samples that both have, without cancellation.
 */
#ifndef LEAT_KERNELS_PEARSON_PAIRS_CPU_H
#define LEAT_KERNELS_PEARSON_PAIRS_CPU_H

#include "kernels/base/part_moments_rule.h"
#include "kernels/pearson/pearson_cpu.h"
#include "kernels/pearson/pearson_rule.h"

#include <stdbool.h>

/* A series of a pair. Missing samples are NaN or, where `marked`, -0.0 (f64 then). */
struct pair_series {
    const void *x;
    enum dtype type;
    bool marked;
};

/* Sums about the means of the common samples, of a pair whose sums about other points cancel; a
 * series that is constant there has a square of exactly 0. */
struct pearson_sums cpu_pair_common(struct pair_series x, struct pair_series y, size_t n_samples);

/* Two series on the samples that both have: their moments (no extremes), and the products about the
 * means; no samples when x.n is 0. */
struct pair_part {
    struct part_moments x, y;
    double xy;
};
struct pair_part cpu_pair_part(struct pair_series x, struct pair_series y, size_t n_samples);
/* Adds other samples to *a. */
void cpu_pair_merge(struct pair_part *a, const struct pair_part *b);

/* A series of ranks in the exact form. */
struct rank_series {
    const double *z;
    double mean, norm;
};

/* The coefficient of the ranks of the samples that both have; `work` of so many bytes. */
size_t cpu_rank_pair_bytes(size_t n_samples);
double cpu_rank_pair(struct rank_series x, struct rank_series y, size_t n_samples, double least,
                     void *work);

#endif
