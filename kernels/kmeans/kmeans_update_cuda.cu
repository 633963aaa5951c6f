/*
 * kmeans_update_cuda - what happens between two passes over the points: the next centroids, how far
 * they have moved, and whether that was the last iteration.
 *
 * Mapping: one block plans (which clusters are empty, who takes a point); a group of threads a
 * cluster makes its mean, a thread a column, and a warp adds up its d2 from the old one, column
 * after column, the squares handed round; a group a cluster looks for the nearest other centroid;
 * one block ends the iteration. A small model is updated by one block in one launch, groups are its
 * warps; else these are four launches, and groups are blocks. The flag `done` is looked at on the
 * device: the host waits for nothing. Bytes: the sums, 40 a cluster and column; a launch takes
 * longer than that as long as there are fewer than some million. Integer divisions: 8 a mean.
 */
#include "kernels/kmeans/kmeans_cuda.h"

namespace
{

const int THREADS = 128, THREADS_AT_ONCE = 512;
const unsigned ALL = 0xffffffffu;
/* Centroids are compared with one another, d k^2 steps, while that is little. */
const size_t MOST_COMPARED = 65536;
/* Means, and steps of comparisons, that one block makes sooner than launches of their own begin. */
const size_t MEANS_AT_ONCE = 1024, STEPS_AT_ONCE = 16384;

/* What an update takes along. */
struct plan {
    uint64_t n_empty, taken_from, taken_to;
    int taken, done;
};

struct update_args {
    struct kmeans_device m;
    struct plan *plan;
    double *moved, *between, *next; /* [k], [k], [k][d] */
    bool compared;
};

/* By a block. */
__device__ __forceinline__ void make_plan(const update_args &args)
{
    __shared__ unsigned long long n_empty, first;
    const struct kmeans_state *state = args.m.state;
    if (threadIdx.x == 0) {
        n_empty = 0;
        first = ~0ull;
    }
    __syncthreads();
    for (size_t c = threadIdx.x; c < args.m.k; c += blockDim.x) {
        if (args.m.count[c] == 0) {
            atomicAdd(&n_empty, 1ull);
            atomicMin(&first, (unsigned long long)c);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        args.plan->n_empty = n_empty;
        args.plan->taken = n_empty > 0 && state->pick.point != UINT64_MAX && state->pick.value > 0;
        args.plan->taken_from = state->pick.cluster;
        args.plan->taken_to = first;
        args.plan->done = state->done != 0;
    }
}

/* Until all threads of a group, a warp or a block, are here. */
template <int GROUP> __device__ __forceinline__ void wait_group()
{
    if (GROUP == 32) {
        __syncwarp();
    } else {
        __syncthreads();
    }
}

/* d2 of next from centroid, in the order of the columns; by one warp, every lane gets it. */
__device__ double moved_d2(const double *next, const double *centroid, const double *weight,
                           size_t d)
{
    const size_t lane = threadIdx.x % 32;
    double d2 = 0;
    for (size_t at = 0; at < d; at += 32) {
        const size_t j = at + lane;
        const double t =
            j < d ? rounded_multiply(rounded_subtract(next[j], centroid[j]), weight[j]) : 0;
        const int n = (int)(d - at < 32 ? d - at : 32);
        for (int i = 0; i < n; i++) {
            const double one = __shfl_sync(ALL, t, i);
            d2 = rounded_fma(one, one, d2);
        }
    }
    return d2;
}

/* A sum of cluster c, without the point that is taken if it `leaves`. */
__device__ __forceinline__ struct kmeans_sum sum_of(const struct kmeans_device &m, size_t c,
                                                    size_t j, bool leaves)
{
    struct kmeans_sum of = m.sum[c * m.d + j];
    if (leaves) {
        double cell = m.pick_cells[j];
        if (m.has_mass) {
            const double mass = rounded_multiply(m.pick_cells[m.mass_column], m.mass_factor);
            cell = j == m.mass_column ? mass : rounded_multiply(cell, mass);
        }
        const struct kmeans_number v = kmeans_split(cell, rounded_divide(1, m.unit[j]));
        const struct kmeans_number less = {-v.high, -v.low};
        kmeans_sum_add(&of, less);
    }
    return of;
}

/* By a group of GROUP threads. */
template <int GROUP>
__device__ __forceinline__ void update_cluster(const update_args &args, const struct plan &plan,
                                               size_t c)
{
    const struct kmeans_device &m = args.m;
    const size_t d = m.d, me = threadIdx.x % GROUP;
    const bool leaves = plan.taken && c == plan.taken_from;
    const bool comes = plan.taken && c == plan.taken_to;
    const uint64_t n = m.count[c] - (leaves ? 1 : 0);
    double *centroid = m.centroid + c * d, *next = args.next + c * d;
    struct kmeans_sum *sum = m.sum + c * d;
    double mass = 1;
    if (m.has_mass) {
        const size_t by = m.mass_column;
        mass = kmeans_mean(sum_of(m, c, by, leaves), 1, m.unit[by]);
        wait_group<GROUP>(); /* before the sum begins again */
    }
    for (size_t j = me; j < d; j += GROUP) {
        const struct kmeans_sum of = sum_of(m, c, j, leaves);
        next[j] = comes                 ? m.pick_cells[j]
                  : n == 0 || mass == 0 ? centroid[j]
                  : m.has_mass          ? kmeans_mass_mean(of, m.unit[j], mass)
                                        : kmeans_mean(of, n, m.unit[j]);
        const struct kmeans_sum none = {};
        sum[j] = m.incremental ? kmeans_normal(sum[j]) : none;
    }
    wait_group<GROUP>();
    if (me < 32) {
        const double d2 = moved_d2(next, centroid, m.weight, d);
        if (me == 0) {
            args.moved[c] = d2;
            args.between[c] = args.compared ? INFINITY : 0.0;
        }
    }
    wait_group<GROUP>();
    for (size_t j = me; j < d; j += GROUP) {
        centroid[j] = next[j];
    }
    if (me == 0 && !m.incremental) {
        m.count[c] = 0;
    }
}

/* The least d2 from centroid c to another one; it stays 0, which bounds nothing, where it is not
 * looked for. By a group. */
template <int GROUP>
__device__ __forceinline__ void compare_centroid(const update_args &args, size_t c)
{
    const struct kmeans_device &m = args.m;
    double least = INFINITY;
    for (size_t i = threadIdx.x % GROUP; i < m.k; i += GROUP) {
        double d2 = i == c ? INFINITY : 0;
        for (size_t j = 0; j < m.d; j++) {
            d2 = kmeans_add_column(d2, m.centroid[i * m.d + j], m.centroid[c * m.d + j],
                                   m.weight[j]);
        }
        least = d2 < least ? d2 : least;
    }
    for (int step = 16; step > 0; step /= 2) {
        const double other = __shfl_xor_sync(ALL, least, step);
        least = other < least ? other : least;
    }
    if (threadIdx.x % 32 == 0) {
        atomicMin((unsigned long long *)args.between + c,
                  (unsigned long long)__double_as_longlong(least));
    }
}

/* The two largest of the block's, the larger first. */
template <int N>
__device__ __forceinline__ void block_two_most(const double *v, size_t n, double *shared,
                                               double *most)
{
    double a = 0, b = 0;
    for (size_t c = threadIdx.x; c < n; c += N) {
        const double x = v[c];
        b = x > a ? a : x > b ? x : b;
        a = x > a ? x : a;
    }
    shared[threadIdx.x] = a;
    shared[N + threadIdx.x] = b;
    __syncthreads();
    for (int step = N / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) {
            const double x = shared[threadIdx.x + step], y = shared[N + threadIdx.x + step];
            a = shared[threadIdx.x], b = shared[N + threadIdx.x];
            shared[threadIdx.x] = x > a ? x : a;
            const double less = x > a ? a : x, second = y > b ? y : b;
            shared[N + threadIdx.x] = less > second ? less : second;
        }
        __syncthreads();
    }
    most[0] = shared[0];
    most[1] = shared[N];
}

/* By a block of N. */
template <int N>
__device__ __forceinline__ void end_iteration(const update_args &args, const struct plan &plan)
{
    __shared__ double shared[2 * N];
    const struct kmeans_device &m = args.m;
    if (m.incremental) {
        double most[2];
        block_two_most<N>(args.moved, m.k, shared, most);
        for (size_t c = threadIdx.x; c < m.k; c += N) {
            const double own = kmeans_drift_of(args.moved[c], m.d);
            /* of two that have moved as far each is the other's longest way */
            const double other = kmeans_drift_of(args.moved[c] == most[0] ? most[1] : most[0], m.d);
            double *gap = m.drift + KMEANS_DRIFT_GAP * m.k;
            double *limit = m.drift + KMEANS_DRIFT_LIMIT * m.k;
            double *moved = m.drift + KMEANS_DRIFT_MOVED * m.k;
            gap[c] = kmeans_drift_add(gap[c], kmeans_drift_add(own, other));
            moved[c] = kmeans_drift_add(moved[c], own);
            limit[c] = kmeans_drift_limit(args.between[c], moved[c], m.d);
        }
    }
    if (threadIdx.x >= 32) {
        return;
    }
    double shift2 = 0;
    for (size_t at = 0; at < m.k; at += 32) {
        const double own = at + threadIdx.x < m.k ? args.moved[at + threadIdx.x] : 0;
        const int n = (int)(m.k - at < 32 ? m.k - at : 32);
        for (int i = 0; i < n; i++) {
            shift2 = rounded_add(shift2, __shfl_sync(ALL, own, i));
        }
    }
    if (threadIdx.x == 0) {
        struct kmeans_state *state = m.state;
        state->shift2 = shift2;
        state->n_iterations++;
        state->n_empty = plan.n_empty;
        state->n_relocated += plan.taken ? 1 : 0;
        state->done = !plan.taken && shift2 <= state->tolerance;
        state->pick.value = 0;
        state->pick.point = UINT64_MAX;
        state->pick.cluster = 0;
    }
}

__global__ void __launch_bounds__(THREADS) plan_update(update_args args)
{
    make_plan(args);
}

__global__ void __launch_bounds__(THREADS) update_clusters(update_args args)
{
    const struct plan plan = *args.plan;
    if (!plan.done) {
        update_cluster<THREADS>(args, plan, blockIdx.x);
    }
}

__global__ void __launch_bounds__(THREADS) compare_centroids(update_args args)
{
    if (!args.plan->done) {
        compare_centroid<THREADS>(args, blockIdx.x);
    }
}

__global__ void __launch_bounds__(THREADS) end_update(update_args args)
{
    const struct plan plan = *args.plan;
    if (!plan.done) {
        end_iteration<THREADS>(args, plan);
    }
}

/* The four one after the other, a warp a cluster. */
__global__ void __launch_bounds__(THREADS_AT_ONCE) update_at_once(update_args args)
{
    __shared__ struct plan shared_plan;
    __shared__ double moved[MEANS_AT_ONCE], between[MEANS_AT_ONCE], next[MEANS_AT_ONCE];
    const size_t step = THREADS_AT_ONCE / 32;
    args.plan = &shared_plan;
    args.moved = moved;
    args.between = between;
    args.next = next;
    make_plan(args);
    __syncthreads();
    const struct plan plan = *args.plan;
    if (plan.done) {
        return;
    }
    for (size_t c = threadIdx.x / 32; c < args.m.k; c += step) {
        update_cluster<32>(args, plan, c);
    }
    __syncthreads();
    for (size_t c = threadIdx.x / 32; args.m.incremental && args.compared && c < args.m.k;
         c += step) {
        compare_centroid<32>(args, c);
    }
    __syncthreads();
    end_iteration<THREADS_AT_ONCE>(args, plan);
}

/* The best trial becomes a centroid, and its list the next trials (kmeans.h). */
__global__ void __launch_bounds__(THREADS)
    take_trial(struct kmeans_device m, int n_drawn, int n_trials, int most)
{
    const size_t d = m.d;
    int best = 0, first = n_drawn;
    int64_t least = m.potential[0];
    for (int i = 1; i < n_trials; i++) {
        const int64_t v = m.potential[i];
        best = v < least ? i : best;
        least = v < least ? v : least;
    }
    const double unit = kmeans_potential_unit(m.state, least, n_trials > 0);
    const struct kmeans_pick *list = m.drawn + best * most;
    const double *cells = m.pick_cells + (size_t)best * most * d;
    for (size_t j = threadIdx.x; n_trials > 0 && j < d; j += THREADS) {
        m.centroid[first * d + j] = m.centroid[(first + best) * d + j];
    }
    first += n_trials > 0 ? 1 : 0;
    __syncthreads(); /* a trial's row may be written over */
    for (size_t i = threadIdx.x; i < most * d; i += THREADS) {
        const size_t row = i / d;
        const struct kmeans_pick of = list[list[row].point != UINT64_MAX ? row : 0];
        m.centroid[first * d + i] =
            of.point != UINT64_MAX ? cells[of.cluster * d + i % d] : m.centroid[i % d];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < most * most; i += THREADS) {
        m.drawn[i] = kmeans_no_pick();
    }
    for (int i = threadIdx.x; i < most; i += THREADS) {
        m.potential[i] = 0;
    }
    if (threadIdx.x == 0) {
        m.state->potential_unit = unit;
    }
}

/* Whether one block updates such a model, in one launch. It has room for MEANS_AT_ONCE means;
 * STEPS_AT_ONCE is a question of time. */
bool is_small(size_t k, size_t d)
{
    return k * d <= MEANS_AT_ONCE && k * d * k <= STEPS_AT_ONCE;
}

} // namespace

