/*
 * table_csv_head - what the first lines of a delimited text tell: its dialect, its columns, which
 * of them hold numbers, and whether the first line holds names.
 *
 * The head is looked at until every column has shown what it is: after two lines for a table of
 * numbers. For a column that has shown words only no more than TEXT_LINES are waited for, though it
 * is looked at in all the text that there is; one that has shown nothing is waited for within
 * HEAD_BYTES.
 *
 * A column that shows nothing but empty cells in all of that is left out with a warning. When a
 * number turns up in it further down, decoding fails with an error that names the column and says
 * how to keep it (columns = ...): leaving numbers out silently would be wrong, and so would a shape
 * that changes under way. A column of words stays left out, whatever follows. A column that says
 * that it is missing (NA, the missing value) is kept when the file goes on beyond the head.
 */
#include "formats/table_csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_BYTES = 64 << 10, /* looked at in any case */
    HEAD_BYTES = 4 << 20,   /* looked at for columns that have shown nothing */
    TEXT_LINES = 64,
    MAX_WARNINGS = 20
};

/* What a column has shown: in the first line, and in those after it. */
enum { FIRST_NUMBER = 1, FIRST_WORD = 2, FIRST_MARK = 4, NUMBER = 8, WORD = 16, MARK = 32 };

struct head {
    const char *file;
    const unsigned char *text, *end;     /* without a byte order mark */
    bool whole;                          /* the text is the whole file */
    unsigned char *seen;                 /* [n_columns] */
    size_t n_columns, n_open;            /* n_open: columns that have not shown a number */
    size_t n_lines;                      /* data lines walked, the first one included */
    uint64_t line;                       /* from 1, of the line being walked */
    uint64_t first_line;                 /* that of the first data line */
    const unsigned char *first, *second; /* where the first data line begins, and what follows it */
    uint64_t second_line;
};

static uint64_t count_lines(const unsigned char *p, const unsigned char *end)
{
    uint64_t n = 0;
    while ((p = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL)) {
        p++;
        n++;
    }
    return n;
}

/* Has the column shown what it is? One of words is looked at as long as others are. */
static bool is_settled(unsigned seen, size_t n_lines)
{
    return (seen & NUMBER) != 0 || ((seen & WORD) != 0 && n_lines > TEXT_LINES);
}

static unsigned cell_bit(const struct csv_dialect *d, const struct csv_cell *cell)
{
    double number;
    switch (csv_cell_value(d, cell, &number)) {
    case CSV_NUMBER:
    case CSV_INFINITE:
        return NUMBER;
    case CSV_MISSING:
        return MARK;
    case CSV_WORD:
        return WORD;
    case CSV_NOTHING:
        break;
    }
    return 0;
}

static enum status add_column(struct head *h, size_t *cap)
{
    if (h->n_columns < *cap) {
        h->seen[h->n_columns++] = 0;
        return STATUS_OK;
    }
    if (h->n_columns == CSV_MAX_COLUMNS) {
        return status_fail(STATUS_UNSUPPORTED, "%s: line %" PRIu64 ": has more than %d columns",
                           h->file, h->line, CSV_MAX_COLUMNS);
    }
    *cap = 2 * *cap + 64;
    unsigned char *seen = realloc(h->seen, *cap);
    if (!seen) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu columns", *cap);
    }
    h->seen = seen;
    h->seen[h->n_columns++] = 0;
    return STATUS_OK;
}

/* Walks the line at *p, which counts only when it is complete: *complete. */
static enum status walk_line(struct head *h, const struct csv_dialect *d, const unsigned char **p,
                             bool *complete)
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
        if (is_first) {
            const enum status status = add_column(h, &cap);
            if (status) {
                return status;
            }
            h->seen[column] = (unsigned char)(cell_bit(d, &cell) >> 3);
        } else if (column < h->n_columns && (h->seen[column] & NUMBER) == 0) {
            h->seen[column] |= (unsigned char)cell_bit(d, &cell);
            h->n_open -= (h->seen[column] & NUMBER) != 0;
        }
        column++;
        after = csv_pass(d, p, h->end);
    } while (after == CSV_MORE);
    *complete = after == CSV_LINE_END || h->whole;
    return STATUS_OK;
}

/* Columns that have not shown what they are. */
static size_t count_unsettled(const struct head *h)
{
    size_t n = 0;
    for (size_t c = 0; c < h->n_columns; c++) {
        n += !is_settled(h->seen[c], h->n_lines);
    }
    return n;
}

