/*
 * csv - delimited text: grammar, dialect, columns; for formats/table/csv*.c alone.
 *
 * Lines end with LF or CR LF (of several CRs all belong to the line's end, as at the text's end). A
 * CR anywhere else outside of quotes is refused: the writer meant it to end a line. A line that
 * begins with # is a comment, unless it is a row (see csv_line_kind); one that holds nothing but
 * delimiters and blanks is passed over, and so is a row that names a sum. A cell is the text
 * between two delimiters without the blanks around it; a cell that begins with a quote ends with
 * the next quote that is not doubled (RFC 4180), and may hold delimiters and line ends. With blanks
 * as delimiters a run of them counts as one, and those at a line's ends as none.
 */
#ifndef LEAT_FORMATS_TABLE_CSV_H
#define LEAT_FORMATS_TABLE_CSV_H

#include "formats/base/bytes.h"
#include "formats/table/table_format.h"

enum {
    CSV_MAX_COLUMNS = 1 << 24,
    CSV_MAX_LINE_BYTES = 64 << 20 /* unless the options say otherwise */
};

struct csv_dialect {
    unsigned char delimiter;     /* ' ' when blanks */
    bool blanks;                 /* runs of spaces and tabs */
    char point;                  /* tried first; the other one is accepted too unless it delimits */
    bool point_is_said;          /* by the option: the other one is not accepted */
    char grouping;               /* parts thousands: one of , . ' or a blank; 0: nothing does */
    char comment;                /* begins a comment; 0: nothing does */
    bool comment_is_said;        /* by the option: then no such line is a row */
    bool first_is_number;        /* the first column is one of numbers */
    bool sums_are_data;          /* no row is left out by its name */
    bool is_sheet;               /* numbers without quotes have a point, whatever texts have */
    bool dates;                  /* dates and times are numbers: seconds, as of moment.h */
    size_t row_cells;            /* of a row; 0 while the text may begin above the first row */
    const unsigned char *header; /* [header_bytes] the line with the names, without its end; NULL:
                                    none, or it has no word */
    size_t header_bytes;
    /* What stands for a missing number, beside the usual; NULL where names are sought: then nothing
     * does, and Na, which is sodium, is a word. */
    const struct table_missing *missing;
};

/* What becomes of a column. */
enum csv_kind {
    CSV_KEEP,
    CSV_LABEL, /* names the lines */
    CSV_LEFT,  /* left out, whatever it holds */
    CSV_EMPTY  /* left out because it was empty so far: a number in it is an error */
};

/* Neighbouring columns first .. last - 1 of one kind. */
struct csv_run {
    uint32_t first, last;
    enum csv_kind kind;
};

/* What the head says. */
struct csv_shape {
    struct csv_dialect dialect;
    size_t n_columns;    /* of the file */
    uint64_t shape_line; /* the line, from 1, that gave n_columns */
    struct csv_run *runs;
    size_t n_runs;
    size_t n_kept;
    bool has_header, has_labels;
    bool has_dates; /* in file column `dates`, the first one that is kept */
    uint32_t dates;
    bool has_title;     /* lines above the table, or of units, are passed over */
    const char **names; /* [n_kept] into name_text, with a header */
    char *name_text;
    size_t names_bytes;    /* of both */
    unsigned char *header; /* that of the dialect */
    uint64_t row_line;     /* of the first row */
    size_t data_offset;    /* where reading begins, in bytes ... */
    uint64_t data_line;    /* ... and in lines from 1 */
};

/* --- grammar: csv_cell.c */

struct csv_cell {
    const unsigned char *text;
    size_t n;
    bool doubled;              /* holds doubled quotes */
    bool unclosed;             /* its quote is never closed */
    const unsigned char *rest; /* quoted: what stands after the closing quote, blanks left out */
    size_t n_rest;
};

/* Scans the cell that begins at p. Returns its end: a delimiter, LF, or `end`. */
const unsigned char *csv_cell_scan(const struct csv_dialect *d, const unsigned char *p,
                                   const unsigned char *end, struct csv_cell *cell);

