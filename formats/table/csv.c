/*
 * csv - delimited text as a table: opening it, and reading it in chunks.
 *
 * A chunk is filled from the source in one go and then cut back to a line's end (a cell's, for
 * lines longer than a chunk); what is behind the cut is given back, for the next chunk. A last line
 * without LF gets one, so that every chunk ends with LF or a delimiter.
 *
 * Without a quote in the text the cut is at the last line end, or the last delimiter of a long
 * line, and what has to be counted is line ends and delimiters, which has been done as it was read.
 * With quotes, or when the cells may not fit the chunk's room, the text is walked cell by cell. A
 * line is only cut when it is known to hold a filled cell, so that the decoder of a piece of it
 * knows that it is not a blank line; a comment never is.
 */
#include "formats/table/csv.h"

#include "formats/table/foreign.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_BYTES = 64 << 10 };

/* --- where a chunk may end ---------------------------------------------------------------------
 */

struct cut {
    const struct csv_dialect *dialect;
    const unsigned char *text; /* from the start of a cell on ... */
    size_t n;
    size_t column;    /* ... with this number in its line */
    bool filled;      /* that line is known to hold a filled cell */
    size_t max_cells; /* the chunk's room */
};

/* A place to end the chunk: after a line or, within a line that is longer than the text, after a
 * delimiter. n = 0: there is none. */
struct place {
    size_t n;
    size_t n_lines; /* line ends before it */
    size_t column;  /* of the cell after it */
};

/* Does the line that begins at p hold a filled cell in p[0 .. n)? */
static bool may_cut_line(const struct cut *cut, size_t at)
{
    const unsigned char *next;
    return at < cut->n && csv_line_kind(cut->dialect, cut->text + at, cut->text + cut->n, false,
                                        &next) == CSV_LINE_DATA;
}

/* The number of cells that end in text[from .. to), within one line that has no quote. */
static size_t count_cells(const struct cut *cut, size_t from, size_t to)
{
    const unsigned char *p = cut->text + from;
    const unsigned char *const end = cut->text + to;
    size_t n_cells = 0;
    if (!cut->dialect->blanks) {
        return table_count_byte(p, to - from, cut->dialect->delimiter);
    }
    while (p < end) {
        struct csv_cell cell;
        if (csv_pass(cut->dialect, &p, end) != CSV_MORE) {
            break;
        }
        p = csv_cell_scan(cut->dialect, p, end, &cell);
        n_cells++;
    }
    return n_cells;
}

static const unsigned char *last_delimiter(const struct cut *cut, size_t from)
{
    const unsigned char *const p = cut->text + from;
    if (!cut->dialect->blanks) {
        return memrchr(p, cut->dialect->delimiter, cut->n - from);
    }
    const unsigned char *const space = memrchr(p, ' ', cut->n - from);
    const unsigned char *const tab = memrchr(p, '\t', cut->n - from);
    return tab > space ? tab : space;
}

/* Text without quotes that fits the room. */
static struct place cut_plain(const struct cut *cut, size_t n_lines)
{
    const unsigned char *const newline = memrchr(cut->text, '\n', cut->n);
    const size_t line_begin = newline ? (size_t)(newline + 1 - cut->text) : 0;
    const struct place at_line = {line_begin, n_lines, 0};
    if (line_begin >= cut->n / 2) {
        return at_line;
    }
    /* The line that begins here takes most of the text: cut it. */
    const bool continued = line_begin == 0 && cut->filled;
    const unsigned char *const delimiter = last_delimiter(cut, line_begin);
    if (!delimiter || !(continued || may_cut_line(cut, line_begin))) {
        return at_line;
    }
    const size_t end = (size_t)(delimiter + 1 - cut->text);
    const size_t before = continued ? cut->column : 0;
    return (struct place){end, n_lines, before + count_cells(cut, line_begin, end)};
}

/* Walks one line from *p on: to the next line when it is complete. Otherwise false, and *p is after
 * the last delimiter within the room. */
static bool walk_line(const struct cut *cut, const unsigned char **p, size_t *n_cells,
                      size_t *column)
{
    const struct csv_dialect *const d = cut->dialect;
    const unsigned char *const end = cut->text + cut->n;
    enum csv_after after = d->blanks ? csv_pass(d, p, end) : CSV_MORE;
    while (after == CSV_MORE && *p < end && *n_cells < cut->max_cells) {
        struct csv_cell cell;
        const unsigned char *q = csv_cell_scan(d, *p, end, &cell);
        if (q == end) {
            break;
        }
        after = csv_pass(d, &q, end);
        *p = q;
        ++*n_cells;
        ++*column;
    }
    return after == CSV_LINE_END;
}

