/*
 * seed_sciddicat - the automaton as the paper that leat starts from has it (G. Andronico,
 * "Parallelizzazione CUDA/MPI di sciddicaT", 2021), written anew: baselines for kernels/cuda.
 *
 * Three kernels a step over the whole grid: flows to zero, flows out of every cell, new thickness;
 * four layers of flows in device memory. Four ways to give cells to threads:
 *   monolithic   a thread a cell
 *   grid-stride  a fixed number of blocks whose threads step through the grid
 *   tiled        a block's cells in shared memory, others read from device memory
 *   with halo    and the four rows around the block's cells too
 *
 * seed_sciddicat [DEM.asc SOURCE.asc [STEPS]]; without files, a slope of the same size with a heap
 * on it. seed_sciddicat large: 200 steps of 4096 x 4096 cells with 40 heaps, 0.5 % of them. Prints
 * milliseconds (median of five runs) and the hash (FNV-1a) of the final thickness, which must be
 * the same in every line.
 */
#include <algorithm>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

namespace
{

const double EPSILON = 0.001, PR = 0.5;
const int RUNS = 5;

struct grid {
    int rows, columns;
    const double *z;
    double *h, *f; /* f: layers to N, W, E, S */
};

__device__ bool interior(const grid &g, int i, int j)
{
    return i > 0 && j > 0 && i < g.rows - 1 && j < g.columns - 1;
}

/* The flows of cell k; u: z + h of N, W, E, S. */
__device__ void outflow(const grid &g, int k, double z, double h, const double *level)
{
    const int cells = g.rows * g.columns;
    double u[5] = {__dadd_rn(z, EPSILON), level[0], level[1], level[2], level[3]}, average;
    bool out[5] = {false, false, false, false, false}, again;
    do {
        int count = 0;
        again = false;
        average = __dsub_rn(h, EPSILON);
        for (int n = 0; n < 5; n++) {
            if (!out[n]) {
                average = __dadd_rn(average, u[n]);
                count++;
            }
        }
        if (count != 0) {
            average = __ddiv_rn(average, (double)count);
        }
        for (int n = 0; n < 5; n++) {
            if (!out[n] && average <= u[n]) {
                out[n] = true;
                again = true;
            }
        }
    } while (again);
    for (int n = 1; n < 5; n++) {
        if (!out[n]) {
            g.f[(n - 1) * cells + k] = __dmul_rn(__dsub_rn(average, u[n]), PR);
        }
    }
}

__device__ double thickness(double h, const double *in, const double *out)
{
    for (int n = 0; n < 4; n++) {
        h = __dadd_rn(h, __dsub_rn(in[n], out[n]));
    }
    return h;
}

/* --- whole grid in device memory: monolithic and grid-stride -------------------------------------
 */

__device__ void reset_cell(const grid &g, int i, int j)
{
    const int cells = g.rows * g.columns, k = i * g.columns + j;
    for (int n = 0; n < 4; n++) {
        g.f[n * cells + k] = 0;
    }
}

__device__ void flows_cell(const grid &g, int i, int j)
{
    const int k = i * g.columns + j, c = g.columns;
    if (interior(g, i, j) && g.h[k] > EPSILON) {
        const double level[4] = {
            __dadd_rn(g.z[k - c], g.h[k - c]), __dadd_rn(g.z[k - 1], g.h[k - 1]),
            __dadd_rn(g.z[k + 1], g.h[k + 1]), __dadd_rn(g.z[k + c], g.h[k + c])};
        outflow(g, k, g.z[k], g.h[k], level);
    }
}

__device__ void width_cell(const grid &g, int i, int j)
{
    const int cells = g.rows * g.columns, k = i * g.columns + j;
    if (interior(g, i, j)) {
        const double in[4] = {g.f[3 * cells + k - g.columns], g.f[2 * cells + k - 1],
                              g.f[1 * cells + k + 1], g.f[k + g.columns]};
        const double out[4] = {g.f[k], g.f[cells + k], g.f[2 * cells + k], g.f[3 * cells + k]};
        g.h[k] = thickness(g.h[k], in, out);
    }
}

enum pass { RESET, FLOWS, WIDTH };

template <pass P> __device__ void cell(const grid &g, int i, int j)
{
    if (P == RESET) {
        reset_cell(g, i, j);
    } else if (P == FLOWS) {
        flows_cell(g, i, j);
    } else {
        width_cell(g, i, j);
    }
}

template <pass P> __global__ void monolithic(grid g)
{
    const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < g.rows && j < g.columns) {
        cell<P>(g, i, j);
    }
}

template <pass P> __global__ void grid_stride(grid g)
{
    for (int i = blockIdx.y * blockDim.y + threadIdx.y; i < g.rows; i += gridDim.y * blockDim.y) {
        for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < g.columns;
             j += gridDim.x * blockDim.x) {
            cell<P>(g, i, j);
        }
    }
}

/* --- tiles --------------------------------------------------------------------------------------
 */

/* A layer of the block's cells in shared memory; with HALO also those around them, each read by the
 * thread at the edge. */
