/*
 * table_watch - see table_watch.h: from chunks to series, and from what table_extremes has of these
 * to what is said of them (table_codes).
 *
 * Outermost values may be had in any order. So each thread that looks adds those of series across
 * lines to what some thread has seen before, which is put together at the end; those of a whole
 * line, or of its part in a chunk, travel with the chunk. The course of a series needs order. It is
 * followed as chunks are taken, which costs nothing once the series has turned, and nearly all do
 * within three numbers; that of a whole line where its numbers are looked at.
 */
#include "formats/table/table_watch.h"

#include "formats/table/table_codes.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SMALL = 1000,         /* series whose state is not worth being counted */
    MOST_SEEN = 256 << 10 /* series in the sights of threads that look before the turn */
};

/* What some thread has seen of all series across lines. */
struct sight {
    struct sight *next;
    struct table_extremes at[];
};

/* A line of a chunk, or what of it the chunk has. */
struct part {
    size_t begin, n; /* numbers of the chunk */
    struct table_extremes e;
    struct table_course course; /* of whole lines */
};

struct table_look {
    size_t n_cells;               /* of the chunk, from its begin on, that have been looked at */
    struct bytes parts;           /* of lines: those of which something is to be told, or that are
                                     not whole */
    struct table_heights heights; /* where they are that */
};

struct table_watch {
    const struct table_info *info;
    enum table_watch_series series;
    bool is_off;                  /* there are too many */
    bool ends;                    /* after TABLE_WATCH_OF_ARRAYS numbers */
    size_t n_series;              /* across lines; else 1 */
    uint64_t n_cells;             /* numbers that have been taken */
    pthread_mutex_t lock;         /* of: */
    struct sight *sights;         /* of series across lines: those that no thread is using */
    size_t n_sights;              /* with those that threads are using */
    struct table_course *courses; /* [n_series]: of series across lines; of the last line */
    struct table_extremes last;   /* line, which is not whole yet */
    struct bytes label;           /* of that line, with its NUL; empty: it has none */
    bool is_settled;              /* series across lines have been looked at */
    struct table_heights heights; /* where it is that */
    struct table_findings found;
};

/* --- the table -------------------------------------------------------------------------------- */

/* Sights of all threads but the one that takes. */
static size_t most_sights(const struct table_watch *w)
{
    return MOST_SEEN / w->n_series;
}

size_t table_watch_bytes(const struct table_watch *w, size_t n_threads)
{
    if (w == NULL || w->n_series <= SMALL) {
        return 0;
    }
    const size_t most = most_sights(w), n = n_threads < most ? n_threads : most;
    return w->n_series * (sizeof *w->courses + (n + 1) * sizeof(struct table_extremes));
}

/* Of heights, before there are any. */
static void begin_heights(const struct table_watch *w, struct table_heights *h)
{
    const struct grid *const g = w->info->grid;
    table_heights_begin(h, g != NULL && g->has_nodata ? g->nodata : (double)NAN);
}

enum status table_watch_new(const struct table_info *info, enum table_watch_series series,
                            struct table_watch **out)
{
    struct table_watch *const w = *out = calloc(1, sizeof *w);
    const bool across = series == TABLE_WATCH_ACROSS;
    const bool is_off = across && info->cells_per_line > TABLE_WATCH_SERIES;
    const size_t n = across && !is_off ? info->cells_per_line : 1;
    struct table_course *const courses = malloc(n * sizeof *courses);
    if (w == NULL || courses == NULL) {
        free(courses);
        free(w);
        *out = NULL;
        return status_fail(STATUS_NO_MEMORY, "no memory to look at %zu series", n);
    }
    *w = (struct table_watch){.info = info,
                              .series = series,
                              .is_off = is_off,
                              .ends = strcmp(info->format, "csv") != 0,
                              .n_series = n,
                              .courses = courses};
    pthread_mutex_init(&w->lock, NULL);
    table_extremes_begin(&w->last);
    begin_heights(w, &w->heights);
    for (size_t s = 0; s < n; s++) {
        table_course_begin(&courses[s]);
    }
    return STATUS_OK;
}

