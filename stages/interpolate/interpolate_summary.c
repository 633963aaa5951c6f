/*
 * interpolate_summary - shape, parameters, summary and warnings as they stand in result.json.
 */
#include "formats/result/summary_entry.h"
#include "stages/interpolate/interpolate_job.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* From here on a warning says what the Lebesgue constant means. */
static const double notable_lebesgue = 1e6;

/* --- what show and the report say ------------------------------------------------------------- */

static const struct stage_fact facts[] = {
    {"nodes", "n_nodes", ""},
    {"curves", "n_curves", ""},
    {"queries", "n_queries", ""},
    {"method", "method", ""},
    {"x of curve.npz", "x_unit", ""},
    {"Lebesgue constant", "lebesgue_constant", ""},
    {"nodes from", "nodes_from", ""},
    {"nodes to", "nodes_to", ""},
    {"queries from", "queries_from", ""},
    {"queries to", "queries_to", ""},
    {"extrapolated", "extrapolated", ""},
    {"missing queries", "missing", ""},
    {0},
};

static const struct stage_code codes[] = {
    {.file = "curve.npz",
     .lines = {"import numpy", "result = numpy.load(\"curve.npz\")",
               "x, y = result[\"x\"], result[\"y\"]  # a row a curve"}},
    {0},
};

static const struct stage_fact pictures[] = {
    {"the curves over the range of the queries, with the nodes", "curve", ""},
    {0},
};

const struct stage_told interpolate_told = {facts, NULL, codes, pictures};

static const char *const methods[] = {[INTERPOLATE_BY_CELLS] = "chebyshev",
                                      [INTERPOLATE_BARYCENTRIC] = "barycentric",
                                      [INTERPOLATE_FLOATER_HORMANN] = "floater-hormann",
                                      [INTERPOLATE_PCHIP] = "pchip",
                                      [INTERPOLATE_SPLINE] = "spline"};

static const char *why_of(const struct interpolate_job *job)
{
    switch (job->setup.why) {
    case INTERPOLATE_AS_ASKED:
        return "as asked for";
    case INTERPOLATE_MANY_QUERIES:
        return "many queries are worth the set-up of cells";
    case INTERPOLATE_FEW_QUERIES:
        return "few queries, done sooner than cells are set up";
    case INTERPOLATE_ROUGH:
        return "too many cells would not hold the error bound";
    case INTERPOLATE_NO_INTERVAL:
        return "there is one node, or the nodes are too close to each other for cells";
    }
    return "";
}

static enum status put_shape(const struct interpolate_job *job, json_t *shape)
{
    const struct summary_entry entries[] = {
        {"n_nodes", summary_integer(job->n)},
        {"n_curves", summary_integer(job->choice.n_curves)},
        {"n_queries", summary_integer(job->n_done)},
    };
    return summary_entry_put(shape, entries, sizeof entries / sizeof *entries);
}

static json_t *summary_x(const struct interpolate_job *job, double x)
{
    char room[INTERPOLATE_X_BYTES];
    return job->choice.are_dates && !isnan(x) ? json_string(interpolate_x(job, x, room))
                                              : summary_real(x);
}

static const char unit_of_dates[] = "seconds since 1970-01-01T00:00:00Z";

/* What was chosen stands beside what was asked for, which says how results are made again. */
static enum status put_summary(const struct interpolate_job *job, json_t *summary)
{
    const struct interpolate_setup *const s = &job->setup;
    const double n = (double)job->n;
    const bool has_queries = job->low <= job->high;
    const struct summary_entry entries[] = {
        {"n_nodes", summary_integer(job->n)},
        {"n_queries", summary_integer(job->n_done)},
        {"n_curves", summary_integer(job->choice.n_curves)},
        {"degree", summary_integer(job->setup.degree)},
        {"method", json_string(methods[job->setup.method])},
        {"method_why", json_string(why_of(job))},
        {"cells", summary_integer(s->cells.n_cells)},
        {"cell_degree", summary_integer(s->cells.n_cells > 0 ? s->cells.degree : 0)},
        {"cells_by_barycentric", summary_integer(s->n_marked)},
        {"lebesgue_constant", summary_real(s->lebesgue)},
        {"log10_lebesgue_constant", summary_real(log10(s->lebesgue))},
        {"x_unit", job->choice.are_dates ? json_string(unit_of_dates) : json_null()},
        {"nodes_from", summary_x(job, job->x[0])},
        {"nodes_to", summary_x(job, job->x[(size_t)n - 1])},
        {"queries_from", summary_x(job, has_queries ? job->low : NAN)},
        {"queries_to", summary_x(job, has_queries ? job->high : NAN)},
        {"extrapolated", summary_integer(job->total.n_outside)},
        {"hits", summary_integer(job->total.n_hits)},
        {"missing", summary_integer(job->total.n_missing)},
    };
    return summary_entry_put(summary, entries, sizeof entries / sizeof *entries);
}

