/*
 * csv_shape - what the first lines of a delimited text mean: which columns hold numbers, and
 * what their names are.
 *
 * A column that shows nothing but empty cells in all of the head is left out with a warning. When a
 * number turns up in it further down, decoding fails with an error that names the column and says
 * how to keep it (columns = ...): leaving numbers out silently would be wrong, and so would a shape
 * that changes under way. A column of words stays left out, whatever follows. A column that says
 * that it is missing (NA, the missing value) is kept when the file goes on beyond the head. So is
 * one with words among its numbers, which are errors then, unless there are more words than numbers
 * in the head: that is a column of words with a number among them.
 */
#include "formats/base/moment.h"
#include "formats/base/utf8.h"
#include "formats/table/csv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WARNINGS = 20 };

/* all: to the file's end a column that only says that it is missing is kept, too. */
static enum csv_kind column_kind(const struct csv_head *h, size_t c, bool all)
{
    const unsigned seen = h->seen[c];
    if (c == 0 && h->top.lacks_first) {
        return CSV_LABEL;
    }
    if ((seen & CSV_SEEN_NUMBER) != 0 ||
        (seen & (CSV_SEEN_WORD | CSV_SEEN_UNSURE)) == CSV_SEEN_UNSURE ||
        ((all || !h->whole) && (seen & CSV_SEEN_WORD) == 0 && (seen & CSV_SEEN_MARK) != 0)) {
        return CSV_KEEP;
    }
    if ((seen & CSV_SEEN_WORD) == 0) {
        return CSV_EMPTY;
    }
    return c == 0 ? CSV_LABEL : CSV_LEFT;
}

/* The first line's cells as names of all columns; "" where a cell is empty. */
static enum status read_names(const struct table *t, const struct csv_head *h,
                              const struct csv_dialect *d, struct csv_shape *shape)
{
    const size_t line_bytes = (size_t)(h->second - h->first);
    const size_t text_bytes =
        line_bytes * (utf8_is_valid(h->first, line_bytes) ? 1 : 3) + h->n_columns; /* the NULs */
    shape->names = calloc(h->n_columns, sizeof *shape->names);
    shape->name_text = malloc(text_bytes);
    if (!shape->names || !shape->name_text) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu names", h->n_columns);
    }
    shape->names_bytes = h->n_columns * sizeof *shape->names + text_bytes;
    struct csv_walk w = csv_walk_of(d, h->first, h->end);
    char *text = shape->name_text;
    for (size_t c = 0; c < h->n_columns; c++) {
        bool is_utf8 = true;
        size_t n = 0;
        if ((c > 0 || !h->top.lacks_first) && csv_walk_next(&w)) {
            n = csv_copy_text(&w.cell, text, &is_utf8);
        }
        if (!is_utf8) {
            table_note(t, TABLE_NOTE_ENCODING, h->first_line, c);
        }
        text[n] = '\0';
        shape->names[c] = text;
        text += n + 1;
    }
    return STATUS_OK;
}

/* The cell of column c in the line at *p, which is passed; an empty one where it has none. */
static struct csv_cell cell_of(const struct csv_head *h, const struct csv_dialect *d,
                               const unsigned char **p, size_t c)
{
    struct csv_cell found = {0};
    struct csv_walk w = csv_walk_of(d, *p, h->end);
    while (csv_walk_next(&w)) {
        found = w.n - 1 == c ? w.cell : found;
    }
    *p = w.p;
    return found;
}

/* A currency before a number, or a unit or % behind it: "$5", "21.7 %". */
static bool has_unit(const struct csv_dialect *d, const struct csv_cell *cell)
{
    static const char *const currencies[] = {"$", "\u20ac", "\u00a3", "\u00a5", "\xa3", "\x80"};
    struct csv_cell number = *cell, unit = *cell;
    double value;
    for (size_t i = 0; i < sizeof currencies / sizeof *currencies; i++) {
        const size_t n = strlen(currencies[i]);
        if (cell->n > n && memcmp(cell->text, currencies[i], n) == 0) {
            number.text += n;
            number.n -= n;
            return csv_cell_value(d, &number, &value) == CSV_NUMBER;
        }
    }
    while (unit.n > 0 && strchr("+-.,0123456789", *unit.text)) {
        unit.text++;
        unit.n--;
    }
    number.n -= unit.n;
    const bool is_apart = unit.n > 0 && *unit.text == ' ';
    while (unit.n > 0 && *unit.text == ' ') {
        unit.text++;
        unit.n--;
    }
    for (size_t i = 0; i < unit.n; i++) {
        if (unit.text[i] >= '0' && unit.text[i] <= '9') { /* a date, or a time */
            return false;
        }
    }
    return unit.n > 0 && (is_apart || unit.n > 1 || *unit.text == '%') && csv_is_unit(&unit) &&
           csv_cell_value(d, &number, &value) == CSV_NUMBER;
}

