/*
 * memory_cuda - device memory from a stream-ordered pool, and copies.
 *
 * Memory is taken on a stream that never has anything to wait for, so it can be used at once on any
 * other; it is given back on another one, after all that was queued before. The pool hands out
 * again what has been given back for good and keeps what it once got, so that later jobs do not pay
 * for the mapping; only when nothing is left is everything waited for, and tried once more.
 *
 * An upload waits for earlier work only where that uses the memory it writes to: a second staging
 * buffer fills while the kernels on the first still run.
 */
#include "kernels/base/queue_cuda.h"

#include <string.h>

namespace
{

/* Copies of this size to memory that is not page-locked are left to the driver's own buffers. */
const size_t SMALL_BYTES = 64 << 10;

enum status take(struct cuda_queue *q, size_t bytes, void **out)
{
    cudaError_t error = cudaMallocFromPoolAsync(out, bytes, q->backend->pool, q->alloc_stream);
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        STATUS_TRY(cuda_finish(&q->base));
        CUDA_TRY(cudaStreamSynchronize(q->free_stream), "waiting for memory");
        CUDA_TRY(cudaMemPoolTrimTo(q->backend->pool, 0), "returning memory");
        error = cudaMallocFromPoolAsync(out, bytes, q->backend->pool, q->alloc_stream);
    }
    if (error == cudaErrorMemoryAllocation) {
        size_t left = 0, total = 0;
        (void)cudaGetLastError();
        (void)cudaMemGetInfo(&left, &total);
        return status_fail(STATUS_NO_MEMORY,
                           "the device has no %zu bytes left (%zu of %zu are free): use a smaller "
                           "input, fewer jobs at a time, or the CPU",
                           bytes, left, total);
    }
    CUDA_TRY(error, "taking device memory");
    CUDA_TRY(cudaStreamSynchronize(q->alloc_stream), "taking device memory");
    return STATUS_OK;
}

/* Frees after everything queued so far. Errors cannot be acted on; sticky ones show up elsewhere.
 */
void give(struct cuda_queue *q, void *at)
{
    for (size_t id = 0; id < QUEUE_STREAMS; id++) {
        if (q->last[id] > q->free_seen[id] && q->last[id] >= q->oldest) {
            (void)cudaStreamWaitEvent(q->free_stream, q->ring[q->last[id] % QUEUE_RING].end, 0);
            q->free_seen[id] = q->last[id];
        }
    }
    (void)cudaFreeAsync(at, q->free_stream);
}

/* To memory that is not page-locked: through the slot's two halves, one filling as the other is
 * emptied. */
enum status copy_by_bounce(struct cuda_queue *q, unsigned slot, char *to, const char *from,
                           size_t bytes)
{
    const size_t most = QUEUE_BOUNCE_BYTES / 2;
    const size_t n = (bytes + most - 1) / most;
    char *bounce = nullptr;
    STATUS_TRY(cuda_slot_bounce(q, slot, bytes, &bounce));
    for (size_t k = 0; k <= n; k++) {
        if (k < n) {
            const size_t part = k + 1 < n ? most : bytes - k * most;
            const enum stream_id id = (enum stream_id)(STREAM_DOWNLOAD + slot);
            const struct queue_access reads[] = {queue_reads(from + k * most, part)};
            cuda_work work(q, id, reads, id == STREAM_QUERY ? 1 : 0, KIND_DOWNLOAD, part);
            STATUS_TRY(work.status);
            CUDA_TRY(cudaMemcpyAsync(bounce + k % 2 * most, from + k * most, part,
                                     cudaMemcpyDeviceToHost, work.stream),
                     "download");
            CUDA_TRY(cudaEventRecord(q->slot[slot].done[k % 2], work.stream), "download");
            STATUS_TRY(work.done());
        }
        if (k > 0) {
            const size_t part = k < n ? most : bytes - (n - 1) * most;
            STATUS_TRY(cuda_wait_event(q->slot[slot].done[(k - 1) % 2]));
            memcpy(to + (k - 1) * most, bounce + (k - 1) % 2 * most, part);
        }
    }
    return STATUS_OK;
}

