/*
 * sciddicat_cuda - the automaton on the device: runs, the choice of how to step, reports.
 *
 * As long as what moves fits the shared memory of one cluster, a cluster makes all steps
 * (cuda_sciddicat_cluster); from then on, and on devices without clusters, every step is a kernel
 * over a list of tiles (cuda_sciddicat_sweep). The bits are the same, also those of the CPU.
 *
 * Reports: a warp a row makes the 32 partial sums that the contract fixes, then a warp a statistic
 * adds the rows. Bytes: h and kinds once.
 */
#include "kernels/base/reduce_cuda.h"
#include "kernels/sciddicat/sciddicat_carver.h"
#include "kernels/sciddicat/sciddicat_cuda.h"

#include <new>

namespace
{

const int THREADS = 256, WARPS = THREADS / 32;
const size_t ALIGN = 256; /* bytes, of arrays */
/* Blocks of a step over a list: about as many as the device holds. */
const unsigned BLOCKS_A_MULTIPROCESSOR = 4;
/* Steps that a cluster makes in one kernel: their number fits 32 bits. */
const uint64_t CLUSTER_STEPS = (uint64_t)1 << 30;

/* Of the rows, a field after the other, then those of the map. */
struct stats {
    double *mass, *lost_edge, *lost_nodata, *largest;
    unsigned long long *n_active;
};

struct answer {
    double mass, lost_edge, lost_nodata, largest;
    unsigned long long n_active;
    struct sciddicat_progress progress;
};

struct sciddicat_run {
    struct sciddicat_params p;
    struct sciddicat_map map;
    struct sciddicat_lists lists;
    struct stats rows;
    struct answer *answer;
    struct span memory;
    double *h[2]; /* of even and odd steps, when swept */
    uint64_t step;
    size_t cells;
    size_t tiles;
    int cluster_size;
    bool sweeping; /* both copies of h are the same but where listed */
};

/* --- memory ----------------------------------------------------------------------------------- */

template <typename T> void carve_array(carver *c, size_t n, T **piece)
{
    *piece = (T *)carve(c, n, sizeof(T));
}

void carve_all(carver *c, sciddicat_run *r)
{
    const size_t rows = r->p.rows;
    carve_array(c, r->cells, &r->map.z);
    carve_array(c, r->cells, &r->map.kind);
    carve_array(c, r->cells, &r->map.max_h);
    carve_array(c, r->cells, &r->map.arrival);
    carve_array(c, r->cells, &r->h[0]);
    carve_array(c, r->cells, &r->h[1]);
    carve_array(c, r->tiles, &r->map.hot);
    carve_array(c, r->tiles, &r->map.place);
    carve_array(c, r->tiles, &r->lists.tile[0]);
    carve_array(c, r->tiles, &r->lists.tile[1]);
    carve_array(c, r->tiles, &r->lists.listed_for);
    carve_array(c, 3, &r->lists.n);
    carve_array(c, 1, &r->map.progress);
    carve_array(c, rows, &r->rows.mass);
    carve_array(c, rows, &r->rows.lost_edge);
    carve_array(c, rows, &r->rows.lost_nodata);
    carve_array(c, rows, &r->rows.largest);
    carve_array(c, rows, &r->rows.n_active);
    carve_array(c, 1, &r->answer);
}

enum status shape(sciddicat_run *r, const struct sciddicat_params *p)
{
    size_t cells;
    STATUS_TRY(sciddicat_count_cells(p, &cells));
    *r = {};
    r->p = *p;
    r->cells = cells;
    r->map.rows = (long long)p->rows;
    r->map.columns = (long long)p->columns;
    r->map.tile_rows = (int)cuda_pieces(p->rows, SCIDDICAT_TILE);
    r->map.tile_columns = (int)cuda_pieces(p->columns, SCIDDICAT_TILE);
    r->map.epsilon = p->epsilon;
    r->map.r = p->r;
    r->tiles = (size_t)r->map.tile_rows * (size_t)r->map.tile_columns;
    return STATUS_OK;
}

size_t run_bytes(const struct sciddicat_params *p)
{
    sciddicat_run r;
    carver c = {nullptr, ALIGN, 0, false};
    if (shape(&r, p) != STATUS_OK) {
        return 0;
    }
    carve_all(&c, &r);
    return carver_bytes(&c);
}

/* --- the start -------------------------------------------------------------------------------- */

struct given {
    const double *z, *h;
    const unsigned char *nodata; /* nullptr: none that counts */
    bool wall;
};

/* A thread a cell. */
__global__ void start_cells(sciddicat_map m, given g, double *z, unsigned char *kind, double *h0,
                            double *h1)
{
    const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (k >= m.rows * m.columns) {
        return;
    }
    const long long i = k / m.columns, j = k % m.columns;
    const bool ring = i == 0 || j == 0 || i == m.rows - 1 || j == m.columns - 1;
    const int of = sciddicat_kind_of(ring, g.nodata != nullptr && g.nodata[k] != 0, g.wall);
    const double h = __dadd_rn(g.h[k], 0.0);
    z[k] = g.z[k];
    kind[k] = (unsigned char)of;
    h0[k] = h1[k] = h;
    m.max_h[k] = (of & SCIDDICAT_LIVE) != 0 ? h : 0;
    m.arrival[k] = h > m.epsilon ? 0 : -1;
}

/* A block a tile: how hot is it? */
__global__ void __launch_bounds__(SCIDDICAT_TILE_CELLS) find_hot(sciddicat_map m, const double *h)
{
    for (long long tile = blockIdx.x; tile < (long long)m.tile_rows * m.tile_columns;
         tile += gridDim.x) {
        const long long i = sciddicat_tile_row(m, (int)tile) + threadIdx.x / SCIDDICAT_TILE;
        const long long j = sciddicat_tile_column(m, (int)tile) + threadIdx.x % SCIDDICAT_TILE;
        const long long k = i * m.columns + j;
        const bool active =
            sciddicat_inside(m, i, j) && (m.kind[k] & SCIDDICAT_LIVE) != 0 && h[k] > m.epsilon;
        const int n_active = __syncthreads_count(active);
        if (threadIdx.x == 0) {
            m.hot[tile] = sciddicat_heat((unsigned)n_active);
        }
    }
}

enum status start(struct queue *queue, sciddicat_run *r, const given &g)
{
    cuda_work work(cuda_queue_of(queue), STREAM_COMPUTE,
                   {queue_writes(r->memory.at, r->memory.bytes),
                    queue_reads(g.z, r->cells * sizeof *g.z),
                    queue_reads(g.h, r->cells * sizeof *g.h),
                    queue_reads(g.nodata, g.nodata == nullptr ? 0 : r->cells)});
    STATUS_TRY(work.status);
    start_cells<<<(unsigned)cuda_pieces(r->cells, THREADS), THREADS, 0, work.stream>>>(
        r->map, g, (double *)r->map.z, r->map.kind, r->h[0], r->h[1]);
    STATUS_TRY(cuda_launched("the start of the automaton"));
    find_hot<<<(unsigned)cuda_min(r->tiles, 1u << 20), SCIDDICAT_TILE_CELLS, 0, work.stream>>>(
        r->map, r->h[0]);
    STATUS_TRY(cuda_launched("the start of the automaton"));
    CUDA_TRY(cudaMemsetAsync(r->map.progress, 0, sizeof *r->map.progress, work.stream),
             "the start of the automaton");
    return work.done();
}

void run_close(struct queue *queue, void *run)
{
    sciddicat_run *r = (sciddicat_run *)run;
    if (r != nullptr) {
        cuda_release(queue, r->memory);
        delete r;
    }
}

enum status open_run(struct queue *queue, sciddicat_run *r, const struct sciddicat_params *p,
                     const struct sciddicat_input *in)
{
    carver c = {nullptr, ALIGN, 0, false};
    STATUS_TRY(shape(r, p));
    STATUS_TRY(cuda_expect(in->z, r->cells, sizeof(double), "z"));
    STATUS_TRY(cuda_expect(in->h, r->cells, sizeof(double), "h"));
    const bool counts = in->nodata.at != nullptr && p->nodata != SCIDDICAT_COMPAT;
    if (counts) {
        STATUS_TRY(cuda_expect(in->nodata, r->cells, 1, "nodata"));
    }
    carve_all(&c, r);
    STATUS_TRY(cuda_alloc(queue, carver_bytes(&c), &r->memory));
    c = {(char *)r->memory.at, ALIGN, 0, false};
    carve_all(&c, r);
    r->cluster_size = cuda_sciddicat_cluster_size(cuda_queue_of(queue)->backend);
    r->map.walls = counts && p->nodata == SCIDDICAT_WALL;
    const given g = {(const double *)in->z.at, (const double *)in->h.at,
                     counts ? (const unsigned char *)in->nodata.at : nullptr, r->map.walls};
    return start(queue, r, g);
}

enum status run_open(struct queue *queue, const struct sciddicat_params *p,
                     const struct sciddicat_input *in, void **out)
{
    *out = nullptr;
    sciddicat_run *r = new (std::nothrow) sciddicat_run();
    if (r == nullptr) {
        return status_fail(STATUS_NO_MEMORY, "no memory for a run (%zu bytes)", sizeof *r);
    }
    const enum status status = open_run(queue, r, p, in);
    if (status != STATUS_OK) {
        run_close(queue, r);
        return status;
    }
    *out = r;
    return STATUS_OK;
}

/* --- reports ---------------------------------------------------------------------------------- */

__device__ __forceinline__ unsigned long long warp_count(unsigned long long n)
{
    for (int step = 16; step > 0; step >>= 1) {
        n += __shfl_xor_sync(0xffffffffu, n, step);
    }
    return n;
}

/* A warp a row. */
__global__ void __launch_bounds__(THREADS) row_stats(sciddicat_map m, const double *h, stats f)
{
    const long long i = blockIdx.x * (long long)WARPS + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (i >= m.rows) {
        return;
    }
    double mass = 0, edge = 0, nodata = 0, largest = h[i * m.columns];
    unsigned long long active = 0;
    for (long long j = lane; j < m.columns; j += 32) {
        const long long k = i * m.columns + j;
        const double x = h[k];
        const unsigned kind = m.kind[k];
        mass += x;
        largest = greater(x, largest);
        active += x > m.epsilon;
        if ((kind & SCIDDICAT_RING) != 0) {
            edge += m.max_h[k];
        } else if ((kind & SCIDDICAT_LIVE) == 0) {
            nodata += m.max_h[k];
        }
    }
    mass = warp_sum(mass);
    edge = warp_sum(edge);
    nodata = warp_sum(nodata);
    largest = warp_max(largest);
    active = warp_count(active);
    if (lane == 0) {
        f.mass[i] = mass;
        f.lost_edge[i] = edge;
        f.lost_nodata[i] = nodata;
        f.largest[i] = largest;
        f.n_active[i] = active;
    }
}

/* One block, a warp a statistic. */
__global__ void map_stats(stats f, long long rows, const sciddicat_progress *progress, answer *out)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const double *sums[3] = {f.mass, f.lost_edge, f.lost_nodata};
    double *to[3] = {&out->mass, &out->lost_edge, &out->lost_nodata};
    if (warp < 3) {
        double sum = 0;
        for (long long i = lane; i < rows; i += 32) {
            sum += sums[warp][i];
        }
        sum = warp_sum(sum);
        if (lane == 0) {
            *to[warp] = sum;
        }
        return;
    }
    double largest = f.largest[0];
    unsigned long long active = 0;
    for (long long i = lane; i < rows; i += 32) {
        largest = greater(f.largest[i], largest);
        active += f.n_active[i];
    }
    largest = warp_max(largest);
    active = warp_count(active);
    if (lane == 0) {
        out->largest = largest;
        out->n_active = active;
        out->progress = *progress;
    }
}

