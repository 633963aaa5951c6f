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

#endif
