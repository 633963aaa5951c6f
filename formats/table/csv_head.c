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
    NEAR_BYTES = 16 << 10,  /* of the lines of which all cells are looked at */
    TEXT_LINES = 64
};

static uint64_t count_lines(const unsigned char *p, const unsigned char *end)
{
    return table_count_byte(p, (size_t)(end - p), '\n');
}

/* Among the lines that are looked at whatever the columns have shown. */
static bool is_near(const struct csv_head *h, const unsigned char *p)
{
    return h->n_lines <= TEXT_LINES && p - h->first < NEAR_BYTES;
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
    case CSV_UNSURE:
        return CSV_SEEN_UNSURE;
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
    const bool is_first = h->n_lines == 0, is_close = !is_first && is_near(h, *p);
    struct csv_walk w = csv_walk_of(d, *p, h->end);
    size_t cap = 0;
    if (is_first) {
        h->n_columns = 0;
    }
    while (csv_walk_next(&w)) {
        const size_t column = w.n - 1;
        STATUS_TRY(check_cell(h, &w.cell, column));
        if (is_first) {
            STATUS_TRY(add_column(h, &cap));
            h->seen[column] = (unsigned char)(cell_bit(d, &w.cell) >> CSV_FIRST_BITS);
        } else if (column < h->n_columns &&
                   (is_close || (h->seen[column] & CSV_SEEN_NUMBER) == 0)) {
            const bool is_open = (h->seen[column] & CSV_SEEN_NUMBER) == 0;
            h->seen[column] |= (unsigned char)cell_bit(d, &w.cell);
            h->n_open -= is_open && (h->seen[column] & CSV_SEEN_NUMBER) != 0;
        }
    }
    *p = w.p;
    *complete = w.after == CSV_LINE_END || h->whole;
    return STATUS_OK;
}

/* Walks the first line. Where it holds no number, and so may hold names, words count as words that
 * stand for missing numbers elsewhere. */
static enum status walk_first(struct csv_head *h, const struct csv_dialect *d,
                              const unsigned char **p, bool *complete)
{
    const unsigned char *const begin = *p;
    struct csv_dialect names = *d;
    unsigned all = 0;
    names.missing = NULL;
    STATUS_TRY(walk_line(h, &names, p, complete));
    for (size_t c = 0; c < h->n_columns; c++) {
        all |= h->seen[c];
    }
    if ((all & (CSV_FIRST_NUMBER | CSV_FIRST_UNSURE)) == 0) {
        return STATUS_OK;
    }
    *p = begin;
    return walk_line(h, d, p, complete);
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

/* The first line has been walked: gives the table as many columns as its rows have. */
static enum status set_width(struct csv_head *h)
{
    const size_t n = h->n_columns, width = h->top.n_columns;
    if (width == 0) {
        return STATUS_OK;
    }
    unsigned char *const seen = realloc(h->seen, width > n ? width : n);
    if (!seen) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu columns", width);
    }
    h->seen = seen;
    if (h->top.lacks_first) {
        memmove(seen + 1, seen, n);
        seen[0] = 0;
    } else if (width > n) {
        seen[n] = 0;
    }
    h->n_columns = width;
    return STATUS_OK;
}

/* The first line, begin .. end, may be the header: lines that repeat it hold nothing else. */
static void set_header(const struct csv_head *h, struct csv_dialect *d, const unsigned char *begin,
                       const unsigned char *end)
{
    bool has_word = false;
    for (size_t c = 0; c < h->n_columns; c++) {
        has_word = has_word || (h->seen[c] & CSV_FIRST_WORD) != 0;
    }
    while (end > begin && (end[-1] == '\n' || end[-1] == '\r')) {
        end--;
    }
    d->header = has_word ? begin : NULL;
    d->header_bytes = (size_t)(end - begin);
}

/* Whether a sum or mean names one of the first two rows below the line that was walked, and the
 * like the other: then such rows are what the table is of. */