enum status kmeans_cuda_take(struct queue *q, const struct kmeans_model *m)
{
    STATUS_TRY(cuda_expect(m->at, 1, kmeans_model_bytes(m->k, m->n_columns), "a model of k-means"));
    if (m->n_drawn >= m->k) {
        return status_fail(STATUS_INTERNAL, "centroid %zu of %zu", m->n_drawn, m->k);
    }
    cuda_work work(cuda_queue_of(q), STREAM_COMPUTE, {kmeans_access(m)});
    STATUS_TRY(work.status);
    take_trial<<<1, THREADS, 0, work.stream>>>(kmeans_on_device(m), (int)m->n_drawn,
                                               (int)m->n_trials, (int)kmeans_trials(m->k));
    STATUS_TRY(cuda_launched("taking a centroid"));
    return work.done();
}

enum status kmeans_cuda_update(struct queue *q, const struct kmeans_model *m)
{
    const size_t k = m->k, d = m->n_columns;
    if (k == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(cuda_expect(m->at, 1, kmeans_model_bytes(k, d), "a model of k-means"));
    cuda_work work(cuda_queue_of(q), STREAM_COMPUTE, {kmeans_access(m)});
    STATUS_TRY(work.status);
    update_args args = {kmeans_on_device(m),   nullptr, nullptr, nullptr, nullptr,
                        k * d <= MOST_COMPARED};
    if (is_small(k, d)) {
        update_at_once<<<1, THREADS_AT_ONCE, 0, work.stream>>>(args);
        STATUS_TRY(cuda_launched("an update"));
        return work.done();
    }
    char *scratch = nullptr;
    const size_t head = 64;
    STATUS_TRY(cuda_queue_scratch(cuda_queue_of(q), STREAM_COMPUTE,
                                  head + k * (d + 2) * sizeof(double), (void **)&scratch));
    args.plan = (struct plan *)scratch;
    args.moved = (double *)(scratch + head);
    args.between = args.moved + k;
    args.next = args.between + k;
    plan_update<<<1, THREADS, 0, work.stream>>>(args);
    STATUS_TRY(cuda_launched("planning an update"));
    update_clusters<<<(unsigned)k, THREADS, 0, work.stream>>>(args);
    STATUS_TRY(cuda_launched("the next centroids"));
    if (m->incremental && args.compared) {
        compare_centroids<<<(unsigned)k, THREADS, 0, work.stream>>>(args);
        STATUS_TRY(cuda_launched("comparing centroids"));
    }
    end_update<<<1, THREADS, 0, work.stream>>>(args);
    STATUS_TRY(cuda_launched("ending an iteration"));
    return work.done();
}
