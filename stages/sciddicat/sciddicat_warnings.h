/*
 * sciddicat_warnings - what a landslide's user should know before believing the figures.
 */
#ifndef LEAT_STAGES_SCIDDICAT_SCIDDICAT_WARNINGS_H
#define LEAT_STAGES_SCIDDICAT_SCIDDICAT_WARNINGS_H

#include "stages/sciddicat/sciddicat_figures.h"

enum status sciddicat_warnings(const struct sciddicat_job *job, const struct sciddicat_figures *f,
                               struct result *out) STATUS_MUST_CHECK;

#endif
