/*
 * npy - NumPy arrays as tables.
 *
 * Numbers in this machine's layout (f4 and f8 in its byte order) are read straight into the chunk's
 * values; others become doubles (f4 in the other byte order: floats) when they are decoded. A
 * one-dimensional array is one line. NaN is missing; infinities are passed on as they are.
 */
#include "formats/table/npy.h"

#include <byteswap.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_direct(const struct npy_header *h)
{
    return h->kind == 'f' && !h->swapped;
}

static enum dtype npy_dtype(const struct npy_header *h)
{
    return h->kind == 'f' && h->item_bytes == 4 ? DTYPE_F32 : DTYPE_F64;
}

void npy_describe(const struct npy_header *h, struct table_info *info)
{
    const bool columns = h->n_dims == 2 && h->fortran;
    const size_t lines = h->n_dims == 2 ? h->shape[0] : 1;
    const size_t cells = h->n_dims == 2 ? h->shape[1] : h->shape[0];
    info->dtype = npy_dtype(h);
    info->n_lines = columns ? cells : lines;
    info->n_lines_estimate = info->n_lines;
    info->cells_per_line = columns ? lines : cells;
    info->lines_are_columns = columns;
}

enum status npy_check_size(const struct npy_array *a, uint64_t available, bool at_most)
{
    const struct npy_header *const h = &a->header;
    if (available < h->data_bytes) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: byte %" PRIu64 ": its header claims %zu numbers of %zu bytes, but "
                           "%s %" PRIu64 " bytes follow; it was cut short or its header is wrong",
                           a->reader.where, h->header_bytes, h->n_items, h->item_bytes,
                           at_most ? "at most" : "only", available);
    }
    if (!at_most && available > h->data_bytes) {
        return status_fail(
            STATUS_BAD_INPUT, "%s: byte %" PRIu64 ": %" PRIu64 " bytes more than its header claims",
            a->reader.where, h->header_bytes + h->data_bytes, available - h->data_bytes);
    }
    return STATUS_OK;
}

/* Everything has been read: there must be no more. Reading on also has a packed stream checked. */
static enum status check_end(const struct npy_array *a)
{
    unsigned char more;
    size_t n;
    const enum status status = a->reader.read(a->reader.from, &more, 1, &n);
    if (status || n == 0) {
        return status;
    }
    return status_fail(STATUS_BAD_INPUT,
                       "%s: byte %" PRIu64 ": more follows than its header claims", a->reader.where,
                       a->header.header_bytes + a->header.data_bytes);
}

enum status npy_array_next(struct npy_array *a, struct table_chunk *c, bool *end)
{
    const struct npy_header *const h = &a->header;
    const uint64_t left = h->data_bytes - a->done_bytes;
    if (left == 0) {
        *end = true;
        return check_end(a);
    }
    size_t room = c->values_cap / dtype_bytes(npy_dtype(h));
    if (!is_direct(h) && c->raw_cap / h->item_bytes < room) {
        room = c->raw_cap / h->item_bytes;
    }
    if (room == 0) {
        return status_fail(STATUS_INTERNAL, "%s: a chunk without room", a->reader.where);
    }
    const uint64_t n_left = left / h->item_bytes;
    const size_t n = n_left < room ? (size_t)n_left : room;
    const size_t bytes = n * h->item_bytes;
    size_t got;
    const enum status status =
        a->reader.read(a->reader.from, is_direct(h) ? c->values : c->raw, bytes, &got);
    if (status) {
        return status;
    }
    if (got < bytes) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: byte %" PRIu64 ": ends here, %" PRIu64
                           " bytes before what its header claims",
                           a->reader.where, h->header_bytes + a->done_bytes + got, left - got);
    }
    c->file_offset = h->header_bytes + a->done_bytes;
    c->raw_len = is_direct(h) ? 0 : bytes;
    c->n_cells = n;
    a->done_bytes += bytes;
    return STATUS_OK;
}

static void mark_missing_f32(float *values, size_t n, float missing)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = values[i] == missing ? NAN : values[i];
    }
}