/* Rows whose cells may be looked at once more. */
enum { ROWS_AGAIN = 32 };

static const unsigned char *rows_begin(const struct csv_head *h, const struct csv_shape *shape)
{
    return shape->has_header ? h->second : h->first;
}

/* Whether the column's filled cells have units, as far as they are looked at; *one: the first. */
static bool holds_units(const struct csv_head *h, const struct csv_shape *shape, size_t c,
                        struct excerpt *one)
{
    const struct csv_dialect *const d = &shape->dialect;
    const unsigned char *p = rows_begin(h, shape);
    size_t n = 0;
    for (size_t k = 0; k < ROWS_AGAIN && (p = csv_find_data(d, p, h->end)) < h->end; k++) {
        const struct csv_cell cell = cell_of(h, d, &p, c);
        double value;
        if (csv_cell_value(d, &cell, &value) != CSV_WORD) {
            continue;
        }
        if (!has_unit(d, &cell)) {
            return false;
        }
        *one = n++ == 0 ? excerpt_of(cell.text, cell.n) : *one;
    }
    return n > 0;
}

/* Whether no two of the rows that are looked at have one text in the first column. */
static bool names_rows(const struct csv_head *h, const struct csv_shape *shape)
{
    const struct csv_dialect *const d = &shape->dialect;
    const unsigned char *p = rows_begin(h, shape);
    struct csv_cell cells[ROWS_AGAIN];
    for (size_t n = 0; n < ROWS_AGAIN && (p = csv_find_data(d, p, h->end)) < h->end; n++) {
        cells[n] = cell_of(h, d, &p, 0);
        for (size_t k = 0; k < n; k++) {
            if (cells[k].n == cells[n].n && memcmp(cells[k].text, cells[n].text, cells[n].n) == 0) {
                return false;
            }
        }
    }
    return true;
}

/* Says that column c is left out: its number, its name, and why. */
static enum status say_left(struct table *t, const struct csv_shape *shape, size_t c,
                            const char *what, const char *within, const char *after)
{
    const char *const name = shape->names ? shape->names[c] : "";
    const char *const quote = *name ? "\"" : "";
    return table_warn(t, "column %zu%s%s%s%s holds %s%s: left out%s", c + 1, *name ? " " : "",
                      quote, excerpt_of(name, strlen(name)).text, quote, what, within, after);
}

static enum status warn_left(struct table *t, const struct csv_head *h,
                             const struct csv_shape *shape, size_t c, enum csv_kind kind,
                             bool wordy)
{
    char within[64] = "", units[sizeof(struct excerpt) + 64];
    const char *what = wordy ? "more words than numbers" : "no number", *after = "";
    struct excerpt one = {""};
    if (!h->whole) {
        snprintf(within, sizeof within, " in the first %zu lines", h->n_lines);
    }
    if (!wordy && holds_units(h, shape, c, &one)) {
        snprintf(units, sizeof units, "numbers with a unit (\"%s\")", one.text);
        what = units;
        after = "; write them without it";
    } else if (kind == CSV_LABEL && names_rows(h, shape)) {
        after = " (its text names the lines)";
    }
    return say_left(t, shape, c, what, within, after);
}

/* Decides what becomes of each column (h->seen becomes its kind), with warnings. */
static enum status decide_columns(struct table *t, struct csv_head *h, struct csv_shape *shape)
{
    size_t n_left = 0;
    for (size_t c = 0; c < h->n_columns; c++) {
        const enum csv_kind kind = column_kind(h, c, t->options.for_grid);
        const bool wordy = (h->seen[c] & CSV_SEEN_WORDY) != 0;
        h->seen[c] = (unsigned char)kind;
        if (kind == CSV_KEEP || (kind == CSV_LABEL && !shape->has_header && !wordy) ||
            (c == 0 && h->top.lacks_first) || t->options.columns) {
            continue;
        }
        n_left++;
        if (n_left <= MAX_WARNINGS) {
            STATUS_TRY(warn_left(t, h, shape, c, kind, wordy));
        }
    }
    if (n_left > MAX_WARNINGS) {
        return table_warn(t, "%zu more columns hold no number: left out", n_left - MAX_WARNINGS);
    }
    return STATUS_OK;
}

