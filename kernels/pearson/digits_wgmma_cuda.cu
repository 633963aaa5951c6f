/*
 * digits_wgmma_cuda - products of digits for compute capability 9.0: warpgroup matrix instructions
 * fed by the bulk tensor copy engine.
 *
 * Mapping: a block takes a tile of 128 rows (series j) by 96 columns (series i). One warpgroup
 * copies, two multiply, 64 rows each. The unit of the copies is a slot: 64 samples of one digit of
 * the tile's 224 series (14 KiB, swizzled by 64 bytes); sixteen slots form a ring. A sweep over the
 * samples takes the products of up to four orders k + l, an accumulator each (192 registers of a
 * thread): for every 64 samples the digits it needs lie in consecutive slots, and every pair of
 * them is multiplied while they are there. 3 digits give 8 products for one read of each, 6 digits
 * 18; that is what keeps the demand on the second-level cache (some 25 to 30 bytes a cycle and
 * multiprocessor) below what it can give. Tiles that need more orders take several sweeps, the
 * highest orders first, and add in the result.
 *
 * Long series are cut into chunks, whose sums of integers are exact; their values are added in
 * double. When there are few tiles, chunks are shorter, and several blocks take the chunks of a
 * tile.
 *
 * A tile of exact coefficients that no products of digits keep within the bound is left out here,
 * and taken by the kernel that follows (digits_double_cuda.cu).
 *
 * Operations: 2 * 128 * 96 * N a product and tile. Bytes: each slot from the second-level cache.
 */
#include "kernels/pearson/digits_cuda.h"
#include "kernels/pearson/pearson_cuda.h"
#include "kernels/pearson/sweep_cuda.h"

#include <cudaTypedefs.h>
#include <stdlib.h>
#include <string.h>

namespace
{

enum {
    THREADS = 384,
    GROUP = 8 /* rows of tiles that are taken together, for the cache */
};

/* What the tiles of a matrix may take, by precision: which sweeps, see digits_cuda.h. */
enum tile_step { STEP_6, STEP_8, STEP_16, STEP_21, STEP_26, STEP_36, STEP_DOUBLE };

/* Blocks that a launch should have for every multiprocessor to have work; fixed, so that the sums
 * depend on the shape alone. */
const size_t WANTED_BLOCKS = 132, LEAST_CHUNK = 1024;

struct tile_args {
    const char *tails_a, *tails_b; /* of the first rows */
    size_t row_bytes;
    size_t n_samples, chunk, n_chunks;
    size_t first_a, n_a, first_b, n_b;
    void *r; /* f64 for exact products, else f32 */
    size_t width;
    double *partial; /* NULL: straight to r; else [gridDim.y][n_a][n_b] sums */
    float bound;
    bool doubles_follow; /* the kernel that takes what is left out */
};

struct tile_shared {
    double scale_a[TILE_A], scale_b[TILE_B];
    int rest_a[DIGITS_LONG], rest_b[DIGITS_LONG]; /* maxima, as the bits of non-negative floats */
    struct sweep_barriers barriers;
};

__device__ __forceinline__ size_t lesser_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* --- results --------------------------------------------------------------------------------- */

__device__ __forceinline__ double clamped(double r)
{
    return r > 1 ? 1 : (r < -1 ? -1 : r);
}

/* In units of the order 0. */
template <typename O>
__device__ __forceinline__ double value_of(const int (&acc)[ACCUMULATORS][N_ACC], int at)
{
    double v = (double)acc[O::count - 1][at];
#pragma unroll
    for (int o = O::count - 2; o >= 0; o--) {
        v = fma(v, 0x1p-8, (double)acc[o][at]);
    }
    return v * O::unit();
}

/* Thread t of a warpgroup has, for every eight columns, two neighbours in row t / 4 % 8 + 16 warp
 * and two in the row eight further down. `add`: to what an earlier sweep has left there. */
template <typename R, typename O>
__device__ __forceinline__ void store(const tile_args &args, const tile_shared *shared,
                                      const tile_place &tile, const int (&acc)[ACCUMULATORS][N_ACC],
                                      bool add)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 - 4;
    const int column = lane % 4 * 2, columns = (int)args.n_b - tile.row_b - column;
    const double *scale_b = shared->scale_b + column;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int in_a = warp * 16 + lane / 4 + 8 * half;
        const size_t a = tile.row_a + in_a;
        if (a >= args.n_a) {
            continue;
        }
        const double scale_a = shared->scale_a[in_a];
        const size_t b = tile.row_b + column;
        R *r = (R *)args.r + a * args.width + args.first_b + b;
        double *sum = args.partial + (blockIdx.y * args.n_a + a) * args.n_b + b;
        const bool direct = args.partial == nullptr;
#pragma unroll
        for (int k = 0; k < N_ACC / 2; k++) {
            const int at = k / 2 * 8 + k % 2;
            const double v =
                value_of<O>(acc, k / 2 * 4 + half * 2 + k % 2) * (scale_a * scale_b[at]);
            if (at < columns && direct) {
                r[at] = (R)clamped(add ? v + (double)r[at] : v);
            } else if (at < columns) {
                sum[at] = add ? v + sum[at] : v;
            }
        }
    }
}

