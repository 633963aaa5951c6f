/*
 * means_rule - how the moments of a series are stored: one text for C and for CUDA.
 */
#ifndef LEAT_KERNELS_MEANS_MEANS_RULE_H
#define LEAT_KERNELS_MEANS_MEANS_RULE_H

#include "kernels/base/part_moments_rule.h"
#include "kernels/means/means.h"

/* The fields COUNT..MAX of series s. */
MEANS_RULE void moments_store(struct moments m, size_t s, const struct part_moments *p)
{
    moments_array(m, MOMENTS_COUNT)[s] = p->n;
    moments_array(m, MOMENTS_MEAN)[s] = part_moments_mean(p);
    moments_array(m, MOMENTS_M2)[s] = p->n < 2 ? 0 : p->m2;
    moments_array(m, MOMENTS_MIN)[s] = p->n > 0 ? p->min : (double)NAN;
    moments_array(m, MOMENTS_MAX)[s] = p->n > 0 ? p->max : (double)NAN;
}

#endif
