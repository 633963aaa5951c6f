/*
 * new_file - see new_file.h.
 */
#include "pipeline/generate/new_file.h"

#include "formats/base/file_name.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes handed to the system at once: an interrupted write has then not done much. */
enum { WRITE_BYTES = 8 << 20 };

struct new_file {
    char *path;       /* as messages call it */
    const char *name; /* its last component */
    char *part;       /* beside it, under a hidden name; NULL: written to directly, or named */
    int fd;
    bool force;
};

static bool stat_folder(const char *path, struct stat *out)
{
    char folder[PATH_MAX];
    const int n =
        snprintf(folder, sizeof folder, "%.*s.", (int)(file_name_last(path) - path), path);
    return n > 0 && (size_t)n < sizeof folder && stat(folder, out) == 0;
}

bool new_file_is_same(const char *a, const char *b)
{
    struct stat x, y;
    return strcmp(a, b) == 0 ||
           (strcmp(file_name_last(a), file_name_last(b)) == 0 && stat_folder(a, &x) &&
            stat_folder(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

static enum status open_part(struct new_file *f)
{
    uint64_t random;
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
        return status_fail_errno(errno, "%s: no random number for a hidden name", f->path);
    }
    if (asprintf(&f->part, "%.*s.leat.%016llx.tmp", (int)(f->name - f->path), f->path,
                 (unsigned long long)random) < 0) {
        f->part = NULL;
        return status_fail(STATUS_NO_MEMORY, "%s: no memory", f->path);
    }
    f->fd = open(f->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (f->fd < 0) {
        const enum status status =
            status_fail_errno(errno, "%s: cannot create a file beside it", f->path);
        free(f->part);
        f->part = NULL;
        return status;
    }
    return STATUS_OK;
}

static enum status open_direct(struct new_file *f, bool is_stdout)
{
    f->fd = is_stdout ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
                      : open(f->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return f->fd >= 0 ? STATUS_OK : status_fail_errno(errno, "%s: cannot open", f->path);
}

static enum status open_any(struct new_file *f)
{
    struct stat st;
    if (strcmp(f->path, "-") == 0) {
        return open_direct(f, true);
    }
    bool exists = stat(f->path, &st) == 0;
    if (*f->name == '\0' || (exists && S_ISDIR(st.st_mode))) {
        return status_fail(STATUS_BAD_ARGUMENT, "%s: is a folder; name a file in it", f->path);
    }
    if (exists && !S_ISREG(st.st_mode)) {
        return open_direct(f, false);
    }
    if (exists && !f->force) {
        return status_fail(STATUS_EXISTS, "%s: is there already (--force replaces it)", f->path);
    }
    return open_part(f);
}

enum status new_file_open(const char *path, bool force, struct new_file **out)
{
    *out = NULL;
    struct new_file *f = calloc(1, sizeof(*f));
    if (f == NULL || (f->path = strdup(path)) == NULL) {
        free(f);
        return status_fail(STATUS_NO_MEMORY, "%s: no memory", path);
    }
    f->name = file_name_last(f->path);
    f->fd = -1;
    f->force = force;
    enum status status = open_any(f);
    if (status == STATUS_OK) {
        *out = f;
    } else {
        new_file_abandon(f);
    }
    return status;
}

enum status new_file_write(struct new_file *f, const void *data, size_t n)
{
    const char *at = data;
    while (n > 0) {
        ssize_t written = write(f->fd, at, n < WRITE_BYTES ? n : (size_t)WRITE_BYTES);
        if (written >= 0) {
            at += written;
            n -= (size_t)written;
        } else if (errno == EPIPE) {
            return status_fail(STATUS_CANCELLED, "%s: the reader has closed it", f->path);
        } else if (errno != EINTR) {
            return status_fail_errno(errno, "%s: cannot write", f->path);
        }
    }
    return STATUS_OK;
}

enum status new_file_rewind(struct new_file *f)
{
    return lseek(f->fd, 0, SEEK_SET) == 0 ? STATUS_OK
           : errno == ESPIPE
               ? status_fail(STATUS_BAD_ARGUMENT,
                             "%s: is a pipe, which cannot take a GeoTIFF; write .asc, or to a file",
                             f->path)
               : status_fail_errno(errno, "%s: cannot be written at its beginning", f->path);
}

/* One step where the file system can rename without replacing; link and unlink where it cannot. */
static enum status give_name(struct new_file *f)
{
    const unsigned flags = f->force ? 0 : RENAME_NOREPLACE;
    bool is_named = renameat2(AT_FDCWD, f->part, AT_FDCWD, f->path, flags) == 0;
    if (!is_named && (errno == EINVAL || errno == ENOSYS)) {
        is_named = f->force ? rename(f->part, f->path) == 0
                            : link(f->part, f->path) == 0 && unlink(f->part) == 0;
    }
    if (!is_named) {
        return status_fail_errno(errno, "%s: cannot give the file its name", f->path);
    }
    free(f->part);
    f->part = NULL;
    return STATUS_OK;
}

enum status new_file_commit(struct new_file *f)
{
    const int fd = f->fd;
    f->fd = -1;
    const enum status status = close(fd) != 0
                                   ? status_fail_errno(errno, "%s: cannot write", f->path)
                               : f->part != NULL ? give_name(f)
                                                 : STATUS_OK;
    new_file_abandon(f);
    return status;
}

void new_file_abandon(struct new_file *f)
{
    if (f == NULL) {
        return;
    }
    if (f->fd >= 0) {
        close(f->fd);
    }
    if (f->part != NULL) {
        unlink(f->part);
    }
    free(f->part);
    free(f->path);
    free(f);
}
