/*
 * worker_fault - what happens to workers of `leat_faulty` (pipeline/worker/worker_fault.h), by the
 * environment: LEAT_WORKER_FAULT="KIND WHICH, KIND WHICH, ..."
 *
 * WHICH is a word in the path of the job's first file, or #N: the N-th job of a process. KIND:
 *   abort    the process dies of a fault of its own
 *   kill     the process is killed, as by the system when memory is out
 *   hang     the process does nothing any more
 *   device   the device reports an error
 *   memory   there is no memory
 *   reach    it tries what is not for it (worker_reach.h), and goes on
 *   still    a thread works for the job, and never ends a piece
 *   slow     a thread works for the job, and ends a piece at a time, half a second each
 */
#include "pipeline/worker/worker_fault.h"

#include "pipeline/engine/job_state.h"
#include "tests/support/worker_reach.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum status happen(const char *kind)
{
    if (strcmp(kind, "abort") == 0) {
        abort();
    }
    if (strcmp(kind, "kill") == 0) {
        raise(SIGKILL); /* a worker may send no signals */
    }
    while (strcmp(kind, "hang") == 0) {
        pause();
    }
    if (strcmp(kind, "reach") == 0) {
        worker_reach();
        return STATUS_OK;
    }
    if (strcmp(kind, "still") == 0 || strcmp(kind, "slow") == 0) { /* once it has been begun */
        return STATUS_OK;
    }
    return strcmp(kind, "device") == 0   ? status_fail(STATUS_DEVICE, "an injected device error")
           : strcmp(kind, "memory") == 0 ? status_fail(STATUS_NO_MEMORY, "injected: no memory")
                                         : status_fail(STATUS_INTERNAL, "no such fault: %s", kind);
}

/* What is to happen to the job of that path and number. */
static bool find(const char *path, const char *number, char kind[16])
{
    const char *faults = getenv("LEAT_WORKER_FAULT");
    char which[64];
    int n;
    for (; faults != NULL && sscanf(faults, " %15[a-z] %63[^,]%n", kind, which, &n) == 2;
         faults += *faults == ',') {
        faults += n;
        if (which[0] == '#' ? strcmp(which, number) == 0 : strstr(path, which) != NULL) {
            return true;
        }
    }
    return false;
}

enum status worker_fault(const char *path)
{
    static unsigned long n_jobs;
    char kind[16], number[24];
    snprintf(number, sizeof(number), "#%lu", ++n_jobs);
    return find(path, number, kind) ? happen(kind) : STATUS_OK;
}

unsigned worker_fault_alive_ms(unsigned ms)
{
    const char *set =
        getenv("LEAT_WORKER_ALIVE_MS"); /* ten minutes of signs pass in seconds then */
    return set != NULL ? (unsigned)strtoul(set, NULL, 10) : ms;
}

/* --- work that is slow, or never ends --------------------------------------------------------- */

enum { SLOW_PIECES = 32 };
static const struct timespec piece_time = {0, 500000000};

struct burden {
    struct engine_task task;
    struct job *job;
};

static enum status be_still(void *owner)
{
    (void)owner;
    while (nanosleep(&piece_time, NULL) == 0 || errno == EINTR) {
    }
    return STATUS_OK;
}

static void slow_piece(void *arg, size_t index)
{
    (void)arg;
    (void)index;
    nanosleep(&piece_time, NULL);
}

static enum status be_slow(void *owner)
{
    const struct executor e =
        thread_pool_executor(((struct burden *)owner)->job->tasks.engine->compute);
    e.run(e.context, SLOW_PIECES, slow_piece, NULL);
    return STATUS_OK;
}

static void burden_ended(struct engine_task *task)
{
    struct burden *const b = task->owner;
    struct job *const job = b->job;
    (void)job_tasks_ended(&job->tasks, task);
    free(b);
    job_tasks_changed(&job->tasks);
}

void worker_fault_begun(struct job *job)
{
    char kind[16];
    if (!find(job_path(job), "", kind) ||
        (strcmp(kind, "still") != 0 && strcmp(kind, "slow") != 0)) {
        return;
    }
    struct burden *const b = calloc(1, sizeof(*b));
    *b = (struct burden){.task = {.owner = b}, .job = job};
    job_tasks_run(&job->tasks, &b->task, LANE_DECODE,
                  strcmp(kind, "still") == 0 ? be_still : be_slow, burden_ended);
}
