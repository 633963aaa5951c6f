/*
 * asc - ESRI ASCII grids: header, values, places in the text; for formats/asc_format*.c alone.
 *
 * The header is lines of a key and a number, keys in any case and order: ncols, nrows, xllcorner
 * and yllcorner or xllcenter and yllcenter, cellsize or dx and dy, and perhaps nodata_value. Then
 * follow nrows x ncols values, row by row from the north, split over lines in any way.
 */
#ifndef LEAT_FORMATS_TABLE_ASC_H
#define LEAT_FORMATS_TABLE_ASC_H

#include "formats/base/bytes.h"
#include "formats/geo/grid.h"
#include "formats/table/table_format.h"

/* The state of an ESRI ASCII table. */
struct asc {
    struct grid *grid;
    size_t n_cells;     /* rows * columns */
    char point;         /* tried first; the other one is accepted too */
    struct bytes carry; /* read and not yet in a chunk: the start of a value */
    size_t n_taken;     /* values in chunks so far */
    uint64_t line;      /* where the next chunk begins: line from 1 ... */
    size_t column;      /* ... values before it in that line ... */
    uint64_t offset;    /* ... byte of the unpacked stream */
};

static inline bool asc_is_blank(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Where a value lies: text[0 .. n). n = 0: there is none before `end`. Moves *line and *column (of
 * the text at p: from 1, and values before it in its line) to it. */
struct asc_value {
    const unsigned char *text;
    size_t n;
};
struct asc_value asc_find_value(const unsigned char *p, const unsigned char *end, uint64_t *line,
                                size_t *column);

/* True for "nan" in any case, with or without a sign. */
bool asc_is_nan(const unsigned char *text, size_t n);

/* Reads the header: sets *grid, and the place of what follows it (line from 1, bytes). The sizes in
 * it have been checked against the file's. STATUS_BAD_INPUT, _NO_MEMORY, _IO. */
struct asc_head {
    struct grid *grid; /* the caller's from then on */
    size_t n_cells;
    uint64_t line;
    size_t bytes;
    char point; /* of the first values */
};
enum status asc_read_head(struct table *t, struct asc_head *head) STATUS_MUST_CHECK;

/* True when the text begins with a key and a number. */
bool asc_suits(const unsigned char *head, size_t n);

enum status asc_decode(const struct table *t, struct table_chunk *c) STATUS_MUST_CHECK;

#endif
