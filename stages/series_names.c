/*
 * series_names - names in one run of text, pointed at when all are there.
 */
#include "stages/series_names.h"

#include <stdlib.h>
#include <string.h>

/* Length of the well-formed UTF-8 sequence at s (RFC 3629: no overlong form, no surrogate, nothing
 * above U+10FFFF); 0 where there is none. The text's NUL ends every sequence. */
static size_t utf8_sequence(const unsigned char *s)
{
    if (s[0] < 0x80) {
        return 1;
    }
    if (s[0] < 0xC2 || s[0] > 0xF4) {
        return 0;
    }
    const size_t n = s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    const unsigned char low = s[0] == 0xE0 ? 0xA0 : s[0] == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = s[0] == 0xED ? 0x9F : s[0] == 0xF4 ? 0x8F : 0xBF;
    if (s[1] < low || s[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < n; i++) {
        if ((s[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return n;
}

enum status series_names_add(struct series_names *names, const char *kind, const char *name)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    enum status st = STATUS_OK;
    if (*name == '\0') {
        st = bytes_printf(&names->text, "%s %zu", kind, names->n + 1);
    }
    const char *from = name;
    while (st == STATUS_OK && *from != '\0') {
        size_t good = 0, n = 0;
        while (from[good] != '\0' && (n = utf8_sequence((const unsigned char *)from + good)) > 0) {
            good += n;
        }
        st = bytes_append(&names->text, from, good);
        from += good;
        if (st == STATUS_OK && *from != '\0') {
            st = bytes_append(&names->text, replacement, 3);
            from++;
        }
    }
    if (st == STATUS_OK) {
        st = bytes_append(&names->text, "", 1);
    }
    if (st == STATUS_OK) {
        names->n++;
    }
    return st;
}

enum status series_names_close(struct series_names *names, const char *kind, size_t n_series)
{
    while (names->n < n_series) {
        const enum status st = series_names_add(names, kind, "");
        if (st != STATUS_OK) {
            return st;
        }
    }
    free(names->at);
    names->at = calloc(names->n + 1, sizeof *names->at);
    if (names->at == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the names of %zu series", names->n);
    }
    const char *name = (const char *)names->text.data;
    for (size_t i = 0; i < names->n; i++) {
        names->at[i] = name;
        name += strlen(name) + 1;
    }
    return STATUS_OK;
}

void series_names_free(struct series_names *names)
{
    bytes_free(&names->text);
    free(names->at);
    *names = (struct series_names){0};
}
