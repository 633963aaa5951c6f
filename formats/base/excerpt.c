/*
 * excerpt - text from files, character by character of UTF-8 (RFC 3629: no overlong forms, no
 * surrogates, nothing above U+10FFFF) and without controls (C0, DEL, C1). Which characters break or
 * turn lines: Unicode 15, 5.8 and UAX #9. They are fit for names, and so are only spelt out where a
 * person reads.
 */
#include "formats/base/excerpt.h"

#include <stdio.h>
#include <string.h>

/* The bytes of the UTF-8 character at p[0 .. n): 1 to 4; 0 when it is none, or a control. */
static size_t character_bytes(const unsigned char *p, size_t n)
{
    if (p[0] < 0x80) {
        return p[0] >= 0x20 && p[0] != 0x7f;
    }
    const size_t len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || len > n) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    const bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    const bool outside = (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf4 && p[1] > 0x8f);
    const bool c1_control = p[0] == 0xc2 && p[1] < 0xa0;
    return overlong || outside || c1_control ? 0 : len;
}

/* Whether the character of 3 bytes breaks a line, or turns the direction in which it is written. */
static bool steers_line(const unsigned char *p)
{
    const unsigned low = (unsigned)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
    const unsigned c = (unsigned)(p[0] & 0x0f) << 12 | low;
    return c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

size_t excerpt_escape_next(char dst[4], const char **text)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *const p = (const unsigned char *)*text;
    const size_t whole = character_bytes(p, strnlen(*text, 4));
    if (whole > 0 && !(whole == 3 && steers_line(p))) {
        memcpy(dst, p, whole);
        *text += whole;
        return whole;
    }
    memcpy(dst, (const char[]){'\\', 'x', digits[*p >> 4], digits[*p & 15]}, 4);
    (*text)++;
    return 4;
}

size_t excerpt_escape(char *dst, const char *text)
{
    size_t len = 0;
    while (*text != '\0') {
        len += excerpt_escape_next(dst + len, &text);
    }
    dst[len] = '\0';
    return len;
}

struct excerpt excerpt_of(const void *text, size_t n)
{
    static const char ellipsis[] = "...";
    const unsigned char *p = text;
    const unsigned char *const end = p + n;
    struct excerpt e;
    size_t len = 0;
    while (p < end) {
        const size_t whole = character_bytes(p, (size_t)(end - p));
        const size_t need = whole > 0 ? whole : 4;
        if (len + need + sizeof ellipsis > sizeof e.text) {
            memcpy(e.text + len, ellipsis, sizeof ellipsis - 1);
            len += sizeof ellipsis - 1;
            break;
        }
        if (whole > 0) {
            memcpy(e.text + len, p, whole);
            len += whole;
            p += whole;
        } else {
            len += (size_t)snprintf(e.text + len, 5, "\\x%02x", *p++);
        }
    }
    e.text[len] = '\0';
    return e;
}

void excerpt_clean(char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        const size_t whole = character_bytes((const unsigned char *)text + i, n - i);
        if (whole == 0) {
            text[i] = '?';
        }
        i += whole > 0 ? whole : 1;
    }
}

bool excerpt_is_clean(const void *text, size_t n)
{
    const unsigned char *p = text;
    for (size_t i = 0; i < n;) {
        const size_t whole = character_bytes(p + i, n - i);
        if (whole == 0) {
            return false;
        }
        i += whole;
    }
    return true;
}
