/*
 * sciddicat_files - the grids and the books of a landslide as files.
 *
 * thickness, max_thickness: metres; NODATA cells of the DEM hold -9999 and are marked as NODATA,
 * unless the policy is compat, where they are cells like any other. arrival: the first step after
 * which a cell's debris was thicker than p_epsilon, 0 where it was from the start; -1, which is
 * marked as NODATA, where it never was. mass.csv.gz: the books, a row a report.
 */
#ifndef LEAT_STAGES_SCIDDICAT_SCIDDICAT_FILES_H
#define LEAT_STAGES_SCIDDICAT_SCIDDICAT_FILES_H

#include "stages/sciddicat/sciddicat_job.h"

/* Adds snapshots/NNNNNN of the present thickness, copied; the step has six digits or as many as
 * the last step. */
enum status sciddicat_files_snapshot(struct sciddicat_job *job,
                                     struct result *out) STATUS_MUST_CHECK;

/* Adds all others; their pieces read the job. */
enum status sciddicat_files(struct sciddicat_job *job, struct result *out) STATUS_MUST_CHECK;

#endif