/* Walks the lines until every column has shown a number, or the text ends. */
static enum status walk(struct head *h, const struct csv_dialect *d)
{
    const unsigned char *p = h->text;
    h->line = 1;
    h->n_lines = 0;
    h->n_open = SIZE_MAX;
    while (p < h->end && h->n_open > 0) {
        const unsigned char *const begin = p;
        const unsigned char *next = h->end;
        if (csv_line_kind(d, p, h->end, &next) != CSV_LINE_DATA) {
            h->line += count_lines(p, next);
            p = next;
            continue;
        }
        bool complete;
        const enum status status = walk_line(h, d, &p, &complete);
        if (status) {
            return status;
        }
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

/* Refuses what is no text in an encoding that can be read; passes a byte order mark. */
static enum status check_text(struct head *h)
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

/* Looks at the first `want` bytes and, where they may hold two lines, walks them. */
static enum status look(struct table *t, size_t want, struct csv_shape *shape, struct head *h,
                        struct line_ends *ends)
{
    size_t n;
    enum status status = source_peek(t->source, want, &h->text, &n);
    if (status) {
        return status;
    }
    h->end = h->text + n;
    h->whole = n < want;
    count_line_ends(ends, h->text, n);
    h->n_lines = 0;
    h->line = ends->n + 1;
    status = check_text(h);
    if (status || (!h->whole && ends->n < 2)) {
        return status;
    }
    const unsigned char *const newline = memrchr(h->text, '\n', (size_t)(h->end - h->text));
    if (!h->whole && newline) {
        h->end = newline + 1; /* a cell cut short may look like a number */
    }
    csv_find_dialect(h->text, (size_t)(h->end - h->text), h->whole, &shape->dialect);
    return walk(h, &shape->dialect);
}

/* Looks at more and more of the file until the columns are known. */
static enum status look_far_enough(struct table *t, struct csv_shape *shape, struct head *h)
{
    const size_t max_line =
        t->options.max_line_bytes ? t->options.max_line_bytes : CSV_MAX_LINE_BYTES;
    const size_t furthest = max_line < SIZE_MAX / 4 ? 2 * max_line + FIRST_BYTES : SIZE_MAX / 2;
    struct line_ends ends = {0};
    size_t want = FIRST_BYTES;
    for (;;) {
        const enum status status = look(t, want, shape, h, &ends);
        if (status) {
            return status;
        }
        if (h->whole || (h->n_lines >= 2 && (count_unsettled(h) == 0 || want >= HEAD_BYTES))) {
            return STATUS_OK;
        }
        const bool endless = ends.n < 2 && ends.looked_at - ends.after_last > max_line;
        if (endless || want == furthest) {
            return status_fail(STATUS_BAD_INPUT,
                               "%s: line %" PRIu64 ": is longer than %zu bytes; is this a table?",
                               source_name(t->source), h->line, max_line);
        }
        want *= h->n_lines >= 2 ? 8 : 2;
        want = want < furthest ? want : furthest;
    }
}

/* A header: a word in the first line over a column that holds numbers. Without one the first line's
 * cells count like all others. */
static bool settle_header(struct head *h)
{
    bool has_header = false;
    for (size_t c = 0; c < h->n_columns && !has_header; c++) {
        has_header = (h->seen[c] & FIRST_WORD) != 0 && (h->seen[c] & NUMBER) != 0;
    }
    for (size_t c = 0; c < h->n_columns; c++) {
        const unsigned first = has_header ? 0 : (unsigned)h->seen[c] << 3;
        h->seen[c] = (unsigned char)((h->seen[c] | first) & (NUMBER | WORD | MARK));
    }
    return has_header;
}

static enum csv_kind column_kind(const struct head *h, size_t c)
{
    const unsigned seen = h->seen[c];
    if ((seen & NUMBER) != 0 || (!h->whole && (seen & WORD) == 0 && (seen & MARK) != 0)) {
        return CSV_KEEP;
    }
    if ((seen & WORD) == 0) {
        return CSV_EMPTY;
    }
    return c == 0 ? CSV_LABEL : CSV_LEFT;
}

/* Whole numbers at equal distances, as years are, beside a word in the first line, over a column of
 * words: names that look like data. */
static enum status warn_of_numbers(struct table *t, const struct head *h,
                                   const struct csv_shape *shape)
{
    const unsigned char *p = h->first;
    double first = 0, last = 0, step = 0;
    size_t n = 0;
    if (h->n_columns < 4 || column_kind(h, 0) != CSV_LABEL) {
        return STATUS_OK;
    }
    for (size_t c = 0; c < h->n_columns; c++) {
        struct csv_cell cell;
        double number = 0;
        p = csv_cell_scan(&shape->dialect, p, h->end, &cell);
        (void)csv_pass(&shape->dialect, &p, h->end);
        if (c == 0) {
            continue;
        }
        if (csv_cell_value(&shape->dialect, &cell, &number) != CSV_NUMBER ||
            number != floor(number) || (n > 0 && number <= last) ||
            (n > 1 && number - last != step)) {
            return STATUS_OK;
        }
        first = n == 0 ? number : first;
        step = number - last;
        last = number;
        n++;
    }
    return table_warn(t,
                      "line %" PRIu64 " may be a header of numbers (%.0f to %.0f), but is taken as "
                      "data; if it is one, write a word before one of them",
                      h->first_line, first, last);
}

/* The first line's cells as names of all columns; an empty one is named by its number. */
static enum status read_names(const struct head *h, const struct csv_dialect *d,
                              struct csv_shape *shape)
{
    enum { NUMBER_BYTES = 10 };
    const size_t text_bytes = (size_t)(h->second - h->first) + h->n_columns * (size_t)NUMBER_BYTES;
    shape->names = calloc(h->n_columns, sizeof *shape->names);
    shape->name_text = malloc(text_bytes);
    if (!shape->names || !shape->name_text) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu names", h->n_columns);
    }
    const unsigned char *p = h->first;
    char *text = shape->name_text;
    for (size_t c = 0; c < h->n_columns; c++) {
        struct csv_cell cell;
        p = csv_cell_scan(d, p, h->end, &cell);
        (void)csv_pass(d, &p, h->end);
        size_t n = csv_copy_text(&cell, text);
        if (n == 0) {
            n = (size_t)snprintf(text, NUMBER_BYTES, "%zu", c + 1);
        }
        shape->names[c] = text;
        text += n + 1;
    }
    return STATUS_OK;
}

/* Says that column c is left out: its number, its name, and why. */
static enum status warn_left(struct table *t, const struct head *h, const struct csv_shape *shape,
                             size_t c, enum csv_kind kind)
{
    char within[64] = "";
    if (!h->whole) {
        snprintf(within, sizeof within, " in the first %zu lines", h->n_lines);
    }
    const char *const name = shape->names ? shape->names[c] : "";
    return table_warn(t, "column %zu%s%s%s holds no number%s: left out%s", c + 1,
                      shape->names ? " \"" : "", excerpt_of(name, strlen(name)).text,
                      shape->names ? "\"" : "", within,
                      kind == CSV_LABEL ? " (its text names the lines)" : "");
}

/* Decides what becomes of each column (h->seen becomes its kind), with warnings. */
static enum status settle_columns(struct table *t, struct head *h, struct csv_shape *shape)
{
    size_t n_left = 0;
    for (size_t c = 0; c < h->n_columns; c++) {
        const enum csv_kind kind = column_kind(h, c);
        h->seen[c] = (unsigned char)kind;
        if (kind == CSV_KEEP || (kind == CSV_LABEL && !shape->has_header) || t->options.columns) {
            continue;
        }
        n_left++;
        if (n_left <= MAX_WARNINGS) {
            const enum status status = warn_left(t, h, shape, c, kind);
            if (status) {
                return status;
            }
        }
    }
    if (n_left > MAX_WARNINGS) {
        return table_warn(t, "%zu more columns hold no number: left out", n_left - MAX_WARNINGS);
    }
    return STATUS_OK;
}

/* The `columns` option overrules what the columns show; the label column stays when not chosen. */
static enum status apply_choice(const struct table *t, struct head *h,
                                const struct csv_shape *shape)
{
    unsigned char *chosen = malloc(h->n_columns);
    if (!chosen) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu columns", h->n_columns);
    }
    const enum status status = csv_choose_columns(t->options.columns, source_name(t->source),
                                                  h->n_columns, shape->names, chosen);
    for (size_t c = 0; !status && c < h->n_columns; c++) {
        const bool is_label = h->seen[c] == CSV_LABEL;
        h->seen[c] = (unsigned char)(chosen[c] ? CSV_KEEP : is_label ? CSV_LABEL : CSV_LEFT);
    }
    free(chosen);
    return status;
}

