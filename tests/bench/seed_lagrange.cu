/*
 * seed_lagrange - the Lagrange interpolation of the study that leat grew from, rebuilt: S queries
 * through n + 1 nodes, O(S n^2), in five phases. A baseline for leat's interpolate.
 *
 * 0  find_t_z: t_ji = 1 / (x_j - x_i), z_ji = x_i / (x_j - x_i); (n + 1)^2 threads, once.
 * 1  gamma_ijs = x_s t_ji - z_ji. Blocks of 32 x 32 threads, a row of blockIdx.y of them a query,
 *    thread (x, y) of block (s, b) multiplies up i = y, y + 32, ... of basis j = 32 b + x, with 1
 *    for i = j.
 * 2  the products of a column are folded in halves in shared memory: L_j(x_s), times y_j.
 * 3  the first row adds up: one number a block.
 * 4  inter_block_reduction: a thread a query adds up its blocks' numbers.
 *
 * "Without phase 0" computes gamma by its division, as the study did before. "Serial" is its serial
 * program, on one core of the host, for fewer queries.
 *
 * usage: seed_lagrange [S]. Prints, for n + 1 = 32 to 320 nodes, the median time of device events
 * of phase 0, phases 1 to 3, phase 4, and the largest error over sum_j |L_j y_j| against extended
 * precision on the host; then the same for 32 nodes and growing S.
 */
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace
{

const int SIDE = 32, RUNS = 7, CHECKED = 64, SERIAL_QUERIES = 1000;

__global__ void find_t_z(const double *x, int n, double *t, double *z)
{
    const int j = blockIdx.x * SIDE + threadIdx.x, i = blockIdx.y * SIDE + threadIdx.y;
    if (i < n && j < n && i != j) {
        const double d = x[j] - x[i];
        t[(size_t)i * n + j] = 1 / d;
        z[(size_t)i * n + j] = x[i] / d;
    }
}

template <bool PHASE_0>
__global__ void __launch_bounds__(SIDE *SIDE)
    intra_block_computation(const double *x, const double *y, int n, const double *t,
                            const double *z, const double *queries, double *r)
{
    __shared__ double product[SIDE][SIDE], query;
    const int j = blockIdx.y * SIDE + threadIdx.x, row = threadIdx.y;
    if (threadIdx.x == 0 && row == 0) {
        query = queries[blockIdx.x];
    }
    __syncthreads();
    double own = 1;
    for (int i = row; i < n && j < n; i += SIDE) {
        if (i != j) {
            const size_t at = (size_t)i * n + j;
            own *= PHASE_0 ? query * t[at] - z[at] : (query - x[i]) / (x[j] - x[i]);
        }
    }
    product[row][threadIdx.x] = own;
    __syncthreads();
    for (int half = SIDE / 2; half > 0; half /= 2) {
        if (row < half) {
            product[row][threadIdx.x] *= product[row + half][threadIdx.x];
        }
        __syncthreads();
    }
    if (row == 0) {
        product[0][threadIdx.x] *= j < n ? y[j] : 0;
        __syncwarp();
        for (int half = SIDE / 2; half > 0; half /= 2) {
            if (threadIdx.x < half) {
                product[0][threadIdx.x] += product[0][threadIdx.x + half];
            }
            __syncwarp();
        }
        if (threadIdx.x == 0) {
            r[blockIdx.x + (size_t)blockIdx.y * gridDim.x] = product[0][0];
        }
    }
}

__global__ void inter_block_reduction(const double *r, int n_queries, int n_blocks, double *values)
{
    const int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s < n_queries) {
        double sum = 0;
        for (int b = 0; b < n_blocks; b++) {
            sum += r[s + (size_t)b * n_queries];
        }
        values[s] = sum;
    }
}

/* Chebyshev points, Runge's function, queries in equal steps. */
struct problem {
    int n, n_queries;
    std::vector<double> x, y, queries, values;
};

