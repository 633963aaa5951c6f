/*
 * gram_gaps_cpu - pairwise-complete coefficients of a panel whose series have missing samples.
 *
 * The series of either side are sorted into those with gaps and those without; pairs with a gap on
 * one side or both are taken in tiles (cpu_gaps), and a pair whose sums cancel is taken again by
 * itself (cpu_pairs), from the series as they came where z has lost it. Pairs without gaps are not
 * touched.
 *
 * Error of r for N <= 2^20: 9.3e-11 from sums about the means of the series; of a pair by itself
 * 5.8e-11 from z and 192 times the error of its sums (pairs_cpu.c), 2.3e-11 (pearson_rule.h).
 */
#include "kernels/pearson/gaps_cpu.h"
#include "kernels/pearson/pairs_cpu.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Series of one side: those with gaps first. */
struct parted {
    size_t *series;
    size_t n_gapped, n;
};

/* Lists a[a0 ..] with b[b0 ..], at most GAPS_TILE of each. */
struct pair_tile {
    size_t a0, n_a, b0, n_b;
};

struct gaps_job {
    size_t n_samples, stride;
    const struct pearson_side *side_a, *side_b;
    enum dtype x_type;
    struct moments moments;
    struct parted a, b;
    void *r;
    size_t width;
    enum dtype type;
    struct pair_tile *tiles;
    size_t n_tiles;
    atomic_bool failed;
    atomic_ullong n_unsure;
};

static enum status part(struct moments moments, size_t n_samples, const struct pearson_side *side,
                        struct parted *out)
{
    size_t first = side->first, n = side->n;
    enum status st = cpu_scratch(n, sizeof *out->series, (void **)&out->series);
    if (st != STATUS_OK) {
        return st;
    }
    const double *count = cpu_field(moments, MOMENTS_COUNT) + first;
    out->n = n;
    out->n_gapped = 0;
    for (size_t s = 0; s < n; ++s) {
        out->n_gapped += count[s] < (double)n_samples;
    }
    size_t gapped = 0, whole = out->n_gapped;
    for (size_t s = 0; s < n; ++s) {
        out->series[count[s] < (double)n_samples ? gapped++ : whole++] = first + s;
    }
    return STATUS_OK;
}

/* Tiles of a's list [a0, a1) with b's [b0, b1); both ascend, so a tile whose last row is not beyond
 * its first column has nothing below the diagonal. Counts where job->tiles is NULL. */
static size_t lay(struct gaps_job *job, size_t n, size_t a0, size_t a1, size_t b0, size_t b1)
{
    for (size_t a = a0; a < a1; a += GAPS_TILE) {
        size_t n_a = cpu_min(GAPS_TILE, a1 - a);
        for (size_t b = b0; b < b1; b += GAPS_TILE) {
            if (job->b.series[b] >= job->a.series[a + n_a - 1]) {
                break;
            }
            if (job->tiles != NULL) {
                job->tiles[n] = (struct pair_tile){a, n_a, b, cpu_min(GAPS_TILE, b1 - b)};
            }
            ++n;
        }
    }
    return n;
}

static size_t lay_all(struct gaps_job *job)
{
    size_t n = lay(job, 0, 0, job->a.n_gapped, 0, job->b.n_gapped);
    n = lay(job, n, 0, job->a.n_gapped, job->b.n_gapped, job->b.n);
    return lay(job, n, job->a.n_gapped, job->a.n, 0, job->b.n_gapped);
}

static const double *z_of(const struct gaps_job *job, const struct pearson_side *side,
                          size_t series)
{
    return (const double *)side->z.at + (series - side->first) * job->stride;
}

static struct pair_series z_series(const struct gaps_job *job, const struct pearson_side *side,
                                   size_t series)
{
    return (struct pair_series){.x = z_of(job, side, series), .type = DTYPE_F64, .marked = true};
}

static struct pair_series x_series(const struct gaps_job *job, const struct pearson_side *side,
                                   size_t series)
{
    size_t offset = (series - side->first) * job->n_samples * dtype_bytes(job->x_type);
    return (struct pair_series){.x = (const char *)side->x.at + offset,
                                .type = job->x_type,
                                .shift = cpu_field(job->moments, MOMENTS_MEAN)[series]};
}

