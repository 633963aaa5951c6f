/*
 * sciddicat_cells - the numbers of the two grids: which are NODATA, which cannot be, and how the
 * debris lies at the start.
 *
 * A cell of the DEM is NODATA when it holds the number that the file gives for that, or the one
 * given as missing_value; NaN too, but where the file gives another number. Where that number is
 * beyond 1e38, all beyond it with its sign are. NODATA of the source means no debris, under every
 * policy.
 */
#ifndef LEAT_STAGES_SCIDDICAT_SCIDDICAT_CELLS_H
#define LEAT_STAGES_SCIDDICAT_SCIDDICAT_CELLS_H

#include "stages/sciddicat/sciddicat_job.h"

/* Takes the next n_cells numbers of a part. STATUS_BAD_INPUT names file, row and column (from 1).
 */
enum status sciddicat_cells_take(struct sciddicat_job *job, enum sciddicat_part part,
                                 const struct table_chunk *chunk) STATUS_MUST_CHECK;

/* All numbers are there: fills job->start (but the sum), gives NODATA cells their altitude, and
 * writes the surface under the debris, n_cells numbers, to `surface`. STATUS_BAD_INPUT (no cell has
 * an altitude), STATUS_INTERNAL. */
enum status sciddicat_cells_start(struct sciddicat_job *job, double *surface) STATUS_MUST_CHECK;

#endif
