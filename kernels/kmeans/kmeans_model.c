/*
 * kmeans_model - arrays of a model, and rows of points, from and to the backend.
 */
#include "kernels/backend.h"
#include "kernels/kmeans/kmeans_rule.h"
#include "kernels/kmeans/kmeans_solve_state.h"

#include <stdlib.h>
#include <string.h>

enum status kmeans_model_put(struct kmeans_solve *s, const struct kmeans_model *m,
                             enum kmeans_field field, const void *from, size_t bytes)
{
    uint64_t ticket;
    const struct span to = span_from(m->at, kmeans_offset(m->k, m->n_columns, field));
    STATUS_TRY(s->ops->upload(s->queue, to, from, bytes, &ticket));
    return s->ops->upload_wait(s->queue, ticket);
}

enum status kmeans_model_get(struct kmeans_solve *s, const struct kmeans_model *m,
                             enum kmeans_field field, void *to, size_t bytes)
{
    const struct span from = span_from(m->at, kmeans_offset(m->k, m->n_columns, field));
    return s->ops->download(s->queue, to, from, bytes);
}

enum status kmeans_model_inertia(struct kmeans_solve *s, const struct kmeans_model *m,
                                 double *within, double *inertia)
{
    const size_t bytes = m->k * sizeof(struct kmeans_sum);
    const double unit = m->has_mass ? s->inertia_unit / m->mass_factor : s->inertia_unit;
    struct kmeans_sum all = {0}, *const sums = malloc(bytes);
    if (sums == NULL) {
        return status_fail(STATUS_NO_MEMORY, "no memory for %zu clusters", m->k);
    }
    const enum status st = kmeans_model_get(s, m, KMEANS_WITHIN, sums, bytes);
    for (size_t k = 0; k < m->k && st == STATUS_OK; k++) {
        if (within != NULL) {
            within[k] = kmeans_mean(sums[k], 1, 1) * unit;
        }
        for (size_t w = 0; w < 2; w++) {
            all.high[w] += sums[k].high[w];
            all.low[w] += sums[k].low[w];
        }
    }
    free(sums);
    *inertia = kmeans_mean(all, 1, 1) * unit;
    return st;
}

enum status kmeans_model_mass(struct kmeans_solve *s, const struct kmeans_model *m, size_t cluster,
                              double *out)
{
    struct kmeans_sum sum;
    const size_t column = m->mass_column, at = cluster * m->n_columns + column;
    const size_t begin = kmeans_offset(m->k, m->n_columns, KMEANS_SUM);
    STATUS_TRY(
        s->ops->download(s->queue, &sum, span_from(m->at, begin + at * sizeof sum), sizeof sum));
    *out = kmeans_mean(sum, 1, s->unit[column]) / s->mass_factor;
    return STATUS_OK;
}

enum status kmeans_fetch_row(struct kmeans_solve *s, const struct kmeans_points *x, uint64_t point,
                             struct kmeans_rows *out)
{
    const size_t bytes = x->n_columns * dtype_bytes(x->type);
    *out = (struct kmeans_rows){
        .cells = s->row, .type = x->type, .n = 1, .n_columns = x->n_columns, .first = point};
    return s->ops->download(s->queue, s->row, span_from(x->at, (size_t)(point - x->first) * bytes),
                            bytes);
}

/* All that a host sets before anything is done; zeros elsewhere. */
static enum status put_begin(struct kmeans_solve *s, const struct kmeans_model *m)
{
    const size_t bytes = s->request.n_columns * sizeof(double);
    const uint64_t none = UINT64_MAX;
    const size_t t = kmeans_trials(m->k);
    struct kmeans_pick drawn[KMEANS_MOST_TRIALS * KMEANS_MOST_TRIALS];
    memset(drawn, KMEANS_NONE_DRAWN, sizeof drawn);
    const struct kmeans_state state = {
        .tolerance = s->tolerance, .inertia_unit = s->inertia_unit, .pick = {.point = UINT64_MAX}};
    STATUS_TRY(kmeans_model_put(s, m, KMEANS_STATE, &state, sizeof state));
    STATUS_TRY(kmeans_model_put(s, m, KMEANS_MIN, s->min, bytes));
    STATUS_TRY(kmeans_model_put(s, m, KMEANS_MAX, s->max, bytes));
    STATUS_TRY(kmeans_model_put(s, m, KMEANS_BAD, &none, sizeof none));
    STATUS_TRY(kmeans_model_put(s, m, KMEANS_DRAWN, drawn, t * t * sizeof *drawn));
    STATUS_TRY(kmeans_model_put(s, m, KMEANS_UNIT, s->unit, bytes));
    return kmeans_model_put(s, m, KMEANS_WEIGHT, s->weight, bytes);
}

enum status kmeans_model_begin(struct kmeans_solve *s, size_t k, struct span at,
                               struct kmeans_model *out)
{
    const size_t d = s->request.n_columns;
    at.bytes = kmeans_model_bytes(k, d);
    *out = (struct kmeans_model){.at = at,
                                 .k = k,
                                 .n_columns = d,
                                 .has_mass = s->mass_factor > 0,
                                 .mass_column = s->request.mass_column,
                                 .mass_factor = s->mass_factor};
    STATUS_TRY(s->ops->zero(s->queue, at));
    return put_begin(s, out);
}
