/*
 * service_steps - the steps of the spool, on libuv's pool. One runs at a time, with all jobs that
 * stand at it; the steps take turns. What comes next for a job is in the table of service_life.c;
 * what is done beside, here.
 */
#include "pipeline/service/service_state.h"

#include "formats/base/excerpt.h"
#include "formats/base/log.h"
#include "watch/files/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 128,        /* jobs of one step */
    CLAIMED_LEAST = 32, /* jobs in .work and not yet at a worker, or as many as workers take */
    VERIFY_MS = 1000,   /* before a file that is still being written is looked at again, at least */
    AGAIN_MS = 1000,    /* before another attempt at what failed, times the attempts made */
    SUSPECT_AFTER = 2   /* attempts found without an end: the service's own may end any, once */
};

enum kind { STEP_RECOVER, STEP_LOOK, STEP_LATE, STEP_JOBS };

struct service_step {
    uv_work_t work;
    struct service *service;
    enum kind kind;
    enum service_list list; /* STEP_JOBS: where the jobs stood */
    size_t n;
    struct service_job *jobs[BATCH];
    struct spool_job *spools[BATCH];
    struct spool_reason reasons[BATCH];
    struct late_batch *late; /* STEP_LATE */
    struct health health;    /* STEP_LOOK, and for what takes room */
    bool no_room;
    struct spool_recovery found;
    enum status code;
    char message[STATUS_MESSAGE_BYTES];
};

/* --- on the pool ------------------------------------------------------------------------------ */

static void run_jobs(struct service_step *step)
{
    struct spool *spool = step->service->spool;
    switch (step->list) {
    case WAIT_CLAIM:
        spool_claim(spool, step->spools, step->n);
        break;
    case WAIT_VERIFY:
        spool_verify(spool, step->spools, step->n);
        break;
    case WAIT_ATTEMPT:
        spool_attempt(spool, step->spools, step->n);
        break;
    case WAIT_FINISH:
        spool_finish(spool, step->spools, step->n);
        break;
    case WAIT_REQUEUE:
        spool_requeue(spool, step->spools, step->n, step->jobs[0]->charge);
        break;
    case WAIT_FAIL:
        spool_fail(spool, step->spools, step->reasons, step->n);
        break;
    default:
        break;
    }
}

static void run(uv_work_t *work)
{
    struct service_step *step = work->data;
    struct spool *spool = step->service->spool;
    if (step->kind == STEP_LOOK) {
        health_probe(spool, &step->health);
        return;
    }
    if (step->kind == STEP_LATE) {
        late_run(step->late);
        return;
    }
    if (step->kind == STEP_RECOVER) {
        step->code = spool_recover(spool, &step->found);
        snprintf(step->message, sizeof(step->message), "%s", status_message());
        return;
    }
    if (step->list == WAIT_CLAIM || step->list == WAIT_ATTEMPT) { /* they take room */
        health_probe_room(spool, &step->health);
        step->no_room = !step->health.is_good;
    } else if (step->list == WAIT_FINISH) {
        step->no_room = !spool_check_mount(spool, step->health.why, sizeof(step->health.why));
    }
    if (!step->no_room) {
        run_jobs(step);
    }
}

/* --- what comes next -------------------------------------------------------------------------- */

static const char *message_of(const struct service_job *job)
{
    return job->spool->message != NULL ? job->spool->message : "unknown";
}

/* The last failure, and how often, becomes the reason. */
static void give_up(struct service_job *job)
{
    char text[STATUS_MESSAGE_BYTES];
    snprintf(text, sizeof(text), "%u attempts ended without a result; the last: %s",
             job->spool->n_attempts, job->text != NULL ? job->text : "unknown");
    service_job_set_failure(job, job->kind != NULL ? job->kind : "exhausted", text);
}

static void log_warnings(const struct service_job *job)
{
    size_t i;
    json_t *text;
    json_array_foreach(job->warnings, i, text)
    {
        const char *const sentence = json_string_value(text);
        log_warning("%s: %s", job->name, sentence != NULL ? sentence : "");
    }
}

static void tell_done(struct service *s, struct service_job *job)
{
    service_count_done(s, job);
    deferral_end(s, job);
    log_warnings(job);
    log_info("%s -> %s/%s in %.3f s", job->name, s->settings->output,
             job->spool->published != NULL ? job->spool->published : job->spool->stem,
             job->seconds);
    hooks_done(s, job);
}

