/*
 * cuda_products - what cuBLAS reaches on this device for C = A B^T of n x n: the ceiling for
 * correlation products. Exported from a module, so that leat-bench itself needs no CUDA to start.
 */
#include <cublas_v2.h>
#include <cuda_runtime.h>

namespace
{

enum { REPEATS = 5 };

__global__ void fill(float *f, double *d, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) {
        float v = (float)((i * 2654435761u) % 1000003u) / 1000003.0f - 0.5f;
        f[i] = v;
        d[i] = v;
    }
}

struct stopwatch {
    cudaEvent_t start, stop;
};

/* The best rate of REPEATS products after one to warm up; 0 when something fails. */
template <typename product> double best_rate(stopwatch clock, int n, product run)
{
    double best = 0;
    if (run() != CUBLAS_STATUS_SUCCESS) {
        return 0;
    }
    for (int i = 0; i < REPEATS; i++) {
        float ms = 0;
        if (cudaEventRecord(clock.start) != cudaSuccess || run() != CUBLAS_STATUS_SUCCESS ||
            cudaEventRecord(clock.stop) != cudaSuccess ||
            cudaEventSynchronize(clock.stop) != cudaSuccess ||
            cudaEventElapsedTime(&ms, clock.start, clock.stop) != cudaSuccess) {
            return 0;
        }
        double rate = 2.0 * n * n * (double)n / (ms * 1e-3);
        best = rate > best ? rate : best;
    }
    return best;
}

} // namespace

/* FLOP/s in double, float and TF32. 0, or the CUDA error (-1 when it was cuBLAS). */
extern "C" int bench_cuda_products(int n, double *f64, double *f32, double *tf32)
{
    size_t count = (size_t)n * (size_t)n;
    float *f = nullptr;
    double *d = nullptr;
    cublasHandle_t handle = nullptr;
    stopwatch clock = {};
    int failed = cudaMalloc(&f, 3 * count * sizeof *f);
    failed = failed ? failed : cudaMalloc(&d, 3 * count * sizeof *d);
    failed = failed ? failed : cudaEventCreate(&clock.start);
    failed = failed ? failed : cudaEventCreate(&clock.stop);
    failed = failed ? failed : (cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS ? 0 : -1);
    if (!failed) {
        fill<<<(unsigned)((3 * count + 255) / 256), 256>>>(f, d, 3 * count);
        failed = cudaGetLastError();
    }
    if (!failed) {
        const double one = 1, none = 0;
        const float one_f = 1, none_f = 0;
        *f64 = best_rate(clock, n, [&] {
            return cublasDgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &one, d, n, d + count, n,
                               &none, d + 2 * count, n);
        });
        auto single = [&] {
            return cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &one_f, f, n, f + count,
                               n, &none_f, f + 2 * count, n);
        };
        *f32 = best_rate(clock, n, single);
        cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
        *tf32 = best_rate(clock, n, single);
        failed = *f64 > 0 && *f32 > 0 && *tf32 > 0 ? 0 : -1;
    }
    if (handle != nullptr) {
        cublasDestroy(handle);
    }
    cudaEventDestroy(clock.start);
    cudaEventDestroy(clock.stop);
    cudaFree(d);
    cudaFree(f);
    return failed;
}
