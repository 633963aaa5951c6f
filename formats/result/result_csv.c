/*
 * result_csv - text tables as results: rows are asked for in runs, each run is a piece; and the
 * text of their cells.
 *
 * Source: RFC 4180, but for the line ends, which are \n.
 */
#include "formats/result/result.h"

#include "formats/base/decimal.h"
#include "formats/base/shortest.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct csv {
    char *header; /* owned */
    uint64_t n_rows;
    size_t rows_per_piece;
    result_rows_fn *rows;
    void *context;
    void (*free_context)(void *);
};

static void csv_free(void *context)
{
    struct csv *c = context;
    result_free_context(c->context, c->free_context);
    free(c->header);
    free(c);
}

static enum status csv_piece(void *context, uint64_t index, struct bytes *out)
{
    const struct csv *c = context;
    const uint64_t first = index * c->rows_per_piece;
    const uint64_t left = c->n_rows - first;
    const size_t n = left < c->rows_per_piece ? (size_t)left : c->rows_per_piece;
    const bool headed = index == 0 && c->header != NULL;
    const enum status st = headed ? bytes_printf(out, "%s\n", c->header) : STATUS_OK;
    return st == STATUS_OK && n > 0 ? c->rows(c->context, first, n, out) : st;
}

enum status result_add_csv(struct result *r, const char *name, const char *header, uint64_t n_rows,
                           size_t rows_per_piece, result_rows_fn *rows, void *context,
                           void (*free_context)(void *))
{
    struct result_file *f;
    char file_name[RESULT_NAME_BYTES];
    assert(rows_per_piece > 0);
    struct csv *c = malloc(sizeof *c);
    if (c == NULL) {
        result_free_context(context, free_context);
        return status_fail(STATUS_NO_MEMORY, "no memory for %s.csv.gz", name);
    }
    *c = (struct csv){.header = header != NULL ? strdup(header) : NULL,
                      .n_rows = n_rows,
                      .rows_per_piece = rows_per_piece,
                      .rows = rows,
                      .context = context,
                      .free_context = free_context};
    if (header != NULL && c->header == NULL) {
        csv_free(c);
        return status_fail(STATUS_NO_MEMORY, "no memory for %s.csv.gz", name);
    }
    result_set_name(file_name, name, ".csv.gz");
    const enum status st = result_add_file(r, file_name, PACK_GZIP, &f);
    if (st != STATUS_OK) {
        csv_free(c);
        return st;
    }
    const uint64_t n_pieces = n_rows / rows_per_piece + (n_rows % rows_per_piece != 0);
    return result_add_member(f, NULL, n_pieces > 0 ? n_pieces : 1, csv_piece, c, csv_free);
}

enum status result_put_f64(struct bytes *out, double value)
{
    STATUS_TRY(bytes_reserve(out, SHORTEST_BYTES));
    out->len += shortest_f64(value, (char *)out->data + out->len);
    return STATUS_OK;
}

enum status result_put_f32(struct bytes *out, float value)
{
    STATUS_TRY(bytes_reserve(out, SHORTEST_BYTES));
    out->len += shortest_f32(value, (char *)out->data + out->len);
    return STATUS_OK;
}

enum status result_put_u64(struct bytes *out, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    return bytes_append(out, digits + at, sizeof digits - at);
}

/* Whether a spreadsheet takes the text for a formula. */
static bool is_formula(const char *text, size_t n)
{
    double number;
    return n > 0 && strchr("=+-@\t\r", text[0]) != NULL && !decimal_parse(text, n, '.', &number) &&
           !decimal_parse(text, n, ',', &number);
}

enum status result_put_field(struct bytes *out, const char *text)
{
    const size_t n = strlen(text);
    const bool is_quoted = text[strcspn(text, ",\"\r\n")] != '\0';
    STATUS_TRY(bytes_reserve(out, 2 * n + 2)); /* a first byte that gets the apostrophe is one */
    if (is_quoted) {
        out->data[out->len++] = '"';
    }
    if (is_formula(text, n)) {
        out->data[out->len++] = '\'';
    }
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"') {
            out->data[out->len++] = '"';
        }
        out->data[out->len++] = (unsigned char)text[i];
    }
    if (is_quoted) {
        out->data[out->len++] = '"';
    }
    return STATUS_OK;
}