/* --- the tile -------------------------------------------------------------------------------- */

/* Scales of the tile's series, and the largest of each of their remainders. */
__device__ __forceinline__ void read_tails(const tile_args &args, tile_shared *shared,
                                           const tile_place &tile)
{
    const int t = threadIdx.x;
    const bool of_a = t < TILE_A;
    const int in_tile = of_a ? t : t - TILE_A;
    const size_t row = (of_a ? tile.row_a : tile.row_b) + in_tile;
    struct digits_tail tail = {};
    if (t < TILE_A + TILE_B) {
        if (row < (of_a ? args.n_a : args.n_b)) {
            tail = *(const struct digits_tail *)((of_a ? args.tails_a : args.tails_b) +
                                                 row * args.row_bytes);
        }
        (of_a ? shared->scale_a : shared->scale_b)[in_tile] = tail.scale;
        for (int k = 0; k < DIGITS_LONG; k++) {
            const int most = __reduce_max_sync(0xffffffffu, __float_as_int(tail.residual[k]));
            if (t % 32 == 0) {
                atomicMax(&(of_a ? shared->rest_a : shared->rest_b)[k], most);
            }
        }
    }
}

/* For the 2^20 samples of pearson_bound(), of any kind, STEP_16 needs no look at the remainders. */
static_assert(DIGITS_LEFT_OF_16 * DIGITS_LEFT_OF_16 * 0x1p20 <= DIGITS_F32_BOUND * DIGITS_F32_BOUND,
              "16 products leave out more than the bound of f32");

/* The fewest products that stay within the bound; those of f32 and more than 2^22 - 2^18 samples
 * may exceed it where a row is little but a spike. */
template <typename R>
__device__ __forceinline__ enum tile_step choose_step(const tile_args &args,
                                                      const tile_shared *shared)
{
    float a[DIGITS_LONG], b[DIGITS_LONG];
    for (int k = 0; k < DIGITS_LONG; k++) {
        a[k] = __int_as_float(shared->rest_a[k]);
        b[k] = __int_as_float(shared->rest_b[k]);
    }
    if (sizeof(R) == sizeof(double)) {
        if (digits_left_out<6, 5>(a, b) <= args.bound) {
            return STEP_21;
        }
        if (digits_left_out<6, 6>(a, b) <= args.bound) {
            return STEP_26;
        }
        const bool enough =
            digits_left_out_by_all(a[DIGITS_LONG - 1], b[DIGITS_LONG - 1]) <= args.bound;
        return enough || !args.doubles_follow ? STEP_36 : STEP_DOUBLE;
    }
    if (digits_left_out<3, 2>(a, b) <= args.bound) {
        return STEP_6;
    }
    return digits_left_out<3, 3>(a, b) <= args.bound ? STEP_8 : STEP_16;
}

/* What both kinds of warpgroup do of a sweep. */
struct copier {
    sweep_barriers *barriers;
    uint32_t ring;
    const CUtensorMap *map_a, *map_b;
    ring_place *place;
    template <typename O> __device__ __forceinline__ void sweep(const tile_place &tile, bool) const
    {
        produce<O>(barriers, ring, place, map_a, map_b, tile);
    }
};