enum status launch_report(sciddicat_run *r, const double *h, cudaStream_t stream)
{
    row_stats<<<(unsigned)cuda_pieces(r->p.rows, WARPS), THREADS, 0, stream>>>(r->map, h, r->rows);
    STATUS_TRY(cuda_launched("statistics of the rows"));
    map_stats<<<1, 4 * 32, 0, stream>>>(r->rows, r->map.rows, r->map.progress, r->answer);
    return cuda_launched("statistics of the map");
}

/* --- steps ------------------------------------------------------------------------------------ */

/* The copy of h that holds the present state. */
double *present(const sciddicat_run *r)
{
    return r->sweeping ? r->h[r->step % 2] : r->h[0];
}

/* By a cluster, as far as it can. */
enum status advance_cluster(struct queue *queue, sciddicat_run *r, uint64_t n_steps,
                            struct answer *answer)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    {
        cuda_work work(q, STREAM_COMPUTE, {queue_writes(r->memory.at, r->memory.bytes)});
        STATUS_TRY(work.status);
        for (uint64_t done = 0; done < n_steps; done += CLUSTER_STEPS) {
            const uint64_t left = n_steps - done;
            STATUS_TRY(
                cuda_sciddicat_cluster(&r->map, r->h[0], r->step + done,
                                       (unsigned)(left < CLUSTER_STEPS ? left : CLUSTER_STEPS),
                                       r->cluster_size, work.stream));
        }
        STATUS_TRY(launch_report(r, r->h[0], work.stream));
        STATUS_TRY(work.done());
    }
    STATUS_TRY(cuda_read_back(q, answer, r->answer, sizeof *answer));
    r->step = answer->progress.done;
    return STATUS_OK;
}

