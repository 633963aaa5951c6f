/*
 * phases_cpu - work in phases that are too short to wake threads for each of them.
 *
 * A phase has pieces, which any thread may do in any order; the next one begins when all are done.
 * Threads are woken once, by cpu_run, and then look for the next phase themselves; each begins with
 * the same pieces, whose data lie in its cache. One that finds nothing to do for some time leaves;
 * those at work finish without it, as they do if it never comes.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_PHASES_CPU_H
#define LEAT_KERNELS_SCIDDICAT_PHASES_CPU_H

#include "kernels/backend.h"

#include <stddef.h>

enum { CPU_MOST_PIECES = 128 };

struct cpu_phases {
    /* Called by one thread when everything before is done: makes the next phase ready. How many
     * pieces it has, at most CPU_MOST_PIECES; 0: there is none. */
    size_t (*next)(void *arg);
    void (*piece)(void *arg, size_t index);
    void *arg;
};

/* Returns when next() has returned 0. At most n_threads threads, the calling one among them. */
void cpu_run_phases(struct queue *q, size_t n_threads, const struct cpu_phases *phases);

#endif
