/*
 * colours - of leat's own diverging scale both sides darken alike (CIE L* 97 in the middle, 65 half
 * way, 32 at the ends), so strength can be read without hue; blue against red-orange is kept apart
 * by all common kinds of colour blindness. The lightness of its sequential scale falls evenly (90,
 * 75, 58, 40, 22) from yellow to a dark red. The others are matplotlib's: C. Brewer's, viridis,
 * plasma, and sets by M. Okabe and K. Ito and by M. Petroff.
 */
#include "formats/result/colours.h"

#include <math.h>
#include <pthread.h>

uint32_t colours_mix(uint32_t a, uint32_t b, double t)
{
    uint32_t mixed = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        const double from = (double)(a >> shift & 255), to = (double)(b >> shift & 255);
        mixed = mixed << 8 | (uint32_t)(from + (to - from) * t + 0.5);
    }
    return mixed;
}

uint32_t colours_ink_on(uint32_t rgb)
{
    static const double shares[] = {0.2126, 0.7152, 0.0722}, even = 0.209; /* of both contrasts */
    double luminance = 0;
    for (int k = 0; k < 3; k++) {
        luminance += shares[k] * pow((double)(rgb >> (16 - 8 * k) & 255) / 255, 2.2);
    }
    return luminance < even ? COLOURS_PAPER : COLOURS_INK;
}

/* Colours equally far apart, from the lowest value to the highest. */
struct scale {
    size_t n;
    uint32_t at[11];
};

static const struct scale sets[COLOURS_CHOICES] = {
    {COLOURS_SET, {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x7a4b9a, 0x50565c}},
    {COLOURS_SET, {0x1845fb, 0xff5e02, 0xc91f16, 0xc849a9, 0xadad7d, 0x86c8dd, 0x578dff, 0x656364}},
    {COLOURS_SET,
     {0x440154, 0x20938c, 0xbddf26, 0x3a538b, 0x69cd5b, 0x472d7b, 0x2db27d, 0x2b748e}}};
static const struct scale sequential[COLOURS_CHOICES] = {
    {5, {0xffe27a, 0xf7ab3c, 0xdd6b2b, 0xa62c2b, 0x5a1029}},
    {9, {0xfde725, 0xaadc32, 0x5cc863, 0x27ad81, 0x21908d, 0x2c718e, 0x3b518b, 0x472c7a, 0x440154}},
    {9,
     {0xf0f921, 0xfdc328, 0xf89441, 0xe56b5d, 0xcb4679, 0xa82296, 0x7d03a8, 0x4b03a1, 0x0d0887}}};
static const struct scale diverging[COLOURS_CHOICES] = {
    {5, {0x12468f, 0x6ba3d6, 0xf7f7f7, 0xef8a62, 0x9c1b1e}},
    {11,
     {0x053061, 0x2166ac, 0x4393c3, 0x92c5de, 0xd1e5f0, 0xf7f7f7, 0xfddbc7, 0xf4a582, 0xd6604d,
      0xb2182b, 0x67001f}},
    {11,
     {0x2d004b, 0x542788, 0x8073ac, 0xb2abd2, 0xd8daeb, 0xf7f7f7, 0xfee0b6, 0xfdb863, 0xe08214,
      0xb35806, 0x7f3b08}}};

uint32_t colours_of(size_t choice, size_t index)
{
    return sets[choice].at[index % COLOURS_SET];
}

uint32_t colours_sequential(size_t choice, double value)
{
    const struct scale *const s = &sequential[choice];
    const double at = value * (double)(s->n - 1);
    const size_t piece = at < (double)(s->n - 2) ? (size_t)at : s->n - 2;
    return colours_mix(s->at[piece], s->at[piece + 1], at - (double)piece);
}

/* Colours of the scales' two sides, from the middle on: made once. */
enum { STEPS = 112, GREY = 0xa0a0a0 };
static uint32_t made[COLOURS_CHOICES][2][STEPS + 1];
static pthread_once_t made_once = PTHREAD_ONCE_INIT;

static void make_diverging(void)
{
    for (size_t k = 0; k < COLOURS_CHOICES; k++) {
        const size_t half = diverging[k].n / 2;
        const uint32_t *const middle = diverging[k].at + half;
        for (int step = 0; step <= STEPS; step++) {
            const double at = (double)step * (double)half / STEPS;
            const size_t piece = step < STEPS ? (size_t)at : half - 1;
            const double t = at - (double)piece;
            made[k][0][step] = colours_mix(*(middle - piece), *(middle - piece - 1), t);
            made[k][1][step] = colours_mix(middle[piece], middle[piece + 1], t);
        }
    }
}

uint32_t colours_diverging(size_t choice, double value)
{
    if (isnan(value)) {
        return GREY;
    }
    pthread_once(&made_once, make_diverging);
    const double strength = fabs(value) < 1 ? fabs(value) : 1;
    return made[choice][value > 0][(int)(strength * STEPS + 0.5)];
}
