/*
 * csv_shape - what the first lines of a delimited text mean: which columns hold numbers, and
 * what their names are.
 *
 * Words over a column of numbers are names. Numbers are data, however much they look like years,
 * but for three kinds of evidence, each of which is reported with what makes them data instead:
 *
 * - they are 0, 1, 2 ... written as just that, at least LEAST_COUNTED of them: what programs write
 *   for columns without names;
 * - all of them are quoted, and no number below is;
 * - the first cell is empty, over a column of words or one that has a number in each line: the
 *   corner of a table whose lines have names.
 *
 * An empty first cell, and words over columns of words, may stand before them.
 *
 * A column that shows nothing but empty cells in all of the head is left out with a warning. When a
 * number turns up in it further down, decoding fails with an error that names the column and says
 * how to keep it (columns = ...): leaving numbers out silently would be wrong, and so would a shape
 * that changes under way. A column of words stays left out, whatever follows. A column that says
 * that it is missing (NA, the missing value) is kept when the file goes on beyond the head. So is
 * one with words among its numbers, which are errors then, unless there are more words than numbers
 * in the head: that is a column of words with a number among them.
 */
#include "formats/base/utf8.h"
#include "formats/table/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- names ------------------------------------------------------------------------------------ */

enum {
    LEAST_EVEN = 4,
    LEAST_YEARS = 3,
    FIRST_YEAR = 1500, /* that a header is likely to name */
    LAST_YEAR = 2500,
    LEAST_COUNTED = 3, /* 0 and 1 may well be the first point of a curve */
    LOOKED_AT = 64     /* lines below the first */
};

/* What a first line of numbers shows. */
struct first_line {
    bool is_numbers; /* all of its cells, but for the corner and the labels before them */
    bool has_corner; /* the first cell is empty */
    bool has_labels; /* words over columns of words */
    bool counts;     /* they are 0, 1, 2 ... */
    bool is_quoted;  /* all of them */
    bool is_even;    /* whole numbers at equal distances, going up */
    size_t n;
    double first, last;
};

/* What the lines below it show. */
struct lines_below {
    size_t n;
    bool has_quoted; /* a number in quotes */
    bool is_indexed; /* the first cell of each is a number */
};

static bool is_quoted(const struct csv_cell *cell)
{
    return cell->rest != NULL;
}

static bool is_written_as(const struct csv_cell *cell, size_t number)
{
    char text[32];
    const int n = snprintf(text, sizeof text, "%zu", number);
    return (size_t)n == cell->n && memcmp(text, cell->text, cell->n) == 0;
}

static bool has_words_below(const struct csv_head *h, size_t c)
{
    return (h->seen[c] & (CSV_SEEN_NUMBER | CSV_SEEN_WORD)) == CSV_SEEN_WORD;
}

static struct first_line look_at_first(const struct csv_head *h, const struct csv_dialect *d)
{
    struct first_line f = {.counts = true, .is_quoted = true, .is_even = true};
    const unsigned char *p = h->first;
    double step = 0;
    for (size_t c = 0; c < h->n_columns; c++) {
        struct csv_cell cell;
        double number = 0;
        p = csv_cell_scan(d, p, h->end, &cell);
        (void)csv_pass(d, &p, h->end);
        const enum csv_value value = csv_cell_value(d, &cell, &number);
        if (c == 0 && value == CSV_NOTHING) {
            f.has_corner = true;
            continue;
        }
        if (f.n == 0 && value == CSV_WORD && has_words_below(h, c)) {
            f.has_labels = true;
            continue;
        }
        if (value != CSV_NUMBER) {
            return (struct first_line){.is_numbers = false};
        }
        f.counts = f.counts && is_written_as(&cell, f.n);
        f.is_quoted = f.is_quoted && is_quoted(&cell);
        f.is_even = f.is_even && number == floor(number) && (f.n == 0 || number > f.last) &&
                    (f.n < 2 || number - f.last == step);
        f.first = f.n == 0 ? number : f.first;
        step = number - f.last;
        f.last = number;
        f.n++;
    }
    f.is_numbers = f.n > 0;
    return f;
}