/* Whether the text, as the log shows it, names the job's first file. */
static bool is_named_in(const struct service_job *job, const char *text)
{
    const size_t n_name = 4 * strlen(job->name) + 1;
    char *const shown = xcalloc(n_name + 4 * strlen(text) + 1, 1);
    excerpt_escape(shown, job->name);
    excerpt_escape(shown + n_name, text);
    const bool is_named = strstr(shown + n_name, shown) != NULL;
    free(shown);
    return is_named;
}

static void tell_failed(struct service *s, struct service_job *job)
{
    const char *text = job->text != NULL ? job->text : "failed";
    const bool is_named = is_named_in(job, text);
    service_count_failed(s, job);
    deferral_end(s, job);
    log_warning("%s%s%s; moved to failed/%s", is_named ? "" : job->name, is_named ? "" : ": ", text,
                job->spool->failed);
    hooks_failed(s, job);
}

/* The spool's complaint, or the last failure and how often, becomes the reason. */
static void blame(struct service_job *job)
{
    const enum spool_outcome outcome = job->spool->outcome;
    if (outcome == SPOOL_EXHAUSTED) {
        give_up(job);
    } else {
        service_job_set_failure(
            job, status_name(outcome == SPOOL_BAD_INPUT ? STATUS_BAD_INPUT : STATUS_INTERNAL),
            message_of(job));
    }
}

/* The job goes from one list to another: the time of its next step. */
static void set_time(struct service *s, struct service_job *job, enum service_list from,
                     enum service_list to)
{
    const uint64_t settle_ms = (uint64_t)(s->settings->settle_s * 1000);
    switch (job->spool->outcome) {
    case SPOOL_OK:
        if (from == WAIT_REQUEUE) {
            job->again_ms = job->charge
                                ? service_now(s) + (uint64_t)AGAIN_MS * job->spool->n_attempts
                                : job->attempt_ms;
            job->charge = false;
        }
        break;
    case SPOOL_WAIT: /* where leases do not tell, what stood still for it is complete */
        job->again_ms = service_now(s) + (settle_ms > VERIFY_MS ? settle_ms : VERIFY_MS);
        break;
    default:
        deferral_add(s, job, message_of(job));
        if (to != from) { /* what is left of the attempt goes at once, which may give room */
            job->again_ms = 0;
        }
        break;
    }
}

static void end(struct service *s, struct service_job *job, enum service_list from)
{
    if (from == WAIT_FINISH) {
        tell_done(s, job);
    } else if (from == WAIT_FAIL) {
        tell_failed(s, job);
    } else if (job->spool->outcome == SPOOL_TRANSIENT) {
        deferral_note(s, message_of(job));
    }
    s->n_deferred -= job->n_deferrals > 0;
    service_job_free(job);
}

/* The inbox learns what became of the job's first claim; the watcher looks for what a later one
 * has left in in/. */
static void settle(struct service *s, struct service_job *job)
{
    if (!job->is_settled) {
        service_inbox_settle(s->inbox, job->spool, service_now(s));
        job->is_settled = true;
    } else if (job->spool->id[0] == '\0') {
        readiness_batch_hint(s, job->spool);
    }
}

void service_job_follow(struct service *s, struct service_job *job, enum service_list from)
{
    if (from == WAIT_CLAIM) {
        settle(s, job);
    } else if (from == WAIT_VERIFY) {
        late_settle(s, job);
    }
    const enum service_list to = service_next(from, service_outcome(from, job->spool));
    if (to == WAIT_NOTHING) {
        end(s, job, from);
        return;
    }
    if (to == WAIT_FAIL && from != WAIT_FAIL) {
        blame(job);
    } else {
        set_time(s, job, from, to);
    }
    service_job_list(s, job, to);
}

void service_job_adopt(struct service *s, struct spool_job *spool, uint64_t found_ms)
{
    struct service_job *const job = service_job_new(spool);
    if (json_object_size(spool->parameters) == 0) {
        json_decref(spool->parameters);
        spool->parameters = service_inbox_parameters(s->inbox, spool);
        spool->changed = true;
    }
    job->found_ms = found_ms;
    job->suspect = spool->n_attempts >= SUSPECT_AFTER;
    job->is_settled = true;
    service_job_list(s, job, service_list_of(spool->state));
}

