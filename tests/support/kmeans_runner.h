/*
 * kmeans_runner - k-means as a stage drives its kernels, on the backend under test, and the same by
 * plain loops: distances by the C library's fma, exact sums in 113 bits.
 */
#ifndef LEAT_TESTS_KMEANS_RUNNER_H
#define LEAT_TESTS_KMEANS_RUNNER_H

#include "kernels/kmeans/kmeans.h"
#include "kernels/kmeans/kmeans_rule.h"
#include "tests/support/backend_under_test.h"

struct kmeans_case {
    size_t n, d, k;
    enum dtype type;
    double *x;      /* [n][d]; f32: floats */
    double *start;  /* [k][d] */
    double *weight; /* [d]; NULL: all 1 */
    double tolerance;
    size_t n_iterations;
    bool has_mass; /* of points: in this column, whose weight is 0, times the factor */
    size_t mass_column;
    double mass_factor;
};

static inline double kmeans_mass_of(const struct kmeans_case *c, size_t point)
{
    return c->has_mass ? c->x[point * c->d + c->mass_column] * c->mass_factor : 1;
}

/* How the kernels are called; no answer depends on it. */
struct kmeans_way {
    bool incremental;
    size_t piece; /* points of a call; 0: all at once */
};

struct kmeans_answer {
    struct kmeans_state state;
    double *centroid;
    uint64_t *count;
    int32_t *label;
    double *within; /* [k] */
};

/* The model in the host's memory, and on the backend. */
struct kmeans_pair {
    struct kmeans_model host, device;
};
/* With range and units of the case's points, which are all in one span. */
struct kmeans_pair kmeans_pair(const struct kmeans_case *c, struct span points, bool incremental);
void kmeans_pair_put(const struct kmeans_pair *p);
void kmeans_pair_get(const struct kmeans_pair *p);
void kmeans_pair_done(struct kmeans_pair *p);

struct kmeans_answer kmeans_by_kernels(const struct kmeans_case *c, struct kmeans_way way);
struct kmeans_answer kmeans_by_loops(const struct kmeans_case *c);
/* Fails the test, naming the case and the number that differs, unless all bits agree, but for what
 * the loops' inertia is more exact; b may be the loops'. */
void kmeans_same(const struct kmeans_case *c, const struct kmeans_answer *a,
                 const struct kmeans_answer *b);
void kmeans_answer_done(struct kmeans_answer *a);

#endif
