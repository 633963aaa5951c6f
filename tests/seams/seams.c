/*
 * seams - files that grow: an array of which a line has n_columns numbers, and the same as text.
 */
#include "tests/seams/seams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_PER_PIECE = 4096 };

static enum status fetch(void *context, uint64_t first, size_t n, void *dst)
{
    const struct column *c = context;
    memcpy(dst, c->values + first, n * sizeof(double));
    return STATUS_OK;
}

static enum status rows(void *context, uint64_t first, size_t n, struct bytes *out)
{
    const struct column *c = context;
    enum status st = STATUS_OK;
    for (size_t k = (size_t)first * c->n_columns; k < (first + n) * c->n_columns; k++) {
        st = result_put_f64(out, c->values[k]);
        if (st == STATUS_OK) {
            st = bytes_append(out, (k + 1) % c->n_columns == 0 ? "\n" : ",", 1);
        }
        if (st != STATUS_OK) {
            return st;
        }
    }
    return st;
}

static enum status add_zip(struct result *out, const char *name, bool more, struct result_file **f)
{
    char file[32];
    snprintf(file, sizeof file, "%s.npz", name);
    const enum status st = result_add_file(out, file, PACK_ZIP, f);
    if (st == STATUS_OK) {
        (*f)->more = more;
    }
    return st;
}

static enum status add_text(struct result *out, const char *name, struct column *c, bool begun,
                            bool more)
{
    const uint64_t n_lines = c != NULL ? c->n / c->n_columns : 0;
    const enum status st =
        result_add_csv(out, name, begun ? NULL : "number", n_lines, ROWS_PER_PIECE, rows, c, NULL);
    if (st == STATUS_OK) {
        out->files[out->n_files - 1].more = more;
    }
    return st;
}

enum status seams_portion(struct result *out, const char *name, struct column *column, bool begun)
{
    struct result_file *f;
    enum status st = add_zip(out, name, true, &f);
    if (st != STATUS_OK) {
        free(column);
        return st;
    }
    st = result_add_portion(f, name, NPY_F8, column->n, fetch, column, free);
    return st == STATUS_OK ? add_text(out, name, column, begun, true) : st;
}

enum status seams_end(struct result *out, const char *name, uint64_t n_lines, size_t n_columns,
                      bool begun)
{
    struct result_file *f;
    const size_t dims[2] = {n_columns, (size_t)n_lines};
    const double ends[2] = {(double)n_lines, (double)n_columns};
    const size_t n_ends = 2;
    enum status st = add_zip(out, name, false, &f);
    if (st == STATUS_OK) {
        st = result_end_portions(f, name, NPY_F8, 2, dims, true);
    }
    if (st == STATUS_OK) { /* a member that is there at once, in a file that has grown */
        st = result_add_copy(f, "shape", NPY_F8, 1, &n_ends, ends);
    }
    return st == STATUS_OK ? add_text(out, name, NULL, begun, false) : st;
}

double seams_cell(const struct stage_input *input, const struct table_chunk *chunk, size_t k)
{
    return input->table->dtype == DTYPE_F32 ? (double)((const float *)chunk->values)[k]
                                            : ((const double *)chunk->values)[k];
}
