/*
 * kmeans_params - the parameters of a k-means job, and what they say.
 */
#include "stages/kmeans/kmeans_layout.h"

#include <string.h>

enum {
    K,
    SCALE,
    INIT,
    SEED,
    MAX_ITER,
    TOL,
    N_INIT,
    MISSING,
    CENTROIDS,
    CENTROIDS_COLUMNS,
    FACTORS,
    WEIGHT,
    AXES,
    FIGURE
};

const struct param_spec kmeans_specs[KMEANS_N_SPECS] = {
    [K] = STAGE_NUMBER(PARAM_RANGE, "k", 1, (double)KMEANS_POINTS_MAX, "8",
                       "number of clusters; 2-12: each of them, and the best by silhouette"),
    [SCALE] = STAGE_CHOICE("scale", "none|unit|range", "none",
                           "scale columns to a standard deviation, or a range, of 1"),
    [INIT] = STAGE_CHOICE("init", "k-means++|random|first", "k-means++",
                          "the first centroids: by k-means++, random points, or the first k"),
    [SEED] = STAGE_NUMBER(PARAM_COUNT, "seed", 0, 0x1p53, "0", "seed of the random numbers"),
    [MAX_ITER] =
        STAGE_NUMBER(PARAM_COUNT, "max_iter", 1, 1000000000, "300", "the most iterations of a run"),
    [TOL] = STAGE_NUMBER(PARAM_REAL, "tol", 0, 1e9, "1e-4",
                         "stop when centroids move less, relative to the columns' mean variance"),
    [N_INIT] = STAGE_NUMBER(PARAM_COUNT, "n_init", 1, 1000, "10",
                            "runs from different first centroids; the best is taken"),
    [MISSING] = STAGE_CHOICE("missing", "reject|drop", "reject",
                             "rows with missing values: fail, or leave them out"),
    [CENTROIDS] = STAGE_CHOICE("centroids", "none|file", "none",
                               "file: label points by the centroids in X.centroids.*"),
    [CENTROIDS_COLUMNS] =
        STAGE_TEXT("centroids_columns", 4096, "CSV: the columns of X.centroids.* to read"),
    [FACTORS] = STAGE_NUMBER(PARAM_NUMBERS, "factors", 0, 1e300, "",
                             "a, b, ...: scale the columns by these, not by scale"),
    [WEIGHT] = STAGE_TEXT("weight", 4096, "the column of the points' weights"),
    [AXES] = STAGE_TEXT("axes", 4096, "two columns for the picture, in place of components"),
    [FIGURE] = STAGE_FIGURE_SPECS(COLOURS_SETS),
};

struct kmeans_choice kmeans_choose(const struct stage_args *args)
{
    const struct param_value *p = args->params;
    const bool given = p[CENTROIDS].index == 1;
    const enum kmeans_init init = given ? KMEANS_INIT_GIVEN : (enum kmeans_init)p[INIT].index;
    const bool is_one = given || init == KMEANS_INIT_FIRST; /* every run would be the same */
    return (struct kmeans_choice){.figure = stage_figure(&p[FIGURE]),
                                  .axes = p[AXES].text,
                                  .given = given,
                                  .factors = p[FACTORS].numbers,
                                  .weight = p[WEIGHT].text,
                                  .drop = p[MISSING].index == 1,
                                  .is_range = !given && strchr(p[K].text, '-') != NULL,
                                  .request = {.k_first = (size_t)p[K].count,
                                              .k_last = (size_t)p[K].last,
                                              .scale = p[FACTORS].numbers.n > 0
                                                           ? KMEANS_SCALE_FACTORS
                                                           : (enum kmeans_scale)p[SCALE].index,
                                              .init = init,
                                              .seed = p[SEED].count,
                                              .max_iter = p[MAX_ITER].count,
                                              .tol = p[TOL].real,
                                              .n_init = is_one ? 1 : (size_t)p[N_INIT].count}};
}
