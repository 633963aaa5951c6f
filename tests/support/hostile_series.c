/*
 * hostile_series - see the header.
 */
#include "tests/support/hostile_series.h"

#include "tests/support/reference.h"

#include <math.h>
#include <stdlib.h>

static double mixed(const struct hostile_sample *at)
{
    return 0.7 * at->common + 0.7 * at->own;
}

/* Where series s has its spike: the first three at one place, the next at the first sample, which
 * many a method takes for the middle of the others; then none, and the last sample. */
static bool spiky(const struct hostile_sample *at)
{
    switch (at->s % 6) {
    case 3:
        return at->t == 0;
    case 4:
        return false;
    case 5:
        return at->t == at->n - 1;
    default:
        return at->t == at->n / 3;
    }
}

/* Copies of one series of 0 and 1, some of it flipped; every third has its spike downwards. */
static double two_values(double size, const struct hostile_sample *at)
{
    bool up = at->common > 0, flipped = at->s > 0 && at->chance < 0.02;
    double spike = spiky(at) ? (at->s % 3 == 2 ? -size : size) : 0;
    return (up != flipped ? 1 : 0) + spike;
}

/* The same, each step the distance from 1 to the double after it, where nothing rounds. */
static double last_places(double size, const struct hostile_sample *at)
{
    return 1 + 0x1p-52 * two_values(size, at);
}
/* Two doubles on either side of 1, where their distance changes, and of size 1e155. */
static double beside_power(double size, const struct hostile_sample *at)
{
    (void)size;
    return at->common + 0.2 * at->own > 1 ? 1 + 0x1p-52 : 1 - 0x1p-53;
}
static double far_last_places(double size, const struct hostile_sample *at)
{
    return mixed(at) > 0 ? size : nextafter(size, 0);
}

/* All the same but for a little noise. */
static double near_equal(double size, const struct hostile_sample *at)
{
    return at->common + size * at->own;
}

static double far_mean(double size, const struct hostile_sample *at)
{
    return size + mixed(at);
}

static double far_integers(double size, const struct hostile_sample *at)
{
    return size + floor(4 * mixed(at));
}

static double scaled(double size, const struct hostile_sample *at)
{
    return size * mixed(at);
}

/* Whole multiples: beneath the normal numbers there are no others. */
static double multiples(double size, const struct hostile_sample *at)
{
    return size * floor(8 * mixed(at));
}

static double heavy_tails(double size, const struct hostile_sample *at)
{
    return exp(size * mixed(at));
}

static double walk(double size, const struct hostile_sample *at)
{
    return at->t == 0 ? size : at->before + mixed(at);
}

static double alternating(double size, const struct hostile_sample *at)
{
    return (at->t % 2 == 0 ? 1 : -1) * (double)(1 + at->s % 2) + size * at->own;
}

static double ramp(double size, const struct hostile_sample *at)
{
    return (at->s % 2 == 0 ? 1 : -1) * (double)at->t + size * mixed(at);
}

static double single_spike(double size, const struct hostile_sample *at)
{
    return at->t == (at->s % 3 == 0 ? at->n / 3 : at->s % 3 == 1 ? 0 : at->n - 1) ? size : 0;
}

/* Ramps, and series whose first sample outweighs all others. */
static double spike_and_ramp(double size, const struct hostile_sample *at)
{
    if (at->s % 2 == 0) {
        return (double)at->t / (double)at->n + 0.01 * at->own;
    }
    return at->t == 0 ? size : mixed(at);
}

/* One level, then another. */
static double levels(double size, const struct hostile_sample *at)
{
    return (at->t < at->n / 2 ? 0 : size) + mixed(at);
}

/* Samples missing here and there; two values with a spike are as hostile as they are whole. */
static double gaps(double size, const struct hostile_sample *at)
{
    return at->chance < 0.3 ? (double)NAN : size + mixed(at);
}
static double gaps_far_away(double size, const struct hostile_sample *at)
{
    return at->chance < 0.3 ? (double)NAN : size + 1e-10 * size * mixed(at);
}
static double gaps_and_last_places(double size, const struct hostile_sample *at)
{
    return at->chance > 0.8 ? (double)NAN : last_places(size, at);
}
static double gaps_and_spikes(double size, const struct hostile_sample *at)
{
    return at->chance > 0.8 ? (double)NAN : two_values(size, at);
}

/* Where every second series is missing, the others lie far away: what is common does not. Every
 * fourth does not vary there. */
static double gaps_at_outliers(double size, const struct hostile_sample *at)
{
    if (at->t % 7 == 3 || at->t / 64 % 5 == 4) {
        return at->s % 2 == 1 ? (double)NAN : size;
    }
    return at->s % 4 == 2 ? 0.1 : mixed(at);
}
static double gaps_at_level(double size, const struct hostile_sample *at)
{
    if (at->t < at->n / 2) {
        return at->s % 2 == 1 ? (double)NAN : 1e-3 * at->own;
    }
    return size + 1e-3 * mixed(at);
}

