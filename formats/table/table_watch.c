/*
 * table_watch - see table_watch.h. Of each series the three lowest and the three highest values are
 * kept, and how often the outermost came. Numbers are taken in runs of one series; all that lie
 * within what is known already, nearly all, are passed over by one loop without a choice in it.
 *
 * Series across lines are gathered from a few lines at a time, eight series together, so that each
 * line of the cache is read once.
 */
#include "formats/table/table_watch.h"

#include "formats/table/table_codes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RUN = 64,     /* numbers of a series that are looked at together */
    SMALL = 1000, /* series whose state is not worth being counted */
    TILE = 8,     /* series that are gathered together */
};
static const double count_error = 1e-3; /* of a step */

struct table_watch {
    const struct table_info *info;
    bool by_lines;
    bool is_off;               /* there are too many */
    size_t n_series;           /* whose numbers are in `at`: all across lines, one of lines */
    struct table_extremes *at; /* [n_series] */
    size_t place, line;        /* of the next number */
    struct bytes label;        /* of that line, with its NUL; empty: it has none */
    bool is_settled;           /* series across lines have been looked at */
    struct table_findings found;
};

/* --- a series --------------------------------------------------------------------------------- */

static void begin(struct table_extremes *e)
{
    *e = (struct table_extremes){.low = {INFINITY, INFINITY, INFINITY},
                                 .high = {-INFINITY, -INFINITY, -INFINITY},
                                 .counts = true};
}

/* `v` among three values that are known, the outermost first; `sign` is 1 for the lowest. */
static void place_value(double at[3], uint64_t *n, double v, double sign)
{
    if (v == at[0]) {
        ++*n;
    } else if (sign * v < sign * at[0]) {
        at[2] = at[1];
        at[1] = at[0];
        at[0] = v;
        *n = 1;
    } else if (sign * v < sign * at[1]) {
        at[2] = at[1];
        at[1] = v;
    } else if (v != at[1] && sign * v < sign * at[2]) {
        at[2] = v;
    }
}

static void follow_count(struct table_extremes *e, const double *v, size_t n)
{
    for (size_t i = 0; i < n && e->counts; i++) {
        const size_t k = e->n + i;
        const double step = k > 0 ? v[i] - e->last : 0;
        if (k == 0) {
            e->first = v[i];
        } else if (k == 1) {
            e->step = step;
        }
        e->counts = k == 0 ? isfinite(v[i])
                           : step != 0 && fabs(step - e->step) <= count_error * fabs(e->step);
        e->last = v[i];
    }
}

/* The next n <= RUN numbers of a series. */
static void take_run(struct table_extremes *e, const double *v, size_t n)
{
    const double low = e->low[2], high = e->high[2];
    unsigned outside = 0, present = 0;
    for (size_t i = 0; i < n; i++) {
        outside |= (unsigned)(v[i] < low) | (unsigned)(v[i] > high);
        present += v[i] == v[i];
    }
    if (e->counts) {
        follow_count(e, v, n);
    }
    e->n += n;
    e->n_present += present;
    if (outside == 0) {
        return;
    }
    const double low0 = e->low[0], low1 = e->low[1], high0 = e->high[0], high1 = e->high[1];
    unsigned n_low = 0, n_high = 0, is_new = 0;
    for (size_t i = 0; i < n; i++) {
        n_low += v[i] == low0;
        n_high += v[i] == high0;
        is_new |= ((unsigned)(v[i] < low) & (unsigned)(v[i] != low0) & (unsigned)(v[i] != low1)) |
                  ((unsigned)(v[i] > high) & (unsigned)(v[i] != high0) & (unsigned)(v[i] != high1));
    }
    if (is_new == 0) {
        e->n_low += n_low;
        e->n_high += n_high;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (v[i] == v[i]) {
            place_value(e->low, &e->n_low, v[i], 1);
            place_value(e->high, &e->n_high, v[i], -1);
        }
    }
}

/* --- the table -------------------------------------------------------------------------------- */

size_t table_watch_bytes(const struct table_watch *w)
{
    return w != NULL && w->n_series > SMALL ? w->n_series * sizeof *w->at : 0;
}

