/*
 * cpu_backend - what the CPU kernels share: the backend, its queue, and work spread by the
 * executor.
 */
#ifndef LEAT_KERNELS_CPU_BACKEND_H
#define LEAT_KERNELS_CPU_BACKEND_H

#include "kernels/backend.h"
#include "kernels/means.h"
#include "kernels/pearson.h"
#include "kernels/philox.h"
#include "kernels/sciddicat.h"

struct cpu_backend {
    struct backend base;
    struct executor executor;
};

extern const struct means_kernels cpu_means;
extern const struct pearson_kernels cpu_pearson;
extern const struct philox_kernels cpu_philox;
extern const struct sciddicat_kernels cpu_sciddicat;

/* Calls body(arg, i) for each i < n through the backend's executor; returns when all are done. */
void cpu_run(struct queue *q, size_t n, void (*body)(void *arg, size_t index), void *arg);

/* The same for long work: once the queue is stopped no body begins any more, and the call ends with
 * STATUS_CANCELLED. */
enum status cpu_run_long(struct queue *q, size_t n, void (*body)(void *arg, size_t index),
                         void *arg) STATUS_MUST_CHECK;

/* Host scratch of count * size bytes, aligned to 256 below 1 MiB, else as malloc does; *out is NULL
 * on failure. Freed by free(). Safe in bodies: a failure is only returned there, and described by
 * cpu_scratch_failed(). */
void *cpu_scratch_try(size_t count, size_t size);
enum status cpu_scratch(size_t count, size_t size, void **out) STATUS_MUST_CHECK;
enum status cpu_scratch_failed(void);

/* Checks that a span holds `count` items of `size` bytes: STATUS_INTERNAL naming `what`. */
enum status cpu_expect(struct span s, size_t count, size_t size,
                       const char *what) STATUS_MUST_CHECK;

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

static inline size_t cpu_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t cpu_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* ceil(n / by) */
static inline size_t cpu_pieces(size_t n, size_t by)
{
    return n / by + (n % by != 0);
}

#endif
