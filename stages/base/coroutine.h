/*
 * coroutine - a function with a stack of its own that can wait in the middle: who calls resume()
 * goes on with it until it waits or returns. This is the one file that knows how stacks are
 * switched, with the calls that the sanitizers want for that.
 *
 * A coroutine may be resumed by any thread, by one at a time. So its body holds no lock, and no
 * address of a thread's own memory (errno, the message of a status), while it waits.
 */
#ifndef LEAT_STAGES_BASE_COROUTINE_H
#define LEAT_STAGES_BASE_COROUTINE_H

#include "formats/base/status.h"

#include <stdbool.h>

enum { COROUTINE_STACK_BYTES = 2 << 20 }; /* of address space; what is not used takes no memory */

struct coroutine;

/* Has not begun yet. STATUS_NO_MEMORY. */
enum status coroutine_new(void (*body)(void *context), void *context,
                          struct coroutine **out) STATUS_MUST_CHECK;
/* Begins with the body, or goes on with it, until it waits or returns. It has not returned yet. */
void coroutine_resume(struct coroutine *c);
/* Called by the body alone: returns when it is resumed. */
void coroutine_wait(struct coroutine *c);
bool coroutine_has_ended(const struct coroutine *c);
/* One that has ended, or never began; or NULL. */
void coroutine_free(struct coroutine *c);

#endif
