#include "kernels/kmeans/kmeans_resident.h"

enum { STRIP_BYTES = 1 << 20 };

static size_t row_bytes_of(const struct kmeans_request *r)
{
    return r->n_columns * dtype_bytes(r->type);
}

enum status kmeans_block_room(const struct kmeans_request *r, struct room *room, size_t n,
                              struct kmeans_block *out)
{
    const size_t listed = kmeans_list_bytes(1, r->k_last, r->n_columns);
    *out = (struct kmeans_block){.capacity = n};
    room_count(room, 0, n * (listed + listed / 4));
    STATUS_TRY(room_span(room, n, row_bytes_of(r), &out->at));
    return room_span(room, n, kmeans_memory_bytes(1), &out->memory);
}

enum status kmeans_block_visit(const struct kmeans_request *r, const struct kmeans_block *block,
                               kmeans_visit_fn *visit, void *arg)
{
    const struct kmeans_points x = {.at = block->at,
                                    .type = r->type,
                                    .n = block->n,
                                    .n_columns = r->n_columns,
                                    .first = block->first};
    return block->n > 0 ? visit(arg, &x, block->memory) : STATUS_OK;
}

/* --- arrays ---------------------------------------------------------------------------------- */

static size_t strip_rows(const struct kmeans_array_source *a)
{
    return STRIP_BYTES / row_bytes_of(&a->solve->request) + 1;
}

enum status kmeans_array_room(struct kmeans_array_source *a, struct room *room)
{
    const struct kmeans_request *const r = &a->solve->request;
    STATUS_TRY(kmeans_block_room(r, room, a->n, &a->block));
    return room_host(room, strip_rows(a), row_bytes_of(r), &a->strip);
}

/* Uploads all rows, strip by strip; the sample sees them. */
static enum status upload(struct kmeans_array_source *a)
{
    struct kmeans_solve *const s = a->solve;
    struct kmeans_sample *const sample = &s->sample;
    const size_t bytes = row_bytes_of(&s->request);
    for (size_t n, most = strip_rows(a); a->block.n < a->n; a->block.n += n) {
        const size_t first = a->block.n, left = a->n - first;
        uint64_t ticket;
        n = left < most ? left : most;
        for (size_t i = 0; i < n; i++) {
            memcpy((char *)a->strip + i * bytes, (const char *)a->rows + (first + i) * a->row_bytes,
                   bytes);
        }
        const struct kmeans_rows rows = {.cells = a->strip,
                                         .type = s->request.type,
                                         .n = n,
                                         .n_columns = s->request.n_columns,
                                         .first = first};
        kmeans_sample_take(&sample, 1, s->request.seed, &rows);
        STATUS_TRY(queue_check(s->queue));
        STATUS_TRY(s->ops->upload(s->queue, span_from(a->block.at, first * bytes), a->strip,
                                  n * bytes, &ticket));
        STATUS_TRY(s->ops->upload_wait(s->queue, ticket));
    }
    return STATUS_OK;
}

enum status kmeans_array_visit(void *context, kmeans_visit_fn *visit, void *arg)
{
    struct kmeans_array_source *const a = context;
    STATUS_TRY(upload(a));
    return kmeans_block_visit(&a->solve->request, &a->block, visit, arg);
}

enum status kmeans_array_labels(void *context, const struct kmeans_points *x, struct span labels)
{
    const struct kmeans_array_source *const a = context;
    const struct kmeans_solve *const s = a->solve;
    return s->ops->download(s->queue, a->labels + x->first, labels, x->n * sizeof *a->labels);
}