/* --- warnings --------------------------------------------------------------------------------- */

/* Whether the nodes lie at equal distances, but for a thousandth of one. */
static bool are_equispaced(const struct interpolate_job *job)
{
    const double step = (job->x[job->n - 1] - job->x[0]) / (double)(job->n - 1);
    for (size_t i = 0; i < job->n; i++) {
        if (fabs(job->x[i] - job->x[0] - step * (double)i) > step / 1000) {
            return false;
        }
    }
    return job->n > 2;
}

static enum status warn_lebesgue(const struct interpolate_job *job, struct result *out)
{
    const double lebesgue = job->setup.lebesgue;
    char size[32], left[96];
    if (!(lebesgue >= notable_lebesgue)) {
        return STATUS_OK;
    }
    const double digits = floor(53 * log10(2) - log10(lebesgue));
    if (isinf(lebesgue)) {
        snprintf(size, sizeof size, "more than 1e308");
    } else {
        snprintf(size, sizeof size, "about %.0e", lebesgue);
    }
    if (digits >= 1) {
        snprintf(left, sizeof left, "leaves it %.0f digit%s at most, fewer where y is measured",
                 digits, digits > 1 ? "s" : "");
    } else {
        snprintf(left, sizeof left, "makes the curve meaningless there");
    }
    return result_warn(out,
                       "the Lebesgue constant of these %zu nodes%s is %s: between them, mostly "
                       "near the ends, the rounding of every y and its other errors come into the "
                       "curve multiplied by up to as much, which %s; %s%s",
                       job->n, are_equispaced(job) ? ", at equal distances," : "", size, left,
                       job->setup.nodes.is_rational
                           ? "take a lower blend, or method="
                           : "take Chebyshev nodes (middle + half length * cos((2 k + 1) pi / (2 "
                             "n))), fewer nodes, or method=",
                       interpolate_may_blend(job) ? "floater-hormann" : "pchip");
}

static enum status warn_all(struct interpolate_job *job, struct result *out)
{
    const struct interpolate_counts *const t = &job->total;
    STATUS_TRY(warn_lebesgue(job, out));
    STATUS_TRY(interpolate_warn_swing(job, out));
    if (job->setup.n_marked > 0) {
        STATUS_TRY(result_warn(out,
                               "%zu of %zu cells do not hold the error bound: queries there took "
                               "the barycentric form",
                               job->setup.n_marked,
                               job->setup.cells.n_cells * job->choice.n_curves));
    }
    if (t->n_outside > 0) {
        char growth[64] = "", from[INTERPOLATE_X_BYTES], to[INTERPOLATE_X_BYTES];
        const bool is_rational = job->setup.nodes.is_rational;
        if (job->setup.degree > 1 && !is_rational) {
            snprintf(growth, sizeof growth, ", and soon grows like x^%zu", job->setup.degree);
        }
        STATUS_TRY(result_warn(
            out,
            "%" PRIu64 " of %" PRIu64 " queries lie outside of the nodes, from "
            "%s to %s: the %s is extrapolated there%s",
            t->n_outside, job->n_done, interpolate_x(job, job->x[0], from),
            interpolate_x(job, job->x[job->n - 1], to),
            job->setup.method >= INTERPOLATE_FLOATER_HORMANN ? "curve" : "polynomial", growth));
    }
    if (t->n_missing > 0) {
        STATUS_TRY(result_warn(out,
                               "%" PRIu64 " of %" PRIu64 " queries are missing: their y is NaN",
                               t->n_missing, job->n_done));
    }
    if (job->without_text) {
        STATUS_TRY(result_warn(out,
                               "curve.csv.gz is left out: %" PRIu64 " queries of %zu curve%s are "
                               "more than %d points; curve.npz has them",
                               job->n_done, job->choice.n_curves,
                               job->choice.n_curves > 1 ? "s" : "", INTERPOLATE_CSV_POINTS));
    }
    return STATUS_OK;
}

enum status interpolate_summarise(struct interpolate_job *job, struct result *out)
{
    STATUS_TRY(put_shape(job, out->shape));
    STATUS_TRY(put_summary(job, out->summary));
    return warn_all(job, out);
}
