/*
 * kmeans_room - all memory of a k-means job.
 *
 * The buffers of a queue are counted, what tasks of the CPU take for themselves is not.
 */
#include "stages/kmeans/kmeans_job.h"
#include "stages/kmeans/kmeans_plot.h"

enum { GROWING_BYTES = 2 << 20 /* what a file and an array that grow hold */ };

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* kmeans_model_bytes(k, d): so much, as much again for each cluster, and for the trials of seeds.
 */
static enum status model_room(struct room *room, size_t k, size_t d, struct span *out)
{
    const size_t without = kmeans_model_bytes(0, d), each = kmeans_model_bytes(1, d) - without;
    size_t bytes;
    if (__builtin_mul_overflow(k, each, &bytes) || bytes > SIZE_MAX / 2) {
        room_count(room, 0, UINT64_MAX);
        return STATUS_OK;
    }
    return room_span(room, 1, kmeans_model_bytes(k, d), out);
}

static enum status runs_room(struct kmeans_job *job, struct room *room)
{
    const size_t k = job->choice.k_last, d = job->layout.n_columns;
    STATUS_TRY(room_host(room, job->layout.width, sizeof *job->runs, &job->runs));
    for (size_t r = 0; r < job->layout.width; r++) {
        struct kmeans_run run = {0};
        STATUS_TRY(model_room(room, k, d, &run.at));
        if (job->choice.init != KMEANS_INIT_PLUS) {
            STATUS_TRY(room_host(room, k, sizeof *run.start, &run.start));
            STATUS_TRY(room_host(room, k, d * sizeof *run.centroids, &run.centroids));
        }
        if (job->runs != NULL) {
            job->runs[r] = run;
        }
    }
    room_count(room, 0, (uint64_t)k * (d + 2) * KMEANS_SCRATCH_NUMBER + KMEANS_SCRATCH_BESIDE);
    if (job->args.host_limit > 0) { /* of a device's blocks */
        room_count(room, 0, kmeans_trials(k) * kmeans_trials(k) * (uint64_t)KMEANS_SCRATCH_DRAWN);
    }
    return STATUS_OK;
}

static enum status sample_room(struct kmeans_sample *s, struct room *room, size_t most,
                               size_t n_columns)
{
    const size_t rows = most + 1; /* one too many makes the threshold fall */
    *s = kmeans_sample_of(most, n_columns);
    STATUS_TRY(room_host(room, rows, n_columns * sizeof *s->cells, &s->cells));
    STATUS_TRY(room_host(room, rows, sizeof *s->number, &s->number));
    return room_host(room, rows, sizeof *s->word, &s->word);
}

/* Of a table of unknown length a sample may be as large as any. */
static enum status samples_room(struct kmeans_job *job, struct room *room)
{
    const struct kmeans_layout *const l = &job->layout;
    const size_t n = l->n_known ? at_most(l->n, l->sample) : l->sample,
                 shown = l->n_known ? at_most(l->n, KMEANS_SCATTER_MOST) : KMEANS_SCATTER_MOST;
    const size_t n_distances = n * (n + 1) / 2 + 1, bytes = n_distances * sizeof(double);
    STATUS_TRY(sample_room(&job->samples[KMEANS_OF_SILHOUETTE], room, n, l->n_columns));
    STATUS_TRY(
        sample_room(&job->samples[KMEANS_OF_SCATTER], room, shown, at_most(l->n_columns, 2)));
    STATUS_TRY(room_host(room, shown + 1, sizeof *job->scatter, &job->scatter));
    STATUS_TRY(room_host(room, n_distances, sizeof(double), &job->distances));
    /* the pictures are drawn when the distances are no longer needed */
    room_count(room, KMEANS_PLOT_BYTES > bytes ? KMEANS_PLOT_BYTES - bytes : 0, 0);
    STATUS_TRY(room_span(room, n, l->n_columns * sizeof(double), &job->sample_at));
    return room_span(room, n, sizeof(int32_t), &job->sample_labels);
}

