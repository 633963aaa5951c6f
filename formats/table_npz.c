/*
 * table_npz - a member of an .npz: a zip archive of .npy arrays, stored or deflated.
 *
 * The directory is read through minizip, whose file functions read the source's descriptor. Member
 * names are only ever compared and shown, never used as paths. A member is believed to unpack to no
 * more than deflate can make of its bytes. Its CRC-32 is checked when its end has been read;
 * minizip computes it in unzReadCurrentFile and tells in unzCloseCurrentFile.
 */
#include "formats/table_npy.h"

#include "formats/bytes.h"
#include "formats/crc.h"

#include <inttypes.h>
#include <limits.h>
#include <minizip/unzip.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_BYTES = 512,
    MAX_MEMBERS = 10000, /* looked at */
    MAX_LISTED = 12,
    ENCRYPTED = 1 /* bit of a member's flags */
};

struct npz {
    struct source *source;
    uint64_t position; /* in the file, for minizip */
    unzFile zip;
    bool member_open;
    bool stored;              /* the open member is; then: */
    uint64_t offset;          /* of its next byte in the file */
    uint64_t left;            /* bytes of it not yet read */
    uint32_t crc, wanted_crc; /* of what has been read, and of all as the directory has it */
    char *where;              /* "FILE: member NAME" */
    enum status read_status;  /* of a read for minizip that failed, and its description: */
    char read_message[STATUS_MESSAGE_BYTES];
    struct npy_array array;
};

/* One member of the directory. */
struct member {
    char name[NAME_BYTES];
    uint64_t packed_bytes, bytes;
    uint32_t crc;
    bool stored, encrypted, named_npy;
};

/* --- minizip's view of the source */

static voidpf open_file(voidpf opaque, const void *filename, int mode)
{
    (void)filename;
    (void)mode;
    return opaque;
}

static uLong read_file(voidpf opaque, voidpf stream, void *dst, uLong n)
{
    struct npz *const z = opaque;
    size_t got;
    (void)stream;
    const enum status status = source_read_at(z->source, z->position, dst, n, &got);
    if (status) {
        z->read_status = status;
        snprintf(z->read_message, sizeof z->read_message, "%s", status_message());
        return 0;
    }
    z->position += got;
    return got;
}

static ZPOS64_T tell_file(voidpf opaque, voidpf stream)
{
    const struct npz *const z = opaque;
    (void)stream;
    return z->position;
}

static long seek_file(voidpf opaque, voidpf stream, ZPOS64_T offset, int origin)
{
    struct npz *const z = opaque;
    const uint64_t bytes = source_file_bytes(z->source);
    const uint64_t from = origin == ZLIB_FILEFUNC_SEEK_SET   ? 0
                          : origin == ZLIB_FILEFUNC_SEEK_CUR ? z->position
                                                             : bytes;
    (void)stream;
    uint64_t to;
    if (__builtin_add_overflow(from, offset, &to) || to > bytes) {
        return -1;
    }
    z->position = to;
    return 0;
}

static int close_or_test_file(voidpf opaque, voidpf stream)
{
    (void)opaque;
    (void)stream;
    return 0;
}

static enum status fail_empty(const struct npz *z)
{
    return status_fail(STATUS_BAD_INPUT, "%s: is a zip archive without members",
                       source_name(z->source));
}

static enum status open_zip(struct npz *z)
{
    zlib_filefunc64_def functions = {
        .zopen64_file = open_file,
        .zread_file = read_file,
        .ztell64_file = tell_file,
        .zseek64_file = seek_file,
        .zclose_file = close_or_test_file,
        .zerror_file = close_or_test_file,
        .opaque = z,
    };
    const unsigned char *head;
    size_t n;
    const enum status status = source_peek(z->source, 4, &head, &n);
    if (status) {
        return status;
    }
    if (n >= 4 && memcmp(head, "PK\5\6", 4) == 0) { /* the directory's end is all there is */
        return fail_empty(z);
    }
    z->zip = unzOpen2_64(source_name(z->source), &functions);
    if (!z->zip) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: is a zip archive without a readable directory at its end; it was "
                           "cut short or is damaged",
                           source_name(z->source));
    }
    return STATUS_OK;
}

