/*
 * turn_cuda - rows made of columns.
 *
 * Mapping: a block a tile of SIDE x SIDE numbers, read along the series and written along the
 * samples through shared memory, a number of which is left out in each row so that neither way
 * meets the same bank twice; a thread takes every ROWS-th row of the tile.
 * Bytes: the slab in, the same out. Nothing is computed.
 */
#include "kernels/pearson/pearson_cuda.h"

namespace
{

const int SIDE = 32, ROWS = 8;

template <typename T>
__global__ void __launch_bounds__(SIDE *ROWS)
    turn_tiles(const T *from, size_t n_series, size_t n_samples, T *to, size_t stride)
{
    __shared__ T tile[SIDE][SIDE + 1];
    const size_t s0 = blockIdx.x * (size_t)SIDE;
    for (size_t t0 = blockIdx.y * (size_t)SIDE; t0 < n_samples; t0 += gridDim.y * (size_t)SIDE) {
        for (int k = threadIdx.y; k < SIDE; k += ROWS) {
            if (t0 + k < n_samples && s0 + threadIdx.x < n_series) {
                tile[k][threadIdx.x] = from[(t0 + k) * n_series + s0 + threadIdx.x];
            }
        }
        __syncthreads();
        for (int k = threadIdx.y; k < SIDE; k += ROWS) {
            if (s0 + k < n_series && t0 + threadIdx.x < n_samples) {
                to[(s0 + k) * stride + t0 + threadIdx.x] = tile[threadIdx.x][k];
            }
        }
        __syncthreads();
    }
}

template <typename T>
void launch(const struct pearson_slab *slab, struct span out, size_t stride, cudaStream_t stream)
{
    const dim3 grid((unsigned)cuda_pieces(slab->n_series, SIDE),
                    (unsigned)cuda_min(cuda_pieces(slab->n_samples, SIDE), 32768));
    turn_tiles<T><<<grid, dim3(SIDE, ROWS), 0, stream>>>((const T *)slab->at.at, slab->n_series,
                                                         slab->n_samples, (T *)out.at, stride);
}

} // namespace

enum status cuda_turn(struct queue *queue, const struct pearson_slab *slab, struct span out,
                      size_t stride)
{
    const size_t size = dtype_bytes(slab->type);
    if (slab->n_series == 0 || slab->n_samples == 0) {
        return STATUS_OK;
    }
    const size_t reach = ((slab->n_series - 1) * stride + slab->n_samples) * size;
    STATUS_TRY(cuda_expect(slab->at, slab->n_samples, slab->n_series * size, "turn"));
    STATUS_TRY(cuda_expect(out, reach, 1, "turn"));
    cuda_work work(cuda_queue_of(queue), STREAM_COMPUTE,
                   {queue_reads(slab->at.at, slab->n_samples * slab->n_series * size),
                    queue_writes(out.at, reach)});
    STATUS_TRY(work.status);
    if (slab->type == DTYPE_F32) {
        launch<float>(slab, out, stride, work.stream);
    } else {
        launch<double>(slab, out, stride, work.stream);
    }
    STATUS_TRY(cuda_launched("turn"));
    return work.done();
}
