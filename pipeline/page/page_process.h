/*
 * page_process - the process that shows over HTTP what the service does: a page for people, figures
 * for Prometheus, and the files of results.
 *
 * It is started by the service with a socket that listens, knows what its orders say, and can read
 * the folders of results, failures and the status, and nothing else (names/sandbox.h).
 */
#ifndef LEAT_PIPELINE_PAGE_PAGE_PROCESS_H
#define LEAT_PIPELINE_PAGE_PAGE_PROCESS_H

#include <stdbool.h>

enum {
    PAGE_LEASH_FD = 3,  /* a SOCK_SEQPACKET: the orders come here, then notices
                           (page_server_tell); what forms ask for goes; its end is the service's */
    PAGE_LISTEN_FD = 4, /* connections come here */
};

struct page_process_orders {
    const char *spool, *output;
    const char *token; /* NULL: none is asked for */
    bool is_loopback;  /* only names of this machine are answered to */
};

/* The message that the service sends before the process begins; for free(). NULL: no
 * memory. */
char *page_process_orders(const struct page_process_orders *orders);

/* `leat page`, which the service starts: argv from that name on; returns the exit status. */
int page_process_run(int argc, char **argv);

#endif
