/*
 * rank_queues - queues of other ranks (pipeline/engine/rank_queue.h) that are threads of this
 * process, each with an engine of its own, beside this one, which is rank 0.
 */
#ifndef LEAT_TESTS_RANK_QUEUES_H
#define LEAT_TESTS_RANK_QUEUES_H

#include "kernels/backend.h"

#include <stdint.h>

/* Starts so many other ranks, with so many bytes of memory each; waits until all can be borrowed.
 */
void rank_queues_begin(size_t n, uint64_t memory);
/* One that is borrowed for it; the caller's to free, which gives the rank back. */
struct queue *rank_queues_new(void);
/* As rank_queue_new says, of one of them. */
enum status rank_queues_try(bool on_cpu, struct queue **out) STATUS_MUST_CHECK;
/* All have been freed. */
void rank_queues_end(void);

#endif
