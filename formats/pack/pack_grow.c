/*
 * pack_grow - members of a zip that grow at the same time, and whose length may be known at their
 * end only. A zip holds one member after the other: one that has begun grows where it is, the
 * pieces of others wait in temporary files without a name, beside the pack, and are copied into it
 * once: packed bytes, by the system if it can.
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

/* Whether the member has begun in the pack. */
static bool is_current(const struct pack *p, const char *member)
{
    const struct pack_member_state *const m = &p->member;
    return m->begun && !m->complete && strcmp(m->name, member) == 0;
}

enum status pack_grow(struct pack *p, const char *member, const struct pack_piece *piece)
{
    assert(!piece->last);
    if (is_current(p, member)) {
        return pack_append(p, piece);
    }
    struct pack_growth **at = find(p, member);
    if (*at == NULL) {
        STATUS_TRY(growth_new(p, member, at));
    }
    struct pack_growth *g = *at;
    g->crc = (uint32_t)crc32_combine(g->crc, piece->crc, (off_t)piece->raw_bytes);
    g->packed_crc =
        (uint32_t)crc32_combine(g->packed_crc, piece->packed_crc, (off_t)piece->packed.len);
    g->raw_bytes += piece->raw_bytes;
    g->packed_bytes += piece->packed.len;
    if (g->buffer.len + piece->packed.len > GATHER_BYTES) {
        STATUS_TRY(flush(p, g));
    }
    return piece->packed.len > GATHER_BYTES
               ? write_all(p, g->fd, piece->packed.data, piece->packed.len)
               : bytes_append(&g->buffer, piece->packed.data, piece->packed.len);
}

static enum status end_member(struct pack *p)
{
    static const unsigned char no_more[2] = {3, 0}; /* deflate: a last block with nothing in it */
    const struct pack_piece end = {.packed = {.data = (unsigned char *)no_more, .len = 2},
                                   .packed_crc = crc32_gzip_refl(0, no_more, 2),
                                   .last = true};
    return pack_append(p, &end);
}

static enum status gather(struct pack *p, struct pack_growth *g)
{
    struct pack_member_state *m = &p->member;
    STATUS_TRY(flush(p, g));
    STATUS_TRY(pack_copy(p, g->fd, g->packed_bytes, g->packed_crc, "a temporary file", NULL));
    m->packed_bytes += g->packed_bytes;
    m->crc = (uint32_t)crc32_combine(m->crc, g->crc, (off_t)g->raw_bytes);
    m->raw_bytes += g->raw_bytes;
    return end_member(p);
}

enum status pack_gather(struct pack *p, const char *member, const struct pack_piece *head,
                        uint64_t raw_bytes)
{
    struct pack_growth **at = find(p, member), none = {.fd = -1}, *g = *at != NULL ? *at : &none;
    const bool current = is_current(p, member);
    const uint64_t grown = current ? p->member.raw_bytes - p->member.head_bytes : g->raw_bytes;
    if (grown != raw_bytes) {
        return status_fail(STATUS_INTERNAL,
                           "%s: member %s has grown to %llu bytes, but its head says %llu", p->name,
                           member, (unsigned long long)grown, (unsigned long long)raw_bytes);
    }
    if (current) {
        return head->raw_bytes == p->member.head_bytes && head->crc == p->member.head_crc
                   ? end_member(p)
                   : status_fail(STATUS_INTERNAL, "%s: member %s has begun with another head",
                                 p->name, member);
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
