/*
 * hostile_series - series that break naive arithmetic, by name: what bounds are tried with.
 */
#ifndef LEAT_TESTS_HOSTILE_SERIES_H
#define LEAT_TESTS_HOSTILE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sample to be made: t < n of series s, after the sample `before` (0 at first). `common` is noise
 * that all series share, `own` noise of this one, both normal; `chance` is uniform in [0, 1). */
struct hostile_sample {
    size_t s, t, n;
    double before, common, own, chance;
};

struct hostile_kind {
    const char *name;
    double (*sample)(double size, const struct hostile_sample *at);
    double size;   /* of what the kind is about: a spike, a mean, all of it */
    bool floats;   /* to be given as f32 too */
    bool lost;     /* too small or too large for coefficients: NaN is right */
    bool has_gaps; /* some samples are missing */
};

extern const struct hostile_kind hostile_kinds[];
extern const size_t n_hostile_kinds;

/* n_series rows of n_samples; the same for the same seed. */
void hostile_series(const struct hostile_kind *kind, uint64_t seed, size_t n_series,
                    size_t n_samples, double *x);

#endif
