/*
 * source - where the bytes of one input come from; see source.h.
 *
 * Three layers: file_fill() reads the file in order with pread, or the stream, and takes the CRC-32
 * of each piece while it is in the cache, and what a text is cut by; large pieces of a file on
 * several threads, since one copies a page cache slower than several cores decode it; packed_fill()
 * unpacks that (unpack.h); the head is what has been looked at and not consumed, or given back.
 * Once it is used up, reading goes into the caller's memory.
 *
 * Compressed streams follow each other; zero bytes after the last one (tape padding) are skipped as
 * gzip -d does, anything else there is an error.
 *
 * UTF-16 is turned to UTF-8 above these layers, in pieces. Source: Unicode 15, 3.9 and 3.10.
 */
#include "formats/source/source.h"

#include "formats/base/bytes.h"
#include "formats/base/checked.h"
#include "formats/base/clones.h"
#include "formats/base/io_watch.h"
#include "formats/base/utf8.h"
#include "formats/source/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <isa-l.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h> /* crc32_combine */

enum {
    READ_BYTES = 128 << 10, /* one pread: its CRC is taken while the piece is in the L2 cache */
    HEAD_BYTES = 16 << 10,  /* the head grows in steps of this */
    MOST_PORTIONS = 16      /* of a read on several threads, about READ_BYTES each at least */
};

struct utf16 {
    bool is_on, high_first, ended;
    unsigned high;     /* a surrogate that waits for its partner */
    struct bytes text; /* made of it and not yet read: from `at` on */
    size_t at;
};

struct source {
    int fd;                      /* -1: a stream */
    struct source_stream stream; /* read NULL: a file */
    struct source_stream made;   /* read NULL: what comes out is the file's own */
    const char *made_of;
    size_t made_hold;
    char *name;
    uint64_t file_bytes;
    struct timespec changed; /* mtime, when it was opened */
    uint64_t inode;
    uint64_t offset;      /* of the file, read in order so far */
    uint64_t seek_offset; /* the furthest place that source_read_at gave */
    uint32_t crc;         /* of the bytes before offset */
    struct source_helpers helpers;
    const atomic_bool *stop; /* NULL: never */
    struct source_limits limits;
    const struct unpack_kind *packing; /* NULL: not compressed */
    struct unpack *unpack;
    uint64_t unpacked; /* bytes that have come out */
    bool file_end, between_streams;
    unsigned char *head; /* looked at and not consumed: head[head_at .. head_len) */
    size_t head_at, head_len, head_cap;
    unsigned char *packed_bytes; /* [READ_BYTES], when packed: */
    const unsigned char *packed_at;
    size_t packed_left;
    struct utf16 utf16;
};

static inline void count_some(const unsigned char *p, size_t n, struct source_counts *counts)
{
    const unsigned char delimiter = counts->delimiter;
    unsigned char newlines = 0, delimiters = 0, quotes = 0;
    for (size_t i = 0; i < n; i++) {
        newlines = (unsigned char)(newlines + (p[i] == '\n'));
        delimiters = (unsigned char)(delimiters + (p[i] == delimiter));
        quotes = (unsigned char)(quotes + (p[i] == '"'));
    }
    counts->newlines += newlines;
    counts->delimiters += delimiters;
    counts->quotes += quotes;
}

CPU_CLONES
void source_count(const unsigned char *p, size_t n, struct source_counts *counts)
{
    enum { BLOCK = 128 }; /* a byte holds its counts, and the loop runs in vectors */
    for (; n >= BLOCK; p += BLOCK, n -= BLOCK) {
        count_some(p, BLOCK, counts);
    }
    count_some(p, n, counts);
}

/* The stream's next bytes; fewer than cap only at its end. */
static enum status read_stream(const struct source *s, unsigned char *dst, size_t cap, size_t *n)
{
    size_t got = 1;
    for (*n = 0; *n < cap && got > 0; *n += got) {
        got = 0;
        STATUS_TRY(s->stream.read(s->stream.user, s->stop, dst + *n, cap - *n, &got));
    }
    return STATUS_OK;
}

static enum status pread_full(const struct source *s, uint64_t offset, void *dst, size_t cap,
                              size_t *n)
{
    if (source_is_stream(s)) { /* which is read in order */
        return read_stream(s, dst, cap, n);
    }
    int error;
    *n = io_watch_pread_all(s->fd, dst, cap, offset, &error);
    return error == 0 ? STATUS_OK
                      : status_fail_errno(error, "%s: cannot read at byte %" PRIu64, s->name,
                                          offset + (uint64_t)*n);
}

