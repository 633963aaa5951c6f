/*
 * rank_help - what a rank does that another one has borrowed: the calls of that one's queue
 * (rank_queue.h), on the CPU or a device of this process.
 */
#ifndef LEAT_PIPELINE_ENGINE_RANK_HELP_H
#define LEAT_PIPELINE_ENGINE_RANK_HELP_H

#include "pipeline/engine/engine.h"
#include "pipeline/ranks/ranks.h"

/* As struct ranks_help has it, for an engine whose loop has ended; user: the engine. */
void rank_help(void *engine, size_t borrower);

#endif
