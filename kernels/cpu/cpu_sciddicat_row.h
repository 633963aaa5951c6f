/*
 * cpu_sciddicat_row - the two halves of a step over one row: what its cells emit, and what it
 * takes.
 *
 * The text of one instruction set's functions, included where its lanes have been chosen; it
 * defines SCIDDICAT_ROW_KERNELS, a table of them.
 *
 * h is updated in place: a row is taken when the flows of the next one are known, and then nobody
 * looks at its old h any more.
 */
#ifndef LEAT_KERNELS_CPU_SCIDDICAT_ROW_H
#define LEAT_KERNELS_CPU_SCIDDICAT_ROW_H

#include "kernels/cpu/cpu_sciddicat.h"
#include "kernels/sciddicat_rule.h"

#include <string.h>

/* Bits of the cells to the west and to the east of a segment's. */
LANES_INLINE unsigned bits_west(const uint8_t *segment)
{
    return (((unsigned)segment[0] << 1) | (segment[-1] >> 7)) & 0xff;
}

LANES_INLINE unsigned bits_east(const uint8_t *segment)
{
    return ((unsigned)segment[0] >> 1) | ((segment[1] & 1u) << 7);
}

LANES_INLINE sciddicat_real level(const struct sciddicat_row *row, ptrdiff_t k)
{
    return sciddicat_add(lanes_load(row->z + k), lanes_load(row->h + k));
}

LANES_INLINE void emit_segment(const struct sciddicat_rule *rule, const struct sciddicat_row *north,
                               const struct sciddicat_row *self, const struct sciddicat_row *south,
                               size_t s, struct sciddicat_flows *f)
{
    const ptrdiff_t k = (ptrdiff_t)s * SEGMENT;
    const sciddicat_real epsilon = lanes_all(rule->epsilon), pr = lanes_all(rule->r);
    const sciddicat_real m = sciddicat_subtract(lanes_load(self->h + k), epsilon);
    const sciddicat_real u[SCIDDICAT_SEEN] = {sciddicat_add(lanes_load(self->z + k), epsilon),
                                              level(north, k), level(self, k - 1),
                                              level(self, k + 1), level(south, k)};
    const sciddicat_mask emits = lanes_of_bits(self->active[s]);
    sciddicat_mask alive[SCIDDICAT_SEEN] = {emits, emits, emits, emits, emits};
    if (self->takes != NULL) {
        alive[1] = lanes_and(emits, lanes_of_bits(north->takes[s]));
        alive[2] = lanes_and(emits, lanes_of_bits(bits_west(self->takes + s)));
        alive[3] = lanes_and(emits, lanes_of_bits(bits_east(self->takes + s)));
        alive[4] = lanes_and(emits, lanes_of_bits(south->takes[s]));
    }
    const sciddicat_real average = sciddicat_average(m, u, alive);
    for (size_t n = 0; n < SIDES; ++n) {
        lanes_store(f->to[n] + k, sciddicat_flow(alive[n + 1], average, u[n + 1], pr));
    }
}

static void emit(const struct sciddicat_rule *rule, const struct sciddicat_row *north,
                 const struct sciddicat_row *self, const struct sciddicat_row *south,
                 struct sciddicat_flows *f)
{
    f->begin = self->begin;
    f->end = self->end;
    if (self->begin == self->end) {
        return;
    }
    memcpy(f->active + self->begin, self->active + self->begin, self->end - self->begin);
    for (size_t s = self->begin; s < self->end; ++s) {
        if (self->active[s] != 0) {
            emit_segment(rule, north, self, south, s, f);
        }
    }
}

static void clear(struct sciddicat_flows *f)
{
    for (size_t s = f->begin; s < f->end; ++s) {
        if (f->active[s] != 0) {
            for (size_t n = 0; n < SIDES; ++n) {
                lanes_store(f->to[n] + s * SEGMENT, lanes_all(0));
            }
            f->active[s] = 0;
        }
    }
    f->begin = f->end = 0;
}

