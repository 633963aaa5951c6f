/*
 * zip_input - see zip_input.h.
 *
 * Source: PKWARE APPNOTE.TXT 6.3.9, sections 4.3.7, 4.3.12, 4.3.14-4.3.16, 4.5.3. A field of 16 or
 * 32 bits that is all ones stands in a wider one, if there is such: in the zip64 end of the
 * directory, or in the entry's extra field. Archives in several parts, and what is put before an
 * archive, are not read.
 */
#include "formats/source/zip_input.h"

#include <inttypes.h>
#include <isa-l.h>
#include <stdlib.h>
#include <string.h>

enum {
    END_BYTES = 22, /* of the directory's end, without its comment */
    MAX_COMMENT = 0xffff,
    LOCATOR_BYTES = 20,
    WIDE_END_BYTES = 56,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
    ENCRYPTED = 1, /* bits of a member's flags */
    STREAMED = 8,  /* its own header does not know its sizes */
    ZIP64_ID = 1,
    PIECE_BYTES = 256 << 10, /* its CRC is taken while it is in the cache */
    PACKED_BYTES = 64 << 10
};

static const uint32_t wide_32 = 0xffffffff;

struct zip_input {
    struct source *source;
    uint64_t n_left, at, dir_end; /* entries not yet seen, where the next one is, where they end */
    /* the open member: */
    const char *where;
    unsigned method;
    uint64_t offset, packed_left; /* of what is to be read of the file next */
    uint64_t left;                /* bytes of it not given yet */
    uint32_t crc, wanted_crc;     /* of what has been given; of all as the directory has it */
    struct inflate_state stream;
    unsigned char text[2 * 0xffff]; /* name and extra field of an entry */
    unsigned char packed[PACKED_BYTES];
};

static uint64_t get(const unsigned char *p, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) {
        value |= (uint64_t)p[i] << (8 * i);
    }
    return value;
}

/* --- the directory ---------------------------------------------------------------------------- */

static enum status fail_end(const struct zip_input *z)
{
    return status_fail(STATUS_BAD_INPUT,
                       "%s: is a zip archive without a readable directory at its end; it was "
                       "cut short or is damaged",
                       source_name(z->source));
}

static enum status fail_directory(const struct zip_input *z)
{
    return status_fail(STATUS_BAD_INPUT, "%s: its zip directory is damaged",
                       source_name(z->source));
}

/* Exactly n bytes at a place; what `fail` says when the file has not so many. */
static enum status read_exactly(struct zip_input *z, uint64_t at, void *dst, size_t n,
                                enum status (*fail)(const struct zip_input *z))
{
    size_t got;
    const enum status status = source_read_at(z->source, at, dst, n, &got);
    return status || got == n ? status : fail(z);
}

/* The zip64 end of the directory, whose locator stands before the end at `end_at`; *there: it is.
 */
static enum status read_wide_end(struct zip_input *z, uint64_t end_at, unsigned char *wide,
                                 bool *there)
{
    unsigned char locator[LOCATOR_BYTES];
    *there = false;
    if (end_at < LOCATOR_BYTES) {
        return STATUS_OK;
    }
    enum status status = read_exactly(z, end_at - LOCATOR_BYTES, locator, sizeof locator, fail_end);
    if (status || memcmp(locator, "PK\6\7", 4) != 0) {
        return status;
    }
    status = read_exactly(z, get(locator + 8, 8), wide, WIDE_END_BYTES, fail_end);
    *there = !status && memcmp(wide, "PK\6\6", 4) == 0;
    return status || *there ? status : fail_end(z);
}

/* The last place in the file where the directory may end. */
static enum status find_end(struct zip_input *z, unsigned char *end, uint64_t *end_at)
{
    const uint64_t file = source_file_bytes(z->source);
    const size_t most = END_BYTES + MAX_COMMENT;
    const size_t n = file < most ? (size_t)file : most;
    unsigned char *const tail = z->text; /* which has the room */
    size_t got;
    STATUS_TRY(source_read_at(z->source, file - n, tail, n, &got));
    for (size_t i = got; i >= END_BYTES; i--) {
        const unsigned char *const p = tail + i - END_BYTES;
        if (memcmp(p, "PK\5\6", 4) == 0 && get(p + 20, 2) <= got - i) {
            memcpy(end, p, END_BYTES);
            *end_at = file - n + i - END_BYTES;
            return STATUS_OK;
        }
    }
    return fail_end(z);
}

