/*
 * hooks - on_done and on_failed: the administrator's commands for jobs that have ended. A few run
 * at a time, some wait, and what comes beyond that is left out and counted: nobody waits for them.
 * They are asked for once the job has ended, and remembered nowhere but here: a service that is
 * killed forgets those that wait, and runs none twice. When the power fails, an end that was not on
 * disk yet is lost: the next start ends the job again, and its command runs again.
 *
 * Each is a session of its own, so that what it has started ends with it when its time is over.
 */
#include "pipeline/service/service_state.h"

#include "formats/base/log.h"
#include "pipeline/names/text.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    AT_ONCE = 4,
    WAITING = 256,
    FACTS = 12,
    LINE_BYTES = 1000,
    LINES = 100,  /* of one command's output that are logged */
    REST_MS = 500 /* after its end, for output that others hold open */
};

/* A command for one job. */
struct hook {
    STAILQ_ENTRY(hook) place;
    const char *event; /* "on_done" */
    char *name;        /* of the job */
    char **argv;       /* one allocation, as text_split() makes it */
    char *path;        /* the last argument */
    char *facts[FACTS + 1];
};

struct slot {
    struct service *service;
    struct hook *hook; /* NULL: free */
    pid_t pid;         /* 0: there is no process, or it has been reaped */
    int pid_fd;        /* readable once it has ended */
    uv_poll_t end;     /* of that */
    uv_pipe_t output;
    uv_timer_t timer;
    int n_open; /* handles that are not closed yet */
    bool is_late;
    double limit_s; /* of its time; 0: none */
    char line[LINE_BYTES + 1];
    size_t n_line;
    unsigned n_lines;
};

struct service_hooks {
    STAILQ_HEAD(, hook) waiting;
    size_t n_waiting, n_running;
    struct slot slots[AT_ONCE];
    bool has_ended; /* none is run any more */
    bool is_full;   /* and that has been said */
    size_t n_run, n_failed, n_dropped;
};

static void start_next(struct service *s);

static void free_hook(struct hook *hook)
{
    if (hook != NULL) {
        for (size_t i = 0; i < FACTS; i++) {
            free(hook->facts[i]);
        }
        free(hook->name);
        free(hook->argv);
        free(hook->path);
        free(hook);
    }
}

/* --- output ----------------------------------------------------------------------------------- */

static void log_line(struct slot *slot)
{
    if (slot->n_line == 0) {
        return;
    }
    slot->line[slot->n_line] = '\0';
    slot->n_line = 0;
    if (++slot->n_lines <= LINES) {
        log_info("%s of %s: %s", slot->hook->event, slot->hook->name, slot->line);
    } else if (slot->n_lines == LINES + 1) {
        log_info("%s of %s: further output is not logged", slot->hook->event, slot->hook->name);
    }
}

static void take_output(struct slot *slot, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char c = text[i];
        if (c == '\n' || slot->n_line == LINE_BYTES) {
            log_line(slot);
        }
        if (c != '\n') {
            slot->line[slot->n_line++] = c != '\0' ? c : ' ';
        }
    }
}

/* --- its end ---------------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
    struct slot *const slot = handle->data;
    struct service *const s = slot->service;
    if (--slot->n_open > 0) {
        return;
    }
    free_hook(slot->hook);
    slot->hook = NULL;
    s->hooks->n_running--;
    start_next(s);
    s->is_changed = true;
}

static void close_slot(struct slot *slot)
{
    if (!uv_is_closing((uv_handle_t *)&slot->timer)) {
        log_line(slot);
        slot->n_open = slot->pid_fd >= 0 ? 3 : 2;
        uv_close((uv_handle_t *)&slot->timer, on_closed);
        uv_close((uv_handle_t *)&slot->output, on_closed);
        if (slot->pid_fd >= 0) {
            uv_close((uv_handle_t *)&slot->end, on_closed);
            close(slot->pid_fd);
        }
    }
}

/* The group has the number of its leader, which nobody else gets before that has been reaped. */
static void kill_it(const struct slot *slot)
{
    if (slot->pid > 0) {
        kill(-slot->pid, SIGKILL);
    }
}