/* Cells whose bit is set begin to emit after this step. */
static void arrive(int32_t *arrival, unsigned bits, uint64_t step)
{
    for (; bits != 0; bits &= bits - 1) {
        int32_t *at = arrival + __builtin_ctz(bits);
        *at = *at < 0 ? (int32_t)step : *at;
    }
}

/* True when some h changes. */
LANES_INLINE int take_segment(const struct sciddicat_rule *rule, struct sciddicat_row *self,
                              const struct sciddicat_flows *north,
                              const struct sciddicat_flows *own,
                              const struct sciddicat_flows *south, size_t s)
{
    const ptrdiff_t k = (ptrdiff_t)s * SEGMENT;
    const sciddicat_real in[SIDES] = {
        lanes_load(north->to[SOUTH] + k), lanes_load(own->to[EAST] + k - 1),
        lanes_load(own->to[WEST] + k + 1), lanes_load(south->to[NORTH] + k)};
    const sciddicat_real out[SIDES] = {lanes_load(own->to[NORTH] + k),
                                       lanes_load(own->to[WEST] + k), lanes_load(own->to[EAST] + k),
                                       lanes_load(own->to[SOUTH] + k)};
    const sciddicat_mask live = lanes_of_bits(self->live[s]);
    const sciddicat_real before = lanes_load(self->h + k);
    const sciddicat_real h = lanes_choose(live, sciddicat_thickness(before, in, out), before);
    const unsigned bits = lanes_bits(lanes_and(live, lanes_greater(h, lanes_all(rule->epsilon))));
    lanes_store(self->h + k, h);
    if (self->peak != NULL) {
        const sciddicat_real peak = lanes_load(self->peak + k);
        const sciddicat_real largest = lanes_choose(lanes_greater(h, peak), h, peak);
        lanes_store(self->peak + k, self->live[s] == 0xff
                                        ? largest
                                        : lanes_choose(live, largest, sciddicat_taken(peak, in)));
        if ((bits & ~(unsigned)self->active[s]) != 0) {
            arrive(self->arrival + k, bits & ~(unsigned)self->active[s], rule->step);
        }
    }
    self->active[s] = (uint8_t)bits;
    return lanes_differ(h, before);
}

/* The lesser of two beginnings, of which empty ranges have none. */
static uint32_t begin_of(uint32_t other, uint32_t begin, uint32_t end)
{
    return begin < end && begin < other ? begin : other;
}

static uint32_t end_of(uint32_t other, uint32_t begin, uint32_t end)
{
    return begin < end && end > other ? end : other;
}

static bool take(const struct sciddicat_rule *rule, struct sciddicat_row *self,
                 const struct sciddicat_flows *north, const struct sciddicat_flows *own,
                 const struct sciddicat_flows *south)
{
    uint32_t begin = begin_of(UINT32_MAX, own->begin - (own->begin > 0), own->end);
    uint32_t end = own->begin < own->end ? own->end + 1 : 0;
    begin = begin_of(begin_of(begin, north->begin, north->end), south->begin, south->end);
    end = end_of(end_of(end, north->begin, north->end), south->begin, south->end);
    uint32_t first = 0, last = 0, n_busy = 0;
    int moved = 0;
    for (uint32_t s = begin; s < end; ++s) {
        const uint8_t *at = own->active + s;
        const unsigned near =
            at[0] | (at[-1] >> 7) | (at[1] & 1u) | north->active[s] | south->active[s];
        if (near == 0) {
            continue;
        }
        moved |= take_segment(rule, self, north, own, south, s);
        if (self->active[s] != 0) {
            first = n_busy == 0 ? s : first;
            last = s + 1;
            ++n_busy;
        }
    }
    self->begin = first;
    self->end = last;
    self->n_busy = n_busy;
    self->touched |= begin < end;
    return moved != 0;
}

#define SCIDDICAT_ROW_KERNELS(set)                                                                 \
    {                                                                                              \
        .name = set, .emit = emit, .clear = clear, .take = take                                    \
    }

#endif
