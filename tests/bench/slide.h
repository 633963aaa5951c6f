/*
 * slide - debris on a slope, made by formula, and the published serial program's way of stepping
 * it, written anew: every step visits the whole grid three times, with the flows in memory.
 */
#ifndef LEAT_TESTS_BENCH_SLIDE_H
#define LEAT_TESTS_BENCH_SLIDE_H

#include "formats/base/status.h"
#include "kernels/sciddicat/bands.h"

struct slide {
    struct sciddicat_params p;
    double *z, *h,
        *flow[4]; /* z: the surface under the debris; flow: to N, W, E, S, all 0 at first */
};

/* Valleys side by side that run down the rows, rough by up to 1 m; `steep`: the rise across, m a
 * cell squared. No debris yet. */
enum status slide_new(size_t rows, size_t columns, double steep, uint64_t seed,
                      struct slide *out) STATUS_MUST_CHECK;
/* The Tessina landslide, from the folder with tessina.dem.asc and tessina.source.asc. */
enum status slide_tessina(const char *folder, struct slide *out) STATUS_MUST_CHECK;
void slide_free(struct slide *s);
/* 8 m of debris on a square of `side` cells. */
void slide_heap(struct slide *s, size_t top, size_t left, size_t side);

/* n_steps steps of h, which has the shape of s->h. */
void slide_serial(const struct slide *s, double *h, uint64_t n_steps);

static inline size_t slide_cells(const struct slide *s)
{
    return s->p.rows * s->p.columns;
}

#endif
