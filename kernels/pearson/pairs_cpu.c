/*
 * pairs_cpu - one pair of series on the samples that both have: sums about the shifts; where those
 * cancel (the common samples lie close together and far from the shift), about the first common
 * sample, which lies among them; and where that is an outlier of theirs, about their means.
 *
 * Sums of blocks of LANES_BLOCK samples in 32 lanes, added up: (64 + N / 1024) u of each.
 */
#include "kernels/pearson/pairs_cpu.h"

#include "kernels/base/lanes_cpu.h"

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

/* A pass over the samples about two points. */
static struct pearson_sums sums_about(const struct pair_series *a, const struct pair_series *b,
                                      size_t n, double about_a, double about_b)
{
    double buffer_a[LANES_BLOCK], buffer_b[LANES_BLOCK];
    struct lanes_pair sum = {0};
    for (size_t t = 0; t < n; t += LANES_BLOCK) {
        size_t in_block = cpu_min(LANES_BLOCK, n - t);
        const double *x = block(a, t, in_block, buffer_a), *y = block(b, t, in_block, buffer_b);
        lanes_pair(x, y, in_block, about_a, about_b, &sum);
    }
    return (struct pearson_sums){sum.n, sum.x, sum.y, sum.xx, sum.yy, sum.xy};
}

/* The first sample that both have; there is one. */
static void first_common(const struct pair_series *a, const struct pair_series *b, double *x,
                         double *y)
{
    double buffer_a[1], buffer_b[1];
    size_t t = 0;
    do {
        *x = *block(a, t, 1, buffer_a);
        *y = *block(b, t, 1, buffer_b);
        ++t;
    } while (*x != *x || *y != *y);
}

struct pair_common cpu_pair_common(struct pair_series a, struct pair_series b, size_t n_samples)
{
    double about_a = a.shift, about_b = b.shift;
    struct pearson_sums raw = sums_about(&a, &b, n_samples, about_a, about_b), s = raw, far = raw;
    bool centred = s.n == 0 || pearson_centre_sums(&s);
    if (!centred) {
        first_common(&a, &b, &about_a, &about_b);
        s = raw = sums_about(&a, &b, n_samples, about_a, about_b);
        centred = pearson_centre_sums(&s);
    }
    if (!centred && (raw.xx > 0 || raw.yy > 0)) {
        about_a += raw.x / raw.n;
        about_b += raw.y / raw.n;
        s = sums_about(&a, &b, n_samples, about_a, about_b);
        (void)pearson_centre_sums(&s);
    }
    double n = s.n > 0 ? s.n : 1;
    return (struct pair_common){.sums = s,
                                .mean_a = pearson_mean_of(about_a, s.x / n, 0),
                                .mean_b = pearson_mean_of(about_b, s.y / n, 0),
                                .sure = pearson_is_sure(&far, &s)};
}

/* --- exact_pairs ----------------------------------------------------------------------------- */

enum { TASK_SAMPLES = 1 << 15 };

struct exact_job {
    const char *x;
    enum dtype type;
    size_t n_samples, per_task, n;
    struct moments moments;
    struct matrix_pair *pairs;
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
        struct matrix_pair *p = &job->pairs[k];
        if (cpu_degenerate(job->moments, p->i) || cpu_degenerate(job->moments, p->j)) {
            p->r = (double)NAN;
            continue;
        }
        p->r = pearson_of_centred(
            cpu_pair_common(series_of(job, p->i), series_of(job, p->j), job->n_samples).sums);
    }
}

enum status cpu_exact_pairs(struct queue *q, struct span x, enum dtype type, size_t n_samples,
                            struct moments moments, struct matrix_pair *pairs, size_t n)
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
    return cpu_run_long(q, cpu_pieces(n, job.per_task), exact_body, &job);
}
