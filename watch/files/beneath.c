/*
 * beneath - see beneath.h. openat2(2): RESOLVE_BENEATH refuses ".." and absolute paths that lead
 * out, RESOLVE_NO_SYMLINKS every link, RESOLVE_NO_MAGICLINKS those of /proc.
 */
#include "watch/files/beneath.h"

#include "watch/files/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ALWAYS = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY };

bool beneath_is_name(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && len <= NAME_MAX && strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

bool beneath_next(const char **path, char name[NAME_MAX + 1])
{
    size_t len = strcspn(*path, "/");
    if (len > NAME_MAX) {
        return false;
    }
    memcpy(name, *path, len);
    name[len] = '\0';
    *path += len;
    if (**path == '/') {
        (*path)++;
        if (**path == '\0') {
            return false;
        }
    }
    return beneath_is_name(name);
}

bool beneath_is_path(const char *path)
{
    char name[NAME_MAX + 1];
    if (strlen(path) >= PATH_MAX) {
        return false;
    }
    while (*path != '\0') {
        if (!beneath_next(&path, name)) {
            return false;
        }
    }
    return true;
}

void beneath_close(int fd)
{
    int error = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = error;
}

/* beneath_open component by component, for kernels without openat2. */
static int open_walking(int at_fd, const char *path, int flags)
{
    char name[NAME_MAX + 1];
    int fd = openat(at_fd, ".", (*path == '\0' ? flags : O_PATH | O_DIRECTORY) | ALWAYS);
    while (fd >= 0 && *path != '\0' && beneath_next(&path, name)) {
        int next = openat(fd, name, (*path == '\0' ? flags : O_PATH | O_DIRECTORY) | ALWAYS);
        int error = errno;
        struct stat st;
        /* A link where a folder was asked for is "no folder"; say what it is. */
        if (next < 0 && error == ENOTDIR && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISLNK(st.st_mode)) {
            error = ELOOP;
        }
        close(fd);
        fd = next;
        errno = error;
    }
    return fd;
}

int beneath_open(int at_fd, const char *path, int flags)
{
    const unsigned all = (unsigned)flags | ALWAYS;
    const struct open_how how = {
        /* With O_PATH nothing is opened, and openat2 accepts nothing that would say how. */
        .flags =
            (flags & O_PATH) != 0 ? all & (O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : all,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    if (!beneath_is_path(path)) {
        errno = EXDEV;
        return -1;
    }
    for (int tries = 0; tries < 16; tries++) {
        errno = FAULT_ERROR("beneath.openat2");
        long fd = errno == 0
                      ? syscall(SYS_openat2, at_fd, *path == '\0' ? "." : path, &how, sizeof(how))
                      : -1;
        if (fd >= 0) {
            return (int)fd;
        }
        if (errno == ENOSYS || errno == EPERM) { /* old kernel; a filter that does not know it */
            break;
        }
        if (errno != EAGAIN && errno != EINTR) { /* EAGAIN: something was renamed meanwhile */
            return -1;
        }
    }
    return open_walking(at_fd, path, flags);
}

const char *beneath_unfit(const struct stat *st)
{
    static _Thread_local char text[48];
    switch (st->st_mode & S_IFMT) {
    case S_IFREG:
        break;
    case S_IFLNK:
        return "is a link";
    case S_IFDIR:
        return "is a folder";
    case S_IFIFO:
        return "is a FIFO";
    case S_IFSOCK:
        return "is a socket";
    default:
        return "is a device";
    }
    if (st->st_nlink > 1) {
        snprintf(text, sizeof(text), "has %llu names (hard links)",
                 (unsigned long long)st->st_nlink);
        return text;
    }
    return NULL;
}

enum status beneath_open_file(int at_fd, const char *path, struct stat *st, int *out)
{
    *out = -1;
    *st = (struct stat){.st_mode = S_IFREG, .st_nlink = 1};
    /* Look first: opening a device may already do something. */
    for (int flags = O_PATH;; flags = O_RDONLY) {
        const int fd = beneath_open(at_fd, path, flags);
        const bool seen = fd >= 0 && fstat(fd, st) == 0;
        const int error = errno;
        const char *unfit = seen ? beneath_unfit(st) : NULL;
        if (seen && unfit == NULL && flags == O_RDONLY) {
            *out = fd;
            return STATUS_OK;
        }
        beneath_close(fd);
        if (unfit != NULL) {
            return status_fail(STATUS_UNSUPPORTED,
                               "'%s' %s; only regular files without hard links are accepted", path,
                               unfit);
        }
        if (!seen) {
            const enum status code =
                error == ELOOP || error == EXDEV
                    ? status_fail(STATUS_UNSUPPORTED, "'%s' leads over a link", path)
                    : status_fail_errno(error, "'%s' cannot be opened", path);
            errno = error;
            return code;
        }
    }
}
