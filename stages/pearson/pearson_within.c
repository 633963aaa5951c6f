/*
 * pearson_within - correlation inside given groups alone: r of the pairs whose series are of one
 * group, and what is asked of them. No other pair has a coefficient.
 *
 * The series stay in standard form as they come; at the end their groups are multiplied (blocks.h).
 * The coefficients lie on the host, one condensed triangle behind the other, members in the order
 * of the file; the pairs all fit a list (pearson_list.c).
 */
#include "formats/result/result_table.h"
#include "kernels/matrix/matrix_rule.h"
#include "kernels/pearson/blocks.h"
#include "stages/pearson/pearson_job.h"

#include <math.h>

/* Series of a group of PEARSON_PAIRS_MAX pairs. */
enum { LARGEST = 5793 };

enum status pearson_within_begin(const struct pearson_job *job)
{
    const struct pearson_choice *const c = &job->choice;
    const struct stage_input *const in = &job->args.inputs[PEARSON_GROUPS];
    const bool of_names = c->group_by[0] != '\0';
    if (!c->within) {
        return STATUS_OK;
    }
    if (c->targets || c->groups > 0 || c->text_r || (of_names && in->table != NULL)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           c->targets ? "%s: series are correlated with targets or within groups: "
                                        "set targets=none"
                           : c->groups > 0 ? "%s: groups are given or found: set groups=0"
                           : c->text_r ? "%s: within groups the matrix is no square: set r=upper"
                                       : "%s: groups are those of a file or of names: leave "
                                         "group_by out",
                           job->name);
    }
    return of_names || (in->table != NULL && in->table->has_words)
               ? STATUS_OK
               : status_fail(STATUS_BAD_INPUT,
                             "%s: is no text: a line holds the name of a series and its group",
                             in->name);
}

/* How many pairs there are is known once the groups are; more are refused then. */
enum status pearson_within_count(struct pearson_job *job)
{
    const uint64_t all = matrix_n_pairs(job->n_series),
                   pairs = all < PEARSON_PAIRS_MAX ? all : PEARSON_PAIRS_MAX;
    STATUS_TRY(pearson_membership_room(job));
    pearson_membership_count(job);
    STATUS_TRY(pearson_list_count(job, pairs));
    room_count(&job->work, pairs * sizeof(double), 0); /* of survey_group */
    return blocks_count(&job->c, job->n_series, job->n_series < LARGEST ? job->n_series : LARGEST,
                        &job->work);
}

static void survey_group(struct pearson_job *job, size_t g, double *scratch)
{
    struct pearson_within *const w = &job->within;
    double sum = 0, sum_abs = 0, least = NAN;
    size_t n = 0;
    for (uint64_t k = w->at[g]; k < w->at[g + 1]; k++) {
        const double r = job->held_r[k];
        if (!isnan(r)) {
            scratch[n++] = r;
            sum += r;
            sum_abs += fabs(r);
            least = fmin(least, r); /* of a NaN and a number the number */
        }
    }
    w->groups[g] = (struct pearson_group){.n_undefined = w->at[g + 1] - w->at[g] - n,
                                          .mean = n > 0 ? sum / (double)n : NAN,
                                          .homogeneity = n > 0 ? sum_abs / (double)n : NAN,
                                          .least = least,
                                          .median = matrix_median(scratch, n)};
}

static void list_group(struct pearson_job *job, size_t g)
{
    const struct pearson_within *const w = &job->within;
    const uint32_t *const end = w->members + w->start[g + 1];
    const double *r = job->held_r + w->at[g];
    for (const uint32_t *i = w->members + w->start[g]; i < end; i++) {
        for (const uint32_t *j = i + 1; j < end; j++, r++) {
            job->pairs[job->n_found] = (struct matrix_pair){*i, *j, *r};
            job->n_found += isnan(*r) ? 0 : 1;
        }
    }
}

enum status pearson_within_find(struct pearson_job *job)
{
    const struct pearson_within *const w = &job->within;
    const uint64_t n_pairs = w->at[w->n];
    uint64_t n_unsure = 0;
    double *scratch;
    STATUS_TRY(pearson_list_room(job, n_pairs));
    const struct blocks blocks = {w->n,          w->start,    w->members, job->stats,
                                  job->has_gaps, job->held_r, w->at};
    STATUS_TRY(blocks_find(&job->c, &blocks, &n_unsure));
    if (n_unsure > 0) {
        return status_fail(STATUS_START_OVER, "%s: %llu pairs take the series themselves",
                           job->name, (unsigned long long)n_unsure);
    }
    STATUS_TRY(room_host(&job->work, n_pairs, sizeof *scratch, &scratch));
    for (size_t g = 0; g < w->n; g++) {
        STATUS_TRY(queue_check(job->queue));
        survey_group(job, g, scratch);
        list_group(job, g);
    }
    return pearson_list_find(job, n_pairs);
}

/* --- results ---------------------------------------------------------------------------------- */

const char *pearson_within_name(const struct pearson_job *job, size_t s)
{
    const struct pearson_within *const w = &job->within;
    return w->group[s] < w->n ? w->names[w->group[s]] : "";
}

void pearson_within_row(const void *context, uint64_t g, struct result_row *to)
{
    static const struct pearson_group none;
    const struct pearson_job *const job = context;
    const struct pearson_within *const w = &job->within;
    const struct pearson_group *const of = g < w->n ? &w->groups[g] : &none;
    result_row_text(to, "group", g < w->n ? w->names[g] : "");
    result_row_count(to, "size", g < w->n ? w->start[g + 1] - w->start[g] : 0);
    result_row_real(to, "mean_r", of->mean);
    result_row_real(to, "median_r", of->median);
    result_row_real(to, "smallest_r", of->least);
    result_row_real(to, "homogeneity", of->homogeneity);
    result_row_count(to, "n_undefined", of->n_undefined);
}

enum status pearson_within_warn(const struct pearson_job *job, struct result *out)
{
    const struct pearson_within *const w = &job->within;
    if (w->n_unknown > 0) {
        STATUS_TRY(result_warn(out, "%zu lines of %s name series that %s does not have: %.*s%s",
                               w->n_unknown, job->args.inputs[PEARSON_GROUPS].name, job->name,
                               (int)w->unknown.len, (const char *)w->unknown.data,
                               w->n_unknown > PEARSON_UNKNOWN_NAMED ? ", ..." : ""));
    }
    return w->n_single == 0
               ? STATUS_OK
               : result_warn(out, "groups of one series, which have no pair: %zu of %zu",
                             w->n_single, w->n);
}
