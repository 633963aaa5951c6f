/*
 * cpu_sciddicat_advance - steps on all cores: the map cut into bands, a few steps at a time.
 *
 * Rows with active cells are cut into bands of about the same number of busy segments, and every
 * band makes BAND_STEPS steps on its own: first all bands copy the rows around them, then all
 * compute, their own rows in place. The bits are those of one band.
 */
#include "kernels/cpu/cpu_sciddicat_run.h"

#include "kernels/cpu/cpu_backend.h"

#include <string.h>

/* The first and the last of the segments that a band looks at in its steps. */
static void columns_in_reach(const struct sciddicat_band *b, const struct cpu_sciddicat_run *r,
                             size_t *begin, size_t *end)
{
    const size_t margin = BAND_STEPS / SEGMENT + 1;
    *begin = SIZE_MAX;
    *end = 0;
    for (size_t i = b->first - b->n_north; i < b->last + b->n_south; ++i) {
        if (r->rows[i].begin < r->rows[i].end) {
            *begin = cpu_min(*begin, r->rows[i].begin);
            *end = cpu_max(*end, r->rows[i].end);
        }
    }
    *begin = *begin < margin ? 0 : *begin - margin;
    *end = cpu_min(*end + margin, r->row_segments - (size_t)2 * ROW_PAD_SEGMENTS);
}

/* A row of the halo becomes a copy of one of the map, as far as the band looks at it. Beyond, its
 * bits must be clear, also those of the round before. */
static void copy_row(const struct sciddicat_row *from, struct sciddicat_row *to, size_t begin,
                     size_t end)
{
    struct sciddicat_row copy = *from;
    memset(to->active + to->begin, 0, to->end - to->begin);
    copy.h = to->h;
    copy.active = to->active;
    copy.peak = NULL;
    copy.arrival = NULL;
    *to = copy;
    if (begin < end) {
        memcpy(to->h + begin * SEGMENT, from->h + begin * SEGMENT,
               (end - begin) * SEGMENT * sizeof *to->h);
        memcpy(to->active + begin, from->active + begin, end - begin);
    }
}

static void halo_body(void *arg, size_t index)
{
    const struct cpu_sciddicat_run *r = arg;
    struct sciddicat_band *b = &r->bands[index];
    size_t begin, end;
    columns_in_reach(b, r, &begin, &end);
    for (size_t i = 0; i < b->n_north; ++i) {
        copy_row(&r->rows[b->first - b->n_north + i], &b->north[i], begin, end);
    }
    for (size_t i = 0; i < b->n_south; ++i) {
        copy_row(&r->rows[b->last + i], &b->south[i], begin, end);
    }
}

/* Waking threads takes longer than a few bands' copies. */
static void copy_halos(struct queue *q, struct cpu_sciddicat_run *r)
{
    if (r->n_bands > COPIES_ALONE) {
        cpu_run(q, r->n_bands, halo_body, r);
        return;
    }
    for (size_t b = 0; b < r->n_bands; ++b) {
        halo_body(r, b);
    }
}

static void band_body(void *arg, size_t index)
{
    const struct cpu_sciddicat_run *r = arg;
    cpu_sciddicat_band_advance(&r->bands[index], &r->p, r->step, r->n_steps);
}

/* How many bands are worth their halos. */
static size_t count_bands(const struct cpu_sciddicat_run *r, size_t busy)
{
    const size_t rows = r->whole.bottom - r->whole.top;
    return cpu_max(
        1, cpu_min(r->most_bands, cpu_min(rows / BAND_LEAST_ROWS, busy / BAND_LEAST_SEGMENTS)));
}

/* Cuts the map into n bands with about the same number of busy segments; the first begins and the
 * last ends with the map. May make fewer. */
static void cut_bands(struct cpu_sciddicat_run *r, size_t n, size_t busy)
{
    const size_t end = r->whole.bottom;
    size_t first = 0, sum = 0;
    r->n_bands = 0;
    for (size_t i = r->whole.top; i < end; ++i) {
        sum += r->rows[i].n_busy;
        if (r->n_bands + 1 < n && sum * n >= busy * (r->n_bands + 1) &&
            i + 1 >= first + BAND_LEAST_ROWS && i + 1 + BAND_LEAST_ROWS <= end) {
            r->bands[r->n_bands].first = first;
            r->bands[r->n_bands++].last = first = i + 1;
        }
    }
    r->bands[r->n_bands].first = first;
    r->bands[r->n_bands++].last = r->p.rows;
    for (size_t k = 0; k < r->n_bands; ++k) {
        struct sciddicat_band *b = &r->bands[k];
        b->n_north = cpu_min(b->first, HALO_ROWS);
        b->n_south = cpu_min(r->p.rows - b->last, HALO_ROWS);
        b->top = cpu_max(r->whole.top, b->first - b->n_north);
        b->bottom = cpu_max(b->top, cpu_min(r->whole.bottom, b->last + b->n_south));
    }
}

/* Rows with active cells, and how many busy segments they have. */
static size_t survey(struct cpu_sciddicat_run *r)
{
    size_t top = r->p.rows, bottom = 0, busy = 0;
    for (size_t i = 0; i < r->p.rows; ++i) {
        if (r->rows[i].n_busy != 0) {
            top = cpu_min(top, i);
            bottom = i + 1;
            busy += r->rows[i].n_busy;
        }
    }
    r->whole.top = cpu_min(top, bottom);
    r->whole.bottom = bottom;
    return busy;
}

/* Up to BAND_STEPS steps; how many. */
static uint64_t advance_round(struct queue *q, struct cpu_sciddicat_run *r, uint64_t wanted)
{
    const uint64_t n_steps = wanted < BAND_STEPS ? wanted : BAND_STEPS;
    const size_t busy = r->most_bands > 1 ? survey(r) : 0, n = count_bands(r, busy);
    if (n == 1) {
        cpu_sciddicat_band_advance(&r->whole, &r->p, r->step, n_steps);
        r->moved = r->whole.moved;
    } else {
        cut_bands(r, n, busy);
        r->n_steps = n_steps;
        copy_halos(q, r);
        cpu_run(q, r->n_bands, band_body, r);
        r->moved = false;
        for (size_t b = 0; b < r->n_bands; ++b) {
            r->moved |= r->bands[b].moved;
        }
    }
    r->step += n_steps;
    return n_steps;
}

void cpu_sciddicat_advance(struct queue *q, struct cpu_sciddicat_run *r, uint64_t n_steps)
{
    while (n_steps > 0) {
        n_steps -= advance_round(q, r, n_steps);
    }
}
