/*
 * pack_grow - members of a zip that grow at the same time, and whose length is known at their end
 * only. A zip holds one member after the other, so their pieces wait in temporary files without a
 * name, beside the pack, and are copied into it once: packed bytes, at the speed of the page cache.
 */
#include "formats/pack/pack_state.h"

#include "formats/base/io_watch.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <isa-l.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { GATHER_BYTES = 1 << 16 }; /* small pieces are written so many bytes at a time */

static enum status growth_new(struct pack *p, const char *member, struct pack_growth **out)
{
    char name[32];
    struct pack_growth *g = calloc(1, sizeof *g);
    if (g == NULL || (g->member = strdup(member)) == NULL) {
        free(g);
        return status_fail(STATUS_NO_MEMORY, "no memory to write %s", p->name);
    }
    snprintf(name, sizeof name, ".growing.%u", p->n_growths++);
    g->fd = openat(p->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (g->fd < 0 || unlinkat(p->dir_fd, name, 0) != 0) {
        const int error = errno;
        pack_growth_free(g);
        return status_fail_errno(error, "cannot make a temporary file for %s", p->name);
    }
    *out = g;
    return STATUS_OK;
}

/* Where the list holds the member, or would get it. */
static struct pack_growth **find(struct pack *p, const char *member)
{
    struct pack_growth **g = &p->growths;
    while (*g != NULL && strcmp((*g)->member, member) != 0) {
        g = &(*g)->next;
    }
    return g;
}

static enum status write_all(const struct pack *p, int fd, const unsigned char *data, size_t n)
{
    return io_watch_write_all(fd, data, n)
               ? STATUS_OK
               : status_fail_errno(errno, "cannot write a temporary file for %s", p->name);
}

static enum status flush(const struct pack *p, struct pack_growth *g)
{
    const enum status st = write_all(p, g->fd, g->buffer.data, g->buffer.len);
    bytes_clear(&g->buffer);
    return st;
}

enum status pack_grow(struct pack *p, const char *member, const struct pack_piece *piece)
{
    assert(!piece->last);
    struct pack_growth **at = find(p, member);
    if (*at == NULL) {
        STATUS_TRY(growth_new(p, member, at));
    }
    struct pack_growth *g = *at;
    g->crc = (uint32_t)crc32_combine(g->crc, piece->crc, (off_t)piece->raw_bytes);
    g->raw_bytes += piece->raw_bytes;
    g->packed_bytes += piece->packed.len;
    if (g->buffer.len + piece->packed.len > GATHER_BYTES) {
        STATUS_TRY(flush(p, g));
    }
    return piece->packed.len > GATHER_BYTES
               ? write_all(p, g->fd, piece->packed.data, piece->packed.len)
               : bytes_append(&g->buffer, piece->packed.data, piece->packed.len);
}

/* Puts what the temporary file holds into the member that has begun. */
static enum status copy_packed(struct pack *p, const struct pack_growth *g)
{
    struct pack_piece piece = {.crc = 0};
    enum status st = bytes_reserve(&piece.packed, PACK_PIECE_BYTES);
    for (uint64_t done = 0; done < g->packed_bytes && st == STATUS_OK; done += piece.packed.len) {
        const uint64_t left = g->packed_bytes - done;
        const size_t want = left < PACK_PIECE_BYTES ? (size_t)left : PACK_PIECE_BYTES;
        int error;
        piece.packed.len = io_watch_pread_all(g->fd, piece.packed.data, want, done, &error);
        piece.packed_crc = crc32_gzip_refl(0, piece.packed.data, piece.packed.len);
        st = piece.packed.len == want
                 ? pack_append(p, &piece)
                 : status_fail_errno(error != 0 ? error : EIO,
                                     "cannot read a temporary file for %s", p->name);
    }
    bytes_free(&piece.packed);
    return st;
}

static enum status gather(struct pack *p, struct pack_growth *g)
{
    static const unsigned char no_more[2] = {3, 0}; /* deflate: a last block with nothing in it */
    struct pack_member_state *m = &p->member;
    STATUS_TRY(flush(p, g));
    STATUS_TRY(copy_packed(p, g));
    m->crc = (uint32_t)crc32_combine(m->crc, g->crc, (off_t)g->raw_bytes);
    m->raw_bytes += g->raw_bytes;
    const struct pack_piece end = {.packed = {.data = (unsigned char *)no_more, .len = 2},
                                   .packed_crc = crc32_gzip_refl(0, no_more, 2),
                                   .last = true};
    return pack_append(p, &end);
}

enum status pack_gather(struct pack *p, const char *member, const struct pack_piece *head,
                        uint64_t raw_bytes)
{
    struct pack_growth **at = find(p, member), none = {.fd = -1}, *g = *at != NULL ? *at : &none;
    if (g->raw_bytes != raw_bytes) {
        return status_fail(STATUS_INTERNAL,
                           "%s: member %s has grown to %llu bytes, but its head says %llu", p->name,
                           member, (unsigned long long)g->raw_bytes, (unsigned long long)raw_bytes);
    }
    STATUS_TRY(pack_member(p, member));
    STATUS_TRY(pack_append(p, head));
    STATUS_TRY(gather(p, g));
    if (g != &none) {
        *at = g->next;
        g->next = NULL;
        pack_growth_free(g);
    }
    return STATUS_OK;
}
