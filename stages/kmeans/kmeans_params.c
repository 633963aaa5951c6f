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
    [K] = {.key = "k",
           .kind = PARAM_RANGE,
           .text = "8",
           .min = 1,
           .max = (double)KMEANS_POINTS_MAX,
           .help = "number of clusters; 2-12: each of them, and the best by silhouette"},
    [SCALE] = {.key = "scale",
               .kind = PARAM_CHOICE,
               .text = "none",
               .choices = "none|unit|range",
               .help = "scale columns to a standard deviation, or a range, of 1"},
    [INIT] = {.key = "init",
              .kind = PARAM_CHOICE,
              .text = "k-means++",
              .choices = "k-means++|random|first",
              .help = "the first centroids: by k-means++, random points, or the first k"},
    [SEED] = {.key = "seed",
              .kind = PARAM_COUNT,
              .text = "0",
              .min = 0,
              .max = 0x1p53,
              .help = "seed of the random numbers"},
    [MAX_ITER] = {.key = "max_iter",
                  .kind = PARAM_COUNT,
                  .text = "300",
                  .min = 1,
                  .max = 1000000000,
                  .help = "the most iterations of a run"},
    [TOL] = {.key = "tol",
             .kind = PARAM_REAL,
             .text = "1e-4",
             .min = 0,
             .max = 1e9,
             .help = "stop when centroids move less, relative to the columns' mean variance"},
    [N_INIT] = {.key = "n_init",
                .kind = PARAM_COUNT,
                .text = "10",
                .min = 1,
                .max = 1000,
                .help = "runs from different first centroids, of which the best is taken"},
    [MISSING] = {.key = "missing",
                 .kind = PARAM_CHOICE,
                 .text = "reject",
                 .choices = "reject|drop",
                 .help = "rows with missing values: fail, or leave them out"},
    [CENTROIDS] = {.key = "centroids",
                   .kind = PARAM_CHOICE,
                   .text = "none",
                   .choices = "none|file",
                   .help = "file: label points by the centroids in X.centroids.*"},
    [CENTROIDS_COLUMNS] = {.key = "centroids_columns",
                           .kind = PARAM_TEXT,
                           .text = "",
                           .max = 4096,
                           .help = "CSV: the columns of X.centroids.* to read"},
    [FACTORS] = {.key = "factors",
                 .kind = PARAM_NUMBERS,
                 .text = "",
                 .help = "a, b, ...: scale the columns by these, not by scale"},
    [WEIGHT] = {.key = "weight",
                .kind = PARAM_TEXT,
                .text = "",
                .max = 4096,
                .help = "the column of the points' weights"},
    [AXES] = {.key = "axes",
              .kind = PARAM_TEXT,
              .text = "",
              .max = 4096,
              .help = "two columns for the picture, in place of components"},
    [FIGURE] = STAGE_FIGURE_SPEC,
};

struct kmeans_choice kmeans_choose(const struct stage_args *args)
{
    const struct param_value *p = args->params;
    const bool given = p[CENTROIDS].index == 1;
    const enum kmeans_init init = given ? KMEANS_INIT_GIVEN : (enum kmeans_init)p[INIT].index;
    const bool is_one = given || init == KMEANS_INIT_FIRST; /* every run would be the same */
    return (struct kmeans_choice){.figure = (enum figure_format)p[FIGURE].index,
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
