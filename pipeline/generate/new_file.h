/*
 * new_file - a file that appears under its name only once it is whole: it is written beside it
 * under a hidden name and then renamed. "-" is standard output; a device or pipe is written to
 * directly. Nothing is forced to the disk: a machine that fails right after may lose the file.
 */
#ifndef LEAT_PIPELINE_GENERATE_NEW_FILE_H
#define LEAT_PIPELINE_GENERATE_NEW_FILE_H

#include "formats/pack/pack.h"

struct new_file {
    const char *path;  /* as messages call it; borrowed */
    char *part;        /* beside it, under a hidden name; NULL: written to directly, or named */
    struct pack *pack; /* where its pieces go */
    bool force;
};

/* STATUS_EXISTS when the name is taken and `force` is not set. `rewinds`: pack_header is going to
 * be called; STATUS_BAD_ARGUMENT for a pipe. On failure *out is zeros. */
enum status new_file_open(const char *path, enum pack_kind kind, bool rewinds, bool force,
                          struct new_file *out) STATUS_MUST_CHECK;
/* Whether two paths are one name in one folder, however they are written: of two such files only
 * the later would be left. */
bool new_file_is_same(const char *a, const char *b);
/* Gives the file its name; *bytes is its size. *f is zeros then, in every case. */
enum status new_file_commit(struct new_file *f, uint64_t *bytes) STATUS_MUST_CHECK;
/* Leaves nothing behind; zeros are fine. */
void new_file_abandon(struct new_file *f);

#endif
