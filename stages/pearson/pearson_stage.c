/*
 * pearson_stage - the pipeline `pearson`: the correlation of every pair of series of a table.
 *
 * Gathers the numbers in units of whole lines on the backend, hands the units to the regime that
 * fits the way the series lie, and, when all are there, asks the matrix for what is reported. Units
 * are cut by shape alone, so the results do not depend on how the chunks were cut.
 */
#include "stages/pearson/pearson_job.h"
#include "stages/pearson/pearson_pairs.h"
#include "stages/pearson/pearson_report.h"

#include <math.h>
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
    const enum status st = pearson_lay_out(args, &choice, &layout);
    return st == STATUS_OK ? pearson_layout_need(args, &choice, &layout, out) : st;
}

static void pearson_free(struct stage *s)
{
    if (s == NULL) {
        return;
    }
    struct pearson_job *job = &s->job;
    job->regime->release(job);
    pearson_job_unstage(job);
    pearson_job_release(job, &job->moments.at);
    for (size_t p = 0; p < job->n_panels; p++) {
        pearson_job_release(job, &job->panels[p]);
    }
    free(job->panels);
    free(job->figures);
    free(job->median_abs);
    free(job->pairs);
    series_names_free(&job->names);
    pearson_levels_free(&job->levels);
    free(s);
}

/* Takes the header's names, when the series are what it names. */
static enum status take_header(struct pearson_job *job)
{
    const struct table_info *table = job->args.inputs[0].table;
    enum status st = STATUS_OK;
    if (job->layout.by_lines || table->names == NULL) {
        return st;
    }
    for (size_t c = 0; c < table->cells_per_line && st == STATUS_OK; c++) {
        st = series_names_add(&job->names, pearson_kind(job), table->names[c]);
    }
    return st;
}

static enum status pearson_open(const struct stage_args *args, struct stage **out)
{
    struct pearson_choice choice;
    struct pearson_layout layout;
    *out = NULL;
    pearson_choose(args, &choice);
    enum status st = pearson_lay_out(args, &choice, &layout);
    if (st != STATUS_OK) {
        return st;
    }
    struct stage *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a job");
    }
    s->job = (struct pearson_job){.args = *args,
                                  .choice = choice,
                                  .layout = layout,
                                  .regime = layout.by_lines ? &pearson_rows_regime
                                                            : &pearson_columns_regime,
                                  .ops = args->queue->backend->ops,
                                  .queue = args->queue};
    st = take_header(&s->job);
    if (st == STATUS_OK) {
        st = s->job.regime->open(&s->job);
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
    enum status st = STATUS_OK;
    const char *label = chunk->labels;
    if (!job->layout.by_lines || job->choice.columns) {
        return st;
    }
    for (size_t k = 0; k < chunk->n_labels && st == STATUS_OK; k++) {
        st = series_names_add(&job->names, pearson_kind(job), label);
        label += strlen(label) + 1;
    }
    return st;
}

/* The name of a series, whether or not all names are there yet. */
static const char *name_of(struct pearson_job *job, size_t series)
{
    const bool known = series_names_close(&job->names, pearson_kind(job), series + 1) == STATUS_OK;
    return known ? job->names.at[series] : "?";
}

/* Names the first missing value of a chunk that is known to hold one. */
static enum status reject_missing(struct pearson_job *job, const struct table_chunk *chunk)
{
    size_t k = 0;
    if (job->layout.type == DTYPE_F64) {
        while (k < chunk->n_cells && !isnan(((const double *)chunk->values)[k])) {
            k++;
        }
    } else {
        while (k < chunk->n_cells && !isnan(((const float *)chunk->values)[k])) {
            k++;
        }
    }
    const size_t cell = job->unit_cells + k;
    const size_t line = job->lines + cell / job->layout.cells, place = cell % job->layout.cells;
    return status_fail(STATUS_BAD_INPUT,
                       "%s: series '%s': value %zu is missing; fill it in, or set missing=pairwise",
                       job->args.inputs[0].name, name_of(job, job->layout.by_lines ? line : place),
                       (job->layout.by_lines ? place : line) + 1);
}

