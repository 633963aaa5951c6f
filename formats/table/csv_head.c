/*
 * csv_head - the first lines of a delimited text: its dialect, its columns, and what each
 * of them shows.
 *
 * The head is looked at until every column has shown what it is: after two lines for a table of
 * numbers. For a column that has shown words only no more than TEXT_LINES are waited for, though it
 * is looked at in all the text that there is; one that has shown nothing is waited for within
 * HEAD_BYTES. What is made of it is decided in csv_shape.c.
 */
#include "formats/table/csv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_BYTES = 64 << 10, /* looked at in any case */
    HEAD_BYTES = 4 << 20,   /* looked at for columns that have shown nothing */
    TEXT_LINES = 64
};

static uint64_t count_lines(const unsigned char *p, const unsigned char *end)
{
    return table_count_byte(p, (size_t)(end - p), '\n');
}

/* Has the column shown what it is? One of words is looked at as long as others are. */
static bool is_known(unsigned seen, size_t n_lines)
{
    return (seen & CSV_SEEN_NUMBER) != 0 || ((seen & CSV_SEEN_WORD) != 0 && n_lines > TEXT_LINES);
}

static unsigned cell_bit(const struct csv_dialect *d, const struct csv_cell *cell)
{
    double number;
    switch (csv_cell_value(d, cell, &number)) {
    case CSV_NUMBER:
    case CSV_INFINITE:
        return CSV_SEEN_NUMBER;
    case CSV_MISSING:
        return CSV_SEEN_MARK;
    case CSV_WORD:
        return CSV_SEEN_WORD;
    case CSV_NOTHING:
        break;
    }
    return 0;
}

static enum status add_column(struct csv_head *h, size_t *cap)
{
    if (h->n_columns == CSV_MAX_COLUMNS) {
        return status_fail(STATUS_UNSUPPORTED, "%s: line %" PRIu64 ": has more than %d columns",
                           h->file, h->line, CSV_MAX_COLUMNS);
    }
    if (h->n_columns == *cap) {
        *cap = 2 * *cap + 64;
        unsigned char *seen = realloc(h->seen, *cap);
        if (!seen) {
            return status_fail(STATUS_NO_MEMORY, "no memory for %zu columns", *cap);
        }
        h->seen = seen;
    }
    h->seen[h->n_columns++] = 0;
    return STATUS_OK;
}

/* Refuses a cell that cannot be part of a table, whatever is made of its column. */
static enum status check_cell(const struct csv_head *h, const struct csv_cell *cell, size_t column)
{
    if (csv_cell_holds_bare_cr(cell)) {
        return status_fail(
            STATUS_BAD_INPUT, "%s: line %" PRIu64 ", column %zu: \"%s\" " CSV_BARE_CR, h->file,
            count_lines(h->text, cell->text) + 1, column + 1, excerpt_of(cell->text, cell->n).text);
    }
    if (cell->unclosed && h->whole) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: line %" PRIu64 ", column %zu: a quote is never closed", h->file,
                           count_lines(h->text, cell->text) + 1, column + 1);
    }
    return STATUS_OK;
}

/* Walks the line at *p, which counts only when it is complete: *complete. */
static enum status walk_line(struct csv_head *h, const struct csv_dialect *d,
                             const unsigned char **p, bool *complete)
{
    const bool is_first = h->n_lines == 0;
    size_t column = 0, cap = 0;
    enum csv_after after;
    if (is_first) {
        h->n_columns = 0;
    }
    do {
        struct csv_cell cell;
        *p = csv_cell_scan(d, *p, h->end, &cell);
        STATUS_TRY(check_cell(h, &cell, column));
        if (is_first) {
            STATUS_TRY(add_column(h, &cap));
            h->seen[column] = (unsigned char)(cell_bit(d, &cell) >> 3);
        } else if (column < h->n_columns && (h->seen[column] & CSV_SEEN_NUMBER) == 0) {
            h->seen[column] |= (unsigned char)cell_bit(d, &cell);
            h->n_open -= (h->seen[column] & CSV_SEEN_NUMBER) != 0;
        }
        column++;
        after = csv_pass(d, p, h->end);
    } while (after == CSV_MORE);
    *complete = after == CSV_LINE_END || h->whole;
    return STATUS_OK;
}

