/*
 * table_extremes - see the header. A block of lines is compared with the third lowest and highest
 * value of each series, by loops without a choice in them; nearly all blocks are passed over then.
 * Of the others the outermost are counted, likewise. Only series that show a new value among the
 * outermost are gone through number by number.
 *
 * Several lines of few series are taken as one of so many more, which are the same by turns.
 */
#include "formats/table/table_extremes.h"

#include "formats/base/clones.h"

#include <math.h>

enum { SERIES = 64, LINES = 32 /* in a block */, FEW = 2048 };

/* A block: n series, of which those `period` apart are the same. */
struct block {
    const double *v;
    size_t stride, n, n_lines, period;
};

/* Of its series, as table_extremes has them. */
struct limits {
    double low[3][SERIES], high[3][SERIES];
};

void table_extremes_begin(struct table_extremes *e)
{
    *e = (struct table_extremes){.low = {INFINITY, INFINITY, INFINITY},
                                 .high = {-INFINITY, -INFINITY, -INFINITY}};
}

/* `v`, which came n_times, among three values, the outermost first; `sign` is 1 for the lowest, -1
 * for the highest. */
static void place_value(double at[3], uint64_t *n, double v, uint64_t n_times, double sign)
{
    if (v == at[0]) {
        *n += n_times;
    } else if (sign * v < sign * at[0]) {
        at[2] = at[1];
        at[1] = at[0];
        at[0] = v;
        *n = n_times;
    } else if (sign * v < sign * at[1]) {
        at[2] = at[1];
        at[1] = v;
    } else if (v != at[1] && sign * v < sign * at[2]) {
        at[2] = v;
    }
}

void table_extremes_place(struct table_extremes *e, double v)
{
    place_value(e->low, &e->n_low, v, 1, 1);
    place_value(e->high, &e->n_high, v, 1, -1);
}

void table_extremes_merge(struct table_extremes *e, const struct table_extremes *more)
{
    for (size_t i = 0; i < 3; i++) {
        place_value(e->low, &e->n_low, more->low[i], i == 0 ? more->n_low : 0, 1);
        place_value(e->high, &e->n_high, more->high[i], i == 0 ? more->n_high : 0, -1);
    }
    e->n += more->n;
}

/* Those of a block's series k. */
static void place_values(struct table_extremes *e, const struct block *b, size_t k)
{
    for (size_t t = 0; t < b->n_lines; t++) {
        const double v = b->v[t * b->stride + k];
        if (v == v) {
            table_extremes_place(e, v);
        }
    }
}

CPU_CLONES
static bool is_any_outside(const struct block *b, const struct limits *l)
{
    uint64_t any = 0;
    for (size_t t = 0; t < b->n_lines; t++) {
        const double *const v = b->v + t * b->stride;
        for (size_t k = 0; k < b->n; k++) {
            any |= (uint64_t)(v[k] < l->low[2][k]) | (uint64_t)(v[k] > l->high[2][k]);
        }
    }
    return any != 0;
}

/* How often the outermost values came, and whether another one is new. */
struct counts {
    uint64_t low[SERIES], high[SERIES], is_new[SERIES];
};

CPU_CLONES
static void count_block(const struct block *b, const struct limits *l, struct counts *c)
{
    for (size_t k = 0; k < b->n; k++) {
        c->low[k] = c->high[k] = c->is_new[k] = 0;
    }
    for (size_t t = 0; t < b->n_lines; t++) {
        const double *const v = b->v + t * b->stride;
        for (size_t k = 0; k < b->n; k++) {
            const uint64_t is_low = v[k] == l->low[0][k], is_high = v[k] == l->high[0][k];
            const uint64_t below = v[k]<l->low[2][k], above = v[k]> l->high[2][k];
            const uint64_t is_next =
                (uint64_t)(v[k] == l->low[1][k]) | (uint64_t)(v[k] == l->high[1][k]);
            c->low[k] += is_low;
            c->high[k] += is_high;
            c->is_new[k] |= (below & ~is_low & ~is_next) | (above & ~is_high & ~is_next);
        }
    }
}

/* A block of which some number lies outside the third values. Series that show a new value are gone
 * through; the counts of the others hold for those that are the outermost still. */
static void take_counts(struct table_extremes *e, const struct block *b, const struct limits *l)
{
    struct counts c;
    count_block(b, l, &c);
    for (size_t k = 0, s = 0; k < b->n; k++, s = s + 1 < b->period ? s + 1 : 0) {
        if (c.is_new[k] != 0) {
            place_values(&e[s], b, k);
        }
    }
    for (size_t k = 0, s = 0; k < b->n; k++, s = s + 1 < b->period ? s + 1 : 0) {
        if (c.is_new[k] == 0) {
            e[s].n_low += e[s].low[0] == l->low[0][k] ? c.low[k] : 0;
            e[s].n_high += e[s].high[0] == l->high[0][k] ? c.high[k] : 0;
        }
    }
}

