/*
 * kmeans - Lloyd's algorithm on points in rows: one pass over the points an iteration.
 *
 * The same bits for any number of threads, any cut of the points into calls, and either backend:
 * a distance is one fixed sequence of roundings,
 *   d2(x, c) = sum over columns, in order, of t^2 by fma, t = (x - c) * weight
 * (without the product where all weights are 1), ties go to the lowest cluster, and whatever is
 * added up over points is added up in integers, whose order does not matter:
 *   x = (high + low * 2^-50) * unit,   |high| <= 2^50, |low| <= 2^49, both rounded to nearest even,
 * unit a power of two such that the largest |x| of the column is at most 2^50 units. So a sum is
 * that of the points themselves but for 2^-100 of the largest a point, and a centroid is the mean
 * of its points, rounded once (kmeans_rule.h). An offset costs no digits. A unit is no less than
 * 2^-1022: where the largest is below 2^-972 the sum errs by up to 2^-1073 a point instead, so that
 * subnormal numbers lose their last bits, and a mean among them is rounded twice.
 *
 * Points may have a mass each, from 0 to 1: a column of them times a power of two. Its weight is 0,
 * so that it counts nothing in distances; what is added up is mass * x, rounded once, in that
 * column the mass, and a centroid is the quotient of the two sums, each rounded once. d2, as a
 * potential or in WITHIN, is multiplied with the mass, too. Points without a mass are labelled
 * alone.
 *
 * Points are f32 or f64 and finite, and begin at a multiple of a row if that has two cells. All
 * spans are backend memory. A model's arrays are read and
 * written by the host, by upload and download.
 */
#ifndef LEAT_KERNELS_KMEANS_KMEANS_H
#define LEAT_KERNELS_KMEANS_KMEANS_H

#include "kernels/backend.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Point i of these is cells i * n_columns ... of `at`; it is point number first + i of the file. */
struct kmeans_points {
    struct span at;
    enum dtype type;
    size_t n, n_columns;
    uint64_t first;
};

/* A sum of numbers as above: high = high[1] * 2^32 + high[0], low likewise; up to 2^31 points.
 * Which words make up a value is left open: compare values (kmeans_mean), not bytes. */
struct kmeans_sum {
    int64_t high[2], low[2];
};

/* The farthest point, with its d2 and cluster; of several the one with the lowest number. Its cells
 * are the first row of KMEANS_PICK_CELLS. Or a point that is drawn, with its key and the row of its
 * list, in KMEANS_PICK_CELLS, that holds its cells. */
struct kmeans_pick {
    double value;
    uint64_t point; /* UINT64_MAX: none yet */
    uint64_t cluster;
};

/* What an iteration leaves. */
struct kmeans_state {
    uint64_t n_iterations; /* updates so far */
    uint64_t n_empty;      /* clusters without a point at the last update */
    uint64_t n_relocated;  /* clusters that have taken a farthest point, so far */
    uint64_t done;         /* not 0: assign, farthest and update do nothing any more */
    double shift2;         /* of the last update: sum over clusters of d2(new, old centroid) */
    double tolerance;      /* done when shift2 is at most this and no cluster took a point; set by
                              the host */
    double inertia_unit;   /* unit of KMEANS_WITHIN: a power of two, 2^50 of them exceed any d2 */
    double potential_unit; /* unit of KMEANS_POTENTIAL, a power of two, set by take() */
    struct kmeans_pick pick;
};

/* The arrays of a model, one after the other in this order, each at a multiple of 8 bytes. k, d and
 * t: clusters, columns, and the trials of a seed, kmeans_trials(k). A model begins as
 * kmeans_clear() leaves the host's copy; an incremental one that starts again with other centroids
 * has STATE, COUNT, SUM and DRIFT at 0 again, too. */
