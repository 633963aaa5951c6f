/*
 * table_watch - see table_watch.h: from chunks to series, and from what table_extremes has of these
 * to what is said of them (table_codes).
 */
#include "formats/table/table_watch.h"

#include "formats/table/table_heights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 1000 }; /* series whose state is not worth being counted */

struct table_watch {
    const struct table_info *info;
    bool by_lines, is_heights;
    bool is_off;                  /* there are too many */
    size_t n_left;                /* numbers that will be looked at; SIZE_MAX: all */
    size_t n_series;              /* whose numbers are in `at`: all across lines, one of lines */
    struct table_extremes *at;    /* [n_series] */
    size_t place, line;           /* of the next number */
    struct bytes label;           /* of that line, with its NUL; empty: it has none */
    bool is_settled;              /* series across lines have been looked at */
    struct table_heights heights; /* where it is that */
    struct table_findings found;
};

/* --- the table -------------------------------------------------------------------------------- */

size_t table_watch_bytes(const struct table_watch *w)
{
    return w != NULL && w->n_series > SMALL ? w->n_series * sizeof *w->at : 0;
}

enum status table_watch_new(const struct table_info *info, enum table_watch_series series,
                            struct table_watch **out)
{
    struct table_watch *const w = *out = calloc(1, sizeof *w);
    const bool across = series == TABLE_WATCH_ACROSS;
    const bool is_off = across && info->cells_per_line > TABLE_WATCH_SERIES;
    const size_t n = across && !is_off ? info->cells_per_line : 1;
    struct table_extremes *const at = malloc(n * sizeof *at);
    if (w == NULL || at == NULL) {
        free(at);
        free(w);
        *out = NULL;
        return status_fail(STATUS_NO_MEMORY, "no memory to look at %zu series", n);
    }
    const bool all = strcmp(info->format, "csv") == 0;
    *w = (struct table_watch){.info = info,
                              .by_lines = series == TABLE_WATCH_LINES,
                              .is_heights = series == TABLE_WATCH_HEIGHTS,
                              .n_series = n,
                              .is_off = is_off,
                              .n_left = all ? SIZE_MAX : TABLE_WATCH_OF_ARRAYS,
                              .at = at};
    const struct grid *const g = info->grid;
    table_heights_begin(&w->heights, g != NULL && g->has_nodata ? g->nodata : (double)NAN);
    for (size_t s = 0; s < n; s++) {
        table_extremes_begin(&at[s]);
    }
    return STATUS_OK;
}

void table_watch_free(struct table_watch *w)
{
    if (w != NULL) {
        bytes_free(&w->label);
        free(w->at);
        free(w);
    }
}

static void take(struct table_watch *w, const struct table_chunk *chunk, size_t first,
                 size_t n_lines, size_t series, size_t n)
{
    const struct table_tile tile = {.values = chunk->values,
                                    .type = w->info->dtype,
                                    .first = first,
                                    .n = n,
                                    .n_lines = n_lines,
                                    .stride = w->n_series};
    table_extremes_take(w->at + series, &tile);
}

static void take_across(struct table_watch *w, const struct table_chunk *chunk)
{
    const size_t width = w->n_series;
    for (size_t i = 0; i < chunk->n_cells;) {
        const size_t left = chunk->n_cells - i, of_line = width - w->place;
        const size_t part = left < of_line ? left : of_line; /* of a line, unless it begins here */
        const size_t n_lines = w->place == 0 && left >= width ? left / width : 1;
        take(w, chunk, i, n_lines, w->place, part);
        w->place = (w->place + part) % width;
        i += n_lines * part;
    }
}

/* What a series is. */
static const char *kind_of(const struct table_watch *w)
{
    return w->by_lines == w->info->lines_are_columns ? "column" : "row";
}

static void find(struct table_watch *w, const struct table_extremes *e, size_t series,
                 const char *name)
{
    struct excerpt shown = excerpt_of(name, strlen(name));
    struct excerpt whole;
    const bool is_column = !w->by_lines && !w->info->lines_are_columns;
    const size_t number = is_column ? table_column(w->info, series) : series;
    if (*name != '\0') {
        snprintf(whole.text, sizeof whole.text, "%s '%.52s'", kind_of(w), shown.text);
    } else {
        snprintf(whole.text, sizeof whole.text, "%s %zu", kind_of(w), number + 1);
    }
    table_codes_find(e, series, whole, &w->found);
}

