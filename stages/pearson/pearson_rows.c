/*
 * pearson_rows - series along lines, and across lines once they are turned: brought panel by panel,
 * as increments where these are asked for, or as ranks of either, to those who correlate them
 * (correlate.h).
 *
 * Pairs whose common samples lie very far from the mean of a series, because of an outlier
 * elsewhere, take the series themselves. The exact form keeps none, which would double its memory
 * for what hardly any table has: the job starts over and keeps them. Those that were turned stay
 * where the standard form does not take their place; of a pipe, which cannot start over, they and
 * their increments do.
 */
#include "formats/base/log.h"
#include "stages/pearson/pearson_job.h"

/* Increments or ranks of a panel, where they do not stay. */
static enum status derived_room(struct pearson_job *job)
{
    return job->derived.at != NULL ? STATUS_OK
                                   : room_span(&job->units, correlate_most_rows(&job->c),
                                               correlate_x_bytes(&job->c), &job->derived);
}

enum status pearson_rows_count(struct pearson_job *job)
{
    const struct pearson_layout *const l = &job->layout;
    const struct panels_config shared = correlate_shared(&job->c);
    const bool stages = l->by_lines && (!l->keep_x || l->derived);
    struct span unit;
    STATUS_TRY(correlate_count(&job->c));
    for (size_t k = 0; k < 2 && stages; k++) {
        STATUS_TRY(k == 0 || l->lines > l->unit_lines ? pearson_stage(job, &job->units, &unit)
                                                      : STATUS_OK);
    }
    STATUS_TRY(l->derived && !l->keep_x ? derived_room(job) : STATUS_OK);
    room_count(&job->units, 0,
               job->choice.ranks ? job->ops->pearson->rank_bytes(
                                       job->queue, correlate_most_rows(&job->c), job->n_samples)
                                 : 0);
    STATUS_TRY(job->choice.pairwise ? pearson_common_room(job) : STATUS_OK);
    room_count(&job->work, 0,
               pearson_shares(job) ? job->args.most_helpers * panels_home_bytes(&shared) : 0);
    return STATUS_OK;
}

static enum status are_more(struct pearson_job *job, bool *are)
{
    if (!job->layout.turned) {
        return pearson_more(job, are);
    }
    *are = job->c.n_taken < job->n_series;
    return *are && job->c.n_taken > 0 ? io_pause(job->io) : STATUS_OK;
}

/* The lines of the next panel; x: where they go if they are its series, and stay. */
static enum status next_lines(struct pearson_job *job, struct span x, struct span *lines, size_t *n)
{
    const struct pearson_layout *const l = &job->layout;
    if (l->turned) {
        const size_t left = job->n_series - job->c.n_taken;
        *lines = span_from(job->levels, job->c.n_taken * l->level_bytes);
        *n = left < l->panel ? left : l->panel;
        return STATUS_OK;
    }
    *lines = x;
    STATUS_TRY(x.at == NULL || l->derived ? pearson_stage(job, &job->units, lines) : STATUS_OK);
    STATUS_TRY(pearson_read(job, *lines, n));
    job->lines += *n;
    return pearson_check_series(job, job->lines, true);
}

enum status pearson_derive(struct pearson_job *job, struct span levels, enum dtype type, size_t n,
                           struct span *x)
{
    struct series_rows rows = {.at = levels,
                               .type = type,
                               .n_series = n,
                               .n_samples = job->n_samples + job->layout.n_dropped};
    if (!job->layout.derived) {
        *x = levels;
        return STATUS_OK;
    }
    if (job->layout.n_dropped != 0) {
        STATUS_TRY(job->ops->pearson->diff_rows(job->queue, &rows, job->choice.diff, *x));
        rows = (struct series_rows){
            .at = *x, .type = DTYPE_F64, .n_series = n, .n_samples = job->n_samples};
    }
    return job->choice.ranks ? job->ops->pearson->rank_rows(job->queue, &rows, *x) : STATUS_OK;
}

/* Makes series of n lines. *x: where these stay, or none. */
static enum status to_series(struct pearson_job *job, struct span lines, size_t n, struct span *x)
{
    if (job->layout.derived && x->at == NULL) {
        STATUS_TRY(derived_room(job));
        *x = job->derived;
    }
    return pearson_derive(job, lines, job->layout.type, n, x);
}

/* --- panels on further devices ---------------------------------------------------------------- */

/* What each member has to do at least: as much as opening a device takes, and bringing it all
 * series (an H200 gives another one 4e11 bytes a second, but there may be several). */
static const double opening_s = 0.25, bytes_per_s = 2e11;

static double pairs(size_t n)
{
    return (double)n * (double)n / 2;
}

