/*
 * backend - where arrays live and kernels run: one interface, two tables of functions.
 *
 * `cpu` is linked in; `cuda` is a module loaded at run time. Plain C; no CUDA header is needed to
 * use it. Memory on a backend is a `span`; its address may be used for arithmetic (parts of a span)
 * but is never dereferenced outside the backend.
 *
 * A queue runs work in the order given. On CUDA it is a compute stream with its own copy streams,
 * ordered by events, and calls return before the work is done; on the CPU a call has done its work
 * when it returns. A queue is used by one thread at a time, except where a function says otherwise.
 * A failed asynchronous operation shows up in the next call that waits, as STATUS_DEVICE. Calls on
 * a queue that is stopped may end early, with STATUS_CANCELLED and half their work.
 */
#ifndef LEAT_KERNELS_BACKEND_H
#define LEAT_KERNELS_BACKEND_H

#include "formats/base/dtype.h"
#include "formats/base/moves.h"
#include "formats/base/status.h"
#include "kernels/families.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct backend;
struct queue;

/* A range of backend memory; borrowed unless it came from alloc. {NULL, 0} is "none". */
struct span {
    void *at;
    size_t bytes;
};

/* The part of a span that begins `offset` bytes in; empty where that lies beyond its end. */
static inline struct span span_from(struct span s, size_t offset)
{
    struct span part = {0};
    if (offset <= s.bytes && s.at != NULL) {
        part.at = (char *)s.at + offset;
        part.bytes = s.bytes - offset;
    }
    return part;
}

/* Series in rows: sample t of series first + s is number s * n_samples + t, s < n_series. `first`
 * is where arrays over all series have the first of these. `stride`: what counts in place of
 * n_samples, not below it, for who takes that: means, pearson's standardize; else 0. */
struct series_rows {
    struct span at;
    enum dtype type;
    size_t n_series, n_samples, first, stride;
};

/* Numbers from a series to the next. */
static inline size_t series_rows_stride(const struct series_rows *x)
{
    return x->stride > 0 ? x->stride : x->n_samples;
}

/* From the first sample to the last. */
static inline size_t series_rows_bytes(const struct series_rows *x)
{
    const size_t before = x->n_series > 0 ? (x->n_series - 1) * series_rows_stride(x) : 0;
    return (before + (x->n_series > 0 ? x->n_samples : 0)) * dtype_bytes(x->type);
}

/* How CPU kernels use several cores: run() calls body(arg, i) once for each i < n, on any threads,
 * the calling one among them, and returns when all are done. Nested calls are allowed. */
struct executor {
    size_t n_threads;
    void (*run)(void *context, size_t n, void (*body)(void *arg, size_t index), void *arg);
    void *context;
};

/* By all of its threads; where it has no run(), by the caller. */
static inline void executor_run(const struct executor *e, size_t n,
                                void (*body)(void *arg, size_t index), void *arg)
{
    if (e->run != NULL) {
        e->run(e->context, n, body, arg);
    }
    for (size_t i = 0; e->run == NULL && i < n; ++i) {
        body(arg, i);
    }
}

struct backend_config {
    struct executor executor; /* required; CUDA: for its self-test */
    int device;               /* CUDA: ordinal */
    void (*moved)(void);      /* CUDA: an operation that a call waited for has ended; called by that
                                 call's thread. NULL: nobody asks */
};

struct backend_info {
    char name[16];     /* "cpu", "cuda" */
    char device[96];   /* "NVIDIA H200", or the processor's model name */
    char detail[160];  /* driver and runtime version, compute capability; instruction set */
    char products[64]; /* follows detail: ", OpenBLAS 0.3.21 (Haswell)" on the CPU, once it is
                          loaded */
    char advice[160];  /* what would make it faster here, a sentence; "" when there is nothing */
    uint64_t memory_bytes; /* of the device; 0 for the CPU */
    uint64_t memory_free;  /* now */
    size_t n_threads;      /* CPU threads, or multiprocessors */
};

