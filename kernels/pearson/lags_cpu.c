/*
 * lags_cpu - what further lags leave of series; of each pair the lag of the larger |r|, in tiles,
 * so that products which are read down their columns come from cache.
 */
#include "kernels/pearson/pearson_cpu.h"
#include "kernels/pearson/pearson_rule.h"

enum { SIDE = 32 };

enum status cpu_overlaps(struct queue *q, const struct pearson_overlaps *o)
{
    const size_t stride = cpu_z_stride(o->n_samples), n = o->n_heads + o->n_tails;
    uint32_t *const unserved = o->unserved.at;
    (void)q;
    STATUS_TRY(cpu_expect(o->heads, o->n_heads, stride * sizeof(double), "overlaps"));
    STATUS_TRY(cpu_expect(o->tails, o->n_tails, stride * sizeof(double), "overlaps"));
    STATUS_TRY(
        cpu_expect(o->ends, PEARSON_LAGS_AT_ONCE * n, sizeof(struct pearson_end), "overlaps"));
    for (size_t s = 0; s < n; s++) {
        const bool is_head = s < o->n_heads;
        const double *const z = is_head ? o->heads.at : o->tails.at;
        const uint32_t more = pearson_ends_of(o, s, z + (is_head ? s : s - o->n_heads) * stride);
        *unserved = more > *unserved ? more : *unserved;
    }
    return STATUS_OK;
}

static void keep_body(void *arg, size_t index)
{
    const struct pearson_lagged *const l = arg;
    const size_t from = l->j0 + index * SIDE, end = cpu_min(from + SIDE, l->j0 + l->n_j),
                 last = cpu_min(l->i0 + l->n_i, end);
    for (size_t i0 = l->i0; i0 < last; i0 += SIDE) {
        for (size_t j = from; j < end; j++) {
            for (size_t i = i0; i < cpu_min(cpu_min(i0 + SIDE, last), j); i++) {
                pearson_keep_pair(l, j, i);
            }
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
