/*
 * pearson_columns - the regime for tables whose lines hold a sample of every series: co-moments are
 * accumulated slab by slab, in double whatever precision was asked, and the samples are forgotten.
 */
#ifndef LEAT_STAGES_PEARSON_PEARSON_COLUMNS_H
#define LEAT_STAGES_PEARSON_PEARSON_COLUMNS_H

struct pearson_regime;

extern const struct pearson_regime pearson_columns_regime;

#endif
