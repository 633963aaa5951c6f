/*
 * csv_cell - the grammar of delimited text, one cell or one line at a time.
 *
 * The one place that knows quotes, blanks, comments and words for "missing". The head, the cutter
 * and the decoder all walk with these functions wherever a text is not plain, so that they agree.
 */
#include "formats/base/decimal.h"
#include "formats/table/csv.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* Blanks around a cell's text: not part of it. */
static bool is_blank(const struct csv_dialect *d, unsigned char c)
{
    return (c == ' ' || c == '\t') && (d->blanks || c != d->delimiter);
}

static bool is_delimiter(const struct csv_dialect *d, unsigned char c)
{
    return d->blanks ? c == ' ' || c == '\t' : c == d->delimiter;
}

/* Past the CRs at p when they belong to the end of a line or of the text; else p. */
static const unsigned char *skip_line_end_cr(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *q = p;
    while (q < end && *q == '\r') {
        q++;
    }
    return q == end || *q == '\n' ? q : p;
}

static const unsigned char *skip_blanks(const struct csv_dialect *d, const unsigned char *p,
                                        const unsigned char *end)
{
    while (p < end && is_blank(d, *p)) {
        p++;
    }
    return skip_line_end_cr(p, end);
}

/* Where p[0 .. cell_end) ends without the CRs of a line's end and the blanks before them. */
static const unsigned char *drop_blanks(const struct csv_dialect *d, const unsigned char *p,
                                        const unsigned char *cell_end, const unsigned char *end)
{
    const unsigned char *text_end = cell_end;
    while ((cell_end == end || *cell_end == '\n') && text_end > p && text_end[-1] == '\r') {
        text_end--;
    }
    while (text_end > p && is_blank(d, text_end[-1])) {
        text_end--;
    }
    return text_end;
}

static const unsigned char *find_cell_end(const struct csv_dialect *d, const unsigned char *p,
                                          const unsigned char *end)
{
    while (p < end && *p != '\n' && !is_delimiter(d, *p)) {
        p++;
    }
    return p;
}

static const unsigned char *scan_quoted(const struct csv_dialect *d, const unsigned char *p,
                                        const unsigned char *end, struct csv_cell *cell)
{
    cell->text = p;
    for (;;) {
        const unsigned char *quote = p < end ? memchr(p, '"', (size_t)(end - p)) : NULL;
        if (!quote) {
            cell->n = (size_t)(end - cell->text);
            cell->unclosed = true;
            return end;
        }
        if (quote + 1 == end || quote[1] != '"') {
            cell->n = (size_t)(quote - cell->text);
            p = quote + 1;
            break;
        }
        cell->doubled = true;
        p = quote + 2;
    }
    const unsigned char *const cell_end = find_cell_end(d, p, end);
    cell->rest = p;
    cell->n_rest = (size_t)(drop_blanks(d, p, cell_end, end) - p);
    return cell_end;
}

const unsigned char *csv_cell_scan(const struct csv_dialect *d, const unsigned char *p,
                                   const unsigned char *end, struct csv_cell *cell)
{
    *cell = (struct csv_cell){0};
    p = skip_blanks(d, p, end);
    if (p < end && *p == '"') {
        return scan_quoted(d, p + 1, end, cell);
    }
    const unsigned char *const cell_end = find_cell_end(d, p, end);
    cell->text = p;
    cell->n = (size_t)(drop_blanks(d, p, cell_end, end) - p);
    return cell_end;
}

bool csv_holds_bare_cr(const unsigned char *text, const unsigned char *end)
{
    while (text < end && (text = memchr(text, '\r', (size_t)(end - text)))) {
        const unsigned char *const after = skip_line_end_cr(text, end);
        if (after == text) {
            return true;
        }
        text = after;
    }
    return false;
}

bool csv_cell_holds_bare_cr(const struct csv_cell *cell)
{
    if (cell->rest) {
        return memchr(cell->rest, '\r', cell->n_rest);
    }
    return !cell->unclosed && memchr(cell->text, '\r', cell->n);
}