template <typename R> struct multiplier {
    const tile_args &args;
    tile_shared *shared;
    uint64_t a, b;
    ring_place *place;
    template <typename O>
    __device__ __forceinline__ void sweep(const tile_place &tile, bool add) const
    {
        int acc[ACCUMULATORS][N_ACC];
        consume<O>(&shared->barriers, place, acc, a, b, tile);
        store<R, O>(args, shared, tile, acc, add);
    }
};

/* The sweeps of a chunk of the tile; `add`: to the chunks before. */
template <typename R, typename W>
__device__ __forceinline__ void take_chunk(const W &worker, enum tile_step step,
                                           const tile_place &tile, bool add)
{
    if (sizeof(R) == sizeof(double)) {
        if (step == STEP_21) {
            worker.template sweep<orders<2, 5, 6>>(tile, add);
            worker.template sweep<orders<0, 1, 2>>(tile, true);
            return;
        }
        if (step == STEP_36) {
            worker.template sweep<orders<7, 10, 6>>(tile, add);
        }
        worker.template sweep<orders<3, 6, 6>>(tile, add || step == STEP_36);
        worker.template sweep<orders<0, 2, 3>>(tile, true);
        return;
    }
    if (step == STEP_8) {
        worker.template sweep<orders<0, 3, 3>>(tile, add);
        return;
    }
    if (step == STEP_16) {
        worker.template sweep<orders<3, 6, 4>>(tile, add);
    }
    worker.template sweep<orders<0, 2, 3>>(tile, add || step == STEP_16);
}

template <typename R, typename W>
__device__ __forceinline__ void take_chunks(const tile_args &args, const W &worker,
                                            enum tile_step step, tile_place tile)
{
    for (size_t c = blockIdx.y; c < args.n_chunks; c += gridDim.y) {
        tile.k_first = c * args.chunk;
        tile.k_end = lesser_size(args.n_samples, tile.k_first + args.chunk);
        take_chunk<R>(worker, step, tile, c > blockIdx.y);
    }
}

/* Tile (a, b) of the block: GROUP rows of tiles at a time, column by column. */
__device__ __forceinline__ void find_tile(const tile_args &args, tile_place *tile)
{
    const uint32_t n_a = (uint32_t)((args.n_a + TILE_A - 1) / TILE_A);
    const uint32_t n_b = (uint32_t)((args.n_b + TILE_B - 1) / TILE_B);
    const uint32_t group = blockIdx.x / (GROUP * n_b), within = blockIdx.x % (GROUP * n_b);
    const uint32_t rows = min((uint32_t)GROUP, n_a - group * GROUP);
    tile->row_a = (int)((group * GROUP + within % rows) * TILE_A);
    tile->row_b = (int)(within / rows * TILE_B);
}