static struct lines_below look_below(const struct csv_head *h, const struct csv_dialect *d)
{
    struct lines_below b = {.is_indexed = true};
    const unsigned char *p = h->second;
    while ((p = csv_find_data(d, p, h->end)) < h->end && b.n < LOOKED_AT) {
        enum csv_after after;
        size_t c = 0;
        do {
            struct csv_cell cell;
            double number;
            p = csv_cell_scan(d, p, h->end, &cell);
            const bool is_number = csv_cell_value(d, &cell, &number) == CSV_NUMBER;
            b.has_quoted |= is_number && is_quoted(&cell);
            b.is_indexed = b.is_indexed && (c > 0 || is_number);
            after = csv_pass(d, &p, h->end);
            c++;
        } while (after == CSV_MORE);
        b.n++;
    }
    return b;
}

/* Whether a column holds numbers below a cell of the first line with that bit; `net`: numbers less
 * words there, or NULL. */
static bool has_numbers_below(const struct csv_head *h, const int16_t *net, unsigned first)
{
    for (size_t c = 0; c < h->n_columns; c++) {
        if ((h->seen[c] & first) != 0 && (h->seen[c] & CSV_SEEN_NUMBER) != 0 &&
            (!net || net[c] >= 0)) {
            return true;
        }
    }
    return false;
}

/* Numbers that look like names, and are data because there is no more evidence: whole ones at equal
 * distances beside words over words, as years are; just 0 and 1; or any behind an empty cell over
 * numbers. */
static enum status warn_of_numbers(struct table *t, const struct csv_head *h,
                                   const struct first_line *f)
{
    const bool are_years = f->first >= FIRST_YEAR && f->last <= LAST_YEAR;
    const bool even =
        f->has_labels && f->is_even && f->n >= (size_t)(are_years ? LEAST_YEARS : LEAST_EVEN);
    const bool pair = f->counts && f->n == 2;
    const bool corner = f->has_corner && (h->seen[0] & CSV_SEEN_NUMBER) != 0;
    return even || pair || corner
               ? table_warn(t,
                            "line %" PRIu64 " may be a header of numbers (%.15g to %.15g), but is "
                            "taken as data; if it is one, write a word before one of them",
                            h->first_line, f->first, f->last)
               : STATUS_OK;
}

/* Whether numbers in the first line are names; a warning says so, and names a doubt. */
static enum status judge_numbers(struct table *t, const struct csv_head *h,
                                 const struct csv_dialect *d, bool *has_header)
{
    const struct first_line f = look_at_first(h, d);
    if (!f.is_numbers || !has_numbers_below(h, NULL, CSV_FIRST_NUMBER)) {
        return STATUS_OK;
    }
    const struct lines_below b = look_below(h, d);
    const char *why = NULL, *remedy = NULL;
    if (f.counts && f.n >= LEAST_COUNTED) {
        why = "they count from 0";
        remedy = "write 0.0 for the 0";
    } else if (f.is_quoted && !b.has_quoted) {
        why = "quoted, over numbers that are not";
        remedy = "leave the quotes out";
    } else if (f.has_corner && (has_words_below(h, 0) || b.is_indexed)) {
        why = "the cell before them is empty, over a column of names or an index";
        remedy = "write NA into that cell";
    }
    *has_header = why != NULL;
    return why ? table_warn(t,
                            "line %" PRIu64 " is taken as a header of numbers (%.15g to %.15g: "
                            "%s); if it is data, %s",
                            h->first_line, f.first, f.last, why, remedy)
               : warn_of_numbers(t, h, &f);
}

/* For each column numbers less words in the lines below the first that have been walked: *net,
 * which is NULL where no column has both. */
static enum status count_words(const struct csv_head *h, const struct csv_dialect *d, int16_t **net)
{
    bool is_mixed = false;
    for (size_t c = 0; c < h->n_columns && !is_mixed; c++) {
        is_mixed = (h->seen[c] & (CSV_SEEN_NUMBER | CSV_FIRST_NUMBER)) != 0 &&
                   (h->seen[c] & (CSV_SEEN_WORD | CSV_FIRST_WORD)) != 0;
    }
    *net = is_mixed ? calloc(h->n_columns, sizeof **net) : NULL;
    if (is_mixed && !*net) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu columns", h->n_columns);
    }
    const unsigned char *p = h->second;
    for (size_t i = 1; is_mixed && i < h->n_lines && i < INT16_MAX; i++) {
        enum csv_after after;
        p = csv_find_data(d, p, h->end);
        for (size_t c = 0; p < h->end; c++) {
            struct csv_cell cell;
            double number;
            p = csv_cell_scan(d, p, h->end, &cell);
            const enum csv_value value = csv_cell_value(d, &cell, &number);
            if (c < h->n_columns) {
                const bool is_number =
                    value == CSV_NUMBER || value == CSV_INFINITE || value == CSV_UNSURE;
                (*net)[c] = (int16_t)((*net)[c] + is_number - (value == CSV_WORD));
            }
            after = csv_pass(d, &p, h->end);
            if (after != CSV_MORE) {
                break;
            }
        }
    }
    return STATUS_OK;
}

