/*
 * pearson_heatmap - how the picture of the matrix is laid out.
 */
#ifndef LEAT_STAGES_PEARSON_PEARSON_HEATMAP_H
#define LEAT_STAGES_PEARSON_PEARSON_HEATMAP_H

#include "formats/result/figure.h"

#include <stddef.h>

enum { HEATMAP_NAMED = 60 /* up to so many series have their names at the axes */ };

/* Cells along a side, pixels along a side of one, series that one stands for (the last one for
 * fewer). */
struct heatmap_grid {
    size_t side, cell, series;
};
struct heatmap_grid heatmap_grid_of(size_t n_series);

/* Host memory that the picture takes while it is drawn and encoded. */
size_t heatmap_bytes(size_t n_series, enum figure_format format);

#endif