static enum status take_along(struct table_watch *w, const struct table_chunk *chunk)
{
    const size_t width = w->info->cells_per_line;
    const char *label = chunk->labels;
    size_t n_labels = chunk->n_labels;
    for (size_t i = 0; i < chunk->n_cells;) {
        if (w->place == 0) {
            bytes_clear(&w->label);
            if (n_labels > 0) {
                STATUS_TRY(bytes_append(&w->label, label, strlen(label) + 1));
                label += strlen(label) + 1;
                n_labels--;
            }
        }
        const size_t left = chunk->n_cells - i, of_line = width - w->place;
        const size_t n = left < of_line ? left : of_line;
        take(w, chunk, i, n, 0, 1);
        i += n;
        w->place += n;
        if (w->place == width) {
            find(w, &w->at[0], w->line++, w->label.len > 0 ? (const char *)w->label.data : "");
            table_extremes_begin(&w->at[0]);
            w->place = 0;
        }
    }
    return STATUS_OK;
}

/* The array goes on: what has only begun is no series, and what counts may not do so to its end. */
static void stop(struct table_watch *w)
{
    for (size_t s = 0; s < w->n_series; s++) {
        w->at[s].rises = false;
    }
}

enum status table_watch_take(struct table_watch *w, const struct table_chunk *chunk)
{
    if (w->is_off) {
        return STATUS_OK;
    }
    if (w->is_heights) {
        table_heights_take(&w->heights, chunk, w->info->dtype);
        return STATUS_OK;
    }
    struct table_chunk first = *chunk;
    first.n_cells = chunk->n_cells < w->n_left ? chunk->n_cells : w->n_left;
    if (w->by_lines) {
        STATUS_TRY(take_along(w, &first));
    } else {
        take_across(w, &first);
    }
    if (w->n_left != SIZE_MAX) {
        w->n_left -= first.n_cells;
    }
    if (first.n_cells < chunk->n_cells) {
        stop(w);
    }
    return STATUS_OK;
}

/* --- what was found --------------------------------------------------------------------------- */

bool table_watch_range(const struct table_watch *w, double *low, double *high)
{
    if (w == NULL || !w->is_heights) {
        return false;
    }
    *low = w->heights.rest.low[0];
    *high = w->heights.rest.high[0];
    return *low <= *high && !isinf(*low) && !isinf(*high);
}

enum status table_watch_heights(struct table_watch *w, struct bytes *out)
{
    struct table_findings found = {.n_codes = 0};
    if (w == NULL || !w->is_heights) {
        return STATUS_OK;
    }
    table_heights_find(&w->heights, false, &found);
    if (found.n_codes == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(table_heights_list(&found, "altitudes", out));
    STATUS_TRY(bytes_printf(out, ", and taken as %s; if so, ",
                            found.n_codes == 1 ? "an altitude" : "altitudes"));
    return table_codes_cure(found.codes, found.n_codes, w->info->used[TABLE_MISSING_VALUE], out);
}

static void settle(struct table_watch *w)
{
    const char *const *const names = w->info->names;
    if (w->is_off || w->by_lines || w->is_settled || w->is_heights) {
        return;
    }
    w->is_settled = true;
    for (size_t s = 0; s < w->n_series; s++) {
        find(w, &w->at[s], s, names != NULL ? names[s] : "");
    }
}

size_t table_watch_n_counts(struct table_watch *w)
{
    if (w == NULL) {
        return 0;
    }
    settle(w);
    return w->found.n_counts;
}

bool table_watch_count(struct table_watch *w, size_t k, struct table_count *out)
{
    const size_t n = table_watch_n_counts(w);
    if (k >= n || k >= TABLE_WATCH_LISTED) {
        return false;
    }
    *out = w->found.counts[k];
    return true;
}

bool table_watch_rises(struct table_watch *w, struct table_count *out)
{
    if (w == NULL) {
        return false;
    }
    settle(w);
    *out = w->found.rising;
    return w->found.has_rising;
}

enum status table_watch_codes(struct table_watch *w, struct bytes *out)
{
    if (w == NULL) {
        return STATUS_OK;
    }
    settle(w);
    for (size_t k = 0; k < w->found.n_codes; k++) {
        STATUS_TRY(table_codes_say(&w->found.codes[k], kind_of(w),
                                   w->info->used[TABLE_MISSING_VALUE], out));
    }
    return STATUS_OK;
}
