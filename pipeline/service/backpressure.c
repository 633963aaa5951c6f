/*
 * backpressure - what is done when our side lacks something: the pause of all, the trial after it,
 * and jobs that are deferred by themselves. See "No room" in service.h.
 */
#include "pipeline/service/service_state.h"

#include "formats/base/log.h"

#include <stdio.h>

enum {
    PAUSE_MS = 1000, /* first look for room; doubles while trials fail, up to */
    PAUSE_MOST_MS = 4000,
    TRIAL_MS = 5000, /* a job tried after a pause that works for so long has met no trouble */
    DEFER_MS = 2000, /* first wait of a deferred job; then as long as it has waited, up to */
    DEFER_MOST_MS = 60000,
    LARGE_AFTER = 2, /* times that a job met no space though others had ended since the last time */
    DEFER_IN_ROW = 32 /* jobs deferred and none ended: no job alone is the cause */
};

void backpressure_pause(struct service *s, const char *why)
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
        service_figures_pause(&s->figures, why);
        s->pause_ms = PAUSE_MS;
    } else {
        s->pause_ms = s->pause_ms < PAUSE_MOST_MS / 2 ? 2 * s->pause_ms : PAUSE_MOST_MS;
    }
    s->look_for_room_ms = service_now(s) + s->pause_ms;
}

void backpressure_end(struct service *s)
{
    if (s->pause_ms != 0) {
        log_info("there is room again");
    }
    s->on_trial = false;
    s->pause_ms = 0;
}

bool backpressure_trial_is_open(const struct service *s)
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
static uint64_t next_wait_ms(uint64_t ms)
{
    return ms < DEFER_MS ? DEFER_MS : ms < DEFER_MOST_MS ? ms : DEFER_MOST_MS;
}

void backpressure_defer(struct service *s, struct service_job *job, const char *why)
{
    const uint64_t now = service_now(s);
    if (job->deferred_ms == 0) {
        job->deferred_ms = now;
        log_warning("%s: %s; it is tried again", job->name, why);
        if (++s->n_deferred_in_row >= DEFER_IN_ROW) {
            backpressure_pause(s, why);
        }
    }
    job->again_ms = now + next_wait_ms(now - job->deferred_ms);
}

bool backpressure_is_large(struct service *s, struct service_job *job, const char *why)
{
    const bool others_ended = job->transient_at != 0 && s->figures.n_done + 1 > job->transient_at;
    job->n_alone += others_ended;
    if (job->large_ms == 0 && job->n_alone >= LARGE_AFTER) {
        job->large_ms = service_now(s);
        log_warning("%s: %s, and others had enough; it waits by itself", job->name, why);
    }
    return job->large_ms != 0;
}

uint64_t backpressure_large_again(const struct service *s, const struct service_job *job)
{
    return service_now(s) + next_wait_ms(service_now(s) - job->large_ms);
}

bool backpressure_jobs_exclude(const struct service_job *a, const struct service_job *b)
{
    return (a->suspect && b->suspect) || (a->large_ms != 0 && b->large_ms != 0);
}

size_t backpressure_n_large(const struct service *s)
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

bool backpressure_may_end_jobs(const struct service *s)
{
    return !s->is_paused || s->is_short;
}

size_t backpressure_n_deferred(const struct service *s)
{
    const enum service_list lists[] = {WAIT_FINISH, WAIT_FAIL};
    const struct service_job *job;
    size_t n = 0;
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        TAILQ_FOREACH(job, &s->lists[lists[i]], place)
        {
            n += job->deferred_ms != 0 || !backpressure_may_end_jobs(s);
        }
    }
    return n;
}