/* Any text, cell by cell. */
static struct place cut_walking(const struct cut *cut)
{
    const unsigned char *const end = cut->text + cut->n;
    const unsigned char *line = cut->text, *p = line;
    size_t n_cells = 0, column = cut->column;
    bool filled = cut->filled;
    while (line < end) {
        const unsigned char *next = end;
        const enum csv_line kind =
            filled ? CSV_LINE_DATA : csv_line_kind(cut->dialect, line, end, false, &next);
        if (csv_is_left_out(kind)) {
            p = line = next;
        } else if (kind == CSV_LINE_DATA && walk_line(cut, &p, &n_cells, &column)) {
            line = p;
            column = 0;
        } else {
            break;
        }
        filled = false;
    }
    if (line - cut->text >= end - line) {
        p = line;
    }
    const size_t n = (size_t)(p - cut->text);
    return (struct place){n, table_count_byte(cut->text, n, '\n'), p > line ? column : 0};
}

/* counts: of the whole text */
static struct place find_cut(const struct cut *cut, const struct source_counts *counts)
{
    struct cut part = *cut;
    struct source_counts c = *counts;
    for (;;) {
        /* With blanks as delimiters a cell takes a byte, and what ends it another. */
        const size_t most = cut->dialect->blanks ? part.n / 2 : c.delimiters + c.newlines;
        if (most <= cut->max_cells) {
            break;
        }
        part.n /= 2;
        c = (struct source_counts){.delimiter = counts->delimiter};
        source_count(part.text, part.n, &c);
    }
    struct place place = {0};
    if (part.n > 0 && c.quotes == 0) {
        place = cut_plain(&part, c.newlines);
    }
    return place.n > 0 ? place : cut_walking(cut);
}

/* --- chunks ----------------------------------------------------------------------------------- */

static bool csv_suits(const unsigned char *head, size_t n)
{
    (void)head;
    return n > 0;
}

static void csv_close(void *state)
{
    csv_shape_free(&((struct csv *)state)->shape);
}

/* Whether the rows say x, y and the value of one cell after the other: of the first two columns one
 * steps evenly, while the other stays. */
static enum status look_for_xyz(struct table *t, bool *is_xyz)
{
    const struct csv *const csv = t->state;
    enum { ROWS = 3 };
    const struct csv_dialect *const d = &csv->shape.dialect;
    const unsigned char *text;
    double v[ROWS][ROWS] = {{0}};
    size_t n;
    STATUS_TRY(source_peek(t->source, 0, &text, &n));
    const unsigned char *const end = text + n, *p = text + csv->shape.data_offset;
    *is_xyz = csv->shape.n_columns == ROWS;
    for (size_t row = 0; row < ROWS && *is_xyz; row++) {
        p = csv_find_data(d, p, end);
        for (size_t c = 0; c < ROWS && p < end; c++) {
            struct csv_cell cell;
            p = csv_cell_scan(d, p, end, &cell);
            *is_xyz &= csv_cell_value(d, &cell, &v[row][c]) == CSV_NUMBER;
            (void)csv_pass(d, &p, end);
        }
    }
    for (size_t c = 0; c < 2 && *is_xyz; c++) {
        const double step = v[1][c] - v[0][c], stays = v[0][1 - c];
        if (step != 0 && fabs(v[2][c] - v[1][c] - step) <= 1e-6 * fabs(step) &&
            v[1][1 - c] == stays && v[2][1 - c] == stays) {
            return STATUS_OK;
        }
    }
    *is_xyz = false;
    return STATUS_OK;
}

/* In a grid's place nothing is passed over but comments and blank lines: no title, no names, no
 * column. */
