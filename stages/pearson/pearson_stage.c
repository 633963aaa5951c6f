/*
 * pearson_stage - the pipeline `pearson`: the correlation of every pair of series of a table.
 *
 * Gathers the numbers in units of whole lines on the backend, hands the units to the strategy
 * that fits the way the series lie, and, when all are there, queries the matrix for what is
 * reported. Units are cut by shape alone, so the results do not depend on how the chunks were cut.
 */
#include "stages/pearson/pearson_index.h"
#include "stages/pearson/pearson_job.h"
#include "stages/pearson/pearson_order.h"
#include "stages/pearson/pearson_pairs.h"
#include "stages/pearson/pearson_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stage {
    struct pearson_job job;
};

static enum status pearson_plan(const struct stage_args *args, struct stage_need *out)
{
    struct pearson_choice choice;
    struct pearson_layout layout;
    pearson_choose(args, &choice);
    STATUS_TRY(pearson_lay_out(args, &choice, &layout));
    STATUS_TRY(pearson_layout_need(args, &choice, &layout, out));
    return pearson_check_sides(args);
}

static void pearson_free(struct stage *s)
{
    if (s == NULL) {
        return;
    }
    struct pearson_job *job = &s->job;
    job->strategy->release(job);
    pearson_job_unstage(job);
    pearson_job_release(job, &job->moments.at);
    for (size_t p = 0; p < job->n_panels; p++) {
        pearson_job_release(job, &job->panels[p]);
    }
    free(job->panels);
    free(job->stats.at.at);
    free(job->median_abs);
    free(job->is_anomalous);
    free(job->pairs);
    free(job->n_common);
    free(job->order);
    free(job->place);
    series_names_free(&job->names);
    pearson_levels_free(&job->levels);
    free(s);
}

/* Names the series that are columns: as the header does, or by their places in the file, where
 * those are not the numbers that series_names_close() gives. */
static enum status take_header(struct pearson_job *job)
{
    const struct table_info *table = job->args.inputs[0].table;
    const size_t n = table->cells_per_line;
    if (job->layout.by_lines || (table->names == NULL && table_column(table, n - 1) == n - 1)) {
        return STATUS_OK;
    }
    for (size_t c = 0; c < n; c++) {
        const char *name = table->names != NULL ? table->names[c] : "";
        char place[SERIES_PLACE_BYTES + 8];
        if (*name == '\0') {
            snprintf(place, sizeof place, "%s %zu", pearson_kind(job), table_column(table, c) + 1);
            name = place;
        }
        STATUS_TRY(series_names_add(&job->names, pearson_kind(job), name));
    }
    return STATUS_OK;
}

static enum status pearson_open(const struct stage_args *args, struct stage **out)
{
    struct pearson_choice choice;
    struct pearson_layout layout;
    *out = NULL;
    pearson_choose(args, &choice);
    STATUS_TRY(pearson_lay_out(args, &choice, &layout));
    struct stage *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a job");
    }
    s->job = (struct pearson_job){.args = *args,
                                  .name = args->inputs[0].name,
                                  .choice = choice,
                                  .layout = layout,
                                  .strategy = layout.by_lines ? &pearson_rows : &pearson_columns,
                                  .ops = args->queue->backend->ops,
                                  .queue = args->queue,
                                  .moments.min_samples = choice.min_samples};
    enum status st = take_header(&s->job);
    if (st == STATUS_OK) {
        st = s->job.strategy->open(&s->job);
    }
    if (st != STATUS_OK) {
        pearson_free(s);
        return st;
    }
    *out = s;
    return STATUS_OK;
}

/* --- numbers come in ----------------------------------------------------------------------------
 */

static enum status take_labels(struct pearson_job *job, const struct table_chunk *chunk)
{
    const char *label = chunk->labels;
    if (!job->layout.by_lines || job->choice.columns) {
        return STATUS_OK;
    }
    for (size_t k = 0; k < chunk->n_labels; k++) {
        STATUS_TRY(series_names_add(&job->names, pearson_kind(job), label));
        label += strlen(label) + 1;
    }
    return STATUS_OK;
}