static enum status fits_room(struct kmeans_job *job, struct room *room)
{
    const size_t k = job->choice.k_last, d = job->layout.n_columns;
    struct kmeans_fit *const fits[] = {&job->best, &job->candidate};
    for (size_t i = 0; i < 2; i++) {
        STATUS_TRY(room_host(room, k, d * sizeof(double), &fits[i]->centroids));
        STATUS_TRY(room_host(room, job->samples[KMEANS_OF_SILHOUETTE].most + 1, sizeof(int32_t),
                             &fits[i]->sample));
    }
    STATUS_TRY(room_host(room, k - job->choice.k_first + 1, sizeof *job->ks, &job->ks));
    STATUS_TRY(room_host(room, k, sizeof *job->count, &job->count));
    return room_host(room, k, sizeof *job->within, &job->within);
}

static enum status columns_room(struct kmeans_job *job, struct room *room)
{
    const size_t d = job->layout.n_columns;
    double **const arrays[] = {&job->min,  &job->max,  &job->weight,
                               &job->unit, &job->mean, &job->square_unit};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        STATUS_TRY(room_host(room, d, sizeof(double), arrays[i]));
    }
    STATUS_TRY(room_host(room, d, sizeof *job->squares, &job->squares));
    STATUS_TRY(room_host(room, d, dtype_bytes(job->layout.type), &job->line));
    room_count(room, 4 * (job->args.inputs[0].table->names_bytes + d * 24), 0); /* in results */
    return model_room(room, 1, d, &job->all.at);
}

enum status kmeans_block_room(struct kmeans_job *job, struct room *room, size_t n,
                              struct kmeans_block *out)
{
    const struct kmeans_layout *const l = &job->layout;
    *out = (struct kmeans_block){.capacity = n};
    STATUS_TRY(room_span(room, n, l->n_columns * dtype_bytes(l->type), &out->at));
    return room_span(room, n, kmeans_memory_bytes(1), &out->memory);
}

/* Names: their buffer doubles, that of where they begin grows by half. */
static enum status resident_room(struct kmeans_job *job, struct room *room)
{
    const struct kmeans_layout *const l = &job->layout;
    const size_t listed = kmeans_list_bytes(1, job->choice.k_last, l->n_columns);
    struct room names = {0};
    void *none;
    room_count(room, (uint64_t)KMEANS_LABEL_PIECE * sizeof(int32_t), l->n * (listed + listed / 4));
    if (l->has_names) {
        STATUS_TRY(room_host(&names, l->n, 3 * sizeof(size_t) / 2 + (size_t)2 * KMEANS_NAMES_A_ROW,
                             &none));
        room_count(room, names.host, 0);
        room_count(room, 2 * KMEANS_NAMES_BESIDE, 0);
    }
    job->n_blocks = 1;
    return kmeans_block_room(job, room, l->n, &job->blocks[0]);
}

static enum status streamed_room(struct kmeans_job *job, struct room *room)
{
    const struct kmeans_layout *const l = &job->layout;
    const size_t row_bytes = l->n_columns * dtype_bytes(l->type);
    const uint64_t left = 2 * KMEANS_LABEL_PIECE + 4 * (uint64_t)l->unit; /* gathered, or leave */
    for (size_t i = 0; i < 2; i++) {
        STATUS_TRY(room_span(room, l->unit, row_bytes, &job->staging[i]));
    }
    room_count(room, left * sizeof(int32_t), 0);
    return room_span(room, l->unit, sizeof(int32_t), &job->scratch);
}

enum status kmeans_room(struct kmeans_job *job, struct room *room)
{
    const struct kmeans_layout *const l = &job->layout;
    const uint64_t kept = job->choice.drop ? 2 * (l->n / KMEANS_KEPT_ROWS + 1) : 0;
    room_count(room, kept * sizeof(struct kmeans_kept) + GROWING_BYTES, 0);
    job->rows =
        (struct rows){.width = l->n_columns, .type = l->type, .n_across = l->by_columns ? l->n : 0};
    STATUS_TRY(rows_room(&job->rows, room));
    STATUS_TRY(columns_room(job, room));
    STATUS_TRY(runs_room(job, room));
    STATUS_TRY(samples_room(job, room));
    STATUS_TRY(fits_room(job, room));
    return l->resident ? resident_room(job, room) : streamed_room(job, room);
}