enum status copy_directly(struct cuda_queue *q, unsigned slot, void *to, const void *from,
                          size_t bytes)
{
    const enum stream_id id = (enum stream_id)(STREAM_DOWNLOAD + slot);
    const struct queue_access reads[] = {queue_reads(from, bytes)};
    cuda_work work(q, id, reads, id == STREAM_QUERY ? 1 : 0, KIND_DOWNLOAD, bytes);
    STATUS_TRY(work.status);
    CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, work.stream), "download");
    CUDA_TRY(cudaEventRecord(q->slot[slot].done[0], work.stream), "download");
    STATUS_TRY(work.done());
    return cuda_wait_event(q->slot[slot].done[0]);
}

} // namespace

enum status cuda_alloc(struct queue *queue, size_t bytes, struct span *out)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    *out = {};
    if (bytes == 0) {
        return STATUS_OK;
    }
    if (bytes > q->backend->properties.totalGlobalMem) {
        return status_fail(STATUS_NO_MEMORY,
                           "the device has %zu bytes of memory, not %zu: use a smaller input",
                           q->backend->properties.totalGlobalMem, bytes);
    }
    CUDA_TRY(cudaSetDevice(q->backend->device), "choosing the device");
    pthread_mutex_lock(&q->lock);
    const enum status status = take(q, bytes, &out->at);
    pthread_mutex_unlock(&q->lock);
    out->bytes = status == STATUS_OK ? bytes : 0;
    out->at = status == STATUS_OK ? out->at : nullptr;
    return status;
}

void cuda_release(struct queue *queue, struct span s)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    if (s.at == nullptr || cudaSetDevice(q->backend->device) != cudaSuccess) {
        return;
    }
    pthread_mutex_lock(&q->lock);
    give(q, s.at);
    pthread_mutex_unlock(&q->lock);
}

enum status cuda_queue_scratch(struct cuda_queue *q, enum stream_id id, size_t bytes, void **out)
{
    struct queue_scratch *s = &q->scratch[id];
    if (s->bytes < bytes) {
        if (s->at != nullptr) {
            /* on the stream itself: the operation under way may have used it */
            CUDA_TRY(cudaFreeAsync(s->at, q->stream[id]), "giving memory back");
            *s = {};
        }
        const size_t room = (bytes + (bytes >> 2) + 0xffff) & ~(size_t)0xffff;
        STATUS_TRY(take(q, room, &s->at));
        s->bytes = room;
    }
    *out = s->at;
    return STATUS_OK;
}

enum status cuda_slot_take(struct cuda_queue *q, unsigned *slot)
{
    CUDA_TRY(cudaSetDevice(q->backend->device), "choosing the device");
    pthread_mutex_lock(&q->lock);
    for (;;) {
        for (unsigned i = 0; i < QUEUE_SLOTS; i++) {
            if (!q->slot[i].taken) {
                q->slot[i].taken = true;
                *slot = i;
                pthread_mutex_unlock(&q->lock);
                return STATUS_OK;
            }
        }
        pthread_cond_wait(&q->slot_free, &q->lock);
    }
}

void cuda_slot_give(struct cuda_queue *q, unsigned slot)
{
    pthread_mutex_lock(&q->lock);
    q->slot[slot].taken = false;
    pthread_cond_signal(&q->slot_free);
    pthread_mutex_unlock(&q->lock);
}

/* Locking 8 MiB takes 1.5 ms (H200), in which the driver answers nobody else: a small job takes
 * little. */
enum status cuda_slot_bounce(struct cuda_queue *q, unsigned slot, size_t bytes, char **out)
{
    struct queue_slot *s = &q->slot[slot];
    size_t wanted = 2 * SMALL_BYTES;
    while (wanted < bytes) {
        wanted *= 2;
    }
    if (wanted > QUEUE_BOUNCE_BYTES / 2) {
        wanted = QUEUE_BOUNCE_BYTES;
    }
    if (s->bounce_bytes < wanted) {
        CUDA_TRY(cudaStreamSynchronize(q->stream[STREAM_DOWNLOAD + slot]),
                 "waiting for a download");
        (void)cudaFreeHost(s->bounce);
        s->bounce = nullptr;
        s->bounce_bytes = 0;
        CUDA_TRY(cudaHostAlloc((void **)&s->bounce, wanted, cudaHostAllocPortable),
                 "page-locked memory");
        s->bounce_bytes = wanted;
    }
    *out = s->bounce;
    return STATUS_OK;
}

bool cuda_host_is_locked(const void *p)
{
    struct cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, p) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    return attributes.type == cudaMemoryTypeHost;
}

