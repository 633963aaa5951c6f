/*
 * worker_open - a worker before its first job: its name to the system, its folders, its engine, its
 * sandbox.
 */
#ifndef LEAT_PIPELINE_WORKER_WORKER_OPEN_H
#define LEAT_PIPELINE_WORKER_WORKER_OPEN_H

#include "pipeline/engine/engine.h"
#include "pipeline/worker/worker_request.h"

/* First of all: the process dies with the service, and before it when memory is short; signals that
 * mean the service as a whole are not for it. */
void worker_settle_in(void);
/* As {"do": "open"} says (worker_protocol.h). The settings and the folders are the caller's, also
 * on failure; the engine only on success, and lends the settings. */
enum status worker_open(uv_loop_t *loop, const json_t *message, struct worker_folders *folders,
                        struct settings *settings, struct engine *engine) STATUS_MUST_CHECK;

#endif