problem make(int n, int n_queries)
{
    problem p = {n,
                 n_queries,
                 std::vector<double>(n),
                 std::vector<double>(n),
                 std::vector<double>(n_queries),
                 std::vector<double>(n_queries)};
    for (int j = 0; j < n; j++) {
        p.x[j] = -cos(3.14159265358979323846 * (j + 0.5) / n);
        p.y[j] = 1 / (1 + 25 * p.x[j] * p.x[j]);
    }
    for (int s = 0; s < n_queries; s++) {
        p.queries[s] = p.x[0] + (p.x[n - 1] - p.x[0]) * (s + 0.5) / n_queries;
    }
    return p;
}

template <typename T> T lagrange(const problem &p, double x, T *condition)
{
    T sum = 0;
    *condition = 0;
    for (int j = 0; j < p.n; j++) {
        T base = 1;
        for (int i = 0; i < p.n; i++) {
            base *= i == j ? 1 : ((T)x - p.x[i]) / ((T)p.x[j] - p.x[i]);
        }
        sum += base * p.y[j];
        *condition += fabs((double)base * p.y[j]);
    }
    return sum;
}

double largest_error(const problem &p)
{
    double worst = 0;
    for (int k = 0; k < CHECKED; k++) {
        const int s = (int)((long long)k * (p.n_queries - 1) / (CHECKED - 1));
        long double condition;
        const long double want = lagrange<long double>(p, p.queries[s], &condition);
        const double error = fabs((double)((p.values[s] - want) / condition));
        worst = error <= worst ? worst : (error == error ? error : INFINITY);
    }
    return worst;
}

double serial_ms(problem *p)
{
    const auto start = std::chrono::steady_clock::now();
    for (int s = 0; s < p->n_queries; s++) {
        double condition;
        p->values[s] = lagrange<double>(*p, p->queries[s], &condition);
    }
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
}

struct on_device {
    double *x, *y, *t, *z, *queries, *r, *values;
};

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const cudaError_t error_ = (call);                                                         \
        if (error_ != cudaSuccess) {                                                               \
            return error_;                                                                         \
        }                                                                                          \
    } while (0)

cudaError_t put(const problem &p, int n_blocks, on_device *d)
{
    const size_t n = (size_t)p.n * sizeof(double), s = (size_t)p.n_queries * sizeof(double);
    TRY(cudaMalloc(&d->x, n));
    TRY(cudaMalloc(&d->y, n));
    TRY(cudaMalloc(&d->t, n * p.n));
    TRY(cudaMalloc(&d->z, n * p.n));
    TRY(cudaMalloc(&d->queries, s));
    TRY(cudaMalloc(&d->r, s * n_blocks));
    TRY(cudaMalloc(&d->values, s));
    TRY(cudaMemcpy(d->x, p.x.data(), n, cudaMemcpyHostToDevice));
    TRY(cudaMemcpy(d->y, p.y.data(), n, cudaMemcpyHostToDevice));
    return cudaMemcpy(d->queries, p.queries.data(), s, cudaMemcpyHostToDevice);
}

void drop(on_device *d)
{
    for (double *at : {d->x, d->y, d->t, d->z, d->queries, d->r, d->values}) {
        (void)cudaFree(at);
    }
}

