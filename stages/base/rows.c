#include "stages/base/rows.h"

#include <string.h>

enum status rows_room(struct rows *rows, struct room *room)
{
    const size_t row_bytes = rows->width * dtype_bytes(rows->type);
    STATUS_TRY(rows->n_across > 0 ? room_host(room, rows->n_across, row_bytes, &rows->turned)
                                  : STATUS_OK);
    return room_pinned(room, 1, row_bytes, &rows->split);
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

/* Part of the columns of a table, into its rows. */
static enum status turn(struct rows *rows, const struct table_chunk *chunk)
{
    const size_t cell = dtype_bytes(rows->type);
    const char *const from = chunk->values;
    if (chunk->n_cells > rows->n_across * rows->width - rows->n_turned) {
        return status_fail(STATUS_INTERNAL, "more numbers than were announced");
    }
    for (size_t k = 0; k < chunk->n_cells; k++, rows->n_turned++) {
        const uint64_t row = rows->n_turned % rows->n_across, at = rows->n_turned / rows->n_across;
        memcpy(rows->turned + (row * rows->width + at) * cell, from + k * cell, cell);
    }
    return STATUS_OK;
}

static enum status cut_row(const struct rows *rows, const struct job_io *io)
{
    return status_fail(STATUS_INTERNAL, "%s: the numbers end within row %llu",
                       io->args.inputs[rows->part].name, (unsigned long long)rows->n_seen + 1);
}

/* Nothing that has come is left: the next cells. *ends: there are none. */
static enum status pull(struct rows *rows, struct job_io *io, bool *ends)
{
    const struct table_chunk *chunk;
    STATUS_TRY(io_chunk(io, rows->part, &chunk));
    *ends = chunk == NULL;
    if (chunk != NULL) {
        STATUS_TRY(rows->chunk != NULL ? rows->chunk(rows->context, chunk) : STATUS_OK);
        if (rows->n_across > 0) {
            return turn(rows, chunk);
        }
        rows->rest = chunk->values;
        rows->n_rest = chunk->n_cells;
    } else if (rows->n_turned > 0) {
        *ends = false;
        rows->rest = rows->turned;
        rows->n_rest = (size_t)rows->n_turned;
        rows->n_turned = 0;
    } else if (rows->n_split > 0) {
        return cut_row(rows, io);
    }
    return STATUS_OK;
}

enum status rows_more(struct rows *rows, struct job_io *io, bool *are)
{
    bool ends = false;
    while (rows->n_at == 0 && !ends) {
        STATUS_TRY(rows->n_rest > 0 ? take_rest(rows, io) : pull(rows, io, &ends));
    }
    *are = !ends;
    return STATUS_OK;
}

enum status rows_read(struct rows *rows, struct job_io *io, struct span to, size_t least,
                      size_t most, size_t *n)
{
    const size_t row_bytes = rows->width * dtype_bytes(rows->type);
    bool more = true;
    *n = 0;
    while (*n < most && (*n < least || rows->n_at > 0 || rows->n_rest > 0)) {
        STATUS_TRY(rows_more(rows, io, &more));
        if (!more) {
            break;
        }
        const size_t some = rows->n_at < most - *n ? rows->n_at : most - *n;
        STATUS_TRY(upload(rows, io, span_from(to, *n * row_bytes), some));
        *n += some;
    }
    if (rows->n_rest == 0 && (rows->n_at == 0 || rows->at == rows->split)) {
        io_taken(io);
    }
    return STATUS_OK;
}

enum status rows_cells(struct rows *rows, struct job_io *io, bool *are)
{
    bool ends = false;
    while (rows->n_rest == 0 && !ends) {
        STATUS_TRY(pull(rows, io, &ends));
    }
    *are = !ends;
    return STATUS_OK;
}

enum status rows_fill(struct rows *rows, struct job_io *io, struct span to, size_t *n)
{
    const size_t cell = dtype_bytes(rows->type), all = *n * rows->width;
    size_t have = 0;
    bool are = true;
    while (have < all && are) {
        STATUS_TRY(rows_cells(rows, io, &are));
        const size_t left = all - have, some = rows->n_rest < left ? rows->n_rest : left;
        STATUS_TRY(are ? io->ops->upload(io->queue, span_from(to, have * cell), rows->rest,
                                         some * cell, &io->ticket)
                       : STATUS_OK);
        rows->rest += some * cell;
        rows->n_rest -= some;
        have += some;
    }
    *n = have / rows->width;
    rows->n_seen += *n;
    return have % rows->width == 0 ? STATUS_OK : cut_row(rows, io);
}

enum status rows_end(struct rows *rows, struct job_io *io)
{
    const enum status st = io->ops->upload_wait(io->queue, io->ticket); /* of `turned` */
    room_give_back(&io->room, rows->turned);
    rows->turned = NULL;
    return st;
}

enum status rows_again(struct rows *rows, struct job_io *io)
{
    rows->n_seen = 0;
    return io_again(io, rows->part);
}
