/*
 * utf8 - strict decoding.
 *
 * Source: RFC 3629; the ranges of the second byte are those of its section 4.
 */
#include "formats/base/utf8.h"

#include <stdbool.h>
#include <string.h>

enum { REPLACEMENT = 0xfffd };

size_t utf8_decode(const void *text, size_t n, uint32_t *point)
{
    const unsigned char *const p = text;
    const unsigned lead = p[0];
    const size_t len = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    unsigned low = 0x80, high = 0xbf; /* of the next byte */
    if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4) {
        *point = UTF8_WRONG;
        return 1;
    }
    low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : low;
    high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : high;
    *point = len == 1 ? lead : lead & (0x7fU >> len);
    for (size_t i = 1; i < len; i++) {
        if (i == n || p[i] < low || p[i] > high) {
            *point = UTF8_WRONG;
            return i;
        }
        *point = *point << 6 | (p[i] & 0x3fU);
        low = 0x80;
        high = 0xbf;
    }
    return len;
}

uint32_t utf8_next(const char **text)
{
    uint32_t point;
    if (**text == '\0') {
        return 0;
    }
    *text += utf8_decode(*text, strnlen(*text, 4), &point);
    return point == UTF8_WRONG ? REPLACEMENT : point;
}

static enum status append_next(struct bytes *out, const char **text)
{
    const char *const from = *text;
    /* three bytes that mean U+FFFD are themselves what stands for it */
    const bool wrong = utf8_next(text) == REPLACEMENT;
    return wrong ? bytes_append(out, "\xef\xbf\xbd", 3)
                 : bytes_append(out, from, (size_t)(*text - from));
}

enum status utf8_append_valid(struct bytes *out, const char *text)
{
    while (*text != '\0') {
        STATUS_TRY(append_next(out, &text));
    }
    return STATUS_OK;
}

enum status utf8_append_cut(struct bytes *out, const char *text, size_t most, bool *is_cut)
{
    static const char mark[] = "\xe2\x80\xa6";
    const size_t begin = out->len;
    size_t before_mark = begin;
    while (*text != '\0' && out->len - begin <= most) {
        before_mark = out->len - begin <= most - strlen(mark) ? out->len : before_mark;
        STATUS_TRY(append_next(out, &text));
    }
    *is_cut = out->len - begin > most;
    if (!*is_cut) {
        return STATUS_OK;
    }
    out->len = before_mark;
    return bytes_append(out, mark, strlen(mark));
}
