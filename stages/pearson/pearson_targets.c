/*
 * pearson_targets - the series of X.targets.* against all of X: no other pair has a coefficient.
 *
 * The series of X stay in standard form as they come, and meet the targets at the end. Targets are
 * numbered after them wherever both have names or moments: target k is series n_series + k. The
 * pairs all fit a list (pearson_list.c).
 */
#include "stages/pearson/pearson_job.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- shapes ----------------------------------------------------------------------------------- */

/* The arguments of a job whose first file were the targets'. */
static struct stage_args args_of_targets(const struct stage_args *args)
{
    struct stage_args of_targets = *args;
    of_targets.inputs[0] = args->inputs[PEARSON_TARGETS];
    return of_targets;
}

/* Targets in the table, known or guessed. */
static size_t expected(const struct stage_args *args)
{
    const struct stage_args of = args_of_targets(args);
    const struct table_info *const t = of.inputs[0].table;
    return !pearson_by_lines(&of) ? t->cells_per_line
           : t->n_lines > 0       ? t->n_lines
                                  : t->n_lines_estimate + t->n_lines_estimate / 2 + 1;
}

enum status pearson_targets_begin(struct pearson_job *job)
{
    const struct stage_input *const in = &job->args.inputs[PEARSON_TARGETS];
    if (in->table == NULL || in->table->grid != NULL) {
        return status_fail(STATUS_BAD_INPUT, "%s: targets are a table of series", in->name);
    }
    job->n_targets = expected(&job->args);
    return STATUS_OK;
}

enum status pearson_targets_count(struct pearson_job *job)
{
    const size_t t = job->n_targets, levels = pearson_levels(&job->layout);
    const uint64_t pairs = (uint64_t)t * job->n_series;
    STATUS_TRY(pearson_list_count(job, pairs));
    room_count(&job->work, (uint64_t)t * levels * 2 * sizeof(double),
               (uint64_t)t *
                       (2 * levels * sizeof(double) + correlate_z_bytes(&job->c, PEARSON_EXACT)) +
                   pairs * sizeof(double));
    return STATUS_OK;
}

/* --- the file --------------------------------------------------------------------------------- */

/* What is read of it. */
struct reading {
    struct stage_args args;
    const struct table_info *table;
    bool by_lines, are_named; /* a line is a series; which has a label */
    size_t levels;            /* numbers of each series, before increments */
    double *cells;            /* series by series */
    size_t n, most;           /* numbers so far; there is room for */
    size_t skipped;           /* 1: the first series is the index that X begins with, too */
};

static enum status wrong_length(const struct pearson_job *job, const struct reading *r, size_t n)
{
    const bool more = n > r->levels && !r->by_lines; /* which come no further */
    return status_fail(STATUS_BAD_INPUT,
                       "%s: its series have %s%zu numbers, those of %s %zu; targets have the same "
                       "samples (series=rows or series=columns says where series lie)",
                       r->args.inputs[0].name, more ? "more than " : "", more ? r->levels : n,
                       job->name, r->levels);
}

static enum status take_chunk(struct pearson_job *job, struct reading *r,
                              const struct table_chunk *chunk)
{
    const size_t width = r->table->cells_per_line;
    const char *label = chunk->labels;
    for (size_t k = 0; k < chunk->n_labels && r->are_named; k++, label += strlen(label) + 1) {
        STATUS_TRY(pearson_name_add(job, label));
    }
    if (chunk->n_cells > r->most - r->n) {
        return r->by_lines ? status_fail(STATUS_START_OVER, "%s: more targets than were expected",
                                         r->args.inputs[0].name)
                           : wrong_length(job, r, r->levels + 1);
    }
    for (size_t k = 0; k < chunk->n_cells; k++, r->n++) {
        const size_t at = r->by_lines ? r->n : r->n % width * r->levels + r->n / width;
        r->cells[at] = dtype_real(r->table->dtype, chunk->values, k);
        if (job->choice.reject && isnan(r->cells[at])) {
            return status_fail(STATUS_BAD_INPUT,
                               "%s: value %zu of series %zu (the first are 1) is missing; fill it "
                               "in, or set missing=pairwise",
                               r->args.inputs[0].name, at % r->levels + 1, at / r->levels + 1);
        }
    }
    return STATUS_OK;
}

/* Names by a header, or by numbers. */
static enum status close_names(struct pearson_job *job, const struct reading *r)
{
    const size_t before = job->n_series + job->n_left_out;
    for (size_t k = job->names.n - before; k < job->n_targets; k++) {
        char number[SERIES_PLACE_BYTES + 8];
        snprintf(number, sizeof number, "target %zu", k + 1);
        const char *const name =
            !r->by_lines && r->table->names != NULL ? r->table->names[k + r->skipped] : "";
        STATUS_TRY(pearson_name_add(job, *name != '\0' ? name : number));
    }
    return pearson_names_close(job, job->n_series + job->n_targets);
}

