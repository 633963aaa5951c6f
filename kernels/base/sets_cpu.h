/*
 * sets_cpu - the instruction sets that the functions of some families are compiled for: a source
 * called *_set_cpu.c is compiled for each (CMakeLists.txt), the best is chosen at run time. What
 * plain loops do as fast is in CPU_CLONES.
 */
#ifndef LEAT_KERNELS_BASE_SETS_CPU_H
#define LEAT_KERNELS_BASE_SETS_CPU_H

#include <stddef.h>

/* That of this compilation, and the bytes of its vectors; base: that of every processor of the
 * kind. */
#ifndef CPU_SET
#define CPU_SET       base
#define CPU_SET_BYTES 16
#define CPU_SET_CHOICE(type, family)                                                               \
    const type *cpu_##family##_set(size_t i)                                                       \
    {                                                                                              \
        static const type *const sets[] = CPU_SETS(family);                                        \
        i += cpu_set_first();                                                                      \
        return i < sizeof sets / sizeof *sets ? sets[i] : NULL;                                    \
    }
#else
#define CPU_SET_CHOICE(type, family)
#endif

#define CPU_SET_TEXT_OF(set) #set
#define CPU_SET_TEXT(set)    CPU_SET_TEXT_OF(set)
#define CPU_SET_NAME         CPU_SET_TEXT(CPU_SET)
#define CPU_SET_JOIN(a, b)   a##_##b
#define CPU_SET_OF_(a, b)    CPU_SET_JOIN(a, b)
/* The table of this compilation: CPU_SET_OF(cpu_X). */
#define CPU_SET_OF(table) CPU_SET_OF_(table, CPU_SET)

/* Of the sets, the best first, the first one that this processor has. */
#if defined(__x86_64__)
#define CPU_SETS(family)                                                                           \
    {                                                                                              \
        &cpu_##family##_avx512, &cpu_##family##_avx2, &cpu_##family##_base                         \
    }
static inline size_t cpu_set_first(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        return 2;
    }
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
               ? 0
               : 1;
}
#else
#define CPU_SETS(family)                                                                           \
    {                                                                                              \
        &cpu_##family##_base                                                                       \
    }
static inline size_t cpu_set_first(void)
{
    return 0;
}
#endif

#endif
