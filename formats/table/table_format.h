/*
 * table_format - the seam between a table and its formats; for formats/table*.c alone.
 */
#ifndef LEAT_FORMATS_TABLE_TABLE_FORMAT_H
#define LEAT_FORMATS_TABLE_TABLE_FORMAT_H

#include "formats/base/excerpt.h"
#include "formats/base/module.h"
#include "formats/table/table.h"

#include <stdatomic.h>

/* One format. `open` reads the head, fills t->info and keeps what it needs in t->state, which are
 * zeroes before; `close` frees what that owns, also after an `open` that failed; NULL: nothing. The
 * others are as in table.h; next and decode find the chunk's counts and labels already cleared. */
struct table_format {
    const char *name;
    size_t state_bytes;
    bool takes[TABLE_N_OPTIONS];                        /* looks at this option */
    bool (*suits)(const unsigned char *head, size_t n); /* NULL: foreign.c knows what does */
    struct module_library *library; /* loaded before `open`; NULL: the program has all it takes */
    const char *(*version)(void);   /* of that library */
    enum status (*open)(struct table *t) STATUS_MUST_CHECK;
    enum status (*next)(struct table *t, struct table_chunk *c, bool *end) STATUS_MUST_CHECK;
    enum status (*decode)(const struct table *t, struct table_chunk *c) STATUS_MUST_CHECK;
    void (*close)(void *state);
};

/* What may be met in any chunk and is told once, of the first place where it is. */
enum table_note {
    TABLE_NOTE_GROUPED,    /* a decimal sign that may as well part thousands */
    TABLE_NOTE_ENCODING,   /* a name that is not UTF-8 */
    TABLE_NOTE_UNREADABLE, /* a cell that is no number and counts as missing */
    TABLE_NOTE_ERROR,      /* a spreadsheet's error value */
    TABLE_NOTE_COMMENT,    /* a line below the first row that is left out as a comment */
    TABLE_NOTE_SUM,        /* a row that is left out since its first cell names a sum */
    TABLE_NOTE_HEADER,     /* a line that is left out since it repeats the header */
    TABLE_NOTE_SIGNED_ROW, /* a row that begins with the sign of comments */
    TABLE_NOTE_NAMED_ROW,  /* a row of data with a name that a sum may have */
    TABLE_N_NOTES
};

struct table {
    const struct table_format *format;
    struct source *source;
    char *sheet; /* whose text the source gives; owned; NULL: it is no spreadsheet */
    struct table_options options;
    struct table_choice choice; /* what they mean */
    struct table_info info;
    void *state;
    /* Of the reader that has refused it, for the one that is asked then, if that does not know
     * the file either; NULL: no other was asked. */
    const char *refusal;
    enum status refused;
    char **warnings;
    size_t n_warnings, warnings_cap;
    /* The first places of table_note(), line and column in one number; 0: none. Written while
     * chunks are decoded, through the pointer, which is to them. */
    atomic_uint_least64_t places[TABLE_N_NOTES], *noted;
    atomic_size_t counts[TABLE_N_NOTES], *counted;
};

extern const struct table_format csv_format, npy_format, npz_format, asc_format, tif_format,
    xlsx_format,              /* is read as CSV (sheet.h): a library and its version alone */
    hdf5_format, gdal_format; /* these two where leat is built with them */

/* Adds a plain sentence to the table's warnings. STATUS_NO_MEMORY. */
enum status table_warn(struct table *t, const char *format, ...) STATUS_MUST_CHECK
    __attribute__((format(printf, 2, 3)));

/* Consumes n bytes of the source, or what there is up to its end. */
enum status table_skip(struct table *t, size_t n) STATUS_MUST_CHECK;

/* Whether a number with this decimal sign may as well be a larger one with its thousands parted:
 * [+-], 1 to 3 digits that begin with no 0, the sign, 3 digits. */
bool table_may_be_grouped(const char *text, size_t n, char sign);
/* Notes where something stands (line from 1, column from 0), for table_end() to warn of the first
 * such place. On any thread. */
void table_note(const struct table *t, enum table_note note, uint64_t line, size_t column);
/* "line 7, column 2" (column from 0), or "cell B7 of "NAME"". */
struct table_where {
    char text[96];
};
struct table_where table_where(const struct table *t, uint64_t line, size_t column);
/* The same of lines that are left out, and cells that cannot be read, for table_end() to count
 * them. */
struct table_left {
    size_t n;
    uint64_t line; /* of the first */
    size_t column; /* of a cell */
};
void table_note_left_out(const struct table *t, enum table_note note,
                         const struct table_left *left);

/* Whether a cell's text says that it has no number: nan, and the words for that. */
bool table_says_missing(const char *text, size_t n);
/* Replaces the numbers that equal one of `missing` by NaN; the number of NaN there are then. */
size_t table_mark_missing(double *values, size_t n, const struct table_missing *missing);
/* The same of floats, which equal a number that is rounded to one. */
void table_mark_floats(float *values, size_t n, const struct table_missing *missing);

/* Fails where the source cannot be read at any place: `what` it is, and what it is called by
 * standard input so that it can. STATUS_UNSUPPORTED. */
enum status table_need_seek(const struct table *t, const char *what,
                            const char *name) STATUS_MUST_CHECK;

/* How many of p[0 .. n) are that byte. */
size_t table_count_byte(const unsigned char *p, size_t n, unsigned char byte);

/* Tells t->info about a grid, which is borrowed. With the option missing_value, cells of its values
 * become NODATA, by the number that the file has for that; NaN is that number where the file has
 * none. */
void table_set_grid(struct table *t, struct grid *g);
/* `missing`: the option's values, in the type of the cells. The number of NaN there are then. */
size_t table_mark_nodata(double *values, size_t n, const struct table_missing *missing,
                         double nodata);

/* Numbers as they lie in files: unsigned and signed integers of 1, 2, 4, 8 bytes, floats of 2, 4,
 * 8. */
enum table_kind { TABLE_UINT, TABLE_INT, TABLE_FLOAT };
/* Turns n of them, of 1, 2, 4, 8 bytes, from the other byte order to this machine's, in place. */
void table_swap(unsigned char *raw, size_t n, size_t item_bytes);
/* n numbers of that many bytes each, in this machine's byte order, to doubles; 64-bit integers are
 * rounded to nearest. `from` need not be aligned. */
void table_widen(enum table_kind kind, size_t bytes, const unsigned char *from, size_t n,
                 double *out);

#endif
