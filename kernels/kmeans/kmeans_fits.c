/*
 * kmeans_fits - the outcomes of runs: the best of a k is that with the least inertia, the best k
 * that with the largest silhouette, in the order of runs; equal ones do not replace earlier ones.
 */
#include "kernels/backend.h"
#include "kernels/kmeans/kmeans_solve_state.h"

#include <math.h>
#include <stdlib.h>

/* The silhouette's sample goes to the backend, where its points are labelled. */
enum status kmeans_fits_begin(struct kmeans_solve *s)
{
    const struct kmeans_sample *const of = &s->sample;
    const size_t bytes = of->n * of->n_columns * sizeof(double);
    uint64_t ticket;
    kmeans_sample_distances(of, s->weight, s->distances);
    STATUS_TRY(s->ops->upload(s->queue, s->sample_at, of->cells, bytes, &ticket));
    return s->ops->upload_wait(s->queue, ticket);
}

/* Labels of the silhouette's sample by the model; its counts are of no use then. */
static enum status label_sample(struct kmeans_solve *s, const struct kmeans_model *m, int32_t *out)
{
    const struct kmeans_sample *const of = &s->sample;
    const struct kmeans_points x = {
        .at = s->sample_at, .type = DTYPE_F64, .n = of->n, .n_columns = of->n_columns};
    STATUS_TRY(s->kernels->label(s->queue, &x, m, s->sample_labels));
    return s->ops->download(s->queue, out, s->sample_labels, of->n * sizeof *out);
}

/* All runs of a k are there: its line, and whether it is the best one so far. */
static enum status end_k(struct kmeans_solve *s)
{
    const struct kmeans_fit fit = s->candidate;
    double silhouette;
    STATUS_TRY(kmeans_sample_silhouette(s->distances, fit.sample, s->sample.n, fit.k, &silhouette));
    s->ks[s->n_ks++] = (struct kmeans_k){.k = fit.k,
                                         .inertia = fit.inertia,
                                         .silhouette = silhouette,
                                         .n_iterations = fit.state.n_iterations,
                                         .converged = fit.state.done != 0};
    const double than = s->best.silhouette;
    if (s->best.k == 0 || silhouette > than || (isnan(than) && !isnan(silhouette))) {
        s->candidate = s->best;
        s->best = fit;
        s->best.silhouette = silhouette;
    }
    s->candidate.k = 0;
    return STATUS_OK;
}

enum status kmeans_fits_take(struct kmeans_solve *s, const struct kmeans_run *run)
{
    struct kmeans_fit *const fit = &s->candidate;
    const bool is_last = run->restart + 1 == s->request.n_init;
    double inertia = NAN;
    if (kmeans_n_runs(&s->request) > 1) {
        STATUS_TRY(kmeans_model_inertia(s, &run->model, NULL, &inertia));
    }
    if (fit->k == 0 || inertia < fit->inertia) {
        fit->k = run->k;
        fit->state = run->state;
        fit->inertia = inertia;
        STATUS_TRY(kmeans_model_get(s, &run->model, KMEANS_CENTROID, fit->centroids,
                                    run->k * s->request.n_columns * sizeof(double)));
        STATUS_TRY(label_sample(s, &run->model, fit->sample));
    }
    return is_last ? end_k(s) : STATUS_OK;
}
