/*
 * interpolate_lanes_cpu - the steps of interpolate_rule.h for INTERPOLATE_LANES points at a time,
 * in the instruction set of the file that includes this: loops over lanes, without branches, which
 * the compiler turns into vectors.
 */
#ifndef LEAT_KERNELS_INTERPOLATE_INTERPOLATE_LANES_CPU_H
#define LEAT_KERNELS_INTERPOLATE_INTERPOLATE_LANES_CPU_H

#include "kernels/interpolate/interpolate_cpu.h"
#include "kernels/interpolate/interpolate_rule.h"

#define LANES_INLINE static inline __attribute__((always_inline))
#define EACH_LANE(l) for (size_t l = 0; l < INTERPOLATE_LANES; ++l)

struct lane_states {
    double product_hi[INTERPOLATE_LANES], product_lo[INTERPOLATE_LANES];
    double sum_hi[INTERPOLATE_LANES], sum_lo[INTERPOLATE_LANES], magnitude[INTERPOLATE_LANES];
    int64_t exponent[INTERPOLATE_LANES], above[INTERPOLATE_LANES];
};

LANES_INLINE struct interpolate_state lane_get(const struct lane_states *s, size_t l)
{
    return (struct interpolate_state){{s->product_hi[l], s->product_lo[l]},
                                      {s->sum_hi[l], s->sum_lo[l]},
                                      s->magnitude[l],
                                      s->exponent[l],
                                      s->above[l]};
}

LANES_INLINE void lane_put(struct lane_states *s, size_t l, struct interpolate_state one)
{
    s->product_hi[l] = one.product.hi;
    s->product_lo[l] = one.product.lo;
    s->sum_hi[l] = one.sum.hi;
    s->sum_lo[l] = one.sum.lo;
    s->magnitude[l] = one.magnitude;
    s->exponent[l] = one.exponent;
    s->above[l] = one.above;
}

LANES_INLINE void lanes_sum(const struct interpolate_terms *t, const double *hi, const double *lo,
                            int with_magnitude, struct lane_states *s)
{
    EACH_LANE(l)
    {
        lane_put(s, l, interpolate_begin());
    }
    for (size_t j = 0; j < t->n; ++j) {
        const double node = t->x[j];
        const struct interpolate_pair term = {t->hi[j], t->lo[j]};
        const int64_t exponent = t->exponent[j];
        EACH_LANE(l)
        {
            struct interpolate_state one = lane_get(s, l);
            const struct interpolate_pair x = {hi[l], lo[l]};
            interpolate_step(&one, x, node, term, exponent, with_magnitude);
            lane_put(s, l, one);
        }
        if (j % INTERPOLATE_RENORMALISE == INTERPOLATE_RENORMALISE - 1) {
            EACH_LANE(l)
            {
                struct interpolate_state one = lane_get(s, l);
                interpolate_renormalise(&one);
                lane_put(s, l, one);
            }
        }
    }
}

static void lanes_survey(const struct interpolate_terms *t, const double *point_hi,
                         const double *point_lo, double *hi, double *lo, double *condition)
{
    struct lane_states s;
    lanes_sum(t, point_hi, point_lo, 1, &s);
    EACH_LANE(l)
    {
        const int64_t e = s.exponent[l] + s.above[l];
        hi[l] = interpolate_scaled(s.sum_hi[l], e);
        lo[l] = interpolate_scaled(s.sum_lo[l], e);
        const struct interpolate_state one = lane_get(&s, l);
        condition[l] = interpolate_condition(&one, t->is_rational);
    }
}

static void lanes_barycentric(const struct interpolate_terms *t,
                              const struct interpolate_terms *below, const double *x, double *value)
{
    static const double zero[INTERPOLATE_LANES];
    struct lane_states s, of_below;
    lanes_sum(t, x, zero, 0, &s);
    if (t->is_rational) {
        lanes_sum(below, x, zero, 0, &of_below);
    }
    EACH_LANE(l)
    {
        const struct interpolate_state one = lane_get(&s, l);
        if (t->is_rational) {
            const struct interpolate_state other = lane_get(&of_below, l);
            value[l] = interpolate_value(&one, &other);
        } else {
            value[l] = interpolate_value(&one, NULL);
        }
    }
}

LANES_INLINE size_t lanes_of_degree(const struct interpolate_cells *c, const double *cell,
                                    const double *x, size_t n, double *value, int degree)
{
    enum { STRETCH = 64 };
    int32_t number[STRETCH];
    double argument[STRETCH], inside[STRETCH];
    size_t hits = 0;
    const double begin = c->begin, end = c->end;
    for (size_t from = 0; from < n; from += STRETCH) {
        const size_t m = n - from < STRETCH ? n - from : STRETCH;
        for (size_t i = 0; i < m; ++i) {
            const double at = x[from + i];
            inside[i] = ((at >= begin) & (at <= end)) ? at : begin;
            const struct interpolate_cell in = interpolate_place(
                c->begin, c->end, c->inverse, c->step, (int32_t)c->n_cells, inside[i]);
            number[i] = in.number;
            argument[i] = interpolate_argument(in.centre, c->scale, inside[i]);
        }
        for (size_t i = 0; i < m; ++i) {
            const double *own = cell + (size_t)number[i] * (size_t)(degree + 3);
            const double v = interpolate_in_cell(own, degree, argument[i], inside[i]);
            hits += x[from + i] == own[1];
            value[from + i] = x[from + i] == inside[i] ? v : (double)NAN;
        }
    }
    return hits;
}

static size_t lanes_pieces(const struct interpolate_cells *c, const double *piece, const double *x,
                           size_t n, double *value)
{
    size_t hits = 0;
    for (size_t i = 0; i < n; ++i) {
        const double *const own = interpolate_piece_of(piece, c->n_cells, x[i]);
        value[i] = interpolate_in_piece(own, x[i]);
        hits += x[i] == own[1];
    }
    return hits;
}

static size_t lanes_cells(const struct interpolate_cells *c, const double *cell, const double *x,
                          size_t n, double *value)
{
    switch (c->degree) {
    case INTERPOLATE_CUBIC:
        return lanes_pieces(c, cell, x, n, value);
    case 5:
        return lanes_of_degree(c, cell, x, n, value, 5);
    case 7:
        return lanes_of_degree(c, cell, x, n, value, 7);
    case 9:
        return lanes_of_degree(c, cell, x, n, value, 9);
    case 11:
        return lanes_of_degree(c, cell, x, n, value, 11);
    default:
        return lanes_of_degree(c, cell, x, n, value, 13);
    }
}

#define INTERPOLATE_LANES_OF(set)                                                                  \
    {                                                                                              \
        set, lanes_survey, lanes_barycentric, lanes_cells                                          \
    }

#endif