/* Seconds that a queue's resources were busy since it was made (or reset), and bytes moved. */
struct queue_busy {
    double device_s; /* kernels; on the CPU backend 0: those seconds are the caller's CPU time */
    double upload_s, download_s;
    uint64_t upload_bytes, download_bytes;
};

struct backend_ops {
    const char *name;

    /* How many devices there are. STATUS_NO_BACKEND with the reason why there is none. */
    enum status (*count)(size_t *n) STATUS_MUST_CHECK;
    /* Opens a device. STATUS_NO_BACKEND with the reason (no driver, no device, too old). */
    enum status (*open)(const struct backend_config *config,
                        struct backend **out) STATUS_MUST_CHECK;
    void (*close)(struct backend *b);
    void (*describe)(const struct backend *b, struct backend_info *out);

    /* Host memory for blocks: page-locked on CUDA; aligned to 4096 in any case. */
    enum status (*host_alloc)(struct backend *b, size_t bytes, void **out) STATUS_MUST_CHECK;
    void (*host_free)(struct backend *b, void *p);
    /* Makes host memory that came from elsewhere as good for copies as that of host_alloc, for all
     * devices, until it is unpinned; it may be in use. Before it is freed it is unpinned. */
    enum status (*host_pin)(struct backend *b, void *p, size_t bytes) STATUS_MUST_CHECK;
    void (*host_unpin)(struct backend *b, void *p);

    /* Memory of a queue's device that another user of it has, as a span: what is queued later
     * comes after all that is in that user's `stream` (a cudaStream_t; NULL: the default one).
     * STATUS_BAD_ARGUMENT: no memory of that device, or no stream of it. NULL: there is no such
     * memory. */
    enum status (*borrow)(struct queue *q, void *at, size_t bytes, void *stream,
                          struct span *out) STATUS_MUST_CHECK;

    /* Queues are costly to make: the engine keeps and reuses them. */
    enum status (*queue_new)(struct backend *b, struct queue **out) STATUS_MUST_CHECK;
    void (*queue_free)(struct queue *q);

    /* Backend memory, aligned to 256, not initialised; ordered with the queue's work.
     * STATUS_NO_MEMORY says how many bytes were asked for. */
    enum status (*alloc)(struct queue *q, size_t bytes, struct span *out) STATUS_MUST_CHECK;
    void (*release)(struct queue *q, struct span s);

    /* Copies host memory (from host_alloc, for full speed) to the start of `to`. Work queued later
     * sees the data. The host memory may be changed once upload_wait(ticket) has returned. */
    enum status (*upload)(struct queue *q, struct span to, const void *from, size_t bytes,
                          uint64_t *ticket) STATUS_MUST_CHECK;
    enum status (*upload_wait)(struct queue *q, uint64_t ticket) STATUS_MUST_CHECK;
    /* Copies from the start of `from` to host memory, after all work queued so far; waits. May be
     * called by several threads at once. */
    enum status (*download)(struct queue *q, void *to, struct span from,
                            size_t bytes) STATUS_MUST_CHECK;
    /* Copies within the backend; the ranges do not overlap. */
    enum status (*copy)(struct queue *q, struct span to, struct span from,
                        size_t bytes) STATUS_MUST_CHECK;
    /* Copies to memory of another queue of this table, of the same device or of another one: after
     * the work queued so far on both, and before what is queued later on either. Nobody may use
     * either of them meanwhile. */
    enum status (*copy_across)(struct queue *q, struct span to, struct queue *from_q,
                               struct span from, size_t bytes) STATUS_MUST_CHECK;
    enum status (*zero)(struct queue *q, struct span s) STATUS_MUST_CHECK;
    /* Waits for everything queued; reports any error of it. */
    enum status (*finish)(struct queue *q) STATUS_MUST_CHECK;
    /* After finish(), where nobody uses the queue: gives back the memory that it keeps for its own
     * work, but for a little, so that an idle queue takes nothing from other ones. */
    void (*trim)(struct queue *q);
    /* Adds up after finish(); `reset` starts at 0 again. Each of the times is the length of the
     * union of its intervals. */
    void (*busy)(struct queue *q, struct queue_busy *out, bool reset);
    /* The same of all queues together, since the backend was opened: intervals of several queues
     * that overlap count once. Without bytes. */
    void (*busy_all)(struct backend *b, struct queue_busy *out);

#define FAMILY(name) const struct name##_kernels *name;
    KERNEL_FAMILIES(FAMILY)
#undef FAMILY
};

