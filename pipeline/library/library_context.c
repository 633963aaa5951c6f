/*
 * library_context - contexts of the library: threads, a backend, its queue.
 */
#include "pipeline/library/library_context.h"

#include "pipeline/engine/thread_pool.h"
#include "pipeline/names/machine.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 4096 };

static _Thread_local char open_error[STATUS_MESSAGE_BYTES];

const char *leat_version(void)
{
    return LEAT_VERSION;
}

static enum leat_status status_of(enum status st)
{
    switch (st) {
    case STATUS_OK:
        return LEAT_OK;
    case STATUS_BAD_ARGUMENT:
        return LEAT_BAD_ARGUMENT;
    case STATUS_BAD_INPUT:
        return LEAT_BAD_INPUT;
    case STATUS_TOO_LARGE:
        return LEAT_TOO_LARGE;
    case STATUS_NO_MEMORY:
        return LEAT_NO_MEMORY;
    case STATUS_NO_BACKEND:
        return LEAT_NO_BACKEND;
    case STATUS_DEVICE:
        return LEAT_DEVICE;
    case STATUS_CANCELLED:
        return LEAT_CANCELLED;
    default:
        return LEAT_INTERNAL;
    }
}

enum leat_status library_end(struct leat_context *c, enum status st)
{
    if (st != STATUS_OK) {
        snprintf(c->error, sizeof c->error, "%s",
                 st == STATUS_CANCELLED ? "the call was cancelled" : status_message());
        if (c->backend->ops->finish(c->queue) !=
            STATUS_OK) { /* nothing of the call is left in it */
            st = STATUS_DEVICE;
        }
    }
    __atomic_store_n(&c->stop, 0, __ATOMIC_RELAXED);
    return status_of(st);
}

enum leat_status library_refuse(struct leat_context *c, const char *message)
{
    return library_end(c, status_fail(STATUS_BAD_ARGUMENT, "%s", message));
}

enum status library_may_take(const struct leat_context *c, const struct room *counted)
{
    struct room all = *counted;
    room_count(&all, all.backend, 0);
    if (all.host == UINT64_MAX) {
        return status_fail(STATUS_TOO_LARGE, "it takes more than 2^64 bytes");
    }
    return all.host <= c->memory
               ? STATUS_OK
               : status_fail(STATUS_TOO_LARGE,
                             "it takes %" PRIu64 " bytes, and the context may take %" PRIu64
                             "; raise `memory`, or give less",
                             all.host, c->memory);
}

enum status library_progress(struct leat_context *c, double share)
{
    if (c->progress != NULL && c->progress(c->user, share) != 0) {
        leat_cancel(c);
    }
    return queue_check(c->queue);
}

bool library_is_array(const struct leat_array *x)
{
    if (x == NULL || x->data == NULL || x->rows == 0 || x->columns == 0 ||
        x->columns > SIZE_MAX / 16 || x->rows > SIZE_MAX / 16 / x->columns ||
        x->row_bytes > SIZE_MAX / 2 / x->rows || (x->type != LEAT_F8 && x->type != LEAT_F4) ||
        (x->memory != LEAT_HOST_MEMORY && x->memory != LEAT_DEVICE_MEMORY)) {
        return false;
    }
    const size_t number = x->type == LEAT_F4 ? sizeof(float) : sizeof(double);
    const size_t row = x->columns * number;
    return x->row_bytes == 0 || x->row_bytes == row ||
           (x->memory == LEAT_HOST_MEMORY && x->row_bytes > row && x->row_bytes % number == 0);
}

enum status library_borrow(struct leat_context *c, const void *at, size_t n, size_t size,
                           void *stream, struct span *out)
{
    if (c->backend->ops->borrow == NULL) {
        return status_fail(STATUS_BAD_ARGUMENT, "device memory: the context computes on the CPU; "
                                                "open one with backend \"cuda\"");
    }
    if ((uintptr_t)at % size != 0 || n > SIZE_MAX / size) {
        return status_fail(STATUS_BAD_ARGUMENT, "device memory: %p is not aligned to %zu bytes", at,
                           size);
    }
    return c->backend->ops->borrow(c->queue, (void *)(uintptr_t)at, n * size, stream, out);
}

