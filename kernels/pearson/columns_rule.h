/*
 * columns_rule - what both backends keep of series in columns: one text for C and for CUDA.
 */
#ifndef LEAT_KERNELS_PEARSON_COLUMNS_RULE_H
#define LEAT_KERNELS_PEARSON_COLUMNS_RULE_H

#include "kernels/pearson/pearson_rule.h"

/* Products of neighbours about the mean, so far: sum d d', sum (d + d'), their number. */
struct columns_lag {
    double product, sum, n;
};

/* Of a pair of which one series had a gap: n, means (struct pearson_mean), and the co-moments of
 * the common samples. */
enum pair_field {
    PAIR_N,
    PAIR_MEAN_X,
    PAIR_REST_X,
    PAIR_MEAN_Y,
    PAIR_REST_Y,
    PAIR_XX,
    PAIR_YY,
    PAIR_XY,
    PAIR_FIELDS
};

#endif