enum csv_after csv_pass(const struct csv_dialect *d, const unsigned char **p,
                        const unsigned char *end)
{
    if (d->blanks) {
        *p = skip_blanks(d, *p, end);
    }
    if (*p == end) {
        return CSV_TEXT_END;
    }
    if (**p == '\n') {
        ++*p;
        return CSV_LINE_END;
    }
    if (!d->blanks) {
        ++*p;
    }
    return CSV_MORE;
}

bool csv_is_refused_comment(const struct csv_dialect *d, const unsigned char *p,
                            const unsigned char *end, struct csv_cell *cell)
{
    const unsigned char *const text = skip_blanks(d, p, end);
    if (text == end || *text != '#') {
        return false;
    }
    const unsigned char *const cr = memchr(text, '\r', (size_t)(end - text));
    *cell = (struct csv_cell){.text = text, .n = (size_t)((cr ? cr + 1 : end) - text)};
    return true;
}

enum csv_line csv_line_kind(const struct csv_dialect *d, const unsigned char *p,
                            const unsigned char *end, const unsigned char **next)
{
    const unsigned char *q = skip_blanks(d, p, end);
    if (q < end && *q == '#') {
        const unsigned char *const newline = memchr(q, '\n', (size_t)(end - q));
        if (csv_holds_bare_cr(q, newline ? newline : end)) {
            return CSV_LINE_DATA;
        }
        if (!newline) {
            return CSV_LINE_OPEN_COMMENT;
        }
        *next = newline + 1;
        return CSV_LINE_SKIPPED;
    }
    while (q < end && (is_blank(d, *q) || is_delimiter(d, *q))) {
        q++;
    }
    q = skip_line_end_cr(q, end);
    if (q == end) {
        return CSV_LINE_OPEN_BLANK;
    }
    if (*q != '\n') {
        return CSV_LINE_DATA;
    }
    *next = q + 1;
    return CSV_LINE_SKIPPED;
}

const unsigned char *csv_find_data(const struct csv_dialect *d, const unsigned char *p,
                                   const unsigned char *end)
{
    const unsigned char *next = end;
    while (p < end && csv_line_kind(d, p, end, &next) != CSV_LINE_DATA) {
        p = next;
        next = end;
    }
    return p;
}

static bool is_word(const unsigned char *text, size_t n, const char *word)
{
    return n == strlen(word) && strncasecmp((const char *)text, word, n) == 0;
}

static enum csv_value word_value(const unsigned char *text, size_t n)
{
    double special;
    if (is_word(text, n, "na") || is_word(text, n, "n/a") || is_word(text, n, "null")) {
        return CSV_MISSING;
    }
    if (!decimal_parse_special((const char *)text, n, &special)) {
        return CSV_WORD;
    }
    return isnan(special) ? CSV_MISSING : CSV_INFINITE;
}

enum csv_value csv_cell_value(const struct csv_dialect *d, const struct csv_cell *cell,
                              double *number)
{
    if (cell->unclosed || cell->n_rest > 0) {
        return CSV_WORD;
    }
    if (cell->n == 0) {
        return CSV_NOTHING;
    }
    const char *const text = (const char *)cell->text;
    const char other = d->point == '.' ? ',' : '.';
    double value;
    if (!decimal_parse(text, cell->n, d->point, &value) &&
        (d->delimiter == ',' || !decimal_parse(text, cell->n, other, &value))) {
        return word_value(cell->text, cell->n);
    }
    if (isinf(value)) {
        return CSV_INFINITE;
    }
    for (size_t i = 0; i < d->missing->n_numbers; i++) {
        if (value == d->missing->numbers[i]) {
            return CSV_MISSING;
        }
    }
    *number = value;
    return CSV_NUMBER;
}

size_t csv_copy_text(const struct csv_cell *cell, char *dst)
{
    size_t n = 0;
    for (size_t i = 0; i < cell->n; i++) {
        dst[n++] = (char)cell->text[i];
        i += cell->doubled && cell->text[i] == '"';
    }
    excerpt_clean(dst, n);
    dst[n] = '\0';
    return n;
}
