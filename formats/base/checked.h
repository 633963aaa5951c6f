/*
 * checked - arithmetic on sizes that come from files: no result that wrapped is ever used.
 */
#ifndef LEAT_FORMATS_BASE_CHECKED_H
#define LEAT_FORMATS_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>

/* *out = a * b (a + b); false, with *out untouched, when that does not fit. */
static inline bool checked_mul(size_t a, size_t b, size_t *out)
{
    size_t product;
    if (__builtin_mul_overflow(a, b, &product)) {
        return false;
    }
    *out = product;
    return true;
}

static inline bool checked_add(size_t a, size_t b, size_t *out)
{
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum)) {
        return false;
    }
    *out = sum;
    return true;
}

#endif
