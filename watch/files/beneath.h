/*
 * beneath - opening what lies below a folder, and nothing else.
 *
 * Names come from strangers: a path is taken component by component below an open folder, links of
 * any kind are refused (also those that the kernel makes up in /proc), ".." and absolute paths too.
 * Opening never waits (FIFOs) and never becomes a terminal's owner. Uses openat2(2) where the
 * kernel has it, else a walk with O_NOFOLLOW that gives the same answers.
 */
#ifndef LEAT_WATCH_FILES_BENEATH_H
#define LEAT_WATCH_FILES_BENEATH_H

#include "formats/base/status.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/* Opens `path` below at_fd; "" is at_fd's own folder. `flags` are of open(2), without O_CREAT;
 * O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK and O_NOCTTY are added. Returns the descriptor, owned by the
 * caller, or -1 with errno: ELOOP or EXDEV where the path leads over a link or out. */
int beneath_open(int at_fd, const char *path, int flags);
/* Closes, keeping errno; -1 is fine. */
void beneath_close(int fd);

/* Opens a regular file with one link for reading; *st is its stat. STATUS_UNSUPPORTED, with the
 * reason ("is a link", "is a FIFO", "has 2 names"), when it is something else, which is then not
 * opened; STATUS_NOT_FOUND; STATUS_IO, with errno. *out is -1 on failure. */
enum status beneath_open_file(int at_fd, const char *path, struct stat *st,
                              int *out) STATUS_MUST_CHECK;

/* Why a file with this stat is not an input ("is a link", "has 2 names"); NULL when it is one: a
 * regular file with one link. The text is valid until this thread's next call. */
const char *beneath_unfit(const struct stat *st);

/* Whether `name` is one component of a path: not empty, not "." or "..", no '/', at most 255 bytes.
 */
bool beneath_is_name(const char *name);
/* The component that *path, which is not "", begins with, and *path moved behind it; false when it
 * is not such a name. */
bool beneath_next(const char **path, char name[NAME_MAX + 1]);
/* Whether `path` is relative and consists of such components ("" does). */
bool beneath_is_path(const char *path);

#endif
