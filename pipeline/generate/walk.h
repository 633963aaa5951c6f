/*
 * walk - pieces of the series of kernels/philox/philox.h that begin anywhere in a series: for
 * arrays whose rows are too long for the kernel, and for arrays with a series in each column.
 *
 * The same rule (kernels/philox/philox_rule.h) on the CPU: the bits are those of both backends.
 */
#ifndef LEAT_PIPELINE_GENERATE_WALK_H
#define LEAT_PIPELINE_GENERATE_WALK_H

#include "formats/base/dtype.h"
#include "kernels/philox/philox.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A rectangle of samples first_sample .. + n_samples - 1 of series first_series .. + n_series - 1.
 * Sample t of series s lies at out[(t - first_sample) * sample_step + (s - first_series) *
 * series_step], elements of `type`. */
struct walk_piece {
    uint64_t first_series, first_sample;
    size_t n_series, n_samples;
    size_t series_step, sample_step;
    enum dtype type;
    void *out;
    double *value; /* [n_series]: the sample before the piece; set to its last one. Not read when
                      first_sample is 0 */
};

/* Fills the piece. */
void walk_fill(const struct philox_walk *walk, const struct walk_piece *piece);

/* Whether a sample is one of the missing ones: those whose own random word, from a stream beside
 * the walk's (series + 2^63), is below fraction * 2^32. fraction in [0, 1]. */
bool walk_is_gap(const struct philox_walk *walk, double fraction, uint64_t series, uint64_t sample);

#endif
