/*
 * service_workers - the worker processes: starting them, noticing that they end, starting them
 * again with back-off, and giving up on a device that does nothing but end.
 *
 * A worker sees its device, or its group of devices, alone: it is told which. With backend =
 * auto it opens one at once, but computes small jobs on the CPU; a worker without a device steps in
 * once every device is out, and steps back when one works again.
 */
#include "pipeline/service/service_state.h"

#include "formats/base/log.h"
#include "pipeline/names/machine.h"
#include "pipeline/names/text.h"
#include "watch/files/xalloc.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    /* Jobs sent to a worker, for one in flight there, and in all: while the spool is busy with a
     * batch it does not run dry, and the batch is large enough to share its fsyncs. */
    CAPACITY_FACTOR = 16,
    CAPACITY_MOST = 256,
    OPEN_MS = 120000,  /* a driver takes its time */
    END_MS = 5000,     /* after being told to */
    SILENT_TICKS = 30, /* of jobs' worker, before it is taken for hung */
    AGAIN_MS = 1000,   /* after the second death in a row; doubles up to */
    AGAIN_MOST_MS = 30000,
    OUT_AFTER = 5, /* deaths in a row */
    OUT_MS = 300000,
    RENEW_FOR_MS = 10000, /* that it gets no jobs, so that it may begin again; repeated every */
    RENEW_EVERY_MS = 600000
};

/* --- which there are ----------------------------------------------------------------------------
 */

/* Devices of the driver: its device files. */
static size_t count_devices(void)
{
    DIR *dev = opendir("/dev");
    size_t n = 0;
    for (const struct dirent *e; dev != NULL && (e = readdir(dev)) != NULL;) {
        const char *number = strncmp(e->d_name, "nvidia", 6) == 0 ? e->d_name + 6 : "";
        n += (*number != '\0' && number[strspn(number, "0123456789")] == '\0') ||
             strcmp(e->d_name, "dxg") == 0;
    }
    if (dev != NULL) {
        closedir(dev);
    }
    return n;
}

/* "cpu", or "cuda:0,1", as much of it as there is room for; of those for suspects "alone 1: cpu".
 */
static void put_name(struct service_worker *w)
{
    size_t n = 0;
    if (w->is_alone) {
        n = (size_t)snprintf(w->name, sizeof(w->name),
                             "alone %zu: ", w->place - w->service->n_workers + 1);
    }
    n += (size_t)snprintf(w->name + n, sizeof(w->name) - n, "%s",
                          w->devices.n > 0 ? "cuda:" : "cpu");
    for (size_t i = 0; i < w->devices.n && n < sizeof(w->name); i++) {
        n += (size_t)snprintf(w->name + n, sizeof(w->name) - n, "%s%d", i > 0 ? "," : "",
                              w->devices.at[i]);
    }
}

/* A worker of n devices; of the CPU, if there are none. */
static struct service_worker *add(struct service *s, const int *numbers, size_t n)
{
    struct service_worker *w = xcalloc(1, sizeof(*w));
    w->service = s;
    w->place = s->n_all;
    w->state = WORKER_BACKOFF;
    w->devices.n = n;
    for (size_t i = 0; i < n; i++) {
        w->devices.at[i] = numbers[i];
    }
    put_name(w);
    s->workers[s->n_all++] = w;
    return w;
}

/* Devices that the user lets be seen, or all. */
static size_t count_visible(void)
{
    const char *chosen = getenv("CUDA_VISIBLE_DEVICES");
    if (chosen == NULL) {
        return count_devices();
    }
    size_t n = *chosen != '\0';
    for (; *chosen != '\0'; chosen++) {
        n += *chosen == ',' && chosen[1] != '\0';
    }
    return n;
}

/* One worker a group of the list, or one a device. */
static void add_devices(struct service *s, size_t at_least)
{
    const struct settings_devices *d = &s->settings->devices;
    const size_t there = count_visible();
    size_t n = d->n > 0 ? d->n : there > at_least ? there : at_least;
    n = n < SETTINGS_MOST_DEVICES ? n : SETTINGS_MOST_DEVICES;
    for (size_t i = 0, first = 0; i < n; i++) {
        const int number = (int)i;
        if (!d->is_list) {
            add(s, &number, 1);
        } else if (d->ends[i]) {
            add(s, d->at + first, i + 1 - first);
            first = i + 1;
        }
    }
}

