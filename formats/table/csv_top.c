/*
 * csv_top - where the table begins in a text: what programs write before it in formats of their own
 * (Excel's line that says the delimiter, LabVIEW's two heads (.lvm), the first line of a Campbell
 * logger, TOA5), which of the first lines are a title, which one holds the names, and which one
 * units.
 *
 * The last of the lines looked at say how wide the table is and which of its columns hold numbers.
 * The first line of that width with a number in one of those columns, and a word in none, is the
 * first row for sure. Of the lines above it the one with most words over the numbers holds the
 * names, the first of several such; what stands above that is a title. What stands between the
 * names and the first row is passed over when all that it says over the numbers is units, or when
 * it is a ruler; else the rows begin there, so that a bad cell in the first of them is an error
 * like any other, never a title or a unit.
 *
 * Names that are one too few are those of all columns but the first where the first column names
 * the rows (as R writes it: words, quoted, or numbers that count or rise), or of all but the last
 * where that is empty (lines that end with a delimiter). One name too many is that of a column
 * without cells, such as LabVIEW's "Comment".
 */
#include "formats/table/csv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- what programs write before a table ------------------------------------------------------- */

static const unsigned char *next_line(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *const newline = memchr(p, '\n', (size_t)(end - p));
    return newline ? newline + 1 : end;
}

static bool begins(const unsigned char *p, const unsigned char *end, const char *word)
{
    const size_t n = strlen(word);
    return (size_t)(end - p) >= n && memcmp(p, word, n) == 0;
}

/* Excel's first line: sep=; */
static const unsigned char *pass_sep(const unsigned char *text, const unsigned char *end, char *sep)
{
    const unsigned char *const next = next_line(text, end);
    const unsigned char *p = text + (text < end && *text == '"');
    if (!begins(p, next, "sep=") && !begins(p, next, "SEP=")) {
        return text;
    }
    p += 4;
    if (p == next || *p == '\n' || *p == '\r') {
        return text;
    }
    *sep = *sep != 0 ? *sep : (char)*p;
    return next;
}

/* The last line that ends a head of LabVIEW's, which has one of the file and one of its table. */
static const unsigned char *pass_labview(const unsigned char *text, const unsigned char *end)
{
    enum { MOST_BYTES = 64 << 10 };
    const unsigned char *const most = end - text > MOST_BYTES ? text + MOST_BYTES : end;
    const unsigned char *p = text, *after = text;
    if (!begins(text, end, "LabVIEW Measurement")) {
        return text;
    }
    while (p < most) {
        const unsigned char *const next = next_line(p, end);
        after = begins(p, next, "***End_of_Header***") ? next : after;
        p = next;
    }
    return after;
}

/* The first of the four lines of a Campbell logger's head says which one it was. */
static const unsigned char *pass_toa5(const unsigned char *text, const unsigned char *end)
{
    return begins(text, end, "\"TOA5\",") || begins(text, end, "TOA5,") ? next_line(text, end)
                                                                        : text;
}

const unsigned char *csv_pass_preamble(const unsigned char *text, const unsigned char *end,
                                       uint64_t *line, char *sep)
{
    const unsigned char *p = pass_sep(text, end, sep);
    p = pass_labview(p, end);
    p = pass_toa5(p, end);
    *line += table_count_byte(text, (size_t)(p - text), '\n');
    return p;
}

/* --- the lines -------------------------------------------------------------------------------- */

enum {
    LOOKED_AT = 96, /* lines, as far as LEAST_BYTES, but LEAST_LINES where they are longer */
    LEAST_BYTES = 16 << 10,
    LEAST_LINES = 8,
    LEAST_INDEX = 4, /* rows whose first numbers rise: an index, however they do */
    JUDGES = 16      /* of the last ones: they say which columns hold numbers */
};

struct line {
    const unsigned char *begin, *next;
    uint64_t number;
    size_t n_cells;
};