/* The name of a series, whether or not all names are there yet. */
static const char *name_of(struct pearson_job *job, size_t series)
{
    const bool known = series_names_close(&job->names, pearson_kind(job), series + 1) == STATUS_OK;
    return known ? job->names.at[series] : "?";
}

/* Where number k of a chunk belongs. */
struct cell {
    const char *series;
    size_t value; /* from 1 */
};

static struct cell cell_of(struct pearson_job *job, size_t k)
{
    const struct pearson_layout *l = &job->layout;
    const size_t cell = job->unit_cells + k;
    const size_t line = job->lines + cell / l->cells, place = cell % l->cells;
    return (struct cell){name_of(job, l->by_lines ? line : place),
                         (l->by_lines ? place : line) + 1};
}

/* Names the first missing value of a chunk that is known to hold one. */
static enum status reject_missing(struct pearson_job *job, const struct table_chunk *chunk)
{
    size_t k = 0;
    while (k < chunk->n_cells && !isnan(pearson_level(chunk->values, job->layout.type, k))) {
        k++;
    }
    const struct cell cell = cell_of(job, k);
    return status_fail(STATUS_BAD_INPUT,
                       "%s: series '%s': value %zu is missing; fill it in, or set missing=pairwise",
                       job->name, cell.series, cell.value);
}

/* Looks at the values of which increments are taken. */
static enum status take_levels(struct pearson_job *job, const struct table_chunk *chunk)
{
    const struct pearson_layout *l = &job->layout;
    const struct pearson_lines lines = {
        .by_lines = l->by_lines, .cells = l->cells, .type = l->type, .diff = job->choice.diff};
    size_t k;
    STATUS_TRY(pearson_levels_take(&job->levels, &lines, chunk->values, chunk->n_cells, &k));
    if (k == chunk->n_cells) {
        return STATUS_OK;
    }
    const struct cell cell = cell_of(job, k);
    return status_fail(
        STATUS_BAD_INPUT,
        "%s: series '%s' has infinite values (value %zu); if they stand for missing numbers, list "
        "inf in missing_value: -s missing_value=inf",
        job->name, cell.series, cell.value);
}

static enum status take_unit(struct pearson_job *job)
{
    const size_t n_lines = job->unit_cells / job->layout.cells;
    STATUS_TRY(queue_check(job->queue));
    if (job->layout.by_lines) {
        STATUS_TRY(pearson_check_series(&job->args, job->lines + n_lines));
    }
    STATUS_TRY(job->strategy->take(job, n_lines));
    job->lines += n_lines;
    job->unit_cells = 0;
    return STATUS_OK;
}

/* Cells of the unit that is being gathered. */
static size_t unit_size(const struct pearson_job *job)
{
    const struct pearson_layout *l = &job->layout;
    size_t n_lines = l->unit_lines;
    if (l->lines_known && l->lines - job->lines < n_lines) {
        n_lines = l->lines - job->lines;
    }
    return n_lines * l->cells;
}

/* Numbers in file order, into units. */
static enum status take_cells(struct pearson_job *job, const char *from, size_t left)
{
    const size_t size = dtype_bytes(job->layout.type);
    while (left > 0) {
        const size_t whole = unit_size(job);
        if (whole == 0) {
            return status_fail(STATUS_INTERNAL, "%s: more lines than the %zu announced", job->name,
                               job->layout.lines);
        }
        if (job->unit_cells == 0) {
            STATUS_TRY(job->strategy->begin(job, &job->unit));
        }
        const size_t room = whole - job->unit_cells, n = left < room ? left : room;
        STATUS_TRY(job->ops->upload(job->queue, span_from(job->unit, job->unit_cells * size), from,
                                    n * size, &job->ticket));
        job->unit_cells += n;
        from += n * size;
        left -= n;
        if (job->unit_cells == whole) {
            STATUS_TRY(take_unit(job));
        }
    }
    return STATUS_OK;
}

