/*
 * unpack - see unpack.h.
 *
 * Sources: RFC 1952, the .xz file format 1.1.0, RFC 8878 (zstd, whose skippable frames may come
 * first), and bzip2's own. Each stream of a file is begun by itself, so that what stands between
 * them and behind the last is judged in one place.
 */
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_createDStream_advanced, ZSTD_DCtx_setMaxWindowSize */
#include "formats/source/unpack.h"

#include "formats/base/checked.h"

#include <bzlib.h>
#include <isa-l.h>
#include <limits.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zstd.h>
#include <zstd_errors.h>

struct unpack_kind {
    const char *name;
    size_t n_magic;
    const char *magic;     /* [n_magic] what a stream begins with */
    uint64_t holds_always; /* bytes; 0: as `holds` says, and as `limit` bounds it, to `most` */
    enum status (*begin)(struct unpack *u); /* also again, after an end */
    enum status (*some)(struct unpack *u, struct unpack_piece *p, bool *end, const char **why);
    void (*free)(struct unpack *u); /* NULL: there is nothing to free */
    uint64_t (*holds)(const struct unpack *u);
    void (*limit)(struct unpack *u);
};

struct unpack {
    const struct unpack_kind *kind;
    bool begun;
    uint64_t most; /* bytes that a stream may ask for */
    struct inflate_state gzip;
    lzma_stream xz;
    ZSTD_DStream *zstd;
    bz_stream bz;
};

static unsigned as_uint(size_t n)
{
    return n < INT_MAX ? (unsigned)n : INT_MAX;
}

/* --- windows ---------------------------------------------------------------------------------- */

enum { SHARED_BYTES = 1 << 20, HEAD_BYTES = 64 };

/* What a window is read back from is as large as a file claims, long before it is full. Large
 * pieces are mapped in a way that the limit on the process's data does not count: who unpacks
 * counts them, by unpack_hold. Each piece is preceded by its size; 0: it is malloc's. */
static void *allocate(void *user, size_t n, size_t size)
{
    size_t bytes;
    void *at;
    (void)user;
    if (!checked_mul(n, size, &bytes) || !checked_add(bytes, HEAD_BYTES, &bytes)) {
        return NULL;
    }
    const bool shared = bytes >= SHARED_BYTES;
    at = shared ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
                : malloc(bytes);
    if (at == NULL || at == MAP_FAILED) {
        return NULL;
    }
    *(size_t *)at = shared ? bytes : 0;
    return (char *)at + HEAD_BYTES;
}

static void release(void *user, void *piece)
{
    size_t *const at = piece != NULL ? (size_t *)(void *)((char *)piece - HEAD_BYTES) : NULL;
    (void)user;
    if (at != NULL && *at > 0) {
        munmap(at, *at);
    } else {
        free(at);
    }
}

static void *allocate_one(void *user, size_t bytes)
{
    return allocate(user, 1, bytes);
}

/* --- gzip ------------------------------------------------------------------------------------- */

static enum status gzip_begin(struct unpack *u)
{
    isal_inflate_init(&u->gzip);
    u->gzip.crc_flag = ISAL_GZIP;
    return STATUS_OK;
}

static enum status gzip_some(struct unpack *u, struct unpack_piece *p, bool *end, const char **why)
{
    struct inflate_state *const s = &u->gzip;
    s->next_in = (unsigned char *)(uintptr_t)p->in;
    s->avail_in = as_uint(p->n_in);
    s->next_out = p->out;
    s->avail_out = as_uint(p->n_out);
    const int result = isal_inflate(s);
    p->n_in -= (size_t)(s->next_in - p->in);
    p->in = s->next_in;
    p->n_out -= (size_t)(s->next_out - p->out);
    p->out = s->next_out;
    *end = s->block_state == ISAL_BLOCK_FINISH;
    *why = result == ISAL_INCORRECT_CHECKSUM ? "incorrect checksum" : "invalid stream";
    return result == ISAL_DECOMP_OK ? STATUS_OK : STATUS_BAD_INPUT;
}

/* --- xz --------------------------------------------------------------------------------------- */

static enum status xz_begin(struct unpack *u)
{
    static const lzma_allocator allocator = {.alloc = allocate, .free = release};
    u->xz.allocator = &allocator;
    return lzma_stream_decoder(&u->xz, u->most, LZMA_TELL_UNSUPPORTED_CHECK) == LZMA_OK
               ? STATUS_OK
               : STATUS_NO_MEMORY;
}

