/*
 * queue_cpu - memory, copies and spread work of the CPU backend.
 *
 * A queue's work is done when the call returns. Small spans come from the C library; from 1 MiB on
 * they are mappings of their own, on huge pages where the system has them, so that the memory goes
 * back at once. There is no bound on memory here: the engine keeps one.
 */
#include "kernels/base/queue_cpu.h"

#include "formats/base/checked.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, ALIGNMENT = 256, PIECE = 1 << 18 /* that a thread copies */ };
static const size_t mapped_from = (size_t)1 << 20;
static const size_t huge_page = (size_t)1 << 21;

struct cpu_queue {
    struct queue base;
    _Atomic uint64_t upload_bytes, download_bytes;
};

void cpu_run(struct queue *q, size_t n, void (*body)(void *arg, size_t index), void *arg)
{
    const struct executor *e = &((struct cpu_backend *)q->backend)->executor;
    if (n == 1) {
        body(arg, 0);
    } else if (n > 1) {
        e->run(e->context, n, body, arg);
    }
}

struct long_work {
    const struct queue *q;
    void (*body)(void *arg, size_t index);
    void *arg;
};

static void unless_stopped(void *arg, size_t index)
{
    const struct long_work *work = arg;
    if (!queue_is_stopped(work->q)) {
        work->body(work->arg, index);
    }
}

enum status cpu_run_long(struct queue *q, size_t n, void (*body)(void *arg, size_t index),
                         void *arg)
{
    struct long_work work = {q, body, arg};
    cpu_run(q, n, unless_stopped, &work);
    return queue_check(q);
}

void *cpu_scratch_try(size_t count, size_t size)
{
    size_t bytes;
    if (!checked_mul(count, size, &bytes) || !checked_add(bytes, ALIGNMENT, &bytes)) {
        return NULL;
    }
    /* Large blocks that come and go with every tile are not aligned: what aligned_alloc cuts off
     * around them keeps the C library from using their place again. */
    return bytes < mapped_from + ALIGNMENT ? aligned_alloc(ALIGNMENT, bytes - bytes % ALIGNMENT)
                                           : malloc(bytes);
}

enum status cpu_scratch(size_t count, size_t size, void **out)
{
    *out = cpu_scratch_try(count, size);
    if (*out == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu x %zu bytes of working space",
                           count, size);
    }
    return STATUS_OK;
}

struct scratch_work {
    size_t bytes;
    void (*body)(void *arg, size_t index, void *scratch);
    void *arg;
    atomic_bool failed;
};

static void with_scratch(void *arg, size_t index)
{
    struct scratch_work *work = arg;
    void *scratch = work->bytes > 0 ? cpu_scratch_try(work->bytes, 1) : NULL;
    if (scratch == NULL && work->bytes > 0) {
        atomic_store(&work->failed, true);
        return;
    }
    work->body(work->arg, index, scratch);
    free(scratch);
}

enum status cpu_run_scratch(struct queue *q, size_t n, size_t bytes,
                            void (*body)(void *arg, size_t index, void *scratch), void *arg)
{
    struct scratch_work work = {.bytes = bytes, .body = body, .arg = arg};
    STATUS_TRY(cpu_run_long(q, n, with_scratch, &work));
    return atomic_load(&work.failed)
               ? status_fail(STATUS_NO_MEMORY, "no memory for %zu bytes of working space", bytes)
               : STATUS_OK;
}

enum status cpu_expect(struct span s, size_t count, size_t size, const char *what)
{
    size_t bytes;
    if (!checked_mul(count, size, &bytes) || bytes > s.bytes) {
        return status_fail(STATUS_INTERNAL, "%s: %zu x %zu bytes do not fit a span of %zu", what,
                           count, size, s.bytes);
    }
    return STATUS_OK;
}

enum status cpu_expect_rows(const struct series_rows *x, const char *what)
{
    return cpu_expect(x->at, 1, series_rows_bytes(x), what);
}

/* --- memory ---------------------------------------------------------------------------------- */

/* The bytes of a mapping that serves `bytes`; 0 where that overflows. */
static size_t mapping_bytes(size_t bytes)
{
    size_t up;
    return checked_add(bytes, PAGE - 1, &up) ? up - up % PAGE : 0;
}

/* A mapping that begins on a huge page, when it is large enough to hold one. */
static void *map(size_t bytes)
{
    size_t want = mapping_bytes(bytes), slack = want >= huge_page ? huge_page : 0, all;
    if (want == 0 || !checked_add(want, slack, &all)) {
        return NULL;
    }
    char *p = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return NULL;
    }
    if (slack != 0) {
        size_t skip = (huge_page - (uintptr_t)p % huge_page) % huge_page;
        if (skip != 0) {
            (void)munmap(p, skip);
        }
        if (slack != skip) {
            (void)munmap(p + skip + want, slack - skip);
        }
        p += skip;
        (void)madvise(p, want, MADV_HUGEPAGE);
    }
    return p;
}

