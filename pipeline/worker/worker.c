/*
 * worker - `leat worker`: the process in which jobs of the service are computed. It alone opens
 * what users dropped, and a device's driver; the service sends it jobs (worker_protocol.h) and
 * survives whatever becomes of it.
 *
 * Jobs that come while as many are in flight as the engine takes wait here, so that a place that
 * becomes free is filled at once. One place more is for those that are short, which shows when
 * their heads have been read: one that is not goes back to those that wait. A device's error is the
 * end of the process, since a CUDA context does not recover from some. Signals that mean the
 * service as a whole are not for the worker: it ends when told, when the service has gone, or is
 * killed.
 */
#include "pipeline/worker/worker.h"

#include "formats/base/log.h"
#include "pipeline/engine/job.h"
#include "pipeline/names/text.h"
#include "pipeline/worker/worker_archive.h"
#include "pipeline/worker/worker_fault.h"
#include "pipeline/worker/worker_open.h"
#include "pipeline/worker/worker_protocol.h"
#include "pipeline/worker/worker_routes.h"
#include "watch/files/beneath.h"
#include "watch/files/xalloc.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct task {
    struct worker *worker;
    struct worker_request request;
    struct job *job;                /* NULL: not begun, or an archive */
    struct worker_archive *archive; /* that is worked on; NULL: none */
    bool is_long;                   /* the place that short ones have is not for it */
    TAILQ_ENTRY(task) place;
};

struct worker {
    uv_loop_t loop;
    struct worker_link link;
    uv_timer_t alive;
    struct settings settings;
    struct engine engine;
    struct job_context context;
    struct worker_folders folders;
    bool is_open, is_draining; /* draining: no job is begun any more */
    bool is_ending;            /* nor does one go on */
    TAILQ_HEAD(, task) tasks;  /* oldest first; those that were begun stand in front */
    size_t n_tasks;
    struct task *turn; /* the one that may have a place next; NULL: the first */
    int result;
};

static void say_failed(struct worker *w, const char *id, enum status code, const char *text)
{
    worker_link_send(&w->link, json_pack("{s:s, s:s, s:s, s:o}", "is", "failed", "id", id, "code",
                                         status_name(code), "text", worker_pack_name(text)));
}

/* --- jobs ------------------------------------------------------------------------------------- */

static void forget(struct worker *w, struct task *task)
{
    w->turn = w->turn == task ? TAILQ_NEXT(task, place) : w->turn;
    w->n_tasks--;
    TAILQ_REMOVE(&w->tasks, task, place);
    json_decref(task->request.message);
    free(task);
}

static bool is_begun(const struct task *t)
{
    return t->job != NULL || t->archive != NULL;
}

static bool has_archive(const struct worker *w)
{
    const struct task *t;
    bool has = false;
    TAILQ_FOREACH(t, &w->tasks, place)
    {
        has = has || t->archive != NULL;
    }
    return has;
}

static void end_if_idle(struct worker *w)
{
    if (w->is_ending && w->engine.n_jobs == 0 && !has_archive(w) &&
        !uv_is_closing((uv_handle_t *)&w->alive)) {
        uv_close((uv_handle_t *)&w->alive, NULL);
        uv_stop(&w->loop);
    }
}

/* What is not begun goes back: that job, or (NULL) all. */
static void send_back(struct worker *w, const char *id, const char *why)
{
    struct task *next;
    for (struct task *t = TAILQ_FIRST(&w->tasks); t != NULL; t = next) {
        next = TAILQ_NEXT(t, place);
        if (!is_begun(t) && (id == NULL || strcmp(t->request.id, id) == 0)) {
            say_failed(w, t->request.id, STATUS_CANCELLED, why);
            forget(w, t);
        }
    }
}

/* No job is begun any more. */
static void begin_drain(struct worker *w, const char *why)
{
    w->is_draining = true;
    send_back(w, NULL, why);
}

/* Nor does one go on: those in flight are cancelled; then the process ends. */
static void begin_end(struct worker *w, const char *why)
{
    struct task *t;
    if (w->is_ending) {
        return;
    }
    w->is_ending = true;
    begin_drain(w, why);
    for (size_t i = 0; i < w->engine.n_jobs; i++) {
        job_cancel(job_in_flight(&w->engine, i), STATUS_CANCELLED, why);
    }
    TAILQ_FOREACH(t, &w->tasks, place)
    {
        if (t->archive != NULL) {
            worker_archive_stop(t->archive, why);
        }
    }
    end_if_idle(w);
}

