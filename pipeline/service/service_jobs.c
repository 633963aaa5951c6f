/*
 * service_jobs - jobs on their way through the lists, to workers and back, and who is to blame for
 * a worker's death (see service.h).
 */
#include "pipeline/service/service_state.h"

#include "formats/base/log.h"
#include "watch/files/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRACE_MS = 4000,    /* that a worker has to end a job by itself when its deadline is over */
    MEMORY_MS = 600000, /* that a job has no memory though others do, before it is charged */
    SILENT_TICKS = 3,   /* without a sign of life: the worker as a whole hangs */
    STILL_S = 600       /* that a job is at work without a move before it counts as hung */
};

struct service_job *service_job_new(struct spool_job *spool)
{
    struct service_job *job = xcalloc(1, sizeof(*job));
    char *path = service_inbox_path(spool, 0);
    job->name = xasprintf("in/%s", path);
    free(path);
    job->spool = spool;
    job->list = WAIT_NOTHING;
    spool->user = job;
    return job;
}

void service_job_free(struct service_job *job)
{
    spool_job_free(job->spool);
    free(job->name);
    free(job->kind);
    free(job->text);
    free(job->deferred_why);
    json_decref(job->warnings);
    json_decref(job->members);
    free(job);
}

void service_job_unlist(struct service *s, struct service_job *job)
{
    if (job->list != WAIT_NOTHING) {
        TAILQ_REMOVE(&s->lists[job->list], job, place);
        s->n_listed[job->list]--;
        s->n_jobs--;
        job->list = WAIT_NOTHING;
    }
}

void service_job_list(struct service *s, struct service_job *job, enum service_list list)
{
    service_job_unlist(s, job);
    TAILQ_INSERT_TAIL(&s->lists[list], job, place);
    s->n_listed[list]++;
    s->n_jobs++;
    job->list = list;
}

void service_jobs_free(struct service *s)
{
    for (size_t i = 0; i < SERVICE_LISTS; i++) {
        struct service_job *job;
        while ((job = TAILQ_FIRST(&s->lists[i])) != NULL) {
            service_job_unlist(s, job);
            service_job_free(job);
        }
    }
}

void service_job_next(struct service *s, struct service_job *job, enum spool_outcome outcome)
{
    service_job_list(s, job, service_next(job->list, outcome));
}

void service_job_set_failure(struct service_job *job, const char *kind, const char *text)
{
    char *const old_kind = job->kind, *const old_text = job->text;
    job->kind = xstrdup(kind);
    job->text = xstrdup(text);
    free(old_kind);
    free(old_text);
}

/* --- to a worker ------------------------------------------------------------------------------ */

static size_t n_free(const struct service_worker *w)
{
    /* One that is to begin again has no long queue. */
    const size_t capacity = w->stale_ms != 0 ? w->n_places : w->capacity;
    return service_worker_takes(w) && capacity > w->n_jobs ? capacity - w->n_jobs : 0;
}

size_t service_jobs_begun(const struct service *s)
{
    const struct service_job *job;
    size_t n = 0;
    TAILQ_FOREACH(job, &s->lists[WAIT_RESULT], place)
    {
        n += job->begun;
    }
    return n;
}

size_t service_jobs_claimed(const struct service *s)
{
    const struct service_job *job;
    size_t n = 0;
    for (enum service_list list = WAIT_CLAIM; list <= WAIT_WORKER; list++) {
        TAILQ_FOREACH(job, &s->lists[list], place)
        {
            n += job->n_deferrals == 0 && !job->suspect && !job->spool->held &&
                 job->spool->outcome != SPOOL_WAIT;
        }
    }
    return n;
}

