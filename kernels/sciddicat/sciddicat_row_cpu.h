/*
 * sciddicat_row_cpu - the two halves of a step over one row: what its cells emit, and how it is
 * updated.
 *
 * The text of one instruction set's functions, included where its vectors are defined; it defines
 * SCIDDICAT_ROW_KERNELS, a table of them.
 *
 * h is updated in place: a row is updated when the flows of the next one are known, after which its
 * old h is not read any more.
 */
#ifndef LEAT_KERNELS_SCIDDICAT_SCIDDICAT_ROW_CPU_H
#define LEAT_KERNELS_SCIDDICAT_SCIDDICAT_ROW_CPU_H

#include "kernels/sciddicat/sciddicat_cpu.h"
#include "kernels/sciddicat/sciddicat_guess_cpu.h"
#include "kernels/sciddicat/sciddicat_rule.h"

#include <string.h>

/* Bits of a segment's cells, of those to their west, of those to their east. */
VECTOR_INLINE sciddicat_mask bits_at(const uint8_t *segment)
{
    return vector_of_bits(segment[0]);
}

VECTOR_INLINE sciddicat_mask bits_west(const uint8_t *segment)
{
    return vector_of_bits((((unsigned)segment[0] << 1) | (segment[-1] >> 7)) & 0xff);
}

VECTOR_INLINE sciddicat_mask bits_east(const uint8_t *segment)
{
    return vector_of_bits(((unsigned)segment[0] >> 1) | ((segment[1] & 1u) << 7));
}

VECTOR_INLINE sciddicat_real level(const struct sciddicat_row *row, ptrdiff_t at)
{
    return sciddicat_add(vector_load(row->z + at), vector_load(row->h + at));
}

VECTOR_INLINE void flow_out(const sciddicat_mask *alive, sciddicat_real average,
                            const sciddicat_real *u, sciddicat_real pr, struct sciddicat_flows *f,
                            ptrdiff_t at)
{
    for (size_t n = 0; n < SIDES; ++n) {
        vector_store(f->to[n] + at, sciddicat_flow(alive[n + 1], average, u[n + 1], pr));
    }
}

VECTOR_INLINE void emit_segment(const struct sciddicat_rule *rule,
                                const struct sciddicat_row *north, const struct sciddicat_row *self,
                                const struct sciddicat_row *south, size_t s,
                                struct sciddicat_flows *f)
{
    const ptrdiff_t at = (ptrdiff_t)(s * SEGMENT);
    const sciddicat_real epsilon = vector_all(rule->epsilon), pr = vector_all(rule->r);
    const sciddicat_real m = sciddicat_subtract(vector_load(self->h + at), epsilon);
    const sciddicat_real u[SCIDDICAT_SEEN] = {sciddicat_add(vector_load(self->z + at), epsilon),
                                              level(north, at), level(self, at - 1),
                                              level(self, at + 1), level(south, at)};
    const sciddicat_mask emits = bits_at(self->active + s);
    sciddicat_mask alive[SCIDDICAT_SEEN] = {emits, emits, emits, emits, emits};
    if (self->accepts != NULL) {
        alive[1] = vector_and(emits, bits_at(north->accepts + s));
        alive[2] = vector_and(emits, bits_west(self->accepts + s));
        alive[3] = vector_and(emits, bits_east(self->accepts + s));
        alive[4] = vector_and(emits, bits_at(south->accepts + s));
    }
    sciddicat_real average;
    uint8_t *guess = self->guess == NULL ? NULL : self->guess + s * SEGMENT;
    if (guess != NULL && guess_holds(m, u, guess, alive, &average)) {
        flow_out(alive, average, u, pr, f, at);
        return;
    }
    const sciddicat_mask start[SCIDDICAT_SEEN] = {alive[0], alive[1], alive[2], alive[3], alive[4]};
    average = sciddicat_average(m, u, alive);
    flow_out(alive, average, u, pr, f, at);
    if (guess != NULL) {
        guess_keep(start, alive, u, guess);
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
    for (uint32_t s = self->begin; s < self->end; ++s) {
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
                memset(f->to[n] + s * SEGMENT, 0, SEGMENT * sizeof *f->to[n]);
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

/* The largest h so far, or what has flowed in. */
VECTOR_INLINE sciddicat_real new_max_h(sciddicat_real max_h, sciddicat_real h, sciddicat_mask live,
                                       const sciddicat_real *in)
{
    const sciddicat_real largest = vector_choose(vector_greater(h, max_h), h, max_h);
    return vector_choose(live, largest, sciddicat_received(max_h, in));
}

/* True when some h changes. */
VECTOR_INLINE bool update_segment(const struct sciddicat_rule *rule, struct sciddicat_row *self,
                                  const struct sciddicat_flows *north,
                                  const struct sciddicat_flows *own,
                                  const struct sciddicat_flows *south, size_t s)
{
    const ptrdiff_t at = (ptrdiff_t)(s * SEGMENT);
    const sciddicat_real in[SIDES] = {
        vector_load(north->to[SIDE_SOUTH] + at), vector_load(own->to[SIDE_EAST] + at - 1),
        vector_load(own->to[SIDE_WEST] + at + 1), vector_load(south->to[SIDE_NORTH] + at)};
    const sciddicat_real out[SIDES] = {
        vector_load(own->to[SIDE_NORTH] + at), vector_load(own->to[SIDE_WEST] + at),
        vector_load(own->to[SIDE_EAST] + at), vector_load(own->to[SIDE_SOUTH] + at)};
    const sciddicat_mask live = bits_at(self->live + s);
    const sciddicat_real before = vector_load(self->h + at);
    const sciddicat_real h = vector_choose(live, sciddicat_thickness(before, in, out), before);
    const unsigned bits =
        vector_bits(vector_and(live, vector_greater(h, vector_all(rule->epsilon))));
    vector_store(self->h + at, h);
    if (self->max_h != NULL) {
        vector_store(self->max_h + at, new_max_h(vector_load(self->max_h + at), h, live, in));
    }
    const unsigned arrived = bits & ~(unsigned)self->active[s];
    if (arrived != 0 && self->arrival != NULL) {
        arrive(self->arrival + at, arrived, rule->step);
    }
    self->active[s] = (uint8_t)bits;
    return vector_differ(h, before);
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

static bool update(const struct sciddicat_rule *rule, struct sciddicat_row *self,
                   const struct sciddicat_flows *north, const struct sciddicat_flows *own,
                   const struct sciddicat_flows *south)
{
    uint32_t begin = begin_of(UINT32_MAX, own->begin - (own->begin > 0), own->end);
    uint32_t end = own->begin < own->end ? own->end + 1 : 0;
    begin = begin_of(begin_of(begin, north->begin, north->end), south->begin, south->end);
    end = end_of(end_of(end, north->begin, north->end), south->begin, south->end);
    bool moved = false;
    for (uint32_t s = begin; s < end; ++s) {
        const uint8_t *at = own->active + s;
        const unsigned near =
            at[0] | (at[-1] >> 7) | (at[1] & 1u) | north->active[s] | south->active[s];
        if (near != 0) {
            moved |= update_segment(rule, self, north, own, south, s);
        }
    }
    sciddicat_row_survey(self, begin, end);
    self->touched |= begin < end;
    return moved;
}

#define SCIDDICAT_ROW_KERNELS(set)                                                                 \
    {                                                                                              \
        .name = set, .emit = emit, .clear = clear, .update = update                                \
    }

#endif
