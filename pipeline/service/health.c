/*
 * health - whether the spool's folders are where they were and have room: probed on libuv's pool,
 * applied on the loop.
 */
#include "pipeline/service/service_state.h"

#include "formats/base/log.h"

#include <stdio.h>

enum { LOOK_MS = 5000 }; /* before it is looked again whether the folders are where they were */

void health_probe_room(struct spool *spool, struct health *health)
{
    health->is_good = spool_has_room(spool, &health->is_short, health->why, sizeof(health->why));
}

void health_probe(struct spool *spool, struct health *health)
{
    if (spool_find_in(spool, &health->in_fd) != STATUS_OK) {
        health->is_good = false;
        snprintf(health->why, sizeof(health->why), "%s", status_message());
    } else if (health->in_fd < 0 && health->for_room) {
        health_probe_room(spool, health);
    } else if (health->in_fd < 0) {
        health->is_good = spool_check_folders(spool, health->why, sizeof(health->why));
    }
}

/* Files that lay in the one of before and were not claimed are forgotten with the first look. */
static void take_up(struct service *s, int in_fd)
{
    log_info("'%s/in' is another folder now, and is watched from now on", s->settings->spool);
    spool_adopt_in(s->spool, in_fd);
    watcher_close(s->watcher, NULL, NULL);
    s->watcher = NULL; /* another is opened at once */
    s->gate.look_ms = service_now(s);
}

void health_apply(struct service *s, const struct health *health)
{
    s->gate.look_ms = service_now(s) + LOOK_MS;
    if (health->in_fd >= 0) {
        take_up(s, health->in_fd);
    } else if (!health->is_good) {
        gate_shut(s, health->why, health->is_short);
    } else if (health->for_room) {
        gate_found_room(s);
    }
}