static void swap_f32(const unsigned char *raw, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, raw + 4 * i, sizeof bits);
        bits = bswap_32(bits);
        memcpy(out + i, &bits, sizeof bits);
    }
}

static void swap_f64(const unsigned char *raw, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, raw + 8 * i, sizeof bits);
        bits = bswap_64(bits);
        memcpy(out + i, &bits, sizeof bits);
    }
}

static void widen_8(const unsigned char *raw, size_t n, bool is_signed, double *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = is_signed ? (double)(int8_t)raw[i] : (double)raw[i];
    }
}

/* Integers of 16, 32 or 64 bits to doubles; those of 64 bits are rounded to nearest. */
#define DEFINE_WIDEN(bits)                                                                         \
    static void widen_##bits(const unsigned char *raw, size_t n, bool is_signed, bool swapped,     \
                             double *out)                                                          \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            uint##bits##_t u;                                                                      \
            memcpy(&u, raw + i * sizeof u, sizeof u);                                              \
            u = swapped ? bswap_##bits(u) : u;                                                     \
            out[i] = is_signed ? (double)(int##bits##_t)u : (double)u;                             \
        }                                                                                          \
    }
DEFINE_WIDEN(16)
DEFINE_WIDEN(32)
DEFINE_WIDEN(64)

static void convert(const struct npy_header *h, const unsigned char *raw, size_t n, void *values)
{
    const bool is_signed = h->kind == 'i';
    if (h->kind == 'f') {
        if (h->item_bytes == 4) {
            swap_f32(raw, n, values);
        } else {
            swap_f64(raw, n, values);
        }
        return;
    }
    switch (h->item_bytes) {
    case 1:
        widen_8(raw, n, is_signed, values);
        break;
    case 2:
        widen_16(raw, n, is_signed, h->swapped, values);
        break;
    case 4:
        widen_32(raw, n, is_signed, h->swapped, values);
        break;
    default:
        widen_64(raw, n, is_signed, h->swapped, values);
        break;
    }
}

enum status npy_array_decode(const struct table *t, const struct npy_array *a,
                             struct table_chunk *c)
{
    const struct npy_header *const h = &a->header;
    if (!is_direct(h)) {
        convert(h, c->raw, c->n_cells, c->values);
    }
    if (!t->options.has_missing_value) {
        return STATUS_OK;
    }
    if (npy_dtype(h) == DTYPE_F32) {
        mark_missing_f32(c->values, c->n_cells, (float)t->options.missing_value);
    } else {
        (void)table_mark_missing(c->values, c->n_cells, t->options.missing_value);
    }
    return STATUS_OK;
}

static bool npy_suits(const unsigned char *head, size_t n)
{
    return n >= 6 && memcmp(head, "\x93NUMPY", 6) == 0;
}

static enum status read_source(void *from, void *dst, size_t cap, size_t *n)
{
    return source_read(from, dst, cap, n);
}

static enum status npy_open(struct table *t)
{
    struct npy_array *const a = calloc(1, sizeof *a);
    if (!a) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(t->source));
    }
    t->state = a;
    a->reader = (struct npy_reader){read_source, t->source, source_name(t->source)};
    const enum status status = npy_read_header(&a->reader, &a->header);
    if (status) {
        return status;
    }
    npy_describe(&a->header, &t->info);
    const uint64_t bytes = source_file_bytes(t->source);
    if (source_is_packed(t->source)) {
        const uint64_t most =
            bytes < UINT64_MAX / DEFLATE_MAX_RATIO ? bytes * DEFLATE_MAX_RATIO : UINT64_MAX;
        return npy_check_size(a, most, true);
    }
    const uint64_t header = a->header.header_bytes;
    return npy_check_size(a, bytes > header ? bytes - header : 0, false);
}

static enum status npy_next(struct table *t, struct table_chunk *c, bool *end)
{
    return npy_array_next(t->state, c, end);
}

static enum status npy_decode(const struct table *t, struct table_chunk *c)
{
    return npy_array_decode(t, t->state, c);
}

const struct table_format npy_format = {
    .name = "npy",
    .suits = npy_suits,
    .open = npy_open,
    .next = npy_next,
    .decode = npy_decode,
    .close = free,
};
