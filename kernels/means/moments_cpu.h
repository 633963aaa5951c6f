/*
 * moments_cpu - the moments of series as CPU kernels read them.
 */
#ifndef LEAT_KERNELS_MEANS_MOMENTS_CPU_H
#define LEAT_KERNELS_MEANS_MOMENTS_CPU_H

#include "kernels/means/means.h"

/* One field of the moments. */
static inline double *cpu_field(struct moments m, enum moments_field f)
{
    return (double *)m.at.at + (size_t)f * m.capacity;
}

/* moments_degenerate() of entry s. */
static inline int cpu_degenerate(struct moments m, size_t s)
{
    return moments_degenerate(cpu_field(m, MOMENTS_COUNT)[s], cpu_field(m, MOMENTS_M2)[s],
                              cpu_field(m, MOMENTS_MIN)[s], cpu_field(m, MOMENTS_MAX)[s]);
}

#endif