/* One run; the times of phase 0, of 1 to 3, of 4. */
cudaError_t run(const problem &p, const on_device &d, bool phase_0, cudaEvent_t *event, float *ms)
{
    const unsigned n_blocks = (unsigned)((p.n + SIDE - 1) / SIDE);
    const dim3 side(SIDE, SIDE), squares(n_blocks, n_blocks), all((unsigned)p.n_queries, n_blocks);
    TRY(cudaEventRecord(event[0]));
    if (phase_0) {
        find_t_z<<<squares, side>>>(d.x, p.n, d.t, d.z);
        TRY(cudaGetLastError());
    }
    TRY(cudaEventRecord(event[1]));
    if (phase_0) {
        intra_block_computation<true><<<all, side>>>(d.x, d.y, p.n, d.t, d.z, d.queries, d.r);
    } else {
        intra_block_computation<false><<<all, side>>>(d.x, d.y, p.n, d.t, d.z, d.queries, d.r);
    }
    TRY(cudaGetLastError());
    TRY(cudaEventRecord(event[2]));
    inter_block_reduction<<<(unsigned)((p.n_queries + 255) / 256), 256>>>(d.r, p.n_queries,
                                                                          (int)n_blocks, d.values);
    TRY(cudaGetLastError());
    TRY(cudaEventRecord(event[3]));
    TRY(cudaEventSynchronize(event[3]));
    for (int k = 0; k < 3; k++) {
        TRY(cudaEventElapsedTime(&ms[k], event[k], event[k + 1]));
    }
    return cudaSuccess;
}

cudaError_t time_runs(problem *p, bool phase_0, double *median)
{
    on_device d = {};
    cudaEvent_t event[4] = {};
    std::vector<float> times[3];
    cudaError_t error = put(*p, (p->n + SIDE - 1) / SIDE, &d);
    for (cudaEvent_t &e : event) {
        error = error == cudaSuccess ? cudaEventCreate(&e) : error;
    }
    for (int r = 0; r < RUNS + 1 && error == cudaSuccess; r++) {
        float ms[3];
        error = run(*p, d, phase_0, event, ms);
        for (int k = 0; k < 3 && r > 0; k++) {
            times[k].push_back(ms[k]);
        }
    }
    if (error == cudaSuccess) {
        error = cudaMemcpy(p->values.data(), d.values, p->values.size() * sizeof(double),
                           cudaMemcpyDeviceToHost);
    }
    for (int k = 0; k < 3 && error == cudaSuccess; k++) {
        std::sort(times[k].begin(), times[k].end());
        median[k] = times[k][times[k].size() / 2];
    }
    for (cudaEvent_t e : event) {
        if (e != nullptr) {
            (void)cudaEventDestroy(e);
        }
    }
    drop(&d);
    return error;
}

bool report(int n, int n_queries)
{
    bool good = true;
    for (int phase_0 = 1; phase_0 >= 0 && good; phase_0--) {
        problem p = make(n, n_queries);
        double ms[3] = {};
        const cudaError_t error = time_runs(&p, phase_0 != 0, ms);
        const double off = error == cudaSuccess ? largest_error(p) : INFINITY;
        good = off < 1e-9; /* phase 0 subtracts what it has rounded: n u times what cancels */
        printf("%4d nodes, %8d queries, %s phase 0: %8.4f + %9.4f + %8.4f ms, error %.1e%s\n", n,
               n_queries, phase_0 != 0 ? "   with" : "without", ms[0], ms[1], ms[2], off,
               good                   ? ""
               : error == cudaSuccess ? " (wrong)"
                                      : cudaGetErrorString(error));
    }
    return good;
}

} // namespace

int main(int argc, char **argv)
{
    const int n_queries = argc > 1 ? atoi(argv[1]) : 1000000;
    int devices = 0;
    if (n_queries < CHECKED) {
        fprintf(stderr, "usage: seed_lagrange [S], S of at least %d\n", CHECKED);
        return 2;
    }
    for (int n = 32; n <= 320; n *= 10) {
        problem p = make(n, SERIAL_QUERIES);
        const double ms = serial_ms(&p);
        printf("%4d nodes, %8d queries, serial on the host: %.4f ms, error %.1e\n", n,
               SERIAL_QUERIES, ms, largest_error(p));
    }
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        fprintf(stderr, "seed_lagrange: no CUDA device\n");
        return 77;
    }
    bool good = true;
    for (int n = 32; n <= 320 && good; n += 32) {
        good = report(n, n_queries);
    }
    for (int s = 1000; s < n_queries && good; s *= 10) {
        good = report(32, s);
    }
    return good ? 0 : 1;
}
