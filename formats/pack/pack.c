/*
 * pack - an output file from pieces that are already deflated: keeps the order, the sums and the
 * container's rules; compresses nothing itself (pack_deflate.c).
 *
 * Small puts are gathered, large ones are written from where they are: a small file costs one
 * write(2). Nothing is synced: the caller that publishes a result does.
 *
 * A zip's member of one piece gets a local header that holds its sizes, and so does a stored file.
 * A longer one is streamed: its sizes follow it in a data descriptor (flag bit 3, 64-bit fields,
 * announced by a zip64 extra field as Python's zipfile does), so that nothing is ever patched and
 * the file's own CRC-32 grows with it. The central directory, which is what readers go by, always
 * holds the true sizes, and zip64 fields only where 32 bits do not do. Dates are 1980-01-01, made
 * by "MS-DOS": no modes, no clock. Why not minizip, which has raw entries: it takes the CRC-32 of
 * the packed bytes once more, copies them through a 64 KiB buffer (1.3 GB/s where the writes alone
 * run at several), and patches every local header. Why not libarchive, which reads archives here:
 * it takes that CRC-32 once more, too, and lets the sizes of a stored member follow it, so that who
 * reads from a pipe does not know where it ends.
 *
 * Sources: RFC 1951 (a run of blocks that ends on a byte with no final block may be followed by
 * another), RFC 1952 (gzip), PKWARE APPNOTE.TXT 6.3.9, sections 4.3.7, 4.3.9, 4.3.12-4.3.16, 4.5.3.
 */
#include "formats/pack/pack.h"

#include "formats/base/io_watch.h"
#include "formats/pack/pack_state.h"

#include <assert.h>
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

/* --- the file --------------------------------------------------------------------------------- */

/* Gathered before a write: large enough that the calls cost nothing, small against a piece's work.
 */
enum { GATHER_BYTES = 1 << 20, DIRECT_BYTES = 1 << 18 };

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

static enum status write_all(const struct pack *p, const unsigned char *data, size_t n)
{
    return io_watch_write_all(p->fd, data, n) ? STATUS_OK
           : errno == EPIPE ? status_fail(STATUS_CANCELLED, "%s: the reader has closed it", p->name)
                            : status_fail_errno(errno, "cannot write %s", p->name);
}

static enum status flush(struct pack *p)
{
    const enum status st = write_all(p, p->buffer.data, p->buffer.len);
    bytes_clear(&p->buffer);
    return st;
}

static void count(struct pack *p, uint64_t n, uint32_t crc)
{
    p->crc = p->size == 0 ? crc : (uint32_t)crc32_combine(p->crc, crc, (off_t)n);
    p->size += n;
}

/* Puts n bytes whose CRC-32 is known. */
static enum status put_known(struct pack *p, const void *data, size_t n, uint32_t crc)
{
    if (n == 0) {
        return STATUS_OK;
    }
    count(p, n, crc);
    if (n >= DIRECT_BYTES || p->buffer.len + n > GATHER_BYTES) {
        STATUS_TRY(flush(p));
    }
    return n < DIRECT_BYTES ? bytes_append(&p->buffer, data, n) : write_all(p, data, n);
}

/* Puts what was composed, unless that failed, and frees it. */
static enum status put(struct pack *p, struct bytes *text, enum status failed)
{
    if (failed == STATUS_OK) {
        failed = put_known(p, text->data, text->len, crc32_gzip_refl(0, text->data, text->len));
    }
    bytes_free(text);
    return failed;
}

/* --- files that are copied -------------------------------------------------------------------- */

/* What a file holds goes into a pack as it is: by the system, which moves what is in the page cache
 * once, or lets both files share it; else in blocks. */
enum { COPY_BYTES = 1 << 26 }; /* the most that the system copies in one call */

struct copy {
    struct pack *pack;
    int from;
    uint64_t n, done;
    const char *what; /* for messages */
    const int *stop;
};

static bool is_stopped(const struct copy *c)
{
    return c->stop != NULL && __atomic_load_n(c->stop, __ATOMIC_RELAXED) != 0;
}

