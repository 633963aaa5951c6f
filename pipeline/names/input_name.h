/*
 * input_name - what the name of an input says: whether it can be a table or a grid, which pipeline
 * it asks for, and what its result is going to be called. Looks at text only, never at a file.
 */
#ifndef LEAT_PIPELINE_NAMES_INPUT_NAME_H
#define LEAT_PIPELINE_NAMES_INPUT_NAME_H

#include "formats/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* X.csv .tsv .txt .npy .npz, or what a module reads as a table (foreign_is_read), in any case, also
 * with .gz .xz .zst .bz2 behind it. */
bool input_name_is_table(const char *path);
/* One of these, or X.asc .tif .tiff, or what a module reads as a grid. */
bool input_name_is_grid(const char *path);

/* A file that programs keep beside a grid or a table, in any case, and that is no input itself:
 * X.prj .qpj .wld .tfw .tifw .qml .sld .msk .aux.xml .ovr .cpg .csvt and others of that kind; .shx
 * .dbf, although they may also be tables that nobody reads (settings_input_kind). */
bool input_name_is_sidecar(const char *path);

/* What a mask is called, behind the whole name of the grid that it is of. */
#define INPUT_NAME_MASK ".msk"

/* What the marker of a file that is complete is called, behind its whole name. */
#define INPUT_NAME_MARKER ".done"

/* Length of the last component without the ending of a sidecar file or a marker: of X.dem.asc.msk
 * and X.dem.asc.aux.xml that of X.dem.asc; all of it when it has none. */
size_t input_name_beside(const char *path);
/* Length of the name without .gz .xz .zst .bz2 and without the extension of a table or grid. */
size_t input_name_bare(const char *name);

/* X.SUFFIX.*, in any case, the name's own way to say its pipeline: how long X.SUFFIX is, the last
 * one if it is there twice; 0: the name does not. */
size_t input_name_asks_for(const char *path, const char *suffix);

/* The X of X.SUFFIX.csv.gz: the last component without .gz .xz .zst .bz2, without the extension of
 * a table or grid, without .SUFFIX. Owned by the caller. STATUS_BAD_ARGUMENT when that is no safe
 * single component of a path: empty, longer than 255 bytes, beginning with a dot. */
enum status input_name_stem(const char *path, const char *suffix, char **out) STATUS_MUST_CHECK;

#endif
