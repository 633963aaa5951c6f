/*
 * warpgroup_cuda - what compute capability 9.0 has for matrix products: barriers in shared memory
 * that count bytes, the bulk tensor copy engine, and matrix instructions of a warpgroup. One
 * function an instruction; for sm_90a alone.
 *
 * (NVIDIA, Parallel Thread Execution ISA: mbarrier, cp.async.bulk.tensor, wgmma.)
 */
#ifndef LEAT_KERNELS_BASE_WARPGROUP_CUDA_H
#define LEAT_KERNELS_BASE_WARPGROUP_CUDA_H

#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>

__device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void barrier_init(uint64_t *barrier, uint32_t count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(count)
                 : "memory");
}

__device__ __forceinline__ void barrier_expect(uint64_t *barrier, uint32_t bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
        "r"(bytes)
        : "memory");
}

__device__ __forceinline__ void barrier_arrive(uint64_t *barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
                 : "memory");
}

__device__ __forceinline__ void barrier_wait(uint64_t *barrier, uint32_t parity)
{
    uint32_t done;
    do {
        asm volatile("{ .reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(shared_address(barrier)), "r"(parity)
                     : "memory");
    } while (done == 0);
}

__device__ __forceinline__ void copy_tile(uint32_t to, const CUtensorMap *map, uint64_t *barrier,
                                          int k, int plane, int row)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
                 "l"(map), "r"(shared_address(barrier)), "r"(k), "r"(plane), "r"(row)
                 : "memory");
}

/* Shared memory of rows of 64 bytes, swizzled by 64: eight rows are 512 bytes. */
__device__ __forceinline__ uint64_t tile_descriptor(uint32_t address)
{
    return (uint64_t)((address & 0x3ffff) >> 4) | (uint64_t)1 << 16 | (uint64_t)(512 >> 4) << 32 |
           (uint64_t)2 << 62;
}

#define REGS_8(d, k)                                                                               \
    "+r"(d[k]), "+r"(d[k + 1]), "+r"(d[k + 2]), "+r"(d[k + 3]), "+r"(d[k + 4]), "+r"(d[k + 5]),    \
        "+r"(d[k + 6]), "+r"(d[k + 7])

/* d += a b', 64 x 96 x 32. */
__device__ __forceinline__ void multiply(int (&d)[48], uint64_t a, uint64_t b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n96k32.s32.s8.s8 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, "
        "%19, "
        "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "
        "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47}, %48, %49, 1;\n"
        : REGS_8(d, 0), REGS_8(d, 8), REGS_8(d, 16), REGS_8(d, 24), REGS_8(d, 32), REGS_8(d, 40)
        : "l"(a), "l"(b));
}

__device__ __forceinline__ void multiply_begin()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void multiply_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int PENDING> __device__ __forceinline__ void multiply_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

#endif
