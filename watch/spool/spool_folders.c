/*
 * spool_folders - whether the spool's folders are on one file system, and still what their paths
 * lead to; in/ made anew, which is taken up while the spool is open; and the folders
 * that a step has changed, each put on disk once, with an error for those jobs alone whose folder
 * it is.
 */
#include "watch/spool/spool_state.h"

#include "watch/files/disk.h"
#include "watch/files/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether at_fd/path still leads to the open folder. What cannot be seen now is no answer. */
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
            if (why != NULL) {
                snprintf(why, why_bytes,
                         "the folder '%s%s' has been removed or replaced since the start; %s",
                         folders[i].above, folders[i].name,
                         folders[i].fd == s->in_fd ? "make it again, or put it back"
                                                   : "restart the service");
            }
            return false;
        }
    }
    return true;
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
    enum status code = STATUS_OK;
    char probe[32];
    int fd = make_probe(way, N, probe);
    if (fd < 0) {
        return status_fail_errno(errno, "'%s/in' cannot be written", s->root);
    }
    close(fd);
    size_t at = 0;
    for (size_t i = 1; i < N && code == STATUS_OK; i++) {
        int error = FAULT_ERROR("open.rename");
        if (error == 0 && renameat(way[at].fd, probe, way[i].fd, probe) != 0) {
            error = errno;
        }
        if (error == EXDEV) {
            code = status_fail(STATUS_BAD_ARGUMENT,
                               "'%s/%s' and '%s/%s' are on different file systems; files cannot be "
                               "moved between them in one step",
                               s->root, way[at].name, s->root, way[i].name);
        } else if (error != 0) {
            code = status_fail_errno(error, "files cannot be moved from '%s/%s' to '%s/%s'",
                                     s->root, way[at].name, s->root, way[i].name);
        } else {
            at = i;
        }
    }
    unlinkat(way[at].fd, probe, 0);
    return code;
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
                   : status_fail_errno(errno, "the folder '%s/in' cannot be opened", s->root);
    }
    enum status code = spool_check_out(s, found);
    if (code == STATUS_OK) {
        code = spool_try_renames(s, found);
    }
    if (code != STATUS_OK) {
        close(found);
        return code;
    }
    *fd = found;
    return STATUS_OK;
}

void spool_adopt_in(struct spool *s, int fd)
{
    close(s->in_fd);
    s->in_fd = fd;
}

static struct spool_folder *find(const struct spool_folders *f, const char *path)
{
    for (size_t i = 0; i < f->n; i++) {
        if (strcmp(f->all[i].path, path) == 0) {
            return &f->all[i];
        }
    }
    return NULL;
}

void spool_folders_add(struct spool_folders *f, const char *path)
{
    if (find(f, path) != NULL) {
        return;
    }
    struct spool_folder *all = realloc(f->all, (f->n + 1) * sizeof(*all));
    if (all != NULL) {
        f->all = all;
        f->all[f->n++] = (struct spool_folder){.path = path};
    }
}

void spool_folders_sync(struct spool_folders *f)
{
    for (size_t i = 0; i < f->n; i++) {
        /* A folder that has been removed meanwhile holds nothing that could be lost. */
        bool done = disk_sync_name(f->step, f->at_fd, f->all[i].path) == 0 || errno == ENOENT;
        f->all[i].error = done ? 0 : errno;
    }
}

int spool_folders_error(const struct spool_folders *f, const char *path)
{
    const struct spool_folder *folder = find(f, path);
    return folder != NULL ? folder->error : ENOMEM;
}

void spool_folders_free(struct spool_folders *f)
{
    free(f->all);
    f->all = NULL;
    f->n = 0;
}
