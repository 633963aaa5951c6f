/*
 * service_requests - what an administrator asks of the service (request.h): hold, release, delete,
 * retry and flush. The folder of requests is looked through at the start and when an event tells
 * that there is something new; each request is answered once it is done, and on disk. One that
 * cannot be decided yet waits; a service that ends leaves it to the next, which begins no job
 * before it has read them all.
 *
 * Only a job that waits for its turn can be held or deleted; one that was sent ahead to a worker is
 * asked back first. A hold is recorded (spool_hold) on libuv's pool while the job is in no list, so
 * that no step of the spool takes it. A deleted job fails, so that its inputs and the reason are in
 * failed/. A retried one has the parameters that the configuration gives its files now.
 */
#include "pipeline/service/service_state.h"

#include "formats/base/log.h"
#include "pipeline/names/text.h"
#include "pipeline/status/request.h"
#include "watch/files/beneath.h"
#include "watch/files/xalloc.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKED = 256 }; /* requests of one look */

struct service_request {
    STAILQ_ENTRY(service_request) place;
    uv_work_t work;
    struct service *service;
    char name[REQUEST_NAME_BYTES];
    char *what, *which;           /* "hold"; ID, or the path of an input: "" for none */
    struct service_job *job;      /* whose record is being replaced */
    struct spool_job *retried;    /* taken up again */
    enum service_list list;       /* that the job was in */
    char deleted[SPOOL_ID_BYTES]; /* the job that is on its way to failed/; "": none is */
    bool done;
    char text[REQUEST_TEXT_BYTES];
};

struct request_look {
    uv_work_t work;
    struct service *service;
    struct service_request_list found;
    size_t n;
    bool is_watched;
};

static bool is(const struct service_request *r, const char *what)
{
    return strcmp(r->what, what) == 0;
}

static void free_request(struct service_request *r)
{
    free(r->what);
    free(r->which);
    free(r);
}

/* --- the folder ------------------------------------------------------------------------------- */

static bool is_pending(const struct service *s, const char *name)
{
    const struct service_request *r;
    bool is = false;
    STAILQ_FOREACH(r, &s->requests.pending, place)
    {
        is = is || strcmp(r->name, name) == 0;
    }
    return is;
}

static int is_shown(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
           strlen(entry->d_name) < REQUEST_NAME_BYTES;
}

static struct service_request *new_request(struct service *s, const char *name,
                                           const json_t *content)
{
    struct service_request *const r = xcalloc(1, sizeof(*r));
    char *const which = worker_unpack_name(json_object_get(content, "job"));
    r->work.data = r;
    r->service = s;
    r->what = xstrdup(text_at(content, "do"));
    r->which = which != NULL ? which : xstrdup("");
    memcpy(r->name, name, strlen(name) + 1);
    return r;
}

/* On the pool, while the loop's thread leaves those that are pending as they are. */
static void look(uv_work_t *work)
{
    struct request_look *const l = work->data;
    struct dirent **entries = NULL;
    int folder_fd;
    if (request_open_folder(l->service->said.file.spool, &folder_fd) != STATUS_OK) {
        return;
    }
    l->is_watched = service_folders_watch(l->service, REQUEST_FOLDER);
    const int n = scandirat(folder_fd, ".", &entries, is_shown, alphasort);
    for (int i = 0; i < n; i++) {
        const char *const name = entries[i]->d_name;
        json_t *const content =
            l->n < LOOKED && !is_pending(l->service, name) ? request_read(folder_fd, name) : NULL;
        if (content != NULL) {
            struct service_request *const r = new_request(l->service, name, content);
            STAILQ_INSERT_TAIL(&l->found, r, place);
            l->n++;
        }
        json_decref(content);
        free(entries[i]);
    }
    free(entries);
    beneath_close(folder_fd);
}

static void looked(uv_work_t *work, int failed)
{
    struct request_look *const l = work->data;
    struct service *const s = l->service;
    (void)failed;
    STAILQ_CONCAT(&s->requests.pending, &l->found);
    s->requests.is_due = s->requests.is_due || l->n == LOOKED;
    s->requests.is_blind = !l->is_watched;
    s->requests.is_looking = false;
    s->is_changed = s->is_changed || l->n > 0 || !s->requests.is_read;
    s->requests.is_read = s->requests.is_read || l->n < LOOKED;
    free(l);
}