struct look {
    const struct csv_dialect *d;
    struct line lines[LOOKED_AT];
    size_t n_lines;
    size_t width;         /* cells of a row */
    signed char *numbers; /* [width]: > 0: the column holds numbers */
};

/* --- lines ------------------------------------------------------------------------------------ */

/* The first lines with data; the last one only when it is complete. */
static void split_lines(struct look *k, const unsigned char *text, const unsigned char *end,
                        bool whole, uint64_t number)
{
    const unsigned char *p = text;
    while (k->n_lines < LOOKED_AT) {
        const unsigned char *const begin = csv_find_data(k->d, p, end);
        struct line *const line = &k->lines[k->n_lines];
        if (begin == end || (begin - text > LEAST_BYTES && k->n_lines >= LEAST_LINES)) {
            return;
        }
        number += table_count_byte(p, (size_t)(begin - p), '\n');
        struct csv_walk w = csv_walk_of(k->d, begin, end);
        while (csv_walk_next(&w)) {
        }
        if (w.after != CSV_LINE_END && !whole) {
            return;
        }
        p = w.p;
        *line = (struct line){.begin = begin, .next = p, .number = number, .n_cells = w.n};
        number += table_count_byte(begin, (size_t)(p - begin), '\n');
        k->n_lines++;
    }
}

/* What most lines from `first` on have, the larger of two: a note below a table is shorter than its
 * rows. *share: of those lines. */
static size_t width_from(const struct look *k, size_t first, double *share)
{
    size_t best = 0, width = 0;
    for (size_t i = first; i < k->n_lines; i++) {
        size_t same = 0;
        for (size_t j = first; j < k->n_lines; j++) {
            same += k->lines[j].n_cells == k->lines[i].n_cells;
        }
        if (same > best || (same == best && k->lines[i].n_cells > width)) {
            best = same;
            width = k->lines[i].n_cells;
        }
    }
    *share = (double)best / (double)(k->n_lines - first);
    return width;
}

/* What agrees best of all lines, or the last half, quarter or eighth of them. */
static size_t find_width(const struct look *k)
{
    enum { FEWEST = 2, LEAST_SHARE = 8 };
    double best = 0;
    size_t width = 0;
    for (size_t part = 1; part <= LEAST_SHARE; part *= 2) {
        const size_t n = k->n_lines / part;
        double share;
        if (part > 1 && n < FEWEST) {
            break;
        }
        const size_t found = width_from(k, k->n_lines - n, &share);
        width = share > best ? found : width;
        best = share > best ? share : best;
    }
    return width;
}

static bool is_number(enum csv_value value)
{
    return value == CSV_NUMBER || value == CSV_INFINITE || value == CSV_UNSURE;
}

static void tally_line(const struct look *k, const struct line *line)
{
    struct csv_walk w = csv_walk_of(k->d, line->begin, line->next);
    while (w.n < line->n_cells && csv_walk_next(&w)) {
        double number;
        const enum csv_value value = csv_cell_value(k->d, &w.cell, &number);
        signed char *const at = &k->numbers[w.n - 1];
        *at = (signed char)(*at + is_number(value) - (value == CSV_WORD));
    }
}

/* Which columns hold numbers, by the later half of the lines of the table's width. */
static void find_numbers(struct look *k)
{
    size_t n = 0, judges = 0;
    for (size_t i = 0; i < k->n_lines; i++) {
        n += k->lines[i].n_cells == k->width;
    }
    const size_t half = n / 2 < 1 ? 1 : n / 2, most = half < JUDGES ? half : JUDGES;
    for (size_t i = k->n_lines; i-- > 0 && judges < most;) {
        if (k->lines[i].n_cells == k->width) {
            tally_line(k, &k->lines[i]);
            judges++;
        }
    }
}

/* --- what a line shows ------------------------------------------------------------------------ */

struct sight {
    size_t n_filled, n_words; /* of all cells */
    /* of those in columns of numbers */
    size_t n_words_over, n_numbers_over, n_units_over, n_marks_over;
    bool has_digit; /* a cell beside them begins with one, as dates do */
};