/* When further devices are worth their opening. */
static size_t helpers_wanted(const void *context)
{
    const struct pearson_job *const job = context;
    const enum pearson_precision used = job->choice.used;
    if (job->c.shared != NULL || !pearson_shares(job)) {
        return 0;
    }
    const size_t done = job->layout.swept ? 0 : job->c.n_taken;
    const double left = (pairs(job->n_series) - pairs(done)) * (double)job->n_samples;
    const double z = (double)job->n_series * (double)correlate_z_bytes(&job->c, used);
    const double members =
        left / job->ops->pearson->rate(job->queue, used) / (opening_s + z / bytes_per_s);
    const size_t panels = (job->n_series - done) / job->layout.panel; /* whole ones */
    const size_t most = panels < job->args.most_helpers ? panels : job->args.most_helpers;
    return members < 2 ? 0 : members - 1 < (double)most ? (size_t)members - 1 : most;
}

static enum status bring_helpers(void *context, struct queue **queues, size_t *n)
{
    struct pearson_job *const job = context;
    const size_t offered = *n;
    STATUS_TRY(correlate_share(&job->c, queues, n));
    if (*n < offered) {
        log_info("%s: %zu that were idle do not help: %s", job->name, offered - *n,
                 status_message());
    }
    if (*n == 0) {
        job->args.most_helpers = 0;
        return STATUS_OK;
    }
    log_info("%s: on %zu devices from series %zu on", job->name, 1 + *n, job->c.n_taken + 1);
    return STATUS_OK;
}

/* --- all of them ------------------------------------------------------------------------------ */

enum status pearson_rows(struct pearson_job *job)
{
    struct span lines, x;
    size_t n;
    bool are;
    job->io->help = (struct job_help){helpers_wanted, bring_helpers, job};
    job->c.request.n_series = job->n_series;
    job->c.given = job->c.request.given ? job->levels : (struct span){0};
    STATUS_TRY(are_more(job, &are));
    while (are) {
        STATUS_TRY(correlate_next(&job->c, &x));
        STATUS_TRY(next_lines(job, x, &lines, &n));
        STATUS_TRY(to_series(job, lines, n, &x));
        STATUS_TRY(correlate_take(&job->c, x, n));
        STATUS_TRY(are_more(job, &are));
    }
    job->n_series = job->c.n_taken;
    STATUS_TRY(correlate_end(&job->c));
    return job->layout.swept && !pearson_is_swept(job) ? correlate_fill(&job->c) : STATUS_OK;
}

/* Of pairs that are ranked again. */
static void tell_cost(const struct pearson_job *job)
{
    size_t n_whole = 0;
    for (size_t s = 0; s < job->n_series; s++) {
        n_whole += pearson_stat(job, MOMENTS_COUNT, s) == (double)job->n_samples ? 1 : 0;
    }
    const uint64_t pairs = matrix_n_pairs(job->n_series) - matrix_n_pairs(n_whole);
    const double seconds = (double)pairs * (double)job->n_samples / job->ops->pearson->rank_rate;
    if (seconds >= 1) {
        log_info("%s: ranks %llu pairs again, each on its samples in common: about %.2g s of a "
                 "core, or of the device; missing=drop ranks once",
                 job->name, (unsigned long long)pairs, seconds);
    }
}

enum status pearson_rows_sure(const struct pearson_job *job, uint64_t n_unsure)
{
    return n_unsure == 0
               ? STATUS_OK
               : status_fail(STATUS_START_OVER, "%s: %llu pairs take the series themselves",
                             job->name, (unsigned long long)n_unsure);
}

enum status pearson_rows_gaps(struct pearson_job *job)
{
    uint64_t n_unsure = 0;
    if (job->choice.ranks) {
        tell_cost(job);
    }
    STATUS_TRY(correlate_gaps(&job->c, moments_array(job->stats, MOMENTS_COUNT), &n_unsure));
    return pearson_rows_sure(job, n_unsure);
}

/* Between panels others compute, and further devices come. */
static enum status pause(void *context, double share)
{
    struct pearson_job *const job = context;
    (void)share;
    return io_pause(job->io);
}

enum status pearson_rows_sweep(struct pearson_job *job, correlate_visit *visit, void *context)
{
    const double *const count = moments_array(job->stats, MOMENTS_COUNT);
    uint64_t n_unsure = 0;
    if (job->has_gaps && job->choice.ranks) {
        tell_cost(job);
    }
    job->c.pause = pause;
    job->c.context = job;
    STATUS_TRY(correlate_sweep(&job->c, job->has_gaps ? count : NULL, &n_unsure, visit, context));
    return pearson_rows_sure(job, n_unsure);
}
