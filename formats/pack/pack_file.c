/*
 * pack_file - the buffered file: small puts are gathered, large ones are written from where they
 * are. A small file costs one write(2). It syncs nothing: when a result must be on disk is known to
 * whoever publishes it.
 */
#include "formats/pack/pack_file.h"

#include "formats/base/io_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <isa-l.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* Gathered before a write: large enough that the calls cost nothing, small against a piece's work.
 */
enum { GATHER_BYTES = 1 << 20, DIRECT_BYTES = 1 << 18 };

enum status pack_file_adopt(struct pack_file *f, int fd, const char *name)
{
    *f = (struct pack_file){.fd = fd, .name = strdup(name)};
    if (f->name == NULL) {
        pack_file_drop(f);
        return status_fail(STATUS_NO_MEMORY, "no memory to write %s", name);
    }
    return STATUS_OK;
}

/* Makes the folder of NAME in "FOLDER/NAME", unless it is there. */
static enum status make_folder(int dir_fd, const char *name)
{
    const char *slash = strchr(name, '/');
    char folder[NAME_MAX + 1];
    if (slash == NULL) {
        return STATUS_OK;
    }
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - name), name);
    return mkdirat(dir_fd, folder, 0777) == 0 || errno == EEXIST
               ? STATUS_OK
               : status_fail_errno(errno, "cannot make the folder %s", folder);
}

enum status pack_file_create(struct pack_file *f, int dir_fd, const char *name)
{
    const enum status st = make_folder(dir_fd, name);
    if (st != STATUS_OK) {
        *f = (struct pack_file){.fd = -1};
        return st;
    }
    const int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) {
        *f = (struct pack_file){.fd = -1};
        return status_fail_errno(errno, "cannot create %s", name);
    }
    return pack_file_adopt(f, fd, name);
}

static enum status write_all(const struct pack_file *f, const unsigned char *data, size_t n)
{
    while (n > 0) {
        const ssize_t k = io_watch_write(f->fd, data, n);
        if (k >= 0) {
            data += k;
            n -= (size_t)k;
        } else if (errno != EINTR) {
            return status_fail_errno(errno, "cannot write %s", f->name);
        }
    }
    return STATUS_OK;
}

static enum status flush(struct pack_file *f)
{
    const enum status st = write_all(f, f->buffer.data, f->buffer.len);
    bytes_clear(&f->buffer);
    return st;
}

enum status pack_file_put_known(struct pack_file *f, const void *data, size_t n, uint32_t crc)
{
    enum status st = STATUS_OK;
    if (n == 0) {
        return STATUS_OK;
    }
    f->crc = f->size == 0 ? crc : (uint32_t)crc32_combine(f->crc, crc, (off_t)n);
    f->size += n;
    if (n < DIRECT_BYTES) {
        if (f->buffer.len + n > GATHER_BYTES) {
            st = flush(f);
        }
        return st == STATUS_OK ? bytes_append(&f->buffer, data, n) : st;
    }
    st = flush(f);
    return st == STATUS_OK ? write_all(f, data, n) : st;
}

enum status pack_file_put(struct pack_file *f, const void *data, size_t n)
{
    return pack_file_put_known(f, data, n, crc32_gzip_refl(0, data, n));
}

enum status pack_file_finish(struct pack_file *f)
{
    const enum status st = flush(f);
    const int fd = f->fd;
    f->fd = -1;
    if (io_watch_close(fd) != 0 && st == STATUS_OK && errno != EINTR) {
        return status_fail_errno(errno, "cannot finish %s", f->name);
    }
    return st;
}

void pack_file_drop(struct pack_file *f)
{
    if (f->fd >= 0) {
        close(f->fd);
    }
    f->fd = -1;
    free(f->name);
    f->name = NULL;
    bytes_free(&f->buffer);
}
