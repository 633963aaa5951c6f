/*
 * sciddicat_cuda - the automaton on the device: runs, the choice of how to step, reports.
 *
 * As long as what moves fits the shared memory of one cluster, a cluster makes all steps
 * (cuda_sciddicat_cluster); from then on, and on devices without clusters, every step is a kernel
 * over a list of tiles (cuda_sciddicat_sweep). The bits are the same, also those of the CPU.
 */
#include "kernels/sciddicat/sciddicat_carver.h"
#include "kernels/sciddicat/sciddicat_list_rule.h"
#include "kernels/sciddicat/sciddicat_run_cuda.h"

#include <new>

namespace
{

const int THREADS = 256;
const size_t ALIGN = 256; /* bytes, of arrays */

/* --- memory ----------------------------------------------------------------------------------- */

template <typename T> void carve_array(carver *c, size_t n, T **piece)
{
    *piece = (T *)carve(c, n, sizeof(T));
}

void carve_all(carver *c, cuda_sciddicat_run *r)
{
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
    carve_array(c, r->p.rows, &r->figures);
    carve_array(c, 1, &r->answer);
    carve_array(c, 1 + sciddicat_n_groups(r->p.rows), &r->busy);
}

enum status shape(cuda_sciddicat_run *r, const struct sciddicat_params *p)
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
    cuda_sciddicat_own(r, 0, p->rows);
    return STATUS_OK;
}

size_t run_bytes(const struct sciddicat_params *p)
{
    cuda_sciddicat_run r;
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
    z[k] = (of & SCIDDICAT_ACCEPTS) != 0 ? g.z[k] : HUGE_VAL; /* never takes a flow */
    kind[k] = (unsigned char)of;
    h0[k] = h1[k] = h;
    m.max_h[k] = (of & SCIDDICAT_LIVE) != 0 ? h : 0;
    m.arrival[k] = h > m.epsilon ? 0 : -1;
}