/* --- members */

static enum status fail_directory(const struct npz *z)
{
    return status_fail(STATUS_BAD_INPUT, "%s: its zip directory is damaged",
                       source_name(z->source));
}

static enum status read_member_info(const struct npz *z, struct member *m)
{
    unz_file_info64 info;
    memset(m->name, 0, sizeof m->name);
    if (unzGetCurrentFileInfo64(z->zip, &info, m->name, sizeof m->name - 1, NULL, 0, NULL, 0) !=
        UNZ_OK) {
        return fail_directory(z);
    }
    const size_t n = strlen(m->name);
    m->packed_bytes = info.compressed_size;
    m->bytes = info.uncompressed_size;
    m->crc = (uint32_t)info.crc;
    m->stored = info.compression_method == 0;
    m->encrypted = (info.flag & ENCRYPTED) != 0;
    m->named_npy = n >= 4 && strcmp(m->name + n - 4, ".npy") == 0;
    return STATUS_OK;
}

static enum status name_member(struct npz *z, const struct member *m)
{
    free(z->where);
    z->where = NULL;
    if (asprintf(&z->where, "%s: member \"%s\"", source_name(z->source),
                 excerpt_of(m->name, strlen(m->name)).text) < 0) {
        z->where = NULL;
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(z->source));
    }
    return STATUS_OK;
}

static enum status fail_memory(const struct npz *z)
{
    return status_fail(STATUS_NO_MEMORY, "%s: no memory to unpack it", z->where);
}

static enum status fail_unpack(const struct npz *z, int error)
{
    if (error == Z_MEM_ERROR) {
        return fail_memory(z);
    }
    return status_fail(STATUS_BAD_INPUT, "%s: byte %" PRIu64 ": its packed data is damaged (%d)",
                       z->where, (uint64_t)unztell64(z->zip), error);
}

static enum status close_member(struct npz *z)
{
    if (!z->member_open) {
        return STATUS_OK;
    }
    z->member_open = false;
    const int error = unzCloseCurrentFile(z->zip);
    if (error == UNZ_CRCERROR || (z->stored && z->crc != z->wanted_crc)) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: its content does not have the CRC-32 that the archive gives",
                           z->where);
    }
    return error == UNZ_OK ? STATUS_OK : fail_unpack(z, error);
}

/* Each piece's CRC is taken while the piece is in the cache. */
static enum status read_stored(struct npz *z, unsigned char *dst, size_t cap, size_t *n)
{
    enum { PIECE_BYTES = 256 << 10 };
    while (*n < cap && z->left > 0) {
        size_t want = cap - *n < PIECE_BYTES ? cap - *n : PIECE_BYTES;
        want = want < z->left ? want : (size_t)z->left;
        size_t got;
        const enum status status = source_read_at(z->source, z->offset, dst + *n, want, &got);
        if (status || got == 0) {
            return status;
        }
        z->crc = crc_extend(z->crc, dst + *n, got);
        z->offset += got;
        z->left -= got;
        *n += got;
    }
    return STATUS_OK;
}

static enum status read_deflated(struct npz *z, unsigned char *dst, size_t cap, size_t *n)
{
    while (*n < cap) {
        const size_t left = cap - *n;
        const unsigned want = left < INT_MAX ? (unsigned)left : INT_MAX;
        const int got = unzReadCurrentFile(z->zip, dst + *n, want);
        if (got < 0) {
            return fail_unpack(z, got);
        }
        if (got == 0) {
            break;
        }
        *n += (size_t)got;
    }
    return STATUS_OK;
}

static enum status read_member(void *from, void *dst, size_t cap, size_t *n)
{
    struct npz *const z = from;
    *n = 0;
    return z->stored ? read_stored(z, dst, cap, n) : read_deflated(z, dst, cap, n);
}

