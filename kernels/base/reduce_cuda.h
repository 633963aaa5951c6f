/*
 * reduce_cuda - sums over the threads of a warp or a block, in an order that is always the same,
 * and the reading of a row of numbers.
 */
#ifndef LEAT_KERNELS_BASE_REDUCE_CUDA_H
#define LEAT_KERNELS_BASE_REDUCE_CUDA_H

#include <cuda_runtime.h>
#include <stdint.h>

/* Adds v over the warp; every lane gets the sum. */
__device__ __forceinline__ double warp_sum(double v)
{
#pragma unroll
    for (int step = 16; step > 0; step >>= 1) {
        v += __shfl_xor_sync(0xffffffffu, v, step);
    }
    return v;
}
__device__ __forceinline__ double warp_min(double v)
{
#pragma unroll
    for (int step = 16; step > 0; step >>= 1) {
        v = fmin(v, __shfl_xor_sync(0xffffffffu, v, step));
    }
    return v;
}
__device__ __forceinline__ double warp_max(double v)
{
    return -warp_min(-v);
}

/* Adds COUNT values over a block of THREADS; every thread gets the sums. `shared` has room for
 * COUNT * (THREADS / 32 + 1) doubles and may be used again after the next barrier. */
template <int THREADS, int COUNT>
__device__ __forceinline__ void block_sums(double *v, double *shared)
{
    const int warps = THREADS / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    double *total = shared + COUNT * warps;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        v[k] = warp_sum(v[k]);
        if (lane == 0) {
            shared[k * warps + warp] = v[k];
        }
    }
    __syncthreads();
    /* a warp a value */
#pragma unroll 1
    for (int k = warp; k < COUNT; k += warps) {
        const double sum = warp_sum(lane < warps ? shared[k * warps + lane] : 0);
        if (lane == 0) {
            total[k] = sum;
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        v[k] = total[k];
    }
}

/* Vectors of 16 bytes. */
template <typename T> struct vector_of;
template <> struct vector_of<float> {
    static const int width = 4;
    float v[4];
    __device__ __forceinline__ void load(const float *p)
    {
        const float4 f = __ldg((const float4 *)p);
        v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
    }
};
template <> struct vector_of<double> {
    static const int width = 2;
    double v[2];
    __device__ __forceinline__ void load(const double *p)
    {
        const double2 d = __ldg((const double2 *)p);
        v[0] = d.x, v[1] = d.y;
    }
};

__device__ __forceinline__ float lesser(float a, float b)
{
    return fminf(a, b);
}
__device__ __forceinline__ float greater(float a, float b)
{
    return fmaxf(a, b);
}
/* A comparison and a choice: fmin of doubles takes more, for the sake of NaN. */
__device__ __forceinline__ double lesser(double a, double b)
{
    return a < b ? a : b;
}
__device__ __forceinline__ double greater(double a, double b)
{
    return a > b ? a : b;
}

/* Elements before the first that lies at a multiple of 16 bytes, at most n. */
template <typename T> __device__ __forceinline__ size_t unaligned_head(const T *p, size_t n)
{
    const size_t over = ((uintptr_t)p & 15) / sizeof(T);
    const size_t head = over == 0 ? 0 : 16 / sizeof(T) - over;
    return head < n ? head : n;
}

#endif