/* As d understands it, whose first cell is that of column `shift`. */
static struct sight see_as(const struct look *k, const struct csv_dialect *d, size_t i,
                           size_t shift)
{
    struct sight s = {0};
    struct csv_walk w = csv_walk_of(d, k->lines[i].begin, k->lines[i].next);
    while (w.n < k->lines[i].n_cells && csv_walk_next(&w)) {
        double number;
        const struct csv_cell *const cell = &w.cell;
        const enum csv_value value = csv_cell_value(d, cell, &number);
        const size_t column = w.n - 1 + shift;
        const bool over = column < k->width && k->numbers[column] > 0;
        s.n_filled += value != CSV_NOTHING;
        s.n_words += value == CSV_WORD;
        s.n_numbers_over += over && is_number(value);
        s.n_words_over += over && value == CSV_WORD;
        s.n_marks_over += over && value == CSV_MISSING;
        s.n_units_over += over && value == CSV_WORD && csv_is_unit(cell);
        s.has_digit |= !over && cell->n > 0 && cell->text[0] >= '0' && cell->text[0] <= '9';
    }
    return s;
}

static struct sight see(const struct look *k, size_t i)
{
    return see_as(k, k->d, i, 0);
}

/* The same where words may be names. */
static struct sight see_names(const struct look *k, size_t i, size_t shift)
{
    struct csv_dialect names = *k->d;
    names.missing = NULL;
    return see_as(k, &names, i, shift);
}

static bool is_row(const struct look *k, size_t i)
{
    const struct sight s =
        k->lines[i].n_cells == k->width ? see(k, i) : (struct sight){.n_words_over = 1};
    return s.n_words_over == 0 && s.n_numbers_over > 0;
}

static bool is_ruler(const struct look *k, size_t i)
{
    const unsigned char *p = k->lines[i].begin;
    size_t n = 0;
    while (p < k->lines[i].next && strchr("-=+|_:; ,\t\r\n", *p)) {
        n += strchr("-=_", *p) != NULL;
        p++;
    }
    return p == k->lines[i].next && n > 2;
}

/* --- names that are one too few or too many --------------------------------------------------- */

/* What the first cells of the rows are, and the last ones. */
struct edges {
    size_t n_rows, n_words, n_quoted, n_counting, n_rising, n_last_filled;
    double first_number, last_number;
    bool has_point;  /* in any of their cells */
    size_t n_others; /* lines of another width, which words with blanks in them may make */
};

/* A row: a line as wide as the table. */
static void see_edges(const struct look *k, const struct line *line, struct edges *e)
{
    struct csv_walk w = csv_walk_of(k->d, line->begin, line->next);
    while (w.n < line->n_cells && csv_walk_next(&w)) {
        double number = 0;
        const enum csv_value value = csv_cell_value(k->d, &w.cell, &number);
        if (w.n == 1) {
            const bool is_one = value == CSV_NUMBER;
            e->n_words += value == CSV_WORD;
            e->n_quoted += w.cell.rest != NULL;
            e->n_counting += is_one && (e->n_rows == 0 || number == e->last_number + 1);
            e->n_rising += is_one && (e->n_rows == 0 || number > e->last_number);
            e->first_number = e->n_rows == 0 ? number : e->first_number;
            e->last_number = number;
        }
        e->has_point |= w.cell.n > 0 && memchr(w.cell.text, '.', w.cell.n);
        e->n_last_filled += w.n == k->width && value != CSV_NOTHING;
    }
    e->n_rows++;
}

/* Whether numbers in the first column are those of rows. A single name over two columns may be a
 * title, but where blanks or tabs delimit, as programs print it; two over integers between commas
 * may be "t,T" over "0,1,5", with a decimal comma. */
