/*
 * pearson_share - when further devices are worth their opening, and how they begin to take panels
 * of the matrix.
 */
#include "formats/base/log.h"
#include "stages/pearson/pearson_job.h"

/* What each member has to do at least: as much as opening a device takes, and bringing it all
 * series (an H200 gives another one 4e11 bytes a second, but there may be several). */
static const double opening_s = 0.25, bytes_per_s = 2e11;

static double pairs(size_t n)
{
    return (double)n * (double)n / 2;
}

size_t pearson_share_wanted(const void *context)
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

enum status pearson_share_bring(void *context, struct queue **queues, size_t *n)
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