/* Looks at the values of which increments are taken. */
static enum status take_levels(struct pearson_job *job, const struct table_chunk *chunk)
{
    const struct pearson_layout *l = &job->layout;
    const struct pearson_lines lines = {
        .by_lines = l->by_lines, .cells = l->cells, .type = l->type, .diff = job->choice.diff};
    size_t k;
    const enum status st =
        pearson_levels_take(&job->levels, &lines, chunk->values, chunk->n_cells, &k);
    if (st != STATUS_OK || k == chunk->n_cells) {
        return st;
    }
    const size_t cell = job->unit_cells + k;
    const size_t line = job->lines + cell / l->cells, place = cell % l->cells;
    return status_fail(
        STATUS_BAD_INPUT,
        "%s: series '%s' has infinite values (value %zu); mark them as missing (NaN)",
        job->args.inputs[0].name, name_of(job, l->by_lines ? line : place),
        (l->by_lines ? place : line) + 1);
}

static enum status take_unit(struct pearson_job *job)
{
    const size_t n_lines = job->unit_cells / job->layout.cells;
    enum status st = queue_check(job->queue);
    if (st == STATUS_OK && job->layout.by_lines) {
        st = pearson_check_series(&job->args, job->lines + n_lines);
    }
    if (st == STATUS_OK) {
        st = job->regime->take(job, n_lines);
    }
    job->lines += n_lines;
    job->unit_cells = 0;
    return st;
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

static enum status pearson_push(struct stage *s, size_t part, const struct table_chunk *chunk,
                                uint64_t *ticket)
{
    struct pearson_job *job = &s->job;
    (void)part; /* there is but one */
    const size_t size = dtype_bytes(job->layout.type);
    const char *from = chunk->values;
    enum status st = take_labels(job, chunk);
    if (st == STATUS_OK && job->choice.reject && chunk->n_missing > 0) {
        st = reject_missing(job, chunk);
    }
    if (st == STATUS_OK) {
        st = take_levels(job, chunk);
    }
    for (size_t left = chunk->n_cells; left > 0 && st == STATUS_OK;) {
        const size_t whole = unit_size(job);
        if (whole == 0) {
            return status_fail(STATUS_INTERNAL, "%s: more lines than the %zu announced",
                               job->args.inputs[0].name, job->layout.lines);
        }
        if (job->unit_cells == 0) {
            st = job->regime->begin(job, &job->unit);
        }
        const size_t room = whole - job->unit_cells, n = left < room ? left : room;
        if (st == STATUS_OK) {
            st = job->ops->upload(job->queue, span_from(job->unit, job->unit_cells * size), from,
                                  n * size, &job->ticket);
        }
        job->unit_cells += n;
        from += n * size;
        left -= n;
        if (st == STATUS_OK && job->unit_cells == whole) {
            st = take_unit(job);
        }
    }
    *ticket = job->ticket;
    return st;
}

/* --- the end ------------------------------------------------------------------------------------
 */

/* The last unit, and whether what came is a table that can be correlated. */
static enum status take_rest(struct pearson_job *job)
{
    const struct pearson_layout *l = &job->layout;
    if (job->unit_cells % l->cells != 0) {
        return status_fail(STATUS_INTERNAL, "%s: the numbers end within line %zu",
                           job->args.inputs[0].name, job->lines + job->unit_cells / l->cells + 1);
    }
    if (job->unit_cells > 0) {
        const enum status st = take_unit(job);
        if (st != STATUS_OK) {
            return st;
        }
    }
    if (l->lines_known && job->lines != l->lines) {
        return status_fail(STATUS_INTERNAL, "%s: %zu lines came, %zu were announced",
                           job->args.inputs[0].name, job->lines, l->lines);
    }
    if (job->lines == 0) {
        return status_fail(STATUS_BAD_INPUT, "%s: no row holds numbers", job->args.inputs[0].name);
    }
    return pearson_check_samples(&job->args, &job->choice, l, job->lines);
}

/* Brings the moments to the host. */
static enum status fetch_figures(struct pearson_job *job)
{
    const size_t n = job->n_series, capacity = job->moments.capacity;
    job->figures = malloc(moments_bytes(capacity));
    job->median_abs = malloc(n * sizeof *job->median_abs);
    if (job->figures == NULL || job->median_abs == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the figures of %zu series", n);
    }
    const enum status st =
        job->ops->download(job->queue, job->figures, job->moments.at, moments_bytes(capacity));
    for (size_t f = 1; f < MOMENTS_FIELDS && n < capacity && st == STATUS_OK; f++) {
        memmove(job->figures + f * n, job->figures + f * capacity, n * sizeof *job->figures);
    }
    return st;
}

/* Refuses series that are not made of numbers; tells whether samples are missing. */
static enum status check_figures(struct pearson_job *job, bool *gaps)
{
    const char *what = job->layout.lost != 0 ? "increments" : "values";
    const double *count = pearson_figures(job, MOMENTS_COUNT);
    *gaps = false;
    for (size_t s = 0; s < job->n_series; s++) {
        if (isinf(pearson_figures(job, MOMENTS_MIN)[s]) ||
            isinf(pearson_figures(job, MOMENTS_MAX)[s])) {
            return status_fail(STATUS_BAD_INPUT,
                               "%s: series '%s' has infinite %s; mark them as missing (NaN)",
                               job->args.inputs[0].name, name_of(job, s), what);
        }
        if (!isfinite(pearson_figures(job, MOMENTS_M2)[s])) { /* infinite, or their difference */
            return status_fail(STATUS_BAD_INPUT,
                               "%s: series '%s' has %s too large to be squared (%g to %g); scale "
                               "it down",
                               job->args.inputs[0].name, name_of(job, s), what,
                               pearson_figures(job, MOMENTS_MIN)[s],
                               pearson_figures(job, MOMENTS_MAX)[s]);
        }
        if (count[s] < (double)job->n_samples) {
            *gaps = true;
            if (job->choice.reject) {
                return status_fail(STATUS_BAD_INPUT,
                                   "%s: series '%s' lacks %.0f of %zu %s; fill them in, or set "
                                   "missing=pairwise",
                                   job->args.inputs[0].name, name_of(job, s),
                                   (double)job->n_samples - count[s], job->n_samples, what);
            }
        }
    }
    return STATUS_OK;
}

/* Asks for the pairs to report, and for the strongest in any case. */
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
                                    .x_type = job->layout.x_type,
                                    .n_samples = job->n_samples,
                                    .moments = job->moments};
    enum status st = STATUS_OK;
    if (choice->used != PEARSON_EXACT) { /* the pairs listed are taken again, from the series */
        wanted.bound = pearson_bound(choice->used);
        st = pearson_rows_series(job, &wanted.x);
    }
    if (st == STATUS_OK) {
        st = pearson_pairs_find(job->queue, &job->matrix, &wanted, &job->pairs, &job->n_found);
    }
    job->n_listed = job->n_found;
    if (choice->top == 0 && st == STATUS_OK && job->n_found > 0) {
        const bool reached = choice->threshold > 0 && fabs(job->pairs[0].r) >= choice->threshold;
        job->n_listed = reached ? job->n_found : 0;
    }
    return st;
}

