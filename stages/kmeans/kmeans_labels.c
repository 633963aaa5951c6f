/*
 * kmeans_labels - what the last pass leaves: the cluster of every point by the best centroids.
 *
 * They are gathered on the host, those of a piece of the array, and leave from there
 * (kmeans_files).
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

/* Room for those of a piece, or of all rows that are left. */
static enum status begin_piece(struct kmeans_job *job)
{
    const uint64_t left = job->n_rows - job->n_left;
    const size_t most = left < KMEANS_LABEL_PIECE ? (size_t)left : KMEANS_LABEL_PIECE;
    if (job->labels != NULL) {
        return STATUS_OK;
    }
    job->labels = malloc(sizeof *job->labels + most * sizeof *job->labels->at);
    if (job->labels == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu labels", most);
    }
    job->labels->n = 0;
    job->labels->most = most;
    return STATUS_OK;
}

/* Of rows up to `end`: `labels` are those of their points, from number `first` on. */
static enum status gather(struct kmeans_job *job, uint64_t end, uint64_t first, struct span labels)
{
    for (uint64_t row = job->n_left + (job->labels != NULL ? job->labels->n : 0); row < end;) {
        STATUS_TRY(begin_piece(job));
        struct kmeans_labels *const to = job->labels;
        const uint64_t point = kmeans_kept_before(job, row);
        const size_t room = to->most - to->n,
                     n_rows = end - row < room ? (size_t)(end - row) : room;
        const size_t n = (size_t)(kmeans_kept_before(job, row + n_rows) - point);
        int32_t *const rows = to->at + to->n, *const at = rows + (n_rows - n);
        if (n > 0) {
            const struct span from = span_from(labels, (size_t)(point - first) * sizeof *at);
            STATUS_TRY(job->ops->download(job->queue, at, from, n * sizeof *at));
            keep_scatter(job, at, n, point);
        }
        kmeans_kept_spread(job, row, n_rows, rows);
        to->n += n_rows;
        row += n_rows;
        STATUS_TRY(to->n == to->most ? kmeans_files_labels(job) : STATUS_OK);
    }
    return STATUS_OK;
}

enum status kmeans_labels_take(void *context, const struct kmeans_points *x, struct span labels)
{
    struct kmeans_job *const job = context;
    return gather(job, kmeans_kept_row(job, x->first + x->n - 1) + 1, x->first, labels);
}

enum status kmeans_labels_end(struct kmeans_job *job)
{
    return gather(job, job->n_rows, job->n, (struct span){0});
}
