/*
 * watcher_state - what watcher.c and watcher_look.c share; no one else includes it.
 */
#ifndef LEAT_WATCH_ARRIVAL_WATCHER_STATE_H
#define LEAT_WATCH_ARRIVAL_WATCHER_STATE_H

#include "watch/arrival/watcher.h"

/* One look: what to look at, and what was found. Belongs to the pool's thread while it runs. */
struct watcher_look {
    bool all;
    char **hints; /* owned */
    size_t n_hints;
    struct watcher_findings found;
    size_t cap;
    char limit[120];   /* why events cannot be had everywhere; "" otherwise */
    char trouble[256]; /* the first folder that cannot be listed, and why; "" otherwise */
    size_t n_troubles;
    bool is_partial; /* not all that is there was found */
};

struct watcher {
    uv_loop_t *loop;
    struct watcher_options options;
    char *path;     /* that of the options; owned */
    int inotify_fd; /* -1: none */
    uv_poll_t poll;
    uv_timer_t timer;
    uv_work_t work;
    int n_handles;
    bool busy, closing, polls;
    bool recount; /* trouble was met that has not been counted */
    bool want_scan;
    char **hints; /* owned, HINTS_MAX of them; NULL: none */
    size_t n_hints;
    uint64_t hinted_ms, scanned_ms; /* the first hint not yet followed; the last complete look */
    struct watcher_look look;
    /* Watches, by descriptor; the look's while one is under way. */
    struct watcher_folder {
        int wd;
        char *path;   /* owned */
        bool is_seen; /* by this look, if that is complete */
    } * folders;
    size_t n_folders;
    char mode[160];
    unsigned long n_scans, n_overflows; /* complete looks; overflows of the events' queue */
    void (*closed)(void *user);
    void *closed_user;
};

/* Does w->look, on a thread of the pool. */
void watcher_look(struct watcher *w);
/* The folder that a watch stands for; NULL: none. */
const char *watcher_folder_of(const struct watcher *w, int wd);
/* The watch has gone. */
void watcher_forget_folder(struct watcher *w, int wd);
/* Ends the watches of a folder and of those below it, by the names they were last seen under. */
void watcher_unwatch(struct watcher *w, const char *path);

#endif
