/*
 * sciddicat_figures_cpu - the figures of rows; only of those that have changed since.
 */
#include "kernels/base/clones_cpu.h"
#include "kernels/base/queue_cpu.h"
#include "kernels/sciddicat/sciddicat_figures.h"
#include "kernels/sciddicat/sciddicat_run_cpu.h"

/* Sums, counts and compares in one pass. */
CPU_CLONES static void add_mass(const double *h, size_t n, double epsilon,
                                struct sciddicat_row_figures *out)
{
    double part[SCIDDICAT_PARTS] = {0}, largest[SCIDDICAT_PARTS];
    uint64_t active[SCIDDICAT_PARTS] = {0};
    for (size_t l = 0; l < SCIDDICAT_PARTS; ++l) {
        largest[l] = h[0];
    }
    size_t k = 0;
    for (; k + SCIDDICAT_PARTS <= n; k += SCIDDICAT_PARTS) {
        for (size_t l = 0; l < SCIDDICAT_PARTS; ++l) {
            const double x = h[k + l];
            part[l] += x;
            largest[l] = x > largest[l] ? x : largest[l];
            active[l] += x > epsilon;
        }
    }
    for (size_t l = 0; k + l < n; ++l) {
        const double x = h[k + l];
        part[l] += x;
        largest[l] = x > largest[l] ? x : largest[l];
        active[l] += x > epsilon;
    }
    out->mass = sciddicat_figures_fold(part);
    out->largest = largest[0];
    out->n_active = active[0];
    for (size_t l = 1; l < SCIDDICAT_PARTS; ++l) {
        out->largest = largest[l] > out->largest ? largest[l] : out->largest;
        out->n_active += active[l];
    }
}

/* What has flowed into cells that are neither on the ring nor updated. */
static double sum_lost_nodata(const struct sciddicat_row *row, size_t n)
{
    double part[SCIDDICAT_PARTS] = {0};
    for (size_t j = 1; j + 1 < n; ++j) {
        if ((row->live[j / SEGMENT] >> (j % SEGMENT) & 1) == 0) {
            part[j % SCIDDICAT_PARTS] += row->max_h[j];
        }
    }
    return sciddicat_figures_fold(part);
}

static void row_figures(const struct sciddicat_params *p, const struct sciddicat_row *row, size_t i,
                        struct sciddicat_row_figures *out)
{
    const bool ring = i == 0 || i + 1 == p->rows;
    add_mass(row->h, p->columns, p->epsilon, out);
    out->lost_nodata = 0;
    if (ring || p->columns == 1) {
        out->lost_edge = sciddicat_figures_sum(row->max_h, p->columns, 1);
    } else {
        /* The partial sums of the cells between are zeros. */
        out->lost_edge = row->max_h[0] + row->max_h[p->columns - 1];
        if (p->nodata == SCIDDICAT_SINK) {
            out->lost_nodata = sum_lost_nodata(row, p->columns);
        }
    }
}

static void figures_body(void *arg, size_t index)
{
    const struct cpu_sciddicat_run *r = arg;
    const size_t n = cpu_sciddicat_task_rows(r), first = r->whole.first + index * n;
    const size_t end = cpu_min(first + n, r->whole.last);
    for (size_t i = first; i < end; ++i) {
        if (r->rows[i].touched) {
            row_figures(&r->p, &r->rows[i], i, &r->figures[i]);
            r->rows[i].touched = false;
        }
    }
}

void cpu_sciddicat_figures(struct queue *q, struct cpu_sciddicat_run *r)
{
    const size_t rows = r->whole.last - r->whole.first;
    cpu_run(q, cpu_pieces(rows, cpu_sciddicat_task_rows(r)), figures_body, r);
}
