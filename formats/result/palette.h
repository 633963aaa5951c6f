/*
 * palette - up to 256 colours, and the index of each.
 */
#ifndef LEAT_FORMATS_RESULT_PALETTE_H
#define LEAT_FORMATS_RESULT_PALETTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PALETTE_COLOURS = 256, PALETTE_BUCKETS = 1024 };

struct palette {
    uint32_t colours[PALETTE_COLOURS]; /* 0xRRGGBB */
    size_t n;
    uint32_t buckets[PALETTE_BUCKETS]; /* index << 24 | colour, of used ones; open addressing */
    bool used[PALETTE_BUCKETS];
};

/* The index of a colour, which is added when new; PALETTE_COLOURS when the palette is full. */
static inline size_t palette_index(struct palette *p, uint32_t colour)
{
    size_t bucket = (colour * 2654435761U) >> 22; /* Knuth's multiplier */
    while (p->used[bucket]) {
        if ((p->buckets[bucket] & 0xffffff) == colour) {
            return p->buckets[bucket] >> 24;
        }
        bucket = (bucket + 1) % PALETTE_BUCKETS;
    }
    if (p->n == PALETTE_COLOURS) {
        return PALETTE_COLOURS;
    }
    p->used[bucket] = true;
    p->buckets[bucket] = (uint32_t)p->n << 24 | colour;
    p->colours[p->n] = colour;
    return p->n++;
}

#endif
