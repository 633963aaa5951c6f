/*
 * job_io - what a method sees of its job: it pulls numbers in and hands results out.
 *
 * A stage with `run` computes in one function, on a stack of its own. Where one of these calls has
 * to wait, for numbers or until results have been written, the thread does something else, and
 * `run` goes on later, maybe on another thread: it holds no lock while it calls them. Once the job
 * has failed or was cancelled they return STATUS_CANCELLED, and `run` returns that at once.
 *
 * What `run` has allocated through `room` lives until the job ends, since pieces of results are
 * made when `run` has returned; nothing that a piece reads lies on its stack.
 */
#ifndef LEAT_STAGES_BASE_JOB_IO_H
#define LEAT_STAGES_BASE_JOB_IO_H

#include "kernels/base/room.h"
#include "stages/stage.h"

/* How further queues come to help, as of pull_helpers and pull_help; called while the method waits.
 */
struct job_help {
    size_t (*wanted)(const void *context); /* NULL: never any */
    enum status (*bring)(void *context, struct queue **queues, size_t *n);
    void *context;
};

struct job_io {
    struct stage_args args;
    const struct backend_ops *ops;
    struct queue *queue;
    struct room room;   /* that gives */
    struct result *out; /* to be filled; files of it leave with io_leave, the rest when `run` has
                           returned STATUS_OK */
    uint64_t ticket;    /* of the last upload of numbers from a chunk */
    uint64_t n_done, n_steps; /* of a simulation, for who looks on */
    struct job_help help;
};

/* The next numbers of a part, in file order; NULL: there are no more. Parts come in their order,
 * each is pulled to its end. The chunk, whose numbers may be changed, is valid until the next call
 * of this or io_taken; io->ticket tells when what was uploaded from it has been read. */
enum status io_chunk(struct job_io *io, size_t part,
                     const struct table_chunk **out) STATUS_MUST_CHECK;
/* Nothing more is wanted of the chunk: said before io_leave or io_pause it lets the chunk go. */
void io_taken(struct job_io *io);
/* After all parts have ended: a part comes once more, from its first number on, as of
 * pull_end_pass. Not once results have left without numbers still to come. */
enum status io_again(struct job_io *io, size_t part) STATUS_MUST_CHECK;
/* Hands out the files of io->out, of which there are some, and begins another result. Returns when
 * fewer results than the plan's n_results are on their way: so many sets of buffers, used in turn,
 * are enough. */
enum status io_leave(struct job_io *io) STATUS_MUST_CHECK;
/* Adds NAME.png, .svg or .pdf, as was chosen, or nothing; its one piece draws it, of the context.
 */
enum status io_picture(struct job_io *io, const struct figure_choice *choice, const char *name,
                       result_piece_fn *piece, void *context) STATUS_MUST_CHECK;
/* Lets others compute, and the job be cancelled, between two parts of long work. Not between the
 * end of a part's numbers and an io_again. */
enum status io_pause(struct job_io *io) STATUS_MUST_CHECK;

/* Whether a job may have so much memory, where the host's and the backend's are one, and where they
 * are two. */
static inline bool io_has_room(const struct stage_args *args, const struct room *need)
{
    struct room all = *need;
    room_count(&all, 0, args->host_limit == 0 ? need->host : 0);
    return all.host < UINT64_MAX && all.backend < UINT64_MAX &&
           (args->host_limit == 0 || all.host <= args->host_limit) &&
           (args->memory_limit == 0 || all.backend <= args->memory_limit);
}

#endif
