/*
 * spool_places - the spool's folders and OUT at the start: made where they are missing, opened, and
 * refused where they could not serve. Where OUT lies is found by device and inode of the open
 * folder and of all above it, whatever links its path leads over; not seen is what a mount alone
 * shows at another place.
 */
#include "watch/spool/spool_state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Makes (*made) and opens at_fd/name, which messages call ABOVE/NAME, or NAME where above is "". */
static enum status open_folder(int at_fd, const char *above, const char *name, mode_t mode,
                               int flags, int *fd, bool *made)
{
    const char *const slash = *above != '\0' ? "/" : "";
    *made = mkdirat(at_fd, name, mode) == 0;
    if (!*made && errno != EEXIST) {
        return status_fail_errno(errno, "the folder '%s%s%s' cannot be made", above, slash, name);
    }
    *fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    if (*fd >= 0) {
        return STATUS_OK;
    }
    const int error = errno;
    struct stat st;
    if ((flags & O_NOFOLLOW) != 0 && fstatat(at_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(st.st_mode)) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "'%s%s%s' is a link and must be a folder of its own; remove the link",
                           above, slash, name);
    }
    if (error == ENOTDIR) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "'%s%s%s' must be a folder and is none; move it away", above, slash,
                           name);
    }
    return status_fail_errno(error, "the folder '%s%s%s' cannot be opened", above, slash, name);
}

static bool is_same(const struct stat *st, int fd)
{
    struct stat other;
    return fstat(fd, &other) == 0 && st->st_dev == other.st_dev && st->st_ino == other.st_ino;
}

enum status spool_check_out(const struct spool *s, int in_fd)
{
    const struct {
        const char *name, *why;
        int fd;
    } taken[] = {{"/in", "results would be taken for inputs", in_fd},
                 {"/done", "it is for processed inputs", s->done_fd},
                 {"/failed", "it is for jobs that failed", s->failed_fd},
                 {"/.work", "it is for jobs under way", s->work_fd}};
    struct stat st, above;
    if (fstat(s->out_fd, &st) != 0) {
        return status_fail_errno(errno, "'%s' cannot be looked at", s->out);
    }
    if (is_same(&st, s->root_fd)) {
        return status_fail(
            STATUS_BAD_ARGUMENT,
            "results cannot go to '%s', which is the watched folder itself: a result "
            "may be called like one of its folders; name another folder (--output)",
            s->out);
    }
    int fd = openat(s->out_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (bool is_out = true; fd >= 0; is_out = false) {
        for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
            if (is_same(&st, taken[i].fd)) {
                close(fd);
                return status_fail(STATUS_BAD_ARGUMENT,
                                   "results cannot go to '%s', which %s '%s%s': %s; name another "
                                   "folder (--output)",
                                   s->out, is_out ? "is" : "lies in", s->root, taken[i].name,
                                   taken[i].why);
            }
        }
        const int next = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        const bool at_top = next < 0 || fstat(next, &above) != 0 || is_same(&above, fd);
        close(fd);
        if (at_top && next >= 0) {
            close(next);
        }
        fd = at_top ? -1 : next;
        st = above;
    }
    return STATUS_OK;
}

static enum status open_out(struct spool *s)
{
    bool made;
    enum status code = open_folder(AT_FDCWD, "", s->out, 0777, 0, &s->out_fd, &made);
    if (code == STATUS_OK) {
        code = spool_check_out(s, s->in_fd);
        if (code != STATUS_OK && made) {
            unlinkat(AT_FDCWD, s->out, AT_REMOVEDIR);
        }
    }
    if (code == STATUS_OK && faccessat(s->out_fd, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        code = status_fail(STATUS_BAD_ARGUMENT,
                           "results cannot be written to '%s': %s; give the service's user the "
                           "right to write to it, or name another folder (--output)",
                           s->out, strerror(errno));
    }
    return code;
}

enum status spool_open_places(struct spool *s)
{
    const struct {
        const char *name;
        int *fd;
        mode_t mode;
        int flags;
    } folders[] = {{"in", &s->in_fd, 0777, 0},
                   {"done", &s->done_fd, 0777, 0},
                   {"failed", &s->failed_fd, 0777, 0},
                   {".work", &s->work_fd, 0700, O_NOFOLLOW}}; /* as the workers open it */
    bool made;
    enum status code = open_folder(AT_FDCWD, "", s->root, 0777, 0, &s->root_fd, &made);
    for (size_t i = 0; code == STATUS_OK && i < sizeof(folders) / sizeof(*folders); i++) {
        code = open_folder(s->root_fd, s->root, folders[i].name, folders[i].mode, folders[i].flags,
                           folders[i].fd, &made);
    }
    if (code != STATUS_OK) {
        return code;
    }
    struct stat st;
    if (fstat(s->work_fd, &st) == 0 && (st.st_mode & 0077) != 0 && fchmod(s->work_fd, 0700) != 0) {
        return status_fail_errno(errno, "'%s/.work' is open to others and cannot be closed to them",
                                 s->root);
    }
    code = open_out(s);
    int above =
        code == STATUS_OK ? openat(s->out_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (code == STATUS_OK && (fsync(s->root_fd) != 0 || (above >= 0 && fsync(above) != 0))) {
        code = status_fail_errno(errno, "the folders in '%s' cannot be synced", s->root);
    }
    if (above >= 0) {
        close(above);
    }
    return code;
}
