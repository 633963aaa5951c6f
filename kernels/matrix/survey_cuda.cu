/*
 * survey_cuda - statistics of the whole matrix: histogram, mean of |r|, and every series' exact
 * median of |r|.
 *
 * Statistics: one sweep; a thread counts into its own column of a table in shared memory, sums and
 * maxima of |r| are taken by row, and sums added in the rows' order.
 *
 * Medians: for a batch of series the |r| of each, a row of the triangle and a column, are gathered
 * into one row (the columns by tiles); a block then selects: counts by the leading bits of |r| as a
 * fraction of 32 bits, then by further bits of it, then by the bits of the number itself, until
 * those left fit into shared memory, where the one of the right rank is found by counting. For
 * coefficients that are spread out one count is enough.
 *
 * Bytes: the matrix once for the stats, three times for the medians and the gathered rows some
 * four times, mostly from the second-level cache.
 */
#include "kernels/base/reduce_cuda.h"
#include "kernels/matrix/matrix_cuda.h"
#include "kernels/matrix/matrix_rule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

namespace
{

/* --- stats ----------------------------------------------------------------------------------- */

const int THREADS = 128, BLOCKS = 792;
const int AT_ONCE = 16; /* coefficients of a thread under way */

struct stats {
    unsigned long long bins[MATRIX_BINS], undefined;
};

__device__ __forceinline__ int bin_of(double r)
{
    return matrix_bin(r);
}
/* The same of a float, whose r + 1 rounds to 1 in double from -2^-54 on and is exact in its bin. */
__device__ __forceinline__ int bin_of(float r)
{
    const float scaled = r < 0 && r >= -0x1p-54f ? 0 : r * (MATRIX_BINS / 2);
    return min(max(MATRIX_BINS / 2 + __float2int_rd(scaled), 0), MATRIX_BINS - 1);
}

/* row_sums: of |r| of each row; then the largest of each. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    count_stats(const __grid_constant__ matrix_view m, struct stats *out, double *row_sums)
{
    __shared__ unsigned bins[MATRIX_BINS][THREADS];
    __shared__ double shared[THREADS / 32 + 1], largest[THREADS / 32];
    for (int b = 0; b < MATRIX_BINS; b++) {
        bins[b][threadIdx.x] = 0;
    }
    unsigned undefined = 0;
    for (size_t k = blockIdx.x; k < m.n - m.first; k += gridDim.x) {
        const size_t j = m.n - 1 - k;
        const T *row = matrix_row<T>(m, j);
        double sum[1] = {0};
        T most = 0;
        for (size_t from = threadIdx.x; from < j; from += (size_t)AT_ONCE * THREADS) {
            T v[AT_ONCE];
#pragma unroll
            for (int n = 0; n < AT_ONCE; n++) {
                v[n] = from + n * THREADS < j ? __ldg(row + from + n * THREADS) : (T)NAN;
            }
#pragma unroll
            for (int n = 0; n < AT_ONCE; n++) {
                const T r = v[n];
                if (r == r) {
                    bins[bin_of(r)][threadIdx.x]++;
                    sum[0] += (double)fabs(r);
                    most = fmax(most, fabs(r));
                }
                undefined += r != r && from + n * THREADS < j;
            }
        }
        for (int by = 16; by > 0; by /= 2) {
            most = fmax(most, __shfl_xor_sync(0xffffffffu, most, by));
        }
        if (threadIdx.x % 32 == 0) {
            largest[threadIdx.x / 32] = (double)most;
        }
        block_sums<THREADS, 1>(sum, shared);
        if (threadIdx.x == 0) {
            static_assert(THREADS == 4 * 32, "of four warps");
            row_sums[j - m.first] = sum[0];
            row_sums[m.n - m.first + j - m.first] =
                fmax(fmax(largest[0], largest[1]), fmax(largest[2], largest[3]));
        }
        __syncthreads();
    }
    if (undefined != 0) {
        atomicAdd(&out->undefined, (unsigned long long)undefined);
    }
    if (threadIdx.x < MATRIX_BINS) {
        unsigned long long total = 0;
        /* each starts at another column, so that the banks differ */
        for (int t = 0; t < THREADS; t++) {
            total += bins[threadIdx.x][(t + threadIdx.x) % THREADS];
        }
        if (total != 0) {
            atomicAdd(&out->bins[threadIdx.x], total);
        }
    }
}

