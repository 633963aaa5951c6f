/*
 * interpolate_cuda - a thread a point of a survey, or UNROLL queries at a time.
 *
 * Cells: as many blocks as fit the multiprocessors at once (a row of them a curve). Each copies the
 * curve's cells into its shared memory, where they fit, and goes through the queries in steps of
 * THREADS * UNROLL; the loads of a step are all in flight before the first is used. A query's cell
 * is read in loads of 16 bytes; cells lie at odd multiples of 16 bytes, so random queries meet all
 * banks alike (eight threads at a time at eight groups of banks, the fullest of them holds 2.8 on
 * average), and threads with the same cell share one access. Larger tables stay in the caches.
 * Queries outside and in marked cells take the barycentric form in the thread that meets them.
 * Bytes: 8 (or 4) and 8 a query; of shared memory 8 (degree + 3), at random some 14 cycles of a
 * multiprocessor a warp and load: 10^7 queries of degree 7 take 0.08 ms by that, 0.04 by bytes.
 * Flops: degree + 13 in double a query, most of them fused.
 *
 * Pieces: a thread a query, which finds its piece by halving; the first ones that it meets are the
 * same for all threads, of sorted queries the last ones, too. Bytes: 8 of the caches a halving.
 *
 * Barycentric, and survey: the nodes are the same for all threads of a warp, one access each.
 * Flops: some 75 in double a node and query.
 *
 * Error, bits: those of interpolate_rule.h, which the CPU follows, too.
 */
#include "kernels/base/queue_cuda.h"
#include "kernels/interpolate/interpolate.h"
#include "kernels/interpolate/interpolate_rule.h"

