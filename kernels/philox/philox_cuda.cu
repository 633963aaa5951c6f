/*
 * philox_cuda - random walks: the factors in parallel, the walk in sequence.
 *
 * Mapping: a block takes 32 series, in steps of STEP samples. All its threads make the factors
 * 1 + epsilon u of the step (a thread four words of the generator), then 32 of them walk, a series
 * each, and all write the step's samples out, 128 or more bytes of a row at a time.
 * Bytes: 4 or 8 a sample out. Operations: some 25 integer ones a sample; the walk's own product
 * waits for the one before, 32 series a warp.
 * Bits: those of the CPU; the rules are philox_rule.h's.
 */
#include "kernels/base/queue_cuda.h"
#include "kernels/philox/philox.h"
#include "kernels/philox/philox_rule.h"

namespace
{

const int THREADS = 256, SERIES = 32, STEP = 64;

struct walk_args {
    struct philox_walk walk;
    struct series_rows out;
};

template <typename T> __global__ void __launch_bounds__(THREADS) walk_series(walk_args args)
{
    /* one more, so that a series' column lies across the banks */
    __shared__ double step[SERIES][STEP + 1];
    const size_t first = blockIdx.x * (size_t)SERIES;
    const size_t n_samples = args.out.n_samples;
    T *out = (T *)args.out.at.at;
    double value = args.walk.start;
    for (size_t t0 = 0; t0 < n_samples; t0 += STEP) {
        for (int k = threadIdx.x; k < SERIES * STEP / 4; k += THREADS) {
            const int series = k / (STEP / 4), block = k % (STEP / 4);
            const struct philox_words w =
                philox_block(args.walk.seed, args.out.first + first + series, t0 / 4 + block);
            for (int i = 0; i < 4; i++) {
                step[series][4 * block + i] = philox_factor(args.walk.epsilon, w.w[i]);
            }
        }
        __syncthreads();
        if (threadIdx.x < SERIES) {
            for (int t = 0; t < STEP; t++) {
                /* the first sample is the start itself */
                value = t0 + t == 0 ? value : philox_step(value, step[threadIdx.x][t]);
                step[threadIdx.x][t] = value;
            }
        }
        __syncthreads();
        for (int k = threadIdx.x; k < SERIES * STEP; k += THREADS) {
            const int series = k / STEP, t = k % STEP;
            if (first + series < args.out.n_series && t0 + t < n_samples) {
                out[(first + series) * n_samples + t0 + t] = (T)step[series][t];
            }
        }
        __syncthreads();
    }
}

enum status walk_rows(struct queue *queue, const struct philox_walk *walk,
                      const struct series_rows *out)
{
    if (out->n_series == 0 || out->n_samples == 0) {
        return STATUS_OK;
    }
    const size_t row = out->n_samples * dtype_bytes(out->type);
    STATUS_TRY(cuda_expect(out->at, out->n_series, row, "random walks"));
    cuda_work work(cuda_queue_of(queue), STREAM_COMPUTE,
                   {queue_writes(out->at.at, series_rows_bytes(out))});
    STATUS_TRY(work.status);
    const unsigned blocks = (unsigned)cuda_pieces(out->n_series, SERIES);
    auto kernel = out->type == DTYPE_F32 ? walk_series<float> : walk_series<double>;
    const walk_args args = {*walk, *out};
    kernel<<<blocks, THREADS, 0, work.stream>>>(args);
    STATUS_TRY(cuda_launched("random walks"));
    return work.done();
}

} // namespace

const struct philox_kernels cuda_philox = {.walk_rows = walk_rows};
