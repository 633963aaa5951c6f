/*
 * input_walk - how a folder that is an input is walked, and which folders in it are not gone into.
 */
#ifndef LEAT_PIPELINE_INPUT_WALK_H
#define LEAT_PIPELINE_INPUT_WALK_H

#include <fts.h>
#include <stdbool.h>
#include <sys/stat.h>

/* In byte order of names, not following links; for fts_close(). NULL: errno says why. */
FTS *input_walk_start(const char *path);

/* What tells the folder of results; zeroes, which are no folder's, when it is not there. */
struct stat input_walk_output(const char *output);

/* Whether the folder is not gone into: hidden, that of results, or a result in it. */
bool input_walk_skips(const struct stat *output, const FTSENT *entry);

#endif
