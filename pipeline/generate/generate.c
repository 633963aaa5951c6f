/*
 * generate - see generate.h. A batch of pieces (piece_writer.h) is a block of the matrix
 * (generate_source.h): the next one is filled while this one is formatted.
 */
#include "pipeline/generate/generate.h"

#include "pipeline/generate/generate_source.h"
#include "pipeline/generate/generate_table.h"
#include "pipeline/generate/piece_writer.h"
#include "pipeline/names/interrupt.h"

#include <math.h>

enum { PIECE_CELLS = GENERATE_BLOCK_CELLS / PIECE_WRITER_BATCH };

struct work {
    const struct generate_order *order;
    struct generate_source source;
    struct generate_block blocks[2]; /* of even and of odd batches */
};

static size_t n_cells_of(const struct generate_block *b)
{
    return b->n_lines * b->cells_per_line;
}

static size_t n_pieces(void *context, uint64_t batch)
{
    struct work *const w = context;
    struct generate_block *const b = &w->blocks[batch % 2];
    const struct generate_block *const before = batch > 0 ? &w->blocks[(batch + 1) % 2] : NULL;
    return generate_source_next(&w->source, before, b) ? (n_cells_of(b) - 1) / PIECE_CELLS + 1 : 0;
}

static enum status fill(void *context, uint64_t batch)
{
    struct work *const w = context;
    return generate_source_fill(&w->source, &w->blocks[batch % 2]);
}

static double share_before(const void *context, uint64_t batch)
{
    const struct work *const w = context;
    const struct generate_block *const b = &w->blocks[batch % 2];
    const double part_of_line = (double)b->first_cell / (double)w->source.cells_per_line;
    return ((double)b->first_line + part_of_line) / (double)w->source.n_lines;
}

/* --- bytes ----------------------------------------------------------------------------------- */

static enum generate_cell cell_type(const struct generate_order *o)
{
    return o->type == DTYPE_F32 ? GENERATE_F32 : GENERATE_F64;
}

static enum status put_cell(struct bytes *out, const struct work *w, const struct generate_block *b,
                            size_t cell)
{
    const struct generate_order *const o = w->order;
    const bool is_gap = generate_source_is_gap(&w->source, b, cell);
    const double value = is_gap                 ? NAN
                         : o->type == DTYPE_F32 ? (double)((const float *)b->values)[cell]
                                                : ((const double *)b->values)[cell];
    return generate_put_cell(out, cell_type(o), o->csv, value);
}

/* One piece of a block, as text or as it lies in an array file. */
static enum status format_piece(void *context, uint64_t batch, size_t index, struct bytes *out)
{
    const struct work *const w = context;
    const struct generate_block *const b = &w->blocks[batch % 2];
    const size_t first = index * PIECE_CELLS, left = n_cells_of(b) - first;
    const size_t n = left < PIECE_CELLS ? left : PIECE_CELLS;
    if (!w->order->csv && !(w->order->gaps > 0)) {
        const size_t width = dtype_bytes(w->order->type);
        return bytes_append(out, (const char *)b->values + first * width, n * width);
    }
    for (size_t cell = first; cell < first + n; cell++) {
        STATUS_TRY(put_cell(out, w, b, cell));
        if (w->order->csv) {
            const uint64_t in_line = b->first_cell + cell % b->cells_per_line;
            STATUS_TRY(bytes_append(out, in_line + 1 == w->source.cells_per_line ? "\n" : ",", 1));
        }
    }
    return STATUS_OK;
}

static enum status put_csv_head(const struct work *w, struct bytes *out)
{
    for (uint64_t s = 0; w->order->columns && s < w->order->n_series; s++) {
        STATUS_TRY(bytes_printf(out, "s%llu%c", (unsigned long long)s,
                                s + 1 == w->order->n_series ? '\n' : ','));
    }
    return STATUS_OK;
}

static enum status write_head(const struct work *w, struct new_file *file, uint64_t *n_bytes)
{
    struct bytes head = {0};
    enum status status = w->order->csv
                             ? put_csv_head(w, &head)
                             : generate_put_npy_head(&head, cell_type(w->order), w->source.n_lines,
                                                     w->source.cells_per_line);
    if (status == STATUS_OK) {
        *n_bytes += head.len;
        status = new_file_write(file, head.data, head.len);
    }
    bytes_free(&head);
    return status;
}

/* --- a whole file ---------------------------------------------------------------------------- */

static enum status write_file(struct work *w, const struct executor *executor, uint64_t *n_bytes)
{
    const struct piece_source pieces = {.name = w->order->path,
                                        .context = w,
                                        .n_pieces = n_pieces,
                                        .prepare = fill,
                                        .make = format_piece,
                                        .share_before = share_before};
    struct new_file *file;
    STATUS_TRY(new_file_open(w->order->path, w->order->force, &file));
    enum status status = write_head(w, file, n_bytes);
    if (status == STATUS_OK) {
        status = piece_writer_run(&pieces, executor, file, n_bytes);
    }
    if (status != STATUS_OK) {
        new_file_abandon(file);
        return status;
    }
    return new_file_commit(file);
}

enum status generate_file(const struct generate_order *order, struct backend *backend,
                          const struct executor *executor, uint64_t *bytes)
{
    struct work w = {.order = order};
    struct interrupt interrupt;
    *bytes = 0;
    enum status status = generate_source_open(order, backend, executor, &w.source);
    for (size_t i = 0; i < 2 && status == STATUS_OK; i++) {
        status = backend->ops->host_alloc(backend, w.source.block_bytes, &w.blocks[i].values);
    }
    if (status == STATUS_OK) {
        interrupt_watch(&interrupt);
        status = write_file(&w, executor, bytes);
        interrupt_leave(&interrupt);
    }
    for (size_t i = 0; i < 2; i++) {
        if (w.blocks[i].values != NULL) {
            backend->ops->host_free(backend, w.blocks[i].values);
        }
    }
    generate_source_close(&w.source);
    return status;
}
