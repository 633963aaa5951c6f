/*
 * pearson_rows - the regime for tables whose lines hold a series each.
 *
 * A panel of series is standardised as soon as it is complete and multiplied with every series
 * before it, so that after the last line only the last panel's products are left. The standardised
 * series (and, where some pairs are taken twice, the series themselves) stay in slabs: one when the
 * number of lines is known, more when the guess was too low.
 */
#ifndef LEAT_STAGES_PEARSON_PEARSON_ROWS_H
#define LEAT_STAGES_PEARSON_PEARSON_ROWS_H

#include "kernels/pearson/pearson.h"

struct pearson_slab {
    size_t first, rows; /* series first .. first + rows - 1 have room */
    struct span z, x;   /* x: none unless the series are kept */
};

struct pearson_rows {
    struct pearson_slab *slabs;
    size_t n_slabs;
    struct span increments; /* of one panel, when they are not kept */
    /* a panel or two in the exact form, for gaps in a matrix of another form */
    struct span exact[2];
    struct moments exact_moments;
};

struct pearson_job;
struct pearson_regime;

extern const struct pearson_regime pearson_rows_regime;

/* All series as one span, for pairs that are taken again; ends what else the regime holds. */
enum status pearson_rows_series(struct pearson_job *job, struct span *x) STATUS_MUST_CHECK;

#endif
