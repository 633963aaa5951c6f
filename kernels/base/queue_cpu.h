/*
 * queue_cpu - what the CPU kernels share: the backend, its queue, memory, and work spread by the
 * executor.
 */
#ifndef LEAT_KERNELS_BASE_QUEUE_CPU_H
#define LEAT_KERNELS_BASE_QUEUE_CPU_H

#include "kernels/backend.h"

struct cpu_backend {
    struct backend base;
    struct executor executor;
    char device[sizeof((struct backend_info *)0)->device]; /* its name */
};

/* Calls body(arg, i) for each i < n through the backend's executor; returns when all are done. */
void cpu_run(struct queue *q, size_t n, void (*body)(void *arg, size_t index), void *arg);

/* The same for long work: once the queue is stopped no body begins any more, and the call ends with
 * STATUS_CANCELLED. */
enum status cpu_run_long(struct queue *q, size_t n, void (*body)(void *arg, size_t index),
                         void *arg) STATUS_MUST_CHECK;

/* The same for bodies that need `bytes` of scratch (0: NULL). STATUS_NO_MEMORY where a body got
 * none, and did not run. */
enum status cpu_run_scratch(struct queue *q, size_t n, size_t bytes,
                            void (*body)(void *arg, size_t index, void *scratch),
                            void *arg) STATUS_MUST_CHECK;

/* Host scratch of count * size bytes, aligned to 256 below 1 MiB, else as malloc does; *out is NULL
 * on failure. Freed by free(). */
void *cpu_scratch_try(size_t count, size_t size);
enum status cpu_scratch(size_t count, size_t size, void **out) STATUS_MUST_CHECK;

/* Checks that a span holds `count` items of `size` bytes: STATUS_INTERNAL naming `what`. */
enum status cpu_expect(struct span s, size_t count, size_t size,
                       const char *what) STATUS_MUST_CHECK;

/* The same of rows of series. */
enum status cpu_expect_rows(const struct series_rows *x, const char *what) STATUS_MUST_CHECK;

/* Row s of them. */
static inline const void *cpu_row(const struct series_rows *x, size_t s)
{
    return (const char *)x->at.at + s * series_rows_stride(x) * dtype_bytes(x->type);
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

/* The functions of the table. */
#define CPU_OP(name) BACKEND_OP(name) cpu_##name;
QUEUE_OPS(CPU_OP)
BACKEND_OP(host_alloc) cpu_host_alloc;
BACKEND_OP(host_free) cpu_host_free;
BACKEND_OP(host_pin) cpu_host_pin;
BACKEND_OP(host_unpin) cpu_host_unpin;

#endif
