/*
 * kmeans_labels - what the last pass leaves: the cluster of every point by the best centroids.
 *
 * Labels of points that stay in memory remain beside them. Others are gathered on the host, from
 * where they leave while input streams (kmeans_files).
 */
#include "stages/kmeans/kmeans_job.h"

#include <stdlib.h>

/* Keeps the labels of the picture's points among n labels, from point `first` on. */
static void keep_scatter(struct kmeans_job *job, const int32_t *labels, size_t n, uint64_t first)
{
    const struct kmeans_sample *const s = &job->shown;
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

enum status kmeans_labels_take(void *context, const struct kmeans_points *x, struct span labels)
{
    struct kmeans_job *const job = context;
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

enum status kmeans_labels_end(struct kmeans_job *job)
{
    const size_t left = job->layout.resident ? 0 : job->n_rows - n_gathered(job);
    STATUS_TRY(need_labels(job, left));
    kmeans_kept_spread(job, job->n_rows - left, left, job->labels->at + job->labels->n);
    job->labels->n += left;
    return kmeans_files_labels(job, true);
}