/* Of series j of side a and i of side b, by themselves. */
static double retake(struct gaps_job *job, size_t j, size_t i)
{
    const struct pearson_side *a = job->side_a, *b = job->side_b;
    struct pair_common c =
        cpu_pair_common(z_series(job, a, j), z_series(job, b, i), job->n_samples);
    if (!c.sure && a->x.at != NULL && b->x.at != NULL) {
        c = cpu_pair_common(x_series(job, a, j), x_series(job, b, i), job->n_samples);
    } else if (!c.sure) {
        atomic_fetch_add(&job->n_unsure, 1);
    }
    return pearson_of_centred(c.sums);
}

static void store_tile(struct gaps_job *job, const struct pair_tile *p,
                       const struct gaps_tile *tile, const void *work)
{
    for (size_t k = 0; k < p->n_a; ++k) {
        size_t j = job->a.series[p->a0 + k], row = (j - job->side_a->first) * job->width;
        bool lost = cpu_degenerate(job->moments, j);
        for (size_t l = 0; l < p->n_b; ++l) {
            size_t i = job->b.series[p->b0 + l];
            if (i >= j) {
                break;
            }
            double r = (double)NAN;
            if (!lost && !cpu_degenerate(job->moments, i) &&
                !pearson_from_sums(gaps_pair(tile, work, k, l), &r)) {
                r = retake(job, j, i);
            }
            if (job->type == DTYPE_F32) {
                ((float *)job->r)[row + i] = (float)r;
            } else {
                ((double *)job->r)[row + i] = r;
            }
        }
    }
}

static void gaps_body(void *arg, size_t index)
{
    struct gaps_job *job = arg;
    const struct pair_tile *p = &job->tiles[index];
    void *work = cpu_scratch_try(gaps_work_bytes(), 1);
    if (work == NULL) {
        atomic_store(&job->failed, true);
        return;
    }
    struct gaps_tile tile = {.n_a = p->n_a,
                             .n_b = p->n_b,
                             .n_k = job->n_samples,
                             .a_whole = p->a0 >= job->a.n_gapped,
                             .b_whole = p->b0 >= job->b.n_gapped};
    for (size_t k = 0; k < p->n_a; ++k) {
        tile.a[k] = z_of(job, job->side_a, job->a.series[p->a0 + k]);
    }
    for (size_t l = 0; l < p->n_b; ++l) {
        tile.b[l] = z_of(job, job->side_b, job->b.series[p->b0 + l]);
    }
    gaps_sums(&tile, work);
    store_tile(job, p, &tile, work);
    free(work);
}

static enum status check_side(const struct gaps_job *job, const struct pearson_side *side)
{
    enum status st = cpu_expect(side->z, side->n, job->stride * sizeof(double), "gram_gaps");
    if (st == STATUS_OK && side->x.at != NULL) {
        st = cpu_expect(side->x, side->n, job->n_samples * dtype_bytes(job->x_type), "gram_gaps");
    }
    return st;
}

enum status cpu_gram_gaps(struct queue *q, size_t n_samples, const struct pearson_side *a,
                          const struct pearson_side *b, enum dtype x_type, struct moments moments,
                          struct span r, size_t width, enum dtype type, uint64_t *n_unsure)
{
    struct gaps_job job = {.n_samples = n_samples,
                           .stride = cpu_z_stride(n_samples),
                           .side_a = a,
                           .side_b = b,
                           .x_type = x_type,
                           .moments = moments,
                           .r = r.at,
                           .width = width,
                           .type = type};
    enum status st = check_side(&job, a);
    if (st == STATUS_OK) {
        st = check_side(&job, b);
    }
    if (st == STATUS_OK) {
        st = cpu_expect(r, a->n, width * dtype_bytes(type), "gram_gaps");
    }
    if (st == STATUS_OK) {
        st = part(moments, n_samples, a, &job.a);
    }
    if (st == STATUS_OK) {
        st = part(moments, n_samples, b, &job.b);
    }
    if (st != STATUS_OK) {
        goto done;
    }
    job.n_tiles = lay_all(&job);
    if (job.n_tiles == 0) {
        goto done;
    }
    st = cpu_scratch(job.n_tiles, sizeof *job.tiles, (void **)&job.tiles);
    if (st != STATUS_OK) {
        goto done;
    }
    (void)lay_all(&job);
    st = cpu_run_long(q, job.n_tiles, gaps_body, &job);
    st = atomic_load(&job.failed) ? cpu_scratch_failed() : st;
    *n_unsure += atomic_load(&job.n_unsure);
done:
    free(job.tiles);
    free(job.a.series);
    free(job.b.series);
    return st;
}
