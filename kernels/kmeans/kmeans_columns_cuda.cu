/*
 * kmeans_columns_cuda - range and squares of the columns in one read of the points.
 *
 * Mapping: the cells are one row of numbers; a thread takes every S-th, S a multiple of the
 * columns, so all of its cells are of one column, and neighbours read neighbours. Memory: each cell
 * once; at the end of a thread's cells an atomic operation or four on its column's entries, left
 * out where they would change nothing. Bytes: the points. Flops: two comparisons a cell;
 * squares: 8.
 */
#include "kernels/kmeans/kmeans_cuda.h"

namespace
{

const int THREADS = 256;
/* Eight blocks a multiprocessor of an H200, at least; integers of 2^12 numbers are put into words.
 */
const size_t BLOCKS = 1056, NUMBERS = 4096;

struct columns_args {
    struct kmeans_device m;
    const void *x;
    size_t cells, step; /* of the threads together: a multiple of the columns */
    uint64_t first;
};

/* A value that is neither NaN nor -0 into a minimum or maximum of such ones: doubles of one sign
 * are ordered as integers, negative ones the other way round. */
__device__ __forceinline__ void lower(double *to, double v)
{
    if (v < *(volatile double *)to) {
        if (v >= 0) {
            atomicMin((long long *)to, __double_as_longlong(v));
        } else {
            atomicMax((unsigned long long *)to, (unsigned long long)__double_as_longlong(v));
        }
    }
}

__device__ __forceinline__ void raise(double *to, double v)
{
    if (v > *(volatile double *)to) {
        if (v >= 0) {
            atomicMax((long long *)to, __double_as_longlong(v));
        } else {
            atomicMin((unsigned long long *)to, (unsigned long long)__double_as_longlong(v));
        }
    }
}

template <typename T> __global__ void __launch_bounds__(THREADS) range_of(columns_args args)
{
    const size_t me = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (me >= args.step) {
        return;
    }
    const T *x = (const T *)args.x;
    double min = INFINITY, max = -INFINITY;
    size_t bad = SIZE_MAX;
    for (size_t i = me; i < args.cells; i += args.step) {
        const double v = rounded_add((double)x[i], 0.0); /* never -0 */
        if (!(rounded_subtract(v, v) == 0)) {
            bad = bad < i ? bad : i;
        }
        min = v < min ? v : min;
        max = v > max ? v : max;
    }
    const size_t column = me % args.m.d;
    if (min <= max) {
        lower(args.m.min + column, min);
        raise(args.m.max + column, max);
    }
    if (bad != SIZE_MAX) {
        atomicMin((unsigned long long *)args.m.bad, args.first + bad / args.m.d);
    }
}

template <typename T> __global__ void __launch_bounds__(THREADS) squares_of(columns_args args)
{
    const size_t me = blockIdx.x * (size_t)THREADS + threadIdx.x;
    if (me >= args.step) {
        return;
    }
    const T *x = (const T *)args.x;
    const size_t column = me % args.m.d;
    const double centre = args.m.centre[column];
    const double per_unit = rounded_divide(1, args.m.square_unit[column]);
    struct kmeans_sum sum = {};
    for (size_t i = me; i < args.cells;) {
        struct kmeans_number part = {0, 0};
        for (size_t a = 0; a < NUMBERS && i < args.cells; a++, i += args.step) {
            const double t = rounded_subtract((double)x[i], centre);
            const struct kmeans_number v = kmeans_split(rounded_multiply(t, t), per_unit);
            part.high += v.high;
            part.low += v.low;
        }
        kmeans_sum_add(&sum, part);
    }
    kmeans_add_words(args.m.squares + column, sum);
}

/* Launches one of them: blocks for so many threads that each column has one. */
template <typename K>
enum status launch(struct queue *q, const struct kmeans_points *x, const struct kmeans_model *m,
                   K of_float, K of_double, const char *what)
{
    if (x->n == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(kmeans_expect(x, m));
    cuda_work work(cuda_queue_of(q), STREAM_COMPUTE,
                   {queue_reads(x->at.at, kmeans_points_bytes(x)), kmeans_access(m)});
    STATUS_TRY(work.status);
    const size_t d = x->n_columns, cells = x->n * d;
    size_t blocks = 0;
    STATUS_TRY(kmeans_most_blocks(cuda_min(BLOCKS, cuda_pieces(cells, THREADS)), &blocks));
    blocks = cuda_max(blocks, cuda_pieces(d, THREADS));
    const columns_args args = {kmeans_on_device(m), x->at.at, cells, blocks * THREADS / d * d,
                               x->first};
    (x->type == DTYPE_F32 ? of_float
                          : of_double)<<<(unsigned)blocks, THREADS, 0, work.stream>>>(args);
    STATUS_TRY(cuda_launched(what));
    return work.done();
}

} // namespace

enum status kmeans_cuda_range(struct queue *q, const struct kmeans_points *x,
                              const struct kmeans_model *m)
{
    return launch(q, x, m, range_of<float>, range_of<double>, "the range of columns");
}

enum status kmeans_cuda_squares(struct queue *q, const struct kmeans_points *x,
                                const struct kmeans_model *m)
{
    return launch(q, x, m, squares_of<float>, squares_of<double>, "squares of columns");
}
