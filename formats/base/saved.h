/*
 * saved - the state of a long computation on its way to where it is kept, or back from there: one
 * function names its numbers, in one order, for both ways.
 */
#ifndef LEAT_FORMATS_BASE_SAVED_H
#define LEAT_FORMATS_BASE_SAVED_H

#include "formats/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct saved {
    bool reads; /* they come back */
    /* Takes, or gives, all the bytes. */
    enum status (*pass)(struct saved *s, void *at, size_t bytes);
};

#endif
