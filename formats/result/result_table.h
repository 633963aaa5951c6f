/*
 * result_table - tables of results, each told once, by a function that puts a row's values with the
 * names of their columns: from it come the text, arrays of a .npz, and objects of the summary.
 */
#ifndef LEAT_FORMATS_RESULT_RESULT_TABLE_H
#define LEAT_FORMATS_RESULT_RESULT_TABLE_H

#include "formats/result/result.h"

/* Where a row goes. */
struct result_row;

/* The next value: a whole number, a number ("nan" in text, null in JSON), 0 or 1 (false, true), a
 * field. The same columns for every row. */
void result_row_count(struct result_row *to, const char *column, uint64_t value);
void result_row_real(struct result_row *to, const char *column, double value);
void result_row_flag(struct result_row *to, const char *column, bool value);
void result_row_text(struct result_row *to, const char *column, const char *value);
/* Whether names are looked at: others need not be made up. */
bool result_row_has_names(const struct result_row *to);

struct result_table {
    const char *name; /* "series": of series.csv.gz */
    /* Puts row i < n_rows; of a table without rows row 0, whose names alone count. Called from any
     * thread. */
    void (*row)(const void *context, uint64_t i, struct result_row *to);
    const void *context; /* has to stay */
    uint64_t n_rows;
};

/* Adds NAME.csv.gz. */
enum status result_table_csv(struct result *out, const struct result_table *table,
                             size_t rows_per_piece) STATUS_MUST_CHECK;
/* Adds a column of counts (i8) or numbers (f8) to a PACK_ZIP file, under its name. */
enum status result_table_array(struct result_file *f, const struct result_table *table,
                               const char *column) STATUS_MUST_CHECK;
/* The first rows as an array of objects of the first n_columns; NULL without memory. */
json_t *result_table_json(const struct result_table *table, uint64_t n_rows, size_t n_columns);

#endif
