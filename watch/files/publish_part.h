/*
 * publish_part - a result that a process makes for itself: its part, and how that ends.
 *
 * Files are made in OUTPUT/.leat.HOST.BOOT.PROCESS.RANDOM.part, or in a folder that somebody else
 * has made and is going to publish; publish.h gives the folder its name. Nobody waits for another.
 */
#ifndef LEAT_WATCH_FILES_PUBLISH_PART_H
#define LEAT_WATCH_FILES_PUBLISH_PART_H

#include "formats/base/status.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* One folder being made. */
struct publish {
    int out_fd;           /* OUTPUT; borrowed */
    int part_fd;          /* the folder being made; -1: none */
    char part[96];        /* its name within OUTPUT */
    char final[PATH_MAX]; /* the one it will have: FOLDER/NAME */
};

/* A folder, whatever its name. */
struct publish_folder {
    dev_t device;
    ino_t inode; /* 0: any */
};

/* Opens OUTPUT, making it (and its parents) when it is not there; *made: it was not. */
enum status publish_open_output(const char *path, int *fd, bool *made) STATUS_MUST_CHECK;
/* Closes it (fd -1: nothing to do). One that this process has `made`, and that has remained empty,
 * is removed, unless another process has it open. */
void publish_close_output(const char *path, int fd, bool made);
/* STATUS_EXISTS when OUTPUT/result is there already; with `replace` only when it is no earlier
 * result, since that is all that may be replaced. Also when FOLDER, or a folder above it, is a
 * result itself, a file or a link. */
enum status publish_vacant(int out_fd, const char *result, bool replace) STATUS_MUST_CHECK;
/* Opens OUTPUT/result, a folder; -1 with errno. */
int publish_open_result(int out_fd, const char *result);
/* Makes the part folder, under a name of its own; or takes the empty one that is there under the
 * name `part`, unless that is NULL. STATUS_INTERNAL: no such folder. */
enum status publish_begin(int out_fd, const char *result, const char *part,
                          struct publish *p) STATUS_MUST_CHECK;
/* Gives it its name, in FOLDER, which is made where it is missing. An existing result is
 * STATUS_EXISTS, unless it is the one to be replaced, which is then removed; `replace` NULL: none.
 * On failure the part folder is still there: abandon it; folders that were made for it are gone,
 * unless something is in them. */
enum status publish_commit(struct publish *p,
                           const struct publish_folder *replace) STATUS_MUST_CHECK;
/* Removes part folders, and replaced results that are half removed, which earlier runs left when
 * they were killed: those of processes of this kernel that have ended; else those older than a
 * minute that nobody has a lock on (publish_begin takes one). On a network file system only those
 * of this boot, since a lock may not be seen elsewhere; of others, older than a day, the log
 * speaks. Earlier results that stepped aside for one that never came stay; the log speaks of them,
 * too. */
void publish_sweep(int out_fd);
/* Leaves the complete part folder to whoever named it. */
void publish_leave(struct publish *p);
/* Removes the part folder and what is in it, if there is one. */
void publish_abandon(struct publish *p);
/* Removes what is in it: for a folder that somebody else has made, and that is begun once more. */
void publish_empty(struct publish *p);

#endif
