/*
 * utf8 - strict decoding.
 *
 * Source: RFC 3629; the ranges of the second byte are those of its section 4. Windows-1252:
 * the mapping table of the Unicode Consortium.
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

size_t utf8_encode(uint32_t point, unsigned char out[UTF8_MOST])
{
    if (point < 0x80) {
        out[0] = (unsigned char)point;
        return 1;
    }
    const size_t len = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--) {
        out[i] = (unsigned char)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    out[0] = (unsigned char)(0xf00U >> len | point);
    return len;
}

bool utf8_is_valid(const void *text, size_t n)
{
    const unsigned char *p = text;
    for (size_t i = 0; i < n;) {
        uint32_t point;
        i += utf8_decode(p + i, n - i, &point);
        if (point == UTF8_WRONG) {
            return false;
        }
    }
    return true;
}

size_t utf8_from_windows_1252(const void *text, size_t n, void *dst)
{
    static const uint16_t high[32] = {
        0x20ac, 0xfffd, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
        0x2039, 0x0152, 0xfffd, 0x017d, 0xfffd, 0xfffd, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
        0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0xfffd, 0x017e, 0x0178};
    const unsigned char *const from = text;
    unsigned char *to = dst;
    for (size_t i = 0; i < n; i++) {
        unsigned char out[UTF8_MOST];
        const bool is_high = from[i] >= 0x80 && from[i] < 0xa0;
        const size_t len = utf8_encode(is_high ? high[from[i] - 0x80] : from[i], out);
        memcpy(to, out, len);
        to += len;
    }
    return (size_t)(to - (unsigned char *)dst);
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
