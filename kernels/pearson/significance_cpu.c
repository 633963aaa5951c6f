/*
 * significance_cpu - how many pairs reach each level of significance.
 *
 * Of a pair of all samples that is a search for its |r|. Of one with gaps p is computed from the
 * number of samples in common, if its |r| were enough with all of them.
 */
#include "kernels/matrix/matrix_cpu.h"
#include "kernels/pearson/pearson_cpu.h"
#include "kernels/pearson/significance_rule.h"

#include <stdlib.h>

/* Task k of n takes rows k, k + n, ...; one is worth its counts. */
enum { MOST_TASKS = 32, TASK_PAIRS = 1 << 16, CELLS = 4096 };

/* Where among the levels a number is looked for: of cells of equal width from the first to the last
 * of them, the level reached just before each begins. */
struct cells {
    double first, scale;
    uint32_t at[CELLS + 3];
};

struct levels_job {
    const struct matrix *m;
    const struct pearson_levels *l;
    size_t n_tasks;
    uint64_t *counts; /* [task][level] */
    struct cells cells;
};

static void lay_cells(const struct pearson_levels *l, struct cells *out)
{
    const double first = l->r[0], width = fmax(l->r[l->n - 1] - first, 0x1p-1000) / CELLS;
    out->first = first;
    out->scale = 1 / width;
    for (size_t c = 0; c < CELLS + 3; ++c) {
        const double before = first + ((double)c - 0.001) * width;
        out->at[c] = (uint32_t)significance_level(l->r, l->n, before);
    }
}

/* The level that r reaches; it reaches the first. */
static size_t level_of(const struct levels_job *job, double r)
{
    const struct cells *cells = &job->cells;
    const double at = (r - cells->first) * cells->scale;
    const size_t c = at < CELLS ? (size_t)at : CELLS, from = cells->at[c];
    return from + significance_level(job->l->r + from, cells->at[c + 2] - from + 1, r);
}

static void levels_body(void *arg, size_t task)
{
    const struct levels_job *job = arg;
    const struct pearson_levels *l = job->l;
    uint64_t *counts = job->counts + task * l->n;
    for (size_t j = job->m->first + task; j < job->m->n_series; j += job->n_tasks) {
        const void *row = cpu_matrix_row(job->m, j);
        const bool gaps = significance_has_gaps(l, j);
        for (size_t i = 0; i < j; ++i) {
            const double r = fabs(dtype_real(job->m->type, row, i));
            if (!(r >= l->r[0])) {
                continue;
            }
            const size_t level = gaps || significance_has_gaps(l, i)
                                     ? significance_level_of_gaps(l, j, i, r)
                                     : level_of(job, r);
            if (level < l->n) {
                ++counts[level];
            }
        }
    }
}

enum status cpu_count_levels(struct queue *q, const struct matrix *m,
                             const struct pearson_levels *levels, uint64_t *counts)
{
    const uint64_t wanted = 1 + matrix_band_pairs(m) / TASK_PAIRS;
    struct levels_job job = {.m = m, .l = levels, .n_tasks = cpu_min(MOST_TASKS, wanted)};
    STATUS_TRY(cpu_matrix_check(m));
    lay_cells(levels, &job.cells);
    job.counts = calloc(job.n_tasks * levels->n, sizeof *job.counts);
    if (job.counts == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory to count %zu levels", levels->n);
    }
    const enum status st = cpu_run_long(q, job.n_tasks, levels_body, &job);
    for (size_t k = 0; k < levels->n; ++k) {
        counts[k] = 0;
        for (size_t t = 0; t < job.n_tasks; ++t) {
            counts[k] += job.counts[t * levels->n + k];
        }
    }
    free(job.counts);
    return st;
}
