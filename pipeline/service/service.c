/*
 * service - life of the service: start, signals, configuration, drain, end; and the one place that
 * decides what comes next. See service.h.
 */
#include "pipeline/service/service_state.h"

#include "formats/base/log.h"
#include "pipeline/names/sandbox.h"
#include "pipeline/service/notify.h"
#include "watch/files/xalloc.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TICK_MS = 1000, POLL_MS = 5000, GATHER_MS = 25, LOCK_TRIES = 20, LOCK_AGAIN_MS = 100 };
enum { LOCK_TICKS = 10 }; /* that the lock is waited for once the loop runs */

/* Attempts beyond max_attempts with which a job is recovered, to be tried alone. Those that ended
 * with the service itself are charged on disk like any, and are seldom the job's fault; but one
 * that brings the machine down must not do so for ever. */
enum { RECOVERIES = 8 };

/* --- what waits for a disk ---------------------------------------------------------------------
 */

/* One call, made on libuv's pool, and what follows from it. */
struct errand {
    uv_work_t work;
    struct service *service;
    enum status (*run)(struct errand *errand);
    void (*take)(struct errand *errand); /* on the loop's thread */
    struct settings *fresh;
    struct spool *spool;
    enum status code;
    char message[STATUS_MESSAGE_BYTES];
};

static void run_errand(uv_work_t *work)
{
    struct errand *errand = work->data;
    errand->code = errand->run(errand);
    snprintf(errand->message, sizeof(errand->message), "%s", status_message());
}

static void end_errand(uv_work_t *work, int failed)
{
    struct errand *errand = work->data;
    (void)failed;
    errand->take(errand);
    errand->service->is_changed = true;
    free(errand);
}

