/*
 * service_hands - what an administrator asks of the service: hold, release, delete and flush. A
 * socket beside that of the status takes the requests, from root and the service's own user alone.
 *
 * Only a job that waits for its turn can be held or deleted. A hold is a file of the job's
 * (spool_hold), written on libuv's pool, while the job is in no list, so that no step of the spool
 * takes it. A request about a job that a step has waits for that. A deleted job fails, so that its
 * inputs and the reason are in failed/.
 */
#include "pipeline/service/service_state.h"

#include "formats/base/log.h"
#include "pipeline/names/text.h"
#include "watch/files/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 5000, SENTENCE_BYTES = 600 };

enum hand_kind { HAND_HOLD, HAND_RELEASE, HAND_DELETE };
static const char *const names[] = {"hold", "release", "delete"};

struct hand {
    STAILQ_ENTRY(hand) place;
    uv_work_t work;
    struct service *service;
    struct status_request from;
    enum hand_kind kind;
    char *which; /* ID, or the path of an input */
    uint64_t until_ms;
    struct service_job *job; /* whose file is being made or removed */
    enum service_list list;  /* that the job was in */
    enum status code;
    char message[STATUS_MESSAGE_BYTES];
};

static void free_hand(struct hand *hand)
{
    free(hand->which);
    free(hand);
}

static void answer(struct service *s, const struct status_request *from, bool done,
                   const char *sentence)
{
    if (s->hands.socket != NULL) { /* else who asked is dropped */
        status_request_answer(from,
                              json_pack("{s:b, s:o}", "done", done, "text", text_json(sentence)));
    }
}

/* --- which job -------------------------------------------------------------------------------- */

static bool is_meant(const struct service *s, const struct service_job *job, const char *which)
{
    const size_t n_root = strlen(s->settings->spool);
    bool is_it = strcmp(job->spool->id, which) == 0;
    if (strncmp(which, s->settings->spool, n_root) == 0 && which[n_root] == '/') {
        which += n_root + 1;
    }
    which += strncmp(which, "in/", 3) == 0 ? 3 : 0;
    for (size_t i = 0; i < job->spool->n_files && !is_it; i++) {
        char *path = service_inbox_path(job->spool, i);
        is_it = strcmp(path, which) == 0;
        free(path);
    }
    return is_it;
}

/* How many jobs are called so, and the last of them. */
static size_t find(struct service *s, const char *which, struct service_job **out)
{
    struct service_job *job;
    size_t n = 0;
    for (size_t list = 0; list < SERVICE_LISTS; list++) {
        TAILQ_FOREACH(job, &s->lists[list], place)
        {
            if (is_meant(s, job, which)) {
                *out = job;
                n++;
            }
        }
    }
    return n;
}

/* --- hold and release ------------------------------------------------------------------------- */

static void run(uv_work_t *work)
{
    struct hand *const hand = work->data;
    hand->code = spool_hold(hand->service->spool, hand->job->spool->id, hand->kind == HAND_HOLD);
    snprintf(hand->message, sizeof(hand->message), "%s",
             hand->code != STATUS_OK ? status_message() : "");
}

static void after(uv_work_t *work, int failed)
{
    struct hand *const hand = work->data;
    struct service *const s = hand->service;
    const char *const done = hand->kind == HAND_HOLD ? "held" : "released";
    (void)failed;
    s->hands.n_working--;
    service_job_list(s, hand->job, hand->list);
    if (hand->code == STATUS_OK) {
        hand->job->spool->held = hand->kind == HAND_HOLD;
        log_info("%s: %s by the administrator (job %s)", hand->job->name, done,
                 hand->job->spool->id);
    }
    answer(s, &hand->from, hand->code == STATUS_OK, hand->code == STATUS_OK ? done : hand->message);
    free_hand(hand);
    s->is_changed = true;
}

static void begin(struct service *s, struct hand *hand, struct service_job *job)
{
    hand->job = job;
    hand->list = job->list;
    hand->work.data = hand;
    service_job_unlist(s, job);
    s->hands.n_working++;
    uv_queue_work(&s->loop, &hand->work, run, after);
}

/* --- a request -------------------------------------------------------------------------------- */

static void delete_it(struct service *s, struct service_job *job, char *sentence)
{
    service_job_set_failure(job, "deleted", "deleted by the administrator");
    service_job_happens(s, job, job->list, EVENT_DELETED);
    job->again_ms = 0;
    snprintf(sentence, SENTENCE_BYTES, "deleted; its inputs go to failed/%s", job->spool->id);
}

/* What keeps a request from being done; NULL: nothing. */
static const char *refusal(const struct hand *hand, const struct service_job *job)
{
    switch (job->list) {
    case WAIT_VERIFY:
    case WAIT_ATTEMPT:
        return hand->kind == HAND_RELEASE && !job->spool->held ? "it is not held" : NULL;
    case WAIT_WORKER:
    case WAIT_RESULT:
        return hand->kind == HAND_RELEASE ? "it is not held: it is at a worker"
               : hand->kind == HAND_HOLD
                   ? "it is at a worker, and can be held only before"
                   : "it is at a worker, and can be deleted only before; a deadline ends such jobs";
    case WAIT_FINISH:
        return "its result is made, and is being put in place";
    case WAIT_FAIL:
        return "it has failed already, and is being moved to failed/";
    default:
        return "it is between two steps; ask again";
    }
}

