/*
 * entry_name - see entry_name.h.
 *
 * Source: PKWARE APPNOTE.TXT 6.3.9, appendix D: names in zip are of code page 437 unless bit 11 of
 * the flags is set. The table is that page's upper half, by the mapping that Unicode publishes.
 */
#include "formats/source/entry_name.h"

#include "formats/base/excerpt.h"
#include "formats/base/utf8.h"

#include <string.h>

enum { PART_BYTES = 255 };

static const uint16_t code_page_437[128] = {
    0x00c7, 0x00fc, 0x00e9, 0x00e2, 0x00e4, 0x00e0, 0x00e5, 0x00e7, 0x00ea, 0x00eb, 0x00e8, 0x00ef,
    0x00ee, 0x00ec, 0x00c4, 0x00c5, 0x00c9, 0x00e6, 0x00c6, 0x00f4, 0x00f6, 0x00f2, 0x00fb, 0x00f9,
    0x00ff, 0x00d6, 0x00dc, 0x00a2, 0x00a3, 0x00a5, 0x20a7, 0x0192, 0x00e1, 0x00ed, 0x00f3, 0x00fa,
    0x00f1, 0x00d1, 0x00aa, 0x00ba, 0x00bf, 0x2310, 0x00ac, 0x00bd, 0x00bc, 0x00a1, 0x00ab, 0x00bb,
    0x2591, 0x2592, 0x2593, 0x2502, 0x2524, 0x2561, 0x2562, 0x2556, 0x2555, 0x2563, 0x2551, 0x2557,
    0x255d, 0x255c, 0x255b, 0x2510, 0x2514, 0x2534, 0x252c, 0x251c, 0x2500, 0x253c, 0x255e, 0x255f,
    0x255a, 0x2554, 0x2569, 0x2566, 0x2560, 0x2550, 0x256c, 0x2567, 0x2568, 0x2564, 0x2565, 0x2559,
    0x2558, 0x2552, 0x2553, 0x256b, 0x256a, 0x2518, 0x250c, 0x2588, 0x2584, 0x258c, 0x2590, 0x2580,
    0x03b1, 0x00df, 0x0393, 0x03c0, 0x03a3, 0x03c3, 0x00b5, 0x03c4, 0x03a6, 0x0398, 0x03a9, 0x03b4,
    0x221e, 0x03c6, 0x03b5, 0x2229, 0x2261, 0x00b1, 0x2265, 0x2264, 0x2320, 0x2321, 0x00f7, 0x2248,
    0x00b0, 0x2219, 0x00b7, 0x221a, 0x207f, 0x00b2, 0x25a0, 0x00a0,
};

const char *entry_name_decode(const char *raw, bool dos, char dst[ENTRY_NAME_ROOM])
{
    char *to = dst;
    if (strlen(raw) > ENTRY_NAME_BYTES || utf8_is_valid(raw, strlen(raw))) {
        return raw;
    }
    for (const unsigned char *p = (const unsigned char *)raw; *p; p++) {
        unsigned char point[UTF8_MOST];
        const size_t n = utf8_encode(*p >= 0x80 && dos ? code_page_437[*p - 0x80] : *p, point);
        memcpy(to, point, n);
        to += n;
    }
    *to = '\0';
    return dst;
}

/* What is wrong with one part of a name; NULL: nothing. */
static const char *judge_part(const char *part, size_t n)
{
    if (n == 2 && part[0] == '.' && part[1] == '.') {
        return "its name leads out of its folder (\"..\")";
    }
    return n > PART_BYTES ? "a part of its name is longer than 255 bytes" : NULL;
}

const char *entry_name_clean(const char *name, char dst[ENTRY_NAME_ROOM])
{
    size_t len = 0;
    if (strlen(name) > ENTRY_NAME_BYTES) {
        return "its name is longer than 1024 bytes";
    }
    if (name[0] == '/') {
        return "its name is absolute";
    }
    for (const char *part = name; *part;) {
        const char *const end = strchrnul(part, '/');
        const size_t part_n = (size_t)(end - part);
        const char *const trouble = judge_part(part, part_n);
        if (trouble) {
            return trouble;
        }
        if (part_n > 0 && !(part_n == 1 && *part == '.')) {
            if (len > 0) {
                dst[len++] = '/';
            }
            memcpy(dst + len, part, part_n);
            len += part_n;
        }
        part = *end ? end + 1 : end;
    }
    dst[len] = '\0';
    if (len == 0) {
        return "it has no name";
    }
    return excerpt_is_clean(dst, len) ? NULL : "its name holds control characters";
}
