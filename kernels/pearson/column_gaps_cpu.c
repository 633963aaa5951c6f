/*
 * column_gaps_cpu - pairs of columns of which one or both have missing samples.
 *
 * A series gets a slot at its first gap. A pair is kept, with its own count, means and co-moments
 * of the common samples, by the slot that came first; it starts from the totals that were common to
 * both until then. A slab's contribution comes from tiles of products (gaps_cpu), by itself where
 * its sums cancel, from the samples as they came where the centred ones have lost it
 * (pearson_rule.h), and is merged by Chan's formula.
 *
 * Error of r: that of a slab's sums, 192 (256 + S / 256) u for S samples, and 2 u N / S of the
 * merges, u = 2^-53; or 5.8e-11 where the slab was taken from centred samples far from their mean.
 */
#include "kernels/pearson/columns_cpu.h"
#include "kernels/pearson/gaps_cpu.h"
#include "kernels/pearson/pairs_cpu.h"
#include "kernels/pearson/pearson_cpu.h"

#include <stdlib.h>

/* Pairs of slots first .. slot - 1, in all. */
static size_t pairs_between(const struct columns *c, size_t first, size_t slot)
{
    size_t n = slot - first;
    return n * (c->n_series - 1 - first) - n * (n - 1) / 2;
}

/* The pair of a slot with the series at `place`; its fields lie stride() apart. */
static double *entry(const struct columns *c, size_t slot, size_t place)
{
    size_t first = slot - slot % COLUMNS_SLOTS;
    return (double *)c->rows[slot / COLUMNS_SLOTS].at +
           PAIR_FIELDS * pairs_between(c, first, slot) + (place - slot - 1);
}

static size_t stride(const struct columns *c, size_t slot)
{
    return c->n_series - 1 - slot;
}

size_t column_gaps_bytes(size_t n_series)
{
    return (size_t)PAIR_FIELDS * sizeof(double) * (n_series * (n_series - 1) / 2);
}

void column_gaps_free(struct queue *q, struct columns *c)
{
    for (size_t k = 0; c->rows != NULL && k < cpu_pieces(c->n_series, COLUMNS_SLOTS); ++k) {
        q->backend->ops->release(q, c->rows[k]);
    }
}

/* Exchanges two series without a slot, at places p and r. */
static void exchange(struct columns *c, size_t p, size_t r)
{
    size_t a = c->order[p], b = c->order[r];
    c->order[p] = b;
    c->order[r] = a;
    c->place[a] = r;
    c->place[b] = p;
    for (size_t slot = 0; slot < c->n_gapped && p != r; ++slot) {
        double *in_p = entry(c, slot, p), *in_r = entry(c, slot, r);
        struct columns_pair of_p = columns_pair_load(in_p, stride(c, slot));
        struct columns_pair of_r = columns_pair_load(in_r, stride(c, slot));
        columns_pair_store(&of_r, in_p, stride(c, slot));
        columns_pair_store(&of_p, in_r, stride(c, slot));
    }
}

/* Starts the pairs of the series in a new slot, with those that have none, from the totals so far.
 */
static void start_pairs(struct columns *c, size_t slot)
{
    size_t g = c->order[slot];
    for (size_t place = slot + 1; place < c->n_series; ++place) {
        size_t j = c->order[place];
        struct columns_pair p = {0};
        if (c->n_total > 0) { /* or the triangle is not filled */
            p = columns_pair_of(&c->all[g], &c->all[j], c->n_total,
                                g > j ? columns_row(c, g)[j] : columns_row(c, j)[g]);
        }
        columns_pair_store(&p, entry(c, slot, place), stride(c, slot));
    }
}

enum status column_gaps_admit(struct queue *q, struct columns *c, size_t n)
{
    for (size_t s = 0; s < c->n_series; ++s) {
        if (c->slab[s].n == (double)n || columns_gapped(c, s)) {
            continue;
        }
        size_t slot = c->n_gapped;
        if (slot % COLUMNS_SLOTS == 0) {
            size_t end = cpu_min(slot + COLUMNS_SLOTS, c->n_series);
            STATUS_TRY(q->backend->ops->alloc(
                q, PAIR_FIELDS * sizeof(double) * pairs_between(c, slot, end),
                &c->rows[slot / COLUMNS_SLOTS]));
        }
        exchange(c, slot, c->place[s]);
        ++c->n_gapped;
        start_pairs(c, slot);
    }
    return STATUS_OK;
}