enum status cuda_upload(struct queue *queue, struct span to, const void *from, size_t bytes,
                        uint64_t *ticket)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    *ticket = 0;
    if (bytes > to.bytes) {
        return status_fail(STATUS_INTERNAL, "upload of %zu bytes into %zu", bytes, to.bytes);
    }
    if (bytes == 0) {
        return STATUS_OK;
    }
    cuda_work work(q, STREAM_UPLOAD, {queue_writes(to.at, bytes)}, KIND_UPLOAD, bytes);
    STATUS_TRY(work.status);
    CUDA_TRY(cudaMemcpyAsync(to.at, from, bytes, cudaMemcpyHostToDevice, work.stream), "upload");
    *ticket = work.sequence;
    return work.done();
}

enum status cuda_upload_wait(struct queue *queue, uint64_t ticket)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    CUDA_TRY(cudaSetDevice(q->backend->device), "choosing the device");
    pthread_mutex_lock(&q->lock);
    const bool gone = ticket < q->oldest;
    const cudaEvent_t end = q->ring[ticket % QUEUE_RING].end;
    pthread_mutex_unlock(&q->lock);
    return gone ? STATUS_OK : cuda_wait_event(end);
}

static enum status download_on(struct cuda_queue *q, unsigned slot, void *to, const void *from,
                               size_t bytes)
{
    const bool direct = bytes <= SMALL_BYTES || cuda_host_is_locked(to);
    return direct ? copy_directly(q, slot, to, from, bytes)
                  : copy_by_bounce(q, slot, (char *)to, (const char *)from, bytes);
}

enum status cuda_download(struct queue *queue, void *to, struct span from, size_t bytes)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    unsigned slot = 0;
    if (bytes > from.bytes) {
        return status_fail(STATUS_INTERNAL, "download of %zu bytes from %zu", bytes, from.bytes);
    }
    if (bytes == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(cuda_slot_take(q, &slot));
    const enum status status = download_on(q, slot, to, from.at, bytes);
    cuda_slot_give(q, slot);
    return status;
}

enum status cuda_read_back(struct cuda_queue *q, void *to, const void *from, size_t bytes)
{
    const struct span part = {(void *)from, bytes};
    return cuda_download(&q->base, to, part, bytes);
}

enum status cuda_query_read(struct cuda_queue *q, void *to, const void *from, size_t bytes)
{
    CUDA_TRY(cudaSetDevice(q->backend->device), "choosing the device");
    return bytes == 0 ? STATUS_OK : download_on(q, QUEUE_SLOTS, to, from, bytes);
}

enum status cuda_copy(struct queue *queue, struct span to, struct span from, size_t bytes)
{
    if (bytes > to.bytes || bytes > from.bytes) {
        return status_fail(STATUS_INTERNAL, "copy of %zu bytes from %zu into %zu", bytes,
                           from.bytes, to.bytes);
    }
    if (bytes == 0) {
        return STATUS_OK;
    }
    cuda_work work(cuda_queue_of(queue), STREAM_COMPUTE,
                   {queue_writes(to.at, bytes), queue_reads(from.at, bytes)});
    STATUS_TRY(work.status);
    CUDA_TRY(cudaMemcpyAsync(to.at, from.at, bytes, cudaMemcpyDeviceToDevice, work.stream), "copy");
    return work.done();
}

/* --- between queues --------------------------------------------------------------------------- */

/* Lets the device use the pool's memory, where the two are peers; elsewhere copies are staged. */
static enum status open_pool(struct cuda_backend *owner, int device)
{
    const uint64_t bit = device < 64 ? (uint64_t)1 << device : 0;
    int are_peers = 0;
    if (device == owner->device || (__atomic_load_n(&owner->peers, __ATOMIC_ACQUIRE) & bit) != 0) {
        return STATUS_OK;
    }
    CUDA_TRY(cudaDeviceCanAccessPeer(&are_peers, device, owner->device), "looking for peers");
    if (are_peers != 0) {
        struct cudaMemAccessDesc access = {};
        access.location.type = cudaMemLocationTypeDevice;
        access.location.id = device;
        access.flags = cudaMemAccessFlagsProtReadWrite;
        CUDA_TRY(cudaMemPoolSetAccess(owner->pool, &access, 1), "opening memory to a peer");
    }
    __atomic_fetch_or(&owner->peers, bit, __ATOMIC_RELEASE);
    return STATUS_OK;
}