/* From here on by lists: both copies of h become the same, and the hot tiles are listed. */
enum status begin_sweeping(sciddicat_run *r, cudaStream_t stream)
{
    CUDA_TRY(cudaMemcpyAsync(r->h[1], r->h[0], r->cells * sizeof(double), cudaMemcpyDeviceToDevice,
                             stream),
             "the second copy of h");
    STATUS_TRY(cuda_sciddicat_enlist(&r->map, &r->lists, r->step, stream));
    r->sweeping = true;
    return STATUS_OK;
}

enum status advance_sweep(struct queue *queue, sciddicat_run *r, uint64_t n_steps,
                          struct answer *answer)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    const unsigned multiprocessors = (unsigned)q->backend->properties.multiProcessorCount;
    const unsigned blocks =
        (unsigned)cuda_min(r->tiles, (size_t)multiprocessors * BLOCKS_A_MULTIPROCESSOR);
    {
        cuda_work work(q, STREAM_COMPUTE, {queue_writes(r->memory.at, r->memory.bytes)});
        STATUS_TRY(work.status);
        if (!r->sweeping) {
            STATUS_TRY(begin_sweeping(r, work.stream));
        }
        for (uint64_t i = 0; i < n_steps; i++) {
            STATUS_TRY(
                cuda_sciddicat_sweep(&r->map, &r->lists, r->h, r->step, blocks, work.stream));
            r->step++;
        }
        STATUS_TRY(launch_report(r, present(r), work.stream));
        STATUS_TRY(work.done());
    }
    return cuda_read_back(q, answer, r->answer, sizeof *answer);
}

