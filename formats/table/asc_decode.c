/*
 * asc_decode - the values of an ESRI ASCII grid: text to numbers.
 *
 * Nearly all files have a line for each row: such lines go through decimal_run_cells() whole. What
 * that leaves (lines of another length, the other decimal sign, nan) is taken value by value.
 */
#include "formats/table/asc.h"

#include "formats/base/decimal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct asc_value asc_find_value(const unsigned char *p, const unsigned char *end, uint64_t *line,
                                size_t *column)
{
    while (p < end && asc_is_blank(*p)) {
        if (*p == '\n') {
            (*line)++;
            *column = 0;
        }
        p++;
    }
    const unsigned char *q = p;
    while (q < end && !asc_is_blank(*q)) {
        q++;
    }
    return (struct asc_value){.text = p, .n = (size_t)(q - p)};
}

/* Takes what decimal_run_cells() can; moves *line and *column. */
static void run_cells(struct decimal_run *run, size_t row_cells, uint64_t *line, size_t *column)
{
    const double *const before = run->out;
    const bool in_row = *column < row_cells;
    run->column = *column;
    run->last = in_row ? row_cells : SIZE_MAX;
    run->to_line_end = in_row;
    decimal_run_cells(run);
    if (in_row) { /* it passes line ends after whole rows alone */
        *line += (*column + (size_t)(run->out - before)) / row_cells;
    }
    *column = run->column;
}

static enum status take_value(const struct asc *a, const struct table *t, struct asc_value v,
                              uint64_t line, size_t column, double *out)
{
    const char *const text = (const char *)v.text;
    if (asc_is_nan(v.text, v.n)) {
        *out = NAN;
        return STATUS_OK;
    }
    if (!decimal_parse(text, v.n, a->point, out)) {
        const char other = a->point == '.' ? ',' : '.';
        if (!decimal_parse(text, v.n, other, out)) {
            return status_fail(
                STATUS_BAD_INPUT, "%s: line %" PRIu64 ", column %zu: '%s' is not a number",
                source_name(t->source), line, column + 1, excerpt_of(v.text, v.n).text);
        }
        if (table_may_be_grouped(text, v.n, other)) {
            table_note_grouped(t, line, column);
        }
    }
    if (!isfinite(*out)) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: line %" PRIu64 ", column %zu: '%s' is beyond the largest double",
                           source_name(t->source), line, column + 1, excerpt_of(v.text, v.n).text);
    }
    return STATUS_OK;
}

enum status asc_decode(const struct table *t, struct table_chunk *c)
{
    const struct asc *const a = t->state;
    double *const values = c->values;
    uint64_t line = c->first_line;
    size_t column = c->first_column;
    struct decimal_run run = {.at = (const char *)c->raw,
                              .end = (const char *)c->raw + c->raw_len,
                              .out = values,
                              .out_end = values + c->values_cap / sizeof *values,
                              .blanks = true,
                              .point = a->point};
    for (;;) {
        run_cells(&run, a->grid->columns, &line, &column);
        const struct asc_value v = asc_find_value((const unsigned char *)run.at,
                                                  (const unsigned char *)run.end, &line, &column);
        if (v.n == 0) {
            break;
        }
        if (run.out == run.out_end) {
            return status_fail(STATUS_INTERNAL, "%s: more values than a chunk has room for",
                               source_name(t->source));
        }
        const enum status st = take_value(a, t, v, line, column, run.out);
        if (st != STATUS_OK) {
            return st;
        }
        c->n_missing += *run.out != *run.out;
        run.out++;
        run.at = (const char *)v.text + v.n;
        column++;
    }
    c->n_cells = (size_t)(run.out - values);
    if (t->options.has_missing_value) {
        c->n_missing =
            table_mark_nodata(values, c->n_cells, t->options.missing_value, a->grid->nodata);
    }
    return STATUS_OK;
}
