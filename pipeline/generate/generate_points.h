/*
 * generate_points - writes points in rows that lie in clusters, and which cluster each is of.
 *
 * Random words are those of kernels/philox/philox_rule.h: word w of a series is word w % 4 of its
 * block w / 4. Column j of point i, which is of cluster c of K:
 *   c     = floor(K * word 0 of series i / 2^32)
 *   x_ij  = centre_cj + spread * z
 *   centre_cj = 10 * (2 * (w + 1/2) / 2^32 - 1), w word j of series 2^63 + c: uniform, -10 to 10
 *   z     = the sum of (w + 1/2) / 2^32 over words w, 4 + 12 j to 15 + 12 j of series i, less 6
 * z is normal but for its tails, which end at -6 and 6; mean 0, variance 1 (to 2^-64). It is exact,
 * and so is the centre; the product and the sum are rounded. So the numbers are the same on every
 * machine, and point i depends on the seed and on i alone.
 */
#ifndef LEAT_PIPELINE_GENERATE_GENERATE_POINTS_H
#define LEAT_PIPELINE_GENERATE_GENERATE_POINTS_H

#include "formats/base/dtype.h"
#include "formats/base/status.h"
#include "kernels/backend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct generate_points_order {
    uint64_t seed;
    uint64_t n_points;   /* 1 to 2^48 */
    size_t n_columns;    /* 1 to GENERATE_WIDEST */
    uint64_t n_clusters; /* 1 to 2^31 - 1 */
    double spread;       /* >= 0 */
    enum dtype type;
    const char *path, *labels; /* labels: NULL for none */
    bool csv, labels_csv, force;
};

/* Columns first .. first + n - 1 of point i. `order` is a struct generate_points_order. */
void generate_points_fill(const void *order, uint64_t i, uint64_t first, size_t n, double *out);
/* The cluster of a point, 0 to n_clusters - 1. */
uint64_t generate_points_cluster(const struct generate_points_order *order, uint64_t i);

/* Writes the points, in CSV under a header of x1, x2, ..., and their clusters, one number a line,
 * under "cluster"; in .npy as int32. The labels get their name first. STATUS_BAD_ARGUMENT: both
 * are one file; and what generate_tables() says. */
enum status generate_points(const struct generate_points_order *order,
                            const struct executor *executor, uint64_t *bytes) STATUS_MUST_CHECK;

#endif
