/*
 * pearson_stage - the pipeline `pearson`: the correlation of every pair of series of a table.
 *
 * When all series have been multiplied the matrix is queried for what is reported.
 */
#include "stages/pearson/pearson_job.h"

#include <math.h>
#include <string.h>

static void free_job(void *context)
{
    struct pearson_job *const job = context;
    correlate_free(&job->c);
    room_free(&job->units);
    room_free(&job->arriving);
    room_free(&job->work);
    room_free(&job->slabs);
    bytes_free(&job->names.text);
    bytes_free(&job->lacking);
    bytes_free(&job->within.text);
}

static enum status new_job(struct job_io *io, struct pearson_job **out)
{
    STATUS_TRY(room_host(&io->room, 1, sizeof **out, out));
    struct pearson_job *const job = *out;
    const enum status st = pearson_begin(&io->args, &io->room, job);
    job->io = io;
    STATUS_TRY(room_keep(&io->room, free_job, job));
    return st == STATUS_OK ? pearson_numbers_open(job) : st;
}

/* Brings the moments to the host. */
static enum status fetch_stats(struct pearson_job *job)
{
    const size_t n = pearson_n_all(job), capacity = job->c.moments.capacity;
    STATUS_TRY(pearson_stats_room(job, n));
    double *const stats = job->stats.at.at;
    STATUS_TRY(job->ops->download(job->queue, stats, job->c.moments.at, moments_bytes(capacity)));
    for (size_t f = 1; f < MOMENTS_FIELDS && n < capacity; f++) {
        memmove(stats + f * n, stats + f * capacity, n * sizeof *stats);
    }
    return STATUS_OK;
}

/* Refuses series that are not made of numbers; tells whether samples are missing. */
static enum status check_stats(struct pearson_job *job)
{
    const char *what = job->layout.n_dropped != 0 ? "increments" : "values";
    for (size_t s = 0; s < pearson_n_all(job); s++) {
        const char *const file =
            job->args.inputs[s < job->n_series ? PEARSON_SERIES : PEARSON_TARGETS].name;
        const double min = pearson_stat(job, MOMENTS_MIN, s);
        const double max = pearson_stat(job, MOMENTS_MAX, s);
        const double missing = (double)job->n_samples - pearson_stat(job, MOMENTS_COUNT, s);
        if (isinf(min) || isinf(max)) {
            return status_fail(STATUS_BAD_INPUT, "%s: series '%s' has infinite %s; %s", file,
                               pearson_name(job, s), what,
                               job->layout.n_dropped != 0
                                   ? "mark the values that they come from as missing (NaN)"
                                   : "if they stand for missing numbers, list inf in "
                                     "missing_value: -s missing_value=inf");
        }
        if (!(pearson_stat(job, MOMENTS_M2, s) <= MOMENTS_MOST_M2)) { /* or NaN: of infinite ones */
            return status_fail(STATUS_BAD_INPUT,
                               "%s: series '%s' has %s too large to be squared (%g to %g); scale "
                               "it down",
                               file, pearson_name(job, s), what, min, max);
        }
        if (missing > 0 && job->choice.lagged) {
            return status_fail(STATUS_BAD_INPUT,
                               "%s: series '%s' lacks %.0f of %zu %s, and lags are of complete "
                               "series; fill them in, or set lags=0",
                               file, pearson_name(job, s), missing, job->n_samples, what);
        }
        if (missing > 0 && job->choice.reject) {
            return status_fail(STATUS_BAD_INPUT,
                               "%s: series '%s' lacks %.0f of %zu %s; fill them in, or set "
                               "missing=pairwise",
                               file, pearson_name(job, s), missing, job->n_samples, what);
        }
        job->has_gaps |= missing > 0 && !job->choice.drop;
        job->n_incomplete = job->choice.drop ? (size_t)missing : 0;
    }
    if (job->n_incomplete > 0 && job->n_samples - job->n_incomplete < job->choice.min_samples) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: %zu of %zu samples are complete in all %zu series, min_samples is "
                           "%zu; missing=pairwise takes what each pair has",
                           job->name, job->n_samples - job->n_incomplete, job->n_samples,
                           job->n_series, job->choice.min_samples);
    }
    return STATUS_OK;
}

static void count_listed(struct pearson_job *job)
{
    while (job->n_listed < job->n_found &&
           pearson_is_listed(&job->choice, job->n_listed, job->pairs)) {
        job->n_listed++;
    }
}

static enum status pearson_run(struct job_io *io)
{
    struct pearson_job *job;
    STATUS_TRY(new_job(io, &job));
    STATUS_TRY(job->layout.turned ? pearson_turn(job) : STATUS_OK);
    STATUS_TRY(pearson_has_rows(&job->layout) ? pearson_rows(job) : pearson_columns(job));
    if (pearson_has_rows(&job->layout)) {
        room_free(&job->units);
    }
    STATUS_TRY(job->choice.targets ? pearson_targets_take(job)
                                   : pearson_names_close(job, job->n_series));
    STATUS_TRY(fetch_stats(job));
    STATUS_TRY(check_stats(job));
    STATUS_TRY(job->choice.targets  ? pearson_targets_find(job)
               : job->choice.within ? pearson_within_find(job)
                                    : pearson_find(job));
    count_listed(job);
    STATUS_TRY(job->has_gaps ? pearson_common(job) : STATUS_OK);
    STATUS_TRY(pearson_q_find(job));
    correlate_release(&job->c);
    room_free(&job->units);
    room_free(&job->work);
    room_free(&job->slabs);
    STATUS_TRY(pearson_order_find(job));
    return pearson_report(job, io->out);
}

static const struct stage_part pearson_parts[PEARSON_N_PARTS] = {
    [PEARSON_SERIES] = {.suffix = "clusters", .kind = STAGE_TABLE},
    [PEARSON_TARGETS] = {.suffix = "targets",
                         .kind = STAGE_TABLE,
                         .columns = "targets_columns",
                         .unless = "targets"},
    [PEARSON_GROUPS] = {.suffix = "groups", .kind = STAGE_TABLE, .words = true, .unless = "within"},
};

const struct stage_ops stage_pearson = {
    .name = "pearson",
    .about = "Correlates every series of a table with every other, or with the series of a second "
             "table.",
    .examples = "leat run wells.clusters.csv\n"
                "leat run -s method=spearman -s top=20 wells.clusters.csv\n"
                "leat run -s diff=step walks.clusters.npy\n"
                "leat run -s threshold=0.9 -s order=cluster greenhouse.clusters.csv\n",
    .parts = pearson_parts,
    .n_parts = PEARSON_N_PARTS,
    .specs = pearson_specs,
    .n_specs = PEARSON_N_SPECS,
    .multiplies = true,
    .by_lines = pearson_by_lines,
    .notice = pearson_notice,
    .work = pearson_work,
    .plan = pearson_plan,
    .run = pearson_run,
    .told = &pearson_told,
};