/* Whether the request has been dealt with; `sentence` is "" where it is answered later. */
static bool do_one(struct service *s, struct hand *hand, bool *done, char *sentence)
{
    struct service_job *job = NULL;
    const bool may_wait = service_now(s) < hand->until_ms;
    const size_t n = find(s, hand->which, &job);
    *done = false;
    sentence[0] = '\0';
    if (n == 0 && may_wait && (s->step != NULL || s->hands.n_working > 0)) {
        return false; /* it may be there */
    }
    if (n != 1) {
        snprintf(sentence, SENTENCE_BYTES,
                 n == 0 ? "no such job among those that are claimed (leat status --json has the "
                          "queued ones); a file that waits in in/ can be moved away"
                        : "%zu jobs have such an input; give the job's ID (leat status --json)",
                 n);
        return true;
    }
    const char *const why = refusal(hand, job);
    if (why != NULL) {
        const bool is_between =
            job->list == WAIT_CLAIM || job->list == WAIT_REQUEUE || job->list == WAIT_CHARGE;
        snprintf(sentence, SENTENCE_BYTES, "%s", why);
        return !is_between || !may_wait;
    }
    if (hand->kind == HAND_DELETE) {
        *done = true;
        delete_it(s, job, sentence);
    } else if (hand->kind == HAND_HOLD && job->spool->held) {
        *done = true;
        snprintf(sentence, SENTENCE_BYTES, "held already");
    } else {
        begin(s, hand, job);
    }
    return true;
}

void hands_step(struct service *s)
{
    struct hand *hand, *next;
    char sentence[SENTENCE_BYTES];
    bool done;
    for (hand = STAILQ_FIRST(&s->hands.pending); hand != NULL; hand = next) {
        next = STAILQ_NEXT(hand, place);
        if (s->is_draining) {
            done = false;
            snprintf(sentence, sizeof(sentence), "the service is stopping");
        } else if (!do_one(s, hand, &done, sentence)) {
            continue;
        }
        STAILQ_REMOVE(&s->hands.pending, hand, hand, place);
        if (sentence[0] != '\0') {
            answer(s, &hand->from, done, sentence);
            free_hand(hand);
        }
    }
}

/* Everything that waits for its time is tried now. */
static size_t flush(struct service *s)
{
    const uint64_t now = service_now(s);
    struct service_job *job;
    size_t n = 0;
    for (size_t list = 0; list < SERVICE_LISTS; list++) {
        TAILQ_FOREACH(job, &s->lists[list], place)
        {
            n += job->again_ms > now;
            job->again_ms = job->attempt_ms = 0;
        }
    }
    if (s->watcher != NULL) {
        watcher_rescan(s->watcher);
    }
    return n;
}

/* A request: {"do": "hold", "release" or "delete", "job": WHICH} or {"do": "flush"}; WHICH is
 * bytes, as worker_pack_name() has them. */
static void take(void *user, const json_t *request, const struct status_request *from)
{
    struct service *const s = user;
    const char *const what = json_string_value(json_object_get(request, "do"));
    char sentence[SENTENCE_BYTES];
    size_t kind = 0;
    while (kind < sizeof(names) / sizeof(*names) &&
           (what == NULL || strcmp(what, names[kind]) != 0)) {
        kind++;
    }
    if (what != NULL && strcmp(what, "flush") == 0 && !s->is_draining && s->is_recovered) {
        snprintf(sentence, sizeof(sentence), "%zu jobs that waited for their time are tried now",
                 flush(s));
        log_info("flushed by the administrator: %s", sentence);
        answer(s, from, true, sentence);
        s->is_changed = true;
        return;
    }
    char *const which = worker_unpack_name(json_object_get(request, "job"));
    if (kind == sizeof(names) / sizeof(*names) || !s->is_recovered || which == NULL) {
        free(which);
        answer(s, from, false,
               s->is_draining     ? "the service is stopping"
               : !s->is_recovered ? "the service is starting"
                                  : "not understood");
        return;
    }
    struct hand *const hand = xcalloc(1, sizeof(*hand));
    *hand = (struct hand){.service = s,
                          .from = *from,
                          .kind = (enum hand_kind)kind,
                          .which = which,
                          .until_ms = service_now(s) + PATIENCE_MS};
    STAILQ_INSERT_TAIL(&s->hands.pending, hand, place);
    s->is_changed = true;
}

void hands_open(struct service *s)
{
    if (s->hands.socket != NULL) {
        return;
    }
    STAILQ_INIT(&s->hands.pending);
    char *path = xasprintf("%s" STATUS_CONTROL_SUFFIX, s->settings->status_socket);
    if (status_socket_open_control(&s->loop, path, take, s, &s->hands.socket) != STATUS_OK) {
        log_warning("no hold, release, delete and flush: %s", status_message());
    }
    free(path);
}

void hands_close(struct service *s)
{
    struct hand *hand;
    status_socket_close(s->hands.socket);
    s->hands.socket = NULL;
    while ((hand = STAILQ_FIRST(&s->hands.pending)) != NULL) {
        STAILQ_REMOVE_HEAD(&s->hands.pending, place);
        free_hand(hand);
    }
}