/* A stretch of the file: where it lies, and what is taken of it as it is read. */
struct stretch {
    uint64_t offset;
    unsigned char *dst;
    size_t cap, n;
    uint32_t crc;
    struct source_counts *counts; /* NULL: nobody asks */
};

/* Up to cap bytes; fewer only at the file's end. */
static enum status read_stretch(const struct source *s, struct stretch *p)
{
    size_t got = READ_BYTES;
    while (p->n < p->cap && got == READ_BYTES) {
        unsigned char *const to = p->dst + p->n;
        const size_t left = p->cap - p->n;
        STATUS_TRY(
            pread_full(s, p->offset + p->n, to, left < READ_BYTES ? left : READ_BYTES, &got));
        p->crc = crc32_gzip_refl(p->crc, to, got);
        if (p->counts) {
            source_count(to, got, p->counts);
        }
        p->n += got;
    }
    return STATUS_OK;
}

/* A read that is cut into portions, of which any may turn out short. */
struct portions {
    const struct source *s;
    struct stretch at[MOST_PORTIONS];
    struct source_counts counts[MOST_PORTIONS];
};

static void read_portion(void *arg, size_t i)
{
    struct portions *p = arg;
    if (read_stretch(p->s, &p->at[i]) != STATUS_OK) {
        p->at[i].n = 0; /* read again by the calling thread, which reports the error */
    }
}

/* As much of the file's own bytes as whole portions give, up to the first that is short. */
static size_t read_portions(struct source *s, unsigned char *dst, size_t cap,
                            struct source_counts *counts)
{
    struct portions p = {.s = s};
    size_t count = (cap + READ_BYTES / 2) / READ_BYTES, n = 0;
    count = count < MOST_PORTIONS ? count : MOST_PORTIONS;
    if (s->helpers.run == NULL || count < 2 || source_is_stream(s)) {
        return 0;
    }
    const size_t bytes = cap / count;
    for (size_t i = 0; i < count; i++) {
        p.counts[i].delimiter = counts ? counts->delimiter : 0;
        p.at[i] = (struct stretch){.offset = s->offset + i * bytes,
                                   .dst = dst + i * bytes,
                                   .cap = i + 1 < count ? bytes : cap - i * bytes,
                                   .counts = counts ? &p.counts[i] : NULL};
    }
    s->helpers.run(s->helpers.context, count, read_portion, &p);
    for (size_t i = 0; i < count && n == i * bytes && p.at[i].n > 0; i++) {
        s->crc = (uint32_t)crc32_combine(s->crc, p.at[i].crc, (z_off_t)p.at[i].n);
        n += p.at[i].n;
        if (counts) {
            counts->newlines += p.counts[i].newlines;
            counts->delimiters += p.counts[i].delimiters;
            counts->quotes += p.counts[i].quotes;
        }
    }
    s->offset += n;
    return n;
}

/* The file's own bytes, in order. */
static enum status file_fill(struct source *s, unsigned char *dst, size_t cap, size_t *n,
                             struct source_counts *counts)
{
    *n = 0;
    if (s->file_end) {
        return STATUS_OK;
    }
    *n = read_portions(s, dst, cap, counts);
    struct stretch rest = {
        .offset = s->offset, .dst = dst + *n, .cap = cap - *n, .crc = s->crc, .counts = counts};
    STATUS_TRY(read_stretch(s, &rest));
    s->crc = rest.crc;
    s->offset += rest.n;
    *n += rest.n;
    s->file_end = *n < cap;
    return STATUS_OK;
}

static uint64_t packed_offset(const struct source *s)
{
    return s->offset - s->packed_left;
}

static enum status refill_packed(struct source *s)
{
    size_t got = 0;
    enum status status = source_check_stop(s);
    status = status ? status : file_fill(s, s->packed_bytes, READ_BYTES, &got, NULL);
    s->packed_at = s->packed_bytes;
    s->packed_left = got;
    return status;
}

static enum status fail_unpacking(const struct source *s, enum status status, const char *why)
{
    const char *const kind = unpack_kind_name(s->packing);
    switch (status) {
    case STATUS_NO_MEMORY:
        return status_fail(status, "%s: no memory to unpack %s", s->name, kind);
    case STATUS_TOO_LARGE:
        return status_fail(status,
                           "%s: its %s data asks for more than %" PRIu64
                           " MiB of memory to be unpacked; pack it at a lower level",
                           s->name, kind, unpack_most(s->unpack) >> 20);
    default:
        return status_fail(status, "%s: compressed byte %" PRIu64 ": damaged %s data (%s)", s->name,
                           packed_offset(s), kind, why);
    }
}

