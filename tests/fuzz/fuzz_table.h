/*
 * fuzz_table - reads one input as a table twice, in chunks of different size, and compares.
 *
 * Whatever the bytes are: no crash, no leak, and when both readings succeed the same numbers. Small
 * chunks may fail where large ones do not only because a cell does not fit.
 */
#ifndef LEAT_TESTS_FUZZ_TABLE_H
#define LEAT_TESTS_FUZZ_TABLE_H

#include "formats/base/bytes.h"
#include "formats/table/table.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FUZZ_MAX_NUMBERS = 1 << 20 };

static void fuzz_require(bool condition)
{
    if (!condition) {
        abort();
    }
}

/* Equal to the bit, or both NaN. */
static bool fuzz_same_numbers(const struct bytes *a, const struct bytes *b, enum dtype dtype)
{
    const size_t width = dtype_bytes(dtype);
    const size_t n = a->len < b->len ? a->len : b->len;
    for (size_t i = 0; i < n; i += width) {
        bool both_nan;
        if (dtype == DTYPE_F32) {
            float x, y;
            memcpy(&x, a->data + i, sizeof x);
            memcpy(&y, b->data + i, sizeof y);
            both_nan = isnan(x) && isnan(y);
        } else {
            double x, y;
            memcpy(&x, a->data + i, sizeof x);
            memcpy(&y, b->data + i, sizeof y);
            both_nan = isnan(x) && isnan(y);
        }
        if (!both_nan && memcmp(a->data + i, b->data + i, width) != 0) {
            return false;
        }
    }
    return a->len == b->len;
}

static struct source *fuzz_source(const uint8_t *data, size_t size)
{
    struct source *s;
    const int fd = memfd_create("input", MFD_CLOEXEC);
    fuzz_require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    return source_open(fd, "input", &s) == STATUS_OK ? s : NULL;
}

/* Reads the table in chunks of raw_cap bytes; the numbers go to *numbers, the labels to *labels. */
static enum status fuzz_read(const uint8_t *data, size_t size, const struct table_options *options,
                             size_t raw_cap, struct bytes *numbers, struct bytes *labels,
                             enum dtype *dtype)
{
    struct table *t;
    struct source *const s = fuzz_source(data, size);
    if (!s) {
        return STATUS_BAD_INPUT;
    }
    enum status status = table_open(s, options, &t);
    if (status) {
        return status;
    }
    *dtype = table_info(t)->dtype;
    fuzz_require(table_info(t)->cells_per_line >= 1);
    struct table_chunk c = {.raw = malloc(raw_cap),
                            .raw_cap = raw_cap,
                            .values = malloc(4 * raw_cap),
                            .values_cap = 4 * raw_cap};
    fuzz_require(c.raw && c.values);
    for (bool end = false; numbers->len < FUZZ_MAX_NUMBERS;) {
        status = table_next(t, &c, &end);
        if (status || end) {
            break;
        }
        status = table_decode(t, &c);
        if (status) {
            break;
        }
        fuzz_require(bytes_append(numbers, c.values, c.n_cells * dtype_bytes(*dtype)) == STATUS_OK);
        fuzz_require(bytes_append(labels, c.labels, c.labels_len) == STATUS_OK);
    }
    table_chunk_clear(&c);
    free(c.raw);
    free(c.values);
    table_free(t);
    return status;
}

static inline void fuzz_table(const uint8_t *data, size_t size, const struct table_options *options)
{
    enum { LARGE = 1 << 16, SMALL = 61 };
    struct bytes numbers[2] = {{0}}, labels[2] = {{0}};
    enum dtype dtype = DTYPE_F64;
    const enum status large =
        fuzz_read(data, size, options, LARGE, &numbers[0], &labels[0], &dtype);
    const enum status small =
        fuzz_read(data, size, options, SMALL, &numbers[1], &labels[1], &dtype);
    if (large == STATUS_OK && small == STATUS_OK) {
        if (numbers[0].len < FUZZ_MAX_NUMBERS && numbers[1].len < FUZZ_MAX_NUMBERS) {
            fuzz_require(fuzz_same_numbers(&numbers[0], &numbers[1], dtype));
            fuzz_require(labels[0].len == labels[1].len);
            fuzz_require(labels[0].len == 0 ||
                         memcmp(labels[0].data, labels[1].data, labels[0].len) == 0);
        }
    } else if (large == STATUS_OK) {
        fuzz_require(strstr(status_message(), "is longer than") != NULL);
    } else {
        fuzz_require(small != STATUS_OK);
    }
    for (int i = 0; i < 2; i++) {
        bytes_free(&numbers[i]);
        bytes_free(&labels[i]);
    }
}

#endif
