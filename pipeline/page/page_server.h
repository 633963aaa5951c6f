/*
 * page_server - answers to HTTP: who may ask, for what, and within which limits.
 *
 *   /                        the page, page.css, page.js
 *   /results/...             files of results; folders are listed
 *   /failed/ID/reason.json   why a job failed
 *   /metrics                 for Prometheus
 *   /healthz                 200 when the service is ready, else 503 and why not
 *
 * GET and HEAD; where there is a token POST to "/", too, of the forms that the page has
 * (page_form.h): the service is told what they ask for. One request a connection. Where there is a
 * token, who asks has it as "Authorization: Bearer TOKEN" or in a cookie, which ?token=TOKEN sets.
 */
#ifndef LEAT_PIPELINE_PAGE_PAGE_SERVER_H
#define LEAT_PIPELINE_PAGE_PAGE_SERVER_H

#include "formats/base/status.h"
#include "pipeline/page/page_files.h"

#include <stdbool.h>

enum {
    PAGE_CONNECTIONS = 256,    /* at a time; further ones wait to be accepted */
    PAGE_REQUEST_S = 10,       /* that a request may take to come */
    PAGE_SILENT_S = 20,        /* that nothing may be read of an answer; as a whole it may take as
                                  long as its reader needs */
    PAGE_HEADER_BYTES = 16384, /* of a request, with what else a connection keeps */
    PAGE_NOTICE_BYTES = 1024,
    PAGE_NOTICE_MS = 30000,
    PAGE_FRESH_MS = 500 /* before the status is read again */
};

struct page_server;

struct page_server_options {
    int listen_fd;     /* borrowed, as the token and the folders; listens, does not block */
    const char *token; /* NULL: none is asked for */
    bool is_loopback;  /* only names of this machine are answered to: a name of elsewhere that
                          leads here is an attempt of a page in somebody's browser */
    struct page_files files;
    int service_fd; /* takes what forms ask for, a message each; borrowed */
};

/* Starts a thread that answers. STATUS_IO: it cannot. */
enum status page_server_start(const struct page_server_options *options,
                              struct page_server **out) STATUS_MUST_CHECK;
/* What the service has said to a form: the page shows it for a while. */
void page_server_tell(struct page_server *server, const char *notice);
/* Ends connections whose request takes too long to come; to be called once a second. */
void page_server_look(struct page_server *server);
/* Ends the thread and all connections. NULL is fine. */
void page_server_stop(struct page_server *server);

#endif
