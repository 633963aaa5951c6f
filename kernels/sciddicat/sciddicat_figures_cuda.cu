/*
 * sciddicat_figures_cuda - the figures of rows and of the map: a warp a row makes the 32 partial
 * sums that the contract fixes, then a warp a statistic adds the rows. Bytes: h and kinds once.
 */
#include "kernels/base/reduce_cuda.h"
#include "kernels/sciddicat/sciddicat_run_cuda.h"

namespace
{

const int THREADS = 256, WARPS = THREADS / 32;

__device__ __forceinline__ unsigned long long warp_count(unsigned long long n)
{
    for (int step = 16; step > 0; step >>= 1) {
        n += __shfl_xor_sync(0xffffffffu, n, step);
    }
    return n;
}

/* A warp a row. */
__global__ void __launch_bounds__(THREADS)
    row_figures(sciddicat_map m, const double *h, long long first, long long last,
                sciddicat_row_figures *out)
{
    const long long i = first + blockIdx.x * (long long)WARPS + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (i >= last) {
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
        out[i] = {mass, edge, nodata, largest, active};
    }
}

/* One block, a warp a statistic. */
__global__ void map_figures(const sciddicat_row_figures *row, long long rows,
                            const sciddicat_progress *progress, cuda_sciddicat_answer *out)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    double sciddicat_row_figures::*const sums[3] = {&sciddicat_row_figures::mass,
                                                    &sciddicat_row_figures::lost_edge,
                                                    &sciddicat_row_figures::lost_nodata};
    double *to[3] = {&out->mass, &out->lost_edge, &out->lost_nodata};
    if (warp < 3) {
        double sum = 0;
        for (long long i = lane; i < rows; i += 32) {
            sum += row[i].*sums[warp];
        }
        sum = warp_sum(sum);
        if (lane == 0) {
            *to[warp] = sum;
        }
        return;
    }
    double largest = row[0].largest;
    unsigned long long active = 0;
    for (long long i = lane; i < rows; i += 32) {
        largest = greater(row[i].largest, largest);
        active += row[i].n_active;
    }
    largest = warp_max(largest);
    active = warp_count(active);
    if (lane == 0) {
        out->largest = largest;
        out->n_active = active;
        out->progress = *progress;
    }
}

} // namespace

enum status cuda_sciddicat_figures(struct cuda_sciddicat_run *r, cudaStream_t stream)
{
    row_figures<<<(unsigned)cuda_pieces(r->last - r->first, WARPS), THREADS, 0, stream>>>(
        r->map, cuda_sciddicat_present(r), (long long)r->first, (long long)r->last, r->figures);
    return cuda_launched("figures of the rows");
}

enum status cuda_sciddicat_answer_of(struct cuda_sciddicat_run *r, cudaStream_t stream)
{
    map_figures<<<1, 4 * 32, 0, stream>>>(r->figures, r->map.rows, r->map.progress, r->answer);
    return cuda_launched("figures of the map");
}
