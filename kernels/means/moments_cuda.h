/*
 * moments_cuda - the moments of series as operations on the device touch them.
 */
#ifndef LEAT_KERNELS_MEANS_MOMENTS_CUDA_H
#define LEAT_KERNELS_MEANS_MOMENTS_CUDA_H

#include "kernels/base/queue_cuda.h"
#include "kernels/means/means_rule.h"

/* Entries [first, first + n) of every field. */
static inline struct queue_access queue_moments(struct moments m, size_t first, size_t n,
                                                bool write)
{
    const char *at = (const char *)m.at.at;
    const struct queue_access a = {at,
                                   at + moments_bytes(m.capacity),
                                   m.capacity * sizeof(double),
                                   first * sizeof(double),
                                   (first + n) * sizeof(double),
                                   write};
    return a;
}

/* Fails with STATUS_INTERNAL unless the span of x holds its series and the moments have them. */
static inline enum status cuda_expect_series(const struct series_rows *x, struct moments m,
                                             const char *what)
{
    STATUS_TRY(cuda_expect(x->at, 1, series_rows_bytes(x), what));
    if (x->n_series > INT32_MAX || x->first + x->n_series > m.capacity) {
        return status_fail(STATUS_INTERNAL, "%s: %zu series from %zu, room for %zu", what,
                           x->n_series, x->first, m.capacity);
    }
    return STATUS_OK;
}

#endif
