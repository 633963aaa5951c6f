/*
 * rank_help - see rank_queue.h. Calls come in their order and are made in it. What fails of those
 * that nobody waits for is kept for the next one that is waited for, which is not made then. What
 * the borrower has is within this process's limits, but for one piece on its way, and given back
 * when it ends.
 */
#include "pipeline/engine/rank_queue.h"

#include "formats/base/log.h"
#include "pipeline/engine/engine.h"
#include "pipeline/engine/rank_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SPANS = 16 };

struct guest {
    struct engine *engine;
    struct ranks *ranks;
    size_t borrower;
    struct queue *queue; /* NULL: not begun */
    bool on_cpu;
    uint64_t limit, used;
    struct span spans[MOST_SPANS]; /* that it has */
    size_t n_spans;
    void *run; /* likewise; NULL: none */
    size_t run_bytes;
    struct sciddicat_params p; /* of the run */
    char *room;                /* for what calls bring and give */
    size_t room_bytes;
    enum status code; /* of a call that nobody has waited for */
    char message[STATUS_MESSAGE_BYTES];
    bool has_ended;
};

static const struct backend_ops *ops(const struct guest *g)
{
    return g->queue->backend->ops;
}

static const struct sciddicat_kernels *kernels(const struct guest *g)
{
    return ops(g)->sciddicat;
}

static const struct sciddicat_member_kernels *member(const struct guest *g)
{
    return kernels(g)->member;
}

static enum status make_room(struct guest *g, size_t bytes)
{
    if (bytes > g->room_bytes) {
        free(g->room);
        g->room = malloc(bytes);
        g->room_bytes = g->room != NULL ? bytes : 0;
    }
    return bytes <= g->room_bytes
               ? STATUS_OK
               : status_fail(STATUS_NO_MEMORY, "no memory for %zu bytes of another rank", bytes);
}

/* What a call brings; read in any case, so that the next one can be. */
static enum status take_in(struct guest *g, size_t bytes)
{
    char unused[4096];
    const enum status st = make_room(g, bytes);
    if (st == STATUS_OK) {
        return ranks_read(g->ranks, g->borrower, g->room, bytes);
    }
    for (size_t n; bytes > 0; bytes -= n) {
        n = bytes < sizeof unused ? bytes : sizeof unused;
        STATUS_TRY(ranks_read(g->ranks, g->borrower, unused, n));
    }
    return st;
}

/* --- the queue -------------------------------------------------------------------------------- */

static enum status begin(struct guest *g, const struct rank_call *c)
{
    struct engine *e = g->engine;
    struct engine_device *d = &e->cpu;
    if (!c->on_cpu) {
        STATUS_TRY(engine_open_device(e, &d));
    }
    g->on_cpu = c->on_cpu;
    g->limit = c->on_cpu ? e->host_limit : d->memory_limit;
    return d->backend->ops->queue_new(d->backend, &g->queue);
}

static enum status take_bytes(struct guest *g, size_t bytes)
{
    if (bytes > g->limit - g->used) {
        return status_fail(STATUS_NO_MEMORY, "%llu bytes are there for jobs, %zu more are needed",
                           (unsigned long long)(g->limit - g->used), bytes);
    }
    g->used += bytes;
    return STATUS_OK;
}

static enum status alloc(struct guest *g, const struct rank_call *c, struct rank_answer *a)
{
    if (g->n_spans == MOST_SPANS) {
        return status_fail(STATUS_INTERNAL, "more than %d spans for another rank", MOST_SPANS);
    }
    STATUS_TRY(take_bytes(g, c->bytes));
    const enum status st = ops(g)->alloc(g->queue, c->bytes, &a->span);
    if (st == STATUS_OK) {
        g->spans[g->n_spans++] = a->span;
    } else {
        g->used -= c->bytes;
    }
    return st;
}

static void release(struct guest *g, const struct rank_call *c)
{
    for (size_t i = 0; i < g->n_spans; ++i) {
        if (g->spans[i].at == c->to.at) {
            ops(g)->release(g->queue, g->spans[i]);
            g->used -= g->spans[i].bytes;
            g->spans[i] = g->spans[--g->n_spans];
            break;
        }
    }
}

