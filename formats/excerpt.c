/*
 * excerpt - text from files, character by character of UTF-8 (RFC 3629: no overlong forms, no
 * surrogates, nothing above U+10FFFF) and without controls (C0, DEL, C1).
 */
#include "formats/excerpt.h"

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