/* Packs the kinds into runs, and the names to those of the kept columns. */
static enum status make_runs(const struct head *h, struct csv_shape *shape)
{
    size_t n_runs = 0;
    for (size_t c = 0; c < h->n_columns; c++) {
        n_runs += c == 0 || h->seen[c] != h->seen[c - 1];
    }
    shape->runs = calloc(n_runs, sizeof *shape->runs);
    if (!shape->runs) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu columns", h->n_columns);
    }
    for (size_t c = 0; c < h->n_columns; c++) {
        const enum csv_kind kind = (enum csv_kind)h->seen[c];
        if (c == 0 || h->seen[c] != h->seen[c - 1]) {
            shape->runs[shape->n_runs++] = (struct csv_run){(uint32_t)c, (uint32_t)c, kind};
        }
        shape->runs[shape->n_runs - 1].last = (uint32_t)(c + 1);
        if (kind == CSV_KEEP && shape->names) {
            shape->names[shape->n_kept] = shape->names[c];
        }
        shape->n_kept += kind == CSV_KEEP;
        shape->has_labels |= kind == CSV_LABEL;
    }
    return STATUS_OK;
}

/* Lines in the file, from the text's lines: seldom too low. */
static size_t estimate_lines(const struct source *s, const struct head *h)
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

