/*
 * means_cpu - moments of rows: one read of the data.
 *
 * A block of LANES_BLOCK samples is read twice, the second time from the first-level cache: its
 * mean first, then the squares about it. Blocks are merged by Chan's formula in order. A series is
 * cut into chunks of CHUNK samples, so that few long series use every core; short series share a
 * task.
 */
#include "kernels/base/lanes_cpu.h"
#include "kernels/base/queue_cpu.h"
#include "kernels/means/moments_cpu.h"

#include <stdlib.h>

/* Samples in a task: half a megabyte of doubles, some 50 us, far above the cost of handing it out
 */
enum { CHUNK = 64 * LANES_BLOCK };

struct means_job {
    const char *x;
    enum dtype type;
    size_t n_series, n_samples;
    size_t n_chunks;               /* of a series */
    size_t series_per_task;        /* when n_chunks is 1 */
    struct lanes_moments *partial; /* [series][chunk] */
};

static void chunk_moments(const struct means_job *job, size_t series, size_t chunk)
{
    double buffer[LANES_BLOCK];
    const char *row = job->x + series * job->n_samples * dtype_bytes(job->type);
    size_t end = cpu_min((chunk + 1) * CHUNK, job->n_samples);
    struct lanes_moments all = lanes_none, block;
    for (size_t t = chunk * CHUNK; t < end; t += LANES_BLOCK) {
        size_t n = cpu_min(LANES_BLOCK, end - t);
        lanes_moments(lanes_widen(row, job->type, t, n, buffer), n, &block);
        lanes_merge(&all, &block);
    }
    job->partial[series * job->n_chunks + chunk] = all;
}

static void means_body(void *arg, size_t index)
{
    const struct means_job *job = arg;
    if (job->n_chunks > 1) {
        chunk_moments(job, index / job->n_chunks, index % job->n_chunks);
        return;
    }
    size_t end = cpu_min((index + 1) * job->series_per_task, job->n_series);
    for (size_t s = index * job->series_per_task; s < end; ++s) {
        chunk_moments(job, s, 0);
    }
}

static void store(const struct means_job *job, struct moments moments, size_t first)
{
    for (size_t s = 0; s < job->n_series; ++s) {
        struct lanes_moments *m = job->partial + s * job->n_chunks;
        for (size_t c = 1; c < job->n_chunks; ++c) {
            lanes_merge(m, m + c);
        }
        cpu_field(moments, MOMENTS_COUNT)[first + s] = m->count;
        cpu_field(moments, MOMENTS_MEAN)[first + s] = lanes_mean(m);
        cpu_field(moments, MOMENTS_M2)[first + s] = m->m2;
        cpu_field(moments, MOMENTS_MIN)[first + s] = m->min;
        cpu_field(moments, MOMENTS_MAX)[first + s] = m->max;
    }
}

static enum status means_rows(struct queue *q, struct span x, enum dtype type, size_t n_series,
                              size_t n_samples, struct moments moments, size_t first)
{
    if (n_series == 0) {
        return STATUS_OK;
    }
    enum status st = cpu_expect(x, n_series, n_samples * dtype_bytes(type), "means");
    if (st != STATUS_OK) {
        return st;
    }
    struct means_job job = {.x = x.at, .type = type, .n_series = n_series, .n_samples = n_samples};
    job.n_chunks = cpu_max(1, cpu_pieces(n_samples, CHUNK));
    job.series_per_task = cpu_max(1, CHUNK / cpu_max(1, n_samples));
    st = cpu_scratch(n_series * job.n_chunks, sizeof *job.partial, (void **)&job.partial);
    if (st != STATUS_OK) {
        return st;
    }
    size_t tasks =
        job.n_chunks > 1 ? n_series * job.n_chunks : cpu_pieces(n_series, job.series_per_task);
    st = cpu_run_long(q, tasks, means_body, &job);
    if (st == STATUS_OK) {
        store(&job, moments, first);
    }
    free(job.partial);
    return st;
}

const struct means_kernels cpu_means = {.rows = means_rows};
