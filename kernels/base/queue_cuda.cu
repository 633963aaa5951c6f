/*
 * queue_cuda - streams, the ring of operations, and busy times.
 *
 * The order between streams: an operation looks through the ring for earlier ones on other streams
 * that share memory with it, of which one writes, and its stream waits for the latest of each
 * stream. A stream runs in order, so a wait for its operation n covers all before n; what a stream
 * has already waited for is kept in `seen` and not waited for again. An operation leaves the ring
 * only when it is known to be complete, so what is not found needs no wait.
 *
 * Busy time is the length of the union of the operations' intervals, by their events. They are
 * added up in the order of issue: an interval counts from where the ones before it ended.
 */
#include "kernels/base/queue_cuda.h"

#include <new>
#include <sched.h>
#include <time.h>

namespace
{

/* Times are floats in ms: counted from an event not farther back than this they resolve 60 ns. */
const double REBASE_MS = 1000;
/* A wait polls without a pause for so long, then sleeps between polls for an eighth of the time it
 * has waited, at most MOST_SLEEP_NS. Events that wake a sleeper cost every operation an interrupt.
 */
const int64_t POLL_NS = 60000, MOST_SLEEP_NS = 500000;
/* What cuBLAS recommends for compute capability 9.0. */
const size_t WORKSPACE_BYTES = (size_t)32 << 20;
/* What a stream of an idle queue may keep. */
const size_t KEPT_BYTES = (size_t)1 << 20;

struct queue_op *op_at(struct cuda_queue *q, uint64_t sequence)
{
    return &q->ring[sequence % QUEUE_RING];
}

bool conflict(const struct queue_access *a, const struct queue_access *b)
{
    if (!a->write && !b->write) {
        return false;
    }
    if (a->pitch != 0 && a->pitch == b->pitch && a->begin == b->begin) {
        return a->lo < b->hi && b->lo < a->hi;
    }
    return a->begin < b->end && b->begin < a->end;
}

bool ops_conflict(const struct queue_op *a, const struct queue_op *b)
{
    for (size_t i = 0; i < a->n_accesses; i++) {
        for (size_t j = 0; j < b->n_accesses; j++) {
            if (conflict(&a->access[i], &b->access[j])) {
                return true;
            }
        }
    }
    return false;
}

/* Adds a complete operation's interval to its resource. */
enum status account(struct cuda_queue *q, struct queue_op *op)
{
    float begin = 0, end = 0;
    CUDA_TRY(cudaEventElapsedTime(&begin, q->base_event, op->begin), "time of an operation");
    CUDA_TRY(cudaEventElapsedTime(&end, q->base_event, op->end), "time of an operation");
    double *covered = &q->covered[op->kind];
    pthread_mutex_lock(&q->backend->busy_lock);
    busy_union_add(&q->backend->busy_all[op->kind], q->base_ms + begin, q->base_ms + end);
    pthread_mutex_unlock(&q->backend->busy_lock);
    const double from = begin > *covered ? begin : *covered;
    const double seconds = end > from ? (end - from) * 1e-3 : 0;
    *covered = end > *covered ? end : *covered;
    switch (op->kind) {
    case KIND_UPLOAD:
        q->busy.upload_s += seconds;
        q->busy.upload_bytes += op->bytes;
        break;
    case KIND_DOWNLOAD:
        q->busy.download_s += seconds;
        q->busy.download_bytes += op->bytes;
        break;
    default:
        q->busy.device_s += seconds;
    }
    if (end > REBASE_MS) {
        const cudaEvent_t old = q->base_event;
        q->base_event = op->end;
        op->end = old;
        q->base_ms += end;
        for (size_t k = 0; k < QUEUE_KINDS; k++) {
            q->covered[k] -= end;
        }
    }
    return STATUS_OK;
}

void tell_moved(const struct cuda_queue *q)
{
    if (q->backend->moved != nullptr) {
        q->backend->moved();
    }
}

/* Takes complete operations out of the ring, in order; with `wait`, at least one. */
enum status retire(struct cuda_queue *q, bool wait)
{
    while (q->oldest < q->next) {
        struct queue_op *op = op_at(q, q->oldest);
        cudaError_t error = cudaEventQuery(op->end);
        if (error == cudaErrorNotReady) {
            if (!wait) {
                return STATUS_OK;
            }
            STATUS_TRY(cuda_wait_event(op->end));
            error = cudaSuccess;
        }
        if (error != cudaSuccess) {
            return cuda_fail(error, "work queued earlier");
        }
        STATUS_TRY(account(q, op));
        q->oldest++;
        tell_moved(q);
        wait = false;
    }
    return STATUS_OK;
}

enum status wait_on_device(struct cuda_queue *q, enum stream_id id, uint64_t sequence)
{
    const struct queue_op *other = op_at(q, sequence);
    if (sequence <= q->seen[id][other->id] || sequence < q->oldest) {
        return STATUS_OK;
    }
    CUDA_TRY(cudaStreamWaitEvent(q->stream[id], other->end, 0), "order between streams");
    q->seen[id][other->id] = sequence;
    return STATUS_OK;
}

/* Makes the stream of a new operation wait for those that it must come after. */
enum status order_after(struct cuda_queue *q, const struct queue_op *op)
{
    uint64_t needed[QUEUE_STREAMS] = {};
    /* but for the other downloads */
    const bool after_all = op->id >= STREAM_DOWNLOAD && op->n_accesses == 0;
    for (uint64_t s = q->oldest; s < q->next; s++) {
        const struct queue_op *other = op_at(q, s);
        if (other->id != op->id && s > q->seen[op->id][other->id] &&
            (after_all ? other->id < STREAM_DOWNLOAD || other->id == STREAM_QUERY
                       : ops_conflict(op, other))) {
            needed[other->id] = s;
        }
    }
    for (size_t id = 0; id < QUEUE_STREAMS; id++) {
        if (needed[id] != 0) {
            STATUS_TRY(wait_on_device(q, op->id, needed[id]));
        }
    }
    return STATUS_OK;
}

enum status begin_work(cuda_work *w, const struct queue_access *accesses, size_t n_accesses,
                       enum queue_kind kind, uint64_t bytes)
{
    struct cuda_queue *q = w->q;
    CUDA_TRY(cudaSetDevice(q->backend->device), "choosing the device");
    if (q->next - q->oldest >= QUEUE_RING / 2) {
        STATUS_TRY(retire(q, q->next - q->oldest == QUEUE_RING));
    }
    struct queue_op *op = op_at(q, q->next);
    op->sequence = q->next;
    op->id = w->id;
    op->kind = kind;
    op->bytes = bytes;
    op->n_accesses = n_accesses;
    for (size_t i = 0; i < n_accesses; i++) {
        op->access[i] = accesses[i];
    }
    STATUS_TRY(order_after(q, op));
    CUDA_TRY(cudaEventRecord(op->begin, w->stream), "noting a time");
    w->sequence = q->next;
    return STATUS_OK;
}

enum status create(struct cuda_queue *q)
{
    int least = 0, greatest = 0;
    CUDA_TRY(cudaSetDevice(q->backend->device), "choosing the device");
    CUDA_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest), "stream priorities");
    for (size_t id = 0; id < QUEUE_STREAMS; id++) {
        const bool gemm = id >= STREAM_GEMM && id < STREAM_DOWNLOAD;
        CUDA_TRY(cudaStreamCreateWithPriority(&q->stream[id], cudaStreamNonBlocking,
                                              gemm ? least : greatest),
                 "making a stream");
    }
    CUDA_TRY(cudaStreamCreateWithFlags(&q->alloc_stream, cudaStreamNonBlocking), "making a stream");
    CUDA_TRY(cudaStreamCreateWithFlags(&q->free_stream, cudaStreamNonBlocking), "making a stream");
    for (struct queue_op &op : q->ring) {
        CUDA_TRY(cudaEventCreate(&op.begin), "making an event");
        CUDA_TRY(cudaEventCreate(&op.end), "making an event");
    }
    for (struct queue_slot &slot : q->slot) {
        for (cudaEvent_t &event : slot.done) {
            CUDA_TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
        }
    }
    CUDA_TRY(cudaEventCreateWithFlags(&q->across, cudaEventDisableTiming), "making an event");
    CUDA_TRY(cudaEventCreate(&q->base_event), "making an event");
    CUDA_TRY(cudaEventRecord(q->base_event, q->stream[STREAM_COMPUTE]), "noting a time");
    CUDA_TRY(cudaEventSynchronize(q->base_event), "noting a time");
    float after = 0;
    CUDA_TRY(cudaEventElapsedTime(&after, q->backend->base_event, q->base_event), "noting a time");
    q->base_ms = after;
    return STATUS_OK;
}

} // namespace

