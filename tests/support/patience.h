/*
 * patience - how long tests wait, and by what the times are multiplied that something may take:
 * more than 1 where a sanitizer watches.
 */
#ifndef LEAT_TESTS_PATIENCE_H
#define LEAT_TESTS_PATIENCE_H

#include <stdint.h>
#include <stdlib.h>

enum { WAIT_S = 600 }; /* for what comes at some time, on any machine, whatever else it does */

static inline uint64_t patience(void)
{
    const char *const set = getenv("LEAT_TEST_PATIENCE");
    const unsigned long n = set != NULL ? strtoul(set, NULL, 10) : 1;
    return n > 0 ? n : 1;
}

#endif