static bool is_index(const struct look *k, const struct edges *e)
{
    const bool counts = e->n_counting == e->n_rows;
    const bool is_printed = (k->d->blanks || k->d->delimiter == '\t') && counts &&
                            (e->first_number == 0 || e->first_number == 1);
    const size_t least = is_printed ? 2 : k->d->delimiter == ',' && !e->has_point ? 4 : 3;
    return k->width >= least && e->n_others == 0 &&
           (counts || (e->n_rising == e->n_rows && e->n_rows >= LEAST_INDEX));
}

/* How the names in line i stand to the columns: *lacks_first, or they lack the last, or have one
 * too many. False: they do not fit. */
static bool fits(const struct look *k, size_t i, size_t first_row, bool *lacks_first)
{
    const size_t n = k->lines[i].n_cells;
    struct edges e = {0};
    *lacks_first = false;
    if (n == k->width) {
        return true;
    }
    if (n == k->width + 1) {
        struct csv_walk w = csv_walk_of(k->d, k->lines[i].begin, k->lines[i].next);
        while (w.n < n && csv_walk_next(&w)) {
        }
        return w.cell.n == 0 || (w.cell.n == 7 && memcmp(w.cell.text, "Comment", 7) == 0);
    }
    if (n + 1 != k->width || k->width < 2) {
        return false;
    }
    for (size_t r = first_row; r < k->n_lines; r++) {
        if (k->lines[r].n_cells == k->width) {
            see_edges(k, &k->lines[r], &e);
        } else {
            e.n_others++;
        }
    }
    if (e.n_last_filled == 0) {
        return true;
    }
    *lacks_first = e.n_words == e.n_rows || e.n_quoted == e.n_rows || is_index(k, &e);
    return *lacks_first;
}

/* --- the top ---------------------------------------------------------------------------------- */

/* A line that begins as programs begin what is not data. */
static bool is_remark(const struct look *k, size_t i)
{
    const struct line *const line = &k->lines[i];
    const unsigned char *p = line->begin;
    while (p < line->next && (*p == ' ' || *p == '\t')) {
        p++;
    }
    return p + 1 < line->next &&
           (*p == '%' || *p == '*' || *p == '!' || (p[0] == '/' && p[1] == '/'));
}

/* The line above first_row that holds the names, or first_row: there is none. */
static size_t find_names(const struct look *k, size_t first_row, bool *lacks_first)
{
    size_t best = first_row, most = 0;
    for (size_t i = 0; i < first_row; i++) {
        bool lacks;
        if (!fits(k, i, first_row, &lacks) || (lacks && is_remark(k, i))) {
            continue;
        }
        const struct sight s = see_names(k, i, lacks);
        if (s.n_numbers_over == 0 && s.n_words_over > most) {
            most = s.n_words_over;
            best = i;
            *lacks_first = lacks;
        }
    }
    return best;
}

/* Whether the line between the names and the first row says units alone. */
static bool says_units(const struct look *k, size_t i)
{
    const struct sight s = see(k, i);
    const size_t n = k->lines[i].n_cells;
    return (n == k->width || n + 1 == k->width || n == k->width + 1) && s.n_words_over > 0 &&
           s.n_numbers_over == 0 && s.n_units_over == s.n_words_over && !s.has_digit;
}

/* Whether the lines before `end` may be a title: each holds a word, and none may be a row. Where no
 * names follow, each must be one cell, or half as wide as the table at most. */
static bool is_title(const struct look *k, size_t end, bool before_names)
{
    for (size_t i = 0; i < end; i++) {
        if (is_remark(k, i)) {
            continue;
        }
        const struct sight s = see(k, i);
        const bool is_wide = k->lines[i].n_cells == k->width;
        if (s.n_words == 0 || (is_wide && s.n_words_over == 0 && s.n_marks_over > 0) ||
            (!before_names && (is_wide || (s.n_filled > 1 && 2 * s.n_filled > k->width)))) {
            return false;
        }
    }
    return true;
}

