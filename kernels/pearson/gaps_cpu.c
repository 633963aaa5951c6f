/*
 * gaps_cpu - pairwise-complete coefficients of a panel whose series have missing samples.
 *
 * With z the values (0 where missing), m the mask (1 or 0) and q = z^2, the sums over the samples
 * that two series have in common are products of matrices:
 *   n = m m',  x = z m',  y = m z',  xx = q m',  yy = m q',  xy = z z'
 * The series of either side are sorted into those with gaps and those without, and taken in tiles;
 * pairs without gaps are not touched. Where one side misses nothing its mask is all ones, and the
 * sums of the other side's rows take the place of n, x and xx (or n, y and yy): three products
 * instead of six. Rows are gathered slice by slice, so that the working space fits the second-level
 * cache; series that come in parts leave their tiles' products in the panel's sums.
 *
 * A pair whose sums cancel is computed again by itself (pairs_cpu), from the series as they came
 * where z has lost it, or left to who has the parts. Pairs of ranks are always taken by themselves.
 *
 * Error of r for N <= 2^20: 9.3e-11 from sums about the means of the series; of a pair by itself
 * 5.8e-11 from z and 192 times the error of its sums (pairs_cpu.c), 2.3e-11 (pearson_rule.h).
 */
#include "kernels/base/clones_cpu.h"
#include "kernels/base/product_cpu.h"
#include "kernels/base/vector_cpu.h"
#include "kernels/pearson/pairs_cpu.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 128, SLICE = 256, RANKS_TILE = 8 };

/* Series of one side: those with gaps first. */
struct parted {
    size_t *series;
    size_t n_gapped, n;
};

/* Lists a[a0 ..] with b[b0 ..], at most TILE of each, or RANKS_TILE. `a_whole`, `b_whole`: nothing
 * is missing on that side. */
struct tile {
    size_t a0, n_a, b0, n_b;
    bool a_whole, b_whole;
    size_t products; /* doubles of the tiles before it */
};

/* What a tile adds up: a's z, q, m with b's m; a's m with b's z and q; z with z; and the sums of
 * the rows of z, q, m of either side, which stand for products with a mask of ones. */
struct products {
    double *with_mask, *of_mask, *xy, *a, *b;
};

/* One side's slice, packed: the n rows of z, then of q, then of m, so that a product with several
 * of them is one. */
typedef double packed[3 * TILE][SLICE];

struct work {
    packed a, b;
    double products[6 * TILE * TILE + 6 * TILE]; /* of a tile whose series are all there */
};

struct gaps_job {
    const struct pearson_panel *p;
    bool in_parts;
    size_t stride, tile;
    struct parted a, b;
    struct tile *tiles;
    size_t products; /* doubles, of all tiles */
    atomic_ullong n_unsure;
};

/* --- tiles ------------------------------------------------------------------------------------ */

static enum status part(const struct pearson_panel *p, const struct pearson_side *side,
                        struct parted *out)
{
    STATUS_TRY(cpu_scratch(side->n, sizeof *out->series, (void **)&out->series));
    const double *count = moments_array(p->moments, MOMENTS_COUNT) + side->first;
    const double all = (double)(p->part.sums.at != NULL ? p->part.n_samples : p->n_samples);
    out->n = side->n;
    for (size_t s = 0; s < side->n; ++s) {
        out->n_gapped += count[s] < all;
    }
    size_t gapped = 0, whole = out->n_gapped;
    for (size_t s = 0; s < side->n; ++s) {
        out->series[count[s] < all ? gapped++ : whole++] = side->first + s;
    }
    return STATUS_OK;
}

static size_t n_products(size_t n_a, size_t n_b)
{
    return 6 * n_a * n_b + 3 * (n_a + n_b);
}

