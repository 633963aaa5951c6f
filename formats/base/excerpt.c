/*
 * excerpt - text from files, character by character of UTF-8 and without controls (C0, DEL, C1).
 * Which characters break or turn lines: Unicode 15, 5.8 and UAX #9. They are fit for names, and so
 * are only spelt out where a person reads.
 */
#include "formats/base/excerpt.h"

#include "formats/base/utf8.h"

#include <stdio.h>
#include <string.h>

/* The bytes of the UTF-8 character at p[0 .. n): 1 to 4; 0 when there is none, or a control. */
static size_t character_bytes(const unsigned char *p, size_t n, uint32_t *point)
{
    const size_t len = utf8_decode(p, n, point);
    return *point == UTF8_WRONG || *point < 0x20 || (*point >= 0x7f && *point < 0xa0) ? 0 : len;
}

/* Whether the character breaks a line, or turns the direction in which it is written. */
static bool steers_line(uint32_t c)
{
    return c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

size_t excerpt_escape_next(char dst[4], const char **text)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *const p = (const unsigned char *)*text;
    uint32_t point;
    const size_t whole = character_bytes(p, strnlen(*text, 4), &point);
    if (whole > 0 && !steers_line(point)) {
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

/* How many characters at the front stand in HTML as they are; most do. */
static size_t plain_bytes(const char *text)
{
    const char *p = text;
    while (*p >= ' ' && *p < 0x7f && *p != '&' && *p != '<' && *p != '>' && *p != '"' &&
           *p != '\'') {
        p++;
    }
    return (size_t)(p - text);
}

enum status excerpt_html(const char *text, struct bytes *out)
{
    static const struct {
        char c;
        const char *instead;
    } special[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    enum status code = STATUS_OK;
    while (*text != '\0' && code == STATUS_OK) {
        char shown[4];
        const char *instead = NULL;
        const size_t n_plain = plain_bytes(text);
        if (n_plain > 0) {
            code = bytes_append(out, text, n_plain);
            text += n_plain;
            continue;
        }
        const size_t n = excerpt_escape_next(shown, &text);
        for (size_t k = 0; n == 1 && k < sizeof special / sizeof *special; k++) {
            instead = *shown == special[k].c ? special[k].instead : instead;
        }
        code = instead != NULL ? bytes_append(out, instead, strlen(instead))
                               : bytes_append(out, shown, n);
    }
    return code;
}

struct excerpt excerpt_of(const void *text, size_t n)
{
    static const char ellipsis[] = "...";
    const unsigned char *p = text;
    const unsigned char *const end = p + n;
    struct excerpt e;
    uint32_t point;
    size_t len = 0;
    while (p < end) {
        const size_t whole = character_bytes(p, (size_t)(end - p), &point);
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
    uint32_t point;
    for (size_t i = 0; i < n;) {
        const size_t whole = character_bytes((const unsigned char *)text + i, n - i, &point);
        if (whole == 0) {
            text[i] = '?';
        }
        i += whole > 0 ? whole : 1;
    }
}

bool excerpt_is_clean(const void *text, size_t n)
{
    const unsigned char *p = text;
    uint32_t point;
    for (size_t i = 0; i < n;) {
        const size_t whole = character_bytes(p + i, n - i, &point);
        if (whole == 0) {
            return false;
        }
        i += whole;
    }
    return true;
}
