/*
 * pearson_groups - groups of series in which all pairs have a high r (groups.csv.gz), from the list
 * of these pairs: it holds for ranks and gaps, and the matrix need not be there. A series that has
 * no coefficients is alone.
 */
#include "stages/pearson/pearson_job.h"

enum status pearson_groups_room(struct pearson_job *job, size_t n_pairs)
{
    const uint64_t all = matrix_n_pairs(job->n_series);
    return cliques_room(&job->groups, job->n_series, all < n_pairs ? (size_t)all : n_pairs,
                        job->kept, &job->work);
}

enum status pearson_groups_find(struct pearson_job *job)
{
    if (!(job->choice.groups > 0)) {
        return STATUS_OK;
    }
    STATUS_TRY(queue_check(job->queue));
    STATUS_TRY(pearson_groups_room(job, job->n_found));
    cliques_find(&job->groups, job->pairs, job->n_found, pearson_groups_limit(&job->choice),
                 job->choice.groups_abs);
    return queue_check(job->queue);
}
