/*
 * sciddicat_advance_cpu - steps on all cores: the map cut into bands, a few steps at a time.
 *
 * A step goes over the rows of a band from north to south. Three rows of flows are kept: those of
 * row i + 1 are made from the old h of rows i to i + 2, then row i is updated, then those of row
 * i - 1 are cleared.
 *
 * Rows with active cells are cut into bands of about the same number of busy segments, and every
 * band makes BAND_STEPS steps on its own: first all bands copy the rows around them, then all
 * compute, their own rows in place. The bits are those of one band. Between rounds threads do not
 * sleep (phases_cpu.h): a round of a small landslide takes less time than waking them.
 */
#include "kernels/sciddicat/sciddicat_run_cpu.h"

#include "kernels/base/queue_cpu.h"

#include <string.h>

/* --- a band --------------------------------------------------------------------------------- */

static struct sciddicat_row *band_row(const struct sciddicat_band *b, size_t i)
{
    if (i < b->first) {
        return &b->north[i + b->n_north - b->first];
    }
    return i < b->last ? &b->rows[i] : &b->south[i - b->last];
}

static bool has_active(const struct sciddicat_band *b, size_t i)
{
    if (i + b->n_north < b->first || i >= b->last + b->n_south) {
        return false;
    }
    const struct sciddicat_row *row = band_row(b, i);
    return row->begin < row->end;
}

/* The slot's flows become those of row i, if it emits any. */
static void emit(struct sciddicat_band *b, const struct sciddicat_rule *rule, size_t i)
{
    if (has_active(b, i)) {
        b->set->emit(rule, band_row(b, i - 1), band_row(b, i), band_row(b, i + 1),
                     &b->flows[i % 3]);
    }
}

