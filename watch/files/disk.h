/*
 * disk - the changes that the spool's protocol makes on disk, one function each.
 *
 * `step` names the place in the protocol ("claim.take"), for fault points and messages. All return
 * 0, or -1 with errno. Nothing here follows a link in the last component of a name.
 */
#ifndef LEAT_WATCH_FILES_DISK_H
#define LEAT_WATCH_FILES_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* mkdir; a folder that is there already is fine. */
int disk_make_folder(const char *step, int at_fd, const char *name, mode_t mode);
/* mkdir -p below at_fd, without links; with `sync` the name of each new folder is on disk then.
 * Returns the descriptor of the last one, or -1. */
int disk_make_folders(const char *step, int at_fd, const char *path, mode_t mode, bool sync);

/* Renames unless the new name is taken (EEXIST). Where the file system cannot do this in one step
 * (EINVAL), looks first. */
int disk_rename(const char *step, int from_fd, const char *from, int to_fd, const char *to);
/* Renames, and what has the new name already goes. */
int disk_replace(const char *step, int from_fd, const char *from, int to_fd, const char *to);
/* Exchanges two names in one step; EINVAL where the file system cannot. */
int disk_exchange(const char *step, int a_fd, const char *a, int b_fd, const char *b);
int disk_unlink(const char *step, int at_fd, const char *name);
int disk_remove_folder(const char *step, int at_fd, const char *name);
/* Removes what is in an open folder (up to 64 levels); that something has gone meanwhile is fine.
 */
int disk_empty(const char *step, int fd);
/* Removes a file, or a folder with everything in it. That nothing is there is fine. */
int disk_remove_tree(const char *step, int at_fd, const char *name);

/* Makes the file, or empties it, writes it, and has the system begin to put it on disk; its mode is
 * by the umask. */
int disk_write(const char *step, int at_fd, const char *name, const char *data, size_t len);
/* The same of NAME.new. */
int disk_write_temp(const char *step, int at_fd, const char *name, const char *data, size_t len);
/* Puts NAME.new on disk. */
int disk_fsync_temp(const char *step, int at_fd, const char *name);
/* Removes NAME.new and NAME; that they are not there is fine. */
int disk_unlink_both(const char *step, int at_fd, const char *name);
/* Renames NAME.new to NAME, replacing it; the folder is not synced. */
int disk_rename_temp(const char *step, int at_fd, const char *name);

/* fsync of what is open; EIO, too, where its file system has shut down. */
int disk_sync(const char *step, int fd);
/* fsync of at_fd/NAME (file or folder). */
int disk_sync_name(const char *step, int at_fd, const char *name);
/* syncfs of the file system that `fd` is on: everything written so far, whoever wrote it. Reports
 * failed writes since Linux 5.8. */
int disk_sync_all(const char *step, int fd);
/* Begins to write a file's data, so that the fsyncs of many files, which follow, wait once. */
void disk_sync_begin(const char *step, int fd);

/* Calls visit for everything below an open folder, folders after what is in them, depth first;
 * `path` is relative to it. Stops at the first that does not return 0, and returns that. Deeper
 * than `depth` levels of folders is ELOOP. */
typedef int disk_visit(void *user, int at_fd, const char *name, const char *path, bool is_folder);
int disk_walk(int fd, int depth, disk_visit *visit, void *user);

#endif
