/*
 * worker_routes - what the configuration says of files that nobody has seen yet, as JSON: a worker
 * finds the pipelines and parameters of an archive's members by it.
 */
#ifndef LEAT_PIPELINE_WORKER_WORKER_ROUTES_H
#define LEAT_PIPELINE_WORKER_WORKER_ROUTES_H

#include "pipeline/settings/settings.h"

#include <jansson.h>

/* {"archive": {"pipeline", "max_entries", "set", "routes", "pipelines"}}. NULL: a text is not
 * UTF-8. */
json_t *worker_pack_routes(const struct settings *settings);
/* The reverse, into settings that hold nothing else; for settings_free(). */
void worker_unpack_routes(const json_t *packed, struct settings *out);
/* Whether a job is one of an archive. */
bool worker_is_archive(const json_t *packed);
/* Which pipeline the parameters of a job name. NULL: it is an archive; "": it is refused, or this
 * version does not know it. */
const char *worker_pipeline_of(const json_t *packed);

#endif
