/*
 * check_cuda - errors of CUDA and cuBLAS as values.
 *
 * Nothing here ends the process. A sticky device error comes back from every later call as
 * STATUS_DEVICE, and whoever owns the process decides.
 */
#ifndef LEAT_KERNELS_BASE_CHECK_CUDA_H
#define LEAT_KERNELS_BASE_CHECK_CUDA_H

#include "kernels/backend.h"

#include <cublas_v2.h>
#include <cuda_runtime.h>

/* Describes a failure of `what`: STATUS_NO_MEMORY for an allocation, else STATUS_DEVICE. */
enum status cuda_fail(cudaError_t error, const char *what);
enum status cuda_blas_fail(cublasStatus_t error, const char *what);

/* Fails with STATUS_INTERNAL unless `s` holds at least n * each bytes. */
enum status cuda_expect(struct span s, size_t n, size_t each, const char *what) STATUS_MUST_CHECK;

/* What the launch just made returned. */
static inline enum status cuda_launched(const char *kernel)
{
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? STATUS_OK : cuda_fail(error, kernel);
}

/* These leave the function with the status of a call that failed. */
#define CUDA_TRY(call, what)                                                                       \
    do {                                                                                           \
        const cudaError_t cuda_error_ = (call);                                                    \
        if (cuda_error_ != cudaSuccess) {                                                          \
            return cuda_fail(cuda_error_, what);                                                   \
        }                                                                                          \
    } while (0)

#define CUBLAS_TRY(call, what)                                                                     \
    do {                                                                                           \
        const cublasStatus_t cublas_error_ = (call);                                               \
        if (cublas_error_ != CUBLAS_STATUS_SUCCESS) {                                              \
            return cuda_blas_fail(cublas_error_, what);                                            \
        }                                                                                          \
    } while (0)

#endif