/* Between streams: finds the next one, or the end of the file (*end). */
static enum status next_stream(struct source *s, bool *end)
{
    *end = false;
    for (bool padding = false;;) {
        if (s->packed_left == 0) {
            STATUS_TRY(refill_packed(s));
            if (s->packed_left == 0) {
                *end = true;
                return STATUS_OK;
            }
        }
        enum status status;
        if (!padding && unpack_again(s->unpack, *s->packed_at, &status)) {
            s->between_streams = false;
            return status ? fail_unpacking(s, status, "") : STATUS_OK;
        }
        if (*s->packed_at != 0) {
            return status_fail(STATUS_BAD_INPUT,
                               "%s: compressed byte %" PRIu64 ": the %s stream ends here and "
                               "something else follows",
                               s->name, packed_offset(s), unpack_kind_name(s->packing));
        }
        padding = true;
        s->packed_at++;
        s->packed_left--;
    }
}

/* Unpacks up to cap bytes; none where it wants more of the file. */
static enum status unpack_piece(struct source *s, unsigned char *dst, size_t cap, size_t *n)
{
    *n = 0;
    if (s->packed_left == 0) {
        STATUS_TRY(refill_packed(s));
    }
    const bool at_end = s->packed_left == 0; /* something may still be held back */
    const char *why;
    struct unpack_piece p = {s->packed_at, s->packed_left, dst, cap};
    const enum status status = unpack_some(s->unpack, &p, &s->between_streams, &why);
    s->packed_at = p.in;
    s->packed_left = p.n_in;
    *n = cap - p.n_out;
    s->unpacked += *n;
    if (!status && at_end && *n == 0 && !s->between_streams) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: compressed byte %" PRIu64 ": the file ends within the %s stream; "
                           "it was cut short, copy it again",
                           s->name, packed_offset(s), unpack_kind_name(s->packing));
    }
    return status ? fail_unpacking(s, status, why)
                  : source_check_limits(&s->limits, s->name, packed_offset(s), s->unpacked);
}

static enum status packed_fill(struct source *s, unsigned char *dst, size_t cap, size_t *n)
{
    *n = 0;
    while (*n < cap) {
        if (s->between_streams) {
            bool end;
            const enum status status = next_stream(s, &end);
            if (status || end) {
                return status;
            }
        }
        size_t got;
        const size_t left = cap - *n;
        STATUS_TRY(unpack_piece(s, dst + *n, left < READ_BYTES ? left : READ_BYTES, &got));
        *n += got;
    }
    return STATUS_OK;
}

enum status source_check_limits(const struct source_limits *limits, const char *where,
                                uint64_t packed, uint64_t bytes)
{
    if (limits->max_bytes > 0 && bytes > limits->max_bytes) {
        return status_fail(STATUS_TOO_LARGE,
                           "%s: unpacks to more than %" PRIu64 " bytes; raise max_unpacked if it "
                           "may",
                           where, limits->max_bytes);
    }
    if (limits->max_ratio > 0 && bytes > SOURCE_FREE_BYTES && bytes / limits->max_ratio > packed) {
        return status_fail(STATUS_TOO_LARGE,
                           "%s: unpacks to more than %" PRIu64 " times its size (%" PRIu64
                           " bytes of %" PRIu64 "); raise max_ratio if it may",
                           where, limits->max_ratio, bytes, packed);
    }
    return STATUS_OK;
}

static enum status made_fill(struct source *s, unsigned char *dst, size_t cap, size_t *n)
{
    size_t got = 1;
    for (*n = 0; *n < cap && got > 0; *n += got) {
        STATUS_TRY(s->made.read(s->made.user, s->stop, dst + *n, cap - *n, &got));
        s->unpacked += got;
        STATUS_TRY(source_check_limits(&s->limits, s->name, s->file_bytes, s->unpacked));
    }
    return STATUS_OK;
}

/* Before what is UTF-16 is recoded. */
static enum status own_fill(struct source *s, unsigned char *dst, size_t cap, size_t *n)
{
    return s->made.read ? made_fill(s, dst, cap, n)
           : s->packing ? packed_fill(s, dst, cap, n)
                        : file_fill(s, dst, cap, n, NULL);
}

