/*
 * csv_decode - a chunk of delimited text to doubles.
 *
 * Line by line, and in a line run by run of columns. A run of kept columns goes through
 * decimal_run_cells(), which takes plain numbers as fast as they can be parsed, across lines when
 * all columns are kept; the cell at which it stops is looked at with the full grammar. A chunk that
 * begins or ends within a line begins or ends there at a cell.
 */
#include "formats/base/decimal.h"
#include "formats/base/moment.h"
#include "formats/table/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct decoding {
    const struct table *t;
    const struct csv_shape *shape;
    struct table_chunk *c;
    const unsigned char *p, *end;
    double *out, *out_end;
    size_t column; /* of the cell at p */
    size_t run;    /* that holds the column */
    size_t n_missing;
    bool is_above; /* no row of the file has been met */
    struct table_left left[TABLE_N_NOTES];
    bool noted[TABLE_N_NOTES]; /* has been passed to table_note(): one a chunk is enough, its first
                                */
};

/* The line of the file in which p stands. */
static uint64_t line_of(const struct decoding *k, const unsigned char *p)
{
    return k->c->first_line + table_count_byte(k->c->raw, (size_t)(p - k->c->raw), '\n');
}

/* The name of a file column that is kept; of others nothing. */
static struct excerpt column_name(const struct csv_shape *shape, size_t column)
{
    size_t kept = 0;
    struct excerpt name = {""};
    for (size_t r = 0; r < shape->n_runs && shape->names; r++) {
        const struct csv_run *const run = &shape->runs[r];
        if (run->kind != CSV_KEEP) {
            continue;
        }
        if (column >= run->first && column < run->last) {
            const char *const text = shape->names[kept + column - run->first];
            name = excerpt_of(text, strlen(text));
            break;
        }
        kept += run->last - run->first;
    }
    return name;
}

static enum status fail_cell(const struct decoding *k, const struct csv_cell *cell,
                             const char *trouble)
{
    const struct excerpt name = column_name(k->shape, k->column);
    return status_fail(STATUS_BAD_INPUT, "%s: %s%s%s%s: \"%s\" %s", source_name(k->t->source),
                       table_where(k->t, line_of(k, k->p), k->column).text,
                       name.text[0] ? " (" : "", name.text, name.text[0] ? ")" : "",
                       excerpt_of(cell->text, cell->n).text, trouble);
}

/* What may be done about a line, or a word. */
struct hint {
    char text[256];             /* "": nothing */
    bool may_be_row, has_names; /* has_names: a line below holds them */
};

struct record {
    size_t n_cells, n_numbers, n_units;
    bool has_names; /* a word beyond the first cell is no unit */
    bool is_number; /* the present column; beyond the table's any */
};

/* The record at *p, which becomes the next one that is data. */
static struct record pass_record(const struct decoding *k, const unsigned char **p)
{
    const struct csv_dialect *const d = &k->shape->dialect;
    struct record r = {0};
    struct csv_walk w = csv_walk_of(d, *p, k->end);
    while (csv_walk_next(&w)) {
        double number;
        const enum csv_value value = csv_cell_value(d, &w.cell, &number);
        const bool is_number = value == CSV_NUMBER, is_unit = csv_is_unit(&w.cell);
        r.n_units += is_unit;
        r.has_names = r.has_names || (value == CSV_WORD && !is_unit && r.n_cells > 0);
        r.is_number = r.is_number || (is_number && r.n_cells == k->column);
        r.n_numbers += is_number;
        r.n_cells++;
    }
    r.is_number = r.is_number || (r.n_numbers > 0 && k->column >= k->shape->n_columns);
    *p = csv_find_data(d, w.p, k->end);
    return r;
}

/* Of the record at `at` and those that follow: the one that may hold the names, the last without a
 * number above two with one in the present column; of units, the one above them. */