/* The cell without the blanks within its quotes, which are no part of a number. */
struct csv_cell csv_cell_inner(const struct csv_cell *cell);

/* Whether a CR stands in the text that is not the end of a line, nor of the text. */
bool csv_holds_bare_cr(const unsigned char *text, const unsigned char *end);
/* The same for what a cell holds outside of quotes. */
bool csv_cell_holds_bare_cr(const struct csv_cell *cell);
#define CSV_BARE_CR "shows that lines end with CR alone: convert them to LF"

enum csv_after {
    CSV_MORE,     /* another cell follows (an empty one, when that is at `end`) */
    CSV_LINE_END, /* the line ended */
    CSV_TEXT_END  /* the text ended */
};
/* Passes what ended a cell at *p. */
enum csv_after csv_pass(const struct csv_dialect *d, const unsigned char **p,
                        const unsigned char *end);

/* The cells of a line, one after the other. */
struct csv_walk {
    const struct csv_dialect *d;
    const unsigned char *p, *end; /* where the next cell begins, in the end the next line */
    enum csv_after after;         /* the last cell, */
    struct csv_cell cell;         /* ... which this is, ... */
    size_t n;                     /* ... with its number from 1 */
};
/* Before the first cell of the line at p. */
struct csv_walk csv_walk_of(const struct csv_dialect *d, const unsigned char *p,
                            const unsigned char *end);
/* Goes to the next cell; false: the line has no more. */
bool csv_walk_next(struct csv_walk *w);

enum csv_line {
    CSV_LINE_DATA,
    CSV_LINE_BLANK, /* no cell filled; of this and the next three, *next is the next line */
    CSV_LINE_COMMENT,
    CSV_LINE_SUM,       /* its first cell names a sum or mean of other rows */
    CSV_LINE_HEADER,    /* it repeats the line with the names, as in files that have been joined */
    CSV_LINE_OPEN,      /* may be one of these three: it does not end in this text */
    CSV_LINE_OPEN_BLANK /* nothing filled up to the text's end */
};
/* Tells what begins at p, the start of a line; p < end. `ends`: the text's end is a line's. A
 * comment that holds a CR alone is data: a cell that is refused.
 *
 * Unless the option says what begins a comment, a line that begins with # is data where its first
 * cell is an error value of a spreadsheet and, below the names or the first row, where it has as
 * many cells as a row and a number, or a mark for a missing one, in one of them but the first;
 * with blanks as delimiters that is no # alone. */
enum csv_line csv_line_kind(const struct csv_dialect *d, const unsigned char *p,
                            const unsigned char *end, bool ends, const unsigned char **next);
/* Whether a line of that kind is left out. */
bool csv_is_left_out(enum csv_line kind);
/* What such a line is noted as; TABLE_N_NOTES: nothing. is_above: no row has been met. */
enum table_note csv_note_of(enum csv_line kind, bool is_above);
/* The first line with data that begins in p .. end, at the start of a line, where the text's end is
 * a line's; `end`: there is none. */
const unsigned char *csv_find_data(const struct csv_dialect *d, const unsigned char *p,
                                   const unsigned char *end);
/* Whether the line at p, which is data, is a comment with a CR alone: *cell is its text up to that.
 */
bool csv_is_refused_comment(const struct csv_dialect *d, const unsigned char *p,
                            const unsigned char *end, struct csv_cell *cell);

enum csv_value {
    CSV_NUMBER,
    CSV_INFINITE,
    CSV_MISSING, /* says that it is missing */
    CSV_NOTHING, /* is empty */
    CSV_UNSURE,  /* may be a number with its thousands parted, where nothing else says so */
    CSV_WORD
};
/* What a cell holds; *number is set for CSV_NUMBER. */
enum csv_value csv_cell_value(const struct csv_dialect *d, const struct csv_cell *cell,
                              double *number);

