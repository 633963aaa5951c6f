/*
 * sciddicat_figures - what is read off the grids when a landslide is over.
 *
 * A cell was covered when its debris was thicker than p_epsilon at some step. The crown is the
 * highest cell with an altitude that carried debris at the start (of several the first in the order
 * of rows), the toe the lowest one covered: of several the one farthest from the crown on the map,
 * of these the first in the order of rows. Their distance on the map and their difference in
 * altitude give the angle of reach (A. Heim's Fahrboeschung), by which the mobility of landslides
 * is compared.
 */
#ifndef LEAT_STAGES_SCIDDICAT_SCIDDICAT_FIGURES_H
#define LEAT_STAGES_SCIDDICAT_SCIDDICAT_FIGURES_H

#include "stages/sciddicat/sciddicat_job.h"

struct sciddicat_figures {
    size_t n_covered;          /* cells ever covered */
    size_t first_row, end_row; /* where they lie; 0 and 0 when there are none */
    size_t first_column, end_column;
    size_t n_dammed;    /* of them: beside a NODATA cell that is a wall */
    size_t n_on_nodata; /* of them: NODATA cells, under compat */
    size_t deepest;     /* the cell with the largest thickness ever, but for NODATA */
    size_t toe;         /* n_covered > 0 */
    bool ran;           /* there are a crown and a toe: */
    double drop_m;      /* from one to the other */
    double runout_m;    /* on the map, centre to centre */
};

void sciddicat_figures_of(const struct sciddicat_job *job, struct sciddicat_figures *out);

#endif
