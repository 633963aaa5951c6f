/*
 * colours - the diverging scale: both sides darken alike (CIE L* 97 in the middle, 65 half way, 32
 * at the ends), so strength can be read without hue; blue against red-orange is kept apart by all
 * common kinds of colour blindness.
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

uint32_t colours_of(size_t index)
{
    static const uint32_t colours[COLOURS_SET] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7,
                                                  0xe69f00, 0x56b4e9, 0x7a4b9a, 0x50565c};
    return colours[index % COLOURS_SET];
}

/* Colours of the scale's two sides, from the middle on: made once. */
enum { HALF_STEPS = 56, STEPS = 2 * HALF_STEPS, GREY = 0xa0a0a0, MIDDLE = 0xf7f7f7 };
static uint32_t diverging[2][STEPS + 1];
static pthread_once_t diverging_once = PTHREAD_ONCE_INIT;

static void make_diverging(void)
{
    static const uint32_t ends[2][2] = {{0x6ba3d6, 0x12468f},
                                        {0xef8a62, 0x9c1b1e}}; /* half, full */
    for (size_t side = 0; side < 2; side++) {
        const uint32_t *const end = ends[side];
        for (int step = 0; step <= STEPS; step++) {
            const double at = (double)step / HALF_STEPS;
            diverging[side][step] =
                at <= 1 ? colours_mix(MIDDLE, end[0], at) : colours_mix(end[0], end[1], at - 1);
        }
    }
}

uint32_t colours_diverging(double value)
{
    if (isnan(value)) {
        return GREY;
    }
    pthread_once(&diverging_once, make_diverging);
    const double strength = fabs(value) < 1 ? fabs(value) : 1;
    return diverging[value > 0][(int)(strength * STEPS + 0.5)];
}
