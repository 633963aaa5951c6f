/*
 * sizes - the lesser and the greater of two numbers of things, and the next multiple.
 */
#ifndef LEAT_FORMATS_BASE_SIZES_H
#define LEAT_FORMATS_BASE_SIZES_H

#include <stddef.h>

static inline size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t greater(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The least multiple that is not below n. */
static inline size_t round_up(size_t n, size_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

#endif
