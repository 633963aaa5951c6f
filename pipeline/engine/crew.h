/*
 * crew - a fixed set of threads that works off tasks, and lends its idle threads to loops.
 *
 * Each lane of the engine runs on a crew. The compute crew serves several lanes (decoding, CPU
 * kernels, encoding), so that there are never more computing threads than --threads; tasks of
 * higher priority are taken first, tasks of one priority in order of arrival. crew_executor() lets
 * whoever calls it (a task of this crew or any other thread) spread a loop over idle threads of the
 * crew; the caller works too, so it never waits for a thread to become free.
 *
 * CPU time is booked on the account of the task, and that of a loop on the account of its caller.
 */
#ifndef LEAT_PIPELINE_ENGINE_CREW_H
#define LEAT_PIPELINE_ENGINE_CREW_H

#include "formats/base/io_watch.h"
#include "formats/base/status.h"
#include "kernels/backend.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Where work's time is booked: one for each lane of a job. */
struct crew_account {
    _Atomic uint64_t cpu_ns;  /* of all threads */
    _Atomic uint64_t busy_ns; /* wall time of tasks, added up over threads */
    struct io_watch *watch;   /* told of the work's calls to files; NULL: nobody */
};

enum { CREW_PRIORITIES = 3 };

/* One unit of work. `work` runs on a thread of the crew, its time is booked, then `done` runs on
 * the same thread: it hands the task on, and may free it or queue it again. */
struct crew_task {
    void (*work)(struct crew_task *task);
    void (*done)(struct crew_task *task);
    struct crew_account *account; /* NULL: not booked */
    struct crew_task *next;       /* the crew's own */
};

struct crew;

/* Starts n_threads >= 1 threads. STATUS_NO_MEMORY, STATUS_IO. */
enum status crew_new(size_t n_threads, struct crew **out) STATUS_MUST_CHECK;
/* Works off what is queued, then ends the threads. NULL is fine. */
void crew_free(struct crew *c);

/* Queues a task; never waits. priority < CREW_PRIORITIES, higher is taken first. */
void crew_submit(struct crew *c, unsigned priority, struct crew_task *task);

/* For struct backend_config. Valid as long as the crew. */
struct executor crew_executor(struct crew *c);

/* CPU time of the crew's threads since they began, in seconds: at most n_threads a second. */
double crew_cpu_s(const struct crew *c);

/* The clock that busy times are taken with: monotonic, nanoseconds. */
uint64_t crew_now_ns(void);

#endif
