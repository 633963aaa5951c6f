/*
 * disk - see disk.h. CHANGE is the one place where tests may step in between the protocol and the
 * system.
 */
#include "watch/files/disk.h"

#include "formats/base/io_watch.h"
#include "watch/files/beneath.h"
#include "watch/files/fault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REMOVE_DEPTH = 64 };

#ifdef LEAT_FAULTS
/* The call's result, unless a test decides otherwise. */
#define CHANGE(call, ...)                                                                          \
    ({                                                                                             \
        const struct fault_operation operation_ = {__VA_ARGS__};                                   \
        const int before_ = fault_before(&operation_);                                             \
        const __typeof__(call) result_ = before_ == 0 ? (call) : before_ > 0 ? 0 : -1;             \
        if (before_ == 0 && result_ >= 0) {                                                        \
            fault_after(&operation_);                                                              \
        }                                                                                          \
        result_;                                                                                   \
    })
#else
#define CHANGE(call, ...) ((void)step, (call))
#endif

int disk_make_folder(const char *step, int at_fd, const char *name, mode_t mode)
{
    struct stat st;
    const int result = CHANGE(mkdirat(at_fd, name, mode), step, "mkdir", -1, at_fd, NULL, name);
    if (result != 0 && errno == EEXIST && fstatat(at_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(st.st_mode)) {
        return 0;
    }
    return result;
}

/* Makes `name` in *fd if it is not there, and moves *fd into it. */
static void enter_folder(const char *step, int *fd, const char *name, mode_t mode, bool sync)
{
    int next = beneath_open(*fd, name, O_RDONLY | O_DIRECTORY);
    if (next < 0 && errno == ENOENT && disk_make_folder(step, *fd, name, mode) == 0) {
        if (!sync || disk_sync(step, *fd) == 0) {
            next = beneath_open(*fd, name, O_RDONLY | O_DIRECTORY);
        } else { /* who finds it takes it for one that is on disk */
            const int error = errno;
            (void)unlinkat(*fd, name, AT_REMOVEDIR);
            errno = error;
        }
    }
    beneath_close(*fd);
    *fd = next;
}

int disk_make_folders(const char *step, int at_fd, const char *path, mode_t mode, bool sync)
{
    char name[NAME_MAX + 1];
    if (!beneath_is_path(path)) {
        errno = EXDEV;
        return -1;
    }
    int fd = beneath_open(at_fd, "", O_RDONLY | O_DIRECTORY);
    while (fd >= 0 && *path != '\0' && beneath_next(&path, name)) {
        enter_folder(step, &fd, name, mode, sync);
    }
    return fd;
}

int disk_rename(const char *step, int from_fd, const char *from, int to_fd, const char *to)
{
    struct stat st;
    const int result = CHANGE(renameat2(from_fd, from, to_fd, to, RENAME_NOREPLACE), step, "rename",
                              from_fd, to_fd, from, to);
    if (result == 0 || (errno != EINVAL && errno != ENOSYS)) {
        return result;
    }
    if (fstatat(to_fd, to, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    return disk_replace(step, from_fd, from, to_fd, to);
}

int disk_replace(const char *step, int from_fd, const char *from, int to_fd, const char *to)
{
    return CHANGE(renameat(from_fd, from, to_fd, to), step, "rename", from_fd, to_fd, from, to);
}

int disk_exchange(const char *step, int a_fd, const char *a, int b_fd, const char *b)
{
    return CHANGE(renameat2(a_fd, a, b_fd, b, RENAME_EXCHANGE), step, "exchange", a_fd, b_fd, a, b);
}

int disk_unlink(const char *step, int at_fd, const char *name)
{
    return CHANGE(unlinkat(at_fd, name, 0), step, "unlink", at_fd, -1, name, NULL);
}

int disk_remove_folder(const char *step, int at_fd, const char *name)
{
    return CHANGE(unlinkat(at_fd, name, AT_REMOVEDIR), step, "rmdir", at_fd, -1, name, NULL);
}

static int remove_one(void *user, int at_fd, const char *name, const char *path, bool is_folder)
{
    (void)path;
    const int failed =
        is_folder ? disk_remove_folder(user, at_fd, name) : disk_unlink(user, at_fd, name);
    return failed != 0 && errno == ENOENT ? 0 : failed;
}

int disk_empty(const char *step, int fd)
{
    return disk_walk(fd, REMOVE_DEPTH, remove_one, (void *)(size_t)step);
}

int disk_remove_tree(const char *step, int at_fd, const char *name)
{
    struct stat st;
    if (fstatat(at_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? 0 : -1;
    }
    if (!S_ISDIR(st.st_mode)) {
        return disk_unlink(step, at_fd, name);
    }
    int fd = beneath_open(at_fd, name, O_RDONLY | O_DIRECTORY);
    const int result = fd >= 0 ? disk_empty(step, fd) : -1;
    beneath_close(fd);
    return result == 0 ? remove_one((void *)(size_t)step, at_fd, name, name, true) : result;
}

/* Writes all, and has the system begin to put it on disk. */
static int write_all(const char *step, int fd, const char *data, size_t len)
{
    while (len > 0) {
        const ssize_t n = CHANGE(write(fd, data, len), step, "write", -1, fd, NULL, NULL);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return -1;
        }
        data += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    disk_sync_begin(step, fd);
    return 0;
}

int disk_write(const char *step, int at_fd, const char *name, const char *data, size_t len)
{
    const int fd =
        CHANGE(openat(at_fd, name, O_CREAT | O_TRUNC | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0666),
               step, "create", -1, at_fd, NULL, name);
    const int result = fd >= 0 ? write_all(step, fd, data, len) : -1;
    beneath_close(fd);
    return result;
}

struct temp {
    char name[NAME_MAX + 1];
};

static struct temp temp_of(const char *name)
{
    struct temp temp;
    snprintf(temp.name, sizeof(temp.name), "%s.new", name);
    return temp;
}

int disk_write_temp(const char *step, int at_fd, const char *name, const char *data, size_t len)
{
    return disk_write(step, at_fd, temp_of(name).name, data, len);
}

int disk_fsync_temp(const char *step, int at_fd, const char *name)
{
    return disk_sync_name(step, at_fd, temp_of(name).name);
}

int disk_unlink_both(const char *step, int at_fd, const char *name)
{
    return (disk_unlink(step, at_fd, name) == 0 || errno == ENOENT) &&
                   (disk_unlink(step, at_fd, temp_of(name).name) == 0 || errno == ENOENT)
               ? 0
               : -1;
}

int disk_rename_temp(const char *step, int at_fd, const char *name)
{
    const struct temp temp = temp_of(name);
    return disk_replace(step, at_fd, temp.name, at_fd, name);
}

/* Whether the file system is alive: XFS that has shut down answers 0 to fsync of a folder, and EIO
 * here. */
static int prove_alive(int fd)
{
    struct stat st;
    return fstat(fd, &st);
}

int disk_sync(const char *step, int fd)
{
    const int result = CHANGE(io_watch_fsync(fd), step, "fsync", -1, fd, NULL, NULL);
    return result == 0 ? prove_alive(fd) : result;
}

int disk_sync_name(const char *step, int at_fd, const char *name)
{
    int fd = beneath_open(at_fd, name, O_RDONLY);
    int result = fd >= 0 ? disk_sync(step, fd) : -1;
    beneath_close(fd);
    return result;
}

int disk_sync_all(const char *step, int fd)
{
    const int result = CHANGE(syncfs(fd), step, "syncfs", -1, fd, NULL, NULL);
    return result == 0 ? prove_alive(fd) : result;
}

void disk_sync_begin(const char *step, int fd)
{
    /* Where this cannot be done, fsync does it. */
    (void)CHANGE(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE), step, "begin", -1, fd, NULL,
                 NULL);
}

static int walk(int fd, int depth, char *path, disk_visit *visit, void *user)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    DIR *folder = own >= 0 ? fdopendir(own) : NULL;
    size_t len = strlen(path);
    int result = 0;
    if (folder == NULL) {
        beneath_close(own);
        return -1;
    }
    rewinddir(folder);
    for (struct dirent *e; result == 0 && (errno = 0, e = readdir(folder)) != NULL;) {
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) {
            continue;
        }
        int n = snprintf(path + len, PATH_MAX - len, "%s%s", len > 0 ? "/" : "", e->d_name);
        if (n < 0 || (size_t)n >= PATH_MAX - len) {
            errno = ENAMETOOLONG;
            result = -1;
            break;
        }
        if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            path[len] = '\0';
            result = errno == ENOENT ? 0 : -1; /* it has gone meanwhile */
            continue;
        }
        if (S_ISDIR(st.st_mode)) {
            int below = depth > 0 ? beneath_open(fd, e->d_name, O_RDONLY | O_DIRECTORY) : -1;
            if (depth == 0) {
                errno = ELOOP;
            }
            result = below >= 0 ? walk(below, depth - 1, path, visit, user) : -1;
            beneath_close(below);
        }
        if (result == 0) {
            result = visit(user, fd, e->d_name, path, S_ISDIR(st.st_mode));
        }
        path[len] = '\0';
    }
    if (result == 0 && errno != 0) {
        result = -1;
    }
    int error = errno;
    closedir(folder);
    errno = error;
    return result;
}

int disk_walk(int fd, int depth, disk_visit *visit, void *user)
{
    char path[PATH_MAX] = "";
    return walk(fd, depth, path, visit, user);
}
