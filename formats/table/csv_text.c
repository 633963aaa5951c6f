/*
 * csv_text - the bytes of a delimited text as UTF-8.
 *
 * UTF-16 is known by its byte order mark and is turned to UTF-8 as it is read, in pieces; all other
 * text is passed on as it is. Source: Unicode 15, 3.9 and 3.10.
 */
#include "formats/table/csv.h"

#include "formats/base/utf8.h"

#include <string.h>

enum { PIECE_BYTES = 32 << 10, REPLACEMENT = 0xfffd };

enum status csv_text_open(struct csv_text *x, struct source *source)
{
    const unsigned char *head;
    size_t n;
    x->source = source;
    STATUS_TRY(source_peek(source, 2, &head, &n));
    if (n < 2 || !((head[0] == 0xff && head[1] == 0xfe) || (head[0] == 0xfe && head[1] == 0xff))) {
        return STATUS_OK;
    }
    x->is_utf16 = true;
    x->high_first = head[0] == 0xfe;
    unsigned char mark[2];
    return source_read(source, mark, sizeof mark, &n);
}

void csv_text_free(struct csv_text *x)
{
    bytes_free(&x->text);
}

/* A surrogate that has no partner stands for no character. */
static enum status append_unit(struct csv_text *x, unsigned unit)
{
    unsigned char out[UTF8_MOST];
    const bool is_low = unit >= 0xdc00 && unit < 0xe000;
    if (x->high != 0 && is_low) {
        const uint32_t point = 0x10000U + ((x->high - 0xd800U) << 10) + (unit - 0xdc00U);
        x->high = 0;
        return bytes_append(&x->text, out, utf8_encode(point, out));
    }
    if (x->high != 0) {
        STATUS_TRY(bytes_append(&x->text, out, utf8_encode(REPLACEMENT, out)));
        x->high = 0;
    }
    if (unit >= 0xd800 && unit < 0xdc00) {
        x->high = unit;
        return STATUS_OK;
    }
    return bytes_append(&x->text, out, utf8_encode(is_low ? REPLACEMENT : unit, out));
}

/* Turns one more piece of the source to UTF-8. */
static enum status transcode(struct csv_text *x)
{
    unsigned char piece[PIECE_BYTES];
    size_t n;
    if (x->at > 0) {
        memmove(x->text.data, x->text.data + x->at, x->text.len - x->at);
        x->text.len -= x->at;
        x->at = 0;
    }
    STATUS_TRY(source_read(x->source, piece, sizeof piece, &n));
    x->ended = n < sizeof piece;
    if (n % 2 != 0) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: is UTF-16 text of an odd number of bytes: it was cut short",
                           source_name(x->source));
    }
    for (size_t i = 0; i < n; i += 2) {
        const unsigned first = piece[i], second = piece[i + 1];
        STATUS_TRY(append_unit(x, x->high_first ? first << 8 | second : second << 8 | first));
    }
    if (x->ended && x->high != 0) {
        return append_unit(x, REPLACEMENT);
    }
    return STATUS_OK;
}

enum status csv_text_peek(struct csv_text *x, size_t want, const unsigned char **data, size_t *n)
{
    if (!x->is_utf16) {
        return source_peek(x->source, want, data, n);
    }
    while (!x->ended && x->text.len - x->at < want) {
        STATUS_TRY(transcode(x));
    }
    STATUS_TRY(bytes_reserve(&x->text, 1));
    *data = x->text.data + x->at;
    *n = x->text.len - x->at;
    return STATUS_OK;
}

enum status csv_text_read(struct csv_text *x, void *dst, size_t cap, size_t *n,
                          struct source_counts *counts)
{
    if (!x->is_utf16) {
        return source_read_text(x->source, dst, cap, n, counts);
    }
    for (*n = 0; *n < cap;) {
        const size_t left = x->text.len - x->at, part = left < cap - *n ? left : cap - *n;
        if (part == 0 && x->ended) {
            break;
        }
        if (part == 0) {
            STATUS_TRY(transcode(x));
            continue;
        }
        memcpy((unsigned char *)dst + *n, x->text.data + x->at, part);
        source_count(x->text.data + x->at, part, counts);
        x->at += part;
        *n += part;
    }
    return STATUS_OK;
}

enum status csv_text_skip(struct csv_text *x, size_t n)
{
    unsigned char gone[4096];
    struct source_counts counts = {0};
    while (n > 0) {
        size_t got;
        const enum status status =
            csv_text_read(x, gone, n < sizeof gone ? n : sizeof gone, &got, &counts);
        if (status || got == 0) {
            return status;
        }
        n -= got;
    }
    return STATUS_OK;
}
