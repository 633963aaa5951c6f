/*
 * service_status - what the service says of itself: the document of `leat status`, and the jobs
 * that were done last.
 *
 * The document is made on the loop's thread and written on libuv's pool, when it would be another
 * one as of the same instant, once a second at most; and once a minute, since its rates are of
 * minutes. What lies in failed/ is looked at there, when an event has told that it is otherwise.
 */
#include "pipeline/service/service_state.h"

#include "formats/base/log.h"
#include "pipeline/names/text.h"
#include "pipeline/status/failed_jobs.h"
#include "pipeline/worker/worker_routes.h"
#include "watch/files/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WAITING_SHOWN = 100, FLIGHT_SHOWN = 200, QUEUED_SHOWN = 100 };
enum { AGAIN_MS = 1000, EVERY_MS = 60000 };

/* --- jobs that have ended --------------------------------------------------------------------- */

static json_t *iso_time(time_t seconds)
{
    char text[32];
    struct tm t;
    gmtime_r(&seconds, &t);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &t);
    return json_string(text);
}

static json_t *pack_pipeline(const struct service_job *job)
{
    const char *const pipeline = worker_pipeline_of(job->spool->parameters);
    return json_string(pipeline != NULL ? pipeline : "archive");
}

/* The name of the first output that ends so; "": none. */
static const char *output_that_ends(const struct service_job *job, const char *end)
{
    size_t i;
    json_t *output;
    json_array_foreach(job->spool->outputs, i, output)
    {
        const char *name = json_string_value(json_object_get(output, "name"));
        const size_t n = name != NULL ? strlen(name) : 0;
        if (n >= strlen(end) && strcmp(name + n - strlen(end), end) == 0) {
            return name;
        }
    }
    return "";
}

static double since_s(const struct service *s, uint64_t since_ms)
{
    return (double)(service_now(s) - since_ms) * 1e-3;
}

/* In the document, which is as of a certain time. */
static double age_s(const struct service *s, uint64_t since_ms)
{
    return (double)(s->said.as_of_ms - since_ms) * 1e-3;
}

void service_count_done(struct service *s, const struct service_job *job)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < job->spool->n_files; i++) {
        bytes += job->spool->files[i].size;
    }
    const char *result = job->spool->published, *picture = output_that_ends(job, ".png");
    picture = *picture != '\0' ? picture : output_that_ends(job, ".svg");
    json_t **const last = &s->done[s->figures.n_done % SERVICE_SHOWN];
    json_decref(*last);
    *last = json_pack("{s:s, s:o, s:o, s:o, s:o, s:s, s:s, s:f, s:o}", "id", job->spool->id, "name",
                      text_json(job->name), "pipeline", pack_pipeline(job), "ended",
                      iso_time(time(NULL)), "result", text_json(result != NULL ? result : ""),
                      "picture", picture, "report", output_that_ends(job, "report.html"), "seconds",
                      job->seconds, "warnings",
                      job->warnings != NULL ? json_incref(job->warnings) : json_array());
    service_figures_done(&s->figures, worker_pipeline_of(job->spool->parameters), bytes,
                         job->found_ms > 0 ? since_s(s, job->found_ms) : -1.0,
                         (uint64_t)since_s(s, s->started_ms));
}

void service_count_failed(struct service *s, const struct service_job *job)
{
    service_figures_failed(&s->figures, worker_pipeline_of(job->spool->parameters),
                           (uint64_t)since_s(s, s->started_ms));
}

void service_count_recovered(struct service *s, struct spool_recovery *found)
{
    for (size_t i = 0; i < found->n_ended; i++) {
        struct service_job *job = service_job_new(found->ended[i]);
        found->ended[i] = NULL;
        if (job->spool->published != NULL) {
            service_count_done(s, job);
            hooks_done(s, job);
        } else {
            json_t *reason =
                job->spool->reason != NULL ? json_loads(job->spool->reason, 0, NULL) : NULL;
            const char *kind = json_string_value(json_object_get(reason, "kind"));
            const char *text = json_string_value(json_object_get(reason, "reason"));
            service_job_set_failure(job, kind != NULL ? kind : "unknown", text != NULL ? text : "");
            service_count_failed(s, job);
            hooks_failed(s, job);
            json_decref(reason);
        }
        service_job_free(job);
    }
}