namespace
{

/* Blocks of 512 threads, two a multiprocessor: 64 registers a thread, 32 KiB of queries in flight.
 */
const int THREADS = 512, BLOCKS = 2, UNROLL = 4, SURVEY_THREADS = 128;

/* One curve's terms. */
struct terms_args {
    size_t n;
    const double *x, *hi, *lo;
    const int32_t *exponent;
};

/* Of a curve, from 0, or of INTERPOLATE_ONE. */
__host__ __device__ __forceinline__ terms_args terms_of(const interpolate_nodes &nodes,
                                                        size_t curve)
{
    const size_t at = (curve + 1) * nodes.n;
    const terms_args t = {
        nodes.n, (const double *)nodes.x.at, (const double *)nodes.term_hi.at + at,
        (const double *)nodes.term_lo.at + at, (const int32_t *)nodes.exponent.at + at};
    return t;
}

template <bool WITH_MAGNITUDE>
__device__ __forceinline__ interpolate_state sum_terms(const terms_args &t, interpolate_pair x,
                                                       size_t *hit)
{
    interpolate_state s = interpolate_begin();
    *hit = t.n;
    for (size_t j = 0; j < t.n; j++) {
        const double node = __ldg(t.x + j);
        const interpolate_pair term = {__ldg(t.hi + j), __ldg(t.lo + j)};
        interpolate_step(&s, x, node, term, __ldg(t.exponent + j), WITH_MAGNITUDE);
        if (j % INTERPOLATE_RENORMALISE == INTERPOLATE_RENORMALISE - 1) {
            interpolate_renormalise(&s);
        }
        *hit = x.hi == node ? j : *hit;
    }
    return s;
}

/* --- survey ---------------------------------------------------------------------------------- */

struct survey_args {
    interpolate_nodes nodes;
    interpolate_survey survey;
};

__global__ void __launch_bounds__(SURVEY_THREADS) survey_points(survey_args args)
{
    const size_t n = args.survey.n, i = blockIdx.x * (size_t)SURVEY_THREADS + threadIdx.x;
    if (i >= n) {
        return;
    }
    const size_t at = blockIdx.y * n + i;
    const bool is_curve = blockIdx.y < args.nodes.n_curves;
    const interpolate_pair x = {((const double *)args.survey.point_hi.at)[i],
                                ((const double *)args.survey.point_lo.at)[i]};
    size_t hit;
    const interpolate_state s =
        sum_terms<true>(terms_of(args.nodes, is_curve ? blockIdx.y : INTERPOLATE_ONE), x, &hit);
    const int64_t e = s.exponent + s.above;
    if (is_curve) {
        ((double *)args.survey.hi.at)[at] = interpolate_scaled(s.sum.hi, e);
        ((double *)args.survey.lo.at)[at] = interpolate_scaled(s.sum.lo, e);
    }
    ((double *)args.survey.condition.at)[at] = interpolate_condition(&s, args.nodes.is_rational);
}

enum status expect_nodes(const struct interpolate_nodes *nodes)
{
    const size_t all = (nodes->n_curves + 1) * nodes->n;
    STATUS_TRY(cuda_expect(nodes->x, nodes->n, sizeof(double), "nodes"));
    STATUS_TRY(cuda_expect(nodes->value, nodes->n_curves * nodes->n, sizeof(double), "values"));
    STATUS_TRY(cuda_expect(nodes->term_hi, all, sizeof(double), "terms"));
    STATUS_TRY(cuda_expect(nodes->term_lo, all, sizeof(double), "terms"));
    STATUS_TRY(cuda_expect(nodes->exponent, all, sizeof(int32_t), "exponents of terms"));
    return STATUS_OK;
}

enum status expect_curves(const struct interpolate_nodes *nodes)
{
    if (nodes->n_curves >= 65535) { /* they are a dimension of the grid */
        return status_fail(STATUS_UNSUPPORTED, "%zu curves; a device takes 65534", nodes->n_curves);
    }
    return STATUS_OK;
}

enum status survey(struct queue *queue, const struct interpolate_nodes *nodes,
                   const struct interpolate_survey *s)
{
    const size_t curves = nodes->n_curves, conditions = curves + (s->lebesgue ? 1 : 0);
    const size_t row = s->n * sizeof(double);
    if (s->n == 0 || conditions == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(expect_curves(nodes));
    STATUS_TRY(expect_nodes(nodes));
    STATUS_TRY(cuda_expect(s->point_hi, s->n, sizeof(double), "points"));
    STATUS_TRY(cuda_expect(s->point_lo, s->n, sizeof(double), "points"));
    STATUS_TRY(cuda_expect(s->hi, curves, row, "values at points"));
    STATUS_TRY(cuda_expect(s->lo, curves, row, "values at points"));
    STATUS_TRY(cuda_expect(s->condition, conditions, row, "conditions"));
    cuda_work work(cuda_queue_of(queue), STREAM_COMPUTE,
                   {queue_reads(nodes->x.at, nodes->x.bytes),
                    queue_reads(nodes->term_hi.at, nodes->term_hi.bytes),
                    queue_reads(nodes->term_lo.at, nodes->term_lo.bytes),
                    queue_reads(nodes->exponent.at, nodes->exponent.bytes),
                    queue_reads(s->point_hi.at, row), queue_reads(s->point_lo.at, row),
                    queue_writes(s->hi.at, curves * row), queue_writes(s->lo.at, curves * row),
                    queue_writes(s->condition.at, conditions * row)});
    STATUS_TRY(work.status);
    const survey_args args = {*nodes, *s};
    const dim3 grid((unsigned)cuda_pieces(s->n, SURVEY_THREADS), (unsigned)conditions);
    survey_points<<<grid, SURVEY_THREADS, 0, work.stream>>>(args);
    STATUS_TRY(cuda_launched("survey of a polynomial"));
    return work.done();
}

/* --- evaluate -------------------------------------------------------------------------------- */

struct evaluate_args {
    interpolate_nodes nodes;
    interpolate_cells cells;
    const void *queries;
    size_t n;
    double *values;
    interpolate_counts *counts;
};

/* What a thread has met; the first curve's are added up. */
struct tally {
    unsigned outside, hits, missing;
};

__device__ __forceinline__ void add_tally(const tally &t, interpolate_counts *counts)
{
    const unsigned all = 0xffffffffu;
    const unsigned outside = __reduce_add_sync(all, t.outside);
    const unsigned hits = __reduce_add_sync(all, t.hits);
    const unsigned missing = __reduce_add_sync(all, t.missing);
    if (threadIdx.x % 32 == 0 && blockIdx.y == 0) {
        if (outside != 0) {
            atomicAdd((unsigned long long *)&counts->n_outside, (unsigned long long)outside);
        }
        if (hits != 0) {
            atomicAdd((unsigned long long *)&counts->n_hits, (unsigned long long)hits);
        }
        if (missing != 0) {
            atomicAdd((unsigned long long *)&counts->n_missing, (unsigned long long)missing);
        }
    }
}

/* Not inlined: few queries come here, and its registers are not to be those of all. */
__device__ __noinline__ double barycentric(const interpolate_nodes &nodes, size_t curve, double x,
                                           unsigned *hits)
{
    const terms_args t = terms_of(nodes, curve);
    const interpolate_pair point = {x, 0};
    size_t hit;
    const interpolate_state s = sum_terms<false>(t, point, &hit);
    if (hit < t.n) {
        *hits += 1;
        return ((const double *)nodes.value.at)[curve * t.n + hit];
    }
    if (!nodes.is_rational) {
        return interpolate_value(&s, NULL);
    }
    const interpolate_state below = sum_terms<false>(terms_of(nodes, INTERPOLATE_ONE), point, &hit);
    return interpolate_value(&s, &below);
}

/* Doubles from a cell to the next: in shared memory an odd number of pairs. */
__host__ __device__ constexpr int pitch_of(int degree, bool shared)
{
    return shared && (degree + 3) / 2 % 2 == 0 ? degree + 5 : degree + 3;
}

/* p by a cell, which lies at a multiple of 16 bytes: interpolate_in_cell(). */
template <int DEGREE>
__device__ __forceinline__ double in_cell(const double *cell, double argument, double x, bool *hit)
{
    const double2 *pair = (const double2 *)cell;
    const double2 node = pair[0];
    double2 c[(DEGREE + 1) / 2];
#pragma unroll
    for (int k = 0; k < (DEGREE + 1) / 2; k++) {
        c[k] = pair[1 + k];
    }
    double q = c[DEGREE / 2].y;
#pragma unroll
    for (int k = DEGREE - 1; k >= 0; k--) {
        q = rounded_fma(q, argument, k % 2 == 1 ? c[k / 2].y : c[k / 2].x);
    }
    *hit = x == node.y;
    return rounded_fma(rounded_add(x, -node.y), q, node.x);
}

/* p by the cells; NaN of a query outside, of one in a marked cell, of NaN. */
template <int DEGREE, bool SHARED>
__device__ __forceinline__ double one_query(const interpolate_cells &c, const double *cell,
                                            double x, unsigned *hits)
{
    const bool inside = x >= c.begin && x <= c.end;
    const double at = inside ? x : c.begin;
    const interpolate_cell in =
        interpolate_place(c.begin, c.end, c.inverse, c.step, (int32_t)c.n_cells, at);
    const double argument = interpolate_argument(in.centre, c.scale, at);
    const double *own = cell + in.number * pitch_of(DEGREE, SHARED);
    bool hit;
    const double value = in_cell<DEGREE>(own, argument, at, &hit);
    *hits += inside && hit ? 1 : 0;
    return inside ? value : (double)NAN;
}

template <typename T, int DEGREE, bool SHARED>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    evaluate_cells(const __grid_constant__ evaluate_args args)
{
    extern __shared__ double2 shared_cells[];
    const size_t curve = blockIdx.y, n_curves = args.nodes.n_curves, n_cells = args.cells.n_cells;
    const double *cell = (const double *)args.cells.cell.at + curve * n_cells * (DEGREE + 3);
    if (SHARED) {
        const int pairs = (DEGREE + 3) / 2, pitch = pitch_of(DEGREE, true) / 2;
        const double2 *from = (const double2 *)cell;
#pragma unroll 4
        for (unsigned k = threadIdx.x; k < (unsigned)n_cells * pairs; k += THREADS) {
            shared_cells[k / pairs * pitch + k % pairs] = __ldg(from + k);
        }
        __syncthreads();
        cell = (const double *)shared_cells;
    }
    const T *queries = (const T *)args.queries;
    const size_t step = (size_t)gridDim.x * THREADS * UNROLL;
    tally t = {0, 0, 0};
    for (size_t i = blockIdx.x * (size_t)(THREADS * UNROLL) + threadIdx.x; i < args.n; i += step) {
        double *to = args.values + i * n_curves + curve;
        T x[UNROLL];
        unsigned left = 0; /* bit k: query k has no value yet */
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            x[k] = i + k * THREADS < args.n ? __ldcs(queries + i + k * THREADS) : (T)NAN;
        }
#pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            const double value = one_query<DEGREE, SHARED>(args.cells, cell, (double)x[k], &t.hits);
            if (i + k * THREADS < args.n) {
                left |= value == value ? 0u : 1u << k;
                __stcs(to + k * THREADS * n_curves, value);
            }
        }
        while (left != 0) { /* few */
            const int k = __ffs((int)left) - 1;
            const double at = (double)queries[i + k * THREADS];
            left &= left - 1;
            if (at != at) {
                t.missing++;
                continue;
            }
            t.outside += at < args.cells.begin || at > args.cells.end ? 1 : 0;
            unsigned hits = 0; /* what a call gets the address of is no register */
            to[k * THREADS * n_curves] = barycentric(args.nodes, curve, at, &hits);
            t.hits += hits;
        }
    }
    add_tally(t, args.counts);
}

