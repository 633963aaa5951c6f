/*
 * csv_head - the first lines of a delimited text on their way from what they show to what is
 * made of it; for formats/table/csv_head.c, csv_names.c and csv_settle.c alone.
 */
#ifndef LEAT_FORMATS_TABLE_CSV_HEAD_H
#define LEAT_FORMATS_TABLE_CSV_HEAD_H

#include "formats/table/csv.h"

/* What a column has shown: in the first line, and in those after it. */
enum {
    CSV_FIRST_NUMBER = 1,
    CSV_FIRST_WORD = 2,
    CSV_FIRST_MARK = 4,
    CSV_SEEN_NUMBER = 8,
    CSV_SEEN_WORD = 16,
    CSV_SEEN_MARK = 32
};

struct csv_head {
    const char *file;
    const unsigned char *text, *end;     /* without a byte order mark */
    bool whole;                          /* the text is the whole file */
    bool blanks_would_do;                /* as delimiters, in place of the comma */
    unsigned char *seen;                 /* [n_columns] */
    size_t n_columns, n_open;            /* n_open: columns that have not shown a number */
    size_t n_lines;                      /* data lines walked, the first one included */
    uint64_t line;                       /* from 1, of the line being walked */
    uint64_t first_line;                 /* that of the first data line */
    const unsigned char *first, *second; /* where the first data line begins, and what follows it */
    uint64_t second_line;
};

/* Decides whether the first line holds names. One that does not counts like all others from then
 * on: what it has shown is added to what its columns have. What is not plain goes to the table's
 * warnings. STATUS_NO_MEMORY. */
enum status csv_settle_header(struct table *t, struct csv_head *h, const struct csv_dialect *d,
                              bool *has_header) STATUS_MUST_CHECK;

/* Decides what the table is from what all its columns have shown: fills everything of *shape but
 * the dialect and where reading begins, and adds to the table's warnings. STATUS_BAD_INPUT (no
 * numbers), STATUS_BAD_ARGUMENT (the option `columns`), STATUS_NO_MEMORY. */
enum status csv_settle(struct table *t, struct csv_head *h,
                       struct csv_shape *shape) STATUS_MUST_CHECK;

#endif
