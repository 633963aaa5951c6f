/*
 * gram_gaps_cpu - pairwise-complete coefficients of a panel whose series have missing samples.
 *
 * The series of either side are sorted into those with gaps and those without; pairs with a gap on
 * one side or both are taken in tiles (gaps_cpu), and a pair whose sums cancel is computed again by
 * itself (pairs_cpu), from the series as they came where z has lost it. Pairs without gaps are not
 * touched.
 *
 * Error of r for N <= 2^20: 9.3e-11 from sums about the means of the series; of a pair by itself
 * 5.8e-11 from z and 192 times the error of its sums (pairs_cpu.c), 2.3e-11 (pearson_rule.h).
 */
#include "kernels/base/product_cpu.h"
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

/* Lists a[a0 ..] with b[b0 ..], at most GAPS_TILE of each, or RANKS_TILE. */
struct pair_tile {
    size_t a0, n_a, b0, n_b;
};

enum { RANKS_TILE = 8 };

struct gaps_job {
    const struct pearson_panel *p;
    size_t stride, tile;
    struct parted a, b;
    struct pair_tile *tiles;
    atomic_ullong n_unsure;
};

static enum status part(const struct pearson_panel *p, const struct pearson_side *side,
                        struct parted *out)
{
    STATUS_TRY(cpu_scratch(side->n, sizeof *out->series, (void **)&out->series));
    const double *count = moments_array(p->moments, MOMENTS_COUNT) + side->first;
    out->n = side->n;
    for (size_t s = 0; s < side->n; ++s) {
        out->n_gapped += count[s] < (double)p->n_samples;
    }
    size_t gapped = 0, whole = out->n_gapped;
    for (size_t s = 0; s < side->n; ++s) {
        out->series[count[s] < (double)p->n_samples ? gapped++ : whole++] = side->first + s;
    }
    return STATUS_OK;
}

/* Tiles of a's list [a0, a1) with b's [b0, b1); both ascend, so a tile whose last row is not beyond
 * its first column has nothing below the diagonal. Counts where job->tiles is NULL. */
