/*
 * table - a rectangle of numbers that is read in chunks: CSV/TSV, .npy, ESRI ASCII grids, any of
 * them gzipped; a member of .npz; GeoTIFF. A grid is a table whose lines are its rows, as stored,
 * with a georeference; cells without a number are delivered as the number that stands for it in the
 * file (NaN where that has none).
 *
 * The life of a chunk: table_next() fills it with raw bytes, in file order, one thread at a time;
 * table_decode() turns the raw bytes into numbers, on any thread, chunks in any order. The numbers
 * of the chunks, one after the other in file order, are the table row by row ("lines": the rows of
 * a CSV or of a C-ordered array, the columns of a Fortran-ordered one). A chunk may begin and end
 * within a line.
 *
 * Errors name file, line and column (1-based) or byte offset, and the text found.
 */
#ifndef LEAT_FORMATS_TABLE_TABLE_H
#define LEAT_FORMATS_TABLE_TABLE_H

#include "formats/base/dtype.h"
#include "formats/base/status.h"
#include "formats/geo/grid.h"
#include "formats/source/source.h"
#include "formats/table/table_options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table;
struct csv_run;

struct table_info {
    const char *format; /* "csv", "npy", "npz", "asc", "tif", "gdal", "polygons", "hdf5" */
    /* csv, of a spreadsheet: the sheet's name, and "xlsx" or "ods"; else NULL */
    const char *sheet, *sheet_format;
    const struct grid *grid; /* asc, tif: where it lies (rows = n_lines), NODATA; else NULL */
    enum dtype dtype;        /* type of the decoded numbers: f32 only for f4 arrays */
    size_t n_lines;          /* 0: not known before the end (CSV, TSV beyond the head) */
    size_t n_lines_estimate; /* n_lines, or a guess from the file's size that is seldom too low */
    size_t cells_per_line;   /* kept columns (CSV), or the array's other dimension; >= 1 */
    bool is_plain;           /* its numbers lie in the file as they leave: no copy is faster */
    bool is_flat;            /* an array of one dimension, which is one line */
    bool lines_are_columns;  /* Fortran order: the lines are the array's columns */
    bool has_header;         /* CSV: the first line held names */
    bool has_dates;          /* CSV: the first kept column is of dates and times, in seconds */
    bool has_labels;         /* CSV: a first column without numbers names each line */
    bool has_missing_value;  /* the option was given: NaN stand for missing numbers */
    bool used[TABLE_N_OPTIONS]; /* this option was given, and the format looks at it */
    const char *const *names; /* names of the kept columns [cells_per_line]; NULL without header */
    size_t names_bytes;       /* that the names take as long as the table is open */
    size_t window_bytes;      /* that unpacking takes as long */
    const struct csv_run *runs;  /* CSV: of columns that are kept or not; see table_column */
    const char *const *warnings; /* plain sentences, e.g. columns left out, by name */
    size_t n_warnings;
    /* tif: parts of whole lines, each decoded in one piece; else 0 */
    size_t n_bands, band_cells; /* cells: of the largest; a chunk holds whole ones, or is within */
    size_t decode_bytes;        /* the most that decoding one holds beside its chunks */
};

/* Lines of text that hold no row, so many numbers into a chunk. */
struct table_skip {
    size_t n_cells, n_lines;
};
enum { TABLE_SKIPS = 1024 };

/* One unit of work. The caller owns the memory and sets raw/raw_cap, values/values_cap and zeroes
 * the rest once; table_next and table_decode fill it. For a CSV the values' room should be 4 bytes
 * for each raw byte (two characters give one f64; rows of empty cells want more); table_next never
 * takes more raw bytes than the values' room allows. For arrays already in the machine's layout
 * table_next reads straight into `values` and table_decode has nothing to do. */
struct table_chunk {
    unsigned char *raw;
    size_t raw_cap, raw_len;
    void *values;
    size_t values_cap;    /* bytes */
    size_t n_cells;       /* numbers in values, after table_decode */
    size_t n_missing;     /* NaN among them: counted by CSV and asc; others leave it 0 */
    uint64_t first_line;  /* from 1: of the file (CSV, asc), of the grid (tif) */
    size_t first_column;  /* column, from 0, at which the chunk begins in it (CSV, asc, tif) */
    uint64_t file_offset; /* of the raw bytes in the unpacked stream */
    char *labels;         /* has_labels: NUL-terminated names of the lines that begin in this chunk,
                             one after the other; owned by the chunk, freed by table_chunk_clear */
    size_t labels_len, labels_cap, n_labels;
    struct table_skip *skips; /* CSV: where comments and empty lines are, the first TABLE_SKIPS such
                                 places; owned like the labels */
    size_t n_skips;
};

/* Recognises the format from the content, reads the head, and gives the shape. The source is taken
 * over (freed with the table, also when this fails). Every size that a header claims has been
 * checked against the file before this returns. STATUS_BAD_INPUT, _BAD_ARGUMENT (columns, member),
 * _UNSUPPORTED, _IO, _NO_MEMORY. A source called X.asc or X.asc.gz is not a CSV, whatever is in it.
 * What leat does not read is called by its name, with what converts it (foreign.h).
 *
 * CSV: columns without a number in the head (at least 64 lines or the whole file; up to 4 MiB as
 * long as a column has shown nothing but empty cells) are left out with a warning. A first number
 * further down in a column that was empty all over the head makes table_decode fail with a message
 * that says how to keep the column; in a column of words it is ignored. */
enum status table_open(struct source *src, const struct table_options *options,
                       struct table **out) STATUS_MUST_CHECK;
void table_free(struct table *t);

const struct table_info *table_info(const struct table *t);
/* The source, for progress and checksum; owned by the table. */
struct source *table_source(struct table *t);

/* The number in the file, from 0, of kept column c. */
size_t table_column(const struct table_info *info, size_t c);
/* How many numbers of its line come before the first one of a CSV's chunk. */
size_t table_place(const struct table_info *info, const struct table_chunk *c);

/* Reads the next chunk's raw bytes. *end is set, with an empty chunk, when there is no more; at
 * that point trailing garbage or a short array have been reported as STATUS_BAD_INPUT. */
enum status table_next(struct table *t, struct table_chunk *c, bool *end) STATUS_MUST_CHECK;

/* Turns raw bytes into numbers: correctly rounded doubles, NaN where missing. Does not change `t`
 * and may run on many chunks of it at once. In a CSV a ragged row, a cell that is not a number, or
 * an infinity is STATUS_BAD_INPUT; infinities of arrays are passed on. */
enum status table_decode(const struct table *t, struct table_chunk *c) STATUS_MUST_CHECK;

/* How a table is read: table_decode runs on at most n_threads threads and begins chunks in file
 * order; at most n_chunks of values_cap bytes have been filled and not yet taken, in file order. */
struct table_load {
    size_t n_threads, n_chunks, values_cap;
};

/* An upper bound of what the table holds beside the chunks when it is read so: for table_decode,
 * for unpacking, and for names. */
size_t table_decode_bytes(const struct table_info *info, const struct table_load *load);

/* To be called when all chunks have been decoded: adds what that has come across to the warnings of
 * table_info(), the same ones in whatever order it was done. STATUS_NO_MEMORY. */
enum status table_end(struct table *t) STATUS_MUST_CHECK;

/* Frees what a chunk owns (labels, skips); its buffers stay the caller's. */
void table_chunk_clear(struct table_chunk *c);

#endif
