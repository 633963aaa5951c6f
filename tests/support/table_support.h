/*
 * table_support - inputs from memory and tables read whole, for the tests of the readers.
 */
#ifndef LEAT_TESTS_TABLE_SUPPORT_H
#define LEAT_TESTS_TABLE_SUPPORT_H

#include "formats/base/bytes.h"
#include "formats/table/table.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

/* A descriptor of a file that holds data[0 .. n), read from its start. */
static inline int memory_file(const void *data, size_t n)
{
    const int fd = memfd_create("input", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, n), n);
    return fd;
}

static inline struct source *memory_source(const void *data, size_t n)
{
    struct source *s;
    if (source_open(memory_file(data, n), "in.x", &s) != STATUS_OK) {
        fail_msg("source_open: %s", status_message());
    }
    return s;
}

/* One gzip member. */
static inline struct bytes gzipped(const void *data, size_t n)
{
    struct bytes out = {0};
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(bytes_reserve(&out, deflateBound(&z, n) + 64), STATUS_OK);
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)n;
    z.next_out = out.data;
    z.avail_out = (uInt)out.cap;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out.len = z.total_out;
    deflateEnd(&z);
    return out;
}

/* A table read to its end. */
struct reading {
    enum status status; /* of the first call that failed */
    struct table *table;
    const struct table_info *info;
    struct bytes numbers, labels;
    size_t n_numbers, n_missing, n_labels, n_chunks;
};

static inline void read_chunks(struct reading *r, size_t raw_cap, size_t values_cap)
{
    enum { SENTINEL = 16 };
    struct table_chunk c = {.raw = malloc(raw_cap + SENTINEL),
                            .raw_cap = raw_cap,
                            .values = malloc(values_cap + SENTINEL),
                            .values_cap = values_cap};
    unsigned char sentinel[SENTINEL];
    memset(sentinel, 0xa5, sizeof sentinel);
    memset(c.raw + raw_cap, 0xa5, SENTINEL);
    memset((unsigned char *)c.values + values_cap, 0xa5, SENTINEL);
    for (bool end = false; !r->status;) {
        r->status = table_next(r->table, &c, &end);
        if (!r->status) {
            r->status = end ? table_end(r->table) : table_decode(r->table, &c);
        }
        if (r->status || end) {
            break;
        }
        assert_int_equal(
            bytes_append(&r->numbers, c.values, c.n_cells * dtype_bytes(r->info->dtype)),
            STATUS_OK);
        assert_int_equal(bytes_append(&r->labels, c.labels, c.labels_len), STATUS_OK);
        r->n_numbers += c.n_cells;
        r->n_missing += c.n_missing;
        r->n_labels += c.n_labels;
        r->n_chunks++;
    }
    assert_memory_equal(c.raw + raw_cap, sentinel, SENTINEL);
    assert_memory_equal((unsigned char *)c.values + values_cap, sentinel, SENTINEL);
    table_chunk_clear(&c);
    free(c.raw);
    free(c.values);
}

static inline struct reading read_source(struct source *s, const struct table_options *options,
                                         size_t raw_cap)
{
    struct reading r = {0};
    r.status = table_open(s, options, &r.table);
    if (!r.status) {
        r.info = table_info(r.table);
        read_chunks(&r, raw_cap, 4 * raw_cap);
    }
    return r;
}

static inline struct reading read_bytes(const void *data, size_t n,
                                        const struct table_options *options, size_t raw_cap)
{
    return read_source(memory_source(data, n), options, raw_cap);
}

static inline struct reading read_text(const char *text, const struct table_options *options)
{
    return read_bytes(text, strlen(text), options, 4096);
}

static inline void reading_free(struct reading *r)
{
    table_free(r->table);
    bytes_free(&r->numbers);
    bytes_free(&r->labels);
    *r = (struct reading){0};
}

/* The numbers are these; NAN stands for a missing one. */
static inline void assert_numbers(const struct reading *r, const double *expected, size_t n)
{
    if (r->status) {
        fail_msg("reading failed: %s", status_message());
    }
    assert_int_equal(r->info->dtype, DTYPE_F64);
    assert_int_equal(r->n_numbers, n);
    for (size_t i = 0; i < n; i++) {
        double x;
        memcpy(&x, r->numbers.data + 8 * i, sizeof x);
        if (isnan(expected[i]) ? !isnan(x) : !(x == expected[i])) {
            fail_msg("number %zu is %.17g, not %.17g", i, x, expected[i]);
        }
    }
}

#define ASSERT_NUMBERS(reading, ...)                                                               \
    assert_numbers(reading, (const double[]){__VA_ARGS__},                                         \
                   sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

/* It failed with this status, and its message holds each of these texts. */
static inline void assert_failed(const struct reading *r, enum status status, const char *first,
                                 const char *second)
{
    if (r->status != status) {
        fail_msg("status is %s, not %s (%s)", status_name(r->status), status_name(status),
                 r->status ? status_message() : "");
    }
    const char *const texts[] = {"in.x: ", first, second};
    for (size_t i = 0; i < 3; i++) {
        if (texts[i] && !strstr(status_message(), texts[i])) {
            fail_msg("no \"%s\" in: %s", texts[i], status_message());
        }
    }
}

#endif