/* --- UTF-16 ----------------------------------------------------------------------------------- */

enum { NO_UNIT = 0x10000 }; /* the end of the text */

/* A surrogate that has no partner stands for no character. */
static enum status put_unit(struct utf16 *x, unsigned unit)
{
    enum { REPLACEMENT = 0xfffd };
    unsigned char out[2 * UTF8_MOST];
    const bool is_high = unit >= 0xd800 && unit < 0xdc00, is_low = unit >= 0xdc00 && unit < 0xe000;
    const bool is_pair = x->high != 0 && is_low;
    size_t n = 0;
    if (x->high != 0) {
        const uint32_t point = 0x10000U + ((x->high - 0xd800U) << 10) + (unit - 0xdc00U);
        n = utf8_encode(is_pair ? point : REPLACEMENT, out);
    }
    if (!is_high && !is_pair && unit != NO_UNIT) {
        n += utf8_encode(is_low ? REPLACEMENT : unit, out + n);
    }
    x->high = is_high ? unit : 0;
    return bytes_append(&x->text, out, n);
}

static enum status recode(struct source *s, const unsigned char *p, size_t n)
{
    struct utf16 *const x = &s->utf16;
    if (n % 2 != 0) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: is UTF-16 text of an odd number of bytes: it was cut short",
                           s->name);
    }
    for (size_t i = 0; i < n; i += 2) {
        const unsigned first = p[i], second = p[i + 1];
        STATUS_TRY(put_unit(x, x->high_first ? first << 8 | second : second << 8 | first));
    }
    return x->ended && x->high != 0 ? put_unit(x, NO_UNIT) : STATUS_OK;
}

static enum status recode_more(struct source *s)
{
    unsigned char piece[32 << 10];
    struct utf16 *const x = &s->utf16;
    size_t n;
    bytes_clear(&x->text);
    x->at = 0;
    STATUS_TRY(own_fill(s, piece, sizeof piece, &n));
    x->ended = n < sizeof piece;
    return recode(s, piece, n);
}

static enum status recoded_fill(struct source *s, unsigned char *dst, size_t cap, size_t *n)
{
    struct utf16 *const x = &s->utf16;
    for (*n = 0; *n < cap && !(x->ended && x->at == x->text.len);) {
        const size_t left = x->text.len - x->at, part = left < cap - *n ? left : cap - *n;
        if (part > 0) {
            memcpy(dst + *n, x->text.data + x->at, part);
            x->at += part;
            *n += part;
        } else {
            STATUS_TRY(recode_more(s));
        }
    }
    return STATUS_OK;
}

static enum status fill(struct source *s, unsigned char *dst, size_t cap, size_t *n,
                        struct source_counts *counts)
{
    if (!source_is_packed(s)) {
        return file_fill(s, dst, cap, n, counts); /* whose threads count */
    }
    STATUS_TRY(s->utf16.is_on ? recoded_fill(s, dst, cap, n) : own_fill(s, dst, cap, n));
    if (counts) {
        source_count(dst, *n, counts);
    }
    return STATUS_OK;
}

enum status source_recode(struct source *s)
{
    const unsigned char *head;
    size_t n;
    STATUS_TRY(source_peek(s, 2, &head, &n));
    if (n >= 2 && ((head[0] == 0xff && head[1] == 0xfe) || (head[0] == 0xfe && head[1] == 0xff))) {
        s->utf16.is_on = true;
        s->utf16.high_first = head[0] == 0xfe;
        s->head_at = s->head_len = 0; /* what is there of the text goes the way of all of it */
        return recode(s, head + 2, n - 2);
    }
    return STATUS_OK;
}

/* Gives the file's first bytes, which were read to recognise the kind, to be unpacked. */
static enum status start_unpacking(struct source *s, const struct unpack_kind *kind)
{
    STATUS_TRY(unpack_new(kind, &s->unpack));
    s->packed_bytes = malloc(READ_BYTES);
    if (!s->packed_bytes) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to unpack it", s->name);
    }
    s->packing = kind;
    const size_t n = s->head_len - s->head_at;
    memcpy(s->packed_bytes, s->head + s->head_at, n);
    s->packed_at = s->packed_bytes;
    s->packed_left = n;
    s->head_at = s->head_len = 0;
    return STATUS_OK;
}

