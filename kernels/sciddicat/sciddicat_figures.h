/*
 * sciddicat_figures - sums in the order that struct sciddicat_report fixes, and a map's figures
 * from those of its rows.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_SCIDDICAT_FIGURES_H
#define LEAT_KERNELS_SCIDDICAT_SCIDDICAT_FIGURES_H

#include "kernels/sciddicat/sciddicat.h"

#include <stddef.h>

enum { SCIDDICAT_PARTS = 32 /* of a sum */ };

/* The sum of the partial sums, by halves. */
static inline double sciddicat_figures_fold(double part[SCIDDICAT_PARTS])
{
    for (size_t w = SCIDDICAT_PARTS / 2; w > 0; w /= 2) {
        for (size_t l = 0; l < w; ++l) {
            part[l] += part[l + w];
        }
    }
    return part[0];
}

/* The sum of n numbers, `apart` doubles from one to the next. */
static inline double sciddicat_figures_sum(const double *x, size_t n, size_t apart)
{
    double part[SCIDDICAT_PARTS] = {0};
    for (size_t k = 0; k < n; ++k) {
        part[k % SCIDDICAT_PARTS] += x[k * apart];
    }
    return sciddicat_figures_fold(part);
}

/* The sums, the largest and the number of active cells of a map of so many rows. */
static inline void sciddicat_figures_of_map(const struct sciddicat_row_figures *rows, size_t n,
                                            struct sciddicat_report *out)
{
    const size_t apart = sizeof *rows / sizeof rows->mass;
    out->mass = sciddicat_figures_sum(&rows->mass, n, apart);
    out->lost_edge = sciddicat_figures_sum(&rows->lost_edge, n, apart);
    out->lost_nodata = sciddicat_figures_sum(&rows->lost_nodata, n, apart);
    out->largest = rows->largest;
    out->n_active = 0;
    for (size_t i = 0; i < n; ++i) {
        out->largest = rows[i].largest > out->largest ? rows[i].largest : out->largest;
        out->n_active += rows[i].n_active;
    }
}

#endif