static enum status find_directory(struct zip_input *z)
{
    unsigned char end[END_BYTES] = {0}, wide[WIDE_END_BYTES];
    uint64_t end_at = 0;
    STATUS_TRY(find_end(z, end, &end_at));
    uint64_t bytes = get(end + 12, 4), at = get(end + 16, 4);
    z->n_left = get(end + 10, 2);
    if (z->n_left == 0xffff || bytes == wide_32 || at == wide_32) {
        bool there;
        STATUS_TRY(read_wide_end(z, end_at, wide, &there));
        if (there) {
            z->n_left = get(wide + 32, 8);
            bytes = get(wide + 40, 8);
            at = get(wide + 48, 8);
        }
    }
    if (at > end_at || bytes > end_at - at) {
        return fail_end(z);
    }
    z->at = at;
    z->dir_end = at + bytes;
    return STATUS_OK;
}

enum status zip_input_open(struct source *s, struct zip_input **out)
{
    *out = NULL;
    struct zip_input *z = calloc(1, sizeof *z);
    if (!z) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(s));
    }
    z->source = s;
    const enum status status = find_directory(z);
    if (status) {
        zip_input_free(z);
        return status;
    }
    *out = z;
    return STATUS_OK;
}

void zip_input_free(struct zip_input *z)
{
    free(z);
}

/* Fields that are all ones: their wide forms stand in the extra field, in this order. */
static void take_wide(struct zip_input_member *m, const unsigned char *extra, size_t n)
{
    uint64_t *const fields[] = {&m->bytes, &m->packed_bytes, &m->offset};
    while (n >= 4) {
        const size_t id = (size_t)get(extra, 2), len = (size_t)get(extra + 2, 2);
        extra += 4;
        n -= 4;
        if (len > n) {
            return;
        }
        for (size_t i = 0, used = 0; id == ZIP64_ID && i < 3; i++) {
            if (*fields[i] == wide_32 && used + 8 <= len) {
                *fields[i] = get(extra + used, 8);
                used += 8;
            }
        }
        extra += len;
        n -= len;
    }
}

enum status zip_input_next(struct zip_input *z, struct zip_input_member *m, bool *end)
{
    unsigned char e[ENTRY_BYTES];
    *end = z->n_left == 0;
    if (*end) {
        return STATUS_OK;
    }
    STATUS_TRY(read_exactly(z, z->at, e, sizeof e, fail_directory));
    const size_t n_name = (size_t)get(e + 28, 2), n_extra = (size_t)get(e + 30, 2);
    const uint64_t n = ENTRY_BYTES + n_name + n_extra + get(e + 32, 2);
    if (memcmp(e, "PK\1\2", 4) != 0 || n > z->dir_end - z->at) {
        return fail_directory(z);
    }
    STATUS_TRY(read_exactly(z, z->at + ENTRY_BYTES, z->text, n_name + n_extra, fail_directory));
    *m = (struct zip_input_member){.method = (unsigned)get(e + 10, 2),
                                   .encrypted = (get(e + 8, 2) & ENCRYPTED) != 0,
                                   .crc = (uint32_t)get(e + 16, 4),
                                   .packed_bytes = get(e + 20, 4),
                                   .bytes = get(e + 24, 4),
                                   .offset = get(e + 42, 4)};
    memcpy(m->name, z->text, n_name < ZIP_INPUT_NAME_BYTES ? n_name : ZIP_INPUT_NAME_BYTES);
    take_wide(m, z->text + n_name, n_extra);
    z->at += n;
    z->n_left--;
    return STATUS_OK;
}

/* --- a member --------------------------------------------------------------------------------- */

/* Whether a size in the member's own header is the directory's, or elsewhere. */
static bool agrees(const unsigned char *field, uint64_t value)
{
    return get(field, 4) == wide_32 || get(field, 4) == value;
}

static enum status fail_local(const struct zip_input *z)
{
    return status_fail(STATUS_BAD_INPUT,
                       "%s: byte %" PRIu64 ": its header there is damaged, or cut short", z->where,
                       z->offset);
}