/* The index that was left out of X, by its name. */
static bool begins_with_index(const struct pearson_job *job, const struct reading *r)
{
    const struct table_info *const x = job->args.inputs[PEARSON_SERIES].table;
    return job->n_left_out > 0 && !r->by_lines && x->names != NULL && r->table->names != NULL &&
           strcmp(x->names[0], r->table->names[0]) == 0;
}

static enum status read_all(struct pearson_job *job, struct reading *r)
{
    const struct table_chunk *chunk;
    const size_t width = r->table->cells_per_line;
    if (r->by_lines && width != r->levels) {
        return wrong_length(job, r, width);
    }
    STATUS_TRY(io_chunk(job->io, PEARSON_TARGETS, &chunk));
    while (chunk != NULL) {
        STATUS_TRY(take_chunk(job, r, chunk));
        STATUS_TRY(io_chunk(job->io, PEARSON_TARGETS, &chunk));
    }
    if (!r->by_lines && r->n < r->most) {
        return wrong_length(job, r, r->n / width);
    }
    r->skipped = begins_with_index(job, r) ? 1 : 0;
    job->n_targets = r->by_lines ? r->n / width : width - r->skipped;
    if (job->n_targets == 0) {
        return status_fail(STATUS_BAD_INPUT, "%s: no row holds numbers", r->args.inputs[0].name);
    }
    return close_names(job, r);
}

/* Uploaded, as increments or ranks where these are asked for. */
static enum status bring(struct pearson_job *job, const struct reading *r, struct span *x)
{
    const size_t n = job->n_targets;
    uint64_t ticket;
    struct span levels;
    STATUS_TRY(room_span(&job->work, n, r->levels * sizeof(double), &levels));
    STATUS_TRY(room_span(&job->work, n, job->n_samples * sizeof(double), x));
    STATUS_TRY(job->ops->upload(job->queue, levels, r->cells + r->skipped * r->levels,
                                n * r->levels * sizeof(double), &ticket));
    STATUS_TRY(job->ops->upload_wait(job->queue, ticket));
    STATUS_TRY(pearson_derive(job, levels, DTYPE_F64, n, x));
    job->targets_x = *x;
    if (job->layout.x_type == DTYPE_F64) {
        return STATUS_OK;
    }
    float *narrow;
    STATUS_TRY(room_host(&job->work, n * r->levels, sizeof *narrow, &narrow));
    for (size_t k = 0; k < n * r->levels; k++) {
        narrow[k] = (float)r->cells[r->skipped * r->levels + k];
    }
    STATUS_TRY(room_span(&job->work, n, r->levels * sizeof *narrow, &job->targets_x));
    STATUS_TRY(job->ops->upload(job->queue, job->targets_x, narrow, n * r->levels * sizeof *narrow,
                                &ticket));
    return job->ops->upload_wait(job->queue, ticket);
}

enum status pearson_targets_take(struct pearson_job *job)
{
    struct reading r = {.args = args_of_targets(&job->args)};
    struct pearson_choice choice;
    pearson_choose(&r.args, &choice);
    r.table = r.args.inputs[0].table;
    r.by_lines = pearson_by_lines(&r.args);
    r.are_named = r.by_lines && !choice.columns;
    r.levels = job->n_samples + job->layout.n_dropped;
    r.most = job->n_targets * r.levels;
    STATUS_TRY(pearson_names_close(job, job->n_series));
    STATUS_TRY(room_host(&job->work, r.most, sizeof *r.cells, &r.cells));
    STATUS_TRY(read_all(job, &r));
    struct span x;
    STATUS_TRY(bring(job, &r, &x));
    return correlate_targets(&job->c, x, job->n_targets);
}

/* --- coefficients ----------------------------------------------------------------------------- */

enum status pearson_targets_find(struct pearson_job *job)
{
    const size_t n = job->n_series, n_pairs = n * job->n_targets;
    struct span r;
    uint64_t n_unsure = 0;
    STATUS_TRY(pearson_list_room(job, n_pairs));
    STATUS_TRY(room_span(&job->work, n_pairs, sizeof(double), &r));
    STATUS_TRY(correlate_with_targets(&job->c, job->targets_x, r, job->has_gaps, &n_unsure));
    STATUS_TRY(pearson_rows_sure(job, n_unsure));
    STATUS_TRY(job->ops->download(job->queue, job->held_r, r, n_pairs * sizeof(double)));
    for (size_t k = 0; k < n_pairs; k++) {
        pearson_list_add(job, n + k / n, k % n, job->held_r[k]);
    }
    return pearson_list_find(job, n_pairs);
}
