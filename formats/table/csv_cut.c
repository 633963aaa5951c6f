/*
 * csv_cut - where a chunk of delimited text may end.
 *
 * Without a quote in the text this is the last line end, or the last delimiter of a long line, and
 * what has to be counted is line ends and delimiters: all of it at the speed of memory. With
 * quotes, or when the cells may not fit the chunk's room, the text is walked cell by cell.
 *
 * A line is only cut when it is known to hold a filled cell, so that whoever decodes a piece of it
 * knows that it is no blank line; a comment never is.
 */
#include "formats/table/csv.h"

#include <string.h>

/* How many of p[0 .. n) are a or b, and how many are a. */
static void count_bytes(const unsigned char *p, size_t n, unsigned char a, unsigned char b,
                        size_t *n_a, size_t *n_b)
{
    enum { BLOCK = 128 }; /* of bytes, counted in bytes: never above 255 */
    *n_a = *n_b = 0;
    for (; n >= BLOCK; p += BLOCK, n -= BLOCK) {
        unsigned char in_a = 0, in_b = 0;
        for (size_t i = 0; i < BLOCK; i++) {
            in_a = (unsigned char)(in_a + (p[i] == a));
            in_b = (unsigned char)(in_b + (p[i] == b));
        }
        *n_a += in_a;
        *n_b += in_b;
    }
    for (size_t i = 0; i < n; i++) {
        *n_a += p[i] == a;
        *n_b += p[i] == b;
    }
}

/* Does the line that begins at p hold a filled cell in p[0 .. n)? */
static bool may_cut_line(const struct csv_cut *cut, size_t at)
{
    const unsigned char *next;
    return at < cut->n &&
           csv_line_kind(cut->dialect, cut->text + at, cut->text + cut->n, &next) == CSV_LINE_DATA;
}

/* The number of cells that end in text[from .. to), within one line that has no quote. */
static size_t count_cells(const struct csv_cut *cut, size_t from, size_t to)
{
    const unsigned char *p = cut->text + from;
    const unsigned char *const end = cut->text + to;
    size_t n_cells = 0, n_newlines;
    if (!cut->dialect->blanks) {
        count_bytes(p, to - from, cut->dialect->delimiter, '\n', &n_cells, &n_newlines);
        return n_cells;
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

static const unsigned char *last_delimiter(const struct csv_cut *cut, size_t from)
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
static struct csv_place cut_plain(const struct csv_cut *cut, size_t n_lines)
{
    const unsigned char *const newline = memrchr(cut->text, '\n', cut->n);
    const size_t line_begin = newline ? (size_t)(newline + 1 - cut->text) : 0;
    const struct csv_place at_line = {line_begin, n_lines, 0};
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
    return (struct csv_place){end, n_lines, before + count_cells(cut, line_begin, end)};
}

/* Walks one line from *p on: to the next line when it is complete. Otherwise false, and *p is after
 * the last delimiter within the room. */
static bool walk_line(const struct csv_cut *cut, const unsigned char **p, size_t *n_cells,
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
static struct csv_place cut_walking(const struct csv_cut *cut)
{
    const unsigned char *const end = cut->text + cut->n;
    const unsigned char *line = cut->text, *p = line;
    size_t n_cells = 0, column = cut->column;
    bool filled = cut->filled;
    while (line < end) {
        const unsigned char *next = end;
        const enum csv_line kind =
            filled ? CSV_LINE_DATA : csv_line_kind(cut->dialect, line, end, &next);
        if (kind == CSV_LINE_SKIPPED) {
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
    struct csv_place place = {(size_t)(p - cut->text), 0, p > line ? column : 0};
    size_t same;
    count_bytes(cut->text, place.n, '\n', '\n', &place.n_lines, &same);
    return place;
}

/* No more cells than this end in the text. */
static size_t most_cells(const struct csv_cut *cut, size_t *n_lines)
{
    size_t n_delimiters;
    count_bytes(cut->text, cut->n, '\n', cut->dialect->delimiter, n_lines, &n_delimiters);
    /* With blanks as delimiters a cell takes a byte, and what ends it another. */
    return cut->dialect->blanks ? cut->n / 2 : n_delimiters + *n_lines;
}

struct csv_place csv_find_cut(const struct csv_cut *cut)
{
    struct csv_cut part = *cut;
    size_t n_lines;
    while (most_cells(&part, &n_lines) > cut->max_cells) {
        part.n /= 2;
    }
    struct csv_place place = {0};
    if (part.n > 0 && !memchr(part.text, '"', part.n)) {
        place = cut_plain(&part, n_lines);
    }
    return place.n > 0 ? place : cut_walking(cut);
}
