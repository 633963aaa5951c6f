/*
 * pearson_order - average linkage on 1 - |r|, leaves from left to right; or group by group, and in
 * each as in the file.
 *
 * In linkage a pair without a coefficient is at distance 2, beyond all others, so that constant
 * series stand apart, at an end.
 */

#include "stages/pearson/linkage.h"
#include "stages/pearson/pearson_job.h"

#include <math.h>
#include <stdlib.h>

static const double undefined = 2; /* distance of a pair without a coefficient */

size_t pearson_order_bytes(size_t n)
{
    return n > PEARSON_ORDER_MOST
               ? 0
               : (size_t)matrix_n_pairs(n) * sizeof(double) +
                     n * (2 * sizeof(struct linkage_merge) + 5 * sizeof(uint32_t));
}

/* All coefficients as distances. */
static enum status fetch(struct pearson_job *job, double *distances)
{
    const size_t n = (size_t)matrix_n_pairs(job->n_series);
    const float *const narrow = (const float *)distances; /* in place, the last one first */
    STATUS_TRY(job->ops->matrix->condensed(job->queue, &job->matrix, 0, n, distances));
    for (size_t k = n; k-- > 0;) {
        const double r = job->matrix.type == DTYPE_F32 ? (double)narrow[k] : distances[k];
        distances[k] = isnan(r) ? undefined : fmax(1 - fabs(r), 0);
    }
    return STATUS_OK;
}

static enum status going(void *context)
{
    const struct pearson_job *const job = context;
    return queue_check(job->queue);
}

static enum status cluster(struct pearson_job *job, double *distances, struct linkage_merge *merges)
{
    const size_t n = job->n_series;
    STATUS_TRY(fetch(job, distances));
    STATUS_TRY(linkage_average(distances, n, merges, going, job));
    return linkage_order(merges, n, job->order);
}

static void by_groups(struct pearson_job *job)
{
    const struct cliques *const c = &job->groups;
    uint32_t *const next = job->place; /* of group g, before it is filled */
    for (size_t g = 0, sum = 0; g < c->n; g++) {
        next[g] = (uint32_t)sum;
        sum += c->at[g].size;
    }
    for (size_t s = 0; s < job->n_series; s++) {
        job->order[next[c->of[s]]++] = (uint32_t)s;
    }
}

static enum status by_clusters(struct pearson_job *job)
{
    const size_t n = job->n_series;
    double *const distances = malloc(((size_t)matrix_n_pairs(n) + 1) * sizeof *distances);
    struct linkage_merge *const merges = malloc(n * sizeof *merges);
    const enum status st =
        distances != NULL && merges != NULL
            ? cluster(job, distances, merges)
            : status_fail(STATUS_NO_MEMORY, "no memory to cluster %zu series", n);
    free(distances);
    free(merges);
    return st;
}

enum status pearson_order_find(struct pearson_job *job)
{
    const size_t n = job->n_series;
    const bool clusters = job->choice.cluster && n <= PEARSON_ORDER_MOST &&
                          pearson_has_matrix(&job->choice) && !pearson_is_swept(job);
    if (!clusters && !job->choice.by_groups) {
        return STATUS_OK;
    }
    STATUS_TRY(room_host(job->kept, n, sizeof *job->order, &job->order));
    STATUS_TRY(room_host(job->kept, n, sizeof *job->place, &job->place));
    if (clusters) {
        STATUS_TRY(by_clusters(job));
    } else {
        by_groups(job);
    }
    for (size_t place = 0; place < n; place++) {
        job->place[job->order[place]] = (uint32_t)place;
    }
    return STATUS_OK;
}