/* Opens the directory's current member as an array. */
static enum status open_member(struct npz *z, const struct member *m)
{
    enum status status = name_member(z, m);
    if (status) {
        return status;
    }
    if (m->encrypted) {
        return status_fail(STATUS_UNSUPPORTED, "%s: is encrypted", z->where);
    }
    if (m->packed_bytes > source_file_bytes(z->source) ||
        m->bytes / DEFLATE_MAX_RATIO > m->packed_bytes ||
        (m->stored && m->bytes != m->packed_bytes)) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: claims %" PRIu64 " bytes packed into %" PRIu64 ", which cannot be",
                           z->where, m->bytes, m->packed_bytes);
    }
    const int error = unzOpenCurrentFile(z->zip);
    if (error == UNZ_INTERNALERROR || error == Z_MEM_ERROR) {
        return fail_memory(z);
    }
    if (error != UNZ_OK) {
        return status_fail(STATUS_BAD_INPUT,
                           "%s: cannot be unpacked (%d): damaged, or packed other than by deflate",
                           z->where, error);
    }
    z->member_open = true;
    z->stored = m->stored;
    z->offset = unzGetCurrentFileZStreamPos64(z->zip);
    z->left = m->bytes;
    z->crc = 0;
    z->wanted_crc = m->crc;
    z->array = (struct npy_array){.reader = {read_member, z, z->where}};
    status = npy_read_header(&z->array.reader, &z->array.header);
    if (!status) {
        const uint64_t header = z->array.header.header_bytes;
        status = npy_check_size(&z->array, m->bytes > header ? m->bytes - header : 0, false);
    }
    return status;
}

/* Calls `look` for each member in turn, until it says stop. */
struct visit {
    enum status (*look)(struct npz *z, const struct member *m, struct visit *v, bool *stop);
    const char *wanted;      /* a member's name, or NULL */
    size_t n_two, n_one;     /* suitable members, by dimensions */
    unz64_file_pos two, one; /* the last of them */
    size_t n_members;
    struct bytes names;
};

static enum status visit_members(struct npz *z, struct visit *v)
{
    int error = unzGoToFirstFile(z->zip);
    bool stop = false;
    for (v->n_members = 0; error == UNZ_OK && !stop; v->n_members++) {
        struct member m;
        if (v->n_members == MAX_MEMBERS) {
            return status_fail(STATUS_UNSUPPORTED, "%s: has more than %d members",
                               source_name(z->source), MAX_MEMBERS);
        }
        enum status status = read_member_info(z, &m);
        if (!status) {
            status = v->look(z, &m, v, &stop);
        }
        if (status) {
            return status;
        }
        error = stop ? UNZ_OK : unzGoToNextFile(z->zip);
    }
    return stop || error == UNZ_END_OF_LIST_OF_FILE ? STATUS_OK : fail_directory(z);
}

static enum status list_member(const struct member *m, struct visit *v)
{
    if (v->n_members >= MAX_LISTED) {
        return v->n_members == MAX_LISTED ? bytes_printf(&v->names, ", ...") : STATUS_OK;
    }
    return bytes_printf(&v->names, "%s\"%s\"", v->n_members ? ", " : "",
                        excerpt_of(m->name, strlen(m->name)).text);
}

/* Looks whether a member is an array that could be meant. */
static enum status look_suitable(struct npz *z, const struct member *m, struct visit *v, bool *stop)
{
    (void)stop;
    enum status status = list_member(m, v);
    if (status || !m->named_npy) {
        return status;
    }
    status = open_member(z, m);
    const bool suitable = status == STATUS_OK;
    if (z->member_open) {
        z->member_open = false;
        (void)unzCloseCurrentFile(z->zip); /* not read to its end: no CRC to be right */
    }
    if (!suitable) {
        return status == STATUS_NO_MEMORY || status == STATUS_IO ? status : STATUS_OK;
    }
    const bool two = z->array.header.n_dims == 2;
    *(two ? &v->n_two : &v->n_one) += 1;
    return unzGetFilePos64(z->zip, two ? &v->two : &v->one) == UNZ_OK ? STATUS_OK
                                                                      : fail_directory(z);
}

static enum status look_wanted(struct npz *z, const struct member *m, struct visit *v, bool *stop)
{
    const enum status status = list_member(m, v);
    const size_t n = strlen(v->wanted);
    const bool same =
        strcmp(m->name, v->wanted) == 0 ||
        (m->named_npy && strlen(m->name) == n + 4 && memcmp(m->name, v->wanted, n) == 0);
    if (same && !status) {
        *stop = true;
        v->n_two = 1;
        return unzGetFilePos64(z->zip, &v->two) == UNZ_OK ? STATUS_OK : fail_directory(z);
    }
    return status;
}

