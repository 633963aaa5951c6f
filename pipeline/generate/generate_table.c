/*
 * generate_table - see generate_table.h.
 */
#include "pipeline/generate/generate_table.h"

#include "formats/base/checked.h"
#include "formats/result/result.h"
#include "pipeline/generate/piece_writer.h"
#include "pipeline/names/interrupt.h"

#include <stdio.h>

enum {
    PIECE_CELLS = 1 << 14,
    BYTES_PER_CELL_MAX = 32 /* of text; for the check that the file's size can be counted */
};

/* --- bytes ----------------------------------------------------------------------------------- */

/* NumPy's format 1.0: magic, length, a dictionary padded with blanks to a multiple of 64 bytes. */
enum status generate_put_npy_head(struct bytes *out, enum generate_cell type, uint64_t n_lines,
                                  uint64_t cells_per_line)
{
    static const char *const types[] = {"<f8", "<f4", "<i4"};
    char dict[192];
    const int n = snprintf(
        dict, sizeof(dict), "{'descr': '%s', 'fortran_order': False, 'shape': (%llu, %llu), }",
        types[type], (unsigned long long)n_lines, (unsigned long long)cells_per_line);
    const int padded = (10 + n + 1 + 63) / 64 * 64 - 10;
    const unsigned char head[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)padded, (unsigned char)(padded >> 8)};
    STATUS_TRY(bytes_append(out, head, sizeof(head)));
    return bytes_printf(out, "%-*s\n", padded - 1, dict);
}

enum status generate_put_cell(struct bytes *out, enum generate_cell type, bool csv, double value)
{
    if (type == GENERATE_F32) {
        const float narrow = (float)value;
        return csv ? result_put_f32(out, narrow) : bytes_append(out, &narrow, sizeof(narrow));
    }
    if (type == GENERATE_I32) {
        const int32_t whole = (int32_t)value;
        return csv ? bytes_printf(out, "%d", whole) : bytes_append(out, &whole, sizeof(whole));
    }
    return csv ? result_put_f64(out, value) : bytes_append(out, &value, sizeof(value));
}

static enum status put_head(const struct generate_table *t, struct bytes *out)
{
    if (!t->csv) {
        return generate_put_npy_head(out, t->type, t->n_lines, t->cells_per_line);
    }
    for (size_t column = 0; column < t->cells_per_line; column++) {
        STATUS_TRY(t->put_name(t->context, column, out));
        STATUS_TRY(bytes_append(out, column + 1 == t->cells_per_line ? "\n" : ",", 1));
    }
    return STATUS_OK;
}

/* --- pieces: whole lines ---------------------------------------------------------------------- */

/* One of the files while it is written. */
struct writing {
    const struct generate_table *table;
    uint64_t lines_per_piece, n_pieces;
    size_t batch_pieces;
    double share_before, share; /* of all work: before this file, and of it */
};

static size_t n_pieces(void *context, uint64_t batch)
{
    const struct writing *const w = context;
    const uint64_t first = batch * w->batch_pieces;
    const uint64_t left = first < w->n_pieces ? w->n_pieces - first : 0;
    return (size_t)(left < w->batch_pieces ? left : w->batch_pieces);
}

static double share_before(const void *context, uint64_t batch)
{
    const struct writing *const w = context;
    const double part = (double)(batch * w->batch_pieces) / (double)w->n_pieces;
    return w->share_before + w->share * (part < 1 ? part : 1);
}

static enum status put_line(const struct generate_table *t, uint64_t line, struct bytes *out)
{
    enum { RUN = 256 };
    double cell[RUN];
    for (size_t first = 0; first < t->cells_per_line; first += RUN) {
        const size_t left = t->cells_per_line - first, n = left < RUN ? left : RUN;
        t->fill(t->context, line, first, n, cell);
        for (size_t i = 0; i < n; i++) {
            STATUS_TRY(generate_put_cell(out, t->type, t->csv, cell[i]));
            if (t->csv) {
                STATUS_TRY(bytes_append(out, first + i + 1 == t->cells_per_line ? "\n" : ",", 1));
            }
        }
    }
    return STATUS_OK;
}

