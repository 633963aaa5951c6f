/*
 * sciddicat_report - the last result of a landslide: its files, figures, and what its user should
 * be warned of.
 */
#ifndef LEAT_STAGES_SCIDDICAT_SCIDDICAT_REPORT_H
#define LEAT_STAGES_SCIDDICAT_SCIDDICAT_REPORT_H

#include "stages/sciddicat/sciddicat_job.h"

/* The run is over. */
enum status sciddicat_report(struct sciddicat_job *job, struct result *out) STATUS_MUST_CHECK;

#endif