static enum status recognise(struct source *s)
{
    const unsigned char *head;
    size_t n;
    STATUS_TRY(source_peek(s, UNPACK_HEAD_BYTES, &head, &n));
    const struct unpack_kind *const kind = unpack_kind_of(head, n);
    return kind ? start_unpacking(s, kind) : STATUS_OK;
}

/* Takes fd, or the stream, over. */
static enum status make(int fd, const struct source_stream *stream, const char *name,
                        struct source **out)
{
    struct source *s = calloc(1, sizeof *s);
    *out = s;
    if (s) {
        s->fd = fd;
        s->stream = *stream;
        s->name = strdup(name);
    }
    if (!s || !s->name) {
        if (fd >= 0) {
            close(fd);
        }
        if (stream->close) {
            stream->close(stream->user);
        }
        free(s);
        *out = NULL;
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", name);
    }
    return STATUS_OK;
}

static enum status look_at_file(struct source *s)
{
    struct stat st;
    if (fstat(s->fd, &st) != 0) {
        return status_fail_errno(errno, "%s: cannot look at it", s->name);
    }
    if (!S_ISREG(st.st_mode)) {
        return status_fail(STATUS_BAD_INPUT, "%s: is not a regular file", s->name);
    }
    s->file_bytes = (uint64_t)st.st_size;
    s->changed = st.st_mtim;
    s->inode = st.st_ino;
    (void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* only a hint */
    return recognise(s);
}

enum status source_open(int fd, const char *name, struct source **out)
{
    STATUS_TRY(make(fd, &(struct source_stream){0}, name, out));
    const enum status status = look_at_file(*out);
    if (status) {
        source_free(*out);
        *out = NULL;
    }
    return status;
}

enum status source_open_stream(const struct source_stream *stream, const char *name,
                               const atomic_bool *stop, struct source **out)
{
    STATUS_TRY(make(-1, stream, name, out));
    (*out)->file_bytes = stream->bytes;
    (*out)->stop = stop;
    const enum status status = recognise(*out);
    if (status) {
        source_free(*out);
        *out = NULL;
    }
    return status;
}

void source_free(struct source *s)
{
    if (!s) {
        return;
    }
    unpack_free(s->unpack);
    if (s->made.close) {
        s->made.close(s->made.user);
    }
    if (s->stream.close) {
        s->stream.close(s->stream.user);
    }
    if (s->fd >= 0) {
        close(s->fd);
    }
    bytes_free(&s->utf16.text);
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
    return s->offset > s->file_bytes && source_is_stream(s) ? s->offset : s->file_bytes;
}

uint64_t source_file_offset(const struct source *s)
{
    const uint64_t in_order = s->made.read     ? 0
                              : s->packing     ? packed_offset(s)
                              : s->utf16.is_on ? s->offset
                                               : s->offset - (uint64_t)(s->head_len - s->head_at);
    return in_order > s->seek_offset ? in_order : s->seek_offset;
}

bool source_is_packed(const struct source *s)
{
    return s->packing != NULL || s->made.read != NULL || s->utf16.is_on;
}

bool source_is_stream(const struct source *s)
{
    return s->stream.read != NULL;
}

const char *source_hindrance(const struct source *s)
{
    return s->made.read          ? s->made_of
           : s->packing          ? unpack_kind_name(s->packing)
           : source_is_stream(s) ? "a pipe"
                                 : NULL;
}

/* Gzip makes no more than DEFLATE_MAX_RATIO bytes of one; of others the limits say it. */
uint64_t source_most_bytes(const struct source *s)
{
    uint64_t most = s->file_bytes;
    const bool is_gzip = s->packing && strcmp(unpack_kind_name(s->packing), "gzip") == 0;
    const bool is_unknown = source_is_stream(s) && s->stream.bytes == 0;
    if (is_unknown || (s->packing && !is_gzip) ||
        (is_gzip && __builtin_mul_overflow(most, DEFLATE_MAX_RATIO, &most))) {
        most = UINT64_MAX;
    }
    return s->packing && s->limits.max_bytes > 0 && s->limits.max_bytes < most ? s->limits.max_bytes
                                                                               : most;
}

void source_set_limits(struct source *s, const struct source_limits *limits)
{
    s->limits = *limits;
    if (s->packing && limits->max_window > 0) {
        unpack_limit(s->unpack, limits->max_window);
    }
}

uint64_t source_hold_window(struct source *s)
{
    return s->packing ? unpack_hold(s->unpack) : s->made_hold;
}

const struct source_limits *source_limits(const struct source *s)
{
    return &s->limits;
}

enum status source_check_stop(const struct source *s)
{
    return s->stop && atomic_load(s->stop) ? status_fail(STATUS_CANCELLED, "%s: stopped", s->name)
                                           : STATUS_OK;
}

void source_convert(struct source *s, const struct source_stream *stream, const char *kind,
                    size_t bytes)
{
    s->made = *stream;
    s->made_of = kind;
    s->made_hold = bytes;
    s->head_at = s->head_len = 0;
    s->seek_offset = 0; /* the directory at a file's end says nothing of how far it has come */
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
    if (source_is_stream(s)) {
        return STATUS_OK;
    }
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
    *out = s->crc;
    if (source_is_stream(s) && s->file_end) { /* what comes after its end is not of it */
        return STATUS_OK;
    }
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
    if (source_is_stream(s)) { /* which is used up now */
        s->crc = crc;
        s->offset = at;
        s->file_end = true;
    }
    *out = crc;
    return STATUS_OK;
}

enum status source_read_at(struct source *s, uint64_t offset, void *dst, size_t cap, size_t *n)
{
    *n = 0;
    if (source_is_stream(s)) {
        return status_fail(STATUS_UNSUPPORTED, "%s: cannot be read at a place", s->name);
    }
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
        STATUS_TRY(fill(s, s->head + s->head_len, s->head_cap - s->head_len, &got, NULL));
        s->head_len += got;
    }
    *data = s->head + s->head_at;
    *n = s->head_len - s->head_at;
    return STATUS_OK;
}

