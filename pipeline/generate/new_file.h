/*
 * new_file - a file that appears under its name only once it is whole: it is written beside it
 * under a hidden name and then renamed. "-" is standard output; a device or pipe is written to
 * directly. Nothing is forced to the disk: a machine that fails right after may lose the file.
 */
#ifndef LEAT_PIPELINE_GENERATE_NEW_FILE_H
#define LEAT_PIPELINE_GENERATE_NEW_FILE_H

#include "formats/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct new_file;

/* STATUS_EXISTS when the name is taken and `force` is not set. */
enum status new_file_open(const char *path, bool force, struct new_file **out) STATUS_MUST_CHECK;
/* Whether two paths are one name in one folder, however they are written: of two such files only
 * the later would be left. */
bool new_file_is_same(const char *a, const char *b);
/* STATUS_CANCELLED when the reader of a pipe has gone (SIGPIPE is ignored). */
enum status new_file_write(struct new_file *f, const void *data, size_t n) STATUS_MUST_CHECK;
/* What is written from now on replaces what the file begins with. STATUS_BAD_ARGUMENT for a pipe.
 */
enum status new_file_rewind(struct new_file *f) STATUS_MUST_CHECK;
/* Gives the file its name; f is freed in every case. */
enum status new_file_commit(struct new_file *f) STATUS_MUST_CHECK;
/* Leaves nothing behind; NULL is fine. */
void new_file_abandon(struct new_file *f);

#endif
