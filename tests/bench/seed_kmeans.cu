/*
 * seed_kmeans - the three kernels of the study that leat's k-means grew from, rebuilt: a thread a
 * point finds the nearest centroid on the device; the labels go to the host, which makes the new
 * centroids and sends them back, ten times.
 *   naive      points in rows, centroids in device memory
 *   transpose  points and centroids column after column: neighbours read neighbours
 *   shared     and the centroids copied to shared memory by each block
 * In double. Sums on the host are taken in double, in the order of the points, so all three give
 * the same labels as the sequential program, which is timed first and checked against.
 *
 * usage: seed_kmeans [SIZE_MB COLUMNS CLUSTERS ITERATIONS], the study's 256 2 16 10. Prints, for
 * the block sizes 32 to 1024, the whole time, and of it what the device, the host and the transfers
 * take, in ms, and the ratio of the sequential time to it.
 */
#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace
{

const char *const NAMES[] = {"naive", "transpose", "shared"};
enum variant { NAIVE, TRANSPOSE, SHARED, VARIANTS };

struct problem {
    int n, d, k, iterations;
    std::vector<double> x, start;
};

struct result {
    std::vector<double> centroids;
    std::vector<int> labels;
    double total_ms, device_ms, host_ms, transfer_ms;
};

double now_ms()
{
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/* --- the device ---------------------------------------------------------------------------------
 */

/* Strides of a point, of a column of the points, of a centroid, of a column of the centroids. */
struct strides {
    int point, point_column, centroid, centroid_column;
};

__device__ int nearest(const double *x, const double *centroids, strides s, int d, int k)
{
    int label = 0;
    double least = INFINITY;
    for (int c = 0; c < k; c++) {
        double sum = 0;
        for (int j = 0; j < d; j++) {
            const double t =
                x[(size_t)j * s.point_column] - centroids[c * s.centroid + j * s.centroid_column];
            sum += t * t;
        }
        if (sum < least) {
            least = sum;
            label = c;
        }
    }
    return label;
}

__global__ void find_nearest(const double *x, const double *centroids, strides s, int n, int d,
                             int k, int *labels)
{
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < n) {
        labels[p] = nearest(x + (size_t)p * s.point, centroids, s, d, k);
    }
}

__global__ void find_nearest_shared(const double *x, const double *centroids, strides s, int n,
                                    int d, int k, int *labels)
{
    extern __shared__ double copies[];
    for (int i = threadIdx.x; i < d * k; i += blockDim.x) {
        copies[i] = centroids[i];
    }
    __syncthreads();
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p < n) {
        labels[p] = nearest(x + (size_t)p * s.point, copies, s, d, k);
    }
}

/* --- the host -----------------------------------------------------------------------------------
 */

void new_centroids(const problem &p, const std::vector<int> &labels, std::vector<double> *centroids)
{
    std::vector<double> sum((size_t)p.k * p.d, 0);
    std::vector<int> count(p.k, 0);
    for (int i = 0; i < p.n; i++) {
        count[labels[i]]++;
        for (int j = 0; j < p.d; j++) {
            sum[(size_t)labels[i] * p.d + j] += p.x[(size_t)i * p.d + j];
        }
    }
    for (int c = 0; c < p.k; c++) {
        for (int j = 0; j < p.d && count[c] > 0; j++) {
            (*centroids)[(size_t)c * p.d + j] = sum[(size_t)c * p.d + j] / count[c];
        }
    }
}

result sequential(const problem &p)
{
    result r = {p.start, std::vector<int>(p.n), 0, 0, 0, 0};
    const double begin = now_ms();
    for (int it = 0; it < p.iterations; it++) {
        for (int i = 0; i < p.n; i++) {
            double least = INFINITY;
            for (int c = 0; c < p.k; c++) {
                double sum = 0;
                for (int j = 0; j < p.d; j++) {
                    const double t = p.x[(size_t)i * p.d + j] - r.centroids[(size_t)c * p.d + j];
                    sum += t * t;
                }
                if (sum < least) {
                    least = sum;
                    r.labels[i] = c;
                }
            }
        }
        new_centroids(p, r.labels, &r.centroids);
    }
    r.total_ms = now_ms() - begin;
    return r;
}

std::vector<double> transposed(const std::vector<double> &x, int rows, int columns)
{
    std::vector<double> out(x.size());
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
            out[(size_t)j * rows + i] = x[(size_t)i * columns + j];
        }
    }
    return out;
}

/* --- a run ---------------------------------------------------------------------------------------
 */

struct buffers {
    double *x, *centroids;
    int *labels;
    cudaEvent_t start, stop;
};

cudaError_t iterate(const problem &p, variant v, int block, const buffers &b, result *r)
{
    const bool across = v != NAIVE;
    const strides s = across ? strides{1, p.n, 1, p.k} : strides{p.d, 1, p.d, 1};
    const size_t centroids_bytes = r->centroids.size() * sizeof(double);
    const int blocks = (p.n + block - 1) / block;
    double before = now_ms();
    const std::vector<double> sent = across ? transposed(r->centroids, p.k, p.d) : r->centroids;
    r->host_ms += now_ms() - before;

    before = now_ms();
    cudaError_t error =
        cudaMemcpy(b.centroids, sent.data(), centroids_bytes, cudaMemcpyHostToDevice);
    r->transfer_ms += now_ms() - before;

    float ms = 0;
    error = error == cudaSuccess ? cudaEventRecord(b.start) : error;
    if (error == cudaSuccess && v == SHARED) {
        find_nearest_shared<<<blocks, block, centroids_bytes>>>(b.x, b.centroids, s, p.n, p.d, p.k,
                                                                b.labels);
    } else if (error == cudaSuccess) {
        find_nearest<<<blocks, block>>>(b.x, b.centroids, s, p.n, p.d, p.k, b.labels);
    }
    error = error == cudaSuccess ? cudaGetLastError() : error;
    error = error == cudaSuccess ? cudaEventRecord(b.stop) : error;
    error = error == cudaSuccess ? cudaEventSynchronize(b.stop) : error;
    error = error == cudaSuccess ? cudaEventElapsedTime(&ms, b.start, b.stop) : error;
    r->device_ms += ms;

    before = now_ms();
    error = error == cudaSuccess
                ? cudaMemcpy(r->labels.data(), b.labels, r->labels.size() * sizeof(int),
                             cudaMemcpyDeviceToHost)
                : error;
    r->transfer_ms += now_ms() - before;
    if (error != cudaSuccess) {
        return error;
    }
    before = now_ms();
    new_centroids(p, r->labels, &r->centroids);
    r->host_ms += now_ms() - before;
    return cudaSuccess;
}

