/*
 * service_life - where a job goes: the lists that it may wait in, and the next one by how a step
 * has ended. Nothing else decides that. `tests/pipeline/test_service_life.c` keeps the copy of the
 * table in ARCHITECTURE.md true.
 */
#ifndef LEAT_PIPELINE_SERVICE_SERVICE_LIFE_H
#define LEAT_PIPELINE_SERVICE_SERVICE_LIFE_H

#include "watch/spool/spool.h"

/* What a job waits for; a job in one of these states stands in the list of it. */
enum service_list {
    WAIT_CLAIM,
    WAIT_VERIFY,
    WAIT_ATTEMPT,
    WAIT_WORKER,  /* attempted, and not yet sent */
    WAIT_RESULT,  /* at a worker */
    WAIT_FINISH,  /* the worker is done */
    WAIT_REQUEUE, /* its work is to be done again */
    WAIT_FAIL,
    SERVICE_LISTS,
    WAIT_NOTHING = SERVICE_LISTS /* a step has it, or it has ended */
};

/* The next list of a job in `from` whose step has ended so:
 * SPOOL_OK         the step is done
 * SPOOL_WAIT       somebody writes to an input, or did; the service takes it back from a worker
 * SPOOL_TRANSIENT  it stays, and the step is repeated
 * SPOOL_GONE       nothing is claimed, and it has ended
 * and it fails with all others. */
enum service_list service_next(enum service_list from, enum spool_outcome outcome);
/* How the spool's step of jobs in `from` has ended for `job`, for service_next. What has been
 * decided of a job stays so: such a step is repeated whatever it has met. What the disk did not
 * take of a result is gone from memory, too: that work is to be done again. */
enum spool_outcome service_outcome(enum service_list from, const struct spool_job *job);
/* What a job waits for that the spool has found so. */
enum service_list service_list_of(enum spool_state state);

#endif
