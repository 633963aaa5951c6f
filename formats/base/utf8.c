/*
 * utf8 - strict decoding: no overlong forms, no surrogates, nothing beyond U+10FFFF.
 *
 * Source: RFC 3629; the ranges of the second byte are those of its section 4.
 */
#include "formats/base/utf8.h"

static const uint32_t replacement = 0xfffd;

uint32_t utf8_next(const char **text)
{
    const unsigned char *p = (const unsigned char *)*text;
    const unsigned lead = *p;
    unsigned low = 0x80, high = 0xbf; /* of the next byte */
    unsigned more;
    uint32_t point;
    if (lead == 0) {
        return 0;
    }
    p++;
    if (lead < 0x80) {
        more = 0;
        point = lead;
    } else if (lead >= 0xc2 && lead <= 0xdf) {
        more = 1;
        point = lead & 0x1f;
    } else if (lead >= 0xe0 && lead <= 0xef) {
        more = 2;
        point = lead & 0x0f;
        low = lead == 0xe0 ? 0xa0 : low;
        high = lead == 0xed ? 0x9f : high;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
        more = 3;
        point = lead & 0x07;
        low = lead == 0xf0 ? 0x90 : low;
        high = lead == 0xf4 ? 0x8f : high;
    } else {
        more = 0;
        point = replacement;
    }
    for (; more > 0; more--) {
        if (*p < low || *p > high) {
            point = replacement;
            break;
        }
        point = point << 6 | (*p++ & 0x3f);
        low = 0x80;
        high = 0xbf;
    }
    *text = (const char *)p;
    return point;
}

enum status utf8_append_valid(struct bytes *out, const char *text)
{
    enum status st = STATUS_OK;
    while (*text != '\0' && st == STATUS_OK) {
        const char *const from = text;
        const uint32_t point = utf8_next(&text);
        const size_t n = (size_t)(text - from);
        /* three bytes that mean U+FFFD are themselves what stands for it */
        st = point == replacement ? bytes_append(out, "\xef\xbf\xbd", 3)
                                  : bytes_append(out, from, n);
    }
    return st;
}