template <typename R>
__global__ void __launch_bounds__(THREADS, 1)
    digit_products(const __grid_constant__ CUtensorMap map_a,
                   const __grid_constant__ CUtensorMap map_b, const tile_args args)
{
    extern __shared__ char dynamic[];
    __shared__ tile_shared shared;
    const uint32_t ring = (shared_address(dynamic) + RING_ALIGNMENT - 1) & ~(RING_ALIGNMENT - 1u);
    tile_place tile = {};
    find_tile(args, &tile);
    const size_t last_a = lesser_size((size_t)tile.row_a + TILE_A, args.n_a) - 1;
    if (args.first_b + tile.row_b >= args.first_a + last_a) {
        return; /* nothing below the diagonal */
    }
    if (threadIdx.x == 0) {
        for (int s = 0; s < SLOTS; s++) {
            barrier_init(&shared.barriers.full[s], 1);
            barrier_init(&shared.barriers.empty[s], 2);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    if (threadIdx.x < DIGITS_LONG) {
        shared.rest_a[threadIdx.x] = shared.rest_b[threadIdx.x] = 0;
    }
    __syncthreads();
    read_tails(args, &shared, tile);
    __syncthreads();
    const enum tile_step step = choose_step<R>(args, &shared);
    if (step == STEP_DOUBLE) {
        return; /* all threads alike; what is in the tile now does not stay */
    }
    ring_place place = {0};
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x == 0) {
            const copier worker = {&shared.barriers, ring, &map_a, &map_b, &place};
            take_chunks<R>(args, worker, step, tile);
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        const uint32_t half = threadIdx.x / 128 - 1;
        const multiplier<R> worker = {args, &shared,
                                      tile_descriptor(ring + half * (SLOT_A_BYTES / 2)),
                                      tile_descriptor(ring + SLOT_A_BYTES), &place};
        take_chunks<R>(args, worker, step, tile);
    }
}

/* r = clamp of the sums of the chunks, in their order. Rows of the grid are rows of the panel. */
template <typename R> __global__ void add_chunks(const tile_args args, size_t n_slabs)
{
    const size_t b = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    for (size_t a = blockIdx.y; a < args.n_a; a += gridDim.y) {
        if (b < args.n_b && args.first_b + b < args.first_a + a) {
            double v = 0;
            for (size_t s = 0; s < n_slabs; s++) {
                v += args.partial[(s * args.n_a + a) * args.n_b + b];
            }
            ((R *)args.r)[a * args.width + args.first_b + b] = (R)clamped(v);
        }
    }
}

/* Digits from sample `lag` on, in place of the digits from the first one on, and zeros: a plane a
 * row of the grid. The tensor copies take no first sample but multiples of 16. */
__global__ void __launch_bounds__(THREADS)
    shift_digits(const char *z, size_t row_bytes, int planes, size_t plane, size_t lag, char *out,
                 size_t out_bytes)
{
    const size_t row = blockIdx.x / planes, first = blockIdx.x % planes * plane;
    const unsigned *from = (const unsigned *)(z + row * row_bytes + first);
    unsigned *to = (unsigned *)(out + row * out_bytes + first);
    const size_t words = plane / 4, skipped = lag / 4;
#pragma unroll 4
    for (size_t w = threadIdx.x; w < words; w += THREADS) {
        const size_t at = w + skipped;
        const unsigned low = at < words ? from[at] : 0, high = at + 1 < words ? from[at + 1] : 0;
        to[w] = __funnelshift_r(low, high, (unsigned)(lag % 4 * 8));
    }
}

/* --- launching ------------------------------------------------------------------------------- */

PFN_cuTensorMapEncodeTiled_v12000 find_encoder()
{
    void *f = nullptr;
    cudaDriverEntryPointQueryResult result;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault,
                                         &result) != cudaSuccess ||
        result != cudaDriverEntryPointSuccess) {
        (void)cudaGetLastError();
        return nullptr;
    }
    return (PFN_cuTensorMapEncodeTiled_v12000)f;
}

PFN_cuTensorMapEncodeTiled_v12000 encoder()
{
    static const PFN_cuTensorMapEncodeTiled_v12000 found = find_encoder();
    return found;
}