void table_watch_free(struct table_watch *w)
{
    if (w != NULL) {
        for (struct sight *s = w->sights; s != NULL;) {
            struct sight *const next = s->next;
            free(s);
            s = next;
        }
        pthread_mutex_destroy(&w->lock);
        bytes_free(&w->label);
        free(w->courses);
        free(w);
    }
}

/* --- looking at a chunk, on any thread -------------------------------------------------------- */

/* Numbers of n series in n_lines lines, from the `first` of the chunk on. */
static struct table_tile tile_of(const struct table_watch *w, const struct table_chunk *chunk,
                                 size_t first, size_t n_lines, size_t n)
{
    return (struct table_tile){.values = chunk->values,
                               .type = w->info->dtype,
                               .first = first,
                               .n = n,
                               .n_lines = n_lines,
                               .stride = w->n_series};
}

/* NULL: all of `most` are in use, or there is no memory. */
static struct sight *take_sight(struct table_watch *w, size_t most)
{
    pthread_mutex_lock(&w->lock);
    struct sight *s = w->sights;
    const bool is_new = s == NULL && w->n_sights < most;
    w->sights = s != NULL ? s->next : NULL;
    w->n_sights += is_new;
    pthread_mutex_unlock(&w->lock);
    if (is_new) {
        s = malloc(sizeof *s + w->n_series * sizeof *s->at);
        for (size_t k = 0; s != NULL && k < w->n_series; k++) {
            table_extremes_begin(&s->at[k]);
        }
    }
    return s;
}

static void give_sight(struct table_watch *w, struct sight *s)
{
    pthread_mutex_lock(&w->lock);
    s->next = w->sights;
    w->sights = s;
    pthread_mutex_unlock(&w->lock);
}

/* At all numbers, of which the first stands at `place` of its line, with one of `most` sights; how
 * many: 0 without one. */
static size_t look_across(struct table_watch *w, const struct table_chunk *chunk, size_t place,
                          size_t most)
{
    const size_t width = w->n_series;
    struct sight *const s = take_sight(w, most);
    if (s == NULL) {
        return 0;
    }
    for (size_t i = 0; i < chunk->n_cells;) {
        const size_t left = chunk->n_cells - i, of_line = width - place;
        const size_t part = left < of_line ? left : of_line; /* of a line, unless it begins here */
        const size_t n_lines = place == 0 && left >= width ? left / width : 1;
        const struct table_tile tile = tile_of(w, chunk, i, n_lines, part);
        table_extremes_take(s->at + place, &tile);
        place = (place + part) % width;
        i += n_lines * part;
    }
    give_sight(w, s);
    return chunk->n_cells;
}

/* At the lines' numbers from `first` on. Stops where much is to be told, so that little memory is
 * held. */
static size_t look_along(const struct table_watch *w, const struct table_chunk *chunk, size_t first,
                         size_t place, struct bytes *parts)
{
    const size_t width = w->info->cells_per_line, most = chunk->n_cells / 256 + 8;
    size_t n = 0, i = first;
    for (; i < chunk->n_cells; i += n) {
        const size_t left = chunk->n_cells - i, of_line = width - place;
        n = left < of_line ? left : of_line;
        const struct table_tile tile = tile_of(w, chunk, i, n, 1);
        struct part p = {.begin = i, .n = n};
        table_extremes_begin(&p.e);
        table_extremes_take(&p.e, &tile);
        table_course_begin(&p.course);
        if (n == width) {
            table_course_take(&p.course, &tile);
        }
        if ((n < width || table_codes_has(&p.e, &p.course)) &&
            (parts->len == most * sizeof p || bytes_append(parts, &p, sizeof p) != STATUS_OK)) {
            break;
        }
        place = 0;
    }
    return i - first;
}

