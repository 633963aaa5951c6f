/*
 * watcher - which files may have arrived below a folder.
 *
 * Events of inotify are only hints about where to look: every answer comes from looking (lstat,
 * readdir), on a thread of libuv's pool, so that the loop never waits for a large folder. A folder
 * is watched first and listed then; everything is listed again after an overflow, when a watch was
 * lost, and when asked. A folder that is moved away is not watched any more. Where events cannot be
 * had - network file systems, inotify's limits reached - the folder is listed every `poll_ms`
 * instead, and watcher_mode says why.
 *
 * Left out: names of files that are still being written (file_name_is_temporary), also folders of
 * such names. Links are reported, never followed. Nothing is opened but folders.
 *
 * Everything here is called on the loop's thread, and every callback runs there.
 */
#ifndef LEAT_WATCH_ARRIVAL_WATCHER_H
#define LEAT_WATCH_ARRIVAL_WATCHER_H

#include "formats/base/status.h"
#include "watch/arrival/ready.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <uv.h>

struct watcher;

/* Something that is not a folder. */
struct watcher_file {
    char *path; /* below the watched folder: "sub/x.csv" */
    struct ready_seen seen;
    /* When the folder came that an event named and that it lies in, at some depth; 0: none did. */
    int64_t folder_came_ns;
};

/* What one look found, in the order of arrival: of events or, where it listed a folder, by ctime,
 * then by name. */
struct watcher_findings {
    struct watcher_file *files;
    size_t n_files;
    bool complete; /* everything there is: what is not listed has gone; else only what was hinted at
                    */
};

struct watcher_options {
    const char *path;   /* the folder, for messages; copied */
    int folder_fd;      /* the folder; borrowed for the call */
    unsigned poll_ms;   /* everything again after that long where there are no events; not 0 */
    unsigned gather_ms; /* hints are gathered for that long before looking; 0: look at once */
    /* What a look found; take over what is kept (files[i].path: set to NULL), the rest is freed
     * afterwards. */
    void (*found)(void *user, struct watcher_findings *findings);
    /* An event has told that the path, of no folder, is not there any more; it may be there again.
     * NULL: nobody asks. */
    void (*gone)(void *user, const char *path);
    /* The folder, or places below it, could not be listed (removed, no permission): `why` says it
     * of the first, n is how many, or 0 when it was not everything that was looked at; then all is
     * counted within poll_ms. Comes before that look's found(). */
    void (*trouble)(void *user, const char *why, size_t n);
    void *user;
};

/* Starts to watch; the first complete findings follow by themselves. STATUS_IO: no descriptor is
 * left; that there are no events is not a failure. */
enum status watcher_open(uv_loop_t *loop, const struct watcher_options *options,
                         struct watcher **out) STATUS_MUST_CHECK;
/* Stops; found() and trouble() are not called any more. `closed` (may be NULL) is called, on the
 * loop, when everything has been given back. NULL is fine. */
void watcher_close(struct watcher *w, void (*closed)(void *user), void *user);

/* Look at everything again, soon. */
void watcher_rescan(struct watcher *w);
/* Look at one path again, soon, as if an event had named it. */
void watcher_hint(struct watcher *w, const char *path);

/* How the folder is watched, for `leat status`: "inotify", or "polling every 5 s: NFS has no
 * events". Valid until the next callback. */
const char *watcher_mode(const struct watcher *w);

#endif