enum status source_unread(struct source *s, const void *bytes, size_t n)
{
    if (n > s->head_at) {
        const size_t len = s->head_len - s->head_at;
        STATUS_TRY(grow_head(s, len + n));
        memmove(s->head + n, s->head, len);
        s->head_at = n;
        s->head_len = n + len;
    }
    s->head_at -= n;
    if (n > 0) {
        memcpy(s->head + s->head_at, bytes, n);
    }
    return STATUS_OK;
}

enum status source_read(struct source *s, void *dst, size_t cap, size_t *n)
{
    return source_read_text(s, dst, cap, n, NULL);
}

enum status source_read_text(struct source *s, void *dst, size_t cap, size_t *n,
                             struct source_counts *counts)
{
    const size_t seen = s->head_len - s->head_at;
    const size_t from_head = seen < cap ? seen : cap;
    if (from_head > 0) {
        memcpy(dst, s->head + s->head_at, from_head);
        s->head_at += from_head;
        if (counts) {
            source_count(dst, from_head, counts);
        }
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
    const enum status status =
        fill(s, (unsigned char *)dst + from_head, cap - from_head, &got, counts);
    *n += got;
    return status;
}

/* --- pipes ------------------------------------------------------------------------------------ */

enum { LOOK_MS = 100 }; /* between looks whether to stop, while nothing comes */

struct pipe {
    int fd;
    char *name;
};

static enum status read_pipe(void *user, const atomic_bool *stop, void *dst, size_t cap, size_t *n)
{
    const struct pipe *p = user;
    *n = 0;
    for (;;) {
        struct pollfd ready = {.fd = p->fd, .events = POLLIN};
        if (stop && atomic_load(stop)) {
            return status_fail(STATUS_CANCELLED, "%s: stopped", p->name);
        }
        if (poll(&ready, 1, LOOK_MS) == 0) { /* a FIFO: nor has anybody opened it */
            continue;
        }
        const ssize_t got = io_watch_read(p->fd, dst, cap);
        if (got >= 0) {
            *n = (size_t)got;
            return STATUS_OK;
        }
        if (errno != EINTR && errno != EAGAIN) {
            return status_fail_errno(errno, "%s: cannot be read", p->name);
        }
    }
}

static void close_pipe(void *user)
{
    struct pipe *p = user;
    close(p->fd);
    free(p->name);
    free(p);
}

enum status source_stream_of(int fd, const char *name, struct source_stream *out)
{
    struct pipe *p = calloc(1, sizeof *p);
    *out = (struct source_stream){0};
    if (p) {
        p->fd = fd;
        p->name = strdup(name);
    }
    if (!p || !p->name) {
        free(p);
        close(fd);
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", name);
    }
    *out = (struct source_stream){.read = read_pipe, .close = close_pipe, .user = p};
    return STATUS_OK;
}