void service_configure(struct service *s)
{
    const struct settings *t = s->settings;
    spool_configure(s->spool, !t->keep_inputs, t->replace, (unsigned)t->max_attempts,
                    t->reserve_bytes);
}

/* What recovery has found becomes jobs. */
static void after_recovery(struct service *s, struct service_step *step)
{
    struct spool_recovery *r = &step->found;
    service_configure(s);
    if (step->code != STATUS_OK) {
        log_error("%s", step->message);
        s->exit_status = 2;
        s->is_draining = true;
        return;
    }
    if (r->n_jobs + r->n_finished + r->n_failed + r->n_aside > 0) {
        log_info("found in .work: %zu jobs to go on with, %zu finished now, %zu failed, %zu put "
                 "aside",
                 r->n_jobs, r->n_finished, r->n_failed, r->n_aside);
    }
    service_count_recovered(s, r);
    for (size_t i = 0; i < r->n_jobs; i++) {
        service_inbox_was_claimed(s->inbox, r->jobs[i], service_now(s));
        service_job_adopt(s, r->jobs[i], 0);
    }
    r->n_jobs = 0; /* they are taken over */
    spool_recovery_free(r);
}

static void after(uv_work_t *work, int failed)
{
    struct service_step *step = work->data;
    struct service *s = step->service;
    (void)failed;
    s->step = NULL;
    if (step->kind == STEP_RECOVER) {
        s->is_recovered = true;
        after_recovery(s, step);
    } else if (step->kind == STEP_LOOK) {
        health_apply(s, &step->health);
    } else if (step->kind == STEP_LATE) {
        late_end(s, step->late);
    }
    if (step->no_room) {
        gate_shut(s, step->health.why, step->health.is_short);
    }
    for (size_t i = 0; i < step->n; i++) {
        const bool is_claimed = step->spools[i]->id[0] != '\0';
        if (step->no_room && is_claimed) {
            service_job_list(s, step->jobs[i], step->list);
            continue;
        }
        if (step->no_room) { /* its files are looked at again before they are taken */
            step->spools[i]->outcome = SPOOL_GONE;
        }
        service_job_follow(s, step->jobs[i], step->list);
    }
    free(step);
    s->is_changed = true;
}

static struct service_step *begin(struct service *s, enum kind kind)
{
    struct service_step *step = xcalloc(1, sizeof(*step));
    step->service = s;
    step->kind = kind;
    step->work.data = step;
    return step;
}

static void start(struct service *s, struct service_step *step)
{
    s->step = step;
    uv_queue_work(&s->loop, &step->work, run, after);
}

void service_recover(struct service *s)
{
    start(s, begin(s, STEP_RECOVER));
}

/* --- whose turn ------------------------------------------------------------------------------- */

static void take(struct service_step *step, struct service_job *job)
{
    struct service *s = step->service;
    if (step->list == WAIT_ATTEMPT) {
        s->tried_ms = service_now(s);
    } else if (step->list == WAIT_CLAIM) {
        s->claimed_ms = service_now(s);
    }
    service_job_unlist(s, job);
    step->reasons[step->n] =
        (struct spool_reason){job->kind != NULL ? job->kind : status_name(STATUS_INTERNAL),
                              job->text != NULL ? job->text : message_of(job)};
    step->jobs[step->n] = job;
    step->spools[step->n++] = job->spool;
}

static void take_claims(struct service *s, struct service_step *step)
{
    const size_t claimed = service_jobs_claimed(s);
    size_t most = 0;
    for (size_t i = 0; i < s->n_workers; i++) {
        most += s->workers[i]->capacity;
    }
    most = most > CLAIMED_LEAST ? most : CLAIMED_LEAST;
    most = gate_is_narrow(s) ? claimed + 1 : most;
    struct spool_job *spool;
    uint64_t found_ms;
    while (step->n < BATCH && claimed + step->n < most &&
           (spool = service_inbox_take(s->inbox, service_now(s), &found_ms)) != NULL) {
        struct service_job *job = service_job_new(spool);
        job->found_ms = found_ms;
        take(step, job);
    }
}

