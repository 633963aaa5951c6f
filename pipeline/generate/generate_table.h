/*
 * generate_table - writes tables of any size in bounded memory, each of whose cells is a formula of
 * where it lies: so cells are made in any order and by any thread.
 */
#ifndef LEAT_PIPELINE_GENERATE_GENERATE_TABLE_H
#define LEAT_PIPELINE_GENERATE_GENERATE_TABLE_H

#include "formats/base/bytes.h"
#include "formats/base/status.h"
#include "kernels/backend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GENERATE_WIDEST = 1 << 16, /* cells of a line */
    GENERATE_TABLES = 2        /* of one call */
};

enum generate_cell { GENERATE_F64, GENERATE_F32, GENERATE_I32 };

struct generate_table {
    uint64_t n_lines;      /* >= 1 */
    size_t cells_per_line; /* 1 to GENERATE_WIDEST */
    enum generate_cell type;
    const void *context;
    /* Cells first .. first + n - 1 of a line. They are rounded to the type; whole for I32. */
    void (*fill)(const void *context, uint64_t line, size_t first, size_t n, double *out);
    /* Appends a column's name, for the header of a CSV. */
    enum status (*put_name)(const void *context, size_t column, struct bytes *out);
    const char *path; /* as new_file.h has it */
    bool csv;         /* else .npy */
    bool force;
};

/* Writes n of them, at most GENERATE_TABLES, one after the other; they get their names in this
 * order, once all are whole. *bytes is the size of all. Progress goes to the terminal. SIGINT and
 * SIGTERM end it as STATUS_CANCELLED, with nothing left behind. STATUS_TOO_LARGE, STATUS_EXISTS,
 * STATUS_IO and others. */
enum status generate_tables(const struct generate_table *tables, size_t n,
                            const struct executor *executor, uint64_t *bytes) STATUS_MUST_CHECK;

/* What any generated file is made of. */
/* The head of a .npy file. */
enum status generate_put_npy_head(struct bytes *out, enum generate_cell type, uint64_t n_lines,
                                  uint64_t cells_per_line) STATUS_MUST_CHECK;
/* A cell, as text or as it lies in a .npy file. */
enum status generate_put_cell(struct bytes *out, enum generate_cell type, bool csv,
                              double value) STATUS_MUST_CHECK;

#endif
