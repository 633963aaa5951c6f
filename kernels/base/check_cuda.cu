/*
 * check_cuda - errors of CUDA and cuBLAS as statuses.
 */
#include "kernels/base/check_cuda.h"

enum status cuda_fail(cudaError_t error, const char *what)
{
    (void)cudaGetLastError();
    return status_fail(error == cudaErrorMemoryAllocation ? STATUS_NO_MEMORY : STATUS_DEVICE,
                       "%s: %s (%s)", what, cudaGetErrorString(error), cudaGetErrorName(error));
}

enum status cuda_blas_fail(cublasStatus_t error, const char *what)
{
    return status_fail(error == CUBLAS_STATUS_ALLOC_FAILED ? STATUS_NO_MEMORY : STATUS_DEVICE,
                       "%s: %s", what, cublasGetStatusName(error));
}

enum status cuda_expect(struct span s, size_t n, size_t each, const char *what)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, each, &bytes) || bytes > s.bytes) {
        return status_fail(STATUS_INTERNAL, "%s: %zu of %zu bytes each do not lie in %zu bytes",
                           what, n, each, s.bytes);
    }
    return STATUS_OK;
}
