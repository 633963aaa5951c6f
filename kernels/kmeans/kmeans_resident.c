#include "kernels/kmeans/kmeans_resident.h"

enum { STRIP_BYTES = 1 << 20, ALIGN = 256 };

static size_t row_bytes_of(const struct kmeans_request *r)
{
    return r->n_columns * dtype_bytes(r->type);
}

/* What points remember, and what kernels may list of them. */
static enum status memory_room(const struct kmeans_request *r, struct room *room, size_t n,
                               struct span *out)
{
    const size_t listed = kmeans_list_bytes(1, r->k_last, r->n_columns);
    room_count(room, 0, n * (listed + listed / 4));
    return room_span(room, n, kmeans_memory_bytes(1), out);
}

enum status kmeans_block_room(const struct kmeans_request *r, struct room *room, size_t n,
                              struct kmeans_block *out)
{
    *out = (struct kmeans_block){.capacity = n};
    STATUS_TRY(room_span(room, n, row_bytes_of(r), &out->at));
    return memory_room(r, room, n, &out->memory);
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
    return a->rows == NULL ? 1 : STRIP_BYTES / row_bytes_of(&a->solve->request) + 1;
}

/* As kernels want their memory: points need not be copied. */
static bool is_in_place(const struct kmeans_array_source *a)
{
    return a->rows == NULL && (uintptr_t)a->there.at % ALIGN == 0;
}

enum status kmeans_array_room(struct kmeans_array_source *a, struct room *room)
{
    const struct kmeans_request *const r = &a->solve->request;
    if (is_in_place(a)) {
        a->block = (struct kmeans_block){.at = a->there, .capacity = a->n};
        STATUS_TRY(memory_room(r, room, a->n, &a->block.memory));
    } else {
        STATUS_TRY(kmeans_block_room(r, room, a->n, &a->block));
    }
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

/* All rows, which are on the backend: those of the sample are fetched, once it is known. */
static enum status take_there(struct kmeans_array_source *a)
{
    struct kmeans_solve *const s = a->solve;
    struct kmeans_sample *const sample = &s->sample;
    const size_t bytes = row_bytes_of(&s->request), columns = s->request.n_columns;
    const struct kmeans_rows all = {.type = s->request.type, .n = a->n, .n_columns = columns};
    const struct kmeans_rows one = {.cells = a->strip, .type = all.type, .n = 1};
    if (!is_in_place(a)) {
        STATUS_TRY(s->ops->copy(s->queue, a->block.at, a->there, a->n * bytes));
    }
    kmeans_sample_take(&sample, 1, s->request.seed, &all);
    for (size_t i = 0; i < sample->n; i++) {
        const struct span row = span_from(a->there, sample->number[i] * bytes);
        STATUS_TRY(s->ops->download(s->queue, a->strip, row, bytes));
        for (size_t c = 0; c < columns; c++) {
            sample->cells[i * columns + c] = kmeans_rows_cell(&one, c);
        }
    }
    a->block.n = a->n;
    return STATUS_OK;
}

enum status kmeans_array_visit(void *context, kmeans_visit_fn *visit, void *arg)
{
    struct kmeans_array_source *const a = context;
    if (a->rows != NULL) {
        STATUS_TRY(upload(a));
    } else if (a->block.n == 0) {
        STATUS_TRY(take_there(a));
    }
    return kmeans_block_visit(&a->solve->request, &a->block, visit, arg);
}

enum status kmeans_array_labels(void *context, const struct kmeans_points *x, struct span labels)
{
    const struct kmeans_array_source *const a = context;
    const struct kmeans_solve *const s = a->solve;
    return s->ops->download(s->queue, a->labels + x->first, labels, x->n * sizeof *a->labels);
}
