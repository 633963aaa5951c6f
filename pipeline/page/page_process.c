/*
 * page_process - see page_process.h. The server has a thread of its own; this one looks whether the
 * service is still there, and ends connections that take too long.
 */
#include "pipeline/page/page_process.h"

#include "formats/base/json.h"
#include "formats/base/log.h"
#include "pipeline/names/sandbox.h"
#include "pipeline/page/http_calls.h"
#include "pipeline/page/page_files.h"
#include "pipeline/page/page_server.h"
#include "pipeline/worker/worker_protocol.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { NICE = 10, ORDERS_BYTES_MAX = 1 << 16, LOOK_MS = 1000 };

char *page_process_orders(const struct page_process_orders *o)
{
    json_t *line =
        json_pack("{s:o, s:o, s:s?, s:b}", "spool", worker_pack_name(o->spool), "output",
                  worker_pack_name(o->output), "token", o->token, "is_loopback", o->is_loopback);
    char *text = json_dumps(line, JSON_COMPACT);
    json_decref(line);
    return text;
}

/* The first message. */
static enum status read_orders(json_t **out)
{
    char *text = xcalloc(1, ORDERS_BYTES_MAX);
    const ssize_t n = read(PAGE_LEASH_FD, text, ORDERS_BYTES_MAX);
    const enum status code = json_read(text, n > 0 ? (size_t)n : 0, out);
    free(text);
    return code;
}

/* Until the service lets go. */
static void wait_for_end(struct page_server *server)
{
    struct pollfd leash = {.fd = PAGE_LEASH_FD, .events = POLLIN};
    char notice[PAGE_NOTICE_BYTES];
    for (;;) {
        const int n = poll(&leash, 1, LOOK_MS);
        page_server_look(server);
        if (n > 0) {
            const ssize_t got = read(PAGE_LEASH_FD, notice, sizeof(notice) - 1);
            if (got <= 0) {
                return;
            }
            notice[got] = '\0';
            page_server_tell(server, notice);
        }
    }
}

/* It reads results, failures and the status. */
static enum status shut_in(const struct page_files *files)
{
    const struct sandbox_place places[] = {{.right = SANDBOX_READ, .fd = files->results_fd},
                                           {.right = SANDBOX_READ, .fd = files->failed_fd},
                                           {.right = SANDBOX_READ, .fd = files->status_fd}};
    STATUS_TRY(sandbox_shut_files(places, sizeof(places) / sizeof(*places), false));
    return sandbox_shut_calls(SANDBOX_ANSWERS);
}

static enum status serve(const json_t *orders)
{
    char *spool = worker_unpack_name(json_object_get(orders, "spool"));
    char *output = worker_unpack_name(json_object_get(orders, "output"));
    struct page_server_options options = {
        .listen_fd = PAGE_LISTEN_FD,
        .service_fd = PAGE_LEASH_FD,
        .token = json_string_value(json_object_get(orders, "token")),
        .is_loopback = json_is_true(json_object_get(orders, "is_loopback"))};
    struct page_server *server = NULL;
    enum status code = spool != NULL && output != NULL
                           ? page_files_open(spool, output, &options.files)
                           : status_fail(STATUS_INTERNAL, "there are no orders");
    if (code == STATUS_OK) {
        code = http_need(); /* while files can be opened */
    }
    if (code == STATUS_OK) {
        code = shut_in(&options.files);
    }
    if (code == STATUS_OK) {
        code = page_server_start(&options, &server);
    }
    if (code == STATUS_OK) {
        wait_for_end(server);
    }
    page_server_stop(server);
    page_files_close(&options.files);
    free(spool);
    free(output);
    return code;
}

int page_process_run(int argc, char **argv)
{
    const struct rlimit files = {2 * PAGE_CONNECTIONS + 88, 2 * PAGE_CONNECTIONS + 88};
    json_t *orders = NULL;
    (void)argv;
    signal(SIGINT, SIG_IGN); /* the service ends this process when it has ended its jobs */
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* should it hang then */
    setrlimit(RLIMIT_NOFILE, &files);
    setpriority(PRIO_PROCESS, 0, NICE); /* jobs come first */
    log_drop_when_blocked();
    enum status code =
        argc == 1 ? read_orders(&orders)
                  : status_fail(STATUS_BAD_ARGUMENT, "leat page is started by leat watch --http");
    if (code == STATUS_OK) {
        code = serve(orders);
    }
    json_decref(orders);
    if (code != STATUS_OK) {
        log_error("the page: %s", status_message());
        return 2;
    }
    return 0;
}