const char *library_options(void *to, size_t all, const void *from, size_t size)
{
    const char *const given = from;
    if (size < sizeof size) {
        return "options: size is not set; begin with LEAT_..._DEFAULTS";
    }
    memset(to, 0, all);
    memcpy(to, from, size < all ? size : all);
    for (size_t i = all; i < size; i++) {
        if (given[i] != 0) {
            return "options: one is set that this version, " LEAT_VERSION
                   ", does not know; leave it 0, or take a newer libleat";
        }
    }
    return NULL;
}

/* Threads that begin now take none of the program's signals. */
static sigset_t block_signals(void)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    return before;
}

enum status library_products(struct leat_context *c)
{
    if (c->backend->ops != &backend_cpu) {
        return STATUS_OK;
    }
    const sigset_t before = block_signals(); /* OpenBLAS begins some */
    const enum status st = backend_load_products(thread_pool_executor(c->threads).n_threads);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return st;
}

/* --- life ------------------------------------------------------------------------------------ */

static enum status open_backend(struct leat_context *c, const struct leat_options *o)
{
    const char *const want = o->backend != NULL ? o->backend : "cpu";
    const size_t n = o->threads > 0 ? o->threads : machine_cpus();
    char why[STATUS_MESSAGE_BYTES];
    struct backend_info info;
    if (n > MOST_THREADS) {
        return status_fail(STATUS_BAD_ARGUMENT, "threads: give 0, for all, or up to %d",
                           MOST_THREADS);
    }
    if (thread_pool_new(n, &c->threads) != STATUS_OK) {
        return STATUS_NO_MEMORY;
    }
    const struct backend_config config = {.executor = thread_pool_executor(c->threads),
                                          .device = o->device};
    STATUS_TRY(backend_select(want, &config, why, sizeof why, &c->backend));
    STATUS_TRY(c->backend->ops->queue_new(c->backend, &c->queue));
    c->queue->stop = &c->stop;
    c->backend->ops->describe(c->backend, &info);
    snprintf(c->backend_text, sizeof c->backend_text, "%s: %s, %zu threads", info.name, info.device,
             n);
    return STATUS_OK;
}

enum leat_status leat_open(const struct leat_options *options, struct leat_context **out)
{
    struct leat_options o = LEAT_OPTIONS_DEFAULTS;
    *out = NULL;
    const char *const wrong =
        options != NULL ? library_options(&o, sizeof o, options, options->size) : NULL;
    struct leat_context *const c = calloc(1, sizeof *c);
    if (c == NULL) {
        snprintf(open_error, sizeof open_error, "no memory for a context");
        return LEAT_NO_MEMORY;
    }
    c->memory = o.memory > 0 ? o.memory : UINT64_MAX;
    c->progress = o.progress;
    c->user = o.user;
    const sigset_t before = block_signals();
    const enum status st =
        wrong == NULL ? open_backend(c, &o) : status_fail(STATUS_BAD_ARGUMENT, "%s", wrong);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (st != STATUS_OK) {
        snprintf(open_error, sizeof open_error, "%s", status_message());
        leat_close(c);
        return status_of(st);
    }
    *out = c;
    return LEAT_OK;
}

void leat_close(struct leat_context *c)
{
    if (c == NULL) {
        return;
    }
    if (c->queue != NULL) {
        c->backend->ops->queue_free(c->queue);
    }
    if (c->backend != NULL) {
        c->backend->ops->close(c->backend);
    }
    thread_pool_free(c->threads);
    free(c);
}

const char *leat_error(const struct leat_context *c)
{
    return c != NULL ? c->error : open_error;
}

const char *leat_backend(const struct leat_context *c)
{
    return c->backend_text;
}

void leat_cancel(struct leat_context *c)
{
    if (c != NULL) {
        __atomic_store_n(&c->stop, 1, __ATOMIC_RELAXED);
    }
}
