/*
 * means_cpu - moments of rows: one read of the data.
 *
 * A block of VECTOR_BLOCK samples is read twice, the second time from the first-level cache: its
 * mean first, then the squares about it. Blocks are merged by Chan's formula in order. A series is
 * cut into chunks of CHUNK samples, so that few long series use every core; short series share a
 * task.
 */
#include "kernels/base/queue_cpu.h"
#include "kernels/base/vector_cpu.h"
#include "kernels/means/means_rule.h"

#include <stdlib.h>

/* Samples in a task: half a megabyte of doubles, some 50 us, far above the cost of handing it out
 */
enum { CHUNK = 64 * VECTOR_BLOCK };

struct means_job {
    const struct series_rows *x;
    size_t n_chunks;              /* of a series */
    size_t series_per_task;       /* when n_chunks is 1 */
    struct part_moments *partial; /* [series][chunk] */
};

static void chunk_moments(const struct means_job *job, size_t series, size_t chunk)
{
    double buffer[VECTOR_BLOCK];
    const void *row = cpu_row(job->x, series);
    size_t end = cpu_min((chunk + 1) * CHUNK, job->x->n_samples);
    struct part_moments all = vector_no_moments, block;
    for (size_t t = chunk * CHUNK; t < end; t += VECTOR_BLOCK) {
        size_t n = cpu_min(VECTOR_BLOCK, end - t);
        vector_moments(vector_widen(row, job->x->type, t, n, buffer), n, &block);
        part_moments_merge(&all, &block);
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
    size_t end = cpu_min((index + 1) * job->series_per_task, job->x->n_series);
    for (size_t s = index * job->series_per_task; s < end; ++s) {
        chunk_moments(job, s, 0);
    }
}

static void store(const struct means_job *job, struct moments moments)
{
    for (size_t s = 0; s < job->x->n_series; ++s) {
        struct part_moments *m = job->partial + s * job->n_chunks;
        for (size_t c = 1; c < job->n_chunks; ++c) {
            part_moments_merge(m, m + c);
        }
        moments_store(moments, job->x->first + s, m);
    }
}

static enum status means_rows(struct queue *q, const struct series_rows *x, struct moments moments)
{
    if (x->n_series == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(cpu_expect_rows(x, "means"));
    struct means_job job = {.x = x,
                            .n_chunks = cpu_max(1, cpu_pieces(x->n_samples, CHUNK)),
                            .series_per_task = cpu_max(1, CHUNK / cpu_max(1, x->n_samples))};
    STATUS_TRY(cpu_scratch(x->n_series * job.n_chunks, sizeof *job.partial, (void **)&job.partial));
    size_t tasks = job.n_chunks > 1 ? x->n_series * job.n_chunks
                                    : cpu_pieces(x->n_series, job.series_per_task);
    enum status st = cpu_run_long(q, tasks, means_body, &job);
    if (st == STATUS_OK) {
        store(&job, moments);
    }
    free(job.partial);
    return st;
}

const struct means_kernels cpu_means = {.rows = means_rows};