template <int TILE, bool HALO> struct tile {
    double at[TILE][TILE], north[TILE], south[TILE], west[TILE], east[TILE];

    __device__ void load(const grid &g, const double *from, int i, int j)
    {
        const int y = threadIdx.y, x = threadIdx.x, k = i * g.columns + j;
        const bool inside = i < g.rows && j < g.columns;
        at[y][x] = inside ? from[k] : 0;
        if (HALO && inside && interior(g, i, j)) {
            if (y == 0) {
                north[x] = from[k - g.columns];
            }
            if (y == TILE - 1) {
                south[x] = from[k + g.columns];
            }
            if (x == 0) {
                west[y] = from[k - 1];
            }
            if (x == TILE - 1) {
                east[y] = from[k + 1];
            }
        }
    }

    /* The value dy rows and dx columns away from the thread's cell, which is k of the grid. */
    __device__ double get(const grid &g, const double *from, int k, int dy, int dx) const
    {
        const int y = (int)threadIdx.y + dy, x = (int)threadIdx.x + dx;
        if (y >= 0 && x >= 0 && y < TILE && x < TILE) {
            return at[y][x];
        }
        if (!HALO) {
            return from[k + dy * g.columns + dx];
        }
        return y < 0 ? north[x] : y >= TILE ? south[x] : x < 0 ? west[y] : east[y];
    }
};

template <int TILE, bool HALO> __global__ void tiled_flows(grid g)
{
    __shared__ tile<TILE, HALO> z, h;
    const int i = blockIdx.y * TILE + threadIdx.y, j = blockIdx.x * TILE + threadIdx.x;
    const int k = i * g.columns + j, dy[4] = {-1, 0, 0, 1}, dx[4] = {0, -1, 1, 0};
    z.load(g, g.z, i, j);
    h.load(g, g.h, i, j);
    __syncthreads();
    if (i < g.rows && j < g.columns && interior(g, i, j) && h.get(g, g.h, k, 0, 0) > EPSILON) {
        double level[4];
        for (int n = 0; n < 4; n++) {
            level[n] = __dadd_rn(z.get(g, g.z, k, dy[n], dx[n]), h.get(g, g.h, k, dy[n], dx[n]));
        }
        outflow(g, k, z.get(g, g.z, k, 0, 0), h.get(g, g.h, k, 0, 0), level);
    }
}

template <int TILE, bool HALO> __global__ void tiled_width(grid g)
{
    __shared__ tile<TILE, HALO> f[4];
    const int i = blockIdx.y * TILE + threadIdx.y, j = blockIdx.x * TILE + threadIdx.x;
    const int cells = g.rows * g.columns, k = i * g.columns + j;
    const int dy[4] = {-1, 0, 0, 1}, dx[4] = {0, -1, 1, 0};
    for (int n = 0; n < 4; n++) {
        f[n].load(g, g.f + n * cells, i, j);
    }
    __syncthreads();
    if (i < g.rows && j < g.columns && interior(g, i, j)) {
        double in[4], out[4];
        for (int n = 0; n < 4; n++) {
            in[n] = f[3 - n].get(g, g.f + (3 - n) * cells, k, dy[n], dx[n]);
            out[n] = f[n].get(g, g.f + n * cells, k, 0, 0);
        }
        g.h[k] = thickness(g.h[k], in, out);
    }
}

/* --- runs ---------------------------------------------------------------------------------------
 */

void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "seed_sciddicat: %s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

struct variant {
    const char *name;
    int side;    /* of a block */
    int divisor; /* of the grid of blocks, for grid-stride */
    void (*reset)(grid);
    void (*flows)(grid);
    void (*width)(grid);
};

const variant variants[] = {
    {"monolithic", 8, 1, monolithic<RESET>, monolithic<FLOWS>, monolithic<WIDTH>},
    {"monolithic", 16, 1, monolithic<RESET>, monolithic<FLOWS>, monolithic<WIDTH>},
    {"grid-stride", 8, 2, grid_stride<RESET>, grid_stride<FLOWS>, grid_stride<WIDTH>},
    {"grid-stride", 16, 2, grid_stride<RESET>, grid_stride<FLOWS>, grid_stride<WIDTH>},
    {"tiled", 8, 1, monolithic<RESET>, tiled_flows<8, false>, tiled_width<8, false>},
    {"tiled", 16, 1, monolithic<RESET>, tiled_flows<16, false>, tiled_width<16, false>},
    {"with halo", 8, 1, monolithic<RESET>, tiled_flows<8, true>, tiled_width<8, true>},
    {"with halo", 16, 1, monolithic<RESET>, tiled_flows<16, true>, tiled_width<16, true>},
};

struct input {
    int rows, columns;
    std::vector<double> z, h;
};