static enum status ask(struct pearson_job *job)
{
    job->matrix = (struct matrix){.n_series = job->n_series,
                                  .panel = job->layout.panel,
                                  .type = job->layout.r_type,
                                  .panels = job->panels};
    const enum status st = job->ops->matrix->survey(job->queue, &job->matrix, &job->survey,
                                                    job->median_abs, &job->median_abs_all);
    return st == STATUS_OK ? find_pairs(job) : st;
}

static enum status pearson_finish(struct stage *s, struct result *out, bool *more)
{
    struct pearson_job *job = &s->job;
    bool gaps = false;
    (void)more; /* all at once */
    enum status st = take_rest(job);
    if (st == STATUS_OK) {
        st = job->regime->finish(job);
    }
    if (st == STATUS_OK) {
        st = series_names_close(&job->names, pearson_kind(job), job->n_series);
    }
    if (st == STATUS_OK) {
        st = fetch_figures(job);
    }
    if (st == STATUS_OK) {
        st = check_figures(job, &gaps);
    }
    if (st == STATUS_OK && gaps && job->regime->mend != NULL) {
        st = job->regime->mend(job, pearson_figures(job, MOMENTS_COUNT));
    }
    if (st == STATUS_OK) {
        st = ask(job);
    }
    job->regime->release(job);
    return st == STATUS_OK ? pearson_report(job, out) : st;
}

static const struct stage_part pearson_parts[] = {{.suffix = "clusters", .kind = STAGE_TABLE}};

const struct stage_ops stage_pearson = {
    .name = "pearson",
    .parts = pearson_parts,
    .n_parts = 1,
    .specs = pearson_specs,
    .n_specs = PEARSON_N_SPECS,
    .plan = pearson_plan,
    .open = pearson_open,
    .push = pearson_push,
    .finish = pearson_finish,
    .free = pearson_free,
};
