/*
 * worker_fault - where a test may have a worker die, hang or fail with a job.
 *
 * Only test builds (LEAT_FAULTS) ask; tests/support/worker_fault.c answers.
 */
#ifndef LEAT_PIPELINE_WORKER_WORKER_FAULT_H
#define LEAT_PIPELINE_WORKER_WORKER_FAULT_H

#include "formats/base/status.h"

#ifdef LEAT_FAULTS

/* Called with the path of every job's first file when the job begins. What it returns becomes of
 * the job, unless that is STATUS_OK; may not return. */
enum status worker_fault(const char *path) STATUS_MUST_CHECK;
/* Called when such a job has been begun: may give it work. */
struct job;
void worker_fault_begun(struct job *job);
/* What is between two signs of life, that would be `ms`. */
unsigned worker_fault_alive_ms(unsigned ms);

#else

static inline enum status worker_fault(const char *path)
{
    (void)path;
    return STATUS_OK;
}

struct job;
static inline void worker_fault_begun(struct job *job)
{
    (void)job;
}

static inline unsigned worker_fault_alive_ms(unsigned ms)
{
    return ms;
}

#endif

#endif