static struct products products_at(double *at, const struct tile *t)
{
    const size_t n = t->n_a * t->n_b;
    return (struct products){at, at + 3 * n, at + 5 * n, at + 6 * n, at + 6 * n + 3 * t->n_a};
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
            size_t n_b = cpu_min(job->tile, b1 - b);
            if (job->tiles != NULL) {
                job->tiles[n] = (struct tile){.a0 = a,
                                              .n_a = n_a,
                                              .b0 = b,
                                              .n_b = n_b,
                                              .a_whole = a >= job->a.n_gapped,
                                              .b_whole = b >= job->b.n_gapped,
                                              .products = job->products};
                job->products += n_products(n_a, n_b);
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

/* A list of n series is n / TILE tiles and, where it is parted, one more. */
size_t cpu_gaps_bytes(size_t n_a, size_t n_b)
{
    const size_t tiles_a = cpu_pieces(n_a, TILE) + 1, tiles_b = cpu_pieces(n_b, TILE) + 1;
    return (6 * n_a * n_b + 3 * (n_a * tiles_b + n_b * tiles_a)) * sizeof(double);
}

/* --- series ----------------------------------------------------------------------------------- */

/* In standard form, and as it came. */
static struct pair_series z_series(const struct gaps_job *job, const struct pearson_side *side,
                                   size_t series)
{
    const double *z = (const double *)side->z.at + (series - side->first) * job->stride;
    return (struct pair_series){.x = z, .type = DTYPE_F64, .marked = true};
}

static struct pair_series x_series(const struct gaps_job *job, const struct pearson_side *side,
                                   size_t series)
{
    const struct pearson_panel *p = job->p;
    size_t offset = (series - side->first) * p->n_samples * dtype_bytes(p->x_type);
    return (struct pair_series){.x = (const char *)side->x.at + offset, .type = p->x_type};
}

/* row may be z. */
CPU_CLONES static void pack_row(const double *row, size_t n, double *z, double *q, double *m)
{
    for (size_t t = 0; t < n; ++t) {
        int64_t bits;
        memcpy(&bits, row + t, sizeof bits);
        z[t] = row[t];
        q[t] = row[t] * row[t];
        m[t] = bits == INT64_MIN ? 0.0 : 1.0;
    }
}

static double total(const double *v, size_t n)
{
    double sum = 0;
    for (size_t t = 0; t < n; ++t) {
        sum += v[t];
    }
    return sum;
}

/* Samples k .. k + n - 1 of listed series. `sums`: of their rows, where the other side is whole. */
static void pack(const struct gaps_job *job, const struct pearson_side *side, const size_t *series,
                 size_t n_rows, size_t k, size_t n, double (*rows)[SLICE], double *sums)
{
    const double *mean = moments_array(job->p->moments, MOMENTS_MEAN);
    double widened[VECTOR_BLOCK];
    for (size_t i = 0; i < n_rows; ++i) {
        double *z = rows[i], *q = rows[n_rows + i], *m = rows[2 * n_rows + i];
        if (job->in_parts) {
            struct pair_series x = x_series(job, side, series[i]);
            vector_scale(vector_widen(x.x, x.type, k, n, widened), n, mean[series[i]], 0, 1, z);
            pack_row(z, n, z, q, m);
        } else {
            pack_row((const double *)z_series(job, side, series[i]).x + k, n, z, q, m);
        }
        if (sums != NULL) {
            sums[i] += total(z, n);
            sums[n_rows + i] += total(q, n);
            sums[2 * n_rows + i] += total(m, n);
        }
    }
}

/* --- sums ------------------------------------------------------------------------------------- */

/* c (+)= a b^T of packed rows. */
static void multiply(double (*a)[SLICE], size_t n_a, double (*b)[SLICE], size_t n_b, size_t n,
                     bool add, double *c, size_t ldc)
{
    struct product_f64 p = {.a = a[0],
                            .b = b[0],
                            .lda = SLICE,
                            .ldb = SLICE,
                            .n_a = n_a,
                            .n_b = n_b,
                            .n_k = n,
                            .c = c,
                            .ldc = ldc,
                            .add = add};
    product_f64(&p);
}

static void add_up(const struct gaps_job *job, const struct tile *t, struct work *w,
                   const struct products *to)
{
    const struct pearson_panel *p = job->p;
    size_t n_a = t->n_a, n_b = t->n_b;
    /* the rows of masks come last: without gaps on a's side, z and q alone */
    size_t stacked = t->a_whole ? 2 * n_a : 3 * n_a;
    for (size_t k = 0; k < p->n_samples; k += SLICE) {
        size_t n = cpu_min(SLICE, p->n_samples - k);
        bool add = job->in_parts || k != 0;
        pack(job, &p->a, job->a.series + t->a0, n_a, k, n, w->a, t->b_whole ? to->a : NULL);
        pack(job, &p->b, job->b.series + t->b0, n_b, k, n, w->b, t->a_whole ? to->b : NULL);
        multiply(w->a, n_a, w->b, n_b, n, add, to->xy, n_b);
        if (!t->b_whole) {
            multiply(w->a, stacked, w->b + 2 * n_b, n_b, n, add, to->with_mask, n_b);
        }
        if (!t->a_whole) {
            multiply(w->a + 2 * n_a, n_a, w->b, 2 * n_b, n, add, to->of_mask, 2 * n_b);
        }
    }
}

static struct pearson_sums sums_of(const struct tile *t, const struct products *of, size_t i,
                                   size_t j)
{
    const size_t n_a = t->n_a, n_b = t->n_b;
    const double *x = of->with_mask + i * n_b + j, *y = of->of_mask + 2 * i * n_b + j;
    struct pearson_sums s = {.xy = of->xy[i * n_b + j]};
    s.x = t->b_whole ? of->a[i] : x[0];
    s.xx = t->b_whole ? of->a[n_a + i] : x[n_a * n_b];
    s.y = t->a_whole ? of->b[j] : y[0];
    s.yy = t->a_whole ? of->b[n_b + j] : y[n_b];
    s.n = t->a_whole ? of->b[2 * n_b + j] : t->b_whole ? of->a[2 * n_a + i] : x[2 * n_a * n_b];
    return s;
}

/* --- coefficients ----------------------------------------------------------------------------- */

/* The coefficient of series j of side a and i of side b, by themselves: their sums about the means
 * of the series, `far`, cancel. Whether z still tells r is theirs to say, so that r is the same
 * with x and without. */
static double recompute(struct gaps_job *job, size_t j, size_t i, const struct pearson_sums *far)
{
    const struct pearson_panel *p = job->p;
    struct pearson_sums s = *far;
    (void)pearson_centre_sums(&s);
    bool sure = !job->in_parts && pearson_is_sure(far, &s);
    if (sure) {
        s = cpu_pair_common(z_series(job, &p->a, j), z_series(job, &p->b, i), p->n_samples);
        sure = pearson_is_sure(far, &s); /* of very long series the former is not exact enough */
    }
    if (!sure && !job->in_parts && p->a.x.at != NULL && p->b.x.at != NULL) {
        s = cpu_pair_common(x_series(job, &p->a, j), x_series(job, &p->b, i), p->n_samples);
    } else if (!sure) {
        atomic_fetch_add(&job->n_unsure, 1);
        return PEARSON_UNSURE;
    }
    return pearson_of_centred(s, moments_least_count(p->moments));
}

static struct rank_series ranks_of(const struct gaps_job *job, const struct pearson_side *side,
                                   size_t series)
{
    const struct moments m = job->p->moments;
    return (struct rank_series){.z = z_series(job, side, series).x,
                                .mean = moments_array(m, MOMENTS_MEAN)[series],
                                .norm = sqrt(moments_array(m, MOMENTS_M2)[series])};
}

/* Row k of the tile with column l, from its products; of ranks `of` is scratch. */
static double coefficient(struct gaps_job *job, const struct tile *t, size_t k, size_t l,
                          double *of)
{
    const struct pearson_panel *p = job->p;
    const size_t j = job->a.series[t->a0 + k], i = job->b.series[t->b0 + l];
    const double least = moments_least_count(p->moments);
    double r = (double)NAN;
    if (moments_degenerate_at(p->moments, j) || moments_degenerate_at(p->moments, i)) {
        return r;
    }
    if (p->ranks) {
        return cpu_rank_pair(ranks_of(job, &p->a, j), ranks_of(job, &p->b, i), p->n_samples, least,
                             of);
    }
    const struct products products = products_at(of, t);
    const struct pearson_sums s = sums_of(t, &products, k, l);
    return pearson_from_sums(s, least, &r) ? r : recompute(job, j, i, &s);
}

static void store_tile(struct gaps_job *job, const struct tile *t, double *of)
{
    const struct pearson_panel *p = job->p;
    for (size_t k = 0; k < t->n_a; ++k) {
        size_t j = job->a.series[t->a0 + k], row = (j - p->a.first) * p->width;
        for (size_t l = 0; l < t->n_b; ++l) {
            size_t i = job->b.series[t->b0 + l];
            if (i >= j) {
                break;
            }
            const double r = coefficient(job, t, k, l, of);
            if (p->precision == PEARSON_F32) {
                ((float *)p->r.at)[row + i] = (float)r;
            } else {
                ((double *)p->r.at)[row + i] = r;
            }
        }
    }
}

static void gaps_body(void *arg, size_t index, void *scratch)
{
    struct gaps_job *job = arg;
    struct work *w = scratch;
    const struct tile *t = &job->tiles[index];
    if (job->p->ranks) {
        store_tile(job, t, scratch);
        return;
    }
    double *at = job->in_parts ? (double *)job->p->part.sums.at + t->products : w->products;
    const struct products to = products_at(at, t);
    if (!job->in_parts) {
        memset(to.a, 0, 3 * (t->n_a + t->n_b) * sizeof *to.a);
    }
    add_up(job, t, w, &to);
    if (!job->in_parts || job->p->n_samples == 0) {
        store_tile(job, t, at);
    }
}

/* --- the call --------------------------------------------------------------------------------- */

static enum status check_x(const struct pearson_panel *p, const struct pearson_side *side)
{
    size_t row = p->n_samples * dtype_bytes(p->x_type);
    return side->x.at == NULL ? STATUS_OK : cpu_expect(side->x, side->n, row, "gram_gaps");
}

static enum status take_tiles(struct queue *q, struct gaps_job *job)
{
    STATUS_TRY(part(job->p, &job->p->a, &job->a));
    STATUS_TRY(part(job->p, &job->p->b, &job->b));
    size_t n_tiles = lay_all(job);
    STATUS_TRY(cpu_scratch(n_tiles, sizeof *job->tiles, (void **)&job->tiles));
    (void)lay_all(job);
    const size_t bytes =
        job->p->ranks ? cpu_rank_pair_bytes(job->p->n_samples) : sizeof(struct work);
    return cpu_run_scratch(q, n_tiles, bytes, gaps_body, job);
}

enum status cpu_gram_gaps(struct queue *q, const struct pearson_panel *p, uint64_t *n_unsure)
{
    struct gaps_job job = {.p = p,
                           .in_parts = p->part.sums.at != NULL,
                           .stride = cpu_z_stride(p->n_samples),
                           .tile = p->ranks ? RANKS_TILE : TILE};
    STATUS_TRY(cpu_check_panel(p, "gram_gaps"));
    STATUS_TRY(product_need(q));
    STATUS_TRY(check_x(p, &p->a));
    STATUS_TRY(check_x(p, &p->b));
    STATUS_TRY(job.in_parts
                   ? cpu_expect(p->part.sums, cpu_gaps_bytes(p->a.n, p->b.n), 1, "gram_gaps")
                   : STATUS_OK);
    enum status st = take_tiles(q, &job);
    *n_unsure += atomic_load(&job.n_unsure);
    free(job.tiles);
    free(job.a.series);
    free(job.b.series);
    return st;
}
