/*
 * projection - the .prj file that lies beside an ESRI ASCII grid: the text of its coordinate
 * system, which is carried to the results and never interpreted.
 */
#ifndef LEAT_PIPELINE_NAMES_PROJECTION_H
#define LEAT_PIPELINE_NAMES_PROJECTION_H

#include "formats/base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { PROJECTION_MAX_BYTES = 1 << 16 };

/* X.prj, in any case. */
bool projection_named(const char *path);

/* Asks for the names that the .prj of a grid may have, best first, until one is there: beside X.asc
 * and X.asc.gz that is X.prj, .PRJ or .Prj; for the part of a job, X.dem.asc, X.dem.prj goes before
 * X.prj. A path that is no such grid has none. The same names count in a folder, an archive and the
 * watched folder: it is `is_there` that looks, at a path that lasts for the call. */
typedef bool projection_is_there(void *context, const char *path);
void projection_search(const char *grid, projection_is_there *is_there, void *context);

/* The text of the file that lies beside a grid on disk. NULL: there is none. Owned by the caller.
 */
enum status projection_beside(const char *grid, char **out) STATUS_MUST_CHECK;

/* The text of an open file, from its begin. STATUS_BAD_INPUT: longer than PROJECTION_MAX_BYTES, or
 * no text. `path` is what messages call it. */
enum status projection_read(int fd, const char *path, char **out) STATUS_MUST_CHECK;

#endif
