/*
 * kmeans_labels - the last pass: the cluster of every point by the best centroids, and what the
 * clusters hold.
 *
 * Labels of points that stay in memory remain beside them. Others are gathered on the host, from
 * where they leave while input streams (kmeans_files).
 */
#include "stages/kmeans/kmeans_job.h"

#include <stdlib.h>

static enum status begin(struct kmeans_job *job)
{
    const struct kmeans_fit *const fit = &job->best;
    room_give_back(&job->io->room, job->distances);
    STATUS_TRY(kmeans_model_begin(job, fit->k, job->runs[0].at, &job->model));
    return kmeans_model_put(job, &job->model, KMEANS_CENTROID, fit->centroids,
                            fit->k * job->layout.n_columns * sizeof(double));
}

/* Keeps the labels of the picture's points among n labels, from point `first` on. */
static void keep_scatter(struct kmeans_job *job, const int32_t *labels, size_t n, uint64_t first)
{
    const struct kmeans_sample *const s = &job->samples[KMEANS_OF_SCATTER];
    while (job->n_scatter < s->n && s->number[job->n_scatter] < first + n) {
        job->scatter[job->n_scatter] = labels[s->number[job->n_scatter] - first];
        job->n_scatter++;
    }
}

/* Room for as many more labels on the host. */
static enum status need_labels(struct kmeans_job *job, size_t more)
{
    const size_t n = job->labels != NULL ? job->labels->n : 0;
    if (job->labels != NULL && n + more <= job->labels->capacity) {
        return STATUS_OK;
    }
    struct kmeans_labels *labels =
        realloc(job->labels, sizeof *labels + (n + more) * sizeof *labels->at);
    if (labels == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu labels", n + more);
    }
    labels->n = n;
    labels->capacity = n + more;
    job->labels = labels;
    return STATUS_OK;
}

/* Rows whose labels have been gathered, or have left. */
static uint64_t n_gathered(const struct kmeans_job *job)
{
    return job->n_left + (job->labels != NULL ? job->labels->n : 0);
}

static enum status visit(struct kmeans_job *job, const struct kmeans_points *x, struct span labels)
{
    STATUS_TRY(job->kernels->label(job->queue, x, &job->model, labels));
    for (size_t i = 0, n; i < x->n; i += n) {
        n = x->n - i < KMEANS_LABEL_PIECE ? x->n - i : KMEANS_LABEL_PIECE;
        const uint64_t row = n_gathered(job);
        const size_t n_rows = job->layout.resident
                                  ? n
                                  : (size_t)(kmeans_kept_row(job, x->first + i + n - 1) + 1 - row);
        STATUS_TRY(need_labels(job, n_rows));
        int32_t *const rows = job->labels->at + job->labels->n, *const to = rows + (n_rows - n);
        STATUS_TRY(
            job->ops->download(job->queue, to, span_from(labels, i * sizeof *to), n * sizeof *to));
        keep_scatter(job, to, n, x->first + i);
        if (!job->layout.resident) {
            kmeans_kept_spread(job, row, n_rows, rows);
            job->labels->n += n_rows;
        }
    }
    return job->layout.resident ? STATUS_OK : kmeans_files_labels(job, false);
}

static enum status end(struct kmeans_job *job)
{
    struct kmeans_fit *const fit = &job->best;
    const size_t k = fit->k, left = job->layout.resident ? 0 : job->n_rows - n_gathered(job);
    STATUS_TRY(need_labels(job, left)); /* of rows behind the last point */
    kmeans_kept_spread(job, job->n_rows - left, left, job->labels->at + job->labels->n);
    job->labels->n += left;
    STATUS_TRY(
        kmeans_model_get(job, &job->model, KMEANS_COUNT, job->count, k * sizeof *job->count));
    STATUS_TRY(kmeans_model_inertia(job, &job->model, job->within, &fit->inertia));
    for (size_t c = 0; c < k; c++) {
        job->n_nonzero += job->count[c] > 0;
    }
    job->ks[k - job->choice.k_first].inertia = fit->inertia;
    return STATUS_OK;
}

enum status kmeans_labels(struct kmeans_job *job)
{
    STATUS_TRY(begin(job));
    STATUS_TRY(kmeans_points_visit(job, visit));
    STATUS_TRY(end(job));
    return kmeans_files_labels(job, true);
}
