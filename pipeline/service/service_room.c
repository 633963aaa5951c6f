/*
 * service_room - what is done when our side lacks something: the pause of all, the trial after it,
 * and jobs that are held by themselves. See "No room" in service.h.
 */
#include "pipeline/service/service_state.h"

#include "formats/base/log.h"

#include <stdio.h>

enum {
    LOOK_MS = 1000,         /* before room that was not there is looked for again */
    LOOK_FOLDERS_MS = 5000, /* before it is looked again whether the folders are where they were */
    PAUSE_MS = 1000,        /* first look for room; doubles while trials fail, up to */
    PAUSE_MOST_MS = 4000,
    TRIAL_MS = 5000, /* a job tried after a pause that works for so long has met no trouble */
    HELD_MS = 2000,  /* first wait of a held job; then as long as it has been held, up to */
    HELD_MOST_MS = 60000,
    LARGE_AFTER = 2, /* times that a job met no space though others had ended since the last time */
    HELD_IN_ROW = 32 /* jobs held and none ended: it is no job's own trouble */
};

void service_pause(struct service *s, const char *why)
{
    if (s->is_paused) {
        return;
    }
    s->is_paused = s->on_trial = true;
    s->is_short = false;
    s->paused_ms = service_now(s);
    snprintf(s->why, sizeof(s->why), "%s", why);
    if (s->pause_ms == 0) {
        log_warning("paused: %s", why);
        s->pause_ms = PAUSE_MS;
    } else {
        s->pause_ms = s->pause_ms < PAUSE_MOST_MS / 2 ? 2 * s->pause_ms : PAUSE_MOST_MS;
    }
    s->look_for_room_ms = service_now(s) + s->pause_ms;
}

bool service_is_idle(const struct service *s)
{
    size_t n = 0;
    for (size_t i = 0; i < SERVICE_LISTS; i++) {
        n += s->n_listed[i];
    }
    return n == 0;
}

void service_sight_room(struct spool *spool, struct service_sight *sight)
{
    sight->is_good = spool_has_room(spool, sight->why, sizeof(sight->why));
    sight->is_short =
        !sight->is_good && spool_is_full(spool) && spool_check_folders(spool, NULL, 0);
}

void service_sight_take(struct spool *spool, struct service_sight *sight)
{
    if (spool_find_in(spool, &sight->in_fd) != STATUS_OK) {
        sight->is_good = false;
        snprintf(sight->why, sizeof(sight->why), "%s", status_message());
    } else if (sight->in_fd < 0 && sight->for_room) {
        service_sight_room(spool, sight);
    } else if (sight->in_fd < 0) {
        sight->is_good = spool_check_folders(spool, sight->why, sizeof(sight->why));
    }
}

/* Files that lay in the one of before and were not claimed are forgotten with the first look. */
static void take_up(struct service *s, int in_fd)
{
    log_info("'%s/in' is another folder now, and is watched from now on", s->settings->spool);
    spool_adopt_in(s->spool, in_fd);
    watcher_close(s->watcher, NULL, NULL);
    s->watcher = NULL; /* another is opened at once */
    s->look_for_room_ms = s->look_at_folders_ms = service_now(s);
}

void service_sight_heed(struct service *s, const struct service_sight *sight)
{
    const uint64_t now = service_now(s);
    s->look_at_folders_ms = now + LOOK_FOLDERS_MS;
    if (sight->in_fd >= 0) {
        take_up(s, sight->in_fd);
    } else if (!sight->is_good && !s->is_paused) {
        service_pause(s, sight->why);
        s->is_short = sight->is_short;
    } else if (!sight->is_good) {
        snprintf(s->why, sizeof(s->why), "%s", sight->why);
        s->is_short = sight->is_short;
        s->look_for_room_ms = now + LOOK_MS;
    } else if (sight->for_room) {
        s->is_paused = false;
        if (service_is_idle(s)) {
            if (s->pause_ms != 0) {
                log_info("there is room again");
            }
            s->on_trial = false;
            s->pause_ms = 0;
        }
    }
}

bool service_trial_is_open(const struct service *s)
{
    const enum service_list lists[] = {WAIT_RESULT, WAIT_FINISH};
    const uint64_t now = service_now(s);
    const struct service_job *job;
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        TAILQ_FOREACH(job, &s->lists[lists[i]], place)
        {
            if (job->tried_ms > s->paused_ms && now < job->tried_ms + TRIAL_MS &&
                job->again_ms <= now) {
                return true;
            }
        }
    }
    return false;
}

/* The next wait of one that has waited for so long. */
static uint64_t held_for(uint64_t ms)
{
    return ms < HELD_MS ? HELD_MS : ms < HELD_MOST_MS ? ms : HELD_MOST_MS;
}

void service_hold(struct service *s, struct service_job *job, enum service_list list,
                  const char *why)
{
    const uint64_t now = service_now(s);
    if (job->held_ms == 0) {
        job->held_ms = now;
        log_warning("%s: %s; it is tried again", job->name, why);
        if (++s->n_held_in_row >= HELD_IN_ROW) {
            service_pause(s, why);
        }
    }
    job->again_ms = now + held_for(now - job->held_ms);
    service_job_list(s, job, list);
}

bool service_is_large(struct service *s, struct service_job *job, const char *why)
{
    const bool others_ended = job->excused_at != 0 && s->n_done + 1 > job->excused_at;
    job->n_alone += others_ended;
    if (job->large_ms == 0 && job->n_alone >= LARGE_AFTER) {
        job->large_ms = service_now(s);
        log_warning("%s: %s, and others had enough; it waits by itself", job->name, why);
    }
    return job->large_ms != 0;
}

uint64_t service_large_again(const struct service *s, const struct service_job *job)
{
    return service_now(s) + held_for(service_now(s) - job->large_ms);
}

bool service_jobs_exclude(const struct service_job *a, const struct service_job *b)
{
    return (a->suspect && b->suspect) || (a->large_ms != 0 && b->large_ms != 0);
}

size_t service_jobs_large(const struct service *s)
{
    const enum service_list lists[] = {WAIT_VERIFY, WAIT_ATTEMPT, WAIT_REQUEUE};
    const struct service_job *job;
    size_t n = 0;
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        TAILQ_FOREACH(job, &s->lists[lists[i]], place)
        {
            n += job->large_ms != 0;
        }
    }
    return n;
}

bool service_may_end_jobs(const struct service *s)
{
    return !s->is_paused || s->is_short;
}

size_t service_jobs_held(const struct service *s)
{
    const enum service_list lists[] = {WAIT_FINISH, WAIT_FAIL};
    const struct service_job *job;
    size_t n = 0;
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        TAILQ_FOREACH(job, &s->lists[lists[i]], place)
        {
            n += job->held_ms != 0 || !service_may_end_jobs(s);
        }
    }
    return n;
}
