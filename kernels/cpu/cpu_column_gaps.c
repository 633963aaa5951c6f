/*
 * cpu_column_gaps - pairs of columns of which one or both have missing samples.
 *
 * A series gets a slot at its first gap. A pair is kept, with its own count, means and co-moments
 * of the common samples, by the slot that came first; it starts from the totals that were common to
 * both until then. A slab's contribution comes from tiles of products (cpu_gaps), or by itself
 * where its sums cancel, and is merged by Chan's formula.
 */
#include "kernels/cpu/cpu_columns.h"
#include "kernels/cpu/cpu_gaps.h"
#include "kernels/cpu/cpu_pairs.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Pairs of slots first .. slot - 1, in all. */
static size_t pairs_between(const struct columns *c, size_t first, size_t slot)
{
    size_t n = slot - first;
    return n * (c->n_series - 1 - first) - n * (n - 1) / 2;
}

/* A field of a slot's pairs; that with the series at `place` is entry place - slot - 1. */
static double *field(const struct columns *c, size_t slot, enum pair_field f)
{
    size_t first = slot - slot % COLUMNS_SLOTS;
    return (double *)c->rows[slot / COLUMNS_SLOTS].at +
           PAIR_FIELDS * pairs_between(c, first, slot) + (size_t)f * (c->n_series - 1 - slot);
}

size_t column_gaps_bytes(size_t n_series)
{
    return (size_t)PAIR_FIELDS * sizeof(double) * (n_series * (n_series - 1) / 2);
}

void column_gaps_free(struct queue *q, struct columns *c)
{
    for (size_t k = 0; c->rows != NULL && k < cpu_pieces(c->n_series, COLUMNS_SLOTS); ++k) {
        if (c->rows[k].at != NULL) {
            q->backend->ops->release(q, c->rows[k]);
        }
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
        for (int f = 0; f < PAIR_FIELDS; ++f) {
            double *entries = field(c, slot, (enum pair_field)f), kept = entries[p - slot - 1];
            entries[p - slot - 1] = entries[r - slot - 1];
            entries[r - slot - 1] = kept;
        }
    }
}

/* Starts the pairs of the series in a new slot, with those that have none, from the totals so far.
 */
static void start_pairs(struct columns *c, size_t slot)
{
    size_t g = c->order[slot], n = c->n_series - 1 - slot;
    for (size_t k = 0; k < n; ++k) {
        size_t j = c->order[slot + 1 + k];
        bool held = c->n_total > 0; /* or the triangle is not filled */
        field(c, slot, PAIR_N)[k] = held ? (double)c->n_total : 0;
        field(c, slot, PAIR_MEAN_X)[k] = held ? c->all[g].mean : 0;
        field(c, slot, PAIR_MEAN_Y)[k] = held ? c->all[j].mean : 0;
        field(c, slot, PAIR_XX)[k] = held ? c->all[g].m2 : 0;
        field(c, slot, PAIR_YY)[k] = held ? c->all[j].m2 : 0;
        double xy = 0;
        if (held) {
            xy = g > j ? columns_row(c, g)[j] : columns_row(c, j)[g];
        }
        field(c, slot, PAIR_XY)[k] = xy;
    }
}

