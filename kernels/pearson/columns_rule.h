/*
 * columns_rule - what both backends keep of series in columns: the products of neighbours of a
 * series, and the pairs of which one series has gaps. One text for C and for CUDA.
 */
#ifndef LEAT_KERNELS_PEARSON_COLUMNS_RULE_H
#define LEAT_KERNELS_PEARSON_COLUMNS_RULE_H

#include "kernels/base/part_moments_rule.h"
#include "kernels/pearson/pearson_rule.h"

/* Products of neighbours about the mean, so far: sum d d', sum (d + d'), their number. */
struct columns_lag {
    double product, sum, n;
};

/* The products about a mean that is `delta` lower. */
PEARSON_RULE struct columns_lag columns_lag_shifted(struct columns_lag g, double delta)
{
    g.product += delta * g.sum + g.n * delta * delta;
    g.sum += 2 * g.n * delta;
    return g;
}

/* A series' products and those of a slab: its moments were `before` and are `all`; left and right
 * are the last sample before the slab and its first, NaN where missing. */
struct columns_lag_parts {
    struct part_moments all, before, slab;
    struct columns_lag lag, of_slab;
    double left, right;
};

PEARSON_RULE struct columns_lag columns_lag_join(const struct columns_lag_parts *p)
{
    struct columns_lag sum = {0, 0, 0};
    const double left = part_moments_centred(&p->all, p->left);
    const double right = part_moments_centred(&p->all, p->right);
    if (p->before.n > 0) {
        sum = columns_lag_shifted(p->lag, part_moments_delta(&p->all, &p->before));
    }
    if (p->slab.n > 0) {
        const struct columns_lag more =
            columns_lag_shifted(p->of_slab, part_moments_delta(&p->all, &p->slab));
        sum.product += more.product;
        sum.sum += more.sum;
        sum.n += more.n;
    }
    if (left == left && right == right) {
        sum.product += left * right;
        sum.sum += left + right;
        sum.n += 1;
    }
    return sum;
}

/* The sample by which Chan's merge of two sets has the form of one more product. */
PEARSON_RULE double columns_merge_sample(const struct part_moments *all,
                                         const struct part_moments *slab)
{
    return all->n > 0 && slab->n > 0
               ? part_moments_delta(all, slab) * sqrt(all->n * slab->n / (all->n + slab->n))
               : 0;
}

PEARSON_RULE struct pearson_mean columns_mean(const struct part_moments *m)
{
    return pearson_mean_of(m->base, m->mean, m->low);
}

/* A pair of which one series had a gap: the means and co-moments of the n common samples. In memory
 * its PAIR_FIELDS numbers lie in this order, `stride` apart. */
struct columns_pair {
    double n;
    struct pearson_mean x, y;
    double xx, yy, xy;
};
enum { PAIR_FIELDS = sizeof(struct columns_pair) / sizeof(double) };

/* Of two series that had no gap in n samples, with their co-moment. */
PEARSON_RULE struct columns_pair columns_pair_of(const struct part_moments *x,
                                                 const struct part_moments *y, size_t n, double xy)
{
    const struct columns_pair p = {(double)n, columns_mean(x), columns_mean(y), x->m2, y->m2, xy};
    return p;
}

PEARSON_RULE struct columns_pair columns_pair_load(const double *at, size_t stride)
{
    struct columns_pair p;
    p.n = at[0];
    p.x.at = at[stride];
    p.x.low = at[2 * stride];
    p.y.at = at[3 * stride];
    p.y.low = at[4 * stride];
    p.xx = at[5 * stride];
    p.yy = at[6 * stride];
    p.xy = at[7 * stride];
    return p;
}

PEARSON_RULE void columns_pair_store(const struct columns_pair *p, double *at, size_t stride)
{
    at[0] = p->n;
    at[stride] = p->x.at;
    at[2 * stride] = p->x.low;
    at[3 * stride] = p->y.at;
    at[4 * stride] = p->y.low;
    at[5 * stride] = p->xx;
    at[6 * stride] = p->yy;
    at[7 * stride] = p->xy;
}

/* Adds a slab's sums by Chan's formula: where none were before, they are all, whatever the square
 * of a mean is. */
PEARSON_RULE void columns_pair_merge(struct columns_pair *p, const struct pearson_common *c)
{
    const struct pearson_sums *s = &c->sums;
    if (!(p->n > 0)) {
        const struct columns_pair first = {s->n, c->mean_x, c->mean_y, s->xx, s->yy, s->xy};
        *p = first;
        return;
    }
    const double before = p->n, n = before + s->n, share = s->n / n;
    const double dx = pearson_mean_less(c->mean_x, p->x), dy = pearson_mean_less(c->mean_y, p->y);
    const double weight = before * share;
    p->xx += s->xx + dx * dx * weight;
    p->yy += s->yy + dy * dy * weight;
    p->xy += s->xy + dx * dy * weight;
    p->x = pearson_mean_of(p->x.at, dx * share, p->x.low);
    p->y = pearson_mean_of(p->y.at, dy * share, p->y.low);
    p->n = n;
}

/* The pair's coefficient, of `least` samples or more. */
PEARSON_RULE double columns_pair_r(const double *at, size_t stride, double least)
{
    const struct columns_pair p = columns_pair_load(at, stride);
    const struct pearson_sums s = {p.n, 0, 0, p.xx, p.yy, p.xy};
    return pearson_of_centred(s, least);
}

#endif