size_t service_jobs_wanted(const struct service *s, bool suspects)
{
    const struct service_job *job;
    size_t n = 0, taken = 0;
    for (size_t i = 0; i < s->n_all; i++) {
        const struct service_worker *w = s->workers[i];
        n += w->is_alone != suspects ? 0 : suspects ? w->n_jobs == 0 : n_free(w);
    }
    TAILQ_FOREACH(job, &s->lists[WAIT_WORKER], place)
    {
        taken += job->suspect == suspects;
    }
    n = suspects && service_workers_home(s) == NULL ? 0 : n;
    return n > taken ? n - taken : 0;
}

static void give(struct service *s, struct service_worker *w, struct service_job *job)
{
    const struct spool_job *spool = job->spool;
    json_t *files = json_array();
    job->total_bytes = 0;
    for (size_t i = 0; i < spool->n_files; i++) {
        json_array_append_new(files, worker_pack_name(spool->files[i].name));
        job->total_bytes += spool->files[i].size;
    }
    json_t *message = json_pack("{s:s, s:s, s:o, s:o, s:o}", "do", "job", "id", spool->id, "stem",
                                worker_pack_name(spool->stem), "folder",
                                worker_pack_name(spool->folder), "files", files);
    json_object_update_missing(message, spool->parameters);
    if (job->suspect || spool->n_attempts > 1) { /* what an archive meets is one file's then */
        json_object_set_new(message, "alone", json_true());
    }
    worker_link_send(&w->link, message);
    if (w->is_alone) {
        w->capacity = 0; /* it ends with this one */
        s->n_suspects--;
    }
    job->worker = w;
    job->begun = job->is_called = job->spool->blames_input = false;
    job->bytes = job->begun_ms = job->n_moves = job->n_steps = job->total_steps = 0;
    job->n_still = 0;
    w->n_jobs++;
    service_job_next(s, job, SPOOL_OK);
}

void service_job_call_back(struct service_job *job)
{
    if (!job->is_called) {
        worker_link_send(&job->worker->link,
                         json_pack("{s:s, s:s}", "do", "return", "id", job->spool->id));
        job->is_called = true;
    }
}

/* The worker that has most room, of those for suspects, or of the others; the one that the job has
 * ended, only where no other has any. */
static struct service_worker *choose(const struct service *s, const struct service_job *job)
{
    struct service_worker *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < s->n_all; i++) {
        struct service_worker *w = s->workers[i];
        const size_t room = w->is_alone == job->suspect ? n_free(w) : 0;
        const size_t rank = w == job->ended && room > 0 ? 1 : 2 * room;
        if (rank > most) {
            best = w;
            most = rank;
        }
    }
    return best;
}

void service_dispatch(struct service *s)
{
    struct service_job *job, *next;
    s->n_suspects = 0;
    TAILQ_FOREACH(job, &s->lists[WAIT_WORKER], place)
    {
        s->n_suspects += job->suspect;
    }
    for (job = TAILQ_FIRST(&s->lists[WAIT_WORKER]); job != NULL; job = next) {
        next = TAILQ_NEXT(job, place);
        struct service_worker *w = choose(s, job);
        if (w != NULL) {
            give(s, w, job);
        }
    }
}

/* --- from a worker ---------------------------------------------------------------------------- */

static struct service_job *find(const struct service_worker *w, const json_t *message)
{
    const char *id = json_string_value(json_object_get(message, "id"));
    struct service_job *job;
    TAILQ_FOREACH(job, &w->service->lists[WAIT_RESULT], place)
    {
        if (id != NULL && job->worker == w && strcmp(job->spool->id, id) == 0) {
            return job;
        }
    }
    return NULL;
}

/* The job has left its worker. */
static void leave(struct service_job *job)
{
    job->worker->n_jobs--;
    job->worker = NULL;
    job->begun = false;
    json_decref(job->members);
    job->members = NULL;
}

static void send_back(struct service *s, struct service_job *job, bool charge)
{
    s->figures.n_requeued++;
    job->charge = charge;
    service_job_next(s, job, SPOOL_WAIT);
}

