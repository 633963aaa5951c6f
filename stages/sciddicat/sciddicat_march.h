/*
 * sciddicat_march - the run of the automaton: in rounds that end where something is looked at, with
 * the books checked at every report.
 */
#ifndef LEAT_STAGES_SCIDDICAT_SCIDDICAT_MARCH_H
#define LEAT_STAGES_SCIDDICAT_SCIDDICAT_MARCH_H

#include "stages/sciddicat/sciddicat_job.h"

/* Goes on for about half a second, or until a snapshot has been added to `out`; *more is set unless
 * the end was reached: then h, max_h, arrival and motion are there, and the backend's memory is
 * given back. STATUS_INTERNAL when the books do not balance. */
enum status sciddicat_march(struct sciddicat_job *job, struct result *out,
                            bool *more) STATUS_MUST_CHECK;

#endif