static bool may_run(const struct service *s, enum service_list list)
{
    switch (list) {
    case WAIT_REQUEUE:
        return true;
    case WAIT_FINISH:
    case WAIT_FAIL:
        return gate_lets_end(s);
    case WAIT_CLAIM:
        return gate_lets_begin(s, s->claimed_ms) && !s->is_draining;
    case WAIT_ATTEMPT:
        return gate_lets_begin(s, s->tried_ms) && !s->is_draining;
    default:
        return s->gate.state == GATE_OPEN && !s->is_draining;
    }
}

/* The jobs that can be attempted now; where few can, those that have met no trouble come first. */
static void gather_attempts(struct service *s, struct service_step *step)
{
    const uint64_t now = service_now(s);
    struct service_job *job, *next;
    size_t left[] = {service_jobs_wanted(s, false), service_jobs_wanted(s, true)};
    const size_t most = gate_is_narrow(s) ? 1 : BATCH;
    bool is_busy = deferral_is_busy(s);
    for (int deferred = 0; deferred <= 1; deferred++) {
        for (job = TAILQ_FIRST(&s->lists[WAIT_ATTEMPT]);
             job != NULL && step->n < most && left[0] + left[1] > 0; job = next) {
            const bool is_careful = deferral_is_careful(job);
            next = TAILQ_NEXT(job, place);
            if (job->again_ms <= now && (job->n_deferrals > 0) == deferred &&
                left[job->suspect] > 0 && !job->spool->held && !(is_careful && is_busy)) {
                is_busy = is_busy || is_careful;
                left[job->suspect]--;
                take(step, job);
            }
        }
    }
}

/* The jobs that a step of this list can be done for, now. */
static void gather(struct service *s, struct service_step *step)
{
    const uint64_t now = service_now(s);
    struct service_job *job, *next;
    if (step->list == WAIT_ATTEMPT) {
        gather_attempts(s, step);
        return;
    }
    const size_t most = step->list == WAIT_CLAIM && gate_is_narrow(s) ? 1 : BATCH;
    for (job = TAILQ_FIRST(&s->lists[step->list]); job != NULL && step->n < most; job = next) {
        next = TAILQ_NEXT(job, place);
        if (job->again_ms <= now && (step->n == 0 || job->charge == step->jobs[0]->charge)) {
            take(step, job);
        }
    }
    if (step->list == WAIT_CLAIM && step->n < most) {
        take_claims(s, step);
    }
}

/* What came late; while a request has a job in hand, that may be what it is for. */
static bool begin_late(struct service_step *step)
{
    struct service *const s = step->service;
    if (s->requests.n_working == 0 && may_run(s, WAIT_VERIFY)) {
        step->late = late_begin(s);
    }
    step->kind = step->late != NULL ? STEP_LATE : STEP_JOBS;
    return step->late != NULL;
}

/* The next list whose turn it is and that has jobs. */
static bool begin_jobs(struct service_step *step)
{
    static const enum service_list order[] = {WAIT_REQUEUE, WAIT_FAIL,   WAIT_ATTEMPT,
                                              WAIT_FINISH,  WAIT_VERIFY, WAIT_CLAIM};
    enum { KINDS = sizeof(order) / sizeof(*order) };
    struct service *const s = step->service;
    for (size_t i = 1; i <= KINDS && step->n == 0; i++) {
        size_t k = (s->last_step + i) % KINDS;
        step->list = order[k];
        if (may_run(s, step->list)) {
            gather(s, step);
            s->last_step = step->n > 0 ? k : s->last_step;
        }
    }
    return step->n > 0;
}

void service_step(struct service *s)
{
    if (s->step != NULL || s->is_closing) {
        return;
    }
    const bool look = !s->is_draining && service_now(s) >= s->gate.look_ms;
    struct service_step *step = begin(s, look ? STEP_LOOK : STEP_JOBS);
    /* What is done already may be put in place below the reserve; that nothing could begin is said
     * before somebody drops a file. */
    step->health.for_room = s->gate.state != GATE_OPEN || s->n_jobs == 0;
    if (look || (!s->late.was_last && begin_late(step)) || begin_jobs(step) || begin_late(step)) {
        s->late.was_last = step->kind == STEP_LATE;
        start(s, step);
    } else {
        free(step);
    }
}