static const unsigned char *find_names(const struct decoding *k, const unsigned char *at)
{
    const unsigned char *const first = at, *last = at, *names = at;
    size_t n_in_row = 0, n_cells = 0;
    while (at < k->end && n_in_row < 2) {
        const unsigned char *const begin = at;
        const struct record r = pass_record(k, &at);
        n_in_row = r.is_number ? n_in_row + 1 : 0;
        names = n_in_row == 1 ? last : names;
        if (r.n_numbers == 0 && (r.has_names || r.n_units == 0 || r.n_cells != n_cells)) {
            last = begin;
            n_cells = r.n_cells;
        }
    }
    return n_in_row > 0 ? names : first;
}

/* Whether all records from `at` on that are there have as many cells. */
static bool is_even(const struct decoding *k, const unsigned char *at)
{
    const size_t n_cells = pass_record(k, &at).n_cells;
    bool is = true;
    while (is && at < k->end) {
        is = pass_record(k, &at).n_cells == n_cells;
    }
    return is;
}

static const unsigned char *line_begin(const struct decoding *k, const unsigned char *at)
{
    const unsigned char *const newline =
        at > k->c->raw ? memrchr(k->c->raw, '\n', (size_t)(at - k->c->raw)) : NULL;
    return newline ? newline + 1 : k->c->raw;
}

/* When the line of the cell at `at` holds no number, it may be something beside the table. */
static struct hint hint_at(const struct decoding *k, const unsigned char *at)
{
    struct hint hint = {.text = "; if this line is not the table's, delete it"};
    const unsigned char *const begin = line_begin(k, at), *p = begin;
    const uint64_t line = line_of(k, p), names = line_of(k, find_names(k, begin));
    const struct record r = pass_record(k, &p);
    if (r.n_numbers > 0) {
        return (struct hint){.may_be_row = true};
    }
    if (line == k->shape->row_line && names > line) {
        snprintf(hint.text, sizeof hint.text,
                 "; if line %" PRIu64 " holds the names, pass over those above: -s skip=%" PRIu64,
                 names, names - 1);
        hint.has_names = true;
    } else if (line == k->shape->row_line && line > 1) {
        snprintf(hint.text, sizeof hint.text,
                 "; if this line holds the names, pass over those above: -s skip=%" PRIu64
                 "; if it holds units, delete it",
                 line - 1);
    } else {
        hint.may_be_row = r.n_cells == k->shape->n_columns;
    }
    return hint;
}

/* The option is named where it takes nothing from the other numbers. */
static enum status fail_unsure(const struct decoding *k, const struct csv_cell *cell)
{
    const struct csv_dialect *const d = &k->shape->dialect;
    const struct csv_cell inner = csv_cell_inner(cell);
    char trouble[sizeof(struct hint)], sign = 0;
    double fraction;
    (void)csv_grouped(cell, &sign, NULL);
    const bool is_free = d->grouping == 0 && sign != d->point;
    const char *const name = table_sign_name(sign), *const sep = !d->is_sheet && sign == ',' &&
                                                                         d->delimiter == ','
                                                                     ? ", and -s sep=comma"
                                                                     : "";
    if (is_free && (sign == ',' || sign == '.') &&
        decimal_parse((const char *)inner.text, inner.n, sign, &fraction)) {
        snprintf(
            trouble, sizeof trouble,
            "may be a fraction, or a number with its thousands parted: set -s decimal=%s or -s "
            "thousands=%s%s",
            name, name, sep);
    } else {
        snprintf(trouble, sizeof trouble,
                 "may be a number with its thousands parted, or something else: write it without "
                 "signs between groups of digits%s%s%s",
                 is_free ? ", or set -s thousands=" : "", is_free ? name : "", is_free ? sep : "");
    }
    return fail_cell(k, cell, trouble);
}

static enum status fail_infinite(const struct decoding *k, const struct csv_cell *cell)
{
    static const char word[] = "inf";
    const struct csv_cell infinite = {.text = (const unsigned char *)word, .n = sizeof word - 1};
    const struct csv_cure cure = csv_cure_word(k->t, k->c, &infinite, k->column);
    char trouble[sizeof cure + 64];
    snprintf(trouble, sizeof trouble, "is infinite or too large for a double%s", cure.text);
    return fail_cell(k, cell, trouble);
}

