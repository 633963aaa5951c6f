/*
 * kmeans_room - all memory of a k-means job. The buffers of a queue are counted, what tasks of the
 * CPU take for themselves is not.
 */
#include "stages/kmeans/kmeans_job.h"
#include "stages/kmeans/kmeans_plot.h"

enum { GROWING_BYTES = 2 << 20 /* what a file and an array that grow hold */ };

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

static struct kmeans_request request_of(const struct kmeans_job *job)
{
    const struct kmeans_layout *const l = &job->layout;
    struct kmeans_request r = job->choice.request;
    r.n_columns = l->n_columns;
    r.type = l->type;
    r.resident = l->resident;
    r.width = l->width;
    r.n_sample = l->n_known ? at_most(l->n, l->sample) : l->sample;
    return r;
}

/* The sample of a table of unknown length may be as large as any. The pictures are drawn when the
 * silhouette's distances are no longer needed. */
static enum status picture_room(struct kmeans_job *job, struct room *room)
{
    const struct kmeans_layout *const l = &job->layout;
    const size_t n = job->solve.request.n_sample, distances = n * (n + 1) / 2 * sizeof(double);
    const size_t shown = l->n_known ? at_most(l->n, KMEANS_SCATTER_MOST) : KMEANS_SCATTER_MOST;
    room_count(room, KMEANS_PLOT_BYTES > distances ? KMEANS_PLOT_BYTES - distances : 0, 0);
    STATUS_TRY(room_host(room, shown + 1, sizeof *job->scatter, &job->scatter));
    return kmeans_sample_room(&job->shown, room, shown, at_most(l->n_columns, 2));
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
    const size_t listed = kmeans_list_bytes(1, job->choice.request.k_last, l->n_columns);
    struct room names = {0};
    void *none;
    room_count(room, (uint64_t)KMEANS_LABEL_PIECE * sizeof(int32_t), l->n * (listed + listed / 4));
    if (l->has_names) {
        STATUS_TRY(room_host(&names, l->n, 3 * sizeof(size_t) / 2 + (size_t)2 * KMEANS_NAMES_A_ROW,
                             &none));
        room_count(room, names.host, 0);
        room_count(room, 2 * (uint64_t)KMEANS_NAMES_BESIDE, 0);
    }
    job->n_blocks = 1;
    return kmeans_block_room(job, room, l->n, &job->blocks[0]);
}

static enum status streamed_room(struct kmeans_job *job, struct room *room)
{
    const struct kmeans_layout *const l = &job->layout;
    const size_t row_bytes = l->n_columns * dtype_bytes(l->type);
    const uint64_t left =
        2 * (uint64_t)KMEANS_LABEL_PIECE + 4 * (uint64_t)l->unit; /* gathered, or leave */
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
    const size_t t = kmeans_trials(job->choice.request.k_last);
    room_count(room, kept * sizeof(struct kmeans_kept) + GROWING_BYTES, 0);
    room_count(room, 4 * (job->args.inputs[0].table->names_bytes + l->n_columns * 24), 0);
    room_count(room, 0, job->args.host_limit > 0 ? kmeans_drawn_bytes(t) : 0);
    job->rows =
        (struct rows){.width = l->n_columns, .type = l->type, .n_across = l->by_columns ? l->n : 0};
    job->solve.request = request_of(job);
    STATUS_TRY(rows_room(&job->rows, room));
    STATUS_TRY(kmeans_solve_room(&job->solve, room));
    STATUS_TRY(picture_room(job, room));
    return l->resident ? resident_room(job, room) : streamed_room(job, room);
}