/* What copy_file_range says where a file system, or a filter of system calls, does not have it:
 * also that it has copied nothing. */
static bool cannot_copy(ssize_t n, int error)
{
    return n == 0 || (n < 0 && (error == EXDEV || error == EINVAL || error == ENOSYS ||
                                error == EOPNOTSUPP || error == EPERM || error == EBADF));
}

/* c->done stays behind c->n where the system cannot do so. */
static enum status copy_in_system(struct copy *c)
{
    while (c->done < c->n && !is_stopped(c)) {
        const uint64_t left = c->n - c->done;
        const ssize_t n = io_watch_copy(c->from, c->done, c->pack->fd,
                                        left < COPY_BYTES ? (size_t)left : (size_t)COPY_BYTES);
        if (cannot_copy(n, errno)) {
            return STATUS_OK;
        }
        if (n < 0 && errno != EINTR) {
            return status_fail_errno(errno, "cannot copy %s into %s", c->what, c->pack->name);
        }
        c->done += n > 0 ? (uint64_t)n : 0;
    }
    return STATUS_OK;
}

/* What is left; a file that is too short is found here. */
static enum status copy_by_hand(struct copy *c)
{
    struct bytes block = {.len = 0};
    enum status st = c->done < c->n ? bytes_reserve(&block, PACK_PIECE_BYTES) : STATUS_OK;
    while (c->done < c->n && st == STATUS_OK && !is_stopped(c)) {
        const uint64_t left = c->n - c->done;
        const size_t want = left < PACK_PIECE_BYTES ? (size_t)left : PACK_PIECE_BYTES;
        int error;
        const size_t n = io_watch_pread_all(c->from, block.data, want, c->done, &error);
        if (n < want) {
            st = status_fail_errno(error != 0 ? error : EIO, "cannot read %s for %s", c->what,
                                   c->pack->name);
        } else if (!io_watch_write_all(c->pack->fd, block.data, n)) {
            st = status_fail_errno(errno, "cannot write %s", c->pack->name);
        }
        c->done += n;
    }
    bytes_free(&block);
    return st;
}

enum status pack_copy(struct pack *p, int from, uint64_t n, uint32_t crc, const char *what,
                      const int *stop)
{
    struct copy c = {.pack = p, .from = from, .n = n, .what = what, .stop = stop};
    if (n == 0) {
        return STATUS_OK;
    }
    count(p, n, crc);
    STATUS_TRY(flush(p));
    STATUS_TRY(copy_in_system(&c));
    STATUS_TRY(copy_by_hand(&c));
    return c.done == n ? STATUS_OK
                       : status_fail(STATUS_CANCELLED, "%s: it was told to stop", p->name);
}

/* --- containers ------------------------------------------------------------------------------- */

/* What a container adds around the deflated pieces. Each may be NULL: nothing to do. */
struct pack_container {
    /* Before the first piece of a member, which is given: it may be the only one. */
    enum status (*begin)(struct pack *p, const struct pack_piece *first);
    /* After the last piece of a member. */
    enum status (*end)(struct pack *p);
    /* After the last member. */
    enum status (*finish)(struct pack *p);
    bool named; /* members have names, and there may be several or none */
};

static enum status gzip_begin(struct pack *p, const struct pack_piece *first)
{
    /* deflate, no flags, no time, no hint, Unix */
    static const unsigned char head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    (void)first;
    return put_known(p, head, sizeof head, crc32_gzip_refl(0, head, sizeof head));
}

static enum status gzip_end(struct pack *p)
{
    struct bytes text = {.len = 0};
    enum status st = STATUS_OK;
    bytes_put_le(&text, p->member.crc, 4, &st);
    bytes_put_le(&text, p->member.raw_bytes, 4, &st); /* modulo 2^32 */
    return put(p, &text, st);
}

enum {
    VERSION_DEFLATE = 20,
    VERSION_ZIP64 = 45,
    FLAG_STREAMED = 1 << 3,
    METHOD_STORE = 0,
    METHOD_DEFLATE = 8,
    DOS_DATE = (0 << 9) | (1 << 5) | 1, /* year since 1980, month, day */
    ZIP64_ID = 1,
};

