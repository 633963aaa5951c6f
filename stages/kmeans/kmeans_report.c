/*
 * kmeans_report - the summary of a k-means job, and what its user should be warned of.
 */
#include "stages/kmeans/kmeans_job.h"

#include "formats/result/summary_entry.h"

#include <math.h>
#include <string.h>

enum {
    LISTED = 1000,    /* clusters and columns in the summary */
    NAMED = 10,       /* columns in a sentence */
    LEAST_INDEX = 10, /* rows that are hardly counted by chance */
    UNLIKE = 30,      /* times as wide: the square of a distance is of that column, but for 1/900 */
};

/* --- warnings --------------------------------------------------------------------------------- */

static double range_of(const struct kmeans_job *job, size_t c)
{
    const struct kmeans_layout *const l = &job->layout;
    return l->has_weight && c == l->weight ? 0 : job->solve.max[c] - job->solve.min[c];
}

static bool is_constant(const struct kmeans_job *job, size_t c, double limit)
{
    (void)limit;
    return job->solve.weight[c] == 0 && !(job->layout.has_weight && c == job->layout.weight) &&
           job->choice.factors.n == 0;
}

static bool is_narrow(const struct kmeans_job *job, size_t c, double limit)
{
    return range_of(job, c) > 0 && range_of(job, c) < limit;
}

/* "'a', 'b' and 3 more" of the *n columns that have a property. */
static enum status put_columns(const struct kmeans_job *job,
                               bool (*has)(const struct kmeans_job *job, size_t c, double limit),
                               double limit, size_t *n, struct bytes *out)
{
    *n = 0;
    for (size_t c = 0; c < job->layout.n_columns; c++) {
        if (has(job, c, limit) && (*n)++ < NAMED) {
            STATUS_TRY(
                bytes_printf(out, "%s%s", *n > 1 ? ", " : "", kmeans_call_column(job, c).text));
        }
    }
    return *n > NAMED ? bytes_printf(out, " and %zu more", *n - NAMED) : STATUS_OK;
}

/* Columns that scaling leaves without a weight. */
static enum status warn_constant(const struct kmeans_job *job, struct result *out)
{
    struct bytes names = {0};
    size_t n;
    enum status st = put_columns(job, is_constant, 0, &n, &names);
    if (st == STATUS_OK && n > 0) {
        st = result_warn(
            out, "%zu constant column%s, which cannot be scaled and count%s nothing: %.*s", n,
            n == 1 ? "" : "s", n == 1 ? "s" : "", (int)names.len, (const char *)names.data);
    }
    bytes_free(&names);
    return st;
}

/* Columns that hardly count, since another is much wider. */
static enum status warn_unlike(const struct kmeans_job *job, struct result *out)
{
    size_t n, widest = 0;
    struct bytes names = {0};
    for (size_t c = 1; c < job->layout.n_columns; c++) {
        widest = range_of(job, c) > range_of(job, widest) ? c : widest;
    }
    const double range = range_of(job, widest);
    enum status st = put_columns(job, is_narrow, range / UNLIKE, &n, &names);
    if (st == STATUS_OK && n > 0 && job->choice.request.scale == KMEANS_SCALE_NONE &&
        !job->choice.given) {
        st = result_warn(out,
                         "%s ranges over %.3g, more than %d times as much as %.*s, which hardly "
                         "count%s in distances: scale=unit gives all columns the same weight",
                         kmeans_call_column(job, widest).text, range, UNLIKE, (int)names.len,
                         (const char *)names.data, n == 1 ? "s" : "");
    }
    bytes_free(&names);
    return st;
}

/* A first column of row numbers is measured like any other. */
static enum status warn_index(const struct kmeans_job *job, struct result *out)
{
    if (job->is_not_index || job->n < LEAST_INDEX || job->layout.n_measured < 2) {
        return STATUS_OK;
    }
    return result_warn(
        out,
        "%s counts the rows, from %.15g to %.15g, and is measured like the others: if it "
        "is an index, leave it out (of a CSV: columns)",
        kmeans_call_column(job, 0).text, job->solve.min[0], job->solve.max[0]);
}

static enum status warn_dropped(const struct kmeans_job *job, struct result *out)
{
    const size_t n = job->n_rows - job->n;
    return n == 0 ? STATUS_OK
                  : result_warn(out,
                                "%zu of %zu rows miss a value and are left out (missing=drop): "
                                "their label is -1",
                                n, job->n_rows);
}