/* Columns that have not shown what they are. */
static size_t count_unknown(const struct csv_head *h)
{
    size_t n = 0;
    for (size_t c = 0; c < h->n_columns; c++) {
        n += !is_known(h->seen[c], h->n_lines);
    }
    return n;
}

/* Walks the lines until every column has shown a number, or the text ends. */
static enum status walk(struct csv_head *h, const struct csv_dialect *d)
{
    const unsigned char *p = h->text;
    h->line = 1;
    h->n_lines = 0;
    h->n_open = SIZE_MAX;
    while (p < h->end && h->n_open > 0) {
        const unsigned char *const begin = csv_find_data(d, p, h->end);
        h->line += count_lines(p, begin);
        p = begin;
        if (p == h->end) {
            break;
        }
        bool complete;
        struct csv_cell comment;
        if (csv_is_refused_comment(d, p, h->end, &comment)) {
            STATUS_TRY(check_cell(h, &comment, 0));
        }
        STATUS_TRY(walk_line(h, d, &p, &complete));
        if (!complete) {
            break;
        }
        if (h->n_lines == 0) {
            h->first = begin;
            h->first_line = h->line;
        }
        h->line += count_lines(begin, p);
        h->n_lines++;
        if (h->n_lines == 1) {
            h->second = p;
            h->second_line = h->line;
            h->n_open = h->n_columns;
        }
    }
    return STATUS_OK;
}

/* Refuses what is not text in an encoding that can be read; passes a byte order mark. */
static enum status check_text(struct csv_head *h)
{
    const size_t n = (size_t)(h->end - h->text);
    if (n >= 2 && ((h->text[0] == 0xff && h->text[1] == 0xfe) ||
                   (h->text[0] == 0xfe && h->text[1] == 0xff))) {
        return status_fail(STATUS_UNSUPPORTED, "%s: is UTF-16 text; save it as UTF-8", h->file);
    }
    const unsigned char *const zero = memchr(h->text, 0, n < FIRST_BYTES ? n : FIRST_BYTES);
    if (zero) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: byte %td is 0: neither a text nor an array or archive known here",
                           h->file, zero - h->text);
    }
    if (n >= 3 && memcmp(h->text, "\xef\xbb\xbf", 3) == 0) {
        h->text += 3;
    }
    return STATUS_OK;
}

/* How far line ends have been counted, so that a long line is not walked before it has ended. */
struct line_ends {
    size_t n, looked_at, after_last;
};

static void count_line_ends(struct line_ends *e, const unsigned char *text, size_t n)
{
    while (e->looked_at < n) {
        const unsigned char *const newline = memchr(text + e->looked_at, '\n', n - e->looked_at);
        e->looked_at = newline ? (size_t)(newline + 1 - text) : n;
        if (newline) {
            e->n++;
            e->after_last = e->looked_at;
        }
    }
}

/* Looks at the first `want` bytes and, where they may hold two lines, walks them. Lines that end
 * with CR alone make no second line: they are walked, to be refused. */
static enum status look(struct table *t, size_t want, struct csv_shape *shape, struct csv_head *h,
                        struct line_ends *ends)
{
    size_t n;
    STATUS_TRY(source_peek(t->source, want, &h->text, &n));
    h->end = h->text + n;
    h->whole = n < want;
    count_line_ends(ends, h->text, n);
    h->n_lines = 0;
    h->line = ends->n + 1;
    STATUS_TRY(check_text(h));
    const bool few = !h->whole && ends->n < 2;
    if (few && !csv_holds_bare_cr(h->text, h->end)) {
        return STATUS_OK;
    }
    const unsigned char *const newline = memrchr(h->text, '\n', (size_t)(h->end - h->text));
    if (!h->whole && !few && newline) {
        h->end = newline + 1; /* a cell cut short may look like a number */
    }
    h->blanks_would_do =
        csv_find_dialect(h->text, (size_t)(h->end - h->text), h->whole, &shape->dialect);
    return walk(h, &shape->dialect);
}

