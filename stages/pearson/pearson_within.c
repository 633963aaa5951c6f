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
    const size_t n = job->n_series, of_group = sizeof *job->within.groups + sizeof(char *),
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

/* strength: |r| of all pairs that have one, in any order then; *n of them. */
static enum status survey(struct pearson_job *job, double **strength, size_t *n)
{
    struct pearson_within *const w = &job->within;
    STATUS_TRY(room_host(&job->work, n_pairs(w) + job->n_series, sizeof **strength, strength));
    STATUS_TRY(room_host(job->kept, w->n, sizeof *w->groups, &w->groups));
    job->survey = (struct matrix_survey){.n_pairs = n_pairs(w)};
    for (size_t s = 0; s < job->n_series; s++) {
        job->median_abs[s] = NAN;
    }
    for (size_t g = 0; g < w->n; g++) {
        STATUS_TRY(queue_check(job->queue));
        survey_group(job, g, *strength);
        survey_series(job, g, *strength);
    }
    *n = 0;
    for (uint64_t k = 0; k < n_pairs(w); k++) {
        (*strength)[*n] = fabs(w->r[k]);
        *n += isnan(w->r[k]) ? 0 : 1;
    }
    job->survey.mean_abs = *n > 0 ? job->survey.mean_abs / (double)*n : NAN;
    job->median_abs_all = matrix_median(*strength, *n);
    return STATUS_OK;
}

/* --- pairs ------------------------------------------------------------------------------------ */

/* Which pairs are found: those above a strength, the first of those of it, and those that reach the
 * threshold. */
struct sieve {
    double above;
    size_t n_equal;
    double threshold; /* 0: none */
};

static bool passes(struct sieve *s, double r)
{
    const double strength = fabs(r);
    const bool is_equal = strength == s->above && s->n_equal > 0;
    s->n_equal -= is_equal ? 1 : 0;
    return strength > s->above || is_equal || (s->threshold > 0 && strength >= s->threshold);
}

/* Of n strengths, which change places, the `top` strongest. */
static struct sieve sieve_of(double *strength, size_t n, size_t top, double threshold)
{
    struct sieve s = {.above = -1, .threshold = threshold};
    if (n > top) {
        matrix_quickselect(strength, n, n - top);
        s.above = strength[n - top];
        s.n_equal = top;
        for (size_t k = n - top; k < n; k++) {
            s.n_equal -= strength[k] > s.above ? 1 : 0;
        }
    }
    return s;
}

/* The pairs that pass, in the order of i, then j, to `out`, or only their number. */
static size_t sift(const struct pearson_job *job, struct sieve sieve, struct matrix_pair *out)
{
    const struct pearson_within *const w = &job->within;
    size_t n = 0;
    for (size_t s = 0; s < job->n_series; s++) {
        const size_t g = w->group[s], a = w->place[s];
        for (size_t b = a + 1; g < w->n && b < size_of(w, g); b++) {
            const double r = r_of(w, g, a, b);
            if (passes(&sieve, r)) {
                if (out != NULL) {
                    out[n] = (struct matrix_pair){(uint32_t)s, w->members[w->start[g] + b], r};
                }
                n++;
            }
        }
    }
    return n;
}

/* With gaps all, since q follows from the samples of all. */
static enum status find_pairs(struct pearson_job *job, double *strength, size_t n)
{
    const size_t asked = job->choice.top > 0 ? job->choice.top : 1;
    const struct sieve sieve =
        sieve_of(strength, n, job->has_gaps ? n : asked, job->choice.threshold);
    job->n_found = sift(job, sieve, NULL);
    if (job->n_found > PEARSON_PAIRS_MAX) {
        return status_fail(STATUS_TOO_LARGE,
                           "more than %d pairs have |r| >= %g: raise threshold, or use the matrix",
                           PEARSON_PAIRS_MAX, job->choice.threshold);
    }
    STATUS_TRY(room_host(job->kept, job->n_found, sizeof *job->pairs, &job->pairs));
    (void)sift(job, sieve, job->pairs);
    return pearson_pairs_sort(job->pairs, job->n_found);
}

/* The partners of series s in its group, the strongest first; how many. */
static enum status rank_partners(const struct pearson_job *job, size_t s, struct matrix_pair *out,
                                 size_t *n)
{
    const struct pearson_within *const w = &job->within;
    const size_t g = w->group[s], a = w->place[s];
    *n = 0;
    for (size_t b = 0; g < w->n && b < size_of(w, g); b++) {
        const double r = a == b ? NAN : r_of(w, g, a < b ? a : b, a < b ? b : a);
        out[*n] = (struct matrix_pair){(uint32_t)s, w->members[w->start[g] + b], r};
        *n += isnan(r) ? 0 : 1;
    }
    return pearson_pairs_sort(out, *n);
}

static enum status find_partners(struct pearson_job *job)
{
    const struct pearson_within *const w = &job->within;
    const size_t top = job->choice.top_each;
    size_t most = 0, largest = 0, n;
    struct matrix_pair *all;
    for (size_t g = 0; g < w->n; g++) {
        const size_t size = size_of(w, g);
        largest = size > largest ? size : largest;
        most += size * (top < size ? top : size);
    }
    if (most > PEARSON_PAIRS_MAX) {
        return status_fail(STATUS_TOO_LARGE,
                           "%s: %zu partners of each of %zu series are more than are listed (%d); "
                           "set top_each to %zu or less",
                           job->name, top, job->n_series, PEARSON_PAIRS_MAX,
                           PEARSON_PAIRS_MAX / job->n_series);
    }
    STATUS_TRY(room_host(&job->work, largest, sizeof *all, &all));
    STATUS_TRY(room_host(job->kept, most, sizeof *job->partners, &job->partners));
    STATUS_TRY(room_host(job->kept, most, sizeof *job->n_partner_samples, &job->n_partner_samples));
    for (size_t s = 0; s < job->n_series; s++) {
        STATUS_TRY(queue_check(job->queue));
        STATUS_TRY(rank_partners(job, s, all, &n));
        n = n < top ? n : top;
        memcpy(job->partners + job->n_partners, all, n * sizeof *all);
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
    double *strength;
    size_t n;
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
    STATUS_TRY(survey(job, &strength, &n));
    STATUS_TRY(find_pairs(job, strength, n));
    return job->choice.top_each > 0 ? find_partners(job) : STATUS_OK;
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
