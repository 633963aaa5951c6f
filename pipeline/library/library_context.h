/*
 * library_context - what the files of the library share: a context, and how its calls begin and
 * end.
 */
#ifndef LEAT_PIPELINE_LIBRARY_LIBRARY_CONTEXT_H
#define LEAT_PIPELINE_LIBRARY_LIBRARY_CONTEXT_H

#include "kernels/backend.h"
#include "kernels/base/room.h"
#include "pipeline/library/leat.h"

#include <stdio.h>

struct leat_context {
    struct thread_pool *threads;
    struct backend *backend;
    struct queue *queue;
    uint64_t memory; /* UINT64_MAX: any */
    int stop;        /* the queue's */
    int (*progress)(void *user, double share);
    void *user;
    char backend_text[256], error[STATUS_MESSAGE_BYTES];
};

/* Ends a call: keeps the message of one that has failed, and the cancelling with it. */
enum leat_status library_end(struct leat_context *c, enum status st);
/* Ends a call that does not begin: LEAT_BAD_ARGUMENT with that message. */
enum leat_status library_refuse(struct leat_context *c, const char *message);
/* Between parts of a call's work: tells the program. STATUS_CANCELLED. */
enum status library_progress(struct leat_context *c, double share) STATUS_MUST_CHECK;
/* Before products on the CPU: loads what makes them. STATUS_NO_BACKEND, _NO_MEMORY. */
enum status library_products(struct leat_context *c) STATUS_MUST_CHECK;
/* STATUS_TOO_LARGE where so much, which has been counted, may not be taken. */
enum status library_may_take(const struct leat_context *c,
                             const struct room *counted) STATUS_MUST_CHECK;
/* The options' members that the caller knows, over the defaults, zeros: `size` bytes of them. What
 * is wrong; NULL: nothing is. */
const char *library_options(void *to, size_t all, const void *from, size_t size);

/* Are there numbers, of a type that there is, in rows that do not overlap and can be counted, and
 * in memory where they may be? */
bool library_is_array(const struct leat_array *x);
/* What lies in the device's memory, once the program's stream has come there.
 * STATUS_BAD_ARGUMENT. */
enum status library_borrow(struct leat_context *c, const void *at, size_t n, size_t size,
                           void *stream, struct span *out) STATUS_MUST_CHECK;

/* From one row to the next. */
static inline size_t library_stride(const struct leat_array *x)
{
    return x->row_bytes > 0 ? x->row_bytes
                            : x->columns * (x->type == LEAT_F4 ? sizeof(float) : sizeof(double));
}

#endif
