/*
 * sciddicat_band_cpu - steps over the rows of a band, from north to south.
 *
 * Three rows of flows are alive at a time: those of row i + 1 are made from the old h of rows i to
 * i + 2, then row i is taken, then those of row i - 1 are done with.
 */
#include "kernels/sciddicat/sciddicat_cpu.h"

#include "kernels/base/queue_cpu.h"

static bool has_active(const struct sciddicat_band *b, size_t i)
{
    if (i + b->n_north < b->first || i >= b->last + b->n_south) {
        return false;
    }
    const struct sciddicat_row *row = sciddicat_band_row(b, i);
    return row->begin < row->end;
}

/* The slot's flows become those of row i, if it emits any. */
static void emit(struct sciddicat_band *b, const struct sciddicat_rule *rule, size_t i)
{
    if (has_active(b, i)) {
        b->set->emit(rule, sciddicat_band_row(b, i - 1), sciddicat_band_row(b, i),
                     sciddicat_band_row(b, i + 1), &b->flows[i % 3]);
    }
}

/* One step of rows [from, to). */
static void step(struct sciddicat_band *b, const struct sciddicat_rule *rule, size_t from,
                 size_t to)
{
    const size_t begin = cpu_max(from, b->top - (b->top > 0)), end = cpu_min(to, b->bottom + 1);
    size_t top = end, bottom = begin;
    b->moved = false;
    if (begin >= end) {
        b->top = b->bottom = from;
        return;
    }
    if (begin > 0) {
        emit(b, rule, begin - 1);
    }
    emit(b, rule, begin);
    for (size_t i = begin; i < end; ++i) {
        /* The three slots are those of rows i - 1, i and i + 1; row -1's is empty. */
        struct sciddicat_flows *north = &b->flows[(i + 2) % 3], *south = &b->flows[(i + 1) % 3];
        emit(b, rule, i + 1);
        const bool moved =
            b->set->take(rule, sciddicat_band_row(b, i), north, &b->flows[i % 3], south);
        b->moved |= moved && i >= b->first && i < b->last;
        if (has_active(b, i)) {
            top = cpu_min(top, i);
            bottom = i + 1;
        }
        b->set->clear(north);
    }
    b->set->clear(&b->flows[(end - 1) % 3]);
    b->set->clear(&b->flows[end % 3]);
    b->top = top;
    b->bottom = cpu_max(top, bottom);
}

void cpu_sciddicat_band_advance(struct sciddicat_band *b, const struct sciddicat_params *p,
                                uint64_t at, uint64_t n_steps)
{
    struct sciddicat_rule rule = {.epsilon = p->epsilon, .r = p->r};
    for (uint64_t left = n_steps; left-- > 0;) {
        const size_t reach = left < p->rows ? 2 * (size_t)left : p->rows;
        const size_t from = b->first > reach ? b->first - reach : 0;
        rule.step = ++at;
        step(b, &rule, from, cpu_min(b->last + reach, p->rows));
    }
}
