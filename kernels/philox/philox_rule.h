/*
 * philox_rule - the generator and the walk's step, element by element: one text for C and for CUDA.
 *
 * Philox4x32-10 (J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as
 * easy as 1, 2, 3", 2011): ten rounds of two 32 x 32 -> 64 bit products, keys bumped by Weyl
 * sequences. The words are those of curand_init(seed, series, 0) followed by successive outputs.
 *
 * The step must give the same bits on both sides: every product and sum is rounded on its own.
 */
#ifndef LEAT_KERNELS_PHILOX_PHILOX_RULE_H
#define LEAT_KERNELS_PHILOX_PHILOX_RULE_H

#include "kernels/base/rounded_rule.h"

#include <stdint.h>

#ifdef __CUDACC__
#define PHILOX_RULE __host__ __device__ static inline
#else
#define PHILOX_RULE static inline
#endif

/* Four words: a counter on the way in, four random words on the way out. */
struct philox_words {
    uint32_t w[4];
};

/* In one instruction on CUDA, too: of the plain product nvcc 13.0 makes two. */
PHILOX_RULE uint64_t philox_product(uint32_t a, uint32_t b)
{
#ifdef __CUDA_ARCH__
    return (uint64_t)__umulhi(a, b) << 32 | a * b;
#else
    return (uint64_t)a * b;
#endif
}

PHILOX_RULE struct philox_words philox_round(struct philox_words c, uint32_t k0, uint32_t k1)
{
    uint64_t p0 = philox_product(0xD2511F53u, c.w[0]);
    uint64_t p1 = philox_product(0xCD9E8D57u, c.w[2]);
    struct philox_words out = {{(uint32_t)(p1 >> 32) ^ c.w[1] ^ k0, (uint32_t)p1,
                                (uint32_t)(p0 >> 32) ^ c.w[3] ^ k1, (uint32_t)p0}};
    return out;
}

/* Philox4x32-10 of a counter, words in the paper's order, and a key. */
PHILOX_RULE struct philox_words philox_4x32_10(struct philox_words c, uint32_t k0, uint32_t k1)
{
    for (int round = 0; round < 10; ++round) {
        c = philox_round(c, k0, k1);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c;
}

/* Words 4 * block .. 4 * block + 3 of a series. */
PHILOX_RULE struct philox_words philox_block(uint64_t seed, uint64_t series, uint64_t block)
{
    struct philox_words counter = {
        {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)series, (uint32_t)(series >> 32)}};
    return philox_4x32_10(counter, (uint32_t)seed, (uint32_t)(seed >> 32));
}

/* u = 2 * (w + 0.5) / 2^32 - 1, exactly: an odd multiple of 2^-32 between -1 and 1. */
PHILOX_RULE double philox_uniform(uint32_t w)
{
    return ((double)w + 0.5) * 0x1p-31 - 1.0;
}

/* The factor 1 + epsilon * u, rounded after the product and after the sum. */
PHILOX_RULE double philox_factor(double epsilon, uint32_t w)
{
    return rounded_add(1.0, rounded_multiply(epsilon, philox_uniform(w)));
}

/* The sample after `value`. */
PHILOX_RULE double philox_step(double value, double factor)
{
    return rounded_multiply(value, factor);
}

#endif