static const uint32_t too_big_32 = 0xffffffff;

static uint64_t clip_32(uint64_t value)
{
    return value < too_big_32 ? value : too_big_32;
}

/* Fields of a record. */
struct fields {
    struct bytes bytes;
    enum status st;
};

static void field(struct fields *f, uint64_t value, size_t n)
{
    bytes_put_le(&f->bytes, value, n, &f->st);
}

/* The fields that local header and directory entry have in common. */
static void entry_fields(struct fields *f, const struct pack_member_state *m, uint32_t crc,
                         uint64_t packed_bytes, uint64_t raw_bytes, size_t extra_len)
{
    field(f, m->streamed || extra_len > 0 ? VERSION_ZIP64 : VERSION_DEFLATE, 2);
    field(f, m->streamed ? FLAG_STREAMED : 0, 2);
    field(f, m->stored ? METHOD_STORE : METHOD_DEFLATE, 2);
    field(f, 0, 2); /* 00:00 */
    field(f, DOS_DATE, 2);
    field(f, crc, 4);
    field(f, clip_32(packed_bytes), 4);
    field(f, clip_32(raw_bytes), 4);
    field(f, strlen(m->name), 2);
    field(f, extra_len, 2);
}

static enum status zip_begin(struct pack *p, const struct pack_piece *first)
{
    struct pack_member_state *const m = &p->member;
    const uint64_t raw = first->raw_bytes, packed = first->packed.len;
    struct fields f = {.st = STATUS_OK};
    m->streamed = !first->last;
    const bool wide = m->streamed || raw >= too_big_32 || packed >= too_big_32;
    field(&f, 0x04034b50, 4);
    entry_fields(&f, m, m->streamed ? 0 : first->crc, wide ? too_big_32 : packed,
                 wide ? too_big_32 : raw, wide ? 4 + 16 : 0);
    bytes_put(&f.bytes, m->name, strlen(m->name), &f.st);
    if (wide) { /* both sizes */
        field(&f, ZIP64_ID, 2);
        field(&f, 16, 2);
        field(&f, m->streamed ? 0 : raw, 8);
        field(&f, m->streamed ? 0 : packed, 8);
    }
    return put(p, &f.bytes, f.st);
}

static enum status put_descriptor(struct pack *p)
{
    struct fields f = {.st = STATUS_OK};
    field(&f, 0x08074b50, 4);
    field(&f, p->member.crc, 4);
    field(&f, p->member.packed_bytes, 8);
    field(&f, p->member.raw_bytes, 8);
    return put(p, &f.bytes, f.st);
}

static enum status zip_end(struct pack *p)
{
    const struct pack_member_state *const m = &p->member;
    if (m->streamed) {
        STATUS_TRY(put_descriptor(p));
    }
    const uint64_t wide[] = {m->raw_bytes, m->packed_bytes, m->offset}; /* in this order */
    size_t n_wide = 0;
    for (size_t i = 0; i < 3; i++) {
        n_wide += wide[i] >= too_big_32;
    }
    struct fields f = {.bytes = p->directory, .st = STATUS_OK};
    field(&f, 0x02014b50, 4);
    field(&f, m->streamed || n_wide > 0 ? VERSION_ZIP64 : VERSION_DEFLATE, 2); /* by: MS-DOS */
    entry_fields(&f, m, m->crc, m->packed_bytes, m->raw_bytes, n_wide > 0 ? 4 + 8 * n_wide : 0);
    field(&f, 0, 2); /* comment */
    field(&f, 0, 2); /* disk */
    field(&f, 0, 2); /* internal attributes: binary */
    field(&f, 0, 4); /* external attributes */
    field(&f, clip_32(m->offset), 4);
    bytes_put(&f.bytes, m->name, strlen(m->name), &f.st);
    if (n_wide > 0) {
        field(&f, ZIP64_ID, 2);
        field(&f, 8 * n_wide, 2);
    }
    for (size_t i = 0; i < 3; i++) {
        field(&f, wide[i], wide[i] >= too_big_32 ? 8 : 0);
    }
    p->directory = f.bytes;
    return f.st;
}

