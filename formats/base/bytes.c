/*
 * bytes - the growable run of bytes: doubles its room, never shrinks it.
 */
#include "formats/base/bytes.h"

#include "formats/base/checked.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status bytes_reserve(struct bytes *b, size_t more)
{
    size_t need;
    if (more <= b->cap - b->len) {
        return STATUS_OK;
    }
    if (!checked_add(b->len, more, &need) || need > PTRDIFF_MAX) {
        return status_fail(STATUS_NO_MEMORY, "a buffer of %zu bytes cannot grow by %zu", b->len,
                           more);
    }
    size_t cap = b->cap < 32 ? 64 : b->cap;
    if (!checked_mul(cap, 2, &cap) || cap < need || cap > PTRDIFF_MAX) {
        cap = need;
    }
    unsigned char *data = realloc(b->data, cap);
    if (data == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a buffer of %zu bytes", cap);
    }
    b->data = data;
    b->cap = cap;
    return STATUS_OK;
}

enum status bytes_append(struct bytes *b, const void *data, size_t n)
{
    const enum status st = bytes_reserve(b, n);
    if (st != STATUS_OK || n == 0) {
        return st;
    }
    memcpy(b->data + b->len, data, n);
    b->len += n;
    return STATUS_OK;
}

enum status bytes_printf(struct bytes *b, const char *format, ...)
{
    for (size_t want = 64;;) {
        STATUS_TRY(bytes_reserve(b, want));
        const size_t room = b->cap - b->len;
        va_list args;
        va_start(args, format);
        const int n = vsnprintf((char *)b->data + b->len, room, format, args);
        va_end(args);
        if (n < 0) {
            return status_fail(STATUS_NO_MEMORY, "no memory to format text");
        }
        if ((size_t)n < room) {
            b->len += (size_t)n;
            return STATUS_OK;
        }
        want = (size_t)n + 1;
    }
}

void bytes_put(struct bytes *b, const void *data, size_t n, enum status *failed)
{
    if (*failed == STATUS_OK) {
        *failed = bytes_append(b, data, n);
    }
}

void bytes_put_le(struct bytes *b, uint64_t value, size_t n, enum status *failed)
{
    unsigned char bytes[sizeof value];
    assert(n <= sizeof bytes);
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (unsigned char)(value >> (8 * i));
    }
    bytes_put(b, bytes, n, failed);
}

void bytes_clear(struct bytes *b)
{
    b->len = 0;
}

void bytes_free(struct bytes *b)
{
    free(b->data);
    *b = (struct bytes){0};
}