/* A column with more words than numbers among all its cells. */
enum { SEEN_WORDY = CSV_FIRST_WORD }; /* of the bits of the first line, which mean no more then */

/* Decides whether the first line holds names. One that does not counts like all others from then
 * on: what it has shown is added to what its columns have. What is not plain goes to the table's
 * warnings. */
static enum status decide_header(struct table *t, struct csv_head *h, const struct csv_dialect *d,
                                 bool *has_header)
{
    enum { SEEN = CSV_SEEN_NUMBER | CSV_SEEN_WORD | CSV_SEEN_MARK | CSV_SEEN_UNSURE };
    int16_t *net;
    STATUS_TRY(count_words(h, d, &net));
    enum status status = STATUS_OK;
    *has_header =
        h->top.has_names >= 0 ? h->top.has_names : has_numbers_below(h, net, CSV_FIRST_WORD);
    if (!*has_header && h->top.has_names < 0) {
        status = judge_numbers(t, h, d, has_header);
    }
    for (size_t c = 0; c < h->n_columns; c++) {
        const unsigned first = *has_header ? 0 : h->seen[c];
        int balance = net ? net[c] : 0;
        balance += ((first & CSV_FIRST_NUMBER) != 0) - ((first & CSV_FIRST_WORD) != 0);
        h->seen[c] = (unsigned char)((h->seen[c] | first << CSV_FIRST_BITS) & SEEN);
        if (net && balance < 0 && (h->seen[c] & CSV_SEEN_NUMBER) != 0) {
            h->seen[c] = CSV_SEEN_WORD | SEEN_WORDY;
        }
    }
    free(net);
    return status;
}

/* --- columns ---------------------------------------------------------------------------------- */

enum { MAX_WARNINGS = 20 };

static enum csv_kind column_kind(const struct csv_head *h, size_t c)
{
    const unsigned seen = h->seen[c];
    if (c == 0 && h->top.lacks_first) {
        return CSV_LABEL;
    }
    if ((seen & CSV_SEEN_NUMBER) != 0 ||
        (seen & (CSV_SEEN_WORD | CSV_SEEN_UNSURE)) == CSV_SEEN_UNSURE ||
        (!h->whole && (seen & CSV_SEEN_WORD) == 0 && (seen & CSV_SEEN_MARK) != 0)) {
        return CSV_KEEP;
    }
    if ((seen & CSV_SEEN_WORD) == 0) {
        return CSV_EMPTY;
    }
    return c == 0 ? CSV_LABEL : CSV_LEFT;
}

/* The first line's cells as names of all columns; an empty one is named by its number. */
static enum status read_names(const struct table *t, const struct csv_head *h,
                              const struct csv_dialect *d, struct csv_shape *shape)
{
    enum { NUMBER_BYTES = 10 };
    const size_t line_bytes = (size_t)(h->second - h->first);
    const size_t text_bytes = line_bytes * (utf8_is_valid(h->first, line_bytes) ? 1 : 3) +
                              h->n_columns * (size_t)NUMBER_BYTES;
    shape->names = calloc(h->n_columns, sizeof *shape->names);
    shape->name_text = malloc(text_bytes);
    if (!shape->names || !shape->name_text) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu names", h->n_columns);
    }
    shape->names_bytes = h->n_columns * sizeof *shape->names + text_bytes;
    const unsigned char *p = h->first;
    char *text = shape->name_text;
    enum csv_after after = CSV_MORE;
    for (size_t c = 0; c < h->n_columns; c++) {
        struct csv_cell cell = {0};
        bool is_utf8 = true;
        size_t n = 0;
        if (after == CSV_MORE && (c > 0 || !h->top.lacks_first)) {
            p = csv_cell_scan(d, p, h->end, &cell);
            after = csv_pass(d, &p, h->end);
            n = csv_copy_text(&cell, text, &is_utf8);
        }
        if (!is_utf8) {
            table_note(t, TABLE_NOTE_ENCODING, h->first_line, c);
        }
        if (n == 0) {
            n = (size_t)snprintf(text, NUMBER_BYTES, "%zu", c + 1);
        }
        shape->names[c] = text;
        text += n + 1;
    }
    return STATUS_OK;
}

