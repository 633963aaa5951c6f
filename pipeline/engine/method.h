/*
 * method - a stage's method as it pulls: blocks that have been read go to it in file order, and
 * what it hands out goes to the files while it computes on. On the loop thread.
 */
#ifndef LEAT_PIPELINE_ENGINE_METHOD_H
#define LEAT_PIPELINE_ENGINE_METHOD_H

#include "pipeline/engine/memory.h"
#include "pipeline/engine/writing.h"

struct method {
    struct job_tasks *tasks; /* these six are the caller's; also the task's owner, this struct: */
    struct place *place;
    struct reading *reading;
    struct memory *memory;
    struct writing *writing;
    bool only_counts; /* check: numbers are looked at, and nothing is computed */

    struct engine_task task;

    struct pull *pull;              /* NULL: it has not begun, or only counts */
    bool is_busy;                   /* that runs */
    struct block *pushing;          /* to be pushed next */
    struct block *pushed;           /* by the task that runs */
    struct block *uploading;        /* by the one before; the device may still read them */
    bool more_portions;             /* of what was pushed last */
    size_t again;                   /* part of the job's inputs that is to come once more */
    bool has_read, more;            /* there are no more passes; it is not at its end */
    struct result next;             /* that it fills */
    uint64_t n_steps_done, n_steps; /* of a simulation, as it was last asked */
};

/* Begins it on a lane, and is busy until then. */
void method_start(struct method *m);
/* Reads, computes and writes on, as far as that is possible now; the job may fail. */
void method_advance(struct method *m);
/* Whether all has been computed and written. */
bool method_has_ended(const struct method *m);
/* On a lane: frees it. */
void method_free(struct method *m);
/* When no task of the job runs: gives its blocks back. */
void method_drop(struct method *m);

#endif
