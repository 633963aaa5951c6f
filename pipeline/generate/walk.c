/*
 * walk - see walk.h. Factors are made for a stretch of samples at a time, without dependences, and
 * then multiplied up in order; the stretches of all series are done before the next ones, so that a
 * piece with series in columns is written in runs of neighbours.
 */
#include "pipeline/generate/walk.h"

#include "kernels/philox/philox_rule.h"

enum { STRETCH = 64, BLOCKS = STRETCH / 4 + 1 };

/* Factors of samples first .. first + n - 1 of a series, n <= STRETCH. Returns where they begin in
 * `factor`, which has room for BLOCKS blocks. */
static const double *make_factors(const struct philox_walk *walk, uint64_t series, uint64_t first,
                                  size_t n, double factor[4 * BLOCKS])
{
    uint64_t first_block = first / 4;
    size_t n_blocks = (size_t)((first + n + 3) / 4 - first_block);
    for (size_t b = 0; b < n_blocks; b++) {
        struct philox_words words = philox_block(walk->seed, series, first_block + b);
        for (size_t k = 0; k < 4; k++) {
            factor[4 * b + k] = philox_factor(walk->epsilon, words.w[k]);
        }
    }
    return factor + first % 4;
}

/* Samples first .. first + n - 1 of one series, given the one before; returns the last. */
static double step_on(const struct philox_walk *walk, uint64_t series, uint64_t first, size_t n,
                      double value, double out[STRETCH])
{
    double room[4 * BLOCKS];
    const double *factor = make_factors(walk, series, first, n, room);
    for (size_t k = 0; k < n; k++) {
        value = first + k == 0 ? walk->start : philox_step(value, factor[k]);
        out[k] = value;
    }
    return value;
}

void walk_fill(const struct philox_walk *walk, const struct walk_piece *p)
{
    double sample[STRETCH];
    for (size_t from = 0; from < p->n_samples; from += STRETCH) {
        size_t n = p->n_samples - from < STRETCH ? p->n_samples - from : STRETCH;
        for (size_t s = 0; s < p->n_series; s++) {
            p->value[s] =
                step_on(walk, p->first_series + s, p->first_sample + from, n, p->value[s], sample);
            size_t at = from * p->sample_step + s * p->series_step;
            for (size_t k = 0; k < n; k++, at += p->sample_step) {
                if (p->type == DTYPE_F32) {
                    ((float *)p->out)[at] = (float)sample[k];
                } else {
                    ((double *)p->out)[at] = sample[k];
                }
            }
        }
    }
}

bool walk_is_gap(const struct philox_walk *walk, double fraction, uint64_t series, uint64_t sample)
{
    struct philox_words words = philox_block(walk->seed, series | UINT64_C(1) << 63, sample / 4);
    return words.w[sample % 4] < fraction * 0x1p32;
}
