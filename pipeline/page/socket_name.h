/*
 * socket_name - a listening Unix socket and its name in the file system.
 *
 * The socket gets its mode before it gets its name (on Linux bind() takes over the mode of the
 * descriptor), so there is no moment in which others could connect.
 */
#ifndef LEAT_PIPELINE_PAGE_SOCKET_NAME_H
#define LEAT_PIPELINE_PAGE_SOCKET_NAME_H

#include "formats/base/status.h"

#include <sys/types.h>

struct socket_name {
    char *path; /* owned; NULL: none */
    dev_t device;
    ino_t inode; /* of the name, so that only our own is removed */
};

/* Binds a socket, which does not block and is closed on exec, to `path`; the last folder of the
 * path is made (0700) where it is missing. A socket of a dead service is replaced. `what` and
 * `option` are for messages: "page's socket", "--http". *fd, not listening yet, and *out are the
 * caller's. STATUS_EXISTS: somebody answers there, or something else has that name;
 * STATUS_BAD_ARGUMENT: a path longer than such a name may be, or a folder in which others could
 * replace the socket; STATUS_NOT_FOUND, STATUS_IO. */
enum status socket_name_bind(const char *path, mode_t mode, const char *what, const char *option,
                             int *fd, struct socket_name *out) STATUS_MUST_CHECK;
/* Removes the name, if it is still that socket's; *name is empty then. */
void socket_name_remove(struct socket_name *name);

#endif