static enum status fail_choice(const struct npz *z, const struct visit *v)
{
    const char *const file = source_name(z->source);
    const int n = (int)v->names.len;
    const char *const names = (const char *)v->names.data;
    if (v->n_members == 0) {
        return fail_empty(z);
    }
    if (v->wanted) {
        return status_fail(STATUS_BAD_ARGUMENT, "%s: has no member \"%s\"; its members are %.*s",
                           file, excerpt_of(v->wanted, strlen(v->wanted)).text, n, names);
    }
    if (v->n_two + v->n_one == 0) {
        const char *const why = v->n_members == 1 && z->where ? status_message() : "";
        return status_fail(STATUS_BAD_INPUT,
                           "%s: no member is a readable array of numbers in one or two dimensions "
                           "(%.*s)%s%s",
                           file, n, names, *why ? ": " : "", why);
    }
    return status_fail(STATUS_BAD_INPUT,
                       "%s: %zu members could be meant (%.*s); say which one with `member`", file,
                       v->n_two > 0 ? v->n_two : v->n_one, n, names);
}

/* Finds the member that is meant, and goes there. */
static enum status choose_member(struct npz *z, const char *wanted)
{
    struct visit v = {.look = wanted ? look_wanted : look_suitable, .wanted = wanted};
    unz_global_info64 info;
    enum status status = STATUS_OK;
    if (unzGetGlobalInfo64(z->zip, &info) != UNZ_OK) {
        return fail_directory(z);
    }
    if (info.number_entry > 0) {
        status = visit_members(z, &v);
    }
    if (!status) {
        if (v.n_two > 1 || (v.n_two == 0 && (wanted || v.n_one != 1))) {
            status = fail_choice(z, &v);
        } else if (unzGoToFilePos64(z->zip, v.n_two == 1 ? &v.two : &v.one) != UNZ_OK) {
            status = fail_directory(z);
        }
    }
    bytes_free(&v.names);
    return status;
}

/* --- the format */

static bool npz_suits(const unsigned char *head, size_t n)
{
    return n >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0);
}

/* minizip takes a read that failed for damage, or for the end, and may go on: whatever came of it,
 * that is what is told. */
static enum status after_reads(const struct npz *z, enum status status)
{
    return z->read_status ? status_set(z->read_status, z->read_message) : status;
}

static void npz_close(void *state)
{
    struct npz *const z = state;
    if (!z) {
        return;
    }
    if (z->zip) {
        unzClose(z->zip);
    }
    free(z->where);
    free(z);
}

static enum status npz_open(struct table *t)
{
    if (source_is_packed(t->source)) {
        return status_fail(STATUS_UNSUPPORTED, "%s: is a gzipped zip archive; unpack it first",
                           source_name(t->source));
    }
    struct npz *const z = calloc(1, sizeof *z);
    if (!z) {
        return status_fail(STATUS_NO_MEMORY, "%s: no memory to open it", source_name(t->source));
    }
    t->state = z;
    z->source = t->source;
    struct member m;
    enum status status = open_zip(z);
    if (!status) {
        status = choose_member(z, t->options.member);
    }
    if (!status) {
        status = read_member_info(z, &m);
    }
    if (!status) {
        status = open_member(z, &m);
    }
    if (!status) {
        npy_describe(&z->array.header, &t->info);
    }
    return after_reads(z, status);
}

static enum status npz_next(struct table *t, struct table_chunk *c, bool *end)
{
    struct npz *const z = t->state;
    enum status status = npy_array_next(&z->array, c, end);
    if (!status && *end) {
        status = close_member(z);
    }
    return after_reads(z, status);
}

static enum status npz_decode(const struct table *t, struct table_chunk *c)
{
    const struct npz *const z = t->state;
    return npy_array_decode(t, &z->array, c);
}

const struct table_format table_npz = {
    .name = "npz",
    .takes_member = true,
    .suits = npz_suits,
    .open = npz_open,
    .next = npz_next,
    .decode = npz_decode,
    .close = npz_close,
};
