/*
 * shown_result - the result.json that a path means: a folder's, that file itself, or the one in the
 * zip that --bundle leaves.
 */
#ifndef LEAT_PIPELINE_COMMANDS_SHOWN_RESULT_H
#define LEAT_PIPELINE_COMMANDS_SHOWN_RESULT_H

#include "formats/base/status.h"

#include <jansson.h>
#include <stdbool.h>

/* For json_decref(). *out NULL and STATUS_OK, with errno: the path means none. STATUS_BAD_INPUT:
 * one that leat has not written. */
enum status shown_result_read(const char *path, json_t **out) STATUS_MUST_CHECK;
/* Whether it is that of a job; else it is the index of an archive, as leat watch leaves it, of
 * which each job has a folder. */
bool shown_result_is_job(const json_t *result);

#endif