static bool is_of_sums(const struct csv_head *h, const struct csv_dialect *d)
{
    struct csv_dialect any = *d;
    const unsigned char *p = h->second;
    bool has_sum = false;
    any.sums_are_data = true;
    for (int row = 0; row < 2; row++) {
        struct csv_walk w = csv_walk_of(d, csv_find_data(&any, p, h->end), h->end);
        if (w.p == h->end) {
            return false;
        }
        (void)csv_walk_next(&w);
        const enum csv_sum sum = csv_names_sum(&w.cell);
        if (sum == CSV_NO_SUM) {
            return false;
        }
        has_sum = has_sum || sum == CSV_SUM;
        while (csv_walk_next(&w)) {
        }
        p = w.p;
    }
    return has_sum;
}

/* Walks the lines until every column has shown a number in one of TEXT_LINES or more, or the text
 * ends. */
static enum status walk(struct csv_head *h, struct csv_dialect *d)
{
    const unsigned char *p = h->top.begin;
    h->line = h->top.line;
    h->n_lines = 0;
    h->n_open = SIZE_MAX;
    while (p < h->end && (h->n_open > 0 || is_near(h, p))) {
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
        STATUS_TRY(h->n_lines == 0 ? walk_first(h, d, &p, &complete)
                                   : walk_line(h, d, &p, &complete));
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
            set_header(h, d, begin, p);
            if (h->top.rows) {
                p = h->top.rows;
                h->line = h->top.rows_line;
            }
            h->second = p;
            h->second_line = h->line;
            STATUS_TRY(set_width(h));
            h->n_open = d->row_cells = h->n_columns;
            d->sums_are_data = d->sums_are_data || is_of_sums(h, d);
        }
    }
    return STATUS_OK;
}

/* Refuses what is not text in an encoding that can be read; passes a byte order mark. */
static enum status check_text(struct csv_head *h, const struct source *source)
{
    const size_t n = (size_t)(h->end - h->text);
    const unsigned char *const zero = memchr(h->text, 0, n < FIRST_BYTES ? n : FIRST_BYTES);
    if (zero && n >= 4 && (h->text[0] == 0) != (h->text[1] == 0) &&
        (h->text[2] == 0) != (h->text[3] == 0)) {
        return status_fail(STATUS_UNSUPPORTED,
                           "%s: seems to be UTF-16 text without the mark that it begins with; save "
                           "it as UTF-8",
                           h->file);
    }
    if (zero) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: byte %td is 0: this is binary data of a format that leat does not "
                           "know, not a table%s",
                           h->file, zero - h->text,
                           source_is_stream(source)
                               ? "; an archive by standard input has a name: --name X.tar"
                               : "");
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

/* The n-th line after the first; false: the text does not hold it. */
static bool skip_lines(const struct csv_head *h, size_t n, const unsigned char **begin)
{
    *begin = h->text;
    for (size_t i = 0; i < n; i++) {
        const unsigned char *const newline = memchr(*begin, '\n', (size_t)(h->end - *begin));
        if (!newline) {
            return false;
        }
        *begin = newline + 1;
    }
    return true;
}

static enum status fail_skip(const struct csv_head *h, size_t n)
{
    return status_fail(STATUS_BAD_INPUT, "%s: skip=%zu passes over all of its %" PRIu64 " lines",
                       h->file, n, count_lines(h->text, h->end));
}

/* Looks at the first `want` bytes and, where they may hold two lines, walks them. Lines that end
 * with CR alone make no second line: they are walked, to be refused. */