static bool is_cpu(const struct service_worker *w)
{
    return w->devices.n == 0;
}

void service_workers_choose(struct service *s, const struct service_worker_events *events)
{
    const char *backend = s->settings->backend;
    s->worker_events = events;
    if (strcmp(backend, "cpu") != 0) {
        add_devices(s, strcmp(backend, "cuda") == 0 ? 1 : 0);
    }
    if (strcmp(backend, "cuda") != 0) {
        add(s, NULL, 0);
    }
    s->n_workers = s->n_all;
    for (size_t i = 0; i < SERVICE_ALONE; i++) {
        add(s, NULL, 0)->is_alone = true;
    }
}

/* Whether the CPU is to work: it is asked for, or every device is out. */
static bool cpu_is_wanted(const struct service *s)
{
    bool wanted = true;
    for (size_t i = 0; i < s->n_workers; i++) {
        const struct service_worker *w = s->workers[i];
        const bool is_out =
            w->state == WORKER_DISABLED || (w->state == WORKER_STARTING && w->is_tried);
        wanted = wanted && (is_cpu(w) || is_out);
    }
    return wanted;
}

/* Whether a suspect waits for this process, or has it. */
static bool is_wanted_alone(const struct service_worker *w)
{
    const bool had_its_job = w->state == WORKER_READY && w->capacity == 0;
    size_t n = w->service->n_suspects;
    for (size_t i = w->service->n_workers; i < w->place && n > 0; i++) {
        n -= w->service->workers[i]->n_jobs == 0;
    }
    return w->n_jobs > 0 || (n > 0 && !had_its_job);
}

static bool is_wanted(const struct service_worker *w)
{
    return w->is_alone ? is_wanted_alone(w) : !is_cpu(w) || cpu_is_wanted(w->service);
}

/* What has other settings than are in force begins again once it has no job; and gets none for a
 * while, so that it may come to that. Long jobs hold the settings up, and not other jobs. */
static bool is_renewed(const struct service_worker *w)
{
    const uint64_t for_ms = service_now(w->service) - w->stale_ms;
    return w->stale_ms != 0 && (w->n_jobs == 0 || for_ms % RENEW_EVERY_MS < RENEW_FOR_MS);
}

/* Why it is to end once it has no job; NULL: it is not. */
static const char *reason_to_end(const struct service_worker *w)
{
    return w->service->is_draining ? "the service stops"
           : !is_wanted(w)         ? (w->is_alone ? "its job has ended" : "a device works again")
           : is_renewed(w)         ? "the configuration has changed"
                                   : NULL;
}

bool service_worker_retires(const struct service_worker *w, char *why, size_t why_bytes)
{
    const char *const cause = w->is_running ? reason_to_end(w) : NULL;
    if (cause != NULL) {
        snprintf(why, why_bytes, "draining, %zu jobs left: %s", w->n_jobs, cause);
    } else if (w->is_running && w->stale_ms != 0) {
        snprintf(why, why_bytes,
                 "has the configuration of before, and begins again when it has no job");
    }
    return cause != NULL;
}

bool service_worker_takes(const struct service_worker *w)
{
    return w->state == WORKER_READY && !w->is_stopped && !w->is_sick && w->kill_ms == 0 &&
           reason_to_end(w) == NULL;
}

/* Whether another process has jobs on its devices. */
static bool is_beside_jobs(const struct service_worker *w)
{
    const struct service *s = w->service;
    const struct service_worker *const home = w->is_alone ? w->home : w;
    bool any = false;
    for (size_t i = 0; i < s->n_all; i++) {
        const struct service_worker *o = s->workers[i];
        any = any || (o != w && o->n_jobs > 0 && !is_cpu(o) && (o->is_alone ? o->home : o) == home);
    }
    return any;
}

