/*
 * kmeans_avx2_cpu - distances with AVX2 and fused multiply-add.
 */
#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif

#define SWEEP_BYTES 32
#include "kernels/kmeans/kmeans_sweep_cpu.h"

const struct kmeans_vectors cpu_kmeans_avx2 = KMEANS_VECTORS("avx2");

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif
