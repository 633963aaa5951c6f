/*
 * interpolate_cpu - queries in blocks, a task each. A block goes through the cells of every curve;
 * what these leave (queries outside, of marked cells) takes the barycentric form, in vectors.
 */
#include "kernels/interpolate/interpolate_cpu.h"

#include "kernels/base/queue_cpu.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* Queries in a task and in the first-level cache; points of a survey in a task. */
enum { TASK = 4096, BLOCK = 512, SURVEY_TASK = 4 * INTERPOLATE_LANES };

/* Of a curve, from 0, or of INTERPOLATE_ONE. */
static struct interpolate_terms terms_of(const struct interpolate_nodes *nodes, size_t curve)
{
    const size_t at = (curve + 1) * nodes->n;
    return (struct interpolate_terms){nodes->n,
                                      nodes->is_rational,
                                      nodes->x.at,
                                      (const double *)nodes->term_hi.at + at,
                                      (const double *)nodes->term_lo.at + at,
                                      (const int32_t *)nodes->exponent.at + at};
}

static enum status expect_nodes(const struct interpolate_nodes *nodes)
{
    const size_t all = (nodes->n_curves + 1) * nodes->n;
    STATUS_TRY(cpu_expect(nodes->x, nodes->n, sizeof(double), "nodes"));
    STATUS_TRY(cpu_expect(nodes->value, nodes->n_curves * nodes->n, sizeof(double), "values"));
    STATUS_TRY(cpu_expect(nodes->term_hi, all, sizeof(double), "terms"));
    STATUS_TRY(cpu_expect(nodes->term_lo, all, sizeof(double), "terms"));
    return cpu_expect(nodes->exponent, all, sizeof(int32_t), "exponents of terms");
}

/* --- survey ---------------------------------------------------------------------------------- */

struct survey_job {
    const struct interpolate_nodes *nodes;
    const struct interpolate_survey *survey;
    const struct interpolate_lanes *set;
    size_t n_tasks; /* of a curve */
};

static void survey_body(void *arg, size_t index)
{
    const struct survey_job *job = arg;
    const struct interpolate_survey *s = job->survey;
    const size_t curve = index / job->n_tasks, first = index % job->n_tasks * SURVEY_TASK;
    const size_t end = cpu_min(s->n, first + SURVEY_TASK);
    const bool is_curve = curve < job->nodes->n_curves;
    const struct interpolate_terms terms = terms_of(job->nodes, is_curve ? curve : INTERPOLATE_ONE);
    for (size_t from = first; from < end; from += INTERPOLATE_LANES) {
        double point[2][INTERPOLATE_LANES], found[3][INTERPOLATE_LANES];
        const size_t m = cpu_min(INTERPOLATE_LANES, end - from);
        for (size_t l = 0; l < INTERPOLATE_LANES; ++l) {
            const size_t at = from + cpu_min(l, m - 1);
            point[0][l] = ((const double *)s->point_hi.at)[at];
            point[1][l] = ((const double *)s->point_lo.at)[at];
        }
        job->set->survey(&terms, point[0], point[1], found[0], found[1], found[2]);
        const size_t to = curve * s->n + from;
        if (is_curve) {
            memcpy((double *)s->hi.at + to, found[0], m * sizeof(double));
            memcpy((double *)s->lo.at + to, found[1], m * sizeof(double));
        }
        memcpy((double *)s->condition.at + to, found[2], m * sizeof(double));
    }
}

static enum status survey(struct queue *q, const struct interpolate_nodes *nodes,
                          const struct interpolate_survey *s)
{
    const size_t n_curves = nodes->n_curves;
    STATUS_TRY(expect_nodes(nodes));
    STATUS_TRY(cpu_expect(s->point_hi, s->n, sizeof(double), "points"));
    STATUS_TRY(cpu_expect(s->point_lo, s->n, sizeof(double), "points"));
    STATUS_TRY(cpu_expect(s->hi, n_curves * s->n, sizeof(double), "values at points"));
    STATUS_TRY(cpu_expect(s->lo, n_curves * s->n, sizeof(double), "values at points"));
    STATUS_TRY(
        cpu_expect(s->condition, (n_curves + s->lebesgue) * s->n, sizeof(double), "conditions"));
    struct survey_job job = {nodes, s, cpu_interpolate_set(0), cpu_pieces(s->n, SURVEY_TASK)};
    return cpu_run_long(q, (n_curves + s->lebesgue) * job.n_tasks, survey_body, &job);
}

/* --- evaluate -------------------------------------------------------------------------------- */

struct evaluate_job {
    const struct interpolate_nodes *nodes;
    const struct interpolate_cells *cells;
    const struct interpolate_lanes *set;
    const void *queries;
    enum dtype type;
    size_t n;
    double *values;
    _Atomic uint64_t n_outside, n_hits, n_missing;
};

/* The node that x is, or n. */
static size_t node_of(const double *node, size_t n, double x)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (node[middle] < x) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < n && node[low] == x ? low : n;
}

