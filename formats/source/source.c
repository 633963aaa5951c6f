/*
 * source - where the bytes of one input come from: a file, or a gzip stream in it.
 *
 * Three layers: file_fill() reads the file in order with pread and takes the CRC-32 of each piece
 * while it is in the cache, large pieces on several threads, since one copies a page cache slower
 * than several cores decode it; gzip_fill() unpacks that through zlib; the head is what has been
 * looked at and not consumed. Once it is used up, reading goes into the caller's memory.
 *
 * Gzip: RFC 1952. Members follow each other; zero bytes after the last one (tape padding) are
 * skipped as gzip -d does, anything else there is an error.
 */
#include "formats/source/source.h"

#include "formats/base/checked.h"
#include "formats/base/io_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <isa-l.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum {
    READ_BYTES = 256 << 10, /* one pread: its CRC is taken while the piece is in the L2 cache */
    HEAD_BYTES = 16 << 10,  /* the head grows in steps of this */
    MOST_PORTIONS = 16,     /* of a read on several threads, about READ_BYTES each at least */
    PAGE_BYTES = 4096
};

struct source {
    int fd;
    char *name;
    uint64_t file_bytes;
    struct timespec changed; /* mtime, when it was opened */
    uint64_t inode;
    uint64_t offset;      /* of the file, read in order so far */
    uint64_t seek_offset; /* the furthest place that source_read_at gave */
    uint32_t crc;         /* of the bytes before offset */
    struct source_helpers helpers;
    const atomic_bool *stop; /* NULL: never */
    bool packed, file_end, between_members;
    unsigned char *head; /* looked at and not consumed: head[head_at .. head_len) */
    size_t head_at, head_len, head_cap;
    z_stream z;
    unsigned char *packed_bytes; /* [READ_BYTES], when packed */
};

static enum status pread_full(const struct source *s, uint64_t offset, void *dst, size_t cap,
                              size_t *n)
{
    int error;
    *n = io_watch_pread_all(s->fd, dst, cap, offset, &error);
    return error == 0 ? STATUS_OK
                      : status_fail_errno(error, "%s: cannot read at byte %" PRIu64, s->name,
                                          offset + (uint64_t)*n);
}

/* Reads up to `cap` bytes from `offset` on and extends *crc by them. */
static enum status read_pieces(const struct source *s, uint64_t offset, unsigned char *dst,
                               size_t cap, size_t *n, uint32_t *crc)
{
    size_t got = READ_BYTES;
    *n = 0;
    while (*n < cap && got == READ_BYTES) {
        const size_t left = cap - *n;
        STATUS_TRY(
            pread_full(s, offset + *n, dst + *n, left < READ_BYTES ? left : READ_BYTES, &got));
        *crc = crc32_gzip_refl(*crc, dst + *n, got);
        *n += got;
    }
    return STATUS_OK;
}

/* A read that is cut into portions, of which any may turn out short. */
struct portions {
    const struct source *s;
    unsigned char *dst;
    size_t bytes; /* of each */
    size_t n[MOST_PORTIONS];
    uint32_t crc[MOST_PORTIONS];
};

static void read_portion(void *arg, size_t i)
{
    struct portions *p = arg;
    p->crc[i] = 0;
    if (read_pieces(p->s, p->s->offset + i * p->bytes, p->dst + i * p->bytes, p->bytes, &p->n[i],
                    &p->crc[i]) != STATUS_OK) {
        p->n[i] = 0; /* read again by the calling thread, which reports the error */
        p->crc[i] = 0;
    }
}

/* As much of the file's own bytes as whole portions give, up to the first that is short. */
static size_t read_portions(struct source *s, unsigned char *dst, size_t cap)
{
    struct portions p = {.s = s, .dst = dst};
    size_t count = (cap + READ_BYTES / 2) / READ_BYTES, n = 0;
    count = count < MOST_PORTIONS ? count : MOST_PORTIONS;
    if (s->helpers.run == NULL || count < 2) {
        return 0;
    }
    p.bytes = cap / count / PAGE_BYTES * PAGE_BYTES; /* little is left for the caller */
    s->helpers.run(s->helpers.context, count, read_portion, &p);
    for (size_t i = 0; i < count && n == i * p.bytes; i++) {
        s->crc = (uint32_t)crc32_combine(s->crc, p.crc[i], (z_off_t)p.n[i]);
        s->offset += p.n[i];
        n += p.n[i];
    }
    return n;
}

/* The file's own bytes, in order. */
static enum status file_fill(struct source *s, unsigned char *dst, size_t cap, size_t *n)
{
    *n = 0;
    if (s->file_end) {
        return STATUS_OK;
    }
    *n = read_portions(s, dst, cap);
    size_t got;
    STATUS_TRY(read_pieces(s, s->offset, dst + *n, cap - *n, &got, &s->crc));
    s->offset += got;
    *n += got;
    s->file_end = *n < cap;
    return STATUS_OK;
}

static uint64_t packed_offset(const struct source *s)
{
    return s->offset - s->z.avail_in;
}