/* A block a tile in which a step looks: how hot is it? */
__global__ void __launch_bounds__(SCIDDICAT_TILE_CELLS) find_hot(sciddicat_map m, const double *h)
{
    for (long long tile = m.first_tile + (long long)blockIdx.x; tile < m.last_tile;
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

enum status start(struct queue *queue, cuda_sciddicat_run *r, const given &g)
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
    STATUS_TRY(cuda_sciddicat_find_hot(r, work.stream));
    CUDA_TRY(cudaMemsetAsync(r->map.progress, 0, sizeof *r->map.progress, work.stream),
             "the start of the automaton");
    return work.done();
}

void run_close(struct queue *queue, void *run)
{
    cuda_sciddicat_run *r = (cuda_sciddicat_run *)run;
    if (r != nullptr) {
        cuda_release(queue, r->memory);
        delete r;
    }
}

enum status open_run(struct queue *queue, cuda_sciddicat_run *r, const struct sciddicat_params *p,
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
    int n_clusters;
    r->cluster_size = cuda_sciddicat_cluster_size(cuda_queue_of(queue)->backend, &n_clusters);
    r->map.walls = counts && p->nodata == SCIDDICAT_WALL;
    const given g = {(const double *)in->z.at, (const double *)in->h.at,
                     counts ? (const unsigned char *)in->nodata.at : nullptr, r->map.walls};
    return start(queue, r, g);
}

enum status run_open(struct queue *queue, const struct sciddicat_params *p,
                     const struct sciddicat_input *in, void **out)
{
    *out = nullptr;
    cuda_sciddicat_run *r = new (std::nothrow) cuda_sciddicat_run();
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

/* --- steps ------------------------------------------------------------------------------------ */

bool by_cluster(const cuda_sciddicat_run *r)
{
    return r->cluster_size > 0 && !r->sweeping;
}

/* A cluster a run, as far as it can: of those that are not made by lists. */
enum status launch_clusters(void *const *runs, size_t n, uint64_t n_steps, cudaStream_t stream)
{
    struct sciddicat_cluster_job jobs[SCIDDICAT_MOST_CLUSTERS];
    int size = 0;
    unsigned n_jobs = 0;
    for (size_t i = 0; i < n; i++) {
        const cuda_sciddicat_run *const r = (const cuda_sciddicat_run *)runs[i];
        if (by_cluster(r)) {
            size = r->cluster_size;
            jobs[n_jobs++] = {r->map, r->h[0], r->step, (unsigned)cuda_min(n_steps, 1u << 31)};
        }
        if (n_jobs > 0 && (n_jobs == SCIDDICAT_MOST_CLUSTERS || i + 1 == n)) {
            STATUS_TRY(cuda_sciddicat_cluster(jobs, n_jobs, size, stream));
            n_jobs = 0;
        }
    }
    return STATUS_OK;
}

/* A kernel a step, from now on. */
enum status launch_lists(const struct cuda_backend *b, cuda_sciddicat_run *r, uint64_t n_steps,
                         cudaStream_t stream)
{
    if (!r->sweeping) {
        STATUS_TRY(cuda_sciddicat_begin_lists(r, r->step, stream));
    }
    return cuda_sciddicat_steps(b, r, n_steps, stream);
}

enum status launch_figures(cuda_sciddicat_run *r, cudaStream_t stream)
{
    STATUS_TRY(cuda_sciddicat_figures(r, stream));
    return cuda_sciddicat_answer_of(r, stream);
}

/* All memory of the runs, and what lies between. */
struct queue_access memory_of(void *const *runs, size_t n)
{
    struct queue_access all = {};
    for (size_t i = 0; i < n; i++) {
        const struct span s = ((const cuda_sciddicat_run *)runs[i])->memory;
        const char *const begin = (const char *)s.at, *const end = begin + s.bytes;
        all.begin = i == 0 || begin < all.begin ? begin : all.begin;
        all.end = end > all.end ? end : all.end;
    }
    return queue_writes(all.begin, (size_t)(all.end - all.begin));
}

enum status run_step(struct queue *queue, void *const *runs, size_t n, uint64_t n_steps)
{
    struct cuda_queue *q = cuda_queue_of(queue);
    cuda_work work(q, STREAM_COMPUTE, {memory_of(runs, n)});
    STATUS_TRY(work.status);
    if (n_steps > 0) {
        STATUS_TRY(launch_clusters(runs, n, n_steps, work.stream));
    }
    for (size_t i = 0; i < n; i++) {
        cuda_sciddicat_run *const r = (cuda_sciddicat_run *)runs[i];
        r->target = r->step + n_steps;
        if (!by_cluster(r)) {
            STATUS_TRY(launch_lists(q->backend, r, n_steps, work.stream));
        }
        STATUS_TRY(launch_figures(r, work.stream));
    }
    return work.done();
}

/* The steps that its cluster has not made. */
enum status make_rest(struct cuda_queue *q, cuda_sciddicat_run *r,
                      struct cuda_sciddicat_answer *answer)
{
    {
        cuda_work work(q, STREAM_COMPUTE, {queue_writes(r->memory.at, r->memory.bytes)});
        STATUS_TRY(work.status);
        STATUS_TRY(launch_lists(q->backend, r, r->target - r->step, work.stream));
        STATUS_TRY(launch_figures(r, work.stream));
        STATUS_TRY(work.done());
    }
    return cuda_read_back(q, answer, r->answer, sizeof *answer);
}

enum status report_one(struct cuda_queue *q, cuda_sciddicat_run *r, struct sciddicat_report *out)
{
    struct cuda_sciddicat_answer answer;
    STATUS_TRY(cuda_read_back(q, &answer, r->answer, sizeof answer));
    if (by_cluster(r)) {
        r->step = answer.progress.done;
    }
    if (r->step < r->target) {
        STATUS_TRY(make_rest(q, r, &answer));
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

enum status run_report(struct queue *queue, void *const *runs, size_t n,
                       struct sciddicat_report *out)
{
    for (size_t i = 0; i < n; i++) {
        STATUS_TRY(report_one(cuda_queue_of(queue), (cuda_sciddicat_run *)runs[i], &out[i]));
    }
    return STATUS_OK;
}

enum status run_advance(struct queue *queue, void *run, uint64_t n_steps,
                        struct sciddicat_report *out)
{
    STATUS_TRY(run_step(queue, &run, 1, n_steps));
    return run_report(queue, &run, 1, out);
}

/* As many rounds of clusters as one launch takes. */
size_t run_side_by_side(const struct queue *queue)
{
    const struct cuda_backend *const b = ((const struct cuda_queue *)queue)->backend;
    int n = 0;
    if (cudaSetDevice(b->device) == cudaSuccess) {
        (void)cuda_sciddicat_cluster_size(b, &n);
    }
    const size_t at_once = (size_t)n, most = SCIDDICAT_MOST_CLUSTERS;
    return n == 0 ? 1 : at_once > most ? most : most / at_once * at_once;
}

/* Of cells [first, last). */
__global__ void largest_ever(sciddicat_map m, const double *h, long long first, long long last,
                             double *out)
{
    const long long k = first + blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (k < last) {
        out[k - first] = (m.kind[k] & SCIDDICAT_LIVE) != 0 ? m.max_h[k] : h[k];
    }
}

enum status download_largest(struct queue *queue, cuda_sciddicat_run *r, size_t first, size_t n,
                             double *to)
{
    cuda_span all(queue);
    STATUS_TRY(all.alloc(n * sizeof(double)));
    {
        cuda_work work(cuda_queue_of(queue), STREAM_COMPUTE,
                       {queue_reads(r->memory.at, r->memory.bytes),
                        queue_writes(all.span.at, all.span.bytes)});
        STATUS_TRY(work.status);
        largest_ever<<<(unsigned)cuda_pieces(n, THREADS), THREADS, 0, work.stream>>>(
            r->map, cuda_sciddicat_present(r), (long long)first, (long long)(first + n),
            all.as<double>());
        STATUS_TRY(cuda_launched("the largest thickness"));
        STATUS_TRY(work.done());
    }
    return cuda_download(queue, to, all.span, all.span.bytes);
}

enum status run_state(struct queue *queue, void *run, double *h, double *max_h, int32_t *arrival)
{
    cuda_sciddicat_run *r = (cuda_sciddicat_run *)run;
    struct cuda_queue *q = cuda_queue_of(queue);
    const size_t first = r->first * r->p.columns, n = r->last * r->p.columns - first;
    if (h != nullptr) {
        STATUS_TRY(cuda_read_back(q, h, cuda_sciddicat_present(r) + first, n * sizeof *h));
    }
    if (max_h != nullptr) {
        STATUS_TRY(download_largest(queue, r, first, n, max_h));
    }
    if (arrival != nullptr) {
        STATUS_TRY(cuda_read_back(q, arrival, r->map.arrival + first, n * sizeof *arrival));
    }
    return STATUS_OK;
}

} // namespace

void cuda_sciddicat_own(struct cuda_sciddicat_run *r, size_t first, size_t last)
{
    const size_t rows = r->p.rows, ghosts = SCIDDICAT_GHOST_ROWS, tile = SCIDDICAT_TILE;
    const size_t top = first < ghosts ? 0 : first - ghosts;
    const size_t bottom = rows - last < ghosts ? rows : last + ghosts;
    struct sciddicat_map *m = &r->map;
    r->first = first;
    r->last = last;
    m->top = (long long)top;
    m->bottom = (long long)bottom;
    m->first_tile = (int)(top / tile) * m->tile_columns;
    m->last_tile = (int)cuda_pieces(bottom, tile) * m->tile_columns;
    m->first_owned = (int)(first / tile) * m->tile_columns;
    m->last_owned = (int)cuda_pieces(last, tile) * m->tile_columns;
}

enum status cuda_sciddicat_find_hot(struct cuda_sciddicat_run *r, cudaStream_t stream)
{
    const unsigned n = (unsigned)(r->map.last_tile - r->map.first_tile);
    find_hot<<<cuda_min(n, 1u << 20), SCIDDICAT_TILE_CELLS, 0, stream>>>(r->map,
                                                                         cuda_sciddicat_present(r));
    return cuda_launched("hot tiles");
}

enum status cuda_sciddicat_begin_lists(struct cuda_sciddicat_run *r, uint64_t step,
                                       cudaStream_t stream)
{
    const size_t first = (size_t)r->map.top * r->p.columns;
    const size_t bytes = ((size_t)r->map.bottom * r->p.columns - first) * sizeof(double);
    double *const now = cuda_sciddicat_present(r);
    double *const other = now == r->h[0] ? r->h[1] : r->h[0];
    CUDA_TRY(cudaMemcpyAsync(other + first, now + first, bytes, cudaMemcpyDeviceToDevice, stream),
             "the second copy of h");
    STATUS_TRY(cuda_sciddicat_enlist(&r->map, &r->lists, step, stream));
    r->step = step;
    r->sweeping = true;
    return STATUS_OK;
}

enum status cuda_sciddicat_steps(const struct cuda_backend *b, struct cuda_sciddicat_run *r,
                                 uint64_t n_steps, cudaStream_t stream)
{
    const unsigned tiles = (unsigned)(r->map.last_tile - r->map.first_tile);
    const cudaDeviceProp *const p = &b->properties;
    const unsigned blocks = (unsigned)cuda_min(
        tiles, sciddicat_list_blocks((size_t)p->multiProcessorCount, p->sharedMemPerMultiprocessor,
                                     p->reservedSharedMemPerBlock));
    for (uint64_t i = 0; i < n_steps; i++) {
        STATUS_TRY(cuda_sciddicat_sweep(&r->map, &r->lists, r->h, r->step, blocks, stream));
        r->step++;
    }
    return STATUS_OK;
}

const struct sciddicat_kernels cuda_sciddicat = {.bytes = run_bytes,
                                                 .open = run_open,
                                                 .close = run_close,
                                                 .advance = run_advance,
                                                 .step = run_step,
                                                 .report = run_report,
                                                 .side_by_side = run_side_by_side,
                                                 .state = run_state,
                                                 .member = &cuda_sciddicat_member};