static enum status look(struct table *t, size_t want, struct csv_shape *shape, struct csv_head *h,
                        struct line_ends *ends)
{
    struct table_signs signs = t->choice.signs;
    size_t n;
    STATUS_TRY(source_peek(t->source, want, &h->text, &n));
    h->end = h->text + n;
    h->whole = n < want;
    count_line_ends(ends, h->text, n);
    h->n_lines = 0;
    h->line = ends->n + 1;
    shape->dialect.row_cells = 0;
    shape->dialect.header = NULL;
    shape->dialect.sums_are_data = t->choice.sums_are_data || t->options.words;
    STATUS_TRY(check_text(h, t->source));
    const bool few = !h->whole && ends->n < 2;
    if (few && !csv_holds_bare_cr(h->text, h->end)) {
        return STATUS_OK;
    }
    const unsigned char *const newline = memrchr(h->text, '\n', (size_t)(h->end - h->text));
    if (!h->whole && !few && newline) {
        h->end = newline + 1; /* a cell cut short may look like a number */
    }
    const unsigned char *begin;
    uint64_t line = 1;
    if (!skip_lines(h, t->choice.skip, &begin)) {
        return h->whole ? fail_skip(h, t->choice.skip) : STATUS_OK;
    }
    line += t->choice.skip;
    begin = csv_pass_preamble(begin, h->end, &line, &signs.sep);
    h->doubt = csv_find_dialect(begin, (size_t)(h->end - begin), h->whole, &signs, &shape->dialect);
    STATUS_TRY(csv_find_top(&shape->dialect, h->file, begin, h->end, h->whole, line,
                            t->options.words ? TABLE_HEADER_NONE : t->choice.header, &h->top));
    return h->top.needs_more ? STATUS_OK : walk(h, &shape->dialect);
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
        const bool far_enough = want >= HEAD_BYTES || want == furthest;
        if (h->whole || (h->n_lines >= 2 && (count_unknown(h) == 0 || far_enough))) {
            return STATUS_OK;
        }
        const bool endless = ends.n < 2 && ends.looked_at - ends.after_last > max_line;
        if (endless || want == furthest) {
            return status_fail(STATUS_BAD_INPUT,
                               "%s: line %" PRIu64 ": is longer than %zu bytes; is this a "
                               "table, and is every quote in it closed?%s",
                               source_name(t->source), h->line, max_line,
                               max_line < CSV_MAX_LINE_BYTES ? " If so, raise --memory" : "");
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
        struct csv_walk w = csv_walk_of(d, p, h->end);
        while (csv_walk_next(&w)) {
            if (w.cell.unclosed) {
                return 0;
            }
        }
        p = w.p;
    }
    return n;
}

/* The text of the head does not last. */
static enum status keep_header(struct csv_shape *shape)
{
    struct csv_dialect *const d = &shape->dialect;
    if (!shape->has_header || !d->header) {
        d->header = NULL;
        return STATUS_OK;
    }
    shape->header = malloc(d->header_bytes);
    if (!shape->header) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu names", shape->n_columns);
    }
    memcpy(shape->header, d->header, d->header_bytes);
    d->header = shape->header;
    shape->names_bytes += d->header_bytes;
    return STATUS_OK;
}

static enum status read_head(struct table *t, struct csv_shape *shape, struct csv_head *h)
{
    STATUS_TRY(look_far_enough(t, shape, h));
    STATUS_TRY(csv_decide_shape(t, h, shape));
    STATUS_TRY(keep_header(shape));
    /* The whole stream's bytes before the data: the byte order mark stands before h->text. */
    const unsigned char *whole_text;
    size_t n;
    STATUS_TRY(source_peek(t->source, 0, &whole_text, &n));
    const unsigned char *const data = shape->has_header ? h->second : h->first;
    shape->data_offset = (size_t)(data - whole_text);
    shape->data_line = shape->has_header ? h->second_line : h->first_line;
    const unsigned char *const row = csv_find_data(&shape->dialect, data, h->end);
    shape->row_line = shape->data_line + count_lines(data, row);
    n = h->whole ? count_data_lines(h, &shape->dialect, data) : 0;
    t->info.n_lines = n;
    if (n > 0 || t->sheet == NULL) { /* of a sheet it is known how many rows it has at most */
        t->info.n_lines_estimate = n > 0 ? n : estimate_lines(t->source, h);
    }
    return STATUS_OK;
}

enum status csv_read_head(struct table *t, struct csv_shape *shape)
{
    struct csv_head h = {.file = source_name(t->source)};
    shape->dialect.missing = &t->choice.missing;
    shape->dialect.dates = t->options.dates;
    shape->dialect.is_sheet = t->sheet != NULL;
    shape->dialect.comment = t->choice.comment;
    shape->dialect.comment_is_said = t->choice.comment_is_said;
    const enum status status = read_head(t, shape, &h);
    free(h.seen);
    return status;
}
