/*
 * select_cpu - the pairs beyond a cut, ordered by i, then j.
 *
 * A task takes a block of columns i and walks down their rows, so that a column's pairs come in the
 * order of j; one walk counts, the counts' running sum gives every column its place, a second walk
 * writes. Most elements fail the cut: a block of a row is first tested as a whole.
 */
#include "kernels/base/vector_cpu.h"
#include "kernels/matrix/matrix_cpu.h"

#include "kernels/base/clones_cpu.h"

#include <math.h>
#include <stdlib.h>

enum { COLUMNS = 64 };

struct select_job {
    const struct matrix *m;
    double cut;
    size_t *place;             /* of every column: a count, then where its next pair goes */
    struct matrix_pair *pairs; /* NULL while counting */
};

CPU_CLONES static int any_beyond(const double *r, size_t n, double cut)
{
    int any = 0;
    for (size_t i = 0; i < n; ++i) {
        any |= fabs(r[i]) >= cut;
    }
    return any;
}

static void take(const struct select_job *job, size_t i, size_t j, double r)
{
    size_t at = job->place[i]++;
    if (job->pairs != NULL) {
        job->pairs[at] = (struct matrix_pair){(uint32_t)i, (uint32_t)j, r};
    }
}

static void select_body(void *arg, size_t index)
{
    const struct select_job *job = arg;
    double buffer[COLUMNS];
    size_t n = job->m->n_series, first = index * COLUMNS, end = cpu_min(first + COLUMNS, n);
    for (size_t j = cpu_max(first + 1, job->m->first); j < n; ++j) {
        size_t in_row = cpu_min(end, j) - first;
        const double *r =
            vector_widen(cpu_matrix_row(job->m, j), job->m->type, first, in_row, buffer);
        if (!any_beyond(r, in_row, job->cut)) {
            continue;
        }
        for (size_t s = 0; s < in_row; ++s) {
            if (fabs(r[s]) >= job->cut) {
                take(job, first + s, j, r[s]);
            }
        }
    }
}

enum status cpu_select(struct queue *q, const struct matrix *m, double cut,
                       struct matrix_pairs *out)
{
    out->n = 0;
    STATUS_TRY(cpu_matrix_check(m));
    if (m->n_series < 2) {
        return STATUS_OK;
    }
    struct select_job job = {.m = m, .cut = cut};
    job.place = calloc(m->n_series, sizeof *job.place);
    if (job.place == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory to select among %zu series", m->n_series);
    }
    size_t tasks = cpu_pieces(m->n_series, COLUMNS);
    enum status st = cpu_run_long(q, tasks, select_body, &job);
    for (size_t i = 0; i < m->n_series; ++i) {
        size_t count = job.place[i];
        job.place[i] = out->n;
        out->n += count;
    }
    if (st == STATUS_OK && out->n > 0 && out->n <= out->capacity) {
        job.pairs = out->at;
        st = cpu_run_long(q, tasks, select_body, &job);
    }
    free(job.place);
    return st;
}
