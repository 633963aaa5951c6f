/*
 * pearson_list - the pairs with targets, or inside groups: so few that the host holds them all.
 * They are sorted once; survey, medians and partners follow from their order.
 */
#include "kernels/matrix/matrix_rule.h"
#include "kernels/pearson/pearson_pairs.h"
#include "stages/pearson/pearson_job.h"

#include <math.h>

enum status pearson_list_room(struct pearson_job *job, uint64_t n_pairs)
{
    if (n_pairs > PEARSON_PAIRS_MAX) {
        return status_fail(STATUS_TOO_LARGE, "%s: %llu pairs are more than are held (%d): %s",
                           job->name, (unsigned long long)n_pairs, PEARSON_PAIRS_MAX,
                           job->choice.targets ? "take fewer targets at a time"
                                               : "make groups smaller, or correlate all series "
                                                 "(without within and group_by)");
    }
    STATUS_TRY(room_host(job->kept, n_pairs, sizeof *job->held_r, &job->held_r));
    STATUS_TRY(room_host(job->kept, n_pairs, sizeof *job->pairs, &job->pairs));
    return pearson_partners_room(job);
}

void pearson_list_add(struct pearson_job *job, size_t i, size_t j, double r)
{
    if (!isnan(r)) {
        job->pairs[job->n_found++] = (struct matrix_pair){(uint32_t)i, (uint32_t)j, r};
    } else if (!moments_degenerate_at(job->stats, i) && !moments_degenerate_at(job->stats, j)) {
        job->n_apart++;
    }
}

enum status pearson_list_count(struct pearson_job *job, uint64_t n_pairs)
{
    STATUS_TRY(pearson_list_room(job, n_pairs));
    room_count(job->kept, n_pairs * (sizeof *job->n_common + sizeof *job->p + sizeof *job->q), 0);
    room_count(&job->work,
               n_pairs * sizeof *job->pairs + /* while they are sorted, by r, and then by p */
                   (uint64_t)pearson_n_all(job) * 3 * sizeof(size_t),
               0);
    return STATUS_OK;
}

/* The medians of each series, and of all. */
static enum status find_medians(struct pearson_job *job)
{
    const size_t all = pearson_n_all(job), n = job->n_found;
    const struct matrix_pair *const pairs = job->pairs;
    size_t *have, *seen;
    STATUS_TRY(room_host(&job->work, all, sizeof *have, &have));
    STATUS_TRY(room_host(&job->work, all, sizeof *seen, &seen));
    for (size_t s = 0; s < all; s++) {
        job->median_abs[s] = NAN;
    }
    for (size_t k = 0; k < n; k++) {
        have[pairs[k].i]++;
        have[pairs[k].j]++;
    }
    for (size_t k = 0; k < n; k++) {
        const uint32_t both[] = {pairs[k].i, pairs[k].j};
        for (size_t b = 0; b < 2; b++) {
            const size_t s = both[b], at = seen[s]++;
            double *const median = &job->median_abs[s];
            *median = at == (have[s] - 1) / 2 ? fabs(pairs[k].r) : *median;
            *median = at == have[s] / 2 ? matrix_middle(*median, fabs(pairs[k].r)) : *median;
        }
    }
    job->median_abs_all =
        n > 0 ? matrix_middle(fabs(pairs[(n - 1) / 2].r), fabs(pairs[n / 2].r)) : NAN;
    return STATUS_OK;
}

enum status pearson_list_find(struct pearson_job *job, uint64_t n_pairs)
{
    double sum = 0;
    STATUS_TRY(pearson_pairs_sort(job->pairs, job->n_found));
    job->survey = (struct matrix_survey){.n_pairs = n_pairs, .n_undefined = n_pairs - job->n_found};
    for (size_t k = 0; k < job->n_found; k++) {
        job->survey.histogram[matrix_bin(job->pairs[k].r)]++;
        sum += fabs(job->pairs[k].r);
    }
    job->survey.mean_abs = job->n_found > 0 ? sum / (double)job->n_found : NAN;
    STATUS_TRY(find_medians(job));
    return pearson_partners_list(job);
}