/* Copies a cell's text, fit for a name, with a NUL, to dst[3 * cell->n + 1]; returns its length.
 * What is not UTF-8 is taken as Windows-1252, which holds Latin-1. */
size_t csv_copy_text(const struct csv_cell *cell, char *dst, bool *is_utf8);

/* --- csv_words.c */

enum csv_grouped {
    CSV_GROUPED_NOT,
    CSV_GROUPED_MAYBE, /* "1,234" may be a fraction as well, "1 234" two numbers */
    CSV_GROUPED_SURE   /* "1,234.5", "1.234.567", "1'234", or a blank that does not break */
};
/* Whether the cell is such a number: *sign is what parts it (a blank for all blanks) and *value the
 * number, which may be NULL. Within quotes a blank between digits is sure. */
enum csv_grouped csv_grouped(const struct csv_cell *cell, char *sign, double *value);

/* Whether the text is an error value of a spreadsheet, in any of its languages: "#WERT!", "#NAME?";
 * *is_na: one that says that a value is not available ("#N/A"). */
bool csv_is_error_value(const char *text, size_t n, bool *is_na);
enum csv_sum {
    CSV_NO_SUM,
    CSV_MAY_BE_SUM, /* in a column of numbers it is one: "Media", a town, or "Total 2001" */
    CSV_SUM
};
/* Whether the first cell of a row is a word for a sum or mean of others: "Totals", "Summe:". */
enum csv_sum csv_names_sum(const struct csv_cell *cell);
/* A quick look at two letters: false where the cell that begins at p < end is none of them. */
bool csv_may_name_sum(const unsigned char *p, const unsigned char *end);
/* A word that says in what numbers are measured, or how they have been made. */
bool csv_is_unit(const struct csv_cell *cell);

/* --- the head: csv_dialect.c, csv_top.c, csv_head.c, csv_shape.c, csv_columns.c */

/* "commas", "blanks" ... */
const char *csv_delimiter_name(const struct csv_dialect *d);

/* What else a text may mean by its commas. */
enum csv_doubt {
    CSV_SURE,
    CSV_BLANKS_WOULD_DO, /* the comma delimits; blanks and decimal commas would do as well */
    CSV_COMMA_WOULD_DO   /* decimal commas in one column: a comma that delimits would do as well */
};
/* Chooses delimiter, decimal point and what parts thousands from the text's first lines; `whole`:
 * the text is the file; `said`: what is known of them. */
enum csv_doubt csv_find_dialect(const unsigned char *text, size_t n, bool whole,
                                const struct table_signs *said, struct csv_dialect *d);

/* Reads the head of t's source, fills *shape and the table's warnings, and counts the lines in
 * t->info (0: the file goes on beyond the head, or there is none) or estimates them. */
enum status csv_read_head(struct table *t, struct csv_shape *shape) STATUS_MUST_CHECK;
void csv_shape_free(struct csv_shape *shape);

/* Lines at the top of a text: what stands in lines first .. last, from 1; 0: none. */
struct csv_lines {
    uint64_t first, last;
    const unsigned char *text; /* of the first, up to the text's end */
};

/* Where the table stands in its text. */
struct csv_top {
    const unsigned char *begin; /* of the line with the names, or of the first row ... */
    uint64_t line;              /* ... with its number, from 1 */
    const unsigned char *rows;  /* where the rows begin; NULL: after the first line ... */
    uint64_t rows_line;
    int has_names;    /* 1: the first line holds names, 0: it does not, -1: that is still open */
    size_t n_columns; /* that the rows have; 0: as many as the first line has cells */
    bool needs_more;  /* the text does not reach the line that `header` says */
    bool lacks_first; /* the names are those of all columns but the first */
    struct csv_lines above, units; /* passed over */
};
/* Finds it in text .. end, which begins at a line and has the number `line`. `header`: that option.
 * STATUS_BAD_INPUT: there are not as many lines as that says. */
