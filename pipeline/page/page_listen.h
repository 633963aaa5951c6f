/*
 * page_listen - where the page is asked for: the service opens the socket and passes it on.
 */
#ifndef LEAT_PIPELINE_PAGE_PAGE_LISTEN_H
#define LEAT_PIPELINE_PAGE_PAGE_LISTEN_H

#include "formats/base/status.h"

#include <stdbool.h>
#include <sys/types.h>

enum { PAGE_TOKEN_LEAST = 16, PAGE_TOKEN_MOST = 256, PAGE_ADDRESS_BYTES = 128 };

struct page_listener {
    int fd;           /* listens, does not block, closed on exec; -1: none */
    bool is_loopback; /* of TCP, and no other machine can ask */
    char
        address[PAGE_ADDRESS_BYTES]; /* "http://127.0.0.1:9464/" with the real port, "unix:/PATH" */
    char *name;                      /* of a Unix socket of ours: its path; owned; NULL: none */
    dev_t device;
    ino_t inode; /* of the name, so that only our own is removed */
};

/* Listens at `http`: ADDRESS:PORT ([ADDRESS]:PORT of IPv6; port 0: any) or unix:PATH (mode 0660),
 * where a socket of a dead service is replaced. STATUS_BAD_ARGUMENT: it is neither, or one of TCP
 * though there is no token, or a path that is too long, or a folder in which others could replace
 * the socket; else why one cannot listen there now: STATUS_EXISTS (somebody answers there, or
 * something else has that name), STATUS_NOT_FOUND, STATUS_IO. */
enum status page_listen(const char *http, bool has_token,
                        struct page_listener *out) STATUS_MUST_CHECK;
/* Takes over the socket that systemd passes (LISTEN_FDS). STATUS_NOT_FOUND: it passes none;
 * STATUS_BAD_ARGUMENT: several, one that does not listen, or as above. */
enum status page_listen_passed(bool has_token, struct page_listener *out) STATUS_MUST_CHECK;
/* Closes the socket, and removes its name if it is ours. */
void page_listen_close(struct page_listener *listener);

/* The token in a file: its first line, of PAGE_TOKEN_LEAST to PAGE_TOKEN_MOST letters, digits and
 * -._~; for free(). STATUS_BAD_ARGUMENT: something else, or a file that others may read. */
enum status page_listen_token(const char *path, char **out) STATUS_MUST_CHECK;

#endif
