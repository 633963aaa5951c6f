/*
 * dtype - the two number types that leat computes with.
 */
#ifndef LEAT_FORMATS_BASE_DTYPE_H
#define LEAT_FORMATS_BASE_DTYPE_H

#include <stddef.h>

enum dtype { DTYPE_F32, DTYPE_F64 };

static inline size_t dtype_bytes(enum dtype t)
{
    return t == DTYPE_F32 ? 4 : 8;
}

/* Number k of an array. */
static inline double dtype_real(enum dtype t, const void *values, size_t k)
{
    return t == DTYPE_F32 ? (double)((const float *)values)[k] : ((const double *)values)[k];
}

#endif
