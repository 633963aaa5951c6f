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

/* UINT64_MAX where that does not fit. */
static uint64_t bytes_of(uint64_t n, size_t size)
{
    uint64_t bytes;
    return __builtin_mul_overflow(n, (uint64_t)size, &bytes) ? UINT64_MAX : bytes;
}

static enum status too_large(uint64_t n, size_t size)
{
    return status_fail(STATUS_TOO_LARGE, "%" PRIu64 " times %zu bytes are more than 2^64", n, size);
}

static enum status add(struct room *r, struct room_entry entry)
{
    struct room_entry *const e = malloc(sizeof *e);
    if (e == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a job");
    }
    *e = entry;
    e->before = r->last;
    r->last = e;
    return STATUS_OK;
}

enum status room_keep(struct room *r, void (*release)(void *), void *context)
{
    const enum status st = add(r, (struct room_entry){.release = release, .context = context});
    if (st != STATUS_OK) {
        release(context);
    }
    return st;
}

enum status room_span(struct room *r, uint64_t n, size_t size, struct span *out)
{
    const uint64_t bytes = bytes_of(n, size);
    *out = (struct span){0};
    room_count(r, 0, bytes);
    if (r->queue == NULL) {
        return STATUS_OK;
    }
    if (bytes == UINT64_MAX) {
        return too_large(n, size);
    }
    const struct backend_ops *const ops = r->queue->backend->ops;
    STATUS_TRY(ops->alloc(r->queue, bytes, out));
    const enum status st = add(r, (struct room_entry){.span = *out});
    if (st != STATUS_OK) {
        ops->release(r->queue, *out);
        *out = (struct span){0};
    }
    return st;
}

static enum status give(struct room *r, void *at, void (*release)(void *), void *out)
{
    STATUS_TRY(room_keep(r, release, at));
    memcpy(out, &at, sizeof at);
    return STATUS_OK;
}

enum status room_host(struct room *r, uint64_t n, size_t size, void *out)
{
    const uint64_t bytes = bytes_of(n, size);
    memcpy(out, &(void *){NULL}, sizeof(void *));
    room_count(r, bytes, 0);
    if (r->queue == NULL) {
        return STATUS_OK;
    }
    if (bytes == UINT64_MAX) {
        return too_large(n, size);
    }
    void *const at = calloc(bytes > 0 ? bytes : 1, 1);
    return at != NULL ? give(r, at, free, out)
                      : status_fail(STATUS_NO_MEMORY, "no memory for %" PRIu64 " bytes", bytes);
}

enum status room_pinned(struct room *r, uint64_t n, size_t size, void *out)
{
    const uint64_t bytes = bytes_of(n, size);
    void *at;
    memcpy(out, &(void *){NULL}, sizeof(void *));
    room_count(r, bytes, 0);
    if (r->queue == NULL) {
        return STATUS_OK;
    }
    if (bytes == UINT64_MAX) {
        return too_large(n, size);
    }
    struct backend *const b = r->queue->backend;
    STATUS_TRY(b->ops->host_alloc(b, bytes, &at));
    const enum status st = add(r, (struct room_entry){.pinned = at});
    if (st != STATUS_OK) {
        b->ops->host_free(b, at);
        return st;
    }
    memcpy(out, &at, sizeof at);
    return STATUS_OK;
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
