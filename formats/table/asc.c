/*
 * asc - ESRI ASCII grids as tables: opening, and reading in chunks.
 *
 * A chunk is filled from the source in one go and cut back to a blank; the start of a value behind
 * the cut is carried into the next chunk. While the text is in the cache its values and lines are
 * counted: so every chunk knows where it begins, and a wrong number of values is found here.
 */
#include "formats/table/asc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void asc_close(void *state)
{
    struct asc *const a = state;
    if (a != NULL) {
        grid_free(a->grid);
        bytes_free(&a->carry);
        free(a);
    }
}

static enum status asc_open(struct table *t)
{
    struct asc_head head;
    struct asc *const a = calloc(1, sizeof *a);
    if (a == NULL) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(t->source));
    }
    t->state = a;
    enum status st = asc_read_head(t, &head);
    a->grid = head.grid;
    if (st == STATUS_OK) {
        st = table_skip(t, head.bytes);
    }
    if (st != STATUS_OK) {
        return st;
    }
    table_add_nodata(t, a->grid);
    a->n_cells = head.n_cells;
    a->point = head.point;
    a->line = head.line;
    a->offset = head.bytes;
    t->info.dtype = DTYPE_F64;
    t->info.n_lines = t->info.n_lines_estimate = a->grid->rows;
    t->info.cells_per_line = a->grid->columns;
    t->info.grid = a->grid;
    return STATUS_OK;
}

/* Values that begin in p[0 .. n), which begins after a blank. */
static size_t count_values(const unsigned char *p, size_t n)
{
    enum { STEP = 255 }; /* so that a byte holds the count, and the loop runs in vectors */
    size_t total = n > 0 && !asc_is_blank(p[0]);
    for (size_t from = 1; from < n; from += STEP) {
        const size_t left = n - from, step = left < STEP ? left : STEP;
        const unsigned char *const q = p + from - 1;
        unsigned char count = 0;
        for (size_t i = 0; i < step; i++) {
            const unsigned before = (unsigned char)(q[i] - '\t'),
                           here = (unsigned char)(q[i + 1] - '\t');
            const unsigned blank_before = (before <= 4) | (q[i] == ' ');
            const unsigned blank_here = (here <= 4) | (q[i + 1] == ' ');
            count = (unsigned char)(count + (blank_before & ~blank_here));
        }
        total += count;
    }
    return total;
}

static uint64_t count_lines(const unsigned char *p, size_t n)
{
    enum { STEP = 255 };
    uint64_t total = 0;
    for (size_t from = 0; from < n; from += STEP) {
        const size_t step = n - from < STEP ? n - from : STEP;
        unsigned char count = 0;
        for (size_t i = 0; i < step; i++) {
            count = (unsigned char)(count + (p[from + i] == '\n'));
        }
        total += count;
    }
    return total;
}

static enum status too_long(const struct table *t, const unsigned char *p, size_t n)
{
    const struct asc *const a = t->state;
    return status_fail(STATUS_BAD_INPUT,
                       "%s: line %" PRIu64 ", column %zu: a value, '%s', is longer than %zu bytes",
                       source_name(t->source), a->line, a->column + 1, excerpt_of(p, n).text, n);
}

/* Reads what was carried, then the source, up to `cap` bytes that end with a blank; *n = 0 at the
 * end. */
static enum status fill(struct table *t, unsigned char *raw, size_t cap, size_t *n)
{
    struct asc *const a = t->state;
    const size_t carried = a->carry.len;
    size_t got = 0;
    *n = 0;
    if (carried >= cap) {
        return too_long(t, a->carry.data, carried);
    }
    if (carried > 0) {
        memcpy(raw, a->carry.data, carried);
    }
    bytes_clear(&a->carry);
    const enum status st = source_read(t->source, raw + carried, cap - carried, &got);
    size_t len = carried + got;
    if (st != STATUS_OK || len == 0) {
        return st;
    }
    if (len < cap && !asc_is_blank(raw[len - 1])) {
        raw[len++] = '\n'; /* a last value may end the file */
    }
    size_t whole = len;
    while (whole > 0 && !asc_is_blank(raw[whole - 1])) {
        whole--;
    }
    if (whole == 0) {
        return too_long(t, raw, len);
    }
    *n = whole;
    return bytes_append(&a->carry, raw + whole, len - whole);
}

static enum status too_few(const struct table *t)
{
    const struct asc *const a = t->state;
    return status_fail(STATUS_BAD_INPUT,
                       "%s: line %" PRIu64 ": ends after %zu values; its header claims %zu rows x "
                       "%zu columns, which are %zu",
                       source_name(t->source), a->line - (a->column == 0), a->n_taken,
                       a->grid->rows, a->grid->columns, a->n_cells);
}

static enum status too_many(const struct table *t, const unsigned char *p, size_t n)
{
    const struct asc *const a = t->state;
    uint64_t line = a->line;
    size_t column = a->column;
    struct asc_value v = asc_find_value(p, p + n, &line, &column);
    for (size_t left = a->n_cells - a->n_taken; left > 0; left--) {
        column++;
        v = asc_find_value(v.text + v.n, p + n, &line, &column);
    }
    return status_fail(STATUS_BAD_INPUT,
                       "%s: line %" PRIu64 ", column %zu: '%s' is one value more than the %zu rows "
                       "x %zu columns that its header claims",
                       source_name(t->source), line, column + 1, excerpt_of(v.text, v.n).text,
                       a->grid->rows, a->grid->columns);
}

/* Moves the place of the next chunk past this text. */
static void move_past(struct asc *a, const unsigned char *p, size_t n, size_t n_values)
{
    const unsigned char *const newline = memrchr(p, '\n', n);
    if (newline == NULL) {
        a->column += n_values;
    } else {
        const unsigned char *const tail = newline + 1;
        a->column = count_values(tail, (size_t)(p + n - tail));
        a->line += count_lines(p, n);
    }
    a->n_taken += n_values;
    a->offset += n;
}

static enum status asc_next(struct table *t, struct table_chunk *c, bool *end)
{
    struct asc *const a = t->state;
    /* Two bytes make a value, one with its blank; one byte is for the blank of the last one. */
    const size_t room = c->values_cap / sizeof(double) < c->raw_cap / 2
                            ? 2 * (c->values_cap / sizeof(double))
                            : c->raw_cap;
    if (room < 2) {
        return status_fail(STATUS_INTERNAL, "%s: a chunk without room", source_name(t->source));
    }
    for (;;) {
        size_t n;
        const enum status st = fill(t, c->raw, room - 1, &n);
        if (st != STATUS_OK) {
            return st;
        }
        if (n == 0) {
            *end = true;
            return a->n_taken < a->n_cells ? too_few(t) : STATUS_OK;
        }
        const size_t n_values = count_values(c->raw, n);
        if (n_values > a->n_cells - a->n_taken) {
            return too_many(t, c->raw, n);
        }
        c->first_line = a->line;
        c->first_column = a->column;
        c->file_offset = a->offset;
        move_past(a, c->raw, n, n_values);
        if (n_values > 0) {
            c->raw_len = n;
            return STATUS_OK;
        }
    }
}

const struct table_format asc_format = {
    .name = "asc",
    .suits = asc_suits,
    .open = asc_open,
    .next = asc_next,
    .decode = asc_decode,
    .close = asc_close,
};
