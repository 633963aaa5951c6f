/*
 * status_file - SPOOL/status: what a service is doing, and whether one lives.
 *
 *   SPOOL/status/status.json   the document (status_text.h) with "written", a time in seconds since
 *                              1970; replaced by rename
 *   SPOOL/status/lock          locked by the service as long as it lives
 *
 * The folder is the service's alone, or 0750 and a group's. Its lock is not that of .work, since
 * who may read the status may not open that folder. Where the disk has no room for another file the
 * document is written over in place, if it is not longer: it says then why the service pauses. Who
 * reads half of it reads again.
 */
#ifndef LEAT_PIPELINE_STATUS_STATUS_FILE_H
#define LEAT_PIPELINE_STATUS_STATUS_FILE_H

#include "formats/base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

/* The name of the folder in the spool. */
#define STATUS_FOLDER "status"

/* The service's side: the spool, and a group or NULL; closed while folder_fd is -1. */
struct status_file {
    char *spool, *group; /* owned by the caller */
    int folder_fd, lock_fd;
    gid_t gid;
};

/* Makes the folder and takes the lock; without effect when it is open. An earlier document goes.
 * A group that does not exist, or that cannot be given the folder, may not read, which the log
 * says. STATUS_EXISTS: another service lives; STATUS_IO, STATUS_NO_SPACE, STATUS_NOT_FOUND. */
enum status status_file_open(struct status_file *f) STATUS_MUST_CHECK;
/* Opens, where it is not open, and replaces the document, to which "written" is added. */
enum status status_file_write(struct status_file *f, json_t *document) STATUS_MUST_CHECK;
/* Removes the document and gives the lock back. */
void status_file_close(struct status_file *f);

/* The document of the service that watches the spool, its ages (uptime_s, since_s, ...) as they are
 * now; one that has written nothing for too long is "silent", and not ready. STATUS_NOT_FOUND: none
 * lives, or it has written none yet; STATUS_IO (no permission), STATUS_BAD_INPUT, STATUS_NO_MEMORY.
 */
enum status status_file_read(const char *spool, json_t **out) STATUS_MUST_CHECK;
/* The same below the open folder, whether or not it lives. */
enum status status_file_read_at(int folder_fd, json_t **out) STATUS_MUST_CHECK;
/* Whether a service watches the spool, as far as can be seen. */
bool status_file_lives(const char *spool);

#endif
