/*
 * table - the registry of table formats, and what they share.
 *
 * A format is recognised by the first bytes of the unpacked stream; CSV takes what no other does,
 * but for what is called an ASCII grid.
 */
#include "formats/table/table.h"

#include "formats/base/checked.h"
#include "formats/base/file_name.h"
#include "formats/table/foreign.h"
#include "formats/table/sheet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct table_format *const formats[] = {&npy_format, &npz_format, &tif_format,
                                                     &asc_format, &csv_format};

enum { HEAD_BYTES = 4096, N_FORMATS = sizeof formats / sizeof formats[0] };

/* What a module reads, or nothing does, where that can be said; else NULL. */
static const struct foreign *find_foreign(const struct table *t, const unsigned char *head,
                                          size_t n)
{
    const char *const name = source_name(t->source);
    if (sheet_suits(name, head, n)) {
        const struct foreign *const other = foreign_named(name); /* .docx */
        return other != NULL ? other : foreign_named("x.xlsx");
    }
    const struct foreign *const begun = foreign_of(name, head, n);
    if (begun != NULL || t->format != &csv_format) {
        return begun;
    }
    const bool is_grid = t->options.for_grid || file_name_is(name, ".asc");
    const bool is_utf16 = n >= 2 && head[0] + head[1] == 0xff + 0xfe && head[0] >= 0xfe;
    const struct foreign *const named = foreign_named(name);
    const bool is_named =
        memchr(head, 0, n) != NULL || (t->options.for_grid && named == &foreign_xyz_grid);
    return is_utf16 ? (is_grid ? &foreign_utf16_grid : NULL) : is_named ? named : NULL;
}

static enum status recognise(struct table *t)
{
    const unsigned char *head;
    size_t n;
    STATUS_TRY(source_peek(t->source, HEAD_BYTES, &head, &n));
    const char *const name = source_name(t->source);
    if (n == 0) {
        return status_fail(STATUS_BAD_INPUT, "%s: is empty", name);
    }
    for (size_t i = 0; i < N_FORMATS && !t->format; i++) {
        if (formats[i]->suits(head, n)) {
            t->format = formats[i];
        }
    }
    const struct foreign *const foreign = find_foreign(t, head, n);
    if (foreign != NULL) {
        STATUS_TRY(foreign_reader(foreign, name, t->options.for_grid, &t->format));
        const bool is_sheet = t->format == &xlsx_format;
        t->format = is_sheet ? &csv_format : t->format;
        return is_sheet ? sheet_open(t) : STATUS_OK;
    }
    if (t->format == &csv_format && file_name_is(name, ".asc")) {
        t->format = NULL;
        return status_fail(STATUS_BAD_INPUT,
                           "%s: does not begin with the header of an ASCII grid: write lines of "
                           "ncols, nrows, xllcorner, yllcorner, cellsize and nodata_value above "
                           "its numbers%s",
                           name,
                           t->options.for_grid ? "" : ", or call it .csv or .txt if it is a table");
    }
    return STATUS_OK;
}

/* Options for a table of another format are ignored, with a warning. */
static enum status check_options(struct table *t)
{
    for (enum table_option i = 0; i < TABLE_N_OPTIONS; i++) {
        const char *const text = table_option_get(&t->options, i);
        const bool takes =
            t->sheet != NULL && (i == TABLE_SHEET || i == TABLE_SEP || i == TABLE_COMMENT)
                ? i == TABLE_SHEET
                : t->format->takes[i];
        t->info.used[i] = text && takes;
        if (text && !takes) {
            STATUS_TRY(table_warn(t, "%s=%s is ignored: it applies to %s", table_option_key(i),
                                  text, table_option_applies(i)));
        }
    }
    return STATUS_OK;
}

static enum status open_as(struct table *t)
{
    t->info.format = t->format->name;
    t->info.has_missing_value = t->choice.missing.n_numbers > 0;
    t->state = calloc(1, t->format->state_bytes);
    return t->state != NULL
               ? t->format->open(t)
               : status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(t->source));
}

static void close_format(struct table *t)
{
    if (t->state && t->format->close) {
        t->format->close(t->state);
    }
    free(t->state);
    t->state = NULL;
    for (size_t i = 0; i < t->n_warnings; i++) {
        free(t->warnings[i]);
    }
    t->n_warnings = 0;
}

/* What the readers of GeoTIFFs and of texts refuse as a grid may be one for GDAL. */
static enum status open_by_gdal(struct table *t, enum status refused)
{
    char refusal[STATUS_MESSAGE_BYTES];
    const bool is_tif = t->format == &tif_format;
    const bool is_text = t->format == &csv_format && t->options.for_grid &&
                         !file_name_is(source_name(t->source), ".asc");
    if (!(is_tif && refused == STATUS_UNSUPPORTED) &&
        !(is_text && (refused == STATUS_UNSUPPORTED || refused == STATUS_BAD_INPUT))) {
        return refused;
    }
    (void)snprintf(refusal, sizeof refusal, "%s", status_message());
    const struct table_format *const other = foreign_gdal();
    if (other == NULL || source_hindrance(t->source) != NULL) {
        const char *const name = source_name(t->source);
        return !is_tif || other != NULL || strncmp(refusal, name, strlen(name)) != 0
                   ? status_set(refused, refusal)
                   : status_fail(refused, "%s: is read with the package leat-gdal; without it%s",
                                 name, refusal + strlen(name));
    }
    close_format(t);
    t->info = (struct table_info){0};
    t->format = other;
    t->refusal = refusal;
    t->refused = refused;
    const enum status st = open_as(t);
    t->refusal = NULL;
    return st;
}

static enum status open_format(struct table *t)
{
    STATUS_TRY(table_options_parse(&t->options, &t->choice));
    STATUS_TRY(recognise(t));
    if (t->options.words && t->format != &csv_format) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: is no text: a line holds a name and what "
                           "belongs to it",
                           source_name(t->source));
    }
    const enum status st = open_as(t);
    STATUS_TRY(st != STATUS_OK ? open_by_gdal(t, st) : st);
    t->info.window_bytes += (size_t)source_hold_window(t->source);
    return check_options(t);
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
    t->noted = t->places;
    t->counted = t->counts;
    if (options) {
        t->options = *options;
    }
    const enum status status = open_format(t);
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
    close_format(t);
    free(t->warnings);
    free(t->sheet);
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
    const size_t open_bytes = info->names_bytes + info->window_bytes;
    if (info->n_bands == 0 || room == 0) {
        return open_bytes;
    }
    const size_t band_chunks = (info->band_cells - 1) / room + 1;
    const size_t reached = load->n_chunks / band_chunks + 2;
    size_t n = load->n_threads < info->n_bands ? load->n_threads : info->n_bands, bytes;
    n = n < reached ? n : reached;
    return checked_mul(n, info->decode_bytes, &bytes) && checked_add(bytes, open_bytes, &bytes)
               ? bytes
               : SIZE_MAX;
}

void table_chunk_clear(struct table_chunk *c)
{
    free(c->labels);
    c->labels = NULL;
    c->labels_len = c->labels_cap = c->n_labels = 0;
    free(c->skips);
    c->skips = NULL;
    c->n_skips = 0;
}