/* Looks at more and more of the file until the columns are known. */
static enum status look_far_enough(struct table *t, struct csv_shape *shape, struct csv_head *h)
{
    const size_t max_line =
        t->options.max_line_bytes ? t->options.max_line_bytes : CSV_MAX_LINE_BYTES;
    const size_t furthest = max_line < SIZE_MAX / 4 ? 2 * max_line + FIRST_BYTES : SIZE_MAX / 2;
    struct line_ends ends = {0};
    size_t want = FIRST_BYTES;
    for (;;) {
        STATUS_TRY(look(t, want, shape, h, &ends));
        if (h->whole || (h->n_lines >= 2 && (count_unknown(h) == 0 || want >= HEAD_BYTES))) {
            return STATUS_OK;
        }
        const bool endless = ends.n < 2 && ends.looked_at - ends.after_last > max_line;
        if (endless || want == furthest) {
            return status_fail(STATUS_BAD_INPUT,
                               "%s: line %" PRIu64 ": is longer than %zu bytes; is this a "
                               "table, and is every quote in it closed?",
                               source_name(t->source), h->line, max_line);
        }
        want *= h->n_lines >= 2 ? 8 : 2;
        want = want < furthest ? want : furthest;
    }
}

/* Lines in the file, from the text's lines: seldom too low. */
static size_t estimate_lines(const struct source *s, const struct csv_head *h)
{
    const size_t n = (size_t)(h->end - h->text);
    const double lines = (double)count_lines(h->text, h->end) + 1;
    if (h->whole) {
        return (size_t)lines;
    }
    const double packed = source_is_packed(s) ? (double)source_file_offset(s) : (double)n;
    const double times = (double)source_file_bytes(s) / (packed > 1 ? packed : 1);
    return (size_t)(1.1 * lines * (times > 1 ? times : 1)) + 16;
}

/* Lines with data from `data` on, in a text that is the whole file; 0 when a quote is not closed,
 * for then it is unknown. */
static size_t count_data_lines(const struct csv_head *h, const struct csv_dialect *d,
                               const unsigned char *data)
{
    size_t n = 0;
    for (const unsigned char *p = data; (p = csv_find_data(d, p, h->end)) < h->end; n++) {
        struct csv_cell cell;
        do {
            p = csv_cell_scan(d, p, h->end, &cell);
            if (cell.unclosed) {
                return 0;
            }
        } while (csv_pass(d, &p, h->end) == CSV_MORE);
    }
    return n;
}

static enum status read_head(struct table *t, struct csv_shape *shape, struct csv_head *h)
{
    STATUS_TRY(look_far_enough(t, shape, h));
    STATUS_TRY(csv_decide_shape(t, h, shape));
    /* The whole stream's bytes before the data: the byte order mark stands before h->text. */
    const unsigned char *whole_text;
    size_t n;
    STATUS_TRY(source_peek(t->source, 0, &whole_text, &n));
    const unsigned char *const data = shape->has_header ? h->second : h->text;
    shape->data_offset = (size_t)(data - whole_text);
    shape->data_line = shape->has_header ? h->second_line : 1;
    n = h->whole ? count_data_lines(h, &shape->dialect, data) : 0;
    t->info.n_lines = n;
    t->info.n_lines_estimate = n > 0 ? n : estimate_lines(t->source, h);
    return STATUS_OK;
}

enum status csv_read_head(struct table *t, struct csv_shape *shape)
{
    struct csv_head h = {.file = source_name(t->source)};
    shape->dialect.missing = &t->choice.missing;
    const enum status status = read_head(t, shape, &h);
    free(h.seen);
    return status;
}