static enum status xz_some(struct unpack *u, struct unpack_piece *p, bool *end, const char **why)
{
    u->xz.next_in = p->in;
    u->xz.avail_in = p->n_in;
    u->xz.next_out = p->out;
    u->xz.avail_out = p->n_out;
    const lzma_ret result = lzma_code(&u->xz, LZMA_RUN);
    *p = (struct unpack_piece){u->xz.next_in, u->xz.avail_in, u->xz.next_out, u->xz.avail_out};
    *end = result == LZMA_STREAM_END;
    switch (result) {
    case LZMA_OK:
    case LZMA_BUF_ERROR: /* wants more input, or room */
    case LZMA_STREAM_END:
        return STATUS_OK;
    case LZMA_MEM_ERROR:
        return STATUS_NO_MEMORY;
    case LZMA_MEMLIMIT_ERROR:
        return STATUS_TOO_LARGE;
    case LZMA_UNSUPPORTED_CHECK:
        *why = "a checksum of an unknown kind";
        return STATUS_BAD_INPUT;
    case LZMA_OPTIONS_ERROR:
        *why = "options of an unknown kind";
        return STATUS_BAD_INPUT;
    default:
        *why = "its checks do not hold";
        return STATUS_BAD_INPUT;
    }
}

static void xz_free(struct unpack *u)
{
    lzma_end(&u->xz);
}

/* Not below what it has. */
static void xz_limit(struct unpack *u)
{
    (void)lzma_memlimit_set(&u->xz, u->most);
}

static uint64_t xz_holds(const struct unpack *u)
{
    return lzma_memusage(&u->xz);
}

/* --- zstd ------------------------------------------------------------------------------------- */

static enum status zstd_begin(struct unpack *u)
{
    static const ZSTD_customMem memory = {.customAlloc = allocate_one, .customFree = release};
    if (u->zstd == NULL) {
        u->zstd = ZSTD_createDStream_advanced(memory);
    }
    return u->zstd != NULL && !ZSTD_isError(ZSTD_initDStream(u->zstd)) &&
                   !ZSTD_isError(ZSTD_DCtx_setMaxWindowSize(u->zstd, (size_t)u->most))
               ? STATUS_OK
               : STATUS_NO_MEMORY;
}

static enum status zstd_some(struct unpack *u, struct unpack_piece *p, bool *end, const char **why)
{
    ZSTD_inBuffer in = {p->in, p->n_in, 0};
    ZSTD_outBuffer out = {p->out, p->n_out, 0};
    const size_t result = ZSTD_decompressStream(u->zstd, &out, &in);
    *p = (struct unpack_piece){p->in + in.pos, p->n_in - in.pos, p->out + out.pos,
                               p->n_out - out.pos};
    *end = result == 0;
    *why = ZSTD_getErrorName(result);
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_no_error:
        return STATUS_OK;
    case ZSTD_error_memory_allocation:
        return STATUS_NO_MEMORY;
    case ZSTD_error_frameParameter_windowTooLarge:
        return STATUS_TOO_LARGE;
    default:
        return STATUS_BAD_INPUT;
    }
}

static void zstd_free(struct unpack *u)
{
    ZSTD_freeDStream(u->zstd);
}

/* Within a frame: of the next one, which begins by this, too. */
static void zstd_limit(struct unpack *u)
{
    (void)ZSTD_DCtx_setMaxWindowSize(u->zstd, (size_t)u->most);
}

static uint64_t zstd_holds(const struct unpack *u)
{
    return ZSTD_sizeof_DStream(u->zstd);
}

/* --- bzip2 ------------------------------------------------------------------------------------ */

static void bzip2_free(struct unpack *u)
{
    BZ2_bzDecompressEnd(&u->bz);
}

static enum status bzip2_begin(struct unpack *u)
{
    if (u->begun) {
        bzip2_free(u);
    }
    u->bz = (bz_stream){0};
    return BZ2_bzDecompressInit(&u->bz, 0, 0) == BZ_OK ? STATUS_OK : STATUS_NO_MEMORY;
}