static enum status check_for_grid(struct table *t, struct csv *csv)
{
    const struct csv_shape *const shape = &csv->shape;
    const char *const name = source_name(t->source);
    const bool has_lines = shape->has_title || shape->has_header;
    const bool has_columns =
        !shape->has_labels && (shape->n_kept == shape->n_columns || t->options.columns != NULL);
    if (has_lines || !has_columns) {
        char cure[128] = "";
        if (has_columns) {
            snprintf(cure, sizeof cure,
                     "; if the lines above line %" PRIu64 " say nothing of it, delete them%s",
                     shape->data_line,
                     shape->has_header && !shape->has_title
                         ? "; if the last of them is a row: -s header=none"
                         : "");
        }
        return status_fail(STATUS_BAD_INPUT,
                           "%s: is no grid: a grid begins with lines of ncols, nrows, xllcorner, "
                           "yllcorner, cellsize and nodata_value, or has numbers alone%s",
                           name, cure);
    }
    bool is_xyz;
    STATUS_TRY(look_for_xyz(t, &is_xyz));
    return is_xyz ? foreign_fail(STATUS_UNSUPPORTED, &foreign_xyz_grid, name, true) : STATUS_OK;
}

static enum status csv_open(struct table *t)
{
    struct csv *const csv = t->state;
    const size_t max_line = t->options.max_line_bytes;
    csv->max_line_bytes = max_line ? max_line : CSV_MAX_LINE_BYTES;
    STATUS_TRY(source_recode(t->source));
    STATUS_TRY(csv_read_head(t, &csv->shape));
    STATUS_TRY(t->options.for_grid ? check_for_grid(t, csv) : STATUS_OK);
    STATUS_TRY(table_skip(t, csv->shape.data_offset));
    csv->line = csv->shape.data_line;
    csv->offset = csv->shape.data_offset;
    t->info.dtype = DTYPE_F64;
    t->info.cells_per_line = csv->shape.n_kept;
    t->info.has_header = csv->shape.has_header;
    t->info.has_labels = csv->shape.has_labels;
    t->info.has_dates = csv->shape.has_dates;
    t->info.names = csv->shape.names;
    t->info.names_bytes = csv->shape.names_bytes;
    t->info.runs = csv->shape.runs;
    return STATUS_OK;
}

/* A line where the next chunk begins is left out. */
static void note_left_out(const struct table *t, enum csv_line kind)
{
    const struct csv *const csv = t->state;
    const struct table_left left = {1, csv->line, 0};
    const enum table_note note = csv_note_of(kind, csv->line <= csv->shape.row_line);
    if (note != TABLE_N_NOTES) {
        table_note_left_out(t, note, &left);
    }
}

/* Refuses a comment at p that holds a CR alone. */
static enum status check_comment(const struct table *t, const unsigned char *p,
                                 const unsigned char *end)
{
    const struct csv *const csv = t->state;
    struct csv_cell comment;
    return csv_is_refused_comment(&csv->shape.dialect, p, end, &comment)
               ? status_fail(STATUS_BAD_INPUT, "%s: line %" PRIu64 ": the comment " CSV_BARE_CR,
                             source_name(t->source), csv->line)
               : STATUS_OK;
}

/* Looks on until the line that is not yet in a chunk shows what it is: *kind. One that is left out
 * is passed; the text of any other is given back. */
static enum status look_ahead(struct table *t, struct table_chunk *c, enum csv_line *kind)
{
    struct csv *const csv = t->state;
    const unsigned char *begin, *next = NULL;
    size_t n;
    STATUS_TRY(source_unread(t->source, c->raw, c->raw_len));
    for (size_t want = 0;; want = n + (n > LOOK_BYTES ? n : LOOK_BYTES)) {
        STATUS_TRY(source_peek(t->source, want, &begin, &n));
        const bool at_end = n < want;
        *kind = csv_line_kind(&csv->shape.dialect, begin, begin + n, at_end, &next);
        if (at_end && *kind == CSV_LINE_OPEN_BLANK) {
            *kind = CSV_LINE_BLANK;
            next = begin + n;
        }
        if (csv_is_left_out(*kind)) {
            const size_t passed = (size_t)(next - begin);
            note_left_out(t, *kind);
            csv->offset += passed;
            csv->line += table_count_byte(begin, passed, '\n');
            return table_skip(t, passed);
        }
        if (*kind == CSV_LINE_DATA || at_end) {
            return check_comment(t, begin, begin + n);
        }
        if (n > csv->max_line_bytes) {
            return status_fail(STATUS_BAD_INPUT,
                               "%s: line %" PRIu64 ": is longer than %zu bytes and no row so far",
                               source_name(t->source), csv->line, csv->max_line_bytes);
        }
    }
}