/* Samples, digits, series; what lies outside reads as 0. */
enum status map_digits(const void *z, const struct cuda_z_form &form, size_t n_samples, size_t rows,
                       cuuint32_t box_rows, CUtensorMap *out)
{
    const size_t plane = digits_plane_bytes(n_samples);
    const cuuint64_t size[3] = {plane, (cuuint64_t)form.planes, rows};
    const cuuint64_t stride[2] = {plane, form.bytes};
    const cuuint32_t box[3] = {STEP_K, 1, box_rows}, step[3] = {1, 1, 1};
    const CUresult error =
        encoder()(out, CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, (char *)z + form.digits_at, size, stride,
                  box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_64B,
                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return error == CUDA_SUCCESS
               ? STATUS_OK
               : status_fail(STATUS_DEVICE, "a tensor map was refused (error %d)", (int)error);
}

/* Chunks short enough for sums in 32 bits, and for every multiprocessor to get some. */
size_t chunk_of(size_t n_samples, int planes, size_t tiles)
{
    const size_t shares = cuda_max(1, WANTED_BLOCKS / tiles);
    const size_t share = cuda_pieces(cuda_pieces(n_samples, shares), 128) * 128;
    return cuda_min(digits_most_samples(planes), cuda_max(LEAST_CHUNK, share));
}

template <typename R>
enum status launch(struct cuda_queue *q, tile_args *args, const struct pearson_panel *p,
                   const struct cuda_z_form &form)
{
    CUtensorMap map_a, map_b;
    const size_t tiles = cuda_pieces(p->a.n, TILE_A) * cuda_pieces(p->b.n, TILE_B);
    args->chunk = chunk_of(p->n_samples, form.planes, tiles);
    args->n_chunks = cuda_pieces(p->n_samples, args->chunk);
    const size_t slabs = cuda_min(args->n_chunks, cuda_max(1, WANTED_BLOCKS / tiles));
    const bool lagged = p->lag > 0;
    struct cuda_z_form form_a = form;
    if (lagged) {
        form_a.digits_at = 0;
        form_a.bytes = digits_row_bytes(form.planes, p->n_samples);
        STATUS_TRY(cuda_expect(p->later, p->a.n, form_a.bytes, "gram at a lag"));
    }
    STATUS_TRY(
        map_digits(lagged ? p->later.at : p->a.z.at, form_a, p->n_samples, p->a.n, TILE_A, &map_a));
    STATUS_TRY(map_digits(p->b.z.at, form, p->n_samples, p->b.n, TILE_B, &map_b));
    const enum stream_id id = cuda_gemm_stream(q);
    cuda_work work(q, id,
                   {queue_reads(p->a.z.at, p->a.n * form.bytes),
                    queue_reads(p->b.z.at, p->b.n * form.bytes),
                    queue_writes(p->r.at, p->a.n * p->width * sizeof(R)),
                    queue_writes(p->later.at, lagged ? p->a.n * form_a.bytes : 0)});
    STATUS_TRY(work.status);
    if (lagged) {
        shift_digits<<<(unsigned)(p->a.n * form.planes), THREADS, 0, work.stream>>>(
            (const char *)p->a.z.at + form.digits_at, form.bytes, form.planes,
            digits_plane_bytes(p->n_samples), p->lag, (char *)p->later.at, form_a.bytes);
        STATUS_TRY(cuda_launched("digits at a lag"));
    }
    if (args->n_chunks > 1) {
        STATUS_TRY(cuda_queue_scratch(q, id, slabs * p->a.n * p->b.n * sizeof(double),
                                      (void **)&args->partial));
    }
    const size_t bytes = RING_BYTES + RING_ALIGNMENT;
    CUDA_TRY(cudaFuncSetAttribute(digit_products<R>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)bytes),
             "shared memory of digit products");
    digit_products<R><<<dim3((unsigned)tiles, (unsigned)slabs), THREADS, bytes, work.stream>>>(
        map_a, map_b, *args);
    STATUS_TRY(cuda_launched("digit products"));
    if (args->n_chunks > 1) {
        const dim3 grid((unsigned)cuda_pieces(p->b.n, 256), (unsigned)cuda_min(p->a.n, 32768));
        add_chunks<R><<<grid, 256, 0, work.stream>>>(*args, slabs);
        STATUS_TRY(cuda_launched("sum of chunks"));
    }
    if (args->doubles_follow) {
        STATUS_TRY(cuda_digits_double(p, form, work.stream));
    }
    return work.done();
}

} // namespace

/* LEAT_CUDA_WGMMA=0 keeps to doubles: for tests of what other devices do. */
bool cuda_digits_usable(const struct queue *q)
{
    const struct cudaDeviceProp &device = ((const struct cuda_backend *)q->backend)->properties;
    const char *wanted = getenv("LEAT_CUDA_WGMMA");
    return (wanted == nullptr || strcmp(wanted, "0") != 0) && device.major == 9 &&
           device.minor == 0 && encoder() != nullptr;
}

enum status cuda_digits_wgmma(struct cuda_queue *q, const struct pearson_panel *p,
                              const struct cuda_z_form &form)
{
    const size_t tail = form.digits_at + (size_t)form.planes * digits_plane_bytes(p->n_samples);
    tile_args args = {};
    args.tails_a = (const char *)p->a.z.at + tail;
    args.tails_b = (const char *)p->b.z.at + tail;
    args.row_bytes = form.bytes;
    args.n_samples = p->n_samples;
    args.first_a = p->a.first;
    args.n_a = p->a.n;
    args.first_b = p->b.first;
    args.n_b = p->b.n;
    args.r = p->r.at;
    args.width = p->width;
    if (p->precision == PEARSON_EXACT) {
        args.bound = (float)(p->lag > 0 ? DIGITS_LAG_BOUND : DIGITS_EXACT_BOUND);
        args.doubles_follow = p->lag == 0 && p->n_samples > DIGITS_EXACT_SAMPLES;
        return launch<double>(q, &args, p, form);
    }
    args.bound = (float)DIGITS_F32_BOUND;
    return launch<float>(q, &args, p, form);
}