static struct csv_lines lines_of(const struct look *k, size_t first, size_t end)
{
    return first == end ? (struct csv_lines){0}
                        : (struct csv_lines){k->lines[first].number, k->lines[end - 1].number,
                                             k->lines[first].begin};
}

/* The names stand in line i; finds where the rows begin. */
static void set_names(const struct look *k, size_t i, size_t first_row, bool lacks_first,
                      struct csv_top *top)
{
    size_t row = i + 1;
    while (row < first_row && (says_units(k, row) || is_ruler(k, row))) {
        row++;
    }
    top->begin = k->lines[i].begin;
    top->line = k->lines[i].number;
    top->has_names = 1;
    top->lacks_first = lacks_first;
    top->n_columns = k->lines[i].n_cells == k->width ? 0 : k->width;
    top->above = lines_of(k, 0, i);
    if (row > i + 1) {
        top->units = lines_of(k, i + 1, row);
        const struct line *const last = &k->lines[row - 1];
        top->rows = last->next;
        top->rows_line =
            last->number + table_count_byte(last->begin, (size_t)(last->next - last->begin), '\n');
    }
}

static void find_by_looks(const struct look *k, struct csv_top *top)
{
    size_t first_row = 0;
    while (first_row < k->n_lines && !is_row(k, first_row)) {
        first_row++;
    }
    if (first_row == 0 || first_row == k->n_lines) {
        return;
    }
    bool lacks_first = false;
    const size_t names = find_names(k, first_row, &lacks_first);
    if (names < first_row) {
        if (is_title(k, names, true)) {
            set_names(k, names, first_row, lacks_first, top);
        }
        return;
    }
    while (first_row > 0 && k->lines[first_row - 1].n_cells == k->width) {
        first_row--; /* rows without numbers, or a name that is a number */
    }
    if (first_row > 0 && is_title(k, first_row, false)) {
        top->begin = k->lines[first_row].begin;
        top->line = k->lines[first_row].number;
        top->above = lines_of(k, 0, first_row);
    }
}

static enum status find_by_number(const struct look *k, const char *file, long header, bool whole,
                                  struct csv_top *top)
{
    const size_t i = (size_t)header;
    bool lacks_first = false;
    top->needs_more = i >= k->n_lines && !whole && i < LOOKED_AT;
    if (top->needs_more) {
        return STATUS_OK;
    }
    if (i >= k->n_lines) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "%s: header = %ld: the names are not among the first %zu lines that "
                           "are neither empty nor comments",
                           file, header, k->n_lines);
    }
    (void)fits(k, i, i + 1, &lacks_first);
    size_t first_row = i + 1;
    while (first_row < k->n_lines && !is_row(k, first_row)) {
        first_row++;
    }
    set_names(k, i, first_row, lacks_first, top);
    if (k->lines[i].n_cells != k->width && !fits(k, i, i + 1, &lacks_first)) {
        top->n_columns = 0;
    }
    top->above = (struct csv_lines){0};
    return STATUS_OK;
}

enum status csv_find_top(const struct csv_dialect *d, const char *file, const unsigned char *text,
                         const unsigned char *end, bool whole, uint64_t line, long header,
                         struct csv_top *top)
{
    struct look k = {.d = d};
    *top = (struct csv_top){.begin = text, .line = line, .has_names = -1};
    if (header == TABLE_HEADER_NONE) {
        top->has_names = 0;
        return STATUS_OK;
    }
    split_lines(&k, text, end, whole, line);
    if (k.n_lines < 2 && header == TABLE_HEADER_AUTO) {
        return STATUS_OK;
    }
    k.width = find_width(&k);
    k.numbers = calloc(k.width + 1, 1);
    if (!k.numbers) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu columns", k.width);
    }
    find_numbers(&k);
    enum status status = STATUS_OK;
    if (header == TABLE_HEADER_AUTO) {
        find_by_looks(&k, top);
    } else {
        status = find_by_number(&k, file, header, whole, top);
    }
    free(k.numbers);
    return status;
}