static void begin_look(struct service *s)
{
    struct request_look *const l = xcalloc(1, sizeof(*l));
    l->work.data = l;
    l->service = s;
    STAILQ_INIT(&l->found);
    s->requests.is_due = false;
    s->requests.is_looking = true;
    uv_queue_work(&s->loop, &l->work, look, looked);
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

/* --- on disk ---------------------------------------------------------------------------------- */

static void run(uv_work_t *work)
{
    struct service_request *const r = work->data;
    struct service *const s = r->service;
    int folder_fd;
    enum status code = STATUS_OK;
    if (r->job != NULL) {
        code = spool_hold(s->spool, r->job->spool, is(r, "hold"));
    } else if (is(r, "retry")) {
        code = spool_retry(s->spool, r->which, &r->retried);
    }
    if (code != STATUS_OK) {
        r->done = false;
        snprintf(r->text, sizeof(r->text), "%.*s", REQUEST_TEXT_BYTES - 1, status_message());
    }
    if (request_open_folder(s->said.file.spool, &folder_fd) == STATUS_OK) {
        if (request_answer(folder_fd, r->name, r->done, r->text) != STATUS_OK) {
            log_warning("%s: %s", r->which, status_message());
        }
        beneath_close(folder_fd);
    }
}

static void after(uv_work_t *work, int failed)
{
    struct service_request *const r = work->data;
    struct service *const s = r->service;
    (void)failed;
    s->requests.n_working--;
    if (r->job != NULL) {
        service_job_list(s, r->job, r->list);
    } else if (r->retried != NULL) {
        service_job_adopt(s, r->retried, service_now(s));
    }
    log_info("%s %s by the administrator: %s", r->what, r->which, r->text);
    char *const notice = xasprintf("%s %s: %s", r->what, r->which, r->text);
    service_page_tell(s, notice);
    free(notice);
    free_request(r);
    s->is_changed = true;
}

/* The request leaves for the pool, where it is done, if it is not yet, and answered. */
static void answer(struct service_request *r, bool done, const char *text)
{
    struct service *const s = r->service;
    r->done = done;
    snprintf(r->text, sizeof(r->text), "%s", text);
    STAILQ_REMOVE(&s->requests.pending, r, service_request, place);
    s->requests.n_working++;
    uv_queue_work(&s->loop, &r->work, run, after);
}

/* --- a request -------------------------------------------------------------------------------- */

/* Everything that waits for its time is tried now. */
static void flush(struct service_request *r)
{
    struct service *const s = r->service;
    const uint64_t now = service_now(s);
    char text[REQUEST_TEXT_BYTES];
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
    snprintf(text, sizeof(text), "%zu jobs that waited for their time are tried now", n);
    answer(r, true, text);
}

/* A job that is at its worker, or on its way there. */
static void ask_back(struct service_request *r, struct service_job *job)
{
    if (is(r, "release")) {
        answer(r, false, "it is not held: it is at a worker");
    } else if (job->begun) {
        answer(r, false,
               is(r, "hold") ? "it is being worked on, and can be held only before"
                             : "it is being worked on, and can be deleted only before; a deadline "
                               "ends such jobs");
    } else if (job->list == WAIT_WORKER) {
        service_job_next(r->service, job, SPOOL_WAIT);
    } else {
        service_job_call_back(job);
    }
}

/* One that waits for its turn. */
static void act(struct service_request *r, struct service_job *job)
{
    if (is(r, "delete")) {
        service_job_set_failure(job, "deleted", "deleted by the administrator");
        late_settle(r->service, job);
        service_job_next(r->service, job, SPOOL_BAD_INPUT);
        job->again_ms = 0;
        snprintf(r->deleted, sizeof(r->deleted), "%s", job->spool->id);
    } else if (job->spool->held == is(r, "hold")) {
        answer(r, is(r, "hold"), is(r, "hold") ? "held already" : "it is not held");
    } else {
        r->job = job;
        r->list = job->list;
        service_job_unlist(r->service, job);
        answer(r, true, is(r, "hold") ? "held" : "released");
    }
}

/* About a job that is not found. While a step of the spool, or another request, has some, it may be
 * one of these. */
static void miss(struct service_request *r, size_t n)
{
    const struct service *const s = r->service;
    char text[REQUEST_TEXT_BYTES];
    if (n == 0 && (s->step != NULL || s->requests.n_working > 0)) {
        return;
    }
    if (r->deleted[0] != '\0') {
        snprintf(text, sizeof(text), "deleted; its inputs are in failed/%s", r->deleted);
        answer(r, true, text);
        return;
    }
    snprintf(text, sizeof(text),
             n == 0 ? "no such job among those that are claimed (leat status --json has the queued "
                      "ones); a file that waits in in/ can be moved away"
                    : "%zu jobs have such an input; give the job's ID (leat status --json)",
             n);
    answer(r, false, text);
}

static void deal_with(struct service_request *r)
{
    struct service_job *job = NULL;
    if (is(r, "flush")) {
        flush(r);
        return;
    }
    if (is(r, "retry")) {
        if (r->service->requests.n_working == 0) { /* another one may be about the same job */
            answer(r, true, "is tried again");
        }
        return;
    }
    if (!is(r, "hold") && !is(r, "release") && !is(r, "delete")) {
        answer(r, false, "not understood");
        return;
    }
    const size_t n = find(r->service, r->deleted[0] != '\0' ? r->deleted : r->which, &job);
    if (n != 1) {
        miss(r, n);
        return;
    }
    switch (job->list) {
    case WAIT_VERIFY:
    case WAIT_ATTEMPT:
        act(r, job);
        break;
    case WAIT_WORKER:
    case WAIT_RESULT:
        ask_back(r, job);
        break;
    case WAIT_FINISH:
        answer(r, false, "its result is made, and is being put in place");
        break;
    case WAIT_FAIL:
        if (r->deleted[0] == '\0') {
            answer(r, false, "it has failed already, and is being moved to failed/");
        }
        break;
    default: /* it is between two steps */
        break;
    }
}

void service_requests_step(struct service *s)
{
    struct service_request *r, *next;
    if (s->requests.is_looking) {
        return;
    }
    for (r = STAILQ_FIRST(&s->requests.pending); r != NULL; r = next) {
        next = STAILQ_NEXT(r, place);
        if ((!s->is_draining && s->requests.is_read) || r->deleted[0] != '\0') {
            deal_with(r);
        }
    }
    if (s->requests.is_due && s->requests.n_working == 0 && !s->is_draining) {
        begin_look(s);
    }
}

void service_requests_open(struct service *s)
{
    STAILQ_INIT(&s->requests.pending);
    s->requests.is_due = true;
}

void service_requests_free(struct service *s)
{
    struct service_request *r;
    while ((r = STAILQ_FIRST(&s->requests.pending)) != NULL) {
        STAILQ_REMOVE_HEAD(&s->requests.pending, place);
        free_request(r);
    }
}