/* Lines with data from `data` on, in a text that is the whole file. */
static size_t count_data_lines(const struct head *h, const struct csv_dialect *d,
                               const unsigned char *data)
{
    size_t n = 0;
    for (const unsigned char *p = data; p < h->end;) {
        const unsigned char *next = h->end;
        struct csv_cell cell;
        if (csv_line_kind(d, p, h->end, &next) != CSV_LINE_DATA) {
            p = next;
            continue;
        }
        do {
            p = csv_cell_scan(d, p, h->end, &cell);
        } while (csv_pass(d, &p, h->end) == CSV_MORE);
        n++;
    }
    return n;
}

/* What all columns have shown becomes what the table is. */
static enum status settle(struct table *t, struct head *h, struct csv_shape *shape)
{
    if (h->n_lines == 0) {
        return status_fail(STATUS_BAD_INPUT, "%s: holds no cell, only blank lines and comments",
                           h->file);
    }
    shape->n_columns = h->n_columns;
    shape->shape_line = h->first_line;
    shape->has_header = settle_header(h);
    enum status status = STATUS_OK;
    if (shape->has_header) {
        status = read_names(h, &shape->dialect, shape);
    } else {
        status = warn_of_numbers(t, h, shape);
    }
    if (!status) {
        status = settle_columns(t, h, shape);
    }
    if (!status && t->options.columns) {
        status = apply_choice(t, h, shape);
    }
    if (!status) {
        status = make_runs(h, shape);
    }
    if (!status && shape->n_kept == 0) {
        status = status_fail(STATUS_BAD_INPUT,
                             "%s: no column holds a number in the %zu lines from line %" PRIu64,
                             h->file, h->n_lines, h->first_line);
    }
    return status;
}

enum status csv_read_head(struct table *t, struct csv_shape *shape, size_t *n_lines,
                          size_t *n_lines_estimate)
{
    struct head h = {.file = source_name(t->source)};
    shape->dialect.has_missing = t->options.has_missing_value;
    shape->dialect.missing = t->options.missing_value;
    enum status status = look_far_enough(t, shape, &h);
    if (!status) {
        status = settle(t, &h, shape);
    }
    if (!status) {
        /* The whole stream's bytes before the data: the byte order mark stands before h.text. */
        const unsigned char *whole_text;
        size_t n;
        status = source_peek(t->source, 0, &whole_text, &n);
        const unsigned char *const data = shape->has_header ? h.second : h.text;
        shape->data_offset = status ? 0 : (size_t)(data - whole_text);
        shape->data_line = shape->has_header ? h.second_line : 1;
        *n_lines = h.whole ? count_data_lines(&h, &shape->dialect, data) : 0;
        *n_lines_estimate = *n_lines > 0 ? *n_lines : estimate_lines(t->source, &h);
    }
    free(h.seen);
    return status;
}

void csv_shape_free(struct csv_shape *shape)
{
    free(shape->runs);
    free(shape->names);
    free(shape->name_text);
}