static void set_limits(const struct table_extremes *e, const struct block *b, struct limits *l)
{
    for (size_t k = 0, s = 0; k < b->n; k++, s = s + 1 < b->period ? s + 1 : 0) {
        for (size_t i = 0; i < 3; i++) {
            l->low[i][k] = e[s].low[i];
            l->high[i][k] = e[s].high[i];
        }
    }
}

static void take_block(struct table_extremes *e, const struct block *b, struct limits *l)
{
    for (size_t s = 0; s < b->period; s++) {
        e[s].n += b->n_lines * (b->n / b->period);
    }
    if (is_any_outside(b, l)) {
        take_counts(e, b, l);
        set_limits(e, b, l);
    }
}

/* Numbers of floats, one line after the other. */
static void widen(const struct table_tile *t, const struct block *b, size_t line, double *out)
{
    const float *const from = (const float *)t->values + t->first;
    for (size_t i = 0; i < b->n_lines; i++) {
        for (size_t k = 0; k < b->n; k++) {
            out[i * b->n + k] = (double)from[(line + i) * t->stride + k];
        }
    }
}

/* Lines of the next block: no more than there have been, since each of the first ones is a new
 * outermost value of some series. */
static size_t lines_of_block(const struct table_extremes *e, const struct block *b, size_t left)
{
    const uint64_t before = e->n / (b->n / b->period);
    const size_t most = before < 1 ? 1 : before < LINES ? (size_t)before : LINES;
    return left < most ? left : most;
}

/* At most SERIES, of which those `period` apart are the same. */
static void take_tile(struct table_extremes *e, const struct table_tile *t, size_t period)
{
    double room[LINES * SERIES];
    struct limits limits;
    struct block b = {.n = t->n, .period = period};
    set_limits(e, &b, &limits);
    for (size_t line = 0; line < t->n_lines; line += b.n_lines) {
        b.n_lines = lines_of_block(e, &b, t->n_lines - line);
        if (t->type == DTYPE_F64) {
            b.v = (const double *)t->values + t->first + line * t->stride;
            b.stride = t->stride;
        } else {
            widen(t, &b, line, room);
            b.v = room;
            b.stride = b.n;
        }
        take_block(e, &b, &limits);
    }
}

/* The i-th number of the first series. */
static double number_of_first(const struct table_tile *t, size_t i)
{
    const size_t at = t->first + i * t->stride;
    return t->type == DTYPE_F64 ? ((const double *)t->values)[at]
                                : (double)((const float *)t->values)[at];
}

/* One series of few numbers. */
static void take_first(struct table_extremes *e, const struct table_tile *t)
{
    for (size_t i = 0; i < t->n_lines; i++) {
        const double v = number_of_first(t, i);
        if (v < e->low[2] || v > e->high[2]) {
            table_extremes_place(e, v);
        }
    }
    e->n += t->n_lines;
}

void table_extremes_take(struct table_extremes *e, const struct table_tile *t)
{
    struct table_tile part = *t;
    if (t->n == 1 && t->n_lines <= FEW) {
        take_first(e, t);
        return;
    }
    if (t->n == t->stride && t->n <= SERIES / 2) {
        const size_t together = SERIES / t->n;
        part.n = part.stride = t->n * together;
        part.n_lines = t->n_lines / together;
        take_tile(e, &part, t->n);
        part = *t;
        part.first += part.n_lines / together * together * t->n;
        part.n_lines %= together;
    }
    for (size_t k = 0; k < t->n; k += SERIES) {
        struct table_tile some = part;
        some.first += k;
        some.n = t->n - k < SERIES ? t->n - k : SERIES;
        take_tile(e + k, &some, some.n);
    }
}

/* --- the course of one series ----------------------------------------------------------------- */

static const double count_error = 1e-3; /* of a step */

void table_course_begin(struct table_course *c)
{
    *c = (struct table_course){.counts = true, .has_steps = true, .rises = true};
}

static bool is_multiple(double large, double small)
{
    return fabs(large - round(large / small) * small) <= count_error * fabs(small);
}

/* The step from the last number, which goes the way of the others. */
static void take_step(struct table_course *c, double step)
{
    if (fabs(step - c->step) <= count_error * fabs(c->step)) {
        c->n_steps++;
        return;
    }
    const bool is_smaller = fabs(step) < fabs(c->step);
    c->counts = false;
    c->has_steps = is_smaller ? is_multiple(c->step, step) : is_multiple(step, c->step);
    if (is_smaller) {
        c->step = step;
        c->n_steps = 1;
    }
}

void table_course_take(struct table_course *c, const struct table_tile *t)
{
    for (size_t i = 0; i < t->n_lines && c->rises; i++, c->n++) {
        const double v = number_of_first(t, i), step = v - c->last;
        if (c->n == 0) {
            c->first = v;
            c->rises = isfinite(v);
        } else {
            c->step = c->n == 1 ? step : c->step;
            c->rises = step > 0 ? c->step > 0 : step < 0 && c->step < 0;
        }
        if (!c->rises) {
            c->counts = c->has_steps = false;
        } else if (c->has_steps && c->n > 0) {
            take_step(c, step);
        }
        c->last = v;
    }
}