static enum status fail_cell_size(const struct table *t, const struct table_chunk *c, bool at_end)
{
    const struct csv *const csv = t->state;
    const char *const file = source_name(t->source);
    if (at_end) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: line %" PRIu64 ", from column %zu on: a quote is never closed",
                           file, csv->line, csv->column + 1);
    }
    return status_fail(STATUS_BAD_INPUT,
                       "%s: line %" PRIu64 ", column %zu: a cell is longer than %zu bytes; is a "
                       "quote in it never closed?",
                       file, csv->line, csv->column + 1, c->raw_cap);
}

/* Makes c->raw[0 .. n) the chunk, up to `place`. */
static enum status take(struct table *t, struct table_chunk *c, struct place place)
{
    struct csv *const csv = t->state;
    const size_t n = c->raw_len;
    c->raw_len = place.n;
    c->first_line = csv->line;
    c->first_column = csv->column;
    c->file_offset = csv->offset;
    csv->line += place.n_lines;
    csv->column = place.column;
    csv->offset += place.n;
    return source_unread(t->source, c->raw + place.n, n - place.n);
}

/* Deals with a text that shows no place to cut; *filled: the line at its start is to be cut. */
static enum status pass_obstacle(struct table *t, struct table_chunk *c, bool at_end, bool *filled)
{
    struct csv *const csv = t->state;
    const struct csv_dialect *const d = &csv->shape.dialect;
    const unsigned char *const end = c->raw + c->raw_len, *next;
    enum csv_line kind = CSV_LINE_DATA;
    if (csv->column == 0 && !*filled) {
        kind = csv_line_kind(d, c->raw, end, false, &next);
        STATUS_TRY(check_comment(t, c->raw, end));
    }
    if (kind == CSV_LINE_DATA) {
        return fail_cell_size(t, c, at_end);
    }
    if (kind == CSV_LINE_OPEN_BLANK && (d->blanks || !memchr(c->raw, d->delimiter, c->raw_len))) {
        csv->offset += c->raw_len; /* blanks before a line's first cell mean nothing */
        return STATUS_OK;
    }
    STATUS_TRY(look_ahead(t, c, &kind));
    *filled = !csv_is_left_out(kind);
    return STATUS_OK;
}

static enum status csv_next(struct table *t, struct table_chunk *c, bool *end)
{
    struct csv *const csv = t->state;
    const size_t cap = c->raw_cap > 0 ? c->raw_cap - 1 : 0; /* one byte for a last LF */
    struct cut cut = {
        .dialect = &csv->shape.dialect,
        .text = c->raw,
        .max_cells = c->values_cap / sizeof(double),
        .filled = csv->column > 0,
    };
    if (cap == 0 || cut.max_cells == 0) {
        return status_fail(STATUS_INTERNAL, "%s: a chunk without room", source_name(t->source));
    }
    for (;;) {
        size_t n;
        struct source_counts counts = {.delimiter = cut.dialect->delimiter};
        enum status status = source_read_text(t->source, c->raw, cap, &n, &counts);
        c->raw_len = status ? 0 : n;
        if (status || (n == 0 && csv->column == 0)) {
            *end = !status;
            return status;
        }
        const bool at_end = n < cap;
        if (at_end && (n == 0 || c->raw[n - 1] != '\n')) {
            c->raw[c->raw_len++] = '\n';
            counts.newlines++;
        }
        cut.n = c->raw_len;
        cut.column = csv->column;
        const struct place place = find_cut(&cut, &counts);
        if (place.n > 0) {
            return take(t, c, place);
        }
        status = pass_obstacle(t, c, at_end, &cut.filled);
        if (status) {
            c->raw_len = 0;
            return status;
        }
    }
}

const struct table_format csv_format = {
    .name = "csv",
    .state_bytes = sizeof(struct csv),
    .takes = {[TABLE_COLUMNS] = true,
              [TABLE_MISSING_VALUE] = true,
              [TABLE_SKIP] = true,
              [TABLE_HEADER] = true,
              [TABLE_COMMENT] = true,
              [TABLE_SEP] = true,
              [TABLE_DECIMAL] = true,
              [TABLE_THOUSANDS] = true,
              [TABLE_UNREADABLE] = true,
              [TABLE_SUMS] = true},
    .suits = csv_suits,
    .open = csv_open,
    .next = csv_next,
    .decode = csv_decode,
    .close = csv_close,
};