enum status cpu_alloc(struct queue *q, size_t bytes, struct span *out)
{
    (void)q;
    *out = (struct span){0};
    void *p;
    if (bytes >= mapped_from) {
        p = map(bytes);
    } else {
        p = cpu_scratch_try(bytes == 0 ? 1 : bytes, 1);
    }
    if (p == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory: %zu bytes were asked for", bytes);
    }
    *out = (struct span){p, bytes};
    return STATUS_OK;
}

void cpu_release(struct queue *q, struct span s)
{
    (void)q;
    if (s.at == NULL) {
        return;
    }
    if (s.bytes >= mapped_from) {
        (void)munmap(s.at, mapping_bytes(s.bytes));
    } else {
        free(s.at);
    }
}

enum status cpu_host_alloc(struct backend *b, size_t bytes, void **out)
{
    (void)b;
    size_t whole;
    *out = NULL;
    if (checked_add(bytes, PAGE, &whole)) {
        *out = aligned_alloc(PAGE, whole - whole % PAGE);
    }
    if (*out == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory: %zu bytes were asked for", bytes);
    }
    return STATUS_OK;
}

void cpu_host_free(struct backend *b, void *p)
{
    (void)b;
    free(p);
}

/* Nothing copies past the processor. */
enum status cpu_host_pin(struct backend *b, void *p, size_t bytes)
{
    (void)b;
    (void)p;
    (void)bytes;
    return STATUS_OK;
}

void cpu_host_unpin(struct backend *b, void *p)
{
    (void)b;
    (void)p;
}

/* --- queues ---------------------------------------------------------------------------------- */

enum status cpu_queue_new(struct backend *b, struct queue **out)
{
    struct cpu_queue *q = calloc(1, sizeof *q);
    *out = NULL;
    if (q == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a queue");
    }
    q->base.backend = b;
    *out = &q->base;
    return STATUS_OK;
}

void cpu_queue_free(struct queue *q)
{
    free(q);
}

struct upload {
    char *to;
    const char *from;
    size_t bytes;
};

static void upload_piece(void *arg, size_t index)
{
    const struct upload *u = arg;
    const size_t at = index * PIECE;
    memcpy(u->to + at, u->from + at, cpu_min(PIECE, u->bytes - at));
}

enum status cpu_upload(struct queue *q, struct span to, const void *from, size_t bytes,
                       uint64_t *ticket)
{
    *ticket = 0;
    STATUS_TRY(cpu_expect(to, bytes, 1, "upload"));
    if (bytes != 0) {
        struct upload u = {to.at, from, bytes};
        STATUS_TRY(cpu_run_long(q, cpu_pieces(bytes, PIECE), upload_piece, &u));
        atomic_fetch_add(&((struct cpu_queue *)q)->upload_bytes, bytes);
    }
    return STATUS_OK;
}

enum status cpu_upload_wait(struct queue *q, uint64_t ticket)
{
    (void)q;
    (void)ticket;
    return STATUS_OK;
}

enum status cpu_download(struct queue *q, void *to, struct span from, size_t bytes)
{
    STATUS_TRY(cpu_expect(from, bytes, 1, "download"));
    if (bytes != 0) {
        memcpy(to, from.at, bytes);
        atomic_fetch_add(&((struct cpu_queue *)q)->download_bytes, bytes);
    }
    return STATUS_OK;
}

enum status cpu_copy(struct queue *q, struct span to, struct span from, size_t bytes)
{
    (void)q;
    STATUS_TRY(cpu_expect(to, bytes, 1, "copy"));
    STATUS_TRY(cpu_expect(from, bytes, 1, "copy"));
    if (bytes != 0) {
        memcpy(to.at, from.at, bytes);
    }
    return STATUS_OK;
}

enum status cpu_copy_across(struct queue *q, struct span to, struct queue *from_q, struct span from,
                            size_t bytes)
{
    (void)from_q;
    return cpu_copy(q, to, from, bytes);
}

static void zero_piece(void *arg, size_t index)
{
    const struct span *s = arg;
    const size_t at = index * PIECE;
    memset((char *)s->at + at, 0, cpu_min(PIECE, s->bytes - at));
}

enum status cpu_zero(struct queue *q, struct span s)
{
    return cpu_run_long(q, cpu_pieces(s.bytes, PIECE), zero_piece, &s);
}

enum status cpu_finish(struct queue *q)
{
    (void)q;
    return STATUS_OK;
}

/* A queue keeps nothing. */
void cpu_trim(struct queue *q)
{
    (void)q;
}

void cpu_busy(struct queue *q, struct queue_busy *out, bool reset)
{
    struct cpu_queue *c = (struct cpu_queue *)q;
    *out = (struct queue_busy){.upload_bytes = atomic_load(&c->upload_bytes),
                               .download_bytes = atomic_load(&c->download_bytes)};
    if (reset) {
        atomic_store(&c->upload_bytes, 0);
        atomic_store(&c->download_bytes, 0);
    }
}

void cpu_busy_all(struct backend *b, struct queue_busy *out)
{
    (void)b;
    *out = (struct queue_busy){0};
}
