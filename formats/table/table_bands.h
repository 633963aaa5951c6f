/*
 * table_bands - grids and tables that are decoded in bands: so many rows at a time; for
 * formats/table alone.
 *
 * table_next hands out cells in order, without reading them: it advises the system which part of
 * the file is needed soon. table_decode reads and unpacks, on many threads at a time. A band is
 * decoded once, by whichever thread first needs a cell of it, and forgotten when all its cells have
 * been handed out. A chunk holds whole bands, or is within one: so there are never more of them
 * than threads. Handles of libraries are not for several threads: each decoding thread takes one of
 * its own from a pool.
 */
#ifndef LEAT_FORMATS_TABLE_TABLE_BANDS_H
#define LEAT_FORMATS_TABLE_TABLE_BANDS_H

#include "formats/table/table_format.h"

#include <isa-l.h>
#include <pthread.h>

enum {
    TABLE_BAND_BYTES = 1 << 20,       /* what a band has at least, where the table has it */
    TABLE_BAND_MOST_BYTES = 256 << 20 /* larger ones are refused */
};

/* The first member of a format's own handle. */
struct table_handle {
    struct table_handle *next;
};

struct table_bands_ops {
    enum status (*open)(const struct table *t, struct table_handle **out) STATUS_MUST_CHECK;
    /* Band `index` into samples, row by row, in this machine's byte order. */
    enum status (*read)(const struct table *t, struct table_handle *h, size_t index,
                        unsigned char *samples) STATUS_MUST_CHECK;
    void (*free)(struct table_handle *h);
};

struct table_band;

struct table_bands {
    const struct table_bands_ops *ops;
    size_t rows, columns, band_rows;
    enum table_kind kind;
    size_t sample_bytes; /* as table_widen takes them */
    bool one_handle;     /* bands are read by one handle, in file order as far as threads ask so */
    /* Of its own. */
    uint64_t next_cell; /* of table_bands_next */
    size_t next_band;   /* the first one that was not announced to the system */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct table_handle *handles; /* free ones */
    bool is_lent;                 /* one_handle: that one */
    struct table_band *bands;     /* alive */
};

/* To be called first, and last, whatever comes between. */
void table_bands_init(struct table_bands *b, const struct table_bands_ops *ops);
void table_bands_free(struct table_bands *b);
/* Once its members are filled in: tells t->info of it. decode_bytes: what decoding one holds beside
 * its samples. */
void table_bands_set(struct table *t, const struct table_bands *b, size_t decode_bytes);
/* Rows of a band: fewer in the last one. */
size_t table_bands_rows(const struct table_bands *b, size_t index);
/* Gives a handle back, or a first one that is open already. */
void table_bands_return(struct table_bands *b, struct table_handle *h);

/* Unpacks a zlib stream of n bytes into dst[least]: it must be whole, of up to `most` bytes. NULL,
 * or what is wrong with it. */
const char *table_bands_inflate(struct inflate_state *z, const unsigned char *packed, size_t n,
                                unsigned char *dst, size_t least, size_t most);

/* Those of struct table_format, whose state begins with a struct table_bands. The grid, if it is
 * one, is that of t->info, else what is missing is NaN already. For DTYPE_F32 samples are floats.
 */
enum status table_bands_next(struct table *t, struct table_chunk *c, bool *end) STATUS_MUST_CHECK;
enum status table_bands_decode(const struct table *t, struct table_chunk *c) STATUS_MUST_CHECK;

#endif