cudaError_t run(const problem &p, variant v, int block, const buffers &b, result *r)
{
    *r = {p.start, std::vector<int>(p.n), 0, 0, 0, 0};
    const double begin = now_ms();
    for (int it = 0; it < p.iterations; it++) {
        const cudaError_t error = iterate(p, v, block, b, r);
        if (error != cudaSuccess) {
            return error;
        }
    }
    r->total_ms = now_ms() - begin;
    return cudaSuccess;
}

double uniform(unsigned long long *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*state >> 11) * 0x1p-53;
}

problem make(int size_mb, int d, int k, int iterations)
{
    problem p = {};
    p.n = (int)(((size_t)size_mb << 20) / ((size_t)d * sizeof(double)));
    p.d = d;
    p.k = k;
    p.iterations = iterations;
    p.x.resize((size_t)p.n * d);
    unsigned long long state = 1;
    for (double &v : p.x) {
        v = 10 * uniform(&state);
    }
    p.start.assign(p.x.begin(), p.x.begin() + (ptrdiff_t)k * d);
    return p;
}

/* Of numbers between 0 and 10. */
double farthest_apart(const result &a, const result &b)
{
    double apart = 0;
    for (size_t i = 0; i < a.centroids.size(); i++) {
        const double d = std::fabs(a.centroids[i] - b.centroids[i]);
        apart = d <= apart ? apart : d == d ? d : INFINITY;
    }
    return apart;
}

bool report(const problem &p, const result &want, variant v, const buffers &b)
{
    const std::vector<double> sent = v == NAIVE ? p.x : transposed(p.x, p.n, p.d);
    cudaError_t error =
        cudaMemcpy(b.x, sent.data(), sent.size() * sizeof(double), cudaMemcpyHostToDevice);
    result r;
    error = error == cudaSuccess ? run(p, v, 256, b, &r) : error; /* warm */
    for (int block = 32; block <= 1024 && error == cudaSuccess; block *= 2) {
        error = run(p, v, block, b, &r);
        if (error == cudaSuccess && !(farthest_apart(r, want) < 1e-9)) {
            printf("%s: the centroids are not those of the sequential program\n", NAMES[v]);
            return false;
        }
        printf(
            "%-9s  block %4d  total %9.3f  device %9.3f  host %9.3f  transfer %9.3f  %6.2f times "
            "as fast\n",
            NAMES[v], block, r.total_ms, r.device_ms, r.host_ms, r.transfer_ms,
            want.total_ms / r.total_ms);
    }
    if (error != cudaSuccess) {
        printf("%s: %s\n", NAMES[v], cudaGetErrorString(error));
    }
    return error == cudaSuccess;
}

bool compare_all(const problem &p)
{
    buffers b = {};
    const bool made = cudaMalloc(&b.x, p.x.size() * sizeof(double)) == cudaSuccess &&
                      cudaMalloc(&b.centroids, p.start.size() * sizeof(double)) == cudaSuccess &&
                      cudaMalloc(&b.labels, (size_t)p.n * sizeof(int)) == cudaSuccess &&
                      cudaEventCreate(&b.start) == cudaSuccess &&
                      cudaEventCreate(&b.stop) == cudaSuccess;
    bool good = made;
    if (made) {
        const result want = sequential(p);
        printf("%d x %d, %d clusters, %d iterations, ms\nsequential            total %9.3f\n", p.n,
               p.d, p.k, p.iterations, want.total_ms);
        for (int v = 0; v < VARIANTS; v++) {
            good = report(p, want, (variant)v, b) && good;
        }
    } else {
        printf("seed_kmeans: %s\n", cudaGetErrorString(cudaGetLastError()));
    }
    cudaFree(b.x);
    cudaFree(b.centroids);
    cudaFree(b.labels);
    return good;
}

} // namespace

int main(int argc, char **argv)
{
    const int size_mb = argc > 1 ? atoi(argv[1]) : 256, d = argc > 2 ? atoi(argv[2]) : 2;
    const int k = argc > 3 ? atoi(argv[3]) : 16, iterations = argc > 4 ? atoi(argv[4]) : 10;
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        fprintf(stderr, "seed_kmeans: no CUDA device\n");
        return 77;
    }
    if (size_mb < 1 || size_mb > 8192 || d < 1 || d > 256 || k < 1 || k > 64 || d * k > 4096 ||
        iterations < 1) {
        fprintf(stderr, "usage: seed_kmeans [SIZE_MB COLUMNS CLUSTERS ITERATIONS], CLUSTERS up to "
                        "64 and COLUMNS x CLUSTERS up to 4096\n");
        return 2;
    }
    return compare_all(make(size_mb, d, k, iterations)) ? 0 : 1;
}