cuda_work::cuda_work(struct cuda_queue *queue, enum stream_id on,
                     const struct queue_access *accesses, size_t n_accesses, enum queue_kind kind,
                     uint64_t bytes)
    : q(queue), id(on), stream(queue->stream[on]), status(STATUS_OK), sequence(0), open(true)
{
    pthread_mutex_lock(&q->lock);
    status = begin_work(this, accesses, n_accesses, kind, bytes);
}

/* The end is noted also when something failed in between: what was launched before that runs. */
enum status cuda_work::done()
{
    if (!open) {
        return status;
    }
    open = false;
    if (sequence != 0) {
        const cudaError_t error = cudaEventRecord(op_at(q, sequence)->end, stream);
        q->last[id] = sequence;
        q->next = sequence + 1;
        if (error != cudaSuccess && status == STATUS_OK) {
            status = cuda_fail(error, "noting a time");
        }
    }
    pthread_mutex_unlock(&q->lock);
    return status;
}

cuda_work::~cuda_work()
{
    (void)done();
}

enum stream_id cuda_gemm_stream(struct cuda_queue *q)
{
    pthread_mutex_lock(&q->lock);
    const unsigned next = q->next_gemm++ % GEMM_STREAMS;
    pthread_mutex_unlock(&q->lock);
    return (enum stream_id)(STREAM_GEMM + next);
}

