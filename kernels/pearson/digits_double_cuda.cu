/*
 * digits_double_cuda - the tiles of exact coefficients for which products of digits leave out too
 * much (long series, of which a few samples outweigh the rest): in double, from the standardized
 * series themselves.
 *
 * A block a tile, the tiles being those of digits_wgmma_cuda.cu. It reads the last remainder of the
 * tile's 224 series and ends at once where digits are enough, so that the host need not know. Else
 * eight warps take 32 x 48 elements each, in matrix instructions of 8 x 8 x 4 doubles; STEP_K
 * samples of all series lie in shared memory while the next ones are on their way.
 *
 * Flops: 2 * 128 * 96 * N a tile. Bytes: a tile that digits have taken costs 7 KiB, 32 bytes of
 * each series: 84 MB for 16384 series, which take 74 ms. Up to DIGITS_EXACT_SAMPLES it is not
 * launched.
 * Error: sums of SLICE terms within norm 1 that are then added up are off by
 * (SLICE + N / SLICE) 2^-53 at most, 2.3e-13 for 2^20 samples; with the roundings of z and of the
 * norms (digits_cuda.h) 2.5e-13. 2^22 samples keep 6.1e-13.
 */
#include "kernels/pearson/digits_cuda.h"
#include "kernels/pearson/pearson_cuda.h"

namespace
{

const int THREADS = 256;
const int STEP_K = 16; /* samples in shared memory; rows of z are padded to multiples of it */
const int PITCH = STEP_K + 4; /* doubles from row to row there: a fragment's lie in banks apart */
const int SLICE = 1024;       /* terms of a sum that is then added to the others */
const int WARP_A = 32, WARP_B = 48; /* rows and columns of a warp */
const int FRAGMENTS_A = WARP_A / 8, FRAGMENTS_B = WARP_B / 8;
const int ROWS = (int)TILE_A + (int)TILE_B;
/* Pairs of doubles that a thread fetches of a step, and the rows that all threads fetch at once. */
const int LOADS = ROWS * STEP_K / 2 / THREADS, ROWS_OF_LOAD = THREADS * 2 / STEP_K;
static_assert(LOADS * ROWS_OF_LOAD == ROWS && TILE_A % ROWS_OF_LOAD == 0, "whole loads");
static_assert(SLICE % STEP_K == 0, "whole slices");
static_assert(TILE_A / WARP_A * (TILE_B / WARP_B) * 32 == THREADS, "whole warps");

struct double_args {
    const char *za, *zb; /* the first rows: doubles, digits, tail */
    size_t row_bytes, tail_at;
    size_t doubles; /* of a row, padding counted */
    size_t first_a, n_a, first_b, n_b;
    double *r;
    size_t width;
    float bound;
};

struct double_shared {
    alignas(16) double z[ROWS * PITCH]; /* rows of a, then those of b */
    double scale[ROWS];
    int residual[2]; /* the largest of a and of b, as the bits of non-negative floats */
};

/* Where the tile begins. */
struct double_tile {
    size_t a, b;
};

/* Row `row` of the tile's 224; NULL where the panel has none. */
__device__ __forceinline__ const char *row_of(const double_args &args, const double_tile &tile,
                                              int row)
{
    const bool of_a = row < TILE_A;
    const size_t at = of_a ? tile.a + row : tile.b + (row - TILE_A);
    return at < (of_a ? args.n_a : args.n_b) ? (of_a ? args.za : args.zb) + at * args.row_bytes
                                             : nullptr;
}

/* c += a b', 8 x 8 x 4. A lane has a[lane / 4][lane % 4], b likewise, and of c row lane / 4 and the
 * columns lane % 4 * 2 and the next. */
__device__ __forceinline__ void multiply_doubles(double (&c)[2], double a, double b)
{
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a), "d"(b));
}

/* Scales of the tile's series into shared memory; true, for all threads, when digits are enough. */
__device__ __forceinline__ bool digits_suffice(const double_args &args, const double_tile &tile,
                                               double_shared *shared)
{
    const int row = threadIdx.x;
    if (row < 2) {
        shared->residual[row] = 0;
    }
    __syncthreads();
    if (row < ROWS) {
        const char *z = row_of(args, tile, row);
        struct digits_tail tail = {};
        if (z != nullptr) {
            tail = *(const struct digits_tail *)(z + args.tail_at);
        }
        shared->scale[row] = tail.scale;
        atomicMax(&shared->residual[row < TILE_A ? 0 : 1],
                  __float_as_int(tail.residual[DIGITS_LONG - 1]));
    }
    __syncthreads();
    return digits_left_out_by_all(__int_as_float(shared->residual[0]),
                                  __int_as_float(shared->residual[1])) <= args.bound;
}

/* A thread's share of samples [k, k + STEP_K) of the tile's series. */
__device__ __forceinline__ void fetch(const char *const (&rows)[LOADS], size_t k,
                                      double2 (&next)[LOADS])
{
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        next[i] = rows[i] != nullptr ? ((const double2 *)((const double *)rows[i] + k))[0]
                                     : make_double2(0, 0);
    }
}