static enum status pearson_push(struct stage *s, size_t part, const struct table_chunk *chunk,
                                uint64_t *ticket)
{
    struct pearson_job *job = &s->job;
    (void)part; /* there is but one */
    *ticket = job->ticket;
    STATUS_TRY(take_labels(job, chunk));
    if (job->choice.reject && chunk->n_missing > 0) {
        return reject_missing(job, chunk);
    }
    STATUS_TRY(take_levels(job, chunk));
    const enum status st = take_cells(job, chunk->values, chunk->n_cells);
    *ticket = job->ticket;
    return st;
}

/* --- the end ------------------------------------------------------------------------------------
 */

/* The last unit, and whether what came is a table that can be correlated. */
static enum status take_last_unit(struct pearson_job *job)
{
    const struct pearson_layout *l = &job->layout;
    if (job->unit_cells % l->cells != 0) {
        return status_fail(STATUS_INTERNAL, "%s: the numbers end within line %zu", job->name,
                           job->lines + job->unit_cells / l->cells + 1);
    }
    if (job->unit_cells > 0) {
        STATUS_TRY(take_unit(job));
    }
    if (l->lines_known && job->lines != l->lines) {
        return status_fail(STATUS_INTERNAL, "%s: %zu lines came, %zu were announced", job->name,
                           job->lines, l->lines);
    }
    if (job->lines == 0) {
        return status_fail(STATUS_BAD_INPUT, "%s: no row holds numbers", job->name);
    }
    return pearson_check_samples(&job->args, &job->choice, l, job->lines);
}

/* Brings the moments to the host. */
static enum status fetch_stats(struct pearson_job *job)
{
    const size_t n = job->n_series, capacity = job->moments.capacity;
    double *stats = malloc(moments_bytes(capacity));
    job->stats = (struct moments){{stats, moments_bytes(capacity)}, n, job->choice.min_samples};
    job->median_abs = malloc(n * sizeof *job->median_abs);
    job->is_anomalous = calloc(n, sizeof *job->is_anomalous);
    if (stats == NULL || job->median_abs == NULL || job->is_anomalous == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the moments of %zu series", n);
    }
    STATUS_TRY(job->ops->download(job->queue, stats, job->moments.at, moments_bytes(capacity)));
    for (size_t f = 1; f < MOMENTS_FIELDS && n < capacity; f++) {
        memmove(stats + f * n, stats + f * capacity, n * sizeof *stats);
    }
    return STATUS_OK;
}

/* Refuses series that are not made of numbers; tells whether samples are missing. */
static enum status check_stats(struct pearson_job *job, bool *gaps)
{
    const char *what = job->layout.n_dropped != 0 ? "increments" : "values";
    *gaps = false;
    for (size_t s = 0; s < job->n_series; s++) {
        const double min = pearson_stat(job, MOMENTS_MIN, s);
        const double max = pearson_stat(job, MOMENTS_MAX, s);
        const double missing = (double)job->n_samples - pearson_stat(job, MOMENTS_COUNT, s);
        if (isinf(min) || isinf(max)) {
            return status_fail(STATUS_BAD_INPUT, "%s: series '%s' has infinite %s; %s", job->name,
                               name_of(job, s), what,
                               job->layout.n_dropped != 0
                                   ? "mark the values that they come from as missing (NaN)"
                                   : "if they stand for missing numbers, list inf in "
                                     "missing_value: -s missing_value=inf");
        }
        if (!(pearson_stat(job, MOMENTS_M2, s) <= MOMENTS_MOST_M2)) { /* or NaN: of infinite ones */
            return status_fail(STATUS_BAD_INPUT,
                               "%s: series '%s' has %s too large to be squared (%g to %g); scale "
                               "it down",
                               job->name, name_of(job, s), what, min, max);
        }
        if (missing > 0 && job->choice.reject) {
            return status_fail(STATUS_BAD_INPUT,
                               "%s: series '%s' lacks %.0f of %zu %s; fill them in, or set "
                               "missing=pairwise",
                               job->name, name_of(job, s), missing, job->n_samples, what);
        }
        *gaps |= missing > 0;
    }
    return STATUS_OK;
}

