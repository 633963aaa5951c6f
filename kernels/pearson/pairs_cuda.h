/*
 * pairs_cuda - one pair of series on the samples that both have, by a block, without cancellation.
 *
 * Sums about the guesses of the means; where those cancel (the common samples lie close together
 * and far from the guess), about the first common sample, which lies among them; and where that is
 * an outlier of theirs, about their means. The same steps as the CPU's, in another order of
 * summation: (64 + N / 8192 + 12) u of each sum, u = 2^-53.
 */
#ifndef LEAT_KERNELS_PEARSON_PAIRS_CUDA_H
#define LEAT_KERNELS_PEARSON_PAIRS_CUDA_H

#include "kernels/base/reduce_cuda.h"
#include "kernels/pearson/pearson_rule.h"

const int PAIR_THREADS = 128;
/* Samples that a thread adds up before they join its total. */
const size_t PAIR_RUN = 64;

/* NaN is missing; in the exact form of z, -0.0 is. */
template <bool MARKED, typename T> __device__ __forceinline__ bool pair_present(T x)
{
    return MARKED ? !(x == 0 && signbit((double)x)) : x == x;
}

/* Two series: sample t of both, and whether both have it. */
template <bool MARKED, typename T> struct pair_series {
    const T *x, *y;
    __device__ __forceinline__ bool get(size_t t, double *a, double *b) const
    {
        const T u = x[t], v = y[t];
        *a = (double)u;
        *b = (double)v;
        return pair_present<MARKED>(u) && pair_present<MARKED>(v);
    }
};

template <typename S>
__device__ struct pearson_sums pair_pass(const S &series, size_t n, double about_x, double about_y)
{
    enum { SUMS = 6 };
    __shared__ double shared[SUMS * (PAIR_THREADS / 32 + 1)];
    double total[SUMS] = {0, 0, 0, 0, 0, 0};
    for (size_t from = 0; from < n; from += PAIR_RUN * PAIR_THREADS) {
        const size_t end = n - from < PAIR_RUN * PAIR_THREADS ? n : from + PAIR_RUN * PAIR_THREADS;
        double v[SUMS] = {0, 0, 0, 0, 0, 0};
        for (size_t t = from + threadIdx.x; t < end; t += PAIR_THREADS) {
            double x, y;
            if (series.get(t, &x, &y)) {
                const double p = x - about_x, q = y - about_y;
                v[0] += 1;
                v[1] += p;
                v[2] += q;
                v[3] = fma(p, p, v[3]);
                v[4] = fma(q, q, v[4]);
                v[5] = fma(p, q, v[5]);
            }
        }
        for (int k = 0; k < SUMS; k++) {
            total[k] += v[k];
        }
    }
    __syncthreads();
    block_sums<PAIR_THREADS, SUMS>(total, shared);
    const struct pearson_sums s = {total[0], total[1], total[2], total[3], total[4], total[5]};
    return s;
}

/* The first sample that both have; false where there is none. */
template <typename S>
__device__ bool pair_first(const S &series, size_t n, double *about_x, double *about_y)
{
    __shared__ unsigned long long first;
    if (threadIdx.x == 0) {
        first = n - 1;
    }
    __syncthreads();
    for (size_t from = 0; from < n; from += PAIR_THREADS) {
        const size_t t = from + threadIdx.x;
        double x, y;
        const bool here = t < n && series.get(t, &x, &y);
        if (here) {
            atomicMin(&first, (unsigned long long)t);
        }
        if (__syncthreads_or(here)) {
            break;
        }
    }
    const bool found = series.get(first, about_x, about_y);
    __syncthreads();
    return found;
}

/* By all threads of the block, which all get the same. */
template <typename S>
__device__ struct pearson_common pair_common_of(const S &series, size_t n_samples, double about_x,
                                                double about_y)
{
    struct pearson_sums raw = pair_pass(series, n_samples, about_x, about_y), s = raw;
    const struct pearson_sums far = raw;
    bool centred = s.n == 0 || pearson_centre_sums(&s);
    if (!centred) {
        (void)pair_first(series, n_samples, &about_x, &about_y);
        s = raw = pair_pass(series, n_samples, about_x, about_y);
        centred = pearson_centre_sums(&s);
    }
    if (!centred && (raw.xx > 0 || raw.yy > 0)) {
        about_x += raw.x / raw.n;
        about_y += raw.y / raw.n;
        s = pair_pass(series, n_samples, about_x, about_y);
        (void)pearson_centre_sums(&s);
    }
    const struct pearson_common c = {s, pearson_is_sure(&far, &s)};
    return c;
}

#endif