static enum status refill_packed(struct source *s)
{
    size_t got = 0;
    const enum status status = s->stop && atomic_load(s->stop)
                                   ? status_fail(STATUS_CANCELLED, "%s: stopped", s->name)
                                   : file_fill(s, s->packed_bytes, READ_BYTES, &got);
    s->z.next_in = s->packed_bytes;
    s->z.avail_in = (uInt)got;
    return status;
}

/* Between members: finds the next one, or the end of the file (*end). */
static enum status next_member(struct source *s, bool *end)
{
    *end = false;
    for (bool padding = false;;) {
        if (s->z.avail_in == 0) {
            STATUS_TRY(refill_packed(s));
            if (s->z.avail_in == 0) {
                *end = true;
                return STATUS_OK;
            }
        }
        if (!padding && *s->z.next_in == 0x1f) {
            s->between_members = false;
            return inflateReset(&s->z) == Z_OK
                       ? STATUS_OK
                       : status_fail(STATUS_INTERNAL, "%s: zlib cannot start again", s->name);
        }
        if (*s->z.next_in != 0) {
            return status_fail(STATUS_BAD_INPUT,
                               "%s: compressed byte %" PRIu64 ": the gzip stream ends here and "
                               "something else follows",
                               s->name, packed_offset(s));
        }
        padding = true;
        s->z.next_in++;
        s->z.avail_in--;
    }
}

static enum status inflate_some(struct source *s)
{
    if (s->z.avail_in == 0) {
        STATUS_TRY(refill_packed(s));
        if (s->z.avail_in == 0) {
            return status_fail(STATUS_BAD_INPUT,
                               "%s: compressed byte %" PRIu64 ": the file ends within the gzip "
                               "stream; it was cut short, copy it again",
                               s->name, packed_offset(s));
        }
    }
    switch (inflate(&s->z, Z_NO_FLUSH)) {
    case Z_OK:
    case Z_BUF_ERROR: /* wants more input: the next call brings it */
        return STATUS_OK;
    case Z_STREAM_END:
        s->between_members = true;
        return STATUS_OK;
    case Z_MEM_ERROR:
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to unpack gzip", s->name);
    default:
        return status_fail(STATUS_BAD_INPUT,
                           "%s: compressed byte %" PRIu64 ": damaged gzip data (%s)", s->name,
                           packed_offset(s), s->z.msg ? s->z.msg : "needs a dictionary");
    }
}

static enum status gzip_fill(struct source *s, unsigned char *dst, size_t cap, size_t *n)
{
    *n = 0;
    while (*n < cap) {
        enum status status;
        if (s->between_members) {
            bool end;
            status = next_member(s, &end);
            if (status || end) {
                return status;
            }
        }
        const size_t left = cap - *n;
        const uInt room = left < INT_MAX ? (uInt)left : INT_MAX;
        s->z.next_out = dst + *n;
        s->z.avail_out = room;
        STATUS_TRY(inflate_some(s));
        *n += room - s->z.avail_out;
    }
    return STATUS_OK;
}

static enum status fill(struct source *s, unsigned char *dst, size_t cap, size_t *n)
{
    return s->packed ? gzip_fill(s, dst, cap, n) : file_fill(s, dst, cap, n);
}

/* Gives the file's first bytes, which were read to recognise gzip, to zlib. */
static enum status start_gzip(struct source *s)
{
    s->packed_bytes = malloc(READ_BYTES);
    if (!s->packed_bytes || inflateInit2(&s->z, 15 + 16) != Z_OK) {
        free(s->packed_bytes);
        s->packed_bytes = NULL;
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to unpack gzip", s->name);
    }
    s->packed = true;
    const size_t n = s->head_len - s->head_at;
    memcpy(s->packed_bytes, s->head + s->head_at, n);
    s->z.next_in = s->packed_bytes;
    s->z.avail_in = (uInt)n;
    s->head_at = s->head_len = 0;
    return STATUS_OK;
}

static enum status recognise(struct source *s)
{
    const unsigned char *head;
    size_t n;
    STATUS_TRY(source_peek(s, 3, &head, &n));
    const bool gzip = n >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8;
    return gzip ? start_gzip(s) : STATUS_OK;
}

enum status source_open(int fd, const char *name, struct source **out)
{
    *out = NULL;
    enum status status;
    struct stat st;
    struct source *s = calloc(1, sizeof *s);
    if (s) {
        s->name = strdup(name);
    }
    if (!s || !s->name) {
        free(s);
        close(fd);
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", name);
    }
    s->fd = fd;
    if (fstat(fd, &st) != 0) {
        status = status_fail_errno(errno, "%s: cannot look at it", name);
        goto fail;
    }
    if (!S_ISREG(st.st_mode)) {
        status = status_fail(STATUS_BAD_INPUT, "%s: is not a regular file", name);
        goto fail;
    }
    s->file_bytes = (uint64_t)st.st_size;
    s->changed = st.st_mtim;
    s->inode = st.st_ino;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* only a hint */
    status = recognise(s);
    if (status) {
        goto fail;
    }
    *out = s;
    return STATUS_OK;
fail:
    source_free(s);
    return status;
}

