/*
 * report - how a job ended, for programs: one JSON object a line on standard output. What `run` and
 * `check` share.
 */
#ifndef LEAT_PIPELINE_COMMANDS_REPORT_H
#define LEAT_PIPELINE_COMMANDS_REPORT_H

#include "pipeline/engine/job.h"

/* Input, status, the error and its meaning or else what result.json says. `output`: the folder the
 * result lies in; NULL: none was made. */
void report_print(const struct job_report *r, const char *output);
/* The value on a line. */
void report_print_json(const json_t *value);

#endif