enum status run_advance(struct queue *queue, void *run, uint64_t n_steps,
                        struct sciddicat_report *out)
{
    sciddicat_run *r = (sciddicat_run *)run;
    const uint64_t target = r->step + n_steps;
    struct answer answer;
    if (r->cluster_size > 0 && !r->sweeping) {
        STATUS_TRY(advance_cluster(queue, r, n_steps, &answer));
    }
    if (r->step < target || r->cluster_size == 0 || r->sweeping) {
        STATUS_TRY(advance_sweep(queue, r, target - r->step, &answer));
    }
    *out = {};
    out->step = r->step;
    out->mass = answer.mass;
    out->lost_edge = answer.lost_edge;
    out->lost_nodata = answer.lost_nodata;
    out->largest = answer.largest;
    out->n_active = answer.n_active;
    out->moved = r->step > 0 && answer.progress.moved_at == r->step;
    return STATUS_OK;
}

__global__ void largest_ever(sciddicat_map m, const double *h, double *out)
{
    const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (k < m.rows * m.columns) {
        out[k] = (m.kind[k] & SCIDDICAT_LIVE) != 0 ? m.max_h[k] : h[k];
    }
}

enum status download_largest(struct queue *queue, sciddicat_run *r, double *to)
{
    cuda_span all(queue);
    STATUS_TRY(all.alloc(r->cells * sizeof(double)));
    {
        cuda_work work(cuda_queue_of(queue), STREAM_COMPUTE,
                       {queue_reads(r->memory.at, r->memory.bytes),
                        queue_writes(all.span.at, all.span.bytes)});
        STATUS_TRY(work.status);
        largest_ever<<<(unsigned)cuda_pieces(r->cells, THREADS), THREADS, 0, work.stream>>>(
            r->map, present(r), all.as<double>());
        STATUS_TRY(cuda_launched("the largest thickness"));
        STATUS_TRY(work.done());
    }
    return cuda_download(queue, to, all.span, all.span.bytes);
}

enum status run_state(struct queue *queue, void *run, double *h, double *max_h, int32_t *arrival)
{
    sciddicat_run *r = (sciddicat_run *)run;
    if (h != nullptr) {
        STATUS_TRY(cuda_read_back(cuda_queue_of(queue), h, present(r), r->cells * sizeof *h));
    }
    if (max_h != nullptr) {
        STATUS_TRY(download_largest(queue, r, max_h));
    }
    if (arrival != nullptr) {
        STATUS_TRY(cuda_read_back(cuda_queue_of(queue), arrival, r->map.arrival,
                                  r->cells * sizeof *arrival));
    }
    return STATUS_OK;
}

} // namespace

const struct sciddicat_kernels cuda_sciddicat = {.bytes = run_bytes,
                                                 .open = run_open,
                                                 .close = run_close,
                                                 .advance = run_advance,
                                                 .state = run_state};
