#include "stages/base/rows.h"

#include <string.h>

enum status rows_room(struct rows *rows, struct room *room)
{
    return room_pinned(room, rows->width, dtype_bytes(rows->type), &rows->split);
}

/* Whole rows are there: those that are kept wait for their upload. */
static enum status look_at(struct rows *rows, char *cells, size_t n)
{
    size_t n_kept = n;
    if (rows->look != NULL) {
        STATUS_TRY(rows->look(rows->context, cells, n, rows->n_seen, &n_kept));
    }
    rows->n_seen += n;
    rows->at = cells;
    rows->n_at = n_kept;
    return STATUS_OK;
}

/* Cells that begin or go on with a row that is not complete in its chunk. */
static enum status take_split(struct rows *rows, struct job_io *io)
{
    const size_t cell = dtype_bytes(rows->type), wanted = rows->width - rows->n_split;
    const size_t n = rows->n_rest < wanted ? rows->n_rest : wanted;
    STATUS_TRY(io->ops->upload_wait(io->queue, rows->split_ticket)); /* of the one before */
    memcpy(rows->split + rows->n_split * cell, rows->rest, n * cell);
    rows->n_split += n;
    rows->rest += n * cell;
    rows->n_rest -= n;
    if (rows->n_split < rows->width) {
        return STATUS_OK;
    }
    rows->n_split = 0;
    return look_at(rows, rows->split, 1);
}

/* The next of the chunk's cells become rows. */
static enum status take_rest(struct rows *rows, struct job_io *io)
{
    const size_t n = rows->n_rest / rows->width;
    char *const cells = rows->rest;
    if (rows->n_split > 0 || n == 0) {
        return take_split(rows, io);
    }
    rows->rest += n * rows->width * dtype_bytes(rows->type);
    rows->n_rest -= n * rows->width;
    return look_at(rows, cells, n);
}

static enum status upload(struct rows *rows, struct job_io *io, struct span to, size_t n)
{
    const size_t bytes = n * rows->width * dtype_bytes(rows->type);
    uint64_t *const ticket = rows->at == rows->split ? &rows->split_ticket : &io->ticket;
    STATUS_TRY(io->ops->upload(io->queue, to, rows->at, bytes, ticket));
    rows->at += bytes;
    rows->n_at -= n;
    return STATUS_OK;
}

/* Nothing that has come is left: the next chunk. *ends: there is none. */
static enum status pull(struct rows *rows, struct job_io *io, bool *ends)
{
    const struct table_chunk *chunk;
    STATUS_TRY(io_chunk(io, rows->part, &chunk));
    *ends = chunk == NULL;
    if (chunk != NULL) {
        rows->rest = chunk->values;
        rows->n_rest = chunk->n_cells;
    } else if (rows->n_split > 0) {
        return status_fail(STATUS_INTERNAL, "%s: the numbers end within row %llu",
                           io->args.inputs[rows->part].name, (unsigned long long)rows->n_seen + 1);
    }
    return STATUS_OK;
}

enum status rows_read(struct rows *rows, struct job_io *io, struct span to, size_t least,
                      size_t most, size_t *n)
{
    const size_t row_bytes = rows->width * dtype_bytes(rows->type);
    bool ends = false;
    *n = 0;
    while (*n < most && !ends) {
        if (rows->n_at > 0) {
            const size_t some = rows->n_at < most - *n ? rows->n_at : most - *n;
            STATUS_TRY(upload(rows, io, span_from(to, *n * row_bytes), some));
            *n += some;
        } else if (rows->n_rest > 0) {
            STATUS_TRY(take_rest(rows, io));
        } else if (*n >= least) {
            break;
        } else {
            STATUS_TRY(pull(rows, io, &ends));
        }
    }
    if (rows->n_rest == 0 && (rows->n_at == 0 || rows->at == rows->split)) {
        io_taken(io);
    }
    return STATUS_OK;
}