/* --- the document ----------------------------------------------------------------------------- */

static json_t *pack_flight(const struct service *s)
{
    json_t *list = json_array();
    const struct service_job *job;
    TAILQ_FOREACH(job, &s->lists[WAIT_RESULT], place)
    {
        if (json_array_size(list) == FLIGHT_SHOWN) {
            break;
        }
        if (!job->begun) {
            continue;
        }
        json_array_append_new(
            list,
            json_pack("{s:s, s:o, s:o, s:s, s:i, s:I, s:I, s:I, s:I, s:f, s:s}", "id",
                      job->spool->id, "name", text_json(job->name), "pipeline", pack_pipeline(job),
                      "worker", job->worker->name, "attempt", (int)job->spool->n_attempts, "bytes",
                      (json_int_t)job->bytes, "total_bytes", (json_int_t)job->total_bytes, "steps",
                      (json_int_t)job->n_steps, "total_steps", (json_int_t)job->total_steps,
                      "for_s", age_s(s, job->begun_ms), "waits_for", job->waits ? "memory" : ""));
    }
    return list;
}

/* The last one first. */
static json_t *pack_done(const struct service *s)
{
    const size_t n = s->figures.n_done;
    json_t *list = json_array();
    for (size_t i = n; i > 0 && n - i < SERVICE_SHOWN; i--) {
        json_array_append(list, s->done[(i - 1) % SERVICE_SHOWN]);
    }
    return list;
}

static json_t *pack_workers(const struct service *s)
{
    static const char *const states[] = {"backing off", "starting", "ready", "out"};
    json_t *list = json_array();
    for (size_t i = 0; i < s->n_all; i++) {
        const struct service_worker *w = s->workers[i];
        const uint64_t now = service_now(s);
        char why[SERVICE_WHY_BYTES];
        snprintf(why, sizeof(why), "%s", w->why);
        bool retires = service_worker_retires(w, why, sizeof(why));
        if ((w->state == WORKER_BACKOFF && w->again_ms == 0 && s->n_workers > 1) ||
            (w->is_alone && !w->is_running && s->n_suspects == 0)) {
            continue; /* the CPU, while a device does the work; no job is a suspect */
        }
        bool waits = !w->is_running && w->again_ms > now;
        json_array_append_new(
            list, json_pack("{s:s, s:o, s:o, s:s, s:i, s:f, s:o, s:o}", "name", w->name, "device",
                            text_json(w->device), "pid",
                            w->is_running ? json_integer(w->process.pid) : json_null(), "state",
                            retires ? "retiring" : states[w->state], "deaths", (int)w->n_deaths,
                            "again_in_s", waits ? (double)(w->again_ms - now) * 1e-3 : 0.0, "why",
                            text_json(why), "busy", service_figures_pack_busy(&s->busy[w->place])));
    }
    return list;
}

