/*
 * rank_queue - a queue whose work another rank does: a table of backend_ops that sends each call to
 * the process that was borrowed (rank_help), and waits where the call waits.
 *
 * It has what members of a landslide need and nothing else: no host memory, no copies to other
 * queues, no other kernels. So bands.h composes it with queues of this process.
 */
#ifndef LEAT_PIPELINE_ENGINE_RANK_QUEUE_H
#define LEAT_PIPELINE_ENGINE_RANK_QUEUE_H

#include "kernels/backend.h"
#include "pipeline/ranks/ranks.h"

/* Of a rank that is borrowed; on_cpu: where its work is done. It is given back when the queue is
 * freed, and also where this fails: that rank's reason. */
enum status rank_queue_new(struct ranks *ranks, size_t rank, bool on_cpu,
                           struct queue **out) STATUS_MUST_CHECK;

/* What the rank does that has been borrowed (rank_help.c): those calls, on the CPU or a device of
 * its process. As struct ranks_help has it, for an engine whose loop has ended; user: the engine.
 */
void rank_help(void *engine, size_t borrower);

#endif