enum status cuda_queue_blas(struct cuda_queue *q, enum stream_id id, cublasHandle_t *out)
{
    if (q->blas == nullptr) {
        CUBLAS_TRY(cublasCreate(&q->blas), "starting cuBLAS");
    }
    if (q->workspace[id] == nullptr) {
        struct span space;
        STATUS_TRY(cuda_alloc(&q->base, WORKSPACE_BYTES, &space));
        q->workspace[id] = space.at;
    }
    CUBLAS_TRY(cublasSetStream(q->blas, q->stream[id]), "cuBLAS's stream");
    CUBLAS_TRY(cublasSetWorkspace(q->blas, q->workspace[id], WORKSPACE_BYTES),
               "cuBLAS's workspace");
    *out = q->blas;
    return STATUS_OK;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * (int64_t)1000000000 + now.tv_nsec;
}

enum status cuda_wait_event(cudaEvent_t event)
{
    const int64_t start = now_ns();
    for (;;) {
        const cudaError_t error = cudaEventQuery(event);
        if (error != cudaErrorNotReady) {
            return error == cudaSuccess ? STATUS_OK : cuda_fail(error, "work queued earlier");
        }
        const int64_t waited = now_ns() - start;
        if (waited < POLL_NS) {
            sched_yield();
        } else {
            const int64_t pause = waited / 8 < MOST_SLEEP_NS ? waited / 8 : MOST_SLEEP_NS;
            const struct timespec nap = {0, (long)pause};
            (void)nanosleep(&nap, nullptr);
        }
    }
}

enum status cuda_finish(struct queue *queue)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    cudaEvent_t ends[QUEUE_RING];
    size_t n = 0;
    CUDA_TRY(cudaSetDevice(q->backend->device), "choosing the device");
    pthread_mutex_lock(&q->lock);
    for (uint64_t s = q->oldest; s < q->next; s++) { /* each: every end is a move */
        ends[n++] = op_at(q, s)->end;
    }
    pthread_mutex_unlock(&q->lock);
    for (size_t i = 0; i < n; i++) {
        STATUS_TRY(cuda_wait_event(ends[i]));
        tell_moved(q);
    }
    pthread_mutex_lock(&q->lock);
    const enum status status = retire(q, false);
    pthread_mutex_unlock(&q->lock);
    return status;
}

