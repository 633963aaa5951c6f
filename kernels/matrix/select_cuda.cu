/*
 * select_cuda - the pairs beyond a cut, ordered by i, then j.
 *
 * One sweep appends them as they are found; then they are sorted by (i, j), few of them on the
 * host, many on the device (CUB's radix sort).
 *
 * Mapping: a block a row at a time, or several of it where few rows have such pairs; a warp takes
 * its places in the list together.
 * Bytes: the matrix, or those rows, once, 16 a pair found, and some 200 more a pair where the
 * device sorts.
 */
#include "kernels/matrix/matrix_cuda.h"

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <math.h>
#include <memory>
#include <new>

namespace
{

const int THREADS = 512, BLOCKS = 528;
const int AT_ONCE = 4; /* coefficients of a thread under way */
/* Up to so many are sorted on the host: they come with their number in one copy of 64 KiB. */
const size_t HOST_SORTS = 4095;
/* Room for more pairs than this is given back afterwards. */
const size_t KEPT = (size_t)1 << 18;

/* The list: a number, and then the pairs. */
union found {
    unsigned long long n;
    struct matrix_pair pair;
};

/* Rows that have pairs; n = 0: any may. */
struct row_list {
    size_t n;
    uint32_t at[256];
};
const unsigned PARTS = 16; /* blocks of a row, of a few */

/* The pairs (i, j) of the lanes that are hit, by the whole warp. */
__device__ __forceinline__ void append(found *out, size_t capacity, unsigned hits, size_t i,
                                       size_t j, double r)
{
    const unsigned lane = threadIdx.x % 32;
    unsigned long long at = 0;
    if (lane == 0) {
        at = atomicAdd(&out->n, (unsigned long long)__popc(hits));
    }
    at = __shfl_sync(0xffffffffu, at, 0) + __popc(hits & ((1u << lane) - 1));
    if ((hits >> lane & 1) != 0 && at < capacity) {
        out[1 + at].pair = {(uint32_t)i, (uint32_t)j, r};
    }
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    find_pairs(const __grid_constant__ matrix_view m, const __grid_constant__ row_list rows,
               double cut, found *out, size_t capacity)
{
    const unsigned lane = threadIdx.x % 32;
    const size_t n_rows = rows.n > 0 ? rows.n : m.n - m.first, step = (size_t)AT_ONCE * THREADS;
    for (size_t k = blockIdx.x; k < n_rows; k += gridDim.x) {
        const size_t j = rows.n > 0 ? rows.at[k] : m.n - 1 - k;
        const T *row = matrix_row<T>(m, j);
        for (size_t from = blockIdx.y * step + threadIdx.x - lane; from < j;
             from += gridDim.y * step) {
            T r[AT_ONCE];
#pragma unroll
            for (int n = 0; n < AT_ONCE; n++) {
                const size_t i = from + n * THREADS + lane;
                r[n] = i < j ? __ldg(row + i) : (T)NAN;
            }
#pragma unroll
            for (int n = 0; n < AT_ONCE; n++) {
                const unsigned hits = __ballot_sync(0xffffffffu, fabs((double)r[n]) >= cut);
                if (hits != 0) {
                    append(out, capacity, hits, from + n * THREADS + lane, j, (double)r[n]);
                }
            }
        }
    }
}

__global__ void split_pairs(const found *in, size_t n, uint64_t *keys, double *values)
{
    const size_t k = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (k < n) {
        keys[k] = (uint64_t)in[1 + k].pair.i << 32 | in[1 + k].pair.j;
        values[k] = in[1 + k].pair.r;
    }
}

__global__ void join_pairs(const uint64_t *keys, const double *values, size_t n, found *out)
{
    const size_t k = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (k < n) {
        out[1 + k].pair = {(uint32_t)(keys[k] >> 32), (uint32_t)keys[k], values[k]};
    }
}

enum status sort_on_device(struct cuda_queue *q, found *list, size_t n, struct matrix_pair *pairs)
{
    size_t bytes = 0;
    cub::DoubleBuffer<uint64_t> keys;
    cub::DoubleBuffer<double> values;
    CUDA_TRY(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, values, n), "size of a sort");
    const size_t room = cuda_pieces(n * sizeof(uint64_t), 256) * 256;
    cuda_span space(&q->base);
    STATUS_TRY(space.alloc(4 * room + bytes));
    char *at = space.as<char>();
    keys = {(uint64_t *)at, (uint64_t *)(at + room)};
    values = {(double *)(at + 2 * room), (double *)(at + 3 * room)};
    {
        const unsigned blocks = (unsigned)cuda_pieces(n, THREADS);
        cuda_work work(q, STREAM_QUERY);
        STATUS_TRY(work.status);
        split_pairs<<<blocks, THREADS, 0, work.stream>>>(list, n, keys.Current(), values.Current());
        STATUS_TRY(cuda_launched("keys of pairs"));
        CUDA_TRY(cub::DeviceRadixSort::SortPairs(at + 4 * room, bytes, keys, values, n, 0, 64,
                                                 work.stream),
                 "sort of pairs");
        join_pairs<<<blocks, THREADS, 0, work.stream>>>(keys.Current(), values.Current(), n, list);
        STATUS_TRY(cuda_launched("list of pairs"));
        STATUS_TRY(work.done());
    }
    return cuda_query_read(q, pairs, list + 1, n * sizeof *pairs);
}

bool before(const struct matrix_pair &a, const struct matrix_pair &b)
{
    return a.i != b.i ? a.i < b.i : a.j < b.j;
}

/* Whether there are any; those that reach the cut, if they are known to be few. */
bool look_for_rows(const struct matrix *m, double cut, row_list *rows)
{
    size_t n = 0;
    rows->n = 0;
    for (size_t j = m->first; m->most != nullptr && j < m->n_series; j++) {
        if (m->most[j - m->first] >= cut && n++ < sizeof rows->at / sizeof *rows->at) {
            rows->at[n - 1] = (uint32_t)j;
        }
    }
    rows->n = n <= sizeof rows->at / sizeof *rows->at ? n : 0;
    return m->most == nullptr || n > 0;
}

/* Appends the pairs to the list, on the device. */
enum status find(struct cuda_queue *q, const cuda_matrix_view &matrix, const row_list &rows,
                 double cut, size_t room, found **list)
{
    const matrix_view &view = matrix.view;
    cuda_work work(q, STREAM_QUERY, {matrix.reads});
    STATUS_TRY(work.status);
    if (*list == nullptr) {
        STATUS_TRY(cuda_queue_scratch(q, STREAM_QUERY, (1 + room) * sizeof **list, (void **)list));
    }
    CUDA_TRY(cudaMemsetAsync(*list, 0, sizeof **list, work.stream), "zero");
    const dim3 blocks((unsigned)cuda_min(BLOCKS, rows.n > 0 ? rows.n : view.n - view.first),
                      rows.n > 0 ? PARTS : 1);
    auto kernel = view.type == DTYPE_F32 ? find_pairs<float> : find_pairs<double>;
    kernel<<<blocks, THREADS, 0, work.stream>>>(view, rows, cut, *list, room);
    STATUS_TRY(cuda_launched("pairs beyond a cut"));
    return work.done();
}

} // namespace

