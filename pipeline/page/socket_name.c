/*
 * socket_name - see socket_name.h.
 */
#include "pipeline/page/socket_name.h"

#include "watch/files/xalloc.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* The address of that path. */
static enum status make_address(const char *path, const char *option, struct sockaddr_un *out)
{
    memset(out, 0, sizeof(*out));
    out->sun_family = AF_UNIX;
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof(out->sun_path)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "'%s': a socket's name has at most %zu bytes, not %zu: give another "
                           "with %s",
                           path, sizeof(out->sun_path) - 1, n, option);
    }
    memcpy(out->sun_path, path, n);
    return STATUS_OK;
}

/* The socket's folder: made, and one in which no other user can replace the socket. */
static enum status make_folder(const char *path, const char *what, const char *option)
{
    const char *slash = strrchr(path, '/');
    char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
    snprintf(folder, sizeof(folder), "%.*s",
             slash == NULL   ? 1
             : slash == path ? 1
                             : (int)(slash - path),
             slash == NULL ? "." : path);
    struct stat st;
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        return status_fail_errno(errno, "'%s': cannot make the folder of the %s", folder, what);
    }
    if (stat(folder, &st) != 0) {
        return status_fail_errno(errno, "'%s': cannot look at the folder of the %s", folder, what);
    }
    bool ours = st.st_uid == geteuid() || st.st_uid == 0;
    bool shared = (st.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (st.st_mode & S_ISVTX) == 0;
    if (!ours || shared) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "'%s': others may write to the folder of the %s: give another with %s",
                           folder, what, option);
    }
    return STATUS_OK;
}

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Removes what a dead service left. */
static enum status clear_name(const struct sockaddr_un *address, const char *option)
{
    const char *path = address->sun_path;
    struct stat st;
    if (lstat(path, &st) != 0) {
        return errno == ENOENT ? STATUS_OK : status_fail_errno(errno, "'%s'", path);
    }
    if (!S_ISSOCK(st.st_mode)) {
        return status_fail(STATUS_EXISTS, "'%s' exists and is not a socket", path);
    }
    int fd = new_socket();
    if (fd < 0) {
        return status_fail_errno(errno, "'%s': cannot make a socket", path);
    }
    int error = connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ? 0 : errno;
    close(fd);
    if (error == ENOENT) {
        return STATUS_OK;
    }
    if (error != ECONNREFUSED) {
        return status_fail(STATUS_EXISTS,
                           "'%s': a running service answers there: stop it, or give another with "
                           "%s",
                           path, option);
    }
    return unlink(path) == 0 || errno == ENOENT
               ? STATUS_OK
               : status_fail_errno(errno, "'%s': cannot remove the socket of a dead service", path);
}

static enum status bind_name(const struct sockaddr_un *address, mode_t mode, const char *what,
                             int *out)
{
    int fd = new_socket();
    /* The umask may have taken rights away from the name's mode, but has given none. */
    if (fd < 0 || fchmod(fd, mode) != 0 ||
        bind(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 ||
        chmod(address->sun_path, mode) != 0) {
        enum status status =
            status_fail_errno(errno, "'%s': cannot make the %s", address->sun_path, what);
        if (fd >= 0) {
            close(fd);
        }
        return status;
    }
    *out = fd;
    return STATUS_OK;
}

enum status socket_name_bind(const char *path, mode_t mode, const char *what, const char *option,
                             int *fd, struct socket_name *out)
{
    struct sockaddr_un address;
    struct stat st;
    *fd = -1;
    *out = (struct socket_name){0};
    STATUS_TRY(make_address(path, option, &address));
    STATUS_TRY(make_folder(path, what, option));
    STATUS_TRY(clear_name(&address, option));
    STATUS_TRY(bind_name(&address, mode, what, fd));
    if (lstat(path, &st) != 0) {
        const enum status code =
            status_fail_errno(errno, "'%s': cannot look at the %s", path, what);
        close(*fd);
        *fd = -1;
        return code;
    }
    out->path = xstrdup(path);
    out->device = st.st_dev;
    out->inode = st.st_ino;
    return STATUS_OK;
}

void socket_name_remove(struct socket_name *name)
{
    struct stat st;
    if (name->path != NULL && lstat(name->path, &st) == 0 && st.st_dev == name->device &&
        st.st_ino == name->inode) {
        unlink(name->path);
    }
    free(name->path);
    *name = (struct socket_name){0};
}
