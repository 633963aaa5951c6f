/*
 * pull - both sides of a method that pulls: what it calls, and what the engine does.
 */
#include "stages/base/pull.h"
#include "stages/base/coroutine.h"
#include "stages/base/job_io.h"

#include <assert.h>
#include <stdlib.h>

enum waits {
    FOR_NUMBERS,
    FOR_ROOM, /* its result is to be taken, or has been */
    FOR_ITS_TURN,
    FOR_A_PASS
};

struct pull {
    struct job_io io; /* first: the method has its address */
    enum status (*run)(struct job_io *io);
    struct coroutine *coroutine;
    enum waits waits;
    enum status code; /* of run, once it has returned */

    const struct table_chunk *chunk; /* that the method may see, or sees; NULL: none */
    size_t part;                     /* of it */
    bool is_seen;
    bool all_came;     /* of this pass */
    bool is_finishing; /* there are no more passes */
    size_t again;      /* the part that is wanted once more */

    struct result out;
    bool leaves; /* it is to be taken */
    bool is_cancelled;
};

static struct pull *pull_of(struct job_io *io)
{
    return (struct pull *)io;
}

/* --- the method's side ----------------------------------------------------------------------- */

static enum status wait_for(struct pull *s, enum waits what)
{
    s->waits = what;
    if (!s->is_cancelled) {
        coroutine_wait(s->coroutine);
    }
    return s->is_cancelled ? status_fail(STATUS_CANCELLED, "the job has ended") : STATUS_OK;
}

void io_taken(struct job_io *io)
{
    struct pull *const s = pull_of(io);
    s->chunk = s->is_seen ? NULL : s->chunk;
    s->is_seen = false;
}

enum status io_chunk(struct job_io *io, size_t part, const struct table_chunk **out)
{
    struct pull *const s = pull_of(io);
    *out = NULL;
    io_taken(io);
    while (s->chunk == NULL && !s->all_came) {
        STATUS_TRY(wait_for(s, FOR_NUMBERS));
    }
    if (s->chunk != NULL && s->part < part) {
        return status_fail(STATUS_INTERNAL, "part %zu has not been pulled to its end", s->part);
    }
    if (s->chunk != NULL && s->part == part) {
        s->is_seen = true;
        *out = s->chunk;
    }
    return STATUS_OK;
}

enum status io_again(struct job_io *io, size_t part)
{
    struct pull *const s = pull_of(io);
    if (!s->all_came || s->is_finishing) {
        return status_fail(STATUS_INTERNAL, "part %zu is wanted again too early or too late", part);
    }
    s->again = part;
    s->all_came = false;
    return wait_for(s, FOR_A_PASS);
}

enum status io_leave(struct job_io *io)
{
    struct pull *const s = pull_of(io);
    s->leaves = true;
    return wait_for(s, FOR_ROOM);
}

enum status io_pause(struct job_io *io)
{
    STATUS_TRY(queue_check(io->queue));
    return wait_for(pull_of(io), FOR_ITS_TURN);
}

static void body(void *context)
{
    struct pull *const s = context;
    s->code = s->run(&s->io);
}

/* --- the engine's side ----------------------------------------------------------------------- */

/* Goes on with the method until it waits again; its failure, if it has failed. */
static enum status go_on(struct pull *s)
{
    if (!coroutine_has_ended(s->coroutine)) {
        coroutine_resume(s->coroutine);
    }
    return s->code;
}

static enum status give(struct pull *s, struct result *out)
{
    result_free(out);
    *out = s->out;
    s->out = (struct result){0};
    s->leaves = false;
    return result_init(&s->out);
}

enum status pull_open(const struct stage_ops *stage, const struct stage_args *args,
                      struct pull **out)
{
    struct pull *const s = calloc(1, sizeof *s);
    *out = NULL;
    if (s == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a job");
    }
    s->run = stage->run;
    s->io = (struct job_io){.args = *args,
                            .ops = args->queue->backend->ops,
                            .queue = args->queue,
                            .room = {.queue = args->queue},
                            .out = &s->out};
    enum status st = result_init(&s->out);
    st = st == STATUS_OK ? coroutine_new(body, s, &s->coroutine) : st;
    st = st == STATUS_OK ? go_on(s) : st;
    if (st != STATUS_OK) {
        pull_free(s);
        return st;
    }
    *out = s;
    return STATUS_OK;
}

enum status pull_push(struct pull *s, size_t part, const struct table_chunk *chunk,
                      uint64_t *ticket)
{
    s->chunk = chunk;
    s->part = part;
    s->is_seen = false;
    s->io.ticket = 0;
    const enum status st = go_on(s);
    *ticket = s->io.ticket;
    return st;
}

enum status pull_portion(struct pull *s, struct result *out, bool *more)
{
    if (!s->leaves && s->chunk != NULL) {
        STATUS_TRY(go_on(s));
        if (s->chunk == NULL) { /* what its push has said of it is out of date */
            STATUS_TRY(s->io.ops->upload_wait(s->io.queue, s->io.ticket));
        }
    }
    *more = s->chunk != NULL && !coroutine_has_ended(s->coroutine);
    return s->leaves ? give(s, out) : STATUS_OK;
}

enum status pull_end_pass(struct pull *s, size_t *part)
{
    s->all_came = true;
    STATUS_TRY(go_on(s));
    if (s->waits == FOR_A_PASS && !coroutine_has_ended(s->coroutine)) {
        *part = s->again;
    }
    return STATUS_OK;
}

enum status pull_finish(struct pull *s, struct result *out, bool *more)
{
    s->is_finishing = s->all_came = true;
    if (!s->leaves) {
        STATUS_TRY(go_on(s));
    }
    *more = s->leaves || !coroutine_has_ended(s->coroutine);
    return s->leaves || !*more ? give(s, out) : STATUS_OK;
}

void pull_progress(const struct pull *s, uint64_t *n_done, uint64_t *n_steps)
{
    *n_done = s->io.n_done;
    *n_steps = s->io.n_steps;
}

size_t pull_helpers(const struct pull *s)
{
    const struct job_help *const h = &s->io.help;
    return h->wanted != NULL ? h->wanted(h->context) : 0;
}

enum status pull_help(struct pull *s, struct queue **queues, size_t *n)
{
    return s->io.help.bring(s->io.help.context, queues, n);
}

void pull_free(struct pull *s)
{
    if (s == NULL) {
        return;
    }
    if (s->coroutine != NULL && !coroutine_has_ended(s->coroutine)) {
        s->is_cancelled = true;
        coroutine_resume(s->coroutine);
        assert(coroutine_has_ended(s->coroutine));
    }
    coroutine_free(s->coroutine);
    room_free(&s->io.room);
    result_free(&s->out);
    free(s);
}
