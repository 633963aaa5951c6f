/*
 * failed_jobs - what is in the spool's failed/, by its reason.json files.
 *
 * Reads the folder itself; needs no service. Follows no link in it.
 */
#ifndef LEAT_PIPELINE_STATUS_FAILED_JOBS_H
#define LEAT_PIPELINE_STATUS_FAILED_JOBS_H

#include "formats/base/status.h"

#include <jansson.h>

/* An array, newest first, of {"id", "name", "kind", "text", "time", "attempts"}: `name` is the
 * first input's path below in/, `kind` a status_name(). A folder without a reason that can be read
 * is listed with the kind "unknown". STATUS_NOT_FOUND: no such folder; STATUS_IO, STATUS_NO_MEMORY.
 */
enum status failed_jobs_list(const char *spool, json_t **out) STATUS_MUST_CHECK;
/* Takes out of such a list what is no longer in failed/: tried again, or removed by hand. */
void failed_jobs_drop_gone(const char *spool, json_t *list);

#endif
