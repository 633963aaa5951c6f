/*
 * pearson_find - what is asked of the matrix: its survey, the pairs to report, the partners of each
 * series, groups. One look at all of it where it is held; where it is not, one at each band as it
 * is swept, and another such sweep for whoever looks later (pearson_look).
 */
#include "stages/pearson/pearson_job.h"

#include <math.h>
#include <stdlib.h>

bool pearson_is_listed(const struct pearson_choice *choice, size_t k,
                       const struct matrix_pair *pairs)
{
    return k < choice->top || (choice->threshold > 0 && fabs(pairs[k].r) >= choice->threshold);
}

/* All |r| from which on pairs are wanted, for lists and for groups; 0: none. */
static double reach_of(const struct pearson_choice *c)
{
    const double limit = pearson_groups_limit(c);
    return c->groups > 0 && !(c->threshold > 0 && c->threshold < limit) ? limit : c->threshold;
}

static enum status begin(struct pearson_job *job)
{
    const struct pearson_choice *const choice = &job->choice;
    const uint64_t all = matrix_n_pairs(job->n_series);
    const bool takes_all = job->has_gaps && !pearson_has_rows(&job->layout) && pearson_has_few(job);
    /* Of few series in slabs all are found, since only these are asked for their samples. */
    const uint64_t top = takes_all ? all : choice->top > 0 ? choice->top : 1;
    job->wanted = (struct pearson_wanted){
        .top = (size_t)(top < all ? top : all),
        .threshold = reach_of(choice),
        .most = PEARSON_PAIRS_MAX,
        .cure = choice->groups > 0 ? "raise groups and threshold, or set them to 0"
                                   : "raise threshold, or use the matrix",
        .queue = job->queue,
        .moments = job->c.moments};
    if (choice->used != PEARSON_EXACT) { /* the pairs listed are computed again, from the series */
        job->wanted.bound = pearson_bound(choice->used, false);
        STATUS_TRY(correlate_series(&job->c, &job->wanted.x));
    }
    job->basket.wanted = &job->wanted;
    job->survey = (struct matrix_survey){.mean_abs = NAN};
    return pearson_partners_begin(job);
}

/* Adds the survey of a band to that of those before it. */
static void merge(struct matrix_survey *to, const struct matrix_survey *s)
{
    const uint64_t more = s->n_pairs - s->n_undefined;
    to->n_pairs += s->n_pairs;
    to->n_undefined += s->n_undefined;
    for (size_t b = 0; b < MATRIX_BINS; b++) {
        to->histogram[b] += s->histogram[b];
    }
    if (more > 0) {
        const double mean = isnan(to->mean_abs) ? 0 : to->mean_abs;
        to->mean_abs =
            mean + (s->mean_abs - mean) * ((double)more / (double)(to->n_pairs - to->n_undefined));
    }
}

static enum status look(struct pearson_job *job, struct queue *q, const struct matrix *m)
{
    struct matrix_survey survey;
    STATUS_TRY(job->ops->matrix->survey(
        q, m, &survey, pearson_is_swept(job) ? NULL : job->median_abs, &job->median_abs_all));
    merge(&job->survey, &survey);
    STATUS_TRY(pearson_basket_add(&job->basket, q, m));
    return pearson_partners_add(job, q, m);
}

static enum status look_at(void *context, struct queue *q, const struct matrix *m)
{
    struct matrix band = *m;
    band.most = malloc((m->n_series - m->first + 1) * sizeof *band.most);
    const enum status st = band.most != NULL
                               ? look(context, q, &band)
                               : status_fail(STATUS_NO_MEMORY, "no memory to look at the matrix");
    free(band.most);
    return st;
}

enum status pearson_look(struct pearson_job *job, correlate_visit *visit, void *context)
{
    return pearson_is_swept(job) ? pearson_rows_sweep(job, visit, context)
                                 : visit(context, job->queue, &job->matrix);
}

/* --- groups in which all pairs have a high r (groups.csv.gz), from the list of these pairs ------
 */

enum status pearson_groups_room(struct pearson_job *job, size_t n_pairs)
{
    const uint64_t all = matrix_n_pairs(job->n_series);
    return cliques_room(&job->groups, job->n_series, all < n_pairs ? (size_t)all : n_pairs,
                        job->kept, &job->work);
}

/* The matrix need not be there; so it holds for ranks and gaps. A series that has no coefficients
 * is alone. */
static enum status find_groups(struct pearson_job *job)
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

/* --- all of it -------------------------------------------------------------------------------- */

static void free_pairs(void *context)
{
    struct pearson_job *const job = context;
    free(job->basket.pairs);
}

enum status pearson_find(struct pearson_job *job)
{
    STATUS_TRY(!job->has_gaps || pearson_is_swept(job) ? STATUS_OK
               : pearson_has_rows(&job->layout)        ? pearson_rows_gaps(job)
                                                       : pearson_columns_gaps(job));
    STATUS_TRY(pearson_index_leave_out(job));
    job->matrix = correlate_matrix(&job->c);
    job->matrix.n_series = job->n_series;
    STATUS_TRY(job->choice.lagged ? pearson_lags_find(job) : STATUS_OK);
    STATUS_TRY(begin(job));
    STATUS_TRY(room_keep(job->kept, free_pairs, job));
    STATUS_TRY(pearson_look(job, look_at, job));
    STATUS_TRY(pearson_basket_end(&job->basket));
    job->pairs = job->basket.pairs;
    job->n_found = job->basket.n;
    STATUS_TRY(find_groups(job));
    while (job->n_found > job->wanted.top &&
           !pearson_is_listed(&job->choice, job->n_found - 1, job->pairs)) {
        job->n_found--; /* those for groups alone */
    }
    STATUS_TRY(job->choice.lagged ? pearson_lags_of(job, job->pairs, job->n_found, &job->pair_lags)
                                  : STATUS_OK);
    return pearson_partners_end(job);
}
