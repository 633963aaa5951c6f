/*
 * cpu_gram_gaps - pairwise-complete coefficients of a panel whose series have missing samples.
 *
 * The series of either side are sorted into those with gaps and those without; pairs with a gap on
 * one side or both are taken in tiles (cpu_gaps), and a pair whose sums cancel is taken again by
 * itself (cpu_pairs). Pairs without gaps are not touched.
 */
#include "kernels/cpu/cpu_gaps.h"
#include "kernels/cpu/cpu_pairs.h"

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
    const double *za, *zb;
    size_t first_a, first_b;
    struct moments moments;
    struct parted a, b;
    void *r;
    size_t width;
    enum dtype type;
    struct pair_tile *tiles;
    size_t n_tiles;
    atomic_bool failed;
};

static enum status part(struct moments moments, size_t n_samples, size_t first, size_t n,
                        struct parted *out)
{
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

static double pair_r(const struct gaps_job *job, const struct gaps_tile *tile, const void *work,
                     size_t k, size_t l)
{
    double r;
    if (!pearson_from_sums(gaps_pair(tile, work, k, l), &r)) {
        struct pair_series a = {.x = tile->a[k], .type = DTYPE_F64, .marked = true};
        struct pair_series b = {.x = tile->b[l], .type = DTYPE_F64, .marked = true};
        r = pearson_of_centred(cpu_pair_sums(a, b, job->n_samples));
    }
    return r;
}

static void store_tile(const struct gaps_job *job, const struct pair_tile *p,
                       const struct gaps_tile *tile, const void *work)
{
    for (size_t k = 0; k < p->n_a; ++k) {
        size_t j = job->a.series[p->a0 + k], row = (j - job->first_a) * job->width;
        bool lost = cpu_degenerate(job->moments, j);
        for (size_t l = 0; l < p->n_b; ++l) {
            size_t i = job->b.series[p->b0 + l];
            if (i >= j) {
                break;
            }
            double r = lost || cpu_degenerate(job->moments, i) ? (double)NAN
                                                               : pair_r(job, tile, work, k, l);
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
        tile.a[k] = job->za + (job->a.series[p->a0 + k] - job->first_a) * job->stride;
    }
    for (size_t l = 0; l < p->n_b; ++l) {
        tile.b[l] = job->zb + (job->b.series[p->b0 + l] - job->first_b) * job->stride;
    }
    gaps_sums(&tile, work);
    store_tile(job, p, &tile, work);
    free(work);
}

enum status cpu_gram_gaps(struct queue *q, size_t n_samples, struct span za, size_t first_a,
                          size_t n_a, struct span zb, size_t first_b, size_t n_b,
                          struct moments moments, struct span r, size_t width, enum dtype type)
{
    struct gaps_job job = {.n_samples = n_samples,
                           .stride = cpu_z_stride(PEARSON_EXACT, n_samples),
                           .za = za.at,
                           .zb = zb.at,
                           .first_a = first_a,
                           .first_b = first_b,
                           .moments = moments,
                           .r = r.at,
                           .width = width,
                           .type = type};
    enum status st = cpu_expect(za, n_a, job.stride * sizeof(double), "gram_gaps");
    if (st == STATUS_OK) {
        st = cpu_expect(zb, n_b, job.stride * sizeof(double), "gram_gaps");
    }
    if (st == STATUS_OK) {
        st = cpu_expect(r, n_a, width * dtype_bytes(type), "gram_gaps");
    }
    if (st == STATUS_OK) {
        st = part(moments, n_samples, first_a, n_a, &job.a);
    }
    if (st == STATUS_OK) {
        st = part(moments, n_samples, first_b, n_b, &job.b);
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
    cpu_run(q, job.n_tiles, gaps_body, &job);
    st = atomic_load(&job.failed) ? cpu_scratch_failed() : STATUS_OK;
done:
    free(job.tiles);
    free(job.a.series);
    free(job.b.series);
    return st;
}
