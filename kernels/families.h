/*
 * families - the kernels that every backend has, a family for each contract: the one list of them.
 *
 * To add a family: its name here, its contract in kernels/NAME/NAME.h, and in that folder the two
 * tables `cpu_NAME` and `cuda_NAME` of the type `struct NAME_kernels`.
 */
#ifndef LEAT_KERNELS_FAMILIES_H
#define LEAT_KERNELS_FAMILIES_H

#define KERNEL_FAMILIES(FAMILY)                                                                    \
    FAMILY(means)                                                                                  \
    FAMILY(philox)                                                                                 \
    FAMILY(matrix)                                                                                 \
    FAMILY(pearson)                                                                                \
    FAMILY(sciddicat)                                                                              \
    FAMILY(interpolate)                                                                            \
    FAMILY(kmeans)

#define FAMILY(name) extern const struct name##_kernels cpu_##name, cuda_##name;
KERNEL_FAMILIES(FAMILY)
#undef FAMILY

#endif
