/*
 * burn - 2 ms of a thread's CPU time: the body of a loop for tests of what is booked.
 */
#ifndef LEAT_TESTS_BURN_H
#define LEAT_TESTS_BURN_H

#include <stddef.h>
#include <time.h>

static inline void burn(void *arg, size_t i)
{
    (void)arg;
    (void)i;
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 2000000);
}

#endif
