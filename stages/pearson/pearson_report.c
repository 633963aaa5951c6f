/*
 * pearson_report - the summary of a pearson job, and what its user should be warned of.
 *
 * homogeneity is the mean of |r| over the pairs that have a coefficient: 0 where the series have
 * nothing to do with one another, 1 where they are one. Which series stand out, pearson_anomaly
 * says.
 */

#include "formats/result/summary_entry.h"
#include "kernels/matrix/matrix_rule.h"
#include "stages/pearson/pearson_job.h"

#include <math.h>

enum { NAMES_WARNED = 10, NAMES_LISTED = 100 }; /* the most names in a sentence, in the summary */
enum { PAIRS_SHOWN = 10 };                      /* the most pairs in the summary */
static const double walk_lag1 =
    0.9; /* lag-1 autocorrelation from which on levels look like walks */

static const double same_error = 1e-12; /* of |r|, which is 1 */

/* Whether a series has a property. */
typedef bool property_fn(const struct pearson_job *job, size_t s);

static bool has_few_samples(const struct pearson_job *job, size_t s)
{
    return pearson_stat(job, MOMENTS_COUNT, s) < moments_least_count(job->stats);
}

static bool is_degenerate(const struct pearson_job *job, size_t s)
{
    return moments_degenerate_at(job->stats, s);
}

static bool is_constant(const struct pearson_job *job, size_t s)
{
    return !has_few_samples(job, s) &&
           pearson_stat(job, MOMENTS_MIN, s) == pearson_stat(job, MOMENTS_MAX, s);
}

/* The squares of the deviations leave the doubles. */
static bool is_too_small(const struct pearson_job *job, size_t s)
{
    return is_degenerate(job, s) && !has_few_samples(job, s) && !is_constant(job, s);
}

static bool has_gaps(const struct pearson_job *job, size_t s)
{
    return pearson_stat(job, MOMENTS_COUNT, s) < (double)(job->n_samples - job->n_incomplete);
}

static bool is_in_no_group(const struct pearson_job *job, size_t s)
{
    return job->within.group[s] >= job->within.n;
}

static bool is_anomalous(const struct pearson_job *job, size_t s)
{
    return job->is_anomalous[s];
}

static size_t count_series(const struct pearson_job *job, property_fn *property)
{
    size_t n = 0;
    for (size_t s = 0; s < pearson_n_all(job); s++) {
        n += property(job, s) ? 1 : 0;
    }
    return n;
}

/* Copies the values that are numbers; their number. */
static size_t copy_defined(double *to, const double *from, size_t n)
{
    size_t defined = 0;
    for (size_t s = 0; s < n; s++) {
        if (!isnan(from[s])) {
            to[defined++] = from[s];
        }
    }
    return defined;
}

/* --- warnings -----------------------------------------------------------------------------------
 */

/* "'a', 'b' and 3 more" of the series that have a property. */
static enum status put_names(const struct pearson_job *job, property_fn *property,
                             struct bytes *out)
{
    const size_t n = count_series(job, property);
    size_t named = 0;
    for (size_t s = 0; named < n && named < NAMES_WARNED; s++) {
        if (property(job, s)) {
            STATUS_TRY(bytes_printf(out, "%s'%s'", named > 0 ? ", " : "", job->names.at[s]));
            named++;
        }
    }
    return n > named ? bytes_printf(out, " and %zu more", n - named) : STATUS_OK;
}

/* "WHAT, in 3 series: NAMES", when there are such series. */
static enum status warn_series(const struct pearson_job *job, property_fn *property,
                               const char *what, struct result *out)
{
    const size_t n = count_series(job, property);
    if (n == 0) {
        return STATUS_OK;
    }
    struct bytes names = {0};
    enum status st = put_names(job, property, &names);
    if (st == STATUS_OK) {
        st = result_warn(out, "%s, in %zu series: %.*s", what, n, (int)names.len,
                         (const char *)names.data);
    }
    bytes_free(&names);
    return st;
}

