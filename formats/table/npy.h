/*
 * npy - the NumPy array format: its header, and its numbers in chunks; for
 * formats/table_np*.c.
 *
 * Source: numpy.lib.format, versions 1.0 to 3.0. The header is a Python dict literal; exactly the
 * keys descr, fortran_order and shape are believed, in the form that NumPy writes.
 */
#ifndef LEAT_FORMATS_TABLE_NPY_H
#define LEAT_FORMATS_TABLE_NPY_H

#include "formats/table/table_format.h"

/* Where an array's bytes come from. `where` names it in messages; both are borrowed. */
struct npy_reader {
    enum status (*read)(void *from, void *dst, size_t cap, size_t *n);
    void *from;
    const char *where;
};

struct npy_header {
    enum table_kind kind;
    size_t item_bytes; /* 1, 2, 4 or 8; for f 4 or 8 */
    bool swapped;      /* not in this machine's byte order */
    bool fortran;
    size_t n_dims; /* 1 or 2 */
    size_t shape[2];
    size_t n_items;        /* their product, >= 1 */
    uint64_t header_bytes; /* before the first number */
    uint64_t data_bytes;   /* n_items * item_bytes */
};

/* Reads up to the first number. STATUS_BAD_INPUT (no such header), _UNSUPPORTED (a type or a number
 * of dimensions that leat does not take). */
enum status npy_read_header(const struct npy_reader *r, struct npy_header *out) STATUS_MUST_CHECK;

/* An array whose header has been read, and how much of its data has been. */
struct npy_array {
    struct npy_reader reader;
    struct npy_header header;
    uint64_t done_bytes;
};

/* Tells t->info about the array. */
void npy_describe(const struct npy_header *h, struct table_info *info);
/* Checks that what is left for the numbers, `available` bytes, is what the header claims; with
 * at_most, that it is not less. */
enum status npy_check_size(const struct npy_array *a, uint64_t available,
                           bool at_most) STATUS_MUST_CHECK;
/* table_format's next and decode. */
enum status npy_array_next(struct npy_array *a, struct table_chunk *c, bool *end) STATUS_MUST_CHECK;
enum status npy_array_decode(const struct table *t, const struct npy_array *a,
                             struct table_chunk *c) STATUS_MUST_CHECK;

#endif
