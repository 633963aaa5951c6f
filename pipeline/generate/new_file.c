/*
 * new_file - see new_file.h.
 */
#include "pipeline/generate/new_file.h"

#include "formats/base/file_name.h"
#include "watch/files/disk.h"
#include "watch/files/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

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

static enum status open_part(struct new_file *f, int *fd)
{
    uint64_t random;
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
        return status_fail_errno(errno, "%s: no random number for a hidden name", f->path);
    }
    f->part = xasprintf("%.*s.leat.%016llx.tmp", (int)(file_name_last(f->path) - f->path), f->path,
                        (unsigned long long)random);
    *fd = open(f->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (*fd < 0) {
        const int error = errno;
        free(f->part);
        f->part = NULL;
        return status_fail_errno(error, "%s: cannot create a file beside it", f->path);
    }
    return STATUS_OK;
}

static enum status open_any(struct new_file *f, int *fd)
{
    struct stat st;
    const bool is_stdout = strcmp(f->path, "-") == 0;
    const bool exists = !is_stdout && stat(f->path, &st) == 0;
    if (*file_name_last(f->path) == '\0' || (exists && S_ISDIR(st.st_mode))) {
        return status_fail(STATUS_BAD_ARGUMENT, "%s: is a folder; name a file in it", f->path);
    }
    /* what leads nowhere is replaced itself */
    const bool is_taken = exists ? S_ISREG(st.st_mode) : !is_stdout && lstat(f->path, &st) == 0;
    if (is_taken && !f->force) {
        return status_fail(STATUS_EXISTS, "%s: is there already (--force replaces it)", f->path);
    }
    if (!is_stdout && (!exists || S_ISREG(st.st_mode))) {
        return open_part(f, fd);
    }
    *fd = is_stdout ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
                    : open(f->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return *fd >= 0 ? STATUS_OK : status_fail_errno(errno, "%s: cannot open", f->path);
}

static enum status open_pack(struct new_file *f, enum pack_kind kind, bool rewinds)
{
    int fd = -1;
    STATUS_TRY(open_any(f, &fd));
    if (rewinds && lseek(fd, 0, SEEK_SET) != 0) {
        const int error = errno;
        close(fd);
        return error == ESPIPE
                   ? status_fail(
                         STATUS_BAD_ARGUMENT,
                         "%s: is a pipe, which cannot take a GeoTIFF; write .asc, or to a file",
                         f->path)
                   : status_fail_errno(error, "%s: cannot be written at its beginning", f->path);
    }
    return pack_take(fd, f->path, kind, &f->pack);
}

enum status new_file_open(const char *path, enum pack_kind kind, bool rewinds, bool force,
                          struct new_file *out)
{
    *out = (struct new_file){.path = path, .force = force};
    const enum status status = open_pack(out, kind, rewinds);
    if (status != STATUS_OK) {
        new_file_abandon(out);
    }
    return status;
}

static enum status give_name(struct new_file *f)
{
    const int failed = f->force
                           ? disk_replace("generate.name", AT_FDCWD, f->part, AT_FDCWD, f->path)
                           : disk_rename("generate.name", AT_FDCWD, f->part, AT_FDCWD, f->path);
    if (failed != 0) {
        return status_fail_errno(errno, "%s: cannot give the file its name", f->path);
    }
    free(f->part);
    f->part = NULL;
    return STATUS_OK;
}

enum status new_file_commit(struct new_file *f, uint64_t *bytes)
{
    uint32_t crc;
    enum status status = pack_close(f->pack, bytes, &crc);
    f->pack = NULL;
    if (status == STATUS_OK && f->part != NULL) {
        status = give_name(f);
    }
    new_file_abandon(f);
    return status;
}

void new_file_abandon(struct new_file *f)
{
    pack_abandon(f->pack);
    if (f->part != NULL) {
        unlink(f->part);
    }
    free(f->part);
    *f = (struct new_file){0};
}