/* Whether no kept column is before the present one. */
static bool is_first_kept(const struct decoding *k)
{
    const struct csv_run *run = k->shape->runs;
    while (run->kind != CSV_KEEP) {
        run++;
    }
    return k->column == run->first;
}

static enum status fail_word(const struct decoding *k, const struct csv_cell *cell)
{
    const struct csv_cell inner = csv_cell_inner(cell);
    double seconds;
    const bool is_date = moment_parse((const char *)inner.text, inner.n, &seconds);
    const bool is_sheet = k->t->sheet != NULL;
    if (is_date && k->t->options.dates && is_first_kept(k)) {
        return fail_cell(k, cell,
                         "is a date, where the column has numbers; write all of them as dates, or "
                         "all as numbers");
    }
    char trouble[sizeof(struct csv_cure) + sizeof(struct hint) + 128];
    const struct hint line = hint_at(k, k->p);
    const struct csv_cure cure = csv_cure_word(k->t, k->c, cell, k->column);
    const bool may_name_sum =
        line.text[0] == '\0' && k->column == 0 && k->shape->n_kept > 1 && cure.is_lone;
    snprintf(trouble, sizeof trouble, "is %s%s%s%s%s%s%s",
             is_date ? "a date, not a number" : "not a number",
             is_sheet ? "" : " (cells are delimited by ",
             is_sheet ? "" : csv_delimiter_name(&k->shape->dialect), is_sheet ? "" : ")", line.text,
             may_name_sum ? "; if this row sums others, delete it" : "",
             line.may_be_row ? cure.text : "");
    return fail_cell(k, cell, trouble);
}

static enum status fail_ragged(const struct decoding *k, const unsigned char *at)
{
    const struct csv_shape *const shape = k->shape;
    const bool too_long = k->column >= shape->n_columns;
    const uint64_t line = line_of(k, at);
    struct hint hint = hint_at(k, at);
    /* no row is as wide as the line that gave the width */
    const bool is_first =
        shape->has_header ? line == shape->row_line : too_long && line == shape->row_line + 1;
    if (is_first && !hint.has_names) {
        const bool has_blanks = shape->dialect.blanks && !is_even(k, line_begin(k, at));
        const int n =
            snprintf(hint.text, sizeof hint.text, "; %s line %" PRIu64 "%s ",
                     shape->has_header ? "give" : "if", shape->shape_line,
                     shape->has_header ? " a name for each column, or" : " is not the table's,");
        snprintf(hint.text + n, sizeof hint.text - (size_t)n,
                 has_blanks ? "write quotes around cells that hold blanks"
                 : shape->dialect.delimiter == ','
                     ? "pass it over: -s skip=%" PRIu64
                       "; if the numbers have decimal commas, delimit cells by semicolons"
                     : "pass it over: -s skip=%" PRIu64,
                 shape->shape_line);
    }
    char n_cells[24] = "more";
    if (!too_long) {
        snprintf(n_cells, sizeof n_cells, "%zu", k->column);
    }
    return status_fail(STATUS_BAD_INPUT,
                       "%s: line %" PRIu64 ", column %zu: the line has %s cell%s, line %" PRIu64
                       " has %zu, delimited by %s%s",
                       source_name(k->t->source), line, k->column + 1, n_cells,
                       k->column == 1 && !too_long ? "" : "s", shape->shape_line, shape->n_columns,
                       csv_delimiter_name(&shape->dialect), hint.text);
}

static enum status fail_room(const struct decoding *k)
{
    return status_fail(STATUS_INTERNAL,
                       "%s: line %" PRIu64 ": the chunk has no room for its numbers",
                       source_name(k->t->source), line_of(k, k->p));
}

static void note(struct decoding *k, enum table_note note)
{
    if (!k->noted[note]) {
        table_note(k->t, note, line_of(k, k->p), k->column);
        k->noted[note] = true;
    }
}