struct table_look *table_watch_look(struct table_watch *w, const struct table_chunk *chunk)
{
    const bool for_heights = w->series == TABLE_WATCH_HEIGHTS;
    struct table_look *const l =
        !w->is_off && (for_heights || !w->ends) ? calloc(1, sizeof *l) : NULL;
    if (l == NULL) {
        return NULL;
    }
    if (for_heights) {
        begin_heights(w, &l->heights);
        table_heights_take(&l->heights, chunk, w->info->dtype);
    } else if (w->series == TABLE_WATCH_LINES) {
        l->n_cells = look_along(w, chunk, 0, table_place(w->info, chunk), &l->parts);
    } else {
        l->n_cells = look_across(w, chunk, table_place(w->info, chunk), most_sights(w));
    }
    return l;
}

void table_look_free(struct table_look *l)
{
    if (l != NULL) {
        bytes_free(&l->parts);
        free(l);
    }
}

/* --- taking what was seen, in order ----------------------------------------------------------- */

/* What a series is. */
static const char *kind_of(const struct table_watch *w)
{
    return (w->series == TABLE_WATCH_LINES) == w->info->lines_are_columns ? "column" : "row";
}

static void find(struct table_watch *w, const struct table_extremes *e,
                 const struct table_course *course, size_t series, const char *name)
{
    if (!table_codes_has(e, course)) {
        return;
    }
    struct excerpt shown = excerpt_of(name, strlen(name));
    struct excerpt whole;
    const bool is_column = w->series != TABLE_WATCH_LINES && !w->info->lines_are_columns;
    const size_t number = is_column ? table_column(w->info, series) : series;
    if (*name != '\0') {
        snprintf(whole.text, sizeof whole.text, "%s '%.52s'", kind_of(w), shown.text);
    } else {
        snprintf(whole.text, sizeof whole.text, "%s %zu", kind_of(w), number + 1);
    }
    table_codes_find(e, course, series, whole, &w->found);
}

static void follow_across(struct table_watch *w, const struct table_chunk *chunk)
{
    const size_t width = w->n_series, place = (size_t)(w->n_cells % width);
    for (size_t s = 0; s < width; s++) {
        const size_t first = (s + width - place) % width;
        if (w->courses[s].rises && first < chunk->n_cells) {
            const size_t n_lines = (chunk->n_cells - first - 1) / width + 1;
            const struct table_tile tile = tile_of(w, chunk, first, n_lines, 1);
            table_course_take(&w->courses[s], &tile);
        }
    }
}

/* The names of the lines that begin in a chunk, from that of `line` on. */
struct labels {
    const char *text;
    size_t n;
    uint64_t line;
};

/* Makes w->label the one of a line, no earlier than the last. */
static enum status take_label(struct table_watch *w, struct labels *l, uint64_t line)
{
    bytes_clear(&w->label);
    for (; l->n > 0 && l->line < line; l->n--, l->line++) {
        l->text += strlen(l->text) + 1;
    }
    return l->n > 0 ? bytes_append(&w->label, l->text, strlen(l->text) + 1) : STATUS_OK;
}

static enum status take_part(struct table_watch *w, const struct table_chunk *chunk,
                             const struct part *p, struct labels *labels)
{
    const size_t width = w->info->cells_per_line;
    const uint64_t at = w->n_cells + p->begin, line = at / width;
    if (at % width == 0) {
        table_extremes_begin(&w->last);
        table_course_begin(w->courses);
        STATUS_TRY(take_label(w, labels, line));
    }
    table_extremes_merge(&w->last, &p->e);
    if (p->n == width) {
        *w->courses = p->course;
    } else {
        const struct table_tile tile = tile_of(w, chunk, p->begin, p->n, 1);
        table_course_take(w->courses, &tile);
    }
    if (at % width + p->n == width) {
        find(w, &w->last, w->courses, (size_t)line,
             w->label.len > 0 ? (const char *)w->label.data : "");
    }
    return STATUS_OK;
}

static enum status no_memory(void)
{
    return status_fail(STATUS_NO_MEMORY, "no memory to look at numbers");
}