enum kmeans_field {
    KMEANS_STATE,       /* struct kmeans_state */
    KMEANS_MIN,         /* double [d]: of all points, by range() */
    KMEANS_MAX,         /* double [d] */
    KMEANS_BAD,         /* uint64 [1]: number of the first point with a NaN or an infinity, by
                           range(); UINT64_MAX: none */
    KMEANS_UNIT,        /* double [d]: a power of two, set by the host */
    KMEANS_WEIGHT,      /* double [d]: of a difference, >= 0; set by the host */
    KMEANS_CENTRE,      /* double [d]: about which squares() adds up; set by the host */
    KMEANS_SQUARE_UNIT, /* double [d]: its unit: 2^50 of them exceed any (x - centre)^2 */
    KMEANS_SQUARES,     /* struct kmeans_sum [d]: of (x - centre)^2 */
    KMEANS_PICK_CELLS,  /* double [t][t][d] */
    KMEANS_DRAWN,       /* struct kmeans_pick [t][t]: points that are drawn, a list a trial, in the
                           order of their keys */
    KMEANS_POTENTIAL,   /* int64 [t]: what the weights of all points come to with a trial */
    KMEANS_CENTROID,    /* double [k + t][d]: behind those that are there, a seed's trials */
    KMEANS_COUNT,       /* uint64 [k] */
    KMEANS_SUM,         /* struct kmeans_sum [k][d] */
    KMEANS_WITHIN,      /* struct kmeans_sum [k]: of d2 to the own centroid, by label() */
    KMEANS_DRIFT,       /* double [3][k]: for `memory`: how centroids have moved (kmeans_rule.h) */
    KMEANS_FIELDS
};

struct kmeans_model {
    struct span at; /* kmeans_model_bytes(k, n_columns) */
    size_t k, n_columns;
    size_t n_drawn;  /* for draw and take: centroids that are there, and trials of the next one: */
    size_t n_trials; /* 0 until the second is drawn, then kmeans_trials(k) */
    bool has_mass;   /* of points: their cell in this column times the factor */
    size_t mass_column;
    double mass_factor;
    bool incremental; /* SUM and COUNT stay from one iteration to the next: every assign gets
                         `memory` */
};

#ifdef __CUDACC__
#define KMEANS_RULE __host__ __device__ static inline
#else
#define KMEANS_RULE static inline
#endif

/* The trials of a seed among k: 2 + floor(log k), as in scikit-learn. No power of e up to 2^31 is
 * as close to a whole number as these are rounded. */
enum { KMEANS_MOST_TRIALS = 23 };
KMEANS_RULE size_t kmeans_trials(size_t k)
{
    const double e = 0x1.5bf0a8b145769p1;
    double power = e;
    size_t n = 2;
    while (power <= (double)k && n < KMEANS_MOST_TRIALS) {
        power *= e;
        n++;
    }
    return n;
}

/* Where field f begins, in bytes; of KMEANS_FIELDS: what all take. k and d have been checked: the
 * product of 32 k (d + 3) and 8 d 600 fits. */
KMEANS_RULE size_t kmeans_offset(size_t k, size_t d, enum kmeans_field f)
{
    const size_t t = kmeans_trials(k);
    const size_t bytes[KMEANS_FIELDS] = {sizeof(struct kmeans_state),
                                         8 * d,
                                         8 * d,
                                         8,
                                         8 * d,
                                         8 * d,
                                         8 * d,
                                         8 * d,
                                         sizeof(struct kmeans_sum) * d,
                                         8 * t * t * d,
                                         sizeof(struct kmeans_pick) * t * t,
                                         8 * t,
                                         8 * (k + t) * d,
                                         8 * k,
                                         sizeof(struct kmeans_sum) * k * d,
                                         sizeof(struct kmeans_sum) * k,
                                         24 * k};
    size_t offset = 0;
    for (int i = 0; i < (int)f; i++) {
        offset += bytes[i];
    }
    return offset;
}

static inline size_t kmeans_model_bytes(size_t k, size_t d)
{
    return kmeans_offset(k, d, KMEANS_FIELDS);
}

/* A field of a model, or of a host's copy of one; for whoever may read it. */
KMEANS_RULE void *kmeans_array(const struct kmeans_model *m, enum kmeans_field f)
{
    return (char *)m->at.at + kmeans_offset(m->k, m->n_columns, f);
}

/* Nothing drawn: as bytes, so that KMEANS_DRAWN begins as many of them. */
enum { KMEANS_NONE_DRAWN = 0xff };

