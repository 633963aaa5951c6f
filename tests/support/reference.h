/*
 * reference - plain, slow, right: scalar answers in long double to compare kernels with.
 *
 * Sums are nested, so that 2^20 samples about any mean are right to 1e-16 or so.
 * Missing samples are NaN. Nothing here is shared with the kernels but the rule of degenerate
 * series.
 */
#ifndef LEAT_TESTS_REFERENCE_H
#define LEAT_TESTS_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

struct reference_moments {
    double count, mean, m2, min, max, lag1;
};

/* Of n samples, two passes about the first sample. */
struct reference_moments reference_moments(const double *x, size_t n);
/* Pairwise-complete; NaN as kernels/pearson/pearson.h has it. */
double reference_pearson(const double *x, const double *y, size_t n);
/* z = x centred and scaled to norm 1, none missing (0 / 0 of a constant series); the product of two
 * such series is their coefficient. */
void reference_unit(const double *x, size_t n, long double *z);
double reference_dot(const long double *a, const long double *b, size_t n);
/* The condensed triangle of n_series rows of n_samples. */
void reference_condensed(const double *x, size_t n_series, size_t n_samples, double *r);
/* Pairs with fewer than `least` samples in common become NaN in it. */
void reference_least(const double *x, size_t n_series, size_t n_samples, size_t least, double *r);

/* Numbers that look random and are the same everywhere (splitmix64). */
struct reference_random {
    uint64_t state;
};
double reference_uniform(struct reference_random *g); /* [0, 1) */
double reference_normal(struct reference_random *g);

/* n_series rows of n_samples: mean 1e4, sd 1, mixed so that many pairs are far from 0. */
void reference_noise(uint64_t seed, size_t n_series, size_t n_samples, double *x);
/* Random walks with steps of a part in a thousand. */
void reference_walks(uint64_t seed, size_t n_series, size_t n_samples, double *x);
/* Makes about `share` of the samples missing. */
void reference_punch(uint64_t seed, double share, size_t n, double *x);
/* The nearest floats, in place. */
void reference_round(size_t n, double *x);

/* True when both are NaN, or within `bound` of each other. */
int reference_near(double a, double b, double bound);

/* Series s is present in a stretch of its own that overlaps the next by a few samples, the rest is
 * NaN; levels far apart, so that sums about the series' means cancel. */
void reference_stretches(size_t n_series, size_t n_samples, double *x);

/* Series whose means lie far from the samples that they have in common: outliers, or another level,
 * where every second series is missing; every fourth does not vary elsewhere. */
enum { REFERENCE_FAR_KINDS = 4 };
extern const char *const reference_far_kinds[REFERENCE_FAR_KINDS];
void reference_far(size_t kind, size_t n_series, size_t n_samples, double *x);

#endif