static void on_done(struct service *s, struct service_job *job, const json_t *message)
{
    json_t *outputs = json_object_get(message, "outputs");
    json_decref(job->spool->outputs);
    job->spool->outputs = json_is_array(outputs) ? json_incref(outputs) : NULL;
    job->seconds = json_number_value(json_object_get(message, "seconds"));
    json_decref(job->warnings);
    job->warnings = json_incref(json_object_get(message, "warnings"));
    job->worker->n_in_row = 0;
    leave(job);
    job->suspect = false;
    service_job_next(s, job, SPOOL_OK);
}

/* Our side failed, or so it says; see "No room" in service.h. */
static void on_transient_failure(struct service *s, struct service_job *job, enum status code,
                                 const char *text)
{
    const bool is_again = job->transient_code == code &&
                          s->figures.n_done > job->n_done_then; /* others have ended since */
    if (job->transient_code != code) {
        job->transient_code = code;
        job->deferred_ms = 0;
    }
    const bool is_memory = code == STATUS_NO_MEMORY || code == STATUS_TOO_LARGE;
    const bool charge = is_again && (code == STATUS_IO ||
                                     (is_memory && service_now(s) >= job->deferred_ms + MEMORY_MS));
    if (charge) {
        job->n_done_then = s->figures.n_done;
    } else if (code != STATUS_CANCELLED) {
        deferral_add(s, job, text);
        job->again_ms = 0; /* what is left of the attempt goes at once */
    }
    send_back(s, job, charge);
}

static void on_failed(struct service *s, struct service_job *job, const json_t *message)
{
    char *told = worker_unpack_name(json_object_get(message, "text"));
    const char *text = told != NULL ? told : "";
    enum status code = worker_unpack_code(json_string_value(json_object_get(message, "code")));
    struct service_worker *w = job->worker;
    if (w->is_sick || code == STATUS_DEVICE) { /* it ends now: see on_ended */
        service_worker_sick(w, text);
        job->begun = job->begun || code == STATUS_DEVICE;
        free(told);
        return;
    }
    if (code == STATUS_CANCELLED && job->is_called) {
        leave(job);
        service_job_next(s, job, SPOOL_WAIT);
        free(told);
        return;
    }
    service_job_set_failure(job, status_name(code), text);
    leave(job);
    const bool is_passing = code == STATUS_TOO_LARGE && w->has_part;
    switch (is_passing ? SPOOL_TRANSIENT : spool_outcome_of(code)) {
    case SPOOL_BAD_INPUT:
        job->spool->blames_input = true;
        service_job_next(s, job, SPOOL_BAD_INPUT);
        break;
    case SPOOL_WAIT: /* as when spool_durable sees it */
        service_job_next(s, job, SPOOL_WAIT);
        break;
    case SPOOL_TRANSIENT:
        on_transient_failure(s, job, code, text);
        break;
    default:
        log_warning("%s: %s; it is tried again (job %s)", job->name, text, job->spool->id);
        send_back(s, job, true);
        break;
    }
    free(told);
}

/* It is counted in signs of life, not by the clock: so neither a service nor a worker that stood
 * still itself blames a job for it. */
static bool is_still(const struct service_job *job)
{
    return job->n_still > STILL_S * (1000 / WORKER_ALIVE_MS);
}

/* moves: NULL: it waits for what others have, or for a disk. */
static void note_moves(struct service_job *job, const json_t *moves)
{
    const uint64_t n = (uint64_t)json_integer_value(moves);
    job->n_still = moves != NULL && n == job->n_moves ? job->n_still + 1 : 0;
    job->n_moves = n;
}

/* [DONE, ALL], of a simulation. */
static void note_steps(struct service_job *job, const json_t *steps)
{
    const json_int_t n = json_integer_value(json_array_get(steps, 0)),
                     n_all = json_integer_value(json_array_get(steps, 1));
    job->total_steps = n_all > 0 ? (uint64_t)n_all : 0;
    job->n_steps = n > 0 ? (uint64_t)n : 0;
}

