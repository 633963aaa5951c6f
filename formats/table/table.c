/*
 * table - the registry of table formats, and what they share.
 *
 * A format is recognised by the first bytes of the unpacked stream; CSV takes what no other does,
 * but for what is called an ASCII grid.
 */
#include "formats/table/table.h"

#include "formats/base/checked.h"
#include "formats/table/table_format.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct table_format *const formats[] = {&npy_format, &npz_format, &tif_format,
                                                     &asc_format, &csv_format};

enum { MAGIC_BYTES = 64, N_FORMATS = sizeof formats / sizeof formats[0] };

static bool is_called_asc(const char *name)
{
    const size_t n = strlen(name), n_packed = strlen(".asc.gz"), n_plain = strlen(".asc");
    return (n >= n_plain && strcasecmp(name + n - n_plain, ".asc") == 0) ||
           (n >= n_packed && strcasecmp(name + n - n_packed, ".asc.gz") == 0);
}

static enum status recognise(struct table *t)
{
    const unsigned char *head;
    size_t n;
    const enum status status = source_peek(t->source, MAGIC_BYTES, &head, &n);
    if (status) {
        return status;
    }
    if (n == 0) {
        return status_fail(STATUS_BAD_INPUT, "%s: is empty", source_name(t->source));
    }
    for (size_t i = 0; i < N_FORMATS && !t->format; i++) {
        if (formats[i]->suits(head, n)) {
            t->format = formats[i];
        }
    }
    if (t->format == &csv_format && is_called_asc(source_name(t->source))) {
        t->format = NULL;
        return status_fail(STATUS_BAD_INPUT,
                           "%s: does not begin with the header of an ASCII grid (ncols, nrows, "
                           "...); add it, or call it .csv or .txt if it is a table",
                           source_name(t->source));
    }
    return STATUS_OK;
}

/* What is said about a table of another format is not looked at, and that is told. */
static enum status settle_options(struct table *t)
{
    const struct table_options *const o = &t->options;
    enum status status = STATUS_OK;
    t->info.has_missing_value = o->has_missing_value;
    t->info.uses_columns = o->columns && t->format->takes_columns;
    t->info.uses_member = o->member && t->format->takes_member;
    if (o->columns && !t->info.uses_columns) {
        status = table_warn(t, "%s: columns = %s is not looked at: it is for CSV and TSV",
                            source_name(t->source), o->columns);
    }
    if (o->member && !t->info.uses_member && !status) {
        status = table_warn(t, "%s: member = %s is not looked at: it is for .npz",
                            source_name(t->source), o->member);
    }
    return status;
}

enum status table_open(struct source *src, const struct table_options *options, struct table **out)
{
    *out = NULL;
    struct table *t = calloc(1, sizeof *t);
    if (!t) {
        const enum status status =
            status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(src));
        source_free(src);
        return status;
    }
    t->source = src;
    t->first_grouped = &t->grouped_place;
    if (options) {
        t->options = *options;
    }
    enum status status = recognise(t);
    if (!status) {
        t->info.format = t->format->name;
        status = t->format->open(t);
    }
    if (!status) {
        status = settle_options(t);
    }
    if (status) {
        table_free(t);
        return status;
    }
    t->info.warnings = (const char *const *)t->warnings;
    t->info.n_warnings = t->n_warnings;
    *out = t;
    return STATUS_OK;
}

void table_free(struct table *t)
{
    if (!t) {
        return;
    }
    if (t->format) {
        t->format->close(t->state);
    }
    for (size_t i = 0; i < t->n_warnings; i++) {
        free(t->warnings[i]);
    }
    free(t->warnings);
    source_free(t->source);
    free(t);
}

const struct table_info *table_info(const struct table *t)
{
    return &t->info;
}

struct source *table_source(struct table *t)
{
    return t->source;
}

enum status table_next(struct table *t, struct table_chunk *c, bool *end)
{
    *end = false;
    c->raw_len = c->n_cells = c->n_missing = 0;
    c->labels_len = c->n_labels = 0;
    return t->format->next(t, c, end);
}

enum status table_decode(const struct table *t, struct table_chunk *c)
{
    return t->format->decode(t, c);
}