static enum status append_label(struct decoding *k, const struct csv_cell *cell)
{
    struct table_chunk *const c = k->c;
    const size_t most = 3 * cell->n + 1;
    bool is_utf8;
    if (c->labels_cap - c->labels_len < most) {
        const size_t cap = 2 * c->labels_cap + most + 256;
        char *const labels = realloc(c->labels, cap);
        if (!labels) {
            return status_fail(STATUS_NO_MEMORY, "no memory for the lines' names");
        }
        c->labels = labels;
        c->labels_cap = cap;
    }
    c->labels_len += csv_copy_text(cell, c->labels + c->labels_len, &is_utf8) + 1;
    c->n_labels++;
    if (!is_utf8) {
        note(k, TABLE_NOTE_ENCODING);
    }
    return STATUS_OK;
}

static void count(struct decoding *k, enum table_note note)
{
    struct table_left *const left = &k->left[note];
    left->line = left->n++ == 0 ? line_of(k, k->p) : left->line;
}

/* The row at k->p is data, and may be none: it begins with the sign of comments, or in a column of
 * names with a word for a sum. */
static void count_doubtful(struct decoding *k)
{
    const struct csv_dialect *const d = &k->shape->dialect;
    const bool may_be_comment = d->comment != 0 && *k->p == (unsigned char)d->comment;
    if (!may_be_comment && (d->sums_are_data || !csv_may_name_sum(k->p, k->end))) {
        return;
    }
    struct csv_cell cell;
    bool is_na;
    (void)csv_cell_scan(d, k->p, k->end, &cell);
    if (may_be_comment && !csv_is_error_value((const char *)cell.text, cell.n, &is_na)) {
        count(k, TABLE_NOTE_SIGNED_ROW);
    } else if (!may_be_comment && memchr(cell.text, ' ', cell.n) && csv_names_sum(&cell)) {
        count(k, TABLE_NOTE_NAMED_ROW);
    }
}

/* The line k->p .. next is left out. */
static enum status leave_out(struct decoding *k, enum csv_line kind, const unsigned char *next)
{
    struct table_chunk *const c = k->c;
    const size_t n_cells = (size_t)(k->out - (double *)c->values);
    const size_t n_lines = table_count_byte(k->p, (size_t)(next - k->p), '\n');
    const enum table_note note = csv_note_of(kind, k->is_above);
    if (note != TABLE_N_NOTES) {
        count(k, note);
    }
    if (c->skips == NULL) {
        c->skips = malloc(TABLE_SKIPS * sizeof *c->skips);
        if (c->skips == NULL) {
            return status_fail(STATUS_NO_MEMORY, "no memory for the lines without rows");
        }
    }
    if (c->n_skips > 0 && c->skips[c->n_skips - 1].n_cells == n_cells) {
        c->skips[c->n_skips - 1].n_lines += n_lines;
    } else if (c->n_skips < TABLE_SKIPS) {
        c->skips[c->n_skips++] = (struct table_skip){n_cells, n_lines};
    }
    k->p = next;
    return STATUS_OK;
}

static void note_grouped(struct decoding *k, const struct csv_cell *cell)
{
    const char other = k->shape->dialect.point == '.' ? ',' : '.';
    if (!(k->shape->dialect.is_sheet && cell->rest == NULL) &&
        k->shape->dialect.grouping != other &&
        table_may_be_grouped((const char *)cell->text, cell->n, other)) {
        note(k, TABLE_NOTE_GROUPED);
    }
}

static void note_error_value(struct decoding *k, const struct csv_cell *cell)
{
    bool is_na;
    if (csv_is_error_value((const char *)cell->text, cell->n, &is_na) && !is_na) {
        note(k, TABLE_NOTE_ERROR);
    }
}

static enum csv_value date_value(const struct decoding *k, const struct csv_cell *cell,
                                 double *number)
{
    const struct csv_cell inner = csv_cell_inner(cell);
    double other;
    if (moment_parse((const char *)inner.text, inner.n, number)) {
        return CSV_NUMBER;
    }
    const enum csv_value value = csv_cell_value(&k->shape->dialect, cell, &other);
    return value == CSV_MISSING || value == CSV_NOTHING ? value : CSV_WORD;
}

