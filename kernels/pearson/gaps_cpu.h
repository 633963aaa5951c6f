/*
 * gaps_cpu - sums over the common samples of many pairs at once, as matrix products of the values,
 * the masks of what is present, and the squares. Serves rows (gram_gaps) and columns.
 */
#ifndef LEAT_KERNELS_PEARSON_GAPS_CPU_H
#define LEAT_KERNELS_PEARSON_GAPS_CPU_H

#include "kernels/pearson/pearson_rule.h"

#include <stdbool.h>
#include <stddef.h>

enum { GAPS_TILE = 128 };

/* Up to GAPS_TILE rows a with as many rows b, all n_k long; a missing sample is -0.0, no present
 * one is. `a_whole`, `b_whole`: nothing is missing on that side, which saves products. */
struct gaps_tile {
    const double *a[GAPS_TILE], *b[GAPS_TILE];
    size_t n_a, n_b, n_k;
    bool a_whole, b_whole;
};

/* Bytes of working space for one tile. */
size_t gaps_work_bytes(void);
/* Takes the sums of all pairs of the tile. */
void gaps_sums(const struct gaps_tile *tile, void *work);
/* Those of rows a[i] and b[j], after gaps_sums: raw, not centred. */
struct pearson_sums gaps_pair(const struct gaps_tile *tile, const void *work, size_t i, size_t j);

#endif