enum status csv_find_top(const struct csv_dialect *d, const char *file, const unsigned char *text,
                         const unsigned char *end, bool whole, uint64_t line, long header,
                         struct csv_top *top) STATUS_MUST_CHECK;

/* What programs write before a table, in formats of their own: passes it, with its lines. In the
 * end *sep is the delimiter, where that is said there and it was 0. */
const unsigned char *csv_pass_preamble(const unsigned char *text, const unsigned char *end,
                                       uint64_t *line, char *sep);

/* What a column has shown: in the first line, and in those after it. */
enum {
    CSV_FIRST_NUMBER = 1,
    CSV_FIRST_WORD = 2,
    CSV_FIRST_MARK = 4,
    CSV_FIRST_UNSURE = 8,
    CSV_FIRST_BITS = 4,
    CSV_SEEN_NUMBER = CSV_FIRST_NUMBER << CSV_FIRST_BITS,
    CSV_SEEN_WORD = CSV_FIRST_WORD << CSV_FIRST_BITS,
    CSV_SEEN_MARK = CSV_FIRST_MARK << CSV_FIRST_BITS,
    CSV_SEEN_UNSURE = CSV_FIRST_UNSURE << CSV_FIRST_BITS,
    CSV_SEEN_WORDY = CSV_FIRST_WORD /* once the header is decided: more words than numbers */
};

struct csv_head {
    const char *file;
    const unsigned char *text, *end; /* without a byte order mark */
    bool whole;                      /* the text is the whole file */
    struct csv_top top;
    enum csv_doubt doubt;
    unsigned char *seen;                 /* [n_columns] */
    size_t n_columns, n_open;            /* n_open: columns that have not shown a number */
    size_t n_lines;                      /* data lines walked, the first one included */
    uint64_t line;                       /* from 1, of the line being walked */
    uint64_t first_line;                 /* that of the first data line */
    const unsigned char *first, *second; /* where the first data line begins, and what follows it */
    uint64_t second_line;
};

/* Decides what the table is from what all its columns have shown: fills everything of *shape but
 * the dialect and where reading begins, and adds to the table's warnings. STATUS_BAD_INPUT (no
 * numbers), STATUS_BAD_ARGUMENT (the option `columns`), STATUS_NO_MEMORY. */
enum status csv_decide_shape(struct table *t, struct csv_head *h,
                             struct csv_shape *shape) STATUS_MUST_CHECK;

/* Decides whether the first line holds names. One that does not counts like all others from then
 * on: what it has shown is added to what its columns have. What is not plain goes to the table's
 * warnings. STATUS_NO_MEMORY. */
enum status csv_decide_header(struct table *t, struct csv_head *h, const struct csv_dialect *d,
                              bool *has_header) STATUS_MUST_CHECK;

/* The option `columns` overrules what the columns show (h->seen holds their kinds); the label
 * column stays when it is not chosen. STATUS_BAD_ARGUMENT, STATUS_NO_MEMORY. */
enum status csv_choose_columns(const struct table *t, struct csv_head *h,
                               const struct csv_shape *shape) STATUS_MUST_CHECK;

/* --- csv_cure.c */

/* What the user may do about a cell of a kept column (from 0) that is a word, the first one in the
 * chunk's text: the end of a message, "" where there is no cure. */
struct csv_cure {
    char text[768];
    bool is_lone; /* the column has no other word in the chunk */
};
struct csv_cure csv_cure_word(const struct table *t, const struct table_chunk *c,
                              const struct csv_cell *cell, size_t column);

/* --- csv_decode.c */

enum status csv_decode(const struct table *t, struct table_chunk *c) STATUS_MUST_CHECK;

/* --- csv.c */

/* The state of a CSV table. */
struct csv {
    struct csv_shape shape;
    uint64_t line;   /* where the next chunk begins: line from 1 ... */
    size_t column;   /* ... file column from 0 ... */
    uint64_t offset; /* ... byte of the unpacked stream */
    size_t max_line_bytes;
};

#endif