/* Whether the job waits for something that is not its turn, and for what. */
static bool has_reason(const struct service *s, const struct service_job *job, char *why,
                       size_t why_bytes)
{
    const bool is_ending = job->list == WAIT_FINISH || job->list == WAIT_FAIL;
    const uint64_t now = service_now(s);
    why[0] = '\0';
    if ((job->list == WAIT_WORKER && !job->suspect) || job->list == WAIT_RESULT) {
        return false;
    }
    if (job->spool->held) {
        snprintf(why, why_bytes, "held by the administrator: leat release %s", job->spool->id);
    } else if (job->n_deferrals > 0 && !(is_ending && job->again_ms <= now)) {
        snprintf(why, why_bytes, "%s%.400s; tried again in %.0f s, others go on",
                 job->list == WAIT_FINISH ? "its result is made: "
                 : job->list == WAIT_FAIL ? "it has failed: "
                                          : "",
                 job->deferred_why != NULL ? job->deferred_why : "",
                 job->again_ms > now ? (double)(job->again_ms - now) * 1e-3 : 0.0);
    } else if (is_ending && !gate_lets_end(s)) {
        snprintf(why, why_bytes, "%s after the pause",
                 job->list == WAIT_FINISH ? "its result is made, and is put in place"
                                          : "it has failed, and is put away");
    } else if (job->suspect && (job->list == WAIT_ATTEMPT || job->list == WAIT_WORKER)) {
        snprintf(why, why_bytes,
                 "waits for a process of its own: it may have ended its worker, or the service");
    } else if ((job->list == WAIT_CLAIM || job->list == WAIT_VERIFY) &&
               job->spool->message != NULL) {
        snprintf(why, why_bytes, "%s", job->spool->message);
    }
    return why[0] != '\0';
}

/* Jobs that wait for something: the first of them, those whose result is made first, and how many
 * there are; those that could be queued instead, too. */
struct waiting {
    json_t *list;
    size_t n, n_unqueued;
};

static void add_waiting(const struct service *s, struct waiting *w)
{
    static const enum service_list order[] = {WAIT_FINISH, WAIT_FAIL,    WAIT_REQUEUE,
                                              WAIT_VERIFY, WAIT_ATTEMPT, WAIT_CLAIM};
    const struct service_job *job;
    char why[SERVICE_WHY_BYTES];
    for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
        TAILQ_FOREACH(job, &s->lists[order[i]], place)
        {
            if (!has_reason(s, job, why, sizeof(why))) {
                continue;
            }
            w->n++;
            w->n_unqueued += order[i] != WAIT_FINISH && order[i] != WAIT_FAIL;
            if (json_array_size(w->list) < WAITING_SHOWN) {
                const double came_s = (double)spool_id_time(job->spool->id) * 1e-6;
                const double s_ago = s->said.as_of_s - came_s;
                json_array_append_new(
                    w->list, json_pack("{s:o, s:o, s:f}", "path", text_json(job->name), "reason",
                                       text_json(why), "since_s", s_ago > 0 ? s_ago : 0.0));
            }
        }
    }
}

/* The first jobs that wait for their turn, also at a worker, so that they have names. */
static json_t *pack_queued(const struct service *s)
{
    json_t *list = json_array();
    const struct service_job *job;
    for (enum service_list which = WAIT_VERIFY; which <= WAIT_RESULT; which++) {
        TAILQ_FOREACH(job, &s->lists[which], place)
        {
            if (!job->begun && json_array_size(list) < QUEUED_SHOWN) {
                json_array_append_new(list,
                                      json_pack("{s:s, s:o, s:b}", "id", job->spool->id, "name",
                                                text_json(job->name), "held", job->spool->held));
            }
        }
    }
    return list;
}

/* Files in in/, jobs that were taken out of it but are still being written to, and jobs that are
 * deferred. */
static struct waiting find_waiting(const struct service *s)
{
    struct waiting w = {.list = json_array(), .n = service_inbox_count(s->inbox)};
    if (s->trouble[0] != '\0') { /* a folder that cannot be entered */
        char why[SERVICE_WHY_BYTES + 80] = "";
        if (s->n_troubles > 1) {
            snprintf(why, sizeof(why),
                     "%zu places cannot be looked at; the first: ", s->n_troubles);
        }
        snprintf(why + strlen(why), sizeof(why) - strlen(why), "%s", s->trouble);
        json_array_append_new(w.list,
                              json_pack("{s:s, s:o, s:f}", "path", "in", "reason", text_json(why),
                                        "since_s", age_s(s, s->trouble_ms)));
    }
    add_waiting(s, &w);
    service_inbox_list(s->inbox, s->said.as_of_s, WAITING_SHOWN, w.list);
    return w;
}

