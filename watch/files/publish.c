/*
 * publish - see publish.h.
 */
#include "watch/files/publish.h"

#include "formats/base/log.h"
#include "watch/files/beneath.h"
#include "watch/files/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { MOST_TRIES = 16 }; /* somebody else makes and removes a folder of that name meanwhile */

/* --- what is there ---------------------------------------------------------------------------- */

static bool holds_result(int fd)
{
    struct stat st;
    return fstatat(fd, "result.json", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

static bool is_at(int at_fd, const char *name, const struct stat *of)
{
    const int error = errno;
    struct stat st;
    const bool is = fstatat(at_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                    st.st_dev == of->st_dev && st.st_ino == of->st_ino;
    errno = error;
    return is;
}

/* A folder that another process has replaced, and begun to remove, since it was opened is looked
 * for again. */
int publish_find(int at_fd, const char *path)
{
    bool is_result = false, is_there = false;
    for (int i = 0; i < MOST_TRIES && !is_result && !is_there; i++) {
        struct stat st;
        const int fd = openat(at_fd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) != 0) {
            beneath_close(fd);
            return -1;
        }
        is_result = holds_result(fd);
        is_there = is_at(at_fd, path, &st);
        beneath_close(fd);
    }
    return is_result;
}

size_t publish_folder_bytes(const char *result)
{
    const char *const slash = strrchr(result, '/');
    return slash != NULL ? (size_t)(slash - result) : 0;
}

const char *publish_last_name(const char *result)
{
    const size_t n = publish_folder_bytes(result);
    return n > 0 ? result + n + 1 : result;
}

int publish_open_above(int out_fd, const char *path, size_t n, int flags)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%.*s", (int)n, path);
    return beneath_open(out_fd, folder, flags | O_DIRECTORY);
}

bool publish_is_in_the_way(int error)
{
    return error == ENOTDIR || error == ELOOP || error == EEXIST || error == EXDEV ||
           error == ENAMETOOLONG;
}

/* Opens a folder in an open one, if it can hold results; with `make` it is made. */
static int enter(int fd, const char *name, bool make)
{
    int next = beneath_open(fd, name, O_PATH | O_DIRECTORY);
    if (next < 0 && errno == ENOENT && make &&
        disk_make_folder("publish.folder", fd, name, 0777) == 0) {
        next = beneath_open(fd, name, O_PATH | O_DIRECTORY);
    }
    if (next >= 0 && holds_result(next)) {
        beneath_close(next);
        errno = EEXIST;
        next = -1;
    }
    return next;
}

int publish_enter(int out_fd, const char *result, bool make, size_t *at)
{
    char name[NAME_MAX + 1];
    const char *rest = result;
    *at = strlen(result);
    if (*at >= PATH_MAX || !beneath_is_path(result)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = beneath_open(out_fd, "", O_PATH | O_DIRECTORY);
    while (fd >= 0 && strchr(rest, '/') != NULL && beneath_next(&rest, name)) {
        const int next = enter(fd, name, make);
        *at = (size_t)(rest - result) - 1;
        beneath_close(fd);
        fd = next;
    }
    return fd;
}

/* --- a name ----------------------------------------------------------------------------------- */

struct naming {
    int out_fd, folder;
    const char *part, *name;
    struct stat own; /* the part's */
};

/* Whether a rename that led there has taken effect, also where it says that it has not: a network
 * file system asks again when a reply is lost, and hears how the second time went. */
static bool has_led(int failed, int at_fd, const char *name, const struct stat *of)
{
    return failed == 0 || is_at(at_fd, name, of);
}

static bool is_taken(int error)
{
    return error == EEXIST || error == ENOTEMPTY || error == ENOTDIR;
}

static bool name_part(const struct naming *n)
{
    return has_led(disk_rename("publish.name", n->out_fd, n->part, n->folder, n->name), n->folder,
                   n->name, &n->own);
}

void publish_old_name(const char *part, char *old, size_t bytes)
{
    snprintf(old, bytes, "%.*sold", (int)(strlen(part) - strlen("part")), part);
}

/* It has its name again, unless another result has that: then it was to be replaced anyway. */
static void step_back(const struct naming *n, const char *aside)
{
    const int error = errno;
    const bool is_back = disk_rename("publish.back", n->out_fd, aside, n->folder, n->name) == 0;
    if (!is_back && (!is_taken(errno) || disk_remove_tree("publish.drop", n->out_fd, aside) != 0)) {
        log_warning("the earlier result '%s' is now '%s' in the output folder (%s)", n->name, aside,
                    strerror(errno));
    }
    errno = error;
}

/* The earlier result steps aside first, and back when the part cannot follow. While it has that
 * name it is locked, if it can be: publish_sweep sees that it is in use. EAGAIN: another one has
 * its name by now. */
static int replace_in_two_steps(const struct naming *n, const struct stat *earlier)
{
    char aside[NAME_MAX + 1];
    publish_old_name(n->part, aside, sizeof(aside));
    const int lock = beneath_open(n->folder, n->name, O_RDONLY | O_DIRECTORY);
    if (lock >= 0) {
        (void)flock(lock, LOCK_EX | LOCK_NB);
    }
    bool done = has_led(disk_rename("publish.aside", n->folder, n->name, n->out_fd, aside),
                        n->out_fd, aside, earlier);
    if (done) {
        errno = EAGAIN;
        done = is_at(n->out_fd, aside, earlier) && name_part(n);
        if (!done) {
            step_back(n, aside);
        }
    }
    beneath_close(lock);
    return done ? 0 : -1;
}

/* EAGAIN: that was not the earlier result any more. */
static int take_place(const struct naming *n, const struct stat *earlier)
{
    const int failed = disk_exchange("publish.exchange", n->out_fd, n->part, n->folder, n->name);
    if (failed != 0 && (errno == EINVAL || errno == ENOSYS)) {
        return replace_in_two_steps(n, earlier);
    }
    if (!has_led(failed, n->folder, n->name, &n->own)) {
        return -1;
    }
    if (is_at(n->out_fd, n->part, earlier)) {
        return 0;
    }
    /* another process was faster: its result stays until it has been asked about, too */
    if (disk_exchange("publish.exchange", n->out_fd, n->part, n->folder, n->name) == 0) {
        errno = EAGAIN;
    }
    return -1;
}

/* Replaces what has the name; EAGAIN: once more. */
static int replace(const struct naming *n, publish_may_replace *may, void *user)
{
    struct stat earlier;
    const int fd = beneath_open(n->folder, n->name, O_PATH | O_DIRECTORY);
    int error = 0;
    if (fd < 0 || fstat(fd, &earlier) != 0) {
        error = errno == ENOTDIR || errno == ELOOP ? EEXIST : errno;
    } else if (may == NULL || !holds_result(fd)) {
        error = is_at(n->folder, n->name, &earlier) ? EEXIST : EAGAIN;
    } else {
        error = may(user, fd);
    }
    beneath_close(fd);
    if (error == 0 && take_place(n, &earlier) != 0) {
        error = is_taken(errno) ? EAGAIN : errno;
    }
    errno = error == ENOENT ? EAGAIN : error; /* it has gone, or stepped aside for another */
    return error == 0 ? 0 : -1;
}

int publish_give_name(int out_fd, const char *part, const char *result, publish_may_replace *may,
                      void *user)
{
    struct naming n = {.out_fd = out_fd, .part = part, .name = publish_last_name(result)};
    int failed = -1;
    n.folder = publish_open_above(out_fd, result, publish_folder_bytes(result), O_PATH);
    if (n.folder < 0 || fstatat(out_fd, part, &n.own, AT_SYMLINK_NOFOLLOW) != 0) {
        beneath_close(n.folder);
        return -1;
    }
    for (int i = 0; failed != 0 && i < MOST_TRIES; i++) {
        failed = name_part(&n) ? 0 : is_taken(errno) ? replace(&n, may, user) : -1;
        if (failed != 0 && errno != EAGAIN) {
            break;
        }
    }
    beneath_close(n.folder);
    return failed;
}