enum status compute_stats(struct cuda_queue *q, const struct matrix *m,
                          const cuda_matrix_view &matrix, struct matrix_survey *out)
{
    const size_t rows = m->n_series - m->first;
    const size_t bytes = sizeof(struct stats) + 2 * rows * sizeof(double);
    struct stats *stats;
    {
        cuda_work work(q, STREAM_QUERY, {matrix.reads});
        STATUS_TRY(work.status);
        STATUS_TRY(cuda_queue_scratch(q, STREAM_QUERY, bytes, (void **)&stats));
        double *row_sums = (double *)(stats + 1);
        CUDA_TRY(cudaMemsetAsync(stats, 0, sizeof *stats, work.stream), "zero");
        const unsigned blocks = (unsigned)cuda_min(BLOCKS, rows);
        auto kernel = m->type == DTYPE_F32 ? count_stats<float> : count_stats<double>;
        kernel<<<blocks, THREADS, 0, work.stream>>>(matrix.view, stats, row_sums);
        STATUS_TRY(cuda_launched("statistics of the matrix"));
        STATUS_TRY(work.done());
    }
    struct stats *host = (struct stats *)malloc(bytes);
    if (host == nullptr) {
        return status_fail(STATUS_NO_MEMORY, "no memory for the survey of %zu series", m->n_series);
    }
    const enum status status = cuda_query_read(q, host, stats, bytes);
    if (status == STATUS_OK) {
        double sum = 0;
        for (size_t j = 0; j < rows; j++) {
            sum += ((const double *)(host + 1))[j];
        }
        if (m->most != nullptr) {
            memcpy(m->most, (const double *)(host + 1) + rows, rows * sizeof(double));
        }
        for (size_t b = 0; b < MATRIX_BINS; b++) {
            out->histogram[b] = host->bins[b];
        }
        out->n_undefined = host->undefined;
        if (out->n_undefined < out->n_pairs) {
            out->mean_abs = sum / (double)(out->n_pairs - out->n_undefined);
        }
    }
    free(host);
    return status;
}

/* --- medians --------------------------------------------------------------------------------- */

enum { TILE = 32, TILE_ROWS = 8 };
/* Series whose |r| are gathered at a time: so many bytes, or as many as give each multiprocessor
 * four. */
const size_t GATHER_BYTES = (size_t)32 << 20, GATHER_ROWS = 528;
const int MEDIAN_THREADS = 512, DIGIT = 11, BINS = 1 << DIGIT, FEW = 512;
/* Counts by 32 bits of the fraction, then by the 62 bits of the number. */
const int FRACTION_BITS = 32, KEY_BITS = 62;
const unsigned NO_RANK = UINT32_MAX;

/* |r| of series first + a with every other, in row a; NaN with itself. Grid: tiles of (others, a).
 */
template <typename T>
__global__ void __launch_bounds__(TILE *TILE_ROWS)
    gather_series(const __grid_constant__ matrix_view m, size_t first, size_t n_rows, T *out)
{
    __shared__ T tile[TILE][TILE + 1];
    const size_t other0 = blockIdx.x * (size_t)TILE, a0 = blockIdx.y * (size_t)TILE;
    /* others beyond the series lie in columns of the triangle: read rows of it */
    for (int k = threadIdx.y; k < TILE; k += TILE_ROWS) {
        const size_t j = other0 + k, i = first + a0 + threadIdx.x;
        if (j < m.n && i < j) {
            tile[threadIdx.x][k] = matrix_row<T>(m, j)[i];
        }
    }
    __syncthreads();
    for (int k = threadIdx.y; k < TILE; k += TILE_ROWS) {
        const size_t a = a0 + k, s = first + a, other = other0 + threadIdx.x;
        if (a < n_rows && other < m.n) {
            T r = (T)NAN;
            if (other < s) {
                r = matrix_row<T>(m, s)[other];
            } else if (other > s) {
                r = tile[k][threadIdx.x];
            }
            out[a * m.n + other] = r < 0 ? -r : r;
        }
    }
}

/* What is known of the value looked for. */
struct digits_known {
    bool fraction_done;
    int above;         /* bits of the fraction, or of the key, that are not known */
    unsigned fraction; /* >> above, or all of it */
    uint64_t key;      /* >> above */
};

__device__ __forceinline__ unsigned fraction_of(double v)
{
    return __double2uint_rz(v * 4294967295.0);
}