static const char *state_name(const struct service *s)
{
    return s->is_draining     ? "draining"
           : !gate_is_open(s) ? "paused"
           : !s->is_open      ? "starting"
                              : "running";
}

/* Of claimed jobs that no worker has begun, how long ago the oldest was dropped, or the service
 * started. */
static double oldest_queued_s(const struct service *s)
{
    uint64_t first = UINT64_MAX;
    for (enum service_list list = WAIT_CLAIM; list <= WAIT_RESULT; list++) {
        const struct service_job *job;
        TAILQ_FOREACH(job, &s->lists[list], place)
        {
            const uint64_t since = job->found_ms > 0 ? job->found_ms : s->started_ms;
            if (!job->begun && since < first) {
                first = since;
            }
        }
    }
    return first != UINT64_MAX ? age_s(s, first) : 0;
}

static json_t *pack_document(const struct service *s)
{
    char why[SERVICE_WHY_BYTES];
    bool ready = service_workers_ready(s, why, sizeof(why)) && s->is_open && !s->is_draining;
    if (!gate_is_open(s)) {
        snprintf(why, sizeof(why), "%.400s%s", s->gate.why,
                 s->gate.state == GATE_OPEN ? "; one job is tried at a time until one has ended"
                                            : "");
    }
    const char *mode = s->watcher != NULL ? watcher_mode(s->watcher) : "not yet";
    const struct waiting waiting = find_waiting(s);
    const size_t n_running = service_jobs_begun(s);
    const size_t n_queued = s->n_jobs - n_running - s->n_listed[WAIT_FINISH] -
                            s->n_listed[WAIT_FAIL] - waiting.n_unqueued;
    json_t *m = json_pack("{s:i, s:s, s:i, s:o, s:o, s:o, s:f, s:s, s:b, s:o, s:o, s:s}", "schema",
                          1, "leat", LEAT_VERSION, "pid", (int)getpid(), "spool",
                          text_json(s->settings->spool), "output", text_json(s->settings->output),
                          "since", iso_time(s->started_at), "uptime_s", age_s(s, s->started_ms),
                          "state", state_name(s), "ready", ready, "why", text_json(why), "watching",
                          text_json(mode), "leases", s->leases);
    json_t *jobs = json_pack(
        "{s:I, s:I, s:o, s:I, s:o, s:o, s:o, s:I, s:f, s:f}", "n_waiting", (json_int_t)waiting.n,
        "n_troubles", (json_int_t)s->n_troubles, "waiting", waiting.list, "n_queued",
        (json_int_t)n_queued, "queued", pack_queued(s), "in_flight", pack_flight(s), "done",
        pack_done(s), "n_running", (json_int_t)n_running, "oldest_queued_s", oldest_queued_s(s),
        "oldest_part_s", service_inbox_oldest_part_s(s->inbox, s->said.as_of_s));
    json_object_update_new(m, jobs);
    json_object_set_new(m, "hooks", hooks_status(s));
    json_object_set_new(m, "removed", retention_status(s));
    json_object_set_new(m, "late", late_status(s));
    json_object_set_new(m, "workers", pack_workers(s));
    json_object_set_new(m, "page", service_page_pack(s));
    service_figures_put(&s->figures, age_s(s, s->started_ms), m);
    return m;
}

/* --- the file --------------------------------------------------------------------------------- */

struct said_write {
    uv_work_t work;
    struct service *service;
    json_t *document;
    bool looks, is_watched; /* at failed/, which is */
    char why[STATUS_MESSAGE_BYTES];
};

/* The folder is watched before it is listed. */
static void look_at_failed(struct said_write *w)
{
    struct service *const s = w->service;
    json_t *list;
    size_t n;
    w->is_watched = service_folders_watch(s, "failed");
    if (failed_jobs_list(s->said.file.spool, SERVICE_SHOWN, &list, &n) == STATUS_OK) {
        json_decref(s->said.failed);
        s->said.failed = list;
        s->said.n_failed = n;
    }
}

