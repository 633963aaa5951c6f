/*
 * pearson_within - correlation inside given groups alone: r of the pairs whose series are of one
 * group, and what is asked of them. No other pair has a coefficient.
 *
 * The series stay in standard form as they come; at the end their groups are multiplied (blocks.h).
 * The coefficients lie on the host, one condensed triangle behind the other, members in the order
 * of the file.
 */
#include "formats/result/result_table.h"
#include "kernels/matrix/matrix_rule.h"
#include "kernels/pearson/blocks.h"
#include "kernels/pearson/pearson_pairs.h"
#include "kernels/pearson/significance_rule.h"
#include "stages/pearson/pearson_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- memory ----------------------------------------------------------------------------------- */

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
                                       : "%s: groups are those of a file or of names: set "
                                         "within=none, or leave group_by out",
                           job->name);
    }
    return of_names || (in->table != NULL && in->table->has_words)
               ? STATUS_OK
               : status_fail(STATUS_BAD_INPUT,
                             "%s: is no text: a line holds the name of a series and its group",
                             in->name);
}

/* How many pairs is known once the groups are: of more than are counted here, and of what gaps
 * take, the limits are asked then. */
enum status pearson_within_count(struct pearson_job *job)
{
    const struct table_info *const table = job->args.inputs[PEARSON_GROUPS].table;
    const size_t n = job->n_series,
                 of_group = sizeof *job->within.groups + 2 * sizeof(char *) + 4 * sizeof(double),
                 lines = table != NULL ? table->n_lines_estimate : 0;
    const uint64_t all = matrix_n_pairs(n),
                   pairs = all < PEARSON_PAIRS_MAX ? all : PEARSON_PAIRS_MAX,
                   found = job->choice.threshold > 0 || job->choice.top > pairs ? pairs
                                                                                : job->choice.top;
    STATUS_TRY(pearson_membership_room(job));
    room_count(job->kept,
               n * of_group + (n + lines) * 2 * SERIES_PLACE_BYTES + pairs * sizeof(double) +
                   found * (2 * sizeof *job->pairs + sizeof *job->p + sizeof *job->q),
               0);
    room_count(&job->work,
               (n + lines) * 6 * sizeof(void *) + pairs * sizeof(double) + blocks_bytes(&job->c, n),
               blocks_bytes(&job->c, n));
    return STATUS_OK;
}

/* That the coefficients of so many pairs fit beside what has been planned. */
static enum status check_size(const struct pearson_job *job, uint64_t pairs)
{
    const struct stage_args *const a = &job->args;
    const uint64_t limit = a->host_limit > 0 ? a->host_limit : a->memory_limit,
                   bytes = pairs * 2 * sizeof(double);
    if (limit > 0 && bytes > limit) {
        return status_fail(STATUS_TOO_LARGE,
                           "%s: the groups have %llu pairs, whose coefficients take %.3g GB: raise "
                           "--memory, or make groups smaller",
                           job->name, (unsigned long long)pairs, (double)bytes * 1e-9);
    }
    return job->has_gaps && pairs > PEARSON_PAIRS_MAX
               ? status_fail(STATUS_TOO_LARGE,
                             "%s: the groups have %llu pairs, and where series have gaps no more "
                             "than %d are held: set missing=drop",
                             job->name, (unsigned long long)pairs, PEARSON_PAIRS_MAX)
               : STATUS_OK;
}

/* --- where things are ------------------------------------------------------------------------- */

static size_t size_of(const struct pearson_within *w, size_t g)
{
    return w->start[g + 1] - w->start[g];
}

/* The coefficient of members a and b, a < b, of group g. */
static double r_of(const struct pearson_within *w, size_t g, size_t a, size_t b)
{
    return w->r[w->at[g] + matrix_condensed_row(a, size_of(w, g)) + (b - a - 1)];
}

static uint64_t n_pairs(const struct pearson_within *w)
{
    return w->at[w->n];
}

/* --- what is asked of a matrix ---------------------------------------------------------------- */