static enum status upload(struct guest *g, const struct rank_call *c)
{
    uint64_t ticket;
    STATUS_TRY(ops(g)->upload(g->queue, c->to, g->room, c->body, &ticket));
    return ops(g)->upload_wait(g->queue, ticket);
}

/* --- the member ------------------------------------------------------------------------------- */

static enum status open_run(struct guest *g, const struct rank_call *c, struct rank_answer *a)
{
    size_t cells;
    STATUS_TRY(sciddicat_count_cells(&c->p, &cells));
    if (g->run != NULL) {
        return status_fail(STATUS_INTERNAL, "another rank's landslide cannot begin here");
    }
    /* With one of the three arrays of its state, which lies in host memory as it is fetched. */
    const size_t state_bytes = cells * sizeof(double);
    const size_t bytes = kernels(g)->bytes(&c->p) + (g->on_cpu ? state_bytes : 0);
    STATUS_TRY(take_bytes(g, bytes));
    if (!g->on_cpu && state_bytes > g->engine->host_limit) {
        g->used -= bytes;
        return status_fail(STATUS_NO_MEMORY, "%llu bytes of host memory are there, %zu are needed",
                           (unsigned long long)g->engine->host_limit, state_bytes);
    }
    const enum status st = kernels(g)->open(g->queue, &c->p, &c->in, &g->run);
    if (st != STATUS_OK) {
        g->used -= bytes;
        return st;
    }
    g->run_bytes = bytes;
    g->p = c->p;
    a->run = g->run;
    return STATUS_OK;
}

static void close_run(struct guest *g)
{
    if (g->run != NULL) {
        kernels(g)->close(g->queue, g->run);
        g->used -= g->run_bytes;
        g->run = NULL;
    }
}

static enum status state(struct guest *g, const struct rank_call *c)
{
    void *to[RANK_STATES];
    for (size_t i = 0; i < RANK_STATES; ++i) {
        to[i] = c->wanted[i] ? g->room : NULL;
    }
    return kernels(g)->state(g->queue, g->run, to[RANK_STATE_H], to[RANK_STATE_MAX_H],
                             to[RANK_STATE_ARRIVAL]);
}

/* --- calls ------------------------------------------------------------------------------------ */

static const struct {
    bool waits;  /* the borrower, for an answer */
    bool always; /* made whatever has failed before */
    enum { NOTHING, RUN, QUEUE } of;
} calls[RANK_CALLS] = {
    [RANK_CALL_BEGIN] = {.waits = true},
    [RANK_CALL_END] = {.always = true},
    [RANK_CALL_ALLOC] = {.waits = true, .of = QUEUE},
    [RANK_CALL_RELEASE] = {.always = true, .of = QUEUE},
    [RANK_CALL_UPLOAD] = {.of = QUEUE},
    [RANK_CALL_DOWNLOAD] = {.waits = true, .of = QUEUE},
    [RANK_CALL_COPY] = {.of = QUEUE},
    [RANK_CALL_FINISH] = {.waits = true, .of = QUEUE},
    [RANK_CALL_OPEN] = {.waits = true, .of = QUEUE},
    [RANK_CALL_CLOSE] = {.always = true, .of = QUEUE},
    [RANK_CALL_STATE] = {.waits = true, .of = RUN},
    [RANK_CALL_GIVE] = {.of = RUN},
    [RANK_CALL_TAKE] = {.waits = true, .of = RUN},
    [RANK_CALL_OWN] = {.of = RUN},
    [RANK_CALL_EDGE] = {.of = RUN},
    [RANK_CALL_GHOST] = {.of = RUN},
    [RANK_CALL_STEP] = {.of = RUN},
    [RANK_CALL_LOOK] = {.waits = true, .of = RUN},
    [RANK_CALL_FIGURES] = {.waits = true, .of = RUN},
};

/* Its room has what the call brings, or gets what it gives. */
static enum status make_queue_call(struct guest *g, const struct rank_call *c,
                                   struct rank_answer *a)
{
    switch (c->kind) {
    case RANK_CALL_ALLOC:
        return alloc(g, c, a);
    case RANK_CALL_RELEASE:
        release(g, c);
        return STATUS_OK;
    case RANK_CALL_UPLOAD:
        return upload(g, c);
    case RANK_CALL_DOWNLOAD:
        return ops(g)->download(g->queue, g->room, c->from, c->gives);
    case RANK_CALL_COPY:
        return ops(g)->copy(g->queue, c->to, c->from, c->bytes);
    case RANK_CALL_FINISH:
        return ops(g)->finish(g->queue);
    case RANK_CALL_OPEN:
        return open_run(g, c, a);
    default:
        close_run(g);
        return STATUS_OK;
    }
}

