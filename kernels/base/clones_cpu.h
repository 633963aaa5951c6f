/*
 * clones_cpu - CPU_CLONES (formats/base/clones.h), and what such functions call.
 */
#ifndef LEAT_KERNELS_BASE_CLONES_CPU_H
#define LEAT_KERNELS_BASE_CLONES_CPU_H

#include "formats/base/clones.h"

/* Inlined into whichever clone calls it. */
#define CPU_INLINE static inline __attribute__((always_inline))

#endif
