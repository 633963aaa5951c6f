/*
 * spool_places - the spool's folders and OUT. At the start: made where they are missing, opened,
 * and refused where they could not serve. Later: whether their paths still lead to them; a new in/
 * is adopted while the spool is open. Where OUT lies is found by device and inode of the open
 * folder and of all above it, whatever links its path leads over; not seen is what a mount alone
 * shows at another place.
 */
#include "watch/spool/spool_state.h"

#include "watch/files/beneath.h"
#include "watch/files/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Makes and opens at_fd/name, which messages call ABOVE/NAME, or NAME where above is "". */
static enum status open_folder(int at_fd, const char *above, const char *name, mode_t mode,
                               int flags, int *fd)
{
    const char *const slash = *above != '\0' ? "/" : "";
    if (mkdirat(at_fd, name, mode) != 0 && errno != EEXIST) {
        return spool_cannot_open(errno, "the folder '%s%s%s' cannot be made", above, slash, name);
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
    return spool_cannot_open(error, "the folder '%s%s%s' cannot be opened", above, slash, name);
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
        return spool_cannot_open(errno, "'%s' cannot be looked at", s->out);
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
        beneath_close(fd);
        beneath_close(at_top ? next : -1);
        fd = at_top ? -1 : next;
        st = above;
    }
    return STATUS_OK;
}

/* Whether at_fd/path still leads to the open folder. What cannot be seen now does not count. */
static bool leads_to(int at_fd, const char *path, int fd)
{
    struct stat own, there;
    if (fstat(fd, &own) != 0) {
        return true;
    }
    if (own.st_nlink == 0) {
        return false;
    }
    if (fstatat(at_fd, path, &there, 0) != 0) {
        return errno != ENOENT && errno != ENOTDIR;
    }
    return there.st_dev == own.st_dev && there.st_ino == own.st_ino;
}

bool spool_check_mount(const struct spool *s, char *why, size_t why_bytes)
{
    if (s->require_mount == NULL) {
        return true;
    }
    if (!leads_to(AT_FDCWD, s->out, s->out_fd)) {
        snprintf(why, why_bytes,
                 "another file system is mounted on '%s' since the start, or it has been replaced, "
                 "and require_mount asks for the one of before: mount that one, or restart the "
                 "service",
                 s->out);
        return false;
    }
    const int fd = beneath_open(s->out_fd, s->require_mount, O_PATH);
    if (fd < 0) {
        snprintf(why, why_bytes,
                 "'%s' has no '%s' (%s), which require_mount asks for: mount the results' file "
                 "system there, or make that file in it",
                 s->out, s->require_mount, strerror(errno));
    }
    beneath_close(fd);
    return fd >= 0;
}

const char *spool_cure_of(int error)
{
    return error == EROFS ? "mount its file system for writing"
                          : "give the service's user the right to write to it";
}

static enum status open_out(struct spool *s)
{
    char why[STATUS_MESSAGE_BYTES];
    if (s->require_mount != NULL &&
        (!beneath_is_path(s->require_mount) || *s->require_mount == '\0')) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "require_mount: '%s' must be a path within the folder for results, "
                           "without . and ..",
                           s->require_mount);
    }
    const bool made = mkdir(s->out, 0777) == 0;
    STATUS_TRY(open_folder(AT_FDCWD, "", s->out, 0777, 0, &s->out_fd));
    enum status code = spool_check_out(s, s->in_fd);
    if (code == STATUS_OK && !spool_check_mount(s, why, sizeof(why))) {
        code = status_fail(STATUS_NO_SPACE, "%s", why);
    }
    if (code != STATUS_OK && made) {
        unlinkat(AT_FDCWD, s->out, AT_REMOVEDIR);
    }
    STATUS_TRY(code);
    if (faccessat(s->out_fd, ".", W_OK | X_OK, AT_EACCESS) != 0) {
        code = status_fail(errno == EACCES ? STATUS_BAD_ARGUMENT : STATUS_NO_SPACE,
                           "results cannot be written to '%s': %s; %s, or name another folder "
                           "(--output)",
                           s->out, strerror(errno), spool_cure_of(errno));
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
    STATUS_TRY(open_folder(AT_FDCWD, "", s->root, 0777, 0, &s->root_fd));
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        STATUS_TRY(open_folder(s->root_fd, s->root, folders[i].name, folders[i].mode,
                               folders[i].flags, folders[i].fd));
    }
    struct stat st;
    if (fstat(s->work_fd, &st) == 0 && (st.st_mode & 0077) != 0 && fchmod(s->work_fd, 0700) != 0) {
        return spool_cannot_open(errno, "'%s/.work' is open to others and cannot be closed to them",
                                 s->root);
    }
    STATUS_TRY(open_out(s));
    int above = openat(s->out_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = fsync(s->root_fd) == 0 && (above < 0 || fsync(above) == 0);
    beneath_close(above);
    return synced ? STATUS_OK
                  : spool_cannot_open(errno, "the folders in '%s' cannot be synced", s->root);
}

