/*
 * pairs_cpu - one pair of series on the samples that both have: sums about the means of the series;
 * where those cancel (the common samples lie close together and far from the mean), about the first
 * common sample, which lies among them; and where that is an outlier of theirs, about their means.
 *
 * Sums of blocks of VECTOR_BLOCK samples in 32 lanes, added up: (64 + N / 1024) u of each.
 */
#include "kernels/pearson/pairs_cpu.h"

#include "kernels/base/vector_cpu.h"

#include <math.h>

static const double *block(const struct pair_series *s, size_t t, size_t n, double *buffer)
{
    const double *x = vector_widen(s->x, s->type, t, n, buffer);
    if (s->marked) {
        vector_unmark(x, n, buffer);
        return buffer;
    }
    return x;
}

/* A pass over the samples about two points. */
static struct pearson_sums sums_about(const struct pair_series *a, const struct pair_series *b,
                                      size_t n, double about_a, double about_b)
{
    double buffer_a[VECTOR_BLOCK], buffer_b[VECTOR_BLOCK];
    struct vector_pair sum = {0};
    for (size_t t = 0; t < n; t += VECTOR_BLOCK) {
        size_t in_block = cpu_min(VECTOR_BLOCK, n - t);
        const double *x = block(a, t, in_block, buffer_a), *y = block(b, t, in_block, buffer_b);
        vector_pair(x, y, in_block, about_a, about_b, &sum);
    }
    return (struct pearson_sums){sum.n, sum.x, sum.y, sum.xx, sum.yy, sum.xy};
}

/* The first sample that both have; false where there is none. */
static bool first_common(const struct pair_series *a, const struct pair_series *b, size_t n,
                         double *x, double *y)
{
    double buffer_a[1], buffer_b[1];
    for (size_t t = 0; t < n; ++t) {
        *x = *block(a, t, 1, buffer_a);
        *y = *block(b, t, 1, buffer_b);
        if (*x == *x && *y == *y) {
            return true;
        }
    }
    return false;
}

/* As of cpu_pair_common; x and y of the sums are about these points. */
static struct pearson_sums common(const struct pair_series *x, const struct pair_series *y,
                                  size_t n_samples, double *about_x, double *about_y)
{
    if (!first_common(x, y, n_samples, about_x, about_y)) {
        return (struct pearson_sums){0};
    }
    const struct pearson_sums raw = sums_about(x, y, n_samples, *about_x, *about_y);
    struct pearson_sums s = raw;
    if (!pearson_centre_sums(&s) && (raw.xx > 0 || raw.yy > 0)) {
        *about_x += raw.x / raw.n;
        *about_y += raw.y / raw.n;
        s = sums_about(x, y, n_samples, *about_x, *about_y);
        (void)pearson_centre_sums(&s);
    }
    return s;
}

struct pearson_sums cpu_pair_common(struct pair_series x, struct pair_series y, size_t n_samples)
{
    double about_x, about_y;
    return common(&x, &y, n_samples, &about_x, &about_y);
}

struct pair_part cpu_pair_part(struct pair_series x, struct pair_series y, size_t n_samples)
{
    double about_x, about_y;
    const struct pearson_sums s = common(&x, &y, n_samples, &about_x, &about_y);
    return s.n > 0
               ? (struct pair_part){.x = {.n = s.n, .base = about_x, .mean = s.x / s.n, .m2 = s.xx},
                                    .y = {.n = s.n, .base = about_y, .mean = s.y / s.n, .m2 = s.yy},
                                    .xy = s.xy}
               : (struct pair_part){0};
}

void cpu_pair_merge(struct pair_part *a, const struct pair_part *b)
{
    if (a->x.n > 0 && b->x.n > 0) {
        a->xy += b->xy + part_moments_delta(&a->x, &b->x) * part_moments_delta(&a->y, &b->y) *
                             (a->x.n * b->x.n / (a->x.n + b->x.n));
    } else if (b->x.n > 0) {
        a->xy = b->xy;
    }
    part_moments_merge(&a->x, &b->x);
    part_moments_merge(&a->y, &b->y);
}

