/*
 * cuda_products - what cuBLAS reaches on this device for C = A B^T of n x n: the ceiling for
 * correlation products. Exported from a module, so that leat-bench itself needs no CUDA to start.
 */
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <math.h>

namespace
{

enum { REPEATS = 10 };

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

/* The shortest of REPEATS runs, in seconds, after one to warm up; 0 when something fails. `run`
 * returns whether it could be launched. */
template <typename work> double shortest(stopwatch clock, work run)
{
    double best = 0;
    if (!run()) {
        return 0;
    }
    for (int i = 0; i < REPEATS; i++) {
        float ms = 0;
        if (cudaEventRecord(clock.start) != cudaSuccess || !run() ||
            cudaEventRecord(clock.stop) != cudaSuccess ||
            cudaEventSynchronize(clock.stop) != cudaSuccess ||
            cudaEventElapsedTime(&ms, clock.start, clock.stop) != cudaSuccess) {
            return 0;
        }
        best = i == 0 || ms * 1e-3 < best ? ms * 1e-3 : best;
    }
    return best;
}

} // namespace

/* Bytes read and written a second by a copy, FLOP/s in double, float and TF32. 0, or the CUDA error
 * (-1 when it was cuBLAS or a clock). */
extern "C" int bench_cuda_ceilings(int n, double *copy, double *f64, double *f32, double *tf32)
{
    const size_t count = (size_t)n * (size_t)n;
    const double flops = 2.0 * n * n * (double)n;
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
        const size_t bytes = count * sizeof *d;
        *copy = 2.0 * (double)bytes / shortest(clock, [&] {
                    return cudaMemcpyAsync(d + 2 * count, d, bytes, cudaMemcpyDeviceToDevice) ==
                           cudaSuccess;
                });
        *f64 =
            flops / shortest(clock, [&] {
                return cublasDgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &one, d, n, d + count,
                                   n, &none, d + 2 * count, n) == CUBLAS_STATUS_SUCCESS;
            });
        auto single = [&] {
            return cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &one_f, f, n, f + count,
                               n, &none_f, f + 2 * count, n) == CUBLAS_STATUS_SUCCESS;
        };
        *f32 = flops / shortest(clock, single);
        cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH);
        *tf32 = flops / shortest(clock, single);
        failed =
            *copy < INFINITY && *f64 < INFINITY && *f32 < INFINITY && *tf32 < INFINITY ? 0 : -1;
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
