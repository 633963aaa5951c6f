/*
 * moves - that work goes on: pieces of it that have ended, counted by the thread that ends them for
 * whom it works. A call that never returns moves nothing, whatever processor time it takes.
 */
#ifndef LEAT_FORMATS_BASE_MOVES_H
#define LEAT_FORMATS_BASE_MOVES_H

#include <stdint.h>

/* Where this thread's moves are counted from now on, atomically; NULL: nowhere. Borrowed. */
void moves_thread(uint64_t *count);
/* A piece of work has ended. */
void moves_add(void);

#endif
