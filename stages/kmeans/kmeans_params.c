/*
 * kmeans_params - the parameters of a k-means job, and what they say.
 */
#include "formats/base/checked.h"
#include "stages/kmeans/kmeans_layout.h"

#include <ctype.h>

enum { K, SCALE, INIT, SEED, MAX_ITER, TOL, N_INIT, MISSING, FIGURE };

const struct param_spec kmeans_specs[KMEANS_N_SPECS] = {
    [K] = {.key = "k",
           .kind = PARAM_TEXT,
           .text = "8",
           .min = 1,
           .max = 32,
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
    [FIGURE] = STAGE_FIGURE_SPEC,
};

/* A whole number from `text` on, ended by *end; 0 where there is none, or one that is too large. */
static size_t read_count(const char *text, const char **end)
{
    size_t n = 0;
    *end = text;
    for (; isdigit((unsigned char)**end); ++*end) {
        if (!checked_mul(n, 10, &n) || !checked_add(n, (size_t)(**end - '0'), &n)) {
            n = SIZE_MAX;
        }
    }
    return n <= KMEANS_POINTS_MAX ? n : 0;
}

static enum status choose_k(const char *text, struct kmeans_choice *out)
{
    const char *end = text;
    out->request.k_first = out->request.k_last = read_count(text, &end);
    out->is_range = *end == '-';
    if (out->is_range) {
        out->request.k_last = read_count(end + 1, &end);
    }
    if (*end != '\0' || out->request.k_first == 0 || out->request.k_last == 0) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "k: '%s' is neither a number of clusters from 1 to %zu nor a range of "
                           "them; write 8, or 2-12",
                           text, KMEANS_POINTS_MAX);
    }
    if (out->request.k_last < out->request.k_first) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "k: the range '%s' ends before it begins; write %zu-%zu", text,
                           out->request.k_last, out->request.k_first);
    }
    if (out->request.k_last - out->request.k_first >= 1000) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "k: the range '%s' has more than 1000 numbers; take a part of it", text);
    }
    return STATUS_OK;
}

enum status kmeans_choose(const struct stage_args *args, struct kmeans_choice *out)
{
    const struct param_value *p = args->params;
    *out = (struct kmeans_choice){.figure = (enum figure_format)p[FIGURE].index,
                                  .drop = p[MISSING].index == 1,
                                  .request = {.scale = (enum kmeans_scale)p[SCALE].index,
                                              .init = (enum kmeans_init)p[INIT].index,
                                              .seed = p[SEED].count,
                                              .max_iter = p[MAX_ITER].count,
                                              .tol = p[TOL].real,
                                              .n_init = (size_t)p[N_INIT].count}};
    STATUS_TRY(choose_k(p[K].text, out));
    if (out->request.init == KMEANS_INIT_FIRST) { /* every run would be the same */
        out->request.n_init = 1;
    }
    return STATUS_OK;
}