struct service_worker *service_workers_home(const struct service *s)
{
    struct service_worker *home = NULL;
    for (size_t i = 0; i < s->n_workers; i++) {
        struct service_worker *o = s->workers[i];
        if (service_worker_takes(o) && (home == NULL || o->n_in_row < home->n_in_row)) {
            home = o;
        }
    }
    return home;
}

bool service_workers_running(const struct service *s)
{
    bool any = false;
    for (size_t i = 0; i < s->n_all; i++) {
        any = any || s->workers[i]->is_running;
    }
    return any;
}

bool service_workers_ready(const struct service *s, char *why, size_t why_bytes)
{
    bool any = false, lost = false;
    size_t n = 0;
    why[0] = '\0';
    for (size_t i = 0; i < s->n_workers; i++) {
        const struct service_worker *w = s->workers[i];
        any = any || w->state == WORKER_READY;
        bool missing = w->state == WORKER_DISABLED || w->state == WORKER_BACKOFF;
        bool asked_for = !is_cpu(w) && (w->was_ready || strcmp(s->settings->backend, "cuda") == 0);
        lost = lost || (missing && asked_for);
        if (missing && w->why[0] != '\0' && n < why_bytes) {
            n += (size_t)snprintf(why + n, why_bytes - n, "%s%s: %s", n > 0 ? "; " : "", w->name,
                                  w->why);
        }
    }
    if (!any && n == 0) {
        snprintf(why, why_bytes, "workers are starting");
    }
    return any && !lost;
}

void service_workers_free(struct service *s)
{
    for (size_t i = 0; i < s->n_all; i++) {
        free(s->workers[i]);
    }
    s->n_workers = s->n_all = 0;
}

/* --- ends ------------------------------------------------------------------------------------- */

static void back_off(struct service_worker *w, bool unfit)
{
    const bool is_device = !is_cpu(w) && !w->is_alone;
    const bool is_absent = is_device && unfit && strcmp(w->service->settings->backend, "auto") == 0;
    const bool is_out = is_device && w->n_in_row >= OUT_AFTER;
    const unsigned n = w->n_in_row > 0 ? w->n_in_row - 1 : 0;
    if (is_out && !is_absent) {
        log_error("%s: %u deaths in a row, the device is left alone for %d s: %s", w->name,
                  w->n_in_row, OUT_MS / 1000, w->why);
    }
    w->state = is_absent || is_out ? WORKER_DISABLED : WORKER_BACKOFF;
    w->again_ms = service_now(w->service) + (is_absent || is_out ? OUT_MS
                                             : unfit             ? AGAIN_MOST_MS
                                                     : service_wait_ms(n, AGAIN_MS, AGAIN_MOST_MS));
}

/* One for suspects has ended, which shared the device of `home`: there is more of its memory
 * now; and it is the device that is at fault when nothing is done there any more. */
static void note_end_beside(const struct service_worker *w, struct service_worker *home,
                            bool was_told)
{
    if (!home->is_running) {
        return;
    }
    if (home->has_part && home->stale_ms == 0) {
        home->stale_ms = service_now(w->service);
    }
    home->n_in_row += !was_told;
    if (home->n_in_row >= OUT_AFTER && home->n_jobs == 0) {
        service_worker_kill(home, w->why);
    }
}

/* Both the process and its link have ended, and everything it said has been read. */
static void reap(struct service_worker *w)
{
    struct service *s = w->service;
    const bool unfit = w->is_unfit;
    const bool wanted = w->is_stopped && !unfit;
    w->is_running = false;
    if (!wanted) {
        w->n_in_row++;
        (w->is_alone ? w->home : w)->n_deaths += !unfit;
        if (!unfit && !w->is_sick && w->kill_ms != UINT64_MAX) {
            snprintf(w->why, sizeof(w->why), "%s", w->exit_text);
        }
        if (!unfit || strcmp(w->unfit_why, w->why) != 0) { /* a device that is out says it once */
            log_warning("%s: the worker %s: %s", w->name, unfit ? "cannot begin" : "has ended",
                        w->why);
        }
        snprintf(w->unfit_why, sizeof(w->unfit_why), "%s", unfit ? w->why : "");
    }
    const bool is_blamed = s->worker_events->ended(w);
    if (w->is_alone && !is_cpu(w)) {
        note_end_beside(w, w->home, wanted);
    }
    if (is_blamed && (is_cpu(w) || w->is_alone)) {
        w->n_in_row = 0; /* a processor is not at fault; a device might be */
    }
    if (wanted) {
        w->state = WORKER_BACKOFF;
        w->again_ms = 0;
        w->why[0] = '\0';
    } else {
        back_off(w, unfit);
    }
    w->is_stopped = w->is_sick = w->is_unfit = false;
    w->stale_ms = w->kill_ms = 0;
    w->n_jobs = 0;
    w->device[0] = '\0';
    s->is_changed = true;
}

