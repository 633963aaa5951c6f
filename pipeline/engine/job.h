/*
 * job - one input set on its way to one result folder: a state machine on the loop thread.
 *
 *   open -> place -> (wait for memory) -> start -> read | decode | pull | encode | write
 *        -> complete -> publish
 *
 * A job calls what it is made of (job_state.h), each of which starts its own tasks on lanes and
 * has the job look again when one has finished: engine_job.advance. What follows is decided there.
 * A job that has failed or was cancelled waits for its running tasks, gives everything back, and
 * leaves no folder behind.
 */
#ifndef LEAT_PIPELINE_ENGINE_JOB_H
#define LEAT_PIPELINE_ENGINE_JOB_H

#include "pipeline/engine/engine.h"
#include "pipeline/engine/job_input.h"
#include "watch/files/publish_part.h"

#include <jansson.h>

struct job;

/* How a job ended. Valid during the callback. */
struct job_report {
    const char *path;   /* of the first part */
    const char *result; /* beneath the output folder; NULL: it was not begun */
    enum status code;
    const char *message;    /* why it failed; "" otherwise */
    const json_t *manifest; /* result.json of a job that is done; NULL otherwise */
    uint64_t input_bytes;
    uint64_t started_ns; /* by thread_pool_now_ns; 0: it was not begun */
    bool is_long; /* it was to be computed only if short, and is not: nothing has come of it */
};

/* What every job of a run shares. */
struct job_context {
    struct engine *engine;
    const struct settings *settings;
    int out_fd;        /* the output folder; -1 when check_only */
    bool check_only;   /* read, decode and plan, but compute and write nothing */
    bool keeps_states; /* of long jobs, in the output folder, for when they are interrupted */
    bool short_only;   /* end, after the inputs' heads have been read, unless the job is short; of a
                          job that lasts all the same: not any more */
    void (*ended)(void *user, const struct job_report *report); /* on the loop thread */
    /* waits: the job begins to wait for memory, and no deadline counts; else it has it, and its
     * deadline (deadline_s in both calls, 0: none) counts from now on. On the loop thread; NULL:
     * nobody asks. */
    void (*waits)(void *user, const struct job *job, bool waits, double deadline_s);
    void *user;
};

/* Starts a job, for which there is a place: engine_has_place, or with short_only
 * engine_has_short_place. The input is taken over. */
void job_start(const struct job_context *context, struct job_input *input);
/* Stops a job as soon as its running tasks have ended; one that is being published already is let
 * through. */
void job_cancel(struct job *job, enum status code, const char *message);
/* The i-th of those in flight. */
static inline struct job *job_in_flight(const struct engine *e, size_t i)
{
    return (struct job *)e->jobs[i];
}
/* Its first part's. */
const char *job_path(const struct job *job);
/* The `user` of its context. */
const void *job_context_user(const struct job *job);
/* Bytes of input files consumed by jobs in flight, for progress. */
uint64_t job_bytes_read(const struct job *job);
/* Whether threads, or a device that they wait for, work for the job now; if not, it waits for what
 * others have, or for a disk. *n_moves: grows with every piece of its work that ends, and begins
 * again when the job does. */
bool job_is_at_work(const struct job *job, uint64_t *n_moves);
/* Whether the job is a simulation; if so, how many steps of it are done, and of how many: 0 until
 * it has begun. */
bool job_steps(const struct job *job, uint64_t *n_done, uint64_t *n_steps);

#endif