/* Its own header, which the directory must agree with. */
static enum status read_local(struct zip_input *z, const struct zip_input_member *m)
{
    unsigned char h[LOCAL_BYTES];
    z->offset = m->offset;
    STATUS_TRY(read_exactly(z, m->offset, h, sizeof h, fail_local));
    const uint64_t before = LOCAL_BYTES + get(h + 26, 2) + get(h + 28, 2);
    const uint64_t left = source_file_bytes(z->source) - m->offset;
    const bool knows = (get(h + 6, 2) & STREAMED) == 0;
    if (memcmp(h, "PK\3\4", 4) != 0 || get(h + 8, 2) != m->method ||
        (knows && (get(h + 14, 4) != m->crc || !agrees(h + 18, m->packed_bytes) ||
                   !agrees(h + 22, m->bytes))) ||
        before > left || m->packed_bytes > left - before) {
        return fail_local(z);
    }
    z->offset += before;
    return STATUS_OK;
}

enum status zip_input_begin(struct zip_input *z, const struct zip_input_member *m,
                            const char *where)
{
    z->where = where;
    if (m->method != ZIP_INPUT_STORED && m->method != ZIP_INPUT_DEFLATED) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: its compression is not supported (method %u); pack it by "
                           "deflate",
                           where, m->method);
    }
    STATUS_TRY(read_local(z, m));
    z->method = m->method;
    z->packed_left = m->packed_bytes;
    z->left = m->bytes;
    z->crc = 0;
    z->wanted_crc = m->crc;
    isal_inflate_init(&z->stream);
    return STATUS_OK;
}

/* The next of the file's bytes that are the member's, as many as there are up to cap. */
static enum status read_packed(struct zip_input *z, void *dst, size_t cap, size_t *n)
{
    const size_t want = cap < z->packed_left ? cap : (size_t)z->packed_left;
    const enum status status = source_read_at(z->source, z->offset, dst, want, n);
    z->offset += *n;
    z->packed_left -= *n;
    return status;
}

/* Unpacks up to `cap` bytes; *n = 0 when the stream has ended, or nothing has come of a piece. */
static enum status inflate_some(struct zip_input *z, void *dst, size_t cap, size_t *n, bool *end)
{
    struct inflate_state *const s = &z->stream;
    if (s->avail_in == 0) {
        size_t got;
        STATUS_TRY(read_packed(z, z->packed, sizeof z->packed, &got));
        s->next_in = z->packed;
        s->avail_in = (uint32_t)got;
    }
    const bool has_input = s->avail_in > 0;
    s->next_out = dst;
    s->avail_out = (uint32_t)cap;
    const int result = isal_inflate(s);
    *n = cap - s->avail_out;
    *end = s->block_state == ISAL_BLOCK_FINISH;
    return result == ISAL_DECOMP_OK && (*n > 0 || has_input || *end)
               ? STATUS_OK
               : status_fail(STATUS_BAD_INPUT, "%s: byte %" PRIu64 ": its packed data is damaged%s",
                             z->where, z->offset - s->avail_in,
                             result == ISAL_DECOMP_OK ? " (it was cut short)" : "");
}

enum status zip_input_read(struct zip_input *z, void *dst, size_t cap, size_t *n)
{
    bool end = false;
    *n = 0;
    while (*n < cap && z->left > 0 && !end) {
        unsigned char *const to = (unsigned char *)dst + *n;
        size_t want = cap - *n < z->left ? cap - *n : (size_t)z->left;
        want = want < PIECE_BYTES ? want : PIECE_BYTES;
        size_t got;
        STATUS_TRY(z->method == ZIP_INPUT_STORED ? read_packed(z, to, want, &got)
                                                 : inflate_some(z, to, want, &got, &end));
        end = end || (z->method == ZIP_INPUT_STORED && got == 0);
        z->crc = crc32_gzip_refl(z->crc, to, got);
        z->left -= got;
        *n += got;
    }
    return STATUS_OK;
}

enum status zip_input_end(const struct zip_input *z)
{
    return z->left == 0 && z->crc == z->wanted_crc
               ? STATUS_OK
               : status_fail(STATUS_BAD_INPUT,
                             "%s: its content does not have the CRC-32 that the archive gives",
                             z->where);
}