static void on_link_closed(void *user)
{
    struct service_worker *w = user;
    if (--w->n_closing == 0) {
        reap(w);
    }
}

static void on_process_closed(uv_handle_t *handle)
{
    on_link_closed(handle->data);
}

static void end_if_both(struct service_worker *w)
{
    if (w->has_exited && w->is_broken) {
        const bool was_spawned = w->process.type == UV_PROCESS;
        w->n_closing = was_spawned ? 2 : 1;
        worker_link_close(&w->link);
        if (was_spawned) {
            uv_close((uv_handle_t *)&w->process, on_process_closed);
        }
    }
}

static void on_ended(uv_process_t *process, int64_t status, int signal)
{
    struct service_worker *w = process->data;
    w->has_exited = true;
    w->lacked_memory = signal == 0 && status == XALLOC_EXIT;
    if (signal != 0) {
        snprintf(w->exit_text, sizeof(w->exit_text), "killed by signal %d (%s)", signal,
                 strsignal(signal));
    } else if (!w->is_sick) {
        snprintf(w->exit_text, sizeof(w->exit_text), "exit status %d", (int)status);
    }
    end_if_both(w);
}

static void on_broken(void *user, const char *why)
{
    struct service_worker *w = user;
    w->is_broken = true;
    if (*why != '\0' && !w->has_exited) {
        service_worker_kill(w, why);
    } else if (!w->has_exited && w->kill_ms == 0) {
        w->kill_ms = service_now(w->service) + END_MS;
    }
    end_if_both(w);
}

void service_worker_kill(struct service_worker *w, const char *why)
{
    if (w->is_running && !w->has_exited) {
        snprintf(w->why, sizeof(w->why), "%s", why);
        w->kill_ms = UINT64_MAX; /* has been killed */
        uv_process_kill(&w->process, SIGKILL);
    }
}

void service_worker_sick(struct service_worker *w, const char *why)
{
    if (!w->is_sick) {
        w->is_sick = true;
        snprintf(w->exit_text, sizeof(w->exit_text), "its device has failed");
        snprintf(w->why, sizeof(w->why), "%s", why);
        w->kill_ms = service_now(w->service) + END_MS;
    }
}

/* --- begins ----------------------------------------------------------------------------------- */

static void on_message(void *user, const json_t *message)
{
    struct service_worker *w = user;
    const char *const what = w->state == WORKER_STARTING ? text_at(message, "is") : "";
    w->silent_ticks = 0;
    if (strcmp(what, "ready") == 0) {
        const json_int_t jobs = json_integer_value(json_object_get(message, "jobs"));
        w->state = WORKER_READY;
        w->was_ready = true;
        w->kill_ms = w->is_stopped ? w->kill_ms : 0;
        w->why[0] = w->unfit_why[0] = '\0';
        w->n_places = (size_t)(jobs < 1 ? 1 : jobs);
        w->capacity = CAPACITY_FACTOR * w->n_places;
        w->capacity = w->is_alone ? 1 : w->capacity < CAPACITY_MOST ? w->capacity : CAPACITY_MOST;
        snprintf(w->device, sizeof(w->device), "%s", text_at(message, "device"));
        log_info("%s: ready on %s (process %d)", w->name, w->device, w->process.pid);
        w->service->is_changed = true;
    } else if (strcmp(what, "unfit") == 0) {
        const enum status code = worker_unpack_code(text_at(message, "code"));
        snprintf(w->why, sizeof(w->why), "%s", text_at(message, "text"));
        w->is_unfit = true;
        if (code == STATUS_BAD_ARGUMENT && !w->service->is_open) { /* nothing will ever begin */
            log_error("%s", w->why);
            w->service->exit_status = 2;
            w->service->is_draining = w->service->is_changed = true;
        }
    } else {
        w->service->worker_events->message(w, message);
    }
}