static void on_alive(struct service_worker *w, const json_t *message)
{
    const json_t *bytes = json_object_get(message, "bytes"),
                 *moves = json_object_get(message, "moves");
    struct service_job *job;
    TAILQ_FOREACH(job, &w->service->lists[WAIT_RESULT], place)
    {
        if (job->worker != w) {
            continue;
        }
        const json_int_t n = json_integer_value(json_object_get(bytes, job->spool->id));
        job->bytes = n > 0 ? (uint64_t)n : job->bytes;
        note_moves(job, json_object_get(moves, job->spool->id));
        note_steps(job, json_object_get(json_object_get(message, "steps"), job->spool->id));
        if (job->begun && !w->is_late && is_still(job)) {
            w->is_late = true;
            w->overdue = job;
            service_worker_kill(w, "a job did not move any more");
        }
    }
}

/* --- members of archives ---------------------------------------------------------------------- */

static bool has_passed(const json_t *due, uint64_t now)
{
    const json_int_t ms = json_integer_value(due);
    return ms > 0 && now > (uint64_t)ms;
}

/* A job within the archive begins, or waits, or has ended. */
static void on_member(struct service_job *job, const json_t *message, bool has_ended)
{
    const char *file = json_string_value(json_object_get(message, "member"));
    const double deadline_s = json_number_value(json_object_get(message, "deadline_s"));
    const uint64_t now = service_now(job->worker->service);
    if (has_ended) {
        json_object_del(job->members, file);
        return;
    }
    if (job->members == NULL) {
        job->members = json_object();
    }
    const uint64_t due = deadline_s > 0 ? now + (uint64_t)(deadline_s * 1000) : 0;
    json_object_set_new(job->members, file, json_integer((json_int_t)due));
}

/* What to blame: `job` in words or, of an archive, the files in it that were begun; those whose
 * deadline is over, if there are any. */
static void name_culprit(const struct service_job *job, const char *otherwise, uint64_t now,
                         char *text, size_t text_bytes)
{
    enum { SHOWN = 3 };
    const char *file;
    json_t *due;
    bool any_passed = false;
    size_t n = 0, len = 0;
    json_object_foreach(job->members, file, due)
    {
        any_passed = any_passed || has_passed(due, now);
    }
    snprintf(text, text_bytes, "%s", otherwise);
    json_object_foreach(job->members, file, due)
    {
        if ((any_passed && !has_passed(due, now)) || n++ >= SHOWN) {
            continue;
        }
        json_t *const packed = json_string(file);
        char *const name = worker_unpack_name(packed);
        json_decref(packed);
        snprintf(text + len, text_bytes - len, "%s'%.150s'", n > 1 ? " or " : "",
                 name != NULL ? name : file);
        len = strlen(text);
        free(name);
    }
    if (n > SHOWN) {
        snprintf(text + len, text_bytes - len, " or another of %zu files in it", n);
    }
}

static void on_message(struct service_worker *w, const json_t *message)
{
    struct service *s = w->service;
    const char *what = json_string_value(json_object_get(message, "is"));
    if (what == NULL) {
        return;
    }
    service_figures_busy(&s->busy[w->place], json_object_get(message, "busy_ns"));
    if (strcmp(what, "alive") == 0) {
        on_alive(w, message);
        return;
    }
    struct service_job *job = find(w, message);
    if (job == NULL) {
        return;
    }
    if (json_is_string(json_object_get(message, "member"))) {
        on_member(job, message, strcmp(what, "ended") == 0);
        return;
    }
    if (strcmp(what, "begun") == 0) {
        job->begun = true;
        job->waits = json_is_true(json_object_get(message, "waits"));
        job->begun_ms = service_now(s);
        job->deadline_s = json_number_value(json_object_get(message, "deadline_s"));
    } else if (strcmp(what, "back") == 0) {
        job->begun = job->waits = job->is_called = false;
    } else if (strcmp(what, "done") == 0) {
        on_done(s, job, message);
    } else if (strcmp(what, "failed") == 0) {
        on_failed(s, job, message);
    }
    s->is_changed = true;
}