static size_t lay(struct gaps_job *job, size_t n, size_t a0, size_t a1, size_t b0, size_t b1)
{
    for (size_t a = a0; a < a1; a += job->tile) {
        size_t n_a = cpu_min(job->tile, a1 - a);
        for (size_t b = b0; b < b1; b += job->tile) {
            if (job->b.series[b] >= job->a.series[a + n_a - 1]) {
                break;
            }
            if (job->tiles != NULL) {
                job->tiles[n] = (struct pair_tile){a, n_a, b, cpu_min(job->tile, b1 - b)};
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
    const struct pearson_panel *p = job->p;
    size_t offset = (series - side->first) * p->n_samples * dtype_bytes(p->x_type);
    return (struct pair_series){.x = (const char *)side->x.at + offset,
                                .type = p->x_type,
                                .shift = moments_array(p->moments, MOMENTS_MEAN)[series]};
}

/* The coefficient of series j of side a and i of side b, by themselves. */
static double recompute(struct gaps_job *job, size_t j, size_t i)
{
    const struct pearson_panel *p = job->p;
    struct pearson_common c =
        cpu_pair_common(z_series(job, &p->a, j), z_series(job, &p->b, i), p->n_samples);
    if (!c.sure && p->a.x.at != NULL && p->b.x.at != NULL) {
        c = cpu_pair_common(x_series(job, &p->a, j), x_series(job, &p->b, i), p->n_samples);
    } else if (!c.sure) {
        atomic_fetch_add(&job->n_unsure, 1);
    }
    return pearson_of_centred(c.sums, moments_least_count(p->moments));
}

static struct rank_series ranks_of(const struct gaps_job *job, const struct pearson_side *side,
                                   size_t series)
{
    const struct moments m = job->p->moments;
    return (struct rank_series){.z = z_of(job, side, series),
                                .mean = moments_array(m, MOMENTS_MEAN)[series],
                                .norm = sqrt(moments_array(m, MOMENTS_M2)[series])};
}

/* Series j of side a, in row k of the tile, with i of side b, in column l. */
static double coefficient(struct gaps_job *job, size_t j, size_t i, const struct gaps_tile *tile,
                          size_t k, size_t l, void *work)
{
    const struct pearson_panel *p = job->p;
    const double least = moments_least_count(p->moments);
    double r = (double)NAN;
    if (moments_degenerate_at(p->moments, j) || moments_degenerate_at(p->moments, i)) {
        return r;
    }
    if (p->ranks) {
        return cpu_rank_pair(ranks_of(job, &p->a, j), ranks_of(job, &p->b, i), p->n_samples, least,
                             work);
    }
    return pearson_from_sums(gaps_pair(tile, work, k, l), least, &r) ? r : recompute(job, j, i);
}

static void store_tile(struct gaps_job *job, const struct pair_tile *t,
                       const struct gaps_tile *tile, void *work)
{
    const struct pearson_panel *p = job->p;
    for (size_t k = 0; k < t->n_a; ++k) {
        size_t j = job->a.series[t->a0 + k], row = (j - p->a.first) * p->width;
        for (size_t l = 0; l < t->n_b; ++l) {
            size_t i = job->b.series[t->b0 + l];
            if (i >= j) {
                break;
            }
            const double r = coefficient(job, j, i, tile, k, l, work);
            if (p->precision == PEARSON_F32) {
                ((float *)p->r.at)[row + i] = (float)r;
            } else {
                ((double *)p->r.at)[row + i] = r;
            }
        }
    }
}

static void gaps_body(void *arg, size_t index, void *work)
{
    struct gaps_job *job = arg;
    const struct pair_tile *t = &job->tiles[index];
    struct gaps_tile tile = {.n_a = t->n_a,
                             .n_b = t->n_b,
                             .n_k = job->p->n_samples,
                             .a_whole = t->a0 >= job->a.n_gapped,
                             .b_whole = t->b0 >= job->b.n_gapped};
    for (size_t k = 0; k < t->n_a; ++k) {
        tile.a[k] = z_of(job, &job->p->a, job->a.series[t->a0 + k]);
    }
    for (size_t l = 0; l < t->n_b; ++l) {
        tile.b[l] = z_of(job, &job->p->b, job->b.series[t->b0 + l]);
    }
    if (!job->p->ranks) {
        gaps_sums(&tile, work);
    }
    store_tile(job, t, &tile, work);
}

static enum status check_x(const struct pearson_panel *p, const struct pearson_side *side)
{
    size_t row = p->n_samples * dtype_bytes(p->x_type);
    return side->x.at == NULL ? STATUS_OK : cpu_expect(side->x, side->n, row, "gram_gaps");
}

enum status cpu_gram_gaps(struct queue *q, const struct pearson_panel *p, uint64_t *n_unsure)
{
    struct gaps_job job = {
        .p = p, .stride = cpu_z_stride(p->n_samples), .tile = p->ranks ? RANKS_TILE : GAPS_TILE};
    const size_t bytes = p->ranks ? cpu_rank_pair_bytes(p->n_samples) : gaps_work_bytes();
    STATUS_TRY(cpu_check_panel(p, "gram_gaps"));
    STATUS_TRY(product_need(q));
    STATUS_TRY(check_x(p, &p->a));
    STATUS_TRY(check_x(p, &p->b));
    enum status st = part(p, &p->a, &job.a);
    if (st != STATUS_OK) {
        goto done;
    }
    st = part(p, &p->b, &job.b);
    if (st != STATUS_OK) {
        goto done;
    }
    size_t n_tiles = lay_all(&job);
    st = cpu_scratch(n_tiles, sizeof *job.tiles, (void **)&job.tiles);
    if (st != STATUS_OK) {
        goto done;
    }
    (void)lay_all(&job);
    st = cpu_run_scratch(q, n_tiles, bytes, gaps_body, &job);
    *n_unsure += atomic_load(&job.n_unsure);
done:
    free(job.tiles);
    free(job.a.series);
    free(job.b.series);
    return st;
}
