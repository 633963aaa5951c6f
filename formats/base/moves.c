/*
 * moves - see moves.h.
 */
#include "formats/base/moves.h"

#include <stddef.h>

static _Thread_local uint64_t *count_of_thread;

void moves_thread(uint64_t *count)
{
    count_of_thread = count;
}

void moves_add(void)
{
    if (count_of_thread != NULL) {
        __atomic_fetch_add(count_of_thread, 1, __ATOMIC_RELAXED);
    }
}
