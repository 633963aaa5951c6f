/*
 * bytes - a growable run of bytes, for text and pieces of results.
 */
#ifndef LEAT_FORMATS_BASE_BYTES_H
#define LEAT_FORMATS_BASE_BYTES_H

#include "formats/base/status.h"

#include <stddef.h>

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
/* Forgets the content, keeps the memory. */
void bytes_clear(struct bytes *b);
/* Gives the memory back; *b is empty and usable again. */
void bytes_free(struct bytes *b);

#endif