static enum status warn_empty(const struct kmeans_job *job, struct result *out)
{
    const struct kmeans_fit *const fit = &job->solve.best;
    const size_t n_empty = fit->k - job->solve.n_nonzero;
    if (fit->state.n_relocated > 0) {
        STATUS_TRY(result_warn(out,
                               "clusters ran empty and took the point farthest from its centroid, "
                               "%llu time%s",
                               (unsigned long long)fit->state.n_relocated,
                               fit->state.n_relocated == 1 ? "" : "s"));
    }
    if (n_empty == 0 || job->choice.given) {
        return n_empty == 0 ? STATUS_OK
                            : result_warn(out, "%zu of %zu centroids are nearest to no point",
                                          n_empty, fit->k);
    }
    return result_warn(out,
                       "%zu of %zu clusters have no point: there are fewer distinct points than "
                       "clusters, or max_iter ended the run; set k to %zu%s",
                       n_empty, fit->k, job->solve.n_nonzero,
                       job->solve.n_nonzero > 1 ? " or less" : "");
}

/* Runs that max_iter ended: of the k that was taken, and of others in a range. */
static enum status warn_converged(const struct kmeans_job *job, struct result *out)
{
    size_t n = 0;
    for (size_t i = 0; i < job->solve.n_ks; i++) {
        n += job->solve.ks[i].converged ? 0 : 1;
    }
    if (job->solve.best.state.done == 0) {
        STATUS_TRY(result_warn(out,
                               "not converged within max_iter = %llu iterations: centroids still "
                               "move; raise max_iter or tol",
                               (unsigned long long)job->choice.request.max_iter));
        n--;
    }
    if (n == 0) {
        return STATUS_OK;
    }
    return result_warn(
        out, "%zu other number%s of clusters did not converge within max_iter: see ks.csv.gz", n,
        n == 1 ? "" : "s");
}

static enum status warn_names(const struct kmeans_job *job, struct result *out)
{
    if (!job->layout.has_names) {
        return STATUS_OK;
    }
    if (!job->layout.resident) {
        return result_warn(out, "labels.csv.gz has row numbers, not the rows' names: the points "
                                "with their names do not fit memory");
    }
    if (!job->names.given_up) {
        return STATUS_OK;
    }
    return result_warn(out,
                       "labels.csv.gz has row numbers, not the rows' names: these are longer than "
                       "%d bytes on average",
                       KMEANS_NAMES_A_ROW);
}

static enum status warn_silhouette(const struct kmeans_job *job, struct result *out)
{
    if (!job->choice.is_range || !isnan(job->solve.best.silhouette)) {
        return STATUS_OK;
    }
    return result_warn(out,
                       "no number of clusters of the range has a silhouette, which takes two "
                       "clusters: the smallest, %zu, is taken",
                       job->solve.best.k);
}

static enum status warn(const struct kmeans_job *job, struct result *out)
{
    STATUS_TRY(warn_dropped(job, out));
    STATUS_TRY(warn_index(job, out));
    STATUS_TRY(warn_constant(job, out));
    STATUS_TRY(warn_unlike(job, out));
    STATUS_TRY(warn_empty(job, out));
    STATUS_TRY(warn_converged(job, out));
    STATUS_TRY(warn_silhouette(job, out));
    return warn_names(job, out);
}

/* --- what show and the report say ------------------------------------------------------------- */

static const struct stage_fact facts[] = {
    {"points", "n_points", ""},
    {"columns", "n_columns", ""},
    {"clusters", "k", ""},
    {"inertia", "inertia", ""},
    {"silhouette", "silhouette", ""},
    {"iterations", "n_iterations", ""},
    {"converged", "converged", ""},
    {0},
};

static const struct stage_listing listings[] = {
    {.title = "Clusters",
     .columns = {{.head = "cluster, from 0"},
                 {.head = "points", .list = "sizes"},
                 {.head = "sum of squares", .list = "within"},
                 {.head = "centroid, column by column", .list = "centroids"}}},
    {.title = "Components 1 and 2",
     .columns = {{.head = "share of the variance", .list = "variance_share"}}},
    {0},
};