__device__ __forceinline__ bool may_be(const digits_known &known, double v)
{
    if (!(v == v)) {
        return false;
    }
    const unsigned fraction = fraction_of(v);
    if (!known.fraction_done) {
        return known.above == FRACTION_BITS || fraction >> known.above == known.fraction;
    }
    return fraction == known.fraction &&
           (uint64_t)__double_as_longlong(v) >> known.above == known.key;
}

struct median_shared {
    unsigned bins[BINS];
    unsigned warp_sums[MEDIAN_THREADS / 32];
    unsigned bin, below, n, kept;
    double few[FEW];
    double value, next;
};

/* Finds the bin that holds the rank: sets bin, below and n. A rank of NO_RANK stands for the median
 * of all that are counted; returns their number. Each thread sums a run of bins. */
__device__ unsigned find_bin(median_shared *sh, unsigned rank)
{
    const int run = BINS / MEDIAN_THREADS, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned sum = 0;
    for (int b = 0; b < run; b++) {
        sum += sh->bins[threadIdx.x * run + b];
    }
    unsigned up_to = sum, total = 0;
    for (int step = 1; step < 32; step <<= 1) {
        const unsigned other = __shfl_up_sync(0xffffffffu, up_to, step);
        up_to += lane >= step ? other : 0;
    }
    if (lane == 31) {
        sh->warp_sums[warp] = up_to;
    }
    __syncthreads();
    for (int w = 0; w < MEDIAN_THREADS / 32; w++) {
        up_to += w < warp ? sh->warp_sums[w] : 0;
        total += sh->warp_sums[w];
    }
    if (rank == NO_RANK && total > 0) {
        rank = (total - 1) / 2;
    }
    unsigned below = up_to - sum;
    if (rank >= below && rank < up_to) {
        int b = threadIdx.x * run;
        while (below + sh->bins[b] <= rank) {
            below += sh->bins[b++];
        }
        sh->bin = (unsigned)b;
        sh->below = below;
        sh->n = sh->bins[b];
    }
    __syncthreads();
    return total;
}

/* Counts the next digit of those that may be. */
template <typename T>
__device__ void count_digit(median_shared *sh, const T *row, size_t n, const digits_known &known,
                            int shift)
{
    for (int b = threadIdx.x; b < BINS; b += MEDIAN_THREADS) {
        sh->bins[b] = 0;
    }
    __syncthreads();
    const unsigned mask = (1u << (known.above - shift)) - 1;
    for (size_t k = threadIdx.x; k < n; k += MEDIAN_THREADS) {
        const double v = (double)row[k];
        if (may_be(known, v)) {
            const uint64_t bits =
                known.fraction_done ? (uint64_t)__double_as_longlong(v) : fraction_of(v);
            atomicAdd(&sh->bins[(unsigned)(bits >> shift) & mask], 1u);
        }
    }
    __syncthreads();
}

/* The digit found joins what is known. */
__device__ __forceinline__ void learn(digits_known *known, unsigned bin, int shift)
{
    if (known->fraction_done) {
        known->key = known->key << (known->above - shift) | bin;
        known->above = shift;
    } else {
        known->fraction =
            known->above == FRACTION_BITS ? bin : known->fraction << (known->above - shift) | bin;
        known->above = shift;
        if (shift == 0) {
            known->fraction_done = true;
            known->above = KEY_BITS;
            known->key = 0;
        }
    }
}

/* The value of rank `rank` among the n_few collected ones, and the next, by counting. */
__device__ void pick(median_shared *sh, unsigned n_few, unsigned rank)
{
    for (unsigned a = threadIdx.x; a < n_few; a += MEDIAN_THREADS) {
        const double v = sh->few[a];
        unsigned before = 0;
        for (unsigned b = 0; b < n_few; b++) {
            before += sh->few[b] < v || (sh->few[b] == v && b < a);
        }
        if (before == rank) {
            sh->value = v;
        } else if (before == rank + 1) {
            sh->next = v;
        }
    }
    __syncthreads();
}

/* The smallest value beyond `floor`. */
template <typename T>
__device__ void successor(median_shared *sh, const T *row, size_t n, double floor)
{
    double least = INFINITY;
    for (size_t k = threadIdx.x; k < n; k += MEDIAN_THREADS) {
        const double v = (double)row[k];
        least = v > floor ? lesser(v, least) : least;
    }
    least = warp_min(least);
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        sh->few[threadIdx.x / 32] = least;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < MEDIAN_THREADS / 32; w++) {
            least = lesser(sh->few[w], least);
        }
        sh->next = least;
    }
    __syncthreads();
}

