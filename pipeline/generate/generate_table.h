/*
 * generate_table - writes tables of any size in bounded memory.
 */
#ifndef LEAT_PIPELINE_GENERATE_GENERATE_TABLE_H
#define LEAT_PIPELINE_GENERATE_GENERATE_TABLE_H

#include "formats/base/bytes.h"
#include "formats/base/status.h"
#include "formats/result/result.h"
#include "kernels/backend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GENERATE_WIDEST = 1 << 16, /* cells of a line of points */
    GENERATE_TABLES = 2        /* of one call */
};

struct generate_table {
    uint64_t n_lines, cells_per_line; /* >= 1 */
    enum npy_type type;               /* NPY_F8, NPY_F4 or NPY_I4 */
    const void *context;
    /* Cells first .. first + n - 1 of a line. They are rounded to the type; whole for NPY_I4. In
     * any order, on any thread. */
    void (*fill)(const void *context, uint64_t line, uint64_t first, size_t n, double *out);
    /* Makes batch_cells cells, row by row, ready to be asked for: batches in order, on one thread,
     * each while the one before is asked for. NULL: each cell is a formula of where it lies. */
    enum status (*prepare)(void *context, uint64_t batch);
    size_t batch_cells; /* at most GENERATE_BATCH_CELLS; 0 without `prepare` */
    /* Appends a column's name, for the header of a CSV; NULL: it has none. */
    enum status (*put_name)(const void *context, uint64_t column, struct bytes *out);
    const char *path; /* as new_file.h has it */
    bool csv;         /* else .npy */
    bool force;
};

enum { GENERATE_BATCH_CELLS = 1 << 20 };

/* STATUS_TOO_LARGE: no file can hold it. */
enum status generate_table_check(const struct generate_table *table) STATUS_MUST_CHECK;
/* Writes n of them, at most GENERATE_TABLES, as piece_writer_run does. */
enum status generate_tables(const struct generate_table *tables, size_t n,
                            const struct executor *executor, uint64_t *bytes) STATUS_MUST_CHECK;

/* Cells, as text or as they lie in a .npy file. */
enum status generate_put_cells(struct bytes *out, enum npy_type type, bool csv,
                               const double *values, size_t n) STATUS_MUST_CHECK;

#endif
