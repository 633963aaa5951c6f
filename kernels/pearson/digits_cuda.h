/*
 * digits_cuda - standardized series in digits of 8 bits, and products of them on integer tensor
 * cores.
 *
 *   z[t] = scale sum_k d_k[t] 2^-8k + residual,   d_0 in [-127, 127], the others in [-128, 127]
 *   z . z' = scale scale' sum_{k,l} 2^-8(k + l) S_kl,   S_kl = sum_t d_k[t] d'_l[t]
 *
 * The sums S are taken in 32-bit integers, exactly; what is lost is what is left out. With R_k the
 * part of z that remains after k digits (R_0 = z, norm 1) and D_k the part that digit k holds,
 * taking the products of the first P digits up to order k + l = L leaves out
 *
 *   sum_{k < P} D_k . R'_min(P, L + 1 - k)  +  R_P . z'
 *
 * which is bounded by Cauchy-Schwarz from the norms of the R_k, known for every series; ||D_k|| is
 * at most ||R_k|| + ||R_(k+1)||. All products together leave out
 *
 *   (z - R_P) . R'_P  +  R_P . z',   at most  (1 + ||R_P||) ||R'_P|| + ||R_P||.
 *
 * For a row whose largest |z| is C / sqrt(N) (its crest C: 4 to 5 for normal noise of 8192 samples,
 * up to sqrt(N) for one spike) ||R_k|| is about C / 440 * 2^-8(k-1), at most C / 253 * 2^-8(k-1).
 * Each tile of the matrix takes the fewest products that keep all its pairs within the bound of the
 * precision; where 36 do not, it is taken in double (digits_double_cuda.cu):
 *
 *   P  L   products                        P  L   products
 *   3  2      6   f32, crest to 4          6  5     21   exact, crest to 10 or so
 *   3  3      8   f32, crest to 14         6  6     26   exact, crest to 100 or so
 *   4  6     16   f32                      6 10     36   exact, crest to 111
 *                                          doubles       exact
 *
 * 16 products leave out at most 2 * 0.503 * 2^-24 / 127 * C = 4.73e-10 C: 4.85e-7 for 2^20 samples
 * and C = sqrt(N), the most there is. So they are enough for f32 up to 2^22 - 2^18 samples of any
 * kind, and beyond of rows of a crest up to 2000; there are no more digits to take.
 *
 * The result depends on the data and the shape alone: sums of integers have no order.
 *
 * (K. Ozaki, T. Ogita, S. Oishi, S. M. Rump, "Error-free transformations of matrix multiplication
 * by using fast routines of matrix multiplication and its applications", 2012, splits matrices in
 * this way.)
 */
#ifndef LEAT_KERNELS_PEARSON_DIGITS_CUDA_H
#define LEAT_KERNELS_PEARSON_DIGITS_CUDA_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* Digits of PEARSON_F32, and of PEARSON_EXACT. */
enum { DIGITS_SHORT = 4, DIGITS_LONG = 6 };

/* What the products may leave out.
 *
 * f32: 1e-6 less the rounding of the result to float (2^-25) and that of two sweeps (2^-25 of what
 * the first gives, which is below 0.04).
 *
 * exact: 1e-12 less, with u = 2^-53 and for N <= 2^20,
 *     10 u  the roundings of z,
 *    250 u  those of the two norms (standardize_cuda.cu),
 *     32 u  the sums of orders in double (value_of: 8 of parts within ||D_0|| ||D'_0|| <= 4),
 *    450 u  the sums of chunks: at most 150 (3 sweeps of 49 chunks, or 132 blocks) within 3,
 * 8.3e-14 in all. Beyond 2^20 samples the last grows with N / 2^20. */
#define DIGITS_F32_BOUND   9.5e-7
#define DIGITS_EXACT_BOUND 8.0e-13
/* At a further lag PEARSON_LEAST_LEFT of all that. The doubles take no such products: series for
 * which all products are not enough have a standard form of their own at each lag
 * (lags_cuda.cu). */
#define DIGITS_LAG_BOUND (PEARSON_LEAST_LEFT * DIGITS_EXACT_BOUND)

/* What 16 products leave out at most, in parts of the crest, which is sqrt(N) at most. */
#define DIGITS_LEFT_OF_16 (2 * 0.503 * 0x1p-24 / 127)

