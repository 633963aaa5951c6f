/*
 * queue_cuda - a queue's streams and the order between them.
 *
 * A queue has several streams: one computes, one uploads, a few take matrix products
 * side by side (so that the next product fills the multiprocessors that the last wave of the one
 * before leaves idle), a few download. Every operation names the memory that it reads and writes;
 * an operation waits, on the device, for the earlier ones on other streams with which it shares
 * memory that either writes. To the caller it looks as if all ran in the order given.
 *
 * Operations are kept in a ring until they are known to be complete, with the events before and
 * after each, from which the busy times are taken.
 */
#ifndef LEAT_KERNELS_BASE_QUEUE_CUDA_H
#define LEAT_KERNELS_BASE_QUEUE_CUDA_H

#include "formats/base/busy_union.h"
#include "kernels/backend.h"
#include "kernels/base/check_cuda.h"

#include <pthread.h>

enum {
    GEMM_STREAMS = 4, /* products at a time; leat-bench pearson_exact: more gain nothing */
    QUEUE_SLOTS = 4,  /* downloads at a time */
    QUEUE_RING = 128,
    QUEUE_ACCESSES = 9 /* of an operation at most */
};

enum stream_id {
    STREAM_COMPUTE,
    STREAM_UPLOAD,
    STREAM_GEMM,
    STREAM_DOWNLOAD = STREAM_GEMM + GEMM_STREAMS, /* downloads: after everything queued before */
    STREAM_QUERY = STREAM_DOWNLOAD + QUEUE_SLOTS, /* queries of the matrix, likewise, but for
                                                     those that name what they read */
    QUEUE_STREAMS
};

enum queue_kind { KIND_DEVICE, KIND_UPLOAD, KIND_DOWNLOAD, QUEUE_KINDS };

/* Memory that an operation touches: bytes [lo, hi) of every row of `pitch` bytes that lies between
 * begin and end; pitch 0: all of [begin, end). */
struct queue_access {
    const char *begin, *end;
    size_t pitch, lo, hi;
    bool write;
};

struct queue_op {
    uint64_t sequence;
    enum stream_id id; /* of its stream */
    enum queue_kind kind;
    uint64_t bytes;
    cudaEvent_t begin, end;
    struct queue_access access[QUEUE_ACCESSES];
    size_t n_accesses;
};

/* Page-locked memory through which results reach memory that is not; one a download under way. */
struct queue_slot {
    bool taken;
    char *bounce;        /* made when first needed, as large as what was needed most */
    size_t bounce_bytes; /* at most QUEUE_BOUNCE_BYTES */
    cudaEvent_t done[2]; /* of its two halves */
};
enum { QUEUE_BOUNCE_BYTES = 8 << 20 };

/* Device memory that stays with a stream; its contents last for one operation (on STREAM_QUERY,
 * where one thread makes one query at a time, until the next call that takes it). */
struct queue_scratch {
    void *at;
    size_t bytes;
};

static inline size_t cuda_min(size_t a, size_t b)
{
    return a < b ? a : b;
}
static inline size_t cuda_max(size_t a, size_t b)
{
    return a > b ? a : b;
}
static inline size_t cuda_pieces(size_t n, size_t piece)
{
    return n / piece + (n % piece != 0);
}

struct cuda_backend {
    struct backend base;
    int device;
    struct cudaDeviceProp properties;
    cudaMemPool_t pool;
    void (*moved)(void); /* as configured */
    uint64_t peers;      /* bit n: device n may use the pool's memory, or cannot ever; atomic */

    cudaEvent_t base_event;                  /* the queues' times are counted from here */
    pthread_mutex_t busy_lock;               /* taken last; guards the next */
    struct busy_union busy_all[QUEUE_KINDS]; /* of all queues, in ms */
};

struct cuda_queue {
    struct queue base;
    struct cuda_backend *backend;
    pthread_mutex_t lock; /* recursive; guards everything below */
    pthread_cond_t slot_free;

    cudaStream_t stream[QUEUE_STREAMS];
    cudaStream_t alloc_stream; /* of allocations */
    cudaStream_t free_stream;  /* of frees, which wait for what used the memory */
    cudaEvent_t across; /* what other streams wait for, see cuda_copy_across(), cuda_borrow() */
    struct queue_scratch scratch[QUEUE_STREAMS];
    struct queue_slot slot[QUEUE_SLOTS + 1]; /* the last belongs to STREAM_QUERY */
    cublasHandle_t blas;
    void *workspace[QUEUE_STREAMS];
    unsigned next_gemm;

    struct queue_op ring[QUEUE_RING];
    uint64_t next, oldest;        /* sequence numbers; 0 is never used */
    uint64_t last[QUEUE_STREAMS]; /* the last operation of a stream */
    /* up to where the first stream has waited for the second; the same of free_stream */
    uint64_t seen[QUEUE_STREAMS][QUEUE_STREAMS], free_seen[QUEUE_STREAMS];