static void fail_task(struct worker *w, struct task *t, enum status code)
{
    say_failed(w, t->request.id, code, status_message());
    forget(w, t);
    if (code == STATUS_DEVICE) {
        w->result = 1;
        begin_end(w, "the device has failed");
    }
}

/* Of the job or, of an archive, of one within it. */
static void say_begun(const struct task *t, const char *member, bool waits, double deadline_s)
{
    worker_link_send(&t->worker->link,
                     json_pack("{s:s, s:s, s:o*, s:b, s:f}", "is", "begun", "id", t->request.id,
                               "member", member != NULL ? worker_pack_name(member) : NULL, "waits",
                               waits, "deadline_s", waits ? 0 : deadline_s));
}

/* Without a deadline while it waits for memory; begun again when it has it. */
static void on_waits(void *user, const struct job *job, bool waits, double deadline_s)
{
    const struct worker *w = user;
    const struct task *t;
    TAILQ_FOREACH(t, &w->tasks, place)
    {
        if (t->job == job) {
            say_begun(t, NULL, waits, deadline_s);
        }
    }
}

static void member_waits(void *task, const char *path, bool waits, double deadline_s)
{
    say_begun(task, path, waits, deadline_s);
}

static enum status member_begins(void *task, const char *path, double deadline_s)
{
    say_begun(task, path, false, deadline_s);
    return worker_fault(path);
}

static void member_ended(void *task, const char *path, const json_t *manifest)
{
    const struct task *t = task;
    worker_link_send(&t->worker->link,
                     json_pack("{s:s, s:s, s:o, s:o?}", "is", "ended", "id", t->request.id,
                               "member", worker_pack_name(path), "busy_ns",
                               worker_pack_busy(json_object_get(manifest, "timing"))));
}

static void begin_jobs(struct worker *w);

static void archive_went_on(void *task)
{
    begin_jobs(((struct task *)task)->worker);
}

/* done: what is said then; taken over. */
static void end_task(struct task *t, enum status code, const char *text, json_t *done)
{
    struct worker *const w = t->worker;
    if (code == STATUS_OK) {
        worker_link_send(&w->link, done);
        forget(w, t);
    } else {
        fail_task(w, t, status_set(code, text));
    }
    begin_jobs(w);
    end_if_idle(w);
}

static void archive_ended(void *task, enum status code, const char *text, json_t *done)
{
    ((struct task *)task)->archive = NULL;
    end_task(task, code, text, done);
}

/* An archive is worked on as one job, whose own jobs have a deadline each. */
static enum status begin_archive(struct worker *w, struct task *t)
{
    const struct worker_archive_order order = {.engine = &w->engine,
                                               .settings = &w->settings,
                                               .request = &t->request,
                                               .begins = member_begins,
                                               .waits = member_waits,
                                               .member_ended = member_ended,
                                               .went_on = archive_went_on,
                                               .ended = archive_ended,
                                               .user = t};
    char *const path = worker_request_path(&t->request, 0);
    say_begun(t, NULL, false, 0);
    const enum status code = worker_fault(path);
    free(path);
    if (code == STATUS_OK) {
        t->archive = worker_archive_begin(&order);
        worker_archive_step(t->archive);
    }
    return code;
}

static enum status begin_one(struct worker *w, struct task *t)
{
    struct job_input input;
    w->context.short_only = !engine_has_place(&w->engine);
    say_begun(t, NULL, false, w->settings.deadline_s);
    enum status code = worker_request_input(&t->request, &input);
    if (code == STATUS_OK) {
        code = worker_fault(input.parts[0].path);
    }
    if (code != STATUS_OK) {
        job_input_free(&input);
    } else {
        job_start(&w->context, &input);
        t->job = job_in_flight(&w->engine, w->engine.n_jobs - 1);
        worker_fault_begun(t->job);
    }
    return code;
}

/* Lets the task have a place of the engine, if it has use for one. */
static void begin_task(struct worker *w, struct task *t)
{
    enum status code = STATUS_OK;
    if (t->archive != NULL) {
        worker_archive_step(t->archive);
    } else if (t->job == NULL && !w->is_draining) {
        code = worker_is_archive(t->request.message) ? begin_archive(w, t) : begin_one(w, t);
    }
    if (code != STATUS_OK) {
        fail_task(w, t, code);
    }
}

