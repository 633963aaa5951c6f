/*
 * cuda_select - the pairs beyond a cut, ordered by i, then j.
 *
 * One sweep appends them as they are found; then they are sorted by (i, j), few of them on the
 * host, many on the device (CUB's radix sort).
 *
 * Mapping: a block a row at a time; a warp takes its places in the list together.
 * Bytes: the matrix once, 16 a pair found, and 64 more a pair where the device sorts.
 */
#include "kernels/cuda/cuda_matrix.h"

#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <math.h>

namespace
{

const int THREADS = 512, BLOCKS = 528;
/* More than this are sorted on the device; the host takes about a millisecond for it. */
const size_t HOST_SORTS = 8192;
/* Room for more pairs than this is given back afterwards. */
const size_t KEPT = (size_t)1 << 18;

struct found {
    uint64_t *keys; /* i << 32 | j */
    double *values;
    unsigned long long *n;
    size_t capacity;
};

template <typename T>
__global__ void __launch_bounds__(THREADS)
    find_pairs(const __grid_constant__ matrix_view m, double cut, found out)
{
    const unsigned lane = threadIdx.x % 32;
    for (size_t k = blockIdx.x; k < m.n; k += gridDim.x) {
        const size_t j = m.n - 1 - k;
        const T *row = matrix_row<T>(m, j);
        for (size_t from = threadIdx.x - lane; from < j; from += THREADS) {
            const size_t i = from + lane;
            const double r = i < j ? (double)row[i] : (double)NAN;
            const unsigned hits = __ballot_sync(0xffffffffu, fabs(r) >= cut);
            if (hits == 0) {
                continue;
            }
            unsigned long long at = 0;
            if (lane == 0) {
                at = atomicAdd(out.n, (unsigned long long)__popc(hits));
            }
            at = __shfl_sync(0xffffffffu, at, 0) + __popc(hits & ((1u << lane) - 1));
            if ((hits >> lane & 1) != 0 && at < out.capacity) {
                out.keys[at] = (uint64_t)i << 32 | j;
                out.values[at] = r;
            }
        }
    }
}

__global__ void make_pairs(const uint64_t *keys, const double *values, size_t n,
                           struct pearson_pair *pairs)
{
    const size_t k = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (k < n) {
        pairs[k].i = (uint32_t)(keys[k] >> 32);
        pairs[k].j = (uint32_t)keys[k];
        pairs[k].r = values[k];
    }
}

enum status sort_pairs(struct cuda_queue *q, const found &in, size_t n, struct pearson_pair *pairs)
{
    size_t bytes = 0;
    const size_t room = cuda_pieces(n * sizeof(uint64_t), 256) * 256;
    CUDA_TRY(
        cub::DeviceRadixSort::SortPairs(nullptr, bytes, in.keys, in.keys, in.values, in.values, n),
        "size of a sort");
    cuda_span space(&q->base), out(&q->base);
    STATUS_TRY(space.alloc(2 * room + bytes));
    STATUS_TRY(out.alloc(n * sizeof *pairs));
    uint64_t *keys = space.as<uint64_t>();
    double *values = (double *)(space.as<char>() + room);
    {
        cuda_work work(q, LANE_ASK, {});
        STATUS_TRY(work.status);
        CUDA_TRY(cub::DeviceRadixSort::SortPairs(space.as<char>() + 2 * room, bytes, in.keys, keys,
                                                 in.values, values, n, 0, 64, work.stream),
                 "sort of pairs");
        make_pairs<<<(unsigned)cuda_pieces(n, THREADS), THREADS, 0, work.stream>>>(
            keys, values, n, out.as<struct pearson_pair>());
        STATUS_TRY(cuda_launched("list of pairs"));
        STATUS_TRY(work.done());
    }
    return cuda_ask_read(q, pairs, out.span.at, n * sizeof *pairs);
}

enum status sort_on_host(struct cuda_queue *q, const found &in, size_t n,
                         struct pearson_pair *pairs)
{
    uint64_t keys[HOST_SORTS];
    double values[HOST_SORTS];
    STATUS_TRY(cuda_ask_read(q, keys, in.keys, n * sizeof *keys));
    STATUS_TRY(cuda_ask_read(q, values, in.values, n * sizeof *values));
    for (size_t k = 0; k < n; k++) {
        pairs[k].i = (uint32_t)(keys[k] >> 32);
        pairs[k].j = (uint32_t)keys[k];
        pairs[k].r = values[k];
    }
    std::sort(pairs, pairs + n, [](const struct pearson_pair &a, const struct pearson_pair &b) {
        return a.i != b.i ? a.i < b.i : a.j < b.j;
    });
    return STATUS_OK;
}

} // namespace

enum status cuda_select(struct queue *queue, const struct pearson_matrix *m, double cut,
                        struct pearson_pair *pairs, size_t capacity, size_t *n)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    *n = 0;
    if (m->n_series < 2) {
        return STATUS_OK;
    }
    const size_t all = (size_t)condensed_row(m->n_series, m->n_series);
    const size_t room = cuda_min(capacity, all);
    const size_t bytes = (2 * room + 1) * sizeof(uint64_t);
    cuda_matrix matrix(queue);
    cuda_span list(queue);
    found out = {nullptr, nullptr, nullptr, room};
    STATUS_TRY(matrix.look(m));
    if (room > KEPT) {
        STATUS_TRY(list.alloc(bytes));
    }
    {
        void *at = list.span.at;
        cuda_work work(q, LANE_ASK, {});
        STATUS_TRY(work.status);
        if (at == nullptr) {
            STATUS_TRY(cuda_queue_scratch(q, LANE_ASK, bytes, &at));
        }
        out.n = (unsigned long long *)at;
        out.keys = (uint64_t *)at + 1;
        out.values = (double *)at + 1 + room;
        CUDA_TRY(cudaMemsetAsync(out.n, 0, sizeof *out.n, work.stream), "zero");
        const unsigned blocks = (unsigned)cuda_min(BLOCKS, m->n_series);
        if (m->type == DTYPE_F32) {
            find_pairs<float><<<blocks, THREADS, 0, work.stream>>>(matrix.view, cut, out);
        } else {
            find_pairs<double><<<blocks, THREADS, 0, work.stream>>>(matrix.view, cut, out);
        }
        STATUS_TRY(cuda_launched("pairs beyond a cut"));
        STATUS_TRY(work.done());
    }
    unsigned long long count;
    STATUS_TRY(cuda_ask_read(q, &count, out.n, sizeof count));
    *n = (size_t)count;
    if (*n == 0 || *n > capacity) {
        return STATUS_OK;
    }
    return *n <= HOST_SORTS ? sort_on_host(q, out, *n, pairs) : sort_pairs(q, out, *n, pairs);
}