/* What every `struct backend` and `struct queue` begins with, so that callers reach the table. */
struct backend {
    const struct backend_ops *ops;
};
struct queue {
    struct backend *backend;
    const int
        *stop; /* not 0 (set by any thread): nobody waits for its work any more; NULL: never */
};

static inline bool queue_is_stopped(const struct queue *q)
{
    return q->stop != NULL && __atomic_load_n(q->stop, __ATOMIC_RELAXED) != 0;
}

/* STATUS_CANCELLED when the queue is stopped; for between the parts of long work, of which one has
 * ended. */
static inline enum status queue_check(const struct queue *q)
{
    moves_add();
    return queue_is_stopped(q) ? status_fail(STATUS_CANCELLED, "stopped while it computed")
                               : STATUS_OK;
}

/* The CPU's table. */
extern const struct backend_ops backend_cpu;

/* The functions of queues, which are called cpu_X and cuda_X, and the type of a member of the
 * table. */
#define QUEUE_OPS(OP)                                                                              \
    OP(queue_new)                                                                                  \
    OP(queue_free)                                                                                 \
    OP(alloc)                                                                                      \
    OP(release)                                                                                    \
    OP(upload)                                                                                     \
    OP(upload_wait)                                                                                \
    OP(download)                                                                                   \
    OP(copy)                                                                                       \
    OP(copy_across)                                                                                \
    OP(zero)                                                                                       \
    OP(finish)                                                                                     \
    OP(trim)                                                                                       \
    OP(busy)                                                                                       \
    OP(busy_all)
#define BACKEND_OP(member) __typeof__(*((struct backend_ops *)NULL)->member)
/* The same of a family's table: KERNEL(matrix, survey) cpu_survey; */
#define KERNEL(family, member) __typeof__(*((struct family##_kernels *)NULL)->member)

/* main()'s first call, while there is no second thread: says in the environment how the library of
 * the CPU's products is to work (kernels/base/blas_calls.h), which is loaded with the first product
 * or by backend_load_products: STATUS_NO_BACKEND where it cannot be. What so many threads need to
 * multiply is there then, where memory is limited. */
void backend_prepare(void);
enum status backend_load_products(size_t n_threads) STATUS_MUST_CHECK;

/* The symbol that the CUDA module exports, of this type; called after dlopen, with what the module
 * describes its failures by: status_vfail of who has loaded it. */
typedef enum status backend_vfail_fn(enum status code, const char *format, va_list args);
typedef const struct backend_ops *backend_module_fn(backend_vfail_fn *fail);
#define BACKEND_MODULE_SYMBOL "leat_cuda_backend"
#define BACKEND_MODULE_FILE   "leat_cuda.so"

/* The CUDA module's devices. STATUS_NO_BACKEND: no module, no driver, no device. */
enum status backend_count_cuda(size_t *n) STATUS_MUST_CHECK;
/* Opens a CUDA device that passes the self-test (small vectors, compared with the CPU's answer).
 * STATUS_NO_BACKEND says why not. By any thread, several devices at a time. */
enum status backend_open_cuda(const struct backend_config *config,
                              struct backend **out) STATUS_MUST_CHECK;

/* Opens "cpu", "cuda" or "auto". auto takes CUDA when the module loads, a device opens and passes
 * the self-test; otherwise the CPU, with the reason
 * in `why` (one line; "" when there is nothing to say). "cuda" fails with STATUS_NO_BACKEND instead
 * of falling back. */
enum status backend_select(const char *want, const struct backend_config *config, char *why,
                           size_t why_bytes, struct backend **out) STATUS_MUST_CHECK;

#endif
