/*
 * generate_table - see generate_table.h.
 */
#include "pipeline/generate/generate_table.h"

#include "formats/base/checked.h"
#include "pipeline/generate/piece_writer.h"

#include <stdio.h>

enum {
    PIECE_CELLS = 1 << 14,
    RUN_CELLS = 256,
    BYTES_PER_CELL_MAX = 32 /* of text; for the check that the file's size can be counted */
};
_Static_assert(GENERATE_BATCH_CELLS / PIECE_CELLS == PIECE_WRITER_BATCH, "a batch of pieces");

/* --- bytes ----------------------------------------------------------------------------------- */

static enum status put_head(const struct generate_table *t, struct bytes *out)
{
    if (!t->csv) {
        char head[NPY_HEAD_BYTES];
        const size_t shape[] = {t->n_lines, t->cells_per_line};
        return bytes_append(out, head, result_npy_head(head, t->type, 2, shape, 0));
    }
    for (uint64_t column = 0; t->put_name != NULL && column < t->cells_per_line; column++) {
        STATUS_TRY(t->put_name(t->context, column, out));
        STATUS_TRY(bytes_append(out, column + 1 == t->cells_per_line ? "\n" : ",", 1));
    }
    return STATUS_OK;
}

static enum status put_text(struct bytes *out, enum npy_type type, double value)
{
    return type == NPY_F8   ? result_put_f64(out, value)
           : type == NPY_F4 ? result_put_f32(out, (float)value)
                            : bytes_printf(out, "%d", (int32_t)value);
}

enum status generate_put_cells(struct bytes *out, enum npy_type type, bool csv,
                               const double *values, size_t n)
{
    union {
        float f32[RUN_CELLS];
        int32_t i32[RUN_CELLS];
    } narrow;
    for (size_t i = 0; csv && i < n; i++) {
        STATUS_TRY(put_text(out, type, values[i]));
        STATUS_TRY(i + 1 < n ? bytes_append(out, ",", 1) : STATUS_OK);
    }
    if (csv) {
        return STATUS_OK;
    }
    if (type == NPY_F8) {
        return bytes_append(out, values, n * sizeof(*values));
    }
    for (size_t i = 0; i < n; i++) {
        if (type == NPY_F4) {
            narrow.f32[i] = (float)values[i];
        } else {
            narrow.i32[i] = (int32_t)values[i];
        }
    }
    return bytes_append(out, &narrow, n * sizeof(float));
}

/* --- pieces ---------------------------------------------------------------------------------- */

/* One of the files while it is written. */
struct writing {
    const struct generate_table *table;
    struct result_member member;
    struct bytes head;
    uint64_t n_cells;
    size_t batch_cells, batch_pieces; /* 0: a piece follows the other */
};

static enum status put_run(const struct generate_table *t, uint64_t cell, size_t n,
                           struct bytes *out)
{
    double values[RUN_CELLS];
    const uint64_t first = cell % t->cells_per_line;
    t->fill(t->context, cell / t->cells_per_line, first, n, values);
    STATUS_TRY(generate_put_cells(out, t->type, t->csv, values, n));
    return t->csv ? bytes_append(out, first + n == t->cells_per_line ? "\n" : ",", 1) : STATUS_OK;
}

static uint64_t at_most(uint64_t n, uint64_t most)
{
    return n < most ? n : most;
}

static enum status make_piece(void *context, uint64_t index, struct bytes *out)
{
    const struct writing *const w = context;
    uint64_t cell = index * PIECE_CELLS, end = w->n_cells;
    if (w->batch_cells > 0) {
        const uint64_t batch = index / w->batch_pieces * w->batch_cells;
        cell = batch + index % w->batch_pieces * PIECE_CELLS;
        end = at_most(end, batch + w->batch_cells);
    }
    end = at_most(end, cell + PIECE_CELLS);
    while (cell < end) {
        const uint64_t in_line = w->table->cells_per_line - cell % w->table->cells_per_line;
        const size_t n = (size_t)at_most(at_most(end - cell, in_line), RUN_CELLS);
        STATUS_TRY(put_run(w->table, cell, n, out));
        cell += n;
    }
    return STATUS_OK;
}

static uint64_t pieces_of(uint64_t n_cells)
{
    return n_cells / PIECE_CELLS + (n_cells % PIECE_CELLS > 0);
}

static enum status prepare(void *context, uint64_t batch)
{
    const struct writing *const w = context;
    return w->table->prepare((void *)(size_t)w->table->context, batch);
}

/* --- files ------------------------------------------------------------------------------------ */

enum status generate_table_check(const struct generate_table *t)
{
    size_t cells, bytes;
    return checked_mul(t->n_lines, t->cells_per_line, &cells) &&
                   checked_mul(cells, BYTES_PER_CELL_MAX, &bytes)
               ? STATUS_OK
               : status_fail(STATUS_TOO_LARGE,
                             "%s: %llu lines of %llu cells: more than a file holds", t->path,
                             (unsigned long long)t->n_lines, (unsigned long long)t->cells_per_line);
}

static enum status begin(const struct generate_table *t, struct writing *w, struct piece_file *file)
{
    STATUS_TRY(generate_table_check(t));
    *w = (struct writing){.table = t,
                          .member = {.piece = make_piece, .context = w},
                          .n_cells = t->n_lines * t->cells_per_line,
                          .batch_cells = t->batch_cells,
                          .batch_pieces = (size_t)pieces_of(t->batch_cells)};
    w->member.n_pieces = pieces_of(w->n_cells);
    if (w->batch_cells > 0) {
        w->member.n_pieces =
            w->n_cells / w->batch_cells * w->batch_pieces + pieces_of(w->n_cells % w->batch_cells);
    }
    *file = (struct piece_file){.path = t->path,
                                .force = t->force,
                                .kind = PACK_RAW,
                                .head = &w->head,
                                .member = &w->member,
                                .batch = w->batch_pieces,
                                .prepare = t->prepare != NULL ? prepare : NULL,
                                .work = (double)w->n_cells};
    return put_head(t, &w->head);
}

enum status generate_tables(const struct generate_table *tables, size_t n,
                            const struct executor *executor, uint64_t *bytes)
{
    struct writing writing[GENERATE_TABLES] = {0};
    struct piece_file files[GENERATE_TABLES] = {0};
    enum status status = STATUS_OK;
    *bytes = 0;
    for (size_t i = 0; i < n && status == STATUS_OK; i++) {
        status = begin(&tables[i], &writing[i], &files[i]);
    }
    if (status == STATUS_OK) {
        status = piece_writer_run(files, n, executor, bytes);
    }
    for (size_t i = 0; i < n; i++) {
        bytes_free(&writing[i].head);
    }
    return status;
}