float run(const variant &v, const grid &g, const input &in, int steps)
{
    const dim3 block(v.side, v.side);
    const int across = v.side * v.divisor;
    const dim3 blocks((g.columns + across - 1) / across, (g.rows + across - 1) / across);
    cudaEvent_t start, stop;
    float ms = 0;
    check(cudaMemcpy(g.h, in.h.data(), in.h.size() * sizeof(double), cudaMemcpyHostToDevice), "h");
    check(cudaEventCreate(&start), "event");
    check(cudaEventCreate(&stop), "event");
    check(cudaEventRecord(start), "event");
    for (int s = 0; s < steps; s++) {
        v.reset<<<blocks, block>>>(g);
        v.flows<<<blocks, block>>>(g);
        v.width<<<blocks, block>>>(g);
    }
    check(cudaGetLastError(), v.name);
    check(cudaEventRecord(stop), "event");
    check(cudaEventSynchronize(stop), v.name);
    check(cudaEventElapsedTime(&ms, start, stop), "event");
    check(cudaEventDestroy(start), "event");
    check(cudaEventDestroy(stop), "event");
    return ms;
}

uint64_t hash_of(const std::vector<double> &h)
{
    uint64_t hash = 1469598103934665603u;
    const unsigned char *bytes = (const unsigned char *)h.data();
    for (size_t k = 0; k < h.size() * sizeof(double); k++) {
        hash = (hash ^ bytes[k]) * 1099511628211u;
    }
    return hash;
}

bool read_asc(const char *name, input *in, std::vector<double> *to)
{
    FILE *f = fopen(name, "r");
    char key[32];
    double value;
    for (int line = 0; f != nullptr && line < 6; line++) {
        if (fscanf(f, "%31s %lf", key, &value) != 2) {
            return false;
        }
        in->columns = strcmp(key, "ncols") == 0 ? (int)value : in->columns;
        in->rows = strcmp(key, "nrows") == 0 ? (int)value : in->rows;
    }
    while (f != nullptr && to->size() < (size_t)in->rows * in->columns &&
           fscanf(f, "%lf", &value) == 1) {
        to->push_back(value);
    }
    if (f != nullptr) {
        fclose(f);
    }
    return f != nullptr && to->size() == (size_t)in->rows * in->columns;
}

/* Heaps of `height` by `width` cells, `apart` from each other, the first at (60, 238). */
struct heaps {
    int count, across, height, width, apart;
};

input slope(int rows, int columns, const heaps &p)
{
    input in = {rows, columns, {}, {}};
    for (int i = 0; i < in.rows; i++) {
        for (int j = 0; j < in.columns; j++) {
            in.z.push_back(1000 - 0.75 * i + (i * 7 + j * 13) % 5 * 0.25 + 0.015625 * abs(j - 248));
            const int y = i - 60, x = j - 238;
            const bool heap = y >= 0 && x >= 0 && y % p.apart < p.height && x % p.apart < p.width &&
                              x / p.apart < p.across && y / p.apart < p.count / p.across;
            in.h.push_back(heap ? 8 : 0);
        }
    }
    return in;
}

} // namespace

int main(int argc, char **argv)
{
    input in = {};
    const bool large = argc == 2 && strcmp(argv[1], "large") == 0;
    const int steps = argc > 3 ? atoi(argv[3]) : large ? 200 : 4000;
    if (large) {
        in = slope(4096, 4096, {40, 8, 46, 46, 420});
    } else if (argc < 3) {
        in = slope(610, 496, {1, 1, 35, 20, 1000});
    } else if (!read_asc(argv[1], &in, &in.z) || !read_asc(argv[2], &in, &in.h)) {
        fprintf(stderr, "seed_sciddicat: %s and %s are no grids of one shape\n", argv[1], argv[2]);
        return 2;
    }
    for (int i = 1; i < in.rows - 1; i++) {
        for (int j = 1; j < in.columns - 1; j++) {
            const size_t k = (size_t)i * in.columns + j;
            in.z[k] -= in.h[k] > 0 ? in.h[k] : 0;
        }
    }
    const size_t bytes = in.z.size() * sizeof(double);
    double *z, *h, *f;
    if (cudaMalloc(&z, bytes) != cudaSuccess) {
        fprintf(stderr, "SKIPPED: no CUDA device\n");
        return 77;
    }
    check(cudaMalloc(&h, bytes), "h");
    check(cudaMalloc(&f, 4 * bytes), "flows");
    check(cudaMemcpy(z, in.z.data(), bytes, cudaMemcpyHostToDevice), "z");
    const grid g = {in.rows, in.columns, z, h, f};
    uint64_t first = 0;
    bool same = true;
    printf("%d x %d, %d steps\n", in.rows, in.columns, steps);
    for (const variant &v : variants) {
        std::vector<float> ms;
        std::vector<double> end(in.h.size());
        for (int n = 0; n < RUNS; n++) {
            ms.push_back(run(v, g, in, steps));
        }
        check(cudaMemcpy(end.data(), h, bytes, cudaMemcpyDeviceToHost), "h");
        const uint64_t hash = hash_of(end);
        first = &v == variants ? hash : first;
        same = same && hash == first;
        std::sort(ms.begin(), ms.end());
        printf("%-12s %2dx%-2d %9.2f ms  %016llx\n", v.name, v.side, v.side, ms[RUNS / 2],
               (unsigned long long)hash);
    }
    cudaFree(z);
    cudaFree(h);
    cudaFree(f);
    return same ? 0 : 1;
}
