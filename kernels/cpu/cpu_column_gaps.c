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

static double *field(const struct columns *c, size_t slot, enum pair_field f)
{
    return (double *)c->rows[slot].at + (size_t)f * c->n_series;
}

void column_gaps_free(struct queue *q, struct columns *c)
{
    for (size_t k = 0; k < c->n_gapped; ++k) {
        backend_cpu.release(q, c->rows[k]);
    }
}

/* Starts the pairs of series g, in the slot given to it, from the totals so far. */
static void start_pairs(struct columns *c, size_t g, size_t slot)
{
    for (size_t j = 0; j < c->n_series; ++j) {
        /* another slot keeps the pair, or nothing came yet: the triangle is not filled */
        bool held = j != g && c->slot[j] == COLUMNS_COMPLETE && c->n_total > 0;
        field(c, slot, PAIR_N)[j] = held ? (double)c->n_total : 0;
        field(c, slot, PAIR_MEAN_X)[j] = held ? c->all[g].mean : 0;
        field(c, slot, PAIR_MEAN_Y)[j] = held ? c->all[j].mean : 0;
        field(c, slot, PAIR_XX)[j] = held ? c->all[g].m2 : 0;
        field(c, slot, PAIR_YY)[j] = held ? c->all[j].m2 : 0;
        double xy = 0;
        if (held) {
            xy = g > j ? columns_row(c, g)[j] : columns_row(c, j)[g];
        }
        field(c, slot, PAIR_XY)[j] = xy;
    }
}

enum status column_gaps_admit(struct queue *q, struct columns *c, size_t n)
{
    for (size_t s = 0; s < c->n_series; ++s) {
        if (c->slab[s].count == (double)n || c->slot[s] != COLUMNS_COMPLETE) {
            continue;
        }
        size_t slot = c->n_gapped;
        enum status st =
            backend_cpu.alloc(q, PAIR_FIELDS * c->n_series * sizeof(double), &c->rows[slot]);
        if (st != STATUS_OK) {
            return st;
        }
        c->gapped[slot] = s;
        ++c->n_gapped;
        start_pairs(c, s, slot);
        c->slot[s] = slot;
    }
    return STATUS_OK;
}

/* --- a slab ---------------------------------------------------------------------------------- */

struct gaps_job {
    struct columns *c;
    size_t n;
    const size_t *whole; /* series without a slot */
    size_t n_whole;
    atomic_bool failed;
};

/* Slots first_a .. with other slots, or with series without one. */
struct gaps_place {
    size_t a0, b0;
    const size_t *b; /* c->gapped or whole */
    size_t n_b_all;
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
    size_t slot = c->slot[g];
    double before = field(c, slot, PAIR_N)[j], n = before + s.n;
    /* means as distances from the series' shifts; w is centred by the slab's rounded means */
    double x = (lanes_mean(&c->slab[g]) - c->all[g].shift) + s.x / s.n;
    double y = (lanes_mean(&c->slab[j]) - c->all[j].shift) + s.y / s.n;
    double dx = x - field(c, slot, PAIR_MEAN_X)[j], dy = y - field(c, slot, PAIR_MEAN_Y)[j];
    double weight = before * s.n / n; /* 0 for the first samples */
    field(c, slot, PAIR_XX)[j] += s.xx + dx * dx * weight;
    field(c, slot, PAIR_YY)[j] += s.yy + dy * dy * weight;
    field(c, slot, PAIR_XY)[j] += s.xy + dx * dy * weight;
    field(c, slot, PAIR_MEAN_X)[j] =
        before == 0 ? x : field(c, slot, PAIR_MEAN_X)[j] + dx * (s.n / n);
    field(c, slot, PAIR_MEAN_Y)[j] =
        before == 0 ? y : field(c, slot, PAIR_MEAN_Y)[j] + dy * (s.n / n);
    field(c, slot, PAIR_N)[j] = n;
}

static void add_tile(struct gaps_job *job, const struct gaps_place *place, void *work)
{
    struct columns *c = job->c;
    bool b_whole = place->b == job->whole;
    struct gaps_tile tile = {.n_a = cpu_min(GAPS_TILE, c->n_gapped - place->a0),
                             .n_b = cpu_min(GAPS_TILE, place->n_b_all - place->b0),
                             .n_k = job->n,
                             .b_whole = b_whole};
    const size_t *a = c->gapped + place->a0, *b = place->b + place->b0;
    for (size_t k = 0; k < tile.n_a; ++k) {
        tile.a[k] = c->w + a[k] * c->stride;
    }
    for (size_t l = 0; l < tile.n_b; ++l) {
        tile.b[l] = c->w + b[l] * c->stride;
    }
    gaps_sums(&tile, work);
    for (size_t k = 0; k < tile.n_a; ++k) {
        /* of two slots the lower one keeps the pair */
        size_t l = b_whole || place->b0 > place->a0 + k ? 0 : place->a0 + k + 1 - place->b0;
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
    size_t rows = cpu_pieces(job->c->n_gapped, GAPS_TILE);
    size_t columns = rows + cpu_pieces(job->n_whole, GAPS_TILE);
    size_t row = index / columns, column = index % columns;
    struct gaps_place place = {row * GAPS_TILE, column * GAPS_TILE, job->c->gapped,
                               job->c->n_gapped};
    if (column >= rows) {
        place.b = job->whole;
        place.b0 = (column - rows) * GAPS_TILE;
        place.n_b_all = job->n_whole;
    } else if (column < row) {
        return;
    }
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
    size_t *whole;
    enum status st = cpu_scratch(c->n_series, sizeof *whole, (void **)&whole);
    if (st != STATUS_OK) {
        return st;
    }
    struct gaps_job job = {.c = c, .n = n, .whole = whole};
    for (size_t s = 0; s < c->n_series; ++s) {
        if (c->slot[s] == COLUMNS_COMPLETE) {
            whole[job.n_whole++] = s;
        }
    }
    size_t rows = cpu_pieces(c->n_gapped, GAPS_TILE);
    cpu_run(q, rows * (rows + cpu_pieces(job.n_whole, GAPS_TILE)), gaps_body, &job);
    free(whole);
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
    bool i_keeps = c->slot[i] < c->slot[j];
    size_t g = i_keeps ? i : j, other = i_keeps ? j : i, slot = c->slot[g];
    struct pearson_sums s = {.n = field(c, slot, PAIR_N)[other],
                             .xx = field(c, slot, PAIR_XX)[other],
                             .yy = field(c, slot, PAIR_YY)[other],
                             .xy = field(c, slot, PAIR_XY)[other]};
    if (!(s.xx > rounding_square(&c->all[g], s.n)) ||
        !(s.yy > rounding_square(&c->all[other], s.n))) {
        return (double)NAN;
    }
    return pearson_of_centred(s);
}
