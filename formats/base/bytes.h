/*
 * bytes - a growable run of bytes, for text and pieces of results.
 */
#ifndef LEAT_FORMATS_BASE_BYTES_H
#define LEAT_FORMATS_BASE_BYTES_H

#include "formats/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct bytes {
    unsigned char *data; /* owned; NULL while cap is 0 */
    size_t len, cap;
};

/* Makes room for `more` bytes beyond len. STATUS_NO_MEMORY. */
enum status bytes_reserve(struct bytes *b, size_t more) STATUS_MUST_CHECK;
/* Appends n bytes. STATUS_NO_MEMORY. */
enum status bytes_append(struct bytes *b, const void *data, size_t n) STATUS_MUST_CHECK;
/* Appends formatted text, without a NUL. STATUS_NO_MEMORY. */
enum status bytes_printf(struct bytes *b, const char *format, ...) STATUS_MUST_CHECK
    __attribute__((format(printf, 2, 3)));
/* Append n bytes, or the low n of `value`, the lowest first, for many in a row: nothing is done
 * once *failed is a failure, which is set by the first one. */
void bytes_put(struct bytes *b, const void *data, size_t n, enum status *failed);
void bytes_put_le(struct bytes *b, uint64_t value, size_t n, enum status *failed);
/* Forgets the content, keeps the memory. */
void bytes_clear(struct bytes *b);
/* Gives the memory back; *b is empty and usable again. */
void bytes_free(struct bytes *b);

#endif