static enum status make_run_call(struct guest *g, const struct rank_call *c, struct rank_answer *a)
{
    const struct sciddicat_member_kernels *const m = member(g);
    const size_t columns = g->p.columns;
    void *const room = g->room;
    struct sciddicat_rows rows;
    switch (c->kind) {
    case RANK_CALL_STATE:
        return state(g, c);
    case RANK_CALL_GIVE:
        rows = rank_rows_in(room, c->first, c->last, columns);
        return m->give(g->queue, g->run, &rows);
    case RANK_CALL_TAKE:
        rows = rank_rows_in(room, c->first, c->last, columns);
        return m->take(g->queue, g->run, &rows);
    case RANK_CALL_OWN:
        return m->own(g->queue, g->run, c->step, c->first, c->last);
    case RANK_CALL_EDGE:
        return m->edge(g->queue, g->run, c->first, c->to);
    case RANK_CALL_GHOST:
        return m->ghost(g->queue, g->run, c->first, c->from);
    case RANK_CALL_STEP:
        return m->step(g->queue, g->run, c->n_steps);
    case RANK_CALL_LOOK:
        return m->look(g->queue, g->run, room, &a->moved);
    default:
        return m->figures(g->queue, g->run, room);
    }
}

static enum status make(struct guest *g, const struct rank_call *c, struct rank_answer *a)
{
    const bool is_there = calls[c->kind].of == NOTHING ||
                          (g->queue != NULL && (calls[c->kind].of == QUEUE || g->run != NULL));
    if (!is_there) {
        return status_fail(STATUS_INTERNAL, "another rank's call comes too early");
    }
    STATUS_TRY(make_room(g, c->gives));
    g->has_ended = c->kind == RANK_CALL_END;
    return calls[c->kind].of == QUEUE   ? make_queue_call(g, c, a)
           : calls[c->kind].of == RUN   ? make_run_call(g, c, a)
           : c->kind == RANK_CALL_BEGIN ? begin(g, c)
                                        : STATUS_OK;
}

static enum status reply(struct guest *g, const struct rank_call *c, struct rank_answer *a)
{
    a->code = g->code;
    memcpy(a->message, g->message, sizeof a->message);
    g->code = STATUS_OK;
    return ranks_write(g->ranks, g->borrower, a, sizeof *a, g->room,
                       a->code == STATUS_OK ? c->gives : 0);
}

/* Fails when there is nobody to talk with any more. */
static enum status serve(struct guest *g)
{
    struct rank_call c;
    struct rank_answer a = {0};
    STATUS_TRY(ranks_read(g->ranks, g->borrower, &c, sizeof c));
    enum status st = take_in(g, c.body);
    if (st == STATUS_OK && (g->code == STATUS_OK || calls[c.kind].always)) {
        st = make(g, &c, &a);
    }
    if (st != STATUS_OK && g->code == STATUS_OK) {
        g->code = st;
        snprintf(g->message, sizeof g->message, "%s", status_message());
    }
    return calls[c.kind].waits ? reply(g, &c, &a) : STATUS_OK;
}

static void give_back(struct guest *g)
{
    if (g->queue != NULL) {
        close_run(g);
        while (g->n_spans > 0) {
            ops(g)->release(g->queue, g->spans[--g->n_spans]);
        }
        if (ops(g)->finish(g->queue) != STATUS_OK) {
            log_debug("after it has helped rank %zu: %s", g->borrower, status_message());
        }
        ops(g)->queue_free(g->queue);
    }
    free(g->room);
}

void rank_help(void *engine, size_t borrower)
{
    struct engine *e = engine;
    struct guest g = {.engine = e, .ranks = e->ranks, .borrower = borrower};
    enum status st = STATUS_OK;
    log_debug("rank %zu helps rank %zu", ranks_own(e->ranks), borrower);
    while (st == STATUS_OK && !g.has_ended) {
        st = serve(&g);
    }
    give_back(&g);
}