template <typename T>
__global__ void __launch_bounds__(SURVEY_THREADS)
    evaluate_barycentric(const __grid_constant__ evaluate_args args)
{
    const size_t n = args.nodes.n, i = blockIdx.x * (size_t)SURVEY_THREADS + threadIdx.x;
    tally t = {0, 0, 0};
    if (i < args.n) {
        const double *node = (const double *)args.nodes.x.at;
        const double x = (double)((const T *)args.queries)[i];
        double value = x;
        if (x != x) {
            t.missing = 1;
        } else {
            t.outside = x < node[0] || x > node[n - 1] ? 1 : 0;
            value = barycentric(args.nodes, blockIdx.y, x, &t.hits);
        }
        args.values[i * args.nodes.n_curves + blockIdx.y] = value;
    }
    add_tally(t, args.counts);
}

template <typename T>
__global__ void __launch_bounds__(SURVEY_THREADS)
    evaluate_pieces(const __grid_constant__ evaluate_args args)
{
    const size_t i = blockIdx.x * (size_t)SURVEY_THREADS + threadIdx.x, n = args.cells.n_cells;
    tally t = {0, 0, 0};
    if (i < args.n) {
        const double x = (double)((const T *)args.queries)[i];
        const double *piece =
            (const double *)args.cells.cell.at + blockIdx.y * n * INTERPOLATE_PIECE;
        piece = interpolate_piece_of(piece, n, x);
        args.values[i * args.nodes.n_curves + blockIdx.y] = interpolate_in_piece(piece, x);
        t.missing = x != x ? 1 : 0;
        t.outside = x < args.cells.begin || x > args.cells.end ? 1 : 0;
        t.hits = x == piece[1] ? 1 : 0;
    }
    add_tally(t, args.counts);
}

