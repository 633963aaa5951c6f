/*
 * backend_cuda - the module's table, and the device: opening it, describing it, page-locked memory.
 *
 * The module exports one function. It needs compute capability 8.0 (double-precision tensor cores)
 * and stream-ordered allocation; never managed memory.
 */
#include "kernels/base/queue_cuda.h"

#include <new>
#include <stdio.h>
#include <string.h>

extern "C" const struct backend_ops *leat_cuda_backend(backend_vfail_fn *fail);

namespace
{

const size_t HOST_ALIGNMENT = 4096;

extern const struct backend_ops backend_cuda;
backend_vfail_fn *describe_failure; /* the program's */

enum status refuse(const char *reason, cudaError_t error)
{
    (void)cudaGetLastError();
    return status_fail(STATUS_NO_BACKEND, "%s: %s", reason, cudaGetErrorString(error));
}

enum status device_count(size_t *out)
{
    int n = 0;
    const cudaError_t error = cudaGetDeviceCount(&n);
    *out = error == cudaSuccess ? (size_t)n : 0;
    return error == cudaSuccess ? STATUS_OK : refuse("no CUDA device can be used", error);
}

enum status probe(int device, struct cudaDeviceProp *properties)
{
    size_t n = 0;
    int pools = 0;
    STATUS_TRY(device_count(&n));
    if (device < 0 || (size_t)device >= n) {
        return status_fail(STATUS_NO_BACKEND, "there is no CUDA device %d: there are %zu", device,
                           n);
    }
    cudaError_t error = cudaGetDeviceProperties(properties, device);
    if (error != cudaSuccess) {
        return refuse("the CUDA device does not answer", error);
    }
    if (properties->major < 8) {
        return status_fail(STATUS_NO_BACKEND,
                           "%s has compute capability %d.%d: 8.0 or newer is needed",
                           properties->name, properties->major, properties->minor);
    }
    error = cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device);
    if (error != cudaSuccess || pools == 0) {
        return status_fail(STATUS_NO_BACKEND, "%s has no stream-ordered allocation",
                           properties->name);
    }
    error = cudaSetDevice(device);
    if (error == cudaSuccess) {
        error = cudaFree(nullptr);
    }
    return error == cudaSuccess ? STATUS_OK : refuse("the CUDA device cannot be opened", error);
}

enum status make_pool(struct cuda_backend *b)
{
    struct cudaMemPoolProps props = {};
    uint64_t keep = UINT64_MAX;
    int no = 0;
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = b->device;
    CUDA_TRY(cudaMemPoolCreate(&b->pool, &props), "making a memory pool");
    CUDA_TRY(cudaMemPoolSetAttribute(b->pool, cudaMemPoolAttrReleaseThreshold, &keep),
             "setting up the memory pool");
    CUDA_TRY(cudaMemPoolSetAttribute(b->pool, cudaMemPoolReuseAllowInternalDependencies, &no),
             "setting up the memory pool");
    return STATUS_OK;
}

enum status note_base(struct cuda_backend *b)
{
    CUDA_TRY(cudaEventCreate(&b->base_event), "making an event");
    CUDA_TRY(cudaEventRecord(b->base_event, nullptr), "noting a time");
    CUDA_TRY(cudaEventSynchronize(b->base_event), "noting a time");
    return STATUS_OK;
}

void device_close(struct backend *backend)
{
    struct cuda_backend *b = (struct cuda_backend *)backend;
    if (b == nullptr) {
        return;
    }
    if (b->pool != nullptr && cudaSetDevice(b->device) == cudaSuccess) {
        (void)cudaMemPoolDestroy(b->pool);
    }
    if (b->base_event != nullptr && cudaSetDevice(b->device) == cudaSuccess) {
        (void)cudaEventDestroy(b->base_event);
    }
    pthread_mutex_destroy(&b->busy_lock);
    delete b;
}

enum status device_open(const struct backend_config *config, struct backend **out)
{
    *out = nullptr;
    struct cuda_backend *b = new (std::nothrow) cuda_backend();
    if (b == nullptr) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a backend (%zu bytes)", sizeof *b);
    }
    b->base.ops = &backend_cuda;
    b->device = config->device;
    b->moved = config->moved;
    pthread_mutex_init(&b->busy_lock, nullptr);
    enum status status = probe(b->device, &b->properties);
    if (status == STATUS_OK) {
        status = make_pool(b);
    }
    if (status == STATUS_OK) {
        status = note_base(b);
    }
    if (status != STATUS_OK) {
        device_close(&b->base);
        return status;
    }
    *out = &b->base;
    return STATUS_OK;
}

