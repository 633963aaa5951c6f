/*
 * room - the memory of a job. One function asks for all that follows from shapes; it is called with
 * a room that only counts, for the plan, and once more with one that gives: so plan and use cannot
 * differ. What a room has given lasts until it is freed, or given back before.
 */
#ifndef LEAT_KERNELS_BASE_ROOM_H
#define LEAT_KERNELS_BASE_ROOM_H

#include "kernels/backend.h"

#include <stdint.h>

struct room_entry;

/* Zeroed, it counts. */
struct room {
    struct queue *queue;    /* NULL: it only counts, and what it gives is NULL */
    uint64_t host, backend; /* bytes that were asked for; UINT64_MAX: more than can be counted */
    struct room_entry *last;
};

/* Backend memory, not initialised; n elements of `size` bytes. STATUS_NO_MEMORY, _TOO_LARGE. */
enum status room_span(struct room *r, uint64_t n, size_t size, struct span *out) STATUS_MUST_CHECK;
/* Host memory, zeroed; *out is a pointer of any type. `pinned`: from host_alloc, not zeroed, for
 * uploads. */
enum status room_host(struct room *r, uint64_t n, size_t size, void *out) STATUS_MUST_CHECK;
enum status room_pinned(struct room *r, uint64_t n, size_t size, void *out) STATUS_MUST_CHECK;
/* Counts what is taken elsewhere. */
void room_count(struct room *r, uint64_t host, uint64_t backend);
/* Has `release` called when the room is freed. When there is no memory for that it is called at
 * once, and STATUS_NO_MEMORY returned. */
enum status room_keep(struct room *r, void (*release)(void *context),
                      void *context) STATUS_MUST_CHECK;
/* Gives host memory back before that; NULL is fine. */
void room_give_back(struct room *r, void *host);
/* Gives everything back, the last first. */
void room_free(struct room *r);

#endif