/* --- samples that come in parts --------------------------------------------------------------- */

struct part_job {
    const struct series_rows *x;
    struct pearson_pair *pairs;
};

static void part_body(void *arg, size_t index)
{
    const struct part_job *job = arg;
    struct pearson_pair *p = job->pairs + index;
    const struct pair_series i = {.x = cpu_row(job->x, p->i), .type = job->x->type},
                             j = {.x = cpu_row(job->x, p->j), .type = job->x->type};
    double about_i = p->about_i, about_j = p->about_j;
    if (about_i != about_i && !first_common(&i, &j, job->x->n_samples, &about_i, &about_j)) {
        return;
    }
    const struct pearson_sums more = sums_about(&i, &j, job->x->n_samples, about_i, about_j);
    struct pearson_sums *s = &p->sums;
    *s = (struct pearson_sums){s->n + more.n,   s->x + more.x,   s->y + more.y,
                               s->xx + more.xx, s->yy + more.yy, s->xy + more.xy};
    p->about_i = about_i;
    p->about_j = about_j;
}

enum status cpu_pairs_add(struct queue *q, const struct series_rows *x, struct span pairs, size_t n)
{
    struct part_job job = {x, pairs.at};
    STATUS_TRY(cpu_expect_rows(x, "pairs"));
    STATUS_TRY(cpu_expect(pairs, n, sizeof *job.pairs, "pairs"));
    return cpu_run_long(q, n, part_body, &job);
}

/* --- exact_pairs ----------------------------------------------------------------------------- */

enum { TASK_SAMPLES = 1 << 15 };

struct exact_job {
    const struct series_rows *x;
    size_t per_task, n;
    struct moments moments;
    struct matrix_pair *pairs;
};

static struct pair_series series_of(const struct exact_job *job, size_t s)
{
    return (struct pair_series){.x = cpu_row(job->x, s), .type = job->x->type};
}

static void exact_body(void *arg, size_t index)
{
    struct exact_job *job = arg;
    const double *mean = moments_array(job->moments, MOMENTS_MEAN);
    size_t end = cpu_min((index + 1) * job->per_task, job->n);
    for (size_t k = index * job->per_task; k < end; ++k) {
        struct matrix_pair *p = &job->pairs[k];
        if (moments_degenerate_at(job->moments, p->i) ||
            moments_degenerate_at(job->moments, p->j)) {
            p->r = (double)NAN;
            continue;
        }
        const struct pair_series x = series_of(job, p->i), y = series_of(job, p->j);
        struct pearson_sums s = sums_about(&x, &y, job->x->n_samples, mean[p->i], mean[p->j]);
        if (s.n > 0 && !pearson_centre_sums(&s)) {
            s = cpu_pair_common(x, y, job->x->n_samples);
        }
        p->r = pearson_of_centred(s, moments_least_count(job->moments));
    }
}

enum status cpu_exact_pairs(struct queue *q, const struct series_rows *x, struct moments moments,
                            struct matrix_pair *pairs, size_t n)
{
    STATUS_TRY(cpu_expect_rows(x, "pairs"));
    for (size_t k = 0; k < n; ++k) {
        if (cpu_max(pairs[k].i, pairs[k].j) >= x->n_series) {
            return status_fail(STATUS_INTERNAL, "pairs: series beyond %zu", x->n_series);
        }
    }
    struct exact_job job = {.x = x,
                            .per_task = cpu_max(1, TASK_SAMPLES / cpu_max(1, x->n_samples)),
                            .n = n,
                            .moments = moments,
                            .pairs = pairs};
    return cpu_run_long(q, cpu_pieces(n, job.per_task), exact_body, &job);
}