/* A block a row. */
template <typename T>
__global__ void __launch_bounds__(MEDIAN_THREADS) medians(const T *rows, size_t n, double *out)
{
    __shared__ median_shared sh;
    const T *row = rows + blockIdx.x * n;
    digits_known known = {false, FRACTION_BITS, 0, 0};
    unsigned n_defined = 0, rank = NO_RANK, below = 0, left = 0;
    if (threadIdx.x == 0) {
        sh.kept = 0;
        sh.next = INFINITY;
    }
    do {
        const int shift = known.above > DIGIT ? known.above - DIGIT : 0;
        count_digit(&sh, row, n, known, shift);
        const unsigned total = find_bin(&sh, rank == NO_RANK ? rank : rank - below);
        if (rank == NO_RANK) {
            if (total == 0) {
                if (threadIdx.x == 0) {
                    out[blockIdx.x] = NAN;
                }
                return;
            }
            n_defined = total;
            rank = (total - 1) / 2;
        }
        below += sh.below;
        left = sh.n;
        learn(&known, sh.bin, shift);
        __syncthreads();
    } while (left > FEW && !(known.fraction_done && known.above == 0));
    if (left <= FEW) {
        for (size_t k = threadIdx.x; k < n; k += MEDIAN_THREADS) {
            const double v = (double)row[k];
            if (may_be(known, v)) {
                sh.few[atomicAdd(&sh.kept, 1u)] = v;
            }
        }
        __syncthreads();
        pick(&sh, left, rank - below);
    } else if (threadIdx.x == 0) {
        sh.value = sh.next = __longlong_as_double((long long)known.key);
    }
    __syncthreads();
    const double value = sh.value;
    double next = n_defined % 2 != 0 ? value : sh.next;
    if (n_defined % 2 == 0 && rank + 1 >= below + left) {
        successor(&sh, row, n, value);
        next = sh.next;
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = value == next ? value : (value + next) / 2;
    }
}

template <typename T>
enum status series_medians(struct cuda_queue *q, const struct matrix *m, const matrix_view &view,
                           double *median_abs)
{
    const size_t n = m->n_series;
    const size_t batch =
        cuda_min(n, cuda_max(GATHER_ROWS, GATHER_BYTES / (n * sizeof(T)) / TILE * TILE));
    double *result;
    {
        cuda_work work(q, STREAM_QUERY);
        STATUS_TRY(work.status);
        STATUS_TRY(cuda_queue_scratch(q, STREAM_QUERY, n * sizeof *result + batch * n * sizeof(T),
                                      (void **)&result));
        T *rows = (T *)(result + n);
        for (size_t first = 0; first < n; first += batch) {
            const size_t n_rows = cuda_min(batch, n - first);
            const dim3 grid((unsigned)cuda_pieces(n, TILE), (unsigned)cuda_pieces(n_rows, TILE));
            gather_series<T>
                <<<grid, dim3(TILE, TILE_ROWS), 0, work.stream>>>(view, first, n_rows, rows);
            medians<T>
                <<<(unsigned)n_rows, MEDIAN_THREADS, 0, work.stream>>>(rows, n, result + first);
            STATUS_TRY(cuda_launched("medians of the series"));
        }
        STATUS_TRY(work.done());
    }
    return cuda_query_read(q, median_abs, result, n * sizeof *median_abs);
}

} // namespace

enum status cuda_survey(struct queue *queue, const struct matrix *m, struct matrix_survey *out,
                        double *median_abs, double *median_abs_all)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    *out = {};
    out->mean_abs = *median_abs_all = (double)NAN;
    if (m->n_series < 2) {
        for (size_t s = 0; s < m->n_series && median_abs != nullptr; s++) {
            median_abs[s] = (double)NAN;
        }
        return STATUS_OK;
    }
    out->n_pairs = matrix_band_pairs(m);
    cuda_matrix_view matrix(queue);
    STATUS_TRY(matrix.look(m));
    STATUS_TRY(compute_stats(q, m, matrix, out));
    if (median_abs == nullptr || m->first > 0) {
        return STATUS_OK;
    }
    STATUS_TRY(m->type == DTYPE_F32 ? series_medians<float>(q, m, matrix.view, median_abs)
                                    : series_medians<double>(q, m, matrix.view, median_abs));
    return cuda_median_abs(queue, m, median_abs_all);
}
