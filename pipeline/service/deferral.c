/*
 * deferral - what is done when our side lacks something: the gate, which shuts for what a look at
 * the folders finds, and jobs that are deferred, each for what it alone has met. See "No room" in
 * service.h.
 */
#include "pipeline/service/service_state.h"

#include "formats/base/log.h"
#include "watch/files/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LOOK_MS = 1000,        /* before room that was not there is looked for again */
    DEFER_MS = 1000,       /* first wait of a deferred job; doubles up to */
    DEFER_MOST_MS = 60000, /* a minute */
    CAREFUL_AFTER = 2,     /* deferrals after which a job is tried beside no other such one */
    IN_ROW = 8,            /* jobs deferred while none ended: no job alone is the cause */
    NARROW_MS = 2000       /* from then on: between two claims, and two attempts */
};

/* --- the gate --------------------------------------------------------------------------------- */

static void say(struct service *s, const char *why, bool was_open)
{
    snprintf(s->gate.why, sizeof(s->gate.why), "%s", why);
    if (was_open) {
        log_warning("paused: %s", why);
        service_figures_pause(&s->figures, why);
    }
}

void gate_shut(struct service *s, const char *why, bool for_reserve)
{
    const bool was_open = gate_is_open(s);
    s->gate.state = for_reserve ? GATE_RESERVE : GATE_SHUT;
    s->gate.look_ms = service_now(s) + LOOK_MS;
    say(s, why, was_open);
}

/* Deferred jobs are tried now, as if they had not been. */
static void let_all_try(struct service *s)
{
    struct service_job *job;
    for (size_t list = 0; list < SERVICE_LISTS && s->n_deferred > 0; list++) {
        TAILQ_FOREACH(job, &s->lists[list], place)
        {
            if (job->n_deferrals > 0) {
                s->n_deferred--;
                job->n_deferrals = 0;
                job->again_ms = job->attempt_ms = 0;
            }
        }
    }
}

void gate_open(struct service *s)
{
    if (!gate_is_open(s)) {
        log_info("there is room again");
        let_all_try(s);
    }
    s->gate.state = GATE_OPEN;
    s->gate.n_in_row = 0;
}

void gate_found_room(struct service *s)
{
    if (gate_is_narrow(s) && s->n_deferred > 0) {
        s->gate.state = GATE_OPEN; /* as far as can be seen: a job that ends says more */
    } else {
        gate_open(s);
    }
}

bool gate_is_open(const struct service *s)
{
    return s->gate.state == GATE_OPEN && !gate_is_narrow(s);
}

bool gate_lets_begin(const struct service *s, uint64_t last_ms)
{
    return s->gate.state == GATE_OPEN &&
           (!gate_is_narrow(s) || service_now(s) >= last_ms + NARROW_MS);
}

bool gate_is_narrow(const struct service *s)
{
    return s->gate.n_in_row >= IN_ROW;
}

bool gate_lets_end(const struct service *s)
{
    return s->gate.state != GATE_SHUT;
}

/* --- deferred jobs ---------------------------------------------------------------------------- */

void deferral_note(struct service *s, const char *why)
{
    const bool was_open = gate_is_open(s);
    if (++s->gate.n_in_row >= IN_ROW) {
        say(s, why, was_open);
    }
}

void deferral_add(struct service *s, struct service_job *job, const char *why)
{
    const uint64_t now = service_now(s);
    free(job->deferred_why);
    job->deferred_why = xstrdup(why);
    if (job->deferred_ms == 0) {
        job->deferred_ms = now;
        log_warning("%s: %s; it is tried again later, and others go on", job->name, why);
    }
    if (job->n_deferrals++ == 0) {
        s->n_deferred++;
        deferral_note(s, why);
    }
    job->n_done_then = s->figures.n_done;
    job->attempt_ms = job->again_ms =
        now + service_wait_ms(job->n_deferrals, DEFER_MS, DEFER_MOST_MS);
}

void deferral_tick(struct service *s)
{
    const uint64_t now = service_now(s);
    struct service_job *job, *first = NULL;
    if (s->n_deferred == 0 || !gate_is_narrow(s) || !gate_lets_begin(s, s->gate.let_ms)) {
        return;
    }
    for (size_t list = 0; list < SERVICE_LISTS; list++) {
        TAILQ_FOREACH(job, &s->lists[list], place)
        {
            if (job->n_deferrals > 0 && job->again_ms > now &&
                (first == NULL || job->again_ms < first->again_ms)) {
                first = job;
            }
        }
    }
    if (first != NULL) {
        s->gate.let_ms = now;
        first->again_ms = first->attempt_ms = 0;
    }
}

bool deferral_is_careful(const struct service_job *job)
{
    return job->n_deferrals >= CAREFUL_AFTER;
}

bool deferral_is_busy(const struct service *s)
{
    const struct service_job *job;
    bool is_busy = false;
    for (enum service_list list = WAIT_WORKER; list <= WAIT_RESULT && s->n_deferred > 0; list++) {
        TAILQ_FOREACH(job, &s->lists[list], place)
        {
            is_busy = is_busy || deferral_is_careful(job);
        }
    }
    return is_busy;
}

void deferral_end(struct service *s, const struct service_job *job)
{
    const bool was_narrow = gate_is_narrow(s);
    s->gate.n_in_row = 0;
    if (was_narrow && s->gate.state == GATE_OPEN) {
        log_info("there is room again");
    }
    if (job->n_deferrals > 0 || was_narrow) {
        let_all_try(s);
    }
}