/* The seed that is drawn, or of which trials are: for the generator. */
static inline size_t kmeans_seed_drawn(const struct kmeans_model *m)
{
    return m->n_drawn + (m->n_trials > 0 ? 1 : 0);
}

/* How many lists a draw makes. */
static inline size_t kmeans_n_lists(const struct kmeans_model *m)
{
    return m->n_trials == 0 ? 1 : kmeans_seed_drawn(m) < m->k ? m->n_trials : 0;
}

/* After take(): what is there now. */
static inline void kmeans_taken(struct kmeans_model *m)
{
    if (m->n_drawn > 0 && m->n_trials == 0) {
        m->n_trials = kmeans_trials(m->k);
    } else {
        m->n_drawn++;
    }
}

/* A host's copy of a model as a model begins: all 0, nothing picked, no range, units and weights 1.
 */
static inline void kmeans_clear(const struct kmeans_model *copy)
{
    memset(copy->at.at, 0, kmeans_model_bytes(copy->k, copy->n_columns));
    ((struct kmeans_state *)kmeans_array(copy, KMEANS_STATE))->pick.point = UINT64_MAX;
    ((struct kmeans_state *)kmeans_array(copy, KMEANS_STATE))->inertia_unit = 1;
    *(uint64_t *)kmeans_array(copy, KMEANS_BAD) = UINT64_MAX;
    memset(kmeans_array(copy, KMEANS_DRAWN), KMEANS_NONE_DRAWN,
           kmeans_offset(copy->k, copy->n_columns, KMEANS_POTENTIAL) -
               kmeans_offset(copy->k, copy->n_columns, KMEANS_DRAWN));
    for (size_t j = 0; j < copy->n_columns; j++) {
        ((double *)kmeans_array(copy, KMEANS_MIN))[j] = (double)INFINITY;
        ((double *)kmeans_array(copy, KMEANS_MAX))[j] = -(double)INFINITY;
        ((double *)kmeans_array(copy, KMEANS_UNIT))[j] = 1;
        ((double *)kmeans_array(copy, KMEANS_WEIGHT))[j] = 1;
        ((double *)kmeans_array(copy, KMEANS_SQUARE_UNIT))[j] = 1;
    }
}

