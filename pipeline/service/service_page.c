/*
 * service_page - the process of the page (pipeline/page): its socket, which is opened here and
 * stays open when the process ends; starting it, and starting it again, later and later.
 *
 * It is told what it may know in one line on a socket of the two of them, the leash, whose end is
 * the service's end: then it ends, too.
 */
#include "pipeline/service/service_state.h"

#include "formats/base/json.h"
#include "formats/base/log.h"
#include "pipeline/names/text.h"
#include "pipeline/page/page_listen.h"
#include "pipeline/page/page_process.h"
#include "pipeline/status/request.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    AGAIN_MS = 250, /* after the first death in a row; doubles up to */
    AGAIN_MOST_MS = 30000,
    WELL_MS = 60000, /* who has lived for so long does not count as dying in a row */
    LISTEN_AGAIN_MS = 5000,
    END_MS = 2000 /* that it may take to end */
};

/* The service's end of the socket of the two. */
struct leash {
    uv_poll_t poll;
    int fd;
    struct service_page *page;
};

struct service_page {
    struct service *service;
    struct page_listener listener;
    char *token; /* NULL: none */
    uv_process_t process;
    uv_timer_t timer;    /* to begin again; once it closes, to kill */
    struct leash *leash; /* NULL: none */
    bool is_running, is_closing, is_renewed;
    uint64_t since_ms;
    unsigned n_in_row, n_restarts;
    char why[128]; /* it is not there; "": it is */
};

static void start(struct service_page *p);

static void on_again(uv_timer_t *timer)
{
    start(timer->data);
}

static void on_let_go(uv_handle_t *poll)
{
    struct leash *leash = poll->data;
    close(leash->fd);
    free(leash);
}

static void let_go(struct service_page *p)
{
    if (p->leash != NULL) {
        uv_close((uv_handle_t *)&p->leash->poll, on_let_go);
    }
    p->leash = NULL;
}

/* --- what its forms ask for ------------------------------------------------------------------- */

struct page_ask {
    uv_work_t work;
    struct service *service;
    json_t *ask;
    char why[STATUS_MESSAGE_BYTES]; /* it is not asked; "": it is */
};