/* Whether the present column is of dates. */
static bool is_of_dates(const struct decoding *k)
{
    return k->shape->has_dates && k->column == k->shape->dates;
}

/* A cell of a kept column, with the full grammar. */
static enum status decode_kept(struct decoding *k, const struct csv_cell *cell)
{
    const bool is_date = is_of_dates(k);
    double number = NAN;
    if (cell->unclosed) {
        return fail_cell(k, cell, "begins with a quote that is never closed");
    }
    if (cell->n_rest > 0) {
        return fail_cell(k, cell, "is followed by more than a delimiter after its closing quote");
    }
    if (k->out == k->out_end) {
        return fail_room(k);
    }
    if (k->t->options.words) {
        *k->out++ = 0;
        return append_label(k, cell);
    }
    const enum csv_value value =
        is_date ? date_value(k, cell, &number) : csv_cell_value(&k->shape->dialect, cell, &number);
    if (k->t->choice.unreadable_is_missing &&
        (value == CSV_WORD || value == CSV_UNSURE || value == CSV_INFINITE)) {
        if (k->left[TABLE_NOTE_UNREADABLE].n == 0) {
            k->left[TABLE_NOTE_UNREADABLE].column = k->column;
        }
        count(k, TABLE_NOTE_UNREADABLE);
        k->n_missing++;
        *k->out++ = NAN;
        return STATUS_OK;
    }
    switch (value) {
    case CSV_WORD:
        return is_date ? fail_cell(k, cell,
                                   "is no date, as the column's others are, such as 2024-05-01 or "
                                   "2024-05-01T12:30:00Z")
                       : fail_word(k, cell);
    case CSV_UNSURE:
        return fail_unsure(k, cell);
    case CSV_INFINITE:
        return fail_infinite(k, cell);
    case CSV_NUMBER:
        note_grouped(k, cell);
        break;
    case CSV_MISSING:
        note_error_value(k, cell);
        break;
    case CSV_NOTHING:
        break;
    }
    k->n_missing += isnan(number) ? 1 : 0;
    *k->out++ = number;
    return STATUS_OK;
}

static enum status decode_cell(struct decoding *k, enum csv_kind kind,
                               const unsigned char **cell_end)
{
    struct csv_cell cell;
    double number;
    *cell_end = csv_cell_scan(&k->shape->dialect, k->p, k->end, &cell);
    if (csv_cell_holds_bare_cr(&cell)) {
        return fail_cell(k, &cell, CSV_BARE_CR);
    }
    switch (kind) {
    case CSV_KEEP:
        return decode_kept(k, &cell);
    case CSV_LABEL:
        return append_label(k, &cell);
    case CSV_EMPTY:
        if (cell.n > 0 && csv_cell_value(&k->shape->dialect, &cell, &number) == CSV_NUMBER) {
            return fail_cell(k, &cell,
                             "is the first number of a column that was empty so far and is left "
                             "out; name the columns to be read, with this one: -s columns=...");
        }
        break;
    case CSV_LEFT:
        if (!k->shape->dialect.sums_are_data && csv_names_sum(&cell) == CSV_SUM) {
            count(k, TABLE_NOTE_NAMED_ROW);
        }
        break;
    }
    return STATUS_OK;
}

/* Plain numbers from k->p on, as far as they go. */
static void decode_plain(struct decoding *k, const struct csv_run *run)
{
    const struct csv_shape *const shape = k->shape;
    struct decimal_run plain = {
        .at = (const char *)k->p,
        .end = (const char *)k->end,
        .out = k->out,
        .out_end = k->out_end,
        .column = k->column,
        .first = run->first,
        .last = run->last,
        .to_line_end = run->last == shape->n_columns,
        .blanks = shape->dialect.blanks,
        .delimiter = (char)shape->dialect.delimiter,
        .point = shape->dialect.point,
    };
    decimal_run_cells(&plain);
    k->p = (const unsigned char *)plain.at;
    k->out = plain.out;
    k->column = plain.column;
}