struct kmeans_kernels {
    /* Widens MIN and MAX (which begin as +INFINITY and -INFINITY) to these points, and lowers BAD.
     * Cells of a bad point may or may not enter MIN and MAX. */
    enum status (*range)(struct queue *q, const struct kmeans_points *x,
                         const struct kmeans_model *m) STATUS_MUST_CHECK;
    /* Adds (x - CENTRE)^2 of every column to SQUARES. Column means need no function of their own:
     * they are the centroid of one cluster. */
    enum status (*squares)(struct queue *q, const struct kmeans_points *x,
                           const struct kmeans_model *m) STATUS_MUST_CHECK;
    /* A pass of k-means++ with several trials a seed, of which the best is taken (D. Arthur, S.
     * Vassilvitskii, 2007; as scikit-learn). A point's weight w is its d2 to the nearest of the
     * first n_drawn centroids (1 where n_drawn is 0), times its mass. Adds to POTENTIAL of each of
     * the n_trials rows behind them its w_i, the lesser of w and of d2 to that trial, rounded to a
     * whole number of units, to even; and keeps for each trial, should it be taken, the points that
     * may be tried next, in its list of DRAWN: those with the least keys e / w_i, where e is
     * exponentially distributed, from Philox4x32-10 keyed by (seed, stream) with the point's number
     * as counter. So the first is drawn with probability w_i / sum of w_i (the least of exponential
     * variables), and the next ones likewise among what is left. Of points whose numbers are the
     * same modulo KMEANS_CLASSES only the one with the least key is kept, so that threads need not
     * know each other's. A point with w_i = 0 has no key. Without trials there is one list, of w.
     * With the last seed's trials nothing is drawn. `nearest`: double [x->n], the least d2 to the
     * first n_drawn - 1 centroids, which becomes that to n_drawn; or none, and all are computed. */
    enum status (*draw)(struct queue *q, const struct kmeans_points *x,
                        const struct kmeans_model *m, uint64_t seed, uint64_t stream,
                        struct span nearest) STATUS_MUST_CHECK;
    /* Of the trials the one with the least POTENTIAL, of several the first, becomes centroid number
     * n_drawn, and its list the trials of the next; without trials the list becomes the rows from
     * n_drawn on: the first centroid, or the second's trials. Where a list is short its first point
     * is tried again, where nothing has a key centroid 0 (fewer distinct points than clusters).
     * DRAWN and POTENTIAL begin again, this in a new potential_unit. For the second seed 2^31 units
     * exceed any d2. Later, 2^50 units exceed the sum of all weights, which the POTENTIAL of the
     * seed that was taken tells; but a unit is 2^-20 of the one before at least, so that seeds
     * right after an outlier, some 10^7 times as far away as the others are from each other, may
     * be taken as they are drawn. The caller goes on with kmeans_taken(). */
    enum status (*take)(struct queue *q, const struct kmeans_model *m) STATUS_MUST_CHECK;
    /* Adds the points that have a mass to COUNT and SUM of the nearest centroids. `memory`: only
     * where the model is `incremental`: kmeans_memory_bytes(x->n), at a multiple of 8 bytes, that
     * belong to these points from one assignment to the next, zeroed before the first one. It saves
     * time (points whose cluster cannot have changed are not looked at) and changes no bit. */
    enum status (*assign)(struct queue *q, const struct kmeans_points *x,
                          const struct kmeans_model *m, struct span memory) STATUS_MUST_CHECK;
    /* All points have been assigned: where a cluster is empty, raises the pick to the farthest
     * point from its centroid; else does nothing. */
    enum status (*farthest)(struct queue *q, const struct kmeans_points *x,
                            const struct kmeans_model *m) STATUS_MUST_CHECK;
    /* The next centroids: the means of the assigned points. Where clusters are empty, the first of
     * them takes the picked point, which leaves its own cluster, if its d2 is above 0; the other
     * ones stay where they are. Sets the state; the pick becomes none, COUNT and SUM 0, unless the
     * model is incremental: then they remain those of the assignment, and DRIFT goes on. */
    enum status (*update)(struct queue *q, const struct kmeans_model *m) STATUS_MUST_CHECK;
    /* Labels of the points by the centroids as they are, into int32 [x->n]; adds all of them to
     * COUNT and WITHIN, and masses to SUM, in their column. Not bound by `done`. */
    enum status (*label)(struct queue *q, const struct kmeans_points *x,
                         const struct kmeans_model *m, struct span labels) STATUS_MUST_CHECK;
};

/* Bytes of `memory` for n points. */
static inline size_t kmeans_memory_bytes(size_t n)
{
    return 12 * n;
}

/* Bytes of the list of points that may move, which an assignment of n points with `memory` may
 * make: 0 where a block of any device has room in its shared memory for the centroids and for the
 * rows that it works on, 256 at a time, and for no more than 2.5 KiB besides. */
static inline size_t kmeans_list_bytes(size_t n, size_t k, size_t d)
{
    const size_t most = 92 << 10; /* of 99 KiB */
    return k + 265 <= most / sizeof(double) / (d + 1) ? 0 : n * sizeof(uint32_t);
}

/* What kernels may take beside spans: a buffer of the queue, with room for a quarter more than was
 * asked for. It holds such a list, or numbers: k (d + 2), or points that are drawn, for t lists. */
enum {
    KMEANS_SCRATCH_NUMBER = 10,
    KMEANS_SCRATCH_BESIDE = 1 << 16,
    KMEANS_DRAW_BLOCKS = 1056, /* of a device, eight a multiprocessor of an H100, with lists each */
    KMEANS_CLASSES = 32,       /* a warp's lanes */
    KMEANS_SCRATCH_DRAWN = KMEANS_DRAW_BLOCKS * KMEANS_CLASSES * 20,
};

/* Of the scratch for points that are drawn, on a device; for so many trials. */
static inline size_t kmeans_drawn_bytes(size_t n_trials)
{
    return n_trials * KMEANS_SCRATCH_DRAWN;
}

#endif
