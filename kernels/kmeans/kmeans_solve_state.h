/*
 * kmeans_solve_state - what the files of kmeans_solve share.
 */
#ifndef LEAT_KERNELS_KMEANS_KMEANS_SOLVE_STATE_H
#define LEAT_KERNELS_KMEANS_KMEANS_SOLVE_STATE_H

#include "kernels/backend.h"
#include "kernels/kmeans/kmeans_solve.h"

/* What a run needs of the next pass. */
enum kmeans_phase {
    KMEANS_DRAW,     /* the next of its first centroids, by k-means++ */
    KMEANS_GATHER,   /* all of its first centroids, by number */
    KMEANS_ASSIGN,   /* an iteration */
    KMEANS_FARTHEST, /* the farthest point, for an empty cluster */
    KMEANS_INERTIA,  /* to be compared with other runs */
    KMEANS_DONE
};

struct kmeans_run {
    struct span at; /* of its model */
    size_t k, restart;
    enum kmeans_phase phase;
    struct kmeans_model model;
    struct kmeans_state state; /* as of the last look */
    unsigned n_unseen;         /* iterations since then */
    uint64_t *start;   /* [k]: points, by number, that become the centroids; NULL for k-means++ */
    double *centroids; /* [k][d], likewise, of which so many are gathered: */
    size_t n_gathered;
};

static inline enum status kmeans_visit_all(struct kmeans_solve *s, kmeans_visit_fn *visit)
{
    STATUS_TRY(queue_check(s->queue));
    return s->source.visit(s->source.context, visit, s);
}

/* kmeans_scale: after the first pass: units, weights and the tolerance, from ranges and variances.
 */
enum status kmeans_scale(struct kmeans_solve *s) STATUS_MUST_CHECK;
/* kmeans_runs: Lloyd's iterations, of all runs. */
enum status kmeans_runs(struct kmeans_solve *s) STATUS_MUST_CHECK;
/* kmeans_fits: outcomes of runs. Before the first; of a run that is done, in their order. */
enum status kmeans_fits_begin(struct kmeans_solve *s) STATUS_MUST_CHECK;
enum status kmeans_fits_take(struct kmeans_solve *s,
                             const struct kmeans_run *run) STATUS_MUST_CHECK;

/* kmeans_model: a model of k clusters in memory for as many or more; arrays between it and the
 * host. */
enum status kmeans_model_begin(struct kmeans_solve *s, size_t k, struct span at,
                               struct kmeans_model *out) STATUS_MUST_CHECK;
enum status kmeans_model_put(struct kmeans_solve *s, const struct kmeans_model *m,
                             enum kmeans_field field, const void *from,
                             size_t bytes) STATUS_MUST_CHECK;
enum status kmeans_model_get(struct kmeans_solve *s, const struct kmeans_model *m,
                             enum kmeans_field field, void *to, size_t bytes) STATUS_MUST_CHECK;
/* Sums of squared distances by label(): of each cluster, unless `within` is NULL, and of all. */
enum status kmeans_model_inertia(struct kmeans_solve *s, const struct kmeans_model *m,
                                 double *within, double *inertia) STATUS_MUST_CHECK;
/* The sum of the masses of a cluster's points, by label(). */
enum status kmeans_model_mass(struct kmeans_solve *s, const struct kmeans_model *m, size_t cluster,
                              double *out) STATUS_MUST_CHECK;
/* The row of one of these points; valid until the next one. */
enum status kmeans_fetch_row(struct kmeans_solve *s, const struct kmeans_points *x, uint64_t point,
                             struct kmeans_rows *out) STATUS_MUST_CHECK;

#endif
