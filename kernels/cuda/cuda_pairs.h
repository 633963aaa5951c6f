/*
 * cuda_pairs - one pair of series on the samples that both have, by a block, without cancellation.
 *
 * Sums about the guesses of the means; where those cancel (the common samples lie close together
 * and far from the guess), a second pass about the means of the common samples. The same steps as
 * the CPU's, in another order of summation.
 */
#ifndef LEAT_KERNELS_CUDA_PAIRS_H
#define LEAT_KERNELS_CUDA_PAIRS_H

#include "kernels/cuda/cuda_reduce.h"
#include "kernels/pearson_rule.h"

const int PAIR_THREADS = 128;

/* NaN is missing; in the exact form of z, -0.0 is. */
template <bool MARKED, typename T> __device__ __forceinline__ bool pair_present(T x)
{
    return MARKED ? !(x == 0 && signbit((double)x)) : x == x;
}

/* Extremes of the common samples. */
struct pair_extremes {
    double min_x, max_x, min_y, max_y;
};

enum { PAIR_SUMS = 6 };

template <bool MARKED, typename T>
__device__ struct pearson_sums pair_pass(const T *x, const T *y, size_t step, size_t n,
                                         double about_x, double about_y,
                                         struct pair_extremes *extremes)
{
    __shared__ double shared[PAIR_SUMS * (PAIR_THREADS / 32 + 1)];
    __shared__ struct pair_extremes of_warp[PAIR_THREADS / 32];
    double v[PAIR_SUMS] = {0, 0, 0, 0, 0, 0};
    struct pair_extremes e = {INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (size_t t = threadIdx.x; t < n; t += PAIR_THREADS) {
        const T a = x[t * step], b = y[t * step];
        if (pair_present<MARKED>(a) && pair_present<MARKED>(b)) {
            const double p = (double)a - about_x, q = (double)b - about_y;
            v[0] += 1;
            v[1] += p;
            v[2] += q;
            v[3] = fma(p, p, v[3]);
            v[4] = fma(q, q, v[4]);
            v[5] = fma(p, q, v[5]);
            e.min_x = lesser((double)a, e.min_x);
            e.max_x = greater((double)a, e.max_x);
            e.min_y = lesser((double)b, e.min_y);
            e.max_y = greater((double)b, e.max_y);
        }
    }
    __syncthreads();
    e.min_x = warp_min(e.min_x);
    e.max_x = warp_max(e.max_x);
    e.min_y = warp_min(e.min_y);
    e.max_y = warp_max(e.max_y);
    if (threadIdx.x % 32 == 0) {
        of_warp[threadIdx.x / 32] = e;
    }
    block_sums<PAIR_THREADS, PAIR_SUMS>(v, shared);
    for (int w = 0; w < PAIR_THREADS / 32; w++) {
        e.min_x = fmin(e.min_x, of_warp[w].min_x);
        e.max_x = fmax(e.max_x, of_warp[w].max_x);
        e.min_y = fmin(e.min_y, of_warp[w].min_y);
        e.max_y = fmax(e.max_y, of_warp[w].max_y);
    }
    *extremes = e;
    const struct pearson_sums s = {v[0], v[1], v[2], v[3], v[4], v[5]};
    return s;
}

/* Sums about the means of the common samples of two series, `step` elements from sample to sample;
 * x and y stay about the guesses. A series that is constant there has a square of exactly 0. By all
 * threads of the block, which all get the sums. */
template <bool MARKED, typename T>
__device__ struct pearson_sums pair_sums(const T *x, const T *y, size_t step, size_t n,
                                         double mean_x, double mean_y)
{
    struct pair_extremes e, unused;
    struct pearson_sums s = pair_pass<MARKED>(x, y, step, n, mean_x, mean_y, &e);
    struct pearson_sums first = s;
    if (s.n > 0 && !pearson_centre_sums(&s)) {
        s = pair_pass<MARKED>(x, y, step, n, mean_x + first.x / s.n, mean_y + first.y / s.n,
                              &unused);
        first.x += s.x;
        first.y += s.y;
        (void)pearson_centre_sums(&s);
    }
    s.x = first.x;
    s.y = first.y;
    s.xx = e.min_x < e.max_x ? s.xx : 0;
    s.yy = e.min_y < e.max_y ? s.yy : 0;
    return s;
}

template <bool MARKED, typename T>
__device__ double pair_coefficient(const T *x, const T *y, size_t step, size_t n, double mean_x,
                                   double mean_y)
{
    return pearson_of_centred(pair_sums<MARKED>(x, y, step, n, mean_x, mean_y));
}

#endif
