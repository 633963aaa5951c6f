/*
 * pearson_order - average linkage on 1 - |r|, leaves from left to right; or group by group, and in
 * each as in the file.
 *
 * In linkage a pair without a coefficient is at distance 2, beyond all others, so that constant
 * series stand apart, at an end.
 *
 * Where nobody has asked for linkage it is taken if it makes the mean |r| of neighbours larger: by
 * enough to be seen, by a fifth of what that lacks of 1, and by more than chance does. Chance moves
 * an r of m samples by about (1 - r^2) / sqrt(m), the largest of n by sqrt(2 ln n) times that; of
 * unrelated series the mean grew by 0.3 to 0.6 times the latter.
 */

#include "stages/pearson/pearson_job.h"

#include <math.h>

static const double undefined = 2; /* distance of a pair without a coefficient */

static const double least_seen = 0.05, least_share = 0.2; /* of growth, of what lacks of 1 */

static bool is_clustered(const struct pearson_job *job)
{
    const struct pearson_choice *const c = &job->choice;
    const bool is_auto = c->auto_order && c->figure.format != FIGURE_NONE && job->n_series > 2;
    return pearson_has_matrix(c) && !pearson_is_swept(job) &&
           (c->cluster ? job->n_series <= PEARSON_ORDER_MOST
                       : is_auto && job->n_series <= PEARSON_ORDER_AUTO);
}

size_t pearson_order_bytes(const struct pearson_job *job)
{
    const size_t n = job->n_series;
    return is_clustered(job) ? (size_t)matrix_n_pairs(n) * sizeof(double) +
                                   n * (2 * sizeof(struct linkage_merge) + 5 * sizeof(uint32_t))
           : job->choice.by_groups ? n * 2 * sizeof(uint32_t)
                                   : 0;
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

/* The mean |r| of neighbours that have one; order NULL: as in the file. */
static double nearness(const double *distances, size_t n, const uint32_t *order)
{
    double sum = 0, n_defined = 0;
    for (size_t place = 1; place < n; place++) {
        const size_t a = order != NULL ? order[place - 1] : place - 1;
        const size_t b = order != NULL ? order[place] : place, i = a < b ? a : b, j = a + b - i;
        const double r = 1 - distances[i * (2 * n - i - 1) / 2 + j - i - 1];
        sum += r >= 0 ? r : 0;
        n_defined += r >= 0 ? 1 : 0;
    }
    return sum / fmax(n_defined, 1);
}

/* Whether so much is worth another order than the file's. */
static bool is_growth(const struct pearson_job *job, double before, double after)
{
    const double samples = (double)(job->n_samples - job->n_incomplete);
    const double chance = (1 - before * before) * sqrt(log((double)job->n_series) / samples);
    return after - before > fmax(fmax(least_seen, least_share * (1 - before)), chance);
}

static enum status cluster(struct pearson_job *job, double *distances)
{
    const size_t n = job->n_series;
    STATUS_TRY(fetch(job, distances));
    const double before = job->choice.auto_order ? nearness(distances, n, NULL) : 0;
    STATUS_TRY(linkage_average(distances, n, job->merges, going, job));
    STATUS_TRY(linkage_order(job->merges, n, job->order));
    if (job->choice.auto_order) {
        STATUS_TRY(fetch(job, distances)); /* they were used up */
        job->order = is_growth(job, before, nearness(distances, n, job->order)) ? job->order : NULL;
    }
    return STATUS_OK;
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
    double *distances;
    STATUS_TRY(room_host(job->kept, n, sizeof *job->merges, &job->merges));
    STATUS_TRY(room_host(job->kept, matrix_n_pairs(n), sizeof *distances, &distances));
    STATUS_TRY(cluster(job, distances));
    room_give_back(job->kept, distances);
    return STATUS_OK;
}

enum status pearson_order_find(struct pearson_job *job)
{
    const size_t n = job->n_series;
    const bool clusters = is_clustered(job);
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
    for (size_t place = 0; job->order != NULL && place < n; place++) {
        job->place[job->order[place]] = (uint32_t)place;
    }
    return STATUS_OK;
}
