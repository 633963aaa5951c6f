/*
 * turn_cpu - rows made of columns.
 *
 * A line of the cache is read and written as a whole: tiles of LINE bytes of numbers by as many
 * samples, so that rows may lie at any distance, powers of two among them. A task takes a chunk of
 * samples of a few tiles' series. Tasks of the same series begin at different ones of them: where
 * rows lie on new pages, each thread has the system clear some, instead of all the same one.
 */
#include "kernels/base/clones_cpu.h"
#include "kernels/pearson/pearson_cpu.h"

enum { LINE = 64, TASK_CELLS = 1 << 15, MOST_CHUNK = 1 << 17, LEAST_TASKS = 16 };

struct turn_job {
    const struct pearson_slab *slab;
    void *out;
    size_t stride, chunk, n_chunks, series_per_task;
};

/* Series s0 .. s1 - 1 of samples t0 .. t1 - 1; of each tile the `first` one first. */
#define TURN(name, type)                                                                           \
    CPU_CLONES static void name(const struct turn_job *job, size_t s0, size_t s1, size_t t0,       \
                                size_t t1, size_t first)                                           \
    {                                                                                              \
        enum { SIDE = LINE / sizeof(type) };                                                       \
        const size_t n = job->slab->n_series;                                                      \
        const type *const from = job->slab->at.at;                                                 \
        type *const to = job->out;                                                                 \
        for (size_t s = s0; s < s1; s += SIDE) {                                                   \
            const size_t n_s = cpu_min(SIDE, s1 - s);                                              \
            for (size_t t = t0; t < t1; t += SIDE) {                                               \
                const size_t t_end = cpu_min(t + SIDE, t1);                                        \
                for (size_t k = 0; k < n_s; ++k) {                                                 \
                    const size_t i = s + (first + k) % n_s;                                        \
                    for (size_t l = t; l < t_end; ++l) {                                           \
                        to[i * job->stride + l] = from[l * n + i];                                 \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }
TURN(turn_f64, double)
TURN(turn_f32, float)
#undef TURN

static void turn_body(void *arg, size_t index)
{
    const struct turn_job *job = arg;
    const size_t t = index % job->n_chunks * job->chunk,
                 s = index / job->n_chunks * job->series_per_task;
    const size_t t_end = cpu_min(t + job->chunk, job->slab->n_samples),
                 s_end = cpu_min(s + job->series_per_task, job->slab->n_series);
    (job->slab->type == DTYPE_F64 ? turn_f64 : turn_f32)(job, s, s_end, t, t_end, 2 * index);
}

enum status cpu_turn(struct queue *q, const struct pearson_slab *slab, struct span out,
                     size_t stride)
{
    const size_t size = dtype_bytes(slab->type);
    if (slab->n_series == 0 || slab->n_samples == 0) {
        return STATUS_OK;
    }
    STATUS_TRY(cpu_expect(slab->at, slab->n_samples, slab->n_series * size, "turn"));
    STATUS_TRY(cpu_expect(out, (slab->n_series - 1) * stride + slab->n_samples, size, "turn"));
    const size_t side = LINE / size, least = LEAST_TASKS / cpu_pieces(slab->n_series, side);
    struct turn_job job = {.slab = slab, .out = out.at, .stride = stride};
    job.n_chunks = cpu_max(cpu_pieces(slab->n_samples, MOST_CHUNK), cpu_max(1, least));
    job.chunk = cpu_pieces(slab->n_samples, job.n_chunks * side) * side;
    job.n_chunks = cpu_pieces(slab->n_samples, job.chunk);
    job.series_per_task = cpu_max(1, TASK_CELLS / job.chunk / side) * side;
    return cpu_run_long(q, job.n_chunks * cpu_pieces(slab->n_series, job.series_per_task),
                        turn_body, &job);
}