typedef void evaluate_kernel(const evaluate_args);

template <typename T, bool SHARED> evaluate_kernel *kernel_of(size_t degree)
{
    return degree == 5    ? evaluate_cells<T, 5, SHARED>
           : degree == 7  ? evaluate_cells<T, 7, SHARED>
           : degree == 9  ? evaluate_cells<T, 9, SHARED>
           : degree == 11 ? evaluate_cells<T, 11, SHARED>
                          : evaluate_cells<T, 13, SHARED>;
}

template <typename T>
enum status launch(const struct cuda_queue *q, const evaluate_args &args, cudaStream_t stream)
{
    const size_t n_curves = args.nodes.n_curves, n_cells = args.cells.n_cells;
    if (n_cells == 0) {
        const size_t blocks = cuda_pieces(args.n, SURVEY_THREADS);
        const dim3 grid((unsigned)blocks, (unsigned)n_curves);
        evaluate_barycentric<T><<<grid, SURVEY_THREADS, 0, stream>>>(args);
        return cuda_launched("barycentric interpolation");
    }
    if (args.cells.degree == INTERPOLATE_CUBIC) {
        const dim3 grid((unsigned)cuda_pieces(args.n, SURVEY_THREADS), (unsigned)n_curves);
        evaluate_pieces<T><<<grid, SURVEY_THREADS, 0, stream>>>(args);
        return cuda_launched("interpolation by pieces");
    }
    const size_t bytes = n_cells * (size_t)pitch_of((int)args.cells.degree, true) * sizeof(double);
    const size_t most = q->backend->properties.sharedMemPerBlockOptin;
    const bool shared = bytes <= most;
    evaluate_kernel *const kernel =
        shared ? kernel_of<T, true>(args.cells.degree) : kernel_of<T, false>(args.cells.degree);
    const size_t dynamic = shared ? bytes : 0;
    int fit = 0;
    if (shared) { /* the attribute is the kernel's, which other jobs launch at the same time: all of
                     them ask for the same */
        CUDA_TRY(cudaFuncSetAttribute((const void *)kernel,
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, (int)most),
                 "shared memory for cells");
    }
    CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, THREADS, dynamic),
             "blocks of interpolation");
    const size_t at_once = (size_t)fit * (size_t)q->backend->properties.multiProcessorCount;
    const size_t blocks = cuda_pieces(args.n, (size_t)THREADS * UNROLL);
    const dim3 grid((unsigned)cuda_min(blocks, cuda_max(1, at_once)), (unsigned)n_curves);
    kernel<<<grid, THREADS, dynamic, stream>>>(args);
    return cuda_launched("interpolation by cells");
}

