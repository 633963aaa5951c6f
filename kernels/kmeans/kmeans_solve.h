/*
 * kmeans_solve - k-means over all points of a source, by the kernels of either backend: in which
 * order they are called, and what becomes of their answers. Plain C; it knows no files.
 *
 * Lloyd's algorithm, of every k in a range, n_init runs from different first centroids; of each k
 * the run of the least inertia is taken, of all k the one of the largest silhouette (P. J.
 * Rousseeuw, 1987) of a sample. `tol` is relative to the mean of the (scaled) columns' variances,
 * as in scikit-learn. The bits depend neither on how points are cut nor on whether they stay.
 *
 * Sources: kmeans_resident.h, for an array; a stage has its own, for files.
 */
#ifndef LEAT_KERNELS_KMEANS_KMEANS_SOLVE_H
#define LEAT_KERNELS_KMEANS_KMEANS_SOLVE_H

#include "kernels/base/room.h"
#include "kernels/kmeans/kmeans.h"
#include "kernels/kmeans/kmeans_sample.h"

enum kmeans_scale {
    KMEANS_SCALE_NONE,
    KMEANS_SCALE_UNIT,
    KMEANS_SCALE_RANGE,
    KMEANS_SCALE_FACTORS /* the solve's `factors` */
};
enum kmeans_init {
    KMEANS_INIT_PLUS,
    KMEANS_INIT_RANDOM,
    KMEANS_INIT_FIRST,
    KMEANS_INIT_GIVEN /* the solve's `given`, as they are: points are labelled by them */
};

struct kmeans_request {
    size_t n_columns;
    enum dtype type;
    size_t k_first, k_last; /* 1 <= k_first <= k_last <= n */
    size_t n_init;          /* runs of each k; 1 unless their first centroids differ */
    enum kmeans_scale scale;
    enum kmeans_init init;
    uint64_t seed, max_iter;
    double tol;
    bool has_mass; /* points weigh as much as their cell in this column, which is not compared;
                      `scale` and `tol` count them alike */
    size_t mass_column;
    bool resident;   /* each point has memory of its own, kmeans_memory_bytes(1), from pass to pass:
                        then it is a run's alone, */
    size_t width;    /* else so many runs share a pass; 1 where resident */
    size_t n_sample; /* points of the silhouette's sample at most */
};

/* Points of the silhouette's sample that are enough, and not too much work with so many columns. */
size_t kmeans_sample_of(size_t n_columns);

static inline size_t kmeans_n_runs(const struct kmeans_request *r)
{
    return (r->k_last - r->k_first + 1) * r->n_init;
}

/* What is done with some points; `memory`: theirs where they stay, else room for their labels. */
typedef enum status kmeans_visit_fn(void *arg, const struct kmeans_points *x, struct span memory);

/* Where points come from. */
struct kmeans_source {
    /* All of them, in any pieces, in the order of their numbers. The first time the source offers
     * their rows to the solve's `sample` (kmeans_sample_take), and fails unless there are k_last
     * points. */
    enum status (*visit)(void *context, kmeans_visit_fn *visit, void *arg);
    /* The last pass, after each piece: its labels, int32, in the backend's memory. */
    enum status (*take_labels)(void *context, const struct kmeans_points *x, struct span labels);
    void *context;
};

/* Why points cannot be clustered. */
struct kmeans_fault {
    enum {
        KMEANS_SOUND,
        KMEANS_NOT_FINITE, /* point, column; low: the number */
        KMEANS_TOO_FAR,    /* column, whose values go from low to high: their squares overflow */
        KMEANS_TOO_CLOSE,  /* likewise: they underflow */
        KMEANS_BAD_MASS,   /* column: its least is below 0, or all are 0 */
        KMEANS_LOST        /* a point of an earlier pass has not come again */
    } what;
    uint64_t point;
    size_t column;
    double low, high;
};

/* The outcome of a run, on the host. */
struct kmeans_fit {
    size_t k; /* 0: none yet */
    struct kmeans_state state;
    double inertia, silhouette;
    double *centroids; /* [k][n_columns] */
    int32_t *sample;   /* labels of the silhouette's sample */
};

/* The best run of a k. */
struct kmeans_k {
    size_t k;
    double inertia, silhouette;
    uint64_t n_iterations;
    bool converged;
};

struct kmeans_run;
struct kmeans_solve {
    struct kmeans_request request; /* set by the caller, as is: */
    struct kmeans_source source;
    struct queue *queue;
    const struct backend_ops *ops;
    const struct kmeans_kernels *kernels;
    const double *factors; /* [n_columns], or NULL */
    const double *given;   /* [k_last][n_columns], or NULL; there when the first pass has ended, as
                              is their number, k_first = k_last, of no more than there was room for */

    /* of all points */
    size_t n;                          /* that the first pass has seen */
    struct kmeans_model all;           /* of one cluster: ranges, means, squares */
    struct kmeans_sum *squares;        /* [n_columns] */
    double *min, *max, *weight, *unit; /* [n_columns] */
    double *mean, *square_unit;        /* [n_columns] */
    double inertia_unit, tolerance;
    double mass_factor; /* a power of two */
    void *row;          /* one, from the backend */
    struct kmeans_fault fault;

    /* runs */
    struct kmeans_run *runs; /* [width]: those under way */
    size_t first_run;        /* the number of the first of them */
    size_t n_runs;           /* of them */

    /* their outcomes */
    struct kmeans_fit best, candidate; /* of all; of the present k */
    struct kmeans_k *ks;               /* [k_last - k_first + 1] */
    size_t n_ks;
    struct kmeans_sample sample; /* of the silhouette */
    struct span sample_at, sample_labels;
    double *distances; /* in it; not needed once all runs are done */

    /* of the best */
    struct kmeans_model model;
    uint64_t *count;  /* [k] */
    double *within;   /* [k]: sums of squared distances */
    double *mass;     /* [k]: of their points, where these have one */
    size_t n_nonzero; /* clusters with points */
};

/* Counts, or takes, all memory beside that of the points. STATUS_NO_MEMORY, _TOO_LARGE. */
enum status kmeans_solve_room(struct kmeans_solve *s, struct room *room) STATUS_MUST_CHECK;
/* Everything, with the memory that this room has given: `best`, `ks`, `count`, `within`; the
 * distances go back. STATUS_BAD_INPUT, STATUS_CHANGED: s->fault says why, where it can. */
enum status kmeans_solve_all(struct kmeans_solve *s, struct room *room) STATUS_MUST_CHECK;

#endif
