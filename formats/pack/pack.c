/*
 * pack - an output file from pieces that are already deflated: keeps the order, the sums and the
 * container's rules; compresses nothing itself (pack_deflate.c).
 *
 * Sources: RFC 1951 (a run of blocks that ends on a byte with no final block may be followed by
 * another), RFC 1952 (gzip).
 */
#include "formats/pack/pack.h"

#include "formats/pack/pack_container.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static enum status gzip_begin(struct pack *p, const struct pack_piece *first)
{
    /* deflate, no flags, no time, no hint, Unix */
    static const unsigned char head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    (void)first;
    return pack_file_put(&p->file, head, sizeof head);
}

static enum status gzip_end(struct pack *p)
{
    unsigned char tail[8];
    for (unsigned i = 0; i < 4; i++) {
        tail[i] = (unsigned char)(p->member.crc >> (8 * i));
        tail[4 + i] = (unsigned char)(p->member.raw_bytes >> (8 * i));
    }
    return pack_file_put(&p->file, tail, sizeof tail);
}

static const struct pack_container pack_raw = {.begin = NULL};
static const struct pack_container pack_gzip = {.begin = gzip_begin, .end = gzip_end};

static const struct pack_container *const containers[] = {
    [PACK_RAW] = &pack_raw,
    [PACK_GZIP] = &pack_gzip,
    [PACK_ZIP] = &pack_zip,
};

enum status pack_open(int dir_fd, const char *name, enum pack_kind kind, struct pack **out)
{
    struct pack_file file;
    *out = NULL;
    const enum status st = pack_file_create(&file, dir_fd, name);
    return st == STATUS_OK ? pack_new(&file, kind, out) : st;
}

enum status pack_new(struct pack_file *file, enum pack_kind kind, struct pack **out)
{
    assert((size_t)kind < sizeof containers / sizeof containers[0]);
    struct pack *p = calloc(1, sizeof *p);
    *out = NULL;
    if (p == NULL) {
        pack_file_drop(file);
        return status_fail(STATUS_NO_MEMORY, "no memory to write an output file");
    }
    p->file = *file;
    p->container = containers[kind];
    *out = p;
    return STATUS_OK;
}

/* The state that a member must be in before it may be left; raw bytes have no end of their own. */
static enum status check_complete(const struct pack *p)
{
    const bool none = p->container->named && p->n_members == 0;
    if (p->container->end != NULL && !none && !p->member.complete) {
        return status_fail(STATUS_INTERNAL, "%s: member %s has no last piece", p->file.name,
                           p->member.name != NULL ? p->member.name : "1");
    }
    return STATUS_OK;
}

enum status pack_member(struct pack *p, const char *member)
{
    assert(p->container->named && strlen(member) < 0xffff);
    const enum status st = check_complete(p);
    if (st != STATUS_OK) {
        return st;
    }
    char *name = strdup(member);
    if (name == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory to write %s", p->file.name);
    }
    free(p->member.name);
    p->member = (struct pack_member_state){.name = name, .offset = p->file.size};
    p->n_members++;
    return STATUS_OK;
}

enum status pack_append(struct pack *p, const struct pack_piece *piece)
{
    struct pack_member_state *m = &p->member;
    const struct pack_container *c = p->container;
    enum status st = STATUS_OK;
    if (m->complete || (c->named && p->n_members == 0)) {
        return status_fail(STATUS_INTERNAL, "%s: a piece outside of a member", p->file.name);
    }
    if (!m->begun && c->begin != NULL) {
        st = c->begin(p, piece);
    }
    if (st == STATUS_OK) {
        st =
            pack_file_put_known(&p->file, piece->packed.data, piece->packed.len, piece->packed_crc);
    }
    if (st != STATUS_OK) {
        return st;
    }
    m->crc = m->begun ? (uint32_t)crc32_combine(m->crc, piece->crc, (off_t)piece->raw_bytes)
                      : piece->crc;
    m->raw_bytes += piece->raw_bytes;
    m->packed_bytes += piece->packed.len;
    m->begun = true;
    m->complete = piece->last;
    return piece->last && c->end != NULL ? c->end(p) : STATUS_OK;
}

enum status pack_close(struct pack *p, uint64_t *bytes, uint32_t *crc)
{
    enum status st = check_complete(p);
    if (st == STATUS_OK && p->container->finish != NULL) {
        st = p->container->finish(p);
    }
    if (st == STATUS_OK) {
        st = pack_file_finish(&p->file);
    }
    *bytes = p->file.size;
    *crc = p->file.crc;
    pack_abandon(p);
    return st;
}

void pack_abandon(struct pack *p)
{
    if (p == NULL) {
        return;
    }
    pack_file_drop(&p->file);
    bytes_free(&p->directory);
    free(p->member.name);
    free(p);
}