/* Whether the first cell of the column that is filled, of the rows that are looked at, is a date.
 */
static bool holds_dates(const struct csv_head *h, const struct csv_shape *shape, size_t c)
{
    const struct csv_dialect *const d = &shape->dialect;
    const unsigned char *p = rows_begin(h, shape);
    for (size_t k = 0; k < ROWS_AGAIN && (p = csv_find_data(d, p, h->end)) < h->end; k++) {
        const struct csv_cell cell = cell_of(h, d, &p, c), inner = csv_cell_inner(&cell);
        double value;
        if (csv_cell_value(d, &cell, &value) == CSV_NUMBER) {
            return moment_parse((const char *)inner.text, inner.n, &value);
        }
    }
    return false;
}

/* From here on the first column that is kept is of dates alone, or of numbers alone; others of
 * dates are left out. */
static enum status decide_dates(struct table *t, struct csv_head *h, struct csv_shape *shape)
{
    bool is_first = true;
    for (size_t c = 0; shape->dialect.dates && c < h->n_columns; c++) {
        if (h->seen[c] != CSV_KEEP) {
            continue;
        }
        if (holds_dates(h, shape, c)) {
            shape->has_dates = shape->has_dates || is_first;
            shape->dates = is_first ? (uint32_t)c : shape->dates;
            h->seen[c] = is_first ? CSV_KEEP : CSV_LEFT;
            STATUS_TRY(is_first ? STATUS_OK : say_left(t, shape, c, "dates", "", ""));
        }
        is_first = false;
    }
    shape->dialect.dates = false;
    return STATUS_OK;
}

/* Whether a run begins at column c. */
static bool begins_run(const struct csv_head *h, const struct csv_shape *shape, size_t c)
{
    return c == 0 || h->seen[c] != h->seen[c - 1] ||
           (shape->has_dates && (c == shape->dates || c == shape->dates + (size_t)1));
}