static void send_errand(struct service *s, enum status (*run)(struct errand *errand),
                        void (*take)(struct errand *errand))
{
    struct errand *errand = xcalloc(1, sizeof(*errand));
    *errand = (struct errand){.work = {.data = errand}, .service = s, .run = run, .take = take};
    uv_queue_work(&s->loop, &errand->work, run_errand, end_errand);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void close_all(struct service *s)
{
    s->is_closing = true;
    retention_stop(s);
    watcher_close(s->watcher, NULL, NULL);
    s->watcher = NULL;
    service_folders_close(s);
    service_page_close(s);
    uv_close((uv_handle_t *)&s->tick, NULL);
    uv_close((uv_handle_t *)&s->soon, NULL);
    uv_close((uv_handle_t *)&s->said.later, NULL);
    uv_close((uv_handle_t *)&s->prepare, NULL);
    for (size_t i = 0; i < s->n_signals; i++) {
        uv_close((uv_handle_t *)&s->signals[i], NULL);
    }
}

/* Of jobs in lists that end by themselves, those that the next start goes on with. */
static bool is_left(const struct service *s, const struct service_job *job)
{
    return !gate_lets_end(s) || (job->n_deferrals > 0 && job->again_ms > service_now(s));
}

static bool is_drained(const struct service *s)
{
    size_t left = s->n_listed[WAIT_RESULT] + s->n_listed[WAIT_WORKER];
    for (enum service_list list = WAIT_FINISH; list <= WAIT_FAIL; list++) {
        const struct service_job *job;
        TAILQ_FOREACH(job, &s->lists[list], place)
        {
            left += !is_left(s, job);
        }
    }
    return left == 0 && s->step == NULL && s->requests.n_working == 0;
}

/* Jobs that do not end any more leave without a charge. */
static void put_back(struct service *s)
{
    struct service_job *job, *next;
    while ((job = TAILQ_FIRST(&s->lists[WAIT_WORKER])) != NULL) {
        service_job_next(s, job, SPOOL_WAIT);
    }
    for (job = TAILQ_FIRST(&s->lists[WAIT_FINISH]); job != NULL; job = next) {
        next = TAILQ_NEXT(job, place);
        if (is_left(s, job) && job->spool->state < SPOOL_COMMITTED) {
            job->again_ms = 0;
            service_job_next(s, job, SPOOL_WAIT);
        }
    }
}

static void drain(struct service *s)
{
    if (!s->is_cancelled && service_now(s) >= s->drain_ms) {
        s->is_cancelled = true;
        if (s->n_listed[WAIT_RESULT] > 0) {
            log_info("%zu jobs did not end in time and stay queued", s->n_listed[WAIT_RESULT]);
        }
        service_workers_end(s);
        hooks_end(s);
    }
    if (is_drained(s)) {
        service_workers_end(s);
        if (!service_workers_running(s) && !hooks_are_left(s)) {
            close_all(s);
        }
    }
}

static void begin_drain(struct service *s)
{
    s->is_draining = true;
    retention_stop(s);
    s->drain_ms = service_now(s) + (uint64_t)(s->settings->drain_s * 1000);
    notify_stopping();
    log_info("service is stopping: %zu jobs may end within %g s", service_jobs_begun(s),
             s->settings->drain_s);
    service_workers_drain(s);
}

/* --- the configuration ------------------------------------------------------------------------ */

/* NULL: not set. */
static bool differs(const char *what, const char *old, const char *new)
{
    old = old != NULL ? old : "";
    new = new != NULL ? new : "";
    bool differs = strcmp(old, new) != 0;
    if (differs) {
        log_error("the configuration stays as it was: %s cannot change from '%s' to '%s' while the "
                  "service runs; restart it",
                  what, old, new);
    }
    return differs;
}

static bool devices_differ(const struct settings_devices *old, const struct settings_devices *new)
{
    bool differ = old->n != new->n || old->is_list != new->is_list;
    for (size_t i = 0; i < old->n && !differ; i++) {
        differ = old->at[i] != new->at[i] || old->ends[i] != new->ends[i];
    }
    if (differ) {
        log_error("the configuration stays as it was: devices cannot change while the service "
                  "runs; restart it");
    }
    return differ;
}

static void free_settings(struct settings *settings)
{
    if (settings != NULL) {
        settings_free(settings);
        free(settings);
    }
}

static void read_again(struct service *s);

static void take_read(struct errand *errand)
{
    struct service *s = errand->service;
    const struct settings *old = s->settings;
    struct settings *fresh = errand->fresh;
    if (errand->code != STATUS_OK) {
        log_error("the configuration stays as it was: %s", errand->message);
        free(fresh);
    } else if (differs("spool", old->spool, fresh->spool) ||
               differs("output", old->output, fresh->output) ||
               differs("require_mount", old->require_mount, fresh->require_mount) ||
               differs("backend", old->backend, fresh->backend) ||
               devices_differ(&old->devices, &fresh->devices) ||
               differs("status_group", old->status_group, fresh->status_group) ||
               differs("http", old->http, fresh->http) ||
               differs("http_token_file", old->http_token_file, fresh->http_token_file)) {
        free_settings(fresh);
    } else {
        free_settings(s->next_settings);
        s->next_settings = fresh;
    }
    if (s->is_recovered && s->watcher != NULL) {
        watcher_rescan(s->watcher);
    }
    if (!s->is_draining) {
        notify_ready();
    }
    s->is_reading = false;
    if (s->reads_once_more) {
        s->reads_once_more = false;
        read_again(s);
    }
}

static enum status read_settings(struct errand *errand)
{
    const struct service *s = errand->service;
    bool done = false;
    char **argv = xcalloc((size_t)s->argc + 1, sizeof(*argv));
    memcpy(argv, s->argv, (size_t)s->argc * sizeof(*argv));
    errand->fresh = xcalloc(1, sizeof(*errand->fresh));
    const enum status code = settings_parse(s->argc, argv, errand->fresh, &done);
    free(argv);
    return code;
}

static void read_again(struct service *s)
{
    if (s->is_reading) { /* may have passed what is new */
        s->reads_once_more = true;
        return;
    }
    s->is_reading = true;
    notify_reloading();
    send_errand(s, read_settings, take_read);
}

/* Puts settings that were read again in force, between steps of the spool. */
static void adopt_settings(struct service *s)
{
    struct settings *old = s->settings, *new = s->next_settings;
    s->settings = new;
    s->next_settings = NULL;
    settings_set_log_level(new);
    service_configure(s);
    s->retention.due_ms = 0; /* what is to be kept may be otherwise */
    service_inbox_reroute(s->inbox, new, service_now(s));
    if (old->threads != new->threads || old->jobs != new->jobs || old->memory != new->memory ||
        old->level != new->level || old->bundle != new->bundle || old->spread != new->spread ||
        old->unpack.max_bytes != new->unpack.max_bytes ||
        old->unpack.max_ratio != new->unpack.max_ratio) {
        service_workers_renew(s);
    }
    if (old->deadline_s != new->deadline_s) {
        service_workers_tell_deadline(s);
    }
    free_settings(old);
    log_info("the configuration has been read again");
}

/* --- the watcher ------------------------------------------------------------------------------ */

static void on_found(void *user, struct watcher_findings *findings)
{
    struct service *s = user;
    if (findings->complete) {
        s->scan_ms = service_now(s);
        if (!s->is_troubled) {
            s->trouble[0] = '\0';
            s->n_troubles = 0;
        }
    }
    s->is_troubled = false;
    service_inbox_found(s->inbox, findings, service_now(s));
    s->is_changed = true;
}

static void on_gone(void *user, const char *path)
{
    struct service *s = user;
    service_inbox_gone(s->inbox, path, service_now(s));
    s->is_changed = true;
}

static void on_trouble(void *user, const char *why, size_t n)
{
    struct service *s = user;
    s->is_troubled = true;
    if (strcmp(s->trouble, why) != 0) {
        log_warning("%s", why);
    }
    if (s->n_troubles == 0) {
        s->trouble_ms = service_now(s);
    }
    if (n > 0 || s->n_troubles == 0) { /* else it is going to be counted */
        snprintf(s->trouble, sizeof(s->trouble), "%s", why);
        s->n_troubles = n > 0 ? n : 1;
    }
}

static void open_watcher(struct service *s)
{
    char *path = xasprintf("%s/in", s->settings->spool);
    struct watcher_options options = {.path = path,
                                      .folder_fd = spool_in_fd(s->spool),
                                      .poll_ms = POLL_MS,
                                      .gather_ms = GATHER_MS,
                                      .found = on_found,
                                      .gone = on_gone,
                                      .trouble = on_trouble,
                                      .user = s};
    if (watcher_open(&s->loop, &options, &s->watcher) != STATUS_OK) {
        log_error("cannot watch the folder: %s", status_message());
        s->exit_status = 2;
        s->is_draining = true;
    }
    s->scan_ms = service_now(s);
    free(path);
}

/* --- what comes next -------------------------------------------------------------------------- */

static void announce(struct service *s)
{
    char why[SERVICE_WHY_BYTES];
    const bool ready = service_workers_ready(s, why, sizeof(why));
    bool any_starting = false;
    for (size_t i = 0; i < s->n_workers; i++) {
        any_starting = any_starting || s->workers[i]->state == WORKER_STARTING;
    }
    if (ready || !any_starting) {
        s->is_open = true;
        if (ready) {
            log_info("ready: results go to '%s'", s->settings->output);
        } else {
            log_error("not ready: %s", why);
        }
        notify_ready();
    }
}

/* Looks again when something is due before the next second. */
static void arm(struct service *s)
{
    const uint64_t now = service_now(s);
    uint64_t due = service_inbox_next_due(s->inbox);
    if (s->readiness != NULL || s->is_draining || due <= now) {
        due = UINT64_MAX; /* its end decides again; or it could not begin: the next second tries */
    }
    const uint64_t late = service_inbox_next_late(s->inbox, now);
    due = late < due ? late : due;
    due = s->is_changed ? now : due;
    if (due == UINT64_MAX) {
        uv_timer_stop(&s->soon);
    } else {
        uv_timer_start(&s->soon, s->soon.timer_cb, due > now ? due - now : 0, 0);
    }
}

/* Decides what comes next. */
static void decide(struct service *s)
{
    if (s->is_closing || (!s->is_recovered && !s->is_draining)) {
        return;
    }
    if (s->next_settings != NULL && s->step == NULL && s->spool != NULL) {
        adopt_settings(s);
    }
    service_requests_step(s);
    if (!s->requests.is_read && !s->is_draining) { /* a job that is deleted may be among these */
        return;
    }
    if (s->watcher == NULL && !s->is_draining) {
        open_watcher(s);
    }
    if (!s->is_draining) { /* else those that wait are put back */
        service_dispatch(s);
    }
    service_workers_step(s);
    readiness_batch_start(s);
    if (s->is_draining) {
        put_back(s);
    }
    service_step(s);
    if (s->is_draining) {
        drain(s);
    } else if (!s->is_open && s->watcher != NULL) {
        announce(s);
    }
    if (!s->is_closing) {
        arm(s);
    }
}

/* After every change. */
static void on_prepare(uv_prepare_t *prepare)
{
    struct service *s = prepare->data;
    if (s->is_changed) {
        s->is_changed = false;
        decide(s);
        service_status_step(s);
    }
}

/* --- the begin -------------------------------------------------------------------------------- */

static enum status open_spool(const struct service *s, struct spool **out)
{
    const struct settings *t = s->settings;
    const struct spool_options options = {.root = t->spool,
                                          .out = t->output,
                                          .delete_inputs = !t->keep_inputs,
                                          .replace = t->replace,
                                          .max_attempts = (unsigned)t->max_attempts + RECOVERIES,
                                          .reserve_bytes = t->reserve_bytes,
                                          .require_mount = t->require_mount};
    return spool_open(&options, out);
}

/* A service that was killed while it was starting a worker lives on in that for a moment, and so
 * does its lock. Not for the loop's thread: this sleeps. */
static enum status open_spool_patiently(struct service *s)
{
    enum status code = open_spool(s, &s->spool);
    for (int tries = 0; code == STATUS_EXISTS && tries < LOCK_TRIES; tries++) {
        uv_sleep(LOCK_AGAIN_MS);
        code = open_spool(s, &s->spool);
    }
    return code;
}

/* Whether a folder lies in another. */
static bool lies_in(const char *folder, const char *other)
{
    char *inner = realpath(folder, NULL), *outer = realpath(other, NULL);
    const size_t n = outer != NULL ? strlen(outer) : 0;
    const bool lies = inner != NULL && outer != NULL && strncmp(inner, outer, n) == 0 &&
                      (inner[n] == '/' || (n > 0 && outer[n - 1] == '/'));
    free(inner);
    free(outer);
    return lies;
}

/* What workers and the page are not kept from: on this kernel, and with these folders. */
static void say_what_sandbox_lacks(const struct settings *t)
{
    struct sandbox_means means;
    sandbox_examine(&means);
    for (size_t i = 0; i < sizeof(means.lacks) / sizeof(*means.lacks); i++) {
        if (means.lacks[i] != NULL) {
            log_warning("%s", means.lacks[i]);
        }
    }
    if (lies_in(t->spool, t->output)) {
        log_warning(
            "the watched folder '%s' lies in the folder for results '%s', where workers may "
            "write: a file that takes one over reaches all of it; name another folder "
            "(--output)",
            t->spool, t->output);
    }
}

/* With the spool open: recovery, and all else after it. */
static void begin(struct service *s)
{
    if (!ready_has_leases()) { /* which protect from a writer that pauses */
        s->leases = "files of other users count as complete when they have not changed for "
                    "`settle` seconds: to ask who writes them, the service needs the capability "
                    "CAP_LEASE (AmbientCapabilities=CAP_LEASE in its unit)";
        log_info("%s", s->leases);
    }
    say_what_sandbox_lacks(s->settings);
    service_workers_choose(s, &service_jobs_at_workers);
    service_recover(s);
}

/* Once more, where there was no room for the spool's folders and its lock, or OUT was not mounted.
 */
static void take_spool(struct errand *errand)
{
    struct service *s = errand->service;
    s->is_opening = false;
    s->spool = errand->spool;
    if (s->is_draining) {
        return;
    }
    if (errand->code == STATUS_OK) {
        gate_open(s);
        service_page_renew(s);
        begin(s);
    } else if (errand->code == STATUS_NO_SPACE ||
               (errand->code == STATUS_EXISTS && ++s->lock_ticks < LOCK_TICKS)) {
        snprintf(s->gate.why, sizeof(s->gate.why), "%.*s", SERVICE_WHY_BYTES - 1, errand->message);
    } else {
        log_error("%s", errand->message);
        s->exit_status = 2;
        s->is_draining = true;
    }
}

static enum status try_again(struct errand *errand)
{
    return open_spool(errand->service, &errand->spool);
}

/* --- events ----------------------------------------------------------------------------------- */

static void on_soon(uv_timer_t *timer)
{
    struct service *s = timer->data;
    s->is_changed = true;
}

/* At rest, memory that jobs have used goes back to the system: each thread's part of the heap would
 * keep what its largest job took. */
static void trim(struct service *s)
{
    const size_t n_ended = s->figures.n_done + s->figures.n_failed;
    if (s->n_jobs == 0 && n_ended != s->n_trimmed) {
        s->n_trimmed = n_ended;
        malloc_trim(0);
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct service *s = timer->data;
    const double rescan_s = s->settings->rescan_s;
    log_report_dropped();
    service_figures_tick(&s->figures, !gate_is_open(s), service_now(s));
    service_check_deadlines(s);
    deferral_tick(s);
    service_workers_tick(s);
    retention_tick(s);
    trim(s);
    if (s->spool == NULL && !s->is_draining && !s->is_opening) {
        s->is_opening = true;
        send_errand(s, try_again, take_spool);
    }
    notify_watchdog();
    notify_status("%zu done, %zu failed, %zu at work%s%s", s->figures.n_done, s->figures.n_failed,
                  s->n_listed[WAIT_RESULT],
                  gate_is_open(s) ? "" : "; paused: ", gate_is_open(s) ? "" : s->gate.why);
    s->requests.is_due = s->requests.is_due || s->requests.is_blind;
    if (s->watcher != NULL && rescan_s > 0 &&
        service_now(s) >= s->scan_ms + (uint64_t)(rescan_s * 1000)) {
        s->scan_ms = service_now(s);
        watcher_rescan(s->watcher);
        s->said.looks_due = true;
    }
    s->is_changed = true;
}

static void on_signal(uv_signal_t *signal, int number)
{
    struct service *s = signal->data;
    if (number == SIGHUP) {
        if (!s->is_draining) {
            read_again(s);
        }
    } else if (!s->is_draining) {
        begin_drain(s);
    } else { /* told twice: at once */
        s->drain_ms = service_now(s);
    }
    s->is_changed = true;
}

/* --- the whole -------------------------------------------------------------------------------- */

static void mask_hangup(int how)
{
    sigset_t hangup;
    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP);
    pthread_sigmask(how, &hangup, NULL);
}

void service_await_signals(void)
{
    mask_hangup(SIG_BLOCK);
}

static enum status start_handles(struct service *s)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    int failed = 0;
    service_folders_open(s);
    service_requests_open(s);
    uv_timer_init(&s->loop, &s->tick);
    uv_timer_init(&s->loop, &s->soon);
    uv_timer_init(&s->loop, &s->said.later);
    uv_prepare_init(&s->loop, &s->prepare);
    s->tick.data = s->soon.data = s->prepare.data = s->said.later.data = s;
    uv_prepare_start(&s->prepare, on_prepare);
    uv_timer_start(&s->tick, on_tick, TICK_MS, TICK_MS);
    uv_timer_start(&s->soon, on_soon, 0, 0);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers) && failed == 0; i++) {
        failed = uv_signal_init(&s->loop, &s->signals[i]);
        if (failed == 0) {
            s->n_signals++;
            s->signals[i].data = s;
            failed = uv_signal_start(&s->signals[i], on_signal, numbers[i]);
        }
    }
    if (failed != 0) {
        return status_fail(STATUS_IO, "cannot watch for signals: %s", uv_strerror(failed));
    }
    mask_hangup(SIG_UNBLOCK);
    service_status_open(s);
    return service_page_open(s);
}

