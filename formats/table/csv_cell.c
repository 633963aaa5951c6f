/*
 * csv_cell - the grammar of delimited text, one cell at a time.
 *
 * The one place that knows quotes, blanks and words for "missing". The head, the cutter
 * and the decoder all walk with these functions wherever a text is not plain, so that they agree.
 */
#include "formats/base/decimal.h"
#include "formats/base/moment.h"
#include "formats/base/utf8.h"
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

struct csv_cell csv_cell_inner(const struct csv_cell *cell)
{
    struct csv_cell inner = *cell;
    while (inner.rest && inner.n > 0 && inner.text[0] == ' ') {
        inner.text++;
        inner.n--;
    }
    while (inner.rest && inner.n > 0 && inner.text[inner.n - 1] == ' ') {
        inner.n--;
    }
    return inner;
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

struct csv_walk csv_walk_of(const struct csv_dialect *d, const unsigned char *p,
                            const unsigned char *end)
{
    return (struct csv_walk){.d = d, .p = p, .end = end, .after = CSV_MORE};
}

bool csv_walk_next(struct csv_walk *w)
{
    if (w->after != CSV_MORE) {
        return false;
    }
    w->p = csv_cell_scan(w->d, w->p, w->end, &w->cell);
    w->after = csv_pass(w->d, &w->p, w->end);
    w->n++;
    return true;
}

/* Whether the text says that a number is missing. */
static bool is_mark(const struct table_missing *missing, const char *text, size_t n)
{
    if (table_says_missing(text, n)) {
        return missing || n != 2 || memcmp(text, "Na", 2) != 0;
    }
    for (size_t i = 0; missing && i < missing->n_words; i++) {
        const struct table_word *const word = &missing->words[i];
        if (word->n == n && strncasecmp(text, word->text, n) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_missing_number(const struct table_missing *missing, double value)
{
    for (size_t i = 0; missing && i < missing->n_numbers; i++) {
        if (value == missing->numbers[i]) {
            return true;
        }
    }
    return false;
}

/* A word, unless it says that a number is missing, is infinite, or may be a number. */
static enum csv_value word_value(const struct csv_dialect *d, const struct csv_cell *cell)
{
    const char *const text = (const char *)cell->text;
    const size_t n = cell->n;
    double special;
    bool is_na;
    if (is_mark(d->missing, text, n) || csv_is_error_value(text, n, &is_na)) {
        return CSV_MISSING;
    }
    if (decimal_parse_special(text, n, &special)) {
        return is_missing_number(d->missing, special) ? CSV_MISSING : CSV_INFINITE;
    }
    char sign;
    const enum csv_grouped grouped = csv_grouped(cell, &sign, NULL);
    return grouped == CSV_GROUPED_NOT || (grouped == CSV_GROUPED_MAYBE && sign == ' ') ? CSV_WORD
                                                                                       : CSV_UNSURE;
}

/* True and False, as programs write 1 and 0. */
static bool parse_truth(const char *text, size_t n, double *value)
{
    const bool is_true = n == 4 && strncasecmp(text, "true", n) == 0;
    *value = is_true;
    return is_true || (n == 5 && strncasecmp(text, "false", n) == 0);
}

/* Whether the other decimal sign may stand in the cell: between commas only where it is quoted, and
 * then not where it may part thousands. */
static bool may_be_other(const struct csv_dialect *d, const struct csv_cell *cell)
{
    const bool is_quoted = cell->rest != NULL;
    return d->delimiter != ',' || d->point == ',' ||
           (is_quoted && !table_may_be_grouped((const char *)cell->text, cell->n, ','));
}

/* A number in one of the ways that the file writes them. */
static bool parse_number(const struct csv_dialect *d, const struct csv_cell *cell, double *value)
{
    const char other = d->point == '.' ? ',' : '.';
    const char *const text = (const char *)cell->text;
    const size_t n = cell->n;
    char sign;
    if (d->is_sheet && cell->rest == NULL) {
        return decimal_parse(text, n, '.', value) || parse_truth(text, n, value);
    }
    if (decimal_parse(text, n, d->point, value) || parse_truth(text, n, value)) {
        return true;
    }
    if (d->grouping != 0 && csv_grouped(cell, &sign, value) != CSV_GROUPED_NOT &&
        sign == d->grouping) {
        return true;
    }
    return !d->point_is_said && may_be_other(d, cell) && other != d->grouping &&
           decimal_parse(text, n, other, value);
}

/* The bytes of a minus sign as typographers write it, before a digit or a decimal sign: U+2212, the
 * en dash U+2013, or that in Windows-1252; 0: there is none at p. */
static size_t minus_bytes(const char *p, const char *end)
{
    static const char *const signs[] = {"\xe2\x88\x92", "\xe2\x80\x93", "\x96"};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        const size_t n = strlen(signs[i]);
        if ((size_t)(end - p) > n && memcmp(p, signs[i], n) == 0) {
            return (p[n] >= '0' && p[n] <= '9') || p[n] == '.' || p[n] == ',' ? n : 0;
        }
    }
    return 0;
}

/* A word with such minus signs may be a number. */
static enum csv_value value_with_minus(const struct csv_dialect *d, const struct csv_cell *cell,
                                       double *number)
{
    char plain[64];
    struct csv_cell copy = *cell;
    const char *p = (const char *)cell->text, *const end = p + cell->n;
    bool has_minus = false;
    copy.text = (const unsigned char *)plain;
    copy.n = 0;
    while (p < end && copy.n < sizeof plain) {
        const size_t n = minus_bytes(p, end);
        plain[copy.n++] = n > 0 ? '-' : *p;
        has_minus = has_minus || n > 0;
        p += n > 0 ? n : 1;
    }
    return has_minus && p == end ? csv_cell_value(d, &copy, number) : CSV_WORD;
}

enum csv_value csv_cell_value(const struct csv_dialect *d, const struct csv_cell *cell,
                              double *number)
{
    const struct csv_cell inner = csv_cell_inner(cell);
    double value;
    if (cell->unclosed || cell->n_rest > 0) {
        return CSV_WORD;
    }
    if (inner.n == 0) {
        return CSV_NOTHING;
    }
    if (d->dates && moment_parse((const char *)inner.text, inner.n, number)) {
        return CSV_NUMBER;
    }
    if (!parse_number(d, &inner, &value)) {
        const enum csv_value word = word_value(d, &inner);
        return word == CSV_WORD ? value_with_minus(d, &inner, number) : word;
    }
    if (is_missing_number(d->missing, value)) {
        return CSV_MISSING;
    }
    *number = value;
    return isinf(value) ? CSV_INFINITE : CSV_NUMBER;
}

size_t csv_copy_text(const struct csv_cell *cell, char *dst, bool *is_utf8)
{
    size_t n = 0;
    unsigned char all = 0;
    for (size_t i = 0; i < cell->n; i++) {
        all |= cell->text[i];
    }
    *is_utf8 = all < 0x80 || utf8_is_valid(cell->text, cell->n);
    if (*is_utf8 && !cell->doubled) {
        memcpy(dst, cell->text, cell->n);
        excerpt_clean(dst, cell->n);
        dst[cell->n] = '\0';
        return cell->n;
    }
    for (size_t i = 0; i < cell->n; i++) {
        n += *is_utf8 ? 1 : utf8_from_windows_1252(cell->text + i, 1, dst + n);
        if (*is_utf8) {
            dst[n - 1] = (char)cell->text[i];
        }
        i += cell->doubled && cell->text[i] == '"';
    }
    excerpt_clean(dst, n);
    dst[n] = '\0';
    return n;
}