/* The medians of the series of group g. */
static void survey_series(struct pearson_job *job, size_t g, double *scratch)
{
    const struct pearson_within *const w = &job->within;
    const size_t size = size_of(w, g);
    for (size_t a = 0; a < size; a++) {
        size_t n = 0;
        for (size_t b = 0; b < size; b++) {
            const double r = a == b ? NAN : r_of(w, g, a < b ? a : b, a < b ? b : a);
            scratch[n] = fabs(r);
            n += isnan(r) ? 0 : 1;
        }
        job->median_abs[w->members[w->start[g] + a]] = matrix_median(scratch, n);
    }
}

static void survey_group(struct pearson_job *job, size_t g, double *scratch)
{
    struct pearson_within *const w = &job->within;
    struct pearson_group *const of = &w->groups[g];
    double sum = 0, sum_abs = 0, least = INFINITY;
    size_t n = 0;
    for (uint64_t k = w->at[g]; k < w->at[g + 1]; k++) {
        const double r = w->r[k];
        if (!isnan(r)) {
            scratch[n++] = r;
            sum += r;
            sum_abs += fabs(r);
            least = fmin(least, r);
            job->survey.histogram[matrix_bin(r)]++;
        }
    }
    *of = (struct pearson_group){.n_undefined = w->at[g + 1] - w->at[g] - n,
                                 .mean = n > 0 ? sum / (double)n : NAN,
                                 .homogeneity = n > 0 ? sum_abs / (double)n : NAN,
                                 .least = n > 0 ? least : NAN,
                                 .median = matrix_median(scratch, n)};
    job->survey.n_undefined += of->n_undefined;
    job->survey.mean_abs += sum_abs;
}

static enum status survey(struct pearson_job *job)
{
    struct pearson_within *const w = &job->within;
    double *scratch;
    size_t n = 0;
    STATUS_TRY(room_host(&job->work, n_pairs(w) + job->n_series, sizeof *scratch, &scratch));
    STATUS_TRY(room_host(job->kept, w->n, sizeof *w->groups, &w->groups));
    job->survey = (struct matrix_survey){.n_pairs = n_pairs(w)};
    for (size_t s = 0; s < job->n_series; s++) {
        job->median_abs[s] = NAN;
    }
    for (size_t g = 0; g < w->n; g++) {
        STATUS_TRY(queue_check(job->queue));
        survey_group(job, g, scratch);
        survey_series(job, g, scratch);
    }
    for (uint64_t k = 0; k < n_pairs(w); k++) {
        scratch[n] = fabs(w->r[k]);
        n += isnan(w->r[k]) ? 0 : 1;
    }
    job->survey.mean_abs = n > 0 ? job->survey.mean_abs / (double)n : NAN;
    job->median_abs_all = matrix_median(scratch, n);
    return STATUS_OK;
}

/* --- pairs ------------------------------------------------------------------------------------ */

/* The pairs of series s with the members of its group after it, or with all, that have a
 * coefficient; how many. */
static size_t pairs_of(const struct pearson_job *job, size_t s, bool all, struct matrix_pair *out)
{
    const struct pearson_within *const w = &job->within;
    const size_t g = w->group[s], a = w->place[s];
    size_t n = 0;
    for (size_t b = all ? 0 : a + 1; g < w->n && b < size_of(w, g); b++) {
        const double r = a == b ? NAN : r_of(w, g, a < b ? a : b, a < b ? b : a);
        out[n] = (struct matrix_pair){(uint32_t)s, w->members[w->start[g] + b], r};
        n += isnan(r) ? 0 : 1;
    }
    return n;
}

/* With gaps all, since q follows from the samples of all. */
static enum status find_pairs(struct pearson_job *job, struct matrix_pair *some)
{
    const size_t defined = (size_t)(job->survey.n_pairs - job->survey.n_undefined),
                 asked = job->choice.top > 0 ? job->choice.top : 1;
    const struct pearson_wanted wanted = {.top = job->has_gaps || defined < asked ? defined : asked,
                                          .threshold = job->choice.threshold,
                                          .most = PEARSON_PAIRS_MAX,
                                          .cure = "raise threshold, or use the matrix"};
    struct pearson_basket b = {.wanted = &wanted};
    enum status st = STATUS_OK;
    for (size_t s = 0; s < job->n_series && st == STATUS_OK; s++) {
        st = pearson_basket_put(&b, some, pairs_of(job, s, false, some));
    }
    st = st == STATUS_OK ? pearson_basket_end(&b) : st;
    if (st != STATUS_OK) {
        free(b.pairs);
        return st;
    }
    job->pairs = b.pairs;
    job->n_found = b.n;
    return room_keep(job->kept, free, job->pairs);
}