/* Finds the pairs to report, and the strongest in any case. */
static enum status find_pairs(struct pearson_job *job)
{
    const struct pearson_choice *choice = &job->choice;
    const uint64_t defined = job->survey.n_pairs - job->survey.n_undefined;
    const size_t top = choice->top > 0 ? choice->top : 1;
    if (defined == 0) {
        return STATUS_OK;
    }
    struct pearson_wanted wanted = {.top = top < defined ? top : (size_t)defined,
                                    .threshold = choice->threshold,
                                    .most = PEARSON_PAIRS_MAX,
                                    .moments = job->moments};
    if (choice->used != PEARSON_EXACT) { /* the pairs listed are computed again, from the series */
        wanted.bound = pearson_bound(choice->used, false);
        STATUS_TRY(pearson_rows_series(job, &wanted.x));
    }
    STATUS_TRY(pearson_pairs_find(job->queue, &job->matrix, &wanted, &job->pairs, &job->n_found));
    job->n_listed = job->n_found;
    if (choice->top == 0 && job->n_found > 0) {
        const bool reached = choice->threshold > 0 && fabs(job->pairs[0].r) >= choice->threshold;
        job->n_listed = reached ? job->n_found : 0;
    }
    return STATUS_OK;
}

static enum status query(struct pearson_job *job)
{
    job->matrix = (struct matrix){.n_series = job->n_series,
                                  .panel = job->layout.panel,
                                  .type = job->layout.r_type,
                                  .panels = job->panels};
    STATUS_TRY(job->ops->matrix->survey(job->queue, &job->matrix, &job->survey, job->median_abs,
                                        &job->median_abs_all));
    STATUS_TRY(find_pairs(job));
    return pearson_order_find(job);
}

static size_t pearson_helpers(const struct stage *s)
{
    const struct pearson_job *job = &s->job;
    return job->strategy->helpers != NULL ? job->strategy->helpers(job) : 0;
}

static enum status pearson_help(struct stage *s, struct queue **queues, size_t *n)
{
    return s->job.strategy->help(&s->job, queues, n);
}

static enum status pearson_finish(struct stage *s, struct result *out, bool *more)
{
    struct pearson_job *job = &s->job;
    bool gaps = false;
    (void)more; /* all at once */
    STATUS_TRY(take_last_unit(job));
    STATUS_TRY(job->strategy->finish(job));
    STATUS_TRY(series_names_close(&job->names, pearson_kind(job), job->n_series));
    STATUS_TRY(fetch_stats(job));
    STATUS_TRY(check_stats(job, &gaps));
    if (gaps && job->strategy->fill_missing != NULL) {
        STATUS_TRY(job->strategy->fill_missing(job));
    }
    STATUS_TRY(pearson_index_leave_out(job));
    STATUS_TRY(query(job));
    if (gaps) {
        STATUS_TRY(pearson_common(job));
    }
    job->strategy->release(job);
    return pearson_report(job, out);
}

static bool pearson_by_lines(const struct stage_args *args)
{
    struct pearson_choice choice;
    pearson_choose(args, &choice);
    return choice.columns == args->inputs[0].table->lines_are_columns;
}

static const struct stage_part pearson_parts[] = {{.suffix = "clusters", .kind = STAGE_TABLE}};

const struct stage_ops stage_pearson = {
    .name = "pearson",
    .parts = pearson_parts,
    .n_parts = 1,
    .specs = pearson_specs,
    .n_specs = PEARSON_N_SPECS,
    .multiplies = true,
    .by_lines = pearson_by_lines,
    .notice = pearson_notice,
    .work = pearson_work,
    .plan = pearson_plan,
    .open = pearson_open,
    .push = pearson_push,
    .finish = pearson_finish,
    .helpers = pearson_helpers,
    .help = pearson_help,
    .free = pearson_free,
};