/* One step of rows [from, to), unless the queue is stopped: then a part of it. */
static void step(const struct queue *q, struct sciddicat_band *b, const struct sciddicat_rule *rule,
                 size_t from, size_t to)
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
    for (size_t i = begin; i < end && !queue_is_stopped(q); ++i) {
        /* The three slots are those of rows i - 1, i and i + 1; row -1's is empty. */
        struct sciddicat_flows *north = &b->flows[(i + 2) % 3], *south = &b->flows[(i + 1) % 3];
        emit(b, rule, i + 1);
        const bool moved = b->set->update(rule, band_row(b, i), north, &b->flows[i % 3], south);
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

/* n_steps more steps after step `at`. */
static void band_advance(const struct queue *q, struct sciddicat_band *b,
                         const struct sciddicat_params *p, uint64_t at, uint64_t n_steps)
{
    struct sciddicat_rule rule = {.epsilon = p->epsilon, .r = p->r};
    for (uint64_t left = n_steps; left-- > 0 && !queue_is_stopped(q);) {
        const size_t reach = left < p->rows ? 2 * (size_t)left : p->rows;
        const size_t from = b->first > reach ? b->first - reach : 0;
        rule.step = ++at;
        step(q, b, &rule, from, cpu_min(b->last + reach, p->rows));
    }
}

/* --- cutting the map -------------------------------------------------------------------------- */

/* The first and the last of the segments that a band reads in its steps. */
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

/* A row of the halo becomes a copy of one of the map, as far as the band reads it. Beyond, its
 * bits must be clear, also those of the round before. */
static void copy_row(const struct sciddicat_row *from, struct sciddicat_row *to, size_t begin,
                     size_t end)
{
    struct sciddicat_row copy = *from;
    memset(to->active + to->begin, 0, to->end - to->begin);
    copy.h = to->h;
    copy.active = to->active;
    copy.guess = to->guess;
    copy.max_h = NULL;
    copy.arrival = NULL;
    *to = copy;
    if (begin < end) {
        memcpy(to->h + begin * SEGMENT, from->h + begin * SEGMENT,
               (end - begin) * SEGMENT * sizeof *to->h);
        memcpy(to->active + begin, from->active + begin, end - begin);
        memcpy(to->guess + begin * SEGMENT, from->guess + begin * SEGMENT, (end - begin) * SEGMENT);
    }
}

static void copy_halo(const struct cpu_sciddicat_run *r, struct sciddicat_band *b)
{
    size_t begin, end;
    columns_in_reach(b, r, &begin, &end);
    for (size_t i = 0; i < b->n_north; ++i) {
        copy_row(&r->rows[b->first - b->n_north + i], &b->north[i], begin, end);
    }
    for (size_t i = 0; i < b->n_south; ++i) {
        copy_row(&r->rows[b->last + i], &b->south[i], begin, end);
    }
}

/* How many bands are worth their halos. */
static size_t count_bands(const struct cpu_sciddicat_run *r, size_t busy)
{
    const size_t rows = r->whole.bottom - r->whole.top;
    return cpu_max(
        1, cpu_min(r->most_bands, cpu_min(rows / BAND_LEAST_ROWS, busy / BAND_LEAST_SEGMENTS)));
}

/* Cuts the run's rows into n bands with about the same number of busy segments; the first begins
 * and the last ends with them. May make fewer. */
static void cut_bands(struct cpu_sciddicat_run *r, size_t n, size_t busy)
{
    const struct sciddicat_band *w = &r->whole;
    const size_t end = cpu_min(w->bottom, w->last);
    size_t first = w->first, sum = 0;
    r->n_bands = 0;
    for (size_t i = cpu_max(w->top, first); i < end; ++i) {
        sum += r->rows[i].n_busy;
        if (r->n_bands + 1 < n && sum * n >= busy * (r->n_bands + 1) &&
            i + 1 >= first + BAND_LEAST_ROWS && i + 1 + BAND_LEAST_ROWS <= end) {
            r->bands[r->n_bands].first = first;
            r->bands[r->n_bands++].last = first = i + 1;
        }
    }
    r->bands[r->n_bands].first = first;
    r->bands[r->n_bands++].last = w->last;
    for (size_t k = 0; k < r->n_bands; ++k) {
        struct sciddicat_band *b = &r->bands[k];
        b->n_north = cpu_min(b->first - w->first + w->n_north, HALO_ROWS);
        b->n_south = cpu_min(w->last + w->n_south - b->last, HALO_ROWS);
        b->top = cpu_max(w->top, b->first - b->n_north);
        b->bottom = cpu_max(b->top, cpu_min(w->bottom, b->last + b->n_south));
    }
}

/* Rows with active cells, and how many busy segments they have. */
static size_t survey(struct cpu_sciddicat_run *r)
{
    const size_t end = r->whole.last + r->whole.n_south;
    size_t top = end, bottom = 0, busy = 0;
    for (size_t i = r->whole.first - r->whole.n_north; i < end; ++i) {
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

/* --- rounds of BAND_STEPS steps -------------------------------------------------------------- */

/* Rounds that several threads make: first they copy all halos, then they compute all bands. */
struct rounds {
    const struct queue *q;
    struct cpu_sciddicat_run *run;
    uint64_t left; /* steps */
    size_t work;   /* busy segments times steps */
    bool copied;   /* all halos: the bands' turn */
};

static uint64_t round_steps(uint64_t left)
{
    return left < BAND_STEPS ? left : BAND_STEPS;
}

static void finish_round(struct rounds *t)
{
    struct cpu_sciddicat_run *r = t->run;
    r->moved = false;
    for (size_t k = 0; k < r->n_bands; ++k) {
        r->moved |= r->bands[k].moved;
    }
    r->step += r->n_steps;
    t->left -= r->n_steps;
    t->copied = false;
}

static size_t next_phase(void *arg)
{
    struct rounds *t = arg;
    struct cpu_sciddicat_run *r = t->run;
    if (r->n_bands > 0 && !t->copied) {
        t->copied = true;
        return r->n_bands;
    }
    if (r->n_bands > 0) {
        finish_round(t);
    }
    const size_t busy = survey(r), n = count_bands(r, busy);
    r->n_bands = 0;
    if (t->left == 0 || queue_is_stopped(t->q) || n == 1 || t->work >= TEAM_WORK) {
        return 0;
    }
    cut_bands(r, n, busy);
    r->n_steps = round_steps(t->left);
    t->work += busy * r->n_steps;
    return r->n_bands;
}

static void piece(void *arg, size_t index)
{
    const struct rounds *t = arg;
    const struct cpu_sciddicat_run *r = t->run;
    if (t->copied) {
        band_advance(t->q, &r->bands[index], &r->p, r->step, r->n_steps);
    } else {
        copy_halo(r, &r->bands[index]);
    }
}

void cpu_sciddicat_advance(struct queue *q, struct cpu_sciddicat_run *r, uint64_t n_steps)
{
    struct rounds t = {.q = q, .run = r, .left = n_steps};
    const struct cpu_phases phases = {.next = next_phase, .piece = piece, .arg = &t};
    (void)survey(r); /* others may have set rows */
    while (t.left > 0 && !queue_is_stopped(q)) {
        t.work = 0;
        if (r->most_bands > 1) {
            cpu_run_phases(q, r->most_bands, &phases);
        }
        if (t.left > 0 && t.work < TEAM_WORK) {
            const uint64_t n = r->most_bands > 1 ? round_steps(t.left) : t.left;
            band_advance(q, &r->whole, &r->p, r->step, n);
            r->moved = r->whole.moved;
            r->step += n;
            t.left -= n;
        }
    }
}