/* As in cuda_queue_free(), errors cannot be acted on. */
void cuda_trim(struct queue *queue)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    if (cudaSetDevice(q->backend->device) != cudaSuccess) {
        return;
    }
    pthread_mutex_lock(&q->lock);
    for (size_t id = 0; id < QUEUE_STREAMS; id++) {
        if (q->workspace[id] != nullptr) {
            (void)cudaFreeAsync(q->workspace[id], q->free_stream);
            q->workspace[id] = nullptr;
        }
        if (q->scratch[id].bytes > KEPT_BYTES) {
            (void)cudaFreeAsync(q->scratch[id].at, q->free_stream);
            q->scratch[id] = {};
        }
    }
    pthread_mutex_unlock(&q->lock);
}

void cuda_busy(struct queue *queue, struct queue_busy *out, bool reset)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    pthread_mutex_lock(&q->lock);
    if (cudaSetDevice(q->backend->device) == cudaSuccess) {
        (void)!retire(q, false);
    }
    *out = q->busy;
    if (reset) {
        q->busy = {};
    }
    pthread_mutex_unlock(&q->lock);
}

void cuda_busy_all(struct backend *backend, struct queue_busy *out)
{
    struct cuda_backend *b = (struct cuda_backend *)backend;
    pthread_mutex_lock(&b->busy_lock);
    *out = {};
    out->device_s = b->busy_all[KIND_DEVICE].total * 1e-3;
    out->upload_s = b->busy_all[KIND_UPLOAD].total * 1e-3;
    out->download_s = b->busy_all[KIND_DOWNLOAD].total * 1e-3;
    pthread_mutex_unlock(&b->busy_lock);
}

enum status cuda_queue_new(struct backend *b, struct queue **out)
{
    *out = nullptr;
    struct cuda_queue *q = new (std::nothrow) cuda_queue();
    if (q == nullptr) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a queue (%zu bytes)", sizeof *q);
    }
    q->base.backend = b;
    q->backend = (struct cuda_backend *)b;
    q->next = q->oldest = 1;
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&q->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    pthread_cond_init(&q->slot_free, nullptr);
    const enum status status = create(q);
    if (status != STATUS_OK) {
        cuda_queue_free(&q->base);
        return status;
    }
    *out = &q->base;
    return STATUS_OK;
}

/* Freeing goes on past errors: after a sticky one every call fails, and the memory is gone anyway.
 */
void cuda_queue_free(struct queue *queue)
{
    if (queue == nullptr) {
        return;
    }
    struct cuda_queue *q = cuda_queue_of(queue);
    (void)cudaSetDevice(q->backend->device);
    for (size_t id = 0; id < QUEUE_STREAMS; id++) {
        if (q->stream[id] != nullptr) {
            (void)cudaStreamSynchronize(q->stream[id]);
        }
    }
    if (q->blas != nullptr) {
        (void)cublasDestroy(q->blas);
    }
    for (size_t id = 0; id < QUEUE_STREAMS; id++) {
        if (q->workspace[id] != nullptr) {
            (void)cudaFreeAsync(q->workspace[id], q->free_stream);
        }
        if (q->scratch[id].at != nullptr) {
            (void)cudaFreeAsync(q->scratch[id].at, q->free_stream);
        }
    }
    for (struct queue_slot &slot : q->slot) {
        (void)cudaFreeHost(slot.bounce);
        for (cudaEvent_t event : slot.done) {
            (void)(event != nullptr ? cudaEventDestroy(event) : cudaSuccess);
        }
    }
    for (struct queue_op &op : q->ring) {
        (void)(op.begin != nullptr ? cudaEventDestroy(op.begin) : cudaSuccess);
        (void)(op.end != nullptr ? cudaEventDestroy(op.end) : cudaSuccess);
    }
    (void)(q->base_event != nullptr ? cudaEventDestroy(q->base_event) : cudaSuccess);
    (void)(q->across != nullptr ? cudaEventDestroy(q->across) : cudaSuccess);
    for (cudaStream_t stream : q->stream) {
        (void)(stream != nullptr ? cudaStreamDestroy(stream) : cudaSuccess);
    }
    for (cudaStream_t stream : {q->alloc_stream, q->free_stream}) {
        if (stream != nullptr) {
            (void)cudaStreamSynchronize(stream);
            (void)cudaStreamDestroy(stream);
        }
    }
    (void)cudaGetLastError();
    pthread_cond_destroy(&q->slot_free);
    pthread_mutex_destroy(&q->lock);
    delete q;
}
