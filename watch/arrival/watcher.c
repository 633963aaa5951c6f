/*
 * watcher - the loop's side: events, timers, when to look. See watcher.h; the looking itself is in
 * watcher_look.c.
 *
 * While a look is under way the events stay in the kernel's queue (if that overflows, everything is
 * looked at again), so what the look writes - the watches and their folders - needs no lock.
 */
#include "watch/arrival/watcher_state.h"

#include "formats/base/file_system.h"
#include "formats/base/log.h"
#include "watch/files/beneath.h"
#include "watch/files/fault.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { HINTS_MAX = 4096 }; /* beyond that, everything is looked at */

static void set_mode(struct watcher *w, const char *why_polling)
{
    char mode[sizeof(w->mode)];
    if (why_polling == NULL) {
        snprintf(mode, sizeof(mode), "inotify");
    } else {
        snprintf(mode, sizeof(mode), "polling every %g s: %s", w->options.poll_ms / 1e3,
                 why_polling);
    }
    if (strcmp(mode, w->mode) != 0) {
        log_info("'%s' is watched by %s", w->path, mode);
        snprintf(w->mode, sizeof(w->mode), "%s", mode);
    }
    w->polls = why_polling != NULL;
}

static void on_timer(uv_timer_t *timer);

/* Sets the timer for the next look. */
static void schedule(struct watcher *w)
{
    if (w->busy || w->closing) {
        return;
    }
    const uint64_t now = uv_now(w->loop);
    uint64_t due = w->polls || w->recount ? w->scanned_ms + w->options.poll_ms : UINT64_MAX;
    if (w->want_scan || w->n_hints > 0) {
        uint64_t soon = w->hinted_ms + w->options.gather_ms;
        due = soon < due ? soon : due;
    }
    if (due == UINT64_MAX) {
        uv_timer_stop(&w->timer);
    } else {
        uv_timer_start(&w->timer, on_timer, due > now ? due - now : 0, 0);
    }
}

static void note_hint(struct watcher *w)
{
    if (!w->want_scan && w->n_hints == 0) {
        w->hinted_ms = uv_now(w->loop);
    }
}

static void want_scan(struct watcher *w)
{
    note_hint(w);
    w->want_scan = true;
}

static void add_hint(struct watcher *w, const char *folder, const char *name)
{
    if (w->n_hints == HINTS_MAX) {
        want_scan(w);
    }
    if (w->want_scan) {
        return;
    }
    if (w->hints == NULL) {
        w->hints = xcalloc(HINTS_MAX, sizeof(*w->hints));
    }
    note_hint(w);
    w->hints[w->n_hints++] = xasprintf("%s%s%s", folder, *folder != '\0' ? "/" : "", name);
}

/* A folder was moved, out of the watched one or within it. Nothing that happens in it now is looked
 * for under its old name. Under the new one, if it has one, it is watched again: an event of the
 * folder it was moved to has come before, or a look has met it there, and then it is what its own
 * watch says already and is looked at again. */
static void follow(struct watcher *w, const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", folder);
    if (path[0] != '\0') { /* else it is the watched folder itself */
        add_hint(w, "", path);
        watcher_unwatch(w, path);
    }
}

/* A name has gone, and somebody asks. Of a folder that was moved away nothing tells what was in it.
 */
static void on_gone(struct watcher *w, const char *folder, const struct inotify_event *e)
{
    if ((e->mask & IN_ISDIR) != 0) {
        want_scan(w);
    } else {
        char *const path = xasprintf("%s%s%s", folder, *folder != '\0' ? "/" : "", e->name);
        w->options.gone(w->options.user, path);
        free(path);
    }
}

static void on_event(struct watcher *w, const struct inotify_event *e)
{
    if ((e->mask & IN_Q_OVERFLOW) != 0) {
        w->n_overflows++;
        want_scan(w);
        return;
    }
    const char *folder = watcher_folder_of(w, e->wd);
    if ((e->mask & (IN_IGNORED | IN_UNMOUNT)) != 0) {
        if (folder != NULL) {
            watcher_forget_folder(w, e->wd);
            want_scan(w);
        }
        return;
    }
    if (folder != NULL && (e->mask & IN_MOVE_SELF) != 0) {
        follow(w, folder);
    } else if (folder != NULL && (e->mask & (IN_MOVED_FROM | IN_DELETE)) != 0) {
        if (w->options.gone != NULL) {
            on_gone(w, folder, e);
        }
    } else if (folder != NULL && e->len > 0) {
        add_hint(w, folder, e->name);
    }
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct watcher *w = poll->data;
    _Alignas(struct inotify_event) char buffer[16384];
    (void)status;
    (void)events;
    for (int rounds = 0; rounds < 64; rounds++) { /* the loop has others to serve as well */
        ssize_t n = read(w->inotify_fd, buffer, sizeof(buffer));
        if (n <= 0) {
            break;
        }
        for (ssize_t at = 0; at < n;) {
            const struct inotify_event *e = (const struct inotify_event *)(void *)(buffer + at);
            on_event(w, e);
            at += (ssize_t)(sizeof(*e) + e->len);
        }
    }
    schedule(w);
}

static void listen_to_events(struct watcher *w)
{
    if (w->inotify_fd >= 0 && uv_poll_start(&w->poll, UV_READABLE, on_poll) != 0) {
        set_mode(w, "the event loop refuses inotify");
    }
}

