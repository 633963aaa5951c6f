/*
 * clones_cpu - one source, several instruction sets.
 *
 * CPU_CLONES compiles a function for AVX-512, AVX2 and the base set; the loader picks one.
 * Sanitized builds keep the base set: the pick runs before their run-time is up.
 */
#ifndef LEAT_KERNELS_BASE_CLONES_CPU_H
#define LEAT_KERNELS_BASE_CLONES_CPU_H

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) &&             \
    !defined(__SANITIZE_THREAD__)
#define CPU_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CPU_CLONES
#endif

/* Inlined into whichever clone calls it. */
#define CPU_INLINE static inline __attribute__((always_inline))

#endif