enum status cuda_select(struct queue *queue, const struct matrix *m, double cut,
                        struct matrix_pairs *out)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    out->n = 0;
    row_list rows;
    if (m->n_series < 2 || !look_for_rows(m, cut, &rows)) {
        return STATUS_OK;
    }
    const size_t room = cuda_min(out->capacity, (size_t)matrix_band_pairs(m));
    cuda_matrix_view matrix(queue);
    cuda_span space(queue);
    STATUS_TRY(matrix.look(m));
    if (room > KEPT) {
        STATUS_TRY(space.alloc((1 + room) * sizeof(found)));
    }
    found *list = space.as<found>();
    STATUS_TRY(find(q, matrix, rows, cut, room, &list));
    std::unique_ptr<found[]> host(new (std::nothrow) found[1 + HOST_SORTS]);
    if (host == nullptr) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a list of pairs");
    }
    STATUS_TRY(
        cuda_query_read(q, host.get(), list, (1 + cuda_min(room, HOST_SORTS)) * sizeof(found)));
    const size_t n = (size_t)host[0].n;
    out->n = n;
    if (n > out->capacity || n == 0) {
        return STATUS_OK;
    }
    if (n > HOST_SORTS) {
        return sort_on_device(q, list, n, out->at);
    }
    for (size_t k = 0; k < n; k++) {
        out->at[k] = host[1 + k].pair;
    }
    std::sort(out->at, out->at + n, before);
    return STATUS_OK;
}