/* Pairs without a coefficient though both series have variance. */
static uint64_t undefined_in_common(const struct pearson_job *job)
{
    const size_t sound = job->n_series - count_series(job, is_degenerate);
    if (!pearson_has_matrix(&job->choice)) {
        return job->n_apart;
    }
    const uint64_t pairs_of_sound = matrix_n_pairs(sound),
                   defined = job->survey.n_pairs - job->survey.n_undefined;
    return pairs_of_sound > defined ? pairs_of_sound - defined : 0;
}

static enum status warn_pairs(const struct pearson_job *job, struct result *out)
{
    const uint64_t undefined = undefined_in_common(job);
    if (job->n_series == 1 && !job->choice.targets) {
        STATUS_TRY(result_warn(out, "there is one series: no pair to correlate"));
    } else if (job->n_samples == 2 && job->choice.min_samples == 2) {
        STATUS_TRY(
            result_warn(out, "each series has 2 %s: every coefficient is -1 or 1 whatever they are",
                        job->layout.n_dropped != 0 ? "increments" : "samples"));
    }
    if (undefined == 0) {
        return STATUS_OK;
    }
    return result_warn(out,
                       "no coefficient for %llu of %llu pairs: fewer than %zu samples in common "
                       "(min_samples), or a series that does not vary on them",
                       (unsigned long long)undefined, (unsigned long long)job->survey.n_pairs,
                       job->choice.min_samples);
}

static enum status warn_walks(const struct pearson_job *job, double *scratch, struct result *out)
{
    const size_t n = copy_defined(scratch, moments_array(job->stats, MOMENTS_LAG1), job->n_series);
    size_t walks = 0;
    for (size_t s = 0; s < n; s++) {
        walks += scratch[s] > walk_lag1 ? 1 : 0;
    }
    if (job->choice.diff != PEARSON_DIFF_NONE || walks <= n / 2) {
        return STATUS_OK;
    }
    return result_warn(out,
                       "%zu of %zu series are smooth or trend, as random walks do (median lag-1 "
                       "autocorrelation %.3f): such series correlate by chance, too, independent "
                       "random walks at |r| around 0.5; diff=step or diff=log correlates their "
                       "increments",
                       walks, n, matrix_median(scratch, n));
}

/* Pairs of one series, but for scale and offset, among those that are listed. Two samples always
 * lie on a line. */
static enum status warn_same(const struct pearson_job *job, struct result *out)
{
    size_t n = 0, first = 0;
    for (size_t k = 0; k < job->n_listed && fabs(job->pairs[k].r) > 1 - same_error; k++) {
        if (pearson_pair_samples(job, k) > 2) {
            first = n++ == 0 ? k : first;
        }
    }
    if (n == 0) {
        return STATUS_OK;
    }
    const struct matrix_pair *const p = &job->pairs[first];
    struct bytes more = {0};
    enum status st = n == 1 ? STATUS_OK : bytes_printf(&more, "; and %zu more pairs", n - 1);
    if (st == STATUS_OK) {
        st = result_warn(out, "'%s' and '%s' %s (|r| = 1)%.*s: one of them says all",
                         job->names.at[p->i], job->names.at[p->j],
                         job->choice.ranks    ? "rank their samples alike, or in reverse"
                         : job->choice.lagged ? "are the same but for scale, offset and lag"
                                              : "are the same but for scale and offset",
                         (int)more.len, (const char *)more.data);
    }
    bytes_free(&more);
    return st;
}