enum status table_watch_new(const struct table_info *info, bool by_lines, struct table_watch **out)
{
    struct table_watch *const w = *out = calloc(1, sizeof *w);
    const bool is_grid = info->grid != NULL;
    const bool is_off = !by_lines && !is_grid && info->cells_per_line > TABLE_WATCH_SERIES;
    const size_t n = by_lines || is_off || is_grid ? 1 : info->cells_per_line;
    struct table_extremes *const at = malloc(n * sizeof *at);
    if (w == NULL || at == NULL) {
        free(at);
        free(w);
        *out = NULL;
        return status_fail(STATUS_NO_MEMORY, "no memory to look at %zu series", n);
    }
    *w = (struct table_watch){
        .info = info, .by_lines = by_lines, .n_series = n, .is_off = is_off, .at = at};
    for (size_t s = 0; s < n; s++) {
        begin(&at[s]);
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

/* Numbers of a chunk as doubles. */
static void load(const struct table_watch *w, const void *values, size_t first, size_t n,
                 double *out)
{
    if (w->info->dtype == DTYPE_F64) {
        memcpy(out, (const double *)values + first, n * sizeof *out);
        return;
    }
    const float *const from = (const float *)values + first;
    for (size_t i = 0; i < n; i++) {
        out[i] = (double)from[i];
    }
}

/* Numbers `first` and on of a chunk, n_lines <= RUN lines of which columns from `place` on, n of
 * them, are taken. */
static void take_tile(struct table_watch *w, const void *values, size_t first, size_t n_lines,
                      size_t place, size_t n)
{
    double row[TILE], run[TILE][RUN];
    for (size_t t = 0; t < n_lines; t++) {
        load(w, values, first + t * w->n_series, n, row);
        for (size_t k = 0; k < n; k++) {
            run[k][t] = row[k];
        }
    }
    for (size_t k = 0; k < n; k++) {
        take_run(&w->at[place + k], run[k], n_lines);
    }
}

static void take_lines(struct table_watch *w, const void *values, size_t first, size_t n_lines,
                       size_t place, size_t n)
{
    for (size_t k = 0; k < n; k += TILE) {
        take_tile(w, values, first + k, n_lines, place + k, n - k < TILE ? n - k : TILE);
    }
}

static void take_across(struct table_watch *w, const struct table_chunk *chunk)
{
    const size_t width = w->n_series;
    size_t i = 0;
    while (i < chunk->n_cells) {
        const size_t left = chunk->n_cells - i, of_line = width - w->place;
        if (w->place > 0 || left < width) { /* a part of a line */
            const size_t n = left < of_line ? left : of_line;
            take_lines(w, chunk->values, i, 1, w->place, n);
            w->place = (w->place + n) % width;
            i += n;
            continue;
        }
        const size_t n_lines = left / width < RUN ? left / width : RUN;
        take_lines(w, chunk->values, i, n_lines, 0, width);
        i += n_lines * width;
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
    double run[RUN];
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
        size_t n = left < of_line ? left : of_line;
        n = n < RUN ? n : RUN;
        load(w, chunk->values, i, n, run);
        take_run(&w->at[0], run, n);
        i += n;
        w->place += n;
        if (w->place == width) {
            find(w, &w->at[0], w->line++, w->label.len > 0 ? (const char *)w->label.data : "");
            begin(&w->at[0]);
            w->place = 0;
        }
    }
    return STATUS_OK;
}

enum status table_watch_take(struct table_watch *w, const struct table_chunk *chunk)
{
    if (w->is_off) {
        return STATUS_OK;
    }
    if (w->by_lines) {
        return take_along(w, chunk);
    }
    take_across(w, chunk);
    return STATUS_OK;
}

/* --- what was found --------------------------------------------------------------------------- */

bool table_watch_range(const struct table_watch *w, double *low, double *high)
{
    const struct grid *const g = w != NULL ? w->info->grid : NULL;
    if (g == NULL) {
        return false;
    }
    const struct table_extremes *const e = &w->at[0];
    size_t l = 0, h = 0;
    while (g->has_nodata && l < 2 && grid_matches_nodata(g->nodata, e->low[l])) {
        l++;
    }
    while (g->has_nodata && h < 2 && grid_matches_nodata(g->nodata, e->high[h])) {
        h++;
    }
    *low = e->low[l];
    *high = e->high[h];
    return *low <= *high && !isinf(*low) && !isinf(*high);
}

static void settle(struct table_watch *w)
{
    const char *const *const names = w->info->names;
    if (w->is_off || w->by_lines || w->is_settled || w->info->grid != NULL) {
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

enum status table_watch_codes(struct table_watch *w, struct bytes *out)
{
    if (w == NULL) {
        return STATUS_OK;
    }
    settle(w);
    for (size_t k = 0; k < w->found.n_codes; k++) {
        STATUS_TRY(table_codes_say(&w->found.codes[k], kind_of(w), out));
    }
    return STATUS_OK;
}
