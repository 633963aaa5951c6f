/*
 * kmeans_avx512_cpu - distances with AVX-512 and fused multiply-add.
 */
#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx2,fma")
#endif

#define SWEEP_BYTES 64
#include "kernels/kmeans/kmeans_sweep_cpu.h"

const struct kmeans_vectors cpu_kmeans_avx512 = KMEANS_VECTORS("avx512");

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
