/*
 * seed_means - kernel K2 of the study that leat grew from, "intense" and "intense optimised",
 * rebuilt: the means of M series of N numbers, one block of 1024 threads a series. Baselines for
 * leat's means.
 *
 * Each thread adds up every 1024th number of the series into its place in shared memory; then the
 * 1024 sums are folded in halves. "Optimised" unrolls the folding and leaves the barriers out
 * within the last warp, through a volatile pointer; since threads of a warp no longer run in step,
 * __syncwarp stands between the steps. Sums are taken in the type of the data, as in the study,
 * which is why its float results are off in the third to sixth digit; that error is printed beside
 * the times. N of at least 1024.
 *
 * usage: seed_means [M N]. Prints a line a kernel and type: the median time of device events over
 * inputs that take turns, bytes a second, and the largest relative error against sums in double on
 * the host.
 */
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace
{

const int BLOCK = 1024, COPIES = 3, RUNS = 25, CHECKED = 16;

template <typename T> __device__ T &place(int i)
{
    extern __shared__ double shared[];
    return ((T *)shared)[i];
}

template <typename T> __device__ void own_sum(const T *series, int n)
{
    T sum = 0;
    for (int t = threadIdx.x; t < n; t += BLOCK) {
        sum += series[t];
    }
    place<T>(threadIdx.x) = sum;
    __syncthreads();
}

template <typename T> __global__ void intense(const T *x, int n, T *mean)
{
    own_sum(x + blockIdx.x * (size_t)n, n);
    for (int stride = BLOCK / 2; stride > 0; stride >>= 1) {
        if (threadIdx.x < stride) {
            place<T>(threadIdx.x) += place<T>(threadIdx.x + stride);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        mean[blockIdx.x] = place<T>(0) / (T)n;
    }
}

template <typename T> __device__ void fold_in_warp(volatile T *v, int lane)
{
    for (int stride = 32; stride > 0; stride >>= 1) {
        const T sum = v[lane] + v[lane + stride];
        __syncwarp();
        v[lane] = sum;
        __syncwarp();
    }
}

template <typename T> __global__ void intense_optimised(const T *x, int n, T *mean)
{
    own_sum(x + blockIdx.x * (size_t)n, n);
#pragma unroll
    for (int stride = BLOCK / 2; stride >= 64; stride >>= 1) {
        if (threadIdx.x < stride) {
            place<T>(threadIdx.x) += place<T>(threadIdx.x + stride);
        }
        __syncthreads();
    }
    if (threadIdx.x < 32) {
        fold_in_warp<T>(&place<T>(0), threadIdx.x);
    }
    if (threadIdx.x == 0) {
        mean[blockIdx.x] = place<T>(0) / (T)n;
    }
}

template <typename T> cudaError_t launch(bool optimised, const T *x, int m, int n, T *mean)
{
    if (n < BLOCK || m < 1) {
        return cudaErrorInvalidValue;
    }
    if (optimised) {
        intense_optimised<T><<<m, BLOCK, BLOCK * sizeof(T)>>>(x, n, mean);
    } else {
        intense<T><<<m, BLOCK, BLOCK * sizeof(T)>>>(x, n, mean);
    }
    return cudaGetLastError();
}

} // namespace

/* M rows of N numbers on the device to M means. */
extern "C" int seed_means_f32(int optimised, const float *x, int m, int n, float *mean)
{
    return launch(optimised != 0, x, m, n, mean);
}
extern "C" int seed_means_f64(int optimised, const double *x, int m, int n, double *mean)
{
    return launch(optimised != 0, x, m, n, mean);
}

namespace
{

/* Numbers in [1, 2) that look random. */
template <typename T> __global__ void fill(T *x, size_t n, unsigned seed)
{
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned h = (unsigned)i * 2654435761u + seed;
        h = (h ^ h >> 15) * 2246822519u;
        x[i] = (T)(1 + (h ^ h >> 13) * 0x1p-32);
    }
}

int seed_means(int optimised, const float *x, int m, int n, float *mean)
{
    return seed_means_f32(optimised, x, m, n, mean);
}
int seed_means(int optimised, const double *x, int m, int n, double *mean)
{
    return seed_means_f64(optimised, x, m, n, mean);
}

template <typename T> struct inputs {
    T *x[COPIES], *mean;
    cudaEvent_t start, stop;
};

template <typename T> cudaError_t make(inputs<T> *in, int m, int n)
{
    const size_t elements = (size_t)m * (size_t)n;
    cudaError_t error = cudaMalloc(&in->mean, (size_t)m * sizeof(T));
    for (int c = 0; c < COPIES && error == cudaSuccess; c++) {
        error = cudaMalloc(&in->x[c], elements * sizeof(T));
        if (error == cudaSuccess) {
            fill<<<(unsigned)((elements + 255) / 256), 256>>>(in->x[c], elements, (unsigned)c);
            error = cudaGetLastError();
        }
    }
    error = error == cudaSuccess ? cudaEventCreate(&in->start) : error;
    return error == cudaSuccess ? cudaEventCreate(&in->stop) : error;
}

/* The largest relative error of some means; NaN and errors of the device come out as infinite. */
template <typename T> double largest_error(const inputs<T> &in, int m, int n)
{
    std::vector<T> row((size_t)n), mean((size_t)m);
    double worst = 0;
    if (cudaMemcpy(mean.data(), in.mean, mean.size() * sizeof(T), cudaMemcpyDeviceToHost) !=
        cudaSuccess) {
        return INFINITY;
    }
    for (int k = 0; k < CHECKED; k++) {
        const size_t s = (size_t)k * (size_t)(m - 1) / (CHECKED - 1);
        if (cudaMemcpy(row.data(), in.x[0] + s * (size_t)n, row.size() * sizeof(T),
                       cudaMemcpyDeviceToHost) != cudaSuccess) {
            return INFINITY;
        }
        double sum = 0;
        for (T v : row) {
            sum += (double)v;
        }
        const double error = fabs((double)mean[s] * n / sum - 1);
        worst = error <= worst ? worst : (error == error ? error : INFINITY);
    }
    return worst;
}

template <typename T>
bool report(const char *type, int optimised, const inputs<T> &in, int m, int n)
{
    std::vector<float> ms;
    bool good = true;
    for (int r = 0; r < RUNS + 2 && good; r++) {
        float once = 0;
        good = cudaEventRecord(in.start) == cudaSuccess &&
               seed_means(optimised, in.x[r % COPIES], m, n, in.mean) == cudaSuccess &&
               cudaEventRecord(in.stop) == cudaSuccess &&
               cudaEventSynchronize(in.stop) == cudaSuccess &&
               cudaEventElapsedTime(&once, in.start, in.stop) == cudaSuccess;
        if (r >= 2) {
            ms.push_back(once);
        }
    }
    good = good && seed_means(optimised, in.x[0], m, n, in.mean) == cudaSuccess;
    const double error = good ? largest_error(in, m, n) : INFINITY;
    if (!(error < 1e-3)) {
        printf("K2 intense%s %s: wrong or not run (%s)\n", optimised ? " optimised" : "", type,
               cudaGetErrorString(cudaGetLastError()));
        return false;
    }
    std::sort(ms.begin(), ms.end());
    const double median = ms[ms.size() / 2];
    printf("K2 intense%-10s %s %d x %d: %8.4f ms %7.1f GB/s, largest relative error %.1e\n",
           optimised ? " optimised" : "", type, m, n, median,
           (double)m * n * sizeof(T) / median * 1e-6, error);
    return true;
}

template <typename T> bool run_type(const char *type, int m, int n)
{
    inputs<T> in = {};
    const cudaError_t error = make(&in, m, n);
    bool good = error == cudaSuccess;
    if (!good) {
        fprintf(stderr, "seed_means: %s\n", cudaGetErrorString(error));
    }
    for (int optimised = 0; optimised < 2 && good; optimised++) {
        good = report(type, optimised, in, m, n);
    }
    for (T *x : in.x) {
        (void)cudaFree(x);
    }
    (void)cudaFree(in.mean);
    return good;
}

} // namespace

int main(int argc, char **argv)
{
    const int m = argc > 2 ? atoi(argv[1]) : 8192, n = argc > 2 ? atoi(argv[2]) : 8192;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        fprintf(stderr, "seed_means: no CUDA device\n");
        return 77;
    }
    if (m < CHECKED || n < BLOCK) {
        fprintf(stderr, "usage: seed_means [M N], M of at least %d and N of at least %d\n", CHECKED,
                BLOCK);
        return 2;
    }
    const bool f32 = run_type<float>("f32", m, n);
    return run_type<double>("f64", m, n) && f32 ? 0 : 1;
}
