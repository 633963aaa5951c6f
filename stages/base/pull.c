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

static enum status wait_for(struct pull *p, enum waits what)
{
    p->waits = what;
    if (!p->is_cancelled) {
        coroutine_wait(p->coroutine);
    }
    return p->is_cancelled ? status_fail(STATUS_CANCELLED, "the job has ended") : STATUS_OK;
}

void io_taken(struct job_io *io)
{
    struct pull *const p = pull_of(io);
    p->chunk = p->is_seen ? NULL : p->chunk;
    p->is_seen = false;
}

enum status io_chunk(struct job_io *io, size_t part, const struct table_chunk **out)
{
    struct pull *const p = pull_of(io);
    *out = NULL;
    io_taken(io);
    while (p->chunk == NULL && !p->all_came) {
        STATUS_TRY(wait_for(p, FOR_NUMBERS));
    }
    if (p->chunk != NULL && p->part < part) {
        return status_fail(STATUS_INTERNAL, "part %zu has not been pulled to its end", p->part);
    }
    if (p->chunk != NULL && p->part == part) {
        p->is_seen = true;
        *out = p->chunk;
    }
    return STATUS_OK;
}

enum status io_again(struct job_io *io, size_t part)
{
    struct pull *const p = pull_of(io);
    if (!p->all_came || p->is_finishing) {
        return status_fail(STATUS_INTERNAL, "part %zu is wanted again too early or too late", part);
    }
    p->again = part;
    p->all_came = false;
    return wait_for(p, FOR_A_PASS);
}

enum status io_leave(struct job_io *io)
{
    struct pull *const p = pull_of(io);
    p->leaves = true;
    return wait_for(p, FOR_ROOM);
}

enum status io_picture(struct job_io *io, const struct figure_choice *choice, const char *name,
                       result_piece_fn *piece, void *context)
{
    struct result_file *f;
    char file[RESULT_NAME_BYTES];
    if (choice->format == FIGURE_NONE) {
        return STATUS_OK;
    }
    figure_name(file, sizeof file, name, choice->format);
    STATUS_TRY(result_add_file(io->out, file, PACK_RAW, &f));
    return result_add_member(f, NULL, 1, piece, context, NULL);
}

enum status io_pause(struct job_io *io)
{
    STATUS_TRY(queue_check(io->queue));
    return wait_for(pull_of(io), FOR_ITS_TURN);
}

static void body(void *context)
{
    struct pull *const p = context;
    p->code = p->run(&p->io);
}

/* --- the engine's side ----------------------------------------------------------------------- */

/* Goes on with the method until it waits again; its failure, if it has failed. */
static enum status go_on(struct pull *p)
{
    if (!coroutine_has_ended(p->coroutine)) {
        coroutine_resume(p->coroutine);
    }
    return p->code;
}

static enum status give(struct pull *p, struct result *out)
{
    result_free(out);
    *out = p->out;
    p->out = (struct result){0};
    p->leaves = false;
    return result_init(&p->out);
}

enum status pull_open(const struct stage_ops *stage, const struct stage_args *args,
                      struct pull **out)
{
    struct pull *const p = calloc(1, sizeof *p);
    *out = NULL;
    if (p == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a job");
    }
    p->run = stage->run;
    p->io = (struct job_io){.args = *args,
                            .ops = args->queue->backend->ops,
                            .queue = args->queue,
                            .room = {.queue = args->queue},
                            .out = &p->out};
    enum status st = result_init(&p->out);
    st = st == STATUS_OK ? coroutine_new(body, p, &p->coroutine) : st;
    st = st == STATUS_OK ? go_on(p) : st;
    if (st != STATUS_OK) {
        pull_free(p);
        return st;
    }
    *out = p;
    return STATUS_OK;
}

enum status pull_push(struct pull *p, size_t part, const struct table_chunk *chunk,
                      uint64_t *ticket)
{
    p->chunk = chunk;
    p->part = part;
    p->is_seen = false;
    p->io.ticket = 0;
    const enum status st = go_on(p);
    *ticket = p->io.ticket;
    return st;
}

enum status pull_portion(struct pull *p, struct result *out, bool *more)
{
    if (!p->leaves && p->chunk != NULL) {
        STATUS_TRY(go_on(p));
        if (p->chunk == NULL) { /* what its push has said of it is out of date */
            STATUS_TRY(p->io.ops->upload_wait(p->io.queue, p->io.ticket));
        }
    }
    *more = p->chunk != NULL && !coroutine_has_ended(p->coroutine);
    return p->leaves ? give(p, out) : STATUS_OK;
}

enum status pull_end_pass(struct pull *p, size_t *part)
{
    p->all_came = true;
    STATUS_TRY(go_on(p));
    if (p->waits == FOR_A_PASS && !coroutine_has_ended(p->coroutine)) {
        *part = p->again;
    }
    return STATUS_OK;
}

enum status pull_finish(struct pull *p, struct result *out, bool *more)
{
    p->is_finishing = p->all_came = true;
    if (!p->leaves) {
        STATUS_TRY(go_on(p));
    }
    *more = p->leaves || !coroutine_has_ended(p->coroutine);
    return p->leaves || !*more ? give(p, out) : STATUS_OK;
}

void pull_progress(const struct pull *p, uint64_t *n_done, uint64_t *n_steps)
{
    *n_done = p->io.n_done;
    *n_steps = p->io.n_steps;
}

size_t pull_helpers(const struct pull *p)
{
    const struct job_help *const h = &p->io.help;
    return h->wanted != NULL ? h->wanted(h->context) : 0;
}

enum status pull_help(struct pull *p, struct queue **queues, size_t *n)
{
    return p->io.help.bring(p->io.help.context, queues, n);
}

void pull_free(struct pull *p)
{
    if (p == NULL) {
        return;
    }
    if (p->coroutine != NULL && !coroutine_has_ended(p->coroutine)) {
        p->is_cancelled = true;
        coroutine_resume(p->coroutine);
        assert(coroutine_has_ended(p->coroutine));
    }
    coroutine_free(p->coroutine);
    room_free(&p->io.room);
    result_free(&p->out);
    free(p);
}