static uint64_t share_of(uint64_t whole, size_t n)
{
    return whole / n > 0 ? whole / n : 1;
}

/* What CUDA is to show it, of its devices each: their places in what the user lets be seen. One
 * that is not there ends the list, and the worker says that there are too few. null: whatever there
 * is.
 */
static json_t *visible_devices(const struct service_worker *w)
{
    const char *chosen = getenv("CUDA_VISIBLE_DEVICES");
    char *text = xstrdup("");
    for (size_t i = 0; i < w->devices.n; i++) {
        char *const shorter = text, number[16];
        const char *at = chosen;
        for (int before = w->devices.at[i]; at != NULL && before > 0; before--) {
            at = strchr(at, ',');
            at += at != NULL;
        }
        snprintf(number, sizeof(number), "%d", chosen == NULL ? w->devices.at[i] : -1);
        at = at != NULL ? at : number;
        text = xasprintf("%s%s%.*s", shorter, i > 0 ? "," : "", (int)strcspn(at, ","), at);
        free(shorter);
    }
    json_t *visible = is_cpu(w) ? json_null() : text_json(text);
    free(text);
    return visible;
}

static void send_open(struct service_worker *w)
{
    const struct service *s = w->service;
    const struct settings *t = s->settings;
    size_t n = is_cpu(w) ? 1 : s->n_workers - (strcmp(t->backend, "auto") == 0);
    uint64_t threads = share_of(t->threads > 0 ? t->threads : machine_cpus(), n);
    uint64_t memory = share_of(t->memory > 0 ? t->memory : machine_memory() / 2, n);
    worker_link_send(
        &w->link,
        json_pack("{s:s, s:o, s:o, s:s, s:I, s:o, s:I, s:I, s:I, s:I, s:i, s:b, s:I, s:I, s:f}",
                  "do", "open", "spool", worker_pack_name(t->spool), "output",
                  worker_pack_name(t->output), "backend", is_cpu(w) ? "cpu" : t->backend, "devices",
                  (json_int_t)w->devices.n, "visible", visible_devices(w), "threads",
                  (json_int_t)threads, "jobs", (json_int_t)t->jobs, "spread", (json_int_t)t->spread,
                  "memory", (json_int_t)memory, "level", t->level, "bundle", t->bundle,
                  "max_unpacked", (json_int_t)t->unpack.max_bytes, "max_ratio",
                  (json_int_t)t->unpack.max_ratio, "deadline_s", t->deadline_s));
}

static int spawn(struct service_worker *w)
{
    static char program[] = "leat", command[] = "worker";
    char *args[] = {program, command, NULL};
    uv_stdio_container_t stdio[WORKER_FD + 1] = {
        [0] = {.flags = UV_IGNORE},
        [1] = {.flags = UV_IGNORE},
        [2] = {.flags = UV_INHERIT_FD, .data = {.fd = STDERR_FILENO}},
        [WORKER_FD] = {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE | UV_WRITABLE_PIPE,
                       .data = {.stream = (uv_stream_t *)&w->link.pipe}}};
    uv_process_options_t options = {.file = "/proc/self/exe",
                                    .args = args,
                                    .stdio = stdio,
                                    .stdio_count = WORKER_FD + 1,
                                    .exit_cb = on_ended};
    return uv_spawn(&w->service->loop, &w->process, &options);
}

