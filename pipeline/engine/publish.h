/*
 * publish - a result folder that is either absent or complete.
 *
 * Files are made in OUTPUT/.leat.HOST.BOOT.PROCESS.RANDOM.part, or in a folder that somebody else
 * has made and is going to publish; one rename gives the folder its name. Several processes, on one
 * machine or on many, may publish into one output folder: of those that make the same result one
 * does, also where the file system knows no flags of renameat2, since a rename never replaces a
 * folder that holds files. Nothing is read or written through a link: every step is relative to the
 * opened output folder. A result may lie in folders beneath OUTPUT, but in no other result:
 * `result` is FOLDER/NAME, of safe components.
 */
#ifndef LEAT_PIPELINE_ENGINE_PUBLISH_H
#define LEAT_PIPELINE_ENGINE_PUBLISH_H

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
    int final_fd;         /* FOLDER while it gets that */
    const char *name;     /* NAME, in `final` */
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
/* Whether the path, from `at_fd`, is a folder that leat made: one that holds a result.json. */
bool publish_is_result(int at_fd, const char *path);
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
/* Renames it to its final name, in FOLDER, which is made where it is missing. An existing one is
 * STATUS_EXISTS, unless it is the result that is
 * to be replaced: that is exchanged in one step (two, with no result between them, where the file
 * system cannot) and then removed. `replace` NULL: none. On failure the part folder is still there:
 * abandon it; folders that were made for it are gone, unless something is in them. */
enum status publish_commit(struct publish *p,
                           const struct publish_folder *replace) STATUS_MUST_CHECK;
/* Removes part folders that earlier runs left when they were killed: those of processes of this
 * kernel that have ended; else those older than a minute that nobody has a lock on (publish_begin
 * takes one). On a network file system only those of this boot,
 * since a lock may not be seen elsewhere; of others, older than a day, the log speaks. Earlier
 * results that stepped aside for one that never came stay; the log speaks of them, too. */
void publish_sweep(int out_fd);
/* Leaves the complete part folder to whoever named it. */
void publish_leave(struct publish *p);
/* Removes the part folder and what is in it, if there is one. */
void publish_abandon(struct publish *p);
/* Removes what is in it: for a folder that somebody else has made, and that is begun once more. */
void publish_empty(struct publish *p);

#endif
