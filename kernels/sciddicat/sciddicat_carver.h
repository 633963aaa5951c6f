/*
 * sciddicat_carver - pieces of one range of memory; for C and CUDA.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_SCIDDICAT_CARVER_H
#define LEAT_KERNELS_SCIDDICAT_SCIDDICAT_CARVER_H

#include "formats/base/checked.h"

#include <stdint.h>

struct carver {
    char *at; /* NULL: only count */
    size_t align, used;
    bool overflow;
};

/* The next count * size bytes; NULL while only counting. */
static inline void *carve(struct carver *c, size_t count, size_t size)
{
    size_t bytes, end;
    if (!checked_mul(count, size, &bytes) || !checked_add(c->used, bytes, &end) ||
        !checked_add(end, c->align - 1, &end)) {
        c->overflow = true;
        return NULL;
    }
    char *const piece = c->at == NULL ? NULL : c->at + c->used;
    c->used = end - end % c->align;
    return piece;
}

/* What all pieces take; SIZE_MAX: more than can be counted. */
static inline size_t carver_bytes(const struct carver *c)
{
    return c->overflow ? SIZE_MAX : c->used;
}

#endif