static void run(uv_work_t *work)
{
    struct said_write *const w = work->data;
    struct service *const s = w->service;
    if (w->looks) {
        look_at_failed(w);
    }
    json_object_set_new(w->document, "n_failed", json_integer((json_int_t)s->said.n_failed));
    json_object_set_new(w->document, "failed",
                        s->said.failed != NULL ? json_incref(s->said.failed) : json_array());
    if (status_file_write(&s->said.file, w->document) != STATUS_OK) {
        snprintf(w->why, sizeof(w->why), "%s", status_message());
    }
    json_object_del(w->document, "n_failed");
    json_object_del(w->document, "failed");
    json_object_del(w->document, "written");
}

static void after(uv_work_t *work, int failed)
{
    struct said_write *const w = work->data;
    struct service *const s = w->service;
    (void)failed;
    if (w->why[0] != '\0' && strcmp(w->why, s->said.why) != 0) {
        log_warning("%s", w->why);
    }
    s->said.looks_due = s->said.looks_due || (w->looks && !w->is_watched);
    if (w->why[0] != '\0') {
        s->said.is_late = true;
    } else {
        s->said.last = json_incref(w->document);
        if (s->said.is_late) { /* the page has not found it, or another one */
            service_page_renew(s);
        }
        s->said.is_late = false;
    }
    snprintf(s->said.why, sizeof(s->said.why), "%s", w->why);
    s->said.is_writing = false;
    s->is_changed = true; /* as it may be meanwhile */
    json_decref(w->document);
    free(w);
}

void service_status_open(struct service *s)
{
    const char *const group = s->settings->status_group;
    s->said.file = (struct status_file){.spool = xstrdup(s->settings->spool),
                                        .group = group != NULL ? xstrdup(group) : NULL,
                                        .folder_fd = -1,
                                        .lock_fd = -1};
    s->said.looks_due = true;
    if (status_file_open(&s->said.file) != STATUS_OK) {
        s->said.is_late = true; /* the next one may be written */
    }
}

void service_status_step(struct service *s)
{
    const uint64_t now = service_now(s);
    if (s->is_closing || s->said.is_writing) {
        return;
    }
    if (now < s->said.next_ms) {
        uv_timer_start(&s->said.later, s->soon.timer_cb, s->said.next_ms - now, 0);
        return;
    }
    if (s->said.last != NULL && !s->said.looks_due && now < s->said.as_of_ms + EVERY_MS) {
        json_t *const same = pack_document(s);
        const bool is_same = json_equal(same, s->said.last) == 1;
        json_decref(same);
        if (is_same) {
            return;
        }
    }
    struct timespec real;
    clock_gettime(CLOCK_REALTIME, &real);
    s->said.as_of_ms = now;
    s->said.as_of_s = (double)real.tv_sec + (double)real.tv_nsec * 1e-9;
    s->said.next_ms = now + AGAIN_MS;
    json_decref(s->said.last);
    s->said.last = NULL;
    struct said_write *const w = xcalloc(1, sizeof(*w));
    *w = (struct said_write){.work.data = w,
                             .service = s,
                             .document = pack_document(s),
                             .looks = s->said.looks_due && s->is_recovered};
    s->said.looks_due = s->said.looks_due && !w->looks;
    s->said.is_writing = true;
    uv_queue_work(&s->loop, &w->work, run, after);
}

void service_status_free(struct service *s)
{
    if (s->said.file.spool != NULL) {
        status_file_close(&s->said.file);
    }
    free(s->said.file.spool);
    free(s->said.file.group);
    json_decref(s->said.last);
    json_decref(s->said.failed);
    for (size_t i = 0; i < SERVICE_SHOWN; i++) {
        json_decref(s->done[i]);
    }
}