/* Packs the kinds into runs, and the names to those of the kept columns. */
static enum status make_runs(const struct csv_head *h, struct csv_shape *shape)
{
    size_t n_runs = 0;
    for (size_t c = 0; c < h->n_columns; c++) {
        n_runs += begins_run(h, shape, c);
    }
    shape->runs = calloc(n_runs, sizeof *shape->runs);
    if (!shape->runs) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu columns", h->n_columns);
    }
    for (size_t c = 0; c < h->n_columns; c++) {
        const enum csv_kind kind = (enum csv_kind)h->seen[c];
        if (begins_run(h, shape, c)) {
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

/* One warning of lines that are passed over: which ones, what they are, and the text of the first.
 */
static enum status warn_passed(struct table *t, const struct csv_head *h,
                               const struct csv_lines *lines, const char *what)
{
    char which[64];
    if (lines->first == 0) {
        return STATUS_OK;
    }
    const unsigned char *const newline = memchr(lines->text, '\n', (size_t)(h->end - lines->text));
    size_t n = (size_t)((newline ? newline : h->end) - lines->text);
    while (n > 0 && (lines->text[n - 1] == '\r' || lines->text[n - 1] == ' ')) {
        n--;
    }
    snprintf(which, sizeof which,
             lines->first == lines->last ? "line %" PRIu64 : "lines %" PRIu64 " to %" PRIu64,
             lines->first, lines->last);
    return table_warn(t, "%s %s: not read (\"%s\")", which, what, excerpt_of(lines->text, n).text);
}

static enum status warn_of_grouping(struct table *t, const struct csv_dialect *d)
{
    return d->grouping == 0 || t->choice.signs.thousands != 0
               ? STATUS_OK
               : table_warn(t,
                            "%ss are read as thousands separators, and a %s as the decimal sign; "
                            "thousands=%s says that this is right",
                            table_sign_name(d->grouping), table_sign_name(d->point),
                            table_sign_name(d->grouping));
}

/* How many words the line or comment at p has; 0: it has numbers, too. */
static size_t count_words(const struct csv_head *h, const struct csv_dialect *d,
                          const unsigned char *p)
{
    while (p < h->end && (*p == (unsigned char)d->comment || *p == ' ')) {
        p++;
    }
    struct csv_walk w = csv_walk_of(d, p, h->end);
    while (csv_walk_next(&w)) {
        double number;
        if (csv_cell_value(d, &w.cell, &number) != CSV_WORD) {
            return 0;
        }
    }
    return w.n;
}

/* The last comment above rows without names may be the names, as numpy.savetxt writes them, or the
 * first row. */
static enum status warn_of_comment(struct table *t, const struct csv_head *h,
                                   const struct csv_dialect *d)
{
    const unsigned char *comment = NULL;
    uint64_t line = h->top.line, at = line;
    for (const unsigned char *p = h->top.begin; p < h->first; at++) {
        const unsigned char *const newline = memchr(p, '\n', (size_t)(h->first - p));
        comment = *p == (unsigned char)d->comment ? p : comment;
        line = comment == p ? at : line;
        p = newline ? newline + 1 : h->first;
    }
    if (comment && count_words(h, d, comment) == h->n_columns) {
        return table_warn(t,
                          "line %" PRIu64 " is a comment with a word for each column: if these "
                          "are their names, take the %c away",
                          line, d->comment);
    }
    const unsigned char *next;
    return comment && csv_line_kind(d, comment, h->end, false, &next) == CSV_LINE_DATA
               ? table_warn(t,
                            "line %" PRIu64 " is a comment with as many cells as a row and numbers "
                            "among them: if it is one, -s comment=none",
                            line)
               : STATUS_OK;
}

static enum status warn_of_lines(struct table *t, const struct csv_head *h,
                                 const struct csv_dialect *d)
{
    const struct csv_lines *const above = &h->top.above, *const units = &h->top.units;
    STATUS_TRY(warn_passed(t, h, above,
                           above->first == above->last ? "stands above the table"
                                                       : "stand above the table"));
    STATUS_TRY(warn_passed(t, h, units,
                           units->first == units->last ? "holds units or a ruler, no numbers"
                                                       : "hold units or rulers, no numbers"));
    STATUS_TRY(d->sums_are_data && !t->choice.sums_are_data
                   ? table_warn(t, "the first two rows are named by sums, means or the like: such "
                                   "rows are data; delete those that sum up others")
                   : STATUS_OK);
    const size_t n = d->delimiter == ',' && above->first > 0 && above->first == above->last
                         ? count_words(h, d, above->text)
                         : 0;
    if (n > 1 && 2 * n == h->n_columns) {
        STATUS_TRY(table_warn(t,
                              "line %" PRIu64 " has half as many cells as a row: if the numbers "
                              "have decimal commas, delimit cells by semicolons",
                              above->first));
    }
    return h->top.lacks_first
               ? table_warn(t,
                            "line %" PRIu64 " has a name for each column but the first, which is "
                            "taken to name the rows",
                            h->first_line)
               : STATUS_OK;
}

static enum status fail_without_numbers(const struct csv_head *h, const struct csv_dialect *d)
{
    const unsigned char *next;
    if (h->n_lines == 1 && h->second < h->end &&
        csv_line_kind(d, h->second, h->end, false, &next) == CSV_LINE_SUM) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: the only row below the names, line %" PRIu64
                           ", names a sum or mean of others; if it is data: -s sums=data",
                           h->file, h->second_line);
    }
    if (h->n_lines == 1 && h->whole && h->n_columns > 1) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: holds a line of names, line %" PRIu64
                           ", and no row of numbers below it; is the file whole?",
                           h->file, h->first_line);
    }
    char where[64];
    snprintf(where, sizeof where,
             h->n_lines == 1 ? "line %" PRIu64 : "the lines from line %" PRIu64 " on",
             h->first_line);
    return d->is_sheet
               ? status_fail(STATUS_BAD_INPUT,
                             "%s: no column of the sheet holds a number in %s; another sheet: -s "
                             "sheet=...",
                             h->file, where)
               : status_fail(STATUS_BAD_INPUT,
                             "%s: no column holds a number in %s (cells are delimited by %s; -s "
                             "sep=... says otherwise)",
                             h->file, where, csv_delimiter_name(d));
}

