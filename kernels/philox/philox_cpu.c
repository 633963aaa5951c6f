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
    struct philox_walk walk;
    uint64_t first_series;
    size_t n_series, n_samples, series_per_task;
    enum dtype type;
    char *out;
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
    double factor[STRETCH], value = job->walk.start;
    float *f32 = (float *)(void *)job->out + s * job->n_samples;
    double *f64 = (double *)(void *)job->out + s * job->n_samples;
    for (size_t from = 0; from < job->n_samples; from += STRETCH) {
        size_t n = cpu_min(STRETCH, job->n_samples - from);
        factors(&job->walk, job->first_series + s, from / 4, factor);
        for (size_t k = 0; k < n; ++k) {
            value = from + k == 0 ? value : philox_step(value, factor[k]);
            if (job->type == DTYPE_F32) {
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
    size_t end = cpu_min((index + 1) * job->series_per_task, job->n_series);
    for (size_t s = index * job->series_per_task; s < end; ++s) {
        walk_series(job, s);
    }
}

static enum status walk_rows(struct queue *q, const struct philox_walk *walk, uint64_t first_series,
                             size_t n_series, size_t n_samples, enum dtype type, struct span out)
{
    enum status st = cpu_expect(out, n_series, n_samples * dtype_bytes(type), "walk");
    if (st != STATUS_OK || n_series == 0 || n_samples == 0) {
        return st;
    }
    struct walk_job job = {.walk = *walk,
                           .first_series = first_series,
                           .n_series = n_series,
                           .n_samples = n_samples,
                           .series_per_task = cpu_max(1, TASK_SAMPLES / n_samples),
                           .type = type,
                           .out = out.at};
    cpu_run(q, cpu_pieces(n_series, job.series_per_task), walk_body, &job);
    return STATUS_OK;
}

const struct philox_kernels cpu_philox = {.walk_rows = walk_rows};
