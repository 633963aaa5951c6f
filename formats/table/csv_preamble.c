/*
 * csv_preamble - what programs write before a table in formats of their own: Excel's line that says
 * the delimiter, LabVIEW's two heads (.lvm), the first line of a Campbell logger (TOA5).
 */
#include "formats/table/csv.h"

#include <string.h>

static const unsigned char *next_line(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *const newline = memchr(p, '\n', (size_t)(end - p));
    return newline ? newline + 1 : end;
}

static bool begins(const unsigned char *p, const unsigned char *end, const char *word)
{
    const size_t n = strlen(word);
    return (size_t)(end - p) >= n && memcmp(p, word, n) == 0;
}

/* Excel's first line: sep=; */
static const unsigned char *pass_sep(const unsigned char *text, const unsigned char *end, char *sep)
{
    const unsigned char *const next = next_line(text, end);
    const unsigned char *p = text + (text < end && *text == '"');
    if (!begins(p, next, "sep=") && !begins(p, next, "SEP=")) {
        return text;
    }
    p += 4;
    if (p == next || *p == '\n' || *p == '\r') {
        return text;
    }
    *sep = *sep != 0 ? *sep : (char)*p;
    return next;
}

/* The last line that ends a head of LabVIEW's, which has one of the file and one of its table. */
static const unsigned char *pass_labview(const unsigned char *text, const unsigned char *end)
{
    enum { MOST_BYTES = 64 << 10 };
    const unsigned char *const most = end - text > MOST_BYTES ? text + MOST_BYTES : end;
    const unsigned char *p = text, *after = text;
    if (!begins(text, end, "LabVIEW Measurement")) {
        return text;
    }
    while (p < most) {
        const unsigned char *const next = next_line(p, end);
        after = begins(p, next, "***End_of_Header***") ? next : after;
        p = next;
    }
    return after;
}

/* The first of the four lines of a Campbell logger's head says which one it was. */
static const unsigned char *pass_toa5(const unsigned char *text, const unsigned char *end)
{
    return begins(text, end, "\"TOA5\",") || begins(text, end, "TOA5,") ? next_line(text, end)
                                                                        : text;
}

const unsigned char *csv_pass_preamble(const unsigned char *text, const unsigned char *end,
                                       uint64_t *line, char *sep)
{
    const unsigned char *p = pass_sep(text, end, sep);
    p = pass_labview(p, end);
    p = pass_toa5(p, end);
    *line += table_count_byte(text, (size_t)(p - text), '\n');
    return p;
}
