/*
 * cpu_pairs - one pair of series on the samples that both have: sums about the shifts, and where
 * those cancel (the common samples lie close together and far from the shift), about the means of
 * the common samples in a second pass.
 */
#include "kernels/cpu/cpu_pairs.h"

#include "kernels/cpu/cpu_lanes.h"

#include <math.h>

static const double *block(const struct pair_series *s, size_t t, size_t n, double *buffer)
{
    const double *x = lanes_widen(s->x, s->type, t, n, buffer);
    if (s->marked) {
        lanes_unmark(x, n, buffer);
        return buffer;
    }
    return x;
}

/* The sums; the extremes too, unless e is NULL. */
static struct lanes_pair pass(const struct pair_series *a, const struct pair_series *b, size_t n,
                              double shift_a, double shift_b, struct lanes_extremes *e)
{
    double buffer_a[LANES_BLOCK], buffer_b[LANES_BLOCK];
    struct lanes_pair sum = {0};
    for (size_t t = 0; t < n; t += LANES_BLOCK) {
        size_t in_block = cpu_min(LANES_BLOCK, n - t);
        const double *x = block(a, t, in_block, buffer_a), *y = block(b, t, in_block, buffer_b);
        lanes_pair(x, y, in_block, shift_a, shift_b, &sum);
        if (e != NULL) {
            lanes_extremes(x, y, in_block, e);
        }
    }
    return sum;
}

static struct pearson_sums as_sums(const struct lanes_pair *p)
{
    return (struct pearson_sums){p->n, p->x, p->y, p->xx, p->yy, p->xy};
}

struct pearson_sums cpu_pair_sums(struct pair_series a, struct pair_series b, size_t n_samples)
{
    struct lanes_pair first = pass(&a, &b, n_samples, a.shift, b.shift, NULL);
    struct pearson_sums s = as_sums(&first);
    if (s.n == 0 || pearson_centre_sums(&s)) {
        return s;
    }
    const double inf = (double)INFINITY;
    struct lanes_extremes e = {inf, -inf, inf, -inf};
    double mean_a = a.shift + first.x / first.n, mean_b = b.shift + first.y / first.n;
    struct lanes_pair second = pass(&a, &b, n_samples, mean_a, mean_b, &e);
    s = as_sums(&second);
    (void)pearson_centre_sums(&s);
    /* what is left of a mean's rounding must not pass for variance */
    s.xx = e.min_x < e.max_x ? s.xx : 0;
    s.yy = e.min_y < e.max_y ? s.yy : 0;
    s.x = first.x + second.x;
    s.y = first.y + second.y;
    return s;
}

/* --- exact_pairs ----------------------------------------------------------------------------- */

enum { TASK_SAMPLES = 1 << 15 };

struct exact_job {
    const char *x;
    enum dtype type;
    size_t n_samples, per_task, n;
    struct moments moments;
    struct pearson_pair *pairs;
};

static struct pair_series series_of(const struct exact_job *job, size_t s)
{
    return (struct pair_series){.x = job->x + s * job->n_samples * dtype_bytes(job->type),
                                .type = job->type,
                                .shift = cpu_field(job->moments, MOMENTS_MEAN)[s]};
}

static void exact_body(void *arg, size_t index)
{
    struct exact_job *job = arg;
    size_t end = cpu_min((index + 1) * job->per_task, job->n);
    for (size_t k = index * job->per_task; k < end; ++k) {
        struct pearson_pair *p = &job->pairs[k];
        if (cpu_degenerate(job->moments, p->i) || cpu_degenerate(job->moments, p->j)) {
            p->r = (double)NAN;
            continue;
        }
        p->r = pearson_of_centred(
            cpu_pair_sums(series_of(job, p->i), series_of(job, p->j), job->n_samples));
    }
}

enum status cpu_exact_pairs(struct queue *q, struct span x, enum dtype type, size_t n_samples,
                            struct moments moments, struct pearson_pair *pairs, size_t n)
{
    for (size_t k = 0; k < n; ++k) {
        enum status st = cpu_expect(x, cpu_max(pairs[k].i, pairs[k].j) + 1,
                                    n_samples * dtype_bytes(type), "pairs");
        if (st != STATUS_OK) {
            return st;
        }
    }
    struct exact_job job = {.x = x.at,
                            .type = type,
                            .n_samples = n_samples,
                            .per_task = cpu_max(1, TASK_SAMPLES / cpu_max(1, n_samples)),
                            .n = n,
                            .moments = moments,
                            .pairs = pairs};
    cpu_run(q, cpu_pieces(n, job.per_task), exact_body, &job);
    return STATUS_OK;
}