/* The queries `left` of a block, m of them, into value[left[i]] of the curve. */
static void barycentric_block(const struct evaluate_job *job, size_t curve, const double *x,
                              const uint16_t *left, size_t m, double *value)
{
    const struct interpolate_terms terms = terms_of(job->nodes, curve),
                                   below = terms_of(job->nodes, INTERPOLATE_ONE);
    for (size_t from = 0; from < m; from += INTERPOLATE_LANES) {
        double at[INTERPOLATE_LANES], found[INTERPOLATE_LANES];
        const size_t some = cpu_min(INTERPOLATE_LANES, m - from);
        for (size_t l = 0; l < INTERPOLATE_LANES; ++l) {
            at[l] = x[left[from + cpu_min(l, some - 1)]];
        }
        job->set->barycentric(&terms, &below, at, found);
        for (size_t l = 0; l < some; ++l) {
            value[left[from + l]] = found[l];
        }
    }
}

/* Of the queries that have no value yet: those that are nodes get theirs; how many of the others
 * there are, in `left`. */
static size_t hits_block(const struct evaluate_job *job, size_t curve, const double *x, size_t m,
                         double *value, uint16_t *left, size_t *hits)
{
    const size_t n = job->nodes->n;
    const double *node = job->nodes->x.at, *f = (const double *)job->nodes->value.at + curve * n;
    size_t n_left = 0;
    for (size_t i = 0; i < m; ++i) {
        if (value[i] == value[i] || x[i] != x[i]) {
            continue;
        }
        const size_t j = node_of(node, n, x[i]);
        if (j < n) {
            value[i] = f[j];
            ++*hits;
        } else {
            left[n_left++] = (uint16_t)i;
        }
    }
    return n_left;
}

static void evaluate_block(struct evaluate_job *job, const double *x, size_t m, double *values)
{
    const size_t n_curves = job->nodes->n_curves;
    const bool are_pieces = job->cells->degree == INTERPOLATE_CUBIC;
    const double *node = job->nodes->x.at;
    const double begin = are_pieces ? job->cells->begin : node[0],
                 end = are_pieces ? job->cells->end : node[job->nodes->n - 1];
    const size_t n_cells = job->cells->n_cells, width = job->cells->degree + 3;
    double own[BLOCK];
    uint16_t left[BLOCK];
    size_t outside = 0, missing = 0;
    for (size_t i = 0; i < m; ++i) {
        outside += x[i] < begin || x[i] > end;
        missing += x[i] != x[i];
    }
    for (size_t curve = 0; curve < n_curves; ++curve) {
        double *value = n_curves == 1 ? values : own;
        size_t hits = 0;
        if (n_cells > 0) {
            const double *cell = (const double *)job->cells->cell.at + curve * n_cells * width;
            hits = job->set->cells(job->cells, cell, x, m, value);
        } else {
            memset(value, 0xff, m * sizeof *value); /* NaN */
        }
        if (!are_pieces) {
            const size_t n_left = hits_block(job, curve, x, m, value, left, &hits);
            barycentric_block(job, curve, x, left, n_left, value);
        }
        for (size_t i = 0; n_curves > 1 && i < m; ++i) {
            values[i * n_curves + curve] = own[i];
        }
        if (curve == 0) {
            atomic_fetch_add(&job->n_hits, hits);
        }
    }
    atomic_fetch_add(&job->n_outside, outside);
    atomic_fetch_add(&job->n_missing, missing);
}

static void evaluate_body(void *arg, size_t index)
{
    struct evaluate_job *job = arg;
    const size_t end = cpu_min(job->n, (index + 1) * TASK);
    double wide[BLOCK];
    for (size_t from = index * TASK; from < end; from += BLOCK) {
        const size_t m = cpu_min(BLOCK, end - from);
        const double *x = wide;
        if (job->type == DTYPE_F64) {
            x = (const double *)job->queries + from;
        } else {
            for (size_t i = 0; i < m; ++i) {
                wide[i] = (double)((const float *)job->queries)[from + i];
            }
        }
        evaluate_block(job, x, m, job->values + from * job->nodes->n_curves);
    }
}

static enum status evaluate(struct queue *q, const struct interpolate_nodes *nodes,
                            const struct interpolate_cells *cells, struct span queries,
                            enum dtype type, size_t n, struct span values, struct span counts)
{
    const size_t width = cells->degree + 3;
    STATUS_TRY(cells->degree != INTERPOLATE_CUBIC ? expect_nodes(nodes) : STATUS_OK);
    STATUS_TRY(cpu_expect(queries, n, dtype_bytes(type), "queries"));
    STATUS_TRY(cpu_expect(values, n * nodes->n_curves, sizeof(double), "values at queries"));
    STATUS_TRY(cpu_expect(counts, 1, sizeof(struct interpolate_counts), "counts"));
    if (cells->n_cells > 0) {
        STATUS_TRY(cpu_expect(cells->cell, nodes->n_curves * cells->n_cells * width, sizeof(double),
                              "cells"));
    }
    struct evaluate_job job = {.nodes = nodes,
                               .cells = cells,
                               .set = cpu_interpolate_set(0),
                               .queries = queries.at,
                               .type = type,
                               .n = n,
                               .values = values.at};
    STATUS_TRY(cpu_run_long(q, cpu_pieces(n, TASK), evaluate_body, &job));
    struct interpolate_counts *sum = counts.at;
    sum->n_outside += atomic_load(&job.n_outside);
    sum->n_hits += atomic_load(&job.n_hits);
    sum->n_missing += atomic_load(&job.n_missing);
    return STATUS_OK;
}

const struct interpolate_kernels cpu_interpolate = {.survey = survey, .evaluate = evaluate};