enum status evaluate(struct queue *queue, const struct interpolate_nodes *nodes,
                     const struct interpolate_cells *cells, struct span queries, enum dtype type,
                     size_t n, struct span values, struct span counts)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    if (n == 0 || nodes->n_curves == 0) {
        return STATUS_OK;
    }
    const size_t width = (cells->degree + 3) * sizeof(double);
    STATUS_TRY(expect_curves(nodes));
    STATUS_TRY(cells->degree != INTERPOLATE_CUBIC ? expect_nodes(nodes) : STATUS_OK);
    STATUS_TRY(cuda_expect(queries, n, dtype_bytes(type), "queries"));
    STATUS_TRY(cuda_expect(values, n, nodes->n_curves * sizeof(double), "values at queries"));
    STATUS_TRY(cuda_expect(counts, 1, sizeof(struct interpolate_counts), "counts"));
    if (cells->n_cells > 0) {
        STATUS_TRY(cuda_expect(cells->cell, nodes->n_curves * cells->n_cells, width, "cells"));
    }
    if (cells->n_cells > INT32_MAX || cuda_pieces(n, SURVEY_THREADS) > INT32_MAX) {
        return status_fail(STATUS_UNSUPPORTED, "%zu cells, %zu queries at a time", cells->n_cells,
                           n);
    }
    cuda_work work(q, STREAM_COMPUTE,
                   {queue_reads(nodes->x.at, nodes->x.bytes),
                    queue_reads(nodes->value.at, nodes->value.bytes),
                    queue_reads(nodes->term_hi.at, nodes->term_hi.bytes),
                    queue_reads(nodes->term_lo.at, nodes->term_lo.bytes),
                    queue_reads(nodes->exponent.at, nodes->exponent.bytes),
                    queue_reads(cells->cell.at, cells->cell.bytes),
                    queue_reads(queries.at, n * dtype_bytes(type)),
                    queue_writes(values.at, n * nodes->n_curves * sizeof(double)),
                    queue_writes(counts.at, sizeof(struct interpolate_counts))});
    STATUS_TRY(work.status);
    const evaluate_args args = {
        *nodes, *cells, queries.at, n, (double *)values.at, (interpolate_counts *)counts.at};
    STATUS_TRY(type == DTYPE_F32 ? launch<float>(q, args, work.stream)
                                 : launch<double>(q, args, work.stream));
    return work.done();
}

} // namespace

const struct interpolate_kernels cuda_interpolate = {.survey = survey, .evaluate = evaluate};
