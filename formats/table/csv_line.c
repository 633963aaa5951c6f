/*
 * csv_line - which lines of a delimited text are rows, and which are left out: blank ones,
 * comments, rows that name a sum, and lines that repeat the header.
 *
 * The head, the cutter and the decoder all ask here, so that they agree. What a line is may be open
 * until all of it is there.
 */
#include "formats/table/csv.h"

#include <string.h>

/* Whether a line p .. end that begins as a comment is a row: it has as many cells, and a number or
 * a mark for a missing one among them. */
static bool is_row(const struct csv_dialect *d, const unsigned char *p, const unsigned char *end)
{
    struct csv_walk w = csv_walk_of(d, p, end);
    bool has_value = false;
    while (w.n <= d->row_cells && csv_walk_next(&w)) {
        double number;
        if (w.n > 1 && w.cell.n > 0) {
            has_value = has_value || csv_cell_value(d, &w.cell, &number) != CSV_WORD;
        }
    }
    return w.n == d->row_cells && has_value;
}

/* A line that begins at p with the sign of comments, in `cell`. `ends`: the text ends a line. */
static enum csv_line comment_kind(const struct csv_dialect *d, const unsigned char *p,
                                  const struct csv_cell *cell, const unsigned char *end, bool ends,
                                  const unsigned char **next)
{
    const unsigned char *const newline = memchr(p, '\n', (size_t)(end - p));
    const unsigned char *const line_end = newline ? newline : end;
    bool is_na;
    *next = newline ? newline + 1 : end;
    if (csv_holds_bare_cr(p, line_end)) {
        return CSV_LINE_DATA;
    }
    if (!newline && !ends) {
        return CSV_LINE_OPEN;
    }
    if (!d->comment_is_said &&
        (csv_is_error_value((const char *)cell->text, cell->n, &is_na) ||
         (d->row_cells > 1 && (!d->blanks || cell->n > 1) && is_row(d, p, line_end)))) {
        return CSV_LINE_DATA;
    }
    return CSV_LINE_COMMENT;
}

/* A line below the names, with `cell` before p. */
static enum csv_line sum_kind(const struct csv_dialect *d, struct csv_cell *cell,
                              const unsigned char *p, const unsigned char *end, bool ends,
                              const unsigned char **next)
{
    enum csv_after after;
    if (csv_names_sum(cell) < (d->first_is_number ? CSV_MAY_BE_SUM : CSV_SUM)) {
        return CSV_LINE_DATA;
    }
    while ((after = csv_pass(d, &p, end)) == CSV_MORE) {
        p = csv_cell_scan(d, p, end, cell);
    }
    *next = p;
    if (after == CSV_LINE_END || (ends && !cell->unclosed)) {
        return CSV_LINE_SUM;
    }
    return ends ? CSV_LINE_DATA : CSV_LINE_OPEN;
}

static enum csv_line header_kind(const struct csv_dialect *d, const unsigned char *p,
                                 const unsigned char *end, bool ends, const unsigned char **next)
{
    p +=
        end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* files that have been joined */
    const size_t n = (size_t)(end - p) < d->header_bytes ? (size_t)(end - p) : d->header_bytes;
    if (memcmp(p, d->header, n) != 0) {
        return CSV_LINE_DATA;
    }
    p += n;
    while (p < end && *p == '\r') {
        p++;
    }
    *next = p < end ? p + 1 : end;
    if (p == end && !ends) {
        return CSV_LINE_OPEN;
    }
    return n == d->header_bytes && (p == end || *p == '\n') ? CSV_LINE_HEADER : CSV_LINE_DATA;
}

static bool is_letter(unsigned char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

enum csv_line csv_line_kind(const struct csv_dialect *d, const unsigned char *p,
                            const unsigned char *end, bool ends, const unsigned char **next)
{
    struct csv_cell cell;
    const enum csv_line header = d->header ? header_kind(d, p, end, ends, next) : CSV_LINE_DATA;
    if (header != CSV_LINE_DATA) {
        return header;
    }
    if (is_letter(*p) && !csv_may_name_sum(p, end)) { /* most rows that begin with a name */
        return CSV_LINE_DATA;
    }
    const unsigned char *q = csv_cell_scan(d, p, end, &cell);
    if (d->comment != 0 && cell.n > 0 && cell.text[0] == (unsigned char)d->comment && !cell.rest &&
        !cell.unclosed) {
        return comment_kind(d, p, &cell, end, ends, next);
    }
    while (cell.n == 0 && !cell.rest && !cell.unclosed) {
        const enum csv_after after = csv_pass(d, &q, end);
        if (after != CSV_MORE) {
            *next = q;
            return after == CSV_LINE_END ? CSV_LINE_BLANK : CSV_LINE_OPEN_BLANK;
        }
        q = csv_cell_scan(d, q, end, &cell);
        if (cell.n > 0) {
            return CSV_LINE_DATA;
        }
    }
    return d->row_cells > 0 && !d->sums_are_data ? sum_kind(d, &cell, q, end, ends, next)
                                                 : CSV_LINE_DATA;
}

bool csv_is_left_out(enum csv_line kind)
{
    return kind == CSV_LINE_BLANK || kind == CSV_LINE_COMMENT || kind == CSV_LINE_SUM ||
           kind == CSV_LINE_HEADER;
}

enum table_note csv_note_of(enum csv_line kind, bool is_above)
{
    return kind == CSV_LINE_SUM                    ? TABLE_NOTE_SUM
           : kind == CSV_LINE_HEADER               ? TABLE_NOTE_HEADER
           : kind == CSV_LINE_COMMENT && !is_above ? TABLE_NOTE_COMMENT
                                                   : TABLE_N_NOTES;
}

const unsigned char *csv_find_data(const struct csv_dialect *d, const unsigned char *p,
                                   const unsigned char *end)
{
    const unsigned char *next = end;
    while (p < end && csv_line_kind(d, p, end, true, &next) != CSV_LINE_DATA) {
        p = next;
        next = end;
    }
    return p;
}

bool csv_is_refused_comment(const struct csv_dialect *d, const unsigned char *p,
                            const unsigned char *end, struct csv_cell *cell)
{
    while (p < end && (*p == ' ' || *p == '\t')) {
        p++;
    }
    if (p == end || d->comment == 0 || *p != (unsigned char)d->comment) {
        return false;
    }
    const unsigned char *const newline = memchr(p, '\n', (size_t)(end - p));
    const unsigned char *const line_end = newline ? newline : end;
    const unsigned char *const cr = memchr(p, '\r', (size_t)(line_end - p));
    *cell = (struct csv_cell){.text = p, .n = cr ? (size_t)(cr + 1 - p) : 0};
    return csv_holds_bare_cr(p, line_end);
}