    cudaEvent_t base_event;      /* times are counted from here, ... */
    double base_ms;              /* ... which is so long after the backend's */
    double covered[QUEUE_KINDS]; /* up to here, in ms, busy time has been added up */
    struct queue_busy busy;
};

static inline struct cuda_queue *cuda_queue_of(struct queue *q)
{
    return (struct cuda_queue *)q;
}

static inline struct queue_access queue_reads(const void *at, size_t bytes)
{
    const struct queue_access a = {(const char *)at, (const char *)at + bytes, 0, 0, 0, false};
    return a;
}
static inline struct queue_access queue_writes(const void *at, size_t bytes)
{
    const struct queue_access a = {(const char *)at, (const char *)at + bytes, 0, 0, 0, true};
    return a;
}
/*
 * One operation on one stream. The constructor takes the queue's lock, makes the stream wait for
 * what the accesses demand, and notes the time; `status` says whether that worked, and then work is
 * launched on `stream`. done() notes the end, gives the lock back and returns the status of the
 * whole; the destructor does the same on the way out of a failure. Operations do not nest.
 */
class cuda_work
{
  public:
    template <size_t N>
    cuda_work(struct cuda_queue *queue, enum stream_id on, const struct queue_access (&accesses)[N],
              enum queue_kind kind = KIND_DEVICE, uint64_t bytes = 0)
        : cuda_work(queue, on, accesses, N, kind, bytes)
    {
        static_assert(N <= QUEUE_ACCESSES, "an operation has no room for so many accesses");
    }
    /* Of streams whose operations come after all before where they name nothing. */
    cuda_work(struct cuda_queue *queue, enum stream_id on, enum queue_kind kind = KIND_DEVICE,
              uint64_t bytes = 0)
        : cuda_work(queue, on, nullptr, 0, kind, bytes)
    {
    }
    cuda_work(struct cuda_queue *queue, enum stream_id on, const struct queue_access *accesses,
              size_t n_accesses, enum queue_kind kind, uint64_t bytes);
    ~cuda_work();
    cuda_work(const cuda_work &) = delete;
    cuda_work &operator=(const cuda_work &) = delete;
    enum status done();

    struct cuda_queue *q;
    enum stream_id id;
    cudaStream_t stream;
    enum status status;
    uint64_t sequence;

  private:
    bool open;
};

/* Where the next product goes: each stream in turn. */
enum stream_id cuda_gemm_stream(struct cuda_queue *q);

/* Memory of the stream, at least `bytes`, for the operation that is being launched on it. */
enum status cuda_queue_scratch(struct cuda_queue *q, enum stream_id id, size_t bytes,
                               void **out) STATUS_MUST_CHECK;

/* The cuBLAS handle, set to the stream and to a workspace of its own: the same algorithm,
 * and so the same bits, whatever else is running. */
enum status cuda_queue_blas(struct cuda_queue *q, enum stream_id id,
                            cublasHandle_t *out) STATUS_MUST_CHECK;

/* A download under way: a stream whose operations come after everything queued before. */
enum status cuda_slot_take(struct cuda_queue *q, unsigned *slot) STATUS_MUST_CHECK;
void cuda_slot_give(struct cuda_queue *q, unsigned slot);
/* Page-locked host memory of the slot: room for `bytes` that come in one half, else for both
 * halves, QUEUE_BOUNCE_BYTES. Its contents do not last. */
enum status cuda_slot_bounce(struct cuda_queue *q, unsigned slot, size_t bytes,
                             char **out) STATUS_MUST_CHECK;

/* Waits for an event: polls for a little while, then sleeps between polls. */
enum status cuda_wait_event(cudaEvent_t event) STATUS_MUST_CHECK;
/* True when the device can write to this host memory directly. */
bool cuda_host_is_locked(const void *p);

/* Reads into host memory, after everything queued before; waits. */
enum status cuda_read_back(struct cuda_queue *q, void *to, const void *from,
                           size_t bytes) STATUS_MUST_CHECK;

/* Reads what an operation on STREAM_QUERY has written; waits. */
enum status cuda_query_read(struct cuda_queue *q, void *to, const void *from,
                            size_t bytes) STATUS_MUST_CHECK;

/* The functions of the table. */
#define CUDA_OP(name) BACKEND_OP(name) cuda_##name;
QUEUE_OPS(CUDA_OP)
BACKEND_OP(borrow) cuda_borrow;

/* Device memory for one function's use; given back, in order, when it leaves scope. */
class cuda_span
{
  public:
    explicit cuda_span(struct queue *queue) : q(queue)
    {
    }
    ~cuda_span()
    {
        cuda_release(q, span);
    }
    cuda_span(const cuda_span &) = delete;
    cuda_span &operator=(const cuda_span &) = delete;
    enum status alloc(size_t bytes)
    {
        return cuda_alloc(q, bytes, &span);
    }
    template <typename T> T *as() const
    {
        return (T *)span.at;
    }
    struct span span = {};

  private:
    struct queue *q;
};

#endif