static enum status warn(const struct pearson_job *job, double *scratch, struct result *out)
{
    char few[64];
    (void)snprintf(few, sizeof few, "fewer than %zu values (min_samples), so no coefficients",
                   job->choice.min_samples);
    STATUS_TRY(warn_series(job, has_few_samples, few, out));
    STATUS_TRY(warn_series(job, is_constant, "no variance, so no coefficients", out));
    STATUS_TRY(warn_series(job, is_too_small,
                           "deviations too small to be squared, so no or rough coefficients (scale "
                           "them up)",
                           out));
    STATUS_TRY(warn_series(job, has_gaps,
                           job->choice.diff == PEARSON_DIFF_LOG
                               ? "missing increments, so pairs use the samples in common"
                               : "missing values, so pairs use the samples in common",
                           out));
    if (job->n_incomplete > 0) {
        STATUS_TRY(result_warn(out, "%zu of %zu %s are missing in some series, and left out of all",
                               job->n_incomplete, job->n_samples,
                               job->layout.n_dropped != 0 ? "increments" : "samples"));
    }
    if (job->n_no_log > 0) {
        STATUS_TRY(result_warn(out,
                               "%llu increments have no logarithm, since values are zero or change "
                               "sign: taken as missing",
                               (unsigned long long)job->n_no_log));
    }
    if (job->names.n_cut > 0) {
        const bool one = job->names.n_cut == 1;
        STATUS_TRY(result_warn(out, "%zu %s longer than %d bytes: cut there", job->names.n_cut,
                               one ? "name of a series is" : "names of series are",
                               SERIES_NAME_BYTES));
    }
    if (job->choice.within) {
        STATUS_TRY(warn_series(job, is_in_no_group, "in no group, and so left out", out));
    }
    if (job->choice.cluster && job->order == NULL && pearson_has_matrix(&job->choice)) {
        STATUS_TRY(
            job->n_series > PEARSON_ORDER_MOST
                ? result_warn(out, "%zu series are more than are clustered (%d): order=file",
                              job->n_series, PEARSON_ORDER_MOST)
                : result_warn(out,
                              "with r=none the matrix of %zu series is not held, and so they "
                              "are not clustered: order=file",
                              job->n_series));
    }
    STATUS_TRY(warn_pairs(job, out));
    STATUS_TRY(job->choice.lagged ? pearson_lags_warn(job, out) : STATUS_OK);
    STATUS_TRY(warn_same(job, out));
    return warn_walks(job, scratch, out);
}

/* --- what show and the report say ------------------------------------------------------------- */

static const struct stage_fact facts[] = {
    {"series", "n_series", ""},
    {"targets", "n_targets", ""},
    {"samples of each", "n_samples", ""},
    {"pairs", "n_pairs", ""},
    {"pairs without a coefficient", "n_undefined", ""},
    {"median |r|", "median_abs_r", ""},
    {"mean |r|", "homogeneity", ""},
    {"groups", "n_groups", ""},
    {"series in the largest group", "largest_group", ""},
    {"order of the heat map", "order", ""},
    {"series that stand out", "anomalous", ""},
    {"series without variance", "degenerate", ""},
    {"series with gaps", "with_gaps", ""},
    {0},
};

static const struct stage_listing listings[] = {
    {.title = "Strongest pairs",
     .columns = {{.head = "r", .list = "strongest_pairs", .keys = {"r"}, .fixed = true},
                 {.head = "n", .list = "strongest_pairs", .keys = {"n"}},
                 {.head = "series, from 0", .list = "strongest_pairs", .keys = {"i", "j"}},
                 {.head = "", .list = "strongest_pairs", .keys = {"name_i"}},
                 {.head = "", .list = "strongest_pairs", .keys = {"name_j"}}}},
    {0},
};

static const struct stage_code codes[] = {
    {.file = "pearson.npz",
     .lines = {"import numpy, scipy.spatial.distance", "result = numpy.load(\"pearson.npz\")",
               "r = scipy.spatial.distance.squareform(result[\"r\"])  # 0 on the diagonal"},
     .only = {{"r", "upper"}, {"targets", "none"}, {"within", "none"}, {"group_by", ""}}},
    {0},
};

static const struct stage_fact pictures[] = {
    {"a heat map of the coefficients of all pairs of series", "heatmap", ""},
    {0},
};

const struct stage_told pearson_told = {facts, listings, codes, pictures};

/* --- summary ------------------------------------------------------------------------------------
 */

/* Of the first of those found, without a limit by what is listed; null: there is none. */
static json_t *strongest(const struct pearson_job *job)
{
    json_t *const list = pearson_files_strongest(job, job->n_found > 0 ? 1 : 0);
    json_t *const first = json_incref(json_array_get(list, 0));
    json_decref(list);
    return job->n_found > 0 ? first : json_null();
}