__device__ __forceinline__ void multiply_step(const double_shared *shared, int in_a, int in_b,
                                              double (&acc)[FRAGMENTS_A][FRAGMENTS_B][2])
{
    const int lane = threadIdx.x % 32;
    const double *a_at = shared->z + (in_a + lane / 4) * PITCH + lane % 4;
    const double *b_at = shared->z + (TILE_A + in_b + lane / 4) * PITCH + lane % 4;
#pragma unroll
    for (int k = 0; k < STEP_K; k += 4) {
        double a[FRAGMENTS_A], b[FRAGMENTS_B];
#pragma unroll
        for (int i = 0; i < FRAGMENTS_A; i++) {
            a[i] = a_at[8 * i * PITCH + k];
        }
#pragma unroll
        for (int j = 0; j < FRAGMENTS_B; j++) {
            b[j] = b_at[8 * j * PITCH + k];
        }
#pragma unroll
        for (int i = 0; i < FRAGMENTS_A; i++) {
#pragma unroll
            for (int j = 0; j < FRAGMENTS_B; j++) {
                multiply_doubles(acc[i][j], a[i], b[j]);
            }
        }
    }
}

/* Adds the sums of a slice to the elements below the diagonal, where the earlier slices lie, and
 * clears them; after the last slice the elements are clamped, or NaN. */
__device__ __forceinline__ void add_slice(const double_args &args, const double_tile &tile,
                                          const double_shared *shared, int in_a, int in_b,
                                          double (&acc)[FRAGMENTS_A][FRAGMENTS_B][2], bool first,
                                          bool last)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < FRAGMENTS_A; i++) {
        const int row = in_a + 8 * i + lane / 4;
        const size_t a = tile.a + row;
#pragma unroll
        for (int e = 0; e < 2 * FRAGMENTS_B; e++) {
            const int column = in_b + e / 2 * 8 + lane % 4 * 2 + e % 2;
            const size_t b = tile.b + column;
            double *r = args.r + a * args.width + args.first_b + b;
            if (a < args.n_a && b < args.n_b && args.first_b + b < args.first_a + a) {
                double v = first ? acc[i][e / 2][e % 2] : r[0] + acc[i][e / 2][e % 2];
                if (last) {
                    const double scale = shared->scale[row] * shared->scale[TILE_A + column];
                    v = scale == scale ? fmin(fmax(v, -1.0), 1.0) : (double)NAN;
                }
                r[0] = v;
            }
            acc[i][e / 2][e % 2] = 0;
        }
    }
}

__global__ void __launch_bounds__(THREADS, 1) take_tiles(const double_args args)
{
    __shared__ double_shared shared;
    const size_t tiles_b = (args.n_b + TILE_B - 1) / TILE_B;
    const double_tile tile = {blockIdx.x / tiles_b * TILE_A, blockIdx.x % tiles_b * TILE_B};
    const size_t end_a = tile.a + TILE_A < args.n_a ? tile.a + TILE_A : args.n_a;
    if (args.first_b + tile.b >= args.first_a + end_a - 1) {
        return; /* nothing below the diagonal */
    }
    if (digits_suffice(args, tile, &shared)) {
        return;
    }
    const int warp = threadIdx.x / 32, to_row = threadIdx.x / (STEP_K / 2),
              to_k = threadIdx.x % (STEP_K / 2) * 2;
    const int in_a = warp % (TILE_A / WARP_A) * WARP_A, in_b = warp / (TILE_A / WARP_A) * WARP_B;
    const char *rows[LOADS];
    double2 next[LOADS];
    double acc[FRAGMENTS_A][FRAGMENTS_B][2] = {};
#pragma unroll
    for (int i = 0; i < LOADS; i++) {
        rows[i] = row_of(args, tile, to_row + i * ROWS_OF_LOAD);
    }
    fetch(rows, to_k, next);
    for (size_t k = 0; k < args.doubles; k += STEP_K) {
        __syncthreads(); /* the step before has been read */
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            *(double2 *)(shared.z + (to_row + i * ROWS_OF_LOAD) * PITCH + to_k) = next[i];
        }
        __syncthreads();
        const size_t after = k + STEP_K;
        const bool last = after >= args.doubles;
        if (!last) {
            fetch(rows, after + to_k, next);
        }
        multiply_step(&shared, in_a, in_b, acc);
        if (last || after % SLICE == 0) {
            add_slice(args, tile, &shared, in_a, in_b, acc, k < SLICE, last);
        }
    }
}

} // namespace

enum status cuda_digits_double(const struct pearson_panel *p, const struct cuda_z_form &form,
                               cudaStream_t stream)
{
    double_args args = {};
    args.za = (const char *)p->a.z.at;
    args.zb = (const char *)p->b.z.at;
    args.row_bytes = form.bytes;
    args.tail_at = form.digits_at + (size_t)form.planes * digits_plane_bytes(p->n_samples);
    args.doubles = form.doubles;
    args.first_a = p->a.first;
    args.n_a = p->a.n;
    args.first_b = p->b.first;
    args.n_b = p->b.n;
    args.r = (double *)p->r.at;
    args.width = p->width;
    args.bound = (float)DIGITS_EXACT_BOUND;
    const size_t tiles = cuda_pieces(p->a.n, TILE_A) * cuda_pieces(p->b.n, TILE_B);
    take_tiles<<<(unsigned)tiles, THREADS, 0, stream>>>(args);
    return cuda_launched("coefficients in double");
}
