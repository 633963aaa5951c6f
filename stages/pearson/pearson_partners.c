/*
 * pearson_partners - the strongest partners of each series (partners.csv.gz).
 */
#include "stages/pearson/pearson_job.h"

#include <string.h>

/* Series that get partners: targets, where there are such; and the most of each. */
static size_t n_of(const struct pearson_job *job)
{
    return job->choice.targets ? job->n_targets : job->n_series;
}

static size_t most_of_each(const struct pearson_job *job)
{
    const size_t n = job->n_series, others = n > 0 && !job->choice.targets ? n - 1 : n;
    return job->choice.top_each < others ? job->choice.top_each : others;
}

enum status pearson_partners_room(struct pearson_job *job)
{
    const size_t of_each = most_of_each(job);
    if (of_each > 0 && n_of(job) > PEARSON_PAIRS_MAX / of_each) {
        return status_fail(STATUS_TOO_LARGE,
                           "%s: %zu partners of each of %zu series are more than are listed (%d); "
                           "set top_each to %zu or less",
                           job->name, of_each, n_of(job), PEARSON_PAIRS_MAX,
                           PEARSON_PAIRS_MAX / n_of(job));
    }
    const size_t n = n_of(job) * of_each;
    STATUS_TRY(room_host(job->kept, n, sizeof *job->partners, &job->partners));
    return room_host(job->kept, n, sizeof *job->n_partner_samples, &job->n_partner_samples);
}

size_t pearson_partners_bytes(const struct pearson_job *job)
{
    return job->choice.top_each > 0 ? partners_bytes(job->n_series) : 0;
}

enum status pearson_partners_begin(struct pearson_job *job)
{
    char *scratch;
    if (most_of_each(job) == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(pearson_partners_room(job));
    STATUS_TRY(room_host(&job->work, 1, pearson_partners_bytes(job), &scratch));
    job->wanted_each = job->wanted;
    job->wanted_each.top = most_of_each(job);
    partners_begin(&job->finder, &job->wanted_each, job->n_series, scratch, job->partners);
    return STATUS_OK;
}

enum status pearson_partners_add(struct pearson_job *job, struct queue *q,
                                 const struct matrix *band)
{
    return most_of_each(job) > 0 ? partners_add(&job->finder, q, band) : STATUS_OK;
}

enum status pearson_partners_end(struct pearson_job *job)
{
    if (most_of_each(job) == 0) {
        return STATUS_OK;
    }
    partners_end(&job->finder, &job->n_partners);
    STATUS_TRY(pearson_common_of(job, job->partners, job->n_partners, job->n_partner_samples));
    STATUS_TRY(job->choice.lagged
                   ? pearson_lags_of(job, job->partners, job->n_partners, &job->partner_lags)
                   : STATUS_OK);
    for (size_t k = 0; job->choice.lagged && k < job->n_partners; k++) {
        job->n_partner_samples[k] -= (uint64_t)abs(job->partner_lags[k].lag);
    }
    return STATUS_OK;
}

/* --- of pairs that are all listed ------------------------------------------------------------- */

enum status pearson_partners_list(struct pearson_job *job)
{
    const size_t n = n_of(job), top = most_of_each(job), first = pearson_n_all(job) - n;
    size_t *have;
    STATUS_TRY(room_host(&job->work, n, sizeof *have, &have));
    for (size_t k = 0; top > 0 && k < job->n_found; k++) {
        const struct matrix_pair p = job->pairs[k];
        const struct matrix_pair both[] = {p, {p.j, p.i, p.r}};
        for (size_t b = 0; b < 2; b++) {
            const size_t s = both[b].i - first;
            if (both[b].i >= first && have[s] < top) {
                job->partners[s * top + have[s]++] = both[b];
            }
        }
    }
    for (size_t s = 0; s < n; s++) {
        memmove(job->partners + job->n_partners, job->partners + s * top,
                have[s] * sizeof *job->partners);
        job->n_partners += have[s];
    }
    return pearson_common_of(job, job->partners, job->n_partners, job->n_partner_samples);
}