static int reap(struct slot *slot)
{
    int status = 0;
    kill_it(slot); /* and what it has left behind */
    while (waitpid(slot->pid, &status, 0) < 0 && errno == EINTR) {
    }
    slot->pid = 0;
    return status;
}

static void on_time(uv_timer_t *timer)
{
    struct slot *const slot = timer->data;
    if (slot->pid == 0) {
        close_slot(slot); /* somebody else has its output open */
        return;
    }
    slot->is_late = true;
    kill_it(slot);
}

static void on_ended(uv_poll_t *poll, int failed, int events)
{
    struct slot *const slot = poll->data;
    const struct hook *const hook = slot->hook;
    const int status = reap(slot);
    char how[80] = "";
    (void)failed;
    (void)events;
    uv_poll_stop(poll);
    if (slot->is_late) {
        snprintf(how, sizeof(how), "was killed: it took longer than %g s (hook_timeout)",
                 slot->limit_s);
    } else if (status != 0) {
        snprintf(how, sizeof(how),
                 WIFSIGNALED(status) ? "ended by signal %d" : "ended with status %d",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    if (how[0] != '\0') {
        log_warning("%s of %s: '%s' %s", hook->event, hook->name, hook->argv[0], how);
        slot->service->hooks->n_failed++;
    }
    if (uv_is_closing((uv_handle_t *)&slot->output) ||
        !uv_is_active((uv_handle_t *)&slot->output)) {
        close_slot(slot);
    } else {
        uv_timer_start(&slot->timer, on_time, REST_MS, 0);
    }
}

static void make_room(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
    static char room[4096]; /* of the loop's thread, and empty before it is asked for again */
    (void)handle;
    (void)wanted;
    *buffer = uv_buf_init(room, sizeof(room));
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
    struct slot *const slot = stream->data;
    if (n > 0) {
        take_output(slot, buffer->base, (size_t)n);
    } else if (n < 0) {
        uv_read_stop(stream);
        if (slot->pid == 0) {
            close_slot(slot);
        }
    }
}

/* --- its begin -------------------------------------------------------------------------------- */

/* The service's own environment, but for what is between it and systemd, and the facts. For free().
 */
static char **make_environment(const struct hook *hook)
{
    static const char *const own[] = {"NOTIFY_SOCKET=", "WATCHDOG_", "LISTEN_", "LEAT_",
                                      "OPENBLAS_NUM_THREADS="};
    size_t n = 0, kept = 0;
    while (environ[n] != NULL) {
        n++;
    }
    char **const list = xcalloc(n + FACTS + 1, sizeof(*list));
    for (size_t i = 0; i < n; i++) {
        bool is_own = false;
        for (size_t k = 0; k < sizeof(own) / sizeof(*own); k++) {
            is_own = is_own || strncmp(environ[i], own[k], strlen(own[k])) == 0;
        }
        if (!is_own) {
            list[kept++] = environ[i];
        }
    }
    for (size_t i = 0; hook->facts[i] != NULL; i++) {
        list[kept++] = hook->facts[i];
    }
    return list;
}

/* 0, or an error of libuv's. Not uv_spawn: that reaps the process before it says that it has ended.
 */
static int spawn(struct slot *slot, int output_fd)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    if (posix_spawn_file_actions_init(&files) != 0 || posix_spawnattr_init(&attributes) != 0) {
        xalloc_end();
    }
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    int failed = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    for (int fd = 1; fd <= 2 && failed == 0; fd++) {
        failed = posix_spawn_file_actions_adddup2(&files, output_fd, fd);
    }
    if (failed == 0) {
        char **const environment = make_environment(slot->hook);
        failed = posix_spawnp(&slot->pid, slot->hook->argv[0], &files, &attributes,
                              slot->hook->argv, environment);
        slot->pid = failed == 0 ? slot->pid : 0;
        free(environment);
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return failed != 0 ? uv_translate_sys_error(failed) : 0;
}

/* Begins to wait for the process's end. */
static int await_end(struct slot *slot)
{
    slot->end.data = slot;
    slot->pid_fd = (int)syscall(SYS_pidfd_open, slot->pid, 0);
    int failed = slot->pid_fd < 0 ? uv_translate_sys_error(errno)
                                  : uv_poll_init(&slot->service->loop, &slot->end, slot->pid_fd);
    if (failed != 0 && slot->pid_fd >= 0) {
        close(slot->pid_fd);
        slot->pid_fd = -1;
    }
    return failed != 0 ? failed : uv_poll_start(&slot->end, UV_READABLE, on_ended);
}

static void run(struct slot *slot, struct hook *hook)
{
    struct service *const s = slot->service;
    uv_loop_t *const loop = &s->loop;
    int ends[2] = {-1, -1};
    slot->hook = hook;
    slot->is_late = false;
    slot->pid = 0;
    slot->pid_fd = -1;
    slot->limit_s = s->settings->hook_timeout_s;
    slot->n_line = slot->n_lines = 0;
    uv_timer_init(loop, &slot->timer);
    uv_pipe_init(loop, &slot->output, 0);
    slot->timer.data = slot->output.data = slot;
    int failed = pipe2(ends, O_CLOEXEC) != 0 ? uv_translate_sys_error(errno) : 0;
    if (failed == 0 && (failed = uv_pipe_open(&slot->output, ends[0])) != 0) {
        close(ends[0]);
    }
    if (failed == 0) {
        failed = spawn(slot, ends[1]);
    }
    if (ends[1] >= 0) {
        close(ends[1]);
    }
    s->hooks->n_run++;
    if (failed == 0 && (failed = await_end(slot)) == 0) {
        failed = uv_read_start((uv_stream_t *)&slot->output, make_room, on_output);
    }
    if (failed == 0) {
        if (slot->limit_s > 0) {
            uv_timer_start(&slot->timer, on_time, (uint64_t)(slot->limit_s * 1000), 0);
        }
        return;
    }
    if (slot->pid > 0) {
        reap(slot);
    }
    s->hooks->n_failed++;
    log_warning("%s of %s: '%s' cannot be run: %s", hook->event, hook->name, hook->argv[0],
                uv_strerror(failed));
    close_slot(slot);
}

static void start_next(struct service *s)
{
    struct service_hooks *const h = s->hooks;
    struct hook *hook;
    for (size_t i = 0; i < AT_ONCE; i++) {
        if (h->slots[i].hook == NULL && (hook = STAILQ_FIRST(&h->waiting)) != NULL) {
            STAILQ_REMOVE_HEAD(&h->waiting, place);
            h->n_waiting--;
            h->n_running++;
            run(&h->slots[i], hook);
        }
    }
    if (h->n_waiting < WAITING / 2) {
        h->is_full = false;
    }
}

/* --- asked for -------------------------------------------------------------------------------- */

/* Takes `path` over. */
static struct hook *new_hook(const char *event, const char *command, const struct service *s,
                             const struct service_job *job, char *path)
{
    struct hook *const hook = xcalloc(1, sizeof(*hook));
    const bool is_done = strcmp(event, "on_done") == 0;
    const json_t *const pipeline = json_object_get(job->spool->parameters, "pipeline");
    char attempts[16], seconds[32];
    size_t n = 0;
    snprintf(attempts, sizeof(attempts), "%u", job->spool->n_attempts);
    snprintf(seconds, sizeof(seconds), "%.3f", job->seconds);
    const char *const facts[][2] = {{"EVENT", event + strlen("on_")},
                                    {"ID", job->spool->id},
                                    {"NAME", job->name},
                                    {"SPOOL", s->settings->spool},
                                    {"PIPELINE", json_string_value(pipeline)},
                                    {"ATTEMPTS", attempts},
                                    {is_done ? "RESULT" : "FAILED", path},
                                    {is_done ? "SECONDS" : "KIND", is_done ? seconds : job->kind},
                                    {"REASON", job->text}}; /* of a failure alone */
    for (size_t i = 0; i < sizeof(facts) / sizeof(*facts) - is_done; i++) {
        const char *const text = facts[i][1];
        hook->facts[i] = xasprintf("LEAT_%s=%s", facts[i][0], text != NULL ? text : "");
    }
    hook->event = event;
    hook->path = path;
    hook->name = xstrdup(job->name);
    if (text_split(command, &hook->argv) != STATUS_OK) {
        xalloc_end(); /* the settings have seen that it can be split */
    }
    while (hook->argv[n] != NULL) { /* text_split leaves a place behind the last word */
        n++;
    }
    hook->argv[n] = path;
    return hook;
}

static struct service_hooks *hooks_of(struct service *s)
{
    if (s->hooks == NULL) {
        s->hooks = xcalloc(1, sizeof(*s->hooks));
        STAILQ_INIT(&s->hooks->waiting);
        for (size_t i = 0; i < AT_ONCE; i++) {
            s->hooks->slots[i].service = s;
        }
    }
    return s->hooks;
}

/* Takes `path` over. */
static void ask(struct service *s, const char *event, const char *command,
                const struct service_job *job, char *path)
{
    struct service_hooks *const h = hooks_of(s);
    const bool is_full = h->n_waiting >= WAITING || h->has_ended;
    if (is_full) {
        free(path);
        h->n_dropped++;
        if (!h->is_full) {
            log_warning(
                "%s of %s, and perhaps of more jobs, is not run: %s (leat status counts them)",
                event, job->name,
                h->has_ended ? "the service is stopping" : "too many wait for their turn");
            h->is_full = true;
        }
        return;
    }
    struct hook *const hook = new_hook(event, command, s, job, path);
    STAILQ_INSERT_TAIL(&h->waiting, hook, place);
    h->n_waiting++;
    start_next(s);
}

void hooks_done(struct service *s, const struct service_job *job)
{
    const char *const result =
        job->spool->published != NULL ? job->spool->published : job->spool->stem;
    if (s->settings->on_done != NULL) {
        ask(s, "on_done", s->settings->on_done, job,
            xasprintf("%s/%s", s->settings->output, result));
    }
}

void hooks_failed(struct service *s, const struct service_job *job)
{
    if (s->settings->on_failed != NULL) {
        ask(s, "on_failed", s->settings->on_failed, job,
            xasprintf("%s/failed/%s", s->settings->spool, job->spool->failed));
    }
}

bool hooks_are_left(const struct service *s)
{
    return s->hooks != NULL && s->hooks->n_waiting + s->hooks->n_running > 0;
}

void hooks_end(struct service *s)
{
    struct service_hooks *const h = hooks_of(s);
    struct hook *hook;
    if (h->has_ended) {
        return;
    }
    h->has_ended = true;
    if (hooks_are_left(s)) {
        log_warning(
            "%zu commands of on_done and on_failed are killed, and %zu not run: the service "
            "is stopping",
            h->n_running, h->n_waiting);
    }
    while ((hook = STAILQ_FIRST(&h->waiting)) != NULL) {
        STAILQ_REMOVE_HEAD(&h->waiting, place);
        h->n_waiting--;
        h->n_dropped++;
        free_hook(hook);
    }
    for (size_t i = 0; i < AT_ONCE; i++) {
        kill_it(&h->slots[i]);
    }
}

void hooks_free(struct service *s)
{
    free(s->hooks);
    s->hooks = NULL;
}

json_t *hooks_status(const struct service *s)
{
    static const struct service_hooks none;
    const struct service_hooks *const h = s->hooks != NULL ? s->hooks : &none;
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "waiting", (json_int_t)h->n_waiting, "running",
                     (json_int_t)h->n_running, "run", (json_int_t)h->n_run, "failed",
                     (json_int_t)h->n_failed, "dropped", (json_int_t)h->n_dropped);
}
