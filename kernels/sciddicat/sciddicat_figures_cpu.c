/*
 * sciddicat_figures_cpu - what a report says of a row, in the order that the contract fixes.
 */
#include "kernels/sciddicat/sciddicat_cpu.h"

#include "kernels/base/clones_cpu.h"
#include "kernels/base/queue_cpu.h"

enum { LANES = 32 };

/* The lanes' values added up by halves. */
static double fold(double *lane)
{
    for (size_t w = LANES / 2; w > 0; w /= 2) {
        for (size_t l = 0; l < w; ++l) {
            lane[l] += lane[l + w];
        }
    }
    return lane[0];
}

CPU_CLONES double cpu_sciddicat_sum(const double *x, size_t n, size_t apart)
{
    double lane[LANES] = {0};
    for (size_t k = 0; k < n; k += LANES) {
        const size_t width = cpu_min(LANES, n - k);
        for (size_t l = 0; l < width; ++l) {
            lane[l] += x[(k + l) * apart];
        }
    }
    return fold(lane);
}

/* Sums, counts and compares in one pass; short last pieces take up to LANES - 1 cells. */
CPU_CLONES static void mass(const double *h, size_t n, double epsilon,
                            struct sciddicat_row_figures *out)
{
    double lane[LANES] = {0}, largest[LANES];
    uint64_t active[LANES] = {0};
    for (size_t l = 0; l < LANES; ++l) {
        largest[l] = h[0];
    }
    size_t k = 0;
    for (; k + LANES <= n; k += LANES) {
        for (size_t l = 0; l < LANES; ++l) {
            const double x = h[k + l];
            lane[l] += x;
            largest[l] = x > largest[l] ? x : largest[l];
            active[l] += x > epsilon;
        }
    }
    for (size_t l = 0; k + l < n; ++l) {
        const double x = h[k + l];
        lane[l] += x;
        largest[l] = x > largest[l] ? x : largest[l];
        active[l] += x > epsilon;
    }
    out->mass = fold(lane);
    out->largest = largest[0];
    out->n_active = active[0];
    for (size_t l = 1; l < LANES; ++l) {
        out->largest = largest[l] > out->largest ? largest[l] : out->largest;
        out->n_active += active[l];
    }
}

/* What has flowed into cells that are neither on the ring nor updated. */
static double holes(const struct sciddicat_row *row, size_t n)
{
    double lane[LANES] = {0};
    for (size_t j = 1; j + 1 < n; ++j) {
        if ((row->live[j / SEGMENT] >> (j % SEGMENT) & 1) == 0) {
            lane[j % LANES] += row->peak[j];
        }
    }
    return fold(lane);
}

void cpu_sciddicat_figures(const struct sciddicat_params *p, const struct sciddicat_row *row,
                           size_t i, struct sciddicat_row_figures *out)
{
    const bool ring = i == 0 || i + 1 == p->rows;
    mass(row->h, p->columns, p->epsilon, out);
    out->lost_nodata = 0;
    if (ring || p->columns == 1) {
        out->lost_edge = cpu_sciddicat_sum(row->peak, p->columns, 1);
    } else {
        /* The lanes of the cells between hold zeros. */
        out->lost_edge = row->peak[0] + row->peak[p->columns - 1];
        if (p->nodata == SCIDDICAT_SINK) {
            out->lost_nodata = holes(row, p->columns);
        }
    }
}
