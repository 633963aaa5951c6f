/*
 * columns_cpu - the state of series in columns, shared by its two files: columns_cpu (complete
 * series), which calls column_gaps_cpu (pairs with a series that has gaps).
 */
#ifndef LEAT_KERNELS_PEARSON_COLUMNS_CPU_H
#define LEAT_KERNELS_PEARSON_COLUMNS_CPU_H

#include "kernels/base/vector_cpu.h"
#include "kernels/pearson/columns_rule.h"
#include "kernels/pearson/pearson_cpu.h"

#include <stdbool.h>

/* Slots whose pairs share a span. */
enum { COLUMNS_SLOTS = 64 };

/* A slab as it came: n_raw samples, n after diff. */
struct columns_slab {
    const void *x;
    enum dtype type;
    size_t n_raw, n;
};

struct columns {
    size_t n_series, slab_samples;
    enum pearson_diff diff;
    size_t n_total;      /* samples (or increments) so far */
    bool started;        /* last_raw is filled */
    size_t tile, stride; /* side of a tile; doubles from one row of w to the next */

    struct span w_span, triangle_span;
    double *w;        /* the slab, series by series: centred, -0.0 where missing; one more entry */
    double *triangle; /* co-moments: lower triangle in panels of `tile` rows */

    struct part_moments *all, *slab; /* of every series: so far, and of the slab in hand */
    struct columns_lag *lag, *slab_lag;
    double *last_raw, *before_raw; /* the last sample before diff: of the slab, and before it */
    double *last, *first_slab, *last_slab; /* first and last sample after diff; NaN: missing */

    size_t *order; /* series that had a gap, in the order in which they showed it; then the rest */
    size_t *place; /* of every series in `order`: below n_gapped it is its slot */
    size_t n_gapped;
    struct span *rows; /* of every COLUMNS_SLOTS slots: their pairs, slot by slot */
};

static inline bool columns_gapped(const struct columns *c, size_t s)
{
    return c->place[s] < c->n_gapped;
}

/* Row j of the triangle. */
static inline double *columns_row(const struct columns *c, size_t j)
{
    size_t p = j / c->tile;
    return c->triangle + c->tile * c->tile * (p * (p + 1) / 2) +
           (j - p * c->tile) * matrix_panel_width(p, c->tile, c->n_series);
}

/* Bytes of the pairs when every series has gaps. */
size_t column_gaps_bytes(size_t n_series);
/* Gives slots to series with a first gap in this slab; `all` is still without the slab. */
enum status column_gaps_admit(struct queue *q, struct columns *c, size_t n) STATUS_MUST_CHECK;
/* Adds the slab's samples to every pair with a slot. */
enum status column_gaps_add(struct queue *q, struct columns *c,
                            const struct columns_slab *slab) STATUS_MUST_CHECK;
/* The coefficient of a pair, one of which has a slot. */
double column_gaps_r(const struct columns *c, size_t i, size_t j, double least_count);
void column_gaps_free(struct queue *q, struct columns *c);

#endif
