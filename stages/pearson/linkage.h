/*
 * linkage - average linkage (UPGMA): which of n things are alike, as a tree, and an order of them
 * in which those that are alike stand together.
 */
#ifndef LEAT_STAGES_PEARSON_LINKAGE_H
#define LEAT_STAGES_PEARSON_LINKAGE_H

#include "formats/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Two clusters that become one: things are 0 .. n - 1, the cluster of merge k is n + k; a < b. */
struct linkage_merge {
    uint32_t a, b;
    double distance;
};

/* The n - 1 merges, the nearest first, of n >= 1 things. `distances` is the condensed matrix (row
 * by row: (0,1), (0,2) ..), all finite, and is used up. Takes time n^2. `going` is asked now and
 * then: what it fails with ends the work. STATUS_NO_MEMORY. */
enum status linkage_average(double *distances, size_t n, struct linkage_merge *merges,
                            enum status (*going)(void *context), void *context) STATUS_MUST_CHECK;
/* The things from the left to the right of the tree, `a` left of `b`: SciPy's leaves_list.
 * STATUS_NO_MEMORY. */
enum status linkage_order(const struct linkage_merge *merges, size_t n,
                          uint32_t *order) STATUS_MUST_CHECK;

#endif
