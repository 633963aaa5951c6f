/*
 * archive_layer - see archive_layer.h. Gzip comes through source.c, which checks CRC and length of
 * every member; libarchive does not. Xz comes through libarchive, told that there is this one
 * filter, so that it looks for no other.
 */
#include "formats/source/archive_layer.h"

#include "formats/base/io_watch.h"
#include "formats/source/source.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK_BYTES = 128 << 10, MAGIC_BYTES = 6 };

enum kind { KIND_NONE, KIND_GZIP, KIND_XZ };
static const char *const kind_names[] = {"", "gzip", "xz"};

struct archive_layer {
    int fd; /* borrowed */
    char *name;
    const atomic_bool *stop;
    enum kind kind;
    struct source *gzip;
    struct archive *xz;
    uint64_t offset;    /* of the file, read for xz so far */
    enum status status; /* of reading the file for xz */
    unsigned char packed[BLOCK_BYTES], block[BLOCK_BYTES];
};

static enum kind kind_of(const unsigned char *head, size_t n)
{
    if (n >= 3 && memcmp(head, "\x1f\x8b\x08", 3) == 0) {
        return KIND_GZIP;
    }
    return n >= 6 && memcmp(head,
                            "\xfd"
                            "7zXZ",
                            6) == 0
               ? KIND_XZ
               : KIND_NONE;
}

/* Up to `cap` bytes of the file at `offset`; *n < cap only at its end. */
static enum status read_file(int fd, const char *name, uint64_t offset, void *dst, size_t cap,
                             size_t *n)
{
    int error;
    *n = io_watch_pread_all(fd, dst, cap, offset, &error);
    return error != 0 ? status_fail_errno(error, "%s: cannot be read", name) : STATUS_OK;
}

static bool is_stopped(const struct archive_layer *l)
{
    return l->stop && atomic_load(l->stop);
}

static enum status fail_stopped(const struct archive_layer *l)
{
    return status_fail(STATUS_CANCELLED, "%s: stopped", l->name);
}

/* --- xz --------------------------------------------------------------------------------------- */

static la_ssize_t read_packed(struct archive *archive, void *data, const void **bytes)
{
    struct archive_layer *l = data;
    size_t n = 0;
    if (!l->status) { /* there is no going on after a failure */
        l->status = is_stopped(l)
                        ? fail_stopped(l)
                        : read_file(l->fd, l->name, l->offset, l->packed, sizeof l->packed, &n);
    }
    if (l->status) {
        archive_set_error(archive, EIO, "cannot be read");
        return ARCHIVE_FATAL;
    }
    l->offset += n;
    *bytes = l->packed;
    return (la_ssize_t)n;
}

static enum status fail_xz(const struct archive_layer *l)
{
    const char *const why = archive_error_string(l->xz);
    if (l->status) {
        return l->status; /* which has been described */
    }
    if (archive_errno(l->xz) == ENOMEM) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to unpack xz", l->name);
    }
    return status_fail(STATUS_BAD_INPUT, "%s: compressed byte %" PRIu64 ": damaged xz data (%s)",
                       l->name, l->offset, why ? why : "no reason given");
}

static enum status begin_xz(struct archive_layer *l)
{
    struct archive_entry *entry;
    l->offset = 0;
    l->status = STATUS_OK;
    l->xz = archive_read_new();
    if (!l->xz || archive_read_append_filter(l->xz, ARCHIVE_FILTER_XZ) != ARCHIVE_OK ||
        archive_read_support_format_raw(l->xz) != ARCHIVE_OK ||
        archive_read_set_read_callback(l->xz, read_packed) != ARCHIVE_OK ||
        archive_read_set_callback_data(l->xz, l) != ARCHIVE_OK) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to unpack xz", l->name);
    }
    return archive_read_open1(l->xz) == ARCHIVE_OK && !l->status &&
                   archive_read_next_header(l->xz, &entry) == ARCHIVE_OK && !l->status
               ? STATUS_OK
               : fail_xz(l);
}

static enum status read_xz(struct archive_layer *l, void *dst, size_t cap, size_t *n)
{
    const la_ssize_t got = archive_read_data(l->xz, dst, cap);
    *n = got < 0 ? 0 : (size_t)got;
    return got < 0 || l->status ? fail_xz(l) : STATUS_OK;
}

/* --- either ----------------------------------------------------------------------------------- */

static void end(struct archive_layer *l)
{
    source_free(l->gzip);
    l->gzip = NULL;
    if (l->xz) {
        (void)archive_read_free(l->xz);
        l->xz = NULL;
    }
}

/* Goes to the layer's begin. */
static enum status begin(struct archive_layer *l)
{
    end(l);
    if (l->kind == KIND_XZ) {
        return begin_xz(l);
    }
    const int fd = fcntl(l->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        return status_fail_errno(errno, "%s: cannot be opened", l->name);
    }
    const enum status status = source_open(fd, l->name, &l->gzip);
    if (!status) {
        source_stop_at(l->gzip, l->stop);
    }
    return status;
}

enum status archive_layer_read(struct archive_layer *l, void *dst, size_t cap, size_t *n)
{
    *n = 0;
    return l->gzip ? source_read(l->gzip, dst, cap, n) : read_xz(l, dst, cap, n);
}

static enum status check_inner(const struct archive_layer *l, size_t n)
{
    const enum kind inner = kind_of(l->block, n);
    return inner == KIND_NONE
               ? STATUS_OK
               : status_fail(STATUS_BAD_INPUT,
                             "%s: is compressed twice (%s within %s), and one layer is unpacked; "
                             "unpack the outer one first",
                             l->name, kind_names[inner], kind_names[l->kind]);
}

/* Unpacks all of it, whose bytes are of no interest yet. */
static enum status verify(struct archive_layer *l)
{
    size_t n;
    enum status status = archive_layer_read(l, l->block, sizeof l->block, &n);
    if (!status) {
        status = check_inner(l, n);
    }
    while (!status && n > 0) {
        status =
            is_stopped(l) ? fail_stopped(l) : archive_layer_read(l, l->block, sizeof l->block, &n);
    }
    return status;
}

enum status archive_layer_open(int fd, const char *name, const atomic_bool *stop,
                               struct archive_layer **out)
{
    unsigned char head[MAGIC_BYTES];
    size_t n;
    *out = NULL;
    enum status status = read_file(fd, name, 0, head, sizeof head, &n);
    if (status || kind_of(head, n) == KIND_NONE) {
        return status;
    }
    struct archive_layer *l = calloc(1, sizeof *l);
    if (!l || !(l->name = strdup(name))) {
        free(l);
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", name);
    }
    l->fd = fd;
    l->stop = stop;
    l->kind = kind_of(head, n);
    status = begin(l);
    if (!status) {
        status = verify(l);
    }
    if (!status) {
        status = begin(l);
    }
    if (status) {
        archive_layer_free(l);
        return status;
    }
    *out = l;
    return STATUS_OK;
}

void archive_layer_free(struct archive_layer *l)
{
    if (!l) {
        return;
    }
    end(l);
    free(l->name);
    free(l);
}