static enum status zip_finish(struct pack *p)
{
    const uint64_t n = p->n_members, dir_offset = p->size, dir_bytes = p->directory.len;
    struct fields f = {.bytes = p->directory, .st = STATUS_OK};
    if (n >= 0xffff || dir_offset >= too_big_32 || dir_bytes >= too_big_32) {
        field(&f, 0x06064b50, 4);
        field(&f, 44, 8); /* bytes of this record after this field */
        field(&f, VERSION_ZIP64, 2);
        field(&f, VERSION_ZIP64, 2);
        field(&f, 0, 4); /* this disk, the directory's disk */
        field(&f, 0, 4);
        field(&f, n, 8);
        field(&f, n, 8);
        field(&f, dir_bytes, 8);
        field(&f, dir_offset, 8);
        field(&f, 0x07064b50, 4);
        field(&f, 0, 4);
        field(&f, dir_offset + dir_bytes, 8);
        field(&f, 1, 4);
    }
    field(&f, 0x06054b50, 4);
    field(&f, 0, 2);
    field(&f, 0, 2);
    field(&f, n < 0xffff ? n : 0xffff, 2);
    field(&f, n < 0xffff ? n : 0xffff, 2);
    field(&f, clip_32(dir_bytes), 4);
    field(&f, clip_32(dir_offset), 4);
    field(&f, 0, 2);
    p->directory = (struct bytes){.len = 0};
    return put(p, &f.bytes, f.st);
}

static const struct pack_container containers[] = {
    [PACK_RAW] = {.named = false},
    [PACK_GZIP] = {.begin = gzip_begin, .end = gzip_end},
    [PACK_ZIP] = {.begin = zip_begin, .end = zip_end, .finish = zip_finish, .named = true},
};

/* --- pieces ----------------------------------------------------------------------------------- */

enum status pack_take(int fd, const char *name, enum pack_kind kind, struct pack **out)
{
    assert((size_t)kind < sizeof containers / sizeof containers[0]);
    *out = NULL;
    struct pack *p = calloc(1, sizeof *p);
    if (p == NULL || (p->name = strdup(name)) == NULL) {
        free(p);
        close(fd);
        return status_fail(STATUS_NO_MEMORY, "no memory to write %s", name);
    }
    p->fd = fd;
    p->dir_fd = -1;
    p->container = &containers[kind];
    *out = p;
    return STATUS_OK;
}

enum status pack_open(int dir_fd, const char *name, enum pack_kind kind, struct pack **out)
{
    *out = NULL;
    STATUS_TRY(make_folder(dir_fd, name));
    const int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) {
        return status_fail_errno(errno, "cannot create %s", name);
    }
    STATUS_TRY(pack_take(fd, name, kind, out));
    (*out)->dir_fd = dir_fd;
    return STATUS_OK;
}

/* The state that a member must be in before it may be left; raw bytes have no end of their own. */
static enum status check_complete(const struct pack *p)
{
    const bool none = p->container->named && p->n_members == 0;
    if (p->container->end != NULL && !none && !p->member.complete) {
        return status_fail(STATUS_INTERNAL, "%s: member %s has no last piece", p->name,
                           p->member.name != NULL ? p->member.name : "1");
    }
    return STATUS_OK;
}

enum status pack_member(struct pack *p, const char *member)
{
    assert(p->container->named && strlen(member) < 0xffff);
    STATUS_TRY(check_complete(p));
    char *name = strdup(member);
    if (name == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory to write %s", p->name);
    }
    free(p->member.name);
    p->member = (struct pack_member_state){.name = name, .offset = p->size};
    p->n_members++;
    return STATUS_OK;
}