/* Looks at the numbers that nobody has looked at, a part after the other. */
static enum status take_along(struct table_watch *w, const struct table_chunk *chunk,
                              const struct table_look *seen)
{
    const size_t width = w->info->cells_per_line;
    struct labels labels = {chunk->labels, chunk->n_labels, (w->n_cells + width - 1) / width};
    struct bytes own = {0};
    const struct bytes *parts = seen != NULL ? &seen->parts : &own;
    enum status st = STATUS_OK;
    for (size_t n = seen != NULL ? seen->n_cells : 0;;) {
        const struct part *const p = (const void *)parts->data;
        for (size_t k = 0; k < parts->len / sizeof *p && st == STATUS_OK; k++) {
            st = take_part(w, chunk, &p[k], &labels);
        }
        if (n == chunk->n_cells || st != STATUS_OK) {
            break;
        }
        bytes_clear(&own);
        parts = &own;
        const size_t more = look_along(w, chunk, n, (size_t)((w->n_cells + n) % width), &own);
        st = more == 0 ? no_memory() : st;
        n += more;
    }
    bytes_free(&own);
    return st;
}

static enum status take_across(struct table_watch *w, const struct table_chunk *chunk,
                               const struct table_look *seen)
{
    const bool is_seen = seen != NULL && seen->n_cells > 0;
    if (!is_seen && chunk->n_cells > 0 &&
        look_across(w, chunk, (size_t)(w->n_cells % w->n_series), SIZE_MAX) == 0) {
        return no_memory();
    }
    follow_across(w, chunk);
    return STATUS_OK;
}

static void take_heights(struct table_watch *w, const struct table_chunk *chunk,
                         const struct table_look *seen)
{
    if (seen != NULL && !seen->heights.is_full) {
        table_heights_merge(&w->heights, &seen->heights);
    } else {
        table_heights_take(&w->heights, chunk, w->info->dtype);
    }
}

/* The array goes on: what has only begun is no series, and what counts may not do so to its end. */
static void stop(struct table_watch *w)
{
    for (size_t s = 0; s < w->n_series; s++) {
        w->courses[s].rises = false;
    }
}

enum status table_watch_take(struct table_watch *w, const struct table_chunk *chunk,
                             const struct table_look *seen)
{
    if (w->is_off) {
        return STATUS_OK;
    }
    if (w->series == TABLE_WATCH_HEIGHTS) {
        take_heights(w, chunk, seen);
        return STATUS_OK;
    }
    const uint64_t left = w->ends ? TABLE_WATCH_OF_ARRAYS - w->n_cells : UINT64_MAX;
    struct table_chunk first = *chunk;
    first.n_cells = chunk->n_cells < left ? chunk->n_cells : (size_t)left;
    STATUS_TRY(w->series == TABLE_WATCH_LINES ? take_along(w, &first, seen)
                                              : take_across(w, &first, seen));
    w->n_cells += first.n_cells;
    if (first.n_cells < chunk->n_cells) {
        stop(w);
    }
    return STATUS_OK;
}

/* --- what was found --------------------------------------------------------------------------- */

bool table_watch_range(const struct table_watch *w, double *low, double *high)
{
    if (w == NULL || w->series != TABLE_WATCH_HEIGHTS) {
        return false;
    }
    *low = w->heights.rest.low[0];
    *high = w->heights.rest.high[0];
    return *low <= *high && !isinf(*low) && !isinf(*high);
}

enum status table_watch_heights(struct table_watch *w, struct bytes *out)
{
    struct table_findings found = {.n_codes = 0};
    if (w == NULL || w->series != TABLE_WATCH_HEIGHTS) {
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
    struct sight *const all = w->sights; /* nobody is looking any more */
    if (w->is_settled || all == NULL) {
        return;
    }
    w->is_settled = true;
    for (const struct sight *more = all->next; more != NULL; more = more->next) {
        for (size_t s = 0; s < w->n_series; s++) {
            table_extremes_merge(&all->at[s], &more->at[s]);
        }
    }
    for (size_t s = 0; s < w->n_series; s++) {
        find(w, &all->at[s], &w->courses[s], s, names != NULL ? names[s] : "");
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