/* Series up to here never need doubles: 36 products leave out 7.21e-15 C, and C <= sqrt(N). */
enum { DIGITS_EXACT_SAMPLES = 12288 };

/* The tiles of the matrix for which products are chosen. */
enum { TILE_A = 128, TILE_B = 96 };

/* Samples that one 32-bit sum can take: an order has at most as many products as there are digits,
 * of at most 2^14 each. A multiple of 128. */
static inline size_t digits_most_samples(int planes)
{
    return planes == DIGITS_SHORT ? 32640 : 21760;
}

/* What follows the planes of a series: NaN as the scale of one without variance, and upper bounds
 * of ||R_1||, ||R_2|| .. */
struct digits_tail {
    double scale;
    float residual[DIGITS_LONG];
};

#ifdef __CUDACC__
#define DIGITS_INLINE __host__ __device__ __forceinline__
#else
#define DIGITS_INLINE static inline
#endif

/* Bytes of a plane: a digit a sample, and zeros up to a multiple of 32. */
DIGITS_INLINE size_t digits_plane_bytes(size_t n_samples)
{
    return (n_samples + 31) / 32 * 32;
}

/* Bytes of the planes and the tail: a multiple of 128, so that rows begin at cache lines. */
DIGITS_INLINE size_t digits_row_bytes(int planes, size_t n_samples)
{
    return ((size_t)planes * digits_plane_bytes(n_samples) + sizeof(struct digits_tail) + 127) /
           128 * 128;
}

#ifdef __CUDACC__

/* Samples are split with the digits below the first balanced, so that what remains is at most half
 * of the digit before: adding 0x80 to each of those bytes (with carries) leaves digit + 128 in
 * each.
 *
 * q: the first four digits as one integer, 2^24 d_0 + .. + d_3, in [-127 2^24, 127 2^24]. */
__device__ __forceinline__ unsigned digits_pack(int q)
{
    return ((unsigned)q + 0x808080u) ^ 0x808080u;
}

/* Adds the squares of what remains after one, two and three digits, in units of the fourth. */
__device__ __forceinline__ void digits_add_squares(int q, float (&squares)[3])
{
    const unsigned biased = (unsigned)q + 0x808080u;
    const float rest1 = (float)((int)(biased & 0xffffffu) - 0x808080);
    const float rest2 = (float)((int)(biased & 0xffffu) - 0x8080);
    const float rest3 = (float)((int)(biased & 0xffu) - 0x80);
    squares[0] = fmaf(rest1, rest1, squares[0]);
    squares[1] = fmaf(rest2, rest2, squares[1]);
    squares[2] = fmaf(rest3, rest3, squares[2]);
}

/* squares: the sums of the above over the n samples. After more digits, half a unit of the last one
 * a sample is assumed, as it is for what lies below the last. 1.001 covers the rounding of the
 * sums, which are taken in float within a thread. */
template <int P>
__device__ __forceinline__ struct digits_tail digits_tail_of(bool degenerate, double scale,
                                                             const double (&squares)[3], size_t n)
{
    struct digits_tail tail = {};
    const double root = sqrt((double)n) * scale * 1.001;
    tail.scale = degenerate ? (double)NAN : scale;
#pragma unroll
    for (int k = 0; k < P; k++) {
        const double half = 0.502 * exp2(-8.0 * k) * root;
        const double norm = k < 3 ? (sqrt(squares[k]) * scale * 1.001 + root) * 0x1p-24 : half;
        tail.residual[k] = degenerate ? 0 : (float)norm;
    }
    return tail;
}

/* Upper bound of what the products of P digits up to order L leave out, for series whose remainders
 * are within a and b. */
template <int P, int L>
__device__ __forceinline__ float digits_left_out(const float *a, const float *b)
{
    float sum = a[P - 1];
#pragma unroll
    for (int k = 0; k < P; k++) {
        const int left = L + 1 - k < P ? L + 1 - k : P;
        sum += (k == 0 ? 1 + a[0] : a[k - 1] + a[k]) * b[left - 1];
    }
    return sum;
}

/* The same of all products, from the last remainders: to the same bits in every kernel that asks,
 * because one leaves a tile to the other. */
__device__ __forceinline__ float digits_left_out_by_all(float a, float b)
{
    return __fmaf_rn(__fadd_rn(1, a), b, a);
}

#endif

#endif
