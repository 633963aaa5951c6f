/*
 * alike - tables of series that are alike, for the stage `pearson`.
 */
#ifndef LEAT_TESTS_SUPPORT_ALIKE_H
#define LEAT_TESTS_SUPPORT_ALIKE_H

#include "tests/support/pearson_runner.h"

/* A normal number, nearly. */
static inline double next_normal(uint64_t *seed)
{
    double sum = -6;
    for (size_t k = 0; k < 12; k++) {
        sum += next_uniform(seed);
    }
    return sum;
}

/* How series are alike: they share a part of their variance, all of them or those of a group, and
 * remember the value before. */
struct alike {
    const char *name;
    size_t n_series, n_samples, n_groups;
    double shared, memory;
    double noise_of_last; /* the last one is noise but for 1 - that; 0: it is like the others */
    size_t few, many;     /* of ALIKE_TABLES tables so many have series that stand out */
    double spread; /* deviation of atanh of what a series has of its group, from series to series */
};
enum { ALIKE_TABLES = 60 };

static inline void fill_alike(struct sheet *sheet, const struct alike *a, uint64_t *seed)
{
    double groups[4] = {0}, own[64] = {0}, of_group[64];
    const double fresh = sqrt(1 - a->memory * a->memory);
    for (size_t s = 0; s < a->n_series; s++) {
        const double shared = s + 1 == a->n_series ? a->shared * (1 - a->noise_of_last) : a->shared;
        const double by = a->spread > 0 ? a->spread * next_normal(seed) : 0;
        of_group[s] = tanh(atanh(sqrt(shared)) + by);
    }
    for (size_t t = 0; t < a->n_samples; t++) {
        const double keep = t > 0 ? a->memory : 0, add = t > 0 ? fresh : 1;
        for (size_t g = 0; g < a->n_groups; g++) {
            groups[g] = keep * groups[g] + add * next_normal(seed);
        }
        for (size_t s = 0; s < a->n_series; s++) {
            own[s] = keep * own[s] + add * next_normal(seed);
            sheet->cells[s * a->n_samples + t] = of_group[s] * groups[s % a->n_groups] +
                                                 sqrt(1 - of_group[s] * of_group[s]) * own[s];
        }
    }
}

#endif