static void start(struct service_worker *w)
{
    w->link = (struct worker_link){
        .message = on_message, .broken = on_broken, .closed = on_link_closed, .user = w};
    uv_pipe_init(&w->service->loop, &w->link.pipe, 0);
    w->process = (uv_process_t){.data = w};
    w->has_exited = w->is_broken = w->lacked_memory = false;
    w->is_running = true;
    w->silent_ticks = 0;
    w->is_tried = w->state == WORKER_DISABLED;
    w->has_part = false;
    w->state = WORKER_STARTING;
    w->kill_ms = service_now(w->service) + OPEN_MS;
    int failed = spawn(w);
    if (failed != 0) {
        snprintf(w->exit_text, sizeof(w->exit_text), "it cannot be started: %s",
                 uv_strerror(failed));
        w->is_broken = w->has_exited = true;
        end_if_both(w);
    } else if (worker_link_start(&w->link) != STATUS_OK) {
        w->is_broken = true;
        service_worker_kill(w, status_message());
    } else {
        send_open(w);
    }
}

/* --- over time -------------------------------------------------------------------------------- */

/* It ends now. */
static void stop(struct service_worker *w)
{
    const bool is_killed = w->kill_ms == UINT64_MAX;
    if (w->is_running && !w->has_exited && !w->is_stopped && !is_killed) {
        w->is_stopped = true;
        worker_link_send(&w->link, json_pack("{s:s}", "do", "stop"));
        w->kill_ms = service_now(w->service) + END_MS;
    }
}

/* One for suspects has the devices of another. False: there is none. */
static bool choose_devices(struct service_worker *w)
{
    struct service_worker *const home = w->is_alone ? service_workers_home(w->service) : NULL;
    if (w->is_alone && w->unfit_why[0] != '\0' &&
        strcmp(w->service->settings->backend, "auto") == 0) {
        w->devices.n = 0; /* the device has no place for a second process */
        put_name(w);
        return true;
    }
    if (home != NULL) {
        w->devices = home->devices;
        w->home = home;
        put_name(w);
    }
    return home != NULL || !w->is_alone;
}

void service_workers_step(struct service *s)
{
    const uint64_t now = service_now(s);
    for (size_t i = 0; i < s->n_all; i++) {
        struct service_worker *w = s->workers[i];
        if (!w->is_running) {
            if (now >= w->again_ms && !s->is_draining && is_wanted(w) && choose_devices(w)) {
                start(w);
            }
        } else if (w->kill_ms != 0 && w->kill_ms != UINT64_MAX && now >= w->kill_ms) {
            service_worker_kill(w, w->state == WORKER_STARTING ? "it did not begin in time"
                                                               : "it did not end when told to");
        } else if (w->n_jobs == 0 && reason_to_end(w) != NULL) {
            stop(w);
        }
        w->has_part = w->has_part || (w->state == WORKER_STARTING && is_beside_jobs(w));
    }
}

void service_workers_tick(struct service *s)
{
    for (size_t i = 0; i < s->n_all; i++) {
        struct service_worker *w = s->workers[i];
        if (w->is_running && w->n_jobs > 0 && ++w->silent_ticks > SILENT_TICKS) {
            service_worker_kill(w, "it gave no sign of life");
        }
    }
}

/* Takes the message over, and tells it all workers. */
static void tell(struct service *s, json_t *message)
{
    for (size_t i = 0; i < s->n_all; i++) {
        struct service_worker *w = s->workers[i];
        if (w->is_running && !w->is_broken) {
            worker_link_send(&w->link, json_incref(message));
        }
    }
    json_decref(message);
}

void service_workers_end(struct service *s)
{
    for (size_t i = 0; i < s->n_all; i++) {
        stop(s->workers[i]);
    }
}

void service_workers_drain(struct service *s)
{
    tell(s, json_pack("{s:s}", "do", "drain"));
}

void service_workers_renew(struct service *s)
{
    for (size_t i = 0; i < s->n_all; i++) {
        struct service_worker *w = s->workers[i];
        w->stale_ms = w->is_running ? service_now(s) : 0;
        w->n_in_row = 0;
        w->again_ms = 0;
        if (w->state == WORKER_DISABLED) {
            w->state = WORKER_BACKOFF;
        }
    }
}

void service_workers_tell_deadline(struct service *s)
{
    tell(s, json_pack("{s:s, s:f}", "do", "set", "deadline_s", s->settings->deadline_s));
}