/* {"count": n, "names": [the first of them]} */
static json_t *series(const struct pearson_job *job, property_fn *property)
{
    json_t *names = json_array();
    const size_t n = count_series(job, property);
    size_t named = 0;
    for (size_t s = 0; named < n && named < NAMES_LISTED; s++) {
        if (property(job, s)) {
            if (json_array_append_new(names, json_string(job->names.at[s])) != 0) {
                json_decref(names);
                return NULL;
            }
            named++;
        }
    }
    return json_pack("{s:I, s:o}", "count", (json_int_t)n, "names", names);
}

static const char *order_name(const struct pearson_job *job)
{
    return job->order == NULL ? "file" : job->choice.by_groups ? "groups" : "cluster";
}

static enum status summarise(const struct pearson_job *job, json_t *summary)
{
    const struct summary_entry entries[] = {
        {"median_abs_r", summary_real(job->median_abs_all)},
        {"homogeneity", summary_real(job->survey.mean_abs)},
        {"n_pairs", summary_integer(job->survey.n_pairs)},
        {"n_undefined", summary_integer(job->survey.n_undefined)},
        {"n_listed", summary_integer(job->n_listed)},
        {"strongest", strongest(job)},
        {"strongest_pairs",
         pearson_files_strongest(job, job->n_found < PAIRS_SHOWN ? job->n_found : PAIRS_SHOWN)},
        {"histogram", summary_integers(job->survey.histogram, MATRIX_BINS)},
        {"anomalous", pearson_is_swept(job) ? json_null() : series(job, is_anomalous)},
        {"degenerate", series(job, is_degenerate)},
        {"with_gaps", series(job, has_gaps)},
    };
    STATUS_TRY(summary_entry_put(summary, entries, sizeof entries / sizeof *entries));
    if (job->order != NULL) {
        const struct summary_entry order = {"order", json_string(order_name(job))};
        STATUS_TRY(summary_entry_put(summary, &order, 1));
    }
    if (job->groups.n == 0) {
        return STATUS_OK;
    }
    const struct summary_entry groups[] = {
        {"n_groups", summary_integer(job->groups.n)},
        {"largest_group", summary_integer(job->groups.at[0].size)},
    };
    return summary_entry_put(summary, groups, sizeof groups / sizeof *groups);
}

/* Which of series=auto it was, and what becomes of precision where series lie across lines. */
static enum status describe(const struct pearson_job *job, struct result *out)
{
    static const char *const precisions[] = {[PEARSON_EXACT] = "exact", [PEARSON_F32] = "f32"};
    const struct summary_entry shape[] = {
        {"n_series", summary_integer(job->n_series)},
        {"n_samples", summary_integer(job->n_samples + job->layout.n_dropped)},
    };
    STATUS_TRY(summary_entry_put(out->shape, shape, sizeof shape / sizeof *shape));
    if (!pearson_has_matrix(&job->choice)) {
        const struct summary_entry more =
            job->choice.targets
                ? (struct summary_entry){"n_targets", summary_integer(job->n_targets)}
                : (struct summary_entry){"n_groups", summary_integer(job->within.n)};
        STATUS_TRY(summary_entry_put(out->shape, &more, 1));
    }
    const struct summary_entry parameters[] = {
        {"series", json_string(job->choice.columns ? "columns" : "rows")},
        {"precision_used", json_string(precisions[job->choice.used])},
        {"order", json_string(order_name(job))},
    };
    return summary_entry_put(out->parameters, parameters, sizeof parameters / sizeof *parameters);
}

enum status pearson_report(struct pearson_job *job, struct result *out)
{
    double *scratch;
    STATUS_TRY(room_host(job->kept, job->n_series, sizeof *scratch, &scratch));
    STATUS_TRY(pearson_has_matrix(&job->choice) && !pearson_is_swept(job)
                   ? pearson_anomalies_find(job, scratch)
                   : STATUS_OK);
    STATUS_TRY(warn(job, scratch, out));
    STATUS_TRY(describe(job, out));
    STATUS_TRY(summarise(job, out->summary));
    STATUS_TRY(pearson_files(job, out));
    return pearson_has_matrix(&job->choice) ? pearson_heatmap(job) : STATUS_OK;
}
