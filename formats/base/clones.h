/*
 * clones - one source, several instruction sets.
 *
 * CPU_CLONES compiles a function for AVX-512, AVX2 and the base set; the loader picks one.
 * Sanitized builds keep the base set: the pick runs before their run-time is up; so do clang's,
 * which names the pick otherwise than callers in other files do.
 */
#ifndef LEAT_FORMATS_BASE_CLONES_H
#define LEAT_FORMATS_BASE_CLONES_H

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) &&                        \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CPU_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CPU_CLONES
#endif

#endif