/* Each present in a stretch that overlaps the next one's by a few samples, on a level of its own.
 */
static double gaps_but_stretches(double size, const struct hostile_sample *at)
{
    size_t begin = at->s * 40, end = begin + 40 + at->s / 2 % 5;
    return at->t >= begin && at->t < end ? size * (double)(at->t / 20) + at->own : (double)NAN;
}

const struct hostile_kind hostile_kinds[] = {
    {"two values", two_values, 0, true, false, false},
    {"two values, spike 1", two_values, 1, true, false, false},
    {"two values, spike 500", two_values, 500, true, false, false},
    {"two values, spike 2000", two_values, 2000, true, false, false},
    {"two values, spike 1e4", two_values, 1e4, true, false, false},
    {"two values, spike 1e6", two_values, 1e6, true, false, false},
    {"equal but for 1e-9", near_equal, 1e-9, false, false, false},
    {"equal but for 1e-6", near_equal, 1e-6, false, false, false},
    {"mean 1e4", far_mean, 1e4, true, false, false},
    {"mean 1e5", far_mean, 1e5, true, false, false},
    {"mean 1e14, integers", far_integers, 1e14, false, false, false},
    {"multiples of 4e-324", multiples, 0x1p-1074, false, true, false},
    {"sizes of 1e-300", scaled, 1e-300, false, true, false},
    {"sizes of 1e-160", scaled, 1e-160, false, true, false},
    {"sizes of 1e-150", scaled, 1e-150, false, true, false},
    {"sizes of 1e-140", scaled, 1e-140, false, false, false},
    {"sizes of 1e149", scaled, 1e149, false, false, false},
    {"sizes of 1e160", scaled, 1e160, false, true, false},
    {"exp(3 noise)", heavy_tails, 3, true, false, false},
    {"random walk", walk, 100, true, false, false},
    {"alternating", alternating, 1e-3, true, false, false},
    {"ramp", ramp, 1, true, false, false},
    {"single spike", single_spike, 1e3, true, false, false},
    {"spike 1e3, and ramps", spike_and_ramp, 1234.5, true, false, false},
    {"spike 1e4, and ramps", spike_and_ramp, 12345.678, true, false, false},
    {"spike 1e9, and ramps", spike_and_ramp, 1.7e9, true, false, false},
    {"two levels, 1e6 apart", levels, 1e6, true, false, false},
    {"gaps", gaps, 1e4, true, false, true},
    {"gaps, spike 2000", gaps_and_spikes, 2000, true, false, true},
    {"gaps at 1e14", gaps_at_outliers, 1e14, true, false, true},
    {"gaps at 9.96921e36", gaps_at_outliers, 9.96921e36, true, false, true},
    {"gaps at -2147483648", gaps_at_outliers, -2147483648.0, true, false, true},
    {"gaps at 1e9, sd 1e-3", gaps_at_level, 1e9, false, false, true},
    {"gaps but stretches", gaps_but_stretches, 1e3, true, false, true},
    {"one last place", last_places, 0, false, false, false},
    {"last places, spike 5000", last_places, 5000, false, false, false},
    {"on either side of 1", beside_power, 0, false, false, false},
    {"last places of 1e155", far_last_places, 1e155, false, false, false},
    {"last places of 1e165", far_last_places, 1e165, false, false, false},
    {"gaps at 1e155, sd 1e145", gaps_far_away, 1e155, false, false, true},
    {"gaps, one last place", gaps_and_last_places, 0, false, false, true},
    {"gaps, last places, spike", gaps_and_last_places, 500, false, false, true},
};
const size_t n_hostile_kinds = sizeof hostile_kinds / sizeof *hostile_kinds;

void hostile_series(const struct hostile_kind *kind, uint64_t seed, size_t n_series,
                    size_t n_samples, double *x)
{
    struct reference_random g = {seed};
    double *const common = calloc(n_samples + 1, sizeof *common);
    if (common == NULL) {
        abort();
    }
    for (size_t t = 0; t < n_samples; ++t) {
        common[t] = reference_normal(&g);
    }
    for (size_t s = 0; s < n_series; ++s) {
        struct reference_random own = {seed + 1000003 * (s + 1)};
        struct hostile_sample at = {.s = s, .n = n_samples};
        for (at.t = 0; at.t < n_samples; ++at.t) {
            at.common = common[at.t];
            at.own = reference_normal(&own);
            at.chance = reference_uniform(&own);
            at.before = x[s * n_samples + at.t] = kind->sample(kind->size, &at);
        }
    }
    free(common);
}
