/*
 * lags_cpu - of each pair the lag of the larger |r|, in tiles, so that products which are read down
 * their columns come from cache.
 */
#include "kernels/pearson/pearson_cpu.h"
#include "kernels/pearson/pearson_rule.h"

enum { SIDE = 32 };

static void keep_row(const struct pearson_lagged *l, size_t j, size_t i0, size_t i1)
{
    double *const r = (double *)l->r.at + (j - l->j0) * l->pitch;
    float *const lags = (float *)l->lags.at + (j - l->j0) * l->pitch;
    const double *const products = l->products.at;
    const int lag = l->minus ? -l->lag : l->lag;
    for (size_t i = i0; i < i1; i++) {
        const size_t at = l->minus ? (i - l->first) * l->width + j : (j - l->first) * l->width + i;
        pearson_keep_lag(products[at], lag, l->fresh, &r[i], &lags[i]);
    }
}

static void keep_body(void *arg, size_t index)
{
    const struct pearson_lagged *const l = arg;
    const size_t from = l->j0 + index * SIDE, end = cpu_min(from + SIDE, l->j0 + l->n_j),
                 last = cpu_min(l->i0 + l->n_i, end);
    for (size_t i = l->i0; i < last; i += SIDE) {
        for (size_t j = from; j < end; j++) {
            keep_row(l, j, i, cpu_min(cpu_min(i + SIDE, last), j));
        }
    }
}

enum status cpu_keep_lag(struct queue *q, const struct pearson_lagged *l)
{
    struct pearson_lagged lagged = *l;
    STATUS_TRY(cpu_expect(l->r, l->n_j, l->pitch * sizeof(double), "lags"));
    STATUS_TRY(cpu_expect(l->lags, l->n_j, l->pitch * sizeof(float), "lags"));
    return cpu_run_long(q, cpu_pieces(l->n_j, SIDE), keep_body, &lagged);
}