/* --- a slab ---------------------------------------------------------------------------------- */

struct gaps_job {
    struct columns *c;
    const struct columns_slab *slab;
};

/* A tile of pairs: slots from place a0 on with series from place b0 on, which all have a slot or
 * none of them. */
struct gaps_place {
    size_t a0, b0, n_b;
};

/* Sample t, after diff, of series s as it came. */
static double raw_sample(const struct gaps_job *job, size_t s, size_t t)
{
    const struct columns *c = job->c;
    const struct columns_slab *slab = job->slab;
    size_t raw = t + (slab->n_raw - slab->n), at = raw * c->n_series + s;
    bool narrow = slab->type == DTYPE_F32;
    double here = narrow ? (double)((const float *)slab->x)[at] : ((const double *)slab->x)[at];
    if (c->diff == PEARSON_DIFF_NONE) {
        return here;
    }
    double before = c->before_raw[s];
    if (raw > 0) {
        at -= c->n_series;
        before = narrow ? (double)((const float *)slab->x)[at] : ((const double *)slab->x)[at];
    }
    return pearson_increment(before, here, c->diff);
}

/* The same from the samples as they came; wa and wb, the rows of w, tell which are missing.
 * `scratch` holds a row of each. */
static struct pearson_common raw_common(const struct gaps_job *job, size_t a, size_t b,
                                        const double *wa, const double *wb, double *scratch)
{
    double *x = scratch, *y = scratch + job->slab->n;
    size_t n = 0;
    for (size_t t = 0; t < job->slab->n; ++t) {
        if (!vector_is_missing(wa[t]) && !vector_is_missing(wb[t])) {
            x[n] = raw_sample(job, a, t);
            y[n++] = raw_sample(job, b, t);
        }
    }
    return cpu_pair_common((struct pair_series){.x = x, .type = DTYPE_F64, .shift = x[0]},
                           (struct pair_series){.x = y, .type = DTYPE_F64, .shift = y[0]}, n);
}

/* The slab's sums of series a and b, from those of the tile, about their means on the common
 * samples; n >= 1. */
static struct pearson_common slab_common(const struct gaps_job *job, size_t a, size_t b,
                                         struct pearson_sums sums, double *scratch)
{
    const struct columns *c = job->c;
    const struct pearson_mean mean_a = columns_mean(&c->slab[a]),
                              mean_b = columns_mean(&c->slab[b]);
    const double *wa = c->w + a * c->stride, *wb = c->w + b * c->stride;
    struct pearson_common p = {.sums = sums, .sure = 1};
    if (sums.n < 2) {
        return raw_common(job, a, b, wa, wb, scratch);
    }
    if (pearson_centre_sums(&p.sums)) {
        p.mean_x = pearson_mean_of(mean_a.at, sums.x / sums.n, mean_a.low);
        p.mean_y = pearson_mean_of(mean_b.at, sums.y / sums.n, mean_b.low);
        return p;
    }
    p = cpu_pair_common((struct pair_series){.x = wa, .type = DTYPE_F64, .marked = true},
                        (struct pair_series){.x = wb, .type = DTYPE_F64, .marked = true},
                        job->slab->n);
    if (!p.sure) {
        return raw_common(job, a, b, wa, wb, scratch);
    }
    p.mean_x = pearson_mean_of(mean_a.at, p.mean_x.at, mean_a.low + p.mean_x.low);
    p.mean_y = pearson_mean_of(mean_b.at, p.mean_y.at, mean_b.low + p.mean_y.low);
    return p;
}