/* --- later ---------------------------------------------------------------------- */

bool spool_check_folders(const struct spool *s, char *why, size_t why_bytes)
{
    const struct {
        int at_fd, fd;
        const char *path, *above, *name; /* above and name: for the message */
    } folders[] = {{AT_FDCWD, s->root_fd, s->root, "", s->root},
                   {s->root_fd, s->in_fd, "in", s->root, "/in"},
                   {s->root_fd, s->done_fd, "done", s->root, "/done"},
                   {s->root_fd, s->failed_fd, "failed", s->root, "/failed"},
                   {s->root_fd, s->work_fd, ".work", s->root, "/.work"},
                   {AT_FDCWD, s->out_fd, s->out, "", s->out}};
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        if (!leads_to(folders[i].at_fd, folders[i].path, folders[i].fd)) {
            snprintf(why, why_bytes,
                     "the folder '%s%s' has been removed or replaced since the start; %s",
                     folders[i].above, folders[i].name,
                     folders[i].fd == s->in_fd ? "make it again, or put it back"
                                               : "restart the service");
            return false;
        }
    }
    return spool_check_mount(s, why, why_bytes);
}

/* A folder on the way of the probe. */
struct place {
    const char *name;
    int fd;
};

/* Makes the probe in way[0], under the first of its names that is free in all n folders: what was
 * left there goes, unless it is a folder or somebody else's. Its descriptor, or -1 with errno. */
static int make_probe(const struct place way[], size_t n, char name[32])
{
    int fd = -1;
    errno = EEXIST;
    for (unsigned count = 1; fd < 0 && errno == EEXIST; count++) {
        bool is_free = true;
        snprintf(name, 32, ".leat.probe-%u", count);
        for (size_t i = 0; i < n; i++) {
            struct stat st;
            unlinkat(way[i].fd, name, 0);
            is_free = is_free && fstatat(way[i].fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0;
        }
        errno = EEXIST;
        if (is_free) {
            fd = openat(way[0].fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        }
    }
    return fd;
}

enum status spool_try_renames(const struct spool *s, int in_fd)
{
    const struct place way[] = {
        {"in", in_fd}, {".work", s->work_fd}, {"failed", s->failed_fd}, {"done", s->done_fd}};
    enum { N = sizeof(way) / sizeof(*way) };
    char probe[32];
    int fd = make_probe(way, N, probe);
    if (fd < 0) {
        return spool_cannot_open(errno, "'%s/in' cannot be written", s->root);
    }
    close(fd);
    size_t at = 0;
    int error = 0;
    while (error == 0 && at < N - 1) {
        errno = FAULT_ERROR("open.rename");
        const bool moved = errno == 0 && renameat(way[at].fd, probe, way[at + 1].fd, probe) == 0;
        error = moved ? 0 : errno;
        at += moved;
    }
    unlinkat(way[at].fd, probe, 0);
    if (error == EXDEV) {
        return status_fail(STATUS_BAD_ARGUMENT,
                           "'%s/%s' and '%s/%s' are on different file systems; files cannot be "
                           "moved between them in one step",
                           s->root, way[at].name, s->root, way[at + 1].name);
    }
    return error == 0 ? STATUS_OK
                      : spool_cannot_open(error, "files cannot be moved from '%s/%s' to '%s/%s'",
                                          s->root, way[at].name, s->root, way[at + 1].name);
}

enum status spool_find_in(const struct spool *s, int *fd)
{
    *fd = -1;
    if (leads_to(s->root_fd, "in", s->in_fd)) {
        return STATUS_OK;
    }
    int found = openat(s->root_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (found < 0) {
        return errno == ENOENT
                   ? STATUS_OK
                   : spool_cannot_open(errno, "the folder '%s/in' cannot be opened", s->root);
    }
    enum status code = spool_check_out(s, found);
    code = code == STATUS_OK ? spool_try_renames(s, found) : code;
    *fd = code == STATUS_OK ? found : -1;
    if (code != STATUS_OK) {
        close(found);
    }
    return code;
}

void spool_adopt_in(struct spool *s, int fd)
{
    close(s->in_fd);
    s->in_fd = fd;
}