enum status column_gaps_admit(struct queue *q, struct columns *c, size_t n)
{
    for (size_t s = 0; s < c->n_series; ++s) {
        if (c->slab[s].count == (double)n || columns_gapped(c, s)) {
            continue;
        }
        size_t slot = c->n_gapped;
        if (slot % COLUMNS_SLOTS == 0) {
            size_t end = cpu_min(slot + COLUMNS_SLOTS, c->n_series);
            enum status st = q->backend->ops->alloc(
                q, PAIR_FIELDS * sizeof(double) * pairs_between(c, slot, end),
                &c->rows[slot / COLUMNS_SLOTS]);
            if (st != STATUS_OK) {
                return st;
            }
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
    size_t n;
    atomic_bool failed;
};

/* A tile of pairs: slots from place a0 on with series from place b0 on, which all have a slot or
 * none of them. */
struct gaps_place {
    size_t a0, b0, n_b;
};

/* Sums about the slab's means to sums about the means of the common samples. */
static struct pearson_sums centred(const struct gaps_job *job, const struct gaps_tile *tile,
                                   const void *work, size_t k, size_t l)
{
    struct pearson_sums s = gaps_pair(tile, work, k, l);
    if (s.n < 2) {
        s.xx = s.yy = s.xy = 0;
    } else if (!pearson_centre_sums(&s)) {
        struct pair_series a = {.x = tile->a[k], .type = DTYPE_F64, .marked = true};
        struct pair_series b = {.x = tile->b[l], .type = DTYPE_F64, .marked = true};
        s = cpu_pair_sums(a, b, job->n);
    }
    return s;
}

/* Merges the slab's sums of series g and j into the pair kept by g's slot. */
static void merge_pair(struct columns *c, size_t g, size_t j, struct pearson_sums s)
{
    size_t slot = c->place[g], k = c->place[j] - slot - 1;
    double before = field(c, slot, PAIR_N)[k], n = before + s.n;
    /* means as distances from the series' shifts */
    double x = (c->slab[g].shift - c->all[g].shift) + c->slab[g].mean + s.x / s.n;
    double y = (c->slab[j].shift - c->all[j].shift) + c->slab[j].mean + s.y / s.n;
    double dx = x - field(c, slot, PAIR_MEAN_X)[k], dy = y - field(c, slot, PAIR_MEAN_Y)[k];
    double weight = before * s.n / n; /* 0 for the first samples */
    field(c, slot, PAIR_XX)[k] += s.xx + dx * dx * weight;
    field(c, slot, PAIR_YY)[k] += s.yy + dy * dy * weight;
    field(c, slot, PAIR_XY)[k] += s.xy + dx * dy * weight;
    field(c, slot, PAIR_MEAN_X)[k] =
        before == 0 ? x : field(c, slot, PAIR_MEAN_X)[k] + dx * (s.n / n);
    field(c, slot, PAIR_MEAN_Y)[k] =
        before == 0 ? y : field(c, slot, PAIR_MEAN_Y)[k] + dy * (s.n / n);
    field(c, slot, PAIR_N)[k] = n;
}

static void add_tile(struct gaps_job *job, const struct gaps_place *place, void *work)
{
    struct columns *c = job->c;
    struct gaps_tile tile = {.n_a = cpu_min(GAPS_TILE, c->n_gapped - place->a0),
                             .n_b = place->n_b,
                             .n_k = job->n,
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
            struct pearson_sums s = centred(job, &tile, work, k, l);
            if (s.n > 0) {
                merge_pair(c, a[k], b[l], s);
            }
        }
    }
}

static void gaps_body(void *arg, size_t index)
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
    void *work = cpu_scratch_try(gaps_work_bytes(), 1);
    if (work == NULL) {
        atomic_store(&job->failed, true);
        return;
    }
    add_tile(job, &place, work);
    free(work);
}

enum status column_gaps_add(struct queue *q, struct columns *c, size_t n)
{
    if (c->n_gapped == 0) {
        return STATUS_OK;
    }
    struct gaps_job job = {.c = c, .n = n};
    size_t rows = cpu_pieces(c->n_gapped, GAPS_TILE);
    cpu_run(q, rows * (rows + cpu_pieces(c->n_series - c->n_gapped, GAPS_TILE)), gaps_body, &job);
    return atomic_load(&job.failed) ? cpu_scratch_failed() : STATUS_OK;
}

/* --- the end --------------------------------------------------------------------------------- */

/* The square below which a series' deviations on n samples are rounding of its magnitude: means are
 * kept to within 2^-52 of it, and merging moves them by as much. */
static double rounding_square(const struct lanes_moments *m, double n)
{
    double floor = 0x1p-51 * fmax(fabs(m->min), fabs(m->max));
    return n * floor * floor;
}

double column_gaps_r(const struct columns *c, size_t i, size_t j)
{
    bool i_keeps = c->place[i] < c->place[j];
    size_t g = i_keeps ? i : j, other = i_keeps ? j : i;
    size_t slot = c->place[g], k = c->place[other] - slot - 1;
    struct pearson_sums s = {.n = field(c, slot, PAIR_N)[k],
                             .xx = field(c, slot, PAIR_XX)[k],
                             .yy = field(c, slot, PAIR_YY)[k],
                             .xy = field(c, slot, PAIR_XY)[k]};
    if (!(s.xx > rounding_square(&c->all[g], s.n)) ||
        !(s.yy > rounding_square(&c->all[other], s.n))) {
        return (double)NAN;
    }
    return pearson_of_centred(s);
}