static enum status find_partners(struct pearson_job *job, struct matrix_pair *some)
{
    const size_t top = job->choice.top_each;
    size_t most = 0;
    for (size_t s = 0; s < job->n_series; s++) {
        const size_t n = pairs_of(job, s, true, some);
        most += n < top ? n : top;
    }
    if (most > PEARSON_PAIRS_MAX) {
        return status_fail(STATUS_TOO_LARGE,
                           "%s: %zu partners are more than are listed (%d); set top_each to %zu or "
                           "less",
                           job->name, most, PEARSON_PAIRS_MAX, PEARSON_PAIRS_MAX / job->n_series);
    }
    STATUS_TRY(room_host(job->kept, most, sizeof *job->partners, &job->partners));
    STATUS_TRY(room_host(job->kept, most, sizeof *job->n_partner_samples, &job->n_partner_samples));
    for (size_t s = 0; s < job->n_series; s++) {
        size_t n = pairs_of(job, s, true, some);
        STATUS_TRY(queue_check(job->queue));
        STATUS_TRY(pearson_pairs_sort(some, n));
        n = n < top ? n : top;
        memcpy(job->partners + job->n_partners, some, n * sizeof *some);
        job->n_partners += n;
    }
    return pearson_common_of(job, job->partners, job->n_partners, job->n_partner_samples);
}

void pearson_within_levels(const struct pearson_job *job, const struct pearson_levels *l,
                           uint64_t *counts)
{
    const struct pearson_within *const w = &job->within;
    for (uint64_t k = 0; k < n_pairs(w); k++) {
        const double r = fabs(w->r[k]);
        if (r >= l->r[0]) {
            counts[significance_level(l->r, l->n, r)]++;
        }
    }
}

/* --- all -------------------------------------------------------------------------------------- */

enum status pearson_within_find(struct pearson_job *job)
{
    struct pearson_within *const w = &job->within;
    uint64_t n_unsure = 0;
    struct matrix_pair *some;
    STATUS_TRY(room_host(&job->work, job->n_series, sizeof *some, &some));
    STATUS_TRY(room_host(job->kept, w->n + 1, sizeof *w->at, &w->at));
    for (size_t g = 0; g < w->n; g++) {
        w->at[g + 1] = w->at[g] + matrix_n_pairs(size_of(w, g));
    }
    STATUS_TRY(check_size(job, n_pairs(w)));
    STATUS_TRY(room_host(job->kept, n_pairs(w), sizeof *w->r, &w->r));
    const struct blocks blocks = {w->n,          w->start, w->members, job->stats,
                                  job->has_gaps, w->r,     w->at};
    STATUS_TRY(blocks_find(&job->c, &blocks, &n_unsure));
    if (n_unsure > 0) {
        return status_fail(STATUS_START_OVER, "%s: %llu pairs take the series themselves",
                           job->name, (unsigned long long)n_unsure);
    }
    STATUS_TRY(survey(job));
    STATUS_TRY(find_pairs(job, some));
    return job->choice.top_each > 0 ? find_partners(job, some) : STATUS_OK;
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
    result_row_count(to, "size", g < w->n ? size_of(w, g) : 0);
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
        STATUS_TRY(result_warn(out, "%s names %zu series that %s does not have: %.*s",
                               job->args.inputs[PEARSON_GROUPS].name, w->n_unknown, job->name,
                               (int)w->unknown.len, (const char *)w->unknown.data));
    }
    return w->n_single == 0
               ? STATUS_OK
               : result_warn(out, "groups of one series, which have no pair: %zu of %zu",
                             w->n_single, w->n);
}
