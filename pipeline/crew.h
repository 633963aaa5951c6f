/*
 * crew - the compute threads: one set for decoding, CPU kernels and encoding, so that there are never
 * more busy threads than --threads.
 *
 * Work for a lane is a task; the crew takes tasks of later lanes first (what is nearly finished frees
 * memory), within a lane in order of arrival. crew_executor() lets a task (or any other thread) spread
 * a loop over idle crew threads; the caller works too, so it never waits for a thread to be free.
 */
#ifndef LEAT_PIPELINE_CREW_H
#define LEAT_PIPELINE_CREW_H

#include "formats/status.h"
#include "kernels/backend.h"

#include <stddef.h>

struct crew;

/* n_threads >= 1. */
enum status crew_new(size_t n_threads, struct crew **out) STATUS_MUST_CHECK;
/* Waits for all tasks, ends the threads. */
void crew_free(struct crew *c);
/* For struct backend_config. Valid as long as the crew. */
struct executor crew_executor(struct crew *c);

#endif