/* Says that column c is left out: its number, its name, and why. */
static enum status warn_left(struct table *t, const struct csv_head *h,
                             const struct csv_shape *shape, size_t c, enum csv_kind kind,
                             bool wordy)
{
    char within[64] = "";
    if (!h->whole) {
        snprintf(within, sizeof within, " in the first %zu lines", h->n_lines);
    }
    const char *const name = shape->names ? shape->names[c] : "";
    return table_warn(t, "column %zu%s%s%s holds %s%s: left out%s", c + 1,
                      shape->names ? " \"" : "", excerpt_of(name, strlen(name)).text,
                      shape->names ? "\"" : "", wordy ? "more words than numbers" : "no number",
                      within, kind == CSV_LABEL ? " (its text names the lines)" : "");
}

/* Decides what becomes of each column (h->seen becomes its kind), with warnings. */
static enum status decide_columns(struct table *t, struct csv_head *h, struct csv_shape *shape)
{
    size_t n_left = 0;
    for (size_t c = 0; c < h->n_columns; c++) {
        const enum csv_kind kind = column_kind(h, c);
        const bool wordy = (h->seen[c] & SEEN_WORDY) != 0;
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

/* Packs the kinds into runs, and the names to those of the kept columns. */
static enum status make_runs(const struct csv_head *h, struct csv_shape *shape)
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

static enum status warn_of_lines(struct table *t, const struct csv_head *h)
{
    const struct csv_lines *const above = &h->top.above, *const units = &h->top.units;
    STATUS_TRY(warn_passed(t, h, above,
                           above->first == above->last ? "stands above the table"
                                                       : "stand above the table"));
    STATUS_TRY(warn_passed(t, h, units,
                           units->first == units->last ? "holds units or a ruler, no numbers"
                                                       : "hold units or rulers, no numbers"));
    return h->top.lacks_first
               ? table_warn(t,
                            "line %" PRIu64 " has a name for each column but the first, which is "
                            "taken to name the rows",
                            h->first_line)
               : STATUS_OK;
}

enum status csv_decide_shape(struct table *t, struct csv_head *h, struct csv_shape *shape)
{
    if (h->n_lines == 0) {
        return status_fail(STATUS_BAD_INPUT, "%s: holds no cell, only blank lines and comments",
                           h->file);
    }
    shape->n_columns = h->n_columns;
    shape->shape_line = h->top.n_columns > 0 ? h->second_line : h->first_line;
    if (h->blanks_would_do) {
        STATUS_TRY(table_warn(t,
                              "line %" PRIu64
                              ": read as comma-delimited (each line has %zu fields); "
                              "if blanks delimit and commas are decimal, write semicolons for the "
                              "blanks",
                              h->first_line, h->n_columns));
    }
    STATUS_TRY(decide_header(t, h, &shape->dialect, &shape->has_header));
    STATUS_TRY(shape->has_header ? read_names(t, h, &shape->dialect, shape) : STATUS_OK);
    STATUS_TRY(warn_of_lines(t, h));
    STATUS_TRY(decide_columns(t, h, shape));
    STATUS_TRY(t->options.columns ? csv_choose_columns(t, h, shape) : STATUS_OK);
    const enum status status = make_runs(h, shape);
    if (!status && shape->n_kept == 0) {
        char where[64];
        snprintf(where, sizeof where,
                 h->n_lines == 1 ? "line %" PRIu64 : "the lines from line %" PRIu64 " on",
                 h->first_line);
        return status_fail(STATUS_BAD_INPUT,
                           "%s: no column holds a number in %s (cells are delimited by %s; sep = "
                           "... says otherwise)",
                           h->file, where, csv_delimiter_name(&shape->dialect));
    }
    return status;
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

void csv_shape_free(struct csv_shape *shape)
{
    free(shape->runs);
    free(shape->names);
    free(shape->name_text);
}