static void free_look(struct watcher_look *look)
{
    for (size_t i = 0; i < look->n_hints; i++) {
        free(look->hints[i]);
    }
    for (size_t i = 0; i < look->found.n_files; i++) {
        free(look->found.files[i].path);
    }
    free(look->hints);
    free(look->found.files);
    *look = (struct watcher_look){0};
}

static void begin_closing(struct watcher *w);

static void after_look(uv_work_t *work, int status)
{
    struct watcher *w = work->data;
    struct watcher_look *look = &w->look;
    (void)status;
    w->busy = false;
    if (w->closing) {
        free_look(look);
        begin_closing(w);
        return;
    }
    w->n_scans += look->found.complete;
    /* That all is watched only a complete look can say; that something is not, each. */
    if (w->inotify_fd >= 0 && (look->found.complete || look->limit[0] != '\0')) {
        set_mode(w, look->limit[0] != '\0' ? look->limit : NULL);
    }
    listen_to_events(w);
    w->recount = look->all ? !look->found.complete : w->recount || look->n_troubles > 0;
    if (look->n_troubles > 0) {
        w->options.trouble(w->options.user, look->trouble, look->all ? look->n_troubles : 0);
    }
    if (!w->closing) {
        w->options.found(w->options.user, &look->found);
    }
    free_look(look);
    schedule(w);
}

static void do_look(uv_work_t *work)
{
    watcher_look(work->data);
}

static void on_timer(uv_timer_t *timer)
{
    struct watcher *w = timer->data;
    uint64_t now = uv_now(w->loop);
    bool all =
        w->want_scan || ((w->polls || w->recount) && now >= w->scanned_ms + w->options.poll_ms);
    w->look = (struct watcher_look){.all = all, .hints = w->hints, .n_hints = w->n_hints};
    w->hints = NULL;
    w->n_hints = 0;
    w->want_scan = false;
    if (all) {
        w->scanned_ms = now;
    }
    if (w->inotify_fd >= 0) {
        uv_poll_stop(&w->poll);
    }
    w->busy = true;
    w->work.data = w;
    if (uv_queue_work(w->loop, &w->work, do_look, after_look) != 0) {
        w->busy = false;
        free_look(&w->look);
        want_scan(w);
        listen_to_events(w);
    }
}

static void open_inotify(struct watcher *w)
{
    char why[120];
    const char *remote = file_system_network(w->options.folder_fd);
    w->inotify_fd = -1;
    if (remote != NULL) {
        snprintf(why, sizeof(why), "%s tells nothing of what others do", remote);
        set_mode(w, why);
        return;
    }
    int error = FAULT_ERROR("watcher.init");
    if (error == 0) {
        w->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        error = w->inotify_fd < 0 ? errno : 0;
    }
    if (error == 0 && uv_poll_init(w->loop, &w->poll, w->inotify_fd) != 0) {
        close(w->inotify_fd);
        w->inotify_fd = -1;
        error = EINVAL;
    }
    if (error == 0) {
        w->poll.data = w;
        w->n_handles++;
        listen_to_events(w);
        return;
    }
    snprintf(why, sizeof(why), "%s (%s)",
             error == EMFILE ? "the limit fs.inotify.max_user_instances is reached"
                             : "inotify cannot be used",
             strerror(error));
    set_mode(w, why);
}

enum status watcher_open(uv_loop_t *loop, const struct watcher_options *options,
                         struct watcher **out)
{
    *out = NULL;
    int folder_fd = fcntl(options->folder_fd, F_DUPFD_CLOEXEC, 3);
    if (folder_fd < 0) {
        return status_fail_errno(errno, "'%s' cannot be watched", options->path);
    }
    struct watcher *w = xcalloc(1, sizeof(*w));
    w->loop = loop;
    w->options = *options;
    w->path = xstrdup(options->path);
    w->options.path = w->path;
    w->options.folder_fd = folder_fd;
    uv_timer_init(loop, &w->timer);
    w->timer.data = w;
    w->n_handles = 1;
    w->scanned_ms = uv_now(loop);
    open_inotify(w);
    want_scan(w);
    uv_timer_start(&w->timer, on_timer, 0, 0);
    *out = w;
    return STATUS_OK;
}

static void free_watcher(struct watcher *w)
{
    for (size_t i = 0; i < w->n_hints; i++) {
        free(w->hints[i]);
    }
    for (size_t i = 0; i < w->n_folders; i++) {
        free(w->folders[i].path);
    }
    close(w->options.folder_fd);
    free(w->hints);
    free(w->folders);
    free(w->path);
    free(w);
}

static void after_close(uv_handle_t *handle)
{
    struct watcher *w = handle->data;
    if (--w->n_handles > 0) {
        return;
    }
    beneath_close(w->inotify_fd);
    if (w->closed != NULL) {
        w->closed(w->closed_user);
    }
    free_watcher(w);
}

static void begin_closing(struct watcher *w)
{
    if (w->inotify_fd >= 0) {
        uv_close((uv_handle_t *)&w->poll, after_close);
    }
    uv_close((uv_handle_t *)&w->timer, after_close);
}

void watcher_close(struct watcher *w, void (*closed)(void *user), void *user)
{
    if (w == NULL) {
        return;
    }
    w->closing = true;
    w->closed = closed;
    w->closed_user = user;
    if (!w->busy) { /* else when the look has ended */
        begin_closing(w);
    }
}

void watcher_rescan(struct watcher *w)
{
    want_scan(w);
    schedule(w);
}

void watcher_hint(struct watcher *w, const char *path)
{
    add_hint(w, "", path);
    schedule(w);
}

const char *watcher_mode(const struct watcher *w)
{
    return w->mode;
}