/* Notes where all is done on the queue that the access has to come after. */
static enum status note_across(struct cuda_queue *q, enum stream_id id,
                               const struct queue_access &access)
{
    cuda_work work(q, id, {access});
    STATUS_TRY(work.status);
    CUDA_TRY(cudaEventRecord(q->across, work.stream), "order between queues");
    return work.done();
}

/* The queue's stream goes on after what the other one has noted. */
static enum status wait_across(struct cuda_queue *q, enum stream_id id,
                               const struct cuda_queue *other)
{
    CUDA_TRY(cudaSetDevice(q->backend->device), "choosing the device");
    CUDA_TRY(cudaStreamWaitEvent(q->stream[id], other->across, 0), "order between queues");
    return STATUS_OK;
}

static enum status peer_copy(struct cuda_queue *q, enum stream_id id, struct span to,
                             const struct cuda_queue *other, struct span from)
{
    cuda_work work(q, id, {queue_writes(to.at, from.bytes)});
    STATUS_TRY(work.status);
    CUDA_TRY(cudaMemcpyPeerAsync(to.at, q->backend->device, from.at, other->backend->device,
                                 from.bytes, work.stream),
             "copy between devices");
    CUDA_TRY(cudaEventRecord(q->across, work.stream), "order between queues");
    return work.done();
}

/* On streams of products: what computes waits for it only where it uses the memory. Operations of
 * two queues do not nest, so the source has two: what is copied is complete; it may change again.
 */
enum status cuda_copy_across(struct queue *queue, struct span to, struct queue *from_queue,
                             struct span from, size_t bytes)
{
    struct cuda_queue *q = cuda_queue_of(queue), *source = cuda_queue_of(from_queue);
    if (bytes == 0 || bytes > to.bytes || bytes > from.bytes) {
        return cuda_copy(queue, to, from, bytes); /* nothing, or what is wrong */
    }
    STATUS_TRY(open_pool(q->backend, source->backend->device));
    STATUS_TRY(open_pool(source->backend, q->backend->device));
    const enum stream_id here = cuda_gemm_stream(q), there = cuda_gemm_stream(source);
    const struct queue_access reads = queue_reads(from.at, bytes);
    STATUS_TRY(note_across(source, there, reads));
    STATUS_TRY(wait_across(q, here, source));
    STATUS_TRY(peer_copy(q, here, to, source, {from.at, bytes}));
    STATUS_TRY(wait_across(source, there, q));
    return note_across(source, there, reads);
}

/* All streams of the queue go on after what is in another one of the device. */
static enum status follow(struct cuda_queue *q, cudaStream_t stream)
{
    const cudaError_t error = cudaEventRecord(q->across, stream);
    if (error == cudaErrorInvalidResourceHandle || error == cudaErrorInvalidValue) {
        (void)cudaGetLastError();
        return status_fail(STATUS_BAD_ARGUMENT, "%p is no stream of device %d", (void *)stream,
                           q->backend->device);
    }
    CUDA_TRY(error, "work that the program has queued");
    for (const cudaStream_t own : q->stream) {
        CUDA_TRY(cudaStreamWaitEvent(own, q->across, 0), "order after the program's work");
    }
    return STATUS_OK;
}

enum status cuda_borrow(struct queue *queue, void *at, size_t bytes, void *stream, struct span *out)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    struct cudaPointerAttributes found = {};
    *out = {};
    CUDA_TRY(cudaSetDevice(q->backend->device), "choosing the device");
    const cudaError_t error = cudaPointerGetAttributes(&found, at);
    const bool is_ours = found.type == cudaMemoryTypeManaged ||
                         (found.type == cudaMemoryTypeDevice && found.device == q->backend->device);
    if (error != cudaSuccess || !is_ours) {
        (void)cudaGetLastError();
        return status_fail(STATUS_BAD_ARGUMENT, "%p is no memory of device %d", at,
                           q->backend->device);
    }
    pthread_mutex_lock(&q->lock);
    const enum status status = follow(q, (cudaStream_t)stream);
    pthread_mutex_unlock(&q->lock);
    *out = {at, status == STATUS_OK ? bytes : 0};
    return status;
}

enum status cuda_zero(struct queue *queue, struct span s)
{
    if (s.bytes == 0) {
        return STATUS_OK;
    }
    cuda_work work(cuda_queue_of(queue), STREAM_COMPUTE, {queue_writes(s.at, s.bytes)});
    STATUS_TRY(work.status);
    CUDA_TRY(cudaMemsetAsync(s.at, 0, s.bytes, work.stream), "zero");
    return work.done();
}