void source_free(struct source *s)
{
    if (!s) {
        return;
    }
    if (s->packed) {
        inflateEnd(&s->z);
    }
    close(s->fd);
    free(s->packed_bytes);
    free(s->head);
    free(s->name);
    free(s);
}

const char *source_name(const struct source *s)
{
    return s->name;
}

uint64_t source_file_bytes(const struct source *s)
{
    return s->file_bytes;
}

uint64_t source_file_offset(const struct source *s)
{
    const uint64_t in_order =
        s->packed ? packed_offset(s) : s->offset - (uint64_t)(s->head_len - s->head_at);
    return in_order > s->seek_offset ? in_order : s->seek_offset;
}

bool source_is_packed(const struct source *s)
{
    return s->packed;
}

uint64_t source_most_bytes(const struct source *s)
{
    uint64_t most = s->file_bytes;
    if (s->packed && __builtin_mul_overflow(most, DEFLATE_MAX_RATIO, &most)) {
        most = UINT64_MAX;
    }
    return most;
}

void source_set_helpers(struct source *s, const struct source_helpers *helpers)
{
    s->helpers = *helpers;
}

void source_stop_at(struct source *s, const atomic_bool *stop)
{
    s->stop = stop;
}

int source_fd(const struct source *s)
{
    return s->fd;
}

enum status source_check_unchanged(const struct source *s)
{
    struct stat st;
    if (fstat(s->fd, &st) != 0) {
        return status_fail_errno(errno, "%s: cannot look at it", s->name);
    }
    if ((uint64_t)st.st_size == s->file_bytes && st.st_mtim.tv_sec == s->changed.tv_sec &&
        st.st_mtim.tv_nsec == s->changed.tv_nsec) {
        return STATUS_OK;
    }
    return status_fail(STATUS_CHANGED,
                       "%s: changed while it was being read (%" PRIu64 " bytes, now %" PRIu64
                       "); try again when it is complete",
                       s->name, s->file_bytes, (uint64_t)st.st_size);
}

struct timespec source_modified(const struct source *s)
{
    return s->changed;
}

uint64_t source_inode(const struct source *s)
{
    return s->inode;
}

enum status source_crc(struct source *s, uint32_t *out)
{
    *out = 0;
    unsigned char *piece = malloc(READ_BYTES);
    if (!piece) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory for its checksum", s->name);
    }
    uint32_t crc = s->crc;
    uint64_t at = s->offset;
    enum status status;
    size_t n;
    do {
        status = pread_full(s, at, piece, READ_BYTES, &n);
        crc = crc32_gzip_refl(crc, piece, n);
        at += n;
    } while (!status && n == READ_BYTES);
    free(piece);
    if (status) {
        return status;
    }
    *out = crc;
    return STATUS_OK;
}

enum status source_read_at(struct source *s, uint64_t offset, void *dst, size_t cap, size_t *n)
{
    *n = 0;
    if (offset >= s->file_bytes) {
        return STATUS_OK;
    }
    const enum status status = pread_full(s, offset, dst, cap, n);
    if (offset + *n > s->seek_offset) {
        s->seek_offset = offset + *n;
    }
    return status;
}

/* Room for `want` bytes from the start of the head on; what is there moves to the start. */
static enum status grow_head(struct source *s, size_t want)
{
    const size_t len = s->head_len - s->head_at;
    if (len > 0) {
        memmove(s->head, s->head + s->head_at, len);
    }
    s->head_at = 0;
    s->head_len = len;
    if (want <= s->head_cap) {
        return STATUS_OK;
    }
    size_t cap;
    unsigned char *head = NULL;
    if (checked_add(want, HEAD_BYTES - want % HEAD_BYTES, &cap)) {
        head = realloc(s->head, cap);
    }
    if (!head) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to look at its first %zu bytes",
                           s->name, want);
    }
    s->head = head;
    s->head_cap = cap;
    return STATUS_OK;
}

enum status source_peek(struct source *s, size_t want, const unsigned char **data, size_t *n)
{
    *data = NULL;
    *n = 0;
    if (s->head_len - s->head_at < want) {
        STATUS_TRY(grow_head(s, want));
        size_t got;
        STATUS_TRY(fill(s, s->head + s->head_len, s->head_cap - s->head_len, &got));
        s->head_len += got;
    }
    *data = s->head + s->head_at;
    *n = s->head_len - s->head_at;
    return STATUS_OK;
}

enum status source_read(struct source *s, void *dst, size_t cap, size_t *n)
{
    const size_t seen = s->head_len - s->head_at;
    const size_t from_head = seen < cap ? seen : cap;
    if (from_head > 0) {
        memcpy(dst, s->head + s->head_at, from_head);
        s->head_at += from_head;
    }
    if (s->head_at == s->head_len && s->head) {
        free(s->head); /* a head grown for long lines is not kept */
        s->head = NULL;
        s->head_at = s->head_len = s->head_cap = 0;
    }
    *n = from_head;
    if (from_head == cap) {
        return STATUS_OK;
    }
    size_t got;
    const enum status status = fill(s, (unsigned char *)dst + from_head, cap - from_head, &got);
    *n += got;
    return status;
}