static enum status warn_of_commas(struct table *t, const struct csv_head *h)
{
    switch (h->doubt) {
    case CSV_BLANKS_WOULD_DO:
        return table_warn(t,
                          "line %" PRIu64 ": read as comma-delimited (each line has %zu fields); "
                          "if blanks delimit and commas are decimal, write semicolons for the "
                          "blanks",
                          h->first_line, h->n_columns);
    case CSV_COMMA_WOULD_DO:
        return table_warn(t, "read as one column with decimal commas; set -s sep=comma if they "
                             "delimit, -s thousands=comma if they part thousands");
    case CSV_SURE:
        break;
    }
    return STATUS_OK;
}

/* Lines of two words: their first two cells. */
static enum status decide_words(const struct table *t, struct csv_head *h, struct csv_shape *shape)
{
    if (h->n_columns < 2) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: line %" PRIu64 " has one cell, and two names are read: a name and "
                           "what belongs to it (cells are delimited by %s; -s sep=... says "
                           "otherwise)",
                           source_name(t->source), h->first_line,
                           csv_delimiter_name(&shape->dialect));
    }
    memset(h->seen, CSV_LEFT, h->n_columns);
    h->seen[0] = CSV_LABEL;
    h->seen[1] = CSV_KEEP;
    return make_runs(h, shape);
}

enum status csv_decide_shape(struct table *t, struct csv_head *h, struct csv_shape *shape)
{
    if (h->n_lines == 0) {
        const char sign = shape->dialect.comment;
        const bool has_comment = sign != 0 && memchr(h->text, sign, (size_t)(h->end - h->text));
        return has_comment
                   ? status_fail(STATUS_BAD_INPUT,
                                 "%s: holds no cell, only blank lines and comments, which begin "
                                 "with %c; if these are rows: -s comment=none",
                                 h->file, sign)
                   : status_fail(STATUS_BAD_INPUT, "%s: holds no cell, only blank lines", h->file);
    }
    shape->n_columns = h->n_columns;
    shape->has_title = h->top.above.first > 0 || h->top.units.first > 0;
    shape->shape_line = h->top.n_columns > 0 ? h->second_line : h->first_line;
    if (t->options.words) {
        return decide_words(t, h, shape);
    }
    STATUS_TRY(warn_of_commas(t, h));
    STATUS_TRY(csv_decide_header(t, h, &shape->dialect, &shape->has_header));
    STATUS_TRY(shape->has_header ? read_names(t, h, &shape->dialect, shape) : STATUS_OK);
    STATUS_TRY(warn_of_grouping(t, &shape->dialect));
    STATUS_TRY(warn_of_lines(t, h, &shape->dialect));
    STATUS_TRY(shape->has_header ? STATUS_OK : warn_of_comment(t, h, &shape->dialect));
    STATUS_TRY(decide_columns(t, h, shape));
    STATUS_TRY(t->options.columns ? csv_choose_columns(t, h, shape) : STATUS_OK);
    STATUS_TRY(decide_dates(t, h, shape));
    shape->dialect.first_is_number = h->seen[0] == CSV_KEEP;
    const enum status status = make_runs(h, shape);
    return !status && shape->n_kept == 0 ? fail_without_numbers(h, &shape->dialect) : status;
}

size_t table_column(const struct table_info *info, size_t c)
{
    const struct csv_run *run = info->runs;
    for (size_t kept = 0; run != NULL; run++) {
        const size_t n = run->kind == CSV_KEEP ? run->last - run->first : 0;
        if (c < kept + n) {
            return run->first + (c - kept);
        }
        kept += n;
    }
    return c;
}

size_t table_place(const struct table_info *info, const struct table_chunk *c)
{
    size_t kept = 0, last = 0;
    for (const struct csv_run *run = info->runs; last < c->first_column; run++) {
        last = run->last < c->first_column ? run->last : c->first_column;
        kept += run->kind == CSV_KEEP ? last - run->first : 0;
    }
    return kept % info->cells_per_line;
}

void csv_shape_free(struct csv_shape *shape)
{
    free(shape->runs);
    free(shape->names);
    free(shape->name_text);
    free(shape->header);
}