/* --- death ------------------------------------------------------------------------------------ */

static void charge_dead(struct service *s, struct service_job *job, const char *kind,
                        const char *text)
{
    service_job_set_failure(job, kind, text);
    log_warning("%s: %s (job %s)", job->name, text, job->spool->id);
    job->ended = job->worker;
    leave(job);
    send_back(s, job, true);
}

static bool on_ended(struct service_worker *w)
{
    struct service *s = w->service;
    struct service_job *job, *next;
    size_t n_begun = 0;
    char text[1024], culprit[600];
    TAILQ_FOREACH(job, &s->lists[WAIT_RESULT], place)
    {
        n_begun += job->worker == w && job->begun;
    }
    for (job = TAILQ_FIRST(&s->lists[WAIT_RESULT]); job != NULL; job = next) {
        next = TAILQ_NEXT(job, place);
        if (job->worker != w) {
            continue;
        }
        if (!job->begun) { /* as far as is known: its part may hold something, and is to be empty */
            leave(job);
            service_job_next(s, job, SPOOL_WAIT);
        } else if (job == w->overdue || (w->is_late && n_begun == 1)) {
            const bool still = is_still(job);
            name_culprit(job, "it", service_now(s), culprit, sizeof(culprit));
            if (still) {
                snprintf(text, sizeof(text), "%s did not move for %u s, and its worker was ended",
                         culprit, job->n_still / (1000 / WORKER_ALIVE_MS));
            } else {
                snprintf(text, sizeof(text),
                         "%s took longer than its deadline, and did not stop when told to",
                         culprit);
            }
            charge_dead(s, job, still ? "stalled" : status_name(STATUS_DEADLINE), text);
        } else if (w->overdue != NULL || w->is_stopped || w->lacked_memory) {
            leave(job);
            send_back(s, job, false);
        } else if (n_begun == 1) {
            name_culprit(job, "this", service_now(s), culprit, sizeof(culprit));
            snprintf(text, sizeof(text), "the worker ended while it worked on %s alone: %s%s%s",
                     culprit, w->exit_text, w->is_sick ? ": " : "", w->is_sick ? w->why : "");
            charge_dead(s, job, w->is_sick ? status_name(STATUS_DEVICE) : "crash", text);
        } else {
            job->suspect = true;
            leave(job);
            send_back(s, job, false);
        }
    }
    const bool blamed = (n_begun > 0 && !w->lacked_memory) || w->overdue != NULL;
    w->overdue = NULL;
    w->is_late = false;
    return blamed;
}

const struct service_worker_events service_jobs_at_workers = {on_message, on_ended};

static bool is_overdue(const struct service_job *job, uint64_t now)
{
    const char *file;
    json_t *due;
    bool is =
        job->deadline_s > 0 && now > job->begun_ms + (uint64_t)(job->deadline_s * 1000) + GRACE_MS;
    json_object_foreach(job->members, file, due)
    {
        is = is || (now > GRACE_MS && has_passed(due, now - GRACE_MS));
    }
    return is;
}

void service_check_deadlines(struct service *s)
{
    struct service_job *job;
    TAILQ_FOREACH(job, &s->lists[WAIT_RESULT], place)
    {
        struct service_worker *w = job->worker;
        if (job->begun && !w->is_late && is_overdue(job, service_now(s))) {
            w->is_late = true;
            /* Where the whole worker hangs, any of its jobs may be the cause. */
            w->overdue = w->silent_ticks < SILENT_TICKS ? job : NULL;
            service_worker_kill(w, "a job passed its deadline and did not stop");
        }
    }
}