static enum status make_piece(void *context, uint64_t batch, size_t index, struct bytes *out)
{
    const struct writing *const w = context;
    const uint64_t first = (batch * w->batch_pieces + index) * w->lines_per_piece;
    const uint64_t left = w->table->n_lines - first;
    const uint64_t end = first + (left < w->lines_per_piece ? left : w->lines_per_piece);
    for (uint64_t line = first; line < end; line++) {
        STATUS_TRY(put_line(w->table, line, out));
    }
    return STATUS_OK;
}

/* --- files ------------------------------------------------------------------------------------ */

static enum status write_table(struct writing *w, const struct executor *executor,
                               struct new_file *file, uint64_t *bytes)
{
    const struct piece_source pieces = {.name = w->table->path,
                                        .context = w,
                                        .n_pieces = n_pieces,
                                        .make = make_piece,
                                        .share_before = share_before};
    struct bytes head = {0};
    enum status status = put_head(w->table, &head);
    if (status == STATUS_OK) {
        *bytes += head.len;
        status = new_file_write(file, head.data, head.len);
    }
    bytes_free(&head);
    return status == STATUS_OK ? piece_writer_run(&pieces, executor, file, bytes) : status;
}

static enum status check_size(const struct generate_table *t)
{
    size_t cells, bytes;
    return checked_mul(t->n_lines, t->cells_per_line, &cells) &&
                   checked_mul(cells, BYTES_PER_CELL_MAX, &bytes)
               ? STATUS_OK
               : status_fail(STATUS_TOO_LARGE,
                             "%s: %llu lines of %zu cells: more than a file holds", t->path,
                             (unsigned long long)t->n_lines, t->cells_per_line);
}

/* Files of tables 0 .. n - 1 are opened into `files`; those of a failure are abandoned later. */
static enum status write_all(const struct generate_table *tables, size_t n,
                             const struct executor *executor, struct new_file **files,
                             uint64_t *bytes)
{
    const size_t wanted = 2 * executor->n_threads;
    double cells[GENERATE_TABLES], all = 0, before = 0;
    for (size_t i = 0; i < n; i++) {
        STATUS_TRY(check_size(&tables[i]));
        STATUS_TRY(new_file_open(tables[i].path, tables[i].force, &files[i]));
        cells[i] = (double)tables[i].n_lines * (double)tables[i].cells_per_line;
        all += cells[i];
    }
    for (size_t i = 0; i < n; i++) {
        struct writing w = {.table = &tables[i],
                            .lines_per_piece = (PIECE_CELLS - 1) / tables[i].cells_per_line + 1,
                            .batch_pieces =
                                wanted < PIECE_WRITER_BATCH ? wanted : PIECE_WRITER_BATCH,
                            .share_before = before / all,
                            .share = cells[i] / all};
        w.n_pieces = (tables[i].n_lines - 1) / w.lines_per_piece + 1;
        STATUS_TRY(write_table(&w, executor, files[i], bytes));
        before += cells[i];
    }
    for (size_t i = 0; i < n; i++) {
        struct new_file *const file = files[i];
        files[i] = NULL; /* committing frees it */
        STATUS_TRY(new_file_commit(file));
    }
    return STATUS_OK;
}

enum status generate_tables(const struct generate_table *tables, size_t n,
                            const struct executor *executor, uint64_t *bytes)
{
    struct new_file *files[GENERATE_TABLES] = {NULL};
    struct interrupt interrupt;
    *bytes = 0;
    interrupt_watch(&interrupt);
    const enum status status = write_all(tables, n, executor, files, bytes);
    interrupt_leave(&interrupt);
    for (size_t i = 0; i < n; i++) {
        new_file_abandon(files[i]);
    }
    return status;
}