static const struct stage_code codes[] = {
    {.file = "kmeans.npz",
     .lines = {"import numpy", "result = numpy.load(\"kmeans.npz\")",
               "labels, centroids = result[\"labels\"], result[\"centroids\"]"}},
    {0},
};

static const struct stage_fact pictures[] = {
    {"the points in their clusters, with the centroids", "scatter", ""},
    {"inertia and silhouette by the number of clusters", "ks", ""},
    {0},
};

const struct stage_told kmeans_told = {facts, listings, codes, pictures};

/* --- summary ---------------------------------------------------------------------------------- */

static size_t listed(size_t n)
{
    return n < LISTED ? n : LISTED;
}

/* The factors of the measured columns. */
static json_t *scale_of(const struct kmeans_job *job)
{
    json_t *const list = json_array();
    for (size_t i = 0; list != NULL && i < listed(job->layout.n_measured); i++) {
        const double factor = job->solve.weight[kmeans_measured(&job->layout, i)];
        if (json_array_append_new(list, summary_real(factor)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* Of each cluster the centroid's numbers in the measured columns. */
static json_t *centroids_of(const struct kmeans_job *job)
{
    enum { CLUSTERS = 32, COLUMNS = 64 };
    const size_t k = job->solve.best.k, d = job->layout.n_measured;
    json_t *const list = json_array();
    double at[COLUMNS];
    for (size_t c = 0; c < (k < CLUSTERS ? k : CLUSTERS); c++) {
        const size_t n = d < COLUMNS ? d : COLUMNS;
        for (size_t i = 0; i < n; i++) {
            at[i] = job->solve.best
                        .centroids[c * job->layout.n_columns + kmeans_measured(&job->layout, i)];
        }
        if (json_array_append_new(list, summary_reals(at, n)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static enum status summarise(const struct kmeans_job *job, json_t *summary)
{
    const struct kmeans_fit *const fit = &job->solve.best;
    const struct summary_entry entries[] = {
        {"n_points", summary_integer(job->n)},
        {"n_dropped", summary_integer(job->n_rows - job->n)},
        {"n_columns", summary_integer(job->layout.n_measured)},
        {"k", summary_integer(fit->k)},
        {"inertia", summary_real(fit->inertia)},
        {"silhouette", summary_real(fit->silhouette)},
        {"silhouette_points", summary_integer(job->solve.sample.n)},
        {"n_iterations", summary_integer(fit->state.n_iterations)},
        {"converged", job->choice.given ? json_null() : json_boolean(fit->state.done != 0)},
        {"n_empty", summary_integer(fit->k - job->solve.n_nonzero)},
        {"n_relocated", summary_integer(fit->state.n_relocated)},
        {"sizes", summary_integers(job->solve.count, listed(fit->k))},
        {"within", summary_reals(job->solve.within, listed(fit->k))},
        {"weight", summary_reals(job->solve.mass, job->layout.has_weight ? listed(fit->k) : 0)},
        {"centroids", centroids_of(job)},
        {"scale", scale_of(job)},
        {"variance_share", summary_reals(job->view.share, job->layout.has_components ? 2 : 0)},
    };
    STATUS_TRY(summary_entry_put(summary, entries, sizeof entries / sizeof *entries));
    const struct summary_entry range = {"ks",
                                        job->choice.is_range ? kmeans_files_ks(job) : json_null()};
    return summary_entry_put(summary, &range, 1);
}

static enum status describe(const struct kmeans_job *job, struct result *out)
{
    const struct summary_entry shape[] = {
        {"n_points", summary_integer(job->n)},
        {"n_columns", summary_integer(job->layout.n_measured)},
    };
    STATUS_TRY(summary_entry_put(out->shape, shape, sizeof shape / sizeof *shape));
    const struct summary_entry parameters[] = {
        {"k_used", summary_integer(job->solve.best.k)},
        {"n_init", summary_integer(job->choice.request.n_init)},
    };
    return summary_entry_put(out->parameters, parameters, sizeof parameters / sizeof *parameters);
}

enum status kmeans_report(struct kmeans_job *job, struct result *out)
{
    STATUS_TRY(warn(job, out));
    STATUS_TRY(describe(job, out));
    STATUS_TRY(summarise(job, out->summary));
    STATUS_TRY(kmeans_files(job, out));
    STATUS_TRY(kmeans_plot_scatter(job));
    return job->choice.is_range ? kmeans_plot_ks(job) : STATUS_OK;
}