enum status pack_append(struct pack *p, const struct pack_piece *piece)
{
    struct pack_member_state *m = &p->member;
    const struct pack_container *c = p->container;
    if (m->complete || (c->named && p->n_members == 0)) {
        return status_fail(STATUS_INTERNAL, "%s: a piece outside of a member", p->name);
    }
    STATUS_TRY(!m->begun && c->begin != NULL ? c->begin(p, piece) : STATUS_OK);
    STATUS_TRY(put_known(p, piece->packed.data, piece->packed.len, piece->packed_crc));
    m->crc = m->begun ? (uint32_t)crc32_combine(m->crc, piece->crc, (off_t)piece->raw_bytes)
                      : piece->crc;
    m->head_bytes = m->begun ? m->head_bytes : piece->raw_bytes;
    m->head_crc = m->begun ? m->head_crc : piece->crc;
    m->raw_bytes += piece->raw_bytes;
    m->packed_bytes += piece->packed.len;
    m->begun = true;
    m->complete = piece->last;
    return piece->last && c->end != NULL ? c->end(p) : STATUS_OK;
}

enum status pack_store(struct pack *p, const char *member, int fd, uint64_t bytes, uint32_t crc,
                       const int *stop)
{
    const struct pack_piece whole = {.packed.len = (size_t)bytes, /* which are not in memory */
                                     .raw_bytes = bytes,
                                     .crc = crc,
                                     .packed_crc = crc,
                                     .last = true};
    STATUS_TRY(pack_member(p, member));
    struct pack_member_state *const m = &p->member;
    m->stored = true;
    STATUS_TRY(p->container->begin(p, &whole));
    STATUS_TRY(pack_copy(p, fd, bytes, crc, member, stop));
    m->raw_bytes = m->packed_bytes = bytes;
    m->crc = crc;
    m->begun = m->complete = true;
    return p->container->end(p);
}

enum status pack_header(struct pack *p, const unsigned char header[PACK_HEADER_BYTES])
{
    static const unsigned char zeros[PACK_HEADER_BYTES];
    const uint32_t change = crc32_gzip_refl(0, header, PACK_HEADER_BYTES) ^
                            crc32_gzip_refl(0, zeros, PACK_HEADER_BYTES);
    STATUS_TRY(flush(p));
    if (lseek(p->fd, 0, SEEK_SET) != 0) {
        return status_fail_errno(errno, "cannot write %s", p->name);
    }
    STATUS_TRY(write_all(p, header, PACK_HEADER_BYTES));
    p->crc ^= (uint32_t)crc32_combine(change, 0, (off_t)(p->size - PACK_HEADER_BYTES)); /* linear */
    return STATUS_OK;
}

static enum status finish(struct pack *p)
{
    STATUS_TRY(check_complete(p));
    if (p->growths != NULL) {
        return status_fail(STATUS_INTERNAL, "%s: a member has grown and was not ended", p->name);
    }
    STATUS_TRY(p->container->finish != NULL ? p->container->finish(p) : STATUS_OK);
    const enum status st = flush(p);
    const int fd = p->fd;
    p->fd = -1;
    if (io_watch_close(fd) != 0 && st == STATUS_OK && errno != EINTR) {
        return status_fail_errno(errno, "cannot finish %s", p->name);
    }
    return st;
}

enum status pack_close(struct pack *p, uint64_t *bytes, uint32_t *crc)
{
    const enum status st = finish(p);
    *bytes = p->size;
    *crc = p->crc;
    pack_abandon(p);
    return st;
}

void pack_growth_free(struct pack_growth *g)
{
    while (g != NULL) {
        struct pack_growth *next = g->next;
        if (g->fd >= 0) {
            (void)io_watch_close(g->fd); /* its bytes are no longer needed */
        }
        bytes_free(&g->buffer);
        free(g->member);
        free(g);
        g = next;
    }
}

void pack_abandon(struct pack *p)
{
    if (p == NULL) {
        return;
    }
    if (p->fd >= 0) {
        close(p->fd);
    }
    free(p->name);
    bytes_free(&p->buffer);
    pack_growth_free(p->growths);
    bytes_free(&p->directory);
    free(p->member.name);
    free(p);
}