void service_page_tell(const struct service *s, const char *notice)
{
    if (s->page != NULL && s->page->leash != NULL) { /* a page that does not read misses some */
        (void)send(s->page->leash->fd, notice, strlen(notice), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

/* On the pool: a request as the commands write it, of which the page is told when it is done. */
static void write_ask(uv_work_t *work)
{
    struct page_ask *const a = work->data;
    char name[REQUEST_NAME_BYTES];
    int folder_fd;
    enum status code = request_open_folder(a->service->settings->spool, &folder_fd);
    if (code == STATUS_OK) {
        code = request_write(folder_fd, text_at(a->ask, "do"), text_at(a->ask, "job"), false, name);
        close(folder_fd);
    }
    if (code != STATUS_OK) {
        snprintf(a->why, sizeof(a->why), "%s", status_message());
    }
}

static void on_ask(uv_poll_t *poll, int status, int events);

static void ask_written(uv_work_t *work, int failed)
{
    struct page_ask *const a = work->data;
    struct leash *const leash = a->service->page->leash;
    (void)failed;
    if (leash != NULL) {
        uv_poll_start(&leash->poll, UV_READABLE, on_ask);
    }
    if (a->why[0] != '\0') {
        service_page_tell(a->service, a->why);
    }
    json_decref(a->ask);
    free(a);
}

/* The process reads what others send it: it may ask for little, and about IDs alone. */
static bool may_ask(const struct service_page *p, const json_t *ask)
{
    static const char *const actions[] = {"hold", "release", "delete", "retry"};
    const char *what = text_at(ask, "do"), *job = text_at(ask, "job");
    bool is_action = false;
    for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++) {
        is_action = is_action || strcmp(what, actions[i]) == 0;
    }
    return p->token != NULL && is_action && *job != '\0' && job[strspn(job, "0123456789-")] == '\0';
}

static void on_ask(uv_poll_t *poll, int status, int events)
{
    const struct leash *const leash = poll->data;
    char text[512];
    json_t *ask = NULL;
    (void)events;
    const ssize_t n = status == 0 ? recv(leash->fd, text, sizeof(text), MSG_DONTWAIT) : 0;
    if (n <= 0) {
        if (n == 0 || errno != EAGAIN) {
            uv_poll_stop(poll); /* it has ended, which is told by itself */
        }
        return;
    }
    if (json_read(text, (size_t)n, &ask) != STATUS_OK || !may_ask(leash->page, ask)) {
        service_page_tell(leash->page->service, "This cannot be asked for here.");
        json_decref(ask);
        return;
    }
    struct page_ask *const a = xcalloc(1, sizeof(*a));
    *a = (struct page_ask){.work.data = a, .service = leash->page->service, .ask = ask};
    uv_poll_stop(poll); /* one at a time */
    uv_queue_work(&a->service->loop, &a->work, write_ask, ask_written);
}

/* --- its end ---------------------------------------------------------------------------------- */

static void begin_again(struct service_page *p)
{
    if (p->is_renewed) {
        p->is_renewed = false;
        start(p);
        return;
    }
    const bool was_well = service_now(p->service) - p->since_ms >= WELL_MS;
    p->n_in_row = was_well ? 1 : p->n_in_row + 1;
    p->n_restarts++;
    const uint64_t wait_ms = service_wait_ms(p->n_in_row, AGAIN_MS, AGAIN_MOST_MS);
    log_warning("the page's process has ended: %s; it is started again in %g s", p->why,
                (double)wait_ms * 1e-3);
    uv_timer_start(&p->timer, on_again, wait_ms, 0);
}

static void on_closed(uv_handle_t *handle)
{
    struct service_page *p = handle->data;
    p->is_running = false;
    if (p->is_closing) {
        uv_close((uv_handle_t *)&p->timer, NULL);
    } else {
        begin_again(p);
    }
}

static void on_ended(uv_process_t *process, int64_t status, int signal)
{
    struct service_page *p = process->data;
    if (signal != 0) {
        snprintf(p->why, sizeof(p->why), "killed by signal %d (%s)", signal, strsignal(signal));
    } else {
        snprintf(p->why, sizeof(p->why), "exit status %d", (int)status);
    }
    let_go(p);
    uv_close((uv_handle_t *)process, on_closed);
}

/* --- its begin -------------------------------------------------------------------------------- */

/* Both ends; what it may know lies in it already. */
static int make_leash(const struct service_page *p, int ends[2])
{
    const struct settings *t = p->service->settings;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return -errno;
    }
    char *orders = xalloc_checked(
        page_process_orders(&(struct page_process_orders){.spool = t->spool,
                                                          .output = t->output,
                                                          .token = p->token,
                                                          .is_loopback = p->listener.is_loopback}));
    const size_t n = strlen(orders);
    const bool is_sent = send(ends[0], orders, n, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)n;
    free(orders);
    if (!is_sent) {
        close(ends[0]);
        close(ends[1]);
    }
    return is_sent ? 0 : UV_ENOBUFS;
}

static int spawn(struct service_page *p)
{
    static char program[] = "leat", command[] = "page";
    char *args[] = {program, command, NULL};
    int ends[2];
    p->process = (uv_process_t){.data = p}; /* the one before has been closed */
    const int failed_leash = make_leash(p, ends);
    if (failed_leash != 0) {
        return failed_leash;
    }
    uv_stdio_container_t stdio[PAGE_LISTEN_FD + 1] = {
        [0] = {.flags = UV_IGNORE},
        [1] = {.flags = UV_IGNORE},
        [2] = {.flags = UV_INHERIT_FD, .data = {.fd = STDERR_FILENO}},
        [PAGE_LEASH_FD] = {.flags = UV_INHERIT_FD, .data = {.fd = ends[1]}},
        [PAGE_LISTEN_FD] = {.flags = UV_INHERIT_FD, .data = {.fd = p->listener.fd}}};
    uv_process_options_t options = {.file = "/proc/self/exe",
                                    .args = args,
                                    .stdio = stdio,
                                    .stdio_count = PAGE_LISTEN_FD + 1,
                                    .exit_cb = on_ended};
    const int failed = uv_spawn(&p->service->loop, &p->process, &options);
    close(ends[1]);
    struct leash *const leash = p->leash = xcalloc(1, sizeof(*leash));
    *leash = (struct leash){.poll.data = leash, .fd = ends[0], .page = p};
    uv_poll_init_socket(&p->service->loop, &leash->poll, leash->fd);
    uv_poll_start(&leash->poll, UV_READABLE, on_ask);
    return failed;
}

static void start(struct service_page *p)
{
    const struct settings *t = p->service->settings;
    if (p->listener.fd < 0 && page_listen(t->http, p->token != NULL, &p->listener) != STATUS_OK) {
        if (p->why[0] == '\0') {
            log_error("no page: %s; it is tried again", status_message());
        }
        snprintf(p->why, sizeof(p->why), "%.120s", status_message());
        uv_timer_start(&p->timer, on_again, LISTEN_AGAIN_MS, 0);
        return;
    }
    p->since_ms = service_now(p->service);
    const int failed = spawn(p);
    p->is_running = true;
    if (failed == 0) {
        p->why[0] = '\0';
        log_info("the page is at %s (process %d)", p->listener.address, p->process.pid);
        return;
    }
    snprintf(p->why, sizeof(p->why), "it cannot be started: %s", uv_strerror(failed));
    let_go(p);
    if (p->process.type == UV_PROCESS) {
        uv_close((uv_handle_t *)&p->process, on_closed);
    } else {
        p->is_running = false;
        begin_again(p);
    }
}

enum status service_page_open(struct service *s)
{
    struct settings *t = s->settings;
    struct page_listener passed;
    char *token = NULL;
    if (t->http_token_file != NULL) {
        STATUS_TRY(page_listen_token(t->http_token_file, &token));
    }
    enum status code = page_listen_passed(token != NULL, &passed);
    if (code == STATUS_NOT_FOUND && t->http != NULL) {
        code = page_listen(t->http, token != NULL, &passed); /* a mistake ends the service */
    } else if (code == STATUS_OK && t->http != NULL) {
        log_warning("http = %s is not used: systemd passes the page's socket", t->http);
    }
    if (code == STATUS_BAD_ARGUMENT || (code != STATUS_OK && t->http == NULL)) {
        free(token);
        return code == STATUS_NOT_FOUND ? STATUS_OK : code;
    }
    struct service_page *p = xcalloc(1, sizeof(*p));
    *p = (struct service_page){.service = s, .listener = passed, .token = token};
    uv_timer_init(&s->loop, &p->timer);
    p->timer.data = p;
    s->page = p;
    start(p);
    return STATUS_OK;
}

void service_page_renew(struct service *s)
{
    if (s->page != NULL && s->page->is_running && !s->page->is_closing) {
        s->page->is_renewed = true;
        let_go(s->page);
    }
}

static void on_late(uv_timer_t *timer)
{
    struct service_page *p = timer->data;
    uv_process_kill(&p->process, SIGKILL);
}

void service_page_close(struct service *s)
{
    struct service_page *p = s->page;
    if (p == NULL || p->is_closing) {
        return;
    }
    p->is_closing = true;
    page_listen_close(&p->listener);
    let_go(p);
    if (p->is_running) {
        uv_timer_start(&p->timer, on_late, END_MS, 0);
    } else {
        uv_close((uv_handle_t *)&p->timer, NULL);
    }
}

void service_page_free(struct service *s)
{
    if (s->page != NULL) {
        free(s->page->token);
        free(s->page);
        s->page = NULL;
    }
}

json_t *service_page_pack(const struct service *s)
{
    const struct service_page *p = s->page;
    if (p == NULL) {
        return json_null();
    }
    return json_pack("{s:o, s:o, s:i, s:o}", "address", text_json(p->listener.address), "pid",
                     p->is_running ? json_integer(p->process.pid) : json_null(), "restarts",
                     (int)p->n_restarts, "why", text_json(p->why));
}
