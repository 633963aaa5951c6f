/*
 * columns_rule - what both backends keep of series in columns: the products of neighbours of a
 * series. One text for C and for CUDA.
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

#endif