static enum status bzip2_some(struct unpack *u, struct unpack_piece *p, bool *end, const char **why)
{
    u->bz.next_in = (char *)(uintptr_t)p->in;
    u->bz.avail_in = as_uint(p->n_in);
    u->bz.next_out = (char *)p->out;
    u->bz.avail_out = as_uint(p->n_out);
    const int result = BZ2_bzDecompress(&u->bz);
    const unsigned char *const in = (const unsigned char *)u->bz.next_in;
    unsigned char *const out = (unsigned char *)u->bz.next_out;
    *p = (struct unpack_piece){in, p->n_in - (size_t)(in - p->in), out,
                               p->n_out - (size_t)(out - p->out)};
    *end = result == BZ_STREAM_END;
    *why = "its checks do not hold";
    return result == BZ_MEM_ERROR                       ? STATUS_NO_MEMORY
           : result == BZ_OK || result == BZ_STREAM_END ? STATUS_OK
                                                        : STATUS_BAD_INPUT;
}

/* --- kinds ------------------------------------------------------------------------------------ */

static const struct unpack_kind kinds[] = {
    {"gzip", 3, "\x1f\x8b\x08", sizeof(struct inflate_state), gzip_begin, gzip_some, NULL, NULL,
     NULL},
    {"xz", 6, "\xfd\x37zXZ", 0, xz_begin, xz_some, xz_free, xz_holds, xz_limit},
    {"zstd", 4, "\x28\xb5\x2f\xfd", 0, zstd_begin, zstd_some, zstd_free, zstd_holds, zstd_limit},
    {"bzip2", 3, "BZh", 4 << 20, bzip2_begin, bzip2_some, bzip2_free, NULL, NULL},
};
static const struct unpack_kind *const zstd = &kinds[2], *const bzip2 = &kinds[3];

/* Whether a frame of zstd that is skipped begins so. */
static bool is_skipped(unsigned char first)
{
    return (first & 0xf0) == 0x50;
}

/* Whether the level of bzip2 follows, and the magic of a block, or that of the end. */
static bool is_block(const unsigned char *head, size_t n)
{
    return n >= 10 && head[3] >= '1' && head[3] <= '9' &&
           (memcmp(head + 4, "\x31\x41\x59\x26\x53\x59", 6) == 0 ||
            memcmp(head + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0);
}

const struct unpack_kind *unpack_kind_of(const unsigned char *head, size_t n)
{
    for (const struct unpack_kind *k = kinds; k < kinds + sizeof kinds / sizeof *kinds; k++) {
        if (n >= k->n_magic && memcmp(head, k->magic, k->n_magic) == 0 &&
            (k != bzip2 || is_block(head, n))) {
            return k;
        }
    }
    return n >= 4 && is_skipped(head[0]) && memcmp(head + 1, "\x2a\x4d\x18", 3) == 0 ? zstd : NULL;
}

const char *unpack_kind_name(const struct unpack_kind *kind)
{
    return kind->name;
}

enum status unpack_new(const struct unpack_kind *kind, struct unpack **out)
{
    struct unpack *u = calloc(1, sizeof *u);
    enum status status = STATUS_NO_MEMORY;
    *out = NULL;
    if (u) {
        u->kind = kind;
        u->most = UNPACK_MEMORY_BYTES;
        status = kind->begin(u);
        u->begun = !status;
    }
    if (status) {
        unpack_free(u);
        return status_fail(STATUS_NO_MEMORY, "no memory to unpack %s", kind->name);
    }
    *out = u;
    return STATUS_OK;
}

void unpack_limit(struct unpack *u, uint64_t bytes)
{
    if (u->kind->holds_always == 0 && bytes < u->most) {
        u->most = bytes;
        u->kind->limit(u);
    }
}

uint64_t unpack_hold(struct unpack *u)
{
    if (u->kind->holds_always > 0) {
        return u->kind->holds_always;
    }
    const uint64_t holds = u->kind->holds(u);
    unpack_limit(u, holds > UNPACK_COMMON_BYTES ? holds : UNPACK_COMMON_BYTES);
    return u->most;
}

uint64_t unpack_most(const struct unpack *u)
{
    return u->most;
}

void unpack_free(struct unpack *u)
{
    if (u && u->kind->free != NULL) {
        u->kind->free(u);
    }
    free(u);
}

enum status unpack_some(struct unpack *u, struct unpack_piece *p, bool *end, const char **why)
{
    *end = false;
    *why = "";
    return u->kind->some(u, p, end, why);
}

bool unpack_again(struct unpack *u, unsigned char first, enum status *status)
{
    *status = STATUS_OK;
    if (first != (unsigned char)*u->kind->magic && !(u->kind == zstd && is_skipped(first))) {
        return false;
    }
    *status = u->kind->begin(u);
    return true;
}