/* With blanks as delimiters those before a cell, or before the line's end, are passed. */
static enum csv_after at_cell(struct decoding *k)
{
    if (!k->shape->dialect.blanks) {
        return k->p < k->end ? CSV_MORE : CSV_TEXT_END;
    }
    return csv_pass(&k->shape->dialect, &k->p, k->end);
}

/* Decodes from the cell at k->p to the end of its line or of the text. */
static enum status decode_line(struct decoding *k)
{
    const struct csv_shape *const shape = k->shape;
    enum csv_after after = at_cell(k);
    while (after == CSV_MORE && k->p < k->end) {
        if (k->column >= shape->n_columns) {
            return fail_ragged(k, k->p);
        }
        while (shape->runs[k->run].last <= k->column) {
            k->run++;
        }
        const struct csv_run *const run = &shape->runs[k->run];
        const unsigned char *const before = k->p;
        /* a comma that delimits may be the decimal sign of quoted numbers, which are not plain */
        if (run->kind == CSV_KEEP && shape->dialect.point != (char)shape->dialect.delimiter &&
            !k->t->options.words && !is_of_dates(k)) {
            decode_plain(k, run);
            if (k->p > before && k->column == 0) {
                return STATUS_OK;
            }
            if (k->p > before) {
                after = at_cell(k);
                continue;
            }
        }
        const unsigned char *cell_end;
        STATUS_TRY(decode_cell(k, run->kind, &cell_end));
        k->p = cell_end;
        k->column++;
        after = csv_pass(&shape->dialect, &k->p, k->end);
    }
    if (after == CSV_LINE_END) {
        if (k->column != shape->n_columns) {
            return fail_ragged(k, k->p - 1);
        }
        k->column = 0;
    }
    return STATUS_OK;
}

/* Lines that begin with a digit, a sign or a point are rows, unless the header does, too. */
static bool begins_plain(const struct csv_dialect *d, unsigned char c)
{
    return ((c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.') &&
           (!d->header || c != d->header[0]);
}

enum status csv_decode(const struct table *t, struct table_chunk *c)
{
    const struct csv *const csv = t->state;
    struct decoding k = {
        .t = t,
        .shape = &csv->shape,
        .c = c,
        .p = c->raw,
        .end = c->raw + c->raw_len,
        .out = c->values,
        .column = c->first_column,
        .is_above = c->first_line <= csv->shape.row_line,
    };
    k.out_end = k.out + c->values_cap / sizeof *k.out;
    bool continued = c->first_column > 0;
    while (k.p < k.end) {
        const unsigned char *next = k.end;
        const enum csv_line kind = continued || begins_plain(&k.shape->dialect, *k.p)
                                       ? CSV_LINE_DATA
                                       : csv_line_kind(&k.shape->dialect, k.p, k.end, false, &next);
        if (csv_is_left_out(kind)) {
            STATUS_TRY(leave_out(&k, kind, next));
            continue;
        }
        struct csv_cell comment;
        const bool is_refused = !continued && !begins_plain(&k.shape->dialect, *k.p) &&
                                csv_is_refused_comment(&k.shape->dialect, k.p, k.end, &comment);
        if (!continued && !begins_plain(&k.shape->dialect, *k.p)) {
            count_doubtful(&k);
        }
        continued = k.is_above = false;
        k.run = 0;
        STATUS_TRY(is_refused ? fail_cell(&k, &comment, CSV_BARE_CR) : decode_line(&k));
    }
    c->n_cells = (size_t)(k.out - (double *)c->values);
    c->n_missing = k.n_missing;
    for (int i = 0; i < TABLE_N_NOTES; i++) {
        table_note_left_out(t, (enum table_note)i, &k.left[i]);
    }
    if (t->info.has_missing_value) {
        c->n_missing = table_mark_missing(c->values, c->n_cells, k.shape->dialect.missing);
    }
    return STATUS_OK;
}