/* Merges the slab's sums of series g and j into the pair kept by g's slot. */
static void merge_pair(struct columns *c, size_t g, size_t j, const struct pearson_common *sums)
{
    size_t slot = c->place[g];
    double *at = entry(c, slot, c->place[j]);
    struct columns_pair p = columns_pair_load(at, stride(c, slot));
    columns_pair_merge(&p, sums);
    columns_pair_store(&p, at, stride(c, slot));
}

static void add_tile(struct gaps_job *job, const struct gaps_place *place, void *work,
                     double *scratch)
{
    struct columns *c = job->c;
    struct gaps_tile tile = {.n_a = cpu_min(GAPS_TILE, c->n_gapped - place->a0),
                             .n_b = place->n_b,
                             .n_k = job->slab->n,
                             .b_whole = place->b0 >= c->n_gapped};
    const size_t *a = c->order + place->a0, *b = c->order + place->b0;
    for (size_t k = 0; k < tile.n_a; ++k) {
        tile.a[k] = c->w + a[k] * c->stride;
    }
    for (size_t l = 0; l < tile.n_b; ++l) {
        tile.b[l] = c->w + b[l] * c->stride;
    }
    gaps_sums(&tile, work);
    for (size_t k = 0; k < tile.n_a; ++k) {
        /* of two slots the lower one keeps the pair */
        size_t l = place->b0 > place->a0 + k ? 0 : place->a0 + k + 1 - place->b0;
        for (; l < tile.n_b; ++l) {
            struct pearson_sums s = gaps_pair(&tile, work, k, l);
            if (s.n > 0) {
                struct pearson_common p = slab_common(job, a[k], b[l], s, scratch);
                merge_pair(c, a[k], b[l], &p);
            }
        }
    }
}

static void gaps_body(void *arg, size_t index, void *work)
{
    struct gaps_job *job = arg;
    size_t n_gapped = job->c->n_gapped, rows = cpu_pieces(n_gapped, GAPS_TILE);
    size_t columns = rows + cpu_pieces(job->c->n_series - n_gapped, GAPS_TILE);
    size_t row = index / columns, column = index % columns;
    struct gaps_place place = {.a0 = row * GAPS_TILE, .b0 = column * GAPS_TILE};
    size_t end = n_gapped;
    if (column >= rows) {
        place.b0 = n_gapped + (column - rows) * GAPS_TILE;
        end = job->c->n_series;
    } else if (column < row) {
        return;
    }
    place.n_b = cpu_min(GAPS_TILE, end - place.b0);
    add_tile(job, &place, work, (double *)(void *)((char *)work + gaps_work_bytes()));
}

enum status column_gaps_add(struct queue *q, struct columns *c, const struct columns_slab *slab)
{
    if (c->n_gapped == 0) {
        return STATUS_OK;
    }
    struct gaps_job job = {.c = c, .slab = slab};
    size_t rows = cpu_pieces(c->n_gapped, GAPS_TILE);
    size_t n_tiles = rows * (rows + cpu_pieces(c->n_series - c->n_gapped, GAPS_TILE));
    size_t bytes = gaps_work_bytes() + 2 * slab->n * sizeof(double);
    return cpu_run_scratch(q, n_tiles, bytes, gaps_body, &job);
}

/* --- the end --------------------------------------------------------------------------------- */

double column_gaps_r(const struct columns *c, size_t i, size_t j, double least_count)
{
    size_t low = cpu_min(c->place[i], c->place[j]), high = cpu_max(c->place[i], c->place[j]);
    return columns_pair_r(entry(c, low, high), stride(c, low), least_count);
}

enum status cpu_columns_common(struct queue *q, void *state, struct matrix_pair *pairs, size_t n)
{
    const struct columns *c = state;
    (void)q;
    for (size_t k = 0; k < n; ++k) {
        const size_t i = pairs[k].i, j = pairs[k].j;
        if (cpu_max(i, j) >= c->n_series || !columns_gapped(c, i) || !columns_gapped(c, j)) {
            return status_fail(STATUS_INTERNAL, "columns: a pair without gaps in both series");
        }
        pairs[k].r =
            entry(c, cpu_min(c->place[i], c->place[j]), cpu_max(c->place[i], c->place[j]))[0];
    }
    return STATUS_OK;
}
