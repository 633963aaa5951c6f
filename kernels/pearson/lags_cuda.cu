/*
 * lags_cuda - of each pair the lag of the larger |r|.
 *
 * Mapping: a block a tile of SIDE x SIDE pairs, whose coefficients are read along the rows of the
 * products into shared memory and kept along the rows of the panel; a thread takes every ROWS-th
 * row of the tile. Tiles without a pair i < j end at once.
 * Bytes: 8 a pair in, and 12 in, and out where they change.
 */
#include "kernels/pearson/pearson_cuda.h"
#include "kernels/pearson/pearson_rule.h"

namespace
{

const int SIDE = 32, ROWS = 8;

__global__ void __launch_bounds__(SIDE *ROWS) keep_tiles(const struct pearson_lagged l)
{
    __shared__ double tile[SIDE][SIDE + 1];
    const size_t i0 = l.i0 + blockIdx.x * (size_t)SIDE, j0 = l.j0 + blockIdx.y * (size_t)SIDE;
    const size_t i_end = l.i0 + l.n_i, j_end = l.j0 + l.n_j;
    /* rows of the products, and their first column */
    const size_t row0 = l.minus ? i0 : j0, row_end = l.minus ? i_end : j_end;
    const size_t column = (l.minus ? j0 : i0) + threadIdx.x, columns = l.minus ? j_end : i_end;
    if (i0 >= j0 + SIDE) {
        return;
    }
    for (int k = threadIdx.y; k < SIDE; k += ROWS) {
        if (row0 + k < row_end && column < columns) {
            tile[k][threadIdx.x] =
                ((const double *)l.products.at)[(row0 + k - l.first) * l.width + column];
        }
    }
    __syncthreads();
    const size_t i = i0 + threadIdx.x;
    for (int k = threadIdx.y; k < SIDE; k += ROWS) {
        const size_t j = j0 + k, at = (j - l.j0) * l.pitch + i;
        if (j < j_end && i < i_end && i < j) {
            pearson_keep_lag(l.minus ? tile[threadIdx.x][k] : tile[k][threadIdx.x],
                             l.minus ? -l.lag : l.lag, l.fresh, (double *)l.r.at + at,
                             (float *)l.lags.at + at);
        }
    }
}

} // namespace

enum status cuda_keep_lag(struct queue *queue, const struct pearson_lagged *l)
{
    const size_t rows = l->minus ? l->i0 + l->n_i : l->j0 + l->n_j;
    if (l->n_j == 0 || l->n_i == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(cuda_expect(l->products, rows - l->first, l->width * sizeof(double), "lags"));
    STATUS_TRY(cuda_expect(l->r, l->n_j, l->pitch * sizeof(double), "lags"));
    STATUS_TRY(cuda_expect(l->lags, l->n_j, l->pitch * sizeof(float), "lags"));
    cuda_work work(cuda_queue_of(queue), STREAM_COMPUTE,
                   {queue_reads(l->products.at, (rows - l->first) * l->width * sizeof(double)),
                    queue_writes(l->r.at, l->n_j * l->pitch * sizeof(double)),
                    queue_writes(l->lags.at, l->n_j * l->pitch * sizeof(float))});
    STATUS_TRY(work.status);
    const dim3 grid((unsigned)cuda_pieces(l->n_i, SIDE), (unsigned)cuda_pieces(l->n_j, SIDE));
    keep_tiles<<<grid, dim3(SIDE, ROWS), 0, work.stream>>>(*l);
    STATUS_TRY(cuda_launched("lags"));
    return work.done();
}
