/*
 * crc - CRC-32 by folding with carry-less multiplication where the processor has it, else zlib's.
 *
 * A message is a polynomial over GF(2); its CRC is what remains of it modulo P. Multiplying 16
 * bytes by x^d mod P gives 16 bytes with the same remainder d bits further on, so four running
 * blocks swallow 64 bytes a step, then are folded into one; zlib takes the CRC of the 16 bytes
 * left, and of the tail. The multipliers are x^(d+32) mod P for the low half of a block and
 * x^(d-32) mod P for the high half, bit-reflected and shifted left by one, because both operands
 * are reflected.
 *
 * Source: V. Gopal and others, Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
 * Instruction, Intel 2009.
 */
#include "formats/base/crc.h"

#include <zlib.h>

#if defined(__x86_64__)

#include <immintrin.h>

#define FOLDS __attribute__((target("pclmul,sse2")))

enum { BLOCK_BYTES = 16, STEP_BYTES = 4 * BLOCK_BYTES };

/* Block i from p on. */
FOLDS static inline __m128i load(const unsigned char *p, size_t i)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p + i);
}

/* The block moved on by the distance that k stands for, plus what stands there. */
FOLDS static inline __m128i fold(__m128i block, __m128i k, __m128i there)
{
    const __m128i low = _mm_clmulepi64_si128(block, k, 0x00);
    const __m128i high = _mm_clmulepi64_si128(block, k, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), there);
}

/* The CRC register after data[0 .. n), n a multiple of 16 and at least 64, from `state` on; neither
 * is inverted. */
FOLDS static uint32_t fold_all(uint32_t state, const unsigned char *p, size_t n)
{
    const __m128i by_512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
    const __m128i by_128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    __m128i a = _mm_xor_si128(load(p, 0), _mm_cvtsi32_si128((int)state));
    __m128i b = load(p, 1), c = load(p, 2), d = load(p, 3);
    const unsigned char *const end = p + n;
    for (p += STEP_BYTES; end - p >= STEP_BYTES; p += STEP_BYTES) {
        a = fold(a, by_512, load(p, 0));
        b = fold(b, by_512, load(p, 1));
        c = fold(c, by_512, load(p, 2));
        d = fold(d, by_512, load(p, 3));
    }
    a = fold(a, by_128, b);
    a = fold(a, by_128, c);
    a = fold(a, by_128, d);
    for (; p < end; p += BLOCK_BYTES) {
        a = fold(a, by_128, load(p, 0));
    }
    unsigned char last[BLOCK_BYTES];
    _mm_storeu_si128((__m128i *)(void *)last, a);
    return ~(uint32_t)crc32_z(UINT32_MAX, last, sizeof last);
}

uint32_t crc_extend(uint32_t crc, const void *data, size_t n)
{
    const unsigned char *p = data;
    if (n >= STEP_BYTES && __builtin_cpu_supports("pclmul")) {
        const size_t blocks = n - n % BLOCK_BYTES;
        crc = ~fold_all(~crc, p, blocks);
        p += blocks;
        n -= blocks;
    }
    return n > 0 ? (uint32_t)crc32_z(crc, p, n) : crc;
}

#else

uint32_t crc_extend(uint32_t crc, const void *data, size_t n)
{
    return n > 0 ? (uint32_t)crc32_z(crc, data, n) : crc;
}

#endif