/* While the place for short ones is free: those that have not been in it, oldest first. */
static void begin_short(struct worker *w)
{
    struct task *next;
    for (struct task *t = TAILQ_FIRST(&w->tasks);
         t != NULL && !engine_has_place(&w->engine) && engine_has_short_place(&w->engine) &&
         !w->is_draining;
         t = next) {
        next = TAILQ_NEXT(t, place);
        if (!is_begun(t) && !t->is_long && !worker_is_archive(t->request.message)) {
            begin_task(w, t);
        }
    }
}

/* While the engine has places: one for each task in turn, so that archives share them with what was
 * dropped after them. */
static void begin_jobs(struct worker *w)
{
    size_t n_passed = 0; /* since one has taken a place */
    while (engine_has_place(&w->engine) && n_passed < w->n_tasks && !w->is_ending) {
        struct task *t = w->turn != NULL ? w->turn : TAILQ_FIRST(&w->tasks);
        const size_t n_jobs = w->engine.n_jobs;
        w->turn = TAILQ_NEXT(t, place);
        begin_task(w, t); /* which may have gone then */
        n_passed = w->engine.n_jobs > n_jobs ? 0 : n_passed + 1;
    }
    begin_short(w);
}

static json_t *pack_done(const char *id, const struct job_report *report)
{
    json_t *const outputs = json_object_get(report->manifest, "outputs");
    json_t *const warnings = json_object_get(report->manifest, "warnings");
    json_t *const timing = json_object_get(report->manifest, "timing");
    json_t *const done = worker_pack_done(id, json_number_value(json_object_get(timing, "wall_s")),
                                          report->input_bytes, outputs, warnings);
    json_object_set_new(done, "busy_ns", worker_pack_busy(timing));
    return done;
}

/* A job's result is called by its id here. */
static void on_ended(void *user, const struct job_report *report)
{
    struct worker *w = user;
    struct task *t = TAILQ_FIRST(&w->tasks);
    while (t != NULL && strcmp(t->request.id, report->result) != 0) {
        t = TAILQ_NEXT(t, place);
    }
    if (t != NULL && report->is_long && !w->is_draining) {
        t->job = NULL;
        t->is_long = true;
        worker_link_send(&w->link, json_pack("{s:s, s:s}", "is", "back", "id", t->request.id));
        begin_jobs(w);
    } else if (t != NULL) { /* else it was told to have failed already */
        end_task(t, report->code, report->message,
                 report->code == STATUS_OK ? pack_done(t->request.id, report) : NULL);
    }
}

static void add_job(struct worker *w, const json_t *message)
{
    const char *const id = text_at(message, "id");
    if (w->is_draining) {
        say_failed(w, id, STATUS_CANCELLED, "the worker ends");
        return;
    }
    struct task *const t = xcalloc(1, sizeof(*t));
    *t = (struct task){
        .worker = w,
        .request = {.folders = &w->folders, .message = json_incref((json_t *)message), .id = id}};
    TAILQ_INSERT_TAIL(&w->tasks, t, place);
    w->n_tasks++;
    if (!uv_is_active((uv_handle_t *)&w->alive)) {
        uv_timer_again(&w->alive);
    }
    begin_jobs(w);
}

/* What the task has read, its moves and, of a simulation, its steps: by its id. */
static void say_how_far(const struct task *t, json_t *bytes, json_t *moves, json_t *steps)
{
    const bool is_job = t->job != NULL;
    uint64_t n_moves = 0, n_steps, n_all;
    const uint64_t n = is_job ? job_bytes_read(t->job) : worker_archive_bytes(t->archive);
    json_object_set_new(bytes, t->request.id, json_integer((json_int_t)n));
    if (is_job ? job_is_at_work(t->job, &n_moves)
               : worker_archive_is_at_work(t->archive, &n_moves)) {
        json_object_set_new(moves, t->request.id, json_integer((json_int_t)n_moves));
    }
    if (is_job && job_steps(t->job, &n_steps, &n_all)) {
        json_object_set_new(steps, t->request.id,
                            json_pack("[I, I]", (json_int_t)n_steps, (json_int_t)n_all));
    }
}

