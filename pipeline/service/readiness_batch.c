/*
 * readiness_batch - files in in/ are looked at on libuv's pool, many at a time: opening them may
 * wait for a disk. A job whose claim is given up leaves files that the watcher has to look for.
 */
#include "pipeline/service/service_state.h"

#include "watch/files/xalloc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { LOOKS = 256 };

struct readiness_batch {
    uv_work_t work;
    struct service *service;
    int in_fd; /* owned: another folder may become in/ meanwhile */
    uint64_t now_ms, settle_ms, always_ms;
    struct service_look looks[LOOKS];
    size_t n;
};

static void look(uv_work_t *work)
{
    struct readiness_batch *l = work->data;
    for (size_t i = 0; i < l->n; i++) {
        struct service_look *look = &l->looks[i];
        look->answer =
            ready_look(l->in_fd, look->path, l->now_ms, l->settle_ms, l->always_ms, &look->memory);
    }
}

static void looked(uv_work_t *work, int failed)
{
    struct readiness_batch *l = work->data;
    struct service *s = l->service;
    (void)failed;
    s->readiness = NULL;
    close(l->in_fd);
    service_inbox_looked(s->inbox, l->looks, l->n, service_now(s));
    free(l);
    s->is_changed = true;
}

void readiness_batch_start(struct service *s)
{
    if (s->readiness != NULL || s->is_draining ||
        service_inbox_next_due(s->inbox) > service_now(s)) {
        return;
    }
    const int in_fd = fcntl(spool_in_fd(s->spool), F_DUPFD_CLOEXEC, 3);
    if (in_fd < 0) {
        return; /* the next second tries again */
    }
    struct readiness_batch *l = xcalloc(1, sizeof(*l));
    l->service = s;
    l->in_fd = in_fd;
    l->now_ms = service_now(s);
    l->settle_ms = (uint64_t)(s->settings->settle_s * 1000);
    l->always_ms = (uint64_t)(s->settings->settle_always_s * 1000);
    l->n = service_inbox_due(s->inbox, l->now_ms, l->looks, LOOKS);
    l->work.data = l;
    s->readiness = l;
    uv_queue_work(&s->loop, &l->work, look, looked);
}

void readiness_batch_hint(struct service *s, const struct spool_job *spool)
{
    for (size_t i = 0; i < spool->n_files && s->watcher != NULL; i++) {
        char *path = service_inbox_path(spool, i);
        watcher_hint(s->watcher, path);
        free(path);
    }
}