static enum status open_service(struct service *s)
{
    s->leases = "";
    s->started_at = time(NULL);
    s->started_ms = service_now(s);
    for (size_t i = 0; i < SERVICE_LISTS; i++) {
        TAILQ_INIT(&s->lists[i]);
    }
    s->inbox = service_inbox_new(s->settings);
    return open_spool_patiently(s);
}

int service_run(int argc, char **argv, struct settings *settings)
{
    struct service *s = xcalloc(1, sizeof(*s));
    struct settings *own = xcalloc(1, sizeof(*own));
    log_drop_when_blocked();
    if (sandbox_guard() != STATUS_OK) {
        log_warning("%s", status_message());
    }
    const int loop_error = uv_loop_init(&s->loop);
    if (loop_error == UV_ENOMEM) {
        xalloc_end();
    } else if (loop_error != 0) {
        log_error("cannot begin: %s", uv_strerror(loop_error));
        settings_free(settings);
        free(own);
        free(s);
        return 2;
    }
    *own = *settings;
    *settings = (struct settings){0};
    s->settings = own;
    s->argc = argc;
    s->argv = argv;
    const enum status code = open_service(s);
    if (code != STATUS_OK && code != STATUS_NO_SPACE) {
        log_error("%s", status_message());
        s->exit_status = 2;
    } else {
        if (code == STATUS_NO_SPACE) {
            gate_shut(s, status_message(), false);
        }
        if (start_handles(s) != STATUS_OK) {
            log_error("%s", status_message());
            s->exit_status = 2;
            close_all(s);
        } else if (s->spool != NULL) {
            begin(s);
        } else {
            notify_ready(); /* it is there, and `leat status` says what it waits for */
        }
    }
    uv_run(&s->loop, UV_RUN_DEFAULT);
    const int exit_status = s->exit_status;
    uv_loop_close(&s->loop);
    service_jobs_free(s);
    service_workers_free(s);
    service_status_free(s);
    service_requests_free(s);
    hooks_free(s);
    service_page_free(s);
    service_inbox_free(s->inbox);
    free(s->late.path);
    spool_close(s->spool);
    free_settings(s->next_settings);
    free_settings(s->settings);
    free(s);
    return exit_status;
}
