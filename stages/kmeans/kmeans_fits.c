/*
 * kmeans_fits - the outcomes of runs: the best of a k is that with the least inertia, the best k
 * that with the largest silhouette, in the order of runs; equal ones do not replace earlier ones.
 */
#include "stages/kmeans/kmeans_job.h"

#include <math.h>
#include <stdlib.h>

/* The silhouette's sample goes to the backend, where its points are labelled. */
enum status kmeans_fits_begin(struct kmeans_job *job)
{
    const struct kmeans_sample *const s = &job->samples[KMEANS_OF_SILHOUETTE];
    const size_t bytes = s->n * s->n_columns * sizeof(double);
    uint64_t ticket;
    kmeans_sample_distances(s, job->weight, job->distances);
    STATUS_TRY(job->ops->upload(job->queue, job->sample_at, s->cells, bytes, &ticket));
    return job->ops->upload_wait(job->queue, ticket);
}

/* Labels of the silhouette's sample by the model; its counts are of no use then. */
static enum status label_sample(struct kmeans_job *job, const struct kmeans_model *m, int32_t *out)
{
    const struct kmeans_sample *const s = &job->samples[KMEANS_OF_SILHOUETTE];
    const struct kmeans_points x = {
        .at = job->sample_at, .type = DTYPE_F64, .n = s->n, .n_columns = s->n_columns};
    STATUS_TRY(job->kernels->label(job->queue, &x, m, job->sample_labels));
    return job->ops->download(job->queue, out, job->sample_labels, s->n * sizeof *out);
}

/* All runs of a k are there: its line, and whether it is the best one so far. */
static enum status end_k(struct kmeans_job *job)
{
    const struct kmeans_fit fit = job->candidate;
    double silhouette;
    STATUS_TRY(kmeans_sample_silhouette(job->distances, fit.sample,
                                        job->samples[KMEANS_OF_SILHOUETTE].n, fit.k, &silhouette));
    job->ks[job->n_ks++] = (struct kmeans_k){.k = fit.k,
                                             .inertia = fit.inertia,
                                             .silhouette = silhouette,
                                             .n_iterations = fit.state.n_iterations,
                                             .converged = fit.state.done != 0};
    const double than = job->best.silhouette;
    if (job->best.k == 0 || silhouette > than || (isnan(than) && !isnan(silhouette))) {
        job->candidate = job->best;
        job->best = fit;
        job->best.silhouette = silhouette;
    }
    job->candidate.k = 0;
    return STATUS_OK;
}

enum status kmeans_fits_take(struct kmeans_job *job, const struct kmeans_run *run)
{
    struct kmeans_fit *const fit = &job->candidate;
    const bool is_last = run->restart + 1 == job->choice.n_init;
    double inertia = NAN;
    if (kmeans_n_runs(&job->choice) > 1) {
        STATUS_TRY(kmeans_model_inertia(job, &run->model, NULL, &inertia));
    }
    if (fit->k == 0 || inertia < fit->inertia) {
        fit->k = run->k;
        fit->state = run->state;
        fit->inertia = inertia;
        STATUS_TRY(kmeans_model_get(job, &run->model, KMEANS_CENTROID, fit->centroids,
                                    run->k * job->layout.n_columns * sizeof(double)));
        STATUS_TRY(label_sample(job, &run->model, fit->sample));
    }
    return is_last ? end_k(job) : STATUS_OK;
}
