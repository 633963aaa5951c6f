/*
 * beside - what lies beside a grid or a table, by its name: the .prj with the coordinate system of
 * an ESRI ASCII grid, whose text is carried to the results and never interpreted; the mask of a
 * grid; a marker; and what programs keep there. The same names count in a folder, an archive and
 * the watched folder.
 */
#ifndef LEAT_PIPELINE_NAMES_BESIDE_H
#define LEAT_PIPELINE_NAMES_BESIDE_H

#include "formats/base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { BESIDE_PROJECTION_BYTES = 1 << 16 };

/* X.prj, in any case. */
bool beside_is_projection(const char *path);
/* Whether a grid of this name has its coordinate system in a .prj beside it, if anywhere. */
bool beside_wants_projection(const char *name);
/* Length of name[0..n) without the name of a part, "X" of "X.dem"; n when it has none. */
size_t beside_without_part(const char *name, size_t n);
/* How well the file of this name fits beside the part of that one, both in one folder: 0: it does
 * not. X.dem.prj is better than X.prj for X.dem.asc. */
size_t beside_fits(const char *beside, const char *part);

struct beside {
    char *projection; /* the path of the .prj, for free(); NULL: there is none */
    bool has_mask;
};
typedef bool beside_is_there(const void *context, const char *path);
/* Asks which of the files that may lie beside the grid are there. Of X.dem.asc, and X.dem.asc.gz,
 * the .prj is X.dem.prj or else X.prj, also .PRJ or .Prj; of another grid, none. */
struct beside beside_search(const char *grid, beside_is_there *is_there, const void *context);
/* Whether a regular file of that name is on disk; no context. */
beside_is_there beside_is_file;

/* The text of an open .prj, from its begin. STATUS_BAD_INPUT: longer than BESIDE_PROJECTION_BYTES,
 * or no text. `path` is what messages call it. */
enum status beside_read_projection(int fd, const char *path, char **out) STATUS_MUST_CHECK;

#endif
