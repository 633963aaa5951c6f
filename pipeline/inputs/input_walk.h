/*
 * input_walk - how a folder that is an input is walked, and which folders in it are not gone into.
 */
#ifndef LEAT_PIPELINE_INPUTS_INPUT_WALK_H
#define LEAT_PIPELINE_INPUTS_INPUT_WALK_H

#include "pipeline/settings/settings.h"

#include <fts.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* In byte order of names, not following links; for fts_close(). NULL: errno says why. */
FTS *input_walk_start(const char *path);

/* What identifies the folder of results; zeroes, which no folder has, when it is not there. */
struct stat input_walk_output(const char *output);

/* Whether the folder holds a result.json of leat, of a job or of an archive. */
bool input_walk_is_result(const char *path);

/* Whether the folder is not gone into: hidden, that of results, or a result wherever it lies. */
bool input_walk_skips(const struct stat *output, const FTSENT *entry);

/* Bytes of all files that the command line names, as far as can be seen without opening them; of
 * those that were seen until *stop. */
uint64_t input_walk_bytes(const struct settings *settings, const struct stat *output,
                          const atomic_bool *stop);

#endif
