/*
 * thread_pool - a fixed set of threads that works off tasks, and lends its idle threads to loops.
 *
 * Each lane of the engine runs on a pool. The compute pool serves several lanes (decoding, CPU
 * kernels, encoding), so that there are never more computing threads than --threads; tasks of
 * higher priority are taken first, tasks of one priority in order of arrival. Those of short jobs
 * come before all of the others, which may take half a second each; and a thread that is in a loop
 * of a long job works them off between two bodies, so that they do not wait for the end of such a
 * task either. After that it works for long jobs for as long, if they have anything to do: so these
 * have half of the time at least. The executor of a
 * pool lets whoever calls it (a task of this pool or any other thread) spread a loop over idle
 * threads of the pool; the caller works too, so it never waits for a thread to become free.
 *
 * CPU time and moves are booked on the account of the task, and those of a loop on the account of
 * its caller.
 */
#ifndef LEAT_PIPELINE_ENGINE_THREAD_POOL_H
#define LEAT_PIPELINE_ENGINE_THREAD_POOL_H

#include "formats/base/io_watch.h"
#include "formats/base/status.h"
#include "kernels/backend.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where work's time is booked: one for each lane of a job. */
struct thread_pool_account {
    _Atomic uint64_t cpu_ns;  /* of all threads */
    _Atomic uint64_t busy_ns; /* wall time of tasks, added up over threads */
    uint64_t n_moves;         /* tasks, bodies of loops and calls to files that have ended, and
                                 what the work adds by moves_add(); atomic */
    atomic_uint n_at_work;    /* threads that work for it now, but for those in a call to a file */
    struct io_watch *watch;   /* told of the work's calls to files; NULL: nobody */
    atomic_bool is_short;     /* a job that is short: its tasks do not wait for long jobs' */
};

/* Whether threads work for it now; adds its moves to *n_moves. By any thread. */
bool thread_pool_account_is_at_work(const struct thread_pool_account *account, uint64_t *n_moves);

enum { THREAD_POOL_PRIORITIES = 3 };

/* One unit of work. `work` runs on a thread of the thread pool, its time is booked, then `done`
 * runs on the same thread: it hands the task on, and may free it or queue it again. */
struct thread_pool_task {
    void (*work)(struct thread_pool_task *task);
    void (*done)(struct thread_pool_task *task);
    struct thread_pool_account *account; /* NULL: not booked */
    struct thread_pool_task *next;       /* the pool's own */
};

struct thread_pool;

/* Starts n_threads >= 1 threads. STATUS_NO_MEMORY, STATUS_IO. */
enum status thread_pool_new(size_t n_threads, struct thread_pool **out) STATUS_MUST_CHECK;
/* Works off what is queued, then ends the threads. NULL is fine. */
void thread_pool_free(struct thread_pool *c);

/* Queues a task; never waits. priority < THREAD_POOL_PRIORITIES, higher is taken first. */
void thread_pool_submit(struct thread_pool *c, unsigned priority, struct thread_pool_task *task);

/* For struct backend_config. Valid as long as the thread pool. */
struct executor thread_pool_executor(struct thread_pool *c);

/* CPU time of the pool's threads since they began, in seconds: at most n_threads a second. */
double thread_pool_cpu_s(const struct thread_pool *c);

/* The clock that busy times are taken with: monotonic, nanoseconds. */
uint64_t thread_pool_now_ns(void);

#endif