static void on_alive(uv_timer_t *timer)
{
    struct worker *w = timer->data;
    const struct task *t;
    json_t *bytes = json_object(), *moves = json_object(), *steps = json_object();
    log_report_dropped();
    if (w->n_tasks == 0) {
        uv_timer_stop(timer);
        malloc_trim(0); /* else each thread's part of the heap keeps what its largest job took */
    }
    TAILQ_FOREACH(t, &w->tasks, place)
    {
        if (is_begun(t)) {
            say_how_far(t, bytes, moves, steps);
        }
    }
    worker_link_send(&w->link, json_pack("{s:s, s:o, s:o, s:o}", "is", "alive", "bytes", bytes,
                                         "moves", moves, "steps", steps));
}

/* --- the service ------------------------------------------------------------------------------ */

static const char *device_of(const struct engine *e)
{
    for (size_t i = 0; i < e->n_devices; i++) {
        if (e->devices[i].state == DEVICE_OPEN) {
            return e->devices[i].info.device;
        }
    }
    return e->cpu.info.device;
}

static void open_engine(struct worker *w, const json_t *message)
{
    struct engine *const e = &w->engine;
    const enum status code = worker_open(&w->loop, message, &w->folders, &w->settings, e);
    if (code != STATUS_OK) {
        worker_link_send(&w->link,
                         json_pack("{s:s, s:s, s:o}", "is", "unfit", "code", status_name(code),
                                   "text", text_json(status_message())));
        w->result = 2;
        begin_end(w, "");
        return;
    }
    w->is_open = true;
    w->context.out_fd = w->folders.out_fd;
    worker_link_send(&w->link, json_pack("{s:s, s:o, s:I}", "is", "ready", "device",
                                         text_json(device_of(e)), "jobs", (json_int_t)e->max_jobs));
}

static void on_message(void *user, const json_t *message)
{
    struct worker *w = user;
    const char *const what = text_at(message, "do");
    if (strcmp(what, "open") == 0 && !w->is_open && !w->is_ending) {
        open_engine(w, message);
    } else if (strcmp(what, "job") == 0 && w->is_open) {
        add_job(w, message);
    } else if (strcmp(what, "set") == 0 && w->is_open) {
        w->settings.deadline_s = json_number_value(json_object_get(message, "deadline_s"));
    } else if (strcmp(what, "return") == 0) {
        send_back(w, text_at(message, "id"), "it was asked back");
    } else if (strcmp(what, "drain") == 0) {
        begin_drain(w, "the service is stopping");
    } else if (strcmp(what, "stop") == 0) {
        begin_end(w, "the service is stopping");
    }
}

static void on_broken(void *user, const char *why)
{
    struct worker *w = user;
    if (*why != '\0') {
        log_error("worker: the link to the service is broken: %s", why);
    }
    begin_end(w, "the service has gone");
}

/* --- the process ------------------------------------------------------------------------------ */

int worker_run(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    struct worker w = {.folders = {-1, -1, ""}};
    const unsigned alive_ms = worker_fault_alive_ms(WORKER_ALIVE_MS);
    w.context = (struct job_context){.engine = &w.engine,
                                     .settings = &w.settings,
                                     .out_fd = -1,
                                     .keeps_states = true,
                                     .ended = on_ended,
                                     .waits = on_waits,
                                     .user = &w};
    w.link = (struct worker_link){.message = on_message, .broken = on_broken, .user = &w};
    TAILQ_INIT(&w.tasks);
    log_drop_when_blocked();
    worker_settle_in();
    if (uv_loop_init(&w.loop) != 0) {
        log_error("worker: cannot begin");
        return 2;
    }
    uv_timer_init(&w.loop, &w.alive);
    w.alive.data = &w;
    uv_timer_start(&w.alive, on_alive, alive_ms, alive_ms);
    uv_timer_stop(&w.alive);
    uv_pipe_init(&w.loop, &w.link.pipe, 0);
    int failed = uv_pipe_open(&w.link.pipe, WORKER_FD);
    if (failed != 0 || worker_link_start(&w.link) != STATUS_OK) {
        log_error("leat worker is started by leat watch, and by nobody else");
        uv_close((uv_handle_t *)&w.alive, NULL);
        w.result = 2;
    } else {
        uv_run(&w.loop, UV_RUN_DEFAULT);
    }
    worker_link_close(&w.link);
    if (w.is_open) {
        engine_close(&w.engine);
    }
    uv_run(&w.loop, UV_RUN_DEFAULT);
    uv_loop_close(&w.loop);
    beneath_close(w.folders.work_fd);
    beneath_close(w.folders.out_fd);
    settings_free(&w.settings);
    return w.result;
}
