/*
 * sheet - a sheet of a spreadsheet (.xlsx, .xlsm, .ods) as a delimited text, which the reader of
 * CSV then reads with all its rules; for formats/table/sheet*.c and the registry of formats.
 *
 * Lines are the sheet's rows, empty ones too, and cells its columns from A on. Commas delimit; a
 * text stands in quotes, with blanks for its line ends; a number has its digits as they are stored,
 * and no quotes. Dates are those of ISO 8601, formulas have their stored values.
 */
#ifndef LEAT_FORMATS_TABLE_SHEET_H
#define LEAT_FORMATS_TABLE_SHEET_H

#include "formats/source/zip_input.h"
#include "formats/table/table_format.h"
#include "formats/table/xml_input.h"

/* Whether a file of that name, which begins so, is a spreadsheet of these kinds. */
bool sheet_suits(const char *path, const unsigned char *head, size_t n);
/* Chooses the sheet that is meant, and has t's source give its text from now on; sets t->sheet.
 * STATUS_BAD_INPUT, _BAD_ARGUMENT (no such sheet), _UNSUPPORTED, _TOO_LARGE, _IO, _NO_MEMORY. */
enum status sheet_open(struct table *t) STATUS_MUST_CHECK;

/* --- what the kinds of files have in common --------------------------------------------------- */

enum { SHEET_ROWS = 1 << 20, SHEET_COLUMNS = 1 << 14 }; /* A1 to XFD1048576 */

enum sheet_kind { SHEET_NUMBER, SHEET_WORD /* a date, TRUE */, SHEET_ERROR, SHEET_TEXT };

/* A cell that is filled, and equal ones to its right and below. */
struct sheet_cell {
    enum sheet_kind kind;
    uint32_t row, column, n_rows, n_columns; /* the first two from 0 */
    struct bytes text;
    bool is_unstored; /* it is a formula without a value */
};

struct sheet {
    char *name, *id, *part; /* .xlsx: the name of its part, and what the workbook calls that */
    bool is_hidden;
    size_t n_filled, n_numbers, n_rows, n_columns; /* as far as it has been scanned */
    bool has_unstored;
    uint32_t unstored_row, unstored_column; /* of the first one */
};

struct sheet_book {
    const struct sheet_format *format;
    struct source *source;
    struct zip_input *zip;
    struct sheet *sheets; /* [n_sheets] */
    size_t n_sheets, sheets_cap;
    struct zip_input_member part; /* that is being read ... */
    char *where;                  /* ... and what messages call it */
    struct xml_input xml;
    uint64_t n_read; /* bytes of all parts, however often, and of the directory */
    bool is_scan;    /* cells have no text but a sign that they are filled, where that saves time */
    size_t at;       /* the sheet that is being read */
    struct sheet_cell cell;
    uint32_t next_row, next_column;
    bool in_table, in_cell, in_text;
    /* .xlsx */
    char *strings_part, *styles_part; /* NULL: there is none */
    struct bytes strings, ends, formats, styles;
    bool is_1904, has_formula, in_phonetic;
    char type;
    size_t style;
    /* .ods */
    size_t wanted, cell_depth; /* wanted: SIZE_MAX: all sheets */
    bool is_shown;             /* the value is the text that the cell shows */
};

struct sheet_format {
    const char *name;
    /* Lists the sheets, and scans those that may be meant; wanted NULL: any. */
    enum status (*scan)(struct sheet_book *b, const char *wanted) STATUS_MUST_CHECK;
    /* Goes to a sheet's begin. */
    enum status (*begin)(struct sheet_book *b, size_t sheet) STATUS_MUST_CHECK;
    /* The next cell, by rows: b->cell. */
    enum status (*next)(struct sheet_book *b, bool *end) STATUS_MUST_CHECK;
};
extern const struct sheet_format sheet_xlsx, sheet_ods;

/* Goes to the begin of a part, for xml_next(). */
enum status sheet_open_part(struct sheet_book *b, const char *part) STATUS_MUST_CHECK;
enum status sheet_add(struct sheet_book *b, struct xml_span name) STATUS_MUST_CHECK;
/* Appends a text to the cell's. STATUS_TOO_LARGE. */
enum status sheet_append(struct sheet_book *b, struct xml_span text) STATUS_MUST_CHECK;
/* Whether the user means sheet i, by its name or its number from 1. */
bool sheet_is(const struct sheet_book *b, size_t i, const char *wanted);
/* Reads the cells that come, and counts them for their sheets; to the first number of a sheet where
 * `briefly`. */
enum status sheet_count(struct sheet_book *b, bool briefly) STATUS_MUST_CHECK;

/* "B7", of what counts from 0 */
struct sheet_place {
    char text[16];
};
struct sheet_place sheet_place_of(uint32_t row, uint32_t column);

#endif
