/*
 * philox_cpu - random walks, one series a task: factors for a stretch of samples are made first, in
 * a loop without dependences that the compiler vectorises, then multiplied up in order.
 */
#include "kernels/base/clones_cpu.h"
#include "kernels/base/queue_cpu.h"
#include "kernels/philox/philox.h"
#include "kernels/philox/philox_rule.h"

#include <stdlib.h>

enum { BLOCKS = 64, STRETCH = 4 * BLOCKS };
enum { TASK_SAMPLES = 1 << 16 };

struct walk_job {
    const struct philox_walk *walk;
    const struct series_rows *out;
    size_t series_per_task;
};

/* Factors of samples 4 * block .. of a series, STRETCH of them. */
CPU_CLONES static void factors(const struct philox_walk *walk, uint64_t series, uint64_t block,
                               double *factor)
{
    uint32_t word[4][BLOCKS];
    for (size_t b = 0; b < BLOCKS; ++b) {
        struct philox_words w = philox_block(walk->seed, series, block + b);
        word[0][b] = w.w[0];
        word[1][b] = w.w[1];
        word[2][b] = w.w[2];
        word[3][b] = w.w[3];
    }
    for (size_t b = 0; b < BLOCKS; ++b) {
        for (size_t k = 0; k < 4; ++k) {
            factor[4 * b + k] = philox_factor(walk->epsilon, word[k][b]);
        }
    }
}

static void walk_series(const struct walk_job *job, size_t s)
{
    const size_t n_samples = job->out->n_samples;
    double factor[STRETCH], value = job->walk->start;
    float *f32 = (float *)job->out->at.at + s * n_samples;
    double *f64 = (double *)job->out->at.at + s * n_samples;
    for (size_t from = 0; from < n_samples; from += STRETCH) {
        size_t n = cpu_min(STRETCH, n_samples - from);
        factors(job->walk, job->out->first + s, from / 4, factor);
        for (size_t k = 0; k < n; ++k) {
            value = from + k == 0 ? value : philox_step(value, factor[k]);
            if (job->out->type == DTYPE_F32) {
                f32[from + k] = (float)value;
            } else {
                f64[from + k] = value;
            }
        }
    }
}

static void walk_body(void *arg, size_t index)
{
    const struct walk_job *job = arg;
    size_t end = cpu_min((index + 1) * job->series_per_task, job->out->n_series);
    for (size_t s = index * job->series_per_task; s < end; ++s) {
        walk_series(job, s);
    }
}

static enum status walk_rows(struct queue *q, const struct philox_walk *walk,
                             const struct series_rows *out)
{
    STATUS_TRY(cpu_expect_rows(out, "walk"));
    if (out->n_series == 0 || out->n_samples == 0) {
        return STATUS_OK;
    }
    struct walk_job job = {walk, out, cpu_max(1, TASK_SAMPLES / out->n_samples)};
    cpu_run(q, cpu_pieces(out->n_series, job.series_per_task), walk_body, &job);
    return STATUS_OK;
}

const struct philox_kernels cpu_philox = {.walk_rows = walk_rows};
