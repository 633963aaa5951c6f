#include "kernels/base/room.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct room_entry {
    struct room_entry *before;
    struct span span; /* of the backend; or */
    void *pinned;     /* of its host_alloc; or */
    void (*release)(void *context);
    void *context;
};

static uint64_t sum_of(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void room_count(struct room *r, uint64_t host, uint64_t backend)
{
    r->host = sum_of(r->host, host);
    r->backend = sum_of(r->backend, backend);
}

/* Takes over an entry whose memory has come, or frees one whose memory has not. */
static enum status keep(struct room *r, struct room_entry *e, enum status st)
{
    if (st != STATUS_OK) {
        free(e);
        return st;
    }
    e->before = r->last;
    r->last = e;
    return STATUS_OK;
}

static struct room_entry *entry_new(void)
{
    struct room_entry *const e = calloc(1, sizeof *e);
    if (e == NULL) {
        status_fail(STATUS_NO_MEMORY, "no memory for a job");
    }
    return e;
}

/* Counts; *out is an entry for what is to be given, or NULL: nothing is. */
static enum status ask(struct room *r, uint64_t n, size_t size, bool of_backend, size_t *bytes,
                       struct room_entry **out)
{
    uint64_t all;
    *out = NULL;
    if (__builtin_mul_overflow(n, (uint64_t)size, &all)) {
        all = UINT64_MAX;
    }
    room_count(r, of_backend ? 0 : all, of_backend ? all : 0);
    if (r->queue == NULL) {
        return STATUS_OK;
    }
    if (all == UINT64_MAX) {
        return status_fail(STATUS_TOO_LARGE, "%" PRIu64 " times %zu bytes are more than 2^64", n,
                           size);
    }
    *bytes = all;
    *out = entry_new();
    return *out != NULL ? STATUS_OK : STATUS_NO_MEMORY;
}

enum status room_keep(struct room *r, void (*release)(void *), void *context)
{
    struct room_entry *const e = entry_new();
    if (e == NULL) {
        release(context);
        return STATUS_NO_MEMORY;
    }
    e->release = release;
    e->context = context;
    return keep(r, e, STATUS_OK);
}

enum status room_span(struct room *r, uint64_t n, size_t size, struct span *out)
{
    struct room_entry *e;
    size_t bytes;
    *out = (struct span){0};
    STATUS_TRY(ask(r, n, size, true, &bytes, &e));
    if (e == NULL) {
        return STATUS_OK;
    }
    STATUS_TRY(keep(r, e, r->queue->backend->ops->alloc(r->queue, bytes, &e->span)));
    *out = e->span;
    return STATUS_OK;
}

/* *out is a pointer of any type. */
static enum status give_host(struct room *r, uint64_t n, size_t size, bool is_pinned, void *out)
{
    struct room_entry *e;
    size_t bytes;
    enum status st = STATUS_OK;
    memcpy(out, &(void *){NULL}, sizeof(void *));
    STATUS_TRY(ask(r, n, size, false, &bytes, &e));
    if (e == NULL) {
        return STATUS_OK;
    }
    if (is_pinned) {
        st = r->queue->backend->ops->host_alloc(r->queue->backend, bytes, &e->pinned);
    } else {
        e->release = free;
        e->context = calloc(bytes > 0 ? bytes : 1, 1);
        st = e->context != NULL ? STATUS_OK
                                : status_fail(STATUS_NO_MEMORY, "no memory for %zu bytes", bytes);
    }
    STATUS_TRY(keep(r, e, st));
    memcpy(out, is_pinned ? &e->pinned : &e->context, sizeof(void *));
    return STATUS_OK;
}

enum status room_host(struct room *r, uint64_t n, size_t size, void *out)
{
    return give_host(r, n, size, false, out);
}

enum status room_pinned(struct room *r, uint64_t n, size_t size, void *out)
{
    return give_host(r, n, size, true, out);
}

static void end(const struct room *r, struct room_entry *e)
{
    if (e->release != NULL) {
        e->release(e->context);
    } else if (e->pinned != NULL) {
        r->queue->backend->ops->host_free(r->queue->backend, e->pinned);
    } else {
        r->queue->backend->ops->release(r->queue, e->span);
    }
    free(e);
}

void room_give_back(struct room *r, void *host)
{
    for (struct room_entry **at = &r->last; *at != NULL; at = &(*at)->before) {
        struct room_entry *const e = *at;
        if (host != NULL && e->context == host) {
            *at = e->before;
            end(r, e);
            return;
        }
    }
}

void room_free(struct room *r)
{
    while (r->last != NULL) {
        struct room_entry *const e = r->last;
        r->last = e->before;
        end(r, e);
    }
}
