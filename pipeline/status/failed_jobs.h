/*
 * failed_jobs - what is in the spool's failed/, by its reason.json files.
 *
 * Reads the folder itself; needs no service. Follows no link in it.
 */
#ifndef LEAT_PIPELINE_STATUS_FAILED_JOBS_H
#define LEAT_PIPELINE_STATUS_FAILED_JOBS_H

#include "formats/base/status.h"

#include <jansson.h>
#include <stdbool.h>

/* An array, newest first, of {"id", "name", "pipeline", "ended", "kind", "text", "attempts"}:
 * `name` is the first input's path, "in/X.csv", `kind` a status_name(), `ended` a time of UTC. A
 * folder without a reason that can be read is listed with the kind "unknown". At most `most`;
 * *n_all is how many there are. STATUS_NOT_FOUND: no such folder; STATUS_IO. */
enum status failed_jobs_list(const char *spool, size_t most, json_t **out,
                             size_t *n_all) STATUS_MUST_CHECK;
/* Whether there is a job of that ID, or that may not be seen. */
bool failed_jobs_has(const char *spool, const char *id);

#endif