/* The chunks that are held lie one after the other: where many make a band they reach into few
 * bands; where one holds whole bands, each thread has one band in work. */
size_t table_decode_bytes(const struct table_info *info, const struct table_load *load)
{
    const size_t room = load->values_cap / dtype_bytes(info->dtype);
    if (info->n_bands == 0 || room == 0) {
        return info->names_bytes;
    }
    const size_t band_chunks = (info->band_cells - 1) / room + 1;
    const size_t reached = load->n_chunks / band_chunks + 2;
    size_t n = load->n_threads < info->n_bands ? load->n_threads : info->n_bands, bytes;
    n = n < reached ? n : reached;
    return checked_mul(n, info->decode_bytes, &bytes) ? bytes : SIZE_MAX;
}

enum { COLUMN_BITS = 24 }; /* of line and column in one number */
static const uint64_t last_column = ((uint64_t)1 << COLUMN_BITS) - 1;

bool table_may_be_grouped(const char *text, size_t n, char sign)
{
    if (n > 0 && (*text == '-' || *text == '+')) {
        text++;
        n--;
    }
    if (n < 5 || n > 7 || text[n - 4] != sign || text[0] == '0') {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (i != n - 4 && (text[i] < '0' || text[i] > '9')) {
            return false;
        }
    }
    return true;
}

void table_note_grouped(const struct table *t, uint64_t line, size_t column)
{
    const uint64_t place = line << COLUMN_BITS | (column < last_column ? column : last_column);
    uint64_t first = atomic_load(t->first_grouped);
    while ((first == 0 || place < first) &&
           !atomic_compare_exchange_weak(t->first_grouped, &first, place)) {
    }
}

enum status table_end(struct table *t)
{
    const uint64_t place = atomic_exchange(t->first_grouped, 0);
    if (place == 0) {
        return STATUS_OK;
    }
    const enum status status = table_warn(
        t,
        "%s: line %" PRIu64 ", column %" PRIu64 ": a comma or point before three digits was taken "
        "for a decimal sign; leave it out if it parts thousands",
        source_name(t->source), place >> COLUMN_BITS, (place & last_column) + 1);
    t->info.warnings = (const char *const *)t->warnings;
    t->info.n_warnings = t->n_warnings;
    return status;
}

void table_chunk_clear(struct table_chunk *c)
{
    free(c->labels);
    c->labels = NULL;
    c->labels_len = c->labels_cap = c->n_labels = 0;
}

enum status table_warn(struct table *t, const char *format, ...)
{
    if (t->n_warnings == t->warnings_cap) {
        const size_t cap = 2 * t->warnings_cap + 4;
        char **warnings = realloc(t->warnings, cap * sizeof *warnings);
        if (!warnings) {
            return status_fail(STATUS_NO_MEMORY, "no memory for a warning");
        }
        t->warnings = warnings;
        t->warnings_cap = cap;
    }
    va_list args;
    va_start(args, format);
    const int n = vasprintf(&t->warnings[t->n_warnings], format, args);
    va_end(args);
    if (n < 0) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a warning");
    }
    t->n_warnings++;
    return STATUS_OK;
}

enum status table_skip(struct table *t, size_t n)
{
    unsigned char gone[4096];
    while (n > 0) {
        size_t got;
        const enum status status =
            source_read(t->source, gone, n < sizeof gone ? n : sizeof gone, &got);
        if (status || got == 0) {
            return status;
        }
        n -= got;
    }
    return STATUS_OK;
}

size_t table_mark_missing(double *values, size_t n, double missing)
{
    size_t n_missing = 0;
    for (size_t i = 0; i < n; i++) {
        const double v = values[i];
        values[i] = v == missing ? NAN : v;
        n_missing += v == missing || v != v;
    }
    return n_missing;
}

void table_add_nodata(const struct table *t, struct grid *g)
{
    if (t->options.has_missing_value && !g->has_nodata) {
        g->has_nodata = true;
        g->nodata = NAN;
    }
}

size_t table_mark_nodata(double *values, size_t n, double missing, double nodata)
{
    size_t n_missing = 0;
    for (size_t i = 0; i < n; i++) {
        values[i] = grid_means_nodata(missing, values[i]) ? nodata : values[i];
        n_missing += values[i] != values[i];
    }
    return n_missing;
}