void device_describe(const struct backend *backend, struct backend_info *out)
{
    const struct cuda_backend *b = (const struct cuda_backend *)backend;
    int driver = 0, runtime = 0, blas_major = 0, blas_minor = 0;
    size_t left = 0, total = 0;
    uint64_t reserved = 0, used = 0;
    *out = {};
    snprintf(out->name, sizeof out->name, "cuda");
    snprintf(out->device, sizeof out->device, "%.*s", (int)sizeof out->device - 1,
             b->properties.name);
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    (void)cublasGetProperty(MAJOR_VERSION, &blas_major);
    (void)cublasGetProperty(MINOR_VERSION, &blas_minor);
    snprintf(out->detail, sizeof out->detail,
             "CUDA %d.%d, driver for %d.%d, cuBLAS %d.%d, compute capability %d.%d", runtime / 1000,
             runtime % 1000 / 10, driver / 1000, driver % 1000 / 10, blas_major, blas_minor,
             b->properties.major, b->properties.minor);
    if (cudaSetDevice(b->device) == cudaSuccess && cudaMemGetInfo(&left, &total) == cudaSuccess) {
        (void)cudaMemPoolGetAttribute(b->pool, cudaMemPoolAttrReservedMemCurrent, &reserved);
        (void)cudaMemPoolGetAttribute(b->pool, cudaMemPoolAttrUsedMemCurrent, &used);
        out->memory_bytes = total;
        out->memory_free = left + reserved - used;
    }
    out->n_threads = (size_t)b->properties.multiProcessorCount;
}

enum status device_host_alloc(struct backend *backend, size_t bytes, void **out)
{
    *out = nullptr;
    CUDA_TRY(cudaSetDevice(((struct cuda_backend *)backend)->device), "choosing the device");
    const cudaError_t error =
        cudaHostAlloc(out, bytes > HOST_ALIGNMENT ? bytes : HOST_ALIGNMENT, cudaHostAllocPortable);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        *out = nullptr;
        return status_fail(STATUS_NO_MEMORY, "no %zu bytes of page-locked memory: %s", bytes,
                           cudaGetErrorString(error));
    }
    return STATUS_OK;
}

void device_host_free(struct backend *backend, void *p)
{
    if (p != nullptr && cudaSetDevice(((struct cuda_backend *)backend)->device) == cudaSuccess) {
        (void)cudaFreeHost(p);
    }
}

enum status device_host_pin(struct backend *backend, void *p, size_t bytes)
{
    CUDA_TRY(cudaSetDevice(((struct cuda_backend *)backend)->device), "choosing the device");
    const cudaError_t error = cudaHostRegister(p, bytes, cudaHostRegisterPortable);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return status_fail(STATUS_NO_MEMORY, "%zu bytes cannot be page-locked: %s", bytes,
                           cudaGetErrorString(error));
    }
    return STATUS_OK;
}

void device_host_unpin(struct backend *backend, void *p)
{
    if (cudaSetDevice(((struct cuda_backend *)backend)->device) == cudaSuccess) {
        (void)cudaHostUnregister(p);
    }
}

#define MEMBER(name)        .name = cuda_##name,
#define FAMILY_MEMBER(name) .name = &cuda_##name,
const struct backend_ops backend_cuda = {.name = "cuda",
                                         .count = device_count,
                                         .open = device_open,
                                         .close = device_close,
                                         .describe = device_describe,
                                         .host_alloc = device_host_alloc,
                                         .host_free = device_host_free,
                                         .host_pin = device_host_pin,
                                         .host_unpin = device_host_unpin,
                                         .borrow = cuda_borrow,
                                         QUEUE_OPS(MEMBER) KERNEL_FAMILIES(FAMILY_MEMBER)};

} // namespace

extern "C" enum status status_fail(enum status code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    describe_failure(code, format, args);
    va_end(args);
    return code;
}

extern "C" __attribute__((visibility("default"))) const struct backend_ops *
leat_cuda_backend(backend_vfail_fn *fail)
{
    describe_failure = fail;
    return &backend_cuda;
}
