/*
 * service_folders - events of failed/ and of the folder of requests: what they hold is looked at
 * when it has changed, whoever has changed it. Where inotify's limits are reached it is every
 * second; on network file systems, which tell nothing of others, when all is looked at again.
 */
#include "pipeline/service/service_state.h"

#include "watch/files/xalloc.h"

#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

enum {
    EVENTS = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MOVE_SELF | IN_DELETE_SELF |
             IN_ONLYDIR
};

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct service *const s = poll->data;
    char buffer[16384];
    (void)status;
    (void)events;
    while (read(s->folders_fd, buffer, sizeof(buffer)) > 0) { /* that there are some is enough */
    }
    s->said.looks_due = s->requests.is_due = true;
    s->is_changed = true;
}

void service_folders_open(struct service *s)
{
    s->folders_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (s->folders_fd >= 0 && (uv_poll_init(&s->loop, &s->folders, s->folders_fd) != 0 ||
                               uv_poll_start(&s->folders, UV_READABLE, on_event) != 0)) {
        close(s->folders_fd);
        s->folders_fd = -1;
    }
    s->folders.data = s;
}

bool service_folders_watch(const struct service *s, const char *folder)
{
    char *const path = xasprintf("%s/%s", s->said.file.spool, folder);
    const bool is_watched =
        s->folders_fd >= 0 && inotify_add_watch(s->folders_fd, path, EVENTS) >= 0;
    free(path);
    return is_watched;
}

static void on_closed(uv_handle_t *handle)
{
    const struct service *const s = handle->data;
    close(s->folders_fd);
}

void service_folders_close(struct service *s)
{
    if (s->folders_fd >= 0) {
        uv_close((uv_handle_t *)&s->folders, on_closed);
    }
}
